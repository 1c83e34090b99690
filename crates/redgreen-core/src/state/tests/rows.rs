//! Stories in a short notation: the actions of agents, the verdicts, and the resulting steps.
//!
//! Only choices need a word; a pause, a restore, a commit and a note happen by themselves. A step
//! in the trace can have details: `restore=tree3`, `leave=gave-up`. Words before `|` are not part
//! of the trace.

use super::*;
use crate::policy::Budget;
use crate::steps::Steps;

/// Words for PLAN and RED, and up to REFACTOR.
pub(super) const TO_GREEN: &str = "usable edits ok edits ok";
const TO_REFACTOR: &str = "usable edits ok edits ok edits ok";

pub(super) struct Story {
    pub(super) state: State,
    trees: u32,
    commits: u32,
    trace: Vec<String>,
    steps: Vec<Step>,
    /// The same story as `redgreen ui` follows it, without the state.
    told: Steps,
    /// The next attempt as reported to the user after the last word.
    next_try: Option<(u32, u32, u64)>,
}

impl Story {
    pub(super) fn of(policy: Policy, linters: &[&str], words: &str) -> Self {
        let started = Event::Started { run: Box::new(run(policy, linters)) };
        let state = State::begin(&started).unwrap();
        let mut told = Steps::default();
        told.hear(AT * 1000, &started);
        let mut story = Self {
            state,
            trees: 0,
            commits: 0,
            trace: Vec::new(),
            steps: Vec::new(),
            told,
            next_try: None,
        };
        story.performs_forced_steps();
        for word in words.split_whitespace() {
            story.hears(word);
        }
        story
    }

    /// Performs steps without a choice.
    fn performs_forced_steps(&mut self) {
        while let Some(event) = self.sole_ending() {
            self.performs(&event);
        }
    }

    fn performs(&mut self, event: &Event) {
        let step = step::next(&self.state);
        // User messages arrive between steps.
        let is_step = !matches!(
            event,
            Event::UserSaid { .. } | Event::PauseAsked { .. } | Event::PlanEdited { .. }
        );
        if step != Step::Stop && is_step {
            self.trace.push(told_briefly(&step));
        }
        self.steps.push(step);
        self.state = self.state.clone().apply(event, AT).unwrap();
        self.told.hear(AT * 1000, event);
        if matches!(event, Event::Left { .. }) {
            self.agrees();
        }
    }

    /// `redgreen ui` must show the same as the state.
    fn agrees(&self) {
        let (told, state) = (&self.told, &self.state);
        let progress = &state.progress;
        assert_eq!((told.cycle, told.cycles()), (progress.cycle, state.cycles()));
        assert_eq!(told.head.as_ref(), Some(&progress.head.commit));
        assert_eq!((&told.left, told.is_over), (&state.left, state.is_over()));
        assert_eq!(
            told.current.as_deref(),
            progress.current.as_ref().map(|test| test.description.as_str())
        );
        let withheld = progress.withheld.as_ref().map_or(0, |withheld| withheld.tests);
        assert_eq!(
            (told.written, told.joined, told.withheld),
            (progress.written, progress.joined, withheld)
        );
        assert_eq!(
            (told.spent.tokens, told.spent.work_ms),
            (state.spent.tokens, state.spent.work_ms)
        );
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
            | Step::Attempt { .. }
            | Step::Compare { .. }
            | Step::Choose { .. }
            | Step::Take { .. }
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
        self.performs_forced_steps();
    }

