//! Shared by pytest and unittest: the interpreter, the exceptions that mean a missing symbol, the
//! file rules.

use super::facts::{Facts, Folder};
use super::file_name;
use super::invoke::{
    Call, CannotRun, CoverageAt, Invocation, Missing, Probe, ReportAt, ReporterFile, Stale, Step,
};
use crate::coverage::Format;
use crate::report::{LoadError, LoadErrorKind};

/// In order of preference: the project's own environment, the active one, then PATH.
pub(super) const TOOLS: &[&str] = &[
    ".venv/bin/python",
    "venv/bin/python",
    "uv",
    "$VIRTUAL_ENV/bin/python",
    "poetry",
    "python3",
    "python",
];

/// The file that both reporters write.
pub(super) const STREAM: &str = "stream.jsonl";
/// The bytecode of `a/b.py` is `a/__pycache__/b.cpython-311.pyc`.
const BYTECODE: &str = "**/__pycache__/*.pyc";
const COVERAGE_FILE: &str = "coverage.lcov";

pub(super) const LITTER: &[&str] =
    &["__pycache__/", ".pytest_cache/", "*.pyc", ".coverage", "htmlcov/"];

const SYNTAX: &[&str] = &["SyntaxError", "IndentationError", "TabError"];
const MISSING_SYMBOL: &[&str] =
    &["ImportError", "ModuleNotFoundError", "NameError", "AttributeError"];

/// The interpreter that runs the project. An environment in the tree takes precedence over the tool
/// of a lock file: that tool created the environment, and calling the tool may need the network.
/// Poetry would use the active environment itself.
pub(super) fn interpreter(facts: &Facts, runner: &str) -> Result<Call, CannotRun> {
    if let Some(python) = facts.first_tool(&[".venv/bin/python", "venv/bin/python"]) {
        return Ok(Call::new([python]));
    }
    let managed = |lock: &str, tool: &str| facts.tool(tool).filter(|_| facts.folder.has(lock));
    if let Some(uv) = managed("uv.lock", "uv") {
        return Ok(Call::new([uv, "run", "python"]));
    }
    if let Some(python) = facts.tool("$VIRTUAL_ENV/bin/python") {
        return Ok(Call::new([python]));
    }
    if let Some(poetry) = managed("poetry.lock", "poetry") {
        return Ok(Call::new([poetry, "run", "python"]));
    }
    match facts.first_tool(&["python3", "python"]) {
        Some(python) => Ok(Call::new([python])),
        None => Err(CannotRun::Missing(Missing {
            what: format!("no python found to run {runner}"),
            evidence:
                "looked for .venv and venv in the project, $VIRTUAL_ENV, python3 and python on PATH"
                    .to_owned(),
            next: "install python 3, or create a virtual environment: python3 -m venv .venv"
                .to_owned(),
        })),
    }
}

/// A run with our reporter, which writes to [`STREAM`].
pub(super) fn invocation(
    shown: &str,
    call: Call,
    facts: &Facts,
    reporter: ReporterFile,
) -> Invocation {
    let plugins = facts.scratch("plugins");
    let path = facts.imports.iter().fold(plugins, |path, folder| format!("{path}:{folder}"));
    let call = call.env("PYTHONPATH", path).env("REDGREEN_REPORT", facts.scratch(STREAM));
    let mut invocation = Invocation::new(shown, call);
    invocation.inject.push(reporter);
    invocation.stale.push(Stale::Bytecode(BYTECODE));
    invocation.reports.push(ReportAt::Scratch(STREAM.to_owned()));
    invocation
}

/// The interpreter with coverage.py wrapped around the program to run.
pub(super) fn under_coverage(facts: &Facts, python: Call) -> Call {
    let data = format!("--data-file={}", facts.scratch("coverage"));
    python.args(["-m", "coverage", "run", &data, "--source=."])
}

/// Converts the coverage data to LCOV, and reports if coverage.py is missing.
pub(super) fn add_coverage(invocation: &mut Invocation, facts: &Facts, python: &Call) {
    let data = format!("--data-file={}", facts.scratch("coverage"));
    let lcov =
        python.clone().args(["-m", "coverage", "lcov", &data, "-o", &facts.scratch(COVERAGE_FILE)]);
    invocation.after.push(Step { name: "lcov", call: lcov });
    invocation.coverage = Some(CoverageAt::new(COVERAGE_FILE, Format::Lcov));
    let words = python.words.join(" ");
    invocation.probes.push(Probe {
        call: python.clone().args(["-c", "import coverage"]),
        missing: Missing {
            what: format!("{words} cannot import coverage"),
            evidence: String::new(),
            next: format!("{words} -m pip install coverage"),
        },
    });
}

