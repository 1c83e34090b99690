//! GitLab's code quality report, shown next to the lines of a merge request.

use serde_json::{Value, json};

use super::Proof;
use super::finding::{Finding, Level, Place, anchor, findings};
use crate::text;

/// A merge request shows far fewer.
const ENTRIES_MAX: usize = 5000;

/// An array with an entry for each finding with a place, or at the first change.
pub fn code_quality(proof: &Proof) -> String {
    let findings = findings(proof);
    let placed = findings.iter().filter_map(|finding| Some((finding, anchor(proof, finding)?)));
    let entries: Vec<Value> =
        placed.take(ENTRIES_MAX).map(|(finding, place)| entry(finding, &place)).collect();
    format!("{}\n", text::json(&Value::Array(entries).to_string()))
}

fn entry(finding: &Finding, place: &Place) -> Value {
    let severity = match finding.level {
        Level::Error => "major",
        Level::Warning => "minor",
        Level::Note => "info",
    };
    json!({
        "description": finding.sentence,
        "check_name": finding.code.as_str(),
        "fingerprint": finding.fingerprint,
        "severity": severity,
        "location": { "path": place.file, "lines": { "begin": place.first, "end": place.last } },
    })
}
