//! Conversations with a scripted model.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redgreen_core::agent::{Assignment, Strategy};
use redgreen_core::brief::TestCase;
use redgreen_core::model::Usage;
use redgreen_core::model::price::{Price, Prices};
use redgreen_core::phase::{Phase, Role};
use redgreen_core::policy::Budget;
use serde_json::{Value, json};

use super::*;
use crate::agent::built_in::{Settings, converse};
use crate::agent::visible::Visible;
use crate::config::{Environment, File};
use crate::process;

const MINUTE: Duration = Duration::from_secs(60);

/// A turn with a scripted model.
struct Scene {
    folder: tempfile::TempDir,
    role: Role,
    answers: VecDeque<Result<Reply, ModelError>>,
    /// What the user said before each answer was handled.
    messages: VecDeque<Vec<String>>,
    settings: Settings,
    allowance: Budget,
    time: Duration,
}

/// The result of a turn.
struct TurnRecord {
    taken: TurnOutput,
    requests: Vec<Request>,
    live: Vec<AgentActivity>,
    folder: tempfile::TempDir,
}

/// The prices of the test model in dollars per million tokens.
fn priced(input: f64, output: f64, cache: f64) -> Arc<Prices> {
    let price =
        Price { input, output, cache_read: Some(cache), cache_write: Some(cache), long: None };
    Arc::new(Prices::of([("m".to_owned(), price)]))
}

impl Scene {
    fn new(role: Role) -> Self {
        let visible = Visible::new(&Environment::default(), None, &[]);
        let usual = Settings::new(&File::default(), &Environment::default(), visible).unwrap();
        let settings = Settings { prices: priced(1.0, 1.0, 1.0), ..usual };
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("calc.py"), "def add(a, b):\n    return a - b\n").unwrap();
        Self {
            folder,
            role,
            answers: VecDeque::new(),
            messages: VecDeque::new(),
            settings,
            allowance: Budget::default(),
            time: MINUTE,
        }
    }

    fn says(mut self, stop: Stop, blocks: Vec<Block>) -> Self {
        let usage = Usage { input: 100, output: 10, cache_read: 40, cache_write: 0 };
        self.answers.push_back(Ok(Reply { blocks, stop, usage }));
        self
    }

    /// Messages of the user that arrive while the next answer is on its way.
    fn meanwhile(mut self, messages: &[&str]) -> Self {
        self.messages.resize(self.answers.len(), Vec::new());
        self.messages.push_back(messages.iter().map(|message| (*message).to_owned()).collect());
        self
    }

    fn words(self, text: &str) -> Self {
        self.says(Stop::End, vec![Block::Text { text: text.to_owned() }])
    }

    fn calls(self, calls: &[(&str, Value)]) -> Self {
        self.says(
            Stop::ToolUse,
            calls
                .iter()
                .enumerate()
                .map(|(index, (name, input))| call(index, name, input))
                .collect(),
        )
    }

    fn fails(mut self, kind: ModelErrorKind) -> Self {
        let error =
            ModelError { kind, message: "its own words".to_owned(), retry_after_ms: Some(7) };
        self.answers.push_back(Err(error));
        self
    }

    fn play(mut self) -> TurnRecord {
        let requests = RefCell::new(Vec::new());
        let mut live = Vec::new();
        let assignment = assignment(self.role);
        let folder: &Path = self.folder.path();
        let mut orders = TurnInput {
            assignment: &assignment,
            worktree: folder,
            env: &[],
            time_limit: self.time,
            allowance: self.allowance.clone(),
            desk: folder,
            report: None,
            tests: &[],
            changes: &|| Ok("+ a patch".to_owned()),
            repository: folder,
            private: folder,
            aside: folder,
            packages: &[],
            stop: &process::Stop::default(),
            live: &mut |said| live.push(said.clone()),
            messages: &mut || self.messages.pop_front().unwrap_or_default(),
        };
        let mut ask = |request: &Request, hear: &mut dyn FnMut(&Delta)| {
            requests.borrow_mut().push(request.clone());
            hear(&Delta::Text("…".to_owned()));
            Ok(self.answers.pop_front().expect("too many requests"))
        };
        let taken = converse("m", &self.settings, &mut orders, &mut ask).unwrap();
        TurnRecord { taken, requests: requests.into_inner(), live, folder: self.folder }
    }
}

