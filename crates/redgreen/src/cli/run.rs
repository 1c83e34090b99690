//! `redgreen run`: the main job.

use std::path::{Path, PathBuf};

use anyhow::Result;
use redgreen_core::attempts::{ATTEMPTS_MAX, JOBS_MAX};
use redgreen_core::phase::Phase;
use redgreen_core::text::shell_word;

use super::CommandContext;
use super::prompt::end;
use crate::agent::Team;
use crate::agent::choice::{self, Choice};
use crate::config::NetworkAccess;
use crate::engine::Project;
use crate::failure::{Code, Failure};
use crate::ops;
use crate::ops::brief::BriefSource;
use crate::ops::run::PreparedRun;
use crate::view;

/// Develop a feature test by test on a new branch; your checkout does not change until you approve
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen run add roman numerals\n  \
                        redgreen run \"what's the time in Rome?\"\n  \
                        redgreen run --model ollama/qwen3-coder --budget-tokens 500000 \"add roman numerals\"\n  \
                        redgreen run --onto develop --json \"fix the leap year\"\n  \
                        redgreen run --pause-after plan,red \"fix the leap year\"\n  \
                        redgreen run --attempts 3 --agents claude,codex \"fix the leap year\"\n  \
                        redgreen run --spec spec.yaml\n  \
                        redgreen run --issue 87 --lld docs/lld.md --context src/auth\n  \
                        redgreen run --red red.yaml --spec spec.yaml\n  \
                        redgreen run --task IMPL-1.json --artifacts .workflow/active/S1/.process\n  \
                        redgreen run --script kata.toml \"add roman numerals\"")]
#[command(group = clap::ArgGroup::new("wish").args(["request", "spec", "task", "lld"]))]
pub(super) struct Args {
    /// What to build, in your own words; quote it if it contains special characters of your shell
    #[arg(value_name = "REQUEST")]
    request: Vec<String>,
    /// A specification (YAML or JSON); all tests are written first, then the code
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// A TDD task (JSON) from another planner
    #[arg(long, value_name = "FILE")]
    task: Option<PathBuf>,
    /// A RED artifact (YAML or JSON): start with its tests, and write the code; use --spec for the
    /// specification they belong to
    #[arg(long, value_name = "FILE", conflicts_with_all = ["request", "task", "lld"])]
    red: Option<PathBuf>,
    /// A design document in the project; every agent gets it
    #[arg(long, value_name = "FILE", requires = "issue")]
    lld: Option<PathBuf>,
    /// The number of the issue that the design belongs to
    #[arg(long, value_name = "ID", requires = "lld")]
    issue: Option<String>,
    /// Files and folders in the project that every agent gets; put the request first.
    /// `redgreen context` shows what would be sent
    #[arg(long, value_name = "PATH", num_args = 1..)]
    context: Vec<PathBuf>,
    #[command(flatten)]
    agents: AgentArgs,
    /// Calls with expected results (TOML or JSON) that no agent sees; the code must match them
    #[arg(long, value_name = "FILE")]
    examples: Option<PathBuf>,
    /// The branch to merge into [default: the current branch]
    #[arg(long, value_name = "BRANCH")]
    onto: Option<String>,
    /// The branch to work on, under redgreen/ [default: redgreen/<words of the request>-<id>]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Copy the artifacts and the summary to this folder, for example
    /// .workflow/active/<session>/.process
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// Do not ask for approval at the end
    #[arg(long)]
    no_input: bool,
    #[command(flatten)]
    attempts: AttemptArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(clap::Args, Debug, Default)]
pub(super) struct AttemptArgs {
    /// Make this many attempts at each GREEN, side by side, and choose the best one by evidence
    /// [default: 1, or the setting]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(ATTEMPTS_MAX)))]
    attempts: Option<u32>,
    /// The agents that make the attempts, in turn, for example claude,codex
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    agents: Vec<String>,
    /// The attempts at work at the same time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(JOBS_MAX)))]
    jobs: Option<u32>,
}

impl AttemptArgs {
    /// Applies the options to the settings. Naming several agents means several attempts.
    pub(super) fn apply(self, agents: &mut Choice, limits: &mut ops::run::Limits) {
        let named = u32::try_from(self.agents.len()).ok().filter(|named| *named > 1);
        limits.attempts = self.attempts.or(named);
        limits.jobs = self.jobs;
        agents.several = self.agents;
    }
}

#[derive(clap::Args, Debug, Default)]
pub(super) struct AgentArgs {
    #[arg(long, value_name = "NAME", help = agent_help())]
    agent: Option<String>,
    /// The model of the built-in agent: <model> or <provider>/<model> [default: the setting]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The file for the scripted agent [default: the setting]
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
}

/// Lists every agent by name in the help.
fn agent_help() -> String {
    format!(
        "The agent for all phases: {}, or one from redgreen.toml; <name>:<model> also sets the model. `redgreen agents` \
         lists the ones that are ready [default: the setting]",
        choice::known().join(", ")
    )
}

impl From<AgentArgs> for Choice {
    fn from(args: AgentArgs) -> Self {
        Self { agent: args.agent, model: args.model, script: args.script, ..Self::default() }
    }
}

#[derive(clap::Args, Debug, Default)]
pub(super) struct LimitArgs {
    /// Retries in each phase [default: 3, or the setting]
    #[arg(long, value_name = "N")]
    max_retries: Option<u32>,
    /// Agent turns in one GREEN [default: --max-retries + 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: Option<u32>,
    /// Stop after this many cycles of PLAN, RED, GREEN and REFACTOR; `resume` continues
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_cycles: Option<u32>,
    /// Stop when this many tokens are spent; `resume` continues
    #[arg(long, value_name = "N")]
    budget_tokens: Option<u64>,
    /// Stop when this much money is spent; `resume` continues
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    budget_usd: Option<f64>,
    /// Stop after this many seconds of work; `resume` continues
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    deadline: Option<f64>,
    /// Pause after this phase of each cycle; several are allowed, `none` turns pauses off; `resume`
    /// continues
    #[arg(long, value_name = "PHASE", value_delimiter = ',')]
    pause_after: Vec<Pause>,
    /// Do not use withheld tests
    #[arg(long)]
    no_withhold: bool,
}

