//! A proof on a terminal: the outcome, the evidence, and what was not verified.

use super::{
    HunkProof, Proof, by_class, by_standing, code_counted, killed, name, notes, nothing_left_out,
    pair, place_of, place_of_hunk, range, sentence, step, tests_counted, time, told, word,
};
use crate::proof::{TestProof, count};
use crate::text::without_commands;
use crate::verdict::Reason;

/// For each class, status and list.
const LINES_MAX: usize = 20;

/// Plain text, with everything that was not verified at the end.
pub fn text(proof: &Proof) -> String {
    let mut rows: Vec<(&str, Vec<String>)> = vec![
        ("range", range(proof).into_iter().collect()),
        ("why", why(&proof.reasons)),
        ("tests", tests(proof)),
        ("code", code(proof)),
        ("removed", bounded(proof.evidence.removed.iter().map(|id| name(id)).collect(), "test")),
        ("judged", bounded(proof.evidence.steps.iter().map(step).collect(), "step")),
        ("commits", bounded(proof.evidence.commits.iter().map(pair).collect(), "pair")),
        ("exempted", exempted(proof)),
        ("note", bounded(notes(proof), "note")),
        ("ran", vec![sentence(&proof.evidence.ran)]),
        ("fence", vec![sentence(&proof.evidence.fence)]),
        ("part", proof.evidence.shard.iter().map(ToString::to_string).collect()),
        ("time", time(proof).into_iter().collect()),
    ];
    rows.retain(|(_, lines)| lines.iter().any(|line| !line.is_empty()));
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = format!("{}: {}\n", word(proof.outcome), proof.sentence());
    for (name, lines) in rows {
        for (at, line) in lines.iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            text.push_str(&format!("  {name:<width$}  {line}\n"));
        }
    }
    text.push_str("not verified\n");
    for line in &proof.not_verified {
        text.push_str(&format!("  {}\n", sentence(line)));
    }
    if proof.not_verified.is_empty() {
        text.push_str(&format!("  {}\n", nothing_left_out()));
    }
    // Some CI systems read a name at the beginning of a line as a command, indented or not.
    without_commands(&text).into_owned()
}

/// Each reason with its place. The next step appears once, below the last reason with its code.
fn why(reasons: &[Reason]) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, reason) in reasons.iter().enumerate() {
        let place = place_of(reason.file.as_deref(), reason.line);
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        lines.push(format!("{}: {}{place}", reason.code.as_str(), told(reason)));
        if reasons.get(at + 1).is_none_or(|next| next.code != reason.code) {
            lines.push(format!("  next: {}", reason.code.next_step()));
        }
    }
    lines
}

fn tests(proof: &Proof) -> Vec<String> {
    let mut lines = Vec::new();
    if proof.tests.is_empty() {
        return lines;
    }
    lines.push(tests_counted(proof));
    for (class, tests) in by_class(proof) {
        lines.push(format!("{}:", class.as_str()));
        lines.extend(inside(bounded(tests.iter().map(|test| self::test(test)).collect(), "test")));
    }
    lines
}

fn test(test: &TestProof) -> String {
    let place = place_of(test.file.as_deref(), test.line)
        .map(|place| format!(" ({place})"))
        .unwrap_or_default();
    format!("{}{place}: {}", name(&test.id), sentence(&test.why))
}

fn code(proof: &Proof) -> Vec<String> {
    let mut lines = Vec::new();
    if proof.code.is_empty() {
        return lines;
    }
    let (killed, tried) = proof.kill_rate();
    let mutants = if tried > 0 {
        format!("; {killed} of {} killed", count(tried, "mutant"))
    } else {
        String::new()
    };
    lines.push(format!("{}{mutants}", code_counted(proof)));
    for (standing, hunks) in by_standing(proof) {
        lines.push(format!("{}:", standing.as_str()));
        lines.extend(inside(bounded(hunks.iter().map(|hunk| self::hunk(hunk)).collect(), "place")));
    }
    lines
}

fn hunk(hunk: &HunkProof) -> String {
    let mut line = place_of_hunk(hunk);
    if let Some(killed) = killed(hunk) {
        line.push_str(&format!(": {killed}"));
    }
    if !hunk.tests.is_empty() {
        line.push_str(&format!(
            ", by {}",
            hunk.tests.iter().map(|test| name(test)).collect::<Vec<_>>().join(", ")
        ));
    }
    line
}

fn exempted(proof: &Proof) -> Vec<String> {
    let told = proof
        .exempted
        .iter()
        .map(|one| format!("{} ({})", sentence(&one.what), sentence(&one.reason)));
    bounded(told.collect(), "exemption")
}

/// The first lines; the rest is counted.
fn bounded(mut lines: Vec<String>, what: &str) -> Vec<String> {
    let more = lines.len().saturating_sub(LINES_MAX);
    if more > 0 {
        lines.truncate(LINES_MAX);
        lines.push(format!("and {more} more {what}{}", if more == 1 { "" } else { "s" }));
    }
    lines
}

fn inside(lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(|line| format!("  {line}"))
}
