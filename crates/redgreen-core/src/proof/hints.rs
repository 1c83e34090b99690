//! Which commits of a range may be the RED and the GREEN of a cycle. Subjects, trailers and notes are
//! hints for what to replay, never evidence: anybody can write them.

use crate::note::Note;
use crate::phase::Phase;

/// A longer note is ignored.
const NOTE_BYTES_MAX: usize = 1 << 20;
const RED: [&str; 1] = ["test"];
const GREEN: [&str; 2] = ["feat", "fix"];

/// The hints of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    pub subject: String,
    /// The values of its trailer `Redgreen-Phase`, such as `1 RED`.
    pub trailers: String,
    pub note: Option<String>,
}

impl Hints {
    fn may_be(&self, phase: Phase, words: &[&str]) -> bool {
        let note = self.note.as_ref().filter(|note| note.len() <= NOTE_BYTES_MAX);
        let noted = note.and_then(|note| Note::parse(note).ok()).map(|note| note.phase());
        let named = self.trailers.split_whitespace().any(|word| word == phase.as_str());
        noted == Some(phase) || named || is_called(&self.subject, words)
    }
}

/// The commits, by index, that may be a RED with its GREEN after it.
pub fn pairs(commits: &[Hints]) -> Vec<usize> {
    let is_pair = |(_, pair): &(usize, &[Hints])| match pair {
        [test, code] => test.may_be(Phase::Red, &RED) && code.may_be(Phase::Green, &GREEN),
        _ => false,
    };
    commits.windows(2).enumerate().filter(is_pair).map(|(at, _)| at).collect()
}

/// `feat: …`, `feat(area): …`, `feat!: …`.
fn is_called(subject: &str, words: &[&str]) -> bool {
    let head = subject.split_once(':').map_or("", |(head, _)| head);
    let word = head.split(['(', '!']).next().unwrap_or_default();
    words.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_trailers_and_notes_are_hints() {
        let named = |subject: &str| Hints { subject: subject.to_owned(), ..Hints::default() };
        let traced = |trailers: &str| Hints { trailers: trailers.to_owned(), ..named("work") };
        let noted = |note: &str| Hints { note: Some(note.to_owned()), ..named("work") };
        let (red, green) = (r#"{"phase": "RED"}"#, r#"{"phase": "GREEN"}"#);
        let long = format!("{red}{}", " ".repeat(NOTE_BYTES_MAX));
        for (test, code, is_pair) in [
            (named("test: a"), named("feat(b)!: a"), true),
            (named("test: a"), named("fix: a"), true),
            (named("tests for it"), named("feat: a"), false),
            (named("feat: a"), named("test: a"), false),
            (traced("1 RED"), traced("1 GREEN"), true),
            (traced("1 RED"), named("feat: a"), true),
            (traced("REDO"), traced("1 GREEN"), false),
            (noted(red), noted(green), true),
            (noted(red), traced("2 GREEN"), true),
            (noted(&long), noted(green), false),
            (noted("{"), noted(green), false),
            (noted("[]"), noted("\u{0}"), false),
            // One hint does not take another one away.
            (Hints { note: Some(green.to_owned()), ..named("test: a") }, noted(green), true),
        ] {
            let pair = pairs(&[test.clone(), code.clone()]);
            assert_eq!(pair, if is_pair { vec![0] } else { vec![] }, "{test:?} {code:?}");
        }
        assert_eq!(pairs(&[named("test: a")]), [0; 0]);
    }
}
