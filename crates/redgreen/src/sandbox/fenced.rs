//! `redgreen __fenced`: this program, started again to fence itself in and become, or look after, another one.
//!
//! `tied` ends when we do, killed or not, and becomes the program; `mounts` is the first process of new namespaces and lays out what is seen; `init` and `inside` start the program, wait for it,
//! and end all that it leaves behind; `rules` takes rights from itself and becomes the program.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use redgreen_core::egress::Target;
use redgreen_core::report::Exit;
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, setrlimit, wait,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::plan::{Kind, Place, Plan};
use super::sweep::{self, Left};
use super::{Fence, Network, Outlet, forward, mounts, rules};
use crate::egress::Address;
use crate::process::Output;

/// The word that starts this instead of a verb.
pub const SUBCOMMAND: &str = "__fenced";

/// The fence could not be built, or somebody got over it.
const NO_FENCE: i32 = 125;
/// The program is not there.
const NO_PROGRAM: i32 = 127;
/// Before the last line of a helper that could not do its work.
const MARK: &str = "redgreen-fence: ";
/// A shell's way to tell a signal in an exit code.
const SIGNAL_BASE: i32 = 128;
const SIGNAL_MAX: i32 = 64;
/// How long the program may take to end when it was asked to. Less than whoever asked us waits.
const END_GRACE: Duration = Duration::from_millis(200);
/// How often processes are counted.
const COUNT_PAUSE: Duration = Duration::from_millis(250);

/// What the helper is to do.
pub(super) enum Stage {
    Tied,
    Mounts(Plan),
    /// For a program that becomes fenced in by itself later, or not at all.
    Init,
    /// For one that sees only mounts of its own already.
    Inside,
    Rules(Plan),
}

#[derive(Default)]
struct Order {
    places: Vec<Place>,
    bare: bool,
    network: Network,
    outlet: Option<Outlet>,
    processes_max: Option<u32>,
    file_bytes_max: Option<u64>,
    command: Vec<OsString>,
}

/// Whether the program may connect to sockets of others, as far as they are seen.
#[derive(Clone, Copy)]
enum Sockets {
    AsTheyAre,
    Closed,
}

/// The words that start a stage; the program follows.
pub(super) fn stage(helper: &Path, stage: &Stage, fence: &Fence) -> Vec<OsString> {
    let (name, plan) = match stage {
        Stage::Mounts(plan) => ("mounts", Some(plan)),
        Stage::Tied => ("tied", None),
        Stage::Init => ("init", None),
        Stage::Inside => ("inside", None),
        Stage::Rules(plan) => ("rules", Some(plan)),
    };
    let mut line: Vec<OsString> = vec![helper.into(), SUBCOMMAND.into(), name.into()];
    let mut option = |name: &str, values: &[&OsStr]| {
        line.push(name.into());
        line.extend(values.iter().map(OsString::from));
    };
    if plan.is_some_and(|plan| plan.bare) {
        option("--bare", &[]);
    }
    for place in plan.iter().flat_map(|plan| &plan.places) {
        let path = place.path.as_os_str();
        match &place.kind {
            Kind::Empty => option("--empty", &[path]),
            Kind::Cover => option("--cover", &[path]),
            Kind::Scratch => option("--scratch", &[path]),
            Kind::Show { from } => option("--show", &[from.as_os_str(), path]),
            Kind::Write => option("--write", &[path]),
        }
    }
    let network = match fence.network {
        Network::None => "none",
        Network::Loopback => "loopback",
        Network::Full => "full",
    };
    option("--network", &[network.as_ref()]);
    if let Some(outlet) = &fence.outlet {
        match &outlet.proxy {
            Address::Socket(path) => option("--proxy-socket", &[path.as_os_str()]),
            Address::Port(port) => option("--proxy-port", &[port.to_string().as_ref()]),
        }
        for tunnel in &outlet.tunnels {
            option("--tunnel", &[tunnel.to_string().as_ref()]);
        }
    }
    if let Some(count) = fence.processes_max {
        option("--processes", &[count.to_string().as_ref()]);
    }
    if let Some(bytes) = fence.file_bytes_max {
        option("--file-bytes", &[bytes.to_string().as_ref()]);
    }
    option("--", &[]);
    line
}

