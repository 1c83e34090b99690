//! Python: records calls by tracing, and repeats them in an interpreter without a test runner.

use serde_json::{Value, json};

use super::super::{Driver, Experiment, Interpreter, Material, Method, Question, Tree};
use super::{Boundaries, Recording, Speaker, first_target, outside};
use crate::framework::invoke::Selection;
use crate::syntax::Language;

/// Users of the code do not have these, although they are installed where it is tested.
pub(in crate::experiment) const RUNNERS: [&str; 2] = ["pytest", "_pytest"];

const RECORDER: &str =
    concat!(include_str!("values.py"), include_str!("language.py"), include_str!("record.py"));
const WATCH: &str = include_str!("watch.py");
const BARE: &str =
    concat!(include_str!("values.py"), include_str!("repeat.py"), include_str!("bare.py"));

/// Makes calls and prints each result. Programs that print their own name run as under `python -m`.
pub(in crate::experiment) const DRIVER: Driver = Driver {
    interpreter: Interpreter::Python,
    file: "__main__.py",
    source: concat!(include_str!("values.py"), include_str!("repeat.py"), include_str!("plain.py")),
};

/// The order of a set is not behaviour, so make it the same in every process.
pub(super) const SEED: (&str, &str) = ("PYTHONHASHSEED", "0");
/// A settings file that the runner finds before all others, and that sets nothing.
const NO_SETTINGS: (&str, &str) = ("pytest.ini", "[pytest]\n");

/// The module with a tracer at its end, which also follows the given functions of test files.
pub(super) fn watched(source: &str, followed: &[(String, String)]) -> String {
    let watch = WATCH.replace("TESTS", &json!(followed).to_string());
    format!("{source}\n{}", watch.replace("SOURCE", &Value::from(RECORDER).to_string()))
}

/// The calls in an ordinary program.
pub(super) fn again(
    material: &Material<'_>,
    recording: &Recording,
    tree: Tree,
    near: Option<&Boundaries>,
) -> Experiment {
    let unseen = outside::unseen(material);
    // Folders with only tests are not on the import path of other programs.
    let holds_code = |folder: &&String| {
        let inside = |path: &String| *folder == "." || path.starts_with(&format!("{folder}/"));
        let is_python = |path: &String| Language::of_path(path) == Language::Python;
        material.paths.iter().any(|path| is_python(path) && inside(path) && !unseen.contains(path))
    };
    let path: Vec<&String> = recording.path.iter().filter(holds_code).collect();
    let mut ask = json!({ "lines": recording.lines, "hidden": RUNNERS, "path": path });
    let mut what = "the calls of the tests, in a program without tests";
    if let (Some(near), Some(ask)) = (near, ask.as_object_mut()) {
        what = "the calls of the tests and similar ones, in a program without tests";
        ask.insert("near".to_owned(), json!(near.edges));
        ask.insert("values".to_owned(), json!(near.values));
        ask.insert("functions".to_owned(), json!(near.functions));
    }
    let way = Method::Driver { driver: DRIVER, question: ask.to_string() };
    Experiment {
        way,
        removed: outside::hidden(material, near.is_some()),
        ..Experiment::of_tests(Question::Calls, tree, Selection::All, what)
    }
}

/// A test at the place and with the name of a RED test that only makes the calls.
pub(super) fn bare(
    material: &Material<'_>,
    recording: &Recording,
    only: &[i64],
) -> Option<Experiment> {
    let (file, item, source) = first_target(material, Speaker::Python)?;
    let ask = json!({ "lines": recording.lines, "path": recording.path, "only": only }).to_string();
    let mut text = BARE.replace("QUESTION", &Value::from(ask).to_string());
    let (class, name) =
        item.rsplit_once("::").map_or((None, item.as_str()), |(class, name)| (Some(class), name));
    let (indent, this) = if class.is_some() { ("    ", "self") } else { ("", "") };
    if let Some(class) = class {
        let class = class.replace("::", "_");
        let kind =
            if source.contains("TestCase") { "(__import__(\"unittest\").TestCase)" } else { "" };
        text.push_str(&format!("class {class}{kind}:\n"));
    }
    text.push_str(&format!("{indent}def {name}({this}):\n"));
    for line in include_str!("bare_body.py").lines() {
        text.push_str(&format!("{indent}    {line}\n"));
    }
    let removed = outside::unseen(material);
    let packages = removed.iter().filter(|path| path.ends_with("/__init__.py"));
    let mut edits: Vec<(String, String)> =
        packages.map(|path| (path.clone(), String::new())).collect();
    let settings =
        material.paths.iter().filter(|path| path.ends_with("pytest.ini") && path.contains('/'));
    edits.extend(settings.map(|path| (path.clone(), NO_SETTINGS.1.to_owned())));
    edits.push((NO_SETTINGS.0.to_owned(), NO_SETTINGS.1.to_owned()));
    edits.push((file.clone(), text));
    let what = "the calls of the tests, in a test that does nothing else";
    Some(Experiment {
        edits,
        removed,
        variables: vec![(SEED.0, SEED.1.to_owned())],
        ..Experiment::of_tests(Question::Calls, Tree::Head, Selection::Files(vec![file]), what)
    })
}
