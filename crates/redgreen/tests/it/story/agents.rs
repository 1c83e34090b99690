//! External agents, honest and hostile: each completes a whole cycle, and no agent causes a loss.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use redgreen::sandbox::Mechanism;

use super::terminal::on_a_terminal;
use super::{ProgramOutput, Story};
use crate::sandbox::alone;
use crate::skip::skipped;

const FAKE: &str = include_str!("agents/fake.py");

/// A project that uses the fake agent, started with these words.
fn story(words: &str, settings: &str) -> Story {
    let story = Story::new();
    fs::create_dir_all(story.place("home/.fake")).unwrap();
    fs::write(story.place("home/fake.py"), FAKE).unwrap();
    let script = story.place("home/fake.py").display().to_string();
    let row = format!(
        "backoff = 0.0\n{settings}\n[agent]\nname = \"fake\"\n[agent.custom.fake]\n\
         command = \"python {script} {words}\"\nenv = [\"FAKE_*\"]\n\
         folders = [\".fake\", \".local/share/fake\"]\n"
    );
    story.file("redgreen.toml", &row);
    story.commit("an agent");
    let root = story.root.display().to_string();
    let data = story.place("data").display().to_string();
    story.env("FAKE_CHECKOUT", &root).env("MY_SECRET", "hush").env("XDG_DATA_HOME", &data)
}

/// The limit for redgreen's memory while its agent prints a gigabyte. pytest's memory counts too.
const MEMORY_BYTES_MAX: u64 = 128 << 20;

/// Changes the project's settings.
fn set(story: &Story, from: &str, to: &str) {
    let text = fs::read_to_string(story.root.join("redgreen.toml")).unwrap();
    assert!(text.contains(from), "{text}");
    story.file("redgreen.toml", &text.replacen(from, to, 1));
    story.commit("settings");
}

const CYCLE: [&str; 5] = [
    "plan: adds two numbers",
    "test: adds two numbers",
    "feat: adds two numbers",
    "refactor: no changes needed",
    "plan: every test of the list is done",
];

/// Asserts that the run finishes and that its branch has exactly one cycle.
#[track_caller]
fn develops(story: &Story) -> ProgramOutput {
    let before = story.belongings();
    let said = story.redgreen("run \"a calculator\"").exits(3);
    assert_eq!(story.log(&format!("main..{}", story.branch())), CYCLE);
    assert_eq!(story.belongings(), before);
    said
}

#[test]
fn orders_may_come_in_a_file() {
    let story = story("file", "");
    set(&story, "env = ", "prompt = \"file\"\nenv = ");
    develops(&story);
}

#[test]
fn an_agent_that_speaks_acp_is_paid_and_its_conversation_is_noted() {
    let story = story("acp", "");
    set(&story, "env = ", "speaks = \"acp\"\nenv = ");
    develops(&story).says("35 tokens").says("$0.05");
    let note = story.git(&format!("notes --ref=tdd-handoffs show {}", story.branch()));
    assert!(note.contains("\"test-list\": \"fake-session\""), "{note}");
    assert!(note.contains("\"test-list\": \"fake fake 1 ACP 1\""), "{note}");
}

/// Whether a running process has this word on its command line.
fn runs(word: &str) -> bool {
    let lines = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| fs::read(entry.path().join("cmdline")));
    lines.flatten().any(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes()))
}

#[test]
fn an_agent_that_speaks_acp_has_files_and_terminals_in_the_worktree_and_nowhere_else() {
    let story = story("acp files:PLAN terminals:RED files:GREEN", "");
    set(&story, "env = ", "speaks = \"acp\"\nenv = ");
    let said = develops(&story);
    assert!(!said.stderr.contains("agent.crash"), "{}", said.stderr);
    let offered = fs::read_to_string(story.place("home/.fake/offered")).unwrap();
    assert_eq!(
        offered,
        r#"{"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true}"#
    );
    for place in ["home/mine.txt", "home/.fake/mine.txt", "mine.txt", "home/worktrees/mine.txt"] {
        assert!(!story.place(place).exists(), "{place}");
    }
    for word in ["68101", "68102", "68103", "68104"] {
        assert!(!runs(word), "sleep {word} still runs");
    }
}

