//! Inside new namespaces: mounts everything that the program sees, outer paths first, and detaches
//! the old root.

use std::ffi::{CStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_remount, unmount,
};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::pivot_root;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::sandbox::plan::{Kind, Place, Plan};

/// Any folder that exists everywhere; the new root is built on top of it.
const BASE: &str = "/tmp";
const OLD: &str = "/old";
const NEW: &str = "/new";
/// Harmless devices. A user who is root outside could read or write the others.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];
const DEVICE_LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Parts of /proc with which a user who is root outside could change the machine.
pub(super) const PROC_READ_ONLY: &[&str] = &["sys", "sysrq-trigger", "irq", "bus"];
/// Since this kernel `pid_max` is per namespace; before, it is global.
const OWN_PID_MAX_SINCE: (u32, u32) = (6, 14);
/// The minimum that the kernel accepts.
const PID_MAX_LEAST: u32 = 301;
const CAPABILITIES: u32 = 64;

pub(super) fn build(plan: &Plan, processes_max: Option<u32>) -> Result<()> {
    let folder = std::env::current_dir().context("find the current folder")?;
    leave_the_old_root().context("leave the old root")?;
    if plan.bare {
        tmpfs(Path::new(NEW), c"mode=755").context("mount an empty root")?;
    } else {
        mount_bind_recursive(OLD, NEW).context("mount the root")?;
        read_only(Path::new(NEW)).context("make the root read-only")?;
    }
    proc(processes_max).context("lay /proc")?;
    devices().context("lay /dev")?;
    for place in &plan.places {
        lay(place).with_context(|| format!("lay {}", place.path.display()))?;
    }
    for place in plan.places.iter().filter(|place| place.kind == Kind::Empty) {
        seal(&in_new(&place.path)).with_context(|| format!("seal {}", place.path.display()))?;
    }
    if plan.bare {
        seal(Path::new(NEW)).context("seal the root")?;
    }
    enter_the_new_root().context("enter the new root")?;
    std::env::set_current_dir(&folder).with_context(|| format!("enter {}", folder.display()))
}

/// The loopback device is down in a new namespace. One netlink message brings it up.
pub(super) fn raise_loopback() -> Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const NLM_F_REQUEST: u16 = 1;
    const LOOPBACK_INDEX: i32 = 1;
    const IFF_UP: u32 = 1;
    const LENGTH: u32 = 32;
    let mut message = Vec::new();
    // struct nlmsghdr: length, type, flags, sequence, port.
    message.extend(LENGTH.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    // struct ifinfomsg: family and kind, index, flags, flag mask.
    message.extend([0; 4]);
    message.extend(LOOPBACK_INDEX.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    let socket = rustix::net::socket(AddressFamily::NETLINK, SocketType::RAW, None)
        .context("open a socket")?;
    rustix::net::send(&socket, &message, rustix::net::SendFlags::empty())
        .context("ask the kernel")?;
    Ok(())
}

/// Permanent: no process started from here can regain capabilities, so none can undo a mount.
pub(super) fn drop_capabilities() -> Result<()> {
    clear_ambient_capability_set()?;
    for number in 0..CAPABILITIES {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            // The kernel has no more capabilities, or a container forbids changing the set. In the
            // latter case `no_new_privs` prevents regaining them.
            Err(Errno::INVAL | Errno::PERM) => break,
            other => other?,
        }
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    set_no_new_privs(true)?;
    Ok(())
}

/// Creates an empty root with the old one in `/old`.
fn leave_the_old_root() -> Result<()> {
    tmpfs(Path::new(BASE), c"mode=755")?;
    let base = Path::new(BASE);
    for name in [OLD, NEW] {
        fs::create_dir(base.join(name.trim_start_matches('/')))?;
    }
    pivot_root(base, base.join(OLD.trim_start_matches('/')))?;
    std::env::set_current_dir("/")?;
    Ok(())
}

fn enter_the_new_root() -> Result<()> {
    std::env::set_current_dir(NEW)?;
    // Stack the old root on the new one, then detach it.
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    std::env::set_current_dir("/")?;
    Ok(())
}

fn lay(place: &Place) -> Result<()> {
    let target = in_new(&place.path);
    match &place.kind {
        Kind::Empty => {
            if in_old(&place.path).is_dir() {
                make_folder(&target)?;
                tmpfs(&target, c"mode=755")?;
            } else {
                make_file(&target)?;
                mount_bind(in_old(Path::new("/dev/null")), &target)?;
            }
        }
        Kind::Cover => match mount_bind(in_old(Path::new("/dev/null")), &target) {
            Err(Errno::NOENT) => {}
            covered => covered?,
        },
        Kind::Scratch => {
            make_folder(&target)?;
            tmpfs(&target, c"mode=1777")?;
        }
        Kind::Show { from } => show(&in_old(from), &target)?,
        Kind::Write => bind(&in_old(&place.path), &target)?,
    }
    Ok(())
}

fn show(source: &Path, target: &Path) -> Result<()> {
    if source.is_symlink() {
        make_folder(target.parent().unwrap_or(target))?;
        return match symlink(fs::read_link(source)?, target) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            result => Ok(result?),
        };
    }
    bind(source, target)?;
    read_only(target)
}

