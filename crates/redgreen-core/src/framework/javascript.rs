//! Shared by the JavaScript runners: how a project names its runner, where the runner is installed,
//! and the stream that our reporters write. A test id is `test/calc.test.js > suite > name`,
//! because no runner enforces unique names.

pub mod json;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder};
use super::invoke::{
    Call, CannotRun, CoverageAt, Invocation, Missing, Probe, ReportAt, ReporterFile,
};
use super::{Home, Identity, file_name};
use crate::coverage::Format;
use crate::format::bounded_head;
use crate::format::stream::{Frame, JsError, Line, Stream};
use crate::report::{Exit, Flag, LoadError, LoadErrorKind, Outcome, Report, Stage, Status, Test};

/// The file that our reporters write.
pub(super) const STREAM: &str = "stream.jsonl";
/// The name of the only test to run. The reporters mark the others as left out.
const ONLY: &str = "REDGREEN_ONLY";
/// The coverage folder and the report in it.
pub(super) const COVERAGE_FOLDER: &str = "coverage";
const COVERAGE_FILE: &str = "coverage/lcov.info";

/// Shared by our reporters for jest and mocha.
pub(super) const SHARED: ReporterFile = ReporterFile {
    path: "redgreen-stream.cjs",
    text: include_str!("../../reporters/redgreen-stream.cjs"),
};

pub(super) const MANIFEST: &str = "package.json";
pub(super) const LITTER: &[&str] =
    &["node_modules/", "coverage/", ".nyc_output/", ".vite/", "*.tsbuildinfo"];

/// Yarn's index of packages in archives. Looked up in parent folders too.
pub(super) const PNP: &str = "./.pnp.cjs";
pub(super) const YARN: &str = "yarn";

const EXTENSIONS: &[&str] = &[".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"];
/// Separates the parts of an id.
pub(super) const MARK: &str = " > ";

/// Error codes of Node and of resolvers for something that does not exist yet.
const MISSING_CODES: &[&str] =
    &["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED"];
/// The same for tools without error codes. In an ES module a missing export is a `SyntaxError`.
const MISSING_WORDS: &[&str] = &[
    "does not provide an export named",
    "Cannot find module",
    "Cannot find package",
    "Failed to resolve import",
    "Failed to load url",
];
const SYNTAX_CODES: &[&str] = &["BABEL_PARSE_ERROR", "BABEL_PARSER_SYNTAX_ERROR", "PARSE_ERROR"];
const SYNTAX_WORDS: &[&str] = &["Parse failure", "Parse failed", "Transform failed", "SyntaxError"];
/// Messages that start like this report a time limit of the runner. Only mocha has a code for it.
const TIMEOUTS: &[&str] =
    &["Test timed out in ", "Hook timed out in ", "thrown: \"Exceeded timeout of ", "Timeout of "];
const TIMEOUT_CODE: &str = "ERR_MOCHA_TIMEOUT";
/// Messages about a file that was loaded and contains no test.
const NO_TESTS: &[&str] =
    &["No test suite found in file", "Your test suite must contain at least one test"];
/// Jest's message when the process of a file died.
const WORKER_GONE: &str = "jest worker process";

/// A runner that is installed as a package of the project.
pub(super) struct Package {
    pub(super) name: &'static str,
    /// Prefixes of its configuration files.
    pub(super) configs: &'static [&'static str],
    /// The path of its executable, as a tool name.
    pub(super) bin: &'static str,
}

/// Runners that exclude each other if one is a leftover: a configuration or a script shows which
/// one is used.
const PACKAGES: &[&Package] =
    &[&super::vitest::PACKAGE, &super::jest::PACKAGE, &super::mocha::PACKAGE];

impl Package {
    /// Sure if the package has its own configuration, or is a dependency. A dependency that is
    /// neither configured nor named in a script does not count if the project uses another runner.
    /// Below the root a script is enough, because the runner can be installed in a parent folder.
    pub(super) fn evidence(&self, folder: &Folder) -> Evidence {
        let manifest = Manifest::of(folder);
        let is_used =
            |package: &Package| package.is_configured(folder) || manifest.has_script(package.name);
        let below = !folder.path.is_empty() && manifest.has_script(self.name);
        if self.is_configured(folder) || below {
            return Evidence::Sure;
        }
        let mut rivals = PACKAGES
            .iter()
            .filter(|other| other.name != self.name && manifest.depends_on(other.name));
        let outdone = !is_used(self)
            && (super::node::is_scripted(&manifest) || rivals.any(|other| is_used(other)));
        if manifest.depends_on(self.name) && !outdone { Evidence::Sure } else { Evidence::None }
    }