/// Where a run pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Pause {
    Plan,
    Red,
    Green,
    Refactor,
    None,
}

impl Pause {
    fn phase(self) -> Option<Phase> {
        match self {
            Pause::Plan => Some(Phase::Plan),
            Pause::Red => Some(Phase::Red),
            Pause::Green => Some(Phase::Green),
            Pause::Refactor => Some(Phase::Refactor),
            Pause::None => None,
        }
    }
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let request = (!self.request.is_empty()).then(|| self.request.join(" "));
        let wish = match (request, self.spec, self.task, self.lld, self.issue) {
            (None, spec, ..) if self.red.is_some() => {
                BriefSource::Red { red: self.red.unwrap_or_default(), spec }
            }
            (Some(request), ..) => BriefSource::Request(request),
            (_, Some(spec), ..) => BriefSource::Spec(spec),
            (_, _, Some(task), ..) => BriefSource::Task(task),
            (_, _, _, Some(lld), issue) => {
                BriefSource::Design { issue: issue.unwrap_or_default(), lld }
            }
            (None, None, None, None, _) => {
                return Err(nothing_to_build(&desk.folder, &self.context).into());
            }
        };
        let project = desk.trusted_project()?;
        let (mut agents, mut limits) = (self.agents.into(), self.limits.into());
        self.attempts.apply(&mut agents, &mut limits);
        let request = ops::run::Request {
            wish,
            context: self.context,
            here: Some(desk.folder.clone()),
            agents,
            examples: self.examples,
            onto: self.onto,
            branch: self.branch,
            artifacts: self.artifacts,
            limits,
        };
        let ready = PreparedRun::check(&project, &request, &mut desk.watch())?;
        say_what_is_left_alone(desk, &project)?;
        // Nothing is sent to a person, and no sandbox restricts them.
        if !ready.team().is_human() {
            say_what_agents_see(desk, &project, ready.team());
        }
        let stopped = ready.work(&mut desk.watch())?;
        end(desk, &project, &stopped, self.no_input)
    }
}

impl From<LimitArgs> for ops::run::Limits {
    fn from(args: LimitArgs) -> Self {
        Self {
            max_retries: args.max_retries,
            max_iterations: args.max_iterations,
            max_cycles: args.max_cycles,
            budget_tokens: args.budget_tokens,
            budget_usd: args.budget_usd,
            deadline: args.deadline,
            no_withhold: args.no_withhold,
            pause_after: (!args.pause_after.is_empty())
                .then(|| args.pause_after.iter().filter_map(|pause| pause.phase()).collect()),
            attempts: None,
            jobs: None,
        }
    }
}

/// The brief is missing. A request after `--context` was read as a path; the error suggests the
/// right order.
fn nothing_to_build(folder: &Path, context: &[PathBuf]) -> Failure {
    let quoted = |word: &Path| shell_word(&word.to_string_lossy()).into_owned();
    let words =
        |paths: &[PathBuf]| paths.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(" ");
    let failure = Failure::usage("no brief: say what to build");
    match context.split_last() {
        None => failure
            .evidence("a request in your own words, --spec FILE, --task FILE, or --issue ID with --lld FILE")
            .next("redgreen run \"<what to build>\""),
        Some((last, paths)) if !paths.is_empty() && !folder.join(last).exists() => failure
            .evidence(format!("every word after --context is read as a path, including {}", quoted(last)))
            .next(format!("redgreen run {} --context {}", quoted(last), words(paths))),
        Some(_) => failure
            .evidence("--context only selects the files that agents see")
            .next(format!("redgreen run \"<what to build>\" --context {}", words(context))),
    }
}

/// What is sent to whom, and what the sandbox allows: before the first run, and if the settings
/// allow more.
fn say_what_agents_see(desk: &CommandContext, project: &Project, team: &Team) {
    let is_first = project.store.latest().is_none();
    let agent = &project.file.agent;
    if is_first {
        let to = ops::context::reader(team);
        desk.printer.talk(&view::notice_line(&format!("{}; here: {to}", view::POLICY)));
    }
    if is_first || !agent.allow_read.is_empty() {
        desk.printer.talk(&view::notice_line(&view::readable(&agent.allow_read)));
    }
    if is_first || agent.network == NetworkAccess::Open || !agent.allow_hosts.is_empty() {
        desk.printer.talk(&view::notice_line(&view::reachable(agent.network, &agent.allow_hosts)));
    }
}

/// Facts for careful users before anything starts.
fn say_what_is_left_alone(desk: &CommandContext, project: &Project) -> Result<()> {
    let dirty = project.git.dirty_count()?;
    let count = dirty.staged + dirty.unstaged + dirty.untracked;
    if count > 0 {
        let changes = view::count(count, "uncommitted change");
        let stay = if count == 1 { "stays unchanged and is" } else { "stay unchanged and are" };
        desk.printer.talk(&view::notice_line(&format!(
            "{changes} in your checkout {stay} not part of this run"
        )));
    }
    if project.git.is_shallow() {
        desk.printer.talk(&view::notice_line(
            "this clone is shallow; runs work, and `git fetch --unshallow` fetches the rest of the \
             history",
        ));
    }
    Ok(())
}
