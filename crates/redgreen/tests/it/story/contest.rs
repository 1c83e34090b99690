//! A test that contradicts the brief: the run stops with both texts, and the human decides.

use super::Story;

const KATA: &str = r#"
[[plan]]
do = [{ write = "test-list.md", text = "- [ ] adds\n" }]
next = { description = "adds", test-file = "test_calc.py", impl-file = "calc.py" }

[[red]]
do = [{ write = "test_calc.py", text = "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 4\n" }]

[[green]]
do = [{ write = "calc.py", text = "def add(a, b):\n    return a + b\n" }]
answer = '{"contest": {"test": "test_calc.py::test_adds", "why": "the sum of 1 and 2 is 3"}}'
"#;

fn contested(rest: &str) -> Story {
    let story = Story::pytest();
    story.script("kata.toml", &format!("{KATA}{rest}"));
    let said =
        story.redgreen("run --script @kata.toml \"add gives the sum of two numbers\"").exits(3);
    let said = said.says("green.contested").says("the sum of 1 and 2 is 3");
    let said = said.says("assert add(1, 2) == 4").says("add gives the sum of two numbers");
    said.says("redgreen reject ").says("redgreen resume ").says("redgreen abort ");
    story.redgreen("why").exits(0).says("assert add(1, 2) == 4").says("the brief:");
    let note = story.git(&format!("notes --ref=tdd-handoffs show {}", story.branch()));
    assert!(note.contains(r#""phase": "RED""#), "no handoff is lost: {note}");
    story
}

#[test]
fn a_contested_test_that_stands_is_made_to_pass() {
    let story = contested(
        "[[green]]\ndo = [{ shell = 'echo \"$REDGREEN_TROUBLE\" | grep -q \"a human reviewed the \
         test and kept it\"', must-succeed = true },\n{ write = \"calc.py\", text = \"def add(a, \
         b):\\n    return a + b + 1\\n\" }]\n\n[[plan]]\ndone = true\n",
    );
    story.redgreen("resume").exits(3).says("all phases are accepted");
    assert_eq!(story.log(&format!("main..{}", story.branch())).len(), 5);
}

#[test]
fn a_contested_test_that_is_rejected_is_written_anew() {
    let story = contested(
        "[[red]]\ndo = [{ write = \"test_calc.py\", text = \"from calc import add\\n\\n\\ndef test_adds():\\n    assert add(1, 2) == 3\\n\" }]\n\n\
         [[green]]\ndo = [{ write = \"calc.py\", text = \"def add(a, b):\\n    return a + b\\n\" }]\n\n[[plan]]\ndone = true\n",
    );
    story.redgreen("reject \"1 and 2 are 3\"").exits(0).says("redgreen resume");
    story.redgreen("resume").exits(3).says("all phases are accepted");
    assert!(story.git(&format!("show {}:test_calc.py", story.branch())).contains("== 3"));
}
