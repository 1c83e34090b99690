//! Every command in the README and the book either runs here in a prepared repository, or a table
//! gives the reason why it cannot. The module `book` checks the options against `--help`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{ProgramOutput, Story, book, machine, scripts};

/// Commands that run one after another in one repository, with their exit codes.
struct Scene {
    begin: fn() -> Story,
    commands: &'static [(&'static str, i32)],
}

const MODEL: &str = "needs a model; `story::built_in` uses a scripted one";
const AGENT: &str = "needs a coding agent and its login; `story::agents` uses scripted ones";
const INSTALL: &str = "downloads packages or builds for minutes; `release` installs from a folder";
const BENCH: &str = "measures for minutes; `story::cost` runs `bench --quick`";
const DEMO: &str = "leaves a folder behind; `story::demo` runs it";
const PULL_REQUEST: &str = "needs the merge commit of a pull request; `story::verify` runs it";
const FLEET: &str = "needs a remote or a server; `story::fleet` starts them";
const SERVES: &str = "does not end; `story::ui` starts it and stops it";
const EXAMPLES: &str =
    "needs the files of its page; `story::book`, `story::doors` and `story::examples` run it";
const TEMPLATE: &str = "a placeholder for names of the reader";
const STEER: &str =
    "needs a run in the right phase; `story::steer` and `story::side_by_side` run it";
const RESCUE: &str = "needs a merge conflict; `story::merging` runs it";
const TOOLCHAIN: &str = "needs a toolchain that not every machine has";

/// Commands that cannot run here, each with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("claude", AGENT),
    ("claude mcp add redgreen -- redgreen mcp", AGENT),
    ("codex mcp add redgreen -- redgreen mcp", AGENT),
    ("redgreen run --agent claude \"add roman numerals\"", AGENT),
    ("redgreen run --attempts 4 --agents claude,codex \"add roman numerals\"", AGENT),
    ("redgreen bench", BENCH),
    ("redgreen bench --compare docs/figures.json", BENCH),
    ("redgreen bench --json", BENCH),
    ("redgreen bench --quick", BENCH),
    ("redgreen bench models --server URL", BENCH),
    ("redgreen bench models --server http://127.0.0.1:11434/v1 --model qwen2.5-coder:7b", BENCH),
    (
        "redgreen bench models --server http://127.0.0.1:8080/v1 --kata is_leap --record cassettes",
        BENCH,
    ),
    ("redgreen bench suites", BENCH),
    ("redgreen judge green --task task.json", EXAMPLES),
    ("redgreen run --issue 87 --lld design.md --script design-turns.toml", EXAMPLES),
    ("redgreen run --issue 87 --lld docs/lld.md --context src/auth src/util.py", EXAMPLES),
    ("redgreen run --red red.yaml", EXAMPLES),
    ("redgreen run --spec spec.yaml", EXAMPLES),
    ("redgreen run --spec spec.yaml --script spec-turns.toml", EXAMPLES),
    ("redgreen run --task IMPL-1.json", EXAMPLES),
    ("redgreen run --task task.json --script task-turns.toml", EXAMPLES),
    ("redgreen verify --pr", PULL_REQUEST),
    ("nats-server -js -sd /var/lib/nats", FLEET),
    ("redgreen approve k3x9m2p7qrst", FLEET),
    ("redgreen fleet --watch", FLEET),
    ("redgreen submit \"add roman numerals\"", FLEET),
    ("redgreen submit --spec spec.yaml", FLEET),
    ("redgreen work", FLEET),
    ("redgreen work --jobs 4 --labels linux,gpu", FLEET),
    ("cargo install --locked --path crates/redgreen", INSTALL),
    ("cargo run --release -- demo", INSTALL),
    (
        "gh attestation verify redgreen-0.2.0-x86_64-unknown-linux-musl.tar.gz --repo OWNER/redgreen",
        INSTALL,
    ),
    ("npm init -y", INSTALL),
    ("npm install --save-dev vitest typescript", INSTALL),
    ("python3 -m venv .venv && .venv/bin/pip install pytest", INSTALL),
    ("redgreen demo", DEMO),
    ("redgreen demo --lang node", DEMO),
    ("redgreen run \"add roman numerals\"", MODEL),
    ("redgreen run \"slugs for titles\"", MODEL),
    (
        "redgreen run --model ollama/qwen2.5-coder:1.5b \"is_leap(year) says whether a year is a leap year\"",
        MODEL,
    ),
    ("redgreen run --model ollama/qwen3-coder \"add roman numerals\"", MODEL),
    ("redgreen run add roman numerals", MODEL),
    ("git commit --no-edit", RESCUE),
    ("redgreen ui", SERVES),
    ("redgreen ui --port 7070", SERVES),
    ("redgreen ui --read-only", SERVES),
    ("redgreen plan", STEER),
    ("redgreen reject \"test the total, not the rows\"", STEER),
    ("redgreen resume --choose 2", STEER),
    ("redgreen resume --more \"negative numbers\"", STEER),
    ("redgreen run --attempts 3 \"add roman numerals\"", STEER),
    ("redgreen run --pause-after plan \"add roman numerals\"", STEER),
    ("redgreen run --pause-after red,green \"add roman numerals\"", STEER),
    ("cd your-project", TEMPLATE),
    ("export ANTHROPIC_API_KEY=…", TEMPLATE),
    ("export REDGREEN_QUEUE=nats://build:4222", TEMPLATE),
    ("git switch <the run's branch>", TEMPLATE),
    ("redgreen --trust run …", TEMPLATE),
    ("redgreen run --agent human \"…\"", TEMPLATE),
    ("redgreen salvage diff <name>", TEMPLATE),
    ("redgreen salvage restore <name> --branch rescued", TEMPLATE),
    ("redgreen salvage show <name>", TEMPLATE),
    ("go mod init example.com/slugs", TOOLCHAIN),
];

