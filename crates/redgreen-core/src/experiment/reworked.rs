//! REFACTOR may change tests. This file compares them item by item, across all changed test files,
//! and proves that the new tests detect what the old ones did.

use std::collections::{BTreeMap, BTreeSet};

use super::{About, Experiment, Material, Method, Question, Tree, documented, selection};
use crate::change::{ChangedPath, Class, Kind};
use crate::framework::invoke::Selection;
use crate::report::{Outcome, Report};
use crate::syntax::{self, Item, ItemChange, ItemKind, Language, Weakness};
use crate::verdict::{Code, Reason};

/// The maximum number of mutants for comparing old and new tests.
const MUTANTS_MAX: usize = 30;

/// What happened to the tests.
#[derive(Clone, Debug, Default)]
pub struct TestChanges {
    /// The same test under another name or in another place.
    pub moved: Vec<About>,
    /// Removed or changed: the new tests must prove that they check as much.
    pub lost: Vec<About>,
    /// Removed together with private code that only this test covered.
    pub dead: Vec<About>,
    /// Removed together with public code that only this test covered, and its name. redgreen cannot
    /// know whether others use it.
    pub retired: Vec<(About, String)>,
    /// Checks less than before, by its text.
    pub weaker: Vec<(About, Vec<Weakness>)>,
    /// The changed test files of the old tree.
    pub files: Vec<String>,
    /// Code around the tests of a file changed, and may change what they check.
    pub reframed: bool,
    /// New documentation examples, which may check what others checked before.
    pub new_examples: Vec<About>,
}

/// One mutant, tried with the old tests and with the new ones.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub old: Experiment,
    pub new: Experiment,
}

impl TestChanges {
    pub fn is_proof_needed(&self) -> bool {
        !self.lost.is_empty() || !self.weaker.is_empty() || self.reframed
    }

    /// The report without the tests that are handled here.
    pub fn without(&self, before: &Report) -> Report {
        let weaker = self.weaker.iter().map(|(about, _)| about);
        let gone = self.dead.iter().chain(self.retired.iter().map(|(about, _)| about));
        let accounted: Vec<&About> =
            self.moved.iter().chain(&self.lost).chain(gone).chain(weaker).collect();
        let mut report = before.clone();
        report.tests.retain(|test| !accounted.iter().any(|about| about.is(test)));
        report
    }

    /// Public code that was removed with its tests. A human knows whether others use it.
    pub fn removals(&self) -> Vec<Reason> {
        let mut removed: BTreeMap<&str, Vec<&About>> = BTreeMap::new();
        for (about, name) in &self.retired {
            removed.entry(name).or_default().push(about);
        }
        let tell = |(name, tests): (&str, Vec<&About>)| {
            let first = tests.first().map_or("", |about| about.item.as_str());
            let others = match tests.len().saturating_sub(1) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let sentence = format!(
                "public `{name}` was removed together with {first}{others}: does anything else use \
                 it?"
            );
            let file = tests.first().map(|about| about.file.as_str());
            Reason::new(Code::RefactorPublicRemoved, sentence).place(file, None)
        };
        removed.into_iter().map(tell).collect()
    }

    /// Reasons from the text alone against a changed test, if no mutant distinguishes old and new.
    pub fn doubts(&self) -> Vec<Reason> {
        let tell = |(about, how): &(About, Vec<Weakness>)| {
            let words: Vec<&str> = how.iter().map(weakness).collect();
            let sentence = format!("{} in {} {}", about.item, about.file, words.join(", "));
            Reason::new(Code::RefactorTestsWeakened, sentence).place(Some(&about.file), None)
        };
        self.weaker.iter().map(tell).collect()
    }
}

pub(super) fn weakness(weakness: &Weakness) -> &'static str {
    match weakness {
        Weakness::FewerAssertions => "has fewer assertions",
        Weakness::LessExact => "compares less exactly",
        Weakness::FewerRows => "has fewer rows",
        Weakness::Marked(_) => "is marked as skipped or expected to fail",
        Weakness::NotATest => "is no longer a test",
    }
}

