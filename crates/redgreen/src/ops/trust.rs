//! `redgreen trust`: commands in a repository's settings run only after the user agreed. Agreements
//! are stored by content: redgreen asks again about a changed command.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::config::layers::{self, Layer};
use crate::config::{self, Environment, File};
use crate::failure::Failure;
use crate::git::Git;

/// The folder of agreements, in the user's state folder.
const FOLDER: &str = "trust";

/// The commands of a project, and whether they may run.
#[derive(Debug, Serialize)]
pub struct Trust {
    pub version: u32,
    pub commands: Vec<Command>,
    pub trusted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Command {
    pub key: String,
    pub line: String,
}

/// The commands of the project, and whether the user agreed.
pub fn look(root: &Path, environment: &Environment) -> Result<Trust> {
    let commands = commands(root, environment)?;
    let trusted =
        commands.is_empty() || environment.trust || record(root, environment, &commands)?.is_file();
    Ok(Trust { version: 1, commands, trusted })
}

/// Stops a command that would run untrusted commands.
pub fn check(root: &Path, environment: &Environment) -> Result<()> {
    let trust = look(root, environment)?;
    if trust.trusted {
        return Ok(());
    }
    let failure = Failure::usage("you have not trusted this project's settings yet");
    let failure = trust.commands.iter().fold(failure, |failure, command| {
        failure.evidence(format!("{}: {}", command.key, command.line))
    });
    Err(failure.next("redgreen trust, or once: redgreen --trust …").into())
}

/// The project's settings in a tree, not in the checkout. Untrusted commands in them stop the
/// command, as those of the checkout do.
pub fn settings_of(git: &Git, tree: &str, environment: &Environment) -> Result<File> {
    let read =
        |name: &str| Ok(git.read_file(tree, name)?.and_then(|bytes| String::from_utf8(bytes).ok()));
    let layers = layers::layers_of(&read, environment)?;
    let own: Vec<Layer> = layers.iter().filter(|layer| layer.of_project).cloned().collect();
    let named: Vec<Command> = commands_of(&layers::merged(&own)?);
    let here = look(&git.root, environment)?;
    let is_new = |command: &&Command| !here.commands.contains(command);
    if !environment.trust && (!here.trusted || named.iter().any(|command| is_new(&command))) {
        let failure = Failure::usage(
            "the settings of the base contain commands that you have not trusted yet",
        );
        let failure = named.iter().filter(is_new).fold(failure, |failure, command| {
            failure.evidence(format!("{}: {}", command.key, command.line))
        });
        return Err(failure.next("redgreen --trust verify …").into());
    }
    layers::merged(&layers)
}

/// The folder for worktrees. A folder that the project names counts after the user agreed.
pub fn worktree_root(root: &Path, file: &File, environment: &Environment) -> Result<PathBuf> {
    if !is_open_question(root, environment)? {
        return config::worktree_root(file, environment);
    }
    let layers: Vec<Layer> =
        layers::layers(root, environment)?.into_iter().filter(|layer| !layer.of_project).collect();
    config::worktree_root(&layers::merged(&layers)?, environment)
}

/// Stops a command that would remove worktrees in an untrusted folder.
pub fn check_worktree_root(root: &Path, environment: &Environment) -> Result<()> {
    if is_open_question(root, environment)? { check(root, environment) } else { Ok(()) }
}

/// Whether the project names a folder for worktrees that the user has not trusted.
fn is_open_question(root: &Path, environment: &Environment) -> Result<bool> {
    let is_named =
        environment.worktrees.is_none() && of_project(root, environment)?.worktree.root.is_some();
    // If agreements cannot be stored, there is none.
    Ok(is_named && !look(root, environment).is_ok_and(|trust| trust.trusted))
}

/// Stores the agreement.
pub fn agree(root: &Path, environment: &Environment) -> Result<Trust> {
    let commands = commands(root, environment)?;
    if !commands.is_empty() {
        let path = record(root, environment, &commands)?;
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        let mut text = format!("{}\n", root.display());
        for command in &commands {
            text.push_str(&format!("{} = {:?}\n", command.key, command.line));
        }
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(Trust { version: 1, commands, trusted: true })
}

/// Removes it.
pub fn revoke(root: &Path, environment: &Environment) -> Result<Trust> {
    let commands = commands(root, environment)?;
    let path = record(root, environment, &commands)?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("remove {}", path.display()));
        }
        Ok(()) | Err(_) => {}
    }
    Ok(Trust { version: 1, trusted: commands.is_empty(), commands })
}

/// Only the project's own files. The user's file is already trusted.
fn of_project(root: &Path, environment: &Environment) -> Result<File> {
    let layers: Vec<Layer> =
        layers::layers(root, environment)?.into_iter().filter(|layer| layer.of_project).collect();
    layers::merged(&layers)
}

fn commands(root: &Path, environment: &Environment) -> Result<Vec<Command>> {
    let mut commands = commands_of(&of_project(root, environment)?);
    // Without a repository, there is no git configuration either.
    if let Ok(git) = Git::open(root) {
        let configured = git.configured_commands()?;
        commands.extend(
            configured
                .into_iter()
                .map(|(key, line)| Command { key: format!("git config {key}"), line }),
        );
    }
    Ok(commands)
}

fn commands_of(file: &File) -> Vec<Command> {
    file.commands().into_iter().map(|(key, line)| Command { key: key.to_owned(), line }).collect()
}

fn record(root: &Path, environment: &Environment, commands: &[Command]) -> Result<PathBuf> {
    let Some(state) = &environment.state else {
        return Err(Failure::environment("cannot remember what you trust: no home folder")
            .next("REDGREEN_TRUST=1 redgreen …")
            .into());
    };
    let mut hash = Sha256::new();
    hash.update(root.as_os_str().as_encoded_bytes());
    for Command { key, line } in commands {
        for part in [key, line] {
            hash.update([0]);
            hash.update(part.as_bytes());
        }
    }
    let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(state.join(FOLDER).join(name))
}
