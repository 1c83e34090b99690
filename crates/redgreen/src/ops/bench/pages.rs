//! Pages of `redgreen ui` in a repository with many runs, one of them very long: their time, and
//! the memory of the server.

use std::fs;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redgreen_core::names::RunId;
use serde_json::{Value, json};

use super::phases::MeasuredRun;
use super::{LIMITS, Length, Measure, median_ms};
use crate::journal;
use crate::process::{Attention, Program, Stop};

const RUNS: usize = 200;
/// The start of the first run, in milliseconds since 1970, and the time between runs.
const FIRST_RUN_AT: i64 = 1_600_000_000_000;
const APART_MS: i64 = 600_000;
const ANSWER_MAX: Duration = Duration::from_secs(60);
const STARTS_WITHIN: Duration = Duration::from_secs(30);

impl Length {
    /// The cycles of the long run, and how often each page is requested.
    fn pages(self) -> (usize, usize) {
        match self {
            Self::Quick => (50, 3),
            Self::Full => (500, 11),
        }
    }
}

/// The list, and the long run on the first and on later requests, each with the peak memory of the
/// server.
pub(super) fn measures(
    length: Length,
    developed: &MeasuredRun,
    ours: &Program,
    stop: &Stop,
) -> Result<Vec<Measure>> {
    let (cycles, turns) = length.pages();
    let long = make(developed, cycles)?;
    let part = stop.part();
    let program =
        ours.clone().cwd(&developed.project.git.root).args(["ui", "--json", "--read-only"]);
    thread::scope(|scope| {
        let (tell, heard) = mpsc::channel::<Vec<u8>>();
        let served = &part;
        let server = scope.spawn(move || {
            let mut listen = |bytes: &[u8]| {
                // The receiver may have given up.
                tell.send(bytes.to_vec()).ok();
            };
            program.attended(LIMITS, served, Attention::Watching(&mut listen))
        });
        let measured = ask(&heard, &long, cycles, turns, &part);
        part.request();
        // The server was ended, so its result does not matter.
        server.join().ok();
        measured
    })
}

fn ask(
    heard: &mpsc::Receiver<Vec<u8>>,
    long: &RunId,
    cycles: usize,
    turns: usize,
    part: &Stop,
) -> Result<Vec<Measure>> {
    let line = heard.recv_timeout(STARTS_WITHIN).context("wait for the server")?;
    let said: Value = serde_json::from_slice(&line).context("read the address of the server")?;
    let url = said.get("url").and_then(Value::as_str).unwrap_or_default();
    let (place, token) = url.split_once("/?token=").context("read the token of the server")?;
    let port = place.rsplit(':').next().unwrap_or_default();
    let cookie = format!("redgreen-{port}={token}");
    let config = ureq::Agent::config_builder().timeout_global(Some(ANSWER_MAX)).build();
    let agent = ureq::Agent::new_with_config(config);
    let took = |path: &str, words: &str| -> Result<Duration> {
        let started = Instant::now();
        let mut answer = agent.get(format!("{place}{path}")).header("Cookie", &cookie).call()?;
        let page = answer.body_mut().read_to_string()?;
        ensure!(page.contains(words), "the page {path} does not contain {words:?}");
        Ok(started.elapsed())
    };
    let run = format!("/runs/{long}");
    let last = format!("Cycle {cycles}");
    let mut measures = Vec::new();
    for (name, path, words) in [
        (format!("the list of {RUNS} runs"), "/", "Runs"),
        (format!("the page of a run of {cycles} cycles"), run.as_str(), last.as_str()),
    ] {
        let first = took(path, words)?;
        let again = (0..turns).map(|_| took(path, words)).collect::<Result<Vec<_>>>()?;
        let memory = part.peak_memory_at_work();
        measures.push(Measure {
            peak_memory_bytes: memory,
            ..Measure::new(format!("{name}, first"), median_ms(vec![first]))
        });
        measures
            .push(Measure { peak_memory_bytes: memory, ..Measure::new(name, median_ms(again)) });
    }
    Ok(measures)
}

/// Copies of the developed run under other ids, and one that repeats its second cycle many times.
fn make(developed: &MeasuredRun, cycles: usize) -> Result<RunId> {
    let (store, run) = (&developed.project.store, &developed.stopped);
    let path = journal::path(&run.folder);
    let journal = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let mut at = FIRST_RUN_AT;
    for _ in 0..RUNS {
        let folder = store.create(at)?;
        let path = journal::path(&folder);
        fs::write(&path, journal.replace(run.folder.id.as_str(), &folder.id))
            .with_context(|| format!("write {}", path.display()))?;
        store.close(&folder)?;
        at += APART_MS;
    }
    let folder = store.create(at)?;
    let long = repeated(&journal, cycles).replace(run.folder.id.as_str(), &folder.id);
    fs::write(journal::path(&folder), long)
        .with_context(|| format!("write the journal of {}", folder.id))?;
    store.close(&folder)?;
    Ok(folder.id)
}

/// The journal with its second cycle repeated. The lists in its notes grow, as in a real run.
fn repeated(journal: &str, cycles: usize) -> String {
    let is_end = |line: &&str| {
        line.contains("\"event\":\"noted\"") && line.contains("\"phase\":\"REFACTOR\"")
    };
    let lines: Vec<&str> = journal.lines().collect();
    let ends: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| is_end(line)).map(|(at, _)| at + 1).collect();
    let [first, second, ..] = ends.as_slice() else { return journal.to_owned() };
    let (head, cycle) =
        (lines.get(..*first).unwrap_or_default(), lines.get(*first..*second).unwrap_or_default());
    let tail = lines.get(*second..).unwrap_or_default();
    let mut text: Vec<String> = head.iter().map(|line| (*line).to_owned()).collect();
    let mut done: Vec<Value> = Vec::new();
    for number in 2..=cycles {
        done.push(json!(format!("behaviour number {number} of the calculator")));
        for line in cycle {
            let mut value: Value = serde_json::from_str(line).unwrap_or_default();
            if let Some(handoff) = value.get_mut("handoff").and_then(Value::as_object_mut) {
                handoff.insert("completedTests".to_owned(), done.clone().into());
                handoff.insert("cycleNumber".to_owned(), number.into());
            }
            text.push(value.to_string());
        }
    }
    text.extend(tail.iter().map(|line| (*line).to_owned()));
    text.join("\n") + "\n"
}
