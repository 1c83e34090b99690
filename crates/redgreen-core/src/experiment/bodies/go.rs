//! Go: a main package next to the tested one. Test files become ordinary files: those of the
//! package itself stay in it, those of its `_test` package get a folder. A small package of ours
//! replaces `testing`. Tests that need more do not compile, and then there is no conclusion.

use regex::Regex;

use super::{Body, BodyProgram, Build, Kind, MARK, NAME, Program, ROUNDS, items, targets};
use crate::experiment::Material;
use crate::path::{folder, join};
use crate::syntax::Item;

const SHIM: &str = include_str!("steps.go.in");
/// Our folders: the replacement for `testing`, and tests that see the package from outside.
const STEPS: &str = "steps";
const USES: &str = "uses";
/// Things that only a test binary has. Tests that start themselves would start the program again
/// and again.
const OF_THE_RUNNER: &[&str] =
    &["os.Args", "os.Executable", "-test.", "func TestMain(", "_test.go\""];

pub(super) fn program(material: &Material<'_>, file: String) -> Option<Program> {
    let place = folder(&file).to_owned();
    let root = module_root(material, &place)?;
    let module = module_path(&(material.now)(&join(&root, "go.mod"))?)?;
    let inside = place.strip_prefix(&root)?.trim_start_matches('/');
    let import = join(&module, inside);
    let shim = join(&module, STEPS);
    let ours = [join(&root, STEPS), join(&place, USES), join(&place, NAME)];
    let is_taken =
        |ours: &String| material.paths.iter().any(|path| path.starts_with(&format!("{ours}/")));
    if ours.iter().any(is_taken) {
        return None;
    }
    let here = |path: &&String| folder(path) == place && path.ends_with(".go");
    let is_test = |path: &str| path.ends_with("_test.go");
    let code = material.paths.iter().filter(here).find(|path| !is_test(path))?;
    let package = package_of(&(material.now)(code)?)?;
    if package == "main" {
        return None;
    }
    let mut edits = Vec::new();
    for path in material.paths.iter().filter(here).filter(|path| is_test(path)) {
        let text = (material.now)(path)?;
        if OF_THE_RUNNER.iter().any(|words| text.contains(words)) {
            return None;
        }
        let name = path.rsplit('/').next()?.trim_end_matches("_test.go");
        let place = match package_of(&text)? == package {
            true => join(&place, &format!("{STEPS}_{name}.go")),
            false => join(&place, &format!("{USES}/{name}.go")),
        };
        edits.push((place, as_code(&text, &items(path, &text), &shim)?));
    }
    let source = (material.now)(&file)?;
    let items = items(&file, &source);
    let own =
        targets(material, &file, &items).into_iter().filter(|(item, _)| is_plain(&source, item));
    let bodies: Vec<Body> = own
        .map(|(item, id)| Body {
            id: whole(&id, &item.name),
            path: format!("tested.{}", renamed(&item.name)),
        })
        .collect();
    let tested = match package_of(&source)? == package {
        true => import,
        false => join(&import, USES),
    };
    edits.push((join(&root, &format!("{STEPS}/{STEPS}.go")), SHIM.replace("MARK", MARK)));
    let head = format!("package main\n\nimport (\n\ttested \"{tested}\"\n\t\"{shim}\"\n)\n");
    let build = Build::Go { package: format!("./{}", join(inside, NAME)) };
    let main = join(&place, &format!("{NAME}/main.go"));
    let kind =
        Kind::Built(Box::new(BodyProgram { root, home: place, build, edits, main, head, write }));
    Some(Program { file, bodies, kind })
}

fn write(head: &str, bodies: &[Body]) -> String {
    let calls = bodies.iter().enumerate().rev();
    let calls: String = calls
        .map(|(at, body)| {
            let name = body.path.replacen("tested.Step", "Test", 1);
            format!("\t\t{STEPS}.Report({at}, round, {name:?}, {})\n", body.path)
        })
        .collect();
    format!(
        "{head}\nfunc main() {{\n\tfor round := 0; round < {ROUNDS}; round++ {{\n{calls}\t}}\n}}\n"
    )
}

fn is_plain(source: &str, item: &Item) -> bool {
    let text = source.get(item.span.clone()).unwrap_or_default();
    item.name.starts_with("Test")
        && text.contains(&format!("func {}(", item.name))
        && text.contains("*testing.T)")
}

/// A test file as an ordinary file that does not mention tests.
fn as_code(source: &str, items: &[Item], shim: &str) -> Option<String> {
    let import = Regex::new(r#"(?m)^(\s*(?:import\s+)?)"testing"\s*$"#).ok()?;
    let mut text = import.replace(source, format!("${{1}}testing \"{shim}\"")).into_owned();
    let package = Regex::new(r"(?m)^package \w+_test\b").ok()?;
    text = package.replace(&text, format!("package {USES}")).into_owned();
    for item in items.iter().filter(|item| item.is_test && item.name.starts_with("Test")) {
        text = text.replacen(
            &format!("func {}(", item.name),
            &format!("func {}(", renamed(&item.name)),
            1,
        );
    }
    Some(text)
}

/// The call stack contains the names of functions.
fn renamed(test: &str) -> String {
    format!("Step{}", test.strip_prefix("Test").unwrap_or(test))
}

/// The test that a subtest belongs to.
fn whole(id: &str, test: &str) -> String {
    let end = id.find(&format!(".{test}")).map_or(id.len(), |at| at + 1 + test.len());
    id.get(..end).unwrap_or(id).to_owned()
}

/// The root folder of the module that contains a folder.
pub(in crate::experiment) fn module_root(material: &Material<'_>, folder: &str) -> Option<String> {
    let mut here = folder;
    loop {
        if material.paths.contains(&join(here, "go.mod")) {
            return Some(here.to_owned());
        }
        here = if here.is_empty() { return None } else { crate::path::folder(here) };
    }
}

pub(in crate::experiment) fn module_path(manifest: &str) -> Option<String> {
    let path = manifest.lines().find_map(|line| line.trim_start().strip_prefix("module "))?;
    path.split_whitespace().next().map(|path| path.trim_matches('"').to_owned())
}

pub(in crate::experiment) fn package_of(source: &str) -> Option<String> {
    let name = source.lines().find_map(|line| line.strip_prefix("package "))?;
    name.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_file_becomes_an_ordinary_one() {
        let source = "package kit_test\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestAdd(t *testing.T) {\n\t\
                      t.Log(fmt.Sprint(1))\n}\n";
        let expected = "package uses\n\nimport (\n\t\"fmt\"\n\ttesting \"example.com/kit/steps\"\n)\n\nfunc StepAdd(t \
                        *testing.T) {\n\tt.Log(fmt.Sprint(1))\n}\n";
        let items = items("kit_test.go", source);
        assert_eq!(as_code(source, &items, "example.com/kit/steps").as_deref(), Some(expected));
    }
}
