//! The RED and GREEN stages beyond their checklists: test cases by id, the data that artifacts pass
//! on, GREEN from a RED artifact, and the settings of the stage files.

use serde_json::Value;

use super::{
    RUN_SPEC, RUN_TASK, SPEC, SPEC_SCRIPT, TASK, TASK_SCRIPT, artifact, json, names, spec_run,
};
use crate::server::{Server, Turn, Wire};
use crate::story::Story;
use crate::story::built_in::served;
use crate::story::doors::{story, turned_down};
use crate::story::scripts::turn;

#[test]
fn every_test_case_is_covered_by_its_id_and_the_mapping_is_in_the_artifact() {
    let red = json(&spec_run().story, "cycle-1/red.json");
    let cases: Vec<(&str, Vec<&str>)> = red["test_cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| (case["id"].as_str().unwrap(), names(&case["tests"])))
        .collect();
    assert_eq!(
        cases,
        [
            ("TC001", vec!["tests/test_till.py::test_an_empty_till_has_nothing_to_pay"]),
            ("TC002", vec!["tests/test_till.py::test_tc002_prices_are_added"]),
            ("TC003", vec!["tests/test_receipt.py::test_a_receipt_names_the_total"]),
        ],
        "by a comment, by its name, by its docstring"
    );
    let yaml = artifact(&spec_run().story, "cycle-1/red.yaml");
    assert!(yaml.contains("id: TC002") && yaml.contains("test_tc002_prices_are_added"), "{yaml}");
}

#[test]
fn a_test_case_without_a_test_is_refused_by_its_id_and_more_tests_are_welcome() {
    // Three tests for three cases, but no test names TC002.
    let (red, rest) = SPEC_SCRIPT.split_once("[[green]]").unwrap();
    let unnamed = red.replace("test_tc002_prices_are_added", "test_prices_are_added");
    let more = red.split_once("[[red]]").unwrap().1.replace(
        "def test_tc002_prices_are_added():",
        "def test_nothing_costs_nothing():\n    till = Till()\n    till.add(0)\n    assert till.total() == 0\n\n\ndef test_tc002_prices_are_added():",
    );
    let story = story("spec.yaml", SPEC, &format!("{unnamed}[[red]]{more}[[green]]{rest}"));
    let said = story
        .redgreen(RUN_SPEC)
        .exits(3)
        .says("[red.case_missing]")
        .says("covers TC002: prices are added;");
    assert!(!said.stderr.contains("wrong_count"), "{}", said.stderr);
    assert_eq!(
        json(&story, "cycle-1/red.json")["test_count"],
        4,
        "an edge case more than asked for"
    );
}

#[test]
fn the_request_and_the_criteria_are_carried_on_in_their_own_shape() {
    let spec = SPEC.replacen("title:", "request_id: REQ-20260102-77\ntitle:", 1).replacen(
        "  - criterion: a shop can add up prices\n",
        "  - criterion: a shop can add up prices\n    priority: must\n    weight: 3\n  - it is quick\n",
        1,
    );
    let story = story("spec.yaml", &spec, SPEC_SCRIPT);
    story.redgreen(RUN_SPEC).exits(3);
    let red = json(&story, "cycle-1/red.json");
    assert_eq!(red["request_id"], "REQ-20260102-77");
    assert_eq!(json(&story, "cycle-1/green.json")["request_id"], "REQ-20260102-77");
    assert_eq!(
        red["acceptance_criteria"][0],
        serde_json::json!({ "criterion": "a shop can add up prices", "priority": "must", "weight": 3 })
    );
    assert_eq!(red["acceptance_criteria"][1], "it is quick");
    assert!(artifact(&story, "cycle-1/red.yaml").contains("priority: must"));
}

#[test]
fn tests_of_a_module_that_does_not_import_are_named_and_counted() {
    let red = json(&spec_run().story, "cycle-1/red.json");
    assert_eq!(
        names(&red["failing_tests"]),
        [
            "tests/test_receipt.py::test_a_receipt_names_the_total",
            "tests/test_till.py::test_an_empty_till_has_nothing_to_pay",
            "tests/test_till.py::test_tc002_prices_are_added"
        ]
    );
    // pytest reports an exception in the test body as a failure, and one in a fixture as an error.
    let mixed = "import importlib\nimport pytest\n\n\n@pytest.fixture\ndef till():\n    return importlib.import_module('shop.till').Till()\n\n\n\
                 def test_tc001(till):\n    assert till.total() == 0\n\n\ndef test_tc002():\n    assert importlib.import_module('shop.till').Till().total() == 0\n\n\n\
                 def test_tc003():\n    assert importlib.import_module('shop.receipt').receipt(None) == ''\n";
    let script = format!(
        "version = 1\n{}",
        turn("red", &format!("{{ write = \"tests/test_shop.py\", text = {mixed:?} }}"))
    );
    let story = story("spec.yaml", SPEC, &script);
    story.redgreen(RUN_SPEC).exits(4);
    let results = json(&story, "cycle-1/red.json")["test_results"].clone();
    assert_eq!(
        (results["failed"].as_u64(), results["errors"].as_u64()),
        (Some(2), Some(1)),
        "{results}"
    );
    assert!(results["output"].as_str().unwrap().contains("2 failed, 1 error"), "{results}");
}

#[test]
fn max_iterations_reached_is_the_error_of_the_green_artifact() {
    let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
    let wrong =
        |number: u32| format!("[[green]]{}\n", green.replace("+ 32", &format!("+ {number}")));
    let task = TASK.replace("\"max_iterations\": 3", "\"max_iterations\": 2");
    let story = story("task.json", &task, &format!("{red}{}{}", wrong(1), wrong(2)));
    story.redgreen(RUN_TASK).exits(1);
    let green = json(&story, "cycle-1/green.json");
    assert_eq!(green["error"], "Max iterations (2) reached");
    assert!(green["reasons"][0].as_str().unwrap().contains("assert 2 == 32"), "{green}");
    assert!(artifact(&story, "cycle-1/green.yaml").contains("error: Max iterations (2) reached"));
}

/// Returns the prompt and the standard error of a run. Only the prompt matters, so the model writes
/// nothing.
fn told(spec: &str, prepare: impl Fn(&Story)) -> (String, Value) {
    let server = Server::answering(|_| Turn::say("I only look."));
    let story = served(Story::pytest(), &server, Wire::Anthropic);
    story.script("spec.yaml", spec);
    prepare(&story);
    story.commit("settings");
    let said = story.redgreen("run --spec @spec.yaml --max-retries 0");
    let requests = server.requests();
    assert!(!requests.is_empty(), "{}", said.stderr);
    (
        format!("{}\n{}", requests[0].body["system"], requests[0].body["messages"]),
        Value::String(said.stderr),
    )
}

#[test]
fn the_prompt_of_the_test_agent_names_the_id_fixtures_and_mocks() {
    let (prompt, _) = told(SPEC, |_| {});
    for words in [
        "Specification SPEC-20260102-0001",
        "by its id",
        "more tests of edge cases are welcome",
        "fixtures for set-up",
        "docstring",
        "Mock what lies outside the project, never the component under test",
        "given a new till",
    ] {
        assert!(prompt.contains(words), "{words:?} is not in {prompt}");
    }
}

const RED_STAGE: &str = "stage: red\ntest_framework: pytest\ntest_directory: tests\ngeneration:\n  include_edge_cases: true\n  \
                         include_error_cases: true\n  tests_per_component: 5-10\nvalidation:\n  allow_some_passes: true\n  \
                         max_pass_ratio: 0.3\nexecution:\n  timeout_seconds: 300\n  parallel: false\n  collect_coverage: false\n";
const GREEN_STAGE: &str = "stage: green\nexecution:\n  max_iterations: 20\n  test_timeout_seconds: 120\n  \
                           continue_on_partial_success: true\nimplementation:\n  style: minimal\n  include_docstrings: true\n  \
                           include_type_hints: true\ntesting:\n  run_after_each_file: true\n  run_specific_test_first: true\n  \
                           full_suite_on_completion: true\n";

fn stages<'s>(story: &'s Story, red: &str, green: &str) -> &'s Story {
    story
        .file(".agentforge/config/stages/red.yaml", red)
        .file(".agentforge/config/stages/green.yaml", green)
}

