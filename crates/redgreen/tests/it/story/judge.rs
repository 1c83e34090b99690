//! `redgreen judge` on real repositories: an honest step, and one cheat for each rule. The rows are
//! small changes to one feature. The codes name the rule that must catch the cheat.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::Story;

const STUB: &str = "def to_roman(n):\n    raise NotImplementedError\n";
const TEST: &str = "from roman import to_roman\n\n\ndef test_one():\n    assert to_roman(1) == \"I\"\n\n\n\
                    def test_four():\n    assert to_roman(4) == \"IV\"\n    assert to_roman(9) == \"IX\"\n";
const CODE: &str = "def to_roman(n):\n    out = \"\"\n    for value, sign in [(10, \"X\"), (9, \"IX\"), (5, \"V\"), \
                    (4, \"IV\"), (1, \"I\")]:\n        while n >= value:\n            out += sign\n            \
                    n -= value\n    return out\n";

/// A project with a stub and an old test.
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

/// The same project after an accepted RED.
fn red() -> Story {
    let story = project();
    story.file("tests/test_roman.py", TEST).commit("red");
    expect(&story, "red", "accepted", "red.not_implemented");
    story
}

/// The same project after an accepted GREEN.
fn green() -> Story {
    let story = red();
    story.file("roman.py", CODE).commit("green");
    expect(&story, "green", "accepted", "green.passes");
    story
}

#[track_caller]
fn expect(story: &Story, phase: &str, verdict: &str, code: &str) {
    let said = story.redgreen(&format!("judge {phase} --brief \"roman numerals\" --json"));
    let json = said.json();
    let codes: Vec<&str> =
        json["reasons"].as_array().unwrap().iter().filter_map(|row| row["code"].as_str()).collect();
    // A slow machine tries fewer mutants, so the judge may leave the decision to a human instead.
    let as_wanted =
        json["verdict"] == verdict || verdict == "stopped" && json["verdict"] != "accepted";
    assert!(as_wanted && codes.contains(&code), "wanted {verdict} {code}: {json:#}");
    let exit = match json["verdict"].as_str() {
        Some("accepted") => 0,
        Some("refused") => 1,
        _ => 3,
    };
    said.exits(exit);
}

/// Judges one step on top of `start`: the files to write, where an empty text deletes the file.
#[track_caller]
fn check(
    start: impl Fn() -> Story,
    phase: &str,
    files: &[(&str, &str)],
    verdict: &str,
    code: &str,
) {
    let story = start();
    for (path, text) in files {
        if text.is_empty() {
            fs::remove_file(story.root.join(path)).unwrap();
        } else {
            story.file(path, text);
        }
    }
    story.commit(phase);
    expect(&story, phase, verdict, code);
}

#[test]
fn a_red_has_to_ask_for_something() {
    let path = "tests/test_roman.py";
    let start = "import pytest\nfrom roman import to_roman\n\n\ndef test_one():\n    ";
    let rows = [
        (format!("{start}to_roman(1)\n"), "red.no_assertion"),
        (format!("{start}assert False\n"), "red.no_call"),
        (format!("{start}assert to_roman(1) == \"I\" or True\n"), "red.no_assertion"),
        (TEST.replace("from roman", "import numpyy\nfrom roman"), "red.unrelated_symbol"),
        (TEST.replace("(9)", "(9"), "red.syntax"),
        ("def test_two():\n    assert 1 + 1 == 2\n".to_owned(), "red.passes"),
        (format!("{start}got = to_roman(1)\n    assert got == \"I\" or got\n"), "red.no_assertion"),
        (format!("{start}assert \"I\" == to_roman(1) or to_roman(1)\n"), "red.no_assertion"),
        ("import pytest\nfrom roman import number\n\n\ndef test_rubbish():\n    with pytest.raises(Exception):\n        number(\"?\")\n".to_owned(), "red.no_assertion"),
    ];
    for (text, code) in rows {
        check(project, "red", &[(path, &text)], "refused", code);
    }
    check(
        project,
        "red",
        &[(path, TEST), ("roman.py", CODE)],
        "refused",
        "red.touches_implementation",
    );
    check(
        project,
        "red",
        &[(path, TEST), ("tests/test_old.py", "")],
        "refused",
        "red.tests_vanished",
    );
    check(
        project,
        "red",
        &[(path, TEST), ("roman.py", "")],
        "refused",
        "red.touches_implementation",
    );
}

