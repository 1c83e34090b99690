//! Adds redgreen to the settings of coding agents: text in, text out. It keeps all other settings,
//! is idempotent, and removes exactly what it added.

use serde_json::{Map, Value, json};

use crate::hook::Host;

/// A file of the checkout that a host reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Relative to the root.
    pub path: &'static str,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Values to insert into a JSON file.
    Json(Vec<Put>),
    /// A block to append to a text.
    Block(&'static str),
    /// A file that belongs to redgreen.
    Whole(String),
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Put {
    /// A member of an object, at the end of the path.
    Member(&'static [&'static str], Value),
    /// An element of an array. Elements with this call belong to redgreen.
    Element(&'static [&'static str], Value, String),
}

const CODEX_MCP: &str = "[mcp_servers.redgreen]\ncommand = \"redgreen\"\nargs = [\"mcp\"]\n";
const OPENCODE_PLUGIN: &str = include_str!("install/opencode.js");
/// Time limits in seconds for an answer about an edit, and for one that runs the tests.
const EDIT_SECONDS: u32 = 30;
const STOP_SECONDS: u32 = 1800;

/// The files that a host needs.
pub fn parts(host: Host) -> Vec<Part> {
    let call = format!("redgreen hook {}", host.as_str());
    let server = json!({ "command": "redgreen", "args": ["mcp"] });
    let servers = |path| Part {
        path,
        content: Content::Json(vec![Put::Member(&["mcpServers", "redgreen"], server.clone())]),
    };
    let group = |seconds: u32, closed: bool| {
        let handler = match closed && host == Host::Claude {
            // Block if there is no answer.
            true => {
                json!({ "type": "command", "command": call, "timeout": seconds, "onFailure": "block" })
            }
            false => json!({ "type": "command", "command": call, "timeout": seconds }),
        };
        json!({ "hooks": [handler] })
    };
    let element =
        |path: &'static [&'static str], value: Value| Put::Element(path, value, call.clone());
    match host {
        Host::Claude | Host::Codex => {
            let hooks = vec![
                element(&["hooks", "PreToolUse"], group(EDIT_SECONDS, true)),
                element(&["hooks", "PostToolUse"], group(EDIT_SECONDS, false)),
                element(&["hooks", "Stop"], group(STOP_SECONDS, false)),
                element(&["hooks", "SessionStart"], group(EDIT_SECONDS, false)),
            ];
            if host == Host::Claude {
                vec![
                    Part { path: ".claude/settings.json", content: Content::Json(hooks) },
                    servers(".mcp.json"),
                ]
            } else {
                vec![
                    Part { path: ".codex/hooks.json", content: Content::Json(hooks) },
                    Part { path: ".codex/config.toml", content: Content::Block(CODEX_MCP) },
                ]
            }
        }
        Host::Gemini => {
            let handler = |seconds: u32| json!({ "hooks": [{ "type": "command", "name": "redgreen", "command": call, "timeout": seconds * 1000 }] });
            let puts = vec![
                element(&["hooks", "BeforeTool"], handler(EDIT_SECONDS)),
                element(&["hooks", "AfterTool"], handler(EDIT_SECONDS)),
                element(&["hooks", "AfterAgent"], handler(STOP_SECONDS)),
                element(&["hooks", "SessionStart"], handler(EDIT_SECONDS)),
                Put::Member(&["mcpServers", "redgreen"], server.clone()),
            ];
            vec![Part { path: ".gemini/settings.json", content: Content::Json(puts) }]
        }
        Host::Copilot => {
            let handler = |moment: &str, seconds: u32| json!([{ "type": "command", "bash": format!("{call} {moment}"), "timeoutSec": seconds }]);
            let whole = json!({ "version": 1, "hooks": {
                "preToolUse": handler("preToolUse", EDIT_SECONDS),
                "postToolUse": handler("postToolUse", EDIT_SECONDS),
                "agentStop": handler("agentStop", STOP_SECONDS),
            } });
            vec![
                Part {
                    path: ".github/hooks/redgreen.json",
                    content: Content::Whole(rendered(&whole, "  ")),
                },
                servers(".github/mcp.json"),
            ]
        }
        Host::Cursor => {
            let handler = |seconds: u32, closed: bool| json!({ "command": call, "timeout": seconds, "failClosed": closed });
            let puts = vec![
                Put::Member(&["version"], json!(1)),
                element(&["hooks", "preToolUse"], handler(EDIT_SECONDS, true)),
                element(&["hooks", "beforeShellExecution"], handler(EDIT_SECONDS, true)),
                element(&["hooks", "afterFileEdit"], handler(EDIT_SECONDS, false)),
                element(&["hooks", "afterShellExecution"], handler(EDIT_SECONDS, false)),
                element(&["hooks", "stop"], handler(STOP_SECONDS, false)),
            ];
            vec![
                Part { path: ".cursor/hooks.json", content: Content::Json(puts) },
                servers(".cursor/mcp.json"),
            ]
        }
        // The plugin also provides the MCP server, because OpenCode rewrites an opencode.json of
        // other programs.
        Host::Opencode => {
            vec![Part {
                path: ".opencode/plugin/redgreen.js",
                content: Content::Whole(OPENCODE_PLUGIN.to_owned()),
            }]
        }
    }
}

