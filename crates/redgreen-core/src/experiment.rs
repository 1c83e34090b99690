//! Controls: runs whose right answer is known beforehand. A suite that gives the wrong one cannot be believed, whatever
//! it says of the candidate.
//!
//! Each is a question as data: which tree, what is laid over it, which tests are run, and what an honest suite answers.
//! The program performs it in the clean room; [`Experiment::weigh`] rules on what came of it.

mod asleep;
pub mod behaviour;
mod beside;
mod canary;
pub mod examples;
pub mod inquiry;
pub mod outside;
pub mod recital;
pub mod reworked;
mod scope;
mod stand_in;
pub mod suite;
mod suspected;
mod waiting;
mod wrong_reason;

use crate::change::{Change, ChangedPath, Class, Kind};
use crate::framework;
use crate::framework::invoke::Selection;
use crate::phase::JudgedPhase;
use crate::report::{LoadError, LoadErrorKind, Outcome, Report, Status, Test};
use crate::syntax::{self, Extent, INERT_VALUE, Item, Language, Package, Pick};
use crate::verdict::{Code, Reason};

pub(crate) use asleep::asleep;
pub use scope::new_features;
pub use suspected::{hidden_from_coverage, suspicions};
pub use wrong_reason::{doubts, wrong_reasons};

/// Test files that are looked at; the others of a very large change are taken as they are.
const FILES_MAX: usize = 50;
/// Faults that are put into the changed lines, at most.
const MUTANTS_MAX: usize = 50;

/// What the questions are made from.
pub struct Material<'a> {
    pub phase: JudgedPhase,
    pub change: &'a Change,
    /// What the candidate's tests showed.
    pub after: &'a Report,
    /// The tests that RED made fail, as far as they are known by now.
    pub targets: &'a [String],
    /// Every path of the candidate.
    pub paths: &'a [String],
    pub packages: &'a [Package],
    pub brief: &'a str,
    /// The text of a file in the tree accepted last, and in the candidate as it was run.
    pub before: &'a dyn Fn(&str) -> Option<String>,
    pub now: &'a dyn Fn(&str) -> Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// The one accepted last.
    Base,
    /// The one before that.
    Earlier,
    /// The candidate, its tests as the phase froze them.
    Head,
    /// The candidate with its own tests.
    AsIs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Is every test as it should be?
    Suite,
    /// Is it the same once more? A new test has to fail each time; an old one that passes once is a flake.
    Again,
    /// Does the code answer the same calls in the same way elsewhere: on the tree before, or where no test runner is?
    Calls,
    /// Are examples met that whoever wrote the code never saw?
    Withheld,
    /// RED: do the tests fail for more than a snapshot that nobody has recorded yet?
    Recording,
    /// RED: do the tests call what they test, and fail when it does nothing?
    Inert,
    /// GREEN: do the tests fail when the new code does nothing? Asked where RED could not be built.
    Empty,
    /// GREEN: do the tests still fail on the code before?
    OldCode,
    /// GREEN: do tests fail whose expectations cannot be met, and one that always fails, beside one that always passes?
    Impossible,
    /// Do the tests notice a fault in the changed lines?
    Mutant,
    /// REFACTOR: do the tests of now notice what those of before noticed?
    Reworked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    pub question: Question,
    pub tree: Tree,
    /// Files laid over the tree.
    pub edits: Vec<(String, String)>,
    /// Files taken out of it.
    pub removed: Vec<String>,
    pub way: Way,
    pub variables: Vec<(&'static str, String)>,
    /// The tests it is about, by id, or by the place of the item in its file.
    pub about: Vec<About>,
    /// In a few words, for a person.
    pub what: String,
    /// The same question asked in another way: wrong is only what is wrong both times.
    pub otherwise: Option<Box<Experiment>>,
    /// How often it was made before.
    pub time: usize,
}

/// What is done once the files are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// The project's tests are run.
    Tests(Selection),
    /// A program of ours reads what to call and writes down what came of it; only data goes in and out.
    Driver { driver: Driver, question: String },
    /// The tests are run, and with them an example program is built, of the package in that folder. Then it is run alone,
    /// where there are no tests; what it prints is the log.
    Program { selection: Selection, folder: String, apart: Vec<String> },
}

