//! The settings files in increasing precedence: files of other tools in the project, the user's own
//! file, the project's file. Each is checked separately. They are merged into one table, and every
//! value keeps its origin.

use std::path::{Path, PathBuf};

use anyhow::Result;
use redgreen_core::brief::node::{Need, Node, Problem, Reader, Syntax, Value as Yaml};
use toml::{Table, Value};

use super::properties::{self, Properties};
use super::{Environment, FILE, File, text};
use crate::failure::Failure;

/// The stage settings of another tool, read unchanged.
const RED_STAGE: &str = ".agentforge/config/stages/red.yaml";
const GREEN_STAGE: &str = ".agentforge/config/stages/green.yaml";
/// The user's own settings, in the folder for settings.
pub const USER_FILE: &str = "config.toml";

/// One source of settings.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The file or other source.
    pub origin: String,
    /// Whether it comes with the project, so that its author controls it.
    pub of_project: bool,
    pub table: Table,
    /// Keys that redgreen does not use.
    pub unused: Vec<String>,
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub key: String,
    pub value: Value,
    pub origin: String,
}

/// All settings files, in increasing precedence.
pub fn layers(project: &Path, environment: &Environment) -> Result<Vec<Layer>> {
    layers_of(&|name| text(project, name), environment)
}

/// Like `layers`, with another way to read the project's files, such as from a commit.
pub fn layers_of(
    read: &dyn Fn(&str) -> Result<Option<String>>,
    environment: &Environment,
) -> Result<Vec<Layer>> {
    let mut found = Vec::new();
    if let Some(said) = read(properties::FILE)? {
        found.push(of_properties(&Properties::parse(&said))?);
    }
    for (name, stage) in
        [(RED_STAGE, red_stage as fn(&mut Reader, &Node) -> Table), (GREEN_STAGE, green_stage)]
    {
        if let Some(said) = read(name)? {
            found.push(of_stage(name, &said, stage)?);
        }
    }
    if let Some(folder) = &environment.settings
        && let Some(said) = text(folder, USER_FILE)?
    {
        found.push(of_toml(&folder.join(USER_FILE), false, &said)?);
    }
    if let Some(said) = read(FILE)? {
        found.push(of_toml(Path::new(FILE), true, &said)?);
    }
    Ok(found)
}

/// Merges all layers into one file. The later one wins, key by key.
pub fn merged(layers: &[Layer]) -> Result<File> {
    let mut whole = Table::new();
    for layer in layers {
        merge(&mut whole, &layer.table);
    }
    whole
        .try_into()
        .map_err(|error| Failure::usage(format!("the settings cannot be used: {error}")).into())
}

/// All effective values, with their keys as written in a file and their origins.
pub fn settings(layers: &[Layer]) -> Vec<Setting> {
    let mut all: Vec<Setting> = Vec::new();
    for layer in layers {
        for (key, value) in flat("", &layer.table) {
            all.retain(|known| known.key != key);
            all.push(Setting { key, value, origin: layer.origin.clone() });
        }
    }
    all.sort_by(|one, other| one.key.cmp(&other.key));
    all
}

fn of_toml(path: &Path, of_project: bool, said: &str) -> Result<Layer> {
    let origin = path.display().to_string();
    File::parse_named(&origin, said)?;
    let table = said.trim_start_matches('\u{feff}').parse().unwrap_or_default();
    Ok(Layer { origin, of_project, table, unused: Vec::new() })
}

fn of_properties(properties: &Properties) -> Result<Layer> {
    let mut table = Table::new();
    if let Some(command) = properties.get("test.command") {
        put(&mut table, "test", "command", Value::String(command.to_owned()));
    }
    if let Some(seconds) = properties.get("bash.timeout") {
        let seconds: f64 = seconds.trim().parse().map_err(|_| {
            let place = properties::FILE;
            Failure::usage(format!(
                "bash.timeout in {place} is {seconds:?}; it must be a number of seconds"
            ))
            .next(format!("correct bash.timeout in {place}"))
        })?;
        for name in ["red", "green", "bash"] {
            put(&mut table, "timeout", name, Value::Float(seconds));
        }
    }
    let unused = properties.others(&["test.command", "bash.timeout"]);
    Ok(Layer { origin: properties::FILE.to_owned(), of_project: true, table, unused })
}

fn of_stage(name: &str, said: &str, read: fn(&mut Reader, &Node) -> Table) -> Result<Layer> {
    let wrong = |problems: Vec<Problem>| {
        let failure = Failure::usage(format!("cannot use {name}"));
        let failure = problems
            .iter()
            .fold(failure, |failure, problem| failure.evidence(format!("{name}:{problem}")));
        failure.next(format!("correct {name}"))
    };
    let root = Node::parse(Syntax::Yaml, said).map_err(|problem| wrong(vec![problem]))?;
    let mut reader = Reader::default();
    let table = if reader.is_object(&root) { read(&mut reader, &root) } else { Table::new() };
    let unused = std::mem::take(&mut reader.unused);
    let table = reader.finish(Some(table)).map_err(wrong)?;
    let said = Table::clone(&table).try_into::<File>();
    if let Err(error) = said {
        return Err(wrong(vec![Problem::whole(format!(" {}", error.message()))]).into());
    }
    Ok(Layer { origin: name.to_owned(), of_project: true, table, unused })
}

