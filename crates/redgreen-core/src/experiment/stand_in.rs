//! Which modules the new tests use, those that do not exist yet included, each with a stand-in that does nothing.

use std::collections::BTreeMap;

use super::Material;
use crate::change::{Class, is_python_library};
use crate::syntax::{self, Import, Language, Project};

/// Modules that are replaced; a test that uses more is not about one feature.
const MODULES_MAX: usize = 40;

/// What a module that is required, and not written yet, will be like.
const EMPTY_COMMON_JS: &str = "module.exports = {};\n";

const IMPORTED: &str = "the new tests, with code that does nothing";
/// Nothing is imported; the tests may start the program instead.
pub(super) const EVERYTHING: &str = "the new tests, with a program that does nothing";

/// The text of each stand-in, by path, and what is replaced. Empty where none can be written.
pub(super) fn stand_ins(material: &Material<'_>, tests: &[String]) -> (Vec<(String, String)>, &'static str) {
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
                if paths.iter().any(|path| is_slip(path, &import, material)) {
                    paths.clear();
                }
            }
            for path in paths {
                if is_test(material, &path) {
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
        return (everything(material, tests), EVERYTHING);
    }
    let mut all = Vec::new();
    for (path, (names, required)) in used.into_iter().take(MODULES_MAX) {
        let existing = (material.now)(&path).or_else(|| required.then(|| EMPTY_COMMON_JS.to_owned()));
        let Some(text) = syntax::inert_stub(Language::of_path(&path), &path, &names, existing.as_deref()) else {
            // With one module left as it is, the others prove nothing.
            return (Vec::new(), IMPORTED);
        };
        all.push((path, text));
    }
    (all, IMPORTED)
}

/// Whether a script takes part in modules of today; then what it requires may be one of them, too.
fn has_import(source: &str) -> bool {
    source.lines().any(|line| line.starts_with("import ") || line.starts_with("export "))
}

/// All the code there is, where it is of the tests' own language; each says when it is loaded.
fn everything(material: &Material<'_>, tests: &[String]) -> Vec<(String, String)> {
    let languages: Vec<Language> = tests.iter().map(|path| Language::of_path(path)).collect();
    let code = material.paths.iter().filter(|path| !is_test(material, path) && !path.ends_with("__init__.py"));
    let mut all = Vec::new();
    for path in code.filter(|path| Language::of_path(path) == Language::Python).take(MODULES_MAX) {
        let Some(existing) = (material.now)(path).filter(|_| languages.contains(&Language::Python)) else { continue };
        let text = syntax::inert_stub(Language::Python, path, &[], Some(&existing)).unwrap_or_default();
        all.push((path.clone(), format!("{text}\n_record(\"loaded\")\n")));
    }
    all
}

/// Whether a test file imports anything of the project, or may get at it in another way.
pub(super) fn reaches(material: &Material<'_>, file: &str) -> bool {
    const WAYS: [&str; 19] = [
        "read_text",
        "read_bytes",
        "subprocess",
        "Popen",
        "os.system",
        "runpy",
        "import_module",
        "__import__",
        "open(",
        "child_process",
        "spawn",
        "exec",
        "fetch(",
        "import(",
        "include!",
        "readFile",
        "Worker(",
        "Command",
        "CARGO_BIN_EXE",
    ];
    let project = Project { paths: material.paths, packages: material.packages };
    let source = (material.now)(file).unwrap_or_default();
    let language = Language::of_path(file);
    let own = |import: &Import| {
        !syntax::resolve(language, file, import, project).is_empty()
            || !planned(language, file, import, material).is_empty()
    };
    let crates = material.packages.iter().map(|package| format!("{}::", package.name.replace('-', "_")));
    WAYS.iter().any(|way| source.contains(way))
        || crates.into_iter().any(|name| source.contains(&name))
        || syntax::imports(language, &source).iter().any(own)
}

/// Whether a test file starts the project as a program: `python -m shop`, or a file of it.
pub(super) fn starts(material: &Material<'_>, file: &str) -> bool {
    const STARTERS: [&str; 5] = ["subprocess", "Popen", "os.system", "runpy", "pexpect"];
    let source = (material.now)(file).unwrap_or_default();
    let values = syntax::written_values(Language::of_path(file), &source);
    let words: Vec<&str> = values.iter().map(|value| value.trim_matches(['"', '\'', 'f', 'r'])).collect();
    let is_own = |word: &str| {
        let first = word.split(['.', '/']).next().unwrap_or_default();
        !first.is_empty() && is_part(first, material) && !is_python_library(first)
    };
    let as_module = words.windows(2).any(|pair| matches!(pair, ["-m", module] if is_own(module)));
    let as_file = words.iter().any(|word| material.paths.iter().any(|path| path == word));
    STARTERS.iter().any(|starter| source.contains(starter)) && (as_module || as_file)
}

pub(super) fn is_test(material: &Material<'_>, path: &str) -> bool {
    let changed = material.change.paths.iter().find(|changed| changed.path == path);
    let named = ["test", "tests", "spec", "__tests__"];
    let name = path.rsplit('/').next().unwrap_or(path);
    changed.is_some_and(|changed| matches!(changed.class, Class::Test | Class::MoreTests))
        || path.split('/').any(|part| named.contains(&part))
        || name.starts_with("test_")
        || name == "conftest.py"
}

