//! The scenarios of the arbiter: a design with context files, a worktree, a human at the end.

use std::fs;

use super::{RUN_SPEC, RUN_TASK, SPEC, SPEC_SCRIPT, TASK, TASK_SCRIPT, artifact, json};
use crate::story::doors::{RUN_DESIGN, design, story, turned_down};

#[test]
fn ts_01_safe_isolation() {
    let story = design();
    story.file("mine.txt", "not committed\n");
    let before = story.belongings();
    let said = story.redgreen(RUN_DESIGN).exits(3).says("Issue 87: A calculator");
    assert_eq!(story.belongings(), before, "the user's checkout was touched");
    assert!(
        said.stdout.trim_end().ends_with("calc.py, tests/test_add.py, tests/test_multiply.py, tests/test_subtract.py"),
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
    let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
    let wrong = |number: u32| format!("[[green]]{}\n", green.replace("+ 32", &format!("+ {number}")));
    let story = story("task.json", TASK, &format!("{red}{}{}{}", wrong(31), wrong(30), wrong(29)));
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
    story.assert_no_worktree();
}

/// The document's mock of a model is our scripted agent: no key, no network.
#[test]
fn verify_mock_mode_graph_logic() {
    let told = super::spec_run();
    told.shows("plays a file on this machine: nothing leaves it");
    let phases: Vec<String> = told.steps().iter().map(|step| step["phase"].as_str().unwrap().to_owned()).collect();
    assert_eq!(phases, ["RED", "GREEN", "GREEN", "GREEN", "REFACTOR"]);
}

#[test]
fn verify_path_security() {
    let story = design();
    fs::write(story.place("secret.txt"), "x").unwrap();
    let line = "run --script @kata.toml --issue 87 --lld docs/lld.md --context ../secret.txt";
    turned_down(&story, line, "../secret.txt: it resolves outside of the project root");
}

#[test]
fn verify_size_limits() {
    let story = design();
    story.file("large_file.py", &"x = 1\n".repeat(20_000));
    turned_down(&story, &format!("{RUN_DESIGN} large_file.py"), "a file of more than 100 KB");
}

/// Exit codes of pytest and where they lead: 0 is refused, 1 is red, 4 and 5 go back. What the runner itself does wrong is
/// a human's: `recovery::a_runner_that_breaks_is_undecided_and_a_resume_asks_it_again`.
#[test]
fn exit_code_routing() {
    let turn = |path: &str, text: &str| format!("\n[[red]]\ndo = [{{ write = {path:?}, text = {text:?} }}]\n");
    let none = turn("tests/test_none.py", "# no test\n");
    let passes = turn("tests/test_a.py", "def test_a():\n    assert True\n");
    let (_, real) = SPEC_SCRIPT.split_once("[[red]]").unwrap();
    let story = story("spec.yaml", SPEC, &format!("version = 1\n{none}{passes}\n[[red]]{real}"));
    let said = story.redgreen(RUN_SPEC).exits(3);
    for code in ["[red.no_tests]", "[red.passes]", "[red.missing_symbol]"] {
        assert!(said.stderr.contains(code), "{code}: {}", said.stderr);
    }
}
