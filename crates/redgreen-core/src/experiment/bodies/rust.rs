//! Rust: a binary of the package. Tests in `tests/` use the library like any program. Tests next to
//! the code are built as part of the library's modules, so that they can use private items.

use regex::{Captures, Regex};

use super::{Body, BodyProgram, Build, Kind, MARK, NAME, Program, ROUNDS, items, targets};
use crate::change::is_test_program;
use crate::experiment::Material;
use crate::path::join;
use crate::syntax::Item;

/// Attributes of test functions that the compiler knows.
const BUILT_IN: &[&str] =
    &["test", "should_panic", "ignore", "allow", "expect", "cfg", "doc", "inline"];
/// Set by cargo or the test runner while tests run; and test files, which the program does not see.
const OF_THE_RUNNER: &[&str] = &["\"CARGO", "thread::current", "\"tests"];
/// Tests that start themselves would start the program again and again.
const ITSELF: &str = "current_exe";
/// Packages of a workspace that are built without debug assertions.
const PACKAGES_MAX: usize = 50;

pub(super) fn program(material: &Material<'_>, file: String) -> Option<Program> {
    let source = (material.now)(&file).filter(|source| !source.contains(ITSELF))?;
    let external = is_test_program(&file);
    let (folder, _) = match external {
        true => file.rsplit_once("tests/")?,
        false => file.split_once("src/")?,
    };
    let package = Package::of(material, material.now, folder)?;
    let library = (material.now)(&package.below("src/lib.rs"))?;
    let items = items(&file, &source);
    let own = targets(material, &file, &items);
    let own = own.into_iter().filter(|(item, _)| is_plain(&source, item));
    let text = as_code(&source, &items)?;
    let mut edits = vec![package.manifest.clone()];
    let (head, module) = if external {
        (with_modules(&text, material, &package.below("tests"))?, String::new())
    } else {
        let modules = modules_of(&file);
        let mut head = if modules.is_empty() { text.clone() } else { with_tests(&library)? };
        if !modules.is_empty() {
            for path in ways_in(material.now, &package.below("src"), &modules) {
                let text = (material.now)(&path).and_then(|text| with_tests(&text))?;
                edits.push((path, text));
            }
            edits.push((file.clone(), text));
        }
        head = lenient(&head);
        (head, modules.iter().map(|name| format!("{name}::")).collect())
    };
    let bodies =
        own.map(|(item, id)| Body { id, path: format!("crate::{module}{}", item.name) }).collect();
    let Package { folder, build, main, .. } = package;
    let kind = Kind::Built(Box::new(BodyProgram {
        root: folder.clone(),
        home: folder,
        build,
        edits,
        main,
        head,
        write,
    }));
    Some(Program { file, bodies, kind })
}

/// A cargo package with an additional binary.
pub(in crate::experiment) struct Package {
    pub(in crate::experiment) folder: String,
    /// Its manifest, with the binary.
    pub(in crate::experiment) manifest: (String, String),
    pub(in crate::experiment) build: Build,
    /// The file of the binary.
    pub(in crate::experiment) main: String,
}

impl Package {
    /// `None` if the folder has no manifest, or if the binary would lack something that cargo
    /// provides to tests.
    pub(in crate::experiment) fn of(
        material: &Material<'_>,
        read: &dyn Fn(&str) -> Option<String>,
        folder: &str,
    ) -> Option<Self> {
        let folder = folder.trim_end_matches('/').to_owned();
        let path = join(&folder, "Cargo.toml");
        let text = read(&path)?;
        let name = package_name(&text)?;
        let main = join(&folder, &format!("src/{NAME}.rs"));
        // Cargo sets the variables in `[env]` for tests, but not for programs that it does not
        // start.
        let given = [".cargo/config.toml", ".cargo/config"].iter().filter_map(|path| read(path));
        if material.paths.contains(&main) || given.into_iter().any(|text| text.contains("[env]")) {
            return None;
        }
        let mut packages: Vec<String> =
            material.packages.iter().map(|package| package.name.clone()).collect();
        packages.push(name);
        packages.sort_unstable();
        packages.dedup();
        packages.truncate(PACKAGES_MAX);
        let manifest =
            (path, format!("{text}\n[[bin]]\nname = \"{NAME}\"\npath = \"src/{NAME}.rs\"\n"));
        Some(Self { build: Build::Cargo { packages }, manifest, main, folder })
    }