/// Each of these tests has a similar one that RED refuses.
#[test]
fn a_red_may_ask_for_little() {
    let start = "import pytest\nfrom roman import to_roman\n\n\ndef test_one():\n    ";
    for text in [
        format!("{start}with pytest.raises(ValueError):\n        to_roman(0)\n"),
        format!("{start}assert to_roman(1)\n    assert len(\"I\") == 1\n"),
        format!("{start}assert to_roman(1) == \"I\" or to_roman(1) == \"i\"\n"),
    ] {
        check(project, "red", &[("tests/test_roman.py", &text)], "accepted", "red.not_implemented");
    }
}

/// The control experiment replaces the decorator with a constant, which keeps the file from
/// loading. That is no evidence against the test.
#[test]
fn a_red_may_use_what_it_asks_for_as_a_decorator() {
    let text = "from retry import retry\n\n\ndef test_tries_again():\n    assert once() == \"ok\"\n    assert CALLS == [1, 1]\n\n\n\
                CALLS = []\n\n\n@retry(times=2)\ndef once():\n    CALLS.append(1)\n    if len(CALLS) < 2:\n        raise OSError\n    \
                return \"ok\"\n";
    check(project, "red", &[("tests/test_retry.py", text)], "accepted", "red.missing_symbol");
}

/// The tests read their expected values from a data file.
#[test]
fn what_the_tests_read_is_theirs_wherever_it_lies() {
    let test = "import json\nimport pathlib\n\nfrom roman import to_roman\n\nROWS = pathlib.Path(__file__).parents[1] / \"data\" / \
                \"rows.json\"\n\n\ndef test_rows():\n    for number, sign in json.loads(ROWS.read_text()):\n        \
                assert to_roman(number) == sign\n";
    let start = || {
        let story = project();
        story
            .file("data/rows.json", "[[1, \"I\"], [4, \"IV\"]]")
            .file("data/signs.json", "[[1, \"J\"]]")
            .commit("data");
        story
    };
    let red = || {
        let story = start();
        story.file("tests/test_roman.py", test).commit("red");
        expect(&story, "red", "accepted", "red.not_implemented");
        story
    };
    let cheat = [
        ("roman.py", "def to_roman(n):\n    return \"I\" * n\n"),
        ("data/rows.json", "[[1, \"I\"], [4, \"IIII\"]]"),
    ];
    check(red, "green", &cheat, "refused", "green.tests_changed");
    // A test may bring its own data file, which is frozen from then on.
    let with_data = || {
        let story = project();
        story
            .file("data/rows.json", "[[1, \"I\"], [4, \"IV\"]]")
            .file("tests/test_roman.py", test)
            .commit("red");
        expect(&story, "red", "accepted", "red.not_implemented");
        story
    };
    check(with_data, "green", &cheat, "refused", "green.tests_changed");
    check(with_data, "green", &[("roman.py", CODE)], "accepted", "green.passes");
    // A file that only the code reads counts as code.
    let code = "import json\nimport pathlib\n\n\ndef to_roman(n):\n    signs = json.loads((pathlib.Path(__file__).parent / \
                \"data\" / \"signs.json\").read_text())\n    out = \"\"\n    for value, sign in signs:\n        \
                while n >= value:\n            out += sign\n            n -= value\n    return out\n";
    let honest = [("roman.py", code), ("data/signs.json", "[[5, \"V\"], [4, \"IV\"], [1, \"I\"]]")];
    check(red, "green", &honest, "accepted", "green.passes");
}

