//! Stories in short: what the agents did and what was ruled on it, and the steps that followed.
//!
//! Only what is open needs a word; a pause, a restore, a commit and a note take care of themselves. A step in the trace
//! may say more: `restore=tree3`, `leave=gave-up`. What comes before `|` is not part of the trace.

use super::*;
use crate::policy::Budget;

/// Through PLAN and RED, or up to REFACTOR.
const TO_GREEN: &str = "usable edits ok edits ok";
const TO_REFACTOR: &str = "usable edits ok edits ok edits ok";

pub(super) struct Story {
    pub(super) state: State,
    trees: u32,
    commits: u32,
    trace: Vec<String>,
    steps: Vec<Step>,
    /// What a person is told of the next try after the last word.
    next_try: Option<(u32, u32, u64)>,
}

impl Story {
    pub(super) fn of(policy: Policy, linters: &[&str], words: &str) -> Self {
        let state = State::begin(&Event::Started { run: Box::new(run(policy, linters)) }).unwrap();
        let mut story = Self { state, trees: 0, commits: 0, trace: Vec::new(), steps: Vec::new(), next_try: None };
        story.goes_on();
        for word in words.split_whitespace() {
            story.hears(word);
        }
        story
    }

    /// Does what needs no word, up to the next choice.
    fn goes_on(&mut self) {
        while let Some(event) = self.sole_ending() {
            self.performs(&event);
        }
    }

    fn performs(&mut self, event: &Event) {
        let step = step::next(&self.state);
        // Words come between the steps.
        let is_step = !matches!(event, Event::UserSaid { .. } | Event::PlanEdited { .. });
        if step != Step::Stop && is_step {
            self.trace.push(told_briefly(&step));
        }
        self.steps.push(step);
        self.state = self.state.clone().apply(event, AT).unwrap();
    }

    fn sole_ending(&mut self) -> Option<Event> {
        match step::next(&self.state) {
            Step::Prepare { .. } => Some(prepared()),
            Step::Pause { .. } => Some(Event::Paused),
            Step::Restore { tree, .. } => Some(Event::Restored { tree, salvage: None }),
            Step::Record { file, .. } => Some(recorded(&file)),
            Step::Commit { tree, .. } => {
                self.commits += 1;
                Some(Event::Committed { mark: mark(&format!("commit{}", self.commits), &tree) })
            }
            Step::Note { commit, handoff } => Some(Event::Noted { commit, handoff }),
            Step::Discard => Some(Event::Discarded { salvage: None }),
            Step::Leave { outcome } => Some(Event::Left { outcome }),
            Step::Measure
            | Step::Ask { .. }
            | Step::Judge { .. }
            | Step::Lint
            | Step::Review { .. }
            | Step::Merge { .. }
            | Step::Stop => None,
        }
    }

    fn hears(&mut self, word: &str) {
        if word == "|" {
            self.trace.clear();
            return;
        }
        let event = self.event(word);
        self.performs(&event);
        self.next_try = self.state.next_try().map(|next| (next.number, next.of, next.pause_ms));
        self.goes_on();
    }

