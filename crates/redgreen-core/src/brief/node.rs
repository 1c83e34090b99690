//! A YAML or JSON file as a tree that knows the place of every value, and a reader that goes on after a fault: a user
//! sees all that is wrong with a file at once.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;
use serde_saphyr::Spanned;

/// A key with more wrong letters than this is not thought to be a slip.
const TYPOS_MAX: usize = 2;
/// More faults than this help nobody; the rest is counted.
const FAULTS_MAX: usize = 50;
/// What is shown of a value that is wrong.
const SHOWN_CHARS_MAX: usize = 40;

/// How the file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Yaml,
    Json,
}

/// Something wrong with a file, where, and what is expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line and column, counted from 1.
    pub place: Option<(u64, u64)>,
    /// The value's path, such as `$.test_cases[2].id`; empty when the file has no values yet.
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
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// Whether a key has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Required,
    Optional,
}

/// Collects what is wrong. A getter answers `None` for what is absent or at fault.
#[derive(Debug, Default)]
pub struct Reader {
    faults: Vec<Fault>,
    /// The folder that whole paths may begin with; empty where none may be whole.
    project: String,
    /// Keys that nobody asked for.
    pub unused: Vec<String>,
}

impl Fault {
    pub fn whole(message: impl Into<String>) -> Self {
        Self { place: None, path: String::new(), message: message.into() }
    }
}

