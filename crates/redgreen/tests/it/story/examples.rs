//! Withheld examples detect lookup tables, and the author of the code never sees their answers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::Story;
use crate::runner::{is_installed, node_modules};

const TEST: &str = "from roman import to_roman\n\n\ndef test_small_numbers():\n    \
                    assert to_roman(1) == 'I'\n    assert to_roman(2) == 'II'\n    assert to_roman(3) == 'III'\n";
const TABLE: &str =
    "def to_roman(number):\n    return {1: 'I', 2: 'II', 3: 'III'}.get(number, '?')\n";
const CODE: &str = "def to_roman(number):\n    if number < 1:\n        raise ValueError(number)\n    \
                    print('working')\n    return 'I' * number\n";
const EXAMPLES: &str = "[[examples]]\ncall = \"roman:to_roman\"\nargs = [7]\ngives = \"IIIIIII\"\n\n\
                        [[examples]]\ncall = \"roman.py:to_roman\"\nargs = [0]\nraises = \"ValueError\"\n";

/// A project with an accepted RED and `code` committed after it.
fn judged(code: &str) -> Story {
    let story = Story::pytest();
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

    // Without examples, hard-coded results are possible: GREEN accepts them with a warning.
    story.redgreen("judge green").exits(0).says("the results may be hard-coded");
}

#[test]
fn code_meets_the_examples_and_a_refactoring_keeps_them() {
    let story = judged(CODE);
    story
        .redgreen("judge green --examples @examples.toml")
        .exits(0)
        .says("2 of 2 withheld examples pass");
    story.script("other.toml", "[[examples]]\ncall = \"src/Roman.java:toRoman\"\ngives = 1\n");
    story
        .redgreen("judge green --examples @other.toml")
        .exits(0)
        .says("this machine cannot call src/Roman.java:toRoman");
    story.script(
        "lost.toml",
        "[[examples]]\ncall = \"numerals:to_roman\"\nargs = [1]\ngives = \"I\"\n",
    );
    let lost = story.redgreen("judge green --examples @lost.toml").exits(3);
    lost.says(
        "green.examples_unasked: cannot run the withheld examples: `to_roman` was not found, or \
         its signature differs",
    );
    story
        .file("roman.py", &CODE.replace("'I' * number", "'I' * min(number, 3)"))
        .commit("refactor");
    story
        .redgreen("judge refactor --examples @examples.toml")
        .exits(1)
        .says("refactor.behaviour: a withheld example");
}

#[test]
fn a_refactoring_keeps_what_the_examples_call() {
    let story = judged(&format!("{CODE}\n\ndef spare(number):\n    return number\n"));
    story.script("spare.toml", "[[examples]]\ncall = \"roman:spare\"\nargs = [1]\ngives = 1\n");
    story.redgreen("judge green --examples @spare.toml").exits(0);
    story.file("roman.py", CODE).commit("refactor");
    story
        .redgreen("judge refactor --examples @spare.toml")
        .exits(1)
        .says("a withheld example of `spare` failed");
}

