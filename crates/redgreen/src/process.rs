//! The only module that starts other programs: in their own process group, with limited time and
//! output. All their children are killed when they end or we do.

mod keyboard;
mod pipes;
mod suites;

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
pub use keyboard::{Input, typed};
use pipes::Pipes;
use redgreen_core::report::Exit;
use redgreen_core::text::shell_word;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
pub use suites::{RunningSuite, SuiteGuard};

/// The time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(500);
/// How long to wait for the rest of the output after the program ended: a child that left the
/// process group may keep the pipe open forever.
const DRAIN_GRACE: Duration = Duration::from_millis(300);
/// The interval of checking the time limit and Ctrl-C.
const POLL: Duration = Duration::from_millis(25);
/// The first pause while waiting for a program that closed its pipes. It doubles up to `POLL`.
const NAP_MIN: Duration = Duration::from_micros(100);
/// How long a program may take to end by itself after the listener is done.
const DONE_GRACE: Duration = Duration::from_secs(3);
/// How long a program may take to react to a cancellation message.
const HEED_GRACE: Duration = Duration::from_millis(300);

/// A program to start. It inherits nothing by accident: stdin is empty unless given.
#[derive(Clone, Debug)]
pub struct Program {
    name: OsString,
    args: Vec<OsString>,
    cwd: Option<PathBuf>,
    env: Vec<(OsString, Option<OsString>)>,
    inherits: Inheritance,
    stdin: Vec<u8>,
}

/// Whether a program inherits our environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inheritance {
    Everything,
    Nothing,
}

/// The resource limits of a program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub wall: Duration,
    /// The limit for each of stdout and stderr. Keeps the first and the last half and drops the
    /// middle.
    pub output_bytes_max: usize,
}

#[derive(Debug)]
pub struct Output {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Whether output beyond the limit was dropped.
    pub cut: bool,
    pub wall: Duration,
}

/// An event of a running program.
#[derive(Clone, Copy, Debug)]
pub enum ProcessEvent<'a> {
    /// A line of stdout. If not `whole`, it is truncated.
    Line { text: &'a [u8], whole: bool },
    /// No output for a moment. Sent repeatedly, so that the listener can send input.
    Silence,
    /// The time is up, or the user asked to stop. The program is about to be killed.
    Unwanted,
}

/// The reaction to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    /// Bytes for the program's stdin.
    Say(Vec<u8>),
    /// Closes stdin. The program is killed if it does not end by itself.
    Done,
}