/// A program of ours, and who runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    pub interpreter: Interpreter,
    pub file: &'static str,
    pub source: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpreter {
    Python,
    Node,
}

/// What came of an experiment.
#[derive(Clone, Debug, Default)]
pub enum Observation {
    /// Tests were run; the log is what the experiment's own code wrote down.
    Ran { report: Box<Report>, log: String },
    /// What a driver said.
    Said(String),
    /// It was not made: there was no time, or what it needs is not here.
    #[default]
    Nothing,
}

impl Observation {
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Ran { report, .. } => Some(report),
            Self::Said(_) | Self::Nothing => None,
        }
    }

    /// What a driver said, if there was one.
    pub fn said(&self) -> Option<&str> {
        match self {
            Self::Said(said) => Some(said),
            Self::Ran { .. } | Self::Nothing => None,
        }
    }

    pub fn log(&self) -> &str {
        match self {
            Self::Ran { log, .. } => log,
            Self::Said(said) => said,
            Self::Nothing => "",
        }
    }
}

impl Experiment {
    /// A run of tests on a tree as it is.
    fn of_tests(question: Question, tree: Tree, selection: Selection, what: &str) -> Self {
        Self {
            question,
            tree,
            edits: Vec::new(),
            removed: Vec::new(),
            way: Way::Tests(selection),
            variables: Vec::new(),
            about: Vec::new(),
            what: what.to_owned(),
            otherwise: None,
            time: 0,
        }
    }
}

/// A test as its file knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub file: String,
    pub item: String,
}

/// What a control showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// As it should be.
    Right,
    /// The suite is not to be believed.
    Wrong(Vec<Reason>),
    /// A human has to look.
    Ask(Vec<Reason>),
    /// A fault nobody noticed; one alone proves nothing.
    Unnoticed(String),
    /// The control itself could not be performed.
    Unknown(String),
}

impl Answer {
    /// What is wrong by both answers.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Wrong(mut reasons), Self::Wrong(others)) => {
                reasons.retain(|reason| others.iter().any(|other| other.test == reason.test));
                if reasons.is_empty() { Self::Right } else { Self::Wrong(reasons) }
            }
            (Self::Wrong(_), Self::Right) => Self::Right,
            (answer, _) => answer,
        }
    }
}

/// Those of a phase, the cheapest first, with so many faults at most. For a candidate that would be accepted otherwise.
pub fn experiments(material: &Material<'_>, faults_max: usize) -> Vec<Experiment> {
    match material.phase {
        JudgedPhase::Red => red(material),
        JudgedPhase::Green => green(material, faults_max),
        JudgedPhase::Refactor => Vec::new(),
    }
}

fn red(material: &Material<'_>) -> Vec<Experiment> {
    let files = changed_test_files(material);
    let mut controls = Vec::new();
    if !material.targets.is_empty() {
        controls.push(Experiment::of_tests(
            Question::Again,
            Tree::Head,
            selection(&files, material.targets),
            "the new tests, once more",
        ));
    }
    let records = |file: &String| (material.now)(file).is_some_and(|source| source.contains("Snapshot("));
    if files.iter().any(records) {
        controls.push(Experiment {
            question: Question::Recording,
            tree: Tree::Head,
            edits: Vec::new(),
            way: Way::Tests(selection(&files, material.targets)),
            removed: Vec::new(),
            time: 0,
            // Runners write missing snapshots, except where they take themselves to be in CI.
            variables: vec![("CI", String::new())],
            about: Vec::new(),
            what: "the new tests, recording snapshots".to_owned(),
            otherwise: None,
        });
    }
    let (stand_ins, what) = stand_in::stand_ins(material, &files);
    if !stand_ins.is_empty() {
        let about = files.iter().flat_map(|file| tests_of(material, file)).collect();
        let control = Experiment {
            question: Question::Inert,
            tree: Tree::Head,
            edits: stand_ins,
            way: Way::Tests(selection(&files, material.targets)),
            removed: Vec::new(),
            time: 0,
            variables: Vec::new(),
            about,
            what: what.to_owned(),
            otherwise: None,
        };
        // Only a test that passes with both values that do nothing asks for nothing.
        let other = Experiment { variables: vec![(INERT_VALUE, "other".to_owned())], ..control.clone() };
        controls.push(Experiment { otherwise: Some(Box::new(other)), ..control });
    }
    controls
}

