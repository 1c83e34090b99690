//! Runs with a small local model: its real answers, replayed from cassettes that `bench models`
//! recorded (Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, llama.cpp). A scripted model also shows how
//! redgreen decides to use this mode.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

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

/// The user's request: the first line of every question.
fn request(cassette: &str) -> String {
    let asked = cassette.lines().find_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line.pointer("/request/messages/1/content").and_then(Value::as_str).map(str::to_owned)
    });
    asked.unwrap().lines().next().unwrap().to_owned()
}

/// The projects that `bench models` starts with.
const TYPESCRIPT: &[(&str, &str)] = &[
    (
        "package.json",
        "{\n  \"name\": \"kata\",\n  \"type\": \"module\",\n  \"scripts\": { \"test\": \"vitest run\" },\n  \
         \"devDependencies\": { \"vitest\": \"*\" }\n}\n",
    ),
    (
        "tsconfig.json",
        "{\n  \"compilerOptions\": { \"strict\": true, \"module\": \"esnext\", \"target\": \"es2022\" }\n}\n",
    ),
    (".gitignore", "node_modules\n"),
];
const RUST: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        "[package]\nname = \"kata\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
    ),
    ("src/lib.rs", ""),
    (".gitignore", "/target\n/Cargo.lock\n"),
];

fn project(files: &[(&str, &str)]) -> Story {
    let story = Story::bare_folder().begun(files[0]);
    for (path, text) in &files[1..] {
        story.file(path, text);
    }
    story
}

#[test]
fn a_small_models_real_answers_become_finished_runs_in_python() {
    finishes("python", 8, Story::pytest);
}

#[test]
fn a_small_models_real_answers_become_finished_runs_in_typescript() {
    if !is_installed("node") {
        return;
    }
    finishes("typescript", 3, || {
        let story = project(TYPESCRIPT);
        symlink(node_modules(), story.root.join("node_modules")).unwrap();
        story
    });
}

#[test]
fn a_small_models_real_answers_become_finished_runs_in_rust() {
    finishes("rust", 3, || project(RUST));
}

/// Plays every cassette of a language, each in its own project.
fn finishes(language: &str, least: usize, begin: impl Fn() -> Story) {
    let cassettes = cassettes(language);
    assert!(cassettes.len() >= least, "{}", cassettes.len());
    for (name, cassette) in cassettes {
        let story = begin();
        story
            .file("redgreen.toml", "backoff = 0.0\n[model]\nreplay = \"kata.jsonl\"\n")
            .commit("a model");
        let kept = story.root.join(".git/redgreen/cassettes");
        fs::create_dir_all(&kept).unwrap();
        fs::write(kept.join("kata.jsonl"), &cassette).unwrap();
        let mut run = story.prepare("run --no-input --model llamacpp/model.gguf");
        let output = run.arg(request(&cassette)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{name}: {said}");
        let status = story.redgreen("status --json").exits(0).json();
        let run = &status["runs"][0];
        assert!(run["phase"] == "COMPLETE" && run["cycles"].as_u64() >= Some(1), "{name}: {run}");
        // A request that the client repeated after an error counts once.
        let digests = cassette
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["sha256"].clone());
        let asked: HashSet<String> =
            digests.filter_map(|digest| digest.as_str().map(str::to_owned)).collect();
        assert_eq!(
            run["spent"]["requests"],
            json!(asked.len()),
            "{name}: every exchange was played"
        );
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
