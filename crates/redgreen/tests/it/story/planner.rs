//! Only the engine ticks boxes in `test-list.md`, after an accepted cycle of this run. A run
//! without an accepted cycle is never complete.

use std::fs;

use serde_json::{Value, json};

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED, turn};

const RUN: &str = "run --script @kata.toml \"an adder\"";
const OUTCOME: &str = "nothing-developed";

/// A planner's turn that writes this list and claims that nothing is left to do.
fn claims(list: &str) -> String {
    format!("{}done = true\n", turn("plan", &write(list)))
}

fn write(list: &str) -> String {
    format!("{{ write = \"test-list.md\", text = {list:?} }}")
}

fn run_folder(story: &Story) -> std::path::PathBuf {
    let latest = fs::read_to_string(story.root.join(".git/redgreen/latest")).unwrap();
    story.root.join(".git/redgreen/runs").join(latest.trim())
}

/// The journal's verdicts on PLAN: the decision and its codes.
fn plans(story: &Story) -> Vec<(String, Vec<String>)> {
    let journal = fs::read_to_string(run_folder(story).join("journal.jsonl")).unwrap();
    let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let judged = lines.filter(|line| line["event"] == "judged" && line["phase"] == "PLAN");
    let read = judged.map(|line| {
        let codes = line["verdict"]["reasons"].as_array().unwrap().iter();
        let codes = codes.map(|reason| reason["code"].as_str().unwrap().to_owned()).collect();
        (line["verdict"]["decision"].as_str().unwrap().to_owned(), codes)
    });
    read.collect()
}

/// Lists of a planner that lies before any accepted cycle, each with the first code of the refusal.
const LIES: &[(&str, &str, &str)] = &[
    ("a ticked box", "- [x] adds\n", "plan.unfinished"),
    ("another letter", "- [X] adds\n", "plan.unfinished"),
    ("another bullet", "* [x] adds\n", "plan.unfinished"),
    ("a third bullet", "+ [x] adds\n", "plan.unfinished"),
    ("a number", "1. [x] adds\n", "plan.unfinished"),
    ("a check mark", "- [✓] adds\n", "plan.unfinished"),
    ("an emoji", "- ✅ adds\n", "plan.unfinished"),
    ("a struck item", "- [ ] ~~adds~~\n", "plan.unfinished"),
    ("a struck line", "~~- [ ] adds~~\n", "plan.unfinished"),
    ("a nested item", "- [x] numbers\n  - [x] adds\n", "plan.unfinished"),
    ("HTML", "<ul><li><input type=\"checkbox\" checked> adds</li></ul>\n", "plan.unfinished"),
    ("a word", "- [done] adds\n", "plan.unfinished"),
    ("a quote", "> - [x] adds\n", "plan.unfinished"),
    ("an open box", "- [ ] adds\n", "plan.unfinished"),
    ("an empty list", "", "plan.no_list"),
    ("prose", "Everything is done: adds, subtracts.\n", "plan.no_list"),
    ("boxes in a code block", "```\n- [x] adds\n```\n", "plan.no_list"),
    ("boxes without a bullet", "[x] adds\n", "plan.no_list"),
];

/// The minimum number of such lies.
const WAYS_MIN: usize = 15;

#[test]
fn fault_1_a_planner_that_lies_never_ends_a_run_that_developed_nothing() {
    assert!(LIES.len() >= WAYS_MIN);
    let story = Story::new();
    story.script("kata.toml", &LIES.iter().map(|(_, list, _)| claims(list)).collect::<String>());
    let before = story.belongings();
    let said = story.redgreen(&format!("{RUN} --max-retries {}", LIES.len() - 1)).exits(1);
    let said =
        said.says("nothing was developed").says("no accepted cycle of this run implemented it");
    assert!(!said.stdout.contains("COMPLETE"), "{}", said.stdout);
    let refused = plans(&story);
    assert_eq!(refused.len(), LIES.len());
    for ((name, _, code), (decision, codes)) in LIES.iter().zip(refused) {
        assert_eq!((decision.as_str(), codes[0].as_str()), ("refused", *code), "{name}");
        let claimed = *code == "plan.unfinished" && *name != "an open box";
        assert_eq!(
            codes.contains(&"plan.ticked".to_owned()),
            claimed,
            "{name}: the planner is told: {codes:?}"
        );
    }
    let status = story.redgreen("status --json").exits(0).json();
    let run = &status["runs"][0];
    assert_eq!((&run["outcome"]["outcome"], &run["cycles"]), (&json!(OUTCOME), &json!(0)), "{run}");
    assert_eq!(run["completedTests"], json!([]));
    story.redgreen("approve").exits(2).says("is not done yet");
    story.redgreen("report").exits(0).says("## Status: Failed");
    assert_eq!(story.belongings(), before);
}