#[test]
fn every_setting_of_the_stage_files_is_used_or_reported() {
    let story = story("spec.yaml", SPEC, SPEC_SCRIPT);
    stages(&story, RED_STAGE, GREEN_STAGE);
    story.commit("stages as in the documents");
    let said = story.redgreen(RUN_SPEC).exits(3);
    assert!(!said.stderr.contains("not used"), "{}", said.stderr);
    let config = story.redgreen("--json config").exits(0).json();
    assert_eq!(config["unused"], serde_json::json!([]), "{config}");
    let note: Value = serde_json::from_str(
        &story.git(&format!("notes --ref=tdd-handoffs show {}", story.branch())),
    )
    .unwrap();
    let asked = note["run"]["brief"]["instructions"].to_string();
    for words in [
        "edge cases and errors",
        "5-10 tests for each component",
        "minimal code",
        "docstring",
        "type hints",
        "after each file",
        "the one test you work on first",
    ] {
        assert!(asked.contains(words), "{words:?} is not in {asked}");
    }
    // The guideline is 5 to 10 tests for each of the 2 components. 3 tests give a warning, not a
    // refusal.
    let red = json(&story, "cycle-1/red.json");
    assert!(
        red["warnings"]
            .to_string()
            .contains("5 to 10 tests for each of 2 components, but 3 were written"),
        "{red}"
    );
}

