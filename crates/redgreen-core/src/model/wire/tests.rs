//! Shared test helpers, and tests for all four formats: URLs, and decoders that survive any event.

use super::super::SchemaField;
use super::*;

/// The answer to these events, on one line.
pub(in crate::model) fn hear(wire: Wire, events: &[&str]) -> String {
    let mut decoder = Decoder::new(wire);
    for data in events {
        if let Err(error) = decoder.event("", data) {
            return show_fault(&error);
        }
    }
    decoder.finish().map_or_else(|error| show_fault(&error), |reply| show(&reply))
}

fn show_fault(error: &ModelError) -> String {
    format!("{:?}: {}", error.kind, error.message)
}

fn show(reply: &Reply) -> String {
    let blocks = reply.blocks.iter().map(|block| match block {
        Block::Text { text } => format!("say {text:?}"),
        Block::ToolUse { id, name, input, .. } => format!("call {id} {name} {input}"),
        Block::ToolResult { id, .. } => format!("result {id}"),
        Block::Opaque { raw } => format!("keep {raw}"),
    });
    let Reply { stop, usage, .. } = reply;
    let usage =
        format!("{}+{}+{}>{}", usage.input, usage.cache_read, usage.cache_write, usage.output);
    blocks.chain([format!("{stop:?} {usage}")]).collect::<Vec<_>>().join("; ")
}

/// A conversation with all kinds of blocks.
pub(in crate::model) fn conversation() -> Request {
    let call = |id: &str, input: Value, raw: Value| Block::ToolUse {
        id: id.into(),
        name: "Read".into(),
        input,
        raw,
    };
    let result = |id: &str, text: &str, is_error| Block::ToolResult {
        id: id.into(),
        name: "Read".into(),
        text: text.into(),
        is_error,
    };
    let say = |text: &str| Block::Text { text: text.into() };
    Request {
        model: "m".into(),
        system: "be brief".into(),
        tools: vec![super::super::Tool {
            name: "Read".into(),
            description: "reads".into(),
            input: json!({"type": "object"}),
        }],
        messages: vec![
            Message::User(vec![say("go")]),
            Message::User(vec![say(""), say("now")]),
            Message::Assistant(vec![
                Block::Opaque { raw: json!({"secret": 1}) },
                say("reading"),
                call("a", json!({"path": "x"}), json!({"raw": 1})),
                call("b", json!("{\"pa"), Value::Null),
            ]),
            Message::User(vec![
                say("and then"),
                result("a", "one", false),
                result("b", "cut off", true),
            ]),
            Message::Assistant(vec![say("")]),
        ],
        max_tokens: 9,
        ..Request::default()
    }
}

pub(in crate::model) fn encoded(wire: Wire) -> Value {
    encode(&conversation(), &Dialect::of(wire))
}

const ALL: [Wire; 4] = [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini];

#[test]
fn every_format_has_its_url() {
    for (wire, base, expected) in [
        (Wire::Anthropic, "https://a", "https://a/v1/messages"),
        (Wire::Anthropic, "https://a/v1/", "https://a/v1/messages"),
        (Wire::Responses, "https://a/v1", "https://a/v1/responses"),
        (Wire::Chat, "https://a/v1/", "https://a/v1/chat/completions"),
        (
            Wire::Gemini,
            "https://a",
            "https://a/v1beta/models/m%20x%3F:streamGenerateContent?alt=sse",
        ),
        (
            Wire::Gemini,
            "https://a/v1beta",
            "https://a/v1beta/models/m%20x%3F:streamGenerateContent?alt=sse",
        ),
    ] {
        assert_eq!(wire.url(base, "m x?"), expected);
    }
}

/// A question whose answer has a schema, in this field.
fn with_schema(schema_field: SchemaField) -> Request {
    Request {
        model: "m".to_owned(),
        system: "JSON".to_owned(),
        messages: vec![Message::User(vec![Block::Text { text: "how many?".to_owned() }])],
        max_tokens: 9,
        temperature: Some(0.4),
        schema: Some(json!({"type": "integer"})),
        schema_field,
        ..Request::default()
    }
}

