//! GREEN: what a test was told is asked once more where no test runner is. Code that answers otherwise there, and gives
//! the test's answer to a test that does nothing else, looks at who is asking, however it finds out.

use serde_json::{Map, Value};

use super::beside::{Beside, is_marked};
use super::examples::{Example, Expected};
use super::{Experiment, Material, Question, Tree, Way, is_target, stand_in, target_files};
use crate::framework::invoke::Selection;
use crate::syntax::{self, Language};

/// Calls that are made; those after them say the same.
const CALLS_MAX: usize = 40;
const NAME: &str = "redgreen_bare";
/// In the configuration of a runner, what prepares every test.
const PREPARES_PYTHON: &[&str] = &["env =", "env=", "usefixtures", "DJANGO_", "-p "];
const CONFIGURES: &[&str] = &["setup", "Setup", "env", "define", "alias", "preset"];
/// What only looks like it.
const CONFIGURES_NOTHING: &[&str] =
    &["defineConfig", "defineProject", "defineWorkspace", "environment: \"node\"", "environment: 'node'"];
const PREPARES_SCRIPTS: &[&str] =
    &["setupFiles", "globalSetup", "testEnvironment", "--import", "--require", "NODE_ENV=", "\"preset\""];
/// Whoever uses the code has none of these, though they are installed where it is tested.
pub const RUNNERS: [&str; 2] = ["pytest", "_pytest"];

/// The tests of the project: whoever uses the code has none of these either.
pub fn unseen(material: &Material<'_>) -> Vec<String> {
    // Data of tests may be what the code is given to read.
    let is_code = |path: &&String| Language::of_path(path) != Language::Other;
    let is_test = |path: &&String| is_code(path) && (stand_in::is_test(material, path) || is_marked(path));
    material.paths.iter().filter(is_test).cloned().collect()
}

/// A call with the answer that a test writes down for it, and that test with nothing else in it.
#[derive(Clone, Debug)]
pub struct Outside {
    pub example: Example,
    pub bare: Experiment,
}

pub fn asked(material: &Material<'_>) -> Vec<Outside> {
    let mut all = Vec::new();
    for file in target_files(material) {
        let language = Language::of_path(&file);
        let Some(source) = (material.now)(&file).filter(|_| language == Language::Python || language.is_script())
        else {
            continue;
        };
        if is_prepared(material, &file, &source) {
            continue;
        }
        let project = syntax::Project { paths: material.paths, packages: material.packages };
        for import in syntax::imports(language, &source) {
            let places = syntax::resolve(language, &file, &import, project);
            // What a bundler fills in is not there without it.
            let plain = |text: String| !text.contains("import.meta.env");
            let code = |path: &&String| !stand_in::is_test(material, path) && (material.now)(path).is_some_and(plain);
            let Some(place) = places.iter().find(code) else { continue };
            for item in syntax::items(language, &file, &source).iter().filter(|item| item.is_test) {
                if !is_target(material, &file, &item.name) {
                    continue;
                }
                let stated = syntax::stated(language, &file, &source, item, &import.names);
                // Whoever is asked for a test has to find it.
                for stated in
                    stated.into_iter().filter(|stated| !stated.arguments.iter().any(|text| text.contains("test")))
                {
                    let args: Option<Vec<Value>> = stated.arguments.iter().map(|text| value(text)).collect();
                    let (Some(args), Some(expected)) = (args, value(&stated.expected)) else { continue };
                    let call = format!("{place}:{}", stated.name);
                    let example = Example { call, args, expected: Expected::Gives(expected) };
                    all.push(Outside { example, bare: bare(language, &file, &source, &stated.statement) });
                }
            }
        }
    }
    all.truncate(CALLS_MAX);
    all
}

