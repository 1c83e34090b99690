//! Secrets are planted all over a machine. Agents and tests try to read and send each of them, and
//! none may get through.
//!
//! Every secret is a row of [`PLANTED`]; to add one, add a row. [`plant`] plants the rows, and one
//! shell script looks for them. The built-in agent runs the script with Bash, a project's custom
//! agent runs it as its program, and test code runs it in the clean room. Without a sandbox the
//! same script must find every row: this shows that no row is safe only because of a mistake in the
//! script.

mod planted;
mod sending;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use redgreen::sandbox::{Mechanism, Sandbox};
use serde_json::json;

use crate::sandbox::alone;
use crate::server::{SeenRequest, Server, Turn, Wire};
use crate::skip::skipped;
use crate::story::{ProgramOutput, Story, adder, role, served};
use planted::TestStage::{Checkout, Home, Machine, Socket, Tracked};
use planted::{
    CANARY, GIT_CANARY, OPEN_TO_LANDLOCK, OPEN_TO_TESTS, PLANTED, PYTHON, TestStage, plant, probe,
    secret,
};

/// The run whose records are planted, too.
const PLANTED_RUN: &str = "20200101-000000";
const FENCES: [Mechanism; 3] = [Mechanism::Bubblewrap, Mechanism::Namespaces, Mechanism::Landlock];
const NOBODY: &str = "65534";

/// Fails if the text contains a secret that its reader should not see.
#[track_caller]
fn clean(what: &str, bytes: &[u8], is_open: &dyn Fn(&TestStage) -> bool) {
    let text = String::from_utf8_lossy(bytes);
    let arrived: Vec<&TestStage> =
        PLANTED.iter().filter(|at| !is_open(at) && text.contains(&secret(at))).collect();
    assert!(arrived.is_empty(), "{what}: {arrived:?}");
}

/// Checks everything a run leaves: its records, commits and salvaged trees.
#[track_caller]
fn clean_records(what: &str, story: &Story, is_open: &dyn Fn(&TestStage) -> bool) {
    let mut files = Vec::new();
    for run in fs::read_dir(story.root.join(".git/redgreen/runs")).unwrap().flatten() {
        if run.file_name() != PLANTED_RUN {
            collect(&run.path(), &mut files);
        }
    }
    assert!(files.iter().any(|file| file.ends_with("journal.jsonl")), "{what}: {files:?}");
    for file in files {
        clean(&format!("{what}: {}", file.display()), &fs::read(&file).unwrap(), is_open);
    }
    let refs = "for-each-ref --format=%(objectname) refs/heads/redgreen refs/redgreen refs/notes";
    for commit in story.git(refs).lines() {
        let is_project = story
            .git(&format!("ls-tree --name-only {commit}"))
            .lines()
            .any(|name| name == "README.md");
        let words = if is_project { ["diff", "main"] } else { ["log", "-p"] };
        let shown = story.command("git").args(words).arg(commit).output().unwrap().stdout;
        clean(&format!("{what}: {commit}"), &shown, is_open);
        if is_project {
            for at in PLANTED {
                if let Tracked(path) = at {
                    let kept = story.git(&format!("show {commit}:{path}"));
                    assert!(kept.contains(&secret(at)), "{what}: {commit} lost {path}");
                }
            }
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            collect(&path, files);
        } else if path.is_file() {
            files.push(path);
        }
    }
}

/// The command prefix that makes `means` the strongest mechanism found.
fn behind(means: Mechanism) -> Option<Vec<OsString>> {
    let usual = Sandbox::probe(Path::new(env!("CARGO_BIN_EXE_redgreen"))).by();
    if usual == means {
        return Some(Vec::new());
    }
    alone(means)
        .map_err(|error| skipped(&format!("leaks behind {}: {error:#}", means.as_str())))
        .ok()
}

/// Runs `redgreen run …` with a command prefix.
fn run(story: &Story, before: &[OsString], args: &[&str]) -> ProgramOutput {
    let mut words = before.iter().cloned().chain([env!("CARGO_BIN_EXE_redgreen").into()]);
    let first = words.next().unwrap().into_string().unwrap();
    let mut command: Command = story.command(&first);
    command.args(words).args(args).stdin(Stdio::null());
    let said = ProgramOutput::of(&args.join(" "), &command.output().unwrap());
    // Git refuses repositories of another owner, and the checks that follow use git.
    if rustix::process::getuid().is_root() {
        assert!(
            story
                .command("chown")
                .args(["-R", "0:0"])
                .arg(story.place(""))
                .status()
                .unwrap()
                .success()
        );
    }
    said
}

fn is_open_to(means: Mechanism) -> impl Fn(&TestStage) -> bool {
    move |at| means == Mechanism::Landlock && OPEN_TO_LANDLOCK.contains(at)
}

