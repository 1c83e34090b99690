//! Two versions of a file: tests frozen and overlaid, stubs, shared values, mutants.

use super::*;

/// `weakened test_a: [FewerAssertions]`.
fn told_change(change: &ItemChange) -> String {
    match change {
        ItemChange::Added(item) => format!("added {}", item.name),
        ItemChange::Removed(item) => format!("removed {}", item.name),
        ItemChange::Changed { old, .. } => format!("changed {}", old.name),
        ItemChange::Renamed { old, new } => format!("renamed {} {}", old.name, new.name),
        ItemChange::Weakened { new, how, .. } => format!("weakened {} {how:?}", new.name),
    }
}

#[track_caller]
fn frozen(path: &str, old: &str, new: &str, expected: &[&str]) {
    let changes = test_block_frozen(Language::of_path(path), path, old, new);
    assert_eq!(changes.iter().map(told_change).collect::<Vec<_>>(), expected, "{new}");
}

#[test]
fn tests_that_change_are_reported() {
    let old = "def test_a():\n    assert f(1) == 'I'\n    assert f(3) == 'III'\n";
    for (new, expected) in [
        ("def test_a():\n    assert f(1) == 'I'  # one\n\n    assert f(3) == 'III'\n", vec![]),
        (
            "def test_b():\n    assert f(1) == 'I'\n    assert f(3) == 'III'\n",
            vec!["renamed test_a test_b"],
        ),
        (
            "def test_a():\n    assert f(1) == 'I'\n    assert f(4) == 'IV'\n",
            vec!["changed test_a"],
        ),
        (
            "def test_a():\n    assert f(1) == 'I'\n",
            vec!["weakened test_a [FewerAssertions, LessExact]"],
        ),
        (
            "def test_a():\n    assert f(1) is not None\n    assert f(3) == 'III'\n",
            vec!["weakened test_a [LessExact]"],
        ),
        (
            "@pytest.mark.skip\ndef test_a():\n    assert f(1) == 'I'\n    assert f(3) == 'III'\n",
            vec!["weakened test_a [Marked(Skip)]"],
        ),
        (
            "def check_a():\n    assert f(1) == 'I'\n    assert f(3) == 'III'\n",
            vec!["weakened check_a [NotATest]"],
        ),
        (
            "def test_a():\n    try:\n        assert f(1) == 'I'\n        assert f(3) == 'III'\n    except AssertionError:\n        pass\n",
            vec!["changed test_a"],
        ),
        (
            "def test_a():\n    return\n    assert f(1) == 'I'\n    assert f(3) == 'III'\n",
            vec!["changed test_a"],
        ),
        ("", vec!["removed test_a"]),
    ] {
        frozen("tests/test_a.py", old, new, &expected);
    }
    // Removing a duplicate assertion does not weaken the test.
    frozen(
        "tests/test_a.py",
        "def test_a():\n    assert f(1) == 'I'\n    assert f(1) == 'I'\n",
        "def test_a():\n    assert f(1) == 'I'\n",
        &["changed test_a"],
    );
    frozen(
        "tests/test_a.py",
        "@pytest.mark.parametrize('n', [1, 2])\ndef test_a(n):\n    assert f(n) == n\n",
        "@pytest.mark.parametrize('n', [])\ndef test_a(n):\n    assert f(n) == n\n",
        &["weakened test_a [FewerRows]"],
    );
    // A count of assertions does not assert anything itself. Mutants show whether it was needed.
    frozen(
        "a.test.js",
        "test('a', () => { expect.assertions(1); expect(f(1)).toBe(2); });",
        "test('a', () => { expect(f(1)).toBe(2); });",
        &["changed a"],
    );
    frozen(
        "a.test.js",
        "test('a', () => { expect(f(1)).toBe(2); });",
        "test.skip('a', () => { expect(f(1)).toBe(2); });",
        &["weakened a [Marked(Skip)]"],
    );
}

const MIXED: &str = "pub fn roman() -> u8 {\n    todo!()\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn one() {\n        assert_eq!(roman(), 1);\n    }\n}\n";

