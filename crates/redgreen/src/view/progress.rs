//! A run as it happens: one line for each thing worth knowing.

use redgreen_core::agent::{Cost, Failure, Turn};
use redgreen_core::event::Event;
use redgreen_core::phase::{Phase, Role};
use redgreen_core::policy::dollars;
use redgreen_core::state::{NextTry, State};
use redgreen_core::verdict::{Decision, Verdict};

use super::wrap::wrap;
use super::{BAD, DOUBT, GOOD, PLAIN, QUIET, STRONG, Style, paint, screen};
use crate::journal::{Body, Line};

/// Further words about what a line began with a name of up to nine letters.
const MARGIN: &str = "           ";
/// Where the sentences of a phase stand.
const SENTENCES: &str = "                         ";

/// Notes beside an accepted verdict.
const NOTES_MAX: usize = 3;

/// What is said about a line of the journal; empty when it is not worth a line.
pub fn moment(line: &Line, state: &State) -> String {
    match &line.body {
        Body::Intent { .. } => String::new(),
        Body::Event(event) => told(event, state),
    }
}

/// The first words about a run.
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
            format!("{}{MARGIN}taken over after {} of cycle {}\n", started(state), handoff.phase, handoff.cycle_number)
        }
        Event::Resumed { .. } => {
            let words = format!("run {} goes on in {}", state.run.id, state.phase());
            let last = state.last_trouble().map(|trouble| format!("\nafter the last try: {}", trouble.message.trim()));
            head(&paint(STRONG, "redgreen"), &(words + &last.unwrap_or_default()))
        }
        Event::Prepared { salvage, notices, .. } => {
            let mut text: String = notices.iter().map(|notice| notice_line(notice)).collect();
            if let Some(name) = salvage {
                text.push_str(&head("kept", &format!("what an interrupted turn had written: {name}")));
            }
            text
        }
        Event::Measured { report, lint, .. } => {
            let mut text = head("baseline", &report.summary);
            for linter in lint {
                text.push_str(&notice_line(&format!("`{linter}` is not content already; it will not be asked")));
            }
            text
        }
        // The verdict on the plan says what became of its ticks; no other verdict does.
        Event::Turned { role, turn, notices, list, cost, .. } => {
            let list: &[String] = if *role == Role::TestList { &[] } else { list };
            let price = untold_price(cost, state);
            let notices: String = notices.iter().chain(list).chain(&price).map(|notice| notice_line(notice)).collect();
            notices + &turned(*role, turn, state)
        }
        Event::Judged { phase, verdict, withheld, joined, .. } => {
            let mut text = judged(*phase, verdict, state);
            if let Some(withheld) = withheld {
                let tests = count(withheld.tests);
                text.push_str(&indent(PLAIN, "", &format!("{tests} withheld from whoever writes the code")));
            }
            if let Some(joined) = joined {
                let words =
                    format!("{} passed that the implementer did not see; part of the tests now", count(joined.tests));
                text.push_str(&indent(PLAIN, "", &words));
            }
            text
        }
        Event::Linted { findings, criteria, .. } => {
            let unmet = criteria.iter().map(|said| indent(BAD, "criterion", &format!("{said} [task.criteria]")));
            let found = findings.iter().map(|finding| indent(BAD, "lint", finding));
            found.chain(unmet).chain(again(state)).collect()
        }
        Event::Restored { salvage, .. } => match salvage {
            Some(name) => indent(PLAIN, "taken back", &format!("kept as {name}")),
            None => indent(PLAIN, "taken back", ""),
        },
        Event::HumanCommitted { commits, salvage, .. } => {
            let kept = salvage.as_ref().map(|name| format!("; the work under way is kept as {name}"));
            let many =
                if commits.len() == 1 { "1 commit was".to_owned() } else { format!("{} commits were", commits.len()) };
            notice_line(&format!("{many} added to {}; judged now{}", state.run.branch, kept.unwrap_or_default()))
        }
        Event::Reviewed { phase, verdict, .. } => judged(*phase, verdict, state),
        // The last words say it.
        Event::MergeBlocked { .. } => String::new(),
        Event::Merged { commit } => {
            head(&paint(GOOD, "merged"), &format!("{} is in {}", short(commit), super::name(&state.run.target)))
        }
        Event::Undone { to, salvage, .. } => {
            let words = format!("{} is back at {}", super::name(&state.run.target), short(to));
            let kept = salvage.as_ref().map(|name| head("kept", &format!("the merge, as {name}")));
            head(&paint(STRONG, "undone"), &words) + &kept.unwrap_or_default()
        }
        Event::Discarded { salvage: Some(name) } => head("kept", &format!("the commits of the run, as {name}")),
        Event::UserSaid { message, .. } => head(&paint(STRONG, "you said"), message),
        Event::PlanEdited { pending, .. } => {
            let items = super::count(pending.len(), "open item");
            head(&paint(STRONG, "your plan"), &format!("{items}; the next planning begins with it"))
        }
        Event::WorkEdited { salvage, .. } => {
            let kept = salvage.as_ref().map(|name| format!("; what was accepted before is kept as {name}"));
            notice_line(&format!(
                "you changed the files of {}; they are judged again{}",
                state.phase(),
                kept.unwrap_or_default()
            ))
        }
        Event::TestRejected { to, message, salvage } => {
            let words = format!("the test, back at {}: {message}", short(to));
            let kept = salvage.as_ref().map(|name| head("kept", &format!("what came after, as {name}")));
            head(&paint(STRONG, "rejected"), &words) + &kept.unwrap_or_default()
        }
        Event::RolledBack { to, salvage } => {
            let mut text = head(&paint(STRONG, "redgreen"), &format!("back at {}", short(to)));
            if let Some(name) = salvage {
                text.push_str(&head("kept", &format!("what came after, as {name}")));
            }
            text
        }
        Event::Paused
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
                Failure::RateLimit { .. } => "the agent has to wait: ",
                Failure::Timeout => "the agent ran out of time: ",
                Failure::Crash => "the agent's turn failed: ",
                Failure::Unusable | Failure::Budget => "",
            };
            let sentence = format!("{what}{message} {}", code(failure.as_str()));
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
        // The same compiler error in two lines of a file reads the same here; `why` has the places.
        let is_told = verdict.reasons.iter().take(index).any(|told| told.sentence == reason.sentence);
        match index {
            0 => text.push_str(&row(state.progress.cycle, phase, style, word, &sentence)),
            _ if is_told => {}
            _ => text.push_str(&indent(PLAIN, "", &sentence)),
        }
    }
    // What was refused or is to be decided is read in full; beside good news a few words will do.
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