    pub(in crate::experiment) fn below(&self, path: &str) -> String {
        join(&self.folder, path)
    }
}

/// The modules from the root of the crate to a file. Empty for the library itself.
pub(in crate::experiment) fn modules_of(file: &str) -> Vec<&str> {
    let inside = file.split_once("src/").map_or(file, |(_, inside)| inside);
    match inside.trim_end_matches(".rs").trim_end_matches("/mod") {
        "lib" => Vec::new(),
        path => path.split('/').collect(),
    }
}

/// A test without parameters that only uses the test attribute.
fn is_plain(source: &str, item: &Item) -> bool {
    let text = source.get(item.span.clone()).unwrap_or_default();
    let name = item.name.rsplit("::").next().unwrap_or_default();
    let Some((before, rest)) = text.split_once(&format!("fn {name}()")) else { return false };
    let gives = rest.split('{').next().unwrap_or_default();
    let attributes = attributes(before);
    let plain = attributes.iter().all(|name| BUILT_IN.contains(&name.as_str()))
        && attributes.iter().any(|name| name == "test")
        && !attributes
            .iter()
            .any(|name| matches!(name.as_str(), "should_panic" | "ignore" | "cfg"));
    let result = gives.trim().is_empty() || gives.contains("Result");
    plain
        && result
        && !before.contains("async")
        && !OF_THE_RUNNER.iter().any(|words| rest.contains(words))
}

/// The names of the attributes before a function.
fn attributes(before: &str) -> Vec<String> {
    let found = before.match_indices("#[").filter_map(|(at, open)| before.get(at + open.len()..));
    found.filter_map(|rest| rest.split(['(', ']', ' ', '=']).next().map(str::to_owned)).collect()
}

/// A test file as ordinary code: plain tests become functions, and tests for other runners are
/// removed.
fn as_code(source: &str, items: &[Item]) -> Option<String> {
    let mut text = source.to_owned();
    let mut tests: Vec<&Item> = items.iter().filter(|item| item.is_test).collect();
    tests.sort_by_key(|item| std::cmp::Reverse(item.span.start));
    for item in tests {
        let own = text.get(item.span.clone())?;
        let name = item.name.rsplit("::").next()?;
        let (before, _) = own.split_once("fn ")?;
        let known = attributes(before).iter().all(|name| BUILT_IN.contains(&name.as_str()));
        let new = match (known, is_plain(source, item)) {
            (false, _) => String::new(),
            // The compiler already leaves tests out.
            (true, false) => own.to_owned(),
            (true, true) => own.replacen("#[test]", "", 1).replacen(
                &format!("fn {name}("),
                &format!("pub(crate) fn {name}("),
                1,
            ),
        };
        text.replace_range(item.span.clone(), &new);
    }
    with_tests(&text)
}

/// Test modules are included, and all modules are reachable from the root.
fn with_tests(source: &str) -> Option<String> {
    let tests =
        Regex::new(r"#\[cfg\(test\)\]\s*((?:#\[[^\]]*\]\s*)*)(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)")
            .ok()?;
    let source = tests.replace_all(source, "${1}#[allow(warnings)] pub(crate) mod ${2}");
    let used = Regex::new(r"#\[cfg\(test\)\]\s*use\s").ok()?;
    open_modules(&used.replace_all(&source, "#[allow(warnings)] use "))
}

/// Makes all modules reachable from the root.
pub(in crate::experiment) fn open_modules(source: &str) -> Option<String> {
    let private = Regex::new(r"(?m)^(\s*)mod\s+(\w+)").ok()?;
    Some(private.replace_all(source, "${1}pub(crate) mod ${2}").into_owned())
}

