//! `redgreen submit`: puts a brief into a queue. Problems are reported before it is queued.

use std::path::{Path, PathBuf};

use anyhow::Result;
use redgreen_core::fleet::status::Status;
use redgreen_core::fleet::{self, Job, Limits, MergeWhen, Priority, Syntax};
use redgreen_core::names::{
    AgentName, Branch, Invalid, JobId, Label, ProjectFile, Repository, Tag,
};
use redgreen_core::text::shell_word;
use serde::Serialize;

use super::brief::{BriefSource, understand};
use crate::engine::{Project, now};
use crate::failure::Failure;
use crate::foreign;
use crate::queue::{Queue, Submission};

/// The maximum number of requests in one file.
const LINES_MAX: usize = 100_000;
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The arguments.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub wish: BriefSource,
    /// The folder for relative paths.
    pub here: PathBuf,
    pub repository: Option<String>,
    pub base: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub limits: Limits,
    pub labels: Vec<String>,
    pub after: Vec<String>,
    pub priority: Priority,
    pub merge: MergeWhen,
    /// Create a new job, even if the same was submitted before.
    pub again: bool,
}

/// A job in the queue.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedJob {
    pub version: u32,
    pub job: JobId,
    pub headline: Label,
    pub repository: Repository,
    pub base: Branch,
    pub state: &'static str,
    /// It already existed.
    pub known: bool,
}

/// Checks everything that can be checked here, then queues the job.
pub fn submit(queue: &Queue, project: Option<&Project>, request: &Request) -> Result<QueuedJob> {
    let job = job(queue, project, request)?;
    let (status, submitted) = queue.submit(&job, now())?;
    Ok(queued(&status, submitted))
}

/// Queues a job for each line of a file.
pub fn submit_lines(
    queue: &Queue,
    project: Option<&Project>,
    request: &Request,
    file: &Path,
) -> Result<Vec<QueuedJob>> {
    let path = request.here.join(file);
    let text = named_text(&path)?;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() || lines.len() > LINES_MAX {
        let what = format!(
            "{} has {} requests; expected 1 to {LINES_MAX}, one per line",
            path.display(),
            lines.len()
        );
        return Err(Failure::usage(what).into());
    }
    // Checks all before it queues the first.
    let mut jobs = Vec::new();
    for line in lines {
        jobs.push(job(
            queue,
            project,
            &Request { wish: BriefSource::Request(line.to_owned()), ..request.clone() },
        )?);
    }
    let queued_one = |job: &Job| {
        let (status, submitted) = queue.submit(job, now())?;
        Ok(queued(&status, submitted))
    };
    jobs.iter().map(queued_one).collect()
}

fn queued(status: &Status, submitted: Submission) -> QueuedJob {
    QueuedJob {
        version: 1,
        job: status.id.clone(),
        headline: status.headline.clone(),
        repository: status.repository.clone(),
        base: status.base.clone(),
        state: status.state.name(),
        known: submitted == Submission::Known,
    }
}

fn job(queue: &Queue, project: Option<&Project>, request: &Request) -> Result<Job> {
    let repository = match (&request.repository, project) {
        (Some(url), _) => url.clone(),
        (None, Some(project)) => origin(project)?,
        (None, None) => return Err(no_repository().into()),
    };
    let base = match (&request.base, project) {
        (Some(base), _) => base.clone(),
        (None, Some(project)) => current_branch(project)?,
        (None, None) => {
            let failure = Failure::usage("no branch to start from");
            return Err(failure.next("redgreen submit --repo URL --base main …").into());
        }
    };
    let labels = request.labels.iter().map(|label| named("--label", Tag::parse(label)));
    let mut labels = labels.collect::<Result<Vec<_>>>()?;
    labels.sort();
    labels.dedup();
    let job = Job {
        version: fleet::VERSION,
        repository: named("--repo", Repository::parse(&repository))?,
        base: named("--base", Branch::parse(&base))?,
        wish: wish(project, request)?,
        agent: request
            .agent
            .as_deref()
            .map(|name| named("--agent", AgentName::parse(name)))
            .transpose()?,
        model: request
            .model
            .as_deref()
            .map(|name| named("--model", AgentName::parse(name)))
            .transpose()?,
        limits: request.limits,
        labels,
        after: before(queue, &request.after)?,
        priority: request.priority,
        merge: request.merge,
        again: request.again.then(|| Label::of(&now().to_string())),
    };
    let refusals = job.refusals();
    if refusals.is_empty() {
        return Ok(job);
    }
    let failure = Failure::usage("cannot submit this; nothing was queued");
    Err(refusals
        .iter()
        .fold(failure, |failure, refusal| failure.evidence(refusal.to_string()))
        .into())
}

