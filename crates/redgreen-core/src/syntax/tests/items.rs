//! The items of a file.

use super::*;

#[track_caller]
fn check(path: &str, source: &str, expected: &[&str]) {
    let told: Vec<String> = items(Language::of_path(path), path, source).iter().map(told).collect();
    assert_eq!(told, expected, "{source}");
}

/// Checks one Python test with this body.
#[track_caller]
fn python(body: &str, expected: &str) {
    let source = format!(
        "from roman import to_roman\n\ndef test_a():\n    {}\n",
        body.replace('\n', "\n    ")
    );
    check("tests/test_a.py", &source, &[&format!("test test_a{expected}")]);
}

#[track_caller]
fn rust(body: &str, expected: &str) {
    check(
        "tests/a.rs",
        &format!("use roman::to_roman;\n#[test]\nfn a() {{\n    {body}\n}}\n"),
        &[&format!("test a{expected}")],
    );
}

#[track_caller]
fn script(body: &str, expected: &str) {
    for path in ["a.test.js", "a.test.ts", "a.test.tsx"] {
        let source = format!(
            "import {{ toRoman }} from './roman';\n\ntest('a', () => {{\n    {body}\n}});\n"
        );
        check(path, &source, &[&format!("test a{expected}")]);
    }
}

#[test]
fn pytest_and_unittest_names() {
    check(
        "tests/test_a.py",
        "import unittest\ndef helper(): pass\ndef test_one():\n    def test_inner(): pass\nclass TestRoman:\n    def test_two(self): pass\n    def other(self): pass\nclass Thing:\n    def test_no(self): pass\nclass RomanCase(unittest.TestCase):\n    def test_three(self): pass\n",
        &[
            "item helper",
            "test test_one",
            "item test_one::test_inner",
            "item TestRoman",
            "test TestRoman::test_two",
            "item TestRoman::other",
            "item Thing",
            "item Thing::test_no",
            "item RomanCase",
            "test RomanCase::test_three",
        ],
    );
    check("src/net.py", "def test_connection(): pass\n", &["item test_connection"]);
}

#[test]
fn rust_tests_by_attribute() {
    check(
        "src/roman.rs",
        "pub fn roman() {}\n#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn one() { assert_eq!(roman(), 1); }\n    #[tokio::test]\n    async fn two() {}\n    #[rstest]\n    #[case(1)]\n    #[case(2)]\n    fn three(#[case] n: u32) {}\n    #[test_case(1 ; \"a\")]\n    fn four(n: u32) {}\n    proptest! {\n        #[test]\n        fn five(n in 0..9) { prop_assert_eq!(n, n); }\n    }\n    fn helper() {}\n    #[test]\n    #[ignore = \"slow\"]\n    fn six() {}\n    #[test]\n    #[should_panic]\n    fn seven() {}\n}\n",
        &[
            "item roman",
            "item tests 2/2",
            "test tests::one 1/1",
            "test tests::two",
            "test tests::three x2",
            "test tests::four x1",
            "test tests::five 1/1",
            "item tests::helper",
            "test tests::six [Skip]",
            "test tests::seven [Xfail]",
        ],
    );
}

#[test]
fn rust_documentation_tests() {
    check(
        "src/lib.rs",
        "//! ```\n//! assert!(true);\n//! ```\n\n/// One.\n///\n/// ```\n/// assert_eq!(roman(4), \"IV\");\n/// ```\n///\n/// ```text\n/// not code\n/// ```\npub fn roman() {}\n",
        &["test (doc) 1/0", "test roman::(doc) 1/1", "item roman"],
    );
}

#[test]
fn python_documentation_tests() {
    check(
        "src/roman.py",
        "def roman(n):\n    \"\"\"One.\n\n    >>> roman(4)\n    'IV'\n    \"\"\"\n    return n\n",
        &["item roman", "test roman::(doc) 1/1"],
    );
}

#[test]
fn script_tests_by_call() {
    check(
        "a.test.ts",
        "describe('roman', () => {\n  it('one', async () => { await expect(f()).resolves.toBe(1); });\n  it.skip('two', () => {});\n  it.todo('three');\n  test.each([[1, 'I'], [2, 'II']])('%i', (n, r) => { expect(f(n)).toBe(r); });\n  it('five', { skip: true }, () => {});\n  describe.only('inner', () => { test.fails('six', () => {}); });\n});\nconst helper = () => 1;\ntest.beforeEach(() => {});\n",
        &[
            "item roman 2/2",
            "test roman > one 1/1",
            "test roman > two [Skip]",
            "test roman > three [Todo]",
            "test roman > %i 1/1 x2",
            "test roman > five [Skip]",
            "item roman > inner [Only]",
            "test roman > inner > six [Xfail, Only]",
            "item helper",
        ],
    );
}

#[test]
fn go_tests_by_signature() {
    check(
        "roman_test.go",
        "package roman\nimport \"testing\"\nfunc TestOne(t *testing.T) {\n\tif got := Roman(4); got != \"IV\" {\n\t\tt.Errorf(\"got %s\", got)\n\t}\n}\nfunc FuzzTwo(f *testing.F) {}\nfunc ExampleRoman() {}\nfunc Testing(t *testing.T) {}\nfunc TestHelper() {}\nfunc TestSkip(t *testing.T) { t.Skip(\"later\") }\n",
        &[
            "test TestOne 1/1",
            "test FuzzTwo",
            "test ExampleRoman",
            "item Testing",
            "item TestHelper",
            "test TestSkip [Skip]",
        ],
    );
}

