//! The steps of a run, from its journal: turns, verdicts with reasons, cost, commits.
//!
//! A fold over the events that keeps only what is displayed. The state of a run keeps every
//! waypoint with its list of tests for rollbacks, which is too much for a page about a run of 500
//! cycles.

use std::collections::HashMap;

use serde::Serialize;

use crate::agent::{Cost, Turn};
use crate::attempts::{Candidate, Comparison, Selection};
use crate::event::{Event, Outcome, Run, StoredReport};
use crate::handoff::Handoff;
use crate::names::{Oid, SalvageName};
use crate::phase::{Phase, Role};
use crate::policy::RunCost;
use crate::verdict::{Decision, Verdict};

/// One attempt of a phase: its turns, and the verdict.
#[derive(Clone, Debug)]
pub struct Step {
    pub phase: Phase,
    pub cycle: u32,
    pub test: Option<String>,
    /// Milliseconds since 1970.
    pub at: i64,
    /// Messages of the user since the step before.
    pub messages: Vec<String>,
    pub turns: Vec<Work>,
    pub verdict: Verdict,
    pub report: Option<StoredReport>,
    pub took_ms: u64,
    pub findings: Vec<String>,
    /// The commit or tree at its start, and the tree that was committed, or judged and not
    /// accepted.
    pub from: Oid,
    pub to: Option<Oid>,
    pub commit: Option<Oid>,
    /// The salvage of work that was not accepted and reverted.
    pub salvage: Option<SalvageName>,
    /// RED: tests that the implementer does not see. GREEN: those of them that the code passes.
    pub withheld: u64,
    /// How the work was chosen, if it was one of several attempts.
    pub attempts: Option<Selection>,
    /// All of them, in the order of their numbers.
    pub candidates: Vec<AttemptRecord>,
}

/// One of several attempts at a phase, as a page shows it.
#[derive(Clone, Debug)]
pub struct AttemptRecord {
    pub number: u32,
    /// What the agent left.
    pub tree: Option<Oid>,
    /// `None` if the turn failed.
    pub verdict: Option<Verdict>,
    pub findings: Vec<String>,
    pub turn: Option<Work>,
}

/// One turn of an agent.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// Counted across the whole run, starting at 1.
    #[serde(skip)]
    pub number: u32,
    pub role: Role,
    pub said: String,
    pub failed: bool,
    pub tokens: Option<u64>,
    pub microdollars: Option<u64>,
    pub took_ms: u64,
}

/// A run, from its first to its latest event.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    pub run: Option<Box<Run>>,
    pub steps: Vec<Step>,
    pub baseline: Option<String>,
    /// The phase at the end of the journal.
    pub phase: Option<Phase>,
    pub cycle: u32,
    pub current: Option<String>,
    pub completed: Vec<String>,
    pub pending: Vec<String>,
    /// The last commit of the run, or its start commit.
    pub head: Option<Oid>,
    /// Why it stopped, if it did.
    pub left: Option<Outcome>,
    pub is_over: bool,
    pub spent: RunCost,
    pub started: i64,
    pub ended: i64,
    /// All messages of the user.
    pub said: Vec<String>,
    /// Tests that accepted REDs wrote, that the implementer does not see at present, and that
    /// joined the test suite.
    pub written: u64,
    pub withheld: u64,
    pub joined: u64,
    /// The tree after the last turn.
    tree: Option<Oid>,
    turns: Vec<Work>,
    turns_taken: u32,
    messages: Vec<String>,
    /// The attempts that ended, if several are made at the current phase.
    pub candidates: Vec<Candidate>,
    /// The intent that the journal ends with, and its time: what the run does now.
    pub doing: Option<(String, i64)>,
    selection: Option<Selection>,
    records: Vec<AttemptRecord>,
    /// How many events of the chosen attempt follow; they were paid for already.
    taken: usize,
    /// A phase that was accepted but has no note yet.
    accepted: Option<Phase>,
    /// The state of the run after a commit.
    places: HashMap<Oid, Place>,
}

/// Where a run continues after a rollback.
#[derive(Clone, Debug)]
struct Place {
    cycle: u32,
    current: Option<String>,
    written: u64,
    withheld: u64,
    joined: u64,
}

