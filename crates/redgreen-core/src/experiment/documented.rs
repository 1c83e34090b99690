//! GREEN: documentation examples are tests in the files that GREEN writes, so it may change them.
//! In their old form, they must still pass on the candidate.

use super::reworked::Names;
use super::{About, Experiment, Material, Question, Tree};
use crate::change::Class;
use crate::framework::cargo;
use crate::framework::invoke::Selection;
use crate::report::{Report, Status, Test};
use crate::syntax::{self, Item, ItemChange, ItemKind, Language};
use crate::verdict::{Code, Reason};

/// What GREEN did to existing examples.
#[derive(Clone, Debug, Default)]
pub struct ExampleChanges {
    /// Changed or removed, by their old names.
    pub changed: Vec<About>,
    /// Moved to another place, but unchanged.
    pub moved: Vec<About>,
}

/// The old examples on the new code.
#[derive(Clone, Debug)]
pub struct ExampleExperiment {
    pub experiment: Experiment,
    /// Each example by its old name, and by the current name of its item.
    examples: Vec<(About, About)>,
}

/// Compares the examples of both trees, in all code that changed.
pub fn documented(material: &Material<'_>) -> ExampleChanges {
    let mut all = ExampleChanges::default();
    let (mut removed, mut added): (Vec<(About, Item)>, Vec<Item>) = (Vec::new(), Vec::new());
    let code = material
        .change
        .paths
        .iter()
        .filter(|path| matches!(path.class, Class::Mixed | Class::Implementation));
    for changed in code.filter(|changed| is_documented(&changed.path)) {
        let language = Language::of_path(&changed.path);
        let (old, new) = ((material.before)(&changed.path), (material.now)(&changed.path));
        let about = |item: &Item| About { file: changed.path.clone(), item: item.name.clone() };
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        for change in syntax::test_block_frozen(language, &changed.path, &old, &new) {
            match change {
                ItemChange::Added(item) if item.kind == ItemKind::DocTest => added.push(item),
                ItemChange::Removed(item) if item.kind == ItemKind::DocTest => {
                    removed.push((about(&item), item));
                }
                ItemChange::Renamed { old, .. } if old.kind == ItemKind::DocTest => {
                    all.moved.push(about(&old));
                }
                ItemChange::Changed { old, .. } | ItemChange::Weakened { old, .. }
                    if old.kind == ItemKind::DocTest =>
                {
                    all.changed.push(about(&old));
                }
                ItemChange::Added(_)
                | ItemChange::Removed(_)
                | ItemChange::Renamed { .. }
                | ItemChange::Changed { .. }
                | ItemChange::Weakened { .. } => {}
            }
        }
    }
    for (about, item) in removed {
        let twin = added
            .iter()
            .position(|new| new.body_hash == item.body_hash && new.markers == item.markers);
        if let Some(at) = twin {
            added.swap_remove(at);
            all.moved.push(about);
        } else {
            all.changed.push(about);
        }
    }
    all
}

fn is_documented(path: &str) -> bool {
    matches!(Language::of_path(path), Language::Rust | Language::Python)
}

impl ExampleChanges {
    /// The report without the examples that are handled here.
    pub fn without(&self, before: &Report) -> Report {
        let mut report = before.clone();
        let accounted: Vec<&About> = self.changed.iter().chain(&self.moved).collect();
        report.tests.retain(|test| !accounted.iter().any(|about| is_example(about, test)));
        report
    }

    /// The examples that a test run includes: `before` has their results, or nothing was built.
    pub fn tested(mut self, before: &Report) -> Self {
        let is_known = |about: &About| before.tests.iter().any(|test| is_example(about, test));
        let is_built = before.load_errors.is_empty() && before.owed.is_empty();
        self.changed.retain(|about| is_known(about) || !is_built);
        self
    }

    /// The old examples on the candidate: unchanged, and with the new names of renamed code. Only
    /// if each of them has a place.
    pub fn laid(&self, material: &Material<'_>) -> Vec<ExampleExperiment> {
        let names = Names::of(material);
        let as_it_is = |text: &str| text.to_owned();
        let renamed = |text: &str| names.rename(text);
        let what = "the old examples on the new code";
        let mut all: Vec<ExampleExperiment> =
            self.lay(material, as_it_is, what).into_iter().collect();
        let named =
            self.lay(material, renamed, "the old examples, with new names, on the new code");
        all.extend(
            named.filter(|named| {
                !all.iter().any(|one| one.experiment.edits == named.experiment.edits)
            }),
        );
        all
    }

