//! Everything fails at once: workers on separate machines are killed at random times, the server
//! restarts, one worker is disconnected for longer than its lease, and one has too small a disk.
//! Every job still ends once, with the result of an undisturbed run.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::ground::{Fleet, Kind, LEASE_SECONDS, until};
use crate::story::is_all;

/// An arbitrary fixed seed, so that the kills come at the same times in each run.
const SEED: u64 = 0x0f1e_e7c4_a05e;
const PATIENCE: Duration = Duration::from_secs(1800);
/// Enough space to start a job, but not to finish it.
const SMALL_DISK_KIB: usize = 1400;
/// Every third job waits for a human.
const WAITS: usize = 3;
/// Fields that differ between equal runs: names of the run, the number of tests that other jobs had
/// already merged into the target branch, and durations.
const OF_THE_RUN: [&str; 3] = ["run", "tests", "spent"];

struct Scale {
    jobs: usize,
    workers: usize,
    kills: usize,
    restarts: usize,
}

fn scale() -> Scale {
    match is_all() {
        true => Scale { jobs: 60, workers: 6, kills: 20, restarts: 2 },
        false => Scale { jobs: 12, workers: 4, kills: 4, restarts: 1 },
    }
}

#[test]
fn in_chaos_every_job_ends_once_in_a_folder() {
    let fleet = Fleet::new(Kind::Folder);
    let Scale { kills, .. } = scale();
    let jobs = submit(&fleet, 6);
    let mut crew: Vec<Child> = (0..3).map(|number| fleet.start(&format!("w{number}"))).collect();
    let mut random = Random(SEED);
    for _ in 0..kills {
        thread::sleep(Duration::from_millis(1_000 + random.below(3_000)));
        let victim = usize::try_from(random.below(3)).unwrap();
        kill(&mut crew[victim]);
        crew[victim] = fleet.start(&format!("w{victim}"));
    }
    let end = Instant::now() + PATIENCE;
    until_over(&fleet, &mut crew, end);
    check(&fleet, &jobs);
}

#[test]
fn in_chaos_every_job_ends_once_on_machines() {
    let Scale { jobs, workers, kills, restarts } = scale();
    let Some(mut fleet) = Fleet::on_machines(workers) else { return };
    let end = Instant::now() + PATIENCE;
    let jobs = submit(&fleet, jobs);
    // The last worker has a small disk; the first one will be disconnected.
    let (small, cut) = (workers - 1, 0);
    let start = |fleet: &Fleet, machine: usize| match machine == small {
        true => fleet.start_on_small_disk(machine, SMALL_DISK_KIB),
        false => fleet.start_on(machine),
    };
    let mut crew: Vec<Child> = (0..workers).map(|machine| start(&fleet, machine)).collect();
    let mut random = Random(SEED);
    let mut healed_at = None;
    for kill_number in 0..kills {
        thread::sleep(Duration::from_millis(1_000 + random.below(3_000)));
        if kill_number == kills / 4 {
            until("the worker to be cut off has a job", || at_work(&fleet, cut));
            fleet.network.as_ref().unwrap().cut(cut);
            healed_at = Some(Instant::now() + Duration::from_secs(3 * LEASE_SECONDS));
        }
        heal(&fleet, cut, &mut healed_at);
        // A disconnected worker must recover by itself, so the test kills another one.
        let mut victim = usize::try_from(random.below(1_000)).unwrap() % workers;
        if victim == cut && healed_at.is_some() {
            victim = 1;
        }
        kill(&mut crew[victim]);
        crew[victim] = start(&fleet, victim);
        if (kill_number + 1) % (kills / restarts) == 0
            && let Some(mut server) = fleet.server.take()
        {
            server.restart(&fleet.story, Duration::from_secs(LEASE_SECONDS / 3));
            fleet.server = Some(server);
        }
    }
    while healed_at.is_some() {
        heal(&fleet, cut, &mut healed_at);
        thread::sleep(Duration::from_millis(200));
    }
    until_over(&fleet, &mut crew, end);
    check(&fleet, &jobs);
    let log = fleet.log();
    assert!(log.contains("No space left on device"), "the small disk was large enough:\n{log}");
    let left = fleet.server.as_ref().unwrap().messages(&fleet.story);
    assert_eq!(left, 0, "messages are left in the queue");
}

/// Submits the jobs. Most of them are merged when they finish.
fn submit(fleet: &Fleet, count: usize) -> Vec<String> {
    let one = |number| {
        let options = if number % WAITS == 0 { "" } else { "--merge" };
        fleet.submit_with(&format!("add answer {number}"), options)
    };
    (0..count).map(one).collect()
}

fn heal(fleet: &Fleet, worker: usize, at: &mut Option<Instant>) {
    if at.is_some_and(|at| Instant::now() >= at) {
        fleet.network.as_ref().unwrap().heal(worker);
        *at = None;
    }
}

fn at_work(fleet: &Fleet, machine: usize) -> bool {
    let name = format!("w{machine}");
    let all = fleet.redgreen("queue --all --json").exits(0).json();
    let all = all.as_array().unwrap();
    let is_over = all.iter().all(|job| job["state"]["state"] != "queued");
    is_over || all.iter().any(|job| job["worker"] == name.as_str())
}

fn kill(worker: &mut Child) {
    worker.kill().unwrap();
    worker.wait().unwrap();
}