fn green(material: &Material<'_>, faults_max: usize) -> Vec<Experiment> {
    let files = target_files(material);
    let mut controls = Vec::new();
    if !material.targets.is_empty() {
        controls.push(Experiment::of_tests(
            Question::OldCode,
            Tree::Base,
            selection(&files, material.targets),
            "the tests of RED on the code before",
        ));
    }
    controls.extend(emptied(material, &files));
    let mut asked: Vec<Experiment> = Vec::new();
    for extent in [Extent::Everything, Extent::Last] {
        let ways = [Pick::Last, Pick::First].map(|pick| impossible(material, &files, extent, pick).map(Box::new));
        if let [Some(control), otherwise] = ways {
            // The last expectation of tests with one is all of them.
            if !asked.iter().any(|other| other.covers(&control)) {
                asked.push(Experiment { otherwise, ..*control });
            }
        }
    }
    controls.extend(asked);
    controls.extend(mutants(material, &files).into_iter().take(faults_max));
    controls
}

/// What RED could not be asked, because nobody had written the signatures yet.
fn emptied(material: &Material<'_>, files: &[String]) -> Option<Experiment> {
    if !files.iter().any(|file| file.ends_with(".rs")) {
        return None;
    }
    let (edits, _) = stand_in::stand_ins(material, files);
    let late = edits.iter().any(|(path, _)| path.ends_with(".rs") && (material.before)(path) != (material.now)(path));
    let known = files.iter().any(|file| {
        let (stand_ins, _) =
            stand_in::stand_ins(&Material { now: material.before, ..*material }, std::slice::from_ref(file));
        !stand_ins.is_empty()
    });
    if !late || known || material.targets.is_empty() {
        return None;
    }
    let control = Experiment {
        question: Question::Empty,
        tree: Tree::Head,
        edits,
        way: Way::Tests(selection(files, material.targets)),
        removed: Vec::new(),
        time: 0,
        variables: Vec::new(),
        about: Vec::new(),
        what: "the tests of RED, with code that does nothing".to_owned(),
        otherwise: None,
    };
    let other = Experiment { variables: vec![(INERT_VALUE, "other".to_owned())], ..control.clone() };
    Some(Experiment { otherwise: Some(Box::new(other)), ..control })
}

fn impossible(material: &Material<'_>, files: &[String], extent: Extent, pick: Pick) -> Option<Experiment> {
    let (mut edits, mut about) = (Vec::new(), Vec::new());
    for file in files {
        let Some(source) = (material.now)(file) else { continue };
        let language = Language::of_path(file);
        let items = syntax::items(language, file, &source);
        let wanted: Vec<&Item> =
            items.iter().filter(|item| item.is_test && is_target(material, file, &item.name)).collect();
        let changed = syntax::impossible(language, file, &source, &wanted, extent, pick);
        let canary = (extent == Extent::Everything).then(|| canary::of(language, file, &source)).flatten();
        let (mut text, names) = match (changed, &canary) {
            (Some((text, names)), _) => (text, names),
            (None, Some(_)) => (source, Vec::new()),
            (None, None) => continue,
        };
        about.extend(names.into_iter().map(|item| About { file: file.clone(), item }));
        if let Some(canary) = canary {
            text.push_str(&canary);
            let failing = [canary::NAME, canary::CALM].into_iter().filter(|name| canary.contains(name));
            about.extend(failing.map(|name| About { file: file.clone(), item: name.to_owned() }));
        }
        edits.push((file.clone(), text));
    }
    let what = match extent {
        Extent::Everything => "the tests with expectations that cannot be met",
        Extent::Last => "the tests with a last expectation that cannot be met",
    };
    (!edits.is_empty()).then(|| Experiment {
        question: Question::Impossible,
        tree: Tree::Head,
        edits,
        way: Way::Tests(selection(files, material.targets)),
        removed: Vec::new(),
        time: 0,
        variables: Vec::new(),
        about,
        what: what.to_owned(),
        otherwise: None,
    })
}

