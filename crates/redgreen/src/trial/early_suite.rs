//! Runs the suite of a candidate before its trial begins, beside the trial of the step before. A
//! range of commits has both from the beginning.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::Duration;

use anyhow::Result;
use redgreen_core::experiment::{Experiment, Observation, Tree, suite};
use redgreen_core::phase::{JudgedPhase, Phase};
use redgreen_core::report::{Outcome, Report};

use super::open::{Trial, is_interpreted_by};
use super::perform::Conditions;
use super::{Candidate, EnvironmentRecord, TrialContext, WithheldSet, change};
use crate::process::Stop;
use crate::room::Options;

/// The suite of a candidate, which runs in its own room. Ends with this value.
#[derive(Debug)]
pub struct EarlySuite {
    stop: Stop,
    /// Its only result. `None` after it was taken.
    result: Mutex<Option<Receiver<Result<EarlyRun>>>>,
}

/// The result, and under which conditions it was made.
#[derive(Debug)]
struct EarlyRun {
    head: String,
    frozen: Options,
    /// `None` if two rooms would conflict, or build everything twice.
    observation: Option<Observation>,
}

/// The candidate of the later trial.
#[derive(Clone, Copy, Debug)]
pub struct Later<'a> {
    pub base: &'a str,
    pub head: &'a str,
    pub timeout: Duration,
}

impl EarlySuite {
    /// Starts the suite of `later`. `before` is the report of a similar tree, and `known` an
    /// earlier scan of the environment. `None` if nothing would be saved.
    pub fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        ground: TrialContext<'env>,
        later: Later<'env>,
        before: &Report,
        known: &'env EnvironmentRecord,
    ) -> Option<Self> {
        if !is_interpreted_by(before.runner.split('+')) {
            return None;
        }
        let stop = ground.stop.part();
        let own = stop.clone();
        let (sender, receiver) = channel();
        scope.spawn(move || {
            let result = run(TrialContext { stop: &own, ..ground }, later, known);
            // Nobody waits after the end.
            sender.send(result).ok();
        });
        Some(Self { stop, result: Mutex::new(Some(receiver)) })
    }

    /// The result, if this is what the trial asks for. Waits for it.
    pub(super) fn take(
        &self,
        experiment: &Experiment,
        conditions: &Conditions<'_>,
    ) -> Option<Observation> {
        if *experiment != suite::on(Tree::Head) {
            return None;
        }
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        // An error will happen again, where it is reported.
        let EarlyRun { head, frozen, observation } = result.recv().ok()?.ok()?;
        let is_same = head == conditions.candidate.head && frozen == conditions.frozen;
        // It had to share the machine, so the trial may give it more time.
        let is_cut = |seen: &Observation| {
            seen.report().is_some_and(|report| report.outcome == Outcome::TimedOut)
        };
        observation.filter(|seen| is_same && !is_cut(seen))
    }
}

impl Drop for EarlySuite {
    fn drop(&mut self) {
        self.stop.request();
    }
}

fn run(ground: TrialContext<'_>, later: Later<'_>, known: &EnvironmentRecord) -> Result<EarlyRun> {
    let candidate = Candidate {
        phase: JudgedPhase::Green,
        base: later.base,
        head: later.head,
        earlier: None,
        before: None,
        targets: None,
        surroundings: None,
        brief: "",
        withheld: WithheldSet::default(),
        only: &[],
        timeout: later.timeout,
        explain: false,
    };
    let mut trial = Trial::open(ground, later.base, later.head, Some(known), later.timeout)?;
    let frameworks: Vec<_> = trial.suite.frameworks().collect();
    let changed = change(ground.git, Phase::Green, later.base, later.head, &frameworks)?;
    let conditions = Conditions {
        candidate: &candidate,
        frozen: change::frozen(Phase::Green, later.base, &changed),
        timeout: later.timeout,
        usual: Duration::ZERO,
    };
    let observation = match trial.annex() {
        Some(_) => trial.perform(&conditions, &suite::on(Tree::Head)).map(Some),
        None => Ok(None),
    };
    trial.close()?;
    Ok(EarlyRun {
        head: later.head.to_owned(),
        frozen: conditions.frozen,
        observation: observation?,
    })
}