impl TurnRecord {
    /// Checks how the turn ended and after how many requests.
    #[track_caller]
    fn ends(self, words: &str, requests: usize) -> Self {
        let ended = match &self.taken.turn {
            Turn::Done { answer } => format!("done: {answer}"),
            Turn::Failed { failure, message } => format!("{}: {message}", failure.as_str()),
        };
        assert!(ended.starts_with(words), "{ended}\n{}", self.taken.transcript);
        assert_eq!(self.requests.len(), requests, "{}", self.taken.transcript);
        self
    }

    /// The last message to the model.
    fn told(&self) -> String {
        let Some(Message::User(blocks)) =
            self.requests.last().and_then(|request| request.messages.last())
        else {
            panic!("the last message is from the model")
        };
        let words = blocks.iter().map(|block| match block {
            Block::Text { text } => text.clone(),
            Block::ToolResult { text, is_error, .. } => {
                format!("{}{text}", if *is_error { "no: " } else { "" })
            }
            Block::ToolUse { .. } | Block::Opaque { .. } => panic!("not a user message"),
        });
        words.collect::<Vec<_>>().join("|")
    }

    fn file(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap_or_default()
    }
}

fn call(index: usize, name: &str, input: &Value) -> Block {
    Block::ToolUse {
        id: format!("t{index}"),
        name: name.to_owned(),
        input: input.clone(),
        raw: Value::Null,
    }
}

fn assignment(role: Role) -> Assignment {
    Assignment {
        role,
        phase: Phase::Green,
        cycle: 1,
        turn: 0,
        attempt: 1,
        candidate: None,
        request: "a calculator".to_owned(),
        brief: None,
        current: Some(TestCase {
            description: "adds".to_owned(),
            test_file: "test_calc.py".to_owned(),
            impl_file: "calc.py".to_owned(),
        }),
        completed: Vec::new(),
        pending: Vec::new(),
        trouble: None,
        diagnosis: None,
        remarks: Vec::new(),
        messages: Vec::new(),
        more: false,
        withhold: false,
        strategy: Strategy::New,
    }
}

fn fix() -> (&'static str, Value) {
    ("Edit", json!({ "file_path": "calc.py", "old_string": "a - b", "new_string": "a + b" }))
}

fn complete() -> (&'static str, Value) {
    ("Complete", json!({ "implementation_files": ["calc.py"], "summary": "adds" }))
}

#[test]
fn runs_tools_until_the_model_is_done() {
    let seen = Scene::new(Role::Implementing)
        .calls(&[("Read", json!({ "file_path": "calc.py" })), fix()])
        .calls(&[complete()])
        .play()
        .ends("done: adds", 2);
    assert_eq!(
        seen.told(),
        "def add(a, b):\n    return a - b\n|edited",
        "all results in one message"
    );
    assert!(seen.file("calc.py").contains("a + b"));
    let first = &seen.requests[0];
    assert_eq!(
        seen.requests[1].messages[..1],
        first.messages[..],
        "earlier messages do not change"
    );
    let cost = seen.taken.cost;
    assert_eq!((cost.tokens, cost.microdollars, cost.requests), (Some(300), Some(300), Some(2)));
    assert_eq!((cost.input, cost.output, cost.cached), (Some(200), Some(20), Some(80)));
    let tools = seen.live.iter().filter(|said| matches!(said, AgentActivity::Tool { .. })).count();
    assert_eq!(
        (tools, matches!(seen.live.last(), Some(AgentActivity::Tool { .. }))),
        (3, true),
        "{:?}",
        seen.live
    );
    assert!(
        seen.taken.transcript.contains("## Edit calc.py\n\nedited"),
        "{}",
        seen.taken.transcript
    );
}

