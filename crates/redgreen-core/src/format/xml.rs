//! The subset of XML that reports need: elements, attributes and text, in one pass with constant
//! memory.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::{resolve_xml_entity, unescape};
use quick_xml::events::Event;

/// One piece of a document.
pub(super) enum Piece<'a> {
    Open(Element<'a>),
    /// The name of an element that ends. Empty elements end as well.
    Close(&'a str),
    Text(Cow<'a, str>),
}

pub(super) struct Element<'a> {
    name: &'a str,
    attributes: &'a str,
}

/// Passes each piece to `take`. Returns whether the document is complete and every element is
/// closed.
pub(super) fn read(bytes: &[u8], mut take: impl FnMut(Piece<'_>)) -> bool {
    let text = str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    let mut reader = Reader::from_str(&text);
    let (mut depth, mut closed) = (0_usize, false);
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                depth += 1;
                take(Piece::Open(Element {
                    name: local(start.name().0),
                    attributes: start.attributes_raw(),
                }));
            }
            Ok(Event::Empty(start)) => {
                let name = local(start.name().0);
                take(Piece::Open(Element { name, attributes: start.attributes_raw() }));
                take(Piece::Close(name));
                closed = depth == 0;
            }
            Ok(Event::End(end)) => {
                depth = depth.saturating_sub(1);
                closed = depth == 0;
                take(Piece::Close(local(end.name().0)));
            }
            // An entity between two texts, `&lt;` or `&#10;`, is a separate event.
            Ok(Event::Text(text)) => take(Piece::Text(Cow::Borrowed(&text))),
            Ok(Event::CData(text)) => take(Piece::Text(Cow::Borrowed(&text))),
            Ok(Event::GeneralRef(name)) => match resolve_xml_entity(&name) {
                Some(letter) => take(Piece::Text(Cow::Borrowed(letter))),
                None => take(Piece::Text(plain(&format!("&{};", &*name)))),
            },
            Ok(Event::Eof) => return closed && depth == 0,
            Ok(Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
            Err(_) => return false,
        }
    }
}

impl Element<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// All attributes, in one pass. A document can have millions of them, and the checks of a full
    /// XML parser would dominate the run time.
    pub(super) fn attributes(&self, mut take: impl FnMut(&str, Cow<'_, str>)) {
        let mut rest = self.attributes;
        while let Some((name, after)) = split(rest, b'=') {
            let value = after.trim_ascii_start();
            let Some(&quote @ (b'"' | b'\'')) = value.as_bytes().first() else { return };
            let Some((value, after)) = value.get(1..).and_then(|value| split(value, quote)) else {
                return;
            };
            take(local(name.trim_ascii()), plain(value));
            rest = after;
        }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut found = None;
        self.attributes(|known, value| {
            if known == name && found.is_none() {
                found = Some(value.into_owned());
            }
        });
        found
    }
}

/// A name without its namespace.
fn local(name: &str) -> &str {
    split(name, b':').map_or(name, |(_, name)| name)
}

/// Splits at a mark. Names and values are too short for a search with a large setup cost.
fn split(text: &str, mark: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|byte| byte == mark)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Replaces entities; unknown entities stay as they are.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte == b'&') {
        return Cow::Borrowed(text);
    }
    unescape(text).unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(text: &str) -> String {
        let mut all = Vec::new();
        read(format!("<a {text}/>").as_bytes(), |piece| {
            if let Piece::Open(element) = piece {
                element.attributes(|name, value| all.push(format!("{name}={value}")));
            }
        });
        all.join(" ")
    }

    #[test]
    fn reads_attributes_in_any_notation() {
        for (text, expected) in [
            ("a=\"1\" b='2'", "a=1 b=2"),
            ("  a = \"1\"\n\tb='2'  ", "a=1 b=2"),
            (
                "a=\"x=y\" b='say \"hi\"' c=\"&lt;&#65;&nosuch;\"",
                "a=x=y b=say \"hi\" c=&lt;&#65;&nosuch;",
            ),
            ("a=\"&lt;&#65;\" b=''", "a=<A b="),
            ("ns:a=\"1\"", "a=1"),
            ("a=1 b=\"2\"", ""),
            ("a=\"1", ""),
            ("é=\"ü\"", "é=ü"),
            ("", ""),
        ] {
            assert_eq!(attributes(text), expected, "{text}");
        }
    }

    #[test]
    fn reads_text_with_entities() {
        let mut said = String::new();
        let whole = read(b"<a>x &lt; y<b/>&amp;&#33;<![CDATA[<&>]]>&nosuch;</a>", |piece| {
            if let Piece::Text(text) = piece {
                said.push_str(&text);
            }
        });
        assert_eq!((whole, said.as_str()), (true, "x < y&!<&>&nosuch;"));
    }

    #[test]
    fn a_document_is_complete_when_all_elements_are_closed() {
        for (text, whole) in [
            ("<a/>", true),
            ("<a><b/></a>", true),
            ("<a><b/>", false),
            ("<a></b>", false),
            ("", false),
            ("<a/", false),
            ("<a/><!-- done -->", true),
        ] {
            assert_eq!(read(text.as_bytes(), |_| {}), whole, "{text}");
        }
    }
}
