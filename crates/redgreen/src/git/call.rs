//! One call of git with a fixed environment, limited time and output, and errors that name the
//! operation.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Error, Result, bail};
use redgreen_core::report::Exit;
use redgreen_core::text::in_quotes;

use super::{Git, version};
use crate::failure::Failure;
use crate::process::{Limits, Output, Program, Stop};

/// For calls that read or write a few objects and refs.
const QUICK_MAX: Duration = Duration::from_secs(60);
/// For calls that write a whole checkout, perhaps through the user's filters.
pub(super) const CHECKOUT_MAX: Duration = Duration::from_secs(600);
/// A longer answer is an error.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Git's exit code for an unknown option.
const NOT_UNDERSTOOD: i32 = 129;
/// The number of git's error lines in our message.
const COMPLAINTS_MAX: usize = 3;

/// Git sets these for hooks, and users for experiments. A child process that inherits one works on
/// the wrong repository, the wrong index or with different rules. `GIT_CONFIG_COUNT` stays:
/// containers use it for `safe.directory`.
const NOT_INHERITED: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_AUTHOR_DATE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMITTER_DATE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_NOTES_DISPLAY_REF",
    "GIT_NOTES_REF",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Settings for every call except the merge, so that the configuration of the user, of an agent or
/// of a copied repository cannot run programs or hide changes. Each call also disables what it does
/// not need: signing, external diffs, text conversion. Filters and merge drivers stay enabled where
/// files are checked out or merged, since a project may need them; `redgreen trust` asks about them
/// first.
const PLUMBING_CONFIG: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.quotePath=false",
    "index.skipHash=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Our worktrees are complete even if the user's checkout is sparse.
const NOT_SPARSE: &str = "core.sparseCheckout=false";

/// Commands that, as we call them, change nothing and can be interrupted safely.
const READING: &[&str] = &[
    "cat-file",
    "config",
    "diff-tree",
    "for-each-ref",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "merge-tree",
    "rev-list",
    "rev-parse",
];

pub(super) struct Call {
    program: Program,
    folder: PathBuf,
    limits: Limits,
    stop: Stop,
}

impl Git {
    /// A call in the checkout that runs none of the user's hooks.
    pub(super) fn call<const N: usize>(&self, args: [&str; N]) -> Call {
        let reads = args.first().is_some_and(|command| READING.contains(command));
        let call = Call::plumbing(&self.root, &[]).args(args);
        if reads { call.interruptible(&self.stop) } else { call }
    }

    /// For several calls that change the user's files together: none of them is interrupted.
    pub(super) fn uninterrupted(&self) -> Self {
        Self { stop: Stop::default(), ..self.clone() }
    }

    /// A call with explicit `--git-dir` and `--work-tree`, so changes to the folder's `.git` have
    /// no effect. Interrupted work is repeated later, so the call ends when the user asks to stop.
    pub(super) fn call_on(&self, folder: &Path, index: &Path) -> Call {
        let dir = ["--git-dir".into(), self.common_dir.clone().into()];
        let tree = ["--work-tree".into(), OsString::from(folder)];
        Call::plumbing(folder, &[dir, tree].concat())
            .env("GIT_INDEX_FILE", index)
            .interruptible(&self.stop)
    }
}

impl Call {
    pub(super) fn plumbing(folder: &Path, options: &[OsString]) -> Self {
        Self::without_hooks(folder, [NOT_SPARSE].iter().chain(PLUMBING_CONFIG), options)
    }

    /// Like `plumbing`, for a checkout of the user that may be sparse.
    pub(super) fn user_plumbing(folder: &Path) -> Self {
        Self::without_hooks(folder, PLUMBING_CONFIG, &[])
    }

