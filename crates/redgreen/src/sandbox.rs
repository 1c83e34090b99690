//! Runs programs in a sandbox: they cannot change files outside of it, some files are hidden, the
//! network is limited, and no process outlives the run. It uses the strongest mechanism of this
//! machine and reports which one. Whether that is enough is decided elsewhere.
//!
//! Each platform has one module with the same functions: `linux` (bubblewrap, namespaces, Landlock)
//! and `macos` (Seatbelt). If nothing works, programs run without a sandbox, and every verdict says
//! so.

mod installed;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod plan;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
mod stamp;

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(target_os = "macos")]
use macos as platform;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use redgreen_core::egress::Target;

use crate::egress::{Address, Listen};
use crate::process::{Attention, Limits, Output, Program, Stop};

pub use installed::{Installed, cargo_parts};
pub use platform::helper_main;
pub use stamp::Stamp;

/// The hidden subcommand that sets up a sandbox.
pub const SUBCOMMAND: &str = "__fenced";
/// The port of the proxy inside a sandbox with a private loopback.
pub const OUTLET_PORT: u16 = 13128;

/// The time limit for testing one mechanism. A test takes a few milliseconds, but seconds on a
/// machine with fifty concurrent runs. A busy machine must not fall back to a weaker mechanism.
const PROBE: Limits = Limits { wall: Duration::from_secs(60), output_bytes_max: 4 << 10 };
/// The folders of system programs. PATH is not used: it could contain somebody else's `unshare`.
const SYSTEM_FOLDERS: &[&str] =
    &["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"];

/// What a program may see and do. Everything else is readable but not writable.
#[derive(Clone, Debug, Default)]
pub struct Fence {
    /// Writable folders and files. They must exist.
    pub writable: Vec<PathBuf>,
    /// Paths that appear empty. Missing ones are ignored. `/` hides everything that is not listed
    /// elsewhere.
    pub hidden: Vec<PathBuf>,
    /// Read-only paths inside a hidden folder that stay visible.
    pub shown: Vec<PathBuf>,
    /// Folders that are mounted read-only at another existing path. Requires `Sandbox::binds`.
    pub bound: Vec<BindMount>,
    pub network: Network,
    /// The way out of a private loopback network.
    pub outlet: Option<Outlet>,
    /// The maximum number of concurrent processes, as far as the system supports it.
    pub processes_max: Option<u32>,
    /// The maximum size of a file that the program creates.
    pub file_bytes_max: Option<u64>,
}

impl Fence {
    /// For a program that answers a question about a folder: it reads what the user can read, also
    /// in `/tmp`, but changes nothing and has no network.
    pub fn only_reading(folder: &Path) -> Self {
        Self { shown: vec!["/tmp".into(), folder.to_owned()], ..Self::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindMount {
    pub from: PathBuf,
    pub to: PathBuf,
}

/// Our proxy, which a program can reach although it has no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlet {
    pub proxy: Address,
    /// Local services that appear on the program's own loopback, through the proxy.
    pub tunnels: Vec<Target>,
}

/// The network access of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    None,
    /// Only a private loopback, on which no other program listens.
    Loopback,
    Full,
}

/// The mechanism of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    Bubblewrap,
    Namespaces,
    Landlock,
    Seatbelt,
    Nothing,
}

/// What a sandbox enforced, for the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforcement {
    pub by: Mechanism,
    pub files: Strength,
    pub network: Strength,
    /// Sockets of other programs, in the file system and abstract.
    pub sockets: Strength,
    pub processes: Strength,
}

/// How well one part of a sandbox is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    Firm,
    /// Enforced with this gap.
    Loose(&'static str),
    /// Not enforced, for this reason.
    Not(&'static str),
}

/// The result of a sandboxed program.
#[derive(Debug)]
pub struct SandboxResult {
    pub output: Output,
    pub held: Enforcement,
}

/// The mechanism that this machine supports.
#[derive(Clone, Debug)]
pub struct Sandbox {
    by: Mechanism,
    /// The executable of redgreen.
    #[cfg_attr(
        target_os = "macos",
        expect(dead_code, reason = "the sandbox of macOS needs no helper")
    )]
    helper: PathBuf,
    /// `bwrap` or `unshare`.
    tool: Option<PathBuf>,
    /// Why stronger mechanisms are not used, one line each.
    pub passed_over: Vec<String>,
}

impl Mechanism {
    /// Those of this platform, the strongest first.
    pub const ALL: [Self; platform::ALL.len()] = platform::ALL;

    /// The mechanisms that restrict something.
    fn fences() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|means| *means != Self::Nothing)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Namespaces => "namespaces",
            Self::Landlock => "Landlock and seccomp",
            Self::Seatbelt => "Seatbelt",
            Self::Nothing => "nothing",
        }
    }

    /// The system program that it needs.
    fn tool(self) -> Option<&'static str> {
        match self {
            Self::Bubblewrap => Some("bwrap"),
            Self::Namespaces => Some("unshare"),
            Self::Seatbelt => Some("sandbox-exec"),
            Self::Landlock | Self::Nothing => None,
        }
    }

    fn has_mounts(self) -> bool {
        match self {
            Self::Bubblewrap | Self::Namespaces => true,
            Self::Landlock | Self::Seatbelt | Self::Nothing => false,
        }
    }
}

