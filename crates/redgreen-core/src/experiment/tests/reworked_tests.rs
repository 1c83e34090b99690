//! Tests that a REFACTOR changes.

use super::*;
use crate::experiment::reworked::reworked;

#[test]
fn reworked_tests_are_sorted() {
    const CODE: &str = "def f(x):\n    return x\n\n\ndef _g(x):\n    return x\n";
    const TESTS: &str =
        "def test_a():\n    assert f(1) == 1\n\n\ndef test_g():\n    assert _g(2) == 2\n";
    let only_f = "def f(x):\n    return x\n";
    let without_g = "def test_a():\n    assert f(1) == 1\n";
    let rust = "fn g() -> u8 { 1 }\npub fn f() -> u8 { 2 }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(super::f(), 2); }\n    #[test]\n    fn b() { assert_eq!(super::g(), 1); }\n}\n";
    let no_g = "pub fn f() -> u8 { 2 }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(super::f(), 2); }\n}\n";
    for (before, now, expected) in [
        (
            vec![("test_a.py", TESTS)],
            vec![("test_a.py", &*TESTS.replace("test_a", "test_z"))],
            "moved test_a",
        ),
        (vec![("test_a.py", TESTS)], vec![("test_b.py", TESTS)], "moved test_a, moved test_g"),
        (vec![("test_a.py", TESTS)], vec![("test_a.py", without_g)], "lost test_g"),
        (
            vec![("test_a.py", TESTS)],
            vec![("test_a.py", &*TESTS.replace("== 2", "== 3"))],
            "lost test_g",
        ),
        (
            vec![("test_a.py", TESTS)],
            vec![("test_a.py", &*TESTS.replace(" == 2", ""))],
            "weaker test_g",
        ),
        (
            vec![("test_a.py", TESTS), ("a.py", CODE)],
            vec![("test_a.py", without_g), ("a.py", only_f)],
            "dead test_g",
        ),
        (
            vec![("test_a.py", TESTS), ("a.py", CODE)],
            vec![("test_a.py", ""), ("a.py", only_f)],
            "lost test_a, dead test_g",
        ),
        (
            vec![("test_a.py", TESTS), ("a.py", CODE)],
            vec![
                ("test_a.py", &*TESTS.replace("f(1)", "first(1)")),
                ("a.py", &*CODE.replace("def f", "def first")),
            ],
            "",
        ),
        (
            vec![("test_a.py", TESTS), ("a.py", CODE)],
            vec![
                ("test_a.py", &*TESTS.replace("f(1) == 1", "first(1) == 2")),
                ("a.py", &*CODE.replace("def f", "def first")),
            ],
            "lost test_a",
        ),
        (vec![("src/lib.rs", rust)], vec![("src/lib.rs", no_g)], "dead tests::b"),
        (
            vec![("src/lib.rs", &*rust.replace("fn g", "pub fn g"))],
            vec![("src/lib.rs", no_g)],
            "retired tests::b",
        ),
        (
            vec![("test_a.py", TESTS), ("a.py", CODE)],
            vec![
                ("test_a.py", "def test_g():\n    assert _g(2) == 2\n"),
                ("a.py", "def _g(x):\n    return x\n"),
            ],
            "retired test_a",
        ),
    ] {
        let scene = Scene { before: &before, now: &now, ..Scene::default() };
        let all = scene.ask(JudgedPhase::Refactor, reworked);
        let tell = |word: &str, tests: Vec<&About>| {
            tests.iter().map(|about| format!("{word} {}", about.item)).collect::<Vec<_>>()
        };
        let told = [
            tell("moved", all.moved.iter().collect()),
            tell("lost", all.lost.iter().collect()),
            tell("dead", all.dead.iter().collect()),
            tell("retired", all.retired.iter().map(|(about, _)| about).collect()),
            tell("weaker", all.weaker.iter().map(|(about, _)| about).collect()),
        ];
        assert_eq!(told.concat().join(", "), expected, "{before:?} {now:?}");
    }
}
