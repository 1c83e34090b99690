//! GREEN: do the tests fail if their expectations cannot be met? An always-failing control test
//! must fail too, and an always-passing one must pass. Each expectation must matter on its own,
//! with a value of the same letters and type; an expectation that a test never reaches does not
//! count. Needed for code that defines its own equality, swallows failures, ends the process, or
//! manipulates the test runner in another way.

use super::{About, Answer, Experiment, Material, Question, Tree, canary, is_target, selection};
use crate::report::{Report, Status, Test};
use crate::syntax::{self, Extent, Item, Language, Letters, PerturbRules, Pick};
use crate::verdict::{Code, Reason};

/// The maximum number of expectations of one test to check one by one.
const EXPECTATIONS_MAX: usize = 8;

/// First all expectations at once, then the last one of each test, the one before it, and so on.
pub(super) fn impossible(material: &Material<'_>, files: &[String]) -> Vec<Experiment> {
    let read: Vec<TestFile> =
        files.iter().filter_map(|file| TestFile::read(material, file)).collect();
    let extents: Vec<Extent> =
        std::iter::once(Extent::Everything).chain((0..EXPECTATIONS_MAX).map(Extent::One)).collect();
    let (last, first) =
        (changed(&read, &extents, Pick::Last), changed(&read, &extents, Pick::First));
    let mut reached = reached(&read).into_iter();
    let mut asked: Vec<Experiment> = Vec::new();
    for ((extent, control), otherwise) in extents.into_iter().zip(last).zip(first) {
        let stops = match extent {
            Extent::Everything => Vec::new(),
            Extent::One(_) => reached.next().unwrap_or_default(),
        };
        let Some(control) = control.map(|control| control.experiment(material, files, extent))
        else {
            break;
        };
        // Numbers change in only one way, and a test may have only one expectation.
        if asked.iter().any(|other| other.covers(&control)) {
            continue;
        }
        let reached = is_reached(&control, stops).map(Box::new);
        let otherwise = otherwise.map(|other| other.experiment(material, files, extent));
        let otherwise = otherwise.map(|other| Box::new(Experiment { otherwise: reached, ..other }));
        asked.push(Experiment { otherwise, ..control });
    }
    asked
}

/// The tests that expect exceptions, each expecting the exception of another test.
pub(super) fn exchanged(material: &Material<'_>, files: &[String]) -> Option<Experiment> {
    let mut changed = FailingTests::default();
    for file in files.iter().filter_map(|file| TestFile::read(material, file)) {
        let exchanged = match file.language {
            Language::Python => syntax::exchanged(&file.path, &file.source, &file.wanted()),
            Language::JavaScript
            | Language::TypeScript
            | Language::Tsx
            | Language::Rust
            | Language::Go
            | Language::Java
            | Language::Other => None,
        };
        if let Some((text, names)) = exchanged {
            changed
                .about
                .extend(names.into_iter().map(|item| About { file: file.path.clone(), item }));
            changed.edits.push((file.path, text));
        }
    }
    let what = "the tests, each expecting the exception of another test";
    let run = Experiment::of_tests(
        Question::Exceptions,
        Tree::Head,
        selection(files, material.targets),
        what,
    );
    (!changed.edits.is_empty()).then_some(Experiment {
        edits: changed.edits,
        about: changed.about,
        ..run
    })
}

/// A file with RED tests.
struct TestFile {
    path: String,
    language: Language,
    source: String,
    items: Vec<Item>,
}

impl TestFile {
    fn read(material: &Material<'_>, path: &str) -> Option<Self> {
        let (source, language) = ((material.now)(path)?, Language::of_path(path));
        let mut items = syntax::items(language, path, &source);
        items.retain(|item| item.is_test && is_target(material, path, &item.name));
        Some(Self { path: path.to_owned(), language, source, items })
    }

    fn wanted(&self) -> Vec<&Item> {
        self.items.iter().collect()
    }
}

/// Files with tests that must fail.
#[derive(Default)]
struct FailingTests {
    edits: Vec<(String, String)>,
    about: Vec<About>,
}

/// Each file with one assertion of each test, counted from the last, replaced by a failure.
fn reached(files: &[TestFile]) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new(); EXPECTATIONS_MAX];
    for file in files {
        let stopped = syntax::stopped_each(
            file.language,
            &file.path,
            &file.source,
            &file.wanted(),
            EXPECTATIONS_MAX,
        );
        for (edits, stopped) in all.iter_mut().zip(stopped) {
            edits.extend(stopped.map(|text| (file.path.clone(), text)));
        }
    }
    all
}

/// The tests of the experiment, made to fail at the expectation.
fn is_reached(control: &Experiment, mut stops: Vec<(String, String)>) -> Option<Experiment> {
    stops.retain(|(path, _)| control.edits.iter().any(|(changed, _)| changed == path));
    if stops.is_empty() || stops.len() != control.edits.len() {
        return None;
    }
    let what = "the tests, made to fail at the expectation".to_owned();
    Some(Experiment { question: Question::Reached, edits: stops, what, ..control.clone() })
}

