//! Annotations on the lines of a pull request, as commands for GitHub's runner.

use super::finding::{Finding, Level, findings};
use super::{Proof, name};

/// GitHub shows at most this many per step.
const ANNOTATIONS_MAX: usize = 10;

/// Lines to print, most important first.
pub fn annotations(proof: &Proof) -> Vec<String> {
    let findings = findings(proof);
    if findings.len() <= ANNOTATIONS_MAX {
        return findings.iter().map(command).collect();
    }
    let kept = ANNOTATIONS_MAX - 1;
    let mut lines: Vec<String> = findings.iter().take(kept).map(command).collect();
    let level = findings.get(kept).map_or(Level::Note, |finding| finding.level);
    let more = findings.len() - kept;
    lines.push(format!(
        "::{} title=redgreen verify::{more} more are listed in the job summary",
        kind(level)
    ));
    lines
}

fn command(finding: &Finding) -> String {
    let mut properties = Vec::new();
    if let Some(place) = &finding.place {
        properties.push(format!("file={}", property(&name(&place.file))));
        properties.push(format!("line={}", place.first));
        if place.last > place.first {
            properties.push(format!("endLine={}", place.last));
        }
    }
    properties.push(format!("title={}", property(&format!("redgreen: {}", finding.code.as_str()))));
    let message = match finding.level {
        Level::Error | Level::Warning => {
            format!("{}\nnext: {}", finding.sentence, finding.code.next_step())
        }
        Level::Note => finding.sentence.clone(),
    };
    format!("::{} {}::{}", kind(finding.level), properties.join(","), data(&message))
}

fn kind(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    }
}

/// Escapes a message.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