    fn event(&mut self, word: &str) -> Event {
        let phase = self.state.phase();
        let holds = self.state.expected_tree().to_owned();
        let (word, number) = word.split_once('=').unwrap_or((word, ""));
        let mut best = Standing { kept: PASSED, reached: 0 };
        if let Situation::Working { attempt: Attempt { best: Some(known), .. }, .. } = &self.state.situation {
            best = known.standing;
        }
        let turn = |turn: Turn, tree: &str| turned(self.role(), turn, tree);
        let ruled = |code: Code, standing: Option<Standing>| judged(phase, refused(code, standing), None);
        match word {
            "usable" => measured(true),
            "unusable-suite" => measured(false),
            "edits" => {
                self.trees += 1;
                turned(self.role(), done("an answer"), &format!("tree{}", self.trees))
            }
            "brings" => turn(done("an answer"), &format!("tree{number}")),
            "idles" => turn(done("an answer"), &holds),
            "limited" => turn(failed(Failure::RateLimit { retry_after_ms: number.parse().ok() }), &holds),
            "slow" => turn(failed(Failure::Timeout), &holds),
            "crashes" => turn(failed(Failure::Crash), "debris"),
            "unusable" => turn(failed(Failure::Unusable), &holds),
            "broke" => turn(failed(Failure::Budget), "half"),
            "ok" => accepted(phase),
            "finished" => finished(),
            "silent" => ruled(Code::PlanNoAnswer, None),
            "codes" => ruled(Code::PlanTouchesCode, None),
            "passes" => ruled(Code::RedPasses, standing(0, 0)),
            "syntax" => ruled(Code::RedSyntax, standing(0, 0)),
            "harms" => ruled(Code::RedOthersFail, None),
            "breaks" if phase == Phase::Refactor => ruled(Code::RefactorRegression, None),
            "breaks" => ruled(Code::GreenRegression, standing(best.kept - 1, best.reached + 1)),
            "fails" => ruled(Code::GreenStillFailing, Some(best)),
            "gains" => ruled(Code::GreenRegression, standing(best.kept, best.reached + 1)),
            "unbuilt" => ruled(Code::GreenDoesNotCompile, standing(0, 0)),
            // Most of it loads and passes, one file does not.
            "nearly" => ruled(Code::GreenDoesNotCompile, standing(best.kept, best.reached + 1)),
            "tampers" => ruled(Code::GreenTestsChanged, None),
            "doubts" => judged(phase, Verdict::undecided(Reason::plain(Code::RunnerBroken)), None),
            "contests" => judged(phase, Verdict::undecided(Reason::plain(Code::GreenContested)), None),
            "clean" => Event::Linted { findings: vec![], criteria: vec![], took_ms: 0 },
            "lint" => Event::Linted { findings: vec!["ruff: E501".to_owned()], criteria: vec![], took_ms: 0 },
            "interrupt" => Event::Left { outcome: Outcome::Interrupted },
            "resume" => Event::Resumed { policy: None },
            "raise" => {
                let policy = Policy { budget: Budget::default(), cycles_max: 9, ..self.state.run.policy.clone() };
                Event::Resumed { policy: Some(Box::new(policy)) }
            }
            "approve" => Event::Decided { decision: Choice::Approve, manner: Manner::default() },
            "abort" => Event::Decided { decision: Choice::Abort, manner: Manner::default() },
            "back" => Event::RolledBack { to: Oid::named(&format!("commit{number}")), salvage: None },
            "reject" => {
                let to = self.state.before_test().unwrap().progress.head.commit.clone();
                Event::TestRejected { to, message: "test the sum, not the sign".to_owned(), salvage: None }
            }
            "edit" => {
                self.trees += 1;
                let to = self.state.before(self.state.editable().unwrap()).unwrap().progress.head.commit.clone();
                Event::WorkEdited { to, tree: Oid::named(&format!("tree{}", self.trees)), salvage: None }
            }
            "say" => Event::UserSaid { id: number.to_owned(), message: format!("words {number}") },
            "plan" => {
                let pending = number.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect();
                self.trees += 1;
                let id = format!("plan{}", self.trees);
                Event::PlanEdited { id, text: format!("plan {number}"), pending }
            }
            "merged" => Event::Merged { commit: Oid::named("merge") },
            "undone" => Event::Undone { commit: Oid::named("merge"), to: Oid::named("base"), salvage: None },
            "blocked" => Event::MergeBlocked { trouble: trouble("a conflict") },
            unknown => panic!("no such word: {unknown}"),
        }
    }

    fn role(&self) -> Role {
        let Step::Ask { assignment, .. } = step::next(&self.state) else { panic!("nobody is asked: {}", self.told()) };
        assignment.role
    }

    /// What was done, and what is to be done next.
    fn told(&self) -> String {
        let mut trace = self.trace.clone();
        trace.push(told_briefly(&step::next(&self.state)));
        trace.join(" ")
    }

    fn recorded(&self, name: &str) -> &str {
        let text = self.steps.iter().rev().find_map(|step| {
            if let Step::Record { file, text } = step { (file == name).then_some(text.as_str()) } else { None }
        });
        text.unwrap_or_else(|| panic!("{name} was not written"))
    }

    pub(super) fn last_note(&self) -> (&str, &Handoff) {
        let note = self.steps.iter().rev().find_map(|step| {
            if let Step::Note { commit, handoff } = step { Some((commit.as_str(), handoff.as_ref())) } else { None }
        });
        note.expect("something was noted")
    }
}

