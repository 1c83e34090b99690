//! The fuzzer: libFuzzer's own program, for the target that `FUZZ_TARGET` names.
#![no_main]

// By its path, as the tests of the workspace have it: its parts are beside it then.
#[path = "targets.rs"]
mod targets;

use std::sync::OnceLock;

static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

fn target() -> fn(&[u8]) {
    let wanted = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = targets::TARGETS.iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("FUZZ_TARGET={wanted} is none of the targets")).1
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| TARGET.get_or_init(target)(input));
