//! Commands in the repository's own configuration that git runs when it checks out, compares or
//! merges files. A clone does not copy them. A repository copied as a folder does contain them, and
//! its user may not know.

use anyhow::Result;

use super::Git;
use super::call::Call;

/// Settings whose commands git runs by itself. Hooks, editors and signing are disabled for each
/// call.
const KEYS: &str = r"^(filter\..*\.(clean|smudge|process)|merge\..*\.driver)$";
/// The settings written by the Git LFS installer, which are safe.
const LARGE_FILES: &[&str] =
    &["git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process"];
/// An empty environment variable, for settings that have to be empty.
const EMPTY: &str = "REDGREEN_EMPTY";

impl Git {
    /// The keys and commands of filters and merge drivers in this repository's own configuration.
    /// Runs one process and none of the commands.
    pub fn configured_commands(&self) -> Result<Vec<(String, String)>> {
        let asked = self
            .call(["config", "--show-scope", "--includes", "-z", "--get-regexp", KEYS])
            .ask("read the commands of the git configuration")?;
        let text = asked.stdout_text();
        let mut fields = text.split('\0');
        let mut found = Vec::new();
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            let (key, line) = entry.split_once('\n').unwrap_or((entry, ""));
            if matches!(scope, "local" | "worktree")
                && !line.is_empty()
                && !LARGE_FILES.contains(&line)
            {
                found.push((key.to_owned(), line.to_owned()));
            }
        }
        Ok(found)
    }

    /// A call that runs none of these commands, for read-only verbs.
    pub(super) fn call_without_commands<const N: usize>(&self, args: [&str; N]) -> Result<Call> {
        let mut options = Vec::new();
        for (key, _) in self.configured_commands()? {
            // Not `-c`: it splits at the first `=`, which may be part of the key.
            options.push(format!("--config-env={key}={EMPTY}").into());
            if let Some((filter, _)) = key.rsplit_once('.') {
                options.push(format!("--config-env={filter}.required={EMPTY}").into());
            }
        }
        Ok(Call::plumbing(&self.root, &options).env(EMPTY, "").args(args))
    }
}