/// Whether something makes the world another one before every test of the file: a fixture that nobody asks for, a set-up
/// file, a browser's globals. What the code answers without it tells nothing then.
fn is_prepared(material: &Material<'_>, file: &str, source: &str) -> bool {
    let text = |path: &str| (material.now)(path).unwrap_or_default();
    if Language::of_path(file) == Language::Python {
        let above = |path: &str| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            folder.is_empty() || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        return material.paths.iter().filter(|path| above(path)).any(|path| match path.rsplit('/').next() {
            Some("conftest.py") => !syntax::only_fixtures(&text(path)),
            Some("__init__.py") if stand_in::is_test(material, path) => !text(path).trim().is_empty(),
            Some("pytest.ini" | "pytest.toml" | "tox.ini" | "setup.cfg" | "pyproject.toml") => {
                PREPARES_PYTHON.iter().any(|word| text(path).contains(word))
            }
            Some(_) | None => false,
        });
    }
    let prepares = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let words = match name.split('.').next() {
            Some("vitest" | "vite" | "jest") if name.contains("config") || name.contains("workspace") => CONFIGURES,
            Some("package") if name == "package.json" => PREPARES_SCRIPTS,
            Some(_) | None => return false,
        };
        let text = CONFIGURES_NOTHING.iter().fold(text(path), |text, word| text.replace(word, ""));
        words.iter().any(|word| text.contains(word))
    };
    source.contains("-environment ") || material.paths.iter().any(prepares)
}

/// A test of its own, beside the others, that holds the statement alone.
fn bare(language: Language, file: &str, source: &str, statement: &str) -> Experiment {
    let beside = Beside { path: file, source };
    let path = beside.named(NAME);
    let mut text = syntax::import_statements(language, source).join("\n");
    text.push_str(&match language == Language::Python {
        true => format!("\n\n\ndef test_{NAME}():\n    {statement}\n"),
        false => format!("\n\n{}(\"{NAME}\", () => {{\n  {statement};\n}});\n", beside.word()),
    });
    Experiment {
        question: Question::Calls,
        tree: Tree::Head,
        edits: vec![(path.clone(), text)],
        way: Way::Tests(Selection::Files(vec![path])),
        removed: Vec::new(),
        time: 0,
        variables: Vec::new(),
        about: Vec::new(),
        what: "one statement of the tests, alone".to_owned(),
        otherwise: None,
    }
}

/// A written-out value of Python or JavaScript as data; nothing where it is more than that.
fn value(text: &str) -> Option<Value> {
    let text = text.trim();
    match text {
        "True" | "true" => return Some(Value::Bool(true)),
        "False" | "false" => return Some(Value::Bool(false)),
        "None" | "null" => return Some(Value::Null),
        _ => {}
    }
    if let Some(inner) = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote)) {
        let plain = !inner.contains(['"', '\'', '\\', '\n']);
        return plain.then(|| Value::String(inner.to_owned()));
    }
    let inner = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
    if let Some(list) = inner('[', ']').or_else(|| inner('(', ')').filter(|list| list.contains(','))) {
        return parts(list)?.iter().map(|part| value(part)).collect::<Option<Vec<Value>>>().map(Value::Array);
    }
    if let Some(pairs) = inner('{', '}') {
        let mut map = Map::new();
        for pair in parts(pairs)? {
            let (key, one) = pair.split_once(':')?;
            let Value::String(key) = value(key)? else { return None };
            map.insert(key, value(one)?);
        }
        return Some(Value::Object(map));
    }
    // Leading zeros, hexadecimals and long integers are read otherwise by others.
    let plain = text.chars().all(|letter| letter.is_ascii_digit() || ".-".contains(letter)) && text.len() < 15;
    serde_json::from_str::<serde_json::Number>(text).ok().filter(|_| plain).map(Value::Number)
}

/// What stands between the outermost commas; nothing where a quote does not end.
fn parts(text: &str) -> Option<Vec<&str>> {
    let (mut depth, mut quote, mut start) = (0_i32, None, 0);
    let mut found = Vec::new();
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '(' | '{') => depth += 1,
            (None, ']' | ')' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                found.push(text.get(start..at)?);
                start = at + 1;
            }
            (None, _) => {}
        }
    }
    found.push(text.get(start..)?);
    found.retain(|part| !part.trim().is_empty());
    quote.is_none().then_some(found)
}

#[test]
fn values_are_read_as_data() {
    for (text, expected) in [
        ("4", "4"),
        ("-0.5", "-0.5"),
        ("'a, b'", "\"a, b\""),
        ("[1, (2, 'x'), []]", "[1,[2,\"x\"],[]]"),
        ("{'a': [True, None]}", "{\"a\":[true,null]}"),
    ] {
        assert_eq!(value(text).map(|value| value.to_string()).as_deref(), Some(expected), "{text}");
    }
    for text in ["f(1)", "'it\\'s'", "0x10", "{1, 2}", "b'a'", "010", "['a]"] {
        assert_eq!(value(text), None, "{text}");
    }
}
