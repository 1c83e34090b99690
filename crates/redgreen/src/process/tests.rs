//! Limits on programs that flood, hang, fork and ignore signals.

use std::fs;

use super::*;

const ROOMY: Limits = Limits { wall: Duration::from_secs(30), output_bytes_max: 1 << 20 };

fn run(line: &str, limits: Limits) -> Output {
    Program::shell(line).output(limits, &Stop::default()).unwrap()
}

fn within(wall: Duration) -> Limits {
    Limits { wall, ..ROOMY }
}

/// Whether a process still runs. A zombie does not.
fn runs(pid: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = state.rsplit_once(") ").map_or("", |(_, rest)| rest);
    !state.is_empty() && !state.starts_with('Z')
}

/// On a busy machine a killed process takes a moment to end.
fn is_gone(pid: &str) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while runs(pid) {
        assert!(Instant::now() < deadline, "the child {pid} still runs");
        thread::sleep(POLL);
    }
}

#[test]
fn reports_exit_codes_signals_and_both_streams() {
    let output = run("echo out; echo err >&2; exit 3", ROOMY);
    assert_eq!(
        (output.exit, output.stdout_text().as_str(), output.stderr_text().as_str()),
        (Exit::Code(3), "out\n", "err\n")
    );
    assert_eq!(run("kill -9 $$", ROOMY).exit, Exit::Signal(9));
}

#[test]
fn stdin_is_the_given_input_or_empty() {
    let fed = Program::new("cat").stdin("hello").output(ROOMY, &Stop::default()).unwrap();
    assert_eq!(fed.stdout_text(), "hello");
    assert_eq!(run("cat", ROOMY).stdout_text(), "");
    // More than a pipe holds, for a program that does not read it.
    let unread =
        Program::new("true").stdin(vec![0; 1 << 20]).output(ROOMY, &Stop::default()).unwrap();
    assert!(unread.success());
}

#[test]
fn kills_a_program_that_ignores_sigterm_and_its_child() {
    let line = "trap '' TERM; sleep 600 & echo $!; while :; do sleep 0.1; done";
    // A busy machine may need more than the first limit to start the child.
    let limits = [400, 4_000, 40_000].map(Duration::from_millis);
    let mut ran = limits.into_iter().map(|limit| (limit, run(line, within(limit))));
    let (limit, output) = ran
        .find(|(_, output)| !output.stdout.is_empty())
        .expect("the shell never got to its child");
    assert_eq!(output.exit, Exit::TimedOut);
    assert!(output.wall < limit + Duration::from_secs(20), "{:?}", output.wall);
    is_gone(output.stdout_text().trim());
}

#[test]
fn kills_children_when_the_parent_ends() {
    let output = run("sleep 60 >/dev/null 2>&1 & echo $!", ROOMY);
    assert!(output.success());
    is_gone(output.stdout_text().trim());
}

#[test]
fn drops_the_middle_of_too_much_output() {
    let limits = Limits { output_bytes_max: 64 << 10, ..ROOMY };
    let output = run("echo first; head -c 300000000 /dev/zero; echo last", limits);
    assert!(output.success() && output.cut);
    assert!(output.stdout.starts_with(b"first\n") && output.stdout.ends_with(b"last\n"));
    assert!(output.stdout.len() <= limits.output_bytes_max + 64, "{}", output.stdout.len());
    assert!(!run("echo little", limits).cut);
}

#[test]
fn does_not_wait_for_a_grandchild_that_keeps_the_pipe_open() {
    let output = run("setsid sleep 20 & echo done", ROOMY);
    assert!(output.success() && output.wall < Duration::from_secs(5), "{:?}", output.wall);
    assert_eq!(output.stdout_text(), "done\n");
}

#[test]
fn a_stop_request_ends_a_program() {
    let stop = Stop::default();
    let pressed = stop.clone();
    let presses = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        pressed.request();
    });
    let started = Instant::now();
    let error = Program::new("sleep").arg("600").output(ROOMY, &stop).unwrap_err();
    presses.join().unwrap();
    assert!(error.is::<Interrupted>() && started.elapsed() < ROOMY.wall);
}

#[test]
fn names_a_missing_program_and_quotes_arguments() {
    let error = Program::new("no-such-program").output(ROOMY, &Stop::default()).unwrap_err();
    assert_eq!(error.to_string(), "start no-such-program");
    assert_eq!(
        Program::new("echo").args(["a b", "it's", "c=1"]).line(),
        r"echo 'a b' 'it'\''s' c=1"
    );
}

#[test]
fn sets_the_environment_and_the_folder() {
    let program = Program::shell("echo $GREETING; pwd; echo $PWD").env("GREETING", "hi").cwd("/");
    assert_eq!(program.output(ROOMY, &Stop::default()).unwrap().stdout_text(), "hi\n/\n/\n");
    let removed =
        Program::shell("echo ${GREETING-none}").env("GREETING", "hi").env_remove("GREETING");
    assert_eq!(removed.output(ROOMY, &Stop::default()).unwrap().stdout_text(), "none\n");
}

