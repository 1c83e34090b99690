//! Stories run the real program, in a real repository with a real test runner, through the commands
//! a user types.

mod agents;
mod attempts;
mod bad_input;
mod book;
mod built_in;
mod claims;
mod clean;
mod command;
mod contest;
mod cost;
mod crash;
mod demo;
mod disk;
mod doctor;
mod documented_commands;
mod doors;
mod everyday;
mod example_projects;
mod examples;
mod fingerprint;
mod fleet;
mod forged;
mod frameworks;
mod honest;
mod human;
mod injection;
mod installing;
mod judge;
mod kill;
mod live;
mod many;
mod mcp;
mod merge;
mod merging;
mod numbers;
mod plain_notes;
mod planner;
mod projects;
mod push;
mod python;
mod quick_start;
mod recovery;
mod repair;
mod run;
mod runaway_tests;
mod scripts;
mod session;
mod several;
pub(crate) mod side_by_side;
mod small_models;
mod stale;
pub(crate) mod steer;
mod surroundings;
mod terminal;
mod test;
mod tests_beside_code;
mod traps;
mod ui;
mod undo;
mod verbs;
mod verify;
mod withheld;
mod workspaces;

pub(crate) use built_in::{adder, role, served};
pub(crate) use crash::is_all;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use redgreen::sandbox::Mechanism;

/// Makes redgreen detect the unittest runner in an empty project.
const UNITTEST: (&str, &str) =
    ("tests/__init__.py", "\"\"\"Tests are classes of unittest.TestCase.\"\"\"\n");
const PYTEST: (&str, &str) = ("pytest.ini", "[pytest]\n");

/// Three cycles on unittest. Every phase is accepted at the first try, and only the second
/// refactoring changes something.
pub(crate) const CALCULATOR: &str = include_str!("story/calculator.toml");

/// Time limits in seconds, for stories in which something must start before it is stopped. Stories
/// try them in order: a busy machine needs the longer ones, and an idle machine does not wait for
/// them.
pub(crate) const LIMITS: [u32; 3] = [4, 16, 64];

/// A repository with its own home directory, isolated from the machine's configuration.
pub(crate) struct Story {
    folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    env: Vec<(String, String)>,
}