#[test]
fn java_tests_by_annotation() {
    check(
        "src/test/java/RomanTest.java",
        "class RomanTest {\n  @Test void one() { assertEquals(\"IV\", Roman.of(4)); }\n  @ParameterizedTest @ValueSource(ints = {1, 2, 3}) void two(int n) { assertThat(Roman.of(n)).isEqualTo(\"I\"); }\n  @Disabled @Test void three() {}\n  void helper() {}\n}\n",
        &[
            "item RomanTest 2/2",
            "test RomanTest.one 1/1",
            "test RomanTest.two 1/1 x3",
            "test RomanTest.three [Skip]",
            "item RomanTest.helper",
        ],
    );
}

#[test]
fn python_assertions() {
    python("assert to_roman(4) == 'IV'", " 1/1");
    python("assert to_roman(4) != 'V'", " 1/0");
    python("assert to_roman(4) is not None", " 1/0");
    python("assert is_roman(4)", " 1/0");
    python("with pytest.raises(ValueError):\n    to_roman(0)", " 1/0");
    python("self.assertEqual(to_roman(4), 'IV')", " 1/1");
    python("if to_roman(4) != 'IV':\n    pytest.fail('no')", " 1/1");
    python("pytest.skip('later')", " [Skip]");
    python("", "");
    python("to_roman(4)", "");
    python("assert True", " 1/0");
    python("try:\n    to_roman(0)\nexcept ValueError:\n    pass\nelse:\n    pytest.fail()", " 1/0");
}

#[test]
fn helpers_that_assert_count() {
    check(
        "tests/test_a.py",
        "from roman import to_roman\ndef check(n, r):\n    assert to_roman(n) == r\ndef check_all(rows):\n    for n, r in rows:\n        check(n, r)\ndef test_a():\n    check(4, 'IV')\n    check(5, 'V')\ndef test_b():\n    check_all([(4, 'IV')])\n",
        &["item check 1/1", "item check_all 1/1", "test test_a 2/2", "test test_b 1/1"],
    );
}

#[test]
fn python_markers_and_rows() {
    check(
        "tests/test_a.py",
        "ROWS = [(1, 'I'), (2, 'II')]\n@pytest.mark.parametrize('n, r', ROWS)\n@pytest.mark.skipif(True, reason='x')\ndef test_a(n, r): pass\n@pytest.mark.parametrize('n', [1, 2, 3])\n@pytest.mark.parametrize('m', [1, 2])\n@pytest.mark.xfail\ndef test_b(n, m): pass\n@pytest.mark.parametrize('n', [])\ndef test_c(n): pass\n@unittest.skip('no')\nclass TestD:\n    def test_d(self): pass\n",
        &[
            "test test_a [Skip] x2",
            "test test_b [Xfail] x6",
            "test test_c x0",
            "item TestD [Skip]",
            "test TestD::test_d [Skip]",
        ],
    );
}

#[test]
fn rust_assertions() {
    rust("assert_eq!(to_roman(4).unwrap(), \"IV\");", " 1/1");
    rust("assert!(to_roman(4) == \"IV\", \"m\");", " 1/1");
    rust("assert!(to_roman(0).is_err());", " 1/0");
    rust("assert!(matches!(to_roman(0), Err(_)));", " 1/0");
    rust("insta::assert_snapshot!(to_roman(4));", " 1/0");
    rust("match to_roman(0) { Err(_) => {} Ok(r) => panic!(\"{r}\") }", " 1/0");
    rust("let Err(_) = to_roman(0) else { panic!() };", " 1/0");
    rust("let _ = to_roman(4);", "");
}

#[test]
fn script_assertions() {
    script("expect(toRoman(4)).toBe('IV');", " 1/1");
    script("expect(toRoman(4)).not.toBe('V');", " 1/0");
    script("expect(() => toRoman(0)).toThrow(RangeError);", " 1/0");
    script("expect(toRoman(4)).to.equal('IV');", " 1/1");
    script("toRoman(4).should.equal('IV');", " 1/1");
    script("assert.equal(toRoman(4), 'IV');", " 1/1");
    script("assert.ok(toRoman(4));", " 1/0");
    script("expect(toRoman(4)).toMatchInlineSnapshot(`\"IV\"`);", " 1/1");
    script("expect(toRoman(4)).toMatchSnapshot();", " 1/0");
    script("if (toRoman(4) !== 'IV') throw new Error('no');", "");
    script("expect(toRoman(4));", "");
    script("expect(toRoman(4)).resolves.toBe('IV');", " 1/1");
    script("return expect(toRoman(4)).resolves.toBe('IV');", " 1/1");
    script(
        "new Promise(() => setTimeout(() => assert.equal(toRoman(4), 'IV'), 50).unref());",
        " 1/1",
    );
    script("[4].forEach((n) => { expect(toRoman(n)).toBe('IV'); });", " 1/1");
}

#[test]
fn a_name_is_not_part_of_a_body() {
    let hash = |source: &str| {
        items(Language::Python, "tests/test_a.py", source).first().map(|item| item.body_hash)
    };
    let base = hash("def test_a():\n    x = f(1)\n    assert all(x)\n");
    for (source, same) in [
        ("def test_b():\n    y = f(1)  # why\n    assert all( y )\n", true),
        ("def test_a():\n    x = f(1)\n    assert any(x)\n", false),
        ("def test_a():\n    x = f(2)\n    assert all(x)\n", false),
        ("def test_a():\n    x = f(1)\n    assert all(f)\n", false),
    ] {
        assert_eq!(hash(source) == base, same, "{source}");
    }
}
