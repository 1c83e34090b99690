//! Files that other processes leave for a run or a session: messages, comments, live words,
//! transcripts, accepted trees. A copied folder can contain anything in their place.

use serde_json::{Value, json};

use super::{BRANCH, Clone, RUN, hostile};

/// Verbs that read and write these files, for a user who says that the folder is theirs.
const STEERING: &[&str] = &[
    "say k3x9 hello",
    "resume k3x9 --script @quick.toml --trust",
    "say k3x9 hello",
    "ui --page /runs/k3x9",
    "ui --page /runs/k3x9/turns/1",
    "abort k3x9 --trust",
];

/// Verbs that read and write the ref of a session.
const REFEREEING: &[&str] =
    &["session start x", "session status", "session end", "session start x", "session end"];

const WORDS: &str = "\u{1b}[2J\u{1b}[1;32mgreen accepted\r\u{8}\u{7}\u{202e}\u{9b}5m";

impl Clone {
    /// A file in the folder of the run.
    fn left_for_run(&self, name: &str, content: &Value) -> &Self {
        self.file(&format!("{}/{name}", Self::run_folder()), content.to_string())
    }

    fn run_folder() -> String {
        format!(".git/redgreen/runs/{RUN}")
    }

    /// A run that stopped before its first turn.
    fn stopped_run(&self) -> &Self {
        self.journal(&[self.started(|_| {}), self.left(2)])
    }
}

hostile! {
    /// A message would be written there, and those that cannot be used would be removed.
    a_mailbox_that_is_a_folder_of_the_user with [STEERING] => |clone| {
        std::fs::write(clone.place("beside/1-mine.json"), "{}").unwrap();
        clone.stopped_run().link(&format!("{}/mailbox", Clone::run_folder()), clone.place("beside"));
    };
    messages_that_are_files_of_the_user with [STEERING] => |clone| {
        let mailbox = format!("{}/mailbox", Clone::run_folder());
        clone.stopped_run().link(&format!("{mailbox}/1-a.json"), clone.place("beside/diary.txt"));
        clone.pipe(&format!("{mailbox}/2-b.json"));
    };
    messages_with_control_characters with [STEERING] => |clone| {
        let plan = format!("- [ ] {WORDS}\n");
        clone.stopped_run()
            .left_for_run("mailbox/1-a.json", &json!({ "version": 1, "kind": "say", "text": WORDS }))
            .left_for_run("mailbox/2-b.json", &json!({ "version": 1, "kind": "plan", "text": plan, "before": [WORDS] }))
            .left_for_run("mailbox/3-c.json", &json!({ "version": 1, "kind": WORDS }))
            .left_for_run("mailbox/\u{1b}[2J.json", &json!({}));
    };
    comments_that_are_a_file_of_the_user with [STEERING] => |clone| {
        clone.stopped_run().link(&format!("{}/comments.json", Clone::run_folder()), clone.place("beside/diary.txt"));
    };
    comments_with_control_characters with [STEERING] => |clone| {
        let tree = clone.git(&["rev-parse", "main"]);
        let comment = |file: &str, tree: &str| json!({
            "id": 1, "file": file, "side": "new", "line": u32::MAX, "code": WORDS, "tree": tree, "body": WORDS, "at": i64::MIN,
            "standing": "draft"
        });
        let all = json!({ "version": 1, "comments": [comment("calc.py", &tree)] });
        clone.stopped_run().left_for_run("comments.json", &all);
    };
    comments_on_files_outside with [STEERING] => |clone| {
        let comment = json!({
            "id": 1, "file": "../beside/diary.txt", "side": "old", "line": 1, "code": "", "tree": "--output=x", "body": "x", "at": 1,
            "standing": "sent"
        });
        clone.stopped_run().left_for_run("comments.json", &json!({ "version": 1, "comments": [comment] }));
    };
    live_words_that_are_a_file_of_the_user with [STEERING] => |clone| {
        clone.stopped_run().link(&format!("{}/live.jsonl", Clone::run_folder()), clone.place("beside/diary.txt"));
    };
    live_words_that_never_end with [STEERING] => |clone| {
        clone.stopped_run().link(&format!("{}/live.jsonl", Clone::run_folder()), "/dev/zero");
    };
    live_words_with_control_characters with [STEERING] => |clone| {
        let said = json!({ "v": 1, "at": 1, "role": "test", "live": "text", "text": WORDS });
        let tool = json!({ "v": 1, "at": 1, "role": "test", "live": "tool", "name": WORDS, "what": WORDS });
        clone.stopped_run().file(&format!("{}/live.jsonl", Clone::run_folder()), format!("{said}\n{tool}\n\u{0}\n"));
    };
    transcripts_with_control_characters with [STEERING] => |clone| {
        let tree = clone.git(&["rev-parse", "main~1^{tree}"]);
        let at = 1_700_000_000_000_i64;
        let report = json!({ "file": "reports/1.json", "counts": { "passed": 0, "failed": 0, "skipped": 0, "loadErrors": 0 }, "summary": WORDS });
        clone.journal(&[
            clone.started(|_| {}),
            json!({ "v": 1, "seq": 2, "at": at, "event": "prepared", "worktree": WORDS, "salvage": null, "notices": [WORDS] }),
            json!({ "v": 1, "seq": 3, "at": at, "event": "measured", "report": report, "usable": true, "lint": [WORDS], "tookMs": 1 }),
            json!({
                "v": 1, "seq": 4, "at": at, "event": "turned", "role": "test-list", "turn": { "ended": "done", "answer": WORDS },
                "tree": tree, "cost": {}, "tookMs": u64::MAX, "notices": [WORDS], "list": [WORDS]
            }),
            clone.left(5),
        ]);
        clone.file(&format!("{}/transcripts/001-test-list.md", Clone::run_folder()), WORDS);
    };
    /// The folder in which a run leaves copies of its results.
    results_that_belong_into_a_folder_of_the_user with [STEERING] => |clone| {
        let beside = clone.place("beside").display().to_string();
        clone.stopped_run().file(&format!("{}/artifacts-to", Clone::run_folder()), beside);
        clone.file(&format!("{}/artifacts/diary.txt", Clone::run_folder()), "theirs");
    };
    a_session_that_is_the_user_s_branch with [REFEREEING] => |clone| {
        clone.file(".git/refs/worktree/redgreen/session", "ref: refs/heads/main\n");
    };
    a_session_of_somebody_else with [REFEREEING] => |clone| {
        let tree = clone.git(&["rev-parse", &format!("{BRANCH}^{{tree}}")]);
        let words = format!("session {RUN} started\n{WORDS}");
        let commit = clone.git(&["commit-tree", "-p", "main~1", "-m", &words, &tree]);
        clone.git(&["update-ref", "refs/worktree/redgreen/session", &commit]);
    };
    a_session_that_is_no_commit with [REFEREEING] => |clone| {
        let blob = clone.git_with(&["hash-object", "-w", "--stdin"], b"x");
        clone.git(&["update-ref", "refs/worktree/redgreen/session", &blob]);
    };
    a_test_list_that_is_a_file_of_the_user with [REFEREEING] => |clone| {
        clone.link("test-list.md", clone.place("beside/diary.txt")).commit_all();
    };
}
