//! The TDD task: its schema, its quality gates, its errors, and the final block of the output.

use std::sync::OnceLock;

use super::{Parameters, RUN_TASK, TASK, TASK_SCRIPT, artifact, codes, json, names, task_run};
use crate::skip::skipped;
use crate::story::Story;
use crate::story::doors::{story, turned_down};
use crate::story::scripts::turn;

/// RED fails in four ways before it is right, GREEN in one, and both refactorings make things
/// worse.
fn troubled() -> &'static Parameters {
    static TOLD: OnceLock<Parameters> = OnceLock::new();
    TOLD.get_or_init(|| {
        let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
        let file = |text: &str| turn("red", &format!("{{ write = \"tests/test_temperature.py\", text = {text:?} }}"));
        let script = [
            "version = 1\nagent = \"physicist\"\n",
            &file("def test_freezing_water_is_32(:\n"),
            &file("def test_freezing():\n    assert 0 == 0\n\n\ndef test_boiling():\n    assert 1 == 1\n"),
            &turn("red", "{ delete = \"tests/test_temperature.py\" }"),
            &file("from temperature import to_fahrenheit\n\n\ndef test_one():\n    assert to_fahrenheit(0) == 32\n"),
            red.split_once("agent = \"physicist\"\n").unwrap().1,
            "[[green]]",
            &green.replace("+ 32", "+ 31"),
            "\n[[diagnosis]]\nanswer = \"water freezes at 32\"\n[[green]]",
            green,
            &turn("refactor", "{ edit = \"temperature.py\", old = \"+ 32\", new = \"+ 33\" }"),
            &turn("refactor", "{ write = \"temperature.py\", text = \"def to_fahrenheit(:\\n\" }"),
        ];
        let story = Story::shared_pytest();
        story.script("task.json", TASK).script("kata.toml", &script.concat());
        Parameters::new(story, &format!("{RUN_TASK} --max-retries 9"), 3)
    })
}

/// The reason codes of every verdict on a phase.
fn verdicts(phase: &str) -> Vec<Vec<String>> {
    let steps = troubled().steps().into_iter().filter(|step| step["phase"] == phase);
    steps.map(|step| codes(&step).into_iter().map(str::to_owned).collect()).collect()
}

#[test]
fn tdd_task_json_schema_recognition() {
    let story = Story::pytest();
    story.script("task.json", TASK);
    let brief = story.redgreen("--json brief @task.json").exits(0).json()["brief"].clone();
    assert_eq!(
        (brief["door"].as_str(), brief["maxIterations"].as_u64()),
        (Some("task"), Some(3)),
        "{brief}"
    );
    assert_eq!(brief["testCount"], 2);
    assert_eq!(brief["expectedCoverage"], ">=85%");
    assert_eq!(brief["execution"]["id"], "S1-IMPL-1");
    assert_eq!(brief["phases"].as_array().unwrap().len(), 3);
    assert_eq!(names(&brief["focusPaths"]), ["temperature.py", "tests"]);
    assert_eq!(
        names(&brief["convergence"]),
        ["python -m pytest -q tests"],
        "the other criterion is prose"
    );
}

mod step_1_3_required_checks {
    use super::*;

    #[track_caller]
    fn fault(old: &str, new: &str, words: &str) {
        let text = TASK.replacen(old, new, 1);
        assert_ne!(text, TASK, "{old:?} is not in the task");
        turned_down(&story("task.json", &text, TASK_SCRIPT), RUN_TASK, words);
    }

    #[test]
    fn meta_tdd_workflow_is_true() {
        fault(
            "\"tdd_workflow\": true",
            "\"tdd_workflow\": false",
            "$.meta.tdd_workflow: expected true",
        );
    }

    #[test]
    fn implementation_has_exactly_3_object_entries_with_tdd_phase() {
        let line = "    { \"step\": \"3\", \"description\": \"Refactor Phase: Apply refactorings\", \"tdd_phase\": \"refactor\", \"actions\": [\"Refactor code\"] }";
        fault(
            line,
            "    \"look around\"",
            "$.implementation: expected exactly 3 objects with tdd_phase red, green and refactor, found 2; there is no refactor",
        );
    }

