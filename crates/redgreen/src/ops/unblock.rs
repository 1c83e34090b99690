//! The commands that resolve a blocked merge, one per line, for each possible cause.

use redgreen_core::agent::AttemptFailure;
use redgreen_core::state::{Situation, State, review};
use redgreen_core::text::shell_word;

/// The commands for a blocked merge. `id` names the run.
pub fn commands(state: &State, trouble: &AttemptFailure, id: &str) -> String {
    let (branch, target) = (shell_word(&state.run.branch), shell_word(&state.run.target));
    let approve = match state.situation {
        Situation::Reviewing(_) => format!("redgreen resume {id}"),
        _ => format!("redgreen approve {id}"),
    };
    let head = short(&state.progress.head.commit);
    // Commits on the run's branch are part of the run, so the fix is made there.
    let on_the_branch = |doing: &[String]| {
        let mut lines = vec![format!("git switch {branch}")];
        lines.extend_from_slice(doing);
        lines.extend([format!("git switch {target}"), approve.clone()]);
        lines
    };
    let lines = match trouble.kind.as_str() {
        "merge.conflicts" => on_the_branch(&[
            format!(
                "git merge {target}    (then edit the files in conflict, and: git add <files>)"
            ),
            "git commit --no-edit".to_owned(),
        ]),
        "merge.tests_fail" => on_the_branch(&[
            format!("git merge {target}    (then make the tests pass)"),
            "git commit --all".to_owned(),
        ]),
        review::REFUSED => on_the_branch(&[format!(
            "edit, then: git commit --amend --all    (or without your commits: git reset --keep {head})"
        )]),
        review::STILL_RED => on_the_branch(&[format!(
            "write the code, then: git commit --all    (or without your commits: git reset --keep {head})"
        )]),
        "branch.rewritten" => vec![
            format!("git branch {} {branch}", shell_word(&format!("{}-mine", state.run.branch))),
            format!(
                "git branch -f {branch} {head}    (then bring your commits back: git cherry-pick)"
            ),
            approve,
        ],
        "merge.target_gone" => {
            vec![format!("git branch {target} {}", state.run.base.commit), approve]
        }
        "merge.blocked" => blocked(&trouble.message, approve),
        _ => vec![approve],
    };
    format!("{}    (or: redgreen abort {id})", lines.join("\n"))
}

/// Whether the cause is a commit by others on the run's branch.
pub fn is_of_the_branch(trouble: &AttemptFailure) -> bool {
    [review::REFUSED, review::STILL_RED].contains(&trouble.kind.as_str())
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// The cause in the first line of the message, as worded by `git::merge`.
fn blocked(message: &str, approve: String) -> Vec<String> {
    let by = message.lines().next().unwrap_or_default();
    let place = message.lines().nth(1).unwrap_or_default();
    let first = match by {
        "staged changes" => "git stash    (or commit them; afterwards: git stash pop)".to_owned(),
        "uncommitted changes" => {
            "git stash --include-untracked    (or commit them; afterwards: git stash pop)".to_owned()
        }
        "a hook" => "fix what your hook reports above".to_owned(),
        "signing" => {
            "make git sign: git commit-tree -S -m test HEAD^{tree}    (or: git config commit.gpgsign false)".to_owned()
        }
        _ if by.starts_with("a rebase") => {
            format!("finish it: git rebase --continue    (or: git rebase --abort){}", of(place))
        }
        _ if by.ends_with(" under way") => {
            let what = by.trim_start_matches("a ").trim_end_matches(" under way");
            format!("finish it: git {what} --continue    (or: git {what} --abort){}", of(place))
        }
        _ if by.starts_with("another git process") => {
            "wait until it ends; if a killed git left the lock behind, remove that file".to_owned()
        }
        _ => "fix what git reports above".to_owned(),
    };
    vec![first, approve]
}

fn of(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(", in {place}") }
}
