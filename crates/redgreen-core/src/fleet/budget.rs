//! The spending limit for all jobs of a day. A worker reserves the whole budget of a job before it
//! starts, and returns the rest when the job stops. Reservations use compare-and-swap, so the sum
//! is always correct.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Limits;
use crate::names::JobId;
use crate::policy::dollars;

/// The daily limits. Absent means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Allowance {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microdollars: Option<u64>,
}

/// What one job has reserved or spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Share {
    pub tokens: u64,
    pub microdollars: u64,
}

/// The reservations of one day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Day {
    pub jobs: BTreeMap<JobId, Share>,
}

/// Why a job cannot start under the day's budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetError {
    /// The job has no budget, so the amount to reserve is unknown.
    NoLimit { option: &'static str },
    /// Not enough is left today.
    Today { words: String },
    /// It would not fit on any day.
    Never { words: String },
}

impl Allowance {
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

impl Day {
    /// The sum of all shares.
    pub fn total(&self) -> Share {
        self.jobs.values().fold(Share::default(), |sum, share| Share {
            tokens: sum.tokens.saturating_add(share.tokens),
            microdollars: sum.microdollars.saturating_add(share.microdollars),
        })
    }

    /// Reserves the budget of a job. A job that was interrupted keeps its reservation.
    pub fn reserve(
        mut self,
        allowance: &Allowance,
        job: &JobId,
        limits: &Limits,
    ) -> Result<Self, BudgetError> {
        if self.jobs.contains_key(job) {
            return Ok(self);
        }
        let spent = self.total();
        let tokens =
            wanted(allowance.tokens, limits.tokens, spent.tokens, "--budget-tokens", &|count| {
                format!("{count} tokens")
            })?;
        let microdollars = wanted(
            allowance.microdollars,
            limits.microdollars,
            spent.microdollars,
            "--budget-usd",
            &dollars,
        )?;
        self.jobs.insert(job.clone(), Share { tokens, microdollars });
        Ok(self)
    }

    /// The job stopped: its share is what it spent.
    #[must_use]
    pub fn settle(mut self, job: &JobId, spent: Share) -> Self {
        if let Some(share) = self.jobs.get_mut(job) {
            *share = spent;
        }
        self
    }
}

/// The amount of one kind that a job must reserve.
fn wanted(
    allowed: Option<u64>,
    limit: Option<u64>,
    spent: u64,
    option: &'static str,
    words: &dyn Fn(u64) -> String,
) -> Result<u64, BudgetError> {
    match (allowed, limit) {
        (None, limit) => Ok(limit.unwrap_or(0)),
        (Some(_), None) => Err(BudgetError::NoLimit { option }),
        (Some(allowed), Some(limit)) if limit > allowed => Err(BudgetError::Never {
            words: format!(
                "the job may spend {}, and all jobs of a day {}",
                words(limit),
                words(allowed)
            ),
        }),
        (Some(allowed), Some(limit)) if limit > allowed.saturating_sub(spent) => {
            Err(BudgetError::Today {
                words: format!(
                    "{} of {} are spent or reserved today",
                    words(spent),
                    words(allowed)
                ),
            })
        }
        (Some(_), Some(limit)) => Ok(limit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(letter: &str) -> JobId {
        JobId::parse(&letter.repeat(12)).unwrap()
    }

    fn limits(tokens: u64) -> Limits {
        Limits { tokens: Some(tokens), ..Limits::default() }
    }

    #[test]
    fn jobs_reserve_until_the_day_is_full_and_give_back_what_they_did_not_spend() {
        let allowance = Allowance { tokens: Some(100), microdollars: None };
        let day = Day::default().reserve(&allowance, &id("a"), &limits(60)).unwrap();
        let short = day.clone().reserve(&allowance, &id("b"), &limits(50)).unwrap_err();
        assert_eq!(
            short,
            BudgetError::Today {
                words: "60 tokens of 100 tokens are spent or reserved today".to_owned()
            }
        );
        let again = day.clone().reserve(&allowance, &id("a"), &limits(60)).unwrap();
        assert_eq!(again, day);
        let day = day.settle(&id("a"), Share { tokens: 10, microdollars: 0 });
        let day = day.reserve(&allowance, &id("b"), &limits(50)).unwrap();
        assert_eq!(day.total().tokens, 60);
    }

    #[test]
    fn a_job_without_a_limit_or_with_one_beyond_the_day_never_starts() {
        let allowance = Allowance { tokens: Some(100), microdollars: Some(1_000_000) };
        let none = Day::default().reserve(&allowance, &id("a"), &Limits::default()).unwrap_err();
        assert_eq!(none, BudgetError::NoLimit { option: "--budget-tokens" });
        let dear = Limits { tokens: Some(1), microdollars: Some(2_000_000), ..Limits::default() };
        let never = Day::default().reserve(&allowance, &id("a"), &dear).unwrap_err();
        let words = "the job may spend $2.00, and all jobs of a day $1.00".to_owned();
        assert_eq!(never, BudgetError::Never { words });
    }

    #[test]
    fn without_an_allowance_every_job_may_start() {
        let day =
            Day::default().reserve(&Allowance::default(), &id("a"), &Limits::default()).unwrap();
        assert_eq!(day.total(), Share::default());
    }
}
