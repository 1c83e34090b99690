//! JavaScript and TypeScript, with node:test, vitest, jest, mocha and chai.

use super::Marker::{Only, Skip, Todo, Xfail};
use super::assertion::Meaning::{Differs, Equal, Fail, Falsity, Matcher, Other, Throws, Truth};
use super::language::{CallKind, Class, Decorations, ItemKind, Place, Row};

/// The calls that declare tests and suites, and the words that may follow them after a dot.
pub(super) const CASES: &[&str] =
    &["it", "test", "xit", "fit", "xtest", "t.test", "specify", "Deno.test", "bench"];
pub(super) const SUITES: &[&str] = &["describe", "suite", "context", "xdescribe", "fdescribe"];
pub(super) const WORDS: &[&str] = &[
    "only",
    "skip",
    "todo",
    "fails",
    "failing",
    "concurrent",
    "sequential",
    "each()",
    "each",
    "for()",
    "for",
    "skipIf()",
    "runIf()",
    "serial",
    "shuffle",
    "fixme",
];

pub(super) const ROW: Row = Row {
    comments: &["comment", "html_comment"],
    identifiers: &[
        "identifier",
        "shorthand_property_identifier",
        "shorthand_property_identifier_pattern",
    ],
    literals: &[
        ("string", Class::Text),
        ("template_string", Class::Text),
        ("number", Class::Number),
        ("true", Class::True),
        ("false", Class::False),
        ("null", Class::Null),
        ("undefined", Class::Null),
    ],
    interpolations: &["template_substitution"],
    value_words: &[
        "new", "Map", "Set", "Date", "Array", "Object", "Number", "BigInt", "String", "of", "from",
        "as", "const",
    ],
    calls: &[
        CallKind {
            kind: "call_expression",
            callee: &["function"],
            arguments: &["arguments"],
            mark: "",
        },
        CallKind {
            kind: "new_expression",
            callee: &["constructor"],
            arguments: &["arguments"],
            mark: "",
        },
    ],
    items: &[
        ("function_declaration", ItemKind::Function, "name"),
        ("generator_function_declaration", ItemKind::Function, "name"),
        ("method_definition", ItemKind::Function, "name"),
        ("variable_declarator", ItemKind::Function, "name"),
        ("class_declaration", ItemKind::Class, "name"),
        ("abstract_class_declaration", ItemKind::Class, "name"),
    ],
    decorations: Decorations::None,
    separator: " > ",
    closures: &["arrow_function", "function_expression", "generator_function"],
    test_files: &[
        "*.test.*",
        "*.spec.*",
        "*-test.*",
        "*_test.*",
        "test/*",
        "tests/*",
        "*/test/*",
        "*/tests/*",
        "*__tests__/*",
    ],
    test_names: &[],
    test_classes: &[],
    test_decorations: &[],
    test_scopes: &["import.meta.vitest"],
    markers: &[
        (Place::Word, "skip", Skip),
        (Place::Word, "skipIf()", Skip),
        (Place::Word, "runIf()", Skip),
        (Place::Word, "xit", Skip),
        (Place::Word, "xtest", Skip),
        (Place::Word, "xdescribe", Skip),
        (Place::Word, "fixme", Skip),
        (Place::Word, "only", Only),
        (Place::Word, "fit", Only),
        (Place::Word, "fdescribe", Only),
        (Place::Word, "todo", Todo),
        (Place::Word, "fails", Xfail),
        (Place::Word, "failing", Xfail),
        (Place::Call, "*.skip", Skip),
        (Place::Call, "*.todo", Todo),
        (Place::Call, "pending", Todo),
    ],
    parameter_lists: &[],
    parameter_rows: &[],
    assert_statement: "",
    asserts: &[
        ("assert.fail", Fail, ""),
        ("expect.fail", Fail, ""),
        ("expect.unreachable", Fail, ""),
        ("fail", Fail, ""),
        ("expect.assertions", Other, ""),
        ("expect.hasAssertions", Other, ""),
        ("*expect().not.*toEqual", Differs, ""),
        ("*expect().not.*toBe", Differs, ""),
        ("*expect().not.*", Other, ""),
        ("*expect()*.toThrow*", Throws, ""),
        ("*expect()*.toMatchSnapshot", Other, ""),
        ("*expect()*.toMatchFileSnapshot", Other, ""),
        ("*expect()*.toBeTruthy", Other, "toBeFalsy"),
        ("*expect()*.toBeFalsy", Other, "toBeTruthy"),
        ("*expect()*.toBeDefined", Other, "toBeUndefined"),
        ("*expect()*.toBeUndefined", Other, "toBeDefined"),
        // One of several: another value may also be there.
        ("*expect()*.toContain*", Other, "not"),
        ("*expect()*.toHaveProperty", Other, "not"),
        ("*expect()*.toHaveBeen*With", Other, "not"),
        ("*expect()*.toBeGreater*", Other, "not"),
        ("*expect()*.toBeLess*", Other, "not"),
        ("*expect()*.toBe*", Matcher, "not"),
        ("*expect()*.toEqual", Matcher, "not"),
        ("*expect()*.toStrictEqual", Matcher, "not"),
        ("*expect()*.toMatch*", Matcher, "not"),
        ("*expect()*.toHave*", Matcher, "not"),
        ("*expect()*.to*", Matcher, "not"),
        ("expect().*equal*", Matcher, ""),
        ("expect().*eql*", Matcher, ""),
        ("expect().*", Other, ""),
        ("assert.throws", Throws, ""),
        ("assert.rejects", Throws, ""),
        ("assert.doesNot*", Other, ""),
        ("assert.not*qual", Differs, ""),
        ("assert.notDeepStrictEqual", Differs, "assert.deepStrictEqual"),
        ("assert.equal", Equal, "assert.notEqual"),
        ("assert.strictEqual", Equal, "assert.notStrictEqual"),
        ("assert.deepEqual", Equal, "assert.notDeepEqual"),
        ("assert.deepStrictEqual", Equal, "assert.notDeepStrictEqual"),
        ("assert.ok", Truth, ""),
        ("assert.isTrue", Truth, "assert.isFalse"),
        ("assert.isFalse", Falsity, "assert.isTrue"),
        ("assert.*qual", Equal, ""),
        ("assert.*", Other, ""),
        ("assert", Truth, ""),
        ("t.assert.*qual", Equal, ""),
        ("t.assert.*", Other, ""),
        ("strictEqual", Equal, ""),
        ("deepStrictEqual", Equal, ""),
        ("deepEqual", Equal, ""),
        ("equal", Equal, ""),
        ("*.should.*equal*", Matcher, ""),
        ("*.should.*", Other, ""),
        ("*.should", Other, ""),
        ("t.is", Equal, "t.not"),
        ("t.deepEqual", Equal, "t.notDeepEqual"),
        ("t.true", Truth, "t.false"),
        ("t.false", Falsity, "t.true"),
        ("t.throws*", Throws, ""),
        ("assertEquals", Equal, "assertNotEquals"),
        ("expectTypeOf().*", Other, ""),
    ],
    raises: &["throw_statement"],
    blocks: &["statement_block", "program"],
    branches: &["if_statement"],
    bindings: &[
        ("function_declaration", "name"),
        ("class_declaration", "name"),
        ("variable_declarator", "name"),
        ("assignment_expression", "left"),
        ("formal_parameters", ""),
        ("required_parameter", "pattern"),
        ("arrow_function", "parameter"),
        ("import_clause", ""),
        ("import_specifier", ""),
        ("namespace_import", ""),
    ],
    imports: &["import_statement"],
};

