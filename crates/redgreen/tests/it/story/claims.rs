//! redgreen's messages are true: about steps that are no GREEN or no REFACTOR, about the judged
//! tree, about where data goes, and about what to do when a merge is impossible.

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED_PYTEST as RED};

const STUB: &str = "def to_roman(n):\n    raise NotImplementedError\n";
const CODE: &str = "def to_roman(n):\n    return {1: \"I\", 4: \"IV\"}.get(n, \"\") or \"I\" * n\n";
const TEST: &str = "from roman import to_roman\n\n\ndef test_one():\n    assert to_roman(1) == \"I\"\n\n\n\
                    def test_two():\n    assert to_roman(2) == \"II\"\n";

/// A project with an old, passing test.
fn project() -> Story {
    let story = Story::pytest();
    story.file("roman.py", STUB).file("old.py", "def double(n):\n    return 2 * n\n");
    story.file(
        "tests/test_old.py",
        "from old import double\n\n\ndef test_doubles():\n    assert double(2) == 4\n",
    );
    story.file("conftest.py", "");
    story.commit("base");
    story
}

fn codes(answer: &serde_json::Value) -> Vec<&str> {
    answer["reasons"].as_array().unwrap().iter().filter_map(|row| row["code"].as_str()).collect()
}

#[test]
fn fault_2_green_without_a_failing_test_at_its_base_is_reported_so() {
    let story = project();
    let base = story.git("rev-parse HEAD");
    story.file("tests/test_roman.py", TEST).file("roman.py", CODE).commit("test and code together");
    let said = story.redgreen(&format!("judge green --base {base} --json")).exits(1);
    assert_eq!(codes(&said.json()), ["green.nothing_red"], "{}", said.stdout);
    let said = story.redgreen(&format!("judge green --base {base}")).exits(1);
    let said = said.says("no test fails at the base: its only test passes").says("redgreen verify");
    let said = said.says("redgreen judge red");
    assert!(
        !said.stdout.contains("restore them") && !said.stdout.contains("vanished"),
        "{}",
        said.stdout
    );

    story
        .file("roman.py", &CODE.replace("def", "# roman numerals\ndef"))
        .commit("no test fails before it");
    let said = story.redgreen("judge green").exits(1).says(
        "no test fails at the base: all 3 \
                               tests pass",
    );
    assert!(!said.stdout.contains("vanished"), "{}", said.stdout);

    let old = "from old import double\n\n\ndef test_doubles():\n    assert double(2) == 4\n";
    let more = format!("{old}\n\ndef test_triples():\n    assert double(3) == 6\n");
    story.file("tests/test_old.py", &more).commit("a test that passes at once");
    story.redgreen("judge green").exits(1).says("green.nothing_red");
}

#[test]
fn fault_3_refactor_does_not_accept_a_step_that_turns_a_test_green() {
    let story = project();
    story.file("tests/test_roman.py", TEST).commit("red");
    story.redgreen("judge red --brief \"roman numerals\"").exits(0);
    story.file("roman.py", CODE).commit("green");
    let said = story
        .redgreen("judge refactor")
        .exits(1)
        .says("refactor.turns_green")
        .says("redgreen judge green");
    assert!(
        said.stdout.contains("test_roman.py::test_one failed before and passes now"),
        "{}",
        said.stdout
    );

    // The same result if the test could not be loaded.
    let story = project();
    story.file("tests/test_arabic.py", &TEST.replace("from roman", "from arabic")).commit("red");
    story.redgreen("judge red --brief \"arabic to_roman\"").exits(0);
    story.file("arabic.py", CODE).commit("green");
    story.redgreen("judge refactor").exits(1).says("refactor.turns_green");
}

#[test]
fn fault_3_what_is_not_committed_is_judged_where_asked_and_mentioned_where_not() {
    let story = project();
    story.file("tests/test_roman.py", TEST);
    let (before, status) = (story.belongings(), story.git("status --porcelain"));
    story
        .redgreen("judge red --head WORKTREE --brief \"roman numerals\"")
        .exits(0)
        .says("RED accepted");
    // Nothing is staged, so the index equals the commit.
    let said = story.redgreen("judge red --head INDEX --json").exits(1);
    assert_eq!(codes(&said.json()), ["red.no_tests"]);
    assert_eq!(said.json()["head"], "INDEX");
    assert!(
        said.json()["notes"][0]
            .as_str()
            .unwrap()
            .contains("1 change in your checkout is not staged")
    );
    let said = story.redgreen("judge red --base HEAD --head HEAD").exits(1);
    said.says("1 change in your checkout is not committed and not judged").says("--head WORKTREE");
    assert_eq!(
        (story.belongings(), story.git("status --porcelain")),
        (before, status),
        "the checkout was touched"
    );

    story.git("add tests/test_roman.py");
    story.file("tests/test_roman.py", "def broken(:\n");
    let (before, status) = (story.belongings(), story.git("status --porcelain"));
    story
        .redgreen("judge red --head INDEX --brief \"roman numerals\"")
        .exits(0)
        .says("RED accepted");
    story.redgreen("judge red --head WORKTREE").exits(1).says("red.syntax");
    assert_eq!(
        (story.belongings(), story.git("status --porcelain")),
        (before, status),
        "the checkout was touched"
    );
    // For a commit that is not checked out, the files of the checkout do not matter.
    let said = story.redgreen("judge red --base HEAD~1 --head HEAD~1").exits(1);
    assert!(!said.stdout.contains("your checkout"), "{}", said.stdout);
}

