//! Combines a proof from parts of several independent machines.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Evidence;
use crate::verdict::Decision;

/// The maximum number of parts.
const SHARDS_MAX: usize = 256;

/// The part of the experiments to run. The first part also has the steps of the judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Starts at 1.
    pub number: usize,
    pub of: usize,
}

impl Shard {
    /// `2/5`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a part; expected for example 2/5");
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let (number, of): (usize, usize) =
            (number.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if number == 0 || number > of || of > SHARDS_MAX {
            return Err(wrong());
        }
        Ok(Self { number, of })
    }

    pub fn is_first(self) -> bool {
        self.number == 1
    }

    /// Whether this part contains the experiment with this number, starting at 0.
    pub fn has(self, at: usize) -> bool {
        at % self.of + 1 == self.number
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.of)
    }
}

/// Combines all parts. Each must exist once and belong to the same range.
pub fn merge(mut parts: Vec<Evidence>) -> Result<Evidence, String> {
    parts.sort_by_key(|part| part.shard.map_or(0, |shard| shard.number));
    let of = parts
        .first()
        .and_then(|part| part.shard)
        .ok_or("the first file is not part of a proof")?
        .of;
    if parts.len() != of {
        return Err(format!("found {} of {of} parts", parts.len()));
    }
    for (at, part) in (1..).zip(&parts) {
        match part.shard {
            Some(shard) if shard.of == of && shard.number == at => {}
            Some(shard) => {
                return Err(format!("part {at}/{of} is missing; the next one is {shard}"));
            }
            None => return Err("a file is not part of a proof".to_owned()),
        }
    }
    let mut parts = parts.into_iter();
    let Some(mut whole) = parts.next() else { return Err("there are no parts".to_owned()) };
    // If the judge refuses the range, or a machine could not do its part, places are not examined.
    let is_refused = whole.steps.iter().any(|step| step.decision == Decision::Refused);
    for mut part in parts {
        let same = part.base == whole.base && part.head == whole.head;
        let is_cut = is_refused || whole.inconclusive.is_some() || part.inconclusive.is_some();
        if is_cut && part.hunks != whole.hunks {
            (part.hunks, part.mutants) = (whole.hunks.clone(), Vec::new());
        }
        if !same || part.policy != whole.policy || part.hunks != whole.hunks {
            return Err(format!(
                "the parts belong to different ranges: {}..{}",
                part.base, part.head
            ));
        }
        whole.mutants.extend(part.mutants);
        whole.commits.extend(part.commits);
        whole.steps.extend(part.steps);
        let new: Vec<String> =
            part.not_verified.into_iter().filter(|one| !whole.not_verified.contains(one)).collect();
        whole.not_verified.extend(new);
        whole.inconclusive = whole.inconclusive.or(part.inconclusive);
        whole.tests_ms = whole.tests_ms.saturating_add(part.tests_ms);
        whole.own_ms = whole.own_ms.saturating_add(part.own_ms);
    }
    whole.shard = None;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::JudgedPhase;
    use crate::proof::StepVerdict;
    use crate::verdict::{Code, Reason};

    #[test]
    fn a_part_is_a_number_of_a_number() {
        assert_eq!(Shard::parse("2/5"), Ok(Shard { number: 2, of: 5 }));
        for text in ["", "2", "0/3", "4/3", "a/b", "1/999", "-1/2", "1/2/3"] {
            assert!(Shard::parse(text).is_err(), "{text}");
        }
        let all: Vec<usize> = (0..7).filter(|at| Shard { number: 2, of: 3 }.has(*at)).collect();
        assert_eq!(all, [1, 4]);
    }

    #[test]
    fn parts_are_merged_when_all_of_them_are_there() {
        let part = |number: usize| Evidence {
            base: "a".to_owned(),
            head: "b".to_owned(),
            shard: Some(Shard { number, of: 2 }),
            not_verified: vec!["docs".to_owned()],
            own_ms: 5,
            ..Evidence::default()
        };
        let whole = merge(vec![part(2), part(1)]).unwrap();
        assert_eq!((whole.shard, whole.own_ms, whole.not_verified.len()), (None, 10, 1));
        assert!(merge(vec![part(1)]).is_err());
        assert!(merge(vec![part(1), part(1)]).is_err());
        assert!(merge(vec![part(1), Evidence { head: "c".to_owned(), ..part(2) }]).is_err());
        assert!(merge(Vec::new()).is_err());
    }

    #[test]
    fn a_refused_or_inconclusive_part_is_merged_without_places() {
        let part = |number: usize, places: usize| Evidence {
            shard: Some(Shard { number, of: 2 }),
            hunks: (0..places)
                .map(|at| serde_json::json!({ "file": "a.py", "first": at, "last": at }))
                .map(|hunk| serde_json::from_value(hunk).unwrap())
                .collect(),
            mutants: (0..places)
                .map(|at| serde_json::json!({ "hunk": at, "what": "", "killed": "by-none" }))
                .map(|mutant| serde_json::from_value(mutant).unwrap())
                .collect(),
            ..Evidence::default()
        };
        let refused = StepVerdict {
            phase: JudgedPhase::Red,
            what: String::new(),
            decision: Decision::Refused,
            reasons: Vec::new(),
            notes: Vec::new(),
            experiments: Vec::new(),
        };
        let reason = || Some(Reason::plain(Code::VerifyUnable));
        for (first, second, places) in [
            (Evidence { steps: vec![refused], ..part(1, 0) }, part(2, 2), 0),
            (Evidence { inconclusive: reason(), ..part(1, 0) }, part(2, 2), 0),
            (part(1, 2), Evidence { inconclusive: reason(), ..part(2, 0) }, 2),
        ] {
            let whole = merge(vec![first, second]).unwrap();
            assert_eq!((whole.hunks.len(), whole.mutants.len()), (places, places), "{whole:?}");
        }
        assert!(merge(vec![part(1, 1), part(2, 2)]).is_err(), "different ranges");
    }
}
