//! The effect of each action in a worktree, and how turns end.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use redgreen_core::agent::{Cost, Failure as Ended, Turn};
use redgreen_core::phase::Role;

use super::{LIMIT, assignment, orders, take};
use crate::agent::script::Script;
use crate::agent::{Agent, TurnOutput};
use crate::process::{Interrupted, Limits, Program, Stop};

/// A worktree inside another folder, with the files `a` and `b`.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.worktree()).unwrap();
        fs::write(place.worktree().join("a"), "one two two").unwrap();
        fs::write(place.worktree().join("b"), "b").unwrap();
        place
    }

    fn worktree(&self) -> std::path::PathBuf {
        self.0.path().join("worktree")
    }

    fn play(&self, actions: &str) -> TurnOutput {
        self.play_within(actions, LIMIT)
    }

    fn play_within(&self, actions: &str, limit: Duration) -> TurnOutput {
        take(
            &format!("[[green]]\ndo = [{actions}]"),
            Role::Implementing,
            0,
            &self.worktree(),
            limit,
        )
    }

    fn shows(&self, path: &str) -> String {
        fs::read_to_string(self.worktree().join(path)).unwrap_or_else(|_| "(none)".to_owned())
    }
}

/// How a turn ended, in a few words.
fn ended(taken: &TurnOutput) -> String {
    match &taken.turn {
        Turn::Done { answer } => format!("done {answer}"),
        Turn::Failed { failure, message } => format!("{}: {message}", failure.as_str()),
    }
}

/// Plays one action and checks the end of the turn and the content of a file.
fn check(actions: &str, turn: &str, path: &str, text: &str) {
    let place = Place::new();
    let taken = place.play(actions);
    assert_eq!(ended(&taken), turn, "{actions}");
    assert_eq!(place.shows(path), text, "{actions}");
}

#[test]
fn writes_edits_and_deletes_files() {
    check("{ write = 'x/y/z', text = 'hi' }", "done ", "x/y/z", "hi");
    check("{ write = 'a', text = '' }", "done ", "a", "");
    check("{ append = 'b', text = 'c' }", "done ", "b", "bc");
    check("{ append = 'n/new', text = 'c' }", "done ", "n/new", "c");
    check("{ edit = 'a', old = 'one', new = '1' }", "done ", "a", "1 two two");
    check("{ delete = 'b' }", "done ", "b", "(none)");
    check("{ write = 'd/e', text = '' }, { delete = 'd' }", "done ", "d/e", "(none)");
}

#[test]
fn a_failing_action_ends_the_turn() {
    const GONE: &str = "No such file or directory (os error 2)";
    let twice = "agent.crash: edit a: the old text occurs 2 times; expected once";
    check("{ edit = 'a', old = 'two', new = '2' }, { delete = 'b' }", twice, "b", "b");
    check(
        "{ edit = 'a', old = 'six', new = '6' }",
        "agent.crash: edit a: the old text was not found",
        "a",
        "one two two",
    );
    check(
        "{ edit = 'c', old = 'x', new = 'y' }",
        &format!("agent.crash: edit c: {GONE}"),
        "c",
        "(none)",
    );
    check("{ delete = 'c' }", &format!("agent.crash: delete c: {GONE}"), "c", "(none)");
    check(
        "{ write = 'a/b', text = '' }",
        "agent.crash: write a/b: File exists (os error 17)",
        "a",
        "one two two",
    );
}

#[test]
fn an_executable_can_be_run() {
    let place = Place::new();
    let taken =
        place.play("{ write = 'run', text = \"#!/bin/sh\\necho ran\", executable = true }, { shell = './run' }");
    assert_eq!(taken.transcript, "write run\n$ ./run\nran\n");
    assert_eq!(
        fs::metadata(place.worktree().join("run")).unwrap().permissions().mode() & 0o777,
        0o755
    );
}

