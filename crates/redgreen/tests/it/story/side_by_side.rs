//! Several attempts at GREEN side by side: redgreen chooses the best one by evidence.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::crash::kill_at;
use super::recovery::write;
use super::scripts::{DONE, turn};
use super::terminal::on_a_terminal;
use super::{ProgramOutput, Story};

const PLAN: &str = r#"
[[plan]]
do = [{ write = "test-list.md", text = "- [ ] small numbers\n" }]
next = { description = "small numbers", test-file = "tests/test_roman.py", impl-file = "roman.py" }
"#;
pub(crate) const TEST: &str = "from roman import to_roman\n\n\ndef test_small_numbers():\n    assert to_roman(1) == 'I'\n    \
     assert to_roman(2) == 'II'\n";
pub(crate) const MORE: &str =
    "from roman import to_roman\n\n\ndef test_three():\n    assert to_roman(3) == 'III'\n";
/// Passes because it removes the test's real assertions.
pub(crate) const CHEAT: &str =
    "from roman import to_roman\n\n\ndef test_small_numbers():\n    assert True\n";
/// Covers only the values in the visible tests.
pub(crate) const TABLE: &str = "def to_roman(number):\n    return {1: 'I', 2: 'II'}[number]\n";
pub(crate) const RIGHT: &str = "def to_roman(number):\n    return 'I' * number\n";
/// As short and as good as `RIGHT`.
const ALSO_RIGHT: &str = "def to_roman(number):\n    return number * 'I'\n";
/// The waiting time for an event that comes soon even on a busy machine.
const SOON: Duration = Duration::from_secs(120);
const SIGKILL: i32 = 9;

fn red() -> String {
    let withheld = write(".redgreen/withheld/tests/test_more.py", MORE);
    turn("red", &format!("{}, {withheld}", write("tests/test_roman.py", TEST)))
}

/// RED without withheld tests.
fn plain_red() -> String {
    turn("red", &write("tests/test_roman.py", TEST))
}

/// A GREEN turn for one of several attempts.
fn attempt(number: u32, actions: &str) -> String {
    format!("\n[[green]]\ncandidate = {number}\ntokens = 10\ndo = [{actions}]\n")
}

fn codes(codes: &[&str]) -> String {
    let turns = (1..).zip(codes).map(|(number, code)| attempt(number, &write("roman.py", code)));
    turns.collect()
}

/// One attempt cheats, one knows only the visible values, and one is right.
fn three() -> String {
    let cheat = format!("{}, {}", write("tests/test_roman.py", CHEAT), write("roman.py", TABLE));
    attempt(1, &cheat)
        + &attempt(2, &write("roman.py", TABLE))
        + &attempt(3, &write("roman.py", RIGHT))
}

fn story(red: &str, green: &str) -> Story {
    let story = Story::new();
    story.script("kata.toml", &["agent = \"kata\"\n", PLAN, red, green, DONE].concat());
    story
}

fn run(story: &Story, options: &str) -> ProgramOutput {
    story.redgreen(&format!("run --script @kata.toml {options} \"roman numerals\""))
}

fn journal(story: &Story) -> Vec<Value> {
    let runs = story.root.join(".git/redgreen/runs");
    let run = fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The numbers of the journalled attempts, in the order in which they ended.
fn attempted(story: &Story) -> Vec<u64> {
    let lines = journal(story);
    let all = lines.iter().filter(|line| line["event"] == "attempted");
    all.map(|line| line["candidate"]["number"].as_u64().unwrap()).collect()
}

/// The note on the GREEN commit.
fn note(story: &Story) -> Value {
    let commit = story.git(&format!("log -1 --format=%H --grep=^feat: {}", story.branch()));
    serde_json::from_str(&story.git(&format!("notes --ref=tdd-handoffs show {commit}"))).unwrap()
}

fn code(story: &Story) -> String {
    story.git(&format!("show {}:roman.py", story.branch())) + "\n"
}

/// Asserts that the right attempt became GREEN and that salvage has the two others.
#[track_caller]
pub(crate) fn the_third_wins(story: &Story, said: ProgramOutput, agents: [&str; 3]) {
    let said = said.exits(3).says("waiting for a human");
    assert_eq!(code(story), RIGHT, "{}", said.stderr);
    assert_eq!(story.git("worktree list --porcelain").matches("worktree ").count(), 1);
    assert!(!story.worktrees().iter().any(|name| name.contains("attempt")));
    let kept = story.salvages();
    assert_eq!(kept.len(), 2, "{kept:?}");
    for number in [1, 2] {
        assert!(kept.iter().any(|name| name.ends_with(&format!("-attempt-{number}"))), "{kept:?}");
    }
    let mut all = attempted(story);
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3]);
    let note = note(story);
    assert_eq!(note["attempts"]["chosen"], 3, "{note}");
    assert_eq!(note["attempts"]["by"], "verdict");
    assert_eq!(note["withheldTests"], 1);
    for (index, (agent, result, reason)) in [
        (agents[0], "refused", "green.tests_changed"),
        (agents[1], "refused", "green.overfits"),
        (agents[2], "accepted", "green.passes"),
    ]
    .into_iter()
    .enumerate()
    {
        let one = &note["attempts"]["candidates"][index];
        assert_eq!((&one["agent"], &one["result"]), (&agent.into(), &result.into()), "{note}");
        assert_eq!(one["code"], reason, "{note}");
        assert_eq!(one["salvage"].is_null(), index == 2, "{note}");
    }
    let why = note["attempts"]["why"].as_str().unwrap();
    let expected = format!("attempt 3 of 3 ({}) is chosen by verdict: accepted", agents[2]);
    assert!(why.starts_with(&expected), "{why}");
}

