//! Answers of a real model: two exchanges with a small code model behind llama.cpp's server, in
//! both of its formats. They were recorded once and are replayed here. The model is
//! Qwen2.5-Coder-1.5B-Instruct; its abilities are not under test.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use redgreen::agent::model::{Client, Limits};
use redgreen::process::Stop;

use super::{
    Block, Message, QUICK, Reply, Request, Wire, ask, calls, client, provider, request, text,
};

/// One core reads and writes a dozen tokens a second.
const PATIENT: Duration = Duration::from_secs(900);

fn cassette(wire: Wire) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/model/testdata");
    folder.join(format!("qwen-{}.jsonl", format!("{wire:?}").to_lowercase()))
}

fn first() -> Request {
    let words = "Call the tool Read with the path calc.py now.";
    Request {
        system: "You work with tools. To look into a file you call the tool Read; you never guess what a file holds."
            .to_owned(),
        messages: vec![Message::User(vec![Block::Text { text: words.to_owned() }])],
        max_tokens: 120,
        ..request()
    }
}

/// The second request: it adds the answer, and the results of its calls.
fn second(reply: Reply) -> Request {
    let mut request = first();
    let results = reply.blocks.iter().filter_map(|block| match block {
        Block::ToolUse { id, name, .. } => Some(Block::ToolResult {
            id: id.clone(),
            name: name.clone(),
            text: "def add(a, b):\n    return a + b\n".to_owned(),
            is_error: false,
        }),
        _ => None,
    });
    let results = results.collect();
    request.messages.extend([Message::Assistant(reply.blocks), Message::User(results)]);
    request
}

#[test]
fn what_a_real_model_said_is_understood() {
    for wire in [Wire::Anthropic, Wire::Chat] {
        let client =
            Client::replaying(provider(wire, "http://127.0.0.1:9"), &cassette(wire), QUICK)
                .unwrap();
        let shown =
            |reply: &Reply| format!("{:?} {:?} {:?}", reply.stop, text(reply), calls(reply));
        let one = ask(&client, &first()).0.unwrap();
        assert!(one.usage.input > 50 && one.usage.output > 0, "{wire:?} {:?}", one.usage);
        let heard = shown(&one);
        let other = ask(&client, &second(one)).0.unwrap();
        insta::assert_snapshot!(format!("qwen_{wire:?}"), format!("{heard}\n{}", shown(&other)));
    }
}

#[test]
#[ignore = "asks a real model: REDGREEN_TEST_MODEL=http://127.0.0.1:8089 cargo test -p redgreen --test it -- --ignored record_a_real_model"]
fn record_a_real_model() {
    #[expect(clippy::disallowed_methods, reason = "a variable names the model")]
    let url = std::env::var("REDGREEN_TEST_MODEL")
        .expect("REDGREEN_TEST_MODEL is the address of a real model");
    for wire in [Wire::Anthropic, Wire::Chat] {
        let path = cassette(wire);
        std::fs::remove_file(&path).ok();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let client = client(wire, &url, Limits { idle: PATIENT, ..Limits::default() })
            .recording(&path)
            .unwrap();
        let say = |request: &Request| {
            client
                .ask(request, Instant::now() + PATIENT, &Stop::default(), &mut |_| {})
                .unwrap()
                .unwrap()
        };
        say(&second(say(&first())));
    }
}
