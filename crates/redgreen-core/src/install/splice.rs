//! Changes JSON text in place: everything else keeps its bytes. What was inserted can be recognised
//! by its form, so removing it restores the text that was there before:
//!
//! - An item goes after the last one, in its form: on a line of its own, or on the same line.
//! - In an empty container of the user, one blank comes before it, and the container stays.
//! - A container that has to be created for it has no such blank, and goes with its last item.

use serde::Serialize;
use serde_json::Value;

/// A value in a text. The text is valid JSON, so its depth is limited.
#[derive(Debug)]
pub(super) struct Node {
    start: usize,
    end: usize,
    /// Members of an object or elements of an array.
    pub(super) items: Vec<Item>,
}

#[derive(Debug)]
pub(super) struct Item {
    /// `None` in an array.
    pub(super) name: Option<String>,
    start: usize,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn parse(text: &str) -> Option<Node> {
        Reader { text, at: 0 }.value()
    }

    /// The last member with a name counts, as for other readers of JSON.
    pub(super) fn member(&self, name: &str) -> Option<usize> {
        self.items.iter().rposition(|item| item.name.as_deref() == Some(name))
    }

    pub(super) fn child(&self, at: usize) -> Option<&Node> {
        Some(&self.items.get(at)?.value)
    }

    /// The text with another last item.
    pub(super) fn with(&self, text: &str, name: Option<&str>, value: &Value, unit: &str) -> String {
        let label = name.map_or_else(String::new, |name| format!("{}: ", Value::from(name)));
        let (at, new) = match (self.items.first(), self.items.last()) {
            (Some(first), Some(last)) => {
                let before = text.get(self.start + 1..first.start).unwrap_or_default();
                let new = match before.rsplit_once('\n') {
                    Some((_, base)) => {
                        let lines = pretty(value, unit).replace('\n', &format!("\n{base}"));
                        format!(",\n{base}{label}{lines}")
                    }
                    None => format!(", {label}{value}"),
                };
                (last.value.end, new)
            }
            _ => (self.start + 1, format!(" {label}{value}")),
        };
        spliced(text, at, at, &new)
    }

    /// The text without an item. `None` if nothing is left in a container that was created for it.
    pub(super) fn without(&self, text: &str, at: usize) -> Option<String> {
        let item = self.items.get(at)?;
        let previous = at.checked_sub(1).and_then(|before| self.items.get(before));
        let (from, to) = match (previous, self.items.get(at + 1)) {
            (Some(previous), _) => (previous.value.end, item.value.end),
            (None, Some(next)) => (item.start, next.start),
            (None, None) if text.get(self.start + 1..item.start) == Some(" ") => {
                (self.start + 1, item.value.end)
            }
            (None, None) => return None,
        };
        Some(spliced(text, from, to, ""))
    }
}

fn spliced(text: &str, from: usize, to: usize, new: &str) -> String {
    let (before, after) =
        (text.get(..from).unwrap_or_default(), text.get(to..).unwrap_or_default());
    format!("{before}{new}{after}")
}

/// A value over several lines, without the last line break.
pub(super) fn pretty(value: &Value, unit: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    // Writing a value to memory cannot fail.
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter)).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Option<Node> {
        self.blanks();
        let start = self.at;
        let items = match self.peek()? {
            b'{' => self.items(b'}')?,
            b'[' => self.items(b']')?,
            b'"' => {
                self.string()?;
                Vec::new()
            }
            _ => {
                while self.peek().is_some_and(|byte| !b",]} \t\r\n".contains(&byte)) {
                    self.at += 1;
                }
                Vec::new()
            }
        };
        (self.at > start).then_some(Node { start, end: self.at, items })
    }

    fn items(&mut self, close: u8) -> Option<Vec<Item>> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.blanks();
            if self.peek()? == close {
                self.at += 1;
                return Some(items);
            }
            if !items.is_empty() {
                self.expect(b',')?;
            }
            self.blanks();
            let start = self.at;
            let name = match close {
                b'}' => {
                    let name = self.string()?;
                    self.blanks();
                    self.expect(b':')?;
                    Some(name)
                }
                _ => None,
            };
            items.push(Item { name, start, value: self.value()? });
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.expect(b'"')?;
        while self.peek()? != b'"' {
            self.at += if self.peek()? == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        serde_json::from_str(self.text.get(start..self.at)?).ok()
    }
}