#[test]
fn does_not_follow_links_out_of_the_worktree() {
    let place = Place::new();
    let outside = place.0.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "precious").unwrap();
    symlink(&outside, place.worktree().join("folder")).unwrap();
    symlink(outside.join("file"), place.worktree().join("file")).unwrap();
    symlink(outside.join("new"), place.worktree().join("dangling")).unwrap();
    symlink("a", place.worktree().join("near")).unwrap();
    for (action, ending) in [
        (
            "{ write = 'folder/x', text = '' }",
            "agent.crash: write folder/x: the path leaves the worktree through a link",
        ),
        (
            "{ write = 'folder/n/x', text = '' }",
            "agent.crash: write folder/n/x: the path leaves the worktree through a link",
        ),
        (
            "{ append = 'file', text = 'x' }",
            "agent.crash: append to file: the path leaves the worktree through a link",
        ),
        (
            "{ edit = 'file', old = 'p', new = '' }",
            "agent.crash: edit file: the path leaves the worktree through a link",
        ),
        (
            "{ delete = 'folder/file' }",
            "agent.crash: delete folder/file: the path leaves the worktree through a link",
        ),
        (
            "{ write = 'dangling', text = '' }",
            "agent.crash: write dangling: the path leads nowhere: No such file or directory (os error 2)",
        ),
        ("{ write = 'near', text = 'through' }", "done "),
        // The links are deleted, and their targets stay.
        ("{ delete = 'file' }, { delete = 'folder' }, { delete = 'dangling' }", "done "),
    ] {
        assert_eq!(ended(&place.play(action)), ending, "{action}");
    }
    assert_eq!(place.shows("a"), "through");
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "precious");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
}

