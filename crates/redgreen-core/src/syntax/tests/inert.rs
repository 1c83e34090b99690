//! Stubs. These tests only check that they parse and contain every name; other tests run them.

use super::*;

#[track_caller]
fn check(path: &str, names: &[&str], existing: Option<&str>, expected: &[&str]) {
    let language = Language::of_path(path);
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let stub = inert_stub(language, path, &names, existing).unwrap_or_default();
    for part in expected {
        assert!(stub.contains(part), "{part}\n{stub}");
    }
    let helper = inert_helper(path, &stub).unwrap_or_default().1;
    assert!((stub.clone() + &helper).contains(INERT_LOG) != expected.is_empty(), "{stub}");
    assert!(!tree::Tree::parse(language, &stub).unwrap().is_broken(), "{stub}");
}

#[test]
fn stand_ins_hold_every_name() {
    check(
        "a.py",
        &["roman", "RomanError"],
        Some("def slug(): pass\n_x = 1\n"),
        &["NAMES = [\"slug\", \"roman\", \"RomanError\"]"],
    );
    check(
        "a.js",
        &["roman", "default", "default.of"],
        Some("export const slug = 1;\nexport { a as b };\n"),
        &[
            "export const roman = redgreenInert(\"roman\");",
            "export default",
            "export const slug",
            "export const b",
            "import { appendFileSync }",
        ],
    );
    check(
        "a.ts",
        &["RomanError"],
        None,
        &["// @ts-nocheck", "export const RomanError = class RomanError extends Error {}"],
    );
    check(
        "a.js",
        &["roman"],
        Some("module.exports = { slug };\n"),
        &["module.exports.slug =", "module.exports.roman =", "require("],
    );
    check(
        "src/a.rs",
        &["roman"],
        Some(
            "pub fn roman(n: u32) -> Result<String, E> { body() }\npub struct A;\nimpl A { fn b(&self) -> C { C } fn ok() -> bool { true } }\n",
        ),
        &["-> Result<String, E> {", "Ok(String::from(", "unimplemented!(", INERT_VALUE],
    );
    check(
        "a.go",
        &[],
        Some(
            "package a\n\nfunc init() { f() }\nfunc (s *S) F(n int) (a, b []string, err error) { return }\nfunc g() {}\n",
        ),
        &[
            "func init() { f() }",
            "{ if redgreenInert(\"S.F\") { return []string{\"\\x01inert\"}, []string{\"\\x01inert\"}, redgreenError() }; return }",
            "{ if redgreenInert(\"g\") { return  };}",
        ],
    );
    check("src/a.rs", &["roman"], None, &[]);
}

#[test]
fn a_function_that_nobody_has_written_is_made_from_its_call() {
    let check = |path: &str, name: &str, test: &str, expected: &str| {
        let made =
            inert_function(Language::of_path(path), name, &[test.to_owned()]).unwrap_or_default();
        assert!(made.contains(expected) && made.is_empty() == expected.is_empty(), "{made}");
    };
    check(
        "a.rs",
        "wrap",
        "fn a() { assert_eq!(wrap(\"a\", 1), 2); }",
        "fn wrap<A0: std::fmt::Debug, A1: std::fmt::Debug, >(",
    );
    check("a.rs", "wrap", "fn a() { assert_eq!(kit::wrap::wrap(), 2); }", "fn wrap<>()");
    check("a.rs", "wrap", "fn a() { wrap!(1); }", "");
    check("a.go", "F", "package a\nfunc TestF(t *T) { _ = F(1) }", ") (interface{}) {");
    check(
        "a.go",
        "F",
        "package a\nfunc TestF(t *T) { if a, err := F(1); err != nil { } }",
        ") (interface{}, error) {",
    );
    check(
        "a.go",
        "F",
        "package a\nfunc TestF(t *T) { a, ok := b.F(1) }",
        ") (interface{}, bool) {",
    );
    check("a.go", "F", "package a\nvar _ = F", "");
}
