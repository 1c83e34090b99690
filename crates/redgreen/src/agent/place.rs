//! Resolves a path given by an agent to a file: inside the worktree, not in git's folder, not a
//! secret.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::guard;
use redgreen_core::report::places::Places;
use redgreen_core::syntax::Language;
use rustix::fs::{Mode, OFlags, mkdirat};
use rustix::io::Errno;

use crate::{foreign, platform};

/// Larger files are refused.
pub(super) const FILE_BYTES_MAX: u64 = 8 << 20;

/// Words of secret names that also occur in names of source files.
const ABOUT_SECRETS: [&str; 2] = ["secret", "credentials"];
/// Templates of secret files.
const EXAMPLE_ENDINGS: [&str; 4] = [".example", ".sample", ".template", ".dist"];

/// A worktree by its real path.
#[derive(Clone, Debug)]
pub(super) struct Place {
    root: PathBuf,
    /// The given path, which may contain links.
    named: PathBuf,
}

/// Why a file's text is not available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoText {
    Missing(String),
    Refused(String),
}

impl Place {
    pub(super) fn new(worktree: &Path) -> Result<Self> {
        let root =
            worktree.canonicalize().with_context(|| format!("find {}", worktree.display()))?;
        Ok(Self { root, named: worktree.to_owned() })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The full path, or why it is refused.
    pub(super) fn find(&self, path: &str) -> Result<PathBuf, String> {
        let inside = self.inside(path)?;
        if inside.components().next().is_none() {
            return Ok(self.root.clone());
        }
        let full = self.root.join(&inside);
        if let Some(why) = off_limits(&inside) {
            return Err(format!("{path} {why}"));
        }
        let real = foreign::stays(&self.root, &full).map_err(|why| format!("{path}: {why}"))?;
        // A link must not lead to a forbidden file.
        match real.strip_prefix(&self.root).ok().and_then(off_limits) {
            Some(why) => Err(format!("{path} {why}")),
            None => Ok(full),
        }
    }

    /// The text of a file of limited size.
    pub(super) fn text(&self, path: &str) -> Result<String, NoText> {
        let full = self.find(path).map_err(NoText::Refused)?;
        let told = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => NoText::Missing(format!("{path} does not exist")),
            _ => NoText::Refused(format!("{path}: {error}")),
        };
        // Do not block on a pipe without a writer.
        let file = self.open(&full, OFlags::RDONLY | OFlags::NONBLOCK).map_err(told)?;
        if !file.metadata().map_err(told)?.is_file() {
            return Err(NoText::Refused(format!("{path} is not a file")));
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(told)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(NoText::Refused(format!(
                "{path} is larger than {} MiB",
                FILE_BYTES_MAX >> 20
            )));
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(text),
            Ok(_) | Err(_) => Err(NoText::Refused(format!("{path} is not text"))),
        }
    }

    /// Creates or replaces a file, with its parent folders.
    pub(super) fn write(&self, path: &str, content: &str) -> Result<(), String> {
        let full = self.find(path)?;
        if full.is_dir() {
            return Err(format!("{path} is a folder"));
        }
        if content.len() as u64 > FILE_BYTES_MAX {
            return Err(format!("{path} would be larger than {} MiB", FILE_BYTES_MAX >> 20));
        }
        let told = |error: std::io::Error| format!("{path}: {error}");
        self.make_folder(full.parent().unwrap_or(&self.root)).map_err(told)?;
        let mut file =
            self.open(&full, OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK).map_err(told)?;
        if !file.metadata().map_err(told)?.is_file() {
            return Err(format!("{path} is not a file"));
        }
        // Truncate only after the checks.
        file.set_len(0).map_err(told)?;
        file.write_all(content.as_bytes()).map_err(told)
    }

    /// Opens a file strictly below the root: a program in the worktree could replace a folder by a
    /// link between the check and this call.
    fn open(&self, full: &Path, flags: OFlags) -> std::io::Result<File> {
        let inside = full
            .strip_prefix(&self.root)
            .map_err(|_| std::io::Error::from(ErrorKind::PermissionDenied))?;
        let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
        let mode =
            if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o666) } else { Mode::empty() };
        self.still_allowed(File::from(platform::open_beneath(&self.root, inside, flags, mode)?))
    }

    /// Checks again: a link in the worktree may point to a forbidden file since the first check.
    fn still_allowed(&self, file: File) -> std::io::Result<File> {
        let inside = platform::path_of(&file)
            .ok()
            .and_then(|real| real.strip_prefix(&self.root).map(Path::to_owned).ok());
        match inside.as_deref().and_then(off_limits) {
            Some(why) => Err(std::io::Error::new(ErrorKind::PermissionDenied, why)),
            None => Ok(file),
        }
    }

    fn make_folder(&self, folder: &Path) -> std::io::Result<()> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|part| !part.is_dir()).collect();
        for part in missing.into_iter().rev() {
            let above = self.open(part.parent().unwrap_or(&self.root), platform::FOLDER)?;
            let name = part.file_name().unwrap_or_default();
            match mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A path as the model should write it.
    pub(super) fn shown(&self, full: &Path) -> String {
        full.strip_prefix(&self.root).unwrap_or(full).display().to_string()
    }

    /// Removes the worktree's path from a text. It is long and useless for a model.
    pub(super) fn plain(&self, text: &str) -> String {
        Places::of(self.root.to_str()).out_of(text)
    }

    fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let named = Path::new(path.trim());
        if path.contains('\0') {
            return Err("the path contains a NUL character".to_owned());
        }
        let named = named
            .strip_prefix(&self.root)
            .or_else(|_| named.strip_prefix(&self.named))
            .unwrap_or(named);
        if named.has_root() {
            return Err(format!("{path} is outside the project; paths are relative to it"));
        }
        let mut inside = PathBuf::new();
        for part in named.components() {
            match part {
                Component::Normal(name) => inside.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(format!(
                        "{path} leads out with \"..\"; name it from the project's root"
                    ));
                }
            }
        }
        Ok(inside)
    }
}