/// REFACTOR accepts an empty commit. With an empty index, the user forgot to stage the change.
#[test]
fn fault_3_refactor_without_a_change_says_so_and_what_fails() {
    let story = project();
    story.file("tests/test_roman.py", TEST).commit("red");
    let said = story.redgreen("judge refactor --head INDEX").exits(2).says("nothing is staged");
    said.says("redgreen judge refactor --head WORKTREE");
    story.redgreen("judge refactor --head WORKTREE").exits(2).says("no file differs from HEAD");
    story.file("old.py", "def double(n):\n    return n + n\n");
    story.redgreen("judge refactor --head INDEX").exits(2).says("nothing is staged");
    story.git("checkout -q -- old.py");
    story.git("commit -q --allow-empty -m nothing");
    story.redgreen("judge refactor").exits(0).says("nothing changed; 2 tests still fail");
    story.file("roman.py", CODE).commit("green");
    story.git("commit -q --allow-empty -m nothing");
    story.redgreen("judge refactor").exits(0).says("nothing changed");
}

#[test]
fn fault_4_no_login_of_an_address_is_shown_and_the_next_step_is_named() {
    let story = Story::pytest().env("ANTHROPIC_API_KEY", "k");
    let story = story.env("ANTHROPIC_BASE_URL", "https://me:hunter2@llm.example.com:4000/v1");
    for line in ["context pytest.ini", "context pytest.ini --json", "run anything"] {
        let said = story.redgreen(line).says("llm.example.com:4000").says("login");
        assert!(!format!("{}{}", said.stdout, said.stderr).contains("hunter2"), "{line}: {said:?}");
    }
    story.redgreen("context pytest.ini").exits(0).says("remove the name and password from the URL");
    let said = Story::pytest()
        .redgreen("context pytest.ini")
        .exits(0)
        .says("no agent yet: no agent is configured");
    said.says("next    log in to an agent (redgreen agents)");
}

#[test]
fn fault_4_the_data_policy_names_the_host_that_is_really_asked() {
    let to = |story: Story, line: &str| {
        let said = story.redgreen(&format!("context pytest.ini --json {line}"));
        said.json()["to"].as_str().unwrap().to_owned()
    };
    let keyed = || {
        Story::pytest()
            .env("ANTHROPIC_API_KEY", "k")
            .env("OPENAI_API_KEY", "k")
            .env("GEMINI_API_KEY", "k")
    };
    let models = [
        ("claude-x", "ANTHROPIC_BASE_URL", "anthropic"),
        ("gpt-x", "OPENAI_BASE_URL", "openai"),
        ("gemini-x", "GOOGLE_GEMINI_BASE_URL", "gemini"),
    ];
    for (model, variable, name) in models {
        assert_eq!(
            to(keyed(), &format!("--model {model}")),
            format!("built-in ({model} at {name})")
        );
        let elsewhere = keyed().env(variable, "http://llm.example.com:4000/v1");
        let told = to(elsewhere, &format!("--model {model}"));
        assert_eq!(told, format!("built-in ({model} at llm.example.com:4000)"));
    }
    let settings = keyed();
    settings.file(
        "redgreen.toml",
        "[model]\nprovider = \"openai\"\nbase-url = \"https://llm.example.com/v1\"\n",
    );
    assert_eq!(to(settings, "--model gpt-x"), "built-in (gpt-x at llm.example.com)");

    let own = Story::pytest()
        .env("FAKE_BASE_URL", "https://me:hush@proxy.example.com/v1")
        .env("OTHER_BASE_URL", "http://no");
    own.file("redgreen.toml", "[agent.custom.fake]\ncommand = \"true\"\nenv = [\"FAKE_*\"]\n");
    assert_eq!(to(own, "--agent fake"), "fake (FAKE_BASE_URL: proxy.example.com)");
}

#[test]
fn fault_9_a_merge_conflict_comes_with_the_commands_that_solve_it() {
    let story = Story::pytest();
    story.file("shared.py", "VALUE = 1\n").commit("shared code");
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
    story.file("calc.py", "# a calculator of mine\n").commit("meanwhile");
    let branch = story.branch();
    for verb in ["approve", "why", "status"] {
        let said = story.redgreen(verb);
        let told = said.stdout.clone();
        let said = said
            .says(&format!("git switch {branch}"))
            .says("git merge main")
            .says("git switch main");
        said.says("redgreen approve");
        assert!(!told.contains("fix the error above"), "{told}");
    }
}
