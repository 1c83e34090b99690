//! GREEN: do the tests of RED still fail on the code before? They failed there once, so they have to fail again. Needed
//! where something beside the code made them pass: the machine, an installed package, a file that is left behind.

use super::{Answer, Material};
use crate::report::{Report, Status};
use crate::verdict::{Code, Reason};

pub(super) fn old_code(material: &Material<'_>, report: &Report) -> Answer {
    let passes = |id: &String| report.test(id).is_some_and(|test| test.status == Status::Passed);
    let all = material.targets.iter().all(passes);
    match material.targets.first() {
        Some(first) if all => {
            let sentence = format!("{first} passes on the code before as well");
            Answer::Wrong(vec![Reason::new(Code::GreenNotDiscriminating, sentence).test(first)])
        }
        Some(_) | None => Answer::Right,
    }
}