fn mutants(material: &Material<'_>, files: &[String]) -> Vec<Experiment> {
    let mut all = Vec::new();
    let code = |changed: &&ChangedPath| {
        matches!(changed.class, Class::Implementation | Class::Mixed) && changed.kind != Kind::Deleted
    };
    for changed in material.change.paths.iter().filter(code) {
        let Some(source) = (material.now)(&changed.path) else { continue };
        let old = (material.before)(&changed.path).unwrap_or_default();
        let lines: Vec<_> = syntax::added_lines(&old, &source).into_iter().map(|line| line..=line).collect();
        for mutant in syntax::mutants(Language::of_path(&changed.path), &changed.path, &source, &lines, MUTANTS_MAX) {
            let Some(text) = mutant.apply(&source) else { continue };
            all.push(Experiment {
                question: Question::Mutant,
                tree: Tree::Head,
                edits: vec![(changed.path.clone(), text)],
                way: Way::Tests(selection(files, material.targets)),
                removed: Vec::new(),
                time: 0,
                variables: Vec::new(),
                about: Vec::new(),
                what: format!("{}:{}: {}", changed.path, mutant.line, mutant.description),
                otherwise: None,
            });
        }
    }
    all.truncate(MUTANTS_MAX);
    all
}

impl Experiment {
    /// What the observation says of the suite.
    pub fn weigh(&self, material: &Material<'_>, observation: &Observation) -> Answer {
        let Some(report) = observation.report() else { return Answer::Unknown(self.what.clone()) };
        let calls = observation.log();
        match self.question {
            // What these mean is told by comparing two of them.
            Question::Suite | Question::Calls | Question::Withheld | Question::Reworked => Answer::Right,
            Question::Again => again(material, report),
            Question::Recording => recording(material, report),
            Question::Inert => self.inert(material, report, calls),
            Question::Empty => empty(material, report, calls),
            Question::OldCode => old_code(material, report),
            Question::Impossible => self.unmet(report),
            Question::Mutant => {
                let noticed = report.outcome != Outcome::Passed;
                if noticed { Answer::Right } else { Answer::Unnoticed(self.what.clone()) }
            }
        }
    }

    /// Whether the other one lays nothing over the tree that this one does not; a canary stands at the end.
    fn covers(&self, other: &Self) -> bool {
        let laid = |(path, text): &(String, String)| {
            self.edits.iter().any(|(known, more)| known == path && more.starts_with(text.as_str()))
        };
        other.edits.iter().all(laid)
    }

    fn inert(&self, material: &Material<'_>, report: &Report, calls: &str) -> Answer {
        if let Some(error) = report.load_errors.iter().find(|error| {
            let at = error.file.as_deref().unwrap_or_default();
            !material.after.load_errors.is_empty() && self.about.iter().any(|about| about.file == at)
        }) {
            if !brings_what_is_missing(material, error) {
                return Answer::Unknown(self.what.clone());
            }
            // Everything that the project could still bring is there, and it does not load all the same.
            let said = error.message.lines().next().unwrap_or_default();
            let sentence = format!("the test does not load even with the feature in place: {said}");
            return Answer::Wrong(vec![
                Reason::new(Code::RedUnrelatedSymbol, sentence).place(error.file.as_deref(), error.line),
            ]);
        }
        let new: Vec<&Test> = report.tests.iter().filter(|test| self.is_about(test)).collect();
        let Some(first) = new.first() else { return Answer::Unknown(self.what.clone()) };
        if calls.trim().is_empty() && !self.uses_a_value(material) {
            let sentence = format!("{} never calls the code it is about", first.id);
            if new.iter().any(|test| waiting::waits_for_golden(material, test, &self.about)) {
                return Answer::Right;
            }
            // What a test starts as a program of its own may not be able to tell us.
            if self.what == stand_in::EVERYTHING
                && self.about.iter().any(|about| stand_in::starts(material, &about.file))
            {
                return Answer::Right;
            }
            if self.what == stand_in::EVERYTHING {
                return Answer::Ask(vec![Reason::new(Code::RedNoCall, sentence).test(&first.id)]);
            }
            return Answer::Wrong(vec![Reason::new(Code::RedNoCall, sentence).test(&first.id)]);
        }
        let asking = |test: &&&Test| test.status.is_failure();
        if new.iter().any(|test| asking(&test)) {
            return Answer::Right;
        }
        let sentence = format!("{} passes with code that does nothing", first.id);
        Answer::Wrong(vec![Reason::new(Code::RedNoAssertion, sentence).test(&first.id)])
    }

