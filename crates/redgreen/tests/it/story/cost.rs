//! The cost of redgreen, counted instead of timed, so that a busy machine does not fail a test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Story;

/// The phases of three cycles, plus the planner's last turn.
const PHASES: usize = 13;
/// Of these, one lists the candidate's files, and two read files: the candidate's, and the old
/// versions of those it changed. Two read all refs, before and after a turn, because nothing stops
/// this agent from moving one. One builds the tree without the test list.
const GIT_PROCESSES_PER_PHASE_MAX: usize = 19;

#[test]
#[expect(clippy::print_stderr, reason = "the table, for people who want to make it smaller")]
fn a_phase_takes_few_git_processes() {
    let story = counted(Story::calculator());
    story.redgreen("run --script @kata.toml \"a calculator\"").exits(3);
    let calls = calls(&story);
    let mut by_command: BTreeMap<&str, usize> = BTreeMap::new();
    for call in &calls {
        *by_command.entry(command(call)).or_default() += 1;
    }
    let per_phase = calls.len() / PHASES;
    eprintln!(
        "{per_phase} git processes per phase; {} in the whole run: {by_command:#?}",
        calls.len()
    );
    assert!(per_phase <= GIT_PROCESSES_PER_PHASE_MAX, "{by_command:#?}");
}

#[test]
fn looking_takes_few_git_processes() {
    let story = counted(Story::calculator());
    story.redgreen("run --script @kata.toml \"a calculator\"").exits(3);
    for (line, most) in [("status", 2), ("why", 2), ("history", 3), ("--version", 0)] {
        fs::remove_file(story.place("calls")).ok();
        story.redgreen(line).exits(0);
        let calls = calls(&story);
        assert!(calls.len() <= most, "redgreen {line}: {calls:#?}");
    }
}

#[test]
fn the_bench_measures_and_compares() {
    let story = Story::bare_folder();
    let said = story.redgreen("bench --quick --json").exits(0);
    let bench = said.json();
    assert_eq!(bench["version"], 1);
    let measures = bench["measures"].as_array().unwrap();
    for name in ["start-up", "a phase, own time", "status, 100 handoffs", "history, 1000 handoffs"]
    {
        let found = measures.iter().find(|measure| measure["name"] == name).unwrap();
        assert!(found["medianMs"].is_f64(), "{found}");
        assert!(found["against"][0]["ratio"].is_f64(), "{found}");
    }
    for name in ["test, 300 of pytest", "test, 300 of cargo"] {
        let found = measures.iter().find(|measure| measure["name"] == name).unwrap();
        assert!(found["against"][0]["ratio"].is_f64(), "{found}");
    }
    let reading =
        measures.iter().find(|measure| measure["name"] == "JUnit XML, 20000 silent cases").unwrap();
    assert!(reading["megabytesPerSecond"].is_f64(), "{reading}");
    let turn =
        measures.iter().find(|measure| measure["name"] == "a turn of four requests").unwrap();
    assert!(turn["requests"] == 4 && turn["bytesSent"].as_u64() < Some(12_000), "{turn}");
    let many = measures.iter().find(|measure| measure["name"] == "5 runs at once").unwrap();
    assert!(many["finished"] == 5 && many["against"][0]["ratio"].is_f64(), "{many}");
    let verdict =
        measures.iter().find(|measure| measure["name"] == "a GREEN verdict, pytest, 1 s").unwrap();
    assert!(verdict["against"][0]["ratio"].is_f64(), "{verdict}");
    let goals = bench["goals"].as_array().unwrap();
    for (name, unit) in [("start-up", "milliseconds"), ("size of the program", "mebibytes")] {
        let goal = goals.iter().find(|goal| goal["name"] == name).unwrap();
        assert!(
            goal["value"].is_f64() && goal["met"].is_boolean() && goal["unit"] == unit,
            "{goal}"
        );
    }
    assert_eq!(bench["losses"], serde_json::json!([]));
    assert_eq!(fs::read_dir(&story.root).unwrap().count(), 0, "the bench left something behind");
}

#[test]
fn a_bench_is_compared_with_figures_of_before() {
    let story = Story::bare_folder();
    let figures = |size: f64| {
        let goal = serde_json::json!({ "name": "size of the program", "value": size, "unit": "mebibytes", "below": 20.0,
            "met": true });
        serde_json::json!({ "version": 1, "goals": [goal] }).to_string()
    };
    fs::write(story.place("small.json"), figures(0.001)).unwrap();
    fs::write(story.place("large.json"), figures(100_000.0)).unwrap();
    fs::write(story.place("none.json"), "{}").unwrap();
    let bench =
        |file: &str| format!("bench reports --quick --compare {}", story.place(file).display());
    story.redgreen(&bench("small.json")).exits(1).says("worse: size of the program is");
    story.redgreen(&bench("large.json")).exits(0).says("goal: below 20.0 MiB");
    story.redgreen(&bench("none.json")).exits(2).says(
        "none.json contains no figures to compare \
                           with",
    );
}

/// Makes every git call add a line to a file next to the repository.
fn counted(story: Story) -> Story {
    let folder = story.place("counting");
    let wrapper = folder.join("git");
    let calls = story.place("calls").display().to_string();
    let path = String::from_utf8(
        story.command("sh").args(["-c", "printf %s \"$PATH\""]).output().unwrap().stdout,
    );
    let path = path.unwrap();
    let git = String::from_utf8(
        story.command("sh").args(["-c", "command -v git"]).output().unwrap().stdout,
    )
    .unwrap();
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        &wrapper,
        format!(
            "#!/bin/sh\n{{ printf '%s\\t' \"$@\"; echo; }} >> '{calls}'\nexec '{}' \"$@\"\n",
            git.trim()
        ),
    )
    .unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    story.env("PATH", &format!("{}:{path}", folder.display()))
}

fn calls(story: &Story) -> Vec<String> {
    fs::read_to_string(story.place("calls"))
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// The first word that is neither an option nor an option's value.
fn command(call: &str) -> &str {
    let mut words = call.split('\t');
    while let Some(word) = words.next() {
        match word {
            "-c" | "--git-dir" | "--work-tree" => drop(words.next()),
            word if word.starts_with('-') => {}
            word => return word,
        }
    }
    ""
}