fn bind(source: &Path, target: &Path) -> Result<()> {
    if source.is_dir() {
        make_folder(target)?;
    } else {
        make_file(target)?;
    }
    Ok(mount_bind_recursive(source, target)?)
}

fn make_folder(target: &Path) -> Result<()> {
    if !target.exists() {
        fs::create_dir_all(target)?;
    }
    Ok(())
}

fn make_file(target: &Path) -> Result<()> {
    if !target.exists() {
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(target, "")?;
    }
    Ok(())
}

fn proc(processes_max: Option<u32>) -> Result<()> {
    let place = in_new(Path::new("/proc"));
    make_folder(&place)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", &place, "proc", flags, None::<&CStr>)?;
    if let Some(count) = processes_max.filter(|_| kernel() >= OWN_PID_MAX_SINCE) {
        fs::write(place.join("sys/kernel/pid_max"), count.max(PID_MAX_LEAST).to_string())?;
    }
    for name in PROC_READ_ONLY {
        let part = place.join(name);
        if part.exists() {
            mount_bind(&part, &part)?;
            mount_remount(&part, MountFlags::BIND | MountFlags::RDONLY | flags, c"")?;
        }
    }
    Ok(())
}

fn devices() -> Result<()> {
    let place = in_new(Path::new("/dev"));
    make_folder(&place)?;
    tmpfs(&place, c"mode=755")?;
    for name in DEVICES {
        let device = place.join(name);
        bind(&in_old(&Path::new("/dev").join(name)), &device)?;
        // Programs can write to it all the same, but not set its times, which a user who is root
        // outside could use to remember something.
        read_only(&device)?;
    }
    for (name, leads) in DEVICE_LINKS {
        symlink(leads, place.join(name))?;
    }
    for (name, options) in [("shm", c"mode=1777"), ("mqueue", c"mode=1777")] {
        fs::create_dir(place.join(name))?;
        tmpfs(&place.join(name), options)?;
    }
    fs::create_dir(place.join("pts"))?;
    let options = c"newinstance,ptmxmode=0666,mode=620";
    mount("devpts", place.join("pts"), "devpts", MountFlags::NOSUID | MountFlags::NOEXEC, options)?;
    seal(&place)
}

fn tmpfs(target: &Path, options: &CStr) -> Result<()> {
    Ok(mount("tmpfs", target, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options)?)
}

/// Makes a completed folder read-only.
fn seal(target: &Path) -> Result<()> {
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount_remount(target, flags, c"")?)
}

/// Makes a mount and all mounts below it read-only. Keeps their other flags, because the kernel
/// does not allow removing them.
fn read_only(folder: &Path) -> Result<()> {
    let table =
        fs::read(in_old(Path::new("/proc/self/mountinfo"))).context("read the table of mounts")?;
    for (place, flags) in table.split(|byte| *byte == b'\n').filter_map(mounted) {
        if !place.starts_with(folder) {
            continue;
        }
        match mount_remount(&place, MountFlags::BIND | MountFlags::RDONLY | flags, c"") {
            // Covered by another mount, so it is not reachable.
            Err(Errno::NOENT | Errno::ACCESS | Errno::INVAL) if place != folder => {}
            result => result.with_context(|| place.display().to_string())?,
        }
    }
    Ok(())
}

/// The mount point and flags of a line such as `36 35 98:0 /from /to rw,noatime shared:1 - ext4
/// /dev/root rw`.
fn mounted(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut words = line.split(|byte| *byte == b' ').skip(4);
    let place = OsString::from_vec(unescaped(words.next()?)).into();
    let options = words.next()?.split(|byte| *byte == b',');
    let flag = |option: &[u8]| match option {
        b"nosuid" => MountFlags::NOSUID,
        b"nodev" => MountFlags::NODEV,
        b"noexec" => MountFlags::NOEXEC,
        b"noatime" => MountFlags::NOATIME,
        b"nodiratime" => MountFlags::NODIRATIME,
        b"relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    };
    Some((place, options.map(flag).fold(MountFlags::empty(), |all, one| all | one)))
}

/// Decodes octal escapes such as `\040`.
fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&first, after)) = rest.split_first() {
        let octal = (first == b'\\').then(|| after.get(..3)).flatten();
        let octal =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(octal.unwrap_or(first));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    bytes
}

fn kernel() -> (u32, u32) {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn in_new(path: &Path) -> PathBuf {
    under(NEW, path)
}

fn in_old(path: &Path) -> PathBuf {
    under(OLD, path)
}

fn under(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_mountinfo() {
        let line = br"36 35 98:0 / /a\040b\134c rw,nosuid,relatime shared:1 - ext4 /dev/root rw";
        let expected = (PathBuf::from(r"/a b\c"), MountFlags::NOSUID | MountFlags::RELATIME);
        assert_eq!(mounted(line), Some(expected));
        assert_eq!(mounted(b""), None);
    }
}
