//! Runs programs fenced in: what lies outside cannot be changed, some of it is not even there, the network is away, and
//! no process is left when it is over. It uses the strongest means this machine allows and says which one held; it
//! never decides whether that is enough.
//!
//! From strong to weak: bubblewrap; namespaces through `unshare`; Landlock and seccomp; nothing but the end of all
//! processes. All but the first are set up by this program itself, started again as `redgreen __fenced …`, since a
//! process can fence in nobody but itself.

mod fenced;
mod forward;
mod installed;
mod mounts;
mod plan;
mod rules;
mod stamp;
mod sweep;
mod wrap;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use redgreen_core::egress::Target;

use crate::egress::{Address, Listen};
use crate::process::{Attention, Limits, Output, Program, Stop};

pub use fenced::{SUBCOMMAND, main as fenced_main};
pub use forward::PORT as OUTLET_PORT;
pub use installed::{Installed, cargo_parts};
pub use stamp::Stamp;

/// How long one try of one means may take. It takes a few milliseconds where it works; on a machine with fifty runs at
/// once it takes seconds, and a fence must not become a weaker one by that.
const PROBE: Limits = Limits { wall: Duration::from_secs(60), output_bytes_max: 4 << 10 };
/// Where the system keeps its programs. Not PATH: a fence is no place for a stranger's `unshare`.
const SYSTEM_FOLDERS: &[&str] = &["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"];

const ABSTRACT_OPEN: &str = "abstract ones of this machine can be reached";

/// What a program may see and do. What is not named can be read and not changed.
#[derive(Clone, Debug, Default)]
pub struct Fence {
    /// Folders and files that may be changed. They have to exist.
    pub writable: Vec<PathBuf>,
    /// Places that appear empty; those that do not exist are passed over. `/` hides all that is not named elsewhere.
    pub hidden: Vec<PathBuf>,
    /// Shown, unchangeable, although they lie in something hidden.
    pub shown: Vec<PathBuf>,
    /// Folders of elsewhere that appear, unchangeable, in a place that exists. Only where `Sandbox::binds`.
    pub bound: Vec<Bound>,
    pub network: Network,
    /// The way out of a loopback of its own.
    pub outlet: Option<Outlet>,
    /// How many processes there may be at a time; as far as the system lets us say so.
    pub processes_max: Option<u32>,
    /// How large a file may be made.
    pub file_bytes_max: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    pub from: PathBuf,
    pub to: PathBuf,
}

/// A proxy of ours that a program may talk to although it has no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlet {
    pub proxy: Address,
    /// Services of this machine that appear on the program's own loopback, through the proxy.
    pub tunnels: Vec<Target>,
}

/// Whom a program may talk to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Nobody.
    #[default]
    None,
    /// Itself: a loopback of its own, on which nobody else listens.
    Loopback,
    Full,
}

/// The means by which a fence holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    Bubblewrap,
    Namespaces,
    Landlock,
    Nothing,
}

/// What a fence really held, for a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub by: Means,
    pub files: Grip,
    pub network: Grip,
    /// Sockets of other programs: in folders, and abstract ones.
    pub sockets: Grip,
    pub processes: Grip,
}

/// Whether one part of a fence held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grip {
    Firm,
    /// With this gap.
    Loose(&'static str),
    /// Not at all, for this reason.
    Not(&'static str),
}

/// A program that ran fenced in.
#[derive(Debug)]
pub struct Fenced {
    pub output: Output,
    pub held: Held,
}

/// The means that this machine allows.
#[derive(Clone, Debug)]
pub struct Sandbox {
    by: Means,
    /// This program's own file.
    helper: PathBuf,
    /// `bwrap` or `unshare`.
    tool: Option<PathBuf>,
    /// Why nothing stronger is used, a line for each.
    pub passed_over: Vec<String>,
}

impl Means {
    pub const ALL: [Self; 4] = [Self::Bubblewrap, Self::Namespaces, Self::Landlock, Self::Nothing];

    /// Those that hold anything, the strongest first.
    const FENCES: [Self; 3] = [Self::Bubblewrap, Self::Namespaces, Self::Landlock];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Namespaces => "namespaces",
            Self::Landlock => "Landlock and seccomp",
            Self::Nothing => "nothing",
        }
    }

    /// The program of the system that it needs.
    fn tool(self) -> Option<&'static str> {
        match self {
            Self::Bubblewrap => Some("bwrap"),
            Self::Namespaces => Some("unshare"),
            Self::Landlock | Self::Nothing => None,
        }
    }

    fn has_mounts(self) -> bool {
        match self {
            Self::Bubblewrap | Self::Namespaces => true,
            Self::Landlock | Self::Nothing => false,
        }
    }
}

