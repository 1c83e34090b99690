//! Snapshots contain what is on disk, and a restore produces exactly the requested files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use redgreen::git::{Git, Worktree};

use redgreen_core::names::{Oid, RunId, SalvageName};

use super::repo::{Repo, branch, files, oid, run, shell, write};

fn run_id() -> RunId {
    RunId::parse("20261115-224849-k3x9").unwrap()
}

struct Bench {
    repo: Repo,
    git: Git,
    worktree: Worktree,
    base: Oid,
}

impl Bench {
    fn new() -> Self {
        let repo = Repo::new();
        let (git, worktree) = (repo.open(), repo.worktree());
        let base = git.tree_of("main").unwrap();
        Self { repo, git, worktree, base }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.worktree.path.join(name)
    }

    fn snapshot(&self) -> Oid {
        let taken = self.git.snapshot(&self.worktree, &self.base).unwrap();
        assert_eq!(taken.nested, Vec::<PathBuf>::new());
        taken.tree
    }

    /// After the script ran in the worktree, the snapshot contains exactly these files, and a
    /// restore undoes the script.
    fn check(&self, script: &str, expected: &[(&str, &str)]) {
        shell(&self.worktree.path, script);
        let tree = self.snapshot();
        assert_eq!(self.content(&tree), map(expected), "{script}");
        let before = files(&self.repo.root);
        self.restore_and_compare();
        assert_eq!(files(&self.repo.root), before);
        self.git.restore(&self.worktree, &self.git.mark("main").unwrap(), &tree).unwrap();
        assert_eq!(self.snapshot(), tree, "back again: {script}");
        self.restore_and_compare();
    }

