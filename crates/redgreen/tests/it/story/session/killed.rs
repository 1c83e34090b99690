//! A session command that is killed before or after any effect: files, index, branches and stash
//! stay unchanged, and repeating the command completes it.

use std::path::PathBuf;

use super::super::Story;
use super::super::crash::kill_at;
use super::{CODE, TEST};

const SIGKILL: i32 = 9;
/// More effects than any session command has.
const EFFECTS_MAX: usize = 12;

/// A session in a checkout with every kind of user data, and a saved copy of it.
struct SavedSession {
    story: Story,
    copy: PathBuf,
}

impl SavedSession {
    /// A checkout after running these commands. A line `PATH=TEXT` writes a file.
    fn after(lines: &[&str]) -> Self {
        let story = Story::new();
        story.file("kept.txt", "kept\n").commit("another");
        story.git("branch other");
        story.git("tag v1");
        story.file("kept.txt", "on the stash\n").git("stash --quiet");
        story
            .file("kept.txt", "changed\n")
            .file("staged.txt", "staged\n")
            .file("note.txt", "untracked\n");
        story.git("add staged.txt");
        for line in lines {
            match line.split_once('=') {
                Some((path, text)) => drop(story.file(path, text)),
                None => drop(story.redgreen(line).exits(0)),
            }
        }
        let copy = story.place("saved");
        let names = story
            .command("sh")
            .args(["-c", "mkdir ../saved && cp -a ../home . ../saved/"])
            .status()
            .unwrap();
        assert!(names.success());
        Self { story, copy }
    }

    fn restore(&self) {
        let script = "rm -rf ../home && cp -a \"$1/home\" .. && find . -mindepth 1 -delete && \
                      find \"$1\" -mindepth 1 -maxdepth 1 ! -name home -exec cp -a {} . \\;";
        let mut command = self.story.command("sh");
        assert!(
            command.args(["-c", script, "restore"]).arg(&self.copy).status().unwrap().success()
        );
    }

    /// All of the user's data, including branches that do not belong to a session.
    fn belongings(&self) -> Vec<(String, Vec<u8>)> {
        let refs = self.story.git("for-each-ref refs/heads refs/tags refs/stash refs/remotes");
        let stash = self.story.git("reflog show refs/stash");
        let more =
            [("refs".to_owned(), refs.into_bytes()), ("stash".to_owned(), stash.into_bytes())];
        self.story.belongings().into_iter().chain(more).collect()
    }

    /// Kills a command before its first effect and after each one, and calls `look` at each point.
    /// Before and after `look` it asserts that the user's data is unchanged, unless the command
    /// commits.
    fn walk(&self, line: &str, is_commit: bool, look: impl Fn(&Self, usize)) {
        let mut points = 0;
        for effect in 1..=EFFECTS_MAX {
            let moments: &[&str] = if effect == 1 { &["before", "after"] } else { &["after"] };
            let mut is_over = false;
            for moment in moments {
                self.restore();
                let before = self.belongings();
                let said = kill_at(&self.story, line, &format!("{moment}:{effect}"));
                if !is_commit {
                    assert_eq!(self.belongings(), before, "{line}: {moment}:{effect}");
                }
                match said.signal {
                    Some(SIGKILL) => points += 1,
                    _ => is_over = true,
                }
                look(self, effect);
                if !is_commit {
                    assert_eq!(
                        self.belongings(),
                        before,
                        "{line}, after {moment}:{effect} and once more"
                    );
                }
            }
            if is_over {
                assert!(points > 1, "{line}: killed at no effect");
                return;
            }
        }
        panic!("{line} has more than {EFFECTS_MAX} effects");
    }

    /// Ends the session and asserts that nothing of it is left.
    fn end(&self) {
        let said = self.story.redgreen("session end --unproven");
        assert!(said.code == Some(0) || said.stderr.contains("no session is open"), "{said:?}");
        assert_eq!(self.story.git("for-each-ref refs/worktree"), "");
        self.story.redgreen("session status").exits(2).says("no session is open");
    }
}

#[test]
fn killed_at_any_effect_a_start_is_typed_again() {
    SavedSession::after(&[]).walk("session start one", false, |saved, _| {
        let again = saved.story.redgreen("session start one");
        assert!(
            again.code == Some(0) || again.stderr.contains("is already open in this checkout"),
            "{again:?}"
        );
        saved.story.redgreen("session status").exits(0).says("write one failing test");
        saved.end();
    });
}

#[test]
fn killed_at_any_effect_a_check_is_typed_again() {
    let test = format!("test_calc.py={TEST}");
    SavedSession::after(&["session start one", &test]).walk("session check", false, |saved, _| {
        saved.story.redgreen("session check").exits(0);
        let status = saved.story.redgreen("session status --json").exits(0).json();
        assert_eq!(
            (status["stage"]["name"].as_str(), status["cycle"].as_u64()),
            (Some("green"), Some(1)),
            "{status}"
        );
        saved.end();
    });
}

#[test]
fn killed_at_any_effect_a_commit_is_made_once_with_its_handoff() {
    let test = format!("test_calc.py={TEST}");
    let saved = SavedSession::after(&["session start one", &test, "session check"]);
    let before = saved.story.git("rev-parse HEAD");
    saved.walk("session check --commit", true, |saved, effect| {
        let story = &saved.story;
        story.redgreen("session check --commit").exits(0);
        assert_eq!(story.log(&format!("{before}..main")), ["test: one"], "{effect}");
        assert!(story.git("notes --ref=tdd-handoffs show main").contains("\"RED\""), "{effect}");
        // The commit contains only the judged change: the files that differ from the previously
        // accepted tree.
        assert_eq!(story.git("show --format= --name-only main"), "test_calc.py", "{effect}");
        assert_eq!(story.git("diff --cached --name-only"), "staged.txt", "{effect}");
        saved.end();
    });
}

#[test]
fn killed_at_any_effect_an_undo_and_an_end_are_typed_again() {
    let test = format!("test_calc.py={TEST}");
    let saved = SavedSession::after(&["session start one", &test, "session check"]);
    saved.walk("session undo", false, |saved, _| {
        let again = saved.story.redgreen("session undo");
        assert!(
            again.code == Some(0) || again.stderr.contains("no step has been accepted yet"),
            "{again:?}"
        );
        saved.story.redgreen("session status").exits(0).says("write one failing test");
        saved.end();
    });
    // At this point nothing else holds the accepted tree, so `session end` must keep it.
    let saved = SavedSession::after(&[
        "session start one",
        &test,
        "session check",
        &format!("test_calc.py={CODE}"),
    ]);
    saved.walk("session end --unproven", false, |saved, effect| {
        saved.end();
        let kept = saved.story.git("for-each-ref --format=%(refname) refs/redgreen/salvage");
        assert_eq!(kept.lines().count(), 1, "{effect}: {kept}");
        assert_eq!(
            saved.story.git(&format!("show {kept}:test_calc.py")),
            TEST.trim_end(),
            "{effect}"
        );
    });
}