#[test]
fn unsupported_settings_are_reported_once() {
    let story = story("spec.yaml", &SPEC.replacen("title:", "mood: good\ntitle:", 1), SPEC_SCRIPT);
    let red = RED_STAGE
        .replace("parallel: false", "parallel: true")
        .replace("test_framework: pytest", "test_framework: jest");
    stages(
        &story,
        &red,
        &GREEN_STAGE.replace("full_suite_on_completion: true", "full_suite_on_completion: false"),
    );
    story.file("tdd.properties", "bash.timeout=120\ncolour=green\n");
    story.commit("wishes");
    let said = story.redgreen(RUN_SPEC).exits(3);
    for words in [
        "unused keys in the file: mood",
        "unused keys in .agentforge/config/stages/red.yaml: execution.parallel",
        "unused keys in .agentforge/config/stages/green.yaml: testing.full_suite_on_completion",
        "unused keys in tdd.properties: colour",
        "the settings require tests for jest; pytest runs the tests here",
    ] {
        assert_eq!(said.stderr.matches(words).count(), 1, "{words:?}: {}", said.stderr);
    }
    story.redgreen("config").exits(0).says("colour").says("not used  (tdd.properties)");
}

#[test]
fn settings_can_forbid_passing_tests_and_tests_elsewhere_cause_a_warning() {
    let sure = "def test_sure():\n    # TC001\n    assert 1 == 1\n";
    let other = "import importlib\n\n\ndef test_tc002_tc003():\n    assert importlib.import_module('shop.till').Till().total() == 0\n\n\n\
                 def test_more():\n    assert importlib.import_module('shop.till').Till().total() == 0\n";
    let script = format!(
        "version = 1\n{}",
        turn(
            "red",
            &format!(
                "{{ write = \"checks/test_sure.py\", text = {sure:?} }}, {{ write = \"checks/test_other.py\", text = {other:?} }}"
            )
        )
    );
    let story = story("spec.yaml", SPEC, &script);
    stages(
        &story,
        &RED_STAGE.replace("allow_some_passes: true", "allow_some_passes: false"),
        GREEN_STAGE,
    );
    story.commit("no passes");
    let said = story
        .redgreen(&format!("{RUN_SPEC} --max-retries 0"))
        .exits(1)
        .says("the settings allow none [red.passes]");
    assert!(
        said.stderr.contains("checks/test_sure.py::test_sure pass before any code is written"),
        "{}",
        said.stderr
    );
    let red = json(&story, "cycle-1/red.json");
    assert!(
        red["warnings"]
            .to_string()
            .contains("tests below tests, but these are elsewhere: checks/test_other.py"),
        "{red}"
    );
}

