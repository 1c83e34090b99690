//! Commands from a project run only after the user agrees: with `redgreen trust`, for a single
//! command, or at a terminal.

use super::{RUN_DESIGN, design, run_folder, turned_down};
use crate::story::Story;
use crate::story::terminal::on_a_terminal;

/// The end of the question.
const QUESTION: &str = "[yes/no] ";

/// A project whose command creates a file in the user's home.
fn story() -> Story {
    let story = design().env("REDGREEN_TRUST", "0");
    story.file("redgreen.toml", "backoff = 0.0\n[worktree]\nsetup = [\"touch $HOME/set-up\"]\n");
    story.commit("a command");
    story
}

#[test]
fn commands_of_a_project_run_only_once_they_are_trusted() {
    let story = story();
    turned_down(&story, RUN_DESIGN, "worktree.setup: touch $HOME/set-up");
    story.redgreen("test").exits(2).says("redgreen trust");
    story.redgreen("trust").exits(0).says("trusted");
    story.redgreen(RUN_DESIGN).exits(3);
    story.redgreen("trust --revoke").exits(0);
    story.redgreen("approve").exits(2).says("have not trusted this project's settings yet");
    story.redgreen("approve --trust").exits(0);
    assert!(run_folder(&story).join("artifacts/tdd-summary.md").is_file());
}

/// Rows: answer, exit code, words on the screen. Only "yes" runs or creates anything.
#[test]
fn at_a_terminal_nothing_runs_before_the_answer() {
    let story = story();
    let line = format!("{RUN_DESIGN} --no-input");
    for (answer, code, words) in [
        ("no\n", 2, "you have not trusted this project's settings yet"),
        ("\n", 2, "you have not trusted this project's settings yet"),
        ("\u{4}", 2, "you have not trusted this project's settings yet"),
        ("maybe\nno\n", 2, "expected `yes` or `no`, not \"maybe\""),
        ("\u{3}", 130, "interrupted"),
    ] {
        let before = story.belongings();
        let (ended, screen) = on_a_terminal(&story, &line, &[(QUESTION, answer)]);
        assert_eq!(ended, Some(code), "{answer:?}: {screen}");
        assert!(
            screen.contains("worktree.setup  touch $HOME/set-up") && screen.contains(words),
            "{answer:?}: {screen}"
        );
        assert_eq!(story.belongings(), before, "{answer:?}");
        assert!(
            !story.root.join(".git/redgreen/runs").exists() && !story.place("home/set-up").exists(),
            "{answer:?}"
        );
        story.redgreen("trust --show").exits(0).says("not trusted");
    }
    let (ended, screen) = on_a_terminal(&story, &line, &[(QUESTION, "yes\n")]);
    assert_eq!(ended, Some(3), "{screen}");
    story.redgreen("trust --show").exits(0);
    let (ended, screen) = on_a_terminal(&story, "abort", &[(QUESTION, "")]);
    assert_eq!(ended, Some(0), "{screen}");
    assert!(!screen.contains(QUESTION), "what was agreed to is remembered: {screen}");
}

#[test]
fn ctrl_c_at_the_question_at_the_end_leaves_the_run_waiting() {
    let story = design();
    let (ended, screen) = on_a_terminal(&story, RUN_DESIGN, &[("decide later] ", "\u{3}")]);
    assert_eq!(ended, Some(130), "{screen}");
    story.redgreen("status").exits(0).says("waiting for a human");
}

/// Settings that weaken the sandbox need trust, like commands.
#[test]
fn a_project_takes_no_fence_away_without_its_user() {
    for (settings, told) in [
        ("[test]\nfence = \"none\"\n", "test.fence: none"),
        ("[agent]\nfence = \"none\"\n", "agent.fence: none"),
        ("[agent]\nnetwork = \"open\"\n", "agent.network: open"),
        ("[agent]\nallow-read = [\"/\"]\n", "agent.allow-read: /"),
        ("[worktree]\nlink = [\"data\"]\n", "worktree.link: data"),
        ("[worktree]\ncopy = [\"notes.txt\"]\n", "worktree.copy: notes.txt"),
        ("[model]\nrecord = \"../elsewhere.jsonl\"\n", "model.record: ../elsewhere.jsonl"),
        ("[model]\nreplay = \"/elsewhere.jsonl\"\n", "model.replay: /elsewhere.jsonl"),
        (
            "[agent.custom.x]\ncommand = \"x\"\nnew = [\"-c\", \"more\"]\n",
            "agent.custom words: -c more",
        ),
        ("[agent.custom.x]\ncommand = \"x\"\nenv = [\"AWS_*\"]\n", "agent.custom.env: AWS_*"),
        ("[agent.custom.x]\ncommand = \"x\"\nfolders = [\".ssh\"]\n", "agent.custom.folders: .ssh"),
        ("[agent.custom.x]\ncommand = \"x\"\nfiles = [\".netrc\"]\n", "agent.custom.files: .netrc"),
        ("[agent.custom.x]\ncommand = \"x\"\nset = { A = \"b\" }\n", "agent.custom.set: A=b"),
    ] {
        let story = design().env("REDGREEN_TRUST", "0");
        story.file("redgreen.toml", settings);
        story.commit("settings");
        turned_down(&story, RUN_DESIGN, told);
    }
}
