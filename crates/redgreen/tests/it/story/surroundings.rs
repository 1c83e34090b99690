//! Unusual but supported places: dirty checkouts, shallow clones, submodules, hooks, odd names.

use std::fs;

use super::Story;
use super::scripts::{DONE, GREEN, PLAN, RED};

const RUN: &str = "run --script @kata.toml \"a calculator\"";

/// One cycle with additional actions of the agent.
fn one_cycle(red: &str, green: &str) -> String {
    format!(
        r#"
[[plan]]
do = [{{ write = "test-list.md", text = "- [ ] adds\n" }}]
next = {{ description = "adds", test-file = "test_add.py", impl-file = "calc.py" }}
[[plan]]
done = true
[[red]]
do = [{{ write = "test_add.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_adds(self):\n        assert add(1, 2) == 3\n" }}{red}]
[[green]]
do = [{{ write = "calc.py", text = "def add(a, b):\n    return a + b\n" }}{green}]
[[green]]
do = [{{ write = "calc.py", text = "def add(a, b):\n    return a + b\n" }}]
"#
    )
}

fn quick() -> Story {
    let story = Story::new();
    story.script("kata.toml", &one_cycle("", ""));
    story
}

/// Staged, unstaged, untracked and stashed work that does not conflict with the calculator.
fn make_a_mess(story: &Story) {
    story.file("notes.txt", "one\n").file("other.txt", "one\n");
    story.commit("some files");
    story.file("notes.txt", "stashed\n");
    story.git("stash -q");
    story
        .file("notes.txt", "unstaged\n")
        .file("untracked.txt", "mine\n")
        .file("folder/deep.txt", "mine too\n");
}

#[test]
fn a_dirty_checkout_stays_byte_for_byte_as_it_was() {
    let story = quick();
    make_a_mess(&story);
    story.file("other.txt", "staged\n").git("add other.txt");
    let before = story.belongings();
    story.redgreen(RUN).exits(3).says("4 uncommitted changes in your checkout stay unchanged");
    assert_eq!(story.belongings(), before);

    story.redgreen("approve").exits(3).says("staged changes").says("next").says("redgreen approve");
    assert_eq!(story.belongings(), before, "a merge that is blocked leaves everything as it was");
    story.git("commit -q -m mine");
    let unstaged = fs::read(story.root.join("notes.txt")).unwrap();
    story.redgreen("approve").exits(0).says("merged");
    assert_eq!(fs::read(story.root.join("notes.txt")).unwrap(), unstaged);
    assert_eq!(fs::read(story.root.join("untracked.txt")).unwrap(), b"mine\n");
    assert_eq!(fs::read(story.root.join("folder/deep.txt")).unwrap(), b"mine too\n");
    assert_eq!(story.git("stash list").lines().count(), 1);
    assert_eq!(story.git("status --porcelain"), " M notes.txt\n?? folder/\n?? untracked.txt");
}

#[test]
fn a_merge_over_uncommitted_work_is_blocked_until_it_is_put_away() {
    let story = quick();
    story.file("calc.py", "# mine\n");
    story.commit("a start");
    story.script("kata.toml", &one_cycle("", ""));
    story.redgreen(RUN).exits(3);
    story.file("calc.py", "# mine, and not done\n").file("test_add.py", "# in the way\n");
    let before = story.belongings_but_times();
    let said = story.redgreen("approve").exits(3).says("uncommitted changes").says("calc.py");
    assert!(said.stdout.contains("next     git stash --include-untracked"), "{}", said.stdout);
    assert!(said.stdout.contains("redgreen approve"), "{}", said.stdout);
    assert_eq!(story.belongings_but_times(), before);
    story.redgreen("status").exits(0).says("waiting for a human").says("uncommitted changes");
    story.git("stash -q -u");
    story.redgreen("approve").exits(0).says("merged");
    assert_eq!(story.git("stash list").lines().count(), 1);
}

