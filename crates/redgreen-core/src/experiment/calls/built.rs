//! Rust and Go: calls with data as arguments, in an ordinary program that is built with the code.
//! It makes each call several times and prints the results. It does not contain the expected
//! values.
//!
//! Our function is in the same file (Rust) or package (Go) as the function it calls, so that it can
//! call private functions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::bodies::go::{module_path, module_root, package_of};
use super::super::bodies::rust::{Package, lenient, modules_of, open_modules, ways_in};
use super::super::bodies::{Build, NAME};
use super::super::examples::{CallOutcome, OutcomeKind};
use super::super::outside::unseen;
use super::super::{Experiment, Material, Method, Question, Tree};
use super::rust_data;
use crate::change::{Class, Kind};
use crate::framework::invoke::Selection;
use crate::path::{folder, join};
use crate::syntax::{self, Language, Signature};
use crate::verdict::{Code, Reason};

const RUST: &str = include_str!("plain.rs.in");
const GO: &str = include_str!("plain.go.in");
/// The container of our function: a Rust module or a Go file.
const CALLS: &str = "redgreen_calls";
/// The maximum number of similar calls of one function. Each is compiled.
const NEAR_MAX: usize = 80;
/// A larger number may be a count that fills the memory.
const NUMBER_MAX: i64 = 1 << 15;
/// Results that print in a different order each time, or cannot be printed.
const UNTOLD: [&str; 4] = ["impl ", "dyn ", "Hash", "fn("];

/// A call of a function in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    pub index: usize,
    pub path: String,
    pub function: String,
    pub args: Vec<Value>,
}

/// Programs that make calls, and results that are known without them: calls of missing functions,
/// or with unsupported arguments.
#[derive(Debug, Default)]
pub struct Programs {
    pub programs: Vec<Program>,
    pub missing: Vec<(usize, String)>,
}

#[derive(Debug)]
pub struct Program {
    pub experiment: Experiment,
    pub asked: Vec<usize>,
}

/// The possible calls on a tree, in as few programs as possible.
pub fn programs(
    material: &Material<'_>,
    tree: Tree,
    asks: Vec<Ask>,
    question: Question,
    what: &str,
) -> Programs {
    let read = material.texts(tree);
    let mut made = Programs::default();
    let mut places: BTreeMap<String, Vec<Ask>> = BTreeMap::new();
    for ask in asks {
        match why_not(read, &ask) {
            Some(why) => made.missing.push((ask.index, why)),
            None => places.entry(place(read, &ask)).or_default().push(ask),
        }
    }
    for (place, asks) in places {
        let is_go = asks.iter().any(|ask| Language::of_path(&ask.path) == Language::Go);
        let laid = match is_go {
            true => in_go(material, read, &place, &asks),
            false => in_rust(material, read, &place, &asks),
        };
        let asked = asks.iter().map(|ask| ask.index).collect();
        match laid {
            Some((edits, way)) => {
                let run = Experiment::of_tests(question, tree, Selection::All, what);
                made.programs.push(Program { experiment: Experiment { edits, way, ..run }, asked });
            }
            None => made.missing.extend(asks.iter().map(|ask| (ask.index, UNBUILT.to_owned()))),
        }
    }
    made
}

const UNBUILT: &str = "the call does not compile";

impl Program {
    /// The results of all calls. Empty if the program was not built.
    pub fn said(&self, log: Option<&str>) -> Vec<CallOutcome> {
        let Some(log) = log else {
            return self.asked.iter().map(|index| CallOutcome::missing(*index, UNBUILT)).collect();
        };
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter_map(|line| serde_json::from_value(rust_data::read(line)).ok()).collect()
    }
}

/// Why a call is impossible, as far as the source shows.
fn why_not(read: &dyn Fn(&str) -> Option<String>, ask: &Ask) -> Option<String> {
    let Some(source) = read(&ask.path) else { return Some(format!("no file {}", ask.path)) };
    let language = Language::of_path(&ask.path);
    let functions = syntax::signatures(language, &source);
    let Some(found) = functions.iter().find(|known| known.name == ask.function) else {
        return Some(format!("no function {}", ask.function));
    };
    let unfit = || language == Language::Rust && rust_data::arguments(found, &ask.args).is_none();
    match (found.generic, found.awaited) {
        (true, _) => Some("it is generic".to_owned()),
        (false, true) => Some("it is async".to_owned()),
        (false, false) => unfit().then(|| "its parameters differ".to_owned()),
    }
}

