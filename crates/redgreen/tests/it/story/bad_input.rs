//! Invalid input for a run: a clear message, the next command, and the right exit code. redgreen
//! creates nothing.

use std::fs;

use super::{CALCULATOR, ProgramOutput, Story};

const RUN: &str = "run --script @kata.toml \"a calculator\"";

/// Asserts that redgreen rejects a command line and leaves nothing behind.
#[track_caller]
fn turned_down(story: &Story, line: &str, code: i32, words: &[&str]) -> ProgramOutput {
    let before = story.belongings();
    let refs = story.git("for-each-ref");
    let mut said = story.redgreen(line).exits(code);
    for word in words {
        said = said.says(word);
    }
    assert!(said.stderr.contains("  next  "), "no next command:\n{}", said.stderr);
    assert_eq!(said.stdout, "", "an error is talk, not an answer");
    assert_eq!(story.belongings(), before, "the user's checkout was touched");
    assert_eq!(story.git("for-each-ref"), refs, "a ref was made");
    assert_eq!(runs(story), 0, "a run was made");
    said
}

fn runs(story: &Story) -> usize {
    fs::read_dir(story.root.join(".git/redgreen/runs")).map_or(0, Iterator::count)
}

#[test]
fn without_a_repository_there_is_nothing_to_work_on() {
    let story = Story::bare_folder();
    story.script("kata.toml", CALCULATOR);
    for line in
        [RUN, "status", "why", "history", "approve", "resume", "salvage", "repair-notes", "init"]
    {
        story.redgreen(line).exits(4).says("is not in a git repository").says("next  git init");
    }
    assert_eq!(fs::read_dir(&story.root).unwrap().count(), 0);
}

#[test]
fn a_repository_without_a_commit_or_without_files_is_named() {
    let story = Story::bare_folder();
    story.script("kata.toml", CALCULATOR);
    story.git("init -q -b main");
    story.file("pytest.ini", "[pytest]\n");
    story.redgreen(RUN).exits(4).says("no commit yet").says("next  git commit");
    story.redgreen("status").exits(0).says("no run yet");
    assert!(!story.root.join(".git/redgreen/runs").exists());

    let bare = Story::calculator();
    bare.git("clone -q --bare . ../bare.git");
    bare.redgreen(&format!("-C @bare.git {RUN}"))
        .exits(4)
        .says("bare repository")
        .says("next  git worktree add");
}

#[test]
fn a_detached_head_needs_to_be_told_the_branch() {
    let story = Story::calculator();
    story.git("checkout -q --detach");
    turned_down(&story, RUN, 4, &["HEAD is detached at", "--onto <branch>"]);
    story.redgreen("run --onto main --max-cycles 1 --script @kata.toml \"a calculator\"").exits(5);
    assert_eq!(story.log(&format!("main..{}", story.branch())).len(), 5);
}

#[test]
fn names_of_branches_are_checked_first() {
    let story = Story::calculator();
    story.git("branch taken");
    for (flags, words) in [
        ("--branch taken", "the branch \"taken\" already exists"),
        ("--branch a..b", "\"a..b\" is not a valid branch name"),
        ("--branch -x", "unexpected argument"),
        (
            "--branch main/sub",
            "cannot create the branch \"main/sub\": it conflicts with the \
          branch \"main\"",
        ),
        ("--onto nowhere", "target branch \"nowhere\" does not exist"),
    ] {
        let before = story.git("for-each-ref");
        story.redgreen(&format!("run {flags} --script @kata.toml x")).exits(2).says(words);
        assert_eq!((story.git("for-each-ref"), runs(&story)), (before, 0), "{flags}");
    }
}

#[test]
fn a_request_is_neither_empty_nor_endless() {
    let story = Story::calculator();
    turned_down(&story, "run --script @kata.toml \"   \"", 2, &["the request is empty"]);
    let huge = "calculate ".repeat(11_000);
    turned_down(
        &story,
        &format!("run --script @kata.toml \"{huge}\""),
        2,
        &["longer than 100000 characters"],
    );
    let large = "calculate\n".repeat(9_000);
    let said =
        story.redgreen(&format!("run --max-cycles 1 --script @kata.toml \"{large}\"")).exits(5);
    assert!(said.stderr.lines().all(|line| line.chars().count() < 400), "{}", said.stderr);
    let shown = story.redgreen("status").exits(0).stdout;
    assert!(shown.lines().next().unwrap().chars().count() < 140, "{shown}");
}

