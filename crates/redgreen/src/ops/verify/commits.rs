//! Pairs of commits that are named RED and GREEN, judged one after another. Messages and notes are
//! hints, not evidence: if the first commit is not a RED, only the proof of the whole range counts.

use std::collections::BTreeMap;

use anyhow::Result;
use redgreen_core::event::Mark;
use redgreen_core::framework::FRAMEWORKS;
use redgreen_core::names::Oid;
use redgreen_core::phase::{JudgedPhase, Phase};
use redgreen_core::proof::hints::{Hints, pairs};
use redgreen_core::proof::{Evidence, Pair, StepVerdict};
use redgreen_core::report::Report;
use redgreen_core::verdict::Decision;

use super::range::RangeEnds;
use super::{Case, Reports, Step, files_of_tests, is_in, judged, report_of_red};
use crate::trial;

/// The maximum number of commits to read, and of pairs to judge.
const COMMITS_MAX: usize = 500;
const PAIRS_MAX: usize = 10;

pub(super) fn judge_pairs(
    case: &Case<'_>,
    evidence: &mut Evidence,
    ends: &RangeEnds,
    between: &Oid,
    seen: Reports,
) -> Result<()> {
    let git = &case.project.git;
    let mut commits = git.hints_since(&ends.base, &ends.head, COMMITS_MAX)?;
    let names: Vec<String> = commits.iter().map(|(mark, _)| mark.commit.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // Notes that cannot be read are no hints.
    for note in git.notes().read_many(&names).unwrap_or_default() {
        let noted = commits.iter_mut().find(|(mark, _)| mark.commit == note.commit);
        noted.into_iter().for_each(|(_, hints)| hints.note = Some(note.text.clone()));
    }
    let before = std::iter::once(Mark { commit: ends.base.clone(), tree: case.trees.base.clone() });
    let before: Vec<Mark> = before.chain(commits.iter().map(|(mark, _)| mark.clone())).collect();
    // In a longer range, only the newest commits are read, and the commit before the first one is
    // unknown.
    let is_cut = commits.len() == COMMITS_MAX;
    if is_cut {
        evidence
            .not_verified
            .push(format!("commits before the newest {COMMITS_MAX} were not judged one by one"));
    }
    let (marks, hints): (Vec<Mark>, Vec<Hints>) = commits.into_iter().unzip();
    let pair = |at: usize| Some((before.get(at)?, marks.get(at)?, marks.get(at + 1)?));
    let found = pairs(&hints).into_iter().filter(|at| !is_cut || *at > 0);
    let pairs: Vec<(&Mark, &Mark, &Mark)> = found.filter_map(pair).collect();
    let more = pairs.len().saturating_sub(PAIRS_MAX);
    if more > 0 {
        evidence.not_verified.push(format!("{more} more pairs of RED and GREEN commits"));
    }
    let mut known = BTreeMap::from([(case.trees.base.clone(), seen.base)]);
    for (at, (before, test, code)) in pairs.into_iter().take(PAIRS_MAX).enumerate() {
        if !case.question.shard.is_none_or(|shard| shard.has(at)) {
            continue;
        }
        let trees = [&before.tree, &test.tree, &code.tree];
        let steps: Vec<StepVerdict> = evidence.steps.iter().take(2).cloned().collect();
        let phases = steps.iter().map(|step| step.phase);
        if trees == [&case.trees.base, between, &case.trees.head]
            && phases.eq([JudgedPhase::Red, JudgedPhase::Green])
        {
            // The range is this pair, and was judged as one.
            evidence.commits.push(Pair {
                test: test.commit.to_string(),
                code: code.commit.to_string(),
                steps,
            });
        } else {
            judge_pair(case, evidence, &mut known, before, test, code)?;
        }
    }
    Ok(())
}

/// `known` has the test results of some trees.
fn judge_pair(
    case: &Case<'_>,
    evidence: &mut Evidence,
    known: &mut BTreeMap<Oid, Report>,
    before: &Mark,
    test: &Mark,
    code: &Mark,
) -> Result<()> {
    let git = &case.project.git;
    let base = match known.get(&before.tree) {
        Some(report) => report.clone(),
        None => case.report_of(&before.tree, evidence)?,
    };
    let frameworks: Vec<_> = FRAMEWORKS.iter().collect();
    let change = trial::change(git, Phase::Red, &before.tree, &test.tree, &frameworks)?;
    let files = files_of_tests(git, &change, &test.tree, &base);
    let mut changed = base.clone();
    changed.tests.retain(|test| files.is_empty() || is_in(test, &files));
    let step = Step::new(JudgedPhase::Red, &before.tree, &test.tree, &changed);
    let red = case.hold(&Step { only: &files, ..step }, evidence)?;
    if red.verdict.decision != Decision::Accepted {
        let why =
            red.verdict.first().map_or(String::new(), |reason| format!(": {}", reason.sentence));
        evidence.not_verified.push(format!("{} is not a RED{why}", test.commit));
        return Ok(());
    }
    let (report, targets) = (report_of_red(&red, &base, &files), red.verdict.targets.clone());
    let step = Step::new(JudgedPhase::Green, &test.tree, &code.tree, &report);
    let green = case.hold(&Step { targets: Some(targets), ..step }, evidence)?;
    if green.verdict.decision == Decision::Accepted {
        known.insert(code.tree.clone(), green.report.clone());
    }
    let steps = vec![
        judged(JudgedPhase::Red, "the tests of the first commit", red),
        judged(JudgedPhase::Green, "the code of the second commit", green),
    ];
    evidence.commits.push(Pair {
        test: test.commit.to_string(),
        code: code.commit.to_string(),
        steps,
    });
    Ok(())
}
