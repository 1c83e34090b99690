//! The question at the end of a run that waits: on a terminal, redgreen asks what to do with it.

use std::io::IsTerminal;

use anyhow::Result;
use redgreen_core::event::{Commits, Outcome};
use redgreen_core::names::Oid;
use redgreen_core::phase::Phase;

use super::{CommandContext, plan, say};
use crate::engine::Project;
use crate::failure::Code;
use crate::ops::resume::Request;
use crate::ops::{self, RunEnd};
use crate::process::{Input, typed};
use crate::view;

/// The maximum size of a diff before the question is repeated.
const PATCH_BYTES_MAX: usize = 1 << 20;
/// The maximum number of unclear answers before the run is left waiting.
const QUESTIONS_MAX: u32 = 20;
/// The maximum number of pauses of one run that are answered here. `redgreen resume` handles more.
const PAUSES_MAX: u32 = 1_000;

/// Prints how the run stopped. On a terminal, asks about a run that waits for a human.
pub(super) fn end(
    desk: &CommandContext,
    project: &Project,
    stopped: &RunEnd,
    no_input: bool,
) -> Result<Code> {
    desk.stopped(stopped);
    let here = !no_input
        && !desk.printer.json
        && std::io::stdin().is_terminal()
        && std::io::stderr().is_terminal();
    let mut decided: Option<RunEnd> = None;
    for _ in 0..PAUSES_MAX {
        let last = decided.as_ref().unwrap_or(stopped);
        let next = match &last.outcome {
            Outcome::Waiting if here => waiting(desk, project, last)?,
            Outcome::Paused { after, .. } if here => paused(desk, project, last, *after)?,
            Outcome::Undecided { .. } if here => tied(desk, project, last)?,
            _ => None,
        };
        match next {
            Some(next) => decided = Some(next),
            None => break,
        }
    }
    let last = decided.as_ref().unwrap_or(stopped);
    if !desk.printer.json
        && let Some(closing) = ops::report::closing(project, last)?
    {
        desk.printer.more(&format!("\n{closing}"));
    }
    Ok(last.code())
}

/// Asks until the answer is clear. An empty line or the end of input leaves the run as it is. The
/// first word is the answer; the rest is its text.
fn asked<T>(
    desk: &CommandContext,
    question: &str,
    mut answer: impl FnMut(&str, &str) -> Result<Answer<T>>,
) -> Result<Option<T>> {
    for _ in 0..QUESTIONS_MAX {
        desk.printer.talk(question);
        match typed(&desk.stop, None)? {
            Input::Line(line) if line.is_empty() => return Ok(None),
            Input::Line(line) => {
                let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
                match answer(word, rest.trim())? {
                    Answer::Done(value) => return Ok(Some(value)),
                    Answer::Again => {}
                    Answer::Unknown(words) => {
                        desk.printer.talk(&format!("expected {words}, not {line:?}\n"));
                    }
                }
            }
            Input::End | Input::TimeUp => return Ok(None),
        }
    }
    Ok(None)
}

