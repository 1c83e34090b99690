//! Merges accepted work into a branch of the user, completely or not at all.
//!
//! Conflicts are detected without touching a file. The merge itself is a plain `git merge` with the
//! user's hooks, signing and merge drivers, in the checkout that has the branch. Unless it
//! succeeds, the checkout is restored.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::event::Commits;
use redgreen_core::names::{Branch, Oid};
use redgreen_core::report::Exit;

use super::Git;
use super::call::{CHECKOUT_MAX, Call, existing_lock, refused};
use super::merge_checkout::MergeCheckout;
use crate::failure::Failure;
use crate::process::{Output, Stop};

/// The user's hooks may run a whole test suite, and a signature may wait for a passphrase.
const MERGE_MAX: Duration = Duration::from_secs(1800);
/// The output of git and of the user's hooks is truncated to this length.
const WORDS_BYTES_MAX: usize = 64 << 10;
/// Identifies a squashed commit, which has no link to its source.
const SQUASH_TRAILER: &str = "Redgreen-Squash";

#[derive(Clone, Copy, Debug)]
pub struct MergeRequest<'a> {
    /// The short name of the user's branch.
    pub target: &'a Branch,
    /// The full id of the commit to bring in.
    pub source: &'a Oid,
    pub message: &'a str,
    pub commits: Commits,
    /// Where to create a temporary checkout if the branch is not checked out.
    pub scratch: &'a Path,
}

/// If not merged, everything is as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    Merged {
        commit: Oid,
    },
    AlreadyMerged,
    Conflicts {
        paths: Vec<String>,
    },
    /// Something in the user's checkout blocked the merge.
    Blocked {
        by: String,
        output: String,
    },
}

impl Git {
    pub fn merge(&self, request: MergeRequest<'_>, stop: &Stop) -> Result<Merge> {
        let MergeRequest { target, source, scratch, .. } = request;
        let Some(before) = self.read_ref(&target.full_ref())? else {
            return Err(Failure::environment(format!("there is no branch {target}"))
                .next("git branch --list")
                .into());
        };
        if self.contains(&before, source)? {
            return Ok(Merge::AlreadyMerged);
        }
        let merged = match self.merged_tree(&before, source)? {
            Ok(tree) => tree,
            Err(paths) => return Ok(Merge::Conflicts { paths }),
        };
        if request.commits == Commits::Squashed && merged == self.tree_of(&before)? {
            return Ok(Merge::AlreadyMerged);
        }
        if let Some(folder) = self.rebase_of(target)? {
            return Ok(blocked(
                format!("a rebase of {target} in progress"),
                folder.display().to_string(),
            ));
        }
        match self.merge_checkout(target)? {
            Some(checkout) => {
                self.uninterrupted().merge_at(&checkout, [&before, &merged], request, stop)
            }
            None => {
                let checkout = self.temporary_checkout(target, scratch)?;
                let merged =
                    self.uninterrupted().merge_at(&checkout, [&before, &merged], request, stop);
                let removed = self.remove_checkout(&checkout.folder);
                let merged = merged?;
                removed.map(|()| merged)
            }
        }
    }

    /// The tree that a merge would produce, or the conflicting paths. Touches no file. Runs one
    /// process.
    pub fn merged_tree(&self, target: &str, source: &str) -> Result<Result<Oid, Vec<String>>> {
        let act = format!("try to merge {source} into {target}");
        let asked = self
            .call([
                "merge-tree",
                "--write-tree",
                "-z",
                "--name-only",
                "--no-messages",
                target,
                source,
            ])
            .wall(CHECKOUT_MAX)
            .ask(&act)?;
        let text = asked.stdout_text();
        let mut fields = text.split('\0').filter(|field| !field.is_empty()).map(str::to_owned);
        match asked.exit {
            Exit::Code(0) => {
                let tree = fields.next().with_context(|| format!("{act}: git gave no tree"))?;
                Ok(Ok(Oid::parse(&tree).context(act)?))
            }
            Exit::Code(1) => Ok(Err(fields.skip(1).collect())),
            _ => Err(refused(&act, &asked)),
        }
    }

    pub fn contains(&self, commit: &str, ancestor: &str) -> Result<bool> {
        let act = format!("look for {ancestor} in {commit}");
        let asked = self.call(["merge-base", "--is-ancestor", ancestor, commit]).ask(&act)?;
        match asked.exit {
            Exit::Code(0) => Ok(true),
            Exit::Code(1) => Ok(false),
            _ => Err(refused(&act, &asked)),
        }
    }

