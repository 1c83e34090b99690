//! Tests for decisions without a model, and for the handling of its answers.

use super::*;
use crate::agent::{AttemptFailure, Strategy};
use crate::phase::Phase;

/// A project and a turn in it.
struct Stage {
    assignment: Assignment,
    framework: &'static str,
    files: Vec<(&'static str, String)>,
    window: u64,
}

fn stage(role: Role, request: &str) -> Stage {
    let assignment = Assignment {
        role,
        phase: Phase::Red,
        cycle: 1,
        turn: 0,
        attempt: 1,
        candidate: None,
        request: request.to_owned(),
        brief: None,
        current: None,
        completed: Vec::new(),
        pending: Vec::new(),
        trouble: None,
        diagnosis: None,
        remarks: Vec::new(),
        messages: Vec::new(),
        more: false,
        withhold: false,
        strategy: Strategy::New,
    };
    Stage { assignment, framework: "pytest", files: Vec::new(), window: 8_192 }
}

impl Stage {
    fn file(mut self, path: &'static str, text: &str) -> Self {
        self.files.push((path, text.to_owned()));
        self
    }

    fn behaviour(mut self, description: &str, test_file: &str, impl_file: &str) -> Self {
        let [description, test_file, impl_file] =
            [description, test_file, impl_file].map(str::to_owned);
        self.assignment.current = Some(TestCase { description, test_file, impl_file });
        self
    }

    fn with<T>(&self, act: impl Fn(&Scene<'_>) -> T) -> T {
        let files: Vec<String> = self.files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let look = |path: &str| {
            self.files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.clone())
        };
        act(&Scene {
            assignment: &self.assignment,
            framework: self.framework,
            files: &files,
            look: &look,
            window: self.window,
            schemas: true,
        })
    }

    fn next(&self, asked: u32) -> Move {
        self.with(|scene| next(scene, asked))
    }

    #[track_caller]
    fn decides(&self) -> TurnResult {
        match self.next(0) {
            Move::Decided(decided) => decided,
            Move::Ask(question) => panic!("asks: {}", question.text),
        }
    }

    #[track_caller]
    fn asks(&self, asked: u32) -> Question {
        match self.next(asked) {
            Move::Ask(question) => *question,
            Move::Decided(decided) => panic!("decides: {decided:?}"),
        }
    }

