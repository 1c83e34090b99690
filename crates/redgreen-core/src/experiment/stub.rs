//! Do the tests fail when the code does nothing? A test that checks something fails with every
//! stub, and calls it. Needed for tests without an assertion, tests that accept any result or any
//! exception, tests of nothing in the project, and tests that no code could make load. If RED could
//! not be built because the signatures did not exist yet, this runs in GREEN.

use super::{
    About, Answer, Experiment, Material, Method, Question, Tree, selection, stand_in, tests_of,
    unwritten,
};
use crate::change::is_test_program;
use crate::framework;
use crate::framework::invoke::Selection;
use crate::path::folder;
use crate::report::{Exit, LoadError, LoadErrorKind, Report, Status, Test};
use crate::syntax::{self, Extent, INERT_PLAIN, INERT_VALUE, Item, Language, Letters, Pick};
use crate::verdict::{Code, Reason};

/// How Python errors name a stub.
const STAND_IN: &str = "'_Inert' object";
/// The maximum number of modules to try unchanged.
const CHECKERS_MAX: usize = 4;
const ALWAYS: &str = "the new tests, with code that always returns the same ";
const RAISES: &str = "the new tests, with code that only raises";

/// The new tests with each stub: one with values that equal nothing, one that only raises, and one
/// that is truthy while the expectations cannot be met.
pub(super) fn stubs(material: &Material<'_>, files: &[String]) -> Vec<Experiment> {
    let (stand_ins, what) = stand_in::stand_ins(material, files);
    let mut stand_ins = unwritten::declared(material, files, stand_ins);
    if stand_ins.is_empty() {
        return Vec::new();
    }
    let data = missing_data(material);
    // A test that uses no code may be about a document: a page, a table, a README.
    let way = match what == stand_in::EVERYTHING {
        true => Method::Watched {
            selection: selection(files, material.targets),
            files: stand_in::data(material, &data),
        },
        false => Method::Tests(selection(files, material.targets)),
    };
    stand_ins.extend(data);
    let with = |value: &str| vec![(INERT_VALUE, value.to_owned())];
    let about = files.iter().flat_map(|file| tests_of(material, file)).collect();
    let run = Experiment::of_tests(Question::Inert, Tree::Head, Selection::All, what);
    let control = Experiment { edits: stand_ins, way, about, ..run };
    // Only a test that passes with both stub values checks nothing.
    let other = Experiment {
        variables: with("other"),
        otherwise: checked(material, &control),
        ..control.clone()
    };
    let mut all = vec![Experiment { otherwise: Some(Box::new(other)), ..control.clone() }];
    all.extend(
        lenient(material, files, &control)
            .map(|lenient| Experiment { variables: with("true"), ..lenient }),
    );
    let is_plain =
        |file: &String| matches!(stand_in::family(file), Language::Python | Language::JavaScript);
    if what != stand_in::EVERYTHING && files.iter().all(is_plain) {
        all.extend(INERT_PLAIN.iter().map(|(kind, [first, second, last])| {
            let what = format!("{ALWAYS}{kind}");
            let giving = |value: &str| Experiment {
                variables: with(value),
                what: what.clone(),
                ..control.clone()
            };
            let last = giving(last);
            let last = Experiment { otherwise: checked(material, &last), ..last };
            let second = Experiment { otherwise: Some(Box::new(last)), ..giving(second) };
            Experiment { otherwise: Some(Box::new(second)), ..giving(first) }
        }));
    }
    // If the code already exists, a test that expects any exception does check something: no code
    // raises one yet.
    let is_missing = |error: &LoadError| error.kind == LoadErrorKind::MissingSymbol;
    let raises =
        |file: &String| matches!(stand_in::family(file), Language::Python | Language::JavaScript);
    if material.after.load_errors.iter().any(is_missing) && files.iter().any(raises) {
        all.push(Experiment { variables: with("raise"), what: RAISES.to_owned(), ..control });
    }
    all
}

