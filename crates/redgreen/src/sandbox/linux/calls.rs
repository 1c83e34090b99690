//! Refuses system calls that reach what no mount and no namespace separates: kernel keyrings, which
//! outlive a program, and the input of terminals. Without namespaces, also shared memory and queues
//! of System V, which outlive a program too.
//!
//! The filter is written by hand because the library ends programs of another architecture, and a
//! suite may run 32-bit programs.

use anyhow::{Context, Result};
use seccompiler::{BpfProgram, sock_filter};

/// Pushes a character into the input of a terminal, as if the user had typed it.
const TIOCSTI: u32 = 0x5412;
/// Pastes into a virtual console.
const TIOCLINUX: u32 = 0x541c;

/// The numbers of system calls on one architecture of a machine.
struct Architecture {
    id: u32,
    /// `add_key`, `request_key`, `keyctl`.
    keys: [u32; 3],
    ioctl: u32,
    /// Shared memory, semaphores and queues of System V, and queues of POSIX.
    shared: &'static [u32],
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        id: 0xc000_003e,
        keys: [248, 249, 250],
        ioctl: 16,
        shared: &[29, 30, 64, 65, 68, 69, 70, 220, 240],
    },
    // 32-bit programs.
    Architecture {
        id: 0x4000_0003,
        keys: [286, 287, 288],
        ioctl: 54,
        shared: &[117, 277, 393, 395, 397, 399, 400, 401, 420],
    },
];
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const NEW_NUMBERS: Architecture = Architecture {
    id: if cfg!(target_arch = "aarch64") { 0xc000_00b7 } else { 0xc000_00f3 },
    keys: [217, 218, 219],
    ioctl: 29,
    shared: &[180, 186, 188, 189, 190, 192, 193, 194, 196],
};
#[cfg(target_arch = "aarch64")]
const ARCHITECTURES: &[Architecture] = &[
    NEW_NUMBERS,
    // 32-bit programs.
    Architecture {
        id: 0x4000_0028,
        keys: [309, 310, 311],
        ioctl: 54,
        shared: &[274, 298, 299, 301, 302, 303, 305, 307, 312, 420],
    },
];
#[cfg(target_arch = "riscv64")]
const ARCHITECTURES: &[Architecture] = &[NEW_NUMBERS];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const ARCHITECTURES: &[Architecture] = &[];
/// The x32 ABI of x86-64 kernels: this bit in a number, and another number for `ioctl`.
const X32_BIT: u32 = 0x4000_0000;
const X32_IOCTL: u32 = 0x202;

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const REFUSE: u32 = 0x0005_0000;
/// Offsets of what is known of a call. Arguments have two words; the kernel reads the lower one of
/// the second argument of `ioctl`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const COMMAND: u32 = if cfg!(target_endian = "little") { 24 } else { 28 };

/// Whether a namespace separates the System V objects of the program from those of others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shared {
    Separate,
    Closed,
}

/// From now on this thread and its children have neither keyrings nor terminal input.
pub(super) fn close(shared: Shared) -> Result<()> {
    seccompiler::apply_filter(&filter(shared)).context("close keyrings with seccomp")
}

fn filter(shared: Shared) -> BpfProgram {
    let mut program = Vec::new();
    for architecture in ARCHITECTURES {
        let mut part = vec![step(LOAD, NUMBER)];
        if cfg!(target_arch = "x86_64") {
            part.push(step(AND, !X32_BIT));
        }
        let closed = architecture.shared.iter().filter(|_| shared == Shared::Closed);
        for number in architecture.keys.iter().chain(closed) {
            part.extend([if_not(*number, 1), refusal()]);
        }
        let x32 = cfg!(target_arch = "x86_64").then_some(X32_IOCTL);
        for number in [architecture.ioctl].into_iter().chain(x32) {
            part.push(if_not(number, 6));
            part.push(step(LOAD, COMMAND));
            part.extend([if_not(TIOCSTI, 1), refusal()]);
            part.extend([if_not(TIOCLINUX, 1), refusal()]);
            part.push(step(RETURN, ALLOW));
        }
        part.push(step(RETURN, ALLOW));
        program.push(step(LOAD, ARCHITECTURE));
        program.push(if_not(architecture.id, u8::try_from(part.len()).unwrap_or(u8::MAX)));
        program.extend(part);
    }
    program.push(step(RETURN, ALLOW));
    program
}

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Skips this many steps unless the value is this one.
fn if_not(value: u32, skipped: u8) -> sock_filter {
    sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: skipped, k: value }
}

fn refusal() -> sock_filter {
    step(RETURN, REFUSE | libc::EPERM.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do with a call.
    fn answer(shared: Shared, architecture: u32, number: u32, command: u32) -> u32 {
        let program = filter(shared);
        let (mut at, mut value) = (0, 0);
        loop {
            let step = &program[at];
            at += 1;
            match step.code {
                LOAD if step.k == NUMBER => value = number,
                LOAD if step.k == ARCHITECTURE => value = architecture,
                LOAD => value = command,
                AND => value &= step.k,
                JUMP_IF_EQUAL => at += usize::from(if value == step.k { step.jt } else { step.jf }),
                _ => return step.k,
            }
        }
    }

    #[test]
    fn keyrings_and_terminal_input_are_refused_and_nothing_else() {
        for Architecture { id, keys, ioctl, shared } in ARCHITECTURES {
            let answer_to = |number, command| answer(Shared::Separate, *id, number, command);
            for number in keys {
                assert_eq!(answer_to(*number, 0), refusal().k, "{number}");
            }
            for command in [TIOCSTI, TIOCLINUX] {
                assert_eq!(answer_to(*ioctl, command), refusal().k, "{command}");
            }
            for (number, command) in [(*ioctl, 0x5401), (0, TIOCSTI), (1, 0)] {
                assert_eq!(answer_to(number, command), ALLOW, "{number} {command}");
            }
            for number in *shared {
                assert_eq!(answer_to(*number, 0), ALLOW, "{number}");
                assert_eq!(answer(Shared::Closed, *id, *number, 0), refusal().k, "{number}");
            }
        }
        let unknown = answer(Shared::Closed, 0x1234, 250, 0);
        assert_eq!(unknown, ALLOW, "an architecture that this machine does not run");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_second_set_of_numbers_is_no_way_around() {
        let answer_to = |number, command| answer(Shared::Separate, 0xc000_003e, number, command);
        assert_eq!(answer_to(X32_BIT | 250, 0), refusal().k);
        assert_eq!(answer_to(X32_BIT | X32_IOCTL, TIOCSTI), refusal().k);
    }
}
