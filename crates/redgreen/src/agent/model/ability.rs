//! Finds out what a model on a custom server can do: asks the server, then probes the model, and
//! stores the result for the next run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::model::ability::{self, Ability, SCHEMA_FIELDS, SchemaSupport};
use redgreen_core::model::wire::Wire;
use redgreen_core::model::{Reply, Request, Tool};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::Client;
use crate::private;
use crate::process::Stop;

/// A busy server still answers these requests.
const FACTS_TIME: Duration = Duration::from_secs(5);

impl Client {
    /// The abilities of the model. Hosted models are not probed: all of them can call tools.
    pub fn ability(
        &self,
        memory: Option<&Path>,
        tools: Vec<Tool>,
        deadline: Instant,
        stop: &Stop,
    ) -> Result<Ability> {
        if let Some(recorded) = self.recorded_ability()? {
            return Ok(recorded);
        }
        if self.is_replaying() || !self.is_own_server() {
            return Ok(Ability::default());
        }
        let file = memory.map(|folder| self.memory(folder));
        let remembered = file.as_deref().and_then(|file| std::fs::read_to_string(file).ok());
        let remembered: Option<Ability> =
            remembered.and_then(|text| serde_json::from_str(&text).ok());
        let facts = self.facts();
        // A different context window or size means a different model with the same name. Ollama
        // reports the window only while the model is loaded.
        let differs = |one: Option<u64>, other: Option<u64>| {
            one.zip(other).is_some_and(|(one, other)| one != other)
        };
        let known = remembered.filter(|known| {
            !differs(known.window, facts.window) && !differs(known.parameters, facts.parameters)
        });
        let ability = match known {
            Some(known) => facts.or(known),
            None => {
                let tried = self.tried(facts, tools, deadline, stop)?;
                // Store only complete results.
                if let Some((file, folder)) =
                    file.as_deref().and_then(|file| Some((file, file.parent()?)))
                    && (tried.schemas.is_some() || tried.tools.is_some())
                {
                    let text = serde_json::to_vec(&tried)?;
                    private::create_dir_all(folder).and_then(|()| private::write(file, &text)).ok();
                }
                tried
            }
        };
        self.record_ability(&ability)?;
        Ok(ability)
    }

    /// Chat Completions without a required key: Ollama, llama.cpp, LM Studio, vLLM.
    fn is_own_server(&self) -> bool {
        let provider = self.provider();
        !provider.needs_key && provider.dialect.wire == Wire::Chat
    }

    /// What the server reports.
    fn facts(&self) -> Ability {
        let provider = self.provider();
        let root = provider.base.strip_suffix("/v1").unwrap_or(&provider.base);
        let places = [
            (format!("{}/models", provider.base), None),
            (format!("{root}/props"), None),
            (format!("{root}/api/v0/models"), None),
            (format!("{root}/api/ps"), None),
            (format!("{root}/api/show"), Some(json!({ "model": provider.model }))),
        ];
        let mut known = Ability::default();
        for (url, body) in places {
            if known.window.is_some() && known.parameters.is_some() {
                break;
            }
            if let Some(answer) = self.look_up(&url, body.as_ref(), FACTS_TIME) {
                known = known.or(ability::said(&answer, &provider.model));
            }
        }
        known
    }

    /// Probes a small model with a schema, any other with tools: that is how it will be used.
    fn tried(
        &self,
        known: Ability,
        tools: Vec<Tool>,
        deadline: Instant,
        stop: &Stop,
    ) -> Result<Ability> {
        let model = &self.provider().model;
        let mut known = known;
        if !known.is_small() {
            known.tools = self.trial(
                &ability::tool_trial(model, tools),
                ability::calls_tool,
                deadline,
                stop,
            )?;
            known = self.with_window(known);
        }
        if known.is_small() || known.tools == Some(false) {
            known.schemas = self.schema_support(deadline, stop)?;
            known = self.with_window(known);
        }
        Ok(known)
    }

    /// Asks for the window again if it is unknown: Ollama reports it only after a first request.
    fn with_window(&self, known: Ability) -> Ability {
        if known.window.is_some() { known } else { known.or(self.facts()) }
    }

    /// Tries the fields for a schema until the server enforces one. `None` if it is still unknown.
    fn schema_support(&self, deadline: Instant, stop: &Stop) -> Result<Option<SchemaSupport>> {
        let mut all_known = true;
        for field in SCHEMA_FIELDS {
            let request = ability::schema_trial(&self.provider().model, field);
            match self.trial(&request, ability::keeps_schema, deadline, stop)? {
                Some(true) => return Ok(Some(SchemaSupport::Enforced(field))),
                Some(false) => {}
                None => all_known = false,
            }
        }
        Ok(all_known.then_some(SchemaSupport::Ignored))
    }

    /// `None` without an answer, which says nothing about the model.
    fn trial(
        &self,
        request: &Request,
        passes: fn(&Reply) -> bool,
        deadline: Instant,
        stop: &Stop,
    ) -> Result<Option<bool>> {
        let reply = self.ask_unrecorded(request, deadline, stop)?;
        Ok(match reply {
            Ok(reply) => Some(passes(&reply)),
            // Some servers refuse unknown parameters.
            Err(fault) if !fault.kind.is_passing() => Some(false),
            Err(_) => None,
        })
    }

    fn memory(&self, folder: &Path) -> PathBuf {
        let provider = self.provider();
        let digest = Sha256::digest(format!("{}\n{}", provider.base, provider.model).as_bytes());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        folder.join("redgreen/models").join(format!("{name}.json"))
    }
}
