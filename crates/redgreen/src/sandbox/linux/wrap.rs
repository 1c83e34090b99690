//! Builds the command line of a sandboxed program for each mechanism.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};

use super::fenced::{Stage, stage};
use super::mounts::PROC_READ_ONLY;
use super::words;
use crate::process::Program;
use crate::sandbox::plan::{Kind, Plan, plan};
use crate::sandbox::{Fence, Mechanism, Network, Sandbox};

pub(in crate::sandbox) fn wrap(
    sandbox: &Sandbox,
    program: &Program,
    fence: &Fence,
) -> Result<Program> {
    let mut plan = plan(fence)?;
    if sandbox.by.has_mounts() {
        plan.cover_sockets()?;
    }
    let helper = &sandbox.helper;
    let words = match sandbox.by {
        Mechanism::Bubblewrap => {
            let mut line = bubblewrap(sandbox, program, fence, &plan)?;
            line.extend(stage(helper, &Stage::Inside, fence));
            line
        }
        Mechanism::Namespaces => {
            let mut line = stage(helper, &Stage::Tied, fence);
            line.extend(unshare(sandbox, fence));
            line.extend(stage(helper, &Stage::Mounts(plan), fence));
            line
        }
        Mechanism::Landlock => {
            let mut line = stage(helper, &Stage::Init, fence);
            line.extend(stage(helper, &Stage::Rules(plan), fence));
            line
        }
        Mechanism::Seatbelt | Mechanism::Nothing => stage(helper, &Stage::Init, fence),
    };
    Ok(program.through(words))
}

fn unshare(sandbox: &Sandbox, fence: &Fence) -> Vec<OsString> {
    let mut line: Vec<OsString> = sandbox.tool.iter().map(OsString::from).collect();
    // Keep capabilities to set up mounts, but stay the same user: tests may check who they are.
    line.extend(words(["--user", "--map-current-user", "--keep-caps"]));
    line.extend(words(["--mount", "--ipc", "--uts", "--pid", "--fork", "--kill-child"]));
    if fence.network != Network::Full {
        line.push("--net".into());
    }
    line.push("--".into());
    line
}

fn bubblewrap(
    sandbox: &Sandbox,
    program: &Program,
    fence: &Fence,
    plan: &Plan,
) -> Result<Vec<OsString>> {
    let mut line: Vec<OsString> = sandbox.tool.iter().map(OsString::from).collect();
    line.extend(words(["--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]));
    // Use our own first process: it kills the others before it ends, bubblewrap's does so
    // afterwards.
    line.extend(words(["--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"]));
    if fence.network != Network::Full {
        line.push("--unshare-net".into());
    }
    if !plan.bare {
        line.extend(words(["--ro-bind", "/", "/"]));
    }
    line.extend(words(["--dev", "/dev", "--proc", "/proc", "--ro-bind", "/dev/null", "/dev/tty"]));
    for part in
        PROC_READ_ONLY.iter().map(|part| Path::new("/proc").join(part)).filter(|part| part.exists())
    {
        line.extend(["--ro-bind".into(), part.clone().into(), part.into()]);
    }
    let mut empty: Vec<&Path> = Vec::new();
    for place in &plan.places {
        let path = place.path.as_path();
        let mut lay =
            |option: &str, from: &Path| line.extend([option.into(), from.into(), path.into()]);
        match &place.kind {
            Kind::Empty if path.is_dir() => {
                line.extend(["--tmpfs".into(), path.into()]);
                empty.push(path);
            }
            Kind::Empty | Kind::Cover => lay("--ro-bind", Path::new("/dev/null")),
            Kind::Scratch => line.extend(["--tmpfs".into(), path.into()]),
            Kind::Show { from } if from.is_symlink() => {
                let leads =
                    from.read_link().with_context(|| format!("read link {}", from.display()))?;
                // In a visible folder the link already exists.
                if covered(plan, path) {
                    lay("--symlink", &leads);
                }
            }
            Kind::Show { from } => lay("--ro-bind", from),
            Kind::Write => lay("--bind", path),
        }
    }
    lay_helper(&mut line, sandbox, plan);
    for path in empty.into_iter().chain(plan.bare.then_some(Path::new("/"))) {
        line.extend(["--remount-ro".into(), path.into()]);
    }
    let folder = match program.folder() {
        Some(folder) => folder.to_owned(),
        None => std::env::current_dir().context("find the current folder")?,
    };
    line.extend(["--chdir".into(), folder.into(), "--".into()]);
    Ok(line)
}

/// Bubblewrap starts our executable inside, so it has to be visible.
fn lay_helper(line: &mut Vec<OsString>, sandbox: &Sandbox, plan: &Plan) {
    let helper = &sandbox.helper;
    if covered(plan, helper) {
        line.extend(["--ro-bind".into(), helper.into(), helper.into()]);
    }
}

/// Whether a path is invisible unless it is mounted.
fn covered(plan: &Plan, path: &Path) -> bool {
    let covering =
        plan.places.iter().rev().find(|place| place.path != path && path.starts_with(&place.path));
    covering.map_or(plan.bare, |place| matches!(place.kind, Kind::Empty | Kind::Scratch))
}
