//! Question 10: what does a file define at the top level for others, and which of it has a literal
//! value?

use std::collections::BTreeSet;

use super::language::{Class, Language};
use super::literal::{class, inside};
use super::top_level::parses;
use super::tree::{Node, Tree};

/// A top-level name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopLevelName {
    pub name: String,
    /// Whether others may use it, by the rules or conventions of the language.
    pub public: bool,
    pub line: u32,
    /// The value of a constant, if it is a single number, boolean or string.
    pub value: Option<Value>,
    pub is_constant: bool,
}

/// A literal value, independent of its notation.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(f64),
    Truth(bool),
    Text(String),
}

impl Eq for Value {}

/// Every top-level function, type and constant.
pub fn surface(language: Language, source: &str) -> Vec<TopLevelName> {
    let Some(tree) = Tree::parse(language, source).filter(|tree| !tree.is_broken()) else {
        return Vec::new();
    };
    let (listed, exports) = (listed(&tree), exports(&tree));
    let mut all = Vec::new();
    for node in tree.root().named_children() {
        let exported = node.kind() == "export_statement";
        let node = node.child("declaration").filter(|_| exported).unwrap_or(node);
        let node = node
            .child("definition")
            .filter(|_| node.kind() == "decorated_definition")
            .unwrap_or(node);
        for (name, value, is_constant) in declared(node) {
            let text = name.text();
            let public = match language {
                Language::Python => match &listed {
                    Some(names) => names.contains(text),
                    None => !text.starts_with('_'),
                },
                Language::Rust => node
                    .children()
                    .any(|one| one.kind() == "visibility_modifier" && one.text() == "pub"),
                Language::JavaScript | Language::TypeScript | Language::Tsx => {
                    exported || exports.contains(text)
                }
                Language::Go => text.starts_with(char::is_uppercase),
                Language::Java | Language::Other => false,
            };
            let value = value.and_then(written);
            all.push(TopLevelName {
                name: text.to_owned(),
                public,
                line: name.line(),
                value,
                is_constant,
            });
        }
    }
    all
}

/// The source with these top-level names made public, where only the word for it is missing. `None`
/// if nothing is to do.
pub fn published(language: Language, source: &str, names: &[String]) -> Option<String> {
    let word = match language {
        Language::Rust => "pub ",
        Language::JavaScript | Language::TypeScript | Language::Tsx => "export ",
        Language::Python | Language::Go | Language::Java | Language::Other => return None,
    };
    let hidden: BTreeSet<u32> = surface(language, source)
        .into_iter()
        .filter(|given| !given.public && names.contains(&given.name))
        .map(|given| given.line)
        .collect();
    let text: String = (1..)
        .zip(source.split_inclusive('\n'))
        .flat_map(|(number, line)| [if hidden.contains(&number) { word } else { "" }, line])
        .collect();
    (!hidden.is_empty() && parses(language, &text)).then_some(text)
}

/// What users of a name can rely on, in addition to the name itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The type or function; `Type.method` for a method.
    pub owner: String,
    pub kind: PromiseKind,
    pub line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromiseKind {
    Method(String),
    /// Python: a parameter that callers pass by name, because it has a default or is keyword-only.
    Parameter(String),
    /// Rust: a derived trait of a type.
    Derived(String),
}

