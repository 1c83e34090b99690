//! `test-list.md`: markdown checkboxes, one per test, and the planner's answer, which selects the
//! next one.
//!
//! The engine owns the boxes. A box is ticked only if a cycle of this run was accepted for it. The
//! engine reads only the open items of an agent's file, and rewrites it with its own ticks (`own`).

mod line;

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use crate::agent::last_object;
use crate::brief::TestCase;
use crate::verdict::{Code, Decision, Reason, Verdict};

/// The path of the list, relative to the project root.
pub const FILE: &str = "test-list.md";

/// The list as written in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestList {
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub description: String,
    /// The file says that it is done; only the engine knows whether that is true.
    pub done: bool,
    /// Its line, starting at 0.
    line: usize,
}

/// The engine's knowledge of the list, whatever the file says.
#[derive(Clone, Copy, Debug, Default)]
pub struct EngineItems<'a> {
    /// Items whose cycle was accepted in this run, oldest first.
    pub completed: &'a [String],
    /// Items that were open when planning was last accepted.
    pub pending: &'a [String],
}

/// The list with the engine's own ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorrectedList {
    /// The new content of the file; empty if there is no list yet.
    pub text: String,
    /// Corrections to the agent's version.
    pub undone: Vec<Correction>,
}

/// A change by an agent that only an accepted cycle can make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Correction {
    /// It ticked an item without an accepted cycle.
    Ticked(String),
    /// It removed a completed item or its tick.
    Hidden(String),
    /// It removed the whole file, or replaced it with something unreadable.
    Deleted,
}

/// The result of planning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanVerdict {
    pub verdict: Verdict,
    /// The test to write next; `None` if everything is done or the plan was refused.
    pub next: Option<TestCase>,
    pub pending: Vec<String>,
    /// Earlier open items that are no longer in the list.
    pub removed: Vec<String>,
}

impl TestList {
    /// Reads the checkboxes; all other lines are prose. Boxes in code fences are examples, not
    /// tests.
    pub fn parse(text: &str) -> Self {
        let item = |(line, written): (usize, line::ListLine<'_>)| Item {
            description: written.description.to_owned(),
            done: written.ticked,
            line,
        };
        Self { items: items(text).into_iter().map(item).collect() }
    }

    pub fn completed(&self) -> Vec<String> {
        self.items.iter().filter(|item| item.done).map(|item| item.description.clone()).collect()
    }

    pub fn pending(&self) -> Vec<String> {
        self.items.iter().filter(|item| !item.done).map(|item| item.description.clone()).collect()
    }

    /// Finds the item that a planner means: an exact match, or the only item that contains or is
    /// contained in its text.
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
            let holds = |whole: &str, part: &str| {
                whole.contains(part) || part.split(' ').all(|word| has_word(whole, word))
            };
            !item.done && (holds(&known, &wanted) || holds(&wanted, &known))
        });
        near.next().filter(|_| near.next().is_none())
    }

    /// Prefers the open one of two items with the same text.
    fn exact(&self, wanted: &str) -> Option<&Item> {
        let same = |item: &&Item| plain(&item.description) == wanted;
        self.items
            .iter()
            .filter(|item| !item.done)
            .find(same)
            .or_else(|| self.items.iter().find(same))
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(' ').any(|other| other == word)
}

/// The list as the engine writes it: the agent's text and order, its open items, and a tick for
/// each item with an accepted cycle of this run. `text` is `None` if there is no readable file.
pub fn own(text: Option<&str>, known: EngineItems<'_>) -> CorrectedList {
    let Some(text) = text else {
        let undone = if known.is_empty() { Vec::new() } else { vec![Correction::Deleted] };
        return CorrectedList { text: known.lines("\n"), undone };
    };
    let mut undone = Vec::new();
    let written = items(text);
    let ticks = Ticks::new(&written, known.completed);
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let missing: String =
        ticks.missing.iter().map(|done| format!("- [x] {done}{ending}")).collect();
    undone.extend(ticks.missing.iter().map(|done| Correction::Hidden((*done).clone())));
    let mut owned = String::with_capacity(text.len() + missing.len());
    // Restore removed items before the first one; a code fence must not swallow them.
    let first = written.first().map_or(0, |(number, _)| *number);
    let mut rest = written.iter().peekable();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number == first {
            owned.push_str(&missing);
        }
        let Some((_, item)) = rest.next_if(|(at, _)| *at == number) else {
            owned.push_str(line);
            continue;
        };
        let done = ticks.done.contains(&number);
        match (item.ticked, done) {
            (true, false) => undone.push(Correction::Ticked(item.description.to_owned())),
            (false, true) => undone.push(Correction::Hidden(item.description.to_owned())),
            (true, true) | (false, false) => {}
        }
        owned.push_str(&rendered(line, item, done));
    }
    if text.is_empty() {
        owned.push_str(&missing);
    }
    CorrectedList { text: owned, undone }
}

/// Which of the written items are done, and which completed items are missing.
struct Ticks<'a> {
    /// Line numbers of items.
    done: BTreeSet<usize>,
    missing: Vec<&'a String>,
}

