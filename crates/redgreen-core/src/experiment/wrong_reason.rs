//! RED: tests that fail, and whose failure no code of the project can change.

use super::{About, Material, changed_test_files, is_external_test, stand_in, waiting};
use crate::change::is_python_library;
use crate::report::{LoadError, LoadErrorKind, Test};
use crate::syntax::{self, Item, Language};
use crate::verdict::{Code, Reason};

/// What a runner says of a name that its file does not know.
const UNKNOWN_NAMES: [&str; 2] = ["NameError", "ReferenceError"];

/// Each new test that can never pass, and each name that nothing brings into a test.
pub fn wrong_reasons(material: &Material<'_>) -> Vec<Reason> {
    let targets = material.targets.iter().filter_map(|id| material.after.test(id));
    let mut reasons: Vec<Reason> = targets.filter_map(|test| of_test(material, test)).collect();
    reasons.extend(material.after.load_errors.iter().filter_map(|error| of_load_error(material, error)));
    reasons.extend(material.after.load_errors.iter().filter_map(|error| asks_nothing(material, error)));
    // A file that nobody will write is no matter of the code.
    let missing = outsiders(material).into_iter().filter(|outsider| outsider.wants_data);
    reasons.extend(missing.map(|outsider| outsider.reason));
    reasons.extend(material.after.load_errors.iter().flat_map(|error| behind(material, error)));
    reasons
}

/// Tests of a file that does not load yet, which will fail whatever makes it load.
fn behind(material: &Material<'_>, error: &LoadError) -> Vec<Reason> {
    let Some(file) = error.file.as_deref().filter(|file| stand_in::is_test(material, file)) else { return Vec::new() };
    let (Some(source), language) = ((material.now)(file), Language::of_path(file)) else { return Vec::new() };
    let old = (material.before)(file).unwrap_or_default();
    let known = syntax::items(language, file, &old);
    let is_new = |item: &&Item| !known.iter().any(|old| old.name == item.name && old.text_hash == item.text_hash);
    let own = own_names(material, file, &source);
    let items = syntax::items(language, file, &source);
    // Go's `TestMain` runs the tests and is none: it ends the process in any case.
    let tests = items.iter().filter(|item| item.is_test && item.name != "TestMain");
    let failing = tests.filter(is_new).filter_map(|item| {
        let line = item.lines.0;
        let statement = syntax::unrelated(language, file, &source, item, line, &own)?;
        let sentence = format!("{} of {file} fails at `{statement}`, whatever the code does", item.name);
        Some(Reason::new(Code::RedUnrelatedFailure, sentence).place(Some(file), Some(line)))
    });
    failing.collect()
}

/// Where nothing can be built there is nothing to try a test with; one that only calls, and looks at nothing, asks for
/// nothing all the same.
fn asks_nothing(material: &Material<'_>, error: &LoadError) -> Option<Reason> {
    const LOOKS: [&str; 9] = ["?", "assert", "check", "expect", "matches", "panic", "prop", "unwrap", "verify"];
    let file = error.file.as_deref()?;
    if file.ends_with("_test.go") {
        return silent_in_go(material, file);
    }
    Some(file).filter(|file| is_external_test(file) && file.ends_with(".rs"))?;
    let source = (material.now)(file)?;
    let items = syntax::items(Language::Rust, file, &source);
    let tests: Vec<&Item> = items.iter().filter(|item| item.is_test).collect();
    let looks = |item: &&&Item| {
        let text = source.get(item.span.clone()).unwrap_or_default();
        item.assertions > 0 || LOOKS.iter().any(|word| text.contains(word))
    };
    let first = tests.first().filter(|_| tests.iter().find(looks).is_none())?;
    let sentence = format!("{} of {file} looks at nothing that the code gives back", first.name);
    Some(Reason::new(Code::RedNoAssertion, sentence).place(Some(file), Some(first.lines.0)))
}