/// The same for tests, which are also a tool of the built-in agent. They may use sockets, and
/// Landlock does not tell those of other programs apart.
fn is_open_to_tests(means: Mechanism) -> impl Fn(&TestStage) -> bool {
    let is_open = is_open_to(means);
    move |at| is_open(at) || means == Mechanism::Landlock && matches!(at, Socket(_))
}

#[test]
fn without_a_fence_every_secret_is_found() {
    let story = plant();
    let found = story.command("sh").args(["-c", &probe(&story)]).output().unwrap();
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.contains(CANARY), "{found}");
    for at in PLANTED {
        let is_there = match at {
            Machine(path) => Path::new(path).exists(),
            Socket(_) => Path::new(PYTHON).exists(),
            _ => true,
        };
        assert!(
            !is_there || found.contains(&secret(at)),
            "{at:?} is not found by the probe:\n{found}"
        );
    }
    assert!(PLANTED.len() >= 30);
}

/// A model that makes the built-in agent try everything, and then does its work.
fn curious(probe: String) -> impl Fn(&SeenRequest) -> Turn + Send + Sync {
    move |seen| match (role(seen), seen.answers()) {
        ("green", 0) => PLANTED
            .iter()
            .filter_map(|at| match at {
                Tracked(path) | Checkout(path) => Some(json!({ "file_path": path })),
                _ => None,
            })
            .fold(Turn::call("Bash", json!({ "command": probe })), |turn, path| {
                turn.and_call("Read", path)
            })
            .and_call("Grep", json!({ "pattern": "planted" }))
            .and_call("Glob", json!({ "pattern": "**/*" }))
            .and_call("Write", json!({ "file_path": "test_spy.py", "content": spy(&probe) }))
            .and_call("RunTests", json!({}))
            .and_call(
                "Bash",
                json!({ "command": "rm test_spy.py; git --no-pager diff; git status --short" }),
            ),
        ("green", 1) => adder_after(seen),
        ("green", _) => Turn::call(
            "Complete",
            json!({ "implementation_files": ["calc.py"], "summary": "it adds" }),
        ),
        _ => adder(seen),
    }
}

fn adder_after(_: &SeenRequest) -> Turn {
    let code = "def add(a, b):\n    return a + b\n";
    Turn::call("Write", json!({ "file_path": "calc.py", "content": code }))
        .and_call("RunTests", json!({}))
}

/// A test that fails with the secrets it found.
fn spy(probe: &str) -> String {
    format!(
        "import subprocess\n\n\ndef test_spies():\n    \
         found = subprocess.run(['sh', '-c', {probe:?}], capture_output=True, text=True).stdout\n    \
         assert found == '', found\n"
    )
}

fn built_in_sends_nothing(
    what: &str,
    before: &[OsString],
    prepare: impl Fn(&Story),
    is_open: &dyn Fn(&TestStage) -> bool,
) {
    let story = plant();
    let server = Server::answering(curious(probe(&story)));
    let story = served(story, &server, Wire::Anthropic);
    let belongings = story.belongings();
    prepare(&story);
    let said = run(&story, before, &["run", "an adder"]).exits(3);
    for request in server.requests() {
        clean(what, request.body.to_string().as_bytes(), is_open);
        clean(what, format!("{:?}", request.headers).as_bytes(), is_open);
    }
    let all: String = server.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(all.contains(CANARY), "{what}: it did not look: {all}");
    assert!(all.contains("may hold secrets"), "{what}: {all}");
    assert!(all.contains(GIT_CANARY) || what.contains("Landlock"), "{what}: it has no git: {all}");
    clean(what, format!("{}{}", said.stdout, said.stderr).as_bytes(), is_open);
    clean_records(what, &story, is_open);
    assert_eq!(story.belongings(), belongings, "{what}");
}

#[test]
fn the_built_in_agent_sends_no_secret_behind_any_fence() {
    for means in FENCES {
        let Some(before) = behind(means) else { continue };
        built_in_sends_nothing(
            &format!("built-in behind {}", means.as_str()),
            &before,
            |_| {},
            &is_open_to_tests(means),
        );
    }
}

/// An agent that is a program: it prints what it finds, answers with it, and leaves it in the
/// worktree.
fn external_sends_nothing(
    what: &str,
    before: &[OsString],
    prepare: impl Fn(&Story),
    is_open: &dyn Fn(&TestStage) -> bool,
) {
    let story = plant();
    employ_a_spy(&story, "");
    prepare(&story);
    let said = run(&story, before, &["run", "an adder"]);
    let records = records(&story);
    assert!(
        records.contains(CANARY),
        "{what}: it did not look: {records}\n{}{}",
        said.stdout,
        said.stderr
    );
    assert!(
        records.contains(GIT_CANARY) || what.contains("Landlock"),
        "{what}: it has no git: {records}"
    );
    clean(what, format!("{}{}", said.stdout, said.stderr).as_bytes(), is_open);
    clean_records(what, &story, is_open);
}

