//! Rows: what a file held, and what it holds with our part in it and without.

use super::*;

#[test]
fn putting_it_in_twice_changes_nothing_and_taking_it_out_undoes_it() {
    let others = "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"Stop\": [\n            {\n                \
                  \"hooks\": [\n                    {\n                        \"type\": \"command\",\n                        \
                  \"command\": \"lint\"\n                    }\n                ]\n            }\n        ]\n    }\n}\n";
    for host in Host::ALL {
        for part in parts(host) {
            let once = added(&part, None).unwrap();
            assert_eq!(added(&part, Some(&once)).unwrap(), once, "{host:?} {}", part.path);
            assert_eq!(removed(&part, &once).unwrap(), None, "{host:?} {}: nothing else was there", part.path);
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
fn handlers_of_others_beside_ours_stay() {
    let part = parts(Host::Claude).remove(0);
    let mut value: Value = serde_json::from_str(&added(&part, None).unwrap()).unwrap();
    let handlers = value["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap();
    handlers.push(json!({ "type": "command", "command": "lint" }));
    let left = removed(&part, &value.to_string()).unwrap().unwrap();
    let left: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(left, json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "lint" }] }] } }));
}

#[test]
fn what_cannot_be_put_in_is_told_and_left() {
    let hooks = parts(Host::Claude).remove(0);
    for (old, words) in [
        ("// comment\n{}", "not plain JSON"),
        ("[]", "no object"),
        ("{\"hooks\": 1}", "no object"),
        ("{\"hooks\": {\"Stop\": {}}}", "no array"),
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
fn every_host_asks_before_an_edit_and_at_the_end() {
    for host in Host::ALL {
        let all: String = parts(host).iter().map(|part| added(part, None).unwrap()).collect();
        assert!(all.contains("redgreen hook") || all.contains("\"hook\", \"opencode\""), "{host:?}");
        let all = all.to_ascii_lowercase();
        for words in [["pretooluse", "beforetool", "tool.execute.before"], ["stop", "afteragent", "session.idle"]] {
            assert!(words.iter().any(|word| all.contains(word)), "{host:?} {words:?}");
        }
    }
}
