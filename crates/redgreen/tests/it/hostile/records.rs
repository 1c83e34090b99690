//! Journals and other records under `.git/redgreen`. Git does not fetch them, but a copied folder
//! contains them.

use serde_json::json;

use super::{BRANCH, Clone, RUN, hostile};
use crate::story::Story;

/// Verbs that continue a run of somebody else because the user passes `--trust`. None of them runs
/// a command.
const TRUSTING: &[&str] = &["abort k3x9 --trust", "rollback HEAD --trust"];

/// Verbs that look for an agent, and so come near the file with recorded model exchanges.
const ASKING: &[&str] = &["run --agent built-in x", "doctor", "context calc.py"];

/// Project settings that name a file for recorded model exchanges.
fn cassette(clone: &Clone, key: &str, path: &str) {
    let text = format!("backoff = 0.0\n[agent]\nmodel = \"ollama/x\"\n[model]\n{key} = {path:?}\n");
    clone.file("redgreen.toml", text).commit_all();
}

hostile! {
    a_cassette_that_is_the_user_s_file with [ASKING] => |clone| {
        cassette(clone, "record", &clone.place("home/.bashrc").display().to_string());
    };
    a_cassette_that_climbs with [ASKING] => |clone| { cassette(clone, "record", "../beside/diary.txt"); };
    a_cassette_that_is_a_link with [ASKING] => |clone| {
        cassette(clone, "record", "tape.jsonl");
        clone.link(".git/redgreen/cassettes/tape.jsonl", clone.place("home/.bashrc"));
    };
    a_cassette_in_a_folder_that_is_a_link with [ASKING] => |clone| {
        cassette(clone, "record", "deep/er/tape.jsonl");
        clone.link(".git/redgreen/cassettes/deep/er", clone.place("beside"));
    };
    a_cassette_of_the_user_s_own_words with [ASKING] => |clone| {
        cassette(clone, "replay", &clone.place("beside/diary.txt").display().to_string());
    };
    a_cassette_of_garbage with [ASKING] => |clone| {
        clone.file("tape.jsonl", "\u{1b}[2J{\"version\":1,\"wire\":\"\u{7}\"}\n");
        cassette(clone, "replay", "tape.jsonl");
    };
    a_cassette_of_odd_words with [ASKING] => |clone| {
        clone.file("tape.jsonl", "{\"version\":1,\"wire\":\"\\u001b[2J\",\"\\u001b]0;x\\u0007\":1}\n");
        cassette(clone, "replay", "tape.jsonl");
    };
    a_cassette_that_never_ends with [ASKING] => |clone| {
        cassette(clone, "replay", "tape.jsonl");
        clone.link("tape.jsonl", "/dev/zero");
    };
    a_cassette_that_is_a_pipe with [ASKING] => |clone| {
        cassette(clone, "replay", "tape.jsonl");
        clone.pipe("tape.jsonl");
    };
    a_journal_of_garbage with [TRUSTING] => |clone| { clone.raw_journal([0x1b, b'[', b'2', b'J', 0xff, 0x00, b'\n']); };
    an_empty_journal => |clone| { clone.raw_journal(""); };
    a_journal_of_one_endless_line => |clone| { clone.raw_journal("[".repeat(2 << 20)); };
    a_journal_of_the_future => |clone| {
        clone.journal(&[json!({ "v": 4_000_000_000_u32, "seq": 1, "at": 1, "intent": "\u{1b}[2J" })]);
    };
    a_journal_with_numbers_at_the_end with [TRUSTING] => |clone| {
        let mut first = clone.started(|run| {
            for limit in run["policy"].as_object_mut().unwrap().values_mut() {
                if limit.is_u64() {
                    *limit = json!(u32::MAX);
                }
            }
        });
        first["seq"] = json!(u64::MAX);
        first["at"] = json!(i64::MAX);
        let mut left = clone.left(u64::MAX);
        left["at"] = json!(i64::MIN);
        clone.journal(&[first, left]);
    };
    a_journal_that_works_on_main with [TRUSTING] => |clone| {
        clone.journal(&[clone.started(|run| run["branch"] = json!("main")), clone.left(2)]);
    };
    a_journal_of_another_run with [TRUSTING] => |clone| {
        clone.journal(&[clone.started(|run| run["id"] = json!("20261115-224849-abcd")), clone.left(2)]);
    };
    a_journal_whose_id_climbs with [TRUSTING] => |clone| {
        clone.journal(&[clone.started(|run| run["id"] = json!("../../../../beside")), clone.left(2)]);
    };
    a_journal_whose_tree_is_an_option with [TRUSTING] => |clone| {
        let owned = format!("--index-output={}", clone.place("beside/index").display());
        clone.journal(&[clone.started(|run| run["base"]["tree"] = json!(owned)), clone.left(2)]);
    };
    a_journal_whose_branch_is_at_the_user_s_commit with [TRUSTING] => |clone| {
        clone.git(&["update-ref", &format!("refs/heads/{BRANCH}"), "main"]);
        clone.journal(&[clone.started(|_| {}), clone.left(2)]);
    };
    a_journal_whose_branch_is_checked_out with [TRUSTING] => |clone| {
        clone.git(&["switch", "-q", BRANCH]);
        clone.journal(&[clone.started(|_| {}), clone.left(2)]);
    };
    a_journal_that_brings_commands => |clone| {
        let plant = clone.plant();
        let first = clone.started(|run| {
            run["linters"] = json!([plant]);
            run["brief"]["convergence"] = json!([plant]);
        });
        clone.journal(&[first, clone.left(2)]);
    };
    a_run_with_a_script_of_theirs => |clone| {
        let script = format!("[[plan]]\ndo = [{{ shell = {:?} }}]\n", clone.plant());
        clone.file(&format!(".git/redgreen/runs/{RUN}/script.toml"), script);
        clone.file(&format!(".git/redgreen/runs/{RUN}/agents.json"), "{\"agent\":\"script\"}");
        clone.journal(&[clone.started(|_| {}), clone.left(2)]);
    };
    a_journal_that_says_it_made_the_user_s_commit => |clone| {
        let commit = clone.git(&["rev-parse", "main"]);
        let at = 1_700_000_000_000_i64;
        let report = json!({ "file": "reports/1.json", "counts": { "passed": 1, "failed": 0, "skipped": 0, "loadErrors": 0 }, "summary": "x" });
        let mut handoff = clone.handoff();
        handoff["nextPhase"] = json!("COMPLETE");
        let tip = json!({ "commit": clone.git(&["rev-parse", BRANCH]), "tree": clone.git(&["rev-parse", &format!("{BRANCH}^{{tree}}")]) });
        let mut first = clone.started(|_| {});
        first["event"] = json!("adopted");
        first["head"] = tip;
        first["handoff"] = handoff;
        clone.journal(&[
            first,
            json!({ "v": 1, "seq": 2, "at": at, "event": "prepared", "worktree": "/x", "salvage": null, "notices": [] }),
            json!({ "v": 1, "seq": 3, "at": at, "event": "measured", "report": report, "usable": true, "lint": [], "tookMs": 1 }),
            json!({ "v": 1, "seq": 4, "at": at, "event": "decided", "decision": "approve" }),
            json!({ "v": 1, "seq": 5, "at": at, "event": "merged", "commit": commit }),
            json!({ "v": 1, "seq": 6, "at": at, "event": "left", "outcome": { "outcome": "merged" } }),
        ]);
        clone.git(&["reset", "-q", "--hard"]);
    };
    a_run_that_is_being_discarded => |clone| {
        let decided = json!({ "v": 1, "seq": 2, "at": 1, "event": "decided", "decision": "abort" });
        clone.journal(&[clone.started(|_| {}), decided]);
    };
    a_journal_whose_words_have_control_characters => |clone| {
        let words = "\u{1b}[2J\u{1b}[32mgreen accepted\r\u{7}\u{9b}5m";
        let first = clone.started(|run| run["brief"]["request"] = json!(words));
        let outcome = json!({ "outcome": "gave-up", "phase": "RED", "trouble": { "type": words, "message": words } });
        clone.journal(&[first, json!({ "v": 1, "seq": 2, "at": 1, "event": "left", "outcome": outcome })]);
    };
    a_report_outside_of_the_run => |clone| {
        let report = json!({ "file": "../../../../beside/diary.txt", "counts": {}, "summary": "\u{1b}[2J" });
        let measured = json!({ "v": 1, "seq": 2, "at": 1, "event": "measured", "report": report, "usable": true, "lint": [], "tookMs": 1 });
        clone.journal(&[clone.started(|_| {}), measured, clone.left(3)]);
    };
    a_journal_that_is_a_link_to_the_home with [TRUSTING] => |clone| {
        clone.raw_journal("");
        clone.link(&format!(".git/redgreen/runs/{RUN}/journal.jsonl"), clone.place("home/.bashrc"));
    };
    a_journal_that_is_a_pipe with [TRUSTING] => |clone| {
        clone.raw_journal("");
        clone.pipe(&format!(".git/redgreen/runs/{RUN}/journal.jsonl"));
    };
    a_run_that_is_a_link_to_the_home with [TRUSTING] => |clone| {
        clone.file(&format!(".git/redgreen/open/{RUN}"), "");
        clone.link(&format!(".git/redgreen/runs/{RUN}"), clone.place("home"));
    };
    records_that_are_a_link_to_the_home with [TRUSTING] => |clone| { clone.link(".git/redgreen", clone.place("home")); };
    a_latest_run_that_climbs => |clone| { clone.file(".git/redgreen/latest", "../../../../beside"); };
    a_lock_that_is_a_pipe => |clone| {
        clone.journal(&[clone.started(|_| {}), clone.left(2)]);
        clone.pipe(&format!(".git/redgreen/runs/{RUN}/lock"));
    };
    locks_of_git_calls_that_are_pipes => |clone| {
        clone.pipe(".git/redgreen/worktrees.lock").pipe(".git/redgreen/notes.lock");
    };
    a_latest_run_that_is_a_pipe => |clone| { clone.pipe(".git/redgreen/latest"); };
    runs_with_odd_names => |clone| {
        for name in ["\u{1b}[2J", "..a", "-rf", "20261115-224849-K3X9", "a b"] {
            clone.file(&format!(".git/redgreen/runs/{name}/journal.jsonl"), "{}\n");
            clone.file(&format!(".git/redgreen/open/{name}"), "");
        }
    };
    locks_that_are_folders => |clone| {
        clone.file(".git/redgreen/notes.lock/x", "").file(".git/redgreen/worktrees.lock/x", "");
        clone.note("damaged");
    };
}