const SCENES: &[Scene] = &[
    Scene {
        begin: project,
        commands: &[
            ("redgreen doctor", 0),
            ("redgreen doctor --json", 0),
            ("redgreen agents", 0),
            ("redgreen config", 0),
            ("redgreen status", 0),
            ("redgreen test", 0),
            ("redgreen test --list", 0),
            ("redgreen test tests/test_calc.py tests/unit", 0),
            ("redgreen test tests/test_calc.py::test_adds", 0),
            ("redgreen test --coverage", 0),
            ("redgreen test --junit report.xml", 0),
            ("redgreen schema spec", 0),
            ("redgreen context src/auth docs/lld.md", 0),
            ("redgreen trust --show", 0),
            ("redgreen trust", 0),
            ("redgreen trust --revoke", 0),
            ("redgreen session start \"add roman numerals\"", 0),
            ("redgreen session status", 0),
            ("redgreen session check", 0),
            ("redgreen session end", 0),
            ("redgreen init --with claude", 0),
            ("redgreen init --hook pre-push", 0),
            ("redgreen repair-notes", 0),
            ("redgreen salvage", 0),
        ],
    },
    Scene {
        begin: red,
        commands: &[(
            "redgreen judge red --base main --head HEAD --brief \"to_roman(n) for 1..3999\"",
            0,
        )],
    },
    Scene {
        begin: green,
        commands: &[
            ("redgreen judge green --base HEAD~1 --head HEAD", 0),
            ("redgreen judge green --explain", 0),
            ("redgreen judge refactor --base HEAD~1 --head HEAD --json", 1),
            ("redgreen judge green --base HEAD~1 --head HEAD --examples ../withheld.toml", 0),
            ("redgreen verify", 0),
            ("redgreen verify main..HEAD", 0),
            ("redgreen verify main..topic", 0),
            ("redgreen verify main..HEAD --json", 0),
            ("redgreen verify main..HEAD --shard 1/2 --json > part-1.json", 0),
            ("redgreen verify main..HEAD --shard 2/2 --json > part-2.json", 0),
            ("redgreen verify --merge part-1.json part-2.json", 0),
            (
                "REDGREEN_TRUST=1 redgreen verify origin/main..HEAD --junit redgreen.xml \
                 --summary redgreen.md",
                0,
            ),
        ],
    },
    Scene { begin: changed, commands: &[("redgreen judge refactor --head WORKTREE", 0)] },
    Scene {
        begin: Story::waiting,
        commands: &[
            ("redgreen why", 0),
            ("redgreen report", 0),
            ("redgreen report k3x9 --html run.html", 0),
            ("redgreen report --html - > run.html", 0),
            ("redgreen report --json", 0),
            ("redgreen ui --page /runs/k3x9", 0),
            ("redgreen watch", 3),
            ("redgreen watch k3x9 --json", 3),
            ("redgreen say \"use a dataclass\"", 0),
            ("redgreen say k3x9 \"use a dataclass\"", 0),
            ("redgreen resume", 3),
            ("redgreen approve", 0),
            ("redgreen undo", 0),
            ("redgreen clean", 0),
            ("redgreen clean --dry-run", 0),
            ("redgreen clean --yes", 0),
        ],
    },
    Scene {
        begin: pushed,
        commands: &[
            ("redgreen approve --push", 0),
            ("git log -5 --notes=tdd-handoffs", 0),
            ("git push origin refs/notes/tdd-handoffs", 0),
            ("git fetch origin refs/notes/tdd-handoffs:refs/notes/tdd-handoffs", 0),
        ],
    },
    Scene { begin: merged, commands: &[("redgreen undo k3x9", 0)] },
    Scene {
        begin: scripted,
        commands: &[
            ("redgreen run --script kata.toml \"a calculator\"", 3),
            (
                "redgreen run --script kata.toml --examples ../withheld.toml \"add roman numerals\"",
                3,
            ),
        ],
    },
    Scene {
        begin: scripted,
        commands: &[
            ("REDGREEN_KILL_AT=after:9 redgreen run --script kata.toml \"a calculator\"", 137),
            ("git status", 0),
        ],
    },
    Scene {
        begin: scripted,
        commands: &[
            (
                "redgreen run --script kata.toml \"add roman numerals\"\ncase $? in\n    3) redgreen approve ;;                    # finished and judged, waiting for approval\n    1) redgreen why ;;                        # gave up; show the reason\n    5) redgreen resume --budget-usd 10 ;;     # budget used up\n    *) echo \"could not find out\" ;;\nesac",
                0,
            ),
            ("git switch main", 0),
            ("git merge main", 0),
            ("touch pytest.ini && git add -A && git commit -m \"first\"", 0),
            ("git init -b main shop && cd shop", 0),
        ],
    },
    Scene { begin: specified, commands: &[("redgreen brief spec.yaml", 0)] },
    Scene {
        begin: quick_start,
        commands: &[("redgreen run --script first.toml \"slugs for titles\"", 3)],
    },
    Scene {
        begin: cargo_package,
        commands: &[("cargo generate-lockfile", 0), ("cargo new --lib slugs && cd slugs", 0)],
    },
    Scene {
        begin: Story::bare_folder,
        commands: &[
            ("git init -b main slugs && cd slugs", 0),
            ("printf '.venv/\\n__pycache__/\\n' > .gitignore", 0),
            ("touch pytest.ini", 0),
            ("echo node_modules/ > .gitignore", 0),
            ("echo target/ > .gitignore", 0),
            ("echo 'package slugs' > slugs.go", 0),
            ("mkdir -p src/test/java", 0),
        ],
    },
];

