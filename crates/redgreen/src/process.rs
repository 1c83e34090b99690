//! The one door to other programs: started in a process group of their own, with bounded time and bounded output, and
//! gone with all their children when they are done or we are.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::report::Exit;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How long a process may take to end after SIGTERM before SIGKILL follows.
const TERM_GRACE: Duration = Duration::from_millis(500);
/// How long we wait for the rest of the output once the program itself has ended: a child that left the process group
/// may keep the pipe open for ever.
const DRAIN_GRACE: Duration = Duration::from_millis(300);
/// How often a running program is checked against its time limit and the user's Ctrl-C.
const POLL: Duration = Duration::from_millis(25);
const READ_BYTES: usize = 64 << 10;

/// A program about to be started. Nothing is inherited by accident: stdin is empty unless given.
#[derive(Clone, Debug)]
pub struct Program {
    name: OsString,
    args: Vec<OsString>,
    cwd: Option<PathBuf>,
    env: Vec<(OsString, Option<OsString>)>,
    stdin: Vec<u8>,
}

/// How much a program may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub wall: Duration,
    /// Kept of each of stdout and stderr: the first and the last half of this; the middle is dropped.
    pub output_bytes_max: usize,
}

/// How a program ended and what it printed.
#[derive(Debug)]
pub struct Output {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Something was printed beyond the limit and is gone.
    pub cut: bool,
    pub wall: Duration,
}

/// The user's wish to stop, shared by everything that waits.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Wish>);

#[derive(Debug, Default)]
struct Wish {
    requested: AtomicBool,
    /// The process groups at work now, so that they can be ended at once.
    groups: Mutex<Vec<Pid>>,
}

/// The user pressed Ctrl-C while a program ran; it was killed.
#[derive(Debug)]
pub struct Interrupted;

impl Stop {
    /// Asks everything that waits to come to a clean end.
    pub fn request(&self) {
        self.0.requested.store(true, Ordering::Relaxed);
    }

    pub fn requested(&self) -> bool {
        self.0.requested.load(Ordering::Relaxed)
    }

    /// Kills every program at work, without asking it to end first.
    pub fn kill_all(&self) {
        if let Ok(groups) = self.0.groups.lock() {
            for group in groups.iter() {
                kill_process_group(*group, Signal::KILL).ok();
            }
        }
    }

    fn working(&self, group: Pid) {
        if let Ok(mut groups) = self.0.groups.lock() {
            groups.push(group);
        }
    }

    fn done(&self, group: Pid) {
        if let Ok(mut groups) = self.0.groups.lock() {
            groups.retain(|known| *known != group);
        }
    }

    /// Waits, unless the user wants to stop.
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
        Self { name: name.into(), args: Vec::new(), cwd: None, env: Vec::new(), stdin: Vec::new() }
    }

    /// A line for the shell, as a user configures it.
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

    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// The command as a person would type it.
    pub fn line(&self) -> String {
        std::iter::once(&self.name).chain(&self.args).map(|word| quote(word)).collect::<Vec<_>>().join(" ")
    }

    /// Runs the program to its end, its time limit, or the user's Ctrl-C, whichever comes first.
    pub fn output(&self, limits: Limits, stop: &Stop) -> Result<Output> {
        let started = Instant::now();
        let mut child = self.spawn()?;
        let group = Pid::from_child(&child);
        stop.working(group);
        let stdout = collect(child.stdout.take(), limits.output_bytes_max);
        let stderr = collect(child.stderr.take(), limits.output_bytes_max);
        feed(child.stdin.take(), &self.stdin);
        let ended = wait(child, group, started + limits.wall, stop);
        // Children that outlived their parent go too; an empty group is not an error.
        kill_process_group(group, Signal::KILL).ok();
        stop.done(group);
        let (status, exit) = ended?;
        if stop.requested() && exit != Exit::TimedOut && status.is_none_or(|status| !status.success()) {
            return Err(Interrupted.into());
        }
        let drained = Instant::now() + DRAIN_GRACE;
        let (stdout, stdout_cut) = stdout.take(drained);
        let (stderr, stderr_cut) = stderr.take(drained);
        Ok(Output { exit, stdout, stderr, cut: stdout_cut || stderr_cut, wall: started.elapsed() })
    }

    fn spawn(&self) -> Result<Child> {
        #[expect(clippy::disallowed_methods, reason = "this is the door")]
        let mut command = std::process::Command::new(&self.name);
        command.args(&self.args).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command.stdin(if self.stdin.is_empty() { Stdio::null() } else { Stdio::piped() });
        if let Some(folder) = &self.cwd {
            // A stale PWD makes some programs work in the folder we were started from.
            command.current_dir(folder).env("PWD", folder);
        }
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.spawn().with_context(|| format!("start {}", self.name.to_string_lossy()))
    }
}

