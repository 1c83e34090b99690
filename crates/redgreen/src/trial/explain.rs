//! How to repeat an experiment with git and the test runner alone: its files as a tree.

use std::path::{Path, PathBuf};

use anyhow::Result;
use redgreen_core::experiment::{Experiment, Method, Tree};
use redgreen_core::judge::ExperimentResult;
use redgreen_core::verdict::ExperimentRecord;

use super::perform::Conditions;
use crate::git::Git;

/// Writes the files of each test run as a tree, and records the command that repeats the run.
pub(super) fn add_trees(
    git: &Git,
    conditions: &Conditions<'_>,
    seen: &[ExperimentResult],
    made: &mut [ExperimentRecord],
) -> Result<()> {
    for (seen, made) in seen.iter().zip(made) {
        if !matches!(seen.experiment.way, Method::Tests(_) | Method::Watched { .. })
            || made.command.is_empty()
        {
            continue;
        }
        let tree = laid_out(git, conditions, &seen.experiment)?;
        let set = |(name, value): &(&str, String)| format!("{name}={value} ");
        let variables: String = seen.experiment.variables.iter().map(set).collect();
        let command = &made.command;
        made.again = format!(
            "mkdir again && git archive {tree} | tar -x -C again && cd again && {variables}{command}"
        );
    }
    Ok(())
}

fn laid_out(git: &Git, conditions: &Conditions<'_>, experiment: &Experiment) -> Result<String> {
    let candidate = conditions.candidate;
    let tree = match experiment.tree {
        Tree::Base => candidate.base,
        Tree::Earlier => candidate.earlier.unwrap_or(candidate.base),
        Tree::Head | Tree::AsIs => candidate.head,
    };
    let (mut files, mut removed): (Vec<(PathBuf, String)>, Vec<PathBuf>) = (Vec::new(), Vec::new());
    if experiment.tree == Tree::Head {
        removed.extend(conditions.frozen.removed.iter().cloned());
        for frozen in &conditions.frozen.frozen {
            let text = frozen
                .path
                .to_str()
                .map(|path| git.read_file(&frozen.tree, path))
                .transpose()?
                .flatten();
            match text.and_then(|bytes| String::from_utf8(bytes).ok()) {
                Some(text) => files.push((frozen.path.clone(), text)),
                None => removed.push(frozen.path.clone()),
            }
        }
    }
    removed.extend(experiment.removed.iter().map(PathBuf::from));
    files.extend(experiment.edits.iter().map(|(path, text)| (PathBuf::from(path), text.clone())));
    if files.is_empty() && removed.is_empty() {
        return Ok(tree.to_owned());
    }
    let files: Vec<(&Path, &str)> =
        files.iter().map(|(path, text)| (path.as_path(), text.as_str())).collect();
    let removed: Vec<&Path> = removed.iter().map(PathBuf::as_path).collect();
    Ok(git.with_changes(tree, &files, &removed)?.to_string())
}