pub fn reworked(material: &Material<'_>) -> TestChanges {
    let names = Names::of(material);
    let mut all = TestChanges::default();
    let mut removed: Vec<(About, Item)> = Vec::new();
    let mut added: Vec<Item> = Vec::new();
    for changed in &material.change.paths {
        let language = Language::of_path(&changed.path);
        let tests = matches!(changed.class, Class::Test | Class::Mixed | Class::MoreTests);
        if !tests || language == Language::Other {
            continue;
        }
        let old = names.rename(&(material.before)(&changed.path).unwrap_or_default());
        let new = (material.now)(&changed.path).unwrap_or_default();
        if changed.kind != Kind::Added {
            all.files.push(changed.path.clone());
        }
        let framed = |source: &str| syntax::frame(language, &changed.path, source);
        all.reframed |= changed.kind == Kind::Modified
            && changed.class == Class::Test
            && framed(&old) != framed(&new);
        let about = |item: &Item| About { file: changed.path.clone(), item: item.name.clone() };
        for change in syntax::test_block_frozen(language, &changed.path, &old, &new) {
            match change {
                ItemChange::Added(item) => {
                    all.new_examples
                        .extend(Some(about(&item)).filter(|_| item.kind == ItemKind::DocTest));
                    added.push(item);
                }
                ItemChange::Renamed { old, .. } => all.moved.push(about(&old)),
                ItemChange::Removed(item) => removed.push((about(&item), item)),
                ItemChange::Changed { old, .. } if old.is_test => all.lost.push(about(&old)),
                // A changed helper may affect every test of its file.
                ItemChange::Changed { old, .. } => all.lost.push(about(&old)),
                ItemChange::Weakened { old, how, .. } => all.weaker.push((about(&old), how)),
            }
        }
    }
    let subject = |about: &About, item: &Item| {
        let source = names.rename(&(material.before)(&about.file).unwrap_or_default());
        names.gone_subject(source.get(item.span.clone()).unwrap_or_default())
    };
    for (about, item) in removed {
        let twin =
            added.iter().position(|new| new.body_hash == item.body_hash && new.kind == item.kind);
        if let Some(at) = twin {
            added.swap_remove(at);
            all.moved.push(about);
            continue;
        }
        match subject(&about, &item) {
            Some(name) if name.private => all.dead.push(about),
            // An item that is not a test only helps other tests, which show what they cover.
            Some(name) if item.is_test => all.retired.push((about, name.name.clone())),
            Some(_) | None => all.lost.push(about),
        }
    }
    all
}

/// The names that the changed code defined before and defines now.
pub(super) struct Names {
    /// Removed names.
    gone: Vec<syntax::Name>,
    kept: BTreeSet<String>,
    /// The same code under another name.
    renamed: Vec<(String, String)>,
}

impl Names {
    pub(super) fn of(material: &Material<'_>) -> Self {
        let mut old: Vec<(&str, syntax::Name)> = Vec::new();
        let mut new: Vec<(&str, syntax::Name)> = Vec::new();
        let code =
            |changed: &&ChangedPath| matches!(changed.class, Class::Implementation | Class::Mixed);
        for changed in material.change.paths.iter().filter(code) {
            let (path, language) = (changed.path.as_str(), Language::of_path(&changed.path));
            let names = |source: Option<String>| {
                let names = syntax::names(language, path, &source.unwrap_or_default());
                names.into_iter().map(move |name| (path, name))
            };
            old.extend(names((material.before)(path)));
            new.extend(names((material.now)(path)));
        }
        let kept: BTreeSet<String> = new.iter().map(|(_, name)| name.name.clone()).collect();
        let is_fresh = |name: &syntax::Name| !old.iter().any(|(_, known)| known.name == name.name);
        new.retain(|(_, name)| is_fresh(name));
        let mut lost: Vec<&(&str, syntax::Name)> =
            old.iter().filter(|(_, name)| !kept.contains(&name.name)).collect();
        lost.dedup_by(|one, other| one.1.name == other.1.name);
        let mut renamed: Vec<(String, String)> = Vec::new();
        // Short code has many duplicates: take the next one in the same file, and each only once.
        for (path, name) in &lost {
            let is_taken = |fresh: &str| renamed.iter().any(|(_, taken)| taken == fresh);
            let twins = || {
                new.iter().filter(|(_, fresh)| {
                    fresh.body_hash == name.body_hash && !is_taken(&fresh.name)
                })
            };
            let twin = twins().find(|(home, _)| home == path).or_else(|| twins().next());
            renamed.extend(twin.map(|(_, twin)| (name.name.clone(), twin.name.clone())));
        }
        let lost: Vec<&syntax::Name> = lost.into_iter().map(|(_, name)| name).collect();
        // Code that was rewritten under a new name has no duplicate. Tests that differ only by the
        // name reveal it.
        for name in &lost {
            let told = new
                .iter()
                .map(|(_, fresh)| fresh)
                .find(|fresh| only_renames(material, &name.name, &fresh.name));
            if let Some(fresh) =
                told.filter(|_| !renamed.iter().any(|(known, _)| *known == name.name))
            {
                renamed.push((name.name.clone(), fresh.name.clone()));
            }
        }
        let gone = lost
            .into_iter()
            .filter(|name| !renamed.iter().any(|(old, _)| *old == name.name))
            .cloned()
            .collect();
        Self { gone, renamed, kept }
    }

    /// An old test with the new names.
    pub(super) fn rename(&self, test: &str) -> String {
        self.renamed
            .iter()
            .fold(test.to_owned(), |text, (old, new)| syntax::renamed(&text, old, new))
    }