impl<'a> Ticks<'a> {
    /// The ticked one of two items with the same text is the completed one.
    fn new(written: &[(usize, line::ListLine<'_>)], completed: &'a [String]) -> Self {
        let mut done = BTreeSet::new();
        let mut missing = Vec::new();
        for wanted in completed {
            let words = plain(wanted);
            let same = || {
                let fits = |(number, item): &&(usize, line::ListLine<'_>)| {
                    !done.contains(number) && plain(item.description) == words
                };
                written.iter().filter(fits)
            };
            let found = same()
                .find(|(_, item)| item.ticked)
                .or_else(|| same().next())
                .map(|(number, _)| *number);
            match found {
                Some(number) => drop(done.insert(number)),
                None => missing.push(wanted),
            }
        }
        Self { done, missing }
    }
}

impl EngineItems<'_> {
    fn is_empty(self) -> bool {
        self.completed.is_empty() && self.pending.is_empty()
    }

    /// The list from the engine's knowledge only.
    fn lines(self, ending: &str) -> String {
        let done = self.completed.iter().map(|item| format!("- [x] {item}{ending}"));
        done.chain(self.pending.iter().map(|item| format!("- [ ] {item}{ending}"))).collect()
    }
}

impl fmt::Display for Correction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Correction::Ticked(item) => {
                write!(out, "unticked {item:?}: no accepted cycle of this run implemented it")
            }
            Correction::Hidden(item) => {
                write!(out, "ticked {item:?} again: its cycle was accepted")
            }
            Correction::Deleted => {
                write!(out, "restored {FILE}: it was removed or unreadable")
            }
        }
    }
}

/// The items of a text, each with its line.
fn items(text: &str) -> Vec<(usize, line::ListLine<'_>)> {
    let mut items = Vec::new();
    let mut fenced = false;
    for (number, content) in text.lines().enumerate() {
        let start = content.trim_start();
        let is_fence =
            start.starts_with("```") || (start.starts_with("~~~") && !start.starts_with("~~~~"));
        if is_fence {
            fenced = !fenced;
        } else if !fenced && let Some(written) = line::read(content) {
            items.push((number, written));
        }
    }
    items
}

/// The item's line with the engine's mark; other notations become a plain markdown box.
fn rendered(line: &str, item: &line::ListLine<'_>, done: bool) -> String {
    let mark = if done { "[x]" } else { "[ ]" };
    let content = line.trim_end_matches(['\n', '\r']);
    let ending = line.get(content.len()..).unwrap_or_default();
    let indent = content.get(..content.len() - content.trim_start().len()).unwrap_or_default();
    match item.lead {
        Some(lead) => format!("{lead}{mark} {}{ending}", item.description),
        None => format!("{indent}- {mark} {}{ending}", item.description),
    }
}

/// Judges the planner's work: `text` is the list as it left it, `answer` its answer, `strays` the
/// other paths it changed. Ticks in the text are ignored: only `known` decides what is done.
pub fn judge(
    answer: &str,
    text: Option<&str>,
    known: EngineItems<'_>,
    strays: &[String],
) -> PlanVerdict {
    let list = TestList::parse(&own(text, known).text);
    let open = list.pending();
    let mut planned = PlanVerdict {
        verdict: Verdict::refused(Vec::new()),
        next: None,
        removed: removed(known.pending, &open),
        pending: open,
    };
    let mut reasons: Vec<Reason> = strays
        .iter()
        .map(|path| {
            Reason::new(Code::PlanTouchesCode, format!("planning changed {path}"))
                .place(Some(path), None)
        })
        .collect();
    match selection(answer, &list) {
        Ok(next) if reasons.is_empty() => {
            let reason = match &next {
                Some(test) => {
                    Reason::new(Code::PlanSelected, format!("next: {}", test.description))
                }
                None => Reason::new(
                    Code::PlanFinished,
                    format!("every box is ticked ({} in total)", list.items.len()),
                ),
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

/// Adds the engine's corrections and the dropped items: to the next attempt if the plan was
/// refused, otherwise to the verdict's notes.
pub fn remark(planned: &mut PlanVerdict, remarks: &[String]) {
    let verdict = &mut planned.verdict;
    if verdict.decision == Decision::Refused {
        verdict.reasons.extend(remarks.iter().map(|remark| Reason::new(Code::PlanTicked, remark)));
        return;
    }
    verdict.notes.extend(remarks.iter().cloned());
    if !planned.removed.is_empty() {
        verdict.notes.push(format!("dropped from the list: {}", planned.removed.join("; ")));
    }
}

/// Earlier open items that are gone. Items with the same text are counted, not only named.
fn removed(before: &[String], now: &[String]) -> Vec<String> {
    let mut left: Vec<String> = now.iter().map(|item| plain(item)).collect();
    let is_gone = |item: &&String| match left.iter().position(|known| *known == plain(item)) {
        Some(index) => {
            left.swap_remove(index);
            false
        }
        None => true,
    };
    before.iter().filter(is_gone).cloned().collect()
}

/// Whether the planner named a test, or said that none is left.
pub fn is_answer(answer: &str) -> bool {
    parse_answer(answer).is_some()
}

/// The behaviour that an answer selects; `None` if it selects none.
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
        Some(_) => Err(Reason::new(
            Code::PlanNotInList,
            format!("{:?} is already ticked", test.description),
        )),
        None => Err(Reason::new(
            Code::PlanNotInList,
            format!("{:?} is not one of: {}", test.description, list.pending().join("; ")),
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
    /// A missing key must not count as null: no answer does not mean "done".
    fn present<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Option<TestCase>, D::Error> {
        Option::deserialize(input)
    }
    last_object::<Answer>(answer).map(|answer| answer.current_test)
}

/// The text without case, markdown emphasis, surrounding punctuation and double spaces.
fn plain(description: &str) -> String {
    let letters: String = description
        .chars()
        .filter(|letter| !matches!(letter, '`' | '*' | '_' | '"'))
        .flat_map(char::to_lowercase)
        .collect();
    letters
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .trim_matches(['.', ':', ';', ' '])
        .to_owned()
}

#[cfg(test)]
mod tests;
