//! Whether git is new enough. Asking costs a process, so it is asked when work begins and when git does not understand.

use std::path::Path;

use anyhow::Result;

use super::Git;
use super::call::Call;
use crate::failure::Failure;

/// `merge-tree --write-tree` and `cat-file -z` came with this one.
const VERSION_MIN: (u32, u32) = (2, 38);

impl Git {
    /// Stops whoever is about to begin with a git that could not finish it.
    pub fn check_version(&self) -> Result<()> {
        check()
    }

    /// What git calls itself, such as `git version 2.47.3`; one that is too old is an error.
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
    let numbers: Vec<u32> =
        line.trim_start_matches("git version ").split('.').map_while(|part| part.parse().ok()).collect();
    match numbers.as_slice() {
        [major, minor, ..] if (*major, *minor) < VERSION_MIN => {
            let (major, minor) = VERSION_MIN;
            Err(Failure::environment(format!("git is too old: {major}.{minor} or newer is needed"))
                .evidence(format!("found {line}"))
                .next("git --version")
                .into())
        }
        // A version that we cannot read is not known to be too old.
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
    fn a_git_that_cannot_do_the_work_is_named() {
        check("git version 2.37.7", false);
        check("git version 1.9", false);
        check("git version 2.38.0", true);
        check("git version 2.39.5 (Apple Git-154)", true);
        check("git version 3.0", true);
        check("git version unknown", true);
    }
}
