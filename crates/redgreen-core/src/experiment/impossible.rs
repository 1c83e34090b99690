//! GREEN: do tests fail whose expectations cannot be met, and one that always fails, beside one that always passes? The
//! first two have to fail and the last has to pass. Needed for code that decides itself what it is equal to, swallows
//! failures, ends the process, or otherwise bends whatever runs the tests.

use super::{About, Answer, Experiment, Material, Question, Tree, Way, canary, is_target, selection};
use crate::report::{Report, Status, Test};
use crate::syntax::{self, Extent, Item, Language, Pick};
use crate::verdict::{Code, Reason};

pub(super) fn impossible(material: &Material<'_>, files: &[String], extent: Extent, pick: Pick) -> Option<Experiment> {
    let (mut edits, mut about) = (Vec::new(), Vec::new());
    for file in files {
        let Some(source) = (material.now)(file) else { continue };
        let language = Language::of_path(file);
        let items = syntax::items(language, file, &source);
        let wanted: Vec<&Item> =
            items.iter().filter(|item| item.is_test && is_target(material, file, &item.name)).collect();
        let changed = syntax::impossible(language, file, &source, &wanted, extent, pick);
        let canary = (extent == Extent::Everything).then(|| canary::of(language, file, &source)).flatten();
        let (mut text, names) = match (changed, &canary) {
            (Some((text, names)), _) => (text, names),
            (None, Some(_)) => (source, Vec::new()),
            (None, None) => continue,
        };
        about.extend(names.into_iter().map(|item| About { file: file.clone(), item }));
        if let Some(canary) = canary {
            text.push_str(&canary);
            let failing = [canary::NAME, canary::CALM].into_iter().filter(|name| canary.contains(name));
            about.extend(failing.map(|name| About { file: file.clone(), item: name.to_owned() }));
        }
        edits.push((file.clone(), text));
    }
    let what = match extent {
        Extent::Everything => "the tests with expectations that cannot be met",
        Extent::Last => "the tests with a last expectation that cannot be met",
    };
    (!edits.is_empty()).then(|| Experiment {
        question: Question::Impossible,
        tree: Tree::Head,
        edits,
        way: Way::Tests(selection(files, material.targets)),
        removed: Vec::new(),
        time: 0,
        variables: Vec::new(),
        about,
        what: what.to_owned(),
        otherwise: None,
    })
}

impl Experiment {
    pub(super) fn unmet(&self, report: &Report) -> Answer {
        let mut passing = Vec::new();
        for about in &self.about {
            let seen: Vec<&Test> = report.tests.iter().filter(|test| about.is(test)).collect();
            // One row of a table was changed: one of its rows has to fail.
            if !seen.is_empty() && seen.iter().all(|test| test.status == Status::Passed) {
                passing.extend(seen.first().copied());
            }
        }
        if passing.is_empty() {
            return self.sound(report);
        }
        let tell = |test: &&Test| {
            let sentence = format!("{} passes with an expectation that cannot be met", test.id);
            Reason::new(Code::GreenNotDiscriminating, sentence).test(&test.id)
        };
        Answer::Wrong(passing.iter().map(tell).collect())
    }

    /// Tests that fail prove something only where one that asks for nothing passes beside them.
    fn sound(&self, report: &Report) -> Answer {
        let files = self.edits.iter().map(|(file, _)| file);
        let sound: Vec<About> =
            files.map(|file| About { file: file.clone(), item: canary::SOUND.to_owned() }).collect();
        let failing = |test: &&Test| test.status.is_failure() && sound.iter().any(|about| about.is(test));
        match report.tests.iter().find(failing) {
            Some(test) => {
                let sentence =
                    "a test that asks for nothing fails beside the others: whatever runs them fails all alike";
                Answer::Ask(vec![Reason::new(Code::GreenNotDiscriminating, sentence).test(&test.id)])
            }
            None => Answer::Right,
        }
    }
}
