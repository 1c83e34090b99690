//! Question 9: which values does a file write out, and which calls with nothing but such values?

use super::call::{calls, parts};
use super::language::Language;
use super::literal::{class, is_pure};
use super::tree::Tree;

/// The name and the arguments, as written, of calls to one of the functions whose arguments are all written out.
pub fn written_calls(language: Language, source: &str, names: &[String]) -> Vec<(String, String)> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let mut found = Vec::new();
    for call in calls(tree.root()) {
        let name = call.callee.rsplit('.').next().unwrap_or_default();
        let Some(arguments) = call.arguments.filter(|_| names.iter().any(|known| known == name)) else { continue };
        let parts = parts(arguments);
        if !parts.is_empty() && parts.iter().all(is_pure) {
            let text: Vec<&str> = parts.iter().map(|part| part.text()).collect();
            found.push((name.to_owned(), text.join(", ")));
        }
    }
    found
}

/// Numbers, texts and the like.
pub fn written_values(language: Language, source: &str) -> Vec<String> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    tree.nodes().filter(|node| class(*node).is_some()).map(|node| node.text().to_owned()).collect()
}
