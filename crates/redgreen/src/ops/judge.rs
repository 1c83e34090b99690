//! `redgreen judge`: the verdict on one step, of any author, in any repository.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use redgreen_core::experiment::examples::Example;
use redgreen_core::names::Oid;
use redgreen_core::phase::JudgedPhase;
use redgreen_core::report::Counts;
use redgreen_core::verdict::{Decision, ExperimentRecord, Mutants, Reason, Side};
use serde::Serialize;

use super::examples;
use crate::engine::Project;
use crate::failure::{Code, Failure};
use crate::git::Git;
use crate::runner::Suite;
use crate::trial::{self, Candidate, Memory, StoredResult, TrialContext, WithheldSet};

/// Judges the current files of the checkout.
pub const WORKTREE: &str = "WORKTREE";
/// Judges the staged files.
pub const INDEX: &str = "INDEX";

/// The arguments.
#[derive(Clone, Debug)]
pub struct Question {
    pub phase: JudgedPhase,
    /// The last accepted commit. By default the parent of the head.
    pub base: Option<String>,
    /// A commit, [`WORKTREE`] or [`INDEX`].
    pub head: String,
    pub brief: String,
    /// Runs the tests, instead of a detected framework.
    pub test_command: Option<String>,
    /// A task as JSON. Its text is part of the brief.
    pub task: Option<PathBuf>,
    /// A file of withheld examples.
    pub examples: Option<PathBuf>,
    pub timeout: Option<Duration>,
    /// Whether to measure the base again, with the packages that are installed now.
    pub new_packages: bool,
    /// Whether to list each experiment with the command that repeats it.
    pub explain: bool,
}

/// The result: the published JSON, version 1.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    pub version: u32,
    pub phase: JudgedPhase,
    pub base: String,
    pub head: String,
    pub verdict: Decision,
    /// Who has to change something.
    pub side: Side,
    pub reasons: Vec<ReasonEntry>,
    /// Facts in addition to the reasons.
    pub notes: Vec<String>,
    /// GREEN: how many mutants in the changed lines the tests killed. Absent if none was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutants: Option<Mutants>,
    /// The experiments, in order, with their results.
    pub experiments: Vec<ExperimentRecord>,
    /// RED: the tests that must pass at GREEN.
    pub targets: Vec<String>,
    /// RED: the new tests that do not load yet, by the names in their files.
    #[serde(skip)]
    pub unloaded: Vec<String>,
    pub ran: String,
    /// The end of the runner's output.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    pub counts: Counts,
    pub fence: String,
    /// Our own milliseconds, without the tests.
    pub own_ms: u64,
}

/// A reason with the next step.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReasonEntry {
    #[serde(flatten)]
    pub reason: Reason,
    pub side: Side,
    pub next: &'static str,
}

impl Judgement {
    pub fn code(&self) -> Code {
        match self.verdict {
            Decision::Accepted => Code::Done,
            Decision::Refused => Code::No,
            Decision::Undecided => Code::Human,
        }
    }

    /// RED: the tests to name to the implementer. Old tests of a file that does not load must pass
    /// too, but the new ones show what is missing.
    pub fn asked_for(&self) -> Vec<String> {
        if self.unloaded.is_empty() {
            return self.targets.clone();
        }
        let fails =
            |id: &&String| self.reasons.iter().any(|told| told.reason.test.as_ref() == Some(*id));
        self.unloaded.iter().chain(self.targets.iter().filter(fails)).cloned().collect()
    }
}

/// The judged tree, and the default base.
struct Head {
    /// The id of a commit, or the word for files that are not committed.
    head: String,
    tree: Oid,
    before: String,
    /// A note about files that look like part of the step but are not.
    note: Option<String>,
}

fn head_of(git: &Git, head: &str) -> Result<Head> {
    let dirty = git.dirty_count()?;
    let told = |count: usize, rest: &str| (count > 0).then(|| format!("{}{rest}", changes(count)));
    match head {
        WORKTREE | INDEX => {
            let here = git.mark("HEAD")?;
            let (tree, note) = match head {
                WORKTREE => (git.checkout_tree(&here.tree, Suite::all_litter())?, None),
                _ => {
                    let count = dirty.unstaged + dirty.untracked;
                    (
                        git.index_tree()?,
                        told(count, " not staged and not judged; --head WORKTREE judges all files"),
                    )
                }
            };
            Ok(Head { head: head.to_owned(), tree, before: "HEAD".to_owned(), note })
        }
        _ => {
            let id = commit(git, head)?;
            let checked_out = git.resolve("HEAD^{commit}")?.as_ref() == Some(&id);
            let count =
                if checked_out { dirty.staged + dirty.unstaged + dirty.untracked } else { 0 };
            let rest = " not committed and not judged; --head WORKTREE judges all files, --head INDEX what is staged";
            let (tree, before) = (git.tree_of(&id)?, format!("{id}~1"));
            Ok(Head { head: id.to_string(), tree, before, note: told(count, rest) })
        }
    }
}

/// REFACTOR accepts a commit without changes. For uncommitted files, no change means that something
/// was forgotten.
fn nothing_to_judge(head: &str) -> Result<()> {
    match head {
        INDEX => Err(Failure::usage("nothing is staged, so there is no step to judge")
            .evidence("the index is the same as HEAD")
            .next(format!(
                "git add <files>, or judge all files: redgreen judge refactor --head {WORKTREE}"
            ))
            .into()),
        WORKTREE => Err(Failure::usage("no file differs from HEAD, so there is no step to judge")
            .next("change something first, or judge the last commit: redgreen judge refactor")
            .into()),
        _ => Ok(()),
    }
}

