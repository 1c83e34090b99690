//! A person at a terminal: the question at the end of a run, and colours.

use std::process::Output;

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED};

/// Runs a command on a terminal of its own, types the answer to each question that standard input names whenever it is
/// there, and prints everything that was on the screen.
const TERMINAL: &str = r#"
import json, os, pty, select, sys, time
answers = [(question.encode(), answer.encode()) for question, answer in json.load(sys.stdin)]
pid, screen = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
shown, heard, end = b"", 0, time.time() + 300
while time.time() < end:
    try:
        if select.select([screen], [], [], 1)[0]:
            part = os.read(screen, 65536)
            if not part:
                break
            shown += part
    except OSError:
        break
    asked = [(shown.find(question, heard), question, answer) for question, answer in answers]
    at, question, answer = min((ask for ask in asked if ask[0] >= 0), default=(-1, b"", b""))
    if at >= 0:
        heard = at + len(question)
        os.write(screen, answer)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// The last words of the question at the end of a run.
const DECIDE: &str = "Enter decides later] ";

const RUN: &str = "run --script @kata.toml \"an adder\"";

fn story() -> Story {
    let story = Story::new();
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story
}

fn typed(story: &Story, line: &str, answers: &str) -> (Option<i32>, String) {
    on_a_terminal(story, line, &[(DECIDE, answers)])
}

/// `redgreen <line>` on a terminal where someone types the answer to each question.
pub(super) fn on_a_terminal(story: &Story, line: &str, answers: &[(&str, &str)]) -> (Option<i32>, String) {
    story.script("terminal.py", TERMINAL).script("answers", &serde_json::to_string(answers).unwrap());
    let redgreen = story.prepare(line);
    let mut terminal = story.command("python3");
    terminal.arg(story.place("terminal.py")).arg(redgreen.get_program()).args(redgreen.get_args());
    terminal.env("TERM", "xterm").stdin(std::fs::File::open(story.place("answers")).unwrap());
    let Output { status, stdout, .. } = terminal.output().unwrap();
    (status.code(), String::from_utf8_lossy(&stdout).replace("\r\n", "\n"))
}

#[test]
fn approve_merges() {
    let story = story();
    let (code, screen) = typed(&story, RUN, "what\napprove\n");
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("\"what\" is none of `approve` (or `yes`), `abort` and `diff`"), "{screen}");
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
    story.redgreen("salvage").exits(0).says("the commits of a run that was aborted");
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
    assert!(!screen.contains("decides later"), "{screen}");
    let (code, screen) = typed(&story, "--json resume", "");
    assert_eq!(code, Some(3), "{screen}");
    assert!(!screen.contains("decides later"), "{screen}");
}

#[test]
fn without_a_terminal_there_are_no_colours_unless_asked() {
    let story = story();
    let plain = story.redgreen(RUN).exits(3);
    assert!(!plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'), "{plain:?}");
    assert!(!plain.stderr.contains("decides later"), "{}", plain.stderr);
    let loud = story.redgreen("--color always status").exits(0);
    assert!(loud.stdout.contains("\u{1b}[32mwaiting for a human"), "{}", loud.stdout);
    let quiet = story.redgreen("--quiet approve").exits(0);
    assert_eq!(quiet.stderr, "");
}
