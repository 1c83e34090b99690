//! A copy of the repository for an agent: the recent history of its worktree without files that
//! contain secrets, without other branches and stashes, and a configuration without credentials.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::guard;

use super::Git;
use super::call::CHECKOUT_MAX;
use super::worktree::remove_folder;
use crate::foreign;

/// The number of commits that are copied, newest first. The copy is a shallow clone.
const COMMITS_MAX: usize = 100;
/// The file in the copy that names the commit it was made from.
const MADE_OF: &str = "made-of";
/// All empty files share this object id, so they are never secret.
const EMPTY_BLOBS: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];
/// Configuration sections about the layout of the repository and the identity of the user. Others
/// may contain credentials or run programs.
const KEPT_SECTIONS: &[&str] =
    &["core", "extensions", "user", "author", "committer", "init", "diff", "merge", "pull"];
/// Keys of these sections that are not copied: they name the user's programs or files, or a ref
/// storage that the copy does not use.
const DROPPED_KEYS: &[&str] = &[
    "askpass",
    "editor",
    "excludesfile",
    "external",
    "fsmonitor",
    "gitproxy",
    "hookspath",
    "pager",
    "partialclone",
    "refstorage",
    "signingkey",
    "sshcommand",
    "tool",
    "worktree",
];
/// The files copied from git's record of the worktree.
const RECORD: &[&str] = &["HEAD", "commondir", "gitdir", "index"];

/// Whether a path of the project contains secrets, judged by its name.
pub type IsSecret<'a> = &'a dyn Fn(&Path) -> bool;

impl Git {
    /// Copies the repository to `place`, which may contain an earlier copy. `rules` identifies the
    /// decisions of `is_secret`: if it changes, the copy is made from scratch. Returns `None` if
    /// the folder is not a worktree of this repository.
    pub fn view(
        &self,
        worktree: &Path,
        place: &Path,
        is_secret: IsSecret<'_>,
        rules: &str,
    ) -> Result<Option<PathBuf>> {
        let Some(admin) = self.admin_dir(worktree)? else { return Ok(None) };
        let act = || format!("copy the repository to {}", place.display());
        let made = foreign::read_text(&place.join(MADE_OF)).unwrap_or_default();
        let made_of =
            made.split_once('\n').filter(|(_, by)| *by == rules).map(|(head, _)| head.to_owned());
        if made_of.is_none() {
            remove_folder(place).with_context(act)?;
        }
        let name = admin.file_name().context("find git's record of the worktree")?;
        let record = place.join("worktrees").join(name);
        // `redgreen` is a mount point: an empty folder hides our own records there.
        for folder in [
            &record,
            &place.join("objects/pack"),
            &place.join("objects/info"),
            &place.join("refs/heads"),
        ] {
            fs::create_dir_all(folder).with_context(act)?;
        }
        for folder in ["info", "redgreen"] {
            fs::create_dir_all(place.join(folder)).with_context(act)?;
        }
        for file in RECORD.iter().filter(|file| admin.join(file).is_file()) {
            fs::copy(admin.join(file), record.join(file)).with_context(act)?;
        }
        let exclude = self.common_dir.join("info/exclude");
        if exclude.is_file() {
            fs::copy(exclude, place.join("info/exclude")).with_context(act)?;
        }
        fs::write(place.join("config"), self.plain_config()?).with_context(act)?;
        let call = self.call(["rev-parse", "--verify", "--quiet"]).arg(head_of(&admin)?);
        let head = call.line("find the worktree's commit")?;
        fs::write(place.join("HEAD"), format!("{head}\n")).with_context(act)?;
        if made_of.as_ref() != Some(&head) {
            self.copy_history(&head, made_of.as_deref(), place, is_secret)?;
            fs::write(place.join(MADE_OF), format!("{head}\n{rules}")).with_context(act)?;
        }
        self.skip_secrets(worktree, &record.join("index"), is_secret)?;
        Ok(Some(place.to_owned()))
    }

    /// Whether the recent history and the configuration contain nothing secret. Without mounts no
    /// copy can replace the repository, so it is either visible as it is or hidden.
    pub fn is_plain(&self, worktree: &Path, is_secret: IsSecret<'_>) -> Result<bool> {
        let Some(admin) = self.admin_dir(worktree)? else { return Ok(false) };
        let config = foreign::read_text(&self.common_dir.join("config")).unwrap_or_default();
        if holds_credentials(&config) {
            return Ok(false);
        }
        let head = self.call(["rev-parse", "--verify", "--quiet"]).arg(head_of(&admin)?);
        let head = head.line("find the worktree's commit")?;
        let mut objects = self.objects_of(&head, None)?.into_iter();
        Ok(!objects.any(|(_, path)| !path.as_os_str().is_empty() && is_secret(&path)))
    }

    /// The objects of the latest commits that are not reachable from `without`, each with a path
    /// that leads to it.
    fn objects_of(&self, head: &str, without: Option<&str>) -> Result<Vec<(String, PathBuf)>> {
        let list = self
            .call(["rev-list", "--objects", "--missing=allow-any"])
            .env("GIT_NO_LAZY_FETCH", "1");
        let list = list.arg(format!("--max-count={COMMITS_MAX}")).arg(head).wall(CHECKOUT_MAX);
        let list = list.args(without.map(|known| format!("^{known}")));
        let listed = list.run("list the objects for the agent")?;
        let objects = listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let object = |line: &[u8]| {
            let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
            let path = super::open::path(line.get(end + 1..).unwrap_or_default());
            (String::from_utf8_lossy(line.get(..end).unwrap_or_default()).into_owned(), path)
        };
        Ok(objects.map(object).collect())
    }

