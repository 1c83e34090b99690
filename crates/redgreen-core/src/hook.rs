//! Hooks of coding agents, before and after they act. Each host's message becomes one [`Event`],
//! and one [`Answer`] becomes the host's own format. The form of a tool's input decides what it
//! does, not its name, so unknown tools are checked as well.

mod patch;
mod shell;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Maximum size of a message; longer messages are rejected, not cut.
pub const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// Maximum number of open folders that count.
const FOLDERS_MAX: usize = 32;

/// The coding agent that calls the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    Claude,
    Codex,
    Gemini,
    Copilot,
    Cursor,
    Opencode,
}

impl Host {
    pub const ALL: [Host; 6] =
        [Host::Claude, Host::Codex, Host::Gemini, Host::Copilot, Host::Cursor, Host::Opencode];

    pub fn as_str(self) -> &'static str {
        match self {
            Host::Claude => "claude",
            Host::Codex => "codex",
            Host::Gemini => "gemini",
            Host::Copilot => "copilot",
            Host::Cursor => "cursor",
            Host::Opencode => "opencode",
        }
    }
}

/// When the hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// Before a tool acts; the hook can prevent it.
    Before,
    /// After a tool acted.
    After,
    /// The agent wants to stop.
    Stop,
    /// A conversation starts.
    Begin,
    Other,
}

/// A hook call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub moment: HookEvent,
    pub action: Action,
    /// The agent's working folder.
    pub cwd: Option<String>,
    /// The folders that the host has open.
    pub folders: Vec<String>,
    /// The host's own name of the moment.
    pub name: String,
}

/// The action of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Edit(Vec<Edit>),
    Shell(String),
    None,
}

/// An edit of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// As the host writes it: absolute, or relative to the agent's working folder.
    pub path: String,
    pub how: EditKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditKind {
    Write(String),
    Replace(Vec<Replacement>),
    /// Hunks of a patch, in the `apply_patch` format.
    Patch(Vec<patch::Hunk>),
    Delete,
    /// The message does not say.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pub old: String,
    pub new: String,
    pub all: bool,
}

/// The result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditResult {
    Text(String),
    Gone,
    Unknown,
}

impl Edit {
    /// The file after the edit. An edit that does not match the file changes nothing, because the
    /// host rejects it.
    pub fn apply(&self, old: Option<&str>) -> EditResult {
        let text = old.unwrap_or_default();
        match &self.how {
            EditKind::Write(new) => EditResult::Text(new.clone()),
            EditKind::Replace(all) => {
                EditResult::Text(all.iter().fold(text.to_owned(), |text, one| one.apply(&text)))
            }
            EditKind::Patch(hunks) => {
                patch::apply(text, hunks).map_or(EditResult::Unknown, EditResult::Text)
            }
            EditKind::Delete => EditResult::Gone,
            EditKind::Unknown => EditResult::Unknown,
        }
    }
}

impl Replacement {
    fn apply(&self, text: &str) -> String {
        match (self.old.is_empty(), self.all) {
            // Hosts create a new file if the old text is empty.
            (true, _) if text.is_empty() => self.new.clone(),
            (true, _) => text.to_owned(),
            (false, true) => text.replace(&self.old, &self.new),
            (false, false) => text.replacen(&self.old, &self.new, 1),
        }
    }
}

/// The hosts' names of the moments.
const MOMENTS: &[(&str, HookEvent)] = &[
    ("pretooluse", HookEvent::Before),
    ("beforetool", HookEvent::Before),
    ("beforeshellexecution", HookEvent::Before),
    ("tool.execute.before", HookEvent::Before),
    ("posttooluse", HookEvent::After),
    ("posttoolusefailure", HookEvent::After),
    ("aftertool", HookEvent::After),
    ("afterfileedit", HookEvent::After),
    ("aftershellexecution", HookEvent::After),
    ("tool.execute.after", HookEvent::After),
    ("stop", HookEvent::Stop),
    ("afteragent", HookEvent::Stop),
    ("agentstop", HookEvent::Stop),
    ("session.idle", HookEvent::Stop),
    ("sessionstart", HookEvent::Begin),
];