/// The file with our part, or why it cannot be added.
pub fn added(part: &Part, old: Option<&str>) -> Result<String, String> {
    match &part.content {
        Content::Whole(text) => Ok(text.clone()),
        Content::Block(block) => {
            let old = old.unwrap_or_default();
            if old.contains(block) {
                return Ok(old.to_owned());
            }
            let first = block.lines().next().unwrap_or_default();
            if old.contains(first) {
                return Err(format!("{} has another {first} already", part.path));
            }
            Ok(format!("{old}{}{block}", gap(old)))
        }
        Content::Json(puts) => {
            let mut value = parsed(part.path, old)?;
            let before = value.clone();
            for put in puts {
                put.into(&mut value).map_err(|why| format!("{}: {why}", part.path))?;
            }
            Ok(if value == before {
                old.unwrap_or_default().to_owned()
            } else {
                rendered(&value, indent(old))
            })
        }
    }
}

/// The file without our part; `None` if nothing is left.
pub fn removed(part: &Part, old: &str) -> Result<Option<String>, String> {
    match &part.content {
        Content::Whole(_) => Ok(None),
        Content::Block(block) => {
            let Some(at) = old.find(block) else { return Ok(Some(old.to_owned())) };
            let (before, after) = (
                old.get(..at).unwrap_or_default(),
                old.get(at + block.len()..).unwrap_or_default(),
            );
            let before = if after.is_empty() {
                before.strip_suffix('\n').filter(|text| text.ends_with('\n')).unwrap_or(before)
            } else {
                before
            };
            let text = format!("{before}{after}");
            Ok((!text.is_empty()).then_some(text))
        }
        Content::Json(puts) => {
            let mut value = parsed(part.path, Some(old))?;
            let before = value.clone();
            for put in puts {
                put.out_of(&mut value);
            }
            // A version alone has no meaning.
            if value
                .as_object()
                .is_some_and(|object| object.keys().all(|key| key == "version" || key == "$schema"))
                && value != before
            {
                return Ok(None);
            }
            Ok(Some(if value == before {
                old.to_owned()
            } else {
                rendered(&value, indent(Some(old)))
            }))
        }
    }
}

impl Put {
    fn into(&self, value: &mut Value) -> Result<(), String> {
        match self {
            Put::Member(path, member) => {
                let Some((name, above)) = path.split_last() else { return Ok(()) };
                let object = object_at(value, above)?;
                if !object.contains_key(*name) || *name == "redgreen" {
                    object.insert((*name).to_owned(), member.clone());
                }
                Ok(())
            }
            Put::Element(path, element, call) => {
                let Some((name, above)) = path.split_last() else { return Ok(()) };
                let list =
                    object_at(value, above)?.entry((*name).to_owned()).or_insert_with(|| json!([]));
                let Value::Array(list) = list else {
                    return Err(format!("`{}` is not an array", path.join(".")));
                };
                if !list.iter().any(|known| calls(known, call)) {
                    list.push(element.clone());
                }
                Ok(())
            }
        }
    }

