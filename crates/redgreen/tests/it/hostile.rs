//! Hostile repositories: somebody else wrote their notes, refs, records, settings and files, to
//! make redgreen harm a user who only looks. Each test runs the verbs in one repository. After each
//! verb, everything except redgreen's own files must be unchanged byte for byte, no planted command
//! may have run, and the output must be plain text.

mod files;
mod messages;
mod notes;
mod ordinary;
mod records;
mod refs;
mod settings;
mod swapped_folders;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::story::{Story, is_all};

/// The run that the hostile notes and records are about.
const RUN: &str = "20261115-224849-k3x9";
/// Its branch, which the template contains.
const BRANCH: &str = "redgreen/feature-k3x9";
/// The user's own file outside of the repository.
const DIARY: &str = "dear diary";
/// How long a verb may take, on a busy machine.
const SECONDS_MAX: &str = "120";

/// Verbs that only read.
const READING: &[&str] = &[
    "status",
    "status --all",
    "status --json",
    "history",
    "history --json",
    "why",
    "why k3x9",
    "report",
    "report --json",
    "report --html -",
    "report k3x9 --html -",
    "salvage",
    "salvage list",
    "salvage show k3x9",
    "salvage diff k3x9",
    "config",
    "trust --show",
    "session status",
    "session status --json",
    "watch",
    "watch k3x9 --json",
    "ui --page /",
    "ui --page /runs/k3x9",
    "ui --page /runs/k3x9?view=cycle-1&layout=split",
    "ui --page /runs/k3x9/turns/1",
    "queue",
    "fleet",
    "hook claude",
    "hook codex",
    "hook gemini",
    "hook copilot",
    "hook cursor",
    "hook opencode",
    "hook git pre-commit",
    "hook git pre-push",
    "hook claude < @edit.json",
    "hook codex < @shell.json",
    "mcp",
    "mcp < @mcp.jsonl",
];
/// Verbs that change something, with and without a named run.
const WRITING: &[&str] = &[
    "say k3x9 hello",
    "plan k3x9",
    "pause k3x9",
    "reject k3x9 wrong",
    "resume --script @quick.toml",
    "resume k3x9 --script @quick.toml",
    "approve",
    "approve k3x9",
    "approve k3x9 --squash",
    "approve k3x9 --push",
    "abort",
    "abort k3x9",
    "undo",
    "undo k3x9",
    "clean",
    "clean --yes",
    "rollback HEAD",
    "rollback redgreen/feature-k3x9",
    "salvage restore k3x9",
    "salvage drop k3x9",
    "repair-notes",
    "session check",
    "session undo",
    "session dispute wrong --test x",
    "session resolve keep",
    "session end --unproven",
    "status",
    "history",
];
/// Verbs that read the project's files and run its tests. They take seconds, so only some
/// repositories get them.
const RUNNING: &[&str] = &[
    "doctor",
    "test --timeout 20",
    "judge green --explain",
    "verify HEAD~1..HEAD",
    "verify --pr",
    "session start x",
    "session check",
    "session end --unproven",
    "run --script @quick.toml x",
];
/// Verbs that read files and run nothing.
const LOOKING: &[&str] = &[
    "agents",
    "submit x",
    "submit --spec spec.json",
    "submit --from spec.json",
    "verify --merge spec.json spec.json",
    "cancel k3x9",
    "work --until-empty",
    "init",
    "context --script @quick.toml calc.py",
    "brief spec.json",
    "run --script @quick.toml --spec spec.json",
    "run --script @quick.toml --task spec.json",
    "run --script @quick.toml --examples spec.json x",
    "judge green --examples spec.json",
    "judge green --task spec.json",
];
/// Verbs that do not depend on the repository they are called in.
const ELSEWHERE: &[&str] = &["schema", "demo", "bench", "completions", "man", "help"];

/// A script whose plan says at once that nothing is left to do.
const QUICK: &str = "[[plan]]\ndone = true\n";
/// A script that writes an extra file while it plans, which redgreen reverts.
const STRAY: &str = r#"[[plan]]
next = { description = "adds", test-file = "test_calc.py", impl-file = "calc.py" }
do = [{ write = "stray.txt", text = "x" }]
"#;

