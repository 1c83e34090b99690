//! Texts of the answers: what happened, the evidence, the next command.

use std::path::PathBuf;

use redgreen_core::agent::{AttemptFailure, Cost};
use redgreen_core::brief::headline;
use redgreen_core::event::Outcome;
use redgreen_core::policy::{RunCost, dollars};
use redgreen_core::report::room::{Help, RoomFailure};
use redgreen_core::verdict::ExperimentRecord;

use super::screen::{answer_columns, cut, talk_columns};
use super::wrap::wrap;
use super::{BAD, DOUBT, GOOD, HINT, PLAIN, QUIET, STRONG, paint};
use crate::config::NetworkAccess;
use crate::failure::Failure;

/// What is sent, in one sentence. `docs/book/what-is-sent.md` has the details.
pub const POLICY: &str = "the request, the files an agent reads, test output and git diffs go to the agent you choose, \
                          and nowhere else; no telemetry";

/// The rows of a block that contain sentences. The others contain commands and paths to copy, so
/// they are not wrapped.
const SENTENCES: &[&str] = &["asked", "fault", "gate", "note", "state", "test", "verdict"];

/// What agents can read, in one sentence. `docs/book/external-agents.md` has the details.
pub fn readable(allowed: &[PathBuf]) -> String {
    let more: Vec<String> = allowed.iter().map(|path| path.display().to_string()).collect();
    let more = if more.is_empty() {
        String::new()
    } else {
        format!("; agent.allow-read adds {}", more.join(", "))
    };
    format!(
        "in the sandbox, agents see their worktree, installed programs and packages, but not your \
         home{more}"
    )
}

/// Where the programs of agents may connect to.
pub fn reachable(access: NetworkAccess, allowed: &[String]) -> String {
    let more = match allowed {
        [] => String::new(),
        hosts => format!(", and {} (agent.allow-hosts)", hosts.join(", ")),
    };
    match access {
        NetworkAccess::Limited => {
            format!(
                "in the sandbox, they connect only to their model's hosts and package \
                 registries{more}"
            )
        }
        NetworkAccess::Model => {
            format!("in the sandbox, they connect only to their model's hosts{more}")
        }
        NetworkAccess::Open => "agents' network is open (agent.network)".to_owned(),
    }
}

pub(super) fn failure(failure: &Failure) -> String {
    // No line of the text can look like redgreen's own output.
    let what = wrap(failure.what.trim_end(), "error: ".len(), "       ", talk_columns());
    let mut text = format!("{}: {what}\n", paint(BAD, "error"));
    for line in failure.evidence.iter().flat_map(|evidence| evidence.lines()) {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(next) = &failure.next {
        text.push_str(&next_line(next));
    }
    text
}

/// Why a run stopped, in a sentence.
pub fn outcome(outcome: &Outcome) -> String {
    let told = |word: &str, trouble: &AttemptFailure| format!("{word}: {}", trouble.message);
    match outcome {
        Outcome::Merged => paint(GOOD, "merged"),
        Outcome::Aborted => "aborted: nothing was merged".to_owned(),
        Outcome::Waiting => {
            format!("{}: all phases are accepted", paint(GOOD, "waiting for a human"))
        }
        Outcome::Paused { after, trouble: None } => {
            format!("{}: {after} is accepted and the run is paused", paint(GOOD, "waiting for you"))
        }
        Outcome::Paused { after, trouble: Some(trouble) } => told(
            &format!("{}: your changes in {after} are refused", paint(DOUBT, "waiting for you")),
            trouble,
        ),
        Outcome::MergeBlocked { trouble } => told(&paint(DOUBT, "waiting for a human"), trouble),
        Outcome::GaveUp { phase, trouble } => {
            told(&format!("{} in {phase}; its work was reverted", paint(BAD, "gave up")), trouble)
        }
        Outcome::NothingDeveloped { trouble } => {
            told(&paint(BAD, "nothing was developed"), trouble)
        }
        Outcome::Undecided { phase, trouble } => told(
            &format!("{} in {phase}; needs a human decision", paint(DOUBT, "undecided")),
            trouble,
        ),
        Outcome::AgentUnusable { trouble } => told(&paint(BAD, "the agent does not work"), trouble),
        Outcome::BaselineUnusable { trouble } => {
            told(&paint(BAD, "the tests do not run, so nothing could be judged"), trouble)
        }
        Outcome::BudgetSpent { what } => format!("{}: {what}", paint(DOUBT, "budget spent")),
        Outcome::Interrupted => "interrupted; nothing is lost".to_owned(),
        Outcome::RolledBack { to } => format!("rolled back to {}", to.get(..10).unwrap_or(to)),
    }
}

pub fn next_line(command: &str) -> String {
    format!("  {}  {}\n", paint(HINT, "next"), super::name(command))
}

/// Names and values in two columns, as wide as the longest name. A row without a value is omitted,
/// and the next command is last.
pub fn block(rows: &[(&str, &str)], next: &str) -> String {
    let next = ("next", next);
    let rows: Vec<_> =
        rows.iter().chain([&next]).filter(|(_, value)| !value.trim().is_empty()).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let below = " ".repeat(width + 4);
    let mut text = String::new();
    for (raw, value) in rows {
        let style = if *raw == next.0 { HINT } else { QUIET };
        // Colours have no width, so the name is padded before it is coloured.
        let name = paint(style, &format!("{raw:<width$}"));
        let columns = if SENTENCES.contains(raw) { answer_columns() } else { None };
        text.push_str(&format!(
            "  {name}  {}\n",
            wrap(value.trim_end(), below.len(), &below, columns)
        ));
    }
    text
}

/// A sentence of an answer that starts at a column. Further lines are below the margin.
pub fn sentence(text: &str, first: usize, margin: &str) -> String {
    wrap(text, first, margin, answer_columns())
}

/// Experiments in the order in which they ran.
pub fn experiments(made: &[ExperimentRecord]) -> String {
    ExperimentRecord::list(made)
}

/// The first lines of a text, each shortened.
pub fn clip(text: &str, lines_max: usize) -> String {
    const LINE_CHARS_MAX: usize = 300;
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let mut kept: Vec<String> =
        lines.iter().take(lines_max).map(|line| cut(line, LINE_CHARS_MAX)).collect();
    if lines.len() > lines_max {
        kept.push(format!("and {} more", count(lines.len() - lines_max, "line")));
    }
    kept.join("\n")
}

/// A diff with added and removed lines in colours.
pub fn patch(diff: &str, is_cut: bool) -> String {
    let mut text = String::with_capacity(diff.len());
    for line in diff.lines() {
        let style = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => STRONG,
            [b'+', ..] => GOOD,
            [b'-', ..] => BAD,
            [b'@', ..] => HINT,
            _ => PLAIN,
        };
        text.push_str(&paint(style, line));
        text.push('\n');
    }
    if is_cut {
        text.push_str("the diff is too long to show; its middle is omitted\n");
    }
    text
}