/// Every new test of the file looks at nothing: it neither fails by a word of its own, nor hands its `t` to anybody who
/// could, nor says what an example prints.
fn silent_in_go(material: &Material<'_>, file: &str) -> Option<Reason> {
    const LOOKS: [&str; 12] = [
        "t.Error", "t.Fatal", "t.Fail", "panic(", "utput:", "(t,", "(t)", "Fuzz(", "assert", "require", "Expect", "b.N",
    ];
    let source = (material.now)(file)?;
    let new = super::tests_of(material, file);
    let items = syntax::items(Language::Go, file, &source);
    let tests: Vec<&Item> = items.iter().filter(|item| new.iter().any(|about| about.item == item.name)).collect();
    let looks = |item: &&&Item| {
        let text = source.get(item.span.clone()).unwrap_or_default();
        let body = text.split_once('{').map_or("", |(_, body)| body);
        item.assertions > 0 || item.name.contains('.') || LOOKS.iter().any(|word| body.contains(word))
    };
    let first = tests.first().filter(|_| tests.iter().find(looks).is_none())?;
    let sentence = format!("{} of {file} looks at nothing that the code gives back", first.name);
    Some(Reason::new(Code::RedNoAssertion, sentence).place(Some(file), Some(first.lines.0)))
}

/// What is for a human to say: a test that fails, and uses nothing of the project. One that reads what people read, a
/// README, may be about just that.
pub fn doubts(material: &Material<'_>) -> Vec<Reason> {
    let told = outsiders(material).into_iter().filter(|outsider| !outsider.wants_data);
    told.map(|outsider| outsider.reason).take(1).collect()
}

/// A test with nothing of the project in it.
struct Outsider {
    reason: Reason,
    /// It fails because data of tests is missing, which is theirs to bring.
    wants_data: bool,
}

/// The new tests with nothing of the project in them, where there are no others.
fn outsiders(material: &Material<'_>) -> Vec<Outsider> {
    const DATA: [&str; 5] = ["test", "tests", "testdata", "fixtures", "data"];
    let tests: Vec<&Test> = material.targets.iter().filter_map(|id| material.after.test(id)).collect();
    let outside = |test: &&Test| {
        let files = changed_test_files(material).into_iter();
        let (file, item, source) = files.into_iter().find_map(|file| {
            let source = (material.now)(&file)?;
            let items = syntax::items(Language::of_path(&file), &file, &source);
            let own = |item: &Item| item.is_test && About { file: file.clone(), item: item.name.clone() }.is(test);
            let item = items.into_iter().find(own)?;
            Some((file, item, source))
        })?;
        let body = source.get(item.span.clone()).unwrap_or_default();
        let values = syntax::written_values(Language::of_path(&file), body);
        let named = values.iter().map(|value| value.trim_matches(['"', '`']).trim_start_matches(['.', '/']));
        let named: Vec<&str> = named.filter(|value| value.contains(['.', '/'])).collect();
        let for_people =
            |path: &String| Language::of_path(path) == Language::Other && !stand_in::is_test(material, path);
        // What people read, and what the brief speaks of, may be the very thing that is asked for.
        let is_known = |value: &&str| material.paths.iter().any(|path| path.ends_with(*value) && for_people(path));
        let is_spoken = |value: &&str| {
            value.rsplit('/').next().is_some_and(|name| !name.is_empty() && material.brief.contains(name))
        };
        let meant = named.iter().any(|value| is_known(value) || is_spoken(value));
        let data = named.iter().any(|value| value.split('/').any(|part| DATA.contains(&part)));
        let alone = syntax::uses_only_library(Language::of_path(&file), &file, &source, &item);
        (alone && !meant).then(|| {
            let sentence = format!("{} calls nothing of the project", test.id);
            let reason = Reason::new(Code::RedNoCall, sentence).test(&test.id);
            let reason = reason.place(Some(&file), Some(item.lines.0));
            Outsider { reason, wants_data: data && waiting::misses_a_file(test) }
        })
    };
    let found: Vec<Outsider> = tests.iter().filter_map(outside).collect();
    let all = found.len() == tests.len() && material.after.load_errors.is_empty();
    if all { found } else { Vec::new() }
}

