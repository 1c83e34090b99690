//! Manifests contain dependencies and metadata, which change like code, and tables that configure
//! the test runner, which must not change.

use serde_json::Value;

use crate::phase::Phase;
use crate::verdict::{Code, Reason};

/// Manifests of Python.
const OF_PYTHON: &[&str] = &["pyproject.toml", "setup.cfg", "setup.py"];

/// Whether a file may name modules that are written when the project is installed.
pub(super) fn names_modules(path: &str) -> bool {
    OF_PYTHON.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// The modules that a manifest of Python names, as paths from its folder:
/// `version-file = "src/kit/_version.py"`.
pub(super) fn named_modules(text: &str) -> Vec<String> {
    let words =
        text.split(|letter: char| letter.is_whitespace() || "\"'`=,()[]{}".contains(letter));
    let is_inside = |word: &&str| word.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let modules =
        words.map(|word| word.trim_start_matches("./")).filter(|word| word.ends_with(".py"));
    modules.filter(is_inside).map(str::to_owned).collect()
}

/// Tables of a manifest that decide which tests run, how, and how they end. `*` stands for any one
/// name.
const TABLES: &[(&str, &[&str])] = &[
    ("pyproject.toml", &["tool.pytest", "tool.coverage"]),
    (
        "package.json",
        &[
            "scripts.test",
            "scripts.pretest",
            "scripts.posttest",
            "jest",
            "vitest",
            "mocha",
            "ava",
            "nyc",
            "c8",
            "tap",
            "imports",
            "type",
            "config",
        ],
    ),
    (
        "Cargo.toml",
        &[
            "test",
            "bench",
            "lib.path",
            "lib.test",
            "lib.doctest",
            "lib.harness",
            "package.autotests",
            "package.autobenches",
            "package.autolib",
            "package.build",
            "profile.test",
            "profile.dev",
            "patch",
            "replace",
        ],
    ),
];

/// Tables of tools that start test runners. They count where the tests are run by a command of the
/// project's own; pytest by itself does not read them.
const TABLES_OF_COMMANDS: &[(&str, &[&str])] =
    &[("pyproject.toml", &["tool.tox", "tool.nox", "tool.hatch.envs", "tool.poe", "tool.taskipy"])];

/// Sections of an ini file that are the runner's.
const SECTIONS: &[&str] = &["tool:pytest", "pytest", "coverage:", "aliases", "unittest"];

/// Build files that are programs: words in new lines that weaken the tests, and in lines that must
/// not be removed.
const LINES: &[(&str, &[&str], &[&str])] = &[
    (
        "pom.xml",
        &[
            "skip",
            "<exclude",
            "<include",
            "<test>",
            "testFailureIgnore",
            "<groups>",
            "excludedGroups",
        ],
        &["surefire", "failsafe"],
    ),
    ("build.gradle", GRADLE, &["useJUnit"]),
    ("build.gradle.kts", GRADLE, &["useJUnit"]),
    (
        "CMakeLists.txt",
        &["WILL_FAIL", "DISABLED", "SKIP_"],
        &["add_test", "discover_tests", "enable_testing"],
    ),
    ("composer.json", &["\"test\"", "phpunit"], &["\"test\""]),
];
const GRADLE: &[&str] =
    &["ignoreFailures", "exclude", "enabled", "filter", "onlyIf", "includeTestsMatching"];

/// What a change of a manifest does to the test runner.
pub(super) fn ruling(
    phase: Phase,
    path: &str,
    old: &str,
    new: &str,
    runs_command: bool,
) -> Vec<Reason> {
    let code = match phase {
        Phase::Green => Code::GreenConfigChanged,
        Phase::Refactor => Code::RefactorConfigChanged,
        Phase::Plan | Phase::Red | Phase::Complete => return Vec::new(),
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let tell = |table: &str| {
        Reason::new(
            code,
            format!("`{table}` of {path} was changed, which tells the test runner what to do"),
        )
        .place(Some(path), None)
    };
    if matches!(name, "setup.cfg" | "tox.ini") {
        let changed = SECTIONS
            .iter()
            .filter(|section| self::section(old, section) != self::section(new, section));
        return changed.map(|section| tell(section)).collect();
    }
    if let Some((_, weakening, guarding)) = LINES.iter().find(|(known, ..)| *known == name) {
        let found = odd_line(old, new, weakening).or_else(|| odd_line(new, old, guarding));
        return found.map(tell).into_iter().collect();
    }
    let of_name =
        |all: &'static [(&str, &'static [&str])]| all.iter().filter(|(known, _)| *known == name);
    let of_commands = of_name(TABLES_OF_COMMANDS).filter(|_| runs_command);
    let tables: Vec<&str> =
        of_name(TABLES).chain(of_commands).flat_map(|(_, tables)| *tables).copied().collect();
    if tables.is_empty() {
        return Vec::new();
    }
    let read = |text: &str| match name {
        // A missing file sets nothing.
        _ if text.trim().is_empty() => Some(Value::Null),
        "package.json" => serde_json::from_str(text).ok(),
        _ => toml::from_str(text).ok(),
    };
    // The runner reports an invalid file.
    let (old, new): (Value, Value) = match (read(old), read(new)) {
        (Some(old), Some(new)) => (old, new),
        _ => return Vec::new(),
    };
    tables
        .iter()
        .filter(|table| at(&old, table) != at(&new, table))
        .map(|table| tell(table))
        .collect()
}

