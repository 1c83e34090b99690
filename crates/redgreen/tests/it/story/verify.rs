//! `redgreen verify` on ranges of every shape: what is proven, what is refuted, and what stays
//! unknown.

mod evidence;
mod forged;
mod shapes;
mod stored;
mod weaker;

use std::fs;

use serde_json::Value;

use super::{ProgramOutput, Story};
use crate::runner::is_installed;
use crate::skip::skipped;

const OLD: &str = "def double(n):\n    return 2 * n\n";
const OLD_TEST: &str =
    "from old import double\n\n\ndef test_doubles():\n    assert double(2) == 4\n";
const CODE: &str = "def to_roman(n):\n    out = \"\"\n    for value, sign in [(10, \"X\"), (9, \"IX\"), (5, \"V\"), \
                    (4, \"IV\"), (1, \"I\")]:\n        while n >= value:\n            out += sign\n            \
                    n -= value\n    return out\n";
const TEST: &str = "from roman import to_roman\n\n\ndef test_one():\n    assert to_roman(1) == \"I\"\n\n\n\
                    def test_nine():\n    assert to_roman(9) == \"IX\"\n";

/// A project with a function and its test on `main`, and the branch `topic` checked out.
fn project() -> Story {
    let story = Story::pytest();
    story
        .file("old.py", OLD)
        .file("tests/test_old.py", OLD_TEST)
        .file("conftest.py", "")
        .commit("base");
    story.git("checkout -q -b topic");
    story
}

/// The same project, with another function and its tests in one commit.
fn feature() -> Story {
    let story = project();
    story.file("roman.py", CODE).file("tests/test_roman.py", TEST).commit("roman numerals");
    story
}

#[track_caller]
fn verify(story: &Story, line: &str) -> (ProgramOutput, Value) {
    let said = story.redgreen(&format!("verify {line} --json"));
    let json = said.json();
    let exit = match json["outcome"].as_str() {
        Some("proven") => 0,
        Some("refuted") => 1,
        _ => 3,
    };
    (said.exits(exit), json)
}

fn codes(json: &Value) -> Vec<String> {
    let reasons = json["reasons"].as_array().unwrap();
    reasons.iter().map(|reason| reason["code"].as_str().unwrap().to_owned()).collect()
}

/// The class of each test, after the last part of the test's name.
fn classes(json: &Value) -> Vec<String> {
    let tests = json["tests"].as_array().unwrap().iter();
    let name = |test: &Value| {
        test["id"].as_str().unwrap().rsplit("::").next().unwrap_or_default().to_owned()
    };
    tests.map(|test| format!("{} {}", name(test), test["class"].as_str().unwrap())).collect()
}

#[track_caller]
fn proven(story: &Story, line: &str) -> Value {
    let (_, json) = verify(story, line);
    assert_eq!(json["outcome"], "proven", "{json:#}");
    json
}

#[track_caller]
fn refuted(story: &Story, line: &str, code: &str) -> Value {
    let (_, json) = verify(story, line);
    assert_eq!(json["outcome"], "refuted", "{json:#}");
    assert!(codes(&json).iter().any(|known| known == code), "wanted {code}: {json:#}");
    json
}

#[track_caller]
fn inconclusive(story: &Story, line: &str, words: &str) -> Value {
    let (_, json) = verify(story, line);
    assert_eq!(json["outcome"], "inconclusive", "{json:#}");
    let told = json["reasons"].to_string();
    assert!(told.contains(words), "wanted {words:?}: {told}");
    json
}

#[test]
fn test_and_code_in_one_commit_are_proven() {
    let story = feature();
    let before = story.belongings();
    let json = proven(&story, "main..topic");
    assert_eq!(classes(&json), ["test_one proven-by-mutant", "test_nine proven-by-mutant"]);
    assert_eq!(json["code"][0]["standing"], "tested");
    assert_eq!(before, story.belongings(), "nothing of the user's is touched");
    // Without a range, `verify` compares the current branch with the branch that it will be merged
    // into.
    proven(&story, "");
    story.redgreen("verify").exits(0).says("not verified");
}

