//! Tests for Chat Completions: encoding, and decoding of many servers' answers.

use serde_json::json;

use super::super::wire::Wire;
use super::super::wire::tests::{encoded, hear};

pub(in crate::model) const WHOLE: &[&str] = &[
    r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
    r#"{"choices":[{"delta":{"content":"ok"}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"Read","arguments":""}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]}}]}"#,
    r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":null}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":18,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":5,"cache_write_tokens":3}}}"#,
    "[DONE]",
];

#[test]
fn results_are_messages_and_reasoning_is_sent_back() {
    assert_eq!(
        encoded(Wire::Chat),
        json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 9,
            "tools": [{"type": "function", "function":
                {"name": "Read", "description": "reads", "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "go\n\nnow"},
                {"role": "assistant", "content": "reading", "secret": 1, "tool_calls": [
                    {"raw": 1},
                    {"id": "b", "type": "function", "function": {"name": "Read", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "a", "content": "one"},
                {"role": "tool", "tool_call_id": "b", "content": "cut off"},
                {"role": "user", "content": "and then"},
            ],
        })
    );
}

#[test]
fn assembles_an_answer_from_its_events() {
    let expected = r#"keep {"reasoning_content":"hm"}; say "ok"; call c1 Read {"path":"a"}; ToolUse 10+5+3>20"#;
    assert_eq!(hear(Wire::Chat, WHOLE), expected);
    // Not every server sends the end mark, but all send a stop reason.
    assert_eq!(hear(Wire::Chat, &WHOLE[..WHOLE.len() - 1]), expected);
    assert_eq!(hear(Wire::Chat, &WHOLE[..6]), "Network: the answer ended early");
    assert_eq!(hear(Wire::Chat, &["[DONE]"]), "Network: the answer ended early");
}

#[track_caller]
fn calling(pieces: &[&str], expected: &str) {
    let events: Vec<String> = pieces
        .iter()
        .map(|piece| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{piece}]}}}}]}}"#))
        .collect();
    let mut events: Vec<&str> = events.iter().map(String::as_str).collect();
    events.push(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#);
    assert_eq!(hear(Wire::Chat, &events), format!("{expected}; ToolUse 0+0+0>0"));
}

#[test]
fn separates_calls_of_all_servers() {
    // Complete calls without an index, each with its id.
    calling(
        &[
            r#"{"id":"x","function":{"name":"A","arguments":"{}"}}"#,
            r#"{"id":"y","function":{"name":"B","arguments":"{\"k\":1}"}}"#,
        ],
        r#"call x A {}; call y B {"k":1}"#,
    );
    // All calls have the same index.
    calling(
        &[
            r#"{"index":0,"id":"x","function":{"name":"A","arguments":"{}"}}"#,
            r#"{"index":0,"id":"y","function":{"name":"A","arguments":"{}"}}"#,
        ],
        "call x A {}; call y A {}",
    );
    // Neither an index nor an id.
    calling(
        &[
            r#"{"function":{"name":"A","arguments":"{\"k\""}}"#,
            r#"{"function":{"arguments":":1}"}}"#,
            r#"{"function":{"name":"B","arguments":""}}"#,
        ],
        r#"call redgreen_call_0 A {"k":1}; call redgreen_call_1 B {}"#,
    );
    // Interleaved pieces.
    calling(
        &[
            r#"{"index":0,"id":"x","function":{"name":"A","arguments":""}},{"index":1,"id":"y","function":{"name":"B"}}"#,
            r#"{"index":1,"function":{"arguments":"{\"b\":1}"}},{"index":0,"function":{"arguments":"{\"a\":1}"}}"#,
        ],
        r#"call x A {"a":1}; call y B {"b":1}"#,
    );
    // Every piece repeats the id.
    calling(
        &[
            r#"{"index":0,"id":"x","function":{"name":"A","arguments":"{\"k\""}}"#,
            r#"{"index":0,"id":"x","function":{"name":"A","arguments":":1}"}}"#,
        ],
        r#"call x A {"k":1}"#,
    );
    // Arguments as an object, and text that is not JSON.
    calling(
        &[r#"{"id":"x","function":{"name":"A","arguments":{"k":[1]}}}"#],
        r#"call x A {"k":[1]}"#,
    );
    calling(
        &[r#"{"id":"x","function":{"name":"A","arguments":"path: a"}}"#],
        r#"call x A "path: a""#,
    );
    calling(&[r#"{"id":"x","function":{"name":"A","arguments":"[1]"}}"#], r#"call x A "[1]""#);
}

#[test]
fn maps_every_stop_reason() {
    for (word, expected) in [
        ("stop", "End"),
        ("length", "MaxTokens"),
        ("tool_calls", "End"),
        ("content_filter", r#"Refusal { why: "stopped by the content filter" }"#),
        ("news", r#"Other { word: "news" }"#),
    ] {
        let event =
            format!(r#"{{"choices":[{{"delta":{{"content":"x"}},"finish_reason":"{word}"}}]}}"#);
        assert_eq!(hear(Wire::Chat, &[&event]), format!(r#"say "x"; {expected} 0+0+0>0"#));
    }
    let refusal = r#"{"choices":[{"delta":{"refusal":"no"},"finish_reason":"stop"}]}"#;
    assert_eq!(hear(Wire::Chat, &[refusal]), r#"Refusal { why: "no" } 0+0+0>0"#);
}

#[test]
fn tolerates_deviations_of_other_servers() {
    let whole = r#"{"choices":[{"message":{"role":"assistant","content":"all at once"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_cache_hit_tokens":4}}"#;
    assert_eq!(hear(Wire::Chat, &[whole]), r#"say "all at once"; End 5+4+0>1"#);
    let error = r#"{"error":{"code":502,"message":"upstream"},"choices":[{"delta":{},"finish_reason":"error"}]}"#;
    assert_eq!(hear(Wire::Chat, &[error]), "Server: upstream");
    let details = [
        r#"{"choices":[{"delta":{"reasoning":"hm","reasoning_details":[{"n":1}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_details":[{"n":2}]},"finish_reason":"stop"}]}"#,
    ];
    assert_eq!(
        hear(Wire::Chat, &details),
        r#"keep {"reasoning_details":[{"n":1},{"n":2}]}; End 0+0+0>0"#
    );
}
