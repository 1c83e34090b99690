//! REFACTOR, where code has to be built or translated before it can be called: a test that calls functions with the values
//! that the tests use, and values near them, and writes down what they answer. It is run on both trees.

use std::collections::BTreeMap;

use super::{Experiment, Material, Question, Tree, Way};
use crate::change::{Class, Kind};
use crate::framework::invoke::Selection;
use crate::syntax::{self, ItemKind, Language};
use crate::verdict::{Code, Reason};

const VALUES_MAX: usize = 60;
const DIFFERENCES_MAX: usize = 3;
/// Calls of one function, in a language where each is compiled.
const COMPILED_MAX: usize = 80;
const NAME: &str = "redgreen_recital";

/// Where a changed module is tested: the test file, and how it names the module.
struct Home {
    test: String,
    source: String,
    module: String,
    names: Vec<String>,
}

/// One for each changed module that can be asked; to be performed on both trees.
pub fn recitals(material: &Material<'_>) -> Vec<Experiment> {
    let changed = material.change.paths.iter().filter(|changed| changed.kind == Kind::Modified);
    let code = changed.filter(|changed| matches!(changed.class, Class::Implementation | Class::Mixed));
    let told = code.filter_map(|changed| {
        let language = Language::of_path(&changed.path);
        let home = home(material, language, &changed.path)?;
        let functions = kept_functions(material, language, &changed.path);
        let (path, text) = match language {
            Language::Rust => rust(material, &changed.path, &home, &functions)?,
            Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Python => return None,
            Language::Go | Language::Java | Language::Other => return None,
        };
        Some(Experiment {
            question: Question::Calls,
            tree: Tree::Head,
            edits: vec![(path.clone(), text)],
            way: Way::Tests(Selection::Files(vec![path])),
            removed: Vec::new(),
            time: 0,
            variables: Vec::new(),
            about: Vec::new(),
            what: format!("what {} answers", changed.path),
            otherwise: None,
        })
    });
    told.collect()
}

/// What each call gave: `textkit/roman.py to_roman(4)` and its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    pub answers: BTreeMap<String, String>,
}

