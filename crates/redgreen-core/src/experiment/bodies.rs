//! GREEN: do the bodies of the RED tests also pass in an ordinary program? They are built without
//! test `cfg`, dev-dependencies and debug assertions, and start without a test runner, its
//! arguments or any test file, under an ordinary name. Honest code behaves there as in the test.
//! Needed for code that inspects its arguments, its executable, the call stack, its environment,
//! loaded modules or how it was compiled, and whose calls cannot be recorded.
//!
//! The bodies run in reverse order and twice in one process, which also reveals code that counts
//! its calls. A failing body counts only if it also fails as the only body, and the test passes as
//! the only test under the runner.

pub(super) mod go;
mod python;
pub(super) mod rust;

use super::outside::unseen;
use super::{About, Experiment, Material, Method, Question, Tree, order, target_files};
use crate::framework::invoke::Selection;
use crate::report::Status;
use crate::syntax::{self, Item, Language};

/// The maximum number of bodies of one file to try.
const BODIES_MAX: usize = 40;
/// The prefix of a line that reports the result of a body.
const MARK: &str = "~~ body";
const ROUNDS: usize = 2;
/// The end of the output of a program that timed out.
pub const UNFINISHED: &str = "~~ unfinished";
/// The name of the program.
pub const NAME: &str = "program";

/// How a program is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Build {
    /// A binary of the package in the folder. `packages` are built without debug assertions.
    Cargo { packages: Vec<String> },
    /// The package in that folder, relative to the root of the module.
    Go { package: String },
}

/// The tests of one file as a program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file that contains them.
    pub file: String,
    bodies: Vec<Body>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Built(Box<BodyProgram>),
    /// The text of the file. Its module has the same name as under the runner, or another one.
    Interpreted {
        source: String,
        named: bool,
    },
}

/// A program that has to be built first.
#[derive(Clone, Debug)]
struct BodyProgram {
    /// Where it is built, and where it starts.
    root: String,
    home: String,
    build: Build,
    edits: Vec<(String, String)>,
    /// The file with `main`, the text before it, and how to write it.
    main: String,
    head: String,
    write: fn(&str, &[Body]) -> String,
}

#[derive(Clone, Debug)]
struct Body {
    /// The id under the runner.
    id: String,
    /// What to call.
    path: String,
}

/// The result of a body, in the first and second round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyResult {
    Yes,
    No,
    /// It skipped itself, or the program ended before its turn.
    Unknown,
}

/// One program for each file with RED tests whose bodies can be built without the runner.
pub fn programs(material: &Material<'_>) -> Vec<Program> {
    let made =
        target_files(material).into_iter().filter_map(|file| match Language::of_path(&file) {
            Language::Rust => rust::program(material, file),
            Language::Go => go::program(material, file),
            Language::Python => python::program(material, file),
            Language::JavaScript
            | Language::TypeScript
            | Language::Tsx
            | Language::Java
            | Language::Other => None,
        });
    made.filter(|program| !program.bodies.is_empty()).collect()
}

impl Program {
    pub fn experiment(&self, material: &Material<'_>) -> Experiment {
        let what = match self.bodies.as_slice() {
            [only] => format!("the body of {}, in an ordinary program", only.id),
            _ => format!("the tests of {}, in an ordinary program", self.file),
        };
        let (edits, way) = match &self.kind {
            Kind::Built(built) => {
                let mut edits = built.edits.clone();
                edits.push((built.main.clone(), (built.write)(&built.head, &self.bodies)));
                let BodyProgram { build, root, home, .. } = built.as_ref().clone();
                (edits, Method::Program { build, root, home, apart: unseen(material) })
            }
            Kind::Interpreted { source, named } => {
                (Vec::new(), python::way(&self.file, source, *named, &self.bodies))
            }
        };
        Experiment {
            edits,
            way,
            ..Experiment::of_tests(Question::Calls, Tree::Head, Selection::All, &what)
        }
    }

    /// Whether the program alone reports bodies that pass only once, or only after others.
    pub fn tells_order(&self) -> bool {
        matches!(self.kind, Kind::Built(_))
    }

