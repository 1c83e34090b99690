//! The recovery table, row by row: the agent's failure, the message it gets, and the end of the
//! run.

use std::fs;

use serde_json::Value;

use super::scripts::{DONE, GREEN, PLAN, RED, RED_PYTEST, WRONG, failing, turn};
use super::{ProgramOutput, Story};

const RUN: &str = "run --script @kata.toml \"an adder\"";
/// Saves the message that the agent got, so that the test can read it.
const LISTEN: &str =
    r#"{ shell = 'printf %s "$REDGREEN_TROUBLE" > "$HOME/told-$REDGREEN_ATTEMPT"' }"#;

fn story(turns: &[&str]) -> Story {
    told_by(Story::new(), turns)
}

fn told_by(story: Story, turns: &[&str]) -> Story {
    story.script("kata.toml", &turns.concat());
    story
}

/// The message for the n-th try of a phase.
pub(super) fn told(story: &Story, attempt: u32) -> String {
    fs::read_to_string(story.place(&format!("home/told-{attempt}"))).unwrap_or_default()
}

/// An artifact of the only run.
fn artifact(story: &Story, name: &str) -> String {
    let runs = story.root.join(".git/redgreen/runs");
    let run = fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    fs::read_to_string(run.join("artifacts").join(name)).unwrap_or_default()
}

fn note(story: &Story, commit: &str) -> Value {
    serde_json::from_str(&story.git(&format!("notes --ref=tdd-handoffs show {commit}"))).unwrap()
}

/// A script action that writes a file.
pub(super) fn write(path: &str, text: &str) -> String {
    format!("{{ write = \"{path}\", text = {text:?} }}")
}

pub(super) fn listening(role: &str, action: &str) -> String {
    turn(role, &format!("{LISTEN}, {action}"))
}

pub(super) const GOOD_TEST: &str = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    \
     def test_adds(self):\n        assert add(1, 2) == 3\n";
pub(super) const GOOD_CODE: &str = "def add(a, b):\n    return a + b\n";

