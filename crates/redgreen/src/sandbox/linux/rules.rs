//! Restricts this process where mounts are not allowed: files with Landlock, sockets with seccomp.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::thread::capabilities;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::mounts::drop_capabilities;
use crate::egress::Address;
use crate::sandbox::plan::{Kind, Plan};
use crate::sandbox::{Network, Outlet};

/// The newest Landlock ABI we use. Older kernels enforce the part they support.
const NEWEST: ABI = ABI::V9;
/// Harmless devices. A user who is root could read everything else in `/dev`. Terminals are not
/// among them: those of the user cannot be told from those that a program creates.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/shm", "/dev/fd"];
/// The maximum depth of a hidden path whose siblings stay readable.
const DEPTH_MAX: usize = 64;
/// The x32 ABI: a second set of system call numbers of x86-64 kernels.
const X32_BIT: i64 = 0x4000_0000;

pub(super) fn apply(plan: &Plan, network: Network, outlet: Option<&Outlet>) -> Result<()> {
    let outlet = outlet.filter(|_| network == Network::Loopback && limits_ports());
    restrict(plan, outlet).context("restrict files with Landlock")?;
    // Root could read the memory and environment of every process in spite of Landlock.
    if !capabilities(None).context("look at our capabilities")?.permitted.is_empty() {
        drop_capabilities().context("drop capabilities")?;
    }
    let refused = match (network, outlet) {
        (Network::None, _) => foreign_sockets()?,
        (Network::Loopback, Some(_)) => sockets_beside_tcp()?,
        // Seccomp cannot see addresses, so it is all or nothing.
        (Network::Loopback | Network::Full, _) => return Ok(()),
    };
    refuse(refused).context("restrict sockets with seccomp")
}

/// Whether this kernel can restrict connections by port.
pub(super) fn limits_ports() -> bool {
    strictly().handle_access(AccessNet::ConnectTcp).is_ok()
}

/// Whether it can restrict abstract sockets.
pub(super) fn scopes_sockets() -> bool {
    strictly().scope(Scope::AbstractUnixSocket).is_ok()
}

/// Whether it can restrict sockets in the file system.
pub(super) fn resolves_sockets() -> bool {
    strictly().handle_access(AccessFs::ResolveUnix).is_ok()
}

/// A rule set that fails on unsupported rules.
fn strictly() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

/// From now on this thread and its children can only connect to sockets of processes they started,
/// as far as the kernel supports it.
pub(super) fn close_sockets() -> Result<()> {
    let mut rules = Ruleset::default();
    if !resolves_sockets() && !scopes_sockets() {
        return Ok(());
    }
    if resolves_sockets() {
        rules = rules.handle_access(AccessFs::ResolveUnix)?;
    }
    if scopes_sockets() {
        rules = rules.scope(Scope::AbstractUnixSocket)?;
    }
    rules.create()?.restrict_self().context("close sockets with Landlock")?;
    Ok(())
}

/// The number of the user's processes and threads on the whole machine: the kernel's limit counts
/// all of them.
pub(super) fn user_tasks() -> u32 {
    let own = rustix::process::getuid().as_raw().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let statuses = entries.filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok());
    let threads = |status: String| {
        let value = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
        };
        (value("Uid:") == Some(&own)).then(|| value("Threads:")?.parse::<u32>().ok()).flatten()
    };
    statuses.filter_map(threads).fold(0, u32::saturating_add)
}

fn restrict(plan: &Plan, outlet: Option<&Outlet>) -> Result<()> {
    // Connecting to sockets in the file system is never granted. A program's own sockets need no
    // right.
    let everything = AccessFs::from_all(NEWEST) & !BitFlags::from(AccessFs::ResolveUnix);
    let looking = AccessFs::from_read(NEWEST);
    let scoped = Scope::AbstractUnixSocket | Scope::Signal;
    let rules = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.scope(scoped)?;
    let rules = if outlet.is_some() { rules.handle_access(AccessNet::ConnectTcp)? } else { rules };
    let mut rules = rules.create()?;
    for port in outlet.iter().flat_map(|outlet| ports(outlet)) {
        rules = rules
            .add_rule(NetPort::new(port, AccessNet::ConnectTcp))
            .context("grant the proxy's port")?;
    }
    let mut holes: Vec<&Path> = vec![Path::new("/dev")];
    holes.extend(
        plan.places.iter().filter(|place| is_hole(&place.kind)).map(|place| place.path.as_path()),
    );
    let mut seen = Vec::new();
    if !plan.bare {
        visible(Path::new("/"), &holes, DEPTH_MAX, &mut seen);
    }
    for path in &seen {
        rules = grant(rules, path, looking)?;
    }
    // Landlock has no private process table. It prevents reading the environment and memory of
    // outside processes, if we have no capabilities.
    rules = grant(rules, Path::new("/proc"), looking)?;
    for place in &plan.places {
        match &place.kind {
            Kind::Show { from } => {
                let inner: Vec<&Path> =
                    holes.iter().copied().filter(|hole| *hole != from).collect();
                let mut shown = Vec::new();
                visible(from, &inner, DEPTH_MAX, &mut shown);
                for path in &shown {
                    rules = grant(rules, path, looking)?;
                }
            }
            // As a whole: a folder with a hole could not get new files.
            Kind::Write => rules = grant(rules, &place.path, everything)?,
            Kind::Empty | Kind::Cover | Kind::Scratch => {}
        }
    }
    for device in DEVICES {
        rules = grant(rules, Path::new(device), everything)?;
    }
    match rules.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => {
            bail!("this kernel does not support Landlock, or it is disabled")
        }
    }
}