fn red_stage(reader: &mut Reader, root: &Node) -> Table {
    let mut table = Table::new();
    take(
        reader,
        root,
        &mut table,
        &[("test_framework", "red", "framework"), ("test_directory", "red", "directory")],
    );
    if let Some(generation) = reader.object(root, "generation", Need::Optional) {
        let keys = [
            ("include_edge_cases", "red", "edge-cases"),
            ("include_error_cases", "red", "error-cases"),
            ("tests_per_component", "red", "per-component"),
        ];
        take(reader, generation, &mut table, &keys);
        not_used(reader, generation, &keys.map(|(key, ..)| key));
    }
    if let Some(execution) = reader.object(root, "execution", Need::Optional) {
        if let Some(seconds) = number(reader, execution, "timeout_seconds") {
            put(&mut table, "timeout", "red", Value::Float(seconds));
        }
        // Tests already run one after another, and RED measures no coverage, so these values change
        // nothing.
        let met = ["parallel", "collect_coverage"]
            .into_iter()
            .filter(|key| is_flag(execution, key, false));
        not_used(reader, execution, &met.chain(["timeout_seconds"]).collect::<Vec<_>>());
    }
    if let Some(validation) = reader.object(root, "validation", Need::Optional) {
        if let Some(ratio) = number(reader, validation, "max_pass_ratio") {
            put(&mut table, "test", "max-pass-ratio", Value::Float(ratio));
        }
        take(reader, validation, &mut table, &[("allow_some_passes", "red", "allow-passes")]);
        not_used(reader, validation, &["max_pass_ratio", "allow_some_passes"]);
    }
    not_used(
        reader,
        root,
        &["stage", "execution", "validation", "generation", "test_framework", "test_directory"],
    );
    table
}

fn green_stage(reader: &mut Reader, root: &Node) -> Table {
    const ITERATIONS_MAX: u32 = 1_000;
    let mut table = Table::new();
    if let Some(execution) = reader.object(root, "execution", Need::Optional) {
        if let Some(count) =
            reader.count(execution, "max_iterations", Need::Optional, (1, ITERATIONS_MAX))
        {
            table.insert("max-iterations".to_owned(), Value::Integer(count.into()));
        }
        if let Some(seconds) = number(reader, execution, "test_timeout_seconds") {
            put(&mut table, "timeout", "green", Value::Float(seconds));
        }
        take(
            reader,
            execution,
            &mut table,
            &[("continue_on_partial_success", "green", "keep-partial")],
        );
        not_used(
            reader,
            execution,
            &["max_iterations", "test_timeout_seconds", "continue_on_partial_success"],
        );
    }
    if let Some(implementation) = reader.object(root, "implementation", Need::Optional) {
        let keys = [
            ("style", "green", "style"),
            ("include_docstrings", "green", "docstrings"),
            ("include_type_hints", "green", "type-hints"),
        ];
        take(reader, implementation, &mut table, &keys);
        not_used(reader, implementation, &keys.map(|(key, ..)| key));
    }
    if let Some(testing) = reader.object(root, "testing", Need::Optional) {
        let keys = [
            ("run_after_each_file", "green", "test-each-file"),
            ("run_specific_test_first", "green", "test-one-first"),
        ];
        take(reader, testing, &mut table, &keys);
        // The verdict always runs every test; a request for fewer has no effect.
        let met =
            ["full_suite_on_completion"].into_iter().filter(|key| is_flag(testing, key, true));
        not_used(reader, testing, &met.chain(keys.map(|(key, ..)| key)).collect::<Vec<_>>());
    }
    not_used(reader, root, &["stage", "execution", "implementation", "testing"]);
    table
}

/// Copies strings and flags to our settings. Their values are checked when they are parsed.
fn take(reader: &mut Reader, object: &Node, table: &mut Table, keys: &[(&str, &str, &str)]) {
    for (key, section, name) in keys {
        let Some(node) = object.get(key) else { continue };
        match &node.value {
            Yaml::Flag(flag) => put(table, section, name, Value::Boolean(*flag)),
            Yaml::Text(text) | Yaml::Number(text) => {
                put(table, section, name, Value::String(text.clone()));
            }
            Yaml::Null | Yaml::List(_) | Yaml::Object(_) => {
                reader.problem(node, "expected true, false or a string");
            }
        }
    }
}

fn is_flag(object: &Node, key: &str, wanted: bool) -> bool {
    object.get(key).is_some_and(|node| node.value == Yaml::Flag(wanted))
}

