//! Examples in documentation that GREEN changed.

use super::*;
use crate::experiment::documented::{ExampleExperiment, documented};

const FILE: &str = "src/lib.rs";
const OLD: &str = "/// ```\n/// assert_eq!(kit::share(90, 3), 30);\n/// ```\npub fn share(sum: u32, people: u32) -> u32 {\n    sum / people\n}\n";
const ID: &str = "kit/doc::src/lib.rs - share";
const RENAMED: &str = "kit/doc::src/lib.rs - part";

/// Lays out the old examples in each possible way. Returns the text of each layout, and the
/// objections to the candidate that follow from `seen`.
fn told(now: &str, seen: &[&str]) -> Vec<(String, Vec<String>)> {
    let (before, now) = ([(FILE, OLD)], [(FILE, now)]);
    let scene = Scene { before: &before, now: &now, ..Scene::default() };
    let known = report(&[format!("+{ID}")]);
    scene.ask(JudgedPhase::Green, |material| {
        let weigh = |laid: &ExampleExperiment| {
            laid.weigh(&known, &[], &report(seen)).into_iter().map(|one| one.sentence).collect()
        };
        let laid = documented(material).tested(&known).laid(material);
        laid.iter().map(|laid| (laid.experiment.edits[0].1.clone(), weigh(laid))).collect()
    })
}

#[test]
fn an_example_that_was_changed_has_to_hold_as_it_was() {
    let more = OLD
        .replace("3), 30);", "3), 30);\n/// assert_eq!(kit::share(91, 3), 31);")
        .replace("sum / people", "1");
    let laid = OLD.replace("sum / people", "1");
    let [(text, said)] = told(&more, &[&format!("+{ID}")]).try_into().unwrap();
    assert_eq!((text, said), (laid.clone(), vec![]));
    let fails = "the example of `share` in src/lib.rs was changed, and its old version fails: no \
                 message";
    let [(_, said)] = told(&more, &[&format!("-{ID}")]).try_into().unwrap();
    assert_eq!(said, [fails]);
    let [(_, said)] = told(&more, &[]).try_into().unwrap();
    assert_eq!(
        said,
        ["the example of `share` in src/lib.rs was changed, and its old version did not run"]
    );
    // An example that the change marks with `ignore` is restored as it was.
    let [(text, _)] = told(&laid.replacen("```", "```ignore", 1), &[]).try_into().unwrap();
    assert_eq!(text, laid);
}

#[test]
fn an_example_may_follow_a_new_name() {
    let renamed = OLD.replace("share", "part").replace("3), 30", "3), 30, \"thirty\"");
    let [(text, said)] = told(&renamed, &[&format!("+{RENAMED}")]).try_into().unwrap();
    assert_eq!((text, said), (OLD.replace("share", "part"), vec![]));
    let [(_, said)] = told(&renamed, &[&format!("-{RENAMED}")]).try_into().unwrap();
    assert_eq!(said.len(), 1);
    // The function is gone, and nothing replaces it.
    assert!(told("pub fn other() {}\n", &[]).is_empty());
}

#[test]
fn twins_are_reported_apart_by_their_files_and_order() {
    let text = |one: &str, other: &str| {
        format!(
            "pub trait {one} {{\n    fn f(&self) -> u8;\n}}\n\npub trait {other} {{\n    fn f(&self) -> u8;\n}}\n"
        )
    };
    let example =
        |name: &str, text: &str| format!("/// ```\n/// use kit::{name};\n/// ```\n{text}");
    let (a, b) = (example("A", &text("A", "B")), example("C", &text("C", "D")));
    let (new_a, new_b) = (example("ToA", &text("ToA", "ToB")), example("ToC", &text("ToC", "ToD")));
    let before = [("src/a.rs", a.as_str()), ("src/c.rs", b.as_str())];
    let now = [("src/a.rs", new_a.as_str()), ("src/c.rs", new_b.as_str())];
    let scene = Scene { before: &before, now: &now, ..Scene::default() };
    let known =
        report(&["+kit/doc::src/a.rs - a::A".to_owned(), "+kit/doc::src/c.rs - c::C".to_owned()]);
    let laid = scene
        .ask(JudgedPhase::Green, |material| documented(material).tested(&known).laid(material));
    let edits: Vec<&str> = laid
        .iter()
        .flat_map(|laid| &laid.experiment.edits)
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(edits, [new_a.as_str(), new_b.as_str()]);
}
