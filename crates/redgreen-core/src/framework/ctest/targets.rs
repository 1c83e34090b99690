//! Maps source files to the programs built from them, with CMake's file API.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::framework::invoke::Call;

pub(super) const ASK: &str = "ask for targets";
pub(super) const ANSWER: &str = "targets";

/// Places a query in the build folder, which CMake answers when it configures. Removes older
/// replies.
pub(super) fn ask(folder: &str) -> Call {
    let api = format!("{folder}/.cmake/api/v1");
    let script = r#"rm -rf "$1/reply" && mkdir -p "$1/query" && : >"$1/query/codemodel-v2""#;
    Call::new(["sh", "-c", script, "sh", &api])
}

/// Prints all targets, one JSON value after the other. A project without targets prints nothing.
pub(super) fn answer(folder: &str) -> Call {
    let script = r#"cat "$1"/.cmake/api/v1/reply/target-*.json 2>/dev/null || true"#;
    Call::new(["sh", "-c", script, "sh", folder])
}

/// The programs, by path in the build folder, that are built from one of the files or use a library
/// that is. `None` if some file is not the source of any target, for example a header or data.
pub(super) fn programs_of(answer: &[u8], files: &[String]) -> Option<BTreeSet<String>> {
    let targets =
        serde_json::Deserializer::from_slice(answer).into_iter::<Target>().map_while(Result::ok);
    let targets: BTreeMap<String, Target> =
        targets.map(|target| (target.id.clone(), target)).collect();
    let has =
        |target: &Target, file: &String| target.sources.iter().any(|source| source.path == *file);
    if !files.iter().all(|file| targets.values().any(|target| has(target, file))) {
        return None;
    }
    let own = targets.values().filter(|target| files.iter().any(|file| has(target, file)));
    let mut meant: BTreeSet<&str> = own.map(|target| target.id.as_str()).collect();
    // Each round adds a target or is the last.
    for _ in 0..targets.len() {
        let uses = |target: &Target| {
            target.dependencies.iter().any(|needed| meant.contains(needed.id.as_str()))
        };
        let more: Vec<&str> = targets
            .values()
            .filter(|target| uses(target))
            .map(|target| target.id.as_str())
            .collect();
        let before = meant.len();
        meant.extend(more);
        if meant.len() == before {
            break;
        }
    }
    let meant = targets.values().filter(|target| meant.contains(target.id.as_str()));
    Some(meant.flat_map(|target| &target.artifacts).map(|artifact| artifact.path.clone()).collect())
}

#[derive(Deserialize)]
struct Target {
    id: String,
    #[serde(default)]
    sources: Vec<Artifact>,
    #[serde(default)]
    artifacts: Vec<Artifact>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Artifact {
    path: String,
}

#[derive(Deserialize)]
struct Dependency {
    id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_select_the_programs_that_use_them() {
        let answer = r#"
            {"id":"one::@1","sources":[{"path":"tests/one.cpp"}],"artifacts":[{"path":"bin/one"}],"dependencies":[{"id":"lib::@1"}]}
            {"id":"two::@1","sources":[{"path":"tests/two.cpp"}],"artifacts":[{"path":"two"}]}
            {"id":"lib::@1","sources":[{"path":"tests/help.cpp"}],"artifacts":[{"path":"libhelp.a"}]}"#;
        for (files, expected) in [
            (&["tests/one.cpp"][..], Some("bin/one")),
            (&["tests/two.cpp", "tests/one.cpp"], Some("bin/one two")),
            (&["tests/help.cpp"], Some("bin/one libhelp.a")),
            (&["tests/one.cpp", "tests/help.h"], None),
        ] {
            let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
            let programs = programs_of(answer.as_bytes(), &files);
            let programs =
                programs.map(|programs| programs.into_iter().collect::<Vec<_>>().join(" "));
            assert_eq!(programs.as_deref(), expected, "{files:?}");
        }
        assert_eq!(programs_of(b"{", &["a".to_owned()]), None);
    }
}
