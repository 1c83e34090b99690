//! Realistic projects: older runners, tests that need variables and services, suites that do not
//! load. Doctor and run report the same problems, test by test.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::{fs, thread};

use serde_json::Value;

use super::scripts::{GREEN, PLAN, RED_PYTEST as RED};
use super::{ProgramOutput, Story};
use crate::runner::{is_installed, node_modules, versions};
use crate::skip::skipped;

const SECRET: &str = "postgres://ada:pa55word@localhost/shop";

/// Doctor's findings in the check with this name.
#[track_caller]
fn saw(said: &ProgramOutput, name: &str) -> String {
    let answer = said.json();
    let checks = answer["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no check {name}: {answer:#}"));
    format!("{}: {}", found["finding"].as_str().unwrap(), found["saw"].as_str().unwrap())
}

/// The status of each test at the start of the only run.
fn baseline(story: &Story) -> BTreeMap<String, String> {
    let runs = fs::read_dir(story.root.join(".git/redgreen/runs")).unwrap();
    let run = runs.map(|run| run.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let text = fs::read_to_string(run.join("reports/001-baseline.json")).unwrap();
    statuses(&serde_json::from_str(&text).unwrap())
}

fn statuses(report: &Value) -> BTreeMap<String, String> {
    let tests = report["tests"].as_array().unwrap().iter();
    tests
        .map(|test| {
            (test["id"].as_str().unwrap().to_owned(), test["status"].as_str().unwrap().to_owned())
        })
        .collect()
}

/// Asserts that no run left anything behind: no branch, no worktree, no folder.
#[track_caller]
fn nothing_is_made(story: &Story) {
    assert_eq!(story.git("for-each-ref refs/heads/redgreen refs/redgreen"), "");
    assert_eq!(story.git("worktree list").lines().count(), 1);
    let runs = fs::read_dir(story.root.join(".git/redgreen/runs")).map_or(0, Iterator::count);
    assert_eq!(runs, 0, "no run folder");
}

/// A turn that plans nothing: the run starts, records its baseline, and ends.
const IDLE: &str = "[[plan]]\nfail = { kind = \"unusable\" }\n";

/// Asserts that doctor's clean room, `redgreen test` and the start of a run show the same tests
/// with the same results.
#[track_caller]
fn agree(story: &Story, passed: usize) {
    let tested = story.redgreen("test --json").json();
    let outside = statuses(&tested["report"]);
    let doctor = story.redgreen("--json doctor").exits(0);
    let expected = format!(
        "good: {passed} passed, 0 failed, 0 skipped; everything that passes in your checkout \
         passes here"
    );
    assert_eq!(saw(&doctor, "room"), expected);
    assert!(
        saw(&doctor, "suite").starts_with(&format!("good: green: {passed} passed")),
        "{}",
        saw(&doctor, "suite")
    );
    story.script("idle.toml", IDLE);
    story.redgreen("run --max-retries 0 --script @idle.toml anything");
    assert_eq!(baseline(story), outside, "the run's start and your checkout");
    assert_eq!(outside.len(), passed);
}

/// Links an installed version of a runner into the story, or returns `None` with a message if it is
/// missing.
fn with_version(version: &str) -> Option<Story> {
    let modules = match version {
        // The version that all other tests use.
        "vitest-3" => node_modules(),
        _ => versions().join(version).join("node_modules"),
    };
    if !is_installed("node") || !modules.is_dir() {
        skipped(&format!("{version} is not installed by scripts/test"));
        return None;
    }
    let story = Story::pytest();
    fs::remove_file(story.root.join("pytest.ini")).unwrap();
    symlink(modules, story.root.join("node_modules")).unwrap();
    story.file(".gitignore", "node_modules\n");
    Some(story)
}

fn typescript(version: &str) {
    let Some(story) = with_version(version) else { return };
    story
        .file("package.json", "{\"type\": \"module\", \"devDependencies\": {\"vitest\": \"*\"}}\n")
        .file("src/calc.ts", "export const add = (a: number, b: number): number => a + b\n")
        .file(
            "test/calc.test.ts",
            "import { describe, expect, test } from 'vitest'\nimport { add } from '../src/calc'\n\
             test('adds', () => expect(add(1, 2)).toBe(3))\n\
             describe('of zero', () => { test('is the other', () => expect(add(0, 2)).toBe(2)) })\n",
        );
    story.commit("a project in TypeScript");
    agree(&story, 2);
}

#[test]
fn fault_10_vitest_1_is_understood() {
    typescript("vitest-1");
}

#[test]
fn fault_10_vitest_2_is_understood() {
    typescript("vitest-2");
}

#[test]
fn fault_10_vitest_3_is_understood() {
    let manifest =
        fs::read_to_string(node_modules().join("vitest/package.json")).unwrap_or_default();
    assert!(manifest.is_empty() || manifest.contains("\"version\": \"3."), "{manifest}");
    typescript("vitest-3");
}

#[test]
fn fault_10_vitest_4_is_understood() {
    typescript("vitest-4");
}

#[test]
fn fault_10_a_fresh_python_project_with_pytest_7_is_understood() {
    let python = versions().join("pytest-7");
    if !python.is_dir() {
        return skipped("pytest 7 is not installed by scripts/test");
    }
    let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", python.display());
    let story =
        Story::pytest().env("VIRTUAL_ENV", &python.display().to_string()).env("PATH", &path);
    story.file("calc.py", "def add(a, b):\n    return a + b\n").file(
        "test_calc.py",
        "import pytest\nfrom calc import add\n@pytest.mark.parametrize('n', [1, 2])\ndef test_adds(n):\n    \
         assert add(n, 0) == n\n",
    );
    story.commit("a project in Python");
    agree(&story, 2);
}

#[test]
fn doctor_and_run_agree_in_a_fresh_rust_project() {
    if !is_installed("cargo") {
        return;
    }
    let story = Story::pytest();
    fs::remove_file(story.root.join("pytest.ini")).unwrap();
    story
        .file(
            "Cargo.toml",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        )
        .file(".gitignore", "target/\nCargo.lock\n")
        .file("src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n")
        .file("tests/calc.rs", "#[test]\nfn adds() {\n    assert_eq!(calc::add(1, 2), 3);\n}\n");
    story.commit("a project in Rust");
    agree(&story, 1);
}

#[test]
fn doctor_and_run_agree_in_a_fresh_go_project() {
    if !is_installed("go") {
        return;
    }
    let story = Story::pytest();
    fs::remove_file(story.root.join("pytest.ini")).unwrap();
    story
        .file("go.mod", "module calc\n\ngo 1.18\n")
        .file("calc.go", "package calc\n\nfunc Add(a, b int) int { return a + b }\n")
        .file(
            "calc_test.go",
            "package calc\n\nimport \"testing\"\n\nfunc TestAdds(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
        );
    story.commit("a project in Go");
    agree(&story, 1);
}

const NEEDS_A_VARIABLE: &str = "import os\ndef test_plain():\n    pass\ndef test_shop():\n    \
    assert os.environ['DATABASE_URL'].startswith('postgres:')\n";

#[test]
fn fault_11_a_test_that_needs_a_variable_is_named_with_the_setting_that_helps() {
    let story = Story::pytest().env("DATABASE_URL", SECRET);
    story.file("test_shop.py", NEEDS_A_VARIABLE).commit("tests");
    let help = "fails only in the clean room: test_shop.py::test_shop; possible fix: \
                test.env-pass = [\"DATABASE_URL\"]";
    let doctor = story.redgreen("--json doctor").exits(0);
    assert!(saw(&doctor, "suite").starts_with("good: green: 2 passed"));
    assert_eq!(saw(&doctor, "room"), format!("note: 1 passed, 1 failed, 0 skipped\n{help}"));
    story.script("idle.toml", IDLE);
    story.redgreen("run --max-retries 0 --script @idle.toml anything").says(help);

    story
        .file("redgreen.toml", "backoff = 0.0\n[test]\nenv-pass = [\"DATABASE_URL\"]\n")
        .commit("settings");
    let story = renewed(story);
    agree(&story, 2);
    story
        .file("redgreen.toml", "backoff = 0.0\n[test.env]\nDATABASE_URL = \"postgres://test\"\n")
        .commit("settings");
    agree(&renewed(story), 2);
}

/// The same story after removing its runs.
fn renewed(story: Story) -> Story {
    story.redgreen("abort");
    fs::remove_dir_all(story.root.join(".git/redgreen")).ok();
    story
}

#[test]
fn fault_11_a_passed_value_is_in_no_report_and_known_to_no_agent() {
    let story = Story::pytest().env("DATABASE_URL", SECRET);
    story.file("redgreen.toml", "backoff = 0.0\n[test]\nenv-pass = [\"DATABASE_URL\"]\n");
    story.file(
        "test_shop.py",
        "import os\ndef test_shop():\n    assert os.environ['DATABASE_URL'] == 'x', os.environ\n",
    );
    story.commit("a test that tells everything");
    story.redgreen("run --max-retries 0 --agent looker anything");
    let said = story.redgreen("test --json");
    for text in [&said.stdout, &said.stderr] {
        assert!(!text.contains("pa55word"), "{text}");
    }
    assert!(said.stdout.contains("[redacted]"), "{}", said.stdout);
    let mut waiting = vec![story.root.join(".git/redgreen"), story.place("home")];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                waiting.push(path);
            } else {
                let text =
                    String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
                assert!(!text.contains("pa55word"), "{}", path.display());
            }
        }
    }
}