/// Why a model may not access a file of the project.
pub(super) fn off_limits(inside: &Path) -> Option<&'static str> {
    if inside.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
        return Some("is git's own");
    }
    holds_secrets(inside).then_some("may hold secrets, and is not shown or changed")
}

/// Whether a file may contain secrets, judged by its name and those of its folders.
pub(super) fn holds_secrets(inside: &Path) -> bool {
    let in_folder = inside.to_str().and_then(guard::secret_folder).is_some();
    in_folder
        || inside
            .components()
            .any(|part| is_secret(&part.as_os_str().to_string_lossy().to_lowercase()))
}

fn is_secret(name: &str) -> bool {
    if EXAMPLE_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    // Code about secrets is not a secret, and neither is a folder of such code.
    let is_code = Language::of_path(name) != Language::Other || !name.contains('.');
    guard::secret_name(name).is_some_and(|pattern| !is_code || !ABOUT_SECRETS.contains(&pattern))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn resolves_only_allowed_paths_of_the_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/a.py"), "").unwrap();
        symlink("/etc", root.join("outside")).unwrap();
        symlink("/no/such/place", root.join("dangling")).unwrap();
        symlink("src", root.join("inside")).unwrap();
        std::fs::write(root.join(".git"), "gitdir: elsewhere").unwrap();
        symlink(".git", root.join("alias")).unwrap();
        let place = Place::new(&root).unwrap();
        let absolute = root.join("src/a.py").display().to_string();
        for (path, expected) in [
            ("src/a.py", "src/a.py"),
            ("./src/new/b.py", "src/new/b.py"),
            (absolute.as_str(), "src/a.py"),
            ("inside/a.py", "inside/a.py"),
            (".", ""),
            ("/etc/passwd", "outside the project"),
            ("../other", "leads out with"),
            ("src/../../other", "leads out with"),
            ("outside/passwd", "through a link"),
            ("dangling", "leads nowhere"),
            (".git", "git's own"),
            ("alias", "git's own"),
            ("sub/.GIT/config", "git's own"),
            (".env", "may hold secrets"),
            ("deploy/.env.production", "may hold secrets"),
            (".env.example", ".env.example"),
            ("tls/server.key", "may hold secrets"),
            ("config/secrets.yaml", "may hold secrets"),
            ("deploy/.ssh/config", "may hold secrets"),
            ("src/secrets.py", "src/secrets.py"),
            ("a\0b", "NUL"),
        ] {
            match place.find(path) {
                Ok(full) => assert_eq!(place.shown(&full), expected, "{path}"),
                Err(why) => assert!(why.contains(expected), "{path}: {why}"),
            }
        }
    }

    #[test]
    fn reads_and_writes_only_below_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(root.join("src")).unwrap();
        symlink(folder.path(), root.join("out")).unwrap();
        symlink("src", root.join("inside")).unwrap();
        platform::make_pipe(&root.join("pipe"));
        let place = Place::new(&root).unwrap();
        place.write("a/b/c.py", "x\n").unwrap();
        place.write("inside/d.py", "y\n").unwrap();
        assert_eq!(place.text("a/b/c.py").as_deref(), Ok("x\n"));
        assert_eq!(place.text(&root.join("src/d.py").display().to_string()).as_deref(), Ok("y\n"));
        assert_eq!(place.text("none"), Err(NoText::Missing("none does not exist".to_owned())));
        for (path, why) in
            [("out/e", "through a link"), ("src", "is not a file"), ("pipe", "is not a file")]
        {
            assert!(
                matches!(place.text(path), Err(NoText::Refused(told)) if told.contains(why)),
                "{path}"
            );
        }
        for (path, why) in [("out/e", "through a link"), ("src", "is a folder"), ("pipe", "pipe")] {
            assert!(place.write(path, "").is_err_and(|told| told.contains(why)), "{path}");
        }
        // Also without the first check.
        std::fs::write(root.join(".git"), "gitdir: elsewhere").unwrap();
        symlink(".git", root.join("alias")).unwrap();
        assert!(place.open(&root.join("alias"), OFlags::WRONLY).is_err());
        assert!(place.open(&root.join("out/e"), OFlags::WRONLY | OFlags::CREATE).is_err());
        assert!(!folder.path().join("e").exists());
    }
}
