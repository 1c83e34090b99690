//! A proof as markdown, for a job summary or a pull request comment.
//!
//! Tables are HTML: GitHub and GitLab read no markdown inside an HTML block, so escaping HTML is
//! enough. Untrusted text is in `<code>`, which prevents mentions, links and emoji.

use super::{
    HunkProof, Outcome, Proof, by_class, by_standing, code_counted, killed, line, name, notes,
    nothing_left_out, pair, place_of, place_of_hunk, range, step, tests_counted, time, told, word,
};
use crate::page::escaped;
use crate::proof::{Class, TestProof};
use crate::verdict::Reason;

/// A GitHub comment can have 65,536 characters, a summary 1 MiB. The text must fit both. Its parts
/// are below.
#[cfg(test)]
pub(super) const MARKDOWN_BYTES_MAX: usize = 60_000;
const REASONS_BYTES_MAX: usize = 14_000;
const TESTS_BYTES_MAX: usize = 16_000;
const CODE_BYTES_MAX: usize = 10_000;
const LIST_BYTES_MAX: usize = 3_000;
const UNVERIFIED_BYTES_MAX: usize = 6_000;
/// For a cell, before it is escaped.
const CELL_CHARS_MAX: usize = 160;
/// Longer tables are folded.
const OPEN_ROWS_MAX: usize = 12;

/// The whole text. "Not verified" is at the end.
pub fn markdown(proof: &Proof) -> String {
    let sign = match proof.outcome {
        Outcome::Proven => "✅",
        Outcome::Refuted => "❌",
        Outcome::Inconclusive => "❔",
    };
    let mut text = format!(
        "## {sign} redgreen verify: {}\n\n{}.\n",
        word(proof.outcome),
        capital(&proof.sentence())
    );
    let facts = [range(proof), Some(cell_text(&proof.evidence.ran)), time(proof)];
    let facts = facts.iter().flatten().filter(|fact| !fact.is_empty());
    let facts: Vec<String> = facts.map(|fact| code(fact)).collect();
    if !facts.is_empty() {
        text.push_str(&format!("\n<p>{}</p>\n", facts.join(" · ")));
    }
    let reasons: Vec<String> = proof.reasons.iter().map(reason).collect();
    text.push_str(&section(
        "Why",
        "",
        &table(&["code", "what", "next"], &reasons, REASONS_BYTES_MAX),
    ));
    let tests: Vec<String> =
        by_class(proof).iter().flat_map(|(class, tests)| of_class(*class, tests)).collect();
    text.push_str(&section(
        "Tests",
        &tests_counted(proof),
        &table(&["class", "test", "why"], &tests, TESTS_BYTES_MAX),
    ));
    let hunks: Vec<String> = by_standing(proof)
        .iter()
        .flat_map(|(_, hunks)| hunks.iter().map(|hunk| self::hunk(hunk)))
        .collect();
    text.push_str(&section(
        "Changed code",
        &code_counted(proof),
        &table(&["standing", "place", "killed by"], &hunks, CODE_BYTES_MAX),
    ));
    let lists: [(&str, Vec<String>); 5] = [
        ("Removed tests", proof.evidence.removed.iter().map(|id| code(&name(id))).collect()),
        ("Judged", proof.evidence.steps.iter().map(|judged| code(&step(judged))).collect()),
        (
            "Commits judged as pairs",
            proof.evidence.commits.iter().map(|one| code(&pair(one))).collect(),
        ),
        ("Exempted by the policy", proof.exempted.iter().map(exempted).collect()),
        ("Notes", notes(proof).iter().map(|note| code(note)).collect()),
    ];
    for (title, lines) in lists {
        text.push_str(&section(title, "", &list(&lines, LIST_BYTES_MAX)));
    }
    let unverified: Vec<String> =
        proof.not_verified.iter().map(|line| code(&cell_text(line))).collect();
    let unverified = if unverified.is_empty() {
        format!("{}.\n", capital(nothing_left_out()))
    } else {
        list(&unverified, UNVERIFIED_BYTES_MAX)
    };
    text.push_str(&section("Not verified", "", &unverified));
    text
}

fn section(title: &str, counted: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    let counted = if counted.is_empty() { String::new() } else { format!("{counted}\n\n") };
    format!("\n### {title}\n\n{counted}{body}")
}

fn reason(reason: &Reason) -> String {
    let place = place_of(reason.file.as_deref(), reason.line);
    let place = place.map(|place| format!("<br>{}", code(&cell_text(&place)))).unwrap_or_default();
    let what = format!("{}{place}", code(&cell_text(&told(reason))));
    row(&[code(reason.code.as_str()), what, escaped(reason.code.next_step())])
}

fn of_class(class: Class, tests: &[&TestProof]) -> Vec<String> {
    let one = |test: &&TestProof| {
        let place = place_of(test.file.as_deref(), test.line);
        let place =
            place.map(|place| format!("<br>{}", code(&cell_text(&place)))).unwrap_or_default();
        let id = format!("{}{place}", code(&cell_text(&test.id)));
        row(&[class.as_str().to_owned(), id, code(&cell_text(&test.why))])
    };
    tests.iter().map(one).collect()
}

fn hunk(hunk: &HunkProof) -> String {
    let tests: Vec<String> =
        hunk.tests.iter().map(|test| code(&line(test, CELL_CHARS_MAX / 2))).collect();
    let standing = match killed(hunk) {
        Some(killed) => format!("{}<br>{killed}", hunk.standing.as_str()),
        None => hunk.standing.as_str().to_owned(),
    };
    row(&[standing, code(&cell_text(&place_of_hunk(hunk))), tests.join("<br>")])
}

fn exempted(one: &crate::proof::Exception) -> String {
    format!("{}: {}", code(&cell_text(&one.what)), code(&cell_text(&one.reason)))
}

fn row(cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{cells}</tr>\n")
}

/// An HTML block without empty lines. Rows that do not fit are counted.
fn table(head: &[&str], rows: &[String], bytes_max: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head: String = head.iter().map(|name| format!("<th>{name}</th>")).collect();
    let (kept, more) = fitting(rows, bytes_max);
    let more = if more > 0 { format!("<p>and {more} more</p>\n") } else { String::new() };
    let table = format!("<table>\n<tr>{head}</tr>\n{kept}</table>\n{more}");
    folded(rows.len(), table)
}

fn list(lines: &[String], bytes_max: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let rows: Vec<String> = lines.iter().map(|line| format!("<li>{line}</li>\n")).collect();
    let (kept, more) = fitting(&rows, bytes_max);
    let more = if more > 0 { format!("<li>and {more} more</li>\n") } else { String::new() };
    folded(lines.len(), format!("<ul>\n{kept}{more}</ul>\n"))
}

fn folded(rows: usize, block: String) -> String {
    if rows <= OPEN_ROWS_MAX {
        return block;
    }
    format!("<details><summary>all {rows}</summary>\n{block}</details>\n")
}

/// The first rows that fit, and how many remain.
fn fitting(rows: &[String], bytes_max: usize) -> (String, usize) {
    let mut kept = String::new();
    for (at, row) in rows.iter().enumerate() {
        if kept.len() + row.len() > bytes_max {
            return (kept, rows.len() - at);
        }
        kept.push_str(row);
    }
    (kept, 0)
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<code>{}</code>", escaped(text)) }
}

fn cell_text(text: &str) -> String {
    line(text, CELL_CHARS_MAX)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first: String =
        letters.next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}
