//! The checklists of the orchestrator's phases: one test per line, named after it.

mod more;
mod phase_8;

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::{Parameters, artifact, codes, model_run, names, role, tool_results};
use crate::server::Server;
use crate::story::Story;
use crate::story::recovery::{GOOD_CODE, GOOD_TEST, listening, told as told_to, write};
use crate::story::scripts::{DONE, GREEN, PLAN, RED_PYTEST as RED, WRONG, failing, turn};

const RUN: &str = "run --script @kata.toml \"an adder\"";

/// Three cycles in which every first try is right.
fn clean() -> &'static Parameters {
    static TOLD: OnceLock<Parameters> = OnceLock::new();
    TOLD.get_or_init(|| {
        let story = Story::shared();
        story.script("kata.toml", crate::story::CALCULATOR);
        Parameters::new(story, "run --script @kata.toml \"a calculator\"", 3)
    })
}

/// One cycle with every row of the recovery table: rate limit, timeout, syntax error, a test that
/// passes at once, code that breaks other tests, code that still fails, a refactoring that breaks a
/// test.
fn troubled() -> &'static Parameters {
    static TOLD: OnceLock<Parameters> = OnceLock::new();
    TOLD.get_or_init(|| {
        let story = Story::shared_pytest();
        story
            .file("old.py", "ONE = 1\n")
            .file("test_old.py", "from old import ONE\n\n\ndef test_old():\n    assert ONE == 1\n");
        story.commit("old code");
        let breaks = format!(
            "{}, {{ edit = \"old.py\", old = \"1\", new = \"2\" }}",
            write("calc.py", GOOD_CODE)
        );
        let script = [
            "\n[[plan]]\nfail = { kind = \"rate-limit\", message = \"busy\", retry-after = 0.2 }\n",
            &failing("plan", "timeout"),
            PLAN,
            &turn("red", &write("test_add.py", "def test_adds(:\n")),
            &listening("red", &write("test_add.py", "def test_adds():\n    assert True\n")),
            &listening("red", &write("test_add.py", GOOD_TEST)),
            &turn("green", &breaks),
            WRONG,
            GREEN,
            &turn("refactor", "{ edit = \"calc.py\", old = \"a + b\", new = \"b - a\" }").repeat(2),
            DONE,
        ];
        story.script("kata.toml", &script.concat());
        Parameters::new(story, RUN, 3)
    })
}

/// The journal's events of one kind.
fn events(told: &Parameters, kind: &str) -> Vec<Value> {
    let journal =
        std::fs::read_to_string(super::run_folder(&told.story).join("journal.jsonl")).unwrap();
    let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == kind).collect()
}

fn handoffs(told: &Parameters) -> Vec<Value> {
    let answer = told.story.redgreen("--json history --limit 99").exits(0).json();
    answer["handoffs"].as_array().unwrap().clone()
}

mod phase_1_3 {
    use super::*;

    #[test]
    fn verify_project_compiles() {
        Story::bare_folder().redgreen("--version").exits(0).says("redgreen 0");
    }

    /// The program's runtime dependencies: git, a test runner, a place for worktrees.
    #[test]
    fn verify_dependencies_resolve_correctly() {
        let said = Story::pytest().redgreen("doctor").exits(0);
        for name in ["ok   git", "ok   framework", "ok   suite", "ok   worktrees"] {
            assert!(said.stdout.contains(name), "{name}: {}", said.stdout);
        }
    }

    #[test]
    fn verify_json_serialization_and_deserialization_works_for_handoff_state() {
        for shown in handoffs(troubled()) {
            let written = troubled().note(shown["commit"].as_str().unwrap());
            assert_eq!(shown["handoff"], written, "what was read is what was written");
        }
    }

    #[test]
    fn verify_data_models_have_proper_equality() {
        let (told, other) = (clean(), troubled());
        let state = |told: &Parameters| told.story.redgreen("--json status").exits(0).json();
        assert_eq!(state(told), state(told), "the same journal is the same state");
        assert_ne!(state(told), state(other));
    }
}

mod phase_2_3 {
    use super::*;

    #[test]
    fn test_writing_a_handoff_note_to_a_commit() {
        for commit in clean().commits() {
            assert_eq!(clean().note(&commit)["version"], 1);
        }
    }

