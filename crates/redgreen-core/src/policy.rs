//! Every limit of a run, by name. A run records the policy it was started with, so that it ends as it began.

use serde::{Deserialize, Serialize};

use crate::phase::Phase;

/// A year: longer than any pause or turn.
const TIME_MS_MAX: u64 = 365 * 24 * 3_600 * 1_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    /// Tries after the first one, per phase (`TDD_MAX_RETRIES`).
    pub retries_max: u32,
    /// The first pause before a retry; each further one is twice as long.
    pub backoff_ms: u64,
    /// No pause is longer than this, whatever a server asks for.
    pub backoff_ms_max: u64,
    /// Implementing turns in one GREEN.
    pub iterations_max: u32,
    /// Tries at one refactoring before the green code is kept as it is.
    pub refactorings_max: u32,
    /// Iterations in a row with the same tests failing before the agent counts as stuck.
    pub same_failures_max: u32,
    /// Times a tree seen before in this GREEN may come back before the agent counts as stuck.
    pub repeats_max: u32,
    pub cycles_max: u32,
    /// RED is asked for tests that whoever writes the code does not see.
    pub withhold: bool,
    /// A larger share of new tests that pass at once is worth a warning, where all are written at once; in percent.
    pub pass_percent_max: u32,
    /// Some of the new tests may pass at once, where all are written at once.
    pub allow_passes: bool,
    /// What passes some of the tests stays for the next try of GREEN; otherwise each try begins at RED's commit.
    pub keep_partial: bool,
    pub red_timeout_ms: u64,
    pub green_timeout_ms: u64,
    pub turn_timeout_ms: u64,
    pub lint_timeout_ms: u64,
    pub setup_timeout_ms: u64,
    pub budget: Budget,
    /// The run stops after these phases of each cycle, until the user resumes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pause_after: Vec<Phase>,
}

/// What a run may cost. `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    pub tokens: Option<u64>,
    pub microdollars: Option<u64>,
    /// Time at work: turns, test runs and linters; not the time a run lies waiting.
    pub work_ms: Option<u64>,
}

/// What a run has cost so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spent {
    pub tokens: u64,
    pub microdollars: u64,
    pub work_ms: u64,
    /// Turns whose cost nobody told: unknown is not zero.
    pub unknown_turns: u32,
    /// Parts of `tokens`, as far as they are known apart: sent and new, received, sent and known to a cache.
    pub input: u64,
    pub output: u64,
    pub cached: u64,
    pub requests: u64,
    /// Turns whose tokens are known and whose price is not.
    pub unpriced_turns: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self::with_retries(3)
    }
}

impl Policy {
    /// The same with no time longer than anyone waits: a journal that somebody else wrote may say any number, and a clock
    /// cannot be set to all of them.
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
        self
    }

    /// What one run of all tests may take in a phase.
    pub fn suite_timeout_ms(&self, phase: Phase) -> u64 {
        match phase {
            Phase::Plan | Phase::Red => self.red_timeout_ms,
            Phase::Green | Phase::Refactor | Phase::Complete => self.green_timeout_ms,
        }
    }

    /// The limits for a feature request: an implementing turn and as many retries as any other phase has.
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
        }
    }

    /// 1, 2, 4 … times the first pause, or what the server asked for if that is longer.
    pub fn pause_ms(&self, retry: u32, asked_ms: Option<u64>) -> u64 {
        let doubled = 1u64.checked_shl(retry.saturating_sub(1)).unwrap_or(u64::MAX);
        self.backoff_ms.saturating_mul(doubled).max(asked_ms.unwrap_or(0)).min(self.backoff_ms_max)
    }
}

impl Spent {
    /// Turns that the sum in dollars leaves out, because nobody knows what they cost.
    pub fn turns_without_price(&self) -> u32 {
        self.unknown_turns.saturating_add(self.unpriced_turns)
    }
}

impl Budget {
    /// What may still be spent.
    pub fn left_after(&self, spent: &Spent) -> Self {
        let left = |limit: Option<u64>, used: u64| limit.map(|limit| limit.saturating_sub(used));
        Self {
            tokens: left(self.tokens, spent.tokens),
            microdollars: left(self.microdollars, spent.microdollars),
            work_ms: left(self.work_ms, spent.work_ms),
        }
    }

    /// The limit that is reached, in words; `None` while there is room.
    pub fn exceeded_by(&self, spent: &Spent) -> Option<String> {
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
            return Some(format!("{} of {} are spent{unknown}", dollars(spent.microdollars), dollars(limit)));
        }
        over(self.work_ms, spent.work_ms)
            .map(|limit| format!("{} s of {} s at work are spent", spent.work_ms / 1000, limit / 1000))
    }
}

/// In cents, and finer where that would say nothing.
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
    fn a_budget_says_which_limit_is_reached() {
        let spent = Spent { tokens: 900, microdollars: 1_250_000, work_ms: 61_000, ..Spent::default() };
        let check = |budget: Budget, words: Option<&str>| {
            assert_eq!(budget.exceeded_by(&spent).as_deref(), words);
        };
        check(Budget::default(), None);
        check(Budget { tokens: Some(901), ..Budget::default() }, None);
        check(Budget { tokens: Some(900), ..Budget::default() }, Some("900 of 900 tokens are spent"));
        check(Budget { microdollars: Some(1_000_000), ..Budget::default() }, Some("$1.25 of $1.00 are spent"));
        check(Budget { work_ms: Some(60_000), ..Budget::default() }, Some("61 s of 60 s at work are spent"));
    }

    #[test]
    fn turns_of_unknown_cost_are_told_beside_the_dollars() {
        let budget = Budget { microdollars: Some(1_000_000), ..Budget::default() };
        for (unknown_turns, unpriced_turns, words) in [
            (0, 0, "$1.25 of $1.00 are spent"),
            (1, 0, "$1.25 of $1.00 are spent, and 1 turn of unknown cost"),
            (1, 2, "$1.25 of $1.00 are spent, and 3 turns of unknown cost"),
        ] {
            let spent = Spent { microdollars: 1_250_000, unknown_turns, unpriced_turns, ..Spent::default() };
            assert_eq!(budget.exceeded_by(&spent).as_deref(), Some(words));
        }
    }
}
