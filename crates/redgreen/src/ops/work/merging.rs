//! A job in the merge queue: tests the run on the current target branch, merges it, and pushes. The
//! queue handles one job per target at a time. If a human pushes meanwhile, it starts over.

use std::time::Duration;

use anyhow::{Result, bail};
use redgreen_core::event::Outcome;
use redgreen_core::fleet::status::Event;
use redgreen_core::names::Label;
use redgreen_core::state::{Ending, Situation, State};

use super::attempt::{Claim, End, state_of};
use super::ending::{words_for, words_of};
use super::record::PushResult;
use crate::git::Git;
use crate::process::Limits;

/// How often a merge is repeated if the target branch moves meanwhile.
const TRIES_MAX: u32 = 5;
/// The time limit for the tests of the merged tree.
const APPROVE_MAX: Duration = Duration::from_secs(4 * 3600);
const OUTPUT_BYTES_MAX: usize = 256 << 10;

pub(super) fn merge(claim: &Claim<'_>) -> Result<End> {
    for _ in 0..TRIES_MAX {
        let (mut record, restored) = match claim.take_over()? {
            Ok(taken) => taken,
            Err(end) => return Ok(end),
        };
        let Some(folder) = restored else {
            return Ok(blocked("the run has no records in the repository"));
        };
        let Some(before) = state_of(&folder)? else { return Ok(blocked("the run has no journal")) };
        if let Some(commit) = merged(&before) {
            // The worker before died between the push and its last message.
            claim.remote_notes(&record)?;
            return Ok(End::Event(Event::Merged { commit }));
        }
        let approve = claim.program(&["approve", "--json", &folder.id]);
        let output = approve.output(
            Limits { wall: APPROVE_MAX, output_bytes_max: OUTPUT_BYTES_MAX },
            &claim.stop,
        )?;
        let Some(state) = state_of(&folder)? else { return Ok(blocked("the run has no journal")) };
        let Some(commit) = merged(&state) else {
            let why = match &state.left {
                Some(outcome @ (Outcome::MergeBlocked { .. } | Outcome::Undecided { .. })) => {
                    words_for(outcome)
                }
                Some(_) | None => words_of(&output),
            };
            return Ok(End::Event(Event::MergeBlocked { why }));
        };
        let tip = tip(&record.git, &claim.job.base)?;
        let draft = record.draft(&folder, None)?;
        if !claim.progress(&draft.commit, Some(&state))? {
            return Ok(End::Fenced);
        }
        match record.push_merge(draft, &claim.job.base, &tip)? {
            PushResult::Yes => {
                claim.remote_notes(&record)?;
                return Ok(End::Event(Event::Merged { commit }));
            }
            PushResult::Fenced => return Ok(End::Fenced),
            // Somebody pushed to the target: the run is tested again on the new commits.
            PushResult::No { .. } => {}
        }
    }
    bail!("merge: {} moved {TRIES_MAX} times while the run was being merged", claim.job.base)
}

fn tip(git: &Git, base: &redgreen_core::names::Branch) -> Result<redgreen_core::names::Oid> {
    match git.read_ref(&base.full_ref())? {
        Some(tip) => Ok(tip),
        None => bail!("the branch {base} does not exist any more"),
    }
}

fn merged(state: &State) -> Option<redgreen_core::names::Oid> {
    match &state.situation {
        Situation::Ended(Ending::Merged { commit }) => Some(commit.clone()),
        _ => None,
    }
}

fn blocked(why: &str) -> End {
    End::Event(Event::MergeBlocked { why: Label::of(why) })
}