    fn event(&mut self, word: &str) -> Event {
        let phase = self.state.phase();
        let holds = self.state.expected_tree().to_owned();
        let (word, number) = word.split_once('=').unwrap_or((word, ""));
        let mut best = TestProgress { kept: PASSED, reached: 0 };
        if let Situation::Working { attempt: Attempt { best: Some(known), .. }, .. } =
            &self.state.situation
        {
            best = known.standing;
        }
        let turn = |turn: Turn, tree: &str| turned(self.role(), turn, tree);
        let ruled = |code: Code, standing: Option<TestProgress>| {
            judged(phase, refused(code, standing), None)
        };
        match word {
            "usable" => measured(true),
            "unusable-suite" => measured(false),
            "edits" => {
                self.trees += 1;
                turned(self.role(), done("an answer"), &format!("tree{}", self.trees))
            }
            "brings" => turn(done("an answer"), &format!("tree{number}")),
            "idles" => turn(done("an answer"), &holds),
            "limited" => {
                turn(failed(Failure::RateLimit { retry_after_ms: number.parse().ok() }), &holds)
            }
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
            // Most of it loads and passes; one file does not.
            "nearly" => ruled(Code::GreenDoesNotCompile, standing(best.kept, best.reached + 1)),
            "tampers" => ruled(Code::GreenTestsChanged, None),
            "doubts" => judged(phase, Verdict::undecided(Reason::plain(Code::RunnerBroken)), None),
            "contests" => {
                judged(phase, Verdict::undecided(Reason::plain(Code::GreenContested)), None)
            }
            "clean" => Event::Linted { findings: vec![], criteria: vec![], took_ms: 0 },
            "lint" => Event::Linted {
                findings: vec!["ruff: E501".to_owned()],
                criteria: vec![],
                took_ms: 0,
            },
            "interrupt" => Event::Left { outcome: Outcome::Interrupted },
            "resume" => Event::Resumed { policy: None },
            "raise" => {
                let policy = Policy {
                    budget: Budget::default(),
                    cycles_max: 9,
                    ..self.state.run.policy.clone()
                };
                Event::Resumed { policy: Some(Box::new(policy)) }
            }
            "approve" => Event::Decided { decision: Choice::Approve, manner: RunMode::default() },
            "abort" => Event::Decided { decision: Choice::Abort, manner: RunMode::default() },
            "back" => {
                Event::RolledBack { to: Oid::named(&format!("commit{number}")), salvage: None }
            }
            "reject" => {
                let to = self.state.before_test().unwrap().progress.head.commit.clone();
                Event::TestRejected {
                    to,
                    message: "test the sum, not the sign".to_owned(),
                    salvage: None,
                }
            }
            "edit" => {
                self.trees += 1;
                let to = self
                    .state
                    .before(self.state.editable().unwrap())
                    .unwrap()
                    .progress
                    .head
                    .commit
                    .clone();
                Event::WorkEdited {
                    to,
                    tree: Oid::named(&format!("tree{}", self.trees)),
                    salvage: None,
                }
            }
            "pause" => Event::PauseAsked { id: format!("pause{number}") },
            "say" => Event::UserSaid { id: number.to_owned(), message: format!("words {number}") },
            "plan" => {
                let pending =
                    number.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect();
                self.trees += 1;
                let id = format!("plan{}", self.trees);
                Event::PlanEdited { id, text: format!("plan {number}"), pending }
            }
            "merged" => Event::Merged { commit: Oid::named("merge") },
            "undone" => {
                Event::Undone { commit: Oid::named("merge"), to: Oid::named("base"), salvage: None }
            }
            "blocked" => Event::MergeBlocked { trouble: trouble("a conflict") },
            unknown => panic!("unknown word: {unknown}"),
        }
    }

    fn role(&self) -> Role {
        let Step::Ask { assignment, .. } = step::next(&self.state) else {
            panic!("no agent is asked: {}", self.told())
        };
        assignment.role
    }

    /// The trace, and the next step.
    fn told(&self) -> String {
        let mut trace = self.trace.clone();
        trace.push(told_briefly(&step::next(&self.state)));
        trace.join(" ")
    }

    fn recorded(&self, name: &str) -> &str {
        let text = self.steps.iter().rev().find_map(|step| {
            if let Step::Record { file, text } = step {
                (file == name).then_some(text.as_str())
            } else {
                None
            }
        });
        text.unwrap_or_else(|| panic!("{name} was not written"))
    }

    pub(super) fn last_note(&self) -> (&str, &Handoff) {
        let note = self.steps.iter().rev().find_map(|step| {
            if let Step::Note { commit, handoff } = step {
                Some((commit.as_str(), handoff.as_ref()))
            } else {
                None
            }
        });
        note.expect("there is a note")
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
        | Step::Attempt { .. }
        | Step::Compare { .. }
        | Step::Choose { .. }
        | Step::Take { .. }
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

pub(super) fn check(words: &str, told: &str) -> Story {
    check_with(Policy::default(), &[], words, told)
}

pub(super) fn check_with(policy: Policy, linters: &[&str], words: &str, told: &str) -> Story {
    let story = Story::of(policy, linters, words);
    assert_eq!(story.told(), told, "{words}");
    story
}

#[test]
fn after_a_failed_attempt_the_next_one_and_the_limit_are_reported() {
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
    // After an undone merge, the human decides again.
    check(
        "usable idles finished | approve merged undone approve merged",
        "merge leave=merged leave=waiting merge leave=merged stop",
    );
}

fn subject(step: &Step) -> Option<&str> {
    if let Step::Commit { message, .. } = step { message.lines().next() } else { None }
}

#[test]
fn covers_the_recovery_table() {
    let plan = "usable edits ok |";
    for (words, told) in [
        // The test does not compile, or passes immediately: ask the test agent again, with its
        // edits.
        (format!("{plan} edits syntax"), "ask=test judge=RED pause=1000 ask=test"),
        (
            format!("{plan} edits passes edits passes"),
            "ask=test judge=RED pause=1000 ask=test judge=RED pause=2000 ask=test",
        ),
        // It broke other tests: back to the plan's commit.
        (format!("{plan} edits harms"), "ask=test judge=RED restore=tree1 pause=1000 ask=test"),
        // The planner gave no answer. Its edits stay unless it wrote code.
        ("usable | edits silent".to_owned(), "ask=test-list judge=PLAN pause=1000 ask=test-list"),
        (
            "usable | edits codes".to_owned(),
            "ask=test-list judge=PLAN restore=tree0 pause=1000 ask=test-list",
        ),
        // The implementation broke other tests: back to the best state, another approach.
        (
            format!("{TO_GREEN} | edits breaks idles"),
            "ask=implementing judge=GREEN restore=tree2 ask=diagnosis record ask=implementing",
        ),
        // The refactoring broke something: back to the green commit.
        (
            format!("{TO_REFACTOR} | edits breaks"),
            "ask=refactor judge=REFACTOR restore=tree3 pause=1000 ask=refactor",
        ),
        // A rate limit, a slow network, a crash of the agent.
        (format!("{plan} limited=30000"), "ask=test pause=30000 ask=test"),
        (format!("{plan} limited"), "ask=test pause=1000 ask=test"),
        (format!("{plan} slow slow"), "ask=test pause=1000 ask=test pause=2000 ask=test"),
        (format!("{plan} crashes"), "ask=test restore=tree1 pause=1000 ask=test"),
        // A retry cannot help.
        (format!("{plan} unusable resume"), "ask=test leave=agent-unusable prepare ask=test"),
        (format!("{plan} broke resume"), "ask=test leave=budget-spent prepare ask=test"),
        ("unusable-suite | resume usable".to_owned(), "prepare measure ask=test-list"),
    ] {
        check(&words, told);
    }
}

#[test]
fn a_slow_turn_gets_more_time_and_the_reason() {
    let story = check(
        "usable | slow slow",
        "ask=test-list pause=1000 ask=test-list pause=2000 ask=test-list",
    );
    let Step::Ask { assignment, time_ms } = step::next(&story.state) else {
        panic!("no agent is asked")
    };
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
            "ask=implementing judge=GREEN ask=diagnosis restore=tree3 record ask=implementing"
                .to_owned(),
        ),
        (
            "edits gains crashes",
            "ask=implementing judge=GREEN ask=diagnosis restore=tree3 record ask=implementing"
                .to_owned(),
        ),
    ] {
        check(&format!("{green} {words}"), &told);
    }
}

