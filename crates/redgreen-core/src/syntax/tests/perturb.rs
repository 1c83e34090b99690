//! Expectations made impossible.

use super::*;

const WAY: PerturbRules = PerturbRules { pick: Pick::Last, letters: Letters::Near };

/// Checks the source with every possible expectation changed.
#[track_caller]
fn check(path: &str, source: &str, expected: &str) {
    let language = Language::of_path(path);
    let items = items(language, path, source);
    let test =
        items.iter().find(|item| item.is_test).unwrap_or_else(|| panic!("no test: {source}"));
    let changed = impossible(language, path, source, &[test], Extent::Everything, WAY);
    assert_eq!(changed.as_ref().map_or("nothing", |(text, _)| text), expected);
}

#[track_caller]
fn python(body: &str, expected: &str) {
    let test = |body: &str| format!("def test_a():\n    {body}\n");
    let expected = if expected == "nothing" { expected.to_owned() } else { test(expected) };
    check("tests/test_a.py", &test(body), &expected);
}

#[track_caller]
fn script(body: &str, expected: &str) {
    let test = |body: &str| format!("test('a', () => {{ {body} }});\n");
    let expected = if expected == "nothing" { expected.to_owned() } else { test(expected) };
    check("a.test.ts", &test(body), &expected);
}

#[track_caller]
fn rust(body: &str, expected: &str) {
    let test = |body: &str| format!("#[test]\nfn a() {{ {body} }}\n");
    let expected = if expected == "nothing" { expected.to_owned() } else { test(expected) };
    check("tests/a.rs", &test(body), &expected);
}

#[test]
fn python_expectations() {
    python("assert f(4) == 'IV'", "assert f(4) == 'IW'");
    python("assert 'IV' == f(4)", "assert 'IW' == f(4)");
    python("assert f(4) == 19", "assert f(4) == 29");
    python("assert f(4) == 250", "assert f(4) == 150");
    python("assert f(4) == 1_000", "assert f(4) == 1_100");
    python("assert f(4) == 0b11", "assert f(4) == 0b10");
    python("assert f(4) == -3", "assert f(4) == -4");
    python("assert f(4) is True", "assert f(4) is False");
    python("assert f(4) is None", "assert f(4) is False");
    python("assert f(4) == [1, 'b']", "assert f(4) == [1, 'c']");
    python("assert f(4) == []", "assert f(4) == [0]");
    python("assert f(4) == {'a': 1}", "assert f(4) == {'a': 2}");
    python("assert f(4) == pytest.approx(0.5)", "assert f(4) == pytest.approx(1.5)");
    python("assert f(4)", "assert not (f(4))");
    python("assert f(4) > 3", "assert f(4) > float(\"nan\")");
    python("assert 1 < f(4) <= 2.5", "assert 1 < f(4) <= float(\"nan\")");
    python(
        "assert f(4) > -3 and (f(5) < 2)",
        "assert f(4) > float(\"nan\") and (f(5) < float(\"nan\"))",
    );
    python("assert f(4) > 3 or g()", "assert not (f(4) > 3 or g())");
    python("assert f(4) > g(5)", "assert not (f(4) > g(5))");
    python("assert f(4, 3 < 5)", "assert not (f(4, 3 < 5))");
    python("assert f(4) == g(5)", "assert f(4) != g(5)");
    python("assert f(4) != 5", "assert f(4) == 5");
    python("self.assertEqual(f(4), 'IV')", "self.assertEqual(f(4), 'IW')");
    python("self.assertTrue(f(4))", "self.assertFalse(f(4))");
    python("want = 'IV'\n    assert f(4) == want", "want = 'IW'\n    assert f(4) == want");
    python(
        "for n, r in [(1, 'I'), (4, 'IV')]:\n        assert f(n) == r",
        "for n, r in [(1, 'J'), (4, 'IW')]:\n        assert f(n) == r",
    );
    python("if f(4) != 'IV':\n        pytest.fail()", "if f(4) != 'IW':\n        pytest.fail()");
    python("with pytest.raises(ValueError):\n        f(0)", "nothing");
    python("assert False", "nothing");
    python("pass", "nothing");
}