impl Sandbox {
    /// The strongest means that works here. Found out once for each process, in a few milliseconds.
    pub fn here() -> Result<&'static Self> {
        static HERE: OnceLock<Sandbox> = OnceLock::new();
        if let Some(known) = HERE.get() {
            return Ok(known);
        }
        let helper = std::env::current_exe().context("find our own program")?;
        Ok(HERE.get_or_init(|| Self::probe(&helper)))
    }

    /// No fence at all: only the end of all processes is seen to.
    pub fn open() -> Result<Self> {
        let helper = std::env::current_exe().context("find our own program")?;
        Ok(Self {
            by: Means::Nothing,
            helper,
            tool: None,
            passed_over: vec!["the configuration wants none".to_owned()],
        })
    }

    /// Every means with whether it works here, the strongest first.
    pub fn each() -> Result<Vec<(Means, Result<()>)>> {
        let helper = std::env::current_exe().context("find our own program")?;
        Ok(Means::FENCES.into_iter().map(|means| (means, Self::with(means, &helper).map(|_| ()))).collect())
    }

    /// The strongest means that works here, tried with `helper`, a file of this program.
    pub fn probe(helper: &Path) -> Self {
        let mut passed_over = Vec::new();
        for means in Means::FENCES {
            match Self::with(means, helper) {
                Ok(sandbox) => return Self { passed_over, ..sandbox },
                Err(error) => passed_over.push(format!("{}: {error:#}", means.as_str())),
            }
        }
        Self { by: Means::Nothing, helper: helper.to_owned(), tool: None, passed_over }
    }

    /// These very means, or why they do not work here.
    pub fn with(means: Means, helper: &Path) -> Result<Self> {
        let tool =
            means.tool().map(|name| find(name).with_context(|| format!("{name} is not installed"))).transpose()?;
        Self::with_tool(means, helper, tool)
    }

    /// As `with`, by a `bwrap` or `unshare` that is not in one of the system's folders.
    pub fn with_tool(means: Means, helper: &Path, tool: Option<PathBuf>) -> Result<Self> {
        let sandbox = Self { by: means, helper: helper.to_owned(), tool, passed_over: Vec::new() };
        let nowhere = Fence { network: Network::Loopback, ..Fence::default() };
        let program = Program::new("true").cwd("/").env_clear().env("PATH", "/usr/bin:/bin");
        let tried = sandbox.run(&program, &nowhere, PROBE, &Stop::default())?.output;
        if !tried.success() {
            bail!("{}", tried.stderr_text().lines().last().unwrap_or("it does not work here").trim());
        }
        Ok(sandbox)
    }

    pub fn by(&self) -> Means {
        self.by
    }

    /// Whether a folder can appear in another place; otherwise a link has to do.
    pub fn binds(&self) -> bool {
        self.by.has_mounts()
    }

    /// Where a proxy has to listen to be the only way out; none where nothing keeps a program to it.
    pub fn outlet(&self) -> Option<Listen> {
        match self.by {
            Means::Bubblewrap | Means::Namespaces => Some(Listen::Socket),
            Means::Landlock => rules::limits_ports().then_some(Listen::Port),
            Means::Nothing => None,
        }
    }

    /// Runs the program to its end and the end of everything it started. An exit code of 128 and a signal's number,
    /// which shells use too, is told as that signal.
    pub fn run(&self, program: &Program, fence: &Fence, limits: Limits, stop: &Stop) -> Result<Fenced> {
        self.attended(program, fence, limits, stop, Attention::None)
    }

    /// The same for a program that is listened to, or spoken with, while it runs.
    pub fn attended(
        &self,
        program: &Program,
        fence: &Fence,
        limits: Limits,
        stop: &Stop,
        attention: Attention<'_>,
    ) -> Result<Fenced> {
        let mut output = wrap::wrap(self, program, fence)?.attended(limits, stop, attention)?;
        if let Some(error) = fenced::setup_error(&output) {
            return Err(error.context(format!("fence in {}", program.line())));
        }
        output.exit = fenced::real_exit(output.exit);
        Ok(Fenced { output, held: self.held(fence) })
    }

    /// What a run within this fence can rely on.
    pub fn held(&self, fence: &Fence) -> Held {
        let by = self.by;
        match by {
            Means::Bubblewrap | Means::Namespaces => {
                let is_shared = fence.network == Network::Full && !rules::scopes_sockets();
                let sockets = if is_shared { Grip::Loose(ABSTRACT_OPEN) } else { Grip::Firm };
                Held { by, files: Grip::Firm, network: Grip::Firm, sockets, processes: Grip::Firm }
            }
            Means::Landlock => Held {
                by,
                files: Grip::Loose(
                    "/dev/shm is shared, names of hidden files can be asked for, modes and times be set",
                ),
                network: landlock_network(fence),
                sockets: landlock_sockets(fence),
                processes: Grip::Loose("found by search"),
            },
            Means::Nothing => Held {
                by,
                files: Grip::Not("all can be read, and changed with the user's rights"),
                network: match fence.network {
                    Network::None | Network::Loopback => Grip::Not("it is open"),
                    Network::Full => Grip::Firm,
                },
                sockets: Grip::Not("all of the user's can be reached"),
                processes: Grip::Loose("found by search"),
            },
        }
    }
}