fn until_over(fleet: &Fleet, crew: &mut [Child], end: Instant) {
    while crew.iter_mut().any(|worker| worker.try_wait().unwrap().is_none()) {
        if Instant::now() > end {
            let jobs = fleet.redgreen("queue").stdout;
            panic!("the workers are not done:\n{jobs}\n{}", fleet.log());
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Asserts that the result equals that of an undisturbed run of the same jobs.
fn check(fleet: &Fleet, jobs: &[String]) {
    let undisturbed = Fleet::new(Kind::Folder);
    let samples = submit(&undisturbed, 2);
    undisturbed.work("one").exits(0);
    let (waits, merges) = (ending(&undisturbed, &samples[0]), ending(&undisturbed, &samples[1]));
    for (number, job) in jobs.iter().enumerate() {
        let expected = if number % WAITS == 0 { &waits } else { &merges };
        let found = ending(fleet, job);
        assert_eq!(&found, expected, "{job}: {}\n{}", fleet.status(job), fleet.log());
        fenced(fleet, job);
    }
    let merged = jobs.len() - jobs.len().div_ceil(WAITS);
    let merges = fleet.origin("log --first-parent --format=%s main").lines().count();
    assert_eq!(merges, merged + 1, "one merge for each job that is to be merged");
    let branches = fleet.origin("for-each-ref refs/heads/redgreen").lines().count();
    assert_eq!(branches, jobs.len() - merged, "only runs that wait have a branch");
    let mut files: Vec<String> = Vec::new();
    for job in jobs.iter().enumerate().filter(|(number, _)| number % WAITS != 0).map(|(_, job)| job)
    {
        files.extend([format!("answer_{job}.py"), format!("tests/test_answer_{job}.py")]);
    }
    files.extend([".gitignore", "redgreen.toml", "tests/__init__.py"].map(str::to_owned));
    files.sort();
    let found = fleet.origin("ls-tree -r --name-only main");
    let mut found: Vec<&str> = found.lines().collect();
    found.sort_unstable();
    assert_eq!(found, files);
}

/// The result of a job, without the job's own names.
#[derive(Debug, PartialEq, Eq)]
struct Ending {
    state: String,
    /// Subjects, patches and notes.
    commits: Vec<(String, Vec<String>, Option<Value>)>,
}

fn ending(fleet: &Fleet, job: &str) -> Ending {
    let status = fleet.status(job);
    let state = status["state"]["state"].as_str().unwrap().to_owned();
    let tip = match status["state"]["commit"].as_str() {
        Some(merge) => fleet.origin(&format!("rev-parse {merge}^2")),
        None => fleet.tip(job),
    };
    let commits = own_commits(fleet, job, &tip);
    let told = |commit: &String| {
        let subject = fleet.origin(&format!("log -1 --format=%s {commit}"));
        let patch = fleet.origin(&format!("diff-tree -p --no-commit-id --no-renames {commit}"));
        let lines = patch.lines().filter(|line| !line.starts_with("index "));
        let patch = lines.map(|line| line.replace(job, "JOB")).collect();
        let note = note(fleet, commit).map(|mut note| {
            OF_THE_RUN.iter().for_each(|name| drop(note.as_object_mut().unwrap().remove(*name)));
            // The number of tested mutants depends on the load of the machine.
            note["verdict"].as_object_mut().unwrap().remove("mutants");
            serde_json::from_str(&note.to_string().replace(job, "JOB")).unwrap()
        });
        (subject, patch, note)
    };
    Ending { state, commits: commits.iter().map(told).collect() }
}

/// The commits of a job's run, oldest first.
fn own_commits(fleet: &Fleet, job: &str, tip: &str) -> Vec<String> {
    let all = fleet.origin(&format!("rev-list --first-parent {tip}"));
    // The commit that removes the test list has no note.
    let note = all.lines().find_map(|commit| note(fleet, commit)).unwrap();
    let base = note["run"]["base"].as_str().unwrap_or_else(|| panic!("{job}: {note}"));
    let range = format!("rev-list --reverse --first-parent {base}..{tip}");
    fleet.origin(&range).lines().map(str::to_owned).collect()
}

fn note(fleet: &Fleet, commit: &str) -> Option<Value> {
    let all = fleet.origin("notes --ref=tdd-handoffs list");
    let blob = all.lines().find_map(|line| line.strip_suffix(&format!(" {commit}")))?;
    Some(serde_json::from_str(&fleet.origin(&format!("cat-file blob {blob}"))).unwrap())
}

/// Asserts that a replaced worker has no commit in the shared repository: the pushed epochs only
/// grow, and the run's commits are those of its last journal.
fn fenced(fleet: &Fleet, job: &str) {
    let name = format!("refs/redgreen/runs/{job}");
    let pushed = fleet.origin(&format!("reflog show --format=%H {name}"));
    let epoch = |commit: &str| -> u64 {
        let message = fleet.origin(&format!("log -1 --format=%B {commit}"));
        let line = message.lines().find_map(|line| line.strip_prefix("epoch: "));
        line.unwrap_or_else(|| panic!("{commit}: {message}")).parse().unwrap()
    };
    let epochs: Vec<u64> = pushed.lines().map(epoch).collect();
    assert!(!epochs.is_empty() && epochs.is_sorted_by(|late, early| late >= early), "{epochs:?}");
    let status = fleet.status(job);
    let journal = fleet.origin(&format!("show {name}:journal.jsonl"));
    let tip = match status["state"]["commit"].as_str() {
        Some(merge) => fleet.origin(&format!("rev-parse {merge}^2")),
        None => fleet.tip(job),
    };
    // The merge creates the commit that removes the test list. It has no note.
    let noted = own_commits(fleet, job, &tip).into_iter();
    for commit in noted.filter(|commit| note(fleet, commit).is_some()) {
        assert!(journal.contains(&commit), "{commit} of {job} is not in its journal");
    }
}

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
