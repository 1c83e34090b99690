//! Small models cannot work with tools in a conversation, so each request asks one small question.
//! This module decides everything else without the model: the next box, file names, imports, and
//! the test of a literal example. It reaches no verdict: the judge checks the files as usual.

mod convention;
mod example;
mod repair;
mod sample;
mod strategy;
mod wording;

use serde_json::Value;

use crate::agent::Assignment;
use crate::brief::TestCase;
use crate::brief::blocks::Block;
use crate::phase::Role;
use crate::syntax::Language;
use crate::test_list::{self, TestList};
use example::Example;
use strategy::Strategy;

pub use strategy::ASKS_MAX;

/// The data for a question.
pub struct Scene<'a> {
    pub assignment: &'a Assignment,
    /// The name of the test framework, as in its row.
    pub framework: &'a str,
    /// Paths of all files in the project.
    pub files: &'a [String],
    /// Reads a file.
    pub look: &'a dyn Fn(&str) -> Option<String>,
    /// The model's context window in tokens.
    pub window: u64,
    /// The server enforces a schema.
    pub schemas: bool,
}

/// One small question.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    way: Strategy,
    /// Examples whose results the model has to compute again.
    doubted: Vec<Example>,
    pub system: String,
    pub text: String,
    /// The schema of the answer, if the server enforces it.
    pub schema: Option<Value>,
    pub temperature: f32,
    pub max_tokens: u32,
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// The turn is decided, by redgreen or by an answer.
    Decided(TurnResult),
    Ask(Box<Question>),
}

/// The result of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnResult {
    pub files: Vec<Block>,
    /// The answer that counts as the agent's.
    pub answer: String,
    /// Decisions and repairs, for the transcript.
    pub remarks: Vec<String>,
}

/// Whether this turn can use questions: one test at a time, in a language with known conventions.
pub fn is_for(assignment: &Assignment, framework: &str, files: &[String]) -> bool {
    !assignment.is_batch() && convention::language(framework, files) != Language::Other
}

/// The next step, after `asked` questions in this turn.
pub fn next(scene: &Scene<'_>, asked: u32) -> Move {
    let tries = scene.assignment.attempt.saturating_sub(1).saturating_add(asked);
    match scene.assignment.role {
        Role::TestList => plan(scene, tries),
        Role::Test => test(scene, tries),
        Role::Implementing => ask(scene, strategy::implementing(tries)),
        Role::Refactor => Move::Decided(TurnResult {
            answer: "nothing to improve".to_owned(),
            remarks: vec![
                "not asked: REFACTOR is left out with small models, the green code stays"
                    .to_owned(),
            ],
            ..TurnResult::default()
        }),
        Role::Diagnosis => Move::Decided(TurnResult {
            answer: wording::failing(scene),
            remarks: vec!["not asked: the failing lines are the diagnosis".to_owned()],
            ..TurnResult::default()
        }),
    }
}

/// Evaluates an answer, or explains why it is unusable.
///
/// Examples of small models are often wrong, and no code can satisfy a wrong one. An example counts
/// only if the model gives the same result twice, the second time without seeing the first.
pub fn settle(scene: &Scene<'_>, question: &Question, answer: &str) -> Result<Move, String> {
    let decided = match question.way {
        Strategy::Examples { .. } => {
            let doubted = example::read(scene, answer)?;
            return Ok(Move::Ask(Box::new(wording::once_more(scene, doubted))));
        }
        Strategy::OnceMore => {
            let doubted = question.doubted.len();
            let agreed = example::agreed(scene, &question.doubted, answer)?;
            let remark =
                format!("{} of {doubted} examples got the same result twice", agreed.len());
            let mut decided = match scene.assignment.role {
                Role::TestList => planned(scene, agreed)?,
                Role::Test | Role::Implementing | Role::Diagnosis | Role::Refactor => {
                    tested(scene, &agreed)?
                }
            };
            decided.remarks.push(remark);
            Ok(decided)
        }
        Strategy::Behaviours { .. } => listed(scene, &example::sentences(answer)?),
        Strategy::TestCode { .. } => repair::test(scene, answer),
        Strategy::Code { .. } => repair::code(scene, answer),
    }?;
    let unchanged = |file: &Block| {
        (scene.look)(&file.path).is_some_and(|now| now.trim_end() == file.content.trim_end())
    };
    if !decided.files.is_empty() && decided.files.iter().all(unchanged) {
        return Err("the answer is what the file holds already".to_owned());
    }
    Ok(Move::Decided(decided))
}

