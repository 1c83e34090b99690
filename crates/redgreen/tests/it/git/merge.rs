//! A merge is complete or leaves no trace.

use std::fs;
use std::path::Path;

use redgreen::git::{Git, Merge, MergeRequest, MergeState};
use redgreen::process::Stop;
use redgreen_core::event::Commits;

use redgreen_core::names::Oid;

use super::repo::{Repo, branch, oid, run, shell, told, try_run, write};

struct Bench {
    repo: Repo,
    git: Git,
    source: Oid,
}

impl Bench {
    /// `main` with a second commit, and `source` with another commit on the same parent.
    fn new() -> Self {
        let repo = Repo::new();
        repo.git("checkout -q -b source");
        let source = repo.file("src/lib.txt", "better\n").file("new.txt", "new\n").commit("source");
        let source = oid(&source);
        repo.git("checkout -q main");
        repo.file("b.txt", "b\n").commit("second");
        let git = repo.open();
        Self { repo, git, source }
    }

    fn merge(&self) -> Merge {
        self.merge_into("main")
    }

    fn merge_into(&self, target: &str) -> Merge {
        let scratch = self.repo.place("scratch");
        let request = MergeRequest {
            target: &branch(target),
            source: &self.source,
            message: "merge it\n\nwith a body",
            commits: Commits::Merged,
            scratch: &scratch,
        };
        let merged = self.git.merge(request, &Stop::default()).unwrap();
        assert!(!scratch.exists() || fs::read_dir(&scratch).unwrap().next().is_none());
        merged
    }

    fn settle(&self) -> MergeState {
        self.git.settle_merge(&branch("main"), &self.source, &self.repo.place("scratch")).unwrap()
    }