    fn copy_history(
        &self,
        head: &str,
        known: Option<&str>,
        place: &Path,
        is_secret: IsSecret<'_>,
    ) -> Result<()> {
        let act = "copy the repository for the agent";
        let is_shown = |(id, path): &&(String, PathBuf)| {
            path.as_os_str().is_empty() || EMPTY_BLOBS.contains(&id.as_str()) || !is_secret(path)
        };
        let objects = self.objects_of(head, known)?;
        let ids: String =
            objects.iter().filter(is_shown).map(|(id, _)| format!("{id}\n")).collect();
        let pack = self.call(["pack-objects", "--quiet"]).arg(place.join("objects/pack/pack"));
        pack.stdin(ids).wall(CHECKOUT_MAX).run(act)?;

        let list = self
            .call(["rev-list", "--parents"])
            .arg(format!("--max-count={COMMITS_MAX}"))
            .arg(head);
        let listed = String::from_utf8_lossy(&list.run(act)?).into_owned();
        let commits: BTreeSet<&str> =
            listed.lines().filter_map(|line| line.split(' ').next()).collect();
        let cut = foreign::read_text(&self.common_dir.join("shallow")).unwrap_or_default();
        let is_last = |line: &&str| line.split(' ').skip(1).any(|parent| !commits.contains(parent));
        let last = listed.lines().filter(is_last).filter_map(|line| line.split(' ').next());
        let last: BTreeSet<&str> =
            last.chain(cut.lines().filter(|line| commits.contains(line))).collect();
        let shallow = place.join("shallow");
        if last.is_empty() {
            // The file does not exist if the history was complete before.
            fs::remove_file(&shallow).ok();
        } else {
            let text: String = last.iter().map(|id| format!("{id}\n")).collect();
            fs::write(&shallow, text).with_context(|| act.to_owned())?;
        }

        let refs = self
            .call(["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads"])
            .run(act)?;
        let refs = String::from_utf8_lossy(&refs).into_owned();
        let known = refs
            .lines()
            .filter(|line| line.split(' ').next().is_some_and(|id| commits.contains(id)));
        let packed: String = known.map(|line| format!("{line}\n")).collect();
        fs::write(place.join("packed-refs"), packed).with_context(|| act.to_owned())
    }

    /// Marks files that are hidden in the worktree as `skip-worktree`. Git would otherwise ask for
    /// their content.
    fn skip_secrets(&self, worktree: &Path, index: &Path, is_secret: IsSecret<'_>) -> Result<()> {
        if !index.is_file() {
            return Ok(());
        }
        let act = "list the files of the worktree";
        let listed = self.call_on(worktree, index).args(["ls-files", "-z", "--cached"]).run(act)?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let secret: Vec<&[u8]> = paths.filter(|path| is_secret(&super::open::path(path))).collect();
        if secret.is_empty() {
            return Ok(());
        }
        let names = secret.join(&b'\0');
        let pass = self.call_on(worktree, index).args([
            "update-index",
            "-z",
            "--skip-worktree",
            "--stdin",
        ]);
        pass.stdin(names).run("skip files that contain secrets").map(drop)
    }

    /// The repository's configuration without settings that may contain credentials or run
    /// programs.
    fn plain_config(&self) -> Result<String> {
        let list = self
            .call(["config", "--file"])
            .arg(self.common_dir.join("config"))
            .args(["--list", "-z"]);
        let output = list.ask("read the repository's configuration")?;
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut text = String::new();
        for entry in listed.split('\0').filter(|entry| !entry.is_empty()) {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            let Some((section, name)) = key.split_once('.') else { continue };
            // A name with a dot contains a subsection chosen by the user, such as the name of a
            // remote.
            let is_kept = KEPT_SECTIONS.contains(&section)
                && !name.contains('.')
                && !DROPPED_KEYS.contains(&name);
            if is_kept && guard::secret::find(value).is_empty() {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                text.push_str(&format!("[{section}]\n\t{name} = \"{value}\"\n"));
            }
        }
        Ok(text)
    }
}

/// Whether a git configuration contains a password, a token or a credential helper.
fn holds_credentials(config: &str) -> bool {
    let is_suspect = |line: &str| {
        let line = line.trim().to_lowercase();
        let is_login =
            line.contains("://") && line.split("://").nth(1).is_some_and(|rest| rest.contains('@'));
        is_login
            || ["extraheader", "[credential", "password", "token", "cookie"]
                .iter()
                .any(|word| line.contains(word))
    };
    config.lines().any(is_suspect) || !guard::secret::find(config).is_empty()
}

/// The content of the worktree's HEAD.
fn head_of(admin: &Path) -> Result<String> {
    let file = admin.join("HEAD");
    let text = foreign::read_text(&file).with_context(|| format!("read {}", file.display()))?;
    Ok(text.trim().trim_start_matches("ref: ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_credentials_in_a_configuration() {
        for (config, expected) in [
            ("[remote \"origin\"]\n\turl = https://github.com/a/b\n", false),
            ("[remote \"origin\"]\n\turl = git@github.com:a/b\n", false),
            ("[remote \"origin\"]\n\turl = https://ada:hunter2@example.com/a\n", true),
            ("[http \"https://x\"]\n\textraHeader = Authorization: basic eA==\n", true),
            ("[credential]\n\thelper = store\n", true),
            ("[core]\n\tbare = false\n", false),
        ] {
            assert_eq!(holds_credentials(config), expected, "{config}");
        }
    }
}
