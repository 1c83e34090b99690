//! Files, links and submodules of the project.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::{Clone, LOOKING, RUNNING, hostile};

/// A run that checks the files out into a worktree, and puts them back.
const WORKING: &[&str] = &["run --script @stray.toml --max-retries 0 x"];

const YAML: &[&str] = &["brief spec.yaml", "run --script @quick.toml --spec spec.yaml"];

/// The user has initialized this submodule, so redgreen fills it. Then `.gitmodules` changes.
fn submodule(clone: &Clone, text: &str) {
    clone.git(&["clone", "-q", "--bare", ".", ".git/modules/x"]);
    let id = clone.git(&["rev-parse", "main"]);
    clone.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},sub")]);
    clone.git(&["config", "submodule.x.url", "./.git/modules/x"]);
    clone.file(".gitmodules", text);
    clone.git(&["add", ".gitmodules"]);
    clone.git(&["commit", "-q", "--no-verify", "-m", "theirs"]);
}

/// Verbs that write files under names that a person or a copied CI job is likely to use.
const WRITING_FILES: &[&str] = &[
    "report k3x9 --html report.html",
    "report k3x9 --html out/report.html",
    "report k3x9 --html git/hooks/post-checkout",
    "report k3x9 --html pipe.html",
    "test --timeout 20 --junit report.html",
    "verify HEAD~1..HEAD --sarif report.html",
    "verify HEAD~1..HEAD --junit pipe.html",
    "verify HEAD~1..HEAD --html out/diary.txt",
    "run --script @quick.toml --artifacts out x",
    "run --script @quick.toml --artifacts kept x",
    "run --script @quick.toml --artifacts git/hooks x",
];

