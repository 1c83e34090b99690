//! A proof as one HTML page, in the style of all redgreen pages.

use super::{
    HunkProof, Outcome, Proof, by_class, by_standing, killed, name, notes, nothing_left_out, pair,
    place_of, place_of_hunk, range, seconds, sentence, step, told, word,
};
use crate::page::{self, escaped};
use crate::proof::{Class, PlaceStatus, TestProof};
use crate::verdict::{ExperimentRecord, Reason};

/// The maximum number of rows in a table and lines in a list.
const ROWS_MAX: usize = 2000;
/// Longer tables are folded.
const OPEN_ROWS_MAX: usize = 30;
/// For the list of experiments.
const TRIED_CHARS_MAX: usize = 50_000;

/// The whole page.
pub fn html(proof: &Proof) -> String {
    let word = word(proof.outcome);
    let range = range(proof).unwrap_or_default();
    let evidence = &proof.evidence;
    let meta = [sentence(&evidence.ran), sentence(&evidence.fence)];
    let meta: Vec<&str> = meta.iter().map(String::as_str).filter(|fact| !fact.is_empty()).collect();
    let mut body = format!(
        "<header>\n<h1><span class=\"pill {}\">{} {word}</span> {}</h1>\n<p class=\"lead\">{}</p>\n\
         <p class=\"meta\">{}</p>\n{}</header>\n",
        class_of(proof.outcome),
        sign(proof.outcome),
        escaped(&range),
        escaped(&proof.sentence()),
        escaped(&meta.join(" · ")),
        tiles(proof),
    );
    if !proof.reasons.is_empty() {
        let reasons: String = proof.reasons.iter().map(reason).collect();
        body.push_str(&format!(
            "<h2>Why</h2>\n<section class=\"card\">\n<ul class=\"reasons\">\n{reasons}</ul>\n</section>\n"
        ));
    }
    let groups = by_class(proof);
    let tables: String = groups.iter().map(|(class, tests)| of_class(*class, tests)).collect();
    body.push_str(&section("Tests", &tables));
    let groups = by_standing(proof);
    let tables: String =
        groups.iter().map(|(standing, hunks)| of_standing(*standing, hunks)).collect();
    body.push_str(&section("Changed code", &tables));
    let exempted: Vec<String> = proof
        .exempted
        .iter()
        .map(|one| format!("{} ({})", sentence(&one.what), sentence(&one.reason)))
        .collect();
    let lists = [
        ("Removed tests", evidence.removed.iter().map(|id| name(id)).collect()),
        ("Judged", evidence.steps.iter().map(step).collect()),
        ("Commits judged as pairs", evidence.commits.iter().map(pair).collect()),
        ("Exempted by the policy", exempted),
        ("Notes", notes(proof)),
    ];
    for (title, lines) in lists {
        body.push_str(&section(title, &list(&lines)));
    }
    body.push_str(&tried(proof));
    let unverified: Vec<String> = proof.not_verified.iter().map(|line| sentence(line)).collect();
    let unverified = if unverified.is_empty() {
        format!("<p>{}</p>\n", nothing_left_out())
    } else {
        list(&unverified)
    };
    body.push_str(&section("Not verified", &unverified));
    page::page(format!("{word} {range}").trim_end(), &body)
}

fn tiles(proof: &Proof) -> String {
    let (killed, tried) = proof.kill_rate();
    let mutants = if tried > 0 { format!("{killed} / {tried}") } else { "—".to_owned() };
    let took = match proof.evidence.tests_ms {
        0 => "—".to_owned(),
        ms => seconds(ms),
    };
    let tested = proof.code.iter().filter(|hunk| hunk.standing == PlaceStatus::Tested).count();
    let rows = [
        (proof.tests.len().to_string(), "new or changed tests".to_owned()),
        (proof.code.len().to_string(), "changed places".to_owned()),
        (tested.to_string(), "of them tested".to_owned()),
        (mutants, "mutants killed".to_owned()),
        (took, "spent in tests".to_owned()),
        (proof.not_verified.len().to_string(), "not verified".to_owned()),
    ];
    let tile = |(value, name): &(String, String)| {
        format!(
            "<div class=\"tile\"><b>{}</b><span>{}</span></div>\n",
            escaped(value),
            escaped(name)
        )
    };
    format!("<div class=\"tiles\">\n{}</div>\n", rows.iter().map(tile).collect::<String>())
}

