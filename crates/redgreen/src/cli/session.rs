//! `redgreen session`.

use std::io::{self, IsTerminal};

use anyhow::Result;
use redgreen_core::verdict::Decision;

use super::CommandContext;
use super::judge::{reason_line, word};
use crate::engine::Project;
use crate::failure::{Code, Failure};
use crate::ops::session::{self, Ask, CheckResult, Resolution, SessionEnd, Status, UndoResult};
use crate::view;

/// Judge each TDD step in your own checkout, whether you or your coding agent makes it
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                        redgreen session start \"add roman numerals\"\n  \
                        redgreen session check             judge the current files: RED, GREEN or \
                        REFACTOR\n  redgreen session check --commit    and commit if accepted\n  \
                        redgreen session dispute \"4 is IV, not IIII\" --test tests/test_roman.py::test_four\n  \
                        redgreen session end\n\n\
                        Exit codes: 0 accepted, 1 refused, 3 undecided or disputed")]
pub(super) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(clap::Subcommand, Debug)]
enum Act {
    /// Start a session; the current files are the accepted state
    Start {
        /// What to build, in words
        brief: Option<String>,
    },
    /// Show the state of the session
    Status,
    /// Judge the files in the checkout; the phase follows from what changed
    Check {
        /// Commit the accepted step with the prefix of its phase; only files that changed since the
        /// last step
        #[arg(long)]
        commit: bool,
        /// The commit subject [default: the first line of the brief]
        #[arg(long, short, value_name = "TEXT", requires = "commit")]
        message: Option<String>,
        /// Show every experiment, its result, and how to repeat it
        #[arg(long)]
        explain: bool,
    },
    /// Undo the last accepted step; does not change files
    Undo,
    /// Report that a test is wrong or cannot pass; a human decides
    Dispute {
        /// What is wrong with it
        why: String,
        /// The test
        #[arg(long, value_name = "ID")]
        test: Option<String>,
    },
    /// Decide about a disputed test, on a terminal: keep it, or drop it with its RED
    Resolve { resolution: AnswerWord },
    /// End the session and show what is proven; does not change files
    End {
        /// Do not ask if work is unproven
        #[arg(long)]
        unproven: bool,
    },
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum AnswerWord {
    Keep,
    Drop,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        match self.act {
            Act::Start { brief } => {
                let status = session::start(&desk.trusted_project()?, &brief.unwrap_or_default())?;
                let head =
                    format!("session {} started; the current files count as accepted", status.id);
                told(desk, &head, &status);
                Ok(Code::Done)
            }
            Act::Status => {
                let project = desk.project()?;
                let status = session::status(&project)?;
                let head =
                    format!("session {}  cycle {}, {}", status.id, status.cycle, status.standing);
                let mut text = with_rows(&head, &status);
                for (name, words) in session::disputed_texts(&project, &status)?
                    .iter()
                    .filter(|_| status.dispute.is_some())
                {
                    text.push_str(&format!(
                        "\n{}\n{}\n",
                        view::name(name),
                        view::clip(words, TEXT_LINES_MAX)
                    ));
                }
                desk.printer.answer(&text, &status);
                Ok(if status.dispute.is_some() { Code::Human } else { Code::Done })
            }
            Act::Check { commit, message, explain } => {
                let project = desk.trusted_project()?;
                let subject = message.unwrap_or_default();
                let ask = Ask { commit: commit.then_some(subject.as_str()), explain };
                let pulse = desk.pulse("judging");
                let checked = session::check(&project, ask)?;
                drop(pulse);
                desk.printer.answer(&checked_words(&checked, explain), &checked);
                Ok(checked.code())
            }
            Act::Undo => {
                let undone = session::undo(&desk.project()?)?;
                desk.printer.answer(
                    &undone_words(&format!("{} is undone", undone.phase), &undone),
                    &undone,
                );
                Ok(Code::Done)
            }
            Act::Dispute { why, test } => {
                let status = session::dispute(&desk.project()?, &why, test.as_deref())?;
                told(desk, "disputed; nothing is judged until a human decides", &status);
                Ok(Code::Human)
            }
            Act::Resolve { resolution } => {
                let resolution = match resolution {
                    AnswerWord::Keep => Resolution::Keep,
                    AnswerWord::Drop => Resolution::Drop,
                };
                resolve(desk, resolution)
            }
            Act::End { unproven } => end(desk, unproven),
        }
    }
}

