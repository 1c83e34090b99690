//! RED with all tests at once: the number of tests, and which of them pass before there is any
//! code.

mod cases;

use std::collections::HashSet;

use crate::brief::{Brief, Door};
use crate::phase::Phase;
use crate::policy::Policy;
use crate::report::{Report, Status, Test};
use crate::verdict::{Code, Reason};

pub use cases::{CaseCoverage, SourceTest, covered, tests_in};

/// The written tests, as far as they are known.
#[derive(Clone, Copy, Debug)]
pub struct TestSource<'a> {
    pub before: &'a Report,
    pub after: &'a Report,
    /// The number of tests in the source of changed test files, if the language has a parser: a
    /// file that does not load yet has tests too.
    pub in_source: Option<usize>,
    /// All tests of the changed test files.
    pub tests: &'a [SourceTest],
}

/// The result of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The reasons for a refusal.
    pub reasons: Vec<Reason>,
    pub warnings: Vec<String>,
}

/// Compares the written tests with the brief.
pub fn weigh(brief: &Brief, policy: &Policy, written: TestSource<'_>) -> Comparison {
    let mut weighed = Comparison::default();
    let pass_percent_max = policy.pass_percent_max;
    let fresh = fresh(written.before, written.after);
    let passes = fresh.iter().filter(|test| test.status == Status::Passed).count();
    let unloaded = !written.after.load_errors.is_empty();
    match (unloaded, written.in_source) {
        (false, _) => weighed.reasons.extend(wrong_count(brief, fresh.len(), functions(&fresh))),
        (true, Some(count)) => weighed.reasons.extend(wrong_count(brief, count, count)),
        (true, None) => weighed
            .warnings
            .push("the new tests do not load yet, so they could not be counted".to_owned()),
    }
    weighed.reasons.extend(uncovered(brief, written.tests));
    let files = written.tests.iter().map(|test| test.file.as_str());
    let warned = brief.instructions.warnings(files, written.tests.len(), brief.components.len());
    weighed.warnings.extend(warned);
    if passes > 0 && !policy.allow_passes {
        let names: Vec<&str> = fresh
            .iter()
            .filter(|test| test.status == Status::Passed)
            .map(|test| test.id.as_str())
            .collect();
        let sentence = format!(
            "{} pass before any code is written, and the settings allow none",
            names.join(", ")
        );
        weighed.reasons.push(Reason::new(Code::RedPasses, sentence));
    } else if passes > 0 && !fresh.is_empty() {
        let total = written.in_source.filter(|_| unloaded).unwrap_or(0).max(fresh.len());
        let percent = passes.saturating_mul(100) / total;
        if u32::try_from(percent).unwrap_or(u32::MAX) > pass_percent_max {
            weighed.warnings.push(format!(
                "{percent} % of the new tests pass before any code is written ({passes} of \
                 {total}); more than {pass_percent_max} % deserve a closer look",
            ));
        }
    }
    weighed
}

/// Cases of a specification that no test names. A task has no case ids, so only the number counts.
fn uncovered(brief: &Brief, tests: &[SourceTest]) -> Option<Reason> {
    let cases = if brief.door == Door::Spec { brief.test_cases.as_slice() } else { &[] };
    let missing: Vec<String> = covered(cases, tests)
        .into_iter()
        .filter(|case| case.tests.is_empty())
        .map(|case| format!("{}: {}", case.id, case.description))
        .collect();
    let sentence = || {
        format!(
            "no test covers {}; put the id into the test's name, its docstring or the comment \
             above it",
            missing.join("; ")
        )
    };
    (!missing.is_empty()).then(|| Reason::new(Code::RedCaseMissing, sentence()))
}

/// Files that the task says will change, but that did not change.
pub fn untouched(brief: &Brief, phase: Phase, changed: &[String]) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    for point in brief.points(phase).filter(|point| !point.is_touched(changed)) {
        let file = point.file.as_deref().unwrap_or_default();
        if !reasons.iter().any(|reason| reason.file.as_deref() == Some(file)) {
            let sentence = format!(
                "{file} is a modification point of the task ({}), but did not change",
                point.words
            );
            reasons.push(Reason::new(Code::TaskPoint, sentence).place(Some(file), None));
        }
    }
    reasons
}

/// New tests.
pub fn fresh<'a>(before: &Report, after: &'a Report) -> Vec<&'a Test> {
    let known: HashSet<&str> = before.tests.iter().map(|test| test.id.as_str()).collect();
    after.tests.iter().filter(|test| !known.contains(test.id.as_str())).collect()
}

