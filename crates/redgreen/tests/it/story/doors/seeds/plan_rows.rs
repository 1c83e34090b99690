//! Parts of a TDD task beyond its gates: redgreen reads every field of a plan, passes it on, checks
//! it if possible, and reports the result where the user's tools expect it.

use std::fs;

use super::{RUN_TASK, TASK, TASK_SCRIPT, artifact, json, task_run};
use crate::server::{Server, Turn, Wire};
use crate::story::Story;
use crate::story::built_in::served;
use crate::story::doors::{story, turned_down};
use crate::story::scripts::turn;

/// A task that uses every field of a plan.
fn rich() -> String {
    TASK.replacen(
        "\"pre_analysis\": [{ \"step\": \"look\", \"action\": \"read the existing tests\" }],",
        "\"pre_analysis\": [{ \"step\": \"look\", \"action\": \"read the existing tests\", \"commands\": [\"rg fahrenheit\", \"Read(notes.md)\"] }],\n\
         \"modification_points\": [{ \"file\": \"temperature.py\", \"target\": \"to_fahrenheit\", \"change\": \"create\" }],\n\
         \"logic_flow\": [\"scale\", \"shift\"],\n\
         \"shared_context\": { \"conventions\": \"snake_case\" },\n\
         \"exploration_results\": { \"critical_files\": [\"notes.md\"], \"integration_points\": [\"weather.py\"] },\n\
         \"context_package_path\": \".workflow/context-package.json\",",
        1,
    )
    .replacen("\"tdd_workflow\": true,", "\"tdd_workflow\": true, \"shared_context\": { \"tech_stack\": [\"python\"] },", 1)
    .replacen("\"Convert temperatures\"", "\"Convert temperatures\\n<files_to_read>\\n- notes.md\\n</files_to_read>\"", 1)
}

fn with_package(story: &Story) {
    story.file("notes.md", "Water boils at 212 here.\n").file(
        ".workflow/context-package.json",
        "{\"brainstorm\": \"units matter\", \"exploration_results\": {\"critical_files\": [\"scales.md\"]}}\n",
    );
    story.commit("a package");
}

#[test]
fn everything_a_plan_says_is_reported_in_every_turn() {
    let server = Server::answering(|seen| {
        let text = seen.body["system"].to_string();
        let script: toml::Value = toml::from_str(TASK_SCRIPT).unwrap();
        let code = script["green"][0]["do"][0]["text"].as_str().unwrap();
        match (
            text.contains("Write every test"),
            text.contains("Make the failing tests pass"),
            seen.answers(),
        ) {
            (true, _, 0) => Turn::say(script["red"][0]["answer"].as_str().unwrap()),
            (_, true, 0) => Turn::call(
                "Write",
                serde_json::json!({ "file_path": "temperature.py", "content": code }),
            ),
            _ => Turn::say("Nothing is worth changing."),
        }
    });
    let story = served(Story::pytest(), &server, Wire::Anthropic);
    story.script("task.json", &rich());
    with_package(&story);
    story.redgreen("run --task @task.json").exits(3);
    let first: Vec<String> = server
        .requests()
        .iter()
        .filter(|seen| seen.answers() == 0)
        .map(|seen| seen.body["messages"].to_string())
        .collect();
    assert!(first.len() >= 3, "RED, GREEN and REFACTOR");
    for prompt in &first {
        for words in [
            "Task IMPL-1",
            "file: temperature.py; target: to_fahrenheit; change: create",
            "logic flow: scale",
            "conventions: snake_case",
            "tech_stack: python",
            "commands: rg fahrenheit; Read(notes.md)",
            "exploration: critical_files: notes.md",
            "exploration: integration_points: weather.py",
            "exploration: critical_files: scales.md",
            "--- notes.md",
            "Water boils at 212 here.",
            "units matter",
        ] {
            assert!(prompt.contains(words), "{words:?} is not in {prompt}");
        }
    }
}

#[test]
fn files_to_read_go_through_the_guards() {
    let task = TASK.replacen(
        "\"Convert temperatures\"",
        "\"Convert\\n<files_to_read>\\n- .env\\n- ../x\\n</files_to_read>\"",
        1,
    );
    let faulty = story("task.json", &task, TASK_SCRIPT);
    faulty.file(".env", "KEY=1\n");
    turned_down(&faulty, RUN_TASK, ".env: its name looks like a secret");
    turned_down(&faulty, RUN_TASK, "../x: it resolves outside the project root");
    let story = story("task.json", TASK, TASK_SCRIPT);
    story.file("secret.txt", "x\n");
    turned_down(
        &story,
        "run --script @kata.toml \"add\n<files_to_read>\nsecret.txt\n</files_to_read>\"",
        "secret.txt: its name looks like a secret",
    );
}