enum Answer<T> {
    Done(T),
    /// Done, but the question is still open.
    Again,
    Unknown(&'static str),
}

/// A finished run: merge it, end it, or continue with another item.
fn waiting(desk: &CommandContext, project: &Project, stopped: &RunEnd) -> Result<Option<RunEnd>> {
    let merged = ops::decide::to_be_merged(project, &stopped.state)?;
    let trees = [stopped.state.run.base.tree.as_str(), merged.as_str()];
    desk.printer.talk(&changes(project, trees)?);
    let id = stopped.folder.id.as_str();
    let question = "approve (merge) or abort? [approve/abort/diff, more WORDS for another case, \
                    Enter to decide later] ";
    asked(desk, question, |word, rest| {
        Ok(match (word, rest) {
            ("approve" | "yes", "") => {
                let decided =
                    ops::decide::approve(project, Some(id), Commits::Merged, &mut desk.watch())?;
                super::decide::approved(desk, project, &decided);
                Answer::Done(decided)
            }
            ("abort", "") => Answer::Done(abort(desk, project, id)?),
            ("diff", "") => {
                desk.printer.talk(&patch(project, trees)?);
                Answer::Again
            }
            ("more", item) if !item.is_empty() => {
                Answer::Done(resume(desk, project, &more(id, Some(item)))?)
            }
            // `no` could mean "abort" or "later", and only one of them can be undone.
            _ => Answer::Unknown("`approve` (or `yes`), `abort`, `diff` or `more WORDS`"),
        })
    })
}

/// A run that is paused after a phase.
fn paused(
    desk: &CommandContext,
    project: &Project,
    stopped: &RunEnd,
    after: Phase,
) -> Result<Option<RunEnd>> {
    let id = stopped.folder.id.as_str();
    let head = &stopped.state.progress.head.tree;
    let before = stopped.state.before(after).map_or(head, |waypoint| &waypoint.progress.head.tree);
    let trees = [before.as_str(), head.as_str()];
    desk.printer.talk(&changes(project, trees)?);
    let question = "continue? [yes/diff/plan/abort, say WORDS, reject WHY, Enter to decide later] ";
    asked(desk, question, |word, rest| {
        Ok(match (word, rest) {
            ("yes", "") => Answer::Done(resume(desk, project, &more(id, None))?),
            ("abort", "") => Answer::Done(abort(desk, project, id)?),
            ("diff", "") => {
                desk.printer.talk(&patch(project, trees)?);
                Answer::Again
            }
            ("plan", "") => {
                let edited = plan::edit(desk, project, Some(id))?;
                let told = edited.map_or_else(
                    || "the plan is unchanged\n".to_owned(),
                    |edited| plan::answer(&edited),
                );
                desk.printer.talk(&told);
                Answer::Again
            }
            ("say", words) if !words.is_empty() => {
                let told = ops::say::say(project, Some(id), words)?;
                desk.printer.talk(&say::answer(&told));
                Answer::Again
            }
            ("reject", why) if !why.is_empty() => {
                ops::reject::reject(project, Some(id), why, &mut desk.watch())?;
                Answer::Done(resume(desk, project, &more(id, None))?)
            }
            _ => Answer::Unknown("`yes`, `diff`, `plan`, `abort`, `say WORDS` or `reject WHY`"),
        })
    })
}

/// Several attempts, and all evidence about the best ones is equal. The outcome lists them.
fn tied(desk: &CommandContext, project: &Project, stopped: &RunEnd) -> Result<Option<RunEnd>> {
    let Some(candidates) = stopped.state.tied() else { return Ok(None) };
    let id = stopped.folder.id.as_str();
    let find = |number: &str| {
        let number: u32 = number.parse().ok()?;
        candidates.iter().find(|candidate| candidate.number == number)
    };
    let question = "which attempt? [NUMBER, diff NUMBER, abort, Enter to decide later] ";
    asked(desk, question, |word, rest| {
        Ok(match (word, rest, find(if rest.is_empty() { word } else { rest })) {
            ("abort", "", _) => Answer::Done(abort(desk, project, id)?),
            ("diff", _, Some(candidate)) => {
                let head = stopped.state.progress.head.tree.as_str();
                let tree = candidate.tree().map_or(head, Oid::as_str);
                desk.printer.talk(&patch(project, [head, tree])?);
                Answer::Again
            }
            (_, "", Some(chosen)) => {
                let (run, choose) = (Some(id.to_owned()), Some(chosen.number));
                let request = Request { run, choose, ..Request::default() };
                Answer::Done(resume(desk, project, &request)?)
            }
            _ => Answer::Unknown("the number of an attempt, `diff NUMBER` or `abort`"),
        })
    })
}

fn abort(desk: &CommandContext, project: &Project, id: &str) -> Result<RunEnd> {
    let stopped = ops::decide::abort(project, Some(id), &mut desk.watch())?;
    super::decide::approved(desk, project, &stopped);
    Ok(stopped)
}

fn more(id: &str, item: Option<&str>) -> Request {
    Request { run: Some(id.to_owned()), more: item.map(str::to_owned), ..Request::default() }
}

fn resume(desk: &CommandContext, project: &Project, request: &Request) -> Result<RunEnd> {
    let stopped = ops::resume::resume(project, request, &mut desk.watch())?;
    desk.stopped(&stopped);
    Ok(stopped)
}

/// The files that would be merged, and the size of each change.
fn changes(project: &Project, [old, new]: [&str; 2]) -> Result<String> {
    const FILES_MAX: usize = 30;
    let stats = project.git.diff_stat(old, new)?;
    let mut text = String::new();
    for stat in stats.iter().take(FILES_MAX) {
        let count =
            |lines: Option<u64>| lines.map_or_else(|| "-".to_owned(), |lines| lines.to_string());
        text.push_str(&format!(
            "  +{:<5} -{:<5} {}\n",
            count(stat.added),
            count(stat.removed),
            view::name(&stat.path)
        ));
    }
    if stats.len() > FILES_MAX {
        text.push_str(&format!("  and {}\n", view::count(stats.len() - FILES_MAX, "more file")));
    }
    Ok(text)
}

/// The same, line by line.
fn patch(project: &Project, [old, new]: [&str; 2]) -> Result<String> {
    let diff = project.git.diff_text(old, new, PATCH_BYTES_MAX)?;
    Ok(view::patch(&diff.text, diff.cut))
}
