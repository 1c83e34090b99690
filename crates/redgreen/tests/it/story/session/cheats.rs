//! An agent's attacks on the session itself: on its records, its folders, its hooks and git's
//! hooks.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use redgreen::config::Environment;
use redgreen::ops::hook::answer;
use redgreen::process::Stop;
use redgreen_core::hook::{HookEvent, read};
use serde_json::{Value, json};

use super::{CODE, TEST};
use crate::story::{ProgramOutput, Story};

impl Story {
    /// The folder with redgreen's state.
    fn state(&self) -> PathBuf {
        self.place("home").join(".local/state/redgreen")
    }

    /// The record of the only session.
    fn record(&self) -> PathBuf {
        let mut sessions = fs::read_dir(self.state().join("sessions")).unwrap();
        sessions.next().unwrap().unwrap().path().join("session.json")
    }

    /// The checkout's files as a git tree.
    fn tree(&self) -> String {
        self.git("add -A");
        let tree = self.git("write-tree");
        self.git("reset -q");
        tree
    }

    /// The answer to a message from Claude Code, with the hook started in another folder.
    fn asked_in(&self, folder: &Path, message: &Value) -> String {
        let mut child = self
            .prepare("hook claude")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(message.to_string().as_bytes()).unwrap();
        ProgramOutput::of("hook claude", &child.wait_with_output().unwrap()).exits(0).stdout
    }
}