    fn restore_and_compare(&self) {
        self.git.restore(&self.worktree, &self.git.mark("main").unwrap(), &self.base).unwrap();
        let ignored = |name: &str| name.starts_with("target/") || name.contains("__pycache__");
        let found: BTreeMap<_, _> =
            files(&self.worktree.path).into_iter().filter(|(name, _)| !ignored(name)).collect();
        assert_eq!(found, map(&[("a.txt", "one\n"), ("src/lib.txt", "lib\n")]));
        assert_eq!(
            run(&self.worktree.path, &["rev-parse", "HEAD"]),
            self.git.head().unwrap().commit
        );
        assert_eq!(run(&self.worktree.path, &["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
        let status = run(
            &self.worktree.path,
            &["-c", "core.excludesFile=/dev/null", "status", "--porcelain", "-uno"],
        );
        assert_eq!(status, "");
    }

    fn content(&self, tree: &str) -> BTreeMap<String, Vec<u8>> {
        let names = run(&self.repo.root, &["ls-tree", "-r", "-z", "--name-only", tree]);
        let names = names.split('\0').filter(|name| !name.is_empty());
        names
            .map(|name| (name.to_owned(), self.git.read_file(tree, name).unwrap().unwrap()))
            .collect()
    }
}

fn map(rows: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    rows.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

const A: (&str, &str) = ("a.txt", "one\n");
const LIB: (&str, &str) = ("src/lib.txt", "lib\n");
const TWO: (&str, &str) = ("a.txt", "two\n");
const NEW: (&str, &str) = ("new.txt", "new\n");

#[test]
fn edits_additions_and_deletions_are_seen() {
    let bench = Bench::new();
    bench.check("true", &[A, LIB]);
    bench.check("echo two >a.txt; echo new >new.txt", &[TWO, LIB, NEW]);
    bench.check("rm -r src", &[A]);
    bench.check(
        "mkdir -p 'd e'; echo x >'d e/q\"\n'; echo x >ä",
        &[A, LIB, ("d e/q\"\n", "x\n"), ("ä", "x\n")],
    );
}

#[test]
fn a_file_may_become_a_folder_and_a_folder_a_file() {
    let bench = Bench::new();
    bench.check("rm a.txt; mkdir a.txt; echo x >a.txt/in", &[LIB, ("a.txt/in", "x\n")]);
    bench.check("rm a.txt; mkdir a.txt", &[LIB]);
    bench.check("rm -r src; echo x >src", &[A, ("src", "x\n")]);
}

#[test]
fn what_the_agent_does_with_git_makes_no_difference() {
    let bench = Bench::new();
    let change = "echo two >a.txt; echo new >new.txt";
    let identity = "-c user.name=x -c user.email=x";
    for trick in [
        &format!("git add -A; git {identity} commit -qm mine"),
        "git add -A; git stash -q 2>/dev/null; git stash pop -q; git reset -q",
        "git update-index --assume-unchanged a.txt",
        "git update-index --skip-worktree a.txt",
        "git add -N new.txt",
        "git rm -q --cached a.txt",
        "git checkout -q -B other",
        "rm .git",
        "echo broken >.git",
        "rm .git; git init -q; git add -A",
        "touch \"$(git rev-parse --git-dir)/index.lock\"",
        "echo junk >\"$(git rev-parse --git-dir)/index\"",
        "echo junk >\"$(git rev-parse --git-dir)/HEAD\"",
        "echo new.txt >>\"$(git rev-parse --git-common-dir)/info/exclude\"",
    ] {
        bench.check(&format!("{change}; {trick}"), &[TWO, LIB, NEW]);
    }
    assert_eq!(bench.git.head().unwrap().branch.as_deref(), Some("main"));
}

#[test]
fn a_reset_by_the_agent_is_a_change_like_any_other() {
    let bench = Bench::new();
    bench.repo.file("b.txt", "b\n").commit("second");
    let base = bench.git.tree_of("main").unwrap();
    bench.git.restore(&bench.worktree, &bench.git.mark("main").unwrap(), &base).unwrap();
    shell(&bench.worktree.path, "git reset -q --hard HEAD~1");
    let taken = bench.git.snapshot(&bench.worktree, &base).unwrap();
    assert_eq!(bench.content(&taken.tree), map(&[A, LIB]));
}

#[test]
fn equal_size_and_time_do_not_hide_an_edit() {
    let bench = Bench::new();
    bench.snapshot();
    bench.check("touch -r a.txt ../stamp; echo two >a.txt; touch -r ../stamp a.txt", &[TWO, LIB]);
}

#[test]
fn litter_does_not_count_and_stays() {
    let bench = Bench::new();
    bench.check(
        "mkdir -p target __pycache__ src/__pycache__; echo x | tee target/x __pycache__/x src/__pycache__/x >/dev/null",
        &[A, LIB],
    );
    assert!(bench.path("target/x").exists() && bench.path("src/__pycache__/x").exists());
    // A file in the base counts, even if ignore patterns match it.
    write(&bench.repo.root.join("target/kept"), "kept\n");
    bench.repo.git("add -f target/kept");
    bench.repo.commit("kept");
    let base = bench.git.tree_of("main").unwrap();
    bench.git.restore(&bench.worktree, &bench.git.mark("main").unwrap(), &base).unwrap();
    write(&bench.path("target/kept"), "changed\n");
    let taken = bench.git.snapshot(&bench.worktree, &base).unwrap();
    assert_eq!(bench.content(&taken.tree), map(&[A, LIB, ("target/kept", "changed\n")]));
}

#[test]
fn the_users_own_ignore_rules_hold() {
    let repo = Repo::new();
    write(&repo.root.join(".git/info/exclude"), "*.local\n");
    write(&repo.place("global"), "*.swp\n");
    repo.git(&format!("config core.excludesFile {}", repo.place("global").display()));
    let worktree = repo.worktree();
    let git = repo.open();
    let base = git.tree_of("main").unwrap();
    shell(&worktree.path, "touch x.local x.swp; mkdir d; echo in >d/.gitignore; touch d/in");
    let taken = git.snapshot(&worktree, &base).unwrap();
    assert_eq!(run(&repo.root, &["diff", "--name-only", &base, &taken.tree]), "d/.gitignore");
}

#[test]
fn a_nested_repository_is_reported_and_removed() {
    let bench = Bench::new();
    shell(&bench.worktree.path, "mkdir nested; git -C nested init -q; echo x >nested/x");
    let taken = bench.git.snapshot(&bench.worktree, &bench.base).unwrap();
    assert_eq!((taken.tree, taken.nested), (bench.base.clone(), vec![PathBuf::from("nested")]));
    bench.restore_and_compare();
    // Inside a tracked folder, the files of a nested repository count like any others.
    bench.check(
        "git -C src init -q; echo new >src/new.txt; rm -rf src/.git",
        &[A, LIB, ("src/new.txt", "new\n")],
    );
}

#[test]
fn links_are_never_followed_out_of_the_folder() {
    let bench = Bench::new();
    let outside = bench.repo.place("outside");
    write(&outside.join("lib.txt"), "precious\n");
    write(&outside.join("more"), "precious\n");
    fs::remove_dir_all(bench.path("src")).unwrap();
    symlink(&outside, bench.path("src")).unwrap();
    symlink(&outside, bench.path("link")).unwrap();
    let tree = bench.snapshot();
    let to = outside.to_str().unwrap();
    assert_eq!(bench.content(&tree), map(&[A, ("src", to), ("link", to)]));
    bench.restore_and_compare();
    assert_eq!(files(&outside), map(&[("lib.txt", "precious\n"), ("more", "precious\n")]));
}

#[test]
fn a_tracked_folder_behind_an_ignored_link_is_seen_as_gone() {
    let bench = Bench::new();
    write(&bench.repo.root.join("target/kept"), "kept\n");
    bench.repo.git("add -f target/kept");
    bench.repo.commit("kept");
    let base = bench.git.tree_of("main").unwrap();
    bench.git.restore(&bench.worktree, &bench.git.mark("main").unwrap(), &base).unwrap();
    let outside = bench.repo.place("outside");
    fs::rename(bench.path("target"), &outside).unwrap();
    symlink(&outside, bench.path("target")).unwrap();
    let taken = bench.git.snapshot(&bench.worktree, &base).unwrap();
    assert!(!bench.content(&taken.tree).contains_key("target/kept"));
    bench.git.restore(&bench.worktree, &bench.git.mark("main").unwrap(), &base).unwrap();
    assert_eq!(files(&outside), map(&[("kept", "kept\n")]));
}

#[test]
fn a_damaged_private_index_costs_nothing_but_time() {
    let bench = Bench::new();
    bench.snapshot();
    fs::write(bench.worktree.private.join("index"), "junk").unwrap();
    bench.check("echo two >a.txt", &[TWO, LIB]);
    // Only the checksum at the end of the index, which identifies it, is intact.
    let index = bench.worktree.private.join("index");
    let mut bytes = fs::read(&index).unwrap();
    bytes[..12].fill(0);
    fs::write(&index, bytes).unwrap();
    bench.check("echo two >a.txt", &[TWO, LIB]);
}

#[test]
fn a_lock_that_a_crash_left_is_not_in_the_way() {
    let bench = Bench::new();
    bench.snapshot();
    fs::write(bench.worktree.private.join("index.lock"), "").unwrap();
    bench.check("echo two >a.txt", &[TWO, LIB]);
}

#[test]
fn what_is_known_of_one_tree_is_not_taken_for_another() {
    let bench = Bench::new();
    shell(&bench.worktree.path, "echo two >a.txt");
    let two = bench.snapshot();
    // Nothing has changed since the last tree. A file has changed since the first one, and is
    // detected again.
    assert_eq!(bench.git.snapshot(&bench.worktree, &two).unwrap().tree, two);
    assert_eq!(bench.snapshot(), two);
    // A file that only the last tree has, and that is ignored now, counts relative to the last tree
    // but not to the first.
    shell(&bench.worktree.path, "echo n >note.tmp");
    let noted = bench.snapshot();
    shell(&bench.worktree.path, "echo '*.tmp' >.gitignore");
    let names = |tree: &str| bench.content(tree).into_keys().collect::<Vec<_>>();
    let from_noted = bench.git.snapshot(&bench.worktree, &noted).unwrap().tree;
    assert_eq!(names(&from_noted), [".gitignore", "a.txt", "note.tmp", "src/lib.txt"]);
    assert_eq!(names(&bench.snapshot()), [".gitignore", "a.txt", "src/lib.txt"]);
}

#[test]
fn a_folder_that_is_gone_is_named() {
    let bench = Bench::new();
    fs::remove_dir_all(&bench.worktree.path).unwrap();
    let error = format!("{:#}", bench.git.snapshot(&bench.worktree, &bench.base).err().unwrap());
    assert!(error.contains("take a snapshot of") && error.contains("is gone"), "{error}");
}

#[test]
fn a_commit_follows_from_its_arguments() {
    let bench = Bench::new();
    let commit =
        || bench.git.commit_tree(&bench.base, &["main"], "subject\n\nbody ä\n", 12).unwrap();
    let first = commit();
    bench.repo.git("config commit.gpgsign true");
    bench.repo.git("config i18n.commitEncoding latin1");
    assert_eq!(commit(), first);
    let shown = bench.repo.git(&format!("log -1 --format=%an|%ae|%at|%cn|%ct|%s {first}"));
    assert_eq!(shown, "Ada|ada@example.com|12|Ada|12|subject");
    run(&bench.repo.root, &["config", "user.name", ""]);
    assert!(bench.git.commit_tree(&bench.base, &[], "x", 12).is_err());
}

#[test]
fn salvaged_work_comes_back_on_a_branch() {
    let bench = Bench::new();
    let head = bench.git.head().unwrap().commit;
    write(&bench.path("new.txt"), "new\n");
    let tree = bench.snapshot();
    let first = bench.git.salvage(&run_id(), "Gave up: no test!", &tree, &head).unwrap();
    let second = bench.git.salvage(&run_id(), "", &bench.base, &head).unwrap();
    assert_eq!(
        (first.as_str(), second.as_str()),
        ("20261115-224849-k3x9/1-gave-up-no-test", "20261115-224849-k3x9/2-work")
    );
    let all = bench.git.salvages().unwrap();
    let rows: Vec<_> =
        all.iter().map(|one| (one.name.as_str(), one.why.as_str(), one.subject.as_str())).collect();
    assert_eq!(
        rows,
        [
            ("20261115-224849-k3x9/2-work", "work", "salvaged from 20261115-224849-k3x9: work"),
            (&first, "gave-up-no-test", "salvaged from 20261115-224849-k3x9: Gave up: no test!")
        ]
    );
    let before = files(&bench.repo.root);
    bench.git.salvage_to_branch(&first, &branch("saved/work")).unwrap();
    assert_eq!(bench.git.tree_of("saved/work").unwrap(), tree);
    assert_eq!(files(&bench.repo.root), before);
    assert!(bench.git.salvage_to_branch(&second, &branch("saved/work")).is_err());
    assert!(
        bench
            .git
            .salvage_to_branch(
                &SalvageName::parse("20261115-224849-k3x9/9-x").unwrap(),
                &branch("other")
            )
            .is_err()
    );
    bench.git.salvage_drop(&first).unwrap();
    assert_eq!(bench.git.salvages().unwrap().len(), 1);
}

#[test]
#[expect(clippy::print_stderr, reason = "shows what it measured")]
#[ignore = "measures: cargo test -- --ignored --nocapture phase_cost"]
fn a_phase_costs_little() {
    const FILES: usize = 2_000;
    const ROUNDS: u32 = 20;
    let bench = Bench::new();
    for number in 0..FILES {
        bench.repo.file(&format!("many/{}/{number}.txt", number % 50), &format!("{number}\n"));
    }
    let head = bench.repo.commit("many");
    let base = bench.git.tree_of("main").unwrap();
    bench.git.restore(&bench.worktree, &bench.git.mark(&head).unwrap(), &base).unwrap();
    let time = |what: &str, act: &mut dyn FnMut(u32)| {
        let started = std::time::Instant::now();
        (0..ROUNDS).for_each(&mut *act);
        eprintln!("{what}: {:?}", started.elapsed() / ROUNDS);
    };
    let snapshot = || bench.git.snapshot(&bench.worktree, &base).unwrap().tree;
    // Git rereads files that are as old as its index, so wait until they are older.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    snapshot();
    time("snapshot of 2000 files, one changed", &mut |round| {
        write(&bench.path("a.txt"), &format!("{round}\n"));
        snapshot();
    });
    let tree = snapshot();
    time("commit", &mut |round| {
        bench.git.commit_tree(&tree, &[&head], "x", i64::from(round)).unwrap();
    });
    time("note", &mut |round| {
        bench.git.notes().write(&head, &format!("{round}")).unwrap();
    });
    time("salvage", &mut |_| {
        bench.git.salvage(&run_id(), "w", &tree, &oid(&head)).unwrap();
    });
    time("restore", &mut |round| {
        write(&bench.path("a.txt"), &format!("{round}\n"));
        bench.git.restore(&bench.worktree, &bench.git.mark(&head).unwrap(), &base).unwrap();
    });
    time("open", &mut |_| {
        bench.repo.open();
    });
}
