//! RED: declares missing functions from the calls in the tests, so that tests of compiled languages
//! can run. Types, constants and methods cannot be declared this way. Then the tests do not build,
//! and there is no conclusion.

use std::collections::BTreeMap;

use super::Material;
use crate::change::is_test_program;
use crate::report::LoadErrorKind;
use crate::syntax::{self, Language, Project};

/// The stubs, with declarations of missing functions.
pub(super) fn declared(
    material: &Material<'_>,
    tests: &[String],
    edits: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let mut edits: BTreeMap<String, String> = edits.into_iter().collect();
    go(material, tests, &mut edits);
    rust(material, tests, &mut edits);
    edits.into_iter().collect()
}

fn sources(material: &Material<'_>, tests: &[String]) -> Vec<String> {
    tests.iter().filter_map(|path| (material.now)(path)).collect()
}

/// `undefined: Title` is a function in the package of the test, `undefined: slug.Title` one in an
/// imported package.
fn go(material: &Material<'_>, tests: &[String], edits: &mut BTreeMap<String, String>) {
    let project = Project { paths: material.paths, packages: material.packages };
    let mut done: Vec<(String, String)> = Vec::new();
    for error in &material.after.load_errors {
        let (Some(file), Some(missing)) =
            (error.file.as_deref(), error.message.strip_prefix("undefined: "))
        else {
            continue;
        };
        let Some(source) = (material.now)(file).filter(|_| tests.iter().any(|test| test == file))
        else {
            continue;
        };
        let (package, name) = missing.trim().split_once('.').unwrap_or(("", missing.trim()));
        let imports = syntax::imports(Language::Go, &source);
        let import = imports.iter().find(|import| match package {
            "" => import.relative,
            package => import.module.rsplit('/').next() == Some(package),
        });
        let home = import.and_then(|import| {
            syntax::resolve(Language::Go, file, import, project).into_iter().next()
        });
        let near = home.map_or_else(
            || (file.to_owned(), source),
            |home| {
                let text = (material.now)(&home).unwrap_or_default();
                (home, text)
            },
        );
        let Some((helper, text)) = syntax::inert_helper(&near.0, &near.1) else { continue };
        let known = (helper.clone(), name.to_owned());
        if done.contains(&known) {
            continue;
        }
        if let Some(function) =
            syntax::inert_function(Language::Go, name, &sources(material, tests))
        {
            edits.entry(helper).or_insert(text).push_str(&function);
            done.push(known);
        }
    }
}

fn rust(material: &Material<'_>, tests: &[String], edits: &mut BTreeMap<String, String>) {
    let mut missing: Vec<(String, Vec<String>, String)> = Vec::new();
    for test in tests.iter().filter(|test| test.ends_with(".rs")) {
        missing.extend(if is_test_program(test) {
            imported(material, test)
        } else {
            in_scope(material, test)
        });
    }
    missing.sort();
    missing.dedup();
    for (path, modules, name) in missing {
        let Some(function) =
            syntax::inert_function(Language::Rust, &name, &sources(material, tests))
        else {
            continue;
        };
        let Some(text) = edits.get(&path).cloned().or_else(|| (material.now)(&path)) else {
            continue;
        };
        let (open, close): (String, String) = (
            modules.iter().map(|module| format!("pub mod {module} {{ ")).collect(),
            "}".repeat(modules.len()),
        );
        edits.insert(path.clone(), format!("{text}\n{open}{function}{close}\n"));
        let folder = path.rfind("src/").and_then(|at| path.get(..at + 4)).unwrap_or_default();
        let root = ["lib.rs", "main.rs"]
            .map(|name| format!("{folder}{name}"))
            .into_iter()
            .find(|root| material.paths.contains(root));
        let Some(root) = root else { continue };
        let Some(text) = edits.get(&root).cloned().or_else(|| (material.now)(&root)) else {
            continue;
        };
        if !text.contains("mod redgreen_inert") {
            edits.insert(root, format!("{text}\n{}", syntax::inert_module()));
        }
    }
}

/// Missing imports of a program in `tests` from the project's crates: the nearest file, the missing
/// modules on the way, and the name.
fn imported(material: &Material<'_>, test: &str) -> Vec<(String, Vec<String>, String)> {
    let project = Project { paths: material.paths, packages: material.packages };
    let source = (material.now)(test).unwrap_or_default();
    let mut missing = Vec::new();
    for import in syntax::imports(Language::Rust, &source) {
        let Some(home) = syntax::resolve(Language::Rust, test, &import, project).into_iter().next()
        else {
            continue;
        };
        let text = (material.now)(&home).unwrap_or_default();
        let stem = home.trim_end_matches(".rs").trim_end_matches("/mod");
        let mut modules: Vec<String> =
            import.module.split("::").skip(1).map(str::to_owned).collect();
        let at =
            modules.iter().rposition(|module| stem.rsplit('/').next() == Some(module.as_str()));
        modules.drain(..at.map_or(0, |at| at + 1));
        let names =
            import.names.iter().filter(|name| *name != "*" && !syntax::mentions(&text, name));
        missing.extend(names.map(|name| (home.clone(), modules.clone(), name.clone())));
    }
    missing
}

/// Missing functions that tests next to the code call: `cannot find function `f` in this scope`.
fn in_scope(material: &Material<'_>, test: &str) -> Vec<(String, Vec<String>, String)> {
    let errors = material.after.load_errors.iter().filter(|error| {
        error.kind == LoadErrorKind::MissingSymbol
            && error.file.as_deref() == Some(test)
            && error.message.starts_with("cannot find function `")
    });
    let names = errors.filter_map(|error| error.message.split('`').nth(1));
    names.map(|name| (test.to_owned(), Vec::new(), name.to_owned())).collect()
}