fn ask(scene: &Scene<'_>, way: Strategy) -> Move {
    Move::Ask(Box::new(wording::question(scene, way)))
}

/// Chooses the next open box, else plans from the request's own examples, else asks.
fn plan(scene: &Scene<'_>, tries: u32) -> Move {
    let list = TestList::parse(&(scene.look)(test_list::FILE).unwrap_or_default());
    if let Some(next) = list.pending().into_iter().next() {
        let remarks = vec![format!("not asked: the next open box is {next:?}")];
        return Move::Decided(TurnResult {
            answer: choice(Some(&scene.case(&next))),
            remarks,
            ..TurnResult::default()
        });
    }
    if !list.items.is_empty() {
        let remarks = vec!["not asked: every box is ticked".to_owned()];
        return Move::Decided(TurnResult {
            answer: choice(None),
            remarks,
            ..TurnResult::default()
        });
    }
    let examples = example::written(&scene.assignment.request);
    match planned(scene, examples) {
        Ok(mut decided) if tries == 0 => {
            decided.remarks.push("not asked: the request has examples of its own".to_owned());
            Move::Decided(decided)
        }
        Ok(_) | Err(_) => ask(scene, strategy::planning(tries)),
    }
}

/// One box per function, with its examples.
fn planned(scene: &Scene<'_>, examples: Vec<Example>) -> Result<TurnResult, String> {
    let mut boxes: Vec<(String, Vec<String>)> = Vec::new();
    for example in examples {
        let words = example.words();
        match boxes.iter_mut().find(|(function, _)| *function == example.function) {
            Some((_, known)) if known.len() >= example::EXAMPLES_MAX || known.contains(&words) => {}
            Some((_, known)) => known.push(words),
            None => boxes.push((example.function, vec![words])),
        }
    }
    let boxes: Vec<String> = boxes.into_iter().map(|(_, examples)| examples.join("; ")).collect();
    listed(scene, &boxes)
}

/// The list with these boxes; chooses the first.
fn listed(scene: &Scene<'_>, boxes: &[String]) -> Result<TurnResult, String> {
    let first = boxes.first().ok_or("the answer holds no behaviour that can be tested")?;
    let content = boxes.iter().map(|behaviour| format!("- [ ] {behaviour}\n")).collect();
    let list = Block { path: test_list::FILE.to_owned(), content };
    Ok(TurnResult {
        files: vec![list],
        answer: choice(Some(&scene.case(first))),
        remarks: Vec::new(),
    })
}

/// Writes the test if the box has examples; otherwise asks for it.
fn test(scene: &Scene<'_>, tries: u32) -> Move {
    let behaviour = scene.assignment.current.as_ref().map_or("", |test| test.description.as_str());
    let examples = example::written(behaviour);
    match tested(scene, &examples) {
        Ok(mut decided) if tries == 0 => {
            decided.remarks.push("not asked: the test holds the examples of the box".to_owned());
            Move::Decided(decided)
        }
        Ok(_) | Err(_) => ask(scene, strategy::testing(tries)),
    }
}

fn tested(scene: &Scene<'_>, examples: &[Example]) -> Result<TurnResult, String> {
    let test = scene.assignment.current.as_ref().ok_or("no behaviour is chosen")?;
    let now = (scene.look)(&test.test_file);
    let content = example::test(scene, test, examples, now.as_deref())
        .ok_or("no example can be made a test")?;
    let file = Block { path: test.test_file.clone(), content };
    Ok(TurnResult { files: vec![file], ..TurnResult::default() })
}

/// The answer format of a planner.
fn choice(test: Option<&TestCase>) -> String {
    serde_json::json!({ "currentTest": test }).to_string()
}

impl Scene<'_> {
    fn language(&self) -> Language {
        convention::language(self.framework, self.files)
    }

    /// Assigns files to a behaviour by the project's conventions.
    fn case(&self, behaviour: &str) -> TestCase {
        let (test_file, impl_file) = convention::files(self, behaviour);
        TestCase { description: behaviour.to_owned(), test_file, impl_file }
    }
}

#[cfg(test)]
mod tests;
