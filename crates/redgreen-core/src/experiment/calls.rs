//! Do the same calls have the same results elsewhere?
//!
//! While the tests run, redgreen records calls into the changed code: the arguments before the
//! call, and the outcome. An ordinary program without a test runner and without the tests repeats
//! the calls: in the same order, in reverse, and twice. *Every* part of the outcome is compared:
//! value, exception, output, exit, and the arguments after the call.
//!
//! GREEN compares with the results that the tests got. Needed for code that detects tests in any
//! way. A difference counts only if a bare test under the runner reproduces the recorded result,
//! because fixtures, mocks, clocks and runner settings are legitimate.
//!
//! REFACTOR compares with the tree before, also for arguments similar to the recorded ones. Needed
//! for changes that no test detects: a dropped check, another exception, an argument changed in
//! place.

pub mod built;
mod outcome;
mod python;
mod rust_data;
mod script;

use serde::Deserialize;
use serde_json::Value;

use super::{
    About, Experiment, Material, Question, Tree, is_target, outside, selection, target_files,
};
use crate::change::{Class, Kind};
use crate::framework::invoke::Selection;
use crate::report::{Report, Status, Test};
use crate::syntax::{self, ItemKind, Language};
use crate::verdict::{Code, Reason};

use outcome::{Equality, alike, shown};
pub(super) use python::{DRIVER as PYTHON, RUNNERS};
pub(super) use script::DRIVER as SCRIPT;

/// The maximum number of differences to report.
const DIFFERENCES_MAX: usize = 3;
/// The maximum number of values from changed lines and tests to try as arguments.
const VALUES_MAX: usize = 60;

/// A language whose calls can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    Python,
    Script,
}

/// The tests, run again with the changed modules watched.
pub struct Watch {
    pub speaker: Speaker,
    pub experiment: Experiment,
}

/// The recorded lines of JSON.
#[derive(Debug)]
pub struct Recording {
    speaker: Speaker,
    lines: Vec<String>,
    calls: Vec<Call>,
    /// The import path, relative to the root.
    path: Vec<String>,
    followed: TestEnds,
}

/// How the test functions ended, as the interpreter saw it.
#[derive(Debug, Default)]
struct TestEnds {
    /// Files whose tests cannot run unseen.
    files: Vec<String>,
    /// A test by its file and function name, and whether it returned instead of raising.
    ends: Vec<((String, String), bool)>,
    /// The rest was not recorded.
    lost: bool,
    /// What the language has, and now comes from the code; and whether it was not there before.
    replaced: Vec<(String, bool)>,
}

/// A line about the tests themselves.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TestEndLine {
    follows: Vec<String>,
    test: Option<(String, String)>,
    returned: bool,
    lost: bool,
    replaces: Option<String>,
    added: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct Call {
    number: i64,
    /// A path, or a module's name with dots.
    #[serde(default)]
    module: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    outcome: Value,
}

/// A line of a program that repeats calls.
#[derive(Clone, Debug, Deserialize)]
struct RepeatLine {
    number: i64,
    variant: u32,
    #[serde(default)]
    shown: String,
    outcome: Value,
}

/// The results of repeated calls.
#[derive(Debug, Default)]
pub struct Answers(Vec<RepeatLine>);

/// Open questions about recorded calls.
#[derive(Clone, Debug, Default)]
pub struct OpenQuestions {
    numbers: Vec<i64>,
    /// Calls with different results in an ordinary program.
    pub wavering: Vec<String>,
}

/// The runs that record calls. Empty if no changed code can be watched.
pub fn watches(material: &Material<'_>, tree: Tree) -> Vec<Watch> {
    let tests = match tree {
        Tree::Head | Tree::AsIs => target_files(material),
        // Any old test may call the reworked code.
        Tree::Base | Tree::Earlier => material.paths.to_vec(),
    };
    [Speaker::Python, Speaker::Script]
        .into_iter()
        .filter_map(|speaker| watch(material, tree, &tests, speaker))
        .collect()
}

