//! Runs the seeds and findings of the fuzzer through the same functions, without a fuzzer.

#[path = "../../../../fuzz/src/targets.rs"]
mod targets;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// For one input, in a debug build on a busy machine. Inputs that were once too slow took minutes.
const INPUT_TIME_MAX: Duration = Duration::from_secs(20);

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds")
}

#[test]
fn every_seed_is_read_without_a_panic_and_in_time() {
    for (name, input) in targets::TARGETS {
        for path in entries(&seeds().join(name)) {
            let bytes = fs::read(&path).unwrap();
            let started = Instant::now();
            // Once complete, and once cut off in the middle, as a killed program leaves it.
            input(&bytes);
            input(bytes.get(..bytes.len() / 2).unwrap());
            assert!(
                started.elapsed() < INPUT_TIME_MAX,
                "{}: {:?}",
                path.display(),
                started.elapsed()
            );
        }
    }
}

#[test]
fn every_target_has_seeds_and_every_folder_of_seeds_a_target() {
    let folders: BTreeSet<String> = entries(&seeds())
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let names: BTreeSet<String> =
        targets::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(folders, names);
}
