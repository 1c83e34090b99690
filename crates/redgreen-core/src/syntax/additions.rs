//! What a new version of a file adds.

use std::collections::{HashMap, HashSet};

use super::call::Part;
use super::language::{Class, Language};
use super::literal::{inside, literals};
use super::tree::{Node, Tree};

/// One common value may be a coincidence.
const SHARED_MIN: usize = 3;

/// Lines of `new` that `old` does not have, or has less often.
pub fn added_lines(old: &str, new: &str) -> HashSet<u32> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for line in old.lines() {
        *known.entry(line.trim()).or_default() += 1;
    }
    let mut added = HashSet::new();
    for (number, line) in (1..).zip(new.lines()) {
        match known.get_mut(line.trim()) {
            Some(count) if *count > 0 => *count -= 1,
            Some(_) | None => {
                added.insert(number);
            }
        }
    }
    added
}

/// The first added line with a value that the tests contain too, if there are several such values.
pub fn shared_values(language: Language, tests: &str, old: &str, new: &str) -> Option<u32> {
    let (tests, tree) = (Tree::parse(language, tests)?, Tree::parse(language, new)?);
    let known: HashSet<&str> = distinctive(&tests).map(|(_, text)| text).collect();
    let added = added_lines(old, new);
    let shared: Vec<(Node<'_>, &str)> = distinctive(&tree)
        .filter(|(node, text)| added.contains(&node.line()) && known.contains(text))
        .collect();
    let different: HashSet<&str> = shared.iter().map(|(_, text)| *text).collect();
    shared.iter().map(|(node, _)| node.line()).min().filter(|_| different.len() >= SHARED_MIN)
}

/// Literals that are unlikely to be shared by chance: no booleans, no single digits.
fn distinctive<'t>(tree: &'t Tree<'_>) -> impl Iterator<Item = (Node<'t>, &'t str)> {
    literals(&Part::of(tree.root())).into_iter().filter_map(|(node, class)| match class {
        Class::Text => {
            tree.source.get(inside(node)).filter(|text| !text.is_empty()).map(|text| (node, text))
        }
        Class::Number => Some((node, node.text())).filter(|(_, text)| text.len() > 1),
        Class::True | Class::False | Class::Null => None,
    })
}
