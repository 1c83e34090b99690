//! The capabilities of a model, and how to prompt a model with them. Local servers report a model's
//! size and context window, each in its own format. Trial requests determine the rest.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Block, Message, Reply, Request, SchemaField, Tool};

/// Models with fewer parameters fail in a conversation with tools.
const SMALL_PARAMETERS: u64 = 9_000_000_000;
/// A conversation with tools and files needs more tokens than this.
const SMALL_WINDOW: u64 = 16_000;
const WINDOW_MIN: u64 = 1_024;
const WINDOW_MAX: u64 = 100_000_000;
/// Maximum tokens of an answer to a trial.
const TRIAL_TOKENS: u32 = 120;

/// The known capabilities of a model on a server; `None` means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ability {
    pub parameters: Option<u64>,
    /// The context window in tokens.
    pub window: Option<u64>,
    /// Whether it called the right tool out of several.
    pub tools: Option<bool>,
    pub schemas: Option<SchemaSupport>,
}

/// Whether a server enforces schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaSupport {
    /// The model answers without regard to the schema.
    Ignored,
    Enforced(SchemaField),
}

/// The fields to try, in this order. Most servers know the first. Some versions of Ollama and of
/// llama.cpp, and proxies in front of them, ignore or refuse it and know only their own.
pub const SCHEMA_FIELDS: [SchemaField; 3] =
    [SchemaField::ResponseFormat, SchemaField::Format, SchemaField::Grammar];

/// How to prompt a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptStyle {
    /// In a conversation with tools.
    Tools,
    /// In a conversation; the model answers with whole files.
    Files,
    /// With one small question per request; the rest is decided without the model.
    Questions,
}

impl Ability {
    /// Whether the server's information decides it, so that no trial is needed.
    pub fn is_small(&self) -> bool {
        self.parameters.is_some_and(|count| count < SMALL_PARAMETERS)
            || self.window.is_some_and(|window| window < SMALL_WINDOW)
    }

    pub fn asking(&self) -> PromptStyle {
        if self.is_small() || self.tools == Some(false) {
            PromptStyle::Questions
        } else {
            PromptStyle::Tools
        }
    }

    /// Fills in unknown fields from another answer.
    pub fn or(self, other: Self) -> Self {
        Self {
            parameters: self.parameters.or(other.parameters),
            window: self.window.or(other.window),
            tools: self.tools.or(other.tools),
            schemas: self.schemas.or(other.schemas),
        }
    }
}

/// Reads a model's capabilities from the answer of any server: llama.cpp's `/props`, Ollama's
/// `/api/ps` and `/api/show`, LM Studio's `/api/v0/models`, and the `/models` of llama.cpp and vLLM.
pub fn said(answer: &str, model: &str) -> Ability {
    let Ok(answer) = serde_json::from_str::<Value>(answer) else { return Ability::default() };
    let listed = answer.get("data").and_then(Value::as_array).into_iter().flatten();
    let listed: Vec<&Value> = listed.collect();
    let named = listed.iter().find(|one| one.get("id").and_then(Value::as_str) == Some(model));
    // A server with a single model answers with it, whatever its name.
    let entry = named.or(if let [only] = listed.as_slice() { Some(only) } else { None });
    let entry = entry.copied().unwrap_or(&Value::Null);
    let number = |value: Option<&Value>| value.and_then(Value::as_u64);
    // Ollama lists the models in its memory with the windows that they really have.
    let loaded = answer.get("models").and_then(Value::as_array).into_iter().flatten();
    let loaded = loaded.into_iter().find(|one| {
        let name = one.get("model").and_then(Value::as_str).unwrap_or_default();
        name == model || name.strip_suffix(":latest") == Some(model)
    });
    let shown = answer.get("model_info").and_then(Value::as_object);
    let info = |ending: &str| {
        shown
            .into_iter()
            .flatten()
            .find(|(key, _)| key.ends_with(ending))
            .and_then(|(_, value)| value.as_u64())
    };
    let set = answer.get("parameters").and_then(Value::as_str).and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("num_ctx")?.trim().parse().ok())
    });
    let window = [
        number(answer.pointer("/default_generation_settings/n_ctx")),
        number(loaded.and_then(|one| one.get("context_length"))),
        number(entry.get("loaded_context_length")),
        number(entry.get("max_model_len")),
        set,
        number(entry.get("max_context_length")),
    ];
    let parameters = [number(entry.pointer("/meta/n_params")), info(".parameter_count")];
    let is_sound = |window: &u64| (WINDOW_MIN..=WINDOW_MAX).contains(window);
    Ability {
        parameters: parameters.into_iter().flatten().find(|count| *count > 0),
        window: window.into_iter().flatten().find(is_sound),
        ..Ability::default()
    }
}

