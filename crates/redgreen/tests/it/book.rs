//! Checks the tables and examples of the book against the code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use redgreen::process::{Limits, Program, Stop};
use redgreen_core::framework::{FRAMEWORKS, command};
use redgreen_core::handoff::Handoff;
use redgreen_core::model::price::Prices;
use redgreen_core::model::provider::PROVIDERS;
use redgreen_core::verdict::{Side, VOCABULARY};

const HELP_LIMITS: Limits = Limits { wall: Duration::from_secs(60), output_bytes_max: 1 << 20 };

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// mdBook builds the pages that SUMMARY.md lists, and readers on the repository's site start at
/// README.md.
#[test]
fn both_tables_of_contents_list_every_page() {
    let listed = |name: &str| -> Vec<String> {
        let text = page(name);
        let links = text.lines().filter_map(|line| line.strip_prefix("- [")?.split_once(']'));
        links
            .filter_map(|(title, rest)| {
                Some(format!("{title} {}", rest.strip_prefix('(')?.split_once(')')?.0))
            })
            .collect()
    };
    let pages = listed("README.md");
    assert_eq!(listed("SUMMARY.md"), pages);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book");
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_page =
            name.ends_with(".md") && !["README.md", "SUMMARY.md"].contains(&name.as_str());
        assert!(
            !is_page || pages.iter().any(|page| page.ends_with(&format!(" {name}"))),
            "{name} is not listed"
        );
    }
}

#[test]
fn the_table_of_verdicts_is_the_vocabulary() {
    let page = page("verdicts.md");
    let shown: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| `") && line.contains(".")).collect();
    let known: Vec<String> = VOCABULARY
        .iter()
        .map(|row| {
            let side = match row.side {
                Side::Nobody => "nobody",
                Side::Plan => "plan",
                Side::Test => "test",
                Side::Code => "code",
                Side::Runner => "runner",
            };
            format!("| `{}` | {side} | {} | {} |", row.name, row.meaning, row.next)
        })
        .collect();
    assert_eq!(shown, known);
}

#[test]
fn every_code_has_an_example() {
    let page = page("verdicts.md");
    let (_, examples) = page.split_once("## Examples").unwrap();
    for row in VOCABULARY {
        let start = format!("| {} | ", row.name);
        let line = examples.lines().find_map(|line| line.strip_prefix(&start));
        assert!(
            line.is_some_and(|line| line.len() > 4),
            "{} has no example in verdicts.md",
            row.name
        );
    }
}

#[test]
fn the_table_of_frameworks_is_that_of_the_program() {
    let page = page("frameworks.md");
    let shown: Vec<String> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split(" | ").take(2).collect::<Vec<_>>().join(" | "))
        .collect();
    let known = FRAMEWORKS.iter().chain([&command::FRAMEWORK]);
    assert_eq!(
        shown,
        known.map(|row| format!("| `{}` | {}", row.name, row.looks_for)).collect::<Vec<_>>()
    );
}

#[test]
fn the_note_in_the_book_is_a_note() {
    let page = page("handoff-notes.md");
    let (_, rest) = page.split_once("```json\n").unwrap();
    let (note, _) = rest.split_once("```").unwrap();
    Handoff::parse(note).unwrap();
}

#[test]
fn every_setting_of_the_template_is_in_the_book() {
    let page = page("settings.md");
    let mut section = String::new();
    for line in redgreen::ops::init::TEMPLATE.lines().filter_map(|line| line.strip_prefix("#: ")) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = format!("{name}.");
        } else {
            let key = line.split(' ').next().unwrap();
            assert!(
                page.contains(&format!("`{section}{key}`")),
                "{section}{key} is not in settings.md"
            );
        }
    }
}

#[test]
fn the_table_of_agents_is_that_of_the_program() {
    let page = page("external-agents.md");
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter(|line| !line.starts_with("--"));
    let shown: BTreeMap<String, String> = rows
        .filter_map(|line| line.split_once("` | "))
        .map(|(name, rest)| (name.to_owned(), rest.split(" | ").next().unwrap().to_owned()))
        .collect();
    let known = redgreen::config::agents::table().unwrap();
    assert_eq!(shown, known.iter().map(|(name, row)| (name.clone(), row.title.clone())).collect());
}

