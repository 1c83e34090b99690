//! A cache of the programs behind shims. A pyenv shim takes a tenth of a second to answer and is
//! asked before every verdict, so the answer is kept until one of the files it depends on changes.
//!
//! Only known cases are cached: real programs, rustup proxies and pyenv-style shims. Others (asdf,
//! mise, scripts) are asked every time.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::sandbox::Stamp;

/// The number of cached answers: a few tools in the worktrees of a few runs.
const ANSWERS_MAX: usize = 64;
/// Files that rustup and pyenv-style shims read in the current folder and its parents.
const CHOICES: &[&str] =
    &["rust-toolchain", "rust-toolchain.toml", ".python-version", ".node-version"];
const RUSTUP_FOLDER: &str = "toolchains";
const SHIM_FOLDER: &str = "shims";
const VERSIONS_FOLDER: &str = "versions";

static ANSWERS: Mutex<Vec<Answer>> = Mutex::new(Vec::new());

/// A question to a shim: its arguments and working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) file: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) folder: PathBuf,
}

struct Answer {
    question: Question,
    lines: Vec<PathBuf>,
    /// The files that the answer depends on.
    says: Vec<(PathBuf, Option<Stamp>)>,
}

/// The cached answer, if it is still valid.
pub(super) fn remembered(question: &Question) -> Option<Vec<PathBuf>> {
    let answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = answers.iter().find(|answer| answer.question == *question)?;
    known.says.iter().all(|(path, then)| Stamp::of(path) == *then).then(|| known.lines.clone())
}

/// Caches the answer to a question asked at `asked`.
pub(super) fn remember(question: Question, lines: &[PathBuf], asked: SystemTime) {
    let Some(paths) = lines.first().and_then(|program| dependencies_of(&question, program)) else {
        return;
    };
    let says: Vec<_> = paths
        .into_iter()
        .map(|path| {
            let stamp = Stamp::of(&path);
            (path, stamp)
        })
        .collect();
    if says.iter().any(|(_, stamp)| stamp.is_some_and(|stamp| !stamp.is_settled(asked))) {
        return;
    }
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    answers.retain(|answer| answer.question != question);
    if answers.len() >= ANSWERS_MAX {
        answers.remove(0);
    }
    answers.push(Answer { question, lines: lines.to_vec(), says });
}

/// The files that the answer depends on; `None` if unknown.
fn dependencies_of(question: &Question, program: &Path) -> Option<Vec<PathBuf>> {
    let file = &question.file;
    let mut says = vec![file.clone(), program.to_owned()];
    if file.canonicalize().ok()? == program.canonicalize().ok()? {
        // Python reads `pyvenv.cfg` of its virtual environment.
        says.extend(file.ancestors().skip(1).take(2).map(|folder| folder.join("pyvenv.cfg")));
        return Some(says);
    }
    // `<root>/toolchains/<name>/bin/cargo`, `<root>/versions/<name>/bin/python`
    let versions = program.ancestors().nth(3)?;
    let root = versions.parent()?;
    if versions.ends_with(RUSTUP_FOLDER) {
        says.extend([versions.to_owned(), root.join("settings.toml")]);
    } else if versions.ends_with(VERSIONS_FOLDER) && file.parent() == Some(&root.join(SHIM_FOLDER))
    {
        says.extend([versions.to_owned(), root.join("version")]);
    } else {
        return None;
    }
    says.extend(
        question.folder.ancestors().flat_map(|folder| CHOICES.iter().map(|name| folder.join(name))),
    );
    Some(says)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    /// A home with a pyenv shim for two versions, and a project.
    fn home() -> (tempfile::TempDir, Question, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in [
            "pyenv/shims/python",
            "pyenv/versions/3.11/bin/python",
            "pyenv/version",
            "home/project/README",
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), path).unwrap();
        }
        let file = root.join("pyenv/shims/python");
        let question =
            Question { file, arguments: vec!["-V".to_owned()], folder: root.join("home/project") };
        (folder, question, vec![root.join("pyenv/versions/3.11/bin/python")])
    }

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(10)
    }

    #[test]
    fn an_answer_is_valid_until_a_dependency_changes() {
        for touched in [
            "home/.python-version",
            "home/project/.python-version",
            "pyenv/version",
            "pyenv/shims/python",
            "pyenv/versions/3.12",
            "pyenv/versions/3.11/bin/python",
        ] {
            let (folder, question, lines) = home();
            remember(question.clone(), &lines, later());
            assert_eq!(remembered(&question), Some(lines.clone()), "{touched}");
            assert_eq!(
                remembered(&Question { folder: folder.path().to_owned(), ..question.clone() }),
                None
            );
            fs::write(folder.path().join("home/project/README"), "unrelated").unwrap();
            assert_eq!(remembered(&question), Some(lines), "{touched}");
            fs::write(folder.path().join(touched), "something else").unwrap();
            assert_eq!(remembered(&question), None, "{touched}");
        }
    }

    #[test]
    fn answers_with_recently_changed_files_are_not_cached() {
        let (_folder, question, lines) = home();
        remember(question.clone(), &lines, SystemTime::now());
        assert_eq!(remembered(&question), None);
    }

    #[test]
    fn unknown_shims_are_not_cached() {
        let (folder, question, _) = home();
        let elsewhere = folder.path().join("home/project/README");
        remember(question.clone(), &[elsewhere], later());
        assert_eq!(remembered(&question), None);
        remember(question.clone(), &[], later());
        assert_eq!(remembered(&question), None);
    }

    #[test]
    fn a_real_program_is_cached() {
        let (folder, question, _) = home();
        let itself = vec![question.file.clone()];
        remember(question.clone(), &itself, later());
        assert_eq!(remembered(&question), Some(itself));
        fs::write(folder.path().join("pyenv/pyvenv.cfg"), "home = /usr/bin").unwrap();
        assert_eq!(remembered(&question), None);
    }
}
