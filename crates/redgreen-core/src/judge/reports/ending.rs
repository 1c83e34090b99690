//! How a test run ended, and the sentence for it.

use super::*;

/// All tests pass, but exit code and report disagree. A suite that was not clean before may stay
/// that way.
pub(super) fn contradiction(before: &Report, after: &Report, code: Code) -> Option<Reason> {
    let clean_before =
        matches!(before.outcome, Outcome::Passed | Outcome::NoTests | Outcome::Skipped);
    if let Some(denied) = denied_failures(before, after, code) {
        return Some(denied);
    }
    let failures_now = after.tests.iter().any(|test| test.status.is_failure());
    if clean_before && after.tests.is_empty() && after.exit != Exit::Code(0) {
        return Some(Reason::new(
            code,
            format!("no tests found: `{}` ended with {}", after.command, after.exit),
        ));
    }
    if clean_before && !failures_now && after.exit != Exit::Code(0) {
        let outside =
            after.errors_outside.first().map_or("no test reports the cause", String::as_str);
        return Some(Reason::new(
            code,
            format!("every test passes, but the run ended with {}: {outside}", after.exit),
        ));
    }
    None
}

pub(super) fn denied_failures(before: &Report, after: &Report, code: Code) -> Option<Reason> {
    (after.has(Flag::ExitCodeContradicts) && !before.has(Flag::ExitCodeContradicts)).then(|| {
        Reason::new(code, "the report lists failures, but the exit code says there are none")
    })
}

/// The test run did not finish.
pub(super) fn unfinished(after: &Report, timed_out: Code, ended_early: Code) -> Option<Reason> {
    match after.outcome {
        Outcome::TimedOut => {
            let setting =
                if timed_out == Code::RedTimedOut { "timeout.red" } else { "timeout.green" };
            let sentence = format!(
                "the tests did not finish within {} s: {}; to allow more time, set `{setting}`, or \
                 pass `--timeout` to `redgreen judge`",
                after.wall_ms / 1000,
                after.command
            );
            Some(Reason::new(timed_out, sentence))
        }
        Outcome::Crashed => Some(crashed(ended_early, after)),
        Outcome::Passed
        | Outcome::Failed
        | Outcome::Errored
        | Outcome::Skipped
        | Outcome::DidNotCompile
        | Outcome::NoTests
        | Outcome::UsageError => None,
    }
}

pub(super) fn crashed(code: Code, after: &Report) -> Reason {
    let unfinished: Vec<&str> = after
        .tests
        .iter()
        .filter(|test| test.status == Status::Crashed)
        .map(|test| test.id.as_str())
        .take(REASONS_MAX)
        .collect();
    let who = if unfinished.is_empty() {
        String::new()
    } else {
        format!(", in {}", unfinished.join(", "))
    };
    let why = after
        .errors_outside
        .first()
        .map(|words| format!(": {}", first_line(words)))
        .unwrap_or_default();
    Reason::new(code, format!("the run ended early ({}){who}{why}", after.exit))
}

pub(super) fn failure(code: Code, test: &Test) -> Reason {
    let message = first_line(test.message.as_deref().unwrap_or("no message"));
    Reason::new(code, format!("{} fails: {message}", test.id))
        .test(&test.id)
        .place(test.file.as_deref(), test.line)
}

pub(super) fn bounded(mut reasons: Vec<Reason>) -> Vec<Reason> {
    let more = reasons.len().saturating_sub(REASONS_MAX);
    reasons.truncate(REASONS_MAX);
    if more > 0
        && let Some(last) = reasons.last_mut()
    {
        last.sentence.push_str(&format!(" (and {more} more)"));
    }
    reasons
}

/// `1 test`, `2 tests`.
pub(super) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The decisive line: the first one, plus the compared values if the runner prints them below.
pub(crate) fn first_line(message: &str) -> String {
    const LINE_CHARS_MAX: usize = 200;
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("no message");
    let compared: Vec<&str> =
        lines.filter(|line| line.starts_with("left:") || line.starts_with("right:")).collect();
    let line = if compared.is_empty() {
        first.to_owned()
    } else {
        format!("{first} ({})", compared.join(", "))
    };
    line.chars().take(LINE_CHARS_MAX).collect()
}
