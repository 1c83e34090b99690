//! Untrusted text from tests, agents, briefs and names cannot control the terminal, hide or reorder
//! words, imitate redgreen's own lines, or issue commands to a CI system.

use std::fs;
use std::path::Path;

use super::scripts::{PLAN, RED_PYTEST as RED};
use super::terminal::on_a_terminal;
use super::{ProgramOutput, Story};

/// Overwrites the line, clears the screen, sets the title and the clipboard, makes a link, and
/// rings the bell, using both forms of control characters. It also reorders words, hides some, and
/// colours others in a colour that redgreen does not use.
const HOSTILE: &str = "bad\r\u{1b}[2K\u{1b}[1A\u{1b}[35maccepted\u{1b}[0m\u{1b}]0;title\u{7}\u{1b}]52;c;eA==\u{1b}\\\
                       \u{1b}]8;;http://x\u{1b}\\\u{9b}2J\u{9d}0;t\u{9c}\u{202e}desrever\u{2066}\u{200b}\u{2028}\u{7f}\u{8}";
/// A line that looks like redgreen's own output, and commands of CI systems.
const FORGED: &str = "\n  1 GREEN     accepted   forged\n::error::forged\n##[error]forged\n";

/// A name that contains such lines. A name must stay on one line, so these count as forged at any
/// indentation.
const NAME: &str =
    "adds\nGREEN accepted by a name\n  why    forged by a name\n::error::forged\n##[error]forged";
const NAME_LINES: [&str; 2] = ["GREEN accepted by a name", "why    forged by a name"];

/// A string literal that means the same in Python and TOML.
fn quoted(text: &str) -> String {
    let numbered = |letter: char| match letter {
        '"' | '\\' => format!("\\{letter}"),
        ' '..='~' => letter.to_string(),
        letter => format!("\\U{:08x}", u32::from(letter)),
    };
    format!("\"{}\"", text.chars().map(numbered).collect::<String>())
}

/// The forbidden characters in a text, not counting redgreen's own colours.
fn faults(text: &str) -> Vec<char> {
    let ours = [
        "\u{1b}[0m",
        "\u{1b}[1m",
        "\u{1b}[2m",
        "\u{1b}[31m",
        "\u{1b}[32m",
        "\u{1b}[33m",
        "\u{1b}[36m",
    ];
    // clap uses this one.
    let ours = ours.iter().chain(&["\u{1b}[4m"]);
    let plain = ours.fold(text.to_owned(), |text, colour| text.replace(colour, ""));
    let is_fault = |letter: &char| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(letter, '\u{fdd0}'..='\u{fdef}')
    };
    plain.chars().filter(is_fault).collect()
}

/// Checks a file that people read.
#[track_caller]
fn is_readable(what: &str, text: &str) {
    assert!(faults(text).is_empty(), "{what}: {:?} in\n{text:?}", faults(text));
}

/// Checks printed text, in which no line may be forged either.
#[track_caller]
fn is_harmless(what: &str, text: &str) {
    is_readable(what, text);
    let by_a_name = |line: &str| NAME_LINES.iter().any(|name| line.trim_start().starts_with(name));
    let is_forged =
        |line: &&str| line.starts_with("  1 GREEN     accepted   forged") || by_a_name(line);
    assert_eq!(text.lines().find(is_forged), None, "{what}:\n{text}");
}

/// Runs a verb in plain, coloured and JSON form.
#[track_caller]
fn verb(story: &Story, line: &str) -> [ProgramOutput; 3] {
    let said =
        ["", "--color always ", "--json "].map(|form| story.redgreen(&format!("{form}{line}")));
    for said in &said {
        is_harmless(line, &said.stdout);
        is_harmless(line, &said.stderr);
    }
    said
}

#[track_caller]
fn files_are_harmless(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_are_harmless(&path);
        } else if let Ok(text) = fs::read_to_string(&path) {
            is_readable(&path.display().to_string(), &text);
        }
    }
}

