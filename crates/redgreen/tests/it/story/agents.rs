//! Agents that are programs of their own, honest and not: a whole cycle with each, and nothing lost whatever they do.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::{Said, Story};

const FAKE: &str = include_str!("agents/fake.py");

/// A project whose agent is the fake one, started with these words.
fn story(words: &str, settings: &str) -> Story {
    let story = Story::new();
    fs::create_dir_all(story.place("home/.fake")).unwrap();
    fs::write(story.place("home/fake.py"), FAKE).unwrap();
    let script = story.place("home/fake.py").display().to_string();
    let row = format!(
        "backoff = 0.0\n{settings}\n[agent]\nname = \"fake\"\n[agent.custom.fake]\n\
         command = \"python {script} {words}\"\nenv = [\"FAKE_*\"]\nfolders = [\".fake\"]\n"
    );
    story.file("redgreen.toml", &row);
    story.commit("an agent");
    let root = story.root.display().to_string();
    story.env("FAKE_CHECKOUT", &root).env("MY_SECRET", "hush")
}

const CYCLE: [&str; 5] = [
    "plan: adds two numbers",
    "test: adds two numbers",
    "feat: adds two numbers",
    "refactor: no changes needed",
    "plan: every test of the list is done",
];

/// The run comes to its end, and the branch has exactly one cycle.
#[track_caller]
fn develops(story: &Story) -> Said {
    let before = story.belongings();
    let said = story.redgreen("run \"a calculator\"").exits(3);
    assert_eq!(story.log(&format!("main..{}", story.branch())), CYCLE);
    assert_eq!(story.belongings(), before);
    said
}

#[test]
fn an_agent_of_the_projects_own_develops_a_cycle() {
    develops(&story("secrets:PLAN stale_folder:RED", ""));
}

#[test]
fn orders_may_come_in_a_file() {
    let story = story("file", "");
    let text = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    story.file("redgreen.toml", &format!("{text}prompt = \"file\"\n"));
    story.commit("by file");
    develops(&story);
}

#[test]
fn an_agent_that_speaks_acp_develops_a_cycle_and_its_tokens_count() {
    let story = story("acp", "");
    let text = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    story.file("redgreen.toml", &format!("{text}speaks = \"acp\"\n"));
    story.commit("acp");
    develops(&story).says("35 tokens");
    let notes = story.git("log --format=%N --notes=tdd-handoffs -1 --skip=1 refs/heads/redgreen/a-calculator*");
    assert!(!notes.is_empty() || story.branch().starts_with("redgreen/"));
}

/// One fault in one phase, on a machine with a fence and on one without.
#[track_caller]
fn survives(fault: &str, settings: &str) -> Said {
    for (fence, settings) in [("auto", settings), ("none", settings)] {
        let story = story(fault, settings);
        let text = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
        story.file("redgreen.toml", &text.replace("[agent]\n", &format!("[agent]\nfence = \"{fence}\"\n")));
        story.commit("a fence");
        let said = develops(&story);
        if fence == "none" {
            return said;
        }
    }
    unreachable!()
}

#[test]
fn a_crash_and_a_lie_are_tried_again() {
    survives("crash:GREEN", "").says("agent.crash").says("signal 11");
    survives("lie:RED", "").says("refused");
}

#[test]
fn garbage_is_no_answer_and_no_harm() {
    survives("garbage:RED", "");
}

#[test]
fn what_hangs_is_ended_at_its_limit_and_the_run_can_be_resumed() {
    let story = story("hang:GREEN", "max-retries = 0\n[timeout]\nturn = 3");
    let before = story.belongings();
    story.redgreen("run \"a calculator\"").exits(1).says("did not stop in time");
    assert_eq!(story.belongings(), before);
    story.redgreen("resume").exits(3);
    assert_eq!(story.log(&format!("main..{}", story.branch())), CYCLE);
}

#[test]
fn commits_resets_and_forged_notes_come_to_nothing() {
    for fault in ["reset_hard:GREEN", "forge_notes:GREEN"] {
        let story = story(fault, "");
        develops(&story);
        story.redgreen("approve").exits(0);
    }
}

#[test]
fn a_branch_that_an_unfenced_agent_moves_is_told_of() {
    let story = story("wrong_branch:RED", "");
    let text = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    story.file("redgreen.toml", &text.replace("[agent]\n", "[agent]\nfence = \"none\"\n"));
    story.commit("no fence");
    let said = story.redgreen("run \"a calculator\"");
    said.exits(3).says("left as is: refs/heads/main, refs/heads/mine");
}

#[test]
fn a_fenced_agent_moves_no_branch_and_writes_nothing_outside() {
    let story = story("wrong_branch:RED outside:GREEN", "");
    let main = story.git("rev-parse main");
    develops(&story);
    assert_eq!((story.git("rev-parse main"), story.git("branch --list mine")), (main, String::new()));
    assert!(!story.place("home/mine.txt").exists());
}

#[test]
fn a_daemon_is_gone_with_the_turn() {
    let story = story("daemon:RED", "[agent]\nfence = \"none\"");
    let text = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    story.file("redgreen.toml", &text.replacen("[agent]\nname", "name", 1));
    story.commit("no fence");
    develops(&story);
    let pid = fs::read_to_string(story.place("home/.fake/daemon")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("671")) {
        assert!(Instant::now() < deadline, "{pid} still runs");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_gigabyte_of_output_costs_little_memory() {
    let story = story("flood:RED", "");
    let mut command = story.command("python");
    command.args(["-c", super::unruly::MEASURE]).arg(story.place("memory")).arg(env!("CARGO_BIN_EXE_redgreen"));
    Said::of("run", &command.args(["run", "a calculator"]).output().unwrap()).exits(3);
    let memory: u64 = fs::read_to_string(story.place("memory")).unwrap().parse().unwrap();
    assert!(memory < 128 << 20, "{memory} bytes");
}

#[test]
fn an_agent_that_is_not_there_is_named_with_the_way_to_get_it() {
    let story = Story::new();
    let path = story.command("sh").args(["-c", "dirname $(command -v git)"]).output().unwrap();
    let path = String::from_utf8(path.stdout).unwrap();
    let bare = Story::new().env("PATH", path.trim());
    bare.redgreen("run --agent aider \"x\"").exits(4).says("is not installed").says("pip install aider-chat");
    story.redgreen("run --agent nobody \"x\"").exits(2).says("there is no agent \"nobody\"").says("claude");
    bare.redgreen("run \"x\"").exits(2).says("no agent is named, and none was found").says("redgreen demo");
}
