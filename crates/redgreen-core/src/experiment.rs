//! Experiments: test runs whose correct result is known in advance. A suite with the wrong result
//! is not reliable evidence for the candidate.
//!
//! An experiment is data: which tree to use, which files to overlay, which tests to run, and the
//! result of an honest suite. The program runs it in the clean room, and [`Experiment::weigh`]
//! interprets the observation.

mod about;
pub mod bodies;
pub mod calls;
mod canary;
pub mod configuration;
pub mod contents;
mod context;
pub mod documented;
mod dormant;
pub mod examples;
mod impossible;
mod mutants;
mod old_code;
pub mod oracle;
pub mod order;
pub mod outside;
mod repeat;
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
pub use bodies::Build;
pub use context::{hidden_from_coverage, shadows};
pub(crate) use dormant::asleep;
pub use scope::new_features;
pub(crate) use stub::do_nothing;
pub use unknown_names::unknown_names;

/// The maximum number of test files to look at. A very large change may have more.
const FILES_MAX: usize = 50;

/// The input of experiments.
pub struct Material<'a> {
    pub phase: JudgedPhase,
    pub change: &'a Change,
    /// The report of the candidate's tests.
    pub after: &'a Report,
    /// The tests that RED made fail, as far as they are known.
    pub targets: &'a [String],
    /// Every path of the candidate.
    pub paths: &'a [String],
    pub packages: &'a [Package],
    pub brief: &'a str,
    /// The text of a file in the last accepted tree, and in the candidate as it ran.
    pub before: &'a dyn Fn(&str) -> Option<String>,
    pub now: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Material<'a> {
    /// Returns the reader for the files of a tree.
    fn texts(&self, tree: Tree) -> &'a dyn Fn(&str) -> Option<String> {
        match tree {
            Tree::Base | Tree::Earlier => self.before,
            Tree::Head | Tree::AsIs => self.now,
        }
    }

    /// Whether a path is a test, by its name or by the kind of its change.
    fn is_test(&self, path: &str) -> bool {
        let changed = self.change.paths.iter().find(|changed| changed.path == path);
        change::is_test(path)
            || changed
                .is_some_and(|changed| matches!(changed.class, Class::Test | Class::MoreTests))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// The last accepted tree.
    Base,
    /// The tree before the base.
    Earlier,
    /// The candidate, with the tests that the phase froze.
    Head,
    /// The candidate with its own tests.
    AsIs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// What is the result of every test?
    Suite,
    /// Is the result the same in a second run? A new test must fail each time. An old test that
    /// passes once is flaky.
    Again,
    /// Do the same calls have the same result on the tree before, or without a test runner?
    Calls,
    /// Does the code pass examples that its author never saw?
    Withheld,
    /// RED: do the tests fail for another reason than a missing snapshot?
    Recording,
    /// RED: do the tests call the code under test, and fail when it does nothing?
    Inert,
    /// RED: if the tests pass with code that does nothing, does other code of the project do the
    /// checking for them?
    Checked,
    /// RED: with code that does nothing, do the tests fail if their expectations cannot be met?
    Lenient,
    /// GREEN: do the tests fail when the new code does nothing? Used if RED could not be built.
    Empty,
    /// GREEN: do the tests still fail on the old code?
    OldCode,
    /// GREEN: do the tests read data that GREEN changed?
    Oracle,
    /// GREEN: do the tests fail if their expectations cannot be met, does an always-failing test
    /// fail, and does an always-passing test pass?
    Impossible,
    /// GREEN: does each single expectation matter?
    Expectation,
    /// GREEN: does the test reach an expectation that seems not to matter?
    Reached,
    /// GREEN: do the tests fail if they expect a different exception?
    Exceptions,
    /// GREEN: if the code calls the result and the expected value equal, does the result contain
    /// that value?
    Contents,
    /// GREEN: do the RED tests pass alone, in another order, and twice?
    Order,
    /// Do the tests kill a mutant in the changed lines?
    Mutant,
    /// GREEN: do changed documentation examples still pass in their old form?
    Documented,
    /// Are the results the same with the old settings of the test runner?
    Configuration,
    /// REFACTOR: do the changed tests detect everything that the old tests detected?
    Reworked,
}

/// How much time an experiment gets, and whether it is skipped when no time is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// As long as the whole suite. It always runs.
    Needed,
    Expectation,
    Order,
    /// A mutant may never finish, so it gets little more than the usual time.
    Mutant,
    Comparison,
    /// One of our own programs, with its own limits.
    Program,
}