#[test]
fn code_beside_tests_is_free() {
    frozen("src/roman.rs", MIXED, &MIXED.replace("todo!()", "1"), &[]);
    frozen("src/roman.rs", MIXED, &MIXED.replace("(), 1", "(), 2"), &["changed tests::one"]);
    frozen(
        "src/roman.rs",
        MIXED,
        &MIXED.replace("#[test]", "#[test]\n    #[ignore]"),
        &["weakened tests::one [Marked(Skip)]"],
    );
    let doc = "/// ```\n/// assert_eq!(roman(), 1);\n/// ```\npub fn roman() -> u8 { todo!() }\n";
    frozen("src/roman.rs", doc, &doc.replace("todo!()", "1"), &[]);
    frozen("src/roman.rs", doc, &doc.replace("), 1", "), 2"), &["changed roman::(doc)"]);
    frozen(
        "src/roman.rs",
        doc,
        &doc.replace("/// ```\n", "/// ```ignore\n"),
        &["weakened roman::(doc) [Marked(Skip)]"],
    );
}

#[track_caller]
fn overlaid(path: &str, old: &str, new: &str, expected: Option<&str>) {
    assert_eq!(overlay_tests(Language::of_path(path), path, old, new).as_deref(), expected);
}

#[test]
fn frozen_tests_are_laid_over_the_candidate() {
    let green = MIXED.replace("todo!()", "1");
    overlaid("src/roman.rs", MIXED, &green, Some(&green));
    overlaid("src/roman.rs", MIXED, &green.replace("(), 1", "(), 2"), Some(&green));
    overlaid("src/roman.rs", MIXED, "pub fn roman() -> u8 {\n    1\n}\n", Some(&green));
    let extra = format!("{green}\n#[cfg(test)]\nmod more {{\n    #[test]\n    fn two() {{}}\n}}\n");
    overlaid("src/roman.rs", MIXED, &extra, Some(&format!("{green}\n\n")));
    overlaid("src/roman.rs", "fn a() {}", "fn a() { b() }", None);
    overlaid("tests/test_a.py", "old", "new", Some("old"));
    overlaid("README.md", "old", "new", None);
}

#[test]
fn frozen_examples_are_laid_over_the_candidate() {
    let old = "/// One.\n/// ```\n/// assert_eq!(roman(), 1);\n/// ```\n#[inline]\npub fn roman() -> u8 { todo!() }\n";
    let green = old.replace("todo!()", "1");
    overlaid("src/roman.rs", old, &green.replace("(), 1", "(), 2"), Some(&green));
    overlaid(
        "src/roman.rs",
        old,
        "/// One.\n#[inline]\npub fn roman() -> u8 { 1 }\n",
        Some(&green),
    );
    overlaid("src/roman.rs", old, "#[inline]\npub fn roman() -> u8 { 1 }\n", Some(&green));
}

#[test]
fn only_examples_are_laid_over_the_candidate() {
    let old = format!(
        "//! ```\n//! assert_eq!(kit::one(), 1);\n//! ```\n\n/// ```\n/// assert_eq!(kit::one(), 1);\n/// ```\nconst ONE: u8 = 1;\n{MIXED}"
    );
    let green = old.replace("todo!()", "1");
    let laid = |new: &str| overlay_examples(Language::Rust, "src/roman.rs", &old, new);
    assert_eq!(laid(&green.replace("kit::one(), 1", "kit::one(), 2")).as_ref(), Some(&green));
    assert_eq!(
        laid(&green.replace("//! ```\n//! assert_eq!(kit::one(), 1);\n//! ```\n", "")).as_ref(),
        Some(&green)
    );
    // Tests keep the candidate's version.
    let more = green.replace("(), 1);", "(), 1, \"one\");");
    assert_eq!(
        laid(&more).as_ref(),
        Some(&more.replace("kit::one(), 1, \"one\"", "kit::one(), 1"))
    );
    assert_eq!(laid("pub fn roman() -> u8 {\n    1\n}\n"), None);
}

#[test]
fn frozen_blocks_of_scripts_are_laid_over_the_candidate() {
    let old = "export const f = () => 0;\nif (import.meta.vitest) {\n  const { it, expect } = import.meta.vitest;\n  it('a', () => { expect(f()).toBe(1); });\n}\n";
    let green = old.replace("=> 0", "=> 1");
    overlaid("src/a.ts", old, &green.replace("toBe(1)", "toBe(2)"), Some(&green));
    overlaid(
        "src/a.ts",
        old,
        "export const f = () => 1;\n",
        Some(&green.replace(";\nif", ";\n\nif")),
    );
}

#[track_caller]
fn stub(path: &str, old: &str, new: &str, expected: bool) {
    assert_eq!(is_stub(Language::of_path(path), old, new), expected, "{new}");
}