    fn is_configured(&self, folder: &Folder) -> bool {
        let named = |path: &String| !path.contains('/') && self.is_config(path);
        let of_vite = |path: &String| self.name == "vitest" && path.starts_with("vite.config.");
        let tests = |path: &String| folder.text(path).is_some_and(|text| text.contains("test:"));
        folder.files.iter().any(|path| named(path) || (of_vite(path) && tests(path)))
            || Manifest::of(folder).0.get(self.name).is_some()
    }

    pub(super) fn is_config(&self, path: &str) -> bool {
        self.configs.iter().any(|config| file_name(path).starts_with(config))
    }

    /// The call that starts the project's own runner.
    pub(super) fn call(&self, facts: &Facts) -> Result<Call, CannotRun> {
        match (facts.tool(self.bin), yarn(facts)) {
            (Some(bin), _) => Ok(Call::new([bin])),
            (None, Some(yarn)) => Ok(Call::new([yarn, "run", self.name])),
            (None, None) => Err(CannotRun::Missing(self.missing(facts, self.name))),
        }
    }

    pub(super) fn missing(&self, facts: &Facts, package: &str) -> Missing {
        let manifest = Manifest::of(&facts.folder);
        let next = if manifest.depends_on(package) {
            install(&facts.folder).to_owned()
        } else {
            format!("{} {package}", add(&facts.folder))
        };
        Missing {
            what: format!("{package} is not installed"),
            evidence: format!("looked for {} in the project and above it", self.bin),
            next,
        }
    }
}

/// Yarn, if it keeps packages in archives: only programs started by yarn find them.
pub(super) fn yarn(facts: &Facts) -> Option<&str> {
    facts.tool(PNP).and_then(|_| facts.tool(YARN))
}

/// A project's `package.json`.
pub(super) struct Manifest(Value);

impl Manifest {
    pub(super) fn of(folder: &Folder) -> Self {
        Self(
            folder
                .text(MANIFEST)
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
        )
    }

    fn depends_on(&self, package: &str) -> bool {
        let groups =
            ["devDependencies", "dependencies", "peerDependencies", "optionalDependencies"];
        groups.iter().any(|group| self.0.get(group).and_then(|group| group.get(package)).is_some())
    }

    fn has_script(&self, word: &str) -> bool {
        self.scripts().any(|script| script.split_whitespace().any(|part| part == word))
    }

    /// The `test` script comes first.
    pub(super) fn scripts(&self) -> impl Iterator<Item = &str> {
        let scripts = self.0.get("scripts").and_then(Value::as_object);
        let tests = scripts.and_then(|scripts| scripts.get("test"));
        tests
            .into_iter()
            .chain(scripts.into_iter().flat_map(|scripts| scripts.values()))
            .filter_map(Value::as_str)
    }
}

/// Whether the project uses a runner that is a package.
pub(super) fn has_package(folder: &Folder) -> bool {
    PACKAGES.iter().any(|package| package.evidence(folder) == Evidence::Sure)
}

/// The install command of the project's package manager, by its lock file.
fn install(folder: &Folder) -> &'static str {
    match manager(folder) {
        "pnpm" => "pnpm install",
        "yarn" => "yarn install",
        "bun" => "bun install",
        _ => "npm install",
    }
}

fn add(folder: &Folder) -> &'static str {
    match manager(folder) {
        "pnpm" => "pnpm add -D",
        "yarn" => "yarn add -D",
        "bun" => "bun add -d",
        _ => "npm install -D",
    }
}

pub(super) fn manager(folder: &Folder) -> &'static str {
    let managers = [
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
    ];
    let said = Manifest::of(folder)
        .0
        .get("packageManager")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let named = managers.iter().find(|(_, name)| said.starts_with(name));
    named
        .or_else(|| managers.iter().find(|(lock, _)| folder.has(lock)))
        .map_or("npm", |(_, name)| name)
}

