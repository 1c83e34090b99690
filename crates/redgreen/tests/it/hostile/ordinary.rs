//! The same as an ordinary user: some things are stopped for everybody, and not only because the superuser may do all.

use std::process::Stdio;

use serde_json::json;

use super::{Clone, RUN};

/// Nobody.
const UID: &str = "65534";

/// Runs verbs in a few repositories as an unprivileged user, where `setpriv` can become one.
#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn an_ordinary_user_is_as_safe() {
    let is_root = rustix::process::getuid().is_root();
    let clone = Clone::new();
    let able = clone.program("setpriv").args(["--reuid", UID, "--clear-groups", "true"]).stderr(Stdio::null()).status();
    if !is_root || !able.is_ok_and(|status| status.success()) {
        eprintln!("skipped: the suite runs as an ordinary user already, or setpriv cannot become one");
        return;
    }
    for make in [
        |clone: &Clone| {
            clone.spoilt_note(|note| note["run"]["branch"] = json!("main"));
        },
        |clone: &Clone| {
            clone.journal(&[clone.started(|run| run["branch"] = json!("main")), clone.left(2)]);
        },
        |clone: &Clone| {
            clone.link(".git/redgreen", clone.place("home"));
        },
        |clone: &Clone| {
            clone.link(&format!(".git/redgreen/runs/{RUN}"), clone.place("beside"));
        },
        |clone: &Clone| {
            clone.link("redgreen.toml", "/dev/zero");
        },
        |clone: &Clone| {
            clone.pipe("redgreen.toml");
        },
    ] {
        let mut clone = Clone::new();
        make(&clone);
        let own = clone.program("chown").args(["-R", UID]).arg(clone.place("")).status();
        assert!(own.unwrap().success());
        clone.before = clone.everything();
        clone.user = Some(UID);
        for line in ["status", "history", "why", "resume --script @quick.toml", "abort", "repair-notes"] {
            clone.check(line);
        }
    }
}