#[test]
fn a_forged_record_is_never_proven() {
    let story = Story::new();
    story.in_green();
    let record = story.record();
    let kept = fs::read(&record).unwrap();
    story.file("test_calc.py", &TEST.replace("== 3", "!= 9")).file("calc.py", CODE);
    let (weaker, commits) = (story.tree(), story.git("rev-parse HEAD"));
    let step = |phase: &str, before: &Value| {
        json!({ "phase": phase, "codes": [], "at": 1, "before": before, "stage": { "name": "open" },
                "cycle": 1 })
    };
    type Forge<'a> = &'a dyn Fn(&mut Value);
    let forgeries: [(&str, Forge<'_>); 6] = [
        ("another accepted tree", &|record| record["accepted"] = json!(weaker)),
        ("another tree and stage", &|record| {
            record["accepted"] = json!(weaker);
            record["stage"] = json!({ "name": "open" });
        }),
        ("the test need not pass any more", &|record| record["stage"] = json!({ "name": "open" })),
        ("a GREEN that nobody accepted", &|record| {
            let before = record["accepted"].clone();
            record["steps"].as_array_mut().unwrap().push(step("GREEN", &before));
            record["accepted"] = json!(weaker);
            record["stage"] = json!({ "name": "open" });
        }),
        ("a session that began with other files", &|record| {
            record["accepted"] = json!(weaker);
            record["committed"] = json!(weaker);
            record["steps"] = json!([]);
            record["stage"] = json!({ "name": "open" });
        }),
        ("another commit", &|record| record["committed"] = json!(weaker)),
    ];
    for (name, forge) in forgeries {
        let mut value: Value = serde_json::from_slice(&kept).unwrap();
        forge(&mut value);
        fs::write(&record, value.to_string()).unwrap();
        for line in ["session status", "session check", "session check --commit"] {
            let said =
                story.redgreen(line).exits(4).says("does not match").says("redgreen session end");
            assert!(!said.stdout.contains("proven"), "{name}: {said:?}");
        }
        assert_eq!(story.git("rev-parse HEAD"), commits, "{name}");
        let said = story.asked("Stop", &Value::Null);
        assert!(said.contains("unproven") && !said.contains("\"block\""), "{name}: {said}");
        let said =
            story.asked("PreToolUse", &json!({ "file_path": "test_calc.py", "content": "" }));
        assert!(said.contains("\"deny\"") && said.contains("does not match"), "{name}: {said}");
        let said = story.asked("PostToolUse", &json!({ "command": "true" }));
        assert!(said.contains("does not match"), "a command's effect is told: {name}: {said}");
        story.redgreen("hook git pre-commit").exits(4).says("does not match");
    }
    fs::write(&record, kept).unwrap();
    story.file("test_calc.py", TEST);
    story.redgreen("session check").exits(0).says("GREEN accepted");
    // Without the ref, nothing records the accepted state.
    story.git("update-ref -d refs/worktree/redgreen/session");
    story.redgreen("session status").exits(4).says("does not match");
    story.redgreen("session end").exits(0).says("its work is unproven");
}

/// An agent that removes or forges the record cannot make the user delete what was accepted.
#[test]
fn accepted_files_are_kept_when_a_session_without_a_valid_record_ends() {
    for text in [None, Some("{}")] {
        let story = Story::new();
        story.in_green();
        match text {
            Some(text) => fs::write(story.record(), text).unwrap(),
            None => fs::remove_file(story.record()).unwrap(),
        }
        fs::remove_file(story.root.join("test_calc.py")).unwrap();
        let said = story.redgreen("session end").exits(0).says("redgreen salvage show");
        let kept = story.git("for-each-ref --format=%(refname) refs/redgreen/salvage");
        assert_eq!(story.git(&format!("show {kept}:test_calc.py")), TEST.trim_end(), "{said:?}");
    }
}

#[test]
fn steps_that_were_undone_and_judged_again_match_the_ref() {
    let story = Story::new();
    story.in_green().file("calc.py", CODE);
    for _ in 0..2 {
        story.redgreen("session check").exits(0).says("GREEN accepted");
        story.redgreen("session undo").exits(0).says("GREEN is undone");
    }
    story.redgreen("session check --commit").exits(0);
    story.redgreen("session undo").exits(0);
    story.redgreen("session undo").exits(0).says("RED is undone");
    story.redgreen("session status").exits(0).says("unproven");
}

#[test]
fn redgreens_own_folders_are_closed_to_edits() {
    let story = Story::new();
    story.in_green();
    let (record, state) = (story.record(), story.state());
    std::os::unix::fs::symlink(&state, story.root.join("notes")).unwrap();
    let inside = record.strip_prefix(&state).unwrap();
    for path in [
        record.clone(),
        state.join("sessions/new/session.json"),
        state.join("trust/anything"),
        Path::new("notes").join(inside),
        story.root.join("sub/../notes").join(inside),
        story.place("home").join(".config/redgreen/config.toml"),
    ] {
        let said = story.asked("PreToolUse", &json!({ "file_path": path, "content": "{}" }));
        assert!(
            said.contains("\"deny\"") && said.contains("belongs to redgreen"),
            "{path:?} {said}"
        );
    }
    // The git folder of a linked worktree is somewhere else.
    let other = story.place("other").display().to_string();
    story.git(&format!("worktree add -q -b other {other}"));
    let mut start = story.prepare("session start x");
    assert!(start.current_dir(&other).output().unwrap().status.success());
    let message = json!({ "hook_event_name": "PreToolUse", "cwd": other, "tool_input": {
        "file_path": story.root.join(".git/worktrees/other/refs/worktree/redgreen/session"),
        "content": "" } });
    let said = story.asked_in(Path::new(&other), &message);
    assert!(said.contains("\"deny\"") && said.contains("belongs to git"), "{said}");
}

/// The agent's working directory must not decide whether the session applies.
#[test]
fn a_session_is_found_from_wherever_the_agent_stands() {
    let story = Story::new();
    story.in_green();
    let (outside, nested) = (story.place("outside"), story.root.join("nested"));
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir_all(&nested).unwrap();
    story.git("init -q nested");
    let weaker = TEST.replace("== 3", "!= 9");
    let message = |moment: &str, cwd: &Path, input: Value| json!({ "hook_event_name": moment, "cwd": cwd, "tool_input": input });
    let test = story.root.join("test_calc.py");
    for (folder, path) in
        [(&outside, test.as_path()), (&nested, &test), (&nested, Path::new("../test_calc.py"))]
    {
        let edit = json!({ "file_path": path, "content": weaker });
        let said = story.asked_in(folder, &message("PreToolUse", folder, edit));
        assert!(said.contains("test_adds changed"), "{folder:?} {path:?} {said}");
    }
    // The hook's own folder counts even if the message names another one.
    let said = story.asked_in(
        &story.root,
        &message("PreToolUse", &outside, json!({ "command": "redgreen session end" })),
    );
    assert!(said.contains("\"deny\""), "{said}");
    fs::remove_dir_all(nested.join(".git")).unwrap();
    let said = story.asked_in(&story.root, &message("Stop", &outside, Value::Null));
    assert!(said.contains("not done yet"), "{said}");
    // The folders in the hosts' environment variables count too.
    let story = story.env("CLAUDE_PROJECT_DIR", "");
    let root = story.root.display().to_string();
    for name in ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"] {
        let mut child = story
            .prepare("hook claude")
            .env(name, &root)
            .current_dir(&outside)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stop = message("Stop", &outside, Value::Null).to_string();
        child.stdin.take().unwrap().write_all(stop.as_bytes()).unwrap();
        let said = ProgramOutput::of(name, &child.wait_with_output().unwrap()).exits(0).stdout;
        assert!(said.contains("not done yet"), "{name}: {said}");
    }
    // In a folder without a session, every action is allowed.
    let free = json!({ "file_path": outside.join("x.py"), "content": "" });
    assert_eq!(story.asked_in(&outside, &message("PreToolUse", &outside, free)), "");
    assert_eq!(story.asked_in(&outside, &message("Stop", &outside, Value::Null)), "");
}

