//! Python: an interpreter without a test runner calls the functions of the test file. A small
//! replacement for pytest has what most tests use. Tests that need more are skipped, and then there
//! is no conclusion.

use serde_json::json;

use super::{Body, Kind, MARK, Program, ROUNDS, items, targets};
use crate::experiment::calls::RUNNERS;
use crate::experiment::{Driver, Experiment, Interpreter, Material, Method, order};
use crate::framework;

const DRIVER: Driver = Driver {
    interpreter: Interpreter::Python,
    file: "__main__.py",
    source: include_str!("bodies.py"),
};
/// Fixtures and settings for every test of a folder.
const SHARED: &str = "conftest.py";

pub(super) fn program(material: &Material<'_>, file: String) -> Option<Program> {
    let source = (material.now)(&file)?;
    let items = items(&file, &source);
    let bodies = targets(material, &file, &items).into_iter();
    let bodies = bodies.map(|(item, id)| Body { id, path: item.name.clone() }).collect();
    Some(Program { file, bodies, kind: Kind::Interpreted { source, named: false } })
}

pub(super) fn way(file: &str, source: &str, named: bool, bodies: &[Body]) -> Method {
    let tests: Vec<&str> = bodies.iter().map(|body| body.path.as_str()).collect();
    let question = json!({
        "file": file, "source": source, "named": named, "tests": tests,
        "hidden": RUNNERS, "mark": MARK, "rounds": ROUNDS,
    });
    Method::Driver { driver: DRIVER, question: question.to_string() }
}

/// The test under its runner, without the project's shared fixtures. Code may depend on them, and
/// the program does not have them.
pub(super) fn unprepared(material: &Material<'_>, id: &str) -> Experiment {
    let shared = material.paths.iter().filter(|path| path.rsplit('/').next() == Some(SHARED));
    let edits = shared.map(|path| (path.clone(), String::new())).collect();
    // The body contains all rows of a table.
    let case = framework::identity(id).case.map(|case| format!("[{case}]")).unwrap_or_default();
    let id = id.strip_suffix(&case).unwrap_or(id);
    let what = format!("{id}, alone and without {SHARED}");
    Experiment { edits, what, ..order::alone(id, 1) }
}
