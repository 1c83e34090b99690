//! A run can be killed at any time and in any way: it loses nothing and leaves no process behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{CALCULATOR, ProgramOutput, Story};

const RUN: &str = "run --script @kata.toml \"a calculator\"";
/// An arbitrary fixed seed, so that the delays are the same in each run.
const SEED: u64 = 0x5eed_0f12_de1a;
const KILLS: usize = 12;
/// The agent never ends by itself. The limit is generous because a busy machine is slow at the
/// rest.
const AT_ONCE: Duration = Duration::from_secs(60);

#[test]
fn killed_at_random_times_a_run_comes_to_the_same() {
    let slow = CALCULATOR.replace(
        "do = [{ append = \"calc.py\"",
        "do = [{ shell = \"sleep 0.3; echo half > half.py; sleep 0.3; rm half.py\" }, { append = \"calc.py\"",
    );
    assert_ne!(slow, CALCULATOR);
    let undisturbed = Story::calculator().quick();
    undisturbed.redgreen(RUN).exits(3);

    let story = Story::new().quick();
    story.script("kata.toml", &slow);
    let before = story.belongings();
    let mut random = SEED;
    for number in 0..KILLS {
        // xorshift
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let open = fs::read_dir(story.root.join(".git/redgreen/open"));
        let begun = open.is_ok_and(|mut runs| runs.next().is_some());
        let mut child = start(&story, if begun { "resume" } else { RUN });
        thread::sleep(Duration::from_millis(300 + random % 2500));
        child.kill().ok();
        let said = output(child);
        if String::from_utf8_lossy(&said.stderr).contains("never started") {
            // The previous kill came after the run's folder was created and before the first line
            // of its journal.
            story.redgreen("abort").exits(1).says("never started; removed its leftovers");
            continue;
        }
        assert!(said.status.code().is_none_or(|code| code == 3), "{number}: {said:?}");
        assert_eq!(story.belongings(), before, "kill {number}: the user's checkout was touched");
    }
    story.redgreen("resume").exits(3);
    assert_eq!(story.work(), undisturbed.work());
    assert_eq!(story.belongings(), before);
    for story in [&story, &undisturbed] {
        story.redgreen("approve").exits(0);
    }
    assert_eq!(story.merged(), undisturbed.merged());
}

#[test]
fn one_signal_stops_cleanly_and_what_was_begun_is_kept() {
    for signal in [Signal::INT, Signal::TERM] {
        let story = hanging();
        let child = start(&story, RUN);
        until_it_hangs(&story);
        let asked = Instant::now();
        kill_process(pid(&child), signal).unwrap();
        let said = ProgramOutput::of(RUN, &output(child)).exits(130);
        assert!(asked.elapsed() < AT_ONCE, "{:?}", asked.elapsed());
        said.says("redgreen resume");
        story.assert_no_worktree();
        assert_eq!(story.salvages(), ["1-interrupted"]);
        assert!(!is_alive(&story), "the agent still runs");
        story.redgreen("status").exits(0).says("redgreen resume");
        story.script("kata.toml", CALCULATOR);
        story.redgreen("resume --script @kata.toml").exits(3);
    }
}

#[test]
fn a_second_signal_stops_at_once() {
    let story = hanging();
    let child = start(&story, RUN);
    until_it_hangs(&story);
    let asked = Instant::now();
    kill_process(pid(&child), Signal::INT).unwrap();
    kill_process(pid(&child), Signal::TERM).unwrap();
    ProgramOutput::of(RUN, &output(child)).exits(130);
    assert!(asked.elapsed() < AT_ONCE, "{:?}", asked.elapsed());
    assert!(!is_alive(&story), "the agent still runs");
    story.script("kata.toml", CALCULATOR);
    story.redgreen("resume --script @kata.toml").exits(3);
}

