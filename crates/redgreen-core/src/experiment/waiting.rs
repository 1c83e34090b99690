//! RED: a test that compares with a file nobody has recorded yet. It fails before it calls anything, and is about the code
//! all the same; one that only wants its input is not.

use super::{About, Material, stand_in};
use crate::report::Test;
use crate::syntax::{self, Item, Language, Project};

/// How languages say that a file is not there.
const MISSING: [&str; 5] = ["No such file", "no such file", "FileNotFoundError", "NotFound", "ENOENT"];

pub(super) fn misses_a_file(test: &Test) -> bool {
    let message = test.message.as_deref().unwrap_or_default();
    MISSING.iter().any(|words| message.contains(words) || test.exception.as_deref() == Some(*words))
}

/// Whether what is missing is an expectation: the test calls code of the project with something else.
pub(super) fn waits_for_golden(material: &Material<'_>, test: &Test, about: &[About]) -> bool {
    let Some(about) = about.iter().find(|about| about.is(test)).filter(|_| misses_a_file(test)) else { return false };
    let Some(source) = (material.now)(&about.file) else { return false };
    let language = Language::of_path(&about.file);
    let items = syntax::items(language, &about.file, &source);
    let Some(item) = items.iter().find(|item: &&Item| item.is_test && item.name == about.item) else { return false };
    let project = Project { paths: material.paths, packages: material.packages };
    let own = syntax::imports(language, &source).into_iter().filter(|import| {
        !syntax::resolve(language, &about.file, import, project).is_empty()
            || !stand_in::planned(language, &about.file, import, material).is_empty()
    });
    let names: Vec<String> = own
        .flat_map(|import| {
            let last = import.module.rsplit(['.', ':', '/']).next().unwrap_or_default().to_owned();
            import.names.into_iter().chain([last])
        })
        .collect();
    let line = test.line.filter(|_| test.file.as_deref().is_none_or(|file| file == about.file));
    syntax::compares_what_it_reads(language, &about.file, &source, item, line, &names)
}