/// A project with the files that the book's commands name.
fn project() -> Story {
    let story = Story::pytest();
    let test = "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n";
    story
        .file("calc.py", "def add(a, b):\n    return a + b\n")
        .file("conftest.py", "")
        .file("tests/test_calc.py", test)
        .file("tests/unit/test_unit.py", &test.replace("test_adds", "test_unit"))
        .file("src/auth/login.py", "USERS = []\n")
        .file("docs/lld.md", "# Login\n")
        .commit("a project");
    story
}

/// A branch whose last commit is a RED.
fn red() -> Story {
    let story = project();
    story.git("update-ref refs/remotes/origin/main main");
    story.git("switch -q -c topic");
    story.file(
        "tests/test_roman.py",
        "from roman import to_roman\n\n\ndef test_nine():\n    assert to_roman(9) == \"IX\"\n",
    );
    story.commit("red");
    story
}

/// The same branch with its GREEN.
fn green() -> Story {
    let story = red();
    let code = "NUMERALS = [(10, \"X\"), (9, \"IX\"), (5, \"V\"), (4, \"IV\"), (1, \"I\")]\n\n\n\
                def to_roman(n):\n    text = \"\"\n    for value, numeral in NUMERALS:\n        \
                while n >= value:\n            text += numeral\n            n -= value\n    \
                return text\n";
    story.file("roman.py", code).commit("green");
    story.script(
        "withheld.toml",
        "[[examples]]\ncall = \"roman:to_roman\"\nargs = [4]\ngives = \"IV\"\n",
    );
    story
}

/// An uncommitted refactoring.
fn changed() -> Story {
    let story = project();
    story.file("calc.py", "def add(first, second):\n    return first + second\n");
    story
}

/// A run that waits for approval, in a clone that can push.
fn pushed() -> Story {
    let story = Story::waiting();
    let remote = story.place("remote.git").display().to_string();
    for line in [
        vec!["init", "-q", "--bare", "-b", "main", &remote],
        vec!["remote", "add", "origin", &remote],
        vec!["push", "-q", "-u", "origin", "main"],
    ] {
        assert!(story.command("git").args(line).status().unwrap().success());
    }
    story
}