#[test]
fn a_stub_adds_only_what_lets_a_test_compile() {
    let old = "def add(a, b):\n    return a + b\n";
    for (added, expected) in [
        ("\ndef sub(a, b):\n    raise NotImplementedError\n", true),
        ("def sub(a, b): ...\n", true),
        ("# soon\nclass Sub:\n    \"\"\"Soon.\"\"\"\n    pass\n", true),
        (
            "class Sub:\n    LIMIT = 3\n    def of(self, a: int) -> int:\n        \"\"\"Soon.\"\"\"\n        return 0\n",
            true,
        ),
        ("import abc\nLIMIT = 12\n__all__ = ['add']\n", true),
        ("@decorated\nasync def sub(a):\n    pass\n", true),
        ("def sub(a, b):\n    return a - b\n", false),
        ("def sub(a, b): return 4\n", false),
        ("def sub(a, b):\n    return 'IV'\n", false),
        ("print(add(1, 2))\n", false),
    ] {
        stub("a.py", old, &format!("{old}{added}"), expected);
        stub("a.py", old, &format!("{added}{old}"), expected);
    }
    stub(
        "a.go",
        "package a\n",
        "package a\n\nfunc F(n int) (string, error) {\n\treturn \"\", nil\n}\n",
        true,
    );
    stub(
        "a.go",
        "package a\n",
        "package a\n\nfunc F(n int) (string, error) {\n\treturn \"I\", nil\n}\n",
        false,
    );
    stub("a.py", old, "def add(a, b):\n    return 0\n", false);
    stub("a.py", old, "", false);
    stub("a.py", old, "def add(a, b):  # sum\n    return a + b\n", true);
    stub("a.py", "class A:\n    x = 1\n", "class A:\n    x = 1\n    def b(self): ...\n", true);
    stub(
        "a.py",
        "class A:\n    x = 1\n",
        "class A:\n    x = 1\n    def b(self): return self.x\n",
        false,
    );
}

#[test]
fn tests_beside_a_stub_do_not_count() {
    stub("src/a.rs", "pub fn roman() -> u8 {\n    todo!()\n}\n", MIXED, true);
    stub("src/a.rs", "", MIXED, true);
    stub("src/a.rs", "", &MIXED.replace("todo!()", "1 + 1"), false);
}

#[test]
fn stubs_of_other_languages() {
    for (path, new, expected) in [
        ("a.rs", "pub fn roman(n: u32) -> String {\n    todo!()\n}\n", true),
        (
            "a.rs",
            "/// Roman.\npub fn roman(n: u32) -> Result<String, E> {\n    let _ = n;\n    unimplemented!()\n}\n",
            true,
        ),
        (
            "a.rs",
            "pub struct Roman { n: u32 }\nimpl Roman {\n    pub fn of(n: u32) -> Self { todo!() }\n}\npub mod roman;\n",
            true,
        ),
        ("a.rs", "pub fn roman(n: u32) -> String { \"I\".to_owned() }\n", false),
        ("a.rs", "impl A { fn b(&self) -> u8 { self.c + 1 } }", false),
        (
            "a.ts",
            "export function roman(n: number): string {\n  throw new Error('not implemented');\n}\n",
            true,
        ),
        (
            "a.ts",
            "export const roman = (n: number): string => { throw new Error(); };\nexport interface A { b: string }\n",
            true,
        ),
        ("a.js", "export class A { b() {} }\nexport const LIMIT = 3;\n", true),
        ("a.js", "export const roman = (n) => n + 1;\n", false),
        ("a.js", "export function roman(n) { return 'IV'; }\n", false),
        ("a.go", "package a\n\nfunc Roman(n int) string {\n\tpanic(\"todo\")\n}\n", true),
        ("a.go", "package a\n\nfunc Roman(n int) string {\n\treturn \"\"\n}\n", true),
        ("a.go", "package a\n\nfunc Roman(n int) string {\n\treturn \"IV\"\n}\n", false),
        (
            "A.java",
            "package a;\nclass A {\n  static String of(int n) { throw new UnsupportedOperationException(); }\n}\n",
            true,
        ),
        ("A.java", "class A {\n  static String of(int n) { return \"IV\"; }\n}\n", false),
    ] {
        stub(path, "", new, expected);
    }
}

#[test]
fn values_that_tests_and_code_share() {
    let tests = "def test_a():\n    assert f(1) == 'I'\n    assert f(3) == 'III'\n    assert f(1994) == 'MCMXCIV'\n";
    let shared = |new: &str| shared_values(Language::Python, tests, "", new);
    assert_eq!(shared("KNOWN = {1: 'I', 3: 'III', 1994: 'MCMXCIV'}\n"), Some(1));
    assert_eq!(shared("PARTS = [(1000, 'M'), (1, 'I')]\n"), None);
}

