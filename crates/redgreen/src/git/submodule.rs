//! Submodules in a worktree of ours, filled from what the user's checkout already has: no network, and no word written
//! to the user's configuration.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Git;
use super::call::{CHECKOUT_MAX, Call};

/// A submodule named in the checkout's `.gitmodules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submodule {
    pub name: String,
    pub path: String,
    /// The repository it was cloned to; absent when the user never initialised it.
    pub store: Option<PathBuf>,
}

impl Git {
    pub fn submodules(&self) -> Result<Vec<Submodule>> {
        if !self.root.join(".gitmodules").is_file() {
            return Ok(Vec::new());
        }
        let asked = self
            .call(["config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"])
            .ask("read .gitmodules")?;
        let text = asked.stdout_text();
        let submodule = |entry: &str| {
            let (key, path) = entry.split_once('\n')?;
            let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
            Some(Submodule { name: name.to_owned(), path: path.to_owned(), store: self.store(name, path) })
        };
        Ok(text.split('\0').filter_map(submodule).collect())
    }

    /// Absorbed into the git folder, as they are by default, or still inside the checkout as long ago.
    fn store(&self, name: &str, path: &str) -> Option<PathBuf> {
        let places = [self.common_dir.join("modules").join(name), self.root.join(path).join(".git")];
        places.into_iter().find(|place| place.is_dir())
    }

    /// Fills what can be filled and says what could not.
    pub(super) fn fill_submodules(&self, folder: &Path) -> Vec<String> {
        if !folder.join(".gitmodules").is_file() {
            return Vec::new();
        }
        let submodules = match self.submodules() {
            Ok(submodules) => submodules,
            Err(error) => return vec![format!("submodules are empty in the worktree: {error:#}")],
        };
        let initialised = submodules.iter().filter_map(|submodule| Some((submodule, submodule.store.as_deref()?)));
        initialised.filter_map(|(submodule, store)| fill(folder, submodule, store)).collect()
    }
}

fn fill(folder: &Path, submodule: &Submodule, store: &Path) -> Option<String> {
    let Submodule { name, path, .. } = submodule;
    let filled = Call::plumbing(folder, &[])
        .args([
            "-c",
            &format!("submodule.{name}.active=true"),
            "-c",
            &format!("submodule.{name}.update=checkout"),
            "-c",
        ])
        .arg(format!("submodule.{name}.url={}", store.display()))
        .args(["submodule", "--quiet", "update", "--no-recommend-shallow", "--", path])
        // Nothing but local files, whatever the configuration allows.
        .env("GIT_ALLOW_PROTOCOL", "file")
        .wall(CHECKOUT_MAX)
        .run(&format!("fill submodule {path}"));
    match filled {
        Err(error) => Some(format!("submodule {path} is empty in the worktree: {error:#}")),
        Ok(_) if folder.join(path).join(".gitmodules").is_file() => {
            Some(format!("the submodules of submodule {path} are empty in the worktree"))
        }
        Ok(_) => None,
    }
}