#[test]
fn clears_the_environment_and_wraps_a_program() {
    let program = Program::new("/usr/bin/env").env_clear().env("GREETING", "hi");
    assert_eq!(program.output(ROOMY, &Stop::default()).unwrap().stdout_text(), "GREETING=hi\n");
    let wrapped = Program::new("echo").arg("a b").cwd("/").through(["env", "-i"]);
    assert_eq!(
        (wrapped.line().as_str(), wrapped.folder()),
        ("env -i echo 'a b'", Some(Path::new("/")))
    );
}

/// Runs a shell command with a listener that answers each line.
fn talk(line: &str, speaking: bool, answer: impl Fn(&str) -> Answer) -> (Output, Vec<String>) {
    let mut heard = Vec::new();
    let mut listener = |said: ProcessEvent<'_>| match said {
        ProcessEvent::Line { text, whole } => {
            let text = String::from_utf8_lossy(text).into_owned();
            let next = answer(&text);
            heard.push(if whole { text } else { format!("{} bytes of a line", text.len()) });
            next
        }
        ProcessEvent::Silence => Answer::Nothing,
        ProcessEvent::Unwanted => {
            heard.push("unwanted".to_owned());
            Answer::Nothing
        }
    };
    let attention = if speaking {
        Attention::Speaking(&mut listener)
    } else {
        Attention::Listening(&mut listener)
    };
    let program = Program::shell(line).stdin("first\n");
    let output =
        program.attended(within(Duration::from_secs(3)), &Stop::default(), attention).unwrap();
    (output, heard)
}

#[test]
fn a_listener_gets_every_line_even_without_a_line_break() {
    let (output, heard) = talk("cat; echo; printf 'a\\nb'", false, |_| Answer::Nothing);
    assert_eq!(
        (output.exit, heard.as_slice()),
        (Exit::Code(0), &["first", "a", "b"].map(str::to_owned)[..])
    );
}

#[test]
fn a_listener_can_answer_until_it_is_done() {
    let line = "while read line; do echo \"got $line\"; done; echo over";
    let (output, heard) = talk(line, true, |said| match said {
        "got first" => Answer::Say(b"second\nthird\n".to_vec()),
        "got third" => Answer::Done,
        _ => Answer::Nothing,
    });
    assert_eq!(output.exit, Exit::Code(0));
    assert_eq!(heard, ["got first", "got second", "got third", "over"]);
}

#[test]
fn a_listener_is_notified_before_the_program_is_killed() {
    let (output, heard) = talk("sleep 60", true, |_| Answer::Nothing);
    assert_eq!((output.exit, heard.as_slice()), (Exit::TimedOut, &["unwanted".to_owned()][..]));
}

#[test]
fn long_lines_are_truncated() {
    let (_, heard) = talk("head -c 9000000 /dev/zero; echo; echo b", false, |_| Answer::Nothing);
    assert_eq!(heard, ["4194304 bytes of a line", "b"]);
}

#[test]
fn a_watcher_gets_all_bytes_of_stdout() {
    let mut seen = Vec::new();
    let mut watcher = |bytes: &[u8]| seen.extend_from_slice(bytes);
    let program = Program::shell("printf a; printf no >&2; printf 'b\\nc'");
    let attention = Attention::Watching(&mut watcher);
    let output =
        program.attended(within(Duration::from_secs(20)), &Stop::default(), attention).unwrap();
    assert_eq!((output.exit, seen.as_slice()), (Exit::Code(0), &b"ab\nc"[..]));
}

#[test]
fn resolves_a_name_with_the_path_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let make = |path: &str, words: &str, mode: u32| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\necho {words}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    make("plain/greet", "no program", 0o644);
    make("first/greet", "first", 0o755);
    make("second/greet", "second", 0o755);
    let path = |names: &[&str]| {
        std::env::join_paths(names.iter().map(|name| folder.path().join(name))).unwrap()
    };
    for (names, said) in [
        (&["plain", "first", "second"][..], Some("first\n")),
        (&["second", "first"], Some("second\n")),
        (&["plain"], None),
    ] {
        let ran = Program::new("greet").env("PATH", path(names)).output(ROOMY, &Stop::default());
        assert_eq!(ran.ok().map(|output| output.stdout_text()).as_deref(), said, "{names:?}");
    }
    // Relative to the program's own folder, as the system does it.
    let own = Program::new("greet").env("PATH", "second").cwd(folder.path());
    assert_eq!(own.output(ROOMY, &Stop::default()).unwrap().stdout_text(), "second\n");
}