/// The promises of the public functions and types of a file; and, for each function, whether it
/// accepts any name.
pub fn promises(language: Language, source: &str) -> Vec<Promise> {
    let Some(tree) = Tree::parse(language, source).filter(|tree| !tree.is_broken()) else {
        return Vec::new();
    };
    let public: BTreeSet<String> = surface(language, source)
        .into_iter()
        .filter(|given| given.public)
        .map(|given| given.name)
        .collect();
    let mut all = Vec::new();
    for node in tree.nodes() {
        let (owner, method) = match owner_of(language, node) {
            Some(owner) => (owner.to_owned(), named(node)),
            None => (named(node).map(|name| name.text().to_owned()).unwrap_or_default(), None),
        };
        if !public.contains(&owner) {
            continue;
        }
        let mut promise = |owner: &str, kind: PromiseKind| {
            all.push(Promise { owner: owner.to_owned(), kind, line: node.line() });
        };
        let called = method.map_or(owner.clone(), |name| format!("{owner}.{}", name.text()));
        if let Some(name) = method.filter(|name| is_public_method(language, node, name.text())) {
            promise(&owner, PromiseKind::Method(name.text().to_owned()));
        }
        let is_seen = method.is_none_or(|name| is_public_method(language, node, name.text()));
        if is_seen && node.kind() == "function_definition" && language == Language::Python {
            for name in given_by_name(node) {
                promise(&called, PromiseKind::Parameter(name));
            }
        }
        if method.is_none() && node.is(&["struct_item", "enum_item"]) {
            for name in derived(node) {
                promise(&owner, PromiseKind::Derived(name));
            }
        }
    }
    all
}

/// The type that a method belongs to.
fn owner_of<'t>(language: Language, node: Node<'t>) -> Option<&'t str> {
    match language {
        Language::Python if node.kind() == "function_definition" => {
            let mut above =
                node.ancestors().filter(|one| !one.is(&["block", "decorated_definition"]));
            above
                .next()
                .filter(|one| one.kind() == "class_definition")
                .and_then(named)
                .map(Node::text)
        }
        Language::Rust if node.kind() == "function_item" => {
            let home = node.ancestors().nth(1).filter(|one| one.kind() == "impl_item")?;
            home.child("type")
                .filter(|_| home.child("trait").is_none())
                .map(|name| name.text().split('<').next().unwrap_or_default())
        }
        Language::Go if node.kind() == "method_declaration" => {
            let receiver = node.child("receiver")?.text();
            let name = receiver.trim_matches(['(', ')']).rsplit([' ', '*']).next()?;
            Some(name.split('[').next().unwrap_or(name))
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx
            if node.kind() == "method_definition" =>
        {
            let home = node.ancestors().nth(1).filter(|one| one.kind().contains("class"))?;
            named(home).map(Node::text)
        }
        Language::Python
        | Language::Rust
        | Language::Go
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Java
        | Language::Other => None,
    }
}

fn is_public_method(language: Language, node: Node<'_>, name: &str) -> bool {
    match language {
        Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let word =
                |one: Node<'_>| one.kind() == "accessibility_modifier" && one.text() != "public";
            !name.starts_with(['_', '#']) && !node.children().any(word)
        }
        Language::Rust => {
            node.children().any(|one| one.kind() == "visibility_modifier" && one.text() == "pub")
        }
        Language::Go => name.starts_with(char::is_uppercase),
        Language::Java | Language::Other => false,
    }
}

/// Parameters with a default or after a star; and `**` if any name is accepted.
fn given_by_name(function: Node<'_>) -> Vec<String> {
    let (mut names, mut after_star) = (Vec::new(), false);
    for one in function.child("parameters").into_iter().flat_map(Node::named_children) {
        let name = match one.kind() {
            "default_parameter" | "typed_default_parameter" => one.child("name"),
            "identifier" if after_star => Some(one),
            "typed_parameter" if after_star => one.named_children().next(),
            _ => None,
        };
        after_star |= matches!(one.kind(), "keyword_separator" | "list_splat_pattern")
            || one.text().starts_with('*');
        if one.text().starts_with("**") {
            names.push("**".to_owned());
        }
        // Parameters before a slash cannot be passed by name.
        if one.kind() == "positional_separator" {
            names.clear();
        }
        names.extend(
            name.map(|name| name.text().to_owned()).filter(|name| !name.starts_with(['_', '*'])),
        );
    }
    names
}