fn number(reader: &mut Reader, object: &Node, key: &str) -> Option<f64> {
    let node = object.get(key)?;
    let number = match &node.value {
        Yaml::Number(number) => number.parse().ok(),
        Yaml::Null | Yaml::Flag(_) | Yaml::Text(_) | Yaml::List(_) | Yaml::Object(_) => None,
    };
    if number.is_none() {
        reader.problem(node, "expected a number");
    }
    number
}

/// Reports keys for another program, so that nobody expects them to work here.
fn not_used(reader: &mut Reader, object: &Node, known: &[&str]) {
    let Yaml::Object(entries) = &object.value else { return };
    let others = entries.iter().filter(|(key, _)| !known.contains(&key.as_str()));
    reader.unused.extend(others.map(|(_, node)| node.path.trim_start_matches("$.").to_owned()));
}

fn put(table: &mut Table, section: &str, key: &str, value: Value) {
    let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(section) = section {
        section.insert(key.to_owned(), value);
    }
}

fn merge(whole: &mut Table, stronger: &Table) {
    for (key, value) in stronger {
        match (whole.get_mut(key), value) {
            (Some(Value::Table(known)), Value::Table(more)) => merge(known, more),
            _ => {
                whole.insert(key.clone(), value.clone());
            }
        }
    }
}

fn flat(above: &str, table: &Table) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (key, value) in table {
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value {
            Value::Table(inner) => all.extend(flat(&path, inner)),
            value => all.push((path, value.clone())),
        }
    }
    all
}

/// The user's folders for settings and for state.
pub(super) fn own_folders() -> (Option<PathBuf>, Option<PathBuf>) {
    let folders = directories::ProjectDirs::from("", "", "redgreen");
    let settings = folders.as_ref().map(|folders| folders.config_dir().to_owned());
    let state = folders
        .as_ref()
        .map(|folders| folders.state_dir().unwrap_or(folders.data_local_dir()).to_owned());
    (settings, state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_files_win_and_values_keep_their_origin() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        let user = folder.path().join("user");
        for (path, text) in [
            ("project/tdd.properties", "bash.timeout=60\ntest.command=make check\ncolour=red\n"),
            (
                "project/.agentforge/config/stages/red.yaml",
                "stage: red\nmood: good\ntest_framework: pytest\nvalidation:\n  max_pass_ratio: 0.5\n  allow_some_passes: false\n\
                 execution:\n  timeout_seconds: 300\n  parallel: true\n  collect_coverage: false\n",
            ),
            (
                "project/.agentforge/config/stages/green.yaml",
                "stage: green\nexecution:\n  max_iterations: 20\n  test_timeout_seconds: 90\n  continue_on_partial_success: false\n\
                 implementation:\n  style: minimal\n  include_docstrings: true\ntesting:\n  run_after_each_file: true\n  \
                 full_suite_on_completion: false\n",
            ),
            ("user/config.toml", "backoff = 2.0\n[agent]\nname = \"mine\"\n"),
            ("project/redgreen.toml", "backoff = 0.5\n"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let environment = Environment { settings: Some(user), ..Environment::default() };
        let layers = layers(&project, &environment).unwrap();
        let file = merged(&layers).unwrap();
        assert_eq!((file.backoff, file.max_iterations), (Some(0.5), Some(20)));
        assert_eq!((file.timeout.red, file.timeout.green), (Some(300.0), Some(90.0)));
        assert_eq!(file.test.max_pass_ratio, Some(0.5));
        assert_eq!(
            (file.agent.name.as_deref(), file.test.command.as_deref()),
            (Some("mine"), Some("make check"))
        );
        let origin =
            |key: &str| settings(&layers).into_iter().find(|row| row.key == key).unwrap().origin;
        assert_eq!(
            (origin("backoff"), origin("timeout.red")),
            (FILE.to_owned(), RED_STAGE.to_owned())
        );
        assert_eq!(
            (file.red.framework.as_deref(), file.red.allow_passes),
            (Some("pytest"), Some(false))
        );
        assert_eq!((file.green.docstrings, file.green.keep_partial), (Some(true), Some(false)));
        assert_eq!(layers[0].unused, ["colour"]);
        assert_eq!(layers[1].unused, ["execution.parallel", "mood"]);
        assert_eq!(layers[2].unused, ["testing.full_suite_on_completion"]);
    }

    #[test]
    fn reports_the_place_of_an_error_in_a_stage() {
        for (said, words) in [
            ("execution: 3", "red.yaml:1:12: $.execution: expected an object, found the number 3"),
            (
                "validation:\n  max_pass_ratio: lots",
                "red.yaml:2:19: $.validation.max_pass_ratio: expected a number",
            ),
            ("generation:\n  include_edge_cases: often", "red.yaml: invalid type"),
            ("a: [", "red.yaml:"),
        ] {
            let error = of_stage("red.yaml", said, red_stage).unwrap_err();
            let failure = error.downcast_ref::<Failure>().unwrap();
            assert!(failure.evidence[0].starts_with(words), "{said}: {:?}", failure.evidence);
        }
    }
}