#[test]
fn fault_1_a_planner_that_says_nothing_is_left_at_once_developed_nothing() {
    let story = Story::new();
    story.script("kata.toml", DONE);
    story.redgreen(&format!("{RUN} --max-retries 0")).exits(1).says("nothing was developed");
    // After that refusal, the planner may still plan.
    let story = Story::new();
    story.script("kata.toml", &[DONE, PLAN, RED, GREEN, DONE].concat());
    story.redgreen(RUN).exits(3);
}

/// The planner's possible claims about the second of two items, after one accepted cycle.
#[test]
fn fault_1_as_many_boxes_are_ticked_as_cycles_were_accepted() {
    let story = Story::new();
    let two = PLAN.replace("- [ ] adds\\n", "- [ ] adds\\n- [ ] subtracts\\n");
    assert_ne!(two, PLAN);
    let lies = [
        claims("- [x] adds\n- [x] subtracts\n"),
        claims("- [x] subtracts\n"),
        claims("- [x] adds\n- [x] subtracts two numbers\n"),
        claims("- [x] adds\n- [x] adds\n"),
        claims("- [x] adds two numbers\n"),
        claims("- [x] adds\n- ~~subtracts~~\n"),
        format!("{}done = true\n", turn("plan", "{ delete = \"test-list.md\" }")),
        format!(
            "{}done = true\n",
            turn("plan", "{ shell = \"rm -f test-list.md; mkdir test-list.md\" }")
        ),
        format!(
            "{}done = true\n",
            turn("plan", "{ shell = \"rm -rf test-list.md; ln -s /etc/passwd test-list.md\" }")
        ),
        DONE.to_owned(),
    ];
    // A planner may drop an item that is not needed.
    let honest = claims("- [x] adds\n");
    story.script("kata.toml", &[&two, RED, GREEN, &lies.concat(), &honest].concat());
    story
        .redgreen(&format!("{RUN} --max-retries {}", lies.len()))
        .exits(3)
        .says("dropped from the list: subtracts");
    let plans = plans(&story);
    assert_eq!(plans.len(), lies.len() + 2);
    for (at, (decision, codes)) in plans.iter().enumerate().skip(1).take(lies.len()) {
        assert_eq!(
            (decision.as_str(), codes[0].as_str()),
            ("refused", "plan.unfinished"),
            "lie {at}"
        );
    }
    let list = story.git(&format!("show {}:test-list.md", story.branch()));
    assert_eq!((list.matches("[x]").count(), list.matches("[ ]").count()), (1, 0), "{list}");
    let note: Value = serde_json::from_str(
        &story.git(&format!("notes --ref=tdd-handoffs show {}", story.branch())),
    )
    .unwrap();
    assert_eq!(note["completedTests"], json!(["adds"]));
    assert_eq!(note["removedTests"], json!(["subtracts"]), "{note}");
    story.redgreen("report").exits(0).says("### Dropped From the List\n- subtracts");
}

