//! All limits of a run, by name. A run records its policy at the start, so that it ends under the
//! same rules.

use serde::{Deserialize, Serialize};

use crate::attempts::{self, ATTEMPTS_MAX, JOBS_MAX};
use crate::phase::Phase;

/// A year: longer than any pause or turn.
const TIME_MS_MAX: u64 = 365 * 24 * 3_600 * 1_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    /// Attempts after the first one, per phase (`TDD_MAX_RETRIES`).
    pub retries_max: u32,
    /// The first pause before a retry; each further pause doubles.
    pub backoff_ms: u64,
    /// The longest pause, even if a server requests more.
    pub backoff_ms_max: u64,
    /// Maximum implementing turns in one GREEN.
    pub iterations_max: u32,
    /// Maximum attempts at one refactoring; after that the green code stays.
    pub refactorings_max: u32,
    /// Consecutive iterations with the same failing tests before the agent counts as stuck.
    pub same_failures_max: u32,
    /// How often an earlier tree of this GREEN can recur before the agent counts as stuck.
    pub repeats_max: u32,
    pub cycles_max: u32,
    /// Whether RED writes tests that the implementer does not see.
    pub withhold: bool,
    /// If all tests are written at once: the percentage of immediately passing tests above which a
    /// warning is shown.
    pub pass_percent_max: u32,
    /// If all tests are written at once: whether some of them may pass immediately.
    pub allow_passes: bool,
    /// Whether code that passes some of the tests is kept for the next attempt of GREEN. Otherwise
    /// each attempt starts at RED's commit.
    pub keep_partial: bool,
    pub red_timeout_ms: u64,
    pub green_timeout_ms: u64,
    pub turn_timeout_ms: u64,
    pub lint_timeout_ms: u64,
    pub setup_timeout_ms: u64,
    pub budget: Budget,
    /// The run pauses after these phases of each cycle, until resume.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pause_after: Vec<Phase>,
    #[serde(skip_serializing_if = "Attempts::is_default")]
    pub attempts: Attempts,
}

/// How many attempts are made at a phase; the best one is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Attempts {
    /// 1 means one attempt in the run's own worktree.
    pub number: u32,
    pub phases: Vec<Phase>,
    /// Attempts at work at the same time; as many as the machine has cores if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u32>,
}

/// The cost limits of a run. `None` means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    pub tokens: Option<u64>,
    pub microdollars: Option<u64>,
    /// Working time: turns, test runs and linters, but not waiting time.
    pub work_ms: Option<u64>,
}

/// The cost of a run so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunCost {
    pub tokens: u64,
    pub microdollars: u64,
    pub work_ms: u64,
    /// Turns of unknown cost: unknown is not zero.
    pub unknown_turns: u32,
    /// Parts of `tokens`, as far as they are known: new input, output, cached input.
    pub input: u64,
    pub output: u64,
    pub cached: u64,
    pub requests: u64,
    /// Turns with known tokens but an unknown price.
    pub unpriced_turns: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self::with_retries(3)
    }
}

impl Policy {
    /// Limits all times: a journal from elsewhere can contain any number, and not every number is a
    /// valid deadline.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        for time in [
            &mut self.backoff_ms,
            &mut self.backoff_ms_max,
            &mut self.red_timeout_ms,
            &mut self.green_timeout_ms,
            &mut self.turn_timeout_ms,
            &mut self.lint_timeout_ms,
            &mut self.setup_timeout_ms,
        ] {
            *time = (*time).min(TIME_MS_MAX);
        }
        self.attempts.number = self.attempts.number.clamp(1, ATTEMPTS_MAX);
        self.attempts.jobs = self.attempts.jobs.map(|jobs| jobs.clamp(1, JOBS_MAX));
        self.attempts.phases.retain(|phase| attempts::PHASES.contains(phase));
        self
    }

    /// The time limit of a full test run in a phase.
    pub fn suite_timeout_ms(&self, phase: Phase) -> u64 {
        match phase {
            Phase::Plan | Phase::Red => self.red_timeout_ms,
            Phase::Green | Phase::Refactor | Phase::Complete => self.green_timeout_ms,
        }
    }

    /// The limits for a feature request: one implementing turn, and as many retries as other
    /// phases.
    pub fn with_retries(retries_max: u32) -> Self {
        Self {
            retries_max,
            backoff_ms: 1_000,
            backoff_ms_max: 300_000,
            iterations_max: retries_max.saturating_add(1),
            refactorings_max: 2,
            same_failures_max: 3,
            repeats_max: 2,
            cycles_max: 100,
            withhold: true,
            pass_percent_max: 30,
            allow_passes: true,
            keep_partial: true,
            red_timeout_ms: 300_000,
            green_timeout_ms: 120_000,
            turn_timeout_ms: 3_600_000,
            lint_timeout_ms: 300_000,
            setup_timeout_ms: 900_000,
            budget: Budget::default(),
            pause_after: Vec::new(),
            attempts: Attempts::default(),
        }
    }

    /// 1, 2, 4 … times the first pause, or the server's request if that is longer.
    pub fn pause_ms(&self, retry: u32, asked_ms: Option<u64>) -> u64 {
        let doubled = 1u64.checked_shl(retry.saturating_sub(1)).unwrap_or(u64::MAX);
        self.backoff_ms.saturating_mul(doubled).max(asked_ms.unwrap_or(0)).min(self.backoff_ms_max)
    }
}

