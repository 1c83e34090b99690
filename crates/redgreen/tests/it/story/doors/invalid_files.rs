//! Invalid input files in one table: the error gives the position and the expected value, redgreen
//! exits with code 2, and it creates nothing.

use std::fs;
use std::os::unix::fs::symlink;

use super::{SPEC, TASK};
use crate::story::Story;

/// The script is valid; only the input file is not.
const SPEC_LINE: &str = "run --script @kata.toml --spec @input.yaml";
const JSON_LINE: &str = "run --script @kata.toml --spec @input.json";
const TASK_LINE: &str = "run --script @kata.toml --task @input.json";

fn changed(text: &str, old: &str, new: &str) -> Vec<u8> {
    let changed = text.replacen(old, new, 1);
    assert_ne!(changed, text, "{old:?} is not in the file");
    changed.into_bytes()
}

/// File name, content, command line, and the expected words of the error.
fn files() -> Vec<(&'static str, Vec<u8>, &'static str, &'static str)> {
    let spec = |old: &str, new: &str, words: &'static str| {
        ("input.yaml", changed(SPEC, old, new), SPEC_LINE, words)
    };
    let task = |old: &str, new: &str, words: &'static str| {
        ("input.json", changed(TASK, old, new), TASK_LINE, words)
    };
    let raw = |bytes: &[u8], words: &'static str| ("input.yaml", bytes.to_vec(), SPEC_LINE, words);
    let json = |bytes: &[u8], words: &'static str| ("input.json", bytes.to_vec(), JSON_LINE, words);
    let deep = "[".repeat(5_000);
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
    vec![
        raw(b"", "the file is empty"),
        raw(b"\xef\xbb\xbf \r\n", "the file is empty"),
        raw(b"spec_id: [1", "not valid YAML"),
        raw(b"a: b: c", "not valid YAML"),
        raw(b"\tspec_id: x", "$.components: is missing"),
        raw(b"just words", "$: expected an object, found \"just words\""),
        raw(b"- a\n- b", "$: expected an object, found a list"),
        raw(b"spec_id: S", "$.components: is missing"),
        raw(
            b"spec_id: S\r\ncomponents: []\r\ntest_cases: []\r\n",
            "2:13: $.components: expected a list with at least one item",
        ),
        raw(b"\xff\xfe\x00s", "it is not UTF-8 text"),
        raw(b"spec_id: a\0b", "it contains a zero byte"),
        raw(b"%PDF-1.7\n\xe2\xe3\xcf\xd3", "it is not UTF-8 text"),
        raw(&vec![b'#'; (1 << 20) + 1], "the limit is 1048576"),
        raw(deep.as_bytes(), "not valid YAML"),
        raw(bomb.as_bytes(), "input.yaml"),
        raw(b"a: &a\n  b: *a\n", "input.yaml"),
        raw(b"spec_id: *nobody", "not valid YAML"),
        raw(b"spec_id: S\n---\nspec_id: T\n", "not valid YAML"),
        spec("spec_id: SPEC-20260102-0001", "spec_id: ", "$.spec_id: is missing"),
        spec("spec_id: SPEC-20260102-0001", "spec_id: \"  \"", "$.spec_id: expected some words"),
        spec(
            "spec_id: SPEC-20260102-0001",
            "spec_id: true",
            "$.spec_id: expected text, found true",
        ),
        spec(
            "spec_id: SPEC-20260102-0001",
            "spec-id: S",
            "unknown key \"spec-id\"; did you mean \"spec_id\"?",
        ),
        spec("test_cases:", "testcases:", "did you mean \"test_cases\"?"),
        spec(
            "components:",
            "components: 3\nother:",
            "$.components: expected a list, found the number 3",
        ),
        spec("name: Till", "name: [Till]", "$.components[0].name: expected text, found a list"),
        spec(
            "name: receipt",
            "name: Till",
            "expected each component's name once, found \"Till\" again",
        ),
        spec(
            "file_path: shop/till.py",
            "file_path: ../till.py",
            "expected a path inside the project, found \"../till.py\"",
        ),
        spec(
            "file_path: shop/till.py",
            "file_path: /etc/passwd",
            "expected a path inside the project",
        ),
        spec(
            "file_path: shop/till.py",
            "file_path: 'C:\\till.py'",
            "expected a path inside the project",
        ),
        spec(
            "    interface:\n      methods:",
            "    interface: x\n    other:",
            "$.components[0].interface: expected an object, found \"x\"",
        ),
        spec(
            "signature: \"add(price: int) -> None\"",
            "signature: \"\"",
            "methods[0].signature: expected some words",
        ),
        spec(
            "depends_on: [Till]",
            "depends_on: [Nobody]",
            "expected the name of a component, found \"Nobody\"",
        ),
        spec(
            "description: Adds up what is bought",
            "depends_on: [receipt]",
            "found a cycle: Till → receipt → Till",
        ),
        spec("id: TC002", "id: TC001", "expected each test case's id once, found \"TC001\" again"),
        spec("  - id: TC001", "  - name: TC001", "$.test_cases[0].id: is missing"),
        spec(
            "description: prices are added",
            "description: {}",
            "$.test_cases[1].description: expected text, found an object",
        ),
        spec(
            "component: receipt",
            "component: Receipt",
            "expected the name of a component (Till, receipt), found \"Receipt\"",
        ),
        spec(
            "given: a new till",
            "given: [a, b]",
            "$.test_cases[0].given: expected text, found a list",
        ),
        spec(
            "criterion: a shop can add up prices",
            "criteria: x",
            "$.acceptance_criteria[0].criterion: is missing",
        ),
        spec("step: 2", "step: 1", "expected each step once, found \"1\" again"),
        spec(
            "implementation_order:",
            "expected_coverage: 120%\nimplementation_order:",
            "expected a share from 0 to 100 %",
        ),
        spec(
            "implementation_order:",
            "max_iterations: none\nimplementation_order:",
            "expected a whole number from 1 to 1000, found \"none\"",
        ),
        json(b"{", "not valid JSON"),
        json(b"{\"spec_id\": \"S\",}", "not valid JSON"),
        json(b"{\"spec_id\": \"S\", \"spec_id\": \"T\"}", "duplicate"),
        json(b"{'spec_id': 'S'}", "not valid JSON"),
        json(b"[]", "$: expected an object, found a list"),
        task("\"tdd_workflow\": true,", "", "$.meta.tdd_workflow: is missing"),
        task(
            "\"tdd_workflow\": true",
            "\"tdd_workflow\": false",
            "$.meta.tdd_workflow: expected true",
        ),
        task(
            "\"tdd_workflow\": true",
            "\"tdd_workflow\": \"yes\"",
            "expected true or false, found \"yes\"",
        ),
        task(
            "\"test_count\": 2",
            "\"test_count\": 3",
            "expected the number of test_cases, 2, found 3",
        ),
        task("\"test_count\": 2", "\"test_count\": 2.5", "expected a whole number from 1 to 1000"),
        task(">=85%", "high", "expected a share from 0 to 100 %"),
        task(
            "\"method\": \"agent\"",
            "\"method\": \"human\"",
            "expected one of agent, cli, found \"human\"",
        ),
        task("\"strategy\": \"new\"", "\"strategy\": \"resume\"", "expected resume_from"),
        task("python -m pytest -q tests", "be good", "expected a test command among the criteria"),
        task(
            "\"tdd_phase\": \"refactor\"",
            "\"tdd_phase\": \"polish\"",
            "expected one of red, green, refactor, found \"polish\"",
        ),
        task(
            "\"focus_paths\": [\"temperature.py\"",
            "\"focus_paths\": [\"../temperature.py\"",
            "expected a path inside the project",
        ),
        task(
            "\"description\": \"Convert temperatures\"",
            "\"descriptoin\": \"Convert\"",
            "did you mean \"description\"?",
        ),
    ]
}