/// The same with one existing module unchanged, for each module: a test may rely on other project
/// code to check.
fn checked(material: &Material<'_>, control: &Experiment) -> Option<Box<Experiment>> {
    let modules =
        control.edits.iter().map(|(path, _)| path).filter(|path| (material.now)(path).is_some());
    let modules = modules.take(if control.edits.len() > 1 { CHECKERS_MAX } else { 0 });
    modules.fold(None, |otherwise, module| {
        let mut edits = control.edits.clone();
        edits.retain(|(path, _)| path != module);
        let what =
            format!("the new tests, with {module} unchanged and all other code doing nothing");
        Some(Box::new(Experiment {
            question: Question::Checked,
            edits,
            what,
            otherwise,
            ..control.clone()
        }))
    })
}

/// The stubs of `control`, with new tests whose expectations cannot be met.
fn lenient(material: &Material<'_>, files: &[String], control: &Experiment) -> Option<Experiment> {
    let (mut edits, mut about) = (control.edits.clone(), Vec::new());
    for file in
        files.iter().filter(|file| !edits.iter().any(|(path, _)| path == *file)).collect::<Vec<_>>()
    {
        let Some(source) = (material.now)(file) else { continue };
        let language = Language::of_path(file);
        let items = syntax::items(language, file, &source);
        let is_new = |item: &&Item| {
            control.about.iter().any(|about| about.file == *file && about.item == item.name)
        };
        let way = syntax::PerturbRules { pick: Pick::Last, letters: Letters::Near };
        // A negated assertion holds for a value that equals nothing.
        let is_written = |item: &&Item| syntax::is_written(language, file, &source, item, way);
        let new: Vec<&Item> = items.iter().filter(is_new).filter(is_written).collect();
        if let Some((text, names)) =
            syntax::impossible(language, file, &source, &new, Extent::Everything, way)
        {
            edits.push((file.clone(), text));
            about.extend(names.into_iter().map(|item| About { file: file.clone(), item }));
        }
    }
    // A test in which nothing could be changed may check something in another way.
    let what =
        "the new tests, with expectations that cannot be met and code that does nothing".to_owned();
    (about.len() == control.about.len() && !about.is_empty()).then(|| Experiment {
        question: Question::Lenient,
        edits,
        about,
        what,
        ..control.clone()
    })
}

/// Tests of the candidate with everything they call doing nothing, once for each stub value.
pub(crate) fn do_nothing(
    material: &Material<'_>,
    files: &[String],
    tests: &[String],
) -> Vec<Experiment> {
    let (edits, what) = stand_in::stand_ins(material, files);
    if edits.is_empty() {
        return Vec::new();
    }
    let way = Method::Tests(selection(files, tests));
    let one = Experiment {
        edits,
        way,
        ..Experiment::of_tests(Question::Inert, Tree::Head, Selection::All, what)
    };
    let other = Experiment { variables: vec![(INERT_VALUE, "other".to_owned())], ..one.clone() };
    vec![one, other]
}

