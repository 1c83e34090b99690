//! `redgreen submit`.

use std::path::PathBuf;

use anyhow::Result;
use redgreen_core::fleet::{Limits, MergeWhen, Priority};

use super::CommandContext;
use super::queue::QueueArgs;
use crate::config;
use crate::failure::{Code, Failure};
use crate::ops;
use crate::ops::brief::BriefSource;
use crate::ops::submit::{QueuedJob, Request};
use crate::view;

/// Put a brief into the queue; any worker of the fleet takes it
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen submit \"add roman numerals\"\n  \
                        redgreen submit --queue nats://build:4222 --spec spec.yaml\n  \
                        redgreen submit --repo https://example.com/a.git --base main \"add roman numerals\"\n  \
                        redgreen submit --after k3x9m2p7qrst --merge \"subtract roman numerals\"\n  \
                        redgreen submit --from requests.txt --label gpu --priority low")]
#[command(group = clap::ArgGroup::new("wish").args(["request", "spec", "task", "lld", "from"]).required(true))]
pub(super) struct Args {
    /// What to build, in your own words
    #[arg(value_name = "REQUEST")]
    request: Vec<String>,
    /// A specification (YAML or JSON)
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// A TDD task (JSON) from another planner
    #[arg(long, value_name = "FILE")]
    task: Option<PathBuf>,
    /// A design document in the repository
    #[arg(long, value_name = "FILE", requires = "issue")]
    lld: Option<PathBuf>,
    /// The number of the issue that the design belongs to
    #[arg(long, value_name = "ID", requires = "lld")]
    issue: Option<String>,
    /// A file with one request per line; each becomes a job
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The repository that workers clone and push to [default: the remote origin of this clone]
    #[arg(long, value_name = "URL")]
    repo: Option<String>,
    /// The branch to start from and to merge into [default: the current branch]
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// The agent for all phases [default: what the worker uses]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The model of the built-in agent
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Stop the run when this many tokens are spent
    #[arg(long, value_name = "N")]
    budget_tokens: Option<u64>,
    /// Stop the run when this much money is spent
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    budget_usd: Option<f64>,
    /// Stop the run after this many seconds of work
    #[arg(long, value_name = "SECONDS")]
    deadline: Option<u64>,
    /// Stop the run after this many cycles
    #[arg(long, value_name = "N")]
    max_cycles: Option<u32>,
    /// Retries in each phase
    #[arg(long, value_name = "N")]
    max_retries: Option<u32>,
    /// Only workers with this label take the job; several are allowed
    #[arg(long, value_name = "LABEL", value_delimiter = ',')]
    label: Vec<String>,
    /// Start after this job is merged; several are allowed
    #[arg(long, value_name = "JOB", value_delimiter = ',')]
    after: Vec<String>,
    /// Jobs with a higher priority are taken first
    #[arg(long, value_name = "PRIORITY", default_value = "normal")]
    priority: PriorityArg,
    /// Merge the run when it is finished, without asking a human
    #[arg(long)]
    merge: bool,
    /// Queue it again, also if the same brief was submitted before
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    queue: QueueArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PriorityArg {
    High,
    Normal,
    Low,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let wish = match (self.spec, self.task, self.lld, self.issue) {
            (Some(spec), ..) => BriefSource::Spec(spec),
            (_, Some(task), ..) => BriefSource::Task(task),
            (_, _, Some(lld), issue) => {
                BriefSource::Design { issue: issue.unwrap_or_default(), lld }
            }
            (None, None, None, _) => BriefSource::Request(self.request.join(" ")),
        };
        let project = match desk.project() {
            Ok(project) => Some(project),
            // Outside of a clone, the options must say everything.
            Err(_) if self.repo.is_some() => None,
            Err(error) => return Err(error),
        };
        let microdollars =
            self.budget_usd.map(|usd| config::microdollars(usd, "--budget-usd")).transpose()?;
        let request = Request {
            wish,
            here: desk.folder.clone(),
            repository: self.repo,
            base: self.base,
            agent: self.agent,
            model: self.model,
            limits: Limits {
                tokens: self.budget_tokens,
                microdollars,
                seconds: self.deadline,
                cycles: self.max_cycles,
                retries: self.max_retries,
            },
            labels: self.label,
            after: self.after,
            priority: match self.priority {
                PriorityArg::High => Priority::High,
                PriorityArg::Normal => Priority::Normal,
                PriorityArg::Low => Priority::Low,
            },
            merge: if self.merge { MergeWhen::Finished } else { MergeWhen::Approved },
            again: self.again,
        };
        let queue = self.queue.open(desk)?;
        if let Some(file) = &self.from {
            let all = ops::submit::submit_lines(&queue, project.as_ref(), &request, file)?;
            let known = all.iter().filter(|queued| queued.known).count();
            let text = format!(
                "{} queued, {known} already known\n{}",
                view::count(all.len(), "job"),
                view::next_line("redgreen fleet")
            );
            desk.printer.answer(&text, &all);
            return Ok(Code::Done);
        }
        if self.request.is_empty() && matches!(&request.wish, BriefSource::Request(_)) {
            return Err(Failure::usage("no brief: say what to build")
                .next("redgreen submit \"<what to build>\"")
                .into());
        }
        let queued = ops::submit::submit(&queue, project.as_ref(), &request)?;
        desk.printer.answer(&words(&queued), &queued);
        Ok(Code::Done)
    }
}

fn words(queued: &QueuedJob) -> String {
    let what = match queued.known {
        true => format!("job {} already exists: it is {}", queued.job, queued.state),
        false => format!("job {} queued", queued.job),
    };
    let rows = [
        ("brief", view::name(&queued.headline).into_owned()),
        ("repository", view::name(&queued.repository).into_owned()),
        ("base", view::name(&queued.base).into_owned()),
    ];
    let rows: Vec<_> = rows.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let next = if queued.known && queued.state != "queued" {
        "redgreen submit --again …"
    } else {
        "redgreen fleet"
    };
    format!("{what}\n{}", view::block(&rows, next))
}