#[test]
fn a_change_of_behaviour_is_proven_by_the_test_that_fails_without_it() {
    let story = project();
    let test = OLD_TEST.replace(
        "== 4",
        "== 4\n    assert double(\"a\") == \"aa\"\n    assert double(None) is None",
    );
    story
        .file("old.py", "def double(n):\n    return None if n is None else 2 * n\n")
        .file("tests/test_old.py", &test);
    story.commit("doubles nothing");
    let json = proven(&story, "main..topic");
    assert_eq!(classes(&json), ["test_doubles proven"]);
}

#[test]
fn a_squash_a_rebase_and_separate_commits_of_the_same_work_are_proven() {
    let story = project();
    story.file("tests/test_roman.py", TEST).commit("the tests of it");
    story.file("roman.py", CODE).commit("the code of it");
    proven(&story, "main..topic");
    story.git("checkout -q main");
    story.file("README.md", "words\n").commit("main goes on");
    story.git("checkout -q topic");
    // The base is the commit where the branch started, whatever was added to the target since.
    let json = proven(&story, "main..topic");
    assert!(!json["notVerified"].to_string().contains("README"), "{json:#}");
    story.git("rebase -q main");
    proven(&story, "main..topic");
    story.git("checkout -q -b squashed main");
    story.git("merge -q --squash topic");
    story.commit("squashed");
    proven(&story, "main..squashed");
}

#[test]
fn a_merge_of_main_is_no_part_of_the_range_and_what_somebody_hides_in_it_is() {
    let story = feature();
    story.git("checkout -q main");
    story.file("other.py", "def half(n):\n    return n / 2\n").commit("main goes on");
    story.git("checkout -q topic");
    story.git("merge -q --no-edit main");
    let json = proven(&story, "main..topic");
    assert_eq!(json["code"].as_array().unwrap().len(), 1, "{json:#}");
    // An evil merge: it deletes a test that neither side changed.
    story.git("checkout -q main");
    story.file("third.py", "def third(n):\n    return n / 3\n").commit("main goes on again");
    story.git("checkout -q topic");
    story.git("merge -q --no-commit --no-ff main");
    fs::remove_file(story.root.join("tests/test_old.py")).unwrap();
    story.commit("merge");
    refuted(&story, "main..topic", "green.tests_vanished");
}

#[test]
fn tests_alone_are_proven_when_they_notice_something() {
    let story = project();
    let test = "from old import double\n\n\ndef test_zero():\n    assert double(0) == 0\n    assert double(3) == 6\n";
    story.file("tests/test_more.py", test).commit("more tests");
    let json = proven(&story, "main..topic");
    assert_eq!(classes(&json), ["test_zero characterises"]);
    let empty = "from old import double\n\n\ndef test_it():\n    double(2)\n    assert True\n";
    story.file("tests/test_empty.py", empty).commit("a test that asks for nothing");
    let json = refuted(&story, "main..topic", "verify.does_not_discriminate");
    assert!(classes(&json).contains(&"test_it does-not-discriminate".to_owned()), "{json:#}");
}

#[test]
fn code_alone_is_kept_as_the_tests_know_it_or_has_no_test() {
    let story = project();
    story.file("old.py", "def double(n):\n    return n + n\n").commit("another way");
    let json = proven(&story, "main..topic");
    assert_eq!(json["code"][0]["standing"], "tested");
    story
        .file("old.py", &format!("{OLD}\n\ndef triple(n):\n    return 3 * n\n"))
        .commit("a feature without a test");
    let (_, json) = verify(&story, "main..topic");
    assert_eq!(json["outcome"], "refuted", "{json:#}");
}

#[test]
fn tests_that_nobody_runs_prove_nothing() {
    let story = Story::pytest();
    story.git("checkout -q -b topic");
    story.file("roman.py", CODE).commit("code, and not one test in the project");
    inconclusive(&story, "main..topic", "no test ran");
    let story = project();
    let test = "def helper():\n    def test_inner():\n        assert False\n\n\nif False:\n\n    def test_never():\n        assert False\n";
    story.file("tests/test_never.py", test).commit("a test that is never defined");
    let (_, json) = verify(&story, "main..topic");
    assert!(
        json["notVerified"].to_string().contains("test_never changed, but did not run"),
        "{json:#}"
    );
}

