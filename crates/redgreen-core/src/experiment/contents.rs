//! GREEN: if a test finds a result equal to a literal value, does the result contain that value?
//! Needed for code that defines its own equality: an `__eq__` that ignores a field, a number that
//! equals its neighbours, a field that no comparison uses.
//!
//! redgreen records the contents of both sides without the code's operators. It then changes a
//! literal of the expected value that the result does not contain. If the test still passes,
//! nothing compares that value. Values that the test does not write out may differ, such as the
//! position of a parsed word.

use serde::Deserialize;
use serde_json::Value;

use super::{About, Experiment, Material, Question, Tree, is_target, selection, target_files};
use crate::change::{Class, Kind};
use crate::report::{Report, Status, Test};
use crate::syntax::{self, Content, Item, Language, Literal, RecordedEquality, RecordingCode};
use crate::verdict::{Code, Reason};

/// The maximum number of literals to try.
const HIDDEN_MAX: usize = 3;
const VALUES_PYTHON: &str =
    concat!(include_str!("calls/values.py"), include_str!("contents/look.py"));
const LOOK_PYTHON: &str = include_str!("contents/look_in_test.py");
const VALUES_SCRIPT: &str = include_str!("calls/values.mjs");
const LOOK_SCRIPT: &str = include_str!("contents/look.js");
const LOOK_RUST: &str = include_str!("contents/look.rs.in");

/// The RED tests, with the sides of their equality assertions recorded.
pub struct SideExperiment {
    pub experiment: Experiment,
    /// In the order of their numbers.
    looked: Vec<(String, RecordedEquality)>,
}

/// A literal in a test that the result does not contain.
pub struct MissingLiteral {
    path: String,
    looked: RecordedEquality,
    literal: Literal,
}

/// One side of an equality, as recorded in the test process.
#[derive(Debug, Deserialize)]
struct Side {
    looked: usize,
    side: usize,
    /// Whether it contains a type of the project.
    own: bool,
    content: Vec<String>,
}

pub fn look(material: &Material<'_>) -> Option<SideExperiment> {
    let (mut edits, mut looked) = (Vec::new(), Vec::new());
    for path in target_files(material) {
        let language = Language::of_path(&path);
        let Some(source) = (material.now)(&path) else { continue };
        let Some(way) = way(material, language) else { continue };
        let items = targets(material, &path, &source);
        let tests: Vec<&Item> = items.iter().collect();
        let wrap = RecordingCode { begin: way.begin, side: way.side };
        let Some((text, found)) =
            syntax::looked_at(language, &path, &source, &tests, looked.len(), wrap)
        else {
            continue;
        };
        edits.push((path.clone(), format!("{text}{}", way.end)));
        looked.extend(found.into_iter().map(|one| (path.clone(), one)));
    }
    let files: Vec<String> = edits.iter().map(|(path, _)| path.clone()).collect();
    let what = "the tests, with both sides of their equality assertions recorded";
    let run = Experiment::of_tests(
        Question::Contents,
        Tree::Head,
        selection(&files, material.targets),
        what,
    );
    (!edits.is_empty())
        .then_some(SideExperiment { experiment: Experiment { edits, ..run }, looked })
}

/// How to record sides in a language.
struct RecordingSyntax {
    side: &'static dyn Fn(usize, usize, &str) -> String,
    /// Inserted at the beginning of each test.
    begin: &'static str,
    /// Inserted at the end of the file.
    end: String,
}

fn way(material: &Material<'_>, language: Language) -> Option<RecordingSyntax> {
    match language {
        Language::Python => Some(RecordingSyntax {
            begin: "",
            side: &|number, side, text| format!("_redgreen_look({number}, {side}, ({text}))"),
            end: LOOK_PYTHON.replace("SOURCE", &Value::from(VALUES_PYTHON).to_string()),
        }),
        Language::JavaScript | Language::TypeScript | Language::Tsx => Some(RecordingSyntax {
            begin: "",
            side: &|number, side, text| format!("redgreenLook({number}, {side}, ({text}))"),
            end: format!("\n{LOOK_SCRIPT}\n{VALUES_SCRIPT}"),
        }),
        // Building takes long, so only if the change defines equality.
        Language::Rust => says_what_is_equal(material).then(|| RecordingSyntax {
            begin: LOOK_RUST,
            side: &|number, side, text| format!("*redgreen_look({number}, {side}, &({text}))"),
            end: String::new(),
        }),
        Language::Go | Language::Java | Language::Other => None,
    }
}

