//! RED: names that nothing brings into a test, as the run or the compiler told. No code of the project can bring them.

use super::{About, Material};
use crate::change::is_test_program;
use crate::report::{LoadError, LoadErrorKind, Test};
use crate::syntax::{self, Item, Language};
use crate::verdict::{Code, Reason};

/// What a runner says of a name that its file does not know.
const UNKNOWN_NAMES: [&str; 2] = ["NameError", "ReferenceError"];

/// Each name that a new test uses, and that its file neither defines nor imports.
pub fn unknown_names(material: &Material<'_>) -> Vec<Reason> {
    let targets = material.targets.iter().filter_map(|id| material.after.test(id));
    let mut reasons: Vec<Reason> = targets.filter_map(|test| of_test(material, test)).collect();
    reasons.extend(material.after.load_errors.iter().filter_map(|error| of_load_error(material, error)));
    reasons
}

fn of_test(material: &Material<'_>, test: &Test) -> Option<Reason> {
    let (file, line, name) = (test.file.as_deref()?, test.line?, unknown_name(test)?);
    let (source, language) = ((material.now)(file)?, Language::of_path(file));
    // The code may be at fault as well: the line has to be one of the test's own.
    let is_meant = |item: &Item| {
        let about = About { file: file.to_owned(), item: item.name.clone() };
        item.is_test && about.is(test) && (item.lines.0..=item.lines.1).contains(&line)
    };
    if may_bring(language, &source, name) || !syntax::items(language, file, &source).iter().any(is_meant) {
        return None;
    }
    let sentence = format!("{} uses `{name}`, which nothing brings into {file}", test.id);
    Some(Reason::new(Code::RedUnrelatedSymbol, sentence).test(&test.id).place(Some(file), Some(line)))
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
    let file = error.file.as_deref().filter(|file| is_test_program(file) && file.ends_with(".rs"))?;
    let missing = error.kind == LoadErrorKind::MissingSymbol && error.message.starts_with("cannot find ");
    let name = error.message.split('`').nth(1).filter(|_| missing && error.message.contains("in this scope"))?;
    let source = (material.now)(file)?;
    if may_bring(Language::Rust, &source, name) || source.contains("macro_use") {
        return None;
    }
    let sentence = format!("{file} uses `{name}`, which nothing brings into it");
    Some(Reason::new(Code::RedUnrelatedSymbol, sentence).place(Some(file), error.line))
}