#[test]
fn code_that_makes_a_failing_test_pass_is_proven_by_it_and_the_judge_says_so_still() {
    let story = project();
    story.file("tests/test_roman.py", TEST).commit("the tests of it");
    story.file("roman.py", CODE).commit("the code of it");
    let json = proven(&story, "HEAD~1..HEAD");
    assert_eq!(json["evidence"]["steps"][0]["phase"], "GREEN", "{json:#}");
    assert_eq!(json["code"][0]["standing"], "tested", "{json:#}");
    // The stored test results of the base must not count as a verdict.
    story.redgreen("judge green").exits(0).says("green.passes");
}

#[test]
fn a_regression_a_weaker_test_and_a_skipped_one_are_refuted() {
    let story = feature();
    story.file("old.py", "def double(n):\n    return 3 * n\n").commit("breaks the old one");
    refuted(&story, "main..topic", "green.regression");
    story.file("old.py", OLD);
    story.file(
        "tests/test_old.py",
        &OLD_TEST.replace("def test", "import pytest\n\n\n@pytest.mark.skip\ndef test"),
    );
    story.commit("skips the old one");
    let (_, json) = verify(&story, "main..topic");
    assert_eq!(json["outcome"], "refuted", "{json:#}");
    story.git("checkout -q -B weaker main");
    story
        .file("tests/test_old.py", &OLD_TEST.replace("== 4", "is not None"))
        .commit("asks for less");
    let (_, json) = verify(&story, "main..weaker");
    assert_eq!(json["outcome"], "refuted", "{json:#}");
}

#[test]
fn an_old_test_that_asks_for_less_beside_a_feature_is_refuted_unless_it_is_obsolete() {
    let story = feature();
    story
        .file("tests/test_old.py", &OLD_TEST.replace("== 4", "is not None"))
        .commit("asks for less");
    let (_, json) = verify(&story, "main..topic");
    assert_eq!(json["outcome"], "refuted", "{json:#}");
    assert!(codes(&json)[0].starts_with("refactor.tests_"), "{json:#}");
    // The behaviour changed, and so did the old test.
    let changed = OLD_TEST.replace("assert double(2) == 4", "assert double(2) in (5, 5.0)");
    story
        .file("old.py", "def double(n):\n    return 2 * n + 1\n")
        .file("tests/test_old.py", &changed);
    story.commit("doubles and adds one");
    let json = proven(&story, "main..topic");
    assert!(classes(&json).contains(&"test_doubles proven".to_owned()), "{json:#}");
}

#[test]
fn documentation_a_lock_file_and_an_empty_range() {
    let story = project();
    story.file("README.md", "# It\n").file("docs/guide.md", "words\n").commit("words");
    let json = proven(&story, "main..topic");
    assert!(json["notVerified"].to_string().contains("docs/guide.md"), "{json:#}");
    story.file("poetry.lock", "content-hash = \"1\"\n").commit("a lock");
    let json = proven(&story, "main..topic");
    assert!(json["notVerified"].to_string().contains("poetry.lock"), "{json:#}");
    let json = inconclusive(&story, "topic..topic", "the range is empty");
    assert_eq!(codes(&json), ["verify.empty_range"], "the next step fits");
    story
        .file("old.py", &OLD.replace("    return", "    \"\"\"Twice as much.\"\"\"\n    return"))
        .commit("says what");
    let json = proven(&story, "main..topic");
    assert_eq!(json["code"].as_array().unwrap().len(), 0, "{json:#}");
}

#[test]
fn a_rename_and_a_moved_test_change_nothing() {
    let story = project();
    story.git("mv old.py twice.py");
    story.git("mv tests/test_old.py tests/test_twice.py");
    story.file("tests/test_twice.py", &OLD_TEST.replace("from old", "from twice"));
    story.file("old.py", "from twice import double\n\n__all__ = [\"double\"]\n");
    story.commit("another name");
    let (_, json) = verify(&story, "main..topic");
    assert_eq!(json["outcome"], "proven", "{json:#}");
}

