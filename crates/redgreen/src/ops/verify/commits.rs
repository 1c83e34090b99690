//! Pairs of commits that are named RED and GREEN, judged one after another. Their names are a hint,
//! not evidence: if the first commit is not a RED, only the proof of the whole range counts.

use anyhow::Result;
use redgreen_core::event::Mark;
use redgreen_core::phase::JudgedPhase;
use redgreen_core::proof::{Evidence, Pair};
use redgreen_core::verdict::Decision;

use super::range::Ends;
use super::{Case, Step, judged};

/// The maximum number of commits to read, and of pairs to judge.
const COMMITS_MAX: usize = 500;
const PAIRS_MAX: usize = 10;

pub(super) fn judge_pairs(case: &Case<'_>, evidence: &mut Evidence, ends: &Ends) -> Result<()> {
    let git = &case.project.git;
    let commits = git.subjects_since(&ends.base, &ends.head, COMMITS_MAX)?;
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
    let mut pairs = Vec::new();
    for (at, pair) in commits.windows(2).enumerate().skip(usize::from(is_cut)) {
        let [(test, says), (code, answers)] = pair else { continue };
        if is_called(says, &["test"]) && is_called(answers, &["feat", "fix"]) {
            pairs.extend(before.get(at).map(|before| (before.clone(), test.clone(), code.clone())));
        }
    }
    let more = pairs.len().saturating_sub(PAIRS_MAX);
    if more > 0 {
        evidence.not_verified.push(format!("{more} more pairs of RED and GREEN commits"));
    }
    for (at, (before, test, code)) in pairs.into_iter().take(PAIRS_MAX).enumerate() {
        if case.question.shard.is_none_or(|shard| shard.has(at)) {
            judge_pair(case, evidence, &before, &test, &code)?;
        }
    }
    Ok(())
}

/// `feat: …`, `feat(area): …`, `feat!: …`.
fn is_called(subject: &str, words: &[&str]) -> bool {
    let head = subject.split_once(':').map_or("", |(head, _)| head);
    let word = head.split(['(', '!']).next().unwrap_or_default();
    words.contains(&word)
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
