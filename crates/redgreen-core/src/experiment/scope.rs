//! REFACTOR only changes structure: a new public name that nothing uses is an unrequested feature.

use super::Material;
use crate::change::{Class, Kind};
use crate::syntax::{self, ItemKind, Language};
use crate::verdict::{Code, Reason};

/// The maximum number of files to search. In a larger project, a new name counts as used.
const FILES_MAX: usize = 2000;

/// New public functions and types that appear only in their own definition.
pub fn new_features(material: &Material<'_>) -> Vec<Reason> {
    let code = |path: &str| !material.is_test(path);
    let changed = material.change.paths.iter().filter(|changed| {
        matches!(changed.class, Class::Implementation | Class::Mixed) && code(&changed.path)
    });
    let (mut old, mut new): (Vec<String>, Vec<(String, String)>) = (Vec::new(), Vec::new());
    for changed in changed {
        let before = (material.before)(&changed.path).unwrap_or_default();
        old.extend(public(&changed.path, &before));
        if changed.kind != Kind::Deleted {
            let now = (material.now)(&changed.path).unwrap_or_default();
            new.extend(
                public(&changed.path, &now).into_iter().map(|name| (changed.path.clone(), name)),
            );
        }
    }
    // Some of the new names may be renamed old ones.
    let gone = old.iter().filter(|name| !new.iter().any(|(_, kept)| kept == *name)).count();
    let fresh: Vec<&(String, String)> =
        new.iter().filter(|(_, name)| !old.contains(name)).collect();
    if fresh.len() <= gone || material.paths.len() > FILES_MAX {
        return Vec::new();
    }
    let unused = fresh.into_iter().filter(|(_, name)| uses(material, name) < 2);
    unused
        .map(|(path, name)| {
            let sentence = format!("`{name}` in {path} is new, and nothing uses it");
            Reason::new(Code::RefactorNewFeature, sentence).place(Some(path), None)
        })
        .collect()
}

/// Top-level public functions and types.
fn public(path: &str, source: &str) -> Vec<String> {
    let language = Language::of_path(path);
    let items = syntax::items(language, path, source);
    let outermost = |name: &str| {
        let own = |item: &&syntax::Item| item.name == name && !item.in_tests;
        items
            .iter()
            .find(own)
            .is_some_and(|item| matches!(item.kind, ItemKind::Function | ItemKind::Class))
    };
    let names = syntax::names(language, path, source).into_iter().filter(|name| !name.private);
    names
        .map(|name| name.name)
        .filter(|name| !name.starts_with('_') && name != "main" && outermost(name))
        .collect()
}

/// How often the name appears, including its definition. Stops counting at two.
fn uses(material: &Material<'_>, name: &str) -> usize {
    let mut found = 0;
    for path in material.paths {
        let Some(source) = (material.now)(path).filter(|source| source.contains(name)) else {
            continue;
        };
        found += syntax::uses(Language::of_path(path), &source, name);
        if found > 1 {
            break;
        }
    }
    found
}