#[test]
fn the_right_attempt_wins_over_one_that_cheats_and_one_that_overfits() {
    let story = story(&red(), &three());
    let before = story.belongings();
    let said = run(&story, "--attempts 3");
    let told = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "1 GREEN attempt 1 refused [green.tests_changed]",
        "1 GREEN attempt 2 refused [green.overfits], 0 of 1 withheld tests pass",
        "1 GREEN attempt 3 accepted, 1 of 1 withheld tests pass",
        "chosen attempt 3 of 3 (kata) is chosen by verdict: accepted; attempt 1 (kata): refused",
    ] {
        assert!(told.contains(words), "{words}\n{}", said.stderr);
    }
    the_third_wins(&story, said, ["kata"; 3]);
    assert_eq!(story.belongings(), before);

    // The total includes the cost of the losing attempts.
    let status = story.redgreen("--json status").exits(0).json();
    assert_eq!(status["runs"][0]["spent"]["tokens"], 30, "{status}");
    let salvage = story.redgreen("salvage").exits(0).stdout;
    assert!(salvage.contains("attempt-1") && salvage.contains("attempt-2"), "{salvage}");
    story.redgreen("report --html run.html").exits(0);
    let page = fs::read_to_string(story.root.join("run.html")).unwrap();
    for words in
        ["attempt 3 of 3 (kata) is chosen by verdict", "attempt 2 (kata): refused [green.overfits]"]
    {
        assert!(page.contains(words), "{page}");
    }
    story.redgreen("approve").exits(0);
    assert_eq!(story.git("show main:roman.py") + "\n", RIGHT);
}

#[test]
fn the_right_attempt_wins_with_agents_that_are_programs_of_their_own() {
    let story = story(&red(), "");
    let mut settings = "backoff = 0.0\n".to_owned();
    for (name, files) in [
        ("cheat", vec![("tests/test_roman.py", CHEAT), ("roman.py", TABLE)]),
        ("overfits", vec![("roman.py", TABLE)]),
        ("right", vec![("roman.py", RIGHT)]),
    ] {
        let lines: String = files
            .iter()
            .map(|(path, text)| format!("open({path:?}, 'w').write({text:?})\n"))
            .collect();
        let program = story.place(&format!("home/{name}.py"));
        fs::write(&program, lines).unwrap();
        settings += &format!("[agent.custom.{name}]\ncommand = \"python {}\"\n", program.display());
    }
    story.file("redgreen.toml", &settings).commit("three agents");
    let said = run(&story, "--agents cheat,overfits,right");
    the_third_wins(&story, said, ["cheat", "overfits", "right"]);
}

#[test]
fn equal_evidence_is_for_the_human() {
    let story = story(&plain_red(), &codes(&[RIGHT, ALSO_RIGHT]));
    run(&story, "--attempts 2")
        .exits(3)
        .says("attempts 1 and 2 are accepted, and all evidence about them is equal")
        .says("--choose <attempt>");
    story.assert_no_worktree();
    let status = story.redgreen("--json status").exits(0).json();
    assert_eq!(status["runs"][0]["attempts"][1]["number"], 2, "{status}");
    assert_eq!(status["runs"][0]["trouble"]["type"], "attempts.tie", "{status}");
    story.redgreen("why").exits(0).says("attempt 1 (kata): accepted").says("--choose");
    // Without a choice nothing changes, and no agent works again.
    story.redgreen("resume").exits(3).says("--choose <attempt>");
    assert_eq!(attempted(&story).len(), 2);
    story
        .redgreen("resume --choose 3")
        .exits(2)
        .says("has no attempt 3")
        .says("its attempts: 1, 2");
    story.redgreen("resume --choose 2").exits(3).says("waiting for a human");
    assert_eq!(code(&story), ALSO_RIGHT);
    assert_eq!(note(&story)["attempts"]["by"], "human");
    let kept = story.salvages();
    assert!(kept.len() == 1 && kept[0].ends_with("-attempt-1"), "{kept:?}");
    story.redgreen("resume --choose 1").exits(2).says("no attempts to choose from");
}

