//! A refused attempt's changes appear on the screen and in the report.

use super::Story;
use super::scripts::{PLAN, RED, WRONG};

#[test]
fn fault_15_why_and_the_report_show_the_diff_of_a_refused_attempt() {
    let story = Story::new();
    story.file("redgreen.toml", "backoff = 0.0\nmax-retries = 0\n").commit("one attempt");
    let long: String = (0..200).map(|number| format!("# line {number}\\n")).collect();
    let wrong = WRONG.replace("a - b\\n", &format!("a - b\\n{long}"));
    story.script("kata.toml", &[PLAN, RED, &wrong].concat());
    let run = story.redgreen("run --script @kata.toml \"an adder\"");
    assert_ne!(run.code, Some(0), "{run:?}");

    let why = story.redgreen("why").exits(0);
    let diff = why.stdout.split_once("  diff").map(|(_, diff)| diff).unwrap_or_default();
    assert!(diff.contains("+    return a - b"), "{}", why.stdout);
    assert!(
        !diff.contains("# line 150") && diff.contains("more lines: redgreen report"),
        "{}",
        why.stdout
    );
    assert!(story.redgreen("--json why").exits(0).stdout.contains("return a - b"));

    story.redgreen("report --html run.html").exits(0);
    let page = std::fs::read_to_string(story.root.join("run.html")).unwrap();
    let refused = page.split_once("refused, kept as ").map(|(_, refused)| refused).unwrap_or(&page);
    assert!(refused.contains("return a - b") && refused.contains("# line 150"), "{page}");
}