/// The number of test functions: a parameterized test counts once.
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
        // A task without test cases still requires tests.
        None if brief.test_cases.is_empty() => (tests == 0, "tests are required".to_owned()),
        Some(count) => {
            (tests != count && functions != count, format!("{count} tests are required"))
        }
        None => {
            let cases = brief.test_cases.len();
            (functions.max(tests) < cases, format!("{cases} test cases are required"))
        }
    };
    wrong
        .then(|| Reason::new(Code::RedWrongCount, format!("{asked}, but {functions} were written")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brief::{Case, ModificationPoint, PhaseOrders};
    use crate::report::{LoadError, LoadErrorKind};

    fn report(tests: &str) -> Report {
        let test = |word: &str| {
            let (mark, id) = word.split_at(1);
            Test::new(id, if mark == "+" { Status::Passed } else { Status::Failed })
        };
        Report { tests: tests.split_whitespace().map(test).collect(), ..Report::default() }
    }

    fn check(
        count: Option<u32>,
        cases: usize,
        after: &str,
        in_source: Option<usize>,
        expected: &str,
    ) {
        let brief = Brief {
            door: Door::Task,
            test_count: count,
            test_cases: vec![Case::default(); cases],
            ..Brief::default()
        };
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
        let written = TestSource { before: &before, after: &after, in_source, tests: &[] };
        let weighed = weigh(&brief, &Policy::default(), written);
        let told: Vec<String> = weighed
            .reasons
            .into_iter()
            .map(|reason| reason.sentence)
            .chain(weighed.warnings)
            .collect();
        assert_eq!(told.join("; "), expected, "{after:?}");
    }

    #[test]
    fn the_number_of_tests_must_match_the_brief() {
        check(Some(2), 2, "+old -a -b", None, "");
        check(Some(2), 2, "+old -a", None, "2 tests are required, but 1 were written");
        check(Some(2), 2, "+old -a -b -c", None, "2 tests are required, but 3 were written");
        check(Some(2), 2, "+old -t.py::a[1] -t.py::a[2] -t.py::b", None, "");
        check(Some(3), 3, "+old", Some(3), "");
        check(Some(4), 4, "+old +a", Some(4), "");
        check(Some(3), 3, "+old", Some(2), "3 tests are required, but 2 were written");
        check(None, 2, "+old -a -b -c", None, "");
        check(None, 3, "+old -a -b", None, "3 test cases are required, but 2 were written");
    }

    #[test]
    fn a_test_must_name_every_case_of_a_specification() {
        let case = |id: &str| Case {
            id: id.to_owned(),
            description: "adds".to_owned(),
            ..Case::default()
        };
        let brief = Brief {
            door: Door::Spec,
            test_cases: vec![case("TC1"), case("TC2")],
            ..Brief::default()
        };
        let (before, after) = (report(""), report("-a -b"));
        let tests = tests_in(
            "tests/test_t.py",
            "def test_a():\n    # TC1\n    assert a()\n\n\ndef test_b():\n    assert b()\n",
        );
        let written =
            TestSource { before: &before, after: &after, in_source: Some(2), tests: &tests };
        let reasons = weigh(&brief, &Policy::default(), written).reasons;
        assert_eq!(reasons.len(), 1);
        assert!(
            reasons[0].sentence.starts_with("no test covers TC2: adds;"),
            "{}",
            reasons[0].sentence
        );
    }

    #[test]
    fn passes_can_be_forbidden() {
        let (before, after) = (report(""), report("-a +b"));
        let written = TestSource { before: &before, after: &after, in_source: None, tests: &[] };
        let policy = Policy { allow_passes: false, ..Policy::default() };
        let weighed = weigh(
            &Brief { door: Door::Task, test_count: Some(2), ..Brief::default() },
            &policy,
            written,
        );
        assert_eq!(
            weighed.reasons[0].sentence,
            "b pass before any code is written, and the settings allow none"
        );
    }

    #[test]
    fn files_named_by_a_task_must_change() {
        let green = PhaseOrders {
            modification_points: vec![ModificationPoint::of_text("a.py: add")],
            ..PhaseOrders::of(Phase::Green)
        };
        let brief = Brief {
            phases: vec![green],
            modification_points: vec![
                ModificationPoint::of_text("a.py"),
                ModificationPoint::of_text("b.py"),
            ],
            ..Brief::default()
        };
        let files = |phase, changed: &[&str]| -> Vec<String> {
            let changed: Vec<String> = changed.iter().map(|path| (*path).to_owned()).collect();
            untouched(&brief, phase, &changed)
                .into_iter()
                .filter_map(|reason| reason.file)
                .collect()
        };
        assert_eq!(files(Phase::Green, &["c.py"]), ["a.py", "b.py"]);
        assert_eq!(files(Phase::Green, &["a.py", "b.py"]), Vec::<String>::new());
        assert_eq!(files(Phase::Red, &[]), Vec::<String>::new());
    }

    #[test]
    fn warns_if_many_tests_pass_immediately() {
        check(None, 1, "-a -b -c +d", None, "");
        let words = "50 % of the new tests pass before any code is written (1 of 2); more than 30 \
                     % deserve a closer look";
        check(None, 1, "-a +b", None, words);
    }
}
