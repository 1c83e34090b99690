//! What led to a verdict, for a person: each experiment in the order in which it was made, what was seen, and what to type
//! to see it again.

use super::Seen;
use crate::experiment::{Experiment, Observation, Question, Tree};
use crate::report::{Exit, Report};
use crate::verdict::Made;

/// Names of files that are told before the rest is counted.
const FILES_MAX: usize = 3;

pub(super) fn explain(seen: &[Seen]) -> Vec<Made> {
    seen.iter().map(made).collect()
}

fn made(seen: &Seen) -> Made {
    let Seen { experiment, observation } = seen;
    let command = observation.report().map(|report| report.command.clone()).unwrap_or_default();
    Made {
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
        Question::Again => "Is it the same once more?",
        Question::Recording => "Do the tests fail for more than a snapshot that nobody has recorded yet?",
        Question::Inert => "Do the new tests call what they test, and fail when it does nothing?",
        Question::Checked => "Is it other code of the project that checks?",
        Question::Lenient => "Do the tests fail when their expectations cannot be met, with code that does nothing?",
        Question::Empty => "Do the tests fail when the new code does nothing?",
        Question::Oracle => "Do the tests themselves read data that was changed?",
        Question::OldCode => "Do the tests still fail on the code before?",
        Question::Impossible => "Do tests fail whose expectations cannot be met?",
        Question::Expectation => "Does each expectation matter by itself?",
        Question::Reached => "Is the expectation reached that does not seem to matter?",
        Question::Exceptions => "Do tests fail that wait for another exception than they ask for?",
        Question::Contents => "Does the code's answer hold what the test expects, whatever the code calls equal?",
        Question::Order => "Do the tests of RED pass alone, in another order and twice?",
        Question::Mutant => "Do the tests notice a fault in the changed lines?",
        Question::Reworked => "Do the tests of now notice what those of before noticed?",
        Question::Calls => "Does the code answer the same calls in the same way elsewhere?",
        Question::Withheld => "Are examples met that whoever wrote the code never saw?",
    }
}

fn tree(tree: Tree) -> &'static str {
    match tree {
        Tree::Base => "base",
        Tree::Earlier => "before the base",
        Tree::Head => "candidate, with the tests that were accepted",
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
        Observation::Said(said) => format!("{} answers", said.lines().filter(|line| !line.is_empty()).count()),
        Observation::Nothing => "it was not made: there was no time for it, or what it needs is not here".to_owned(),
    }
}

fn ran(report: &Report) -> String {
    let end = match report.exit {
        Exit::Code(0 | 1) => String::new(),
        Exit::NotStarted | Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => format!("; {}", report.exit),
    };
    format!("{}{end}", report.counts())
}
