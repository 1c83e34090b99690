//! RED: which old tests were replaced by new ones?
//!
//! A brief that changes behaviour makes old tests obsolete: RED renames, rewrites and removes them.
//! A test may go if a new or changed failing test covers the same code. The verdict lists
//! everything that was removed. A RED that only removes tests has no such test, and a RED that
//! removes unrelated tests is sabotage.

use std::collections::BTreeSet;

use super::{About, Material, stand_in};
use crate::change::{ChangedPath, Class, Kind};
use crate::framework::{Home, Identity};
use crate::path::folder;
use crate::report::{LoadError, Report, Status, Test};
use crate::syntax::{self, Item, ItemChange, Language};
use crate::text::without_line_breaks;

/// The maximum number of code files to search for names.
const CODE_FILES_MAX: usize = 400;
/// The number of tests to list in the verdict. The rest is counted.
const NAMED_MAX: usize = 20;

/// What RED did to existing tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplacedTests {
    /// The ids of replaced tests.
    pub ids: Vec<String>,
    /// Notes for the reviewer.
    pub notes: Vec<String>,
}

/// Compares the old and new test files, with the results of both.
pub fn replaced(material: &Material<'_>, before: &Report, after: &Report) -> ReplacedTests {
    let files: Vec<TestFile> =
        changed(material).map(|changed| TestFile::read(material, changed)).collect();
    let gone: Vec<&Test> = before
        .tests
        .iter()
        .filter(|test| !test.status.is_failure() && after.test(&test.id).is_none())
        .collect();
    let mut replaced = ReplacedTests::default();
    if !gone.is_empty() && !files.is_empty() {
        let code = code_names(material, &files);
        let asking = asking(&files, &code, before, after);
        let is_replaced = |test: &&&Test| {
            files.iter().any(|file| file.replaces(test, &code, &asking, after, &files))
        };
        replaced.ids = gone.iter().filter(is_replaced).map(|test| test.id.clone()).collect();
    }
    let removed = replaced
        .ids
        .iter()
        .take(NAMED_MAX)
        .map(|id| format!("RED removes or replaces a test: {}", without_line_breaks(id)));
    replaced.notes.extend(removed);
    let more = replaced.ids.len().saturating_sub(NAMED_MAX);
    replaced.notes.extend((more > 0).then(|| format!("RED removes or replaces {more} more tests")));
    replaced.notes.extend(files.iter().flat_map(TestFile::weakened).take(NAMED_MAX));
    replaced
}

/// Whether the old tree no longer contains a test, as far as its text shows.
pub fn is_unwritten(material: &Material<'_>, test: &Test) -> bool {
    let told = test.identity();
    let home = test
        .file
        .clone()
        .filter(|file| Language::of_path(file) != Language::Other)
        .or_else(|| told.file());
    let Some(home) = home else { return is_named_nowhere(material, &told) };
    let Some(source) = (material.before)(&home) else { return true };
    let items = syntax::items(Language::of_path(&home), &home, &source);
    let named = |item: &Item| About { file: home.clone(), item: item.name.clone() }.is(test);
    items.iter().any(|item| item.is_test) && !items.iter().any(named)
}

/// Cargo and Go do not report the file of a test, but its name is that of a function.
fn is_named_nowhere(material: &Material<'_>, told: &Identity<'_>) -> bool {
    let language = match told.home {
        Home::Package(_) => Language::Go,
        Home::Target(_) => Language::Rust,
        Home::Unknown | Home::File(_) => return false,
    };
    let name = told.name();
    let is_name =
        !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    let files: Vec<&String> =
        material.paths.iter().filter(|path| Language::of_path(path) == language).collect();
    let is_in = |path: &&String| {
        (material.before)(path).is_some_and(|source| syntax::mentions(&source, name))
    };
    is_name && !files.is_empty() && files.len() <= CODE_FILES_MAX && !files.iter().any(is_in)
}