/// An agent runs the command in its current folder.
#[test]
fn the_command_that_restores_files_works_in_every_folder() {
    let story = Story::new();
    story.file("pkg/conftest.py", "import os\n").file("pkg/.gitignore", "conftest.py\n");
    story.in_green();
    story
        .file("test_calc.py", &TEST.replace("== 3", "!= 9"))
        .file("conftest.py", "import os\nos.umask(0)\n");
    let pkg = story.root.join("pkg");
    let message =
        json!({ "hook_event_name": "PostToolUse", "cwd": pkg, "tool_input": { "command": "x" } });
    let said: Value = serde_json::from_str(&story.asked_in(&pkg, &message)).unwrap();
    let reason = said["reason"].as_str().unwrap();
    let back = reason.lines().find_map(|line| line.strip_prefix("Restore it: ")).unwrap();
    let mut shell = story.command("sh");
    assert!(shell.args(["-c", back]).current_dir(&pkg).status().unwrap().success(), "{back}");
    assert_eq!(fs::read_to_string(story.root.join("test_calc.py")).unwrap(), TEST);
    assert!(!story.root.join("conftest.py").exists(), "{back}");
    assert_eq!(fs::read_to_string(pkg.join("conftest.py")).unwrap(), "import os\n", "{back}");
    story.file("calc.py", CODE);
    story.redgreen("session check").exits(0).says("GREEN accepted");
    let undone = story.redgreen("session undo --json").exits(0).json();
    let back = undone["files"].as_str().unwrap().to_owned();
    let mut shell = story.command("sh");
    assert!(shell.args(["-c", &back]).current_dir(&pkg).status().unwrap().success(), "{back}");
    story.redgreen("session status").exits(0).says("owed");
}