/// Configures a program that looks for everything as the project's agent.
fn employ_a_spy(story: &Story, settings: &str) {
    employ(story, settings, "");
}

/// The same with more settings in the agent's own table.
fn employ(story: &Story, settings: &str, own: &str) {
    let script =
        format!("cat > /dev/null\nfound=$({})\necho \"$found\" | tee loot.txt\n", probe(story));
    story.script("spy.sh", &script);
    let settings = format!(
        "backoff = 0.0\nmax-retries = 0\n[agent]\nname = \"spy\"\n{settings}\n[agent.custom.spy]\ncommand = [\"sh\", {:?}]\n{own}\n",
        story.place("spy.sh")
    );
    story.file("redgreen.toml", &settings);
    story.commit("an agent");
}

#[test]
fn allow_read_opens_what_it_names_and_is_reported() {
    let story = plant();
    let document = story.place("home/Documents").display().to_string();
    employ_a_spy(&story, &format!("allow-read = [\"secrets.yaml\", {document:?}, \"~/other\"]"));
    story.redgreen("agents").exits(0).says(&document).says("agent.allow-read");
    story.redgreen("run \"an adder\"").says("agent.allow-read adds secrets.yaml").says(&document);
    let opened = [Tracked("secrets.yaml"), Home("Documents/diary.md"), Home("other/.env")];
    let told = records(&story);
    for at in PLANTED {
        assert_eq!(told.contains(&secret(at)), opened.contains(at), "{at:?}");
    }
    // The user must trust these settings first: a clone could ask for any file.
    let strange = story.env("REDGREEN_TRUST", "0");
    strange.redgreen("run \"an adder\"").exits(2).says("agent.allow-read: secrets.yaml");
}

/// A project's custom agent gets the user settings that its `home` names, and nothing else.
#[test]
fn the_home_of_an_agent_holds_what_is_named_and_is_reported() {
    let home = |from: &str| {
        format!(
            "home = {{ variable = \"SPY_HOME\", from = \"{from}\", link = [\"login.json\"], copy = [\"settings.toml\"] }}"
        )
    };
    let opened = [Home(".spy/login.json"), Home(".spy/settings.toml")];
    for means in FENCES {
        let Some(before) = behind(means) else { continue };
        let story = plant();
        employ(&story, "", &home(".spy"));
        run(&story, &before, &["run", "an adder"]);
        let told = records(&story);
        assert!(told.contains(CANARY), "{}: it did not look: {told}", means.as_str());
        let is_open = is_open_to(means);
        for at in PLANTED.iter().filter(|at| !is_open(at)) {
            assert_eq!(
                told.contains(&secret(at)),
                opened.contains(at),
                "{}: {at:?}",
                means.as_str()
            );
        }
    }
    let story = plant();
    employ(&story, "", &home(".spy"));
    let strange = story.env("REDGREEN_TRUST", "0");
    strange
        .redgreen("run \"an adder\"")
        .exits(2)
        .says("$SPY_HOME/login.json, or ~/.spy/login.json");
    // A folder name that climbs makes nothing else writable.
    let story = plant();
    let script = format!("cat > /dev/null\necho mine > \"$SPY_HOME/climbed\"; echo {CANARY}\n");
    employ(&story, "", &home("/../../../../.."));
    story.script("spy.sh", &script);
    story.redgreen("run \"an adder\"");
    assert!(records(&story).contains(CANARY));
    let mut files = Vec::new();
    collect(&story.place(""), &mut files);
    let runs = story.root.join(".git/redgreen/runs");
    assert!(
        files.iter().all(|file| !file.ends_with("climbed") || file.starts_with(&runs)),
        "{files:?}"
    );
}

#[test]
fn records_and_exchanges_are_the_users_alone_and_outside_of_the_project() {
    let server = Server::answering(adder);
    let story = served(Story::pytest(), &server, Wire::Anthropic);
    story.file("redgreen.toml", "backoff = 0.0\n[model]\nrecord = \"exchanges.jsonl\"\n");
    story.commit("keep exchanges");
    story.redgreen("run \"an adder\"").exits(3);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let records = story.root.join(".git/redgreen");
    assert_eq!(mode(&records), 0o700);
    assert!(!story.root.join("exchanges.jsonl").exists());
    let cassette = records.join("cassettes/exchanges.jsonl");
    assert_eq!(fs::read_to_string(&cassette).unwrap().lines().count(), 7);
    let mut files = Vec::new();
    collect(&records, &mut files);
    let is_kept = |file: &&PathBuf| {
        let names = ["journal.jsonl", "exchanges.jsonl", "agents.json"];
        let folders = ["transcripts", "reports", "artifacts"];
        names.iter().any(|name| file.ends_with(name))
            || folders
                .iter()
                .any(|folder| file.components().any(|part| part.as_os_str() == *folder))
    };
    let kept: Vec<&PathBuf> = files.iter().filter(is_kept).collect();
    assert!(kept.len() > 8, "{kept:?}");
    for file in kept {
        assert_eq!(mode(file), 0o600, "{}", file.display());
        assert_eq!(mode(file.parent().unwrap()), 0o700, "{}", file.display());
    }
}

