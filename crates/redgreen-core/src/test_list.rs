//! `test-list.md`: markdown checkboxes, one test each; and the planner's answer, which picks the next one.
//!
//! The engine owns the boxes. A box is ticked when a cycle of this run was accepted for it, and for no other reason: what
//! an agent leaves in the file is read for its open items only, and written again with the engine's own ticks (`own`).

mod line;

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use crate::agent::last_object;
use crate::brief::TestCase;
use crate::verdict::{Code, Decision, Reason, Verdict};

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
    /// The file says that it is done; whether that is so, the engine knows.
    pub done: bool,
    /// Its line, counted from 0.
    line: usize,
}

/// What the engine knows of the list, whatever the file says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Items whose cycle was accepted in this run, oldest first.
    pub completed: &'a [String],
    /// Items that were open when planning was accepted last.
    pub pending: &'a [String],
}

/// The list with the engine's own ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// What the file has to hold; empty when there is no list yet.
    pub text: String,
    /// Corrections to the agent's version.
    pub undone: Vec<Undone>,
}

/// Something an agent did to the list that only an accepted cycle can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// It ticked an item that no accepted cycle stands for.
    Ticked(String),
    /// It took away an item, or the tick of an item, that is done.
    Hidden(String),
    /// It removed the whole file, or put something in its place that cannot be read.
    Deleted,
}

/// What planning came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub verdict: Verdict,
    /// The test to write next; `None` when everything is done or the plan was refused.
    pub next: Option<TestCase>,
    pub pending: Vec<String>,
    /// Items that were open before and are not in the list any more.
    pub removed: Vec<String>,
}

impl TestList {
    /// Reads the checkboxes; everything else in the file is prose. Boxes inside code fences are examples, not tests.
    pub fn parse(text: &str) -> Self {
        let item = |(line, written): (usize, line::Written<'_>)| Item {
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

/// The list as the engine writes it: the agent's words and order, its open items, and a tick for each item that an
/// accepted cycle of this run stands for. `text` is `None` when there is no file that can be read.
pub fn own(text: Option<&str>, known: Known<'_>) -> Owned {
    let Some(text) = text else {
        let undone = if known.is_empty() { Vec::new() } else { vec![Undone::Deleted] };
        return Owned { text: known.lines("\n"), undone };
    };
    let mut undone = Vec::new();
    let written = items(text);
    let ticks = Ticks::new(&written, known.completed);
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let missing: String = ticks.missing.iter().map(|done| format!("- [x] {done}{ending}")).collect();
    undone.extend(ticks.missing.iter().map(|done| Undone::Hidden((*done).clone())));
    let mut owned = String::with_capacity(text.len() + missing.len());
    // Items that were taken away come back before the first one; a code fence must not swallow them.
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
            (true, false) => undone.push(Undone::Ticked(item.description.to_owned())),
            (false, true) => undone.push(Undone::Hidden(item.description.to_owned())),
            (true, true) | (false, false) => {}
        }
        owned.push_str(&rendered(line, item, done));
    }
    if text.is_empty() {
        owned.push_str(&missing);
    }
    Owned { text: owned, undone }
}

/// Which of the written items are done, and what is done and not written.
struct Ticks<'a> {
    /// Lines of items.
    done: BTreeSet<usize>,
    missing: Vec<&'a String>,
}

impl<'a> Ticks<'a> {
    /// Of two items with the same words, the one that is ticked is the one that was done.
    fn new(written: &[(usize, line::Written<'_>)], completed: &'a [String]) -> Self {
        let mut done = BTreeSet::new();
        let mut missing = Vec::new();
        for wanted in completed {
            let words = plain(wanted);
            let same = || {
                let fits = |(number, item): &&(usize, line::Written<'_>)| {
                    !done.contains(number) && plain(item.description) == words
                };
                written.iter().filter(fits)
            };
            let found = same().find(|(_, item)| item.ticked).or_else(|| same().next()).map(|(number, _)| *number);
            match found {
                Some(number) => drop(done.insert(number)),
                None => missing.push(wanted),
            }
        }
        Self { done, missing }
    }
}

impl Known<'_> {
    fn is_empty(self) -> bool {
        self.completed.is_empty() && self.pending.is_empty()
    }

    /// The list from nothing but what the engine knows.
    fn lines(self, ending: &str) -> String {
        let done = self.completed.iter().map(|item| format!("- [x] {item}{ending}"));
        done.chain(self.pending.iter().map(|item| format!("- [ ] {item}{ending}"))).collect()
    }
}

impl fmt::Display for Undone {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undone::Ticked(item) => {
                write!(out, "unticked {item:?}: no accepted cycle of this run developed it")
            }
            Undone::Hidden(item) => write!(out, "ticked {item:?} again: its cycle was accepted"),
            Undone::Deleted => write!(out, "wrote {FILE} again: it was removed or could not be read"),
        }
    }
}

/// The items of a text, each with its line.
fn items(text: &str) -> Vec<(usize, line::Written<'_>)> {
    let mut items = Vec::new();
    let mut fenced = false;
    for (number, content) in text.lines().enumerate() {
        let start = content.trim_start();
        let is_fence = start.starts_with("```") || (start.starts_with("~~~") && !start.starts_with("~~~~"));
        if is_fence {
            fenced = !fenced;
        } else if !fenced && let Some(written) = line::read(content) {
            items.push((number, written));
        }
    }
    items
}

/// The item's line with the engine's mark; what is no plain markdown box becomes one.
fn rendered(line: &str, item: &line::Written<'_>, done: bool) -> String {
    let mark = if done { "[x]" } else { "[ ]" };
    let content = line.trim_end_matches(['\n', '\r']);
    let ending = line.get(content.len()..).unwrap_or_default();
    let indent = content.get(..content.len() - content.trim_start().len()).unwrap_or_default();
    match item.lead {
        Some(lead) => format!("{lead}{mark} {}{ending}", item.description),
        None => format!("{indent}- {mark} {}{ending}", item.description),
    }
}

/// Rules on what the planner did: `text` is the list as it left it, `answer` what it said, `strays` the other paths it
/// changed. Ticks in the text count for nothing: only what `known` says is done is done.
pub fn judge(answer: &str, text: Option<&str>, known: Known<'_>, strays: &[String]) -> Planned {
    let list = TestList::parse(&own(text, known).text);
    let open = list.pending();
    let mut planned = Planned {
        verdict: Verdict::refused(Vec::new()),
        next: None,
        removed: removed(known.pending, &open),
        pending: open,
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

/// Adds the corrections that the engine made to the list, and what the planner dropped from it: told to the next try where the
/// plan was refused, and to everybody where it was accepted.
pub fn remark(planned: &mut Planned, remarks: &[String]) {
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

/// What was open before and is not now. Items with the same words are counted, not only named.
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
