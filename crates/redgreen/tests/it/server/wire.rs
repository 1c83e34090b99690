//! The answers of the scripted server in each of the four wire formats.

use serde_json::{Value, json};

use super::{Answer, Ending};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

/// One event of the stream.
pub(crate) struct Event {
    name: Option<&'static str>,
    pub(crate) data: String,
}

impl Event {
    fn named(name: &'static str, data: &Value) -> Self {
        Self { name: Some(name), data: data.to_string() }
    }

    fn plain(data: &impl ToString) -> Self {
        Self { name: None, data: data.to_string() }
    }

    pub(crate) fn text(&self) -> String {
        let name = self.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {}\n\n", self.data)
    }
}

impl Wire {
    pub(crate) const ALL: [Wire; 4] = [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini];

    pub(crate) fn of(path: &str) -> Self {
        if path.contains("/messages") {
            Wire::Anthropic
        } else if path.contains("/responses") {
            Wire::Responses
        } else if path.contains("GenerateContent") {
            Wire::Gemini
        } else {
            Wire::Chat
        }
    }

    pub(crate) fn answers(self, body: &Value) -> usize {
        let count = |list: &Value, is: &dyn Fn(&Value) -> bool| {
            list.as_array().map_or(0, |list| list.iter().filter(|item| is(item)).count())
        };
        match self {
            Wire::Anthropic | Wire::Chat => {
                count(&body["messages"], &|item| item["role"] == "assistant")
            }
            Wire::Gemini => count(&body["contents"], &|item| item["role"] == "model"),
            // In this format an answer consists of several items, and a user's item follows each
            // answer.
            Wire::Responses => {
                let is_own = |item: &Value| {
                    item["role"] == "assistant"
                        || item["type"] == "function_call"
                        || item["type"] == "reasoning"
                };
                let items = body["input"].as_array().cloned().unwrap_or_default();
                let starts = items.iter().enumerate().filter(|(at, item)| {
                    is_own(item)
                        && !at.checked_sub(1).and_then(|at| items.get(at)).is_some_and(is_own)
                });
                starts.count()
            }
        }
    }

    pub(crate) fn error(self, code: u16) -> Value {
        let message = format!("scripted {code}");
        match self {
            Wire::Anthropic => {
                let kind = match code {
                    400 => "invalid_request_error",
                    401 => "authentication_error",
                    402 => "billing_error",
                    404 => "not_found_error",
                    413 => "request_too_large",
                    429 => "rate_limit_error",
                    529 => "overloaded_error",
                    _ => "api_error",
                };
                let message = if code == 404 { "model: no-such-model".to_owned() } else { message };
                json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
            }
            Wire::Responses | Wire::Chat => {
                let kind = if code == 404 { "model_not_found" } else { "scripted" };
                json!({"error": {"message": message, "type": kind, "param": null, "code": kind}})
            }
            Wire::Gemini => {
                json!({"error": {"code": code, "message": message, "status": "SCRIPTED"}})
            }
        }
    }

    /// The number of events before the first text event.
    pub(crate) fn opening(self) -> usize {
        match self {
            Wire::Anthropic => 2,
            Wire::Responses => 3,
            Wire::Chat => 1,
            Wire::Gemini => 0,
        }
    }

    pub(crate) fn events(self, answer: &Answer, model: &str) -> Vec<Event> {
        let mut events = match self {
            Wire::Anthropic => anthropic(answer, model),
            Wire::Responses => responses(answer, model),
            Wire::Chat => chat(answer, model),
            Wire::Gemini => gemini(answer),
        };
        if answer.ending == Ending::Error {
            events.truncate(2);
            events.push(match self {
                Wire::Anthropic => Event::named(
                    "error",
                    &json!({"type": "error", "error": {"type": "overloaded_error", "message": "scripted"}}),
                ),
                Wire::Responses => Event::named(
                    "response.failed",
                    &json!({"type": "response.failed", "response":
                        {"status": "failed", "error": {"code": "server_error", "message": "scripted"}}}),
                ),
                Wire::Chat => Event::plain(&json!({"error": {"code": 502, "message": "scripted"}})),
                Wire::Gemini => {
                    Event::plain(&json!({"error": {"code": 503, "message": "scripted", "status": "UNAVAILABLE"}}))
                }
            });
        }
        events
    }
}