/// Receives events and may answer.
pub type Listener<'a> = &'a mut dyn FnMut(ProcessEvent<'_>) -> Answer;

/// Receives all bytes of stdout as they arrive.
pub type Watcher<'a> = &'a mut dyn FnMut(&[u8]);

/// What happens to the output while a program runs.
pub enum Attention<'a> {
    /// It is collected until the end.
    None,
    /// It is passed on as it arrives.
    Watching(Watcher<'a>),
    /// It is passed on by line. Stdin ends after the given input.
    Listening(Listener<'a>),
    /// It is passed on by line. Stdin stays open until the listener is done.
    Speaking(Listener<'a>),
}

/// The user's request to stop, shared by everything that waits.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    requested: AtomicBool,
    /// The running process groups, so that they can be killed at once.
    groups: Mutex<Vec<Pid>>,
    /// The running test suites.
    suites: Mutex<Vec<Arc<RunningSuite>>>,
    /// The parent, whose request also stops this one.
    above: Option<Stop>,
}

/// The user pressed Ctrl-C while a program ran, which was killed.
#[derive(Debug)]
pub struct Interrupted;

impl Stop {
    /// Asks everything that waits to stop cleanly.
    pub fn request(&self) {
        self.0.requested.store(true, Ordering::Relaxed);
    }

    pub fn requested(&self) -> bool {
        self.0.requested.load(Ordering::Relaxed)
            || self.0.above.as_ref().is_some_and(Self::requested)
    }

    /// For a part of the work that can be stopped separately, and stops with the whole.
    pub fn part(&self) -> Self {
        Self(Arc::new(StopState { above: Some(self.clone()), ..StopState::default() }))
    }

    /// Kills every running program without SIGTERM.
    pub fn kill_all(&self) {
        if let Ok(groups) = self.0.groups.lock() {
            for group in groups.iter() {
                kill_process_group(*group, Signal::KILL).ok();
            }
        }
    }

    /// The peak memory of a running program without its children; `None` if the system does not
    /// report it.
    pub fn peak_memory_at_work(&self) -> Option<u64> {
        let groups = self.0.groups.lock().ok()?;
        groups
            .iter()
            .filter_map(|group| memory(&group.as_raw_nonzero().to_string(), "VmHWM:"))
            .max()
    }

    /// The current memory of all running programs with their process groups.
    pub fn memory_at_work(&self) -> Option<u64> {
        let groups = self.0.groups.lock().ok()?.clone();
        let processes = std::fs::read_dir("/proc").ok()?.flatten();
        let members = processes.filter_map(|entry| {
            let process = entry.file_name().into_string().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The process name, in parentheses, can contain anything.
            let group: i32 = stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()?;
            groups.iter().any(|known| known.as_raw_nonzero().get() == group).then_some(process)
        });
        members.filter_map(|process| memory(&process, "VmRSS:")).reduce(u64::saturating_add)
    }

    fn working(&self, group: Pid) {
        if let Some(above) = &self.0.above {
            above.working(group);
        }
        if let Ok(mut groups) = self.0.groups.lock() {
            groups.push(group);
        }
    }

    fn done(&self, group: Pid) {
        if let Some(above) = &self.0.above {
            above.done(group);
        }
        if let Ok(mut groups) = self.0.groups.lock() {
            groups.retain(|known| *known != group);
        }
    }

    /// Sleeps unless the user asks to stop.
    pub fn sleep(&self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        loop {
            if self.requested() {
                return Err(Interrupted.into());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(POLL));
        }
    }
}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

impl Output {
    pub fn success(&self) -> bool {
        self.exit == Exit::Code(0)
    }

    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl Program {
    pub fn new(name: impl Into<OsString>) -> Self {
        Self {
            name: name.into(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
            inherits: Inheritance::Everything,
            stdin: Vec::new(),
        }
    }

    /// A shell command, as configured by the user.
    pub fn shell(line: &str) -> Self {
        Self::new("sh").args(["-c", line])
    }

    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    #[must_use]
    pub fn args<I: IntoIterator<Item = S>, S: Into<OsString>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn cwd(mut self, folder: impl AsRef<Path>) -> Self {
        self.cwd = Some(folder.as_ref().to_owned());
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), Some(value.into())));
        self
    }

    #[must_use]
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env.push((name.into(), None));
        self
    }

    /// Inherits nothing: only variables set with `env`.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.inherits = Inheritance::Nothing;
        self
    }

    /// The same program started through a wrapper: `wrapper… name args…`.
    #[must_use]
    pub fn through<I: IntoIterator<Item = S>, S: Into<OsString>>(&self, wrapper: I) -> Self {
        let own = std::iter::once(&self.name).chain(&self.args).cloned();
        let mut words = wrapper.into_iter().map(Into::into).chain(own);
        let name = words.next().unwrap_or_default();
        Self { name, args: words.collect(), ..self.clone() }
    }

    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// The working directory, if set.
    pub fn folder(&self) -> Option<&Path> {
        self.cwd.as_deref()
    }

    /// The command as a person would type it.
    pub fn line(&self) -> String {
        std::iter::once(&self.name)
            .chain(&self.args)
            .map(|word| quote(word))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Runs the program until it ends, its time is up, or the user presses Ctrl-C.
    pub fn output(&self, limits: Limits, stop: &Stop) -> Result<Output> {
        self.attended(limits, stop, Attention::None)
    }

    /// Like `output`, for a program whose output is read, or that gets input, while it runs.
    pub fn attended(
        &self,
        limits: Limits,
        stop: &Stop,
        attention: Attention<'_>,
    ) -> Result<Output> {
        let started = Instant::now();
        let mut child = self.spawn(&attention)?;
        let group = Pid::from_child(&child);
        stop.working(group);
        let served = Pipes::of(&mut child, &self.stdin, limits.output_bytes_max, attention)
            .and_then(|mut pipes| {
                let ended = attend(&mut child, &mut pipes, started + limits.wall, stop)?;
                Ok((pipes, ended))
            });
        // Kill children that outlived their parent. An empty group is not an error.
        kill_process_group(group, Signal::KILL).ok();
        stop.done(group);
        let (mut pipes, (status, exit)) = served?;
        if stop.requested()
            && exit != Exit::TimedOut
            && status.is_none_or(|status| !status.success())
        {
            return Err(Interrupted.into());
        }
        drain(&mut pipes);
        let [(stdout, stdout_cut), (stderr, stderr_cut)] = pipes.into_kept();
        Ok(Output { exit, stdout, stderr, cut: stdout_cut || stderr_cut, wall: started.elapsed() })
    }

    /// Gives the program our terminal until it ends, for an editor. It stays in our process group,
    /// which owns the terminal.
    pub fn on_the_terminal(&self, deadline: Instant) -> Result<Exit> {
        let mut child = self
            .command()
            .spawn()
            .with_context(|| format!("start {}", self.name.to_string_lossy()))?;
        while Instant::now() < deadline {
            if let Some(status) = child.try_wait().context("wait for a program")? {
                return Ok(exit_of(status));
            }
            thread::sleep(POLL);
        }
        child.kill().and_then(|()| child.wait()).context("end a program")?;
        Ok(Exit::TimedOut)
    }

    fn spawn(&self, attention: &Attention<'_>) -> Result<Child> {
        let mut command = self.command();
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let silent = self.stdin.is_empty() && !matches!(attention, Attention::Speaking(_));
        command.stdin(if silent { Stdio::null() } else { Stdio::piped() });
        command.spawn().with_context(|| format!("start {}", self.name.to_string_lossy()))
    }

    /// Resolves a program name with the PATH that the program is given. If the standard library did
    /// this, it would fork and copy our memory instead of using `posix_spawn`.
    fn place(&self) -> Option<PathBuf> {
        let is_path = self.name.as_encoded_bytes().contains(&b'/');
        let path = self
            .env
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH")
            .and_then(|(_, value)| value.as_ref())?;
        let is_program = |file: &PathBuf| {
            file.metadata()
                .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
        };
        // Relative entries are resolved from the program's own folder by the system.
        let folders = std::env::split_paths(path).take_while(|folder| folder.is_absolute());
        folders.filter(|_| !is_path).map(|folder| folder.join(&self.name)).find(is_program)
    }

    fn command(&self) -> std::process::Command {
        #[expect(clippy::disallowed_methods, reason = "`process` starts programs")]
        let mut command = match self.place() {
            Some(place) => std::process::Command::new(place),
            None => std::process::Command::new(&self.name),
        };
        command.args(&self.args);
        if self.inherits == Inheritance::Nothing {
            command.env_clear();
        }
        if let Some(folder) = &self.cwd {
            // With a stale PWD some programs work in the folder we were started from.
            command.current_dir(folder).env("PWD", folder);
        }
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }
}