    #[test]
    fn each_entry_has_tdd_phase_field() {
        fault(
            "\"tdd_phase\": \"green\"",
            "\"tdd_phase\": \"blue\"",
            "expected one of red, green, refactor, found \"blue\"",
        );
    }

    #[test]
    fn convergence_criteria_includes_test_command() {
        fault("python -m pytest -q tests", "be good", "expected a test command among the criteria");
    }

    #[test]
    fn green_phase_has_actions_or_description() {
        let line = "\"description\": \"Green Phase: Implement 1 function\", \"tdd_phase\": \"green\", \"actions\": [\"Implement functions\"],";
        fault(line, "\"tdd_phase\": \"green\",", "expected actions or a description");
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        let text = TASK
            .replace("\"tdd_workflow\": true", "\"tdd_workflow\": false")
            .replace(">=85%", "high");
        let story =
            story("task.json", &text.replace("python -m pytest -q tests", "be good"), TASK_SCRIPT);
        let said = story.redgreen(RUN_TASK).exits(2);
        for words in [
            "$.meta.tdd_workflow",
            "$.meta.tdd_cycles[0].expected_coverage",
            "$.convergence.criteria",
        ] {
            assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
        }
    }
}

mod red_phase_quality_gates {
    use super::*;

    #[test]
    fn all_specified_test_cases_written() {
        assert_eq!(json(&task_run().story, "cycle-1/red.json")["test_count"], 2);
        assert_eq!(verdicts("RED")[3], ["red.wrong_count"]);
        troubled().shows("2 tests are required, but 1 were written");
    }

    #[test]
    fn test_files_exist_in_expected_locations() {
        let red = json(&task_run().story, "cycle-1/red.json");
        let focus = ["tests/"];
        for file in red["test_files"].as_array().unwrap() {
            assert!(
                focus.iter().any(|folder| file["path"].as_str().unwrap().starts_with(folder)),
                "{file}"
            );
        }
        assert!(
            task_run().file("tests/test_temperature.py").contains("def test_boiling_water_is_212")
        );
    }

    #[test]
    fn tests_execute_without_syntax_errors() {
        assert_eq!(verdicts("RED")[0], ["red.syntax"]);
    }

    #[test]
    fn tests_fail_with_clear_error_messages() {
        let red = json(&task_run().story, "cycle-1/red.json");
        let told = red["test_results"]["test_details"].to_string()
            + &red["test_results"]["output"].to_string();
        assert!(told.contains("No module named 'temperature'"), "{red}");
        task_run().shows("ModuleNotFoundError: No module named 'temperature' [red.missing_symbol]");
    }
}

mod green_phase_quality_gates {
    use super::*;

    #[test]
    fn all_tests_pass_100_percent_pass_rate() {
        for told in [task_run(), troubled()] {
            assert_eq!(json(&told.story, "cycle-1/green.json")["all_tests_pass"], true);
            told.shows("Test results: 2/2 passed (100%)");
        }
    }

    #[test]
    fn coverage_meets_expected_coverage_target() {
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
        story
            .redgreen(RUN_TASK)
            .exits(3)
            .says("green.coverage")
            .says("Coverage: 100% (target: >=85%)");
        assert_eq!(story.log(&format!("main..{}", story.branch())).len(), 3);
        assert!(
            story.git(&format!("show --stat {}~1", story.branch())).contains("tests/test_hot.py")
        );
    }

    #[test]
    fn implementation_follows_modification_points_specification() {
        let points = "\"modification_points\": [\"temperature.py:to_fahrenheit\", \"scales.py\"], \"focus_paths\"";
        let unmet = story("task.json", &TASK.replacen("\"focus_paths\"", points, 1), TASK_SCRIPT);
        unmet.redgreen(RUN_TASK).exits(4).says("scales.py").says("[task.modification_point]");
        let green = json(&task_run().story, "cycle-1/green.json");
        assert_eq!(names(&green["implementation_files"]), ["temperature.py"], "{green}");
        let summary = artifact(&task_run().story, "tdd-summary.md");
        assert!(
            summary.contains("- Implementation Scope: to_fahrenheit in temperature.py"),
            "{summary}"
        );
    }

