//! Where settings come from: files (`layers`), the environment, the command line; the later one wins. The only place that
//! reads the environment.

pub mod agents;
mod asked;
pub mod layers;
mod models;
mod properties;
mod provided;
pub mod registries;
mod steering;
mod stores;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::brief::instructions;
use redgreen_core::framework::command::{Command, Format};
use redgreen_core::model::ability::Asking;
use redgreen_core::model::price::{Price, Prices};
use redgreen_core::model::wire::Wire;
use redgreen_core::policy::{Budget, Policy};
use redgreen_core::proof::Policy as Verify;
use redgreen_core::text::in_quotes;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::process::Program;
pub use asked::is_inside;
pub use models::{Models, Secret};
pub use provided::Provided;
pub use steering::{Notify, PauseAfter};
pub use stores::{Store, Way};

/// The project's own settings, from its root.
pub const FILE: &str = "redgreen.toml";
const FILE_BYTES_MAX: u64 = 1 << 20;
/// A key with more wrong letters than this is not thought to be a slip.
const TYPOS_MAX: usize = 3;

/// `redgreen.toml`, as written. Unknown keys are errors.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct File {
    pub max_retries: Option<u32>,
    pub max_iterations: Option<u32>,
    pub max_cycles: Option<u32>,
    /// Whether RED is asked for tests that whoever writes the code does not see.
    pub withhold: Option<bool>,
    pub pause_after: Vec<PauseAfter>,
    pub notify: Notify,
    /// Seconds before the first retry; each further pause is twice as long.
    pub backoff: Option<f64>,
    pub timeout: Timeouts,
    pub budget: Budgets,
    pub worktree: Worktree,
    pub lint: Lint,
    pub plan: Plan,
    pub test: Test,
    /// How tests and code are to be written.
    pub red: instructions::Tests,
    pub green: instructions::Code,
    /// What is asked of a range of commits.
    pub verify: Verify,
    pub agent: AgentChoice,
    pub agents: Agents,
    pub model: Model,
}

/// Seconds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Timeouts {
    pub red: Option<f64>,
    pub green: Option<f64>,
    pub turn: Option<f64>,
    pub lint: Option<f64>,
    pub setup: Option<f64>,
    /// For one command of the built-in agent.
    pub bash: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Budgets {
    pub tokens: Option<u64>,
    pub usd: Option<f64>,
    /// Seconds at work.
    pub seconds: Option<f64>,
}

/// What becomes of `test-list.md`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Plan {
    /// The list is merged with the rest of the run; otherwise it stays in the run's commits.
    pub keep: bool,
}

/// What a fresh worktree needs before tests can run in it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Worktree {
    /// The folder worktrees are made in; outside every checkout.
    pub root: Option<PathBuf>,
    /// Files and folders of the user's checkout that git does not hold, copied along.
    pub copy: Vec<PathBuf>,
    /// The same, as symbolic links: for large folders that nobody writes to.
    pub link: Vec<PathBuf>,
    /// Command lines, run in the worktree in order.
    pub setup: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fence {
    /// The strongest this machine allows.
    #[default]
    Auto,
    /// None: tests, or agents, see and reach whatever the user does. The verdict says so.
    None,
}

/// Where the programs of agents may connect to, where the sandbox can hold them to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkAccess {
    /// To the hosts of their model and to package registries.
    #[default]
    Limited,
    /// To the hosts of their model alone.
    Model,
    /// Everywhere.
    Open,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Lint {
    /// Command lines; with none given, the project's own linters are found by their configuration.
    pub commands: Option<Vec<String>>,
}

