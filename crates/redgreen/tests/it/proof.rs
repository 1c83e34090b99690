//! The JSON of a proof matches redgreen's schema, and its other formats match their public schemas.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jsonschema::Validator;
use redgreen::process::{Limits, Program, Stop};
use redgreen_core::proof::{Proof, view};
use redgreen_core::verdict::VOCABULARY;
use serde_json::{Value, json};

use crate::skip::skipped;

const SARIF: &str = "tests/it/proof/testdata/sarif-schema-2.1.0.json";
const PROOF: &str = "../../docs/schema/proof.json";

fn read(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn schema(path: &str) -> Validator {
    jsonschema::validator_for(&read(path)).unwrap()
}

#[track_caller]
fn fits(schema: &Validator, value: &Value) {
    let faults: Vec<String> =
        schema.iter_errors(value).map(|error| format!("{} {error}", error.instance_path)).collect();
    assert_eq!(faults, Vec::<String>::new(), "{value:#}");
}

/// A proof of each outcome, with names and paths that need escaping.
fn proofs() -> Vec<Value> {
    let evidence = |inconclusive: Value| {
        json!({
            "base": "a".repeat(40),
            "head": "b".repeat(40),
            "steps": [{
                "phase": "RED", "what": "the new tests, with the old code", "decision": "accepted",
                "reasons": [{ "code": "red.assertion", "sentence": "assert 0 == 3", "test": "test_adds" }],
                "notes": ["a note"],
                "experiments": [{ "question": "q", "what": "w", "tree": "c".repeat(40), "saw": "1 failed" }],
            }],
            "tests": [{
                "id": "test_adds", "file": "tests/größe 1.py", "line": 3, "isNew": true, "passes": true, "isSkipped": false,
                "without": { "fails": { "code": "red.assertion", "message": "assert 0 == 3" } },
            }],
            "removed": ["test_gone"],
            "hunks": [{ "file": "src/a b.py", "first": 2, "last": 4 }],
            "mutants": [
                { "hunk": 0, "what": "the old src/a b.py:2-4", "killed": { "by": ["test_adds"] } },
                { "what": "code that does nothing", "asked": ["test_adds"], "killed": "by-none" },
            ],
            "commits": [{ "test": "c".repeat(40), "code": "d".repeat(40), "steps": [] }],
            "policy": {
                "require": ["proven", "proven-by-mutant"], "untested": ["docs/*"], "every-place": true, "min-kill": 50,
                "mutants": 24, "exempt": [{ "paths": ["gen/*"], "tests": [], "reason": "generated" }],
            },
            "exempted": [],
            "notVerified": ["README.md: documentation"],
            "inconclusive": inconclusive,
            "shard": { "number": 1, "of": 2 },
            "ran": "pytest", "fence": "bubblewrap", "testsMs": 1500, "ownMs": 20,
        })
    };
    let proof = |outcome: &str, reasons: Value, inconclusive: Value| {
        json!({
            "version": 1,
            "outcome": outcome,
            "reasons": reasons,
            "tests": [{
                "id": "test_adds", "file": "tests/größe 1.py", "line": 3, "class": "proven", "why": "<b> ::error::\u{202e}",
                "killed": 1,
            }],
            "code": [
                { "file": "src/a b.py", "first": 2, "last": 4, "standing": "tested", "tests": ["test_adds"], "killed": 1, "survived": 0 },
                { "file": "src/c.py", "first": 9, "last": 9, "standing": "no-test", "tests": [], "killed": 0, "survived": 2 },
            ],
            "exempted": [{ "what": "conftest.py was changed", "reason": "vendored" }],
            "notVerified": ["README.md: documentation"],
            "evidence": evidence(inconclusive),
        })
    };
    let placed = json!({ "code": "green.regression", "sentence": "broke", "test": "t", "file": "tests/größe 1.py", "line": 7 });
    let open = json!({ "code": "verify.range", "sentence": "the clone is shallow" });
    let whole =
        json!({ "code": "verify.kill_rate", "sentence": "1 of 2 mutants were killed (50 %)" });
    vec![
        proof("proven", json!([]), Value::Null),
        proof("refuted", json!([placed, whole]), Value::Null),
        proof("inconclusive", json!([open.clone()]), open),
    ]
}

/// Reads a report with third-party programs: JUnit with junitparser, and Markdown with cmark-gfm,
/// GitHub's parser. Prints what they understood.
const READER: &str = r#"
import json, sys
from html.parser import HTMLParser
import cmarkgfm, junitparser
from cmarkgfm.cmark import Options

given = json.load(sys.stdin)
xml = junitparser.JUnitXml.fromstring(given["junit"].encode())
suites = []
for suite in xml:
    declared = [suite.tests, suite.failures, suite.errors, suite.skipped]
    cases = [
        [case.classname, case.name, [type(one).__name__ for one in case.result], [one.message for one in case.result]]
        for case in suite
    ]
    suite.update_statistics()
    counted = [suite.tests, suite.failures, suite.errors, suite.skipped]
    properties = {one.name: one.value for one in suite.properties()}
    suites.append({"name": suite.name, "declared": declared, "counted": counted, "cases": cases, "properties": properties})

class Page(HTMLParser):
    EMPTY = ("br", "hr", "img", "input")
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.faults, self.headings, self.codes = [], {}, [], [], []
    def handle_starttag(self, tag, attributes):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag not in self.EMPTY:
            self.open.append(tag)
        if tag in ("h2", "h3"):
            self.headings.append("")
        if tag == "code":
            self.codes.append("")
    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)
    def handle_data(self, text):
        if self.open and self.open[-1] in ("h2", "h3"):
            self.headings[-1] += text
        if self.open and self.open[-1] == "code":
            self.codes[-1] += text