/// If an honest plan also ticks a box, the engine unticks it and tells the next planner.
#[test]
fn fault_1_a_box_that_nobody_tested_is_not_completed() {
    let story = Story::calculator();
    let eager = super::CALCULATOR.replacen("- [ ] subtracts", "- [x] subtracts", 1);
    story.script("kata.toml", &eager);
    let said = story.redgreen("run --script @kata.toml \"a calculator\"").exits(3);
    said.says("unticked \"subtracts\": no accepted cycle of this run implemented it");
    let first: Value = serde_json::from_str(
        &story.git(&format!("notes --ref=tdd-handoffs show {}~12", story.branch())),
    )
    .unwrap();
    assert_eq!(first["completedTests"], json!([]), "{first}");
    assert_eq!(first["pendingTests"].as_array().unwrap().len(), 3, "{first}");
    let status = story.redgreen("status --json").json();
    assert_eq!(
        status["runs"][0]["completedTests"],
        json!(["adds two numbers", "subtracts", "multiplies"])
    );
}

/// The target branch contains the ticked list of an earlier feature.
#[test]
fn fault_1_the_list_of_an_earlier_run_is_archived_and_not_inherited() {
    let old = "# Earlier\n\n- [x] adds\n- [ ] old wish\n";
    let story = Story::new();
    story.file("test-list.md", old).commit("an earlier list");
    story.script("kata.toml", DONE);
    story.redgreen(&format!("{RUN} --max-retries 0")).exits(1).says("nothing was developed");
    let kept = run_folder(&story).join("artifacts/earlier-test-list.md");
    assert_eq!(fs::read_to_string(kept).unwrap(), old);
    story.redgreen("abort").exits(0);

    let restores = format!(
        "{}done = true\n",
        turn("plan", "{ shell = \"git checkout -q HEAD -- test-list.md\" }")
    );
    story.script("kata.toml", &restores);
    story.redgreen(&format!("{RUN} --max-retries 0")).exits(1).says("still open: adds; old wish");
    story.redgreen("abort").exits(0);

    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen(RUN).exits(3);
    assert_eq!(story.git(&format!("show {}:test-list.md", story.branch())), "- [x] adds");
    story.redgreen("approve").exits(0);
    assert_eq!(
        story.git("show HEAD:test-list.md"),
        old.trim_end(),
        "the user's own file is as it was"
    );
}

#[test]
fn the_list_is_the_planners_alone_in_every_phase() {
    let tick = write("- [x] adds\n- [x] everything else\n");
    let with =
        |script: &str, action: &str| script.replace("do = [{", &format!("do = [{action}, {{"));
    let story = Story::new();
    let two = PLAN.replace("- [ ] adds\\n", "- [ ] adds\\n- [ ] subtracts\\n");
    let script = [
        &two,
        &with(RED, &tick),
        &with(GREEN, "{ delete = \"test-list.md\" }"),
        &turn("refactor", &write("- [ ] adds\n")),
        &claims("- [ ] subtracts\n- [x] adds\n"),
        &claims("- [x] adds\n"),
    ];
    story.script("kata.toml", &script.map(String::as_str).concat());
    let said =
        story.redgreen(RUN).exits(3).says("restored test-list.md: only PLAN may change the list");
    assert_eq!(
        said.stdout.matches("restored test-list.md").count()
            + said.stderr.matches("restored test-list.md").count(),
        3
    );
    let branch = story.branch();
    for (back, list) in [
        (4, "- [ ] adds\n- [ ] subtracts"),
        (3, "- [ ] adds\n- [ ] subtracts"),
        (1, "- [ ] adds\n- [ ] subtracts"),
    ] {
        assert_eq!(
            story.git(&format!("show {branch}~{back}:test-list.md")),
            list,
            "{back} before the last"
        );
    }
    assert_eq!(story.git(&format!("show {branch}:test-list.md")), "- [x] adds");
    assert_eq!(
        story.log(&format!("main..{branch}"))[3],
        "refactor: no changes needed",
        "the list is no refactoring"
    );
}

#[test]
fn a_list_that_git_ignores_is_a_list() {
    let story = Story::new();
    story.file(".gitignore", "__pycache__/\ntest-list.md\n").commit("no lists here");
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story.redgreen(RUN).exits(3);
    story.redgreen("approve").exits(0);
    assert_eq!(story.git("log -1 --format=%P").split(' ').count(), 2);
}