fn told_briefly(step: &Step) -> String {
    match step {
        Step::Ask { assignment, .. } => format!("ask={}", assignment.role),
        Step::Judge { phase, .. } => format!("judge={phase}"),
        Step::Restore { tree, .. } => format!("restore={tree}"),
        Step::Pause { ms } => format!("pause={ms}"),
        Step::Leave { outcome } => format!("leave={}", outcome_name(outcome)),
        Step::Prepare { .. }
        | Step::Measure
        | Step::Lint
        | Step::Record { .. }
        | Step::Commit { .. }
        | Step::Note { .. }
        | Step::Review { .. }
        | Step::Merge { .. }
        | Step::Discard
        | Step::Stop => step.name().to_owned(),
    }
}

fn check(words: &str, told: &str) -> Story {
    check_with(Policy::default(), &[], words, told)
}

pub(super) fn check_with(policy: Policy, linters: &[&str], words: &str, told: &str) -> Story {
    let story = Story::of(policy, linters, words);
    assert_eq!(story.told(), told, "{words}");
    story
}

#[test]
fn after_a_try_that_came_to_nothing_the_next_one_is_told_with_its_limit() {
    for (words, next) in [
        ("usable", None),
        ("usable edits ok limited=5000", Some((2, 4, 5_000))),
        ("usable edits ok slow slow", Some((3, 4, 2_000))),
        ("usable edits ok crashes", Some((2, 4, 1_000))),
        ("usable edits ok edits passes", Some((2, 4, 1_000))),
        ("usable edits ok edits harms", Some((2, 4, 1_000))),
        ("usable edits ok crashes crashes crashes crashes", None),
        ("usable edits ok unusable", None),
        ("usable edits ok broke", None),
        ("usable edits ok edits doubts", None),
        ("usable edits ok edits", None),
        ("usable edits ok edits ok edits fails", Some((2, 4, 0))),
        ("usable edits ok edits ok edits fails idles slow", Some((2, 4, 1_000))),
        ("usable edits ok edits ok edits ok edits breaks", Some((2, 2, 1_000))),
        ("usable edits ok edits ok edits ok edits breaks edits breaks", None),
        ("usable edits ok edits ok edits ok crashes", Some((2, 4, 1_000))),
    ] {
        assert_eq!(Story::of(Policy::default(), &[], words).next_try, next, "{words}");
    }
}

#[test]
fn a_cycle_is_four_commits_and_the_end_is_a_merge() {
    check(
        "usable edits ok edits ok edits ok edits ok | idles finished approve merged",
        "ask=test-list judge=PLAN commit note leave=waiting merge leave=merged stop",
    );
    let story = check(
        "usable edits ok | edits ok edits ok edits ok",
        "ask=test judge=RED commit note ask=implementing judge=GREEN commit note \
         ask=refactor judge=REFACTOR commit note ask=test-list",
    );
    let subjects: Vec<&str> = story.steps.iter().filter_map(subject).collect();
    assert_eq!(subjects, ["plan: 1 is I", "test: 1 is I", "feat: 1 is I", "refactor: 1 is I"]);
    assert_eq!(story.state.progress.completed, ["1 is I"]);
    assert_eq!(story.state.progress.cycle, 2);
    check(
        "usable idles finished | approve blocked approve merged",
        "merge leave=merge-blocked merge leave=merged stop",
    );
    check("usable idles finished | abort", "discard leave=aborted stop");
    // A merge that is taken back leaves the human's turn.
    check(
        "usable idles finished | approve merged undone approve merged",
        "merge leave=merged leave=waiting merge leave=merged stop",
    );
}

fn subject(step: &Step) -> Option<&str> {
    if let Step::Commit { message, .. } = step { message.lines().next() } else { None }
}

