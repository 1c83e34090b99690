//! A YAML or JSON file as a tree with the place of every value, and a reader that continues after a
//! problem, so that users see all problems of a file at once.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_saphyr::Spanned;

/// Maximum edit distance for a suggested key.
const TYPOS_MAX: usize = 2;
/// Maximum number of reported problems; the rest is counted.
const PROBLEMS_MAX: usize = 50;
/// Maximum length of a wrong value in a message.
const SHOWN_CHARS_MAX: usize = 40;

/// The syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Yaml,
    Json,
}

/// A problem in a file: the place and the expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line and column, counted from 1.
    pub place: Option<(u64, u64)>,
    /// The path of the value, such as `$.test_cases[2].id`; empty if the file has no values yet.
    pub path: String,
    pub message: String,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub place: Option<(u64, u64)>,
    pub path: String,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Flag(bool),
    /// The number as written in the file.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// Whether a key is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Required,
    Optional,
}

/// Collects problems. A getter returns `None` for absent or wrong values.
#[derive(Debug, Default)]
pub struct Reader {
    problems: Vec<Problem>,
    /// The folder that absolute paths may start with; empty if paths must be relative.
    project: String,
    /// Unknown keys.
    pub unused: Vec<String>,
}

impl Problem {
    pub fn whole(message: impl Into<String>) -> Self {
        Self { place: None, path: String::new(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(out, "{line}:{column}: ")?;
        }
        if !self.path.is_empty() {
            write!(out, "{}: ", self.path)?;
        }
        out.write_str(&self.message)
    }
}

impl Node {
    /// Parses a file; a syntax error is its only problem.
    pub fn parse(syntax: Syntax, text: &str) -> Result<Node, Problem> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Err(Problem::whole("the file is empty"));
        }
        let json = match syntax {
            Syntax::Json => {
                Some(serde_json::from_str::<Json>(text).map_err(|error| json_fault(&error))?)
            }
            Syntax::Yaml => None,
        };
        // JSON is valid YAML, and the YAML parser reports places. Where it is stricter, problems
        // have only a path.
        match (serde_saphyr::from_str::<Spanned<AnyValue>>(text), json) {
            (Ok(any), _) => Ok(Node::located(any, "$".to_owned())),
            (Err(error), Some(json)) => match duplicate(&error) {
                Some(problem) => Err(problem),
                None => Ok(Node::unlocated(json, "$".to_owned())),
            },
            (Err(error), None) => Err(yaml_problem(&error)),
        }
    }

    fn located(any: Spanned<AnyValue>, path: String) -> Node {
        let place = Some((any.referenced.line(), any.referenced.column()));
        let value = match any.value {
            AnyValue::Null => Value::Null,
            AnyValue::Flag(flag) => Value::Flag(flag),
            AnyValue::Number(number) => Value::Number(number),
            AnyValue::Text(text) => Value::Text(text),
            AnyValue::List(items) => Value::List(
                items
                    .into_iter()
                    .enumerate()
                    .map(|(at, item)| Node::located(item, format!("{path}[{at}]")))
                    .collect(),
            ),
            AnyValue::Object(entries) => Value::Object(
                entries
                    .into_iter()
                    .map(|(key, item)| {
                        let path = format!("{path}.{key}");
                        (key, Node::located(item, path))
                    })
                    .collect(),
            ),
        };
        Node { place, path, value }
    }

    fn unlocated(json: Json, path: String) -> Node {
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Flag(flag),
            Json::Number(number) => Value::Number(number.to_string()),
            Json::String(text) => Value::Text(text),
            Json::Array(items) => Value::List(
                items
                    .into_iter()
                    .enumerate()
                    .map(|(at, item)| Node::unlocated(item, format!("{path}[{at}]")))
                    .collect(),
            ),
            Json::Object(entries) => Value::Object(
                entries
                    .into_iter()
                    .map(|(key, item)| {
                        let path = format!("{path}.{key}");
                        (key, Node::unlocated(item, path))
                    })
                    .collect(),
            ),
        };
        Node { place: None, path, value }
    }

    /// The value of a key; null counts as absent.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Value::Object(entries) = &self.value else { return None };
        entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
            .filter(|node| node.value != Value::Null)
    }

    /// The value without places. A number that JSON does not support becomes text.
    pub fn json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Flag(flag) => Json::Bool(*flag),
            Value::Number(number) => {
                serde_json::from_str(number).unwrap_or_else(|_| Json::String(number.clone()))
            }
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => items.iter().map(Node::json).collect(),
            Value::Object(entries) => {
                entries.iter().map(|(key, node)| (key.clone(), node.json())).collect()
            }
        }
    }

    /// The value as readable lines: `tech_stack: python, pytest`.
    pub fn told(&self) -> Vec<String> {
        match &self.value {
            Value::Object(entries) => entries
                .iter()
                .filter(|(_, node)| node.value != Value::Null)
                .map(|(key, node)| format!("{key}: {}", node.on_one_line()))
                .collect(),
            Value::List(items) => items.iter().map(Node::on_one_line).collect(),
            Value::Null => Vec::new(),
            Value::Flag(_) | Value::Number(_) | Value::Text(_) => vec![self.on_one_line()],
        }
    }

    fn on_one_line(&self) -> String {
        match &self.value {
            Value::Null => String::new(),
            Value::Flag(flag) => flag.to_string(),
            Value::Number(number) => number.clone(),
            Value::Text(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            Value::List(items) => {
                items.iter().map(Node::on_one_line).collect::<Vec<_>>().join(", ")
            }
            Value::Object(entries) => {
                let words =
                    entries.iter().map(|(key, node)| format!("{key}: {}", node.on_one_line()));
                words.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// The kind of the value, for "found …".
    fn kind(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Flag(flag) => flag.to_string(),
            Value::Number(number) => format!("the number {number}"),
            Value::Text(text) => format!("{:?}", cut(text)),
            Value::List(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        }
    }
}

impl Reader {
    /// A reader for files that may contain absolute paths of the project.
    pub fn in_project(project: &str) -> Self {
        Self { project: project.to_owned(), ..Self::default() }
    }

    /// The value, or all problems in the order of the file.
    pub fn finish<T>(mut self, value: Option<T>) -> Result<T, Vec<Problem>> {
        match value {
            Some(value) if self.problems.is_empty() => Ok(value),
            _ => {
                if self.problems.is_empty() {
                    self.problems.push(Problem::whole("the file cannot be used"));
                }
                self.problems.sort_by_key(|problem| problem.place.unwrap_or((u64::MAX, 0)));
                let more = self.problems.len().saturating_sub(PROBLEMS_MAX);
                self.problems.truncate(PROBLEMS_MAX);
                if more > 0 {
                    self.problems.push(Problem::whole(format!("and {more} more")));
                }
                Err(self.problems)
            }
        }
    }

    pub fn problem(&mut self, node: &Node, message: impl Into<String>) {
        self.problems.push(Problem {
            place: node.place,
            path: node.path.clone(),
            message: message.into(),
        });
    }

    fn expected(&mut self, node: &Node, what: &str) {
        self.problem(node, format!("expected {what}, found {}", node.kind()));
    }

    /// A key of an object. A missing key is a problem of the object.
    pub fn field<'n>(&mut self, object: &'n Node, key: &str, need: Need) -> Option<&'n Node> {
        let found = object.get(key);
        if found.is_none() && need == Need::Required {
            let path = format!("{}.{key}", object.path);
            self.problems.push(Problem {
                place: object.place,
                path,
                message: "is missing".to_owned(),
            });
        }
        found
    }

    /// Text, or a number used as a name. Empty text is a problem if the key is required.
    pub fn text(&mut self, object: &Node, key: &str, need: Need) -> Option<String> {
        let node = self.field(object, key, need)?;
        self.words(node, need)
    }

    pub fn words(&mut self, node: &Node, need: Need) -> Option<String> {
        match &node.value {
            Value::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Value::Text(_) if need == Need::Optional => None,
            Value::Text(_) => {
                self.problem(node, "expected some words, found empty text");
                None
            }
            Value::Number(number) => Some(number.clone()),
            Value::Null | Value::Flag(_) | Value::List(_) | Value::Object(_) => {
                self.expected(node, "text");
                None
            }
        }
    }

    pub fn flag(&mut self, object: &Node, key: &str, need: Need) -> Option<bool> {
        let node = self.field(object, key, need)?;
        if let Value::Flag(flag) = node.value {
            return Some(flag);
        }
        self.expected(node, "true or false");
        None
    }

    /// A whole number from `least` to `most`.
    pub fn count(
        &mut self,
        object: &Node,
        key: &str,
        need: Need,
        (least, most): (u32, u32),
    ) -> Option<u32> {
        let node = self.field(object, key, need)?;
        let number = match &node.value {
            Value::Number(number) => {
                number.parse().ok().filter(|number| (least..=most).contains(number))
            }
            Value::Null | Value::Flag(_) | Value::Text(_) | Value::List(_) | Value::Object(_) => {
                None
            }
        };
        if number.is_none() {
            self.expected(node, &format!("a whole number from {least} to {most}"));
        }
        number
    }

    pub fn object<'n>(&mut self, object: &'n Node, key: &str, need: Need) -> Option<&'n Node> {
        let node = self.field(object, key, need)?;
        self.is_object(node).then_some(node)
    }

    pub fn is_object(&mut self, node: &Node) -> bool {
        let is = matches!(node.value, Value::Object(_));
        if !is {
            self.expected(node, "an object");
        }
        is
    }

    /// The items of a list. A required list has at least one item, and no list more than `most`.
    pub fn list<'n>(&mut self, object: &'n Node, key: &str, need: Need, most: usize) -> &'n [Node] {
        let Some(node) = self.field(object, key, need) else { return &[] };
        let Value::List(items) = &node.value else {
            self.expected(node, "a list");
            return &[];
        };
        if items.is_empty() && need == Need::Required {
            self.problem(node, "expected a list with at least one item, found an empty one");
        }
        if items.len() > most {
            self.problem(node, format!("expected at most {most} items, found {}", items.len()));
            return &[];
        }
        items
    }

    pub fn texts(&mut self, object: &Node, key: &str, need: Need, most: usize) -> Vec<String> {
        let items = self.list(object, key, need, most);
        items.iter().filter_map(|item| self.words(item, Need::Required)).collect()
    }

    /// One of the given words, in any case.
    pub fn one_of<T: Copy>(
        &mut self,
        object: &Node,
        key: &str,
        need: Need,
        words: &[(&str, T)],
    ) -> Option<T> {
        let node = self.field(object, key, need)?;
        let said = match &node.value {
            Value::Text(text) => text.trim().to_lowercase(),
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::List(_) | Value::Object(_) => {
                String::new()
            }
        };
        let found = words.iter().find(|(word, _)| *word == said).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.expected(node, &format!("one of {}", known.join(", ")));
        }
        found
    }

    /// A path within the project, relative to its root. An absolute path inside the project is made
    /// relative.
    pub fn path(&mut self, node: &Node) -> Option<String> {
        let text = self.words(node, Need::Required)?;
        let inside = Some(self.project.as_str()).filter(|project| !project.is_empty());
        let inside = inside.and_then(|project| text.strip_prefix(project)?.strip_prefix('/'));
        let text =
            inside.filter(|rest| !rest.is_empty()).map_or_else(|| text.clone(), str::to_owned);
        let leaves =
            text.starts_with(['/', '~', '\\']) || text.split(['/', '\\']).any(|part| part == "..");
        let drive = text.as_bytes().get(1) == Some(&b':');
        if leaves || drive || text.contains('\0') {
            self.problem(
                node,
                format!("expected a path inside the project, found {:?}", cut(&text)),
            );
            return None;
        }
        Some(text.trim_start_matches("./").to_owned())
    }

    /// Checks for unknown keys. A key similar to an absent known key is a typo and a problem; other
    /// unknown keys are listed for the user.
    pub fn keys(&mut self, object: &Node, known: &[&str]) {
        let Value::Object(entries) = &object.value else { return };
        for (key, node) in entries.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            let near = known
                .iter()
                .filter(|name| object.get(name).is_none())
                .map(|name| (distance(key, name), name))
                .filter(|(typos, name)| *typos <= TYPOS_MAX.min(name.len() / 3))
                .min();
            match near {
                Some((_, name)) => {
                    self.problem(node, format!("unknown key {key:?}; did you mean {name:?}?"));
                }
                None => self.unused.push(node.path.clone()),
            }
        }
    }

    /// Reports duplicate names.
    pub fn unique<'n>(&mut self, what: &str, named: impl Iterator<Item = (&'n Node, &'n str)>) {
        let mut seen = HashSet::new();
        for (node, name) in named {
            if !seen.insert(name.to_owned()) {
                self.problem(node, format!("expected each {what} once, found {name:?} again"));
            }
        }
    }
}

