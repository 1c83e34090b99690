//! `redgreen init`: writes a `redgreen.toml` with every setting commented out, a git hook, or
//! settings of coding agents.

pub mod integration;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::config;
use crate::engine::Project;
use crate::failure::Failure;

/// Every setting with its default.
pub const TEMPLATE: &str = include_str!("../../redgreen.toml");

/// Writes the file. An existing one is not changed.
pub fn init(project: &Project) -> Result<PathBuf> {
    let path = project.git.root.join(config::FILE);
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => {
            file.write_all(TEMPLATE.as_bytes())
                .with_context(|| format!("write {}", path.display()))?;
            Ok(path)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(Failure::usage(format!("{} already exists", path.display()))
                .next("redgreen init --print")
                .into())
        }
        Err(error) => Err(error).with_context(|| format!("create {}", path.display())),
    }
}

/// The pre-push hook: pushed commits must be proven. If redgreen cannot decide, the push continues
/// with a message.
const PRE_PUSH: &str = include_str!("pre-push.sh");
const EXECUTABLE: u32 = 0o755;

/// Writes the pre-push hook. An existing one is not changed.
pub fn pre_push(project: &Project) -> Result<PathBuf> {
    let folder = project.git.hooks_folder()?;
    let path = folder.join("pre-push");
    let act = || format!("write {}", path.display());
    fs::create_dir_all(&folder).with_context(act)?;
    let made = OpenOptions::new().write(true).create_new(true).mode(EXECUTABLE).open(&path);
    match made {
        Ok(mut file) => {
            file.write_all(PRE_PUSH.as_bytes()).with_context(act)?;
            Ok(path)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(Failure::usage(format!("{} already exists and was not changed", path.display()))
                .next("add the line `redgreen verify` to it")
                .into())
        }
        Err(error) => Err(error).with_context(act),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, File};

    #[test]
    fn the_template_is_valid_and_says_the_defaults() {
        assert_eq!(File::parse(TEMPLATE).unwrap(), File::default());
        let settings: String = TEMPLATE
            .lines()
            .map(|line| line.strip_prefix("#: ").unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n");
        let spelled_out = File::parse(&settings).unwrap();
        let silent = Environment::default();
        assert_eq!(spelled_out.policy(&silent).unwrap(), File::default().policy(&silent).unwrap());
    }
}
