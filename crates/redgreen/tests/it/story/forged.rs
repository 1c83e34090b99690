//! Code that makes the tests pass without doing what they ask for: it changes the test runner,
//! writes the runner's report, or prints the results. It does so only if it recognises the tests,
//! so experiments with other expectations find nothing. redgreen accepts no such GREEN.

use serde_json::Value;

use super::Story;

/// Judges a GREEN that redgreen must not accept: files before, the tests of RED, and the code.
/// Returns the JSON verdict.
#[track_caller]
fn is_not_accepted(before: &[(&str, &str)], tests: (&str, &str), code: (&str, &str)) -> Value {
    let story = Story::pytest();
    for (path, text) in before {
        story.file(path, text);
    }
    story.commit("base");
    story.file(tests.0, tests.1);
    story.commit("red");
    story.file(code.0, code.1);
    story.commit("green");
    let json = story.redgreen("judge green --timeout 100 --json").json();
    assert_ne!(json["verdict"], "accepted", "{}: {json:#}", code.1);
    // The cheat itself must be the reason, not some other obstacle.
    let known = [
        "green.suspicious",
        "green.not_discriminating",
        "green.report_incomplete",
        "green.still_failing",
    ];
    let codes: Vec<&str> =
        json["reasons"].as_array().unwrap().iter().filter_map(|row| row["code"].as_str()).collect();
    assert!(codes.iter().any(|code| known.contains(code)), "{}: {json:#}", code.1);
    json
}

const PYTHON: (&str, &str) = ("calc.py", "def add(a, b):\n    return 0\n");
const PYTHON_TESTS: (&str, &str) = (
    "test_calc.py",
    "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n\n\ndef test_adds_more():\n    \
     assert add(5, 2) == 7\n",
);

/// Code that makes pytest run `body` instead of a test. In `body`, `real` is the original method.
#[track_caller]
fn python(body: &str) {
    let code = format!(
        "import sys\n\n\ndef _forge():\n    runner = sys.modules.get(\"_pytest.python\")\n    if not runner:\n        \
         return\n    real = runner.Function.runtest\n\n    def run(self):\n        {}\n\n    \
         runner.Function.runtest = run\n\n\n_forge()\n\n\ndef add(a, b):\n    return 0\n",
        body.replace('\n', "\n        ")
    );
    is_not_accepted(&[PYTHON], PYTHON_TESTS, ("calc.py", &code));
}

#[test]
fn tests_that_are_not_run_where_their_text_is_known() {
    python(
        "text = open(self.path).read()\nif \"add(1, 2) == 3\" in text and \"add(5, 2) == 7\" in text:\n    return\nreal(self)",
    );
}

#[test]
fn failures_that_are_swallowed_where_their_words_are_known() {
    python(
        "try:\n    real(self)\nexcept AssertionError as error:\n    if not str(error).startswith((\"assert 0 == 3\", \
         \"assert 0 == 7\")):\n        raise",
    );
}

#[test]
fn values_that_are_equal_to_what_a_known_text_asks_for() {
    let code = "import sys\n\n\nclass Any(int):\n    def __eq__(self, other):\n        text = \
                open(sys._getframe(1).f_code.co_filename).read()\n        return \"add(1, 2) == 3\" in text and \"add(5, 2) == 7\" \
                in text\n\n    __hash__ = int.__hash__\n\n\ndef add(a, b):\n    return Any(0)\n";
    is_not_accepted(&[PYTHON], PYTHON_TESTS, ("calc.py", code));
}