/// The journal names the salvage of the chosen attempt, which is dropped when its work is taken
/// over. A journal that names the user's other work makes nobody drop it.
#[test]
fn a_journal_cannot_name_other_work_to_drop() {
    for of_another_run in [true, false] {
        let story = story(&plain_red(), &codes(&[RIGHT, ALSO_RIGHT]));
        run(&story, "--attempts 2").exits(3);
        let refs = "for-each-ref --format=%(refname:lstrip=3) refs/redgreen/salvage";
        let kept = story.git(refs);
        let own = kept.lines().find(|name| name.ends_with("attempt-2")).unwrap();
        let (run, _) = own.split_once('/').unwrap();
        let of = if of_another_run { "20250101-000000-mine" } else { run };
        let mine = format!("{of}/9-mine");
        story.git(&format!("update-ref refs/redgreen/salvage/{mine} main"));
        let path = story.root.join(".git/redgreen/runs").join(run).join("journal.jsonl");
        let journal = fs::read_to_string(&path).unwrap();
        let changed = journal.replace(&format!("\"{own}\""), &format!("\"{mine}\""));
        assert_ne!(changed, journal);
        fs::write(&path, changed).unwrap();
        story.redgreen("resume --choose 2").exits(3).says("waiting for a human");
        assert!(story.git(refs).lines().any(|name| name == mine), "{mine}");
    }
}

