//! REFACTOR: is everything that others can use still there, with the value it had? And do the tests still hold the data
//! they had?
//!
//! Facts of the two trees, needed where no test looks: a public function that nothing tests, a constant that nothing
//! compares, a tolerance, a row of a table. Only what is certain is refused. A name that moved to another file, or that
//! the reworked tests speak of, is left to the experiments.

use std::collections::BTreeSet;

use super::Material;
use crate::change::{ChangedPath, Class};
use crate::path::folder;
use crate::syntax::{self, Given, Language};
use crate::verdict::{Code, Reason};

/// Public names that are gone, constants with another value, and test data that is gone.
pub fn changed_surface(material: &Material<'_>) -> Vec<Reason> {
    let mut reasons = removed(material);
    reasons.extend(material.change.paths.iter().flat_map(|changed| other_values(material, changed)));
    reasons.extend(material.change.paths.iter().flat_map(|changed| lost_rows(material, changed)));
    reasons
}

fn removed(material: &Material<'_>) -> Vec<Reason> {
    let code = || material.change.paths.iter().filter(|changed| is_code(changed));
    let tests = || material.change.paths.iter().filter(|changed| changed.class == Class::Test);
    // What is still spoken of anywhere in the changed code is defined elsewhere, or passed on.
    let mut present = BTreeSet::new();
    for changed in code() {
        let source = (material.now)(&changed.path).unwrap_or_default();
        present.extend(syntax::identifiers(Language::of_path(&changed.path), &source));
    }
    let mut reworked = BTreeSet::new();
    for changed in tests() {
        let source = (material.before)(&changed.path).unwrap_or_default();
        reworked.extend(syntax::identifiers(Language::of_path(&changed.path), &source));
    }
    let mut reasons = Vec::new();
    for changed in code() {
        let Some(old) = (material.before)(&changed.path) else { continue };
        let language = Language::of_path(&changed.path);
        for given in syntax::surface(language, &old).into_iter().filter(|given| given.public) {
            let gone = !present.contains(&given.name) && !reworked.contains(&given.name);
            if gone && is_offered(material, &changed.path, &given.name) {
                let sentence = format!(
                    "`{}` of {} is public and gone: callers outside the project would break",
                    given.name, changed.path
                );
                let reason = Reason::new(Code::RefactorPublicRemoved, sentence);
                reasons.push(reason.place(Some(&changed.path), Some(given.line)));
            }
        }
    }
    reasons
}

/// A constant with another value: one that others can use, or any of a test file.
fn other_values(material: &Material<'_>, changed: &ChangedPath) -> Vec<Reason> {
    let is_test = changed.class == Class::Test;
    let (Some(old), Some(new)) = ((material.before)(&changed.path), (material.now)(&changed.path)) else {
        return Vec::new();
    };
    if !is_test && !is_code(changed) {
        return Vec::new();
    }
    let language = Language::of_path(&changed.path);
    let constants = |source: &str| -> Vec<Given> {
        let mut all = syntax::surface(language, source);
        all.retain(|given| given.is_constant);
        all
    };
    let now = constants(&new);
    let mut reasons = Vec::new();
    for was in constants(&old) {
        let mut twins = now.iter().filter(|one| one.name == was.name);
        let (Some(is), None) = (twins.next(), twins.next()) else { continue };
        let differs = was.value.is_some() && is.value.is_some() && was.value != is.value;
        let counts = is_test || was.public && is_offered(material, &changed.path, &was.name);
        if differs && counts {
            let code = if is_test { Code::RefactorTestsWeakened } else { Code::RefactorBehaviour };
            let sentence = format!("`{}` of {} has another value than before", was.name, changed.path);
            reasons.push(Reason::new(code, sentence).place(Some(&changed.path), Some(is.line)));
        }
    }
    reasons
}

/// Rows of the tables that parametrised tests run with, which are in no test any more.
fn lost_rows(material: &Material<'_>, changed: &ChangedPath) -> Vec<Reason> {
    if changed.class != Class::Test {
        return Vec::new();
    }
    let language = Language::of_path(&changed.path);
    let (Some(old), Some(new)) = ((material.before)(&changed.path), (material.now)(&changed.path)) else {
        return Vec::new();
    };
    let mut kept = BTreeSet::new();
    for other in material.change.paths.iter().filter(|other| matches!(other.class, Class::Test | Class::MoreTests)) {
        let source = (material.now)(&other.path).unwrap_or_default();
        kept.extend(syntax::written_values(Language::of_path(&other.path), &source));
    }
    let changes = syntax::test_block_frozen(language, &changed.path, &old, &new);
    let fewer = changes.into_iter().filter_map(|change| match change {
        syntax::ItemChange::Weakened { old, how, .. } if how.contains(&syntax::Weakness::FewerRows) => Some(old),
        syntax::ItemChange::Weakened { .. }
        | syntax::ItemChange::Added(_)
        | syntax::ItemChange::Removed(_)
        | syntax::ItemChange::Renamed { .. }
        | syntax::ItemChange::Changed { .. } => None,
    });
    let lost = fewer.filter_map(|item| {
        let values = syntax::written_values(language, old.get(item.span.clone()).unwrap_or_default());
        let value = values.into_iter().find(|value| !kept.contains(value))?;
        let sentence = format!("{} of {} has lost rows: {value} is in no test any more", item.name, changed.path);
        Some(Reason::new(Code::RefactorTestsWeakened, sentence).place(Some(&changed.path), Some(item.lines.0)))
    });
    lost.collect()
}

fn is_code(changed: &ChangedPath) -> bool {
    matches!(changed.class, Class::Implementation | Class::Mixed)
}

/// Whether a name of that file can be used by others than the project, for certain.
fn is_offered(material: &Material<'_>, path: &str, name: &str) -> bool {
    let folder = folder(path);
    let has = |path: &str| material.paths.iter().any(|known| known == path);
    match Language::of_path(path) {
        // A module of a package, no part of whose name says that it is private.
        Language::Python => {
            let private = |part: &str| part.starts_with('_') && part != "__init__.py";
            has(&format!("{folder}/__init__.py")) && !path.split('/').any(private)
        }
        // The library itself, or a module that it makes public.
        Language::Rust => {
            let (root, module) = match path.rsplit_once("src/") {
                Some((root, inside)) => (root, inside.trim_end_matches(".rs").trim_end_matches("/mod")),
                None => return false,
            };
            let library = (material.before)(&format!("{root}src/lib.rs")).unwrap_or_default();
            module == "lib" || library.lines().any(|line| line.trim() == format!("pub mod {module};"))
        }
        Language::Go => {
            let source = (material.before)(path).unwrap_or_default();
            !source.lines().any(|line| line.trim() == "package main") && !path.split('/').any(|part| part == "internal")
        }
        // What the entry of the package gives, itself or from elsewhere.
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let is_entry = |path: &str| {
                let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
                file.starts_with("index.") && matches!(folder, "" | "src" | "lib")
            };
            let mut entries = material.paths.iter().filter(|known| is_entry(known));
            let gives = |entry: &String| {
                (material.before)(entry).is_some_and(|source| {
                    source.lines().any(|line| line.starts_with("export") && syntax::mentions(line, name))
                })
            };
            entries.any(gives)
        }
        Language::Java | Language::Other => false,
    }
}
