//! A table of the situations that redgreen must recognize with every runner. Each framework fills
//! in its tests and the expected report.

use std::thread;
use std::time::Duration;

use super::{Project, is_installed, shown};

/// A situation of one framework: the tests, and the displayed report. A line that ends with `…` is
/// a prefix. `…` alone matches any number of lines, because the runner may be killed before or
/// after it reports a test.
pub(super) type Row = (&'static str, &'static [&'static str]);

pub(super) struct Situations {
    /// If this program is missing, the framework is skipped by name.
    pub(super) program: &'static str,
    /// A project with these tests.
    pub(super) project: fn(&str) -> Project,
    pub(super) all_pass: Row,
    pub(super) assertion_fails: Row,
    pub(super) missing_module: Row,
    pub(super) missing_function: Row,
    pub(super) syntax_error: Row,
    pub(super) none_collected: Row,
    /// An id that no test of `all_pass` has.
    pub(super) filter_matches_nothing: Row,
    pub(super) ends_with_0: Row,
    pub(super) hangs: Row,
    /// Long enough for the runner to reach the test that hangs.
    pub(super) hang_seconds: u64,
    pub(super) skipped: Row,
    pub(super) parameters: Row,
    /// Prints a fake success report in the runner's format, and fails.
    pub(super) imitates_a_summary: Row,
}

/// Runs a row's tests, or its id, and shows the report.
type Look<'a> = &'a (dyn Fn(&str) -> String + Sync);

/// How many rows run in parallel: each takes a few seconds and mostly waits.
const AT_ONCE: usize = 3;

impl Situations {
    /// Runs all rows, and reports all differences together.
    pub(super) fn check(&self) {
        if !is_installed(self.program) {
            return;
        }
        let run = |tests: &str| shown(&(self.project)(tests).run());
        let one = |id: &str| (self.project)(self.all_pass.0).one(id);
        let hang = |tests: &str| {
            shown(&(self.project)(tests).run_within(Duration::from_secs(self.hang_seconds)))
        };
        let rows: [(&str, Row, Look<'_>); 12] = [
            ("all pass", self.all_pass, &run),
            ("an assertion fails", self.assertion_fails, &run),
            ("a module is missing", self.missing_module, &run),
            ("a function is missing", self.missing_function, &run),
            ("a syntax error", self.syntax_error, &run),
            ("none collected", self.none_collected, &run),
            ("a filter that matches nothing", self.filter_matches_nothing, &one),
            ("a test ends the process with 0", self.ends_with_0, &run),
            ("a test hangs", self.hangs, &hang),
            ("skipped", self.skipped, &run),
            ("parameters", self.parameters, &run),
            ("output that imitates a summary", self.imitates_a_summary, &run),
        ];
        let mut wrong = Vec::new();
        for some in rows.chunks(AT_ONCE) {
            thread::scope(|scope| {
                let runs: Vec<_> =
                    some.iter().map(|(_, row, look)| scope.spawn(|| look(row.0))).collect();
                for (run, (name, row, _)) in runs.into_iter().zip(some) {
                    let seen = run.join().unwrap_or_else(|_| "a panic".to_owned());
                    if !is_like(&seen, row.1) {
                        wrong.push(format!(
                            "{name}: expected\n{}\nseen\n{seen}\n",
                            row.1.join("\n")
                        ));
                    }
                }
            });
        }
        assert!(wrong.is_empty(), "{}: {}", self.program, wrong.join("\n"));
    }
}

fn is_like(seen: &str, expected: &[&str]) -> bool {
    let lines: Vec<&str> = seen.lines().collect();
    let same = |(line, wanted): (&&str, &&str)| match wanted.strip_suffix('…') {
        Some(beginning) => line.starts_with(beginning),
        None => line == wanted,
    };
    match expected {
        [first @ .., "…"] => lines.len() >= first.len() && lines.iter().zip(first).all(same),
        _ => lines.len() == expected.len() && lines.iter().zip(expected).all(same),
    }
}
