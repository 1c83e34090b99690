//! Tests that fail in the clean room but pass outside, and the settings that would help.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use redgreen_core::report::Report;
use redgreen_core::report::room::{self, Help, RoomFacts, RoomFailure};

use super::TrialContext;
use super::open::Trial;
use crate::config;

/// Variables that many files mention and no test needs.
const COMMON: &[&str] = &[
    "CI",
    "COLORTERM",
    "DISPLAY",
    "EDITOR",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "LS_COLORS",
    "MAIL",
    "NO_COLOR",
    "OLDPWD",
    "PAGER",
    "PWD",
    "SHELL",
    "SHLVL",
    "TERM",
    "TZ",
    "USER",
    "VISUAL",
    "XDG_RUNTIME_DIR",
    "_",
];
/// Shorter names appear in too many texts by chance.
const NAME_CHARS_MIN: usize = 4;
/// The number of project files searched for variable names.
const FILES_MAX: usize = 2_000;
const FILE_BYTES_MAX: u64 = 256 << 10;

/// Runs the tests of a tree again, without a sandbox and in the user's environment, and returns
/// those that fail in the room but pass there.
pub fn only_there(
    ground: TrialContext<'_>,
    tree: &str,
    seen: &Report,
    timeout: Duration,
) -> Result<Vec<(RoomFailure, Help)>> {
    let mut trial = Trial::open(ground, tree, tree, None, timeout)?;
    let outside = trial.run_unsandboxed();
    let found =
        outside.and_then(|outside| helped(ground, tree, &trial, room::only_there(&outside, seen)));
    trial.close()?;
    found
}

/// Like `only_there`, for tests that already ran outside the room.
pub fn explain(
    ground: TrialContext<'_>,
    tree: &str,
    outside: &Report,
    seen: &Report,
) -> Result<Vec<(RoomFailure, Help)>> {
    let found = room::only_there(outside, seen);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let trial = Trial::open(ground, tree, tree, None, Duration::ZERO)?;
    let found = helped(ground, tree, &trial, found);
    trial.close()?;
    found
}

fn helped(
    ground: TrialContext<'_>,
    tree: &str,
    trial: &Trial<'_>,
    found: Vec<RoomFailure>,
) -> Result<Vec<(RoomFailure, Help)>> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let inside: BTreeSet<_> = trial.variables().into_iter().collect();
    let is_news = |name: &str| {
        name.len() >= NAME_CHARS_MIN && !COMMON.contains(&name) && !name.starts_with("REDGREEN")
    };
    let variables =
        config::variables(is_news).into_iter().filter(|(name, _)| !inside.contains(name));
    let variables: Vec<String> =
        variables.filter_map(|(name, _)| name.into_string().ok()).collect();
    let files = ground.git.tree_files(tree)?;
    let text = |path: &str| {
        let bytes = ground.git.read_file(tree, path).ok().flatten()?;
        String::from_utf8(bytes).ok()
    };
    let mentioned = mentioned(ground, &variables, &files);
    let provided = ground.file.test.provided()?;
    let values = provided.variables.iter().map(|(_, value)| value.to_string_lossy().into_owned());
    let passed = config::variables(|name| mentioned.iter().any(|known| known == name));
    let values: Vec<String> = values
        .chain(passed.into_iter().map(|(_, value)| value.to_string_lossy().into_owned()))
        .collect();
    let is_untracked = |path: &str| {
        let held = files.iter().any(|file| file.path.starts_with(path));
        !path.starts_with('/')
            && !path.contains("..")
            && !held
            && ground.checkout.join(path).exists()
    };
    let known = RoomFacts {
        variables: &variables,
        mentioned: &mentioned,
        values: &values,
        listening: &listening(),
        served: &provided.services,
        text: &text,
        is_untracked: &is_untracked,
    };
    Ok(found.into_iter().map(|one| (one.clone(), room::help(&one, &known))).collect())
}

/// The listening ports of this machine; none if the system does not report them.
fn listening() -> Vec<u16> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok());
    tables.flat_map(|table| room::listening(&table)).collect()
}

/// The variables that a project file mentions. Reads the checkout, which is faster than git.
fn mentioned(
    ground: TrialContext<'_>,
    variables: &[String],
    files: &[crate::git::TreeFile],
) -> Vec<String> {
    let mut found = BTreeSet::new();
    for file in files.iter().take(FILES_MAX) {
        let path = ground.checkout.join(&file.path);
        let is_small = path
            .symlink_metadata()
            .is_ok_and(|facts| facts.is_file() && facts.len() <= FILE_BYTES_MAX);
        let Some(text) = is_small.then(|| std::fs::read_to_string(&path).ok()).flatten() else {
            continue;
        };
        found.extend(variables.iter().filter(|name| room::has_word(&text, name)).cloned());
    }
    found.into_iter().collect()
}
