//! Many runs on many machines: what a job is, and which submissions are refused. A job is untrusted
//! data: every field is a type with only valid values, and it contains no secrets. `status` is the
//! history of a job, `budget` the spending limit for all jobs of a day.

pub mod budget;
pub mod status;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::brief;
use crate::guard::{secret, secret_name};
use crate::names::{AgentName, Branch, JobId, Label, ProjectFile, Repository, RunBranch, Tag};

/// The version of the format of jobs.
pub const VERSION: u32 = 1;
/// A longer brief belongs in the repository.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// The maximum number of labels of a job or a worker.
pub const TAGS_MAX: usize = 4;
/// The maximum number of jobs that a job can wait for.
const AFTER_MAX: usize = 16;
/// The length of a brief in a list.
const HEADLINE_CHARS_MAX: usize = 72;
/// The length of a brief in a branch name.
const SLUG_CHARS_MAX: usize = 32;

/// A requested run, on any machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Job {
    pub version: u32,
    pub repository: Repository,
    /// The branch it starts from and is merged into.
    pub base: Branch,
    pub wish: BriefSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<AgentName>,
    #[serde(default)]
    pub limits: Limits,
    /// The labels that a worker must have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Tag>,
    /// Jobs that must be merged first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<JobId>,
    #[serde(default)]
    pub priority: Priority,
    #[serde(default)]
    pub merge: MergeWhen,
    /// Distinguishes submissions that are otherwise the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Label>,
}

/// What to build. Texts are part of the job. A design is a file in the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BriefSource {
    Request { text: String },
    Spec { syntax: Syntax, text: String },
    Task { text: String },
    Design { issue: AgentName, file: ProjectFile },
}

/// The format of a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Syntax {
    Json,
    Yaml,
}

/// The limits of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microdollars: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// Jobs with a higher priority are taken first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    High,
    #[default]
    Normal,
    Low,
}

/// When a finished run is merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeWhen {
    /// After a person approves it.
    #[default]
    Approved,
    /// At once.
    Finished,
}

/// Why a submission is refused, with the name of the option or field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub field: &'static str,
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.field, self.why)
    }
}

impl Job {
    /// All problems of a submission. If empty, it may be queued. Types check the names.
    pub fn refusals(&self) -> Vec<Refusal> {
        let mut found = Vec::new();
        let mut refuse = |field, why: String| found.push(Refusal { field, why });
        if self.version != VERSION {
            refuse("version", format!("{} is not a version this redgreen knows", self.version));
        }
        let text = self.wish.text();
        if text.trim().is_empty() {
            refuse("brief", "it is empty".to_owned());
        }
        if text.len() > TEXT_BYTES_MAX {
            refuse("brief", format!("it has {} bytes; the limit is {TEXT_BYTES_MAX}", text.len()));
        }
        for secret in secret::find(text) {
            let words = format!("line {} looks like a credential ({})", secret.line, secret.rule);
            refuse("brief", format!("{words}; nothing secret travels through the queue"));
        }
        if let BriefSource::Design { file, .. } = &self.wish
            && let Some(pattern) = secret_name(file)
        {
            refuse("lld", format!("its name is that of a secret (`{pattern}`)"));
        }
        if self.base.starts_with(crate::names::RUN_BRANCH_PREFIX) {
            refuse("base", format!("{} is a branch of a run", self.base));
        }
        if self.labels.len() > TAGS_MAX {
            refuse("labels", format!("{} given; the limit is {TAGS_MAX}", self.labels.len()));
        }
        if self.after.len() > AFTER_MAX {
            refuse(
                "after",
                format!("{} are too many; a job may wait for {AFTER_MAX}", self.after.len()),
            );
        }
        found
    }

    /// The identity of a submission, as text to hash.
    pub fn fingerprint(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// One line for lists.
    pub fn headline(&self) -> Label {
        let words = match &self.wish {
            BriefSource::Request { text } => brief::headline(text).to_owned(),
            BriefSource::Spec { text, .. } => format!("specification: {}", first_words(text)),
            BriefSource::Task { text } => format!("task: {}", first_words(text)),
            BriefSource::Design { issue, file } => format!("issue {issue}, {file}"),
        };
        Label::of(&words.chars().take(HEADLINE_CHARS_MAX).collect::<String>())
    }

    /// The branch of the run, the same on every worker.
    pub fn branch(&self, id: &JobId) -> RunBranch {
        let mut slug = String::new();
        for letter in self.headline().chars().flat_map(char::to_lowercase) {
            match letter.is_ascii_alphanumeric() {
                true => slug.push(letter),
                false if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
                false => {}
            }
            if slug.len() >= SLUG_CHARS_MAX {
                break;
            }
        }
        let slug = if slug.is_empty() { "job" } else { slug.trim_end_matches('-') };
        RunBranch::of_job(slug, id)
    }

    /// The queue of this job: same priority, same labels.
    pub fn lane(&self) -> String {
        let mut tags: Vec<&str> = self.labels.iter().map(Tag::as_str).collect();
        tags.sort_unstable();
        tags.dedup();
        let tags = if tags.is_empty() { "any".to_owned() } else { tags.join("+") };
        format!("{RUN_LANE}{}-{tags}", self.priority as u8)
    }
}

/// The prefixes of lanes: for runs, and for merges.
const RUN_LANE: &str = "run";
pub const MERGE_LANE: &str = "merge-";

/// The lanes that a worker with these labels takes jobs from, best first: merges, then runs by
/// priority.
pub fn lanes_for(labels: &[Tag], lanes: &[String]) -> Vec<String> {
    let has = |tag: &str| tag == "any" || labels.iter().any(|label| label == tag);
    let eligible = |lane: &&String| {
        lane.starts_with(MERGE_LANE)
            || lane
                .strip_prefix(RUN_LANE)
                .and_then(|rest| rest.split_once('-'))
                .is_some_and(|(_, tags)| tags.split('+').all(has))
    };
    let mut found: Vec<String> = lanes.iter().filter(eligible).cloned().collect();
    found.sort();
    found
}

impl BriefSource {
    fn text(&self) -> &str {
        match self {
            BriefSource::Request { text }
            | BriefSource::Spec { text, .. }
            | BriefSource::Task { text } => text,
            BriefSource::Design { file, .. } => file,
        }
    }
}

/// The first words of a file, without punctuation.
fn first_words(text: &str) -> &str {
    let words = |line: &&str| line.chars().any(char::is_alphanumeric);
    text.lines().map(str::trim).find(words).unwrap_or_default()
}

#[cfg(test)]
mod tests;
