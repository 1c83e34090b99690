//! Refs with odd names, and refs that point to unexpected objects. Some can be fetched; others come
//! with a copied folder.

use super::{BRANCH, RUN, hostile};

/// The range of a pull request, as a person types it and as a CI system passes it.
const PROVING: &[&str] = &[
    "verify --pr --timeout 20",
    "verify refs/pull/1/merge --timeout 20",
    "verify refs/pull/1/head..refs/pull/\u{9b}2J/head",
    "verify :/x..HEAD",
    "verify HEAD^{/x}..@{-1}",
    "verify main..ext::sh",
    "verify ../../beside..HEAD",
    "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=pull_request GITHUB_EVENT_PATH=@event.json verify --timeout 20",
    "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=push GITHUB_EVENT_PATH=@event.json verify --timeout 20",
    "GITHUB_ACTIONS=true GITHUB_EVENT_NAME=pull_request GITHUB_EVENT_PATH=/dev/zero verify --timeout 20",
    "GITLAB_CI=true CI_COMMIT_BEFORE_SHA=--output=x CI_COMMIT_SHA=$(x) verify --timeout 20",
];

/// Verbs that read git's own files: refs, worktrees, the index, ignore rules.
const RECORDS: &[&str] =
    &["run --script @quick.toml x", "session start x", "judge green --head INDEX"];

