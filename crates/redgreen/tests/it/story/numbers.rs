//! The numbers of a run are the same in every view: summary, report, page, `why`, `status`.

use std::fs;

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED, turn};

fn html(story: &Story) -> String {
    let page = story.place("page.html");
    story.redgreen("report --html @page.html").exits(0);
    fs::read_to_string(page).unwrap()
}

#[test]
fn fault_5_the_numbers_of_a_whole_run_agree() {
    let story = Story::calculator();
    story.redgreen("run --script @kata.toml \"a calculator\"").exits(3);
    let said = story.redgreen("report").exits(0);
    let said =
        said.says("Test Cases Written: 3 (").says("Test-Fix Iterations: 3 in 3 cycles, at most 1/");
    let said = said
        .says("Test Files: tests/test_add.py, tests/test_subtract.py, tests/test_multiply.py\n");
    for file in
        ["`calc.py`", "`tests/test_add.py`", "`tests/test_subtract.py`", "`tests/test_multiply.py`"]
    {
        assert_eq!(said.stdout.matches(file).count(), 1, "{file}: {}", said.stdout);
    }
    assert!(!said.stdout.contains("test-list.md"), "it is not merged: {}", said.stdout);
    let page = html(&story);
    assert!(page.contains("<b>3</b><span>cycles</span>") && !page.contains("Cycle 4"), "{page}");
    let run = story.redgreen("status --json").exits(0).json()["runs"][0].clone();
    assert_eq!(
        (&run["cycle"], &run["cycles"], &run["testsWritten"]),
        (&3.into(), &3.into(), &3.into()),
        "{run}"
    );
    story.redgreen("status").exits(0).says("COMPLETE, 3 of 3 tests done");
    let report = story.redgreen("report --json").exits(0).json();
    assert_eq!((&report["cycles"], &report["testsWritten"]), (&3.into(), &3.into()));

    // A rolled-back cycle no longer counts, and the run is reported as rolled back.
    let third = story.git(&format!("rev-parse {}~5", story.branch()));
    story.redgreen(&format!("rollback {third}")).exits(0);
    story
        .redgreen("status")
        .exits(0)
        .says("rolled back to")
        .says("PLAN of cycle 3, 2 of 3 tests done");
    story
        .redgreen("report")
        .exits(0)
        .says("Test Cases Written: 2 (")
        .says("Test-Fix Iterations: 2 in 2 cycles");
    assert!(html(&story).contains("<b>rolled back</b><span>standing</span>"));
}

#[test]
fn the_mutants_of_a_cycle_are_reported_once_on_its_page() {
    let story = Story::calculator();
    story.redgreen("run --script @kata.toml \"a calculator\"").exits(3);
    let id = story.redgreen("status --json").exits(0).json()["runs"][0]["id"].clone();
    let page = format!("ui --page /runs/{}?view=cycle-1", id.as_str().unwrap());
    let page = story.redgreen(&page).exits(0).stdout;
    // Each file has its own block of evidence.
    let (blocks, told) = ("<div class=\"evidence-of\">", "of the changed lines were killed");
    assert!(page.contains(blocks), "{page}");
    assert_eq!(page.matches(told).count(), page.matches(blocks).count(), "{page}");
}

#[test]
fn fault_5_a_run_that_is_over_waits_for_no_gate() {
    let story = Story::calculator();
    story.redgreen("run --script @kata.toml \"a calculator\"").exits(3);
    story.redgreen("why").exits(0).says("gate     a human approves");
    story.redgreen("approve").exits(0);
    story.redgreen("why").exits(0).says("gate     none: the run is merged");
    story
        .redgreen("report")
        .exits(0)
        .says("Test Cases Written: 3 (")
        .says("Complete (TDD Compliant)");
}

/// The results are those of the tip of the run's branch, neither those of a reverted attempt nor
/// those from before a commit that the user added.
#[test]
fn fault_5_the_final_test_results_are_those_of_the_branch() {
    let cheat = "{ write = \"calc.py\", text = \"def add(a, b):\\n    return 0\\n\" }, \
                 { shell = \"sed -i 's/==.*/== 0/' test_*.py\" }";
    let story = Story::new();
    story
        .file(
            "test_one.py",
            "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
                               def test_one(self):\n        assert 1 == 1\n",
        )
        .commit("a test");
    story.script("kata.toml", &[PLAN, RED, &turn("green", cheat)].concat());
    story
        .redgreen("run --script @kata.toml --max-retries 0 \"an adder\"")
        .exits(1)
        .says("green.tests_changed");
    let said = story.redgreen("report").exits(0).says("Final Test Results: 1/2 passed (50%)");
    assert!(!said.stdout.contains("100%"), "the attempt was taken back: {}", said.stdout);
    story.redgreen("abort").exits(0);

    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
    story.redgreen("report").exits(0).says("Final Test Results: 2/2 passed (100%)");
    let branch = story.branch();
    story.git(&format!("switch -q {branch}"));
    story
        .file(
            "test_two.py",
            "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
                               def test_two(self):\n        assert 2 == 2\n",
        )
        .commit("one more test");
    story.git("switch -q main");
    story.redgreen("approve").exits(0);
    story.redgreen("report").exits(0).says("Final Test Results: 3/3 passed (100%)");
}

/// After the end of a run, `why` asks for nothing.
#[test]
fn fault_5_why_asks_for_nothing_when_the_run_is_over() {
    let story = Story::new();
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
    story.redgreen("why").exits(0).says("asked    review the result");
    story.redgreen("approve").exits(0);
    let said = story.redgreen("why").exits(0);
    assert!(!said.stdout.contains("asked"), "{}", said.stdout);
}
