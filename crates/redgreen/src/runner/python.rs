//! Finds a project's Python environment if its tool keeps it outside the project. The tool
//! identifies a project by its path and would create an empty environment for a copy, so it is
//! asked once in the user's checkout.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::config::Environment;
use crate::process::{Limits, Program, Stop};
use crate::sandbox::{Fence, Sandbox};

/// A file that identifies the tool, and the command that prints the environment.
const TOOLS: &[(&str, &[&str])] =
    &[("poetry.lock", &["poetry", "env", "info", "--path"]), ("Pipfile", &["pipenv", "--venv"])];
/// Environments inside the project take precedence.
const OWN: &[&str] = &[".venv", "venv"];
/// Every virtual environment has it, so a path that a project suggests cannot be another folder.
const MARK: &str = "pyvenv.cfg";
/// Python imports from these folders first.
pub const PATH: &str = "PYTHONPATH";
const LIMITS: Limits = Limits { wall: Duration::from_secs(30), output_bytes_max: 64 << 10 };

/// The environment of the tests, if it is outside the project: the active one, or that of the
/// project's tool. A missing tool or environment is not an error.
pub fn environment(
    project: &Path,
    environment: &Environment,
    stop: &Stop,
) -> Result<Option<PathBuf>> {
    if environment.virtual_env.is_some() || OWN.iter().any(|name| project.join(name).is_dir()) {
        return Ok(environment.virtual_env.clone());
    }
    for (file, words) in TOOLS {
        let (Some((tool, words)), true) = (words.split_first(), project.join(file).is_file())
        else {
            continue;
        };
        if !environment.has_program(tool) {
            continue;
        }
        // Plugins and interpreters in the project become part of the tool, so it has no network and
        // writes nothing.
        let program = Program::new(*tool).args(words).cwd(project);
        let fence = Fence::only_reading(project);
        let output = Sandbox::here()?.run(&program, &fence, LIMITS, stop)?.output;
        let said = output.stdout_text();
        let place = said.lines().last().map(|line| PathBuf::from(line.trim()));
        if let Some(place) = place.filter(|place| output.success() && is_environment(place)) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

fn is_environment(place: &Path) -> bool {
    place.is_absolute() && place.join("bin/python").exists() && place.join(MARK).is_file()
}