#[test]
fn every_row_of_the_recovery_table() {
    let plan = "usable edits ok |";
    for (words, told) in [
        // The test does not compile, or passes at once: the test agent again, where it stands.
        (format!("{plan} edits syntax"), "ask=test judge=RED pause=1000 ask=test"),
        (
            format!("{plan} edits passes edits passes"),
            "ask=test judge=RED pause=1000 ask=test judge=RED pause=2000 ask=test",
        ),
        // It broke others: back to the plan's commit.
        (format!("{plan} edits harms"), "ask=test judge=RED restore=tree1 pause=1000 ask=test"),
        // The planner gave no answer; what it wrote stays, unless it wrote code.
        ("usable | edits silent".to_owned(), "ask=test-list judge=PLAN pause=1000 ask=test-list"),
        ("usable | edits codes".to_owned(), "ask=test-list judge=PLAN restore=tree0 pause=1000 ask=test-list"),
        // The implementation breaks others: back to the best state, another approach.
        (
            format!("{TO_GREEN} | edits breaks idles"),
            "ask=implementing judge=GREEN restore=tree2 ask=diagnosis record ask=implementing",
        ),
        // The refactoring breaks something: back to the green commit.
        (format!("{TO_REFACTOR} | edits breaks"), "ask=refactor judge=REFACTOR restore=tree3 pause=1000 ask=refactor"),
        // The service asks to wait; the network was slow; the agent died.
        (format!("{plan} limited=30000"), "ask=test pause=30000 ask=test"),
        (format!("{plan} limited"), "ask=test pause=1000 ask=test"),
        (format!("{plan} slow slow"), "ask=test pause=1000 ask=test pause=2000 ask=test"),
        (format!("{plan} crashes"), "ask=test restore=tree1 pause=1000 ask=test"),
        // Trying again cannot help.
        (format!("{plan} unusable resume"), "ask=test leave=agent-unusable prepare ask=test"),
        (format!("{plan} broke resume"), "ask=test leave=budget-spent prepare ask=test"),
        ("unusable-suite | resume usable".to_owned(), "prepare measure ask=test-list"),
    ] {
        check(&words, told);
    }
}

#[test]
fn a_slow_turn_is_given_more_time_and_the_trouble_is_told() {
    let story = check("usable | slow slow", "ask=test-list pause=1000 ask=test-list pause=2000 ask=test-list");
    let Step::Ask { assignment, time_ms } = step::next(&story.state) else { panic!("nobody is asked") };
    assert_eq!(time_ms, 3 * Policy::default().turn_timeout_ms);
    assert_eq!(assignment.trouble.unwrap().kind, "agent.timeout");
    assert_eq!((assignment.turn, assignment.attempt), (2, 3));
}

#[test]
fn green_keeps_the_best_state() {
    let green = format!("{TO_GREEN} |");
    let round = "ask=diagnosis record ask=implementing";
    for (words, told) in [
        ("edits gains idles", format!("ask=implementing judge=GREEN {round}")),
        ("edits fails idles", format!("ask=implementing judge=GREEN {round}")),
        ("edits breaks idles", format!("ask=implementing judge=GREEN restore=tree2 {round}")),
        ("edits tampers idles", format!("ask=implementing judge=GREEN restore=tree2 {round}")),
        ("edits unbuilt idles", format!("ask=implementing judge=GREEN {round}")),
        (
            "edits gains idles edits breaks idles",
            format!("ask=implementing judge=GREEN {round} judge=GREEN restore=tree3 {round}"),
        ),
        (
            "edits unbuilt idles edits breaks idles",
            format!("ask=implementing judge=GREEN {round} judge=GREEN restore=tree2 {round}"),
        ),
        (
            "edits nearly idles edits breaks idles",
            format!("ask=implementing judge=GREEN {round} judge=GREEN restore=tree3 {round}"),
        ),
        (
            "edits gains idles edits tampers idles",
            format!("ask=implementing judge=GREEN {round} judge=GREEN restore=tree3 {round}"),
        ),
        // A diagnosis edits nothing, and its own failure does not matter.
        (
            "edits gains brings=9",
            "ask=implementing judge=GREEN ask=diagnosis restore=tree3 record ask=implementing".to_owned(),
        ),
        (
            "edits gains crashes",
            "ask=implementing judge=GREEN ask=diagnosis restore=tree3 record ask=implementing".to_owned(),
        ),
    ] {
        check(&format!("{green} {words}"), &told);
    }
}

#[test]
fn what_went_wrong_in_an_iteration_is_kept_and_told() {
    let story = check(&format!("{TO_GREEN} edits fails | idles"), "ask=diagnosis record ask=implementing");
    let text = story.recorded("cycle-1/green-fix-iteration-1.md");
    assert!(text.contains("iteration 1 of 4") && text.contains("green.still_failing"), "{text}");
    assert!(text.contains("an answer"), "{text}");
    let Step::Ask { assignment, .. } = step::next(&story.state) else { panic!("nobody is asked") };
    assert_eq!(assignment.diagnosis.as_deref(), Some("an answer"));
    assert_eq!(assignment.trouble.unwrap().kind, "green.still_failing");
}

