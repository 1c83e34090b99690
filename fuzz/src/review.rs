//! The review in the browser: patches, and comments on their lines.

use redgreen_core::review::comment::{self, Comments};
use redgreen_core::review::patch;
use redgreen_core::steer;
use redgreen_core::syntax::{Language, highlight};

pub(crate) fn input(bytes: &[u8]) {
    if let Ok(comments) = Comments::parse(bytes) {
        assert_eq!(Comments::parse(comments.render().as_bytes()).as_ref(), Ok(&comments));
        for message in comments.messages("words") {
            assert!(steer::words(&message).is_ok(), "{message}");
        }
    }
    let text = String::from_utf8_lossy(bytes);
    for hunk in patch::parse(&text).iter().flat_map(|file| &file.hunks) {
        assert!(hunk.pairs().len() <= hunk.lines.len());
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (old, new) = lines.split_at(lines.len() / 2);
    let (old, new) = (old.concat(), new.concat());
    let last = new.lines().count().max(1);
    for line in [0, 1, 3, u32::MAX] {
        let found = comment::anchor(&old, &new, line).line;
        assert!(found >= 1 && usize::try_from(found).is_ok_and(|found| found <= last));
    }
    for language in [Language::Python, Language::Rust, Language::Tsx] {
        for (line, spans) in text.split('\n').zip(&highlight(language, &text)) {
            assert!(spans.iter().all(|span| line.get(span.place.clone()).is_some()));
        }
    }
}