/// Makes the system stop this process when the thread that started it ends. Does nothing except on
/// Linux.
pub fn end_with_parent() {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM)).ok();
}

/// The peak memory of this process; `None` if the system does not report it.
pub fn peak_memory_bytes() -> Option<u64> {
    memory("self", "VmHWM:")
}

/// The CPU time of this process or of its ended children, with a resolution of 10 ms; `None` if the
/// system does not report it.
pub fn cpu_time(whose: Measured) -> Option<Duration> {
    const TICK_MS: u64 = 10;
    let before = match whose {
        Measured::Own => 11,
        Measured::Children => 13,
    };
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The process name, in parentheses, can contain anything.
    let mut numbers =
        stat.rsplit_once(')')?.1.split_whitespace().skip(before).map(str::parse::<u64>);
    let ticks = numbers.next()?.ok()?.saturating_add(numbers.next()?.ok()?);
    Some(Duration::from_millis(ticks.saturating_mul(TICK_MS)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    Own,
    Children,
}

/// Resets the peak memory counter. Returns whether the system supports it.
pub fn peak_memory_restart() -> bool {
    std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// How much the memory of this process grew at most during some work.
pub fn peak_memory_during(work: impl FnOnce()) -> Option<Peak> {
    let counts = peak_memory_restart();
    let before = memory("self", "VmRSS:");
    work();
    let whole = memory("self", "VmHWM:").filter(|_| counts)?;
    Some(Peak { more: whole.saturating_sub(before?), whole })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peak {
    /// The growth.
    pub more: u64,
    pub whole: u64,
}

fn memory(process: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// Kills every program with this variable in its environment, and its children. For programs of a
/// killed redgreen process. Works only on Linux.
pub fn kill_marked(name: &str, value: &str) {
    let mark = format!("{name}={value}");
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid =
            entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        let marked = std::fs::read(entry.path().join("environ")).is_ok_and(|environ| {
            environ.split(|byte| *byte == 0).any(|setting| setting == mark.as_bytes())
        });
        if let (Some(pid), true) = (pid, marked) {
            kill_process(pid, Signal::KILL).ok();
        }
    }
}

fn quote(word: &OsStr) -> String {
    shell_word(&word.to_string_lossy()).into_owned()
}

/// Serves the program until it ends. Kills it and its children when its time is up or the user asks
/// to stop.
fn attend(
    child: &mut Child,
    pipes: &mut Pipes<'_, '_>,
    deadline: Instant,
    stop: &Stop,
) -> Result<(Option<ExitStatus>, Exit)> {
    let group = Pid::from_child(child);
    if let Some(status) = until_ended(child, pipes, deadline, &|| stop.requested())? {
        return Ok((Some(status), exit_of(status)));
    }
    let exit = if Instant::now() >= deadline {
        Exit::TimedOut
    } else {
        Exit::Signal(Signal::TERM.as_raw())
    };
    pipes.tell(ProcessEvent::Unwanted);
    if pipes.have_listener()
        && until_ended(child, pipes, Instant::now() + HEED_GRACE, &|| false)?.is_some()
    {
        return Ok((None, exit));
    }
    for signal in [Signal::TERM, Signal::KILL] {
        kill_process_group(group, signal).ok();
        if until_ended(child, pipes, Instant::now() + TERM_GRACE, &|| false)?.is_some() {
            break;
        }
    }
    Ok((None, exit))
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

/// `None` if the program did not end before the deadline, or was cancelled.
fn until_ended(
    child: &mut Child,
    pipes: &mut Pipes<'_, '_>,
    deadline: Instant,
    unwanted: &dyn Fn() -> bool,
) -> Result<Option<ExitStatus>> {
    let mut nap = NAP_MIN;
    loop {
        if let Some(status) = child.try_wait().context("wait for a program")? {
            return Ok(Some(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let idle = pipes.done_since().is_some_and(|since| since.elapsed() >= DONE_GRACE);
        if left.is_zero() || idle || unwanted() {
            return Ok(None);
        }
        if pipes.are_closed() {
            // Most programs close their pipes by ending.
            thread::sleep(nap.min(left));
            nap = (2 * nap).min(POLL);
        } else {
            pipes.serve(POLL.min(left));
            if pipes.stay_open() {
                pipes.tell(ProcessEvent::Silence);
            }
        }
    }
}

/// Reads the rest of the output after the program ended.
fn drain(pipes: &mut Pipes<'_, '_>) {
    let deadline = Instant::now() + DRAIN_GRACE;
    while !pipes.are_closed() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        pipes.serve(left);
    }
}

#[cfg(test)]
mod tests;
