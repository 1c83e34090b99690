//! Valid submissions, the order of jobs, and human decisions from other machines.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::ground::{Fleet, Kind, until};
use super::{HOLD, both};

#[test]
fn hostile_submissions_are_refused_by_name_and_nothing_is_queued() {
    let fleet = Fleet::new(Kind::Folder);
    let key = format!("AKIA{}", "ABCDEFGHIJKLMNOP");
    fleet.story.script("requests.txt", &format!("add an answer\nuse {key}\n"));
    for (line, words) in [
        ("--repo ext::sh x".to_owned(), "--repo: \"ext::sh\" is not the address of a repository"),
        ("--repo=--upload-pack=id x".to_owned(), "--repo: \"--upload-pack=id\" is not the address"),
        ("--repo https://token@example.com/a x".to_owned(), "--repo: "),
        ("--base=--force x".to_owned(), "--base: \"--force\" is not the name of a branch"),
        ("--base redgreen/x x".to_owned(), "base: redgreen/x is a branch of a run"),
        ("--agent=--help x".to_owned(), "--agent: \"--help\" is not the name of an agent"),
        ("--label ../x x".to_owned(), "--label: \"../x\" is not a label"),
        ("--after ../x x".to_owned(), "--after: there is no job \"../x\""),
        ("--issue 1 --lld ../../etc/passwd".to_owned(), "etc/passwd"),
        ("--spec tests/__init__.py".to_owned(), "tests/__init__.py"),
        (format!("\"use {key}\""), "looks like a credential"),
        ("--from @requests.txt".to_owned(), "looks like a credential"),
        ("--queue http://example.com x".to_owned(), "is not a queue"),
    ] {
        fleet.redgreen(&format!("submit {line}")).exits(2).says(words);
    }
    fleet.redgreen("queue --all").exits(0).says("the queue is empty");
}

#[test]
fn a_worker_runs_commands_of_a_project_only_if_configured_to_trust_it() {
    both(|fleet| {
        let mark = fleet.story.place("linted");
        let command = format!("touch '{}'", mark.display());
        fleet.story.file(
            "redgreen.toml",
            &format!("backoff = 0.0\n[lint]\ncommands = []\n[worktree]\nsetup = [{command:?}]\n"),
        );
        fleet.story.commit("a linter");
        fleet.story.git("push -q origin main");
        let job = fleet.submit("add an answer");
        let fleet = Fleet { story: fleet.story.env("REDGREEN_TRUST", "0"), ..fleet };
        fleet.work("one").exits(0);
        let status = fleet.status(&job);
        assert_eq!(status["state"]["state"], "refused", "{status}");
        assert!(status["remark"].as_str().unwrap().contains("worktree.setup"), "{status}");
        assert!(!mark.exists());
        let again = fleet.submit_with("add an answer", "--again");
        let line = format!("{} --trust-repo @origin.git", fleet.worker("two"));
        fleet.redgreen(&line).exits(0);
        assert_eq!(fleet.status(&again)["state"]["state"], "waiting");
        assert!(mark.exists());
    });
}

#[test]
fn jobs_wait_for_those_before_them_and_merges_are_made_one_after_the_other() {
    both(|fleet| {
        let first = fleet.submit_with("add an answer", "--merge");
        let second = fleet.submit_with("add another answer", &format!("--merge --after {first}"));
        let third = fleet.submit_with("add a third answer", "--merge --priority high");
        let mut workers = [fleet.start("one"), fleet.start("two")];
        for worker in &mut workers {
            until("the workers are done", || worker.try_wait().unwrap().is_some());
        }
        fleet.merged(&[first.clone(), second.clone(), third]);
        let start =
            fleet.origin(&format!("log --format=%H -1 main -- tests/test_answer_{second}.py"));
        let known = fleet.origin(&format!("ls-tree -r --name-only {start}"));
        assert!(
            known.contains(&format!("answer_{first}.py")),
            "the second started from the first:\n{known}"
        );
    });
}

#[test]
fn a_job_is_cancelled_wherever_it_is_and_those_after_it_never_start() {
    both(|fleet| {
        let queued = fleet.submit("add an answer");
        let after = fleet.submit_with("add another answer", &format!("--after {queued}"));
        fleet.redgreen(&format!("cancel {}", &queued[..6])).exits(0).says("is aborted");
        let held = fleet.story.place(HOLD);
        fs::write(&held, "").unwrap();
        let running = fleet.submit("add a third answer");
        let mut worker = fleet.start("one");
        until("one waits in GREEN", || fleet.is_held());
        fleet
            .redgreen(&format!("say {running} \"keep it short\""))
            .exits(0)
            .says("gets the message at its next turn");
        fleet.redgreen(&format!("abort {running}")).exits(0).says("is being stopped");
        until("the worker is done", || worker.try_wait().unwrap().is_some());
        assert_eq!(fleet.status(&running)["state"]["state"], "aborted");
        let refused = fleet.status(&after);
        assert_eq!(refused["state"]["state"], "refused", "{refused}");
        assert!(refused["remark"].as_str().unwrap().contains("before it is aborted"), "{refused}");
        fleet
            .redgreen(&format!("cancel {running}"))
            .exits(2)
            .says("a job that is aborted cannot be stopped");
        assert_eq!(fleet.origin("log --format=%s main"), "first");
    });
}

