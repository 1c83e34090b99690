//! The summary of a run, and the closing block of its output, for the program that submitted the
//! task.

use crate::artifact::{Green, Red};
use crate::brief::{Brief, Door};
use crate::event::Outcome;
use crate::outline::FileChange;
use crate::phase::{Phase, Role};
use crate::state::{Refactoring, Situation, State};
use crate::tally::Tally;
use crate::text::{on_one_line, visible};

/// The maximum number of new functions and classes to list.
const CONTENT_MAX: usize = 40;

/// The stored observations of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunResults {
    /// From the last cycle that has one.
    pub red: Option<Red>,
    pub green: Option<Green>,
    /// The test files of every accepted RED.
    pub test_files: Vec<String>,
    /// Changed files, with the kind of change.
    pub files: Vec<FileChange>,
    /// The folder of the artifacts, and those of the last cycle.
    pub folder: String,
    pub cycle_folder: String,
}

impl RunResults {
    fn coverage_line(&self, brief: &Brief) -> String {
        let actual = self
            .green
            .as_ref()
            .and_then(|green| green.coverage.as_deref())
            .unwrap_or("not measured");
        let target =
            brief.expected_coverage.map_or_else(|| "none".to_owned(), |target| target.to_string());
        format!("{actual} (target: {target})")
    }

