//! `redgreen verify`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::proof::range::{RangeSpec, typed};
use redgreen_core::proof::{Proof, Shard, view};

use super::CommandContext;
use crate::config;
use crate::failure::{Code, Failure};
use crate::foreign;
use crate::ops::verify::{self, Question};

/// Verify a pull request: its tests fail without its code and pass with it, and no other test is
/// broken or weakened
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                        redgreen verify                                   this branch, against \
                        its target branch\n  redgreen verify main..topic\n  \
                        redgreen verify --pr --sarif redgreen.sarif       in CI, on the merge \
                        commit of a pull request\n\nThe policy is [verify] in redgreen.toml of \
                        the base.\nExit codes: 0 proven, 1 refuted, 2 usage, 3 inconclusive, 70 bug in redgreen")]
pub(super) struct Args {
    /// Commits: A..B, or a branch [default: the range from CI, or the current branch]
    #[arg(value_name = "RANGE")]
    range: Option<String>,
    /// HEAD is a merge commit from CI: the base is its first parent, the pull request its second
    #[arg(long, conflicts_with = "range")]
    pr: bool,
    /// Also judge pairs of RED and GREEN commits (`test:`, then `feat:` or `fix:`)
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    commits: Commits,
    /// Run one part of the experiments, for example 2/5; use it with --json
    #[arg(long, value_name = "K/N", value_parser = Shard::parse)]
    shard: Option<Shard>,
    /// Merge the results of all shards
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["range", "pr", "shard"])]
    merge: Vec<PathBuf>,
    /// The command that runs the tests. A command that only has an exit code is used if no
    /// framework is detected
    #[arg(long, value_name = "CMD")]
    test_command: Option<String>,
    /// Timeout for one run of the tests, in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Write Markdown for a job summary or a comment
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write SARIF 2.1.0, for code scanning and editors
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write GitLab's code quality report
    #[arg(long, value_name = "FILE")]
    code_quality: Option<PathBuf>,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Commits {
    Auto,
    Never,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let proof = if self.merge.is_empty() {
            self.prove(desk)?
        } else {
            verify::merge(&self.merge_files(desk))?
        };
        desk.printer.answer(&view::text(&proof), &proof);
        self.write(desk, &proof)?;
        if config::ci_variable("GITHUB_ACTIONS").as_deref() == Some("true") && self.shard.is_none()
        {
            tell_github(desk, &proof)?;
        }
        // A part has no verdict, so a completed part succeeds.
        Ok(if self.shard.is_some() { Code::Done } else { verify::exit_code(&proof) })
    }

    fn prove(&self, desk: &CommandContext) -> Result<Proof> {
        let question = Question {
            range: self.asked()?,
            commits: self.commits == Commits::Auto,
            shard: self.shard,
            test_command: self.test_command.clone(),
            timeout: self.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        };
        let project = desk.trusted_project()?;
        let pulse = desk.pulse("verifying");
        let proof = verify::verify(&project, &question);
        drop(pulse);
        proof
    }

    fn asked(&self) -> Result<Option<RangeSpec>> {
        let wrong = |fault: String| Failure::usage(fault).next("redgreen verify main..HEAD");
        match (&self.range, self.pr) {
            (Some(range), _) => Ok(Some(typed(range).map_err(wrong)?)),
            (None, true) => Ok(Some(RangeSpec::MergeOf("HEAD".to_owned()))),
            (None, false) => Ok(verify::asked_by_ci()),
        }
    }

    fn merge_files(&self, desk: &CommandContext) -> Vec<PathBuf> {
        self.merge.iter().map(|path| desk.folder.join(path)).collect()
    }

    fn write(&self, desk: &CommandContext, proof: &Proof) -> Result<()> {
        type Write = fn(&Proof) -> String;
        let files: [(&Option<PathBuf>, Write); 5] = [
            (&self.summary, view::markdown),
            (&self.sarif, view::sarif),
            (&self.junit, view::junit),
            (&self.code_quality, view::code_quality),
            (&self.html, view::html),
        ];
        let root = desk.project().map_or_else(|_| desk.folder.clone(), |project| project.git.root);
        for (path, write) in files {
            if let Some(path) = path.as_ref().map(|path| desk.folder.join(path)) {
                foreign::write_named(&root, &path, write(proof).as_bytes()).map_err(|error| {
                    Failure::usage(format!("cannot write {}", path.display()))
                        .evidence(error.to_string())
                })?;
            }
        }
        Ok(())
    }
}

/// Writes the job summary and the annotations of the pull request.
fn tell_github(desk: &CommandContext, proof: &Proof) -> Result<()> {
    if let Some(path) = config::ci_variable("GITHUB_STEP_SUMMARY") {
        let act = || format!("add to {path}");
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(Path::new(&path))
            .with_context(act)?;
        file.write_all(view::markdown(proof).as_bytes()).with_context(act)?;
    }
    if !desk.printer.json {
        for line in view::annotations(proof) {
            desk.printer.raw(&format!("{line}\n"));
        }
    }
    Ok(())
}
