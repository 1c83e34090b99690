//! A repository with 200 runs, and one run of 500 cycles: the memory of the server, and the time of
//! its pages. `redgreen bench` measures the whole memory of an optimized program.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::Server;
use crate::story::Story;
use crate::story::scripts::{DONE, GREEN, PLAN, RED};
use crate::story::steer::run_folder;

const RUNS: usize = 200;
const CYCLES: usize = 500;
/// The goal is 40 MiB. The pages of an optimized program itself need up to 15 of them.
const MEMORY_MIB_MAX: u64 = 25;
const PHASES: [&str; 3] = ["test", "feat", "refactor"];

/// The peak of a server in MiB, without the pages of the program, which is not optimized here.
fn memory(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    (kib("VmHWM:") - kib("RssFile:")) >> 10
}

/// One commit for each phase of each cycle, made at once. Each cycle adds a line to two files.
fn commits(story: &Story) -> Vec<String> {
    let mut stream = String::new();
    for number in 0..CYCLES * 3 {
        let (cycle, phase) = (number / 3, PHASES[number % 3]);
        let file = if phase == "test" { "test_many.py" } else { "many.py" };
        // A refactoring marks the line that was written before.
        let lines: String = (0..=cycle)
            .map(|line| match phase {
                "feat" if line == cycle => format!("NUMBER_{line} = {line}\n"),
                _ => format!("NUMBER_{line} = {line}  # {file}\n"),
            })
            .collect();
        let parent = if number == 0 { "from refs/heads/main^0\n" } else { "" };
        let message = format!("{phase}: {cycle}");
        write!(
            stream,
            "commit refs/heads/many\nmark :{mark}\ncommitter A <a@example.com> {at} +0000\n\
             data {size}\n{message}\n{parent}M 100644 inline {file}\ndata {length}\n{lines}\n",
            mark = number + 1,
            at = 1_600_000_000 + number,
            size = message.len(),
            length = lines.len(),
        )
        .unwrap();
    }
    let marks = story.place("marks");
    story.script("stream", &stream);
    let mut shell = story.command("sh");
    let line = format!(
        "git fast-import --quiet --export-marks='{}' < '{}'",
        marks.display(),
        story.place("stream").display()
    );
    assert!(shell.args(["-c", line.as_str()]).status().unwrap().success());
    let marks = fs::read_to_string(marks).unwrap();
    let mut marks: Vec<(usize, String)> = marks
        .lines()
        .map(|line| line.trim_start_matches(':').split_once(' ').unwrap())
        .map(|(mark, id)| (mark.parse().unwrap(), id.to_owned()))
        .collect();
    marks.sort();
    marks.into_iter().map(|(_, id)| id).collect()
}

/// The journal of a run of one cycle, repeated for each of these commits: three for each cycle.
fn repeated(journal: &str, commits: &[String], cycles: usize) -> String {
    let lines: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_note =
        |line: &Value, phase: &str| line["event"] == "noted" && line["handoff"]["phase"] == phase;
    let plan = lines.iter().position(|line| is_note(line, "PLAN")).unwrap() + 1;
    let end = lines.iter().position(|line| is_note(line, "REFACTOR")).unwrap() + 1;
    let mut text: Vec<Value> = lines[..plan].to_vec();
    let mut done: Vec<Value> = Vec::new();
    for cycle in 0..cycles {
        done.push(json!(format!("behaviour number {cycle} of the calculator")));
        let mut phase = 0;
        for line in &lines[plan..end] {
            let mut line = line.clone();
            if line["event"] == "committed" {
                line["mark"]["commit"] = json!(commits[cycle * 3 + phase]);
                phase += 1;
            }
            if line["event"] == "noted" {
                line["commit"] = json!(commits[cycle * 3 + phase - 1]);
                line["handoff"]["completedTests"] = json!(done);
            }
            text.push(line);
        }
        assert_eq!(phase, 3, "RED, GREEN, REFACTOR");
    }
    for line in &lines[end..] {
        let mut line = line.clone();
        if line["event"] == "committed" {
            line["mark"]["commit"] = json!(commits.last());
        }
        text.push(line);
    }
    text.iter().map(|line| format!("{line}\n")).collect()
}

fn copy(store: &Path, journal: &str, from: &str, id: &str) {
    fs::create_dir_all(store.join(id)).unwrap();
    fs::write(store.join(id).join("journal.jsonl"), journal.replace(from, id)).unwrap();
}

#[test]
fn many_runs_and_a_long_one_need_little_memory() {
    let story = Story::new().quick();
    let refactor =
        "\n[[refactor]]\ndo = [{ append = \"calc.py\", text = \"\\nTOTAL = None\\n\" }]\n";
    story.script("kata.toml", &[PLAN, RED, GREEN, refactor, DONE].concat());
    story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
    let folder = run_folder(&story);
    let from = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let journal = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    let store = folder.parent().unwrap();
    for number in 0..RUNS {
        copy(store, &journal, &from, &format!("20200101-{number:06}-aaaa"));
    }
    let commits = commits(&story);
    let long = "20200102-000000-long";
    copy(store, &repeated(&journal, &commits, CYCLES), &from, long);
    for part in ["reports", "artifacts"] {
        let mut shell = story.command("cp");
        let (old, new) = (folder.join(part), store.join(long).join(part));
        if old.exists() {
            assert!(shell.arg("-r").args([old, new]).status().unwrap().success());
        }
    }
    let server = Server::start(&story, "");
    let last = format!("Cycle {CYCLES}");
    let run = format!("/runs/{long}");
    for (path, words, times) in [
        ("/".to_owned(), "20200101-000199-aaaa", 3),
        (run.clone(), last.as_str(), 3),
        (format!("{run}?view=cycle-250&layout=split"), "NUMBER_249", 1),
        (format!("{run}?view=whole"), "and 492 earlier cycles", 1),
        (format!("{run}?view=step-700"), "data-path=\"test_many.py\"", 1),
    ] {
        for _ in 0..times {
            let started = Instant::now();
            let page = server.get(&path);
            #[expect(clippy::print_stderr, reason = "figures for people")]
            {
                let (ms, bytes, mib) = (started.elapsed().as_millis(), page.len(), memory(&server));
                eprintln!("{path}: {ms} ms, {bytes} bytes; the server has {mib} MiB");
            }
            assert!(page.starts_with("HTTP/1.1 200") && page.contains(words), "{path}: {words}");
        }
    }
    let peak = memory(&server);
    assert!(peak < MEMORY_MIB_MAX, "{peak} MiB");
}
