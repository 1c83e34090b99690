//! `redgreen run`: from a request to a branch that waits for a human.

mod checks;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::artifact::TestFile;
use redgreen_core::brief::instructions::markers;
use redgreen_core::brief::{Brief, Door, ExecutionMethod, Instructions, TestCase};
use redgreen_core::event::{Event, Mark, Run};
use redgreen_core::experiment::examples::Example;
use redgreen_core::handoff::{Handoff, RunFacts, TestResult};
use redgreen_core::mock;
use redgreen_core::names::{Branch, Label, Oid, RUN_BRANCH_PREFIX, RunBranch};
use redgreen_core::phase::Phase;
use redgreen_core::policy::Policy;
use redgreen_core::report::{Outcome, Report};
use redgreen_core::summary;

pub(super) use checks::{check_attempts, check_price};

use super::brief::{BriefSource, LoadedBrief, understand};
use super::{RunEnd, examples, kill_at, notes, notify, report, state_of, team, trust};
use crate::agent::choice::{Choice, SCRIPTED};
use crate::agent::external::presence;
use crate::agent::script::Script;
use crate::agent::{Agent, Team};
use crate::config::File;
use crate::config::layers::layers;
use crate::engine::{Engine, Observer, Progress, Project, keep_export, now};
use crate::failure::Failure;
use crate::git::Head;
use crate::guard;
use crate::journal::{Journal, KillAt, RunFolder};
use crate::process::Interrupted;
use crate::runner::{self, Suite};
use crate::trial;
use crate::view;

const NOTHING_MADE: &str = "nothing was created: no branch, no worktree, no run";
/// The number of output lines of a runner that failed.
const WORDS_LINES_MAX: usize = 6;

/// The arguments.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub wish: BriefSource,
    /// Files that every agent gets, as typed.
    pub context: Vec<PathBuf>,
    /// The folder for relative paths. By default the root of the project.
    pub here: Option<PathBuf>,
    pub agents: Choice,
    /// A file of withheld examples.
    pub examples: Option<PathBuf>,
    /// The target branch. By default the checked-out branch.
    pub onto: Option<String>,
    /// The branch to work on. By default a generated name.
    pub branch: Option<String>,
    /// A folder for copies of the artifacts.
    pub artifacts: Option<PathBuf>,
    pub limits: Limits,
}

/// Limits from the command line, which override the settings.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    pub max_retries: Option<u32>,
    pub max_iterations: Option<u32>,
    pub max_cycles: Option<u32>,
    pub budget_tokens: Option<u64>,
    pub budget_usd: Option<f64>,
    pub deadline: Option<f64>,
    /// Turns withheld tests off.
    pub no_withhold: bool,
    /// The phases to pause after, if given.
    pub pause_after: Option<Vec<Phase>>,
    /// Attempts at a phase, and how many of them work at the same time.
    pub attempts: Option<u32>,
    pub jobs: Option<u32>,
}

/// A run that can start: everything is checked, nothing is created yet.
#[derive(Debug)]
pub struct PreparedRun<'a> {
    project: &'a Project,
    request: &'a Request,
    brief: Brief,
    policy: Policy,
    team: Team,
    choice: Choice,
    base: Oid,
    target: Branch,
    withheld: Option<Vec<Example>>,
    /// Tests of an existing RED.
    tests: Vec<TestFile>,
    kill_at: Option<KillAt>,
}

/// Checks everything that can be checked before anything is created, then works until the run
/// stops.
pub fn run(project: &Project, request: &Request, observe: Observer<'_>) -> Result<RunEnd> {
    PreparedRun::check(project, request, observe)?.work(observe)
}