fn watch(material: &Material<'_>, tree: Tree, tests: &[String], speaker: Speaker) -> Option<Watch> {
    let followed = match tree {
        Tree::Base | Tree::Earlier => Vec::new(),
        Tree::Head | Tree::AsIs => own_tests(material, speaker),
    };
    let watched = changed_modules(material, speaker).into_iter().filter_map(|path| {
        let source = material.texts(tree)(&path)?;
        let text = match speaker {
            Speaker::Python => python::watched(&source, &followed),
            Speaker::Script => script::watched(&path, &source)?,
        };
        Some((path, text))
    });
    let mut edits: Vec<(String, String)> = watched.collect();
    let tests: Vec<String> = tests.iter().filter(|path| speaker.speaks(path)).cloned().collect();
    if edits.is_empty() || tests.is_empty() {
        return None;
    }
    if tree == Tree::Head {
        let is_new = |path: &String| !edits.iter().any(|(known, _)| known == path);
        let respelled: Vec<_> = respelled_tests(material, speaker)
            .into_iter()
            .filter(|(path, _)| is_new(path))
            .collect();
        edits.extend(respelled);
    }
    let selection = match tree {
        Tree::Base | Tree::Earlier => Selection::All,
        Tree::Head | Tree::AsIs => selection(&tests, material.targets),
    };
    let variables = vec![(python::SEED.0, python::SEED.1.to_owned())];
    let what = "the tests, with their calls recorded";
    let experiment = Experiment {
        edits,
        variables,
        ..Experiment::of_tests(Question::Calls, tree, selection, what)
    };
    Some(Watch { speaker, experiment })
}

/// The RED tests with other formatting. To the language they are the same.
pub fn respelled(material: &Material<'_>, speaker: Speaker, time: usize) -> Option<Experiment> {
    let edits = respelled_tests(material, speaker);
    let files: Vec<String> = edits.iter().map(|(path, _)| path.clone()).collect();
    let what = "the same tests, with other whitespace and one more comment";
    let run = Experiment::of_tests(
        Question::Calls,
        Tree::Head,
        selection(&files, material.targets),
        what,
    );
    (!edits.is_empty()).then_some(Experiment { edits, time, ..run })
}

fn respelled_tests(material: &Material<'_>, speaker: Speaker) -> Vec<(String, String)> {
    let files = target_files(material).into_iter().filter(|path| speaker.speaks(path));
    files
        .filter_map(|path| {
            Some((syntax::respelled(Language::of_path(&path), &(material.now)(&path)?)?, path))
        })
        .map(|(text, path)| (path, text))
        .collect()
}

/// RED tests that pass as written, but fail in this run.
pub fn failing(material: &Material<'_>, report: &Report) -> Vec<String> {
    let passes =
        |id: &&String| material.after.test(id).is_some_and(|test| test.status == Status::Passed);
    let fails = |id: &&String| report.test(id).is_some_and(|test| test.status.is_failure());
    material.targets.iter().filter(passes).filter(fails).cloned().collect()
}

/// The reason for a test that passes only as written.
pub fn reads_its_tests(id: &str) -> Reason {
    let sentence = format!(
        "{id} passes as written, but fails with other whitespace and one more comment in its file: \
         the code reads the source of its tests"
    );
    Reason::new(Code::GreenSuspicious, sentence).test(id)
}

/// The functions of the RED tests, each with its file and name.
fn own_tests(material: &Material<'_>, speaker: Speaker) -> Vec<(String, String)> {
    let files = target_files(material).into_iter().filter(|file| speaker.speaks(file));
    let functions = files.flat_map(|file| {
        let source = (material.now)(&file).unwrap_or_default();
        let items = syntax::items(Language::of_path(&file), &file, &source).into_iter();
        let own = items.filter(|item| item.is_test && item.kind == ItemKind::Function);
        let name =
            |item: syntax::Item| item.name.rsplit("::").next().unwrap_or_default().to_owned();
        own.map(name).map(|name| (file.clone(), name)).collect::<Vec<_>>()
    });
    functions.collect()
}

/// Whether the tests had the same results as without watching.
pub fn is_undisturbed(with: &Report, without: &Report) -> bool {
    let same = |test: &Test| without.test(&test.id).is_none_or(|known| known.status == test.status);
    !with.tests.is_empty() && with.tests.iter().all(same)
}

