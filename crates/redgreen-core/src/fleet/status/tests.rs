//! Tables of the events of a job and its final state. Events are words: `claim`, `claim2` (another
//! message), `late …` (a message from the previous claim).

use super::*;
use crate::fleet::{BriefSource, Limits};

fn job(merge: MergeWhen) -> Job {
    Job {
        version: VERSION,
        repository: Repository::parse("https://example.com/a/b.git").unwrap(),
        base: Branch::parse("main").unwrap(),
        wish: BriefSource::Request { text: "add roman numerals".to_owned() },
        agent: None,
        model: None,
        limits: Limits::default(),
        labels: Vec::new(),
        after: Vec::new(),
        priority: Priority::Normal,
        merge,
        again: None,
    }
}

fn id() -> JobId {
    JobId::of_digest(b"a submission")
}

fn event(word: &str) -> Event {
    let label = |text: &str| Label::of(text);
    match word {
        "claim" => Event::Claimed { worker: label("one"), message: 1, day: None },
        "claim2" => Event::Claimed { worker: label("two"), message: 2, day: None },
        "push" => Event::Progress {
            run: Some(RunId::parse("20261115-224849-k3x9").unwrap()),
            record: Oid::named("r"),
            phase: Some(Phase::Red),
            spent: Share::default(),
        },
        "record" => Event::Progress {
            run: None,
            record: Oid::named("c"),
            phase: None,
            spent: Share::default(),
        },
        "finish" => Event::Stopped { why: label("done"), finished: true },
        "undecided" => Event::Stopped { why: label("undecided"), finished: false },
        "fail" => Event::Failed { why: label("no git") },
        "trouble" => Event::Troubled { why: label("no space") },
        "back" => Event::HandedBack,
        "defer" => Event::Deferred { why: label("not yet") },
        "refuse" => Event::Refused { why: label("no trust") },
        "approve" => Event::Approved { by: label("Ada") },
        "merge" => Event::Merged { commit: Oid::named("m") },
        "blocked" => Event::MergeBlocked { why: label("conflict") },
        "cancel" => Event::StopAsked { by: label("Ada") },
        "abort" => Event::Aborted,
        "say" => Event::Said { text: "use a dataclass".to_owned() },
        other => panic!("{other}"),
    }
}

/// Plays events. A worker's event belongs to the latest epoch, or to the previous one if it is
/// `late`.
fn play(merge: MergeWhen, words: &str) -> Result<Status, Rejected> {
    let human = ["claim", "claim2", "defer", "approve", "cancel", "say"];
    let mut status = Status::submitted(&id(), &job(merge), 0);
    for word in words.split(", ") {
        let (late, word) = word.strip_prefix("late ").map_or((0, word), |word| (1, word));
        let from = match human.contains(&word) {
            true => EventSource::Anyone,
            false => EventSource::Worker { epoch: status.epoch.saturating_sub(late) },
        };
        status = status.apply(from, &event(word), 1)?;
    }
    Ok(status)
}

#[track_caller]
fn check(words: &str, expected: &str) {
    let said = match play(MergeWhen::Approved, words) {
        Ok(status) => status.state.name().to_owned(),
        Err(rejected) => rejected.to_string(),
    };
    assert_eq!(said, expected, "{words}");
}

#[test]
fn a_job_goes_from_the_queue_to_the_merge() {
    check("claim", "running");
    check("claim, push, push, finish", "waiting");
    check("claim, finish, approve", "merging");
    check("claim, finish, approve, claim2, merge", "merged");
    check("claim, finish, approve, claim2, blocked", "waiting");
    check("claim, undecided", "waiting");
    let at_once = play(MergeWhen::Finished, "claim, finish").unwrap();
    assert_eq!(at_once.state, JobState::Merging);
    let undecided = play(MergeWhen::Finished, "claim, undecided").unwrap();
    assert_eq!(undecided.state, JobState::Waiting);
}

#[test]
fn a_worker_that_comes_back_late_changes_nothing() {
    let fenced = "another worker has the job: this is claim 1, the latest is 2";
    for late in [
        "late push",
        "late finish",
        "late fail",
        "late trouble",
        "late merge",
        "late abort",
        "late back",
        "late refuse",
    ] {
        check(&format!("claim, claim, {late}"), fenced);
    }
    check("claim, claim, push", "running");
}

#[test]
fn another_message_for_a_running_job_is_a_duplicate() {
    check("claim, claim2", "a worker already works on the job");
    check("claim, fail, claim2", "running");
}

