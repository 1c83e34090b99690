//! Wraps lines between words. Only terminals need this: logs, pipes and files get whole lines.

use super::screen;

/// With less room than this next to the margin, the terminal's own wrapping is no worse.
const COLUMNS_MIN: usize = 20;

/// The text wrapped between words, with further lines below the margin. `first` is the start
/// column. Without `columns`, only existing lines are indented.
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
        // Too little room.
        check(words, 2, Some(12), words);
        check("a\nb", 2, None, "a\n  b");
        check(
            "a /a/path/that/is/longer/than/a/line b",
            2,
            Some(22),
            "a\n  /a/path/that/is/longer/than/a/line\n  b",
        );
    }

    #[test]
    fn colours_take_no_room() {
        let red = paint(BAD, "one two three four");
        assert_eq!(wrap(&format!("{red} five"), 0, "", Some(23)), format!("{red} five"));
    }
}
