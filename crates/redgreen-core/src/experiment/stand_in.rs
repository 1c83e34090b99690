//! The modules that the new tests use, including those that do not exist yet, each with a stub that
//! does nothing.

use std::collections::BTreeMap;

use super::Material;
use crate::change::{is_python_library, is_settings};
use crate::framework::FRAMEWORKS;
use crate::path::{folder, join, normal};
use crate::report::LoadError;
use crate::syntax::{self, Import, Language, Project};

/// The maximum number of modules to replace. A test that uses more is not about one feature.
const MODULES_MAX: usize = 40;

/// The maximum number of data files to watch.
const DATA_MAX: usize = 200;

/// A module that is required and not written yet.
const EMPTY_COMMON_JS: &str = "module.exports = {};\n";

const IMPORTED: &str = "the new tests, with code that does nothing";
/// The tests import nothing, so they may start the program instead.
pub(super) const EVERYTHING: &str = "the new tests, with a program that does nothing";

/// The text of each stub, by path, and a description. Empty if a stub cannot be written.
pub(super) fn stand_ins(
    material: &Material<'_>,
    tests: &[String],
) -> (Vec<(String, String)>, &'static str) {
    let project = Project { paths: material.paths, packages: material.packages };
    let mut waiting: Vec<String> = tests.to_vec();
    let mut read: Vec<String> = Vec::new();
    let mut used: BTreeMap<String, (Vec<String>, bool)> = BTreeMap::new();
    while let Some(file) = waiting.pop() {
        if read.contains(&file) || read.len() > MODULES_MAX {
            continue;
        }
        let source = (material.now)(&file).unwrap_or_default();
        let language = Language::of_path(&file);
        let requires = language.is_script() && source.contains("require(") && !has_import(&source);
        for import in syntax::imports(language, &source) {
            let mut paths = syntax::resolve(language, &file, &import, project);
            if paths.is_empty() {
                paths = planned(language, &file, &import, material);
            }
            for path in paths {
                if material.is_test(&path) {
                    waiting.push(path);
                } else {
                    let (names, required) = used.entry(path).or_default();
                    names.extend(import.names.iter().cloned());
                    *required |= requires;
                }
            }
        }
        read.push(file);
    }
    if used.is_empty() {
        return (with_helpers(everything(material, tests)), EVERYTHING);
    }
    let mut all = Vec::new();
    for (path, (names, required)) in used.into_iter().take(MODULES_MAX) {
        let existing =
            (material.now)(&path).or_else(|| required.then(|| EMPTY_COMMON_JS.to_owned()));
        let Some(text) =
            syntax::inert_stub(Language::of_path(&path), &path, &names, existing.as_deref())
        else {
            // If one module is unchanged, the other stubs prove nothing.
            return (Vec::new(), IMPORTED);
        };
        all.push((path, text));
    }
    (with_helpers(all), IMPORTED)
}

pub(super) fn with_helpers(mut all: Vec<(String, String)>) -> Vec<(String, String)> {
    let helpers: BTreeMap<String, String> =
        all.iter().filter_map(|(path, text)| syntax::inert_helper(path, text)).collect();
    all.extend(helpers);
    all
}

/// Whether a script uses ES modules. Then the modules it requires may be ES modules too.
fn has_import(source: &str) -> bool {
    source.lines().any(|line| line.starts_with("import ") || line.starts_with("export "))
}

/// All code in the languages of the tests. Each Python and JavaScript file reports when it is
/// loaded, because a program that the tests start is not called by name.
fn everything(material: &Material<'_>, tests: &[String]) -> Vec<(String, String)> {
    let families: Vec<Language> = tests.iter().map(|path| family(path)).collect();
    let is_code = |path: &&String| {
        let family = family(path);
        family != Language::Other
            && families.contains(&family)
            && !material.is_test(path)
            && !is_settings(path)
    };
    let code = material.paths.iter().filter(is_code).take(MODULES_MAX);
    let there = code.filter_map(|path| {
        Some((path.clone(), syntax::inert_program(path, &(material.now)(path)?)?))
    });
    let programs = tests.iter().flat_map(|test| programs(material, test));
    there
        .chain(programs.filter_map(|path| Some((path.clone(), syntax::inert_program(&path, "")?))))
        .collect()
}

/// Programs that a test refers to by path and that do not exist yet.
fn programs(material: &Material<'_>, test: &str) -> Vec<String> {
    let source = (material.now)(test).unwrap_or_default();
    let values = syntax::written_values(Language::of_path(test), &source);
    let named = values.iter().map(|value| value.trim_matches(['"', '\'', '`']));
    let is_program = |path: &&str| {
        family(path) == family(test)
            && matches!(family(test), Language::Python | Language::JavaScript)
    };
    let places = named.filter(is_program).flat_map(|path| {
        let import = Import { module: path.to_owned(), names: Vec::new(), relative: true, line: 0 };
        if path.starts_with('.') { script(test, &import) } else { vec![path.to_owned()] }
    });
    places
        .filter(|path| {
            !path.starts_with('/') && !path.contains("..") && !material.paths.contains(path)
        })
        .collect()
}

