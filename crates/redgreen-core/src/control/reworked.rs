//! REFACTOR may rework tests. What it did to them, item by item, across all test files that changed; and the proof that
//! the new ones notice what the old ones did.

use std::collections::BTreeSet;

use super::{About, Control, Material, Question, Tree, selection};
use crate::change::{Class, Kind};
use crate::report::{Outcome, Report};
use crate::syntax::{self, Item, ItemChange, Language, Weakness};
use crate::verdict::{Code, Reason};

/// Faults that old and new tests are compared by.
const FAULTS_MAX: usize = 30;

/// What became of the tests.
#[derive(Clone, Debug, Default)]
pub struct Reworked {
    /// The same test under another name or in another place.
    pub moved: Vec<About>,
    /// Gone, or with another body: the new tests have to prove that they ask for as much.
    pub lost: Vec<About>,
    /// By its text, asks for less than before.
    pub weaker: Vec<(About, Vec<Weakness>)>,
    /// The test files of the tree before, as far as they changed.
    pub files: Vec<String>,
}

/// One fault, tried with the old tests and with the new ones.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub old: Control,
    pub new: Control,
}

impl Reworked {
    pub fn is_proof_needed(&self) -> bool {
        !self.lost.is_empty() || !self.weaker.is_empty()
    }

    /// The report without the tests that are accounted for otherwise.
    pub fn without(&self, before: &Report) -> Report {
        let weaker = self.weaker.iter().map(|(about, _)| about);
        let accounted: Vec<&About> = self.moved.iter().chain(&self.lost).chain(weaker).collect();
        let mut report = before.clone();
        report.tests.retain(|test| !accounted.iter().any(|about| about.is(test)));
        report
    }

    /// What the text alone says against a test that was reworked, when no fault tells old and new apart.
    pub fn doubts(&self) -> Vec<Reason> {
        let tell = |(about, how): &(About, Vec<Weakness>)| {
            let words: Vec<&str> = how.iter().map(weakness).collect();
            let sentence = format!("{} of {} {}", about.item, about.file, words.join(", "));
            Reason::new(Code::RefactorTestsWeakened, sentence).place(Some(&about.file), None)
        };
        self.weaker.iter().map(tell).collect()
    }
}

fn weakness(weakness: &Weakness) -> &'static str {
    match weakness {
        Weakness::FewerAssertions => "has fewer assertions",
        Weakness::LessExact => "compares less exactly",
        Weakness::FewerRows => "has fewer rows",
        Weakness::Marked(_) => "is marked to be skipped or to fail",
        Weakness::NotATest => "is no test any more",
        Weakness::Loosened(_) => "does not decide any more",
    }
}

pub fn reworked(material: &Material<'_>) -> Reworked {
    let mut all = Reworked::default();
    let mut removed: Vec<(About, Item)> = Vec::new();
    let mut added: Vec<Item> = Vec::new();
    for changed in &material.change.paths {
        let language = Language::of_path(&changed.path);
        let tests = matches!(changed.class, Class::Test | Class::Mixed | Class::MoreTests);
        if !tests || language == Language::Other {
            continue;
        }
        let old = (material.before)(&changed.path).unwrap_or_default();
        let new = (material.now)(&changed.path).unwrap_or_default();
        if changed.kind != Kind::Added {
            all.files.push(changed.path.clone());
        }
        let about = |item: &Item| About { file: changed.path.clone(), item: item.name.clone() };
        for change in syntax::test_block_frozen(language, &changed.path, &old, &new) {
            match change {
                ItemChange::Added(item) => added.push(item),
                ItemChange::Renamed { old, .. } => all.moved.push(about(&old)),
                ItemChange::Removed(item) => removed.push((about(&item), item)),
                ItemChange::Changed { old, .. } if old.is_test => all.lost.push(about(&old)),
                // A helper that changed changes every test of its file, perhaps.
                ItemChange::Changed { old, .. } => all.lost.push(about(&old)),
                ItemChange::Weakened { old, how, .. } => all.weaker.push((about(&old), how)),
            }
        }
    }
    for (about, item) in removed {
        let twin = added.iter().position(|new| new.body_hash == item.body_hash && new.kind == item.kind);
        match twin {
            Some(at) => {
                added.swap_remove(at);
                all.moved.push(about);
            }
            None => all.lost.push(about),
        }
    }
    all
}

/// The code that the reworked tests are about, with one fault each.
pub fn comparisons(material: &Material<'_>, reworked: &Reworked) -> Vec<Comparison> {
    let old_tests: Vec<(String, String)> =
        reworked.files.iter().filter_map(|file| Some((file.clone(), (material.before)(file)?))).collect();
    let mut code: BTreeSet<String> = BTreeSet::new();
    for (file, source) in &old_tests {
        let language = Language::of_path(file);
        let project = syntax::Project { paths: material.paths, packages: material.packages };
        for import in syntax::imports(language, source) {
            code.extend(syntax::resolve(language, file, &import, project));
        }
    }
    let is_code = |path: &&String| !reworked.files.contains(path) && !super::stand_in::is_test(material, path);
    let mut all = Vec::new();
    let code: Vec<String> = code.iter().filter(is_code).cloned().collect();
    let each = FAULTS_MAX.checked_div(code.len()).unwrap_or(FAULTS_MAX).max(1);
    for path in &code {
        let Some(source) = (material.now)(path) else { continue };
        let lines = 1..=u32::try_from(source.lines().count()).unwrap_or(u32::MAX);
        for mutant in syntax::mutants(Language::of_path(path), path, &source, &[lines], each) {
            let Some(text) = mutant.apply(&source) else { continue };
            let what = format!("{path}:{}: {}", mutant.line, mutant.description);
            let fault = (path.clone(), text);
            let new = Control {
                question: Question::Mutant,
                tree: Tree::Head,
                edits: vec![fault.clone()],
                selection: selection(&changed_now(material), material.targets),
                variables: Vec::new(),
                about: Vec::new(),
                what,
            };
            let edits = old_tests.iter().cloned().chain([fault]).collect();
            let old = Control { edits, selection: selection(&reworked.files, material.targets), ..new.clone() };
            all.push(Comparison { old, new });
        }
    }
    all.truncate(FAULTS_MAX);
    all
}

/// The old tests on the new code, without a fault: what they say then is not about a fault.
pub fn old_tests(comparison: &Comparison) -> Control {
    let mut control = comparison.old.clone();
    control.edits.pop();
    control.what = "the tests of before on the code of now".to_owned();
    control
}

impl Comparison {
    /// Whether the new tests miss what the old ones noticed.
    pub fn weigh(&self, old: &Report, new: &Report) -> Option<Reason> {
        let missed = old.outcome != Outcome::Passed && new.outcome == Outcome::Passed;
        missed.then(|| {
            let sentence = format!("the tests of before notice {}, those of now do not", self.new.what);
            Reason::new(Code::RefactorTestsWeakened, sentence)
        })
    }
}

/// Test files of the candidate that changed.
fn changed_now(material: &Material<'_>) -> Vec<String> {
    let changed = material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted);
    let tests = changed.filter(|changed| matches!(changed.class, Class::Test | Class::MoreTests | Class::Mixed));
    tests.map(|changed| changed.path.clone()).collect()
}
