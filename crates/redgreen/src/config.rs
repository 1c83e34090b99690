//! Reads the settings: files (`layers`), the environment and the command line, in increasing
//! precedence. The only module that reads the environment.

pub mod agents;
mod approvals;
mod attempts;
mod environment;
pub mod layers;
mod models;
mod properties;
pub mod registries;
mod steering;
mod stores;
mod test_inputs;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::brief::instructions;
use redgreen_core::framework::command::{Command, Format};
use redgreen_core::model::ability::PromptStyle;
use redgreen_core::model::price::{Price, Prices};
use redgreen_core::model::wire::Wire;
use redgreen_core::policy::{Budget, Policy};
use redgreen_core::proof::Policy as Verify;
use redgreen_core::text::in_quotes;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::process::Program;
pub use approvals::is_inside;
pub use attempts::Attempts;
use environment::variable;
pub use environment::{
    Environment, ci_reads_output, ci_variable, folder, terminal_is_dumb, variables,
};
pub use models::{Models, Secret};
pub use steering::{Notify, PauseAfter};
pub use stores::{Access, Store};
pub use test_inputs::TestInputs;

/// The project's own settings, relative to its root.
pub const FILE: &str = "redgreen.toml";
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The maximum edit distance of a suggested key.
const TYPOS_MAX: usize = 3;

/// `redgreen.toml` as written. Unknown keys are errors.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct File {
    pub max_retries: Option<u32>,
    pub max_iterations: Option<u32>,
    pub max_cycles: Option<u32>,
    /// Whether RED also writes tests that the implementing agent does not see.
    pub withhold: Option<bool>,
    pub pause_after: Vec<PauseAfter>,
    /// Several attempts at a phase, of which the best one is chosen.
    pub attempts: Attempts,
    pub notify: Notify,
    /// Seconds before the first retry. Each further pause is twice as long.
    pub backoff: Option<f64>,
    pub timeout: Timeouts,
    pub budget: Budgets,
    pub worktree: Worktree,
    pub lint: Lint,
    pub plan: Plan,
    pub test: Test,
    /// How to write tests and code.
    pub red: instructions::Tests,
    pub green: instructions::Code,
    /// The requirements for a range of commits.
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
    /// Seconds of work.
    pub seconds: Option<f64>,
}

/// What happens to `test-list.md`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Plan {
    /// Whether the list is merged with the rest of the run. Otherwise it stays in the run's
    /// commits.
    pub keep: bool,
}

/// What a new worktree needs before tests can run in it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Worktree {
    /// The folder for worktrees, outside every checkout.
    pub root: Option<PathBuf>,
    /// Files and folders of the user's checkout that are not in git, to be copied.
    pub copy: Vec<PathBuf>,
    /// Like `copy`, as symbolic links: for large folders that nothing writes to.
    pub link: Vec<PathBuf>,
    /// Commands, run in the worktree in this order.
    pub setup: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fence {
    /// The strongest sandbox of this machine.
    #[default]
    Auto,
    /// No sandbox: tests or agents have the user's access. The verdict says so.
    None,
}

/// The network access of agents, if the sandbox can limit it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkAccess {
    /// The hosts of their model and package registries.
    #[default]
    Limited,
    /// Only the hosts of their model.
    Model,
    Open,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Lint {
    /// Commands. If `None`, the project's linters are detected by their configuration.
    pub commands: Option<Vec<String>>,
}

/// How to run the tests, where that is not detected, and how to judge them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Test {
    /// A shell command, run in the project's root.
    pub command: Option<String>,
    /// The report files, relative to the root, with `*` and `**`; or `stdout`. Without a report,
    /// the exit code counts.
    pub report: Option<String>,
    pub format: Option<Format>,
    pub fence: Fence,
    /// Warn if a larger share of new tests passes immediately, when all tests are written at once.
    pub max_pass_ratio: Option<f64>,
    /// The number of mutants of the changed lines; 0 for none.
    pub mutants: Option<usize>,
    /// Variables for the tests.
    pub env: BTreeMap<String, String>,
    /// Names of the user's own variables to pass to the tests.
    pub env_pass: Vec<String>,
    /// Loopback ports of this machine that the tests can reach.
    pub services: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AgentChoice {
    /// The agent for every phase that [`Agents`] does not set.
    pub name: Option<String>,
    /// The model of the built-in agent.
    pub model: Option<String>,
    /// The file of the scripted agent, relative to the project's root.
    pub script: Option<PathBuf>,
    /// A human's turn ends when a file is saved, not with Enter.
    pub on_save: bool,
    /// More paths that agents' programs may read: absolute, relative to the home with `~/`, or
    /// inside the project, for files that are otherwise hidden because they are named like a
    /// secret.
    pub allow_read: Vec<PathBuf>,
    /// Whether agents that are separate programs are sandboxed.
    pub fence: Fence,
    /// The network access of agents' programs.
    pub network: NetworkAccess,
    /// More hosts that they may reach.
    pub allow_hosts: Vec<String>,
    /// The project's own agents, by name.
    pub custom: BTreeMap<String, agents::Row>,
}