/// Requests a small answer with a schema. Without the schema, a model would answer in prose.
pub fn schema_trial(model: &str, field: SchemaField) -> Request {
    let schema = json!({
        "type": "object",
        "properties": {"legs": {"type": "integer"}},
        "required": ["legs"],
        "additionalProperties": false,
    });
    Request {
        model: model.to_owned(),
        messages: vec![said_by_us("How many legs has a horse? Answer in one sentence.")],
        max_tokens: TRIAL_TOKENS,
        schema: Some(schema),
        schema_field: field,
        temperature: Some(0.0),
        ..Request::default()
    }
}

/// Whether the answer follows the schema of the trial.
pub fn keeps_schema(reply: &Reply) -> bool {
    let text: String = reply.blocks.iter().filter_map(text_of).collect();
    serde_json::from_str::<Value>(text.trim())
        .is_ok_and(|value| value.get("legs").is_some_and(Value::is_i64))
}

/// Requests the call of one tool among all tools of a turn.
pub fn tool_trial(model: &str, tools: Vec<Tool>) -> Request {
    Request {
        model: model.to_owned(),
        system: "You work with tools. You never guess what a file holds.".to_owned(),
        tools,
        messages: vec![said_by_us("Look into the file notes/today.txt.")],
        max_tokens: TRIAL_TOKENS,
        temperature: Some(0.0),
        ..Request::default()
    }
}

/// Whether the answer calls the right tool with the right arguments.
pub fn calls_tool(reply: &Reply) -> bool {
    reply.blocks.iter().any(|block| match block {
        Block::ToolUse { name, input, .. } => {
            name == "Read"
                && input.get("file_path").and_then(Value::as_str) == Some("notes/today.txt")
        }
        Block::Text { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => false,
    })
}

fn said_by_us(text: &str) -> Message {
    Message::User(vec![Block::Text { text: text.to_owned() }])
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } => Some(text),
        Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, parameters: Option<u64>, window: Option<u64>, asking: PromptStyle) {
        let seen = said(answer, "m");
        assert_eq!(
            (seen.parameters, seen.window, seen.asking()),
            (parameters, window, asking),
            "{answer}"
        );
    }

    #[test]
    fn reads_the_size_of_a_model_from_each_server() {
        use PromptStyle::{Questions, Tools};
        check(r#"{"default_generation_settings": {"n_ctx": 8192}}"#, None, Some(8192), Questions);
        check(
            r#"{"data": [{"id": "x.gguf", "meta": {"n_params": 1777088000}}]}"#,
            Some(1_777_088_000),
            None,
            Questions,
        );
        check(
            r#"{"data": [{"id": "a"}, {"id": "m", "meta": {"n_params": 30000000000}}]}"#,
            Some(30_000_000_000),
            None,
            Tools,
        );
        check(r#"{"data": [{"id": "m", "max_model_len": 32768}]}"#, None, Some(32_768), Tools);
        check(
            r#"{"data": [{"id": "m", "loaded_context_length": 4096, "max_context_length": 131072}]}"#,
            None,
            Some(4096),
            Questions,
        );
        check(
            r#"{"models": [{"model": "a:latest", "context_length": 1}, {"model": "m:latest", "context_length": 32768}]}"#,
            None,
            Some(32_768),
            Tools,
        );
        let ollama = r#"{"parameters": "stop x\nnum_ctx   4096", "model_info": {"general.parameter_count": 7615616512}}"#;
        check(ollama, Some(7_615_616_512), Some(4096), Questions);
        check(r#"{"data": [{"id": "a", "max_model_len": 1}, {"id": "b"}]}"#, None, None, Tools);
        check(r#"{"default_generation_settings": {"n_ctx": 3}}"#, None, None, Tools);
        check("<html>", None, None, Tools);
    }

    #[test]
    fn trials_decide_if_the_server_does_not() {
        let failed = Ability { tools: Some(false), ..Ability::default() };
        assert_eq!(failed.asking(), PromptStyle::Questions);
        let known =
            Ability { parameters: Some(70_000_000_000), tools: Some(true), ..Ability::default() };
        assert_eq!(known.or(failed).asking(), PromptStyle::Tools);
    }
}
