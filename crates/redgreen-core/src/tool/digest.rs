//! Shortens tool answers for a model: the beginning and the end of a long text, and failures
//! grouped by cause.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::report::{LoadError, Outcome, Report, Test};

/// Maximum number of causes in full; the rest is counted.
const CAUSES_MAX: usize = 8;
const MESSAGE_LINES_MAX: usize = 12;
const MESSAGE_LINE_CHARS_MAX: usize = 200;
/// Maximum number of named tests with the same failure.
const ALIKE_MAX: usize = 5;
const TAIL_LINES_MAX: usize = 30;

/// The beginning and the end of a text within a limit, with the size of the omitted part. Cuts at
/// line ends if possible.
pub fn head_and_tail(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let half = bytes_max / 2;
    let head = text.get(..text.floor_char_boundary(half)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - half)..).unwrap_or_default();
    let head = head.rfind('\n').and_then(|end| head.get(..=end)).unwrap_or(head);
    let tail = tail.find('\n').and_then(|start| tail.get(start + 1..)).unwrap_or(tail);
    let gap = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{gap}[{} bytes left out]\n{tail}", text.len() - head.len() - tail.len())
}

/// A short form of a test run: the counts, and each cause of failure once.
pub fn report(report: &Report) -> String {
    let counts = report.counts();
    let mut text = format!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.skipped > 0 {
        write!(text, ", {} skipped", counts.skipped).ok();
    }
    writeln!(text, " ({}, {})", report.command, report.exit).ok();
    for error in report.unloaded().take(CAUSES_MAX) {
        text.push_str(&load_error(error));
    }
    more(&mut text, counts.load_errors);
    for words in report.errors_outside.iter().take(CAUSES_MAX) {
        writeln!(text, "outside of any test: {}", bounded(words)).ok();
    }
    let causes = causes(report);
    for alike in causes.iter().take(CAUSES_MAX) {
        text.push_str(&cause(alike));
    }
    more(&mut text, causes.len());
    let untold = causes.is_empty() && counts.load_errors == 0 && report.errors_outside.is_empty();
    match report.outcome {
        Outcome::Passed | Outcome::Skipped => {}
        Outcome::NoTests if untold => text.push_str("no test was found\n"),
        Outcome::TimedOut if untold => text.push_str("the time limit was reached\n"),
        Outcome::NoTests
        | Outcome::Failed
        | Outcome::Errored
        | Outcome::DidNotCompile
        | Outcome::Crashed
        | Outcome::TimedOut
        | Outcome::UsageError => {}
    }
    if untold && !matches!(report.outcome, Outcome::Passed | Outcome::Skipped) {
        let lines: Vec<&str> = report.output_tail.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(TAIL_LINES_MAX)) {
            writeln!(text, "{line}").ok();
        }
    }
    text
}

/// Failing tests grouped by cause, in the original order.
fn causes(report: &Report) -> Vec<Vec<&Test>> {
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Test>> = Vec::new();
    for test in report.tests.iter().filter(|test| test.status.is_failure()) {
        let message = test.message.as_deref().unwrap_or_default();
        let first = message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let place = *places
            .entry((test.exception.as_deref().unwrap_or_default(), first))
            .or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(test),
            None => groups.push(vec![test]),
        }
    }
    groups
}

fn cause(alike: &[&Test]) -> String {
    let Some((first, rest)) = alike.split_first() else { return String::new() };
    let mut text = format!("FAILED {}", first.id);
    if let Some(file) = &first.file {
        let line = first.line.map(|line| format!(":{line}")).unwrap_or_default();
        write!(text, " at {file}{line}").ok();
    }
    text.push('\n');
    let words = first.message.as_deref().or(first.exception.as_deref()).unwrap_or_default();
    if !words.trim().is_empty() {
        writeln!(text, "  {}", bounded(words)).ok();
    }
    if !rest.is_empty() {
        let names: Vec<&str> = rest.iter().take(ALIKE_MAX).map(|test| test.id.as_str()).collect();
        let dots = if rest.len() > ALIKE_MAX { ", …" } else { "" };
        writeln!(text, "  the same in {} more: {}{dots}", rest.len(), names.join(", ")).ok();
    }
    text
}

fn load_error(error: &LoadError) -> String {
    let place = match (&error.file, error.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(file), None) => format!("{file}: "),
        (None, _) => String::new(),
    };
    format!("does not load: {place}{}\n", bounded(&error.message))
}

fn more(text: &mut String, count: usize) {
    if count > CAUSES_MAX {
        writeln!(text, "and {} more", count - CAUSES_MAX).ok();
    }
}

fn bounded(words: &str) -> String {
    let lines = words.trim().lines();
    let kept: Vec<String> = lines
        .take(MESSAGE_LINES_MAX)
        .map(|line| line.chars().take(MESSAGE_LINE_CHARS_MAX).collect())
        .collect();
    kept.join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Exit, LoadErrorKind, Stage, Status};

    #[test]
    fn a_long_text_keeps_its_ends() {
        assert_eq!(head_and_tail("short", 10), "short");
        let lines: String = (0..100).map(|number| format!("line {number}\n")).collect();
        let cut = head_and_tail(&lines, 60);
        assert!(
            cut.starts_with("line 0\n")
                && cut.ends_with("line 99\n")
                && cut.contains("bytes left out]\n"),
            "{cut}"
        );
        assert!(cut.len() < 90);
        let wide = "ä".repeat(1000);
        assert!(head_and_tail(&wide, 101).contains("[1900 bytes left out]"));
    }

    #[test]
    fn reports_each_cause_once() {
        let failing = |id: &str, message: &str| Test {
            message: Some(message.to_owned()),
            file: Some("t.py".to_owned()),
            line: Some(3),
            ..Test::new(id, Status::Failed)
        };
        let mut seen = Report {
            command: "pytest".to_owned(),
            exit: Exit::Code(1),
            finished: true,
            ..Report::default()
        };
        seen.tests = vec![failing("a", "no add"), failing("b", "no add"), failing("c", "other")];
        seen.tests.push(Test::new("d", Status::Passed));
        seen.conclude();
        assert_eq!(
            report(&seen),
            "1 passed, 3 failed (pytest, exit 1)\nFAILED a at t.py:3\n  no add\n  the same in 1 more: b\n\
             FAILED c at t.py:3\n  other\n"
        );
    }

    #[test]
    fn reports_load_errors_and_silent_failures() {
        let error = LoadError {
            stage: Stage::Collect,
            file: Some("t.py".to_owned()),
            line: Some(1),
            kind: LoadErrorKind::MissingSymbol,
            code: None,
            message: "No module named 'calc'".to_owned(),
        };
        let broken = Report { load_errors: vec![error], ..Report::default() };
        assert!(report(&broken).contains("does not load: t.py:1: No module named 'calc'\n"));
        let tail = "no".to_owned();
        let red = Report {
            owed: broken.load_errors,
            output_tail: tail,
            exit: Exit::Code(2),
            ..Report::default()
        };
        assert_eq!(
            report(&red),
            "0 passed, 0 failed (, exit 2)\ndoes not load: t.py:1: No module named 'calc'\n"
        );
        let crashed = Report { output_tail: "boom\n".to_owned(), ..Report::default() };
        assert!(report(&crashed).ends_with("boom\n"), "{}", report(&crashed));
    }
}
