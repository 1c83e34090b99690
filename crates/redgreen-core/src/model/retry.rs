//! Whether and when a request that failed is made again.

use super::Fault;

/// How often and how long to wait for a server that may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The first try counts.
    pub tries_max: u32,
    /// Before the second try; each further pause is twice as long.
    pub first_ms: u64,
    pub pause_ms_max: u64,
    /// A server that asks for more than this is not waited for.
    pub asked_ms_max: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { tries_max: 6, first_ms: 1_000, pause_ms_max: 30_000, asked_ms_max: 120_000 }
    }
}

impl Patience {
    /// The pause before the next try, after `tries` that failed; none when another try is no use.
    ///
    /// `dice` is between 0 and 255: without chance, all who were turned away together come back together.
    pub fn pause_ms(&self, tries: u32, fault: &Fault, dice: u8) -> Option<u64> {
        if tries >= self.tries_max || !fault.kind.is_passing() {
            return None;
        }
        if let Some(asked) = fault.retry_after_ms {
            return (asked <= self.asked_ms_max).then_some(asked);
        }
        let factor = 1u64.checked_shl(tries.saturating_sub(1)).unwrap_or(u64::MAX);
        let pause = self.first_ms.saturating_mul(factor).min(self.pause_ms_max);
        // At most a quarter less.
        Some(pause - pause / 4 * u64::from(dice) / 255)
    }
}

#[cfg(test)]
mod tests {
    use super::super::FaultKind;
    use super::*;

    #[test]
    fn pauses_double_and_the_servers_word_wins() {
        let patience = Patience { tries_max: 4, first_ms: 1_000, pause_ms_max: 3_000, asked_ms_max: 60_000 };
        let no_dice = 0;
        for (tries, kind, asked, expected) in [
            (1, FaultKind::Overloaded, None, Some(1_000)),
            (2, FaultKind::Server, None, Some(2_000)),
            (3, FaultKind::Network, None, Some(3_000)),
            (4, FaultKind::Network, None, None),
            (1, FaultKind::RateLimit, Some(7), Some(7)),
            (1, FaultKind::RateLimit, Some(60_001), None),
            (1, FaultKind::Timeout, None, Some(1_000)),
            (1, FaultKind::Auth, Some(7), None),
            (1, FaultKind::Billing, None, None),
            (1, FaultKind::UnknownModel, None, None),
            (1, FaultKind::TooLarge, None, None),
        ] {
            let fault = Fault { kind, message: String::new(), retry_after_ms: asked };
            assert_eq!(patience.pause_ms(tries, &fault, no_dice), expected, "{tries} {kind:?} {asked:?}");
        }
        let fault = Fault::new(FaultKind::Server, "");
        assert_eq!(patience.pause_ms(1, &fault, u8::MAX), Some(750));
        let tireless = Patience { tries_max: u32::MAX, ..patience };
        assert_eq!(tireless.pause_ms(u32::MAX - 1, &fault, no_dice), Some(3_000));
    }
}
