//! Words of others: names that reach paths and refs, text that reaches a terminal, credentials in
//! it, and what a client asks the proxy for.

use redgreen_core::egress::{Entry, Target, parse, targets_in};
use redgreen_core::guard::{secret, secret_folder, secret_name, tokens};
use redgreen_core::names::{Branch, Label, Oid, RunBranch, RunFile, RunId, SalvageName, SessionId};
use redgreen_core::report::decisive::decisive;
use redgreen_core::{forge, page, text};

const LINES_MAX: usize = 10;

pub(crate) fn input(bytes: &[u8]) {
    if let Ok(Some((_, length))) = parse(bytes) {
        assert!(length <= bytes.len());
    }
    let Ok(words) = std::str::from_utf8(bytes) else { return };
    shown(words);
    named(words);
    secret::find(words);
    secret::hints(words);
    secret::cut(words, "[cut]");
    secret_name(words);
    secret_folder(words);
    tokens::count(words);
    targets_in(words);
    Entry::parse(words);
    Target::parse(words, Some(443));
    forge::pull_request_page(words, words);
    assert!(decisive(words, LINES_MAX).len() <= LINES_MAX);
}

/// Nothing that was made visible steers a terminal, and a line stays one.
fn shown(words: &str) {
    let steers = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    assert!(!text::visible(words).contains(steers));
    assert!(!text::on_one_line(words).contains(char::is_control));
    for line in text::without_commands(words).lines() {
        assert!(!line.trim_start().starts_with("::"), "{line:?}");
    }
    let page = page::escaped(words);
    assert!(!page.contains(['<', '>', '"', '\'']) && !page.contains("##"), "{page:?}");
    assert!(!page.lines().any(|line| line.trim_start().starts_with("::")), "{page:?}");
    let written = serde_json::to_string(words).unwrap_or_default();
    let safe = text::json(&written);
    assert_eq!(serde_json::from_str::<String>(&safe).ok().as_deref(), Some(words));
}

/// A name that is accepted leads nowhere else as a path, and is no option as a word of a command
/// line.
fn named(words: &str) {
    let as_path = [
        RunId::parse(words).is_ok(),
        RunFile::parse(words).is_ok(),
        SalvageName::parse(words).is_ok(),
    ];
    let as_word = [
        Branch::parse(words).is_ok(),
        RunBranch::parse(words).is_ok(),
        SessionId::parse(words).is_ok(),
        Oid::parse(words).is_ok(),
    ];
    if as_path.contains(&true) {
        assert!(!words.split('/').any(|part| part == ".." || part.is_empty()), "{words:?}");
    }
    if as_word.contains(&true) {
        assert!(!words.starts_with('-') && !words.contains(".."), "{words:?}");
    }
    if as_path.contains(&true) || as_word.contains(&true) {
        assert!(!words.contains(char::is_control), "{words:?}");
    }
    assert!(Label::parse(&Label::of(words)).is_ok(), "{words:?}");
}
