//! The next step, as a function of the state. The engine performs the step and records the result.

use crate::agent::{Assignment, AttemptFailure, Strategy};
use crate::attempts::{self, Choice};
use crate::brief::{Kind, headline};
use crate::event::{Commits, Event, Mark, Outcome, RunMode};
use crate::handoff::{Handoff, Ruling, RunFacts, TestResult, VERSION};
use crate::names::Oid;
use crate::phase::{Phase, Role};
use crate::policy::RunCost;
use crate::state::review::{Review, Reviewing};
use crate::state::{Acceptance, Attempt, Ending, Reverting, Situation, Stage, State};
use crate::text;
use crate::verdict::Code;

const EDITED: &str = "the user edited the list: keep their items, words and order, add only what is missing, and do \
                      not bring back what they removed";

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make sure that the worktree is at the accepted commit and contains exactly this tree.
    Prepare {
        tree: Oid,
    },
    /// Run the tests and the linters before any change.
    Measure,
    Pause {
        ms: u64,
    },
    Ask {
        assignment: Box<Assignment>,
        time_ms: u64,
    },
    /// Make these attempts at the phase, each in a worktree of its own; `Attempted` is recorded as
    /// each one ends.
    Attempt {
        assignment: Box<Assignment>,
        time_ms: u64,
        numbers: Vec<u32>,
        jobs: Option<u32>,
    },
    /// Run the tests of these attempts with the code of the others.
    Compare {
        numbers: Vec<u32>,
        timeout_ms: u64,
    },
    Choose {
        choice: Choice,
    },
    /// Take over a part of the chosen attempt: its files with the turn, then its verdict.
    Take {
        event: Box<Event>,
    },
    /// Run the tests on the contents of the worktree, and judge.
    Judge {
        phase: Phase,
        answer: String,
        timeout_ms: u64,
    },
    Lint,
    /// Reset the worktree to this tree, after its contents are salvaged.
    Restore {
        tree: Oid,
        why: &'static str,
    },
    /// Write an artifact of the run.
    Record {
        file: String,
        text: String,
    },
    Commit {
        tree: Oid,
        message: String,
        at: i64,
    },
    Note {
        commit: Oid,
        handoff: Box<Handoff>,
    },
    /// Judge a commit that a person added to the run's branch, on top of the last accepted one.
    Review {
        commit: Mark,
    },
    Merge {
        message: String,
        manner: RunMode,
    },
    Discard,
    /// Remove the worktree and stop.
    Leave {
        outcome: Outcome,
    },
    /// No process works on this run.
    Stop,
}

/// Returns the next step.
pub fn next(state: &State) -> Step {
    if state.left.is_some() {
        return Step::Stop;
    }
    if state.needs_worktree() {
        return Step::Prepare { tree: state.expected_tree().to_owned() };
    }
    match &state.situation {
        Situation::Unmeasurable { trouble, .. } => {
            leave(Outcome::BaselineUnusable { trouble: trouble.clone() })
        }
        Situation::Halted { phase, trouble, .. } => leave(halted(state, *phase, trouble)),
        Situation::Paused { after, .. } => leave(Outcome::Paused { after: *after, trouble: None }),
        Situation::Waiting { trouble: None } => leave(Outcome::Waiting),
        Situation::Waiting { trouble: Some(trouble) } => {
            leave(Outcome::MergeBlocked { trouble: trouble.clone() })
        }
        Situation::Ended(Ending::Merged { .. }) => leave(Outcome::Merged),
        Situation::Ended(Ending::Aborted) => leave(Outcome::Aborted),
        Situation::Reviewing(review) => review_step(review),
        Situation::Merging { manner } => {
            Step::Merge { message: merge_message(state, manner.commits), manner: *manner }
        }
        Situation::Discarding => Step::Discard,
        Situation::Measuring { .. } => Step::Measure,
        Situation::Working { phase, attempt, stage } => work(state, *phase, attempt, stage),
        Situation::Reverting { phase, attempt, trouble, stage } => match stage {
            Reverting::Restoring => {
                Step::Restore { tree: state.progress.head.tree.clone(), why: "gave-up" }
            }
            Reverting::Recording => Step::Record {
                file: artifact(
                    state,
                    &format!("{}-phase-failure.md", phase.as_str().to_lowercase()),
                ),
                text: failure_text(state, *phase, attempt, &trouble.message),
            },
            Reverting::Noting => {
                let mut handoff = state
                    .progress
                    .handoff
                    .clone()
                    .unwrap_or_else(|| handoff(state, *phase, attempt, None));
                handoff.error = Some(trouble.message.lines().next().unwrap_or_default().to_owned());
                handoff.error_details = Some(trouble.clone());
                handoff.retry_count = attempt.retries.max(attempt.iteration);
                Step::Note {
                    commit: state.progress.head.commit.clone(),
                    handoff: Box::new(handoff),
                }
            }
        },
    }
}

