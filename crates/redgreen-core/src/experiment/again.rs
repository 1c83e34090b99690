//! Do the new tests fail each time, and for more than a snapshot that nobody has recorded yet? An honest RED fails
//! whenever it is run. Needed for tests that fail by chance, and for snapshot tests, which pass once a runner may record.

use super::{About, Answer, Material, changed_test_files, tests_of};
use crate::report::{Report, Status, Test};
use crate::verdict::{Code, Reason};

pub(super) fn again(material: &Material<'_>, report: &Report) -> Answer {
    let new: Vec<About> = changed_test_files(material).iter().flat_map(|file| tests_of(material, file)).collect();
    // An old test beside the new ones that wavers did so before, and is nobody's doing.
    let is_own = |test: &Test| new.is_empty() || new.iter().any(|about| about.is(test));
    let passing = |id: &String| report.test(id).filter(|test| test.status == Status::Passed);
    let own = material.targets.iter().find(|id| passing(id).is_some_and(is_own));
    let all = || material.targets.first().filter(|_| material.targets.iter().all(|id| passing(id).is_some()));
    match own.or_else(all) {
        // Where only some of the new tests waver, the others still ask for something; but a suite that wavers cannot judge.
        Some(id) => {
            let sentence = format!("{id} failed, and passes when it is run again");
            Answer::Wrong(vec![Reason::new(Code::RedFlaky, sentence).test(id)])
        }
        None => Answer::Right,
    }
}

pub(super) fn recording(material: &Material<'_>, report: &Report) -> Answer {
    let passes = |id: &String| report.test(id).is_some_and(|test| test.status == Status::Passed);
    match material.targets.first() {
        Some(first) if material.targets.iter().all(passes) => {
            let sentence = format!("{first} only waits for a snapshot to be recorded, and would take any");
            Answer::Wrong(vec![Reason::new(Code::RedPasses, sentence).test(first)])
        }
        Some(_) | None => Answer::Right,
    }
}
