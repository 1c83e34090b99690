//! The sandbox on macOS: Seatbelt through `sandbox-exec`, or nothing. It needs no helper process.
//! At the end, redgreen kills the process group of the program.

use std::ffi::OsString;

use anyhow::{Error, Result};
use redgreen_core::report::Exit;

use super::plan::plan;
use super::{Enforcement, Fence, Mechanism, Network, Sandbox, Strength, seatbelt};
use crate::egress::Listen;
use crate::process::{Output, Program};

pub(super) const ALL: [Mechanism; 2] = [Mechanism::Seatbelt, Mechanism::Nothing];

/// How processes are found at the end.
pub(super) const SEARCH: &str = "processes that leave their process group survive";
/// The prefix of errors of `sandbox-exec` itself.
const MARK: &str = "sandbox-exec: ";
/// Its exit codes for a profile that it does not accept, and for a program that it cannot start.
const NO_PROFILE: i32 = 65;
const NO_PROGRAM: i32 = 71;
/// `ulimit -f` counts blocks of this size.
const BLOCK_BYTES: u64 = 512;

pub(super) fn wrap(sandbox: &Sandbox, program: &Program, fence: &Fence) -> Result<Program> {
    let mut line: Vec<OsString> = Vec::new();
    if let (Mechanism::Seatbelt, Some(tool)) = (sandbox.by, &sandbox.tool) {
        let profile = seatbelt::profile(&plan(fence)?, fence.network, fence.outlet.as_ref())?;
        line.extend([tool.into(), "-p".into(), profile.into()]);
    }
    // The limit of processes of the user would count programs that have nothing to do with this
    // one.
    let files = fence
        .file_bytes_max
        .map_or_else(String::new, |bytes| format!("ulimit -f {}; ", bytes / BLOCK_BYTES));
    let script = format!("ulimit -c 0; {files}exec \"$@\"");
    line.extend(["/bin/sh".into(), "-c".into(), script.into(), "sh".into()]);
    Ok(program.through(line))
}

pub(super) fn outlet(by: Mechanism) -> Option<Listen> {
    match by {
        Mechanism::Seatbelt => Some(Listen::Port),
        Mechanism::Bubblewrap
        | Mechanism::Namespaces
        | Mechanism::Landlock
        | Mechanism::Nothing => None,
    }
}

pub(super) fn held(by: Mechanism, fence: &Fence) -> Enforcement {
    match by {
        Mechanism::Seatbelt => Enforcement {
            by,
            files: Strength::Loose("/tmp is shared, and hidden file names can be probed"),
            network: match (fence.network, &fence.outlet) {
                (Network::None | Network::Full, _) | (Network::Loopback, Some(_)) => Strength::Firm,
                (Network::Loopback, None) => {
                    Strength::Loose("other programs on the loopback of this machine are reachable")
                }
            },
            sockets: match fence.network {
                Network::None | Network::Loopback => {
                    Strength::Loose("system services are reachable")
                }
                Network::Full => Strength::Not("all of the user's sockets are reachable"),
            },
            processes: Strength::Loose(SEARCH),
        },
        Mechanism::Bubblewrap
        | Mechanism::Namespaces
        | Mechanism::Landlock
        | Mechanism::Nothing => super::no_fence(fence),
    }
}

/// Why the program did not start.
pub(super) fn setup_error(output: &Output) -> Option<Error> {
    let Exit::Code(code @ (NO_PROFILE | NO_PROGRAM)) = output.exit else { return None };
    let words = output.stderr_text();
    let reason = Error::msg(words.lines().find_map(|line| line.strip_prefix(MARK))?.to_owned());
    if code == NO_PROGRAM {
        // Callers tell a missing program from other errors by this cause.
        return Some(
            Error::new(std::io::Error::from(std::io::ErrorKind::NotFound)).context(reason),
        );
    }
    Some(reason)
}

pub(super) fn real_exit(exit: Exit) -> Exit {
    exit
}

/// The sandbox on macOS has no helper.
pub fn helper_main(_words: impl IntoIterator<Item = OsString>) -> i32 {
    NO_PROGRAM
}