/// Reads the recorded lines.
pub fn read(speaker: Speaker, log: &str) -> Recording {
    let lines: Vec<String> = log.lines().map(str::to_owned).collect();
    let calls = lines.iter().filter_map(|line| serde_json::from_str::<Call>(line).ok()).collect();
    let mut paths = lines
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok()?.get("path").cloned());
    let path = paths.next().and_then(|path| serde_json::from_value(path).ok()).unwrap_or_default();
    let mut followed = TestEnds::default();
    for line in lines.iter().filter_map(|line| serde_json::from_str::<TestEndLine>(line).ok()) {
        followed.files.extend(line.follows);
        followed.lost |= line.lost;
        followed.replaced.extend(line.replaces.map(|name| (name, line.added)));
        followed.ends.extend(line.test.map(|test| (test, line.returned)));
    }
    Recording { speaker, lines, calls, path, followed }
}

impl Recording {
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// A RED test that passes according to the runner, although its function never ran to its end.
    /// Something outside the test swallowed the failure or the whole test.
    pub fn forged(&self, material: &Material<'_>, report: &Report) -> Option<Reason> {
        let tests = own_tests(material, self.speaker).into_iter();
        let mut followed =
            tests.filter(|(file, _)| !self.followed.lost && self.followed.files.contains(file));
        followed.find_map(|(file, name)| {
            let about = |test: &&Test| {
                let item = test.id.split('[').next().unwrap_or_default().rsplit(['.', ':']).next();
                item == Some(name.as_str())
                    && (About { file: file.clone(), item: name.clone() }).is(test)
            };
            let target = |test: &&Test| material.targets.contains(&test.id);
            let passed = report
                .tests
                .iter()
                .filter(about)
                .find(|test| test.status == Status::Passed && target(test))?;
            let key = (file.clone(), name.clone());
            let ends: Vec<bool> = self
                .followed
                .ends
                .iter()
                .filter(|(of, _)| *of == key)
                .map(|(_, end)| *end)
                .collect();
            let how = match ends.as_slice() {
                [] => "although its lines did not run",
                ends if !ends.contains(&true) => "although it raises an error",
                _ => return None,
            };
            let sentence = format!("{} passes {how}: the code changes the test runner", passed.id);
            Some(Reason::new(Code::GreenSuspicious, sentence).test(&passed.id))
        })
    }

    /// Changed code that replaces a function of the language for everybody, and with it what the
    /// tests compare with. An extension that the tests name is a feature. In JavaScript, setup
    /// files and packages may replace functions too, so a changed module must name it.
    pub fn changed_language(&self, material: &Material<'_>) -> Option<Reason> {
        let mentions = |source: Option<String>, name: &str| {
            source.is_some_and(|source| syntax::mentions(&source, name))
        };
        let modules = changed_modules(material, self.speaker);
        let is_new = |(path, name): &(&String, &str)| {
            !mentions((material.before)(path), name) && mentions((material.now)(path), name)
        };
        let found = self.followed.replaced.iter().find_map(|(full, added)| {
            let name = full.rsplit('.').next().unwrap_or_default();
            let is_named = || {
                let mut tests = material.paths.iter().filter(|path| material.is_test(path));
                tests.any(|path| mentions((material.now)(path), name))
            };
            let path = modules.iter().find(|path| is_new(&(path, name)))?;
            (!*added || !is_named()).then_some((full, path))
        })?;
        let (name, path) = found;
        let sentence = format!(
            "the code replaces `{name}` of the language, also for the tests that compare \
             with it"
        );
        Some(Reason::new(Code::GreenSuspicious, sentence).place(Some(path), None))
    }

    /// The same calls in an ordinary program.
    pub fn again(&self, material: &Material<'_>) -> Experiment {
        match self.speaker {
            Speaker::Python => python::again(material, self, Tree::Head, None),
            Speaker::Script => script::again(material, self, Tree::Head, None),
        }
    }

    /// The same and similar calls in an ordinary program, on one of the two trees.
    pub fn near(&self, material: &Material<'_>, tree: Tree) -> Experiment {
        let near = Boundaries::of(material, self.speaker);
        match self.speaker {
            Speaker::Python => python::again(material, self, tree, Some(&near)),
            Speaker::Script => script::again(material, self, tree, Some(&near)),
        }
    }

    /// The same calls in a test that does nothing else, inside the runner.
    pub fn bare(&self, material: &Material<'_>, doubts: &OpenQuestions) -> Option<Experiment> {
        match self.speaker {
            Speaker::Python => python::bare(material, self, &doubts.numbers),
            Speaker::Script => script::bare(material, self, &doubts.numbers),
        }
    }