/// The files between the root and a module.
pub(in crate::experiment) fn ways_in(
    read: &dyn Fn(&str) -> Option<String>,
    folder: &str,
    modules: &[&str],
) -> Vec<String> {
    let places = (1..modules.len()).filter_map(|depth| {
        let path = modules.get(..depth).unwrap_or_default().join("/");
        let known = [format!("{folder}/{path}.rs"), format!("{folder}/{path}/mod.rs")];
        known.into_iter().find(|path| read(path).is_some())
    });
    places.collect()
}

/// A library that is built as a program contains unused code, which its authors may forbid.
pub(in crate::experiment) fn lenient(source: &str) -> String {
    source.replace("#![deny(", "#![warn(").replace("#![forbid(", "#![warn(")
}

/// Finds test modules relative to the program.
fn with_modules(source: &str, material: &Material<'_>, folder: &str) -> Option<String> {
    let module = Regex::new(r"(?m)^\s*pub\(crate\) mod (\w+);").ok()?;
    let placed = module.replace_all(source, |found: &Captures<'_>| {
        let name = found.get(1).map_or("", |name| name.as_str());
        let known = [format!("{name}.rs"), format!("{name}/mod.rs")];
        let place =
            known.into_iter().find(|path| material.paths.contains(&format!("{folder}/{path}")));
        place.map_or_else(String::new, |place| {
            format!("#[path = \"../tests/{place}\"] pub(crate) mod {name};")
        })
    });
    Some(placed.into_owned())
}

fn package_name(manifest: &str) -> Option<String> {
    let manifest: toml::Table = toml::from_str(manifest).ok()?;
    manifest.get("package")?.get("name")?.as_str().map(str::to_owned)
}

fn write(head: &str, bodies: &[Body]) -> String {
    let calls = bodies.iter().enumerate().rev();
    let calls: String =
        calls.map(|(at, body)| format!("        report({at}, round, {});\n", body.path)).collect();
    format!(
        r#"{head}
fn main() {{
    trait Holds {{
        fn holds(self) -> bool;
    }}
    impl Holds for () {{
        fn holds(self) -> bool {{
            true
        }}
    }}
    impl<T, E> Holds for std::result::Result<T, E> {{
        fn holds(self) -> bool {{
            self.is_ok()
        }}
    }}
    fn report<T: Holds>(at: usize, round: usize, body: fn() -> T) {{
        let holds = std::panic::catch_unwind(|| body().holds()).unwrap_or(false);
        std::println!("\n{MARK} {{at}} {{round}} {{}}", if holds {{ "holds" }} else {{ "fails" }});
    }}
    std::panic::set_hook(std::boxed::Box::new(|_| {{}}));
    for round in 0..{ROUNDS} {{
{calls}    }}
}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        assert_eq!(
            as_code(source, &items("tests/add.rs", source)).as_deref(),
            Some(expected),
            "{source}"
        );
    }

    #[test]
    fn plain_tests_become_functions_and_others_stay_out() {
        check(
            "#[test]\nfn adds() {\n    assert_eq!(1, 1);\n}\n",
            "\npub(crate) fn adds() {\n    assert_eq!(1, 1);\n}\n",
        );
        let panics = "#[test]\n#[should_panic]\nfn panics() {\n    add();\n}\n";
        check(panics, panics);
        check("#[tokio::test]\nasync fn waits() {\n    add().await;\n}\n", "\n");
        check(
            "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn adds() {}\n}\n",
            "#[allow(warnings)] pub(crate) mod tests {\n    use super::*;\n    \n    pub(crate) fn adds() {}\n}\n",
        );
    }

    #[test]
    fn a_body_that_asks_for_what_a_runner_gives_is_left_alone() {
        for (body, plain) in [
            ("assert_eq!(add(1), 2);", true),
            ("std::env::var(\"CARGO_MANIFEST_DIR\").unwrap();", false),
            ("std::fs::read(\"data\").unwrap();", true),
            ("assert_eq!(kind(\"tests\"), \"folder\");", false),
        ] {
            let source = format!("#[test]\nfn adds() {{\n    {body}\n}}\n");
            let items = items("tests/add.rs", &source);
            assert_eq!(is_plain(&source, items.first().unwrap()), plain, "{body}");
        }
    }
}
