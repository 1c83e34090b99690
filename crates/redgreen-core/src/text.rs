//! Foreign text: test messages, agent answers, briefs, names of files and branches. It must not
//! control a terminal, hide or reorder words, add lines, or issue commands to the CI system that
//! reads our output.
//!
//! Characters that can do so are replaced by visible ones: a control character by its symbol (`␛`,
//! `␍`), any other by its code point (`<U+202E>`).

use std::borrow::Cow;
use std::fmt::Write;

/// For text of several lines: keeps newlines and tabs, and converts `\r\n` to a newline.
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, Lines::Several)
}

/// For text on one line, such as a name: newlines and tabs become visible too.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    replaced(text, Lines::One)
}

/// A sentence about something with a name: a name with line breaks adds no line. Other characters
/// are left to the printer.
pub fn without_line_breaks(text: &str) -> Cow<'_, str> {
    if text.contains(['\n', '\r']) {
        Cow::Owned(text.replace('\n', "␊").replace('\r', "␍"))
    } else {
        Cow::Borrowed(text)
    }
}

/// A word of a command for users to paste into a shell, quoted if the shell would interpret it. Git
/// allows a branch called `main;rm`.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(in_quotes(text))
}

/// The same, always quoted.
pub fn in_quotes(text: &str) -> String {
    format!("'{}'", on_one_line(text).replace('\'', r"'\''"))
}

/// Removes SGR sequences (`ESC [ 3 1 m`). Test runners colour their output, which is harmless and
/// carries no information. All other sequences stay, for `visible` to show.
pub fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        plain.push_str(before);
        rest = match colour_end(after) {
            Some(end) => after.get(end..).unwrap_or_default(),
            None => {
                plain.push(ESCAPE);
                after
            }
        };
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Equivalent JSON that is harmless to print. In JSON such characters occur only in strings, where
/// an escape means the same; serde already escapes those below U+0020.
pub fn json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(is_deceptive_in_json) && !json.contains("##") {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len());
    for (at, letter) in json.char_indices() {
        let rest = json.get(at..).unwrap_or_default();
        if is_deceptive_in_json(letter) || hash_command(rest) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                write!(safe, "\\u{unit:04x}").ok();
            }
        } else {
            safe.push(letter);
        }
    }
    Cow::Owned(safe)
}

/// Text without commands for a CI system: GitHub Actions executes lines that start with `::name::`,
/// and `##[name]` anywhere; Azure Pipelines `##vso[`, TeamCity `##teamcity[`. A backslash disables
/// them. Our own colours are skipped, because they are removed if the output is not a terminal.
pub fn without_commands(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains('#') {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut begins = true;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some(end) = rest.strip_prefix(ESCAPE).and_then(colour_end) {
            let (colour, after) =
                rest.split_at_checked(ESCAPE.len_utf8() + end).unwrap_or((rest, ""));
            safe.push_str(colour);
            rest = after;
            continue;
        }
        if letter == ':' && begins && without_colours(ahead(rest)).starts_with("::") {
            safe.push('\\');
        }
        safe.push(letter);
        if letter == '#' && hash_command(&without_colours(ahead(rest))) {
            safe.push('\\');
        }
        begins = letter == '\n' || begins && letter.is_whitespace();
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    Cow::Owned(safe)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    One,
    Several,
}

const ESCAPE: char = '\u{1b}';
/// Enough for a colour: `38;2;255;255;255` for the foreground and the same for the background.
const COLOUR_BYTES_MAX: usize = 64;

fn replaced(text: &str, lines: Lines) -> Cow<'_, str> {
    let is_fine =
        |letter: char| !is_deceptive(letter) || is_layout(letter) && lines == Lines::Several;
    if text.chars().all(is_fine) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let after = letters.peek().copied();
        let newline = lines == Lines::Several && letter == '\r' && after == Some('\n');
        if newline {
            // The newline itself comes next.
        } else if is_fine(letter) || joins(before, letter, after) {
            shown.push(letter);
        } else {
            push_visible(&mut shown, letter);
        }
        before = Some(letter);
    }
    Cow::Owned(shown)
}

fn push_visible(shown: &mut String, letter: char) {
    let number = u32::from(letter);
    let picture = match number {
        0..=0x1f => char::from_u32(0x2400 + number),
        0x7f => Some('␡'),
        _ => None,
    };
    match picture {
        Some(picture) => shown.push(picture),
        // Writing to a String cannot fail.
        None => write!(shown, "<U+{number:04X}>").ok().unwrap_or_default(),
    }
}

fn is_layout(letter: char) -> bool {
    matches!(letter, '\n' | '\t')
}

fn is_deceptive_in_json(letter: char) -> bool {
    !is_layout(letter) && is_deceptive(letter)
}

/// Whether a character can steer a terminal, is invisible, or changes the order of its neighbours.
fn is_deceptive(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            // Invisible: soft hyphen, grapheme joiner, letters without a shape, zero-width blanks
            // and joiners.
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{3164}' | '\u{ffa0}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            // Direction: marks, embeddings, overrides, isolates; 2060 to 206f are also invisible.
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Other line ends, and interlinear annotations.
            | '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}'
            // Invisible letters that a model can read, and variation selectors.
            | '\u{e0000}'..='\u{e0fff}' | '\u{1d173}'..='\u{1d17a}')
        || is_noncharacter(letter)
}

/// Never part of a text; `view` uses them to mark its own colours.
fn is_noncharacter(letter: char) -> bool {
    matches!(letter, '\u{fdd0}'..='\u{fdef}') || u32::from(letter) & 0xfffe == 0xfffe
}

/// Whether a joiner or a variation selector is where a language or an emoji needs it: next to
/// letters beyond Latin, or in a keycap (`1️⃣`). There it changes a shape; between ASCII letters it
/// would only make two names look alike.
fn joins(before: Option<char>, letter: char, after: Option<char>) -> bool {
    let beyond = |letter: char| {
        letter > '\u{24f}' && !is_deceptive(letter) || matches!(letter, '\u{fe0e}' | '\u{fe0f}')
    };
    match letter {
        '\u{200c}' | '\u{200d}' => before.is_some_and(beyond) && after.is_some_and(beyond),
        '\u{fe0e}' | '\u{fe0f}' => {
            before.is_some_and(|before| beyond(before) || matches!(before, '©' | '®'))
                || after == Some('\u{20e3}')
        }
        _ => false,
    }
}

/// The end of a colour sequence whose `ESC` precedes `text`.
fn colour_end(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix('[')?;
    let count =
        parameters.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':')).count();
    (count <= COLOUR_BYTES_MAX && parameters.as_bytes().get(count) == Some(&b'm'))
        .then_some(count + 2)
}

/// The part of a line that can start a command, including our own colours.
fn ahead(text: &str) -> &str {
    const AHEAD_BYTES_MAX: usize = 256;
    let line = text.split('\n').next().unwrap_or_default();
    line.get(..line.floor_char_boundary(AHEAD_BYTES_MAX)).unwrap_or(line)
}

fn hash_command(text: &str) -> bool {
    ["##[", "##vso[", "##teamcity["].iter().any(|command| text.starts_with(command))
}

#[cfg(test)]
mod tests;
