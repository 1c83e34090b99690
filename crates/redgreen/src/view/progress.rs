//! The progress of a run: one line for each important event.

use redgreen_core::agent::{Cost, Failure, Turn};
use redgreen_core::attempts::Rank;
use redgreen_core::event::Event;
use redgreen_core::phase::{Phase, Role};
use redgreen_core::policy::dollars;
use redgreen_core::state::{NextTry, State};
use redgreen_core::verdict::{Decision, Verdict};

use super::wrap::wrap;
use super::{BAD, DOUBT, GOOD, PLAIN, QUIET, STRONG, Style, paint, screen};
use crate::journal::{Body, Line};

/// The indentation below a line that starts with a name of up to nine letters.
const MARGIN: &str = "           ";
/// The column of the sentences of a phase.
const SENTENCES: &str = "                         ";

/// The maximum number of notes next to an accepted verdict.
const NOTES_MAX: usize = 3;

/// The text for a line of the journal. Empty if it is not important.
pub fn moment(line: &Line, state: &State) -> String {
    match &line.body {
        Body::Intent { .. } => String::new(),
        Body::Event(event) => told(event, state),
    }
}

/// The first lines of a run.
fn started(state: &State) -> String {
    let run = &state.run;
    let words = format!(
        "{}\non branch {}, for {}, by {}",
        paint(STRONG, &super::brief(&run.brief.request)),
        super::name(&run.branch),
        super::name(&run.target),
        super::name(&run.agent)
    );
    head(&paint(STRONG, "redgreen"), &words)
}