    /// Whether a test looks at something imported without calling it: a constant is as good as a function.
    fn uses_a_value(&self, material: &Material<'_>) -> bool {
        self.about.iter().any(|about| {
            let Some(source) = (material.now)(&about.file) else { return false };
            let language = Language::of_path(&about.file);
            let items = syntax::items(language, &about.file, &source);
            let Some(item) = items.iter().find(|item| item.name == about.item) else { return false };
            let body = source.get(item.span.clone()).unwrap_or_default();
            let project = syntax::Project { paths: material.paths, packages: material.packages };
            let mut own = syntax::imports(language, &source);
            own.retain(|import| {
                let replaced = |path: &String| self.edits.iter().any(|(edited, _)| edited == path);
                syntax::resolve(language, &about.file, import, project).iter().any(replaced)
                    || stand_in::planned(language, &about.file, import, material).iter().any(replaced)
            });
            if language != Language::Python && !language.is_script() {
                return own.iter().any(|import| {
                    let member = |name: &String| is_value(body, &format!("{}.{name}", import.module));
                    import.names.iter().any(|name| is_value(body, name) || member(name))
                });
            }
            let stems = self.edits.iter().filter_map(|(path, _)| path.strip_suffix(".py")?.rsplit('/').next());
            let files: Vec<String> = stems.map(str::to_owned).collect();
            syntax::looks_at(language, &source, item.span.clone(), &own, &files)
        })
    }

    fn unmet(&self, report: &Report) -> Answer {
        let mut passing = Vec::new();
        for about in &self.about {
            let seen: Vec<&Test> = report.tests.iter().filter(|test| about.is(test)).collect();
            // One row of a table was changed: one of its rows has to fail.
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

    /// Tests that fail prove something only where one that asks for nothing passes beside them.
    fn sound(&self, report: &Report) -> Answer {
        let files = self.edits.iter().map(|(file, _)| file);
        let sound: Vec<About> =
            files.map(|file| About { file: file.clone(), item: canary::SOUND.to_owned() }).collect();
        let failing = |test: &&Test| test.status.is_failure() && sound.iter().any(|about| about.is(test));
        match report.tests.iter().find(failing) {
            Some(test) => {
                let sentence =
                    "a test that asks for nothing fails beside the others: whatever runs them fails all alike";
                Answer::Ask(vec![Reason::new(Code::GreenNotDiscriminating, sentence).test(&test.id)])
            }
            None => Answer::Right,
        }
    }

    fn is_about(&self, test: &Test) -> bool {
        self.about.iter().any(|about| about.is(test))
    }
}

/// A stand-in has every name that is asked of it, except where types are checked: there it has what the code has, and
/// only what can never be a part of the project is known to be wrong.
fn brings_what_is_missing(material: &Material<'_>, error: &LoadError) -> bool {
    const FOREIGN: [&str; 3] = ["unlinked crate", "undeclared crate", "can't find crate"];
    let file = error.file.as_deref().unwrap_or_default();
    let language = Language::of_path(file);
    if error.kind != LoadErrorKind::MissingSymbol || language == Language::Python || language.is_script() {
        return true;
    }
    let name = error.message.rsplit('`').nth(1).unwrap_or_default();
    // In `tests` every program stands alone: its first names are those of crates.
    let planned = !is_external_test(file) && stand_in::is_expected(name, file, material);
    FOREIGN.iter().any(|words| error.message.contains(words)) && !planned
}

/// A file in `tests` beside `src` is a program of its own.
fn is_external_test(file: &str) -> bool {
    file.starts_with("tests/") || file.contains("/tests/") && !file.contains("src/")
}

/// Whether the name stands in the text as a value: not called, not a part of another one, not in quotes.
fn is_value(text: &str, name: &str) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || "_.'\"`$".contains(letter);
    text.match_indices(name).any(|(at, found)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(part) && !after.is_some_and(|letter| part(letter) || letter == '(')
    })
}

