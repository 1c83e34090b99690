//! REFACTOR changes the form and not what the code does: functions of before and of now are called with the values that
//! the tests use, and values near them, and have to give the same answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Driver, Experiment, Interpreter, Material, Question, Tree, Way, stand_in};
use crate::change::{Class, Kind};
use crate::framework::invoke::Selection;
use crate::syntax::{self, ItemKind, Language};
use crate::verdict::{Code, Reason};

/// Asks one tree; it reads [`Ask`] and writes [`Said`], both as JSON, and nothing else.
const DRIVER: Driver = Driver {
    interpreter: Interpreter::Python,
    file: "behaviour.py",
    source: concat!(include_str!("modules.py"), include_str!("behaviour.py")),
};
/// Beyond these nobody learns more.
const VALUES_MAX: usize = 60;
const DIFFERENCES_MAX: usize = 3;
/// Values that the new lines of the code name.
const OWN_MAX: usize = 10;

/// Which functions to call with what.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ask {
    pub modules: Vec<Module>,
    /// Values of the tests, as they are written there.
    pub values: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Module {
    pub path: String,
    pub functions: Vec<String>,
    /// Calls that stand in the tests: the function's name and its arguments as they are written.
    pub calls: Vec<(String, String)>,
}

impl Ask {
    /// To be made on both trees.
    pub fn experiment(&self) -> Experiment {
        let question = serde_json::to_string(self).unwrap_or_default();
        Experiment {
            way: Way::Driver { driver: DRIVER, question },
            ..Experiment::of_tests(Question::Calls, Tree::Head, Selection::All, "calls with the values of the tests")
        }
    }
}

/// What the driver wrote.
pub fn said(log: &str) -> Said {
    serde_json::from_str(log).unwrap_or_default()
}

/// What each call gave: `textkit/roman.py to_roman(4)` and its answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Said {
    pub answers: BTreeMap<String, String>,
}

/// What to ask both trees; `None` where nothing can be asked.
pub fn ask(material: &Material<'_>) -> Option<Ask> {
    let mut ask = Ask::default();
    let mut own: Vec<String> = Vec::new();
    let tests: Vec<String> = material.paths.iter().filter(|path| is_python_test(material, path)).cloned().collect();
    let sources: Vec<String> = tests.iter().filter_map(|path| (material.now)(path)).collect();
    for changed in &material.change.paths {
        let code = changed.kind == Kind::Modified && changed.class == Class::Implementation;
        if !code || !changed.path.ends_with(".py") {
            continue;
        }
        let functions = |source: Option<String>| -> Vec<String> {
            let items = syntax::items(Language::Python, &changed.path, &source.unwrap_or_default());
            let outer = items.into_iter().filter(|item| item.kind == ItemKind::Function && !item.name.contains("::"));
            outer.map(|item| item.name).filter(|name| !name.starts_with('_')).collect()
        };
        let now = functions((material.now)(&changed.path));
        let both: Vec<String> =
            functions((material.before)(&changed.path)).into_iter().filter(|name| now.contains(name)).collect();
        if both.is_empty() {
            continue;
        }
        // Where the code itself draws a line is where it may answer otherwise.
        let (old, new) = ((material.before)(&changed.path), (material.now)(&changed.path));
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let values = |source: &str| syntax::written_values(Language::Python, source);
        let known = values(&old);
        own.extend(values(&new).into_iter().filter(|value| !known.contains(value)).take(OWN_MAX));
        let calls = sources.iter().flat_map(|source| syntax::written_calls(Language::Python, source, &both));
        let calls = calls.take(VALUES_MAX).collect();
        ask.modules.push(Module { path: changed.path.clone(), functions: both, calls });
    }
    for source in &sources {
        ask.values.extend(syntax::written_values(Language::Python, source));
    }
    ask.values.sort();
    ask.values.dedup();
    ask.values.truncate(VALUES_MAX);
    ask.values.extend(own);
    (!ask.modules.is_empty()).then_some(ask)
}

fn is_python_test(material: &Material<'_>, path: &str) -> bool {
    path.ends_with(".py") && stand_in::is_test(material, path)
}

/// Calls whose answers differ.
pub fn differences(before: &Said, now: &Said) -> Vec<Reason> {
    let differ = before.answers.iter().filter_map(|(call, was)| Some((call, was, now.answers.get(call)?)));
    // What the function was never made for has no answer to keep.
    let misuse = |answer: &str| matches!(answer, "raises TypeError" | "raises AttributeError");
    let differ = differ.filter(|(_, was, is)| was != is && !misuse(was)).take(DIFFERENCES_MAX);
    differ
        .map(|(call, was, is)| {
            let sentence = format!("{call} gave {was} before and gives {is} now");
            Reason::new(Code::RefactorBehaviour, sentence)
        })
        .collect()
}
