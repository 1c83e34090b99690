//! Tests for files before, with and without our part.

use super::*;

#[test]
fn adding_is_idempotent_and_removing_undoes_it() {
    let others = "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [\n            {\n                \
                  \"hooks\": [\n                    {\n                        \"type\": \"command\",\n                        \
                  \"command\": \"lint\"\n                    }\n                ]\n            }\n        ]\n    }\n}\n";
    for host in Host::ALL {
        for part in parts(host) {
            let once = added(&part, None).unwrap();
            assert_eq!(added(&part, Some(&once)).unwrap(), once, "{host:?} {}", part.path);
            assert_eq!(
                removed(&part, &once).unwrap(),
                None,
                "{host:?} {}: nothing else was there",
                part.path
            );
            if !matches!(part.content, Content::Json(_)) {
                continue;
            }
            let both = added(&part, Some(others)).unwrap();
            assert_ne!(both, others);
            assert!(both.contains("\"lint\"") && both.starts_with("{\n    \"model\""), "{both}");
            assert_eq!(added(&part, Some(&both)).unwrap(), both);
            let back = removed(&part, &both).unwrap().unwrap();
            assert_eq!(back, others, "{host:?} {}", part.path);
        }
    }
}

/// Removal restores the exact bytes of a file, whatever its formatting.
#[test]
fn removing_restores_the_former_bytes() {
    for old in [
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "{\"a\":1}",
        "{ \"permissions\": { \"allow\": [\"Bash(ls)\"] } }\n",
        "{\n  \"permissions\": { \"allow\": [\"Bash(ls)\", \"}\\\"{\"] }\n}\n",
        "{\r\n\t\"model\" : \"opus\"\r\n}\r\n",
        "{\n  \"version\": 1\n}\n",
        "{ \"hooks\": {} }",
        "{\n  \"hooks\": {\n  },\n  \"x\": [ 1,2 , 3]\n}",
        "{\n  \"hooks\": { \"PreToolUse\": [], \"preToolUse\": [ ], \"BeforeTool\": [\n] }\n}",
        "{\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"lint\"}]}]},\n  \"mcpServers\": {}\n}\n",
        "{ \"mcpServers\": { \"other\": { \"command\": \"x\" } }, \"a\": {\"hooks\": {}} }",
    ] {
        let json = |part: &Part| matches!(part.content, Content::Json(_));
        for part in Host::ALL.into_iter().flat_map(parts).filter(json) {
            let with = added(&part, Some(old)).unwrap();
            let _: Value = serde_json::from_str(&with).unwrap();
            assert!(with.contains("redgreen"), "{old}");
            assert_eq!(added(&part, Some(&with)).unwrap(), with, "{old}: twice is once");
            let back = removed(&part, &with).unwrap();
            assert_eq!(back.as_deref(), Some(old), "{}: {with}", part.path);
        }
    }
    let block = parts(Host::Codex).remove(1);
    for old in ["", "\n", "a = 1", "a = 1\n", "a = 1\n\n\n"] {
        let with = added(&block, Some(old)).unwrap();
        assert_eq!(removed(&block, &with).unwrap().as_deref(), Some(old), "{with:?}");
    }
}

#[test]
fn files_of_others_are_neither_overwritten_nor_deleted() {
    for host in [Host::Copilot, Host::Opencode] {
        let part = parts(host).remove(0);
        assert!(added(&part, Some("{}")).unwrap_err().contains(part.path));
        assert!(removed(&part, "{}").unwrap_err().contains("so redgreen keeps it"));
    }
    let server = parts(Host::Claude).remove(1);
    let theirs = "{\"mcpServers\": {\"redgreen\": {\"command\": \"mine\"}}}";
    assert!(added(&server, Some(theirs)).unwrap_err().contains("with other values"));
    assert_eq!(removed(&server, theirs).unwrap().as_deref(), Some(theirs));
}

#[test]
fn keeps_handlers_of_other_tools() {
    let part = parts(Host::Claude).remove(0);
    let mut value: Value = serde_json::from_str(&added(&part, None).unwrap()).unwrap();
    let handlers = value["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap();
    handlers.push(json!({ "type": "command", "command": "lint" }));
    let left = removed(&part, &value.to_string()).unwrap().unwrap();
    let left: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(
        left,
        json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "lint" }] }] } })
    );
}

#[test]
fn reports_and_keeps_a_file_that_cannot_be_changed() {
    let hooks = parts(Host::Claude).remove(0);
    for (old, words) in [
        ("// comment\n{}", "not plain JSON"),
        ("[]", "object"),
        ("{\"hooks\": 1}", "not an object"),
        ("{\"hooks\": {\"Stop\": {}}}", "not an array"),
    ] {
        let why = added(&hooks, Some(old)).unwrap_err();
        assert!(why.contains(words), "{old}: {why}");
    }
    let toml = parts(Host::Codex).remove(1);
    let theirs = "model = \"x\"\n\n[mcp_servers.redgreen]\ncommand = \"other\"\n";
    assert!(added(&toml, Some(theirs)).unwrap_err().contains("another"));
    assert_eq!(removed(&toml, theirs).unwrap().as_deref(), Some(theirs));
    let with = added(&toml, Some("model = \"x\" # mine\n")).unwrap();
    assert_eq!(with, format!("model = \"x\" # mine\n\n{CODEX_MCP}"));
    assert_eq!(removed(&toml, &with).unwrap().as_deref(), Some("model = \"x\" # mine\n"));
}

#[test]
fn every_host_calls_redgreen_before_an_edit_and_at_the_end() {
    for host in Host::ALL {
        let all: String = parts(host).iter().map(|part| added(part, None).unwrap()).collect();
        assert!(
            all.contains("redgreen hook") || all.contains("\"hook\", \"opencode\""),
            "{host:?}"
        );
        let all = all.to_ascii_lowercase();
        for words in [
            ["pretooluse", "beforetool", "tool.execute.before"],
            ["stop", "afteragent", "session.idle"],
        ] {
            assert!(words.iter().any(|word| all.contains(word)), "{host:?} {words:?}");
        }
    }
}
