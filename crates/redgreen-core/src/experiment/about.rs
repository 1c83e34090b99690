//! Which test of a file a runner's result belongs to.

use crate::framework;
use crate::report::Test;
use crate::syntax::{self, Language};

/// A test as its file knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub file: String,
    pub item: String,
}

impl About {
    /// Whether a runner's result is of this test: its id ends with the item's name, parameters aside.
    pub(crate) fn is(&self, test: &Test) -> bool {
        let plain = plain(&test.id);
        let ends = plain.strip_suffix(self.item.as_str()).is_some_and(|rest| {
            rest.is_empty() || rest.ends_with("::") || rest.ends_with("> ") || rest.ends_with(['.', ' ', '/'])
        });
        (ends || self.is_row(&test.id) || self.is_subtest(&test.id) || self.is_method(&test.id))
            && is_in(test, &self.file)
            || is_doc_test(&test.id, &self.file, &self.item)
    }

    /// What a test of Go runs has names that are made while it runs.
    fn is_subtest(&self, id: &str) -> bool {
        self.file.ends_with(".go") && framework::go::function_of(id) == Some(self.item.as_str())
    }

    /// JUnit writes `demo.CalcTest$Inner::adds(int)[1]` for the method of a class in a class.
    fn is_method(&self, id: &str) -> bool {
        let plain = id.split(['(', '[']).next().unwrap_or(id).replace("::", ".").replace('$', ".");
        let before = plain.strip_suffix(self.item.as_str()).filter(|_| self.file.ends_with(".java"));
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    }

    /// A title with holes in it, which the runner fills in for every row of a table: `wraps %j at $width`.
    fn is_row(&self, id: &str) -> bool {
        if !Language::of_path(&self.file).is_script() {
            return false;
        }
        let pattern = syntax::title_pattern(&self.item);
        pattern.contains('*')
            && (syntax::glob::matches(&pattern, id) || syntax::glob::matches(&format!("*> {pattern}"), id))
    }
}

/// `roman/doc::src/lib.rs - to_roman` is documentation of `to_roman`.
fn is_doc_test(id: &str, file: &str, item: &str) -> bool {
    let Some((_, place)) = id.split_once("/doc::") else { return false };
    let Some((path, name)) = place.split_once(" - ") else { return false };
    let name = name.split(" #").next().unwrap_or(name);
    let (name, item) = (name.rsplit("::").next(), item.trim_start_matches("doc ").rsplit("::").next());
    file.ends_with(path) && name == item
}

/// Without what a parametrised test adds.
fn plain(id: &str) -> &str {
    match id.split_once('[') {
        Some((before, _)) if id.ends_with(']') => before,
        Some(_) | None => id,
    }
}

fn is_in(test: &Test, file: &str) -> bool {
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let unknown = test.file.is_none();
    test.file.as_deref() == Some(file) || test.id.starts_with(file) || unknown || test.id.contains(stem)
}
