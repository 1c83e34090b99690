//! Answers permission requests of an agent: everything inside the worktree is allowed, nothing that
//! names a path outside of it.

use serde_json::{Value, json};

use crate::agent_output::text;

/// The decision, and the answer in the protocol.
pub(super) fn answer(params: &Value, folder: &str) -> (bool, Value) {
    let allowed = paths(params).iter().all(|path| is_inside(path, folder));
    let kinds =
        if allowed { ["allow_once", "allow_always"] } else { ["reject_once", "reject_always"] };
    let options = params.get("options").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let option = kinds
        .iter()
        .find_map(|kind| options.iter().find(|option| text(option, "/kind") == Some(*kind)));
    match option.and_then(|option| text(option, "/optionId")) {
        Some(id) => (allowed, json!({ "outcome": "selected", "optionId": id })),
        None => (false, json!({ "outcome": "cancelled" })),
    }
}

/// All paths in a request.
fn paths(params: &Value) -> Vec<&str> {
    let call = params.get("toolCall").unwrap_or(&Value::Null);
    let list = |key: &str| call.get(key).and_then(Value::as_array).into_iter().flatten();
    let told = list("locations").chain(list("content")).filter_map(|place| text(place, "/path"));
    let input = ["/file_path", "/filePath", "/path", "/notebook_path", "/cwd"];
    told.chain(input.iter().filter_map(|key| text(call.get("rawInput")?, key))).collect()
}

fn is_inside(path: &str, folder: &str) -> bool {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let rest = match path.strip_prefix(folder.trim_end_matches('/')) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        Some(_) => return false,
        None if path.starts_with('/') || path.starts_with('~') => return false,
        None => path,
    };
    !rest.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_only_paths_in_the_worktree() {
        for (path, inside) in [
            ("/w/run/a.py", true),
            ("/w/run", true),
            ("a.py", true),
            ("file:///w/run/a.py", true),
            ("/w/running/a.py", false),
            ("/w/run/../a.py", false),
            ("../a.py", false),
            ("~/.ssh/id", false),
            ("/etc/passwd", false),
        ] {
            assert_eq!(is_inside(path, "/w/run"), inside, "{path}");
        }
    }

    #[test]
    fn prefers_the_narrowest_option() {
        let options = json!([
            { "optionId": "always", "kind": "allow_always" },
            { "optionId": "once", "kind": "allow_once" },
            { "optionId": "no", "kind": "reject_once" },
        ]);
        let asked = |path: &str| json!({ "toolCall": { "locations": [{ "path": path }] }, "options": options });
        assert_eq!(
            answer(&asked("/w/a"), "/w"),
            (true, json!({ "outcome": "selected", "optionId": "once" }))
        );
        assert_eq!(
            answer(&asked("/x/a"), "/w"),
            (false, json!({ "outcome": "selected", "optionId": "no" }))
        );
        assert_eq!(answer(&json!({}), "/w"), (false, json!({ "outcome": "cancelled" })));
    }
}