/// The run starts at its branch's tip, so its records show nothing worth keeping. Still, nothing
/// else refers to the commit.
#[test]
fn a_commit_that_only_a_deleted_branch_had_is_salvaged() {
    let clone = Clone::new();
    let tip = clone.git(&["rev-parse", BRANCH]);
    let first = clone.started(|run| {
        run["base"] = json!({ "commit": tip, "tree": clone.git(&["rev-parse", &format!("{BRANCH}^{{tree}}")]) });
    });
    clone.journal(&[first, clone.left(2)]);
    let output = clone.redgreen("abort k3x9 --trust");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(clone.git(&["for-each-ref", &format!("refs/heads/{BRANCH}")]), "");
    let kept = clone.git(&["for-each-ref", "--format=%(refname)", "--contains", &tip]);
    assert_eq!(kept, format!("refs/redgreen/salvage/{RUN}/1-deleted"));
}

/// A copied folder contains the records of another user. The message names the next command.
#[test]
fn a_run_that_was_not_begun_here_continues_only_when_its_user_says_so() {
    let clone = Clone::new();
    clone.journal(&[clone.started(|_| {}), clone.left(2)]);
    for verb in ["resume", "abort"] {
        let said = String::from_utf8(clone.redgreen(verb).stderr).unwrap();
        assert!(
            said.contains("was not started here")
                && said.contains(&format!("redgreen {verb} {RUN} --trust")),
            "{said}"
        );
    }
    assert!(clone.redgreen("abort --trust").status.success());
}

/// A run that the user started here continues without confirmation, even after an undone merge.
#[test]
fn a_run_that_was_begun_here_needs_no_further_agreement() {
    let story = Story::calculator().env("REDGREEN_TRUST", "0");
    story.redgreen("run --max-cycles 1 --script @kata.toml \"a calculator\"").exits(5);
    story.redgreen("resume --max-cycles 9").exits(3);
    for line in ["approve", "undo", "approve"] {
        story.redgreen(line).exits(0);
    }
}