/// Does what the words after `__fenced` say; the exit code of the program.
pub fn main(words: impl IntoIterator<Item = OsString>) -> i32 {
    match perform(words.into_iter()) {
        Ok(code) => code,
        Err(error) => {
            let missing = error.downcast_ref::<std::io::Error>();
            let missing = missing.is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
            // Nobody listens when this fails too.
            writeln!(std::io::stderr(), "\n{MARK}{error:#}").ok();
            if missing { NO_PROGRAM } else { NO_FENCE }
        }
    }
}

/// What kept a helper from its work; it is the last thing that it said.
pub(super) fn setup_error(output: &Output) -> Option<Error> {
    let Exit::Code(code @ (NO_FENCE | NO_PROGRAM)) = output.exit else { return None };
    let words = output.stderr_text();
    let reason = words.trim_end().lines().last()?.strip_prefix(MARK)?.to_owned();
    let reason = Error::msg(reason);
    if code == NO_PROGRAM {
        // Callers tell a missing program from other troubles by this cause.
        return Some(Error::new(std::io::Error::from(std::io::ErrorKind::NotFound)).context(reason));
    }
    Some(reason)
}

/// The end of the program itself, from the exit code of the helper.
pub(super) fn real_exit(exit: Exit) -> Exit {
    match exit {
        Exit::Code(code) if (SIGNAL_BASE + 1..=SIGNAL_BASE + SIGNAL_MAX).contains(&code) => {
            Exit::Signal(code - SIGNAL_BASE)
        }
        Exit::Code(_) | Exit::Signal(_) | Exit::NotStarted | Exit::TimedOut => exit,
    }
}

fn perform(mut words: impl Iterator<Item = OsString>) -> Result<i32> {
    let stage = words.next().unwrap_or_default();
    let mut order = read(words)?;
    let plan = Plan { bare: order.bare, places: std::mem::take(&mut order.places), proxy: None };
    match stage.to_str() {
        Some("tied") => {
            set_parent_process_death_signal(Some(Signal::KILL)).context("end with who started it")?;
            Err(become_program(&order.command))
        }
        Some("mounts") => {
            if order.network == Network::Loopback {
                mounts::raise_loopback().context("raise the loopback")?;
            }
            mounts::build(&plan, order.processes_max)?;
            limit(order.processes_max, order.file_bytes_max)?;
            // Ports below 1024 need a capability.
            forward::start(order.outlet.as_ref())?;
            mounts::drop_capabilities().context("drop capabilities")?;
            look_after(&order, Sockets::Closed)
        }
        Some(stage @ ("init" | "inside")) => {
            // Asked to end, it ends the others as well.
            set_parent_process_death_signal(Some(Signal::TERM)).context("end with who started it")?;
            limit(None, order.file_bytes_max)?;
            if stage == "init" {
                return look_after(&order, Sockets::AsTheyAre);
            }
            forward::start(order.outlet.as_ref())?;
            look_after(&order, Sockets::Closed)
        }
        Some("rules") => {
            let others = if order.processes_max.is_some() { rules::user_tasks() } else { 0 };
            limit(order.processes_max.map(|max| max.saturating_add(others)), order.file_bytes_max)?;
            rules::apply(&plan, order.network, order.outlet.as_ref())?;
            Err(become_program(&order.command))
        }
        _ => bail!("unknown stage {}", stage.display()),
    }
}