fn cut(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The edit distance; swapped neighbours count once.
fn distance(one: &str, other: &str) -> usize {
    const LETTERS_MAX: usize = 64;
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().max(other.len()) > LETTERS_MAX {
        return usize::MAX;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, left) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, right) in other.iter().enumerate() {
            let at =
                |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let above = rows.last().map_or(&[][..], Vec::as_slice);
            let mut best = (at(above, j) + usize::from(left != right))
                .min(at(above, j + 1) + 1)
                .min(at(&row, j) + 1);
            let crossed =
                i > 0 && j > 0 && one.get(i - 1) == Some(right) && other.get(j - 1) == Some(left);
            if crossed && let Some(before) = rows.get(i - 1) {
                best = best.min(at(before, j - 1) + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(usize::MAX)
}

fn json_fault(error: &serde_json::Error) -> Problem {
    let words = error.to_string();
    let message = words.split(" at line ").next().unwrap_or(&words);
    let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Problem {
        place: Some((wide(error.line()), wide(error.column()).max(1))),
        path: String::new(),
        message: format!("not valid JSON: {message}"),
    }
}

fn yaml_problem(error: &serde_saphyr::Error) -> Problem {
    let place = error.location().map(|location| (location.line(), location.column()));
    let words = error.without_snippet().to_string();
    let message = words.lines().next().unwrap_or_default().to_owned();
    // The place is reported separately.
    let message = message.split(" at line ").next().unwrap_or_default().trim().to_owned();
    Problem { place, path: String::new(), message: format!("not valid YAML: {message}") }
}

/// JSON with a duplicate key parses, but its last value silently wins.
fn duplicate(error: &serde_saphyr::Error) -> Option<Problem> {
    let problem = yaml_problem(error);
    problem
        .message
        .contains("duplicate")
        .then(|| Problem { message: problem.message.replace("not valid YAML: ", ""), ..problem })
}

/// Any value, before paths are known.
enum AnyValue {
    Null,
    Flag(bool),
    Number(String),
    Text(String),
    List(Vec<Spanned<AnyValue>>),
    Object(Vec<(String, Spanned<AnyValue>)>),
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct AnyVisitor;
        impl<'de> Visitor<'de> for AnyVisitor {
            type Value = AnyValue;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a value")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<AnyValue, E> {
                Ok(AnyValue::Flag(flag))
            }

            fn visit_i64<E>(self, number: i64) -> Result<AnyValue, E> {
                Ok(AnyValue::Number(number.to_string()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<AnyValue, E> {
                Ok(AnyValue::Number(number.to_string()))
            }

            fn visit_i128<E>(self, number: i128) -> Result<AnyValue, E> {
                Ok(AnyValue::Number(number.to_string()))
            }

            fn visit_u128<E>(self, number: u128) -> Result<AnyValue, E> {
                Ok(AnyValue::Number(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<AnyValue, E> {
                Ok(AnyValue::Number(number.to_string()))
            }

            fn visit_str<E>(self, text: &str) -> Result<AnyValue, E> {
                Ok(AnyValue::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<AnyValue, E> {
                Ok(AnyValue::Text(text))
            }

            fn visit_unit<E>(self) -> Result<AnyValue, E> {
                Ok(AnyValue::Null)
            }

            fn visit_none<E>(self) -> Result<AnyValue, E> {
                Ok(AnyValue::Null)
            }

            fn visit_some<D: Deserializer<'de>>(self, input: D) -> Result<AnyValue, D::Error> {
                AnyValue::deserialize(input)
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                input: D,
            ) -> Result<AnyValue, D::Error> {
                AnyValue::deserialize(input)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<AnyValue, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(AnyValue::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<AnyValue, A::Error> {
                let mut object = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    object.push(entry);
                }
                Ok(AnyValue::Object(object))
            }
        }
        input.deserialize_any(AnyVisitor)
    }
}
