//! Withheld examples: a lookup table is told from code, and whoever wrote it learns no answer.

use std::fs;
use std::path::Path;

use super::Story;

const TEST: &str = "from roman import to_roman\n\n\ndef test_small_numbers():\n    \
                    assert to_roman(1) == 'I'\n    assert to_roman(2) == 'II'\n    assert to_roman(3) == 'III'\n";
const TABLE: &str = "def to_roman(number):\n    return {1: 'I', 2: 'II', 3: 'III'}.get(number, '?')\n";
const CODE: &str = "def to_roman(number):\n    if number < 1:\n        raise ValueError(number)\n    \
                    print('working')\n    return 'I' * number\n";
const EXAMPLES: &str = "[[examples]]\ncall = \"roman:to_roman\"\nargs = [7]\ngives = \"IIIIIII\"\n\n\
                        [[examples]]\ncall = \"roman.py:to_roman\"\nargs = [0]\nraises = \"ValueError\"\n";

/// RED is accepted, and `code` comes after it.
fn judged(code: &str) -> Story {
    let story = Story::new();
    story.file("test_roman.py", TEST).commit("red");
    story.file("roman.py", code).commit("green");
    story.script("examples.toml", EXAMPLES);
    story
}

#[test]
fn a_lookup_table_is_refused_where_examples_are_withheld() {
    let story = judged(TABLE);
    let said = story.redgreen("judge green --examples @examples.toml --json").exits(1).json();
    let reason = &said["reasons"][0];
    assert_eq!(reason["code"], "green.examples_differ", "{said}");
    assert_eq!(reason["sentence"], "a withheld example of `to_roman` failed");
    let notes = said["notes"].to_string();
    assert!(notes.contains("to_roman(7) gives '?'; expected"), "the human sees it: {notes}");
    assert!(notes.contains("to_roman(0) gives '?'; expected ValueError"), "{notes}");

    let task = r#"{"description": "Roman numerals", "examples": [{"call": "roman:to_roman", "args": [7], "gives": "IIIIIII"}]}"#;
    story.script("task.json", task);
    story.redgreen("judge green --task @task.json").exits(1).says("green.examples_differ");

    // Nobody can tell without examples: it is said, and not refused.
    story.redgreen("judge green").exits(0).says("the answers may be hard-coded");
}

#[test]
fn code_meets_the_examples_and_a_refactoring_keeps_them() {
    let story = judged(CODE);
    story.redgreen("judge green --examples @examples.toml").exits(0).says("2 of 2 withheld examples are met");
    story.script("other.toml", "[[examples]]\ncall = \"src/lib.rs:to_roman\"\ngives = 1\n");
    story.redgreen("judge green --examples @other.toml").exits(0).says("nobody here can call src/lib.rs:to_roman");
    story.script("lost.toml", "[[examples]]\ncall = \"numerals:to_roman\"\nargs = [1]\ngives = \"I\"\n");
    story.redgreen("judge green --examples @lost.toml").exits(3).says("which is not where they say");
    story.file("roman.py", &CODE.replace("'I' * number", "'I' * min(number, 3)")).commit("refactor");
    story.redgreen("judge refactor --examples @examples.toml").exits(1).says("refactor.behaviour: a withheld example");
}

#[test]
fn a_refactoring_keeps_what_the_examples_call() {
    let story = judged(&format!("{CODE}\n\ndef spare(number):\n    return number\n"));
    story.script("spare.toml", "[[examples]]\ncall = \"roman:spare\"\nargs = [1]\ngives = 1\n");
    story.redgreen("judge green --examples @spare.toml").exits(0);
    story.file("roman.py", CODE).commit("refactor");
    story.redgreen("judge refactor --examples @spare.toml").exits(1).says("a withheld example of `spare` failed");
}

