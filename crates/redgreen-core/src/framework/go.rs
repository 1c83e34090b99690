//! Runs `go test` and reads its JSON events. Compile errors come from the compiler's own lines.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{Call, CannotRun, CoverageAt, Invocation, Missing, ReportAt, Selection, Step};
use super::{Execution, Framework, Home, Identity, Process, file_name};
use crate::coverage::Format;
use crate::format::go_json::{self, End, GoTest, Panic, Stream};
use crate::format::{bounded_head, stream};
use crate::report::{Exit, Flag, LoadError, LoadErrorKind, Outcome, Report, Stage, Status, Test};

pub const FRAMEWORK: Framework = Framework {
    name: "go",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: MANIFEST,
    detect,
    reads: |path| path == MANIFEST,
    // `./...` stops at the next go.mod.
    reach: Reach::Package,
    tools: &["go"],
    is_id: |id| split_id(id).is_some_and(|(_, test)| test.split('/').next().is_some_and(is_name)),
    read: read_id,
    is_test_file: |path| path.ends_with("_test.go") || in_testdata(path),
    is_runner_config: |path| {
        matches!(file_name(path), "go.mod" | "go.sum" | "go.work" | "go.work.sum")
    },
    litter: &["*.test", "*.prof"],
};

const MANIFEST: &str = "go.mod";
/// Prefixes of the functions that `go test` runs.
const TEST_NAMES: &[&str] = &["Test", "Example", "Fuzz"];
/// A step before the run that lists the path and the folder of each module, because reports name
/// packages, not folders.
const MODULES: &str = "modules";
const TEST_FILES: &str = "**/*_test.go";
const COVERAGE_FILE: &str = "cover.out";

/// Errors of the test file itself: it does not compile, whatever the code under test is.
const OWN_ERRORS: &[&str] = &["not used", "redeclared"];
/// The exception name of a test that panicked.
pub(crate) const PANIC: &str = "panic";
/// Go's message about a test that tried to exit the process.
const EXITED: &str = "unexpected call to os.Exit";
/// Printed when the compiler stops reporting; not an error itself.
const TOO_MANY_ERRORS: &str = "too many errors";
const SYNTAX: &[&str] = &["syntax error", "missing ','", "illegal character", "not terminated"];
const EXPECTED: &str = "expected ";

fn detect(folder: &Folder) -> Evidence {
    if folder.has(MANIFEST) { Evidence::Sure } else { Evidence::None }
}

fn in_testdata(path: &str) -> bool {
    path.split('/').rev().skip(1).any(|folder| folder == "testdata")
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let Some(go) = facts.tool("go") else {
        return Err(CannotRun::Missing(Missing {
            what: "go is not installed".to_owned(),
            evidence: "the project has a go.mod, and no go was found on PATH".to_owned(),
            next: "install Go: https://go.dev/dl".to_owned(),
        }));
    };
    // Without -count=1 go replays cached results. Vet is a linter: its findings are not compile
    // errors.
    let call = Call::new([go, "test", "-json", "-count=1", "-vet=off"]);
    let mut invocation = Invocation::new("go test", Call::default());
    invocation.before.push(Step {
        name: MODULES,
        call: Call::new([go, "list", "-m", "-f", "{{.Path}} {{.Dir}}"]),
    });
    // Go does not report where a test is defined.
    invocation.reports.push(ReportAt::Source(TEST_FILES));
    invocation.call = match selection {
        Selection::All => call.args(["./..."]),
        // Go compiles packages; a single file would become a separate package.
        Selection::Files(paths) => {
            let functions = functions_of(&facts.chosen, paths);
            let run =
                functions.map(|names| ["-run".to_owned(), format!("^({})$", names.join("|"))]);
            call.args(run.into_iter().flatten()).args(packages_of(paths))
        }
        Selection::One(id) => {
            let (package, test) = split_id(id).unwrap_or((id, ""));
            call.args(["-run", &pattern(test), package])
        }
        Selection::List => call.args(["-list", ".*", "./..."]),
        Selection::Coverage => {
            let file = facts.scratch(COVERAGE_FILE);
            invocation.reports.push(ReportAt::Scratch(COVERAGE_FILE.to_owned()));
            invocation.coverage = Some(CoverageAt {
                below: facts.folder.text(MANIFEST).and_then(module).map(str::to_owned),
                ..CoverageAt::new(COVERAGE_FILE, Format::GoCover)
            });
            call.args([&format!("-coverprofile={file}"), "-covermode=atomic", "./..."])
        }
    };
    Ok(invocation)
}