/// The output and exit code of a command.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    line: String,
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Story {
    /// An empty unittest project with one commit on `main`. unittest starts five times faster than
    /// pytest. The path contains a space and a non-ASCII letter.
    pub(crate) fn new() -> Self {
        Self::bare_folder().begun(UNITTEST)
    }

    /// Like `new`, but for pytest: for stories about judging or about pytest itself.
    pub(crate) fn pytest() -> Self {
        Self::bare_folder().begun(PYTEST)
    }

    /// Like `new`, for several tests that inspect the same run. No test knows that it is the last
    /// one, so the next test process removes the folder.
    pub(crate) fn shared() -> Self {
        Self::shared_folder().begun(UNITTEST)
    }

    pub(crate) fn shared_pytest() -> Self {
        Self::shared_folder().begun(PYTEST)
    }

    fn shared_folder() -> Self {
        const PREFIX: &str = "redgreen-shared-";
        let own = format!("{PREFIX}{}-", std::process::id());
        for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let Some((process, _)) =
                name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'))
            else {
                continue;
            };
            if Path::new("/proc/self").exists() && !Path::new("/proc").join(process).exists() {
                fs::remove_dir_all(entry.path()).ok();
            }
        }
        Self::within(tempfile::Builder::new().prefix(&own).tempdir().unwrap())
    }

    fn begun(self, (path, text): (&str, &str)) -> Self {
        let story = self;
        story.git("init -q -b main");
        story.git("config user.name Ada");
        story.git("config user.email ada@example.com");
        story
            .file(path, text)
            .file("redgreen.toml", "backoff = 0.0\n")
            .file(".gitignore", "__pycache__/\n");
        story.commit("first");
        story
    }

    /// Like `new`, with the calculator script next to the repository.
    pub(crate) fn calculator() -> Self {
        let story = Self::new();
        story.script("kata.toml", CALCULATOR);
        story
    }

    /// A run of one cycle, "an adder", that waits for a human.
    pub(crate) fn waiting() -> Self {
        static RUN: OnceLock<Story> = OnceLock::new();
        Self::copy_of(&RUN, |story| {
            let script = [scripts::PLAN, scripts::RED, scripts::GREEN, scripts::DONE].concat();
            story.script("kata.toml", &script);
            story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
        })
    }

    /// A copy of a story whose setup runs once for all tests, because runs take seconds.
    pub(crate) fn copy_of(original: &OnceLock<Self>, begin: impl FnOnce(&Self)) -> Self {
        let original = original.get_or_init(|| {
            let story = Self::shared();
            begin(&story);
            story
        });
        let story = Self::bare_folder();
        let (from, to) = (original.place("."), story.place("."));
        let copied = story.command("cp").arg("-a").args([from, to]).status().unwrap();
        assert!(copied.success());
        // The copied index still holds the modification times and inodes of the original files.
        story.git("update-index -q --refresh");
        story
    }

    /// A folder that is not a repository yet.
    pub(crate) fn bare_folder() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    fn within(folder: tempfile::TempDir) -> Self {
        let root = folder.path().canonicalize().unwrap().join("prójekt one");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(folder.path().join("home")).unwrap();
        let story = Self { root, folder, env: Vec::new() };
        let home = story.place("home").display().to_string();
        let story =
            story.env("HOME", &home).env("REDGREEN_WORKTREES", &format!("{home}/worktrees"));
        // Nothing listens on this port, so a story never uses a model server of this machine.
        let away = ["OLLAMA_HOST", "LMSTUDIO_BASE_URL", "LLAMA_BASE_URL", "VLLM_BASE_URL"];
        away.iter()
            .fold(story, |story, name| story.env(name, "http://127.0.0.1:9"))
            .env("REDGREEN_TRUST", "1")
    }

    #[must_use]
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A path next to the repository.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes a script for the agent next to the repository.
    pub(crate) fn script(&self, name: &str, text: &str) -> &Self {
        fs::write(self.place(name), text).unwrap();
        self
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git("add -A");
        self.command("git").args(["commit", "-q", "-m", message]).output().unwrap();
        self.git("rev-parse HEAD")
    }

    /// Runs git in the repository and splits `line` at spaces. A failing git fails the test.
    #[track_caller]
    pub(crate) fn git(&self, line: &str) -> String {
        let output = self.command("git").args(line.split(' ')).output().unwrap();
        assert!(output.status.success(), "git {line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Runs `redgreen <line>`. Spaces separate words, `"…"` keeps words together, and `@name` is a
    /// path next to the repository.
    pub(crate) fn redgreen(&self, line: &str) -> ProgramOutput {
        ProgramOutput::of(line, &self.prepare(line).output().unwrap())
    }

    /// The same command, not started yet.
    pub(crate) fn prepare(&self, line: &str) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_redgreen"));
        command.args(self.words(line)).stdin(Stdio::null());
        command
    }

    /// A command that gets only the story's environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let env: BTreeMap<String, String> =
            machine().into_iter().chain(self.env.iter().cloned()).collect();
        // With a full path, the standard library starts the program without copying this process's
        // memory.
        let places = std::env::split_paths(&env["PATH"]).map(|folder| folder.join(program));
        let place =
            places.into_iter().find(|place| place.is_file()).unwrap_or_else(|| program.into());
        #[expect(clippy::disallowed_methods, reason = "a story starts programs as a user does")]
        let mut command = Command::new(place);
        command.current_dir(&self.root).env_clear().envs(env);
        command
    }

    /// The subjects of the commits in a range, oldest first.
    pub(crate) fn log(&self, range: &str) -> Vec<String> {
        self.git(&format!("log --reverse --format=%s {range}")).lines().map(str::to_owned).collect()
    }

    /// The run's branch. Fails unless there is exactly one.
    #[track_caller]
    pub(crate) fn branch(&self) -> String {
        let branches = self.git("for-each-ref --format=%(refname:short) refs/heads/redgreen");
        assert_eq!(branches.lines().count(), 1, "{branches}");
        branches
    }

    /// Asserts that the transcript of every turn names this sandbox mechanism.
    #[track_caller]
    pub(crate) fn fenced_by(&self, means: Mechanism) {
        let runs = fs::read_dir(self.root.join(".git/redgreen/runs"))
            .unwrap()
            .map(|run| run.unwrap().path());
        let transcripts = runs.flat_map(|run| fs::read_dir(run.join("transcripts")).unwrap());
        let told: Vec<String> =
            transcripts.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
        let words = format!("\nsandboxed by {}", means.as_str());
        assert!(
            !told.is_empty() && told.iter().all(|turn| turn.contains(&words)),
            "{words}: {told:?}"
        );
    }

    /// The content of the checkout and of git's state, byte for byte: files, index, the user's
    /// refs.
    pub(crate) fn belongings(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = self.belongings_but_times();
        all.insert(
            ".git/index".to_owned(),
            fs::read(self.root.join(".git/index")).unwrap_or_default(),
        );
        all
    }

    /// Like `belongings`, but without the timestamps of the index: git refreshes them even when it
    /// refuses a merge.
    pub(crate) fn belongings_but_times(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        collect(&self.root, &self.root, &mut all);
        all.insert(
            ".git/index".to_owned(),
            self.git("ls-files --stage -v --full-name").into_bytes(),
        );
        for name in ["HEAD", "config"] {
            all.insert(
                format!(".git/{name}"),
                fs::read(self.root.join(".git").join(name)).unwrap_or_default(),
            );
        }
        for refs in ["refs/heads/main", "refs/stash", "refs/tags"] {
            let value = self.git(&format!("for-each-ref {refs}"));
            all.insert(refs.to_owned(), value.into_bytes());
        }
        all
    }

    fn words(&self, line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (index, part) in line.split('"').enumerate() {
            if index % 2 == 1 {
                words.push(part.to_owned());
            } else {
                words.extend(part.split_whitespace().map(|word| match word.strip_prefix('@') {
                    Some(name) => self.place(name).display().to_string(),
                    None => word.to_owned(),
                }));
            }
        }
        words
    }
}

