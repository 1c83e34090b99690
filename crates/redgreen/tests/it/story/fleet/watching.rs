//! Whoever watches a fleet sees what is there, every change and every run that waits, in a terminal
//! and in the browser, and decides from there.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::both;
use super::ground::{Fleet, Kind, until};
use crate::story::ui;

/// A RED that is refused, before the one that is accepted.
const PASSES: &str = r#"
[[red]]
do = [{ write = "tests/test_nothing.py", text = "import unittest\n\n\nclass Nothing(unittest.TestCase):\n    def test_nothing(self):\n        assert True\n" }]
"#;
/// A cycle for a message to a finished run.
const MORE: &str = r#"
[[plan]]
next = { description = "review: also halves", test-file = "tests/test_half.py", impl-file = "half.py" }

[[red]]
do = [{ write = "tests/test_half.py", text = "import unittest\nfrom half import half\n\n\nclass Half(unittest.TestCase):\n    def test_halves(self):\n        assert half(8) == 4\n" }]

[[green]]
do = [{ write = "half.py", text = "def half(number):\n    return number // 2\n" }]

[[plan]]
done = true
"#;

/// `redgreen fleet --watch`, with its output in a file.
struct Watch {
    child: Child,
    output: std::path::PathBuf,
}

impl Watch {
    fn start(fleet: &Fleet) -> Self {
        let output = fleet.story.place("watched");
        let mut command = fleet.story.prepare("fleet --watch");
        let child = command.stdout(File::create(&output).unwrap()).stderr(Stdio::null()).spawn();
        Self { child: child.unwrap(), output }
    }

    #[track_caller]
    fn shows(&self, words: &str) {
        let text = || fs::read_to_string(&self.output).unwrap();
        until(&format!("{words:?} is shown; so far: {}", text()), || text().contains(words));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).ok();
        self.child.wait().ok();
    }
}

fn script(fleet: &Fleet, before_red: &str, at_end: &str) {
    let kata = fs::read_to_string(fleet.story.place("kata.toml")).unwrap();
    let (plan, rest) = kata.split_once("[[red]]").unwrap();
    fleet.story.script("kata.toml", &format!("{plan}{before_red}\n[[red]]{rest}{at_end}"));
}

#[test]
fn a_watcher_sees_what_is_there_and_every_change() {
    both(|mut fleet| {
        script(&fleet, PASSES, "");
        let first = fleet.submit("add an answer");
        let watch = Watch::start(&fleet);
        watch.shows(&format!("{first}  queued    add an answer"));
        fleet.work("one").exits(0);
        watch.shows("worker one  0 of 1 at work");
        watch.shows(&format!("{first}  running   add an answer"));
        watch.shows("1 refused, last: RED refused: red.passes");
        watch.shows(&format!("redgreen approve {first}"));
        watch.shows("worker one  gone");
        if let Some(mut server) = fleet.server.take() {
            server.restart(&fleet.story, Duration::from_millis(500));
            fleet.server = Some(server);
        }
        let second = fleet.submit("add another answer");
        watch.shows(&format!("{second}  queued    add another answer"));
        fleet.redgreen(&format!("cancel {second}")).exits(0);
        watch.shows(&format!("{second}  aborted   add another answer"));
        let shown = fs::read_to_string(&watch.output).unwrap();
        let waits = shown.lines().filter(|line| line.contains(&format!("{first}  waiting")));
        assert_eq!(waits.count(), 1, "nothing is told twice:\n{shown}");
    });
}

