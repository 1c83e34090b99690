//! Summarizes the change of a file: the added, changed and removed functions and classes, and the
//! purpose of the new ones.

use crate::syntax::{Item, ItemKind, Language, items};

/// Maximum number of names of one kind; the rest is counted.
const NAMES_MAX: usize = 8;
const PURPOSE_CHARS_MAX: usize = 120;

/// A changed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    /// `added`, `modified` or `deleted`.
    pub how: &'static str,
    /// A summary, such as `adds to_fahrenheit`; empty if the language has no parser.
    pub what: String,
    /// New code other than tests: its name and purpose.
    pub content: Vec<(String, String)>,
}

/// Compares two versions of a file; a missing version has no text.
pub fn change(path: &str, old: Option<&str>, new: Option<&str>) -> FileChange {
    let how = match (old, new) {
        (None, _) => "added",
        (Some(_), None) => "deleted",
        (Some(_), Some(_)) => "modified",
    };
    let language = Language::of_path(path);
    let read = |source: Option<&str>| {
        source.map(|source| named(items(language, path, source))).unwrap_or_default()
    };
    let (before, after) = (read(old), read(new));
    let find = |list: &'_ [Item], name: &str| list.iter().find(|item| item.name == name).cloned();
    let added: Vec<&Item> =
        after.iter().filter(|item| find(&before, &item.name).is_none()).collect();
    let changed: Vec<&Item> = after
        .iter()
        .filter(|item| find(&before, &item.name).is_some_and(|old| old.text_hash != item.text_hash))
        .collect();
    let removed: Vec<&Item> =
        before.iter().filter(|item| find(&after, &item.name).is_none()).collect();
    let parts = [("adds", added.as_slice()), ("changes", &changed), ("removes", &removed)];
    let what = parts
        .iter()
        .filter(|(_, items)| !items.is_empty())
        .map(|(verb, items)| format!("{verb} {}", names(items)));
    let source = new.unwrap_or_default();
    let content =
        added.iter().filter(|item| !item.in_tests).map(|item| (title(item), purpose(source, item)));
    FileChange {
        path: path.to_owned(),
        how,
        what: what.collect::<Vec<_>>().join(", "),
        content: content.collect(),
    }
}

/// Functions, methods and classes; a class is listed in addition to its methods.
fn named(items: Vec<Item>) -> Vec<Item> {
    items.into_iter().filter(|item| !item.name.is_empty()).collect()
}

fn names(items: &[&Item]) -> String {
    let shown: Vec<&str> = items.iter().take(NAMES_MAX).map(|item| item.name.as_str()).collect();
    match items.len().saturating_sub(NAMES_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn title(item: &Item) -> String {
    match item.kind {
        ItemKind::Function => format!("{}()", item.name),
        ItemKind::Class | ItemKind::Suite | ItemKind::Case | ItemKind::DocTest => item.name.clone(),
    }
}

/// The first line of its documentation, else its signature.
fn purpose(source: &str, item: &Item) -> String {
    let text = source.get(item.span.clone()).unwrap_or_default();
    let above = source.get(..item.span.start).unwrap_or_default();
    let words = docstring(text).or_else(|| doc_comment(above)).unwrap_or_else(|| signature(text));
    words.chars().take(PURPOSE_CHARS_MAX).collect()
}

/// The first line of a string that opens the body.
fn docstring(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| !line.ends_with(':')).skip(1);
    let first = lines.find(|line| !line.is_empty())?;
    let mark = ["\"\"\"", "'''"].into_iter().find(|mark| first.starts_with(mark))?;
    let rest = first.trim_start_matches(mark);
    let line = if rest.is_empty() { lines.next()? } else { rest };
    Some(line.trim_end_matches(mark).trim().to_owned()).filter(|line| !line.is_empty())
}

/// The first line of the documentation comment directly above.
fn doc_comment(above: &str) -> Option<String> {
    let marks = ["///", "/**", "*/", "*", "//"];
    let lines: Vec<&str> = above
        .lines()
        .rev()
        .map(str::trim)
        .take_while(|line| marks.iter().any(|mark| line.starts_with(mark)))
        .collect();
    let words = lines
        .iter()
        .rev()
        .map(|line| line.trim_start_matches(['/', '*']).trim_end_matches("*/").trim());
    words.into_iter().find(|line| !line.is_empty()).map(str::to_owned)
}

fn signature(text: &str) -> String {
    let line =
        text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(['@', '#']));
    format!("`{}`", line.unwrap_or_default().trim_end_matches(['{', ':', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summarizes_a_change_by_its_items() {
        let old = "def keep(a):\n    return a\n\n\ndef change(a):\n    return a\n\n\ndef gone():\n    pass\n";
        let new = "def keep(a):\n    return a\n\n\ndef change(a):\n    return a + 1\n\n\nclass Till:\n    \"\"\"Adds up prices.\"\"\"\n\n    \
                   def total(self):\n        return 0\n";
        let FileChange { how, what, content, .. } = change("shop.py", Some(old), Some(new));
        assert_eq!(
            (how, what.as_str()),
            ("modified", "adds Till, Till::total, changes change, removes gone")
        );
        assert_eq!(content[0], ("Till".to_owned(), "Adds up prices.".to_owned()));
        assert_eq!(content[1].1, "`def total(self)`");
        let rust = "/// Doubles it.\npub fn double(n: u32) -> u32 {\n    n * 2\n}\n";
        assert_eq!(
            change("src/lib.rs", None, Some(rust)).content,
            [("double()".to_owned(), "Doubles it.".to_owned())]
        );
        let test = change("tests/test_a.py", None, Some("def test_a():\n    assert False\n"));
        assert_eq!((test.what.as_str(), test.content.len()), ("adds test_a", 0));
        assert_eq!(change("notes.txt", None, Some("x")).what, "");
        assert_eq!(change("shop.py", Some(old), None).how, "deleted");
    }
}
