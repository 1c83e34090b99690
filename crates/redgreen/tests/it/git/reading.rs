//! Finding and reading a repository changes nothing.

use std::fs;

use redgreen::git::{Dirty, Git, Status};

use redgreen_core::names::RunId;

use super::repo::{Repo, oid, run, told};

/// The error contains `words` and suggests a command that contains `next`.
fn check<T>(result: anyhow::Result<T>, words: &str, next: &str) {
    let (what, command) = told(result);
    assert!(what.contains(words), "{what}");
    assert!(command.contains(next), "{command}");
}

#[test]
fn a_folder_without_a_repository_says_how_to_make_one() {
    let folder = tempfile::tempdir().unwrap();
    check(Git::open(folder.path()), "is not in a git repository", "git init");
    check(Git::open(&folder.path().join("nowhere")), "there is no folder", "");
}

#[test]
fn a_bare_repository_and_a_git_folder_are_no_checkouts() {
    let repo = Repo::new();
    let bare = repo.place("bare.git");
    repo.git(&format!("clone -q --bare . {}", bare.display()));
    check(Git::open(&bare), "is a bare repository", "git worktree add");
    check(Git::open(&repo.root.join(".git")), "inside a git folder", "cd ..");
}

#[test]
fn a_checkout_is_found_from_below_and_in_a_linked_worktree() {
    let repo = Repo::new();
    let git = Git::open(&repo.root.join("src")).unwrap();
    assert_eq!((&git.root, git.common_dir), (&repo.root, repo.root.join(".git")));
    let linked = repo.place("a\nbreak").join("linked");
    run(&repo.root, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    let git = Git::open(&linked).unwrap();
    assert_eq!((git.root, git.common_dir), (linked, repo.root.join(".git")));
    assert!(!repo.open().is_shallow());
}

#[test]
fn a_shallow_clone_is_recognised() {
    let repo = Repo::new();
    repo.file("b", "").commit("second");
    let (from, to) = (format!("file://{}", repo.root.display()), repo.place("shallow"));
    run(&repo.root, &["clone", "-q", "--depth", "1", &from, to.to_str().unwrap()]);
    assert!(Git::open(&to).unwrap().is_shallow());
}

#[test]
fn head_is_a_branch_a_commit_or_nothing_yet() {
    let repo = Repo::empty();
    check(repo.open().head(), "no commit yet", "--allow-empty");
    let first = repo.file("a", "1").commit("first");
    let head = repo.open().head().unwrap();
    assert_eq!((head.commit, head.branch.as_deref()), (oid(&first), Some("main")));
    repo.git("checkout -q --detach");
    assert_eq!(repo.open().head().unwrap().branch, None);
}

#[test]
fn who_commits_is_known_or_asked_for() {
    let repo = Repo::new();
    assert_eq!(repo.open().identity().unwrap(), "Ada <ada@example.com>");
    run(&repo.root, &["config", "user.name", ""]);
    check(repo.open().identity(), "no user name and email", "git config user.name");
}

#[test]
fn names_resolve_to_commits_or_to_nothing() {
    let repo = Repo::new();
    let git = repo.open();
    let head = git.head().unwrap().commit;
    assert_eq!(git.resolve("main").unwrap().as_deref(), Some(head.as_str()));
    assert_eq!(git.resolve("nope").unwrap(), None);
    assert_eq!(git.resolve("--all").unwrap(), None);
    assert!(git.branch_exists("main").unwrap());
    assert!(!git.branch_exists("mai").unwrap());
    assert_eq!(git.tree_of("main").unwrap(), repo.git("rev-parse main^{tree}"));
}

const ODD_NAMES: &[&str] =
    &["with space", "quo\"te'", "new\nline", "häß/lich", "*", ":(top)x", "-dash", "tab\t"];

#[test]
fn odd_names_are_read_and_compared_as_they_are() {
    let repo = Repo::new();
    for name in ODD_NAMES {
        repo.file(name, name);
    }
    repo.commit("odd");
    let git = repo.open();
    let mut changed: Vec<String> =
        git.diff("main~1", "main").unwrap().into_iter().map(|one| one.path).collect();
    let mut counted: Vec<String> =
        git.diff_stat("main~1", "main").unwrap().into_iter().map(|one| one.path).collect();
    let mut names = ODD_NAMES.to_vec();
    names.sort_unstable();
    changed.sort_unstable();
    counted.sort_unstable();
    assert_eq!(changed, names);
    assert_eq!(counted, names);
    for name in ODD_NAMES {
        assert_eq!(git.read_file("main", name).unwrap().unwrap(), name.as_bytes());
    }
    assert_eq!(git.read_file("main", "no\nsuch").unwrap(), None);
    assert_eq!(git.read_file("main", "src").unwrap(), None);
}

#[test]
fn a_difference_tells_kinds_and_modes() {
    let repo = Repo::new();
    repo.file("b.txt", "b\n").file("c.txt", "c\n").commit("more");
    fs::remove_file(repo.root.join("b.txt")).unwrap();
    fs::remove_file(repo.root.join("c.txt")).unwrap();
    std::os::unix::fs::symlink("a.txt", repo.root.join("c.txt")).unwrap();
    repo.file("a.txt", "two\n").file("d.txt", "d\n").commit("change");
    let git = repo.open();
    let rows: Vec<_> = git
        .diff("main~1", "main")
        .unwrap()
        .into_iter()
        .map(|one| (one.path, one.status, one.old_mode, one.new_mode))
        .collect();
    let row = |path: &str, status, old, new| (path.to_owned(), status, old, new);
    assert_eq!(
        rows,
        [
            row("a.txt", Status::Modified, 100_644, 100_644),
            row("b.txt", Status::Deleted, 100_644, 0),
            row("c.txt", Status::TypeChanged, 100_644, 120_000),
            row("d.txt", Status::Added, 0, 100_644),
        ]
    );
    let shown = git.diff_text("main~1", "main", 1 << 20).unwrap();
    assert!(shown.text.contains("-one\n+two\n") && !shown.cut, "{}", shown.text);
    assert!(git.diff_text("main~1", "main", 100).unwrap().cut);
    assert!(git.diff("main", "nope").is_err());
}

#[test]
fn reading_leaves_the_index_byte_for_byte() {
    let repo = Repo::new();
    repo.file("a.txt", "changed\n").file("new.txt", "").file("staged.txt", "");
    repo.git("add staged.txt");
    // A file with a new timestamp but the same content tempts git to refresh the index.
    fs::write(repo.root.join("src/lib.txt"), "lib\n").unwrap();
    let index = || fs::read(repo.root.join(".git/index")).unwrap();
    let before = index();
    let git = repo.open();
    assert_eq!(git.dirty_count().unwrap(), Dirty { staged: 1, unstaged: 1, untracked: 1 });
    git.head().unwrap();
    git.identity().unwrap();
    git.submodules().unwrap();
    git.worktree_list().unwrap();
    git.salvages().unwrap();
    git.notes().all().unwrap();
    git.notes().health().unwrap();
    git.notes().recent(5, &["main"]).unwrap();
    git.diff("main", "main").unwrap();
    git.merged_tree("main", "main").unwrap().unwrap();
    let worktree = repo.worktree();
    git.snapshot(&worktree, &git.tree_of("main").unwrap()).unwrap();
    assert_eq!(index(), before);
}

#[test]
fn a_lock_in_the_way_comes_with_a_hint() {
    let repo = Repo::new();
    let git = repo.open();
    let head = git.head().unwrap().commit;
    fs::create_dir_all(repo.root.join(".git/refs/redgreen/salvage/20261115-224849-k3x9")).unwrap();
    fs::write(repo.root.join(".git/refs/redgreen/salvage/20261115-224849-k3x9/1-why.lock"), "")
        .unwrap();
    check(
        git.salvage(
            &RunId::parse("20261115-224849-k3x9").unwrap(),
            "why",
            &git.tree_of(&head).unwrap(),
            &head,
        ),
        "File exists",
        "rm -f",
    );
}