    /// The result of an answer to this question: the first file, then the remarks.
    fn settles(&self, asked: u32, answer: &str) -> Result<(String, String), String> {
        let question = self.asks(asked);
        match self.with(|scene| settle(scene, &question, answer))? {
            Move::Decided(decided) => {
                let file =
                    decided.files.first().map(|file| file.content.clone()).unwrap_or_default();
                Ok((file, decided.remarks.join("; ")))
            }
            Move::Ask(question) => Ok((question.text, "asks".to_owned())),
        }
    }
}

#[test]
fn reads_examples_from_prose() {
    for (text, expected) in [
        ("is_leap(2000) is True", "is_leap(2000) == True"),
        ("such as `f(1, -2.5)` → `'a, b'`.", "f(1, -2.5) == 'a, b'"),
        ("f([1, 2]) returns {\"a\": 1}, g() = None", "f([1, 2]) == {\"a\": 1}|g() == None"),
        ("f(1) is 2 and f(2) is 3", "f(1) == 2|f(2) == 3"),
        ("f(\"a)b\") => \"\\\"\"", "f(\"a)b\") == \"\\\"\""),
        ("f(1) == 2\nf(2) == 3\n", "f(1) == 2|f(2) == 3"),
        ("f(1) is not 2", ""),
        ("f(1) != 2", ""),
        ("f(1) isn't 2", ""),
        ("f(1) is 2 more than before", ""),
        ("f(1) == 2 * 3", ""),
        ("f(1) is 50%", ""),
        ("f(n) is 0 for small n", ""),
        ("clamp(value, low, high) returns the value", ""),
        ("text.count('a') is 1", ""),
        ("(1) is 2", ""),
        ("f(", ""),
    ] {
        let found: Vec<String> = example::written(text).iter().map(Example::words).collect();
        assert_eq!(found.join("|"), expected, "{text}");
    }
}

#[test]
fn reads_the_parameters_of_a_signature() {
    for (text, expected) in [
        ("clamp(value, low, high) returns", Some(("clamp", "value low high"))),
        ("add `to_roman(n: int)` (up to 20)", Some(("to_roman", "n"))),
        ("f(1) is 2, of f(x)", Some(("f", "x"))),
        ("a calculator (simple)", None),
        ("f() is empty", None),
    ] {
        let found =
            example::signature(text).map(|(function, parameters)| (function, parameters.join(" ")));
        let found =
            found.as_ref().map(|(function, parameters)| (function.as_str(), parameters.as_str()));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn plans_and_tests_given_examples_without_a_model() {
    let request = "clamp(value, low, high): clamp(5, 0, 3) is 3, clamp(1, 0, 3) is 1";
    let plan = stage(Role::TestList, request).file("pytest.ini", "");
    let decided = plan.decides();
    assert_eq!(decided.files[0].content, "- [ ] clamp(5, 0, 3) == 3; clamp(1, 0, 3) == 1\n");
    let chosen: Value = serde_json::from_str(&decided.answer).unwrap();
    assert_eq!(chosen["currentTest"]["testFile"], "test_clamp.py");
    assert_eq!(chosen["currentTest"]["implFile"], "clamp.py");
    let red = stage(Role::Test, request).behaviour(
        "clamp(5, 0, 3) == 3; clamp(1, 0, 3) == 1",
        "test_clamp.py",
        "clamp.py",
    );
    let test = "from clamp import clamp\n\n\ndef test_clamp():\n    assert clamp(5, 0, 3) == 3\n    \
                assert clamp(1, 0, 3) == 1\n";
    assert_eq!(red.decides().files[0].content, test);
    let again = red.file("test_clamp.py", test).decides();
    assert!(again.files[0].content.starts_with(test.trim_end()), "{again:?}");
    assert!(again.files[0].content.contains("def test_clamp_2():"), "{again:?}");
}

#[test]
fn assertions_use_the_syntax_of_the_language() {
    for (framework, example, expected) in [
        ("pytest", "f(1) == True", "    assert f(1) is True\n"),
        ("pytest", "f(1) == 98.6", "    assert round(f(1), 9) == 98.6\n"),
        ("pytest", "f(1) == [1, 2]", "    assert f(1) == [1, 2]\n"),
        ("unittest", "f(1) == 2", "        self.assertEqual(f(1), 2)\n"),
        ("unittest", "f(1) == False", "        self.assertIs(f(1), False)\n"),
        ("unittest", "f(1) == 98.6", "        self.assertAlmostEqual(f(1), 98.6)\n"),
        ("vitest", "f(1) == [1, 2]", "  expect(f(1)).toEqual([1, 2]);\n"),
        ("jest", "f(1) == 98.6", "  expect(f(1)).toBeCloseTo(98.6);\n"),
        ("node", "f(1) == true", "  assert.deepStrictEqual(f(1), true);\n"),
        ("cargo", "f(1) == \"I\"", "    assert_eq!(f(1), \"I\");\n"),
    ] {
        let mut red = stage(Role::Test, "f(x)").behaviour(example, "tests/x", "src/f");
        red.framework = framework;
        let (test, code) = red.with(|scene| convention::files(scene, example));
        let red = red
            .behaviour(example, &test, &code)
            .file("Cargo.toml", "[package]\nname = \"my-crate\"\n");
        let written = red.decides().files[0].content.clone();
        assert!(written.contains(expected), "{framework}: {written}");
        assert!(framework != "cargo" || written.starts_with("use my_crate::f;\n"), "{written}");
    }
}

#[test]
fn chooses_the_next_open_box_until_all_are_done() {
    let plan =
        |list: &str| stage(Role::TestList, "f(x)").file("test-list.md", list).decides().answer;
    assert!(
        plan("- [x] one\n- [ ] f(2) == 3\n- [ ] three\n").contains("\"description\":\"f(2) == 3\"")
    );
    assert_eq!(plan("- [x] one\n"), r#"{"currentTest":null}"#);
}

#[test]
fn names_files_by_convention() {
    for (request, files, expected) in [
        ("is_leap(year)", &["pytest.ini"][..], "test_is_leap.py is_leap.py"),
        ("is_leap(year) in leap.py", &["pytest.ini"], "test_leap.py leap.py"),
        (
            "is_leap(year)",
            &["src/dates.py", "tests/test_other.py", "conftest.py"],
            "tests/test_dates.py src/dates.py",
        ),
        ("is_leap(year)", &["a/one.py", "a/two.py", "three.py"], "a/test_is_leap.py a/is_leap.py"),
        ("is_leap(year)", &["dates.py", "test/test_dates.py"], "test/test_dates.py dates.py"),
    ] {
        let mut stage = stage(Role::TestList, request);
        stage.files = files.iter().map(|path| (*path, String::new())).collect();
        let (test, code) = stage.with(|scene| convention::files(scene, request));
        assert_eq!(format!("{test} {code}"), expected, "{request} {files:?}");
    }
    let mut script = stage(Role::TestList, "isLeap(year)")
        .file("tsconfig.json", "")
        .file("src/a.ts", "")
        .file("src/b.ts", "");
    script.framework = "vitest";
    let named = script.with(|scene| convention::files(scene, "isLeap(year)"));
    assert_eq!(named, ("src/isleap.test.ts".to_owned(), "src/isleap.ts".to_owned()));
}

#[test]
fn examples_count_if_the_model_confirms_them() {
    let plan = stage(Role::TestList, "shift(text, by) shifts letters");
    let question = plan.asks(0);
    let schema = question.schema.clone().unwrap();
    assert_eq!(
        schema["properties"]["examples"]["items"]["required"],
        serde_json::json!(["text", "by", "result"])
    );
    let answer = r#"{"examples": [{"text": "a", "by": 1, "result": "b"}, {"text": "z", "by": 1, "result": "a"},
        {"text": "b", "by": 2, "result": "x"}, {"text": "no result", "by": 2},
        {"text": "q", "by": 1, "result": "r"}, {"text": "q", "by": 1, "result": "s"}]}"#;
    let Ok(Move::Ask(again)) = plan.with(|scene| settle(scene, &question, answer)) else {
        panic!("not doubted")
    };
    assert!(
        again.text.contains("1. shift(\"a\", 1)\n2. shift(\"z\", 1)\n3. shift(\"b\", 2)\n\n"),
        "{}",
        again.text
    );
    assert!(!again.text.contains("\"x\""), "the first results are not shown: {}", again.text);
    let settled = plan.with(|scene| settle(scene, &again, r#"{"results": ["b", "a", "d"]}"#));
    let Ok(Move::Decided(decided)) = settled else { panic!("{settled:?}") };
    assert_eq!(
        decided.files[0].content,
        "- [ ] shift(\"a\", 1) == \"b\"; shift(\"z\", 1) == \"a\"\n"
    );
    assert_eq!(decided.remarks, ["2 of 3 examples got the same result twice"]);
    let unsure = plan.with(|scene| settle(scene, &again, r#"{"results": ["b", "x", "d"]}"#));
    assert_eq!(unsure, Err("of 3 examples, 1 got the same result twice".to_owned()));
}

#[test]
fn rejects_a_list_of_chores() {
    let plan = stage(Role::TestList, "a tool that counts words");
    let check = |answer: &str, expected: &str| {
        let told = plan.settles(1, answer).map_or_else(|why| why, |(file, _)| file);
        assert!(told.contains(expected), "{answer}: {told}");
    };
    check(
        r#"{"behaviours": [{"when": "the text is empty", "then": "it prints 0."}]}"#,
        "- [ ] the text is empty: it prints 0\n",
    );
    check(
        r#"{"behaviours": [{"when": "Write test function in leap.py", "then": "done"}]}"#,
        "what follows when",
    );
    check(
        r#"{"behaviours": [{"when": "Write test function", "then": ""}]}"#,
        "such as \"an empty text: 0\"",
    );
    check("- [ ] Write test function", "not the JSON");
}

const TEST: &str =
    "from leap import is_leap\n\n\ndef test_is_leap():\n    assert is_leap(2000) is True\n";
const CODE: &str = "def is_leap(year):\n    return year % 4 == 0\n";

#[test]
fn extracts_unambiguous_code() {
    let green = stage(Role::Implementing, "is_leap(year)")
        .behaviour("leap years", "test_leap.py", "leap.py")
        .file("test_leap.py", TEST);
    let check = |answer: &str, expected: Result<(&str, &str), &str>| {
        let seen = green.settles(0, answer);
        let seen = seen
            .as_ref()
            .map(|(file, said)| (file.as_str(), said.as_str()))
            .map_err(String::as_str);
        assert_eq!(seen, expected, "{answer}");
    };
    check(&format!("```python\n{CODE}```"), Ok((CODE, "")));
    check(&format!("Sure!\n```python\n{CODE}```\nIt works."), Ok((CODE, "")));
    check(CODE, Ok((CODE, "the answer has no code fence: all of it is code")));
    check(
        &format!("```python\n{CODE}"),
        Ok((CODE, "the last code fence does not end: its code goes to the end of the answer")),
    );
    check(
        &format!("```python\n{CODE}\n\n{TEST}```"),
        Ok((CODE, "took tests out of the code; took an import of itself out of the code")),
    );
    check(
        &format!("```\n{CODE}\nprint(is_leap(1))\n```"),
        Ok((CODE, "took examples of use out of the code")),
    );
    check(
        &format!("```\n{CODE}```\n```\n{TEST}```"),
        Ok((CODE, "took tests out of the code; took an import of itself out of the code")),
    );
    check(
        &format!("```\n{CODE}```\n```sh\n$ pytest -q && ls\n```"),
        Ok((CODE, "left out 1 blocks that are not code of the project")),
    );
    check(
        &format!("```\n{CODE}```\nor\n```\n{CODE}```"),
        Err("several versions of the code in one answer"),
    );
    check(&format!("```\n{TEST}```"), Err("the answer does not define is_leap"));
    check("I would use the modulo operator.", Err("there is no code in the answer"));
    check("```\ndef is_leap(year:\n```", Err("the code of the answer cannot be read"));
}

#[test]
fn keeps_existing_code_and_rejects_unchanged_code() {
    let now = "def other():\n    return 1\n\n\ndef is_leap(year):\n    return False\n";
    let green = stage(Role::Implementing, "is_leap(year)")
        .behaviour("leap years", "test_leap.py", "leap.py")
        .file("test_leap.py", TEST)
        .file("leap.py", now);
    let (file, said) = green.settles(0, &format!("```\n{CODE}```")).unwrap();
    assert_eq!(file, format!("{CODE}\n\ndef other():\n    return 1\n"));
    assert_eq!(said, "kept 1 definitions of leap.py that the answer leaves out");
    let same = green.settles(1, &format!("```\n{now}```"));
    assert_eq!(same, Err("the answer is what the file holds already".to_owned()));
}

#[test]
fn makes_what_the_tests_import_public() {
    let check = |framework, files: [&'static str; 2], imports: &str, answer: &str, code: &str| {
        let mut green = stage(Role::Implementing, "is_leap(year)")
            .behaviour("leap years", files[0], files[1])
            .file(files[0], imports)
            .file("tsconfig.json", "{}");
        green.framework = framework;
        let (file, said) = green.settles(0, &format!("```\n{answer}```")).unwrap();
        assert_eq!(file, code);
        let told = "made is_leap public: the tests import it";
        assert_eq!(said, if code == answer { "" } else { told });
    };
    let rust = |answer, code| {
        check("cargo", ["tests/a.rs", "src/lib.rs"], "use kata::is_leap;\n", answer, code);
    };
    rust("fn is_leap() {}\n\nfn other() {}\n", "pub fn is_leap() {}\n\nfn other() {}\n");
    rust("#[must_use]\nconst fn is_leap() {}\n", "#[must_use]\npub const fn is_leap() {}\n");
    rust("pub fn is_leap() {}\n", "pub fn is_leap() {}\n");
    let imports = "import { is_leap } from \"./a\";\n";
    let typed = |answer, code| check("vitest", ["a.test.ts", "a.ts"], imports, answer, code);
    typed("function is_leap() {}\n", "export function is_leap() {}\n");
    typed("const is_leap = () => 1;\n", "export const is_leap = () => 1;\n");
    typed("export function is_leap() {}\n", "export function is_leap() {}\n");
    typed(
        "function is_leap() {}\nexport { is_leap };\n",
        "function is_leap() {}\nexport { is_leap };\n",
    );
}

#[test]
fn extracts_an_unambiguous_test() {
    let red = stage(Role::Test, "is_leap(year)").behaviour(
        "centuries are no leap years",
        "test_leap.py",
        "leap.py",
    );
    let check = |answer: &str, expected: Result<(&str, &str), &str>| {
        let seen = red.settles(0, answer);
        let seen = seen
            .as_ref()
            .map(|(file, said)| (file.as_str(), said.as_str()))
            .map_err(String::as_str);
        assert_eq!(seen, expected, "{answer}");
    };
    check(&format!("```\n{TEST}```"), Ok((TEST, "")));
    let body = "def test_is_leap():\n    assert is_leap(2000) is True\n";
    let put_right = format!("from leap import is_leap\n{body}");
    check(&format!("```\n{body}```"), Ok((&put_right, "put the import of is_leap right")));
    check(
        &format!("```\nfrom my_module import is_leap\n{body}```"),
        Ok((&put_right, "put the import of is_leap right")),
    );
    let taken = "took is_leap out of the test file: it is written in GREEN; put the import of is_leap right";
    let with_code = red.settles(0, &format!("```\n{CODE}\n{body}```")).unwrap();
    assert_eq!(
        (with_code.0.replace("\n\n\n", "\n").as_str(), with_code.1.as_str()),
        (put_right.as_str(), taken)
    );
    check(
        "```\nassert is_leap(2000) is True\n```",
        Ok((
            &put_right,
            "put the assertions of the answer into a test; put the import of is_leap right",
        )),
    );
    check(&format!("```\n{CODE}```"), Err("there is no test in the answer"));
}

#[test]
fn tests_of_unittest_are_methods_of_a_class() {
    let mut red = stage(Role::Test, "f(x)").behaviour("f(1) == 2", "test_f.py", "f.py");
    red.framework = "unittest";
    let test = "import unittest\n\nfrom f import f\n\n\nclass TestF(unittest.TestCase):\n    def test_f(self):\n        \
                self.assertEqual(f(1), 2)\n";
    assert_eq!(red.decides().files[0].content, test);
    let bare = red.settles(2, "```\nassert f(1) == 2\n```").unwrap().0;
    let wrapped =
        "class TestF(unittest.TestCase):\n    def test_f(self):\n        assert f(1) == 2\n";
    assert!(
        bare.starts_with("import unittest\nfrom f import f\n") && bare.ends_with(wrapped),
        "{bare}"
    );
    let again = red.file("test_f.py", test).decides().files[0].content.clone();
    assert!(again.starts_with(test.trim_end()), "{again}");
    assert!(again.ends_with("class TestF2(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(1), 2)\n"), "{again}");
}

#[test]
fn a_retry_shows_a_test_in_the_style_of_the_project() {
    let red = |framework| {
        let mut red = stage(Role::Test, "is_leap(year)").behaviour(
            "centuries are no leap years",
            "test_leap.py",
            "leap.py",
        );
        red.framework = framework;
        red
    };
    assert!(red("pytest").asks(2).text.contains("from calc import add\n\n\ndef test_adds():"));
    assert!(red("unittest").asks(2).text.contains("self.assertEqual(add(1, 2), 3)"));
    let own = "import bank\n\n\nclass TestBank:\n    def test_pays(self):\n        bank.pays().should.equal(3)\n\n\n\
               class TestMore:\n    def test_pays_more_than_before(self):\n        assert bank.more()\n";
    let text = red("pytest").file("tests/test_bank.py", own).asks(2).text;
    assert!(
        text.contains(
            "```\nimport bank\n\nclass TestBank:\n    def test_pays(self):\n        bank.pays().should.equal(3)\n```"
        ),
        "{text}"
    );
    let same = "def test_is_leap():\n    assert is_leap(4)\n";
    let text = red("pytest").file("test_dates.py", same).asks(2).text;
    assert!(text.contains("def test_adds():"), "not a test of the same function: {text}");
}

#[test]
fn every_retry_asks_differently() {
    for role in [Role::TestList, Role::Test, Role::Implementing] {
        let mut stage = stage(role, "is_leap(year)")
            .behaviour("leap years", "test_leap.py", "leap.py")
            .file("test_leap.py", TEST);
        stage.assignment.trouble = Some(AttemptFailure {
            kind: "x".to_owned(),
            message: "test_is_leap: False is not True".to_owned(),
        });
        let questions: Vec<(String, f32)> =
            (0..4).map(|asked| stage.asks(asked)).map(|one| (one.text, one.temperature)).collect();
        for (at, question) in questions.iter().enumerate() {
            assert!(!questions[..at].contains(question), "{role}: {question:?}");
        }
        let first = stage.asks(1);
        stage.assignment.attempt = 2;
        assert_eq!(stage.asks(0), first, "{role}: a new turn goes on where the last one stopped");
    }
}

#[test]
fn questions_fit_into_a_small_window() {
    let long = "x = 1  # some words that fill a line of code\n".repeat(2_000);
    for role in [Role::TestList, Role::Test, Role::Implementing] {
        for window in [4_096, 8_192] {
            let mut stage = stage(role, &format!("is_leap(year) {long}"))
                .behaviour(&long, "test_leap.py", "leap.py")
                .file("test_leap.py", &long)
                .file("leap.py", &long);
            stage.window = window;
            stage.assignment.trouble =
                Some(AttemptFailure { kind: "x".to_owned(), message: long.clone() });
            for asked in 0..4 {
                let question = stage.asks(asked);
                let tokens =
                    u64::try_from(question.text.len() + question.system.len()).unwrap() / 3;
                assert!(tokens < 1_500 && tokens < window / 3, "{role} {asked} {window}: {tokens}");
                assert!(u64::from(question.max_tokens) + tokens < window);
            }
        }
    }
}

#[test]
fn skips_tasks_that_small_models_do_badly() {
    let refactor = stage(Role::Refactor, "f(x)").decides();
    assert!(refactor.files.is_empty() && refactor.remarks[0].starts_with("not asked"));
    let mut diagnosis = stage(Role::Diagnosis, "f(x)");
    diagnosis.assignment.trouble =
        Some(AttemptFailure { kind: "x".to_owned(), message: "3 is not 4".to_owned() });
    assert_eq!(diagnosis.decides().answer, "3 is not 4");
}
