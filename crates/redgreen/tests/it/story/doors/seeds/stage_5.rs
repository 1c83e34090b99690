//! The checklist of stage 5, RED: test generation.

use super::{
    SPEC, SPEC_SCRIPT, artifact, codes, json, model_run, names, spec_run, task_run, tool_results,
};
use crate::story::Story;
use crate::story::doors::story;
use crate::story::scripts::turn;

use super::RUN_SPEC;

/// Runs a script that ends after RED, so the run stops there.
fn red_only(red: &str) -> Story {
    story("spec.yaml", SPEC, &format!("version = 1\nagent = \"tester\"\n{red}"))
}

#[test]
fn test_generates_test_files_from_spec() {
    let told = spec_run();
    let prompt = model_run().1.requests()[0].body["messages"].to_string();
    for case in [
        "TC001: an empty till",
        "TC002: prices are added",
        "TC003: a receipt",
        "given a new till",
        "then it is 7",
    ] {
        assert!(prompt.contains(case), "the agent is not told {case:?}: {prompt}");
    }
    let red = json(&told.story, "cycle-1/red.json");
    assert_eq!(
        (red["spec_id"].as_str(), red["test_count"].as_u64()),
        (Some("SPEC-20260102-0001"), Some(3)),
        "{red}"
    );
    assert_eq!(red["components"][0]["interface"]["methods"][1]["signature"], "total() -> int");
    assert_eq!(red["acceptance_criteria"][0]["criterion"], "a shop can add up prices");
}

#[test]
fn test_writes_test_files_to_disk() {
    let told = spec_run();
    let commit = &told.commits()[0];
    let changed = told.story.git(&format!("show --format= --name-only {commit}"));
    assert_eq!(changed, "tests/test_receipt.py\ntests/test_till.py");
    let red = json(&told.story, "cycle-1/red.json");
    for file in red["test_files"].as_array().unwrap() {
        let there = told.story.git(&format!("show {commit}:{}", file["path"].as_str().unwrap()));
        assert_eq!(file["content"].as_str().unwrap().trim_end(), there);
    }
}

#[test]
fn test_runs_pytest_on_generated_tests() {
    let results = json(&spec_run().story, "cycle-1/red.json")["test_results"].clone();
    assert_eq!(results["exit_code"], 1, "{results}");
    assert!(results["output"].as_str().unwrap().contains("ModuleNotFoundError"), "{results}");
    let ran = spec_run().steps()[0]["ran"].as_str().unwrap().to_owned();
    assert!(ran.starts_with("python -m pytest: "), "{ran}");
}

#[test]
fn test_reports_failing_tests() {
    let red = json(&spec_run().story, "cycle-1/red.json");
    assert_eq!(
        names(&red["failing_tests"]).len(),
        3,
        "neither file loads, and each test has a name: {red}"
    );
    assert!(names(&red["unexpected_passes"]).is_empty(), "{red}");
    spec_run().shows("ModuleNotFoundError: No module named 'shop'");
}

#[test]
fn test_warns_on_unexpected_passes() {
    let sure = "def test_sure():\n    # TC001 TC002\n    assert 1 == 1\n\n\ndef test_more():\n    assert 2 == 2\n\n\ndef test_three():\n    assert 3 == 3\n";
    let one = "import importlib\n\n\ndef test_one_tc003():\n    till = importlib.import_module('shop.till')\n    assert till.Till().total() == 0\n";
    let files = format!(
        "{{ write = \"tests/test_sure.py\", text = {sure:?} }}, {{ write = \"tests/test_one.py\", text = {one:?} }}"
    );
    let story = red_only(&turn("red", &files));
    // The script ends after RED, so the run stops and keeps RED's results.
    let said = story.redgreen(RUN_SPEC).exits(4);
    assert!(said.stdout.contains("## TASK BLOCKED\n\n**Blocker:**"), "{}", said.stdout);
    let red = json(&story, "cycle-1/red.json");
    assert_eq!(red["unexpected_passes"].as_array().unwrap().len(), 3, "{red}");
    assert!(
        red["warnings"]
            .to_string()
            .contains("75 % of the new tests pass before any code is written (3 of 4)"),
        "{red}"
    );
}

#[test]
fn test_handles_pytest_timeout() {
    let hangs = "import time\n\n\ndef test_hangs():\n    time.sleep(600)\n";
    let story =
        red_only(&turn("red", &format!("{{ write = \"tests/test_till.py\", text = {hangs:?} }}")));
    story.file("redgreen.toml", "backoff = 0.0\nmax-retries = 0\n[timeout]\nred = 6\n");
    story.commit("a short time limit");
    let said = story.redgreen(RUN_SPEC).exits(1).says("[red.timed_out]");
    assert!(said.stdout.contains("## TASK FAILED"), "{}", said.stdout);
    let red = json(&story, "cycle-1/red.json");
    assert!(red["test_results"]["exit_code"].is_null(), "it did not end by itself: {red}");
    assert!(!red["warnings"].as_array().unwrap().is_empty(), "{red}");
    story.assert_no_worktree();
}

