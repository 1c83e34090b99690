//! The question for Rust: the bodies of tests, in a program that is built as users build the code. The same bodies, as tests
//! beside it, tell what a test would have seen.

use super::super::{Experiment, Material, Question, Tree, Way, is_external_test, is_target, target_files};
use crate::framework::invoke::Selection;
use crate::report::{Report, Status};
use crate::syntax::{self, Item, Language};

/// Bodies of one file that are tried; those after them say the same.
const BODIES_MAX: usize = 40;
const NAME: &str = "redgreen_bare";
/// What a body speaks of that may differ between a test and a program for good reason.
const SURROUNDINGS: &[&str] = &[
    "CARGO",
    "Command",
    "File",
    "Instant",
    "Path",
    "SystemTime",
    "await",
    "env",
    "fs::",
    "include",
    "insta",
    "macro_rules",
    "snapshot",
    "stdin",
    "temp",
    "test",
    "thread",
];

/// The tests of one file, as a program and as tests.
#[derive(Clone, Debug)]
pub struct Program {
    /// Of the package, from the root; empty for the root.
    pub folder: String,
    /// What the bodies need before them.
    head: String,
    bodies: Vec<Body>,
    /// The file that they are from.
    pub file: String,
}

#[derive(Clone, Debug)]
struct Body {
    test: String,
    /// `-> Result<…>`, or nothing.
    gives: String,
    /// With its brackets.
    text: String,
}

impl Program {
    /// What the program is called, in the folder of examples.
    pub const NAME: &str = NAME;

    /// The test with this number.
    pub fn test(&self, number: usize) -> &str {
        self.bodies.get(number).map_or("", |body| &body.test)
    }

    pub fn with_only(&self, number: usize) -> Self {
        Self { bodies: self.bodies.get(number).cloned().into_iter().collect(), ..self.clone() }
    }

    /// Builds the program, and runs the bodies as tests.
    pub fn experiment(&self, apart: Vec<String>) -> Experiment {
        let below = |folder: &str| match self.folder.as_str() {
            "" => format!("{folder}/{NAME}.rs"),
            package => format!("{package}/{folder}/{NAME}.rs"),
        };
        let calls = self.bodies.iter().enumerate().map(|(at, Body { gives, text, .. })| {
            let holds = if gives.is_empty() { "Ok(())" } else { "Ok(Ok(_))" };
            format!("    told({at}, matches!(std::panic::catch_unwind(|| {gives} {text}), {holds}));\n")
        });
        let program = format!(
            "{}\nfn main() {{\n    std::panic::set_hook(Box::new(|_| {{}}));\n    \
             let told = |at: usize, holds: bool| println!(\"\\n{NAME} {{at}} {{holds}}\");\n{}}}\n",
            self.head,
            calls.collect::<String>()
        );
        let tests = self
            .bodies
            .iter()
            .enumerate()
            .map(|(at, Body { gives, text, .. })| format!("#[test]\nfn {NAME}_{at}() {gives} {text}\n"));
        let tests = format!("{}\n{}", self.head, tests.collect::<String>());
        Experiment {
            question: Question::Calls,
            tree: Tree::Head,
            edits: vec![(below("examples"), program), (below("tests"), tests)],
            way: Way::Program { selection: Selection::Files(vec![below("tests")]), folder: self.folder.clone(), apart },
            removed: Vec::new(),
            time: 0,
            variables: Vec::new(),
            about: Vec::new(),
            what: "the bodies of tests, in a program".to_owned(),
            otherwise: None,
        }
    }

    /// The bodies that do not hold in the program, and hold in a test, by number. A test in a file of its own is the same
    /// test in another file.
    pub fn contradicted(&self, report: &Report, said: &str) -> Vec<usize> {
        let held = |at: &usize| {
            let own = report.tests.iter().find(|test| test.id.ends_with(&format!("{NAME}_{at}")));
            own.is_some_and(|test| test.status == Status::Passed || is_external_test(&self.file))
        };
        let fails = |at: &usize| said.lines().any(|line| line == format!("{NAME} {at} false"));
        (0..self.bodies.len()).filter(|at| held(at) && fails(at)).collect()
    }
}

/// One for each file with tests of RED whose bodies tell what they need.
pub fn programs(material: &Material<'_>) -> Vec<Program> {
    let rust = target_files(material).into_iter().filter(|file| file.ends_with(".rs"));
    rust.filter_map(|file| program(material, file)).filter(|program| !program.bodies.is_empty()).collect()
}

