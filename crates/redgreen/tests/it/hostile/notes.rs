//! Notes, which anybody with push access can write.

use serde_json::json;

use super::{BRANCH, Clone, RUN, hostile, survives};

/// Far larger than any real handoff.
const HUGE: usize = 3 << 20;
/// Too large to wait for.
const ENORMOUS: usize = 50 << 20;

hostile! {
    a_note_that_is_no_json => |clone| { clone.note("PASS\u{1b}[2J\u{1b}]0;owned\u{7}\n"); };
    a_note_of_bytes => |clone| { clone.note([0xff, 0xfe, 0x1b, b'[', b'2', b'J', 0x0a]); };
    a_note_with_a_nul => |clone| { clone.note(b"{\"version\":1,\0\"phase\":\"RED\"}\n"); };
    a_note_of_another_shape => |clone| { clone.note("[[[[{\"version\":{}}]]]]\n"); };
    a_note_nested_ten_thousand_deep => |clone| { clone.note("[".repeat(10_000)); };
    a_note_of_three_megabytes => |clone| {
        clone.spoilt_note(|note| note["pendingTests"] = json!(["x".repeat(HUGE)]));
    };
    a_note_of_fifty_megabytes => |clone| {
        clone.spoilt_note(|note| note["pendingTests"] = json!(["x".repeat(ENORMOUS)]));
    };
    fifty_megabytes_that_are_no_note => |clone| { clone.note("[{".repeat(ENORMOUS / 2)); };
    a_note_of_the_future => |clone| { clone.spoilt_note(|note| note["version"] = json!(u64::MAX)); };
    a_note_with_numbers_at_the_end => |clone| {
        clone.spoilt_note(|note| {
            note["phase"] = json!("REFACTOR");
            note["cycleNumber"] = json!(u32::MAX);
            note["retryCount"] = json!(u32::MAX);
            note["spent"] = json!({ "tokens": u64::MAX, "microdollars": u64::MAX, "workMs": u64::MAX });
        });
    };
    a_note_that_works_on_main => |clone| { clone.spoilt_note(|note| note["run"]["branch"] = json!("main")); };
    a_note_that_works_on_a_ref => |clone| {
        clone.spoilt_note(|note| note["run"]["branch"] = json!("redgreen/../../tags/v1"));
    };
    a_note_whose_branch_is_an_option => |clone| {
        clone.spoilt_note(|note| note["run"]["branch"] = json!("--upload-pack=touch"));
    };
    a_note_whose_branch_has_control_characters => |clone| {
        clone.spoilt_note(|note| note["run"]["branch"] = json!("redgreen/\u{1b}[2J\r\nmain\u{9b}31m"));
    };
    a_note_that_names_another_run_s_branch => |clone| {
        clone.git(&["update-ref", "refs/heads/redgreen/other-abcd", "main"]);
        clone.spoilt_note(|note| note["run"]["branch"] = json!("redgreen/other-abcd"));
    };
    a_note_meant_for_its_own_branch => |clone| { clone.spoilt_note(|note| note["run"]["target"] = json!(BRANCH)); };
    a_note_meant_for_an_option => |clone| { clone.spoilt_note(|note| note["run"]["target"] = json!("--force")); };
    a_note_whose_id_climbs => |clone| { clone.spoilt_note(|note| note["run"]["id"] = json!("../../../beside")); };
    a_note_whose_id_is_a_path => |clone| { clone.spoilt_note(|note| note["run"]["id"] = json!("/tmp/owned")); };
    a_note_whose_id_has_a_nul => |clone| { clone.spoilt_note(|note| note["run"]["id"] = json!("k3x9\0../x")); };
    a_note_whose_base_is_an_option => |clone| {
        clone.spoilt_note(|note| note["run"]["base"] = json!("--output=/tmp/owned"));
    };
    a_note_whose_base_is_the_user_s_commit => |clone| {
        let mine = clone.git(&["rev-parse", "main"]);
        clone.spoilt_note(|note| note["run"]["base"] = json!(mine));
    };
    a_note_whose_base_is_not_there => |clone| {
        clone.spoilt_note(|note| note["run"]["base"] = json!("1".repeat(40)));
    };
    a_note_that_brings_commands => |clone| {
        let plant = clone.plant();
        clone.spoilt_note(|note| {
            note["run"]["brief"] = json!({ "request": "x", "door": "task", "convergence": [plant, "\u{1b}[2Jls"] });
        });
    };
    a_note_that_asks_for_the_diary => |clone| {
        clone.spoilt_note(|note| {
            let documents = json!([{ "path": "../beside/diary.txt", "text": "" }, { "path": "/etc/passwd", "text": "" }]);
            note["run"]["brief"] = json!({ "request": "x", "door": "design", "context": documents });
        });
    };
    a_note_whose_session_is_an_option => |clone| {
        clone.spoilt_note(|note| note["sessions"] = json!({ "test": "--dangerously-skip-permissions" }));
    };
    a_note_whose_agent_has_control_characters => |clone| {
        clone.spoilt_note(|note| note["run"]["agent"] = json!("\u{1b}]8;;http://x\u{7}click\u{1b}\\"));
    };
    a_note_whose_words_have_control_characters => |clone| {
        clone.spoilt_note(|note| {
            let words = "\u{1b}[2J\u{1b}[1;32mgreen accepted\r\u{8}\u{7}\u{202e}\u{9b}5m";
            note["run"]["request"] = json!(words);
            note["currentTest"]["description"] = json!(words);
            note["error"] = json!(words);
            note["errorDetails"] = json!({ "type": words, "message": words });
            note["verdict"]["codes"] = json!([words]);
            note["completedTests"] = json!([words]);
        });
    };
    notes_on_the_user_s_own_commits => |clone| {
        let note = clone.handoff().to_string();
        clone.note_on("main", &note).note_on("main~1", &note).note_on("v1", "\u{1b}c");
    };
    two_notes_of_one_run => |clone| {
        let note = clone.handoff().to_string();
        clone.git(&["update-ref", "refs/remotes/origin/redgreen/feature-k3x9", "main"]);
        clone.note(&note).note_on("main", &note);
    };
    a_note_of_a_branch_that_is_checked_out => |clone| {
        clone.git(&["switch", "-q", BRANCH]);
        clone.note(clone.handoff().to_string());
    };
    notes_that_are_a_blob => |clone| {
        let blob = clone.git_with(&["hash-object", "-w", "--stdin"], b"x");
        clone.file(".git/refs/notes/tdd-handoffs", format!("{blob}\n"));
    };
    notes_that_are_the_user_s_branch => |clone| {
        clone.file(".git/refs/notes/tdd-handoffs", "ref: refs/heads/main\n");
    };
    notes_that_are_a_link_out => |clone| { clone.link(".git/refs/notes/tdd-handoffs", "../../../../beside/diary.txt"); };
}