/// How the tests are run, as far as that is not to be found out, and what a verdict makes of them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Test {
    /// For the shell, in the project's root.
    pub command: Option<String>,
    /// The files that tell how the tests ended, from the root, with `*` and `**`; `stdout`; with none, the exit code.
    pub report: Option<String>,
    pub format: Option<Format>,
    pub fence: Fence,
    /// A larger share of new tests that pass at once is worth a warning, where all are written at once.
    pub max_pass_ratio: Option<f64>,
    /// How many faults are put into the changed lines, to see whether the tests notice; 0 for none.
    pub mutants: Option<usize>,
    /// Variables that the tests get.
    pub env: BTreeMap<String, String>,
    /// Names of the user's own variables that the tests get.
    pub env_pass: Vec<String>,
    /// Ports of this machine's loopback that the tests reach.
    pub services: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AgentChoice {
    /// Who works where [`Agents`] names nobody else.
    pub name: Option<String>,
    /// The model of the built-in agent.
    pub model: Option<String>,
    /// The file a scripted agent plays, from the project's root.
    pub script: Option<PathBuf>,
    /// A human's turn is over when a file is saved, not when Enter is pressed.
    pub on_save: bool,
    /// Paths that agents' programs may read beside what is installed: whole ones, from the home with `~/`, or of the
    /// project, where a name like a secret's hides a file otherwise.
    pub allow_read: Vec<PathBuf>,
    /// Whether agents that are programs of their own are fenced in.
    pub fence: Fence,
    /// Where the programs of agents may connect to.
    pub network: NetworkAccess,
    /// Hosts that they may reach beside those.
    pub allow_hosts: Vec<String>,
    /// Agents of the project's own, by name.
    pub custom: BTreeMap<String, agents::Row>,
}

/// Where the built-in agent's models are served, and what a turn may take.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Model {
    /// Its name, where the model's does not tell.
    pub provider: Option<String>,
    /// A server of one's own.
    pub base_url: Option<String>,
    /// What it speaks, where that is not what the provider does.
    pub wire: Option<Wire>,
    /// Tokens of one answer.
    pub max_tokens: Option<u32>,
    /// Requests in one turn.
    pub max_turns: Option<u32>,
    /// Tokens of a conversation, before it is begun anew with the facts.
    pub window: Option<u64>,
    /// How it is asked; found out where nobody says.
    pub asking: Option<Asking>,
    /// False for a model that cannot call tools: it answers with whole files.
    pub tools: Option<bool>,
    /// Files for every exchange, from the project's root: written to, and answered from instead of the network.
    pub record: Option<PathBuf>,
    pub replay: Option<PathBuf>,
    /// Dollars for a million tokens, by the model's name; they win over the list that comes with the program.
    pub prices: BTreeMap<String, Price>,
}

/// The agent of a phase, where it is not the usual one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Agents {
    pub plan: Option<String>,
    pub red: Option<String>,
    pub green: Option<String>,
    pub diagnosis: Option<String>,
    pub refactor: Option<String>,
}

/// A linter that is run in projects which have a configuration for it.
#[derive(Debug)]
pub struct Linter {
    pub program: &'static str,
    pub command: &'static str,
    pub install: &'static str,
    files: &'static [&'static str],
    /// A file that serves others too, and what of the linter's stands in it.
    section: (&'static str, &'static str),
}

const LINTERS: &[Linter] = &[
    Linter {
        program: "cargo-clippy",
        command: "cargo clippy --quiet --workspace --all-targets -- --deny warnings",
        install: "rustup component add clippy",
        files: &["clippy.toml", ".clippy.toml"],
        section: ("Cargo.toml", "lints.clippy"),
    },
    Linter {
        program: "ruff",
        command: "ruff check --quiet",
        install: "pip install ruff",
        files: &["ruff.toml", ".ruff.toml"],
        section: ("pyproject.toml", "[tool.ruff"),
    },
];

/// What the environment says.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub project_root: Option<PathBuf>,
    pub max_retries: Option<u32>,
    pub script: Option<PathBuf>,
    /// The built-in script is played, whoever else is configured.
    pub mock: bool,
    pub model: Option<String>,
    pub models: Models,
    pub worktrees: Option<PathBuf>,
    pub virtual_env: Option<PathBuf>,
    pub kill_at: Option<String>,
    pub path: Option<OsString>,
    /// What the user edits with.
    pub editor: Option<String>,
    pub home: Option<PathBuf>,
    /// The user's folder for settings, and that for what programs remember.
    pub settings: Option<PathBuf>,
    pub state: Option<PathBuf>,
    /// The user trusts the project's commands, without being asked.
    pub trust: bool,
    pub cargo_home: Option<PathBuf>,
    pub rustup_home: Option<PathBuf>,
    pub stores: Vec<Store>,
    /// Languages that are installed for this user.
    pub toolchains: Vec<PathBuf>,
    /// The names of variables that hold credentials, by what they are called; programs an agent starts do not get them.
    pub secrets: Vec<OsString>,
}

