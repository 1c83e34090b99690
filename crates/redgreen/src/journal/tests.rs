//! The journal on disk: incomplete lines, damage, locks.

use redgreen_core::brief::Brief;
use redgreen_core::event::{Mark, Run};
use redgreen_core::names::{Branch, Label, Oid, RunBranch, RunId};
use redgreen_core::policy::Policy;

use super::*;

fn started(id: &str) -> Event {
    let base = Mark { commit: Oid::default(), tree: Oid::default() };
    Event::Started {
        run: Box::new(Run {
            id: RunId::parse(id).unwrap(),
            brief: Brief::of("add"),
            policy: Policy::default(),
            base,
            target: Branch::parse("main").unwrap(),
            branch: RunBranch::parse("redgreen/add").unwrap(),
            agent: Label::of("script"),
            linters: Vec::new(),
        }),
    }
}

fn run() -> (tempfile::TempDir, Store, RunFolder) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let run = store.create(1_700_000_000_000).unwrap();
    (folder, store, run)
}

fn write_one(run: &RunFolder) {
    let (mut journal, state) = Journal::open(run, None).unwrap();
    assert_eq!(state, None);
    journal.record(&started(&run.id), 1).unwrap();
    journal.intend("prepare", 2).unwrap();
}

#[test]
fn replays_written_events() {
    let (_folder, _store, run) = run();
    write_one(&run);
    let (state, lines) = read(&run).unwrap();
    assert_eq!(state.unwrap().run.id, run.id);
    assert_eq!(lines.iter().map(|line| line.seq).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn drops_an_incomplete_last_line() {
    let (_folder, _store, run) = run();
    write_one(&run);
    let path = run.path.join(FILE);
    let whole = std::fs::read(&path).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in first..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let (mut journal, state) = Journal::open(&run, None).unwrap();
        assert!(state.is_some(), "{length}");
        journal.intend("prepare", 2).unwrap();
        drop(journal);
        assert_eq!(std::fs::read(&path).unwrap(), whole, "torn at {length}");
    }
}

#[test]
fn reports_damage_in_the_middle() {
    let (_folder, _store, run) = run();
    write_one(&run);
    let path = run.path.join(FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    for (text, words) in [
        (text.replacen('{', "<", 1), "damaged in line 1"),
        (text.replacen("started", "noted", 1), "damaged in line"),
        (text.replacen("\"v\":1", "\"v\":2", 1), "newer redgreen"),
        (
            format!("{text}{{\"v\":1,\"seq\":3,\"at\":3,\"event\":\"paused\"}}\n"),
            "damaged in line 3",
        ),
    ] {
        std::fs::write(&path, &text).unwrap();
        let error = Journal::open(&run, None).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "the file is unchanged");
    }
}

#[test]
fn a_run_has_one_writer() {
    let (_folder, _store, run) = run();
    assert!(!is_busy(&run));
    let (journal, _) = Journal::open(&run, None).unwrap();
    assert!(is_busy(&run));
    assert!(
        Journal::open(&run, None)
            .unwrap_err()
            .to_string()
            .contains("another redgreen process is working")
    );
    drop(journal);
    assert!(Journal::open(&run, None).is_ok());
}

#[test]
fn finds_runs_by_a_part_of_their_id() {
    let (_folder, store, run) = run();
    let other = store.create(1_800_000_000_000).unwrap();
    let tail = run.id.rsplit('-').next().unwrap();
    assert_eq!(store.find(&run.id).unwrap(), run);
    assert_eq!(store.find(tail).unwrap(), run);
    assert_eq!(store.find("2027").unwrap(), other);
    assert!(store.find("20").unwrap_err().to_string().contains("several runs"));
    assert!(store.find("nonesuch").unwrap_err().to_string().contains("no run"));
    assert!(store.find("..").is_err());
    assert_eq!(store.open().unwrap(), [run.clone(), other.clone()]);
    assert_eq!(store.latest().unwrap(), other);
    store.close(&run).unwrap();
    assert_eq!(store.open().unwrap(), [other]);
}

#[test]
fn parses_the_kill_moment() {
    assert_eq!(KillAt::parse("before:3"), Some(KillAt { moment: CrashPoint::Before, effect: 3 }));
    assert_eq!(KillAt::parse("after:12"), Some(KillAt { moment: CrashPoint::After, effect: 12 }));
    for text in ["", "before", "before:", "during:3", "after:x", "after:-1"] {
        assert_eq!(KillAt::parse(text), None, "{text}");
    }
}