/// Terminal commands and the agent's own program share the same network access.
#[test]
fn a_terminal_of_an_agent_that_speaks_acp_reaches_the_model_and_nothing_else() {
    let (model, other) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port().to_string();
    let story = story("acp terminal_network:PLAN", "")
        .env("FAKE_BASE_URL", &format!("http://127.0.0.1:{}", port(&model)))
        .env("FAKE_OTHER", &port(&other));
    set(&story, "env = ", "speaks = \"acp\"\nenv = ");
    develops(&story).says("no connection to evil.example:443");
    let reached = fs::read_to_string(story.place("home/.fake/terminal-network")).unwrap();
    assert_eq!(reached, r#"[true, false, "HTTP/1.1 403"]"#);
    other.set_nonblocking(true).unwrap();
    assert!(other.accept().is_err(), "somebody came");
}

#[test]
fn an_agent_may_refuse_to_be_served() {
    let story = story("acp", "");
    set(&story, "env = ", "speaks = \"acp\"\nservices = false\nenv = ");
    develops(&story);
    let offered = fs::read_to_string(story.place("home/.fake/offered")).unwrap();
    assert!(!offered.contains("true"), "{offered}");
}

#[test]
fn an_agent_that_speaks_acp_is_asked_to_stop_before_it_is_ended() {
    // On a busy machine, redgreen may stop the agent before its turn has started.
    let is_asked = |seconds: u32| {
        let story =
            story("acp heeds:PLAN", &format!("max-retries = 0\n[timeout]\nturn = {seconds}"));
        set(&story, "env = ", "speaks = \"acp\"\nenv = ");
        story.redgreen("run \"a calculator\"").exits(1).says("did not stop in time");
        story.place("home/.fake/cancelled").exists()
    };
    assert!(super::LIMITS.iter().any(|limit| is_asked(*limit)), "it is never asked to stop");
}

#[test]
fn a_conversation_is_taken_up_where_the_task_says_so() {
    let story = story("acp loads", "max-retries = 0");
    set(&story, "env = ", "speaks = \"acp\"\nenv = ");
    let task = include_str!("doors/task.json");
    let (method, strategy) = ("\"method\": \"agent\"", "\"strategy\": \"new\"");
    assert!(task.contains(method) && task.contains(strategy));
    let resumes = "\"strategy\": \"resume\", \"resume_from\": \"old-session\"";
    let task = task.replace(method, "\"method\": \"cli\"").replace(strategy, resumes);
    story.script("task.json", &task.replace("\"max_iterations\": 3", "\"max_iterations\": 1"));
    // The fake agent develops something else. Only the start of its first turn matters here.
    let said = story.redgreen("--json run --task @task.json");
    assert_eq!(fs::read_to_string(story.place("home/.fake/loaded")).unwrap(), "old-session");
    assert!(said.stdout.contains("\"session\":\"old-session\""), "{}", said.stdout);
    assert!(!said.stdout.contains("long ago"), "{}", said.stdout);
}

/// With a working sandbox, an agent's actions are visible only in its own turns.
#[test]
fn a_fenced_agent_may_do_what_it_wants() {
    let story = story(&format!("{WILFUL} flood:RED"), "");
    let measuring = [
        "python".into(),
        "-c".into(),
        super::runaway_tests::MEASURE.into(),
        story.place("memory").into(),
    ];
    wilful(&story, &measuring);
    let memory: u64 = fs::read_to_string(story.place("memory")).unwrap().parse().unwrap();
    assert!(memory < MEMORY_BYTES_MAX, "{memory} bytes");
}

/// The same test with a sandbox mechanism that is not the strongest one of this machine.
#[track_caller]
fn held_by(means: Mechanism) {
    match alone(means) {
        Ok(words) => {
            let story = story(WILFUL, "");
            wilful(&story, &words);
            story.fenced_by(means);
        }
        Err(error) => skipped(&format!("an agent behind {}: {error:#}", means.as_str())),
    }
}

#[test]
fn bubblewrap_holds_an_agent() {
    held_by(Mechanism::Bubblewrap);
}

#[test]
fn namespaces_hold_an_agent() {
    held_by(Mechanism::Namespaces);
}

#[test]
fn landlock_holds_an_agent() {
    held_by(Mechanism::Landlock);
}

const WILFUL: &str = "secrets:PLAN own_places:PLAN stale_folder:PLAN garbage:PLAN wrong_git:PLAN wrong_branch:RED \
                      forge_notes:RED forge_records:RED lie:RED own_git:RED reset_hard:GREEN outside:GREEN no_git:GREEN \
                      crash:GREEN";

/// Runs redgreen with a hostile agent. `before` precedes redgreen on the command line.
#[track_caller]
fn wilful(story: &Story, before: &[OsString]) {
    let (belongings, main) = (story.belongings(), story.git("rev-parse main"));
    let mut command = story.command("env");
    command.args(before).arg(env!("CARGO_BIN_EXE_redgreen")).args(["run", "a calculator"]);
    let said = ProgramOutput::of("run", &command.output().unwrap()).exits(3);
    said.says("refused").says("agent.crash").says("signal 11");
    assert_eq!(story.log(&format!("main..{}", story.branch())), CYCLE);
    assert_eq!(story.belongings(), belongings);
    assert_eq!(
        (story.git("rev-parse main"), story.git("branch --list mine")),
        (main, String::new())
    );
    assert!(!story.place("home/mine.txt").exists());
    assert!(
        story.place("data/fake/kept").exists() && !story.place("home/.local/share/fake").exists()
    );
    story.redgreen("approve").exits(0);
}

#[test]
fn an_agent_that_speaks_acp_badly_has_failed_with_a_reason_and_is_asked_again() {
    let story = story("acp partial:PLAN garbage:RED flood:RED crash:GREEN", "");
    set(&story, "env = ", "speaks = \"acp\"\nenv = ");
    develops(&story).says("it ended (exit 0) before its turn was over").says("signal 11");
}

/// Without a sandbox, redgreen restores the run's own files and refs, and stops every leftover
/// process.
#[test]
fn an_unfenced_agent_cannot_spoil_the_run() {
    let story = story("forge_notes:RED daemon:RED own_branch:GREEN wrong_branch:GREEN", "");
    set(&story, "[agent]\n", "[agent]\nfence = \"none\"\n");
    let said = story.redgreen("run \"a calculator\"").exits(3);
    said.says("handoff note; redgreen restored it")
        .says("the run's branch moved during the agent's turn")
        .says("refs/heads/mine");
    assert_eq!(story.log(&format!("{}~5..{}", story.branch(), story.branch())), CYCLE);
    let pid = fs::read_to_string(story.place("home/.fake/daemon")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("671"))
    {
        assert!(Instant::now() < deadline, "{pid} still runs");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_hangs_is_ended_at_its_limit_and_the_run_can_be_resumed() {
    let story = story("hang:PLAN", "max-retries = 0\n[timeout]\nturn = 4");
    let before = story.belongings();
    story.redgreen("run \"a calculator\"").exits(1).says("did not stop in time");
    assert_eq!(story.belongings(), before);
    set(&story, "turn = 4", "turn = 60");
    story.redgreen("resume").exits(3);
    assert_eq!(
        story.log(&format!("main..{}", story.branch())).last().map(String::as_str),
        CYCLE.last().copied()
    );
}

/// A person saves the files that the screen asks for.
#[test]
fn a_human_works_where_the_screen_says_and_is_judged_on_save() {
    let story = Story::new();
    story.file(
        "redgreen.toml",
        "backoff = 0.0\n[agent]\nname = \"human\"\non-save = true\n[timeout]\nturn = 60\n",
    );
    story.commit("a human");
    let mut child = story
        .prepare("run \"a calculator\"")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut phase = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        let line = line.trim();
        if let Some((name, _)) =
            line.split_once(": ").filter(|(name, _)| name.chars().all(char::is_uppercase))
        {
            name.clone_into(&mut phase);
        }
        let Some(folder) = line.strip_prefix("in   ").map(PathBuf::from) else { continue };
        // The person saves at once: no save is too early.
        let (file, text) = match phase.as_str() {
            "PLAN" if folder.join("test-list.md").exists() => {
                ("calc.py", "def add(a, b):\n    return a + b\n")
            }
            "PLAN" => ("test-list.md", "- [ ] adds\n"),
            "RED" => (
                "test_calc.py",
                "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    \
                 def test_adds(self):\n        assert add(1, 2) == 3\n\n    \
                 def test_more(self):\n        assert add(-4, 9) == 5\n",
            ),
            _ => ("calc.py", "def add(a, b):\n    return a + b\n"),
        };
        fs::write(folder.join(file), text).unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert_eq!(story.log(&format!("main..{}", story.branch())).len(), 5);
}

/// An editor that writes what the phase asks for. It fails unless it runs on a terminal.
const EDITOR: &str = r#"
test -t 0 && test -t 1 || exit 9
case "$1" in
test-list.md) test -e "$1" || printf -- '- [ ] adds\n' > "$1" ;;
test_calc.py) printf 'import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n' > "$1"
    printf '    def test_adds(self):\n        assert add(1, 2) == 3\n        assert add(-4, 9) == 5\n' >> "$1" ;;
calc.py) printf 'def add(a, b):\n    return a + b\n' > "$1" ;;
*) exit 8 ;;
esac
"#;

