//! RED: undefined names in tests, as reported by the run or the compiler. No project code can
//! provide them.

use super::{About, Material};
use crate::change::is_test_program;
use crate::report::{LoadError, LoadErrorKind, Test};
use crate::syntax::{self, Item, Language};
use crate::verdict::{Code, Reason};

/// Errors of a runner for an undefined name.
const UNKNOWN_NAMES: [&str; 2] = ["NameError", "ReferenceError"];

/// Names that a new test uses, but its file neither defines nor imports.
pub fn unknown_names(material: &Material<'_>) -> Vec<Reason> {
    let targets = material.targets.iter().filter_map(|id| material.after.test(id));
    let mut reasons: Vec<Reason> = targets.filter_map(|test| of_test(material, test)).collect();
    reasons.extend(
        material.after.load_errors.iter().filter_map(|error| of_load_error(material, error)),
    );
    reasons
}

fn of_test(material: &Material<'_>, test: &Test) -> Option<Reason> {
    let (file, line, name) = (test.file.as_deref()?, test.line?, unknown_name(test)?);
    let (source, language) = ((material.now)(file)?, Language::of_path(file));
    // The code may be wrong instead: the line must be in the test.
    let is_meant = |item: &Item| {
        let about = About { file: file.to_owned(), item: item.name.clone() };
        item.is_test && about.is(test) && (item.lines.0..=item.lines.1).contains(&line)
    };
    if may_bring(language, &source, name)
        || !syntax::items(language, file, &source).iter().any(is_meant)
    {
        return None;
    }
    let sentence = format!("{} uses `{name}`, which {file} neither defines nor imports", test.id);
    Some(
        Reason::new(Code::RedUnrelatedSymbol, sentence)
            .test(&test.id)
            .place(Some(file), Some(line)),
    )
}

/// `name 'wrapp' is not defined`, `wrapp is not defined`.
fn unknown_name(test: &Test) -> Option<&str> {
    let class = test.exception.as_deref()?;
    let message = test.message.as_deref()?.lines().find(|line| line.contains("is not defined"))?;
    let before = message.split("is not defined").next()?.trim();
    let name = before.rsplit(' ').next()?.trim_matches('\'');
    UNKNOWN_NAMES.contains(&class).then_some(name).filter(|name| !name.is_empty())
}

/// A `*` import may provide any name.
fn may_bring(language: Language, source: &str, name: &str) -> bool {
    let imports = syntax::imports(language, source);
    imports.iter().any(|import| import.names.iter().any(|known| known == "*" || known == name))
}

/// Each file in `tests` is a separate program that knows only its own imports.
fn of_load_error(material: &Material<'_>, error: &LoadError) -> Option<Reason> {
    let file =
        error.file.as_deref().filter(|file| is_test_program(file) && file.ends_with(".rs"))?;
    let missing =
        error.kind == LoadErrorKind::MissingSymbol && error.message.starts_with("cannot find ");
    let name = error
        .message
        .split('`')
        .nth(1)
        .filter(|_| missing && error.message.contains("in this scope"))?;
    let source = (material.now)(file)?;
    if may_bring(Language::Rust, &source, name) || source.contains("macro_use") {
        return None;
    }
    let sentence = format!("{file} uses `{name}`, which it neither defines nor imports");
    Some(Reason::new(Code::RedUnrelatedSymbol, sentence).place(Some(file), error.line))
}
