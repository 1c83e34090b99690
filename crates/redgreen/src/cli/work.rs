//! `redgreen work`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::fleet::TAGS_MAX;
use redgreen_core::names::{Label, Repository, Tag};

use super::CommandContext;
use super::queue::QueueArgs;
use super::run::AgentArgs;
use crate::agent::choice::Choice;
use crate::failure::{Code, Failure};
use crate::ops;
use crate::ops::work::Options;
use crate::view;

/// The maximum number of jobs at a time. Each is a test suite and an agent.
const JOBS_MAX: usize = 64;

/// Take jobs from the queue and run them until you stop it
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen work\n  redgreen work --queue nats://build:4222 --jobs 4\n  \
                        redgreen work --labels gpu,linux --trust-repo https://example.com/a.git\n  \
                        redgreen work --until-empty"
)]
pub(super) struct Args {
    /// Jobs at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Labels of this worker; jobs can require them
    #[arg(long, value_name = "LABEL", value_delimiter = ',')]
    labels: Vec<String>,
    /// The name of this worker [default: the name of this machine]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Run the commands in the settings of this repository; several are allowed. --trust allows
    /// those of all
    #[arg(long, value_name = "URL")]
    trust_repo: Vec<String>,
    /// The folder for checkouts and for the cache of git objects [default: in your cache folder]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// End when every job is done or waits for a human
    #[arg(long)]
    until_empty: bool,
    #[command(flatten)]
    agents: AgentArgs,
    #[command(flatten)]
    queue: QueueArgs,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        if self.jobs == 0 || self.jobs > JOBS_MAX {
            return Err(Failure::usage(format!(
                "--jobs is {}; expected 1 to {JOBS_MAX}",
                self.jobs
            ))
            .into());
        }
        let labels =
            self.labels.iter().map(|label| Tag::parse(label)).collect::<Result<Vec<_>, _>>();
        let labels = labels.map_err(|invalid| Failure::usage(format!("--labels: {invalid}")))?;
        if labels.len() > 2 * TAGS_MAX {
            return Err(Failure::usage(format!(
                "--labels: a worker can have at most {}",
                2 * TAGS_MAX
            ))
            .into());
        }
        let trusted =
            self.trust_repo.iter().map(|url| Repository::parse(url)).collect::<Result<Vec<_>, _>>();
        let trusted =
            trusted.map_err(|invalid| Failure::usage(format!("--trust-repo: {invalid}")))?;
        let home = match self.home {
            Some(home) => absolute(&home)?,
            None => ops::work::usual_home()?,
        };
        let machine = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        let name = Label::of(&self.name.unwrap_or_else(machine));
        let (jobs, until_empty) = (self.jobs, self.until_empty);
        let mut agents: Choice = self.agents.into();
        // Jobs run in their own checkouts.
        agents.script = agents.script.map(|script| absolute(&script)).transpose()?;
        let options = Options { name, jobs, labels, trusted, agents, home, until_empty };
        let queue = self.queue.open(desk)?;
        let printer = desk.printer;
        printer.talk(&view::notice_line(&format!(
            "taking jobs from {}; Ctrl-C returns them to the queue",
            queue.name()
        )));
        let tell = |words: &str| printer.talk(&view::notice_line(words));
        let worked = ops::work::work(&queue, &options, &desk.environment, &desk.stop, &tell)?;
        printer.answer(
            &format!("{} done\n", view::count(usize::try_from(worked.jobs)?, "delivery")),
            &worked,
        );
        Ok(Code::Done)
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("find {}", path.display()))
}