#[test]
fn modification_points_that_were_not_touched_are_refused() {
    let task = TASK.replace(",\n        \"expected_coverage\": \">=85%\"", "").replacen(
        "\"focus_paths\"",
        "\"modification_points\": [\"temperature.py\", \"scales.py:kelvin\"], \"focus_paths\"",
        1,
    );
    let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
    let more = format!(
        "[[green]]{green}\n[[diagnosis]]\nanswer = \"scales\"\n\n[[green]]\ndo = [{{ write = \"scales.py\", text = \"ZERO = -273\\n\" }}]\n"
    );
    let story = story("task.json", &task, &format!("{red}{more}"));
    let said = story.redgreen(RUN_TASK).exits(3);
    assert!(
        said.stderr.contains(
            "scales.py is a modification point of the task \
                                  (scales.py:kelvin), but did not change [task.modification_point]"
        ),
        "{}",
        said.stderr
    );
    assert!(!said.stderr.contains("temperature.py is a modification point"), "{}", said.stderr);
}

#[test]
fn keys_that_are_not_used_are_listed_at_every_depth() {
    let task = TASK
        .replacen("\"title\"", "\"status\": \"pending\", \"title\"", 1)
        .replacen("\"max_iterations\": 3,", "\"max_iterations\": 3, \"type\": \"feature\",", 1)
        .replacen("\"method\": \"agent\"", "\"method\": \"agent\", \"cli_tool\": \"codex\"", 1)
        .replacen(
            "\"tdd_phase\": \"refactor\"",
            "\"tdd_phase\": \"refactor\", \"risk\": \"low\"",
            1,
        );
    let story = story("task.json", &task, TASK_SCRIPT);
    let all = "status, meta.type, meta.execution_config.cli_tool, implementation[2].risk";
    story
        .redgreen("brief @task.json")
        .exits(0)
        .says("$.status, $.meta.type, $.meta.execution_config.cli_tool, $.implementation[2].risk");
    story.redgreen(RUN_TASK).exits(3).says(&format!("unused keys in the file: {all}"));
}

#[test]
fn tasks_may_have_no_cycles_steps_without_a_phase_and_absolute_paths() {
    let (before, rest) = TASK.split_once("    \"tdd_cycles\": [").unwrap();
    let (_, after) = rest.split_once("    ],\n").unwrap();
    let story = story("task.json", "", TASK_SCRIPT);
    let task = format!("{before}{after}")
        .replacen(
            "\"implementation\": [",
            "\"implementation\": [ { \"step\": \"0\", \"description\": \"look at the scales first\" },",
            1,
        )
        .replacen(
            "[\"temperature.py\", \"tests\"]",
            &format!("[{:?}, \"tests\"]", story.root.join("temperature.py").display().to_string()),
            1,
        )
        .replacen("python -m pytest -q tests", "All tests pass: python -m pytest -q tests", 1);
    story.script("task.json", &task);
    let brief = story.redgreen("--json brief @task.json").exits(0).json()["brief"].clone();
    assert_eq!(brief["focusPaths"][0], "temperature.py", "{brief}");
    assert_eq!(brief["convergence"][0], "python -m pytest -q tests");
    assert!(brief["preAnalysis"].to_string().contains("look at the scales first"), "{brief}");
    assert_eq!(brief["testCount"], serde_json::Value::Null);
    story.redgreen(RUN_TASK).exits(3).says("## TASK COMPLETE");
}

#[test]
fn the_note_of_red_names_the_test_file() {
    let note = task_run().note(&task_run().commits()[0]);
    assert_eq!(note["currentTest"]["testFile"], "tests/test_temperature.py", "{note}");
    assert_eq!(note["currentTest"]["implFile"], "temperature.py");
}

#[test]
fn the_box_of_the_task_is_ticked_with_a_link_to_its_summary() {
    let story = story("task.json", TASK, TASK_SCRIPT);
    let list = ".workflow/active/S1/TODO_LIST.md";
    story.file(
        list,
        "# Tasks\n\n- [ ] **IMPL-1**: Temperatures → [task](./.task/IMPL-1.json)\n- [ ] **IMPL-10**: More\n",
    );
    story.commit("a plan");
    let before = story.belongings();
    story.redgreen(RUN_TASK).exits(3);
    assert_eq!(story.belongings(), before, "the checkout stays as it is");
    let ticked = story.git(&format!("show {}:{list}", story.branch()));
    assert_eq!(
        ticked,
        "# Tasks\n\n- [x] **IMPL-1**: Temperatures → [summary](.summaries/IMPL-1-summary.md)\n- [ ] **IMPL-10**: More"
    );
    let summary = story
        .git(&format!("show {}:.workflow/active/S1/.summaries/IMPL-1-summary.md", story.branch()));
    assert!(
        summary.starts_with("# Task: IMPL-1 Temperatures")
            && summary.contains("## Status: Complete (TDD Compliant)"),
        "{summary}"
    );
    story.redgreen("approve").exits(0);
    assert!(fs::read_to_string(story.root.join(list)).unwrap().contains("- [x] **IMPL-1**"));
}