#[test]
fn python_rows() {
    let rows = |r: &str| {
        format!(
            "@pytest.mark.parametrize('n, r', [(1, {r}), pytest.param(1, {r})])\ndef test_a(n, r):\n    assert f(n) == r\n"
        )
    };
    check("tests/test_a.py", &rows("'I'"), &rows("'J'"));
    let named = |r: &str| {
        format!(
            "ROWS = [(1, {r})]\n\ndef test_a():\n    for n, r in ROWS:\n        assert f(n) == r\n"
        )
    };
    check("tests/test_a.py", &named("'I'"), &named("'J'"));
}

#[test]
fn what_another_test_calls_the_same_is_another_thing() {
    let own = |by: &str| {
        format!(
            "def test_a():\n    want = g(5)\n    assert f(4) {by} want\n\ndef test_b():\n    want = 7\n    assert f(7) == want\n"
        )
    };
    check("tests/test_a.py", &own("=="), &own("!="));
    let both = |r: &str| {
        format!(
            "def cases():\n    rows = [(1, 2)]\n\ndef test_a():\n    rows = [(1, {r})]\n    for n, want in rows:\n        assert f(n) == want\n"
        )
    };
    check("tests/test_a.py", &both("7"), &both("8"));
    let script = |r: &str| {
        format!(
            "const other = () => {{ const want = 1; }};\ndescribe('f', () => {{ const want = {r}; test('a', () => {{ expect(f(4)).toBe(want); }}); }});\n"
        )
    };
    check("a.test.js", &script("7"), &script("8"));
    let rust = |r: &str| {
        format!(
            "fn other() {{ let want = 1; }}\n#[test]\nfn a() {{ let want = {r}; assert_eq!(f(4), want); }}\n"
        )
    };
    check("tests/a.rs", &rust("7"), &rust("8"));
    python(
        "if g():\n        want = 1\n    else:\n        want = 2\n    assert f(4) == want",
        "if g():\n        want = 2\n    else:\n        want = 3\n    assert f(4) == want",
    );
}

#[test]
fn script_expectations() {
    script("expect(f(4)).toBe('IV');", "expect(f(4)).toBe('IW');");
    script("expect(f(4)).toEqual({ a: [1] });", "expect(f(4)).toEqual({ a: [2] });");
    script("expect(f(4)).toBeTruthy();", "expect(f(4)).toBeFalsy();");
    script("expect(f(4)).toBeGreaterThan(3);", "expect(f(4)).not.toBeGreaterThan(3);");
    script("expect(f(4)).toEqual(g(5));", "expect(f(4)).not.toEqual(g(5));");
    script(
        "expect(f(4)).toMatchInlineSnapshot(`\"IV\"`);",
        "expect(f(4)).toMatchInlineSnapshot(`\"IW\"`);",
    );
    script("assert.equal(f(4), 'IV');", "assert.equal(f(4), 'IW');");
    script("assert.ok(f(4));", "assert.ok(!(f(4)));");
    script(
        "const want = 'IV'; expect(f(4)).toBe(want);",
        "const want = 'IW'; expect(f(4)).toBe(want);",
    );
    script(
        "for (const [n, r] of [[1, 'I']]) expect(f(n)).toBe(r);",
        "for (const [n, r] of [[1, 'J']]) expect(f(n)).toBe(r);",
    );
    script(
        "[[1, 'I']].forEach(([n, r]) => { expect(f(n)).toBe(r); });",
        "[[1, 'J']].forEach(([n, r]) => { expect(f(n)).toBe(r); });",
    );
    script("expect(() => f(0)).toThrow();", "nothing");
    let each =
        |r: &str| format!("test.each([[1, {r}]])('%i', (n, r) => {{ expect(f(n)).toBe(r); }});\n");
    check("a.test.js", &each("'I'"), &each("'J'"));
    let objects = |r: &str| {
        format!(
            "test.each([{{ n: 1, r: {r} }}])('%i', ({{ n, r }}) => {{ expect(f(n)).toBe(r); }});\n"
        )
    };
    check("a.test.js", &objects("'I'"), &objects("'J'"));
}