#[test]
fn fault_11_what_was_seen_under_other_settings_is_not_remembered() {
    let story = Story::pytest();
    story
        .file("test_shop.py", NEEDS_A_VARIABLE)
        .file("redgreen.toml", "backoff = 0.0\n[test.env]\nDATABASE_URL = \"no\"\n");
    let base = story.commit("tests");
    story.script("idle.toml", IDLE);
    story.redgreen("run --max-retries 0 --script @idle.toml anything");
    assert_eq!(baseline(&story)["test_shop.py::test_shop"], "failed");
    story.file("redgreen.toml", "backoff = 0.0\n[test.env]\nDATABASE_URL = \"postgres://yes\"\n");
    story.file("shop.py", "PRICE = 1\n");
    story.git("add shop.py");
    story.git("commit -q -m code");
    let said = story.redgreen(&format!("judge refactor --base {base} --json"));
    assert_eq!(said.json()["counts"]["failed"], 0, "{}", said.stdout);
}

/// Answers every line with `pong`, on a port of its own.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut asked = [0; 4];
            if stream.read_exact(&mut asked).is_ok() {
                stream.write_all(b"pong").ok();
            }
        }
    });
    port
}

#[test]
fn fault_11_a_test_that_needs_a_service_reaches_it_when_the_settings_say_so() {
    let port = server();
    let story = Story::pytest().env("DATABASE_URL", "postgres://ada@localhost/shop");
    story.file(
        "test_shop.py",
        &format!(
            "import os, socket\n\ndef test_shop():\n    assert os.environ['DATABASE_URL']\n    \
             with socket.create_connection((\"127.0.0.1\", {port}), timeout=5) as c:\n        \
             c.sendall(b'ping')\n        assert c.recv(4) == b'pong'\n"
        ),
    );
    story
        .file("redgreen.toml", "backoff = 0.0\n[test]\nenv-pass = [\"DATABASE_URL\"]\n")
        .commit("tests");
    let doctor = story.redgreen("--json doctor").exits(0);
    let help = format!("possible fix: test.services = [\"{port}\"]");
    // With Landlock alone, the sandbox shares the machine's loopback interface.
    let has_own_loopback = saw(&doctor, "room").starts_with("note");
    assert!(!has_own_loopback || saw(&doctor, "room").contains(&help), "{}", saw(&doctor, "room"));

    let settings = format!(
        "backoff = 0.0\n[test]\nenv-pass = [\"DATABASE_URL\"]\nservices = [\"localhost:{port}\"]\n"
    );
    story.file("redgreen.toml", &settings).commit("settings");
    agree(&story, 1);
}

