//! After `approve`: pushes the target branch, and finds the page to open a pull request.

use anyhow::Result;
use redgreen_core::forge;
use redgreen_core::text::shell_word;
use serde::Serialize;

use super::{RunEnd, pick, state_of};
use crate::engine::Project;
use crate::failure::Failure;
use crate::git::{Push, Upstream};

/// Where the merged branch goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushInfo {
    pub version: u32,
    pub branch: String,
    /// `origin/main`.
    pub upstream: String,
    pub pushed: bool,
    /// The command that pushes it.
    pub command: String,
    /// The page to open a pull request, if the branch is not the remote's default branch.
    pub pull_request: Option<String>,
}

/// Before the merge: the branch must have an upstream.
pub fn check(project: &Project, run: Option<&str>) -> Result<()> {
    let target = state_of(&pick(project, run)?)?.run.target;
    match project.git.upstream(&target)? {
        Some(_) => Ok(()),
        None => Err(Failure::usage(format!(
            "{target} has no upstream branch to push to; nothing was merged"
        ))
        .next(format!(
            "git push --set-upstream origin {}, then: redgreen approve --push",
            shell_word(&target)
        ))
        .into()),
    }
}

/// The upstream of the target branch of a run, if it has one.
pub fn way(project: &Project, stopped: &RunEnd) -> Result<Option<PushInfo>> {
    let target = &stopped.state.run.target;
    Ok(project.git.upstream(target)?.map(|upstream| describe(target, &upstream, IsPushed::No)))
}

/// Pushes that branch.
pub fn push(project: &Project, stopped: &RunEnd) -> Result<PushInfo> {
    let target = &stopped.state.run.target;
    let Some(upstream) = project.git.upstream(target)? else {
        return Err(Failure::environment(format!(
            "{target} is merged, but has no upstream branch any more"
        ))
        .next(format!("git push --set-upstream origin {}", shell_word(target)))
        .into());
    };
    match project.git.push(target, &upstream, &project.stop)? {
        Push::Done => Ok(describe(target, &upstream, IsPushed::Yes)),
        Push::Refused { words } => {
            let failure =
                Failure::environment(format!("{target} is merged, but could not be pushed"));
            let command = describe(target, &upstream, IsPushed::No).command;
            Err(failure
                .evidence(words)
                .next(format!("fix it, then run: {command}    (or undo the merge: redgreen undo)"))
                .into())
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IsPushed {
    Yes,
    No,
}

fn describe(target: &str, upstream: &Upstream, sent: IsPushed) -> PushInfo {
    let there = upstream.short();
    let what = if target == there { target.to_owned() } else { format!("{target}:{there}") };
    let page = forge::pull_request_page(&upstream.url, there);
    PushInfo {
        version: 1,
        branch: target.to_owned(),
        upstream: upstream.name(),
        pushed: sent == IsPushed::Yes,
        command: format!("git push {} {}", shell_word(&upstream.remote), shell_word(&what)),
        pull_request: page.filter(|_| !upstream.is_default),
    }
}