#[test]
fn the_failure_of_an_iteration_is_passed_on() {
    let story =
        check(&format!("{TO_GREEN} edits fails | idles"), "ask=diagnosis record ask=implementing");
    let text = story.recorded("cycle-1/green-fix-iteration-1.md");
    assert!(text.contains("iteration 1 of 4") && text.contains("green.still_failing"), "{text}");
    assert!(text.contains("an answer"), "{text}");
    let Step::Ask { assignment, .. } = step::next(&story.state) else {
        panic!("no agent is asked")
    };
    assert_eq!(assignment.diagnosis.as_deref(), Some("an answer"));
    assert_eq!(assignment.trouble.unwrap().kind, "green.still_failing");
}

#[test]
fn stops_an_agent_that_goes_in_circles() {
    let patient = Policy { iterations_max: 9, ..Policy::default() };
    let gave_up = "restore=tree2 record note leave=gave-up stop";
    for (words, said) in [
        ("edits fails idles edits fails idles | edits fails", "the same failures 3 times in a row"),
        (
            "edits gains idles brings=3 breaks idles | brings=3 tampers",
            "it returned the same code 2 times",
        ),
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
fn a_failed_green_is_rolled_back_and_reported() {
    let policy = Policy { iterations_max: 2, ..Policy::default() };
    let story = check_with(
        policy.clone(),
        &[],
        &format!("{TO_GREEN} edits gains idles | edits fails"),
        "ask=implementing judge=GREEN restore=tree2 record note leave=gave-up stop",
    );
    let text = story.recorded("cycle-1/green-phase-failure.md");
    assert!(
        text.contains("2 iterations are used up")
            && text.contains(&format!("redgreen resume {RUN}")),
        "{text}"
    );
    let (commit, note) = story.last_note();
    assert_eq!((commit, note.phase, note.next_phase), ("commit2", Phase::Red, Phase::Green));
    assert_eq!(note.error.as_deref(), Some("2 iterations are used up"));
    assert_eq!(
        (note.error_details.as_ref().unwrap().kind.as_str(), note.retry_count),
        ("green.still_failing", 2)
    );
    assert_eq!(story.state.expected_tree(), "tree2");
    // A retry starts fresh, with the reason of the failure; the note of the next phase is clean.
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
fn a_refactoring_is_optional() {
    let given_up = "refactor: given up, the green code stays";
    for (words, told, words_of_commit) in [
        (
            "idles ok",
            "ask=refactor judge=REFACTOR commit note ask=test-list",
            "refactor: no changes needed",
        ),
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
        assert_eq!(
            story.steps.iter().filter_map(subject).next_back(),
            Some(words_of_commit),
            "{words}"
        );
    }
    let story =
        Story::of(Policy::default(), &[], &format!("{TO_REFACTOR} edits breaks edits breaks"));
    assert_eq!(story.state.progress.head, mark("commit4", "tree3"));
}

#[test]
fn linters_run_after_green_and_refactor() {
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