/// Whether a CI system looks for commands in what is printed: GitHub Actions (and those that run its workflows), Azure
/// Pipelines, TeamCity.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub fn ci_reads_output() -> bool {
    let systems = ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];
    systems.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// What a CI system says in a variable about what it was started for.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub fn ci_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether the terminal can only add to its end, as in an editor's shell window.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub fn terminal_is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}

impl Environment {
    /// Reads what we listen to; a number that is none is a clear error.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn read() -> Result<Self> {
        let text = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let path = |name: &str| text(name).map(PathBuf::from);
        let home = directories::BaseDirs::new().map(|known| known.home_dir().to_owned());
        let in_home = |name: &str| home.as_ref().map(|home| home.join(name));
        let (settings, state) = layers::own_folders();
        let max_retries = match text("TDD_MAX_RETRIES") {
            None => None,
            Some(value) => Some(value.to_str().and_then(|value| value.trim().parse().ok()).ok_or_else(|| {
                Failure::usage(format!("TDD_MAX_RETRIES is {value:?}; it has to be a whole number"))
                    .next("TDD_MAX_RETRIES=3 redgreen run …")
            })?),
        };
        Ok(Self {
            project_root: path("TDD_PROJECT_ROOT"),
            max_retries,
            script: path("REDGREEN_SCRIPT"),
            mock: text("AGENTOS_MOCK_LLM").is_some_and(|value| value == "1"),
            model: text("TDD_MODEL").and_then(|value| value.into_string().ok()),
            models: Models::read(|name| text(name).and_then(|value| value.into_string().ok())),
            worktrees: path("REDGREEN_WORKTREES"),
            virtual_env: path("VIRTUAL_ENV").map(stores::without_detours),
            kill_at: text("REDGREEN_KILL_AT").and_then(|value| value.into_string().ok()),
            path: text("PATH"),
            editor: text("VISUAL").or_else(|| text("EDITOR")).and_then(|value| value.into_string().ok()),
            settings,
            state,
            trust: text("REDGREEN_TRUST").is_some_and(|value| value == "1"),
            cargo_home: path("CARGO_HOME").or_else(|| in_home(".cargo")),
            rustup_home: path("RUSTUP_HOME").or_else(|| in_home(".rustup")),
            stores: stores::stores(home.as_deref(), text),
            toolchains: stores::toolchains(home.as_deref(), text),
            home,
            secrets: std::env::vars_os().map(|(name, _)| name).filter(|name| is_secret(name)).collect(),
        })
    }

    /// Whether a program can be started by its name.
    pub fn has_program(&self, name: &str) -> bool {
        self.find_program(name).is_some()
    }

    /// The file that would be started by this name.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let folders = self.path.clone().unwrap_or_default();
        std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())
    }
}

/// The variables of ours that another program may know.
pub fn variables(allowed: impl Fn(&str) -> bool) -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(&allowed)).collect()
}

