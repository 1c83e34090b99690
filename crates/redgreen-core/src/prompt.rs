//! The prompts for models: the role, the task and the evidence, each part with a size limit. The
//! texts are in the files next to this one. They are short, because every byte is sent with every
//! request of a turn.

mod header;
mod interpret;
pub mod secret;

use std::fmt::Write as _;

use crate::agent::Assignment;
use crate::contest::Contest;
use crate::model::{Request, Tool};
use crate::phase::Role;
use crate::report::Report;
use crate::steer::{self, USER_SAYS};
use crate::test_list;
use crate::tool::Kind;
use crate::tool::digest;

pub(crate) use header::of as header;
pub(crate) use interpret::added;
pub use interpret::meant;

const REQUEST_BYTES_MAX: usize = 16 << 10;
const BRIEF_BYTES_MAX: usize = 64 << 10;
/// The guards reject larger documents.
const DOCUMENT_BYTES_MAX: usize = 100 << 10;
const TROUBLE_BYTES_MAX: usize = 6 << 10;
const DIAGNOSIS_BYTES_MAX: usize = 4 << 10;
const REPORT_BYTES_MAX: usize = 6 << 10;
const MESSAGES_BYTES_MAX: usize = 16 << 10;
const FILE_BYTES_MAX: usize = 8 << 10;
const LIST_BYTES_MAX: usize = 8 << 10;
const NOTES_BYTES_MAX: usize = 8 << 10;
const DIFF_BYTES_MAX: usize = 24 << 10;
/// Maximum number of completed tests to name; the list has all of them.
const DONE_MAX: usize = 20;
/// Maximum number of corrections to name; the list shows all of them.
const REMARKS_MAX: usize = 10;
/// Bytes of JSON and code per token. A low value overestimates the tokens, which is the safe side.
const BYTES_PER_TOKEN: u64 = 3;

/// Information besides the assignment.
#[derive(Clone, Debug, Default)]
pub struct Evidence<'a> {
    /// The last test run that counted.
    pub report: Option<&'a Report>,
    /// Files of the worktree to show immediately; missing files have no text.
    pub files: Vec<(String, Option<String>)>,
    /// Project instructions, such as AGENTS.md.
    pub notes: Vec<(String, String)>,
    /// An earlier conversation of this turn that became too long.
    pub earlier: Option<EarlierConversation>,
}

/// The facts that outlive a conversation.
#[derive(Clone, Debug, Default)]
pub struct EarlierConversation {
    /// The changes of the turn so far.
    pub changes: String,
    /// The last test results.
    pub tests: Option<String>,
}

/// The system prompt: the role, and how to submit the work.
pub fn system(assignment: &Assignment, tools: bool) -> String {
    let everyone = include_str!("prompt/everyone.md").trim_end();
    let withheld =
        if assignment.withhold && tools { include_str!("prompt/withheld.md") } else { "" };
    let own = match (assignment.role, tools) {
        (role, false) => without_tools(role, assignment.is_batch()),
        (Role::Test, true) if assignment.is_batch() => include_str!("prompt/tests-at-once.md"),
        (role, true) => task(role),
    };
    [everyone, own.trim_end(), withheld.trim_end()]
        .map(str::trim_end)
        .join("\n")
        .trim_end()
        .to_owned()
}

/// The task of a role, one test at a time.
pub fn task(role: Role) -> &'static str {
    match role {
        Role::TestList => include_str!("prompt/test-list.md"),
        Role::Test => include_str!("prompt/test.md"),
        Role::Implementing => include_str!("prompt/implementing.md"),
        Role::Refactor => include_str!("prompt/refactor.md"),
        Role::Diagnosis => include_str!("prompt/diagnosis.md"),
    }
}

/// The task for a model without tools: it shows what it would do with them.
fn without_tools(role: Role, is_batch: bool) -> &'static str {
    match role {
        Role::Test if is_batch => include_str!("prompt/without-tools/tests-at-once.md"),
        Role::TestList => include_str!("prompt/without-tools/test-list.md"),
        Role::Test => include_str!("prompt/without-tools/test.md"),
        Role::Implementing => include_str!("prompt/without-tools/implementing.md"),
        Role::Refactor => include_str!("prompt/without-tools/refactor.md"),
        Role::Diagnosis => include_str!("prompt/diagnosis.md"),
    }
}

pub fn tools(role: Role) -> Vec<Tool> {
    Kind::of(role).iter().map(|kind| kind.tool()).collect()
}