#[test]
fn an_agent_that_goes_in_circles_is_stopped() {
    let patient = Policy { iterations_max: 9, ..Policy::default() };
    let gave_up = "restore=tree2 record note leave=gave-up stop";
    for (words, said) in [
        ("edits fails idles edits fails idles | edits fails", "the same failures 3 times in a row"),
        ("edits gains idles brings=3 breaks idles | brings=3 tampers", "it came back with the same code 2 times"),
    ] {
        let told = format!("ask=implementing judge=GREEN {gave_up}");
        let story = check_with(patient.clone(), &[], &format!("{TO_GREEN} {words}"), &told);
        let text = story.recorded("cycle-1/green-phase-failure.md");
        assert!(text.contains(said), "{text}");
    }
    check_with(
        patient,
        &[],
        &format!("{TO_GREEN} edits fails idles edits gains idles edits fails idles | edits breaks"),
        "ask=implementing judge=GREEN restore=tree5 ask=diagnosis",
    );
}

#[test]
fn a_green_that_does_not_come_off_is_taken_back_and_told() {
    let policy = Policy { iterations_max: 2, ..Policy::default() };
    let story = check_with(
        policy.clone(),
        &[],
        &format!("{TO_GREEN} edits gains idles | edits fails"),
        "ask=implementing judge=GREEN restore=tree2 record note leave=gave-up stop",
    );
    let text = story.recorded("cycle-1/green-phase-failure.md");
    assert!(text.contains("2 iterations are used up") && text.contains(&format!("redgreen resume {RUN}")), "{text}");
    let (commit, note) = story.last_note();
    assert_eq!((commit, note.phase, note.next_phase), ("commit2", Phase::Red, Phase::Green));
    assert_eq!(note.error.as_deref(), Some("2 iterations are used up"));
    assert_eq!((note.error_details.as_ref().unwrap().kind.as_str(), note.retry_count), ("green.still_failing", 2));
    assert_eq!(story.state.expected_tree(), "tree2");
    // Trying again starts afresh, told what went wrong; the note of the next phase is clean.
    let story = check_with(
        policy,
        &[],
        &format!("{TO_GREEN} edits gains idles edits fails | resume edits ok"),
        "prepare ask=implementing judge=GREEN commit note ask=refactor",
    );
    assert_eq!(story.last_note().1.error, None);
}

#[test]
fn the_commit_the_run_started_from_is_never_noted() {
    let story = check_with(
        Policy::with_retries(0),
        &[],
        "usable | edits silent",
        "ask=test-list judge=PLAN restore=tree0 record leave=gave-up stop",
    );
    assert!(story.recorded("cycle-1/plan-phase-failure.md").contains("plan.no_answer"));
}

#[test]
fn a_refactoring_is_an_extra() {
    let given_up = "refactor: given up, the green code stays";
    for (words, told, words_of_commit) in [
        ("idles ok", "ask=refactor judge=REFACTOR commit note ask=test-list", "refactor: no changes needed"),
        ("edits ok", "ask=refactor judge=REFACTOR commit note ask=test-list", "refactor: 1 is I"),
        (
            "edits breaks edits breaks",
            "ask=refactor judge=REFACTOR restore=tree3 pause=1000 ask=refactor judge=REFACTOR restore=tree3 commit note \
             ask=test-list",
            given_up,
        ),
        (
            "crashes crashes crashes crashes",
            "ask=refactor restore=tree3 pause=1000 ask=refactor restore=tree3 pause=2000 ask=refactor restore=tree3 \
             pause=4000 ask=refactor restore=tree3 commit note ask=test-list",
            given_up,
        ),
    ] {
        let story = check(&format!("{TO_REFACTOR} | {words}"), told);
        assert_eq!(story.steps.iter().filter_map(subject).next_back(), Some(words_of_commit), "{words}");
    }
    let story = Story::of(Policy::default(), &[], &format!("{TO_REFACTOR} edits breaks edits breaks"));
    assert_eq!(story.state.progress.head, mark("commit4", "tree3"));
}

#[test]
fn linters_have_a_say_after_green_and_refactor() {
    let ruff = &["ruff"];
    for (words, told) in [
        ("edits ok clean", "ask=implementing judge=GREEN lint commit note ask=refactor"),
        ("edits ok lint", "ask=implementing judge=GREEN lint ask=diagnosis"),
        (
            "edits ok clean idles ok",
            "ask=implementing judge=GREEN lint commit note ask=refactor judge=REFACTOR commit note ask=test-list",
        ),
        (
            "edits ok clean edits ok lint",
            "ask=implementing judge=GREEN lint commit note ask=refactor judge=REFACTOR lint restore=tree3 pause=1000 ask=refactor",
        ),
    ] {
        check_with(Policy::default(), ruff, &format!("{TO_GREEN} | {words}"), told);
    }
}

