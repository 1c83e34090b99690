//! An agent that speaks the Agent Client Protocol, line by line, whole lines and beginnings of long
//! ones.

use redgreen_core::acp::{Client, ClientServices, Plan};
use redgreen_core::agent::Strategy;
use redgreen_core::report::Exit;

pub(crate) fn input(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut client = Client::new(Plan {
        folder: "/project".to_owned(),
        prompt: Some("build it".to_owned()),
        strategy: Strategy::New,
        mode: None,
        offers: ClientServices::FilesAndTerminals,
    });
    client.begin();
    for line in text.lines() {
        for sent in client.heard(line).send.lines() {
            assert!(serde_json::from_str::<serde_json::Value>(sent).is_ok(), "{sent}");
        }
        client.heard_in_part(line);
    }
    client.cancel();
    client.end(Exit::Code(0), text);
}