fn derived(item: Node<'_>) -> Vec<String> {
    let attributes = item
        .before()
        .take_while(|one| one.is(&["attribute_item", "line_comment", "block_comment"]));
    let derives = attributes.filter(|one| one.text().starts_with("#[derive("));
    let names = derives.flat_map(|one| {
        let inside = one.text().trim_start_matches("#[derive(").trim_end_matches(")]");
        inside
            .split(',')
            .map(|name| name.rsplit("::").next().unwrap_or(name).trim())
            .collect::<Vec<_>>()
    });
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The exports of a Python module: `__all__`, if it is a literal in one place.
fn listed<'t>(tree: &'t Tree<'_>) -> Option<BTreeSet<&'t str>> {
    let mut named =
        tree.nodes().filter(|node| node.kind() == "identifier" && node.text() == "__all__");
    let (Some(name), None) = (named.next(), named.next()) else { return None };
    let list = name.parent()?.child("right").filter(|list| list.is(&["list", "tuple"]))?;
    let names = list.named_children().filter(|one| one.kind() != "comment");
    names.map(|one| tree.source.get(inside(one)).filter(|_| one.kind() == "string")).collect()
}

/// The names that the export lists of a JavaScript module contain.
fn exports<'t>(tree: &'t Tree<'_>) -> BTreeSet<&'t str> {
    let lists = tree.nodes().filter(|node| node.kind() == "export_specifier");
    lists.filter_map(|one| one.child("name")).map(Node::text).collect()
}

/// The names in a source, without comments and strings.
pub fn identifiers(language: Language, source: &str) -> BTreeSet<String> {
    let Some(tree) = Tree::parse(language, source) else { return BTreeSet::new() };
    let names = tree.nodes().filter(|node| node.is_leaf() && node.kind().contains("identifier"));
    names.map(|node| node.text().to_owned()).collect()
}

/// The names that a top-level node declares, with the value, and whether it is a constant
/// declaration.
fn declared(node: Node<'_>) -> Vec<(Node<'_>, Option<Node<'_>>, bool)> {
    let inner = |kinds: &'static [&'static str], constant: bool| {
        let specs = node.subtree().filter(move |one| one.is(kinds));
        specs
            .filter_map(move |one| Some((named(one)?, one.child("value"), constant)))
            .collect::<Vec<_>>()
    };
    match node.kind() {
        "expression_statement" => {
            let assigned = node.named_children().find(|one| one.kind() == "assignment");
            let name = assigned
                .and_then(|one| one.child("left"))
                .filter(|name| name.kind() == "identifier");
            name.map(|name| (name, assigned.and_then(|one| one.child("right")), true))
                .into_iter()
                .collect()
        }
        "lexical_declaration" => {
            let own = node.named_children().filter(|one| one.kind() == "variable_declarator");
            own.filter_map(|one| Some((named(one)?, one.child("value"), true))).collect()
        }
        "const_declaration" => inner(&["const_spec"], true)
            .into_iter()
            .map(|(name, value, constant)| {
                let mut parts = value.into_iter().flat_map(Node::named_children);
                let only = parts.next().filter(|_| parts.next().is_none());
                (name, only, constant)
            })
            .collect(),
        "type_declaration" => inner(&["type_spec", "type_alias"], false),
        "const_item" | "static_item" => {
            named(node).map(|name| (name, node.child("value"), true)).into_iter().collect()
        }
        "function_definition"
        | "class_definition"
        | "function_item"
        | "struct_item"
        | "enum_item"
        | "trait_item"
        | "type_item"
        | "union_item"
        | "function_declaration"
        | "class_declaration"
        | "generator_function_declaration"
        | "abstract_class_declaration"
        | "enum_declaration"
        | "interface_declaration"
        | "type_alias_declaration" => {
            named(node).map(|name| (name, None, false)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn named(node: Node<'_>) -> Option<Node<'_>> {
    node.child("name").filter(|name| name.kind().contains("identifier"))
}

/// A value that is a single literal. Strings of one word only, because longer ones are for people.
fn written(node: Node<'_>) -> Option<Value> {
    match class(node)? {
        Class::Number => {
            let text: String = node.text().chars().filter(|letter| *letter != '_').collect();
            text.parse().ok().map(Value::Number)
        }
        Class::Text => {
            let text = node.tree().source.get(inside(node))?;
            (!text.contains(char::is_whitespace) && !text.contains('\\'))
                .then(|| Value::Text(text.to_owned()))
        }
        Class::True => Some(Value::Truth(true)),
        Class::False => Some(Value::Truth(false)),
        Class::Null => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_read() {
        for (path, source, told) in [
            (
                "a.py",
                "class C:\n    def m(self, a, b=1): pass\n    @property\n    def p(self): pass\n    def _q(self, x=1): pass\n",
                "C:m C.m:b= C:p",
            ),
            (
                "a.py",
                "def f(a, /, b, c=1, *, d: int, **more): pass\ndef _g(x=1): pass\n",
                "f:c= f:d= f:**=",
            ),
            ("a.py", "class _C:\n    def m(self): pass\n", ""),
            (
                "a.rs",
                "/// A\n#[derive(Clone, std::hash::Hash)]\npub struct A;\n#[derive(Debug)]\nstruct B;\nimpl A {\n    pub fn f(&self) {}\n    fn g() {}\n}\nimpl Drop for A {\n    fn drop(&mut self) {}\n}\n",
                "A+Clone A+Hash A:f",
            ),
            (
                "a.go",
                "package a\n\ntype T struct{}\n\nfunc (t *T) F() {}\n\nfunc (t T) g() {}\n",
                "T:F",
            ),
            (
                "a.ts",
                "export class A {\n  f() {}\n  #g() {}\n  private h() {}\n}\nclass B { f() {} }\n",
                "A:f",
            ),
        ] {
            let tell = |one: &Promise| match &one.kind {
                PromiseKind::Method(name) => format!("{}:{name}", one.owner),
                PromiseKind::Parameter(name) => format!("{}:{name}=", one.owner),
                PromiseKind::Derived(name) => format!("{}+{name}", one.owner),
            };
            let mut seen: Vec<String> =
                promises(Language::of_path(path), source).iter().map(tell).collect();
            let mut told: Vec<&str> = told.split(' ').filter(|one| !one.is_empty()).collect();
            seen.sort();
            told.sort_unstable();
            assert_eq!(seen, told, "{path} {source}");
        }
    }

    #[test]
    fn the_outermost_level_is_read() {
        for (path, source, told) in [
            (
                "a.py",
                "A = 1_000\n_B = 2\n@x\ndef f():\n    def g(): pass\nclass C:\n    D = 3\n",
                "+A=1000 _B=2 +f +C",
            ),
            (
                "a.py",
                "__all__ = [\n    \"f\",  # here\n    \"_g\",\n]\ndef f(): pass\ndef _g(): pass\nclass C: pass\n",
                "__all__ +f +_g C",
            ),
            (
                "a.py",
                "__all__ = [\"f\"]\n__all__ += more\ndef f(): pass\nclass C: pass\n",
                "__all__ +f +C",
            ),
            (
                "a.rs",
                "pub fn f() {}\nfn g() {}\npub(crate) fn h() {}\npub const A: u8 = 3;\n",
                "+f g h +A=3",
            ),
            (
                "a.go",
                "package a\n\nconst (\n\tA = 1\n\tb = 2\n)\n\nfunc F() {}\n\ntype T struct{}\n",
                "+A=1 b=2 +F +T",
            ),
            (
                "a.ts",
                "export const A = 'x';\nconst b = true;\nexport function f() {}\n",
                "+A=x b=true +f",
            ),
        ] {
            let tell = |one: &TopLevelName| {
                let value = match &one.value {
                    Some(Value::Number(number)) => format!("={number}"),
                    Some(Value::Truth(truth)) => format!("={truth}"),
                    Some(Value::Text(text)) => format!("={text}"),
                    None => String::new(),
                };
                format!("{}{}{value}", if one.public { "+" } else { "" }, one.name)
            };
            let seen: Vec<String> =
                surface(Language::of_path(path), source).iter().map(tell).collect();
            assert_eq!(seen.join(" "), told, "{path}");
        }
    }
}