fn named_text(path: &Path) -> Result<String> {
    foreign::read_named(path, FILE_BYTES_MAX).map_err(|error| {
        Failure::usage(format!("cannot read {}", path.display()))
            .evidence(error.to_string())
            .next("redgreen submit --help")
            .into()
    })
}

/// The brief as it is sent. Files are read and checked here, and a worker reads the same text.
fn wish(project: Option<&Project>, request: &Request) -> Result<fleet::BriefSource> {
    if let Some(project) = project {
        understand(project, &request.wish, &[], &request.here)?;
    }
    let text = |path: &Path| {
        if project.is_none() {
            return Err(Failure::usage(format!(
                "cannot check {} outside of a clone",
                path.display()
            ))
            .next("run it in a clone of the repository")
            .into());
        }
        named_text(&request.here.join(path))
    };
    Ok(match &request.wish {
        BriefSource::Request(text) => fleet::BriefSource::Request { text: text.clone() },
        BriefSource::Spec(path) => {
            let is_json = path.extension().is_some_and(|extension| extension == "json");
            let syntax = if is_json { Syntax::Json } else { Syntax::Yaml };
            fleet::BriefSource::Spec { syntax, text: text(path)? }
        }
        BriefSource::Task(path) => fleet::BriefSource::Task { text: text(path)? },
        BriefSource::Design { issue, lld } => fleet::BriefSource::Design {
            issue: named("--issue", AgentName::parse(issue))?,
            file: named("--lld", ProjectFile::parse(&lld.to_string_lossy()))?,
        },
        BriefSource::Red { .. } => {
            return Err(Failure::usage("cannot submit a RED artifact").into());
        }
    })
}

/// The jobs that must be merged first, by name.
fn before(queue: &Queue, names: &[String]) -> Result<Vec<JobId>> {
    let find = |name: &String| match queue.find(name)? {
        Some(status) => Ok(status.id),
        None => Err(Failure::usage(format!("--after: there is no job {name:?}"))
            .next("redgreen queue --all")
            .into()),
    };
    names.iter().map(find).collect()
}

fn origin(project: &Project) -> Result<String> {
    match project.git.remote_url("origin")? {
        Some(url) => Ok(url),
        None => Err(no_repository().into()),
    }
}

fn no_repository() -> Failure {
    Failure::usage("no repository for the job")
        .evidence("this folder is not a clone with a remote named origin")
        .next("redgreen submit --repo URL --base BRANCH …")
}

fn current_branch(project: &Project) -> Result<String> {
    match project.git.head()?.branch {
        Some(branch) => Ok(branch),
        None => Err(Failure::usage("HEAD is detached, so name the branch to start from")
            .next("redgreen submit --base BRANCH …")
            .into()),
    }
}

/// Parses a name, and reports errors with its option.
fn named<T>(option: &str, parsed: Result<T, Invalid>) -> Result<T> {
    parsed.map_err(|invalid| {
        let next = format!("redgreen submit {} …", shell_word(option));
        Failure::usage("cannot submit this; nothing was queued")
            .evidence(format!("{option}: {invalid}"))
            .next(next)
            .into()
    })
}
