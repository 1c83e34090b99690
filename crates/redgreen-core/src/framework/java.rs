//! Shared by Maven and Gradle: javac's diagnostics, the source file of a test class, and JUnit's
//! XML per class.

pub(super) mod listing;

use std::borrow::Cow;

use super::captured::Capture;
use super::{Home, Identity, file_name};
use crate::format::bounded_head;
use crate::format::junit::{self, Dialect, Document};
use crate::report::{LoadError, LoadErrorKind, Report, Stage};

/// Messages of javac and kotlinc about a symbol that is missing or has another signature.
const MISSING_SYMBOL: &[&str] = &[
    "cannot find symbol",
    "does not exist",
    "cannot be applied to",
    "no suitable method",
    "no suitable constructor",
    "incompatible types",
    "is not abstract and does not override",
    "does not override or implement",
    "has private access",
    "is not public in",
    "not visible",
    "nresolved reference",
    "oo many arguments for",
    "o value passed for parameter",
    "ype mismatch",
    "overrides nothing",
];
const SYNTAX: &[&str] = &[
    "expected",
    "illegal start of",
    "unclosed",
    "not a statement",
    "reached end of file",
    "illegal character",
    "orphaned",
    "xpecting",
    "without 'try'",
    "without 'if'",
    "<identifier>",
];
/// Source folders of tests, below a module's folder, by language.
const SOURCES: &[&str] = &["java", "kotlin", "groovy", "scala"];
const EXTENSIONS: &[&str] = &[".java", ".kt", ".groovy", ".scala"];
/// Names under which runners report a hook of a whole class.
const CLASS_LEVEL: &[&str] = &["classMethod", "initializationError", "executionError"];

/// Parses `demo.CalcTest::adds`: the last word of the class starts with a capital letter.
pub(super) fn is_id(id: &str) -> bool {
    let class = id
        .split_once("::")
        .map(|(class, _)| class)
        .filter(|class| !class.contains(['/', ' ', '\\']));
    let name = class.and_then(|class| class.rsplit('.').next());
    name.is_some_and(|name| name.starts_with(char::is_uppercase))
}

/// Parses `demo.CalcTest$Inner::adds(int)[1]`: a method of a nested class, with one of its cases.
pub(super) fn read_id(id: &str) -> Identity<'_> {
    let (class, method) = class_and_method(id);
    let case = method
        .and_then(|method| id.rsplit_once("::")?.1.strip_prefix(method))
        .filter(|case| !case.is_empty());
    Identity::of(Home::Unknown, class.split(['.', '$']).chain(method).collect(), case)
}

/// `src/test/…`, `src/integrationTest/…`, and the test data in them.
pub(super) fn is_test_file(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let is_set =
        |pair: &[&str]| matches!(pair, ["src", set] if *set == "test" || set.ends_with("Test"));
    let folders = parts.split_last().map_or(&[][..], |(_, folders)| folders);
    folders.windows(2).any(is_set) && file_name(path) != "junit-platform.properties"
}

/// The class that a test file is named after: `src/test/java/demo/CalcTest.java` is
/// `demo.CalcTest`.
pub(super) fn class_of(path: &str) -> String {
    let below = SOURCES
        .iter()
        .find_map(|language| path.split_once(&format!("/{language}/")))
        .map(|(_, below)| below);
    let path = below.unwrap_or(file_name(path));
    let stem = EXTENSIONS.iter().find_map(|extension| path.strip_suffix(extension)).unwrap_or(path);
    stem.replace('/', ".")
}

/// Splits an id into class and method, without the part that distinguishes the invocations of a
/// parameterized method. The method is `None` if the id represents the class.
pub(super) fn class_and_method(id: &str) -> (&str, Option<&str>) {
    let (class, name) = id.split_once("::").unwrap_or((id, ""));
    let method = name.split(['(', '{', '[', ' ']).next().unwrap_or(name);
    let of_class = method.is_empty() || name == class || CLASS_LEVEL.contains(&name);
    (class, (!of_class).then_some(method))
}

