//! Many concurrent runs in one repository, and two processes that want the same run.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::{ProgramOutput, Story};

const RUNS: usize = 20;

#[test]
fn runs_side_by_side_do_not_mix_and_are_merged_one_after_the_other() {
    let story = Story::new();
    thread::scope(|scope| {
        let story = &story;
        let all: Vec<_> = (0..RUNS)
            .map(|number| {
                story.script(&format!("{number}.toml"), &one_cycle(number));
                scope.spawn(move || {
                    story.redgreen(&format!("run --script @{number}.toml \"part {number}\""))
                })
            })
            .collect();
        for run in all {
            run.join().unwrap().exits(3);
        }
    });
    for number in 0..RUNS {
        let branch = branch_of(&story, number);
        let commits = story.git(&format!("rev-list main..{branch}"));
        assert_eq!(commits.lines().count(), 5);
        for commit in commits.lines() {
            let note: serde_json::Value = serde_json::from_str(
                &story.git(&format!("notes --ref=tdd-handoffs show {commit}")),
            )
            .unwrap();
            assert_eq!(note["run"]["branch"], branch.as_str());
        }
        let files = story.git(&format!("diff --name-only main {branch}"));
        assert_eq!(files, format!("part{number}.py\ntest-list.md\ntests/test_part{number}.py"));
    }
    for number in 0..RUNS {
        let branch = branch_of(&story, number);
        let id = id_of(&story, &branch);
        story.redgreen(&format!("approve {id}")).exits(0).says("merged");
    }
    let files = story.git("ls-tree -r --name-only HEAD");
    for number in 0..RUNS {
        assert!(files.contains(&format!("tests/test_part{number}.py")), "{files}");
    }
    story.merged();
    let noted = story.git("notes --ref=tdd-handoffs list").lines().count();
    assert_eq!(noted, RUNS * 5, "a note is lost");
}

#[test]
fn a_run_at_work_is_not_resumed_twice_while_others_continue() {
    let story = Story::new().quick();
    let gate = story.place("gate");
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.05; done", gate.display());
    let waiting = one_cycle(1).replacen(
        "[[red]]\ndo = [{",
        &format!("[[red]]\ndo = [{{ shell = {wait:?} }}, {{"),
        1,
    );
    story.script("1.toml", &waiting).script("2.toml", &one_cycle(2));
    let line = "run --script @1.toml \"part 1\"";
    let first = story.prepare(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(300);
    while story.worktrees().is_empty() {
        assert!(Instant::now() < deadline, "the run did not start");
        thread::sleep(Duration::from_millis(20));
    }
    let id = story.worktrees().remove(0);
    for verb in ["resume", "approve", "abort"] {
        story
            .redgreen(&format!("{verb} {id}"))
            .exits(4)
            .says(&format!("another redgreen process is working on run {id}"));
    }
    let status = story.redgreen("status --json").exits(0).json();
    assert_eq!(
        (&status["runs"][0]["id"], &status["runs"][0]["atWork"]),
        (&id.as_str().into(), &true.into())
    );
    story.redgreen("run --script @2.toml \"part 2\"").exits(3);
    assert_eq!(story.worktrees(), [id.as_str()], "the other's worktree is not touched");
    fs::write(&gate, "").unwrap();
    ProgramOutput::of(line, &first.wait_with_output().unwrap()).exits(3);
}

/// One cycle with its own files and the shared test list.
fn one_cycle(number: usize) -> String {
    format!(
        r#"
[[plan]]
do = [{{ write = "test-list.md", text = "- [ ] part {number}\n" }}]
next = {{ description = "part {number}", test-file = "tests/test_part{number}.py", impl-file = "part{number}.py" }}

[[plan]]
done = true

[[red]]
do = [{{ write = "tests/test_part{number}.py", text = """
import unittest

from part{number} import value


class Part(unittest.TestCase):
    def test_part{number}(self):
        assert value() == {number}
""" }}]

[[green]]
do = [{{ write = "part{number}.py", text = """
def value():
    return {number}
""" }}]
"#
    )
}

fn branch_of(story: &Story, number: usize) -> String {
    let all = story.git("for-each-ref --format=%(refname:short) refs/heads/redgreen");
    let mine = format!("redgreen/part-{number}-");
    all.lines().find(|name| name.starts_with(&mine)).unwrap().to_owned()
}

fn id_of(story: &Story, branch: &str) -> String {
    let note = story.git(&format!("notes --ref=tdd-handoffs show {branch}"));
    let note: serde_json::Value = serde_json::from_str(&note).unwrap();
    note["run"]["id"].as_str().unwrap().to_owned()
}
