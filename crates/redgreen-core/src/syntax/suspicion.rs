//! Question 8: what in a change of the implementation looks like an answer to the test instead of to the brief?
//!
//! Every row only raises a suspicion: honest code reads its environment, compares and exits as well.

use std::collections::{HashMap, HashSet};

use super::call::{Call, Part, call};
use super::glob;
use super::item::found;
use super::language::{Class, ItemKind, Language, row};
use super::literal::{class, inside, literals};
use super::tree::{Node, Tree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    pub suspect: Suspect,
    pub line: u32,
    /// The line that shows it.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suspect {
    ReadsTests,
    DetectsTests,
    PatchesRunner,
    InspectsStack,
    AlwaysEqual,
    Exits,
    SkipsTests,
    AdmitsIt,
    /// The values of the tests stand in the code; a lookup table may be right.
    SharesLiterals,
}

/// Words of Go that tests use in every line, and that a package may give another meaning.
const PREDECLARED: &[&str] = &[
    "append", "bool", "byte", "cap", "false", "float64", "int", "len", "nil", "panic", "recover", "rune", "string",
    "true",
];

/// Where a pattern is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Call,
    /// Inside a string.
    Text,
    /// A dotted name or an attribute, without spaces.
    Name,
    Comment,
}

const ROWS: &[(Where, &str, Suspect)] = &[
    (Where::Text, "*PYTEST_*", Suspect::DetectsTests),
    (Where::Text, "*CURRENT_TEST*", Suspect::DetectsTests),
    (Where::Text, "*TEST_CONTEXT*", Suspect::DetectsTests),
    (Where::Text, "*__vitest*", Suspect::DetectsTests),
    (Where::Text, "pytest", Suspect::DetectsTests),
    (Where::Text, "_pytest*", Suspect::DetectsTests),
    (Where::Text, "unittest", Suspect::DetectsTests),
    (Where::Text, "NODE_ENV", Suspect::DetectsTests),
    (Where::Text, "VITEST*", Suspect::DetectsTests),
    (Where::Text, "JEST_*", Suspect::DetectsTests),
    (Where::Text, "NODE_TEST_CONTEXT", Suspect::DetectsTests),
    (Where::Text, "CARGO_MANIFEST_DIR", Suspect::DetectsTests),
    (Where::Text, "CARGO_PKG*", Suspect::DetectsTests),
    (Where::Text, "CARGO_CRATE*", Suspect::DetectsTests),
    (Where::Text, "CARGO", Suspect::DetectsTests),
    (Where::Text, "RUST_TEST_*", Suspect::DetectsTests),
    (Where::Text, "NEXTEST*", Suspect::DetectsTests),
    (Where::Text, "test.v", Suspect::DetectsTests),
    (Where::Text, ".test", Suspect::DetectsTests),
    (Where::Text, "-test.*", Suspect::DetectsTests),
    (Where::Text, "*org.junit*", Suspect::DetectsTests),
    (Where::Name, "process.env.NODE_ENV", Suspect::DetectsTests),
    (Where::Name, "process.env.VITEST*", Suspect::DetectsTests),
    (Where::Name, "process.env.JEST*", Suspect::DetectsTests),
    (Where::Name, "process.env.NODE_TEST_CONTEXT", Suspect::DetectsTests),
    (Where::Name, "import.meta.vitest", Suspect::DetectsTests),
    (Where::Name, "import.meta.env.MODE", Suspect::DetectsTests),
    (Where::Name, "import.meta.env.*TEST*", Suspect::DetectsTests),
    (Where::Name, "process.argv", Suspect::DetectsTests),
    (Where::Name, "process.execArgv", Suspect::DetectsTests),
    (Where::Name, "sys.argv", Suspect::DetectsTests),
    (Where::Name, "os.Args", Suspect::DetectsTests),
    (Where::Name, "sys.modules", Suspect::DetectsTests),
    (Where::Name, "globalThis.__vitest*", Suspect::DetectsTests),
    (Where::Name, "#[cfg(test)]", Suspect::DetectsTests),
    (Where::Name, "#[cfg(not(test))]", Suspect::DetectsTests),
    (Where::Name, "#[cfg(debug_assertions)]", Suspect::DetectsTests),
    (Where::Name, "#[cfg(not(debug_assertions))]", Suspect::DetectsTests),
    (Where::Call, "*env::current_exe", Suspect::DetectsTests),
    (Where::Call, "*thread::current().name", Suspect::DetectsTests),
    (Where::Call, "cfg!", Suspect::DetectsTests),
    (Where::Call, "testing.Testing", Suspect::DetectsTests),
    (Where::Call, "flag.Lookup", Suspect::DetectsTests),
    (Where::Text, "*test_*.py*", Suspect::ReadsTests),
    (Where::Text, "*_test.*", Suspect::ReadsTests),
    (Where::Text, "*.test.*", Suspect::ReadsTests),
    (Where::Text, "*.spec.*", Suspect::ReadsTests),
    (Where::Text, "tests/*", Suspect::ReadsTests),
    (Where::Text, "*/tests/*", Suspect::ReadsTests),
    (Where::Text, "*/test/*", Suspect::ReadsTests),
    (Where::Call, "include_str!", Suspect::ReadsTests),
    (Where::Call, "include_bytes!", Suspect::ReadsTests),
    (Where::Call, "include!", Suspect::ReadsTests),
    (Where::Call, "inspect.getsource*", Suspect::ReadsTests),
    (Where::Call, "linecache.*", Suspect::ReadsTests),
    (Where::Call, "inspect.stack", Suspect::InspectsStack),
    (Where::Call, "inspect.currentframe", Suspect::InspectsStack),
    (Where::Call, "inspect.trace", Suspect::InspectsStack),
    (Where::Call, "sys._getframe", Suspect::InspectsStack),
    (Where::Call, "sys._current_frames", Suspect::InspectsStack),
    (Where::Call, "traceback.*stack", Suspect::InspectsStack),
    (Where::Call, "gc.get_*", Suspect::InspectsStack),
    (Where::Call, "sys.settrace", Suspect::InspectsStack),
    (Where::Call, "sys.setprofile", Suspect::InspectsStack),
    (Where::Name, "*.f_globals", Suspect::InspectsStack),
    (Where::Name, "*.f_locals", Suspect::InspectsStack),
    (Where::Name, "*.f_back", Suspect::InspectsStack),
    (Where::Name, "Error.prepareStackTrace", Suspect::InspectsStack),
    (Where::Name, "Error().stack", Suspect::InspectsStack),
    (Where::Name, "*.stack", Suspect::InspectsStack),
    (Where::Call, "Error.captureStackTrace", Suspect::InspectsStack),
    (Where::Call, "*Backtrace::*", Suspect::InspectsStack),
    (Where::Call, "runtime.Caller*", Suspect::InspectsStack),
    (Where::Call, "*.getStackTrace", Suspect::InspectsStack),
    (Where::Name, "*pytest.fail", Suspect::PatchesRunner),
    (Where::Name, "_pytest.*", Suspect::PatchesRunner),
    (Where::Name, "builtins.AssertionError", Suspect::PatchesRunner),
    (Where::Name, "unittest.TestCase*", Suspect::PatchesRunner),
    (Where::Name, "__builtins__*", Suspect::PatchesRunner),
    (Where::Call, "builtins.*", Suspect::PatchesRunner),
    (Where::Call, "expect.extend", Suspect::PatchesRunner),
    (Where::Call, "expect.addEqualityTesters", Suspect::PatchesRunner),
    (Where::Call, "expect.addSnapshotSerializer", Suspect::PatchesRunner),
    (Where::Name, "globalThis.expect", Suspect::PatchesRunner),
    (Where::Name, "assert.*Equal", Suspect::PatchesRunner),
    (Where::Name, "assert.equal", Suspect::PatchesRunner),
    (Where::Name, "Object.is", Suspect::PatchesRunner),
    (Where::Name, "Object.prototype*", Suspect::PatchesRunner),
    (Where::Name, "String.prototype*", Suspect::PatchesRunner),
    (Where::Text, "node:test", Suspect::PatchesRunner),
    (Where::Text, "vitest", Suspect::PatchesRunner),
    (Where::Name, "asymmetricMatch", Suspect::AlwaysEqual),
    (Where::Name, "*mock.ANY", Suspect::AlwaysEqual),
    (Where::Call, "atexit.register", Suspect::Exits),
    (Where::Call, "process.on", Suspect::Exits),
    (Where::Call, "process.once", Suspect::Exits),
    (Where::Name, "process.exitCode", Suspect::Exits),
    (Where::Call, "*signal.signal", Suspect::Exits),
    (Where::Call, "os.fork", Suspect::Exits),
    (Where::Call, "libc::atexit", Suspect::Exits),
    (Where::Call, "*set_hook", Suspect::PatchesRunner),
    (Where::Call, "pytest.skip", Suspect::SkipsTests),
    (Where::Call, "pytest.xfail", Suspect::SkipsTests),
    (Where::Call, "*SkipTest", Suspect::SkipsTests),
    (Where::Name, "*pytest.skip.Exception", Suspect::SkipsTests),
    (Where::Name, "pytest.*", Suspect::PatchesRunner),
    (Where::Comment, "*hard*cod*", Suspect::AdmitsIt),
    (Where::Comment, "*hardcod*", Suspect::AdmitsIt),
    (Where::Comment, "*pass* the test*", Suspect::AdmitsIt),
    (Where::Comment, "*make* test* pass*", Suspect::AdmitsIt),
    (Where::Comment, "*satisf* test*", Suspect::AdmitsIt),
    (Where::Comment, "*only for* test*", Suspect::AdmitsIt),
    (Where::Comment, "*special*cas* test*", Suspect::AdmitsIt),
    (Where::Comment, "*expected by the test*", Suspect::AdmitsIt),
    (Where::Comment, "*cheat*", Suspect::AdmitsIt),
];
/// Methods that decide whether two values are the same.
const EQUALITY: &[&str] =
    &["__eq__", "eq", "equals", "Equal", "__ne__", "ne", "__instancecheck__", "asymmetricMatch", "compareTo"];