/// What was written down: a call and its answer, as a line of JSON each.
pub fn said(log: &str) -> Said {
    let pairs = log.lines().filter_map(|line| serde_json::from_str::<(String, String)>(line).ok());
    Said { answers: pairs.collect::<BTreeMap<_, _>>() }
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

fn home(material: &Material<'_>, language: Language, path: &str) -> Option<Home> {
    let project = syntax::Project { paths: material.paths, packages: material.packages };
    let is_rust = |test: &str| test.ends_with(".rs") && crate::change::is_test_program(test);
    let beside = |test: &&String| match language == Language::Rust {
        true => is_rust(test),
        false => Language::of_path(test).is_script(),
    };
    for test in material.paths.iter().filter(|test| material.is_test(test)).filter(beside) {
        let source = (material.now)(test)?;
        let imports = syntax::imports(language, &source);
        let own = imports.into_iter().find(|import| {
            syntax::resolve(Language::of_path(test), test, import, project).iter().any(|found| found == path)
        });
        // Helpers hold no tests, and how tests are written is learnt from one.
        let has_tests = || syntax::items(language, test, &source).iter().any(|item| item.is_test);
        if let Some(import) = own.filter(|_| has_tests()) {
            return Some(Home { test: test.clone(), source, module: import.module, names: import.names });
        }
    }
    None
}

/// Public functions that both trees have.
fn kept_functions(material: &Material<'_>, language: Language, path: &str) -> Vec<String> {
    let public = |source: Option<String>| -> Vec<String> {
        let source = source.unwrap_or_default();
        let items = syntax::items(language, path, &source);
        let is_function = |name: &String| {
            items.iter().any(|item| item.name == *name && item.kind == ItemKind::Function && !item.in_tests)
        };
        let names = syntax::names(language, path, &source).into_iter().filter(|name| !name.private);
        names.map(|name| name.name).filter(is_function).collect()
    };
    let now = public((material.now)(path));
    public((material.before)(path)).into_iter().filter(|name| now.contains(name)).collect()
}

fn rust(material: &Material<'_>, path: &str, home: &Home, functions: &[String]) -> Option<(String, String)> {
    let now = (material.now)(path)?;
    let mut calls: Vec<String> = Vec::new();
    for (name, kinds) in syntax::plain_signatures(&now) {
        let known = home.names.iter().any(|known| *known == name || known == "*");
        if !functions.contains(&name) || !known || kinds.is_empty() {
            continue;
        }
        let written = syntax::written_calls(Language::Rust, &home.source, std::slice::from_ref(&name));
        let rows = syntax::written_rows(Language::Rust, &home.source);
        let written = written.iter().map(|(_, arguments)| arguments.split(", ").map(str::to_owned).collect());
        let of_rows = rows.into_iter().filter(|row: &Vec<String>| row.len() == kinds.len() + 1);
        let tuples = written.chain(of_rows).map(|mut row: Vec<String>| {
            row.truncate(kinds.len());
            row
        });
        let fitting = tuples
            .filter(|row| row.len() == kinds.len() && row.iter().zip(&kinds).all(|(text, kind)| fits(kind, text)));
        let mut own: Vec<String> = Vec::new();
        for row in fitting.take(VALUES_MAX) {
            for other in variants(&row, &kinds) {
                let call = format!("{}::{name}({})", home.module, other.join(", "));
                if !own.contains(&call) && own.len() < COMPILED_MAX {
                    own.push(call);
                }
            }
        }
        calls.extend(own);
    }
    let folder = home.test.rsplit_once('/').map_or("tests", |(folder, _)| folder);
    let lines: Vec<String> = calls.iter().map(|call| format!("    told({call:?}, || {call});")).collect();
    (!calls.is_empty()).then(|| (format!("{folder}/{NAME}.rs"), RUST.replace("    CALLS", &lines.join("\n"))))
}

const RUST: &str = include_str!("recital.rs.in");

/// Whether a written value is of that type.
fn fits(kind: &str, text: &str) -> bool {
    match kind {
        "&str" => text.starts_with('"') && !text.contains('\\'),
        "bool" => matches!(text, "true" | "false"),
        "f64" | "f32" => text.parse::<f64>().is_ok() && text.contains('.'),
        _ => text.parse::<i64>().is_ok(),
    }
}

/// The values, and those with one of them changed a little.
fn variants(row: &[String], kinds: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![row.to_vec()];
    for (at, (text, kind)) in row.iter().zip(kinds).enumerate() {
        for other in near(kind, text) {
            let mut changed = row.to_vec();
            if let Some(place) = changed.get_mut(at) {
                *place = other;
            }
            all.push(changed);
        }
    }
    all
}

fn near(kind: &str, text: &str) -> Vec<String> {
    match kind {
        "&str" => {
            let inner = text.trim_matches('"');
            let first: String = inner.chars().take(1).collect();
            let back: String = inner.chars().rev().collect();
            let tabs = inner.replace(' ', "\t");
            let others =
                [inner.repeat(2), inner.to_uppercase(), inner.to_lowercase(), back, first, String::new(), tabs];
            let mut all: Vec<String> = others.iter().map(|other| format!("{other:?}")).collect();
            all.push(format!("{:?}", format!(" {inner}\n")));
            all
        }
        "bool" => vec!["true".to_owned(), "false".to_owned()],
        "f64" | "f32" => vec!["0.0".to_owned(), format!("-{text}"), format!("{text} * 2.0")],
        _ => {
            let number = i64::from(text.parse::<i32>().unwrap_or(0));
            let others = [number + 1, number - 1, number * 2, number * 10, 0];
            // A literal that its type cannot hold does not compile.
            let (least, most) = match (kind.starts_with('u'), kind.ends_with('8')) {
                (true, true) => (0, 255),
                (true, false) => (0, i64::from(u16::MAX)),
                (false, true) => (-128, 127),
                (false, false) => (i64::from(i16::MIN), i64::from(i16::MAX)),
            };
            let held = others.into_iter().filter(|other| (least..=most).contains(other));
            held.map(|other| other.to_string()).collect()
        }
    }
}
