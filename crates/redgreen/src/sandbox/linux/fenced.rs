//! `redgreen __fenced`: redgreen starts itself again to set up a sandbox and then runs another
//! program.
//!
//! `tied` dies with its parent and becomes the program; `mounts` is the first process of new
//! namespaces and builds the file system; `init` and `inside` start the program, wait for it and
//! kill everything it leaves behind; `rules` drops its own rights and becomes the program.

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
    DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid,
    set_child_subreaper, set_dumpable_behavior, set_parent_process_death_signal, setrlimit, wait,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::sweep::{self, Descendants};
use super::{calls, forward, mounts, rules};
use crate::egress::Address;
use crate::process::Output;
use crate::sandbox::plan::{Kind, Place, Plan};
use crate::sandbox::{Fence, Network, Outlet, SUBCOMMAND};

/// Exit code: the sandbox could not be set up, or a process escaped.
const NO_FENCE: i32 = 125;
/// Exit code: the program does not exist.
const NO_PROGRAM: i32 = 127;
/// Starts the last line of a helper that failed.
const MARK: &str = "redgreen-fence: ";
/// Shells report a signal as this plus its number.
const SIGNAL_BASE: i32 = 128;
const SIGNAL_MAX: i32 = 64;
/// The time between SIGTERM and SIGKILL. Shorter than the grace period of our parent.
const END_GRACE: Duration = Duration::from_millis(200);
/// The interval of counting processes.
const COUNT_PAUSE: Duration = Duration::from_millis(250);

/// The task of the helper.
pub(super) enum Stage {
    Tied,
    Mounts(Plan),
    /// For a program that restricts itself later, or not at all.
    Init,
    /// For a program inside its own mounts.
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

/// Whether the program may connect to sockets of other programs that it can see.
#[derive(Clone, Copy)]
enum Sockets {
    AsTheyAre,
    Closed,
}

/// The command line of a stage. The program follows.
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

/// Runs the stage given after `__fenced`. Returns the exit code of the program.
pub fn main(words: impl IntoIterator<Item = OsString>) -> i32 {
    match perform(words.into_iter()) {
        Ok(code) => code,
        Err(error) => {
            let missing = error.downcast_ref::<std::io::Error>();
            let missing = missing.is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound);
            // If this fails too, nobody reads the output.
            writeln!(std::io::stderr(), "\n{MARK}{error:#}").ok();
            if missing { NO_PROGRAM } else { NO_FENCE }
        }
    }
}

/// The error of a helper, which is the last line of its output.
pub(in crate::sandbox) fn setup_error(output: &Output) -> Option<Error> {
    let Exit::Code(code @ (NO_FENCE | NO_PROGRAM)) = output.exit else { return None };
    let words = output.stderr_text();
    let reason = words.trim_end().lines().last()?.strip_prefix(MARK)?.to_owned();
    let reason = Error::msg(reason);
    if code == NO_PROGRAM {
        // Callers recognise a missing program by this cause.
        return Some(
            Error::new(std::io::Error::from(std::io::ErrorKind::NotFound)).context(reason),
        );
    }
    Some(reason)
}

/// The exit status of the program itself, decoded from the helper's exit code.
pub(in crate::sandbox) fn real_exit(exit: Exit) -> Exit {
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
            set_parent_process_death_signal(Some(Signal::KILL)).context("end with the parent")?;
            Err(become_program(&order.command))
        }
        Some("mounts") => {
            if order.network == Network::Loopback {
                mounts::raise_loopback().context("bring up the loopback")?;
            }
            mounts::build(&plan, order.processes_max)?;
            limit(order.processes_max, order.file_bytes_max)?;
            // Ports below 1024 need a capability.
            forward::start(order.outlet.as_ref())?;
            mounts::drop_capabilities().context("drop capabilities")?;
            look_after(&order, Sockets::Closed)
        }
        Some(stage @ ("init" | "inside")) => {
            // SIGTERM, so that it can kill its descendants before it ends.
            set_parent_process_death_signal(Some(Signal::TERM)).context("end with the parent")?;
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
            calls::close(calls::Shared::Closed)?;
            Err(become_program(&order.command))
        }
        _ => bail!("unknown stage {}", stage.display()),
    }
}

