//! Programs with plain text output. aider always exits with 0, so its errors are recognised by
//! their text.

use super::{AgentError, AgentOutput};
use crate::agent::AgentActivity;

pub(super) fn text(agent_output: &mut AgentOutput, line: &str) -> Vec<AgentActivity> {
    agent_output.says(&format!("{line}\n")).into_iter().collect()
}

pub(super) fn aider(agent_output: &mut AgentOutput, line: &str) -> Vec<AgentActivity> {
    if let Some(error) = line.strip_prefix("litellm.").filter(|words| words.contains("Error")) {
        agent_output.fails(AgentError::new(error).status(litellm_status(error)));
        return Vec::new();
    }
    if let Some((tokens, usd)) = tokens(line) {
        // It recovered from the error.
        agent_output.error = None;
        agent_output.spent_more(Some(tokens), usd);
        return Vec::new();
    }
    if let Some(file) = line.strip_prefix("Applied edit to ") {
        agent_output.note(line);
        return vec![AgentActivity::Tool { name: "edit".to_owned(), what: file.to_owned() }];
    }
    text(agent_output, line)
}

/// Parses `Tokens: 2.3k sent, 16 received. Cost: $0.01 message, $0.02 session.`
fn tokens(line: &str) -> Option<(u64, Option<f64>)> {
    let mut words = line.strip_prefix("Tokens: ")?.split_whitespace().peekable();
    let (mut tokens, mut usd) = (0u64, None);
    while let Some(word) = words.next() {
        let unit = words.peek().map_or("", |unit| unit.trim_end_matches([',', '.']));
        match unit {
            "sent" | "received" => tokens = tokens.saturating_add(thousands(word)?),
            "message" => usd = word.trim_start_matches('$').parse().ok(),
            _ => {}
        }
    }
    Some((tokens, usd))
}

/// Parses `767`, `2.3k` or `1.2M`.
fn thousands(word: &str) -> Option<u64> {
    let (digits, zeros) = match (word.strip_suffix('k'), word.strip_suffix('M')) {
        (Some(digits), _) => (digits, 3),
        (None, Some(digits)) => (digits, 6),
        (None, None) => (word, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let part = format!("{part:0<zeros$}");
    let whole: u64 = whole.replace(',', "").parse().ok()?;
    let part: u64 = if zeros == 0 { 0 } else { part.get(..zeros)?.parse().ok()? };
    whole.checked_mul(10u64.pow(u32::try_from(zeros).ok()?))?.checked_add(part)
}

fn litellm_status(words: &str) -> Option<u64> {
    const ROWS: [(&str, u64); 7] = [
        ("AuthenticationError", 401),
        ("PermissionDeniedError", 403),
        ("NotFoundError", 404),
        ("BadRequestError", 400),
        ("RateLimitError", 429),
        ("Timeout", 504),
        ("InternalServerError", 500),
    ];
    ROWS.iter().find(|(name, _)| words.contains(name)).map(|(_, status)| *status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_from_words() {
        for (line, expected) in [
            ("Tokens: 767 sent, 16 received.", Some((783, None))),
            (
                "Tokens: 2.3k sent, 1.05k received. Cost: $0.01 message, $0.02 session.",
                Some((3350, Some(0.01))),
            ),
            ("Tokens: 1,200 sent", Some((1200, None))),
            ("Tokens: many sent", None),
            ("I used tokens.", None),
        ] {
            assert_eq!(tokens(line), expected, "{line}");
        }
    }
}