#[test]
fn a_file_that_cannot_be_used_is_reported_with_all_its_faults_and_nothing_is_made() {
    let story = Story::calculator();
    let rows = files();
    let (before, refs) = (story.belongings(), story.git("for-each-ref"));
    for (number, (name, bytes, line, words)) in rows.iter().enumerate() {
        fs::write(story.place(name), bytes).unwrap();
        let said = story.redgreen(line).exits(2).says("cannot use ").says("  next  ");
        assert!(said.stderr.contains(words), "row {number}: no {words:?} in\n{}", said.stderr);
        assert_eq!(said.stdout, "", "row {number}");
    }
    assert_eq!((story.belongings(), story.git("for-each-ref")), (before, refs));
    assert!(!story.root.join(".git/redgreen/runs").exists(), "a run was made");
    assert!(rows.len() + CONTEXT_ROWS >= 60, "{} rows", rows.len());
}

const CONTEXT_ROWS: usize = 15;

#[test]
fn files_that_may_not_be_sent_stop_a_run_before_it_starts() {
    let story = Story::calculator();
    let token = format!("gh{}_{}", "p", "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8aB3dE5gH7");
    story
        .file("docs/lld.md", "# A design\n")
        .file("empty.md", " \n")
        .file(".env", "A=1\n")
        .file("server.pem", "x\n")
        .file("tls/private.key", "x\n")
        .file("my_secrets.py", "x\n")
        .file("id_rsa", "x\n")
        .file("token.py", &format!("# a token\nTOKEN = \"{token}\"\n"))
        .file("large.txt", &"x".repeat(100_001))
        .file("src/ok.py", "x = 1\n");
    fs::write(story.root.join("binary.bin"), b"\0\x01").unwrap();
    fs::write(story.place("outside.py"), "x = 1\n").unwrap();
    symlink(story.place("outside.py"), story.root.join("linked.py")).unwrap();
    symlink("loop-b", story.root.join("loop-a")).unwrap();
    symlink("loop-a", story.root.join("loop-b")).unwrap();
    // A number is one token per three digits. Together these files exceed the limit, and each file
    // alone is small enough.
    for number in 0..6 {
        story.file(&format!("many/{number}.txt"), &"1 2 3 4 5 6 7 8 9 0 ".repeat(4_500));
    }
    let rows = [
        ("docs/lld.md", ".env", ".env: its name looks like a secret (`.env`)"),
        ("docs/lld.md", "server.pem", "its name looks like a secret (`.pem`)"),
        ("docs/lld.md", "tls", "tls/private.key: its name looks like a secret (`.key`)"),
        ("docs/lld.md", "my_secrets.py", "its name looks like a secret (`secret`)"),
        ("docs/lld.md", "id_rsa", "its name looks like a secret (`id_rsa`)"),
        ("docs/lld.md", "token.py", "token.py: line 2 looks like a credential (github-token)"),
        ("docs/lld.md", "large.txt", "it has 100001 bytes"),
        ("docs/lld.md", "binary.bin", "it is not UTF-8 text"),
        ("docs/lld.md", "../outside.py", "it resolves outside the project root"),
        ("docs/lld.md", "linked.py", "it resolves outside the project root"),
        ("docs/lld.md", "loop-a", "it is reached through a symbolic link"),
        ("docs/lld.md", "none.py", "file not found"),
        ("docs/lld.md", "many", "tokens, but at most 200000 are sent"),
        ("../outside.py", "src/ok.py", "it resolves outside the project root"),
        ("empty.md", "src/ok.py", "empty.md is empty"),
    ];
    assert_eq!(rows.len(), CONTEXT_ROWS);
    let (before, refs) = (story.belongings(), story.git("for-each-ref"));
    for (lld, context, words) in rows {
        let line = format!("run --script @kata.toml --issue 87 --lld {lld} --context {context}");
        let said = story.redgreen(&line).exits(2).says(words).says("  next  ");
        assert!(!said.stderr.contains(&token), "the secret is shown");
    }
    story
        .redgreen("context --script @kata.toml src/ok.py .env")
        .exits(1)
        .says("src/ok.py")
        .says("not sent")
        .says("nothing leaves");
    assert_eq!((story.belongings(), story.git("for-each-ref")), (before, refs));
    assert!(!story.root.join(".git/redgreen/runs").exists(), "a run was made");
}