/// Where a module will be that is not there yet; nothing for what cannot be a part of the project.
pub(super) fn planned(language: Language, from: &str, import: &Import, material: &Material<'_>) -> Vec<String> {
    match language {
        Language::Python => python(from, import, material),
        Language::JavaScript | Language::TypeScript | Language::Tsx => script(from, import),
        Language::Rust | Language::Go | Language::Java | Language::Other => Vec::new(),
    }
}

fn python(from: &str, import: &Import, material: &Material<'_>) -> Vec<String> {
    let is_folder = |folder: &str| {
        material.paths.iter().any(|path| path.starts_with(folder) && path.as_bytes().get(folder.len()) == Some(&b'/'))
    };
    let dots = import.module.chars().take_while(|letter| *letter == '.').count();
    let below = import.module.trim_start_matches('.').replace('.', "/");
    let beside = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let join = |folder: &str, name: &str| match (folder.is_empty(), name.is_empty()) {
        (true, _) => name.to_owned(),
        (false, true) => folder.to_owned(),
        (false, false) => format!("{folder}/{name}"),
    };
    if dots > 0 {
        let above = (1..dots).fold(beside, |folder, _| folder.rsplit_once('/').map_or("", |(above, _)| above));
        return vec![join(above, &format!("{below}.py"))];
    }
    let first = below.split('/').next().unwrap_or_default();
    if is_python_library(first) {
        return Vec::new();
    }
    // The nearest first: a repository may hold several projects.
    let above = std::iter::successors(Some(beside), |folder| {
        (!folder.is_empty()).then(|| folder.rsplit_once('/').map_or("", |(above, _)| above))
    });
    let roots: Vec<String> = above.flat_map(|folder| ["", "src", "lib"].map(|source| join(folder, source))).collect();
    let home = roots.iter().find(|root| is_folder(&join(root, first)));
    if let (Some(home), true) = (home, below.contains('/')) {
        return vec![join(home, &format!("{below}.py"))];
    }
    if !is_expected(first, from, material) {
        return Vec::new();
    }
    let places = roots.iter().filter(|root| root.is_empty() || is_folder(root));
    places.map(|root| join(root, &format!("{below}.py"))).collect()
}

/// Whether the path is that of a module that is there, but for one letter, and all that is asked of it is there: nobody
/// means to write it.
fn is_slip(path: &str, import: &Import, material: &Material<'_>) -> bool {
    let asked: Vec<&String> = import.names.iter().filter(|name| !matches!(name.as_str(), "*" | "default")).collect();
    let spoken = |word: &str| syntax::mentions(material.brief, word);
    let fresh =
        path.split(['/', '.']).filter(|part| part.len() > 2).all(|part| !spoken(part) || is_part(part, material));
    let has_all = |twin: &&String| {
        let source = (material.now)(twin).unwrap_or_default();
        asked.iter().all(|name| syntax::mentions(&source, name))
    };
    let twins = material.paths.iter().filter(|known| is_near(known, path) && !is_test(material, known));
    fresh && !asked.is_empty() && twins.into_iter().find(has_all).is_some()
}

/// Whether a folder or a module of the project has that name.
fn is_part(name: &str, material: &Material<'_>) -> bool {
    material.paths.iter().any(|path| path.split(['/', '.']).any(|part| part == name))
}

/// Whether one letter more, less, another or in another place makes one the other.
pub(super) fn is_near(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let rest = |text: &[char], skipped: usize| text.iter().skip(same + skipped).copied().collect::<Vec<char>>();
    let swapped = || {
        let (mut head, mut tail) = (rest(&one, 0), rest(&other, 0));
        tail.truncate(2);
        head.truncate(2);
        tail.reverse();
        head == tail && rest(&one, 2) == rest(&other, 2)
    };
    one != other
        && (rest(&one, 1) == rest(&other, 1)
            || rest(&one, 0) == rest(&other, 1)
            || rest(&one, 1) == rest(&other, 0)
            || swapped())
}

/// A new module of the project and not a package nobody has: the brief, the name of the test file or of the project
/// speaks of it.
pub(super) fn is_expected(module: &str, from: &str, material: &Material<'_>) -> bool {
    let words = |text: &str| -> Vec<String> {
        let parts = text.split(|letter: char| !letter.is_alphanumeric());
        parts.filter(|part| part.len() > 2).map(str::to_lowercase).collect()
    };
    let known: Vec<String> = [words(material.brief), words(from)].concat();
    let own = material.packages.iter().any(|package| package.name.replace('-', "_") == module);
    let spoken =
        |part: &String| known.iter().any(|word| word.starts_with(part.as_str()) || part.starts_with(word.as_str()));
    own || words(module).iter().any(spoken)
}

fn script(from: &str, import: &Import) -> Vec<String> {
    if !import.module.starts_with('.') {
        return Vec::new();
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in import.module.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    let path = parts.join("/");
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