/// Kills every program that was started with this in its environment, and its children: those of a process of ours that
/// was killed itself, and could not see to it. Only Linux tells; elsewhere they live on.
pub fn kill_marked(name: &str, value: &str) {
    let mark = format!("{name}={value}");
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        let marked = std::fs::read(entry.path().join("environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|setting| setting == mark.as_bytes()));
        if let (Some(pid), true) = (pid, marked) {
            kill_process(pid, Signal::KILL).ok();
        }
    }
}

fn quote(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Waits for the end without blocking for longer than a poll; kills the group when its time is up.
fn wait(mut child: Child, group: Pid, deadline: Instant, stop: &Stop) -> Result<(Option<ExitStatus>, Exit)> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait()).ok());
    loop {
        let slice = deadline.saturating_duration_since(Instant::now()).min(POLL);
        match receiver.recv_timeout(slice) {
            Ok(status) => {
                let status = status.context("wait for a program")?;
                let exit = match (status.code(), status.signal()) {
                    (Some(code), _) => Exit::Code(code),
                    (None, signal) => Exit::Signal(signal.unwrap_or_default()),
                };
                return Ok((Some(status), exit));
            }
            Err(_) if Instant::now() >= deadline => {
                end_group(group, &receiver);
                return Ok((None, Exit::TimedOut));
            }
            Err(_) if stop.requested() => {
                end_group(group, &receiver);
                return Ok((None, Exit::Signal(Signal::TERM.as_raw())));
            }
            Err(_) => {}
        }
    }
}

fn end_group<T>(group: Pid, ended: &mpsc::Receiver<T>) {
    kill_process_group(group, Signal::TERM).ok();
    if ended.recv_timeout(TERM_GRACE).is_err() {
        kill_process_group(group, Signal::KILL).ok();
        ended.recv_timeout(TERM_GRACE).ok();
    }
}

fn feed(pipe: Option<impl Write + Send + 'static>, bytes: &[u8]) {
    let Some(mut pipe) = pipe else { return };
    let bytes = bytes.to_vec();
    // A program that does not read its input closes the pipe: its choice, not our error.
    thread::spawn(move || pipe.write_all(&bytes).ok());
}

/// The head and the tail of a stream, so that gigabytes of output cost no memory.
#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: Vec<u8>,
    cut: bool,
}

struct Collected {
    kept: Arc<Mutex<Kept>>,
    ended: mpsc::Receiver<()>,
}

fn collect(pipe: Option<impl Read + Send + 'static>, bytes_max: usize) -> Collected {
    let kept = Arc::new(Mutex::new(Kept::default()));
    let (sender, ended) = mpsc::channel();
    if let Some(mut pipe) = pipe {
        let kept = Arc::clone(&kept);
        thread::spawn(move || {
            let mut buffer = vec![0; READ_BYTES];
            while let Ok(count) = pipe.read(&mut buffer) {
                if count == 0 {
                    break;
                }
                if let (Ok(mut kept), Some(bytes)) = (kept.lock(), buffer.get(..count)) {
                    kept.push(bytes, bytes_max / 2);
                }
            }
            drop(sender);
        });
    }
    Collected { kept, ended }
}

impl Kept {
    fn push(&mut self, bytes: &[u8], half: usize) {
        let room = half.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        // Twice the limit before cutting, so that a flood is not copied once per read.
        if self.tail.len() > 2 * half {
            self.tail.drain(..self.tail.len() - half);
            self.cut = true;
        }
    }
}

impl Collected {
    fn take(self, deadline: Instant) -> (Vec<u8>, bool) {
        // Ends with an error when the reader is done (its sender is gone) or when the grace is over: fine both ways.
        self.ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
        let Ok(mut kept) = self.kept.lock() else {
            return (Vec::new(), true);
        };
        let mut bytes = std::mem::take(&mut kept.head);
        if kept.cut {
            bytes.extend_from_slice(b"\n[... output cut here ...]\n");
        }
        bytes.append(&mut kept.tail);
        (bytes, kept.cut)
    }
}

#[cfg(test)]
mod tests;
