//! A diff as data: the changed paths and their class for the phases.

mod manifest;
mod python_library;

use serde::{Deserialize, Serialize};

use crate::framework::{FRAMEWORKS, Framework, command};
use crate::phase::Phase;
use crate::syntax::{self, ItemChange, ItemKind, Language};
use crate::test_list;
use crate::verdict::{Code, Reason};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub paths: Vec<ChangedPath>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedPath {
    pub path: String,
    pub kind: Kind,
    pub class: Class,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Added,
    Modified,
    Deleted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Tests, test helpers and test data.
    Test,
    /// A test file with additional tests and no other change.
    MoreTests,
    /// A snapshot that a run filled in because the test left it empty.
    Snapshot,
    Implementation,
    /// Code in a language that keeps tests in the same file, so that the path is not conclusive.
    Mixed,
    /// Code with only new signatures and placeholders: a stub that lets a test compile.
    Stub,
    RunnerConfig,
    /// Dependencies and project metadata; changes like code.
    Manifest,
    Documentation,
    TestList,
    /// A submodule or a nested repository, which a tree of this repository cannot contain.
    Submodule,
}

impl ChangedPath {
    /// Whether a runner reads it before any test: its configuration, or pytest's `conftest.py`.
    pub fn is_read_first(&self) -> bool {
        self.class == Class::RunnerConfig || self.path.rsplit('/').next() == Some("conftest.py")
    }
}

/// redgreen's own settings files.
const SETTINGS: &[&str] = &["redgreen.toml", "tdd.properties"];

/// Whether a file holds redgreen's own settings.
pub(crate) fn is_own_settings(path: &str) -> bool {
    SETTINGS.contains(&path)
}

/// Classifies a path by its name.
pub fn classify(path: &str, frameworks: &[&Framework]) -> Class {
    let name = path.rsplit('/').next().unwrap_or(path);
    if path == test_list::FILE {
        Class::TestList
    } else if frameworks.iter().any(|framework| (framework.is_test_file)(path)) {
        Class::Test
    } else if is_manifest(name) && !is_of_command(name, frameworks) {
        Class::Manifest
    } else if is_own_settings(path)
        || frameworks.iter().any(|framework| (framework.is_runner_config)(path))
    {
        Class::RunnerConfig
    } else if is_in_tests(path) {
        Class::Test
    } else if is_documentation(path, name) {
        Class::Documentation
    } else if extension(name) == "rs" {
        Class::Mixed
    } else {
        Class::Implementation
    }
}

/// A custom command may be tox, which reads more of this file than a test runner does.
fn is_of_command(name: &str, frameworks: &[&Framework]) -> bool {
    name == "tox.ini" && run_a_command(frameworks)
}

fn run_a_command(frameworks: &[&Framework]) -> bool {
    frameworks.iter().any(|framework| framework.name == command::FRAMEWORK.name)
}

/// Whether a path is a test, a test helper or test data, by the rules of any runner.
pub(crate) fn is_test(path: &str) -> bool {
    classify(path, &FRAMEWORKS.iter().collect::<Vec<_>>()) == Class::Test
}

/// In Rust, a file in `tests` next to `src` is a separate program.
pub(crate) fn is_test_program(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") && !path.contains("src/")
}

/// Rust benchmarks count as tests, but no test run checks what they measure.
pub(crate) fn is_benchmark(path: &str) -> bool {
    path.ends_with(".rs") && path.split('/').any(|folder| folder == "benches")
}

/// Whether both versions of a file are needed to classify its change in the phase.
pub fn needs_a_look(phase: Phase, class: Class, kind: Kind) -> bool {
    matches!(
        (phase, class, kind),
        (Phase::Red, Class::Implementation, _)
            | (Phase::Green, Class::Mixed | Class::Test, Kind::Modified)
    )
}

