//! The report of a run: as markdown, as JSON, as a page that a real browser shows.

use std::fs;

use super::{SPEC, SPEC_SCRIPT, story};
use crate::story::Story;

/// What somebody might put into a title.
const NASTY: &str = "A till <script>alert('x')</script> & \\\"more\\\"";

fn reported() -> Story {
    let story = story("spec.yaml", &SPEC.replace("A till that adds up", &format!("\"{NASTY}\"")), SPEC_SCRIPT);
    story.redgreen("run --script @kata.toml --spec @spec.yaml").exits(3);
    story.redgreen("report --html @run.html").exits(0).says("wrote ");
    story
}

#[test]
fn a_page_needs_no_network_holds_no_script_and_escapes_what_came_from_outside() {
    let story = reported();
    let page = fs::read_to_string(story.place("run.html")).unwrap();
    assert!(
        !page.contains("<script") && !page.contains("src=") && !page.contains("http://") && !page.contains("https://")
    );
    assert!(page.contains("A till &lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;more&quot;"));
    for words in [
        "prefers-color-scheme: dark",
        "green.does_not_compile",
        "class=\"phase RED\"",
        "waiting for a human",
        "+class Till:",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let answer = story.redgreen("report --json").exits(0).json();
    let phases: Vec<&str> =
        answer["steps"].as_array().unwrap().iter().map(|step| step["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["RED", "GREEN", "GREEN", "REFACTOR"]);
    assert_eq!(answer["steps"][1]["verdict"]["decision"], "refused");
    story.redgreen("report").exits(0).says("## TDD Cycle Summary");
    story.redgreen("approve").exits(0);
    story.redgreen("report").exits(0).says("## Status: Complete (TDD Compliant)");
    browser_shows(&story);
}

/// A browser reads the page as we meant it: every step is there, and nothing of the title became markup.
fn browser_shows(story: &Story) {
    let page = format!("file://{}", story.place("run.html").display());
    let home = story.place("browser").display().to_string();
    let line = ["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", &page];
    let Ok(shown) = story.command("chromium").env("HOME", &home).args(line).output() else {
        #[expect(clippy::print_stderr, reason = "a test that is left out says so")]
        {
            eprintln!("skipped: chromium is not installed");
        }
        return;
    };
    let dom = String::from_utf8_lossy(&shown.stdout).into_owned();
    for words in
        ["id=\"step-0\"", "id=\"step-3\"", "<h1>A till &lt;script&gt;alert('x')&lt;/script&gt; &amp; \"more\"</h1>"]
    {
        assert!(dom.contains(words), "{words} is not in\n{dom}\n{}", String::from_utf8_lossy(&shown.stderr));
    }
}