/// The tests in files that do not load, according to `read`. They ran before and are owed when the
/// file loads. They may be all that RED changed.
pub fn owed(
    read: &dyn Fn(&str) -> Option<String>,
    errors: &[LoadError],
    before: &Report,
) -> Vec<String> {
    let mut files: Vec<&str> = errors.iter().filter_map(|error| error.file.as_deref()).collect();
    files.sort_unstable();
    files.dedup();
    let mut written: Vec<About> = Vec::new();
    for file in files {
        let items = syntax::items(Language::of_path(file), file, &read(file).unwrap_or_default());
        let tests = items.into_iter().filter(|item| item.is_test);
        written.extend(tests.map(|item| About { file: file.to_owned(), item: item.name }));
    }
    let passed = before.tests.iter().filter(|test| test.status == Status::Passed);
    passed
        .filter(|test| written.iter().any(|about| about.is(test)))
        .map(|test| test.id.clone())
        .collect()
}

fn changed<'m>(material: &'m Material<'_>) -> impl Iterator<Item = &'m ChangedPath> {
    let tests = |changed: &&ChangedPath| {
        matches!(changed.class, Class::Test | Class::Mixed | Class::MoreTests)
    };
    let known = |changed: &&ChangedPath| Language::of_path(&changed.path) != Language::Other;
    material.change.paths.iter().filter(tests).filter(known).take(super::FILES_MAX)
}

/// A changed test file, before and after.
struct TestFile {
    path: String,
    kind: Kind,
    old: String,
    new: String,
    old_items: Vec<Item>,
    new_items: Vec<Item>,
}

impl TestFile {
    fn read(material: &Material<'_>, changed: &ChangedPath) -> Self {
        let language = Language::of_path(&changed.path);
        let (old, new) = ((material.before)(&changed.path), (material.now)(&changed.path));
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let tests = |source: &str| {
            let mut items = syntax::items(language, &changed.path, source);
            items.retain(|item| item.is_test);
            items
        };
        Self {
            path: changed.path.clone(),
            kind: changed.kind,
            old_items: tests(&old),
            new_items: tests(&new),
            old,
            new,
        }
    }

    fn about(&self, item: &Item) -> About {
        About { file: self.path.clone(), item: item.name.clone() }
    }

    fn holds(&self, test: &Test) -> bool {
        test.is_in(&self.path) || self.old_items.iter().any(|item| self.about(item).is(test))
    }

    /// Whether an old test that did not run was replaced by one that covers the same code.
    fn replaces(
        &self,
        test: &Test,
        code: &BTreeSet<String>,
        asking: &[BTreeSet<String>],
        after: &Report,
        files: &[TestFile],
    ) -> bool {
        if self.kind == Kind::Added || !self.holds(test) {
            return false;
        }
        let shares = |text: &str| {
            let own = words(text, code);
            asking.iter().any(|asked| !own.is_disjoint(asked))
        };
        let Some(item) = self.old_items.iter().find(|item| self.about(item).is(test)) else {
            // Its name is created at run time, so only its file is known.
            return self.old != self.new && shares(&self.old);
        };
        let text = self.old.get(item.span.clone()).unwrap_or_default();
        match self.new_items.iter().find(|now| now.name == item.name) {
            None => files.iter().any(|file| file.has_twin(item)) || shares(text),
            Some(now) if now.text_hash != item.text_hash => shares(text),
            // A row of a table elsewhere in the file: other rows of the same test ran.
            Some(now) => after.tests.iter().any(|one| self.about(now).is(one)) && shares(text),
        }
    }

    /// The same test under another name or in another file.
    fn has_twin(&self, item: &Item) -> bool {
        let same = |now: &&Item| now.body_hash == item.body_hash && now.kind == item.kind;
        let known = |now: &Item| self.old_items.iter().any(|old| old.name == now.name);
        self.new_items.iter().filter(same).any(|now| !known(now))
    }