pub(super) fn reads(path: &str) -> bool {
    path == MANIFEST || path.starts_with("vite.config.") || is_test_file(path)
}

pub(super) fn is_test_file(path: &str) -> bool {
    let name = file_name(path);
    let Some(stem) = EXTENSIONS.iter().find_map(|extension| name.strip_suffix(extension)) else {
        return path.split('/').any(|folder| folder == "__snapshots__" || folder == "__fixtures__");
    };
    let folders = ["test", "tests", "__tests__", "__mocks__", "spec"];
    let below = path.split('/').rev().skip(1).any(|folder| folders.contains(&folder));
    let marked = [".test", ".spec", "-test", "_test", "-spec", "_spec"]
        .iter()
        .any(|mark| stem.ends_with(mark));
    marked || below || stem == "test" || stem.starts_with("test-")
}

/// Configuration of every JavaScript runner: what is loaded and how it is compiled.
pub(super) fn is_shared_config(path: &str) -> bool {
    let name = file_name(path);
    let begins = [
        "tsconfig",
        "babel.config.",
        ".babelrc",
        ".swcrc",
        "vite.config.",
        ".env",
        ".c8rc",
        ".nycrc",
    ];
    let locks = [
        MANIFEST,
        "package-lock.json",
        "pnpm-lock.yaml",
        "yarn.lock",
        "bun.lock",
        ".npmrc",
        ".nvmrc",
    ];
    // Only the TypeScript compiler reads its build info.
    let begins =
        begins.iter().any(|begin| name.starts_with(begin)) && !name.ends_with(".tsbuildinfo");
    begins || locks.contains(&name)
}

pub(super) fn is_id(id: &str) -> bool {
    split_id(id).is_some()
}

/// The file and the name of a test.
pub(super) fn split_id(id: &str) -> Option<(&str, &str)> {
    let (file, name) = id.split_once(MARK)?;
    EXTENSIONS.iter().any(|extension| file.ends_with(extension)).then_some((file, name))
}

pub(super) fn read_id(id: &str) -> Identity<'_> {
    match split_id(id) {
        Some((file, name)) => Identity::of(Home::File(file), name.split(MARK).collect(), None),
        None => Identity::of(Home::Unknown, id.split(MARK).collect(), None),
    }
}

/// A test's name without its file.
#[cfg(test)]
pub(super) fn name_of(id: &str) -> String {
    split_id(id).map_or(id, |(_, name)| name).to_owned()
}

pub(super) fn id_of(file: Option<&str>, name: &str) -> String {
    match file {
        Some(file) => format!("{file}{MARK}{name}"),
        None => name.to_owned(),
    }
}

/// A pattern that matches exactly one name. Runners put a space between suite names, and a name can
/// contain our mark.
pub(super) fn pattern(name: &str) -> String {
    format!("^{}$", quoted(name).replace(MARK, " (> )?"))
}

