//! Lines that end between words. Only a terminal's lines have an end: a log, a pipe and a file get them whole.

use super::screen;

/// With less room than this beside the margin, a terminal's own way to break lines is no worse.
const COLUMNS_MIN: usize = 20;

/// The text broken between words, each further line below the margin. `first` is the column where it begins; without
/// `columns` only the lines that it has already are moved below the margin.
pub(super) fn wrap(text: &str, first: usize, margin: &str, columns: Option<usize>) -> String {
    let edge = columns.filter(|columns| *columns >= margin.len() + COLUMNS_MIN);
    let mut wrapped = String::with_capacity(text.len());
    let mut column = first;
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            wrapped.push('\n');
            wrapped.push_str(margin);
            column = margin.len();
        }
        let Some(edge) = edge else {
            wrapped.push_str(line);
            continue;
        };
        for word in line.split_inclusive(' ') {
            if column + screen::width(word.trim_end()) > edge && column > margin.len() {
                wrapped.truncate(wrapped.trim_end_matches(' ').len());
                wrapped.push('\n');
                wrapped.push_str(margin);
                column = margin.len();
            }
            wrapped.push_str(word);
            column += screen::width(word);
        }
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::super::{BAD, paint};
    use super::*;

    #[test]
    fn lines_end_between_words() {
        let check = |text: &str, first: usize, columns: Option<usize>, expected: &str| {
            assert_eq!(wrap(text, first, "  ", columns), expected, "{text:?}");
        };
        let words = "one two three four five six";
        check(words, 2, None, words);
        check(words, 2, Some(80), words);
        check(words, 2, Some(22), "one two three four\n  five six");
        check(words, 12, Some(22), "one two\n  three four five six");
        // There is no room to speak of.
        check(words, 2, Some(12), words);
        check("a\nb", 2, None, "a\n  b");
        check("a /a/path/that/is/longer/than/a/line b", 2, Some(22), "a\n  /a/path/that/is/longer/than/a/line\n  b");
    }

    #[test]
    fn colours_take_no_room() {
        let red = paint(BAD, "one two three four");
        assert_eq!(wrap(&format!("{red} five"), 0, "", Some(23)), format!("{red} five"));
    }
}