    /// Tests that check less than before, by their text.
    fn weakened(&self) -> Vec<String> {
        if self.kind != Kind::Modified {
            return Vec::new();
        }
        let changes = syntax::test_block_frozen(
            Language::of_path(&self.path),
            &self.path,
            &self.old,
            &self.new,
        );
        let weaker = changes.into_iter().filter_map(|change| match change {
            ItemChange::Weakened { old, how, .. } if old.is_test => Some((old, how)),
            ItemChange::Weakened { .. }
            | ItemChange::Added(_)
            | ItemChange::Removed(_)
            | ItemChange::Renamed { .. }
            | ItemChange::Changed { .. } => None,
        });
        let tell = |(old, how): (Item, Vec<syntax::Weakness>)| {
            let words: Vec<&str> = how.iter().map(super::reworked::weakness).collect();
            format!("RED weakens a test: {} in {} {}", old.name, self.path, words.join(", "))
        };
        weaker.map(tell).collect()
    }
}

/// For each new or changed test that fails or does not load yet: the names of project code in it.
fn asking(
    files: &[TestFile],
    code: &BTreeSet<String>,
    before: &Report,
    after: &Report,
) -> Vec<BTreeSet<String>> {
    let mut all = Vec::new();
    for file in files {
        let is_new = |item: &&Item| {
            !file
                .old_items
                .iter()
                .any(|old| old.name == item.name && old.text_hash == item.text_hash)
        };
        let unloaded = after.load_errors.iter().any(|error| is_hit(error, &file.path));
        let fails = |item: &Item| {
            let about = file.about(item);
            after.tests.iter().any(|test| test.status.is_failure() && about.is(test))
        };
        // A helper or a table of the file may have changed instead of the test itself.
        let turned = |item: &Item| {
            let about = file.about(item);
            let passed = |id: &str| before.test(id).is_none_or(|test| !test.status.is_failure());
            file.old != file.new
                && after
                    .tests
                    .iter()
                    .any(|test| test.status.is_failure() && passed(&test.id) && about.is(test))
        };
        let items = file
            .new_items
            .iter()
            .filter(|item| is_new(item) && (unloaded || fails(item)) || turned(item));
        let text = |item: &Item| file.new.get(item.span.clone()).unwrap_or_default().to_owned();
        all.extend(items.map(|item| words(&text(item), code)));
        // Tests with names that are created at run time.
        let anonymous = after.tests.iter().any(|test| {
            test.status.is_failure()
                && before.test(&test.id).is_none()
                && file.holds(test)
                && !file.new_items.iter().any(|item| file.about(item).is(test))
        });
        if anonymous || unloaded && file.new_items.is_empty() {
            all.push(words(&file.new, code));
        }
    }
    all
}

/// Whether an error prevents the tests of a file from running. Go builds a package as a whole.
fn is_hit(error: &LoadError, path: &str) -> bool {
    error
        .file
        .as_deref()
        .is_none_or(|file| file == path || path.ends_with(".go") && folder(file) == folder(path))
}

/// The words in a text that are names of project code.
fn words(text: &str, code: &BTreeSet<String>) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| code.contains(*word)).map(str::to_owned).collect()
}

/// Names that the project's code defines, and that its tests import.
fn code_names(material: &Material<'_>, files: &[TestFile]) -> BTreeSet<String> {
    let languages: Vec<Language> = files.iter().map(|file| stand_in::family(&file.path)).collect();
    let is_code =
        |path: &&String| languages.contains(&stand_in::family(path)) && !material.is_test(path);
    let mut names = BTreeSet::new();
    for path in material.paths.iter().filter(is_code).take(CODE_FILES_MAX) {
        let source = (material.before)(path).or_else(|| (material.now)(path)).unwrap_or_default();
        names.extend(
            syntax::names(Language::of_path(path), path, &source).into_iter().map(|name| name.name),
        );
    }
    let project = syntax::Project { paths: material.paths, packages: material.packages };
    for file in files {
        let language = Language::of_path(&file.path);
        for source in [&file.old, &file.new] {
            let own = syntax::imports(language, source).into_iter().filter(|import| {
                let mut found = syntax::resolve(language, &file.path, import, project);
                found.extend(stand_in::planned(language, &file.path, import, material));
                found.iter().any(|path| !material.is_test(path))
            });
            names.extend(own.flat_map(|import| import.names));
        }
    }
    names
}
