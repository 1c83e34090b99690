//! Parses server-sent events from bytes as they arrive, in pieces of any size.

use super::{ModelError, ModelErrorKind};

/// Large, because the last event of some formats repeats the whole answer.
pub const EVENT_BYTES_MAX: usize = 12 << 20;

/// An event. Its name is empty if the server sent none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub data: String,
}

#[derive(Debug, Default)]
pub struct Parser {
    /// The current, incomplete line.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
}

impl Parser {
    /// Returns the events that these bytes complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, ModelError> {
        let mut events = Vec::new();
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            if self.line.len() + self.event.data.len() + piece.len() > EVENT_BYTES_MAX {
                let message =
                    format!("one event of the answer has more than {EVENT_BYTES_MAX} bytes");
                return Err(ModelError::new(ModelErrorKind::TooLarge, message));
            }
            self.line.extend_from_slice(piece);
            if pieces.peek().is_some() {
                let line = std::mem::take(&mut self.line);
                events.extend(self.end_line(&String::from_utf8_lossy(&line)));
            }
        }
        Ok(events)
    }

    /// The event at the end of a stream; some servers omit the final empty line.
    pub fn finish(mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let last = self.end_line(&String::from_utf8_lossy(&line));
        last.or_else(|| self.end_line(""))
    }

    fn end_line(&mut self, line: &str) -> Option<Event> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            // Comments, which keep a connection alive, have no field name. Unknown fields are
            // ignored.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        // The events do not depend on how the bytes are split.
        for size in [1, 2, 3, 7, text.len().max(1)] {
            let mut parser = Parser::default();
            let mut events = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                events.extend(parser.push(piece).unwrap());
            }
            events.extend(parser.finish());
            let seen: Vec<_> =
                events.iter().map(|event| (event.name.as_str(), event.data.as_str())).collect();
            assert_eq!(seen, expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn events_do_not_depend_on_how_bytes_arrive() {
        check("event: a\ndata: {}\n\n", &[("a", "{}")]);
        check("data: 1\n\ndata:2\n\n", &[("", "1"), ("", "2")]);
        check("data: 1\r\n\r\nevent: b\r\ndata: ü\r\n\r\n", &[("", "1"), ("b", "ü")]);
        check("data: one\ndata: two\n\n", &[("", "one\ntwo")]);
        check(": OPENROUTER PROCESSING\n\n: again\n\ndata: x\n\n", &[("", "x")]);
        check("id: 7\nretry: 10\nnonsense\ndata: x\n\n", &[("", "x")]);
        check("event: ping\n\n\n\n", &[]);
        check("data: last", &[("", "last")]);
        check("", &[]);
    }

    #[test]
    fn an_endless_line_is_rejected() {
        let mut parser = Parser::default();
        let piece = vec![b'x'; 1 << 20];
        let error = (0..100).find_map(|_| parser.push(&piece).err()).unwrap();
        assert_eq!(error.kind, ModelErrorKind::TooLarge);
    }
}