/// The screen without redgreen's live line. The program draws that line after a carriage return,
/// and erases it with spaces between two of them. Every other carriage return stays.
fn without_live_line(screen: &str, begins: &str) -> String {
    let begins = format!("\u{1b}[2m{begins}");
    let mut pieces = screen.split('\r');
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    let mut is_erased = false;
    for piece in pieces {
        let is_blank = !is_erased && !piece.is_empty() && piece.chars().all(|letter| letter == ' ');
        if !is_blank && !piece.starts_with(&begins) {
            kept.push_str(if is_erased { "" } else { "\r" });
            kept.push_str(piece);
        }
        is_erased = is_blank;
    }
    kept
}

#[test]
fn what_a_test_says_is_shown_and_steers_nothing() {
    let story = Story::pytest();
    let said = quoted(&format!("{HOSTILE}{FORGED}"));
    let name = "test_\u{1b}[2K\u{202e}x.py";
    story.file(name, &format!("import pytest\n\n@pytest.mark.skip(reason={said})\ndef test_skipped(): pass\n\n\ndef test_a():\n    assert False, {said}\n"));
    let [plain, colour, json] = verb(&story, "test --verbose");
    assert!(plain.stdout.contains("bad␍␛[2K␛[1Aaccepted␛]0;title␇"), "{}", plain.stdout);
    assert!(plain.stdout.contains("<U+202E>desrever<U+2066>"), "{}", plain.stdout);
    assert!(plain.stdout.contains("failed  test_␛[2K<U+202E>x.py::test_a"), "{}", plain.stdout);
    assert!(colour.stdout.contains("\u{1b}[31mfailed "), "our colours stay: {:?}", colour.stdout);
    let tests = json.json()["report"]["tests"].clone();
    let told = tests.as_array().unwrap().iter().filter_map(|test| test["message"].as_str());
    assert!(
        told.clone().any(|message| message.contains("\u{202e}desrever")),
        "JSON means what was said: {json:?}"
    );
    verb(&story, "test --list");
    let (_, screen) = on_a_terminal(&story, "test", &[]);
    is_harmless("test on a terminal", &without_live_line(&screen, "running the tests "));
    let ci = Story::pytest().env("GITHUB_ACTIONS", "true");
    ci.file("test_a.py", &format!("def test_a():\n    assert False, {said}\n"));
    let [plain, colour, json] = verb(&ci, "test");
    for said in [&plain.stdout, &colour.stdout, &json.stdout] {
        let commands =
            said.lines().filter(|line| line.trim_start().starts_with("::") || line.contains("##["));
        assert_eq!(commands.collect::<Vec<_>>(), Vec::<&str>::new());
    }
    assert!(plain.stdout.contains("\\::error::forged"), "{}", plain.stdout);
}