    /// The merge is blocked by `culprit` with `words` in its output, and left no trace.
    fn check_blocked(&self, culprit: &str, words: &str) {
        let before = self.repo.everything();
        match self.merge() {
            Merge::Blocked { by, output } => {
                assert!(by.contains(culprit) && output.contains(words), "{by}: {output}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(self.repo.everything(), before);
        assert_eq!(self.settle(), MergeState::Untouched);
        assert_eq!(self.repo.everything(), before);
    }

    fn check_merged(&self, merged: Merge, target: &str, checkout: Option<&Path>) {
        let Merge::Merged { commit } = merged else { panic!("{merged:?}") };
        assert_eq!(self.repo.git(&format!("rev-parse {target}")), commit);
        assert_eq!(self.repo.git(&format!("rev-parse {target}^2")), self.source);
        assert_eq!(
            self.repo.git(&format!("log -1 --format=%s|%b {target}")),
            "merge it|with a body"
        );
        if let Some(checkout) = checkout {
            assert_eq!(fs::read_to_string(checkout.join("src/lib.txt")).unwrap(), "better\n");
        }
        assert_eq!(self.merge_into(target), Merge::AlreadyMerged);
    }
}

#[test]
fn a_clean_merge_keeps_uncommitted_work() {
    let bench = Bench::new();
    bench.repo.file("a.txt", "dirty\n").file("untracked.txt", "mine\n");
    let merged = bench.merge();
    bench.check_merged(merged, "main", Some(&bench.repo.root));
    assert_eq!(bench.repo.git("status --porcelain"), "M a.txt\n?? untracked.txt");
    assert!(matches!(bench.settle(), MergeState::Merged { .. }));
}

#[test]
fn the_users_hooks_run_and_may_only_complain_afterwards() {
    let bench = Bench::new();
    bench.repo.hook("pre-merge-commit", "touch hook-ran");
    bench.repo.hook("post-merge", "exit 1");
    let merged = bench.merge();
    assert!(bench.repo.root.join("hook-ran").exists());
    bench.check_merged(merged, "main", Some(&bench.repo.root));
}

#[test]
fn a_merge_that_could_be_a_fast_forward_is_a_merge() {
    let bench = Bench::new();
    bench.repo.git("config merge.ff only");
    bench.repo.git("reset -q --hard HEAD~1");
    let merged = bench.merge();
    bench.check_merged(merged, "main", Some(&bench.repo.root));
}

#[test]
fn conflicts_are_found_without_touching_anything() {
    let bench = Bench::new();
    bench.repo.file("src/lib.txt", "other\n").commit("conflict");
    let before = bench.repo.everything();
    assert_eq!(bench.merge(), Merge::Conflicts { paths: vec!["src/lib.txt".to_owned()] });
    assert_eq!(
        bench.git.merged_tree("main", &bench.source).unwrap(),
        Err(vec!["src/lib.txt".to_owned()])
    );
    assert_eq!(bench.repo.everything(), before);
    assert_eq!(bench.settle(), MergeState::Untouched);
}

#[test]
fn a_refusing_hook_leaves_everything_as_it_was() {
    for hook in ["pre-merge-commit", "commit-msg", "prepare-commit-msg"] {
        let bench = Bench::new();
        bench.repo.file("a.txt", "dirty\n").file("untracked.txt", "mine\n");
        bench.repo.hook(hook, "echo not today >&2; exit 1");
        bench.check_blocked("a hook", "not today");
    }
}

#[test]
fn a_failing_signature_leaves_everything_as_it_was() {
    let bench = Bench::new();
    bench.repo.file("a.txt", "dirty\n");
    bench.repo.git("config commit.gpgsign true");
    bench.repo.git("config gpg.program false");
    bench.check_blocked("signing", "failed to sign");
}

#[test]
fn uncommitted_work_in_the_way_is_not_touched() {
    let bench = Bench::new();
    bench.repo.git("config merge.autoStash true");
    bench.repo.file("src/lib.txt", "mine\n");
    bench.check_blocked("uncommitted changes", "src/lib.txt");
    bench.repo.file("src/lib.txt", "lib\n").file("new.txt", "mine\n");
    bench.check_blocked("uncommitted changes", "new.txt");
    fs::remove_file(bench.repo.root.join("new.txt")).unwrap();
    bench.repo.file("a.txt", "staged\n").git("add a.txt");
    bench.check_blocked("staged changes", "");
    bench.repo.git("reset -q --hard");
    bench.repo.file("later.txt", "later\n").git("add -N later.txt");
    bench.check_blocked("staged changes", "");
}

#[test]
fn a_merge_or_rebase_of_the_users_own_is_not_touched() {
    let bench = Bench::new();
    bench.repo.git("checkout -q -b other main~1");
    bench.repo.file("a.txt", "theirs\n").commit("other");
    bench.repo.git("checkout -q main");
    bench.repo.file("a.txt", "ours\n").commit("third");
    try_run(&bench.repo.root, &["merge", "other"]);
    bench.check_blocked("a merge in progress", "");
    bench.repo.git("merge --abort");
    try_run(&bench.repo.root, &["rebase", "other"]);
    bench.check_blocked("a rebase of main in progress", "");
}

#[test]
fn a_lock_of_another_git_is_named() {
    let bench = Bench::new();
    fs::write(bench.repo.root.join(".git/index.lock"), "").unwrap();
    bench.check_blocked("another git process", "index.lock");
}

#[test]
fn the_merge_happens_where_the_branch_is_checked_out() {
    let bench = Bench::new();
    let elsewhere = bench.repo.place("else where");
    bench.repo.git("branch -q release");
    run(&bench.repo.root, &["worktree", "add", "-q", elsewhere.to_str().unwrap(), "release"]);
    write(&elsewhere.join("a.txt"), "dirty\n");
    let before = super::repo::files(&bench.repo.root);
    let merged = bench.merge_into("release");
    bench.check_merged(merged, "release", Some(&elsewhere));
    assert_eq!(run(&elsewhere, &["status", "--porcelain"]), "M a.txt");
    assert_eq!(super::repo::files(&bench.repo.root), before);
}

#[test]
fn a_branch_that_is_checked_out_nowhere_is_merged_out_of_sight() {
    let bench = Bench::new();
    bench.repo.git("branch -q team/release");
    let before = super::repo::files(&bench.repo.root);
    bench.repo.hook("pre-merge-commit", "exit 1");
    assert!(matches!(bench.merge_into("team/release"), Merge::Blocked { .. }));
    bench.repo.hook("pre-merge-commit", "exit 0");
    let merged = bench.merge_into("team/release");
    bench.check_merged(merged, "team/release", None);
    assert_eq!(super::repo::files(&bench.repo.root), before);
    assert_eq!(bench.repo.git("worktree list").lines().count(), 1);
}

#[test]
fn a_branch_that_is_not_there_is_an_error() {
    let bench = Bench::new();
    let request = MergeRequest {
        target: &branch("nope"),
        source: &bench.source,
        message: "x",
        commits: Commits::Merged,
        scratch: Path::new("/nowhere"),
    };
    let error = bench.git.merge(request, &Stop::default()).err().unwrap();
    assert_eq!(error.to_string(), "there is no branch nope");
}

/// A killed merge is rolled back, and the user's work is unchanged.
fn check_killed(script: &str) {
    let bench = Bench::new();
    bench.repo.file("a.txt", "dirty\n").file("untracked.txt", "mine\n");
    let before = bench.repo.everything();
    bench.repo.hook("pre-merge-commit", script);
    try_run(&bench.repo.root, &["merge", "--no-ff", "-m", "x", &bench.source]);
    bench.repo.hook("pre-merge-commit", "true");
    assert_ne!(bench.repo.everything(), before, "{script}");
    assert_eq!(bench.settle(), MergeState::TakenBack, "{script}");
    assert_eq!(bench.repo.everything(), before, "{script}");
    assert_eq!(bench.settle(), MergeState::Untouched);
    let merged = bench.merge();
    bench.check_merged(merged, "main", Some(&bench.repo.root));
}

#[test]
fn a_killed_merge_is_taken_back() {
    check_killed("kill -9 $PPID");
    check_killed("exit 1");
}

#[test]
fn a_merge_that_cannot_write_a_file_leaves_everything_as_it_was() {
    let bench = Bench::new();
    bench.repo.git("checkout -q source");
    bench
        .repo
        .file(".gitattributes", "zz filter=no\n")
        .file("same.txt", "same\n")
        .file("zz", "z\n")
        .commit("more");
    bench.repo.git("checkout -q main");
    let bench = Bench { source: oid(&bench.repo.git("rev-parse source")), ..bench };
    // One of the user's files happens to equal what the merge would write.
    bench.repo.file("b.txt", "dirty\n").file("same.txt", "same\n");
    bench.repo.git("config filter.no.smudge false");
    bench.repo.git("config filter.no.required true");
    let before = bench.repo.everything();
    assert!(matches!(bench.merge(), Merge::Blocked { .. }));
    assert_eq!(bench.repo.everything(), before);
}

#[test]
fn a_merge_killed_among_its_files_is_taken_back() {
    let bench = Bench::new();
    bench.repo.git("checkout -q source");
    fs::remove_file(bench.repo.root.join("a.txt")).unwrap();
    bench.repo.file(".gitattributes", "zz filter=deadly\n").file("zz", "z\n").commit("more");
    bench.repo.git("checkout -q main");
    let bench = Bench { source: oid(&bench.repo.git("rev-parse source")), ..bench };
    bench.repo.file("b.txt", "dirty\n").file("untracked.txt", "mine\n");
    let before = bench.repo.everything();
    run(&bench.repo.root, &["config", "filter.deadly.smudge", "kill -9 $PPID"]);
    try_run(&bench.repo.root, &["merge", "--no-ff", "-m", "x", &bench.source]);
    bench.repo.git("config --remove-section filter.deadly");
    assert_ne!(bench.repo.everything(), before);
    let (what, next) =
        told(bench.git.settle_merge(&branch("main"), &bench.source, &bench.repo.place("scratch")));
    assert!(what.contains("incomplete") && next.contains("index.lock"), "{what}, {next}");
    fs::remove_file(bench.repo.root.join(".git/index.lock")).unwrap();
    assert_eq!(bench.settle(), MergeState::TakenBack);
    assert_eq!(bench.repo.everything(), before);
    assert_eq!(bench.settle(), MergeState::Untouched);
}

#[test]
fn a_checkout_that_a_crash_left_is_cleared_away() {
    let bench = Bench::new();
    bench.repo.git("branch -q release");
    let scratch = bench.repo.place("scratch");
    let left = scratch.join("merge-release");
    fs::create_dir(&scratch).unwrap();
    run(&bench.repo.root, &["worktree", "add", "-q", left.to_str().unwrap(), "release"]);
    shell(&left, "echo half >src/lib.txt");
    let settled = bench.git.settle_merge(&branch("release"), &bench.source, &scratch).unwrap();
    assert_eq!((settled, left.exists()), (MergeState::TakenBack, false));
    let merged = bench.merge_into("release");
    bench.check_merged(merged, "release", None);
}

/// A sparse checkout that contains only the top-level files. The merge changes, adds and deletes
/// files below, and touches two at the top.
fn sparse() -> Bench {
    sparse_with(&[("a.txt", "two\n"), ("new.txt", "new\n")])
}

fn sparse_with(top: &[(&str, &str)]) -> Bench {
    let bench = Bench::new();
    bench.repo.git("checkout -q main");
    bench.repo.file("src/old.txt", "old\n").commit("third");
    bench.repo.git("checkout -q source");
    bench.repo.git("merge -q --no-edit main");
    fs::remove_file(bench.repo.root.join("src/old.txt")).unwrap();
    fs::remove_file(bench.repo.root.join("new.txt")).unwrap();
    for (path, text) in top {
        bench.repo.file(path, text);
    }
    bench.repo.file("src/more.txt", "more\n").commit("more");
    bench.repo.git("checkout -q main");
    let bench = Bench { source: oid(&bench.repo.git("rev-parse source")), ..bench };
    bench.repo.git("sparse-checkout set --cone");
    bench.repo.file("b.txt", "dirty\n").file("untracked.txt", "mine\n");
    assert!(!bench.repo.root.join("src").exists());
    bench
}

#[test]
fn a_sparse_checkout_stays_sparse_when_a_merge_is_taken_back() {
    check_sparse(&sparse());
    check_sparse(&sparse_with(&[]));
}

fn check_sparse(bench: &Bench) {
    assert_eq!(bench.settle(), MergeState::Untouched);
    bench.repo.hook("pre-merge-commit", "echo not today >&2; exit 1");
    bench.check_blocked("a hook", "not today");
    let before = bench.repo.everything();
    bench.repo.hook("pre-merge-commit", "kill -9 $PPID");
    try_run(&bench.repo.root, &["merge", "--no-ff", "-m", "x", &bench.source]);
    assert_ne!(bench.repo.everything(), before);
    assert_eq!(bench.settle(), MergeState::TakenBack);
    assert_eq!(bench.repo.everything(), before);
}

#[test]
fn a_sparse_checkout_stays_sparse_when_a_merge_is_killed_among_its_files() {
    let bench = sparse();
    let before = bench.repo.everything();
    // The files at the top: git has written these if it dies before it writes the index.
    bench.repo.file("a.txt", "two\n").file("new.txt", "new\n");
    assert_eq!(bench.settle(), MergeState::TakenBack);
    assert_eq!(bench.repo.everything(), before);
    assert_eq!(bench.settle(), MergeState::Untouched);
}

#[test]
fn a_merge_into_a_sparse_checkout_writes_only_what_belongs_there() {
    let bench = sparse();
    let merged = bench.merge();
    bench.check_merged(merged, "main", None);
    assert!(!bench.repo.root.join("src").exists());
    assert_eq!(fs::read_to_string(bench.repo.root.join("a.txt")).unwrap(), "two\n");
    assert_eq!(bench.repo.git("status --porcelain"), "M b.txt\n?? untracked.txt");
}