/// Classifies a change from both versions of the file: code that only lets a test compile is a
/// stub, and code with changes to tests in the same file is a change to tests.
pub fn look_closer(phase: Phase, class: Class, path: &str, old: &str, new: &str) -> Class {
    match (phase, class) {
        (Phase::Red, Class::Implementation) if is_stub(path, old, new) => Class::Stub,
        (Phase::Green, Class::Test) if syntax::fills_snapshots(old, new) => Class::Snapshot,
        (Phase::Green, Class::Test)
            if is_benchmark(path)
                || Language::of_path(path) != Language::Other
                    && (syntax::only_reformatted(Language::of_path(path), old, new)
                        || syntax::only_adds_tests(Language::of_path(path), path, old, new)) =>
        {
            Class::MoreTests
        }
        (Phase::Green, Class::Mixed) if touches_tests(path, old, new) => Class::Test,
        _ => class,
    }
}

/// What a change of a manifest does to the test runner.
pub fn manifest_ruling(
    phase: Phase,
    path: &str,
    old: &str,
    new: &str,
    frameworks: &[&Framework],
) -> Vec<Reason> {
    manifest::ruling(phase, path, old, new, run_a_command(frameworks))
}

/// Whether a file may name modules that are written when the project is installed, and that git
/// does not hold.
pub fn names_modules(path: &str) -> bool {
    manifest::names_modules(path)
}

/// The modules that such a file names, as paths from its folder.
pub fn named_modules(text: &str) -> Vec<String> {
    manifest::named_modules(text)
}

/// New files that runners load automatically and that affect existing tests (`known`). Fixtures
/// that have to be requested are harmless.
pub fn hooks_added(
    phase: Phase,
    change: &Change,
    known: &[&str],
    read: impl Fn(&str) -> Option<String>,
) -> Vec<Reason> {
    let code = match phase {
        Phase::Green => Code::GreenConfigChanged,
        Phase::Refactor => Code::RefactorConfigChanged,
        Phase::Plan | Phase::Red | Phase::Complete => return Vec::new(),
    };
    let mut reasons = Vec::new();
    for added in change.paths.iter().filter(|changed| changed.kind == Kind::Added) {
        let (folder, name) = added.path.rsplit_once('/').unwrap_or(("", &added.path));
        let reaches = |path: &&&str| {
            folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        let waits = || read(&added.path).is_some_and(|source| syntax::only_fixtures(&source));
        let hook = name == "conftest.py" && !waits()
            || added.path.split('/').any(|part| part == "__mocks__");
        if hook && known.iter().find(reaches).is_some() {
            let sentence = format!("{} is new and changes how existing tests run", added.path);
            reasons.push(Reason::new(code, sentence).place(Some(&added.path), None));
        }
    }
    reasons
}

/// The module of Python's standard library that a file would shadow.
pub fn shadowed_module(path: &str) -> Option<&str> {
    let inner = ["src/", "lib/"].iter().find_map(|root| path.strip_prefix(root)).unwrap_or(path);
    let module = match inner.split_once('/') {
        Some((package, "__init__.py")) => package,
        Some(_) => return None,
        None => inner.strip_suffix(".py")?,
    };
    is_python_library(module).then_some(module)
}

pub(crate) fn is_python_library(module: &str) -> bool {
    python_library::MODULES.contains(&module)
}

/// Whether tests in a code file changed. An experiment checks changed doc tests.
fn touches_tests(path: &str, old: &str, new: &str) -> bool {
    let changes = syntax::test_block_frozen(Language::of_path(path), path, old, new);
    changes.iter().any(|change| match change {
        ItemChange::Removed(old)
        | ItemChange::Changed { old, .. }
        | ItemChange::Weakened { old, .. } => old.kind != ItemKind::DocTest,
        ItemChange::Added(_) | ItemChange::Renamed { .. } => false,
    })
}

/// Whether the new version of a file only adds what lets a test compile.
pub fn is_stub(path: &str, old: &str, new: &str) -> bool {
    match Language::of_path(path) {
        Language::Other => is_stub_by_line(old, new),
        language @ (Language::Python
        | Language::Rust
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Go
        | Language::Java) => syntax::is_stub(language, old, new),
    }
}

/// For languages without a parser.
fn is_stub_by_line(old: &str, new: &str) -> bool {
    let mut kept = old.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let mut docstring = false;
    for line in new.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if kept.peek() == Some(&line) {
            kept.next();
        } else if line.starts_with("\"\"\"") {
            docstring = line.len() < 6 || !line.ends_with("\"\"\"");
        } else if docstring {
            docstring = !line.ends_with("\"\"\"");
        } else if !is_stub_line(line) {
            return false;
        }
    }
    kept.next().is_none()
}

