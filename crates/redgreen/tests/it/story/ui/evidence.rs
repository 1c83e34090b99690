//! The evidence next to the code: what failed before, what passes now, mutants, withheld tests,
//! refused attempts with their diffs, transcripts and cost.

use super::{Server, id, status};
use crate::story::Story;
use crate::story::recovery::write;
use crate::story::scripts::{DONE, turn};
use crate::story::side_by_side::{MORE, TABLE, TEST};

const PLAN: &str = r#"
[[plan]]
do = [{ write = "test-list.md", text = "- [ ] small numbers\n" }]
next = { description = "small numbers", test-file = "tests/test_roman.py", impl-file = "roman.py" }
"#;
/// No test covers its limit, so some mutants survive.
const CODE: &str = "def to_roman(number):\n    if number > 999:\n        raise ValueError('large')\n    \
                    return 'I' * number\n";

#[test]
fn the_evidence_is_beside_the_code() {
    let story = Story::pytest();
    let withheld = write(".redgreen/withheld/tests/test_more.py", MORE);
    let red = turn("red", &format!("{}, {withheld}", write("tests/test_roman.py", TEST)));
    let table = turn("green", &write("roman.py", TABLE)) + "tokens = 2000\n";
    let look = "\n[[diagnosis]]\nanswer = \"look at the table\"\n";
    let right = turn("green", &write("roman.py", CODE));
    story.script("kata.toml", &[PLAN, &red, &table, look, &right, DONE].concat());
    story.redgreen("run --script @kata.toml \"roman numerals\"").exits(3);
    let server = Server::start(&story, "");
    let id = id(&story);
    let page = server.get(&format!("/runs/{id}?view=whole"));
    status(&page, 200);
    // The evidence for the only hunk of the file.
    let file = page.split("data-path=\"roman.py\"").nth(1).unwrap();
    let file = file.split("data-path=").next().unwrap();
    let evidence = file.split("class=\"evidence-of\"").nth(1).unwrap();
    for words in [
        "Failed in RED",
        "tests/test_roman.py does not load",
        "No module named &#39;roman&#39;",
        "2 tests pass now",
        "<li><code>tests/test_roman.py::test_small_numbers</code></li>",
        "<li><code>tests/test_more.py::test_three</code></li>",
        // The number of mutants depends on how long they take.
        " of the changed lines ",
        "not killed: roman.py:2: `&gt;` became `&gt;=`",
        "1 of 1 withheld tests passed",
        "tests/test_more.py::test_three fails: KeyError: 3",
        "<a href=\"?view=step-2\">Refused attempt, step 2</a>",
    ] {
        assert!(evidence.contains(words), "{words} is not in\n{evidence}");
    }
    assert!(page.contains("1</b><span>withheld tests passed, 1 attempt refused by them"), "{page}");

    // The refused attempt: its diff, the reason, and its turn with cost and transcript.
    let refused = server.get(&format!("/runs/{id}?view=step-2"));
    for words in ["green.overfits", "2000 tokens", "data-path=\"roman.py\""] {
        assert!(refused.contains(words), "{words} is not in\n{refused}");
    }
    let added = refused.split("class=\"l a").skip(1).any(|line| line.contains("number]"));
    assert!(added, "{refused}");
    let turn = refused.split(&format!("/runs/{id}/turns/")).nth(1).unwrap();
    let turn = turn.split('"').next().unwrap();
    let transcript = server.get(&format!("/runs/{id}/turns/{turn}"));
    status(&transcript, 200);
    assert!(transcript.contains("roman.py"), "{transcript}");
    assert!(!transcript.contains("test_three"), "withheld: {transcript}");
}
