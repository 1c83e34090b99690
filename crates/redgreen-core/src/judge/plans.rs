//! A cache of planned experiments. The rules run again after every experiment, and planning one
//! walks through the sources many times. For a large test file, that takes longer than its tests.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use super::{Base, Case, OrStep};
use crate::experiment::documented::{ExampleChanges, ExampleExperiment, documented};
use crate::experiment::reworked::{Comparison, TestChanges, comparisons, reworked};
use crate::experiment::{Experiment, Material, Question, Tree, experiments, suite};
use crate::report::Report;

/// Apart from what a case contains at its start, experiments depend only on a report and the RED
/// tests. The base depends on experiments that run once.
#[derive(Debug, Default)]
pub struct Plans {
    plans: RefCell<Vec<Plan>>,
    base: OnceCell<Rc<Base>>,
    /// What REFACTOR did to the tests, and the mutants that compare old and new tests. Both follow
    /// from the two trees.
    reworked: OnceCell<Rc<TestChanges>>,
    comparisons: OnceCell<Rc<[Comparison]>>,
    /// What GREEN did to documentation examples. The same applies.
    documented: OnceCell<Rc<ExampleChanges>>,
    laid: OnceCell<Rc<[ExampleExperiment]>>,
}

#[derive(Debug)]
struct Plan {
    after: Report,
    targets: Vec<String>,
    experiments: Rc<[Experiment]>,
}

impl Case<'_> {
    /// Known facts about the last accepted tree.
    pub(super) fn base(&self) -> OrStep<Rc<Base>> {
        if let Some(base) = self.plans.base.get() {
            return Ok(Rc::clone(base));
        }
        let base = Rc::new(super::base(self)?);
        Ok(Rc::clone(self.plans.base.get_or_init(|| base)))
    }

    pub(super) fn reworked(&self, material: &Material<'_>) -> Rc<TestChanges> {
        Rc::clone(self.plans.reworked.get_or_init(|| Rc::new(reworked(material))))
    }

    pub(super) fn comparisons(
        &self,
        material: &Material<'_>,
        reworked: &TestChanges,
    ) -> Rc<[Comparison]> {
        Rc::clone(self.plans.comparisons.get_or_init(|| comparisons(material, reworked).into()))
    }

    pub(super) fn documented(
        &self,
        material: &Material<'_>,
        before: &Report,
    ) -> Rc<ExampleChanges> {
        Rc::clone(
            self.plans.documented.get_or_init(|| Rc::new(documented(material).tested(before))),
        )
    }

    pub(super) fn laid(
        &self,
        material: &Material<'_>,
        documented: &ExampleChanges,
    ) -> Rc<[ExampleExperiment]> {
        Rc::clone(self.plans.laid.get_or_init(|| documented.laid(material).into()))
    }

    /// The experiments for a report.
    pub(super) fn experiments(&self, material: &Material<'_>) -> Rc<[Experiment]> {
        let mut plans = self.plans.plans.borrow_mut();
        let is_known =
            |plan: &&Plan| plan.targets == material.targets && plan.after == *material.after;
        if let Some(plan) = plans.iter().find(is_known) {
            return Rc::clone(&plan.experiments);
        }
        let mut experiments = experiments(material, self.mutants_max);
        // The tests already failed on the base in this case, so there is no need to run them twice.
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
