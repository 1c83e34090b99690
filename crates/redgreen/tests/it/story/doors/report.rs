//! The report of a run: as markdown, as JSON, and as a page in a real browser.

use std::fs;

use super::{SPEC, SPEC_SCRIPT, story};
use crate::skip::skipped;
use crate::story::Story;

/// A hostile title.
const NASTY: &str = "A till <script>alert('x')</script> & \\\"more\\\"";

fn reported() -> Story {
    let story = story(
        "spec.yaml",
        &SPEC.replace("A till that adds up", &format!("\"{NASTY}\"")),
        SPEC_SCRIPT,
    );
    story.redgreen("run --script @kata.toml --spec @spec.yaml").exits(3);
    story.redgreen("report --html @run.html").exits(0).says("wrote ");
    story
}

#[test]
fn a_page_needs_no_network_holds_no_script_and_escapes_what_came_from_outside() {
    let story = reported();
    let page = fs::read_to_string(story.place("run.html")).unwrap();
    assert!(
        !page.contains("<script")
            && !page.contains("src=")
            && !page.contains("http://")
            && !page.contains("https://")
    );
    assert!(
        page.contains(
            "A till &lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;more&quot;"
        )
    );
    for words in [
        "prefers-color-scheme: dark",
        "green.does_not_compile",
        "class=\"phase RED\"",
        "waiting for a human",
        "+class Till:",
        "→ fix the build",
        "<b>GREEN</b><i>✕</i>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let answer = story.redgreen("report --json").exits(0).json();
    let phases: Vec<&str> = answer["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["phase"].as_str().unwrap())
        .collect();
    assert_eq!(phases, ["RED", "GREEN", "GREEN", "REFACTOR"]);
    assert_eq!(answer["steps"][1]["verdict"]["decision"], "refused");
    story.redgreen("report").exits(0).says("## TDD Cycle Summary");
    story.redgreen("approve").exits(0);
    story.redgreen("report").exits(0).says("## Status: Complete (TDD Compliant)");
    browser_shows(&story);
}

/// Measures the page's layout and stores the figures where `--dump-dom` prints them.
const MEASURE: &str = "<script>
const rows = {};
document.querySelectorAll('.tile').forEach(tile => { rows[tile.offsetTop] = (rows[tile.offsetTop] || 0) + 1; });
const wide = document.documentElement.scrollWidth > innerWidth;
document.body.dataset.measured = innerWidth + ' tiles ' + Object.values(rows).join('+') + ' overflow ' + wide;
</script>";

/// A real browser shows every step, and nothing of the title becomes markup. The tiles fill their
/// rows and nothing overflows, at every width from a desktop down to the narrowest window of a
/// headless browser.
fn browser_shows(story: &Story) {
    let page = fs::read_to_string(story.place("run.html")).unwrap();
    let Some(shown) = dom(story, "run.html", 1440) else { return };
    for words in [
        "id=\"step-0\"",
        "id=\"step-3\"",
        "<h1>A till &lt;script&gt;alert('x')&lt;/script&gt; &amp; \"more\"</h1>",
    ] {
        assert!(shown.contains(words), "{words} is not in\n{shown}");
    }
    // The page's policy forbids scripts, so this copy of the page drops it.
    let (before, after) = page.split_once("<meta http-equiv").unwrap();
    let (_, after) = after.split_once(">\n").unwrap();
    fs::write(
        story.place("measured.html"),
        format!("{before}{}", after.replace("</body>", &format!("{MEASURE}</body>"))),
    )
    .unwrap();
    for (width, tiles) in [(1440, "6"), (1000, "6"), (700, "3+3"), (500, "2+2+2")] {
        let shown = dom(story, "measured.html", width).unwrap();
        let wanted = format!("data-measured=\"{width} tiles {tiles} overflow false\"");
        assert!(shown.contains(&wanted), "{wanted} is not in\n{shown}");
    }
}

/// The DOM that a browser of this width builds from a page, or `None` without a browser.
fn dom(story: &Story, page: &str, width: u32) -> Option<String> {
    let page = format!("file://{}", story.place(page).display());
    let home = story.place("browser").display().to_string();
    let size = format!("--window-size={width},900");
    let line = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        &size,
        "--dump-dom",
        &page,
    ];
    match story.command("chromium").env("HOME", &home).args(line).output() {
        Ok(shown) => Some(String::from_utf8_lossy(&shown.stdout).into_owned()),
        Err(_) => {
            skipped("chromium is not installed");
            None
        }
    }
}