/// The path of a module. Paths of its packages, and of files in a cover profile, start with it.
fn module(manifest: &str) -> Option<&str> {
    let path = manifest.lines().find_map(|line| line.trim_start().strip_prefix("module "))?;
    path.split_whitespace().next().map(|path| path.trim_matches('"'))
}

/// The tests of some files. `None` if they cannot be determined: a file without tests may contain
/// helpers for others, and methods are tests of a suite that is started elsewhere.
fn functions_of(chosen: &[(String, String)], paths: &[String]) -> Option<Vec<String>> {
    let is_test = |name: &str| TEST_NAMES.iter().any(|start| name.starts_with(start));
    let mut names = Vec::new();
    for path in paths {
        let (_, text) = chosen.iter().find(|(known, _)| known == path)?;
        let known = names.len();
        for function in text.lines().filter_map(|line| line.strip_prefix("func ")) {
            let (is_method, function) = match function.strip_prefix('(') {
                Some(method) => {
                    (true, method.split_once(") ").map_or("", |(_, function)| function))
                }
                None => (false, function),
            };
            let name =
                function.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
            match is_test(name) {
                true if is_method => return None,
                true => names.push(name.to_owned()),
                false => {}
            }
        }
        if names.len() == known {
            return None;
        }
    }
    Some(names)
}

fn packages_of(paths: &[String]) -> Vec<String> {
    let folder = |path: &String| match path.rsplit_once('/') {
        Some((folder, _)) => format!("./{folder}"),
        None => ".".to_owned(),
    };
    let mut packages: Vec<String> = paths.iter().map(folder).collect();
    packages.sort();
    packages.dedup();
    packages
}

/// Whether two tests run in the same process. A panic ends both.
pub(crate) fn share_a_process(one: &str, other: &str) -> bool {
    package_of(one).is_some_and(|package| package_of(other) == Some(package))
}

/// Splits `example.com/demo.TestT/one_two` into package `example.com/demo` and test
/// `TestT/one_two`.
fn split_id(id: &str) -> Option<(&str, &str)> {
    let starts = TEST_NAMES.iter().flat_map(|name| id.match_indices(name)).map(|(at, _)| at);
    let at = starts.filter(|&at| id.get(..at).is_some_and(|before| before.ends_with('.'))).min()?;
    Some((id.get(..at.checked_sub(1)?)?, id.get(at..)?))
}

fn read_id(id: &str) -> Identity<'_> {
    let (package, test) = split_id(id).unwrap_or(("", id));
    let (function, case) =
        test.split_once('/').map_or((test, None), |(function, case)| (function, Some(case)));
    Identity::of(Home::Package(package), vec![function], case)
}

/// Go expects a separate pattern for each level of subtests.
fn pattern(test: &str) -> String {
    let quoted = |name: &str| {
        let special = |letter: char| r"\.+*?()|[]{}^$".contains(letter);
        name.chars().fold(String::new(), |mut quoted, letter| {
            if special(letter) {
                quoted.push('\\');
            }
            quoted.push(letter);
            quoted
        })
    };
    test.split('/').map(|name| format!("^{}$", quoted(name))).collect::<Vec<_>>().join("/")
}