/// The value of a variable that the settings name.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The folder that a variable names; only a whole path counts, as the freedesktop rules say.
#[expect(clippy::disallowed_methods, reason = "this is the door")]
pub fn folder(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

impl File {
    /// What all files together say; without any, every default holds.
    pub fn read(project: &Path, environment: &Environment) -> Result<Self> {
        layers::merged(&layers::layers(project, environment)?)
    }

    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_named(FILE, text)
    }

    fn parse_named(name: &str, text: &str) -> Result<Self> {
        let text = text.trim_start_matches('\u{feff}');
        let unusable = |key: &str, error: &toml::de::Error| {
            let (line, column) = place(text, error.span().map_or(0, |span| span.start));
            Failure::usage(format!("{name} cannot be used"))
                .evidence(format!("{name}:{line}:{column}: {}", complaint(key, error.message())))
                .next(format!("correct {name}; `redgreen init --print` shows every setting"))
        };
        let parsed = toml::Deserializer::parse(text).map_err(|error| unusable("", &error))?;
        serde_path_to_error::deserialize(parsed)
            .map_err(|error| unusable(&error.path().to_string(), error.inner()).into())
    }

    /// The limits of a run: defaults, this file, the environment.
    pub fn policy(&self, environment: &Environment) -> Result<Policy> {
        let retries = environment.max_retries.or(self.max_retries).unwrap_or(Policy::default().retries_max);
        let mut policy = Policy::with_retries(retries);
        let set = |limit: &mut u64, seconds: Option<f64>, name: &str| -> Result<()> {
            if let Some(seconds) = seconds {
                *limit = milliseconds(seconds, name)?;
            }
            Ok(())
        };
        set(&mut policy.backoff_ms, self.backoff, "backoff")?;
        set(&mut policy.red_timeout_ms, self.timeout.red, "timeout.red")?;
        set(&mut policy.green_timeout_ms, self.timeout.green, "timeout.green")?;
        set(&mut policy.turn_timeout_ms, self.timeout.turn, "timeout.turn")?;
        set(&mut policy.lint_timeout_ms, self.timeout.lint, "timeout.lint")?;
        set(&mut policy.setup_timeout_ms, self.timeout.setup, "timeout.setup")?;
        if let Some(cycles) = self.max_cycles {
            policy.cycles_max = cycles;
        }
        policy.withhold = self.withhold.unwrap_or(policy.withhold);
        policy.pause_after = self.pause_after.iter().map(|after| after.phase()).collect();
        if let Some(iterations) = self.max_iterations {
            if iterations == 0 {
                return Err(Failure::usage(format!("max-iterations in {FILE} is 0; GREEN needs at least 1"))
                    .next(format!("correct max-iterations in {FILE}"))
                    .into());
            }
            policy.iterations_max = iterations;
        }
        if let Some(ratio) = self.test.max_pass_ratio {
            policy.pass_percent_max = percent(ratio)?;
        }
        policy.allow_passes = self.red.allow_passes.unwrap_or(policy.allow_passes);
        policy.keep_partial = self.green.keep_partial.unwrap_or(policy.keep_partial);
        policy.budget = Budget {
            tokens: self.budget.tokens,
            microdollars: self.budget.usd.map(|usd| microdollars(usd, "budget.usd")).transpose()?,
            work_ms: self.budget.seconds.map(|seconds| milliseconds(seconds, "budget.seconds")).transpose()?,
        };
        Ok(policy)
    }

    /// The linters to run: as configured, or those whose configuration the project has and which are installed.
    pub fn linters(&self, project: &Path, environment: &Environment) -> Vec<String> {
        if let Some(commands) = &self.lint.commands {
            return commands.clone();
        }
        let own = own_linters(project).filter(|linter| environment.has_program(linter.program));
        own.map(|linter| linter.command.to_owned()).collect()
    }

    /// Linters whose configuration the project has and which are not installed; none when the linters are configured.
    pub fn linters_missing(&self, project: &Path, environment: &Environment) -> Vec<&'static Linter> {
        let own = own_linters(project).filter(|linter| !environment.has_program(linter.program));
        if self.lint.commands.is_some() { Vec::new() } else { own.collect() }
    }
}

/// Whether a variable holds a credential, as far as its name tells.
fn is_secret(name: &OsStr) -> bool {
    const WORDS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"];
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.split(['_', '-', '.']).any(|word| WORDS.contains(&word) || word == "APIKEY")
}

fn own_linters(project: &Path) -> impl Iterator<Item = &'static Linter> {
    LINTERS.iter().filter(move |linter| {
        let (file, words) = linter.section;
        linter.files.iter().any(|file| project.join(file).is_file())
            || text(project, file).is_ok_and(|text| text.is_some_and(|text| text.contains(words)))
    })
}

/// A file of the project's root, if it has it.
fn text(project: &Path, name: &str) -> Result<Option<String>> {
    let path = project.join(name);
    let facts = match fs::metadata(&path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
    };
    // The project may have a link there, to a device that never ends or to a file of the user's.
    let inside =
        || path.canonicalize().is_ok_and(|real| project.canonicalize().is_ok_and(|root| real.starts_with(root)));
    if !facts.is_file() || !inside() {
        return Err(Failure::usage(format!("{name} is not a file of the project, and is not read"))
            .evidence(format!("{} is a link that leads out of the project, or no file", path.display()))
            .next(format!("ls -l {}", in_quotes(&path.to_string_lossy())))
            .into());
    }
    let length = facts.len();
    if length > FILE_BYTES_MAX {
        return Err(Failure::usage(format!("{name} has {length} bytes; at most {FILE_BYTES_MAX} are read")).into());
    }
    let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before =
            String::from_utf8_lossy(error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default());
        let (line, column) = place(&before, before.len());
        Failure::usage(format!("{name} cannot be used"))
            .evidence(format!("{name}:{line}:{column}: not UTF-8"))
            .next(format!("save {name} as UTF-8"))
    })?;
    Ok(Some(text))
}