#[test]
fn a_run_shows_and_keeps_nothing_that_steers() {
    let story = Story::pytest();
    let said = quoted(&format!("{HOSTILE}{FORGED}"));
    let plan = PLAN.replace("\"adds\"", &quoted(&format!("adds {HOSTILE}")));
    let plan = plan.replace("\"- [ ] adds\\n\"", &quoted(&format!("- [ ] adds {HOSTILE}\n")));
    let plan = plan.replace("[[plan]]", &format!("[[plan]]\nnote = {said}"));
    let message =
        format!("assert add(1, 2) == 3, {}", said.replace('\\', "\\\\").replace('"', "\\\""));
    let red = RED.replace("assert add(1, 2) == 3", &message);
    let wrong = format!(
        "\n[[green]]\nanswer = {said}\ndo = [{{ write = \"calc.py\", text = \"def add(a, b):\\n    return 0\\n\" }}]\n\
         \n[[diagnosis]]\nanswer = {said}\n\n[[green]]\nfail = {{ kind = \"crash\", message = {said} }}\n"
    );
    story.script("kata.toml", &[plan, red, wrong].concat());
    let request = format!("an adder {HOSTILE}{FORGED}");
    let mut refused = story.prepare("run --script @kata.toml --branch");
    let refused = ProgramOutput::of(
        "run",
        &refused.args(["redgreen/od\u{202e}d\u{200b}", "x"]).output().unwrap(),
    );
    is_harmless("run", &refused.stderr);
    let refused = refused.exits(2);
    assert!(refused.stderr.contains("od"), "{}", refused.stderr);
    let branch = "redgreen/odd";
    let mut run = story.prepare("--color always run --script @kata.toml --max-retries 1 --branch");
    let run = ProgramOutput::of("run", &run.args([branch, &request]).output().unwrap());
    is_harmless("run", &run.stdout);
    is_harmless("run", &run.stderr);
    assert!(run.stderr.contains("\u{1b}[32maccepted"), "our colours stay: {}", run.stderr);
    assert!(
        run.stderr.contains("an adder bad ␛[2K␛[1A␛[35maccepted"),
        "the request: {}",
        run.stderr
    );
    assert!(run.stderr.contains("on branch redgreen/odd, for main"), "{}", run.stderr);
    assert!(
        run.stderr.contains("GREEN     \u{1b}[31mrefused"),
        "a message of a test: {}",
        run.stderr
    );
    for line in [
        "status",
        "why",
        "history",
        "report",
        "salvage",
        "report --html @run.html",
        "repair-notes",
        "brief @kata.toml",
    ] {
        verb(&story, line);
    }
    is_readable("the page", &fs::read_to_string(story.place("run.html")).unwrap());
    for commit in story.git("rev-list --branches=redgreen main..").lines() {
        is_harmless("commit", &story.git(&format!("show -s --format=%B {commit}")));
        let trailers = story.git(&format!("show -s --format=%(trailers:only) {commit}"));
        assert!(
            trailers.lines().all(|line| line.is_empty() || line.starts_with("Redgreen-")),
            "{trailers}"
        );
    }
    let notes = story.git("notes --ref=tdd-handoffs list");
    assert!(!notes.is_empty());
    for note in notes.lines() {
        is_harmless(
            "note",
            &story.git(&format!("cat-file blob {}", note.split(' ').next().unwrap())),
        );
    }
    let runs = story.root.join(".git/redgreen/runs");
    let kept = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    for name in ["transcripts", "reports", "artifacts"] {
        files_are_harmless(&kept.join(name));
    }
    is_harmless("journal", &fs::read_to_string(kept.join("journal.jsonl")).unwrap());
    let (_, screen) = on_a_terminal(&story, "abort", &[]);
    is_harmless("abort on a terminal", &screen);
}

/// The sentences of verdicts contain names of tests, and so do the messages of failed agents.
#[test]
fn a_name_of_a_test_adds_no_line_and_no_command() {
    if !crate::runner::is_installed("node") {
        return crate::skip::skipped("node is not installed");
    }
    let story = Story::new().env("GITHUB_ACTIONS", "true");
    story
        .file("package.json", "{\"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n");
    story.file("calc.js", "export const add = (a, b) => 0;\n");
    story.commit("a package");
    let (said, answer) = (quoted(NAME), quoted("done\n::error::forged\n  ##[error]forged"));
    let test = format!(
        "import test from 'node:test';\nimport assert from 'node:assert';\nimport {{ add }} from './calc.js';\n\n\
         test({NAME:?}, () => assert.equal(add(1, 2), 3));\n"
    );
    let plan = PLAN.replace("test_add.py", "calc.test.js").replace("calc.py", "calc.js");
    let writes = |file: &str, text: &str| {
        format!("do = [{{ write = \"{file}\", text = {} }}]\n", quoted(text))
    };
    let rest = format!(
        "\n[[red]]\n{}\n[[green]]\nfail = {{ kind = \"crash\", message = {said} }}\n\n[[green]]\nanswer = {answer}\n{}\
         \n[[diagnosis]]\nanswer = {answer}\n\n[[green]]\nanswer = {answer}\n{}",
        writes("calc.test.js", &test),
        writes("calc.js", "export const add = (a, b) => a - b;\n"),
        writes("calc.js", "export const add = (a, b) => a * b;\n"),
    );
    story.script("kata.toml", &(plan + &rest));
    let run = story.redgreen("run --script @kata.toml --max-retries 2 \"an adder\"");
    assert!(run.stderr.contains("adds␊GREEN accepted by a name␊"), "{}", run.stderr);
    let id = story.redgreen("status --all --json").json()["runs"][0]["id"].clone();
    let id = id.as_str().unwrap().to_owned();
    let mut all = vec![("run".to_owned(), run)];
    for line in ["status", "why", "history", "report", "salvage", &format!("watch {id}")] {
        all.extend(verb(&story, line).map(|said| (line.to_owned(), said)));
    }
    story.file("calc.test.js", &test);
    for line in
        ["test", "test --list", "judge red --head WORKTREE", "judge red --explain --head WORKTREE"]
    {
        all.extend(verb(&story, line).map(|said| (line.to_owned(), said)));
    }
    for (line, said) in &all {
        is_harmless(line, &said.stdout);
        is_harmless(line, &said.stderr);
    }
    // Lines have no meaning in an HTML page, but a CI system reads the page's source.
    for page in ["", "?view=cycle-1", "?view=step-1", "?view=step-2", "/turns/2"] {
        let line = format!("ui --page /runs/{id}{page}");
        all.push((line.clone(), story.redgreen(&line)));
    }
    all.push(("report".to_owned(), story.redgreen("report --html -").says("&#58;:error::forged")));
    for (line, said) in &all {
        for text in [&said.stdout, &said.stderr] {
            let is_command =
                |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
            assert_eq!(text.lines().find(is_command), None, "{line}:\n{text}");
        }
    }
}

