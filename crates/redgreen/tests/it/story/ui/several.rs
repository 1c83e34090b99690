//! Several attempts at a phase: the page of the verdict lists them and the reason for the choice.

use super::Server;
use crate::story::Story;
use crate::story::scripts::{DONE, PLAN, RED};
use crate::story::steer::run_folder;

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
    let id = run_folder(&story).file_name().unwrap().to_str().unwrap().to_owned();
    let pages: String =
        (1..=4).map(|step| server.get(&format!("/runs/{id}?view=step-{step}"))).collect();
    assert_eq!(pages.matches("<section id=\"attempts\"").count(), 1, "{pages}");
    for words in [
        "attempt 2 of 2 (&lt;kata&gt;) is chosen by verdict: accepted",
        "<li>attempt 1 (&lt;kata&gt;): refused [green.still_failing]",
    ] {
        assert!(pages.contains(words), "{words}\n{pages}");
    }
}