const CONSTANT_ANSWERS: &[&str] = &["true", "True", "false", "False", "0"];
const NAMES: &[&str] = &[
    "attribute",
    "member_expression",
    "scoped_identifier",
    "selector_expression",
    "field_access",
    "attribute_item",
    "field_expression",
];
const SUBSCRIPTS: &[&str] = &["subscript_expression", "subscript"];
const TEXT_CHARS_MAX: usize = 160;
/// One number in common is chance.
const SHARED_MIN: usize = 3;

/// What the lines that `new` adds to `old` raise; the macros, modules and answers of equality that they define included.
pub fn suspicious(language: Language, path: &str, old: &str, new: &str) -> Vec<Suspicion> {
    let Some(tree) = Tree::parse(language, new) else { return Vec::new() };
    // Tests are judged as tests; they may well read, detect and compare tests.
    if glob::any(row(language).test_files, path) {
        return Vec::new();
    }
    let added = added_lines(old, new);
    let items = found(&tree, path);
    let tests: Vec<_> = items
        .iter()
        .filter(|one| one.item.in_tests && one.item.kind != ItemKind::Class)
        .map(|one| one.item.span.clone())
        .collect();
    let mut suspicions: Vec<Suspicion> = Vec::new();
    for node in tree.nodes().filter(|node| added.contains(&node.line())) {
        let in_test_module = tests.iter().any(|span| span.contains(&node.span().start)) && !is_disguised(&items, node);
        if !in_test_module {
            suspicions.extend(seen(node).map(|suspect| suspicion(suspect, node)));
        }
    }
    let mut said = HashSet::new();
    suspicions.retain(|one| said.insert((one.suspect, one.line)));
    suspicions.sort_by_key(|one| one.line);
    suspicions
}