/// The check that RED could not run because the signatures did not exist yet. Only the code of
/// GREEN does nothing: existing code may call the test, and if that code did nothing, the test
/// would check nothing.
pub(super) fn emptied(material: &Material<'_>, files: &[String]) -> Option<Experiment> {
    let is_built = |path: &str| matches!(Language::of_path(path), Language::Rust | Language::Go);
    if !files.iter().any(|file| is_built(file)) || material.targets.is_empty() {
        return None;
    }
    let (all, _) = stand_in::stand_ins(material, files);
    let is_new = |path: &str| {
        let language = Language::of_path(path);
        let names =
            |source: Option<String>| syntax::names(language, path, &source.unwrap_or_default());
        let before = names((material.before)(path));
        names((material.now)(path))
            .iter()
            .any(|name| !before.iter().any(|known| known.name == name.name))
    };
    if !all.iter().any(|(path, _)| is_built(path) && is_new(path)) {
        return None;
    }
    let since = |(path, _): &(String, String)| {
        let text = syntax::inert_since(
            path,
            &(material.before)(path).unwrap_or_default(),
            &(material.now)(path)?,
        )?;
        Some((path.clone(), text))
    };
    let edits = stand_in::with_helpers(all.iter().filter_map(since).collect());
    // New types, macros and constants have no body to empty. The functions around them have.
    let (edits, what) = match edits.is_empty() {
        true => (all, "the RED tests, with code that does nothing"),
        false => (edits, "the RED tests, with new and changed functions that do nothing"),
    };
    let run =
        Experiment::of_tests(Question::Empty, Tree::Head, selection(files, material.targets), what);
    let control = Experiment { edits, ..run };
    let other =
        Experiment { variables: vec![(INERT_VALUE, "other".to_owned())], ..control.clone() };
    Some(Experiment { otherwise: Some(Box::new(other)), ..control })
}

/// A macro or a type has no body to empty, so only code that was called and did nothing counts. If
/// RED did not compile, its tests may be matched with old ones of the same file, which call nothing
/// new.
pub(super) fn empty(material: &Material<'_>, report: &Report, calls: &str) -> Answer {
    let passes = |id: &String| report.test(id).is_some_and(|test| test.status == Status::Passed);
    let is_called = |id: &&String| calls.lines().any(|call| is_call_of(call, id));
    match material.targets.iter().find(is_called) {
        Some(first) if material.targets.iter().all(passes) => {
            let sentence = format!("{first} passes with code that does nothing");
            Answer::Wrong(vec![Reason::new(Code::GreenNotDiscriminating, sentence).test(first)])
        }
        Some(_) | None => Answer::Right,
    }
}

/// Whether a line of the log is a call by this test. A call without a known test may be its own.
fn is_call_of(call: &str, id: &str) -> bool {
    let test = call.split_once('\t').map_or("", |(_, test)| test);
    !call.trim().is_empty()
        && (test.is_empty() || framework::identity(test).item == framework::identity(id).item)
}

impl Experiment {
    pub(super) fn inert(&self, material: &Material<'_>, report: &Report, calls: &str) -> Answer {
        if let Some(error) = report.load_errors.iter().find(|error| {
            let at = error.file.as_deref().unwrap_or_default();
            !material.after.load_errors.is_empty()
                && self.about.iter().any(|about| about.file == at)
        }) {
            // A test that does not load with a constant, for example because it uses it as a
            // decorator, checks more than the constant.
            if self.what.starts_with(ALWAYS) || self.what == RAISES {
                return Answer::Right;
            }
            // Limits of our stub are not the fault of the test, for example if it is iterated over
            // like an enum.
            if !brings_what_is_missing(material, error) || error.message.contains(STAND_IN) {
                return Answer::Unknown(self.what.clone());
            }
            // Everything that the project could provide exists, and the test still does not load.
            let said = error.message.lines().next().unwrap_or_default();
            let sentence = format!("the test does not load even if the feature exists: {said}");
            return Answer::Wrong(vec![
                Reason::new(Code::RedUnrelatedSymbol, sentence)
                    .place(error.file.as_deref(), error.line),
            ]);
        }
        let new: Vec<&Test> = report.tests.iter().filter(|test| self.is_about(test)).collect();
        let Some(first) = new.first() else { return self.not_run(report) };
        if !calls.lines().any(|call| self.is_own(call)) && !self.uses_a_value(material) {
            let sentence = format!("{} never calls the code under test", first.id);
            let reasons = vec![Reason::new(Code::RedNoCall, sentence).test(&first.id)];
            return match self.what == stand_in::EVERYTHING {
                true => Answer::Ask(reasons),
                // It may call the code once the file that it compares with exists.
                false if new.iter().any(|test| misses_a_file(test)) => {
                    Answer::Unknown(self.what.clone())
                }
                false => Answer::Wrong(reasons),
            };
        }
        let asking = |test: &&&Test| test.status.is_failure();
        if new.iter().any(|test| asking(&test)) {
            return Answer::Right;
        }
        let sentence = match self.what.strip_prefix(ALWAYS) {
            Some(kind) => format!(
                "{} passes with code that always returns the same {kind}, for two different values",
                first.id
            ),
            None if self.what == RAISES => {
                format!("{} passes with code that only raises", first.id)
            }
            None => format!("{} passes with code that does nothing", first.id),
        };
        Answer::Wrong(vec![Reason::new(Code::RedNoAssertion, sentence).test(&first.id)])
    }