fn of_test(material: &Material<'_>, test: &Test) -> Option<Reason> {
    let Some((file, line)) = test.file.as_deref().zip(test.line) else { return of_unplaced(material, test) };
    let source = (material.now)(file)?;
    let language = Language::of_path(file);
    let items = syntax::items(language, file, &source);
    let is_meant = |item: &&Item| {
        let about = About { file: file.to_owned(), item: item.name.clone() };
        item.is_test && about.is(test) && (item.lines.0..=item.lines.1).contains(&line)
    };
    let item = items.iter().find(is_meant)?;
    if let Some(name) = unknown_name(test).filter(|name| !may_bring(language, &source, name)) {
        let sentence = format!("{} uses `{name}`, which nothing brings into {file}", test.id);
        return Some(Reason::new(Code::RedUnrelatedSymbol, sentence).test(&test.id).place(Some(file), Some(line)));
    }
    let own = |finding: &syntax::Finding| finding.smell == syntax::Smell::DefinesSubject;
    if !may_be_tried(material, language, &source) && !stand_in::reaches(material, file) {
        let sentence = match item.findings.iter().any(own) {
            true => format!("{} is about code that stands in {file} itself", test.id),
            false if language != Language::Python => return None,
            false => format!("{} calls nothing of the project: {file} imports none of its code", test.id),
        };
        return Some(Reason::new(Code::RedNoCall, sentence).test(&test.id).place(Some(file), Some(line)));
    }
    let statement = syntax::unrelated(language, file, &source, item, line, &own_names(material, file, &source))?;
    let sentence = format!("{} fails at `{statement}`, whatever the code does", test.id);
    Some(Reason::new(Code::RedUnrelatedFailure, sentence).test(&test.id).place(Some(file), Some(line)))
}

/// Where the runner does not say in which line a test failed, it is found by its name.
fn of_unplaced(material: &Material<'_>, test: &Test) -> Option<Reason> {
    changed_test_files(material).iter().find_map(|file| {
        let (source, language) = ((material.now)(file)?, Language::of_path(file));
        let is_meant = |item: &&Item| item.is_test && About { file: file.clone(), item: item.name.clone() }.is(test);
        let items = syntax::items(language, file, &source);
        let item = items.iter().find(is_meant)?;
        let own = own_names(material, file, &source);
        let statement = syntax::unrelated(language, file, &source, item, item.lines.0, &own)?;
        let sentence = format!("{} fails at `{statement}`, whatever the code does", test.id);
        Some(Reason::new(Code::RedUnrelatedFailure, sentence).test(&test.id).place(Some(file), Some(item.lines.0)))
    })
}

/// What the file imports of the project's code.
fn own_names(material: &Material<'_>, file: &str, source: &str) -> Vec<String> {
    let language = Language::of_path(file);
    let project = syntax::Project { paths: material.paths, packages: material.packages };
    let is_code = |import: &syntax::Import| {
        let mut found = syntax::resolve(language, file, import, project);
        found.extend(stand_in::planned(language, file, import, material));
        !found.is_empty() && !found.iter().any(|path| stand_in::is_test(material, path))
    };
    let imports = syntax::imports(language, source).into_iter().filter(is_code);
    imports.flat_map(|import| import.names).collect()
}

/// Python's tests are run with code that does nothing in place of all there is, which tells more than their text does;
/// without any code they are not, and what they import besides Python's own may be the code to come. What a
/// `conftest.py` brings in is not seen.
fn may_be_tried(material: &Material<'_>, language: Language, source: &str) -> bool {
    let is_code = |path: &String| Language::of_path(path) == Language::Python && !stand_in::is_test(material, path);
    let brings = |path: &String| path.ends_with("conftest.py");
    let foreign = |import: &syntax::Import| !is_python_library(import.module.split('.').next().unwrap_or(""));
    language == Language::Python
        && (material.paths.iter().any(|path| is_code(path) || brings(path))
            || syntax::imports(language, source).iter().any(foreign))
}