hostile! {
    links_and_pipes_where_reports_are_written with [WRITING_FILES] => |clone| {
        clone.link("report.html", clone.place("beside/diary.txt"));
        clone.link("out", clone.place("beside"));
        clone.link("git", ".git");
        clone.link("kept/tdd-summary.md", clone.place("beside/diary.txt"));
        clone.commit_all();
        clone.pipe("pipe.html");
        clone.journal(&[clone.started(|_| {}), clone.left(2)]);
    };
    submodules_that_climb with [LOOKING, WORKING] => |clone| {
        let root = clone.root.file_name().unwrap().to_str().unwrap().to_owned();
        submodule(clone, &format!(
            "[submodule \"..\"]\n\tpath = ../../../../{root}\n\turl = ./x\n[submodule \"../../beside\"]\n\tpath = ../../../../beside\n\turl = x\n\
             [submodule \"x\"]\n\tpath = sub\n\turl = ./x\n"
        ));
    };
    a_submodule_whose_name_is_a_setting with [WORKING] => |clone| {
        let name = format!("x.update=!{} #", clone.plant());
        submodule(clone, &format!(
            "[submodule \"x\"]\n\tpath = sub\n\turl = ./x\n[submodule \"{name}\"]\n\tpath = .\n\turl = ./x\n"
        ));
    };
    a_submodule_whose_path_is_an_option with [WORKING] => |clone| {
        submodule(clone, "[submodule \"x\"]\n\tpath = --recursive\n\turl = -u./x\n");
    };
    a_submodule_that_updates_by_a_command with [WORKING] => |clone| {
        submodule(clone, &format!("[submodule \"x\"]\n\tpath = sub\n\turl = ./x\n\tupdate = !{}\n", clone.plant()));
    };
    /// Addresses that git would run as commands, or read from the user's own folders.
    submodules_whose_addresses_are_commands with [LOOKING, WORKING] => |clone| {
        let command = format!("ext::sh -c {}", clone.plant().replace(' ', "% "));
        let mine = format!("file://{}", clone.place("beside").display());
        submodule(clone, &format!(
            "[submodule \"x\"]\n\tpath = sub\n\turl = \"{command}\"\n[submodule \"y\"]\n\tpath = own\n\turl = {mine}\n\
             [submodule \"z\"]\n\tpath = ssh\n\turl = ssh://-oProxyCommand=x/y\n"
        ));
        let id = clone.git(&["rev-parse", "main"]);
        for path in ["own", "ssh"] {
            clone.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},{path}")]);
        }
        clone.git(&["commit", "-q", "--no-verify", "-m", "more of theirs"]);
        // A repository copied as a folder brings its git settings along.
        for (key, value) in [
            ("submodule.x.url", command.as_str()),
            ("submodule.y.url", mine.as_str()),
            ("submodule.z.url", "ssh://-oProxyCommand=x/y"),
            ("protocol.allow", "always"),
            ("protocol.ext.allow", "always"),
            ("protocol.file.allow", "always"),
            ("submodule.recurse", "true"),
            ("submodule.alternateLocation", "superproject"),
        ] {
            clone.git(&["config", key, value]);
        }
    };
    submodules_with_control_characters with [LOOKING] => |clone| {
        submodule(clone, "[submodule \"\u{1b}[2J\"]\n\tpath = \"\u{1b}[2J\\tx\"\n\turl = \u{7}\n");
    };
    a_list_of_submodules_that_is_a_link with [LOOKING] => |clone| { clone.link(".gitmodules", "/dev/zero"); };
    links_out_of_the_project with [LOOKING, WORKING] => |clone| {
        for (name, to) in [("out", "../beside"), ("home", "/root"), ("up", ".."), ("self", "self"), ("git", ".git")] {
            clone.link(name, to);
        }
        clone.link("test-list.md", "../beside/diary.txt").link("tests/x.py", "../../home/.bashrc").commit_all();
    };
    files_with_odd_names with [LOOKING, RUNNING] => |clone| {
        for name in [
            "\u{1b}[2J.py", "-rf", "--help", "a\nb.py", "a\rb", "\u{202e}yp.tset", "%s%n", "$(x)", "`x`", "a\u{7}", " ", "~",
        ] {
            clone.file(name, "x = 1\n");
        }
        fs::write(clone.root.join(OsStr::from_bytes(b"\xff\xfe.py")), "x").unwrap();
        clone.commit_all();
    };
    a_file_name_as_long_as_can_be with [LOOKING] => |clone| {
        let deep: Vec<String> = (0..12).map(|_| "d".repeat(250)).collect();
        clone.file(&format!("{}/test_x.py", deep.join("/")), "x\n").file(&format!("{}.py", "f".repeat(250)), "x\n");
        clone.commit_all();
    };
    ten_thousand_files with [LOOKING] => |clone| {
        for number in 0..10_000 {
            fs::write(clone.root.join(format!("f{number}.txt")), "").unwrap();
        }
    };
    a_task_with_control_characters with [LOOKING] => |clone| {
        clone.file("spec.json", "{\"\u{1b}[2J\": \"\u{7}\", \"feature\": \"\\u001b[2J\", \"test_cases\": [{\"id\": \"\\u001b\"}]}");
    };
    a_specification_that_is_a_link with [LOOKING] => |clone| { clone.link("spec.json", "../home/.bashrc"); };
    a_specification_that_is_a_pipe with [LOOKING] => |clone| { clone.pipe("spec.json"); };
    a_specification_that_never_ends with [LOOKING] => |clone| { clone.link("spec.json", "/dev/zero"); };
    a_specification_nested_ten_thousand_deep with [LOOKING] => |clone| { clone.file("spec.json", "[".repeat(10_000)); };
    /// A document that expands to a few gigabytes when its aliases are resolved.
    a_specification_of_aliases with [YAML] => |clone| {
        let line = |number: u32| {
            let again = format!("*a{}", number - 1);
            format!("a{number}: &a{number} [{}]\n", vec![again; 10].join(", "))
        };
        let lines: String = (1..10).map(line).collect();
        clone.file("spec.yaml", format!("a0: &a0 [x, x, x, x]\n{lines}feature: *a9\n"));
    };
    /// The file names in a task reach paths and commands.
    a_task_that_climbs with [LOOKING] => |clone| {
        let plant = clone.plant();
        let entry = |phase: &str| json!({
            "tdd_phase": phase, "title": "\u{1b}[2J", "description": plant, "modification_points": ["../beside/diary.txt:x:1"],
            "actions": [plant], "test_cases": ["../../home/.bashrc"], "test_files": ["../beside/test_x.py"]
        });
        let task = json!({
            "id": "../../../beside", "title": "x;$(touch ran)", "meta": { "tdd_workflow": true },
            "context": { "focus_paths": ["/etc/passwd", "../beside"] },
            "implementation": [entry("Red: x"), entry("Green: x"), entry("Refactor: x")],
            "convergence": { "criteria": [plant], "verification": plant }
        });
        clone.file("spec.json", task.to_string());
    };
    a_worktree_that_is_the_home => |clone| {
        let admin = ".git/worktrees/x";
        clone.file(&format!("{admin}/gitdir"), format!("{}\n", clone.place("home/.git").display()));
        clone.file(&format!("{admin}/HEAD"), "ref: refs/heads/main\n").file(&format!("{admin}/commondir"), "../..\n");
    };
    a_stack_of_ignore_rules with [LOOKING] => |clone| {
        clone.file(".gitignore", "!".repeat(100_000)).file("sub/.gitignore", "[".repeat(50_000)).link("x/.gitignore", "/dev/zero");
    };
}