/// Escapes a text for a regular expression.
pub(super) fn quoted(text: &str) -> String {
    let special = |letter: char| r"\.+*?()|[]{}^$/".contains(letter);
    text.chars().fold(String::new(), |mut quoted, letter| {
        if special(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
        quoted
    })
}

/// A run with our reporter, which writes to [`STREAM`].
pub(super) fn invocation(
    shown: &str,
    call: Call,
    facts: &Facts,
    reporter: &[ReporterFile],
) -> Invocation {
    let mut invocation = Invocation::new(shown, call.env("REDGREEN_REPORT", facts.scratch(STREAM)));
    invocation.inject.extend(reporter);
    invocation.reports.push(ReportAt::Scratch(STREAM.to_owned()));
    invocation
}

/// Tells the reporter which test to run.
pub(super) fn only(call: Call, name: &str) -> Call {
    call.env(ONLY, name)
}

/// Sets the location of the coverage report.
pub(super) fn add_coverage(invocation: &mut Invocation) {
    invocation.coverage = Some(CoverageAt::new(COVERAGE_FILE, Format::Lcov));
}

/// Checks whether Node can resolve a package from the project.
pub(super) fn probe(node: &str, package: &str, missing: Missing) -> Probe {
    Probe {
        call: Call::new([node, "-e", &format!("require.resolve('{package}/package.json')")]),
        missing,
    }
}

/// The events of our reporters for vitest, jest and mocha.
pub(super) fn stream(captured: &Capture) -> Stream {
    Stream::read(captured.file(".jsonl").unwrap_or_default())
}

/// Creates the report from the events, without a conclusion yet.
pub(super) fn report(captured: &Capture, runner: &str, stream: &Stream) -> Report {
    let mut report = captured.report(runner, &[]);
    report.finished = stream.finished;
    report.errors_outside.clone_from(&stream.outside);
    if stream.focused {
        report.flag(Flag::Focused);
    }
    if !stream.opened
        && captured.file(".jsonl").is_none()
        && matches!(captured.exit, Exit::Code(code) if code != 0)
    {
        report.decided = Some(Outcome::UsageError);
        report.errors_outside.push(bounded_head(&String::from_utf8_lossy(&captured.stderr)));
    }
    report.tests = stream
        .tests(captured.exit, status)
        .into_iter()
        .map(|test| placed(test, captured))
        .collect();
    for line in &stream.load_errors {
        report
            .load_errors
            .extend(line.error().map(|error| load_error(line.file.as_deref(), error, captured)));
    }
    let with_results: BTreeSet<Option<&str>> =
        stream.results.iter().map(|line| line.file.as_deref()).collect();
    for line in &stream.files {
        for error in line.errors.iter().flatten().chain(&line.error) {
            let words = error.message.as_deref().unwrap_or_default();
            if NO_TESTS.iter().any(|start| words.starts_with(start)) {
                continue;
            }
            if with_results.contains(&line.file.as_deref()) || words.contains(WORKER_GONE) {
                report.errors_outside.push(bounded_head(words));
            } else {
                report.load_errors.push(load_error(line.file.as_deref(), error, captured));
            }
        }
    }
    for line in stream.others.iter().filter(|line| line.event == "suite-error") {
        report.errors_outside.push(bounded_head(line.words().unwrap_or_default()));
    }
    report
}

/// The ids of the planned tests.
pub(super) fn planned(stream: &Stream, captured: &Capture) -> Option<Vec<String>> {
    let id = |(file, name): &(Option<String>, String)| {
        id_of(file.as_deref().map(|file| captured.relative(file)).as_deref(), name)
    };
    Some(stream.planned.as_ref()?.iter().map(id).collect())
}

/// Adds planned tests without a result if the run itself ended normally: their process died.
pub(super) fn add_lost(report: &mut Report) {
    let known: BTreeMap<String, ()> =
        report.tests.iter().map(|test| (test.id.clone(), ())).collect();
    let lost = |id: &&String| !known.contains_key(*id);
    if report.finished {
        for id in report.planned.iter().flatten().filter(lost).cloned().collect::<Vec<_>>() {
            let file = split_id(&id).map(|(file, _)| file.to_owned());
            report.tests.push(Test { file, ..Test::new(id, Status::Crashed) });
        }
    }
}

/// Converts a test of the stream to a test of the project.
pub(super) fn placed(mut test: Test, captured: &Capture) -> Test {
    test.file = test.file.as_deref().map(|file| captured.relative(file));
    test.id = id_of(test.file.as_deref(), &test.id);
    test
}

fn number(line: &Line, field: &str) -> f64 {
    line.more.get(field).and_then(Value::as_f64).unwrap_or_default()
}

fn is_true(line: &Line, field: &str) -> bool {
    line.more.get(field).and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn status(line: &Line) -> Status {
    let again = number(line, "retries") > 0.0
        || number(line, "retry") > 0.0
        || number(line, "invocations") > 1.0;
    match line.outcome.as_deref() {
        Some("passed") if is_true(line, "fails") || is_true(line, "failing") => Status::Xfailed,
        Some("passed") if again => Status::Flaky,
        Some("passed") => Status::Passed,
        Some("skipped" | "pending" | "todo" | "disabled") => Status::Skipped,
        Some("excluded") => Status::NotRun,
        Some("failed") => failure(line),
        Some(_) | None => Status::Errored,
    }
}

/// A failed assertion, or any other thrown error.
fn failure(line: &Line) -> Status {
    let matcher = line.error().is_some_and(|error| error.matcher);
    let code = line
        .error()
        .and_then(|error| error.code.as_ref())
        .or(line.code.as_ref())
        .and_then(Value::as_str);
    let class = line.class();
    let assertion =
        class.is_some_and(|class| class.contains("Assert") || class == "ExpectationNotMetError");
    let timed_out =
        TIMEOUTS.iter().any(|start| line.words().is_some_and(|words| words.starts_with(start)));
    if code == Some(TIMEOUT_CODE) || (timed_out && !matcher) {
        Status::TimedOut
    } else if matcher || assertion || code == Some("ERR_ASSERTION") {
        Status::Failed
    } else {
        Status::Errored
    }
}

pub(super) fn load_error(file: Option<&str>, error: &JsError, captured: &Capture) -> LoadError {
    let message = error.message.as_deref().unwrap_or_default();
    let frame = error.frame.as_ref();
    let at = frame.and_then(|frame| frame.file.as_deref()).map(|file| captured.relative(file));
    let at = at.filter(|file| !file.starts_with('/') && !file.contains("node_modules/"));
    let line = frame.and_then(|frame| frame.line).filter(|_| at.is_some() || file.is_none());
    let code = error.code.as_ref().and_then(Value::as_str).or(error.name.as_deref());
    LoadError {
        stage: Stage::Collect,
        file: at.or_else(|| file.map(|file| captured.relative(file))),
        line,
        kind: load_kind(error),
        code: code.map(str::to_owned),
        message: bounded_head(message),
    }
}

/// Parses Node's report of an uncaught error: the place, the source, the class with its code, the
/// trace.
pub(super) fn told(text: &str) -> JsError {
    let mut error = JsError::default();
    for line in text.lines() {
        let line = line.trim();
        let line = line.strip_prefix("Exception during run: ").unwrap_or(line);
        if error.frame.is_none() {
            error.frame = place(line).or_else(|| called(line)).or_else(|| importing(line));
        }
        if error.name.is_none()
            && let Some((class, message)) = line.split_once(": ")
        {
            let (name, code) = class.split_once(" [").unwrap_or((class, ""));
            if name.ends_with("Error") && name.chars().all(char::is_alphanumeric) {
                error.name = Some(name.to_owned());
                error.message = Some(message.to_owned());
                error.code = Some(code.trim_end_matches(']'))
                    .filter(|code| !code.is_empty())
                    .map(Value::from);
            }
        }
        if let Some(code) = line.strip_prefix("code: '").filter(|_| error.code.is_none()) {
            error.code = code.split('\'').next().map(Value::from);
        }
    }
    if error.message.is_none() {
        error.message = Some(text.to_owned());
    }
    error
}

/// Parses a line with only a place: `/project/test/a.js:4`, also as a file URL.
fn place(line: &str) -> Option<Frame> {
    let (file, number) = line.strip_prefix("file://").unwrap_or(line).rsplit_once(':')?;
    let file = Some(file).filter(|file| file.starts_with('/') && !file.contains(' '))?;
    Some(Frame { file: Some(file.to_owned()), line: Some(number.parse().ok()?) })
}

/// Parses a line of a trace: `at load (/project/test/a.js:4:7)`.
fn called(line: &str) -> Option<Frame> {
    let (at, _column) = line.strip_prefix("at ")?.trim_end_matches(')').rsplit_once(':')?;
    place(at.rsplit(['(', ' ']).next()?)
        .filter(|frame| !frame.file.as_ref().is_some_and(|file| file.contains("node_modules/")))
}

/// An ES module that was not found has no trace into the project, but the error names the importing
/// file.
fn importing(line: &str) -> Option<Frame> {
    let (_, file) = line.split_once(" imported from ")?;
    Some(Frame { file: Some(file.to_owned()), line: None }).filter(|_| file.starts_with('/'))
}

fn load_kind(error: &JsError) -> LoadErrorKind {
    let message = error.message.as_deref().unwrap_or_default();
    let code = error.code.as_ref().and_then(Value::as_str).unwrap_or_default();
    let name = error.name.as_deref().unwrap_or_default();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if MISSING_CODES.contains(&code) || says(MISSING_WORDS) {
        LoadErrorKind::MissingSymbol
    } else if SYNTAX_CODES.contains(&code) || name == "SyntaxError" || says(SYNTAX_WORDS) {
        LoadErrorKind::Syntax
    } else if matches!(name, "ReferenceError" | "TypeError") {
        LoadErrorKind::MissingSymbol
    } else {
        LoadErrorKind::Other
    }
}