fn merged() -> Story {
    let story = Story::waiting();
    story.redgreen("approve").exits(0);
    story
}

/// A project with a script for the agents.
fn scripted() -> Story {
    let story = Story::new();
    story
        .file("kata.toml", &[scripts::PLAN, scripts::RED, scripts::GREEN, scripts::DONE].concat())
        .commit("a script");
    story.script("withheld.toml", "[[examples]]\ncall = \"calc:add\"\nargs = [2, 2]\ngives = 4\n");
    story
}

/// The specification of the examples page.
fn specified() -> Story {
    let story = Story::pytest();
    story.file("spec.yaml", &book::example(&book::page("examples.md"), "spec.yaml"));
    story
}

/// The Python project of the quick start.
fn quick_start() -> Story {
    let story = Story::pytest();
    let script = book::example(&book::page("quick-start.md"), "first.toml");
    story.file("first.toml", &script).commit("a script");
    story
}

fn cargo_package() -> Story {
    let story = Story::bare_folder();
    story
        .file("Cargo.toml", "[package]\nname = \"a\"\nedition = \"2021\"\n")
        .file("src/lib.rs", "");
    story
}

/// A command as printed on the page, without its comment and with single spaces.
fn normal(line: &str) -> String {
    let command = line.split(" #").next().unwrap_or(line);
    command.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The commands of every page, each with its page. A block that contains a `case` is one command.
fn documented() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = ["docs", "docs/book"].into_iter().flat_map(|folder| {
        fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path())
    });
    let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut commands = Vec::new();
    for path in pages.chain([root.join("README.md")]) {
        let text = fs::read_to_string(&path).unwrap();
        let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        for block in blocks {
            let block = block.replace("\\\n", " ");
            if block.contains("\ncase ") {
                commands.push((block.trim().to_owned(), path.clone()));
                continue;
            }
            let lines = block.lines().map(normal).filter(|line| !line.is_empty());
            commands.extend(
                lines.filter(|line| !line.starts_with('#')).map(|line| (line, path.clone())),
            );
        }
    }
    commands
}

/// Fails if a page gains a command that no test runs, or loses one that a table lists.
#[test]
fn every_documented_command_runs_or_has_a_reason() {
    let documented = documented();
    assert!(documented.len() > 100, "only {} commands were found", documented.len());
    let run: BTreeSet<&str> =
        SCENES.iter().flat_map(|scene| scene.commands).map(|(command, _)| *command).collect();
    let exempt: BTreeSet<&str> = NOT_RUN.iter().map(|(command, _)| *command).collect();
    let both: Vec<_> = run.intersection(&exempt).collect();
    assert!(both.is_empty(), "in both tables: {both:?}");
    let unknown: Vec<_> = documented
        .iter()
        .filter(|(command, _)| !run.contains(&**command) && !exempt.contains(&**command))
        .collect();
    assert!(unknown.is_empty(), "neither run nor exempt: {unknown:#?}");
    let gone: Vec<_> = run
        .union(&exempt)
        .filter(|command| !documented.iter().any(|(known, _)| known == **command))
        .collect();
    assert!(gone.is_empty(), "no page has these: {gone:#?}");
}

#[test]
fn documented_commands_run() {
    let mut wrong = Vec::new();
    for scene in SCENES {
        let story = (scene.begin)();
        let path = std::env::split_paths(&machine_path())
            .chain([Path::new(env!("CARGO_BIN_EXE_redgreen")).parent().unwrap().to_owned()])
            .collect::<Vec<_>>();
        let path = std::env::join_paths(path).unwrap().into_string().unwrap();
        let story = story.env("PATH", &path);
        let id = run_id(&story);
        for (command, code) in scene.commands {
            let line = id.as_ref().map_or((*command).to_owned(), |id| command.replace("k3x9", id));
            let mut shell = story.command("sh");
            let output = shell.args(["-c", &line]).stdin(Stdio::null()).output().unwrap();
            let said = ProgramOutput::of(&line, &output);
            if said.code != Some(*code) {
                wrong.push(format!("{command}: {:?}\n{}{}", said.code, said.stdout, said.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
}

fn machine_path() -> String {
    machine().into_iter().find(|(name, _)| name == "PATH").map(|(_, path)| path).unwrap_or_default()
}

/// The run's short id, from the name of its journal folder.
fn run_id(story: &Story) -> Option<String> {
    let mut runs = fs::read_dir(story.root.join(".git/redgreen/runs")).ok()?;
    let name = runs.next()?.ok()?.file_name().into_string().ok()?;
    Some(name.rsplit('-').next()?.to_owned())
}
