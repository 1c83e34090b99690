//! Where no mount is allowed: takes rights from this very process, Landlock those to files, seccomp those to sockets.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetStatus, Scope,
};
use rustix::thread::capabilities;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::Network;
use super::mounts::drop_capabilities;
use super::plan::{Kind, Plan};

/// The newest rules that are asked for; a kernel that knows fewer enforces those.
const NEWEST: ABI = ABI::V6;
/// Beside these, whatever is in `/dev` could be read by a user who is root.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
    "/dev/fd",
];
/// How deep a hidden place may lie for its neighbours to stay readable.
const DEPTH_MAX: usize = 64;
/// The second set of numbers that a 64-bit kernel may know its calls by.
const X32_BIT: i64 = 0x4000_0000;

pub(super) fn apply(plan: &Plan, network: Network) -> Result<()> {
    restrict_files(plan).context("restrict files with Landlock")?;
    // Root could read the memory and the environment of every other process, whatever Landlock says.
    if !capabilities(None).context("look at our capabilities")?.permitted.is_empty() {
        drop_capabilities().context("drop capabilities")?;
    }
    match network {
        Network::None => restrict_sockets().context("restrict sockets with seccomp"),
        // Seccomp sees no addresses: all or nothing.
        Network::Loopback | Network::Full => Ok(()),
    }
}

fn restrict_files(plan: &Plan) -> Result<()> {
    let everything = AccessFs::from_all(NEWEST);
    let looking = AccessFs::from_read(NEWEST);
    let scoped = Scope::AbstractUnixSocket | Scope::Signal;
    let mut rules = Ruleset::default().handle_access(everything)?.scope(scoped)?.create()?;
    let mut holes: Vec<&Path> = vec![Path::new("/dev")];
    holes.extend(plan.places.iter().filter(|place| is_hole(&place.kind)).map(|place| place.path.as_path()));
    let mut seen = Vec::new();
    if !plan.bare {
        visible(Path::new("/"), &holes, DEPTH_MAX, &mut seen);
    }
    for path in &seen {
        rules = grant(rules, path, looking)?;
    }
    // Nobody gets a process table of its own here. The environment and memory of processes outside cannot be read:
    // Landlock sees to that, for whoever has no capabilities.
    rules = grant(rules, Path::new("/proc"), looking)?;
    for place in &plan.places {
        match &place.kind {
            Kind::Show { from } => {
                let inner: Vec<&Path> = holes.iter().copied().filter(|hole| *hole != from).collect();
                let mut shown = Vec::new();
                visible(from, &inner, DEPTH_MAX, &mut shown);
                for path in &shown {
                    rules = grant(rules, path, looking)?;
                }
            }
            // As a whole: a folder with a hole in it could not get new files.
            Kind::Write => rules = grant(rules, &place.path, everything)?,
            Kind::Empty | Kind::Scratch => {}
        }
    }
    for device in DEVICES {
        rules = grant(rules, Path::new(device), everything)?;
    }
    match rules.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => bail!("this kernel has no Landlock, or it is switched off"),
    }
}

fn is_hole(kind: &Kind) -> bool {
    match kind {
        Kind::Empty | Kind::Scratch => true,
        Kind::Show { .. } | Kind::Write => false,
    }
}

/// The largest places below `folder` that have no hole in them. Landlock can only add rights, never take some back.
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
        // A link is no way past a hole: rights are asked for where it leads.
        if !entry.path().is_symlink() {
            visible(&entry.path(), holes, depth - 1, seen);
        }
    }
}

fn grant(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated> {
    // What we may not open ourselves, or is gone, needs no right.
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(place, access)).with_context(|| format!("grant {}", path.display()))
}

/// Sockets of the machine itself (`AF_UNIX`, and those that ask the kernel about devices) stay; the others are refused.
fn restrict_sockets() -> Result<()> {
    let is_not = |family: i32| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(family.unsigned_abs()))
    };
    let foreign = SeccompRule::new(vec![is_not(libc::AF_UNIX)?, is_not(libc::AF_NETLINK)?])?;
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    // A ring of requests opens sockets without this call; whoever is refused one falls back.
    for (number, rules) in [(libc::SYS_socket, vec![foreign]), (libc::SYS_io_uring_setup, Vec::new())] {
        if cfg!(target_arch = "x86_64") {
            calls.insert(number | X32_BIT, rules.clone());
        }
        calls.insert(number, rules);
    }
    let refusal = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, refusal, std::env::consts::ARCH.try_into()?)?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter(&program)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_beside_a_hole_is_seen_and_nothing_in_it() {
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
