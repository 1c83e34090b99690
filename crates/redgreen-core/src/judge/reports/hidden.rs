//! Tests that cannot run because a file does not load.

use super::*;

/// Whether the test is in a test file that changed.
pub(super) fn in_changed_test(change: &Change, test: &Test) -> bool {
    let tests =
        change.paths.iter().filter(|changed| matches!(changed.class, Class::Test | Class::Mixed));
    tests.into_iter().any(|changed| lives_in(test, &changed.path))
}

/// Whether the test is in that file. An exit code represents all tests in all files.
pub(super) fn lives_in(test: &Test, path: &str) -> bool {
    test.is_in(path) || test.id.starts_with(EXIT_CODE_ONLY)
}

pub(super) fn in_modified_test_file(change: &Change, error: &LoadError, test: &Test) -> bool {
    error.file.as_deref().is_some_and(|broken| {
        let modified = |path: &ChangedPath| {
            path.path == broken && path.class == Class::Test && path.kind == Kind::Modified
        };
        lives_in(test, broken) && change.paths.iter().any(modified)
    })
}

/// Whether the broken files explain why a test has no result. A runner that ran nothing hides
/// everything it would have run.
pub(super) fn hides(errors: &[&LoadError], change: &Change, after: &Report, test: &Test) -> bool {
    let stopped = |error: &&LoadError| stops_runner_of(error, after, test);
    !errors.is_empty()
        && (after.tests.is_empty() || errors.iter().any(stopped) || hidden_by(errors, change, test))
}

/// With several frameworks: whether the framework of this test ran nothing because of one of its
/// own broken files.
pub(super) fn stops_runner_of(error: &LoadError, after: &Report, test: &Test) -> bool {
    let Some((folder, extension)) = kin(test) else { return false };
    let own = |file: &str| file.starts_with(folder) && extension_of(file) == Some(extension);
    error.file.as_deref().is_some_and(own)
        && !after.tests.iter().any(|other| kin(other) == Some((folder, extension)))
}

/// The folder and language that a test shares with the tests that run together with it.
pub(super) fn kin(test: &Test) -> Option<(&str, &str)> {
    let file = test.file.as_deref()?;
    Some((test.identity().folder, extension_of(file)?))
}

pub(super) fn extension_of(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(_, extension)| extension)
}

/// Whether one of the broken files explains why a test could not run. If the file of the test is
/// unknown, assume so: the test is owed at GREEN anyway.
pub(super) fn hidden_by(errors: &[&LoadError], change: &Change, test: &Test) -> bool {
    errors.iter().any(|error| match (&error.file, &test.file) {
        (None, _) => true,
        (Some(broken), _) if lives_in(test, broken) => true,
        // Go builds a package as a whole.
        (Some(broken), Some(file)) => broken.ends_with(".go") && folder(broken) == folder(file),
        // A new file in `tests` is a separate program. No other program needs it, unless that one
        // changed too.
        (Some(broken), None) => {
            !is_new_test_target(change, broken) || in_changed_test(change, test)
        }
    })
}

pub(super) fn is_new_test_target(change: &Change, path: &str) -> bool {
    let place = folder(path);
    let in_tests = (place == "tests" || place.ends_with("/tests"))
        && !path.split('/').any(|part| part == "src");
    in_tests
        && change.paths.iter().any(|changed| changed.path == path && changed.kind == Kind::Added)
}
