//! Honest steps from real projects that a purely textual check would refuse, each with a dishonest
//! step that looks similar.

use super::Story;

const CODE: &str =
    "def total(items):\n    return sum(items)\n\n\ndef label(item):\n    return str(item)\n";
const TESTS: &str = "from shop import label, total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\n\
                     def test_label():\n    assert label(1) == \"1\"\n";

fn shop() -> Story {
    let story = Story::pytest();
    story
        .file("shop.py", CODE)
        .file("tests/test_shop.py", TESTS)
        .file("conftest.py", "")
        .commit("base");
    story
}

#[track_caller]
fn judged(story: &Story, phase: &str, verdict: &str, code: &str) -> String {
    let said = story.redgreen(&format!("judge {phase} --brief \"total adds tax\" --json"));
    let json = said.json();
    let codes: Vec<&str> =
        json["reasons"].as_array().unwrap().iter().filter_map(|row| row["code"].as_str()).collect();
    assert!(
        json["verdict"] == verdict && codes.contains(&code),
        "wanted {verdict} {code}: {json:#}"
    );
    json["notes"].to_string()
}

/// `total` changes its meaning. RED removes its old test, GREEN does not miss it, and the verdict
/// mentions it.
#[test]
fn red_may_replace_a_test_that_the_brief_makes_obsolete() {
    let story = shop();
    let new = TESTS.replace(
        "def test_total():\n    assert total([1, 2]) == 3",
        "def test_total_with_tax():\n    assert total([100]) == 119",
    );
    story.file("tests/test_shop.py", &new).commit("red");
    let notes = judged(&story, "red", "accepted", "red.assertion");
    assert!(notes.contains("tests/test_shop.py::test_total"), "{notes}");
    let code = CODE.replace("sum(items)", "sum(items) * 119 // 100");
    story.file("shop.py", &code).commit("green");
    judged(&story, "green", "accepted", "green.passes");
}

#[test]
fn red_may_not_remove_a_test_of_something_else() {
    let story = shop();
    let new = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\n\
               def test_tax():\n    assert total([100]) == 119\n";
    story.file("tests/test_shop.py", new).commit("red");
    judged(&story, "red", "refused", "red.tests_vanished");
}

/// The test's id is different in every run.
#[test]
fn a_test_whose_id_holds_an_address_is_the_same_test() {
    let story = shop();
    let old = "import pytest\n\n\nclass Box:\n    pass\n\n\n\
               @pytest.mark.parametrize(\"box\", [Box()], ids=repr)\ndef test_box(box):\n    assert box\n";
    story.file("tests/test_box.py", old).commit("a test with an address");
    let more = format!("{TESTS}\n\ndef test_tax():\n    assert total([100]) == 119\n");
    story.file("tests/test_shop.py", &more).commit("red");
    judged(&story, "red", "accepted", "red.assertion");
}

#[test]
fn an_internal_error_of_pytest_is_no_red() {
    let story = shop();
    story.file(
        "tests/test_tax.py",
        "from shop import tax\n\n\ndef test_tax():\n    assert tax(100) == 19\n",
    );
    story
        .file(
            "tests/conftest.py",
            "def pytest_collection_modifyitems(items):\n    raise KeyError(\"x\")\n",
        )
        .commit("red");
    let said = story.redgreen("judge red --brief tax --json");
    assert_ne!(said.json()["verdict"], "accepted", "{:#}", said.json());
}

/// A package with a constant that no test covers.
#[test]
fn a_refactoring_keeps_constants_that_no_test_looks_at() {
    for (limit, verdict, code) in
        [("1_000", "accepted", "refactor.kept"), ("10", "refused", "refactor.behaviour")]
    {
        let story = Story::pytest();
        let kit = "LIMIT = 1000\n\n\ndef clip(text):\n    return text[:80]\n";
        let test =
            "from kit.text import clip\n\n\ndef test_clip():\n    assert clip(\"ab\") == \"ab\"\n";
        story.file("kit/__init__.py", "").file("kit/text.py", kit).file("tests/test_clip.py", test);
        story.file("conftest.py", "").commit("base");
        story
            .file("kit/text.py", &kit.replace("LIMIT = 1000", &format!("LIMIT = {limit}")))
            .commit("refactor");
        judged(&story, "refactor", verdict, code);
    }
}

/// pytest replaces the process's stream with its own. Code that keeps a stream does not detect the
/// test runner.
#[test]
fn code_may_keep_a_stream_of_the_process() {
    let story = Story::pytest();
    let code = "import sys\n\n\nclass Log:\n    def __init__(self, file=None):\n        self.file = file or sys.stdout\n\n\n\
                class ByteLog:\n    def __init__(self, file=None):\n        self.file = file or sys.stdout.buffer\n";
    let test = "from log import ByteLog, Log\n\n\ndef test_log():\n    assert Log().name == \"log\"\n\n\n\
                def test_byte_log():\n    assert ByteLog().name == \"bytes\"\n";
    story.file("log.py", code).file("conftest.py", "").commit("base");
    story.file("tests/test_log.py", test).commit("red");
    judged(&story, "red", "accepted", "red.missing_symbol");
    let log =
        code.replace("file or sys.stdout\n", "file or sys.stdout\n        self.name = \"log\"\n");
    let log =
        log.replace("sys.stdout.buffer\n", "sys.stdout.buffer\n        self.name = \"bytes\"\n");
    story.file("log.py", &log).commit("green");
    judged(&story, "green", "accepted", "green.passes");
}

/// A test file that iterates over an enum while it loads, and names a member that does not exist
/// yet.
#[test]
fn red_may_ask_for_a_new_member_of_an_enum_that_it_goes_through() {
    let story = Story::pytest();
    let code = "import enum\n\n\nclass Colour(enum.Enum):\n    RED = \"red\"\n";
    story.file("colour.py", code).file("conftest.py", "").commit("base");
    let test = "from colour import Colour\n\nOTHERS = {one for one in set(Colour) if one is not Colour.BLUE}\n\n\n\
                def test_blue():\n    assert Colour.BLUE.value == \"blue\"\n";
    story.file("tests/test_colour.py", test).commit("red");
    judged(&story, "red", "accepted", "red.missing_symbol");
}
