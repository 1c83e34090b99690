//! REFACTOR: does everything public still exist, with the same value? Do the tests still contain
//! their data?
//!
//! These facts of the two trees matter where no test looks: an untested public function, a constant
//! that nothing compares, a tolerance, a row of a table. Only certain cases are refused. A name
//! that moved to another file, or that the changed tests mention, is left to the experiments.

use std::collections::BTreeSet;

use super::Material;
use crate::change::{ChangedPath, Class};
use crate::path::folder;
use crate::syntax::{self, Language, Promise, PromiseKind, TopLevelName};
use crate::verdict::{Code, Reason};

/// Removed public names, constants with another value, and removed test data.
pub fn changed_surface(material: &Material<'_>) -> Vec<Reason> {
    let known = KnownNames::of(material);
    let mut reasons = removed(material, &known);
    reasons.extend(broken_promises(material, &known));
    reasons
        .extend(material.change.paths.iter().flat_map(|changed| other_values(material, changed)));
    reasons.extend(material.change.paths.iter().flat_map(|changed| lost_rows(material, changed)));
    reasons
}

/// Names in the new version of the changed code, and in the old version of the changed tests.
struct KnownNames {
    present: BTreeSet<String>,
    reworked: BTreeSet<String>,
}

impl KnownNames {
    fn of(material: &Material<'_>) -> Self {
        let (mut present, mut reworked) = (BTreeSet::new(), BTreeSet::new());
        for changed in &material.change.paths {
            let language = Language::of_path(&changed.path);
            if is_code(changed) {
                present.extend(syntax::identifiers(
                    language,
                    &(material.now)(&changed.path).unwrap_or_default(),
                ));
            }
            if changed.class == Class::Test {
                reworked.extend(syntax::identifiers(
                    language,
                    &(material.before)(&changed.path).unwrap_or_default(),
                ));
            }
        }
        Self { present, reworked }
    }

    /// A name that still appears in the changed code is defined elsewhere, or re-exported.
    fn is_gone(&self, name: &str) -> bool {
        !self.present.contains(name) && !self.reworked.contains(name)
    }
}

fn removed(material: &Material<'_>, known: &KnownNames) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for changed in material.change.paths.iter().filter(|changed| is_code(changed)) {
        let Some(old) = (material.before)(&changed.path) else { continue };
        let language = Language::of_path(&changed.path);
        for given in syntax::surface(language, &old).into_iter().filter(|given| given.public) {
            if known.is_gone(&given.name) && is_offered(material, &changed.path, &given.name) {
                reasons.push(gone(&changed.path, &format!("`{}`", given.name), given.line));
            }
        }
    }
    reasons
}

fn gone(path: &str, what: &str, line: u32) -> Reason {
    let sentence = format!(
        "{what} in {path} is public and was removed: callers outside the project would break"
    );
    Reason::new(Code::RefactorPublicRemoved, sentence).place(Some(path), Some(line))
}

/// Removed public methods, parameters that callers name, and derived traits, of functions and types
/// that still exist, in the same file or in another changed one.
fn broken_promises(material: &Material<'_>, known: &KnownNames) -> Vec<Reason> {
    let code: Vec<(Language, String)> = material
        .change
        .paths
        .iter()
        .filter(|changed| is_code(changed))
        .filter_map(|changed| {
            Some((Language::of_path(&changed.path), (material.now)(&changed.path)?))
        })
        .collect();
    let now: Vec<Promise> =
        code.iter().flat_map(|(language, new)| syntax::promises(*language, new)).collect();
    let defined: BTreeSet<String> = code
        .iter()
        .flat_map(|(language, new)| syntax::surface(*language, new))
        .map(|given| given.name)
        .collect();
    let mut reasons = Vec::new();
    for changed in material.change.paths.iter().filter(|changed| is_code(changed)) {
        let Some(old) = (material.before)(&changed.path) else { continue };
        let new = (material.now)(&changed.path).unwrap_or_default();
        let language = Language::of_path(&changed.path);
        for promise in syntax::promises(language, &old) {
            let type_or_function = promise.owner.split('.').next().unwrap_or_default();
            let has = |kind: &PromiseKind| {
                now.iter().any(|one| one.owner == promise.owner && one.kind == *kind)
            };
            let exists = defined.contains(type_or_function)
                && promise.owner.split('.').all(|name| known.present.contains(name));
            if has(&promise.kind)
                || !exists
                || !is_offered(material, &changed.path, type_or_function)
            {
                continue;
            }
            let what = match &promise.kind {
                PromiseKind::Method(name)
                    if known.is_gone(name)
                        && !has_more_bases(language, type_or_function, &old, &new) =>
                {
                    format!("`{}.{name}`", promise.owner)
                }
                PromiseKind::Parameter(name)
                    if !has(&PromiseKind::Parameter("**".to_owned())) && name != "**" =>
                {
                    format!("the parameter `{name}` of `{}`", promise.owner)
                }
                PromiseKind::Derived(name)
                    if !code.iter().any(|(_, new)| is_implemented(new, name, &promise.owner)) =>
                {
                    format!("`{name}` for `{}`", promise.owner)
                }
                PromiseKind::Method(_) | PromiseKind::Parameter(_) | PromiseKind::Derived(_) => {
                    continue;
                }
            };
            reasons.push(gone(&changed.path, &what, promise.line));
        }
    }
    reasons
}

