//! Experiments that the judge is likely to ask for next, made beside the one it asks for now: a thread and a room each, no
//! more than the machine has cores. What is ready when it is asked for costs nothing; what nobody asks for is dropped.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Instant;

use anyhow::Result;
use redgreen_core::experiment::{Experiment, Observation, Question};

use super::open::Annex;
use super::perform::Conditions;
use crate::process::Stop;

/// However many cores there are: more rooms than this take longer to lay out than they save.
const HELPERS_MAX: usize = 3;

/// What is wanted, what is being made, and what was made.
pub(super) struct Ahead {
    shared: Arc<Shared>,
}

struct Shared {
    /// Asked for when nobody wants the answers any more.
    stop: Stop,
    list: Mutex<List>,
    changed: Condvar,
}

#[derive(Default)]
struct List {
    wanted: Vec<Experiment>,
    under_way: Vec<Experiment>,
    made: Vec<(Experiment, Result<Observation>)>,
    /// How many are made at a time, at most.
    helpers: usize,
    /// No fault is begun after this.
    faults_until: Option<Instant>,
}

impl Ahead {
    /// Nobody helps where there is no room for it.
    pub(super) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        annex: Option<Annex<'env>>,
        conditions: &Conditions<'env>,
        stop: Stop,
    ) -> Self {
        let shared = Arc::new(Shared { stop, list: Mutex::default(), changed: Condvar::new() });
        let beside = thread::available_parallelism().map_or(0, |cores| cores.get().saturating_sub(1));
        let count = if annex.is_some() { beside.min(HELPERS_MAX) } else { 0 };
        shared.lock().helpers = count;
        for annex in annex.into_iter().cycle().take(count) {
            let (shared, conditions) = (Arc::clone(&shared), conditions.clone());
            scope.spawn(move || help(&shared, &annex, &conditions));
        }
        Self { shared }
    }

    /// What is likely to be asked for next, in that order.
    pub(super) fn expect(&self, experiments: Vec<Experiment>) {
        let mut list = self.shared.lock();
        if list.helpers == 0 {
            return;
        }
        let is_new = |one: &Experiment| !list.under_way.contains(one) && !list.made.iter().any(|(made, _)| made == one);
        list.wanted = experiments.into_iter().filter(is_new).collect();
        drop(list);
        self.shared.changed.notify_all();
    }

    /// What was made already, or is being made; `None` where whoever asks has to make it.
    pub(super) fn take(&self, experiment: &Experiment) -> Option<Result<Observation>> {
        let mut list = self.shared.lock();
        list.wanted.retain(|wanted| wanted != experiment);
        loop {
            if let Some(at) = list.made.iter().position(|(made, _)| made == experiment) {
                return Some(list.made.swap_remove(at).1);
            }
            if !list.under_way.contains(experiment) {
                return None;
            }
            list = self.shared.changed.wait(list).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// No fault is begun after this.
    pub(super) fn faults_until(&self, end: Instant) {
        self.shared.lock().faults_until = Some(end);
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.shared.stop.request();
        // Whoever has looked already, and does not wait yet, would not hear of it.
        drop(self.shared.lock());
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next one to make; `None` when nobody wants any more.
    fn next(&self) -> Option<Experiment> {
        let mut list = self.lock();
        loop {
            if self.stop.requested() {
                return None;
            }
            let late = list.faults_until.is_some_and(|end| Instant::now() > end);
            let may_begin =
                |one: &Experiment| !late || !matches!(one.question, Question::Mutant | Question::Expectation);
            if let Some(at) = list.wanted.iter().position(may_begin) {
                let experiment = list.wanted.remove(at);
                list.under_way.push(experiment.clone());
                return Some(experiment);
            }
            list = self.changed.wait(list).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn made(&self, experiment: Experiment, came: Result<Observation>) {
        let mut list = self.lock();
        list.under_way.retain(|one| *one != experiment);
        list.made.push((experiment, came));
        drop(list);
        self.changed.notify_all();
    }
}

/// Makes what is wanted in a room of its own. Whoever finds no room leaves the work to the others.
fn help(shared: &Shared, annex: &Annex<'_>, conditions: &Conditions<'_>) {
    let Some(first) = shared.next() else { return };
    let opened = annex.open(conditions.candidate, &shared.stop);
    let Ok(mut trial) = opened else {
        shared.lock().under_way.retain(|one| *one != first);
        shared.changed.notify_all();
        return;
    };
    let mut experiment = Some(first);
    while let Some(one) = experiment {
        let came = trial.perform(conditions, &one);
        shared.made(one, came);
        experiment = shared.next();
    }
    // What is left of the room is cleared by the next one in it.
    trial.close().ok();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use redgreen_core::experiment::{Tree, suite};

    use super::*;

    fn ahead(helpers: usize) -> Ahead {
        let shared = Shared { stop: Stop::default(), list: Mutex::default(), changed: Condvar::new() };
        shared.lock().helpers = helpers;
        Ahead { shared: Arc::new(shared) }
    }

    #[test]
    fn what_was_made_ahead_is_there_when_it_is_asked_for() {
        let ahead = ahead(1);
        let (one, other) = (suite::on(Tree::Head), suite::on(Tree::Base));
        ahead.expect(vec![one.clone(), other.clone()]);
        let taken = ahead.shared.next().unwrap();
        assert_eq!(taken, one);
        ahead.shared.made(taken, Ok(Observation::Said("it".to_owned())));
        assert_eq!(ahead.take(&one).unwrap().unwrap().log(), "it");
        assert!(ahead.take(&other).is_none(), "nobody has begun it");
        assert!(ahead.take(&one).is_none(), "each is told once");
    }

    #[test]
    fn faults_are_not_begun_too_late_and_nothing_is_when_nobody_asks() {
        let ahead = ahead(1);
        let fault = Experiment { question: Question::Mutant, ..suite::on(Tree::Head) };
        ahead.expect(vec![fault, suite::on(Tree::Base)]);
        ahead.faults_until(Instant::now());
        assert_eq!(ahead.shared.next().unwrap(), suite::on(Tree::Base));
        ahead.shared.stop.request();
        assert!(ahead.shared.next().is_none());
    }

    #[test]
    fn helpers_end_whenever_the_judge_is_done() {
        const TIMES: usize = 20_000;
        const WAIT: Duration = Duration::from_secs(10);
        let (ended, ends) = mpsc::channel();
        for _ in 0..TIMES {
            let ahead = ahead(1);
            let (shared, ended) = (Arc::clone(&ahead.shared), ended.clone());
            thread::spawn(move || ended.send(shared.next().is_none()));
            drop(ahead);
            assert_eq!(ends.recv_timeout(WAIT), Ok(true), "a helper waits for ever");
        }
    }

    #[test]
    fn an_error_reaches_who_asks() {
        let ahead = ahead(1);
        ahead.expect(vec![suite::on(Tree::Head)]);
        let taken = ahead.shared.next().unwrap();
        ahead.shared.made(taken, Err(anyhow::anyhow!("no room")));
        assert!(ahead.take(&suite::on(Tree::Head)).unwrap().is_err());
    }
}