    fn without_hooks<'a>(
        folder: &Path,
        settings: impl IntoIterator<Item = &'a &'static str>,
        options: &[OsString],
    ) -> Self {
        let mut program = base(folder)
            .env("LC_ALL", "C")
            // Do not rewrite the user's index while reading.
            .env("GIT_OPTIONAL_LOCKS", "0")
            // Ignore replace refs: with them one commit can pose as another.
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            // Do not fetch missing objects of a partial clone: `core.sshCommand`,
            // `remote.*.uploadpack`, `credential.helper` and `ext::` URLs would run a command
            // chosen by the repository.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_LITERAL_PATHSPECS", "1");
        for setting in settings {
            program = program.args(["-c", *setting]);
        }
        Self::new(program.args(options.iter().cloned()), folder)
    }

    /// A call as the user would make it, with hooks, signing and merge drivers.
    pub(super) fn as_the_user(folder: &Path) -> Self {
        // LANGUAGE selects English messages without changing the locale of the user's hooks.
        Self::new(base(folder).env("LANGUAGE", "en"), folder)
    }

    fn new(program: Program, folder: &Path) -> Self {
        let limits = Limits { wall: QUICK_MAX, output_bytes_max: ANSWER_BYTES_MAX };
        // Ctrl-C interrupts only calls that opt in: others could leave half a change of refs or of
        // the user's files.
        Self { program, folder: folder.to_owned(), limits, stop: Stop::default() }
    }

    pub(super) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.program = self.program.arg(arg);
        self
    }

    pub(super) fn args<I: IntoIterator<Item = S>, S: Into<OsString>>(mut self, args: I) -> Self {
        self.program = self.program.args(args);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.program = self.program.env(name, value);
        self
    }

    pub(super) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.program = self.program.stdin(bytes);
        self
    }

    pub(super) fn wall(mut self, wall: Duration) -> Self {
        self.limits.wall = wall;
        self
    }

    pub(super) fn bytes_max(mut self, bytes: usize) -> Self {
        self.limits.output_bytes_max = bytes;
        self
    }

    pub(super) fn stop(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Ends the call when the user asks to stop. Calls that begin after that request run to
    /// completion, because they save work.
    pub(super) fn interruptible(self, stop: &Stop) -> Self {
        if stop.requested() { self } else { self.stop(stop) }
    }

    /// Any exit code is accepted, and the output may be truncated.
    pub(super) fn output(self, act: &str) -> Result<Output> {
        self.program
            .output(self.limits, &self.stop)
            .map_err(|error| not_started(error, act, &self.folder))
    }

    /// Any exit code is an answer. A signal, a timeout or truncated output is an error.
    pub(super) fn ask(self, act: &str) -> Result<Output> {
        let output = self.output(act)?;
        match output.exit {
            Exit::Code(_) if output.cut => bail!("{act}: git's answer is too long"),
            Exit::Code(_) => Ok(output),
            Exit::NotStarted => bail!("{act}: git was not started"),
            Exit::Signal(signal) => bail!("{act}: git was killed by signal {signal}"),
            Exit::TimedOut => bail!("{act}: git took longer than {} s", output.wall.as_secs()),
        }
    }

    /// The standard output of a call that has to succeed.
    pub(super) fn run(self, act: &str) -> Result<Vec<u8>> {
        let output = self.ask(act)?;
        if output.success() { Ok(output.stdout) } else { Err(refused(act, &output)) }
    }

    /// The first line of the output of a call that has to succeed.
    pub(super) fn line(self, act: &str) -> Result<String> {
        let stdout = self.run(act)?;
        let text = String::from_utf8_lossy(&stdout);
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }
}

/// Runs two independent operations in parallel.
pub(super) fn in_parallel<A: Send, B>(
    first: impl FnOnce() -> Result<A> + Send,
    second: impl FnOnce() -> Result<B>,
) -> (Result<A>, Result<B>) {
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().unwrap_or_else(|_| Err(Error::msg("a thread ended early"))), second)
    })
}

/// Git's own error message; for a lock file also the command that removes it.
pub(super) fn refused(act: &str, output: &Output) -> Error {
    if output.exit == Exit::Code(NOT_UNDERSTOOD)
        && let Err(too_old) = version::check()
    {
        return too_old;
    }
    let stderr = output.stderr_text();
    let what = format!("{act}: {}", complaint(&stderr));
    match existing_lock(&stderr) {
        Some(lock) => Failure::environment(what)
            .evidence("another git process holds the lock, or one was killed and left it behind")
            .next(format!("rm -f {}   (when no other git is running)", in_quotes(lock)))
            .into(),
        None => Error::msg(what),
    }
}

/// Git's error lines without `fatal:` and `error:`, or the last line if there are none.
pub(super) fn complaint(stderr: &str) -> String {
    let reason = |line: &str| {
        let text = line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: "))?;
        Some(text.trim().to_owned())
    };
    let mut reasons: Vec<String> = stderr.lines().filter_map(reason).collect();
    reasons.dedup();
    reasons.truncate(COMPLAINTS_MAX);
    let last = || stderr.lines().rev().find(|line| !line.trim().is_empty());
    if reasons.is_empty() {
        last().unwrap_or("git gave no reason").to_owned()
    } else {
        reasons.join("; ")
    }
}

/// The path of an existing lock file in git's error: `Unable to create '…/index.lock': File
/// exists.`
pub(super) fn existing_lock(stderr: &str) -> Option<&str> {
    let (before, _) = stderr.split_once(".lock': File exists")?;
    let start = before.rfind('\'')? + 1;
    stderr.get(start..before.len() + ".lock".len())
}

pub(super) fn base(folder: &Path) -> Program {
    let program =
        Program::new("git").cwd(folder).env("GIT_TERMINAL_PROMPT", "0").env("GIT_EDITOR", "true");
    NOT_INHERITED.iter().fold(program, |program, name| program.env_remove(*name))
}

fn not_started(error: Error, act: &str, folder: &Path) -> Error {
    let missing = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::NotFound)
    };
    if !error.chain().any(missing) {
        return error.context(act.to_owned());
    }
    // The system reports a missing program and a missing working directory in the same way.
    if folder.is_dir() {
        Failure::environment("git is not installed, or not on the PATH")
            .evidence(act)
            .next("git --version")
            .into()
    } else {
        Failure::environment(format!(
            "{act}: the folder {} does not exist any more",
            folder.display()
        ))
        .into()
    }
}