#[test]
fn names_and_typed_words_add_no_line() {
    let story = Story::pytest();
    let name = format!("a{HOSTILE}\n  1 GREEN     accepted   forged").replace(['/', '\\'], "");
    story.file(&name, "text\n").file("src/b.py", "b = 1\n");
    fs::create_dir_all(story.root.join("secret")).unwrap();
    story.file(&format!("{name}.pem"), "text\n");
    story.commit("files");
    for form in [&["--color", "always"][..], &["--json"], &[]] {
        for words in [
            &["context", ".", "--model", "ollama/x"][..],
            &["context", &name],
            &[&name],
            &["run", "--nonsense", &name],
            &["run", &format!("--{name}")],
            &["test", &name],
            &["status", &name],
            &["-C", &name, "status"],
            &["judge", "red", "--base", &name],
            &["rollback", &name],
            &["run", "--spec", &name],
            &["man", &name],
            &["completions", &name],
        ] {
            let mut command = story.prepare("");
            let said =
                ProgramOutput::of(words[0], &command.args(form).args(words).output().unwrap());
            is_harmless(&format!("{form:?} {words:?}"), &said.stdout);
            is_harmless(&format!("{form:?} {words:?}"), &said.stderr);
            assert!(!(said.stdout + &said.stderr).is_empty(), "{words:?}");
        }
    }
    // `trust --show` prints a project's commands in full, one per line.
    story.file(
        "redgreen.toml",
        &format!("[test]\ncommand = {}\n", quoted(&format!("true{FORGED}{HOSTILE}"))),
    );
    let [plain, ..] = verb(&story, "trust --show");
    assert!(plain.stdout.contains("true␊  1 GREEN     accepted   forged␊"), "{}", plain.stdout);
    verb(&story, "config");
    verb(&story, "doctor");
}

/// Users paste the printed commands, and git allows branch names that a shell would execute.
#[test]
fn a_branch_name_in_a_command_is_one_word_to_a_shell() {
    let name = "main;touch${IFS}ran;$(touch${IFS}ran)'";
    let story = Story::pytest();
    story.git(&format!("branch -m {name}"));
    story.script("quick.toml", "[[plan]]\ndone = true\n");
    let said = story.redgreen("run --script @quick.toml x").exits(4);
    let command =
        said.stdout.split("(git diff ").nth(1).and_then(|rest| rest.split(")\n").next()).unwrap();
    let pasted = story.command("sh").args(["-c", &format!("git diff {command}")]).output().unwrap();
    assert!(pasted.status.success(), "{command}: {pasted:?}");
    assert!(!story.root.join("ran").exists(), "{command}");
}