#[test]
fn a_shallow_clone_works_with_a_notice() {
    let story = quick();
    story.file("more.txt", "more\n");
    story.commit("second");
    let url = format!("file://{}", story.root.display());
    let clone = story.place("shallow");
    let cloned = story
        .command("git")
        .args(["clone", "-q", "--depth", "1", &url])
        .arg(&clone)
        .output()
        .unwrap();
    assert!(cloned.status.success(), "{cloned:?}");
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.com")] {
        let set = story
            .command("git")
            .arg("-C")
            .arg(&clone)
            .args(["config", key, value])
            .status()
            .unwrap();
        assert!(set.success());
    }
    story.redgreen(&format!("-C @shallow {RUN}")).exits(3).says("this clone is shallow");
    story.redgreen("-C @shallow approve").exits(0).says("merged");
}

#[test]
fn submodules_are_there_and_may_not_be_changed() {
    let story = quick();
    let library = story.place("library");
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &[
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "first",
        ],
    ] {
        fs::create_dir_all(&library).unwrap();
        assert!(
            story
                .command("git")
                .arg("-C")
                .arg(&library)
                .args(arguments)
                .status()
                .unwrap()
                .success()
        );
    }
    let added = story
        .command("git")
        .args(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"])
        .arg(&library)
        .arg("lib")
        .output()
        .unwrap();
    assert!(added.status.success(), "{added:?}");
    story.commit("a library");
    let commit = "cd lib && git -c user.name=Eve -c user.email=eve@example.com commit -q --allow-empty -m sneaky";
    for (deed, words) in [
        (commit, "lib is a separate repository [change.submodule]"),
        ("echo x = 1 > lib/new.py", "it left changes in lib, a separate git repository"),
    ] {
        let green = format!(", {{ shell = \"{deed}\", must-succeed = true }}");
        story.script("kata.toml", &one_cycle("", &green));
        let before = story.belongings();
        let said = story.redgreen(RUN).exits(3).says(words);
        assert!(!said.stderr.contains("is empty in the worktree"), "{}", said.stderr);
        assert_eq!(story.belongings(), before);
        let branch = story.branch();
        assert_eq!(story.git(&format!("rev-parse {branch}:lib")), story.git("rev-parse main:lib"));
        story.redgreen("abort").exits(0);
    }
}

#[test]
fn a_repository_inside_the_repository_is_refused() {
    let story = quick();
    story.script(
        "kata.toml",
        &one_cycle("", ", { shell = \"git init -q nested && touch nested/x.py\" }"),
    );
    let said =
        story.redgreen(RUN).exits(3).says("it left changes in nested, a separate git repository");
    assert!(said.stderr.contains("agent.crash"), "{}", said.stderr);
    assert!(!story.git(&format!("ls-tree -r --name-only {}", story.branch())).contains("nested"));
}

#[test]
fn file_names_may_be_anything_git_takes() {
    let story = quick();
    let odd = [
        "with blank.txt",
        "\\\"quoted\\\".txt",
        "new\\nline.txt",
        "żółć.txt",
        "-dash.txt",
        "$HOME.txt",
    ];
    let writes: String =
        odd.iter().map(|name| format!(", {{ write = \"{name}\", text = \"x\" }}")).collect();
    story.script("kata.toml", &one_cycle("", &writes));
    story.redgreen(RUN).exits(3);
    story.redgreen("approve").exits(0);
    for name in
        ["with blank.txt", "\"quoted\".txt", "new\nline.txt", "żółć.txt", "-dash.txt", "$HOME.txt"]
    {
        assert_eq!(fs::read(story.root.join(name)).unwrap_or_default(), b"x", "{name:?}");
    }
    assert_eq!(story.git("status --porcelain"), "");
}