hostile! {
    pull_requests_with_odd_refs with [PROVING] => |clone| {
        let mine = clone.git(&["rev-parse", "main"]);
        let tree = clone.git(&["rev-parse", "main^{tree}"]);
        let words = format!("::error::x\n\u{1b}[2J\n{}", clone.plant());
        let merge = clone.git(&["commit-tree", "-p", "main~1", "-p", BRANCH, "-m", &words, &tree]);
        for name in ["1/merge", "1/head", "-x/head", "\u{9b}2J/head", "$(x)/merge"] {
            clone.git(&["update-ref", &format!("refs/pull/{name}"), &merge]);
        }
        for name in ["--output=x", "--upload-pack=x", "refs/heads/main", "HEAD"] {
            clone.git(&["update-ref", &format!("refs/heads/{name}"), &merge]);
        }
        // A branch with the same name as the tag, and a default branch with an invalid name.
        clone.git(&["update-ref", "refs/heads/v1", &merge]);
        clone.git(&["update-ref", "refs/remotes/origin/--force", &merge]);
        clone.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/--force"]);
        let event = serde_json::json!({
            "pull_request": { "base": { "sha": mine, "ref": "--output=x" }, "head": { "sha": merge, "ref": "\u{1b}[2J$(x)" } },
            "before": "--output=x", "after": "../../beside"
        });
        std::fs::write(clone.place("event.json"), event.to_string()).unwrap();
    };
    branches_with_names_from_a_terminal => |clone| {
        for name in ["redgreen/\u{9b}2J-abcd", "redgreen/\u{202e}niam-abcd", "redgreen/--force", "redgreen/a'b;c$(d)"] {
            clone.git(&["update-ref", &format!("refs/heads/{name}"), "main~1"]);
            clone.git(&["update-ref", &format!("refs/remotes/origin/{name}"), "main~1"]);
        }
        clone.note_on("main~1", clone.handoff().to_string());
    };
    a_branch_with_a_name_of_bytes => |clone| {
        use std::os::unix::ffi::OsStrExt;
        let folder = clone.root.join(".git/refs/heads/redgreen");
        let name = std::ffi::OsStr::from_bytes(b"\xff\xfe\x1b[2J");
        std::fs::write(folder.join(name), format!("{}\n", clone.git(&["rev-parse", "main"]))).unwrap();
    };
    a_current_branch_with_an_odd_name => |clone| {
        clone.git(&["switch", "-q", "-c", "\u{9b}31mmain\u{202e}"]);
    };
    a_current_branch_that_looks_like_an_option => |clone| {
        clone.git(&["update-ref", "refs/heads/--exec=x", "main"]);
        clone.git(&["symbolic-ref", "HEAD", "refs/heads/--exec=x"]);
    };
    a_head_without_a_branch => |clone| { clone.file(".git/HEAD", "ref: refs/heads/redgreen/unborn\n"); };
    a_run_branch_that_is_main_in_disguise => |clone| {
        clone.file(&format!(".git/refs/heads/{BRANCH}"), "ref: refs/heads/main\n");
        let tip = clone.git(&["rev-parse", "main"]);
        let mut note = clone.handoff();
        note["run"]["base"] = clone.git(&["rev-parse", "main~1"]).into();
        clone.note_on(&tip, note.to_string());
    };
    salvage_with_odd_names => |clone| {
        for name in ["k3x9/1-a\u{9b}b", "-k3x9/--force", "k3x9-plain", "k3x9-a/b/c", "\u{202e}k3x9/1-x"] {
            clone.git(&["update-ref", &format!("refs/redgreen/salvage/{name}"), "main"]);
        }
    };
    salvage_of_things_that_are_no_commits => |clone| {
        let blob = clone.git_with(&["hash-object", "-w", "--stdin"], b"x");
        clone.git(&["update-ref", &format!("refs/redgreen/salvage/{RUN}/1-blob"), &blob]);
        let tree = clone.git(&["rev-parse", "main^{tree}"]);
        clone.git(&["update-ref", &format!("refs/redgreen/salvage/{RUN}/2-tree"), &tree]);
        clone.git(&["tag", "-a", "-m", "\u{1b}[2J", "odd", &blob]);
        clone.git(&["update-ref", &format!("refs/redgreen/salvage/{RUN}/3-tag"), "refs/tags/odd"]);
    };
    salvage_whose_words_have_control_characters => |clone| {
        let tree = clone.git(&["rev-parse", "main^{tree}"]);
        let commit = clone.git(&["commit-tree", "-p", "main", "-m", "\u{1b}[2J\u{7}green", &tree]);
        clone.git(&["update-ref", &format!("refs/redgreen/salvage/{RUN}/1-work"), &commit]);
    };
    /// The repository configures commands that git runs to show a diff.
    salvage_of_changes_that_commands_show => |clone| {
        let plant = clone.plant();
        clone.file("calc.py", "def add(a, b):\n    return a - b\n").file("a\u{1b}[2J\r.py", "\u{1b}[2J\n");
        clone.git(&["add", "--all"]);
        let tree = clone.git(&["write-tree"]);
        let commit = clone.git(&["commit-tree", "-p", "main", "-m", "work", &tree]);
        clone.git(&["reset", "-q", "--hard"]);
        clone.git(&["update-ref", &format!("refs/redgreen/salvage/{RUN}/1-work"), &commit]);
        let keys = ["diff.external", "diff.x.textconv", "diff.x.command", "core.pager", "pager.diff", "pager.show"];
        for key in keys.iter().chain(&["core.fsmonitor", "interactive.diffFilter", "gpg.program", "filter.x.clean"]) {
            clone.git(&["config", key, &plant]);
        }
        clone.git(&["config", "color.ui", "always"]);
        clone.git(&["config", "log.showSignature", "true"]);
        clone.file(".git/info/attributes", "* diff=x filter=x\n");
    };
    salvage_that_is_the_user_s_branch => |clone| {
        clone.file(&format!(".git/refs/redgreen/salvage/{RUN}/1-work"), "ref: refs/heads/main\n");
    };
    commits_whose_subjects_have_control_characters => |clone| {
        let tree = clone.git(&["rev-parse", "main^{tree}"]);
        let words = "\u{1b}[2J\u{1b}]0;x\u{7}\rred accepted\u{9b}5m";
        let commit = clone.git(&["commit-tree", "-p", "main~1", "-m", words, &tree]);
        clone.git(&["update-ref", &format!("refs/heads/{BRANCH}"), &commit]);
        clone.note(clone.handoff().to_string());
    };
    replaced_commits => |clone| {
        let mine = clone.git(&["rev-parse", "main"]);
        let theirs = clone.git(&["rev-parse", BRANCH]);
        clone.git(&["replace", "-f", &mine, &theirs]);
        clone.note(clone.handoff().to_string());
    };
    a_work_ref_that_is_the_user_s_branch => |clone| {
        clone.file(&format!(".git/refs/redgreen/work/{RUN}"), "ref: refs/heads/main\n");
        clone.journal(&[clone.started(|_| {}), clone.left(2)]);
    };
    /// A repository copied as a folder can contain pipes in place of git's files.
    a_worktree_whose_head_is_a_pipe with [RECORDS] => |clone| { clone.pipe(".git/worktrees/x/HEAD"); };
    a_worktree_whose_place_is_a_pipe with [RECORDS] => |clone| { clone.pipe(".git/worktrees/x/gitdir"); };
    a_worktree_whose_repository_is_a_pipe with [RECORDS] => |clone| { clone.pipe(".git/worktrees/x/commondir"); };
    a_worktree_whose_rebase_is_a_pipe with [RECORDS] => |clone| { clone.pipe(".git/worktrees/x/rebase-merge/head-name"); };
    a_merge_that_is_a_pipe with [RECORDS] => |clone| { clone.pipe(".git/MERGE_HEAD"); };
    ignore_rules_that_are_a_pipe with [RECORDS] => |clone| { clone.pipe(".git/info/exclude"); };
    an_index_that_is_a_pipe with [RECORDS] => |clone| { clone.pipe(".git/index"); };
    packed_refs_that_are_a_pipe with [RECORDS] => |clone| { clone.pipe(".git/packed-refs"); };
    a_head_that_is_a_pipe with [RECORDS] => |clone| { clone.pipe(".git/HEAD"); };
    a_branch_that_is_a_pipe with [RECORDS] => |clone| { clone.pipe(".git/refs/heads/theirs"); };
    a_merge_that_never_ends with [RECORDS] => |clone| { clone.link(".git/MERGE_HEAD", "/dev/zero"); };
}
