//! Ranges of unusual size and shape, and policies that need an answer for every place.

use std::fmt::Write;

use super::{
    CODE, OLD, OLD_TEST, TEST, classes, codes, inconclusive, project, proven, refuted, verify,
};
use crate::story::Story;

/// More commits than are read one by one, more places than are tried, and more files than are
/// listed.
#[test]
fn a_huge_range_is_bounded_and_says_so() {
    let story = project();
    let mut history = String::new();
    for number in 0..600 {
        let parent = if number == 0 { "from refs/heads/topic^0\n" } else { "" };
        write!(
            history,
            "commit refs/heads/topic\ncommitter A <a@example.com> {number} +0000\ndata 6\nfeat: \
             \n{parent}M 644 inline notes/{number}.md\ndata 1\nx\n"
        )
        .unwrap();
    }
    story.script("history", &history);
    story.git("checkout -q --detach");
    let file = std::fs::File::open(story.place("history")).unwrap();
    let status = story.command("git").args(["fast-import", "--quiet"]).stdin(file).status();
    assert!(status.unwrap().success());
    story.git("checkout -q topic");
    let many = |sign: &str| -> String {
        (0..300).fold(String::new(), |mut text, at| {
            write!(
                text,
                "def f{at}(n):\n    a = n {sign} {at}\n    b = a\n    c = b\n    return c\n"
            )
            .unwrap();
            text
        })
    };
    story.file("many.py", &many("+")).commit("many");
    let base = story.git("rev-parse HEAD");
    story.file("many.py", &many("-")).file("roman.py", CODE).file("tests/test_roman.py", TEST);
    story.commit("all of it");
    let json = proven(&story, &format!("{base}..topic --commits never"));
    assert_eq!(classes(&json).len(), 2, "{json:#}");
    let left = json["notVerified"].to_string();
    assert!(left.contains("more than 200 places in the code changed"), "{left}");
    let (_, json) = verify(&story, "main..topic");
    assert_eq!(json["outcome"], "proven", "{json:#}");
    let left = json["notVerified"].to_string();
    assert!(left.contains("commits before the newest 500"), "{left}");
    assert!(left.contains("more documentation and dependency files"), "{left}");
}

/// The changed tests do not run the other change. Reverting it changes nothing, and only an old test
/// kills a mutant of it.
#[test]
fn a_place_that_only_old_tests_cover_is_tested() {
    let story = project();
    story.git("checkout -q main");
    story.file("redgreen.toml", "backoff = 0.0\n\n[verify]\nevery-place = true\nmin-kill = 50\n");
    story.commit("strict");
    story.git("checkout -q -B topic main");
    story.file("old.py", &OLD.replace("2 * n", "n + n"));
    story.file("roman.py", CODE).file("tests/test_roman.py", TEST).commit("both");
    let json = proven(&story, "main..topic");
    let places = json["code"].as_array().unwrap().iter();
    let mut places: Vec<String> =
        places.map(|one| format!("{} {}", one["file"], one["standing"])).collect();
    places.sort();
    assert_eq!(places, ["\"old.py\" \"tested\"", "\"roman.py\" \"tested\""], "{json:#}");
    let mutants = json["evidence"]["mutants"].to_string();
    assert!(!mutants.contains("isPartial\":true,\"killed\":\"by-none"), "{mutants}");
    // Nothing covers this one.
    story.file("half.py", "def half(n):\n    return n / 2\n").commit("without a test");
    refuted(&story, "main..topic", "verify.no_test");
}

#[test]
fn parts_of_a_refused_range_are_merged_like_the_whole() {
    let story = project();
    story.file("roman.py", CODE).file("tests/test_roman.py", TEST);
    std::fs::remove_file(story.root.join("tests/test_old.py")).unwrap();
    story.commit("roman numerals, and no old test");
    let whole = refuted(&story, "main..topic", "green.tests_vanished");
    for part in ["1/2", "2/2"] {
        let said = story.redgreen(&format!("verify main..topic --shard {part} --json")).exits(0);
        story.script(&format!("part-{}.json", &part[..1]), said.stdout.lines().last().unwrap());
    }
    let merged = story.redgreen("verify --merge @part-1.json @part-2.json --json").exits(1).json();
    assert_eq!(merged["reasons"], whole["reasons"], "{merged:#}");
    assert_eq!(codes(&merged), ["green.tests_vanished"]);
}

/// A merge with three parents, and a range that starts in the middle of a branch.
#[test]
fn an_octopus_merge_and_the_end_of_a_branch() {
    let story = project();
    story.git("checkout -q -b left main");
    story.file("roman.py", CODE).file("tests/test_roman.py", TEST).commit("roman numerals");
    story.git("checkout -q -b right main");
    let half = "def half(n):\n    return n / 2\n";
    let test = "from half import half\n\n\ndef test_half():\n    assert half(4) == 2\n";
    story.file("half.py", half).file("tests/test_half.py", test).commit("half");
    story.git("checkout -q topic");
    story.file("README.md", "words\n").commit("words");
    story.git("merge -q --no-edit left right");
    let json = proven(&story, "main..topic");
    assert_eq!(classes(&json).len(), 3, "{json:#}");
    inconclusive(&story, "--pr", "is not a merge of two commits");
    let json = proven(&story, "left..topic");
    assert_eq!(classes(&json), ["test_half proven-by-mutant"]);
}

/// A test file that is moved and a change of behaviour in one range.
#[test]
fn a_moved_test_file_beside_a_feature() {
    let story = project();
    story.git("mv tests/test_old.py tests/test_double.py");
    story.file("roman.py", CODE).file("tests/test_roman.py", TEST).commit("moves and adds");
    let json = proven(&story, "main..topic");
    assert_eq!(
        classes(&json).into_iter().filter(|class| class.starts_with("test_one")).count(),
        1,
        "{json:#}"
    );
    // The test that moved also checks less.
    story.file("tests/test_double.py", &OLD_TEST.replace("== 4", "is not None")).commit("less");
    let (_, json) = verify(&story, "main..topic");
    assert_eq!(json["outcome"], "refuted", "{json:#}");
}

/// Both names mean other trees than their commits in the working tree.
#[test]
fn a_tag_an_abbreviated_commit_and_local_changes() {
    let story: Story = project();
    story.file("roman.py", CODE).file("tests/test_roman.py", TEST).commit("roman numerals");
    story.git("tag -a -m release v1 main");
    let head = story.git("rev-parse --short topic");
    // Uncommitted work is no part of the range.
    story.file("old.py", "broken(\n").file("tests/test_old.py", "assert False\n");
    proven(&story, &format!("v1..{head}"));
    assert_eq!(story.git("diff --name-only").lines().count(), 2);
}
