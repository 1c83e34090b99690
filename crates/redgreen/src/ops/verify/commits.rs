//! Pairs of commits that are named RED and GREEN, judged one after another. Messages and notes are
//! hints, not evidence: if the first commit is not a RED, only the proof of the whole range counts.

use anyhow::Result;
use redgreen_core::event::Mark;
use redgreen_core::phase::JudgedPhase;
use redgreen_core::proof::hints::{Hints, pairs};
use redgreen_core::proof::{Evidence, Pair};
use redgreen_core::verdict::Decision;

use super::range::RangeEnds;
use super::{Case, Step, judged};

/// The maximum number of commits to read, and of pairs to judge.
const COMMITS_MAX: usize = 500;
const PAIRS_MAX: usize = 10;

pub(super) fn judge_pairs(
    case: &Case<'_>,
    evidence: &mut Evidence,
    ends: &RangeEnds,
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
    for (at, (before, test, code)) in pairs.into_iter().take(PAIRS_MAX).enumerate() {
        if case.question.shard.is_none_or(|shard| shard.has(at)) {
            judge_pair(case, evidence, before, test, code)?;
        }
    }
    Ok(())
}

fn judge_pair(
    case: &Case<'_>,
    evidence: &mut Evidence,
    before: &Mark,
    test: &Mark,
    code: &Mark,
) -> Result<()> {
    let known =
        crate::trial::measure(case.ground(), &before.tree, case.timeout(JudgedPhase::Red)?)?.report;
    evidence.tests_ms += known.wall_ms;
    let red =
        case.hold(&Step::new(JudgedPhase::Red, &before.tree, &test.tree, &known), evidence)?;
    if red.verdict.decision != Decision::Accepted {
        let why =
            red.verdict.first().map_or(String::new(), |reason| format!(": {}", reason.sentence));
        evidence.not_verified.push(format!("{} is not a RED{why}", test.commit));
        return Ok(());
    }
    let (report, targets) = (red.report.clone(), red.verdict.targets.clone());
    let step = Step::new(JudgedPhase::Green, &test.tree, &code.tree, &report);
    let green = case.hold(&Step { targets: Some(targets), ..step }, evidence)?;
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