    /// Whether `commit` or one of its ancestors was squashed from `source`. Only reads commits that
    /// `source` does not contain.
    pub fn has_squash(&self, commit: &str, source: &str) -> Result<bool> {
        let wanted = format!("--grep={SQUASH_TRAILER}: {source}");
        let without = format!("^{source}");
        let call =
            self.call(["log", "-1", "--format=%H", "--fixed-strings", &wanted, commit, &without]);
        let answer =
            call.wall(CHECKOUT_MAX).run(&format!("look for a squash of {source} in {commit}"))?;
        Ok(!answer.is_empty())
    }

    fn merge_at(
        &self,
        checkout: &MergeCheckout,
        [before, merged]: [&Oid; 2],
        request: MergeRequest<'_>,
        stop: &Stop,
    ) -> Result<Merge> {
        let MergeRequest { target, source, message, commits, .. } = request;
        let place = checkout.folder.display().to_string();
        if let Some(what) = checkout.under_way() {
            return Ok(blocked(format!("a {what} in progress"), place));
        }
        let lock = checkout.admin.join("index.lock");
        if lock.exists() {
            return Ok(blocked(
                "another git process".to_owned(),
                format!("it holds {}", lock.display()),
            ));
        }
        // In an incomplete merge, staged changes of the user and of the merge would look the same.
        if checkout.is_staged()? {
            return Ok(blocked("staged changes".to_owned(), place));
        }
        // The user's files may already have the content that the merge would write.
        let probe = self.probe(checkout, before, merged)?;
        let theirs = self.written(checkout, &probe)?;
        let act = format!("merge {source} into {target}");
        let run = |args: &[&str]| {
            let call = Call::as_the_user(&checkout.folder)
                .args(args)
                .wall(MERGE_MAX)
                .bytes_max(WORDS_BYTES_MAX);
            call.stop(stop).output(&act)
        };
        let quiet = ["merge", "--no-autostash", "--no-stat"];
        let ran = match commits {
            Commits::Merged => {
                let merge = [
                    "--no-ff",
                    "--no-edit",
                    "--no-squash",
                    "--commit",
                    "-m",
                    message,
                    source.as_str(),
                ];
                run(&[&quiet[..], &merge].concat())
            }
            // `--ff`, because git refuses to squash with `merge.ff = false` in the user's
            // configuration.
            Commits::Squashed => {
                match run(&[&quiet[..], &["--squash", "--ff", source.as_str()]].concat()) {
                    Ok(staged) if staged.success() => {
                        run(&["commit", "-m", &squash_message(message, source)])
                    }
                    other => other,
                }
            }
        };
        let after = self.read_ref(&target.full_ref())?.unwrap_or_default();
        // Git's exit code can be that of a hook that ran after the merge, so look at the branch
        // instead.
        let moved = after != *before;
        let has_it = match commits {
            Commits::Merged => moved && self.contains(&after, source)?,
            Commits::Squashed => {
                moved && (self.tree_of(&after)? == *merged || self.has_squash(&after, source)?)
            }
        };
        if has_it {
            return Ok(Merge::Merged { commit: after });
        }
        self.take_back(checkout, &probe, source, &theirs)
            .with_context(|| format!("{act}: undo the incomplete merge"))?;
        let output = ran?;
        let words = [output.stderr_text(), output.stdout_text()].join("\n").trim().to_owned();
        Ok(blocked(culprit(&output), words))
    }
}

fn squash_message(message: &str, source: &str) -> String {
    // Trailers have to be in one block at the end.
    format!("{}\n{SQUASH_TRAILER}: {source}\n", message.trim_end())
}

fn blocked(by: String, output: String) -> Merge {
    Merge::Blocked { by, output }
}

/// The reason why a merge without conflicts failed.
fn culprit(output: &Output) -> String {
    let stderr = output.stderr_text();
    if output.exit == Exit::TimedOut {
        format!("the time limit of {} s", MERGE_MAX.as_secs())
    } else if let Some(lock) = existing_lock(&stderr) {
        format!("another git process, which holds {lock}")
    } else if stderr.contains("would be overwritten by merge")
        || stderr.contains("would be removed by merge")
    {
        "uncommitted changes".to_owned()
    } else if stderr.contains("failed to sign") || stderr.contains("failed to write commit object")
    {
        "signing".to_owned()
    } else if stderr.contains("Not committing merge") {
        "a hook".to_owned()
    } else {
        "git".to_owned()
    }
}