/// The error message says that the connection was refused, but not which port.
#[test]
fn fault_11_the_port_of_a_service_is_found_among_those_that_listen() {
    let port = server();
    let story = Story::pytest().env("DATABASE_URL", "postgres://ada@shop.example.com/shop");
    let ask = "import socket\n\ndef ask(port):\n    try:\n        socket.create_connection((\"127.0.0.1\", port), timeout=5)\n    \
               except OSError:\n        raise RuntimeError(\"Connection refused\")\n";
    story.file("shop.py", &format!("{ask}\n\nURL = \"DATABASE_URL\"\n"));
    story.file("test_shop.py", &format!("import shop\n\ndef test_shop():\n    shop.ask({port})\n"));
    story.commit("tests");
    let room = saw(&story.redgreen("--json doctor").exits(0), "room");
    let help = format!("possible fix: test.services = [\"{port}\"]");
    // With Landlock alone, the sandbox shares the machine's loopback interface.
    assert!(room.contains(&help) || !room.starts_with("note"), "{room}");
}

#[test]
fn fault_13_a_suite_that_cannot_load_is_reported_in_the_runners_words_and_nothing_is_made() {
    let story = Story::pytest();
    story
        .file("test_a.py", "def test_a():\n    pass\n")
        .file("conftest.py", "raise RuntimeError('no database here')\n");
    story.commit("a suite that does not load");
    let said = story.redgreen("run --script @idle.toml anything");
    said.exits(2).says("idle.toml");
    story.script("idle.toml", IDLE);
    let said = story
        .redgreen("run --script @idle.toml anything")
        .exits(4)
        .says("RuntimeError: no database here");
    said.says("redgreen doctor");
    nothing_is_made(&story);
    story.redgreen("doctor").exits(4).says("RuntimeError: no database here");
}

