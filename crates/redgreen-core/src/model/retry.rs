//! Whether and when to retry a failed request.

use super::ModelError;

/// The retry limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryLimits {
    /// Includes the first attempt.
    pub tries_max: u32,
    /// The pause before the second attempt; each further pause doubles.
    pub first_ms: u64,
    pub pause_ms_max: u64,
    /// If a server requests a longer wait, redgreen gives up.
    pub asked_ms_max: u64,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self { tries_max: 6, first_ms: 1_000, pause_ms_max: 30_000, asked_ms_max: 120_000 }
    }
}

impl RetryLimits {
    /// The pause before the next attempt, after `tries` failures; `None` if a retry is useless.
    ///
    /// `dice` is a random byte: without jitter, clients that were rejected together would retry
    /// together.
    pub fn pause_ms(&self, tries: u32, error: &ModelError, dice: u8) -> Option<u64> {
        if tries >= self.tries_max || !error.kind.is_passing() {
            return None;
        }
        if let Some(asked) = error.retry_after_ms {
            return (asked <= self.asked_ms_max).then_some(asked);
        }
        let factor = 1u64.checked_shl(tries.saturating_sub(1)).unwrap_or(u64::MAX);
        let pause = self.first_ms.saturating_mul(factor).min(self.pause_ms_max);
        // Up to a quarter shorter.
        Some(pause - pause / 4 * u64::from(dice) / 255)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ModelErrorKind;
    use super::*;

    #[test]
    fn pauses_double_unless_the_server_requests_one() {
        let patience = RetryLimits {
            tries_max: 4,
            first_ms: 1_000,
            pause_ms_max: 3_000,
            asked_ms_max: 60_000,
        };
        let no_dice = 0;
        for (tries, kind, asked, expected) in [
            (1, ModelErrorKind::Overloaded, None, Some(1_000)),
            (2, ModelErrorKind::Server, None, Some(2_000)),
            (3, ModelErrorKind::Network, None, Some(3_000)),
            (4, ModelErrorKind::Network, None, None),
            (1, ModelErrorKind::RateLimit, Some(7), Some(7)),
            (1, ModelErrorKind::RateLimit, Some(60_001), None),
            (1, ModelErrorKind::Timeout, None, Some(1_000)),
            (1, ModelErrorKind::Auth, Some(7), None),
            (1, ModelErrorKind::Billing, None, None),
            (1, ModelErrorKind::UnknownModel, None, None),
            (1, ModelErrorKind::TooLarge, None, None),
        ] {
            let error = ModelError { kind, message: String::new(), retry_after_ms: asked };
            assert_eq!(
                patience.pause_ms(tries, &error, no_dice),
                expected,
                "{tries} {kind:?} {asked:?}"
            );
        }
        let error = ModelError::new(ModelErrorKind::Server, "");
        assert_eq!(patience.pause_ms(1, &error, u8::MAX), Some(750));
        let tireless = RetryLimits { tries_max: u32::MAX, ..patience };
        assert_eq!(tireless.pause_ms(u32::MAX - 1, &error, no_dice), Some(3_000));
    }
}