/// Files that are neither code nor tests, including those of the experiment.
pub(super) fn data(material: &Material<'_>, laid: &[(String, String)]) -> Vec<String> {
    let all = material.paths.iter().chain(laid.iter().map(|(path, _)| path));
    let is_data =
        |path: &&String| Language::of_path(path) == Language::Other && !material.is_test(path);
    all.filter(is_data).filter(|path| !is_settings(path)).take(DATA_MAX).cloned().collect()
}

/// Languages that can use each other's code count as one.
pub(super) fn family(path: &str) -> Language {
    let language = Language::of_path(path);
    if language.is_script() { Language::JavaScript } else { language }
}

/// The path of a module that does not exist yet. `None` if it cannot be part of the project.
pub(super) fn planned(
    language: Language,
    from: &str,
    import: &Import,
    material: &Material<'_>,
) -> Vec<String> {
    match language {
        Language::Python => python(from, import, material),
        Language::JavaScript | Language::TypeScript | Language::Tsx => script(from, import),
        Language::Rust | Language::Go | Language::Java | Language::Other => Vec::new(),
    }
}

fn python(from: &str, import: &Import, material: &Material<'_>) -> Vec<String> {
    let is_folder = |folder: &str| {
        material.paths.iter().any(|path| {
            path.starts_with(folder) && path.as_bytes().get(folder.len()) == Some(&b'/')
        })
    };
    let dots = import.module.chars().take_while(|letter| *letter == '.').count();
    let below = import.module.trim_start_matches('.').replace('.', "/");
    let beside = folder(from);
    if dots > 0 {
        let above = (1..dots).fold(beside, |below, _| folder(below));
        return vec![join(above, &format!("{below}.py"))];
    }
    let first = below.split('/').next().unwrap_or_default();
    if is_python_library(first) || FRAMEWORKS.iter().any(|framework| framework.name == first) {
        return Vec::new();
    }
    // The nearest first, because a repository may contain several projects.
    let above =
        std::iter::successors(Some(beside), |below| (!below.is_empty()).then(|| folder(below)));
    let roots: Vec<String> =
        above.flat_map(|folder| ["", "src", "lib"].map(|source| join(folder, source))).collect();
    let home = roots.iter().find(|root| is_folder(&join(root, first)));
    if let (Some(home), true) = (home, below.contains('/')) {
        return vec![join(home, &format!("{below}.py"))];
    }
    if !may_begin(first, import, &roots, material) {
        return Vec::new();
    }
    let places = roots.iter().filter(|root| root.is_empty() || is_folder(root));
    places.map(|root| join(root, &format!("{below}.py"))).collect()
}

/// Whether a module outside of all packages can belong to the project: a manifest names it; or it
/// is missing in the run, and the brief names it or the project keeps its modules side by side.
fn may_begin(module: &str, import: &Import, roots: &[String], material: &Material<'_>) -> bool {
    let is_package = |path: &String| {
        let above = path.strip_suffix("/__init__.py").map(folder);
        above.is_some_and(|above| roots.iter().any(|root| root == above)) && !material.is_test(path)
    };
    let own = material.packages.iter().any(|package| package.name.replace('-', "_") == module);
    let flat = || !import.names.is_empty() && !material.paths.iter().any(is_package);
    own || is_missed(module, import, material)
        && (syntax::mentions(material.brief, module) || flat())
}

/// Whether the run reports the module as missing, or ended before it could.
fn is_missed(module: &str, import: &Import, material: &Material<'_>) -> bool {
    let named = format!("No module named '{module}");
    let in_tests = material
        .after
        .tests
        .iter()
        .filter_map(|test| test.message.as_deref())
        .any(|said| said.contains(&named));
    let before = |error: &LoadError| error.line.is_some_and(|line| line < import.line);
    in_tests
        || material
            .after
            .load_errors
            .iter()
            .any(|error| error.message.contains(&named) || before(error))
}

fn script(from: &str, import: &Import) -> Vec<String> {
    if !import.module.starts_with('.') {
        return Vec::new();
    }
    let path = normal(&join(folder(from), &import.module));
    let ending = from.rsplit_once('.').map_or("js", |(_, ending)| ending);
    let named = [".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".mts", ".cts", ".json"];
    let has_ending = named.iter().any(|end| path.ends_with(end));
    // TypeScript writes `./a.js` and means `./a.ts`.
    match (has_ending, ending.starts_with("ts"), path.strip_suffix(".js")) {
        (true, true, Some(stem)) => vec![format!("{stem}.ts")],
        (true, ..) => vec![path],
        (false, ..) => vec![format!("{path}.{ending}")],
    }
}
