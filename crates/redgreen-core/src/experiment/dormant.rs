//! GREEN: new tests that did not run at RED, because they did not load, and that skip themselves.

use super::{About, Material};
use crate::report::{Report, Test};
use crate::syntax::{self, Item, Language, Marker};

/// What a test may check before it skips itself. The project's code has no influence on it.
const OUTSIDE: [&str; 9] = [
    "Getenv",
    "LookupEnv",
    "Short()",
    "GOOS",
    "LookPath",
    "environ",
    "getenv",
    "process.env",
    "platform",
];

/// Tests of the candidate that RED skips: by a marker, by a check of the environment, or by a
/// marker that a `conftest.py` of RED skips. Tests that the code skips are not included.
pub(crate) fn asleep(material: &Material<'_>, before: &Report, after: &Report) -> Vec<Test> {
    let idle =
        after.tests.iter().filter(|test| test.status.is_idle() && before.test(&test.id).is_none());
    idle.filter(|test| !material.targets.contains(&test.id) && is_asleep(material, test))
        .cloned()
        .collect()
}

fn is_asleep(material: &Material<'_>, test: &Test) -> bool {
    let near = |path: &&String| {
        let known = test.is_in(path);
        Language::of_path(path) != Language::Other
            && (known || test.file.is_none() && material.is_test(path))
    };
    material.paths.iter().filter(near).any(|path| {
        let Some(source) = (material.before)(path) else { return false };
        let items = syntax::items(Language::of_path(path), path, &source);
        let own = |item: &&Item| {
            item.is_test && About { file: path.clone(), item: item.name.clone() }.is(test)
        };
        items.iter().filter(own).any(|item| {
            let text = source.get(item.span.clone()).unwrap_or_default();
            sleeps(item, text) || is_left_out(material, text)
        })
    })
}

/// Marked, or skipped after a check of something outside the project.
fn sleeps(item: &Item, text: &str) -> bool {
    const CALLS: [&str; 4] = [".Skip(", ".Skipf(", ".SkipNow(", "pytest.skip("];
    let marked = item.markers.iter().any(|marker| matches!(marker, Marker::Skip | Marker::Todo));
    match CALLS.iter().find_map(|call| text.split_once(call)) {
        Some((before, _)) => {
            let condition = before.rfind("if ").and_then(|at| before.get(at..)).unwrap_or_default();
            marked && (condition.is_empty() || OUTSIDE.iter().any(|word| condition.contains(word)))
        }
        None => marked,
    }
}

/// `@pytest.mark.slow`, if a `conftest.py` skips slow tests.
fn is_left_out(material: &Material<'_>, text: &str) -> bool {
    let marks = text.match_indices("@pytest.mark.").filter_map(|(at, found)| {
        let rest = text.get(at + found.len()..)?;
        rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
    });
    let marks: Vec<&str> = marks.filter(|mark| !mark.is_empty()).collect();
    let hooks = material.paths.iter().filter(|path| path.ends_with("conftest.py"));
    let texts: Vec<String> = hooks.filter_map(|path| (material.before)(path)).collect();
    let skips = |text: &String| {
        text.contains("skip") && marks.iter().any(|mark| syntax::mentions(text, mark))
    };
    !marks.is_empty() && texts.iter().any(skips)
}
