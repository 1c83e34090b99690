//! What only a human can judge in new code: that it looks at who is asking, or hides from what is counted.

use super::Material;
use crate::change::{Class, Kind};
use crate::phase::JudgedPhase;
use crate::syntax::{self, Language, Suspect};
use crate::verdict::{Code, Reason};

/// Words for what is around code. One that the brief uses too is what the code is about. No runner is among them: a brief
/// that names one speaks of the tests.
const SURROUNDINGS: &[&str] = &["NODE_ENV", "argv", "execArgv"];

/// Code among the new lines that looks at who is asking. It proves nothing; a human has to look.
pub fn suspicions(material: &Material<'_>) -> Vec<Reason> {
    if material.phase != JudgedPhase::Green {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    for changed in material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted) {
        if !matches!(changed.class, Class::Implementation | Class::Mixed) {
            continue;
        }
        let Some(source) = (material.now)(&changed.path) else { continue };
        let old = (material.before)(&changed.path).unwrap_or_default();
        for seen in syntax::suspicious(Language::of_path(&changed.path), &changed.path, &old, &source) {
            let asks = match seen.suspect {
                Suspect::DetectsTests => "asks whether it is being tested",
                Suspect::ReadsTests => "reads the tests",
                Suspect::PatchesRunner => "changes the test runner",
                Suspect::InspectsStack => "looks at its caller",
                // What these do is seen when the tests run.
                Suspect::AlwaysEqual | Suspect::Exits | Suspect::SkipsTests => continue,
                Suspect::AdmitsIt | Suspect::SharesLiterals => continue,
            };
            // Whoever wrote the brief asked for it.
            let spoken = |word: &str| syntax::mentions(&seen.text, word) && syntax::mentions(material.brief, word);
            if SURROUNDINGS.iter().any(|word| spoken(word)) {
                continue;
            }
            let sentence = format!("new code {asks}: {}", seen.text);
            reasons.push(Reason::new(Code::GreenSuspicious, sentence).place(Some(&changed.path), Some(seen.line)));
        }
    }
    reasons
}

/// New marks that take lines out of what coverage counts.
pub fn hidden_from_coverage(material: &Material<'_>) -> Vec<Reason> {
    const MARKS: [&str; 6] = ["pragma: no cover", "istanbul ignore", "c8 ignore", "v8 ignore", "nocov", "LCOV_EXCL"];
    let mut reasons = Vec::new();
    for changed in material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted) {
        let code = matches!(changed.class, Class::Implementation | Class::Mixed);
        let Some(source) = (material.now)(&changed.path).filter(|_| code) else { continue };
        let old = (material.before)(&changed.path).unwrap_or_default();
        let marks = |text: &str| MARKS.iter().map(|mark| text.matches(mark).count()).sum::<usize>();
        if marks(&source) > marks(&old) {
            let sentence = format!("{} hides lines from coverage that were counted before", changed.path);
            reasons.push(Reason::new(Code::RefactorConfigChanged, sentence).place(Some(&changed.path), None));
        }
    }
    reasons
}