/// The server of the built-in agent's model, and the limits of a turn.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Model {
    /// The name of the provider, if the model's name does not imply it.
    pub provider: Option<String>,
    /// A custom server.
    pub base_url: Option<String>,
    /// The protocol, if it differs from the provider's.
    pub wire: Option<Wire>,
    /// The token limit of one answer.
    pub max_tokens: Option<u32>,
    /// The maximum number of requests per turn.
    pub max_turns: Option<u32>,
    /// The token limit of a conversation, before a new one starts with a summary.
    pub window: Option<u64>,
    /// How to ask the model; detected if not set.
    pub asking: Option<PromptStyle>,
    /// False for a model that cannot call tools. It answers with whole files.
    pub tools: Option<bool>,
    /// Files for recorded exchanges, relative to the project's root: written to, or replayed
    /// instead of using the network.
    pub record: Option<PathBuf>,
    pub replay: Option<PathBuf>,
    /// Dollars per million tokens by model. They override the built-in list.
    pub prices: BTreeMap<String, Price>,
}

/// The agent of a phase, if it is not the default one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Agents {
    pub plan: Option<String>,
    pub red: Option<String>,
    pub green: Option<String>,
    pub diagnosis: Option<String>,
    pub refactor: Option<String>,
}

/// A linter that runs in projects with a configuration for it.
#[derive(Debug)]
pub struct Linter {
    pub program: &'static str,
    pub command: &'static str,
    pub install: &'static str,
    files: &'static [&'static str],
    /// A shared configuration file, and the section that belongs to the linter.
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

impl File {
    /// The merged settings of all files, with defaults for the rest.
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
            Failure::usage(format!("cannot use {name}"))
                .evidence(format!("{name}:{line}:{column}: {}", complaint(key, error.message())))
                .next(format!("correct {name}; `redgreen init --print` shows every setting"))
        };
        let parsed = toml::Deserializer::parse(text).map_err(|error| unusable("", &error))?;
        serde_path_to_error::deserialize(parsed)
            .map_err(|error| unusable(&error.path().to_string(), error.inner()).into())
    }

    /// The limits of a run from the defaults, this file and the environment.
    pub fn policy(&self, environment: &Environment) -> Result<Policy> {
        let retries =
            environment.max_retries.or(self.max_retries).unwrap_or(Policy::default().retries_max);
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
        policy.attempts = self.attempts.policy()?;
        if let Some(iterations) = self.max_iterations {
            if iterations == 0 {
                return Err(Failure::usage(format!(
                    "max-iterations in {FILE} is 0; GREEN needs at least 1"
                ))
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
            work_ms: self
                .budget
                .seconds
                .map(|seconds| milliseconds(seconds, "budget.seconds"))
                .transpose()?,
        };
        Ok(policy)
    }

    /// The linters to run: configured, or detected and installed.
    pub fn linters(&self, project: &Path, environment: &Environment) -> Vec<String> {
        if let Some(commands) = &self.lint.commands {
            return commands.clone();
        }
        let own = own_linters(project).filter(|linter| environment.has_program(linter.program));
        own.map(|linter| linter.command.to_owned()).collect()
    }

    /// Detected linters that are not installed; none if the linters are configured.
    pub fn linters_missing(
        &self,
        project: &Path,
        environment: &Environment,
    ) -> Vec<&'static Linter> {
        let own = own_linters(project).filter(|linter| !environment.has_program(linter.program));
        if self.lint.commands.is_some() { Vec::new() } else { own.collect() }
    }
}

fn own_linters(project: &Path) -> impl Iterator<Item = &'static Linter> {
    LINTERS.iter().filter(move |linter| {
        let (file, words) = linter.section;
        linter.files.iter().any(|file| project.join(file).is_file())
            || text(project, file).is_ok_and(|text| text.is_some_and(|text| text.contains(words)))
    })
}

/// A file in the project's root, if it exists.
fn text(project: &Path, name: &str) -> Result<Option<String>> {
    let path = project.join(name);
    let facts = match fs::metadata(&path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
    };
    // It may be a link to an endless device or to a private file of the user.
    let inside = || {
        path.canonicalize()
            .is_ok_and(|real| project.canonicalize().is_ok_and(|root| real.starts_with(root)))
    };
    if !facts.is_file() || !inside() {
        return Err(Failure::usage(format!(
            "{name} is not a file of the project, so it is not read"
        ))
        .evidence(format!(
            "{} is a link that leads out of the project, or not a file",
            path.display()
        ))
        .next(format!("ls -l {}", in_quotes(&path.to_string_lossy())))
        .into());
    }
    let length = facts.len();
    if length > FILE_BYTES_MAX {
        return Err(Failure::usage(format!(
            "{name} has {length} bytes; the limit is {FILE_BYTES_MAX}"
        ))
        .into());
    }
    let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(
            error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default(),
        );
        let (line, column) = place(&before, before.len());
        Failure::usage(format!("cannot use {name}"))
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
                return Err(Failure::usage(format!(
                    "{key} is {dollars}; it must be a number of dollars, 0 or more"
                ))
                .next(format!("correct {key} in {FILE}"))
                .into());
            }
        }
        Ok(Prices::of(self.prices.clone()))
    }
}

