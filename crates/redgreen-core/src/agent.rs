//! What an agent receives and returns. The edits of every agent are in the worktree; nothing it
//! says is evidence.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::brief::{Brief, TestCase};
use crate::names::SessionId;
use crate::phase::{Phase, Role};

/// Complete instructions for one turn: the agent remembers nothing from earlier turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    pub role: Role,
    pub phase: Phase,
    pub cycle: u32,
    /// The number of earlier turns of this role in the run. It selects the entry of a scripted
    /// agent.
    pub turn: u32,
    /// 1 for the first attempt at the phase.
    pub attempt: u32,
    /// The number of this attempt, if several run side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<u32>,
    pub request: String,
    /// What the specification, task or design adds to the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<Box<Brief>>,
    pub current: Option<TestCase>,
    pub completed: Vec<String>,
    pub pending: Vec<String>,
    /// Why the previous attempt was not accepted.
    pub trouble: Option<AttemptFailure>,
    /// Corrections to the list after the planner's last turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Messages from the user, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The brief is done; this is an item that the user added later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// The diagnosis agent's answer about the previous iteration.
    pub diagnosis: Option<String>,
    /// The agent writes tests that the author of the code will not see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withhold: bool,
    /// For agents that keep conversations.
    #[serde(default)]
    pub strategy: Strategy,
}

impl Assignment {
    /// All tests of a file are written in one RED, and made to pass in one GREEN.
    pub fn is_batch(&self) -> bool {
        !self.more && self.brief.as_ref().is_some_and(|brief| brief.batch().is_some())
    }
}

/// The conversation that a turn belongs to. An agent that cannot continue one begins a new one: its
/// instructions are complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "strategy", rename_all = "snake_case")]
pub enum Strategy {
    #[default]
    New,
    /// Continues this conversation.
    Resume { session: SessionId },
    /// Continues a copy of this one and leaves the original unchanged.
    Fork { session: SessionId },
    /// Continues a copy of the first one; the results of the others are in the files.
    MergeFork { sessions: Vec<SessionId> },
}

impl Strategy {
    /// The conversation to continue, and whether to copy it.
    pub fn parent(&self) -> Option<(&str, bool)> {
        match self {
            Strategy::New => None,
            Strategy::Resume { session } => Some((session.as_str(), false)),
            Strategy::Fork { session } => Some((session.as_str(), true)),
            Strategy::MergeFork { sessions } => {
                sessions.first().map(|session| (session.as_str(), true))
            }
        }
    }
}

/// Why an attempt failed. Sent to the next attempt and stored in the handoff note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFailure {
    /// A stable code: that of a verdict, or the kind of the agent's failure.
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Turn {
    /// The agent ended its turn. Its answer counts only in PLAN, where it names the next test, and
    /// in GREEN, where it may contest a test.
    Done { answer: String },
    /// The agent failed.
    Failed { failure: Failure, message: String },
}

/// Why an agent failed. The recovery table has a row for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Failure {
    /// The service asks to wait, possibly for this many milliseconds.
    RateLimit { retry_after_ms: Option<u64> },
    /// No answer in time. Worth a retry with a longer limit.
    Timeout,
    /// It crashed, or its answer cannot be read.
    Crash,
    /// A retry cannot help: unknown model, no key, no turn left in a script.
    Unusable,
    /// The budget does not cover the next request. The edits stay, and a larger budget continues
    /// them.
    Budget,
}

impl Failure {
    pub fn as_str(self) -> &'static str {
        match self {
            Failure::RateLimit { .. } => "agent.rate_limit",
            Failure::Timeout => "agent.timeout",
            Failure::Crash => "agent.crash",
            Failure::Unusable => "agent.unusable",
            Failure::Budget => "agent.budget",
        }
    }
}

/// The last object in an answer that parses as `T`: models write text before it and put it in a
/// code block.
pub(crate) fn last_object<T: DeserializeOwned>(answer: &str) -> Option<T> {
    answer.match_indices('{').rev().find_map(|(start, _)| {
        let mut objects = serde_json::Deserializer::from_str(answer.get(start..)?).into_iter::<T>();
        objects.next()?.ok()
    })
}

/// Live output of a working agent, for display only; never evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentActivity {
    /// A piece of streamed text.
    Text(String),
    /// A tool call: the tool's name and a short description of its target.
    Tool { name: String, what: String },
    /// The cost of the turn so far.
    Cost(Cost),
}

/// The cost of a turn; `None` is unknown, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    /// Input and output, including cached input.
    pub tokens: Option<u64>,
    pub microdollars: Option<u64>,
    /// Parts of `tokens`, if known: new input, output, cached input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// The number of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}
