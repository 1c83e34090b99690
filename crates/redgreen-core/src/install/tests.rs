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
            let back = back.replace(",\n    \"version\": 1", "");
            assert_eq!(back, others, "{host:?} {}", part.path);
        }
    }
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
