//! Fills the submodules of our worktrees from the user's checkout, without the network and without
//! writing to the user's configuration.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::call::{CHECKOUT_MAX, Call};
use super::worktree::remove_folder;
use super::{Git, Worktree};

/// A submodule named in the checkout's `.gitmodules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submodule {
    pub name: String,
    pub path: String,
    /// The clone of the submodule; `None` if the user never initialised it.
    pub store: Option<PathBuf>,
}

impl Git {
    pub fn submodules(&self) -> Result<Vec<Submodule>> {
        if !self.root.join(".gitmodules").is_file() {
            return Ok(Vec::new());
        }
        let asked = self
            .call([
                "config",
                "-z",
                "--file",
                ".gitmodules",
                "--get-regexp",
                r"^submodule\..*\.path$",
            ])
            .ask("read .gitmodules")?;
        let text = asked.stdout_text();
        let submodule = |entry: &str| {
            let (key, path) = entry.split_once('\n')?;
            let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
            // `.gitmodules` is untrusted: a name or path with `..` would lead out of our folders,
            // and a name with `=` would be parsed as another setting after `-c`.
            if !is_inside(name) || !is_inside(path) || name.contains('=') {
                return None;
            }
            Some(Submodule {
                name: name.to_owned(),
                path: path.to_owned(),
                store: self.store(name, path),
            })
        };
        Ok(text.split('\0').filter_map(submodule).collect())
    }

    /// Either in the git folder, which is the default, or inside the checkout, as old versions of
    /// git did it.
    fn store(&self, name: &str, path: &str) -> Option<PathBuf> {
        let places =
            [self.common_dir.join("modules").join(name), self.root.join(path).join(".git")];
        places.into_iter().find(|place| place.is_dir())
    }

    /// Submodules of a worktree whose content differs from their commit. Ignored files do not
    /// count. Runs one process for each submodule.
    pub(super) fn touched_submodules(&self, worktree: &Worktree) -> Result<Vec<String>> {
        let mut touched = Vec::new();
        if !worktree.path.join(".gitmodules").is_file() {
            return Ok(touched);
        }
        let ignores = format!("core.excludesFile={}", worktree.ignores().display());
        for submodule in self.submodules()? {
            let folder = worktree.path.join(&submodule.path);
            if is_linked(&worktree.path, &submodule.path) {
                touched.push(submodule.path);
                continue;
            }
            if !folder.join(".git").exists() {
                continue;
            }
            let asked = Call::plumbing(&folder, &[])
                .args([
                    "-c",
                    &ignores,
                    "status",
                    "--porcelain",
                    "--untracked-files=all",
                    "--ignore-submodules=none",
                ])
                .wall(CHECKOUT_MAX)
                .ask(&format!("look into submodule {}", submodule.path))?;
            // A submodule that git cannot read has changed too.
            if !asked.success() || !asked.stdout.is_empty() {
                touched.push(submodule.path);
            }
        }
        Ok(touched)
    }

    /// Recreates submodules that differ from the index. They are not reset in place: an agent may
    /// have pointed them to one of the user's repositories.
    pub(super) fn restore_submodules(&self, worktree: &Worktree, admin: &Path) -> Result<()> {
        if !worktree.path.join(".gitmodules").is_file() {
            return Ok(());
        }
        let moved = self
            .call_in(worktree)
            .args(["diff-files", "-z", "--name-only", "--ignore-submodules=dirty"])
            .run("find submodules that were moved")?;
        let moved: Vec<&[u8]> = moved.split(|byte| *byte == 0).collect();
        let touched = self.touched_submodules(worktree)?;
        let mut again = false;
        for submodule in self.submodules()? {
            let path = &submodule.path;
            if submodule.store.is_some()
                && (moved.contains(&path.as_bytes()) || touched.contains(path))
            {
                again = true;
                for (base, below) in
                    [(&worktree.path, path), (&admin.join("modules"), &submodule.name)]
                {
                    // An agent may have replaced a parent folder by a symbolic link.
                    let folder = base.join(below);
                    ensure!(
                        !is_linked(base, below),
                        "remove {}: its path contains a link",
                        folder.display()
                    );
                    remove_folder(&folder)
                        .with_context(|| format!("remove {}", folder.display()))?;
                }
            }
        }
        if again {
            self.fill_submodules(&worktree.path);
        }
        Ok(())
    }

    /// Fills the submodules and returns a warning for each one that stays empty.
    pub(super) fn fill_submodules(&self, folder: &Path) -> Vec<String> {
        if !folder.join(".gitmodules").is_file() {
            return Vec::new();
        }
        let submodules = match self.submodules() {
            Ok(submodules) => submodules,
            Err(error) => return vec![format!("submodules are empty in the worktree: {error:#}")],
        };
        let initialised = submodules
            .iter()
            .filter_map(|submodule| Some((submodule, submodule.store.as_deref()?)));
        initialised.filter_map(|(submodule, store)| fill(folder, submodule, store)).collect()
    }
}

/// Whether a path is relative, without `..`, and cannot be parsed as an option.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let plain = parts
        .all(|part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git")));
    plain && !path.is_empty() && !path.starts_with('-') && !path.chars().any(char::is_control)
}

/// Whether any folder of the path is a symbolic link.
fn is_linked(base: &Path, below: &str) -> bool {
    let mut place = base.to_owned();
    Path::new(below).components().any(|part| {
        place.push(part);
        place.is_symlink()
    })
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
        // Only clone local files, whatever the configuration allows.
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