#[test]
fn an_agent_has_to_be_named_and_its_script_to_be_right() {
    let story = Story::calculator();
    turned_down(&story, "run x", 2, &["no agent is configured", "redgreen agents"]);
    turned_down(&story, "run --script @none.toml x", 2, &["cannot read the script", "none.toml"]);
    story.script(
        "faulty.toml",
        "[[plan]]\ndone = true\n[[red]]\ndo = [{ wrtie = \"a\", text = \"\" }]\n",
    );
    let said = turned_down(&story, "run --script @faulty.toml x", 2, &["has a problem"]);
    assert!(
        said.stderr.contains("faulty.toml:4:9: unknown key \"wrtie\"; did you mean \"write\"?"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_project_needs_a_test_framework_that_runs() {
    let story = Story::calculator();
    story.git("rm -q -r tests");
    story.commit("no tests here");
    turned_down(&story, RUN, 4, &["no test framework found", "pytest: looked for"]);

    let story = Story::pytest();
    story.script("kata.toml", CALCULATOR);
    let python = story.place("python/bin");
    fs::create_dir_all(&python).unwrap();
    let real =
        story.command("sh").args(["-c", "readlink -f \"$(command -v python3)\""]).output().unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    for name in ["python", "python3"] {
        // A link to the real interpreter outside its environment does not see the environment's
        // packages.
        std::os::unix::fs::symlink(real.trim(), python.join(name)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", python.display());
    let story = story.env("PATH", &path).env("VIRTUAL_ENV", "");
    let before = story.belongings();
    let said = story.redgreen(RUN).exits(4).says("pytest");
    assert!(said.stderr.contains("next") || said.stdout.contains("next"), "{said:?}");
    assert_eq!(story.belongings(), before);
}

#[test]
fn git_has_to_know_who_commits() {
    let story = Story::calculator();
    story.git("config --unset user.name");
    story.git("config --unset user.email");
    turned_down(
        &story,
        RUN,
        4,
        &["git has no user name and email configured", "git config user.name"],
    );
}

#[test]
fn settings_that_cannot_be_used_are_shown_with_their_place() {
    let story = Story::calculator();
    for (text, words) in [
        ("max-retries = \n", "redgreen.toml:1:15: "),
        (
            "\nmax-retrys = 3\n",
            "redgreen.toml:2:1: unknown key `max-retrys`; did you mean `max-retries`?",
        ),
        ("[worktree]\nsetup = 3\n", "redgreen.toml:2:9: "),
        ("backoff = -1.0\n", "backoff is -1"),
    ] {
        story.file("redgreen.toml", text);
        turned_down(&story, RUN, 2, &[words]);
    }
    fs::write(story.root.join("redgreen.toml"), b"backoff = 0.0\n# \xff\n").unwrap();
    turned_down(&story, RUN, 2, &["redgreen.toml:2:3: not UTF-8"]);
}

#[test]
fn numbers_from_outside_are_checked() {
    let story = Story::calculator().env("TDD_MAX_RETRIES", "x");
    turned_down(&story, RUN, 2, &["TDD_MAX_RETRIES is \"x\"", "a whole number"]);
    let story = story.env("TDD_MAX_RETRIES", "").env("REDGREEN_KILL_AT", "soon");
    turned_down(&story, RUN, 2, &["REDGREEN_KILL_AT is \"soon\"", "before:N or after:N"]);
    let story = story.env("REDGREEN_KILL_AT", "");
    turned_down(&story, "run --budget-usd -1 --script @kata.toml x", 2, &["--budget-usd"]);
    turned_down(
        &story,
        "run",
        2,
        &["no brief: say what to build", "redgreen run \"<what to build>\""],
    );
    for line in [
        "run --max-retries x y",
        "run --max-iterations 0 y",
        "run --deadline x y",
        "nonsense",
        "rollback",
    ] {
        story.redgreen(line).exits(2).says("error: ").says("--help");
    }
}

#[test]
fn runs_that_are_not_there_or_not_ready_are_named() {
    let story = Story::calculator();
    for verb in ["status", "why", "approve", "abort", "resume"] {
        turned_down(
            &story,
            &format!("{verb} k3x9"),
            2,
            &["no run \"k3x9\" here", "redgreen status --all"],
        );
    }
    for verb in ["why", "approve", "abort", "resume"] {
        turned_down(&story, verb, 2, &["this repository has no run yet", "redgreen run"]);
    }
    for name in ["HEAD", "nonsense", "--", ""] {
        story.redgreen(&format!("rollback \"{name}\"")).exits(2);
    }

    story.redgreen("run --max-cycles 1 --script @kata.toml one").exits(5);
    story
        .redgreen("approve")
        .exits(2)
        .says("is not done yet: it is in RED")
        .says("next  redgreen resume");
    story.redgreen("run --max-cycles 1 --script @kata.toml two").exits(5);
    for verb in ["why", "approve", "abort", "resume"] {
        story
            .redgreen(verb)
            .exits(2)
            .says("2 runs are open; name one")
            .says("next  redgreen status");
    }
    let status = story.redgreen("status --json").exits(0).json();
    let ids: Vec<&str> =
        status["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    story.redgreen(&format!("abort {}", ids[0])).exits(0).says("aborted");
    for verb in ["approve", "abort", "resume"] {
        story.redgreen(&format!("{verb} {}", ids[0])).exits(2).says("is over").says("next");
    }
    let tail = ids[1].rsplit('-').next().unwrap();
    story.redgreen(&format!("resume {tail} --max-cycles 9")).exits(3);
    story.redgreen("approve").exits(0);
    story.redgreen("rollback HEAD").exits(2).says("has no handoff note");
    // The merge's second parent removes the test list; its own parent is the run's last commit.
    story.redgreen("rollback HEAD^2~1").exits(2).says("is merged").says("next  git revert -m 1");
}

#[test]
fn every_error_is_json_when_asked() {
    let story = Story::calculator();
    for (line, code) in
        [("approve", 2), ("run x", 2), ("nonsense", 2), ("run", 2), ("status nope", 2)]
    {
        let said = story.redgreen(&format!("--json {line}")).exits(code);
        assert_eq!(said.stdout.lines().count(), 1, "{line}: {}", said.stdout);
        assert_eq!(said.stderr, "", "{line}");
        let error = said.json();
        assert_eq!(
            (error["version"].as_i64(), error["error"]["exitCode"].as_i64()),
            (Some(1), Some(code.into()))
        );
        assert!(
            error["error"]["message"].as_str().is_some_and(|message| !message.is_empty()),
            "{error}"
        );
        assert!(error["error"]["next"].as_str().is_some_and(|next| !next.is_empty()), "{error}");
    }
}
