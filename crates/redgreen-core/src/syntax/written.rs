//! Question 9: which values does a file write out, and which calls with nothing but such values?

use super::call::{Part, calls, parts};
use super::language::{Language, row};
use super::literal::{class, is_pure};
use super::tree::{Node, Tree};

/// Lists and tuples, as languages write them.
const ROWS: &[&str] = &["list", "tuple", "array", "tuple_expression", "array_expression"];
/// Parameters whose values can be written down from their type alone.
const PLAIN: &[&str] =
    &["&str", "bool", "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "f32", "f64"];

/// The name and the arguments, as written, of calls to one of the functions whose arguments are all written out.
pub fn written_calls(language: Language, source: &str, names: &[String]) -> Vec<(String, String)> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let mut found = Vec::new();
    let is_known = |name: &str| names.iter().any(|known| known == name);
    let mut add = |name: &str, parts: Vec<Part<'_>>| {
        if !parts.is_empty() && parts.iter().all(is_pure) {
            let text: Vec<&str> = parts.iter().map(Part::text).collect();
            found.push((name.to_owned(), text.join(", ")));
        }
    };
    for call in calls(tree.root()) {
        let name = call.callee.rsplit(['.', ':']).next().unwrap_or_default();
        if let Some(arguments) = call.arguments.filter(|_| is_known(name)) {
            add(name, parts(arguments));
        }
    }
    // Inside a macro a call is no more than a name and a group.
    for group in tree.nodes().filter(|node| node.kind() == "token_tree" && node.text().starts_with('(')) {
        let name = group.before().next().filter(|name| name.kind() == "identifier").map_or("", Node::text);
        if is_known(name) && group.parent().is_some_and(|around| around.kind() == "token_tree") {
            add(name, parts(group));
        }
    }
    found
}

/// Numbers, texts and the like.
pub fn written_values(language: Language, source: &str) -> Vec<String> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    tree.nodes().filter(|node| class(*node).is_some()).map(|node| node.text().to_owned()).collect()
}

/// The same source with another blank before each value on a line and a comment at its end, which names what experiments
/// put into test files: to the language nothing has changed. `None` where the language is not known.
pub fn respelled(language: Language, source: &str) -> Option<String> {
    let comment = match language {
        Language::Python => "#",
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Rust | Language::Go => "//",
        Language::Java | Language::Other => return None,
    };
    let tree = Tree::parse(language, source)?;
    let (mut text, mut done) = (String::new(), 0);
    for node in tree.nodes().filter(|node| class(*node).is_some()) {
        let at = node.span().start;
        let (Some(between), Some(before)) = (source.get(done..at), source.get(..at)) else { continue };
        let line = before.rsplit('\n').next().unwrap_or_default();
        // What stands in a text is a part of it, and what begins a line is its indentation.
        let is_text = |around: Node<'_>| around.is(row(language).interpolations) || class(around).is_some();
        let inside = node.ancestors().any(is_text);
        if line.trim().is_empty() || inside {
            continue;
        }
        text.push_str(between);
        text.push(' ');
        done = at;
    }
    text.push_str(source.get(done..)?);
    let end = if source.ends_with('\n') { "" } else { "\n" };
    Some(format!("{text}{end}{comment} test_redgreen_canary, test_redgreen_sound\n"))
}

/// Lists with several values that are all written out, each as its values: the rows of tables.
pub fn written_rows(language: Language, source: &str) -> Vec<Vec<String>> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let lists = tree.nodes().filter(|node| node.is(ROWS)).map(parts);
    let rows = lists.filter(|parts| parts.len() > 1 && parts.iter().all(is_pure));
    rows.map(|parts| parts.iter().map(|part| part.text().to_owned()).collect()).collect()
}

/// An outermost function, as its first line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    /// The types of what it takes, as written.
    pub kinds: Vec<String>,
    pub returns: String,
    /// It takes types as well.
    pub generic: bool,
    /// Its answer has to be waited for.
    pub awaited: bool,
}

/// The outermost functions of Rust and Go.
pub fn signatures(language: Language, source: &str) -> Vec<Signature> {
    let Some(tree) = Tree::parse(language, source) else { return Vec::new() };
    let functions = tree.root().named_children().filter(|node| node.is(&["function_item", "function_declaration"]));
    let told = functions.filter_map(|function| {
        let parameters = function.child("parameters")?.named_children();
        let kinds: Option<Vec<String>> =
            parameters.map(|one| one.child("type").map(|kind| kind.text().to_owned())).collect();
        let marked = |word| function.children().any(|child| child.is(&["function_modifiers"]) && child.text() == word);
        Some(Signature {
            name: function.child("name")?.text().to_owned(),
            kinds: kinds?,
            returns: function.child("return_type").map_or("()", Node::text).to_owned(),
            generic: function
                .child("type_parameters")
                .is_some_and(|all| all.named_children().any(|one| !is_lifetime(one))),
            awaited: marked("async"),
        })
    });
    told.collect()
}

fn is_lifetime(parameter: Node<'_>) -> bool {
    parameter.text().starts_with('\'')
}

/// Outermost functions of Rust that take nothing but plain values, with the types of these.
pub fn plain_signatures(source: &str) -> Vec<(String, Vec<String>)> {
    let plain = signatures(Language::Rust, source).into_iter().filter(|one| {
        // No order of its own, or nothing that can be shown.
        let shown = !["impl ", "dyn ", "Hash", "fn("].iter().any(|part| one.returns.contains(part));
        shown && !one.generic && !one.awaited && one.kinds.iter().all(|kind| PLAIN.contains(&kind.as_str()))
    });
    plain.map(|one| (one.name, one.kinds)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_spelled_otherwise_means_the_same() {
        let comment = "test_redgreen_canary, test_redgreen_sound\n";
        for (path, source, expected) in [
            ("a.py", "assert add(1, -2) == 3", "assert add( 1, - 2) ==  3\n# "),
            (
                "a.py",
                "def f():\n    \"\"\"1\"\"\"\n    return 'a' \"b\"\n",
                "def f():\n    \"\"\"1\"\"\"\n    return  'a'  \"b\"\n# ",
            ),
            ("a.py", "x = f\"{1 + 1 = } {'x'}\"\n", "x = f\"{1 + 1 = } {'x'}\"\n# "),
            ("a.py", "x = [\n    1,\n    2, None]\n", "x = [\n    1,\n    2,  None]\n# "),
            ("a.js", "assert.equal(f(`a${1}`), \"b\");\n", "assert.equal(f(`a${1}`),  \"b\");\n// "),
            ("a.tsx", "render(<A b=\"c\">1 d</A>);\n", "render(<A b= \"c\">1 d</A>);\n// "),
        ] {
            let text = respelled(Language::of_path(path), source).unwrap();
            assert_eq!(text, format!("{expected}{comment}"), "{source}");
        }
        assert_eq!(respelled(Language::Other, "1"), None);
    }
}