#[test]
fn reminds_a_model_once_that_edited_nothing() {
    let seen = Scene::new(Role::Implementing)
        .words("I did it")
        .calls(&[fix(), complete()])
        .play()
        .ends("done", 2);
    assert!(seen.told().starts_with("No file was changed."));
    Scene::new(Role::Implementing).words("I did it").words("Really").play().ends("done: Really", 2);
    Scene::new(Role::Implementing).calls(&[fix()]).words("there").play().ends("done: there", 2);
    Scene::new(Role::Refactor).words("nothing to do").play().ends("done: nothing", 1);
    Scene::new(Role::Diagnosis).words("the sign").play().ends("done: the sign", 1);
    Scene::new(Role::TestList)
        .words("hm")
        .words(r#"{"currentTest": null}"#)
        .play()
        .ends("done: {", 2);
    Scene::new(Role::Implementing)
        .says(Stop::End, vec![])
        .calls(&[fix(), complete()])
        .play()
        .ends("done", 2);
}

#[test]
fn writes_files_from_an_answer_without_tools() {
    let answer =
        "Sure.\n### FILE: calc.py\n```python\nx = 1\n```\n### FILE: ../out.py\n```\ny\n```\n";
    let seen = Scene::new(Role::Implementing).words(answer).play().ends("done: Sure", 1);
    assert_eq!(seen.file("calc.py"), "x = 1\n");
    assert!(
        seen.taken.transcript.contains("## Write ../out.py, not done"),
        "{}",
        seen.taken.transcript
    );
    assert!(!seen.folder.path().join("../out.py").exists());
}

#[test]
fn writes_the_shown_files_of_a_model_without_tools() {
    let mut scene = Scene::new(Role::Implementing);
    scene.settings.asking = PromptStyle::Files;
    let seen = scene
        .words("```python\ndef add(a, b):\n    return a + b\n```\n")
        .play()
        .ends("done: ```", 1);
    assert!(seen.requests[0].tools.is_empty() && seen.requests[0].system.contains("code block"));
    assert_eq!(seen.file("calc.py"), "def add(a, b):\n    return a + b\n");
    let planned = Scene::new(Role::TestList)
        .words("- [ ] adds\n{\"currentTest\": null}")
        .play()
        .ends("done: - [", 1);
    assert_eq!(planned.file("test-list.md"), "- [ ] adds\n");
}

#[test]
fn does_not_run_truncated_calls() {
    let half = || vec![call(0, "Write", &json!({ "file_path": "calc.py", "content": "x" }))];
    let seen = Scene::new(Role::Implementing)
        .says(Stop::MaxTokens, half())
        .calls(&[fix(), complete()])
        .play()
        .ends("done", 2);
    assert!(seen.told().starts_with("no: Your answer was cut off"), "{}", seen.told());
    assert!(seen.file("calc.py").contains("a + b"));
    let words = || vec![Block::Text { text: "so".to_owned() }];
    let seen = Scene::new(Role::Refactor)
        .says(Stop::MaxTokens, words())
        .words("ok")
        .play()
        .ends("done: ok", 2);
    assert!(seen.told().starts_with("You were cut off"));
    let mut endless = Scene::new(Role::Refactor);
    for _ in 0..=CUT_OFF_MAX {
        endless = endless.says(Stop::MaxTokens, half());
    }
    endless.play().ends("agent.crash: its answer was cut off 4 times", 4);
}

#[test]
fn maps_model_errors_to_failures() {
    for (kind, words) in [
        (ModelErrorKind::RateLimit, "agent.rate_limit: its own words"),
        (ModelErrorKind::Overloaded, "agent.rate_limit: its own words"),
        (ModelErrorKind::Timeout, "agent.timeout: its own words"),
        (ModelErrorKind::Network, "agent.crash: its own words"),
        (ModelErrorKind::Server, "agent.crash: its own words"),
        (ModelErrorKind::TooLarge, "agent.crash: its own words"),
        (
            ModelErrorKind::UnknownModel,
            "agent.unusable: the server has no model \"m\" for this key: its own words",
        ),
        (ModelErrorKind::Auth, "agent.unusable: the server does not accept the key: its own words"),
        (ModelErrorKind::Billing, "agent.unusable: "),
        (ModelErrorKind::BadRequest, "agent.unusable: its own words"),
    ] {
        Scene::new(Role::Test).fails(kind).play().ends(words, 1);
    }
    let seen = Scene::new(Role::Test).fails(ModelErrorKind::RateLimit).play();
    let limited = Failure::RateLimit { retry_after_ms: Some(7) };
    assert!(matches!(seen.taken.turn, Turn::Failed { failure, .. } if failure == limited));
    let refusal = Stop::Refusal { why: "I may not".to_owned() };
    let refused =
        Scene::new(Role::Implementing).says(refusal, vec![call(0, fix().0, &fix().1)]).play();
    assert!(refused.file("calc.py").contains("a - b"), "tools of a refusal are not run");
    refused.ends("agent.unusable: the model m refuses: I may not", 1);
}

#[test]
fn checks_limits_before_each_request() {
    let scene = || Scene::new(Role::Implementing);
    let budget = |tokens, microdollars, work_ms| Budget { tokens, microdollars, work_ms };
    Scene { allowance: budget(Some(10), None, None), ..scene() }
        .play()
        .ends("agent.budget: the next request needs about", 0);
    // The first request exceeds the budget.
    Scene { allowance: budget(None, Some(150), None), ..scene() }
        .play()
        .ends("agent.budget: the next request costs about $0.", 0);
    let mut money = Scene { allowance: budget(None, Some(2_000), None), ..scene() };
    money.settings.prices = priced(0.1, 200.0, 0.1);
    let money = money.calls(&[fix()]).play();
    assert!(money.file("calc.py").contains("a + b"), "edits stay");
    money.ends("agent.budget: over budget: $0.0021 of $0.0020 are spent", 1);
    // Cached tokens are cheap and are not overestimated.
    let played = scene().calls(&[fix()]).calls(&[complete()]).play();
    let first = prompt::tokens(&played.requests[0]);
    let mut cached = Scene { allowance: budget(None, Some(first + 110), None), ..scene() };
    cached.settings.prices = priced(1.0, 0.0, 0.0);
    cached.calls(&[fix()]).calls(&[complete()]).play().ends("done", 2);
    let mut unknown = Scene { allowance: budget(None, Some(2_000), None), ..scene() };
    unknown.settings.prices = Arc::default();
    unknown.play().ends("agent.unusable: the price of the model \"m\" is unknown", 0);
    Scene { allowance: budget(None, None, Some(0)), ..scene() }.play().ends("agent.budget: ", 0);
    Scene { time: Duration::ZERO, ..scene() }.play().ends("agent.timeout: not done after 0.0 s", 0);
    let mut chatty = scene();
    chatty.settings.requests_max = 2;
    chatty
        .calls(&[fix()])
        .calls(&[("Read", json!({ "file_path": "calc.py" }))])
        .play()
        .ends("done: ", 2);
}

#[test]
fn restarts_a_conversation_that_is_too_long() {
    let scene = || Scene::new(Role::Implementing);
    let seen = scene()
        .calls(&[fix()])
        .fails(ModelErrorKind::TooLong)
        .calls(&[complete()])
        .play()
        .ends("done", 3);
    assert_eq!(seen.requests[2].messages.len(), 1);
    assert!(seen.told().contains("The changes so far:\n+ a patch"), "{}", seen.told());
    let full = scene().says(Stop::ContextFull, vec![]).calls(&[complete()]).play().ends("done", 2);
    assert!(full.told().contains("+ a patch"));
    let mut hopeless = scene();
    for _ in 0..CONVERSATIONS_MAX {
        hopeless = hopeless.fails(ModelErrorKind::TooLong);
    }
    hopeless.play().ends("agent.unusable: the conversation does not fit", 5);
    let mut small = scene().calls(&[fix()]).calls(&[complete()]);
    small.settings.window = 1010;
    let seen = small.play();
    assert!(seen.requests.len() <= 2);
}

#[test]
fn messages_of_the_user_reach_the_model_between_its_tool_calls() {
    let scene = || Scene::new(Role::Implementing);
    let heard = "The user says, while you work. Follow it as far as the rules of your phase allow:";
    let seen = scene().meanwhile(&["use a dataclass", "be brief"]).calls(&[fix()]);
    let seen = seen.calls(&[complete()]).play().ends("done: adds", 2);
    assert_eq!(seen.told(), format!("edited|{heard}\n- use a dataclass\n- be brief"));
    assert!(seen.taken.transcript.contains("- use a dataclass"), "{}", seen.taken.transcript);

    // A model that thought it was done goes on, with tools or without.
    let again = scene().meanwhile(&["wait"]).calls(&[fix(), complete()]);
    again.calls(&[complete()]).play().ends("done: adds", 2);
    let seen = scene().calls(&[fix()]).meanwhile(&["wait"]).words("done").words("really done");
    let seen = seen.play().ends("done: really done", 3);
    assert_eq!(seen.told(), format!("{heard}\n- wait"));

    // A new conversation begins with them.
    let seen = scene().meanwhile(&["use a dataclass"]).calls(&[fix()]);
    let seen = seen.fails(ModelErrorKind::TooLong).calls(&[complete()]).play().ends("done", 3);
    assert!(seen.told().contains("- use a dataclass"), "{}", seen.told());

    let key = format!("gh{}_{}", "p", "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8aB3dE5gH7");
    let seen = scene().meanwhile(&[&key]).calls(&[fix()]).calls(&[complete()]).play();
    assert!(seen.told().contains("The user says") && !seen.told().contains(&key));
}

#[test]
fn removes_credentials_from_tool_results() {
    let key = format!("gh{}_{}", "p", "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8aB3dE5gH7");
    let scene = Scene::new(Role::Implementing);
    fs::write(scene.folder.path().join("settings.py"), format!("TOKEN = '{key}'\n")).unwrap();
    let read = ("Read", json!({ "file_path": "settings.py" }));
    let seen = scene.calls(&[read, fix()]).calls(&[complete()]).play().ends("done", 2);
    assert!(seen.told().contains("TOKEN = '") && !seen.told().contains(&key), "{}", seen.told());
    assert!(!seen.taken.transcript.contains(&key), "{}", seen.taken.transcript);
}

#[test]
fn explains_wrong_calls_to_the_model() {
    let check = |call: (&str, Value), expected: &str| {
        let seen = Scene::new(Role::Implementing)
            .calls(std::slice::from_ref(&call))
            .calls(&[complete()])
            .play();
        assert!(seen.told().contains(expected), "{call:?}: {}", seen.told());
    };
    check(("Delete", json!({})), "no: there is no tool \"Delete\" here");
    check(("Write", json!({ "file_path": "a" })), "no: Write: missing field `content`");
    check(("Read", json!({ "file_path": "../secret" })), "no: ../secret leads out");
    check(("Read", json!({ "file_path": "none.py" })), "no: none.py does not exist");
    let seen =
        Scene::new(Role::Diagnosis).calls(&[fix()]).words("it is").play().ends("done: it is", 2);
    assert!(
        seen.told().contains("there are: Read, Glob, Grep")
            && seen.file("calc.py").contains("a - b")
    );
}
