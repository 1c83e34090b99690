//! Formats that several frameworks share, one parser each. A parser treats all bytes as untrusted,
//! never panics, keeps bounded messages, and reports whether the input was complete. It does not
//! judge.

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

/// Maximum size of a message in a report. Longer messages do not help readers and would fill
/// prompts and notes.
pub const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// The end of a text, at most [`MESSAGE_BYTES_MAX`]: runners print the important part last.
pub(crate) fn bounded_tail(text: &str) -> String {
    let text = text.trim();
    let start = text.len().saturating_sub(MESSAGE_BYTES_MAX);
    let start =
        (start..=text.len()).find(|&index| text.is_char_boundary(index)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default().to_owned()
}

/// The beginning of a text, at most [`MESSAGE_BYTES_MAX`].
pub(crate) fn bounded_head(text: &str) -> String {
    let text = text.trim();
    text.get(..text.floor_char_boundary(MESSAGE_BYTES_MAX)).unwrap_or_default().to_owned()
}

/// The lines of bytes that may not be UTF-8.
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
        assert!(
            bounded_head(&long).len() <= MESSAGE_BYTES_MAX
                && bounded_tail(&long).len() <= MESSAGE_BYTES_MAX
        );
        assert_eq!((bounded_head(" a "), bounded_tail(" a ")), ("a".to_owned(), "a".to_owned()));
    }
}