fn told(event: &Event, state: &State) -> String {
    match event {
        Event::Started { .. } => started(state),
        Event::Adopted { handoff, .. } => {
            format!(
                "{}{MARGIN}continued after {} of cycle {}\n",
                started(state),
                handoff.phase,
                handoff.cycle_number
            )
        }
        Event::Resumed { .. } => {
            let words = format!("run {} continues in {}", state.run.id, state.phase());
            let last = state
                .last_trouble()
                .map(|trouble| format!("\nlast attempt: {}", trouble.message.trim()));
            head(&paint(STRONG, "redgreen"), &(words + &last.unwrap_or_default()))
        }
        Event::Prepared { salvage, notices, .. } => {
            let mut text: String = notices.iter().map(|notice| notice_line(notice)).collect();
            if let Some(name) = salvage {
                text.push_str(&head("kept", &format!("work of an interrupted turn: {name}")));
            }
            text
        }
        Event::Measured { report, lint, .. } => {
            let mut text = head("baseline", &report.summary);
            for linter in lint {
                text.push_str(&notice_line(&format!(
                    "`{linter}` already reports problems, so the run ignores it"
                )));
            }
            text
        }
        // Only the verdict on the plan reports what happened to its ticks.
        Event::Turned { role, turn, notices, list, cost, .. } => {
            let list: &[String] = if *role == Role::TestList { &[] } else { list };
            let price = untold_price(cost, state);
            let notices: String = notices
                .iter()
                .chain(list)
                .chain(&price)
                .map(|notice| notice_line(notice))
                .collect();
            notices + &turned(*role, turn, state)
        }
        Event::Judged { phase, verdict, withheld, joined, .. } => {
            let mut text = judged(*phase, verdict, state);
            if let Some(withheld) = withheld {
                let tests = count(withheld.tests);
                text.push_str(&indent(
                    PLAIN,
                    "",
                    &format!("{tests} withheld from the implementer"),
                ));
            }
            if let Some(joined) = joined {
                let words = format!(
                    "{} passed that the implementer did not see; now part of the test suite",
                    count(joined.tests)
                );
                text.push_str(&indent(PLAIN, "", &words));
            }
            text
        }
        Event::Attempted { candidate } => {
            let summary = candidate.summary();
            let style = match summary.result {
                Rank::Accepted => GOOD,
                Rank::Undecided => DOUBT,
                Rank::Refused | Rank::Failed => BAD,
            };
            let word = format!("attempt {}", summary.number);
            let words = format!("{} ({})", summary.words(), super::name(&summary.agent));
            row(state.progress.cycle, state.phase(), style, &word, &words)
        }
        Event::Chosen { choice } => indent(STRONG, "chosen", &choice.why),
        Event::Linted { findings, criteria, .. } => {
            let unmet = criteria
                .iter()
                .map(|said| indent(BAD, "criterion", &format!("{said} [task.criteria]")));
            let found = findings.iter().map(|finding| indent(BAD, "lint", finding));
            found.chain(unmet).chain(again(state)).collect()
        }
        Event::Restored { salvage, .. } => match salvage {
            Some(name) => indent(PLAIN, "reverted", &format!("kept as {name}")),
            None => indent(PLAIN, "reverted", ""),
        },
        Event::HumanCommitted { commits, salvage, .. } => {
            let kept = salvage.as_ref().map(|name| format!("; unfinished work is kept as {name}"));
            let many = if commits.len() == 1 {
                "1 commit was".to_owned()
            } else {
                format!("{} commits were", commits.len())
            };
            notice_line(&format!(
                "{many} added to {}; judging them now{}",
                state.run.branch,
                kept.unwrap_or_default()
            ))
        }
        Event::Reviewed { phase, verdict, .. } => judged(*phase, verdict, state),
        // The closing lines report it.
        Event::MergeBlocked { .. } => String::new(),
        Event::Merged { commit } => head(
            &paint(GOOD, "merged"),
            &format!("{} is in {}", short(commit), super::name(&state.run.target)),
        ),
        Event::Undone { to, salvage, .. } => {
            let words = format!("{} is back at {}", super::name(&state.run.target), short(to));
            let kept = salvage.as_ref().map(|name| head("kept", &format!("the merge, as {name}")));
            head(&paint(STRONG, "undone"), &words) + &kept.unwrap_or_default()
        }
        Event::Discarded { salvage: Some(name) } => {
            head("kept", &format!("the commits of the run, as {name}"))
        }
        Event::PauseAsked { .. } => head(&paint(STRONG, "you said"), "pause after this phase"),
        Event::UserSaid { message, .. } => head(&paint(STRONG, "you said"), message),
        Event::PlanEdited { pending, .. } => {
            let items = super::count(pending.len(), "open item");
            head(&paint(STRONG, "your plan"), &format!("{items}; used by the next PLAN"))
        }
        Event::WorkEdited { salvage, .. } => {
            let kept = salvage
                .as_ref()
                .map(|name| format!("; the version accepted before is kept as {name}"));
            notice_line(&format!(
                "you changed the files of {}; judging them again{}",
                state.phase(),
                kept.unwrap_or_default()
            ))
        }
        Event::TestRejected { to, message, salvage } => {
            let words = format!("the test, back at {}: {message}", short(to));
            let kept = salvage.as_ref().map(|name| head("kept", &format!("later work, as {name}")));
            head(&paint(STRONG, "rejected"), &words) + &kept.unwrap_or_default()
        }
        Event::RolledBack { to, salvage } => {
            let mut text = head(&paint(STRONG, "redgreen"), &format!("back at {}", short(to)));
            if let Some(name) = salvage {
                text.push_str(&head("kept", &format!("later work, as {name}")));
            }
            text
        }
        Event::Paused
        | Event::Compared { .. }
        | Event::Recorded { .. }
        | Event::Committed { .. }
        | Event::Noted { .. }
        | Event::Left { .. }
        | Event::Decided { .. }
        | Event::Discarded { salvage: None } => String::new(),
    }
}

fn turned(role: Role, turn: &Turn, state: &State) -> String {
    match turn {
        Turn::Done { answer } if role == Role::Diagnosis && !answer.trim().is_empty() => {
            indent(PLAIN, "diagnosis", answer.trim().lines().next().unwrap_or_default())
        }
        Turn::Done { .. } => String::new(),
        Turn::Failed { failure, message } => {
            let what = match failure {
                Failure::RateLimit { .. } => "the agent must wait: ",
                Failure::Timeout => "the agent ran out of time: ",
                Failure::Crash => "the agent's turn failed: ",
                Failure::Unusable | Failure::Budget => "",
            };
            let sentence = format!("{what}{} {}", super::name(message), code(failure.as_str()));
            let told = row(state.progress.cycle, state.phase(), BAD, "failed", &sentence);
            told + &again(state).unwrap_or_default()
        }
    }
}

