//! File names and the first lines of a test, by convention: existing files decide, then the usual
//! convention of the language. The model is not asked.

use std::collections::BTreeMap;

use super::Scene;
use super::example;
use crate::prompt;
use crate::syntax::{self, ItemKind, Language};

/// Maximum number of code files to search for a function.
const SEARCHED_MAX: usize = 50;
const VITEST: &str = "vitest";
pub(super) const NODE: &str = "node";
pub(super) const UNITTEST: &str = "unittest";

/// The language of the tests that a framework runs.
pub(super) fn language(framework: &str, files: &[String]) -> Language {
    match framework {
        "pytest" | UNITTEST => Language::Python,
        "cargo" | "nextest" => Language::Rust,
        "jest" | VITEST | NODE => {
            let typed = files
                .iter()
                .any(|path| path.ends_with(".ts") && !path.ends_with(".d.ts") && !is_setting(path));
            if typed || files.iter().any(|path| path.ends_with("tsconfig.json")) {
                Language::TypeScript
            } else {
                Language::JavaScript
            }
        }
        _ => Language::Other,
    }
}

/// The test file and the code file of a behaviour.
pub(super) fn files(scene: &Scene<'_>, behaviour: &str) -> (String, String) {
    let language = scene.language();
    let code = code_file(scene, language, behaviour);
    (test_file(scene, language, &code), code)
}

/// The function of a behaviour: the first that it calls, or that the request names with parameters.
pub(super) fn function(scene: &Scene<'_>, behaviour: &str) -> Option<String> {
    let called = example::written(behaviour).into_iter().next().map(|example| example.function);
    called
        .or_else(|| Some(example::signature(behaviour)?.0))
        .or_else(|| Some(example::signature(&scene.assignment.request)?.0))
}

/// The first lines of a test file for this function.
pub(super) fn header(
    scene: &Scene<'_>,
    test_file: &str,
    impl_file: &str,
    function: &str,
) -> Option<String> {
    let import = prompt::header(test_file, impl_file)?.replace('…', function);
    Some(match scene.language() {
        Language::Rust => {
            let name = (scene.look)("Cargo.toml")
                .and_then(|text| syntax::package_name("Cargo.toml", &text))?;
            import.replace("<crate>", &name.replace('-', "_"))
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => match scene.framework {
            VITEST => format!("import {{ expect, test }} from \"vitest\";\n{import}"),
            NODE => format!(
                "import test from \"node:test\";\nimport assert from \"node:assert\";\n{import}"
            ),
            _ => import,
        },
        Language::Python if scene.framework == UNITTEST => format!("import unittest\n\n{import}"),
        Language::Python | Language::Go | Language::Java | Language::Other => import,
    })
}

fn code_file(scene: &Scene<'_>, language: Language, behaviour: &str) -> String {
    let function = function(scene, behaviour);
    let code = code_files(scene, language);
    let named = [behaviour, &scene.assignment.request]
        .into_iter()
        .find_map(|text| named_file(text, language));
    let defined = || {
        let defines = |path: &&&String| {
            let text = (scene.look)(path).unwrap_or_default();
            syntax::items(language, path, &text)
                .iter()
                .any(|item| Some(&item.name) == function.as_ref())
        };
        code.iter().take(SEARCHED_MAX).find(defines).map(|path| (*path).clone())
    };
    let only = || if let [only] = code.as_slice() { Some((*only).clone()) } else { None };
    let library = || (language == Language::Rust).then(|| "src/lib.rs".to_owned());
    named.or_else(defined).or_else(library).or_else(only).unwrap_or_else(|| {
        let name = function.map_or_else(|| "code".to_owned(), |function| function.to_lowercase());
        format!("{}{name}.{}", common_folder(&code), ending(language))
    })
}

fn test_file(scene: &Scene<'_>, language: Language, code: &str) -> String {
    let (folder, name) = code.rsplit_once('/').map_or(("", code), |(folder, name)| (folder, name));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let own = match language {
        Language::Python => format!("test_{stem}.py"),
        Language::Rust if stem == "lib" || stem == "main" => "behaviour.rs".to_owned(),
        Language::Rust => format!("{stem}.rs"),
        Language::Go => format!("{stem}_test.go"),
        Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Java
        | Language::Other => {
            format!("{stem}.test.{}", ending(language))
        }
    };
    let tests: Vec<&String> = scene.files.iter().filter(|path| is_test(path, language)).collect();
    let same = tests.iter().find(|path| path.rsplit('/').next() == Some(own.as_str()));
    if let Some(same) = same {
        return (*same).clone();
    }
    let beside = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let folder = match language {
        Language::Rust => "tests/".to_owned(),
        Language::Go | Language::Java | Language::Other => beside,
        Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => {
            if tests.is_empty() { beside } else { common_folder(&tests) }
        }
    };
    format!("{folder}{own}")
}

/// Code that is neither a test nor configuration.
fn code_files<'a>(scene: &'a Scene<'_>, language: Language) -> Vec<&'a String> {
    let is_code = |path: &&String| {
        Language::of_path(path) == language && !is_test(path, language) && !is_setting(path)
    };
    scene.files.iter().filter(is_code).collect()
}

pub(super) fn is_test(path: &str, language: Language) -> bool {
    Language::of_path(path) == language && !is_setting(path) && crate::change::is_test(path)
}

/// Configuration files have fixed names.
fn is_setting(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "conftest.py" | "setup.py" | "__init__.py" | "__main__.py" | "build.rs")
        || name.contains(".config.")
}

/// A file of the language that a text names.
fn named_file(text: &str, language: Language) -> Option<String> {
    let words = text.split(|letter: char| {
        letter.is_whitespace() || matches!(letter, '`' | '"' | '\'' | ',' | ';' | '(' | ')')
    });
    let mut paths = words.map(|word| word.trim_end_matches(['.', ':', '?', '!']));
    let fits = |path: &&str| {
        let stem =
            path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
        Language::of_path(path) == language
            && !stem.is_empty()
            && !is_test(path, language)
            && !path.starts_with('/')
    };
    paths.find(fits).map(str::to_owned)
}

/// The folder with most of the files, with a slash; the first of several.
fn common_folder(files: &[&String]) -> String {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for path in files {
        *folders.entry(path.rsplit_once('/').map_or("", |(folder, _)| folder)).or_default() += 1;
    }
    let most =
        folders.iter().rev().max_by_key(|(_, count)| **count).map_or("", |(folder, _)| *folder);
    if most.is_empty() { String::new() } else { format!("{most}/") }
}

fn ending(language: Language) -> &'static str {
    match language {
        Language::Python => "py",
        Language::Rust => "rs",
        Language::Go => "go",
        Language::Java => "java",
        Language::JavaScript => "js",
        Language::TypeScript => "ts",
        Language::Tsx => "tsx",
        Language::Other => "txt",
    }
}

/// Whether an item is a function that can be called by this name.
pub(super) fn is_function(item: &syntax::Item, name: &str) -> bool {
    item.name == name && matches!(item.kind, ItemKind::Function | ItemKind::Class)
}
