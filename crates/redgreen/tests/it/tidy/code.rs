//! Rust text without comments and the contents of literals, so that rules look only at code.

/// The same text, character for character and line for line, with spaces in place of everything
/// that is not code.
pub(super) fn only(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < letters.len() {
        let end = skip(&letters, at);
        if end == at {
            code.push(letters[at]);
            at += 1;
        } else {
            let blank = |letter: &char| if *letter == '\n' { '\n' } else { ' ' };
            code.extend(letters[at..end].iter().map(blank));
            at = end;
        }
    }
    code
}

/// Where the comment or literal at `at` ends, or `at` if none starts there.
fn skip(letters: &[char], at: usize) -> usize {
    let rest = &letters[at..];
    let in_word = at > 0 && is_word(letters[at - 1]);
    match rest {
        ['/', '/', ..] => at + rest.iter().take_while(|letter| **letter != '\n').count(),
        ['/', '*', ..] => at + block_comment(rest),
        ['"', ..] => at + string(rest),
        ['r', '"' | '#', ..] if !in_word => at + raw_string(rest, 1),
        ['b' | 'c', 'r', '"' | '#', ..] if !in_word => at + raw_string(rest, 2),
        ['\'', '\\', _, tail @ ..] => {
            at + 4 + tail.iter().take_while(|letter| **letter != '\'').count()
        }
        // Anything else after a quote is a lifetime.
        ['\'', _, '\'', ..] => at + 3,
        _ => at,
    }
    .min(letters.len())
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

fn raw_string(rest: &[char], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|letter| **letter == '#').count();
    // `r#name` is an identifier.
    if rest.get(prefix + hashes) != Some(&'"') {
        return 0;
    }
    let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = prefix + hashes + 1;
    let inside = rest[body..].windows(close.len()).take_while(|window| *window != close).count();
    body + inside + close.len()
}

/// Whether `line` contains `word` as a whole word.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

pub(super) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[test]
fn comments_and_literals_are_blank_and_code_is_not() {
    let rows = [
        ("a // b", "a"),
        ("a /* b /* c */ d */ e", "a e"),
        (r#"a("b\"c", d)"#, "a( , d)"),
        (r##"a(r#"b"c"#, d)"##, "a( , d)"),
        ("r#type.b", "r#type.b"),
        (r"a('\'', 'b', '\u{1f}')", "a( , , )"),
        ("fn a<'b>(c: &'b str)", "fn a<'b>(c: &'b str)"),
        ("\"a\nb\"\nc", " c"),
    ];
    for (text, expected) in rows {
        let code = only(text);
        assert_eq!(code.lines().count(), text.lines().count(), "{text}");
        let squeezed: Vec<&str> = code.split_whitespace().collect();
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(squeezed, expected, "{text}");
    }
}

#[test]
fn a_word_is_found_whole() {
    assert!(has_word("(word)", "word"));
    assert!(!has_word("words", "word"));
    assert!(!has_word("a_word", "word"));
}
