//! Runs that use the user's own test command.

use super::{CALCULATOR, Story};

/// Runs the methods of each test file without a test runner, so its only result is an exit code.
const CHECK: &str = r#"for test in tests/test_*.py; do
    [ -e "$test" ] || continue
    PYTHONPATH=. python3 -B -c '
import runpy, sys
for it in runpy.run_path(sys.argv[1]).values():
    for name in dir(it):
        if name.startswith("test_"): getattr(it(name), name)()
' "$test" || exit 1
done
"#;

fn story(settings: &str) -> Story {
    let story = Story::pytest();
    story.script("kata.toml", CALCULATOR);
    story.file("check.sh", CHECK).file("redgreen.toml", &format!("backoff = 0.0\n{settings}"));
    story.git("rm -q pytest.ini");
    story.commit("tests by a script");
    story
}

#[test]
fn an_exit_code_carries_a_whole_run_and_is_never_taken_for_a_report() {
    let story = story("[test]\ncommand = \"sh check.sh\"\n");
    story.redgreen("run --script @kata.toml \"a calculator\"").exits(3);
    let branch = story.branch();
    assert_eq!(story.log(&format!("main..{branch}")).len(), 13);
    for (commit, phase) in [("feat: subtracts", "green.passes"), ("test: subtracts", "red.error")] {
        let commit =
            story.git(&format!("log -1 --format=%h --grep=^{} {branch}", commit.replace(' ', ".")));
        let note = story.git(&format!("notes --ref=tdd-handoffs show {commit}"));
        assert!(note.contains("exit code only") && note.contains(phase), "{note}");
    }
}

#[test]
fn a_report_carries_a_whole_run_as_a_framework_does() {
    let line = "python -m pytest -q -p no:cacheprovider --junitxml=out/report.xml && echo done";
    let story = story(&format!("[test]\ncommand = \"{line}\"\nreport = \"out/*.xml\"\n"));
    let said = story
        .redgreen("run --script @kata.toml \"a calculator\"")
        .exits(3)
        .says("red.missing_symbol");
    assert!(
        !said.stderr.contains("exit code only") && !said.stderr.contains("refused"),
        "{}",
        said.stderr
    );
    assert!(!story.git(&format!("ls-tree -r --name-only {}", story.branch())).contains("out/"));
}

#[test]
fn the_command_is_the_users_and_not_the_agents() {
    let story = story("[test]\ncommand = \"sh check.sh\"\n");
    let cheat = "[[green]]\ndo = [{ write = \"redgreen.toml\", text = \"[test]\\ncommand = 'true'\" }]\n\n[[green]]\n";
    story.script("kata.toml", &CALCULATOR.replacen("[[green]]\n", cheat, 1));
    story
        .redgreen("run --script @kata.toml \"a calculator\"")
        .says("redgreen.toml was changed")
        .says("still_failing");
}