fn is_hole(kind: &Kind) -> bool {
    match kind {
        Kind::Empty | Kind::Cover | Kind::Scratch => true,
        Kind::Show { .. } | Kind::Write => false,
    }
}

/// The largest paths below `folder` without a hole. Landlock can only add rights, never remove
/// them.
fn visible(folder: &Path, holes: &[&Path], depth: usize, seen: &mut Vec<PathBuf>) {
    if holes.contains(&folder) {
        return;
    }
    if !holes.iter().any(|hole| hole.starts_with(folder)) {
        seen.push(folder.to_owned());
        return;
    }
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    for entry in entries.filter(|_| depth > 0) {
        // A link does not bypass a hole: Landlock checks the target.
        if !entry.path().is_symlink() {
            visible(&entry.path(), holes, depth - 1, seen);
        }
    }
}

fn grant(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated> {
    // A path that we cannot open, or that is gone, needs no rule.
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    rules
        .add_rule(PathBeneath::new(place, access))
        .with_context(|| format!("grant {}", path.display()))
}

/// The allowed ports: the proxy's, and those of the services.
fn ports(outlet: &Outlet) -> Vec<u16> {
    let proxy = match &outlet.proxy {
        Address::Port(port) => Some(*port),
        Address::Socket(_) => None,
    };
    proxy.into_iter().chain(outlet.tunnels.iter().map(|target| target.port)).collect()
}

/// A condition on a system call argument.
fn argument(number: u8, operator: SeccompCmpOp, value: i32) -> Result<SeccompCondition> {
    let value = u64::from(value.unsigned_abs());
    Ok(SeccompCondition::new(number, SeccompCmpArgLen::Dword, operator, value)?)
}

type Calls = Vec<(i64, Vec<SeccompRule>)>;

/// Allows local sockets (`AF_UNIX` and netlink) and refuses all others.
fn foreign_sockets() -> Result<Calls> {
    let is_not = |family: i32| argument(0, SeccompCmpOp::Ne, family);
    let foreign = SeccompRule::new(vec![is_not(libc::AF_UNIX)?, is_not(libc::AF_NETLINK)?])?;
    Ok(vec![(libc::SYS_socket, vec![foreign])])
}

/// Landlock restricts plain TCP connections. Refuse everything it does not see: UDP, raw packets,
/// other protocols, and data sent without a connection. Also refuse sockets in the file system,
/// unless Landlock supports them. Socket pairs, which programs use to talk to their children, are a
/// different call.
fn sockets_beside_tcp() -> Result<Calls> {
    const KIND_BITS: u64 = 0xf;
    const OTHER_KINDS: [i32; 5] =
        [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, 6];
    let is_not = |family: i32| argument(0, SeccompCmpOp::Ne, family);
    let mut families =
        vec![is_not(libc::AF_INET)?, is_not(libc::AF_INET6)?, is_not(libc::AF_NETLINK)?];
    if resolves_sockets() {
        families.push(is_not(libc::AF_UNIX)?);
    }
    let mut sockets = vec![SeccompRule::new(families)?];
    for family in [libc::AF_INET, libc::AF_INET6] {
        let is_family = || argument(0, SeccompCmpOp::Eq, family);
        for kind in OTHER_KINDS {
            let is_kind = argument(1, SeccompCmpOp::MaskedEq(KIND_BITS), kind)?;
            sockets.push(SeccompRule::new(vec![is_family()?, is_kind])?);
        }
        let is_not = |protocol: i32| argument(2, SeccompCmpOp::Ne, protocol);
        sockets.push(SeccompRule::new(vec![is_family()?, is_not(0)?, is_not(libc::IPPROTO_TCP)?])?);
    }
    let early = |number: u8| {
        let mask = u64::from(libc::MSG_FASTOPEN.unsigned_abs());
        let is_early = argument(number, SeccompCmpOp::MaskedEq(mask), libc::MSG_FASTOPEN)?;
        Ok::<_, anyhow::Error>(vec![SeccompRule::new(vec![is_early])?])
    };
    Ok(vec![
        (libc::SYS_socket, sockets),
        (libc::SYS_sendto, early(3)?),
        (libc::SYS_sendmsg, early(2)?),
        (libc::SYS_sendmmsg, early(3)?),
    ])
}

fn refuse(refused: Calls) -> Result<()> {
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    // io_uring opens sockets without the `socket` call. Programs fall back if it is refused.
    for (number, rules) in refused.into_iter().chain([(libc::SYS_io_uring_setup, Vec::new())]) {
        if cfg!(target_arch = "x86_64") {
            calls.insert(number | X32_BIT, rules.clone());
        }
        calls.insert(number, rules);
    }
    let refusal = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = SeccompFilter::new(
        calls,
        SeccompAction::Allow,
        refusal,
        std::env::consts::ARCH.try_into()?,
    )?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_everything_except_holes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["a/secret/x", "a/open", "b"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let hole = root.join("a/secret");
        let mut seen = Vec::new();
        visible(&root, &[&hole], DEPTH_MAX, &mut seen);
        seen.sort();
        assert_eq!(seen, [root.join("a/open"), root.join("b")]);
    }
}
