//! Counts tests while they run, from the lines that a runner writes: our reporters' stream, the
//! JSON of libtest and of `go test`, surefire's line for each class, TAP and ctest. For display
//! only; no verdict depends on it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;

use super::stream::Tally;

/// Longer lines are not counted.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Maximum number of running Go tests with subtests. Beyond it, parents are counted as well.
const PARENTS_MAX: usize = 10_000;
/// The start of every libtest event. Output of a test without a line end can precede it.
const LIBTEST: &str = "{ \"type\": ";

/// Counts incrementally, from bytes as they arrive.
#[derive(Debug, Default)]
pub struct Counter {
    tally: Tally,
    /// The current, incomplete line.
    line: Vec<u8>,
    /// Go tests with subtests, by package and name. The report contains only the subtests.
    parents: BTreeSet<(String, String)>,
}

/// An event of libtest or `go test`.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    event: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "Action")]
    action: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "Package")]
    package: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "Test")]
    test: Option<Cow<'a, str>>,
}

impl Counter {
    pub fn tally(&self) -> Tally {
        self.tally
    }

    pub fn hear(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.count(&String::from_utf8_lossy(&line));
            }
        }
    }

    fn count(&mut self, line: &str) {
        let line = line.trim();
        let json = line.find(LIBTEST).and_then(|at| line.get(at..)).unwrap_or(line);
        if !json.starts_with('{') {
            return self.count_text(line);
        }
        let Ok(event) = serde_json::from_str::<Event<'_>>(json) else { return };
        match (event.kind.as_deref(), event.event.as_deref(), event.action.as_deref(), event.test) {
            (Some("test"), Some("ok" | "ignored"), _, _) => self.add(1, 0),
            (Some("test"), Some("failed"), _, _) => self.add(1, 1),
            (None, None, Some(action @ ("pass" | "skip" | "fail")), Some(test)) => {
                self.count_go(&event.package.unwrap_or_default(), &test, action == "fail");
            }
            (None, Some(_), None, _) => self.tally.take(json.as_bytes()),
            _ => {}
        }
    }

    /// A Go test ends after its subtests.
    fn count_go(&mut self, package: &str, test: &str, failed: bool) {
        if let Some((parent, _)) = test.rsplit_once('/')
            && self.parents.len() < PARENTS_MAX
        {
            self.parents.insert((package.to_owned(), parent.to_owned()));
        }
        if !self.parents.remove(&(package.to_owned(), test.to_owned())) {
            self.add(1, usize::from(failed));
        }
    }

    fn count_text(&mut self, line: &str) {
        if let Some((_, counts)) = line.split_once("Tests run: ")
            // Surefire's summary at the end has no time.
            && counts.contains("Time elapsed: ")
        {
            let mut numbers = counts
                .split(", ")
                .map(|part| part.rsplit(' ').next().and_then(|word| word.parse().ok()));
            let mut next = || numbers.next().flatten().unwrap_or_default();
            let (run, failures, errors): (usize, usize, usize) = (next(), next(), next());
            self.add(run, failures.saturating_add(errors));
        } else if let Some((number, rest)) = line.split_once(" Test ")
            && let Some((done, total)) = number.split_once('/')
            && done.parse::<usize>().is_ok()
            && rest.trim_start().starts_with('#')
        {
            self.tally.total = total.parse().ok().or(self.tally.total);
            self.add(1, usize::from(rest.contains("***")));
        } else if let Some(plan) = line.strip_prefix("1..") {
            self.tally.total = plan.parse().ok().or(self.tally.total);
        } else if is_tap(line, "ok ") {
            self.add(1, 0);
        } else if is_tap(line, "not ok ") {
            self.add(1, 1);
        }
    }

    fn add(&mut self, done: usize, failed: usize) {
        self.tally.done = self.tally.done.saturating_add(done);
        self.tally.failed = self.tally.failed.saturating_add(failed);
    }
}

/// Test lines of bats always have a number, unlike a sentence that starts with the same word.
fn is_tap(line: &str, beginning: &str) -> bool {
    line.strip_prefix(beginning)
        .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stream: &str, done: usize, failed: usize, total: Option<usize>) {
        for size in [1, 7, stream.len()] {
            let mut counter = Counter::default();
            stream.as_bytes().chunks(size).for_each(|part| counter.hear(part));
            assert_eq!(counter.tally(), Tally { done, failed, total }, "{stream}");
        }
    }

    #[test]
    fn counts_tests_in_the_output_of_each_runner() {
        let libtest = "{ \"type\": \"suite\", \"event\": \"started\", \"test_count\": 3 }\n\
            { \"type\": \"test\", \"event\": \"started\", \"name\": \"a\" }\n\
            printed{ \"type\": \"test\", \"name\": \"a\", \"event\": \"ok\", \"exec_time\": 0.1 }\n\
            { \"type\": \"test\", \"name\": \"b\", \"event\": \"failed\", \"stdout\": \"no\\n\" }\n\
            { \"type\": \"test\", \"name\": \"c\", \"event\": \"ignored\" }\n\
            { \"type\": \"test\", \"event\": \"timeout\", \"name\": \"d\" }\n\
            { \"type\": \"suite\", \"event\": \"failed\", \"passed\": 1, \"failed\": 1, \"ignored\": 1 }\n";
        check(libtest, 3, 1, None);
        let go = "{\"Action\":\"run\",\"Package\":\"x\",\"Test\":\"A\"}\n\
            {\"Action\":\"output\",\"Package\":\"x\",\"Test\":\"A\",\"Output\":\"pass\"}\n\
            {\"Action\":\"pass\",\"Package\":\"x\",\"Test\":\"A/b\",\"Elapsed\":0}\n\
            {\"Action\":\"fail\",\"Package\":\"x\",\"Test\":\"A/c\",\"Elapsed\":0}\n\
            {\"Action\":\"fail\",\"Package\":\"x\",\"Test\":\"A\",\"Elapsed\":0}\n\
            {\"Action\":\"skip\",\"Package\":\"y\",\"Test\":\"A\",\"Elapsed\":0}\n\
            {\"Action\":\"fail\",\"Package\":\"x\",\"Elapsed\":0.003}\n";
        check(go, 3, 1, None);
        let surefire = "[INFO] Running shop.CartTest\n\
            [INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.034 s - in shop.CartTest\n\
            [ERROR] Tests run: 3, Failures: 1, Errors: 1, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in shop.ATest\n\
            [ERROR] Tests run: 7, Failures: 1, Errors: 1, Skipped: 1\n";
        check(surefire, 7, 2, None);
        check("1..3\nok 1 adds\nnot ok 2 subtracts\nok then\nok 3 divides # skip\n", 3, 1, Some(3));
        let ctest = "    Start 1: adds\n1/2 Test #1: adds .....   Passed    0.00 sec\n    Start 2: b\n\
            2/2 Test #2: b ........***Failed    0.00 sec\n";
        check(ctest, 2, 1, Some(2));
        check(
            "{\"event\":\"start\",\"total\":7}\n{\"event\":\"result\",\"outcome\":\"failed\"}\n",
            1,
            1,
            Some(7),
        );
        check("noise\n{\"event\":\"resu\n{}\n{\"type\":3}\nTests run: many\n", 0, 0, None);
    }
}
