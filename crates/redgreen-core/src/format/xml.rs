//! The little of XML that reports need: elements, attributes and text, one after the other, in constant memory.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

/// One piece of a document.
pub(super) enum Piece<'a> {
    Open(Element<'a>),
    /// The name of an element that ends; an empty one ends too.
    Close(&'a str),
    Text(Cow<'a, str>),
}

pub(super) struct Element<'a> {
    start: BytesStart<'a>,
}

/// Hands each piece to `take`; says whether the document came to its end with every element closed.
pub(super) fn read(bytes: &[u8], mut take: impl FnMut(Piece<'_>)) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().expand_empty_elements = true;
    let (mut depth, mut closed) = (0_usize, false);
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                depth += 1;
                take(Piece::Open(Element { start }));
            }
            Ok(Event::End(end)) => {
                depth = depth.saturating_sub(1);
                closed = depth == 0;
                take(Piece::Close(end.local_name().as_ref()));
            }
            Ok(Event::Text(text)) => take(Piece::Text(plain(&text))),
            Ok(Event::CData(text)) => take(Piece::Text(Cow::Borrowed(&text))),
            // An entity between two texts: `&lt;`, `&#10;`.
            Ok(Event::GeneralRef(name)) => take(Piece::Text(plain(&format!("&{};", &*name)))),
            Ok(Event::Eof) => return closed && depth == 0,
            Ok(Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {}
            Err(_) => return false,
        }
    }
}

impl Element<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.start.local_name().as_ref() == name
    }

    /// Every attribute, in one pass.
    pub(super) fn attributes(&self, mut take: impl FnMut(&str, Cow<'_, str>)) {
        let mut attributes = self.start.attributes();
        for attribute in attributes.with_checks(false).flatten() {
            take(attribute.key.local_name().as_ref(), plain(&attribute.value));
        }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.start.attributes();
        let attributes = attributes.with_checks(false);
        let found = attributes.flatten().find(|attribute| attribute.key.local_name().as_ref() == name)?;
        Some(plain(&found.value).into_owned())
    }
}

/// Text without entities; one that is none of XML's stays as it is.
fn plain(text: &str) -> Cow<'_, str> {
    unescape(text).unwrap_or(Cow::Borrowed(text))
}