fn landlock_network(fence: &Fence) -> Grip {
    match (fence.network, &fence.outlet) {
        (Network::None | Network::Full, _) => Grip::Firm,
        (Network::Loopback, Some(_)) if rules::limits_ports() => {
            Grip::Loose("held by port, not by address: whoever listens on the proxy's port elsewhere can be reached")
        }
        (Network::Loopback, _) => Grip::Not("a loopback of its own needs namespaces"),
    }
}

fn landlock_sockets(fence: &Fence) -> Grip {
    match (rules::scopes_sockets(), rules::resolves_sockets() || fence.outlet.is_some()) {
        (true, true) => Grip::Firm,
        (false, true) => Grip::Loose(ABSTRACT_OPEN),
        (true, false) => Grip::Loose("those in folders can be reached; this kernel's Landlock does not know them"),
        (false, false) => Grip::Not("this kernel's Landlock does not know them"),
    }
}

impl Held {
    /// Nothing is to be added to the word of this fence.
    pub fn is_firm(&self) -> bool {
        [self.files, self.network, self.sockets, self.processes].iter().all(|grip| *grip == Grip::Firm)
    }
}

impl fmt::Display for Held {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "fenced in by {}", self.by.as_str())?;
        let parts = [
            ("files", self.files),
            ("network", self.network),
            ("sockets", self.sockets),
            ("processes", self.processes),
        ];
        for (part, grip) in parts {
            match grip {
                Grip::Firm => {}
                Grip::Loose(gap) => write!(out, "; {part} loosely: {gap}")?,
                Grip::Not(reason) => write!(out, "; {part} not: {reason}")?,
            }
        }
        Ok(())
    }
}

fn find(name: &str) -> Option<PathBuf> {
    SYSTEM_FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|file| file.is_file())
}

/// A list of words for a command line.
fn words<const N: usize>(words: [&str; N]) -> [OsString; N] {
    words.map(OsString::from)
}
