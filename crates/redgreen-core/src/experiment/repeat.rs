//! Do the new tests fail each time, and for another reason than a missing snapshot? An honest RED
//! always fails. Needed for flaky tests, and for snapshot tests, which pass as soon as the runner
//! may record.

use super::{About, Answer, Material, changed_test_files, tests_of};
use crate::report::{Report, Status, Test};
use crate::verdict::{Code, Reason};

pub(super) fn again(material: &Material<'_>, report: &Report) -> Answer {
    let new: Vec<About> =
        changed_test_files(material).iter().flat_map(|file| tests_of(material, file)).collect();
    // If an old test next to the new ones is flaky, it was flaky before.
    let is_own = |test: &Test| new.is_empty() || new.iter().any(|about| about.is(test));
    let passing = |id: &String| report.test(id).filter(|test| test.status == Status::Passed);
    let own = material.targets.iter().find(|id| passing(id).is_some_and(is_own));
    let all = || {
        material.targets.first().filter(|_| material.targets.iter().all(|id| passing(id).is_some()))
    };
    match own.or_else(all) {
        // If only some of the new tests are flaky, the others still check something. But a flaky
        // suite cannot judge.
        Some(id) => {
            let sentence = format!("{id} failed, but passes in a second run");
            Answer::Wrong(vec![Reason::new(Code::RedFlaky, sentence).test(id)])
        }
        None => Answer::Right,
    }
}

pub(super) fn recording(material: &Material<'_>, report: &Report) -> Answer {
    let passes = |id: &String| report.test(id).is_some_and(|test| test.status == Status::Passed);
    match material.targets.first() {
        Some(first) if material.targets.iter().all(passes) => {
            let sentence = format!(
                "{first} fails only because its snapshot is not recorded, and would accept any \
                 value"
            );
            Answer::Wrong(vec![Reason::new(Code::RedPasses, sentence).test(first)])
        }
        Some(_) | None => Answer::Right,
    }
}