/// A title as a pattern: placeholders (`%s`, `$name`, `${name}`) match anything.
pub(crate) fn title_pattern(title: &str) -> String {
    const FORMATS: &str = "sdifjoOpc#$";
    let mut pattern = String::with_capacity(title.len());
    let mut letters = title.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        match letter {
            '%' if next.is_some_and(|next| FORMATS.contains(next)) => {
                letters.next();
                pattern.push('*');
            }
            '$' if next == Some('{') => {
                let mut depth = 0_u32;
                for inner in letters.by_ref() {
                    depth = match inner {
                        '{' => depth + 1,
                        '}' => depth.saturating_sub(1),
                        _ => depth,
                    };
                    if depth == 0 {
                        break;
                    }
                }
                pattern.push('*');
            }
            '$' if next.is_some_and(|next| next.is_alphabetic() || "_#".contains(next)) => {
                while letters
                    .next_if(|next| super::word::is_word(*next) || ".#".contains(*next))
                    .is_some()
                {}
                pattern.push('*');
            }
            _ => pattern.push(letter),
        }
    }
    pattern
}

#[test]
fn a_title_has_holes() {
    for (title, pattern) in [
        ("adds", "adds"),
        ("wraps %j at %i", "wraps * at *"),
        ("100% sure", "100% sure"),
        ("$minutes minutes of $row.name", "* minutes of *"),
        ("a > ${JSON.stringify({ a: { b } })} b", "a > * b"),
        ("costs $5", "costs $5"),
    ] {
        assert_eq!(title_pattern(title), pattern, "{title}");
    }
}
