//! Sandboxes on Linux, from strong to weak: bubblewrap; namespaces through `unshare`; Landlock and
//! seccomp; only killing all processes at the end. All but bubblewrap are set up by this program
//! itself, started again as `redgreen __fenced …`, because a process can only restrict itself.

mod fenced;
mod forward;
mod mounts;
mod rules;
mod sockets;
mod sweep;
mod wrap;

use std::ffi::OsString;

use super::{Fence, Grip, Held, Means, Network};
use crate::egress::Listen;

pub use fenced::main as helper_main;
pub(super) use fenced::{real_exit, setup_error};
pub(super) use wrap::wrap;

pub(super) const ALL: [Means; 4] =
    [Means::Bubblewrap, Means::Namespaces, Means::Landlock, Means::Nothing];

/// How processes are found that left their group.
pub(super) const SEARCH: &str = "found by searching /proc";
const ABSTRACT_OPEN: &str = "abstract sockets of this machine are reachable";

pub(super) fn outlet(by: Means) -> Option<Listen> {
    match by {
        Means::Bubblewrap | Means::Namespaces => Some(Listen::Socket),
        Means::Landlock => rules::limits_ports().then_some(Listen::Port),
        Means::Seatbelt | Means::Nothing => None,
    }
}

pub(super) fn held(by: Means, fence: &Fence) -> Held {
    match by {
        Means::Bubblewrap | Means::Namespaces => {
            let is_shared = fence.network == Network::Full && !rules::scopes_sockets();
            let sockets = if is_shared { Grip::Loose(ABSTRACT_OPEN) } else { Grip::Firm };
            Held { by, files: Grip::Firm, network: Grip::Firm, sockets, processes: Grip::Firm }
        }
        Means::Landlock => Held {
            by,
            files: Grip::Loose(
                "/dev/shm is shared, hidden file names can be probed, modes and times can be changed",
            ),
            network: landlock_network(fence),
            sockets: landlock_sockets(fence),
            processes: Grip::Loose(SEARCH),
        },
        Means::Seatbelt | Means::Nothing => super::no_fence(fence),
    }
}

fn landlock_network(fence: &Fence) -> Grip {
    match (fence.network, &fence.outlet) {
        (Network::None | Network::Full, _) => Grip::Firm,
        (Network::Loopback, Some(_)) if rules::limits_ports() => Grip::Loose(
            "limited by port, not by address: other hosts are reachable on the proxy's port",
        ),
        (Network::Loopback, _) => Grip::Not("a private loopback needs namespaces"),
    }
}

fn landlock_sockets(fence: &Fence) -> Grip {
    match (rules::scopes_sockets(), rules::resolves_sockets() || fence.outlet.is_some()) {
        (true, true) => Grip::Firm,
        (false, true) => Grip::Loose(ABSTRACT_OPEN),
        (true, false) => Grip::Loose(
            "sockets in folders are reachable; this kernel's Landlock cannot restrict them",
        ),
        (false, false) => Grip::Not("this kernel's Landlock cannot restrict them"),
    }
}

/// Arguments for a command line.
fn words<const N: usize>(words: [&str; N]) -> [OsString; N] {
    words.map(OsString::from)
}
