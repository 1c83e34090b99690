//! Ends every process that came from this one, also those that left its group and their parents.
//!
//! The caller is their subreaper: whoever loses its parent becomes our child, so the kernel's word that we have no
//! children left is the proof that nobody is.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// How long the search may go on; a process forks slower than it is killed.
const SEARCH_MAX: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);

/// Whether all of them are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Nobody,
    Somebody,
}

/// Kills and waits for all descendants.
pub(super) fn end_all() -> Left {
    let end = Instant::now() + SEARCH_MAX;
    loop {
        match wait(WaitOptions::NOHANG) {
            Err(Errno::CHILD) => return Left::Nobody,
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Ok(None) | Err(_) => {}
        }
        if Instant::now() >= end {
            return Left::Somebody;
        }
        kill_all();
        std::thread::sleep(PAUSE);
    }
}

/// How many descendants there are.
pub(super) fn count() -> usize {
    descendants(getpid().as_raw_nonzero().get(), &parents()).len()
}

/// Kills all descendants again and again, until this is so, or the search takes too long.
pub(super) fn end_until(is_done: impl Fn() -> bool) {
    let end = Instant::now() + SEARCH_MAX;
    while !is_done() && Instant::now() < end {
        kill_all();
        std::thread::sleep(PAUSE);
    }
}

/// Kills all descendants that there are at this moment, and waits for nobody.
pub(super) fn kill_all() {
    for pid in descendants(getpid().as_raw_nonzero().get(), &parents()) {
        if let Some(pid) = Pid::from_raw(pid) {
            // Gone already is as good.
            kill_process(pid, Signal::KILL).ok();
        }
    }
}

/// Every process with its parent.
fn parents() -> BTreeMap<i32, i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?))).collect()
}

/// The parent in a line such as `12 (a) b) S 1 …`; a name may hold anything.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn descendants(root: i32, parents: &BTreeMap<i32, i32>) -> Vec<i32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found
            .extend(parents.iter().filter(|(child, parent)| **parent == pid && **child != pid).map(|(child, _)| child));
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent("12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (a) S 1 (b) R 7 12"), Some(7));
        assert_eq!(parent(""), None);
    }

    #[test]
    fn descendants_are_children_of_children() {
        let parents = BTreeMap::from([(1, 0), (2, 1), (3, 2), (4, 3), (5, 1), (6, 9)]);
        assert_eq!(descendants(2, &parents), [3, 4]);
        assert_eq!(descendants(1, &parents), [2, 5, 3, 4]);
        assert_eq!(descendants(6, &parents), Vec::<i32>::new());
    }
}
