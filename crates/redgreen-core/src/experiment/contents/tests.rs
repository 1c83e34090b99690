//! What both sides of an equality contain, and which literals a test must notice.

use super::*;

fn look_at(path: &str, source: &str) -> SideExperiment {
    let language = Language::of_path(path);
    let items = syntax::items(language, path, source);
    let tests: Vec<&Item> = items.iter().filter(|item| item.is_test).collect();
    let side = |number: usize, side: usize, text: &str| format!("look({number}, {side}, {text})");
    let wrap = RecordingCode { begin: "", side: &side };
    let found = syntax::looked_at(language, path, source, &tests, 0, wrap)
        .map(|(_, found)| found)
        .unwrap_or_default();
    let looked = found.into_iter().map(|one| (path.to_owned(), one)).collect();
    SideExperiment {
        experiment: Experiment::of_tests(Question::Contents, Tree::Head, selection(&[], &[]), ""),
        looked,
    }
}

/// The literals that the left side of the only equality lacks. Both sides contain a type of the
/// project.
fn hidden(source: &str, left: &[&str], right: &[&str]) -> String {
    let look = look_at("tests/test_a.py", source);
    let line = |side: usize, content: &[&str]| {
        serde_json::json!({ "looked": 0, "side": side, "own": true, "content": content })
            .to_string()
    };
    let found = look.hidden(&format!("{}\n{}\n", line(0, left), line(1, right)));
    found
        .iter()
        .map(|one| format!("{}>{}", one.literal.text, one.literal.other))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn what_a_test_writes_out_is_looked_for_in_the_answer() {
    for (source, left, right, told) in [
        (
            "def test_a():\n    assert f() == Money(3, 'EUR')\n",
            &["1", "EUR"][..],
            &["3", "EUR"][..],
            "3>4",
        ),
        ("def test_a():\n    assert f() == Money(3, 'EUR')\n", &["3", "EUR"], &["3", "EUR"], ""),
        ("def test_a():\n    assert M(1) + M(2) == M(3)\n", &["1"], &["3"], "3>4"),
        ("def test_a():\n    want = M(3)\n    assert f() == want\n", &["1"], &["3"], "3>4"),
        // Values that the test does not write out may differ.
        ("def test_a():\n    assert parse('x') == Word('x')\n", &["x", "7"], &["x", "0"], ""),
        // A number is compared only to the precision it is written with.
        ("def test_a():\n    assert f() == 11.94\n", &["11.93"], &["11.94"], "11.94>11.95"),
        ("def test_a():\n    assert f() == V(0.7071)\n", &["0.70710678"], &["0.7071"], ""),
        // The test builds both sides, so it defines what equality means.
        (
            "def test_a():\n    assert C(1, 'Ann') == C(1, 'Anna')\n",
            &["1", "Ann"],
            &["1", "Anna"],
            "",
        ),
        (
            "def ann():\n    pass\ndef test_a():\n    assert ann() == C(1, 'Bob')\n",
            &["1", "Ann"],
            &["1", "Bob"],
            "",
        ),
        ("def test_a():\n    assert 'a' in f()\n", &["b"], &["a"], ""),
    ] {
        assert_eq!(hidden(source, left, right), told, "{source}");
    }
}

#[test]
fn both_sides_are_passed_on_where_they_stand() {
    let scene = |path: &str, source: &str| {
        let language = Language::of_path(path);
        let items = syntax::items(language, path, source);
        let tests: Vec<&Item> = items.iter().filter(|item| item.is_test).collect();
        let side = |number: usize, side: usize, text: &str| format!("L{number}{side}({text})");
        let wrap = RecordingCode { begin: " /* begin */", side: &side };
        syntax::looked_at(language, path, source, &tests, 4, wrap)
            .map(|(text, _)| text)
            .unwrap_or_default()
    };
    let rust = "#[test]\nfn adds() {\n    assert_eq!(M::new(1) + M::new(2), M::new(3));\n    assert!(f() == M::new(1));\n}\n";
    let told = "#[test]\nfn adds() { /* begin */\n    assert_eq!(L40(M::new(1) + M::new(2)), L41(M::new(3)));\n    assert!(f() == M::new(1));\n}\n";
    assert_eq!(scene("tests/a.rs", rust), told);
    // A function of the test module may build a side, too.
    let inner = "mod tests {\n    fn ann() -> C {\n        C { id: 1 }\n    }\n    #[test]\n    fn same() {\n        assert_eq!(ann(), C { id: 2 });\n    }\n}\n";
    assert_eq!(scene("src/a.rs", inner), "");
    let script = "test('a', () => {\n  expect(m.add(1)).toEqual(new M(3));\n});\n";
    let told =
        "test('a', () => { /* begin */\n  expect(L40(m.add(1))).toEqual(L41(new M(3)));\n});\n";
    assert_eq!(scene("test/a.test.js", script), told);
}