#[test]
fn rust_expectations() {
    rust("assert_eq!(f(4), \"IV\");", "assert_eq!(f(4), \"IW\");");
    rust("assert_eq!(f(4), Some(3_u32));", "assert_eq!(f(4), Some(4_u32));");
    rust("assert_eq!(f(4), Ok(\"IV\".to_string()));", "assert_eq!(f(4), Ok(\"IW\".to_string()));");
    rust("assert_eq!(f(4), vec![1, 2]);", "assert_eq!(f(4), vec![1, 3]);");
    rust("assert_eq!(f(4), 'a');", "assert_eq!(f(4), 'b');");
    rust("assert_eq!(f(4), None);", "assert_ne!(f(4), None);");
    rust("assert!(f(4));", "assert!(!(f(4)));");
    rust("assert!(f(4) == 5);", "assert!(f(4) == 6);");
    rust(
        "for (n, r) in [(1, \"I\")] { assert_eq!(f(n), r); }",
        "for (n, r) in [(1, \"J\")] { assert_eq!(f(n), r); }",
    );
    let case = |r: &str| {
        format!(
            "#[rstest]\n#[case(1, {r})]\nfn a(#[case] n: u32, #[case] r: &str) {{ assert_eq!(f(n), r); }}\n"
        )
    };
    check("tests/a.rs", &case("\"I\""), &case("\"J\""));
}

#[test]
fn expectations_in_documentation() {
    let rust = |r: &str| format!("/// ```\n/// assert_eq!(f(4), {r});\n/// ```\npub fn f() {{}}\n");
    check("src/a.rs", &rust("\"IV\""), &rust("\"IW\""));
    let python =
        |r: &str| format!("def f(n):\n    \"\"\"F.\n\n    >>> f(4)\n    {r}\n    \"\"\"\n");
    check("src/a.py", &python("'IV'"), &python("'IW'"));
}

#[test]
fn expectations_in_a_table() {
    let python = |r: &str, test: &str| {
        format!("KNOWN = {{4: {r}, (1, 'a'): {r}}}\n\n\ndef test_a(key):\n    {test}\n")
    };
    for test in ["assert f(key) == KNOWN[key]", "for n, want in KNOWN.items(): assert f(n) == want"]
    {
        check("tests/test_a.py", &python("'IV'", test), &python("'IW'", test));
    }
    let script = |r: &str, test: &str| {
        format!("const known = {{ a: {r}, \"b c\": {r} }};\ntest('a', () => {{ {test} }});\n")
    };
    for test in [
        "expect(f(key)).toBe(known[key]);",
        "for (const [n, want] of Object.entries(known)) { expect(f(n)).toBe(want); }",
    ] {
        check("a.test.ts", &script("'IV'", test), &script("'IW'", test));
    }
    let go = |r: &str| {
        format!(
            "package a\nvar known = map[int]string{{4: {r}}}\nfunc TestA(t *testing.T) {{\n\tif got := F(4); \
             got != known[4] {{\n\t\tt.Errorf(\"got %q\", got)\n\t}}\n}}\n"
        )
    };
    check("a_test.go", &go("\"IV\""), &go("\"IW\""));
}

