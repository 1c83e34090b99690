//! `redgreen init --with` keeps the user's settings, changes nothing the second time, and can be
//! undone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::Story;

const HOSTS: &[&str] = &["claude", "codex", "gemini", "copilot", "cursor", "opencode"];

#[test]
fn hosts_are_reported_once_and_forget_it_again() {
    let story = Story::pytest();
    story
        .file(".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n")
        .file(".codex/config.toml", "model = \"x\" # mine\n");
    story.file("opencode.json", "{\n\t\"theme\": \"dark\"\n}\n");
    let before = story.belongings();
    for host in HOSTS {
        story.redgreen(&format!("init --with {host} --print")).exits(0).says("+");
        assert_eq!(story.belongings(), before, "{host}: --print only shows it");
        story
            .redgreen(&format!("init --with {host}"))
            .exits(0)
            .says("\nwrote .")
            .says("redgreen session start");
        let with = story.belongings();
        assert_ne!(with, before, "{host}");
        story.redgreen(&format!("init --with {host}")).exits(0).says("nothing to change");
        assert_eq!(story.belongings(), with, "{host}: twice is once");
        story.redgreen(&format!("init --with {host} --remove")).exits(0).says("redgreen");
        assert_eq!(story.belongings(), before, "{host}: taken out");
        story.redgreen(&format!("init --with {host} --remove")).exits(0).says("nothing to change");
    }
}

/// A hook that cannot be started blocks every edit of Claude Code.
#[test]
fn a_program_that_hooks_cannot_start_is_reported() {
    let story = Story::pytest();
    let words = "put redgreen on your PATH";
    story.redgreen("init --with claude").exits(0).says(words);
    story.redgreen("init --with claude --remove").exits(0);
    let own = Path::new(env!("CARGO_BIN_EXE_redgreen")).parent().unwrap().display().to_string();
    let path = story.command("sh").args(["-c", "printf %s \"$PATH\""]).output().unwrap().stdout;
    let story = story.env("PATH", &format!("{own}:{}", String::from_utf8(path).unwrap()));
    let said = story.redgreen("init --with claude").exits(0).says("redgreen session start");
    assert!(!said.stdout.contains(words), "{said:?}");
}

#[test]
fn settings_that_cannot_be_merged_stay_as_they_are() {
    let story = Story::pytest();
    story.file(".claude/settings.json", "// mine\n{}\n");
    let before = story.belongings();
    story.redgreen("init --with claude").exits(2).says("is not plain JSON");
    assert_eq!(story.belongings(), before);
    let outside = story.place("outside");
    fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, story.root.join(".gemini")).unwrap();
    story.redgreen("init --with gemini");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing is written through a link");
}

#[test]
fn files_have_their_former_bytes_again() {
    let story = Story::pytest();
    story
        .file(".claude/settings.json", "{ \"permissions\": { \"allow\": [\"Bash(ls)\"] } }\n")
        .file(".cursor/hooks.json", "{ \"hooks\": {} }")
        .file(".mcp.json", "{}\n")
        .file(".codex/config.toml", "model = \"x\"");
    let before = story.belongings();
    for host in ["claude", "cursor", "codex"] {
        story.redgreen(&format!("init --with {host}")).exits(0);
        assert_ne!(story.belongings(), before, "{host}");
        story.redgreen(&format!("init --with {host} --remove")).exits(0);
        assert_eq!(story.belongings(), before, "{host}");
    }
    story.file(".opencode/plugin/redgreen.js", "// mine\n");
    story.file(".github/hooks/redgreen.json", "{}\n");
    let before = story.belongings();
    for host in ["opencode", "copilot"] {
        story.redgreen(&format!("init --with {host}")).exits(2).says("did not write");
        story
            .redgreen(&format!("init --with {host} --remove"))
            .exits(2)
            .says("so redgreen keeps it");
        assert_eq!(story.belongings(), before, "{host}");
    }
}

#[test]
fn a_push_is_proven_once() {
    let story = Story::pytest();
    let hook = story.root.join(".git/hooks/pre-push");
    story.redgreen("init --hook pre-push").exits(0);
    let first = fs::read_to_string(&hook).unwrap();
    story.redgreen("init --with git").exits(0);
    assert_eq!(fs::read_to_string(&hook).unwrap(), first);
    assert!(!hook.with_extension("before-redgreen").exists());
    story.redgreen("init --with git --remove").exits(0);
    assert_eq!(fs::read_to_string(&hook).unwrap(), first);
    // `init` never replaces a saved earlier hook.
    let commit = story.root.join(".git/hooks/pre-commit");
    for (path, text) in [(&commit, "#!/bin/sh\n"), (&commit.with_extension("before-redgreen"), "x")]
    {
        fs::write(path, text).unwrap();
    }
    story.redgreen("init --with git").exits(2).says("already exists");
    assert_eq!(fs::read_to_string(commit.with_extension("before-redgreen")).unwrap(), "x");
}

#[test]
fn hooks_of_git_run_after_those_that_were_there() {
    let story = Story::pytest();
    let hooks = story.root.join(".git/hooks");
    let mine = "#!/bin/sh\ntouch \"$(git rev-parse --show-toplevel)/mine-ran\"\n";
    fs::create_dir_all(&hooks).unwrap();
    fs::write(hooks.join("pre-commit"), mine).unwrap();
    fs::set_permissions(hooks.join("pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();
    story.redgreen("init --with git").exits(0);
    story.redgreen("init --with git").exits(0).says("nothing to change");
    let own = Path::new(env!("CARGO_BIN_EXE_redgreen")).parent().unwrap().display().to_string();
    let path = story.command("sh").args(["-c", "printf %s \"$PATH\""]).output().unwrap().stdout;
    let story = story.env("PATH", &format!("{own}:{}", String::from_utf8(path).unwrap()));
    story.redgreen("session start x").exits(0);
    story.file("pytest.ini", "[pytest]\naddopts = -k nothing\n");
    story.git("add pytest.ini");
    let refused = story.command("git").args(["commit", "-qm", "weaker"]).output().unwrap();
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && words.contains("config_changed"), "{words}");
    assert!(story.root.join("mine-ran").exists());
    story.git("restore --staged --worktree pytest.ini");
    story.file("README.md", "# x\n");
    story.git("add README.md");
    story.git("commit -qm docs");
    story.redgreen("init --with git --remove").exits(0);
    assert_eq!(fs::read_to_string(hooks.join("pre-commit")).unwrap(), mine);
    assert!(!hooks.join("pre-push").exists() && !hooks.join("pre-commit.before-redgreen").exists());
}