    /// The subject of a test that covers only removed code; public names first.
    fn gone_subject(&self, test: &str) -> Option<&syntax::Name> {
        if self.kept.iter().any(|name| syntax::mentions(test, name)) {
            return None;
        }
        self.gone
            .iter()
            .filter(|name| syntax::mentions(test, &name.name))
            .min_by_key(|name| name.private)
    }
}

/// Whether a test file or a documentation example changed only by that name.
fn only_renames(material: &Material<'_>, old: &str, new: &str) -> bool {
    let tests = material.change.paths.iter().filter(|changed| changed.class == Class::Test);
    let is_test = tests.into_iter().any(|changed| {
        let (before, now) = ((material.before)(&changed.path), (material.now)(&changed.path));
        before.zip(now).is_some_and(|(before, now)| {
            syntax::mentions(&before, old) && syntax::renamed(&before, old, new) == now
        })
    });
    let mut code = material.change.paths.iter().filter(|changed| changed.class == Class::Mixed);
    is_test || code.any(|changed| renames_example(material, &changed.path, old, new))
}

fn renames_example(material: &Material<'_>, path: &str, old: &str, new: &str) -> bool {
    let (before, now) =
        ((material.before)(path).unwrap_or_default(), (material.now)(path).unwrap_or_default());
    if !syntax::mentions(&before, old) || !syntax::mentions(&now, new) {
        return false;
    }
    let examples = |source: &str| -> Vec<u64> {
        let items = syntax::items(Language::of_path(path), path, source).into_iter();
        let about =
            |item: &Item| syntax::mentions(source.get(item.span.clone()).unwrap_or_default(), new);
        items
            .filter(|item| item.kind == ItemKind::DocTest && about(item))
            .map(|item| item.text_hash)
            .collect()
    };
    let known = examples(&now);
    examples(&syntax::renamed(&before, old, new)).iter().any(|example| known.contains(example))
}

/// The code that the changed tests cover, with one mutant each.
pub fn comparisons(material: &Material<'_>, reworked: &TestChanges) -> Vec<Comparison> {
    let mut code = code_of(material, reworked, &reworked.files);
    if code.is_empty() {
        // A helper of tests covers whatever the tests cover.
        let tests = material.paths.iter().filter(|path| material.is_test(path));
        code =
            code_of(material, reworked, &tests.take(super::FILES_MAX).cloned().collect::<Vec<_>>());
    }
    let names = Names::of(material);
    let new_tests = Method::Tests(choice(reworked, &changed_now(material), material.now));
    let mut all = Vec::new();
    let each = MUTANTS_MAX.checked_div(code.len()).unwrap_or(MUTANTS_MAX).max(1);
    for path in &code {
        let Some(source) = (material.now)(path) else { continue };
        let lines = 1..=u32::try_from(source.lines().count()).unwrap_or(u32::MAX);
        for mutant in syntax::mutants(Language::of_path(path), path, &source, &[lines], each) {
            let Some(text) = mutant.apply(&source) else { continue };
            let what = format!("{path}:{}: {}", mutant.line, mutant.description);
            let old = with_old_tests(material, reworked, &names, Some((path, &text)), &what);
            let new = Experiment {
                edits: vec![(path.clone(), text)],
                way: new_tests.clone(),
                ..old.clone()
            };
            all.push(Comparison { old, new });
        }
    }
    all.truncate(MUTANTS_MAX);
    all
}

/// The old tests on the new code without a mutant. Failures here have nothing to do with a mutant.
pub fn old_tests(material: &Material<'_>, reworked: &TestChanges) -> Experiment {
    with_old_tests(material, reworked, &Names::of(material), None, "the old tests on the new code")
}

fn with_old_tests(
    material: &Material<'_>,
    reworked: &TestChanges,
    names: &Names,
    mutant: Option<(&str, &str)>,
    what: &str,
) -> Experiment {
    let mut edits: Vec<(String, String)> = Vec::new();
    edits.extend(mutant.map(|(path, text)| (path.to_owned(), text.to_owned())));
    for file in &reworked.files {
        let Some(old) = (material.before)(file).map(|old| names.rename(&old)) else { continue };
        if !holds_code(material, file) {
            edits.push((file.clone(), old));
            continue;
        }
        // Next to the new code, with or without the mutant.
        let text = mutant.filter(|(path, _)| path == file).map(|(_, text)| text.to_owned());
        let code = text.or_else(|| (material.now)(file)).unwrap_or_default();
        if let Some(text) = syntax::overlay_tests(Language::of_path(file), file, &old, &code) {
            edits.retain(|(path, _)| path != file);
            edits.push((file.clone(), text));
        }
    }
    let selection = choice(reworked, &reworked.files, material.before);
    Experiment { edits, ..Experiment::of_tests(Question::Reworked, Tree::Head, selection, what) }
}