    /// The commands of `convergence.criteria` must succeed too.
    #[test]
    fn code_compiles_and_runs_without_errors() {
        let task = TASK
            .replace("python -m pytest -q tests\"", "python -m pytest -q tests\", \"sh check.sh\"");
        let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
        let checked = format!(
            "{red}[[green]]{green}\n[[green]]\ndo = [{{ write = \"check.sh\", text = \"true\\n\" }}]\n"
        );
        let story = story("task.json", &task, &checked);
        story.redgreen(RUN_TASK).exits(3).says("task.criteria");
    }

    #[test]
    fn fix_iteration_count_logged() {
        assert!(
            artifact(&task_run().story, "tdd-summary.md").contains("- Test-Fix Iterations: 1/3")
        );
        troubled().shows("Green phase iterations: 2/3");
        let log = artifact(&troubled().story, "cycle-1/green-fix-iteration-1.md");
        assert!(log.contains("water freezes at 32") && log.contains("assert 31 == 32"), "{log}");
    }
}

mod refactor_phase_quality_gates {
    use super::*;

    #[test]
    fn all_refactorings_applied_as_specified() {
        let told = task_run();
        assert_eq!(told.subjects().last().map(String::as_str), Some("refactor: Temperatures"));
        assert!(told.file("temperature.py").contains("return 32 + celsius * 9 // 5"));
    }

    #[test]
    fn all_tests_still_pass_no_regressions() {
        assert_eq!(verdicts("REFACTOR")[0], ["refactor.regression"; 2]);
        assert!(troubled().file("temperature.py").contains("+ 32"), "the green code stays");
        let steps = task_run().steps();
        assert!(steps.last().unwrap()["ran"].as_str().unwrap().contains("2 passed (exit 0"));
    }

    /// The project's linters measure complexity.
    #[test]
    fn code_complexity_reduced_if_measurable() {
        let worse = turn(
            "refactor",
            "{ edit = \"temperature.py\", old = \"return \", new = \"return 0 + \" }",
        );
        let story = story("task.json", TASK, &format!("{TASK_SCRIPT}{worse}"));
        story.file(
            "redgreen.toml",
            "backoff = 0.0\n[lint]\ncommands = [\"! grep -n '0 +' temperature.py\"]\n",
        );
        story.commit("a linter");
        story.redgreen(RUN_TASK).exits(3).says("2:    return 0 + celsius").says("reverted");
        assert!(!story.git(&format!("show {}:temperature.py", story.branch())).contains("0 +"));
    }

    #[test]
    fn code_readability_improved() {
        let told = task_run();
        let diff = told.story.git(&format!("show --format= {}", told.commits()[2]));
        assert!(
            diff.contains("-    return celsius * 9 // 5 + 32") && !diff.contains("tests/"),
            "{diff}"
        );
        let summary = artifact(&told.story, "tdd-summary.md");
        assert!(summary.contains("- Regression Test: "), "{summary}");
    }
}

mod tdd_specific_error_handling {
    use super::*;

    #[test]
    fn red_tests_pass_immediately() {
        assert_eq!(verdicts("RED")[1][0], "red.passes");
        troubled().shows("already passes");
    }

    #[test]
    fn red_test_syntax_errors_fix_and_retry() {
        assert_eq!(verdicts("RED").len(), 5, "{:?}", verdicts("RED"));
        assert_eq!(verdicts("RED")[4], ["red.missing_symbol"]);
        let note = troubled().note(&troubled().commits()[0]);
        assert_eq!(note["retryCount"], 4, "{note}");
    }

    #[test]
    fn red_missing_test_files() {
        assert_eq!(verdicts("RED")[2], ["red.no_tests"]);
    }

    #[test]
    fn green_max_iterations_reached() {
        let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
        let task = TASK.replace("\"max_iterations\": 3", "\"max_iterations\": 1");
        let story =
            story("task.json", &task, &format!("{red}[[green]]{}", green.replace("+ 32", "- 32")));
        story.redgreen(RUN_TASK).exits(1).says("Max iterations (1) reached without passing tests");
        assert!(artifact(&story, "cycle-1/green-phase-failure.md").contains("# GREEN failed"));
        assert_eq!(
            story.git(&format!("ls-tree --name-only {} temperature.py", story.branch())),
            ""
        );
    }