/// The next try, where there is one.
fn again(state: &State) -> Option<String> {
    let NextTry { number, of, pause_ms } = state.next_try()?;
    let pause = if pause_ms == 0 { String::new() } else { format!(" in {}", seconds(pause_ms)) };
    Some(indent(QUIET, "", &format!("{} is tried again{pause}: try {number} of {of}", state.phase())))
}

fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{} s", ms / 1000) } else { format!("{}.{} s", ms / 1000, ms % 1000 / 100) }
}

/// Under a budget in dollars, a turn that cost nobody knows what.
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

/// A line that stands by itself.
fn head(word: &str, sentence: &str) -> String {
    // Paint has no width, so the blanks are counted by hand.
    let gap = " ".repeat(MARGIN.len().saturating_sub(screen::width(word)));
    format!("{word}{gap}{}\n", lines(sentence, MARGIN))
}

/// What a careful user wants to know.
pub fn notice_line(sentence: &str) -> String {
    head(&paint(DOUBT, "notice"), sentence)
}

fn word_column(style: Style, word: &str) -> String {
    // Padded before it is painted: paint has no width.
    paint(style, &format!("{word:<10}"))
}

fn code(code: &str) -> String {
    paint(QUIET, &format!("[{code}]"))
}

/// Further lines of a sentence stand below its first, which begins at the margin.
fn lines(sentence: &str, margin: &str) -> String {
    const LINES_MAX: usize = 12;
    wrap(&super::clip(sentence, LINES_MAX), margin.len(), margin, screen::talk_columns())
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