/// Whether a type has more base types than before. A method may come from there.
fn has_more_bases(language: Language, name: &str, old: &str, new: &str) -> bool {
    let head = |source: &str| {
        let is_head = |line: &&str| match language {
            Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => {
                line.contains("class ") && syntax::mentions(line, name)
            }
            Language::Rust | Language::Go | Language::Java | Language::Other => false,
        };
        source.lines().find(is_head).map(str::to_owned)
    };
    head(old) != head(new)
}

/// Rust: whether the trait is implemented by hand for the type.
fn is_implemented(source: &str, name: &str, owner: &str) -> bool {
    let mut heads = source.lines().filter(|line| line.contains("impl") && line.contains(" for "));
    heads.any(|line| syntax::mentions(line, name) && syntax::mentions(line, owner))
}

/// A constant with another value: a public one, or any in a test file.
fn other_values(material: &Material<'_>, changed: &ChangedPath) -> Vec<Reason> {
    let is_test = changed.class == Class::Test;
    let (Some(old), Some(new)) = ((material.before)(&changed.path), (material.now)(&changed.path))
    else {
        return Vec::new();
    };
    if !is_test && !is_code(changed) {
        return Vec::new();
    }
    let language = Language::of_path(&changed.path);
    let constants = |source: &str| -> Vec<TopLevelName> {
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
            let sentence = format!("the value of `{}` in {} changed", was.name, changed.path);
            reasons.push(Reason::new(code, sentence).place(Some(&changed.path), Some(is.line)));
        }
    }
    reasons
}

/// Rows of parametrised tests that no test contains any more.
fn lost_rows(material: &Material<'_>, changed: &ChangedPath) -> Vec<Reason> {
    if changed.class != Class::Test {
        return Vec::new();
    }
    let language = Language::of_path(&changed.path);
    let (Some(old), Some(new)) = ((material.before)(&changed.path), (material.now)(&changed.path))
    else {
        return Vec::new();
    };
    let mut kept = BTreeSet::new();
    for other in material
        .change
        .paths
        .iter()
        .filter(|other| matches!(other.class, Class::Test | Class::MoreTests))
    {
        let source = (material.now)(&other.path).unwrap_or_default();
        kept.extend(syntax::written_values(Language::of_path(&other.path), &source));
    }
    let changes = syntax::test_block_frozen(language, &changed.path, &old, &new);
    let fewer = changes.into_iter().filter_map(|change| match change {
        syntax::ItemChange::Weakened { old, how, .. }
            if how.contains(&syntax::Weakness::FewerRows) =>
        {
            Some(old)
        }
        syntax::ItemChange::Weakened { .. }
        | syntax::ItemChange::Added(_)
        | syntax::ItemChange::Removed(_)
        | syntax::ItemChange::Renamed { .. }
        | syntax::ItemChange::Changed { .. } => None,
    });
    let lost = fewer.filter_map(|item| {
        let values =
            syntax::written_values(language, old.get(item.span.clone()).unwrap_or_default());
        let value = values.into_iter().find(|value| !kept.contains(value))?;
        let sentence = format!(
            "{} in {} lost rows: no test contains {value} any more",
            item.name, changed.path
        );
        Some(
            Reason::new(Code::RefactorTestsWeakened, sentence)
                .place(Some(&changed.path), Some(item.lines.0)),
        )
    });
    lost.collect()
}

fn is_code(changed: &ChangedPath) -> bool {
    matches!(changed.class, Class::Implementation | Class::Mixed)
}

/// Whether a name in that file is certainly public to users of the project.
fn is_offered(material: &Material<'_>, path: &str, name: &str) -> bool {
    let folder = folder(path);
    let has = |path: &str| material.paths.iter().any(|known| known == path);
    match Language::of_path(path) {
        // A module of a package without a private part in its name.
        Language::Python => {
            let private = |part: &str| part.starts_with('_') && part != "__init__.py";
            has(&format!("{folder}/__init__.py")) && !path.split('/').any(private)
        }
        // The library itself, or one of its public modules.
        Language::Rust => {
            let (root, module) = match path.rsplit_once("src/") {
                Some((root, inside)) => {
                    (root, inside.trim_end_matches(".rs").trim_end_matches("/mod"))
                }
                None => return false,
            };
            let library = (material.before)(&format!("{root}src/lib.rs")).unwrap_or_default();
            module == "lib"
                || library.lines().any(|line| line.trim() == format!("pub mod {module};"))
        }
        Language::Go => {
            let source = (material.before)(path).unwrap_or_default();
            !source.lines().any(|line| line.trim() == "package main")
                && !path.split('/').any(|part| part == "internal")
        }
        // Exports and re-exports of the package entry.
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let is_entry = |path: &str| {
                let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
                file.starts_with("index.") && matches!(folder, "" | "src" | "lib")
            };
            let mut entries = material.paths.iter().filter(|known| is_entry(known));
            let gives = |entry: &String| {
                (material.before)(entry).is_some_and(|source| {
                    source
                        .lines()
                        .any(|line| line.starts_with("export") && syntax::mentions(line, name))
                })
            };
            entries.any(gives)
        }
        Language::Java | Language::Other => false,
    }
}
