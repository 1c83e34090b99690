//! `redgreen verify`.

use std::time::Duration;

use anyhow::Result;
use redgreen_core::proof::range::{Asked, typed};
use redgreen_core::proof::{Proof, Shard};

use super::Desk;
use crate::failure::{Code, Failure};
use crate::ops::verify::{self, Question};

/// Prove a pull request: do its tests fail without its code, pass with it, and is nothing else broken or weakened?
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                        redgreen verify                                        this branch, against the one it goes into\n  \
                        redgreen verify main..topic\n  \
                        redgreen verify --pr --sarif redgreen.sarif            in CI, on GitHub's merge commit\n\n\
                        The policy is [verify] of redgreen.toml as the base has it.\n\
                        Exit codes: 0 proven, 1 refuted, 2 usage, 3 inconclusive, 70 a bug of ours")]
pub(super) struct Args {
    /// Commits: A..B, or a branch [default: what the CI system says, else the branch that is checked out]
    #[arg(value_name = "RANGE")]
    range: Option<String>,
    /// HEAD is a merge that a forge made of the base (first parent) and the pull request (second parent)
    #[arg(long, conflicts_with = "range")]
    pr: bool,
    /// Whether pairs of commits that call themselves RED and GREEN (`test:`, then `feat:` or `fix:`) are judged as well
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    commits: Commits,
    /// Make a part of the experiments only, such as 2/5; --merge puts the parts together
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// How the project's tests are run, where redgreen cannot find out
    #[arg(long, value_name = "CMD")]
    test_command: Option<String>,
    /// Seconds that one run of the tests may take
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Commits {
    Auto,
    Never,
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let range = self.asked()?;
        let shard = self.shard.as_deref().map(Shard::parse).transpose().map_err(Failure::usage)?;
        let timeout = self.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let commits = self.commits == Commits::Auto;
        let question = Question { range, commits, shard, test_command: self.test_command, timeout };
        let project = desk.trusted_project()?;
        let pulse = desk.pulse("verifying");
        let proof = verify::verify(&project, &question)?;
        drop(pulse);
        desk.printer.answer(&text(&proof), &proof);
        Ok(verify::exit_code(&proof))
    }

    fn asked(&self) -> Result<Option<Asked>> {
        match (&self.range, self.pr) {
            (Some(range), _) => {
                Ok(Some(typed(range).map_err(|fault| Failure::usage(fault).next("redgreen verify main..HEAD"))?))
            }
            (None, true) => Ok(Some(Asked::MergeOf("HEAD".to_owned()))),
            (None, false) => Ok(verify::asked_by_ci()),
        }
    }
}

fn text(proof: &Proof) -> String {
    let mut lines = vec![format!("{:?}: {}", proof.outcome, proof.sentence())];
    lines.extend(proof.reasons.iter().map(|reason| format!("  {}: {}", reason.code.as_str(), reason.sentence)));
    lines.extend(proof.tests.iter().map(|test| format!("  {}: {} ({})", test.class.as_str(), test.id, test.why)));
    lines.extend(proof.code.iter().map(|hunk| {
        format!(
            "  {}:{}-{} {} killed {} survived {}",
            hunk.file,
            hunk.first,
            hunk.last,
            hunk.standing.as_str(),
            hunk.killed,
            hunk.survived
        )
    }));
    lines.extend(proof.not_verified.iter().map(|line| format!("  not verified: {line}")));
    lines.join("\n") + "\n"
}
