//! Parsed test ids: where a test is defined, its name there, and which case of it.
//!
//! An id is the runner's own and can be used to rerun the test. Each framework's row parses its ids
//! ([`Framework::read`]); all other code compares these values.
//!
//! [`Framework::read`]: super::Framework::read

use crate::path::join;

use super::{FRAMEWORKS, Framework, ctest, unittest};

/// A test as its runner names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The folder of the project in the repository; empty for the root.
    pub folder: &'a str,
    pub home: Home<'a>,
    /// Names from the outermost to the test's own: classes, modules, `describe` blocks, the
    /// function.
    pub item: Vec<&'a str>,
    /// A row of a parameterized test, or a subtest.
    pub case: Option<&'a str>,
}

/// Where a test is defined, as far as its id says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home<'a> {
    Unknown,
    /// A path within the folder.
    File(&'a str),
    /// A cargo target, by its path in the package without extension: `tests/numerals`. Empty for
    /// the library.
    Target(&'a str),
    /// A Go package.
    Package(&'a str),
}

/// Separates a folder from the id of a test in it.
pub(crate) const FOLDER_MARK: &str = ": ";

/// Parses an id with the framework that it belongs to.
pub fn identity(id: &str) -> Identity<'_> {
    let read = |id| {
        // CTest accepts any text as an id, and unittest any name with dots.
        let is_vague =
            |row: &Framework| [ctest::FRAMEWORK.name, unittest::FRAMEWORK.name].contains(&row.name);
        let rows = FRAMEWORKS.iter().filter(|row| !is_vague(row)).chain([&unittest::FRAMEWORK]);
        rows.into_iter().find(|row| (row.is_id)(id)).map(|row| (row.read)(id))
    };
    let inside = || {
        // A test's name can contain the mark as well.
        let (folder, rest) =
            id.split_once(FOLDER_MARK).filter(|(folder, _)| !folder.contains([' ', ':', '[']))?;
        Some(Identity { folder, ..read(rest)? })
    };
    inside().or_else(|| read(id)).unwrap_or_else(|| whole(id))
}

/// An id that is only a name.
pub(super) fn whole(id: &str) -> Identity<'_> {
    Identity::of(Home::Unknown, vec![id], None)
}

impl<'a> Identity<'a> {
    pub(super) fn of(home: Home<'a>, item: Vec<&'a str>, case: Option<&'a str>) -> Self {
        Self { folder: "", home, item, case }
    }

    /// The test's own name.
    pub fn name(&self) -> &'a str {
        self.item.last().copied().unwrap_or_default()
    }

    /// The file, relative to the repository root.
    pub fn file(&self) -> Option<String> {
        match self.home {
            Home::File(path) => Some(join(self.folder, path)),
            Home::Unknown | Home::Target(_) | Home::Package(_) => None,
        }
    }

    /// Whether the test is in this file; `None` if the id does not say.
    pub fn is_in(&self, path: &str) -> Option<bool> {
        let inside = match self.folder {
            "" => Some(path),
            folder => path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
        };
        let ends = |stem: &str| {
            let above = inside.and_then(|inside| inside.strip_suffix(".rs")?.strip_suffix(stem));
            above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
        };
        match self.home {
            Home::File(file) => Some(inside == Some(file)),
            Home::Unknown | Home::Target("") | Home::Package(_) => None,
            Home::Target(stem) => Some(ends(stem)),
        }
    }

    /// Whether the other test is a subtest of this one. A Go test with subtests has no result of
    /// its own.
    pub fn runs(&self, other: &Self) -> bool {
        let is_below = match (self.case, other.case) {
            (None, Some(_)) => true,
            (Some(case), Some(below)) => {
                below.strip_prefix(case).is_some_and(|rest| rest.starts_with('/'))
            }
            (None | Some(_), None) => false,
        };
        let is_go = matches!(self.home, Home::Package(_));
        is_go
            && is_below
            && (self.folder, self.home, &self.item) == (other.folder, other.home, &other.item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_framework_parses_its_own_ids() {
        for (id, told) in [
            (
                "tests/test_a.py::TestAdd::test_two[1-a::b]",
                "File(\"tests/test_a.py\") TestAdd|test_two Some(\"1-a::b\")",
            ),
            ("app: tests/test_a.py::test_two", "app File(\"tests/test_a.py\") test_two None"),
            (
                "tests.test_a.TestAdd.test_two (n=1)",
                "Unknown tests|test_a|TestAdd|test_two Some(\"n=1\")",
            ),
            ("src/a.test.ts > sum > adds 1: 2", "File(\"src/a.test.ts\") sum|adds 1: 2 None"),
            ("roman/tests/numerals::one", "Target(\"tests/numerals\") one None"),
            ("roman::kit::tests::one", "Target(\"\") kit|tests|one None"),
            (
                "roman/doc::src/lib.rs - kit::to_roman #2",
                "Target(\"src/lib\") kit|to_roman Some(\"2\")",
            ),
            (
                "example.com/kit/slug.TestTitle/a/b",
                "Package(\"example.com/kit/slug\") TestTitle Some(\"a/b\")",
            ),
            ("kit.TestTitle", "Package(\"kit\") TestTitle None"),
            (
                "demo.CalcTest$Inner::adds(int)[1]",
                "Unknown demo|CalcTest|Inner|adds Some(\"(int)[1]\")",
            ),
            ("exit code only: make test", "Unknown exit code only: make test None"),
        ] {
            let read = identity(id);
            let seen =
                format!("{} {:?} {} {:?}", read.folder, read.home, read.item.join("|"), read.case);
            assert_eq!(seen.trim_start(), told, "{id}");
        }
    }

    #[test]
    fn the_id_names_the_file() {
        for (id, path, is_in) in [
            ("a/test_a.py::test_x", "a/test_a.py", Some(true)),
            ("a/test_a.py::test_x", "b/a/test_a.py", Some(false)),
            ("app: a/test_a.py::test_x", "app/a/test_a.py", Some(true)),
            ("roman/tests/numerals::one", "tests/numerals.rs", Some(true)),
            ("roman/tests/numerals::one", "crates/roman/tests/numerals.rs", Some(true)),
            ("roman/tests/numerals::one", "tests/other_numerals.rs", Some(false)),
            ("roman::tests::one", "src/lib.rs", None),
            ("example.com/kit.TestA", "kit_test.go", None),
        ] {
            assert_eq!(identity(id).is_in(path), is_in, "{id} {path}");
        }
    }

    #[test]
    fn subtests_belong_to_the_test_that_runs_them() {
        for (one, other, runs) in [
            ("k.com/a.TestA", "k.com/a.TestA/b", true),
            ("k.com/a.TestA/b", "k.com/a.TestA/b/c", true),
            ("k.com/a.TestA/b", "k.com/a.TestA/bc", false),
            ("k.com/a.TestA", "k.com/b.TestA/b", false),
            ("k.com/a.TestA", "k.com/a.TestA", false),
            ("t.py::test_a", "t.py::test_a[1]", false),
        ] {
            assert_eq!(identity(one).runs(&identity(other)), runs, "{one} {other}");
        }
    }
}
