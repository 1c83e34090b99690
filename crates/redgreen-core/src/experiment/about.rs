//! Maps results of a runner to tests in a file.

use crate::framework::Identity;
use crate::report::Test;
use crate::syntax::{self, Language};

/// A test, as its file defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub file: String,
    pub item: String,
}

impl About {
    /// Whether a result of the runner belongs to this test.
    pub(crate) fn is(&self, test: &Test) -> bool {
        // A quick check first, because most tests are others: an id contains the name.
        let language = Language::of_path(&self.file);
        let name = syntax::names_of(language, &self.item).last().copied().unwrap_or_default();
        if !language.is_script() && !test.id.contains(name) {
            return false;
        }
        let told = test.identity();
        self.is_item(&told) && self.may_hold(&told, test.file.as_deref())
    }

    /// Whether the names are the same. A runner may add the names of modules and packages around
    /// the file.
    fn is_item(&self, told: &Identity<'_>) -> bool {
        let language = Language::of_path(&self.file);
        if !language.is_script() {
            return told.item.ends_with(&syntax::names_of(language, &self.item));
        }
        // A title may have placeholders that the runner fills in for every row of a table: `wraps
        // %j at $width`.
        let title = told.item.join(syntax::separator(language));
        let pattern = syntax::title_pattern(&self.item);
        syntax::glob::matches(&pattern, &title)
            || syntax::glob::matches(&format!("*> {pattern}"), &title)
    }

    /// Whether a test may be in this file. The location of a failure is not always that of the
    /// test.
    fn may_hold(&self, told: &Identity<'_>, file: Option<&str>) -> bool {
        let told_here = told.is_in(&self.file).unwrap_or(file.is_none());
        told_here || file == Some(self.file.as_str())
    }
}
