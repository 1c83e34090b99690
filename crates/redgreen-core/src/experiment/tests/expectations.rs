//! Expectations that cannot be met.

use super::*;

#[test]
fn expectations_are_made_impossible() {
    let lines =
        |source: &str| source.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    for (path, id, source, pick, expected) in [
        (
            "test_a.py",
            "test_a.py::test_a",
            "def test_a():\n    assert f(1) == 2\n",
            Pick::Last,
            "assert f(1) == 3",
        ),
        (
            "test_a.py",
            "test_a.py::test_a",
            "def test_a():\n    assert f(1) == approx(0.3, 1e-6)\n",
            Pick::Last,
            "assert f(1) == approx(0.3, 2e-6)",
        ),
        (
            "test_a.py",
            "test_a.py::test_a",
            "def test_a():\n    assert f(1) == approx(0.3, 1e-6)\n",
            Pick::First,
            "assert f(1) == approx(1.3, 1e-6)",
        ),
        (
            "test_a.py",
            "test_a.py::test_a",
            "def test_a():\n    assert f(1)\n",
            Pick::Last,
            "assert not (f(1))",
        ),
        (
            "test_a.py",
            "test_a.py::test_a",
            "def test_a():\n    text = \"a\"\n    assert g(f(text)) == text\n",
            Pick::Last,
            "assert g(f(text)) != text",
        ),
        (
            "test_a.py",
            "test_a.py::test_a",
            "def test_a():\n    rows = [1]\n    save(rows)\n    assert load() == rows\n",
            Pick::Last,
            "assert load() != rows",
        ),
        (
            "test_a.py",
            "test_a.py::test_a",
            "def test_a():\n    for n, want in [(1, 2)]:\n        assert f(n) == want, f\"{n}\"\n",
            Pick::Last,
            "for n, want in [(1, 3)]:",
        ),
        (
            "a.test.ts",
            "a.test.ts > a",
            "test(\"a\", () => {\n  const rows = [1];\n  expect(copy(rows)).toEqual(rows);\n});\n",
            Pick::Last,
            "expect(copy(rows)).not.toEqual(rows);",
        ),
        (
            "a.test.ts",
            "a.test.ts > a",
            "test(\"a\", () => {\n  expect(keys()).toContain(\"a\");\n});\n",
            Pick::Last,
            "expect(keys()).not.toContain(\"a\");",
        ),
        (
            "tests/a.rs",
            "roman/tests/a::a",
            "#[test]\nfn a() {\n    let text = \"a\";\n    assert_eq!(g(&f(text)), text);\n}\n",
            Pick::Last,
            "assert_ne!(g(&f(text)), text);",
        ),
        (
            "test_a.py",
            "test_a.py::test_a",
            "def test_a():\n    assert 1 in f()\n",
            Pick::Last,
            "assert 1 not in f()",
        ),
        (
            "test_a.py",
            "test_a.py::test_b",
            "def test_a():\n    assert f(1) == 2\n",
            Pick::Last,
            "assert f(1) == 2",
        ),
        (
            "a.test.ts",
            "a.test.ts > a",
            "test(\"a\", () => {\n  expect(f(1)).toBe(2);\n});\n",
            Pick::Last,
            "expect(f(1)).toBe(3);",
        ),
        (
            "tests/a.rs",
            "roman/tests/a::a",
            "#[test]\nfn a() {\n    assert_eq!(f(1), Some(2));\n}\n",
            Pick::Last,
            "assert_eq!(f(1), Some(3));",
        ),
    ] {
        let scene = Scene { now: &[(path, source)], targets: &[id], ..Scene::default() };
        let control =
            scene.ask(JudgedPhase::Green, |material| everything_changed(material, path, pick));
        let text = lines(&control.edits[0].1);
        assert!(text.iter().any(|line| line == expected), "{expected} is not in {text:#?}");
        assert_eq!(
            control.about.last().map(|about| about.item.as_str()),
            Some(canary::NAME),
            "{source}"
        );
    }
}