    #[test]
    fn test_reading_a_handoff_note_from_a_commit() {
        let commit = &clean().commits()[1];
        let shown =
            handoffs(clean()).into_iter().find(|handoff| handoff["commit"] == **commit).unwrap();
        let handoff = &shown["handoff"];
        let case = json!({ "description": "adds two numbers", "testFile": "tests/test_add.py", "implFile": "calc.py" });
        assert_eq!((&handoff["phase"], &handoff["currentTest"]), (&json!("RED"), &case));
        for name in [
            "nextPhase",
            "cycleNumber",
            "completedTests",
            "pendingTests",
            "testResult",
            "retryCount",
        ] {
            assert!(!handoff[name].is_null(), "{name}: {handoff}");
        }
        assert!(handoff["error"].is_null() && handoff["errorDetails"].is_null(), "{handoff}");
    }

    #[test]
    fn test_finding_latest_handoff_in_commit_history() {
        let latest = &handoffs(clean())[0];
        assert_eq!(latest["commit"], *clean().commits().last().unwrap());
        assert_eq!(latest["handoff"]["nextPhase"], "COMPLETE");
    }

    #[test]
    fn test_note_persistence_across_git_operations() {
        let story = one_cycle();
        story.git("gc -q --prune=now");
        story.redgreen("approve").exits(0);
        story.git("checkout -q -b elsewhere");
        story.git("gc -q --prune=now");
        assert_eq!(story.redgreen("--json repair-notes").exits(0).json()["sound"], 5);
        let there = Story::bare_folder();
        let from = story.root.display().to_string();
        assert!(there.command("git").args(["clone", "-q", &from, "."]).status().unwrap().success());
        there.git("fetch -q origin refs/notes/tdd-handoffs:refs/notes/tdd-handoffs");
        assert_eq!(
            there.redgreen("--json history").exits(0).json()["handoffs"].as_array().unwrap().len(),
            5
        );
    }

    #[test]
    fn verify_git_notes_show_head_works_from_cli() {
        let story = one_cycle();
        story.git(&format!("checkout -q {}", story.branch()));
        let note: Value =
            serde_json::from_str(&story.git("notes --ref=tdd-handoffs show HEAD")).unwrap();
        assert_eq!(note["phase"], "PLAN", "{note}");
    }
}

mod phase_3_3 {
    use super::*;

    fn server() -> &'static Server {
        &model_run().1
    }

    #[test]
    fn test_read_tool_reads_file_correctly() {
        let read = &tool_results(server(), "red", 1)[0];
        assert!(read.contains("first line") && read.contains("a needle in it"), "{read}");
    }

    #[test]
    fn test_write_tool_creates_and_overwrites_files() {
        let written = model_run().0.file("tests/test_receipt.py");
        assert!(
            written.contains("def test_a_receipt") && !written.contains("to be overwritten"),
            "{written}"
        );
    }

    #[test]
    fn test_edit_tool_performs_text_replacement() {
        let edited = model_run().0.file("tests/test_receipt.py");
        assert!(edited.contains("\"total 5\"") && !edited.contains("total 6"), "{edited}");
    }

    #[test]
    fn test_bash_tool_executes_commands_and_captures_output() {
        let ran = &tool_results(server(), "red", 1)[3];
        for words in ["out", "err", "[exit 3]"] {
            assert!(ran.contains(words), "{words}: {ran}");
        }
    }

    #[test]
    fn test_glob_tool_finds_files_matching_patterns() {
        let found = &tool_results(server(), "red", 1)[1];
        assert!(found.contains("notes.txt") && !found.contains("pytest.ini"), "{found}");
    }

    #[test]
    fn test_grep_tool_finds_text_patterns() {
        let found = &tool_results(server(), "red", 1)[2];
        assert!(found.contains("notes.txt") && found.contains("a needle in it"), "{found}");
        assert!(!found.contains("first line"), "{found}");
    }
}

mod phase_4_5 {
    use super::*;

    #[test]
    fn test_each_agent_can_be_invoked() {
        let asked: std::collections::BTreeSet<&str> =
            model_run().1.requests().iter().map(role).collect();
        assert_eq!(asked.into_iter().collect::<Vec<_>>(), ["green", "red", "refactor"]);
        let turned: std::collections::BTreeSet<String> = events(troubled(), "turned")
            .iter()
            .map(|event| event["role"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            turned.into_iter().collect::<Vec<_>>(),
            ["diagnosis", "implementing", "refactor", "test", "test-list"]
        );
    }

    #[test]
    fn verify_agents_produce_valid_tool_calls() {
        for (of, answers, count) in
            [("red", 1, 4), ("red", 2, 4), ("green", 1, 2), ("green", 2, 3), ("green", 3, 2)]
        {
            let results = tool_results(&model_run().1, of, answers);
            assert_eq!(
                results.len(),
                count,
                "every call of an answer gets its result: {results:?}"
            );
        }
    }

    #[test]
    fn verify_commit_messages_follow_conventions() {
        let prefixes = ["plan: ", "test: ", "feat: ", "refactor: "];
        for (at, subject) in clean().subjects().iter().enumerate() {
            assert!(subject.starts_with(prefixes[at % 4]), "{subject}");
        }
        let story = one_cycle_of("fix the adder");
        assert_eq!(story.log(&format!("main..{}", story.branch()))[2], "fix: adds");
    }
}

mod phase_5_6 {
    use super::*;

