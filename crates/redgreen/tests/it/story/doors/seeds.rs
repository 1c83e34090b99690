//! The examples of the documents redgreen follows, each under its own name. What is one there and one here has one test;
//! what a model would do is played by the scripted agent.

use std::fs;

use super::{SPEC, SPEC_SCRIPT, TASK, TASK_SCRIPT, artifact, json, run_folder, story};
use crate::story::Story;

const RUN_SPEC: &str = "run --script @kata.toml --spec @spec.yaml";
const RUN_TASK: &str = "run --script @kata.toml --task @task.json";

/// A story with a design and a calculator's script.
fn design() -> Story {
    let story = Story::calculator();
    story
        .file("docs/lld.md", "# A calculator\n\nIt adds, subtracts and multiplies.\n")
        .file("src/util.py", "HALF = 0.5\n");
    story.commit("a design");
    story
}

const RUN_DESIGN: &str = "run --script @kata.toml --issue 87 --lld docs/lld.md --context src/util.py";

/// Nothing was made: no ref, no run, no worktree.
#[track_caller]
fn turned_down(story: &Story, line: &str, words: &str) {
    let (before, refs) = (story.belongings(), story.git("for-each-ref"));
    story.redgreen(line).exits(2).says(words);
    assert_eq!((story.belongings(), story.git("for-each-ref")), (before, refs));
    assert!(!story.root.join(".git/redgreen/runs").exists(), "a run was made");
}

#[test]
fn ts_01_safe_isolation() {
    let story = design();
    story.file("mine.txt", "not committed\n");
    let before = story.belongings();
    let said = story.redgreen(RUN_DESIGN).exits(3).says("Issue 87: A calculator");
    assert_eq!(story.belongings(), before, "the user's checkout was touched");
    assert!(
        said.stdout
            .trim_end()
            .ends_with("test-list.md, tests/test_add.py, tests/test_multiply.py, tests/test_subtract.py"),
        "{}",
        said.stdout
    );
    assert_eq!(story.git("worktree list --porcelain").matches("worktree ").count(), 1);
}

#[test]
fn ts_02_tdd_enforcement() {
    let passing = SPEC_SCRIPT.replacen(
        "[[red]]",
        "[[red]]\ndo = [{ write = \"tests/test_x.py\", text = \"def test_x():\\n    assert True\\n\" }]\n\n[[red]]",
        1,
    );
    let story = story("spec.yaml", SPEC, &passing);
    story.redgreen(RUN_SPEC).exits(3).says("RED       refused").says("red.passes");
}

#[test]
fn ts_03_secret_rejection() {
    let story = design();
    story.file(".env", "KEY=1\n");
    turned_down(&story, &format!("{RUN_DESIGN} .env"), ".env: its name is that of a secret");
}

#[test]
fn ts_04_retry_loop() {
    let wrong = TASK_SCRIPT.replace("+ 32", "+ 31");
    let (red, green) = wrong.split_once("[[green]]").unwrap();
    let again = |number: u32| green.replace("+ 31", &format!("+ {number}"));
    let story =
        story("task.json", TASK, &format!("{red}[[green]]{green}\n[[green]]{}\n[[green]]{}", again(30), again(29)));
    let said = story.redgreen(RUN_TASK).exits(1);
    let (_, last) = said.stdout.split_once("## TASK FAILED").unwrap_or_else(|| panic!("{}", said.stdout));
    assert!(last.contains("**Phase:** Green\n**Reason:** Max iterations (3) reached without passing tests"), "{last}");
    assert!(last.contains("**Action:** All changes auto-reverted"), "{last}");
    let file = last.split("See ").nth(1).unwrap().trim();
    assert!(fs::read_to_string(file).unwrap().contains("# GREEN failed"), "{file}");
    for number in 1..=2 {
        assert!(artifact(&story, &format!("cycle-1/green-fix-iteration-{number}.md")).contains("GREEN, iteration"));
    }
    assert!(
        !story.git(&format!("ls-tree -r --name-only {}", story.branch())).contains("temperature.py\n"),
        "not reverted"
    );
    assert_eq!(json(&story, "cycle-1/green.json")["all_tests_pass"], false);
}