pub(super) fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, &[]);
    let stream = go_json::parse(&captured.stdout);
    let places = Places { modules: Modules::read(captured), written: written(captured) };
    let nothing = stream.events == 0 && stream.plain.is_empty();
    if captured.failed_step().is_some() || (nothing && captured.exit != Exit::Code(0)) {
        report.decided = Some(Outcome::UsageError);
        let step = captured.failed_step().map_or(&captured.stderr, |step| &step.stderr);
        report.errors_outside.push(bounded_head(&String::from_utf8_lossy(step)));
    }
    let unbuilt = unbuilt(&stream);
    if !unbuilt.is_empty() && unbuilt.iter().all(|package| package.starts_with('.')) {
        // The pattern matched nothing that can be built: there is no module or no such folder.
        report.decided = Some(Outcome::UsageError);
    }
    if !unbuilt.is_empty() {
        report.stage(Stage::Build, false);
        report.load_errors = load_errors(&stream, captured, &unbuilt);
    }
    add_tests(&mut report, &stream, &places, captured.exit);
    let ended = stream.packages.values().all(|package| package.end.is_some());
    report.finished =
        ended && !captured.cut && (!stream.packages.is_empty() || !unbuilt.is_empty());
    let failed = stream.packages.values().any(|package| package.end == Some(End::Fail));
    if failed && unbuilt.is_empty() && !report.tests.iter().any(|test| test.status.is_failure()) {
        let words = stream.packages.values().find(|package| package.end == Some(End::Fail));
        let words = words.map(|package| package.output.trim()).unwrap_or_default();
        report.errors_outside.push(format!("a package failed without a failing test: {words}"));
    }
    report.conclude();
    report
}

/// The packages that failed to build or to load.
fn unbuilt(stream: &Stream) -> Vec<String> {
    let plain = stream.plain.iter().filter_map(|line| {
        let (package, why) = line.strip_prefix("FAIL\t")?.split_once(' ')?;
        matches!(why, "[build failed]" | "[setup failed]").then(|| package.to_owned())
    });
    let events = stream.packages.iter().filter(|(_, package)| {
        let told = |words: &str| package.output.contains(words) && package.end == Some(End::Fail);
        package.failed_build.is_some() || told("[build failed]") || told("[setup failed]")
    });
    plain.chain(events.map(|(name, _)| name.clone())).collect()
}

/// One error for each compiler line, or for each package if no line names a place.
fn load_errors(stream: &Stream, captured: &Capture, unbuilt: &[String]) -> Vec<LoadError> {
    let mut texts: Vec<String> = stream.build_output.values().cloned().collect();
    if texts.is_empty() {
        texts.push(String::from_utf8_lossy(&captured.stderr).into_owned());
    }
    let mut errors: Vec<LoadError> = Vec::new();
    for error in
        texts.iter().flat_map(|text| text.lines()).filter_map(|line| compiler_error(captured, line))
    {
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    if errors.is_empty() {
        let words = texts.concat();
        let of_package =
            |package: &String| load_error(Some(package.clone()), None, kind_of(&words), &words);
        errors = unbuilt.iter().map(of_package).collect();
    }
    errors
}

/// Parses `./calc_test.go:5:9: undefined: Subtract`, which can start with `vet: ` or have no
/// column.
fn compiler_error(captured: &Capture, line: &str) -> Option<LoadError> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let (file, rest) = line.split_once(".go:")?;
    let (number, rest) = rest.split_once(':')?;
    let number = number.parse().ok()?;
    let column = rest.split_once(": ").filter(|(column, _)| column.parse::<u32>().is_ok());
    let words = column.map_or(rest, |(_, words)| words);
    if words == TOO_MANY_ERRORS {
        return None;
    }
    let file = captured.relative(&format!("{file}.go"));
    Some(load_error(Some(file), Some(number), kind_of(words), words))
}

fn load_error(
    file: Option<String>,
    line: Option<u32>,
    kind: LoadErrorKind,
    words: &str,
) -> LoadError {
    LoadError { stage: Stage::Build, file, line, kind, code: None, message: bounded_head(words) }
}