impl Model {
    /// The user's own prices.
    pub fn prices(&self) -> Result<Prices> {
        for (model, price) in &self.prices {
            if let Some((key, dollars)) = price.fault() {
                let key = format!("model.prices.{model:?}.{key}");
                return Err(Failure::usage(format!("{key} is {dollars}; it has to be a number of dollars, 0 or more"))
                    .next(format!("correct {key} in {FILE}"))
                    .into());
            }
        }
        Ok(Prices::of(self.prices.clone()))
    }
}

impl Test {
    /// What is configured; none when the tests are to be found.
    pub fn command(&self) -> Result<Option<Command>> {
        let wrong = |why: &str| Failure::usage(format!("[test] in {FILE} cannot be used")).evidence(why);
        let Some(line) = &self.command else {
            if self.report.is_some() || self.format.is_some() {
                return Err(wrong("there is a report or a format, and no command that writes it")
                    .next("set test.command")
                    .into());
            }
            return Ok(None);
        };
        let command = Command::new(line, self.report.as_deref(), self.format);
        command.map(Some).map_err(|why| wrong(why).next(format!("correct [test] in {FILE}")).into())
    }
}

/// Where worktrees and build output shared by them go: outside every checkout.
pub fn worktree_root(file: &File, environment: &Environment) -> Result<PathBuf> {
    if let Some(root) = environment.worktrees.clone().or_else(|| file.worktree.root.clone()) {
        if !root.is_absolute() {
            return Err(Failure::usage(format!("the folder for worktrees, {}, has to be absolute", root.display()))
                .next(format!("correct worktree.root in {FILE}, or REDGREEN_WORKTREES"))
                .into());
        }
        return Ok(root);
    }
    let folders = directories::ProjectDirs::from("", "", "redgreen").ok_or_else(|| {
        Failure::environment("no home folder is known, so there is no place for worktrees")
            .next("REDGREEN_WORKTREES=/some/folder redgreen run …")
    })?;
    Ok(folders.cache_dir().join("worktrees"))
}

/// A set-up command of the user's, ready to run in a worktree.
pub fn setup_program(line: &str, worktree: &Path) -> Program {
    Program::shell(line).cwd(worktree).env("CI", "1")
}

pub fn milliseconds(seconds: f64, name: &str) -> Result<u64> {
    in_range(seconds, name, "seconds")?;
    Ok(u64::try_from(Duration::from_secs_f64(seconds).as_millis()).unwrap_or(u64::MAX))
}

pub fn microdollars(usd: f64, name: &str) -> Result<u64> {
    in_range(usd, name, "dollars")?;
    // A dollar has as many microdollars as a second has microseconds, and Duration converts without a bare cast.
    Ok(u64::try_from(Duration::from_secs_f64(usd).as_micros()).unwrap_or(u64::MAX))
}

/// A share from 0 to 1 as whole percent.
fn percent(ratio: f64) -> Result<u32> {
    if !(0.0..=1.0).contains(&ratio) {
        return Err(Failure::usage(format!("test.max-pass-ratio is {ratio}; it has to be from 0 to 1"))
            .next("correct test.max-pass-ratio; redgreen config says where it stands")
            .into());
    }
    // Seconds have as many milliseconds as a whole has thousandths, and Duration converts without a bare cast.
    Ok(u32::try_from((Duration::from_secs_f64(ratio).as_millis() + 5) / 10).unwrap_or(100))
}

fn in_range(value: f64, name: &str, unit: &str) -> Result<()> {
    const MAX: f64 = 1e9;
    if (0.0..=MAX).contains(&value) {
        return Ok(());
    }
    let place = if name.starts_with("--") { "" } else { " in redgreen.toml" };
    Err(Failure::usage(format!("{name} is {value}; it has to be between 0 and {MAX} {unit}"))
        .next(format!("correct {name}{place}"))
        .into())
}