/// Splits the text in two. If the answer is cut off, the last letter is missing.
fn pieces(text: &str, is_cut: bool) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let whole = if is_cut { letters.len().saturating_sub(1) } else { letters.len() };
    let (first, second) = letters[..whole].split_at(whole / 2);
    [first, second].iter().map(|piece| piece.iter().collect::<String>()).collect()
}

impl Answer {
    fn is_cut(&self) -> bool {
        self.ending == Ending::MaxTokens
    }

    /// The calls with their arguments. If the answer is cut off, the last arguments are incomplete.
    fn arguments<'a>(&'a self) -> impl Iterator<Item = (usize, &'a str, Vec<String>)> {
        let last = self.calls.len().saturating_sub(1);
        let is_cut = self.is_cut();
        let row = move |(at, (name, input)): (usize, &'a (String, Value))| {
            (at, name.as_str(), pieces(&input.to_string(), is_cut && at == last))
        };
        self.calls.iter().enumerate().map(row)
    }
}

fn anthropic(answer: &Answer, model: &str) -> Vec<Event> {
    let (sent, cached, received) = answer.usage;
    let mut events = vec![Event::named(
        "message_start",
        &json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "model": model, "content": [], "stop_reason": null, "usage":
            {"input_tokens": sent - cached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0,
             "output_tokens": 1}}}),
    )];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        let at = index;
        events.push(Event::named(
            "content_block_start",
            &json!({"type": "content_block_start", "index": at, "content_block": start}),
        ));
        for delta in deltas {
            events.push(Event::named(
                "content_block_delta",
                &json!({"type": "content_block_delta", "index": at, "delta": delta}),
            ));
        }
        events.push(Event::named(
            "content_block_stop",
            &json!({"type": "content_block_stop", "index": at}),
        ));
        index += 1;
    };
    if let Some(words) = &answer.thinking {
        block(
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![
                json!({"type": "thinking_delta", "thinking": words}),
                json!({"type": "signature_delta", "signature": "c2lnbmVk"}),
            ],
        );
    }
    if !answer.text.is_empty() {
        let deltas = pieces(&answer.text, false);
        let deltas =
            deltas.iter().map(|text| json!({"type": "text_delta", "text": text})).collect();
        block(json!({"type": "text", "text": ""}), deltas);
    }
    for (at, name, arguments) in answer.arguments() {
        let deltas = arguments
            .iter()
            .map(|json| json!({"type": "input_json_delta", "partial_json": json}))
            .collect();
        let id = format!("toolu_{at}");
        block(
            json!({"type": "tool_use", "id": id, "name": name, "input": {}, "caller": {"type": "direct"}}),
            deltas,
        );
    }
    let stop = match answer.ending {
        Ending::MaxTokens => "max_tokens",
        Ending::Refusal => "refusal",
        Ending::Natural | Ending::Error if answer.calls.is_empty() => "end_turn",
        Ending::Natural | Ending::Error => "tool_use",
    };
    let details = if answer.ending == Ending::Refusal {
        json!({"type": "refusal", "category": "cyber", "explanation": "scripted refusal"})
    } else {
        Value::Null
    };
    events.push(Event::named(
        "message_delta",
        &json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_details": details},
            "usage": {"output_tokens": received}}),
    ));
    events.push(Event::named("message_stop", &json!({"type": "message_stop"})));
    events
}

