//! redgreen's worktrees: created without a branch, filled offline, and removed in every state.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use redgreen::git::Worktree;

use redgreen_core::names::Oid;

use super::repo::{Repo, oid, run, shell, write};

#[test]
fn a_worktree_is_on_no_branch_and_runs_no_hook() {
    let repo = Repo::new();
    repo.hook("post-checkout", "touch \"$(git rev-parse --git-common-dir)/hook-ran\"");
    let before = repo.git("for-each-ref");
    let worktree = repo.worktree();
    assert_eq!(run(&worktree.path, &["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
    assert!(!repo.root.join(".git/hook-ran").exists());
    shell(&worktree.path, "git -c user.name=x -c user.email=x commit -q --allow-empty -m mine");
    assert_eq!(repo.git("for-each-ref"), before);
    let listed = repo.open().worktree_list().unwrap();
    let rows: Vec<_> =
        listed.iter().map(|one| (&one.path, one.branch.as_deref(), one.gone)).collect();
    assert_eq!(rows, [(&repo.root, Some("main"), false), (&worktree.path, None, false)]);
}

/// After the script, the worktree can be removed twice and created again.
fn check_removal(script: &str) {
    let repo = Repo::new();
    let before = repo.everything();
    let worktree = repo.worktree();
    shell(&worktree.path, script);
    let git = repo.open();
    git.worktree_remove(&worktree.path).unwrap();
    git.worktree_remove(&worktree.path).unwrap();
    assert!(!worktree.path.exists(), "{script}");
    assert_eq!(repo.everything(), before, "{script}");
    repo.worktree();
}

#[test]
fn a_worktree_is_removed_whatever_became_of_it() {
    for script in [
        "true",
        "echo x >new; echo x >a.txt",
        "rm .git",
        "mkdir -p d/e; touch d/e/f; chmod 444 d/e/f; chmod 555 d/e d",
        "git worktree lock .",
        "rm -rf \"$PWD\"",
        "ln -s ../'re po' link",
    ] {
        check_removal(script);
    }
}

#[test]
fn other_worktrees_are_left_alone() {
    let repo = Repo::new();
    let theirs = repo.place("theirs");
    run(&repo.root, &["worktree", "add", "-q", theirs.to_str().unwrap()]);
    fs::remove_dir_all(&theirs).unwrap();
    let git = repo.open();
    git.worktree_remove(&repo.worktree().path).unwrap();
    let listed = git.worktree_list().unwrap();
    assert_eq!(listed.iter().map(|one| one.gone).collect::<Vec<_>>(), [false, true]);
    assert!(git.worktree_remove(&repo.root).is_err());
    assert!(repo.root.join("a.txt").exists());
}

#[test]
fn a_worktree_that_cannot_be_made_leaves_nothing() {
    let repo = Repo::new();
    let before = repo.everything();
    let worktree = Worktree { path: repo.place("w"), private: repo.place("p"), litter: Vec::new() };
    let error =
        format!("{:#}", repo.open().worktree_add(&worktree, &Oid::default()).err().unwrap());
    assert!(
        error.starts_with("add worktree ") && error.contains("invalid reference: 000"),
        "{error}"
    );
    assert!(!worktree.path.exists());
    // A filter that fails half-way simulates a full disk.
    repo.git("config filter.no.smudge false");
    repo.git("config filter.no.required true");
    write(&repo.root.join(".git/info/attributes"), "src/* filter=no\n");
    assert!(repo.open().worktree_add(&worktree, &oid(&repo.git("rev-parse main"))).is_err());
    assert!(!worktree.path.exists());
    repo.git("config --remove-section filter.no");
    assert_eq!(repo.everything().get("(worktrees)"), before.get("(worktrees)"));
}

#[test]
fn a_git_folder_that_cannot_be_written_says_so() {
    let repo = Repo::new();
    let refs = repo.root.join(".git/worktrees");
    // A file in place of a folder acts like a read-only folder, but works for root, too.
    fs::write(&refs, "").unwrap();
    let worktree = Worktree { path: repo.place("w"), private: repo.place("p"), litter: Vec::new() };
    let error = format!(
        "{:#}",
        repo.open().worktree_add(&worktree, &oid(&repo.git("rev-parse main"))).err().unwrap()
    );
    assert!(error.contains("add worktree") && error.contains("worktrees"), "{error}");
    assert!(!worktree.path.exists());
}

#[test]
fn submodules_are_filled_offline_and_the_configuration_stays() {
    let library = Repo::new();
    let repo = Repo::new();
    let url = library.root.to_str().unwrap();
    run(
        &repo.root,
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            "--name",
            "the lib",
            url,
            "libs/one",
        ],
    );
    repo.commit("submodule");
    // The submodule's source is gone, as if the network were down.
    let gone = library.place("gone");
    fs::rename(&library.root, &gone).unwrap();
    let before = repo.everything();
    let worktree = repo.worktree();
    assert_eq!(fs::read_to_string(worktree.path.join("libs/one/a.txt")).unwrap(), "one\n");
    let git = repo.open();
    let base = git.tree_of("main").unwrap();
    let taken = git.snapshot(&worktree, &base).unwrap();
    assert_eq!((taken.tree, taken.nested.len()), (base.clone(), 0));
    git.restore(&worktree, &git.mark("main").unwrap(), &base).unwrap();
    assert!(worktree.path.join("libs/one/a.txt").exists());
    git.worktree_remove(&worktree.path).unwrap();
    assert_eq!(repo.everything(), before);
    let found = git.submodules().unwrap();
    assert_eq!(
        found.iter().map(|one| (one.name.as_str(), one.path.as_str())).collect::<Vec<_>>(),
        [("the lib", "libs/one")]
    );
    // Without the local copy, the user gets a notice, not an error.
    let store = found[0].store.clone().unwrap();
    fs::remove_dir_all(store.join("objects")).unwrap();
    let notices = git.worktree_add(&worktree, &oid(&repo.git("rev-parse main"))).unwrap();
    assert!(notices[0].contains("submodule libs/one is empty"), "{notices:?}");
}

#[test]
fn a_removed_folder_may_be_read_only() {
    let repo = Repo::new();
    let worktree = repo.worktree();
    let folder = worktree.path.join("src");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    repo.open().worktree_remove(&worktree.path).unwrap();
    assert!(!worktree.path.exists());
}