    /// Whether calls into that file only passed or failed, without returning a value to the tests.
    pub fn only_checks(&self, path: &str) -> bool {
        const CHECKS: [&str; 5] = ["NoneType", "bool", "undefined", "null", "boolean"];
        let mut inside = self.calls.iter().filter(|call| call.is_in(path));
        inside.all(|call| {
            call.outcome.get("gives").is_none_or(|value| {
                value.get("is").and_then(Value::as_str).is_some_and(|kind| CHECKS.contains(&kind))
            })
        })
    }

    /// Changed public functions that no test calls directly, by file.
    pub fn uncalled(&self, material: &Material<'_>) -> Vec<(String, String)> {
        let mut uncalled = Vec::new();
        for path in changed_modules(material, self.speaker) {
            let language = Language::of_path(&path);
            let (Some(old), Some(new)) = ((material.before)(&path), (material.now)(&path)) else {
                continue;
            };
            let (before, now) =
                (syntax::items(language, &path, &old), syntax::items(language, &path, &new));
            for name in public_functions(language, &path, &old) {
                let hash = |items: &[syntax::Item]| {
                    items.iter().find(|item| item.name == name).map(|item| item.text_hash)
                };
                let is_called =
                    self.calls.iter().any(|call| call.is_in(&path) && call.name == name);
                if hash(&now).is_some_and(|now| Some(now) != hash(&before)) && !is_called {
                    uncalled.push((path.clone(), name));
                }
            }
        }
        uncalled
    }

    /// A function that returned its results in order, whatever its arguments: if the last call is
    /// made first, it returns the first result, and so on.
    ///
    /// Honest code may do that as well. A function that hands out numbers continues with new ones,
    /// and a limit that is reached stays reached. So this counts only if the results end after the
    /// calls of the tests, or if an earlier result comes back.
    pub fn by_position(&self, plain: &Answers) -> Option<Reason> {
        let mut functions: Vec<(&str, &str)> = self.calls.iter().map(Call::function).collect();
        functions.dedup();
        functions.into_iter().find_map(|function| {
            let calls: Vec<&Call> =
                self.calls.iter().filter(|call| call.function() == function).collect();
            let asked = in_test_order(&calls, plain)?;
            let sentence = format!(
                "{} {} when it is called first: the code returns the expected results in test \
                 order, whatever its arguments",
                asked.shown,
                shown(&asked.outcome)
            );
            Some(Reason::new(Code::GreenSuspicious, sentence))
        })
    }

    /// Calls with another outcome than the recorded one.
    pub fn doubts(&self, plain: &Answers) -> OpenQuestions {
        let mut doubts = OpenQuestions::default();
        for call in &self.calls {
            match plain.stable(call.number, 0, Equality::Content) {
                Some(Ok(said)) if !alike(&call.outcome, &said.outcome, Equality::Watched) => {
                    doubts.numbers.push(call.number);
                }
                Some(Ok(_)) | None => {}
                Some(Err(said)) => doubts.wavering.push(said.shown.clone()),
            }
        }
        doubts
    }

    /// The remaining differences after the calls were repeated in a bare test.
    pub fn only_in_tests(
        &self,
        doubts: &OpenQuestions,
        plain: &Answers,
        bare: &Answers,
        removed: &[String],
    ) -> Option<Reason> {
        let calls = self.calls.iter().filter(|call| doubts.numbers.contains(&call.number));
        let confirmed = calls.filter_map(|call| {
            let inside = bare.stable(call.number, 0, Equality::Content)?.ok()?;
            let outside = plain.stable(call.number, 0, Equality::Content)?.ok()?;
            // A call that names a test file needs that file.
            if removed.iter().any(|path| names(&outside.shown, path)) {
                return None;
            }
            let as_recorded = alike(&call.outcome, &inside.outcome, Equality::Watched);
            (as_recorded && !alike(&inside.outcome, &outside.outcome, Equality::Content))
                .then_some((inside, outside))
        });
        confirmed.into_iter().next().map(|(inside, outside)| {
            let sentence = format!(
                "{} {} in a test, but {} in a program without tests: the code detects the tests",
                outside.shown,
                shown(&inside.outcome),
                shown(&outside.outcome)
            );
            Reason::new(Code::GreenSuspicious, sentence)
        })
    }
}

impl Call {
    fn function(&self) -> (&str, &str) {
        (&self.module, &self.name)
    }