/// A repository from somebody else, and the user's own files around it.
struct Clone {
    folder: tempfile::TempDir,
    root: PathBuf,
    /// The state of the repository before any verb runs.
    before: BTreeMap<PathBuf, Entry>,
    /// Another user to run verbs as.
    user: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
    Other,
}

/// Declares a test for each repository, from its name and how to make it. `with` adds verbs to
/// those that every repository gets.
macro_rules! hostile {
    ($($(#[$doc:meta])* $name:ident $(with $verbs:expr)? => $make:expr;)*) => {
        pub(super) const REPOSITORIES: &[&str] = &[$(stringify!($name)),*];

        $(
            $(#[$doc])*
            #[test]
            fn $name() {
                let more: Vec<Vec<&str>> = vec![$($verbs.concat())?];
                $crate::hostile::survives($make, &more.concat());
            }
        )*
    };
}
pub(crate) use hostile;

/// Makes the repository and runs the verbs in it.
fn survives(make: impl Fn(&Clone), more: &[&str]) {
    let mut clone = Clone::new();
    make(&clone);
    clone.before = clone.everything();
    // With `scripts/test --all`, slow verbs run in every repository.
    let slow: Vec<&str> = if is_all() { [LOOKING, RUNNING].concat() } else { Vec::new() };
    for line in READING.iter().chain(more).chain(&slow).chain(WRITING) {
        clone.check(line);
    }
    if is_all() {
        ordinary::survives(make, &[READING, LOOKING, RUNNING, WRITING].concat());
    }
}

#[test]
fn there_are_as_many_hostile_repositories_as_were_promised() {
    const PROMISED: usize = 40;
    let all = [
        files::REPOSITORIES,
        messages::REPOSITORIES,
        notes::REPOSITORIES,
        records::REPOSITORIES,
        refs::REPOSITORIES,
        settings::REPOSITORIES,
    ];
    assert!(all.concat().len() >= PROMISED);
}

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let commands = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let verb =
        |line: &str| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')).map(first_word);
    commands.unwrap_or_default().lines().filter_map(verb).collect()
}

/// A verb that is misspelt or missing in these lists proves nothing.
#[test]
fn every_verb_with_all_its_parts_is_among_those_that_are_run() {
    let clone = Clone::new();
    let help = |line: &str| String::from_utf8(clone.redgreen(line).stdout).unwrap();
    let verbs = listed(&help("--help"));
    assert!(verbs.len() > 20, "{verbs:?}");
    let run = [READING, WRITING, RUNNING, LOOKING, ELSEWHERE].concat();
    let mut all: Vec<String> = Vec::new();
    for verb in &verbs {
        let parts = listed(&help(&format!("{verb} --help")));
        let parts = parts.iter().filter(|part| *part != "help" && verb != "help");
        all.extend(parts.map(|part| format!("{verb} {part}")).chain([verb.clone()]));
    }
    assert!(all.iter().any(|verb| verb == "session resolve"), "{all:?}");
    // The agents whose messages `hook` reads.
    let hosts = help("hook --help");
    let hosts = hosts.split("possible values: ").nth(1).and_then(|rest| rest.split(']').next());
    let hosts: Vec<&str> = hosts.unwrap_or_default().split(',').map(str::trim).collect();
    assert!(hosts.contains(&"git") && hosts.len() > 5, "{hosts:?}");
    all.extend(hosts.iter().map(|host| format!("hook {host}")));
    let is_run = |verb: &&String| {
        run.iter().any(|line| line.strip_prefix(verb.as_str()).is_some_and(is_end_of_a_word))
    };
    let missing: Vec<&String> = all.iter().filter(|verb| !is_run(verb)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn is_end_of_a_word(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

fn is_of_a_variable(letter: char) -> bool {
    letter.is_ascii_uppercase() || letter == '_'
}

fn first_word(line: &str) -> String {
    line.split(' ').next().unwrap_or_default().to_owned()
}

impl Clone {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("hostile-").tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        copy(template(), &place);
        for name in ["home", "markers", "beside"] {
            fs::create_dir_all(place.join(name)).unwrap();
        }
        fs::write(place.join("beside/diary.txt"), format!("{DIARY}\n")).unwrap();
        fs::write(place.join("home/.bashrc"), "export A=1\n").unwrap();
        fs::write(place.join("quick.toml"), QUICK).unwrap();
        fs::write(place.join("stray.toml"), STRAY).unwrap();
        for (name, text) in messages(&place.join("repo")) {
            fs::write(place.join(name), text).unwrap();
        }
        Self { root: place.join("repo"), folder, before: BTreeMap::new(), user: None }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// A command that creates a marker file.
    fn plant(&self) -> String {
        format!("touch '{}'", self.place("markers/ran").display())
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn link(&self, path: &str, to: impl AsRef<Path>) -> &Self {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::remove_file(&path).ok();
        symlink(to, path).unwrap();
        self
    }

    fn pipe(&self, path: &str) -> &Self {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::remove_file(&path).ok();
        assert!(self.program("mkfifo").arg(&path).status().unwrap().success());
        self
    }

    fn commit_all(&self) -> &Self {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "-q", "--no-verify", "-m", "theirs"]);
        self
    }

    #[track_caller]
    fn git(&self, args: &[&str]) -> String {
        self.git_with(args, b"")
    }

    #[track_caller]
    fn git_with(&self, args: &[&str], stdin: &[u8]) -> String {
        use std::io::Write;
        let mut command = self.program("git");
        let mut child = command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// A note on the tip of the run's branch, with exactly these bytes.
    fn note(&self, text: impl AsRef<[u8]>) -> &Self {
        self.note_on(BRANCH, text)
    }

    fn note_on(&self, rev: &str, text: impl AsRef<[u8]>) -> &Self {
        let blob = self.git_with(&["hash-object", "-w", "--stdin"], text.as_ref());
        self.git(&["notes", "--ref=tdd-handoffs", "add", "-f", "-C", &blob, rev]);
        self
    }

    /// A valid note, except for the changes that `spoil` makes.
    fn spoilt_note(&self, spoil: impl FnOnce(&mut Value)) -> &Self {
        let mut note = self.handoff();
        spoil(&mut note);
        self.note(note.to_string())
    }

    fn handoff(&self) -> Value {
        json!({
            "version": 1, "phase": "RED", "nextPhase": "GREEN", "cycleNumber": 1,
            "currentTest": { "description": "adds", "testFile": "test_calc.py", "implFile": "calc.py" },
            "completedTests": [], "pendingTests": ["adds"], "testResult": "FAIL",
            "error": null, "errorDetails": null, "retryCount": 0,
            "run": {
                "id": RUN, "request": "a calculator", "base": self.git(&["rev-parse", "main~1"]), "target": "main",
                "branch": BRANCH, "agent": "script"
            },
            "verdict": { "decision": "accepted", "codes": ["red.assertion"] }, "tests": null
        })
    }

    /// Writes records of the run, as redgreen would have left them, with these lines in the
    /// journal.
    fn journal(&self, lines: &[Value]) -> &Self {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.raw_journal(text)
    }

    fn raw_journal(&self, text: impl AsRef<[u8]>) -> &Self {
        self.file(&format!(".git/redgreen/runs/{RUN}/journal.jsonl"), text);
        self.file(&format!(".git/redgreen/open/{RUN}"), "");
        self.file(".git/redgreen/latest", RUN)
    }

    /// The first line of a journal, valid except for the changes that `spoil` makes to its run.
    fn started(&self, spoil: impl FnOnce(&mut Value)) -> Value {
        let mark = json!({
            "commit": self.git(&["rev-parse", "main~1"]), "tree": self.git(&["rev-parse", "main~1^{tree}"])
        });
        let mut run = json!({
            "id": RUN, "brief": { "request": "a calculator" }, "base": mark, "target": "main", "branch": BRANCH,
            "agent": "script", "linters": [],
            "policy": serde_json::to_value(redgreen_core::policy::Policy::default()).unwrap()
        });
        spoil(&mut run);
        json!({ "v": 1, "seq": 1, "at": 1_700_000_000_000_i64, "event": "started", "run": run })
    }

    /// The engine has left the run.
    fn left(&self, seq: u64) -> Value {
        json!({ "v": 1, "seq": seq, "at": 1_700_000_000_000_i64, "event": "left", "outcome": { "outcome": "interrupted" } })
    }

    /// A command in the repository, without any of the machine's configuration.
    fn program(&self, name: &str) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the suite starts programs as a user does")]
        let mut command = Command::new(name);
        #[expect(clippy::disallowed_methods, reason = "a variable names the tools")]
        let known = |name: &str| std::env::var(name).unwrap_or_default();
        let path = known("PATH");
        let python = crate::runner::venv();
        command
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", format!("{}/bin:{path}", python.display()))
            .env("VIRTUAL_ENV", python)
            .env("HOME", self.place("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("LC_ALL", "C.UTF-8")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        // Otherwise rustup creates its folders in the empty home.
        for (name, default) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            let named = Some(known(name)).filter(|named| !named.is_empty());
            command.env(name, named.unwrap_or_else(|| format!("{}/{default}", known("HOME"))));
        }
        for name in ["OLLAMA_HOST", "LMSTUDIO_BASE_URL", "LLAMA_BASE_URL", "VLLM_BASE_URL"] {
            command.env(name, "http://127.0.0.1:9");
        }
        command
    }

    fn redgreen(&self, line: &str) -> Output {
        // `timeout` ends a verb that hangs, with exit code 124.
        let mut command = self.program("timeout");
        // The limit stops a verb that reads without end before the machine runs out of memory.
        command.args([
            "--kill-after=10",
            SECONDS_MAX,
            "sh",
            "-c",
            "ulimit -v 4000000; exec \"$@\"",
            "limited",
        ]);
        if let Some(user) = self.user {
            command.args(["setpriv", "--reuid", user, "--clear-groups"]);
        }
        command.arg(env!("CARGO_BIN_EXE_redgreen"));
        let place = |word: &str| match word.strip_prefix('@') {
            Some(name) => self.place(name).display().to_string(),
            None => word.to_owned(),
        };
        // Variables come first, as in a shell.
        let variable = |word: &&str| {
            word.split_once('=').is_some_and(|(name, _)| name.chars().all(is_of_a_variable))
        };
        let words: Vec<&str> = line.split(' ').collect();
        let (set, words) = words.split_at(words.iter().take_while(|word| variable(word)).count());
        command.envs(
            set.iter()
                .filter_map(|word| word.split_once('='))
                .map(|(name, value)| (name, place(value))),
        );
        let (words, input) = match words {
            [words @ .., "<", name] => (words, fs::File::open(place(name)).unwrap().into()),
            words => (words, Stdio::null()),
        };
        command.args(words.iter().map(|word| place(word))).stdin(input);
        command.output().unwrap()
    }

    /// Runs a verb. Whatever it answers, nothing of the user's may change, and nothing planted may
    /// run.
    #[track_caller]
    fn check(&self, line: &str) {
        let output = self.redgreen(line);
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let code = output.status.code();
        // `watch` exits like the run it watches, which may have been interrupted.
        let is_known =
            matches!(code, Some(0..=6)) || (line.starts_with("watch") && code == Some(130));
        assert!(is_known, "redgreen {line} ended with {:?}:\n{out}\n{err}", output.status);
        assert!(!err.contains("Usage: redgreen"), "redgreen {line} is not understood:\n{err}");
        let odd = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
        for text in [&out, &err] {
            let shown = text.lines().find(|line| line.contains(odd));
            assert!(shown.is_none(), "redgreen {line} wrote a control character: {shown:?}");
            assert!(!text.contains(DIARY), "redgreen {line} shows a file of the user: {text}");
        }
        let ran = fs::read_dir(self.place("markers")).unwrap().count();
        assert_eq!(ran, 0, "redgreen {line} ran a planted command:\n{out}\n{err}");
        let after = self.everything();
        let changed: Vec<&PathBuf> = self
            .before
            .keys()
            .chain(after.keys())
            .filter(|path| {
                let (before, after) = (self.before.get(*path), after.get(*path));
                // Objects are added, and never removed or changed.
                let is_kept = path.starts_with("repo/.git/objects") && before.is_some();
                before != after && (is_kept || !is_own(path))
            })
            .collect();
        assert!(changed.is_empty(), "redgreen {line} changed {changed:?}:\n{out}\n{err}");
    }

    /// Every entry in and around the repository, by its path. Links are not followed.
    fn everything(&self) -> BTreeMap<PathBuf, Entry> {
        let mut all = BTreeMap::new();
        let base = self.place("");
        let mut folders = vec![base.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let facts = fs::symlink_metadata(&path).unwrap();
                let kind = facts.file_type();
                let mode = facts.permissions().mode();
                let found = if kind.is_symlink() {
                    Entry::Link(fs::read_link(&path).unwrap())
                } else if kind.is_dir() {
                    folders.push(path.clone());
                    Entry::Folder(mode)
                } else if kind.is_fifo() {
                    Entry::Other
                } else {
                    Entry::File(mode, fs::read(&path).unwrap())
                };
                all.insert(path.strip_prefix(&base).unwrap().to_owned(), found);
            }
        }
        all
    }
}

/// What coding agents send: an edit, a command, and requests for everything that reads.
fn messages(root: &Path) -> [(&'static str, String); 3] {
    let before = |tool: &str, input: Value| {
        json!({ "hook_event_name": "PreToolUse", "cwd": root, "tool_name": tool, "tool_input": input }).to_string()
    };
    let edit = before("Write", json!({ "file_path": "test_calc.py", "content": "x = 1\n" }));
    let shell = before("Bash", json!({ "command": "python -m unittest" }));
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let call = |tool: &str| ("tools/call", json!({ "name": tool, "arguments": {} }));
    let read =
        |name: &str| ("resources/read", json!({ "uri": format!("redgreen://session/{name}") }));
    let requests = [
        ("initialize", hello),
        call("status"),
        call("explain"),
        call("plan"),
        read("brief"),
        read("test-list"),
        read("report"),
        ("prompts/get", json!({ "name": "red" })),
    ];
    let line = |(id, (method, params)): (usize, (&str, Value))| {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    };
    let lines: String = requests.into_iter().enumerate().map(line).collect();
    [("edit.json", edit), ("shell.json", shell), ("mcp.jsonl", lines)]
}

/// redgreen's own folders and refs, the objects they need, and its folders in the home.
fn is_own(path: &Path) -> bool {
    const OWN: &[&str] = &[
        "home/.cache",
        "home/.local",
        "repo/.git/redgreen",
        "repo/.git/objects",
        "repo/.git/worktrees",
        "repo/.git/refs/redgreen",
        "repo/.git/logs/refs/redgreen",
        "repo/.git/refs/heads/redgreen",
        "repo/.git/logs/refs/heads/redgreen",
        "repo/.git/refs/heads/salvage",
        "repo/.git/logs/refs/heads/salvage",
        "repo/.git/refs/worktree/redgreen",
        "repo/.git/refs/notes/tdd-handoffs",
        "repo/.git/logs/refs/notes/tdd-handoffs",
        "repo/.git/refs/notes/redgreen-tmp",
        "repo/.git/logs/refs/notes/redgreen-tmp",
    ];
    const PARENTS: &[&str] = &[
        "repo/.git/logs/refs",
        "repo/.git/logs/refs/heads",
        "repo/.git/logs/refs/notes",
        "repo/.git/refs/notes",
        "repo/.git/refs/worktree",
    ];
    // `redgreen test` runs the tests in the checkout, where they leave their usual caches.
    let litter = |part: &str| part == ".pytest_cache" || part == "__pycache__";
    if path.iter().any(|part| litter(&part.to_string_lossy())) {
        return true;
    }
    OWN.iter().any(|own| path.starts_with(own)) || PARENTS.contains(&path.to_str().unwrap_or(""))
}

/// A user's repository: two commits on `main`, of which the second exists nowhere else, uncommitted
/// work, a stash, a tag, a hook, and the branch of a run. It is made once and copied.
fn template() -> &'static Path {
    static MADE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = MADE.get_or_init(|| {
        let story = Story::new();
        story.file("calc.py", "def add(a, b):\n    return a + b\n");
        story.file(
            "test_calc.py",
            "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    \
             def test_add(self):\n        assert add(1, 2) == 3\n",
        );
        story.commit("mine, not pushed");
        story.git("tag v1");
        let tree = story.git("rev-parse main~1^{tree}");
        let tip = story.git(&format!("commit-tree -p main~1 -m test {tree}"));
        story.git(&format!("update-ref refs/heads/{BRANCH} {tip}"));
        story.file("calc.py", "def add(a, b):\n    return b + a\n");
        story.git("stash -q");
        story.file("notes.txt", "not committed\n");
        story.git("add notes.txt");
        story.file(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
        let folder = tempfile::Builder::new().prefix("hostile-template-").tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        copy(&story.root, &place.join("repo"));
        (folder, place)
    });
    path
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
