//! A person as the agent: gets the next step and the folder, and is judged like any other agent.
//! The turn ends with Enter or, if configured, when a file is saved.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use redgreen_core::agent::{AgentActivity, Assignment, Cost, Failure as Ended, Turn};
use redgreen_core::orders;
use redgreen_core::phase::Role;
use redgreen_core::report::Exit;
use redgreen_core::steer;
use redgreen_core::test_list::{self, EngineItems, TestList};
use serde_json::json;

use super::{TurnInput, TurnOutput};
use crate::failure::Failure;
use crate::foreign;
use crate::process::{Input, Interrupted, Program, Stop, typed};

/// The interval of checking the files.
const LOOK: Duration = Duration::from_millis(250);
/// Editors save in several steps, so wait until nothing changes for this long.
const SETTLED: Duration = Duration::from_millis(600);
/// Further files are not watched.
const FILES_MAX: usize = 20_000;
/// Folders that tools write to.
const UNWATCHED: &[&str] =
    &[".git", "node_modules", "target", "__pycache__", ".venv", ".pytest_cache"];

/// The maximum size of a test list.
const LIST_BYTES_MAX: u64 = 1 << 20;

/// Opens an editor.
const EDIT: &str = "e";

/// What ends a person's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Human {
    /// With an editor that opens on request.
    OnEnter {
        editor: Option<String>,
    },
    OnSave,
}

type FileStates = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

impl Human {
    /// Enter needs a terminal.
    pub fn new(on_save: bool, editor: Option<&str>) -> Result<Self> {
        if on_save {
            return Ok(Self::OnSave);
        }
        if io::stdin().is_terminal() {
            return Ok(Self::OnEnter { editor: editor.map(str::to_owned) });
        }
        Err(Failure::usage("the human agent needs a terminal: you press Enter when you are done")
            .evidence("standard input is not a terminal")
            .next("start redgreen in a terminal, or set agent.on-save = true in redgreen.toml")
            .into())
    }

    pub(super) fn take_turn(&self, orders: &mut TurnInput<'_>) -> Result<TurnOutput> {
        let assignment = orders.assignment;
        // The person who saw the failure knows the reason best.
        if assignment.role == Role::Diagnosis {
            return Ok(taken(
                Turn::Done { answer: String::new() },
                "no diagnosis by a person\n".to_owned(),
            ));
        }
        let words = self.words(assignment, orders.worktree);
        // Scan before showing the task, so that an immediate save is not missed.
        let seen = if *self == Self::OnSave { look(orders.worktree) } else { FileStates::new() };
        (orders.live)(&AgentActivity::Text(words.clone()));
        let waited = match self {
            Self::OnEnter { editor } => until_enter(orders, editor.as_deref())?,
            Self::OnSave => until_saved(orders, seen)?,
        };
        let turn = match waited {
            WaitEnd::Over if assignment.role == Role::TestList => {
                Turn::Done { answer: self.choose(orders)? }
            }
            WaitEnd::Over => Turn::Done { answer: String::new() },
            WaitEnd::TimeUp => {
                Turn::Failed { failure: Ended::Timeout, message: "not done in time".to_owned() }
            }
        };
        Ok(taken(turn, words))
    }

    fn words(&self, assignment: &Assignment, worktree: &Path) -> String {
        let end = match (self, assignment.role) {
            (Self::OnEnter { .. }, Role::Refactor) => {
                "Press Enter when you are done. Without changes, the code stays as it is."
            }
            (Self::OnEnter { .. }, _) => "Press Enter when you are done.",
            (Self::OnSave, _) => "Your change is judged when you save.",
        };
        let edit = match self {
            Self::OnEnter { editor: Some(editor) } => format!(" {EDIT} and Enter opens {editor}."),
            Self::OnEnter { editor: None } | Self::OnSave => String::new(),
        };
        let task = orders::task(assignment);
        // One sentence per line, because long lines are truncated on the screen.
        let withheld =
            orders::withheld(assignment).map(|words| format!("\n{}", words.replace(". ", ".\n")));
        let said =
            steer::shown(&assignment.messages).map(|messages| format!("\nYou said:\n{messages}"));
        let more = withheld.unwrap_or_default() + &said.unwrap_or_default();
        // The reasons of a refusal are already on the screen.
        format!(
            "\n{}: {task}{more}\n  in   {}\n{end}{edit}\n",
            assignment.phase,
            worktree.display()
        )
    }

