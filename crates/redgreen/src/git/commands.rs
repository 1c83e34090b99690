//! Command lines in the repository's own configuration that git runs when it checks out, compares or merges files. A
//! clone does not bring them along; a repository that was copied as a folder does, and its user may not know.

use anyhow::Result;

use super::Git;
use super::call::Call;

/// What git runs by itself. Hooks, editors, signatures and the like are switched off call by call.
const KEYS: &str = r"^(filter\..*\.(clean|smudge|process)|merge\..*\.driver)$";
/// Git's own program for large files, as its installer writes it: as good as a part of git.
const LARGE_FILES: &[&str] = &["git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process"];
/// A variable with nothing in it, for settings that are to be empty.
const EMPTY: &str = "REDGREEN_EMPTY";

impl Git {
    /// The keys and command lines of filters and merge drivers that this repository's own configuration names. One
    /// process; no file is looked at and nothing is run.
    pub fn configured_commands(&self) -> Result<Vec<(String, String)>> {
        let asked = self
            .call(["config", "--show-scope", "--includes", "-z", "--get-regexp", KEYS])
            .ask("read the commands of the git configuration")?;
        let text = asked.stdout_text();
        let mut fields = text.split('\0');
        let mut found = Vec::new();
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            let (key, line) = entry.split_once('\n').unwrap_or((entry, ""));
            if matches!(scope, "local" | "worktree") && !line.is_empty() && !LARGE_FILES.contains(&line) {
                found.push((key.to_owned(), line.to_owned()));
            }
        }
        Ok(found)
    }

    /// A call that runs none of these commands, for verbs that only look.
    pub(super) fn call_without_commands<const N: usize>(&self, args: [&str; N]) -> Result<Call> {
        let mut options = Vec::new();
        for (key, _) in self.configured_commands()? {
            // Not `-c`, which takes what is before the first `=` for the key.
            options.push(format!("--config-env={key}={EMPTY}").into());
            if let Some((filter, _)) = key.rsplit_once('.') {
                options.push(format!("--config-env={filter}.required={EMPTY}").into());
            }
        }
        Ok(Call::plumbing(&self.root, &options).env(EMPTY, "").args(args))
    }
}
