//! Common expectations of a command line: names in the help, words without quotes, `-` for stdout,
//! `yes` and `diff`.

use std::fs;

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED, WRONG};
use super::terminal::on_a_terminal;

fn story(turns: &[&str]) -> Story {
    let story = Story::new();
    story.script("kata.toml", &turns.concat());
    story
}

#[test]
fn fault_16_run_help_lists_every_agent() {
    let story = Story::bare_folder();
    for verb in ["run", "resume"] {
        let help = story.redgreen(&format!("{verb} --help")).exits(0).stdout;
        let known = redgreen::config::agents::table().unwrap().keys().map(String::as_str);
        for name in known.chain(["built-in", "scripted", "human"]) {
            assert!(help.contains(name), "{verb} --help does not name {name}:\n{help}");
        }
    }
}

#[test]
fn fault_16_run_takes_a_request_without_quotes() {
    let story = story(&[PLAN, RED, GREEN, DONE]);
    let run = story.redgreen("--json run --script @kata.toml add roman numerals").exits(3).json();
    assert_eq!(run["runs"][0]["request"], "add roman numerals");
    story.redgreen("run add numerals --spec spec.yaml").exits(2).says("cannot be used with");
    story.redgreen("run").exits(2).says("no brief: say what to build");
}

#[test]
fn fault_16_report_html_dash_prints_the_page() {
    let story = Story::waiting();
    story.redgreen("report --html @page.html").exits(0);
    let printed = story.redgreen("report --html -").exits(0);
    assert_eq!(printed.stdout, fs::read_to_string(story.place("page.html")).unwrap());
    assert_eq!(printed.stderr, "");
    assert!(!story.root.join("-").exists());
    assert!(story.redgreen("--json report --html -").exits(0).json()["version"] == 1);
}

#[test]
fn fault_16_the_end_prompt_takes_yes_and_diff() {
    let story = story(&[PLAN, RED, GREEN, DONE]);
    let run = "--color never run --script @kata.toml an adder";
    let (code, screen) =
        on_a_terminal(&story, run, &[("Enter to decide later] ", "diff\nno\nyes\n")]);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("+    return a + b"), "the diff:\n{screen}");
    assert!(
        !screen.contains("test-list.md"),
        "what is not merged is not shown as merged:\n{screen}"
    );
    assert!(
        screen
            .contains("expected `approve` (or `yes`), `abort`, `diff` or `more WORDS`, not \"no\""),
        "{screen}"
    );
    assert_eq!(
        screen.matches("Enter to decide later").count(),
        3,
        "asked again each time:\n{screen}"
    );
    assert_eq!(story.git("log -1 --format=%P").split(' ').count(), 2, "yes merges");
}

#[test]
fn fault_16_salvage_show_and_diff() {
    let story = story(&[PLAN, RED, WRONG]);
    story.redgreen("run --script @kata.toml --max-retries 0 an adder").exits(1);
    story.redgreen("salvage").exits(0).says("next  redgreen salvage show");
    let shown = story.redgreen("salvage show gave-up").exits(0);
    let shown = shown.says("-gave-up  an adder\n");
    let shown = shown.says("the last attempt of a phase").says("+2     -0     calc.py");
    shown.says("redgreen salvage restore").says("redgreen salvage diff");
    story
        .redgreen("salvage diff gave-up")
        .exits(0)
        .says("+    return a - b")
        .says("+from calc import add");
    let json = story.redgreen("--json salvage diff gave-up").exits(0).json();
    assert!(json["diff"].as_str().unwrap().contains("+    return a - b"), "{json}");
    assert_eq!(json["salvage"]["why"], "gave-up");
    // Salvage is still labelled after the run's records are gone.
    fs::remove_dir_all(story.root.join(".git/redgreen/runs")).unwrap();
    story.redgreen("salvage show gave-up").exits(0).says("-gave-up  of an unknown run\n");
    story.redgreen("salvage show nonsense").exits(2).says("there is no salvage \"nonsense\"");
}

/// A first-time user types the commands that the demo prints at its end.
#[test]
fn fault_16_every_command_that_the_demo_names_works() {
    let story = Story::new();
    let said = story.redgreen("demo --folder \"@a folder\"").exits(0);
    let told = format!("{}{}", said.stdout, said.stderr);
    assert!(!told.contains("could not run: "), "{told}");
    let program = env!("CARGO_BIN_EXE_redgreen");
    let rows = said.stdout.lines().filter_map(|line| line.trim().split_once("  "));
    let commands: Vec<&str> = rows
        .map(|(_, command)| command.trim())
        .filter(|command| command.contains(" -C "))
        .collect();
    assert_eq!(commands.len(), 4, "{}", said.stdout);
    for command in commands {
        let line = command.replacen(
            "redgreen ",
            &format!("{program} "),
            usize::from(command.starts_with("redgreen")),
        );
        let ran = story.command("sh").args(["-c", &line]).output().unwrap();
        assert!(ran.status.success() && !ran.stdout.is_empty(), "{command}: {ran:?}");
    }
}