/// The first message of a turn: the task and the evidence, without secrets.
pub fn first(assignment: &Assignment, evidence: &Evidence<'_>) -> String {
    let mut text = String::new();
    part(&mut text, "Request", &assignment.request, REQUEST_BYTES_MAX);
    if let Some(brief) = &assignment.brief {
        part(&mut text, "Brief", &brief.told(assignment.role), BRIEF_BYTES_MAX);
        for document in brief.design.iter().chain(&brief.context) {
            file(&mut text, &document.path, &document.text, DOCUMENT_BYTES_MAX);
        }
    }
    if let Some(test) = &assignment.current {
        part(&mut text, "Behaviour", &test.description, REQUEST_BYTES_MAX);
        for (name, path) in [("Test file", &test.test_file), ("Code file", &test.impl_file)] {
            if !path.is_empty() {
                writeln!(text, "{name}: {path}").ok();
            }
        }
    }
    if let Some(messages) = steer::shown(&assignment.messages) {
        writeln!(text, "{USER_SAYS}\n{}", digest::head_and_tail(&messages, MESSAGES_BYTES_MAX))
            .ok();
    }
    text.push_str(&progress(assignment));
    for remark in assignment.remarks.iter().take(REMARKS_MAX) {
        part(&mut text, "Corrected in the list", remark, REQUEST_BYTES_MAX);
    }
    if let Some(trouble) = &assignment.trouble {
        writeln!(
            text,
            "This is attempt {}. The previous one was not accepted:",
            assignment.attempt
        )
        .ok();
        writeln!(text, "{}", digest::head_and_tail(trouble.message.trim(), TROUBLE_BYTES_MAX)).ok();
    }
    if let Some(diagnosis) = &assignment.diagnosis {
        part(&mut text, "Diagnosis", diagnosis, DIAGNOSIS_BYTES_MAX);
    }
    if let Some(report) = evidence.report.filter(|_| wants_report(assignment)) {
        let told = digest::report(report);
        writeln!(text, "Tests: {}", digest::head_and_tail(told.trim(), REPORT_BYTES_MAX)).ok();
    }
    for (path, content) in &evidence.files {
        match content {
            Some(content) => file(&mut text, path, content, FILE_BYTES_MAX),
            None => {
                writeln!(text, "{path} does not exist yet.").ok();
            }
        }
    }
    text.push_str(&prepared(assignment, evidence));
    for (path, content) in &evidence.notes {
        file(&mut text, path, content, NOTES_BYTES_MAX);
    }
    if let Some(earlier) = &evidence.earlier {
        text.push_str("You already worked on this task, until the conversation became too long. The changes so far:\n");
        writeln!(text, "{}", digest::head_and_tail(earlier.changes.trim(), DIFF_BYTES_MAX)).ok();
        if let Some(tests) = &earlier.tests {
            part(&mut text, "The last run of the tests", tests, REPORT_BYTES_MAX);
        }
    }
    secret::cut(&text)
}

/// A one-time reminder for a model that stops before its task can be done; `None` if it may stop.
pub fn reminder(assignment: &Assignment, answer: &str, edited: bool) -> Option<String> {
    match assignment.role {
        Role::TestList if !test_list::is_answer(answer) => {
            Some("Nothing was chosen. End with the JSON object {\"currentTest\": …}, on a line of its own.".to_owned())
        }
        Role::Test | Role::Implementing if !edited && Contest::parse(answer).is_none() => Some(
            "No file was changed. Use Write or Edit; or, if you cannot call tools, answer with whole files, each as a \
             line `### FILE: path` and its content in a code block."
                .to_owned(),
        ),
        Role::TestList | Role::Test | Role::Implementing | Role::Refactor | Role::Diagnosis => None,
    }
}

/// An estimate of a request's tokens.
pub fn tokens(request: &Request) -> u64 {
    let tools = serde_json::to_string(&request.tools).map_or(0, |text| text.len());
    let messages = serde_json::to_string(&request.messages).map_or(0, |text| text.len());
    u64::try_from(request.system.len() + tools + messages).unwrap_or(u64::MAX) / BYTES_PER_TOKEN
}

/// The files to show a role immediately, so that it need not request them. Tests written at once
/// have no file that the plan could name, so they are passed in.
pub fn shown(assignment: &Assignment, tests: &[String]) -> Vec<String> {
    let mut paths = match assignment.role {
        Role::TestList => vec![test_list::FILE.to_owned()],
        Role::Implementing | Role::Diagnosis => tests.to_vec(),
        Role::Test | Role::Refactor => Vec::new(),
    };
    if let Some(test) = &assignment.current {
        paths.extend(
            [test.test_file.clone(), test.impl_file.clone()]
                .into_iter()
                .filter(|path| !path.is_empty()),
        );
    }
    paths.dedup();
    paths
}

/// The test results of an earlier state help to make tests pass, or to see why they fail.
fn wants_report(assignment: &Assignment) -> bool {
    match assignment.role {
        Role::Implementing => assignment.trouble.is_none(),
        Role::TestList | Role::Test | Role::Refactor | Role::Diagnosis => false,
    }
}

fn progress(assignment: &Assignment) -> String {
    let mut text = String::new();
    if assignment.role == Role::TestList {
        let (done, open) = (assignment.completed.len(), assignment.pending.len());
        if done + open > 0 {
            writeln!(text, "The list: {done} done, {open} open.").ok();
        }
    } else if !assignment.completed.is_empty() {
        let skipped = assignment.completed.len().saturating_sub(DONE_MAX);
        let done: Vec<&str> =
            assignment.completed.iter().skip(skipped).map(String::as_str).collect();
        writeln!(text, "Done before: {}", digest::head_and_tail(&done.join("; "), LIST_BYTES_MAX))
            .ok();
    }
    text
}

/// The first lines of a new test file: a weak model gets imports wrong more often than tests.
fn prepared(assignment: &Assignment, evidence: &Evidence<'_>) -> String {
    let (Role::Test, Some(test)) = (assignment.role, &assignment.current) else {
        return String::new();
    };
    let is_new =
        evidence.files.iter().any(|(path, content)| *path == test.test_file && content.is_none());
    match header::of(&test.test_file, &test.impl_file).filter(|_| is_new) {
        Some(header) => format!("Begin it like this:\n{header}\n"),
        None => String::new(),
    }
}

fn part(text: &mut String, name: &str, content: &str, bytes_max: usize) {
    writeln!(text, "{name}: {}", digest::head_and_tail(content.trim(), bytes_max)).ok();
}

fn file(text: &mut String, path: &str, content: &str, bytes_max: usize) {
    writeln!(text, "--- {path}\n{}\n---", digest::head_and_tail(content.trim_end(), bytes_max))
        .ok();
}

#[cfg(test)]
mod tests;
