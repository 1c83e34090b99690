//! Finds model servers on this machine and their models.

use std::io::Read;
use std::thread;
use std::time::Duration;

use redgreen_core::model::provider::{self, BuiltInProvider};
use serde::Serialize;

use crate::config::{Models, Secret};

/// A local server answers quickly.
const ASK: Duration = Duration::from_millis(700);
const ANSWER_BYTES_MAX: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    pub provider: &'static str,
    pub base: String,
    /// At least one.
    pub models: Vec<String>,
}

/// The servers that answer, in order of preference.
pub fn servers(models: &Models) -> Vec<Server> {
    let known = provider::here(|variable| models.base(variable));
    thread::scope(|scope| {
        let asked: Vec<_> = known
            .into_iter()
            .map(|(known, base)| scope.spawn(move || ask(known, base, models.key(known.keys))))
            .collect();
        asked.into_iter().filter_map(|asked| asked.join().ok().flatten()).collect()
    })
}

/// Other programs use these ports too, so only a list of models counts.
fn ask(known: &BuiltInProvider, base: String, key: Option<&Secret>) -> Option<Server> {
    let models = models_at(&base, key);
    (!models.is_empty()).then_some(Server { provider: known.name, base, models })
}

/// The chat models of the server at this URL; none if it does not answer.
pub fn models_at(base: &str, key: Option<&Secret>) -> Vec<String> {
    listed(base, key).map(|answer| provider::talkers(&answer)).unwrap_or_default()
}

fn listed(base: &str, key: Option<&Secret>) -> Option<String> {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(ASK))
        .max_redirects(0)
        .proxy(None)
        .build();
    let mut request = ureq::Agent::from(config).get(format!("{base}/models"));
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {}", key.reveal()));
    }
    let mut answer = String::new();
    request
        .call()
        .ok()?
        .into_body()
        .into_reader()
        .take(ANSWER_BYTES_MAX)
        .read_to_string(&mut answer)
        .ok()?;
    Some(answer)
}
