//! Explains a verdict: each experiment in order, its result, and the command that repeats it.

use super::ExperimentResult;
use crate::experiment::{Experiment, Observation, Question, Tree};
use crate::report::{Exit, Report};
use crate::verdict::ExperimentRecord;

/// The number of file names to list before the rest is counted.
const FILES_MAX: usize = 3;

pub(super) fn explain(seen: &[ExperimentResult]) -> Vec<ExperimentRecord> {
    seen.iter().map(made).collect()
}

fn made(seen: &ExperimentResult) -> ExperimentRecord {
    let ExperimentResult { experiment, observation } = seen;
    let command = observation.report().map(|report| report.command.clone()).unwrap_or_default();
    ExperimentRecord {
        question: asked(experiment.question).to_owned(),
        what: experiment.what.clone(),
        tree: tree(experiment.tree).to_owned(),
        laid: laid(experiment),
        saw: saw(observation),
        command,
        again: String::new(),
    }
}

/// The question in one sentence.
fn asked(question: Question) -> &'static str {
    match question {
        Question::Suite => "What is the result of every test?",
        Question::Again => "Is the result the same in a second run?",
        Question::Recording => "Do the tests fail for another reason than a missing snapshot?",
        Question::Inert => {
            "Do the new tests call the code under test, and fail when it does nothing?"
        }
        Question::Checked => "Does other code of the project do the checking for the tests?",
        Question::Lenient => {
            "With code that does nothing, do the tests fail if their expectations cannot be met?"
        }
        Question::Empty => "Do the tests fail when the new code does nothing?",
        Question::Oracle => "Do the tests read data that the step changed?",
        Question::OldCode => "Do the tests still fail on the old code?",
        Question::Impossible => "Do the tests fail if their expectations cannot be met?",
        Question::Expectation => "Does each single expectation matter?",
        Question::Reached => "Does the test reach the expectation that seems not to matter?",
        Question::Exceptions => "Do the tests fail if they expect a different exception?",
        Question::Contents => {
            "Does the result contain the expected values, regardless of how the code defines \
             equality?"
        }
        Question::Order => "Do the RED tests pass alone, in another order, and twice?",
        Question::Mutant => "Do the tests kill a mutant in the changed lines?",
        Question::Documented => {
            "Do the changed documentation examples still pass in their old form?"
        }
        Question::Configuration => {
            "Are the results the same with the old settings of the test runner?"
        }
        Question::Reworked => "Do the changed tests detect everything that the old tests detected?",
        Question::Calls => "Do the same calls return the same results outside the test run?",
        Question::Withheld => "Does the code pass tests and examples that its author never saw?",
    }
}

fn tree(tree: Tree) -> &'static str {
    match tree {
        Tree::Base => "base",
        Tree::Earlier => "before the base",
        Tree::Head => "candidate, with the accepted tests",
        Tree::AsIs => "candidate",
    }
}

fn laid(experiment: &Experiment) -> Vec<String> {
    let mut paths: Vec<String> = experiment.edits.iter().map(|(path, _)| path.clone()).collect();
    let more = paths.len().saturating_sub(FILES_MAX);
    paths.truncate(FILES_MAX);
    if more > 0 {
        paths.push(format!("and {more} more"));
    }
    paths
}

fn saw(observation: &Observation) -> String {
    match observation {
        Observation::Ran { report, .. } => ran(report),
        Observation::Said(said) => {
            format!("{} answers", said.lines().filter(|line| !line.is_empty()).count())
        }
        Observation::Nothing => {
            "not run: no time was left, or a required tool is missing".to_owned()
        }
    }
}

fn ran(report: &Report) -> String {
    let end = match report.exit {
        Exit::Code(0 | 1) => String::new(),
        Exit::NotStarted | Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => {
            format!("; {}", report.exit)
        }
    };
    format!("{}{end}", report.counts())
}