/// A project whose tests need installed packages, which are in a git-ignored folder.
fn with_packages(settings: &str) -> Story {
    let story = Story::new();
    let needs = "import unittest\nfrom pathlib import Path\n\n\nclass Tests(unittest.TestCase):\n    \
                 def test_stands(self):\n        \
                 assert Path(\"node_modules/dep/index.js\").read_text() + Path(\"web/node_modules/a.js\").read_text() == \"dep a\"\n";
    story
        .file(".gitignore", "node_modules/\n__pycache__/\n")
        .file("test_packages.py", needs)
        .file("web/keep", "");
    story.file("node_modules/dep/index.js", "dep").file("web/node_modules/a.js", " a");
    story.file("redgreen.toml", &format!("backoff = 0.0\n{settings}"));
    story.commit("packages");
    story.script("kata.toml", &[PLAN, RED, GREEN, DONE].concat());
    story
}

#[test]
fn installed_packages_come_along() {
    for settings in ["", "[worktree]\nlink = [\"node_modules\", \"web/node_modules\"]\n"] {
        let story = with_packages(settings);
        let before = story.belongings();
        let said = story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
        assert!(
            said.stderr.contains("1 passed")
                && !said.stderr.contains(
                    "the worktree does not \
                                  contain"
                ),
            "{}",
            said.stderr
        );
        assert_eq!(
            story.git(&format!("ls-tree -r --name-only {} node_modules web", story.branch())),
            "web/keep"
        );
        assert_eq!(story.belongings(), before);
        story.redgreen("approve").exits(0);
        assert!(
            story.root.join("node_modules/dep/index.js").is_file(),
            "what was linked is where it was"
        );
    }
}

#[test]
fn an_agent_without_a_fence_has_packages_of_its_own() {
    let story = with_packages("");
    let before = story.belongings();
    let spoil = "\n[[red]]\ndo = [{ shell = \"rm -rf node_modules/dep; echo x > web/node_modules/a.js\" }]\n";
    story.script("kata.toml", &[PLAN, spoil].concat());
    story.redgreen("run --script @kata.toml \"an adder\"");
    assert_eq!(story.belongings(), before);
}

#[test]
fn packages_that_stay_behind_are_named() {
    // With set-up commands, the project creates its packages itself.
    let story = with_packages("[worktree]\nsetup = [\"true\"]\n");
    let said = story.redgreen("run --script @kata.toml \"an adder\"");
    said.says("the worktree does not contain node_modules of your checkout").says("worktree.setup");
}

#[test]
fn it_does_not_matter_where_it_is_started() {
    let story = quick();
    story.file("src/deep/keep.txt", "");
    story.commit("a folder");
    let inside = story.prepare(RUN).current_dir(story.root.join("src/deep")).output().unwrap();
    assert_eq!(inside.status.code(), Some(3), "{}", String::from_utf8_lossy(&inside.stderr));
    let outside =
        story.prepare("-C @ status --json").current_dir(story.place("home")).output().unwrap();
    assert_eq!(outside.status.code(), Some(4), "{outside:?}");

    let root = story.root.display().to_string();
    let mut there = story.prepare("status");
    let shown = there.args(["-C", &root]).current_dir(story.place("home")).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("a calculator"), "{shown:?}");
    let mut named = story.prepare("status");
    let shown =
        named.env("TDD_PROJECT_ROOT", &root).current_dir(story.place("home")).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("a calculator"), "{shown:?}");
}

#[test]
fn a_hooks_environment_does_not_lead_astray() {
    let story = quick();
    let other = story.place("other");
    fs::create_dir_all(&other).unwrap();
    assert!(
        story.command("git").arg("-C").arg(&other).args(["init", "-q"]).status().unwrap().success()
    );
    let strangers = [
        ("GIT_DIR", other.join(".git")),
        ("GIT_WORK_TREE", other.clone()),
        ("GIT_INDEX_FILE", other.join(".git/index")),
        ("GIT_PREFIX", other.join("x")),
    ];
    for line in [RUN, "approve"] {
        let said = story.prepare(line).envs(strangers.clone()).output().unwrap();
        let expected = if line == RUN { 3 } else { 0 };
        assert_eq!(said.status.code(), Some(expected), "{}", String::from_utf8_lossy(&said.stderr));
    }
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1, "nothing was written beside .git");
    assert!(!other.join(".git/redgreen").exists());
    assert_eq!(story.git("log -1 --format=%P").split(' ').count(), 2);
}