impl Step {
    /// The name of its intent in the journal.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Prepare { .. } => "prepare",
            Step::Measure => "measure",
            Step::Pause { .. } => "pause",
            Step::Ask { .. } => "ask",
            Step::Attempt { .. } => "attempt",
            Step::Compare { .. } => "compare",
            Step::Choose { .. } => "choose",
            Step::Take { .. } => "take",
            Step::Judge { .. } => "judge",
            Step::Lint => "lint",
            Step::Restore { .. } => "restore",
            Step::Record { .. } => "record",
            Step::Commit { .. } => "commit",
            Step::Note { .. } => "note",
            Step::Review { .. } => "review",
            Step::Merge { .. } => "merge",
            Step::Discard => "discard",
            Step::Leave { .. } => "leave",
            Step::Stop => "stop",
        }
    }
}

fn work(state: &State, phase: Phase, attempt: &Attempt, stage: &Stage) -> Step {
    if let Some(event) = attempt.taken.first() {
        return Step::Take { event: Box::new(event.clone()) };
    }
    match stage {
        Stage::Pausing { ms } => Step::Pause { ms: *ms },
        Stage::Asking if state.tries_several(phase, attempt) => several(state, phase, attempt),
        Stage::Asking => ask(state, phase, attempt, attempt.role(phase)),
        Stage::Diagnosing => ask(state, phase, attempt, Role::Diagnosis),
        Stage::Spent { what } => leave(Outcome::BudgetSpent { what: what.clone() }),
        Stage::EditRefused { trouble } => {
            leave(Outcome::Paused { after: phase, trouble: Some(trouble.clone()) })
        }
        Stage::Unable { trouble } => leave(Outcome::AgentUnusable { trouble: trouble.clone() }),
        Stage::Contested { trouble } | Stage::Doubting { trouble, .. } => {
            leave(Outcome::Undecided { phase, trouble: trouble.clone() })
        }
        Stage::Judging { answer } => {
            let policy = &state.run.policy;
            Step::Judge {
                phase,
                answer: answer.clone(),
                timeout_ms: policy.suite_timeout_ms(phase),
            }
        }
        Stage::Linting { .. } => Step::Lint,
        Stage::Restoring { tree, .. } => Step::Restore { tree: tree.clone(), why: "rolled-back" },
        Stage::Recording => Step::Record {
            file: artifact(state, &format!("green-fix-iteration-{}.md", attempt.iteration)),
            text: iteration_text(state, attempt),
        },
        Stage::Committing { acceptance } => Step::Commit {
            tree: acceptance.tree.clone(),
            message: commit_message(state, phase, acceptance),
            at: acceptance.at,
        },
        Stage::Noting { acceptance, .. } => Step::Note {
            commit: state.progress.head.commit.clone(),
            handoff: Box::new(handoff(state, phase, attempt, Some(acceptance))),
        },
    }
}

fn review_step(review: &Review) -> Step {
    let undecided = |trouble: &AttemptFailure| {
        leave(Outcome::Undecided { phase: review.before.phase(), trouble: trouble.clone() })
    };
    match &review.stage {
        Reviewing::Refused { trouble } => undecided(trouble),
        Reviewing::Judging | Reviewing::Noting => match (review.commits.first(), review.note()) {
            (Some(commit), _) => Step::Review { commit: commit.clone() },
            (None, Some(handoff)) => Step::Note {
                commit: review.progress.head.commit.clone(),
                handoff: Box::new(handoff),
            },
            // Without a note to move, the state does not wait for one.
            (None, None) => Step::Stop,
        },
    }
}

fn leave(outcome: Outcome) -> Step {
    Step::Leave { outcome }
}

/// A planner that ends the run before any cycle was accepted has developed nothing, whatever its
/// list says.
fn halted(state: &State, phase: Phase, trouble: &AttemptFailure) -> Outcome {
    let ended =
        [Code::PlanUnfinished, Code::PlanNoList].iter().any(|code| code.as_str() == trouble.kind);
    let trouble = trouble.clone();
    match phase {
        Phase::Plan if ended && state.progress.completed.is_empty() => {
            Outcome::NothingDeveloped { trouble }
        }
        Phase::Plan | Phase::Red | Phase::Green | Phase::Refactor | Phase::Complete => {
            Outcome::GaveUp { phase, trouble }
        }
    }
}

