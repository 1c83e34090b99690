//! Settings of a project and of its git folder.

use redgreen::engine::Project;
use redgreen::git::Git;

use super::{LOOKING, RUN, RUNNING, hostile};

hostile! {
    settings_that_name_commands with [LOOKING, RUNNING] => |clone| {
        let plant = clone.plant();
        let text = format!(
            "backoff = 0.0\n[test]\ncommand = {plant:?}\n[worktree]\nsetup = [{plant:?}]\n[lint]\ncommands = [{plant:?}]\n"
        );
        clone.file("redgreen.toml", text).commit_all();
    };
    settings_that_name_folders with [LOOKING] => |clone| {
        let root = clone.place("beside").display().to_string();
        clone.file("redgreen.toml", format!("[worktree]\nroot = {root:?}\ncopy = [\"../beside\"]\nlink = [\"/etc\"]\n"));
    };
    /// The worktree root is one of the user's own folders, and contains names that redgreen would
    /// clean up.
    settings_that_name_a_folder_to_clear_away with [LOOKING] => |clone| {
        let beside = clone.place("beside");
        let workshop = Project::workshop(&beside, &Git::open(&clone.root).unwrap());
        for name in ["builds/a", "cargo-target/a", "agent-caches/a", "rooms/mine/a", ".removed-1-a/a"] {
            let file = workshop.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "mine\n").unwrap();
        }
        clone.git(&["worktree", "add", "--quiet", "--detach", workshop.join(RUN).to_str().unwrap()]);
        clone.file("redgreen.toml", format!("[worktree]\nroot = {:?}\n", beside.display().to_string()));
    };
    settings_of_garbage with [LOOKING] => |clone| { clone.file("redgreen.toml", "\u{1b}[2J\u{7} = \n\u{0}"); };
    settings_with_odd_keys with [LOOKING] => |clone| { clone.file("redgreen.toml", "\"\\u001b[2Jx\" = 1\n"); };
    settings_that_are_a_link_to_the_home with [LOOKING] => |clone| {
        clone.link("redgreen.toml", "../home/.bashrc").link("tdd.properties", "../home/.bashrc");
    };
    settings_that_are_a_link_to_nowhere with [LOOKING] => |clone| { clone.link("redgreen.toml", "../beside/new.toml"); };
    settings_that_never_end with [LOOKING] => |clone| { clone.link("redgreen.toml", "/dev/zero"); };
    settings_that_are_a_pipe with [LOOKING] => |clone| { clone.pipe("redgreen.toml"); };
    properties_of_garbage with [LOOKING] => |clone| {
        clone.file("tdd.properties", "\u{1b}[2J=\u{7}\nmax.retries=\u{9b}\n");
        clone.file(".agentforge/config.json", "{\"\u{1b}\": [[[").file(".agentforge/config.yaml", "\u{1b}: [");
    };
    project_files_that_never_end with [LOOKING] => |clone| {
        for name in ["pyproject.toml", "package.json", "Cargo.toml", "setup.cfg", "tox.ini", "composer.json"] {
            clone.link(name, "/dev/zero");
        }
    };
    /// Test runners also read these files, and block until their time limit ends them.
    project_files_that_are_pipes with [LOOKING] => |clone| {
        for name in ["pyproject.toml", "package.json", "Cargo.toml", ".gitmodules", "setup.cfg"] {
            clone.pipe(name);
        }
        clone.file("redgreen.toml", "backoff = 0.0\n[timeout]\nred = 5.0\ngreen = 5.0\n");
    };
    a_git_configuration_full_of_commands with [LOOKING] => |clone| {
        let plant = clone.plant();
        for key in [
            "core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass", "core.gitProxy",
            "core.alternateRefsCommand", "diff.external", "diff.x.textconv", "diff.x.command", "gpg.program",
            "gpg.ssh.program", "credential.helper", "sequence.editor", "interactive.diffFilter", "merge.x.driver",
            "filter.x.clean", "filter.x.smudge", "filter.x.process", "remote.origin.uploadpack", "pager.log", "pager.status",
            "uploadpack.packObjectsHook", "submodule.x.update", "browser.x.cmd",
        ] {
            let value = if key == "submodule.x.update" || key == "credential.helper" { format!("!{plant}") } else { plant.clone() };
            clone.git(&["config", key, &value]);
        }
        for verb in ["status", "log", "notes", "config", "rev-parse", "update-ref"] {
            clone.git(&["config", &format!("alias.{verb}"), &format!("!{plant}")]);
        }
        clone.git(&["config", "log.showSignature", "true"]);
        clone.git(&["config", "commit.gpgSign", "true"]);
        clone.file(".git/info/attributes", "* filter=x merge=x diff=x\n");
        // Git thinks that this file changed, and runs the filter to compare it.
        clone.file("calc.py", "def add(a, b):\n    return a + b + 0\n");
        clone.note(clone.handoff().to_string());
    };
    hooks_of_every_kind with [LOOKING] => |clone| {
        use std::os::unix::fs::PermissionsExt;
        clone.note("damaged");
        for name in ["post-checkout", "reference-transaction", "post-index-change", "pre-commit", "fsmonitor-watchman", "post-rewrite"] {
            clone.file(&format!(".git/hooks/{name}"), format!("#!/bin/sh\n{}\n", clone.plant()));
            let path = clone.root.join(".git/hooks").join(name);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    };
    a_configuration_that_includes_another => |clone| {
        clone.file("theirs.cfg", format!("[core]\nfsmonitor = {:?}\n[alias]\nstatus = \"!{}\"\n", clone.plant(), clone.plant()));
        clone.git(&["config", "include.path", "../theirs.cfg"]);
    };
    a_partial_clone_that_fetches_by_a_command => |clone| {
        clone.git(&["config", "remote.origin.url", &format!("ext::sh -c {}", clone.plant().replace(' ', "% "))]);
        clone.git(&["config", "remote.origin.promisor", "true"]);
        clone.git(&["config", "extensions.partialClone", "origin"]);
        clone.git(&["config", "protocol.ext.allow", "always"]);
        clone.git(&["config", "core.repositoryFormatVersion", "1"]);
        clone.file(".git/refs/heads/redgreen/gone-abcd", format!("{}\n", "2".repeat(40)));
        clone.file(".git/refs/notes/tdd-handoffs", format!("{}\n", "3".repeat(40)));
    };
    attributes_with_filters_of_the_project with [LOOKING, RUNNING] => |clone| {
        clone.git(&["config", "filter.x.smudge", &clone.plant()]);
        clone.git(&["config", "filter.x.clean", &clone.plant()]);
        clone.file(".gitattributes", "* filter=x\n");
        // The test itself must not run the filter when it commits.
        clone.git(&["-c", "filter.x.clean=cat", "add", ".gitattributes"]);
        clone.git(&["-c", "filter.x.clean=cat", "commit", "-q", "--no-verify", "-m", "theirs"]);
    };
    /// Files of git's configuration that git reads to their end.
    git_files_that_never_end with [LOOKING] => |clone| {
        for key in ["core.attributesFile", "core.excludesFile", "mailmap.file", "blame.ignoreRevsFile"] {
            clone.git(&["config", key, "/dev/zero"]);
        }
    };
    alternates_that_lead_away => |clone| { clone.file(".git/objects/info/alternates", "../../../beside\n/dev/zero\n"); };
    a_bare_repository_among_the_files => |clone| {
        clone.file("inner/HEAD", "ref: refs/heads/main\n").file("inner/objects/x", "").file("inner/refs/x", "");
        clone.file("inner/config", format!("[core]\nbare = false\nworktree = ..\nfsmonitor = {:?}\n", clone.plant()));
    };
}