page = Page()
page.feed(cmarkgfm.github_flavored_markdown_to_html(given["markdown"], Options.CMARK_OPT_UNSAFE))
json.dump({"suites": suites, "seen": page.seen, "faults": page.faults + page.open, "headings": page.headings, "codes": page.codes}, sys.stdout)
"#;

/// What third-party programs read in a proof's JUnit report and summary, or `None` if they are not
/// installed.
fn read_by_others(proof: &Proof) -> Option<Value> {
    #[expect(clippy::disallowed_methods, reason = "a variable names the readers")]
    let python = std::env::var_os("REDGREEN_TEST_READERS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/readers/bin/python"),
        PathBuf::from,
    );
    if !python.exists() {
        skipped("junitparser and cmarkgfm are not installed; scripts/test installs them");
        return None;
    }
    let given = json!({ "junit": view::junit(proof), "markdown": view::markdown(proof) });
    let limits = Limits { wall: Duration::from_secs(60), output_bytes_max: 1 << 20 };
    let program = Program::new(python).args(["-c", READER]).stdin(given.to_string());
    let output = program.output(limits, &Stop::default()).unwrap();
    assert!(output.success(), "{}", output.stderr_text());
    Some(serde_json::from_str(&output.stdout_text()).unwrap())
}

#[test]
fn programs_of_others_read_the_junit_report_and_the_summary() {
    for value in proofs() {
        let proof: Proof = serde_json::from_value(value.clone()).unwrap();
        let Some(read) = read_by_others(&proof) else { return };
        let suites = read["suites"].as_array().unwrap();
        let names: Vec<_> = suites.iter().filter_map(|suite| suite["name"].as_str()).collect();
        assert_eq!(
            names,
            ["redgreen verify: range", "redgreen verify: tests", "redgreen verify: code"]
        );
        for suite in suites {
            assert_eq!(suite["declared"], suite["counted"], "{suite:#}");
            assert_eq!(suite["properties"]["outcome"], value["outcome"]);
        }
        let result = match value["outcome"].as_str().unwrap() {
            "proven" => json!([]),
            "refuted" => json!(["Failure"]),
            _ => json!(["Error"]),
        };
        assert_eq!(suites[0]["cases"][0][2], result, "{:#}", suites[0]);
        assert_eq!(suites[1]["cases"].as_array().map(Vec::len), Some(1), "{:#}", suites[1]);
        assert_eq!(suites[2]["cases"].as_array().map(Vec::len), Some(2), "{:#}", suites[2]);
        // The summary must be complete HTML without clickable elements, and show hostile text
        // literally.
        assert_eq!(read["faults"], json!([]), "{read:#}");
        for tag in ["a", "img", "script", "b", "input"] {
            assert_eq!(read["seen"][tag], Value::Null, "{tag} in {read:#}");
        }
        let headings: Vec<_> = read["headings"].as_array().unwrap().iter().collect();
        assert!(headings[0].as_str().unwrap().contains(value["outcome"].as_str().unwrap()));
        assert_eq!(headings.last().unwrap().as_str(), Some("Not verified"));
        let codes: Vec<_> =
            read["codes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(codes.iter().any(|code| code.starts_with("<b> ::error::")), "{codes:#?}");
        assert!(codes.contains(&"README.md: documentation"), "{codes:#?}");
    }
}

#[test]
fn sarif_is_what_oasis_says_it_is() {
    let schema = schema(SARIF);
    for value in proofs() {
        let proof: Proof = serde_json::from_value(value).unwrap();
        let log: Value = serde_json::from_str(&view::sarif(&proof)).unwrap();
        fits(&schema, &log);
    }
    assert!(!schema.is_valid(&json!({ "version": "2.1.0" })), "a log without runs is noticed");
}

#[test]
fn the_published_schema_holds_for_every_outcome() {
    let schema = schema(PROOF);
    for value in proofs() {
        fits(&schema, &value);
        let proof: Proof = serde_json::from_value(value).unwrap();
        fits(&schema, &serde_json::to_value(&proof).unwrap());
    }
    let mut faulty = proofs().remove(0);
    faulty["outcome"] = json!("perhaps");
    assert!(!schema.is_valid(&faulty), "an outcome that is none is noticed");
    let codes = VOCABULARY.iter().map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(read(PROOF)["$defs"]["code"]["enum"], json!(codes));
}
