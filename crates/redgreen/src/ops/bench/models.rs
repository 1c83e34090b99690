//! `redgreen bench models`: small tasks with your own model, from the request to a finished run, to
//! help you choose a model. Each task has checks that the model never sees, so "finished" and
//! "right" are separate results.

mod katas;
mod language;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use self::katas::{KATAS, Kata};
use super::ours;
use crate::agent::model::local;
use crate::config::Environment;
use crate::failure::{Code, Failure};
use crate::git::Git;
use crate::process::{Limits, Program, Stop};

pub use language::Language;

/// For one task: on a small machine, a model writes a few words per second.
const LIMITS: Limits = Limits { wall: Duration::from_secs(3600), output_bytes_max: 16 << 20 };
const CASSETTE: &str = "kata.jsonl";

/// The tasks and the model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    pub server: String,
    pub language: Language,
    pub model: Option<String>,
    /// Empty means all.
    pub katas: Vec<String>,
    pub record: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Models {
    pub version: u32,
    pub language: Language,
    pub model: String,
    pub katas: Vec<KataResult>,
}

/// The result of one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KataResult {
    pub name: &'static str,
    /// The run finished, and every step was accepted.
    pub finished: bool,
    /// According to checks that the model did not see. `None` for a run that did not finish.
    pub right: Option<bool>,
    pub cycles: u64,
    /// Turns that write tests or code, including refused attempts.
    pub turns: u64,
    pub requests: u64,
    pub tokens: u64,
    pub seconds: f64,
    /// Why a run did not finish.
    pub trouble: Option<String>,
}

/// Plays the tasks one after another, each in its own repository.
pub fn play(
    wish: &ModelRequest,
    environment: &Environment,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Models> {
    let katas = chosen(wish)?;
    wish.language.require(environment, stop)?;
    let model = match &wish.model {
        Some(model) => model.clone(),
        None => first_model(&wish.server)?,
    };
    let scratch = tempfile::Builder::new()
        .prefix("redgreen-models-")
        .tempdir()
        .context("create a scratch folder")?;
    let folder = scratch.path().canonicalize().context("find the scratch folder")?;
    if let Some(record) = &wish.record {
        fs::create_dir_all(record).with_context(|| format!("create {}", record.display()))?;
    }
    let mut played = Vec::new();
    for (number, kata) in (1..).zip(&katas) {
        tell(&format!("{number} of {}: {}", katas.len(), kata.name));
        played.push(one(kata, &folder, &model, wish, environment, stop)?);
    }
    Ok(Models { version: 1, language: wish.language, model, katas: played })
}

fn chosen(wish: &ModelRequest) -> Result<Vec<&'static Kata>> {
    let all: Vec<&Kata> =
        KATAS.iter().filter(|kata| kata.languages.contains(&wish.language)).collect();
    if wish.katas.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        all.iter().copied().find(|kata| kata.name == name).ok_or_else(|| {
            let known = all.iter().map(|kata| kata.name).collect::<Vec<_>>().join(", ");
            Failure::usage(format!("there is no kata {name:?} in this language"))
                .evidence(format!("katas: {known}"))
                .into()
        })
    };
    wish.katas.iter().map(find).collect()
}

fn first_model(server: &str) -> Result<String> {
    let models = local::models_at(server.trim_end_matches('/'), None);
    models.into_iter().next().ok_or_else(|| {
        Failure::environment(format!("no model server responds at {server}"))
            .evidence(format!("asked {}/models for its models", server.trim_end_matches('/')))
            .next("start the server, or fix --server; its address usually ends in /v1")
            .into()
    })
}