fn section(title: &str, inside: &str) -> String {
    if inside.is_empty() {
        return String::new();
    }
    format!("<h2>{title}</h2>\n<section class=\"card\">\n{inside}</section>\n")
}

fn reason(reason: &Reason) -> String {
    let place = place_of(reason.file.as_deref(), reason.line);
    let place = place.map(|place| format!(" <code>{}</code>", escaped(&place))).unwrap_or_default();
    format!(
        "<li>{}{place} <code>{}</code><br><span class=\"next\">→ {}</span></li>\n",
        escaped(&told(reason)),
        reason.code.as_str(),
        escaped(reason.code.next_step()),
    )
}

fn of_class(class: Class, tests: &[&TestProof]) -> String {
    let row = |test: &&TestProof| {
        let place = place_of(test.file.as_deref(), test.line).unwrap_or_default();
        format!(
            "<tr><td><code>{}</code><small>{}</small></td><td>{}</td></tr>\n",
            escaped(&name(&test.id)),
            escaped(&place),
            escaped(&sentence(&test.why)),
        )
    };
    let style = match class {
        Class::Proven | Class::ProvenByMutant | Class::Characterises => "accepted",
        Class::DoesNotDiscriminate | Class::Fails => "refused",
        Class::Skipped | Class::NotTried => "undecided",
    };
    let rows: Vec<String> = tests.iter().take(ROWS_MAX).map(row).collect();
    folded(style, class.as_str(), tests.len(), &["test", "why"], &rows)
}

fn of_standing(standing: PlaceStatus, hunks: &[&HunkProof]) -> String {
    let row = |hunk: &&HunkProof| {
        let tests: Vec<String> = hunk
            .tests
            .iter()
            .map(|test| format!("<code>{}</code>", escaped(&name(test))))
            .collect();
        format!(
            "<tr><td><code>{}</code><small>{}</small></td><td>{}</td></tr>\n",
            escaped(&place_of_hunk(hunk)),
            killed(hunk).unwrap_or_default(),
            tests.join("<br>"),
        )
    };
    let style = match standing {
        PlaceStatus::Tested => "accepted",
        PlaceStatus::NoTest => "refused",
        PlaceStatus::NotTried | PlaceStatus::Exempt => "undecided",
    };
    let rows: Vec<String> = hunks.iter().take(ROWS_MAX).map(row).collect();
    folded(style, standing.as_str(), hunks.len(), &["place", "killed by"], &rows)
}

fn folded(style: &str, title: &str, number: usize, head: &[&str], rows: &[String]) -> String {
    let open = if number <= OPEN_ROWS_MAX { " open" } else { "" };
    let head: String = head.iter().map(|name| format!("<th>{name}</th>")).collect();
    let more = number - rows.len();
    let more =
        if more > 0 { format!("<p class=\"note\">and {more} more</p>\n") } else { String::new() };
    format!(
        "<details{open}><summary><span class=\"pill {style}\">{number} {title}</span></summary>\n\
         <table><thead><tr>{head}</tr></thead><tbody>\n{}</tbody></table>\n{more}</details>\n",
        rows.concat(),
    )
}

fn list(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String =
        lines.iter().take(ROWS_MAX).map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
    let more = lines.len().saturating_sub(ROWS_MAX);
    let more = if more > 0 { format!("<li>and {more} more</li>\n") } else { String::new() };
    format!("<ul class=\"reasons\">\n{items}{more}</ul>\n")
}

/// The judge's experiments, for readers who want to check a verdict.
fn tried(proof: &Proof) -> String {
    let pairs = proof.evidence.commits.iter().flat_map(|pair| &pair.steps);
    let steps =
        proof.evidence.steps.iter().chain(pairs).filter(|step| !step.experiments.is_empty());
    let told = steps.map(|step| {
        format!("{} {}\n{}", step.phase, step.what, ExperimentRecord::list(&step.experiments))
    });
    let told: String =
        told.collect::<Vec<_>>().join("\n\n").chars().take(TRIED_CHARS_MAX).collect();
    if told.is_empty() {
        return String::new();
    }
    let inside = format!(
        "<details><summary>every experiment</summary><pre>{}</pre></details>\n",
        escaped(&told)
    );
    section("Experiments", &inside)
}

fn class_of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Proven => "accepted",
        Outcome::Refuted => "refused",
        Outcome::Inconclusive => "undecided",
    }
}

fn sign(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Proven => "✓",
        Outcome::Refuted => "✕",
        Outcome::Inconclusive => "?",
    }
}