fn read(mut words: impl Iterator<Item = OsString>) -> Result<Order> {
    let mut order = Order::default();
    while let Some(option) = words.next() {
        let mut value = || words.next().with_context(|| format!("{} needs a value", option.display()));
        let mut place = |path: OsString, kind: Kind| order.places.push(Place { path: path.into(), kind });
        match option.to_str() {
            Some("--bare") => order.bare = true,
            Some("--empty") => place(value()?, Kind::Empty),
            Some("--cover") => place(value()?, Kind::Cover),
            Some("--scratch") => place(value()?, Kind::Scratch),
            Some("--show") => {
                let from = value()?.into();
                place(value()?, Kind::Show { from });
            }
            Some("--write") => place(value()?, Kind::Write),
            Some("--network") => order.network = network(&value()?)?,
            Some("--proxy-socket") => order.outlet = Some(outlet(Address::Socket(value()?.into()))),
            Some("--proxy-port") => order.outlet = Some(outlet(Address::Port(number(&value()?)?))),
            Some("--tunnel") => {
                let word = value()?;
                let target = word.to_str().and_then(|word| Target::parse(word, None));
                let target = target.with_context(|| format!("{} is no host and port", word.display()))?;
                order.outlet.as_mut().context("a tunnel needs a proxy")?.tunnels.push(target);
            }
            Some("--processes") => order.processes_max = Some(number(&value()?)?),
            Some("--file-bytes") => order.file_bytes_max = Some(number(&value()?)?),
            Some("--") => {
                order.command = words.collect();
                return Ok(order);
            }
            _ => bail!("unknown option {}", option.display()),
        }
    }
    bail!("no program to start")
}

fn outlet(proxy: Address) -> Outlet {
    Outlet { proxy, tunnels: Vec::new() }
}

fn network(word: &OsStr) -> Result<Network> {
    match word.to_str() {
        Some("none") => Ok(Network::None),
        Some("loopback") => Ok(Network::Loopback),
        Some("full") => Ok(Network::Full),
        _ => bail!("unknown network {}", word.display()),
    }
}

fn number<T: std::str::FromStr>(word: &OsStr) -> Result<T> {
    word.to_str().and_then(|word| word.parse().ok()).with_context(|| format!("{} is no number", word.display()))
}

fn limit(processes_max: Option<u32>, file_bytes_max: Option<u64>) -> Result<()> {
    let set = |resource: Resource, max: Option<u64>, name: &str| match max {
        Some(max) => {
            let both = Rlimit { current: Some(max), maximum: Some(max) };
            setrlimit(resource, both).with_context(|| format!("limit {name}"))
        }
        None => Ok(()),
    };
    set(Resource::Core, Some(0), "core dumps")?;
    set(Resource::Nproc, processes_max.map(u64::from), "processes")?;
    set(Resource::Fsize, file_bytes_max, "file sizes")
}

fn command(words: &[OsString]) -> Result<Command> {
    let (name, args) = words.split_first().context("no program to start")?;
    #[expect(clippy::disallowed_methods, reason = "this is the other side of the door")]
    let mut command = Command::new(name);
    command.args(args);
    Ok(command)
}

fn become_program(words: &[OsString]) -> Error {
    match command(words) {
        Ok(mut command) => Error::new(command.exec()).context(start_act(words)),
        Err(error) => error,
    }
}

fn start_act(words: &[OsString]) -> String {
    format!("start {}", words.first().map_or("", |name| name.to_str().unwrap_or("a program")))
}

/// Runs the program and is its family's last parent; nobody of it is left when this is over.
fn look_after(order: &Order, sockets: Sockets) -> Result<i32> {
    // What is watched over may not look into its keeper.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).context("keep our memory to ourselves")?;
    set_child_subreaper(Some(getpid())).context("become the parent of orphans")?;
    listen()?;
    let child = start(&order.command, sockets)?;
    if let Some(max) = order.processes_max {
        watch(max);
    }
    let status = wait_for(child)?;
    // The first process of a namespace takes all others along when it ends.
    if !getpid().is_init() && sweep::end_all() == Left::Somebody {
        bail!("processes are left that could not be ended");
    }
    Ok(exit_code(status))
}