#[test]
fn red_gets_the_reason_until_it_is_accepted() {
    let story = story(&[
        PLAN,
        &turn(
            "red",
            &write(
                "test_add.py",
                "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
             def test_adds(:\n",
            ),
        ),
        &listening(
            "red",
            &write(
                "test_add.py",
                "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
             def test_adds(self):\n        assert True\n",
            ),
        ),
        &listening("red", &write("test_add.py", GOOD_TEST)),
        GREEN,
        DONE,
    ]);
    story.redgreen(RUN).exits(3).says("[red.syntax]").says("[red.passes]");
    assert!(told(&story, 2).starts_with("red.syntax: SyntaxError"), "{}", told(&story, 2));
    assert!(
        told(&story, 3).contains("red.passes: test_add.Tests.test_adds already passes"),
        "{}",
        told(&story, 3)
    );
    let red = story.git(&format!("log -1 --format=%H --grep=^test: {}", story.branch()));
    assert_eq!(note(&story, &red)["retryCount"], 2);
}

#[test]
fn red_gives_up_after_three_retries_and_says_so_in_the_note() {
    let passes = turn(
        "red",
        &write(
            "test_add.py",
            "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
         def test_adds(self):\n        assert True\n",
        ),
    );
    let story = story(&[PLAN, &passes.repeat(4)]);
    let base = story.git("rev-parse main");
    let said = story.redgreen(RUN).exits(1).says("gave up in RED").says("redgreen resume");
    assert_eq!(said.stderr.matches("[red.passes]").count(), 4, "{}", said.stderr);
    let last = note(&story, &story.branch());
    assert_eq!((last["phase"].as_str(), last["retryCount"].as_u64()), (Some("PLAN"), Some(4)));
    assert!(last["error"].as_str().unwrap().contains("red.passes"), "{last}");
    assert_eq!(last["errorDetails"]["type"], "red.passes");
    assert!(artifact(&story, "cycle-1/red-phase-failure.md").contains("red.passes"));
    let on_base =
        story.command("git").args(["notes", "--ref=tdd-handoffs", "show", &base]).output().unwrap();
    assert!(!on_base.status.success(), "nothing is noted on a commit of the user's");
    assert_eq!(story.git(&format!("ls-tree --name-only {} test_add.py", story.branch())), "");
}

#[test]
fn a_plan_that_is_never_right_leaves_nothing_on_the_users_commit() {
    let rubbish = "\n[[plan]]\nanswer = \"I would rather not say\"\n";
    let story = story(&[&rubbish.repeat(2)]);
    let base = story.git("rev-parse main");
    story
        .redgreen(&format!("{RUN} --max-retries 1"))
        .exits(1)
        .says("gave up in PLAN")
        .says("[plan.no_answer]");
    assert!(artifact(&story, "cycle-1/plan-phase-failure.md").contains("plan.no_answer"));
    let on_base =
        story.command("git").args(["notes", "--ref=tdd-handoffs", "show", &base]).output().unwrap();
    assert!(!on_base.status.success(), "nothing is noted on a commit of the user's");
    for line in ["status", "why", "history", "repair-notes"] {
        story.redgreen(line).exits(0);
    }
    story.redgreen("abort").exits(0);
}

#[test]
fn green_continues_from_its_best_state_and_learns_from_the_diagnosis() {
    let turns = [
        PLAN,
        RED_PYTEST,
        WRONG,
        "\n[[diagnosis]]\nanswer = \"add subtracts\"\n",
        &listening("green", &write("calc.py", GOOD_CODE)),
        DONE,
    ];
    let story = told_by(Story::pytest(), &turns);
    story.redgreen(RUN).exits(3).says("[green.still_failing]").says("diagnosis  add subtracts");
    assert!(
        told(&story, 2)
            .contains("green.still_failing: test_add.py::test_adds fails: assert -1 == 3")
    );
    let record = artifact(&story, "cycle-1/green-fix-iteration-1.md");
    assert!(record.contains("add subtracts") && record.contains("assert -1 == 3"), "{record}");
}

#[test]
fn breaking_another_test_is_rolled_back() {
    let breaks = turn(
        "green",
        &format!(
            "{}, {{ edit = \"old.py\", old = \"1\", new = \"2\" }}",
            write("calc.py", GOOD_CODE)
        ),
    );
    let story = story(&[PLAN, RED, &breaks, GREEN, DONE]);
    story.file("old.py", "ONE = 1\n").file(
        "test_old.py",
        "import unittest\nfrom old import ONE\n\n\nclass Tests(unittest.TestCase):\n    \
                              def test_old(self):\n        assert ONE == 1\n",
    );
    story.commit("old code");
    let said = story.redgreen(RUN).exits(3).says("[green.regression]");
    assert!(said.stderr.contains("reverted"), "{}", said.stderr);
    assert_eq!(story.git(&format!("show {}:old.py", story.branch())), "ONE = 1");
}

#[test]
fn cheating_is_refused_whatever_its_form() {
    let cheats = [
        ("{ edit = \"test_add.py\", old = \"== 3\", new = \"!= 99\" }", "[green.tests_changed]"),
        ("{ delete = \"test_add.py\" }", "[green.tests_changed]"),
        (
            "{ edit = \"test_add.py\", old = \"def test_adds\", new = \"@unittest.skip('later')\\n    def test_adds\" }",
            "[green.tests_changed]",
        ),
        (
            "{ write = \"conftest.py\", text = \"def pytest_collection_modifyitems(items):\\n    items.clear()\\n\" }",
            "[green.config_changed]",
        ),
        (
            "{ write = \"pytest.ini\", text = \"[pytest]\\naddopts = --ignore=test_add.py\\n\" }",
            "[green.config_changed]",
        ),
    ];
    let turns: String = cheats.iter().map(|(cheat, _)| turn("green", cheat)).collect();
    let story = told_by(Story::pytest(), &[PLAN, RED, &turns, GREEN, DONE]);
    let mut said = story.redgreen(&format!("{RUN} --max-iterations 9")).exits(3);
    for (_, code) in cheats {
        said = said.says(code);
    }
    let tree = story.git(&format!("ls-tree --name-only {}", story.branch()));
    assert!(!tree.contains("conftest.py"), "{tree}");
    assert_eq!(story.git(&format!("show {}:test_add.py", story.branch())), GOOD_TEST.trim_end());
    assert_eq!(story.git(&format!("show {}:pytest.ini", story.branch())), "[pytest]");
}

#[test]
fn used_up_iterations_take_green_back_and_a_resume_tries_again() {
    let other = |number: u32| {
        turn("green", &write("calc.py", &format!("def add(a, b):\n    return {number}\n")))
    };
    let story = story(&[PLAN, RED, &other(1), &other(2)]);
    let said =
        story.redgreen(&format!("{RUN} --max-iterations 2")).exits(1).says("gave up in GREEN");
    assert!(said.stdout.contains("2 iterations are used up"), "{}", said.stdout);
    let branch = story.branch();
    assert_eq!(
        story.git(&format!("ls-tree --name-only {branch} calc.py")),
        "",
        "everything of GREEN is reverted"
    );
    let last = note(&story, &branch);
    assert_eq!((last["phase"].as_str(), last["retryCount"].as_u64()), (Some("RED"), Some(2)));
    assert!(
        artifact(&story, "cycle-1/green-phase-failure.md").contains("2 iterations are used up")
    );
    assert!(
        artifact(&story, "cycle-1/green-fix-iteration-1.md").contains("No diagnosis was given.")
    );
    let kept = story.redgreen("--json salvage").exits(0).json()["salvages"][0]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    story.redgreen(&format!("salvage restore {kept} --branch rescued")).exits(0);
    assert_eq!(story.git("show rescued:calc.py"), "def add(a, b):\n    return 2");

    story.script("better.toml", &[PLAN, RED, &other(1), &other(2), GREEN, DONE].concat());
    story.redgreen("resume --script @better.toml").exits(3);
    assert!(note(&story, &branch)["error"].is_null());
    story.redgreen("approve").exits(0);
}

#[test]
fn a_stuck_agent_is_stopped_early() {
    let story = story(&[PLAN, RED, &WRONG.repeat(9)]);
    let said =
        story.redgreen(&format!("{RUN} --max-iterations 9")).exits(1).says("the agent is stuck");
    assert!(said.stderr.matches("[green.still_failing]").count() <= 3, "{}", said.stderr);
}

#[test]
fn a_refactoring_that_breaks_something_is_given_up_and_the_green_code_stays() {
    let breaks = turn("refactor", "{ edit = \"calc.py\", old = \"a + b\", new = \"b - a\" }");
    let story = story(&[PLAN, RED, GREEN, &breaks.repeat(2), DONE]);
    let said = story.redgreen(RUN).exits(3);
    assert_eq!(said.stderr.matches("[refactor.regression]").count(), 2, "{}", said.stderr);
    let branch = story.branch();
    assert_eq!(story.git(&format!("show {branch}:calc.py")), GOOD_CODE.trim_end());
    assert!(
        story
            .log(&format!("main..{branch}"))
            .contains(&"refactor: given up, the green code stays".to_owned())
    );
}

#[test]
fn an_agent_that_fails_is_asked_again_unless_that_cannot_help() {
    let rate_limit =
        "\n[[red]]\nfail = { kind = \"rate-limit\", message = \"busy\", retry-after = 0.2 }\n";
    let half_done = turn(
        "red",
        r#"{ write = "rubbish.py", text = "(" }, { edit = "none.py", old = "a", new = "b" }"#,
    );
    let again = listening("red", &write("test_add.py", GOOD_TEST));
    let story =
        story(&[PLAN, rate_limit, &failing("red", "timeout"), &half_done, &again, GREEN, DONE]);
    let said = story.redgreen(RUN).exits(3);
    for words in [
        "the agent must wait: busy [agent.rate_limit]",
        "retrying RED in 0.2 s: attempt 2 of 4",
        "the agent ran out of time: said the agent [agent.timeout]",
        "retrying RED: attempt 3 of 4",
        "the agent's turn failed: ",
        "retrying RED: attempt 4 of 4",
    ] {
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
    }
    assert!(told(&story, 4).contains("agent.crash"), "{}", told(&story, 4));
    assert!(!story.git(&format!("ls-tree --name-only {}", story.branch())).contains("rubbish.py"));
}

#[test]
fn an_agent_that_cannot_work_stops_the_run_at_once() {
    let story = story(&[PLAN, &failing("red", "unusable")]);
    story
        .redgreen(RUN)
        .exits(4)
        .says("the agent does not work: said the agent")
        .says("--script FILE");
    let crashes = story.script(
        "kata.toml",
        &[PLAN, &failing("red", "unusable"), &failing("red", "crash")].concat(),
    );
    crashes.redgreen("resume --script @kata.toml --max-retries 0").exits(1).says("gave up in RED");
}

#[test]
fn only_new_linter_findings_count() {
    let lint = "backoff = 0.0\n[lint]\ncommands = [\"! grep -n hack calc.py\", \"false\"]\n";
    let hack = turn("green", &write("calc.py", "def add(a, b):  # hack\n    return a + b\n"));
    let story = story(&[PLAN, RED, &hack, GREEN, DONE]);
    story.file("redgreen.toml", lint);
    story.commit("linters");
    let said = story
        .redgreen(RUN)
        .exits(3)
        .says("`false` already reports problems")
        .says("1:def add(a, b):  # hack");
    assert!(said.stderr.contains("lint"), "{}", said.stderr);
    assert_eq!(story.git(&format!("show {}:calc.py", story.branch())), GOOD_CODE.trim_end());
}

/// Linters and the criteria of a task run code of the agent: plugins, build scripts, tests.
#[test]
fn linters_see_and_change_no_more_than_the_agent() {
    let story = story(&[PLAN, RED, GREEN, DONE]);
    let (secret, ran) = (story.place("home/.ssh/id"), story.place("home/ran"));
    fs::create_dir_all(secret.parent().unwrap()).unwrap();
    fs::write(&secret, "hush").unwrap();
    let line =
        format!("touch {}; ! grep 'h[u]sh' {} /proc/*/environ", ran.display(), secret.display());
    story.file(
        "redgreen.toml",
        &format!("backoff = 0.0\n[lint]\ncommands = [{line:?}, \"env | grep 'h[u]sh'; false\"]\n"),
    );
    story.commit("linters");
    let said = story.env("MY_SECRET", "hush").redgreen(RUN).exits(3);
    assert!(!said.stderr.contains("hush") && !said.stderr.contains("`touch"), "{}", said.stderr);
    assert!(!ran.exists());
}

#[test]
fn a_spent_budget_stops_the_run_and_a_larger_one_continues() {
    let costly = RED.replace("do =", "tokens = 900\ndollars = 1.5\ndo =");
    for (small, words, large) in [
        ("--budget-tokens 500", "900 of 500 tokens are spent", "--budget-tokens 5000"),
        ("--budget-usd 1", "$1.50 of $1.00 are spent", "--budget-usd 9"),
        ("--deadline 0", " s of 0 s of work time are spent", "--deadline 999"),
        ("--max-cycles 1", "all 1 cycles are used", "--max-cycles 3"),
    ] {
        let more = if small == "--max-cycles 1" {
            vec![
                PLAN.replace("- [ ] adds\\n", "- [ ] adds\\n- [ ] more\\n"),
                "\n[[plan]]\nnext = { description = \"more\", test-file = \"test_more.py\", impl-file = \"calc.py\" }\n".into(),
                turn("red", &write("test_more.py", "import unittest\nfrom calc import more\n\n\nclass Tests(unittest.TestCase):\n    \
                     def test_more(self):\n        assert more\n")),
                turn("green", "{ append = \"calc.py\", text = \"\\n\\nmore = True\\n\" }"),
            ]
        } else {
            vec![PLAN.to_owned(), String::new(), String::new(), String::new()]
        };
        let story = story(&[&more[0], &more[1], &costly, &more[2], GREEN, &more[3], DONE]);
        let said =
            story.redgreen(&format!("run {small} --script @kata.toml x")).exits(5).says(words);
        assert!(said.stdout.lines().last().unwrap().contains("redgreen resume"), "{}", said.stdout);
        story.redgreen(&format!("resume {large}")).exits(3);
    }
}

/// The suite cannot run at all, and redgreen cannot tell whether the agent caused that.
#[test]
fn a_runner_that_breaks_is_undecided_and_a_resume_asks_it_again() {
    let story = story(&[PLAN, RED, GREEN, DONE]);
    story.file("redgreen.toml", "backoff = 0.0\n[worktree]\nlink = [\"switch\"]\n");
    story.file(
        "conftest.py",
        "import os\n\nimport pytest\n\nif os.path.exists('switch/off'):\n    raise pytest.UsageError('switched off')\n",
    );
    story.file(".gitignore", "__pycache__/\nswitch\n").file("switch/keep", "");
    let switch = story.root.join("switch/off");
    story.commit("a suite with a switch");
    let off = turn(
        "red",
        &format!("{}, {{ shell = \"touch switch/off\" }}", write("test_add.py", GOOD_TEST)),
    );
    story.script("kata.toml", &[PLAN, &off, GREEN, DONE].concat());
    let said: ProgramOutput = story.redgreen(RUN);
    assert!(switch.exists(), "{}", said.stderr);
    let said =
        said.exits(3).says("[runner.broken]").says("undecided in RED; needs a human decision");
    assert!(
        said.stdout.contains("fix the error above, then run: redgreen resume"),
        "{}",
        said.stdout
    );
    let why = story.redgreen("why").exits(0).says("undecided").says("with the test runner");
    assert!(why.stdout.lines().count() <= 24, "{}", why.stdout);
    fs::remove_file(switch).unwrap();
    story.redgreen("resume").exits(3).says("waiting for a human");
}

#[test]
fn a_worktree_gets_what_git_does_not_hold() {
    let check = turn("plan", "").replace("do = []", r#"do = [{ shell = "cat secret.env data/big made > \"$HOME/seen\"; test -L data", must-succeed = true }, { write = "test-list.md", text = "- [ ] adds\n" }]
next = { description = "adds", test-file = "test_add.py", impl-file = "calc.py" }"#);
    let story = story(&[&check, RED, GREEN, DONE]);
    let set_up = |command: &str| {
        format!(
            "backoff = 0.0\n[worktree]\ncopy = [\"secret.env\"]\nlink = [\"data\"]\nsetup = [\"{command}\"]\n"
        )
    };
    story
        .file(".gitignore", "__pycache__/\nsecret.env\ndata\nmade\n")
        .file("secret.env", "s")
        .file("data/big", "b");
    story.file("redgreen.toml", &set_up("echo told me so >&2; exit 7"));
    story.commit("set-up");
    let said =
        story.redgreen(RUN).exits(4).says("the setup command").says("told me so").says("next");
    assert!(said.stderr.contains("(exit 7)"), "{}", said.stderr);
    story.file("redgreen.toml", &set_up("printf m > made"));
    story.redgreen("resume").exits(3);
    assert_eq!(fs::read_to_string(story.place("home/seen")).unwrap(), "sbm");
    assert_eq!(
        story.git(&format!("ls-tree --name-only {} secret.env data made", story.branch())),
        ""
    );
}

#[test]
fn what_set_up_made_is_in_the_clean_room_as_it_was_made() {
    let make = |number: u8| {
        format!(r#"{{ shell = "mkdir -p build && echo N = {number} > build/made.py" }}"#)
    };
    let code = write("calc.py", GOOD_CODE);
    let story = story(&[
        PLAN,
        // Generates the same content again.
        &turn("red", &format!("{}, {}", write("test_add.py", GOOD_TEST), make(3))),
        &turn("green", &format!("{code}, {}, {}", make(4), write("build/more.py", "M = 1\n"))),
        &turn("green", &format!("{code}, {}", make(3))),
        DONE,
    ]);
    story.file(".gitignore", "__pycache__/\nbuild/\n");
    story.file(
        "redgreen.toml",
        "backoff = 0.0\n[worktree]\nsetup = [\"mkdir -p build && echo N = 3 > build/made.py\"]\n",
    );
    let test = "import unittest\nimport pathlib\nimport sys\n\nsys.path.insert(0, \"build\")\n\n\nclass Tests(unittest.TestCase):\n    \
         def test_made(self):\n        import made\n\n        \
                assert made.N == 3\n        assert not pathlib.Path(\"build/more.py\").exists()\n        \
                pathlib.Path(\"build/own.txt\").write_text(\"mine\")\n";
    story.file("test_made.py", test);
    story.commit("code is generated");
    story
        .redgreen(RUN)
        .exits(3)
        .says("1 passed")
        .says("[environment.changed]")
        .says("build/made.py was changed");
}

/// `npm ci` rewrites every file. A second, undeclared package is harmless too.
#[test]
fn the_same_packages_installed_again_are_no_news() {
    let install = "rm -rf node_modules && mkdir -p node_modules/dep && echo {} > node_modules/dep/package.json && \
                   echo one > node_modules/dep/index.js && date +%N > node_modules/.package-lock.json";
    let again = format!(r#"{{ shell = "{install}", must-succeed = true }}"#);
    let shell = |line: &str| format!(r#"{{ shell = "{line}", must-succeed = true }}"#);
    let more = shell(
        "mkdir -p node_modules/more node_modules/.bin && echo {} > node_modules/more/package.json",
    );
    let cheat = shell(
        "echo two > node_modules/dep/index.js && touch -d 2000-01-01 node_modules/dep/index.js",
    );
    let nested = shell(
        "mkdir -p node_modules/more/node_modules/dep && echo {} > node_modules/more/node_modules/dep/package.json",
    );
    let (test, code) = (write("test_add.py", GOOD_TEST), write("calc.py", GOOD_CODE));
    let story = story(&[
        PLAN,
        // Neither the planner nor RED may change packages.
        &turn("red", &format!("{test}, {cheat}")),
        &turn("red", &format!("{test}, {again}, {more}")),
        &turn("green", &format!("{code}, {cheat}")),
        &turn("green", &format!("{code}, {again}, {more}, {nested}")),
        &turn("green", &format!("{code}, {again}, {more}")),
        DONE,
    ]);
    story.file(".gitignore", "__pycache__/\nnode_modules/\n");
    story.file("redgreen.toml", &format!("backoff = 0.0\n[worktree]\nsetup = [\"{install}\"]\n"));
    story.commit("packages");
    let said = story.redgreen(RUN).exits(3);
    assert_eq!(
        said.stderr.matches("node_modules/dep/index.js was changed").count(),
        2,
        "{}",
        said.stderr
    );
    assert_eq!(
        said.stderr.matches("node_modules/more/node_modules/dep/package.json is new").count(),
        1,
        "{}",
        said.stderr
    );
    assert_eq!(said.stderr.matches("[environment.changed]").count(), 3, "{}", said.stderr);
}

#[test]
fn earlier_failures_do_not_count_against_the_run() {
    let story = story(&[PLAN, RED, GREEN, DONE]);
    story.file(
        "test_old.py",
        "import unittest\n\n\nclass Tests(unittest.TestCase):\n    \
         def test_known(self):\n        assert False\n\n    @unittest.skip('later')\n    def test_idle(self):\n        pass\n",
    );
    story.commit("a suite that is not clean");
    story.redgreen(RUN).exits(3).says("0 passed, 1 failed, 1 skipped");
    story.redgreen("approve").exits(0);
}

#[test]
fn a_suite_that_cannot_run_is_no_baseline() {
    let story = told_by(Story::pytest(), &[PLAN, RED, GREEN, DONE]);
    // Only the run's worktree contains the results of set-up commands, so redgreen first runs the
    // tests there.
    let settings = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    story.file("pytest.ini", "[pytest]\naddopts = --no-such-option\n");
    story.file("redgreen.toml", &format!("{settings}[worktree]\nsetup = [\"true\"]\n"));
    story.commit("a suite that does not run");
    let said =
        story.redgreen(RUN).exits(4).says("the tests do not run, so nothing could be judged");
    assert!(said.stdout.lines().last().unwrap().contains("redgreen abort"), "{}", said.stdout);
    story.redgreen("abort").exits(0);
    assert_eq!(story.git("for-each-ref refs/heads/redgreen"), "");
}
