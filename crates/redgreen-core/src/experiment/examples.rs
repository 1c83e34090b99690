//! Withheld examples: calls with expected results that are in the brief, but never in the
//! repository. A lookup table that passes the tests fails here.
//!
//! A program in the clean room makes the calls, like those of the tests ([`calls`]). It receives
//! calls and returns results, both as data. It never receives the expected results.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::calls::built::{self, Ask, Programs};
use super::{Experiment, Material, Method, Question, Tree, calls, target_files};
use crate::change::{Class, Kind};
use crate::framework::invoke::Selection;
use crate::syntax::{self, Language};

/// A file with more examples is probably something else.
const EXAMPLES_MAX: usize = 1000;
/// The maximum number of wrong results to report in full.
const TOLD_MAX: usize = 5;
const VALUE_CHARS_MAX: usize = 200;
/// Decimals in a file are rounded; computed ones are not.
const TOLERANCE: f64 = 1e-9;
const KEYS: [&str; 4] = ["call", "args", "gives", "raises"];

/// One call and its expected result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Example {
    /// `module.path:function` in Python, or `src/file.rs:function`.
    pub call: String,
    pub args: Vec<Value>,
    #[serde(flatten)]
    pub expected: Expected,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Expected {
    Gives(Value),
    /// The name of the exception or of one of its base classes.
    Raises(String),
}

/// The program that makes the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    Python,
    /// The project's own tools translate TypeScript.
    Node,
    /// A program that is built with the code.
    Rust,
    Go,
}

/// The results of the calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExampleResults {
    pub met: usize,
    pub wrong: Vec<FailedExample>,
    /// The function was not found: the code may be elsewhere, or the example names the wrong place.
    pub absent: Vec<FailedExample>,
    /// Calls that this machine cannot make.
    pub unasked: Vec<String>,
}

/// A failed example.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedExample {
    /// Its index in the list.
    pub index: usize,
    /// The only part that the author of the code may know.
    pub function: String,
    /// The call, the expected and the actual result, for the human.
    pub told: String,
}

impl Example {
    pub(super) fn place(&self) -> (&str, &str) {
        self.call.rsplit_once(':').unwrap_or((self.call.as_str(), ""))
    }

    pub fn driver(&self) -> Option<Driver> {
        let (place, _) = self.place();
        let is_module = !place.contains('/') && Language::of_path(place) == Language::Other;
        if place.ends_with(".py") || is_module {
            return Some(Driver::Python);
        }
        match Language::of_path(place) {
            Language::JavaScript | Language::TypeScript | Language::Tsx => Some(Driver::Node),
            Language::Rust => Some(Driver::Rust),
            Language::Go => Some(Driver::Go),
            Language::Python | Language::Java | Language::Other => None,
        }
    }

    pub fn shown(&self) -> String {
        let args: Vec<String> = self.args.iter().map(brief).collect();
        format!("{}({})", self.place().1, args.join(", "))
    }
}

/// Reads examples: a list, or an object with a list of that name. Reports all problems at once.
pub fn parse(name: &str, text: &str) -> Result<Vec<Example>, Vec<String>> {
    let value: Value = if name.ends_with(".json") {
        serde_json::from_str(text).map_err(|error| vec![error.to_string()])?
    } else {
        toml::from_str(text).map_err(|error| vec![error.to_string().trim().to_owned()])?
    };
    read(&value)
}

/// The same from a parsed value.
pub fn read(value: &Value) -> Result<Vec<Example>, Vec<String>> {
    let list = value.as_array().or_else(|| value.get("examples").and_then(Value::as_array));
    let Some(list) = list else { return Err(vec!["expected a list of `examples`".to_owned()]) };
    if list.len() > EXAMPLES_MAX {
        return Err(vec![format!("{} examples; the limit is {EXAMPLES_MAX}", list.len())]);
    }
    let (mut examples, mut problems) = (Vec::new(), Vec::new());
    for (number, value) in (1..).zip(list) {
        match one(value) {
            Ok(example) => examples.push(example),
            Err(found) => problems
                .extend(found.into_iter().map(|problem| format!("example {number}: {problem}"))),
        }
    }
    if problems.is_empty() { Ok(examples) } else { Err(problems) }
}

