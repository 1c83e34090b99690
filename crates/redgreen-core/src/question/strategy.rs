//! The variants of a question, in order. A small model gives the same answer to the same prompt, so
//! every retry asks differently. The policy limits the number of retries.

/// Maximum number of questions in one turn. After that, the turn ends and its result is judged.
pub const ASKS_MAX: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Strategy {
    /// Arguments and results, as JSON.
    Examples { warmth: f32 },
    /// The results of examples, computed without seeing the first ones.
    OnceMore,
    /// Sentences: a condition and its outcome.
    Behaviours { warmth: f32 },
    /// The test itself, below given lines.
    TestCode { shown: Extra, warmth: f32 },
    /// The complete code file.
    Code { shown: Extra, warmth: f32 },
}

/// Additional information besides the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    /// The files as they are.
    Files,
    /// The failing lines of the last attempt.
    Failing,
    /// A complete example of such an answer, and nothing of the last attempt.
    Filled,
    /// A single failing expectation.
    One,
}

const COLD: f32 = 0.0;
const WARM: f32 = 0.4;
const HOT: f32 = 0.8;

const PLANNING: [Strategy; 4] = [
    Strategy::Examples { warmth: COLD },
    Strategy::Behaviours { warmth: COLD },
    Strategy::Examples { warmth: WARM },
    Strategy::Behaviours { warmth: HOT },
];
const TESTING: [Strategy; 4] = [
    Strategy::TestCode { shown: Extra::Files, warmth: COLD },
    Strategy::Examples { warmth: COLD },
    Strategy::TestCode { shown: Extra::Filled, warmth: COLD },
    Strategy::TestCode { shown: Extra::Failing, warmth: HOT },
];
const IMPLEMENTING: [Strategy; 4] = [
    Strategy::Code { shown: Extra::Files, warmth: COLD },
    Strategy::Code { shown: Extra::Failing, warmth: COLD },
    Strategy::Code { shown: Extra::Filled, warmth: WARM },
    Strategy::Code { shown: Extra::One, warmth: HOT },
];

pub(super) fn planning(tries: u32) -> Strategy {
    nth(&PLANNING, tries)
}

pub(super) fn testing(tries: u32) -> Strategy {
    nth(&TESTING, tries)
}

pub(super) fn implementing(tries: u32) -> Strategy {
    nth(&IMPLEMENTING, tries)
}

/// After the last variant, all of them follow again with a high temperature.
fn nth(ways: &[Strategy; 4], tries: u32) -> Strategy {
    let [first, second, third, last] = *ways;
    let way = match tries % 4 {
        0 => first,
        1 => second,
        2 => third,
        _ => last,
    };
    if tries < 4 { way } else { way.hot() }
}

impl Strategy {
    fn hot(self) -> Self {
        match self {
            Strategy::Examples { .. } => Strategy::Examples { warmth: HOT },
            Strategy::OnceMore => Strategy::OnceMore,
            Strategy::Behaviours { .. } => Strategy::Behaviours { warmth: HOT },
            Strategy::TestCode { shown, .. } => Strategy::TestCode { shown, warmth: HOT },
            Strategy::Code { shown, .. } => Strategy::Code { shown, warmth: HOT },
        }
    }

    pub(super) fn warmth(self) -> f32 {
        match self {
            Strategy::OnceMore => COLD,
            Strategy::Examples { warmth }
            | Strategy::Behaviours { warmth }
            | Strategy::TestCode { warmth, .. }
            | Strategy::Code { warmth, .. } => warmth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_retries_always_differ() {
        for ways in [planning, testing, implementing] {
            for tries in 0..20 {
                assert_ne!(ways(tries), ways(tries + 1), "{tries}");
            }
            assert_eq!(ways(0).warmth(), COLD);
            assert!((3..20).all(|tries| ways(tries).warmth() >= HOT));
        }
    }
}