#[test]
fn fault_13_code_that_does_not_compile_is_reported_with_its_line_by_doctor_and_run() {
    let rust: &[(&str, &str)] = &[
        (
            "Cargo.toml",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        ),
        ("src/lib.rs", "pub fn add() -> i32 {\n    \"three\"\n}\n"),
        ("tests/calc.rs", "#[test]\nfn adds() {\n    assert_eq!(calc::add(), 3);\n}\n"),
    ];
    let go: &[(&str, &str)] = &[
        ("go.mod", "module calc\n\ngo 1.18\n"),
        ("calc.go", "package calc\n\nfunc Add() int { return \"three\" }\n"),
        (
            "calc_test.go",
            "package calc\n\nimport \"testing\"\n\nfunc TestAdds(t *testing.T) { Add() }\n",
        ),
    ];
    let told = [
        ("cargo", rust, "src/lib.rs:2: mismatched types"),
        ("go", go, "calc.go:3: cannot use \"three\""),
    ];
    for (program, files, line) in told.into_iter().filter(|(program, ..)| is_installed(program)) {
        let story = Story::pytest();
        fs::remove_file(story.root.join("pytest.ini")).unwrap();
        for (name, text) in files {
            story.file(name, text);
        }
        story.file(".gitignore", "target/\nCargo.lock\n").commit("code that does not compile");
        story.script("idle.toml", IDLE);
        let said = story
            .redgreen("run --script @idle.toml anything")
            .exits(4)
            .says("the tests do not load")
            .says(line);
        assert!(!said.stdout.contains("due to 1 previous error"), "{program}: {}", said.stdout);
        nothing_is_made(&story);
        story.redgreen("doctor").exits(4).says(line);
    }
}

#[test]
fn fault_13_a_command_that_fails_before_any_work_is_reported_in_its_own_words() {
    let story = Story::pytest();
    story.file(
        "Makefile",
        "check:\n\t@echo building\n\t@echo 'shop.c:3: error: no such column' >&2; exit 3\n",
    );
    story
        .file("redgreen.toml", "backoff = 0.0\n[test]\ncommand = \"make check\"\n")
        .commit("a check that fails");
    story.script("idle.toml", IDLE);
    let said = story.redgreen("run --script @idle.toml anything").exits(4);
    said.says("shop.c:3: error: no such column").says("report only an exit code");
    nothing_is_made(&story);
    story.redgreen("doctor").exits(4).says("shop.c:3: error: no such column");
    // Doctor sends the user to this command.
    let said = story
        .redgreen("test")
        .exits(1)
        .says("shop.c:3: error: no such column")
        .says("only the exit code");
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(!said.contains("ExitCodeAlone") && !said.contains("redgreen test '"), "{said}");
}