    #[test]
    fn test_single_phase_execution_works_end_to_end() {
        let story = Story::pytest();
        story.script("kata.toml", PLAN);
        let told = Parameters::new(story, RUN, 4);
        assert_eq!(told.subjects(), ["plan: adds"]);
        assert_eq!(told.note(&told.commits()[0])["nextPhase"], "RED");
    }

    #[test]
    fn test_tool_use_loop_handles_multiple_tool_calls() {
        let requests = model_run().1.requests();
        let reds = requests.iter().filter(|seen| role(seen) == "red").count();
        assert_eq!(reds, 3, "asked again until the model is done");
        assert_eq!(
            tool_results(&model_run().1, "red", 1).len(),
            4,
            "four calls, four results, one message"
        );
    }

    #[test]
    fn test_orchestrator_runs_complete_tdd_cycle() {
        let phases: Vec<Value> =
            clean().commits().iter().take(4).map(|it| clean().note(it)["phase"].clone()).collect();
        assert_eq!(phases, ["PLAN", "RED", "GREEN", "REFACTOR"]);
    }

    #[test]
    fn verify_handoff_notes_are_written_after_each_phase() {
        let noted: Vec<Value> =
            events(clean(), "noted").iter().map(|event| event["commit"].clone()).collect();
        assert_eq!(noted.len(), clean().commits().len());
        let results: Vec<Value> = clean()
            .commits()
            .iter()
            .take(4)
            .map(|it| clean().note(it)["testResult"].clone())
            .collect();
        assert_eq!(results, [Value::Null, json!("FAIL"), json!("PASS"), json!("PASS")]);
    }

    #[test]
    fn verify_commits_are_created_with_correct_messages() {
        assert_eq!(
            clean().subjects()[..5],
            [
                "plan: adds two numbers",
                "test: adds two numbers",
                "feat: adds two numbers",
                "refactor: no changes needed",
                "plan: subtracts"
            ]
        );
    }

    #[test]
    fn test_workflow_completes_when_all_tests_done() {
        assert_eq!(clean().file("test-list.md").matches("- [x]").count(), 3);
        assert_eq!(clean().note(clean().commits().last().unwrap())["nextPhase"], "COMPLETE");
        clean().shows("waiting for a human: all phases are accepted");
        // The planner alone cannot end the run: one box is still open.
        let story = Story::pytest();
        story.script(
            "kata.toml",
            &["\n[[plan]]\ndo = [{ write = \"test-list.md\", text = \"- [ ] adds\\n\" }]\ndone = true\n"].concat(),
        );
        story.redgreen(&format!("{RUN} --max-retries 0")).exits(1).says("[plan.unfinished]");
    }
}

mod phase_6_5 {
    use super::*;

    #[test]
    fn test_retry_logic_with_simulated_failures() {
        let plan = troubled().note(&troubled().commits()[0]);
        assert_eq!(plan["retryCount"], 2, "{plan}");
        let red = troubled().note(&troubled().commits()[1]);
        assert_eq!(red["retryCount"], 2, "{red}");
        assert!(
            told_to(&troubled().story, 3).contains("red.passes"),
            "the error is told to the next try"
        );
    }

    #[test]
    fn test_rollback_on_broken_tests() {
        troubled().shows("reverted");
        assert_eq!(troubled().file("old.py"), "ONE = 1");
    }

    #[test]
    fn test_error_state_is_recorded_in_notes() {
        let story = Story::pytest();
        story.script("kata.toml", &[PLAN, RED, WRONG].concat());
        let told = Parameters::new(story, &format!("{RUN} --max-iterations 1"), 1);
        let note = told.note(told.commits().last().unwrap());
        assert_eq!(
            (&note["errorDetails"]["type"], &note["retryCount"]),
            (&json!("green.still_failing"), &json!(1))
        );
        assert_eq!(note["error"], "1 iteration is used up");
        assert!(
            note["errorDetails"]["message"].as_str().unwrap().contains("assert -1 == 3"),
            "{note}"
        );
    }