/// What `resume` answers if a note names a branch of the user's.
#[track_caller]
fn refused(make: impl FnOnce(&Clone), words: &[&str]) {
    let mut clone = Clone::new();
    make(&clone);
    clone.before = clone.everything();
    clone.check("resume --script @quick.toml");
    let output = clone.redgreen("resume --script @quick.toml");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for word in words.iter().chain(&["  next  "]) {
        assert!(said.contains(word), "{word:?}: {said}");
    }
    assert!(!clone.root.join(".git/redgreen/runs").join(RUN).exists(), "{said}");
}

#[test]
fn a_note_never_gets_a_branch_that_is_not_its_own() {
    refused(
        |clone| {
            clone.spoilt_note(|note| note["run"]["branch"] = json!("main"));
        },
        &["\"main\" is not the name of a branch below redgreen/", "redgreen repair-notes"],
    );
    refused(
        |clone| {
            clone.git(&["switch", "-q", BRANCH]);
            clone.note(clone.handoff().to_string());
        },
        &[
            "the branch redgreen/feature-k3x9 of run 20261115-224849-k3x9 is checked out",
            "switch main",
        ],
    );
    refused(
        |clone| {
            let (note, tip) = (clone.handoff().to_string(), clone.git(&["rev-parse", BRANCH]));
            clone.git(&["update-ref", "refs/remotes/origin/redgreen/feature-k3x9", &tip]);
            clone.git(&["update-ref", &format!("refs/heads/{BRANCH}"), "main"]);
            clone.note_on(&tip, note);
        },
        &["has diverged", "git branch -m redgreen/feature-k3x9"],
    );
    refused(
        |clone| {
            let plant = clone.plant();
            clone.spoilt_note(|note| {
                note["run"]["brief"] = json!({ "request": "x", "convergence": [plant] });
            });
        },
        &["contains commands that you have not trusted yet", "touch", "--trust"],
    );
}

/// A valid note is accepted: the suite would prove nothing if every note were refused.
#[test]
fn a_note_that_is_right_is_taken_over() {
    let clone = Clone::new();
    clone.note(clone.handoff().to_string());
    let output = clone.redgreen("resume --script @quick.toml");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(clone.root.join(".git/redgreen/runs").join(RUN).exists(), "{said}");
    survives(|_| {}, &[]);
}
