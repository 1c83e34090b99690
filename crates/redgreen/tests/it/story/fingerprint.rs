//! The fingerprint of a run's result: two runs with the same fingerprint left the same content in
//! the repository.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::Story;

/// Replays the runner's earlier report for the same files, so that hundreds of runs take minutes.
/// The first run is real, and coverage is measured every time.
const ECHO: &str = r#"#!/bin/sh
case "$*" in
*"-m coverage"*) exec "$REAL" "$@" ;;
*"-m pytest"* | *"-m redgreen_unittest"*) ;;
*) exec "$REAL" "$@" ;;
esac
key=$(
    find . -name .git -prune -o -name __pycache__ -prune -o -type f ! -name '*.md' -exec cksum {} + | sort
    for word; do case "$word" in *.py) echo "$word" ;; */*) ;; *) echo "$word" ;; esac; done
    echo "$CI $REDGREEN_INERT_VALUE"
)
kept="$KEPT/$(echo "$key" | cksum | tr ' ' '-')"
calls="${REDGREEN_INERT_LOG:-/dev/null}"
# The folder as JSON writes it, for reports that escape what is not ASCII.
json=$("$REAL" -c 'import json, os; print(json.dumps(os.getcwd())[1:-1].replace("\\", "\\\\"))')
if [ ! -e "$kept.exit" ]; then
    "$REAL" "$@"
    code=$?
    [ -e "$REDGREEN_REPORT" ] || exit $code
    sed "s|$PWD|@HERE@|g; s|$json|@JSON@|g" "$REDGREEN_REPORT" >"$kept.$$" && mv "$kept.$$" "$kept"
    cat "$calls" >"$kept.$$" && mv "$kept.$$" "$kept.calls"
    echo $code >"$kept.$$" && mv "$kept.$$" "$kept.exit"
    exit $code
fi
sed "s|@HERE@|$PWD|g; s|@JSON@|$json|g" "$kept" >"$REDGREEN_REPORT"
cat "$kept.calls" >>"$calls"
exit "$(cat "$kept.exit")"
"#;

/// Folders that stay in the worktree location: build output, rooms, judged trees.
const OURS: &[&str] = &["builds", "cargo-target", "judged", "rooms"];

/// A virtual environment whose python caches test reports, shared by all stories of this process.
pub(crate) fn echo() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("echo-{}", std::process::id()));
        make_echo(&folder);
        folder
    })
}

fn make_echo(folder: &Path) {
    // The cache is next to the environment, not in it: redgreen would see files there as changed
    // packages.
    let (bin, kept) = (folder.join("bin"), folder.with_extension("kept"));
    fs::create_dir_all(&bin).unwrap();
    fs::create_dir_all(&kept).unwrap();
    let real = crate::runner::venv().join("bin/python");
    let script = ECHO
        .replace("$REAL", &real.display().to_string())
        .replace("$KEPT", &kept.display().to_string());
    let python = bin.join("python");
    fs::write(&python, script).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Story {
    /// The same story with a python that caches pytest's reports.
    pub(crate) fn quick(self) -> Self {
        let venv = echo().display().to_string();
        // The caching python writes next to itself, which every sandbox forbids.
        let settings = fs::read_to_string(self.root.join("redgreen.toml")).unwrap_or_default();
        self.file("redgreen.toml", &format!("{settings}\n[test]\nfence = \"none\"\nmutants = 0\n"));
        self.commit("no fence");
        self.env("VIRTUAL_ENV", &venv)
    }

    /// The result of a run that waits for a human: subject, tree and note of each commit.
    #[track_caller]
    pub(crate) fn work(&self) -> Vec<String> {
        let branch = self.branch();
        let mut lines = Vec::new();
        for line in self.git(&format!("log --reverse --format=%H--%T--%s main..{branch}")).lines() {
            let (commit, tree_and_subject) = line.split_once("--").unwrap();
            lines.push(tree_and_subject.to_owned());
            lines.push(self.note(commit));
        }
        lines
    }

    /// The result of a merged run: the tree. Also asserts that nothing else of the run is left.
    #[track_caller]
    pub(crate) fn merged(&self) -> Vec<String> {
        let fsck =
            self.command("git").args(["fsck", "--strict", "--no-dangling"]).output().unwrap();
        assert!(fsck.status.success(), "{}", String::from_utf8_lossy(&fsck.stderr));
        assert_eq!(
            self.git("for-each-ref refs/heads/redgreen refs/redgreen/work refs/notes/redgreen-tmp"),
            ""
        );
        assert_eq!(self.git("worktree list --porcelain").matches("worktree ").count(), 1);
        assert_eq!(self.git("status --porcelain"), "");
        assert_eq!(
            fs::read_dir(self.root.join(".git/redgreen/open")).unwrap().count(),
            0,
            "an open run"
        );
        self.assert_no_worktree();
        let commits = self.git("rev-list --count --first-parent HEAD");
        vec![
            self.git("rev-parse HEAD^{tree}"),
            format!("{commits} commits, {}", self.git("rev-list --count HEAD")),
        ]
    }

    /// Asserts that no run's worktree is left. Build output may stay.
    #[track_caller]
    pub(crate) fn assert_no_worktree(&self) {
        let all = self.git("worktree list --porcelain");
        assert_eq!(all.matches("worktree ").count(), 1, "{all}");
        assert_eq!(self.worktrees(), Vec::<String>::new(), "left behind");
    }

    /// The folders in which runs work.
    pub(crate) fn worktrees(&self) -> Vec<String> {
        let mut found = Vec::new();
        for workshop in names(&self.place("home/worktrees")) {
            let inside = names(&self.place("home/worktrees").join(workshop));
            found.extend(inside.into_iter().filter(|name| !OURS.contains(&name.as_str())));
        }
        found
    }

    /// The reasons of the salvage entries, in the order of their names.
    pub(crate) fn salvages(&self) -> Vec<String> {
        let refs = self.git("for-each-ref --format=%(refname) refs/redgreen/salvage");
        refs.lines().map(|name| name.rsplit('/').next().unwrap().to_owned()).collect()
    }

    fn note(&self, commit: &str) -> String {
        let text = self.git(&format!("notes --ref=tdd-handoffs show {commit}"));
        let mut note: serde_json::Value = serde_json::from_str(&text).unwrap();
        let id = note["run"]["id"].as_str().unwrap().to_owned();
        for name in ["id", "base", "branch"] {
            note["run"][name] = "-".into();
        }
        note["spent"]["workMs"] = 0.into();
        // Test messages contain paths of the worktree.
        let mut text = note.to_string();
        for workshop in names(&self.place("home/worktrees")) {
            text = text
                .replace(&format!("{}/{workshop}", self.place("home/worktrees").display()), "@");
        }
        text.replace(&id, "@")
    }
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
