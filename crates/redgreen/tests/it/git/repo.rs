//! A repository in a temporary folder, with configuration that overrides the user's.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use redgreen::failure::Failure;
use redgreen::git::{Git, Worktree};
use redgreen_core::names::{Branch, Oid};

pub(crate) struct Repo {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
}

impl Repo {
    /// One commit on `main`: `a.txt` contains `one`, `src/lib.txt` contains `lib`.
    pub(crate) fn new() -> Self {
        let repo = Self::empty();
        repo.file("a.txt", "one\n").file("src/lib.txt", "lib\n").commit("first");
        repo
    }

    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The temporary folder may be behind a symbolic link, and git prints real paths.
        let root = folder.path().canonicalize().unwrap().join("re po");
        fs::create_dir(&root).unwrap();
        let repo = Self { folder, root };
        repo.git("init -q -b main");
        for setting in ["user.name Ada", "user.email ada@example.com", "commit.gpgsign false"] {
            repo.git(&format!("config {setting}"));
        }
        let hooks = repo.root.join(".git/hooks");
        run(&repo.root, &["config", "core.hooksPath", hooks.to_str().unwrap()]);
        repo
    }

    pub(crate) fn open(&self) -> Git {
        Git::open(&self.root).unwrap()
    }

    pub(crate) fn file(&self, path: &str, text: &str) -> &Self {
        write(&self.root.join(path), text);
        self
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git("add -A");
        run(&self.root, &["commit", "-q", "-m", message]);
        self.git("rev-parse HEAD")
    }

    /// Arguments are split at spaces.
    pub(crate) fn git(&self, line: &str) -> String {
        run(&self.root, &line.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn hook(&self, name: &str, script: &str) {
        let hook = self.root.join(".git/hooks").join(name);
        write(&hook, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn worktree(&self) -> Worktree {
        let worktree = Worktree {
            path: self.place("work tree"),
            private: self.place("private"),
            litter: vec!["__pycache__/".to_owned(), "/target/".to_owned()],
        };
        let notices =
            self.open().worktree_add(&worktree, &oid(&self.git("rev-parse HEAD"))).unwrap();
        assert_eq!(notices, Vec::<String>::new());
        worktree
    }

    /// Everything a user could notice: the files, the index, the refs, the configuration.
    pub(crate) fn everything(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = files(&self.root);
        let mut add = |name: &str, text: String| all.insert(name.to_owned(), text.into_bytes());
        add("(index)", self.git("ls-files -s -v"));
        add("(refs)", self.git("for-each-ref"));
        add("(head)", fs::read_to_string(self.root.join(".git/HEAD")).unwrap());
        add("(config)", fs::read_to_string(self.root.join(".git/config")).unwrap());
        add("(merge)", format!("{}", self.root.join(".git/MERGE_HEAD").exists()));
        add("(worktrees)", self.git("worktree list"));
        all
    }
}

/// All files under a folder except `.git`. A link is represented by its target.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            let kind = entry.file_type().unwrap();
            if entry.file_name() == ".git" {
            } else if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_symlink() {
                let to = fs::read_link(entry.path()).unwrap();
                found.insert(name, format!("-> {}", to.display()).into_bytes());
            } else {
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

pub(crate) fn oid(id: &str) -> Oid {
    Oid::parse(id).unwrap()
}

pub(crate) fn branch(name: &str) -> Branch {
    Branch::parse(name).unwrap()
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn run(folder: &Path, args: &[&str]) -> String {
    let (success, words) = try_run(folder, args);
    assert!(success, "git {args:?}: {words}");
    words
}

pub(crate) fn try_run(folder: &Path, args: &[&str]) -> (bool, String) {
    #[expect(clippy::disallowed_methods, reason = "tests")]
    let output = Command::new("git")
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .unwrap();
    let text = if output.status.success() { &output.stdout } else { &output.stderr };
    (output.status.success(), String::from_utf8_lossy(text).trim().to_owned())
}

/// The parts of an error message: the sentence and the next command.
pub(crate) fn told<T>(result: anyhow::Result<T>) -> (String, String) {
    let error = result.err().unwrap();
    let failure: &Failure =
        error.downcast_ref().unwrap_or_else(|| panic!("not a failure: {error:#}"));
    (failure.what.clone(), failure.next.clone().unwrap_or_default())
}

pub(crate) fn shell(folder: &Path, line: &str) {
    #[expect(clippy::disallowed_methods, reason = "tests")]
    let status = Command::new("sh").args(["-c", line]).current_dir(folder).status().unwrap();
    assert!(status.success(), "{line}");
}
