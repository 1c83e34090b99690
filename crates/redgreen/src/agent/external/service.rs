//! Services for an agent in the worktree: files through the guard, programs in sandboxed terminals.
//! Nothing outlives the turn.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::Result;
use redgreen_core::acp::service::{Command, Refusal, ServiceCall, ServiceRequest, ServiceResult};
use redgreen_core::report::Exit;

use crate::agent::place::{NoText, Place};
use crate::process::{Attention, Interrupted, Limits, Program, Stop};
use crate::sandbox::{Fence, Sandbox};

/// The maximum number of open terminals.
const TERMINALS_MAX: usize = 16;
/// The limit of a terminal's output, whose end is kept. An agent may ask for less.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// The maximum number of arguments or variables of one command.
const WORDS_MAX: usize = 4096;
/// The exit code of shells for a program that does not exist or cannot be started.
const NOT_STARTED: i32 = 127;

/// The context of terminals.
pub(super) struct Bench {
    pub(super) sandbox: Sandbox,
    pub(super) fence: Fence,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) deadline: Instant,
    pub(super) stop: Stop,
}

pub(super) struct Service {
    place: Place,
    bench: Bench,
    terminals: BTreeMap<String, Terminal>,
    /// The number of terminals opened so far.
    opened: usize,
    /// Requests that wait for the end of a terminal.
    waiting: Vec<(ServiceRequest, String)>,
}

struct Terminal {
    screen: Arc<Mutex<Screen>>,
    /// Stops only this terminal.
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// The end of a program's output, and its exit status.
#[derive(Debug)]
struct Screen {
    bytes_max: usize,
    bytes: VecDeque<u8>,
    cut: bool,
    exit: Option<Exit>,
}

impl Service {
    pub(super) fn new(worktree: &Path, bench: Bench) -> Result<Self> {
        let place = Place::new(worktree)?;
        Ok(Self { place, bench, terminals: BTreeMap::new(), opened: 0, waiting: Vec::new() })
    }

    /// Handles a request. Returns the answer, or nothing yet.
    pub(super) fn serve(&mut self, asked: ServiceRequest) -> String {
        if let ServiceCall::Wait { terminal } = &asked.wish
            && self.terminals.contains_key(terminal)
        {
            let terminal = terminal.clone();
            self.waiting.push((asked, terminal));
            return self.due();
        }
        let served = self.perform(&asked.wish);
        asked.answer(&served)
    }

    /// Answers to waiting requests that are ready now.
    pub(super) fn due(&mut self) -> String {
        let mut send = String::new();
        let terminals = &self.terminals;
        self.waiting.retain(|(asked, terminal)| {
            let exit = match terminals.get(terminal) {
                Some(terminal) => terminal.screen().exit,
                // Released: tell the waiting request that it is gone.
                None => Some(Exit::Signal(libc::SIGKILL)),
            };
            if let Some(exit) = exit {
                send.push_str(&asked.answer(&Ok(ServiceResult::Ended(exit))));
            }
            exit.is_none()
        });
        send
    }

    /// Stops all terminals without waiting.
    pub(super) fn end(&mut self) {
        for terminal in self.terminals.values() {
            terminal.stop.request();
        }
        self.terminals.clear();
    }

    fn perform(&mut self, wish: &ServiceCall) -> Result<ServiceResult, Refusal> {
        match wish {
            ServiceCall::Read { path, line, limit } => {
                let text = self.place.text(path).map_err(|why| match why {
                    NoText::Missing(why) => Refusal::Missing(why),
                    NoText::Refused(why) => Refusal::Forbidden(why),
                })?;
                Ok(ServiceResult::Text(lines(text, *line, *limit)))
            }
            ServiceCall::Write { path, content } => self
                .place
                .write(path, content)
                .map(|()| ServiceResult::Done)
                .map_err(Refusal::Forbidden),
            ServiceCall::Start(command) => self.open(command).map(ServiceResult::Terminal),
            ServiceCall::Output { terminal } => {
                let screen = self.terminal(terminal)?.screen();
                Ok(ServiceResult::Output {
                    text: screen.text(),
                    cut: screen.cut,
                    exit: screen.exit,
                })
            }
            ServiceCall::Wait { terminal } => self.terminal(terminal).map(|_| ServiceResult::Done),
            ServiceCall::Kill { terminal } => {
                self.terminal(terminal)?.stop.request();
                Ok(ServiceResult::Done)
            }
            ServiceCall::Release { terminal } => match self.terminals.remove(terminal) {
                Some(_) => Ok(ServiceResult::Done),
                None => Err(unknown(terminal)),
            },
            ServiceCall::Nonsense { method } => {
                Err(Refusal::Forbidden(format!("{method} has missing or invalid parameters")))
            }
        }
    }

    fn terminal(&self, id: &str) -> Result<&Terminal, Refusal> {
        self.terminals.get(id).ok_or_else(|| unknown(id))
    }