#[test]
fn commands_run_in_the_worktree_with_the_assignment() {
    let place = Place::new();
    place.play(r#"{ shell = "env | grep -a -e ^REDGREEN -e ^EXTRA | grep -av ^REDGREEN_TEST_ | sort > env; basename $PWD >> env" }"#);
    assert_eq!(
        place.shows("env"),
        "EXTRA=given\nREDGREEN_ATTEMPT=3\nREDGREEN_CANDIDATE=\nREDGREEN_CYCLE=2\nREDGREEN_MESSAGES=\nREDGREEN_PHASE=GREEN\n\
         REDGREEN_REQUEST=Add\u{fffd} zeros\nREDGREEN_ROLE=implementing\nREDGREEN_TROUBLE=green.still_failing: 1 fails\nworktree\n"
    );
}

#[test]
fn a_failing_command_is_recorded_or_ends_the_turn() {
    let place = Place::new();
    let noted = place.play("{ shell = 'echo out; echo err >&2; exit 3' }, { print = 'on' }");
    assert_eq!(noted.transcript, "$ echo out; echo err >&2; exit 3\nout\nerr\n(exit 3)\non\n");
    assert_eq!(ended(&noted), "done ");
    let fatal = place.play("{ shell = 'exit 3', must-succeed = true }, { delete = 'a' }");
    assert_eq!(ended(&fatal), "agent.crash: exit 3: exit 3");
    assert_eq!(place.shows("a"), "one two two");
}

#[test]
fn an_agent_may_commit() {
    let place = Place::new();
    let git = |line: &str| {
        let limits = Limits { wall: LIMIT, output_bytes_max: 1 << 16 };
        let program =
            Program::shell(line).cwd(place.worktree()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        program.output(limits, &Stop::default()).unwrap().stdout_text()
    };
    git("git init -q");
    let taken = place.play("{ commit = \"it's $mine\" }, { commit = 'again' }");
    assert_eq!(
        git("git log --format='%s, %an' && git status --short"),
        "it's $mine, scripted agent\n"
    );
    assert!(
        taken.transcript.ends_with("nothing to commit, working tree clean\n(exit 1)\n"),
        "{}",
        taken.transcript
    );
}

#[test]
fn time_is_limited_and_waiting_can_be_interrupted() {
    let place = Place::new();
    let soon = Duration::from_millis(200);
    let timeout = "agent.timeout: not done after 0.2 s";
    assert_eq!(ended(&place.play("{ wait = 0.05 }")), "done ");
    for endless in ["{ hang = true }", "{ wait = 60 }", "{ shell = 'sleep 60' }"] {
        let started = Instant::now();
        assert_eq!(ended(&place.play_within(endless, soon)), timeout, "{endless}");
        assert!(started.elapsed() < LIMIT, "{endless}");
    }
    let agent =
        Agent::Scripted(Script::parse("kata.toml", "[[red]]\ndo = [{ wait = 60 }]").unwrap());
    let stop = Stop::default();
    let pressed = stop.clone();
    thread::spawn(move || {
        thread::sleep(soon);
        pressed.request();
    });
    let error = agent
        .take_turn(&mut orders(
            &assignment(Role::Test, 0),
            &place.worktree(),
            &[],
            LIMIT,
            &stop,
            &mut |_| {},
        ))
        .unwrap_err();
    assert!(error.is::<Interrupted>(), "{error:#}");
}

#[test]
fn truncates_a_flood_of_output() {
    let taken = Place::new().play("{ flood = 20_000_000 }");
    assert_eq!(ended(&taken), "done ");
    assert!(taken.transcript.starts_with("$ flood of 20000000 bytes\nxxx"));
    assert!(taken.transcript.contains("output cut here") && taken.transcript.len() < 1 << 20);
}

#[test]
fn a_daemon_outlives_its_turn() {
    let place = Place::new();
    let taken = place.play("{ daemon = 'sleep 1; echo alive > later' }");
    assert_eq!(ended(&taken), "done ");
    assert_eq!(place.shows("later"), "(none)");
    assert!(eventually(&place.worktree().join("later")));
}

fn eventually(path: &Path) -> bool {
    let end = Instant::now() + LIMIT;
    while !path.exists() && Instant::now() < end {
        thread::sleep(Duration::from_millis(50));
    }
    path.exists()
}

#[test]
fn writes_outside_only_on_purpose() {
    let place = Place::new();
    let absolute = place.0.path().join("sub/absolute");
    let actions = format!(
        "{{ write-outside = '../near', text = 'out' }}, {{ write-outside = '{}', text = 'far' }}, \
         {{ write-outside = '/dev/null/x', text = 'no' }}, {{ print = 'on' }}",
        absolute.display()
    );
    let taken = place.play(&actions);
    assert_eq!(ended(&taken), "done ");
    assert_eq!(place.shows("../near"), "out");
    assert_eq!(fs::read_to_string(absolute).unwrap(), "far");
    assert!(
        taken.transcript.contains("(exit ") && taken.transcript.ends_with("on\n"),
        "{}",
        taken.transcript
    );
}

/// The n-th turn of a role in a script of two turns for plan, two for red, and none for the others.
#[test]
fn turns_are_counted_by_role() {
    const SCRIPT: &str = r#"
agent = "kata"
[[plan]]
next = { description = "adds", test-file = "t.py", impl-file = "c.py" }
[[red]]
note = "first"
do = [{ print = "hello" }]
answer = "one"
tokens = 12
dollars = 0.02
[[red]]
fail = { kind = "rate-limit", message = "slow down", retry-after = 2.5 }
[[plan]]
done = true
"#;
    let place = Place::new();
    for (role, turn, ending) in [
        (
            Role::TestList,
            0,
            r#"done {"currentTest":{"description":"adds","testFile":"t.py","implFile":"c.py"}}"#,
        ),
        (Role::TestList, 1, r#"done {"currentTest":null}"#),
        (
            Role::TestList,
            2,
            "agent.unusable: the script kata.toml has 2 turns for plan; this run asked for turn 3",
        ),
        (Role::Test, 0, "done one"),
        (Role::Test, 1, "agent.rate_limit: slow down"),
        (
            Role::Test,
            u32::MAX,
            "agent.unusable: the script kata.toml has 2 turns for red; this run asked for turn 4294967296",
        ),
        (
            Role::Implementing,
            0,
            "agent.unusable: the script kata.toml has no turns for green; this run asked for turn 1",
        ),
        (Role::Diagnosis, 0, "done "),
        (Role::Refactor, 7, "done "),
    ] {
        assert_eq!(
            ended(&take(SCRIPT, role, turn, &place.worktree(), LIMIT)),
            ending,
            "{role} {turn}"
        );
    }
    let first = take(SCRIPT, Role::Test, 0, &place.worktree(), LIMIT);
    assert_eq!(first.transcript, "# first\nhello\nanswer: one\n");
    assert_eq!(
        first.cost,
        Cost { tokens: Some(12), microdollars: Some(20_000), ..Cost::default() }
    );
    let second = take(SCRIPT, Role::Test, 1, &place.worktree(), LIMIT);
    let failure = Ended::RateLimit { retry_after_ms: Some(2500) };
    assert_eq!(second.turn, Turn::Failed { failure, message: "slow down".to_owned() });
    assert_eq!(second.cost, Cost::default(), "unknown is not zero");
    assert_eq!(Agent::Scripted(Script::parse("kata.toml", SCRIPT).unwrap()).name(), "kata");
    assert_eq!(
        Agent::Scripted(Script::parse("x.toml", "[[red]]").unwrap()).name(),
        "script x.toml"
    );
}

#[test]
fn normalises_line_ends_of_written_files() {
    let place = Place::new();
    let script =
        "\u{feff}[[green]]\r\n[[green.do]]\r\nwrite = 'a'\r\ntext = '''\r\nx\r\ny\r\n'''\r\n";
    take(script, Role::Implementing, 0, &place.worktree(), LIMIT);
    assert_eq!(place.shows("a"), "x\ny\n");
}