/// What the parser says of a fault, in words of a person who edits the file. For a key nobody knows, the one that was
/// probably meant instead of all there are; for a value that cannot be, its key and what it has to be.
fn complaint(key: &str, message: &str) -> String {
    let message = message.trim();
    if let Some((value, expected)) = mismatch(message) {
        let wanted = match expected {
            "u32" | "u64" | "usize" => "a whole number, 0 or more",
            "f64" => "a number",
            "a boolean" => "true or false",
            "a sequence" => "a list: [\"…\"]",
            "a map" => "a table of keys",
            other => other,
        };
        return format!("{key} is {value}; it has to be {wanted}");
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let meant = match words.next() {
        Some(name) if message.starts_with("unknown field") => words
            .map(|key| (strsim::osa_distance(name, key), key))
            .filter(|(typos, key)| *typos <= TYPOS_MAX.min(key.len() / 2))
            .min()
            .map(|(_, key)| format!("unknown key `{name}`; did you mean `{key}`?")),
        Some(name) if message.starts_with("unknown variant") => {
            let others = words.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
            Some(format!("{key} is \"{name}\"; it has to be one of {others}"))
        }
        _ => None,
    };
    meant.unwrap_or_else(|| message.replace("unknown field", "unknown key"))
}

/// What stands there, and what is expected: parsers tell both in one sentence.
fn mismatch(message: &str) -> Option<(String, &str)> {
    if message == "wanted string or table" {
        return Some(("no word".to_owned(), "a word in quotes"));
    }
    let said = ["invalid type: ", "invalid value: "].iter().find_map(|start| message.strip_prefix(start))?;
    let (value, expected) = said.rsplit_once(", expected ")?;
    let value = match value {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        other => other.replace('`', ""),
    };
    Some((value, expected))
}

/// Line and column, counted from 1, of a byte in a text.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_used_says_where_and_why() {
        for (text, words) in [
            ("max-retrys = 3", "redgreen.toml:1:1: unknown key `max-retrys`; did you mean `max-retries`?"),
            (
                "\nmax-retries = \"three\"",
                "redgreen.toml:2:15: max-retries is string \"three\"; it has to be a whole number",
            ),
            (
                "max-retries = -1",
                "redgreen.toml:1:15: max-retries is integer -1; it has to be a whole number, 0 or more",
            ),
            (
                "[worktree]\nsetup = \"npm ci\"",
                "redgreen.toml:2:9: worktree.setup is string \"npm ci\"; it has to be a list",
            ),
            ("timeout.red = [1]", "redgreen.toml:1:15: timeout.red is a list; it has to be a number"),
            ("[agent]\nfence = 3", "redgreen.toml:2:9: agent.fence is no word; it has to be a word in quotes"),
            ("[agent]\nfence = \"of\"", "redgreen.toml:2:9: agent.fence is \"of\"; it has to be one of "),
            ("max-retries = ", "redgreen.toml:1:15: "),
            ("[timeout]\nblue = 3", "redgreen.toml:2:1: unknown key `blue`, expected one of"),
        ] {
            let error = File::parse(text).unwrap_err();
            let failure = error.downcast_ref::<Failure>().unwrap();
            assert!(failure.evidence.iter().any(|line| line.starts_with(words)), "{text}: {:?}", failure.evidence);
        }
    }

    #[test]
    fn limits_come_from_the_file_and_the_environment_wins() {
        let file = File::parse("max-retries = 5\nbackoff = 0.25\n[timeout]\nred = 10\n[budget]\nusd = 1.5").unwrap();
        let policy = file.policy(&Environment::default()).unwrap();
        assert_eq!((policy.retries_max, policy.iterations_max), (5, 6));
        assert_eq!((policy.backoff_ms, policy.red_timeout_ms, policy.green_timeout_ms), (250, 10_000, 120_000));
        assert_eq!(policy.budget.microdollars, Some(1_500_000));
        let loud = Environment { max_retries: Some(1), ..Environment::default() };
        assert_eq!(file.policy(&loud).unwrap().retries_max, 1);
        assert!(File::parse("backoff = -1.0").unwrap().policy(&Environment::default()).is_err());
        assert!(File::parse("max-iterations = 0").unwrap().policy(&Environment::default()).is_err());
    }
}