#[test]
fn a_revert_of_a_feature_is_reported_as_the_tests_that_go() {
    let story = feature();
    story.git("checkout -q main");
    story.git("merge -q --no-edit topic");
    story.git("checkout -q -b revert");
    story.git("revert --no-edit HEAD");
    // Passing tests are gone. A user who wants that says so in the base's policy.
    refuted(&story, "main..revert", "red.tests_vanished");
    story.git("checkout -q main");
    let policy = "backoff = 0.0\n\n[[verify.exempt]]\npaths = [\"tests/test_roman.py\", \"roman.py\"]\nreason = \"the feature goes\"\n";
    story.file("redgreen.toml", policy).commit("the policy");
    story.git("checkout -q revert");
    story.git("rebase -q main");
    let (_, json) = verify(&story, "main..revert");
    assert!(!codes(&json).iter().any(|code| code == "red.tests_vanished"), "{json:#}");
}

#[test]
fn a_submodule_is_not_looked_into() {
    let story = feature();
    let own = story.git("rev-parse HEAD");
    story.git(&format!("update-index --add --cacheinfo 160000,{own},vendor/lib"));
    story.git("commit -q -m bump");
    inconclusive(&story, "main..topic", "vendor/lib is a separate repository");
}

#[test]
fn generated_and_binary_files_are_beside_the_point() {
    let story = feature();
    fs::write(story.root.join("logo.png"), [0x89, b'P', b'N', b'G', 0, 1, 2, 255]).unwrap();
    story.file("tests/data/table.csv", "1,I\n").commit("more files");
    proven(&story, "main..topic");
}

#[test]
fn a_baseline_that_is_red_and_a_test_that_wavers_are_nobodys_fault() {
    let story = Story::pytest();
    let red = "def test_broken_before():\n    assert 1 == 2\n";
    // Passes every second time.
    let wavers = "import os\nimport tempfile\n\n\ndef test_wavers():\n    path = os.path.join(tempfile.gettempdir(), \"once\")\n    \
                  there = os.path.exists(path)\n    if there:\n        os.remove(path)\n    else:\n        \
                  open(path, \"w\").close()\n    assert there\n";
    story.file("old.py", OLD).file("tests/test_old.py", OLD_TEST).file("conftest.py", "");
    story.file("tests/test_red.py", red).file("tests/test_wavers.py", wavers).commit("base");
    story.git("checkout -q -b topic");
    story.file("roman.py", CODE).file("tests/test_roman.py", TEST).commit("roman numerals");
    let json = proven(&story, "main..topic");
    assert_eq!(classes(&json).len(), 2, "{json:#}");
}

#[test]
fn several_frameworks_in_one_repository_and_generated_files() {
    if !is_installed("node") {
        return skipped("node is not installed");
    }
    let story = Story::pytest();
    let policy = "backoff = 0.0\n\n[verify]\nevery-place = true\nuntested = [\"*_pb2.py\"]\n";
    story
        .file("redgreen.toml", policy)
        .file("old.py", OLD)
        .file("tests/test_old.py", OLD_TEST)
        .file("conftest.py", "");
    story.file(
        "web/package.json",
        "{\"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n",
    );
    let old = "import test from 'node:test';\nimport assert from 'node:assert';\ntest('adds', () => assert.equal(1 + 1, 2));\n";
    story.file("web/old.test.js", old).commit("base");
    story.git("checkout -q -b topic");
    story
        .file("roman.py", CODE)
        .file("tests/test_roman.py", TEST)
        .file("roman_pb2.py", "NAMES = {\"a\": 1}\n");
    story.file("web/half.js", "export const half = (n) => n / 2;\n");
    let test = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { half } from './half.js';\n\
                test('halves', () => assert.equal(half(4), 2));\n";
    story.file("web/half.test.js", test).commit("both sides");
    let json = proven(&story, "main..topic");
    assert_eq!(classes(&json).len(), 3, "{json:#}");
    let places: Vec<String> = json["code"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["file"], one["standing"]))
        .collect();
    assert!(places.contains(&"\"roman_pb2.py\" \"exempt\"".to_owned()), "{places:?}");
}