#[test]
fn examples_of_javascript_are_called_by_node() {
    let story = Story::new();
    story.git("rm -q pytest.ini");
    story.file("package.json", r#"{"type": "module", "scripts": {"test": "node --test"}}"#).commit("node");
    let test = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { add } from '../src/add.js';\n\
                test('adds', () => assert.equal(add(10, 20), 30));\n";
    story.file("test/add.test.js", test).commit("red");
    story.file("src/add.js", "console.log('hello');\nexport function add(a, b) {\n  return 30;\n}\n").commit("green");
    story.script("examples.json", r#"[{"call": "src/add.js:add", "args": [1, 2], "gives": 3}]"#);
    story.redgreen("judge green --examples @examples.json").exits(1).says("add(1, 2) gives 30; expected 3");
    story.file("src/add.js", "console.log('hello');\nexport function add(a, b) {\n  return a + b;\n}\n").commit("more");
    story.redgreen("judge green --base HEAD~2 --examples @examples.json").exits(0).says("1 of 1 withheld examples");
}

#[test]
fn an_agent_is_told_the_function_and_never_the_answer() {
    let story = Story::new();
    story.script("examples.json", r#"[{"call": "calc:add", "args": [20, 22], "gives": 42}]"#);
    story.script(
        "kata.toml",
        r#"
[[plan]]
do = [{ write = "test-list.md", text = "- [ ] adds\n" }]
next = { description = "adds", test-file = "test_calc.py", impl-file = "calc.py" }

[[red]]
do = [{ write = "test_calc.py", text = "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n" }]

[[green]]
do = [{ write = "calc.py", text = "def add(a, b):\n    return 3\n" }]

[[green]]
do = [
  { shell = 'echo "told: $REDGREEN_TROUBLE"; ls -a' },
  { write = "calc.py", text = "def add(a, b):\n    return a + b\n" },
]

[[plan]]
done = true
"#,
    );
    let said = story.redgreen("run --script @kata.toml --examples @examples.json \"a calculator\"").exits(3);
    said.says("a withheld example of `add` failed").says("add(20, 22) gives 3; expected 42");
    let status = story.redgreen("status --json").json();
    let transcripts = Path::new(status["runs"][0]["folder"].as_str().unwrap()).join("transcripts");
    let mut told = String::new();
    for entry in fs::read_dir(transcripts).unwrap() {
        told.push_str(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    assert!(told.contains("told: green.examples_differ: a withheld example of `add` failed"), "{told}");
    assert!(!told.contains("42") && !told.contains("examples.json"), "{told}");
    let files = story.git(&format!("ls-tree -r --name-only {}", story.branch()));
    assert!(!files.contains("examples"), "{files}");

    story.file("withheld.json", "[]").commit("too open");
    story
        .redgreen("run --script @kata.toml --examples withheld.json \"a calculator\"")
        .exits(2)
        .says("is part of the repository");
    story.script("bad.json", "[{}]");
    story.redgreen("judge green --examples @bad.json").exits(2).says("example 1: `call` has to be");
}

#[test]
fn examples_of_the_whole_feature_are_owed_at_its_last_test() {
    let story = Story::calculator();
    story.script(
        "examples.json",
        r#"[{"call": "calc:add", "args": [20, 22], "gives": 42}, {"call": "calc:multiply", "args": [6, 7], "gives": 42}]"#,
    );
    story.redgreen("run --script @kata.toml --max-cycles 1 \"a calculator\"").exits(5);
    story.redgreen("resume --max-cycles 9 --examples @examples.json").exits(3).says("everything is done");
    let status = story.redgreen("status --json").json();
    let journal = Path::new(status["runs"][0]["folder"].as_str().unwrap()).join("journal.jsonl");
    let journal = fs::read_to_string(journal).unwrap();
    for told in ["1 of 2 withheld examples are met", "not owed yet", "2 of 2 withheld examples are met"] {
        assert!(journal.contains(told), "{told}: {journal}");
    }
    assert!(!journal.contains("green.examples_differ"), "{journal}");
}