impl Steps {
    /// Applies the next event of the journal.
    pub fn hear(&mut self, at: i64, event: &Event) {
        self.ended = at;
        // These happen during a turn, which goes on.
        if !matches!(event, Event::Attempted { .. } | Event::UserSaid { .. }) {
            self.doing = None;
        }
        match event {
            Event::Started { run } => self.begin(at, run, &run.base.commit),
            Event::Adopted { run, head, handoff } => {
                self.begin(at, run, &head.commit);
                self.adopt(handoff);
            }
            Event::Measured { report, took_ms, .. } => {
                self.baseline = Some(report.summary.clone());
                self.worked(*took_ms);
            }
            Event::Turned { role, turn, cost, took_ms, tree, .. } => {
                self.tree = Some(tree.clone());
                self.turned(*role, turn, cost, *took_ms);
                self.pay(event);
            }
            Event::Attempted { candidate } => {
                candidate.events.iter().for_each(|event| self.pay(event));
                self.candidates.retain(|known| known.number != candidate.number);
                self.candidates.push((**candidate).clone());
                self.candidates.sort_by_key(|candidate| candidate.number);
            }
            Event::Compared { results, took_ms } => {
                self.worked(*took_ms);
                for Comparison { number, others } in results {
                    let known = self.candidates.iter_mut().find(|known| known.number == *number);
                    known.into_iter().for_each(|known| known.others = Some(*others));
                }
            }
            Event::Chosen { choice } => {
                let candidates = std::mem::take(&mut self.candidates);
                let chosen = candidates.iter().find(|known| known.number == choice.number);
                self.taken = chosen.map_or(0, |chosen| chosen.events.len());
                self.records = self.records_of(&candidates);
                self.selection = Some(Selection::of(choice, &candidates));
            }
            Event::Judged {
                phase,
                verdict,
                report,
                took_ms,
                withheld,
                joined,
                written,
                planned,
                ..
            } => {
                let withheld = withheld.as_ref().map(|withheld| withheld.tests);
                let joined = joined.as_ref().map(|joined| joined.tests);
                self.pay(event);
                self.judged(
                    at,
                    *phase,
                    verdict,
                    report.as_ref(),
                    *took_ms,
                    withheld.or(joined).unwrap_or(0),
                );
                if verdict.decision == Decision::Accepted {
                    self.accepted = Some(*phase);
                    match phase {
                        Phase::Plan => {
                            if let Some(planned) = planned {
                                self.current =
                                    planned.next.as_ref().map(|next| next.description.clone());
                                self.completed.clone_from(&planned.completed);
                                self.pending.clone_from(&planned.pending);
                            }
                        }
                        Phase::Red => {
                            let failing = u64::try_from(verdict.targets.len()).unwrap_or(u64::MAX);
                            self.written = self.written.saturating_add(written.unwrap_or(failing));
                            self.withheld = withheld.unwrap_or(0);
                        }
                        Phase::Green => {
                            self.withheld = 0;
                            self.joined = self.joined.saturating_add(joined.unwrap_or(0));
                        }
                        Phase::Refactor | Phase::Complete => {}
                    }
                }
            }
            Event::Linted { findings, criteria, .. } => {
                self.pay(event);
                if let Some(step) = self.steps.last_mut() {
                    step.findings.extend(findings.iter().chain(criteria).cloned());
                }
            }
            Event::Committed { mark } => {
                if let Some(step) = self.steps.last_mut() {
                    if let Some(head) = &self.head {
                        step.from.clone_from(head);
                    }
                    step.to = Some(mark.tree.clone());
                    step.commit = Some(mark.commit.clone());
                }
                self.head = Some(mark.commit.clone());
            }
            Event::Noted { commit, .. } => self.noted(commit),
            Event::Restored { salvage, .. } => {
                if let Some(step) =
                    self.steps.last_mut().filter(|step| step.verdict.decision != Decision::Accepted)
                {
                    step.salvage = salvage.clone().or(step.salvage.take());
                }
            }
            Event::UserSaid { message, .. } => self.user_said(message.clone()),
            Event::WorkEdited { to, tree, .. } => {
                self.go_back(to);
                self.tree = Some(tree.clone());
            }
            Event::TestRejected { to, message, .. } => {
                self.user_said(format!("The test was rejected: {message}"));
                self.go_back(to);
            }
            Event::RolledBack { to, .. } => self.go_back(to),
            Event::Reviewed { commit, verdict, took_ms, .. } => {
                self.worked(*took_ms);
                if verdict.decision == Decision::Accepted {
                    self.head = Some(commit.clone());
                }
            }
            Event::PlanEdited { pending, .. } => self.pending.clone_from(pending),
            Event::Left { outcome } => {
                self.left = Some(outcome.clone());
                self.is_over |= matches!(outcome, Outcome::Merged | Outcome::Aborted);
            }
            Event::Resumed { .. } | Event::Decided { .. } => self.left = None,
            Event::Undone { .. } => {
                self.left = Some(Outcome::Waiting);
                self.is_over = false;
            }
            Event::Merged { .. } | Event::Discarded { .. } => self.is_over = true,
            Event::Prepared { .. }
            | Event::HumanCommitted { .. }
            | Event::Paused
            | Event::PauseAsked { .. }
            | Event::Recorded { .. }
            | Event::MergeBlocked { .. } => {}
        }
    }

