//! The arbiter's scenarios: a design with context files, a worktree, and a human at the end.

use std::fs;

use super::{RUN_SPEC, RUN_TASK, SPEC, SPEC_SCRIPT, TASK, TASK_SCRIPT, artifact, json};
use crate::server::{Server, Turn as ModelTurn, Wire};
use crate::story::Story;
use crate::story::built_in::served;
use crate::story::doors::{RUN_DESIGN, design, story, turned_down};

#[test]
fn ts_01_safe_isolation() {
    let story = design();
    story.file("mine.txt", "not committed\n");
    let before = story.belongings();
    let said = story.redgreen(RUN_DESIGN).exits(3).says("Issue 87: A calculator");
    assert_eq!(story.belongings(), before, "the user's checkout was touched");
    assert!(
        said.stdout.trim_end().ends_with(
            "calc.py, tests/test_add.py, tests/test_multiply.py, tests/test_subtract.py"
        ),
        "{}",
        said.stdout
    );
    assert_eq!(story.git("worktree list --porcelain").matches("worktree ").count(), 1);
}

#[test]
fn ts_02_tdd_enforcement() {
    let passing = SPEC_SCRIPT.replacen(
        "[[red]]",
        "[[red]]\ndo = [{ write = \"tests/test_x.py\", text = \"def test_x():\\n    assert True\\n\" }]\n\n[[red]]",
        1,
    );
    let story = story("spec.yaml", SPEC, &passing);
    story.redgreen(RUN_SPEC).exits(3).says("RED       refused").says("red.passes");
}

#[test]
fn ts_03_secret_rejection() {
    let story = design();
    story.file(".env", "KEY=1\n");
    turned_down(&story, &format!("{RUN_DESIGN} .env"), ".env: its name looks like a secret");
}

#[test]
fn ts_04_retry_loop() {
    let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
    let wrong =
        |number: u32| format!("[[green]]{}\n", green.replace("+ 32", &format!("+ {number}")));
    let story = story("task.json", TASK, &format!("{red}{}{}{}", wrong(31), wrong(30), wrong(29)));
    let said = story.redgreen(RUN_TASK).exits(1);
    let (_, last) =
        said.stdout.split_once("## TASK FAILED").unwrap_or_else(|| panic!("{}", said.stdout));
    assert!(
        last.contains(
            "**Phase:** Green\n**Reason:** Max iterations (3) reached without passing tests"
        ),
        "{last}"
    );
    assert!(last.contains("**Action:** All changes auto-reverted"), "{last}");
    let file = last.split("See ").nth(1).unwrap().trim();
    assert!(fs::read_to_string(file).unwrap().contains("# GREEN failed"), "{file}");
    for number in 1..=2 {
        assert!(
            artifact(&story, &format!("cycle-1/green-fix-iteration-{number}.md"))
                .contains("GREEN, iteration")
        );
    }
    assert!(
        !story
            .git(&format!("ls-tree -r --name-only {}", story.branch()))
            .contains("temperature.py\n"),
        "not reverted"
    );
    assert_eq!(json(&story, "cycle-1/green.json")["all_tests_pass"], false);
}

#[test]
fn ts_05_path_traversal() {
    let story = design();
    fs::write(story.place("pass"), "x").unwrap();
    turned_down(
        &story,
        &format!("{RUN_DESIGN} ../pass"),
        "../pass: it resolves outside the project root",
    );
}

#[test]
fn ts_06_human_abort() {
    let story = design();
    let before = story.belongings();
    story.redgreen(RUN_DESIGN).exits(3);
    story.redgreen("abort").exits(0).says("nothing was merged");
    assert_eq!(story.belongings(), before);
    assert_eq!(story.git("for-each-ref refs/heads/redgreen"), "");
    story.assert_no_worktree();
}

/// The document mocks the model. Our counterpart is the scripted agent: no key, no network.
#[test]
fn verify_mock_mode_graph_logic() {
    let told = super::spec_run();
    told.shows("replays a local file: nothing leaves this machine");
    let phases: Vec<String> =
        told.steps().iter().map(|step| step["phase"].as_str().unwrap().to_owned()).collect();
    assert_eq!(phases, ["RED", "GREEN", "GREEN", "GREEN", "REFACTOR"]);
}

#[test]
fn verify_path_security() {
    let story = design();
    fs::write(story.place("secret.txt"), "x").unwrap();
    let line = "run --script @kata.toml --issue 87 --lld docs/lld.md --context ../secret.txt";
    turned_down(&story, line, "../secret.txt: it resolves outside the project root");
}

#[test]
fn verify_size_limits() {
    let story = design();
    story.file("large_file.py", &"x = 1\n".repeat(20_000));
    turned_down(&story, &format!("{RUN_DESIGN} large_file.py"), "a file of more than 100 KB");
}

