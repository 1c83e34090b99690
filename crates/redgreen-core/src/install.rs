//! Adds redgreen to the settings of coding agents: text in, text out. It keeps all other settings,
//! is idempotent, and removes exactly what it added.

mod splice;

use serde_json::{Value, json};

use crate::hook::Host;
use splice::Node;

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
    /// A member of a new file. Another file has it already, or does without.
    New(&'static str, Value),
}

const CODEX_MCP: &str = "[mcp_servers.redgreen]\ncommand = \"redgreen\"\nargs = [\"mcp\"]\n";
const OPENCODE_PLUGIN: &str = include_str!("install/opencode.js");
/// The indentation of a new file.
const UNIT: &str = "  ";
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
                    content: Content::Whole(splice::pretty(&whole, UNIT) + "\n"),
                },
                servers(".github/mcp.json"),
            ]
        }
        Host::Cursor => {
            let handler = |seconds: u32, closed: bool| json!({ "command": call, "timeout": seconds, "failClosed": closed });
            let puts = vec![
                element(&["hooks", "preToolUse"], handler(EDIT_SECONDS, true)),
                element(&["hooks", "beforeShellExecution"], handler(EDIT_SECONDS, true)),
                element(&["hooks", "afterFileEdit"], handler(EDIT_SECONDS, false)),
                element(&["hooks", "afterShellExecution"], handler(EDIT_SECONDS, false)),
                element(&["hooks", "stop"], handler(STOP_SECONDS, false)),
                Put::New("version", json!(1)),
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
        Content::Whole(text) => match old {
            Some(old) if old != text => {
                Err(format!("{} exists with text that redgreen did not write", part.path))
            }
            Some(_) | None => Ok(text.clone()),
        },
        Content::Block(block) => {
            let Some(old) = old else { return Ok((*block).to_owned()) };
            if old.contains(block) {
                return Ok(old.to_owned());
            }
            let first = block.lines().next().unwrap_or_default();
            if old.contains(first) {
                return Err(format!("{} already has another {first}", part.path));
            }
            Ok(format!("{old}\n{block}"))
        }
        Content::Json(puts) => match old {
            None => Ok(created(puts)),
            Some(old) => {
                parsed(part.path, old)?;
                let unit = indent(old);
                puts.iter().try_fold(old.to_owned(), |text, put| {
                    put.into(&text, unit).map_err(|why| format!("{}: {why}", part.path))
                })
            }
        },
    }
}

/// The file without our part; `None` if it is gone. Restores the text before our part was added.
pub fn removed(part: &Part, old: &str) -> Result<Option<String>, String> {
    match &part.content {
        Content::Whole(text) if old == text => Ok(None),
        Content::Whole(_) => {
            Err(format!("{} was changed after redgreen wrote it, so redgreen keeps it", part.path))
        }
        Content::Block(block) if old == *block => Ok(None),
        Content::Block(block) => Ok(Some(match old.split_once(block) {
            Some((before, after)) => {
                format!("{}{after}", before.strip_suffix('\n').unwrap_or(before))
            }
            None => old.to_owned(),
        })),
        Content::Json(puts) if old == created(puts) => Ok(None),
        Content::Json(puts) => {
            let mut text = old.to_owned();
            for put in puts {
                while let Some(address) = put.find(&parsed(part.path, &text)?, &text) {
                    match without(&text, &address) {
                        Some(less) => text = less,
                        None => return Ok(None),
                    }
                }
            }
            Ok(Some(text))
        }
    }
}

/// A new file.
fn created(puts: &[Put]) -> String {
    let mut file = json!({});
    for put in puts {
        let (path, value) = match put {
            Put::Member(path, value) => (*path, value.clone()),
            Put::Element(path, value, _) => (*path, json!([value])),
            Put::New(name, value) => (&[*name][..], value.clone()),
        };
        let (Some((name, above)), mut at) = (path.split_last(), &mut file) else { continue };
        for name in above {
            at = &mut at[*name];
        }
        at[*name] = value;
    }
    splice::pretty(&file, UNIT) + "\n"
}

