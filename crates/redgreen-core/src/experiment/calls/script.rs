//! JavaScript and TypeScript: records calls of exported functions and classes with proxies, and
//! repeats them in plain Node.

use serde_json::{Value, json};

use super::super::{Driver, Experiment, Interpreter, Material, Method, Question, Tree};
use super::{Boundaries, Recording, Speaker, changed_modules, first_target, outside};
use crate::framework::invoke::Selection;
use crate::syntax::{self, ItemKind, Language};

const RECORDER: &str =
    concat!(include_str!("values.mjs"), include_str!("language.mjs"), include_str!("record.mjs"));
const BARE: &str =
    concat!(include_str!("values.mjs"), include_str!("repeat.mjs"), include_str!("bare.mjs"));
const BODY: &str = include_str!("bare_body.mjs");

/// Makes calls and prints each result.
pub(in crate::experiment) const DRIVER: Driver = Driver {
    interpreter: Interpreter::Node,
    file: "main.mjs",
    source: concat!(
        include_str!("values.mjs"),
        include_str!("repeat.mjs"),
        include_str!("plain.mjs")
    ),
};

/// Settings files of runners, and their text without any settings.
const SETTINGS: &[(&str, &str)] = &[
    ("vitest.config.", "export default { test: { globals: true } };\n"),
    ("vite.config.", "export default { test: { globals: true } };\n"),
    ("vitest.workspace.", "export default [];\n"),
    (".mocharc.", "{}\n"),
];

/// The module with its functions and classes watched. `None` if it has none.
pub(super) fn watched(path: &str, source: &str) -> Option<String> {
    let language = Language::of_path(path);
    let (mut text, mut lines) = (source.to_owned(), Vec::new());
    for item in syntax::items(language, path, source) {
        let is_own = matches!(item.kind, ItemKind::Function | ItemKind::Class) && !item.in_tests;
        let name = &item.name;
        let plain =
            name.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '$');
        if is_own && plain && make_assignable(&mut text, name) {
            lines.push(format!(
                "  try {{ {name} = redgreen.watch(\"{name}\", {name}); }} catch {{}}"
            ));
        }
    }
    let exports = source.lines().any(|line| line.starts_with("export "));
    if !exports && source.contains("exports") {
        lines = vec!["  redgreen.watchExports(module);".to_owned()];
    }
    if lines.is_empty() {
        return None;
    }
    let unchecked = if language == Language::JavaScript { "" } else { "// @ts-nocheck\n" };
    Some(format!(
        "{unchecked}{text}\n;if (typeof process?.getBuiltinModule === \"function\") {{\n  const redgreen = (() => \
         {{\n{RECORDER}\n  const values = \
         redgreenValues();\n  return redgreenRecorder({}, values, redgreenLanguage(values));\n  }})();\n{}\n}}\n",
        Value::from(path),
        lines.join("\n")
    ))
}

/// Whether the name can be reassigned: a declaration can, a constant only after it becomes a
/// variable.
fn make_assignable(text: &mut String, name: &str) -> bool {
    let follows = |text: &str, word: &str| {
        text.match_indices(&format!("{word} {name}")).find_map(|(at, found)| {
            let rest = text.get(at + found.len()..)?;
            let ends = !rest.starts_with(|letter: char| {
                letter.is_alphanumeric() || letter == '_' || letter == '$'
            });
            ends.then_some(at)
        })
    };
    if ["function", "function*", "class", "let", "var"]
        .iter()
        .any(|word| follows(text, word).is_some())
    {
        return true;
    }
    match follows(text, "const") {
        Some(at) => {
            text.replace_range(at..at + "const".len(), "let");
            true
        }
        None => false,
    }
}

/// The calls in an ordinary program.
pub(super) fn again(
    material: &Material<'_>,
    recording: &Recording,
    tree: Tree,
    near: Option<&Boundaries>,
) -> Experiment {
    let mut ask = json!({ "lines": recording.lines });
    let mut what = "the calls of the tests, in a program without tests";
    if let (Some(near), Some(ask)) = (near, ask.as_object_mut()) {
        what = "the calls of the tests and similar ones, in a program without tests";
        ask.insert("near".to_owned(), json!(near.edges));
    }
    let way = Method::Driver { driver: DRIVER, question: ask.to_string() };
    let removed = outside::hidden(material, near.is_some());
    Experiment { way, removed, ..Experiment::of_tests(Question::Calls, tree, Selection::All, what) }
}