#[test]
fn a_green_has_to_come_from_the_code() {
    let code = |text: &'static str| [("roman.py", text)];
    let always = "class Any(str):\n    def __eq__(self, other):\n        return True\n    __hash__ = str.__hash__\n\n\n\
                  def to_roman(n):\n    return Any()\n";
    let reads = "import inspect\nimport re\n\n\ndef to_roman(n):\n    text = open(inspect.stack()[1].filename).read()\n    \
                 return re.search(rf\"to_roman\\({n}\\) == .(\\w+).\", text)[1]\n";
    let shaped = "class Sign:\n    def __eq__(self, other):\n        return set(other) <= set(\"IVX\")\n\n\n\
                  def to_roman(n):\n    return Sign()\n";
    let skips = "import unittest\n\n\ndef to_roman(n):\n    raise unittest.SkipTest(\"no\")\n";
    let detects = "import sys\n\n\ndef to_roman(n):\n    if \"pytest\" in sys.modules:\n        \
                   return {1: \"I\", 4: \"IV\", 9: \"IX\"}[n]\n    return \"\"\n";
    check(red, "green", &code(always), "refused", "green.not_discriminating");
    check(red, "green", &code(shaped), "refused", "green.not_discriminating");
    check(red, "green", &code(reads), "refused", "green.not_discriminating");
    check(red, "green", &code(skips), "refused", "green.newly_skipped");
    check(red, "green", &code(detects), "undecided", "green.suspicious");
    check(red, "green", &code("import os\nos._exit(0)\n"), "refused", "green.report_incomplete");
    check(
        red,
        "green",
        &code("def to_roman(n):\n    return \"I\"\n"),
        "refused",
        "green.still_failing",
    );
    let hook = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n    \
                made = yield\n    made.get_result().outcome = \"passed\"\n";
    check(red, "green", &[("tests/conftest.py", hook)], "refused", "green.config_changed");
    check(
        red,
        "green",
        &[("pytest.ini", "[pytest]\naddopts = -k old\n")],
        "refused",
        "green.config_changed",
    );
    check(
        red,
        "green",
        &[("pytest.py", "raise SystemExit(0)\n")],
        "refused",
        "environment.planted",
    );
    let skipped =
        TEST.replace("def test_four", "import pytest\n\n\n@pytest.mark.skip\ndef test_four");
    check(
        red,
        "green",
        &[("roman.py", CODE), ("tests/test_roman.py", &skipped)],
        "refused",
        "green.tests_changed",
    );
}

#[test]
fn what_an_honest_green_brings_along_is_welcome() {
    let more = format!("{TEST}\n\ndef test_ten():\n    assert to_roman(10) == \"X\"\n");
    check(
        red,
        "green",
        &[("roman.py", CODE), ("tests/test_roman.py", &more)],
        "accepted",
        "green.passes",
    );
    let other =
        "from roman import to_roman\n\n\ndef test_ten():\n    assert to_roman(10) == \"X\"\n";
    check(
        red,
        "green",
        &[("roman.py", CODE), ("tests/test_more.py", other)],
        "accepted",
        "green.passes",
    );
    let wrong = other.replace("\"X\"", "\"Y\"");
    check(
        red,
        "green",
        &[("roman.py", CODE), ("tests/test_more.py", &wrong)],
        "refused",
        "green.still_failing",
    );
    let settings = ("pytest.ini", "[pytest]\nmarkers =\n    slow: takes long\n");
    check(red, "green", &[("roman.py", CODE), settings], "accepted", "green.passes");
}

/// A formatter changes the whole file. In Python, moving a statement into a loop is not a layout
/// change.
#[test]
fn tests_may_be_laid_out_anew_and_no_more() {
    let formatted = TEST.replace('"', "'").replace("to_roman(9)", "to_roman(\n        9,\n    )");
    check(
        red,
        "green",
        &[("roman.py", CODE), ("tests/test_roman.py", &formatted)],
        "accepted",
        "green.passes",
    );
    let story = project();
    let test = "from roman import to_roman\n\n\ndef test_one():\n    for n in []:\n        print(n)\n    \
                assert to_roman(1) == \"I\"\n";
    story.file("tests/test_roman.py", test).commit("red");
    expect(&story, "red", "accepted", "red.not_implemented");
    let inside = test.replace("    assert", "        assert");
    story.file("roman.py", CODE).file("tests/test_roman.py", &inside).commit("green");
    expect(&story, "green", "refused", "green.tests_changed");
}

#[test]
fn a_refactoring_keeps_what_is_asked_and_what_is_answered() {
    let table = "import pytest\n\nfrom roman import to_roman\n\n\n\
                 @pytest.mark.parametrize(\"number, sign\", [(1, \"I\"), (4, \"IV\"), (9, \"IX\")])\n\
                 def test_signs(number, sign):\n    assert to_roman(number) == sign\n";
    check(green, "refactor", &[("tests/test_roman.py", table)], "accepted", "refactor.kept");
    let loose = TEST.replace("to_roman(9) == \"IX\"", "to_roman(9)");
    check(
        green,
        "refactor",
        &[("tests/test_roman.py", &loose)],
        "stopped",
        "refactor.tests_weakened",
    );
    let fewer =
        "from roman import to_roman\n\n\ndef test_roman():\n    assert to_roman(1) == \"I\"\n";
    check(
        green,
        "refactor",
        &[("tests/test_roman.py", fewer)],
        "refused",
        "refactor.tests_weakened",
    );
    let other = CODE.replace("(10, \"X\")", "(10, \"Z\")");
    check(green, "refactor", &[("roman.py", &other)], "refused", "refactor.behaviour");
    let gone = [("roman.py", "SIGNS = \"IVX\"\n"), ("tests/test_roman.py", "")];
    check(green, "refactor", &gone, "undecided", "refactor.public_removed");
    check(green, "refactor", &[("tests/test_roman.py", "")], "refused", "refactor.tests_weakened");
    let hidden = CODE.replace("    return out", "    return out  # pragma: no cover");
    check(green, "refactor", &[("roman.py", &hidden)], "refused", "refactor.config_changed");
}

