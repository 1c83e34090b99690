//! Tests that do not end: at the time limit redgreen kills all their processes. It uses little
//! memory.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::{ProgramOutput, Story};

/// Time limits in seconds. On a busy machine, pytest may not reach the test within the first of
/// them.
const LIMITS: [u64; 3] = [5, 25, 125];
/// The maximum time from the limit to the report: two grace periods, on a busy machine.
const STOPPED_MAX: Duration = Duration::from_secs(20);
/// The limit for redgreen's memory while a test prints all the time. redgreen keeps 64 MiB of each
/// stream.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

/// Runs a command. Reports its exit code and the peak memory of the command and of the processes
/// that it waited for.
pub(super) const MEASURE: &str = "import os, subprocess, sys\n\
    child = subprocess.Popen(sys.argv[2:])\n\
    _, status, used = os.wait4(child.pid, 0)\n\
    open(sys.argv[1], 'w').write(str(used.ru_maxrss << 10))\n\
    sys.exit(os.waitstatus_to_exitcode(status))\n";

/// Runs one test with this body. The body calls `note(pid)` for every process that must be gone
/// after the limit.
#[track_caller]
fn is_stopped(body: &str) {
    let story = Story::bare_folder();
    let pids = story.place("pids");
    // Without capturing, the output goes straight into the pipe.
    story.file("pytest.ini", "[pytest]\naddopts = -s\n");
    let head = format!(
        "import os, signal, subprocess, sys, time\n\
         def note(pid):\n    with open({pids:?}, 'a') as file: file.write(f'{{pid}}\\n')\n\
         def test_unruly():\n    note(os.getpid())\n"
    );
    let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
    story.file("test_a.py", &format!("{head}{body}"));
    for limit in LIMITS {
        fs::remove_file(&pids).ok();
        let started = Instant::now();
        let line = format!("--json test --timeout {limit}");
        let mut command = story.command("python");
        command
            .args(["-c", MEASURE])
            .arg(story.place("memory"))
            .arg(env!("CARGO_BIN_EXE_redgreen"));
        let said =
            ProgramOutput::of(&line, &command.args(line.split(' ')).output().unwrap()).exits(1);
        assert!(
            started.elapsed() < Duration::from_secs(limit) + STOPPED_MAX,
            "{:?}",
            started.elapsed()
        );
        let Ok(noted) = fs::read_to_string(&pids) else { continue };
        noted.lines().for_each(is_gone);
        let answer = said.json();
        assert_eq!(
            (&answer["outcome"], &answer["report"]["exit"]),
            (&"timed-out".into(), &"timed-out".into())
        );
        let test = &answer["report"]["tests"][0];
        assert_eq!(
            (&test["id"], &test["status"]),
            (&"test_a.py::test_unruly".into(), &"timed-out".into())
        );
        let memory: u64 = fs::read_to_string(story.place("memory")).unwrap().parse().unwrap();

        assert!(memory < MEMORY_BYTES_MAX, "{memory} bytes");
        return;
    }
    panic!("pytest never came to the test");
}

/// Waits until the process is gone. A zombie does not count as running.
#[track_caller]
fn is_gone(pid: &str) {
    let deadline = Instant::now() + STOPPED_MAX;
    loop {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if state.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z')) {
            return;
        }
        assert!(Instant::now() < deadline, "{pid} still runs: {state}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_daemon_that_ignores_signals_ends_with_the_test() {
    is_stopped(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         note(subprocess.Popen(['sleep', '600']).pid)\n\
         if os.fork() == 0:\n\
         \x20   os.setsid()\n\
         \x20   if os.fork() == 0:\n\
         \x20       note(os.getpid())\n\
         \x20   while True: time.sleep(600)\n\
         while True: time.sleep(600)",
    );
}

#[test]
fn gigabytes_on_both_streams_cost_little_memory() {
    is_stopped(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         chunk = b'x' * (1 << 20)\n\
         if os.fork() == 0:\n\
         \x20   note(os.getpid())\n\
         \x20   while True: os.write(2, chunk)\n\
         while True: os.write(1, chunk)",
    );
}

#[test]
fn a_pipe_that_is_kept_open_does_not_keep_the_run_open() {
    let story = Story::bare_folder();
    let pid = story.place("pid");
    story.file("pytest.ini", "[pytest]\naddopts = -s\n").file(
        "test_a.py",
        &format!(
            "import subprocess\ndef test_leaves():\n\
             \x20   child = subprocess.Popen(['setsid', 'sleep', '600'])\n\
             \x20   open({pid:?}, 'w').write(str(child.pid))\n"
        ),
    );
    let started = Instant::now();
    story.redgreen("test").exits(0).says("1 passed");
    assert!(started.elapsed() < Duration::from_secs(300), "{:?}", started.elapsed());
    let pid = fs::read_to_string(pid).unwrap();
    story.command("kill").arg(pid).status().unwrap();
}