/// Only a person may decide. The agent that disputes a test must not.
fn resolve(desk: &CommandContext, resolution: Resolution) -> Result<Code> {
    let project = desk.project()?;
    let status = session::status(&project)?;
    if !is_person() {
        return Err(Failure::usage("only a person at a terminal can resolve a disputed test")
            .next("redgreen session status")
            .into());
    }
    if let Some(dispute) = &status.dispute {
        let test = dispute.test.as_deref().unwrap_or("a test");
        desk.printer.talk(&format!(
            "{} is disputed: {}\n",
            view::name(test),
            view::name(&dispute.why)
        ));
        let question = match resolution {
            Resolution::Keep => "keep the test?",
            Resolution::Drop => "drop the test and undo its RED?",
        };
        if !desk.agrees(question)? {
            return Ok(Code::No);
        }
    }
    let undone = session::resolve(&project, resolution)?;
    let head = match resolution {
        Resolution::Keep => "the test is kept",
        Resolution::Drop => "the test is dropped: its RED is undone, and you may change it",
    };
    desk.printer.answer(&undone_words(head, &undone), &undone);
    Ok(Code::Done)
}

fn is_person() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn end(desk: &CommandContext, unproven: bool) -> Result<Code> {
    let project = desk.project()?;
    confirm_end(desk, &project, unproven)?;
    let ended = session::end(&project)?;
    desk.printer.answer(&ended_words(&ended), &ended);
    Ok(Code::Done)
}

/// Prevents ending a session with unproven work by accident.
fn confirm_end(desk: &CommandContext, project: &Project, unproven: bool) -> Result<()> {
    let (standing, evidence, is_disputed) = match session::status(project) {
        Ok(status) => (status.standing, status.changed, status.dispute.is_some()),
        // An unreadable session ends without a question.
        Err(_) if !session::is_readable(project) => return Ok(()),
        Err(error) => ("unproven".to_owned(), vec![format!("{error:#}")], false),
    };
    if unproven || standing == "proven" {
        return Ok(());
    }
    let what = format!("the work in this session is {}", standing_words(&standing));
    if is_person() && desk.agrees(&format!("{what}; end it?"))? {
        return Ok(());
    }
    let failure = Failure::usage(format!("{what}, so it was not ended"));
    let failure = evidence.into_iter().take(FILES_MAX).fold(failure, Failure::evidence);
    let first =
        if is_disputed { "redgreen session resolve keep|drop" } else { "redgreen session check" };
    Err(failure.next(format!("{first}, or: redgreen session end --unproven")).into())
}

/// A standing, and what it means if the word does not say it.
fn standing_words(standing: &str) -> String {
    match standing {
        "owed" => "owed: the tests of its RED do not pass yet".to_owned(),
        _ => standing.to_owned(),
    }
}

/// The maximum number of lines of a disputed test.
const TEXT_LINES_MAX: usize = 60;
/// The maximum number of files to list.
const FILES_MAX: usize = 8;

fn told(desk: &CommandContext, head: &str, status: &Status) {
    desk.printer.answer(&with_rows(head, status), status);
}

