//! `test-list.md`: markdown checkboxes, one test each; and the planner's answer, which picks the next one.

use serde::Deserialize;

use crate::agent::last_object;
use crate::brief::TestCase;
use crate::verdict::{Code, Reason, Verdict};

/// Where the list lives, from the project's root.
pub const FILE: &str = "test-list.md";

/// The list as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestList {
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub description: String,
    pub done: bool,
    /// Where its line starts, counted from 0.
    line: usize,
}

/// What planning came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub verdict: Verdict,
    /// The test to write next; `None` when everything is done or the plan was refused.
    pub next: Option<TestCase>,
    pub completed: Vec<String>,
    pub pending: Vec<String>,
}

impl TestList {
    /// Reads the checkboxes; everything else in the file is prose. Boxes inside code fences are examples, not tests.
    pub fn parse(text: &str) -> Self {
        let mut items = Vec::new();
        let mut fenced = false;
        for (line, content) in text.lines().enumerate() {
            let content = content.trim();
            if content.starts_with("```") || content.starts_with("~~~") {
                fenced = !fenced;
            } else if !fenced && let Some((done, description)) = checkbox(content) {
                items.push(Item { description: description.to_owned(), done, line });
            }
        }
        Self { items }
    }

    pub fn completed(&self) -> Vec<String> {
        self.items.iter().filter(|item| item.done).map(|item| item.description.clone()).collect()
    }

    pub fn pending(&self) -> Vec<String> {
        self.items.iter().filter(|item| !item.done).map(|item| item.description.clone()).collect()
    }

    /// The item a planner means: its words as they are, or the only one that holds or is held by them, whatever was put
    /// between.
    pub fn find(&self, description: &str) -> Option<&Item> {
        let wanted = plain(description);
        if wanted.is_empty() {
            return None;
        }
        if let Some(item) = self.exact(&wanted) {
            return Some(item);
        }
        let mut near = self.items.iter().filter(|item| {
            let known = plain(&item.description);
            let holds =
                |whole: &str, part: &str| whole.contains(part) || part.split(' ').all(|word| has_word(whole, word));
            !item.done && (holds(&known, &wanted) || holds(&wanted, &known))
        });
        near.next().filter(|_| near.next().is_none())
    }

    /// Of two items with the same words, the open one.
    fn exact(&self, wanted: &str) -> Option<&Item> {
        let same = |item: &&Item| plain(&item.description) == wanted;
        self.items.iter().filter(|item| !item.done).find(same).or_else(|| self.items.iter().find(same))
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(' ').any(|other| other == word)
}

/// The text with that item ticked; unchanged when it is ticked already or not there.
pub fn tick(text: &str, description: &str) -> String {
    let list = TestList::parse(text);
    let Some(item) = list.exact(&plain(description)).filter(|item| !item.done) else { return text.to_owned() };
    let mut ticked = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number == item.line {
            ticked.push_str(&line.replacen("[ ]", "[x]", 1));
        } else {
            ticked.push_str(line);
        }
    }
    ticked
}

/// Rules on what the planner did: `text` is the list as it left it, `answer` what it said, `strays` the other paths it
/// changed.
pub fn judge(answer: &str, text: Option<&str>, strays: &[String]) -> Planned {
    let list = text.map(TestList::parse).unwrap_or_default();
    let mut planned = Planned {
        verdict: Verdict::refused(Vec::new()),
        next: None,
        completed: list.completed(),
        pending: list.pending(),
    };
    let mut reasons: Vec<Reason> = strays
        .iter()
        .map(|path| Reason::new(Code::PlanTouchesCode, format!("planning changed {path}")).place(Some(path), None))
        .collect();
    match selection(answer, &list) {
        Ok(next) if reasons.is_empty() => {
            let reason = match &next {
                Some(test) => Reason::new(Code::PlanSelected, format!("next: {}", test.description)),
                None => Reason::new(Code::PlanFinished, format!("every box is ticked, {} in all", list.items.len())),
            };
            planned.verdict = Verdict::accepted(reason);
            planned.next = next;
        }
        Ok(_) => planned.verdict = Verdict::refused(reasons),
        Err(reason) => {
            reasons.push(reason);
            planned.verdict = Verdict::refused(reasons);
        }
    }
    planned
}

/// Whether the planner named a test, or said that none is left.
pub fn is_answer(answer: &str) -> bool {
    parse_answer(answer).is_some()
}

/// The behaviour that an answer chooses; `None` when it chooses none.
pub fn chosen(answer: &str) -> Option<String> {
    parse_answer(answer)?.map(|test| test.description)
}

fn selection(answer: &str, list: &TestList) -> Result<Option<TestCase>, Reason> {
    let Some(named) = parse_answer(answer) else {
        return Err(Reason::plain(Code::PlanNoAnswer));
    };
    if list.items.is_empty() {
        return Err(Reason::plain(Code::PlanNoList));
    }
    let Some(mut test) = named else {
        let pending = list.pending();
        return if pending.is_empty() {
            Ok(None)
        } else {
            Err(Reason::new(Code::PlanUnfinished, format!("still open: {}", pending.join("; "))))
        };
    };
    match list.find(&test.description) {
        Some(item) if !item.done => {
            test.description.clone_from(&item.description);
            Ok(Some(test))
        }
        Some(_) => Err(Reason::new(Code::PlanNotInList, format!("{:?} is ticked already", test.description))),
        None => Err(Reason::new(
            Code::PlanNotInList,
            format!("{:?} is none of: {}", test.description, list.pending().join("; ")),
        )),
    }
}

/// The last object in the answer that has `currentTest`.
fn parse_answer(answer: &str) -> Option<Option<TestCase>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        #[serde(deserialize_with = "present")]
        current_test: Option<TestCase>,
    }
    /// A missing key must not read as null: silence is not "done".
    fn present<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Option<TestCase>, D::Error> {
        Option::deserialize(input)
    }
    last_object::<Answer>(answer).map(|answer| answer.current_test)
}

fn checkbox(line: &str) -> Option<(bool, &str)> {
    let rest = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let digits = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        (digits.len() < line.len()).then(|| digits.strip_prefix(['.', ')'])).flatten()
    })?;
    let rest = rest.trim_start();
    let (done, rest) = match rest.strip_prefix("[ ]") {
        Some(rest) => (false, rest),
        None => (true, rest.strip_prefix("[x]").or_else(|| rest.strip_prefix("[X]"))?),
    };
    let description = rest.trim();
    (!description.is_empty()).then_some((done, description))
}

/// The words without case, markdown emphasis, surrounding punctuation and double spaces.
fn plain(description: &str) -> String {
    let letters: String = description
        .chars()
        .filter(|letter| !matches!(letter, '`' | '*' | '_' | '"'))
        .flat_map(char::to_lowercase)
        .collect();
    letters.split_whitespace().collect::<Vec<_>>().join(" ").trim_matches(['.', ':', ';', ' ']).to_owned()
}

#[cfg(test)]
mod tests;