#[test]
fn a_human_has_their_editor_opened_and_presses_enter() {
    let story = Story::new();
    story.script("editor.sh", EDITOR);
    let editor = format!("sh '{}'", story.place("editor.sh").display());
    let story = story.env("EDITOR", &editor);
    let answers = [
        ("opens ", "e\n"),
        ("to judge it.", "\n"),
        ("test file for", "test_calc.py\n"),
        ("code file for", "calc.py\n"),
        ("Enter to decide later", "\n"),
    ];
    let (code, screen) = on_a_terminal(&story, "run --agent human \"a calculator\"", &answers);
    assert_eq!(code, Some(3), "{screen}");
    assert!(!screen.contains("ended with"), "{screen}");
    let done = story.log(&format!("main..{}", story.branch()));
    assert_eq!(
        done,
        ["plan: adds", "test: adds", "feat: adds", "refactor: no changes needed", CYCLE[4]],
        "{screen}"
    );
}

#[test]
fn a_human_without_a_keyboard_gets_instructions() {
    Story::new()
        .redgreen("run --agent human \"x\"")
        .exits(2)
        .says("needs a terminal")
        .says("on-save");
}

#[test]
fn agents_says_who_is_here_and_what_the_others_need() {
    let story = story("acp", "");
    let bin = story.place("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = |name: &str, text: &str| {
        fs::write(bin.join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("claude", "echo '2.1.0 (Claude Code)'");
    program("codex", "exit 3");
    program("qwen", &format!("exec python {} acp", story.place("home/fake.py").display()));
    let path = story.command("sh").args(["-c", "printf %s \"$PATH\""]).output().unwrap().stdout;
    let path = format!("{}:{}", bin.display(), String::from_utf8(path).unwrap());
    let story = story
        .env("PATH", &path)
        .env("CLAUDE_CODE_OAUTH_TOKEN", "k")
        .env("GOOGLE_API_KEY", "sk-hush");
    // The project's own choice would come first.
    set(&story, "name = \"fake\"\n", "");
    let answer = story.redgreen("--json agents").exits(0).json();
    let agent = |name: &str| {
        answer["agents"]
            .as_array()
            .unwrap()
            .iter()
            .find(|agent| agent["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(answer["first"], "claude");
    assert_eq!(agent("claude")["version"], "2.1.0 (Claude Code)");
    assert_eq!(agent("claude")["login"], "CLAUDE_CODE_OAUTH_TOKEN");
    assert_eq!(agent("codex")["trouble"], "--version ended with exit 3");
    assert_eq!(agent("codex")["next"], "codex login");
    assert_eq!(
        (&agent("qwen")["version"], &agent("qwen")["speaks"]),
        (&"fake 1 ACP 1".into(), &"acp".into())
    );
    assert_eq!(agent("aider")["next"], "pip install aider-chat");
    assert!(!agent("fake").is_null());
    let gemini = answer["builtIn"]["providers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|known| known["name"] == "gemini");
    assert_eq!(gemini.unwrap()["key"], "GOOGLE_API_KEY");
    let said = story.redgreen("agents").exits(0).says("default agent: claude");
    let said = said.says("built-in           gemini: GOOGLE_API_KEY is set");
    assert!(!said.stdout.contains("hush") && !answer.to_string().contains("hush"));
}

/// In the project's folder, an agent would load its plugins and start the servers in its settings.
#[test]
fn agents_are_asked_for_their_version_outside_of_the_project() {
    let story = Story::new();
    let (bin, ran) = (story.place("bin"), story.place("ran"));
    fs::create_dir_all(&bin).unwrap();
    for name in ["claude", "codex", "gemini", "opencode", "qwen", "copilot", "claude-agent-acp"] {
        let text = "#!/bin/sh\n[ ! -e .plugin ] || . ./.plugin\necho '1.2.3'\n";
        fs::write(bin.join(name), text).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    story.file(".plugin", &format!("touch '{}'\n", ran.display())).commit("a plugin");
    let path = story.command("sh").args(["-c", "printf %s \"$PATH\""]).output().unwrap().stdout;
    let path = format!("{}:{}", bin.display(), String::from_utf8(path).unwrap());
    let story = story.env("PATH", &path);
    story.redgreen("agents").exits(0).says("1.2.3");
    story.redgreen("doctor").says("1.2.3");
    assert!(!ran.exists());
}

#[test]
fn an_agent_that_is_not_there_is_named_with_the_way_to_get_it() {
    let story = Story::new();
    let path = story.command("sh").args(["-c", "dirname $(command -v git)"]).output().unwrap();
    let path = String::from_utf8(path.stdout).unwrap();
    let bare = Story::new().env("PATH", path.trim());
    bare.redgreen("run --agent aider \"x\"")
        .exits(4)
        .says("is not installed")
        .says("pip install aider-chat");
    story
        .redgreen("run --agent nobody \"x\"")
        .exits(2)
        .says("unknown agent \"nobody\"")
        .says("claude");
    bare.redgreen("run \"x\"").exits(2).says("no agent is configured").says("redgreen demo");
}
