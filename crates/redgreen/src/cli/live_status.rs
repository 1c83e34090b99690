//! Shows activity during a slow step: a live line on a terminal, otherwise a plain line now and
//! then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use redgreen_core::agent::Cost;
use redgreen_core::phase::Phase;
use redgreen_core::policy::RunCost;
use redgreen_core::state::State;

use super::why;
use crate::agent::choice::HUMAN;
use crate::process::Stop;
use crate::runner::Tally;
use crate::view::{self, Printer, StatusLine};

/// How often the live line is redrawn.
const TICK: Duration = Duration::from_millis(100);
/// A shorter step needs no line.
const LINE_AFTER: Duration = Duration::from_millis(300);
/// How often a log gets a line about the current step.
const LOG_EVERY: Duration = Duration::from_secs(30);

/// Shows the current activity until it is dropped.
pub(super) struct LiveStatus {
    shared: Arc<LiveState>,
    thread: Option<JoinHandle<()>>,
}

struct LiveState {
    printer: Printer,
    stop: Stop,
    over: AtomicBool,
    step: Mutex<Option<Step>>,
}

/// The current activity.
struct Step {
    at: Option<(u32, Phase)>,
    doing: String,
    is_turn: bool,
    since: Instant,
    spent: RunCost,
    cost: Option<Cost>,
    said: String,
}

impl LiveStatus {
    /// Shows nothing until a step starts.
    pub(super) fn new(printer: Printer, stop: &Stop) -> Self {
        let step = Mutex::new(None);
        let shared =
            Arc::new(LiveState { printer, stop: stop.clone(), over: AtomicBool::new(false), step });
        let is_wanted = !printer.json && !printer.quiet;
        let thread = is_wanted.then(|| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.beat())
        });
        Self { shared, thread }
    }

    /// Shows one activity outside of a run.
    pub(super) fn of(printer: Printer, stop: &Stop, doing: &str) -> Self {
        let pulse = Self::new(printer, stop);
        pulse.doing(doing);
        pulse
    }

    /// Changes the activity, outside of a run.
    pub(super) fn doing(&self, doing: &str) {
        *self.shared.step() = Some(Step {
            at: None,
            doing: doing.to_owned(),
            is_turn: false,
            since: Instant::now(),
            spent: RunCost::default(),
            cost: None,
            said: String::new(),
        });
    }

    /// Starts a step of a run.
    pub(super) fn begin(&self, intent: &str, state: &State) {
        let agent = &state.run.agent;
        let is_turn = matches!(intent, "ask" | "attempt");
        // A person at this terminal types here.
        let is_asked = is_turn && agent.split([' ', ',']).any(|word| word == HUMAN);
        let doing = match intent {
            "ask" => format!("{} works", short(agent)),
            "attempt" => format!("{} attempts", state.run.policy.attempts.number),
            "judge" => "judging".to_owned(),
            "measure" => "running the tests".to_owned(),
            other => why::doing(other).to_owned(),
        };
        self.shared.printer.live_begin();
        *self.shared.step() = (!is_asked).then(|| Step {
            at: Some((state.progress.cycle, state.phase())),
            doing,
            is_turn,
            since: Instant::now(),
            spent: state.spent.clone(),
            cost: None,
            said: String::new(),
        });
    }

    /// Ends the step.
    pub(super) fn end(&self) {
        *self.shared.step() = None;
    }

    /// The agent's latest words, and the cost of its turn. False if the step is not shown, because
    /// a person at this terminal takes it.
    pub(super) fn said(&self, said: &str, cost: Option<Cost>) -> bool {
        let mut step = self.shared.step();
        let Some(step) = step.as_mut() else { return false };
        said.clone_into(&mut step.said);
        step.cost = cost;
        true
    }
}

impl Drop for LiveStatus {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            thread.join().ok();
            self.shared.printer.live_end();
        }
    }
}

impl LiveState {
    fn step(&self) -> MutexGuard<'_, Option<Step>> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs until the pulse is dropped.
    fn beat(&self) {
        let mut tally = Tally::default();
        let mut told: Option<(Instant, Duration)> = None;
        while !self.over.load(Ordering::Relaxed) {
            thread::park_timeout(TICK);
            let Some((since, now)) = self.now(&mut tally) else { continue };
            match self.printer.live_columns() {
                Some(columns) if now.elapsed >= LINE_AFTER => self.printer.live(&now.live(columns)),
                Some(_) => {}
                None => {
                    let last = told
                        .filter(|(step, _)| *step == since)
                        .map_or(Duration::ZERO, |(_, last)| last);
                    if is_due(last, now.elapsed) {
                        told = Some((since, now.elapsed));
                        self.printer.talk(&now.plain());
                    }
                }
            }
        }
    }

    fn now(&self, tally: &mut Tally) -> Option<(Instant, StatusLine)> {
        // Read before the lock is taken, so that other threads do not wait for it.
        let suite = tally.look(&self.stop);
        let step = self.step();
        let step = step.as_ref()?;
        let doing = match &suite {
            Some((framework, _)) if !step.is_turn && !step.doing.contains(framework.as_str()) => {
                format!("{} with {framework}", step.doing)
            }
            Some(_) | None => step.doing.clone(),
        };
        let now = StatusLine {
            at: step.at,
            doing,
            elapsed: step.since.elapsed(),
            tests: suite
                .map(|(_, tally)| tally)
                .filter(|tally| tally.done > 0 || tally.total > Some(0)),
            cost: view::spent_so_far(&step.spent, step.cost.as_ref()),
            said: step.said.clone(),
        };
        Some((step.since, now))
    }
}

/// A team, or a script with its path, may have a long name.
fn short(agent: &str) -> String {
    const AGENT_CHARS_MAX: usize = 30;
    let kept: String = agent.chars().take(AGENT_CHARS_MAX).collect();
    if kept.len() < agent.len() { kept + "…" } else { kept }
}

/// Whether a log needs a line, given the time of the last one and the current time.
fn is_due(last: Duration, now: Duration) -> bool {
    now.saturating_sub(last) >= LOG_EVERY
}