/// The unit of a build: the root of a crate, or the folder of a package.
fn place(read: &dyn Fn(&str) -> Option<String>, ask: &Ask) -> String {
    if Language::of_path(&ask.path) == Language::Go {
        return folder(&ask.path).to_owned();
    }
    let Some((package, inside)) = ask.path.split_once("src/") else { return ask.path.clone() };
    let roots = ["lib.rs", "main.rs"].map(|root| format!("{package}src/{root}"));
    let first = modules_of(&ask.path).first().copied().unwrap_or_default().to_owned();
    let holds = |root: &String| {
        read(root).is_some_and(|text| syntax::modules(&text).iter().any(|(name, _)| *name == first))
    };
    match inside.contains('/') && inside.starts_with("bin/") || roots.contains(&ask.path) {
        true => ask.path.clone(),
        false => roots.into_iter().find(holds).unwrap_or_else(|| ask.path.clone()),
    }
}

type BuiltProgram = (Vec<(String, String)>, Method);

/// Turns the root of the crate into a program.
fn in_rust(
    material: &Material<'_>,
    read: &dyn Fn(&str) -> Option<String>,
    root: &str,
    asks: &[Ask],
) -> Option<BuiltProgram> {
    let (folder, _) = root.split_once("src/")?;
    let package = Package::of(material, read, folder)?;
    let opened = |path: &str| open_modules(&read(path)?);
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    texts.insert(root.to_owned(), opened(root)?);
    let mut calls = String::new();
    for file in files(asks) {
        let modules = if file == root { Vec::new() } else { modules_of(file) };
        for path in ways_in(read, &package.below("src"), &modules) {
            let text = opened(&path)?;
            texts.entry(path).or_insert(text);
        }
        let source = read(file)?;
        let functions = syntax::signatures(Language::Rust, &source);
        let made = asks.iter().filter(|ask| ask.path == file).filter_map(|ask| {
            let found = functions.iter().find(|known| known.name == ask.function)?;
            let args = rust_data::arguments(found, &ask.args)?;
            Some(format!("ask!({}, super::{}({args}));", ask.index, ask.function))
        });
        let made: Vec<String> = made.collect();
        let ours = RUST.replace("NAME", CALLS).replace("CALLS", &made.join("\n        "));
        let text = opened(file)?;
        texts.entry(file.to_owned()).or_insert(text).push_str(&ours);
        let path: String = modules.iter().map(|name| format!("{name}::")).collect();
        calls.push_str(&format!("    crate::{path}{CALLS}::make();\n"));
    }
    let head = texts.remove(root)?.replacen("fn main(", "fn redgreen_main(", 1);
    let mut edits: Vec<(String, String)> = texts.into_iter().collect();
    edits.push(package.manifest);
    edits.push((package.main, format!("{}\nfn main() {{\n{calls}}}\n", lenient(&head))));
    let (root, home) = (package.folder.clone(), package.folder);
    Some((edits, Method::Program { build: package.build, root, home, apart: unseen(material) }))
}

