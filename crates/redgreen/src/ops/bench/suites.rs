//! redgreen's own share of `redgreen test`: a large suite of tests that do almost nothing, compared
//! with the plain runner. For cargo, where ten thousand of them take half a second, also tests of
//! one millisecond each.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Length, Measure, python, took_in_turns};
use crate::config::Environment;
use crate::process::{Program, Stop};

const TESTS_PER_FILE: usize = 100;
/// The work of a small test.
const A_MILLISECOND: &str =
    "let begun = std::time::Instant::now(); while begun.elapsed().as_micros() < 1000 {}";

/// One suite of each kind. redgreen and the plain runner have separate copies, because they would
/// use or remove each other's caches.
pub(super) fn measures(
    folder: &Path,
    length: Length,
    has_pytest: bool,
    environment: &Environment,
    ours: &Program,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    let (tests, turns) = length.suite();
    let mut measures = Vec::new();
    let mut compare = |name: &str, bare: Program, files: &[(String, String)]| -> Result<()> {
        let project = |copy: &str| write(&folder.join(format!("{name}-{copy}")), files);
        let (own, other) = (project("ours")?, project("bare")?);
        let ours = ours.clone().arg("-C").arg(&own).arg("test").cwd(&own);
        let took = took_in_turns(&[ours, bare.cwd(&other)], turns, stop)?;
        if let [own, other] = took.as_slice() {
            measures.push(Measure::of(
                format!("test, {tests} of {name}"),
                *own,
                "the bare runner",
                *other,
            ));
        }
        Ok(())
    };
    if has_pytest {
        tell(&format!("{tests} tests of pytest"));
        compare("pytest", python(environment).args(["-m", "pytest"]), &pytest(tests))?;
    } else {
        tell("skipping pytest: it is not installed");
    }
    let bare = Program::new("cargo").args(["test", "--workspace", "--no-fail-fast"]);
    tell(&format!("{tests} tests of cargo"));
    compare("cargo", bare.clone(), &cargo(tests, ""))?;
    tell(&format!("{tests} tests of cargo, a millisecond each"));
    compare("cargo, 1 ms each", bare, &cargo(tests, A_MILLISECOND))?;
    Ok(measures)
}

fn pytest(tests: usize) -> Vec<(String, String)> {
    let mut files = vec![("pytest.ini".to_owned(), "[pytest]\n".to_owned())];
    for file in 0..tests.div_ceil(TESTS_PER_FILE) {
        let body = (0..TESTS_PER_FILE).fold(String::new(), |mut text, number| {
            writeln!(text, "def test_{number}():\n    assert {number} + 1 == {}\n", number + 1)
                .ok();
            text
        });
        files.push((format!("test_{file}.py"), body));
    }
    files
}

fn cargo(tests: usize, work: &str) -> Vec<(String, String)> {
    let manifest =
        "[package]\nname = \"many\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    let body = (0..tests).fold(String::new(), |mut text, number| {
        writeln!(text, "#[test]\nfn test_{number}() {{{work}}}").ok();
        text
    });
    [("Cargo.toml", manifest), ("src/lib.rs", ""), ("tests/many.rs", &body)]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .to_vec()
}

pub(super) fn write(folder: &Path, files: &[(String, String)]) -> Result<PathBuf> {
    for (path, text) in files {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(folder.to_owned())
}
