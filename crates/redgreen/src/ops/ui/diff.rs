//! The changes of a run, a cycle or a step, with colours, comments and the evidence for every hunk.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use redgreen_core::names::Oid;
use redgreen_core::review::patch::{self, FilePatch, Hunk, Kind};
use redgreen_core::steps::{AttemptRecord, Steps};
use redgreen_core::syntax::{Language, Span, highlight};
use redgreen_core::test_list;
use redgreen_core::verdict::Decision;

use super::{Evidence, PlacedComment, Reviews};
use crate::failure::Failure;
use crate::journal::RunFolder;

/// The size limit of a diff: some 20,000 lines.
const DIFF_BYTES_MAX: usize = 2 << 20;
/// The maximum number of files whose lines are traced to commits. Each walks through the history of
/// the run.
const TRACED_FILES_MAX: usize = 40;
/// Runs with more cycles open with one cycle, unless the whole run is requested.
const WHOLE_CYCLES_MAX: u32 = 20;
/// The maximum number of cycles whose evidence is next to one hunk: the last ones.
const HUNK_CYCLES_MAX: usize = 8;
/// Larger files are not highlighted.
const COLOURED_BYTES_MAX: usize = 512 << 10;

/// The displayed part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Whole,
    Cycle(u32),
    Step(usize),
    /// One of several attempts. The step does not exist yet while the attempts are at work.
    Attempt {
        step: usize,
        number: u32,
    },
}

#[derive(Debug, Default)]
pub struct Diff {
    pub files: Vec<FileDiff>,
    pub is_cut: bool,
    /// Git no longer has the commits.
    pub is_gone: bool,
    /// The commit or tree of the new side, to which comments belong, and that of the old side.
    pub to: String,
    pub from: String,
    /// By cycle.
    pub evidence: BTreeMap<u32, Evidence>,
    /// Comments on files or lines that are not displayed.
    pub elsewhere: Vec<PlacedComment>,
}

#[derive(Debug)]
pub struct FileDiff {
    pub patch: FilePatch,
    pub old: Vec<Vec<Span>>,
    pub new: Vec<Vec<Span>>,
    /// For each hunk.
    pub cycles: Vec<HunkCycles>,
    pub comments: Vec<PlacedComment>,
}

/// The cycles that wrote a hunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HunkCycles {
    pub last: Vec<u32>,
    /// How many came before them.
    pub earlier: usize,
}

impl View {
    /// Reads `whole`, `cycle-2`, `step-3` or `step-3-attempt-2`. Without text, chooses a default
    /// for the run.
    pub fn parse(text: Option<&str>, steps: &Steps) -> Self {
        let default = match steps.cycles() {
            cycles if cycles > WHOLE_CYCLES_MAX => View::Cycle(cycles),
            _ => View::Whole,
        };
        text.map_or(default, |text| View::named(text).unwrap_or(View::Whole))
    }

    fn named(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        Some(match parts.as_slice() {
            ["cycle", cycle] => View::Cycle(cycle.parse().ok()?),
            ["step", step] => View::Step(step.parse().ok()?),
            ["step", step, "attempt", number] => {
                View::Attempt { step: step.parse().ok()?, number: number.parse().ok()? }
            }
            _ => return None,
        })
    }

    pub fn name(self) -> String {
        match self {
            View::Whole => "whole".to_owned(),
            View::Cycle(cycle) => format!("cycle-{cycle}"),
            View::Step(step) => format!("step-{step}"),
            View::Attempt { step, number } => format!("step-{step}-attempt-{number}"),
        }
    }
}

/// The attempts of a round: those of a step that was judged, or those that are at work.
pub(super) fn attempts(steps: &Steps, step: usize) -> Vec<AttemptRecord> {
    match steps.steps.get(step) {
        Some(step) => step.candidates.clone(),
        None if step == steps.steps.len() => steps.attempts_now(),
        None => Vec::new(),
    }
}

/// The two ends of a view. `None` if nothing changed yet.
fn ends(steps: &Steps, view: View) -> Result<Option<(Oid, Oid)>> {
    let Some(run) = &steps.run else { return Ok(None) };
    match view {
        View::Whole => Ok(steps.head.clone().map(|head| (run.base.commit.clone(), head))),
        View::Cycle(cycle) => {
            let mut committed = steps.of_cycle(cycle).filter(|step| step.commit.is_some());
            let Some(first) = committed.next() else { return Ok(None) };
            let last = committed.last().unwrap_or(first);
            Ok(last.commit.clone().map(|commit| (first.from.clone(), commit)))
        }
        View::Step(number) => {
            let Some(step) = steps.steps.get(number) else {
                return Err(Failure::usage(format!("run {} has no step {number}", run.id)).into());
            };
            Ok(step.to.clone().map(|to| (step.from.clone(), to)))
        }
        View::Attempt { step, number } => {
            let all = attempts(steps, step);
            let Some(one) = all.into_iter().find(|one| one.number == number) else {
                let what = format!("step {step} of run {} has no attempt {number}", run.id);
                return Err(Failure::usage(what).into());
            };
            let from =
                steps.steps.get(step).map_or(steps.head.clone(), |step| Some(step.from.clone()));
            Ok(from.zip(one.tree))
        }
    }
}