fn one(value: &Value) -> Result<Example, Vec<String>> {
    let Some(table) = value.as_object() else {
        return Err(vec!["expected { call, args, gives } or { call, args, raises }".to_owned()]);
    };
    let unknown = table.keys().filter(|key| !KEYS.contains(&key.as_str()));
    let mut problems: Vec<String> = unknown.map(|key| format!("unknown key {key:?}")).collect();
    let call = table.get("call").and_then(Value::as_str).filter(|call| {
        call.rsplit_once(':')
            .is_some_and(|(place, function)| !place.is_empty() && !function.is_empty())
    });
    if call.is_none() {
        problems
            .push("`call` must be \"module.path:function\" or \"src/file.py:function\"".to_owned());
    }
    let args = match table.get("args") {
        None => Vec::new(),
        Some(Value::Array(args)) => args.clone(),
        Some(_) => {
            problems.push("`args` must be a list".to_owned());
            Vec::new()
        }
    };
    match (call, expected(table)) {
        (Some(call), Ok(expected)) if problems.is_empty() => {
            Ok(Example { call: call.to_owned(), args, expected })
        }
        (_, Err(problem)) => {
            problems.push(problem);
            Err(problems)
        }
        (_, Ok(_)) => Err(problems),
    }
}

fn expected(table: &Map<String, Value>) -> Result<Expected, String> {
    match (table.get("gives"), table.get("raises")) {
        (Some(value), None) => Ok(Expected::Gives(value.clone())),
        (None, Some(Value::String(name))) => Ok(Expected::Raises(name.clone())),
        (None, Some(_)) => Err("`raises` must be the name of an exception".to_owned()),
        (None, None) | (Some(_), Some(_)) => Err("expected either `gives` or `raises`".to_owned()),
    }
}

/// The examples for one driver on a tree.
pub enum Put {
    Interpreted(Box<Experiment>),
    Built(Programs),
}

/// `None` if no example is for that driver.
pub fn put(
    material: &Material<'_>,
    tree: Tree,
    examples: &[Example],
    driver: Driver,
) -> Option<Put> {
    const WHAT: &str = "the withheld examples";
    let own = examples.iter().enumerate().filter(|(_, example)| example.driver() == Some(driver));
    let asks: Vec<Ask> = own
        .map(|(index, example)| {
            let (path, function) = example.place();
            Ask {
                index,
                path: path.to_owned(),
                function: function.to_owned(),
                args: example.args.clone(),
            }
        })
        .collect();
    if asks.is_empty() {
        return None;
    }
    let program = match driver {
        Driver::Python => calls::PYTHON,
        Driver::Node => calls::SCRIPT,
        Driver::Rust | Driver::Go => {
            return Some(Put::Built(built::programs(
                material,
                tree,
                asks,
                Question::Withheld,
                WHAT,
            )));
        }
    };
    let told = |ask: &Ask| json!({ "index": ask.index, "module": ask.path, "function": ask.function, "args": ask.args });
    let told: Vec<Value> = asks.iter().map(told).collect();
    let question = json!({ "examples": told, "hidden": [], "path": [".", "src"] }).to_string();
    let way = Method::Driver { driver: program, question };
    let run = Experiment::of_tests(Question::Withheld, tree, Selection::All, WHAT);
    Some(Put::Interpreted(Box::new(Experiment { way, ..run })))
}

/// A line of a driver: the result of one call.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallOutcome {
    pub index: usize,
    #[serde(flatten)]
    pub what: OutcomeKind,
    #[serde(default)]
    pub shown: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OutcomeKind {
    Gives(Value),
    Raises(Vec<String>),
    /// A value that is not plain data.
    Other(String),
    /// The function was not found, or cannot be called like this.
    Missing(String),
}