    /// The handoff note of an accepted phase was written. An accepted REFACTOR ends its cycle.
    pub fn noted(&mut self, commit: &Oid) {
        self.doing = None;
        if self.accepted.take() == Some(Phase::Refactor) {
            self.cycle = self.cycle.saturating_add(1);
            if let Some(done) = self.current.take() {
                if let Some(index) = self.pending.iter().position(|item| *item == done) {
                    self.pending.remove(index);
                }
                self.completed.push(done);
            }
        }
        let (cycle, current) = (self.cycle, self.current.clone());
        let place = Place {
            cycle,
            current,
            written: self.written,
            withheld: self.withheld,
            joined: self.joined,
        };
        self.places.insert(commit.clone(), place);
    }

    /// The run is about to act.
    pub fn intend(&mut self, at: i64, intent: &str) {
        self.doing = Some((intent.to_owned(), at));
    }

    /// The attempts that ended, if several are made at the current phase.
    pub fn attempts_now(&self) -> Vec<AttemptRecord> {
        self.records_of(&self.candidates)
    }

    fn records_of(&self, candidates: &[Candidate]) -> Vec<AttemptRecord> {
        let number = self.turns_taken.saturating_add(1);
        candidates.iter().map(|candidate| AttemptRecord::of(candidate, number)).collect()
    }

    /// Cycles that were accepted from RED to REFACTOR.
    pub fn cycles(&self) -> u32 {
        self.cycle.saturating_sub(1)
    }

    /// The commit of the last GREEN.
    pub fn last_green(&self) -> Option<&Oid> {
        let greens = self.steps.iter().rev().filter(|step| step.phase == Phase::Green);
        greens.filter_map(|step| step.commit.as_ref()).next()
    }