    /// With a checking module, a test fails differently than with missing code, and only after it
    /// called the code that does nothing here.
    pub(super) fn checked(&self, material: &Material<'_>, report: &Report, calls: &str) -> Answer {
        let new: Vec<&Test> = report.tests.iter().filter(|test| self.is_about(test)).collect();
        let said =
            |test: &Test| material.after.test(&test.id).and_then(|known| known.message.clone());
        let is_called = calls.lines().any(|call| self.is_own(call));
        let asks =
            |test: &&&Test| is_called && test.status.is_failure() && said(test) != test.message;
        match (new.iter().find(asks), new.first()) {
            (None, Some(first)) => {
                let sentence = format!("{} passes with code that does nothing", first.id);
                Answer::Wrong(vec![Reason::new(Code::RedNoAssertion, sentence).test(&first.id)])
            }
            (Some(_), _) => Answer::Right,
            (None, None) => Answer::Unknown(self.what.clone()),
        }
    }

    /// The run succeeded, but no new test has a result: Go runs no benchmarks, and no examples
    /// without output.
    fn not_run(&self, report: &Report) -> Answer {
        let is_whole =
            report.finished && report.load_errors.is_empty() && report.exit == Exit::Code(0);
        match self.about.first().filter(|about| about.file.ends_with("_test.go") && is_whole) {
            Some(about) => {
                let sentence = format!("no test run includes {} in {}", about.item, about.file);
                Answer::Wrong(vec![
                    Reason::new(Code::RedNoTests, sentence).place(Some(&about.file), None),
                ])
            }
            None => Answer::Unknown(self.what.clone()),
        }
    }

    /// Whether a line of the log is a call by a new test. A call without a known test may be
    /// theirs.
    fn is_own(&self, call: &str) -> bool {
        let test = call.split_once('\t').map_or("", |(_, test)| test);
        !call.trim().is_empty()
            && (test.is_empty() || self.is_about(&Test::new(test, Status::Passed)))
    }

    pub(super) fn lenient(&self, report: &Report) -> Answer {
        let new: Vec<&Test> = report.tests.iter().filter(|test| self.is_about(test)).collect();
        match new.first() {
            Some(first) if new.iter().all(|test| test.status == Status::Passed) => {
                let sentence = format!("{} passes whatever value it expects", first.id);
                Answer::Wrong(vec![Reason::new(Code::RedNoAssertion, sentence).test(&first.id)])
            }
            Some(_) => Answer::Right,
            None => Answer::Unknown(self.what.clone()),
        }
    }

