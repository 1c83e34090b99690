//! SARIF 2.1.0 for GitHub code scanning.

use serde_json::{Value, json};

use super::finding::{Finding, Level, Place, anchor, findings};
use super::{Outcome, Proof, sentence, word};
use crate::text;
use crate::verdict::VOCABULARY;

/// GitHub keeps at most this many per run.
const RESULTS_MAX: usize = 5000;
/// The maximum number of lines about unverified code.
const NOTIFICATIONS_MAX: usize = 500;
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One log with one run. GitHub rejects a file if one result has no place, so a finding about the
/// whole range is at its first change. If nothing changed, it is a tool notification.
pub fn sarif(proof: &Proof) -> String {
    let rules: Vec<Value> = VOCABULARY
        .iter()
        .map(|row| {
            json!({
                "id": row.name,
                "shortDescription": { "text": row.meaning },
                "fullDescription": { "text": row.meaning },
                "help": { "text": format!("Next: {}.", row.next) },
                "defaultConfiguration": { "level": "error" },
            })
        })
        .collect();
    let (mut results, mut notifications) = (Vec::new(), Vec::new());
    let findings = findings(proof);
    for finding in findings.iter().take(RESULTS_MAX) {
        match anchor(proof, finding) {
            Some(place) => results.push(result(finding, &place)),
            None => notifications.push(notification(level(finding.level), &message(finding))),
        }
    }
    for (number, max, what) in [
        (findings.len(), RESULTS_MAX, "findings"),
        (proof.not_verified.len(), NOTIFICATIONS_MAX, "lines about unverified code"),
    ] {
        if number > max {
            notifications
                .push(notification("note", &format!("{} more {what} are omitted", number - max)));
        }
    }
    let unverified = proof.not_verified.iter().take(NOTIFICATIONS_MAX);
    notifications.extend(
        unverified.map(|line| notification("note", &format!("not verified: {}", sentence(line)))),
    );
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "redgreen",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "automationDetails": { "id": "redgreen-verify/" },
            "invocations": [{
                "executionSuccessful": proof.outcome != Outcome::Inconclusive,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
            "properties": {
                "outcome": word(proof.outcome),
                "summary": proof.sentence(),
                "base": sentence(&proof.evidence.base),
                "head": sentence(&proof.evidence.head),
            },
        }],
    });
    format!("{}\n", text::json(&log.to_string()))
}

fn result(finding: &Finding, place: &Place) -> Value {
    let rule = VOCABULARY.iter().position(|row| row.code == finding.code).unwrap_or_default();
    json!({
        "ruleId": finding.code.as_str(),
        "ruleIndex": rule,
        "level": level(finding.level),
        "message": { "text": message(finding) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&place.file), "uriBaseId": "%SRCROOT%" },
            "region": { "startLine": place.first, "endLine": place.last },
        } }],
        "partialFingerprints": { "redgreen/v1": finding.fingerprint },
    })
}

fn notification(level: &str, text: &str) -> Value {
    json!({ "level": level, "message": { "text": text } })
}

fn message(finding: &Finding) -> String {
    match finding.place {
        Some(_) => finding.sentence.clone(),
        None => format!("whole range: {}", finding.sentence),
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

/// A path as a relative reference. All bytes except plain letters are escaped, including colons,
/// which would end a scheme.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~') {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