/// Git may take minutes in a large repository, or with a filter that fetches. redgreen does not
/// wait for a git process that changes nothing of the user's.
#[test]
fn a_signal_does_not_wait_for_a_git_that_loses_nothing() {
    for (slow, verb) in [
        ("worktree add", RUN),
        ("rev-parse", "status"),
        ("ls-tree", "judge green"),
        ("cat-file", "verify HEAD~1..HEAD"),
    ] {
        let story = Story::calculator().quick();
        story.file("calc.py", "x = 1\n");
        story.commit("a step");
        let before = story.belongings();
        let mut command = story.prepare(verb);
        command.env("PATH", slow_git(&story, slow));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until_it_hangs(&story);
        let asked = Instant::now();
        kill_process(pid(&child), Signal::TERM).unwrap();
        let said = ProgramOutput::of(verb, &output(child)).exits(130);
        assert!(asked.elapsed() < AT_ONCE, "{slow}: {:?} {said:?}", asked.elapsed());
        assert!(!is_alive(&story), "{slow}: git still runs");
        story.assert_no_worktree();
        assert_eq!(story.belongings(), before, "{slow}");
        if verb == RUN {
            story.redgreen("resume --script @kata.toml").exits(3);
        }
    }
}

/// redgreen waits for a git process that changes the user's checkout.
#[test]
fn a_signal_waits_for_a_git_that_changes_the_checkout() {
    let story = Story::calculator().quick();
    story.redgreen(RUN).exits(3);
    story.redgreen("approve").exits(0);
    let merged = story.git("rev-parse HEAD");
    let mut command = story.prepare("undo");
    command.env("PATH", slow_git(&story, "reset --quiet --keep"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_it_hangs(&story);
    kill_process(pid(&child), Signal::TERM).unwrap();
    thread::sleep(Duration::from_secs(1));
    fs::write(story.place("go"), "").unwrap();
    ProgramOutput::of("undo", &output(child)).exits(0);
    assert_ne!(story.git("rev-parse HEAD"), merged);
    assert_eq!(story.git("status --porcelain"), "");
}

/// A PATH with a git that hangs in one command until the file `go` exists. Only a signal that kills
/// it ends it earlier.
fn slow_git(story: &Story, command: &str) -> String {
    let path = super::machine().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    let git = std::env::split_paths(&path)
        .map(|folder| folder.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    let (bin, pids, go) = (story.place("slow"), story.place("pid"), story.place("go"));
    fs::create_dir_all(&bin).unwrap();
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *{command:?}*)\n\
         [ -e '{pids}' ] || {{ echo $$ > '{pids}'; while [ ! -e '{go}' ]; do sleep 0.1; done; }} ;;\nesac\n\
         exec '{git}' \"$@\"\n",
        pids = pids.display(),
        go = go.display(),
        git = git.display(),
    );
    fs::write(bin.join("git"), text).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{path}", bin.display())
}

#[test]
fn an_agent_does_not_outlive_the_run_that_takes_over() {
    for verb in ["resume --script @calm.toml", "abort"] {
        let story = hanging();
        story.script("calm.toml", CALCULATOR);
        let mut child = start(&story, RUN);
        until_it_hangs(&story);
        child.kill().unwrap();
        child.wait().unwrap();
        story.redgreen(verb);
        assert!(!is_alive(&story), "{verb}: the agent still runs");
        story.assert_no_worktree();
    }
}

/// An agent that writes a file and then neither ends nor reacts to signals.
fn hanging() -> Story {
    let story = Story::new().quick();
    let pids = story.place("pid").display().to_string();
    let shell = format!(
        "trap '' TERM INT; echo half > half.py; echo $$ > '{pids}'; while :; do sleep 0.1; done"
    );
    story.script(
        "kata.toml",
        &CALCULATOR.replacen(
            "[[red]]\ndo = [{",
            &format!("[[red]]\ndo = [{{ shell = {shell:?} }}, {{"),
            1,
        ),
    );
    story
}

fn until_it_hangs(story: &Story) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !fs::read_to_string(story.place("pid")).is_ok_and(|text| text.ends_with('\n')) {
        assert!(Instant::now() < deadline, "the agent did not start");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the agent's shell is alive. A zombie that init has not reaped yet does not count.
fn is_alive(story: &Story) -> bool {
    let pid = fs::read_to_string(story.place("pid")).unwrap();
    let dead = || {
        let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        state.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
    };
    let deadline = Instant::now() + AT_ONCE;
    while !dead() {
        if Instant::now() > deadline {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

fn start(story: &Story, line: &str) -> Child {
    story.prepare(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn output(child: Child) -> Output {
    child.wait_with_output().unwrap()
}