fn says_what_is_equal(material: &Material<'_>) -> bool {
    let mut code = material.change.paths.iter().filter(|changed| {
        matches!(changed.class, Class::Implementation | Class::Mixed)
            && changed.kind != Kind::Deleted
    });
    code.any(|changed| {
        changed.path.ends_with(".rs")
            && (material.now)(&changed.path).is_some_and(|text| text.contains("PartialEq for "))
    })
}

fn targets(material: &Material<'_>, path: &str, source: &str) -> Vec<Item> {
    let mut items = syntax::items(Language::of_path(path), path, source);
    items.retain(|item| item.is_test && is_target(material, path, &item.name));
    items
}

impl SideExperiment {
    /// Literals in the tests that the results do not contain.
    pub fn hidden(&self, log: &str) -> Vec<MissingLiteral> {
        let mut lefts: Vec<Side> = Vec::new();
        let mut all: Vec<MissingLiteral> = Vec::new();
        for told in log.lines().filter_map(|line| serde_json::from_str::<Side>(line).ok()) {
            if told.side == 0 {
                lefts.retain(|known| known.looked != told.looked);
                lefts.push(told);
                continue;
            }
            let Some(left) = lefts.iter().find(|known| known.looked == told.looked) else {
                continue;
            };
            let Some((path, looked)) = self.looked.get(told.looked) else { continue };
            let (expected, answer) =
                if looked.expected == 0 { (left, &told) } else { (&told, left) };
            let is_hidden = |literal: &&Literal| {
                answer.own && literal.is_in(&expected.content) && !literal.is_in(&answer.content)
            };
            for literal in looked.literals.iter().filter(is_hidden) {
                let known =
                    all.iter().any(|one| one.path == *path && one.literal.span == literal.span);
                if !known && all.len() < HIDDEN_MAX {
                    all.push(MissingLiteral {
                        path: path.clone(),
                        looked: looked.clone(),
                        literal: literal.clone(),
                    });
                }
            }
        }
        all
    }
}

impl MissingLiteral {
    /// The test with another value instead.
    pub fn experiment(&self, material: &Material<'_>) -> Option<Experiment> {
        let mut source = (material.now)(&self.path)?;
        source.get(self.literal.span.clone())?;
        source.replace_range(self.literal.span.clone(), &self.literal.other);
        let files = [self.path.clone()];
        let what = format!(
            "{} with {} in place of {}",
            self.looked.item, self.literal.other, self.literal.text
        );
        let run = Experiment::of_tests(
            Question::Contents,
            Tree::Head,
            selection(&files, material.targets),
            &what,
        );
        Some(Experiment { edits: vec![(self.path.clone(), source)], ..run })
    }

    /// The reason, if the test also passes with the other value.
    pub fn weigh(&self, report: &Report) -> Option<Reason> {
        let about = About { file: self.path.clone(), item: self.looked.item.clone() };
        let seen: Vec<&Test> = report.tests.iter().filter(|test| about.is(test)).collect();
        let first =
            seen.first().filter(|_| seen.iter().all(|test| test.status == Status::Passed))?;
        let sentence = format!(
            "{} expects {}, which the result does not contain, and the test also passes with {}: \
             the code's own equality ignores it",
            first.id, self.literal.text, self.literal.other
        );
        let reason = Reason::new(Code::GreenSuspicious, sentence).test(&first.id);
        Some(reason.place(Some(&self.path), Some(self.looked.line)))
    }
}

impl Literal {
    /// Whether the contents include it. A number is compared with the precision it is written in.
    fn is_in(&self, contents: &[String]) -> bool {
        match &self.content {
            Content::Text(text) => contents.iter().any(|one| one.contains(text.as_str())),
            Content::Number(text) => {
                let Some((wanted, apart)) = exactly(text) else { return true };
                let is_same = |word: &str| {
                    word.parse::<f64>().is_ok_and(|number| (number - wanted).abs() <= apart)
                };
                let is_part = |letter: char| {
                    letter.is_ascii_digit() || matches!(letter, '.' | '-' | '+' | 'e')
                };
                contents.iter().any(|one| one.split(|letter: char| !is_part(letter)).any(is_same))
            }
        }
    }
}

/// A number, and the largest difference to another number that is written the same.
fn exactly(text: &str) -> Option<(f64, f64)> {
    let number = text.parse::<f64>().ok()?;
    let digits = text.split_once('.').map_or(0, |(_, after)| after.len());
    Some((number, 0.5 * 0.1_f64.powi(i32::try_from(digits).ok()?)))
}

#[cfg(test)]
mod tests;
