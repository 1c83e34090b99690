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