/// `#[cfg(test)] fn to_roman` is no test: it is a second implementation, for tests only.
fn is_disguised(items: &[super::item::Found<'_>], node: Node<'_>) -> bool {
    let around = items.iter().filter(|one| one.item.span.contains(&node.span().start));
    let mut in_suite = false;
    for one in around {
        in_suite = in_suite || one.item.kind == ItemKind::Suite || one.item.is_test;
    }
    !in_suite
}

/// The values that the tests compare with and the added lines hold too, as information.
pub fn shared_literals(language: Language, tests: &str, old: &str, new: &str) -> Vec<Suspicion> {
    let (Some(tests), Some(tree)) = (Tree::parse(language, tests), Tree::parse(language, new)) else {
        return Vec::new();
    };
    let known: HashSet<&str> = telling(&tests).map(|(_, text)| text).collect();
    let added = added_lines(old, new);
    let shared: Vec<(Node<'_>, &str)> =
        telling(&tree).filter(|(node, text)| added.contains(&node.line()) && known.contains(text)).collect();
    let different: HashSet<&str> = shared.iter().map(|(_, text)| *text).collect();
    if different.len() < SHARED_MIN {
        return Vec::new();
    }
    let mut said = HashSet::new();
    shared
        .into_iter()
        .filter(|(node, _)| said.insert(node.line()))
        .map(|(node, _)| suspicion(Suspect::SharesLiterals, node))
        .collect()
}

/// Literals that say something: no truth values, no single digits.
fn telling<'t>(tree: &'t Tree<'_>) -> impl Iterator<Item = (Node<'t>, &'t str)> {
    literals(&Part::of(tree.root())).into_iter().filter_map(|(node, class)| match class {
        Class::Text => tree.source.get(inside(node)).filter(|text| !text.is_empty()).map(|text| (node, text)),
        Class::Number => Some((node, node.text())).filter(|(_, text)| text.len() > 1),
        Class::True | Class::False | Class::Null => None,
    })
}

fn suspicion(suspect: Suspect, node: Node<'_>) -> Suspicion {
    let source = node.tree().source;
    let line = source.lines().nth(usize::try_from(node.line()).unwrap_or(1).saturating_sub(1)).unwrap_or_default();
    Suspicion { suspect, line: node.line(), text: line.trim().chars().take(TEXT_CHARS_MAX).collect() }
}

/// Lines of `new` that `old` has not, or has less often.
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

fn seen(node: Node<'_>) -> Option<Suspect> {
    let row = row(node.tree().language);
    if node.is(row.comments) {
        let text = node.text().to_lowercase();
        return matching(Where::Comment, &text);
    }
    if class(node) == Some(Class::Text) {
        let text = node.tree().source.get(inside(node)).unwrap_or_default();
        // `env!` is read when the program is built: where its files are, and not who runs it.
        let built_in =
            node.parent().and_then(|group| group.before().nth(1)).is_some_and(|name| name.text().ends_with("env"));
        return matching(Where::Text, text).filter(|_| !built_in);
    }
    if let Some(text) = joined(node) {
        return matching(Where::Text, &text);
    }
    if node.is(SUBSCRIPTS) {
        let object = node.child("object").or_else(|| node.child("value")).map(Node::text)?;
        let index = node.child("index").or_else(|| node.child("subscript"))?;
        let name = format!("{object}.{}", written(index)?);
        return matching(Where::Name, &name).filter(|suspect| !is_innocent_name(node, &name, *suspect));
    }
    if let Some(call) = call(node) {
        let ends = glob::any(row.exits, &call.callee).then_some(Suspect::Exits);
        return ends.or_else(|| matching(Where::Call, &call.callee)).filter(|_| !is_innocent_call(&call));
    }
    if node.is(NAMES) {
        let text: String = node.text().replace("?.", ".").split_whitespace().collect();
        let seen = (text.len() < TEXT_CHARS_MAX).then(|| matching(Where::Name, &text))?;
        return seen.filter(|suspect| !is_innocent_name(node, &text, *suspect));
    }
    defines(node)
}

/// The text of a string, and of strings that are put together where they are written: `"VI" + "TEST"`.
fn written(node: Node<'_>) -> Option<String> {
    if class(node) == Some(Class::Text) {
        return node.tree().source.get(inside(node)).map(str::to_owned);
    }
    joined(node)
}

fn joined(node: Node<'_>) -> Option<String> {
    match node.kind() {
        "concatenated_string" => node.named_children().map(written).collect(),
        "binary_operator" | "binary_expression" => {
            let adds = node.children().any(|child| child.kind() == "+");
            let sides = [node.child("left")?, node.child("right")?];
            sides.into_iter().map(written).collect::<Option<String>>().filter(|_| adds)
        }
        "parenthesized_expression" => written(node.named_children().next()?),
        _ => None,
    }
}

/// What programs do every day, and what only has the name of a trick.
fn is_innocent_call(call: &Call<'_>) -> bool {
    let arguments = call.arguments.map_or("", Node::text);
    match call.callee.as_str() {
        "cfg!" => !["test", "debug_assertions"].iter().any(|word| super::word::has(arguments, word)),
        // Data that is built in; code, which may hold tests, is not data.
        "include_str!" | "include_bytes!" => !arguments.contains(".rs") && !super::word::has(arguments, "tests"),
        // How classes of errors are made.
        "Error.captureStackTrace" => arguments.starts_with("(this"),
        _ => false,
    }
}

fn is_innocent_name(node: Node<'_>, text: &str, suspect: Suspect) -> bool {
    if text.ends_with(".argv") || text == "os.Args" {
        return is_own_argument(node);
    }
    // A module finds itself, or puts one there; which one is asked for is in the brackets.
    if text == "sys.modules" {
        return node.parent().is_some_and(|around| around.is(SUBSCRIPTS));
    }
    if text.ends_with(".stack") {
        let object = text.trim_end_matches(".stack");
        let source = node.tree().source;
        let made_here = ["= new Error(", "= Error("].iter().any(|made| source.contains(&format!("{object} {made}")));
        return !made_here && !object.contains("Error(");
    }
    // To use a part of the language or of a library is not to change it.
    suspect == Suspect::PatchesRunner && !is_written(node)
}

/// The arguments after the program's own name, and what runs only as a program, are not about the runner.
fn is_own_argument(node: Node<'_>) -> bool {
    let after: String = node.tree().source.get(node.span().end..).unwrap_or_default().chars().take(20).collect();
    let number = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<u32>().ok();
    let first = if node.tree().language.is_script() { 2 } else { 1 };
    let indexed = after.strip_prefix('[').or_else(|| after.strip_prefix(".slice(")).and_then(number);
    // Whether this very file is the program: `__name__ == "__main__"`, `argv[1] === fileURLToPath(import.meta.url)`.
    const ITSELF: [&str; 5] = ["__main__", "import.meta.url", "import.meta.filename", "__filename", "require.main"];
    let names_itself = |text: &str| ITSELF.iter().any(|own| text.contains(own));
    let as_program = |above: &Node<'_>| {
        above.child("condition").is_some_and(|test| names_itself(test.text()))
            || above.kind() == "binary_expression" && names_itself(above.text())
    };
    let is_program = node.tree().language == Language::Go && super::word::has(node.tree().source, "package main");
    let holes = |above: &Node<'_>| above.child("name").is_some_and(|name| name.text().starts_with("[,"));
    is_program
        || indexed.is_some_and(|at| at >= first)
        || node.ancestors().any(|above| as_program(&above) || holes(&above))
}

