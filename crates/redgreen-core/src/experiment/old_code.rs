//! GREEN: do the RED tests still fail on the old code? They failed there once, so they must fail
//! again. Needed if something other than the code made them pass: the machine, an installed
//! package, a leftover file.

use super::{Answer, Material};
use crate::report::{Report, Status};
use crate::verdict::{Code, Reason};

pub(super) fn old_code(material: &Material<'_>, report: &Report) -> Answer {
    let passes = |id: &String| report.test(id).is_some_and(|test| test.status == Status::Passed);
    let all = material.targets.iter().all(passes);
    match material.targets.first() {
        Some(first) if all => {
            let sentence = format!("{first} also passes on the old code");
            Answer::Wrong(vec![Reason::new(Code::GreenNotDiscriminating, sentence).test(first)])
        }
        Some(_) | None => Answer::Right,
    }
}