impl fmt::Display for Fault {
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
    /// Reads a file; a syntax error is its only fault.
    pub fn parse(syntax: Syntax, text: &str) -> Result<Node, Fault> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Err(Fault::whole("the file is empty"));
        }
        let json = match syntax {
            Syntax::Json => Some(serde_json::from_str::<Json>(text).map_err(|error| json_fault(&error))?),
            Syntax::Yaml => None,
        };
        // JSON is YAML, and the YAML parser knows places; where it is stricter, paths alone have to do.
        match (serde_saphyr::from_str::<Spanned<Any>>(text), json) {
            (Ok(any), _) => Ok(Node::located(any, "$".to_owned())),
            (Err(error), Some(json)) => match duplicate(&error) {
                Some(fault) => Err(fault),
                None => Ok(Node::unlocated(json, "$".to_owned())),
            },
            (Err(error), None) => Err(yaml_fault(&error)),
        }
    }

    fn located(any: Spanned<Any>, path: String) -> Node {
        let place = Some((any.referenced.line(), any.referenced.column()));
        let value = match any.value {
            Any::Null => Value::Null,
            Any::Flag(flag) => Value::Flag(flag),
            Any::Number(number) => Value::Number(number),
            Any::Text(text) => Value::Text(text),
            Any::List(items) => Value::List(
                items.into_iter().enumerate().map(|(at, item)| Node::located(item, format!("{path}[{at}]"))).collect(),
            ),
            Any::Object(entries) => Value::Object(
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

    /// The value of a key; null is as good as absent.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Value::Object(entries) = &self.value else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, node)| node).filter(|node| node.value != Value::Null)
    }

    /// The same without places. A number that JSON does not know is text.
    pub fn json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Flag(flag) => Json::Bool(*flag),
            Value::Number(number) => serde_json::from_str(number).unwrap_or_else(|_| Json::String(number.clone())),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => items.iter().map(Node::json).collect(),
            Value::Object(entries) => entries.iter().map(|(key, node)| (key.clone(), node.json())).collect(),
        }
    }

    /// What it says, in lines for a reader: `tech_stack: python, pytest`.
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
            Value::List(items) => items.iter().map(Node::on_one_line).collect::<Vec<_>>().join(", "),
            Value::Object(entries) => {
                let words = entries.iter().map(|(key, node)| format!("{key}: {}", node.on_one_line()));
                words.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// What it is, for "found …".
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
    /// A reader of files that name paths of a project as a whole, too.
    pub fn in_project(project: &str) -> Self {
        Self { project: project.to_owned(), ..Self::default() }
    }

    /// All faults in the order of the file, or the value.
    pub fn finish<T>(mut self, value: Option<T>) -> Result<T, Vec<Fault>> {
        match value {
            Some(value) if self.faults.is_empty() => Ok(value),
            _ => {
                if self.faults.is_empty() {
                    self.faults.push(Fault::whole("the file cannot be used"));
                }
                self.faults.sort_by_key(|fault| fault.place.unwrap_or((u64::MAX, 0)));
                let more = self.faults.len().saturating_sub(FAULTS_MAX);
                self.faults.truncate(FAULTS_MAX);
                if more > 0 {
                    self.faults.push(Fault::whole(format!("and {more} more")));
                }
                Err(self.faults)
            }
        }
    }

    pub fn fault(&mut self, node: &Node, message: impl Into<String>) {
        self.faults.push(Fault { place: node.place, path: node.path.clone(), message: message.into() });
    }

    fn expected(&mut self, node: &Node, what: &str) {
        self.fault(node, format!("expected {what}, found {}", node.kind()));
    }

    /// A key of an object. What is missing is a fault of the object.
    pub fn field<'n>(&mut self, object: &'n Node, key: &str, need: Need) -> Option<&'n Node> {
        let found = object.get(key);
        if found.is_none() && need == Need::Required {
            let path = format!("{}.{key}", object.path);
            self.faults.push(Fault { place: object.place, path, message: "is missing".to_owned() });
        }
        found
    }

    /// Text, or a number where a name is meant. Empty text is a fault where it is required.
    pub fn text(&mut self, object: &Node, key: &str, need: Need) -> Option<String> {
        let node = self.field(object, key, need)?;
        self.words(node, need)
    }

    pub fn words(&mut self, node: &Node, need: Need) -> Option<String> {
        match &node.value {
            Value::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Value::Text(_) if need == Need::Optional => None,
            Value::Text(_) => {
                self.fault(node, "expected some words, found empty text");
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
    pub fn count(&mut self, object: &Node, key: &str, need: Need, (least, most): (u32, u32)) -> Option<u32> {
        let node = self.field(object, key, need)?;
        let number = match &node.value {
            Value::Number(number) => number.parse().ok().filter(|number| (least..=most).contains(number)),
            Value::Null | Value::Flag(_) | Value::Text(_) | Value::List(_) | Value::Object(_) => None,
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

    /// The items of a list; one that is required has at least one, and none has more than `most`.
    pub fn list<'n>(&mut self, object: &'n Node, key: &str, need: Need, most: usize) -> &'n [Node] {
        let Some(node) = self.field(object, key, need) else { return &[] };
        let Value::List(items) = &node.value else {
            self.expected(node, "a list");
            return &[];
        };
        if items.is_empty() && need == Need::Required {
            self.fault(node, "expected a list with at least one item, found an empty one");
        }
        if items.len() > most {
            self.fault(node, format!("expected at most {most} items, found {}", items.len()));
            return &[];
        }
        items
    }

    pub fn texts(&mut self, object: &Node, key: &str, need: Need, most: usize) -> Vec<String> {
        let items = self.list(object, key, need, most);
        items.iter().filter_map(|item| self.words(item, Need::Required)).collect()
    }

    /// One of some words, spelt in any case.
    pub fn one_of<T: Copy>(&mut self, object: &Node, key: &str, need: Need, words: &[(&str, T)]) -> Option<T> {
        let node = self.field(object, key, need)?;
        let said = match &node.value {
            Value::Text(text) => text.trim().to_lowercase(),
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::List(_) | Value::Object(_) => String::new(),
        };
        let found = words.iter().find(|(word, _)| *word == said).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.expected(node, &format!("one of {}", known.join(", ")));
        }
        found
    }

    /// A path of the project, from its root, without a way out. A whole path that begins with the project is cut to that.
    pub fn path(&mut self, node: &Node) -> Option<String> {
        let text = self.words(node, Need::Required)?;
        let inside = Some(self.project.as_str()).filter(|project| !project.is_empty());
        let inside = inside.and_then(|project| text.strip_prefix(project)?.strip_prefix('/'));
        let text = inside.filter(|rest| !rest.is_empty()).map_or_else(|| text.clone(), str::to_owned);
        let leaves = text.starts_with(['/', '~', '\\']) || text.split(['/', '\\']).any(|part| part == "..");
        let drive = text.as_bytes().get(1) == Some(&b':');
        if leaves || drive || text.contains('\0') {
            self.fault(node, format!("expected a path inside the project, found {:?}", cut(&text)));
            return None;
        }
        Some(text.trim_start_matches("./").to_owned())
    }

    /// Keys nobody knows: one that is nearly a known key that is absent is a slip, and a fault; others are kept for a
    /// person to see.
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
                Some((_, name)) => self.fault(node, format!("unknown key {key:?}; did you mean {name:?}?")),
                None => self.unused.push(node.path.clone()),
            }
        }
    }

    /// The same name twice.
    pub fn unique<'n>(&mut self, what: &str, named: impl Iterator<Item = (&'n Node, &'n str)>) {
        let mut seen = HashSet::new();
        for (node, name) in named {
            if !seen.insert(name.to_owned()) {
                self.fault(node, format!("expected each {what} once, found {name:?} again"));
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

/// Letters to change, add or drop, neighbours that changed places counting once.
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
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let above = rows.last().map_or(&[][..], Vec::as_slice);
            let mut best = (at(above, j) + usize::from(left != right)).min(at(above, j + 1) + 1).min(at(&row, j) + 1);
            let crossed = i > 0 && j > 0 && one.get(i - 1) == Some(right) && other.get(j - 1) == Some(left);
            if crossed && let Some(before) = rows.get(i - 1) {
                best = best.min(at(before, j - 1) + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(usize::MAX)
}

fn json_fault(error: &serde_json::Error) -> Fault {
    let words = error.to_string();
    let message = words.split(" at line ").next().unwrap_or(&words);
    let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Fault {
        place: Some((wide(error.line()), wide(error.column()).max(1))),
        path: String::new(),
        message: format!("it is not JSON: {message}"),
    }
}

fn yaml_fault(error: &serde_saphyr::Error) -> Fault {
    let place = error.location().map(|location| (location.line(), location.column()));
    let words = error.without_snippet().to_string();
    let message = words.lines().next().unwrap_or_default().to_owned();
    // The place is told once.
    let message = message.split(" at line ").next().unwrap_or_default().trim().to_owned();
    Fault { place, path: String::new(), message: format!("it is not YAML: {message}") }
}

/// JSON that says the same key twice parses, and means what its last half says.
fn duplicate(error: &serde_saphyr::Error) -> Option<Fault> {
    let fault = yaml_fault(error);
    fault
        .message
        .contains("duplicate")
        .then(|| Fault { message: fault.message.replace("it is not YAML: ", ""), ..fault })
}

/// Any value, before paths are known.
enum Any {
    Null,
    Flag(bool),
    Number(String),
    Text(String),
    List(Vec<Spanned<Any>>),
    Object(Vec<(String, Spanned<Any>)>),
}

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Whatever;
        impl<'de> Visitor<'de> for Whatever {
            type Value = Any;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a value")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Any, E> {
                Ok(Any::Flag(flag))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Any, E> {
                Ok(Any::Number(number.to_string()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Any, E> {
                Ok(Any::Number(number.to_string()))
            }

            fn visit_i128<E>(self, number: i128) -> Result<Any, E> {
                Ok(Any::Number(number.to_string()))
            }

            fn visit_u128<E>(self, number: u128) -> Result<Any, E> {
                Ok(Any::Number(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Any, E> {
                Ok(Any::Number(number.to_string()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Any, E> {
                Ok(Any::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Any, E> {
                Ok(Any::Text(text))
            }

            fn visit_unit<E>(self) -> Result<Any, E> {
                Ok(Any::Null)
            }

            fn visit_none<E>(self) -> Result<Any, E> {
                Ok(Any::Null)
            }

            fn visit_some<D: Deserializer<'de>>(self, input: D) -> Result<Any, D::Error> {
                Any::deserialize(input)
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, input: D) -> Result<Any, D::Error> {
                Any::deserialize(input)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Any, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Any::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Any, A::Error> {
                let mut object = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    object.push(entry);
                }
                Ok(Any::Object(object))
            }
        }
        input.deserialize_any(Whatever)
    }
}
