//! Settings files of coding agents: what in them makes the agent call redgreen. An edit may change
//! everything else.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Settings files in which hosts have hooks, in a project or in the home folder.
const FILES: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".github/hooks/redgreen.json",
    ".cursor/hooks.json",
    ".opencode/plugin/redgreen.js",
];
/// The text of a call.
const CALL: &str = "redgreen hook";
/// A member with this word in its name decides about hooks.
const ABOUT_HOOKS: &str = "hook";
/// Deeper values are compared as a whole.
const DEPTH_MAX: usize = 16;

/// Whether a host's settings file can call redgreen. Hosts also read those of subfolders.
pub fn is_hook_file(path: &str) -> bool {
    FILES.iter().any(|file| {
        path.strip_suffix(file).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
    })
}

/// What a settings file says about hooks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hooks {
    /// The calls of redgreen, with their places.
    calls: BTreeSet<String>,
    /// Everything else that decides whether hooks are called.
    switches: BTreeSet<String>,
}

/// Why an edit of a hook file is not allowed; `new` is `None` if its result is not known.
pub(super) fn objection(path: &str, old: &str, new: Option<&str>) -> Option<&'static str> {
    if path.ends_with(".js") {
        return (new != Some(old) && old.contains("redgreen"))
            .then_some("would change a plugin that calls redgreen");
    }
    let Some(new) = new.and_then(|new| read(path, new)) else {
        return Some("would not be readable as settings, or cannot be checked before the edit");
    };
    let Some(old) = read(path, old) else {
        return Some("is not plain JSON or TOML, so an edit of it cannot be checked");
    };
    if !old.calls.is_subset(&new.calls) {
        return Some("would call redgreen less often");
    }
    (old.switches != new.switches).then_some("would change which hooks are called")
}

fn read(path: &str, text: &str) -> Option<Hooks> {
    let value: Value = match text.trim() {
        "" => Value::Object(Map::new()),
        _ if path.ends_with(".toml") => toml::from_str(text).ok()?,
        _ => serde_json::from_str(text).ok()?,
    };
    let mut hooks = Hooks::default();
    hooks.settings("", &value, DEPTH_MAX);
    Some(hooks)
}

impl Hooks {
    /// Settings that may contain something about hooks.
    fn settings(&mut self, place: &str, value: &Value, depth: usize) {
        for (name, inner) in value.as_object().into_iter().flatten() {
            let place = format!("{place}/{name}");
            if name.to_ascii_lowercase().contains(ABOUT_HOOKS) {
                self.about_hooks(&place, inner, depth);
            } else if depth > 0 {
                self.settings(&place, inner, depth - 1);
            }
        }
    }

    /// A value about hooks: events with their handlers, or a switch.
    fn about_hooks(&mut self, place: &str, value: &Value, depth: usize) {
        match value {
            Value::Object(members) if depth > 0 => {
                for (name, inner) in members {
                    self.about_hooks(&format!("{place}/{name}"), inner, depth - 1);
                }
            }
            Value::Array(all) if all.iter().all(Value::is_object) => {
                for group in all {
                    self.group(place, group);
                }
            }
            Value::Object(_)
            | Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => {
                self.switches.insert(format!("{place}={value}"));
            }
        }
    }

    /// A handler, or several with a condition. Handlers of others are free.
    fn group(&mut self, place: &str, group: &Value) {
        let mut own = group.clone();
        if let Some(handlers) = own.get_mut("hooks").and_then(Value::as_array_mut) {
            handlers.retain(is_call);
        }
        if is_call(&own) {
            self.calls.insert(format!("{place}={own}"));
        }
    }
}

fn is_call(value: &Value) -> bool {
    value.to_string().contains(CALL)
}