/// The events of the page of the fleet.
fn follow(server: &ui::Server) -> impl FnMut() -> String {
    let mut stream = TcpStream::connect(server.host()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "GET /follow/fleet HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n",
        server.host(),
        server.cookie()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines();
    move || loop {
        let line = lines.next().unwrap().unwrap();
        if line.starts_with("event: stamp") || line.starts_with("event:stamp") {
            return lines.next().unwrap().unwrap();
        }
    }
}

#[test]
fn the_page_of_the_fleet_is_live_and_takes_decisions() {
    both(|fleet| {
        let server = ui::Server::start(&fleet.story, "");
        let empty = server.get("/fleet");
        ui::status(&empty, 200);
        assert!(empty.contains("The queue is empty") && empty.contains("No workers"), "{empty}");
        let mut changes = follow(&server);
        let before = changes();
        let job = fleet.submit("add <script>alert(1)</script>");
        let mut after = changes();
        while after == before {
            after = changes();
        }
        let queued = server.get("/fleet");
        assert!(queued.contains("add &lt;script&gt;alert(1)&lt;/script&gt;"), "{queued}");
        assert!(queued.contains("queued") && !queued.contains("<script>alert"), "{queued}");
        fleet.work("one").exits(0);
        let waiting = server.get("/fleet");
        for words in ["1 run waits for you.", "waits for you</span>", " accepted", "claimed by one"]
        {
            assert!(waiting.contains(words), "{words}:\n{waiting}");
        }
        ui::status(&server.post(&format!("/fleet/{job}/approve"), ""), 303);
        let approved = server.get("/fleet");
        assert!(approved.contains("is in the merge queue of main"), "{approved}");
        fleet.work("one").exits(0);
        fleet.merged(std::slice::from_ref(&job));
        ui::status(&server.post(&format!("/fleet/{job}/approve"), ""), 303);
        let refused = server.get("/fleet");
        assert!(refused.contains("a job that is merged cannot be approved"), "{refused}");
        let other = fleet.submit("add another answer");
        ui::status(&server.post(&format!("/fleet/{other}/say"), "words=keep+it+short"), 303);
        assert_eq!(fleet.status(&other)["messages"][0], "keep it short");
        ui::status(&server.post(&format!("/fleet/{other}/abort"), ""), 303);
        assert_eq!(fleet.status(&other)["state"]["state"], "aborted");
        let reader = ui::Server::start(&fleet.story, "--read-only");
        ui::status(&reader.post(&format!("/fleet/{other}/abort"), ""), 403);
        let page = reader.get("/fleet");
        assert!(
            page.contains("2 jobs finished") && !page.contains("<form method=\"post\""),
            "{page}"
        );
    });
}

#[test]
fn a_message_to_a_run_that_waits_makes_a_worker_continue_it() {
    both(|fleet| {
        script(&fleet, "", MORE);
        let job = fleet.submit("add an answer");
        fleet.work("one").exits(0);
        assert_eq!(fleet.status(&job)["state"]["state"], "waiting");
        fleet
            .redgreen(&format!("say {job} \"also halves\""))
            .exits(0)
            .says("gets the message when a worker continues its run");
        fleet.work("two").exits(0);
        let status = fleet.status(&job);
        assert_eq!(status["state"]["state"], "waiting", "{status}\n{}", fleet.log());
        let subjects = fleet.origin(&format!("log --format=%s {}", fleet.tip(&job)));
        assert!(subjects.contains("feat: review: also halves"), "{subjects}");
        fleet.redgreen(&format!("approve {job}")).exits(0);
        fleet.work("one").exits(0);
        assert_eq!(fleet.status(&job)["state"]["state"], "merged");
        assert!(fleet.origin("ls-tree -r --name-only main").contains("half.py"));
    });
}

/// A newer redgreen, or somebody who reaches the queue, may have written it.
#[test]
fn a_job_that_a_worker_cannot_read_or_must_not_run_stops_no_other() {
    let fleet = Fleet::new(Kind::Folder);
    let job = |request: &str| fleet.submit(request);
    let (newer, broken, hostile) = (job("a newer job"), job("a broken job"), job("a hostile job"));
    let record = |kind: &str, job: &str| fleet.story.place("queue/records").join(kind).join(job);
    fs::write(record("jobs", &newer), "1\n{\"version\":2}").unwrap();
    fs::write(record("status", &broken), "1\n[]").unwrap();
    let key = format!("AKIA{}", "ABCDEFGHIJKLMNOP");
    let text = fs::read_to_string(record("jobs", &hostile)).unwrap();
    fs::write(record("jobs", &hostile), text.replace("a hostile job", &key)).unwrap();
    let good = job("add an answer");
    let mut worker = fleet.start_idle("one");
    until("the good job waits", || fleet.status(&good)["state"]["state"] == "waiting");
    let refused = fleet.status(&hostile);
    assert_eq!(refused["state"]["state"], "refused", "{refused}");
    assert!(refused["remark"].as_str().unwrap().contains("looks like a credential"), "{refused}");
    fleet.redgreen("queue").exits(0).says("one cannot read this job");
    assert_eq!(fleet.status(&newer)["state"]["state"], "queued");
    fleet.redgreen(&format!("cancel {newer}")).exits(0).says("is aborted");
    worker.kill().unwrap();
    worker.wait().unwrap();
}

/// A machine that cannot do a job is free sooner than all others. It would take every job
/// until all of them failed.
#[test]
fn a_worker_on_which_a_job_failed_leaves_it_to_others() {
    let fleet = Fleet::new(Kind::Folder);
    fs::write(fleet.story.place(super::HOLD), "").unwrap();
    let busy = fleet.submit("add an answer");
    let mut good = fleet.start_idle("good");
    until("the good worker waits in GREEN", || fleet.is_held());
    let job = fleet.submit("add another answer");
    let mut bad = fleet.start_without_agent("bad");
    until("the job failed on the bad worker", || fleet.status(&job)["failures"] == 1);
    fleet.redgreen("fleet").exits(0).says("worker bad  0 of 1 at work");
    std::thread::sleep(Duration::from_secs(8));
    let left = fleet.status(&job);
    assert_eq!(left["failures"], 1, "the bad worker tried again: {left}");
    fs::remove_file(fleet.story.place(super::HOLD)).unwrap();
    for job in [&busy, &job] {
        until("the job waits", || fleet.status(job)["state"]["state"] == "waiting");
    }
    assert_eq!(fleet.status(&job)["failures"], 1);
    for worker in [&mut good, &mut bad] {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
}
