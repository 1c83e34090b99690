//! Rust data: arguments as literals of the parameter types, and a parser for `{:?}` output.

use serde_json::{Map, Number, Value, json};

use crate::syntax::{Language, Signature};

/// The maximum nesting of values.
const DEPTH_MAX: usize = 64;
const WHOLE: [&str; 12] =
    ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];
const RESULT: &str = "core::result::Result<";

/// The arguments of a call, if the function accepts them.
pub(super) fn arguments(function: &Signature, args: &[Value]) -> Option<String> {
    if function.kinds.len() != args.len() {
        return None;
    }
    let written = function.kinds.iter().zip(args).map(|(kind, value)| literal(kind, value, 0));
    written.collect::<Option<Vec<String>>>().map(|all| all.join(", "))
}

fn literal(kind: &str, value: &Value, depth: usize) -> Option<String> {
    if depth > DEPTH_MAX {
        return None;
    }
    let kind = kind.trim();
    let inner = |kind: &str, value: &Value| literal(kind, value, depth + 1);
    let list = |kind: &str| {
        let all: Option<Vec<String>> =
            value.as_array()?.iter().map(|one| inner(kind, one)).collect();
        all.map(|all| all.join(", "))
    };
    if let Some(lent) = kind.strip_prefix('&') {
        let lent = lent.trim_start();
        // `&'a str`
        let lent = if lent.starts_with('\'') { lent.split_once(' ')?.1.trim_start() } else { lent };
        if lent == "str" {
            return value.as_str().map(|text| format!("{text:?}"));
        }
        if let Some(kind) = bracketed(lent, "[", "]").filter(|kind| !kind.contains(';')) {
            return list(kind).map(|all| format!("&[{all}] as &[{kind}]"));
        }
        let mutable = lent.starts_with("mut ");
        return inner(lent, value).filter(|_| !mutable).map(|text| format!("&{text}"));
    }
    if WHOLE.contains(&kind) {
        let number: i128 = value.as_number()?.to_string().parse().ok()?;
        return holds(kind, number).then(|| format!("{number}{kind}"));
    }
    match kind {
        "bool" => return value.as_bool().map(|value| value.to_string()),
        "f32" | "f64" => return value.as_f64().map(|value| format!("{value:?}{kind}")),
        "String" => {
            return value.as_str().map(|text| format!("std::string::String::from({text:?})"));
        }
        "char" => {
            let text = value.as_str()?;
            let letter = text.chars().next().filter(|_| text.chars().count() == 1)?;
            return Some(format!("{letter:?}"));
        }
        "()" => return value.is_null().then(|| "()".to_owned()),
        "impl Into<String>" | "impl AsRef<str>" => {
            return value.as_str().map(|text| format!("{text:?}"));
        }
        _ => {}
    }
    if let Some(kind) = bracketed(kind, "Option<", ">") {
        let none = value.is_null().then(|| "std::option::Option::None".to_owned());
        return none.or_else(|| {
            inner(kind, value).map(|text| format!("std::option::Option::Some({text})"))
        });
    }
    if let Some(kind) = bracketed(kind, "Vec<", ">") {
        return list(kind).map(|all| format!("std::vec![{all}]"));
    }
    if let Some((kind, count)) =
        bracketed(kind, "[", "]").and_then(|inside| inside.rsplit_once(';'))
    {
        let fits = value.as_array().map(Vec::len) == count.trim().parse().ok();
        return list(kind).filter(|_| fits).map(|all| format!("[{all}]"));
    }
    if let Some(kinds) = bracketed(kind, "(", ")") {
        let (kinds, values) = (apart(kinds), value.as_array()?);
        let all: Option<Vec<String>> =
            kinds.iter().zip(values).map(|(kind, one)| inner(kind, one)).collect();
        return all
            .filter(|_| kinds.len() == values.len())
            .map(|all| format!("({},)", all.join(", ")));
    }
    for name in ["HashMap", "BTreeMap"] {
        if let Some(kinds) = bracketed(kind, &format!("{name}<"), ">") {
            let [key, kind] = apart(kinds).try_into().ok()?;
            let pair = |(name, one): (&String, &Value)| {
                Some(format!(
                    "({}, {})",
                    inner(key, &Value::String(name.clone()))?,
                    inner(kind, one)?
                ))
            };
            let pairs: Option<Vec<String>> = value.as_object()?.iter().map(pair).collect();
            return pairs
                .map(|pairs| format!("std::collections::{name}::from([{}])", pairs.join(", ")));
        }
    }
    None
}

