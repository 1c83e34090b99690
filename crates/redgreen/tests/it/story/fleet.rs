//! Many runs on many workers, with the queue in a folder and on a real NATS server. Workers are
//! killed, frozen and disconnected; every job ends once, with the result of an undisturbed run.

mod chaos;
mod decisions;
mod ground;
mod network;

use std::time::Duration;

use ground::{Fleet, Kind, until};
use rustix::process::{Pid, Signal, kill_process};

/// While this file exists, a worker waits in GREEN and so holds its job.
const HOLD: &str = "hold";

fn both(story: impl Fn(Fleet)) {
    story(Fleet::new(Kind::Folder));
    if let Some(fleet) = Fleet::on_nats() {
        story(fleet);
    }
}

#[test]
fn a_job_is_submitted_once_run_approved_and_merged() {
    both(|fleet| {
        let job = fleet.submit("add an answer");
        let again = fleet.redgreen("submit --json \"add an answer\"").exits(0).json();
        assert_eq!(
            (again["job"].as_str(), again["known"].as_bool()),
            (Some(job.as_str()), Some(true))
        );
        fleet.redgreen("queue").exits(0).says("queued").says("add an answer");
        fleet.work("one").exits(0);
        fleet.redgreen("queue").exits(0).says(&job).says("waiting");
        let branch = fleet.origin(&format!(
            "for-each-ref --format=%(refname) refs/heads/redgreen/add-an-answer-{}",
            &job[..6]
        ));
        assert!(!branch.is_empty());
        assert!(!fleet.origin(&format!("rev-parse refs/redgreen/runs/{job}")).is_empty());
        fleet.redgreen(&format!("approve {job}")).exits(0).says("merge queue of main");
        fleet.work("two").exits(0);
        fleet.merged(std::slice::from_ref(&job));
        fleet.redgreen("queue").exits(0).says("the queue is empty");
        fleet
            .redgreen(&format!("approve {job}"))
            .exits(2)
            .says("a job that is merged cannot be approved");
        // The shared repository has everything that another worker needs.
        assert_eq!(fleet.origin("for-each-ref refs/heads/redgreen"), "");
        assert!(fleet.origin("notes --ref=tdd-handoffs list").lines().count() >= 3);
    });
}

#[test]
fn when_a_worker_is_killed_another_continues_from_the_last_accepted_phase() {
    both(|fleet| {
        let held = fleet.story.place(HOLD);
        std::fs::write(&held, "").unwrap();
        let job = fleet.submit("add an answer");
        let mut first = fleet.start("one");
        fleet.until_phase(&job, "test: answers");
        until("one waits in GREEN", || fleet.is_held());
        let red = fleet.tip(&job);
        first.kill().unwrap();
        first.wait().unwrap();
        std::fs::remove_file(&held).unwrap();
        fleet.work("two").exits(0);
        let commits = fleet.origin(&format!("rev-list {}", fleet.tip(&job)));
        assert!(
            commits.lines().any(|commit| commit == red),
            "the test of the first worker is kept"
        );
        fleet.redgreen("queue --all").exits(0).says("waiting");
        fleet.redgreen(&format!("approve {job}")).exits(0);
        // The killed worker restarts and keeps its leftovers.
        fleet.work("one").exits(0);
        fleet.merged(&[job]);
        let count = |name: &str| {
            std::fs::read_dir(fleet.story.place("work-one").join(name)).unwrap().count()
        };
        assert_eq!((count("jobs"), count("salvage")), (0, 1));
    });
}

#[test]
fn a_worker_that_comes_back_late_cannot_push_and_keeps_its_work() {
    both(|fleet| {
        let held = fleet.story.place(HOLD);
        std::fs::write(&held, "").unwrap();
        let job = fleet.submit("add an answer");
        let mut first = fleet.start("one");
        fleet.until_phase(&job, "test: answers");
        until("one waits in GREEN", || fleet.is_held());
        let pid = Pid::from_child(&first);
        kill_process(pid, Signal::STOP).unwrap();
        // The frozen worker's engine continues and produces commits that its worker will try to
        // push.
        std::fs::remove_file(&held).unwrap();
        fleet.work("two").exits(0);
        let (tip, record) =
            (fleet.tip(&job), fleet.origin(&format!("rev-parse refs/redgreen/runs/{job}")));
        kill_process(pid, Signal::CONT).unwrap();
        until("one gives up", || first.try_wait().unwrap().is_some());
        assert_eq!(fleet.tip(&job), tip);
        assert_eq!(fleet.origin(&format!("rev-parse refs/redgreen/runs/{job}")), record);
        let kept =
            std::fs::read_dir(fleet.story.place("work-one").join("salvage")).unwrap().count();
        assert_eq!(kept, 1, "the work of the late worker is kept");
        fleet.redgreen(&format!("approve {job}")).exits(0);
        fleet.work("two").exits(0);
        fleet.merged(&[job]);
    });
}

#[test]
fn a_worker_that_is_asked_to_stop_hands_its_job_back() {
    both(|fleet| {
        let held = fleet.story.place(HOLD);
        std::fs::write(&held, "").unwrap();
        let job = fleet.submit("add an answer");
        let mut first = fleet.start("one");
        until("one waits in GREEN", || fleet.is_held());
        kill_process(Pid::from_child(&first), Signal::TERM).unwrap();
        until("one is gone", || first.try_wait().unwrap().is_some());
        fleet.redgreen("queue").exits(0).says("queued");
        std::fs::remove_file(&held).unwrap();
        fleet.work("two").exits(0);
        fleet.redgreen("queue").exits(0).says("waiting");
        fleet.redgreen(&format!("abort {job}")).exits(0).says("is aborted");
        fleet.redgreen("queue").exits(0).says("the queue is empty");
    });
}

#[test]
fn an_idle_worker_uses_little_memory() {
    let fleet = Fleet::new(Kind::Folder);
    let mut idle = fleet.start_idle("one");
    std::thread::sleep(Duration::from_secs(1));
    let status = std::fs::read_to_string(format!("/proc/{}/status", idle.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    idle.kill().unwrap();
    idle.wait().unwrap();
    // A build without optimisation is larger than the released one.
    assert!(kibibytes < 60_000, "an idle worker holds {kibibytes} KiB");
}