    /// The next test is the first open box. In a terminal, its files are asked for.
    fn choose(&self, orders: &mut TurnInput<'_>) -> Result<String> {
        let text = foreign::read(&orders.worktree.join(test_list::FILE), LIST_BYTES_MAX)?
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let assignment = orders.assignment;
        let known = EngineItems { completed: &assignment.completed, pending: &assignment.pending };
        let list = TestList::parse(&test_list::own(Some(&text), known).text);
        let Some(next) = list.pending().into_iter().next() else {
            return Ok(json!({ "currentTest": null }).to_string());
        };
        let mut ask = |what: &str| -> Result<String> {
            match self {
                Self::OnSave => Ok(String::new()),
                Self::OnEnter { .. } => {
                    (orders.live)(&AgentActivity::Text(format!(
                        "{what} for {next:?} (Enter: not decided yet): "
                    )));
                    line(orders.stop)
                }
            }
        };
        let (test, code) = (ask("test file")?, ask("code file")?);
        Ok(json!({ "currentTest": { "description": next, "testFile": test, "implFile": code } })
            .to_string())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitEnd {
    Over,
    TimeUp,
}

fn taken(turn: Turn, transcript: String) -> TurnOutput {
    let cost = Cost { tokens: Some(0), microdollars: Some(0), ..Cost::default() };
    TurnOutput { turn, cost, transcript, session: None, notices: Vec::new() }
}

fn line(stop: &Stop) -> Result<String> {
    match typed(stop, None)? {
        Input::Line(line) => Ok(line),
        Input::TimeUp => Ok(String::new()),
        // The terminal is gone, so nobody can confirm.
        Input::End => Err(Interrupted.into()),
    }
}

fn until_enter(orders: &mut TurnInput<'_>, editor: Option<&str>) -> Result<WaitEnd> {
    let deadline = Instant::now() + orders.time_limit;
    loop {
        match (typed(orders.stop, Some(deadline))?, editor) {
            (Input::TimeUp, _) => return Ok(WaitEnd::TimeUp),
            (Input::End, _) => return Err(Interrupted.into()),
            (Input::Line(line), Some(editor)) if line == EDIT => edit(editor, orders, deadline)?,
            (Input::Line(line), None) if line == EDIT => {
                (orders.live)(&AgentActivity::Text(
                    "no editor: VISUAL and EDITOR are not set\n".to_owned(),
                ));
            }
            (Input::Line(_), _) => return Ok(WaitEnd::Over),
        }
    }
}

/// Opens the file of the current phase in the person's editor.
fn edit(editor: &str, orders: &mut TurnInput<'_>, deadline: Instant) -> Result<()> {
    let case = orders.assignment.current.as_ref();
    let file = match orders.assignment.role {
        Role::TestList => Some(test_list::FILE),
        Role::Test => case.map(|case| case.test_file.as_str()),
        Role::Implementing | Role::Diagnosis | Role::Refactor => {
            case.map(|case| case.impl_file.as_str())
        }
    };
    let file = file.filter(|file| !file.is_empty()).unwrap_or(".");
    // VISUAL may contain arguments, such as `code --wait`.
    let program = Program::new("sh")
        .args(["-c", &format!("{editor} \"$@\""), "sh", file])
        .cwd(orders.worktree);
    let exit = program.on_the_terminal(deadline)?;
    let words = match exit {
        Exit::Code(0) => "Press Enter to judge it.\n".to_owned(),
        _ => format!("{editor} ended with {exit}\n"),
    };
    (orders.live)(&AgentActivity::Text(words));
    Ok(())
}

fn until_saved(orders: &TurnInput<'_>, mut seen: FileStates) -> Result<WaitEnd> {
    let deadline = Instant::now() + orders.time_limit;
    let mut changed: Option<Instant> = None;
    loop {
        orders.stop.sleep(LOOK)?;
        let now = look(orders.worktree);
        if now != seen {
            seen = now;
            changed = Some(Instant::now());
        }
        if changed.is_some_and(|since| since.elapsed() >= SETTLED) {
            return Ok(WaitEnd::Over);
        }
        if Instant::now() >= deadline {
            return Ok(WaitEnd::TimeUp);
        }
    }
}

/// Sizes and times of the files below a folder.
fn look(folder: &Path) -> FileStates {
    let mut seen = FileStates::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if seen.len() >= FILES_MAX || UNWATCHED.iter().any(|unwatched| name == *unwatched) {
                continue;
            }
            match entry.metadata() {
                Ok(facts) if facts.is_dir() => folders.push(entry.path()),
                Ok(facts) => {
                    seen.insert(entry.path(), (facts.len(), facts.modified().ok()));
                }
                Err(_) => {}
            }
        }
    }
    seen
}
