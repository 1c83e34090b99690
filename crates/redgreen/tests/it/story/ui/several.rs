//! Several attempts at a phase: the page of the verdict lists them and the reason for the choice.

use super::{Server, id, status};
use crate::story::Story;
use crate::story::scripts::{DONE, PLAN, RED};
use crate::story::steer::until;

#[test]
fn the_page_of_a_verdict_says_why_its_attempt_was_chosen() {
    let story = Story::new().quick();
    let attempt = |number: u32, sign: &str| {
        format!(
            "\n[[green]]\ncandidate = {number}\ndo = [{{ write = \"calc.py\", text = \"def add(a, b):\\n    return a {sign} b\\n\" }}]\n"
        )
    };
    let greens = attempt(1, "-") + &attempt(2, "+");
    story.script("kata.toml", &["agent = \"<kata>\"\n", PLAN, RED, &greens, DONE].concat());
    story.redgreen("run --script @kata.toml --attempts 2 \"an adder\"").exits(3);
    let server = Server::start(&story, "");
    let id = id(&story);
    let pages: String =
        (1..=4).map(|step| server.get(&format!("/runs/{id}?view=step-{step}"))).collect();
    assert_eq!(pages.matches("aria-label=\"Attempts at GREEN\"").count(), 1, "{pages}");
    for words in [
        "attempt 2 of 2 (&lt;kata&gt;) is chosen by verdict: accepted",
        "<a href=\"?view=step-2-attempt-1\">attempt 1 (&lt;kata&gt;)</a> refused [green.still_failing]",
        "<a href=\"?view=step-2\" aria-current=\"page\">attempt 2 (&lt;kata&gt;)</a> accepted",
    ] {
        assert!(pages.contains(words), "{words}\n{pages}");
    }

    // The losing attempt: its verdict, its code, and its transcript.
    let lost = server.get(&format!("/runs/{id}?view=step-2-attempt-1"));
    status(&lost, 200);
    let turn = format!("/runs/{id}/turns/3/attempts/1");
    for words in [
        "GREEN · attempt 1 (&lt;kata&gt;) · refused",
        "<code>green.still_failing</code>",
        "</span> a - b",
        turn.as_str(),
        "chosen by verdict",
        "kept as",
    ] {
        assert!(lost.contains(words), "{words}\n{lost}");
    }
    let transcript = server.get(&turn);
    status(&transcript, 200);
    assert!(transcript.contains("calc.py"), "{transcript}");
    for gone in ["?view=step-2-attempt-7", "?view=step-9-attempt-1", "/turns/3/attempts/7"] {
        status(&server.get(&format!("/runs/{id}{gone}")), 404);
    }
}

/// A run that stopped because the evidence about two attempts is equal.
pub(super) fn tied() -> Story {
    let story = Story::new().quick();
    let attempt = |number: u32, sum: &str| {
        format!(
            "\n[[green]]\ncandidate = {number}\ndo = [{{ write = \"calc.py\", text = \"def add(a, b):\\n    return {sum}\\n\" }}]\n"
        )
    };
    let greens = attempt(1, "a + b") + &attempt(2, "b + a");
    story.script("kata.toml", &[PLAN, RED, &greens, DONE].concat());
    story
        .redgreen("run --script @kata.toml --attempts 2 \"an adder\"")
        .exits(3)
        .says("--choose <attempt>");
    story
}

#[test]
fn one_of_two_equal_attempts_is_compared_and_chosen() {
    let story = tied();
    let id = id(&story);
    {
        let server = Server::start(&story, "--read-only");
        let page = server.get(&format!("/runs/{id}"));
        assert!(page.contains("step-2-attempt-2") && !page.contains("Choose attempt"), "{page}");
    }
    let server = Server::start(&story, "");
    let page = server.get(&format!("/runs/{id}"));
    for words in ["Choose attempt 1", "Choose attempt 2", "choose one"] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    assert!(!page.contains("/resume\""), "it would stop again: {page}");
    for (attempt, code) in [(1, "</span> a + b"), (2, "</span> b + a")] {
        let page = server.get(&format!("/runs/{id}?view=step-2-attempt-{attempt}"));
        assert!(page.contains(code), "{code}\n{page}");
    }
    let choose = format!("/runs/{id}/choose");
    status(&server.post(&choose, "attempt=9"), 303);
    until("the notice", || server.get(&format!("/runs/{id}")).contains("has no attempt 9"));
    status(&server.post(&choose, "attempt=2"), 303);
    until("the end", || story.redgreen("status").stdout.contains("waiting for a human"));
    assert!(story.git(&format!("show {}:calc.py", story.branch())).contains("b + a"));
    let page = server.get(&format!("/runs/{id}?view=step-2-attempt-1"));
    assert!(page.contains("</span> a + b") && page.contains("by a human"), "{page}");
}
