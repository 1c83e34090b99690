//! Kills all descendants of this process, including those that left its process group or lost their
//! parents.
//!
//! The caller is their subreaper: orphans become its children. When the kernel reports no more
//! children, none are left.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// The time limit of the search. Killing is faster than forking.
const SEARCH_MAX: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);

/// Whether any descendant is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Descendants {
    Nobody,
    Somebody,
}

/// Kills and reaps all descendants.
pub(super) fn end_all() -> Descendants {
    let end = Instant::now() + SEARCH_MAX;
    loop {
        match wait(WaitOptions::NOHANG) {
            Err(Errno::CHILD) => return Descendants::Nobody,
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Ok(None) | Err(_) => {}
        }
        if Instant::now() >= end {
            return Descendants::Somebody;
        }
        kill_all();
        std::thread::sleep(PAUSE);
    }
}

/// The number of descendants.
pub(super) fn count() -> usize {
    descendants(getpid().as_raw_nonzero().get(), &parents()).len()
}

/// Kills all descendants repeatedly until `is_done` or the time limit.
pub(super) fn end_until(is_done: impl Fn() -> bool) {
    let end = Instant::now() + SEARCH_MAX;
    while !is_done() && Instant::now() < end {
        kill_all();
        std::thread::sleep(PAUSE);
    }
}

/// Kills all current descendants without waiting for them.
pub(super) fn kill_all() {
    for pid in descendants(getpid().as_raw_nonzero().get(), &parents()) {
        if let Some(pid) = Pid::from_raw(pid) {
            // It may have ended already.
            kill_process(pid, Signal::KILL).ok();
        }
    }
}

/// The parent of each process.
fn parents() -> BTreeMap<i32, i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        Some((pid, parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?))
    })
    .collect()
}

/// Parses the parent from a line such as `12 (a) b) S 1 …`. The name can contain anything.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn descendants(root: i32, parents: &BTreeMap<i32, i32>) -> Vec<i32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(
            parents
                .iter()
                .filter(|(child, parent)| **parent == pid && **child != pid)
                .map(|(child, _)| child),
        );
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_parent_after_any_process_name() {
        assert_eq!(parent("12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (a) S 1 (b) R 7 12"), Some(7));
        assert_eq!(parent(""), None);
    }

    #[test]
    fn finds_indirect_descendants() {
        let parents = BTreeMap::from([(1, 0), (2, 1), (3, 2), (4, 3), (5, 1), (6, 9)]);
        assert_eq!(descendants(2, &parents), [3, 4]);
        assert_eq!(descendants(1, &parents), [2, 5, 3, 4]);
        assert_eq!(descendants(6, &parents), Vec::<i32>::new());
    }
}