#[test]
fn the_tables_of_models_are_the_programs() {
    let page = page("models.md");
    let (providers, prices_shown) = page.split_once("## Cost").unwrap();
    let rows = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect()
    };
    let quoted =
        |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ");
    let known = PROVIDERS.iter().map(|known| {
        let wire = serde_json::to_value(known.wire).unwrap();
        let other = known.base_variable.map(|name| format!("`{name}`")).unwrap_or_default();
        let cells = [
            quoted(&[known.name]),
            quoted(known.models),
            quoted(&[wire.as_str().unwrap()]),
            quoted(&[known.base]),
            other,
            quoted(known.keys),
        ];
        cells.iter().fold("|".to_owned(), |row, cell| {
            let space = if cell.is_empty() { "" } else { " " };
            format!("{row}{space}{cell} |")
        })
    });
    assert_eq!(rows(providers), known.collect::<Vec<_>>());
    let known = Prices::listed().iter().map(|(model, price)| {
        let cells = [Some(price.input), Some(price.output), price.cache_read, price.cache_write];
        let cells = cells.map(|dollars| dollars.unwrap_or_default().to_string());
        format!("| `{model}` | {} |", cells.join(" | "))
    });
    assert_eq!(rows(prices_shown), known.collect::<Vec<_>>());
    assert!(
        prices_shown.contains(&format!("list of {}", Prices::listed().date)),
        "the date of the prices"
    );
}

#[test]
fn every_schema_of_the_documentation_is_printed_by_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(redgreen::ops::schema::schema(name), Some(text.as_str()), "{name}");
    }
}

/// The commands a reader may type: lines of shell blocks that start with `redgreen`.
fn commands(text: &str) -> Vec<String> {
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines =
        blocks.flat_map(str::lines).map(|line| line.split("  #").next().unwrap_or(line).trim());
    lines.filter(|line| line.starts_with("redgreen ")).map(str::to_owned).collect()
}

/// Finds commands and options in the pages that no longer exist.
#[test]
fn every_command_of_the_book_is_one_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md"), root.join("examples/README.md")];
    pages.extend(fs::read_dir(root.join("docs/book")).unwrap().map(|entry| entry.unwrap().path()));
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut helps: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut help =
        |verb: &str| helps.entry(verb.to_owned()).or_insert_with(|| help_of(verb)).clone();
    let mut seen = 0;
    for path in pages {
        for line in commands(&fs::read_to_string(&path).unwrap()) {
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            let options = words
                .iter()
                .take_while(|word| **word != "--")
                .filter(|word| word.starts_with("--"));
            let options: Vec<&str> =
                options.map(|word| word.split('=').next().unwrap_or(word)).collect();
            // Global options may come before the command, and some commands have subcommands.
            let mut verbs = words
                .iter()
                .skip_while(|word| word.starts_with('-'))
                .map(|word| word.trim_matches('"'));
            let (verb, inner) =
                (verbs.next().unwrap_or_default(), verbs.next().unwrap_or_default());
            let is_name = |word: &str| {
                !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase())
            };
            let inner = if is_name(inner) { help(&format!("{verb} {inner}")) } else { None };
            let known = inner
                .or_else(|| help(verb))
                .unwrap_or_else(|| panic!("{}: {line}", path.display()));
            for option in options {
                assert!(known.contains(option), "{}: {line}: there is no {option}", path.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 50, "only {seen} commands were found");
}

/// The help of a command, or `None` if there is no such command.
fn help_of(verb: &str) -> Option<String> {
    let help = Program::new(env!("CARGO_BIN_EXE_redgreen")).args(verb.split(' ')).arg("--help");
    let output = help.output(HELP_LIMITS, &Stop::default()).unwrap();
    output.success().then(|| output.stdout_text())
}

/// The threat model names a test for every row of its table.
#[test]
fn the_tests_that_the_threat_model_names_are_there() {
    let page = page("security.md");
    let (_, table) = page.split_once("## What each sandbox enforces").unwrap();
    let rows: Vec<&str> =
        table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| |")).collect();
    assert!(rows.len() > 9, "{rows:?}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let files = ["sandbox.rs", "egress.rs", "leaks.rs", "leaks/sending.rs", "story/agents.rs"];
    let files = files.map(|file| fs::read_to_string(folder.join(file)).unwrap());
    for row in rows {
        let proven = row.trim_end_matches('|').rsplit('|').next().unwrap();
        let named: Vec<&str> = proven.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "nothing proves: {row}");
        for test in named {
            assert!(
                files.iter().any(|file| file.contains(&format!("fn {test}("))),
                "there is no test {test}"
            );
        }
    }
}