    fn lay(
        &self,
        material: &Material<'_>,
        name: impl Fn(&str) -> String,
        what: &str,
    ) -> Option<ExampleExperiment> {
        let mut files: Vec<&String> = self.changed.iter().map(|about| &about.file).collect();
        files.sort_unstable();
        files.dedup();
        let mut edits = Vec::new();
        for file in files {
            let language = Language::of_path(file);
            let (old, new) = (name(&(material.before)(file)?), (material.now)(file)?);
            let text = syntax::overlay_examples(language, file, &old, &new)?;
            // An example that cannot be inserted would look like one that passes.
            let frozen = syntax::test_block_frozen(language, file, &old, &text);
            let is_lost = |change: &ItemChange| match change {
                ItemChange::Added(_) | ItemChange::Renamed { .. } => false,
                ItemChange::Removed(old)
                | ItemChange::Changed { old, .. }
                | ItemChange::Weakened { old, .. } => old.kind == ItemKind::DocTest,
            };
            if frozen.iter().any(is_lost) {
                return None;
            }
            edits.push((file.clone(), text));
        }
        let now = |about: &About| About { file: about.file.clone(), item: name(&about.item) };
        let examples: Vec<(About, About)> =
            self.changed.iter().map(|about| (about.clone(), now(about))).collect();
        let about: Vec<About> = examples.iter().map(|(_, now)| now.clone()).collect();
        let run = Experiment::of_tests(Question::Documented, Tree::Head, selection(&about), what);
        Some(ExampleExperiment { experiment: Experiment { edits, about, ..run }, examples })
    }

    /// Old examples that have no place in the candidate.
    pub fn homeless(&self) -> Vec<Reason> {
        let tell = |about: &About| {
            let sentence = format!(
                "{} was changed or removed together with the code it documents",
                told(about)
            );
            Reason::new(Code::GreenTestsChanged, sentence).place(Some(&about.file), None)
        };
        self.changed.iter().map(tell).collect()
    }

    /// A note for the reviewer.
    pub fn note(&self) -> String {
        let names: Vec<String> = self.changed.iter().map(told).collect();
        format!("GREEN changed {}; the old version passes too", names.join(", "))
    }
}

/// The examples to run. The runner cannot select Python examples by file.
pub(super) fn selection(about: &[About]) -> Selection {
    let name = |about: &About| {
        let names = syntax::names_of(Language::Rust, &about.item);
        about
            .file
            .ends_with(".rs")
            .then(|| cargo::example(&about.file, names.last().copied().unwrap_or_default()))
    };
    let examples: Option<Vec<String>> = about.iter().map(name).collect();
    examples.map_or(Selection::All, Selection::Files)
}

impl ExampleExperiment {
    /// Reasons against the candidate from the old examples. `before` says which of them passed.
    pub fn weigh(&self, before: &Report, targets: &[String], seen: &Report) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for (old, now) in &self.examples {
            let known: Vec<&Test> =
                before.tests.iter().filter(|test| is_example(old, test)).collect();
            let is_owed =
                |test: &&&Test| test.status == Status::Passed || targets.contains(&test.id);
            // An example that already failed, and is not a target, may still fail.
            if !known.is_empty() && !known.iter().any(|test| is_owed(&test)) {
                continue;
            }
            let results: Vec<&Test> =
                seen.tests.iter().filter(|test| is_example(now, test)).collect();
            let says = match results.iter().find(|test| test.status.is_failure()) {
                Some(test) => {
                    let message = test.message.as_deref().unwrap_or("no message");
                    format!("fails: {}", crate::judge::reports::first_line(message))
                }
                None if results.iter().any(|test| test.status == Status::Passed) => continue,
                None if known.is_empty() => continue,
                None => "did not run".to_owned(),
            };
            let sentence = format!("{} was changed, and its old version {says}", told(old));
            let line = results.first().and_then(|test| test.line);
            reasons
                .push(Reason::new(Code::GreenTestsChanged, sentence).place(Some(&old.file), line));
        }
        reasons
    }
}

/// `the example of roman in src/lib.rs`.
fn told(about: &About) -> String {
    match syntax::names_of(Language::of_path(&about.file), &about.item).last() {
        Some(name) => format!("the example of `{name}` in {}", about.file),
        None => format!("the example at the top of {}", about.file),
    }
}

/// Whether a result belongs to this example. The documentation of a file may be any of its
/// examples.
fn is_example(about: &About, test: &Test) -> bool {
    (!about.file.ends_with(".rs") || test.id.contains("/doc::")) && about.is(test)
}