#[test]
fn a_shallow_clone_says_how_to_get_the_rest() {
    let story = feature();
    let shallow = story.place("shallow").display().to_string();
    story.git(&format!(
        "clone -q --depth 1 --branch topic file://{} {shallow}",
        story.root.display().to_string().replace(' ', "%20")
    ));
    let said = story.redgreen("-C @shallow verify HEAD~1..HEAD --json").exits(3);
    let told = said.json()["reasons"].to_string();
    assert!(
        told.contains("git says")
            && told.contains("fetch --unshallow")
            && told.contains("fetch-depth: 0"),
        "{told}"
    );
}

#[test]
fn histories_without_a_common_commit_and_names_that_are_none() {
    let story = feature();
    story.git("checkout -q --orphan alone");
    story.commit("alone");
    inconclusive(&story, "main..alone", "no commit in common");
    inconclusive(&story, "nowhere..alone", "nowhere is not a commit in this repository");
    for line in ["a..b..c", "--shard 3/2", "--pr main..topic", "--commits sometimes"] {
        story.redgreen(&format!("verify {line}")).exits(2);
    }
}

#[test]
fn a_detached_head_a_forks_branch_and_a_base_that_was_forced() {
    let story = feature();
    story.git("checkout -q --detach topic");
    proven(&story, "main..HEAD");
    let fork = story.place("fork").display().to_string();
    let here = story.root.display().to_string().replace(' ', "%20");
    story.git(&format!("clone -q file://{here} {fork}"));
    story.redgreen("-C @fork verify origin/main..origin/topic --json").exits(0);
    // The target branch was force-pushed to another history with the same start.
    story.git("checkout -q -B main main~1");
    story
        .file("old.py", OLD)
        .file("tests/test_old.py", OLD_TEST)
        .file("conftest.py", "\n")
        .commit("base, again");
    let (_, json) = verify(&story, "main..topic");
    assert_eq!(json["outcome"], "proven", "{json:#}");
}

