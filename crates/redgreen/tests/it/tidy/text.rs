//! Rules about every text file: nothing in it belongs to one machine or one network.

use super::code::is_word;
use super::{File, check, holds};

// In halves, or this file would break its own rules.
const MACHINE_FOLDERS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
const REGISTRY_HOSTS: &[&str] = &[
    concat!("index.cra", "tes.io"),
    concat!("static.cra", "tes.io"),
    concat!("py", "pi.org"),
    concat!("files.python", "hosted.org"),
    concat!("registry.npm", "js.org"),
    concat!("registry.yarn", "pkg.com"),
    concat!("deb.deb", "ian.org"),
    concat!("proxy.go", "lang.org"),
    concat!("repo.maven.apa", "che.org"),
    concat!("ruby", "gems.org"),
];

fn names_no_machine(file: &File) -> Vec<String> {
    if file.is_recorded() {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for (number, line) in file.lines() {
        for folder in MACHINE_FOLDERS.iter().filter(|folder| has_path(line, folder)) {
            faults.push(file.fault(
                number,
                &format!("`{folder}` is on one machine: use a relative path or a placeholder"),
            ));
        }
    }
    faults
}

/// Whether the line has the folder at the start of a path, not in the middle of one.
fn has_path(line: &str, folder: &str) -> bool {
    let inside = |letter: char| is_word(letter) || "-.~*)}>]".contains(letter);
    line.match_indices(folder).any(|(at, _)| !line[..at].chars().next_back().is_some_and(inside))
}

/// The one table of registries that agents may fetch packages from.
const REGISTRIES: &str = "crates/redgreen/src/config/registries.rs";

fn names_no_registry(file: &File) -> Vec<String> {
    if file.path == REGISTRIES {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for (number, line) in file.lines() {
        for host in REGISTRY_HOSTS.iter().filter(|host| line.contains(**host)) {
            faults.push(file.fault(
                number,
                &format!("{host}: name the package and let the tool's own settings find it"),
            ));
        }
    }
    faults
}

#[test]
fn no_file_names_a_folder_of_one_machine() {
    holds(names_no_machine);
    for folder in MACHINE_FOLDERS {
        check(names_no_machine, "a.md", &format!("see\n`{folder}a`"), &[2]);
        check(names_no_machine, "a.rs", &format!("let a = \"{folder}a\";"), &[1]);
        check(names_no_machine, "a.rs", &format!("let a = \"{{b}}{folder}a\";"), &[]);
        check(names_no_machine, "a.md", &format!("src{folder}a"), &[]);
        check(names_no_machine, "tests/testdata/a.txt", &format!("{folder}a"), &[]);
    }
}

#[test]
fn no_file_names_a_registry() {
    holds(names_no_registry);
    for host in REGISTRY_HOSTS {
        check(
            names_no_registry,
            "a/testdata/b.json",
            &format!("{{\n\"resolved\": \"https://{host}/a\"}}"),
            &[2],
        );
    }
    check(names_no_registry, "a.md", "cargo install redgreen\n", &[]);
}