/// Parses a message. `named` is the moment if the host passes it on the command line.
pub fn read(message: &[u8], named: Option<&str>) -> Result<Event, String> {
    if message.len() > MESSAGE_BYTES_MAX {
        return Err(format!("the message is longer than {} MiB", MESSAGE_BYTES_MAX >> 20));
    }
    let value: Value = serde_json::from_slice(message)
        .map_err(|error| format!("the message is not JSON: {error}"))?;
    let Value::Object(fields) = value else {
        return Err("the message is not a JSON object".to_owned());
    };
    let text = |keys: &[&str]| first_text(&fields, keys);
    let name = text(&["hook_event_name", "hookEventName", "event"])
        .or(named.map(str::to_owned))
        .unwrap_or_default();
    let lower = name.to_ascii_lowercase();
    let moment = MOMENTS
        .iter()
        .find(|(known, _)| *known == lower)
        .map_or(HookEvent::Other, |(_, moment)| *moment);
    let action = match moment {
        HookEvent::Before | HookEvent::After => action(&fields),
        HookEvent::Stop | HookEvent::Begin | HookEvent::Other => Action::None,
    };
    let roots = fields.get("workspace_roots").and_then(Value::as_array).into_iter().flatten();
    let folders: Vec<String> =
        roots.filter_map(Value::as_str).take(FOLDERS_MAX).map(str::to_owned).collect();
    Ok(Event {
        moment,
        action,
        cwd: text(&["cwd", "directory"]).or_else(|| folders.first().cloned()),
        folders,
        name,
    })
}

fn action(fields: &Map<String, Value>) -> Action {
    let input =
        ["tool_input", "toolArgs", "toolInput", "args"].iter().find_map(|key| fields.get(*key));
    match input {
        // Copilot passes the arguments as JSON text.
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(inner)) => of_input(&inner),
            Ok(_) | Err(_) if text.contains(patch::BEGIN) => Action::Edit(patch::read(text)),
            Ok(_) | Err(_) => Action::None,
        },
        Some(Value::Object(inner)) => of_input(inner),
        Some(_) => Action::None,
        // Cursor puts the tool input next to the other fields.
        None => of_input(fields),
    }
}

/// Derives a tool's action from the form of its input.
fn of_input(input: &Map<String, Value>) -> Action {
    let text = |keys: &[&str]| first_text(input, keys);
    // Codex also accepts a patch in its shell and applies it.
    let is_patch =
        |text: &&str| text.lines().any(|line| line.trim_start().starts_with(patch::BEGIN));
    let patch = input.values().filter_map(Value::as_str).find(is_patch);
    if let Some(patch) = patch.filter(|text| shell_objection(text).is_none()) {
        return Action::Edit(patch::read(patch));
    }
    let command = text(&["command", "cmd"]).or_else(|| words(input, &["command", "cmd"]));
    match (command, edit(input)) {
        // Text editors name their own command: `str_replace`.
        (Some(command), Some(edit)) if shell_objection(&command).is_none() => {
            Action::Edit(vec![edit])
        }
        (Some(command), _) => Action::Shell(command),
        (None, Some(edit)) => Action::Edit(vec![edit]),
        (None, None) => Action::None,
    }
}

/// The edit of a tool, or `None` if it only reads.
fn edit(input: &Map<String, Value>) -> Option<Edit> {
    let text = |keys: &[&str]| first_text(input, keys);
    let path = text(&["file_path", "filePath", "notebook_path", "path", "file"])?;
    let how = if let Some(all) = input.get("edits").and_then(Value::as_array) {
        let edits: Option<Vec<Replacement>> =
            all.iter().map(|one| replacement(one.as_object()?)).collect();
        edits.map_or(EditKind::Unknown, EditKind::Replace)
    } else if let Some(one) = replacement(input) {
        EditKind::Replace(vec![one])
    } else if let Some(content) = text(&["content", "contents", "file_text", "text"]) {
        EditKind::Write(content)
    } else if text(&["new_source", "insert_text", "new_str", "newText"]).is_some() {
        EditKind::Unknown
    } else {
        return None;
    };
    Some(Edit { path, how })
}

fn replacement(input: &Map<String, Value>) -> Option<Replacement> {
    let text = |keys: &[&str]| first_text(input, keys);
    let old = text(&["old_string", "oldString", "old_str", "oldText"])?;
    let new = text(&["new_string", "newString", "new_str", "newText"]).unwrap_or_default();
    let many =
        input.get("expected_replacements").and_then(Value::as_u64).is_some_and(|count| count > 1);
    let all = ["replace_all", "replaceAll"]
        .iter()
        .any(|key| input.get(*key).and_then(Value::as_bool) == Some(true));
    Some(Replacement { old, new, all: all || many })
}

fn first_text(fields: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| fields.get(*key).and_then(Value::as_str)).map(str::to_owned)
}

