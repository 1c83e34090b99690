//! Tests and agents that put links and pipes in paths that redgreen reads and writes next, outside
//! any sandbox: in its temporary folder, and in place of its report. No file of the user changes,
//! and redgreen never hangs.

use std::fs;

use super::{ProgramOutput, Story};

/// The time limit for a verdict on a busy machine.
const SECONDS_MAX: &str = "200";
/// The memory limit for a verdict. Reading an endless file would exceed it.
const MEMORY_KIB_MAX: u64 = 4_000_000;
/// The exit code of `timeout` at its limit.
const TIMED_OUT: i32 = 124;

/// Puts a trap at every path that redgreen uses in the clean room's temporary folder, and in place
/// of every file in the report folder. It runs whenever the code is loaded, and again when the
/// process ends.
const TRAPS: &str = r#"
import atexit
import os
import shutil
import sys

def _set_traps():
    names = {os.path.join(os.environ.get("TMPDIR", "/tmp"), name) for name in NAMES}
    reporter = getattr(sys.modules.get("redgreen_pytest"), "__file__", None)
    if reporter:
        folder = os.path.dirname(reporter)
        # Not in place of the reporter itself: the next Python would wait for it, up to the time limit.
        left = [name for name in os.listdir(folder) if not name.endswith(".py")]
        names |= {os.path.join(folder, name) for name in left + NAMES if not name.endswith(".py")}
    for path in names:
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.remove(path)
            SET(path)
        except OSError:
            pass

_set_traps()
atexit.register(_set_traps)
"#;

/// File names in the clean room's temporary folder and in the report folder.
const NAMES: &str = r#"["calls", "__main__.py", "main.mjs", "program", "services.log", "coverage.json", "stream.jsonl"]"#;

/// Judges a GREEN whose code sets traps. `set` returns Python code: a function that puts a trap at
/// a path.
#[track_caller]
fn survives(set: impl Fn(&Story) -> String) {
    let story = Story::pytest();
    let mine = story.place("home/mine.txt");
    fs::write(&mine, "mine\n").unwrap();
    story.file("calc.py", "def add(a, b):\n    return 0\n");
    let tests = "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n\n\n\
                 def test_adds_more():\n    assert add(5, 2) == 7\n";
    story.file("test_calc.py", tests);
    story.commit("red");
    let traps = TRAPS.replace("NAMES", NAMES).replace("SET", &format!("({})", set(&story)));
    story.file("calc.py", &format!("{traps}\n\ndef add(a, b):\n    return a + b\n"));
    story.commit("green");
    let belongings = story.belongings();
    let mut command = story.command("timeout");
    command.args(["--kill-after=10", SECONDS_MAX, "sh", "-c"]);
    command.arg(format!("ulimit -v {MEMORY_KIB_MAX}; exec \"$@\"")).arg("limited");
    command.arg(env!("CARGO_BIN_EXE_redgreen")).args(["judge", "green", "--timeout", "5"]);
    let said = ProgramOutput::of("judge green", &command.output().unwrap());
    assert_ne!(said.code, Some(TIMED_OUT), "{said:?}");
    assert!(matches!(said.code, Some(0 | 1 | 3)), "{said:?}");
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine\n", "{said:?}");
    assert_eq!(story.belongings(), belongings, "{said:?}");
}

/// Links, pipes, repositories and a huge file that an agent's program leaves in the worktree.
#[test]
fn what_an_agent_leaves_in_the_worktree_is_survived() {
    let story = Story::pytest();
    let (mine, ran) = (story.place("home/mine.txt"), story.place("ran"));
    fs::write(&mine, "mine\n").unwrap();
    let script = format!(
        "cat > /dev/null\n\
         rm -f test-list.md; ln -s '{mine}' test-list.md; mkfifo pipe.py test_pipe.py; ln -s loop loop\n\
         mkdir -p .redgreen/withheld; mkfifo .redgreen/withheld/test_p.py; ln -s '{mine}' .redgreen/withheld/test_q.py\n\
         git init -q sub; git -C sub config core.fsmonitor 'touch {ran}'; echo x > sub/f\n\
         rm -rf .git; cp -r sub/.git .git; mkdir locked; echo x > locked/f; chmod 000 locked\n\
         truncate -s 300G huge\n\
         echo '{{\"currentTest\": {{\"description\": \"a\", \"testFile\": \"test_a.py\", \"implFile\": \"a.py\"}}}}'\n",
        mine = mine.display(),
        ran = ran.display()
    );
    story.script("agent.sh", &script);
    let own = format!("[agent.custom.own]\ncommand = [\"sh\", {:?}]\n", story.place("agent.sh"));
    story.file(
        "redgreen.toml",
        &format!("backoff = 0.0\nmax-retries = 0\n[agent]\nname = \"own\"\n{own}"),
    );
    story.commit("an agent");
    let belongings = story.belongings();
    let mut command = story.command("timeout");
    command
        .args(["--signal=KILL", SECONDS_MAX])
        .arg(env!("CARGO_BIN_EXE_redgreen"))
        .args(["run", "an adder"]);
    let said = ProgramOutput::of("run", &command.output().unwrap());
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine\n", "{said:?}");
    assert!(!ran.exists(), "{said:?}");
    assert_eq!(story.belongings(), belongings, "{said:?}");
}

#[test]
fn a_link_to_a_file_of_the_users_is_not_followed() {
    survives(|story| {
        format!(
            "lambda path: os.symlink({:?}, path)",
            story.place("home/mine.txt").display().to_string()
        )
    });
}

#[test]
fn a_pipe_is_not_waited_for() {
    survives(|_| "os.mkfifo".to_owned());
}

#[test]
fn a_file_without_an_end_is_not_read() {
    survives(|_| "lambda path: os.symlink('/dev/zero', path)".to_owned());
}

#[test]
fn a_folder_in_the_way_is_no_obstacle() {
    survives(|_| "os.mkdir".to_owned());
}