/// The code that test files import.
fn code_of(material: &Material<'_>, reworked: &TestChanges, tests: &[String]) -> Vec<String> {
    let mut code: BTreeSet<String> = BTreeSet::new();
    for file in tests {
        let language = Language::of_path(file);
        let project = syntax::Project { paths: material.paths, packages: material.packages };
        let source = (material.before)(file).or_else(|| (material.now)(file)).unwrap_or_default();
        for import in syntax::imports(language, &source) {
            code.extend(syntax::resolve(language, file, &import, project));
        }
        code.extend(Some(file.clone()).filter(|file| holds_code(material, file)));
    }
    let is_code = |path: &String| {
        holds_code(material, path) || !reworked.files.contains(path) && !material.is_test(path)
    };
    code.into_iter().filter(is_code).collect()
}

/// The tests that can distinguish old and new. Helpers have no tests to run, so all tests that may
/// use them run. Documentation examples are selected one by one, because each is a program to
/// build.
fn choice(
    reworked: &TestChanges,
    files: &[String],
    read: &dyn Fn(&str) -> Option<String>,
) -> Selection {
    let items = |file: &String| {
        let source = read(file).unwrap_or_default();
        syntax::items(Language::of_path(file), file, &source)
    };
    let changed: Vec<&About> =
        reworked.lost.iter().chain(reworked.weaker.iter().map(|(about, _)| about)).collect();
    let mut examples: Vec<About> =
        changed.iter().copied().filter(|about| syntax::is_example(&about.item)).cloned().collect();
    // An old check may now be in another example, or in a plain test.
    let is_gone = |about: &About| !items(&about.file).iter().any(|item| item.name == about.item);
    let gone = examples.iter().any(is_gone);
    examples.extend(reworked.new_examples.iter().filter(|_| gone).cloned());
    let has_plain = |file: &String| {
        items(file).iter().any(|item| item.is_test && item.kind != ItemKind::DocTest)
    };
    let is_help = |about: &&&About| !syntax::is_example(&about.item) && !has_plain(&about.file);
    if changed.iter().any(|about| is_help(&about))
        || reworked.reframed && !files.iter().all(has_plain)
    {
        return Selection::All;
    }
    let plain = files.iter().filter(|file| has_plain(file));
    if examples.is_empty() {
        return selection(&plain.cloned().collect::<Vec<_>>(), &[]);
    }
    let is_touched = |file: &&String| {
        let holds = |about: &&About| about.file == **file && !syntax::is_example(&about.item);
        changed.iter().any(holds) || reworked.reframed || gone
    };
    match documented::selection(&examples) {
        Selection::Files(chosen) => {
            Selection::Files(plain.filter(is_touched).cloned().chain(chosen).collect())
        }
        other @ (Selection::All | Selection::One(_) | Selection::List | Selection::Coverage) => {
            other
        }
    }
}

/// Whether tests and code are in the same file.
fn holds_code(material: &Material<'_>, path: &str) -> bool {
    material
        .change
        .paths
        .iter()
        .any(|changed| changed.path == path && changed.class == Class::Mixed)
}

/// Whether no test fails, except those that also fail without a mutant. A run without tests says
/// nothing.
pub fn is_silent(report: &Report, known: &Report) -> bool {
    let failing = |id: &str| known.test(id).is_some_and(|test| test.status.is_failure());
    match report.outcome {
        Outcome::Passed | Outcome::NoTests | Outcome::Skipped => true,
        Outcome::Failed | Outcome::Errored => {
            let mut fail = report.tests.iter().filter(|test| test.status.is_failure()).peekable();
            report.load_errors.is_empty()
                && fail.peek().is_some()
                && fail.all(|test| failing(&test.id))
        }
        Outcome::TimedOut | Outcome::Crashed | Outcome::DidNotCompile | Outcome::UsageError => {
            false
        }
    }
}

impl Comparison {
    /// Whether the new tests miss a mutant that the old ones killed.
    pub fn weigh(&self, old: &Report, new: &Report, known: &Report) -> Option<Reason> {
        // A busy machine is slow too, so a timeout does not count.
        let noticed = !is_silent(old, known) && old.outcome != Outcome::TimedOut;
        let missed = noticed && is_silent(new, known);
        missed.then(|| {
            let sentence = format!("the old tests detect {}, the new ones do not", self.new.what);
            Reason::new(Code::RefactorTestsWeakened, sentence)
        })
    }
}

/// The changed test files of the candidate.
fn changed_now(material: &Material<'_>) -> Vec<String> {
    let changed = material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted);
    let tests = changed
        .filter(|changed| matches!(changed.class, Class::Test | Class::MoreTests | Class::Mixed));
    tests.map(|changed| changed.path.clone()).collect()
}
