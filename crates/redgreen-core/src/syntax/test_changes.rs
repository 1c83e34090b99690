//! Question 2: how did the tests of a file change between two versions?

use std::collections::HashMap;

use super::item::{Item, Marker, items};
use super::language::{ItemKind, Language};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemChange {
    Added(Item),
    Removed(Item),
    /// As strong as before, as far as syntax shows.
    Changed {
        old: Item,
        new: Item,
    },
    /// The same body under another name or in another place.
    Renamed {
        old: Item,
        new: Item,
    },
    Weakened {
        old: Item,
        new: Item,
        how: Vec<Weakness>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakness {
    FewerAssertions,
    /// Fewer of them compare with a value.
    LessExact,
    /// Skipped, or allowed to fail.
    Marked(Marker),
    FewerRows,
    /// The runner no longer treats it as a test.
    NotATest,
}

/// The test items, and the helpers in test code, that differ. Other code is ignored.
pub fn test_block_frozen(language: Language, path: &str, old: &str, new: &str) -> Vec<ItemChange> {
    let old = frozen(items(language, path, old));
    let mut new: Vec<Option<Item>> =
        frozen(items(language, path, new)).into_iter().map(Some).collect();
    let mut changes = Vec::new();
    let mut homeless = Vec::new();
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, item) in new.iter().enumerate().rev() {
        by_name
            .entry(item.as_ref().map(|item| item.name.clone()).unwrap_or_default())
            .or_default()
            .push(at);
    }
    for item in old {
        let same_name = by_name.get_mut(&item.name).and_then(Vec::pop);
        match same_name.and_then(|at| new.get_mut(at)?.take()) {
            Some(now) => changes.extend(compare(item, now)),
            None => homeless.push(item),
        }
    }
    for item in homeless {
        let moved = new.iter_mut().find(|now| {
            now.as_ref().is_some_and(|now| now.body_hash == item.body_hash && now.kind == item.kind)
        });
        changes.push(match moved.and_then(Option::take) {
            Some(now) => renamed(item, now),
            None => ItemChange::Removed(item),
        });
    }
    changes.extend(new.into_iter().flatten().map(ItemChange::Added));
    changes
}

/// Whether a test file only gained tests, and imports for them.
pub fn only_adds_tests(language: Language, path: &str, old: &str, new: &str) -> bool {
    let changes = test_block_frozen(language, path, old, new);
    let mut added = Vec::new();
    for change in &changes {
        match change {
            ItemChange::Added(item) => added.push(item.span.clone()),
            ItemChange::Removed(_)
            | ItemChange::Renamed { .. }
            | ItemChange::Changed { .. }
            | ItemChange::Weakened { .. } => return false,
        }
    }
    let mut rest = String::new();
    let mut at = 0;
    added.sort_by_key(|span| span.start);
    for span in added {
        rest.push_str(new.get(at..span.start).unwrap_or_default());
        // A call that is a statement ends with a semicolon.
        let ended = new.get(span.end..).is_some_and(|after| after.starts_with(';'));
        at = at.max(span.end + usize::from(ended));
    }
    rest.push_str(new.get(at..).unwrap_or_default());
    let (old_imports, old_rest) = lines(old);
    let (new_imports, new_rest) = lines(&rest);
    old_rest == new_rest && old_imports.iter().all(|line| new_imports.contains(line))
}

/// Imports, and all other lines that are not empty.
fn lines(text: &str) -> (Vec<&str>, Vec<&str>) {
    const IMPORTS: [&str; 4] = ["import ", "from ", "use ", "#include "];
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.partition(|line| IMPORTS.iter().any(|start| line.starts_with(start)))
}

/// Whether a file changed only by filling empty snapshots.
pub fn fills_snapshots(old: &str, new: &str) -> bool {
    const CALL: &str = "InlineSnapshot(";
    let mut olds = old.split(CALL);
    let mut news = new.split(CALL);
    let squeezed =
        |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
    if olds.next().map(squeezed) != news.next().map(squeezed) {
        return false;
    }
    let mut filled = false;
    loop {
        match (olds.next(), news.next()) {
            (None, None) => return filled,
            (Some(before), Some(after)) => {
                let after = if before.trim_start().starts_with(')')
                    && !after.trim_start().starts_with(')')
                {
                    filled = true;
                    match after_argument(after) {
                        Some(rest) => rest,
                        None => return false,
                    }
                } else {
                    after
                };
                if squeezed(before) != squeezed(after) {
                    return false;
                }
            }
            (Some(_), None) | (None, Some(_)) => return false,
        }
    }
}

/// The rest after a quoted text. A snapshot is nothing else.
fn after_argument(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|letter| "`\"'".contains(*letter))?;
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == '$' && quote == '`' && text.get(at + 1..)?.starts_with('{') {
            return None;
        } else if letter == quote {
            return text.get(at + 1..);
        }
    }
    None
}

fn frozen(items: Vec<Item>) -> Vec<Item> {
    let leaf =
        |kind: ItemKind| matches!(kind, ItemKind::Function | ItemKind::Case | ItemKind::DocTest);
    items.into_iter().filter(|item| item.in_tests && leaf(item.kind)).collect()
}

fn compare(old: Item, new: Item) -> Option<ItemChange> {
    let how = weaknesses(&old, &new);
    if !how.is_empty() {
        Some(ItemChange::Weakened { old, new, how })
    } else if old.text_hash == new.text_hash && old.markers == new.markers {
        None
    } else {
        Some(ItemChange::Changed { old, new })
    }
}

fn renamed(old: Item, new: Item) -> ItemChange {
    let how = weaknesses(&old, &new);
    if how.is_empty() {
        ItemChange::Renamed { old, new }
    } else {
        ItemChange::Weakened { old, new, how }
    }
}

fn weaknesses(old: &Item, new: &Item) -> Vec<Weakness> {
    let mut how = Vec::new();
    if old.is_test && !new.is_test {
        how.push(Weakness::NotATest);
    }
    if new.assertions < old.assertions {
        how.push(Weakness::FewerAssertions);
    }
    if new.exact < old.exact {
        how.push(Weakness::LessExact);
    }
    if let (Some(before), Some(now)) = (old.parameters, new.parameters)
        && now < before
    {
        how.push(Weakness::FewerRows);
    }
    how.extend(
        new.markers
            .iter()
            .filter(|marker| !old.markers.contains(marker))
            .copied()
            .map(Weakness::Marked),
    );
    how
}
