//! What several frameworks write alike, each format read in one place. A parser takes bytes, believes none of them,
//! never panics, keeps bounded messages, and says whether the report came to its end; it does not judge.

pub mod cobertura;
pub mod counter;
pub mod go_cover;
pub mod go_json;
pub mod gtest_json;
pub mod jacoco;
pub mod junit;
pub mod lcov;
pub mod phpunit_list;
pub mod stream;
pub mod tap;
mod xml;

/// What a message in a report may take; the rest is of no use to a reader and would fill prompts and notes.
pub const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// The end of a text, within [`MESSAGE_BYTES_MAX`]: runners put what matters last.
pub(crate) fn bounded_tail(text: &str) -> String {
    let text = text.trim();
    let start = text.len().saturating_sub(MESSAGE_BYTES_MAX);
    let start = (start..=text.len()).find(|&index| text.is_char_boundary(index)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default().to_owned()
}

/// The beginning of a text, within [`MESSAGE_BYTES_MAX`].
pub(crate) fn bounded_head(text: &str) -> String {
    let text = text.trim();
    text.get(..text.floor_char_boundary(MESSAGE_BYTES_MAX)).unwrap_or_default().to_owned()
}

/// The lines of bytes that need not be text.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
pub(crate) mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_between_characters() {
        let long = "é".repeat(MESSAGE_BYTES_MAX);
        assert!(bounded_head(&long).len() <= MESSAGE_BYTES_MAX && bounded_tail(&long).len() <= MESSAGE_BYTES_MAX);
        assert_eq!((bounded_head(" a "), bounded_tail(" a ")), ("a".to_owned(), "a".to_owned()));
    }
}
