//! The JSON of a proof fits redgreen's schema, and its other formats fit their public schemas.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use redgreen_core::proof::{Proof, view};
use redgreen_core::verdict::VOCABULARY;
use serde_json::{Value, json};

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

/// A proof of each outcome, with names and paths that need escapes.
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
