//! Repeats the attacks as an ordinary user, to show that they do not fail only because of root's
//! rights.

use std::process::Stdio;

use serde_json::json;

use super::{Clone, READING, RUN, WRITING};
use crate::skip::skipped;

/// The user `nobody`.
const UID: &str = "65534";

/// Makes the repository again for an unprivileged user and runs the verbs as this user, if
/// `setpriv` is able to switch to one. If the tests already run as an ordinary user, there is
/// nothing to repeat.
pub(super) fn survives(make: impl Fn(&Clone), lines: &[&str]) {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let mut clone = Clone::new();
    let able = clone
        .program("setpriv")
        .args(["--reuid", UID, "--clear-groups", "true"])
        .stderr(Stdio::null())
        .status();
    if !able.is_ok_and(|status| status.success()) {
        return skipped("as an ordinary user: setpriv cannot become one");
    }
    make(&clone);
    let own = clone.program("chown").args(["-R", UID]).arg(clone.place("")).status();
    assert!(own.unwrap().success());
    clone.before = clone.everything();
    clone.user = Some(UID);
    for line in lines {
        clone.check(line);
    }
}

/// A few of the repositories, or all of them with `scripts/test --all`.
#[test]
fn an_ordinary_user_is_as_safe() {
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
        survives(make, &[READING, WRITING].concat());
    }
}