/// Checks budgets before the call that would spend them.
fn ask(state: &State, phase: Phase, attempt: &Attempt, role: Role) -> Step {
    let policy = &state.run.policy;
    if let Some(what) = policy.budget.exceeded_by(&state.spent) {
        return leave(Outcome::BudgetSpent { what });
    }
    // The planner is asked once more, to confirm that nothing is left.
    if phase != Phase::Plan && state.progress.cycle > policy.cycles_max {
        return leave(Outcome::BudgetSpent {
            what: format!("all {} cycles are used", policy.cycles_max),
        });
    }
    let progress = &state.progress;
    let assignment = Assignment {
        role,
        phase,
        cycle: progress.cycle,
        turn: state.turns.get(&role).copied().unwrap_or(0),
        attempt: attempt.retries + attempt.iteration + 1,
        candidate: None,
        request: state.run.brief.request.clone(),
        brief: state.run.brief.is_more().then(|| Box::new(state.run.brief.clone())),
        current: progress.current.clone(),
        completed: progress.completed.clone(),
        pending: progress.pending.clone(),
        trouble: attempt.trouble.clone(),
        remarks: if phase == Phase::Plan { remarks(state) } else { Vec::new() },
        messages: state.steering.messages.clone(),
        more: progress.more,
        diagnosis: attempt.diagnosis.clone(),
        withhold: policy.withhold && role == Role::Test && phase == Phase::Red,
        strategy: state
            .run
            .brief
            .execution
            .as_ref()
            .map_or(Strategy::New, |execution| execution.session(role)),
    };
    let time_ms = policy.turn_timeout_ms.saturating_mul(u64::from(attempt.timeouts) + 1);
    Step::Ask { assignment: Box::new(assignment), time_ms }
}

/// Several attempts side by side, until one of them is chosen.
fn several(state: &State, phase: Phase, attempt: &Attempt) -> Step {
    let policy = &state.run.policy;
    let numbers = attempts::missing(&attempt.candidates, policy.attempts.number);
    match attempts::next(&attempt.candidates).filter(|_| numbers.is_empty()) {
        None => {
            let asked = ask(state, phase, attempt, attempt.role(phase));
            let Step::Ask { assignment, time_ms } = asked else { return asked };
            Step::Attempt { assignment, time_ms, numbers, jobs: policy.attempts.jobs }
        }
        Some(attempts::AttemptStep::Compare { numbers }) => {
            Step::Compare { numbers, timeout_ms: policy.suite_timeout_ms(phase) }
        }
        Some(attempts::AttemptStep::Choose(choice)) => Step::Choose { choice },
        Some(attempts::AttemptStep::Tie { trouble }) => {
            leave(Outcome::Undecided { phase, trouble })
        }
    }
}

/// Remarks about the list for a planner.
fn remarks(state: &State) -> Vec<String> {
    let edited = state.steering.plan.is_some().then(|| EDITED.to_owned());
    edited.into_iter().chain(state.progress.remarks.iter().cloned()).collect()
}

fn commit_message(state: &State, phase: Phase, acceptance: &Acceptance) -> String {
    let current = state.progress.current.as_ref().map_or("", |test| test.description.as_str());
    let unchanged = acceptance.tree == state.progress.head.tree;
    let given_up =
        acceptance.verdict.first().is_some_and(|reason| reason.code == Code::RefactorGivenUp);
    let subject = match phase {
        Phase::Plan => {
            match acceptance.planning.as_ref().and_then(|planning| planning.next.as_ref()) {
                Some(test) => format!("plan: {}", test.description),
                None => "plan: every test of the list is done".to_owned(),
            }
        }
        Phase::Red => format!("test: {current}"),
        Phase::Green => match state.run.brief.kind() {
            Kind::Feature => format!("feat: {current}"),
            Kind::Fix => format!("fix: {current}"),
        },
        Phase::Refactor | Phase::Complete if given_up => {
            "refactor: given up, the green code stays".to_owned()
        }
        Phase::Refactor | Phase::Complete if unchanged => "refactor: no changes needed".to_owned(),
        Phase::Refactor | Phase::Complete => format!("refactor: {current}"),
    };
    format!(
        "{}\n\nRedgreen-Run: {}\nRedgreen-Phase: {} {}\n",
        one_line(&subject),
        state.run.id,
        state.progress.cycle,
        phase.as_str()
    )
}

fn merge_message(state: &State, commits: Commits) -> String {
    let request = one_line(headline(&state.run.brief.request));
    let subject = match commits {
        Commits::Merged => format!("Merge {}: {request}", text::on_one_line(&state.run.branch)),
        // A commit with one parent merges nothing.
        Commits::Squashed => request,
    };
    format!("{subject}\n\nRedgreen-Run: {}\n", state.run.id)
}

