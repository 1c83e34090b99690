//! A JSON Schema as a grammar in GBNF, the format of llama.cpp. It covers what our own questions
//! use: objects whose properties are all required, arrays with limits, and simple types. A schema
//! that names no type allows any value.

use std::fmt::Write as _;

use serde_json::Value;

/// Without a limit, a model can write white space or digits until its answer is cut off.
const INDENT_MAX: usize = 12;
const DIGITS_MAX: usize = 15;
/// For an array without a limit of its own.
const ITEMS_MAX: usize = 20;

/// The rules for all values. Repetitions are nested, because older servers do not know `{0,15}`.
const VALUES: &str = r#"value ::= object | array | string | number | boolean | "null" space
object ::= "{" space (string ":" space value ("," space string ":" space value)*)? "}" space
array ::= "[" space (value ("," space value)*)? "]" space
string ::= "\"" char* "\"" space
char ::= [^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
boolean ::= ("true" | "false") space
"#;

/// The grammar of all JSON documents that match the schema.
pub(super) fn of(schema: &Value) -> String {
    let mut grammar = Grammar::default();
    let root = grammar.rule(schema);
    let mut text = format!("root ::= {root}\n{}{VALUES}", grammar.rules);
    let digits = at_most(DIGITS_MAX, "[0-9]");
    writeln!(text, "integer ::= \"-\"? (\"0\" | [1-9] {digits}) space").ok();
    writeln!(
        text,
        "number ::= \"-\"? (\"0\" | [1-9] {digits}) (\".\" [0-9] {digits})? ([eE] [-+]? [0-9] [0-9]?)? space"
    )
    .ok();
    writeln!(text, "space ::= | \" \" | \"\\n\" {}", at_most(INDENT_MAX, "[ \\t]")).ok();
    text
}

#[derive(Default)]
struct Grammar {
    /// The rules of nested objects and arrays, innermost first.
    rules: String,
    count: usize,
}

impl Grammar {
    /// The name of the rule for a schema.
    fn rule(&mut self, schema: &Value) -> String {
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => self.object(schema),
            Some("array") => self.array(schema),
            Some(name @ ("string" | "integer" | "number" | "boolean")) => name.to_owned(),
            Some(_) | None => "value".to_owned(),
        }
    }

    fn object(&mut self, schema: &Value) -> String {
        let mut fields = Vec::new();
        for (name, value) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let key = literal(&Value::from(name.as_str()).to_string());
            fields.push(format!("{key} space \":\" space {}", self.rule(value)));
        }
        let fields = fields.join(" \",\" space ");
        self.add(&format!("\"{{\" space {fields} \"}}\" space"))
    }

    fn array(&mut self, schema: &Value) -> String {
        let item = self.rule(schema.get("items").unwrap_or(&Value::Null));
        let limit = |key: &str| {
            schema.get(key).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
        };
        let least = limit("minItems").unwrap_or(0);
        let most = limit("maxItems").unwrap_or(ITEMS_MAX).clamp(least, ITEMS_MAX.max(least));
        let next = format!("\",\" space {item}");
        let items = match (least, most) {
            (_, 0) => String::new(),
            (0, most) => format!("({item} {})?", at_most(most - 1, &next)),
            (least, most) => {
                let required = vec![item; least].join(" \",\" space ");
                format!("{required} {}", at_most(most - least, &next))
            }
        };
        self.add(&format!("\"[\" space {items} \"]\" space"))
    }

    fn add(&mut self, rule: &str) -> String {
        self.count += 1;
        let name = format!("part-{}", self.count);
        writeln!(self.rules, "{name} ::= {rule}").ok();
        name
    }
}

/// `(x (x)?)?`: nested, because `x? x?` is slow.
fn at_most(count: usize, item: &str) -> String {
    let open = format!("({item} ");
    if count == 0 {
        return String::new();
    }
    format!("{}({item}){}", open.repeat(count - 1), "?".to_owned() + &")?".repeat(count - 1))
}

/// A text as a literal of a grammar, which uses the escapes of JSON.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The rules before those for all values.
    #[track_caller]
    fn check(schema: &Value, expected: &[&str]) {
        let grammar = of(schema);
        let rules: Vec<&str> =
            grammar.lines().take_while(|rule| !rule.starts_with("value ::=")).collect();
        assert_eq!(rules, expected);
    }

    #[test]
    fn a_schema_becomes_rules() {
        check(&json!({}), &["root ::= value"]);
        check(
            &json!({"type": "object", "properties": {"legs": {"type": "integer"}, "a\"b": {}}}),
            &[
                "root ::= part-1",
                r#"part-1 ::= "{" space "\"legs\"" space ":" space integer "," space "\"a\\\"b\"" space ":" space value "}" space"#,
            ],
        );
        let list = |least: u64, most: u64| json!({"type": "array", "minItems": least, "maxItems": most, "items": {"type": "string"}});
        for (least, most, items) in [
            (2, 2, r#"string "," space string "#),
            (1, 3, r#"string ("," space string ("," space string)?)?"#),
            (0, 1, "(string )?"),
            (0, 0, ""),
        ] {
            let rule = format!(r#"part-1 ::= "[" space {items} "]" space"#);
            check(&list(least, most), &["root ::= part-1", &rule]);
        }
    }

    #[test]
    fn every_rule_that_is_used_exists() {
        let grammar = of(&json!({"type": "object", "properties": {"results":
            {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}}}}));
        let defined: Vec<&str> = grammar
            .lines()
            .filter_map(|rule| rule.split_once(" ::=").map(|(name, _)| name))
            .collect();
        let is_name = |word: &&str| {
            word.starts_with(|letter: char| letter.is_ascii_lowercase())
                && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
        };
        for rule in grammar.lines() {
            let (_, used) = rule.split_once(" ::=").unwrap();
            for name in used.split([' ', '(', ')', '?', '*']).filter(is_name) {
                assert!(defined.contains(&name), "{name} in {rule}");
            }
        }
    }
}