#[test]
fn a_daily_budget_holds_for_all_workers_together() {
    both(|fleet| {
        fleet.redgreen("fleet --tokens-per-day 100").exits(0).says("0 of 100 tokens");
        let none = fleet.submit("add an answer");
        let dear = fleet.submit_with("add another answer", "--budget-tokens 101");
        let first = fleet.submit_with("add a third answer", "--budget-tokens 60");
        let second = fleet.submit_with("add a fourth answer", "--budget-tokens 60");
        fs::write(fleet.story.place(HOLD), "").unwrap();
        let mut workers = [fleet.start_idle("one"), fleet.start_idle("two")];
        until("one job runs, one waits for money", || {
            let state =
                |job: &str| fleet.status(job)["state"]["state"].as_str().unwrap().to_owned();
            let remark =
                |job: &str| fleet.status(job)["remark"].as_str().unwrap_or_default().to_owned();
            let waits =
                [&first, &second].iter().any(|job| remark(job).contains("60 tokens of 100 tokens"));
            waits && fleet.is_held() && state(&none) == "refused" && state(&dear) == "refused"
        });
        fleet
            .redgreen("fleet")
            .exits(0)
            .says("worker one")
            .says("worker two")
            .says("60 of 100 tokens");
        for worker in &mut workers {
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
        let running = fleet.redgreen("queue --json").exits(0).json();
        let running = running
            .as_array()
            .unwrap()
            .iter()
            .filter(|status| status["state"]["state"] == "running")
            .count();
        assert_eq!(running, 1);
    });
}

#[test]
fn a_cancelled_job_returns_what_it_reserved() {
    both(|fleet| {
        fleet.redgreen("fleet --tokens-per-day 100").exits(0);
        fs::write(fleet.story.place(HOLD), "").unwrap();
        let job = fleet.submit_with("add an answer", "--budget-tokens 60");
        let mut worker = fleet.start_idle("one");
        until("one waits in GREEN", || fleet.is_held());
        kill_process(Pid::from_child(&worker), Signal::TERM).unwrap();
        until("one is gone", || worker.try_wait().unwrap().is_some());
        assert_eq!(spent_today(&fleet), 60);
        fleet.redgreen(&format!("cancel {job}")).exits(0).says("is aborted");
        assert_eq!(spent_today(&fleet), 0);
    });
}

/// Otherwise such a job would cost the fleet one worker after another.
#[test]
fn a_job_that_loses_worker_after_worker_fails() {
    const LOST_MAX: u64 = 5;
    let fleet = Fleet::new(Kind::Folder);
    fleet.redgreen("fleet --tokens-per-day 100").exits(0);
    fs::write(fleet.story.place(HOLD), "").unwrap();
    let job = fleet.submit_with("add an answer", "--budget-tokens 60");
    for number in 1..=LOST_MAX {
        let mut worker = fleet.start("one");
        until("the job is claimed", || fleet.status(&job)["epoch"] == number);
        if number == 1 {
            fleet.until_phase(&job, "test: answers");
        }
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    fleet.work("two").exits(0).says("5 workers in a row were lost with this job");
    let status = fleet.status(&job);
    assert_eq!(status["state"]["state"], "failed", "{status}");
    assert!(status["remark"].as_str().unwrap().contains("the last one was one"), "{status}");
    assert_eq!(spent_today(&fleet), 0);
}

/// A worker's script path is relative to the folder in which the worker started. A prefix of a
/// job's id names the job.
#[test]
fn short_ids_and_relative_scripts_mean_what_they_say() {
    let fleet = Fleet::new(Kind::Folder);
    let job = fleet.submit("add an answer");
    let short = &job[..6];
    fleet
        .redgreen(&format!("say {short} \"keep it short\""))
        .exits(0)
        .says(&format!("job {job} gets the message"));
    fleet
        .redgreen("work --until-empty --name one --home ../work-one --script ../kata.toml")
        .exits(0)
        .says("1 delivery done");
    let status = fleet.status(&job);
    assert_eq!(status["state"]["state"], "waiting", "{status}");
    fleet.redgreen(&format!("approve {short}")).exits(0).says("merge queue of main");
    let other = fleet.submit("add another answer");
    fleet.redgreen(&format!("abort {}", &other[..6])).exits(0).says("is aborted");
    fleet.redgreen("approve zzzz").exits(2).says("no run \"zzzz\" here");
    fleet
        .redgreen("work --until-empty --name one --home @work-one")
        .exits(0)
        .says("2 deliveries done");
    fleet
        .redgreen("work --until-empty --name one --home @work-one")
        .exits(0)
        .says("0 deliveries done");
}

fn spent_today(fleet: &Fleet) -> u64 {
    fleet.redgreen("fleet --json").exits(0).json()["spentToday"]["tokens"].as_u64().unwrap()
}