#[test]
fn fault_13_a_runner_that_is_missing_and_an_agent_that_is_logged_out_are_told_before_anything_is_made()
 {
    let story = Story::pytest();
    fs::remove_file(story.root.join("pytest.ini")).unwrap();
    story
        .file("package.json", "{\"devDependencies\": {\"vitest\": \"*\"}}\n")
        .commit("a project without packages");
    story.script("idle.toml", IDLE);
    let said =
        story.redgreen("run --script @idle.toml anything").exits(4).says("vitest is not installed");
    said.says("npm install").says("nothing was created");
    nothing_is_made(&story);

    // The run removes its clean room when it ends, so the message must name the project's own
    // interpreter.
    let story = Story::pytest();
    story
        .file(".gitignore", ".venv\n")
        .file("test_a.py", "def test_a():\n    pass\n")
        .commit("a bare interpreter");
    let made =
        story.command("python3").args(["-m", "venv", "--without-pip", ".venv"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    story.script("idle.toml", IDLE);
    let said =
        story.redgreen("run --script @idle.toml anything").exits(4).says("cannot import pytest");
    let python = story.root.join(".venv/bin/python").display().to_string();
    said.says(&format!("{python} -m pip install pytest")).says("nothing was created");
    nothing_is_made(&story);

    let story = Story::pytest();
    story.file("test_a.py", "def test_a():\n    pass\n").commit("tests");
    let bin: PathBuf = story.place("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("codex"), "#!/bin/sh\necho codex-cli 9.9\n").unwrap();
    fs::set_permissions(bin.join("codex"), fs::Permissions::from_mode(0o755)).unwrap();
    let python = crate::runner::venv();
    let path = format!("{}:{}/bin:/usr/bin:/bin", bin.display(), python.display());
    let story = story.env("PATH", &path);
    let said = story.redgreen("run --agent codex anything").exits(4);
    said.says("codex").says("logged in").says("codex login");
    nothing_is_made(&story);
    // Without a configured agent, redgreen names the installed agents that cannot work.
    story
        .redgreen("run anything")
        .exits(2)
        .says("codex is installed, but not logged in: codex login");
    nothing_is_made(&story);
}

/// An unknown cost is not zero: redgreen reports it at the start, after each turn, and at the end.
#[test]
fn fault_12_a_cost_that_nobody_knows_is_reported_under_a_budget_in_dollars() {
    let story = Story::pytest();
    let turns = [
        PLAN.replace("[[plan]]", "[[plan]]\ntokens = 10\ndollars = 0.25"),
        RED.replace("[[red]]", "[[red]]\ntokens = 20"),
        GREEN.replace("[[green]]", "[[green]]\ntokens = 5\ndollars = 5.0"),
    ];
    story.script("kata.toml", &turns.concat());
    let said = story.redgreen("run --budget-usd 5 --script @kata.toml \"an adder\"").exits(5);
    let said = said.says(
        "the cost of this turn is unknown; of $5.00, $0.25 and 1 turn of unknown cost are spent",
    );
    let said = said.says("budget spent: $5.25 of $5.00 are spent, and 1 turn of unknown cost");
    said.says("35 tokens, $5.25, price of 1 turn unknown");
    let page = story.redgreen("report --html -").exits(0).stdout;
    assert!(
        page.contains("20 tokens, price unknown") && page.contains("cost, 1 turn unknown"),
        "{page}"
    );

    // An agent that never reports a price is known before the first turn.
    let story = Story::pytest();
    let agent = "backoff = 0.0\n[agent.custom.quiet]\ncommand = [\"true\"]\n";
    story.file("redgreen.toml", agent).commit("an agent");
    let run = "run --agent quiet --max-retries 0 anything";
    let said = story.redgreen(&format!("{run} --budget-usd 5"));
    let said = said.says(
        "quiet may not report the cost of a turn: the budget of $5.00 limits only known \
                   costs",
    );
    said.says("--budget-tokens N").says("1 turn of unknown cost");
    let said = story.redgreen(&format!("{run} --branch redgreen/x"));
    assert!(!said.stderr.contains("may not report"), "{}", said.stderr);
}

#[test]
fn fault_12_a_budget_in_dollars_is_kept_with_the_usual_model_and_with_prices_of_ones_own() {
    let run = |story: &Story, more: &str| {
        story.redgreen(&format!("run {more} --budget-usd 0.000001 anything"))
    };
    let story = Story::pytest()
        .env("ANTHROPIC_API_KEY", "sk-ant-test")
        .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let said = run(&story, "").says("built-in (claude-opus-4-5-20251101");
    said.says("the next request costs about $0.");

    let story = Story::pytest();
    let server = "backoff = 0.0\n[model]\nbase-url = \"http://127.0.0.1:9/v1\"\n";
    // The cost of the user's own server is unknown, whatever the model is called.
    story.file("redgreen.toml", server).commit("settings");
    let said = run(&story, "--model claude-opus-4-5-20251101").exits(4);
    said.says("is unknown")
        .says("--budget-tokens")
        .says("[model.prices.\"claude-opus-4-5-20251101\"]");
    nothing_is_made(&story);
    let prices = "[model.prices.\"claude-opus-4-5-20251101\"]\ninput = 1.0\noutput = 2.0\n";
    story.file("redgreen.toml", &format!("{server}{prices}")).commit("prices");
    run(&story, "--model claude-opus-4-5-20251101").says("the next request costs about $0.");
}