#[test]
fn ci_says_which_commits_it_is_about() {
    let story = feature();
    let (base, head) = (story.git("rev-parse main"), story.git("rev-parse topic"));
    // GitHub checks out a merge of both.
    story.git("checkout -q --detach main");
    story.git("merge -q --no-ff --no-edit topic");
    let json = proven(&story, "--pr");
    assert_eq!(
        (json["evidence"]["base"].as_str(), json["evidence"]["head"].as_str()),
        (Some(&*base), Some(&*head))
    );
    let group = format!(r#"{{"merge_group":{{"base_sha":"{base}","head_sha":"{head}"}}}}"#);
    story.script("event.json", &group);
    let event = story.place("event.json").display().to_string();
    let story = story.env("GITHUB_ACTIONS", "true").env("GITHUB_EVENT_NAME", "merge_group");
    let story = story.env("GITHUB_EVENT_PATH", &event);
    let said = story.redgreen("verify --json").exits(0);
    assert_eq!(said.json()["evidence"]["head"].as_str(), Some(&*head));
    story.git("checkout -q topic");
    let json = inconclusive(&story, "--pr", "is not a merge of two commits");
    assert_eq!(codes(&json), ["verify.not_a_merge"], "the next step fits");
}

#[test]
fn a_forced_push_is_judged_by_all_commits_of_its_branch() {
    let story = feature();
    let (base, head) = (story.git("rev-parse main"), story.git("rev-parse topic"));
    // The branch had its code before its last commit was replaced.
    story.git("checkout -q -B before topic");
    story.git("commit -q --allow-empty -m replaced");
    let replaced = story.git("rev-parse HEAD");
    story.git("checkout -q topic");
    let event = story.place("event.json").display().to_string();
    let story = story.env("GITHUB_ACTIONS", "true").env("GITHUB_EVENT_NAME", "push");
    let story = story.env("GITHUB_EVENT_PATH", &event);
    for (before, why) in [
        (replaced, "the commit before the push is not on the branch any more"),
        ("1".repeat(40), "the commit before the push is not in this clone"),
    ] {
        story.script("event.json", &format!(r#"{{"before":"{before}","after":"{head}"}}"#));
        let said = story.redgreen("verify --json").exits(0);
        let evidence = &said.json()["evidence"];
        let ends = (evidence["base"].as_str(), evidence["head"].as_str());
        assert_eq!(ends, (Some(&*base), Some(&*head)), "{why}");
    }
}

#[test]
fn a_merge_request_of_gitlab_is_judged_by_its_own_commits() {
    let story = feature();
    let (base, head) = (story.git("rev-parse main"), story.git("rev-parse topic"));
    // Since then, the target branch got code without a test, and GitLab merged both.
    story.git("checkout -q main");
    story.file("untested.py", "def nothing():\n    return 0\n").commit("code without a test");
    story.git("checkout -q --detach main");
    story.git("merge -q --no-ff --no-edit topic");
    let merge = story.git("rev-parse HEAD");
    let story = story
        .env("GITLAB_CI", "true")
        .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base)
        .env("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", &head)
        .env("CI_COMMIT_BEFORE_SHA", &"0".repeat(40))
        .env("CI_COMMIT_SHA", &merge);
    let said = story.redgreen("verify --json").exits(0);
    let evidence = &said.json()["evidence"];
    assert_eq!(
        (evidence["base"].as_str(), evidence["head"].as_str()),
        (Some(&*base), Some(&*head))
    );
}

#[test]
fn the_policy_is_that_of_the_base() {
    let story = project();
    story.git("checkout -q main");
    story
        .file("redgreen.toml", "backoff = 0.0\n\n[verify]\nevery-place = true\n")
        .commit("a strict policy");
    story.git("checkout -q -B topic main");
    let code = format!("{CODE}\n\ndef is_roman(text):\n    return set(text) <= set(\"XVI\")\n");
    story
        .file("roman.py", &CODE.replace("10, \"X\"", "10, \"Y\""))
        .file("tests/test_roman.py", TEST)
        .commit("step one");
    story
        .file("roman.py", &code)
        .file("other.py", "def half(n):\n    return n / 2\n")
        .commit("no test for half");
    refuted(&story, "main..topic", "verify.no_test");
    // A policy that the range itself loosens has no effect, and `verify` reports the change.
    let loose = "backoff = 0.0\n\n[verify]\nuntested = [\"*\"]\n\n[test]\ncommand = \"true\"\n";
    story.file("redgreen.toml", loose).commit("a loose policy");
    let json = refuted(&story, "main..topic", "green.config_changed");
    assert_eq!(json["evidence"]["policy"]["every-place"], true);
    story.git("checkout -q main");
    story.file("redgreen.toml", "[verify]\nmin-kill = 200\n").commit("a wrong policy");
    story.git("checkout -q -B topic main");
    story.file("roman.py", CODE).file("tests/test_roman.py", TEST).commit("work");
    story.redgreen("verify main..topic").exits(2).says("min-kill");
}

#[test]
fn names_beyond_ascii_and_many_commits() {
    let story = project();
    story.file("größe.py", "def größe(n):\n    return n + 1\n");
    story.file(
        "tests/test_größe.py",
        "from größe import größe\n\n\ndef test_größe():\n    assert größe(1) == 2\n",
    );
    story.commit("Größe");
    for number in 0..40 {
        story.file("notes.txt", &format!("{number}\n")).commit("a note");
    }
    let (_, json) = verify(&story, "main..topic");
    assert_eq!(json["outcome"], "proven", "{json:#}");
}

#[test]
fn pairs_of_commits_are_judged_as_red_and_green() {
    let story = project();
    story.file("tests/test_roman.py", TEST).commit("test: roman numerals");
    // The range as a whole does not show that GREEN changed the test.
    let lazy = TEST.replace("\"IX\"", "\"IIIIIIIII\"");
    story
        .file("roman.py", "def to_roman(n):\n    return n * \"I\"\n")
        .file("tests/test_roman.py", &lazy);
    story.commit("feat: roman numerals");
    let json = refuted(&story, "main..topic", "green.tests_changed");
    assert_eq!(json["evidence"]["commits"].as_array().unwrap().len(), 1, "{json:#}");
    proven(&story, "main..topic --commits never");
}

#[test]
fn parts_made_on_several_machines_are_one_proof() {
    let story = feature();
    let whole = proven(&story, "main..topic");
    for part in ["1/2", "2/2"] {
        let said = story.redgreen(&format!("verify main..topic --shard {part} --json"));
        story.script(&format!("part-{}.json", &part[..1]), said.stdout.lines().last().unwrap());
    }
    let merged = story.redgreen("verify --merge @part-2.json @part-1.json --json").exits(0).json();
    assert_eq!(
        (&merged["outcome"], &merged["code"][0]["standing"]),
        (&whole["outcome"], &whole["code"][0]["standing"])
    );
    assert_eq!(classes(&merged), classes(&whole));
    story.redgreen("verify --merge @part-2.json").exits(2).says("1 of 2 parts");
    story.script("rubbish.json", "{");
    story.redgreen("verify --merge @rubbish.json").exits(2);
}

#[test]
fn each_output_is_written_to_its_file_and_reported_to_github() {
    let story = feature();
    let empty = "from old import double\n\n\ndef test_it():\n    double(2)\n    assert True\n";
    story.file("tests/test_empty.py", empty).commit("a test that asks for nothing");
    let summary = story.place("step.md").display().to_string();
    let story = story.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary);
    let files =
        "--summary @s.md --sarif @s.sarif --junit @s.xml --code-quality @s.json --html @s.html";
    let said = story.redgreen(&format!("verify main..topic {files}")).exits(1);
    let marks: Vec<&str> =
        said.stdout.lines().filter(|line| line.starts_with("::error ")).collect();
    assert_eq!(marks.len(), 1, "{}", said.stdout);
    assert!(marks[0].contains("file=tests/test_empty.py,line=4"), "{}", marks[0]);
    let read = |name: &str| fs::read_to_string(story.place(name)).unwrap();
    assert!(read("step.md").contains("refuted") && read("s.md") == read("step.md"));
    let sarif: Value = serde_json::from_str(&read("s.sarif")).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "verify.does_not_discriminate");
    let quality: Value = serde_json::from_str(&read("s.json")).unwrap();
    assert_eq!(quality[0]["location"]["path"], "tests/test_empty.py");
    assert!(read("s.xml").contains("<testsuites") && read("s.html").starts_with("<!doctype html>"));
    story
        .redgreen("verify main..topic --sarif @no/such/folder.sarif")
        .exits(2)
        .says("cannot write ");
}