fn one(
    kata: &Kata,
    folder: &Path,
    model: &str,
    wish: &ModelRequest,
    environment: &Environment,
    stop: &Stop,
) -> Result<KataResult> {
    let settings = match wish.record {
        Some(_) => format!("backoff = 0.0\n[model]\nrecord = \"{CASSETTE}\"\n"),
        None => "backoff = 0.0\n".to_owned(),
    };
    let settings = ("redgreen.toml", settings.as_str());
    let files: Vec<(&str, &str)> =
        wish.language.files().iter().copied().chain([settings]).collect();
    let git = Git::create_scratch(&folder.join(kata.name), &files, "chore: a project")?;
    wish.language.link_packages(&git.root)?;
    let ours = Program::new(ours()?)
        .cwd(&git.root)
        .env("LLAMA_BASE_URL", wish.server.trim_end_matches('/'))
        .env("REDGREEN_WORKTREES", folder.join("worktrees"))
        // Ignores the settings of the user.
        .env("XDG_CONFIG_HOME", folder.join("nothing"))
        .env_remove("REDGREEN_SCRIPT");
    let begun = Instant::now();
    let run = ours.clone().args(["--trust", "run", "--quiet", "--no-input", "--model"]);
    let output = run.arg(format!("llamacpp/{model}")).arg(kata.request).output(LIMITS, stop)?;
    let seconds = begun.elapsed().as_secs_f64();
    let status = ours.args(["--json", "status"]).output(LIMITS, stop)?;
    let status: Value =
        serde_json::from_str(&status.stdout_text()).context("read the status of a run")?;
    let run = status.pointer("/runs/0").cloned().unwrap_or_default();
    let number = |place: &str| run.pointer(place).and_then(Value::as_u64).unwrap_or_default();
    let finished = output.exit == redgreen_core::report::Exit::Code(Code::Human as i32)
        && run.get("phase").and_then(Value::as_str) == Some("COMPLETE");
    if let (Some(record), Some(cassettes)) = (&wish.record, cassette(&git)) {
        let to = record.join(format!("{}.jsonl", kata.name));
        fs::copy(&cassettes, &to)
            .with_context(|| format!("copy {} to {}", cassettes.display(), to.display()))?;
    }
    let branch = run.get("branch").and_then(Value::as_str).filter(|_| finished);
    let right = match branch {
        Some(branch) => {
            let place = folder.join(format!("{}-checked", kata.name));
            Some(is_right(kata, wish.language, &git, branch, &place, environment, stop)?)
        }
        None => None,
    };
    let trouble = || {
        let said = output.stderr_text();
        let told = run.pointer("/trouble/message").and_then(Value::as_str).map(str::to_owned);
        told.or_else(|| said.lines().last().map(str::to_owned))
    };
    Ok(KataResult {
        name: kata.name,
        finished,
        right,
        cycles: number("/cycles"),
        turns: turns(&run),
        requests: number("/spent/requests"),
        tokens: number("/spent/tokens"),
        seconds,
        trouble: if finished { None } else { trouble() },
    })
}

fn cassette(git: &Git) -> Option<PathBuf> {
    let path = git.common_dir.join("redgreen/cassettes").join(CASSETTE);
    path.is_file().then_some(path)
}

/// How often the model had to write something, from its transcripts.
fn turns(run: &Value) -> u64 {
    let folder = run
        .get("folder")
        .and_then(Value::as_str)
        .map(|folder| Path::new(folder).join("transcripts"));
    let entries =
        folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let writes = |name: &str| name.ends_with("-test.md") || name.ends_with("-implementing.md");
    let turns = entries.filter(|entry| entry.file_name().to_str().is_some_and(writes)).count();
    u64::try_from(turns).unwrap_or(u64::MAX)
}

/// Runs the checks on the result of the run.
fn is_right(
    kata: &Kata,
    language: Language,
    git: &Git,
    branch: &str,
    place: &Path,
    environment: &Environment,
    stop: &Stop,
) -> Result<bool> {
    let place_name = place.display().to_string();
    git.typed(&["worktree", "add", "--quiet", "--detach", &place_name, branch])
        .output(LIMITS, stop)?;
    language.link_packages(place)?;
    Ok(language.checks(kata, place, environment)?.output(LIMITS, stop)?.success())
}
