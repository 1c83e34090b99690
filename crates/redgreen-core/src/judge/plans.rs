//! Experiments that were worked out already. The rules are read again for every experiment, and working them out takes many
//! walks through the sources: for a large test file that costs more than its tests.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use super::{Asked, Base, Case};
use crate::experiment::{Experiment, Material, Question, Tree, experiments, suite};
use crate::report::Report;

/// Beside what a case has at its start, experiments depend only on a report and the tests of RED; the base depends on
/// experiments that are made once.
#[derive(Debug, Default)]
pub struct Plans {
    plans: RefCell<Vec<Plan>>,
    base: OnceCell<Rc<Base>>,
}

#[derive(Debug)]
struct Plan {
    after: Report,
    targets: Vec<String>,
    experiments: Rc<[Experiment]>,
}

impl Case<'_> {
    /// What is known of the tree accepted last.
    pub(super) fn base(&self) -> Asked<Rc<Base>> {
        if let Some(base) = self.plans.base.get() {
            return Ok(Rc::clone(base));
        }
        let base = Rc::new(super::base(self)?);
        Ok(Rc::clone(self.plans.base.get_or_init(|| base)))
    }

    /// The experiments for a report.
    pub(super) fn experiments(&self, material: &Material<'_>) -> Rc<[Experiment]> {
        let mut plans = self.plans.plans.borrow_mut();
        let is_known = |plan: &&Plan| plan.targets == material.targets && plan.after == *material.after;
        if let Some(plan) = plans.iter().find(is_known) {
            return Rc::clone(&plan.experiments);
        }
        let mut experiments = experiments(material, self.faults_max);
        // The tests failed on the code before in this very case; there is no need to see it twice.
        if self.seen.iter().any(|seen| seen.experiment == suite::on(Tree::Base)) {
            experiments.retain(|experiment| experiment.question != Question::OldCode);
        }
        let experiments: Rc<[Experiment]> = experiments.into();
        plans.push(Plan {
            after: material.after.clone(),
            targets: material.targets.to_vec(),
            experiments: Rc::clone(&experiments),
        });
        experiments
    }
}