#[test]
fn the_summary_lists_refactorings_changes_and_additions() {
    let summary = artifact(&task_run().story, "tdd-summary.md");
    for words in [
        "- Refactorings Applied: 1\n",
        "- `temperature.py`: added, adds to_fahrenheit\n",
        "- `tests/test_temperature.py`: added, adds test_freezing_water_is_32, test_boiling_water_is_212\n",
        "### Content Added\n- **to_fahrenheit()**: `def to_fahrenheit(celsius)`\n",
    ] {
        assert!(summary.contains(words), "{words:?}\n{summary}");
    }
    let story = story("task.json", TASK, TASK_SCRIPT);
    story.redgreen(RUN_TASK).exits(3);
    assert!(
        artifact(&story, "tdd-summary.md")
            .contains("- Refactorings Applied: 0 (no changes needed)\n")
    );
}

#[test]
fn the_summary_reports_a_refactoring_that_was_given_up() {
    let worse = turn("refactor", "{ edit = \"temperature.py\", old = \"+ 32\", new = \"+ 33\" }");
    let story = story("task.json", TASK, &format!("{TASK_SCRIPT}{worse}{worse}"));
    let said = story.redgreen(RUN_TASK).exits(3);
    assert!(
        said.stdout.contains("TDD cycle completed: Red → Green; refactoring rolled back: "),
        "{}",
        said.stdout
    );
    let summary = artifact(&story, "tdd-summary.md");
    assert!(
        summary.contains("- Refactorings Applied: 0 (rolled back to the green code: "),
        "{summary}"
    );
    assert!(
        summary.contains("## Status: Complete (refactoring rolled back)")
            && !summary.contains("TDD Compliant"),
        "{summary}"
    );
}

#[test]
fn iteration_logs_hold_the_diff() {
    let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
    let wrong =
        |number: u32| format!("[[green]]{}\n", green.replace("+ 32", &format!("+ {number}")));
    let task = TASK.replace("\"max_iterations\": 3", "\"max_iterations\": 2");
    let story = story("task.json", &task, &format!("{red}{}{}", wrong(31), wrong(30)));
    story.redgreen(RUN_TASK).exits(1);
    let first = artifact(&story, "cycle-1/green-fix-iteration-1.md");
    assert!(
        first.contains("## What was tried\n\n```diff\n")
            && first.contains("+    return celsius * 9 // 5 + 31"),
        "{first}"
    );
    let last = artifact(&story, "cycle-1/green-phase-failure.md");
    assert!(
        last.contains("-    return celsius * 9 // 5 + 31\n+    return celsius * 9 // 5 + 30"),
        "{last}"
    );
}

#[test]
fn task_blocked_reports_the_attempt_and_the_runners_message() {
    let broken = story("task.json", TASK, TASK_SCRIPT);
    broken.file("pytest.ini", "[pytest]\naddopts = --no-such-option\n");
    broken.commit("a suite that does not run");
    let said = broken.redgreen(RUN_TASK).exits(4);
    let all = format!("{}\n{}", said.stdout, said.stderr);
    assert!(
        all.contains("**Attempted:** ran python -m pytest (exit 4) before any changes; it said: "),
        "{all}"
    );
    assert!(
        all.split("**Attempted:**")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .contains("--no-such-option"),
        "{all}"
    );
    let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
    let story =
        story("task.json", TASK, &format!("{red}[[green]]{}", green.replace("+ 32", "+ 31")));
    let said = story.redgreen(RUN_TASK).exits(4);
    let block = said.stdout.split("## TASK BLOCKED").nth(1).unwrap();
    assert!(
        block.contains("**Attempted:** 1 turn of writing tests, 2 turns of writing code"),
        "{block}"
    );
    assert!(block.contains("last attempt: ") && block.contains("assert 31 == 32"), "{block}");
}

#[test]
fn artifacts_are_written_to_the_folder_of_the_users_tools() {
    let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
    let wrong = format!("[[green]]{}\n", green.replace("+ 32", "+ 31"));
    let folder = ".workflow/active/S1/.process";
    let story = story("task.json", TASK, &format!("{red}{wrong}[[green]]{green}"));
    story.redgreen(&format!("{RUN_TASK} --artifacts {folder}")).exits(3);
    let read = |name: &str| {
        fs::read_to_string(story.root.join(folder).join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    for name in ["red.yaml", "red.json", "green.yaml", "green-fix-iteration-1.md", "tdd-summary.md"]
    {
        assert!(!read(name).is_empty());
    }
    assert_eq!(read("red.json"), artifact(&story, "cycle-1/red.json"));
    let failing = crate::story::doors::story(
        "task.json",
        &TASK.replace("\"max_iterations\": 3", "\"max_iterations\": 1"),
        &format!("{red}{wrong}"),
    );
    let said = failing.redgreen(&format!("{RUN_TASK} --artifacts {folder}")).exits(1);
    assert!(said.stdout.contains(".process/green-phase-failure.md"), "{}", said.stdout);
    assert!(failing.root.join(folder).join("green-phase-failure.md").is_file());
    assert_eq!(json(&failing, "cycle-1/green.json")["error"], "Max iterations (1) reached");
}
