//! What all HTML pages of redgreen share: no script, no network, colours for light and dark, one
//! way to escape.

use crate::text;

/// Colours, type and cards, for light and dark.
pub const STYLE: &str = include_str!("page.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A whole page. The title is escaped here, the body has to be.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>{} · redgreen</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\
         <footer>Written by redgreen {}. Every verdict is based on a run of the project's own tests.</footer>\n\
         </main>\n</body>\n</html>\n",
        escaped(title),
        env!("CARGO_PKG_VERSION"),
    )
}

/// Text for HTML, in an element or an attribute; nothing in it hides or reorders words, and nothing
/// is a command for a CI system that reads the page from stdout (see `text::without_commands`).
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let text = text::visible(text);
    let mut letters = text.chars().peekable();
    let mut begins = true;
    while let Some(letter) = letters.next() {
        // The last letter may be followed by one of another text.
        let doubled = letters.peek().is_none_or(|next| *next == letter);
        match letter {
            ':' if begins && doubled => safe.push_str("&#58;"),
            '#' if doubled => safe.push_str("&#35;"),
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
        begins = letter == '\n' || begins && letter.is_whitespace();
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_neither_markup_nor_a_command() {
        for (text, expected) in [
            ("a < b & 'c'", "a &lt; b &amp; &#39;c&#39;"),
            ("a::b: c # d", "a::b: c # d"),
            ("::error::x", "&#58;:error::x"),
            ("a\n \t::error::x", "a\n \t&#58;:error::x"),
            ("a\r\n::x", "a\n&#58;:x"),
            ("##[error]x", "&#35;#[error]x"),
            ("a ###vso[x]", "a &#35;&#35;#vso[x]"),
            // Two texts next to each other.
            ("a #", "a &#35;"),
            (":", "&#58;"),
        ] {
            assert_eq!(escaped(text), expected, "{text:?}");
        }
    }
}
