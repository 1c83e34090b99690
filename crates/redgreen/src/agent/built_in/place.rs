//! The one way from a path that a model names to a file: in the worktree, not git's, not a secret.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::guard;
use redgreen_core::report::places::Places;
use redgreen_core::syntax::Language;

use crate::agent::place::stays;

/// Parts of names that code has, too.
const ABOUT_SECRETS: [&str; 2] = ["secret", "credentials"];
/// Files that show how a secret one is laid out.
const EXAMPLE_ENDINGS: [&str; 4] = [".example", ".sample", ".template", ".dist"];

/// A worktree, by its real path.
#[derive(Clone, Debug)]
pub(super) struct Place {
    root: PathBuf,
}

impl Place {
    pub(super) fn new(worktree: &Path) -> Result<Self> {
        let root = worktree.canonicalize().with_context(|| format!("find {}", worktree.display()))?;
        Ok(Self { root })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The full path, or why there is none for the model.
    pub(super) fn find(&self, path: &str) -> Result<PathBuf, String> {
        let inside = self.inside(path)?;
        let full = self.root.join(&inside);
        if inside.components().next().is_none() {
            return Ok(full);
        }
        if let Some(why) = off_limits(&inside) {
            return Err(format!("{path} {why}"));
        }
        stays(&self.root, &full).map_err(|why| format!("{path}: {why}"))?;
        Ok(full)
    }

    /// A path as the model should write it.
    pub(super) fn shown(&self, full: &Path) -> String {
        full.strip_prefix(&self.root).unwrap_or(full).display().to_string()
    }

    /// A text without the worktree's own path, which is long and means nothing to a model.
    pub(super) fn plain(&self, text: &str) -> String {
        Places::of(self.root.to_str()).out_of(text)
    }

    fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let named = Path::new(path.trim());
        if path.contains('\0') {
            return Err("the path holds a NUL character".to_owned());
        }
        let named = named.strip_prefix(&self.root).unwrap_or(named);
        if named.has_root() {
            return Err(format!("{path} is outside the project; paths are relative to it"));
        }
        let mut inside = PathBuf::new();
        for part in named.components() {
            match part {
                Component::Normal(name) => inside.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(format!("{path} leads out with \"..\"; name it from the project's root"));
                }
            }
        }
        Ok(inside)
    }
}

/// Why a file of the project is none of a model's business.
pub(super) fn off_limits(inside: &Path) -> Option<&'static str> {
    for part in inside.components() {
        let name = part.as_os_str().to_string_lossy().to_lowercase();
        if name == ".git" {
            return Some("is git's own");
        }
        if is_secret(&name) {
            return Some("may hold secrets, and is not shown or changed");
        }
    }
    None
}

fn is_secret(name: &str) -> bool {
    if EXAMPLE_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    // Code about secrets is not one, and neither is a folder of it.
    let is_code = Language::of_path(name) != Language::Other || !name.contains('.');
    guard::secret_name(name).is_some_and(|pattern| !is_code || !ABOUT_SECRETS.contains(&pattern))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_leads_into_the_worktree_or_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/a.py"), "").unwrap();
        symlink("/etc", root.join("outside")).unwrap();
        symlink("/no/such/place", root.join("dangling")).unwrap();
        symlink("src", root.join("inside")).unwrap();
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
            ("sub/.GIT/config", "git's own"),
            (".env", "may hold secrets"),
            ("deploy/.env.production", "may hold secrets"),
            (".env.example", ".env.example"),
            ("tls/server.key", "may hold secrets"),
            ("config/secrets.yaml", "may hold secrets"),
            ("src/secrets.py", "src/secrets.py"),
            ("a\0b", "NUL"),
        ] {
            match place.find(path) {
                Ok(full) => assert_eq!(place.shown(&full), expected, "{path}"),
                Err(why) => assert!(why.contains(expected), "{path}: {why}"),
            }
        }
    }
}