    /// Test files, each once, in the order of the cycles.
    fn test_files(&self) -> String {
        let mut files: Vec<&str> = Vec::new();
        for path in self.test_files.iter().map(String::as_str) {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        if files.is_empty() { "none".to_owned() } else { files.join(", ") }
    }
}

/// The test counts of the last tree of the branch, without reverted attempts.
fn tests_line(state: &State) -> String {
    let counts = state.progress.accepted.as_ref().map(|report| report.counts).unwrap_or_default();
    let total = counts.passed + counts.failed + counts.load_errors;
    let percent = counts.passed.saturating_mul(100).checked_div(total).unwrap_or(0);
    format!("{}/{total} passed ({percent}%)", counts.passed)
}

/// Tests that were withheld while the code was written.
fn withheld(tests: u64) -> String {
    if tests == 0 {
        String::new()
    } else {
        format!("- Withheld Tests: {tests} passed, now part of the test suite\n")
    }
}

/// The summary of a run as markdown. Foreign text stays on its line.
pub fn markdown(state: &State, outcome: Option<&Outcome>, seen: &RunResults) -> String {
    visible(&told(state, outcome, seen)).into_owned()
}

fn told(state: &State, outcome: Option<&Outcome>, seen: &RunResults) -> String {
    let brief = &state.run.brief;
    let title = brief.request.lines().next().unwrap_or_default();
    let name = if brief.id.is_empty() { state.run.id.as_str() } else { brief.id.as_str() };
    let limit = state.run.policy.iterations_max;
    let red = seen.red.as_ref();
    let tally = Tally::of(state);
    // A refused RED wrote tests too. If there is only one, it counts.
    let written =
        if tally.written == 0 { red.map_or(0, |red| red.test_count) } else { tally.written };
    let asked = match (brief.door, brief.test_count) {
        (Door::Task, Some(count)) => count.to_string(),
        (Door::Spec | Door::Task, _) => format!("at least {}", brief.test_cases.len()),
        (Door::Request | Door::Design, _) => "one per cycle".to_owned(),
    };
    let initial = red.map_or_else(
        || "RED was not reached".to_owned(),
        |red| match red.unexpected_passes.len() {
            0 => "All tests failing as expected".to_owned(),
            passes => format!("{} failing, {passes} already passing", red.failing_tests.len()),
        },
    );
    let mut text = format!(
        "# Task: {} {title}\n\n## TDD Cycle Summary\n\n\
         ### Red Phase: Write Failing Tests\n\
         - Test Cases Written: {written} (expected: {asked})\n\
         - Test Files: {}\n\
         - Initial Result: {initial}\n\n\
         ### Green Phase: Implement to Pass Tests\n\
         - Implementation Scope: {}\n\
         - Test-Fix Iterations: {}\n\
         - Final Test Results: {}\n\
         - Coverage: {}\n{}\
         - Iteration Details: See green-fix-iteration-*.md\n\n\
         ### Refactor Phase: Improve Code Quality\n\
         - Refactorings Applied: {}\n\
         - Regression Test: {}\n\
         - Final Test Results: {}\n\n\
         ## Implementation Summary\n\n### Files Modified\n",
        on_one_line(name),
        on_one_line(&seen.test_files()),
        on_one_line(&scope(brief)),
        iterations(&tally, seen, limit),
        tests_line(state),
        seen.coverage_line(brief),
        withheld(tally.joined),
        on_one_line(&refactorings(state)),
        if is_complete(outcome) { "All tests still passing" } else { "not reached" },
        tests_line(state),
    );
    for FileChange { path, how, what, .. } in &seen.files {
        let what = if what.is_empty() { String::new() } else { format!(", {}", on_one_line(what)) };
        text.push_str(&format!("- `{}`: {how}{what}\n", on_one_line(path)));
    }
    if seen.files.is_empty() {
        text.push_str("- none\n");
    }
    if !tally.removed.is_empty() {
        text.push_str("\n### Dropped From the List\n");
        for item in &tally.removed {
            text.push_str(&format!("- {item}\n"));
        }
    }
    let content = content(brief, seen);
    if !content.is_empty() {
        text.push_str("\n### Content Added\n");
        for (name, words) in content.iter().take(CONTENT_MAX) {
            text.push_str(&format!("- **{}**: {}\n", on_one_line(name), on_one_line(words)));
        }
        if content.len() > CONTENT_MAX {
            text.push_str(&format!("- and {} more\n", content.len() - CONTENT_MAX));
        }
    }
    let warnings = red.map_or(&[][..], |red| red.warnings.as_slice());
    let warnings: Vec<&String> =
        warnings.iter().chain(seen.green.iter().flat_map(|green| &green.warnings)).collect();
    if !warnings.is_empty() {
        text.push_str("\n### Warnings\n");
        for warning in warnings {
            text.push_str(&format!("- {}\n", on_one_line(warning)));
        }
    }
    let status = match outcome {
        outcome if is_complete(outcome) && given_up(state).is_some() => {
            "Complete (refactoring rolled back)"
        }
        outcome if is_complete(outcome) => "Complete (TDD Compliant)",
        Some(Outcome::GaveUp { .. } | Outcome::NothingDeveloped { .. } | Outcome::Aborted) => {
            "Failed"
        }
        _ => "Blocked",
    };
    text.push_str(&format!("\n## Status: {status}\n"));
    text
}

/// New code other than tests, with the name in the specification, or in the code.
fn content(brief: &Brief, seen: &RunResults) -> Vec<(String, String)> {
    let component = |name: &str| brief.components.iter().find(|component| component.name == name);
    let described = |(name, words): &(String, String)| {
        let known = component(name.trim_end_matches("()"))
            .filter(|component| !component.description.is_empty());
        (
            name.clone(),
            known.map_or_else(|| words.clone(), |component| component.description.clone()),
        )
    };
    seen.files.iter().flat_map(|file| file.content.iter().map(described)).collect()
}

fn refactorings(state: &State) -> String {
    let all = state.refactorings();
    let applied = all.iter().filter(|one| **one == Refactoring::Applied).count();
    match (given_up(state), all.is_empty()) {
        (_, true) => "0 (not reached)".to_owned(),
        (Some(why), false) => {
            format!("{applied} (rolled back to the green code: {})", first(&why))
        }
        (None, false) if applied == 0 => "0 (no changes needed)".to_owned(),
        (None, false) => applied.to_string(),
    }
}

/// Why the last refactoring that was given up was.
fn given_up(state: &State) -> Option<String> {
    state.refactorings().into_iter().rev().find_map(|one| match one {
        Refactoring::GivenUp { why } => Some(why),
        Refactoring::Applied | Refactoring::Nothing => None,
    })
}

/// The block that ends the output: complete, blocked or failed.
pub fn closing(state: &State, outcome: &Outcome, seen: &RunResults) -> String {
    let brief = &state.run.brief;
    let limit = state.run.policy.iterations_max;
    let phase = title_case(state.phase());
    match outcome {
        Outcome::Waiting | Outcome::Merged => {
            let files: Vec<&str> = seen.files.iter().map(|file| file.path.as_str()).collect();
            let cycle = match given_up(state) {
                None => "Red → Green → Refactor".to_owned(),
                Some(why) => format!("Red → Green; refactoring rolled back: {}", first(&why)),
            };
            format!(
                "## TASK COMPLETE\n\nTDD cycle completed: {cycle}\nTest results: {}\nCoverage: {}\n\
                 Green phase iterations: {}\nFiles modified: {}\n",
                tests_line(state),
                seen.coverage_line(brief),
                iterations(&Tally::of(state), seen, limit),
                on_one_line(&files.join(", "))
            )
        }
        Outcome::GaveUp { phase, trouble } => {
            let reason = match phase {
                Phase::Green
                    if seen.green.as_ref().is_some_and(|green| green.iterations >= limit) =>
                {
                    format!("Max iterations ({limit}) reached without passing tests")
                }
                Phase::Plan | Phase::Red | Phase::Green | Phase::Refactor | Phase::Complete => {
                    first(&trouble.message)
                }
            };
            let file = format!("{}-phase-failure.md", phase.as_str().to_lowercase());
            format!(
                "## TASK FAILED\n\n**Phase:** {}\n**Reason:** {reason}\n**Action:** All changes auto-reverted\n\
                 **Diagnostics:** See {}/{file}\n",
                title_case(*phase),
                seen.cycle_folder
            )
        }
        Outcome::NothingDeveloped { trouble } => format!(
            "## TASK FAILED\n\n**Phase:** Plan\n**Reason:** nothing was developed: {}\n\
             **Action:** Nothing was merged\n**Diagnostics:** See {}\n",
            first(&trouble.message),
            seen.folder
        ),
        Outcome::Aborted => format!(
            "## TASK FAILED\n\n**Phase:** {phase}\n**Reason:** a human aborted the run\n\
             **Action:** Nothing was merged\n**Diagnostics:** See {}\n",
            seen.folder
        ),
        Outcome::MergeBlocked { trouble } => {
            blocked(&trouble.message, "fix the target branch, then approve", phase, state)
        }
        Outcome::Undecided { phase, trouble } => blocked(
            &trouble.message,
            "a human must review, then resume or abort",
            title_case(*phase),
            state,
        ),
        Outcome::AgentUnusable { trouble } => {
            blocked(&trouble.message, "a working agent, then resume", phase, state)
        }
        Outcome::BaselineUnusable { trouble } => {
            blocked(&trouble.message, "a working test suite, then resume", phase, state)
        }
        Outcome::BudgetSpent { what } => {
            blocked(what, "a larger budget, then resume", phase, state)
        }
        Outcome::Paused { after, trouble: None } => {
            blocked(&format!("paused after {after}"), "resume", phase, state)
        }
        Outcome::Paused { trouble: Some(trouble), .. } => {
            blocked(&trouble.message, "change it again, then resume", phase, state)
        }
        Outcome::Interrupted => blocked("interrupted", "resume", phase, state),
        Outcome::RolledBack { to } => {
            blocked(&format!("rolled back to {to}"), "resume", phase, state)
        }
    }
}

/// The final block of a task that cannot even begin, because its tests do not run. `ran` is what
/// was tried, `words` are the runner's own.
pub fn not_begun(blocker: &str, ran: &str, words: &[String]) -> String {
    let said = words.iter().map(|line| on_one_line(line)).collect::<Vec<_>>().join(" / ");
    let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
    block(
        blocker,
        "a working test suite, then run the same command again",
        &format!("ran {ran} before any changes{said}"),
        "red",
    )
}

fn blocked(blocker: &str, need: &str, phase: &str, state: &State) -> String {
    let need = format!("{need}: redgreen resume {}", state.run.id);
    block(blocker, &need, &attempted(state, blocker), &phase.to_lowercase())
}

/// The turns of each agent, and the result of the last attempt, in the words of its refusal.
fn attempted(state: &State, blocker: &str) -> String {
    const LINES_MAX: usize = 4;
    let named = |role: &Role| match role {
        Role::TestList => "planning",
        Role::Test => "writing tests",
        Role::Implementing => "writing code",
        Role::Diagnosis => "diagnosis",
        Role::Refactor => "refactoring",
    };
    let turns: Vec<String> = state
        .turns
        .iter()
        .map(|(role, count)| {
            format!("{} {} of {}", count, if *count == 1 { "turn" } else { "turns" }, named(role))
        })
        .collect();
    let turns = if turns.is_empty() { "no agent turn yet".to_owned() } else { turns.join(", ") };
    let trouble = match &state.situation {
        Situation::Working { attempt, .. } | Situation::Reverting { attempt, .. } => {
            attempt.refused.as_ref()
        }
        Situation::Measuring { .. }
        | Situation::Unmeasurable { .. }
        | Situation::Halted { .. }
        | Situation::Waiting { .. }
        | Situation::Reviewing(_)
        | Situation::Merging { .. }
        | Situation::Discarding
        | Situation::Paused { .. }
        | Situation::Ended(_) => None,
    };
    let lines = trouble.map(|trouble| {
        trouble.message.lines().filter(|line| !line.trim().is_empty()).take(LINES_MAX)
    });
    let last: Vec<String> =
        lines.into_iter().flatten().map(|line| on_one_line(line.trim()).into_owned()).collect();
    match last.first() {
        Some(line) if !blocker.starts_with(line.as_str()) => {
            format!("{turns}; last attempt: {}", last.join(" / "))
        }
        Some(_) | None => turns,
    }
}

fn block(blocker: &str, need: &str, attempted: &str, phase: &str) -> String {
    format!(
        "## TASK BLOCKED\n\n**Blocker:** {}\n**Need:** {need}\n**Attempted:** {attempted}\n**Phase:** {phase}\n",
        first(blocker)
    )
}

/// The limit holds for each cycle, so the longest one is what it is compared with.
fn iterations(tally: &Tally, seen: &RunResults, limit: u32) -> String {
    match tally.cycles {
        0 | 1 => {
            let under_way = seen.green.as_ref().map_or(0, |green| green.iterations);
            format!("{}/{limit}", tally.iterations_most.max(under_way))
        }
        cycles => format!(
            "{} in {cycles} cycles, at most {}/{limit} in one",
            tally.iterations, tally.iterations_most
        ),
    }
}

fn scope(brief: &Brief) -> String {
    let components = brief.components.iter().map(|component| component.name.as_str());
    let words: Vec<&str> =
        brief.implementation_scope.iter().map(String::as_str).chain(components).collect();
    if words.is_empty() {
        brief.request.lines().next().unwrap_or_default().to_owned()
    } else {
        words.join("; ")
    }
}

fn is_complete(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, Some(Outcome::Waiting | Outcome::Merged))
}

fn title_case(phase: Phase) -> &'static str {
    match phase {
        Phase::Plan => "Plan",
        Phase::Red => "Red",
        Phase::Green => "Green",
        Phase::Refactor => "Refactor",
        Phase::Complete => "Complete",
    }
}

fn first(text: &str) -> String {
    on_one_line(text.lines().next().unwrap_or_default()).into_owned()
}
