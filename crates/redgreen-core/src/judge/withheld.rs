//! GREEN has to meet the examples that the brief withholds, REFACTOR has to keep those that were met. What was expected is
//! in the notes, for the human; the reasons, which agents are told, name the function only.

use super::{Asked, Case, and_refused, undecided};
use crate::experiment::examples::{self, Weighed};
use crate::experiment::{Material, Tree};
use crate::phase::JudgedPhase;
use crate::verdict::{Code, Reason, Verdict};

pub(super) fn try_examples(case: &Case<'_>, material: &Material<'_>, verdict: &mut Verdict) -> Asked<()> {
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
        verdict.notes.push("tests of the list are still open; the examples are not owed yet".to_owned());
        return Ok(());
    }
    let code = if is_green { Code::GreenExamplesDiffer } else { Code::RefactorBehaviour };
    let reasons =
        |code: Code, sentences: Vec<String>| sentences.into_iter().map(|one| Reason::new(code, one)).collect();
    let standing = verdict.standing;
    if !weighed.wrong.is_empty() {
        // The tests are met, and what meets them may be built upon.
        *verdict = Verdict { standing, ..and_refused(verdict.clone(), reasons(code, weighed.sentences())) };
    } else if !weighed.absent.is_empty() {
        // Whoever wrote the code cannot know where the examples look for it.
        let asked = reasons(Code::GreenExamplesUnasked, weighed.doubts());
        *verdict = Verdict { standing, ..undecided(verdict, asked) };
    }
    Ok(())
}

fn weigh(case: &Case<'_>, material: &Material<'_>, tree: Tree) -> Asked<Weighed> {
    let all = case.withheld.examples;
    let (mut said, mut drivers) = (String::new(), Vec::new());
    for (driver, experiment) in examples::asked(all, tree) {
        if let Some(answers) = case.observe(experiment)?.said() {
            said.push_str(answers);
            drivers.push(driver);
        }
    }
    for driver in examples::BUILT {
        let Some(inquiry) = crate::experiment::inquiry::inquiry(material, tree, all, driver) else { continue };
        let log = match &inquiry.experiment {
            Some(experiment) => case.observe(experiment.clone())?.log().to_owned(),
            None => String::new(),
        };
        said.push_str(&inquiry.said(&log));
        drivers.push(driver);
    }
    Ok(examples::weigh(all, &drivers, &said))
}
