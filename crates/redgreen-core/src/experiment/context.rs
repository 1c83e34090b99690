//! Changes around the tests: shadowed built-in names, and lines excluded from coverage.

use super::{Material, target_files};
use crate::change::{Class, Kind};
use crate::syntax::{self, Language};
use crate::verdict::{Code, Reason};

/// Names that Go declares for every package: "Predeclared identifiers" of its specification.
const PREDECLARED: &str = "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune \
                           string uint uint8 uint16 uint32 uint64 uintptr true false iota nil append cap clear close complex \
                           copy delete imag len make max min new panic print println real recover";

/// New names in a package that shadow built-in names in its tests, which changes the meaning of the
/// tests.
pub fn shadows(material: &Material<'_>) -> Vec<Reason> {
    let tests: Vec<String> =
        target_files(material).iter().filter_map(|file| (material.now)(file)).collect();
    let mut reasons = Vec::new();
    for changed in material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted) {
        let language = Language::of_path(&changed.path);
        let Some(source) = (material.now)(&changed.path).filter(|_| language == Language::Go)
        else {
            continue;
        };
        let old = (material.before)(&changed.path).unwrap_or_default();
        let known = syntax::items(language, &changed.path, &old);
        for item in syntax::items(language, &changed.path, &source) {
            let is_new = known.iter().all(|known| known.name != item.name);
            let is_used = tests.iter().any(|test| syntax::mentions(test, &item.name));
            if is_new && is_used && PREDECLARED.split(' ').any(|name| name == item.name) {
                let sentence = format!(
                    "new code declares `{}`, which shadows the built-in that the tests use",
                    item.name
                );
                let reason = Reason::new(Code::GreenSuspicious, sentence);
                reasons.push(reason.place(Some(&changed.path), Some(item.lines.0)));
            }
        }
    }
    reasons
}

/// New comments that exclude lines from coverage.
pub fn hidden_from_coverage(material: &Material<'_>) -> Vec<Reason> {
    const MARKS: [&str; 6] =
        ["pragma: no cover", "istanbul ignore", "c8 ignore", "v8 ignore", "nocov", "LCOV_EXCL"];
    let mut reasons = Vec::new();
    for changed in material.change.paths.iter().filter(|changed| changed.kind != Kind::Deleted) {
        let code = matches!(changed.class, Class::Implementation | Class::Mixed);
        let Some(source) = (material.now)(&changed.path).filter(|_| code) else { continue };
        let old = (material.before)(&changed.path).unwrap_or_default();
        let marks = |text: &str| MARKS.iter().map(|mark| text.matches(mark).count()).sum::<usize>();
        if marks(&source) > marks(&old) {
            let sentence =
                format!("{} excludes lines from coverage that counted before", changed.path);
            reasons.push(
                Reason::new(Code::RefactorConfigChanged, sentence).place(Some(&changed.path), None),
            );
        }
    }
    reasons
}