    fn out_of(&self, value: &mut Value) {
        let (path, ours) = match self {
            // Other tools may need it.
            Put::Member(["version"], _) => return,
            Put::Member(path, _) => (*path, None),
            Put::Element(path, _, call) => (*path, Some(call)),
        };
        take_out(value, path, ours.map(String::as_str));
    }
}

/// Removes a member, or the elements with this call, and everything that is empty afterwards.
fn take_out(value: &mut Value, path: &[&str], call: Option<&str>) {
    let (Some((name, below)), Some(object)) = (path.split_first(), value.as_object_mut()) else {
        return;
    };
    let Some(inner) = object.get_mut(*name) else { return };
    let is_empty = match (below.is_empty(), call) {
        (true, None) => true,
        (true, Some(call)) => {
            let Some(list) = inner.as_array_mut() else { return };
            for group in list.iter_mut() {
                // Someone may have added their own handlers next to ours.
                if let Some(handlers) = group.get_mut("hooks").and_then(Value::as_array_mut) {
                    handlers.retain(|handler| !calls(handler, call));
                }
            }
            list.retain(|group| {
                let is_spent =
                    group.get("hooks").and_then(Value::as_array).is_some_and(Vec::is_empty);
                !is_spent && !calls(group, call)
            });
            list.is_empty()
        }
        (false, _) => {
            take_out(inner, below, call);
            inner.as_object().is_some_and(Map::is_empty)
        }
    };
    if is_empty {
        object.shift_remove(*name);
    }
}

/// Whether a handler, or one of a group, calls redgreen for this host.
fn calls(value: &Value, call: &str) -> bool {
    let named =
        |key: &str| value.get(key).and_then(Value::as_str).is_some_and(|line| line.contains(call));
    let inner = value
        .get("hooks")
        .and_then(Value::as_array)
        .is_some_and(|all| all.iter().any(|one| calls(one, call)));
    named("command") || named("bash") || inner
}

fn object_at<'a>(
    value: &'a mut Value,
    path: &[&str],
) -> Result<&'a mut Map<String, Value>, String> {
    let mut at = value;
    for name in path {
        let Value::Object(object) = at else {
            return Err("expected an object here".to_owned());
        };
        at = object.entry((*name).to_owned()).or_insert_with(|| json!({}));
    }
    at.as_object_mut().ok_or_else(|| format!("`{}` is not an object", path.join(".")))
}

fn parsed(path: &str, old: Option<&str>) -> Result<Value, String> {
    match old.map(str::trim) {
        None | Some("") => Ok(json!({})),
        Some(text) => {
            serde_json::from_str(text).map_err(|error| format!("{path} is not plain JSON: {error}"))
        }
    }
}

/// The indentation of the file.
fn indent(old: Option<&str>) -> &str {
    let first = old
        .unwrap_or_default()
        .lines()
        .find(|line| line.starts_with([' ', '\t']) && line.trim() != "");
    first.map_or("  ", |line| line.get(..line.len() - line.trim_start().len()).unwrap_or("  "))
}

fn rendered(value: &Value, indent: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // Writing a value to memory cannot fail.
    serde::Serialize::serialize(value, &mut serializer).ok();
    bytes.push(b'\n');
    String::from_utf8_lossy(&bytes).into_owned()
}

fn gap(old: &str) -> &'static str {
    match old {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    }
}

/// A unified diff of the change.
pub fn difference(path: &str, old: &str, new: &str) -> String {
    similar::TextDiff::from_lines(old, new).unified_diff().header(path, path).to_string()
}

#[cfg(test)]
mod tests;
