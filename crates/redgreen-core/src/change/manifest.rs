//! Manifests: dependencies and facts of the project, which change as the code does, beside tables that tell the test
//! runner what to do, which do not.

use serde_json::Value;

use crate::phase::Phase;
use crate::verdict::{Code, Reason};

/// Tables of a manifest that decide which tests run, how, and how they end. `*` stands for any one name.
const TABLES: &[(&str, &[&str])] = &[
    (
        "pyproject.toml",
        &["tool.pytest", "tool.coverage", "tool.tox", "tool.nox", "tool.hatch.envs", "tool.poe", "tool.taskipy"],
    ),
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

/// Sections of an ini file that are the runner's.
const SECTIONS: &[&str] = &["tool:pytest", "pytest", "coverage:", "aliases", "unittest"];

/// Build files that are programs: words of new lines that weaken the tests, and of lines that may not be taken away.
const LINES: &[(&str, &[&str], &[&str])] = &[
    (
        "pom.xml",
        &["skip", "<exclude", "<include", "<test>", "testFailureIgnore", "<groups>", "excludedGroups"],
        &["surefire", "failsafe"],
    ),
    ("build.gradle", GRADLE, &["useJUnit"]),
    ("build.gradle.kts", GRADLE, &["useJUnit"]),
    ("CMakeLists.txt", &["WILL_FAIL", "DISABLED", "SKIP_"], &["add_test", "discover_tests", "enable_testing"]),
    ("composer.json", &["\"test\"", "phpunit"], &["\"test\""]),
];
const GRADLE: &[&str] = &["ignoreFailures", "exclude", "enabled", "filter", "onlyIf", "includeTestsMatching"];

/// What a change of a manifest does to the test runner.
pub(super) fn ruling(phase: Phase, path: &str, old: &str, new: &str) -> Vec<Reason> {
    let code = match phase {
        Phase::Green => Code::GreenConfigChanged,
        Phase::Refactor => Code::RefactorConfigChanged,
        Phase::Plan | Phase::Red | Phase::Complete => return Vec::new(),
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let tell = |table: &str| {
        Reason::new(code, format!("`{table}` of {path} was changed, which tells the test runner what to do"))
            .place(Some(path), None)
    };
    if matches!(name, "setup.cfg" | "tox.ini") {
        let changed = SECTIONS.iter().filter(|section| self::section(old, section) != self::section(new, section));
        return changed.map(|section| tell(section)).collect();
    }
    if let Some((_, weakening, guarding)) = LINES.iter().find(|(known, ..)| *known == name) {
        let found = odd_line(old, new, weakening).or_else(|| odd_line(new, old, guarding));
        return found.map(tell).into_iter().collect();
    }
    let Some((_, tables)) = TABLES.iter().find(|(known, _)| *known == name) else { return Vec::new() };
    let read = |text: &str| match name {
        // A file that is not there sets nothing.
        _ if text.trim().is_empty() => Some(Value::Null),
        "package.json" => serde_json::from_str(text).ok(),
        _ => toml::from_str(text).ok(),
    };
    // One that cannot be read is told by the runner.
    let (old, new): (Value, Value) = match (read(old), read(new)) {
        (Some(old), Some(new)) => (old, new),
        _ => return Vec::new(),
    };
    tables.iter().filter(|table| at(&old, table) != at(&new, table)).map(|table| tell(table)).collect()
}

/// A line of `new` that `old` has not, with one of the words in it.
fn odd_line<'a>(old: &str, new: &'a str, words: &[&str]) -> Option<&'a str> {
    let known: Vec<&str> = old.lines().map(str::trim).collect();
    let fresh = new.lines().map(str::trim).filter(|line| !known.contains(line));
    fresh.into_iter().find(|line| words.iter().any(|word| line.contains(word)))
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, part| value.get(part))
}

/// The lines of every section whose name begins so.
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
    fn dependencies_may_change_and_the_runners_tables_may_not() {
        let rows = [
            ("pyproject.toml", "[project]\ndependencies = []\n", "[project]\ndependencies = [\"x\"]\n", 0),
            ("pyproject.toml", "", "[tool.pytest.ini_options]\naddopts = \"-k a\"\n", 1),
            ("a/package.json", "{\"scripts\":{\"test\":\"vitest\"}}", "{\"scripts\":{\"test\":\"vitest || true\"}}", 1),
            (
                "package.json",
                "{\"dependencies\":{}}",
                "{\"dependencies\":{\"a\":\"1\"},\"scripts\":{\"build\":\"x\"}}",
                0,
            ),
            ("Cargo.toml", "[package]\nname = \"a\"\n", "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n", 0),
            ("Cargo.toml", "[package]\nname = \"a\"\n", "[package]\nname = \"a\"\nautotests = false\n", 1),
            ("Cargo.toml", "", "[[test]]\nname = \"x\"\npath = \"y.rs\"\n", 1),
            // A lint says what is warned of, and nothing of which tests run.
            ("Cargo.toml", "", "[lints.rust]\nunsafe_code = \"forbid\"\n", 0),
            ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", 0),
            ("setup.cfg", "", "[tool:pytest]\naddopts = -x\n", 1),
            // What is new or gone is compared by what the runner read there.
            ("tox.ini", "[tox]\nenvlist = py3\n[testenv]\ncommands = pytest\n", "", 0),
            ("tox.ini", "", "[tox]\nenvlist = py3\n", 0),
            ("tox.ini", "[tox]\nenvlist = py3\n[pytest]\naddopts = -x\n", "", 1),
            ("tox.ini", "", "[pytest]\naddopts = -k a\n", 1),
            ("tox.ini", "[pytest]\naddopts = -x\n", "[testenv]\nx = 1\n[pytest]\naddopts = -x\n", 0),
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
            assert_eq!(ruling(Phase::Green, path, old, new).len(), count, "{path}: {old} -> {new}");
            assert!(ruling(Phase::Red, path, old, new).is_empty());
        }
    }
}