fn is_stub_line(line: &str) -> bool {
    const SIGNATURES: [&str; 14] = [
        "def ",
        "async def ",
        "class ",
        "@",
        "import ",
        "from ",
        "pub ",
        "fn ",
        "function ",
        "export ",
        "struct ",
        "enum ",
        "impl ",
        "interface ",
    ];
    const BODIES: [&str; 9] = [
        "pass",
        "...",
        "raise NotImplementedError",
        "todo!(",
        "unimplemented!(",
        "return None",
        "return null",
        "throw new Error(",
        "return undefined",
    ];
    let closes = |letter: char| "{}()[];,".contains(letter);
    line.chars().all(closes)
        || line.starts_with(['#', '/', '*'])
        || BODIES.iter().any(|body| line.starts_with(body))
        || SIGNATURES.iter().any(|start| line.starts_with(start)) && has_no_body(line)
}

/// A signature that ends its line, or has a placeholder: `fn f() -> u8 { todo!() }`.
fn has_no_body(line: &str) -> bool {
    let body = match line.split_once('{') {
        Some((_, body)) => body,
        None => line.rsplit_once(':').map_or("", |(_, body)| body),
    };
    let body = body.trim().trim_end_matches('}').trim();
    body.is_empty()
        || line.starts_with("import ")
        || line.starts_with("from ")
        || [
            "pass",
            "...",
            "todo!(",
            "unimplemented!(",
            "raise NotImplementedError",
            "throw new Error(",
        ]
        .iter()
        .any(|placeholder| body.starts_with(placeholder))
}

/// Whether tools read the file: a manifest, or the settings of any test runner.
pub(crate) fn is_settings(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_manifest(name)
        || name.starts_with('.')
        || FRAMEWORKS.iter().any(|framework| (framework.is_runner_config)(path))
}

fn is_manifest(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "Cargo.toml",
        "Cargo.lock",
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "tox.ini",
        "poetry.lock",
        "uv.lock",
        "package.json",
        "package-lock.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "go.mod",
        "go.sum",
        ".gitignore",
        "Pipfile",
        "Pipfile.lock",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "composer.json",
        "composer.lock",
        "CMakeLists.txt",
    ];
    NAMES.contains(&name) || name.starts_with("requirements") && name.ends_with(".txt")
}

/// Files in test folders that are not code are test data.
fn is_in_tests(path: &str) -> bool {
    const FOLDERS: [&str; 4] = ["test", "tests", "__tests__", "testdata"];
    let mut folders = path.split('/').rev();
    let told = folders.next().is_some_and(|name| name.starts_with("README"));
    Language::of_path(path) == Language::Other
        && !told
        && folders.any(|folder| FOLDERS.contains(&folder))
}