#[test]
fn go_and_java_expectations() {
    let go = |r: &str| {
        format!(
            "package a\nfunc TestA(t *testing.T) {{\n\tif got := F(4); got != {r} {{\n\t\tt.Errorf(\"got %q\", got)\n\t}}\n}}\n"
        )
    };
    check("a_test.go", &go("\"IV\""), &go("\"IW\""));
    let table = |r: &str| {
        format!(
            "package a\nfunc TestA(t *testing.T) {{\n\ttests := []struct {{\n\t\tin int\n\t\twant string\n\t}}{{\n\t\t{{1, {r}}},\n\t\t{{in: 1, want: {r}}},\n\t}}\n\tfor _, tt := range tests {{\n\t\tif got := F(tt.in); got != tt.want {{\n\t\t\tt.Errorf(\"got %q\", got)\n\t\t}}\n\t}}\n}}\n"
        )
    };
    check("a_test.go", &table("\"I\""), &table("\"J\""));
    let testify = |r: &str| {
        format!("package a\nfunc TestA(t *testing.T) {{\n\tassert.Equal(t, {r}, F(4))\n}}\n")
    };
    check("a_test.go", &testify("\"IV\""), &testify("\"IW\""));
    let java = |r: &str| {
        format!("class ATest {{\n  @Test void a() {{ assertEquals({r}, F.of(4)); }}\n}}\n")
    };
    check("src/test/java/ATest.java", &java("\"IV\""), &java("\"IW\""));
    let fluent = |r: &str| {
        format!("class ATest {{\n  @Test void a() {{ assertThat(F.of(4)).isEqualTo({r}); }}\n}}\n")
    };
    check("src/test/java/ATest.java", &fluent("\"IV\""), &fluent("\"IW\""));
}

#[test]
fn there_is_nothing_to_change_in_raises() {
    let test = |one: u8, two: u8| {
        format!(
            "def test_a():\n    assert f(1) == {one}\n    assert f(2) == {two}\n    with pytest.raises(E):\n        f(0)\n"
        )
    };
    check("tests/test_a.py", &test(1, 2), &test(2, 3));
    for (body, expected) in [
        ("assert f(1) == 1", true),
        ("assert f(1) == g(1)", false),
        ("assert f(1) != 1", false),
        ("f(1)", false),
    ] {
        let source = format!("def test_a():\n    {body}\n");
        let items = items(Language::Python, "tests/test_a.py", &source);
        assert_eq!(
            is_written(Language::Python, "tests/test_a.py", &source, &items[0], WAY),
            expected,
            "{body}"
        );
    }
}

/// Changes one assertion, counted from the last one, using only its own letters. A second version
/// of the source fails at this assertion.
#[test]
fn one_expectation_changes_inside_its_own_letters() {
    const TEST: &str = "def test_a():\n    assert f(1) == \"IV\"\n    assert f(2) == \"III\"\n    assert \"total: 7\" in g()\n";
    let items = items(Language::Python, "test_a.py", TEST);
    let tests: Vec<&Item> = items.iter().collect();
    let way = PerturbRules { pick: Pick::Last, letters: Letters::Own };
    for (back, changed, failing) in [
        (
            0,
            Some("    assert \"totla: 7\" in g()"),
            Some("assert f(2) == \"III\"\n    assert False\n"),
        ),
        (1, Some("    assert f(2) == \"IIII\""), Some("assert f(1) == \"IV\"\n    assert False\n")),
        (2, Some("    assert f(1) == \"VI\""), Some("():\n    assert False\n")),
        (3, None, None),
    ] {
        let text = impossible(Language::Python, "test_a.py", TEST, &tests, Extent::One(back), way)
            .map(|(text, _)| text);
        let is_there =
            |line: &str| text.as_deref().is_some_and(|text| text.lines().any(|one| one == line));
        assert!(changed.map_or(text.is_none(), is_there), "{back}: {text:?}");
        let stopped =
            stopped_each(Language::Python, "test_a.py", TEST, &tests, back + 1).pop().flatten();
        let is_stopped = |part: &str| stopped.as_deref().is_some_and(|text| text.contains(part));
        assert!(failing.map_or(stopped.is_none(), is_stopped), "{back}: {stopped:?}");
    }
}