#[test]
fn a_job_whose_workers_fail_is_given_up() {
    check("claim, fail", "queued");
    check("claim, fail, claim, fail, claim, fail, claim, fail", "queued");
    check("claim, fail, claim, fail, claim, fail, claim, fail, claim, fail", "failed");
    check("claim, back, claim, back, claim, back, claim, back, claim, back, claim, back", "queued");
    check("claim, finish, approve, claim, fail", "merging");
}

#[test]
fn troubles_of_workers_are_not_failures_of_the_job() {
    let max = usize::try_from(TROUBLES_MAX).unwrap();
    let troubled = |count: usize| vec!["claim, trouble"; count].join(", ");
    check(&troubled(max - 1), "queued");
    check(&troubled(max), "failed");
    check("claim, finish, approve, claim, trouble", "merging");
    let status = play(MergeWhen::Approved, &troubled(3)).unwrap();
    assert_eq!((status.failures, status.lost, status.worker), (0, 0, None));
    assert_eq!(status.log.last().unwrap().event, Label::of("returned to the queue: no space"));
}

#[test]
fn a_job_that_loses_its_workers_is_given_up() {
    let lost = |count: usize| vec!["claim"; count + 1].join(", ");
    let max = usize::try_from(LOST_WORKERS_MAX).unwrap();
    check(&lost(max - 1), "running");
    check(&lost(max), "failed");
    // A claim pushes a record, but a record is not an accepted phase.
    check(&format!("{}, claim", vec!["claim, record"; max].join(", ")), "failed");
    check(&format!("{}, push, {}", lost(max - 1), lost(max - 2)), "running");
    check(&format!("claim, finish, approve, {}", lost(max)), "failed");
    check(&vec!["claim, back"; 2 * max].join(", "), "queued");
    let status = play(MergeWhen::Approved, &lost(max)).unwrap();
    let why = "5 workers in a row were lost with this job and no phase was accepted; the last one \
               was one";
    assert_eq!(status.remark, Some(Label::of(why)));
    assert_eq!(status.worker, None);
    assert_eq!(status.log.last().unwrap().event, Label::of(&format!("failed: {why}")));
}

#[test]
fn a_human_can_end_it_until_it_is_merged() {
    check("cancel", "aborted");
    check("claim, cancel", "running");
    assert!(play(MergeWhen::Approved, "claim, cancel").unwrap().stop_asked);
    check("claim, cancel, abort", "aborted");
    check("claim, finish, cancel", "aborted");
    check("claim, finish, approve, cancel", "a job that is merging cannot be stopped");
    check("cancel, claim", "a job that is aborted cannot be claimed");
    check("cancel, cancel", "a job that is aborted cannot be stopped");
}

#[test]
fn what_does_not_fit_the_state_is_rejected() {
    check("approve", "a job that is queued cannot be approved");
    check("claim, approve", "a job that is running cannot be approved");
    check("claim, finish, approve, approve", "a job that is merging cannot be approved");
    check("claim, merge", "a job that is running cannot be merged");
    check("claim, finish, say", "a job that is waiting cannot be told anything");
    check("claim, refuse, claim", "a job that is refused cannot be claimed");
}

#[test]
fn messages_and_history_are_bounded() {
    let many = vec!["say"; MESSAGES_MAX].join(", ");
    check(&format!("{many}, say"), "the job has 100 messages, and takes no more");
    let claims = vec!["claim, back"; LOG_MAX].join(", ");
    assert_eq!(play(MergeWhen::Approved, &claims).unwrap().log.len(), LOG_MAX);
}

#[test]
fn a_job_waits_for_those_before_it() {
    let merged = JobState::Merged { commit: Oid::named("m") };
    for (state, expected) in [
        (Some(merged), Readiness::Yes),
        (
            Some(JobState::Waiting),
            Readiness::NotYet {
                why: Label::of(&format!("waits for job {}, which is waiting", id().head())),
            },
        ),
        (
            Some(JobState::Aborted),
            Readiness::Never {
                why: Label::of(&format!("job {} before it is aborted", id().head())),
            },
        ),
        (
            None,
            Readiness::Never { why: Label::of(&format!("there is no job {} to wait for", id())) },
        ),
    ] {
        assert_eq!(ready(&[id()], |_| state.clone()), expected);
    }
    assert_eq!(ready(&[], |_| None), Readiness::Yes);
}