    /// Whether a test uses an imported value without calling it: a constant is as good as a
    /// function.
    fn uses_a_value(&self, material: &Material<'_>) -> bool {
        self.about.iter().any(|about| {
            let Some(source) = (material.now)(&about.file) else { return false };
            let language = Language::of_path(&about.file);
            let items = syntax::items(language, &about.file, &source);
            let Some(item) = items.iter().find(|item| item.name == about.item) else {
                return false;
            };
            let body = source.get(item.span.clone()).unwrap_or_default();
            let project = syntax::Project { paths: material.paths, packages: material.packages };
            let mut own = syntax::imports(language, &source);
            own.retain(|import| {
                let replaced = |path: &String| self.edits.iter().any(|(edited, _)| edited == path);
                syntax::resolve(language, &about.file, import, project).iter().any(replaced)
                    || stand_in::planned(language, &about.file, import, material)
                        .iter()
                        .any(replaced)
            });
            if language != Language::Python && !language.is_script() {
                return own.iter().any(|import| {
                    let member =
                        |name: &String| is_value(body, &format!("{}.{name}", import.module));
                    import.names.iter().any(|name| is_value(body, name) || member(name))
                });
            }
            let stems = self
                .edits
                .iter()
                .filter_map(|(path, _)| path.strip_suffix(".py")?.rsplit('/').next());
            let files: Vec<String> = stems.map(str::to_owned).collect();
            syntax::looks_at(language, &source, item.span.clone(), &own, &files)
        })
    }
}

/// A stub has every name, except in typed languages: there it has the names of the code, and only
/// names that cannot be part of the project are known to be wrong.
fn brings_what_is_missing(material: &Material<'_>, error: &LoadError) -> bool {
    const CRATES: [&str; 3] = ["unlinked crate", "undeclared crate", "can't find crate"];
    const PACKAGE: &str = "no required module provides package ";
    let file = error.file.as_deref().unwrap_or_default();
    match Language::of_path(file) {
        // In `tests` every file is a separate program, and its first names are crates. Elsewhere
        // they may be modules.
        Language::Rust => {
            CRATES.iter().any(|words| error.message.contains(words)) && is_test_program(file)
        }
        Language::Go => error.message.split_once(PACKAGE).is_some_and(|(_, package)| {
            !material.packages.iter().any(|own| package.starts_with(&own.name))
        }),
        Language::Java | Language::Other => false,
        Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => true,
    }
}

/// Empty files for each missing file that a test opens according to the run. Then the test calls
/// the code, or never does.
fn missing_data(material: &Material<'_>) -> Vec<(String, String)> {
    let targets = material.targets.iter().filter_map(|id| material.after.test(id));
    let missing = targets.filter(|test| misses_a_file(test)).filter_map(|test| {
        let folder = folder(test.file.as_deref()?);
        let message = test.message.as_deref()?;
        let quoted =
            || message.split(['\'', '"']).skip(1).step_by(2).find(|part| part.contains('/'));
        // Go: `open testdata/a.txt: no such file or directory`, from the folder of the package.
        let opened =
            message.split("open ").nth(1).and_then(|rest| rest.split(": no such file").next());
        let path = quoted().or(opened)?.trim();
        match (path.strip_prefix('/'), Language::of_path(test.file.as_deref()?)) {
            (Some(full), _) => full
                .rfind(&format!("/{folder}/"))
                .and_then(|at| full.get(at + 1..))
                .map(str::to_owned),
            (None, Language::Go) if !folder.is_empty() => Some(format!("{folder}/{path}")),
            (None, _) => Some(path.to_owned()),
        }
    });
    missing.filter(|path| !path.contains("..")).map(|path| (path, String::new())).collect()
}

/// Whether a test ended because a file is missing, by the system's message.
fn misses_a_file(test: &Test) -> bool {
    const MISSING: [&str; 4] =
        ["o such file or directory", "FileNotFoundError", "NotFound", "ENOENT"];
    let message = test.message.as_deref().unwrap_or_default();
    MISSING.iter().any(|words| message.contains(words) || test.exception.as_deref() == Some(*words))
}

/// Whether the text contains the name as a value: not called, not part of another name, not in
/// quotes.
pub(super) fn is_value(text: &str, name: &str) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || "_.'\"`$".contains(letter);
    text.match_indices(name).any(|(at, found)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(part) && !after.is_some_and(|letter| part(letter) || letter == '(')
    })
}
