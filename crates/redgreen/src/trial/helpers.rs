//! Those who perform controls beside the one who tries the candidate: a thread and a room each, no more than the machine
//! has cores. They end with the trial, however that ends.

use std::sync::Arc;
use std::thread::{self, Scope, ScopedJoinHandle};

use super::Charge;
use super::court::Annex;
use super::docket::Docket;
use crate::room::Options;

/// However many cores there are: more rooms than this take longer to lay out than they save.
const HELPERS_MAX: usize = 3;

pub(super) struct Helpers<'scope> {
    pub(super) docket: Arc<Docket>,
    at_work: Vec<ScopedJoinHandle<'scope, ()>>,
}

impl<'scope> Helpers<'scope> {
    /// Has what is listed performed by others; by nobody, where there is no room for them.
    pub(super) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        annex: Option<Annex<'env>>,
        docket: Docket,
        charge: &'env Charge<'env>,
        options: &Options,
    ) -> Self {
        let docket = Arc::new(docket);
        let beside = thread::available_parallelism().map_or(0, |cores| cores.get().saturating_sub(1));
        let count = if annex.is_some() { beside.min(HELPERS_MAX).min(docket.len()) } else { 0 };
        let start = |annex: Annex<'env>| {
            let (docket, options) = (Arc::clone(&docket), options.clone());
            scope.spawn(move || help(&annex, &docket, charge, &options))
        };
        let at_work = annex.into_iter().cycle().take(count).map(start).collect();
        Self { docket, at_work }
    }

    pub(super) fn are_at_work(&self) -> bool {
        !self.at_work.is_empty()
    }

    /// Until nothing is left that they could do.
    pub(super) fn wait(&mut self) {
        for helper in self.at_work.drain(..) {
            if let Err(panic) = helper.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

impl Drop for Helpers<'_> {
    /// Nobody wants the rest any more.
    fn drop(&mut self) {
        self.docket.stop.request();
    }
}

/// Performs what is listed in a room of its own. Whoever finds no room leaves the work to the others.
fn help(annex: &Annex<'_>, docket: &Docket, charge: &Charge<'_>, options: &Options) {
    let Ok(mut court) = annex.open(charge, &docket.stop) else { return };
    while let Some(case) = docket.take() {
        court.timeout = case.timeout;
        let came = court.perform(charge, options, &case.control);
        docket.file(&case, came);
    }
    // What is left of the room is cleared by the next one in it.
    court.close().ok();
}
