//! What users of the code do not have: its tests.

use super::Material;
use crate::change::{Class, Kind};
use crate::syntax::{self, Import, Language, Project};
use crate::verdict::{Code, Reason};

/// The tests of the project, which users of the code do not have.
pub fn unseen(material: &Material<'_>) -> Vec<String> {
    let is_code = |path: &&String| Language::of_path(path) != Language::Other;
    let is_test = |path: &&String| is_code(path) && material.is_test(path);
    material.paths.iter().filter(is_test).cloned().collect()
}

/// The same, with the data of the tests. Code that needs it must be told where it is.
pub fn unseen_with_data(material: &Material<'_>) -> Vec<String> {
    material.paths.iter().filter(|path| material.is_test(path)).cloned().collect()
}

/// What to remove from a program that repeats calls. Two trees are compared with the data of the
/// tests, which both may read.
pub(super) fn hidden(material: &Material<'_>, compares_trees: bool) -> Vec<String> {
    if compares_trees { unseen(material) } else { unseen_with_data(material) }
}

/// New imports of tests in code. Such code does not work for its users. In Go and Java, an import
/// names a package instead of a file, and code cannot be built with test-only files.
pub fn imports_of_tests(material: &Material<'_>) -> Vec<Reason> {
    let project = Project { paths: material.paths, packages: material.packages };
    let unseen = unseen(material);
    let mut reasons = Vec::new();
    let changed = material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted);
    for changed in changed
        .filter(|changed| changed.class == Class::Implementation && !unseen.contains(&changed.path))
    {
        let language = Language::of_path(&changed.path);
        if language != Language::Python && !language.is_script() {
            continue;
        }
        let tests = |import: &Import| {
            let found = syntax::resolve(language, &changed.path, import, project);
            found.into_iter().find(|path| unseen.contains(path))
        };
        let known: Vec<String> = (material.before)(&changed.path)
            .map(|old| syntax::imports(language, &old).iter().filter_map(tests).collect())
            .unwrap_or_default();
        let source = (material.now)(&changed.path).unwrap_or_default();
        for import in syntax::imports(language, &source) {
            if let Some(test) = tests(&import).filter(|test| !known.contains(test)) {
                let sentence = format!("{} imports {test}, which is a test", changed.path);
                let reason = Reason::new(Code::GreenSuspicious, sentence);
                reasons.push(reason.place(Some(&changed.path), Some(import.line)));
            }
        }
    }
    reasons
}