fn changes(count: usize) -> String {
    if count == 1 {
        "1 change in your checkout is".to_owned()
    } else {
        format!("{count} changes in your checkout are")
    }
}

fn commit(git: &Git, name: &str) -> Result<Oid> {
    git.resolve(&format!("{name}^{{commit}}"))?.ok_or_else(|| {
        let failure = Failure::usage(format!("{name} is not a commit in this repository"));
        match [WORKTREE, INDEX].into_iter().find(|word| word.eq_ignore_ascii_case(name)) {
            Some(word) => failure.next(format!("redgreen judge … --head {word}")).into(),
            None => failure.next("git log --oneline").into(),
        }
    })
}

pub fn judge(project: &Project, question: &Question) -> Result<Judgement> {
    let git = &project.git;
    let task = question.task.as_deref().map(examples::task).transpose()?.unwrap_or_default();
    let mut withheld =
        question.examples.as_deref().map(examples::read).transpose()?.unwrap_or_default();
    withheld.extend(task.examples);
    let brief = format!("{}\n{}", question.brief, task.words);
    let Head { head, tree: head_tree, before, note } = head_of(git, &question.head)?;
    let base = commit(git, question.base.as_deref().unwrap_or(&before))?;
    let base_tree = git.tree_of(&base)?;
    if base_tree == head_tree && question.base.is_none() && question.phase == JudgedPhase::Refactor
    {
        nothing_to_judge(&question.head)?;
    }
    let earlier = match git.resolve(&format!("{base}~1^{{commit}}"))? {
        Some(earlier) => Some(git.tree_of(&earlier)?),
        None => None,
    };
    let step = Step {
        phase: question.phase,
        base: &base_tree,
        head: &head_tree,
        earlier: earlier.as_ref(),
        brief: brief.trim(),
        examples: &withheld,
        test_command: question.test_command.as_deref(),
        timeout: question.timeout,
        new_packages: question.new_packages,
        explain: question.explain,
    };
    let mut judgement = try_step(project, &step)?;
    (judgement.base, judgement.head) = (base.to_string(), head);
    judgement.notes.splice(0..0, note);
    Ok(judgement)
}

/// A step from one tree to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub(super) phase: JudgedPhase,
    pub(super) base: &'a Oid,
    pub(super) head: &'a Oid,
    /// The tree before the base.
    pub(super) earlier: Option<&'a Oid>,
    pub(super) brief: &'a str,
    pub(super) examples: &'a [Example],
    pub(super) test_command: Option<&'a str>,
    pub(super) timeout: Option<Duration>,
    /// What is known of the base is out of date.
    pub(super) new_packages: bool,
    pub(super) explain: bool,
}

/// The verdict on a step. An accepted result is stored for the next step.
pub(super) fn try_step(project: &Project, step: &Step<'_>) -> Result<Judgement> {
    let memory = Memory::new(&project.workshop, &project.file.test)?;
    let (before, targets, surroundings) =
        match memory.recall(step.base)?.filter(|_| !step.new_packages) {
            Some(known) => (Some(known.report), Some(known.targets), Some(known.surroundings)),
            None => (None, None, None),
        };
    let ground = TrialContext { command: step.test_command, ..project.ground() };
    let policy = project.file.policy(&project.environment)?;
    let timeout = step
        .timeout
        .unwrap_or_else(|| Duration::from_millis(policy.suite_timeout_ms(step.phase.into())));
    let candidate = Candidate {
        phase: step.phase,
        base: step.base,
        head: step.head,
        earlier: step.earlier.map(Oid::as_str),
        before,
        targets,
        surroundings,
        brief: step.brief,
        withheld: WithheldSet { examples: step.examples, due: true, tests: &[] },
        only: &[],
        timeout,
        explain: step.explain,
    };
    let tried = trial::hold(ground, &candidate)?;
    let verdict = tried.verdict;
    if verdict.decision == Decision::Accepted {
        let remembered = StoredResult {
            version: 1,
            report: tried.report.clone(),
            targets: verdict.targets.clone(),
            surroundings: tried.surroundings,
        };
        memory.keep(step.head, &remembered)?;
    }
    let told = |reason: &Reason| ReasonEntry {
        reason: reason.clone(),
        side: reason.code.side(),
        next: reason.code.next_step(),
    };
    Ok(Judgement {
        version: 1,
        phase: step.phase,
        base: step.base.to_string(),
        head: step.head.to_string(),
        verdict: verdict.decision,
        side: verdict.first().map_or(Side::Nobody, |reason| reason.code.side()),
        reasons: verdict.reasons.iter().map(told).collect(),
        notes: verdict.notes,
        mutants: verdict.mutants,
        experiments: verdict.experiments,
        targets: verdict.targets,
        unloaded: verdict.unloaded,
        ran: tried.report.command.clone(),
        output: if verdict.decision == Decision::Accepted {
            String::new()
        } else {
            tried.report.output_tail.clone()
        },
        counts: tried.report.counts(),
        fence: tried.fence,
        own_ms: u64::try_from(tried.own.as_millis()).unwrap_or(u64::MAX),
    })
}