/// A command as a list of words.
fn words(fields: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    let list = keys.iter().find_map(|key| fields.get(*key).and_then(Value::as_array))?;
    Some(list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
}

/// Session verbs that are reserved for the human.
const HUMAN_VERBS: [&str; 3] = ["end", "undo", "resolve"];
/// The folder of a session's state, below git's folder.
const STATE: &str = "redgreen/session";

/// How many options before a verb are skipped.
const OPTIONS_MAX: usize = 32;

/// Why an agent must not run a command: it would end or reset the session, or change its records. A
/// command that conceals this is detected later by its effect.
pub fn shell_objection(command: &str) -> Option<String> {
    let commands = shell::commands(command);
    let is_ours = |word: &String| word.rsplit('/').next() == Some("redgreen");
    for words in &commands {
        for at in (0..words.len()).filter(|at| words.get(*at).is_some_and(is_ours)) {
            if let Some(verb) = human_verb(words.get(at + 1..).unwrap_or_default()) {
                return Some(format!("only a human may run `redgreen session {verb}`"));
            }
        }
    }
    let names_state = commands.iter().flatten().any(|word| word.contains(STATE));
    (names_state || command.contains(STATE))
        .then(|| "only redgreen may change the session's records".to_owned())
}

/// The verb of a session in the arguments of redgreen, if it is reserved for the human.
fn human_verb(arguments: &[String]) -> Option<&str> {
    let is = |at: usize, words: &[&str]| {
        arguments.get(at).map(String::as_str).filter(|word| words.contains(word))
    };
    let sessions =
        first_arguments(arguments, 0).into_iter().filter(|at| is(*at, &["session"]).is_some());
    let mut verbs = sessions.flat_map(|session| first_arguments(arguments, session + 1));
    verbs.find_map(|at| is(at, &HUMAN_VERBS))
}

/// The places that can be the first argument after options. Each option may have a value.
fn first_arguments(words: &[String], from: usize) -> BTreeSet<usize> {
    let (mut found, mut open) = (BTreeSet::new(), BTreeSet::from([from]));
    while let Some(at) = open.pop_first().filter(|at| at - from <= OPTIONS_MAX) {
        match words.get(at) {
            Some(word) if word.starts_with('-') => open.extend([at + 1, at + 2]),
            Some(_) => drop(found.insert(at)),
            None => {}
        }
    }
    found
}

/// The answer to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No objection; optionally a message for the user.
    Allow(Option<String>),
    /// The tool must not act.
    Deny(String),
    /// The agent made a change that the judge will refuse; this message says so.
    Tell(String),
    /// The agent must continue.
    Continue(String),
    /// Context for the agent.
    Context(String),
}

impl Answer {
    /// The answer with the alternative to working around a test at the end of its words.
    #[must_use]
    pub fn with_way_out(self) -> Self {
        let named = |words: String| {
            if words.ends_with(WAY_OUT) { words } else { format!("{words}\n{WAY_OUT}") }
        };
        match self {
            Answer::Allow(words) => Answer::Allow(words.map(named)),
            Answer::Deny(words) => Answer::Deny(named(words)),
            Answer::Tell(words) => Answer::Tell(named(words)),
            Answer::Continue(words) => Answer::Continue(named(words)),
            Answer::Context(words) => Answer::Context(named(words)),
        }
    }

    /// Of several answers to one event, those of the greatest weight count.
    fn weight(&self) -> u8 {
        match self {
            Answer::Allow(None) => 0,
            Answer::Context(_) => 1,
            Answer::Allow(Some(_)) => 2,
            Answer::Tell(_) => 3,
            Answer::Deny(_) | Answer::Continue(_) => 4,
        }
    }

    fn words(&self) -> Option<&str> {
        match self {
            Answer::Allow(words) => words.as_deref(),
            Answer::Deny(words)
            | Answer::Tell(words)
            | Answer::Continue(words)
            | Answer::Context(words) => Some(words),
        }
    }

    fn with(&self, words: String) -> Self {
        match self {
            Answer::Allow(None) => Answer::Allow(None),
            Answer::Allow(Some(_)) => Answer::Allow(Some(words)),
            Answer::Deny(_) => Answer::Deny(words),
            Answer::Tell(_) => Answer::Tell(words),
            Answer::Continue(_) => Answer::Continue(words),
            Answer::Context(_) => Answer::Context(words),
        }
    }
}

/// The answer for an agent that works in several sessions at once: what one denies is denied.
pub fn together(answers: &[Answer]) -> Answer {
    let Some(first) = answers.iter().rev().max_by_key(|answer| answer.weight()) else {
        return Answer::Allow(None);
    };
    let weighty = answers.iter().filter(|answer| answer.weight() == first.weight());
    let words: Vec<&str> = weighty.filter_map(Answer::words).collect();
    first.with(words.join("\n"))
}

/// The program's output and exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// A line of JSON, or nothing.
    pub stdout: Option<Value>,
    pub stderr: String,
    pub code: i32,
}

/// The exit code by which a hook blocks.
pub const BLOCKED: i32 = 2;

