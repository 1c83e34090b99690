//! Tests for OpenAI's Responses API: encoding and decoding.

use serde_json::json;

use super::super::wire::Wire;
use super::super::wire::tests::{encoded, hear};

pub(in crate::model) const WHOLE: &[&str] = &[
    r#"{"type":"response.created","response":{"status":"in_progress"},"sequence_number":0}"#,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1"}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm"}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"e"}}"#,
    r#"{"type":"response.output_text.delta","output_index":1,"delta":"ok"}"#,
    r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","name":"Read"}}"#,
    r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc","call_id":"c1","name":"Read","arguments":"{\"path\":\"a\"}"}}"#,
    r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"ok"}]}}"#,
    r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":18,"input_tokens_details":{"cached_tokens":5,"cache_write_tokens":3},"output_tokens":20}}}"#,
];

#[test]
fn sends_the_whole_conversation_and_stores_nothing() {
    let message = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    assert_eq!(
        encoded(Wire::Responses),
        json!({
            "model": "m", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
            "max_output_tokens": 9, "instructions": "be brief",
            "tools": [{"type": "function", "name": "Read", "description": "reads", "parameters": {"type": "object"},
                "strict": false}],
            "input": [
                message("user", "input_text", "go"),
                message("user", "input_text", "now"),
                {"secret": 1},
                message("assistant", "output_text", "reading"),
                {"raw": 1},
                {"type": "function_call", "call_id": "b", "name": "Read", "arguments": "{}"},
                message("user", "input_text", "and then"),
                {"type": "function_call_output", "call_id": "a", "output": "one"},
                {"type": "function_call_output", "call_id": "b", "output": "cut off"},
            ],
        })
    );
}

#[test]
fn assembles_an_answer_from_its_items() {
    let expected = r#"keep {"type":"reasoning","id":"rs_1","encrypted_content":"e"}; say "ok"; call c1 Read {"path":"a"}; ToolUse 10+5+3>20"#;
    assert_eq!(hear(Wire::Responses, WHOLE), expected);
    assert_eq!(hear(Wire::Responses, &WHOLE[..WHOLE.len() - 1]), "Network: the answer ended early");
}

#[track_caller]
fn ending(event: &str, expected: &str) {
    assert_eq!(hear(Wire::Responses, &[event]), expected);
}

#[test]
fn maps_every_end() {
    let output =
        r#""output":[{"type":"function_call","call_id":"c","name":"Read","arguments":"{\"pa"}]"#;
    let incomplete = |reason: &str| {
        format!(
            r#"{{"type":"response.incomplete","response":{{"incomplete_details":{{"reason":"{reason}"}},{output}}}}}"#
        )
    };
    ending(&incomplete("max_output_tokens"), r#"call c Read "{\"pa"; MaxTokens 0+0+0>0"#);
    ending(&incomplete("steered"), r#"call c Read "{\"pa"; Other { word: "steered" } 0+0+0>0"#);
    ending(
        &incomplete("content_filter"),
        r#"call c Read "{\"pa"; Refusal { why: "stopped by the content filter" } 0+0+0>0"#,
    );
    ending(
        r#"{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]}]}}"#,
        r#"Refusal { why: "no" } 0+0+0>0"#,
    );
    let said_otherwise =
        format!(r#"{{"type":"response.completed","response":{{"status":"incomplete",{output}}}}}"#);
    ending(&said_otherwise, r#"call c Read "{\"pa"; MaxTokens 0+0+0>0"#);
    ending(
        r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}"#,
        "Server: x",
    );
    ending(
        r#"{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"x"}}}"#,
        "Billing: x",
    );
    ending(r#"{"type":"error","code":"rate_limit_exceeded","message":"x"}"#, "RateLimit: x");
    ending(
        r#"{"type":"error","error":{"code":"context_length_exceeded","message":"x"}}"#,
        "TooLong: x",
    );
    ending(
        r#"{"type":"response.failed"}"#,
        "Server: invalid answer: a failed response without a message",
    );
}