/// `git commit -a` and `git commit -- file` commit a different index from the one in the git
/// folder.
#[test]
fn every_form_of_a_commit_is_checked() {
    let story = Story::new();
    story.redgreen("init --with git").exits(0);
    let own = Path::new(env!("CARGO_BIN_EXE_redgreen")).parent().unwrap().display().to_string();
    let path = story.command("sh").args(["-c", "printf %s \"$PATH\""]).output().unwrap().stdout;
    let story = story.env("PATH", &format!("{own}:{}", String::from_utf8(path).unwrap()));
    story.in_green();
    story.redgreen("session check --commit").exits(0);
    let commit = |arguments: &[&str], index: Option<&str>| {
        let mut git = story.command("git");
        git.args(["commit", "-q"]).args(arguments);
        if let Some(index) = index {
            git.env("GIT_INDEX_FILE", index);
        }
        let output = git.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    story.file("test_calc.py", &TEST.replace("== 3", "!= 9"));
    for arguments in
        [&["-am", "x"][..], &["-m", "x", "--", "test_calc.py"], &["-m", "x", "-i", "test_calc.py"]]
    {
        let (made, words) = commit(arguments, None);
        assert!(!made && words.contains("test_adds changed"), "{arguments:?} {words}");
    }
    // The hook does not read an index outside the git folder, so it rejects that commit.
    let elsewhere = story.place("index").display().to_string();
    fs::copy(story.root.join(".git/index"), &elsewhere).unwrap();
    let mut add = story.command("git");
    assert!(add.args(["add", "-A"]).env("GIT_INDEX_FILE", &elsewhere).status().unwrap().success());
    let (made, words) = commit(&["-m", "x"], Some(&elsewhere));
    assert!(!made && words.contains("GIT_INDEX_FILE"), "{words}");
    story.file("test_calc.py", TEST).file("calc.py", CODE);
    story.git("add calc.py");
    for arguments in [&["-am", "x"][..], &["-m", "y", "--allow-empty", "--", "calc.py"]] {
        let (made, words) = commit(arguments, None);
        assert!(made, "{arguments:?} {words}");
    }
}

/// An agent must not switch off the hooks.
#[test]
fn hooks_stay_on_in_a_session() {
    let story = Story::new();
    story.file(".gitignore", ".claude/\n__pycache__/\n").commit("ignored");
    story.redgreen("init --with claude").exits(0);
    story.begun_session();
    let home = story.place("home");
    let off = "{ \"disableAllHooks\": true }";
    for path in [
        story.root.join(".claude/settings.local.json"),
        story.root.join("sub/.claude/settings.json"),
        home.join(".claude/settings.json"),
    ] {
        let edit = |text: &str| json!({ "file_path": path, "content": text });
        let said = story.asked("PreToolUse", &edit(off));
        assert!(
            said.contains("\"deny\"") && said.contains("which hooks are called"),
            "{path:?} {said}"
        );
        assert_eq!(story.asked("PreToolUse", &edit("{ \"model\": \"opus\" }")), "", "{path:?}");
    }
    let settings = json!({ "file_path": ".claude/settings.json", "content": "{}" });
    let said = story.asked("PreToolUse", &settings);
    assert!(said.contains("\"deny\"") && said.contains("less often"), "{said}");
    let theirs = json!({ "file_path": home.join("notes.txt"), "content": off });
    assert_eq!(story.asked("PreToolUse", &theirs), "");
    for command in ["redgreen  session end --unproven", "redgreen -C . session end --unproven"] {
        let said = story.asked("PreToolUse", &json!({ "command": command }));
        assert!(said.contains("\"deny\""), "{command}: {said}");
    }
}

/// The hook answers every message, damaged or not.
#[test]
fn damaged_messages_are_answered_in_a_session() {
    const MESSAGES: usize = 300;
    let story = Story::new();
    story.in_green();
    let environment = Environment {
        state: Some(story.state()),
        home: Some(story.place("home")),
        ..Environment::default()
    };
    let root = story.root.display();
    let messages = [
        format!(r#"{{"cwd":"{root}","hook_event_name":"PreToolUse","tool_input":{{"file_path":"test_calc.py","old_string":"== 3","new_string":"!= 9"}}}}"#),
        format!(r#"{{"workspace_roots":["{root}"],"hook_event_name":"PreToolUse","args":{{"path":"../../x/\u0000/conftest.py","content":"import os"}}}}"#),
        format!(r#"{{"cwd":"{root}","hook_event_name":"PreToolUse","tool_input":{{"command":"*** Begin Patch\n*** Update File: .claude/settings.json\n@@\n-x\n+y\n*** End Patch"}}}}"#),
        r#"{"hook_event_name":"PreToolUse","tool_input":{"command":"sh -c \"redgreen 'session' end\""}}"#.to_owned(),
    ];
    // A fixed seed, so that the messages are the same in each run.
    let mut random: u64 = 0x5eed_0f12_de1a;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    let mut answered = 0;
    for number in 0..MESSAGES {
        let mut bytes = messages[number % messages.len()].as_bytes().to_vec();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = u8::try_from(next(256)).unwrap(),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]\",:0./\\"[next(11)]),
            }
        }
        let Ok(event) = read(&bytes, None) else { continue };
        // A Stop event would run the tests, so skip it.
        if event.moment != HookEvent::Stop {
            // An error is an answer too: it denies the edit.
            answer(&event, &story.root, &environment, &Stop::default()).ok();
            answered += 1;
        }
    }
    assert!(answered > MESSAGES / 10, "{answered}");
}
