//! Stand-ins. That they run is seen where tests may start programs; here, that they parse and hold every name.

use super::*;

#[track_caller]
fn check(path: &str, names: &[&str], existing: Option<&str>, expected: &[&str]) {
    let language = Language::of_path(path);
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let stub = inert_stub(language, path, &names, existing).unwrap_or_default();
    for part in expected {
        assert!(stub.contains(part), "{part}\n{stub}");
    }
    assert!(stub.contains(INERT_LOG) != expected.is_empty(), "{stub}");
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
    check("src/a.rs", &["roman"], None, &[]);
    check("src/a.rs", &["roman"], Some("pub fn slug() {}\n"), &[]);
}
