//! The ways of asking, in the order in which they are tried. The same words get the same answer from a small model, so
//! that every further try asks in another way; the policy limits how many there are.

/// Questions in one turn; then it is over, and what it left is judged.
pub const ASKS_MAX: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// Arguments and results, as JSON.
    Examples { warmth: f32 },
    /// The results of examples, worked out without seeing the first ones.
    OnceMore,
    /// Sentences: when something is so, then this follows.
    Behaviours { warmth: f32 },
    /// The test itself, below the lines that are given.
    TestCode { shown: Shown, warmth: f32 },
    /// The whole code file.
    Code { shown: Shown, warmth: f32 },
}

/// What helps, beside the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// The files as they are.
    Files,
    /// What was wrong with the last try: the failing lines only.
    Failing,
    /// A filled-in example of such an answer, and nothing of the last try.
    Filled,
    /// One failing expectation alone.
    One,
}

const COLD: f32 = 0.0;
const WARM: f32 = 0.4;
const HOT: f32 = 0.8;

const PLANNING: [Way; 4] = [
    Way::Examples { warmth: COLD },
    Way::Behaviours { warmth: COLD },
    Way::Examples { warmth: WARM },
    Way::Behaviours { warmth: HOT },
];
const TESTING: [Way; 4] = [
    Way::TestCode { shown: Shown::Files, warmth: COLD },
    Way::Examples { warmth: COLD },
    Way::TestCode { shown: Shown::Filled, warmth: COLD },
    Way::TestCode { shown: Shown::Failing, warmth: HOT },
];
const IMPLEMENTING: [Way; 4] = [
    Way::Code { shown: Shown::Files, warmth: COLD },
    Way::Code { shown: Shown::Failing, warmth: COLD },
    Way::Code { shown: Shown::Filled, warmth: WARM },
    Way::Code { shown: Shown::One, warmth: HOT },
];

pub(super) fn planning(tries: u32) -> Way {
    nth(&PLANNING, tries)
}

pub(super) fn testing(tries: u32) -> Way {
    nth(&TESTING, tries)
}

pub(super) fn implementing(tries: u32) -> Way {
    nth(&IMPLEMENTING, tries)
}

/// The last one is hot: asked again, it gives another answer.
fn nth(ways: &[Way; 4], tries: u32) -> Way {
    let [first, second, third, last] = *ways;
    match tries {
        0 => first,
        1 => second,
        2 => third,
        _ => last,
    }
}

impl Way {
    pub(super) fn warmth(self) -> f32 {
        match self {
            Way::OnceMore => COLD,
            Way::Examples { warmth }
            | Way::Behaviours { warmth }
            | Way::TestCode { warmth, .. }
            | Way::Code { warmth, .. } => warmth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_tries_in_a_row_ask_in_the_same_way_until_the_hot_one() {
        for ways in [planning, testing, implementing] {
            for tries in 0..3 {
                assert_ne!(ways(tries), ways(tries + 1));
            }
            assert_eq!(ways(3), ways(99));
            assert!(ways(3).warmth() > ways(0).warmth());
        }
    }
}