fn records(story: &Story) -> String {
    let mut files = Vec::new();
    collect(&story.root.join(".git/redgreen/runs"), &mut files);
    files.retain(|file| !file.components().any(|part| part.as_os_str() == PLANTED_RUN));
    files
        .iter()
        .map(|file| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned())
        .collect()
}

#[test]
fn an_external_agent_sends_no_secret_behind_any_fence() {
    for means in FENCES {
        let Some(before) = behind(means) else { continue };
        external_sends_nothing(
            &format!("external behind {}", means.as_str()),
            &before,
            |_| {},
            &is_open_to(means),
        );
    }
}

/// Test code in the clean room: its findings become the failure message, and so part of the report.
fn tests_tell_nothing(
    what: &str,
    before: &[OsString],
    prepare: impl Fn(&Story),
    is_open: &dyn Fn(&TestStage) -> bool,
) {
    let story = plant();
    let test = spy(&probe(&story));
    let script = format!(
        "version = 1\nagent = \"spy\"\n[[plan]]\ndo = [{{ write = \"test-list.md\", text = \"- [ ] spies\\n\" }}]\n\
         next = {{ description = \"spies\", test-file = \"test_spy.py\", impl-file = \"calc.py\" }}\n\
         [[red]]\ndo = [{{ write = \"test_spy.py\", text = '''\n{test}''' }}]\n"
    );
    story.script("kata.toml", &script);
    prepare(&story);
    let kata = story.place("kata.toml").display().to_string();
    let said = run(&story, before, &["run", "--script", &kata, "a spy"]);
    let records = records(&story);
    let is_open = |at: &TestStage| OPEN_TO_TESTS(at) || is_open(at);
    assert!(records.contains(CANARY), "{what}: it did not look: {}{}", said.stdout, said.stderr);
    clean(what, format!("{}{}", said.stdout, said.stderr).as_bytes(), &is_open);
    clean_records(what, &story, &is_open);
}

#[test]
fn tests_in_the_clean_room_tell_no_secret_behind_any_fence() {
    for means in FENCES {
        let Some(before) = behind(means) else { continue };
        tests_tell_nothing(
            &format!("tests behind {}", means.as_str()),
            &before,
            |_| {},
            &is_open_to_tests(means),
        );
    }
}

/// The same checks without root's rights. If the tests already run as an ordinary user, there is
/// nothing to repeat.
#[test]
fn an_ordinary_user_leaks_no_more_than_root() {
    if !rustix::process::getuid().is_root() {
        return skipped("leaks as another user: these tests run as an ordinary user already");
    }
    let id = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps=-all"];
    let words: Vec<OsString> =
        id.into_iter().chain(["--bounding-set=-all"]).map(OsString::from).collect();
    let give = |story: &Story| {
        let root = story.place("");
        let given = story
            .command("chown")
            .args(["-R", &format!("{NOBODY}:{NOBODY}")])
            .arg(&root)
            .status()
            .unwrap();
        assert!(given.success());
    };
    // The machine decides whether ordinary users may mount.
    let own = |at: &TestStage| OPEN_TO_LANDLOCK.contains(at);
    let of_tests = |at: &TestStage| own(at) || matches!(at, Socket(_));
    let story = Story::pytest();
    if run(&story, &words, &["--version"]).code != Some(0) {
        return skipped("leaks as an ordinary user: nobody else can start redgreen here");
    }
    let mut python = story.command("setpriv");
    let python =
        python.args(words.iter().skip(1)).args(["python", "-c", "import pytest"]).status().unwrap();
    if python.success() {
        external_sends_nothing("external, not root", &words, give, &own);
        built_in_sends_nothing("built-in, not root", &words, give, &of_tests);
        tests_tell_nothing("tests, not root", &words, give, &of_tests);
    } else {
        skipped(
            "leaks of the built-in agent and of tests as an ordinary user: pytest is root's alone here",
        );
        // Without an interpreter that every user may run, the test command is a system program.
        let with_command = |story: &Story| {
            let settings = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
            story.file("redgreen.toml", &format!("{settings}\n[test]\ncommand = \"true\"\n"));
            story.commit("a command");
            give(story);
        };
        external_sends_nothing("external, not root", &words, with_command, &own);
    }
}