/// A text of any size as one line, like a title.
pub fn brief(text: &str) -> String {
    const TITLE_CHARS_MAX: usize = 100;
    let words: Vec<&str> = headline(text).split_whitespace().take(TITLE_CHARS_MAX).collect();
    cut(&words.join(" "), TITLE_CHARS_MAX)
}

/// `1.5 MB`: a size on disk, as `ls -h` would show it.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    let (mut value, mut shown) = (bytes as f64, "bytes");
    for unit in UNITS {
        if value < 1000.0 {
            break;
        }
        value /= 1000.0;
        shown = unit;
    }
    if shown == "bytes" || value >= 100.0 {
        format!("{value:.0} {shown}")
    } else {
        format!("{value:.1} {shown}")
    }
}

/// `1 turn`, `2 turns`, `2 deliveries`, `2 days`.
pub fn count(number: usize, thing: &str) -> String {
    let vowel = |start: &str| start.ends_with(['a', 'e', 'i', 'o', 'u']);
    match thing.strip_suffix('y') {
        _ if number == 1 => format!("1 {thing}"),
        Some(start) if !vowel(start) => format!("{number} {start}ies"),
        Some(_) | None => format!("{number} {thing}s"),
    }
}

pub fn title(id: &str, words: &str) -> String {
    format!("{}  {}\n", paint(STRONG, &super::name(id)), brief(words))
}

/// A moment in the user's own time zone.
pub fn date(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Each test that fails only in the clean room, with a possible fix.
pub fn only_there(found: &[(RoomFailure, Help)]) -> Vec<String> {
    let line = |(one, help): &(RoomFailure, Help)| {
        let id = super::name(&one.id);
        format!("fails only in the clean room: {id}; possible fix: {}", help.setting())
    };
    found.iter().map(line).collect()
}

/// The cost of a run. Unknown costs are reported as unknown.
pub fn cost(spent: &RunCost) -> String {
    let mut parts = Vec::new();
    if spent.tokens > 0 && spent.requests > 0 {
        let RunCost { tokens, input, cached, output, .. } = spent;
        parts.push(format!("{tokens} tokens ({input} sent, {cached} cached, {output} received)"));
    } else if spent.tokens > 0 {
        parts.push(format!("{} tokens", spent.tokens));
    }
    if spent.microdollars > 0 {
        parts.push(dollars(spent.microdollars));
    }
    if spent.unpriced_turns > 0 {
        parts.push(format!("price of {} unknown", count(spent.unpriced_turns as usize, "turn")));
    }
    if spent.unknown_turns > 0 {
        parts.push(format!("{} of unknown cost", count(spent.unknown_turns as usize, "turn")));
    }
    parts.join(", ")
}

/// The cost of a run so far, with the current turn. Empty if unknown.
pub fn spent_so_far(spent: &RunCost, turn: Option<&Cost>) -> String {
    let turn = turn.copied().unwrap_or_default();
    let tokens = spent.tokens.saturating_add(turn.tokens.unwrap_or(0));
    let price = spent.microdollars.saturating_add(turn.microdollars.unwrap_or(0));
    let tokens = Some(tokens).filter(|tokens| *tokens > 0);
    cost_so_far(&Cost { tokens, microdollars: Some(price), ..Cost::default() })
}

/// The cost of a turn so far, for its live line.
pub(super) fn cost_so_far(cost: &Cost) -> String {
    let tokens = cost.tokens.map(|tokens| format!("{tokens} tokens"));
    let price = cost.microdollars.filter(|price| *price > 0).map(dollars);
    tokens.into_iter().chain(price).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_counted_in_english() {
        for (number, thing, expected) in [
            (1, "delivery", "1 delivery"),
            (0, "delivery", "0 deliveries"),
            (2, "day", "2 days"),
            (2, "turn", "2 turns"),
        ] {
            assert_eq!(count(number, thing), expected);
        }
    }
}
