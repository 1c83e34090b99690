//! Parses one line of `test-list.md`: whether it is an item and which mark it has, in any list
//! syntax that people and models use.

/// An item as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListLine<'a> {
    pub(super) description: &'a str,
    /// It is marked as done: `[x]`, `[✓]`, `~~struck~~`, a checked HTML box.
    pub(super) ticked: bool,
    /// The text before a markdown box, to rewrite the line unchanged.
    pub(super) lead: Option<&'a str>,
}

/// Letters that mark an item as done. A digit is a footnote; other letters are keys or priorities.
const LETTERS: &[char] = &['x', 'X', 'v', 'V', 'y', 'Y'];
const WORDS: &[&str] =
    &["done", "ok", "yes", "complete", "completed", "finished", "passed", "pass"];
const OPEN_SYMBOLS: &[char] = &['☐', '□', '⬜'];
const TICK_SYMBOLS: &[char] = &['☑', '☒', '✅', '✔', '✓', '🗹', '√'];
/// Follows some of the symbols and selects their emoji form.
const VARIATION: char = '\u{fe0f}';

pub(super) fn read(line: &str) -> Option<ListLine<'_>> {
    let text = line.trim();
    html(text).or_else(|| markdown(line, text))
}

fn markdown<'a>(line: &'a str, text: &'a str) -> Option<ListLine<'a>> {
    let quoted = text.trim_start_matches(['>', ' ', '\t']);
    let (quoted, struck_line) = struck(quoted);
    let rest = bullet(quoted)?;
    let (rest, struck_rest) = struck(rest);
    let claimed = struck_line || struck_rest;
    if let Some((inner, after)) = boxed(rest) {
        let ticked = tick_of(inner)?;
        let (description, struck_words) = struck(after.trim());
        let plain = !(claimed || struck_words);
        let at = line.find('[').filter(|_| plain);
        let lead = at.and_then(|at| line.get(..at));
        return item(description, ticked || !plain, lead);
    }
    let mut letters = rest.chars();
    match letters.next() {
        Some(symbol) if OPEN_SYMBOLS.contains(&symbol) => {
            item(unmarked(letters.as_str()), claimed, None)
        }
        Some(symbol) if TICK_SYMBOLS.contains(&symbol) => {
            item(unmarked(letters.as_str()), true, None)
        }
        _ if claimed => item(rest, true, None),
        _ => None,
    }
}

/// Parses `<input type="checkbox" checked> adds`, inside a list item or not.
fn html(text: &str) -> Option<ListLine<'_>> {
    let start = text.find("<input")?;
    let (tag, after) = text.get(start..)?.split_once('>')?;
    if !tag.to_lowercase().contains("checkbox") {
        return None;
    }
    let ticked = tag.split([' ', '\t', '/']).any(|word| word.to_lowercase().starts_with("checked"));
    let end = after.find('<').unwrap_or(after.len());
    item(after.get(..end)?, ticked, None)
}

fn item<'a>(description: &'a str, ticked: bool, lead: Option<&'a str>) -> Option<ListLine<'a>> {
    let description = description.trim();
    (!description.is_empty()).then_some(ListLine { description, ticked, lead })
}

/// The text after `-`, `*`, `+`, `1.` or `1)`.
fn bullet(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['-', '*', '+']).or_else(|| {
        let digits = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
        (digits.len() < text.len()).then(|| digits.strip_prefix(['.', ')'])).flatten()
    })?;
    Some(rest.trim_start())
}

/// The content of a box and the text after it; `[words](address)` is a link.
fn boxed(text: &str) -> Option<(&str, &str)> {
    let (inner, after) = text.strip_prefix('[')?.split_once(']')?;
    (!after.starts_with(['(', '[', ':'])).then_some((inner, after))
}

/// Whether a box with this content is ticked; `None` if it is not a box.
fn tick_of(inner: &str) -> Option<bool> {
    let mark = inner.trim().trim_matches(VARIATION);
    let mut letters = mark.chars();
    match (letters.next(), letters.next()) {
        // `[]` is not a box, `[ ]` is.
        (None, _) => (!inner.is_empty()).then_some(false),
        (Some(letter), None) => {
            (LETTERS.contains(&letter) || !letter.is_alphanumeric()).then_some(true)
        }
        (Some(_), Some(_)) => WORDS.contains(&mark.to_lowercase().as_str()).then_some(true),
    }
}

/// Strips surrounding `~~`, `<s>` or `<del>`, and returns whether there were any.
fn struck(text: &str) -> (&str, bool) {
    for (open, close) in [("~~", "~~"), ("<s>", "</s>"), ("<del>", "</del>")] {
        if let Some(inside) = text.strip_prefix(open) {
            let inside = inside.trim_end();
            return (inside.strip_suffix(close).unwrap_or(inside).trim(), true);
        }
    }
    (text, false)
}

fn unmarked(text: &str) -> &str {
    text.trim_start_matches(VARIATION)
}