#[track_caller]
fn mutated(path: &str, source: &str, lines: std::ops::RangeInclusive<u32>, expected: &[&str]) {
    let found = mutants(Language::of_path(path), path, source, &[lines], 20);
    let told: Vec<String> =
        found.iter().map(|one| format!("{}: {}", one.line, one.description)).collect();
    assert_eq!(told, expected, "{source}");
    for mutant in found {
        assert_ne!(mutant.apply(source).as_deref(), Some(source));
    }
}

#[test]
fn mutants_in_the_changed_lines() {
    mutated(
        "a.py",
        "def f(n):\n    if n < 1:\n        raise ValueError\n    return n + 1\n",
        2..=4,
        &[
            "2: `<` became `<=`",
            "4: `+` became `-`",
            "3: `ValueError` became `RuntimeError`",
            "2: the condition was negated",
            "4: `1` became `2`",
            "2: `1` became `2`",
            "4: returns `None`",
            "2: the condition was never true",
        ],
    );
    mutated("a.py", "def f(n):\n    return n + 1\n", 5..=9, &[]);
    mutated(
        "src/a.rs",
        "fn f(n: u32) -> u32 {\n    n * 2\n}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(1, 1); }\n}\n",
        1..=9,
        &["2: `*` became `/`", "2: `2` became `3`", "2: returns the default"],
    );
    mutated(
        "a.ts",
        "export function f(n: number): string {\n  out.push(n);\n  return n >= 1 ? 'a' : 'b';\n}\n",
        1..=4,
        &[
            "3: `>=` became `>`",
            "2: `out.push(n);` was left out",
            "1: returns at once",
            "3: the condition was negated",
            "3: `1` became `2`",
            "3: `'a'` became `'b'`",
            "3: `'b'` became `'c'`",
            "3: returns `undefined`",
        ],
    );
    mutated(
        "a.go",
        "package a\nfunc F(n int) bool {\n\treturn n == 1 && n != 2\n}\n",
        3..=3,
        &[
            "3: `==` became `!=`",
            "3: `&&` became `||`",
            "3: `!=` became `==`",
            "3: `1` became `2`",
            "3: `2` became `3`",
        ],
    );
    mutated(
        "a.py",
        "def f(n):\n    raise ValueError(n)\n",
        2..=2,
        &["2: `ValueError` became `RuntimeError`"],
    );
    mutated(
        "a.js",
        "export function f(n) {\n  throw new RangeError(n);\n}\n",
        2..=2,
        &["2: `RangeError` became `Error`"],
    );
    mutated(
        "A.java",
        "class A {\n  boolean f(int n) {\n    return n > 1;\n  }\n}\n",
        3..=3,
        &["3: `>` became `>=`", "3: `1` became `2`"],
    );
}

#[test]
fn values_that_are_looked_at() {
    let check = |path: &str, head: &str, body: &str, expected: bool| {
        let source = format!("{head}{body}");
        let language = Language::of_path(path);
        let found = looks_at(
            language,
            &source,
            head.len()..source.len(),
            &imports(language, &source),
            &["roman".to_owned()],
        );
        assert_eq!(found, expected, "{source}");
    };
    let python = |body: &str, expected| {
        check(
            "test_a.py",
            "from kit import roman\nfrom kit.roman import LIMIT as MOST, to\n",
            body,
            expected,
        );
    };
    python("assert roman.LIMIT == 3\n", true);
    python("assert MOST == 3\n", true);
    python("check(MOST)\n", true);
    python("assert 'a' in roman.table\n", true);
    python("monkeypatch.setattr(roman, 'to', fake)\nassert roman.to(4) == 5\n", false);
    python("fake = Mock(side_effect=to)\nassert fake.to == 4\n", false);
    python("to\nassert 1 == 2\n", false);
    python("assert other(to=1) == 2\n", false);
    let script = |body: &str, expected| {
        let head = "import conf, { to } from './a.js';\nimport * as all from './b.js';\nconst { one } = require('./c');\n";
        check("a.test.js", head, body, expected);
    };
    script("expect(all.LIMIT).toBe(3);\n", true);
    script("expect(conf).toEqual({});\n", true);
    script("assert.ok(one === 3);\n", true);
    script("render(to);\n", true);
    script("expect(all.to(3)).toBe(3);\n", false);
    script("const f = vi.fn(to).mockReturnValue(1);\nexpect(f()).toBe(2);\n", false);
    script("to;\nexpect(api.to).toBe(2);\n", false);
}