fn with_rows(head: &str, status: &Status) -> String {
    let mut changed: Vec<String> =
        status.changed.iter().take(FILES_MAX).map(|path| view::name(path).into_owned()).collect();
    if status.changed.len() > FILES_MAX {
        changed.push(format!("and {} more", status.changed.len() - FILES_MAX));
    }
    let objections: Vec<String> = status.objections.iter().map(reason_line).collect();
    let dispute = status.dispute.as_ref().map_or_else(String::new, |dispute| match &dispute.test {
        Some(test) => format!("{test}: {}", dispute.why),
        None => dispute.why.clone(),
    });
    let last = status.last.as_ref().map_or_else(String::new, |last| {
        format!("{} {}: {}", last.phase, word(last.decision), last.codes.join(", "))
    });
    let rows = [
        ("brief", status.brief.clone()),
        ("changed", changed.join("\n")),
        ("note", nested_words(status).join("\n")),
        ("wrong", objections.join("\n")),
        ("dispute", dispute),
        ("last", last),
    ];
    let rows: Vec<(&str, &str)> =
        rows.iter().map(|(name, value)| (*name, value.as_str())).collect();
    format!("{head}\n{}", view::block(&rows, &status.next))
}

/// A test that needs a nested repository fails during a check, so say why.
fn nested_words(status: &Status) -> Vec<String> {
    let told = status.nested.iter().take(FILES_MAX);
    told.map(|path| {
        format!("{} is a separate git repository; tests run without its files", view::name(path))
    })
    .collect()
}

fn checked_words(checked: &CheckResult, explain: bool) -> String {
    let Some(judgement) = &checked.judgement else {
        let head = match checked.session.dispute {
            Some(_) => "a test is disputed, so nothing is judged",
            None => "nothing changed since the last accepted verdict",
        };
        return with_rows(head, &checked.session);
    };
    let reasons: Vec<String> =
        judgement.reasons.iter().map(|told| reason_line(&told.reason)).collect();
    let counts = format!(
        "{}: {} passed, {} failed",
        judgement.ran, judgement.counts.passed, judgement.counts.failed
    );
    let tried = if explain { view::experiments(&judgement.experiments) } else { String::new() };
    let commit = checked.commit.as_ref().map_or_else(String::new, ToString::to_string);
    let rows = [
        ("why", reasons.join("\n")),
        ("ran", counts),
        ("note", [judgement.notes.clone(), nested_words(&checked.session)].concat().join("\n")),
        ("tried", tried),
        ("commit", commit),
    ];
    let rows: Vec<(&str, &str)> =
        rows.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let next = match judgement.verdict {
        Decision::Accepted => checked.session.next.clone(),
        Decision::Refused | Decision::Undecided => {
            let legal = judgement.reasons.first().map_or("", |told| told.next);
            format!("{legal}; if a test is wrong: redgreen session dispute \"<why>\"")
        }
    };
    format!("{} {}\n{}", judgement.phase, word(judgement.verdict), view::block(&rows, &next))
}

fn undone_words(head: &str, undone: &UndoResult) -> String {
    let files = match &undone.files {
        Some(command) => format!("unchanged; to restore them: {command}"),
        None => String::new(),
    };
    format!("{head}\n{}", view::block(&[("files", &files)], &undone.session.next))
}

fn ended_words(ended: &SessionEnd) -> String {
    let phases: Vec<String> = ended.steps.iter().map(|step| step.phase.to_string()).collect();
    let rows = [
        ("accepted", if phases.is_empty() { "nothing".to_owned() } else { phases.join(", ") }),
        (
            "unproven",
            if ended.standing == "proven" { String::new() } else { ended.changed.join("\n") },
        ),
        (
            "kept",
            ended
                .salvage
                .as_ref()
                .map_or_else(String::new, |name| format!("redgreen salvage show {name}")),
        ),
    ];
    let rows: Vec<(&str, &str)> =
        rows.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let id =
        ended.id.as_ref().map_or_else(|| "the session".to_owned(), |id| format!("session {id}"));
    let standing = standing_words(&ended.standing);
    format!("{id} ended; its work is {standing}\n{}", view::block(&rows, "git status"))
}