impl<'a> PreparedRun<'a> {
    pub fn check(
        project: &'a Project,
        request: &'a Request,
        observe: Observer<'_>,
    ) -> Result<Self> {
        let here = request.here.as_deref().unwrap_or(&project.git.root);
        let LoadedBrief { mut brief, unused, examples, tests } =
            understand(project, &request.wish, &request.context, here)?;
        recall(project, &mut brief)?;
        brief.instructions = instructions(project);
        not_used(project, &unused)?.iter().for_each(|remark| observe(Progress::Remark(remark)));
        let policy = request.limits.over(of_brief(
            project.file.policy(&project.environment)?,
            &brief,
            &project.file,
        ))?;
        let kill_at = kill_at(&project.environment)?;
        let suite = runner::suite(&project.git.root, &project.file.test)?;
        other_framework(project, &suite)
            .iter()
            .for_each(|remark| observe(Progress::Remark(remark)));
        let (team, choice, remark) = match mocked(project, &brief, &request.agents, &suite)? {
            Some((team, choice)) => (team, choice, Some(MOCKED.to_owned())),
            None => team(project, &for_method(project, &brief, &request.agents)?, None)?,
        };
        remark.iter().for_each(|remark| observe(Progress::Remark(remark)));
        check_price(&policy, &team, observe).map_err(nothing_made)?;
        check_attempts(&policy, &team)?;
        let (base, target) = starting_point(project, request)?;
        let withheld = withheld(project, request.examples.as_deref(), &base)?.or(examples);
        project.git.check_version()?;
        project.git.identity()?;
        notes::check(project)?;
        project.clear_stale(None);
        if let Some(branch) = &request.branch {
            check_branch(project, branch)?;
        }
        Ok(Self {
            project,
            request,
            brief,
            policy,
            team,
            choice,
            base,
            target,
            withheld,
            tests,
            kill_at,
        })
    }

    /// The agents, and so the recipients.
    pub fn team(&self) -> &Team {
        &self.team
    }

    pub fn work(self, observe: Observer<'_>) -> Result<RunEnd> {
        let project = self.project;
        let baseline = self.baseline(observe)?;
        let folder = project.store.create(now())?;
        let started = self.first_event(&folder).and_then(|first| {
            keep_agents(&folder, &self.team, &self.choice)?;
            keep_examples(&folder, self.withheld.as_deref())?;
            if !self.tests.is_empty() && !self.tests_are_there()? {
                let tests = serde_json::to_string(&self.tests).context("write tests as JSON")?;
                keep(&folder, &folder.given_tests(), &tests)?;
            }
            if let Some(place) = &self.request.artifacts {
                let here = self.request.here.as_deref().unwrap_or(&project.git.root);
                keep_export(&folder, &here.join(place))?;
            }
            let (journal, _) = Journal::open(&folder, self.kill_at)?;
            let engine =
                Engine::begin(project, folder.clone(), journal, &first, Some(self.team), observe)?;
            Ok(engine.with_baseline(baseline))
        });
        let mut engine = match started {
            Ok(engine) => engine,
            Err(error) => {
                // Nothing started, so an empty folder would only confuse.
                project.store.forget(&folder).ok();
                return Err(error);
            }
        };
        let outcome = engine.run().map_err(|error| went_wrong(&folder, error))?;
        let stopped = RunEnd { outcome, state: engine.state().clone(), folder };
        drop(engine);
        report::keep_summary(project, &stopped, observe);
        notify::waits(project, &stopped, observe);
        Ok(stopped)
    }

    /// The test results of the start commit in the clean room, before anything is created. With
    /// setup commands, this happens after them.
    fn baseline(&self, observe: Observer<'_>) -> Result<Option<(Oid, Report)>> {
        let project = self.project;
        if !project.file.worktree.setup.is_empty() {
            return Ok(None);
        }
        let tree = project.git.tree_of(&self.base)?;
        let timeout = Duration::from_millis(self.policy.red_timeout_ms);
        let ground = project.ground();
        observe(Progress::Doing("running the tests"));
        let report = trial::measure(ground, &tree, timeout).map_err(nothing_made)?.report;
        if report.outcome != Outcome::Passed && report.outcome != Outcome::NoTests {
            let found = trial::only_there(ground, &tree, &report, timeout)?;
            view::only_there(&found).iter().for_each(|line| observe(Progress::Remark(line)));
        }
        // If an existing RED is committed, its tests are the ones that fail.
        let is_red =
            matches!(report.outcome, Outcome::DidNotCompile | Outcome::Failed | Outcome::Errored);
        let owed = !self.tests.is_empty() && is_red && self.tests_are_there()?;
        if !report.is_baseline() && !owed {
            let failure = no_baseline(&report, self.policy.red_timeout_ms);
            return Err(match self.brief.door {
                Door::Task => {
                    let ran = format!("{} ({})", report.command, report.exit);
                    let block =
                        summary::not_begun(&failure.what, &ran, &report.own_words(WORDS_LINES_MAX));
                    block.lines().fold(failure, Failure::evidence)
                }
                Door::Request | Door::Spec | Door::Design => failure,
            }
            .into());
        }
        Ok(Some((tree, report)))
    }

