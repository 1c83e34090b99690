//! Tests that want two answers from one call.

use super::*;

/// `f(2): 4@5, 5@6`, or nothing.
fn seen(path: &str, source: &str, brief: &str) -> String {
    let language = Language::of_path(path);
    let items = items(language, path, source);
    let tests: Vec<&Item> = items.iter().filter(|item| item.is_test).collect();
    match contradiction(language, path, source, &tests, brief) {
        Some(Contradiction { call, answers: [one, other], lines: [first, second] }) => {
            format!("{call}: {one}@{first}, {other}@{second}")
        }
        None => String::new(),
    }
}

const BRIEF: &str = "square(n): n times n";

#[track_caller]
fn python(body: &str, expected: &str) {
    let source =
        format!("from calc import square\nimport calc\n\ndef test_a():\n    {}\n", body.replace('\n', "\n    "));
    assert_eq!(seen("tests/test_a.py", &source, BRIEF.replace("times", "by").as_str()), expected, "{source}");
}

#[test]
fn one_call_cannot_give_two_answers() {
    python("assert square(2) == 4\nassert square(2) == 5", "square(2): 4@5, 5@6");
    python("assert square(2) == 4\nassert 5 == square(2)", "square(2): 4@5, 5@6");
    python("assert square(2) == 4\nassert square(3) == 9\nassert square(2) == 5", "square(2): 4@5, 5@7");
    python("assert square(\"a b\") == \"x\"\nassert square(\"a b\") == \"y\"", "square(\"a b\"): \"x\"@5, \"y\"@6");
    python("assert calc.square(2) == [4, 1]\nassert calc.square(2) == [4, 7]", "calc.square(2): [4, 1]@5, [4, 7]@6");
    python("assert square('a') == 'x\\ny'\nassert square('a') == 'x y'", "square('a'): 'x\\ny'@5, 'x y'@6");
    let two = "from calc import square\n\ndef test_a():\n    assert square(2) == 4\n\ndef test_b():\n    assert square(2) == 5\n";
    assert_eq!(seen("tests/test_a.py", two, ""), "square(2): 4@4, 5@7");
    let unit = "import unittest\nfrom calc import square\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(square(2), 4)\n        self.assertEqual(square(2), 5)\n";
    assert_eq!(seen("tests/test_a.py", unit, ""), "square(2): 4@5, 5@6");
    let rust =
        "use calc::square;\n#[test]\nfn a() {\n    assert_eq!(square(2), 4);\n    assert_eq!(square(2), 5);\n}\n";
    assert_eq!(seen("tests/a.rs", rust, ""), "square(2): 4@4, 5@5");
    let rust = rust.replace("square(2)", "calc::square(\"a b\").unwrap()");
    assert_eq!(seen("tests/a.rs", &rust, ""), "calc::square(\"a b\").unwrap(): 4@4, 5@5");
    for assert in ["expect(f(2)).toBe(V)", "assert.equal(f(2), V)", "assert.deepStrictEqual(f(2), V)"] {
        let (one, other) = (assert.replace('V', "4"), assert.replace('V', "5"));
        let script = format!("import {{ f }} from './f.js';\ntest('a', () => {{\n  {one};\n  {other};\n}});\n");
        assert_eq!(seen("a.test.js", &script, ""), "f(2): 4@3, 5@4", "{script}");
    }
    let go = "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {\n\tif got := Title(\"a-b\"); got != \"A B\" {\n\t\tt.Errorf(\"got %q\", got)\n\t}\n\tif Title(\"a-b\") != \"A-B\" {\n\t\tt.Fatal()\n\t}\n}\n";
    assert_eq!(seen("a_test.go", go, ""), "Title(\"a-b\"): \"A B\"@4, \"A-B\"@7");
    let java = "class ATest {\n  @Test void a() {\n    assertEquals(4, Calc.square(2));\n    assertEquals(5, Calc.square(2));\n  }\n}\n";
    assert_eq!(seen("src/test/java/ATest.java", java, ""), "Calc.square(2): 4@3, 5@4");
}