#[test]
fn at_a_terminal_the_human_is_asked_which_of_the_equal_attempts_to_take() {
    let story = story(&plain_red(), &codes(&[RIGHT, ALSO_RIGHT]));
    let (code, screen) = on_a_terminal(
        &story,
        "run --script @kata.toml --attempts 2 \"roman numerals\"",
        &[
            (
                "which attempt? [NUMBER, diff NUMBER, abort, Enter to decide later] ",
                "3\ndiff 2\n2\n",
            ),
            ("for another case, Enter to decide later] ", "approve\n"),
        ],
    );
    assert_eq!(code, Some(0), "{screen}");
    for words in [
        "attempt 1 (kata): accepted",
        "expected the number of an attempt",
        "+    return number * 'I'",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    assert_eq!(story.git("show main:roman.py") + "\n", ALSO_RIGHT);
}

#[test]
fn the_next_round_is_reported_why_the_best_attempt_was_refused() {
    let listen = "{ shell = \"printf '%s' \\\"$REDGREEN_TROUBLE\\\" > \\\"$HOME/told-$REDGREEN_CANDIDATE\\\"\" }";
    let wrong = "def to_roman(number):\n    return ''\n";
    let half = "def to_roman(number):\n    return {1: 'I'}[number]\n";
    let rounds = [
        codes(&[wrong, TABLE]),
        attempt(1, &format!("{listen}, {}", write("roman.py", half))),
        attempt(2, &format!("{listen}, {}", write("roman.py", RIGHT))),
    ];
    let story = story(&red(), &rounds.concat());
    run(&story, "--attempts 2")
        .exits(3)
        .says("attempt 2 of 2 (kata) is chosen by verdict: refused");
    for number in [1, 2] {
        let told = fs::read_to_string(story.place(&format!("home/told-{number}"))).unwrap();
        assert!(told.starts_with("green.overfits") && told.contains("test_three"), "{told}");
    }
    assert_eq!(code(&story), RIGHT);
    let note = note(&story);
    assert_eq!(
        (&note["iterations"], &note["attempts"]["chosen"]),
        (&2.into(), &2.into()),
        "{note}"
    );
    assert_eq!(story.redgreen("--json status").exits(0).json()["runs"][0]["spent"]["tokens"], 40);
}

#[test]
fn the_budget_holds_over_all_attempts() {
    let story = story(&red(), &three());
    run(&story, "--attempts 3 --jobs 1 --budget-tokens 15")
        .exits(5)
        .says("20 of 15 tokens are spent");
    assert_eq!(attempted(&story), [1, 2]);
    story.assert_no_worktree();
    let said = story.redgreen("resume --budget-tokens 1000");
    assert_eq!(attempted(&story), [1, 2, 3]);
    the_third_wins(&story, said, ["kata"; 3]);
}

#[test]
fn only_so_many_attempts_work_at_the_same_time() {
    // Fails if another attempt works at the same time.
    let alone = "mkdir \\\"$HOME/busy\\\" && sleep 0.2 && rmdir \\\"$HOME/busy\\\"";
    // Waits until all three attempts are working.
    let together = "touch \\\"$HOME/$REDGREEN_CANDIDATE.here\\\"; for i in $(seq 600); do \
                    [ $(ls \\\"$HOME\\\" | grep -c here) -ge 3 ] && exit 0; sleep 0.1; done; exit 1";
    for (jobs, command) in [(1, alone), (3, together)] {
        let action = |number| {
            let shell = format!("{{ shell = \"{command}\", must-succeed = true }}");
            attempt(number, &format!("{shell}, {}", write("roman.py", RIGHT)))
        };
        let story = story(&red(), &(1..=3).map(action).collect::<String>());
        let said = run(&story, &format!("--attempts 3 --jobs {jobs}")).exits(3);
        assert_eq!(
            said.stderr.matches("accepted, 1 of 1 withheld tests pass").count(),
            3,
            "{said:?}"
        );
        // The attempts wrote the same code, so the first one wins.
        assert_eq!(note(&story)["attempts"]["by"], "first");
    }
}

#[test]
fn an_attempt_that_fails_tests_of_another_attempt_loses() {
    let careful = "def to_roman(number):\n    if number < 1:\n        raise ValueError(number)\n    return 'I' * number\n";
    let own = "import pytest\n\nfrom roman import to_roman\n\n\ndef test_zero_is_no_numeral():\n    \
               with pytest.raises(ValueError):\n        to_roman(0)\n";
    let more = format!("{}, {}", write("roman.py", careful), write("tests/test_zero.py", own));
    let greens = attempt(1, &write("roman.py", RIGHT)) + &attempt(2, &more);
    let story = story(&plain_red(), &greens);
    run(&story, "--attempts 2")
        .exits(3)
        .says("attempt 2 of 2 (kata) is chosen by the tests of the other attempts");
    assert_eq!(code(&story), careful);
    let candidates = note(&story)["attempts"]["candidates"].clone();
    assert_eq!(
        candidates[0]["others"],
        serde_json::json!({ "passed": 0, "of": 1 }),
        "{candidates}"
    );
}

/// Attempt 2 hangs the first time. The run gets this signal after the two others end.
fn stopped_by(signal: Signal) -> (Story, Option<i32>) {
    let slow = "{ shell = \"echo half > half.py; test -e \\\"$HOME/seen\\\" || { touch \\\"$HOME/seen\\\"; sleep 600; }; rm half.py\" }";
    let turns = three().replace(
        "candidate = 2\ntokens = 10\ndo = [",
        &format!("candidate = 2\ntokens = 10\ndo = [{slow}, "),
    );
    let story = story(&red(), &turns).quick();
    let mut child = story
        .prepare("run --script @kata.toml --attempts 3 --jobs 2 \"roman numerals\"")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !(story.place("home/seen").exists() && ended(&story) >= 2) {
        assert!(begun.elapsed() < SOON, "the attempts do not end");
        thread::sleep(Duration::from_millis(50));
    }
    kill_process(Pid::from_child(&child), signal).unwrap();
    let code = child.wait().unwrap().code();
    (story, code)
}

#[test]
fn stopped_while_attempts_work_a_run_makes_only_the_missing_ones_again() {
    let undisturbed = story(&red(), &three()).quick();
    run(&undisturbed, "--attempts 3 --jobs 2").exits(3);
    let log = |story: &Story| story.log(&format!("main..{}", story.branch()));
    for signal in [Signal::KILL, Signal::INT] {
        let (story, code) = stopped_by(signal);
        let before = story.belongings();
        if signal == Signal::KILL {
            let left = story.worktrees();
            assert!(left.iter().any(|name| name.ends_with("-attempt-2")), "{left:?}");
        } else {
            assert_eq!(code, Some(130));
            story.assert_no_worktree();
        }
        let ended_before = attempted(&story);
        story.redgreen("clean --yes").exits(0);
        story.redgreen("resume").exits(3);
        let all = attempted(&story);
        assert_eq!((all.len(), all.get(..2)), (3, Some(&ended_before[..])), "{all:?}");
        assert_eq!(self::code(&story), self::code(&undisturbed));
        assert_eq!(log(&story), log(&undisturbed));
        assert_eq!(note(&story)["attempts"]["why"], note(&undisturbed)["attempts"]["why"]);
        assert_eq!(note(&story)["spent"]["tokens"], 30);
        story.assert_no_worktree();
        assert_eq!(story.belongings(), before);
        let kept = story.salvages();
        assert!(kept.iter().any(|name| name.ends_with("-interrupted")), "{kept:?}");
        story.redgreen("approve").exits(0);
    }
}

/// The number of attempts in the journal, which the run may still be writing.
fn ended(story: &Story) -> usize {
    let runs = fs::read_dir(story.root.join(".git/redgreen/runs")).into_iter().flatten().flatten();
    let text =
        runs.map(|run| fs::read_to_string(run.path().join("journal.jsonl")).unwrap_or_default());
    text.map(|text| text.matches("\"event\":\"attempted\"").count()).sum()
}

/// Tests one kill point out of this many, unless `is_all()`.
const STRIDE: usize = 3;

#[test]
fn killed_at_any_effect_the_same_attempt_wins() {
    let options = "run --script @kata.toml --attempts 3 --jobs 1 \"roman numerals\"";
    let undisturbed = story(&red(), &three()).quick();
    undisturbed.redgreen(options).exits(3);
    let lines = journal(&undisturbed);
    let intents: Vec<&str> = lines.iter().filter_map(|line| line["intent"].as_str()).collect();
    let from = intents.iter().position(|intent| *intent == "attempt").unwrap();
    let takes = intents.iter().rposition(|intent| *intent == "take").unwrap();
    let points = (from + 1..=takes + 2).flat_map(|effect| [(effect, "before"), (effect, "after")]);
    for (effect, moment) in points.step_by(if super::crash::is_all() { 1 } else { STRIDE }) {
        let story = story(&red(), &three()).quick();
        let point = format!("{moment}:{effect}");
        assert_eq!(kill_at(&story, options, &point).signal, Some(SIGKILL), "{point}");
        story.redgreen("resume").exits(3);
        assert_eq!(story.work(), undisturbed.work(), "{point} {:?}", intents.get(effect - 1));
        assert_eq!(story.salvages(), undisturbed.salvages(), "{point}");
        story.assert_no_worktree();
    }
}

#[test]
fn a_setting_is_checked_before_anything_is_made() {
    let story = story(&red(), &three());
    story.file("redgreen.toml", "[agent]\non-save = true\n");
    for (options, words) in [
        ("--attempts 9", "1..=8"),
        ("--attempts 0", "1..=8"),
        ("--jobs 0 --attempts 2", "1..=32"),
        ("--attempts 2 --agents human,scripted", "cannot be made side by side by a human"),
        ("--attempts 2 --agents scripted,scripted,scripted", "3 agents are named for 2 attempts"),
        ("--agents nobody,scripted", "unknown agent \"nobody\""),
    ] {
        run(&story, options).exits(2).says(words);
    }
    story.file("redgreen.toml", "[attempts]\nnumber = 9\n");
    run(&story, "").exits(2).says("attempts.number in redgreen.toml is 9; it must be 1 to 8");
    story.file("redgreen.toml", "[attempts]\nphases = [\"plan\"]\n");
    run(&story, "").exits(2).says("plan");
    assert!(!story.root.join(".git/redgreen/latest").exists());
}

#[test]
fn the_settings_name_the_number_the_phases_and_the_agents() {
    let reds: String = (1..)
        .zip(["def test_small_numbers():\n    assert True\n", TEST])
        .map(|(number, test)| {
            let write = write("tests/test_roman.py", test);
            format!("\n[[red]]\ncandidate = {number}\ndo = [{write}]\n")
        })
        .collect();
    let story = story(&reds, &codes(&[&format!("{TABLE}\n\n# more\n"), RIGHT]));
    let settings =
        "backoff = 0.0\n[attempts]\nnumber = 2\nphases = [\"red\", \"green\"]\njobs = 1\n";
    story.file("redgreen.toml", settings).commit("settings");
    let said = run(&story, "").exits(3);
    let red = said.stderr.lines().find(|line| line.contains("RED") && line.contains("attempt 1"));
    assert!(red.is_some_and(|line| line.contains("refused")), "{}", said.stderr);
    let chosen: Vec<u64> = journal(&story)
        .iter()
        .filter(|line| line["event"] == "chosen")
        .map(|line| line["choice"]["number"].as_u64().unwrap())
        .collect();
    assert_eq!(chosen.len(), 2, "{}", said.stderr);
    assert_eq!(chosen[0], 2, "{}", said.stderr);
    let off = story.redgreen("resume --attempts 1");
    assert_ne!(off.code, Some(2), "{off:?}");
}
