//! `redgreen demo`: develops a small kata in a scratch repository with the scripted agent and the real `cargo test`.
//! Needs git and cargo; no key, no network.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::event::{Commits, Outcome};

use super::brief::Wish;
use super::{Stopped, decide, run};
use crate::agent::choice::Choice;
use crate::config::Environment;
use crate::engine::Observer;
use crate::failure::Failure;
use crate::git::Git;
use crate::process::Stop;

/// The project the demo starts from.
const FILES: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("../../demo/Cargo.toml")),
    (".gitignore", include_str!("../../demo/.gitignore")),
    ("src/lib.rs", include_str!("../../demo/src/lib.rs")),
    ("tests/numerals.rs", include_str!("../../demo/tests/numerals.rs")),
    // There is no server to be gentle with.
    ("redgreen.toml", "backoff = 0.0\n"),
];
/// How the name of a demo's folder begins, and the repository in it.
pub(super) const PREFIX: &str = "redgreen-demo-";
pub(super) const PROJECT: &str = "roman";
const SCRIPT: &str = include_str!("../../demo/kata.toml");

pub struct Demo {
    pub folder: PathBuf,
    pub stopped: Stopped,
}

/// Makes the repository, develops the kata, approves it.
pub fn demo(folder: Option<&Path>, environment: &Environment, stop: &Stop, observe: Observer<'_>) -> Result<Demo> {
    for program in ["git", "cargo"] {
        if !environment.has_program(program) {
            return Err(Failure::environment(format!("the demo needs {program}, which is not on the PATH"))
                .next(if program == "cargo" { "install Rust: rustup.rs" } else { "install git" })
                .into());
        }
    }
    let folder = scratch(folder)?;
    let project = folder.join(PROJECT);
    Git::create_scratch(&project, &FILES, "chore: an empty kata")?;
    let script = folder.join("kata.toml");
    fs::write(&script, SCRIPT).with_context(|| format!("write {}", script.display()))?;
    let environment = Environment { worktrees: Some(folder.join("worktrees")), ..environment.clone() };
    let opened = super::open(&project, environment, stop)?;
    let request = run::Request {
        wish: Wish::Request("Convert numbers to Roman numerals".to_owned()),
        agents: Choice { script: Some(script), ..Choice::default() },
        ..run::Request::default()
    };
    let stopped = run::run(&opened, &request, observe)?;
    let stopped = match stopped.outcome {
        Outcome::Waiting => decide::approve(&opened, Some(&stopped.folder.id), Commits::Merged, observe)?,
        _ => stopped,
    };
    fs::remove_dir_all(folder.join("worktrees")).ok();
    Ok(Demo { folder: project, stopped })
}

/// A folder of the demo's own; one that the user names has to be new or empty.
fn scratch(named: Option<&Path>) -> Result<PathBuf> {
    let Some(folder) = named else {
        let made = tempfile::Builder::new().prefix(PREFIX).tempdir().context("create a scratch folder")?;
        return Ok(made.keep());
    };
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let empty = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?.next().is_none();
    if !empty {
        return Err(Failure::usage(format!("{} is not empty", folder.display()))
            .next("redgreen demo --folder <a new folder>")
            .into());
    }
    folder.canonicalize().with_context(|| format!("find {}", folder.display()))
}