#[test]
fn test_parses_pytest_output_correctly() {
    let story = Story::pytest();
    story.file(
        "test_mixed.py",
        "import pytest\n\n\ndef test_passes():\n    assert True\n\n\ndef test_fails():\n    assert 1 == 2, '3 passed, 9 failed'\n\n\n\
         @pytest.mark.skip\ndef test_idle():\n    assert False\n\n\n@pytest.fixture\ndef broken():\n    raise OSError('no')\n\n\n\
         def test_errors(broken):\n    print('100 passed in 1s')\n",
    );
    let answer = story.redgreen("--json test").exits(1).json();
    let summary = &answer["report"]["tests"];
    let ended = |name: &str| {
        let all = summary.as_array().unwrap_or_else(|| panic!("{answer}"));
        all.iter().find(|test| test["id"].as_str().unwrap().ends_with(name)).unwrap()["status"]
            .clone()
    };
    assert_eq!(
        [ended("test_passes"), ended("test_fails"), ended("test_idle"), ended("test_errors")],
        ["passed", "failed", "skipped", "errored"].map(serde_json::Value::from)
    );
}

#[test]
fn test_extracts_single_file() {
    let told = task_run();
    let red = json(&told.story, "cycle-1/red.json");
    assert_eq!(red["test_files"].as_array().unwrap().len(), 1, "{red}");
    assert_eq!(red["test_files"][0]["path"], "tests/test_temperature.py");
    assert!(
        told.file("tests/test_temperature.py")
            .starts_with("from temperature import to_fahrenheit\n")
    );
}

#[test]
fn test_extracts_multiple_files() {
    let script: toml::Value = toml::from_str(SPEC_SCRIPT).unwrap();
    let mut answer = String::from("Here they are.\n");
    for file in script["red"][0]["do"].as_array().unwrap() {
        let (path, text) = (file["write"].as_str().unwrap(), file["text"].as_str().unwrap());
        answer.push_str(&format!("\n### FILE: {path}\n```python\n{text}```\n"));
    }
    let story = red_only(&format!("\n[[red]]\nanswer = '''\n{answer}'''\n"));
    story.redgreen(RUN_SPEC).exits(4).says("RED       accepted");
    let tree = story.git(&format!("ls-tree -r --name-only {} tests", story.branch()));
    assert_eq!(tree, "tests/test_receipt.py\ntests/test_till.py");
}

#[test]
fn test_handles_missing_file_marker() {
    let story =
        red_only("\n[[red]]\nanswer = '''\n```python\ndef test_x():\n    assert False\n```\n'''\n");
    let said = story.redgreen(&format!("{RUN_SPEC} --max-retries 0")).exits(1);
    said.says("[red.no_tests]").says("## TASK FAILED");
    assert_eq!(
        story.git(&format!("rev-parse {}", story.branch())),
        story.git("rev-parse main"),
        "nothing is committed"
    );
}

#[test]
fn test_full_spec_to_tests_flow() {
    let told = spec_run();
    assert_eq!(
        told.subjects(),
        ["test: A till that adds up", "feat: A till that adds up", "refactor: no changes needed"]
    );
    assert_eq!(codes(&told.steps()[0]), ["red.missing_symbol", "red.missing_symbol"]);
    let note = told.note(&told.commits()[0]);
    assert_eq!((note["phase"].as_str(), note["nextPhase"].as_str()), (Some("RED"), Some("GREEN")));
    assert_eq!(note["run"]["brief"]["testCases"][2]["component"], "receipt");
    assert!(artifact(&told.story, "cycle-1/red.yaml").contains("spec_id: SPEC-20260102-0001"));
}

#[test]
fn test_tests_fail_without_implementation() {
    let told = spec_run();
    let results = json(&told.story, "cycle-1/red.json")["test_results"].clone();
    assert_eq!(
        (results["passed"].as_u64(), results["errors"].as_u64()),
        (Some(0), Some(2)),
        "{results}"
    );
    assert_eq!(told.steps()[0]["verdict"]["decision"], "accepted", "failing is what RED is for");
}

#[test]
fn test_tests_pass_with_stub_implementation() {
    let story = Story::pytest();
    let tests = &spec_run().story;
    for path in ["tests/test_till.py", "tests/test_receipt.py"] {
        story.file(path, &spec_run().file(path));
    }
    assert!(tests.root != story.root);
    story.redgreen("test").exits(1).says("No module named 'shop'");
    story
        .file("shop/__init__.py", "")
        .file("shop/receipt.py", "def receipt(till):\n    return 'total 5'\n");
    story.file(
        "shop/till.py",
        "class Till:\n    def __init__(self):\n        self.sum = 0\n\n    def add(self, price):\n        self.sum += price\n\n    \
         def total(self):\n        return self.sum\n",
    );
    story.redgreen("test").exits(0).says("3 passed");
}

/// A model calls `Write` where a script marks files in its answer. Both produce the same test
/// files.
#[test]
fn test_files_by_tool_writes() {
    let (told, server) = model_run();
    assert_eq!(tool_results(server, "red", 2).len(), 4);
    assert_eq!(told.file("tests/test_receipt.py"), spec_run().file("tests/test_receipt.py"));
}