impl Question {
    /// Whether the result has to be compared with another one before it means anything.
    fn is_compared(self) -> bool {
        matches!(
            self,
            Self::Suite
                | Self::Calls
                | Self::Withheld
                | Self::Contents
                | Self::Order
                | Self::Documented
                | Self::Configuration
                | Self::Reworked
        )
    }

    pub fn allowance(self) -> Allowance {
        match self {
            Self::Expectation => Allowance::Expectation,
            Self::Order => Allowance::Order,
            Self::Mutant => Allowance::Mutant,
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
            | Self::Documented
            | Self::Configuration
            | Self::Contents => Allowance::Needed,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    pub question: Question,
    pub tree: Tree,
    /// Files to overlay on the tree.
    pub edits: Vec<(String, String)>,
    /// Files to remove from it.
    pub removed: Vec<String>,
    pub way: Method,
    pub variables: Vec<(&'static str, String)>,
    /// The tests it is about, by id or by the item in its file.
    pub about: Vec<About>,
    /// A short description for people.
    pub what: String,
    /// The same question in another form. The answer is wrong only if both are wrong.
    pub otherwise: Option<Box<Experiment>>,
    /// How often it ran before.
    pub time: usize,
}

/// What to run after the files are in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// Runs the tests of the project.
    Tests(Selection),
    /// The same, and the log ends with the listed files that were opened, one per line.
    Watched { selection: Selection, files: Vec<String> },
    /// Runs one of our programs, which reads calls and writes their results. Only data goes in and
    /// out.
    Driver { driver: Driver, question: String },
    /// Builds a program in the folder `root`, then starts it in the folder `home`, without the
    /// files in `apart`. Its output is the observation.
    Program { build: Build, root: String, home: String, apart: Vec<String> },
}

/// One of our programs, and its interpreter.
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

/// The observation of an experiment.
#[derive(Clone, Debug, Default)]
pub enum Observation {
    /// Tests ran. The log is what the experiment's own code wrote.
    Ran { report: Box<Report>, log: String },
    /// The output of a driver.
    Said(String),
    /// It did not run: no time was left, or something it needs is missing.
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

    /// The output of a driver, if there was one.
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
    /// Runs tests on an unchanged tree.
    pub(crate) fn of_tests(
        question: Question,
        tree: Tree,
        selection: Selection,
        what: &str,
    ) -> Self {
        Self {
            question,
            tree,
            edits: Vec::new(),
            removed: Vec::new(),
            way: Method::Tests(selection),
            variables: Vec::new(),
            about: Vec::new(),
            what: what.to_owned(),
            otherwise: None,
            time: 0,
        }
    }
}

/// The result of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The expected result.
    Right,
    /// The suite is not reliable evidence.
    Wrong(Vec<Reason>),
    /// A human must decide.
    Ask(Vec<Reason>),
    /// A mutant survived. One alone proves nothing.
    Unnoticed(String),
    /// The experiment itself could not run.
    Unknown(String),
}

impl Answer {
    /// Combines two answers: wrong only if both are wrong.
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

/// The experiments of a phase, cheapest first, with at most this many mutants. They are for a
/// candidate that would otherwise be accepted.
pub fn experiments(material: &Material<'_>, mutants_max: usize) -> Vec<Experiment> {
    match material.phase {
        JudgedPhase::Red => red(material),
        JudgedPhase::Green => green(material, mutants_max),
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
    let records =
        |file: &String| (material.now)(file).is_some_and(|source| source.contains("Snapshot("));
    if files.iter().any(records) {
        let what = "the new tests, recording snapshots";
        let selection = selection(&files, material.targets);
        // Runners write missing snapshots, unless they believe that they run in CI.
        let variables = vec![("CI", String::new())];
        let run = Experiment::of_tests(Question::Recording, Tree::Head, selection, what);
        controls.push(Experiment { variables, ..run });
    }
    controls.extend(stub::stubs(material, &files));
    controls
}

fn green(material: &Material<'_>, mutants_max: usize) -> Vec<Experiment> {
    let files = target_files(material);
    let mut controls = Vec::new();
    if !material.targets.is_empty() {
        controls.push(Experiment::of_tests(
            Question::OldCode,
            Tree::Base,
            selection(&files, material.targets),
            "the RED tests on the old code",
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
    // These are interpreted later. They are listed here so that they run in parallel with the
    // others. With a compiler, they do not.
    let built =
        files.iter().any(|file| matches!(Language::of_path(file), Language::Rust | Language::Go));
    let orders = if built { order::Orders::default() } else { order::orders(material) };
    controls.extend(orders.first);
    controls.extend(mutants::mutants(material, &files, mutants_max));
    controls.extend(orders.more);
    controls
}

impl Experiment {
    /// Interprets the observation.
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
            | Question::Documented
            | Question::Configuration
            | Question::Reworked => Answer::Right,
            Question::Again => repeat::again(material, report),
            Question::Recording => repeat::recording(material, report),
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

    /// Whether the run finished, but none of its tests has a result. Code that could not be built
    /// or loaded has its own reason.
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
        let is_silent = report.load_errors.is_empty()
            && matches!(report.outcome, Outcome::Passed | Outcome::NoTests);
        let has_targets = !material.targets.is_empty();
        needs_tests && has_targets && is_silent && !report.tests.iter().any(is_target)
    }

    fn unanswered(&self) -> Answer {
        let sentence =
            format!("{}: no RED test has a result, so nothing shows that they can fail", self.what);
        Answer::Ask(vec![Reason::new(Code::GreenSuspicious, sentence)])
    }

    /// Whether this experiment overlays everything that the other one overlays. A canary is at the
    /// end of a file.
    fn covers(&self, other: &Self) -> bool {
        let laid = |(path, text): &(String, String)| {
            self.edits.iter().any(|(known, more)| known == path && more.starts_with(text.as_str()))
        };
        other.edits.iter().all(laid)
    }

    /// The watched files that the log names.
    fn opened<'l>(&self, log: &'l str) -> Vec<&'l str> {
        let is_watched = |line: &&str| match &self.way {
            Method::Watched { files, .. } => files.iter().any(|file| file == line),
            Method::Tests(_) | Method::Driver { .. } | Method::Program { .. } => false,
        };
        log.lines().filter(is_watched).collect()
    }

    fn is_about(&self, test: &Test) -> bool {
        self.about.iter().any(|about| about.is(test))
    }
}

/// The test files that RED wrote or changed. In a language with tests next to the code, also the
/// code. Data of tests cannot be run: next to a file with code, it is left out.
fn changed_test_files(material: &Material<'_>) -> Vec<String> {
    let changed = material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted);
    let tests = changed
        .filter(|changed| matches!(changed.class, Class::Test | Class::Mixed | Class::MoreTests));
    let mut files: Vec<String> = tests.map(|changed| changed.path.clone()).collect();
    let is_code = |path: &String| Language::of_path(path) != Language::Other;
    if files.iter().any(is_code) {
        files.retain(is_code);
    }
    files.truncate(FILES_MAX);
    files
}

/// The files of the RED tests.
fn target_files(material: &Material<'_>) -> Vec<String> {
    let targets = material.targets.iter().filter_map(|id| material.after.test(id));
    let mut files: Vec<String> = Vec::new();
    for test in targets {
        let told = test.identity().file();
        // The code under test can change the second place: pytest reports the file of a function's
        // code.
        let places = [told.as_deref(), test.file.as_deref()];
        let holds = |place: Option<&str>| {
            let is_there = |path: &&String| {
                Language::of_path(path) != Language::Other && place == Some(path.as_str())
            };
            material.paths.iter().find(is_there)
        };
        let by_item = |path: &&String| {
            path.ends_with(".rs")
                && (material.now)(path).is_some_and(|source| {
                    let items = syntax::items(Language::Rust, path, &source);
                    items.iter().any(|item| {
                        item.is_test
                            && About { file: (*path).clone(), item: item.name.clone() }.is(test)
                    })
                })
        };
        let home =
            places.into_iter().find_map(holds).or_else(|| material.paths.iter().find(by_item));
        if let Some(home) = home.filter(|home| !files.contains(*home)) {
            files.push(home.clone());
        }
    }
    files.truncate(FILES_MAX);
    files
}

/// The tests that the candidate added or changed. A benchmark file without tests counts as one.
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
    let is_new = |item: &&Item| {
        !known.iter().any(|old| old.name == item.name && old.text_hash == item.text_hash)
    };
    let tests = items.iter().filter(|item| item.is_test).filter(is_new);
    tests.map(|item| About { file: file.to_owned(), item: item.name.clone() }).collect()
}

fn is_target(material: &Material<'_>, file: &str, item: &str) -> bool {
    let about = About { file: file.to_owned(), item: item.to_owned() };
    material.targets.iter().filter_map(|id| material.after.test(id)).any(|test| about.is(test))
}

/// The files of the tests. rustdoc cannot select a doc test by name, so all of them run.
fn selection(files: &[String], targets: &[String]) -> Selection {
    let documented = targets.iter().any(|id| id.contains("/doc::"));
    if files.is_empty() || documented { Selection::All } else { Selection::Files(files.to_vec()) }
}

#[cfg(test)]
mod tests;
