//! `redgreen config`: every value in effect, and where it comes from.

use anyhow::Result;
use serde::Serialize;
use toml::Value;

use super::init::TEMPLATE;
use crate::agent::choice::{USUAL_KEY, USUAL_MODEL};
use crate::config::layers::{self, Layer};
use crate::engine::Project;

#[derive(Debug, Serialize)]
pub struct Config {
    pub version: u32,
    pub settings: Vec<Setting>,
    /// Keys in files that redgreen does not use.
    pub unused: Vec<UnusedKey>,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Setting {
    pub key: String,
    pub value: Value,
    pub origin: String,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct UnusedKey {
    pub key: String,
    pub origin: String,
}

pub fn config(project: &Project) -> Result<Config> {
    let environment = &project.environment;
    let files = layers::layers(&project.git.root, environment)?;
    let unused = files.iter().flat_map(|layer| {
        layer.unused.iter().map(|key| UnusedKey { key: key.clone(), origin: layer.origin.clone() })
    });
    let unused = unused.collect();
    let mut all = vec![layer("default", &defaults())];
    // The default model, if its key is set.
    if !names_agent(project) {
        let origin = format!("default, where {USUAL_KEY} is set");
        all.push(layer(&origin, &format!("agent.model = {USUAL_MODEL:?}\n")));
    }
    all.extend(files);
    let path = |path: &Option<std::path::PathBuf>| {
        path.as_ref().map(|path| Value::String(path.display().to_string()))
    };
    for (name, key, value) in [
        (
            "TDD_MAX_RETRIES",
            "max-retries",
            environment.max_retries.map(|count| Value::Integer(count.into())),
        ),
        ("TDD_MODEL", "agent.model", environment.model.clone().map(Value::String)),
        ("REDGREEN_SCRIPT", "agent.script", path(&environment.script)),
        ("REDGREEN_WORKTREES", "worktree.root", path(&environment.worktrees)),
    ] {
        if let Some(value) = value {
            all.push(layer(name, &format!("{key} = {value}\n")));
        }
    }
    let settings = layers::settings(&all)
        .into_iter()
        .map(|layers::Setting { key, value, origin }| Setting { key, value, origin })
        .collect();
    Ok(Config { version: 1, settings, unused })
}

/// Whether an agent was chosen. Then there is no default model.
fn names_agent(project: &Project) -> bool {
    let agent = &project.file.agent;
    agent.name.is_some()
        || agent.script.is_some()
        || project.environment.script.is_some()
        || project.environment.mock
}

/// The template contains every default.
fn defaults() -> String {
    TEMPLATE.lines().filter_map(|line| line.strip_prefix("#: ")).collect::<Vec<_>>().join("\n")
}

fn layer(origin: &str, text: &str) -> Layer {
    let table = text.parse().unwrap_or_default();
    Layer { origin: origin.to_owned(), of_project: false, table, unused: Vec::new() }
}