    fn is_in(&self, path: &str) -> bool {
        let module = self.module.replace('.', "/");
        let stem = path.strip_suffix(".py").map(|stem| stem.trim_end_matches("/__init__"));
        self.module == path
            || stem.is_some_and(|stem| stem == module || stem.ends_with(&format!("/{module}")))
    }
}

/// The first repeated call, if the results of one function depend on the order of its calls alone.
fn in_test_order<'a>(calls: &[&Call], plain: &'a Answers) -> Option<&'a RepeatLine> {
    const ANSWERS_MIN: usize = 3;
    let recorded: Vec<Option<&Value>> =
        calls.iter().map(|call| call.outcome.get("gives")).collect();
    let own = || plain.0.iter().filter(|one| calls.iter().any(|call| call.number == one.number));
    // In order, then in reverse and each twice.
    let backwards: Vec<&RepeatLine> = own().skip(calls.len()).collect();
    let given: Vec<Option<&Value>> = backwards.iter().map(|one| one.outcome.get("gives")).collect();
    let (first, rest) = given.split_at_checked(calls.len())?;
    let is_distinct = |values: &[Option<&Value>]| {
        values.iter().enumerate().all(|(at, one)| !values.iter().skip(at + 1).any(|two| one == two))
    };
    let ends = rest.len() == calls.len()
        && rest.windows(2).all(|pair| matches!(pair, [one, two] if one == two));
    let arguments: Vec<&str> = own().take(calls.len()).map(|one| one.shown.as_str()).collect();
    let with_new_arguments = arguments
        .iter()
        .enumerate()
        .all(|(at, one)| !arguments.iter().take(at).any(|two| one == two));
    let by_position = calls.len() >= ANSWERS_MIN
        && first == recorded.as_slice()
        && backwards.iter().all(|one| !one.shown.ends_with("()"))
        && match is_distinct(&recorded) {
            true => ends,
            false => {
                with_new_arguments && comes_back(&recorded) && wavers(&own().collect::<Vec<_>>())
            }
        };
    backwards.first().copied().filter(|_| by_position)
}

/// Whether a value follows a different one that it also came before.
fn comes_back(values: &[Option<&Value>]) -> bool {
    values.iter().enumerate().any(|(at, one)| {
        let mut earlier = values.iter().take(at).rev().skip_while(|two| *two == one).peekable();
        earlier.peek().is_some() && earlier.any(|two| two == one)
    })
}

/// Whether a call returned different results.
fn wavers(calls: &[&RepeatLine]) -> bool {
    calls.iter().enumerate().any(|(at, one)| {
        calls.iter().skip(at + 1).any(|two| one.number == two.number && one.outcome != two.outcome)
    })
}

/// Whether the arguments contain a file, or a folder that contains it.
fn names(arguments: &str, path: &str) -> bool {
    let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    let ends = |letter: Option<char>| letter.is_none_or(|letter| "'\"/ ".contains(letter));
    folders.chain([path]).any(|place| {
        arguments.match_indices(place).any(|(at, found)| {
            let (before, after) = (arguments.get(..at), arguments.get(at + found.len()..));
            ends(before.and_then(|text| text.chars().next_back()))
                && ends(after.and_then(|text| text.chars().next()))
        })
    })
}

