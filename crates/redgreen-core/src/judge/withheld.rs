//! Withheld tests and examples, which the author of the code never sees. Withheld tests must fail
//! at RED and pass at GREEN. GREEN must pass the withheld examples of the brief, and REFACTOR must
//! keep the ones that passed. Notes contain the expected values, for the human. Reasons, which
//! agents see, name only the function.

use super::{Case, OrStep, and_refused, calls, undecided};
use crate::attempts::PassCount;
use crate::change::Kind;
use crate::experiment::examples::{self, CallOutcome, Driver, ExampleResults, Put};
use crate::experiment::{Material, Tree, suite};
use crate::phase::JudgedPhase;
use crate::report::Report;
use crate::verdict::{Code, Decision, Reason, Verdict};
use crate::withheld::{self, Answer, TestFile, WithheldResults};

/// The withheld files of RED that fail as expected. A withheld test never causes a refusal of RED.
pub(super) fn at_red(
    case: &Case<'_>,
    after: &Report,
    verdict: &mut Verdict,
) -> OrStep<WithheldResults> {
    let mut unseen = WithheldResults::default();
    for file in case.withheld.tests {
        match withheld::at_red(after, &run_with(case, &[file], 0)?) {
            Ok(()) => unseen.paths.push(file.path.clone()),
            Err(why) => verdict.notes.push(withheld::unused(file, &why)),
        }
    }
    Ok(unseen)
}

/// Withheld tests must pass with the code of GREEN.
pub(super) fn at_green(
    case: &Case<'_>,
    after: &Report,
    verdict: &mut Verdict,
) -> OrStep<WithheldResults> {
    let base = paths_of_base(case);
    let head: Vec<&str> = case.paths.iter().map(String::as_str).collect();
    let (all, reasons, dropped) = withheld::free(case.withheld.tests, &base, &head);
    verdict.notes.extend(dropped);
    if !reasons.is_empty() {
        let standing = verdict.standing;
        *verdict = Verdict { standing, ..and_refused(verdict.clone(), reasons) };
    }
    if verdict.decision == Decision::Refused || all.is_empty() {
        return Ok(WithheldResults::default());
    }
    let mut tried = vec![(all.clone(), ask(case, after, &all)?)];
    // A file that does not load may hide the others, so add them one by one.
    if let [(_, Answer::Unusable(_))] = tried.as_slice()
        && all.len() > 1
    {
        tried.clear();
        let mut loaded: Vec<&TestFile> = Vec::new();
        for file in all {
            let with: Vec<&TestFile> = loaded.iter().copied().chain([file]).collect();
            let answer = ask(case, after, &with)?;
            match &answer {
                Answer::Passed(_) => loaded.push(file),
                Answer::Fails { .. } | Answer::Unusable(_) => {}
            }
            tried.push((with, answer));
        }
    }
    let mut unseen = WithheldResults::default();
    for (files, answer) in tried {
        match answer {
            Answer::Passed(passed) => {
                let paths = files.iter().map(|file| file.path.clone()).collect();
                unseen = WithheldResults { paths, passed, failing: None };
            }
            Answer::Fails { told, failing, of } => {
                *verdict = withheld::overfits(verdict.clone(), *told, failing, of);
                let count = |tests: usize| u64::try_from(tests).unwrap_or(u64::MAX);
                let (passed, of) = (count(of.saturating_sub(failing)), count(of));
                return Ok(WithheldResults {
                    failing: Some(PassCount { passed, of }),
                    ..WithheldResults::default()
                });
            }
            Answer::Unusable(why) => {
                verdict.notes.extend(files.last().map(|file| withheld::unused(file, &why)));
            }
        }
    }
    Ok(unseen)
}

/// Repeats a failing test once before it counts.
fn ask(case: &Case<'_>, after: &Report, files: &[&TestFile]) -> OrStep<Answer> {
    let answer = withheld::at_green(after, &run_with(case, files, 0)?, files);
    match answer {
        Answer::Fails { .. } => Ok(withheld::at_green(after, &run_with(case, files, 1)?, files)),
        Answer::Passed(_) | Answer::Unusable(_) => Ok(answer),
    }
}

fn run_with(case: &Case<'_>, files: &[&TestFile], time: usize) -> OrStep<Report> {
    case.report(&suite::withheld(files, case.runs_files, time))
}

fn paths_of_base<'a>(case: &'a Case<'_>) -> Vec<&'a str> {
    let changed = |kind: Kind| {
        case.change.paths.iter().filter(move |path| path.kind == kind).map(|path| &*path.path)
    };
    let added: Vec<&str> = changed(Kind::Added).collect();
    let kept = case.paths.iter().map(String::as_str).filter(|path| !added.contains(path));
    kept.chain(changed(Kind::Deleted)).collect()
}

pub(super) fn try_examples(
    case: &Case<'_>,
    material: &Material<'_>,
    verdict: &mut Verdict,
) -> OrStep<()> {
    let is_green = case.phase == JudgedPhase::Green;
    if case.withheld.examples.is_empty() {
        verdict.notes.extend(is_green.then(|| examples::hard_coded(material)).flatten());
        return Ok(());
    }
    let mut weighed = weigh(case, material, Tree::Head)?;
    verdict.notes.extend(weighed.notes());
    if weighed.wrong.is_empty() && weighed.absent.is_empty() {
        return Ok(());
    }
    if !is_green {
        weighed = weighed.lost_since(&weigh(case, material, Tree::Base)?);
    } else if !case.withheld.due {
        verdict
            .notes
            .push("test-list.md has open items, so withheld examples may still fail".to_owned());
        return Ok(());
    }
    let code = if is_green { Code::GreenExamplesDiffer } else { Code::RefactorBehaviour };
    let reasons = |code: Code, sentences: Vec<String>| {
        sentences.into_iter().map(|one| Reason::new(code, one)).collect()
    };
    let standing = verdict.standing;
    if !weighed.wrong.is_empty() {
        // The visible tests pass, so the next attempt may build on this code.
        *verdict = Verdict {
            standing,
            ..and_refused(verdict.clone(), reasons(code, weighed.sentences()))
        };
    } else if !weighed.absent.is_empty() {
        // The author of the code cannot know where the examples look for the function.
        let asked = reasons(Code::GreenExamplesUnasked, weighed.doubts());
        *verdict = Verdict { standing, ..undecided(verdict, asked) };
    }
    Ok(())
}

fn weigh(case: &Case<'_>, material: &Material<'_>, tree: Tree) -> OrStep<ExampleResults> {
    let all = case.withheld.examples;
    let (mut said, mut drivers) = (Vec::new(), Vec::new());
    for driver in [Driver::Python, Driver::Node, Driver::Rust, Driver::Go] {
        match examples::put(material, tree, all, driver) {
            None => continue,
            Some(Put::Interpreted(experiment)) => match case.observe(&experiment)?.said() {
                Some(told) => said.extend(examples::said(told)),
                None => continue,
            },
            Some(Put::Built(programs)) => {
                said.extend(
                    programs.missing.iter().map(|(index, why)| CallOutcome::missing(*index, why)),
                );
                said.extend(calls::answers_of(case, &programs)?);
            }
        }
        drivers.push(driver);
    }
    Ok(examples::weigh(all, &drivers, said))
}