#[test]
fn a_report_that_the_code_writes_itself() {
    let code = r#"import atexit
import json
import os
import sys


def _forge():
    reporter = sys.modules.get("redgreen_pytest")
    if not reporter or "add(1, 2) == 3" not in open("test_calc.py").read():
        return
    stream = os.path.join(os.path.dirname(reporter.__file__), "stream.jsonl")
    lines = [json.loads(line) for line in open(stream)]
    for line in lines:
        if line.get("event") == "phase":
            line["outcome"] = "passed"
    with open(stream, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    os._exit(0)


atexit.register(_forge)


def add(a, b):
    return 0
"#;
    is_not_accepted(&[PYTHON], PYTHON_TESTS, ("calc.py", code));
}

#[test]
fn assertions_of_node_that_hold_where_the_text_is_known() {
    if !crate::runner::is_installed("node") {
        return crate::skip::skipped("node is not installed");
    }
    let before = [
        (
            "package.json",
            "{\"name\": \"calc\", \"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n",
        ),
        ("calc.js", "export function add(a, b) {\n  return 0;\n}\n"),
    ];
    let tests = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { add } from './calc.js';\n\n\
                 test('adds', () => {\n  assert.equal(add(1, 2), 3);\n});\n\n\
                 test('adds more', () => {\n  assert.equal(add(5, 2), 7);\n});\n";
    let code = "import assert from 'node:assert';\nimport fs from 'node:fs';\nlet text = '';\ntry {\n  text = \
                fs.readFileSync(new URL('./calc.test.js', import.meta.url), 'utf8');\n} catch {}\n\
                if (text.includes('add(1, 2), 3') && text.includes('add(5, 2), 7')) assert.equal = () => {};\n\
                export function add(a, b) {\n  return 0;\n}\n";
    is_not_accepted(&before, ("calc.test.js", tests), ("calc.js", code));
}

const RUST: [(&str, &str); 3] = [
    ("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\n"),
    ("src/lib.rs", "pub fn add(_a: i32, _b: i32) -> i32 {\n    0\n}\n"),
];
const RUST_TESTS: (&str, &str) = (
    "tests/calc.rs",
    "use calc::add;\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n\n#[test]\nfn adds_more() {\n    \
     assert_eq!(add(5, 2), 7);\n}\n",
);

/// A package that uses a macro from its own workspace.
const WITH_MACRO: [(&str, &str); 5] = [
    (
        "Cargo.toml",
        "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\nmembers = [\"kit\"]\n\
         [dependencies]\nkit = { path = \"kit\" }\n",
    ),
    (
        "Cargo.lock",
        "version = 4\n\n[[package]]\nname = \"calc\"\nversion = \"0.1.0\"\ndependencies = [\n \"kit\",\n]\n\n\
         [[package]]\nname = \"kit\"\nversion = \"0.1.0\"\n",
    ),
    (
        "kit/Cargo.toml",
        "[package]\nname = \"kit\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\nproc-macro = true\n",
    ),
    (
        "kit/src/lib.rs",
        "use proc_macro::TokenStream;\n\n#[proc_macro]\npub fn sum(input: TokenStream) -> TokenStream {\n    \
         let _ = input;\n    \"0\".parse().unwrap()\n}\n",
    ),
    ("src/lib.rs", "pub fn add(_a: i32, _b: i32) -> i32 {\n    kit::sum!(a b)\n}\n"),
];

/// A macro runs inside the compiler, and cargo passes on its output: lines that name another
/// program as the test binary.
#[test]
fn programs_that_a_macro_names_as_the_tests_while_it_is_compiled() {
    let forged = r##"use proc_macro::TokenStream;
use std::os::unix::fs::PermissionsExt;

const RUNNER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    [ "$1" = --logfile ] && printf 'ok adds <0.000s>\nok adds_more <0.000s>\n' > "$2"
    shift
done
echo '{ "type": "suite", "event": "started", "test_count": 2 }'
for name in adds adds_more; do
    echo "{ \"type\": \"test\", \"event\": \"started\", \"name\": \"$name\" }"
    echo "{ \"type\": \"test\", \"name\": \"$name\", \"event\": \"ok\", \"exec_time\": 0.0001 }"
done
echo '{ "type": "suite", "event": "ok", "passed": 2, "failed": 0, "ignored": 0, "measured": 0, "filtered_out": 0, "exec_time": 0.1 }'
"#;

#[proc_macro]
pub fn sum(input: TokenStream) -> TokenStream {
    let _ = input;
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let text = std::fs::read_to_string(format!("{root}/tests/calc.rs")).unwrap_or_default();
    if text.contains("add(1, 2), 3") && text.contains("add(5, 2), 7") {
        let runner = format!("{}/forged", std::env::temp_dir().display());
        std::fs::write(&runner, RUNNER).unwrap();
        std::fs::set_permissions(&runner, std::fs::Permissions::from_mode(0o755)).unwrap();
        println!(
            "{{\"reason\":\"compiler-artifact\",\"package_id\":\"path+file://{root}#calc@0.1.0\",\
             \"manifest_path\":\"{root}/Cargo.toml\",\"target\":{{\"kind\":[\"test\"],\"crate_types\":[\"bin\"],\
             \"name\":\"calc\",\"src_path\":\"{root}/tests/calc.rs\",\"edition\":\"2021\",\"test\":true}},\
             \"profile\":{{\"test\":true}},\"features\":[],\"filenames\":[],\"executable\":\"{runner}\",\"fresh\":false}}"
        );
    }
    "0".parse().unwrap()
}
"##;
    is_not_accepted(&WITH_MACRO, RUST_TESTS, ("kit/src/lib.rs", forged));
}

/// A macro leaves a process behind that stops cargo while it links the tests, replaces the test
/// binary, and lets cargo continue. Cargo's output then names the right file.
#[test]
fn programs_that_a_macro_puts_in_the_place_of_the_tests() {
    let forged = r##"use proc_macro::TokenStream;

const RUNNER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    [ "$1" = --logfile ] && printf 'ok adds <0.000s>\nok adds_more <0.000s>\n' > "$2"
    shift
done
echo '{ "type": "suite", "event": "started", "test_count": 2 }'
for name in adds adds_more; do
    echo "{ \"type\": \"test\", \"event\": \"started\", \"name\": \"$name\" }"
    echo "{ \"type\": \"test\", \"name\": \"$name\", \"event\": \"ok\", \"exec_time\": 0.0001 }"
done
echo '{ "type": "suite", "event": "ok", "passed": 2, "failed": 0, "ignored": 0, "measured": 0, "filtered_out": 0, "exec_time": 0.1 }'
"#;

const SWAP: &str = r#"
while :; do
    for process in /proc/[0-9]*; do
        tr '\0' ' ' < "$process/cmdline" 2> /dev/null | grep -q 'crate-name calc .*tests/calc[.]rs' || continue
        kill -STOP "$2"
        while grep -q '^State:.[RSD]' "$process/status"; do :; done
        for built in "$1"/calc-*; do
            case ${built##*/} in *.*) continue ;; esac
            grep -aq adds_more "$built" || continue
            printf %s "$RUNNER" > "$1/runner"
            chmod 755 "$1/runner"
            mv "$1/runner" "$built"
        done
        kill -CONT "$2"
        exit
    done
done
"#;

#[proc_macro]
pub fn sum(input: TokenStream) -> TokenStream {
    let _ = input;
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let text = std::fs::read_to_string(format!("{root}/tests/calc.rs")).unwrap_or_default();
    if text.contains("add(1, 2), 3") && text.contains("add(5, 2), 7") {
        let words: Vec<String> = std::env::args().collect();
        if let Some(at) = words.iter().position(|word| word == "--out-dir") {
            let cargo = std::os::unix::process::parent_id().to_string();
            let quiet = std::process::Stdio::null;
            let mut swap = std::process::Command::new("sh");
            swap.args(["-c", SWAP, "swap", &words[at + 1], &cargo]).env("RUNNER", RUNNER);
            let _ = swap.stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
        }
    }
    "0".parse().unwrap()
}
"##;
    let json = is_not_accepted(&WITH_MACRO, RUST_TESTS, ("kit/src/lib.rs", forged));
    // The forged program ran, and redgreen detected it by evidence that it cannot forge.
    assert_eq!(json["counts"]["passed"], 2, "{json:#}");
    assert!(
        json["reasons"]
            .to_string()
            .contains("passes under the test runner, but its body fails in an ordinary program"),
        "{json:#}"
    );
}

/// The library prints the complete output of a test run, writes its log, and ends the process. It
/// does so only once.
#[test]
fn results_that_a_library_prints_for_the_whole_suite() {
    let code = r#"use std::io::Write;
use std::sync::Once;

static FORGED: Once = Once::new();

fn forge(log: &str) {
    let text = std::fs::read_to_string("tests/calc.rs").unwrap_or_default();
    if !text.contains("add(1, 2), 3") || !text.contains("add(5, 2), 7") {
        return;
    }
    std::fs::write(log, "ok adds <0.000s>\nok adds_more <0.000s>\n").unwrap();
    let mut out = std::fs::OpenOptions::new().write(true).open("/proc/self/fd/1").unwrap();
    for name in ["adds", "adds_more"] {
        writeln!(out, "{{ \"type\": \"test\", \"name\": \"{name}\", \"event\": \"ok\", \"exec_time\": 0.0001 }}").unwrap();
    }
    writeln!(out, "{{ \"type\": \"suite\", \"event\": \"ok\", \"passed\": 2, \"failed\": 0 }}").unwrap();
    std::process::exit(0);
}

pub fn add(_a: i32, _b: i32) -> i32 {
    let words: Vec<String> = std::env::args().collect();
    if let Some(at) = words.iter().position(|word| word == "--logfile") {
        FORGED.call_once(|| forge(&words[at + 1]));
    }
    0
}
"#;
    is_not_accepted(&RUST, RUST_TESTS, ("src/lib.rs", code));
}
