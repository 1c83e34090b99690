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
         <footer>Written by redgreen {}. Every verdict rests on a run of the project's own tests.</footer>\n\
         </main>\n</body>\n</html>\n",
        escaped(title),
        env!("CARGO_PKG_VERSION"),
    )
}

/// Text for HTML, in an element or an attribute; nothing in it hides or reorders words.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text::visible(text).chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe
}