impl Reviews {
    pub fn diff(&self, folder: &RunFolder, steps: &Steps, view: View) -> Result<Diff> {
        let Some((from, to)) = ends(steps, view)? else { return Ok(Diff::default()) };
        let git = &self.project.git;
        // A salvage may have been dropped, and the commits of an old run may be gone.
        let Ok(text) = git.diff_text(&from, &to, DIFF_BYTES_MAX) else {
            return Ok(Diff { is_gone: true, ..Diff::default() });
        };
        // The list belongs to the run. It is shown only in a step about it.
        let is_shown =
            |file: &FilePatch| matches!(view, View::Step(_)) || file.path != test_list::FILE;
        let patches: Vec<FilePatch> =
            patch::parse(&text.text).into_iter().filter(is_shown).collect();
        let sources: Vec<(&str, &str)> = patches
            .iter()
            .flat_map(|file| {
                [(from.as_str(), file.path.as_str()), (to.as_str(), file.path.as_str())]
            })
            .collect();
        let sources = git.read_texts(&sources)?;
        let head = steps.head.as_ref().map_or(to.as_str(), Oid::as_str);
        let mut comments = self.placed(folder, &from, &to, head)?;
        let mut files = Vec::new();
        for (index, (patch, texts)) in patches.into_iter().zip(sources.chunks(2)).enumerate() {
            let coloured = |at: usize| {
                let text = texts
                    .get(at)
                    .and_then(Option::as_deref)
                    .filter(|text| text.len() <= COLOURED_BYTES_MAX);
                text.map_or_else(Vec::new, |text| highlight(Language::of_path(&patch.path), text))
            };
            let (old, new) = (coloured(0), coloured(1));
            let cycles = match view {
                View::Whole if index < TRACED_FILES_MAX => self.traced(steps, &from, &to, &patch),
                View::Whole => vec![Vec::new(); patch.hunks.len()],
                View::Cycle(cycle) => vec![vec![cycle]; patch.hunks.len()],
                View::Step(number) => {
                    let cycle = steps
                        .steps
                        .get(number)
                        .filter(|step| step.verdict.decision == Decision::Accepted);
                    vec![cycle.map(|step| step.cycle).into_iter().collect(); patch.hunks.len()]
                }
                View::Attempt { .. } => vec![Vec::new(); patch.hunks.len()],
            };
            let cycles: Vec<HunkCycles> = cycles.into_iter().map(HunkCycles::of).collect();
            let (here, rest) = comments.into_iter().partition(|placed| is_on(placed, &patch));
            comments = rest;
            files.push(FileDiff { patch, old, new, cycles, comments: here });
        }
        let wanted: BTreeSet<u32> = files
            .iter()
            .flat_map(|file| &file.cycles)
            .flat_map(|cycles| cycles.last.clone())
            .collect();
        let evidence =
            wanted.into_iter().map(|cycle| (cycle, Evidence::of(folder, steps, cycle))).collect();
        let (to, from) = (to.to_string(), from.to_string());
        Ok(Diff {
            files,
            is_cut: text.cut,
            is_gone: false,
            to,
            from,
            evidence,
            elsewhere: comments,
        })
    }

    /// The evidence of one cycle.
    pub fn evidence(&self, folder: &RunFolder, steps: &Steps, cycle: u32) -> Evidence {
        Evidence::of(folder, steps, cycle)
    }

    /// For each hunk, the cycles whose commits wrote its new lines.
    fn traced(&self, steps: &Steps, from: &str, to: &str, patch: &FilePatch) -> Vec<Vec<u32>> {
        let authors = match patch.kind {
            Kind::Changed | Kind::Added => {
                self.project.git.line_authors(from, to, &patch.path).unwrap_or_default()
            }
            Kind::Deleted | Kind::Binary => Vec::new(),
        };
        let cycle_of = |commit: &Oid| {
            steps
                .steps
                .iter()
                .find(|step| step.commit.as_ref() == Some(commit))
                .map(|step| step.cycle)
        };
        let of_hunk = |hunk: &Hunk| {
            let added =
                hunk.lines.iter().filter(|line| line.old.is_none()).filter_map(|line| line.new);
            let commits: BTreeSet<&Oid> = added
                .filter_map(|line| {
                    authors.get(usize::try_from(line).ok()?.checked_sub(1)?)?.as_ref()
                })
                .collect();
            let cycles: BTreeSet<u32> = commits.into_iter().filter_map(cycle_of).collect();
            cycles.into_iter().collect()
        };
        patch.hunks.iter().map(of_hunk).collect()
    }
}

impl HunkCycles {
    fn of(mut cycles: Vec<u32>) -> Self {
        let earlier = cycles.len().saturating_sub(HUNK_CYCLES_MAX);
        Self { last: cycles.split_off(earlier), earlier }
    }
}

/// Whether the line of a comment is displayed.
fn is_on(placed: &PlacedComment, patch: &FilePatch) -> bool {
    use redgreen_core::review::comment::Side;
    let number = |line: &patch::Line| match placed.comment.side {
        Side::New => line.new,
        Side::Old => line.old,
    };
    placed.comment.file.as_str() == patch.path
        && patch
            .hunks
            .iter()
            .flat_map(|hunk| &hunk.lines)
            .any(|line| number(line) == Some(placed.line))
}
