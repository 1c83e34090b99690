//! Runs experiments ahead that the judge is likely to need next, one thread and room each, at most
//! one per core. Finished ones cost no time when needed; the others are dropped.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Instant;

use anyhow::Result;
use redgreen_core::experiment::{Experiment, Observation, Question};

use super::open::Annex;
use super::perform::Conditions;
use crate::process::Stop;

/// The maximum regardless of cores: more rooms take longer to create than they save.
const HELPERS_MAX: usize = 3;

/// The queue, the running and the finished experiments.
pub(super) struct Prefetch {
    shared: Arc<PrefetchState>,
}

struct PrefetchState {
    /// Set when the results are no longer needed.
    stop: Stop,
    list: Mutex<List>,
    changed: Condvar,
}

#[derive(Default)]
struct List {
    wanted: Vec<Experiment>,
    under_way: Vec<Experiment>,
    made: Vec<(Experiment, Result<Observation>)>,
    /// The maximum number of parallel experiments.
    helpers: usize,
    /// No mutant starts after this.
    mutants_until: Option<Instant>,
}

impl Prefetch {
    /// Without an annex there are no helpers.
    pub(super) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        annex: Option<Annex<'env>>,
        conditions: &Conditions<'env>,
        stop: Stop,
    ) -> Self {
        let shared =
            Arc::new(PrefetchState { stop, list: Mutex::default(), changed: Condvar::new() });
        let beside =
            thread::available_parallelism().map_or(0, |cores| cores.get().saturating_sub(1));
        let count = if annex.is_some() { beside.min(HELPERS_MAX) } else { 0 };
        shared.lock().helpers = count;
        for annex in annex.into_iter().cycle().take(count) {
            let (shared, conditions) = (Arc::clone(&shared), conditions.clone());
            scope.spawn(move || help(&shared, &annex, &conditions));
        }
        Self { shared }
    }

    /// Sets the experiments that are likely to be needed next, in order.
    pub(super) fn expect(&self, experiments: Vec<Experiment>) {
        let mut list = self.shared.lock();
        if list.helpers == 0 {
            return;
        }
        let is_new = |one: &Experiment| {
            !list.under_way.contains(one) && !list.made.iter().any(|(made, _)| made == one)
        };
        list.wanted = experiments.into_iter().filter(is_new).collect();
        drop(list);
        self.shared.changed.notify_all();
    }

    /// The result of a finished or running experiment; `None` if the caller has to run it.
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

    /// No mutant starts after this.
    pub(super) fn mutants_until(&self, end: Instant) {
        self.shared.lock().mutants_until = Some(end);
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.shared.stop.request();
        // A helper that just checked the flag, but does not wait yet, would miss the notification.
        drop(self.shared.lock());
        self.shared.changed.notify_all();
    }
}

impl PrefetchState {
    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next experiment to run; `None` when the work is over.
    fn next(&self) -> Option<Experiment> {
        let mut list = self.lock();
        loop {
            if self.stop.requested() {
                return None;
            }
            let late = list.mutants_until.is_some_and(|end| Instant::now() > end);
            let may_begin = |one: &Experiment| {
                !late || !matches!(one.question, Question::Mutant | Question::Expectation)
            };
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

/// Runs experiments in a separate room. Without a room it leaves the work to others.
fn help(shared: &PrefetchState, annex: &Annex<'_>, conditions: &Conditions<'_>) {
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
    // The next user of the room removes leftovers.
    trial.close().ok();
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use redgreen_core::experiment::{Tree, suite};

    use super::*;

    fn ahead(helpers: usize) -> Prefetch {
        let shared = PrefetchState {
            stop: Stop::default(),
            list: Mutex::default(),
            changed: Condvar::new(),
        };
        shared.lock().helpers = helpers;
        Prefetch { shared: Arc::new(shared) }
    }

    #[test]
    fn returns_results_that_were_run_ahead() {
        let ahead = ahead(1);
        let (one, other) = (suite::on(Tree::Head), suite::on(Tree::Base));
        ahead.expect(vec![one.clone(), other.clone()]);
        let taken = ahead.shared.next().unwrap();
        assert_eq!(taken, one);
        ahead.shared.made(taken, Ok(Observation::Said("it".to_owned())));
        assert_eq!(ahead.take(&one).unwrap().unwrap().log(), "it");
        assert!(ahead.take(&other).is_none(), "it was not started");
        assert!(ahead.take(&one).is_none(), "each result is returned once");
    }

    #[test]
    fn starts_no_late_mutants_and_nothing_after_the_end() {
        let ahead = ahead(1);
        let mutant = Experiment { question: Question::Mutant, ..suite::on(Tree::Head) };
        ahead.expect(vec![mutant, suite::on(Tree::Base)]);
        ahead.mutants_until(Instant::now());
        assert_eq!(ahead.shared.next().unwrap(), suite::on(Tree::Base));
        ahead.shared.stop.request();
        assert!(ahead.shared.next().is_none());
    }

    #[test]
    fn helpers_end_with_the_judge() {
        const TIMES: usize = 20_000;
        const WAIT: Duration = Duration::from_secs(10);
        let (ended, ends) = mpsc::channel();
        for _ in 0..TIMES {
            let ahead = ahead(1);
            let (shared, ended) = (Arc::clone(&ahead.shared), ended.clone());
            thread::spawn(move || ended.send(shared.next().is_none()));
            drop(ahead);
            assert_eq!(ends.recv_timeout(WAIT), Ok(true), "a helper waits forever");
        }
    }

    #[test]
    fn returns_errors_to_the_caller() {
        let ahead = ahead(1);
        ahead.expect(vec![suite::on(Tree::Head)]);
        let taken = ahead.shared.next().unwrap();
        ahead.shared.made(taken, Err(anyhow::anyhow!("no room")));
        assert!(ahead.take(&suite::on(Tree::Head)).unwrap().is_err());
    }
}
