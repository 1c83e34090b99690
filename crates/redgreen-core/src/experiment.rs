//! Experiments: runs whose right answer is known beforehand. A suite that gives the wrong one cannot be believed, whatever
//! it says of the candidate.
//!
//! Each is a question as data: which tree, what is laid over it, which tests are run, and what an honest suite answers.
//! The program performs it in the clean room; [`Experiment::weigh`] rules on what came of it.

mod about;
mod again;
mod around;
mod asleep;
pub mod bodies;
pub mod calls;
mod canary;
pub mod contents;
pub mod examples;
mod impossible;
mod mutants;
mod old_code;
pub mod oracle;
pub mod order;
pub mod outside;
pub mod replaced;
pub mod reworked;
mod scope;
mod stand_in;
mod stub;
pub mod suite;
pub mod surface;
mod unknown_names;
mod unwritten;

use crate::change::{self, Change, Class, Kind};
use crate::framework::invoke::Selection;
use crate::phase::JudgedPhase;
use crate::report::{Outcome, Report, Test};
use crate::syntax::{self, Item, Language, Package};
use crate::verdict::{Code, Reason};

pub use about::About;
pub use around::{hidden_from_coverage, shadows};
pub(crate) use asleep::asleep;
pub use bodies::Build;
pub use scope::new_features;
pub(crate) use stub::do_nothing;
pub use unknown_names::unknown_names;

/// Test files that are looked at; the others of a very large change are taken as they are.
const FILES_MAX: usize = 50;

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

impl<'a> Material<'a> {
    /// What the files of a tree hold.
    fn texts(&self, tree: Tree) -> &'a dyn Fn(&str) -> Option<String> {
        match tree {
            Tree::Base | Tree::Earlier => self.before,
            Tree::Head | Tree::AsIs => self.now,
        }
    }

    /// Whether a path is one of the tests: by its name, or because its change is one of tests.
    fn is_test(&self, path: &str) -> bool {
        let changed = self.change.paths.iter().find(|changed| changed.path == path);
        change::is_test(path) || changed.is_some_and(|changed| matches!(changed.class, Class::Test | Class::MoreTests))
    }
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
    /// What is the result of every test?
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
    /// RED: where the tests pass with code that does nothing, is it other code of the project that checks for them?
    Checked,
    /// RED: do the tests fail when their expectations cannot be met, with code that does nothing?
    Lenient,
    /// GREEN: do the tests fail when the new code does nothing? Asked where RED could not be built.
    Empty,
    /// GREEN: do the tests still fail on the code before?
    OldCode,
    /// GREEN: do the tests themselves read data that GREEN changed?
    Oracle,
    /// GREEN: do tests fail whose expectations cannot be met, and one that always fails, beside one that always passes?
    Impossible,
    /// GREEN: does each expectation matter by itself?
    Expectation,
    /// GREEN: is an expectation that does not seem to matter reached at all?
    Reached,
    /// GREEN: do tests fail that wait for another exception than they ask for?
    Exceptions,
    /// GREEN: does the code's answer hold what the test writes out, where the code calls both equal?
    Contents,
    /// GREEN: do the tests of RED pass alone, in another order and twice?
    Order,
    /// Do the tests notice a fault in the changed lines?
    Mutant,
    /// REFACTOR: do the tests of now notice what those of before noticed?
    Reworked,
}

/// How much time an experiment gets, and whether it is left out once there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// As long as the whole suite; it is always made.
    Needed,
    Expectation,
    Order,
    /// A fault may never end: it gets little more than the usual time.
    Fault,
    Comparison,
    /// A program of ours, with limits of its own.
    Program,
}

impl Question {
    /// What the answer means is told by comparing it with another one.
    fn is_compared(self) -> bool {
        matches!(self, Self::Suite | Self::Calls | Self::Withheld | Self::Contents | Self::Order | Self::Reworked)
    }

    pub fn allowance(self) -> Allowance {
        match self {
            Self::Expectation => Allowance::Expectation,
            Self::Order => Allowance::Order,
            Self::Mutant => Allowance::Fault,
            Self::Reworked => Allowance::Comparison,
            Self::Calls => Allowance::Program,
            Self::Suite
            | Self::Again
            | Self::Withheld
            | Self::Recording
            | Self::Inert
            | Self::Checked
            | Self::Lenient
            | Self::Empty
            | Self::OldCode
            | Self::Oracle
            | Self::Impossible
            | Self::Reached
            | Self::Exceptions
            | Self::Contents => Allowance::Needed,
        }
    }
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
    /// The same, and the log ends with those of the files that were opened, one on each line.
    Watched { selection: Selection, files: Vec<String> },
    /// A program of ours reads what to call and writes down what came of it; only data goes in and out.
    Driver { driver: Driver, question: String },
    /// A program is built in the folder `root`. Then it is started in the folder `home`, where the files `apart` are gone;
    /// its output is the observation.
    Program { build: Build, root: String, home: String, apart: Vec<String> },
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
    pub(crate) fn of_tests(question: Question, tree: Tree, selection: Selection, what: &str) -> Self {
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
        let what = "the new tests, recording snapshots";
        let selection = selection(&files, material.targets);
        // Runners write missing snapshots, except where they take themselves to be in CI.
        let variables = vec![("CI", String::new())];
        let run = Experiment::of_tests(Question::Recording, Tree::Head, selection, what);
        controls.push(Experiment { variables, ..run });
    }
    controls.extend(stub::stubs(material, &files));
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
    controls.extend(oracle::oracle(material, &files));
    controls.extend(stub::emptied(material, &files));
    controls.extend(impossible::impossible(material, &files));
    controls.extend(impossible::exchanged(material, &files));
    controls.extend(contents::look(material).map(|look| look.experiment));
    controls.extend(calls::watches(material, Tree::Head).into_iter().map(|watch| watch.experiment));
    let programs = bodies::programs(material).into_iter().filter(|program| !program.tells_order());
    controls.extend(programs.map(|program| program.experiment(material)));
    // What these mean is told later; they are listed here to be made beside the others. Where code is built, nothing is.
    let built = files.iter().any(|file| matches!(Language::of_path(file), Language::Rust | Language::Go));
    let orders = if built { order::Orders::default() } else { order::orders(material) };
    controls.extend(orders.first);
    controls.extend(mutants::mutants(material, &files, faults_max));
    controls.extend(orders.more);
    controls
}

