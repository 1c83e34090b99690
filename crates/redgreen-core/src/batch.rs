//! RED where all tests are written at once: how many there are, and which of them pass before there is any code.

use std::collections::HashSet;

use crate::brief::Brief;
use crate::report::{Report, Status, Test};
use crate::verdict::{Code, Reason};

/// What was written, as far as it was seen.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    pub before: &'a Report,
    pub after: &'a Report,
    /// Tests that the source of changed test files shows, where its language is known: a file that does not load yet
    /// has tests too.
    pub in_source: Option<usize>,
}

/// What there is to say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weighed {
    /// Why it is refused.
    pub reasons: Vec<Reason>,
    pub warnings: Vec<String>,
}

/// Holds what was written against what the brief asks for.
pub fn weigh(brief: &Brief, pass_percent_max: u32, written: Written<'_>) -> Weighed {
    let mut weighed = Weighed::default();
    let fresh = fresh(written.before, written.after);
    let passes = fresh.iter().filter(|test| test.status == Status::Passed).count();
    let unloaded = !written.after.load_errors.is_empty();
    match (unloaded, written.in_source) {
        (false, _) => weighed.reasons.extend(wrong_count(brief, fresh.len(), functions(&fresh))),
        (true, Some(count)) => weighed.reasons.extend(wrong_count(brief, count, count)),
        (true, None) => weighed.warnings.push("the new tests do not load yet, so they could not be counted".to_owned()),
    }
    if passes > 0 && !fresh.is_empty() {
        let total = written.in_source.filter(|_| unloaded).unwrap_or(0).max(fresh.len());
        let percent = passes.saturating_mul(100) / total;
        if u32::try_from(percent).unwrap_or(u32::MAX) > pass_percent_max {
            weighed.warnings.push(format!(
                "{percent} % of the new tests pass before there is any code ({passes} of {total}); more than {pass_percent_max} % \
                 are worth a look",
            ));
        }
    }
    weighed
}

/// Tests that were not there before.
pub fn fresh<'a>(before: &Report, after: &'a Report) -> Vec<&'a Test> {
    let known: HashSet<&str> = before.tests.iter().map(|test| test.id.as_str()).collect();
    after.tests.iter().filter(|test| !known.contains(test.id.as_str())).collect()
}

/// A test that runs with several values is one test to whoever counts functions.
fn functions(tests: &[&Test]) -> usize {
    let function = |test: &&Test| {
        let told = test.identity();
        (told.file(), told.item.join(" "))
    };
    tests.iter().map(function).collect::<HashSet<_>>().len()
}

fn wrong_count(brief: &Brief, tests: usize, functions: usize) -> Option<Reason> {
    let asked = brief.test_count.and_then(|count| usize::try_from(count).ok());
    let (wrong, asked) = match asked {
        Some(count) => (tests != count && functions != count, format!("{count} tests are asked for")),
        None => {
            let cases = brief.test_cases.len();
            (functions.max(tests) < cases, format!("{cases} test cases are asked for"))
        }
    };
    wrong.then(|| Reason::new(Code::RedWrongCount, format!("{asked}, and {functions} were written")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brief::{Case, Door};
    use crate::report::{LoadError, LoadErrorKind};

    fn report(tests: &str) -> Report {
        let test = |word: &str| {
            let (mark, id) = word.split_at(1);
            Test::new(id, if mark == "+" { Status::Passed } else { Status::Failed })
        };
        Report { tests: tests.split_whitespace().map(test).collect(), ..Report::default() }
    }

    fn check(count: Option<u32>, cases: usize, after: &str, in_source: Option<usize>, expected: &str) {
        let brief =
            Brief { door: Door::Spec, test_count: count, test_cases: vec![Case::default(); cases], ..Brief::default() };
        let before = report("+old");
        let mut after = report(after);
        if in_source.is_some() {
            let error = LoadError {
                file: Some("t.py".to_owned()),
                line: None,
                stage: crate::report::Stage::Collect,
                code: None,
                kind: LoadErrorKind::MissingSymbol,
                message: String::new(),
            };
            after.load_errors.push(error);
        }
        let weighed = weigh(&brief, 30, Written { before: &before, after: &after, in_source });
        let told: Vec<String> =
            weighed.reasons.into_iter().map(|reason| reason.sentence).chain(weighed.warnings).collect();
        assert_eq!(told.join("; "), expected, "{after:?}");
    }

    #[test]
    fn the_number_of_tests_is_that_of_the_brief() {
        check(Some(2), 2, "+old -a -b", None, "");
        check(Some(2), 2, "+old -a", None, "2 tests are asked for, and 1 were written");
        check(Some(2), 2, "+old -a -b -c", None, "2 tests are asked for, and 3 were written");
        check(Some(2), 2, "+old -t.py::a[1] -t.py::a[2] -t.py::b", None, "");
        check(Some(3), 3, "+old", Some(3), "");
        check(Some(4), 4, "+old +a", Some(4), "");
        check(Some(3), 3, "+old", Some(2), "3 tests are asked for, and 2 were written");
        check(None, 2, "+old -a -b -c", None, "");
        check(None, 3, "+old -a -b", None, "3 test cases are asked for, and 2 were written");
    }

    #[test]
    fn tests_that_pass_at_once_are_worth_a_warning_when_there_are_many() {
        check(None, 1, "-a -b -c +d", None, "");
        let words = "50 % of the new tests pass before there is any code (1 of 2); more than 30 % are worth a look";
        check(None, 1, "-a +b", None, words);
    }
}