/// pytest's exit codes and their outcomes: 0 is refused, 1 is RED, 4 and 5 go back to RED, 2 and 3
/// need a human.
#[test]
fn exit_code_routing() {
    let turn = |path: &str, text: &str| {
        format!("\n[[red]]\ndo = [{{ write = {path:?}, text = {text:?} }}]\n")
    };
    let none = turn("tests/test_none.py", "# no test\n");
    let passes =
        turn("tests/test_a.py", "def test_a():\n    # TC001 TC002 TC003\n    assert True\n");
    let usage =
        turn("tests/conftest.py", "import pytest\n\nraise pytest.UsageError('no such option')\n");
    let (_, real) = SPEC_SCRIPT.split_once("[[red]]").unwrap();
    let mended =
        real.replacen("do = [", "do = [{ write = \"tests/conftest.py\", text = \"\" }, ", 1);
    let story =
        story("spec.yaml", SPEC, &format!("version = 1\n{none}{passes}{usage}\n[[red]]{mended}"));
    let said = story.redgreen(RUN_SPEC).exits(3);
    for code in ["[red.no_tests]", "[red.passes]", "[red.does_not_load]", "[red.missing_symbol]"] {
        assert!(said.stderr.contains(code), "{code}: {}", said.stderr);
    }
}

#[test]
fn exit_codes_2_and_3_escalate_to_a_human_and_are_never_a_red() {
    let test = "from shop.till import Till\n\n\ndef test_tc001_tc002_tc003():\n    assert Till().total() == 0\n";
    let interrupted = "def test_a():\n    raise KeyboardInterrupt\n";
    let internal =
        "def pytest_collection_modifyitems(items):\n    raise RuntimeError('the plugin broke')\n";
    for (code, files) in [
        (2, [("tests/test_a.py", interrupted), ("tests/test_b.py", test)]),
        (3, [("tests/conftest.py", internal), ("tests/test_b.py", test)]),
    ] {
        let writes: Vec<String> = files
            .iter()
            .map(|(path, text)| format!("{{ write = {path:?}, text = {text:?} }}"))
            .collect();
        let script = format!("version = 1\n\n[[red]]\ndo = [{}]\n", writes.join(", "));
        let story = story("spec.yaml", SPEC, &script);
        let said = story
            .redgreen(RUN_SPEC)
            .exits(3)
            .says("[runner.broken]")
            .says("undecided in RED; needs a human decision");
        assert!(
            said.stderr.contains(&format!("(exit {code})"))
                && !said.stderr.contains("RED       accepted"),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn a_path_with_dots_that_stays_inside_says_so() {
    let story = design();
    turned_down(
        &story,
        &format!("{RUN_DESIGN} src/../src/util.py"),
        "src/../src/util.py: its path contains `..`",
    );
}

#[test]
fn the_mock_runs_every_door_without_a_script_a_key_or_a_network() {
    let mocked = |file: Option<(&str, &str)>| {
        let story = Story::pytest()
            .env("AGENTOS_MOCK_LLM", "1")
            .env("ANTHROPIC_API_KEY", "sk-not-used")
            .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
        story.file("docs/lld.md", "# A calculator\n\nIt adds.\n");
        story.commit("a design");
        if let Some((name, text)) = file {
            story.script(name, text);
        }
        story
    };
    for (file, line) in [
        (None, "run add roman numerals"),
        (None, "run --issue 87 --lld docs/lld.md"),
        (Some(("spec.yaml", SPEC)), "run --spec @spec.yaml"),
        (Some(("task.json", TASK)), "run --task @task.json --no-withhold"),
    ] {
        let story = mocked(file);
        story
            .redgreen(line)
            .exits(3)
            .says("the built-in script runs every phase; no model is called");
        story.redgreen("approve").exits(0);
        assert!(story.root.join("mock_feature.py").is_file(), "{line}");
    }
}

#[test]
fn a_context_that_does_not_fit_is_refused_before_anything_is_sent() {
    let large = |story: &Story, files: usize| {
        for number in 0..files {
            story.file(&format!("many/{number}.txt"), &"1 2 3 4 5 6 7 8 9 0 ".repeat(3_000));
        }
        story.commit("large files");
    };
    // The document's own limit applies to every agent.
    let story = design();
    large(&story, 2);
    turned_down(
        &story,
        &format!("{RUN_DESIGN} many"),
        "tokens, but at most 130000 are sent in one request",
    );
    // The model's context window applies if the settings give it.
    story.file("redgreen.toml", "backoff = 0.0\n[model]\nwindow = 50000\n");
    story.commit("a small model");
    turned_down(
        &story,
        &format!("{RUN_DESIGN} many/0.txt"),
        "tokens, but at most 50000 fit into the model (model.window)",
    );
    // The limit also holds for text that is read later: redgreen does not send it.
    let server = Server::start(vec![ModelTurn::say("hello")]);
    let story = served(Story::pytest(), &server, Wire::Anthropic);
    story
        .file("AGENTS.md", &"word ".repeat(3_000))
        .file("redgreen.toml", "backoff = 0.0\n[model]\nwindow = 1000\n");
    story.commit("a tiny window");
    story.redgreen("run add").exits(4).says("and model.window is 1000: nothing was sent");
    assert_eq!(server.requests().len(), 0);
}