/// A virtual environment in the project with the packages of the test environment. Returns its
/// site-packages folder.
fn environment(story: &Story) -> PathBuf {
    story.file(".gitignore", "__pycache__/\n.venv/\n");
    super::python::environment(&story.root.join(".venv"))
}

/// After `pip install -e .`, an environment points to the checkout, but the judged tree is in
/// another folder.
#[test]
fn code_that_is_installed_as_editable_is_that_of_the_candidate() {
    let story = Story::pytest();
    let packages = environment(&story);
    fs::write(
        packages.join("__editable__.roman-1.pth"),
        format!("{}\n", story.root.join("src").display()),
    )
    .unwrap();
    story
        .file("src/roman.py", STUB)
        .file("tests/test_old.py", "import roman\n\n\ndef test_old():\n    assert roman\n");
    story.commit("a package");
    story.file("tests/test_roman.py", TEST).commit("red");
    expect(&story, "red", "accepted", "red.not_implemented");
    story.file("src/roman.py", CODE).commit("green");
    // Meanwhile the developer installed the package again, and a tool.
    fs::write(
        packages.join("__editable__.roman-2.pth"),
        format!("{}\n", story.root.join("src").display()),
    )
    .unwrap();
    fs::create_dir(packages.join("tool-1.dist-info")).unwrap();
    fs::write(
        packages.join("tool-1.dist-info/entry_points.txt"),
        "[console_scripts]\ntool = tool:main\n",
    )
    .unwrap();
    expect(&story, "green", "accepted", "green.passes");
}

#[test]
fn an_environment_that_somebody_changed_is_noticed() {
    let story = project();
    let packages = environment(&story);
    story.commit("an environment");
    story.file("tests/test_roman.py", TEST).commit("red");
    expect(&story, "red", "accepted", "red.not_implemented");
    fs::write(packages.join("zz.pth"), "import os\n").unwrap();
    story.file("roman.py", CODE).commit("green");
    expect(&story, "green", "refused", "environment.changed");
}

/// A user who upgraded a package passes `--new-packages`. Code that cheats from within the packages
/// makes the tests pass on the base too.
#[test]
fn new_packages_are_accepted_if_the_user_says_so_and_pass_no_test_for_the_code() {
    let story = project();
    let packages = environment(&story);
    story.commit("an environment");
    story.file("tests/test_roman.py", TEST).commit("red");
    expect(&story, "red", "accepted", "red.not_implemented");
    let link = packages.join("zz.pth");
    fs::write(&link, "import os\n").unwrap();
    story.file("roman.py", CODE).commit("green");
    expect(&story, "green", "refused", "environment.changed");
    expect(&story, "green --new-packages", "accepted", "green.passes");

    story.file("roman.py", &format!("{STUB}# Nothing yet.\n")).commit("green without code");
    fs::write(
        packages.join("cheat.py"),
        "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n",
    )
    .unwrap();
    fs::write(&link, "import cheat\n").unwrap();
    let base = story.git("rev-parse HEAD~2");
    expect(&story, &format!("green --base {base} --new-packages"), "refused", "green.nothing_red");
}

#[test]
fn the_answer_is_as_the_schema_says() {
    let text =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/verdict.json"))
            .unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap();
    let story = red();
    for phase in ["red", "green", "refactor"] {
        let answer = story.redgreen(&format!("judge {phase} --json")).json();
        let faults: Vec<String> =
            schema.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?} in {answer:#}");
    }
    let codes = redgreen_core::verdict::VOCABULARY.iter().map(|row| row.name).collect::<Vec<_>>();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        schema["properties"]["reasons"]["items"]["properties"]["code"]["enum"],
        serde_json::json!(codes)
    );
}

#[test]
fn what_is_no_commit_is_said_and_nothing_is_made() {
    let story = project();
    story
        .redgreen("judge red --base nowhere")
        .exits(2)
        .says("nowhere is not a commit in this repository");
    story.redgreen("judge blue").exits(2);
    let before = story.git("status --porcelain");
    story.redgreen("judge red --base HEAD --head HEAD").exits(1).says("red.no_tests");
    assert_eq!(story.git("status --porcelain"), before);
}