#[test]
fn without_partial_success_each_try_begins_at_the_tests() {
    let look =
        "\n[[green]]\ndo = [{ shell = \"ls shop > \\\"$HOME/left\\\" 2>/dev/null || true\" }]\n";
    let (before, last) = SPEC_SCRIPT.rsplit_once("[[green]]").unwrap();
    let script = format!("{before}{look}\n[[diagnosis]]\nanswer = \"look\"\n\n[[green]]{last}");
    let left = |keep: bool| {
        let story = story("spec.yaml", SPEC, &script);
        stages(
            &story,
            RED_STAGE,
            &GREEN_STAGE.replace("success: true", &format!("success: {keep}")),
        );
        story.commit("stages");
        story.redgreen(&format!("{RUN_SPEC} --max-iterations 3"));
        std::fs::read_to_string(story.place("home/left")).unwrap()
    };
    assert_eq!(left(false), "", "the till of the first try is gone");
    assert_eq!(left(true), "__init__.py\ntill.py\n");
}

#[test]
fn agents_are_asked_to_use_registered_markers() {
    let (prompt, _) = told(SPEC, |story| {
        story.file(
            "pytest.ini",
            "[pytest]\nmarkers =\n    red: Tests from RED\n    unit: Unit tests\n    integration: Integration tests\n",
        );
    });
    for words in [
        "every new test with `@pytest.mark.red`",
        "`@pytest.mark.unit`",
        "`@pytest.mark.integration`",
    ] {
        assert!(prompt.contains(words), "{words:?} is not in {prompt}");
    }
    assert!(!told(SPEC, |_| {}).0.contains("pytest.mark"));
}

#[test]
fn green_starts_from_a_red_artifact() {
    let yaml = artifact(&spec_run().story, "cycle-1/red.yaml");
    let (before, green) = SPEC_SCRIPT.split_once("[[green]]").unwrap();
    let header = before.split("[[red]]").next().unwrap();
    let story = Story::pytest();
    story.script("red.yaml", &yaml).script("kata.toml", &format!("{header}[[green]]{green}"));
    let said = story
        .redgreen("run --script @kata.toml --red @red.yaml")
        .exits(3)
        .says("RED       accepted");
    assert!(said.stdout.contains("## TASK COMPLETE"), "{}", said.stdout);
    let subjects = story.log(&format!("main..{}", story.branch()));
    assert_eq!(
        subjects.iter().map(|line| line.split(':').next().unwrap()).collect::<Vec<_>>(),
        ["test", "feat", "refactor"]
    );
    let carried = json(&story, "cycle-1/green.json");
    assert_eq!(
        (carried["spec_id"].as_str(), carried["components"][0]["name"].as_str()),
        (Some("SPEC-20260102-0001"), Some("Till"))
    );
}

#[test]
fn green_starts_at_once_if_the_tests_of_the_artifact_are_committed() {
    let shared = spec_run();
    let story = Story::pytest();
    for path in ["tests/test_till.py", "tests/test_receipt.py"] {
        story.file(
            path,
            &format!("{}\n", shared.story.git(&format!("show {}:{path}", shared.commits()[0]))),
        );
    }
    story.commit("test: by somebody else's RED");
    let (before, green) = SPEC_SCRIPT.split_once("[[green]]").unwrap();
    let header = before.split("[[red]]").next().unwrap();
    let red = "{\"spec_id\": \"SPEC-7\", \"test_files\": [\"tests/test_till.py\", \"tests/test_receipt.py\"], \"failing_tests\": [\"test_a\"]}";
    story
        .script("red.json", red)
        .script("spec.yaml", SPEC)
        .script("kata.toml", &format!("{header}[[green]]{green}"));
    story.redgreen("run --script @kata.toml --red @red.json --spec @spec.yaml").exits(3);
    assert_eq!(
        story.log(&format!("main..{}", story.branch())),
        ["feat: A till that adds up", "refactor: no changes needed"]
    );
    let faulty = Story::pytest();
    faulty.script("red.json", "{\"spec_id\": \"S\"}").script("kata.toml", SPEC_SCRIPT);
    turned_down(&faulty, "run --script @kata.toml --red @red.json", "$.test_files: is missing");
    turned_down(&faulty, "run --script @kata.toml --red @red.json", "$.failing_tests: is missing");
}
