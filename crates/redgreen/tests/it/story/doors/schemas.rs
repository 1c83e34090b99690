//! The published schemas accept every real file and reject invalid ones.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{SPEC, SPEC_SCRIPT, TASK, TASK_SCRIPT, run_folder, story};
use crate::story::Story;
use crate::story::scripts::{PLAN, RED_PYTEST as RED, WRONG};

fn schema(name: &str) -> Validator {
    let text = Story::bare_folder().redgreen(&format!("schema {name}")).exits(0).stdout;
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

#[track_caller]
fn fits(schema: &Validator, value: &Value) {
    let faults: Vec<String> =
        schema.iter_errors(value).map(|error| format!("{} {error}", error.instance_path)).collect();
    assert_eq!(faults, Vec::<String>::new(), "{value}");
}

/// Asserts that the schema rejects each of these changes.
#[track_caller]
fn notices(schema: &Validator, value: &Value, changes: &[(&str, Value)]) {
    for (pointer, new) in changes {
        let mut faulty = value.clone();
        let (above, name) = pointer.rsplit_once('/').unwrap();
        let place =
            faulty.pointer_mut(above).unwrap_or_else(|| panic!("there is no {above} in {value}"));
        match (place, new) {
            (Value::Object(object), Value::Null) => {
                assert!(object.remove(name).is_some(), "{pointer}");
            }
            (Value::Object(object), new) => drop(object.insert(name.to_owned(), new.clone())),
            (place, new) => *place = new.clone(),
        }
        assert!(!schema.is_valid(&faulty), "{pointer} = {new} is not noticed");
    }
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book").join(name))
        .unwrap()
}

/// The page's fenced code blocks in a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let start = format!("```{language}\n");
    let starts = page.split(&start).skip(1);
    starts.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn specifications() {
    let schema = schema("spec");
    let spec = yaml(SPEC);
    fits(&schema, &spec);
    for block in blocks(&page("specs.md"), "yaml") {
        fits(&schema, &yaml(&block));
    }
    // The format that the stages of the seed documents read, without its optional fields.
    fits(
        &schema,
        &json!({ "spec_id": "S", "components": [{ "name": "A" }], "test_cases": [{ "id": "TC001", "description": "x" }] }),
    );
    notices(
        &schema,
        &spec,
        &[
            ("/spec_id", Value::Null),
            ("/spec_id", json!(true)),
            ("/components", json!([])),
            ("/components/0/name", json!(["Till"])),
            ("/components/0/interface", json!("x")),
            ("/components/0/interface/methods/0/signature", Value::Null),
            ("/test_cases", Value::Null),
            ("/test_cases/0/id", Value::Null),
            ("/test_cases/0/description", json!({})),
            ("/test_cases/0/given", json!(["a"])),
            ("/expected_coverage", json!("high")),
            ("/max_iterations", json!("none")),
            ("/max_iterations", json!(0)),
            ("/withhold", json!("often")),
        ],
    );
}

#[test]
fn tasks() {
    let schema = schema("task");
    let task: Value = serde_json::from_str(TASK).unwrap();
    fits(&schema, &task);
    let mut merged = task.clone();
    merged["cli_execution"] = json!({ "id": "S1-IMPL-4", "strategy": "merge_fork", "resume_from": ["S1-IMPL-2", "S1-IMPL-3"] });
    merged["implementation"].as_array_mut().unwrap().insert(0, json!("look around"));
    fits(&schema, &merged);
    notices(
        &schema,
        &task,
        &[
            ("/meta", Value::Null),
            ("/meta/tdd_workflow", json!(false)),
            ("/meta/tdd_workflow", Value::Null),
            ("/meta/max_iterations", json!(0)),
            ("/meta/withhold", json!("often")),
            ("/meta/tdd_cycles/0/test_count", json!(2.5)),
            ("/meta/tdd_cycles/0/expected_coverage", json!("high")),
            ("/meta/execution_config/method", json!("human")),
            ("/cli_execution/strategy", json!("split")),
            ("/cli_execution/strategy", json!("resume")),
            ("/cli_execution/strategy", json!("merge_fork")),
            ("/convergence", Value::Null),
            ("/implementation", json!([])),
            ("/implementation/1/tdd_phase", json!("polish")),
        ],
    );
}

#[test]
fn events_and_handoffs() {
    let (event, handoff) = (schema("event"), schema("handoff"));
    let story = story("spec.yaml", SPEC, SPEC_SCRIPT);
    let said = story.redgreen("--json run --script @kata.toml --spec @spec.yaml").exits(3);
    let lines: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (_, events) = lines.split_last().unwrap();
    assert!(events.len() > 20);
    for line in events {
        fits(&event, line);
    }
    for commit in story.git(&format!("rev-list main..{}", story.branch())).lines() {
        let note: Value =
            serde_json::from_str(&story.git(&format!("notes --ref=tdd-handoffs show {commit}")))
                .unwrap();
        fits(&handoff, &note);
        let changes =
            ["version", "phase", "nextPhase", "cycleNumber", "completedTests", "retryCount", "run"];
        for name in changes {
            notices(
                &handoff,
                &note,
                &[(&format!("/{name}"), Value::Null), (&format!("/{name}"), json!({}))],
            );
        }
        notices(
            &handoff,
            &note,
            &[
                ("/phase", json!("BLUE")),
                ("/testResult", json!("MAYBE")),
                ("/currentTest", json!({ "description": "x" })),
                ("/errorDetails", json!({ "type": "x" })),
                ("/completedTests", json!([1])),
            ],
        );
    }
    story.redgreen("approve").exits(0);
    let journal = fs::read_to_string(run_folder(&story).join("journal.jsonl")).unwrap();
    let journal: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &journal {
        fits(&event, line);
    }
    let judged = journal.iter().find(|line| line["event"] == "judged").unwrap();
    let turned = journal.iter().find(|line| line["event"] == "turned").unwrap();
    notices(
        &event,
        judged,
        &[
            ("/v", json!(2)),
            ("/at", json!("now")),
            ("/event", json!("guessed")),
            ("/event", Value::Null),
            ("/intent", json!("both")),
            ("/phase", json!("BLUE")),
            ("/verdict", Value::Null),
            ("/verdict/decision", json!("perhaps")),
        ],
    );
    notices(
        &event,
        turned,
        &[("/role", json!("nobody")), ("/turn", json!({})), ("/tookMs", json!(-1))],
    );
}

/// Where RED writes all tests at once, it also writes withheld tests, unless the specification says
/// otherwise.
#[test]
fn events_of_withheld_tests() {
    let (event, handoff) = (schema("event"), schema("handoff"));
    let more = "from shop.till import Till\n\n\ndef test_five_times():\n    till = Till()\n    for _ in range(5):\n        \
                till.add(7)\n    assert till.total() == 35\n";
    let add = format!(
        "[[red]]\ndo = [\n  {{ write = \".redgreen/withheld/tests/test_more.py\", text = {more:?} }},\n"
    );
    let script = SPEC_SCRIPT.replacen("[[red]]\ndo = [", &add, 1);
    assert_ne!(script, SPEC_SCRIPT);
    let off = story("spec.yaml", &format!("{SPEC}\nwithhold: false\n"), &script);
    off.redgreen("run --script @kata.toml --spec @spec.yaml").exits(3);
    assert!(!off.git(&format!("ls-tree -r --name-only {}", off.branch())).contains("test_more"));

    let story = story("spec.yaml", SPEC, &script);
    story
        .redgreen("run --script @kata.toml --spec @spec.yaml")
        .exits(3)
        .says("1 test passed that the implementer");
    assert!(
        story
            .git(&format!("ls-tree -r --name-only {}", story.branch()))
            .contains("tests/test_more.py")
    );
    let journal = fs::read_to_string(run_folder(&story).join("journal.jsonl")).unwrap();
    let journal: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &journal {
        fits(&event, line);
    }
    for (name, field) in [("turned", "withheld"), ("judged", "withheld"), ("judged", "joined")] {
        let line =
            journal.iter().find(|line| line["event"] == name && line.get(field).is_some()).unwrap();
        notices(
            &event,
            line,
            &[(&format!("/{field}"), json!({})), (&format!("/{field}"), json!(3))],
        );
    }
    for commit in story.git(&format!("rev-list main..{}", story.branch())).lines() {
        let note: Value =
            serde_json::from_str(&story.git(&format!("notes --ref=tdd-handoffs show {commit}")))
                .unwrap();
        fits(&handoff, &note);
        notices(&handoff, &note, &[("/withheldTests", json!("some"))]);
    }
}

/// A run that gives up, an undecided one and a killed one: their journal lines are valid events
/// too.
#[test]
fn events_of_runs_that_go_wrong() {
    let event = schema("event");
    let (red, green) = TASK_SCRIPT.split_once("[[green]]").unwrap();
    let failing = story("task.json", TASK, &format!("{red}[[green]]{}", green.replace("+ 32", "")));
    failing.redgreen("run --script @kata.toml --task @task.json --max-iterations 1").exits(1);
    failing.redgreen("abort").exits(0);
    let killed = Story::pytest().env("REDGREEN_KILL_AT", "before:9");
    killed.script("kata.toml", &[PLAN, RED, WRONG].concat());
    assert_eq!(killed.redgreen("run --script @kata.toml x").signal, Some(9));
    let killed = killed.env("REDGREEN_KILL_AT", "");
    killed.redgreen("resume --max-iterations 1").exits(1);
    let note = killed.git(&format!("notes --ref=tdd-handoffs show {}", killed.branch()));
    let note: Value = serde_json::from_str(&note).unwrap();
    assert!(note["errorDetails"].is_object(), "{note}");
    fits(&schema("handoff"), &note);
    killed.redgreen(&format!("rollback {}~1", killed.branch())).exits(0);
    for story in [failing, killed] {
        let journal = fs::read_to_string(run_folder(&story).join("journal.jsonl")).unwrap();
        for line in journal.lines() {
            fits(&event, &serde_json::from_str(line).unwrap());
        }
    }
}

#[test]
fn verdicts_of_the_judge() {
    let schema = schema("verdict");
    let story = Story::pytest();
    story.file(
        "test_add.py",
        "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n",
    );
    story.commit("a test");
    let judged = |phase: &str, code: i32| {
        story.redgreen(&format!("--json judge {phase} --base HEAD~1")).exits(code).json()
    };
    let red = judged("red", 0);
    fits(&schema, &red);
    story.file("calc.py", "def add(a, b):\n    return 0\n");
    story.commit("wrong");
    let refused = judged("green", 1);
    fits(&schema, &refused);
    assert_eq!((&red["verdict"], &refused["verdict"]), (&json!("accepted"), &json!("refused")));
    notices(
        &schema,
        &refused,
        &[
            ("/version", json!(2)),
            ("/phase", json!("PLAN")),
            ("/verdict", json!("perhaps")),
            ("/side", json!("moon")),
            ("/reasons", json!([])),
            ("/reasons/0/code", json!("green.mood")),
            ("/reasons/0/next", Value::Null),
            ("/counts/passed", json!(-1)),
            ("/targets", Value::Null),
        ],
    );
}

#[test]
fn settings() {
    let schema = schema("config");
    let toml = |text: &str| -> Value { toml::from_str(text).unwrap() };
    fits(&schema, &toml(""));
    // Every setting of the template, commented out and with its default value.
    let template = Story::pytest().redgreen("init --print").exits(0).stdout;
    fits(&schema, &toml(&template));
    fits(&schema, &toml(&template.replace("#: ", "")));
    for name in
        ["settings.md", "external-agents.md", "models.md", "built-in-agent.md", "frameworks.md"]
    {
        for block in blocks(&page(name), "toml") {
            fits(&schema, &toml(&block));
        }
    }
    // Rebuilds the effective settings from the output of `redgreen config`.
    let story = Story::pytest();
    story.file("redgreen.toml", &template.replace("#: ", ""));
    let answer = story.redgreen("config --json").exits(0).json();
    let mut whole = json!({});
    for row in answer["settings"].as_array().unwrap().iter().filter(|row| !row["value"].is_null()) {
        let mut place = &mut whole;
        for part in row["key"].as_str().unwrap().split('.') {
            place = &mut place[part];
        }
        *place = row["value"].clone();
    }
    assert!(whole["timeout"]["red"].is_number() && whole["max-retries"].is_number(), "{whole}");
    fits(&schema, &whole);
    let real = toml(&template.replace("#: ", ""));
    notices(
        &schema,
        &real,
        &[
            ("/max-retries", json!("three")),
            ("/max-retries", json!(-1)),
            ("/max-iterations", json!(0)),
            ("/max-retrys", json!(3)),
            ("/timeout/red", json!("long")),
            ("/timeout/blue", json!(1)),
            ("/worktree/setup", json!("npm ci")),
            ("/test/fence", json!("high")),
            ("/test/max-pass-ratio", json!(3)),
            ("/test/env", json!({ "A": 1 })),
            ("/test/services", json!(["example.com:80"])),
            ("/model", json!({ "prices": { "m": { "input": 1 } } })),
            ("/agent/on-save", json!("yes")),
            ("/agents", json!({ "blue": "x" })),
            ("/agent/custom", json!({ "mine": { "prompt": "stdin" } })),
            ("/model", json!({ "wire": "morse" })),
        ],
    );
    // The program rejects what the schema rejects.
    for (text, words) in
        [("max-retrys = 3\n", "did you mean"), ("max-retries = \"three\"\n", "redgreen.toml:1:15")]
    {
        story.file("redgreen.toml", text);
        story.redgreen("status").exits(2).says(words);
    }
}
