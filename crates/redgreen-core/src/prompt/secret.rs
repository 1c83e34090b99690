//! Removes text that looks like a credential from everything that is sent to a model.

use crate::guard;

/// Replaces a credential.
pub const REMOVED: &str = "[secret removed]";

/// Prefixes of known kinds of keys.
const PREFIXES: [&str; 14] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
];
/// Shorter words are names, or parts of an example.
const KEY_CHARS_MIN: usize = 20;
const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const PEM_KEY: &str = "PRIVATE KEY-----";

/// The text without anything that looks like a credential.
pub fn cut(text: &str) -> String {
    let text = &guard::secret::cut(text, REMOVED);
    if !looks_risky(text) {
        return text.clone();
    }
    let mut kept = String::with_capacity(text.len());
    let mut in_key = false;
    for line in text.split_inclusive('\n') {
        if in_key {
            in_key = !line.contains(PEM_END);
        } else if line.contains(PEM_BEGIN) && line.contains(PEM_KEY) {
            in_key = !line.contains(PEM_END);
            kept.push_str(REMOVED);
            kept.push('\n');
        } else {
            words(&mut kept, line);
        }
    }
    kept
}

fn looks_risky(text: &str) -> bool {
    text.contains(PEM_KEY) || PREFIXES.iter().any(|prefix| text.contains(prefix))
}

fn words(kept: &mut String, line: &str) {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let mut rest = line;
    while let Some(start) = rest.find(is_part) {
        let (before, from) = rest.split_at(start);
        let (word, after) =
            from.split_at(from.find(|letter| !is_part(letter)).unwrap_or(from.len()));
        kept.push_str(before);
        kept.push_str(if is_key(word) { REMOVED } else { word });
        rest = after;
    }
    kept.push_str(rest);
}

fn is_key(word: &str) -> bool {
    let long = word.len() >= KEY_CHARS_MIN && word.chars().any(|letter| letter.is_ascii_digit());
    long && PREFIXES.iter().any(|prefix| word.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_keys_and_nothing_else() {
        for (text, expected) in [
            ("key = \"sk-ant-api03-abcdefghij0123456789\"\nx\n", "key = \"[secret removed]\"\nx\n"),
            ("ghp_0123456789abcdefghijklmnop", "[secret removed]"),
            ("AKIAIOSFODNN7EXAMPLE1 end", "[secret removed] end"),
            ("task-force sk-learn ASIA", "task-force sk-learn ASIA"),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb\n",
                "a\n[secret removed]\nb\n",
            ),
            ("-----BEGIN PRIVATE KEY-----\nMII", "[secret removed]\n"),
            ("plain ä text\n", "plain ä text\n"),
        ] {
            assert_eq!(cut(text), expected);
        }
    }
}