impl Default for Attempts {
    fn default() -> Self {
        Self { number: 1, phases: vec![Phase::Green], jobs: None }
    }
}

impl Attempts {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl RunCost {
    /// Turns that the sum in dollars does not include, because their cost is unknown.
    pub fn turns_without_price(&self) -> u32 {
        self.unknown_turns.saturating_add(self.unpriced_turns)
    }
}

impl Budget {
    /// The remaining budget.
    pub fn left_after(&self, spent: &RunCost) -> Self {
        let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
        Self {
            tokens: left(self.tokens, spent.tokens),
            microdollars: left(self.microdollars, spent.microdollars),
            work_ms: left(self.work_ms, spent.work_ms),
        }
    }

    /// An equal part of the budget for each of several attempts.
    #[must_use]
    pub fn shared_by(&self, attempts: usize) -> Self {
        let parts = u64::try_from(attempts.max(1)).unwrap_or(u64::MAX);
        let part = |limit: Option<u64>| limit.map(|limit| limit / parts);
        Self {
            tokens: part(self.tokens),
            microdollars: part(self.microdollars),
            work_ms: part(self.work_ms),
        }
    }

    /// The exceeded limit as text; `None` if the budget is not used up.
    pub fn exceeded_by(&self, spent: &RunCost) -> Option<String> {
        let over = |limit: Option<u64>, used: u64| limit.filter(|limit| used >= *limit);
        if let Some(limit) = over(self.tokens, spent.tokens) {
            return Some(format!("{} of {limit} tokens are spent", spent.tokens));
        }
        if let Some(limit) = over(self.microdollars, spent.microdollars) {
            let unknown = match spent.turns_without_price() {
                0 => String::new(),
                1 => ", and 1 turn of unknown cost".to_owned(),
                turns => format!(", and {turns} turns of unknown cost"),
            };
            return Some(format!(
                "{} of {} are spent{unknown}",
                dollars(spent.microdollars),
                dollars(limit)
            ));
        }
        over(self.work_ms, spent.work_ms).map(|limit| {
            format!("{} s of {} s of work time are spent", spent.work_ms / 1000, limit / 1000)
        })
    }
}

/// In cents, with more digits for smaller amounts.
pub fn dollars(microdollars: u64) -> String {
    const CENT: u64 = 10_000;
    if (1..CENT).contains(&microdollars) {
        return format!("$0.{:04}", microdollars.div_ceil(100));
    }
    format!("${}.{:02}", microdollars / 1_000_000, microdollars % 1_000_000 / 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_one_second_and_honour_the_server() {
        let policy = Policy::default();
        for (retry, asked, pause) in [
            (1, None, 1_000),
            (2, None, 2_000),
            (3, None, 4_000),
            (1, Some(30_000), 30_000),
            (3, Some(1), 4_000),
            (1, Some(u64::MAX), policy.backoff_ms_max),
            (200, None, policy.backoff_ms_max),
        ] {
            assert_eq!(policy.pause_ms(retry, asked), pause, "retry {retry}, asked {asked:?}");
        }
    }

    #[test]
    fn a_budget_names_the_exceeded_limit() {
        let spent =
            RunCost { tokens: 900, microdollars: 1_250_000, work_ms: 61_000, ..RunCost::default() };
        let check = |budget: Budget, words: Option<&str>| {
            assert_eq!(budget.exceeded_by(&spent).as_deref(), words);
        };
        check(Budget::default(), None);
        check(Budget { tokens: Some(901), ..Budget::default() }, None);
        check(
            Budget { tokens: Some(900), ..Budget::default() },
            Some("900 of 900 tokens are spent"),
        );
        check(
            Budget { microdollars: Some(1_000_000), ..Budget::default() },
            Some("$1.25 of $1.00 are spent"),
        );
        check(
            Budget { work_ms: Some(60_000), ..Budget::default() },
            Some("61 s of 60 s of work time are spent"),
        );
    }

    #[test]
    fn reports_turns_of_unknown_cost_next_to_the_dollars() {
        let budget = Budget { microdollars: Some(1_000_000), ..Budget::default() };
        for (unknown_turns, unpriced_turns, words) in [
            (0, 0, "$1.25 of $1.00 are spent"),
            (1, 0, "$1.25 of $1.00 are spent, and 1 turn of unknown cost"),
            (1, 2, "$1.25 of $1.00 are spent, and 3 turns of unknown cost"),
        ] {
            let spent = RunCost {
                microdollars: 1_250_000,
                unknown_turns,
                unpriced_turns,
                ..RunCost::default()
            };
            assert_eq!(budget.exceeded_by(&spent).as_deref(), Some(words));
        }
    }
}
