//! Tests over messages of real hosts and the answers to them.

use super::*;

fn event(text: &str) -> Event {
    read(text.as_bytes(), None).unwrap()
}

fn edit(path: &str, how: EditKind) -> Action {
    Action::Edit(vec![Edit { path: path.to_owned(), how }])
}

fn replace(old: &str, new: &str, all: bool) -> EditKind {
    EditKind::Replace(vec![Replacement { old: old.to_owned(), new: new.to_owned(), all }])
}

#[test]
fn reads_the_tool_calls_of_every_host() {
    // The first two were recorded with Claude Code 2.1.325.
    let claude = r#"{"session_id":"d2","transcript_path":"/h/x.jsonl","cwd":"/p","prompt_id":"8f","permission_mode":"acceptEdits","effort":{"level":"medium"},"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"/p/hello.py","content":"print('hello')\n"},"tool_use_id":"toolu_mock0001"}"#;
    let stop = r#"{"session_id":"d2","cwd":"/p","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"Wrote hello.py.","background_tasks":[],"session_crons":[]}"#;
    let patched = Action::Edit(vec![
        Edit { path: "a.py".to_owned(), how: EditKind::Write("x = 1\n".to_owned()) },
        Edit { path: "b.py".to_owned(), how: EditKind::Delete },
    ]);
    for (text, moment, action) in [
        (
            claude,
            HookEvent::Before,
            edit("/p/hello.py", EditKind::Write("print('hello')\n".to_owned())),
        ),
        (stop, HookEvent::Stop, Action::None),
        (
            r#"{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"a","old_string":"x","new_string":"y","replace_all":true}}"#,
            HookEvent::Before,
            edit("a", replace("x", "y", true)),
        ),
        (
            r#"{"hook_event_name":"PreToolUse","tool_name":"MultiEdit","tool_input":{"file_path":"a","edits":[{"old_string":"x","new_string":"y"}]}}"#,
            HookEvent::Before,
            edit("a", replace("x", "y", false)),
        ),
        (
            r#"{"hook_event_name":"PreToolUse","tool_name":"NotebookEdit","tool_input":{"notebook_path":"a.ipynb","new_source":"x"}}"#,
            HookEvent::Before,
            edit("a.ipynb", EditKind::Unknown),
        ),
        (
            r#"{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"a","offset":1}}"#,
            HookEvent::Before,
            Action::None,
        ),
        (
            r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"sed -i s/a/b/ a"},"tool_response":{}}"#,
            HookEvent::After,
            Action::Shell("sed -i s/a/b/ a".to_owned()),
        ),
        (
            r#"{"hook_event_name":"PreToolUse","tool_name":"apply_patch","turn_id":"1","tool_input":{"command":"*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** Delete File: b.py\n*** End Patch"}}"#,
            HookEvent::Before,
            patched.clone(),
        ),
        (
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"apply_patch <<'X'\n*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** Delete File: b.py\n*** End Patch\nX"}}"#,
            HookEvent::Before,
            patched,
        ),
        (
            r#"{"hook_event_name":"BeforeTool","tool_name":"replace","tool_input":{"file_path":"a","old_string":"x","new_string":"y","expected_replacements":2}}"#,
            HookEvent::Before,
            edit("a", replace("x", "y", true)),
        ),
        (r#"{"hook_event_name":"AfterAgent","prompt":"p"}"#, HookEvent::Stop, Action::None),
        (
            r#"{"event":"preToolUse","toolName":"edit","toolArgs":"{\"path\":\"a\",\"old_str\":\"x\",\"new_str\":\"y\"}"}"#,
            HookEvent::Before,
            edit("a", replace("x", "y", false)),
        ),
        (
            r#"{"event":"preToolUse","toolName":"str_replace_editor","toolArgs":"{\"command\":\"str_replace\",\"path\":\"a\",\"old_str\":\"x\",\"new_str\":\"y\"}"}"#,
            HookEvent::Before,
            edit("a", replace("x", "y", false)),
        ),
        (
            r#"{"hook_event_name":"PreToolUse","tool_input":{"command":"create","path":"a","file_text":"x"}}"#,
            HookEvent::Before,
            edit("a", EditKind::Write("x".to_owned())),
        ),
        (
            r#"{"hook_event_name":"PreToolUse","tool_input":{"command":"redgreen session end","path":"a","text":"x"}}"#,
            HookEvent::Before,
            Action::Shell("redgreen session end".to_owned()),
        ),
        (
            r#"{"hook_event_name":"PreToolUse","tool_input":{"command":"view","path":"a"}}"#,
            HookEvent::Before,
            Action::Shell("view".to_owned()),
        ),
        (
            r#"{"hook_event_name":"beforeShellExecution","command":"ls","workspace_roots":["/w"]}"#,
            HookEvent::Before,
            Action::Shell("ls".to_owned()),
        ),
        (
            r#"{"event":"tool.execute.before","tool":"write","args":{"filePath":"a","content":"x"}}"#,
            HookEvent::Before,
            edit("a", EditKind::Write("x".to_owned())),
        ),
        (r#"{"hook_event_name":"Notification"}"#, HookEvent::Other, Action::None),
        (r#"{"hook_event_name":7}"#, HookEvent::Other, Action::None),
    ] {
        let event = event(text);
        assert_eq!((event.moment, event.action), (moment, action), "{text}");
    }
    let roots = event(r#"{"hook_event_name":"stop","workspace_roots":["/w", 7, "/x"]}"#);
    assert_eq!((roots.cwd.as_deref(), roots.folders), (Some("/w"), vec!["/w".into(), "/x".into()]));
    assert_eq!(read(b"{}", Some("agentStop")).unwrap().moment, HookEvent::Stop);
}

#[test]
fn rejects_invalid_messages() {
    let long = vec![b' '; MESSAGE_BYTES_MAX + 1];
    for (bytes, words) in [
        (&b""[..], "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff\xfe", "not JSON"),
        (long.as_slice(), "longer than 4 MiB"),
    ] {
        let said = read(bytes, None).unwrap_err();
        assert!(said.contains(words), "{said}");
    }
    let deep = "{\"a\":".repeat(20_000);
    assert!(read(deep.as_bytes(), None).unwrap_err().contains("not JSON"));
}

#[test]
fn an_edit_yields_the_file_that_the_host_would_write() {
    let update = |body: &str| {
        let text = format!("*** Begin Patch\n*** Update File: a\n{body}\n*** End Patch\n");
        patch::read(&text).remove(0)
    };
    for (edit, old, expected) in [
        (
            Edit { path: String::new(), how: replace("a", "b", false) },
            "a a\n",
            EditResult::Text("b a\n".to_owned()),
        ),
        (
            Edit { path: String::new(), how: replace("a", "b", true) },
            "a a\n",
            EditResult::Text("b b\n".to_owned()),
        ),
        (
            Edit { path: String::new(), how: replace("", "new", false) },
            "",
            EditResult::Text("new".to_owned()),
        ),
        (
            Edit { path: String::new(), how: replace("z", "b", false) },
            "a",
            EditResult::Text("a".to_owned()),
        ),
        (
            update("@@\n one\n-two\n+2\n three"),
            "one\ntwo\nthree\n",
            EditResult::Text("one\n2\nthree\n".to_owned()),
        ),
        (update("@@ fn\n-two\n+2"), "one\ntwo\n", EditResult::Text("one\n2\n".to_owned())),
        (update("@@\n+end\n*** End of File"), "one\n", EditResult::Text("one\nend\n".to_owned())),
        (update("@@\n-absent\n+2"), "one\n", EditResult::Unknown),
    ] {
        assert_eq!(edit.apply(Some(old)), expected, "{edit:?}");
    }
    let moved = patch::read(
        "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** End Patch\n",
    );
    assert_eq!(moved.iter().map(|edit| edit.path.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn agents_must_not_run_commands_of_the_human() {
    for (command, free) in [
        ("pytest -q", true),
        ("redgreen session check --commit", true),
        ("redgreen session dispute 'the test is wrong'", true),
        ("redgreen session end", false),
        ("cd a && /usr/bin/redgreen session undo; ls", false),
        ("sh -c 'redgreen session resolve keep'", false),
        ("rm -rf .git/redgreen/session", false),
        ("echo the session ends", true),
        ("redgreen  session\tend --unproven", false),
        ("redgreen -C . session end", false),
        ("redgreen --color never -q session --json end", false),
        ("redgreen session -C /p undo", false),
        ("redgreen \"session\" end", false),
        ("red'green' sess\\ion \"\" end", false),
        ("FOO=1 exec /opt/bin/redgreen session \\\n  end", false),
        ("bash -lc \"cd x; redgreen session \\\"end\\\"\"", false),
        ("echo $(redgreen session end)", false),
        ("redgreen session check -m end", true),
        ("redgreen session dispute end --test x", true),
        ("redgreen judge red; echo session end", true),
        ("cat ~/.local/state/\"redgreen\"/sessions/x", false),
    ] {
        assert_eq!(shell_objection(command).is_none(), free, "{command}");
    }
}

#[test]
fn what_one_session_denies_is_denied() {
    let allow = || Answer::Allow(None);
    let deny = |words: &str| Answer::Deny(words.to_owned());
    let said = |words: &str| Answer::Allow(Some(words.to_owned()));
    let go_on = |words: &str| Answer::Continue(words.to_owned());
    for (answers, expected) in [
        (vec![], allow()),
        (vec![allow(), allow()], allow()),
        (vec![allow(), deny("a")], deny("a")),
        (vec![deny("a"), allow(), deny("b")], deny("a\nb")),
        (vec![said("a"), said("b")], said("a\nb")),
        (vec![said("a"), go_on("b"), said("c")], go_on("b")),
        (vec![allow(), Answer::Tell("a".to_owned())], Answer::Tell("a".to_owned())),
    ] {
        assert_eq!(together(&answers), expected, "{answers:?}");
    }
}

#[test]
fn blocks_in_the_format_of_every_host() {
    let before = Event {
        moment: HookEvent::Before,
        action: Action::None,
        cwd: None,
        folders: Vec::new(),
        name: "PreToolUse".to_owned(),
    };
    let stop = Event { moment: HookEvent::Stop, name: "Stop".to_owned(), ..before.clone() };
    for host in Host::ALL {
        let denied = render(host, &before, &Answer::Deny("no".to_owned()));
        let words = format!(
            "{}{}",
            denied.stdout.map_or_else(String::new, |value| value.to_string()),
            denied.stderr
        );
        assert!(
            words.contains("no") && (words.contains("deny") || denied.code == BLOCKED),
            "{host:?} {words}"
        );
        let kept =
            render(host, &stop, &Answer::Continue("go on".to_owned())).stdout.unwrap().to_string();
        assert!(kept.contains("go on"), "{host:?} {kept}");
        let said = render(host, &stop, &Answer::Allow(Some("unproven: x".to_owned())));
        let words = format!("{:?} {}", said.stdout, said.stderr);
        assert!(said.code == 0 && words.contains("unproven: x"), "{host:?} {words}");
        let allowed = render(host, &before, &Answer::Allow(None));
        assert!(
            allowed.code == 0 && !allowed.stdout.unwrap_or_default().to_string().contains("deny"),
            "{host:?}"
        );
        // A failure before a tool acts blocks; a failure at a stop does not.
        let closed = broken(host, Some(&before), "disk");
        assert!(
            closed.code == BLOCKED || closed.stdout.unwrap().to_string().contains("deny"),
            "{host:?}"
        );
        let open = broken(host, Some(&stop), "disk");
        let words = format!("{:?} {}", open.stdout, open.stderr);
        assert!(
            words.contains("unproven") && words.contains("session dispute"),
            "{host:?} {words}"
        );
        assert!(
            open.code == 0 && !open.stdout.unwrap_or_default().to_string().contains("block"),
            "{host:?}"
        );
        assert_eq!(broken(host, None, "rubbish").code, BLOCKED);
    }
}

#[test]
fn every_message_names_the_way_out_once() {
    let words = |text: &str| text.to_owned();
    assert_eq!(Answer::Allow(None).with_way_out(), Answer::Allow(None));
    for (answer, named) in [
        (Answer::Allow(Some(words("a"))), Answer::Allow(Some(format!("a\n{WAY_OUT}")))),
        (Answer::Deny(words("a")), Answer::Deny(format!("a\n{WAY_OUT}"))),
        (Answer::Tell(words("a")), Answer::Tell(format!("a\n{WAY_OUT}"))),
        (Answer::Continue(words("a")), Answer::Continue(format!("a\n{WAY_OUT}"))),
        (Answer::Context(words("a")), Answer::Context(format!("a\n{WAY_OUT}"))),
    ] {
        assert_eq!(answer.with_way_out(), named);
        assert_eq!(named.clone().with_way_out(), named);
    }
}

#[test]
fn damaged_messages_are_read_or_rejected() {
    const MESSAGES: usize = 10_000;
    let whole = r#"{"cwd":"/p","hook_event_name":"PreToolUse","tool_input":{"file_path":"a","edits":[{"old_string":"x","new_string":"y"}],"command":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch"}}"#;
    // A fixed seed, so that the messages are the same in each run.
    let mut random: u64 = 0x5eed_0f12_de1a;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    let mut read_well = 0;
    for _ in 0..MESSAGES {
        let mut bytes = whole.as_bytes().to_vec();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = u8::try_from(next(256)).unwrap(),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]\",:0\n"[next(9)]),
            }
            if bytes.is_empty() {
                break;
            }
        }
        if let Ok(event) = read(&bytes, None) {
            read_well += 1;
            if let Action::Edit(edits) = &event.action {
                edits.iter().for_each(|edit| drop(edit.apply(Some("x\n"))));
            }
            Host::ALL
                .iter()
                .for_each(|host| drop(render(*host, &event, &Answer::Deny("no".to_owned()))));
        }
    }
    assert!((100..MESSAGES - 100).contains(&read_well), "{read_well}");
}