impl Put {
    /// The text with our value. Nothing else changes.
    fn into(&self, text: &str, unit: &str) -> Result<String, String> {
        let (path, ours, call) = match self {
            Put::Member(path, value) => (*path, value.clone(), None),
            Put::Element(path, value, call) => (*path, value.clone(), Some(call.as_str())),
            Put::New(..) => return Ok(text.to_owned()),
        };
        let whole: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let root = Node::parse(text).ok_or("expected an object here")?;
        let (mut value, mut node) = (&whole, &root);
        for (depth, name) in path.iter().enumerate() {
            let (above, below) = path.split_at(depth);
            if !value.is_object() {
                return Err(match above {
                    [] => "expected an object here".to_owned(),
                    _ => format!("`{}` is not an object", above.join(".")),
                });
            }
            let next = node.member(name).and_then(|at| node.child(at));
            let (Some(inner), Some(next)) = (value.get(*name), next) else {
                let last = if call.is_some() { json!([ours]) } else { ours };
                let missing = below.iter().skip(1).rev();
                let new = missing.fold(last, |inner, name| json!({ *name: inner }));
                return Ok(node.with(text, Some(name), &new, unit));
            };
            (value, node) = (inner, next);
        }
        match (call, value) {
            (Some(call), Value::Array(all)) if all.iter().any(|known| calls(known, call)) => {
                Ok(text.to_owned())
            }
            (Some(_), Value::Array(_)) => Ok(node.with(text, None, &ours, unit)),
            (Some(_), _) => Err(format!("`{}` is not an array", path.join("."))),
            (None, known) if *known == ours => Ok(text.to_owned()),
            (None, _) => Err(format!("`{}` already exists with other values", path.join("."))),
        }
    }

    /// The way to our value in a text, as the numbers of members and elements.
    fn find(&self, whole: &Value, text: &str) -> Option<Vec<usize>> {
        let (path, call) = match self {
            Put::Member(path, _) => (*path, None),
            Put::Element(path, _, call) => (*path, Some(call)),
            Put::New(..) => return None,
        };
        let root = Node::parse(text)?;
        let (mut value, mut node, mut address) = (whole, &root, Vec::new());
        for name in path {
            let at = node.member(name)?;
            address.push(at);
            (value, node) = (value.get(*name)?, node.child(at)?);
        }
        let Some(call) = call else {
            let Put::Member(_, ours) = self else { return None };
            return (value == ours).then_some(address);
        };
        let groups = value.as_array()?;
        let at = groups.iter().position(|group| calls(group, call))?;
        address.push(at);
        let handlers = groups.get(at)?.get("hooks").and_then(Value::as_array);
        // Someone may have added their own handlers next to ours.
        if let Some(handlers) = handlers.filter(|all| !all.iter().all(|one| calls(one, call))) {
            address.push(node.child(at)?.member("hooks")?);
            address.push(handlers.iter().position(|handler| calls(handler, call))?);
        }
        Some(address)
    }
}

/// The text without a value and the containers that were created for it; `None` if that is all.
fn without(text: &str, address: &[usize]) -> Option<String> {
    let root = Node::parse(text)?;
    let mut address = address;
    while let Some((last, above)) = address.split_last() {
        let container = above.iter().try_fold(&root, |node, at| node.child(*at))?;
        match container.without(text, *last) {
            Some(less) => return Some(less),
            None => address = above,
        }
    }
    None
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

fn parsed(path: &str, old: &str) -> Result<Value, String> {
    serde_json::from_str(old).map_err(|error| format!("{path} is not plain JSON: {error}"))
}

/// The indentation of the file.
fn indent(old: &str) -> &str {
    let first = old.lines().find(|line| line.starts_with([' ', '\t']) && line.trim() != "");
    first.map_or(UNIT, |line| line.get(..line.len() - line.trim_start().len()).unwrap_or(UNIT))
}

/// A unified diff of the change.
pub fn difference(path: &str, old: &str, new: &str) -> String {
    similar::TextDiff::from_lines(old, new).unified_diff().header(path, path).to_string()
}

#[cfg(test)]
mod tests;