fn read(mut words: impl Iterator<Item = OsString>) -> Result<Order> {
    let mut order = Order::default();
    while let Some(option) = words.next() {
        let mut value =
            || words.next().with_context(|| format!("{} needs a value", option.display()));
        let mut place =
            |path: OsString, kind: Kind| order.places.push(Place { path: path.into(), kind });
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
                let target =
                    target.with_context(|| format!("{} is not a host and port", word.display()))?;
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
    word.to_str()
        .and_then(|word| word.parse().ok())
        .with_context(|| format!("{} is not a number", word.display()))
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
    #[expect(clippy::disallowed_methods, reason = "starts the sandboxed program")]
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

/// Runs the program and kills all of its descendants at the end.
fn look_after(order: &Order, sockets: Sockets) -> Result<i32> {
    // The program must not read the memory of this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).context("protect our memory")?;
    set_child_subreaper(Some(getpid())).context("become the parent of orphans")?;
    listen()?;
    let child = start(&order.command, sockets)?;
    if let Some(max) = order.processes_max {
        watch(max);
    }
    let status = wait_for(child)?;
    // When the first process of a PID namespace ends, the kernel kills all others.
    if !getpid().is_init() && sweep::end_all() == Descendants::Somebody {
        bail!("some processes could not be killed");
    }
    Ok(exit_code(status))
}

/// Starts the program from a thread that gave up access to sockets of other programs, to keyrings and
/// to the input of terminals. Landlock and seccomp restrict only that thread and the processes it
/// starts.
fn start(words: &[OsString], sockets: Sockets) -> Result<Pid> {
    let (tell, told) = mpsc::channel();
    let mut command = command(words)?;
    let starting = move || {
        let closed = match sockets {
            Sockets::Closed => {
                rules::close_sockets().and_then(|()| calls::close(calls::Shared::Separate))
            }
            Sockets::AsTheyAre => Ok(()),
        };
        let started = closed.and_then(|()| command.spawn().map_err(Error::new));
        // The receiver lives until this process ends.
        tell.send(started.map(|child| Pid::from_child(&child))).ok();
        // Keep the thread alive: a program with a parent death signal would die with this thread.
        loop {
            thread::park();
        }
    };
    thread::Builder::new().name("start".to_owned()).spawn(starting).context("start a thread")?;
    told.recv().context("receive from a thread")?.with_context(|| start_act(words))
}

/// Kills everything if there are too many processes. The kernel's own limits do not apply to root,
/// and limits per namespace are new.
fn watch(processes_max: u32) {
    let counting = move || {
        loop {
            thread::sleep(COUNT_PAUSE);
            let count = sweep::count();
            if count > usize::try_from(processes_max).unwrap_or(usize::MAX) {
                // If this fails, nobody reads the output.
                writeln!(
                    std::io::stderr(),
                    "redgreen: killed the program: it had {count} processes, {processes_max} are allowed"
                )
                .ok();
                sweep::end_until(|| sweep::count() == 0);
            }
        }
    };
    thread::Builder::new().name("count".to_owned()).spawn(counting).ok();
}

/// Handles SIGTERM: the program gets a grace period, then everything is killed.
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
            // An adopted orphan.
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
    fn stage_arguments_round_trip() {
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
    fn decodes_signals_from_exit_codes() {
        let rows = [
            (0, Exit::Code(0)),
            (101, Exit::Code(101)),
            (137, Exit::Signal(9)),
            (255, Exit::Code(255)),
        ];
        for (code, expected) in rows {
            assert_eq!(real_exit(Exit::Code(code)), expected);
        }
        assert_eq!(real_exit(Exit::TimedOut), Exit::TimedOut);
    }
}