    #[test]
    fn test_recovery_from_each_failure_type() {
        let turned = events(troubled(), "turned");
        let failed: Vec<&Value> =
            turned.iter().filter(|event| event["turn"]["ended"] == "failed").collect();
        let kinds: Vec<&str> =
            failed.iter().map(|event| event["turn"]["failure"]["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["rate-limit", "timeout"], "API rate limit, network timeout");
        let steps = troubled().steps();
        let refused: Vec<&str> = steps
            .iter()
            .filter(|step| step["verdict"]["decision"] == "refused")
            .map(|step| codes(step)[0])
            .collect();
        assert_eq!(
            refused,
            [
                "red.syntax",          // does not compile
                "red.passes",          // passes immediately
                "green.regression",    // breaks tests
                "green.still_failing", //
                "refactor.regression", // refactoring breaks tests
                "refactor.regression",
            ]
        );
        assert!(
            told_to(&troubled().story, 2).starts_with("red.syntax"),
            "with the error as context"
        );
        assert_eq!(troubled().file("calc.py"), GOOD_CODE.trim_end());
        assert!(
            artifact(&troubled().story, "cycle-1/green-fix-iteration-1.md").contains("test_old")
        );
    }

    #[test]
    fn verify_max_retries_is_enforced() {
        let passes = turn("red", &write("test_add.py", "def test_adds():\n    assert True\n"));
        let story = Story::pytest().env("TDD_MAX_RETRIES", "1");
        story.script("kata.toml", &[PLAN, &passes.repeat(9)].concat());
        let said = story.redgreen(RUN).exits(1).says("gave up in RED");
        assert_eq!(said.stderr.matches("[red.passes]").count(), 2, "{}", said.stderr);
    }
}

mod phase_7_4 {
    use super::*;

    #[test]
    fn test_cli_runs_workflow_from_command_line() {
        let story = one_cycle();
        story.redgreen("approve").exits(0).says("merged");
        assert_eq!(story.git("show HEAD:calc.py"), GOOD_CODE.trim_end());
    }

    #[test]
    fn test_resume_continues_from_last_state() {
        let story = Story::pytest();
        story.script("kata.toml", &[PLAN, RED].concat());
        story.redgreen(RUN).exits(4);
        let before = story.git(&format!("rev-list {}", story.branch()));
        story.script("rest.toml", &[PLAN, RED, &GREEN.repeat(2), DONE].concat());
        story.redgreen("resume --script @rest.toml").exits(3);
        let after = story.git(&format!("rev-list {}", story.branch()));
        assert!(
            after.ends_with(&before),
            "what was accepted stays, and nothing of it is done again"
        );
        assert_eq!(story.log(&format!("main..{}", story.branch()))[2], "feat: adds");
    }

    #[test]
    fn test_status_shows_correct_state() {
        Story::pytest().redgreen("status").exits(0).says("no run yet");
        let status = clean().story.redgreen("--json status").exits(0).json();
        let run = &status["runs"][0];
        assert_eq!(
            (&run["phase"], &run["outcome"]["outcome"]),
            (&json!("COMPLETE"), &json!("waiting")),
            "{run}"
        );
        clean().story.redgreen("status").exits(0).says("3 of 3 tests done");
    }

    #[test]
    fn test_history_lists_all_handoffs() {
        let mut listed: Vec<String> = handoffs(clean())
            .iter()
            .map(|handoff| handoff["commit"].as_str().unwrap().to_owned())
            .collect();
        listed.reverse();
        assert_eq!(listed, clean().commits());
    }

    #[test]
    fn verify_config_options_are_respected() {
        let story = Story::pytest();
        story
            .file("tdd.properties", "bash.timeout=77\n")
            .file(
                ".agentforge/config/stages/red.yaml",
                "stage: red\nvalidation:\n  max_pass_ratio: 0.5\n",
            )
            .file(
                ".agentforge/config/stages/green.yaml",
                "stage: green\nexecution:\n  max_iterations: 20\n",
            );
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
}

/// A run of one cycle, for tests that change the repository afterwards.
fn one_cycle() -> Story {
    one_cycle_of("an adder")
}

fn one_cycle_of(request: &str) -> Story {
    let story = Story::pytest();
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen(&format!("run --script @kata.toml {request:?}")).exits(3);
    story
}