fn again(material: &Material<'_>, report: &Report) -> Answer {
    let new: Vec<About> = changed_test_files(material).iter().flat_map(|file| tests_of(material, file)).collect();
    // An old test beside the new ones that wavers did so before, and is nobody's doing.
    let is_own = |test: &Test| new.is_empty() || new.iter().any(|about| about.is(test));
    let passing = |id: &String| report.test(id).filter(|test| test.status == Status::Passed);
    let own = material.targets.iter().find(|id| passing(id).is_some_and(is_own));
    let all = || material.targets.first().filter(|_| material.targets.iter().all(|id| passing(id).is_some()));
    match own.or_else(all) {
        // Where only some of the new tests waver, the others still ask for something; but a suite that wavers cannot judge.
        Some(id) => {
            let sentence = format!("{id} failed, and passes when it is run again");
            Answer::Wrong(vec![Reason::new(Code::RedFlaky, sentence).test(id)])
        }
        None => Answer::Right,
    }
}

fn recording(material: &Material<'_>, report: &Report) -> Answer {
    let passes = |id: &String| report.test(id).is_some_and(|test| test.status == Status::Passed);
    match material.targets.first() {
        Some(first) if material.targets.iter().all(passes) => {
            let sentence = format!("{first} only waits for a snapshot to be recorded, and would take any");
            Answer::Wrong(vec![Reason::new(Code::RedPasses, sentence).test(first)])
        }
        Some(_) | None => Answer::Right,
    }
}

/// A macro or a type has no body that could be emptied: only what was called and did nothing tells.
fn empty(material: &Material<'_>, report: &Report, calls: &str) -> Answer {
    let passes = |id: &String| report.test(id).is_some_and(|test| test.status == Status::Passed);
    match material.targets.first() {
        Some(first) if !calls.trim().is_empty() && material.targets.iter().all(passes) => {
            let sentence = format!("{first} passes with code that does nothing");
            Answer::Wrong(vec![Reason::new(Code::GreenNotDiscriminating, sentence).test(first)])
        }
        Some(_) | None => Answer::Right,
    }
}

fn old_code(material: &Material<'_>, report: &Report) -> Answer {
    let passes = |id: &String| report.test(id).is_some_and(|test| test.status == Status::Passed);
    let all = material.targets.iter().all(passes);
    match material.targets.first() {
        Some(first) if all => {
            let sentence = format!("{first} passes on the code before as well");
            Answer::Wrong(vec![Reason::new(Code::GreenNotDiscriminating, sentence).test(first)])
        }
        Some(_) | None => Answer::Right,
    }
}

impl About {
    /// Whether a runner's result is of this test: its id ends with the item's name, parameters aside.
    pub(crate) fn is(&self, test: &Test) -> bool {
        let plain = plain(&test.id);
        let ends = plain.strip_suffix(self.item.as_str()).is_some_and(|rest| {
            rest.is_empty() || rest.ends_with("::") || rest.ends_with("> ") || rest.ends_with(['.', ' ', '/'])
        });
        (ends || self.is_row(&test.id) || self.is_subtest(&test.id) || self.is_method(&test.id))
            && is_in(test, &self.file)
            || is_doc_test(&test.id, &self.file, &self.item)
    }

    /// What a test of Go runs has names that are made while it runs.
    fn is_subtest(&self, id: &str) -> bool {
        self.file.ends_with(".go") && framework::go::function_of(id) == Some(self.item.as_str())
    }

    /// JUnit writes `demo.CalcTest$Inner::adds(int)[1]` for the method of a class in a class.
    fn is_method(&self, id: &str) -> bool {
        let plain = id.split(['(', '[']).next().unwrap_or(id).replace("::", ".").replace('$', ".");
        let before = plain.strip_suffix(self.item.as_str()).filter(|_| self.file.ends_with(".java"));
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    }

