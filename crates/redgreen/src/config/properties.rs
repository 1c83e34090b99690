//! `tdd.properties` in Java's format: `key=value`, `key: value` or `key value`, comments with `#`
//! or `!`, a `\` at the end of a continued line, and escapes.

/// In the project's root.
pub(super) const FILE: &str = "tdd.properties";

/// In the order of the file. The last value of a key counts.
#[derive(Debug, Default)]
pub(super) struct Properties(Vec<(String, String)>);

impl Properties {
    pub(super) fn parse(text: &str) -> Self {
        Self(logical_lines(text).iter().map(|line| pair(line)).collect())
    }

    /// Keys that are not `known`, each once, in the order of the file.
    pub(super) fn others(&self, known: &[&str]) -> Vec<String> {
        let mut others: Vec<String> = Vec::new();
        for (key, _) in &self.0 {
            if !known.contains(&key.as_str()) && !others.contains(key) {
                others.push(key.clone());
            }
        }
        others
    }

    /// An empty value counts as missing.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let last = self.0.iter().rev().find(|(known, _)| known == key);
        last.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }
}

/// Removes comments and joins continued lines.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let words = line.trim_start();
        if !goes_on && (words.is_empty() || words.starts_with(['#', '!'])) {
            continue;
        }
        let slashes = words.chars().rev().take_while(|&letter| letter == '\\').count();
        let more = slashes % 2 == 1;
        let words = if more { words.get(..words.len() - 1).unwrap_or_default() } else { words };
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => last.push_str(words),
            None => lines.push(words.to_owned()),
        }
        goes_on = more;
    }
    lines
}

fn pair(line: &str) -> (String, String) {
    let is_end = |letter: char| letter == '=' || letter == ':' || letter.is_whitespace();
    let mut escaped = false;
    let end = line.find(|letter| {
        let ends = !escaped && is_end(letter);
        escaped = !escaped && letter == '\\';
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
    (unescaped(key), unescaped(value))
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('t') => plain.push('\t'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\u{c}'),
            Some('u') => {
                let digits: String = letters.by_ref().take(4).collect();
                let letter = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                plain.push(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

#[test]
fn keys_values_comments_and_escapes() {
    for (text, expected) in [
        ("test.command=make test", Some("make test")),
        ("# no\n! no\n\n  test.command : make \\\n    test\n", Some("make test")),
        ("test.command make test\r\n", Some("make test")),
        ("test.command=a\ntest.command=b", Some("b")),
        ("test.command=caf\\u00e9 \\\\ \\= \\q", Some("café \\ = q")),
        ("test\\:command=a", None),
        ("test.command=", None),
        ("test.command", None),
        ("test.command=\\", None),
        ("test.command=\\u12", Some("\u{12}")),
        ("", None),
    ] {
        assert_eq!(Properties::parse(text).get("test.command"), expected, "{text:?}");
    }
}
