//! Finds the programs that a verdict depends on, before an agent works: their absolute paths behind
//! all shims.
//!
//! A rustup proxy reads `rust-toolchain.toml`, a pyenv shim `.python-version`, and a candidate can
//! write both. So each shim is asked for its real program in a sandbox.

use std::ffi::{OsStr, OsString};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use super::answers::{self, Question};
use crate::process::{Limits, Program, Stop};
use crate::sandbox::{Fence, Sandbox};

/// They answer immediately, unless the machine has fifty concurrent runs.
const ASK: Limits = Limits { wall: Duration::from_secs(120), output_bytes_max: 64 << 10 };
const RUSTUP: &str = "rustup";
/// Folders of the home, relative to it, in which programs are installed and keep their data.
const SHARED: &[&str] = &["", ".local", ".cargo", "go"];

/// How a program reports its real path: on the first line, followed by folders that it needs.
const ASKED: &[(&str, &[&str])] =
    &[("python", PYTHON), ("python3", PYTHON), ("node", &["-p", "process.execPath"])];
const PYTHON: &[&str] =
    &["-I", "-c", "import sys; print(sys.executable, sys.prefix, sys.base_prefix, sep='\\n')"];

/// Where to search.
#[derive(Clone, Debug)]
pub struct Search<'a> {
    /// The user's PATH.
    pub path: &'a OsStr,
    /// The checkout or worktree in which shims are asked.
    pub folder: &'a Path,
    /// The user's home, which is never needed as a whole.
    pub home: Option<&'a Path>,
    /// Folders that agents can write to. Programs in them are refused.
    pub refused: &'a [PathBuf],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    pub name: String,
    pub path: PathBuf,
    /// Folders that it needs to work.
    pub needs: Vec<PathBuf>,
}

#[derive(Clone, Debug, Default)]
pub struct Tools {
    pub found: Vec<Tool>,
    pub missing: Vec<String>,
    /// Programs that an agent can write to.
    pub refused: Vec<(String, PathBuf)>,
    /// The folders of the user's PATH that agents cannot write to, those of the tools first.
    pub path: Vec<PathBuf>,
}

impl Tools {
    pub fn resolve(names: &[&str], search: &Search<'_>, stop: &Stop) -> Result<Self> {
        let mut tools = Self::default();
        let known: Vec<PathBuf> =
            std::env::split_paths(search.path).filter(|folder| search.allows(folder)).collect();
        // Search the whole PATH: a program of an agent that comes first has to be reported.
        let first = |name: &str| {
            std::env::split_paths(search.path)
                .map(|folder| folder.join(name))
                .find(|file| runs(file))
        };
        let files: Vec<(&str, Option<PathBuf>)> =
            names.iter().map(|name| (*name, first(name))).collect();
        // Programs take time to start, so ask all of them in parallel.
        let asked: Vec<Option<Result<Tool>>> = thread::scope(|scope| {
            let ask = |(name, file): &(&'_ str, Option<PathBuf>)| {
                let (name, file) = ((*name).to_owned(), file.clone()?);
                Some(scope.spawn(move || {
                    behind(&name, &file, search, stop).with_context(|| format!("find {name}"))
                }))
            };
            let asked: Vec<_> = files.iter().map(ask).collect();
            asked
                .into_iter()
                .map(|one| Some(one?.join().unwrap_or_else(|panic| resume_unwind(panic))))
                .collect()
        });
        for ((name, file), tool) in files.iter().zip(asked) {
            let (Some(file), Some(tool)) = (file, tool) else {
                tools.missing.push((*name).to_owned());
                continue;
            };
            let tool = tool?;
            if search.allows(file) && search.allows(&tool.path) {
                tools.found.push(tool);
            } else {
                tools.refused.push(((*name).to_owned(), tool.path));
            }
        }
        let own = tools.found.iter().filter_map(|tool| tool.path.parent()).map(Path::to_path_buf);
        for folder in own.chain(known) {
            if !tools.path.contains(&folder) {
                tools.path.push(folder);
            }
        }
        Ok(tools)
    }

    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.found.iter().find(|tool| tool.name == name)
    }

    /// The folders as the value of PATH.
    pub fn path_variable(&self) -> OsString {
        // PATH cannot contain a folder with a colon.
        let sayable = self
            .path
            .iter()
            .filter(|folder| !folder.as_os_str().as_encoded_bytes().contains(&b':'));
        std::env::join_paths(sayable).unwrap_or_default()
    }
}