#[test]
fn killed_the_judge_leaves_no_test_running() {
    let story = project();
    let word = format!("redgreen-killed-{}", std::process::id());
    let slow = format!(
        "import time\nfrom roman import to_roman\n\n\ndef test_slow():\n    name = \"{word}\"\n    \
                        open(name, \"w\").close()\n    time.sleep(600)\n    assert to_roman(1) == name\n"
    );
    story.file("tests/test_roman.py", &slow).commit("red");
    let mut judge = story.prepare("judge red").spawn().unwrap();
    let rooms = story.place("home/worktrees");
    let begun = Instant::now();
    let started = || walk(&rooms).iter().any(|path| path.ends_with(&word));
    while !started() {
        assert!(begun.elapsed() < Duration::from_secs(300), "the test never started");
        thread::sleep(Duration::from_millis(50));
    }
    judge.kill().unwrap();
    judge.wait().unwrap();
    let room = rooms.display().to_string();
    let begun = Instant::now();
    while running_in(&room) {
        assert!(begun.elapsed() < Duration::from_secs(60), "a test is still running");
        thread::sleep(Duration::from_millis(50));
    }
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

/// Whether any process has the folder on its command line.
fn running_in(folder: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(folder))
}

#[test]
fn every_experiment_can_be_seen_again_by_hand() {
    let story = green();
    let said = story.redgreen("judge green --brief \"roman numerals\" --explain --json").exits(0);
    let json = said.json();
    let made = json["experiments"].as_array().unwrap();
    let of = |question: &str| {
        made.iter()
            .filter(|one| one["question"].as_str().unwrap().contains(question))
            .collect::<Vec<_>>()
    };
    for (question, exit) in
        [("result of every test", 0), ("on the old code", 1), ("cannot be met", 1)]
    {
        let found = of(question);
        let again = found.first().unwrap_or_else(|| panic!("{question}: {json:#}"))["again"]
            .as_str()
            .unwrap();
        fs::remove_dir_all(story.root.join("again")).ok();
        // A person runs this command in a shell, from the repository.
        let ended = story.command("sh").args(["-c", again]).output().unwrap();
        assert_eq!(ended.status.code(), Some(exit), "{again}\n{ended:?}");
    }
    fs::remove_dir_all(story.root.join("again")).unwrap();
    story
        .redgreen("judge green --brief \"roman numerals\" --explain")
        .says("1. What is the result of every test?")
        .says("git archive");
    assert!(
        !story.redgreen("judge green --brief \"roman numerals\"").stdout.contains("git archive")
    );
}

/// The configured test command replaces the framework only if that loses no evidence.
#[test]
fn a_test_command_without_a_report_does_not_replace_a_framework() {
    let story = project();
    story.file("Makefile", "test:\n\tpython -m pytest -q\n").commit("make test");
    story.file("tests/test_roman.py", TEST).commit("red");
    for command in ["make test", "python -m pytest -q", "true"] {
        let call =
            format!("judge red --brief \"roman numerals\" --test-command \"{command}\" --json");
        let json = story.redgreen(&call).json();
        let tests: Vec<&str> = json["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|row| row["test"].as_str())
            .collect();
        assert_eq!(json["verdict"], "accepted", "{command}: {json:#}");
        assert!(tests.contains(&"tests/test_roman.py::test_one"), "{command}: {json:#}");
    }
}

/// On installation, setuptools-scm and hatch-vcs write a module with the version, and git ignores
/// it.
#[test]
fn a_module_that_installing_writes_is_in_the_clean_room() {
    let story = Story::pytest();
    story.file(
        "pyproject.toml",
        "[tool.hatch.build.hooks.vcs]\nversion-file = \"kit/_version.py\"\n",
    );
    story
        .file(".gitignore", "_version.py\n")
        .file("kit/__init__.py", "from kit._version import version\n");
    story
        .file("kit/roman.py", STUB)
        .file("tests/test_kit.py", "import kit\n\n\ndef test_version():\n    assert kit.version\n");
    story.commit("base");
    story.file("tests/test_roman.py", &TEST.replace("from roman", "from kit.roman")).commit("red");
    let said = story.redgreen("judge red --brief roman --json").exits(3).stdout;
    assert!(said.contains("no test file loads") && said.contains("worktree.copy"), "{said}");
    story.file("kit/_version.py", "version = \"1.2\"\n");
    expect(&story, "red", "accepted", "red.not_implemented");
    story.file("kit/roman.py", CODE).commit("green");
    expect(&story, "green", "accepted", "green.passes");
}
