//! Plays one turn of a script in the worktree. Errors in it are failures of the agent, not of
//! redgreen.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow::{self, Break, Continue};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::agent::{Assignment, Failure as Ended, Turn};
use redgreen_core::report::Exit;
use redgreen_core::steer::{self, USER_SAYS};

use super::{Action, End, Entry, Mode, OnError, place};
use crate::agent::{TurnInput, TurnOutput};
use crate::process::{Interrupted, Limits, Output, Program, Stop};

/// The limit of one command's output in the transcript.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// With a longer value the system refuses to start a program.
const ENV_BYTES_MAX: usize = 64 << 10;
const EXECUTABLE: u32 = 0o755;

/// Starts `$1` as a daemon that survives the end of its parent and process group.
const DAEMON: &str =
    r#": "$(setsid sh -c 'exec >/dev/null 2>&1 </dev/null; eval "$1"' sh "$1" &)""#;
const WRITE_STDIN: &str = r#"mkdir -p -- "$(dirname -- "$1")" && cat > "$1""#;
const COMMIT: &str = r#"git add -A && git -c user.name="$1" -c user.email="$2" commit --quiet --no-gpg-sign -m "$3""#;
const COMMITTER: (&str, &str) = ("scripted agent", "agent@redgreen.invalid");

/// The context of a turn, and its transcript so far.
pub(super) struct Stage<'a> {
    worktree: &'a Path,
    env: Vec<(String, String)>,
    started: Instant,
    time_limit: Duration,
    stop: &'a Stop,
    transcript: String,
}

/// Continue with the next action, or end the turn.
type Flow = ControlFlow<Turn>;

pub(super) fn entry(
    entry: &Entry,
    messages: &[String],
    mut stage: Stage<'_>,
) -> Result<TurnOutput> {
    if let Some(messages) = steer::shown(messages) {
        stage.say(&format!("{USER_SAYS}\n{messages}"));
    }
    if let Some(note) = &entry.note {
        stage.say(&format!("# {note}"));
    }
    let turn = match stage.perform_all(&entry.actions)? {
        Break(turn) => turn,
        Continue(()) => match &entry.end {
            End::Answer(answer) => Turn::Done { answer: answer.clone() },
            End::Fail { failure, message } => {
                Turn::Failed { failure: *failure, message: message.clone() }
            }
        },
    };
    match &turn {
        Turn::Done { answer } if answer.is_empty() => {}
        Turn::Done { answer } => stage.say(&format!("answer: {answer}")),
        Turn::Failed { failure, message } => stage.say(&format!("{}: {message}", failure.as_str())),
    }
    Ok(TurnOutput {
        turn,
        cost: entry.cost,
        transcript: stage.transcript,
        session: None,
        notices: Vec::new(),
    })
}

impl<'a> Stage<'a> {
    pub(super) fn new(orders: &TurnInput<'a>) -> Self {
        // The engine's variables come last and win.
        let env = told(orders.assignment).into_iter().chain(orders.env.iter().cloned()).collect();
        Self {
            worktree: orders.worktree,
            env,
            started: Instant::now(),
            time_limit: orders.time_limit,
            stop: orders.stop,
            transcript: String::new(),
        }
    }

    fn perform_all(&mut self, actions: &[Action]) -> Result<Flow> {
        for action in actions {
            if self.stop.requested() {
                return Err(Interrupted.into());
            }
            if self.time_left().is_zero() {
                return Ok(self.timed_out());
            }
            if let Break(turn) = self.perform(action)? {
                return Ok(Break(turn));
            }
        }
        Ok(Continue(()))
    }

    fn perform(&mut self, action: &Action) -> Result<Flow> {
        match action {
            Action::Write { path, text, mode } => {
                let done = place::inside(self.worktree, path)
                    .and_then(|full| write(&full, text, *mode).map_err(|error| error.to_string()));
                Ok(self.edited("write", path, done))
            }
            Action::Append { path, text } => {
                let done = place::inside(self.worktree, path)
                    .and_then(|full| append(&full, text).map_err(|error| error.to_string()));
                Ok(self.edited("append to", path, done))
            }
            Action::Edit { path, old, new } => {
                let done =
                    place::inside(self.worktree, path).and_then(|full| edit(&full, old, new));
                Ok(self.edited("edit", path, done))
            }
            Action::Delete { path } => {
                let done = place::entry_inside(self.worktree, path)
                    .and_then(|full| delete(&full).map_err(|error| error.to_string()));
                Ok(self.edited("delete", path, done))
            }
            Action::Shell { line, on_error } => self.run(line, &Program::shell(line), *on_error),
            Action::Commit { message } => {
                let args = ["-c", COMMIT, "sh", COMMITTER.0, COMMITTER.1, message];
                self.run(
                    &format!("commit {message}"),
                    &Program::new("sh").args(args),
                    OnError::GoOn,
                )
            }
            Action::Wait(time) => self.wait(*time),
            Action::Print(text) => {
                self.say(text);
                Ok(Continue(()))
            }
            Action::Hang => {
                self.say("hang");
                self.wait(Duration::MAX)
            }
            Action::Flood { bytes } => {
                let program = Program::shell(&format!("head -c {bytes} /dev/zero | tr '\\000' x"));
                self.run(&format!("flood of {bytes} bytes"), &program, OnError::GoOn)
            }
            Action::Daemon { line } => {
                let program = Program::new("sh").args(["-c", DAEMON, "sh", line]);
                self.run(&format!("daemon {line}"), &program, OnError::GoOn)
            }
            Action::WriteOutside { path, text } => {
                // Use another program, as a real agent would, to test the sandbox.
                let program = Program::new("sh")
                    .args(["-c", WRITE_STDIN, "sh"])
                    .arg(path)
                    .stdin(text.as_str());
                self.run(&format!("write outside {}", path.display()), &program, OnError::GoOn)
            }
        }
    }

