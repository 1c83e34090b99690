//! Tools that start no program, on small projects.

use std::fs;
use std::os::unix::fs::symlink;

use redgreen_core::tool::{Edit, Glob, Grep, ReadArgs};

use super::*;
use crate::agent::visible::Visible;
use crate::config::{Environment, File};

struct Project {
    folder: tempfile::TempDir,
    settings: Settings,
    stop: Stop,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let visible = Visible::new(&Environment::default(), None, &[]);
        Self {
            folder,
            settings: Settings::new(&File::default(), &Environment::default(), visible).unwrap(),
            stop: Stop::default(),
        }
    }

    fn bench(&self) -> Workbench<'_> {
        Workbench {
            place: Place::new(self.folder.path()).unwrap(),
            settings: &self.settings,
            env: &[],
            desk: self.folder.path(),
            places: Places {
                worktree: self.folder.path(),
                records: self.folder.path(),
                aside: self.folder.path(),
                packages: &[],
            },
            test_time: Duration::from_secs(60),
            deadline: Instant::now() + Duration::from_secs(60),
            stop: &self.stop,
            edited: false,
            refused: Vec::new(),
            tests: None,
        }
    }

    #[track_caller]
    fn check(&self, call: &Call, expected: &str) {
        let answer = match self.bench().perform(call).unwrap() {
            Ok(text) => text,
            Err(text) => format!("no: {text}"),
        };
        assert!(answer.starts_with(expected), "{call:?}: {answer}");
    }
}

fn read(file_path: &str, offset: Option<usize>, limit: Option<usize>) -> Call {
    Call::Read(ReadArgs { file_path: file_path.to_owned(), offset, limit })
}

fn edit(old: &str, new: &str, all: bool) -> Call {
    let (file_path, old_string, new_string) = ("a.py".to_owned(), old.to_owned(), new.to_owned());
    Call::Edit(Edit { file_path, old_string, new_string, replace_all: Some(all) })
}

#[test]
fn read_shows_lines_with_their_numbers() {
    let long: String = (1..=2000).map(|number| format!("line {number}\n")).collect();
    let project =
        Project::new(&[("a.py", "one\ntwo\n"), ("long", &long), ("empty", ""), ("bytes", "a\0b")]);
    project.check(&read("a.py", None, None), "one\ntwo\n");
    project.check(&read("a.py", Some(2), None), "two\n[lines 2 to 2 of 2;");
    project.check(
        &read("long", Some(10), Some(1)),
        "line 10\n[lines 10 to 10 of 2000; offset and limit",
    );
    project.check(&read("long", Some(3000), None), "no: long has 2000 lines");
    project.check(&read("empty", None, None), "(the file is empty)");
    project.check(&read("bytes", None, None), "no: bytes is not text");
    project.check(&read(".", None, None), "no: . is a folder");
    project.check(&read(".env", None, None), "no: .env may hold secrets");
    let Ok(shown) = project.bench().perform(&read("long", None, None)).unwrap() else {
        panic!("it is there")
    };
    assert!(shown.len() < 25 << 10 && shown.contains("[lines 1 to 600 of 2000"));
}

#[test]
fn edit_changes_the_file_or_explains_the_error() {
    let text = "def add(a, b):\n    return a - b\n\ndef sub(a, b):\n    return a - b\n";
    for (call, expected) in [
        (edit("def add", "def plus", false), "edited"),
        (edit("a - b", "a + b", false), "no: old_string occurs 2 times; include more"),
        (edit("a - b", "a + b", true), "edited"),
        (
            edit("return a-b", "x", false),
            "no: old_string is not in a.py; the nearest lines are\ndef add",
        ),
        (
            edit("def  add(a,  b):", "x", false),
            "no: old_string is not in a.py: whitespace or line endings differ",
        ),
        (edit("zebra", "x", false), "no: old_string is not in a.py"),
        (edit("", "x", false), "no: old_string is empty"),
        (edit("def", "def", false), "no: old_string and new_string are the same"),
    ] {
        Project::new(&[("a.py", text)]).check(&call, expected);
    }
}

#[test]
fn search_skips_ignored_and_secret_files() {
    let project = Project::new(&[
        ("src/a.py", "import os\nTOKEN = 1\n"),
        ("src/deep/b.py", "import sys\n"),
        ("c.js", "import x\n"),
        (".gitignore", "built/\n"),
        ("built/d.py", "import os\n"),
        (".env", "import os\n"),
        (".git/e.py", "import os\n"),
    ]);
    symlink("/etc", project.folder.path().join("link")).unwrap();
    let glob = |pattern: &str, path: Option<&str>| {
        Call::Glob(Glob { pattern: pattern.to_owned(), path: path.map(str::to_owned) })
    };
    let grep = |pattern: &str, glob: Option<&str>| {
        Call::Grep(Grep { pattern: pattern.to_owned(), path: None, glob: glob.map(str::to_owned) })
    };
    project.check(&glob("**/*.py", None), "src/a.py\nsrc/deep/b.py");
    project.check(&glob("*.py", Some("src")), "src/a.py");
    project.check(&glob("*.rb", None), "no file matches");
    project.check(&glob("a[", None), "no: \"a[\" is not a valid pattern");
    project.check(&glob("*", Some("/etc")), "no: /etc is outside");
    project.check(
        &grep("^import", None),
        "c.js:1:import x\nsrc/a.py:1:import os\nsrc/deep/b.py:1:import sys",
    );
    project.check(&grep("import", Some("*.js")), "c.js:1:import x");
    project.check(&grep("passwd", None), "no line matches");
    project.check(&grep("(", None), "no: \"(\" is not a valid regular expression");
}

#[test]
fn write_creates_folders_and_stays_inside() {
    let project = Project::new(&[("a.py", "")]);
    let mut bench = project.bench();
    assert_eq!(bench.write("deep/er/b.py", "x\ny\n"), Ok("2 lines written".to_owned()));
    assert!(bench.edited);
    symlink("/tmp", project.folder.path().join("out")).unwrap();
    for path in ["../b.py", "/tmp/b.py", "out/b.py", ".git/hooks/pre-commit", "id_rsa", "deep"] {
        assert!(bench.write(path, "x").is_err(), "{path}");
    }
}