/// A test at the place and with the name of a RED test that only makes the calls.
pub(super) fn bare(
    material: &Material<'_>,
    recording: &Recording,
    only: &[i64],
) -> Option<Experiment> {
    let (file, item, source) = first_target(material, Speaker::Script)?;
    let required =
        source.contains("require(") && !source.lines().any(|line| line.starts_with("import "));
    // The runner that the file imports. Other runners use globals.
    let runner =
        ["vitest", "node:test", "@jest/globals"].into_iter().find(|runner| source.contains(runner));
    let is_node = runner == Some("node:test");
    let modules: Vec<String> = changed_modules(material, Speaker::Script)
        .into_iter()
        .map(|path| {
            let named = relative(&file, if is_node { &path } else { without_ending(&path) });
            format!("{}: () => import({})", Value::from(path), Value::from(named))
        })
        .collect();
    let word = if source.contains("test(") || source.contains("test.") { "test" } else { "it" };
    let mut text = String::from("// @ts-nocheck\n");
    let brought = runner.map(|runner| match required {
        true => format!("const {{ {word} }} = require(\"{runner}\");\n"),
        false => format!("import {{ {word} }} from \"{runner}\";\n"),
    });
    text.push_str(&brought.unwrap_or_default());
    text.push_str(&format!("const redgreenModules = {{ {} }};\n", modules.join(", ")));
    let lines: Vec<&String> = recording.lines.iter().filter(|line| line.starts_with('{')).collect();
    text.push_str(&BARE.replace("QUESTION", &json!({ "lines": lines, "only": only }).to_string()));
    let title = item.rsplit(" > ").next().unwrap_or(&item);
    text.push_str(&format!("{word}({}, async () => {{\n{BODY}}});\n", Value::from(title)));
    let settings = material.paths.iter().filter_map(|path| {
        let name = path.rsplit('/').next()?;
        let (_, nothing) = SETTINGS.iter().find(|(start, _)| name.starts_with(start))?;
        Some((path.clone(), (*nothing).to_owned()))
    });
    let mut edits: Vec<(String, String)> = settings.collect();
    edits.extend(prepared(material).into_iter().map(|path| (path, String::new())));
    edits.push((file.clone(), text));
    let what = "the calls of the tests, in a test that does nothing else";
    let removed = outside::unseen(material);
    let run = Experiment::of_tests(Question::Calls, Tree::Head, Selection::Files(vec![file]), what);
    Some(Experiment { edits, removed, ..run })
}

/// The path of a module, as TypeScript and its runners write it.
fn without_ending(path: &str) -> &str {
    [".d.ts", ".ts", ".tsx", ".mts", ".cts", ".jsx"]
        .iter()
        .find_map(|ending| path.strip_suffix(ending))
        .unwrap_or(path)
}

/// The relative path from one file to another.
fn relative(from: &str, to: &str) -> String {
    let folders: Vec<&str> = from.split('/').collect();
    let (_, folders) = folders.split_last().unwrap_or((&"", &[]));
    let parts: Vec<&str> = to.split('/').collect();
    let shared = folders.iter().zip(&parts).take_while(|(one, other)| one == other).count();
    let up = "../".repeat(folders.len() - shared);
    let down = parts.get(shared..).unwrap_or_default().join("/");
    if up.is_empty() { format!("./{down}") } else { format!("{up}{down}") }
}

/// Files that a script of the project loads before the tests.
fn prepared(material: &Material<'_>) -> Vec<String> {
    let manifests =
        material.paths.iter().filter(|path| path.rsplit('/').next() == Some("package.json"));
    let mut found = Vec::new();
    for text in manifests.filter_map(|path| (material.now)(path)) {
        let words: Vec<&str> = text.split(['"', ' ', '=', '\n']).collect();
        for pair in words.windows(2) {
            let [flag, path] = pair else { continue };
            let path = path.trim_start_matches("./");
            if matches!(*flag, "--import" | "--require" | "-r")
                && material.paths.iter().any(|known| known == path)
            {
                found.push(path.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_named_by_the_way_to_it() {
        for (from, to, way) in [
            ("add.test.ts", "add", "./add"),
            ("tests/add.test.ts", "src/add", "../src/add"),
            ("src/add.test.ts", "src/lib/add", "./lib/add"),
            ("a/b/c.test.ts", "a/d/e", "../d/e"),
        ] {
            assert_eq!(relative(from, to), way);
        }
    }
}