/// A line of `new` that is not in `old` and contains one of the words.
fn odd_line<'a>(old: &str, new: &'a str, words: &[&str]) -> Option<&'a str> {
    let known: Vec<&str> = old.lines().map(str::trim).collect();
    let fresh = new.lines().map(str::trim).filter(|line| !known.contains(line));
    fresh.into_iter().find(|line| words.iter().any(|word| line.contains(word)))
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, part| value.get(part))
}

/// The lines of all sections whose name starts with `name`.
fn section(text: &str, name: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            inside = header.starts_with(name);
        } else if inside && !line.is_empty() && !line.starts_with(['#', ';']) {
            lines.push(line.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_can_change_but_runner_tables_cannot() {
        let rows = [
            (
                "pyproject.toml",
                "[project]\ndependencies = []\n",
                "[project]\ndependencies = [\"x\"]\n",
                0,
            ),
            ("pyproject.toml", "", "[tool.pytest.ini_options]\naddopts = \"-k a\"\n", 1),
            (
                "a/package.json",
                "{\"scripts\":{\"test\":\"vitest\"}}",
                "{\"scripts\":{\"test\":\"vitest || true\"}}",
                1,
            ),
            (
                "package.json",
                "{\"dependencies\":{}}",
                "{\"dependencies\":{\"a\":\"1\"},\"scripts\":{\"build\":\"x\"}}",
                0,
            ),
            (
                "Cargo.toml",
                "[package]\nname = \"a\"\n",
                "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n",
                0,
            ),
            (
                "Cargo.toml",
                "[package]\nname = \"a\"\n",
                "[package]\nname = \"a\"\nautotests = false\n",
                1,
            ),
            ("Cargo.toml", "", "[[test]]\nname = \"x\"\npath = \"y.rs\"\n", 1),
            // Lints affect warnings, not which tests run.
            ("Cargo.toml", "", "[lints.rust]\nunsafe_code = \"forbid\"\n", 0),
            ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", 0),
            ("setup.cfg", "", "[tool:pytest]\naddopts = -x\n", 1),
            // New and deleted files are compared by their runner settings.
            ("tox.ini", "[tox]\nenvlist = py3\n[testenv]\ncommands = pytest\n", "", 0),
            ("tox.ini", "", "[tox]\nenvlist = py3\n", 0),
            ("tox.ini", "[tox]\nenvlist = py3\n[pytest]\naddopts = -x\n", "", 1),
            ("tox.ini", "", "[pytest]\naddopts = -k a\n", 1),
            (
                "tox.ini",
                "[pytest]\naddopts = -x\n",
                "[testenv]\nx = 1\n[pytest]\naddopts = -x\n",
                0,
            ),
            ("setup.cfg", "[metadata]\nname = a\n", "", 0),
            ("package.json", "{\"jest\":{}}", "", 1),
            ("package.json", "", "{\"jest\":{}}", 1),
            ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-k a\"\n", "", 1),
            ("package.json", "{", "{\"jest\":{}}", 0),
            ("pom.xml", "<a/>\n", "<a/>\n<dependency/>\n", 0),
            ("pom.xml", "<a/>\n", "<a/>\n<skipTests>true</skipTests>\n", 1),
            ("CMakeLists.txt", "add_test(a a)\n", "add_test(a a)\nadd_test(b b)\n", 0),
            ("CMakeLists.txt", "add_test(a a)\n", "\n", 1),
            (
                "sub/build.gradle",
                "test { useJUnitPlatform() }\n",
                "test { useJUnitPlatform(); ignoreFailures = true }\n",
                1,
            ),
        ];
        for (path, old, new, count) in rows {
            assert_eq!(
                ruling(Phase::Green, path, old, new, false).len(),
                count,
                "{path}: {old} -> {new}"
            );
            assert!(ruling(Phase::Red, path, old, new, false).is_empty());
        }
        for (runs_command, count) in [(false, 0), (true, 1)] {
            let tox = "[tool.tox.env.py3]\ncommands = [[\"pytest\", \"-q\"]]\n";
            assert_eq!(ruling(Phase::Green, "pyproject.toml", "", tox, runs_command).len(), count);
        }
    }
}
