//! Runs with a small local model: its real answers, replayed from cassettes that `bench models`
//! recorded (Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, llama.cpp). A scripted model also shows how
//! redgreen decides to use this mode.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::Story;
use crate::runner::{is_installed, node_modules};
use crate::server::{SeenRequest, Server, Turn};

fn cassettes(language: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/story/small_models");
    let mut found: Vec<(String, String)> = fs::read_dir(folder.join(language))
        .unwrap()
        .flatten()
        .map(|entry| {
            let name = entry.path().file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn a_small_models_real_answers_become_correct_runs_in_python() {
    finishes("python", 8, &Story::bare_folder());
}

#[test]
fn a_small_models_real_answers_become_correct_runs_in_typescript() {
    if !is_installed("node") {
        return;
    }
    let story = Story::bare_folder();
    symlink(node_modules(), story.root.join("node_modules")).unwrap();
    finishes("typescript", 3, &story);
}

#[test]
fn a_small_models_real_answers_become_correct_runs_in_rust() {
    finishes("rust", 3, &Story::bare_folder());
}

/// Its code shifts capitals too, and its tests have none.
const WRONG: &str = "caesar";

/// The answers that a real server gave, for each question that has not been asked yet.
type Answers = BTreeMap<String, Vec<String>>;

/// What makes two questions the same.
fn question(body: &Value) -> String {
    json!([body["messages"], body["temperature"]]).to_string()
}

/// A question that the client repeated after an error has only one answer.
fn answers(cassette: &str) -> Answers {
    let mut answers = Answers::new();
    for line in cassette.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(body) = line.pointer("/response/body").and_then(Value::as_str) {
            answers.entry(question(&line["request"])).or_default().push(body.to_owned());
        }
    }
    answers
}

/// The server that the answers were recorded from.
fn recorded(seen: &SeenRequest, answers: &Mutex<Answers>) -> Turn {
    if seen.path.ends_with("/models") {
        let listed = json!({"data": [{"id": "model.gguf", "meta": {"n_params": 1_777_088_000}}]});
        return Turn::status(200).body(&listed.to_string());
    }
    if seen.path.ends_with("/props") {
        return Turn::status(200).body(r#"{"default_generation_settings": {"n_ctx": 8192}}"#);
    }
    if seen.body.to_string().contains("legs has a horse") {
        return Turn::say("{\"legs\": 4}");
    }
    let mut answers = answers.lock().unwrap();
    match answers.get_mut(&question(&seen.body)).filter(|answers| !answers.is_empty()) {
        Some(answers) => Turn::Raw(answers.remove(0)),
        None => Turn::status(400).body("this question was not recorded"),
    }
}

/// Plays every recorded task of a language, and checks the code that the runs made.
fn finishes(language: &str, least: usize, story: &Story) {
    let cassettes: Vec<(String, Answers)> =
        cassettes(language).into_iter().map(|(name, text)| (name, answers(&text))).collect();
    assert!(cassettes.len() >= least, "{}", cassettes.len());
    let all = cassettes.iter().flat_map(|(_, answers)| answers.clone()).collect();
    let all = Mutex::new(all);
    let server = Server::answering(move |seen| recorded(seen, &all));
    let katas: String = cassettes.iter().map(|(name, _)| format!(" --kata {name}")).collect();
    let line = format!(
        "bench models --json --server {}/v1 --model model.gguf --lang {language}{katas}",
        server.url
    );
    let played = story.redgreen(&line).exits(0).json();
    for ((name, answers), kata) in cassettes.iter().zip(played["katas"].as_array().unwrap()) {
        assert_eq!(kata["name"], json!(name));
        let right = name != WRONG;
        assert!(kata["finished"] == true && kata["right"] == right, "{kata}");
        assert!(kata["cycles"].as_u64() >= Some(1), "{kata}");
        let asked: usize = answers.values().map(Vec::len).sum();
        assert_eq!(kata["requests"], json!(asked), "{name}: every answer was needed");
    }
}

/// A server that reports a small model size, and a model that only answers questions.
fn small(seen: &SeenRequest) -> Turn {
    let body = seen.body.to_string();
    if seen.path.ends_with("/models") {
        return Turn::status(200)
            .body(r#"{"data": [{"id": "m", "meta": {"n_params": 1500000000}}]}"#);
    }
    if seen.path.ends_with("/props") {
        return Turn::status(200).body(r#"{"default_generation_settings": {"n_ctx": 4096}}"#);
    }
    if body.contains("legs has a horse") {
        return Turn::say("{\"legs\": 4}");
    }
    assert!(!body.contains("\"tools\""), "a small model gets no tools: {body}");
    assert!(body.len() < 4_500, "{} bytes: {body}", body.len());
    Turn::say(
        "Sure! Here it is:\n```python\ndef double(n):\n    return 2 * n\n\n\nprint(double(2))\n```\nIt doubles.",
    )
}

#[test]
fn how_a_model_is_asked_is_found_out_once_and_remembered() {
    let server = Server::answering(small);
    let story = Story::pytest().env("LLAMA_BASE_URL", &format!("{}/v1", server.url));
    let run = "run --no-input --model llamacpp/m \"double(n): double(2) is 4, double(5) is 10\"";
    story.redgreen(run).exits(3).says("green.passes");
    let trials =
        || server.requests().iter().filter(|seen| seen.body.to_string().contains("legs")).count();
    let asked = || {
        server.requests().iter().filter(|seen| seen.body.to_string().contains("whole file")).count()
    };
    assert_eq!((trials(), asked()), (1, 1), "one trial, one question");
    let code = story.git(&format!("show {}:double.py", story.branch()));
    assert_eq!(code, "def double(n):\n    return 2 * n");
    story.redgreen("abort").exits(0);
    story.redgreen(run).exits(3);
    assert_eq!((trials(), asked()), (1, 2), "the trial is remembered");
}

/// A server that enforces a schema only in this field. Without one, its model answers in prose.
fn enforcing(field: &str, seen: &SeenRequest) -> Turn {
    let (body, is_ollama) = (seen.body.to_string(), field == "format");
    let answer = if body.contains("legs has a horse") {
        r#"{"legs": 4}"#
    } else if body.contains("examples of double") {
        r#"{"examples": [{"n": 2, "result": 4}, {"n": 5, "result": 10}]}"#
    } else if body.contains("Work out carefully") {
        r#"{"results": [4, 10]}"#
    } else {
        "```python\ndef double(n):\n    return 2 * n\n```"
    };
    match (seen.path.as_str(), seen.body.get(field)) {
        ("/v1/models", _) => Turn::status(200)
            .body(r#"{"data": [{"id": "m", "meta": {"n_params": 1500000000}}]}"#),
        ("/api/ps", _) if is_ollama => {
            Turn::status(200).body(r#"{"models": [{"model": "m:latest", "context_length": 4096}]}"#)
        }
        ("/api/chat", Some(_)) if is_ollama => {
            let answer = json!({"message": {"role": "assistant", "content": answer},
                "done_reason": "stop", "done": true, "prompt_eval_count": 90, "eval_count": 12});
            Turn::status(200).body(&answer.to_string())
        }
        ("/v1/chat/completions", Some(_)) => Turn::say(answer),
        // As some versions of llama.cpp.
        ("/v1/chat/completions", None)
            if field == "grammar" && seen.body.get("response_format").is_some() =>
        {
            Turn::status(400).body(
                r#"{"error": {"message": "Either \"json_schema\" or \"grammar\" can be specified, but not both"}}"#,
            )
        }
        ("/v1/chat/completions", None) => Turn::say(&format!("I think that it is this:\n{answer}")),
        _ => Turn::status(404),
    }
}

#[test]
fn the_field_that_enforces_a_schema_is_found_out() {
    for (field, trials) in
        [("response_format", 1), ("format", 2), ("grammar", 3), ("unknown to this server", 3)]
    {
        let server = Server::answering(move |seen| enforcing(field, seen));
        let story = Story::pytest().env("LLAMA_BASE_URL", &format!("{}/v1", server.url));
        story
            .redgreen("run --no-input --model llamacpp/m \"double(n) returns the double of n\"")
            .exits(3)
            .says("green.passes");
        let requests = server.requests();
        let asked = |words: &str| -> Vec<&SeenRequest> {
            requests.iter().filter(|seen| seen.body.to_string().contains(words)).collect()
        };
        assert_eq!(asked("legs has a horse").len(), trials, "{field}");
        for seen in [asked("examples of double"), asked("Work out carefully")].concat() {
            let used = ["response_format", "format", "grammar"]
                .into_iter()
                .find(|field| seen.body.get(field).is_some());
            assert_eq!(used.unwrap_or("unknown to this server"), field, "{}", seen.body);
        }
        let code = asked("whole file");
        assert!(code.iter().all(|seen| seen.path == "/v1/chat/completions"), "{field}");
    }
}

/// A model whose code passes its own tests, but is wrong.
fn mistaken(seen: &SeenRequest) -> Turn {
    if seen.body.to_string().contains("whole file") {
        let code = "def fizzbuzz(n):\n    return \"FizzBuzz\" if n % 5 == 0 else str(n)\n";
        return Turn::say(&format!("```python\n{code}```"));
    }
    let examples = json!({"examples": [{"n": 15, "result": "FizzBuzz"}, {"n": 7, "result": "7"}]});
    if seen.body.to_string().contains("Work out carefully") {
        return Turn::say(r#"{"results": ["FizzBuzz", "7"]}"#);
    }
    if seen.body.to_string().contains("examples of fizzbuzz") {
        return Turn::say(&examples.to_string());
    }
    recorded(seen, &Mutex::default())
}

#[test]
fn the_bench_of_models_tells_finished_from_right() {
    let server = Server::answering(mistaken);
    let bench = format!("bench models --server {}/v1 --kata fizzbuzz", server.url);
    let said = Story::bare_folder().redgreen(&bench).exits(0);
    let row: Vec<String> = said
        .stdout
        .lines()
        .find(|line| line.starts_with("fizzbuzz"))
        .unwrap()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    assert_eq!(row[..6], ["fizzbuzz", "yes", "no", "1", "2", "3"], "{}", said.stdout);
    said.says("1 of 1 finished, 0 correct by checks that the model did not see");
}
