//! Classifies the errors of agents and decides whether a retry can help.

use crate::agent::{Failure, Turn};

/// An error as the agent reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentError {
    pub message: String,
    /// The HTTP status of the failed request to a model.
    pub status: Option<u64>,
    pub retry_after_ms: Option<u64>,
}

/// Messages of services and programs about an error that a retry does not fix.
const UNUSABLE: &[&str] = &[
    "authenticat",
    "unauthorized",
    "not logged in",
    "please run /login",
    "log in",
    "login required",
    "api key",
    "api_key",
    "invalid auth method",
    "missing environment variable",
    "credit balance",
    "insufficient_quota",
    "model not found",
    "unknown model",
    "does not exist or you do not have access",
    "unknown option",
    "unknown argument",
    "unexpected argument",
    "already in use",
    "no conversation found",
    "session not found",
];
const RATE_LIMIT: &[&str] = &[
    "rate limit",
    "rate_limit",
    "ratelimit",
    "too many requests",
    "overloaded",
    "high demand",
    "usage limit",
    "quota exceeded",
    "resource_exhausted",
    "resource exhausted",
];

impl AgentError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: None, retry_after_ms: None }
    }

    pub fn status(self, status: Option<u64>) -> Self {
        Self { status, ..self }
    }

    pub fn turn(&self) -> Turn {
        Turn::Failed { failure: failure(self), message: self.message.clone() }
    }
}

/// Whether and how to retry: by the status if there is one, otherwise by the message.
pub fn failure(error: &AgentError) -> Failure {
    let rate_limit = Failure::RateLimit { retry_after_ms: error.retry_after_ms };
    let words = error.message.to_lowercase();
    let has = |list: &[&str]| list.iter().any(|part| words.contains(part));
    match error.status.or_else(|| told_status(&words)) {
        Some(429 | 503 | 529) => rate_limit,
        Some(408 | 504) => Failure::Timeout,
        Some(400..=499) => Failure::Unusable,
        Some(500..=599) => Failure::Crash,
        Some(_) | None if has(RATE_LIMIT) => rate_limit,
        Some(_) | None if has(UNUSABLE) => Failure::Unusable,
        Some(_) | None => Failure::Crash,
    }
}

/// Finds a status in a message: `API Error: 401 …`, `unexpected status 401 …`, `last status: 429
/// …`.
fn told_status(words: &str) -> Option<u64> {
    const BEFORE: [&str; 4] = ["api error: ", "status: ", "status ", "rejected ("];
    BEFORE.iter().find_map(|before| {
        let (_, rest) = words.split_once(before)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        if digits.len() == 3 { digits.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_errors_by_status_or_message() {
        let limited = Failure::RateLimit { retry_after_ms: None };
        for (status, words, expected) in [
            (Some(401), "mock 401", Failure::Unusable),
            (Some(429), "slow down", limited),
            (Some(529), "overloaded", limited),
            (Some(500), "mock 500", Failure::Crash),
            (Some(400), "mock 400", Failure::Unusable),
            (None, "Failed to authenticate. API Error: 401 mock 401", Failure::Unusable),
            (None, "unexpected status 401 Unauthorized: mock 401", Failure::Unusable),
            (None, "exceeded retry limit, last status: 429 Too Many Requests", limited),
            (
                None,
                "We’re currently experiencing high demand, which may cause temporary errors.",
                limited,
            ),
            (None, "API Error: 500 mock 500. This is a server-side issue", Failure::Crash),
            (None, "Not logged in · Please run /login", Failure::Unusable),
            (None, "Missing environment variable: `MOCK_API_KEY`.", Failure::Unusable),
            (None, "API Error: Connection dropped (ECONNRESET).", Failure::Crash),
            (None, "it ended with signal 11: no output", Failure::Crash),
        ] {
            assert_eq!(
                failure(&AgentError::new(words).status(status)),
                expected,
                "{status:?} {words}"
            );
        }
    }
}
