//! Tests for user messages and edited lists.

use super::*;

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn messages_are_bounded_and_sanitized() {
    let long = "x".repeat(MESSAGE_BYTES_MAX + 1);
    for (said, heard) in [
        ("  use a dataclass\n", Ok("use a dataclass")),
        ("two\nlines", Ok("two\nlines")),
        ("a\u{1b}[2Jb", Ok("a␛[2Jb")),
        (" \n", Err(MessageError::Empty)),
        (
            long.as_str(),
            Err(MessageError::TooLong { bytes: MESSAGE_BYTES_MAX + 1, most: MESSAGE_BYTES_MAX }),
        ),
    ] {
        assert_eq!(words(said), heard.map(str::to_owned), "{said:?}");
    }
}

#[test]
fn messages_round_trip_and_garbage_is_rejected() {
    for message in [
        Message::Say { text: "use \"quotes\"\u{202e}".to_owned() },
        Message::Plan { text: "- [ ] adds\n".to_owned(), before: strings(&["adds"]) },
    ] {
        assert_eq!(Message::parse(message.render().as_bytes()), Ok(message));
    }
    for rubbish in [
        "",
        "{}",
        "[1]",
        r#"{"version":2,"kind":"say","text":"x"}"#,
        r#"{"version":1,"kind":"run"}"#,
    ] {
        assert_eq!(Message::parse(rubbish.as_bytes()), Err(MessageError::Unreadable), "{rubbish}");
    }
}

/// Edits a list in which `done` is done, `open` was shown to the user, and `added` is new since.
#[track_caller]
fn check(edited: &str, wanted: Result<(&str, &[&str]), &str>) {
    let (completed, pending) = (strings(&["done"]), strings(&["open", "added"]));
    let known = EngineItems { completed: &completed, pending: &pending };
    let found = plan(edited, &strings(&["open"]), known);
    match wanted {
        Ok((text, pending)) => {
            assert_eq!(found, Ok(Plan { text: text.to_owned(), pending: strings(pending) }));
        }
        Err(words) => {
            let why = found.unwrap_err().to_string();
            assert!(why.contains(words), "{why}");
        }
    }
}

#[test]
fn an_edited_plan_keeps_completed_and_new_items() {
    // Unchanged, reordered and reworded, an item dropped, everything dropped.
    check(
        "- [x] done\n- [ ] open\n",
        Ok(("- [x] done\n- [ ] open\n- [ ] added\n", &["open", "added"])),
    );
    check(
        "- [ ] new\n- [x] done\n",
        Ok(("- [ ] new\n- [x] done\n- [ ] added\n", &["new", "added"])),
    );
    check(
        "- [ ] added\n- [ ] open",
        Ok(("- [x] done\n- [ ] added\n- [ ] open", &["added", "open"])),
    );
    check("", Ok(("- [x] done\n- [ ] added\n", &["added"])));
    // Completed items are ticked again; no other ticks are allowed.
    check(
        "- [ ] done\n- [ ] open\n",
        Ok(("- [x] done\n- [ ] open\n- [ ] added\n", &["open", "added"])),
    );
    check("- [x] open\n", Err("delete its line"));
    check(&format!("- [ ] {}\n", "x".repeat(400)), Err("longer than 300"));
    check(&"- [ ] a\n".repeat(400), Err("the limit is 300"));
    check(&"x".repeat(PLAN_BYTES_MAX + 1), Err("the limit is 65536"));
}

#[test]
fn rejects_a_plan_without_items() {
    assert_eq!(plan("no boxes\n", &[], EngineItems::default()), Err(MessageError::NoItems));
}

#[test]
fn adds_an_item_to_a_list_or_creates_one() {
    let (completed, pending) = (strings(&["done"]), Vec::new());
    let known = EngineItems { completed: &completed, pending: &pending };
    for (list, wanted) in [
        (Some("# List\n- [x] done"), "# List\n- [x] done\n- [ ] one more case\n"),
        (None, "- [x] done\n- [ ] one more case\n"),
        (Some("- [x] done\n```\nopen"), "- [ ] one more case\n- [x] done\n```\nopen"),
    ] {
        assert_eq!(with_item(list, " one more\ncase ", known).unwrap(), wanted);
    }
}

#[test]
fn agents_see_the_newest_messages() {
    assert_eq!(shown(&[]), None);
    assert_eq!(shown(&strings(&["one", "two\nlines"])).unwrap(), "- one\n- two\n  lines");
    let many: Vec<String> = (0..30).map(|number| format!("message {number}")).collect();
    let told = shown(&many).unwrap();
    assert!(told.starts_with("- message 10\n") && told.ends_with("- message 29"), "{told}");
}