fn judged(phase: Phase, verdict: &Verdict, state: &State) -> String {
    let (style, word) = match verdict.decision {
        Decision::Accepted => (GOOD, "accepted"),
        Decision::Refused => (BAD, "refused"),
        Decision::Undecided => (DOUBT, "undecided"),
    };
    let mut text = String::new();
    for (index, reason) in verdict.reasons.iter().enumerate() {
        let sentence = format!("{} {}", reason.sentence, code(reason.code.as_str()));
        // The same compiler error in two lines of a file looks the same here. `why` shows the
        // places.
        let is_told =
            verdict.reasons.iter().take(index).any(|told| told.sentence == reason.sentence);
        match index {
            0 => text.push_str(&row(state.progress.cycle, phase, style, word, &sentence)),
            _ if is_told => {}
            _ => text.push_str(&indent(PLAIN, "", &sentence)),
        }
    }
    // Refused and undecided verdicts are shown in full. Accepted ones need only a few notes.
    let most = if verdict.decision == Decision::Accepted { NOTES_MAX } else { verdict.notes.len() };
    text.extend(verdict.notes.iter().take(most).map(|note| indent(PLAIN, "", note)));
    if verdict.decision == Decision::Refused {
        text.extend(again(state));
    }
    if verdict.notes.len() > most {
        text.push_str(&indent(
            QUIET,
            "",
            &format!("{} more: redgreen report --html run.html", verdict.notes.len() - most),
        ));
    }
    text
}

/// The next attempt, if there is one.
fn again(state: &State) -> Option<String> {
    let NextTry { number, of, pause_ms } = state.next_try()?;
    let pause = if pause_ms == 0 { String::new() } else { format!(" in {}", seconds(pause_ms)) };
    Some(indent(QUIET, "", &format!("retrying {}{pause}: attempt {number} of {of}", state.phase())))
}

fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) {
        format!("{} s", ms / 1000)
    } else {
        format!("{}.{} s", ms / 1000, ms % 1000 / 100)
    }
}

/// With a budget in dollars: a turn of unknown cost.
fn untold_price(cost: &Cost, state: &State) -> Option<String> {
    let limit = state.run.policy.budget.microdollars.filter(|_| cost.microdollars.is_none())?;
    let (known, turns) = (dollars(state.spent.microdollars), state.spent.turns_without_price());
    let turns = super::count(usize::try_from(turns).unwrap_or(usize::MAX), "turn");
    Some(format!(
        "the cost of this turn is unknown; of {}, {known} and {turns} of unknown cost are spent",
        dollars(limit)
    ))
}

fn count(tests: u64) -> String {
    super::count(usize::try_from(tests).unwrap_or(usize::MAX), "test")
}

fn row(cycle: u32, phase: Phase, style: Style, word: &str, sentence: &str) -> String {
    format!("{cycle:>3} {phase:<8}  {} {}\n", word_column(style, word), lines(sentence, SENTENCES))
}

/// A line about the phase above.
fn indent(style: Style, word: &str, sentence: &str) -> String {
    let line = format!("{:14}{} {}", "", word_column(style, word), lines(sentence, SENTENCES));
    format!("{}\n", line.trim_end())
}

/// A separate line.
fn head(word: &str, sentence: &str) -> String {
    // Colours have no width, so the spaces are counted by hand.
    let gap = " ".repeat(MARGIN.len().saturating_sub(screen::width(word)));
    format!("{word}{gap}{}\n", lines(sentence, MARGIN))
}

/// A notice for careful users.
pub fn notice_line(sentence: &str) -> String {
    head(&paint(DOUBT, "notice"), sentence)
}

fn word_column(style: Style, word: &str) -> String {
    // Padded before it is coloured, because colours have no width.
    paint(style, &format!("{word:<10}"))
}

fn code(code: &str) -> String {
    paint(QUIET, &format!("[{code}]"))
}

/// Further lines of a sentence are below its first one.
fn lines(sentence: &str, margin: &str) -> String {
    const LINES_MAX: usize = 12;
    wrap(&super::clip(sentence, LINES_MAX), margin.len(), margin, screen::talk_columns())
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