/// The files with expectations that cannot be met, for each extent. `None` if there is nothing to
/// change.
fn changed(files: &[TestFile], extents: &[Extent], pick: Pick) -> Vec<Option<FailingTests>> {
    let mut all: Vec<FailingTests> = extents.iter().map(|_| FailingTests::default()).collect();
    for file in files {
        let each = |extents: &[Extent], letters| {
            let way = PerturbRules { pick, letters };
            syntax::impossible_each(
                file.language,
                &file.path,
                &file.source,
                &file.wanted(),
                extents,
                way,
            )
        };
        let whole = |extent: &Extent| *extent == Extent::Everything;
        let (whole, single): (Vec<Extent>, Vec<Extent>) =
            extents.iter().partition(|extent| whole(extent));
        let texts = each(&whole, Letters::Near).into_iter().chain(each(&single, Letters::Own));
        for ((changed, extent), text) in all.iter_mut().zip(extents).zip(texts) {
            changed.add(file, *extent, text);
        }
    }
    all.into_iter().map(|changed| (!changed.edits.is_empty()).then_some(changed)).collect()
}

impl FailingTests {
    fn add(&mut self, file: &TestFile, extent: Extent, changed: Option<(String, Vec<String>)>) {
        let everything = extent == Extent::Everything;
        let canary =
            everything.then(|| canary::of(file.language, &file.path, &file.source)).flatten();
        let (mut text, names) = match (changed, &canary) {
            (Some((text, names)), _) => (text, names),
            (None, Some(_)) => (file.source.clone(), Vec::new()),
            (None, None) => return,
        };
        let about = |item: String| About { file: file.path.clone(), item };
        self.about.extend(names.into_iter().map(about));
        if let Some(canary) = canary {
            text.push_str(&canary);
            let failing =
                [canary::NAME, canary::CALM].into_iter().filter(|name| canary.contains(name));
            self.about.extend(failing.map(|name| about(name.to_owned())));
        }
        self.edits.push((file.path.clone(), text));
    }

    fn experiment(self, material: &Material<'_>, files: &[String], extent: Extent) -> Experiment {
        let what = match extent {
            Extent::Everything => "the tests, with expectations that cannot be met",
            Extent::One(0) => "the tests, with a last expectation that cannot be met",
            Extent::One(_) => "the tests, with one expectation that cannot be met",
        };
        let question = match extent {
            Extent::Everything | Extent::One(0) => Question::Impossible,
            Extent::One(_) => Question::Expectation,
        };
        let run =
            Experiment::of_tests(question, Tree::Head, selection(files, material.targets), what);
        Experiment { edits: self.edits, about: self.about, ..run }
    }
}

impl Experiment {
    pub(super) fn unmet(&self, report: &Report) -> Answer {
        let mut passing = Vec::new();
        for about in &self.about {
            let seen: Vec<&Test> = report.tests.iter().filter(|test| about.is(test)).collect();
            // Only one row of a table changed, so one of its rows must fail.
            if !seen.is_empty() && seen.iter().all(|test| test.status == Status::Passed) {
                passing.extend(seen.first().copied());
            }
        }
        if passing.is_empty() {
            return self.sound(report);
        }
        let tell = |test: &&Test| {
            let sentence = format!("{} passes with an expectation that cannot be met", test.id);
            Reason::new(Code::GreenNotDiscriminating, sentence).test(&test.id)
        };
        Answer::Wrong(passing.iter().map(tell).collect())
    }

    /// The tests may ask for one exception with two types. An exception that passes for all types
    /// is not honest.
    pub(super) fn any_exception(&self, report: &Report) -> Answer {
        let passes = |about: &About| {
            let mut own = report.tests.iter().filter(|test| about.is(test)).peekable();
            own.peek().is_some() && own.all(|test| test.status == Status::Passed)
        };
        match self.about.first().filter(|_| self.about.iter().all(passes)) {
            Some(first) => {
                let sentence = format!(
                    "{} and every other test that expects an exception pass with an unrelated one: \
                 the code raises one exception for everything",
                    first.item
                );
                Answer::Ask(vec![
                    Reason::new(Code::GreenSuspicious, sentence).place(Some(&first.file), None),
                ])
            }
            None => Answer::Right,
        }
    }

    /// The tests that reach the inserted failure.
    pub(super) fn reached(&self, report: &Report) -> Answer {
        let fails = |about: &About| {
            report.tests.iter().find(|test| about.is(test) && test.status.is_failure())
        };
        let told = self.about.iter().filter_map(fails).map(|test| {
            let sentence = format!("{} fails at its expectation", test.id);
            Reason::new(Code::GreenNotDiscriminating, sentence).test(&test.id)
        });
        let reasons: Vec<Reason> = told.collect();
        if reasons.is_empty() { Answer::Right } else { Answer::Wrong(reasons) }
    }

    /// Failing tests prove something only if an always-passing test passes next to them.
    fn sound(&self, report: &Report) -> Answer {
        let files = self.edits.iter().map(|(file, _)| file);
        let sound: Vec<About> = files
            .map(|file| About { file: file.clone(), item: canary::SOUND.to_owned() })
            .collect();
        let failing =
            |test: &&Test| test.status.is_failure() && sound.iter().any(|about| about.is(test));
        match report.tests.iter().find(failing) {
            Some(test) => {
                let sentence = "an always-passing control test fails too: something makes every \
                                test fail";
                Answer::Ask(vec![
                    Reason::new(Code::GreenNotDiscriminating, sentence).test(&test.id),
                ])
            }
            None => Answer::Right,
        }
    }
}
