//! A handoff note of anybody's repository: read, or refused in words; what was read is written and
//! read again the same.

use redgreen_core::handoff::Handoff;
use redgreen_core::note::Note;
use redgreen_core::test_list::{self, EngineItems, TestList};

pub(crate) fn input(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Handoff::parse(text) {
        Ok(note) => assert_eq!(Handoff::parse(&note.render()), Ok(note)),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
    if let Ok(Note::Plain(note)) = Note::parse(text) {
        note.current();
        note.wishes();
        note.next();
    }
    TestList::parse(text);
    let known = EngineItems { completed: &[], pending: &[] };
    test_list::judge(text, Some(text), known, &[]);
}