/// The first line of a commit message: one line of limited length. `git log` prints it unchanged.
fn one_line(words: &str) -> String {
    const SUBJECT_CHARS_MAX: usize = 100;
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = text::on_one_line(&line);
    if line.chars().count() <= SUBJECT_CHARS_MAX {
        return line.into_owned();
    }
    let mut cut: String = line.chars().take(SUBJECT_CHARS_MAX - 1).collect();
    cut.push('…');
    cut
}

fn handoff(
    state: &State,
    phase: Phase,
    attempt: &Attempt,
    acceptance: Option<&Acceptance>,
) -> Handoff {
    let progress = &state.progress;
    let next_phase = match &state.situation {
        Situation::Working { stage: Stage::Noting { next, .. }, .. } => *next,
        Situation::Working { .. }
        | Situation::Measuring { .. }
        | Situation::Unmeasurable { .. }
        | Situation::Reverting { .. }
        | Situation::Halted { .. }
        | Situation::Paused { .. }
        | Situation::Waiting { .. }
        | Situation::Reviewing(_)
        | Situation::Merging { .. }
        | Situation::Discarding
        | Situation::Ended(_) => phase,
    };
    Handoff {
        version: VERSION,
        phase,
        next_phase,
        cycle_number: progress.cycle,
        current_test: progress.current.clone(),
        completed_tests: progress.completed.clone(),
        pending_tests: progress.pending.clone(),
        removed_tests: progress.removed.clone(),
        tests_written: progress.written,
        test_result: match phase {
            Phase::Plan | Phase::Complete => None,
            Phase::Red => Some(TestResult::Fail),
            Phase::Green | Phase::Refactor => Some(TestResult::Pass),
        },
        error: None,
        error_details: None,
        retry_count: attempt.retries,
        run: RunFacts {
            id: state.run.id.clone(),
            request: state.run.brief.request.clone(),
            base: state.run.base.commit.clone(),
            target: state.run.target.clone(),
            branch: state.run.branch.clone(),
            agent: state.run.agent.clone(),
            brief: state.run.brief.is_more().then(|| Box::new(state.run.brief.without_texts())),
        },
        verdict: acceptance.map(|acceptance| Ruling::from(&acceptance.verdict)),
        tests: progress.accepted.as_ref().map(|report| report.counts),
        targets: progress.targets.clone(),
        withheld_tests: match (
            &progress.withheld,
            acceptance.and_then(|acceptance| acceptance.joined.as_ref()),
        ) {
            (Some(withheld), _) => withheld.tests,
            (None, Some(joined)) => joined.tests,
            (None, None) => 0,
        },
        iterations: if phase == Phase::Green { attempt.iteration + 1 } else { 0 },
        sessions: state.sessions.clone(),
        agents: state.agents.clone(),
        user_messages: state.steering.messages.clone(),
        attempts: acceptance.and(attempt.selection.as_ref()).map(|all| Box::new(all.settled())),
        spent: Some(state.spent.clone()).filter(|spent| *spent != RunCost::default()),
    }
}

/// Each cycle has its own folder, because iterations start at 1 in each cycle.
fn artifact(state: &State, name: &str) -> String {
    format!("cycle-{}/{name}", state.progress.cycle)
}

fn iteration_text(state: &State, attempt: &Attempt) -> String {
    let current = state.progress.current.as_ref().map_or("", |test| test.description.as_str());
    let trouble = attempt.trouble.as_ref().map_or("", |trouble| trouble.message.as_str());
    let diagnosis = attempt.diagnosis.as_deref().unwrap_or("No diagnosis was given.");
    let text = format!(
        "# GREEN, iteration {} of {}\n\nTest: {}\n\n## What was not accepted\n\n{trouble}\n\n## Diagnosis\n\n\
         {diagnosis}\n",
        attempt.iteration,
        state.run.policy.iterations_max,
        text::on_one_line(current)
    );
    text::visible(&text).into_owned()
}

fn failure_text(state: &State, phase: Phase, attempt: &Attempt, trouble: &str) -> String {
    let current = state.progress.current.as_ref().map_or("none", |test| test.description.as_str());
    let tries = attempt.retries.max(attempt.iteration);
    let text = format!(
        "# {phase} failed\n\nRun: {}\nRequest: {}\nCycle: {}\nTest: {}\nTries: {tries}\n\n\
         All changes of this phase were reverted to {}; `redgreen salvage` keeps them.\n\n\
         ## Why\n\n{trouble}\n\n## Next\n\n`redgreen resume {}` tries the phase again, `redgreen abort {}` ends the run.\n",
        state.run.id,
        state.run.brief.request,
        state.progress.cycle,
        text::on_one_line(current),
        state.progress.head.commit,
        state.run.id,
        state.run.id
    );
    text::visible(&text).into_owned()
}
