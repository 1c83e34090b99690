//! Python environments, wherever the project's tool stores them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::Story;

/// Creates an environment in this folder with the packages of the test environment.
pub(super) fn environment(folder: &Path) -> PathBuf {
    let real = crate::runner::venv();
    let lib = fs::read_dir(real.join("lib")).unwrap().flatten().next().unwrap().file_name();
    let packages = folder.join("lib").join(&lib).join("site-packages");
    fs::create_dir_all(&packages).unwrap();
    fs::create_dir_all(folder.join("bin")).unwrap();
    fs::copy(real.join("pyvenv.cfg"), folder.join("pyvenv.cfg")).unwrap();
    symlink(real.join("bin/python"), folder.join("bin/python")).unwrap();
    let known = real.join("lib").join(&lib).join("site-packages");
    fs::write(packages.join("known.pth"), format!("{}\n", known.canonicalize().unwrap().display()))
        .unwrap();
    packages
}

/// A project installed as editable, in an environment that Poetry keeps in the user's cache.
fn kept_elsewhere() -> Story {
    let story = Story::pytest();
    let kept = story.place("home/.cache/pypoetry/virtualenvs/kit-x");
    let packages = environment(&kept);
    fs::write(packages.join("only_here.py"), "").unwrap();
    fs::write(packages.join("kit.pth"), format!("{}\n", story.root.join("src").display())).unwrap();
    let poetry = story.place("bin/poetry");
    fs::create_dir_all(story.place("bin")).unwrap();
    let answers = format!(
        "#!/bin/sh\n[ ! -e plugin.sh ] || . ./plugin.sh\n[ \"$*\" = 'env info --path' ] && echo '{}'\n",
        kept.display()
    );
    fs::write(&poetry, answers).unwrap();
    fs::set_permissions(&poetry, fs::Permissions::from_mode(0o755)).unwrap();
    story.file("poetry.lock", "").file("src/kit/__init__.py", "");
    story.file(
        "tests/test_old.py",
        "import kit, only_here\n\n\ndef test_old():\n    assert kit and only_here\n",
    );
    story.file("redgreen.toml", "backoff = 0.0\nmax-retries = 0\n").commit("a package");
    let path = story.command("sh").args(["-c", "printf %s \"$PATH\""]).output().unwrap().stdout;
    let path = format!("{}:{}", story.place("bin").display(), String::from_utf8(path).unwrap());
    story.env("PATH", &path).env("VIRTUAL_ENV", "")
}

const TEST: &str = "from kit import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n    assert add(2, 2) == 4\n";
const CODE: &str = "def add(a, b):\n    return a + b\n";

#[test]
fn an_environment_that_is_kept_elsewhere_is_found() {
    let story = kept_elsewhere();
    story.redgreen("test").exits(0).says("1 passed");
    story.file("tests/test_kit.py", TEST).commit("red");
    story.redgreen("judge red --base HEAD~1 --head HEAD --brief \"add adds\"").exits(0);
    story.file("src/kit/__init__.py", CODE).commit("green");
    story.redgreen("judge green --base HEAD~1 --head HEAD --brief \"add adds\"").exits(0);
}

/// Poetry loads plugins of the project and starts interpreters in it.
#[test]
fn a_tool_that_runs_code_of_the_project_changes_nothing() {
    let story = kept_elsewhere();
    let ran = story.place("home/ran");
    story.file("plugin.sh", &format!("touch '{}'\n", ran.display())).commit("a plugin");
    story.redgreen("test").exits(0).says("1 passed");
    assert!(!ran.exists());
}

#[test]
fn what_is_installed_as_editable_is_the_agents_own_work() {
    let story = kept_elsewhere();
    let said = story.place("home/said").display().to_string();
    let look = format!("$VIRTUAL_ENV/bin/python -c 'import kit; print(kit.add(20, 3))' > {said:?}");
    story.script(
        "kata.toml",
        &format!(
            "[[plan]]\ndo = [{{ write = \"test-list.md\", text = \"- [ ] adds\\n\" }}]\n\
             next = {{ description = \"adds\", test-file = \"tests/test_kit.py\", impl-file = \"src/kit/__init__.py\" }}\n\
             [[red]]\ndo = [{{ write = \"tests/test_kit.py\", text = {TEST:?} }}]\n\
             [[green]]\ndo = [{{ write = \"src/kit/__init__.py\", text = {CODE:?} }}, {{ shell = {look:?} }}]\n\
             [[refactor]]\ndo = []\n[[plan]]\ndone = true\n"
        ),
    );
    story.redgreen("run --script @kata.toml \"add adds\"").exits(3);
    assert_eq!(fs::read_to_string(story.place("home/said")).unwrap(), "23\n");
}
