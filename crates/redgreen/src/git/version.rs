//! Checks that git is new enough. The check costs a process, so it runs only when work begins or
//! git fails in an unexpected way.

use std::path::Path;

use anyhow::Result;

use super::Git;
use super::call::Call;
use crate::failure::Failure;

/// The first version with `merge-tree --write-tree` and `cat-file -z`.
const VERSION_MIN: (u32, u32) = (2, 38);

impl Git {
    /// Fails early if git is too old for the work ahead.
    pub fn check_version(&self) -> Result<()> {
        check()
    }

    /// The version line of git, such as `git version 2.47.3`. An old version is an error.
    pub fn version() -> Result<String> {
        let line = line()?;
        judge(&line)?;
        Ok(line)
    }
}

pub(super) fn check() -> Result<()> {
    judge(&line()?)
}

fn line() -> Result<String> {
    Call::plumbing(Path::new("/"), &[]).arg("version").line("read git's version")
}

fn judge(line: &str) -> Result<()> {
    let numbers: Vec<u32> = line
        .trim_start_matches("git version ")
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    match numbers.as_slice() {
        [major, minor, ..] if (*major, *minor) < VERSION_MIN => {
            let (major, minor) = VERSION_MIN;
            Err(Failure::environment(format!("git is too old: {major}.{minor} or newer is needed"))
                .evidence(format!("found {line}"))
                .next("git --version")
                .into())
        }
        // Accept a version that cannot be parsed.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, accepted: bool) {
        assert_eq!(judge(line).is_ok(), accepted, "{line}");
    }

    #[test]
    fn rejects_an_old_git() {
        check("git version 2.37.7", false);
        check("git version 1.9", false);
        check("git version 2.38.0", true);
        check("git version 2.39.5 (Apple Git-154)", true);
        check("git version 3.0", true);
        check("git version unknown", true);
    }
}
