//! What an agent is told, and what it gives back. Whichever agent it is, its edits are in the
//! worktree; nothing it says is evidence.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::brief::{Brief, TestCase};
use crate::names::SessionId;
use crate::phase::{Phase, Role};

/// One turn's orders, complete: the agent has no memory of earlier turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    pub role: Role,
    pub phase: Phase,
    pub cycle: u32,
    /// How many turns of this role ended before this one in the whole run: which entry a scripted
    /// agent plays.
    pub turn: u32,
    /// 1 for the first try of the phase.
    pub attempt: u32,
    /// The number of this attempt, if several are made side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<u32>,
    pub request: String,
    /// What the specification, task or design says beside the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<Box<Brief>>,
    pub current: Option<TestCase>,
    pub completed: Vec<String>,
    pub pending: Vec<String>,
    /// Why the try before was not accepted.
    pub trouble: Option<AttemptFailure>,
    /// Corrections to the list after the planner's last turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// What the user said on the way, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The brief is done: this is about an item that the user added since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// What the diagnosis agent said of the iteration before.
    pub diagnosis: Option<String>,
    /// Tests are asked for that whoever writes the code does not see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withhold: bool,
    /// For agents that remember conversations.
    #[serde(default)]
    pub strategy: Strategy,
}

impl Assignment {
    /// All tests of a file are written at once, and made to pass at once.
    pub fn is_batch(&self) -> bool {
        !self.more && self.brief.as_ref().is_some_and(|brief| brief.batch().is_some())
    }
}

/// Which conversation a turn is part of. An agent that cannot go on with one begins a new one: its
/// orders are complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "strategy", rename_all = "snake_case")]
pub enum Strategy {
    #[default]
    New,
    /// Goes on with this one.
    Resume { session: SessionId },
    /// Goes on with a copy of this one, which stays as it was.
    Fork { session: SessionId },
    /// Goes on with a copy of the first; the others' outcome is in the files.
    MergeFork { sessions: Vec<SessionId> },
}

impl Strategy {
    /// The conversation to go on with, and whether it is a copy.
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

/// Why a try came to nothing, told to the next one and kept in the handoff note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFailure {
    /// A stable word: a verdict's code, or the kind of the agent's failure.
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Turn {
    /// The agent stopped by itself. What it says counts in PLAN, where the answer names the next
    /// test, and in GREEN, where it may contest one.
    Done { answer: String },
    /// It could not go on.
    Failed { failure: Failure, message: String },
}

/// Why an agent could not go on; the recovery table has a row for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Failure {
    /// The service asks to wait, perhaps for so many milliseconds.
    RateLimit { retry_after_ms: Option<u64> },
    /// No answer in time: worth another try with a longer limit.
    Timeout,
    /// It died, or answered with rubbish.
    Crash,
    /// Trying again cannot help: unknown model, no key, a script without another turn.
    Unusable,
    /// What the run may cost does not cover the next request. The edits stay: more budget takes
    /// them up.
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

/// The last object of an answer that reads as `T`: models talk before they answer, and fence what
/// they say.
pub(crate) fn last_object<T: DeserializeOwned>(answer: &str) -> Option<T> {
    answer.match_indices('{').rev().find_map(|(start, _)| {
        let mut objects = serde_json::Deserializer::from_str(answer.get(start..)?).into_iter::<T>();
        objects.next()?.ok()
    })
}

/// What an agent says and does while it works, for whoever watches; never evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentActivity {
    /// A piece of text, as it streams.
    Text(String),
    /// A tool is used: its name and what on, in a few words.
    Tool { name: String, what: String },
    /// What the turn has cost so far.
    Cost(Cost),
}

/// What a turn cost; `None` is unknown, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    /// Sent and received, from a cache or not.
    pub tokens: Option<u64>,
    pub microdollars: Option<u64>,
    /// Parts of `tokens`, where they are known apart: sent and new, received, sent and known to a
    /// cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Requests that were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}
