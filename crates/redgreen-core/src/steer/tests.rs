//! What a user may say, and what becomes of a list that they edited.

use super::*;

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn words_are_bounded_and_harmless() {
    let long = "x".repeat(MESSAGE_BYTES_MAX + 1);
    for (said, heard) in [
        ("  use a dataclass\n", Ok("use a dataclass")),
        ("two\nlines", Ok("two\nlines")),
        ("a\u{1b}[2Jb", Ok("a␛[2Jb")),
        (" \n", Err(Unusable::Empty)),
        (long.as_str(), Err(Unusable::TooLong { bytes: MESSAGE_BYTES_MAX + 1, most: MESSAGE_BYTES_MAX })),
    ] {
        assert_eq!(words(said), heard.map(str::to_owned), "{said:?}");
    }
}

#[test]
fn a_message_survives_its_file_and_rubbish_is_none() {
    for message in [
        Message::Say { text: "use \"quotes\"\u{202e}".to_owned() },
        Message::Plan { text: "- [ ] adds\n".to_owned(), before: strings(&["adds"]) },
    ] {
        assert_eq!(Message::parse(message.render().as_bytes()), Ok(message));
    }
    for rubbish in ["", "{}", "[1]", r#"{"version":2,"kind":"say","text":"x"}"#, r#"{"version":1,"kind":"run"}"#] {
        assert_eq!(Message::parse(rubbish.as_bytes()), Err(Unusable::Unreadable), "{rubbish}");
    }
}

/// An edit of a list in which `done` is done, `open` was shown to the user, and `added` came since.
#[track_caller]
fn check(edited: &str, wanted: Result<(&str, &[&str]), &str>) {
    let (completed, pending) = (strings(&["done"]), strings(&["open", "added"]));
    let known = Known { completed: &completed, pending: &pending };
    let found = plan(edited, &strings(&["open"]), known);
    match wanted {
        Ok((text, pending)) => assert_eq!(found, Ok(Plan { text: text.to_owned(), pending: strings(pending) })),
        Err(words) => {
            let why = found.unwrap_err().to_string();
            assert!(why.contains(words), "{why}");
        }
    }
}

#[test]
fn an_edited_plan_keeps_what_is_done_and_what_was_added_since() {
    // As it was, reordered and reworded, an item dropped, everything dropped.
    check("- [x] done\n- [ ] open\n", Ok(("- [x] done\n- [ ] open\n- [ ] added\n", &["open", "added"])));
    check("- [ ] new\n- [x] done\n", Ok(("- [ ] new\n- [x] done\n- [ ] added\n", &["new", "added"])));
    check("- [ ] added\n- [ ] open", Ok(("- [x] done\n- [ ] added\n- [ ] open", &["added", "open"])));
    check("", Ok(("- [x] done\n- [ ] added\n", &["added"])));
    // The box of what is done is ticked again; nobody else ticks one.
    check("- [ ] done\n- [ ] open\n", Ok(("- [x] done\n- [ ] open\n- [ ] added\n", &["open", "added"])));
    check("- [x] open\n", Err("delete its line"));
    check(&format!("- [ ] {}\n", "x".repeat(400)), Err("longer than 300"));
    check(&"- [ ] a\n".repeat(400), Err("at most 300"));
    check(&"x".repeat(PLAN_BYTES_MAX + 1), Err("at most 65536"));
}

#[test]
fn a_plan_without_any_item_is_none() {
    assert_eq!(plan("no boxes\n", &[], Known::default()), Err(Unusable::NoItems));
}

#[test]
fn an_item_is_added_to_a_list_and_to_none() {
    let (completed, pending) = (strings(&["done"]), Vec::new());
    let known = Known { completed: &completed, pending: &pending };
    for (list, wanted) in [
        (Some("# List\n- [x] done"), "# List\n- [x] done\n- [ ] one more case\n"),
        (None, "- [x] done\n- [ ] one more case\n"),
        (Some("- [x] done\n```\nopen"), "- [ ] one more case\n- [x] done\n```\nopen"),
    ] {
        assert_eq!(with_item(list, " one more\ncase ", known).unwrap(), wanted);
    }
}

#[test]
fn agents_are_shown_the_newest_messages() {
    assert_eq!(shown(&[]), None);
    assert_eq!(shown(&strings(&["one", "two\nlines"])).unwrap(), "- one\n- two\n  lines");
    let many: Vec<String> = (0..30).map(|number| format!("message {number}")).collect();
    let told = shown(&many).unwrap();
    assert!(told.starts_with("- message 10\n") && told.ends_with("- message 29"), "{told}");
}
