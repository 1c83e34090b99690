//! Sandboxes on Linux, from strong to weak: bubblewrap; namespaces through `unshare`; Landlock and
//! seccomp; only killing all processes at the end. All but bubblewrap are set up by this program
//! itself, started again as `redgreen __fenced …`, because a process can only restrict itself.

mod calls;
mod fenced;
mod forward;
mod mounts;
mod rules;
mod sockets;
mod sweep;
mod wrap;

use std::ffi::OsString;

use super::{Enforcement, Fence, Mechanism, Network, Strength};
use crate::egress::Listen;

pub use fenced::main as helper_main;
pub(super) use fenced::{real_exit, setup_error};
pub(super) use wrap::wrap;

pub(super) const ALL: [Mechanism; 4] =
    [Mechanism::Bubblewrap, Mechanism::Namespaces, Mechanism::Landlock, Mechanism::Nothing];

/// How processes are found that left their group.
pub(super) const SEARCH: &str = "found by searching /proc";
const ABSTRACT_OPEN: &str = "abstract sockets of this machine are reachable";

pub(super) fn outlet(by: Mechanism) -> Option<Listen> {
    match by {
        Mechanism::Bubblewrap | Mechanism::Namespaces => Some(Listen::Socket),
        Mechanism::Landlock => rules::limits_ports().then_some(Listen::Port),
        Mechanism::Seatbelt | Mechanism::Nothing => None,
    }
}

pub(super) fn held(by: Mechanism, fence: &Fence) -> Enforcement {
    match by {
        Mechanism::Bubblewrap | Mechanism::Namespaces => {
            let is_shared = fence.network == Network::Full && !rules::scopes_sockets();
            let sockets = if is_shared { Strength::Loose(ABSTRACT_OPEN) } else { Strength::Firm };
            Enforcement {
                by,
                files: Strength::Firm,
                network: Strength::Firm,
                sockets,
                processes: Strength::Firm,
            }
        }
        Mechanism::Landlock => Enforcement {
            by,
            files: Strength::Loose(
                "/dev/shm is shared, hidden file names can be probed, modes and times can be changed",
            ),
            network: landlock_network(fence),
            sockets: landlock_sockets(fence),
            processes: Strength::Loose(SEARCH),
        },
        Mechanism::Seatbelt | Mechanism::Nothing => super::no_fence(fence),
    }
}

fn landlock_network(fence: &Fence) -> Strength {
    match (fence.network, &fence.outlet) {
        (Network::None | Network::Full, _) => Strength::Firm,
        (Network::Loopback, Some(_)) if rules::limits_ports() => Strength::Loose(
            "limited by port, not by address: other hosts are reachable on the proxy's port",
        ),
        (Network::Loopback, _) => {
            Strength::Not("open, because a private loopback needs namespaces")
        }
    }
}

fn landlock_sockets(fence: &Fence) -> Strength {
    match (rules::scopes_sockets(), rules::resolves_sockets() || fence.outlet.is_some()) {
        (true, true) => Strength::Firm,
        (false, true) => Strength::Loose(ABSTRACT_OPEN),
        (true, false) => Strength::Loose(
            "sockets in folders are reachable; this kernel's Landlock cannot restrict them",
        ),
        (false, false) => Strength::Not("this kernel's Landlock cannot restrict them"),
    }
}

/// Arguments for a command line.
fn words<const N: usize>(words: [&str; N]) -> [OsString; N] {
    words.map(OsString::from)
}