/// Whether a number fits the type. A literal that does not fit does not compile.
fn holds(kind: &str, number: i128) -> bool {
    let bits: u32 = kind.get(1..).and_then(|bits| bits.parse().ok()).unwrap_or(usize::BITS);
    match kind.starts_with('u') {
        true => number >= 0 && (bits > 127 || number < 1 << bits),
        false => bits > 127 || (-(1_i128 << (bits - 1))..1 << (bits - 1)).contains(&number),
    }
}

fn bracketed<'a>(kind: &'a str, open: &str, close: &str) -> Option<&'a str> {
    // `std::vec::Vec<T>` is `Vec<T>`.
    let (head, _) = kind.split_once(['<', '(', '[']).unwrap_or((kind, ""));
    let kind = head.rfind("::").and_then(|at| kind.get(at + 2..)).unwrap_or(kind);
    kind.strip_prefix(open)?.strip_suffix(close)
}

/// Splits at the outermost commas.
fn apart(kinds: &str) -> Vec<&str> {
    let (mut depth, mut start, mut all) = (0_i32, 0, Vec::new());
    for (at, letter) in kinds.char_indices() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                all.extend(kinds.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    all.extend(kinds.get(start..));
    all.retain(|kind| !kind.trim().is_empty());
    all
}

/// Converts a line with a type and `{:?}` output to the form of the other drivers. Any other line
/// stays unchanged.
pub(super) fn read(line: Value) -> Value {
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    let (Some(kind), Some(shown), Some(index)) = (text("kind"), text("shown"), line.get("index"))
    else {
        return line;
    };
    if let Some(kinds) = kind.strip_prefix(RESULT) {
        if let Some(error) = bracketed(shown, "Err(", ")") {
            let all = apart(kinds.strip_suffix('>').unwrap_or(kinds));
            let mut names = vec!["Err".to_owned()];
            names.extend(words(all.last().copied().unwrap_or_default()));
            names.extend(words(error).into_iter().next());
            return json!({ "index": index, "raises": names, "shown": shown });
        }
        let inside = bracketed(shown, "Ok(", ")").unwrap_or(shown);
        return told(index, shown, inside);
    }
    told(index, shown, shown)
}

fn told(index: &Value, shown: &str, text: &str) -> Value {
    match data(text) {
        Some(value) => json!({ "index": index, "gives": value, "shown": shown }),
        None => json!({ "index": index, "other": shown }),
    }
}

/// The names of types, without their modules.
fn words(kind: &str) -> Vec<String> {
    let paths =
        kind.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':');
    let last = paths.filter_map(|path| path.rsplit("::").next());
    last.filter(|word| !word.is_empty() && !matches!(*word, "dyn" | "mut"))
        .map(str::to_owned)
        .collect()
}

/// Reads a literal of a test: `&[1, 2]`, `vec!["a"]`, `[]int{1, 2}`, `map[string]int{"a": 1}`.
pub(super) fn read_literal(language: Language, text: &str) -> Option<Value> {
    let plain = || serde_json::from_str(text).ok();
    let list = || match language {
        Language::Rust => {
            let text = text.trim_start_matches('&').trim_start();
            data(text.strip_prefix("vec!").unwrap_or(text)).filter(Value::is_array)
        }
        Language::Go => {
            let (kind, _) = text.split_once('{')?;
            let read = data(text.get(kind.len()..)?)?;
            match kind {
                _ if kind.starts_with("[]") && read == json!({}) => Some(json!([])),
                _ if kind.starts_with("[]") => Some(read).filter(Value::is_array),
                _ if kind.starts_with("map[") => Some(read).filter(Value::is_object),
                _ => None,
            }
        }
        Language::Python
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Java
        | Language::Other => None,
    };
    plain().or_else(list)
}