impl Sandbox {
    /// The strongest mechanism that works here. Tested once per process, in a few milliseconds.
    pub fn here() -> Result<&'static Self> {
        static HERE: OnceLock<Sandbox> = OnceLock::new();
        if let Some(known) = HERE.get() {
            return Ok(known);
        }
        let helper = std::env::current_exe().context("find our own program")?;
        Ok(HERE.get_or_init(|| Self::probe(&helper)))
    }

    /// No sandbox; only kills all processes at the end.
    pub fn open() -> Result<Self> {
        let helper = std::env::current_exe().context("find our own program")?;
        Ok(Self {
            by: Mechanism::Nothing,
            helper,
            tool: None,
            passed_over: vec!["disabled by the configuration".to_owned()],
        })
    }

    /// Whether each mechanism works here, strongest first.
    pub fn each() -> Result<Vec<(Mechanism, Result<()>)>> {
        let helper = std::env::current_exe().context("find our own program")?;
        Ok(Mechanism::fences()
            .map(|means| (means, Self::with(means, &helper).map(|_| ())))
            .collect())
    }

    /// The strongest mechanism that works here, tested with `helper`, an executable of redgreen.
    pub fn probe(helper: &Path) -> Self {
        let mut passed_over = Vec::new();
        for means in Mechanism::fences() {
            match Self::with(means, helper) {
                Ok(sandbox) => return Self { passed_over, ..sandbox },
                Err(error) => passed_over.push(format!("{}: {error:#}", means.as_str())),
            }
        }
        Self { by: Mechanism::Nothing, helper: helper.to_owned(), tool: None, passed_over }
    }

    /// This mechanism, or the reason why it does not work here.
    pub fn with(means: Mechanism, helper: &Path) -> Result<Self> {
        let tool = means
            .tool()
            .map(|name| find(name).with_context(|| format!("{name} is not installed")))
            .transpose()?;
        Self::with_tool(means, helper, tool)
    }

    /// Like `with`, with a `bwrap` or `unshare` outside the system folders.
    pub fn with_tool(means: Mechanism, helper: &Path, tool: Option<PathBuf>) -> Result<Self> {
        let sandbox = Self { by: means, helper: helper.to_owned(), tool, passed_over: Vec::new() };
        let nowhere = Fence { network: Network::Loopback, ..Fence::default() };
        let program = Program::new("true").cwd("/").env_clear().env("PATH", "/usr/bin:/bin");
        let tried = sandbox.run(&program, &nowhere, PROBE, &Stop::default())?.output;
        if !tried.success() {
            bail!(
                "{}",
                tried.stderr_text().lines().last().unwrap_or("it does not work here").trim()
            );
        }
        Ok(sandbox)
    }

    pub fn by(&self) -> Mechanism {
        self.by
    }

    /// Whether a folder can be mounted at another path. If not, a symbolic link is used.
    pub fn binds(&self) -> bool {
        self.by.has_mounts()
    }

    /// Where a proxy has to listen to be the only way out. `None` if a program can bypass it.
    pub fn outlet(&self) -> Option<Listen> {
        platform::outlet(self.by)
    }

    /// Runs the program until it and all processes it started have ended. An exit code of 128 plus
    /// a signal number, as shells report it, becomes that signal.
    pub fn run(
        &self,
        program: &Program,
        fence: &Fence,
        limits: Limits,
        stop: &Stop,
    ) -> Result<SandboxResult> {
        self.attended(program, fence, limits, stop, Attention::None)
    }

    /// Like `run`, for a program whose output is read, or that gets input, while it runs.
    pub fn attended(
        &self,
        program: &Program,
        fence: &Fence,
        limits: Limits,
        stop: &Stop,
        attention: Attention<'_>,
    ) -> Result<SandboxResult> {
        let mut output = platform::wrap(self, program, fence)?.attended(limits, stop, attention)?;
        if let Some(error) = platform::setup_error(&output) {
            return Err(error.context(format!("sandbox {}", program.line())));
        }
        output.exit = platform::real_exit(output.exit);
        Ok(SandboxResult { output, held: self.held(fence) })
    }

    /// What this sandbox enforces for a run.
    pub fn held(&self, fence: &Fence) -> Enforcement {
        match self.by {
            Mechanism::Nothing => no_fence(fence),
            Mechanism::Bubblewrap
            | Mechanism::Namespaces
            | Mechanism::Landlock
            | Mechanism::Seatbelt => platform::held(self.by, fence),
        }
    }
}

/// Only the processes are killed at the end.
fn no_fence(fence: &Fence) -> Enforcement {
    Enforcement {
        by: Mechanism::Nothing,
        files: Strength::Not("everything is readable, and writable with the user's rights"),
        network: match fence.network {
            Network::None | Network::Loopback => Strength::Not("open"),
            Network::Full => Strength::Firm,
        },
        sockets: Strength::Not("all of the user's sockets are reachable"),
        processes: Strength::Loose(platform::SEARCH),
    }
}

impl Enforcement {
    /// Whether everything is enforced without gaps.
    pub fn is_firm(&self) -> bool {
        [self.files, self.network, self.sockets, self.processes]
            .iter()
            .all(|grip| *grip == Strength::Firm)
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "sandboxed by {}", self.by.as_str())?;
        let parts = [
            ("files", self.files),
            ("network", self.network),
            ("sockets", self.sockets),
            ("processes", self.processes),
        ];
        for (part, grip) in parts {
            match grip {
                Strength::Firm => {}
                Strength::Loose(gap) => write!(out, "; {part} partly: {gap}")?,
                Strength::Not(reason) => write!(out, "; {part} not: {reason}")?,
            }
        }
        Ok(())
    }
}

fn find(name: &str) -> Option<PathBuf> {
    SYSTEM_FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|file| file.is_file())
}