/// Adds the reports of all classes. The place of a failure is the frame of its trace in the class.
pub(super) fn add(report: &mut Report, dialect: &Dialect, captured: &Capture, built_in: &str) {
    let reports = captured.reports.iter().filter(|(name, _)| name.ends_with(".xml"));
    let documents: Vec<(&str, Document)> =
        reports.map(|(name, bytes)| (name.as_str(), junit::parse(bytes))).collect();
    let whole: Vec<Document> = documents.iter().map(|(_, document)| document.clone()).collect();
    junit::add(report, dialect, &whole, |path| captured.relative(path));
    for (name, document) in &documents {
        let module =
            name.split(built_in).next().filter(|module| *module != *name).unwrap_or_default();
        for case in document.cases.telling() {
            let Some(detail) = case.failure.as_ref().or(case.error.as_ref()) else { continue };
            let id = format!("{}::{}", case.classname, case.name.as_deref().unwrap_or_default());
            let Some(test) = report.tests.iter_mut().find(|test| test.id == id) else { continue };
            if let Some((file, line)) = place(&case.classname, &detail.text.head) {
                test.file = Some(format!("{module}{file}"));
                test.line = Some(line);
            }
        }
    }
}

/// The last frame of the class in the trace: `at demo.CalcTest.wrong(CalcTest.java:13)`.
fn place(class: &str, trace: &str) -> Option<(String, u32)> {
    let (package, _) = class.rsplit_once('.').unwrap_or(("", class));
    let frame = |line: &str| {
        let rest = line.trim_start().strip_prefix("at ")?.strip_prefix(class)?;
        let (file, number) = rest.split_once('(')?.1.strip_suffix(')')?.split_once(':')?;
        let at = EXTENSIONS.iter().position(|extension| file.ends_with(extension))?;
        let language = SOURCES.get(at)?;
        let folder = if package.is_empty() {
            String::new()
        } else {
            format!("{}/", package.replace('.', "/"))
        };
        Some((format!("src/test/{language}/{folder}{file}"), number.parse().ok()?))
    };
    trace.lines().find_map(frame)
}

/// Compiler errors without duplicates.
pub(super) fn diagnostics(captured: &Capture, text: &str) -> Vec<LoadError> {
    let mut errors: Vec<LoadError> = Vec::new();
    for error in text.lines().filter_map(|line| diagnostic(captured, line)) {
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    errors
}

/// Parses compiler errors. Maven: `[ERROR] /p/CalcTest.java:[13,25] cannot find symbol`. javac:
/// `/p/CalcTest.java:13: error: cannot find symbol`. kotlinc: `e: file:///p/CalcTest.kt:13:25
/// Unresolved reference`.
fn diagnostic(captured: &Capture, line: &str) -> Option<LoadError> {
    let plain = line.strip_prefix("[ERROR] ").or(line.strip_prefix("e: ")).unwrap_or(line);
    let plain = plain
        .strip_prefix("file://")
        .map_or(Cow::Borrowed(plain), |url| url.replace("%20", " ").into());
    let (path, rest) = EXTENSIONS.iter().find_map(|extension| {
        let (stem, rest) = plain.split_once(&format!("{extension}:"))?;
        // An absolute path can contain blanks; a line of a stack trace is not a path.
        let is_path = stem.starts_with('/') || !stem.contains([' ', '(']);
        is_path.then(|| (format!("{stem}{extension}"), rest))
    })?;
    let digits = |text: &str| {
        text.split(|letter: char| !letter.is_ascii_digit())
            .next()
            .and_then(|text| text.parse().ok())
    };
    let (number, words) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("] ").map(|(place, words)| (digits(place), words))?,
        None if line.starts_with("e: ") => {
            rest.split_once(' ').map(|(place, words)| (digits(place), words))?
        }
        None => rest.split_once(": error: ").map(|(place, words)| (digits(place), words))?,
    };
    Some(LoadError {
        stage: Stage::Build,
        file: Some(captured.relative(&path)),
        line: Some(number?),
        kind: kind_of(words),
        code: None,
        message: bounded_head(words),
    })
}

fn kind_of(words: &str) -> LoadErrorKind {
    LoadErrorKind::of(words, MISSING_SYMBOL, SYNTAX)
}