fn responses(answer: &Answer, model: &str) -> Vec<Event> {
    let (sent, cached, received) = answer.usage;
    let begun = json!({"id": "resp_1", "status": "in_progress", "model": model, "output": []});
    let mut events = Vec::new();
    let mut event = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        data["sequence_number"] = events.len().into();
        events.push(Event::named(name, &data));
    };
    event("response.created", json!({"response": begun}));
    event("response.in_progress", json!({"response": begun}));
    let mut output = Vec::new();
    if answer.thinking.is_some() {
        let item = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"});
        event("response.output_item.added", json!({"output_index": 0, "item": item}));
        event("response.output_item.done", json!({"output_index": 0, "item": item}));
        output.push(item);
    }
    if !answer.text.is_empty() || answer.ending == Ending::Refusal {
        let at = output.len();
        let part = if answer.ending == Ending::Refusal {
            json!({"type": "refusal", "refusal": "scripted refusal"})
        } else {
            json!({"type": "output_text", "text": answer.text, "annotations": []})
        };
        let item = |content: Value| json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content});
        event("response.output_item.added", json!({"output_index": at, "item": item(json!([]))}));
        if answer.ending != Ending::Refusal {
            for text in pieces(&answer.text, false) {
                event("response.output_text.delta", json!({"output_index": at, "delta": text}));
            }
        }
        event(
            "response.output_item.done",
            json!({"output_index": at, "item": item(json!([part]))}),
        );
        output.push(item(json!([part])));
    }
    for (at, name, arguments) in answer.arguments() {
        let index = output.len();
        let item = |arguments: &str| json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"), "name": name, "arguments": arguments});
        event("response.output_item.added", json!({"output_index": index, "item": item("")}));
        for piece in &arguments {
            event(
                "response.function_call_arguments.delta",
                json!({"output_index": index, "delta": piece}),
            );
        }
        let whole = item(&arguments.concat());
        if !answer.is_cut() {
            event("response.output_item.done", json!({"output_index": index, "item": whole}));
        }
        output.push(whole);
    }
    let usage = json!({"input_tokens": sent, "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": received, "total_tokens": sent + received});
    if answer.is_cut() {
        let details = json!({"reason": "max_output_tokens"});
        event(
            "response.incomplete",
            json!({"response": {"status": "incomplete", "incomplete_details": details, "output": output, "usage": usage}}),
        );
    } else {
        event(
            "response.completed",
            json!({"response": {"status": "completed", "output": output, "usage": usage}}),
        );
    }
    events
}

fn chat(answer: &Answer, model: &str) -> Vec<Event> {
    let (sent, cached, received) = answer.usage;
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        Event::plain(
            &json!({"id": "c1", "object": "chat.completion.chunk", "model": model, "choices": [choice]}),
        )
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    if let Some(words) = &answer.thinking {
        events.push(chunk(json!({"reasoning_content": words}), Value::Null));
    }
    if !answer.text.is_empty() {
        for text in pieces(&answer.text, false) {
            events.push(chunk(json!({"content": text}), Value::Null));
        }
    }
    for (at, name, arguments) in answer.arguments() {
        let start = json!({"index": at, "id": format!("call_{at}"), "type": "function",
            "function": {"name": name, "arguments": ""}});
        events.push(chunk(json!({"tool_calls": [start]}), Value::Null));
        for piece in arguments {
            let more = json!({"index": at, "function": {"arguments": piece}});
            events.push(chunk(json!({"tool_calls": [more]}), Value::Null));
        }
    }
    let finish = match answer.ending {
        Ending::MaxTokens => "length",
        Ending::Refusal => "content_filter",
        Ending::Natural | Ending::Error if answer.calls.is_empty() => "stop",
        Ending::Natural | Ending::Error => "tool_calls",
    };
    events.push(chunk(json!({}), finish.into()));
    events.push(Event::plain(
        &json!({"choices": [], "usage": {"prompt_tokens": sent, "completion_tokens": received,
        "total_tokens": sent + received, "prompt_tokens_details": {"cached_tokens": cached}}}),
    ));
    events.push(Event::plain(&"[DONE]"));
    events
}

fn gemini(answer: &Answer) -> Vec<Event> {
    let (sent, cached, received) = answer.usage;
    let mut parts = Vec::new();
    if !answer.text.is_empty() {
        parts.extend(pieces(&answer.text, false).into_iter().map(|text| json!({"text": text})));
    }
    for (at, (name, input)) in answer.calls.iter().enumerate() {
        let mut part = json!({"functionCall": {"name": name, "args": input}});
        if at == 0 && answer.thinking.is_some() {
            part["thoughtSignature"] = "c2lnbmVk".into();
        }
        parts.push(part);
    }
    let finish = match answer.ending {
        Ending::MaxTokens => "MAX_TOKENS",
        Ending::Refusal => "SAFETY",
        Ending::Natural | Ending::Error => "STOP",
    };
    let candidate = |parts: Value, finish: Value| json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": finish}]});
    let mut events: Vec<Event> = parts
        .into_iter()
        .map(|part| Event::plain(&candidate(json!([part]), Value::Null)))
        .collect();
    let mut last = candidate(json!([{"text": ""}]), finish.into());
    last["usageMetadata"] = json!({"promptTokenCount": sent, "cachedContentTokenCount": cached,
        "candidatesTokenCount": received, "totalTokenCount": sent + received});
    events.push(Event::plain(&last));
    events
}