impl ProgramOutput {
    pub(crate) fn of(line: &str, output: &Output) -> Self {
        Self {
            line: line.to_owned(),
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        let Self { line, signal, stdout, stderr, .. } = &self;
        assert_eq!(
            self.code,
            Some(code),
            "redgreen {line} (signal {signal:?})\n{stdout}\n{stderr}"
        );
        self
    }

    /// Searches stdout and stderr, so that a story does not depend on which one the program uses.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        let all = format!("{}\n{}", self.stdout, self.stderr);
        assert!(all.contains(words), "redgreen {} does not say {words:?}:\n{all}", self.line);
        self
    }

    /// The last line of stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        let last = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last)
            .unwrap_or_else(|error| panic!("redgreen {}: {error}: {last}", self.line))
    }
}

/// Environment variables without the machine's git configuration, but with pytest and the machine's
/// cargo.
fn machine() -> Vec<(String, String)> {
    #[expect(clippy::disallowed_methods, reason = "a variable names the tools")]
    let known = |name: &str| std::env::var(name).ok();
    let python = crate::runner::venv();
    let path = format!("{}/bin:{}", python.display(), known("PATH").unwrap_or_default());
    let mut env = vec![
        ("PATH".to_owned(), path),
        ("VIRTUAL_ENV".to_owned(), python.display().to_string()),
        ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
        ("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned()),
        ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
    ];
    // Cargo and rustup expect their folders in the real home.
    let home = known("HOME").unwrap_or_default();
    for (name, default) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        env.push((name.to_owned(), known(name).unwrap_or_else(|| format!("{home}/{default}"))));
    }
    env.extend(known("TMPDIR").map(|folder| ("TMPDIR".to_owned(), folder)));
    env
}

fn collect(root: &Path, folder: &Path, all: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() == ".git" {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            collect(root, &path, all);
        } else {
            all.insert(
                path.strip_prefix(root).unwrap().display().to_string(),
                fs::read(&path).unwrap_or_default(),
            );
        }
    }
}