/// Reads the output of a driver.
pub fn said(log: &str) -> Vec<CallOutcome> {
    log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Compares the output of the available drivers with the expected results.
pub fn weigh(examples: &[Example], drivers: &[Driver], said: Vec<CallOutcome>) -> ExampleResults {
    let said: BTreeMap<usize, CallOutcome> =
        said.into_iter().map(|said| (said.index, said)).collect();
    let mut weighed = ExampleResults::default();
    let mut silent: Vec<Driver> = Vec::new();
    for (index, example) in examples.iter().enumerate() {
        let Some(driver) = example.driver().filter(|driver| drivers.contains(driver)) else {
            weighed.unasked.push(example.call.clone());
            continue;
        };
        let came = match said.get(&index) {
            Some(said) if example.expected.is_met_by(said) => {
                weighed.met += 1;
                continue;
            }
            Some(said) => said.told(),
            // After a call that never returned, the following calls did not run.
            None if silent.contains(&driver) => continue,
            None => {
                silent.push(driver);
                "never returns".to_owned()
            }
        };
        let expected = match &example.expected {
            Expected::Gives(value) => brief(value),
            Expected::Raises(name) => name.clone(),
        };
        let told = format!("{} {came}; expected {expected}", example.shown());
        let wrong = FailedExample { index, function: example.place().1.to_owned(), told };
        let absent =
            matches!(said.get(&index), Some(CallOutcome { what: OutcomeKind::Missing(_), .. }));
        if absent { weighed.absent.push(wrong) } else { weighed.wrong.push(wrong) }
    }
    weighed
}

impl Expected {
    fn is_met_by(&self, said: &CallOutcome) -> bool {
        match (self, &said.what) {
            (Expected::Gives(expected), OutcomeKind::Gives(value)) => is_same(expected, value),
            (Expected::Raises(name), OutcomeKind::Raises(names)) => names.contains(name),
            (
                Expected::Gives(_),
                OutcomeKind::Raises(_) | OutcomeKind::Other(_) | OutcomeKind::Missing(_),
            )
            | (
                Expected::Raises(_),
                OutcomeKind::Gives(_) | OutcomeKind::Other(_) | OutcomeKind::Missing(_),
            ) => false,
        }
    }
}

impl CallOutcome {
    pub fn missing(index: usize, why: &str) -> Self {
        Self { index, what: OutcomeKind::Missing(why.to_owned()), shown: String::new() }
    }

    pub fn told(&self) -> String {
        match &self.what {
            OutcomeKind::Gives(_) => format!("gives {}", cut(&self.shown)),
            OutcomeKind::Raises(_) => format!("raises {}", cut(&self.shown)),
            OutcomeKind::Other(shown) => format!("gives {}", cut(shown)),
            OutcomeKind::Missing(why) => format!("cannot be called ({})", cut(why)),
        }
    }
}

/// Equality of data: 1 equals 1.0, and decimals may differ by rounding.
fn is_same(expected: &Value, value: &Value) -> bool {
    match (expected, value) {
        (Value::Number(one), Value::Number(other)) => {
            let close = |one: f64, other: f64| {
                (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
            };
            let decimal = one.is_f64() || other.is_f64();
            one == other
                || decimal
                    && one
                        .as_f64()
                        .zip(other.as_f64())
                        .is_some_and(|(one, other)| close(one, other))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(key, one): (&String, &Value)| {
                other.get(key).is_some_and(|other| is_same(one, other))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        _ => expected == value,
    }
}

impl ExampleResults {
    /// Examples that passed before and fail now. A removed function also counts.
    pub fn lost_since(mut self, before: &Self) -> Self {
        self.wrong.append(&mut self.absent);
        let unmet = |index: usize| {
            before.wrong.iter().chain(&before.absent).any(|known| known.index == index)
        };
        self.wrong.retain(|wrong| !unmet(wrong.index));
        self
    }

    /// Sentences that agents may see, one per function.
    pub fn sentences(&self) -> Vec<String> {
        names(&self.wrong).map(|name| format!("a withheld example of `{name}` failed")).collect()
    }

    /// Problems that only a human can fix.
    pub fn doubts(&self) -> Vec<String> {
        let told = |name| {
            format!(
                "cannot run the withheld examples: `{name}` was not found, or its signature differs"
            )
        };
        names(&self.absent).map(told).collect()
    }

    /// Notes for the human.
    pub fn notes(&self) -> Vec<String> {
        let asked = self.met + self.wrong.len() + self.absent.len();
        let mut notes = Vec::new();
        if asked > 0 {
            notes.push(format!("{} of {asked} withheld examples pass", self.met));
        }
        notes.extend(
            self.wrong
                .iter()
                .chain(&self.absent)
                .take(TOLD_MAX)
                .map(|wrong| format!("withheld: {}", wrong.told)),
        );
        if let Some(first) = self.unasked.first() {
            let count = self.unasked.len();
            notes.push(format!(
                "{count} withheld examples did not run: this machine cannot call {first}"
            ));
        }
        notes
    }
}

fn names(all: &[FailedExample]) -> impl Iterator<Item = &str> {
    let names: BTreeSet<&str> = all.iter().map(|wrong| wrong.function.as_str()).collect();
    names.into_iter()
}

/// New code that contains the values of its tests. It may still be correct; without withheld
/// examples redgreen cannot tell.
pub fn hard_coded(material: &Material<'_>) -> Option<String> {
    let tests: Vec<(Language, String)> = target_files(material)
        .into_iter()
        .filter_map(|file| Some((Language::of_path(&file), (material.now)(&file)?)))
        .collect();
    let code = material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted);
    for changed in
        code.filter(|changed| matches!(changed.class, Class::Implementation | Class::Mixed))
    {
        let Some(new) = (material.now)(&changed.path) else { continue };
        let old = (material.before)(&changed.path).unwrap_or_default();
        let language = Language::of_path(&changed.path);
        for (_, test) in tests.iter().filter(|(other, _)| *other == language) {
            if let Some(line) = syntax::shared_values(language, test, &old, &new) {
                return Some(format!(
                    "{}:{line} contains the values of the test, so the results may be hard-coded; \
                     test another value next, or withhold examples (--examples)",
                    changed.path
                ));
            }
        }
    }
    None
}

fn brief(value: &Value) -> String {
    cut(&value.to_string())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(text: &str) -> Vec<Example> {
        parse("examples.json", text).unwrap()
    }

    #[test]
    fn a_file_is_read_from_toml_and_json_alike() {
        let toml = "[[examples]]\ncall = \"roman:to_roman\"\nargs = [9]\ngives = \"IX\"\n\n\
                    [[examples]]\ncall = \"src/roman.js:toRoman\"\nargs = [0]\nraises = \"RangeError\"\n";
        let json = r#"[{"call": "roman:to_roman", "args": [9], "gives": "IX"},
                       {"call": "src/roman.js:toRoman", "args": [0], "raises": "RangeError"}]"#;
        assert_eq!(parse("examples.toml", toml), parse("examples.json", json));
        let kept = serde_json::to_string(&examples(json)).unwrap();
        assert_eq!(examples(&kept), examples(json), "it is written as it is read");
    }

    #[test]
    fn every_fault_is_told_at_once() {
        for (text, told) in [
            ("{}", "expected a list of `examples`"),
            ("[", "EOF"),
            (r#"[{"call": "roman", "gives": 1}]"#, "example 1: `call` must be"),
            (r#"[{"call": "a:f", "gives": 1}, {"call": "a:f"}]"#, "example 2: expected either"),
            (r#"[{"call": "a:f", "gives": 1, "raises": "E"}]"#, "example 1: expected either"),
            (
                r#"[{"call": "a:f", "args": 1, "gives": 1, "give": 2}]"#,
                "example 1: unknown key \"give\"",
            ),
        ] {
            let problems = parse("examples.json", text).unwrap_err();
            assert!(problems.iter().any(|problem| problem.contains(told)), "{text}: {problems:?}");
        }
    }

    #[test]
    fn an_answer_is_compared_as_data() {
        for (expected, told, met) in [
            (r#""gives": 3"#, r#""gives": 3.0"#, true),
            (r#""gives": 0.3"#, r#""gives": 0.30000000000000004"#, true),
            (r#""gives": 3"#, r#""gives": 4"#, false),
            (r#""gives": 9007199254740993"#, r#""gives": 9007199254740992"#, false),
            (r#""gives": true"#, r#""gives": 1"#, false),
            (r#""gives": null"#, r#""gives": null"#, true),
            (r#""gives": [1, {"a": "b"}]"#, r#""gives": [1, {"a": "b"}]"#, true),
            (r#""gives": [1]"#, r#""gives": [1, 2]"#, false),
            (r#""gives": "3""#, r#""raises": ["ValueError", "Exception"]"#, false),
            (r#""raises": "Exception""#, r#""raises": ["ValueError", "Exception"]"#, true),
            (r#""raises": "KeyError""#, r#""raises": ["ValueError", "Exception"]"#, false),
            (r#""gives": 1"#, r#""other": "<object>""#, false),
        ] {
            let examples = examples(&format!(r#"[{{"call": "a:f", {expected}}}]"#));
            let line = format!(r#"{{"index": 0, "shown": "it", {told}}}"#);
            let weighed = weigh(&examples, &[Driver::Python], said(&line));
            assert_eq!(
                (weighed.met == 1, weighed.wrong.is_empty()),
                (met, met),
                "{expected} and {told}"
            );
        }
    }

    #[test]
    fn what_is_not_there_is_no_wrong_answer() {
        let examples = examples(r#"[{"call": "roman:to_roman", "raises": "KeyError"}]"#);
        let weighed = weigh(
            &examples,
            &[Driver::Python],
            vec![CallOutcome::missing(0, "no module named 'roman'")],
        );
        assert!(weighed.wrong.is_empty());
        assert_eq!(
            weighed.doubts(),
            ["cannot run the withheld examples: `to_roman` was not found, or its signature \
                 differs"]
        );
        let told =
            "withheld: to_roman() cannot be called (no module named 'roman'); expected KeyError";
        assert!(weighed.notes().contains(&told.to_owned()), "{:?}", weighed.notes());
        assert!(weighed.clone().lost_since(&weighed).wrong.is_empty(), "it was not there before");
        assert_eq!(weighed.lost_since(&ExampleResults::default()).wrong.len(), 1);
    }

    #[test]
    fn whoever_wrote_the_code_learns_the_name_of_the_function_only() {
        let examples = examples(
            r#"[{"call": "roman:to_roman", "args": [9], "gives": "IX"}, {"call": "roman:to_roman", "args": [4], "gives": "IV"},
                {"call": "src/Roman.java:toRoman", "args": [4], "gives": "IV"}]"#,
        );
        let told = "noise\n{\"index\": 0, \"gives\": \"VIIII\", \"shown\": \"'VIIII'\"}\n";
        let weighed = weigh(&examples, &[Driver::Python], said(told));
        assert_eq!(weighed.sentences(), ["a withheld example of `to_roman` failed"]);
        assert_eq!(
            weighed.notes(),
            [
                "0 of 2 withheld examples pass",
                "withheld: to_roman(9) gives 'VIIII'; expected \"IX\"",
                "withheld: to_roman(4) never returns; expected \"IV\"",
                "1 withheld examples did not run: this machine cannot call src/Roman.java:toRoman",
            ]
        );
    }
}
