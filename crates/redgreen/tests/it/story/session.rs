//! Sessions: redgreen judges while another program edits the user's checkout.

mod cheats;
mod killed;

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::terminal::on_a_terminal;
use super::{ProgramOutput, Story};

const TEST: &str = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    \
                    def test_adds(self):\n        assert add(1, 2) == 3\n\n    \
                    def test_adds_others(self):\n        assert add(-4, 9) == 5\n";
const CODE: &str = "def add(a, b):\n    return a + b\n";

impl Story {
    /// Runs `redgreen hook <host>` with a message on stdin.
    pub(crate) fn hook(&self, line: &str, message: &str) -> ProgramOutput {
        let mut child = self
            .prepare(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A hook may end before it has read the whole message.
        child.stdin.take().unwrap().write_all(message.as_bytes()).ok();
        ProgramOutput::of(line, &child.wait_with_output().unwrap())
    }

    /// The answer that Claude Code gets.
    fn asked(&self, moment: &str, input: &Value) -> String {
        let message = json!({ "hook_event_name": moment, "cwd": self.root, "tool_name": "X", "tool_input": input });
        let said = self.hook("hook claude", &message.to_string()).exits(0).stdout;
        assert!(said.is_empty() || said.contains("redgreen session dispute"), "{said}");
        said
    }

    fn begun_session(&self) -> &Self {
        self.redgreen("session start \"adds two numbers\"")
            .exits(0)
            .says("write one failing test (RED)");
        self
    }

    fn in_green(&self) -> &Self {
        self.begun_session().file("test_calc.py", TEST);
        self.redgreen("session check").exits(0).says("RED accepted");
        self
    }
}

#[test]
fn a_cycle_on_the_own_checkout_leaves_index_and_branches_alone() {
    let story = Story::new();
    story.file("note.txt", "untracked\n").file("staged.txt", "staged\n");
    story.git("add staged.txt");
    let before = story.belongings();
    story.begun_session();
    assert_eq!(story.belongings(), before, "a session begins without a trace");
    story.file("test_calc.py", TEST);
    let red = story.redgreen("session check --json").exits(0).json();
    assert_eq!(
        (red["phase"].as_str(), red["verdict"].as_str()),
        (Some("RED"), Some("accepted")),
        "{red}"
    );
    assert_eq!(red["session"]["stage"]["name"], "green");
    story
        .redgreen("session check")
        .exits(0)
        .says("nothing changed since the last accepted verdict");
    story.redgreen("session end").exits(2).says("the work in this session is owed");
    story.file("calc.py", CODE);
    story.redgreen("session check").exits(0).says("GREEN accepted");
    story.file("calc.py", "def add(first, second):\n    return first + second\n");
    story.redgreen("session check").exits(0).says("REFACTOR accepted");
    story.redgreen("session end").exits(0).says("its work is proven").says("RED, GREEN, REFACTOR");
    let mut after = story.belongings();
    for made in ["calc.py", "test_calc.py"] {
        assert!(after.remove(made).is_some());
    }
    assert_eq!(after, before);
    assert_eq!(story.git("for-each-ref refs/worktree refs/redgreen"), "");
    story.redgreen("session status").exits(2).says("no session is open");
}

#[test]
fn accepted_steps_are_committed_with_their_prefix_and_handoff() {
    let story = Story::new();
    story.file("staged.txt", "staged\n");
    story.git("add staged.txt");
    story.begun_session().file("test_calc.py", TEST);
    story.redgreen("session check --commit").exits(0);
    story.file("calc.py", CODE);
    story.redgreen("session check --commit -m \"add, for two numbers\"").exits(0);
    assert_eq!(story.log("main~2..main"), ["test: adds two numbers", "feat: add, for two numbers"]);
    assert_eq!(
        story.git("diff --cached --name-only"),
        "staged.txt",
        "what else was staged stays staged"
    );
    let note: Value =
        serde_json::from_str(&story.git("notes --ref=tdd-handoffs show main")).unwrap();
    assert_eq!(
        (note["phase"].as_str(), note["cycleNumber"].as_u64()),
        (Some("GREEN"), Some(1)),
        "{note}"
    );
    story.redgreen("history").exits(0).says("GREEN");
}

#[test]
fn what_a_step_is_judged_as_is_reported_by_what_it_changes() {
    let story = Story::new();
    story.begun_session().file("test_calc.py", TEST).file("calc.py", CODE);
    story
        .redgreen("session check")
        .exits(1)
        .says("red.touches_implementation")
        .says("session dispute");
    fs::remove_file(story.root.join("calc.py")).unwrap();
    story.redgreen("session check").exits(0).says("RED accepted");
    story.file("calc.py", CODE);
    story.redgreen("session check").exits(0).says("GREEN accepted");
    // A test for existing code passes at once, so this step only adds coverage.
    story.file(
        "test_calc.py",
        &format!("{TEST}\n    def test_zero(self):\n        assert add(0, 0) == 0\n"),
    );
    story.redgreen("session check").exits(0).says("REFACTOR accepted");
    // A feature without a test is not a refactoring.
    story.file("calc.py", &format!("{CODE}\n\ndef sub(a, b):\n    return a - b\n"));
    story.redgreen("session check").exits(1).says("refactor.new_feature");
}

#[test]
fn a_red_whose_file_does_not_load_names_its_new_tests() {
    let story = Story::new();
    story.in_green().file("calc.py", CODE);
    story.redgreen("session check").exits(0).says("GREEN accepted");
    let more = TEST.replace("import add", "import add, sub");
    story.file(
        "test_calc.py",
        &format!("{more}\n    def test_subtracts(self):\n        assert sub(5, 3) == 2\n"),
    );
    story
        .redgreen("session check")
        .exits(0)
        .says("RED accepted")
        .says("make Tests::test_subtracts of test_calc.py pass");
}

#[test]
fn edits_that_the_judge_would_refuse_are_denied_and_others_are_not() {
    let story = Story::pytest();
    let edit = |path: &str, old: &str, new: &str| json!({ "file_path": path, "old_string": old, "new_string": new });
    assert_eq!(
        story.asked("PreToolUse", &edit("pytest.ini", "[pytest]", "")),
        "",
        "no session, nothing to say"
    );
    story.in_green();
    let full = story.root.join("test_calc.py").display().to_string();
    for path in ["test_calc.py", "./x/../test_calc.py", &full] {
        let said = story.asked("PreToolUse", &edit(path, "== 3", "!= 9"));
        assert!(said.contains("\"deny\"") && said.contains("test_adds changed"), "{said}");
        assert!(
            said.contains("redgreen session dispute"),
            "every refusal names the way out: {said}"
        );
    }
    for denied in [
        edit("pytest.ini", "[pytest]", "[pytest]\naddopts = -k none"),
        json!({ "file_path": "conftest.py", "content": "import calc\ncalc.add = 3\n" }),
        json!({ "file_path": ".git/hooks/pre-commit", "content": "exit 0" }),
        json!({ "command": "redgreen session end --unproven" }),
    ] {
        assert!(story.asked("PreToolUse", &denied).contains("\"deny\""), "{denied}");
    }
    for free in [
        json!({ "file_path": "calc.py", "content": CODE }),
        json!({ "file_path": "test_more.py", "content": TEST }),
        json!({ "file_path": "../elsewhere.py", "content": "" }),
        json!({ "file_path": "README.md", "content": "# Calculator" }),
        json!({ "file_path": "test_calc.py" }),
        json!({ "command": "python -m pytest" }),
    ] {
        assert_eq!(story.asked("PreToolUse", &free), "", "{free}");
    }
}

#[test]
fn what_a_command_did_behind_the_edit_tools_is_told_at_once() {
    let story = Story::new();
    story.in_green();
    let shell = json!({ "command": "sed -i s/3/4/ test_calc.py" });
    assert_eq!(story.asked("PostToolUse", &shell), "");
    story
        .file("test_calc.py", &TEST.replace("== 3", "!= 9"))
        .file("conftest.py", "import os\nos.umask(0)\n");
    let said = story.asked("PostToolUse", &shell);
    assert!(said.contains("test_adds changed") && said.contains("conftest.py is new"), "{said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    let reason = said["reason"].as_str().unwrap();
    let back = reason.lines().find_map(|line| line.strip_prefix("Restore it: ")).unwrap();
    assert!(story.command("sh").args(["-c", back]).status().unwrap().success(), "{back}");
    assert_eq!(story.asked("PostToolUse", &shell), "");
    assert_eq!(fs::read_to_string(story.root.join("test_calc.py")).unwrap(), TEST);
}

#[test]
fn a_stop_is_blocked_until_the_work_is_proven_or_stuck() {
    let story = Story::new();
    assert_eq!(story.asked("Stop", &Value::Null), "");
    story.in_green();
    let said = story.asked("Stop", &Value::Null);
    assert!(said.contains("systemMessage") && said.contains("not done yet"), "{said}");
    story.file("calc.py", "def add(a, b):\n    return 3\n");
    for _ in 0..3 {
        let said = story.asked("Stop", &Value::Null);
        assert!(said.contains("\"block\"") && said.contains("green.still_failing"), "{said}");
        assert!(said.contains("redgreen session dispute"), "{said}");
    }
    let said = story.asked("Stop", &Value::Null);
    assert!(said.contains("unproven") && !said.contains("\"block\""), "{said}");
    assert!(said.contains("redgreen session dispute"), "{said}");
    story.redgreen("session status").exits(0).says("unproven");
    story.file("calc.py", CODE);
    let said = story.asked("Stop", &Value::Null);
    assert!(said.contains("GREEN accepted") && !said.contains("\"block\""), "{said}");
}

#[test]
fn a_disputed_test_waits_for_a_human() {
    let story = Story::new();
    story.in_green();
    let line = "session dispute \"1 and 2 is 4\" --test test_calc.Tests.test_adds";
    story.redgreen(line).exits(3).says("a human decides");
    story.file("calc.py", CODE);
    story.redgreen("session check").exits(3).says("a test is disputed");
    let said = story.asked("Stop", &Value::Null);
    assert!(said.contains("1 and 2 is 4") && !said.contains("\"block\""), "{said}");
    // The human sees both texts.
    story
        .redgreen("session status")
        .exits(3)
        .says("adds two numbers")
        .says("assert add(1, 2) == 3");
    story.redgreen("session end").exits(2).says("redgreen session resolve keep|drop");
    story.redgreen("session resolve drop").exits(2).says("at a terminal");
    let (code, screen) = on_a_terminal(&story, "session resolve drop", &[("[yes/no] ", "yes\n")]);
    assert_eq!(code, Some(0), "{screen}");
    story.redgreen("session status").exits(0).says("write one failing test");
    let said = story.asked("PreToolUse", &json!({ "file_path": "test_calc.py", "content": "" }));
    assert_eq!(said, "", "the test may be changed now");
}

#[test]
fn steps_are_undone_and_files_stay() {
    let story = Story::new();
    story.in_green().file("calc.py", CODE);
    story.redgreen("session check").exits(0).says("GREEN accepted");
    story.redgreen("session undo").exits(0).says("GREEN is undone").says("to restore them: rm ");
    assert!(story.root.join("calc.py").exists());
    story.redgreen("session check").exits(0).says("GREEN accepted");
    story.redgreen("session undo").exits(0);
    story.redgreen("session undo").exits(0).says("RED is undone");
    story.redgreen("session undo").exits(2).says("no step has been accepted yet");
}

#[test]
fn records_that_are_gone_or_damaged_close_the_door() {
    let story = Story::new();
    story.in_green();
    let sessions = story.place("home").join(".local/state/redgreen/sessions");
    let record =
        fs::read_dir(&sessions).unwrap().next().unwrap().unwrap().path().join("session.json");
    let kept = fs::read(&record).unwrap();
    let edit = json!({ "file_path": "calc.py", "content": CODE });
    for text in [Some("{}"), Some("{\"version\": 7}"), None] {
        match text {
            Some(text) => fs::write(&record, text).unwrap(),
            None => fs::remove_file(&record).unwrap(),
        }
        let said = story.asked("PreToolUse", &edit);
        assert!(
            said.contains("\"deny\"") && said.contains("redgreen session end"),
            "{text:?} {said}"
        );
        let said = story.asked("Stop", &Value::Null);
        assert!(said.contains("unproven") && !said.contains("\"block\""), "{text:?} {said}");
        story.redgreen("session check").exits(4).says("session end");
    }
    fs::write(&record, kept).unwrap();
    assert_eq!(story.asked("PreToolUse", &edit), "");
    // The git folder holds nothing of the session that an agent could remove.
    fs::remove_dir_all(story.root.join(".git/redgreen")).ok();
    story.redgreen("session status").exits(0).says("GREEN");
    fs::remove_file(&record).unwrap();
    story.redgreen("session end").exits(0).says("its work is unproven");
    story.redgreen("session status").exits(2).says("no session is open");
}

/// redgreen commits its own records under its own name. A commit for the user needs the user's
/// name.
#[test]
fn a_session_needs_no_name_of_the_user() {
    let story = Story::new();
    story.git("config --unset user.name");
    story.git("config --unset user.email");
    story.git("config user.useConfigOnly true");
    story.in_green();
    assert_eq!(story.git("log -1 --format=%an refs/worktree/redgreen/session"), "redgreen");
    story.redgreen("session check --commit").exits(4).says(
        "git could not commit; the accepted \
                    verdict stays valid",
    );
    story.file("test_calc.py", "");
    story.redgreen("session end --unproven").exits(0);
    let kept = story.git("for-each-ref --format=%(refname) refs/redgreen/salvage");
    assert_eq!(
        story.git(&format!("show {kept}:test_calc.py")),
        TEST.trim_end(),
        "work is not lost for want of a name"
    );
}

#[test]
fn another_worktree_has_a_session_of_its_own() {
    let story = Story::new();
    story.begun_session();
    let other = story.place("other");
    story
        .command("git")
        .args(["worktree", "add", "-q"])
        .arg(&other)
        .arg("-b")
        .arg("other")
        .output()
        .unwrap();
    let there = |line: &str| {
        let mut command = story.prepare(line);
        ProgramOutput::of(line, &command.current_dir(&other).output().unwrap())
    };
    there("session status").exits(2).says("no session is open");
    there("session start elsewhere").exits(0);
    there("session status").exits(0).says("elsewhere");
    story.redgreen("session status").exits(0).says("adds two numbers");
    there("session end").exits(0);
    story.redgreen("session status").exits(0);
}

#[test]
fn killed_at_any_time_nothing_of_the_users_changes() {
    let story = Story::new();
    story.file("note.txt", "untracked\n");
    story.begun_session().file("test_calc.py", TEST);
    let before = story.belongings();
    for delay in [20, 60, 120, 250, 400, 700, 1100, 1600] {
        let mut child = story
            .prepare("session check")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(delay));
        child.kill().ok();
        child.wait().unwrap();
        assert_eq!(story.belongings(), before, "{delay} ms");
        let status = story.redgreen("session status --json").exits(0).json();
        let stage = status["stage"]["name"].as_str().unwrap().to_owned();
        assert!(
            matches!(
                (stage.as_str(), status["standing"].as_str()),
                ("open", Some("unproven")) | ("green", Some("owed"))
            ),
            "{status}"
        );
    }
    story.redgreen("session check").exits(0);
    let mut child = story.prepare("session end --unproven").spawn().unwrap();
    thread::sleep(Duration::from_millis(10));
    child.kill().ok();
    child.wait().unwrap();
    story.redgreen("session end --unproven");
    assert_eq!(story.belongings(), before);
    assert_eq!(story.git("for-each-ref refs/worktree"), "");
}

#[test]
fn messages_that_are_none_are_a_no() {
    let story = Story::new();
    for message in ["", "rubbish", "[]", "{\"hook_event_name\":", "\u{feff}{}"] {
        story.hook("hook claude", message).exits(2).says("redgreen session status");
    }
    story.hook("hook claude", &" ".repeat(100 << 20)).exits(2).says("longer than 4 MiB");
    story.hook("hook claude", "{\"hook_event_name\":\"Whatever\",\"version\":99}").exits(0);
    story.redgreen("hook git pre-push").exits(2).says("redgreen init --with git");
}

#[test]
fn git_commits_nothing_that_would_be_refused() {
    let story = Story::new();
    story.redgreen("hook git pre-commit").exits(0);
    story.in_green().file("test_calc.py", &TEST.replace("== 3", "!= 9"));
    story.redgreen("hook git pre-commit").exits(0);
    story.git("add -A");
    story.redgreen("hook git pre-commit").exits(1).says("test_adds changed");
}

/// Agents call several tools at once, and each of them calls the hook.
#[test]
fn hooks_at_the_same_time_agree() {
    const ROUNDS: usize = 3;
    const AT_ONCE: usize = 10;
    let story = Story::new();
    story.in_green();
    for round in 0..ROUNDS {
        story.file(&format!("note{round}.txt"), "new\n");
        thread::scope(|scope| {
            let asked: Vec<_> = (0..AT_ONCE)
                .map(|_| scope.spawn(|| story.asked("PostToolUse", &json!({ "command": "x" }))))
                .collect();
            for answer in asked {
                assert_eq!(answer.join().unwrap(), "");
            }
        });
    }
}

/// Settings of redgreen decide how the next steps are judged.
#[test]
fn an_agent_cannot_weaken_the_settings_of_redgreen() {
    let story = Story::new();
    let settings = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    story.begun_session();
    let weaker = "[test]\nmutants = 0\n";
    let edit = json!({ "file_path": "redgreen.toml", "content": weaker });
    let said = story.asked("PreToolUse", &edit);
    assert!(said.contains("\"deny\"") && said.contains("ask the human"), "{said}");
    story.file("test_calc.py", TEST).file("redgreen.toml", weaker);
    let said = story.asked("PostToolUse", &json!({ "command": "x" }));
    assert!(said.contains("redgreen.toml was changed"), "{said}");
    story.redgreen("session check").exits(1).says("redgreen.toml was changed");
    story.file("redgreen.toml", &settings);
    story.redgreen("session check").exits(0).says("RED accepted");
    story.file("calc.py", CODE).file("redgreen.toml", weaker);
    story.redgreen("session check").exits(1).says("redgreen.toml was changed");
}

/// Coding agents clone repositories and make worktrees inside the checkout.
#[test]
fn nested_repositories_are_not_judged() {
    let story = Story::new();
    story.begun_session();
    story.git("init -q dep");
    story.file("dep/a.py", "x = 1\n").file("test_calc.py", TEST);
    let words = "dep is a separate git repository; tests run without its files";
    story.redgreen("session status").exits(0).says(words);
    assert_eq!(story.asked("PostToolUse", &json!({ "command": "git clone x dep" })), "");
    story.redgreen("session check").exits(0).says("RED accepted").says(words);
    story.file("calc.py", "from dep.a import x\n\n\ndef add(a, b):\n    return a + b\n");
    story.redgreen("session check").exits(1).says("No module named 'dep'").says(words);
    story.file("calc.py", CODE);
    story.redgreen("session check").exits(0).says("GREEN accepted");
    let dirty = "judge green --head WORKTREE";
    story.redgreen(dirty).exits(2).says("ignore it: echo /dep/ >> .gitignore");
    story.redgreen("session end").exits(0).says("its work is proven");
}

#[test]
fn a_session_whose_files_cannot_be_read_ends_without_losing_accepted_work() {
    let story = Story::new();
    story.in_green();
    let sessions = story.place("home/.local/state/redgreen/sessions");
    let own = fs::read_dir(&sessions).unwrap().next().unwrap().unwrap().path();
    fs::remove_dir_all(own.join("files")).unwrap();
    fs::write(own.join("files"), "").unwrap();
    story.redgreen("session end").exits(2).says("so it was not ended");
    story.redgreen("session end --unproven").exits(0).says("its work is unproven");
    let kept = story.git("for-each-ref --format=%(refname) refs/redgreen/salvage");
    assert_eq!(story.git(&format!("show {kept}:test_calc.py")), TEST.trim_end());
    story.redgreen("session status").exits(2).says("no session is open");
}

#[test]
fn a_session_begins_after_the_first_commit() {
    let story = Story::bare_folder();
    story.git("init -q -b main");
    story.file("test_calc.py", TEST);
    story.redgreen("session start x").exits(4).says("the repository has no commit yet");
}
