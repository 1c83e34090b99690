//! What `redgreen verify` keeps between ranges, and what it does not repeat.

use std::fs;

use super::{CODE, OLD, OLD_TEST, TEST, classes, proven};
use crate::story::Story;

/// A project whose test runs write the names of their test files to a file outside of the
/// repository, with a package that is not in git.
fn observed() -> Story {
    let story = Story::pytest();
    let mark = story.place("runs");
    let observe = format!(
        "import os\n\nwith open({mark:?}, \"a\") as file:\n    \
         names = [name for name in os.listdir(\"tests\") if name.endswith(\".py\")]\n    \
         file.write(\" \".join(sorted(names)) + \"\\n\")\n"
    );
    story
        .file("redgreen.toml", "backoff = 0.0\n\n[test]\nfence = \"none\"\n")
        .file(".gitignore", "vendor/\n")
        .file("vendor/lib.py", "NAME = 1\n")
        .file("old.py", OLD)
        .file("tests/test_old.py", OLD_TEST)
        .file("conftest.py", &observe)
        .commit("base");
    story.git("checkout -q -b topic");
    story.file("roman.py", CODE).file("tests/test_roman.py", TEST).commit("roman numerals");
    story
}

/// How often the tests ran with exactly these test files.
fn runs(story: &Story, files: &str) -> usize {
    let text = fs::read_to_string(story.place("runs")).unwrap_or_default();
    text.lines().filter(|line| *line == files).count()
}

#[test]
fn results_of_the_base_are_reused_after_packages_were_installed_again() {
    let story = observed();
    let base = "test_old.py";
    proven(&story, "main..topic");
    assert_eq!(runs(&story, base), 1);
    proven(&story, "main..topic");
    assert_eq!(runs(&story, base), 1, "its results are stored");
    // A CI system installs the same packages for every run.
    fs::remove_dir_all(story.root.join("vendor")).unwrap();
    story.file("vendor/lib.py", "NAME = 1\n");
    proven(&story, "main..topic");
    assert_eq!(runs(&story, base), 1, "the packages are the same");
    story.file("vendor/lib.py", "NAME = 2\n");
    proven(&story, "main..topic");
    assert_eq!(runs(&story, base), 2, "the packages are others");
    proven(&story, "main..topic --test-command \"python -m pytest -q\"");
    assert_eq!(runs(&story, base), 3, "the command is another one");
}

#[test]
fn the_head_of_a_range_is_a_known_base_of_the_next() {
    let story = observed();
    proven(&story, "main..topic");
    let base = "test_old.py test_roman.py";
    let before = runs(&story, base);
    assert!(before > 0);
    story.git("checkout -q -b next");
    let half = "def half(n):\n    return n / 2\n";
    let test = "from half import half\n\n\ndef test_half():\n    assert half(4) == 2\n";
    story.file("half.py", half).file("tests/test_half.py", test).commit("half");
    let json = proven(&story, "topic..next");
    assert_eq!(classes(&json), ["test_half proven-by-mutant"]);
    assert_eq!(runs(&story, base), before, "the base is not measured again");
}

#[test]
fn a_range_that_is_one_pair_of_commits_is_judged_once() {
    let story = observed();
    story.git("checkout -q -B pair main");
    story.file("tests/test_roman.py", TEST).commit("test: roman numerals");
    story.file("roman.py", CODE).commit("feat: roman numerals");
    let with_tests = "test_old.py test_roman.py";
    proven(&story, "main..pair --commits never");
    let once = runs(&story, with_tests);
    let json = proven(&story, "main..pair");
    assert_eq!(json["evidence"]["commits"][0]["steps"], json["evidence"]["steps"], "{json:#}");
    assert_eq!(runs(&story, with_tests), 2 * once, "the pair adds no run");
}