#[test]
fn what_remembers_may_answer_otherwise() {
    for body in [
        "assert square(2) == 4\nassert square(2) == 4",
        "assert square(2) == 4\nassert square(2) == 4.0",
        "assert square(2) == 4\nassert square(3) == 5",
        "assert square(2) != 4\nassert square(2) == 5",
        "assert square(2) == 4 or 5\nassert square(2) == 5",
        "assert 4 in square(2)\nassert 5 in square(2)",
        "assert square(2) == 'x'\nassert square(2) == \"x\"",
        "assert square('a') == 'a'\nassert square('a') == 'a-2'",
        "assert square('a') == 'a-1'\nassert square('a') == 'a-2'",
        "assert square('a') == '\\x41'\nassert square('a') == 'A'",
        "assert square(2) == 1\nassert square(2) == 2",
        "assert square(2) is True\nassert square(2) is False",
        "assert square(2) == 4\nassert square(2) == 5\nassert square(2) == 6",
        "assert square() == 4\nassert square() == 5",
        "it = iter([4, 5])\nassert next(it) == 4\nassert next(it) == 5",
        "box = calc.Box()\nassert box.take(2) == 4\nassert box.take(2) == 5",
        "assert calc.box.take(2) == 4\nassert calc.box.take(2) == 5",
        "assert box.get(2) == 4\nassert box.get(2) == 5",
        "assert square(2) == 4\nsquare.grow()\nassert square(2) == 5",
        "assert square(2) == 4\nassert grow(2) == 3\nassert square(2) == 5",
        "assert square(2) == 4\nassert square(2) == 5, 'it grows'",
        "assert square(2) == 4\n# it grows\nassert square(2) == 5",
        "assert square(2) == 4  # the first one\nassert square(2) == 5",
        "assert square(n) == 4\nassert square(n) == 5",
        "assert square(2) == 4\nif False:\n    assert square(2) == 5",
        "for n in [4, 5]:\n    assert square(2) == n",
        "assert square(2) == 4\nwith on():\n    assert square(2) == 5",
        "assert next_square(2) == 4\nassert next_square(2) == 5",
    ] {
        python(body, "");
    }
    const TWO: &str = "from calc import square\n\ndef test_a():\n    assert square(2) == 4\n\ndef test_b():\n    assert square(2) == 5\n";
    for (old, new) in [
        ("test_a()", "test_a(tmp_path)"),
        ("def test_b", "@big\ndef test_b"),
        ("def test_a", "def setup_function():\n    pass\n\ndef test_a"),
        ("from calc import square", "def square(n):\n    return n"),
        ("test_b", "test_the_second_time"),
    ] {
        assert_eq!(seen("tests/test_a.py", &TWO.replace(old, new), ""), "", "{new}");
    }
    for brief in ["square(n) is another number each time", "counts calls", "gives 4, and 5 on Sundays", "draws a card"]
    {
        assert_eq!(seen("tests/test_a.py", TWO, brief), "", "{brief}");
    }
    let script = "import { f } from './f.js';\ntest('a', async () => {\n  expect(f(2)).toBeCloseTo(4.1);\n  expect(f(2)).toBeCloseTo(4.2);\n});\n";
    assert_eq!(seen("a.test.js", script, ""), "");
    let script = script.replace("toBeCloseTo", "not.toBe");
    assert_eq!(seen("a.test.js", &script, ""), "");
    let java = "class ATest {\n  @Test void a() {\n    assertEquals(4.0, Calc.root(16), 0.1);\n    assertEquals(4.1, Calc.root(16), 0.2);\n    assertEquals(4, calc.root(2));\n    assertEquals(5, calc.root(2));\n  }\n}\n";
    assert_eq!(seen("src/test/java/ATest.java", java, ""), "");
}