    /// The first line of the run's journal.
    fn first_event(&self, folder: &RunFolder) -> Result<Event> {
        let project = self.project;
        let tree = project.git.tree_of(&self.base)?;
        let branch = match &self.request.branch {
            Some(branch) => run_branch(branch)?,
            None => run_branch(&format!(
                "{RUN_BRANCH_PREFIX}{}-{}",
                self.brief.slug(),
                folder.id.tail()
            ))?,
        };
        is_free(project, &branch)?;
        let run = Run {
            id: folder.id.clone(),
            brief: self.brief.clone(),
            policy: self.policy.clone(),
            base: Mark { commit: self.base.clone(), tree },
            target: self.target.clone(),
            branch,
            agent: Label::of(&self.team.name()),
            linters: project.file.linters(&project.git.root, &project.environment),
        };
        if self.tests.is_empty() || !self.tests_are_there()? {
            return Ok(Event::Started { run: Box::new(run) });
        }
        // An existing RED is committed, so GREEN is next.
        let head = run.base.clone();
        Ok(Event::Adopted {
            handoff: Box::new(after_red(&run, &self.tests)),
            head,
            run: Box::new(run),
        })
    }

    /// Whether the start commit contains the given tests.
    fn tests_are_there(&self) -> Result<bool> {
        for TestFile { path, content } in &self.tests {
            let there = self.project.git.read_file(&self.base, path)?;
            if there.as_deref() != Some(content.as_bytes()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The note that our own RED would have left.
fn after_red(run: &Run, tests: &[TestFile]) -> Handoff {
    let file = tests.first().map(|file| file.path.clone()).unwrap_or_default();
    let current = run.brief.batch().map(|case| TestCase { test_file: file, ..case });
    let facts = RunFacts {
        id: run.id.clone(),
        request: run.brief.request.clone(),
        base: run.base.commit.clone(),
        target: run.target.clone(),
        branch: run.branch.clone(),
        agent: run.agent.clone(),
        brief: Some(Box::new(run.brief.without_texts())),
    };
    let mut handoff = Handoff::begun(facts, Phase::Red);
    handoff.current_test = current;
    handoff.pending_tests = run.brief.case_names();
    handoff.test_result = Some(TestResult::Fail);
    handoff
}

const MOCKED: &str = "AGENTOS_MOCK_LLM=1: the built-in script runs every phase; no model is called";

/// The built-in script, if the environment asks for it. A script of the user takes precedence.
fn mocked(
    project: &Project,
    brief: &Brief,
    flags: &Choice,
    suite: &Suite,
) -> Result<Option<(Team, Choice)>> {
    if !project.environment.mock || flags.script.is_some() {
        return Ok(None);
    }
    if !suite.frameworks().any(|framework| framework.name == "pytest") {
        return Err(Failure::usage("AGENTOS_MOCK_LLM=1 only works with pytest")
            .evidence(format!("{} runs the tests here", suite.describe()))
            .next("redgreen run --script FILE …, or unset AGENTOS_MOCK_LLM")
            .into());
    }
    trust::check(&project.git.root, &project.environment)?;
    let script = Script::parse("AGENTOS_MOCK_LLM", &mock::script(brief))?;
    // The run stores the text of its script, and uses it when it is resumed.
    let choice = Choice { agent: Some(SCRIPTED.to_owned()), ..Choice::default() };
    Ok(Some((Team::new(Agent::Scripted(script)), choice)))
}

/// Instructions for agents from the settings.
fn instructions(project: &Project) -> Instructions {
    const CONFIGURATIONS: [&str; 5] =
        ["pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"];
    let root = &project.git.root;
    let texts = CONFIGURATIONS.iter().filter_map(|name| guard::read(root, Path::new(name)).ok());
    let markers: Vec<String> = texts.flat_map(|document| markers(&document.text)).collect();
    Instructions::of(&project.file.red, &project.file.green, &markers)
}

/// Unused keys in files, reported before anything starts.
fn not_used(project: &Project, of_brief: &[String]) -> Result<Vec<String>> {
    let mut remarks = Vec::new();
    if !of_brief.is_empty() {
        let keys: Vec<&str> = of_brief.iter().map(|path| path.trim_start_matches("$.")).collect();
        remarks.push(format!("unused keys in the file: {}", keys.join(", ")));
    }
    for layer in layers(&project.git.root, &project.environment)? {
        if !layer.unused.is_empty() {
            remarks.push(format!("unused keys in {}: {}", layer.origin, layer.unused.join(", ")));
        }
    }
    Ok(remarks)
}

/// Whether the settings name another framework than the one that runs the tests.
fn other_framework(project: &Project, suite: &Suite) -> Option<String> {
    let wanted = project.file.red.framework.as_deref()?;
    let found = suite.frameworks().any(|framework| framework.name.eq_ignore_ascii_case(wanted));
    (!found).then(|| {
        format!("the settings require tests for {wanted}; {} runs the tests here", suite.describe())
    })
}

/// Why no run can start from these test results.
fn no_baseline(report: &Report, limit_ms: u64) -> Failure {
    let what = match report.outcome {
        Outcome::TimedOut => {
            format!("the tests did not finish within {} s (timeout.red)", limit_ms / 1000)
        }
        Outcome::UsageError => "the test runner could not start".to_owned(),
        Outcome::Crashed => "the test run ended early".to_owned(),
        Outcome::DidNotCompile => "the tests do not load".to_owned(),
        Outcome::Failed
        | Outcome::Errored
        | Outcome::Passed
        | Outcome::Skipped
        | Outcome::NoTests => {
            "the tests fail before any change, and report only an exit code".to_owned()
        }
    };
    let failure =
        Failure::environment(what).evidence(format!("ran {} ({})", report.command, report.exit));
    let failure = report.own_words(WORDS_LINES_MAX).into_iter().fold(failure, Failure::evidence);
    failure.evidence(NOTHING_MADE).next("fix it, then check with: redgreen doctor")
}

/// The same if the tests could not run at all.
fn nothing_made(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) => failure.evidence(NOTHING_MADE).into(),
        Err(error) => error,
    }
}

/// The agents' own names of the conversations that a task continues.
fn recall(project: &Project, brief: &mut Brief) -> Result<()> {
    let Some(execution) =
        brief.execution.as_mut().filter(|execution| !execution.resume_from.is_empty())
    else {
        return Ok(());
    };
    for folder in project.store.all()?.iter().rev() {
        // An unreadable run cannot be continued.
        let Ok(state) = state_of(folder) else { continue };
        let id = state.run.brief.execution.and_then(|earlier| earlier.id);
        if let Some(id) = id.filter(|id| execution.resume_from.contains(id)) {
            execution.known.entry(id).or_insert(state.sessions);
        }
    }
    Ok(())
}

/// A task may require an external agent. A named agent is used anyway.
fn for_method(project: &Project, brief: &Brief, flags: &Choice) -> Result<Choice> {
    let wanted =
        brief.execution.as_ref().is_some_and(|execution| execution.method == ExecutionMethod::Cli);
    let named = flags.clone().or(Choice::configured(
        &project.file,
        &project.environment,
        &project.git.root,
    ));
    if !wanted || named != Choice::default() {
        return Ok(flags.clone());
    }
    match presence::first(&project.environment)? {
        Some(name) => Ok(Choice { agent: Some(name.to_owned()), ..flags.clone() }),
        None => Err(Failure::usage("the task requires an external agent, and none was found")
            .evidence("its meta.execution_config.method is \"cli\"")
            .next("log in to one (redgreen agents), or name another: redgreen run --agent <name> …")
            .into()),
    }
}

/// The limits in the file, and the defaults for its kind.
pub(super) fn of_brief(mut policy: Policy, brief: &Brief, file: &File) -> Policy {
    const SPEC_ITERATIONS: u32 = 20;
    const TASK_ITERATIONS: u32 = 3;
    let usual = match brief.door {
        _ if file.max_iterations.is_some() => None,
        Door::Spec => Some(SPEC_ITERATIONS),
        Door::Task => Some(TASK_ITERATIONS),
        Door::Request | Door::Design => None,
    };
    if let Some(iterations) = brief.max_iterations.or(usual) {
        policy.iterations_max = iterations;
    }
    policy.withhold = brief.withhold.unwrap_or(policy.withhold);
    policy
}

/// The error of a run that could not continue for an external reason.
pub(super) fn went_wrong(folder: &RunFolder, error: anyhow::Error) -> anyhow::Error {
    let resume = format!("redgreen resume {}", folder.id);
    let next = format!("fix it, then run: {resume}");
    match error.downcast::<Failure>() {
        Ok(failure) => match failure.next.clone() {
            None => failure.next(next).into(),
            Some(step) if step.contains("redgreen ") => failure.into(),
            Some(step) => failure.next(format!("{step}; then: {resume}")).into(),
        },
        Err(error) if error.is::<Interrupted>() => error,
        Err(error) => {
            let what = format!("run {} stopped: {error:#}", folder.id);
            let failure = Failure::environment(&what)
                .evidence("nothing is lost, and your checkout is unchanged");
            // Git does not always say why it could not write.
            match full_disk(folder).filter(|reason| !what.contains(reason)) {
                Some(reason) => failure.evidence(format!("the disk: {reason}")).next(next).into(),
                None => failure.next(next).into(),
            }
        }
    }
}

/// The system's message if the disk is full.
fn full_disk(folder: &RunFolder) -> Option<String> {
    const ROOM_BYTES: &[u8] = &[0; 64 << 10];
    let written =
        tempfile::tempfile_in(&folder.path).and_then(|mut file| file.write_all(ROOM_BYTES));
    let words = written.err()?.to_string();
    Some(words.split(" (os error").next().unwrap_or_default().to_owned())
}

/// Stores the agents of the run, for resume.
pub(super) fn keep_agents(folder: &RunFolder, team: &Team, choice: &Choice) -> Result<()> {
    if let Some(script) = team.script() {
        keep(folder, &folder.script(), script.text())?;
    }
    keep(
        folder,
        &folder.choice(),
        &serde_json::to_string(choice).context("write the agents' names as JSON")?,
    )
}

/// Stored with the run: neither the repository nor the worktree ever contains them.
pub(super) fn keep_examples(folder: &RunFolder, withheld: Option<&[Example]>) -> Result<()> {
    let Some(withheld) = withheld else { return Ok(()) };
    keep(
        folder,
        &folder.examples(),
        &serde_json::to_string(withheld).context("write examples as JSON")?,
    )
}

/// A reader, and a resumed run, sees either the old or the new file.
fn keep(folder: &RunFolder, path: &Path, text: &str) -> Result<()> {
    let act = || format!("write {}", path.display());
    let mut part = tempfile::NamedTempFile::new_in(&folder.path).with_context(act)?;
    part.write_all(text.as_bytes()).with_context(act)?;
    part.persist(path).map_err(|error| error.error).with_context(act)?;
    Ok(())
}

/// Withheld examples from a file that no agent's worktree contains.
pub(super) fn withheld(
    project: &Project,
    path: Option<&Path>,
    base: &str,
) -> Result<Option<Vec<Example>>> {
    let (Some(path), git) = (path, &project.git) else { return Ok(None) };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let inside = real.strip_prefix(&git.root).ok().and_then(Path::to_str);
    match inside.map(|inside| git.read_file(base, inside)).transpose()?.flatten() {
        None => examples::read(path).map(Some),
        Some(_) => Err(Failure::usage(format!(
            "{} is inside the repository, where agents can read it",
            path.display()
        ))
        .next("keep withheld examples outside the repository")
        .into()),
    }
}

impl Limits {
    pub(super) fn over(&self, mut policy: Policy) -> Result<Policy> {
        if let Some(retries) = self.max_retries {
            let iterations_follow = policy.iterations_max == policy.retries_max.saturating_add(1);
            policy.retries_max = retries;
            if iterations_follow {
                policy.iterations_max = retries.saturating_add(1);
            }
        }
        if let Some(iterations) = self.max_iterations {
            policy.iterations_max = iterations;
        }
        if let Some(cycles) = self.max_cycles {
            policy.cycles_max = cycles;
        }
        if let Some(phases) = &self.pause_after {
            policy.pause_after.clone_from(phases);
        }
        policy.attempts.number = self.attempts.unwrap_or(policy.attempts.number);
        policy.attempts.jobs = self.jobs.or(policy.attempts.jobs);
        policy.withhold &= !self.no_withhold;
        if self.budget_tokens.is_some() {
            policy.budget.tokens = self.budget_tokens;
        }
        if let Some(usd) = self.budget_usd {
            policy.budget.microdollars = Some(crate::config::microdollars(usd, "--budget-usd")?);
        }
        if let Some(seconds) = self.deadline {
            policy.budget.work_ms = Some(crate::config::milliseconds(seconds, "--deadline")?);
        }
        Ok(policy)
    }
}

/// The start commit and the target branch.
fn starting_point(project: &Project, request: &Request) -> Result<(Oid, Branch)> {
    let Head { commit, branch } = project.git.head()?;
    match (&request.onto, branch) {
        (Some(onto), _) => match project.git.read_ref(&format!("refs/heads/{onto}"))? {
            Some(tip) => Ok((tip, target_branch(onto)?)),
            None => Err(Failure::usage(format!("target branch {onto:?} does not exist"))
                .next("git branch --list")
                .into()),
        },
        (None, Some(branch)) => Ok((commit, target_branch(&branch)?)),
        (None, None) => {
            Err(Failure::environment(format!("HEAD is detached at {}", short(&commit)))
                .evidence("redgreen needs to know the target branch")
                .next("git switch -c <name>, or name a branch: redgreen run --onto <branch> …")
                .into())
        }
    }
}

fn check_branch(project: &Project, branch: &str) -> Result<()> {
    if !project.git.is_branch_name(branch)? {
        return Err(Failure::usage(format!("{branch:?} is not a valid branch name"))
            .next("redgreen run --branch <another name> …")
            .into());
    }
    if project.git.branch_exists(branch)? {
        return Err(Failure::usage(format!("the branch {branch:?} already exists"))
            .next("redgreen run --branch <another name> …, or omit --branch")
            .into());
    }
    is_free(project, branch)?;
    run_branch(branch).map(drop)
}

/// Runs write only to branches below `redgreen/`, so that no note or journal can name a branch of
/// the user.
pub(super) fn run_branch(name: &str) -> Result<RunBranch> {
    RunBranch::parse(name).map_err(|invalid| {
        Failure::usage(invalid.to_string())
            .evidence("runs work on branches below redgreen/, never on yours")
            .next(format!("redgreen run --branch {RUN_BRANCH_PREFIX}<name> …"))
            .into()
    })
}

pub(super) fn target_branch(name: &str) -> Result<Branch> {
    Branch::parse(name).map_err(|invalid| {
        Failure::usage(invalid.to_string())
            .next("git branch -m <another name>, or: redgreen run --onto <branch> …")
            .into()
    })
}

/// Git stores branches as files in folders, so `a` and `a/b` cannot both exist.
fn is_free(project: &Project, branch: &str) -> Result<()> {
    let above = branch.match_indices('/').filter_map(|(at, _)| branch.get(..at));
    let above = above.map(|name| format!("refs/heads/{name}")).collect::<Vec<_>>();
    let mut found = None;
    for name in &above {
        found = found.or(project.git.read_ref(name)?.map(|_| name.clone()));
    }
    let below = project.git.read_refs(&[&format!("refs/heads/{branch}/")])?;
    match found.or_else(|| below.into_iter().next().map(|(name, _)| name)) {
        None => Ok(()),
        Some(name) => {
            let name = name.trim_start_matches("refs/heads/");
            Err(Failure::usage(format!(
                "cannot create the branch {branch:?}: it conflicts with the branch {name:?}"
            ))
            .next("redgreen run --branch <another name> …")
            .into())
        }
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use redgreen_core::names::RunId;

    use super::*;

    #[test]
    fn a_run_that_stopped_for_a_reason_outside_says_how_it_continues() {
        let folder =
            RunFolder { id: RunId::parse("20260102-030405-abcd").unwrap(), path: PathBuf::new() };
        for (next, told) in [
            (None, "fix it, then run: redgreen resume 20260102-030405-abcd"),
            (
                Some("pip install pytest"),
                "pip install pytest; then: redgreen resume 20260102-030405-abcd",
            ),
            (Some("redgreen repair-notes"), "redgreen repair-notes"),
        ] {
            let failure = Failure::environment("it does not run");
            let failure = next.iter().fold(failure, |failure, next| failure.next(*next));
            let error = went_wrong(&folder, failure.into());
            assert_eq!(error.downcast_ref::<Failure>().unwrap().next.as_deref(), Some(told));
        }
    }
}
