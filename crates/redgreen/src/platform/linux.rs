//! Linux.

use std::ffi::{OsStr, OsString};
use std::io::Result;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, ResolveFlags, inotify, open, openat2};
use rustix::io::Errno;

/// Opens a folder only to open files below it.
pub const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Where an open file is now.
pub fn path_of(file: &impl AsFd) -> Result<PathBuf> {
    std::fs::read_link(way_to(file)?)
}

/// A path that leads to an open folder, wherever it is moved.
pub fn way_to(folder: &impl AsFd) -> Result<PathBuf> {
    Ok(Path::new("/proc/self/fd").join(folder.as_fd().as_raw_fd().to_string()))
}

/// Opens a file below a folder, through links that stay below it.
pub fn open_beneath(root: &Path, inside: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    let folder = open(root, FOLDER, Mode::empty())?;
    let flags = flags | OFlags::CLOEXEC;
    match openat2(&folder, inside, flags, mode, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
    {
        Ok(file) => Ok(file),
        // Some containers do not have this call. The caller has looked where the path leads.
        Err(Errno::NOSYS) => Ok(open(root.join(inside), flags | OFlags::NOFOLLOW, mode)?),
        Err(error) => Err(error.into()),
    }
}

/// The space for reports of changes. More of them wait for the next call.
const CHANGES_BYTES: usize = 4096;

/// Tells which files were moved into a folder.
#[derive(Debug)]
pub struct Watcher(OwnedFd);

impl Watcher {
    pub fn new(folder: &Path) -> Result<Self> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let watcher = inotify::init(flags)?;
        inotify::add_watch(&watcher, folder, inotify::WatchFlags::MOVED_TO)?;
        Ok(Self(watcher))
    }

    /// The names that were moved there since the last call. Waits for at most this long.
    pub fn changed(&mut self, wait: Duration) -> Result<Vec<OsString>> {
        let seconds = wait.as_secs().try_into().unwrap_or(i64::MAX);
        let wait = Timespec { tv_sec: seconds, tv_nsec: wait.subsec_nanos().into() };
        // A call that a signal ended is one without a change.
        if poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&wait)).unwrap_or(0) == 0 {
            return Ok(Vec::new());
        }
        let mut space = [MaybeUninit::uninit(); CHANGES_BYTES];
        let mut changes = inotify::Reader::new(&self.0, &mut space);
        let mut names = Vec::new();
        loop {
            match changes.next() {
                Ok(change) => names.extend(
                    change.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned()),
                ),
                Err(Errno::AGAIN) => return Ok(names),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
