//! Where a project's Python packages are when its tool keeps them away from the project. The tool knows the place by the
//! project's own path, and would make an empty one for a copy of it: so it is asked once, where the user works.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::config::Environment;
use crate::process::{Limits, Program, Stop};

/// A file that says which tool manages the project, and how that one is asked.
const TOOLS: &[(&str, &[&str])] =
    &[("poetry.lock", &["poetry", "env", "info", "--path"]), ("Pipfile", &["pipenv", "--venv"])];
/// Environments in the project come first.
const OWN: &[&str] = &[".venv", "venv"];
/// Folders that Python imports from before any other.
pub const PATH: &str = "PYTHONPATH";
const LIMITS: Limits = Limits { wall: Duration::from_secs(30), output_bytes_max: 64 << 10 };

/// The environment that tests run in, if it is not in the project: the active one, or the one that the project's tool
/// keeps. A tool that is not there, or has none yet, is no fault.
pub fn environment(project: &Path, environment: &Environment, stop: &Stop) -> Result<Option<PathBuf>> {
    if environment.virtual_env.is_some() || OWN.iter().any(|name| project.join(name).is_dir()) {
        return Ok(environment.virtual_env.clone());
    }
    for (file, words) in TOOLS {
        let (Some((tool, words)), true) = (words.split_first(), project.join(file).is_file()) else { continue };
        if !environment.has_program(tool) {
            continue;
        }
        let output = Program::new(*tool).args(words).cwd(project).output(LIMITS, stop)?;
        let said = output.stdout_text();
        let place = said.lines().last().map(|line| PathBuf::from(line.trim()));
        if let Some(place) = place.filter(|place| output.success() && place.join("bin/python").exists()) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}