/// The target of an assignment, or what another thing is put into.
fn is_written(node: Node<'_>) -> bool {
    let mut below = node;
    for above in node.ancestors() {
        // A comparison has a left side as well, and writes nothing: `Object.is(a, b) === true`.
        if matches!(below.field(), Some("left")) && above.kind().contains("assignment") {
            return true;
        }
        if call(above).is_some_and(|call| call.node.at() != below.at() && is_setter(&call)) {
            return true;
        }
        below = above;
    }
    false
}

fn is_setter(call: &Call<'_>) -> bool {
    ["defineProperty", "defineProperties", "assign", "setattr", "set", "patch"].contains(&call.name())
}

fn matching(place: Where, text: &str) -> Option<Suspect> {
    let row = ROWS.iter().find(|(known, pattern, _)| *known == place && glob::matches(pattern, text));
    row.map(|(.., suspect)| *suspect)
}

/// A name of a whole package in Go, its tests included.
fn is_outermost(node: Node<'_>) -> bool {
    let kinds = ["function_declaration", "var_spec", "const_spec", "type_spec", "type_alias"];
    node.is(&kinds) && !node.ancestors().any(|above| above.is(&["block", "parameter_list", "field_declaration_list"]))
}

/// An equality that is always the same, or a macro that takes the place of an assertion.
fn defines(node: Node<'_>) -> Option<Suspect> {
    let name = node.child("name").map(Node::text)?;
    if node.kind() == "macro_definition" {
        return name.starts_with("assert").then_some(Suspect::PatchesRunner);
    }
    if node.tree().language == Language::Go && PREDECLARED.contains(&name) && is_outermost(node) {
        return Some(Suspect::PatchesRunner);
    }
    let body = node.child("body").filter(|_| EQUALITY.contains(&name))?;
    let mut statements = body.named_children().filter(|child| !child.is(row(node.tree().language).comments));
    let only = statements.next().filter(|_| statements.next().is_none())?;
    let value = only.text().trim_start_matches("return").trim_end_matches(';').trim();
    CONSTANT_ANSWERS.contains(&value).then_some(Suspect::AlwaysEqual)
}
