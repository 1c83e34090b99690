//! The built-in agent with a scripted model: whole runs, and every failure between redgreen and a
//! model server.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::doors::artifact;
use super::{ProgramOutput, Story};
use crate::model::peak_kib;
use crate::server::{Ending, SeenRequest, Server, Turn, Wire};

const TEST: &str = "from calc import add\n\n\ndef test_adds():\n    assert add(2, 3) == 5\n    assert add(-1, 1) == 0\n";
const CODE: &str = "def add(a, b):\n    return a + b\n";
const NEXT: &str = r#"{"currentTest": {"description": "adds two numbers", "testFile": "test_calc.py", "implFile": "calc.py"}}"#;

/// The role that sent a request, recognised by its instructions.
pub(crate) fn role(seen: &SeenRequest) -> &'static str {
    let text = seen.body.to_string();
    let roles = [
        ("You plan.", "plan"),
        ("Write one new test", "red"),
        ("Make the failing tests pass", "green"),
        ("All tests pass.", "refactor"),
        ("was refused for the reason below", "diagnosis"),
    ];
    roles.into_iter().find(|(words, _)| text.contains(words)).map_or("nobody", |(_, role)| role)
}

/// A model that develops an adder in one cycle.
pub(crate) fn adder(seen: &SeenRequest) -> Turn {
    let done = seen.body.to_string().contains("- [x] adds two numbers");
    // With the user's own server, redgreen first tests whether the model can call tools.
    if seen.body.to_string().contains("notes/today.txt") {
        return Turn::call("Read", json!({ "file_path": "notes/today.txt" }));
    }
    match (role(seen), seen.answers()) {
        ("plan", 0) if !done => Turn::call(
            "Write",
            json!({ "file_path": "test-list.md", "content": "- [ ] adds two numbers\n" }),
        ),
        ("plan", _) if done => Turn::say(r#"{"currentTest": null}"#),
        ("plan", _) => Turn::say(NEXT),
        ("red", 0) => Turn::call("Write", json!({ "file_path": "test_calc.py", "content": TEST }))
            .and_call("Complete", json!({ "implementation_files": [] })),
        ("green", 0) => Turn::call("Write", json!({ "file_path": "calc.py", "content": CODE }))
            .and_call("RunTests", json!({})),
        ("green", _) => Turn::call(
            "Complete",
            json!({ "implementation_files": ["calc.py"], "summary": "it adds" }),
        ),
        ("refactor", _) => Turn::say("Nothing is worth changing."),
        _ => Turn::status(400).body("what is this about?"),
    }
}

/// A project that uses the model on this server.
fn with_model(server: &Server, wire: Wire) -> Story {
    served(Story::pytest(), server, wire)
}

pub(crate) fn served(story: Story, server: &Server, wire: Wire) -> Story {
    match wire {
        Wire::Anthropic => story
            .env("ANTHROPIC_API_KEY", "sk-ant-test")
            .env("ANTHROPIC_BASE_URL", &server.url)
            .env("TDD_MODEL", "claude-opus-5-5"),
        Wire::Responses => story
            .env("OPENAI_API_KEY", "sk-test")
            .env("OPENAI_BASE_URL", &format!("{}/v1", server.url))
            .env("TDD_MODEL", "gpt-6-sol"),
        Wire::Gemini => story
            .env("GEMINI_API_KEY", "AIza-test")
            .env("GOOGLE_GEMINI_BASE_URL", &server.url)
            .env("TDD_MODEL", "gemini-3-pro"),
        Wire::Chat => {
            let settings = format!(
                "backoff = 0.0\n[model]\ntools = true\nbase-url = \"{}/v1\"\n[agent]\nmodel = \"m\"\n",
                server.url
            );
            story.file("redgreen.toml", &settings);
            story.commit("a model");
            story
        }
    }
}

/// A run whose user sends a message during GREEN. Returns the requests that the model got in GREEN.
fn told_in_green(wire: Wire, words: &str, attempts: usize) -> (Story, Vec<String>) {
    let (asked, is_asked) = mpsc::channel();
    let (go, may_go) = mpsc::channel();
    let may_go = Mutex::new(may_go);
    let server = Server::answering(move |seen: &SeenRequest| {
        let is_code = role(seen) == "green" && seen.body.to_string().contains("test_calc.py");
        if is_code && seen.answers() == 0 {
            asked.send(()).unwrap();
            may_go.lock().unwrap().recv().unwrap();
        }
        adder(seen)
    });
    let story = with_model(&server, wire);
    let child = story
        .prepare(&format!("run --attempts {attempts} --jobs {attempts} \"an adder\""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..attempts {
        is_asked.recv().unwrap();
    }
    story.redgreen(&format!("say \"{words}\"")).exits(0).says("during this turn");
    for _ in 0..attempts {
        go.send(()).unwrap();
    }
    ProgramOutput::of("run", &child.wait_with_output().unwrap())
        .exits(3)
        .says(&format!("you said   {words}"));
    let green = server.requests().into_iter().filter(|seen| role(seen) == "green");
    let bodies = green.map(|seen| seen.body.to_string()).collect();
    (story, bodies)
}

#[test]
fn words_said_during_a_turn_reach_the_model_between_its_tool_calls() {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Gemini, Wire::Chat] {
        let (story, green) = told_in_green(wire, "name the arguments a and b", 1);
        let heard: Vec<bool> =
            green.iter().map(|body| body.contains("name the arguments a and b")).collect();
        assert_eq!(heard, [false, true], "{wire:?}: {green:?}");
        assert!(green[1].contains("The user says, while you work."), "{}", green[1]);
        let runs = story.root.join(".git/redgreen/runs");
        let run = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
        let journal = std::fs::read_to_string(run.join("journal.jsonl")).unwrap();
        let at = journal.find("\"event\":\"user-said\"").unwrap();
        // The journal has the message before GREEN's turn ends, and the note of the phase has it
        // too.
        assert_eq!(journal[..at].matches("\"event\":\"turned\"").count(), 2, "{journal}");
        assert_eq!(journal.matches("\"event\":\"user-said\"").count(), 1);
        let notes = story.redgreen("history --json").exits(0).json().to_string();
        assert!(notes.contains("name the arguments a and b"), "{notes}");
        assert_eq!(std::fs::read_dir(run.join("mailbox")).unwrap().count(), 0);
        story.redgreen("approve").exits(0);
    }
}

#[test]
fn words_said_during_several_attempts_reach_all_of_them() {
    let (story, green) = told_in_green(Wire::Anthropic, "be brief", 2);
    assert_eq!(green.len(), 4);
    assert_eq!(green.iter().filter(|body| body.contains("- be brief")).count(), 2, "{green:?}");
    let commit = story.git(&format!("log -1 --format=%H --grep=^feat: {}", story.branch()));
    let note = story.git(&format!("notes --ref=tdd-handoffs show {commit}"));
    assert_eq!(note.matches("be brief").count(), 1, "{note}");
}

/// No agent is configured or installed, and a model server listens on this machine.
#[test]
fn a_models_server_on_this_machine_is_found_and_said() {
    for (models, words) in [
        (
            r#"{"data": [{"id": "nomic-embed-text"}, {"id": "only"}]}"#,
            "using ollama/only, its only model",
        ),
        (
            r#"{"data": [{"id": "one"}, {"id": "two"}]}"#,
            "using ollama/one, the first of 2; select others with --model: two",
        ),
    ] {
        let answer = Turn::status(200).body(models);
        let asked = move |seen: &SeenRequest| {
            if seen.path.ends_with("/models") { answer.clone() } else { adder(seen) }
        };
        let server = Server::answering(asked);
        // Another program listens on LM Studio's port.
        let other = Server::answering(|_| Turn::status(200).body("<html>"));
        let tools = story_path();
        let story = Story::pytest()
            .env("OLLAMA_HOST", &server.url)
            .env("LMSTUDIO_BASE_URL", &other.url)
            .env("PATH", &tools);
        let agents = story.redgreen("--json agents").exits(0).json();
        assert_eq!(agents["builtIn"]["servers"][0]["provider"], "ollama");
        assert_eq!(agents["builtIn"]["servers"].as_array().unwrap().len(), 1);
        story.redgreen("run \"an adder\"").exits(3).says(words);
        // A resumed run keeps the model.
        let kept = story.git("rev-parse --git-common-dir");
        let runs = std::fs::read_dir(story.root.join(kept).join("redgreen/runs"))
            .unwrap()
            .flatten()
            .next()
            .unwrap();
        let kept = std::fs::read_dir(runs.path())
            .unwrap()
            .flatten()
            .filter_map(|file| std::fs::read_to_string(file.path()).ok());
        assert!(kept.into_iter().any(|text| text.contains("\"model\":\"ollama/o")));
    }
}

/// A PATH with Python and git, but without the coding agents of this machine.
fn story_path() -> String {
    let python = crate::runner::venv();
    format!("{}/bin:/usr/bin:/bin", python.display())
}

/// Plays `first` to its end, then the adder.
fn begins(first: Vec<Turn>) -> Server {
    let next = Arc::new(AtomicUsize::new(0));
    Server::answering(move |seen| {
        let turn = first.get(next.fetch_add(1, Ordering::SeqCst)).cloned();
        turn.unwrap_or_else(|| adder(seen))
    })
}

#[test]
fn a_key_is_all_it_takes_for_a_whole_run() {
    for wire in Wire::ALL {
        let server = Server::answering(adder);
        let story = with_model(&server, wire);
        let said = story
            .redgreen("run \"an adder\"")
            .exits(3)
            .says("waiting for a human")
            .says("built-in (");
        assert_eq!(
            story.log(&format!("main..{}", story.branch())),
            [
                "plan: adds two numbers",
                "test: adds two numbers",
                "feat: adds two numbers",
                "refactor: no changes needed",
                "plan: every test of the list is done",
            ]
        );
        assert!(said.stderr.contains("· RunTests"), "what it does is shown:\n{}", said.stderr);
        assert!(
            said.stderr.contains("Nothing is worth changing."),
            "and what it says:\n{}",
            said.stderr
        );
        let requests = server.requests();
        assert_eq!(requests.len(), 7, "{:?}", requests.iter().map(role).collect::<Vec<_>>());
        assert!(requests.iter().all(|seen| seen.wire == wire), "{wire:?}");
        let results = requests
            .iter()
            .find(|seen| role(seen) == "green" && seen.answers() == 1)
            .unwrap()
            .body
            .to_string();
        assert!(results.contains("1 passed, 0 failed"), "RunTests runs them: {results}");

        let status = story.redgreen("status --json").exits(0).json();
        let spent = &status["runs"][0]["spent"];
        assert_eq!((&spent["requests"], &spent["output"]), (&json!(7), &json!(7 * 7)), "{spent}");
        let priced = match wire {
            Wire::Anthropic | Wire::Responses => spent["microdollars"].as_u64() > Some(0),
            Wire::Chat | Wire::Gemini => spent["unpricedTurns"] == 5,
        };
        assert!(priced, "{wire:?} {spent}");
        let note: Value = serde_json::from_str(
            &story.git(&format!("notes --ref=tdd-handoffs show {}", story.branch())),
        )
        .unwrap();
        assert_eq!(note["spent"]["requests"], 7, "{note}");
        story.redgreen("approve").exits(0).says("merged");
    }
}

#[test]
fn green_is_told_what_does_not_load_and_nobody_is_told_where_it_ran() {
    let server = Server::answering(adder);
    let story = with_model(&server, Wire::Anthropic);
    story.redgreen("run \"an adder\"").exits(3);
    let requests = server.requests();
    let first =
        requests.iter().find(|seen| role(seen) == "green").unwrap().body["messages"].to_string();
    assert!(
        first.contains(
            "does not load: test_calc.py:1: ModuleNotFoundError: No module named 'calc'\\n---"
        ),
        "{first}"
    );
    let (here, notes) = (
        story.place("").display().to_string(),
        story.git("log --notes=tdd-handoffs --all --format=%N"),
    );
    for text in requests.iter().map(|seen| seen.body.to_string()).chain([notes]) {
        assert!(!text.contains(here.trim_end_matches('/')), "{text}");
    }
    let why = story.redgreen("why").exits(0);
    assert!(!why.stdout.contains("/rooms/"), "{}", why.stdout);
}

#[test]
fn live_events_are_lines_of_json_that_the_schema_describes() {
    let server = Server::answering(adder);
    let story = with_model(&server, Wire::Anthropic);
    let schema = story.redgreen("schema event").exits(0).stdout;
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let said = story.redgreen("run --json \"an adder\"").exits(3);
    let lines: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (answer, lines) = lines.split_last().unwrap();
    assert_eq!(
        (&answer["version"], &answer["runs"][0]["spent"]["requests"]),
        (&json!(1), &json!(7)),
        "{answer}"
    );
    for line in lines {
        assert!(
            schema.is_valid(line),
            "{line}: {:?}",
            schema.iter_errors(line).collect::<Vec<_>>()
        );
    }
    let live = |kind: &str| lines.iter().filter(|line| line["live"] == kind).collect::<Vec<_>>();
    let text: String = live("text").iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert!(text.contains("Nothing is worth changing."), "{text}");
    let tools: Vec<&Value> = live("tool").iter().map(|line| &line["name"]).collect();
    assert_eq!(tools, ["Write", "Write", "Complete", "Write", "RunTests", "Complete"]);
    let costs = live("cost");
    assert_eq!(costs.len(), 7, "one for each request");
    let turned = lines.iter().find(|line| line["event"] == "turned").unwrap();
    assert_eq!(
        (&costs[1]["cost"], &costs[1]["role"]),
        (&turned["cost"], &turned["role"]),
        "the turn's last is its sum"
    );
    for wrong in [
        json!({ "v": 1, "at": 1 }),
        json!({ "v": 1, "at": 1, "live": "song" }),
        json!({ "v": 1, "at": 1, "live": "text", "role": "test" }),
        json!({ "v": 1, "at": 1, "event": "judged" }),
        json!({ "v": 2, "seq": 1, "at": 1, "intent": "ask" }),
    ] {
        assert!(!schema.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn permanent_errors_stop_the_run_with_the_servers_message() {
    let told = |kind: &str, words: &str| {
        json!({ "type": "error", "error": { "type": kind, "message": words } }).to_string()
    };
    for (turn, words) in [
        (
            Turn::status(404).body(&told("not_found_error", "model: claude-opus-5-5")),
            "has no model \"claude-opus-5-5\"",
        ),
        (
            Turn::status(401).body(&told("authentication_error", "invalid x-api-key")),
            "does not accept the key: ",
        ),
        (Turn::say("no").ending(Ending::Refusal), "refuses"),
    ] {
        let server = begins(vec![turn]);
        let story = with_model(&server, Wire::Anthropic);
        let said =
            story.redgreen("run \"an adder\"").exits(4).says("the agent does not work").says(words);
        assert!(!said.stderr.contains("sk-ant-test") && !said.stdout.contains("sk-ant-test"));
        assert_eq!(server.requests().len(), 1, "nothing else is tried");
        story.redgreen("resume").exits(3);
    }
    let story = Story::pytest().env("ANTHROPIC_API_KEY", "k").env("TDD_MODEL", "opus");
    story.redgreen("run x").exits(2).says("no known provider for model \"opus\"");
    Story::pytest()
        .redgreen("run --model claude-opus-5-5 x")
        .exits(2)
        .says("ANTHROPIC_API_KEY is not set");
    Story::pytest()
        .redgreen("run --agent built-in x")
        .exits(2)
        .says("the built-in agent needs a model");
}

#[test]
fn temporary_errors_are_retried() {
    let server = begins(vec![
        Turn::status(429).header("retry-after", "0"),
        Turn::status(529),
        Turn::status(500),
        Turn::Drop,
        Turn::say("half of it").cut_after(2),
        Turn::Raw("event: message_start\ndata: {nonsense\n\n".to_owned()),
    ]);
    let story = with_model(&server, Wire::Anthropic);
    story.redgreen("run \"an adder\"").exits(3);
    assert_eq!(server.requests().len(), 6 + 7);
}

#[test]
fn a_server_that_is_gone_ends_the_run_and_one_that_is_back_continues() {
    let server = Server::answering(|_| Turn::Drop);
    let story = with_model(&server, Wire::Anthropic);
    story.redgreen("run --max-retries 1 \"an adder\"").exits(1).says("gave up");
    drop(server);
    let back = Server::answering(adder);
    let story = story.env("ANTHROPIC_BASE_URL", &back.url);
    story.redgreen("resume").exits(3);
}

#[test]
fn a_budget_that_is_spent_in_the_middle_of_a_turn_leaves_its_edits_for_a_larger_one() {
    // The first answer of GREEN uses up the whole budget.
    let server = Server::answering(|seen| match (role(seen), seen.answers()) {
        ("green", 0) => adder(seen).costing(100_000, 0, 7),
        _ => adder(seen),
    });
    let story = with_model(&server, Wire::Anthropic);
    let said = story.redgreen("run --budget-usd 0.1 \"an adder\"").exits(5).says("budget spent");
    assert_eq!(server.requests().len(), 4, "{}", said.stderr);
    let kept = story.git("for-each-ref --format=%(refname) refs/redgreen/work");
    assert_eq!(story.git(&format!("show {kept}:calc.py")), CODE.trim_end(), "the edits are kept");
    story.redgreen("status").exits(0).says("budget spent");
    story.redgreen("resume --budget-usd 9").exits(3);

    let server = Server::answering(adder);
    let story = with_model(&server, Wire::Anthropic);
    story
        .redgreen("run --budget-usd 0.0001 \"an adder\"")
        .exits(5)
        .says("the next request costs about $0.");
    let local = with_model(&server, Wire::Chat);
    local
        .redgreen("run --budget-usd 9 \"an adder\"")
        .exits(4)
        .says("the price of the model \"m\" is unknown");
    assert_eq!(server.requests().len(), 0, "nothing is spent to find that out");
}

#[test]
fn a_model_that_misbehaves_is_reported_and_continues() {
    let server = begins(vec![
        Turn::call("Write", json!({ "file_path": "../test-list.md", "content": "x" }))
            .and_call("Bash", json!({ "command": "rm -rf /" })),
        Turn::call("Write", json!({ "file_path": "test-list.md", "content": "- [ ] adds" }))
            .ending(Ending::MaxTokens),
        Turn::say("I think we are done."),
        Turn::call(
            "Write",
            json!({ "file_path": "test-list.md", "content": "- [ ] adds two numbers\n" }),
        ),
    ]);
    let story = with_model(&server, Wire::Anthropic);
    story.redgreen("run \"an adder\"").exits(3);
    let told: Vec<String> =
        server.requests().iter().map(|seen| seen.body["messages"].to_string()).collect();
    assert!(
        told[1].contains("leads out with")
            && told[1].contains("there is no tool \\\"Bash\\\" here"),
        "{}",
        told[1]
    );
    assert!(told[2].contains("cut off at its limit"), "{}", told[2]);
    assert!(told[3].contains("Nothing was chosen."), "{}", told[3]);
}

#[test]
fn another_model_diagnoses_a_refused_green_with_the_projects_notes() {
    let key = format!("gh{}_{}", "p", "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8aB3dE5gH7");
    let server = Server::answering(|seen| {
        let told = seen.body["messages"].to_string();
        match (role(seen), seen.answers()) {
            ("diagnosis", _) => Turn::say("It subtracts, and should add."),
            ("green", 0) if !told.contains("It subtracts, and should add.") => Turn::call(
                "Write",
                json!({ "file_path": "calc.py", "content": CODE.replace('+', "-") }),
            )
            .and_call("Complete", json!({ "implementation_files": ["calc.py"] })),
            _ => adder(seen),
        }
    });
    let story = with_model(&server, Wire::Anthropic);
    story.file("redgreen.toml", "[agents]\ndiagnosis = \"built-in:claude-haiku-5-5\"\n");
    story.file("AGENTS.md", &format!("Names are short.\nToken: {key}\n"));
    story.commit("settings");
    story.redgreen("run \"an adder\"").exits(3);
    let requests = server.requests();
    let diagnosis: Vec<&SeenRequest> =
        requests.iter().filter(|seen| role(seen) == "diagnosis").collect();
    assert_eq!(diagnosis.len(), 1, "{:?}", requests.iter().map(role).collect::<Vec<_>>());
    for seen in &requests {
        let model = if role(seen) == "diagnosis" { "claude-haiku-5-5" } else { "claude-opus-5-5" };
        assert_eq!(seen.body["model"], model, "{}", role(seen));
        let told = seen.body.to_string();
        assert!(told.contains("Names are short.") && !told.contains(&key), "{told}");
    }
    let kept = artifact(&story, "cycle-1/green-fix-iteration-1.md");
    assert!(kept.contains("It subtracts, and should add."), "{kept}");
}

#[test]
fn commands_run_behind_the_fence_without_the_users_credentials() {
    let commands = "echo key=$ANTHROPIC_API_KEY; cat ~/.netrc; touch ~/out; (echo x > /etc/out) 2>&1; git log --oneline; \
                    ls .git/../ >/dev/null; echo inside > note.txt; exit 3";
    let server = begins(vec![]);
    let bash = Server::answering(move |seen| match (role(seen), seen.answers()) {
        ("refactor", 0) => Turn::call("Bash", json!({ "command": commands })),
        ("refactor", _) => Turn::say("Fine."),
        _ => adder(seen),
    });
    drop(server);
    let story = with_model(&bash, Wire::Anthropic);
    std::fs::write(story.place("home/.netrc"), "password hunter2").unwrap();
    story.redgreen("run \"an adder\"");
    let requests = bash.requests();
    let told =
        requests.iter().find(|seen| role(seen) == "refactor" && seen.answers() == 1).unwrap();
    let told = told.body["messages"].to_string();
    assert!(told.contains("key=\\n") && !told.contains("hunter2"), "{told}");
    assert!(told.contains("feat: adds two numbers"), "git can be read: {told}");
    assert!(told.contains("[exit 3]"), "{told}");
    assert!(!story.place("home/out").exists(), "{told}");
}

#[test]
fn commands_reach_package_registries_by_name_and_nothing_else() {
    let other = Server::answering(|_| Turn::say("never"));
    let ask = "exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:}; printf 'CONNECT %s HTTP/1.1\\r\\n\\r\\n' evil.example:443 >&3; \
               head -n 1 <&3";
    let port = other.url.rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    let commands = format!("{ask}; (exec 4<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo around");
    let server = Server::answering(move |seen| match (role(seen), seen.answers()) {
        ("refactor", 0) => Turn::call("Bash", json!({ "command": commands })),
        ("refactor", _) => Turn::say("Fine."),
        _ => adder(seen),
    });
    let story = with_model(&server, Wire::Anthropic);
    let run = story.redgreen("run \"an adder\"");
    let requests = server.requests();
    let told =
        requests.iter().find(|seen| role(seen) == "refactor" && seen.answers() == 1).unwrap();
    let told = told.body["messages"].to_string();
    assert!(
        told.contains("403 Forbidden") && told.contains("no connection to evil.example:443"),
        "{told}"
    );
    assert!(!told.contains("\\naround"), "{told}");
    assert!(run.stderr.contains("no connection to evil.example:443"), "{}", run.stderr);
    assert_eq!(other.requests().len(), 0);
}

#[test]
fn reading_editing_testing_and_being_done_takes_few_bytes() {
    const BYTES_MAX: usize = 12_000;
    let server = Server::answering(|seen| match (role(seen), seen.answers()) {
        ("green", 0) => Turn::call("Read", json!({ "file_path": "calc.py" })),
        ("green", 1) => Turn::call(
            "Edit",
            json!({ "file_path": "calc.py", "old_string": "return a - b", "new_string": "return a + b" }),
        ),
        ("green", 2) => Turn::call("RunTests", json!({})),
        _ => adder(seen),
    });
    let story = with_model(&server, Wire::Anthropic);
    story.file("calc.py", "def add(a, b):\n    return a - b\n");
    story.commit("wrong");
    story.redgreen("run \"an adder\"").exits(3);
    let green: Vec<SeenRequest> =
        server.requests().into_iter().filter(|seen| role(seen) == "green").collect();
    let sizes: Vec<usize> = green.iter().map(|seen| seen.bytes).collect();
    assert_eq!(sizes.len(), 4);
    assert!(sizes.iter().sum::<usize>() < BYTES_MAX, "{sizes:?}: {}", green[3].body);
}

/// `redgreen bench at-once` measures fifty.
#[test]
fn runs_at_once_finish_in_little_memory_and_do_not_meet_each_other() {
    const RUNS: usize = 3;
    /// The program is larger without optimisation.
    const MEMORY_KIB_MAX: u64 = if cfg!(debug_assertions) { 100 << 10 } else { 25 << 10 };
    let server = Server::answering(adder);
    let story = with_model(&server, Wire::Anthropic);
    let start = |number: usize| {
        let mut command = story.prepare(&format!("run -q --no-input \"adder {number}\""));
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut runs: Vec<_> = (0..RUNS).map(|number| (start(number), 0, None)).collect();
    while runs.iter().any(|(.., code)| code.is_none()) {
        for (run, peak, code) in &mut runs {
            *peak = peak_kib(&run.id().to_string()).max(*peak);
            *code = code.or(run.try_wait().unwrap().map(|status| status.code()));
        }
        thread::sleep(Duration::from_millis(5));
    }
    for (_, peak, code) in runs {
        assert_eq!(code, Some(Some(3)));
        assert!(peak > 0 && peak < MEMORY_KIB_MAX, "{peak} KiB");
    }
    assert_eq!(
        story.redgreen("status --json").exits(0).json()["runs"].as_array().unwrap().len(),
        RUNS
    );
}

#[test]
fn a_recorded_run_is_played_back_without_a_server() {
    let server = Server::answering(adder);
    let story = with_model(&server, Wire::Anthropic);
    let cassette = story.place("exchanges.jsonl").display().to_string();
    let settings = |key: &str| {
        story.file("redgreen.toml", &format!("backoff = 0.0\n[model]\n{key} = {cassette:?}\n"));
        story.commit(key);
    };
    settings("record");
    story.redgreen("run \"an adder\"").exits(3);
    story.redgreen("abort").exits(0);
    let recorded = std::fs::read_to_string(&cassette).unwrap();
    assert!(recorded.lines().count() == 7 && !recorded.contains("sk-ant-test"), "{recorded}");
    drop(server);
    settings("replay");
    story.redgreen("run \"an adder\"").exits(3);
}