#[test]
fn examples_of_javascript_are_called_by_node() {
    let story = Story::pytest();
    story.git("rm -q pytest.ini");
    story
        .file("package.json", r#"{"type": "module", "scripts": {"test": "node --test"}}"#)
        .commit("node");
    let test = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { add } from '../src/add.js';\n\
                test('adds', () => assert.equal(add(10, 20), 30));\n";
    story.file("test/add.test.js", test).commit("red");
    story
        .file("src/add.js", "console.log('hello');\nexport function add(a, b) {\n  return 30;\n}\n")
        .commit("green");
    story.script("examples.json", r#"[{"call": "src/add.js:add", "args": [1, 2], "gives": 3}]"#);
    story
        .redgreen("judge green --examples @examples.json")
        .exits(1)
        .says("add(1, 2) gives 30; expected 3");
    story
        .file(
            "src/add.js",
            "console.log('hello');\nexport function add(a, b) {\n  return a + b;\n}\n",
        )
        .commit("more");
    story
        .redgreen("judge green --base HEAD~2 --examples @examples.json")
        .exits(0)
        .says("1 of 1 withheld examples");
}

/// Compiled code is called through a generated program. Examples detect a lookup table there too.
#[test]
fn examples_of_rust_are_called_by_a_program() {
    let story = Story::pytest();
    story.git("rm -q pytest.ini");
    let manifest = "[package]\nname = \"numerals\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    story.file("Cargo.toml", manifest).file(".gitignore", "target\nCargo.lock\n");
    story.file("src/lib.rs", "//! Numerals.\nmod roman;\npub use roman::{span, to_roman};\n");
    let open = "pub fn to_roman(_number: u32) -> Result<String, String> {\n    todo!()\n}\n\n\
                pub fn span(all: &[i64], first: Option<char>) -> Option<(i64, i64)> {\n    \
                let _ = first;\n    Some((*all.iter().min()?, *all.iter().max()?))\n}\n";
    story.file("src/roman.rs", open).commit("start");
    let test = "use numerals::to_roman;\n\n#[test]\nfn small_numbers() {\n    \
                assert_eq!(to_roman(1), Ok(\"I\".to_owned()));\n    \
                assert_eq!(to_roman(2), Ok(\"II\".to_owned()));\n}\n";
    story.file("tests/roman.rs", test).commit("red");
    let green = |body: &str| {
        let code = open.replace("_number", "number").replace("    todo!()", &format!("    {body}"));
        story.file("src/roman.rs", &code).commit("green");
    };
    let list = r#"{ "call": "src/roman.rs:to_roman", "args": [7], "gives": "IIIIIII" },
                  { "call": "src/roman.rs:to_roman", "args": [0], "raises": "String" },
                  { "call": "src/roman.rs:span", "args": [[3, -1, 2], "x"], "gives": [-1, 3] },
                  { "call": "src/roman.rs:span", "args": [[], null], "gives": null }"#;
    story.script("examples.json", &format!("[{list}]"));
    green("Ok(match number { 1 => \"I\", 2 => \"II\", _ => \"?\" }.to_owned())");
    let said = story.redgreen("judge green --examples @examples.json").exits(1);
    said.says("a withheld example of `to_roman` failed")
        .says("to_roman(7) gives Ok(\"?\"); expected \"IIIIIII\"");
    green(
        "if number == 0 { return Err(\"none\".to_owned()) }\n    Ok(\"I\".repeat(number as usize))",
    );
    story
        .redgreen("judge green --base HEAD~2 --examples @examples.json")
        .exits(0)
        .says("4 of 4 withheld examples");
    // A function that does not exist, and one that does not take the argument.
    for (call, args) in [
        ("src/roman.rs:from_roman", "[1]"),
        ("src/roman.rs:to_roman", "[\"I\"]"),
        ("src/x.rs:f", "[]"),
    ] {
        story.script(
            "lost.json",
            &format!("[{{ \"call\": \"{call}\", \"args\": {args}, \"gives\": 1 }}]"),
        );
        let said = story.redgreen("judge green --base HEAD~2 --examples @lost.json").exits(3);
        said.says("was not found, or its signature differs");
    }
    green(
        "if number == 0 { return Err(\"none\".to_owned()) }\n    Ok(\"I\".repeat(number.min(3) as usize))",
    );
    story
        .redgreen("judge refactor --examples @examples.json")
        .exits(1)
        .says("refactor.behaviour: a withheld example");
}

#[test]
fn examples_of_typescript_are_called_by_node() {
    let story = Story::pytest();
    story.git("rm -q pytest.ini");
    story.file("package.json", r#"{"type": "module", "scripts": {"test": "vitest run"}}"#);
    story.file(".gitignore", "node_modules\n").commit("vitest");
    symlink(node_modules(), story.root.join("node_modules")).unwrap();
    let test = "import { expect, test } from 'vitest';\nimport { add } from '../src/add';\n\n\
                test('adds', async () => {\n  expect(await add(10, 20)).toBe(30);\n});\n";
    story.file("tests/add.test.ts", test).commit("red");
    let code = |answer: &str| {
        let head = "export async function add(a: number, b: number): Promise<number> {\n";
        let check = "  if (a < 0) throw new RangeError('less than nothing');\n";
        story.file("src/add.ts", &format!("{head}{check}  return {answer};\n}}\n")).commit("green");
    };
    let list = r#"[{"call": "src/add.ts:add", "args": [1, 2], "gives": 3},
                   {"call": "src/add.ts:add", "args": [-1, 2], "raises": "RangeError"}]"#;
    story.script("examples.json", list);
    code("30");
    story
        .redgreen("judge green --examples @examples.json")
        .exits(1)
        .says("add(1, 2) gives 30; expected 3");
    code("a + b");
    story
        .redgreen("judge green --base HEAD~2 --examples @examples.json")
        .exits(0)
        .says("2 of 2 withheld examples");
    for call in ["src/add.ts:sum", "src/sum.ts:add"] {
        story.script(
            "lost.json",
            &format!("[{{ \"call\": \"{call}\", \"args\": [], \"gives\": 1 }}]"),
        );
        let said = story.redgreen("judge green --base HEAD~2 --examples @lost.json").exits(3);
        said.says("was not found, or its signature differs");
    }
}

#[test]
fn examples_of_go_are_called_by_a_program() {
    if !is_installed("go") {
        return;
    }
    let story = Story::pytest();
    story.git("rm -q pytest.ini");
    story.file("go.mod", "module example.com/numerals\n\ngo 1.19\n").commit("start");
    let test = "package roman\n\nimport \"testing\"\n\nfunc TestSmall(t *testing.T) {\n\tgot, _ := ToRoman(2)\n\t\
                if got != \"II\" {\n\t\tt.Fatalf(\"got %q\", got)\n\t}\n}\n";
    story.file("roman/roman_test.go", test).commit("red");
    let code = |answer: &str| {
        let text = "package roman\n\nimport (\n\t\"errors\"\n\t\"strings\"\n)\n\n\
                    func ToRoman(number int) (string, error) {\n\tif number == 0 {\n\t\t\
                    return \"\", errors.New(\"none\")\n\t}\n\treturn ANSWER, nil\n}\n\n\
                    func count(words ...string) map[string]int {\n\tall := map[string]int{}\n\t\
                    for _, word := range words {\n\t\tall[strings.ToUpper(word)]++\n\t}\n\treturn all\n}\n";
        story.file("roman/roman.go", &text.replace("ANSWER", answer)).commit("green");
    };
    let list = r#"[{"call": "roman/roman.go:ToRoman", "args": [3], "gives": "III"},
                   {"call": "roman/roman.go:ToRoman", "args": [0], "raises": "error"},
                   {"call": "roman/roman.go:count", "args": ["a", "b", "A"], "gives": {"A": 2, "B": 1}}]"#;
    story.script("examples.json", list);
    code("\"II\"");
    let said = story.redgreen("judge green --examples @examples.json").exits(1);
    said.says("a withheld example of `ToRoman` failed")
        .says("ToRoman(3) gives \"II\"; expected \"III\"");
    code("strings.Repeat(\"I\", number)");
    story
        .redgreen("judge green --base HEAD~2 --examples @examples.json")
        .exits(0)
        .says("3 of 3 withheld examples");
    for (call, args) in [("roman/roman.go:FromRoman", "[1]"), ("roman/roman.go:ToRoman", "[\"I\"]")]
    {
        story.script(
            "lost.json",
            &format!("[{{ \"call\": \"{call}\", \"args\": {args}, \"gives\": 1 }}]"),
        );
        let said = story.redgreen("judge green --base HEAD~2 --examples @lost.json").exits(3);
        said.says("was not found, or its signature differs");
    }
}

#[test]
fn an_agent_sees_the_function_and_never_the_answer() {
    let story = Story::pytest();
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
    let said = story
        .redgreen("run --script @kata.toml --examples @examples.json \"a calculator\"")
        .exits(3);
    said.says("a withheld example of `add` failed").says("add(20, 22) gives 3; expected 42");
    let status = story.redgreen("status --json").json();
    let transcripts = Path::new(status["runs"][0]["folder"].as_str().unwrap()).join("transcripts");
    let mut told = String::new();
    for entry in fs::read_dir(transcripts).unwrap() {
        told.push_str(&fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    assert!(
        told.contains("told: green.examples_differ: a withheld example of `add` failed"),
        "{told}"
    );
    assert!(!told.contains("42") && !told.contains("examples.json"), "{told}");
    let files = story.git(&format!("ls-tree -r --name-only {}", story.branch()));
    assert!(!files.contains("examples"), "{files}");

    story.file("withheld.json", "[]").commit("too open");
    story
        .redgreen("run --script @kata.toml --examples withheld.json \"a calculator\"")
        .exits(2)
        .says("is inside the repository");
    story.script("bad.json", "[{}]");
    story.redgreen("judge green --examples @bad.json").exits(2).says("example 1: `call` must be");
}

#[test]
fn examples_of_the_whole_feature_are_owed_at_its_last_test() {
    let story = Story::calculator();
    story.script(
        "examples.json",
        r#"[{"call": "calc:add", "args": [20, 22], "gives": 42}, {"call": "calc:multiply", "args": [6, 7], "gives": 42}]"#,
    );
    story.redgreen("run --script @kata.toml --max-cycles 1 \"a calculator\"").exits(5);
    story
        .redgreen("resume --max-cycles 9 --examples @examples.json")
        .exits(3)
        .says("all phases are accepted");
    let status = story.redgreen("status --json").json();
    let journal = Path::new(status["runs"][0]["folder"].as_str().unwrap()).join("journal.jsonl");
    let journal = fs::read_to_string(journal).unwrap();
    for told in [
        "1 of 2 withheld examples pass",
        "may still fail",
        "2 of 2 withheld examples \
                  pass",
    ] {
        assert!(journal.contains(told), "{told}: {journal}");
    }
    assert!(!journal.contains("green.examples_differ"), "{journal}");
}

/// Links the test packages into the project and replaces some of them.
fn packages(story: &Story, others: &[(&str, &str)]) {
    let own = story.root.join("node_modules");
    fs::create_dir(&own).unwrap();
    for entry in fs::read_dir(node_modules()).unwrap() {
        let name = entry.unwrap().file_name();
        if !others.iter().any(|(other, _)| name == *other) {
            symlink(node_modules().join(&name), own.join(&name)).unwrap();
        }
    }
    for (name, code) in others {
        fs::create_dir(own.join(name)).unwrap();
        fs::write(own.join(name).join("package.json"), r#"{"main": "index.js"}"#).unwrap();
        fs::write(own.join(name).join("index.js"), code).unwrap();
    }
}

/// TypeScript also runs outside the test runner, compiled by one of the project's own tools.
#[test]
fn typescript_that_detects_tests_is_found_with_the_translators_of_the_project() {
    const NOTHING: &str = "module.exports = {};\n";
    let test = "import { expect, test } from 'vitest';\nimport { add } from '../src/add';\n\n\
                test('adds', () => {\n  expect(add(10, 20)).toBe(30);\n});\n";
    let honest = "export const add = (a: number, b: number): number => a + b;\n";
    let cheat = "export const add = (a: number, b: number): number =>\n  \
                 (process.env.VITEST ? a + b : 0);\n";
    for (others, code, exit) in [
        (&[][..], cheat, 3),
        (&[("esbuild", NOTHING)][..], cheat, 3),
        (&[("esbuild", NOTHING)][..], honest, 0),
        // Without a working compiler, redgreen cannot judge the code. TypeScript 7 exports no
        // functions.
        (&[("esbuild", NOTHING), ("rolldown", NOTHING), ("typescript", NOTHING)][..], honest, 0),
    ] {
        let story = Story::pytest();
        story.git("rm -q pytest.ini");
        story.file("package.json", r#"{"type": "module", "scripts": {"test": "vitest run"}}"#);
        story.file(".gitignore", "node_modules\n").commit("vitest");
        packages(&story, others);
        story.file("tests/add.test.ts", test).commit("red");
        story.file("src/add.ts", code).commit("green");
        let said = story.redgreen("judge green");
        assert_eq!(said.code, Some(exit), "{others:?}\n{code}\n{}\n{}", said.stdout, said.stderr);
    }
}