#[test]
fn a_push_of_what_is_refuted_is_stopped() {
    let story = feature();
    let remote = story.place("remote.git").display().to_string();
    story.git(&format!("init -q --bare {remote}"));
    story.git(&format!("remote add origin {remote}"));
    story.git("push -q origin main");
    // If the repository's own settings point the hooks outside the repository, `init` writes
    // nothing.
    story.git(&format!("config core.hooksPath {}", story.place("home").display()));
    story.redgreen("init --hook pre-push").exits(4).says("core.hooksPath");
    story.git("config --unset core.hooksPath");
    // The same if a copied repository has a link in place of the folder.
    let hooks = story.root.join(".git/hooks");
    fs::rename(&hooks, story.place("hooks")).ok();
    std::os::unix::fs::symlink(story.place("home"), &hooks).unwrap();
    for line in ["init --hook pre-push", "init --with git --yes"] {
        story.redgreen(line).exits(4).says("outside of it");
    }
    fs::remove_file(&hooks).unwrap();
    for name in ["pre-push", "pre-commit"] {
        assert!(!story.place("home").join(name).exists());
    }
    story.redgreen("init --hook pre-push").exits(0).says("hooks/pre-push");
    story.redgreen("init --hook pre-push").exits(2).says("already exists and was not changed");
    let program = env!("CARGO_BIN_EXE_redgreen");
    let folder = std::path::Path::new(program).parent().unwrap().display().to_string();
    let push = || {
        let mut command = story.command("git");
        let path = command
            .get_envs()
            .find(|(name, _)| *name == "PATH")
            .and_then(|(_, value)| value)
            .unwrap();
        let path = format!("{folder}:{}", path.to_string_lossy());
        command.env("PATH", path).args(["push", "-q", "origin", "topic"]).output().unwrap()
    };
    let empty = "from old import double\n\n\ndef test_it():\n    double(2)\n    assert True\n";
    story.file("tests/test_empty.py", empty).commit("a test that asks for nothing");
    let stopped = push();
    assert!(!stopped.status.success(), "{stopped:?}");
    story.git("reset -q --hard HEAD~1");
    let through = push();
    assert!(through.status.success(), "{}", String::from_utf8_lossy(&through.stderr));
}
