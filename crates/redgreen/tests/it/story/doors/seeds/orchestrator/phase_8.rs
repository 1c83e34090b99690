//! The checklists of phase 8 name areas that have many tests elsewhere. This file has one test per
//! line.

use super::*;

#[test]
fn test_git_notes_manager_operations() {
    let story = one_cycle();
    let tip = story.git(&format!("rev-parse {}", story.branch()));
    story.git(&format!("notes --ref=tdd-handoffs add -f -m nonsense {tip}"));
    story.redgreen("history").exits(4).says("redgreen repair-notes");
    story.redgreen("repair-notes").exits(0);
    assert_eq!(story.redgreen("--json repair-notes").exits(0).json()["sound"], 5);
}

#[test]
fn test_tool_dispatcher_routing() {
    let results = tool_results(&model_run().1, "red", 1);
    for (result, words) in results.iter().zip(["first line", "notes.txt", "a needle", "[exit 3]"]) {
        assert!(result.contains(words), "results come in the order of the calls: {results:?}");
    }
}

#[test]
fn test_prompt_building() {
    let requests = model_run().1.requests();
    let first = |of: &str| {
        requests.iter().find(|seen| role(seen) == of).unwrap().body["messages"].to_string()
    };
    assert!(first("red").contains("Write all of these tests now"), "{}", first("red"));
    assert!(
        first("green").contains("Tests: ") && first("green").contains("No module named"),
        "{}",
        first("green")
    );
}

#[test]
fn test_error_detection() {
    let story = Story::pytest();
    for (text, words) in [
        ("def test_x(:\n", "SyntaxError"),
        ("import nowhere\n", "No module named 'nowhere'"),
        ("def test_x():\n    assert 1 == 2\n", "assert 1 == 2"),
    ] {
        story.file("test_x.py", text).redgreen("test").exits(1).says(words);
    }
}

#[test]
fn test_single_phase_with_real_anthropic_api_with_mock_key() {
    let seen = &model_run().1.requests()[0];
    assert_eq!(
        (seen.path.as_str(), seen.header("x-api-key")),
        ("/v1/messages", Some("sk-ant-test"))
    );
}

#[test]
fn test_git_operations_on_test_repository() {
    let story = one_cycle();
    let red = story.git(&format!("log -1 --format=%H --grep=^test: {}", story.branch()));
    story.redgreen(&format!("rollback {red}")).exits(0).says("rolled back");
    assert_eq!(story.git(&format!("rev-parse {}", story.branch())), red);
}

#[test]
fn test_handoff_flow_between_phases() {
    let notes: Vec<Value> = clean().commits().iter().map(|commit| clean().note(commit)).collect();
    for pair in notes.windows(2) {
        assert_eq!(pair[0]["nextPhase"], pair[1]["phase"]);
    }
    let done: Vec<usize> = notes.iter().map(|note| names(&note["completedTests"]).len()).collect();
    assert_eq!(done, [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3]);
}

#[test]
fn test_workflow_resume_after_interruption() {
    let story = Story::pytest().env("REDGREEN_KILL_AT", "before:9");
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    assert_eq!(story.redgreen(RUN).signal, Some(9));
    let story = story.env("REDGREEN_KILL_AT", "");
    story.redgreen("resume").exits(3);
    assert_eq!(story.log(&format!("main..{}", story.branch())).len(), 5);
}

#[test]
fn test_workflow_with_intentional_errors() {
    assert_eq!(
        troubled().subjects(),
        [
            "plan: adds",
            "test: adds",
            "feat: adds",
            "refactor: given up, the green code stays",
            "plan: every test of the list is done"
        ]
    );
}

#[test]
fn test_multi_cycle_workflow() {
    let cycles: Vec<u64> = clean()
        .commits()
        .iter()
        .map(|commit| clean().note(commit)["cycleNumber"].as_u64().unwrap())
        .collect();
    assert_eq!(cycles, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4]);
}