/// Starts the program from a thread that has given up sockets of others: what Landlock takes from a thread, it takes
/// from what the thread starts, and nobody else.
fn start(words: &[OsString], sockets: Sockets) -> Result<Pid> {
    let (tell, told) = mpsc::channel();
    let mut command = command(words)?;
    let starting = move || {
        let closed = match sockets {
            Sockets::Closed => rules::close_sockets(),
            Sockets::AsTheyAre => Ok(()),
        };
        let started = closed.and_then(|()| command.spawn().map_err(Error::new));
        // Whoever waits is there until we are gone.
        tell.send(started.map(|child| Pid::from_child(&child))).ok();
        // Programs that want to end with their parent would end with this thread.
        loop {
            thread::park();
        }
    };
    thread::Builder::new().name("start".to_owned()).spawn(starting).context("start a thread")?;
    told.recv().context("hear from a thread")?.with_context(|| start_act(words))
}

/// Ends everything when there are more processes than this. The kernel's own limits do not bind root, and those for
/// one namespace are new.
fn watch(processes_max: u32) {
    let counting = move || {
        loop {
            thread::sleep(COUNT_PAUSE);
            let count = sweep::count();
            if count > usize::try_from(processes_max).unwrap_or(usize::MAX) {
                // Nobody listens when this fails.
                writeln!(std::io::stderr(), "redgreen: ended, with {count} processes; {processes_max} are allowed")
                    .ok();
                sweep::end_until(|| sweep::count() == 0);
            }
        }
    };
    thread::Builder::new().name("count".to_owned()).spawn(counting).ok();
}

/// Asked to end, we give the program a moment (it was asked too) and then end everything.
fn listen() -> Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).context("listen to signals")?;
    thread::spawn(move || {
        for _ in signals.forever() {
            thread::sleep(END_GRACE);
            sweep::kill_all();
        }
    });
    Ok(())
}

fn wait_for(child: Pid) -> Result<WaitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return Ok(status),
            // Somebody's orphan.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(anyhow!(error).context("wait for the program")),
        }
    }
}

fn exit_code(status: WaitStatus) -> i32 {
    let signal = || SIGNAL_BASE + status.terminating_signal().unwrap_or(Signal::KILL.as_raw());
    status.exit_status().unwrap_or_else(signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ordered_is_what_is_read() {
        let places = vec![
            Place { path: "/a".into(), kind: Kind::Empty },
            Place { path: "/b".into(), kind: Kind::Scratch },
            Place { path: "/s".into(), kind: Kind::Cover },
            Place { path: "/d e".into(), kind: Kind::Show { from: "/c".into() } },
            Place { path: "/f".into(), kind: Kind::Write },
        ];
        let plan = Plan { bare: true, places: places.clone(), proxy: None };
        let tunnels = vec![Target::parse("[::1]:80", None).unwrap()];
        let outlet = Some(Outlet { proxy: Address::Socket("/p q".into()), tunnels });
        let fence = Fence {
            network: Network::Loopback,
            outlet: outlet.clone(),
            processes_max: Some(9),
            file_bytes_max: Some(7),
            ..Fence::default()
        };
        let line = stage(Path::new("redgreen"), &Stage::Rules(plan), &fence);
        let order = read(line.into_iter().skip(3).chain(["ls".into(), "--".into()])).unwrap();
        assert_eq!((order.places, order.bare, order.network), (places, true, Network::Loopback));
        assert_eq!((order.processes_max, order.file_bytes_max), (Some(9), Some(7)));
        assert_eq!((order.outlet, order.command), (outlet, vec!["ls".into(), "--".into()]));
    }

    #[test]
    fn a_signal_comes_through_as_a_signal() {
        let rows = [(0, Exit::Code(0)), (101, Exit::Code(101)), (137, Exit::Signal(9)), (255, Exit::Code(255))];
        for (code, expected) in rows {
            assert_eq!(real_exit(Exit::Code(code)), expected);
        }
        assert_eq!(real_exit(Exit::TimedOut), Exit::TimedOut);
    }
}