impl OpenQuestions {
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// Reads the output of a program that repeats calls.
pub fn answers(said: &str) -> Answers {
    Answers(said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

impl Answers {
    /// Adds the output of another repetition.
    pub fn and(mut self, mut more: Self) -> Self {
        self.0.append(&mut more.0);
        self
    }

    /// The result of a call if it was always the same, an error if not, and `None` if it is
    /// unknown.
    fn stable(
        &self,
        number: i64,
        variant: u32,
        by: Equality,
    ) -> Option<Result<&RepeatLine, &RepeatLine>> {
        let mut all = self.0.iter().filter(|one| one.number == number && one.variant == variant);
        let first = all.next()?;
        let mut rest = all.peekable();
        let known = |one: &RepeatLine| one.outcome.get("unknown").is_none();
        if !known(first) {
            return None;
        }
        rest.peek()?;
        let same = rest.all(|one| known(one) && alike(&first.outcome, &one.outcome, by));
        Some(if same { Ok(first) } else { Err(first) })
    }
}

/// Calls with different results on the two trees, and how many were compared.
pub fn differences(before: &Answers, now: &Answers) -> (Vec<Reason>, usize) {
    let (mut reasons, mut compared, mut seen) = (Vec::new(), 0, Vec::new());
    for call in &before.0 {
        let key = (call.number, call.variant);
        if seen.contains(&key) || reasons.len() >= DIFFERENCES_MAX {
            continue;
        }
        seen.push(key);
        let stable =
            |answers| Answers::stable(answers, call.number, call.variant, Equality::Public)?.ok();
        let (Some(was), Some(is)) = (stable(before), stable(now)) else { continue };
        // The result for arguments that the function does not support is not behaviour to keep.
        if outcome::is_misuse(&was.outcome) {
            continue;
        }
        compared += 1;
        if !alike(&was.outcome, &is.outcome, Equality::Public) {
            let (was_shown, is_shown) = outcome::contrast(&was.outcome, &is.outcome);
            let sentence = format!("{} {was_shown} before and {is_shown} now", was.shown);
            reasons.push(Reason::new(Code::RefactorBehaviour, sentence));
        }
    }
    (reasons, compared)
}

/// In addition to the recorded arguments: boundaries in the changed lines, and functions that no
/// test calls.
pub struct Boundaries {
    /// Values in the changed lines.
    edges: Vec<String>,
    /// Values in the tests.
    values: Vec<String>,
    /// Public functions in both trees, by file.
    functions: Vec<(String, Vec<String>)>,
}

impl Boundaries {
    fn of(material: &Material<'_>, speaker: Speaker) -> Self {
        let mut near = Self { edges: Vec::new(), values: Vec::new(), functions: Vec::new() };
        for path in changed_modules(material, speaker) {
            let language = Language::of_path(&path);
            let (old, new) = ((material.before)(&path), (material.now)(&path));
            let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
            let differ = |one: &str, other: &str| -> Vec<String> {
                let others: Vec<&str> = other.lines().collect();
                let lines: Vec<&str> = one.lines().filter(|line| !others.contains(line)).collect();
                let values = syntax::written_values(language, one).into_iter();
                values
                    .filter(|value| lines.iter().any(|line| line.contains(value.as_str())))
                    .collect()
            };
            near.edges.extend(differ(&old, &new));
            near.edges.extend(differ(&new, &old));
            let now = public_functions(language, &path, &new);
            let both = public_functions(language, &path, &old)
                .into_iter()
                .filter(|name| now.contains(name))
                .collect();
            near.functions.push((path, both));
        }
        let tests =
            material.paths.iter().filter(|path| speaker.speaks(path) && material.is_test(path));
        for (language, source) in
            tests.filter_map(|path| Some((Language::of_path(path), (material.now)(path)?)))
        {
            near.values.extend(syntax::written_values(language, &source));
        }
        for values in [&mut near.edges, &mut near.values] {
            values.sort();
            values.dedup();
            values.truncate(VALUES_MAX);
        }
        near
    }
}

fn public_functions(language: Language, path: &str, source: &str) -> Vec<String> {
    let items = syntax::items(language, path, source).into_iter();
    let outer = items.filter(|item| item.kind == ItemKind::Function && !item.name.contains("::"));
    outer.map(|item| item.name).filter(|name| !name.starts_with('_')).collect()
}

impl Speaker {
    pub fn speaks(self, path: &str) -> bool {
        match self {
            Self::Python => Language::of_path(path) == Language::Python,
            Self::Script => Language::of_path(path).is_script(),
        }
    }
}

/// The implementation files of the candidate in that language.
fn changed_modules(material: &Material<'_>, speaker: Speaker) -> Vec<String> {
    let changed = material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted);
    let code =
        changed.filter(|changed| matches!(changed.class, Class::Implementation | Class::Mixed));
    code.map(|changed| changed.path.clone()).filter(|path| speaker.speaks(path)).collect()
}

/// A test of RED: its file, its name there, and the text of the file.
fn first_target(material: &Material<'_>, speaker: Speaker) -> Option<(String, String, String)> {
    target_files(material).into_iter().filter(|file| speaker.speaks(file)).find_map(|file| {
        let source = (material.now)(&file)?;
        let items = syntax::items(Language::of_path(&file), &file, &source);
        let item = items
            .into_iter()
            .find(|item| item.is_test && is_target(material, &file, &item.name))?;
        Some((file, item.name, source))
    })
}

#[cfg(test)]
mod tests;