#[test]
fn limits_leave_the_run_resumable() {
    let poor = Policy { budget: Budget { tokens: Some(2), ..Budget::default() }, ..Policy::default() };
    let spent = "leave=budget-spent";
    for (words, told) in [
        ("usable edits ok edits | ok", format!("judge=RED commit note {spent} stop")),
        ("usable edits ok edits ok | resume", format!("prepare {spent} stop")),
        (
            "usable edits ok edits ok | raise edits ok",
            "prepare ask=implementing judge=GREEN commit note ask=refactor".to_owned(),
        ),
    ] {
        check_with(poor.clone(), &[], words, &told);
    }
    let brief = Policy { cycles_max: 1, ..Policy::default() };
    let cycle = "usable edits ok edits ok edits ok edits ok |";
    check_with(
        brief.clone(),
        &[],
        &format!("{cycle} idles finished"),
        "ask=test-list judge=PLAN commit note leave=waiting stop",
    );
    check_with(
        brief,
        &[],
        &format!("{cycle} edits ok raise"),
        "ask=test-list judge=PLAN commit note leave=budget-spent prepare ask=test",
    );
}

#[test]
fn doubt_is_for_a_human_and_is_looked_at_again() {
    check(&format!("{TO_GREEN} | edits doubts"), "ask=implementing judge=GREEN leave=undecided stop");
    let story = check(&format!("{TO_GREEN} edits doubts | resume ok"), "prepare judge=GREEN commit note ask=refactor");
    assert_eq!(story.state.progress.head.tree, "tree3", "what was judged is what the agent had left");
    check("usable edits doubts | resume doubts abort", "prepare judge=PLAN leave=undecided discard leave=aborted stop");
}

#[test]
fn a_contested_test_is_for_a_human_who_has_it_stand_written_anew_or_ends_the_run() {
    let contested = format!("{TO_GREEN} edits contests |");
    for (words, told) in [
        (format!("{TO_GREEN} | edits contests"), "ask=implementing judge=GREEN leave=undecided stop"),
        // It stands: the code is tried again, where it was.
        (format!("{contested} resume edits ok"), "prepare ask=implementing judge=GREEN commit note ask=refactor"),
        (format!("{contested} resume idles contests"), "prepare ask=implementing judge=GREEN leave=undecided stop"),
        // It is written anew: back to the plan.
        (format!("{contested} back=1 edits ok"), "prepare ask=test judge=RED commit note ask=implementing"),
        (format!("{contested} abort"), "discard leave=aborted stop"),
    ] {
        check(&words, told);
    }
    let story = Story::of(Policy::default(), &[], &format!("{contested} resume"));
    assert_eq!(story.state.expected_tree(), "tree3", "no work is lost");
    assert_eq!(story.state.progress.handoff.as_ref().map(|handoff| handoff.phase), Some(Phase::Red));
    let Step::Ask { assignment, .. } = step::next(&story.state) else { panic!("nobody is asked") };
    let told = assignment.trouble.unwrap().message;
    assert!(told.starts_with("a human has looked, and the test stands"), "{told}");
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    check(
        &format!("{TO_GREEN} edits | interrupt resume ok"),
        "judge=GREEN prepare judge=GREEN commit note ask=refactor",
    );
    check(&format!("{TO_GREEN} | interrupt resume edits"), "ask=implementing prepare ask=implementing judge=GREEN");
}

#[test]
fn a_run_can_be_taken_back_to_every_commit() {
    let whole = "usable edits ok edits ok edits ok edits ok";
    for (commit, tree, next) in [
        (1, "tree1", "prepare ask=test"),
        (2, "tree2", "prepare ask=implementing"),
        (3, "tree3", "prepare ask=refactor"),
        (4, "tree4", "prepare ask=test-list"),
    ] {
        let story = check(&format!("{whole} interrupt | back={commit}"), next);
        assert_eq!(story.state.expected_tree(), tree);
        assert_eq!(story.state.trail.len(), commit);
        assert_eq!(story.state.progress.targets.is_empty(), !(2..4).contains(&commit));
    }
    let story = Story::of(Policy::default(), &[], &format!("{whole} interrupt back=2"));
    let gone = Event::RolledBack { to: Oid::named("commit3"), salvage: None };
    assert!(story.state.apply(&gone, AT).is_err(), "what was taken back is gone");
}
