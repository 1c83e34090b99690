//! A whole run with every framework as a new user has it: a project without settings, one feature,
//! no refusal.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde::Deserialize;

use super::Story;
use crate::runner::{is_installed, node_modules};
use crate::skip::skipped;

#[derive(Deserialize)]
struct Kata {
    /// The program that must be installed.
    needs: String,
    /// A folder of the machine that must exist too, and the path in the user's home that links to
    /// it.
    #[serde(default)]
    store: Option<(String, String)>,
    /// Whether the project uses the npm packages that scripts/test installs.
    #[serde(default)]
    packages: bool,
    files: BTreeMap<String, String>,
    test: String,
    red: String,
    code: String,
    green: String,
}

#[track_caller]
fn develops(framework: &str) {
    let mut katas: BTreeMap<String, Kata> =
        toml::from_str(include_str!("frameworks.toml")).unwrap();
    let kata = katas.remove(framework).unwrap();
    let runner = node_modules().join(".bin").join(framework);
    if !is_installed(&kata.needs) {
        return;
    }
    let has_store = kata.store.as_ref().is_none_or(|(from, _)| Path::new(from).is_dir());
    if kata.packages && !runner.exists() || !has_store {
        return skipped(&format!("{framework} is not installed by scripts/test"));
    }
    let story = Story::pytest();
    for (path, text) in &kata.files {
        story.file(path, text);
    }
    if let Some((from, at)) = &kata.store {
        let place = story.place("home").join(at);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(from, place).unwrap();
    }
    if kata.packages {
        symlink(node_modules(), story.root.join("node_modules")).unwrap();
    }
    story.file("redgreen.toml", "backoff = 0.0\nmax-retries = 0\n").commit("a project");
    let script = format!(
        "[[plan]]\ndo = [{{ write = \"test-list.md\", text = \"- [ ] adds\\n\" }}]\n\
         next = {{ description = \"adds\", test-file = {test:?}, impl-file = {code:?} }}\n\
         [[red]]\ndo = [{{ write = {test:?}, text = {red:?} }}]\n\
         [[green]]\ndo = [{{ write = {code:?}, text = {green:?} }}]\n\
         [[refactor]]\ndo = []\n[[plan]]\ndone = true\n",
        test = kata.test,
        code = kata.code,
        red = kata.red,
        green = kata.green,
    );
    story.script("kata.toml", &script);
    let said = story.redgreen("run --script @kata.toml \"an adder\"").exits(3);
    let told = &said.stderr;
    assert!(
        told.contains(": 1 passed (exit 0") && told.contains("2 tests passed, none is missing"),
        "{told}"
    );
    assert!(!told.contains("refused") && !told.contains("undecided"), "{told}");
    let done = story.log(&format!("main..{}", story.branch()));
    assert_eq!(done.len(), 5, "{done:?}");
}

macro_rules! whole_runs {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            develops(stringify!($name));
        })*

        #[test]
        fn every_kata_is_played() {
            let katas: BTreeMap<String, Kata> = toml::from_str(include_str!("frameworks.toml")).unwrap();
            assert!(katas.keys().eq([$(stringify!($name)),*]), "{:?}", katas.keys());
        }
    };
}

whole_runs! { bats ctest exunit go gradle jest maven minitest mocha nextest node phpunit rspec unittest vitest }
