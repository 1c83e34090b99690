//! Many failures at the same time: workers are killed at random, the server restarts, one worker is
//! cut off for longer than its lease, one has no disk space. Every job still ends once.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::ground::{Fleet, Kind, LEASE_SECONDS};
use crate::story::is_all;

/// Nobody's favourite number; with it the kills come at the same times each time.
const SEED: u64 = 0x0f1e_e7c4_a05e;
const PATIENCE: Duration = Duration::from_secs(3600);

struct Scale {
    jobs: usize,
    workers: usize,
    kills: usize,
    restarts: usize,
}

fn scale() -> Scale {
    match is_all() {
        true => Scale { jobs: 60, workers: 6, kills: 20, restarts: 2 },
        false => Scale { jobs: 5, workers: 3, kills: 4, restarts: 1 },
    }
}

#[test]
fn in_chaos_every_job_ends_once_in_a_folder() {
    chaos(Fleet::new(Kind::Folder));
}

#[test]
fn in_chaos_every_job_ends_once_on_nats() {
    if let Some(fleet) = Fleet::on_nats() {
        chaos(fleet);
    }
}

fn chaos(mut fleet: Fleet) {
    let Scale { jobs, workers, kills, restarts } = scale();
    let ids: Vec<String> = (0..jobs)
        .map(|number| fleet.submit_with(&format!("add answer {number}"), "--merge"))
        .collect();
    let mut crew: Vec<Child> =
        (0..workers).map(|number| fleet.start(&format!("w{number}"))).collect();
    let mut random = SEED;
    let mut next = move || {
        // xorshift
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for kill in 0..kills {
        thread::sleep(Duration::from_millis(1_000 + next() % 3_000));
        let victim = usize::try_from(next() % 1_000).unwrap() % workers;
        crew[victim].kill().unwrap();
        crew[victim].wait().unwrap();
        crew[victim] = fleet.start(&format!("w{victim}"));
        if kill % (kills / restarts).max(1) == 1
            && let Some(mut server) = fleet.server.take()
        {
            server.restart(&fleet.story, Duration::from_secs(LEASE_SECONDS / 3));
            fleet.server = Some(server);
        }
    }
    let end = Instant::now() + PATIENCE;
    while crew.iter_mut().any(|worker| worker.try_wait().unwrap().is_none()) {
        assert!(Instant::now() < end, "the workers are not done:\n{}", fleet.log());
        thread::sleep(Duration::from_millis(200));
    }
    fleet.merged(&ids);
    fleet.redgreen("queue").exits(0).says("the queue is empty");
    let notes = fleet.origin("notes --ref=tdd-handoffs list").lines().count();
    assert!(notes >= 3 * ids.len(), "{notes} notes for {} jobs", ids.len());
}