#[test]
fn a_schema_is_sent_as_the_server_expects_it() {
    let dialect = Dialect::of(Wire::Chat);
    let url = |field| url(&with_schema(field), Wire::Chat, "http://a/v1/", "m");
    let body = encode(&with_schema(SchemaField::ResponseFormat), &dialect);
    assert_eq!(body["response_format"]["json_schema"]["schema"], json!({"type": "integer"}));
    assert_eq!(url(SchemaField::ResponseFormat), "http://a/v1/chat/completions");
    let body = encode(&with_schema(SchemaField::Grammar), &dialect);
    assert!(body["grammar"].as_str().unwrap().starts_with("root ::= integer\n"), "{body}");
    assert!(body.get("response_format").is_none(), "llama.cpp refuses both: {body}");
    assert_eq!(url(SchemaField::Grammar), "http://a/v1/chat/completions");
    assert_eq!(
        encode(&with_schema(SchemaField::Format), &dialect),
        json!({
            "model": "m",
            "stream": false,
            "format": {"type": "integer"},
            "options": {"num_predict": 9, "temperature": 0.4},
            "messages": [
                {"role": "system", "content": "JSON"},
                {"role": "user", "content": "how many?"},
            ],
        })
    );
    assert_eq!(url(SchemaField::Format), "http://a/api/chat");
    let plain = Request { schema: None, ..with_schema(SchemaField::Format) };
    assert!(encode(&plain, &dialect).get("stream_options").is_some(), "not Ollama's own API");
}

#[test]
fn reads_an_answer_of_ollamas_own_api() {
    for (ending, expected) in [
        (r#","done_reason":"stop","done":true"#, Stop::End),
        (r#","done_reason":"length","done":true"#, Stop::MaxTokens),
        (r#","done":true"#, Stop::End),
    ] {
        let mut decoder = Decoder::new(Wire::Chat);
        let answer = format!(
            r#"{{"model":"m","message":{{"role":"assistant","content":"{{\"legs\": 4}}"}},
            "prompt_eval_count":34,"eval_count":12{ending}}}"#
        );
        decoder.event("", &answer).unwrap();
        let reply = decoder.finish().unwrap();
        assert_eq!(reply.blocks, [Block::Text { text: r#"{"legs": 4}"#.to_owned() }]);
        assert_eq!((reply.stop, reply.usage.input, reply.usage.output), (expected, 34, 12));
    }
}

#[test]
fn an_empty_stream_and_a_broken_event_are_errors() {
    for wire in ALL {
        assert_eq!(hear(wire, &[]), "Network: the answer ended early");
        for data in ["", "{", "null", "[]", "7", "\"x\""] {
            assert!(hear(wire, &[data]).starts_with("Server: invalid answer: "), "{wire:?} {data}");
        }
        assert_eq!(
            hear(wire, &[r#"{"type":"news","x":[{}]}"#, "{}"]),
            "Network: the answer ended early"
        );
    }
}

#[test]
fn encodes_an_empty_request() {
    let empty = Request::default();
    for wire in ALL {
        assert!(encode(&empty, &Dialect::of(wire)).is_object());
    }
}

/// Replaces each value of each event with values of all kinds; no decoder may panic.
#[test]
fn no_value_makes_a_decoder_panic() {
    let strange = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!("ü"),
        json!([]),
        json!({}),
        json!([[{}]]),
        json!(u64::MAX),
    ];
    for (wire, events) in [
        (Wire::Anthropic, anthropic::tests::WHOLE),
        (Wire::Responses, responses::tests::WHOLE),
        (Wire::Chat, chat::tests::WHOLE),
        (Wire::Gemini, gemini::tests::WHOLE),
    ] {
        assert!(hear(wire, events).contains("call"), "{wire:?}");
        for (at, event) in events.iter().enumerate() {
            let Ok(event) = serde_json::from_str::<Value>(event) else { continue };
            for place in places(&event, "") {
                for value in &strange {
                    let mut changed = event.clone();
                    *changed.pointer_mut(&place).unwrap() = value.clone();
                    let changed = changed.to_string();
                    let mut events = events.to_vec();
                    events[at] = &changed;
                    let seen = hear(wire, &events);
                    assert!(!seen.is_empty(), "{wire:?} {place}");
                }
            }
        }
    }
}

fn places(value: &Value, way: &str) -> Vec<String> {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let deeper = below.into_iter().flat_map(|(key, value)| places(value, &format!("{way}/{key}")));
    std::iter::once(way.to_owned()).chain(deeper).collect()
}

#[test]
fn rejects_an_endless_answer() {
    let piece = "x".repeat(1 << 20);
    for (wire, start, more) in [
        (
            Wire::Anthropic,
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}),
        ),
        (Wire::Responses, json!({}), json!({"type": "response.output_text.delta", "delta": piece})),
        (Wire::Chat, json!({}), json!({"choices": [{"delta": {"content": piece}}]})),
        (
            Wire::Gemini,
            json!({}),
            json!({"candidates": [{"content": {"parts": [{"text": piece}]}}]}),
        ),
    ] {
        let mut decoder = Decoder::new(wire);
        decoder.event("", &start.to_string()).unwrap();
        let more = more.to_string();
        let error = (0..100).find_map(|_| decoder.event("", &more).err()).unwrap();
        assert_eq!(error.kind, ModelErrorKind::TooLarge, "{wire:?}");
    }
}
