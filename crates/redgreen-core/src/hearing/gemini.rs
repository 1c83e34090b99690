//! `gemini -o stream-json`. It ends with the status of a failed request, modulo 256, as its exit code; the words count.

use serde_json::Value;

use super::{Fault, Hearing, number, object, text};
use crate::agent::Said;

pub(super) fn event(hearing: &mut Hearing, event: &Value) -> Vec<Said> {
    match text(event, "/type") {
        Some("init") => hearing.met(text(event, "/session_id")),
        Some("message") if text(event, "/role") == Some("assistant") => {
            let words = text(event, "/content").unwrap_or_default();
            let piece = event.get("delta").and_then(Value::as_bool) == Some(true);
            return if piece { hearing.says(words) } else { hearing.says_all(words) }.into_iter().collect();
        }
        Some("tool_use") => {
            let name = text(event, "/tool_name").unwrap_or("a tool");
            return vec![hearing.does(name, object(event.get("parameters").unwrap_or(&Value::Null)))];
        }
        Some("error") => hearing.note(text(event, "/message").unwrap_or_default()),
        Some("result") => {
            hearing.over = true;
            hearing.spent(number(event, "/stats/total_tokens"), None);
            if text(event, "/status") == Some("error") {
                let words = text(event, "/error/message").unwrap_or("it failed and did not say why");
                hearing.fails(Fault::new(words).status(told_status(words)));
            }
        }
        _ => {}
    }
    Vec::new()
}

/// The body of the answer may be all that is told: `[API Error: {… "code": 429 …}]`.
fn told_status(words: &str) -> Option<u64> {
    let start = words.find('{')?;
    let mut bodies = serde_json::Deserializer::from_str(words.get(start..)?).into_iter::<Value>();
    number(&bodies.next()?.ok()?, "/error/code")
}