/// A file in the package, and a program next to it that calls it.
fn in_go(
    material: &Material<'_>,
    read: &dyn Fn(&str) -> Option<String>,
    folder_of: &str,
    asks: &[Ask],
) -> Option<BuiltProgram> {
    let root = module_root(material, folder_of)?;
    let module = module_path(&read(&join(&root, "go.mod"))?)?;
    let inside = folder_of.strip_prefix(&root)?.trim_start_matches('/');
    let package = package_of(&read(&asks.first()?.path)?)?;
    let call = |ask: &Ask| {
        let given = Value::Array(ask.args.clone()).to_string();
        format!("redgreenAsk({}, {}, {})", ask.index, ask.function, Value::String(given))
    };
    let calls: Vec<String> = asks.iter().map(call).collect();
    let ours = GO.replace("PACKAGE", &package).replace("CALLS", &calls.join("\n\t\t"));
    let mut edits = vec![(join(folder_of, &format!("{CALLS}.go")), ours)];
    let built = match package.as_str() {
        // Other packages cannot import it, so it becomes the program, with another `main`.
        "main" => {
            const MAIN: &str = "func main()";
            let here = |path: &&String| {
                folder(path) == folder_of && path.ends_with(".go") && !path.ends_with("_test.go")
            };
            let texts = material
                .paths
                .iter()
                .filter(here)
                .filter_map(|path| Some((path.clone(), read(path)?)));
            let begins = texts.filter(|(_, text)| text.contains(MAIN));
            edits.extend(
                begins.map(|(path, text)| (path, text.replacen(MAIN, "func redgreenMain()", 1))),
            );
            edits.first_mut()?.1.push_str("\nfunc main() { RedgreenCalls() }\n");
            inside.to_owned()
        }
        _ => {
            let import = join(&module, inside);
            let text = format!(
                "package main\n\nimport tested \"{import}\"\n\nfunc main() {{ tested.RedgreenCalls() }}\n"
            );
            edits.push((join(folder_of, &format!("{NAME}/main.go")), text));
            join(inside, NAME)
        }
    };
    let build = Build::Go { package: format!("./{built}") };
    Some((
        edits,
        Method::Program { build, root, home: folder_of.to_owned(), apart: unseen(material) },
    ))
}

fn files(asks: &[Ask]) -> Vec<&str> {
    let mut files: Vec<&str> = asks.iter().map(|ask| ask.path.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// REFACTOR: calls of functions in both trees, with the arguments in the tests and similar ones.
pub fn near(material: &Material<'_>) -> Vec<Ask> {
    let changed = material.change.paths.iter().filter(|changed| changed.kind == Kind::Modified);
    let code =
        changed.filter(|changed| matches!(changed.class, Class::Implementation | Class::Mixed));
    let mut asks = Vec::new();
    for path in code.map(|changed| &changed.path) {
        let language = Language::of_path(path);
        if !matches!(language, Language::Rust | Language::Go) {
            continue;
        }
        let told = |read: &dyn Fn(&str) -> Option<String>| -> Vec<Signature> {
            let source = read(path).unwrap_or_default();
            let names = syntax::names(language, path, &source);
            let is_public =
                |one: &Signature| names.iter().any(|name| name.name == one.name && !name.private);
            let is_told = |one: &Signature| !UNTOLD.iter().any(|part| one.returns.contains(part));
            let plain = |one: &Signature| !one.generic && !one.awaited && !one.kinds.is_empty();
            let all = syntax::signatures(language, &source).into_iter();
            all.filter(|one| is_public(one) && is_told(one) && plain(one)).collect()
        };
        let now = told(material.now);
        let tests: Vec<String> = material
            .paths
            .iter()
            .filter(|test| {
                Language::of_path(test) == language && (material.is_test(test) || *test == path)
            })
            .filter_map(|test| (material.now)(test))
            .collect();
        for function in told(material.before).iter().filter(|one| now.contains(one)) {
            for args in arguments(language, &tests, function) {
                asks.push(Ask {
                    index: asks.len(),
                    path: path.clone(),
                    function: function.name.clone(),
                    args,
                });
            }
        }
    }
    asks
}

/// The arguments that tests pass to a function, and variations of one of them.
fn arguments(language: Language, tests: &[String], function: &Signature) -> Vec<Vec<Value>> {
    let count = function.kinds.len();
    let mut all: Vec<Vec<Value>> = Vec::new();
    let mut add = |args: Vec<Value>| {
        let fits = language != Language::Rust || rust_data::arguments(function, &args).is_some();
        if fits && all.len() < NEAR_MAX && !all.contains(&args) {
            all.push(args);
        }
    };
    for test in tests {
        let calls = syntax::written_calls(language, test, &function.name)
            .into_iter()
            .filter(|args| args.len() == count);
        // A row of a table ends with the expected value.
        let rows =
            syntax::written_rows(language, test).into_iter().filter(|row| row.len() == count + 1);
        for row in calls.chain(rows) {
            let values: Option<Vec<Value>> = row
                .iter()
                .take(count)
                .map(|text| rust_data::read_literal(language, text))
                .collect();
            let Some(values) = values else { continue };
            add(values.clone());
            for (at, value) in values.iter().enumerate() {
                for other in near_value(value) {
                    let mut changed = values.clone();
                    if let Some(place) = changed.get_mut(at) {
                        *place = other;
                    }
                    add(changed);
                }
            }
        }
    }
    all
}

/// Similar values of the same type.
fn near_value(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(value) => vec![json!(!value)],
        Value::String(text) => {
            let (first, back): (String, String) =
                (text.chars().take(1).collect(), text.chars().rev().collect());
            let (upper, lower, tabs) =
                (text.to_uppercase(), text.to_lowercase(), text.replace(' ', "\t"));
            let others = [
                text.repeat(2),
                upper,
                lower,
                back,
                first,
                String::new(),
                tabs,
                format!(" {text}\n"),
            ];
            others.into_iter().map(Value::String).collect()
        }
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => {
                let others = [
                    whole.checked_add(1),
                    whole.checked_sub(1),
                    whole.checked_mul(2),
                    whole.checked_mul(10),
                ];
                let held = others.into_iter().flatten().filter(|other| other.abs() < NUMBER_MAX);
                held.chain([0]).map(|other| json!(other)).collect()
            }
            (None, Some(decimal)) => vec![json!(0.0), json!(-decimal), json!(decimal * 2.0)],
            (None, None) => Vec::new(),
        },
        Value::Array(items) => {
            let backwards: Vec<Value> = items.iter().rev().cloned().collect();
            let mut others = vec![json!([]), Value::Array(backwards)];
            others.push(Value::Array([items.as_slice(), items.as_slice()].concat()));
            if let Some((first, rest)) = items.split_first() {
                let changed = near_value(first).into_iter();
                others.extend(changed.map(|one| [&[one], rest].concat().into()));
            }
            others
        }
        Value::Null | Value::Object(_) => Vec::new(),
    }
}

