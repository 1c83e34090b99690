//! Tests for Google's generateContent API: encoding and decoding.

use serde_json::json;

use super::super::wire::Wire;
use super::super::wire::tests::{encoded, hear};

pub(in crate::model) const WHOLE: &[&str] = &[
    r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"o"},{"text":"k","thoughtSignature":"s1"}]}}],"usageMetadata":{"promptTokenCount":15,"candidatesTokenCount":2}}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"f1","name":"Read","args":{"path":"a"}},"thoughtSignature":"s2"},{"functionCall":{"name":"List"}}]}}]}"#,
    r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":15,"cachedContentTokenCount":5,"candidatesTokenCount":8,"thoughtsTokenCount":12}}"#,
];

#[test]
fn results_have_the_name_and_the_server_id() {
    assert_eq!(
        encoded(Wire::Gemini),
        json!({
            "systemInstruction": {"parts": [{"text": "be brief"}]},
            "tools": [{"functionDeclarations":
                [{"name": "Read", "description": "reads", "parametersJsonSchema": {"type": "object"}}]}],
            "generationConfig": {"maxOutputTokens": 9},
            "contents": [
                {"role": "user", "parts": [{"text": "go"}, {"text": "now"}]},
                {"role": "model", "parts": [
                    {"secret": 1}, {"text": "reading"}, {"raw": 1}, {"functionCall": {"name": "Read", "args": {}}}]},
                {"role": "user", "parts": [
                    {"text": "and then"},
                    {"functionResponse": {"name": "Read", "response": {"output": "one"}, "id": "a"}},
                    {"functionResponse": {"name": "Read", "response": {"error": "cut off"}, "id": "b"}}]},
            ],
        })
    );
}

#[test]
fn assembles_an_answer_from_its_parts() {
    assert_eq!(
        hear(Wire::Gemini, WHOLE),
        r#"keep {"text":"hm","thought":true}; say "ok"; keep {"text":"","thoughtSignature":"s1"}; call f1 Read {"path":"a"}; call redgreen_call_1 List {}; ToolUse 10+5+0>20"#
    );
    assert_eq!(hear(Wire::Gemini, &WHOLE[..3]), "Network: the answer ended early");
}

#[test]
fn maps_every_stop_reason() {
    for (word, expected) in [
        ("STOP", "End"),
        ("MAX_TOKENS", "MaxTokens"),
        ("SAFETY", r#"Refusal { why: "SAFETY" }"#),
        ("PROHIBITED_CONTENT", r#"Refusal { why: "PROHIBITED_CONTENT" }"#),
        ("MALFORMED_FUNCTION_CALL", r#"Other { word: "MALFORMED_FUNCTION_CALL" }"#),
    ] {
        let event = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"x"}}]}},"finishReason":"{word}"}}]}}"#
        );
        assert_eq!(hear(Wire::Gemini, &[&event]), format!(r#"say "x"; {expected} 0+0+0>0"#));
    }
    let blocked =
        r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}"#;
    assert_eq!(
        hear(Wire::Gemini, &[blocked]),
        r#"Refusal { why: "the request was blocked: SAFETY" } 3+0+0>0"#
    );
    let error = r#"{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}"#;
    assert_eq!(hear(Wire::Gemini, &[error]), "Overloaded: x");
}
