//! The tests of a range. The third tree has the code of the base and the tests of the head.
//! redgreen moves items instead of files, because some languages have tests next to the code.

use super::Policy;
use crate::change::{Change, ChangedPath, Class, Kind};
use crate::judge::reports::is_data;
use crate::syntax::{self, Language};

/// How a path of the base changes in the third tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// As in the head. It may be missing there.
    AsInHead,
    /// The code of the base with the tests of the head.
    Text(String),
}

/// A path that differs between the base and the third tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFiles {
    pub path: String,
    pub take: Take,
}

/// The text of a file.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The tests of a range. Files that the policy exempts are included: they are as in the head in
/// both trees.
pub fn tests_of(
    change: &Change,
    policy: &Policy,
    base: ReadFile<'_>,
    head: ReadFile<'_>,
) -> Vec<PartFiles> {
    let mut taken = Vec::new();
    for changed in &change.paths {
        let is_exempt = || policy.exemption(Some(&changed.path), None).is_some();
        let take = match changed.class {
            Class::Test | Class::MoreTests | Class::Snapshot => Some(Take::AsInHead),
            Class::RunnerConfig | Class::Manifest => is_exempt().then_some(Take::AsInHead),
            // It does nothing on its own, and tests may compare with it.
            Class::Implementation if changed.kind == Kind::Added && is_data(&changed.path) => {
                Some(Take::AsInHead)
            }
            Class::Implementation | Class::Mixed | Class::Stub => {
                inside(changed, base, head).map(Take::Text)
            }
            Class::Documentation | Class::TestList | Class::Submodule => None,
        };
        taken.extend(take.map(|take| PartFiles { path: changed.path.clone(), take }));
    }
    declare_modules(change, base, head, &mut taken);
    taken
}

/// The tests in a code file, on top of the code of the base.
fn inside(changed: &ChangedPath, base: ReadFile<'_>, head: ReadFile<'_>) -> Option<String> {
    let language = Language::of_path(&changed.path);
    if language == Language::Other || changed.kind == Kind::Deleted {
        return None;
    }
    let (old, new) = (base(&changed.path).unwrap_or_default(), head(&changed.path)?);
    syntax::tests_over(language, &changed.path, &new, &old).filter(|text| *text != old)
}

/// Rust reads a new file only if a module declares it. This also applies to its tests.
fn declare_modules(
    change: &Change,
    base: ReadFile<'_>,
    head: ReadFile<'_>,
    taken: &mut Vec<PartFiles>,
) {
    let is_new = |one: &&PartFiles| {
        let is_added =
            |changed: &ChangedPath| changed.path == one.path && changed.kind == Kind::Added;
        one.path.ends_with(".rs")
            && matches!(one.take, Take::Text(_))
            && change.paths.iter().any(is_added)
    };
    let new: Vec<String> = taken.iter().filter(is_new).map(|one| one.path.clone()).collect();
    if new.is_empty() {
        return;
    }
    let code =
        change.paths.iter().filter(|one| one.class == Class::Mixed && one.kind == Kind::Modified);
    for parent in code {
        let (Some(old), Some(now)) = (base(&parent.path), head(&parent.path)) else { continue };
        let known = syntax::modules(&old);
        let holds = |name: &str| new.iter().any(|path| is_module(&parent.path, name, path));
        let missing = syntax::modules(&now)
            .into_iter()
            .filter(|(name, _)| holds(name) && !known.iter().any(|(other, _)| other == name));
        let lines: String = missing.map(|(_, text)| format!("{text}\n")).collect();
        if lines.is_empty() {
            continue;
        }
        match taken.iter_mut().find(|one| one.path == parent.path) {
            Some(PartFiles { take: Take::Text(text), .. }) => text.push_str(&lines),
            Some(_) => {}
            None => taken.push(PartFiles {
                path: parent.path.clone(),
                take: Take::Text(format!("{old}{lines}")),
            }),
        }
    }
}

/// Whether `mod name;` in one file means the other.
fn is_module(parent: &str, name: &str, path: &str) -> bool {
    let (folder, file) = parent.rsplit_once('/').unwrap_or(("", parent));
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let below = match stem {
        "lib" | "main" | "mod" => folder.to_owned(),
        _ if folder.is_empty() => stem.to_owned(),
        _ => format!("{folder}/{stem}"),
    };
    let at = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
    path == format!("{at}.rs") || path == format!("{at}/mod.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, kind: Kind, class: Class) -> ChangedPath {
        ChangedPath { path: path.to_owned(), kind, class }
    }

    #[test]
    fn tests_are_taken_and_code_is_left() {
        let old = "pub fn add(a: u8, b: u8) -> u8 {\n    a\n}\n";
        let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(1, 2), 3);\n    }\n}\n";
        let new = format!("pub fn add(a: u8, b: u8) -> u8 {{\n    a + b\n}}\n\n{tests}");
        let change = Change {
            paths: vec![
                changed("tests/a.rs", Kind::Added, Class::Test),
                changed("src/lib.rs", Kind::Modified, Class::Mixed),
                changed("clippy.toml", Kind::Modified, Class::RunnerConfig),
                changed("data/table.json", Kind::Added, Class::Implementation),
                changed("data/old.json", Kind::Modified, Class::Implementation),
                changed("README.md", Kind::Modified, Class::Documentation),
            ],
        };
        let taken = tests_of(&change, &Policy::default(), &|_| Some(old.to_owned()), &|_| {
            Some(new.clone())
        });
        let paths: Vec<&str> = taken.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["tests/a.rs", "src/lib.rs", "data/table.json"]);
        let Take::Text(text) = &taken[1].take else { panic!("{taken:?}") };
        assert!(
            text.starts_with(old) && text.contains("fn adds()") && !text.contains("a + b"),
            "{text}"
        );
    }

    #[test]
    fn the_tests_of_a_new_module_are_declared_with_it() {
        let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {\n        assert_eq!(super::roman(1), \"I\");\n    }\n}\n";
        let module = format!("pub fn roman(n: u8) -> &'static str {{\n    \"I\"\n}}\n\n{tests}");
        let change = Change {
            paths: vec![
                changed("src/lib.rs", Kind::Modified, Class::Mixed),
                changed("src/roman.rs", Kind::Added, Class::Mixed),
            ],
        };
        let base = |path: &str| (path == "src/lib.rs").then(|| "pub mod other;\n".to_owned());
        let head = |path: &str| match path {
            "src/lib.rs" => Some("pub mod other;\npub mod roman;\n".to_owned()),
            _ => Some(module.clone()),
        };
        let taken = tests_of(&change, &Policy::default(), &base, &head);
        let text = |path: &str| match taken.iter().find(|one| one.path == path).map(|one| &one.take)
        {
            Some(Take::Text(text)) => text.clone(),
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(text("src/lib.rs"), "pub mod other;\npub mod roman;\n");
        assert!(
            text("src/roman.rs").contains("fn one()")
                && !text("src/roman.rs").contains("pub fn roman")
        );
    }

    #[test]
    fn tests_that_the_head_dropped_are_dropped() {
        let old = "pub fn f() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn holds() {}\n}\n";
        let change = Change { paths: vec![changed("src/lib.rs", Kind::Modified, Class::Mixed)] };
        let taken = tests_of(&change, &Policy::default(), &|_| Some(old.to_owned()), &|_| {
            Some("pub fn f() {}\n".to_owned())
        });
        let Take::Text(text) = &taken[0].take else { panic!("{taken:?}") };
        assert!(!text.contains("holds"), "{text}");
    }
}