/// For hosts without a field for messages to the user: they write stderr to the log of their hooks.
fn aside(words: Option<&str>) -> Output {
    Output { stderr: words.unwrap_or_default().to_owned(), ..Output::default() }
}

/// The answer in the host's format.
pub fn render(host: Host, event: &Event, answer: &Answer) -> Output {
    let say = |value: Value| Output { stdout: Some(value), ..Output::default() };
    let name = &event.name;
    match host {
        Host::Claude => match answer {
            Answer::Allow(None) => Output::default(),
            Answer::Allow(Some(words)) => say(json!({ "systemMessage": words })),
            Answer::Deny(reason) => say(json!({ "hookSpecificOutput": {
                "hookEventName": name, "permissionDecision": "deny", "permissionDecisionReason": reason } })),
            Answer::Tell(reason) | Answer::Continue(reason) => {
                say(json!({ "decision": "block", "reason": reason }))
            }
            Answer::Context(words) => say(
                json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": words } }),
            ),
        },
        // Verified with 0.166: exit code 2 blocks, and stderr reaches the model.
        Host::Codex => match answer {
            Answer::Allow(None) => Output::default(),
            Answer::Allow(Some(words)) => say(json!({ "systemMessage": words })),
            Answer::Deny(reason) => Output { stdout: None, stderr: reason.clone(), code: BLOCKED },
            Answer::Tell(reason) | Answer::Continue(reason) => {
                say(json!({ "decision": "block", "reason": reason }))
            }
            Answer::Context(words) => say(
                json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": words } }),
            ),
        },
        Host::Gemini => match answer {
            Answer::Allow(None) => Output::default(),
            Answer::Allow(Some(words)) => say(json!({ "systemMessage": words })),
            Answer::Deny(reason) | Answer::Tell(reason) | Answer::Continue(reason) => {
                say(json!({ "decision": "deny", "reason": reason }))
            }
            Answer::Context(words) => say(
                json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": words } }),
            ),
        },
        Host::Copilot => match answer {
            Answer::Allow(words) => aside(words.as_deref()),
            Answer::Deny(reason) => {
                say(json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }))
            }
            Answer::Tell(reason) | Answer::Continue(reason) => {
                say(json!({ "decision": "block", "reason": reason }))
            }
            Answer::Context(words) => say(json!({ "additionalContext": words })),
        },
        Host::Cursor => match answer {
            Answer::Allow(_) if event.moment == HookEvent::Before => {
                say(json!({ "permission": "allow" }))
            }
            Answer::Allow(words) => aside(words.as_deref()),
            Answer::Deny(reason) => say(
                json!({ "permission": "deny", "user_message": reason, "agent_message": reason }),
            ),
            Answer::Tell(reason) | Answer::Context(reason) => {
                say(json!({ "additional_context": reason }))
            }
            Answer::Continue(reason) => say(json!({ "followup_message": reason })),
        },
        // Our own plugin reads this.
        Host::Opencode => match answer {
            Answer::Allow(words) => say(json!({ "decision": "allow", "reason": words })),
            Answer::Deny(reason) => say(json!({ "decision": "deny", "reason": reason })),
            Answer::Tell(reason) => say(json!({ "decision": "tell", "reason": reason })),
            Answer::Continue(reason) => say(json!({ "decision": "continue", "reason": reason })),
            Answer::Context(words) => say(json!({ "decision": "context", "reason": words })),
        },
    }
}

/// Every message of a hook names this alternative.
pub const WAY_OUT: &str = "If a test contradicts the brief or cannot pass, say so instead of working \
                           around it: redgreen session dispute \"<why>\" --test <id>";

/// The answer if redgreen itself fails: a tool is blocked, and an agent that wants to stop may
/// stop.
pub fn broken(host: Host, event: Option<&Event>, why: &str) -> Output {
    let words = format!(
        "redgreen could not check whether this is allowed: {why}\nA human can check (redgreen \
         session status) or end the session (redgreen session end). {WAY_OUT}"
    );
    match event.map(|event| event.moment) {
        Some(HookEvent::Stop | HookEvent::Begin | HookEvent::Other) => {
            let unproven = Answer::Allow(Some(format!("unproven: {words}")));
            event.map_or_else(Output::default, |event| render(host, event, &unproven))
        }
        Some(HookEvent::After) => {
            event.map_or_else(Output::default, |event| render(host, event, &Answer::Tell(words)))
        }
        Some(HookEvent::Before) => {
            event.map_or_else(Output::default, |event| render(host, event, &Answer::Deny(words)))
        }
        // The request is unknown. Every host treats this as a block.
        None => Output { stdout: None, stderr: words, code: BLOCKED },
    }
}

#[cfg(test)]
mod tests;
