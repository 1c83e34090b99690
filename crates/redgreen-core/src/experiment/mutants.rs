//! Do the tests kill a mutant in the changed lines? Each mutant should fail at least one test. One
//! survivor alone proves nothing; the verdict reports the share of killed mutants and lists the
//! survivors.

use super::{Experiment, Material, Question, Tree, selection};
use crate::change::{ChangedPath, Class, Kind};
use crate::syntax::{self, Language};

/// The maximum number of mutants in the changed lines.
pub(super) const MUTANTS_MAX: usize = 50;

/// At most `limit` of them.
pub(super) fn mutants(material: &Material<'_>, files: &[String], limit: usize) -> Vec<Experiment> {
    let limit = limit.min(MUTANTS_MAX);
    let mut all = Vec::new();
    let code = |changed: &&ChangedPath| {
        matches!(changed.class, Class::Implementation | Class::Mixed)
            && changed.kind != Kind::Deleted
    };
    for changed in material.change.paths.iter().filter(code) {
        let Some(source) = (material.now)(&changed.path) else { continue };
        let old = (material.before)(&changed.path).unwrap_or_default();
        let lines: Vec<_> =
            syntax::added_lines(&old, &source).into_iter().map(|line| line..=line).collect();
        for mutant in
            syntax::mutants(Language::of_path(&changed.path), &changed.path, &source, &lines, limit)
        {
            let Some(text) = mutant.apply(&source) else { continue };
            let what = format!("{}:{}: {}", changed.path, mutant.line, mutant.description);
            let selection = selection(files, material.targets);
            let run = Experiment::of_tests(Question::Mutant, Tree::Head, selection, &what);
            all.push(Experiment { edits: vec![(changed.path.clone(), text)], ..run });
        }
    }
    all.truncate(limit);
    all
}
