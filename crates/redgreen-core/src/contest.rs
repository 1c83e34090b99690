//! Contesting a test: in GREEN, the agent may answer that a test contradicts the brief. Only a
//! human decides, with both texts.

use serde::Deserialize;

use crate::agent::{AttemptFailure, last_object};
use crate::experiment::About;
use crate::report::{Status, Test};
use crate::syntax::{self, Language};
use crate::verdict::{Code, Reason, Verdict};

/// The maximum number of lines of each text. The files have the rest.
const LINES_MAX: usize = 40;
const LINE_CHARS_MAX: usize = 300;

/// The answer `{"contest": {"test": "<id>", "why": "<text>"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Contest {
    /// The test, by the runner's id.
    pub test: String,
    pub why: String,
}

/// The location and source of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub file: String,
    pub line: u32,
    pub text: String,
}

impl Contest {
    /// The contest in an answer, if there is one. Models may write text before it.
    pub fn parse(answer: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Answer {
            contest: Contest,
        }
        let contest = last_object::<Answer>(answer)?.contest;
        let complete = !contest.test.trim().is_empty() && !contest.why.trim().is_empty();
        complete.then_some(contest)
    }

    /// Searches the test in these files, the most likely first.
    pub fn source(
        &self,
        files: &[String],
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Source> {
        let test = Test::new(&self.test, Status::NotRun);
        files.iter().find_map(|file| {
            let text = read(file)?;
            let items = syntax::items(Language::of_path(file), file, &text);
            let is_meant =
                |name: &str| About { file: file.clone(), item: name.to_owned() }.is(&test);
            let item = items.iter().find(|item| item.is_test && is_meant(&item.name))?;
            let text = text.get(item.span.clone())?.to_owned();
            Some(Source { file: file.clone(), line: item.lines.0, text })
        })
    }

    /// Stops the run, with everything the human needs to decide.
    pub fn ruling(&self, source: Option<&Source>, brief: &str) -> Verdict {
        let sentence = format!(
            "the agent says that {} contradicts the brief: {}",
            bounded(&self.test),
            bounded(&self.why)
        );
        let (place, line) =
            (source.map(|source| source.file.as_str()), source.map(|source| source.line));
        let reason =
            Reason::new(Code::GreenContested, sentence).test(&self.test).place(place, line);
        let test = match source {
            Some(source) => format!("the test:\n{}", bounded(&source.text)),
            None => "the test was not found in the RED files".to_owned(),
        };
        let brief = format!("the brief:\n{}", bounded(brief));
        Verdict { notes: vec![test, brief], ..Verdict::undecided(reason) }
    }
}

/// The message for the next attempt if the human keeps the test.
pub fn overruled(trouble: &AttemptFailure) -> AttemptFailure {
    let message =
        format!("a human reviewed the test and kept it: make it pass\n{}", trouble.message);
    AttemptFailure { kind: trouble.kind.clone(), message }
}

fn bounded(text: &str) -> String {
    let text = text.trim();
    let lines = text
        .lines()
        .take(LINES_MAX)
        .map(|line| line.chars().take(LINE_CHARS_MAX).collect::<String>());
    let mut kept: Vec<String> = lines.collect();
    if text.lines().count() > LINES_MAX {
        kept.push("…".to_owned());
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contest_is_an_object_with_a_test_and_a_reason() {
        for (answer, is_contest) in [
            (r#"{"contest": {"test": "t.py::test_adds", "why": "1 + 2 is 3"}}"#, true),
            (
                "I cannot.\n```json\n{\"contest\": {\"test\": \"t\", \"why\": \"w\"}}\n```\nSorry.",
                true,
            ),
            (r#"{"contest": {"test": "", "why": "w"}}"#, false),
            (r#"{"contest": {"test": "t"}}"#, false),
            (r#"{"contest": "t"}"#, false),
            ("I contest that.", false),
            ("", false),
        ] {
            assert_eq!(Contest::parse(answer).is_some(), is_contest, "{answer}");
        }
    }

    #[test]
    fn the_human_gets_both_texts() {
        let contest =
            Contest { test: "test_calc.py::test_adds".to_owned(), why: "1 + 2 is 3".to_owned() };
        let file = "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 4\n\n\ndef test_more():\n    pass\n";
        let source =
            contest.source(&["test_calc.py".to_owned()], &|_| Some(file.to_owned())).unwrap();
        assert_eq!(
            (source.line, source.text.trim()),
            (4, "def test_adds():\n    assert add(1, 2) == 4")
        );
        let verdict = contest.ruling(Some(&source), "add numbers");
        assert_eq!(
            verdict.notes,
            ["the test:\ndef test_adds():\n    assert add(1, 2) == 4", "the brief:\nadd numbers"]
        );
        let long = contest.ruling(None, &"line\n".repeat(1000));
        assert!(
            long.notes.iter().all(|note| note.lines().count() <= LINES_MAX + 2),
            "{:?}",
            long.notes
        );
    }
}