    fn open(&mut self, command: &Command) -> Result<String, Refusal> {
        if self.terminals.len() >= TERMINALS_MAX {
            return Err(Refusal::Failed(format!(
                "{TERMINALS_MAX} terminals are open; release one first"
            )));
        }
        if command.args.len() + command.env.len() > WORDS_MAX {
            return Err(Refusal::Forbidden(format!("a command has at most {WORDS_MAX} words")));
        }
        let folder =
            self.place.find(command.cwd.as_deref().unwrap_or(".")).map_err(Refusal::Forbidden)?;
        if !folder.is_dir() {
            return Err(Refusal::Missing(format!("the folder {}", folder.display())));
        }
        let given =
            command.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let env = self.bench.env.iter().cloned().chain(given);
        let program = env
            .fold(program(command).cwd(folder).env_clear(), |program, (name, value)| {
                program.env(name, value)
            });
        let terminal = Terminal::open(program, command.output_bytes_max, &self.bench)
            .map_err(|error| Refusal::Failed(format!("{error:#}")))?;
        self.opened += 1;
        let id = format!("terminal-{}", self.opened);
        self.terminals.insert(id.clone(), terminal);
        Ok(id)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

impl Terminal {
    fn open(program: Program, output_bytes_max: Option<u64>, bench: &Bench) -> Result<Self> {
        let wanted =
            output_bytes_max.and_then(|max| usize::try_from(max).ok()).unwrap_or(OUTPUT_BYTES_MAX);
        let screen = Screen {
            bytes_max: wanted.min(OUTPUT_BYTES_MAX),
            bytes: VecDeque::new(),
            cut: false,
            exit: None,
        };
        let screen = Arc::new(Mutex::new(screen));
        let stop = bench.stop.part();
        let (shown, part) = (Arc::clone(&screen), stop.clone());
        let (sandbox, fence) = (bench.sandbox.clone(), bench.fence.clone());
        let wall = bench.deadline.saturating_duration_since(Instant::now());
        let run = move || {
            let mut watcher = |bytes: &[u8]| locked(&shown).push(bytes);
            let limits = Limits { wall, output_bytes_max: 0 };
            let ended = sandbox.attended(
                &program,
                &fence,
                limits,
                &part,
                Attention::Watching(&mut watcher),
            );
            let mut screen = locked(&shown);
            screen.exit = Some(match ended {
                Ok(fenced) => fenced.output.exit,
                Err(error) if error.is::<Interrupted>() => Exit::Signal(libc::SIGTERM),
                Err(error) => {
                    screen.push(format!("{error:#}\n").as_bytes());
                    Exit::Code(NOT_STARTED)
                }
            });
        };
        let thread = thread::Builder::new().name("terminal".to_owned()).spawn(run)?;
        Ok(Self { screen, stop, thread: Some(thread) })
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        locked(&self.screen)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            // The thread ends within the grace periods of `process`; a panicked one is already
            // over.
            thread.join().ok();
        }
    }
}

impl Screen {
    fn push(&mut self, bytes: &[u8]) {
        let newest = bytes.get(bytes.len().saturating_sub(self.bytes_max)..).unwrap_or_default();
        let excess = (self.bytes.len() + newest.len()).saturating_sub(self.bytes_max);
        self.cut |= excess > 0 || newest.len() < bytes.len();
        self.bytes.drain(..excess.min(self.bytes.len()));
        self.bytes.extend(newest);
    }

    /// Begins at a character boundary.
    fn text(&self) -> String {
        let is_rest = |byte: &&u8| (0x80..0xc0).contains(*byte);
        let torn = if self.cut { self.bytes.iter().take(3).take_while(is_rest).count() } else { 0 };
        let bytes: Vec<u8> = self.bytes.iter().skip(torn).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Combines stderr and stdout, as in a terminal. A command without arguments is a shell command.
fn program(command: &Command) -> Program {
    if command.args.is_empty() {
        return Program::new("sh").args(["-c", &format!("exec 2>&1\n{}", command.command)]);
    }
    Program::new("sh").args(["-c", "exec \"$@\" 2>&1", "sh", &command.command]).args(&command.args)
}

/// `count` lines of a text, beginning with line `first`.
fn lines(text: String, first: Option<u64>, count: Option<u64>) -> String {
    if first.is_none() && count.is_none() {
        return text;
    }
    let number = |wanted: Option<u64>| wanted.and_then(|wanted| usize::try_from(wanted).ok());
    let skipped = number(first).unwrap_or(1).saturating_sub(1);
    text.split_inclusive('\n').skip(skipped).take(number(count).unwrap_or(usize::MAX)).collect()
}

fn unknown(terminal: &str) -> Refusal {
    Refusal::Missing(format!("there is no terminal {terminal:?}"))
}

/// A screen is still readable after its thread panicked.
fn locked(screen: &Mutex<Screen>) -> MutexGuard<'_, Screen> {
    screen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_keeps_the_end_at_a_character_boundary() {
        for (bytes_max, pieces, text, cut) in [
            (8, &["abc", "def"][..], "abcdef", false),
            (4, &["abc", "def"], "cdef", true),
            (4, &["abcdefgh"], "efgh", true),
            (4, &["aé", "éé"], "éé", true),
            (3, &["éé"], "é", true),
            (0, &["a"], "", true),
        ] {
            let mut screen = Screen { bytes_max, bytes: VecDeque::new(), cut: false, exit: None };
            pieces.iter().for_each(|piece| screen.push(piece.as_bytes()));
            assert_eq!(
                (screen.text().as_str(), screen.cut),
                (text, cut),
                "{pieces:?} in {bytes_max}"
            );
        }
    }

    #[test]
    fn line_numbers_start_at_one() {
        let text = || "a\nb\nc".to_owned();
        for (first, count, expected) in [
            (None, None, "a\nb\nc"),
            (Some(2), None, "b\nc"),
            (Some(0), Some(1), "a\n"),
            (Some(2), Some(1), "b\n"),
            (Some(9), Some(1), ""),
            (Some(u64::MAX), Some(u64::MAX), ""),
        ] {
            assert_eq!(lines(text(), first, count), expected, "{first:?} {count:?}");
        }
    }
}
