//! A person at a terminal: the question at the end of a run, and colours.

use std::process::{Command, Output, Stdio};

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED};

/// Runs a command on its own terminal, types the answer to each question as it appears, and prints
/// everything that was on the screen. The test itself handles a question without an answer: the
/// script writes the screen to the file `asked`, then does what the file `go` says: `enter`, or
/// send a signal.
const TERMINAL: &str = r#"
import json, os, pty, select, signal, sys, time
place, command = sys.argv[1], sys.argv[2:]
with open(place + "/answers") as file:
    answers = [(question.encode(), answer and answer.encode()) for question, answer in json.load(file)]
pid, screen = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
shown, heard, end = b"", 0, time.time() + 300
while time.time() < end:
    try:
        if select.select([screen], [], [], 0.1)[0]:
            part = os.read(screen, 65536)
            if not part:
                break
            shown += part
    except OSError:
        break
    asked = [(shown.find(question, heard), question, answer) for question, answer in answers]
    at, question, answer = min((ask for ask in asked if ask[0] >= 0), default=(-1, b"", b""), key=lambda ask: ask[0])
    if at >= 0:
        heard = at + len(question)
        if answer is None:
            with open(place + "/screen", "wb") as file:
                file.write(shown)
            os.rename(place + "/screen", place + "/asked")
        else:
            os.write(screen, answer)
    go = place + "/go"
    if os.path.exists(go):
        word = open(go).read()
        os.remove(go)
        if word == "enter":
            os.write(screen, b"\n")
        else:
            os.kill(pid, getattr(signal, "SIG" + word))
sys.stdout.buffer.write(shown)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(code if code >= 0 else 128 - code)
"#;

/// The end of the question after a run.
const DECIDE: &str = "Enter to decide later] ";

const RUN: &str = "run --script @kata.toml \"an adder\"";

fn story() -> Story {
    let story = Story::new();
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story
}

fn typed(story: &Story, line: &str, answers: &str) -> (Option<i32>, String) {
    on_a_terminal(story, line, &[(DECIDE, answers)])
}

/// Runs `redgreen <line>` on a terminal and answers each question.
pub(super) fn on_a_terminal(
    story: &Story,
    line: &str,
    answers: &[(&str, &str)],
) -> (Option<i32>, String) {
    let answers: Vec<_> =
        answers.iter().map(|(question, answer)| (*question, Some(*answer))).collect();
    let Output { status, stdout, .. } = terminal(story, line, &answers).output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).replace("\r\n", "\n"))
}

/// The same command, not started yet. The test may answer one question itself.
pub(super) fn terminal(story: &Story, line: &str, answers: &[(&str, Option<&str>)]) -> Command {
    story
        .script("terminal.py", TERMINAL)
        .script("answers", &serde_json::to_string(answers).unwrap());
    let redgreen = story.prepare(line);
    let mut terminal = story.command("python3");
    terminal.arg(story.place("terminal.py")).arg(story.place("")).arg(redgreen.get_program());
    terminal.args(redgreen.get_args()).env("TERM", "xterm").stdin(Stdio::null());
    terminal
}

#[test]
fn approve_merges() {
    let story = story();
    let (code, screen) = typed(&story, RUN, "what\napprove\n");
    assert_eq!(code, Some(0), "{screen}");
    assert!(
        screen.contains(
            "expected `approve` (or `yes`), `abort`, `diff` or `more WORDS`, not \"what\""
        ),
        "{screen}"
    );
    assert!(screen.contains("+2     -0     calc.py"), "the files that would be merged:\n{screen}");
    assert!(screen.contains("\u{1b}[32m"), "colours on a terminal:\n{screen}");
    assert_eq!(story.git("log -1 --format=%P").split(' ').count(), 2);
}

#[test]
fn abort_cleans_up() {
    let story = story();
    let before = story.belongings();
    let (code, screen) = typed(&story, &format!("--color never {RUN}"), "abort\n");
    assert_eq!(code, Some(1), "{screen}");
    assert!(!screen.contains('\u{1b}'), "no colours:\n{screen}");
    assert_eq!(story.belongings(), before);
    assert_eq!(story.git("for-each-ref refs/heads/redgreen refs/redgreen/work"), "");
    story.redgreen("salvage").exits(0).says("the commits of an aborted run");
}

#[test]
fn enter_decides_later_and_no_input_does_not_ask() {
    let story = story().env("NO_COLOR", "1");
    let (code, screen) = typed(&story, RUN, "\n");
    assert_eq!(code, Some(3), "{screen}");
    assert!(!screen.contains('\u{1b}'), "no colours:\n{screen}");
    story.redgreen("status").exits(0).says("waiting for a human");
    let (code, screen) = typed(&story, "resume --no-input", "");
    assert_eq!(code, Some(3), "{screen}");
    assert!(!screen.contains("decide later"), "{screen}");
    let (code, screen) = typed(&story, "--json resume", "");
    assert_eq!(code, Some(3), "{screen}");
    assert!(!screen.contains("decide later"), "{screen}");
}

#[test]
fn without_a_terminal_there_are_no_colours_unless_asked() {
    let story = story();
    let plain = story.redgreen(RUN).exits(3);
    assert!(!plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'), "{plain:?}");
    assert!(!plain.stderr.contains("decide later"), "{}", plain.stderr);
    let loud = story.redgreen("--color always status").exits(0);
    assert!(loud.stdout.contains("\u{1b}[32mwaiting for a human"), "{}", loud.stdout);
    let quiet = story.redgreen("--quiet approve").exits(0);
    assert_eq!(quiet.stderr, "");
}
