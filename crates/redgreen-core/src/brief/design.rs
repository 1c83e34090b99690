//! A design document: its title is the request, and every agent sees the whole document.

use super::{Brief, Document, Door};

/// Creates the brief for the design of an issue.
pub fn brief(issue: &str, design: Document, context: Vec<Document>) -> Brief {
    let issue = issue.trim().trim_start_matches('#');
    let title = title(&design.text).unwrap_or_else(|| design.path.clone());
    Brief {
        request: format!("Issue {issue}: {title}"),
        door: Door::Design,
        id: issue.to_owned(),
        design: Some(design),
        context,
        ..Brief::default()
    }
}

/// The first heading, or the first line with words.
fn title(text: &str) -> Option<String> {
    let lines = || {
        text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|line| !line.is_empty())
    };
    let heading = lines().find_map(|line| line.strip_prefix("# "));
    let words = heading.or_else(|| lines().find(|line| line.chars().any(char::is_alphanumeric)))?;
    Some(words.trim_matches('#').trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_of_a_design_is_the_request() {
        for (text, request) in [
            ("# 87 - Roman numerals\n\ntext", "Issue 87: 87 - Roman numerals"),
            ("\u{feff}\n---\nplain words\n# Heading", "Issue 87: Heading"),
            ("---\nplain words\n", "Issue 87: plain words"),
            ("", "Issue 87: docs/lld.md"),
        ] {
            let design = Document {
                path: "docs/lld.md".to_owned(),
                text: text.to_owned(),
                ..Document::default()
            };
            assert_eq!(brief(" #87 ", design, Vec::new()).request, request, "{text:?}");
        }
    }
}