impl Experiment {
    /// What the observation says of the suite.
    pub fn weigh(&self, material: &Material<'_>, observation: &Observation) -> Answer {
        if self.question.is_compared() {
            return Answer::Right;
        }
        let Some(report) = observation.report() else { return Answer::Unknown(self.what.clone()) };
        if self.is_unanswered(material, report) {
            return self.unanswered();
        }
        let calls = observation.log();
        match self.question {
            Question::Suite
            | Question::Calls
            | Question::Withheld
            | Question::Contents
            | Question::Order
            | Question::Reworked => Answer::Right,
            Question::Again => again::again(material, report),
            Question::Recording => again::recording(material, report),
            Question::Inert => self.inert(material, report, calls),
            Question::Checked => self.checked(material, report, calls),
            Question::Lenient => self.lenient(report),
            Question::Empty => stub::empty(material, report, calls),
            Question::Oracle => oracle::weigh(report, &self.opened(calls)),
            Question::OldCode => old_code::old_code(material, report),
            Question::Impossible | Question::Expectation => self.unmet(report),
            Question::Reached => self.reached(report),
            Question::Exceptions => self.any_exception(report),
            Question::Mutant => {
                let noticed = report.outcome != Outcome::Passed;
                if noticed { Answer::Right } else { Answer::Unnoticed(self.what.clone()) }
            }
        }
    }

    /// Whether the run came to an end, and none of the tests that it is about has a result. What could not be built or loaded
    /// has a reason of its own.
    fn is_unanswered(&self, material: &Material<'_>, report: &Report) -> bool {
        let is_target = |test: &Test| material.targets.contains(&test.id) || self.is_about(test);
        let needs_tests = matches!(
            self.question,
            Question::OldCode
                | Question::Impossible
                | Question::Expectation
                | Question::Exceptions
                | Question::Mutant
                | Question::Empty
        );
        let is_silent = report.load_errors.is_empty() && matches!(report.outcome, Outcome::Passed | Outcome::NoTests);
        let has_targets = !material.targets.is_empty();
        needs_tests && has_targets && is_silent && !report.tests.iter().any(is_target)
    }

    fn unanswered(&self) -> Answer {
        let sentence =
            format!("{}: none of the tests of RED has a result, so nothing shows that they can fail", self.what);
        Answer::Ask(vec![Reason::new(Code::GreenSuspicious, sentence)])
    }

    /// Whether the other one lays nothing over the tree that this one does not; a canary stands at the end.
    fn covers(&self, other: &Self) -> bool {
        let laid = |(path, text): &(String, String)| {
            self.edits.iter().any(|(known, more)| known == path && more.starts_with(text.as_str()))
        };
        other.edits.iter().all(laid)
    }

    /// Which of the files that are watched the log names.
    fn opened<'l>(&self, log: &'l str) -> Vec<&'l str> {
        let is_watched = |line: &&str| match &self.way {
            Way::Watched { files, .. } => files.iter().any(|file| file == line),
            Way::Tests(_) | Way::Driver { .. } | Way::Program { .. } => false,
        };
        log.lines().filter(is_watched).collect()
    }

    fn is_about(&self, test: &Test) -> bool {
        self.about.iter().any(|about| about.is(test))
    }
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
        let told = test.identity().file();
        // What the code under test can change comes second: pytest tells the file of a function's code.
        let places = [told.as_deref(), test.file.as_deref()];
        let holds = |place: Option<&str>| {
            let is_there = |path: &&String| Language::of_path(path) != Language::Other && place == Some(path.as_str());
            material.paths.iter().find(is_there)
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
        let home = places.into_iter().find_map(holds).or_else(|| material.paths.iter().find(by_item));
        if let Some(home) = home.filter(|home| !files.contains(*home)) {
            files.push(home.clone());
        }
    }
    files.truncate(FILES_MAX);
    files
}

/// The tests that the candidate added or changed; a file of a benchmark without one stands for itself.
pub fn new_tests(material: &Material<'_>) -> Vec<About> {
    let files = changed_test_files(material).into_iter();
    let tests = files.flat_map(|file| {
        let tests = tests_of(material, &file);
        if tests.is_empty() && change::is_benchmark(&file) {
            vec![About { item: "the benchmark".to_owned(), file }]
        } else {
            tests
        }
    });
    tests.collect()
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