    /// The steps of one cycle, in order.
    pub fn of_cycle(&self, cycle: u32) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.cycle == cycle)
    }

    fn begin(&mut self, at: i64, run: &Run, head: &Oid) {
        self.started = at;
        self.cycle = 1;
        self.head = Some(head.clone());
        let batch = run.brief.batch();
        self.phase = Some(if batch.is_some() { Phase::Red } else { Phase::Plan });
        if let Some(batch) = batch {
            self.current = Some(batch.description);
            self.pending = run.brief.case_names();
        }
        self.run = Some(Box::new(run.clone()));
    }

    fn adopt(&mut self, handoff: &Handoff) {
        let is_done = handoff.phase == Phase::Refactor;
        self.cycle = handoff.cycle_number.saturating_add(u32::from(is_done));
        self.current =
            handoff.current_test.clone().filter(|_| !is_done).map(|test| test.description);
        self.completed.clone_from(&handoff.completed_tests);
        self.pending.clone_from(&handoff.pending_tests);
        self.phase = Some(handoff.next_phase);
        self.written = handoff.tests_written;
        self.said.clone_from(&handoff.user_messages);
        self.spent = handoff.spent.clone().unwrap_or_default();
    }

    fn turned(&mut self, role: Role, turn: &Turn, cost: &Cost, took_ms: u64) {
        self.turns_taken = self.turns_taken.saturating_add(1);
        self.turns.push(Work::of(self.turns_taken, role, turn, cost, took_ms));
    }

    /// Counts what an event cost, unless it is taken over from an attempt, which was counted when
    /// it ended.
    fn pay(&mut self, event: &Event) {
        if self.taken > 0 {
            self.taken -= 1;
            return;
        }
        if let Event::Turned { took_ms, .. }
        | Event::Judged { took_ms, .. }
        | Event::Linted { took_ms, .. } = event
        {
            self.worked(*took_ms);
        }
        let Event::Turned { cost: Cost { tokens, microdollars, .. }, .. } = event else { return };
        self.spent.tokens = self.spent.tokens.saturating_add(tokens.unwrap_or(0));
        self.spent.microdollars = self.spent.microdollars.saturating_add(microdollars.unwrap_or(0));
        let is_unknown = tokens.is_none() && microdollars.is_none();
        let is_unpriced = tokens.is_some() && microdollars.is_none();
        self.spent.unknown_turns = self.spent.unknown_turns.saturating_add(u32::from(is_unknown));
        self.spent.unpriced_turns =
            self.spent.unpriced_turns.saturating_add(u32::from(is_unpriced));
    }

    fn judged(
        &mut self,
        at: i64,
        phase: Phase,
        verdict: &Verdict,
        report: Option<&StoredReport>,
        took_ms: u64,
        withheld: u64,
    ) {
        let Some(from) = self.head.clone() else { return };
        self.phase = Some(phase);
        self.steps.push(Step {
            phase,
            cycle: self.cycle,
            test: self.current.clone(),
            at,
            messages: std::mem::take(&mut self.messages),
            turns: std::mem::take(&mut self.turns),
            verdict: verdict.clone(),
            report: report.cloned(),
            took_ms,
            findings: Vec::new(),
            from,
            to: self.tree.clone().filter(|_| verdict.decision != Decision::Accepted),
            commit: None,
            salvage: None,
            withheld,
            attempts: self.selection.take(),
            candidates: std::mem::take(&mut self.records),
        });
    }

    fn go_back(&mut self, to: &Oid) {
        self.head = Some(to.clone());
        self.accepted = None;
        self.left = None;
        self.candidates.clear();
        (self.selection, self.taken) = (None, 0);
        self.records.clear();
        match self.places.get(to).cloned() {
            Some(place) => {
                self.cycle = place.cycle;
                self.current = place.current;
                (self.written, self.withheld, self.joined) =
                    (place.written, place.withheld, place.joined);
            }
            // The start of the run.
            None => {
                let batch = self.run.as_ref().and_then(|run| run.brief.batch());
                (self.cycle, self.current) = (1, batch.map(|batch| batch.description));
                (self.written, self.withheld, self.joined) = (0, 0, 0);
            }
        }
    }

    fn user_said(&mut self, message: String) {
        self.said.push(message.clone());
        self.messages.push(message);
    }

    fn worked(&mut self, took_ms: u64) {
        self.spent.work_ms = self.spent.work_ms.saturating_add(took_ms);
    }
}

impl AttemptRecord {
    /// All attempts of a round are the same turn of the run.
    fn of(candidate: &Candidate, turn_number: u32) -> Self {
        let mut record = Self {
            number: candidate.number,
            tree: candidate.tree().cloned(),
            verdict: candidate.verdict().cloned(),
            findings: Vec::new(),
            turn: None,
        };
        for event in &candidate.events {
            if let Event::Turned { role, turn, cost, took_ms, .. } = event {
                record.turn = Some(Work::of(turn_number, *role, turn, cost, *took_ms));
            }
            if let Event::Linted { findings, criteria, .. } = event {
                record.findings = findings.iter().chain(criteria).cloned().collect();
            }
        }
        record
    }
}

impl Work {
    fn of(number: u32, role: Role, turn: &Turn, cost: &Cost, took_ms: u64) -> Self {
        let (said, failed) = match turn {
            Turn::Done { answer } => (answer.clone(), false),
            Turn::Failed { message, .. } => (message.clone(), true),
        };
        let (tokens, microdollars) = (cost.tokens, cost.microdollars);
        Self { number, role, said, failed, tokens, microdollars, took_ms }
    }
}