    fn edited(&mut self, verb: &str, path: &Path, done: Result<(), String>) -> Flow {
        let path = path.display();
        match done {
            Ok(()) => {
                self.say(&format!("{verb} {path}"));
                Continue(())
            }
            Err(why) => crash(format!("{verb} {path}: {why}")),
        }
    }

    /// Runs a program for the remaining time, and records its output and exit status.
    fn run(&mut self, what: &str, program: &Program, on_error: OnError) -> Result<Flow> {
        self.say(&format!("$ {what}"));
        let limits = Limits { wall: self.time_left(), output_bytes_max: OUTPUT_BYTES_MAX };
        let output = self.with_environment(program).output(limits, self.stop)?;
        self.say(&printed(&output));
        if output.exit == Exit::TimedOut {
            return Ok(self.timed_out());
        }
        if output.success() {
            return Ok(Continue(()));
        }
        let ended = match output.exit {
            Exit::Code(code) => format!("exit {code}"),
            Exit::Signal(signal) => format!("killed by signal {signal}"),
            Exit::NotStarted | Exit::TimedOut => "did not finish".to_owned(),
        };
        self.say(&format!("({ended})"));
        Ok(match on_error {
            OnError::GoOn => Continue(()),
            OnError::Crash => crash(format!("{what}: {ended}")),
        })
    }

    fn with_environment(&self, program: &Program) -> Program {
        // Git sets these for hooks; a child that inherits them works on the wrong repository.
        let bare = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"]
            .iter()
            .fold(program.clone().cwd(self.worktree), |program, name| program.env_remove(*name));
        self.env.iter().fold(bare, |program, (name, value)| program.env(name, value))
    }

    fn wait(&mut self, time: Duration) -> Result<Flow> {
        let left = self.time_left();
        self.stop.sleep(time.min(left))?;
        Ok(if time < left { Continue(()) } else { self.timed_out() })
    }

    fn time_left(&self) -> Duration {
        self.time_limit.saturating_sub(self.started.elapsed())
    }

    fn timed_out(&self) -> Flow {
        let message = format!("not done after {:.1} s", self.time_limit.as_secs_f64());
        Break(Turn::Failed { failure: Ended::Timeout, message })
    }

    fn say(&mut self, text: &str) {
        self.transcript += text;
        if !text.is_empty() && !text.ends_with('\n') {
            self.transcript.push('\n');
        }
    }
}

fn crash(message: String) -> Flow {
    Break(Turn::Failed { failure: Ended::Crash, message })
}

/// The assignment as variables for commands of the script.
fn told(assignment: &Assignment) -> Vec<(String, String)> {
    let trouble = assignment.trouble.as_ref();
    // The reasons of a verdict already contain their codes.
    let trouble = trouble.map(|trouble| match trouble.message.starts_with(&trouble.kind) {
        true => trouble.message.clone(),
        false => format!("{}: {}", trouble.kind, trouble.message),
    });
    [
        ("REDGREEN_ROLE", assignment.role.to_string()),
        ("REDGREEN_PHASE", assignment.phase.to_string()),
        ("REDGREEN_CYCLE", assignment.cycle.to_string()),
        ("REDGREEN_ATTEMPT", assignment.attempt.to_string()),
        (
            "REDGREEN_CANDIDATE",
            assignment.candidate.map(|number| number.to_string()).unwrap_or_default(),
        ),
        ("REDGREEN_REQUEST", assignment.request.clone()),
        ("REDGREEN_TROUBLE", trouble.unwrap_or_default()),
        ("REDGREEN_MESSAGES", steer::shown(&assignment.messages).unwrap_or_default()),
    ]
    .map(|(name, value)| (name.to_owned(), fit_for_environment(&value)))
    .into()
}

fn fit_for_environment(value: &str) -> String {
    let end = value.floor_char_boundary(ENV_BYTES_MAX);
    value.get(..end).unwrap_or_default().replace('\0', "\u{fffd}")
}

fn write(path: &Path, text: &str, mode: Mode) -> io::Result<()> {
    make_folder_of(path)?;
    fs::write(path, text)?;
    match mode {
        Mode::Plain => Ok(()),
        Mode::Executable => fs::set_permissions(path, fs::Permissions::from_mode(EXECUTABLE)),
    }
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    make_folder_of(path)?;
    let mut file: File = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes())
}

fn make_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn edit(path: &Path, old: &str, new: &str) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    match text.matches(old).count() {
        1 => fs::write(path, text.replacen(old, new, 1)).map_err(|error| error.to_string()),
        0 => Err("the old text was not found".to_owned()),
        count => Err(format!("the old text occurs {count} times; expected once")),
    }
}

fn delete(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

fn printed(output: &Output) -> String {
    let (mut text, errors) = (output.stdout_text(), output.stderr_text());
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text + &errors
}
