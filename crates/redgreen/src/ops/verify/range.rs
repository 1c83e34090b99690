//! Resolves a requested range to two commits.

use std::path::Path;

use anyhow::Result;
use redgreen_core::names::Oid;
use redgreen_core::proof::range::{RangeSpec, of_ci};
use redgreen_core::verdict::{Code, Reason};

use crate::config;
use crate::foreign;
use crate::git::Git;

/// The size limit of a CI event.
const EVENT_BYTES_MAX: u64 = 16 << 20;
/// What to do in a shallow clone.
const SHALLOW: &str = "this clone is shallow: run `git fetch --unshallow` (GitHub Actions: \
                       `fetch-depth: 0` for actions/checkout; GitLab: `GIT_DEPTH: 0`)";

/// The two ends of a range.
#[derive(Clone, Debug)]
pub(super) struct RangeEnds {
    pub(super) base: Oid,
    pub(super) head: Oid,
}

/// The range of the CI event. `None` outside of CI, or if the system does not say.
pub fn asked_by_ci() -> Option<RangeSpec> {
    let event = config::ci_variable("GITHUB_EVENT_PATH").and_then(|path| {
        let bytes = foreign::read(Path::new(&path), EVENT_BYTES_MAX).ok()??;
        String::from_utf8(bytes).ok()
    });
    of_ci(&config::ci_variable, event.as_deref())
}

/// The commits, or why there are none.
pub(super) fn resolve(git: &Git, asked: Option<&RangeSpec>) -> Result<Result<RangeEnds, Reason>> {
    let commit = |name: &str| -> Result<Result<Oid, Reason>> {
        let commit = format!("{name}^{{commit}}");
        Ok(match git.resolve(&commit)? {
            Some(found) => Ok(found),
            None => {
                let said = git.complaint_about(&commit)?;
                Err(absent(
                    git,
                    &format!("{name} is not a commit in this repository: git says {said:?}"),
                ))
            }
        })
    };
    let (base, head) = match asked {
        Some(RangeSpec::Range { base, head }) => (commit(base)?, commit(head)?),
        Some(RangeSpec::MergeOf(name)) => {
            let merge = match commit(name)? {
                Ok(merge) => merge,
                Err(reason) => return Ok(Err(reason)),
            };
            match git.parents(&merge)?.as_slice() {
                [base, head] => (commit(base)?, commit(head)?),
                _ => {
                    let sentence = format!("{name} is not a merge of two commits");
                    // A shallow clone does not know the parents of its first commit.
                    return Ok(Err(match git.is_shallow() {
                        true => absent(git, &sentence),
                        false => Reason::new(Code::VerifyNotAMerge, sentence),
                    }));
                }
            }
        }
        Some(RangeSpec::Branch(name)) => (target(git)?, commit(name)?),
        Some(RangeSpec::Pushed { before, after }) => {
            let after = match commit(after)? {
                Ok(after) => after,
                Err(reason) => return Ok(Err(reason)),
            };
            (before_push(git, commit(before)?, &after)?, Ok(after))
        }
        None => (target(git)?, commit("HEAD")?),
    };
    let (base, head) = match (base, head) {
        (Ok(base), Ok(head)) => (base, head),
        (Err(reason), _) | (_, Err(reason)) => return Ok(Err(reason)),
    };
    let base = match git.merge_base(&base, &head)? {
        Ok(base) => base,
        Err(said) => {
            let said = if said.is_empty() { "git finds no merge base".to_owned() } else { said };
            return Ok(Err(absent(
                git,
                &format!("{base} and {head} have no commit in common: {said}"),
            )));
        }
    };
    if base == head {
        let sentence = format!("the range is empty: {head} adds nothing to the base");
        return Ok(Err(Reason::new(Code::VerifyEmptyRange, sentence)));
    }
    Ok(Ok(RangeEnds { base, head }))
}

/// What a push is compared with: the commit before it. After a forced push this is none of the
/// branch's own commits, or gone, and the whole branch counts.
fn before_push(git: &Git, before: Result<Oid, Reason>, after: &Oid) -> Result<Result<Oid, Reason>> {
    if let Ok(commit) = &before
        && git.merge_base(commit, after)?.as_ref() == Ok(commit)
    {
        return Ok(before);
    }
    let target = target(git)?;
    if let Ok(commit) = &target
        && git.merge_base(commit, after)?.as_ref() != Ok(after)
    {
        return Ok(target);
    }
    // The target branch itself was forced, or there is none.
    Ok(before.or(target))
}

/// The target branch.
fn target(git: &Git) -> Result<Result<Oid, Reason>> {
    let Some(name) = git.default_branch()? else {
        let sentence = "cannot find the target branch of this one; pass a range, for example \
                        main..HEAD";
        return Ok(Err(absent(git, sentence)));
    };
    let found = git.resolve(&format!("{name}^{{commit}}"))?;
    Ok(found.ok_or_else(|| absent(git, &format!("{name} is not a commit in this repository"))))
}

fn absent(git: &Git, what: &str) -> Reason {
    let sentence = if git.is_shallow() { format!("{what}; {SHALLOW}") } else { what.to_owned() };
    Reason::new(Code::VerifyRange, sentence)
}