fn program(material: &Material<'_>, file: String) -> Option<Program> {
    let source = (material.now)(&file)?;
    let external = is_external_test(&file);
    let folder = file.split_once(if external { "tests/" } else { "src/" })?.0.trim_end_matches('/').to_owned();
    let below = |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    let library = (material.now)(&below("src/lib.rs"))?;
    let krate = crate_name(&(material.now)(&below("Cargo.toml"))?)?;
    let head = match external {
        true => with_modules(&source, material, &below("tests")),
        false => {
            let module =
                file.rsplit_once("src/")?.1.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
            let module = if module == "lib" { krate.clone() } else { format!("{krate}::{module}") };
            let open = module == krate || library.contains(&format!("pub mod {}", module.rsplit("::").next()?));
            let named = if open { format!("{module}::") } else { format!("{krate}::") };
            inside_of_tests(&source)?.replace("super::", &named).replace("crate::", &format!("{krate}::"))
        }
    };
    let items = syntax::items(Language::Rust, &file, &source);
    let own = items.iter().filter(|item| item.is_test && is_target(material, &file, &item.name));
    let bodies: Vec<Body> = own.filter_map(|item| body(&source, item)).take(BODIES_MAX).collect();
    Some(Program { folder, head, bodies, file })
}

/// That of a test that takes nothing and speaks of nothing around it.
fn body(source: &str, item: &Item) -> Option<Body> {
    let name = item.name.rsplit("::").next()?;
    let text = source.get(item.span.clone())?;
    let (before, rest) = text.split_once(&format!("fn {name}()"))?;
    let (gives, _) = rest.split_once('{')?;
    let text = rest.get(gives.len()..)?;
    let plain = item.markers.is_empty() && before.matches("#[").count() == 1 && before.contains("#[test]");
    let around = SURROUNDINGS.iter().any(|word| text.contains(word));
    let is_result = gives.trim().is_empty() || gives.contains("Result");
    (plain && is_result && !before.contains("async") && !around).then(|| Body {
        test: item.name.clone(),
        gives: gives.trim().to_owned(),
        text: text.to_owned(),
    })
}

/// Modules of tests are found from where the program is.
fn with_modules(source: &str, material: &Material<'_>, folder: &str) -> String {
    let lines = source.lines().map(|line| {
        let module = line.trim().strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
        let place = module.and_then(|name| {
            let known = [format!("{name}.rs"), format!("{name}/mod.rs")];
            known.into_iter().find(|path| material.paths.contains(&format!("{folder}/{path}")))
        });
        place.map_or_else(|| line.to_owned(), |place| format!("#[path = \"../tests/{place}\"] {line}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What stands between the brackets of `mod tests { … }`, at the end of a file.
fn inside_of_tests(source: &str) -> Option<&str> {
    let (_, rest) = source.split_once("mod tests {")?;
    rest.rsplit_once('}').map(|(inside, _)| inside)
}

/// As code names it.
fn crate_name(manifest: &str) -> Option<String> {
    let manifest: toml::Table = toml::from_str(manifest).ok()?;
    let named = |table: &str| manifest.get(table)?.get("name")?.as_str();
    named("lib").or_else(|| named("package")).map(|name| name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_speaks_of_its_surroundings_is_left_alone() {
        for (test, taken) in [
            ("#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n", Some("{\n    assert_eq!(add(1, 2), 3);\n}")),
            ("#[test]\nfn reads() {\n    assert_eq!(read(Path::new(\"a\")), 3);\n}\n", None),
            (
                "#[test]\nfn tries() -> Result<(), E> {\n    add(1)?;\n    Ok(())\n}\n",
                Some("{\n    add(1)?;\n    Ok(())\n}"),
            ),
            ("#[test]\n#[should_panic]\nfn panics() {\n    add(1, 2);\n}\n", None),
            ("#[tokio::test]\nasync fn waits() {\n    add(1, 2);\n}\n", None),
        ] {
            let items = syntax::items(Language::Rust, "tests/add.rs", test);
            let found = items.iter().find(|item| item.is_test).and_then(|item| body(test, item));
            assert_eq!(found.as_ref().map(|body| body.text.as_str()), taken, "{test}");
        }
    }

    #[test]
    fn a_library_is_named_as_its_manifest_says() {
        assert_eq!(crate_name("[package]\nname = \"word-kit\"\n").as_deref(), Some("word_kit"));
        assert_eq!(crate_name("[lib]\nname = \"kit\"\n[package]\nname = \"word-kit\"\n").as_deref(), Some("kit"));
        assert_eq!(crate_name("[workspace]\n"), None);
    }
}