/// The compiler has no error codes and changes its wording between versions. Errors that are
/// neither syntax errors nor errors of the file itself are demands on other code: a name, a field,
/// a parameter, a type.
fn kind_of(words: &str) -> LoadErrorKind {
    let says = |known: &[&str]| known.iter().any(|word| words.contains(word));
    if words.starts_with(EXPECTED) || says(SYNTAX) {
        LoadErrorKind::Syntax
    } else if says(OWN_ERRORS) {
        LoadErrorKind::Other
    } else {
        LoadErrorKind::MissingSymbol
    }
}

fn add_tests(report: &mut Report, stream: &Stream, places: &Places, exit: Exit) {
    // A test with subtests is reported only if it failed and none of its subtests did.
    let mut worst_below: BTreeMap<(&str, &str), Status> = BTreeMap::new();
    for test in &stream.tests {
        let mut name = test.name.as_str();
        while let Some((parent, _)) = name.rsplit_once('/') {
            let worst =
                worst_below.entry((test.package.as_str(), parent)).or_insert(Status::Passed);
            *worst = (*worst).max(status(test, exit));
            name = parent;
        }
    }
    for test in &stream.tests {
        if test.ends.len() > 1 {
            report.flag(Flag::DuplicateId);
        }
        if !test.started {
            report.flag(Flag::ResultWithoutRun);
        }
        let status = status(test, exit);
        match worst_below.get(&(test.package.as_str(), test.name.as_str())) {
            Some(below) if below.is_failure() || !status.is_failure() => {}
            Some(_) | None => report.tests.push(described(test, status, places)),
        }
    }
}

fn status(test: &GoTest, exit: Exit) -> Status {
    let ended_with = |end: End| test.ends.contains(&end);
    match test.panic {
        Some(Panic::TimedOut) if !ended_with(End::Pass) => Status::TimedOut,
        Some(Panic::Panic) if !ended_with(End::Pass) => Status::Crashed,
        _ if test.ends.is_empty() && exit == Exit::TimedOut => Status::TimedOut,
        _ if test.ends.is_empty() => Status::Crashed,
        _ if ended_with(End::Fail) => Status::Failed,
        _ if ended_with(End::Skip) => Status::Skipped,
        _ => Status::Passed,
    }
}

fn described(test: &GoTest, status: Status, places: &Places) -> Test {
    let mut shown = Test::new(format!("{}.{}", test.package, test.name), status);
    shown.duration_ms = test.seconds.map(|seconds| seconds * 1000.0);
    // A panic counts the test as failed and ends the process.
    let panicked = test.panic == Some(Panic::Panic)
        && test.ends == [End::Fail]
        && !test.output.contains(EXITED);
    shown.exception = panicked.then(|| PANIC.to_owned());
    let folder = places.modules.folder_of(&test.package);
    let in_folder = |folder: &str, file: &str| match folder {
        "" => file.to_owned(),
        _ => format!("{folder}/{file}"),
    };
    let home = folder.as_deref().and_then(|folder| places.home(folder, &test.name));
    shown.file = home.map(|(file, _)| file.to_owned());
    if status.is_failure() || status == Status::Skipped {
        let words = if test.error.is_empty() { &test.output } else { &test.error };
        shown.message = Some(bounded_head(words)).filter(|words| !words.is_empty());
        let place = words.lines().find_map(place).or_else(|| words.lines().find_map(frame));
        let place = place
            .map(|(file, line)| (in_folder(folder.as_deref().unwrap_or_default(), file), line));
        shown.line = match (place, home) {
            // A helper in another file reports its own place; use the start of the test instead.
            (Some((file, _)), Some((known, line))) if file != known => Some(line),
            (None, Some((_, line))) => Some(line),
            (Some((file, line)), _) if folder.is_some() => {
                shown.file = Some(file);
                Some(line)
            }
            (Some(_) | None, None) | (Some(_), Some(_)) => None,
        };
    }
    shown
}