/// Reads `{:?}` output of plain data: `Some(x)` is x, `None` is null, a tuple is a list, a struct
/// is a table, a variant is its name.
fn data(shown: &str) -> Option<Value> {
    let mut reader = Reader { rest: shown };
    let value = reader.value(0)?;
    reader.rest.trim().is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next().filter(|_| depth < DEPTH_MAX)?;
        match first {
            '"' | '\'' => self.text(first).map(Value::String),
            '[' => self.list('[', ']', depth).map(Value::Array),
            '(' => self
                .list('(', ')', depth)
                .map(|all| if all.is_empty() { Value::Null } else { Value::Array(all) }),
            '{' => self.table(depth),
            '-' | '0'..='9' => self.number(),
            _ => self.named(depth),
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(token);
        if let Some(rest) = rest {
            self.rest = rest;
        }
        rest.is_some()
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn text(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut letters = self.rest.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => match letters.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    '0' => text.push('\0'),
                    'u' => {
                        let digits: String = letters
                            .by_ref()
                            .map(|(_, letter)| letter)
                            .take_while(|letter| *letter != '}')
                            .collect();
                        text.push(char::from_u32(u32::from_str_radix(digits.get(1..)?, 16).ok()?)?);
                    }
                    other => text.push(other),
                },
                end if end == quote => {
                    self.rest = self.rest.get(at + end.len_utf8()..)?;
                    return Some(text);
                }
                other => text.push(other),
            }
        }
        None
    }

    fn number(&mut self) -> Option<Value> {
        let end = self
            .rest
            .find(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter));
        let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        serde_json::from_str::<Number>(text).ok().map(Value::Number)
    }

    fn list(&mut self, open: char, close: char, depth: usize) -> Option<Vec<Value>> {
        self.eat(open.encode_utf8(&mut [0; 4]));
        let close = close.to_string();
        let mut all = Vec::new();
        while !self.eat(&close) {
            all.push(self.value(depth + 1)?);
            if !self.eat(",") {
                return self.eat(&close).then_some(all);
            }
        }
        Some(all)
    }

    /// A map, or a set.
    fn table(&mut self, depth: usize) -> Option<Value> {
        self.eat("{");
        let (mut map, mut set) = (Map::new(), Vec::new());
        while !self.eat("}") {
            let one = self.value(depth + 1)?;
            if self.eat(":") {
                let key = one.as_str().map_or_else(|| one.to_string(), str::to_owned);
                map.insert(key, self.value(depth + 1)?);
            } else {
                set.push(one);
            }
            if !self.eat(",") {
                self.eat("}").then_some(())?;
                break;
            }
        }
        match (map.is_empty(), set.is_empty()) {
            (false, false) => None,
            (true, false) => Some(Value::Array(set)),
            (_, true) => Some(Value::Object(map)),
        }
    }

    /// A variant, or a struct.
    fn named(&mut self, depth: usize) -> Option<Value> {
        let word = Some(self.word()).filter(|word| !word.is_empty())?;
        if self.rest.starts_with('(') {
            let all = self.list('(', ')', depth)?;
            let [only] = <[Value; 1]>::try_from(all.clone()).unwrap_or([Value::Array(all)]);
            return Some(if word == "Some" { only } else { json!({ word: only }) });
        }
        if self.rest.starts_with(" {") {
            return self.table(depth);
        }
        Some(match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "None" => Value::Null,
            _ => Value::String(word.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_tests_are_read_as_data() {
        let (rust, go) = (Language::Rust, Language::Go);
        for (language, text, expected) in [
            (rust, "7", Some(json!(7))),
            (rust, "&[1, 2]", Some(json!([1, 2]))),
            (rust, "vec![\"a\", \"b\"]", Some(json!(["a", "b"]))),
            (rust, "[(1, 2)]", Some(json!([[1, 2]]))),
            (rust, "Point { x: 1 }", None),
            (go, "[]int{1, 2}", Some(json!([1, 2]))),
            (go, "[]string{}", Some(json!([]))),
            (go, "[][]int{{1}, {2}}", Some(json!([[1], [2]]))),
            (go, "map[string]int{\"a\": 1}", Some(json!({ "a": 1 }))),
            (go, "Point{1, 2}", None),
        ] {
            assert_eq!(read_literal(language, text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_read_as_data() {
        for (shown, expected) in [
            ("\"a \\\"b\\\"\\n\\u{1f}'\"", json!("a \"b\"\n\u{1f}'")),
            ("'x'", json!("x")),
            ("-12", json!(-12)),
            ("2.5", json!(2.5)),
            ("1e21", json!(1e21)),
            ("()", json!(null)),
            ("Some([(1, \"a\"), (2, \"b\")])", json!([[1, "a"], [2, "b"]])),
            ("[None, Some(true)]", json!([null, true])),
            ("Point { x: 1, y: Pair(2, 3) }", json!({ "x": 1, "y": { "Pair": [2, 3] } })),
            ("{\"a\": 1, \"b\": []}", json!({ "a": 1, "b": [] })),
            ("{1: \"x\"}", json!({ "1": "x" })),
            ("{3, 4}", json!([3, 4])),
            ("{}", json!({})),
            ("Heavy", json!("Heavy")),
            ("[]", json!([])),
        ] {
            assert_eq!(data(shown), Some(expected), "{shown}");
        }
        for shown in ["", "[1, 2", "\"open", "0x1f", "a b", "Foo { .. }"] {
            assert_eq!(data(shown), None, "{shown}");
        }
    }

    #[test]
    fn an_argument_is_written_as_its_type() {
        for (kind, value, written) in [
            ("u32", json!(7), Some("7u32")),
            ("u32", json!(-7), None),
            ("u8", json!(255), Some("255u8")),
            ("u8", json!(256), None),
            ("i8", json!(-129), None),
            ("i64", json!(1.5), None),
            ("f64", json!(3), Some("3.0f64")),
            ("&str", json!("a\"b"), Some("\"a\\\"b\"")),
            ("&'static str", json!("a"), Some("\"a\"")),
            ("String", json!("a"), Some("std::string::String::from(\"a\")")),
            ("char", json!("ab"), None),
            ("&[u8]", json!([]), Some("&[] as &[u8]")),
            (
                "Vec<Option<i8>>",
                json!([1, null]),
                Some("std::vec![std::option::Option::Some(1i8), std::option::Option::None]"),
            ),
            ("&std::vec::Vec<bool>", json!([true]), Some("&std::vec![true]")),
            ("(u8, [i8; 2])", json!([1, [2, 3]]), Some("(1u8, [2i8, 3i8],)")),
            ("[i8; 2]", json!([1]), None),
            (
                "HashMap<String, u8>",
                json!({ "a": 1 }),
                Some("std::collections::HashMap::from([(std::string::String::from(\"a\"), 1u8)])"),
            ),
            ("&mut String", json!("a"), None),
            ("Money", json!(1), None),
        ] {
            assert_eq!(literal(kind, &value, 0).as_deref(), written, "{kind} {value}");
        }
    }

    #[test]
    fn an_error_has_the_names_of_its_type_and_of_itself() {
        let line =
            |kind: &str, shown: &str| read(json!({ "index": 0, "kind": kind, "shown": shown }));
        let kind = "core::result::Result<alloc::vec::Vec<(u8, u8)>, demo::ParseError>";
        assert_eq!(
            line(kind, "Err(Empty { at: 1 })")["raises"],
            json!(["Err", "ParseError", "Empty"])
        );
        assert_eq!(line(kind, "Ok([(1, 2)])")["gives"], json!([[1, 2]]));
        let kind = "core::result::Result<u8, alloc::boxed::Box<dyn core::error::Error>>";
        assert_eq!(line(kind, "Err(\"no\")")["raises"], json!(["Err", "Box", "Error", "no"]));
        assert_eq!(line("demo::Odd", "Odd { .. }")["other"], "Odd { .. }");
    }
}
