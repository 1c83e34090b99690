//! Where the real runners of JavaScript are for the tests.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{Project, is_installed};

/// The packages that `scripts/test` installs.
fn node_modules() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "tests are told where the runners are")]
    let given = std::env::var_os("REDGREEN_TEST_NODE_MODULES");
    given.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/node/node_modules"), PathBuf::from)
}

/// A project with the runner as its dependency; `None`, and said so, where the runner is not installed.
pub(super) fn project(runner: &str, files: &[(&str, &str)]) -> Option<Project> {
    let modules = node_modules();
    if !is_installed("node") {
        return None;
    }
    if !modules.join(".bin").join(runner).exists() {
        #[expect(clippy::print_stderr, reason = "a test that is left out says so")]
        {
            eprintln!("SKIPPED: no {runner} in {}: run scripts/test, which installs it", modules.display());
        }
        return None;
    }
    let project = Project::new(files);
    project.write("package.json", &format!("{{\"devDependencies\": {{\"{runner}\": \"*\"}}}}\n"));
    symlink(modules, project.0.path().join("node_modules")).unwrap();
    Some(project)
}