/// Classifies a chain of exceptions and returns the class that decides; it can be anywhere in the
/// chain.
pub(super) fn load_kind(chain: &[String]) -> (LoadErrorKind, Option<String>) {
    let last_of =
        |names: &[&str]| chain.iter().rev().find(|class| names.contains(&class.as_str())).cloned();
    match (last_of(SYNTAX), last_of(MISSING_SYMBOL)) {
        (Some(class), _) => (LoadErrorKind::Syntax, Some(class)),
        (None, Some(class)) => (LoadErrorKind::MissingSymbol, Some(class)),
        (None, None) => (LoadErrorKind::Other, chain.last().cloned()),
    }
}

/// Completes a load error from pytest's JUnit XML, which has the module's name and the exceptions
/// in its text.
pub(super) fn explain(error: &mut LoadError) {
    let class = |line: &str| Some(line.strip_prefix("E ")?.trim().split(':').next()?.to_owned());
    let chain: Vec<String> = error.message.lines().filter_map(class).collect();
    (error.kind, error.code) = load_kind(&chain);
    error.file = error.file.as_deref().map(|module| format!("{}.py", module.replace('.', "/")));
}

/// The files that show which of the two runners a project uses.
pub(super) fn reads(path: &str) -> bool {
    matches!(path, "pyproject.toml" | "setup.cfg" | "tox.ini")
        || (path.starts_with("requirements") && path.ends_with(".txt"))
        || is_test_file(path)
}

/// Whether the project's tests use unittest and nothing in it names pytest. Installed packages do
/// not count, because a verdict must not depend on the machine.
pub(super) fn is_for_unittest(folder: &Folder) -> bool {
    runs_in_unittest(folder)
        && !folder.files.iter().any(|path| file_name(path).contains("pytest."))
        && !folder.texts.iter().any(|(_, text)| text.contains("pytest"))
}

/// Whether unittest can run every test, whatever else the project names.
pub(super) fn runs_in_unittest(folder: &Folder) -> bool {
    let tests = || {
        folder.texts.iter().filter(|(path, _)| is_test_file(path)).map(|(_, text)| text.as_str())
    };
    let imports_pytest =
        |text: &str| text.contains("import pytest") || text.contains("from pytest");
    tests().any(is_of_unittest)
        && !tests().any(|text| is_of_pytest(text) || imports_pytest(text))
        && !folder.files.iter().any(|path| file_name(path) == "conftest.py")
}

/// Its classes, and not only its mocks: those are in many a test of pytest's.
fn is_of_unittest(text: &str) -> bool {
    text.contains("unittest") && (text.contains("TestCase") || text.contains("load_tests"))
}

/// Whether a file has tests that unittest would ignore.
fn is_of_pytest(text: &str) -> bool {
    let plain_class = |line: &str| line.starts_with("class Test") && !line.contains('(');
    text.lines().any(|line| {
        line.starts_with("def test") || line.starts_with("async def test") || plain_class(line)
    })
}

pub(super) fn is_test_file(path: &str) -> bool {
    let Some(stem) = file_name(path).strip_suffix(".py") else { return false };
    let in_tests =
        path.split('/').rev().skip(1).any(|folder| folder == "tests" || folder == "test");
    // Only at the root: deeper it is a part of the library, like `numpy/testing`.
    let in_tests = in_tests || path.starts_with("testing/");
    let named = stem.starts_with("test_") || stem.ends_with("_test");
    // Django's `tests.py`, and a `test.py` next to the code, which unittest finds.
    named || matches!(stem, "conftest" | "test" | "tests") || in_tests
}

pub(super) fn is_runner_config(path: &str) -> bool {
    matches!(
        file_name(path),
        "pytest.ini"
            | ".pytest.ini"
            | "pytest.toml"
            | ".pytest.toml"
            | "pyproject.toml"
            | "setup.cfg"
            | "tox.ini"
            | "setup.py"
            | "noxfile.py"
            | ".coveragerc"
            | "sitecustomize.py"
            | "usercustomize.py"
    ) || path.ends_with(".pth")
}