#[test]
fn ts_05_path_traversal() {
    let story = design();
    fs::write(story.place("pass"), "x").unwrap();
    turned_down(&story, &format!("{RUN_DESIGN} ../pass"), "../pass: it resolves outside of the project root");
}

#[test]
fn ts_06_human_abort() {
    let story = design();
    let before = story.belongings();
    story.redgreen(RUN_DESIGN).exits(3);
    story.redgreen("abort").exits(0).says("nothing was merged");
    assert_eq!(story.belongings(), before);
    assert_eq!(story.git("for-each-ref refs/heads/redgreen"), "");
}

/// `test_generates_test_files_from_spec`, `test_writes_test_files_to_disk`, `test_runs_pytest_on_generated_tests`,
/// `test_reports_failing_tests`, `test_tests_fail_without_implementation`, `test_red_to_green_flow`,
/// `test_complex_implementation`, `test_creates_implementation_files`, `test_runs_tests_after_changes`,
/// `test_iterates_until_tests_pass`, `test_tracks_implementation_files`, `test_makes_progress_each_iteration`,
/// `test_handles_import_dependencies`
#[test]
fn test_full_spec_to_tests_flow() {
    let story = story("spec.yaml", SPEC, SPEC_SCRIPT);
    let said = story.redgreen(RUN_SPEC).exits(3);
    assert_eq!(
        story.log(&format!("main..{}", story.branch())),
        ["test: A till that adds up", "feat: A till that adds up", "refactor: no changes needed"]
    );
    let red = json(&story, "cycle-1/red.json");
    assert_eq!(red["spec_id"], "SPEC-20260102-0001");
    let files: Vec<&str> =
        red["test_files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(files, ["tests/test_receipt.py", "tests/test_till.py"]);
    assert_eq!(red["failing_tests"].as_array().unwrap().len(), 2, "both files miss their module: {red}");
    assert_eq!((red["test_results"]["passed"].as_u64(), red["test_results"]["errors"].as_u64()), (Some(0), Some(2)));
    assert!(red["test_results"]["exit_code"].is_i64() && red["test_results"]["output"].is_string());
    assert_eq!(red["components"][0]["interface"]["methods"][1]["signature"], "total() -> int");
    assert_eq!(red["acceptance_criteria"][0], "a shop can add up prices");
    let green = json(&story, "cycle-1/green.json");
    assert_eq!((green["passing_tests"].as_u64(), green["iterations"].as_u64()), (Some(3), Some(2)), "{green}");
    let code: Vec<&str> =
        green["implementation_files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    assert_eq!(code, ["shop/__init__.py", "shop/receipt.py", "shop/till.py"]);
    assert!(artifact(&story, "cycle-1/green.yaml").contains("all_tests_pass: true"));
    let (_, last) = said.stdout.split_once("## TASK COMPLETE").unwrap_or_else(|| panic!("{}", said.stdout));
    assert!(last.contains("Test results: 3/3 passed (100%)"), "{last}");
    assert!(last.contains("Green phase iterations: 2/20"), "{last}");
    let note: serde_json::Value =
        serde_json::from_str(&story.git(&format!("notes --ref=tdd-handoffs show {}", story.branch()))).unwrap();
    assert_eq!((note["nextPhase"].as_str(), note["completedTests"].as_array().unwrap().len()), (Some("COMPLETE"), 3));
    assert_eq!(note["run"]["brief"]["testCases"][2]["component"], "receipt");
    story.redgreen("approve").exits(0).says("merged");
}

#[test]
fn test_warns_on_unexpected_passes() {
    let calc = "  { write = \"tests/test_sure.py\", text = \"def test_sure():\\n    assert 1 == 1\\n\\n\\ndef test_more():\\n    assert 2 == 2\\n\\n\\ndef test_three():\\n    assert 3 == 3\\n\" },\n  { write = \"tests/test_one.py\", text = \"import importlib\\n\\n\\ndef test_one():\\n    till = importlib.import_module('shop.till')\\n    assert till.Till().total() == 0\\n\" },\n]\n";
    let (red, _) = SPEC_SCRIPT.split_once("  { write = \"tests/test_till.py\"").unwrap();
    let story = story("spec.yaml", SPEC, &format!("{red}{calc}"));
    // The script ends after RED: the run cannot go on, and what RED showed is kept.
    let said = story.redgreen(RUN_SPEC).exits(4);
    assert!(said.stdout.contains("## TASK BLOCKED\n\n**Blocker:**"), "{}", said.stdout);
    let red = json(&story, "cycle-1/red.json");
    assert_eq!(red["unexpected_passes"].as_array().unwrap().len(), 3, "{red}");
    assert!(
        red["warnings"].to_string().contains("75 % of the new tests pass before there is any code (3 of 4)"),
        "{red}"
    );
}

/// `test_extracts_single_file`, `test_extracts_multiple_files` and `test_handles_missing_file_marker` are rows of the
/// core's `brief::blocks`; here the real program writes such a file.
#[test]
fn tdd_task_schema_recognition() {
    let story = story("task.json", TASK, TASK_SCRIPT);
    let said = story.redgreen(RUN_TASK).exits(3);
    let red = json(&story, "cycle-1/red.json");
    assert_eq!(red["test_files"][0]["path"], "tests/test_temperature.py");
    let summary = artifact(&story, "tdd-summary.md");
    for words in [
        "# Task: IMPL-1 Temperatures",
        "- Test Cases Written: 2 (expected: 2)",
        "- Implementation Scope: to_fahrenheit in temperature.py",
        "- Test-Fix Iterations: 1/3",
        "- Final Test Results: 2/2 passed (100%)",
        "## Status: Complete (TDD Compliant)",
    ] {
        assert!(summary.contains(words), "{words}\n{summary}");
    }
    assert!(said.stdout.contains("## TASK COMPLETE"), "{}", said.stdout);
}

#[test]
fn red_phase_gate_test_count_matches() {
    let one =
        TASK_SCRIPT.replacen("\n\ndef test_boiling_water_is_212():\n    assert to_fahrenheit(100) == 212\n", "", 1);
    let (red, green) = one.split_once("[[green]]").unwrap();
    let (_, whole) = TASK_SCRIPT.split_once("[[red]]").unwrap();
    let (whole, _) = whole.split_once("[[green]]").unwrap();
    let story = story("task.json", TASK, &format!("{red}[[red]]{whole}[[green]]{green}"));
    story.redgreen(RUN_TASK).exits(3).says("2 tests are asked for, and 1 were written").says("red.wrong_count");
}

#[test]
fn green_phase_gate_coverage_meets_its_target() {
    if !has_coverage() {
        return;
    }
    let uncovered = TASK_SCRIPT.replace(
        "def to_fahrenheit(celsius):\n",
        "def to_fahrenheit(celsius):\n    if celsius > 1000:\n        print('hot')\n        print('very hot')\n        celsius = 1000\n",
    );
    let more = "\n[[red]]\ndo = [{ write = \"tests/test_hot.py\", text = \"\"\"\nfrom temperature import to_fahrenheit\n\n\ndef test_no_more_than_a_thousand():\n    assert to_fahrenheit(2000) == 1832\n\"\"\" }]\n";
    let (red, green) = uncovered.split_once("[[green]]").unwrap();
    let story = story("task.json", TASK, &format!("{red}{more}\n[[green]]{green}"));
    story.redgreen(RUN_TASK).exits(3).says("green.coverage").says("Coverage: 100% (target: >=85%)");
    assert_eq!(story.log(&format!("main..{}", story.branch())).len(), 3);
    assert!(story.git(&format!("show --stat {}~1", story.branch())).contains("tests/test_hot.py"));
}

#[test]
fn green_phase_gate_criteria_are_met() {
    let task = TASK.replace("python -m pytest -q tests\"", "python -m pytest -q tests\", \"sh check.sh\"");
    let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
    let checked = format!("{red}[[green]]{green}\n[[green]]\ndo = [{{ write = \"check.sh\", text = \"true\\n\" }}]\n");
    let story = story("task.json", &task, &checked);
    story.redgreen(RUN_TASK).exits(3).says("task.criteria");
}

#[test]
fn verify_size_limits() {
    let story = design();
    story.file("large_file.py", &"x = 1\n".repeat(20_000));
    turned_down(&story, &format!("{RUN_DESIGN} large_file.py"), "a file of more than 100 KB");
}

#[test]
fn verify_config_options_are_respected() {
    let story = design();
    story
        .file("tdd.properties", "bash.timeout=77\n")
        .file(".agentforge/config/stages/red.yaml", "stage: red\nvalidation:\n  max_pass_ratio: 0.5\n")
        .file(".agentforge/config/stages/green.yaml", "stage: green\nexecution:\n  max_iterations: 20\n");
    let story = story.env("TDD_MAX_RETRIES", "7");
    let config = story.redgreen("config --json").exits(0).json();
    let row = |key: &str| {
        let rows = config["settings"].as_array().unwrap();
        rows.iter()
            .find(|row| row["key"] == key)
            .map(|row| (row["value"].to_string(), row["origin"].to_string()))
            .unwrap()
    };
    assert_eq!(row("timeout.red"), ("77.0".to_owned(), "\"tdd.properties\"".to_owned()));
    assert_eq!(row("max-retries"), ("7".to_owned(), "\"TDD_MAX_RETRIES\"".to_owned()));
    assert_eq!(row("max-iterations").0, "20");
    assert_eq!(row("test.max-pass-ratio").0, "0.5");
    assert_eq!(row("backoff"), ("0.0".to_owned(), "\"redgreen.toml\"".to_owned()));
    assert_eq!(row("timeout.turn").1, "\"default\"");
}

#[test]
fn commands_of_a_project_run_only_once_they_are_trusted() {
    let story = design().env("REDGREEN_TRUST", "0");
    story.file("redgreen.toml", "backoff = 0.0\n[worktree]\nsetup = [\"touch set-up\"]\n");
    story.commit("a command");
    turned_down(&story, RUN_DESIGN, "worktree.setup: touch set-up");
    story.redgreen("test").exits(2).says("redgreen trust");
    story.redgreen("trust").exits(0).says("trusted");
    story.redgreen(RUN_DESIGN).exits(3);
    story.redgreen("trust --revoke").exits(0);
    story.redgreen("approve").exits(2).says("have not agreed");
    story.redgreen("approve --trust").exits(0);
    assert!(run_folder(&story).join("artifacts/tdd-summary.md").is_file());
}

#[test]
fn what_comes_out_is_as_the_schemas_say() {
    let story = story("spec.yaml", SPEC, SPEC_SCRIPT);
    let schema = |name: &str| {
        let text = story.redgreen(&format!("schema {name}")).exits(0).stdout;
        jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
    };
    let check = |name: &str, value: &serde_json::Value| {
        let faults: Vec<String> =
            schema(name).iter_errors(value).map(|error| format!("{} {error}", error.instance_path)).collect();
        assert_eq!(faults, Vec::<String>::new(), "{name}: {value}");
    };
    check("task", &serde_json::from_str(TASK).unwrap());
    let said = story.redgreen(&format!("--json {RUN_SPEC}")).exits(3);
    let lines: Vec<&str> = said.stdout.lines().collect();
    for line in lines.iter().take(lines.len() - 1) {
        check("event", &serde_json::from_str(line).unwrap());
    }
    for commit in story.git(&format!("rev-list main..{}", story.branch())).lines() {
        let note = story.git(&format!("notes --ref=tdd-handoffs show {commit}"));
        check("handoff", &serde_json::from_str(&note).unwrap());
    }
    let brief = story.redgreen("--json brief @spec.yaml").exits(0).json();
    assert_eq!(brief["brief"]["testCases"].as_array().unwrap().len(), 3);
    story.redgreen("brief @spec.yaml").exits(0).says("TC003: a receipt names the total").says("redgreen run --spec");
}

/// The tool is installed by scripts/test; without it there is nothing to measure with.
fn has_coverage() -> bool {
    let found =
        Story::bare_folder().command("python").args(["-c", "import coverage"]).output().unwrap().status.success();
    #[expect(clippy::print_stderr, reason = "a test that is left out says so")]
    if !found {
        eprintln!("skipped: python has no coverage; scripts/test installs it");
    }
    found
}
