//! Question 2: what became of the tests of a file, between two versions of it?

use std::collections::HashMap;

use super::item::{Item, Marker, items};
use super::language::{ItemKind, Language};
use super::smell::Smell;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemChange {
    Added(Item),
    Removed(Item),
    /// As strong as before, as far as syntax tells.
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
    /// The runner does not take it for a test any more.
    NotATest,
    /// Does not decide any more: swallowed, bare, not awaited, after a return.
    Loosened(Smell),
}

/// The test items, and the helpers in test code, that differ. Code that is not test code is not looked at.
pub fn test_block_frozen(language: Language, path: &str, old: &str, new: &str) -> Vec<ItemChange> {
    let old = frozen(items(language, path, old));
    let mut new: Vec<Option<Item>> = frozen(items(language, path, new)).into_iter().map(Some).collect();
    let mut changes = Vec::new();
    let mut homeless = Vec::new();
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, item) in new.iter().enumerate().rev() {
        by_name.entry(item.as_ref().map(|item| item.name.clone()).unwrap_or_default()).or_default().push(at);
    }
    for item in old {
        let same_name = by_name.get_mut(&item.name).and_then(Vec::pop);
        match same_name.and_then(|at| new.get_mut(at)?.take()) {
            Some(now) => changes.extend(compare(item, now)),
            None => homeless.push(item),
        }
    }
    for item in homeless {
        let moved = new
            .iter_mut()
            .find(|now| now.as_ref().is_some_and(|now| now.body_hash == item.body_hash && now.kind == item.kind));
        changes.push(match moved.and_then(Option::take) {
            Some(now) => renamed(item, now),
            None => ItemChange::Removed(item),
        });
    }
    changes.extend(new.into_iter().flatten().map(ItemChange::Added));
    changes
}

fn frozen(items: Vec<Item>) -> Vec<Item> {
    let leaf = |kind: ItemKind| matches!(kind, ItemKind::Function | ItemKind::Case | ItemKind::DocTest);
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
    if how.is_empty() { ItemChange::Renamed { old, new } } else { ItemChange::Weakened { old, new, how } }
}

fn weaknesses(old: &Item, new: &Item) -> Vec<Weakness> {
    const LOOSE: [Smell; 5] =
        [Smell::Bare, Smell::NotAwaited, Smell::Swallowed, Smell::EarlyReturn, Smell::ConstantPass];
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
    how.extend(new.markers.iter().filter(|marker| !old.markers.contains(marker)).copied().map(Weakness::Marked));
    let smells = |item: &Item, smell: Smell| item.findings.iter().filter(|finding| finding.smell == smell).count();
    how.extend(LOOSE.into_iter().filter(|smell| smells(new, *smell) > smells(old, *smell)).map(Weakness::Loosened));
    how
}