impl Search<'_> {
    /// Whether a path is absolute, and agents can write neither to it nor to its target.
    fn allows(&self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let inside = |folder: &PathBuf| {
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            path.starts_with(&folder) || real.starts_with(&folder)
        };
        path.is_absolute() && !self.refused.iter().any(inside)
    }
}

fn runs(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    const ANYBODY_RUNS: u32 = 0o111;
    file.metadata()
        .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & ANYBODY_RUNS != 0)
}

/// The real program behind a shim; the file itself if it is not a shim or does not answer.
fn behind(name: &str, file: &Path, search: &Search<'_>, stop: &Stop) -> Result<Tool> {
    let beside = file.with_file_name(RUSTUP);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let question = |file: &Path, arguments| Question {
        file: file.to_owned(),
        arguments,
        folder: search.folder.into(),
    };
    let question = if let Some((_, args)) = ASKED.iter().find(|(known, _)| *known == name) {
        Some(question(file, words(args)))
    } else if file != beside && is_proxy(file, &beside) {
        Some(question(&beside, words(&["which", name])))
    } else {
        None
    };
    // Never start a program from an agent's folder.
    let lines = question.filter(|_| search.allows(file)).map(|question| ask(question, stop));
    let lines = lines.transpose()?.unwrap_or_default();
    let path = lines.first().cloned().unwrap_or_else(|| file.to_owned());
    let real = path.canonicalize().with_context(|| path.display().to_string())?;
    let mut needs: Vec<PathBuf> =
        [prefix(&path, search.home), prefix(&real, search.home)].into_iter().flatten().collect();
    needs.extend(lines.into_iter().skip(1).filter(|folder| Some(folder.as_path()) != search.home));
    needs.sort();
    needs.dedup();
    Ok(Tool { name: name.to_owned(), path, needs })
}

/// The absolute paths in the answer; empty if there is none.
fn ask(question: Question, stop: &Stop) -> Result<Vec<PathBuf>> {
    if let Some(known) = answers::remembered(&question) {
        return Ok(known);
    }
    let asked = SystemTime::now();
    let program = Program::new(&question.file).args(&question.arguments).cwd(&question.folder);
    // Files of the folder choose which program a shim starts, even one in the folder. rustup starts
    // none, and may have to download a toolchain.
    let answer = if question.file.ends_with(RUSTUP) {
        program.output(ASK, stop)?
    } else {
        let fence = Fence::only_reading(&question.folder);
        Sandbox::here()?.run(&program, &fence, ASK, stop)?.output
    };
    if !answer.success() {
        return Ok(Vec::new());
    }
    let lines: Vec<PathBuf> =
        answer.stdout_text().lines().map(PathBuf::from).filter(|path| path.is_absolute()).collect();
    answers::remember(question, &lines, asked);
    Ok(lines)
}

/// Whether a file is a rustup proxy: a link to rustup, or the same file under another name.
fn is_proxy(file: &Path, rustup: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| path.metadata().map(|facts| (facts.dev(), facts.ino())).ok();
    identity(file).is_some() && identity(file) == identity(rustup)
}

/// The installation folder of a program: the parent of `bin`, but never a whole home or root.
fn prefix(program: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folder = program.parent()?;
    let above = folder.parent().filter(|_| folder.ends_with("bin") || folder.ends_with("sbin"));
    // A shared folder is not an installation.
    let is_shared =
        |path: &Path| home.is_some_and(|home| SHARED.iter().any(|name| path == home.join(name)));
    let is_whole =
        |path: &Path| path == Path::new("/") || is_shared(path) || path.join(".git").exists();
    let prefix = above.filter(|above| !is_whole(above)).unwrap_or(folder);
    (!is_whole(prefix)).then(|| prefix.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_is_never_a_whole_home() {
        let home = Some(Path::new("/h/ada"));
        let rows = [
            (
                "/h/ada/.rustup/toolchains/stable/bin/cargo",
                Some("/h/ada/.rustup/toolchains/stable"),
            ),
            ("/usr/bin/node", Some("/usr")),
            ("/h/ada/bin/tool", Some("/h/ada/bin")),
            ("/h/ada/.local/bin/tool", Some("/h/ada/.local/bin")),
            ("/h/ada/tool", None),
            ("/bin/sh", Some("/bin")),
        ];
        for (program, expected) in rows {
            assert_eq!(prefix(Path::new(program), home), expected.map(PathBuf::from), "{program}");
        }
    }
}