    /// The same program under other conditions that honest tests may depend on. A failure counts
    /// only if it also fails here.
    pub fn otherwise(&self) -> Option<Self> {
        match &self.kind {
            Kind::Interpreted { source, named: false } => {
                let kind = Kind::Interpreted { source: source.clone(), named: true };
                Some(Self { kind, ..self.clone() })
            }
            Kind::Interpreted { named: true, .. } | Kind::Built(_) => None,
        }
    }

    /// The test under its runner, with nothing that the program does not have.
    pub fn under_the_runner(&self, material: &Material<'_>, id: &str) -> Experiment {
        match &self.kind {
            Kind::Built(_) => order::alone(id, 1),
            Kind::Interpreted { .. } => python::unprepared(material, id),
        }
    }

    /// The program with only one of its bodies.
    pub fn with_only(&self, at: usize) -> Self {
        Self { bodies: self.bodies.get(at).cloned().into_iter().collect(), ..self.clone() }
    }

    pub fn test(&self, at: usize) -> &str {
        self.bodies.get(at).map_or("", |body| &body.id)
    }

    /// The results of each body. The first body without a result ended the program.
    pub fn held(&self, said: &str) -> Vec<[BodyResult; ROUNDS]> {
        let mut all = vec![[BodyResult::Unknown; ROUNDS]; self.bodies.len()];
        for round in 0..ROUNDS {
            for at in (0..self.bodies.len()).rev() {
                let begins = format!("{MARK} {at} {round} ");
                let word = said.lines().find_map(|line| line.strip_prefix(&begins));
                let Some(held) = all.get_mut(at).and_then(|rounds| rounds.get_mut(round)) else {
                    continue;
                };
                *held = match word {
                    Some("holds") => BodyResult::Yes,
                    Some("fails") | None => BodyResult::No,
                    Some(_) => BodyResult::Unknown,
                };
                if word.is_none() {
                    return all;
                }
            }
        }
        all
    }
}

/// The RED tests in a file that pass, each with its item.
fn targets<'i>(material: &Material<'_>, file: &str, items: &'i [Item]) -> Vec<(&'i Item, String)> {
    let own = items.iter().filter(|item| item.is_test).filter_map(|item| {
        let about = About { file: file.to_owned(), item: item.name.clone() };
        let passed = |test: &&crate::report::Test| {
            test.status == Status::Passed && material.targets.contains(&test.id) && about.is(test)
        };
        material.after.tests.iter().find(passed).map(|test| (item, test.id.clone()))
    });
    own.take(BODIES_MAX).collect()
}

fn items(file: &str, source: &str) -> Vec<Item> {
    syntax::items(Language::of_path(file), file, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_body_that_nothing_is_said_of_ended_the_program() {
        use BodyResult::{No, Unknown, Yes};
        let body = |id: &str| Body { id: id.to_owned(), path: id.to_owned() };
        let program = Program {
            file: "tests/test_add.py".to_owned(),
            bodies: vec![body("one"), body("two")],
            kind: Kind::Interpreted { source: String::new(), named: false },
        };
        let said = |lines: &[&str]| {
            lines.iter().map(|line| format!("\n{MARK} {line}\n")).collect::<String>()
        };
        for (lines, expected) in [
            (vec!["1 0 holds", "0 0 holds", "1 1 holds", "0 1 holds"], [[Yes, Yes], [Yes, Yes]]),
            (vec!["1 0 holds", "0 0 fails", "1 1 holds", "0 1 fails"], [[No, No], [Yes, Yes]]),
            (
                vec!["1 0 skipped", "0 0 holds", "1 1 skipped", "0 1 holds"],
                [[Yes, Yes], [Unknown, Unknown]],
            ),
            (vec!["1 0 holds"], [[No, Unknown], [Yes, Unknown]]),
            (vec![], [[Unknown, Unknown], [No, Unknown]]),
        ] {
            assert_eq!(program.held(&said(&lines)), expected, "{lines:?}");
        }
    }
}
