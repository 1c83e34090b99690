//! GREEN: do tests fail whose expectations cannot be met, and one that always fails, beside one that always passes? The
//! first two have to fail and the last has to pass. Each expectation has to matter by itself, with a value inside its own
//! alphabet and type; one that a test never reaches is none. Needed for code that decides itself what it is equal to, swallows
//! failures, ends the process, or otherwise bends whatever runs the tests.

use super::{About, Answer, Experiment, Material, Question, Tree, canary, is_target, selection};
use crate::report::{Report, Status, Test};
use crate::syntax::{self, Extent, Item, Language, Letters, Pick, Way};
use crate::verdict::{Code, Reason};

/// Expectations of one test that are looked at one by one.
const EXPECTATIONS_MAX: usize = 8;

/// First everything at once, then the last expectation of each test, the one before it, and so on.
pub(super) fn impossible(material: &Material<'_>, files: &[String]) -> Vec<Experiment> {
    let mut asked: Vec<Experiment> = Vec::new();
    for extent in std::iter::once(Extent::Everything).chain((0..EXPECTATIONS_MAX).map(Extent::One)) {
        let Some(control) = changed(material, files, extent, Pick::Last) else { break };
        // Numbers are changed in one way only, and a test may have one expectation.
        if asked.iter().any(|other| other.covers(&control)) {
            continue;
        }
        let reached = match extent {
            Extent::Everything => None,
            Extent::One(back) => reached(material, &control, back).map(Box::new),
        };
        let otherwise =
            changed(material, files, extent, Pick::First).map(|other| Experiment { otherwise: reached, ..other });
        asked.push(Experiment { otherwise: otherwise.map(Box::new), ..control });
    }
    asked
}

/// The same tests, made to fail where the expectation stands.
fn reached(material: &Material<'_>, control: &Experiment, back: usize) -> Option<Experiment> {
    let mut edits = Vec::new();
    for (file, _) in &control.edits {
        let source = (material.now)(file)?;
        let language = Language::of_path(file);
        let items = syntax::items(language, file, &source);
        let wanted: Vec<&Item> = wanted(material, file, &items);
        edits.push((file.clone(), syntax::stopped(language, file, &source, &wanted, back)?));
    }
    let what = "the tests, made to fail where the expectation stands".to_owned();
    Some(Experiment { question: Question::Reached, edits, what, ..control.clone() })
}

fn wanted<'i>(material: &Material<'_>, file: &str, items: &'i [Item]) -> Vec<&'i Item> {
    items.iter().filter(|item| item.is_test && is_target(material, file, &item.name)).collect()
}

pub(super) fn changed(material: &Material<'_>, files: &[String], extent: Extent, pick: Pick) -> Option<Experiment> {
    let letters = match extent {
        Extent::Everything => Letters::Near,
        Extent::One(_) => Letters::Own,
    };
    let (mut edits, mut about) = (Vec::new(), Vec::new());
    for file in files {
        let Some(source) = (material.now)(file) else { continue };
        let language = Language::of_path(file);
        let items = syntax::items(language, file, &source);
        let wanted = wanted(material, file, &items);
        let changed = syntax::impossible(language, file, &source, &wanted, extent, Way { pick, letters });
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
        Extent::One(0) => "the tests with a last expectation that cannot be met",
        Extent::One(_) => "the tests with one expectation that cannot be met",
    };
    let question = match extent {
        Extent::Everything | Extent::One(0) => Question::Impossible,
        Extent::One(_) => Question::Expectation,
    };
    (!edits.is_empty()).then(|| Experiment {
        question,
        tree: Tree::Head,
        edits,
        way: super::Way::Tests(selection(files, material.targets)),
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

    /// Which of the tests come to the place where they were made to fail.
    pub(super) fn reached(&self, report: &Report) -> Answer {
        let fails = |about: &About| report.tests.iter().find(|test| about.is(test) && test.status.is_failure());
        let told = self.about.iter().filter_map(fails).map(|test| {
            let sentence = format!("{} fails where its expectation stands", test.id);
            Reason::new(Code::GreenNotDiscriminating, sentence).test(&test.id)
        });
        let reasons: Vec<Reason> = told.collect();
        if reasons.is_empty() { Answer::Right } else { Answer::Wrong(reasons) }
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