/// `name 'wrapp' is not defined`, `wrapp is not defined`.
fn unknown_name(test: &Test) -> Option<&str> {
    let class = test.exception.as_deref()?;
    let message = test.message.as_deref()?.lines().find(|line| line.contains("is not defined"))?;
    let before = message.split("is not defined").next()?.trim();
    let name = before.rsplit(' ').next()?.trim_matches('\'');
    UNKNOWN_NAMES.contains(&class).then_some(name).filter(|name| !name.is_empty())
}

/// Everything of another file may come along with a `*`.
fn may_bring(language: Language, source: &str, name: &str) -> bool {
    let imports = syntax::imports(language, source);
    imports.iter().any(|import| import.names.iter().any(|known| known == "*" || known == name))
}

/// A program of its own, as each file in `tests` is, knows nothing that it does not import.
fn of_load_error(material: &Material<'_>, error: &LoadError) -> Option<Reason> {
    if error.file.as_deref().is_some_and(|file| file.ends_with("_test.go")) {
        return of_go(material, error);
    }
    let file = error.file.as_deref().filter(|file| is_external_test(file) && file.ends_with(".rs"))?;
    let line = error.line.filter(|_| error.message.starts_with("mismatched types"));
    let wrong = line.and_then(|line| syntax::mistyped(&(material.now)(file)?, line));
    if let Some(statement) = wrong {
        let sentence = format!("{file} does not compile at `{statement}`, whatever the code does");
        return Some(Reason::new(Code::RedUnrelatedFailure, sentence).place(Some(file), error.line));
    }
    let missing = error.kind == LoadErrorKind::MissingSymbol && error.message.starts_with("cannot find ");
    let name = error.message.split('`').nth(1).filter(|_| missing && error.message.contains("in this scope"))?;
    let source = (material.now)(file)?;
    if may_bring(Language::Rust, &source, name) || source.contains("macro_use") {
        return None;
    }
    let sentence = format!("{file} uses `{name}`, which nothing brings into it");
    Some(Reason::new(Code::RedUnrelatedSymbol, sentence).place(Some(file), error.line))
}

/// What can be no part of the project: a package of somebody else's that no manifest names, and a variable of the test
/// with another letter in it.
fn of_go(material: &Material<'_>, error: &LoadError) -> Option<Reason> {
    let file = error.file.as_deref()?;
    let foreign = error.message.split("no required module provides package ").nth(1);
    let foreign = foreign.map(|rest| rest.split([';', ' ', ':']).next().unwrap_or_default());
    let own = |path: &str| material.packages.iter().any(|package| path.starts_with(&package.name));
    let slip = || {
        let name = error.message.strip_prefix("undefined: ")?.trim();
        let source = (material.now)(file)?;
        let items = syntax::items(Language::Go, file, &source);
        let inside = |item: &&Item| error.line.is_some_and(|line| (item.lines.0..=item.lines.1).contains(&line));
        let item = items.iter().filter(|item| item.is_test).find(inside)?;
        let text = source.get(item.span.clone()).unwrap_or_default();
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let mut twins = words.filter(|word| word.len() > 2 && stand_in::is_near(word, name));
        let called = text.contains(&format!("{name}(")) || text.contains(&format!("{name}."));
        let given = |word: &str| text.contains(&format!("{word} :=")) || text.contains(&format!("{word}, "));
        let meant = called || syntax::mentions(material.brief, name);
        twins.any(given).then_some(name).filter(|_| !meant)
    };
    let name = foreign.filter(|path| !own(path)).or_else(slip)?;
    let sentence = format!("{file} uses `{name}`, which nothing brings into it");
    Some(Reason::new(Code::RedUnrelatedSymbol, sentence).place(Some(file), error.line))
}
