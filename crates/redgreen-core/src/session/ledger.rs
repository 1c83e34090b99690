//! The commits that keep a session's accepted trees, compared with its record. The record is a file
//! that anyone can write to; the commits say which trees were accepted, as what and in which order.
//! A record may be behind them: a step can be undone, and redgreen keeps the tree before it writes
//! the record.

use crate::names::Oid;
use crate::phase::JudgedPhase;

use super::{STEPS_MAX, Session, Stage};

/// How many commits are read, newest first. An older step cannot be proven any more.
pub const ENTRIES_MAX: usize = 10 * STEPS_MAX;

/// A commit of the session's ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub subject: String,
    pub tree: Oid,
}

/// The subject of the first commit of a session.
pub fn started(session: &Session) -> String {
    format!("session {} started", session.id)
}

/// The subject of an accepted step.
pub fn accepted(phase: JudgedPhase) -> String {
    format!("{phase} accepted")
}

/// Why a record does not match the commits, newest first; `None` if it does.
pub fn mismatch(session: &Session, newest_first: &[Entry]) -> Option<String> {
    let start = started(session);
    let begin = newest_first.iter().position(|entry| entry.subject == start);
    let own = begin.map_or(newest_first, |begin| newest_first.get(..=begin).unwrap_or_default());
    // A full record has forgotten its oldest steps, so it begins later.
    let first = session.steps.first().filter(|_| session.steps.len() >= STEPS_MAX);
    let mut rest = own.iter().rev();
    let mut tree = match (first, begin, own.last()) {
        (Some(first), _, _) => first.before.clone(),
        (None, Some(_), Some(start)) => start.tree.clone(),
        (None, _, _) => return Some("they do not begin with this session".to_owned()),
    };
    let is_kept = |tree: &Oid| begin.is_none() || own.iter().any(|entry| entry.tree == *tree);
    if let Some(unknown) = [&tree, &session.committed].into_iter().find(|tree| !is_kept(tree)) {
        return Some(format!("the tree {unknown} was not accepted"));
    }
    let mut owes = first.is_some_and(|step| is_green(&step.stage));
    let mut cycle = first.map_or(1, |step| step.cycle);
    for (number, step) in (1..).zip(&session.steps) {
        let after = session.steps.get(number).map_or(&session.accepted, |next| &next.before);
        if step.before != tree || is_green(&step.stage) != owes || step.cycle != cycle {
            return Some(format!("step {number} does not continue the one before it"));
        }
        let subject = accepted(step.phase);
        if !rest.any(|entry| entry.subject == subject && entry.tree == *after) {
            return Some(format!("{} was not accepted with the tree {after}", step.phase));
        }
        tree = after.clone();
        match step.phase {
            JudgedPhase::Red => owes = true,
            JudgedPhase::Green => (owes, cycle) = (false, cycle + 1),
            JudgedPhase::Refactor => {}
        }
    }
    if session.accepted != tree {
        return Some(format!("the tree {} was not accepted", session.accepted));
    }
    let follows = is_green(&session.stage) == owes && session.cycle == cycle;
    (!follows).then(|| "its stage does not follow from its steps".to_owned())
}

fn is_green(stage: &Stage) -> bool {
    match stage {
        Stage::Green { .. } => true,
        Stage::Open => false,
    }
}

#[cfg(test)]
mod tests;