/// Calls with different results on the two trees, and how many were compared.
pub fn differences(
    asks: &[Ask],
    before: &[CallOutcome],
    now: &[CallOutcome],
) -> (Vec<Reason>, usize) {
    let (mut reasons, mut compared) = (Vec::new(), 0);
    for ask in asks {
        let (Some(was), Some(is)) = (stable(ask.index, before), stable(ask.index, now)) else {
            continue;
        };
        compared += 1;
        if content(was) != content(is) && reasons.len() < super::DIFFERENCES_MAX {
            let args: Vec<String> = ask.args.iter().map(Value::to_string).collect();
            let past = was.told().replacen("gives ", "gave ", 1).replacen("raises ", "raised ", 1);
            let sentence = format!(
                "{}({}) of {} {past} before and {} now",
                ask.function,
                args.join(", "),
                ask.path,
                is.told()
            );
            reasons
                .push(Reason::new(Code::RefactorBehaviour, sentence).place(Some(&ask.path), None));
        }
    }
    (reasons, compared)
}

/// The result of a call, if it was always the same.
fn stable(index: usize, said: &[CallOutcome]) -> Option<&CallOutcome> {
    let mut all = said.iter().filter(|one| one.index == index);
    let first = all.next().filter(|first| !matches!(first.what, OutcomeKind::Missing(_)))?;
    all.all(|one| content(one) == content(first)).then_some(first)
}

/// What callers see. The message of a Go error is for people.
fn content(said: &CallOutcome) -> Vec<&str> {
    match &said.what {
        OutcomeKind::Raises(names)
            if names.first().is_some_and(|name| name == "error" || name == "panic") =>
        {
            names.iter().take(2).map(String::as_str).collect()
        }
        OutcomeKind::Gives(_) | OutcomeKind::Raises(_) => vec![&said.shown],
        OutcomeKind::Other(shown) | OutcomeKind::Missing(shown) => vec![shown],
    }
}
