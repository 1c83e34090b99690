//! The merge of accepted work into a branch of the user's: all of it or nothing.
//!
//! Conflicts are found without touching a file. The merge itself is the user's own `git merge`, with their hooks,
//! signing and merge drivers, where the branch is checked out; if it ends in any other way than merged, the checkout is
//! put back.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::event::Commits;
use redgreen_core::names::{Branch, Oid};
use redgreen_core::report::Exit;

use super::Git;
use super::call::{CHECKOUT_MAX, Call, lock_in_the_way, refused};
use super::landing::Landing;
use crate::failure::Failure;
use crate::process::{Output, Stop};

/// The user's hooks may run a whole test suite, and a signature may wait for a passphrase.
const MERGE_MAX: Duration = Duration::from_secs(1800);
/// What is kept of the words of git and of the user's hooks.
const WORDS_BYTES_MAX: usize = 64 << 10;
/// By this trailer a squashed commit is found again: it has no link to what it was made from.
const SQUASH_TRAILER: &str = "Redgreen-Squash";

/// What to merge where.
#[derive(Clone, Copy, Debug)]
pub struct MergeRequest<'a> {
    /// The short name of the user's branch.
    pub target: &'a Branch,
    /// The full id of the commit to bring in.
    pub source: &'a Oid,
    pub message: &'a str,
    pub commits: Commits,
    /// Where a checkout is made, and removed, if the branch is checked out nowhere.
    pub scratch: &'a Path,
}

/// How a merge ended. Unless merged, everything is as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    Merged {
        commit: Oid,
    },
    AlreadyMerged,
    Conflicts {
        paths: Vec<String>,
    },
    /// Something of the user's stood in the way.
    Blocked {
        by: String,
        output: String,
    },
}

impl Git {
    pub fn merge(&self, request: MergeRequest<'_>, stop: &Stop) -> Result<Merge> {
        let MergeRequest { target, source, scratch, .. } = request;
        let Some(before) = self.read_ref(&target.full_ref())? else {
            return Err(Failure::environment(format!("there is no branch {target}")).next("git branch --list").into());
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
            return Ok(blocked(format!("a rebase of {target} under way"), folder.display().to_string()));
        }
        match self.landing(target)? {
            Some(landing) => self.to_the_end().merge_at(&landing, [&before, &merged], request, stop),
            None => {
                let landing = self.temporary_landing(target, scratch)?;
                let merged = self.to_the_end().merge_at(&landing, [&before, &merged], request, stop);
                let removed = self.remove_landing(&landing.folder);
                let merged = merged?;
                removed.map(|()| merged)
            }
        }
    }

    /// The tree that a merge would give, or the paths in conflict. Nothing is touched. One process.
    pub fn merged_tree(&self, target: &str, source: &str) -> Result<Result<Oid, Vec<String>>> {
        let act = format!("try to merge {source} into {target}");
        let asked = self
            .call(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", target, source])
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

    /// Whether a commit, or one before it, was squashed from `source`. Only commits that `source` lacks are read.
    pub fn has_squash(&self, commit: &str, source: &str) -> Result<bool> {
        let wanted = format!("--grep={SQUASH_TRAILER}: {source}");
        let without = format!("^{source}");
        let call = self.call(["log", "-1", "--format=%H", "--fixed-strings", &wanted, commit, &without]);
        let answer = call.wall(CHECKOUT_MAX).run(&format!("look for a squash of {source} in {commit}"))?;
        Ok(!answer.is_empty())
    }

    fn merge_at(
        &self,
        landing: &Landing,
        [before, merged]: [&Oid; 2],
        request: MergeRequest<'_>,
        stop: &Stop,
    ) -> Result<Merge> {
        let MergeRequest { target, source, message, commits, .. } = request;
        let place = landing.folder.display().to_string();
        if let Some(what) = landing.under_way() {
            return Ok(blocked(format!("a {what} under way"), place));
        }
        let lock = landing.admin.join("index.lock");
        if lock.exists() {
            return Ok(blocked("another git process".to_owned(), format!("it holds {}", lock.display())));
        }
        // Staged changes could not be told from the merge's own once it is half-way.
        if landing.is_staged()? {
            return Ok(blocked("staged changes".to_owned(), place));
        }
        // A file of the user's may happen to be as the merge would write it.
        let probe = self.probe(landing, before, merged)?;
        let theirs = self.written(landing, &probe)?;
        let act = format!("merge {source} into {target}");
        let run = |args: &[&str]| {
            let call = Call::as_the_user(&landing.folder).args(args).wall(MERGE_MAX).bytes_max(WORDS_BYTES_MAX);
            call.stop(stop).output(&act)
        };
        let quiet = ["merge", "--no-autostash", "--no-stat"];
        let ran = match commits {
            Commits::Merged => {
                let merge = ["--no-ff", "--no-edit", "--no-squash", "--commit", "-m", message, source.as_str()];
                run(&[&quiet[..], &merge].concat())
            }
            // `--ff`, because git refuses to squash where the user's configuration says `merge.ff = false`.
            Commits::Squashed => match run(&[&quiet[..], &["--squash", "--ff", source.as_str()]].concat()) {
                Ok(staged) if staged.success() => run(&["commit", "-m", &squash_message(message, source)]),
                other => other,
            },
        };
        let after = self.read_ref(&target.full_ref())?.unwrap_or_default();
        // Whatever git's exit code says about a hook that ran afterwards, a branch that moved to a merge of ours has it.
        let moved = after != *before;
        let has_it = match commits {
            Commits::Merged => moved && self.contains(&after, source)?,
            Commits::Squashed => moved && (self.tree_of(&after)? == *merged || self.has_squash(&after, source)?),
        };
        if has_it {
            return Ok(Merge::Merged { commit: after });
        }
        self.take_back(landing, &probe, source, &theirs).with_context(|| format!("{act}: it did not end well"))?;
        let output = ran?;
        let words = [output.stderr_text(), output.stdout_text()].join("\n").trim().to_owned();
        Ok(blocked(culprit(&output), words))
    }
}

fn squash_message(message: &str, source: &str) -> String {
    // Trailers stand together at the end.
    format!("{}\n{SQUASH_TRAILER}: {source}\n", message.trim_end())
}

fn blocked(by: String, output: String) -> Merge {
    Merge::Blocked { by, output }
}

/// Who kept an otherwise clean merge from ending.
fn culprit(output: &Output) -> String {
    let stderr = output.stderr_text();
    if output.exit == Exit::TimedOut {
        format!("the time limit of {} s", MERGE_MAX.as_secs())
    } else if let Some(lock) = lock_in_the_way(&stderr) {
        format!("another git process, which holds {lock}")
    } else if stderr.contains("would be overwritten by merge") || stderr.contains("would be removed by merge") {
        "uncommitted changes".to_owned()
    } else if stderr.contains("failed to sign") || stderr.contains("failed to write commit object") {
        "signing".to_owned()
    } else if stderr.contains("Not committing merge") {
        "a hook".to_owned()
    } else {
        "git".to_owned()
    }
}