fn is_documentation(path: &str, name: &str) -> bool {
    matches!(extension(name), "md" | "rst" | "adoc")
        || path.starts_with("docs/")
        || name.starts_with("LICENSE")
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_data_belongs_to_the_tests() {
        let pytest = [&crate::framework::pytest::FRAMEWORK];
        for (path, class) in [
            ("tests/data/orders.csv", Class::Test),
            ("tests/golden/page.md", Class::Test),
            ("pkg/testdata/in.bin", Class::Test),
            ("tests/README.md", Class::Documentation),
            ("tests/pytest.ini", Class::RunnerConfig),
            ("tox.ini", Class::Manifest),
            ("data/orders.csv", Class::Implementation),
            ("src/contest/in.txt", Class::Implementation),
        ] {
            assert_eq!(classify(path, &pytest), class, "{path}");
        }
        assert_eq!(classify("tox.ini", &[&command::FRAMEWORK]), Class::RunnerConfig);
    }

    #[test]
    fn modules_that_a_manifest_of_python_names_are_read() {
        for (text, told) in [
            (
                "[tool.hatch.build]\nhooks.vcs.version-file = \"src/kit/_version.py\"\n",
                "src/kit/_version.py",
            ),
            ("[tool]\nwrite_to = ./kit/_version.py\n", "kit/_version.py"),
            ("setup(use_scm_version={'write_to': 'kit/_version.py'})", "kit/_version.py"),
            ("a = [\"../x.py\", \"/etc/x.py\", \"kit\", \"*.pyc\"]", ""),
        ] {
            assert_eq!(named_modules(text).join(" "), told, "{text}");
        }
        assert!(names_modules("a/setup.cfg") && !names_modules("Makefile"));
    }

    #[test]
    fn tests_beside_the_code_are_frozen_in_green() {
        let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { assert_eq!(super::add(1, 2), 3); }\n}\n";
        let old = format!("pub fn add(_: u8, _: u8) -> u8 {{ 0 }}\n{tests}");
        let honest = format!("pub fn add(a: u8, b: u8) -> u8 {{ a + b }}\n{tests}");
        let more = honest.replace(
            "mod tests {",
            "mod tests {\n    #[test]\n    fn more() { assert_eq!(super::add(0, 0), 0); }",
        );
        for (new, class) in [
            (honest.clone(), Class::Mixed),
            (more, Class::Mixed),
            (old.replace(", 3)", ", 0)"), Class::Test),
            (old.replace("#[test]\n", "#[test]\n    #[ignore]\n"), Class::Test),
            (old.replace("assert_eq!(super::add(1, 2), 3);", ""), Class::Test),
            (honest.replace(tests, ""), Class::Test),
        ] {
            assert_eq!(
                look_closer(Phase::Green, Class::Mixed, "src/lib.rs", &old, &new),
                class,
                "{new}"
            );
        }
    }

    #[test]
    fn a_stub_adds_only_what_lets_a_test_compile() {
        let old = "def add(a, b):\n    return a + b\n";
        for (new, stub) in [
            (
                "def add(a, b):\n    return a + b\n\ndef sub(a, b):\n    raise NotImplementedError\n",
                true,
            ),
            ("def add(a, b):\n    return a + b\n\ndef sub(a, b): ...\n", true),
            (
                "import abc\ndef add(a, b):\n    return a + b\n# soon\nclass Sub:\n    \"\"\"Soon.\"\"\"\n    pass\n",
                true,
            ),
            ("def add(a, b):\n    return a + b\n\ndef sub(a, b):\n    return a - b\n", false),
            ("def add(a, b):\n    return a + b\ndef sub(a, b): return a - b\n", false),
            ("def add(a, b):\n    return 0\n", false),
            ("", false),
        ] {
            assert_eq!(is_stub("a.py", old, new), stub, "{new}");
        }
        assert!(is_stub("a.rs", "", "pub fn roman(n: u32) -> String {\n    todo!()\n}\n"));
        assert!(is_stub("a.rs", "", "pub fn roman(n: u32) -> String { todo!() }\n"));
        assert!(is_stub("a.scala", "", "class Roman {\n}\n"));
        assert!(!is_stub("a.scala", "", "val roman = parts.sum\n"));
        assert!(!is_stub("a.rs", "", "pub fn roman(n: u32) -> String { \"I\".to_owned() }\n"));
    }
}