    #[test]
    fn green_tests_never_run() {
        let story = story("task.json", TASK, TASK_SCRIPT);
        story.file("pytest.ini", "[pytest]\naddopts = --no-such-option\n");
        story.commit("a suite that does not run");
        story
            .redgreen(RUN_TASK)
            .exits(4)
            .says("the test runner could not start")
            .says("## TASK BLOCKED");
    }

    #[test]
    fn green_coverage_tools_unavailable() {
        let story = story("task.json", TASK, TASK_SCRIPT);
        story.file("coverage.py", "raise ImportError('not here')\n");
        story.commit("no tool");
        let said = story.redgreen(RUN_TASK).exits(3).says("Coverage: not measured (target: >=85%)");
        assert!(said.stderr.contains("only the tests decide"), "{}", said.stderr);
    }

    #[test]
    fn refactor_regression_detected() {
        assert_eq!(verdicts("REFACTOR")[0][0], "refactor.regression");
        assert_eq!(troubled().subjects()[2], "refactor: given up, the green code stays");
    }

    #[test]
    fn refactor_tests_fail_to_run() {
        let last = &verdicts("REFACTOR")[1];
        assert!(last.iter().all(|code| code.starts_with("refactor.")), "{last:?}");
        assert_eq!(
            troubled().file("temperature.py"),
            "def to_fahrenheit(celsius):\n    return celsius * 9 // 5 + 32"
        );
    }
}

mod return_protocol {
    use super::*;

    #[track_caller]
    fn ends_with(stdout: &str, title: &str, fields: &[&str]) {
        let (_, last) = stdout.split_once(title).unwrap_or_else(|| panic!("{stdout}"));
        let mut rest = last;
        for field in fields {
            let at =
                rest.find(field).unwrap_or_else(|| panic!("{field} is not in its place in {last}"));
            rest = &rest[at..];
        }
        assert!(!last.contains("\n## "), "the block is the last thing: {last}");
    }

    #[test]
    fn task_complete() {
        let fields = [
            "TDD cycle completed: Red → Green → Refactor",
            "Test results: 2/2 passed (100%)",
            "Coverage: ",
            "(target: >=85%)",
            "Green phase iterations: 1/3",
            "Files modified: temperature.py, tests/test_temperature.py",
        ];
        ends_with(&task_run().said.stdout, "## TASK COMPLETE", &fields);
        let summary = artifact(&task_run().story, "tdd-summary.md");
        for words in [
            "# Task: IMPL-1 Temperatures",
            "- Test Cases Written: 2 (expected: 2)",
            "## Status: Complete (TDD Compliant)",
        ] {
            assert!(summary.contains(words), "{words}\n{summary}");
        }
    }

    #[test]
    fn task_blocked() {
        let (red, _) = TASK_SCRIPT.split_once("[[green]]").unwrap();
        let story = story("task.json", TASK, red);
        let said = story.redgreen(RUN_TASK).exits(4);
        ends_with(
            &said.stdout,
            "## TASK BLOCKED",
            &["**Blocker:** ", "**Need:** ", "**Attempted:** ", "**Phase:** green"],
        );
    }

    #[test]
    fn task_failed() {
        let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
        let story =
            story("task.json", TASK, &format!("{red}[[green]]{}", green.replace("+ 32", "")));
        let said = story.redgreen(&format!("{RUN_TASK} --max-iterations 1")).exits(1);
        let fields = [
            "**Phase:** Green",
            "**Reason:** Max iterations (1) reached without passing tests",
            "**Action:** All changes auto-reverted",
            "**Diagnostics:** See ",
            "green-phase-failure.md",
        ];
        ends_with(&said.stdout, "## TASK FAILED", &fields);
    }
}

/// scripts/test installs coverage. Without it, the test cannot measure anything.
fn has_coverage() -> bool {
    let found = Story::bare_folder()
        .command("python")
        .args(["-c", "import coverage"])
        .output()
        .unwrap()
        .status
        .success();
    if !found {
        skipped("python has no coverage");
    }
    found
}