/// Where tests are defined.
struct Places {
    modules: Modules,
    written: Vec<SourceTests>,
}

/// A function in a test file.
struct SourceTests {
    folder: String,
    name: String,
    file: String,
    line: u32,
}

impl Places {
    /// The file and the line of a test. Subtests share those of their test.
    fn home(&self, folder: &str, test: &str) -> Option<(&str, u32)> {
        let name = test.split('/').next().unwrap_or(test);
        let known = self.written.iter().find(|one| one.folder == folder && one.name == name)?;
        Some((&known.file, known.line))
    }
}

/// The functions that start at the beginning of a line, as gofmt formats them.
fn written(captured: &Capture) -> Vec<SourceTests> {
    let mut all = Vec::new();
    for (path, bytes) in captured.reports.iter().filter(|(path, _)| path.ends_with("_test.go")) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, text) in (1..).zip(String::from_utf8_lossy(bytes).lines()) {
            let Some((name, _)) = text.strip_prefix("func ").and_then(|rest| rest.split_once('('))
            else {
                continue;
            };
            if TEST_NAMES.iter().any(|start| name.starts_with(start)) {
                let (folder, file, name) = (folder.to_owned(), path.clone(), name.to_owned());
                all.push(SourceTests { folder, name, file, line });
            }
        }
    }
    all
}

/// The package of a test.
fn package_of(id: &str) -> Option<&str> {
    split_id(id).map(|(package, _)| package)
}

fn is_name(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// Parses `    calc_test.go:20: words`: only the file name, in the folder of its package.
fn place(line: &str) -> Option<(&str, u32)> {
    let (name, rest) = line.trim_start().split_once(".go:")?;
    let (number, _) = rest.split_once(':')?;
    let end = line.len() - line.trim_start().len() + name.len() + ".go".len();
    let file = line.get(..end)?.trim_start();
    (!file.contains([' ', '/'])).then_some((file, number.parse().ok()?))
}

/// Parses `\t/project/calc_test.go:20 +0x1b`: the frame of the test in the stack of a panic.
fn frame(line: &str) -> Option<(&str, u32)> {
    let (path, rest) = line.strip_prefix('\t')?.split_once("_test.go:")?;
    let start = line.len() - rest.len() - "_test.go:".len() - path.rsplit('/').next()?.len();
    let number = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    Some((line.get(start..line.len() - rest.len() - 1)?, number.parse().ok()?))
}

/// The modules of the project: path and folder, relative to where the run started.
struct Modules(Vec<(String, String)>);

impl Modules {
    fn read(captured: &Capture) -> Self {
        let step = captured.steps.iter().find(|step| step.name == MODULES);
        let text =
            step.map(|step| String::from_utf8_lossy(&step.stdout).into_owned()).unwrap_or_default();
        let module = |line: &str| {
            let (path, folder) = line.split_once(' ')?;
            let inside = folder.strip_prefix(captured.root.as_str())?;
            Some((path.to_owned(), inside.trim_start_matches('/').to_owned()))
        };
        Self(text.lines().filter_map(module).collect())
    }

    fn folder_of(&self, package: &str) -> Option<String> {
        let within = |(path, folder): &(String, String)| {
            let rest = package.strip_prefix(path.as_str())?;
            let rest = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
            let parts = [folder.as_str(), rest];
            Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"))
        };
        self.0.iter().filter_map(within).min_by_key(String::len)
    }
}

/// `-list` prints the names of each package as output of that package.
fn list(captured: &Capture) -> Vec<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct PrintedResult {
        package: String,
        output: String,
    }
    let printed = stream::events::<PrintedResult>(&captured.stdout);
    let is_test =
        |line: &PrintedResult| TEST_NAMES.iter().any(|name| line.output.starts_with(name));
    printed
        .filter(is_test)
        .map(|line| format!("{}.{}", line.package, line.output.trim_end()))
        .collect()
}

#[cfg(test)]
mod tests;
