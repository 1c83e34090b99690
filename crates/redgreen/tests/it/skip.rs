//! A test that cannot run here prints a line that `scripts/test` counts.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Reports which test is skipped, completely or in part, and why.
pub(crate) fn skipped(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    #[expect(clippy::print_stderr, reason = "a test that is left out says so")]
    {
        eprintln!("SKIPPED: {test}: {why}");
    }
    #[expect(clippy::disallowed_methods, reason = "a variable names the list of skipped tests")]
    let Some(list) = std::env::var_os("REDGREEN_TEST_SKIPPED") else { return };
    // Write the line in one call, because other processes append to the file, too.
    let line = format!("{test}\t{why}\n");
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(list)
        .unwrap()
        .write_all(line.as_bytes())
        .unwrap();
}
