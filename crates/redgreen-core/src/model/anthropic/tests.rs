//! Tests for Anthropic's Messages API: encoding and decoding.

use serde_json::json;

use super::super::wire::Wire;
use super::super::wire::tests::{encoded, hear};

pub(in crate::model) const WHOLE: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"msg_1","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":1}}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ok"}}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"Read","input":{},"caller":{"type":"direct"}}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":" \"a\"}"}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}"#,
    r#"{"type":"message_stop"}"#,
];

#[test]
fn marks_the_prefix_for_caching_and_puts_results_before_text() {
    let cached = json!({"type": "ephemeral"});
    assert_eq!(
        encoded(Wire::Anthropic),
        json!({
            "model": "m", "max_tokens": 9, "stream": true,
            "system": [{"type": "text", "text": "be brief", "cache_control": cached}],
            "tools": [{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "text", "text": "now"}]},
                {"role": "assistant", "content": [
                    {"secret": 1},
                    {"type": "text", "text": "reading"},
                    {"raw": 1},
                    {"type": "tool_use", "id": "b", "name": "Read", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "cut off", "is_error": true},
                    {"type": "text", "text": "and then", "cache_control": cached}]},
            ],
        })
    );
}

#[test]
fn assembles_an_answer_from_its_events() {
    assert_eq!(
        hear(Wire::Anthropic, WHOLE),
        r#"keep {"type":"thinking","thinking":"hm","signature":"sig"}; say "ok"; call t1 Read {"path":"a"}; ToolUse 10+5+3>20"#
    );
    assert_eq!(hear(Wire::Anthropic, &WHOLE[..WHOLE.len() - 1]), "Network: the answer ended early");
}

#[test]
fn a_repeated_start_event_continues_the_block() {
    let start =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let piece =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"la"}}"#;
    let end = [
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    assert_eq!(
        hear(Wire::Anthropic, &[start, piece, start, piece, end[0], end[1]]),
        r#"say "lala"; End 0+0+0>0"#
    );
}

#[track_caller]
fn ending(delta: &str, expected: &str) {
    let call = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Read","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
    ];
    let last = format!(r#"{{"type":"message_delta","delta":{delta}}}"#);
    let seen = hear(Wire::Anthropic, &[call[0], call[1], &last, r#"{"type":"message_stop"}"#]);
    assert_eq!(seen, expected);
}

#[test]
fn maps_every_stop_reason() {
    ending(r#"{"stop_reason":"tool_use"}"#, r#"call t Read {"a":1}; ToolUse 0+0+0>0"#);
    ending(r#"{"stop_reason":"end_turn"}"#, r#"call t Read {"a":1}; ToolUse 0+0+0>0"#);
    ending(r#"{"stop_reason":"pause_turn"}"#, r#"call t Read {"a":1}; Pause 0+0+0>0"#);
    // A call that looks complete must not run in these cases.
    ending(
        r#"{"stop_reason":"news"}"#,
        r#"call t Read "{\"a\":1}"; Other { word: "news" } 0+0+0>0"#,
    );
    ending(r#"{"stop_reason":"max_tokens"}"#, r#"call t Read "{\"a\":1}"; MaxTokens 0+0+0>0"#);
    ending(
        r#"{"stop_reason":"model_context_window_exceeded"}"#,
        r#"call t Read "{\"a\":1}"; ContextFull 0+0+0>0"#,
    );
    ending(
        r#"{"stop_reason":"refusal","stop_details":{"category":"cyber","explanation":null}}"#,
        r#"call t Read "{\"a\":1}"; Refusal { why: "cyber" } 0+0+0>0"#,
    );
    ending(r#"{"stop_reason":null}"#, "Server: invalid answer: the stop reason is missing");
}

#[test]
fn an_error_event_maps_to_its_error_kind() {
    for (kind, expected) in [
        ("overloaded_error", "Overloaded: x"),
        ("rate_limit_error", "RateLimit: x"),
        ("api_error", "Server: x"),
        ("authentication_error", "Auth: x"),
        ("news_error", "Server: x"),
    ] {
        let event = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"x"}}}}"#);
        assert_eq!(hear(Wire::Anthropic, &[WHOLE[0], &event]), expected);
    }
}