impl Test {
    /// The configured command; `None` if the tests are detected.
    pub fn command(&self) -> Result<Option<Command>> {
        let wrong =
            |why: &str| Failure::usage(format!("[test] in {FILE} cannot be used")).evidence(why);
        let Some(line) = &self.command else {
            if self.report.is_some() || self.format.is_some() {
                return Err(wrong("test.report or test.format is set, but there is no command that writes a report")
                    .next("set test.command")
                    .into());
            }
            return Ok(None);
        };
        let command = Command::new(line, self.report.as_deref(), self.format);
        command.map(Some).map_err(|why| wrong(why).next(format!("correct [test] in {FILE}")).into())
    }
}

/// The folder for worktrees and shared build output, outside every checkout.
pub fn worktree_root(file: &File, environment: &Environment) -> Result<PathBuf> {
    if let Some(root) = environment.worktrees.clone().or_else(|| file.worktree.root.clone()) {
        if !root.is_absolute() {
            return Err(Failure::usage(format!(
                "the folder for worktrees, {}, must be absolute",
                root.display()
            ))
            .next(format!("correct worktree.root in {FILE}, or REDGREEN_WORKTREES"))
            .into());
        }
        return Ok(root);
    }
    let folders = directories::ProjectDirs::from("", "", "redgreen").ok_or_else(|| {
        Failure::environment("no place for worktrees: cannot find the home folder")
            .next("REDGREEN_WORKTREES=/some/folder redgreen run …")
    })?;
    Ok(folders.cache_dir().join("worktrees"))
}

/// A set-up command of the user in a worktree.
pub fn setup_program(line: &str, worktree: &Path) -> Program {
    Program::shell(line).cwd(worktree).env("CI", "1")
}

pub fn milliseconds(seconds: f64, name: &str) -> Result<u64> {
    in_range(seconds, name, "seconds")?;
    Ok(u64::try_from(Duration::from_secs_f64(seconds).as_millis()).unwrap_or(u64::MAX))
}

pub fn microdollars(usd: f64, name: &str) -> Result<u64> {
    in_range(usd, name, "dollars")?;
    // A dollar has as many microdollars as a second has microseconds, and Duration converts without
    // a cast.
    Ok(u64::try_from(Duration::from_secs_f64(usd).as_micros()).unwrap_or(u64::MAX))
}

/// A ratio from 0 to 1 as whole percent.
fn percent(ratio: f64) -> Result<u32> {
    if !(0.0..=1.0).contains(&ratio) {
        return Err(Failure::usage(format!(
            "test.max-pass-ratio is {ratio}; it must be from 0 to 1"
        ))
        .next("correct test.max-pass-ratio; redgreen config shows where it is set")
        .into());
    }
    // A second has as many milliseconds as a whole has thousandths, and Duration converts without a
    // cast.
    Ok(u32::try_from((Duration::from_secs_f64(ratio).as_millis() + 5) / 10).unwrap_or(100))
}

fn in_range(value: f64, name: &str, unit: &str) -> Result<()> {
    const MAX: f64 = 1e9;
    if (0.0..=MAX).contains(&value) {
        return Ok(());
    }
    let place = if name.starts_with("--") { "" } else { " in redgreen.toml" };
    Err(Failure::usage(format!("{name} is {value}; it must be between 0 and {MAX} {unit}"))
        .next(format!("correct {name}{place}"))
        .into())
}

/// Rewords an error of the parser for users. For an unknown key, suggests the intended one instead
/// of listing all; for an invalid value, names its key and what is expected.
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
        return format!("{key} is {value}; it must be {wanted}");
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
            Some(format!("{key} is \"{name}\"; it must be one of {others}"))
        }
        _ => None,
    };
    meant.unwrap_or_else(|| message.replace("unknown field", "unknown key"))
}

/// The found and the expected value in an error of the parser.
fn mismatch(message: &str) -> Option<(String, &str)> {
    if message == "wanted string or table" {
        return Some(("not a string".to_owned(), "a string"));
    }
    let said = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| message.strip_prefix(start))?;
    let (value, expected) = said.rsplit_once(", expected ")?;
    let value = match value {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        other => other.replace('`', ""),
    };
    Some((value, expected))
}

/// Line and column of a byte in a text, counted from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests;