    /// A title with holes in it, which the runner fills in for every row of a table: `wraps %j at $width`.
    fn is_row(&self, id: &str) -> bool {
        if !Language::of_path(&self.file).is_script() {
            return false;
        }
        let pattern = syntax::title_pattern(&self.item);
        pattern.contains('*')
            && (syntax::glob::matches(&pattern, id) || syntax::glob::matches(&format!("*> {pattern}"), id))
    }
}

/// `roman/doc::src/lib.rs - to_roman` is documentation of `to_roman`.
fn is_doc_test(id: &str, file: &str, item: &str) -> bool {
    let Some((_, place)) = id.split_once("/doc::") else { return false };
    let Some((path, name)) = place.split_once(" - ") else { return false };
    let name = name.split(" #").next().unwrap_or(name);
    let (name, item) = (name.rsplit("::").next(), item.trim_start_matches("doc ").rsplit("::").next());
    file.ends_with(path) && name == item
}

/// Without what a parametrised test adds.
fn plain(id: &str) -> &str {
    match id.split_once('[') {
        Some((before, _)) if id.ends_with(']') => before,
        Some(_) | None => id,
    }
}

fn is_in(test: &Test, file: &str) -> bool {
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let unknown = test.file.is_none();
    test.file.as_deref() == Some(file) || test.id.starts_with(file) || unknown || test.id.contains(stem)
}

/// The test files that RED wrote or changed; for a language with tests beside the code, the code as well.
fn changed_test_files(material: &Material<'_>) -> Vec<String> {
    let changed = material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted);
    let tests = changed.filter(|changed| matches!(changed.class, Class::Test | Class::Mixed | Class::MoreTests));
    tests.map(|changed| changed.path.clone()).take(FILES_MAX).collect()
}

/// The files that hold the tests of RED.
fn target_files(material: &Material<'_>) -> Vec<String> {
    let targets = material.targets.iter().filter_map(|id| material.after.test(id));
    let mut files: Vec<String> = Vec::new();
    for test in targets {
        let holds = |path: &&String| {
            Language::of_path(path) != Language::Other
                && (test.id.starts_with(path.as_str()) || test.file.as_deref() == Some(path.as_str()))
        };
        let by_item = |path: &&String| {
            path.ends_with(".rs")
                && (material.now)(path).is_some_and(|source| {
                    let items = syntax::items(Language::Rust, path, &source);
                    items
                        .iter()
                        .any(|item| item.is_test && About { file: (*path).clone(), item: item.name.clone() }.is(test))
                })
        };
        let home = material.paths.iter().find(holds).or_else(|| material.paths.iter().find(by_item));
        if let Some(home) = home.filter(|home| !files.contains(*home)) {
            files.push(home.clone());
        }
    }
    files.truncate(FILES_MAX);
    files
}

fn tests_of(material: &Material<'_>, file: &str) -> Vec<About> {
    let Some(source) = (material.now)(file) else { return Vec::new() };
    let items = syntax::items(Language::of_path(file), file, &source);
    let old = (material.before)(file).unwrap_or_default();
    let known = syntax::items(Language::of_path(file), file, &old);
    let is_new = |item: &&Item| !known.iter().any(|old| old.name == item.name && old.text_hash == item.text_hash);
    let tests = items.iter().filter(|item| item.is_test).filter(is_new);
    tests.map(|item| About { file: file.to_owned(), item: item.name.clone() }).collect()
}

fn is_target(material: &Material<'_>, file: &str, item: &str) -> bool {
    let about = About { file: file.to_owned(), item: item.to_owned() };
    material.targets.iter().filter_map(|id| material.after.test(id)).any(|test| about.is(test))
}

/// The files that hold the tests. A doc test has no name that rustdoc could be given, so that all are run.
fn selection(files: &[String], targets: &[String]) -> Selection {
    let documented = targets.iter().any(|id| id.contains("/doc::"));
    if files.is_empty() || documented { Selection::All } else { Selection::Files(files.to_vec()) }
}

#[cfg(test)]
mod tests;
