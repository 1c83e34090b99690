//! What only a human can judge in new code: that it looks at who is asking, or hides from what is counted.

use super::{Material, target_files};
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

/// Names that Go declares for every package: "Predeclared identifiers" of its specification.
const PREDECLARED: &[&str] = &[
    "any",
    "bool",
    "byte",
    "comparable",
    "complex64",
    "complex128",
    "error",
    "float32",
    "float64",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "rune",
    "string",
    "uint",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintptr",
    "true",
    "false",
    "iota",
    "nil",
    "append",
    "cap",
    "clear",
    "close",
    "complex",
    "copy",
    "delete",
    "imag",
    "len",
    "make",
    "max",
    "min",
    "new",
    "panic",
    "print",
    "println",
    "real",
    "recover",
];

/// New names of a package that take the place of the language's own in its tests: what the tests say has another meaning.
pub fn shadows(material: &Material<'_>) -> Vec<Reason> {
    let tests: Vec<String> = target_files(material).iter().filter_map(|file| (material.now)(file)).collect();
    let mut reasons = Vec::new();
    for changed in material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted) {
        let language = Language::of_path(&changed.path);
        let Some(source) = (material.now)(&changed.path).filter(|_| language == Language::Go) else { continue };
        let old = (material.before)(&changed.path).unwrap_or_default();
        let known = syntax::items(language, &changed.path, &old);
        for item in syntax::items(language, &changed.path, &source) {
            let is_new = known.iter().all(|known| known.name != item.name);
            let is_used = tests.iter().any(|test| syntax::mentions(test, &item.name));
            if is_new && is_used && PREDECLARED.contains(&item.name.as_str()) {
                let sentence = format!("new code declares `{}`, which the tests mean as the language's own", item.name);
                let reason = Reason::new(Code::GreenSuspicious, sentence);
                reasons.push(reason.place(Some(&changed.path), Some(item.lines.0)));
            }
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
