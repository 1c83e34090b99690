//! Recorded exchanges with a model, one JSON object per line. A replay answers the same requests in
//! the same order, without a network.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};
use redgreen_core::model::ability::Ability;
use redgreen_core::model::wire::Wire;
use redgreen_core::model::{ModelError, ModelErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Piece, Response};
use crate::config::Secret;
use crate::failure::Failure;
use crate::private;

const VERSION: u32 = 1;
/// A line contains a whole conversation and its answer.
const LINE_BYTES_MAX: u64 = 256 << 20;
/// The headers needed to understand an answer. Others may identify accounts.
const HEADERS: &[&str] = &["content-type", "retry-after", "retry-after-ms", "date"];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExchangeV1 {
    version: u32,
    wire: Wire,
    /// Of the request's body.
    sha256: String,
    request: Value,
    /// `None` if there was no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<ResponseV1>,
    /// Why the answer was incomplete, if the server is not the cause.
    // Its name in older cassettes.
    #[serde(default, alias = "fault", skip_serializing_if = "Option::is_none")]
    error: Option<ModelError>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseV1 {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

/// The first line of a cassette, with the abilities of the model.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AboutV1 {
    version: u32,
    ability: Ability,
}

#[derive(Debug)]
pub(super) struct Recorder {
    path: PathBuf,
    file: Mutex<File>,
}

impl Recorder {
    pub(super) fn open(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            private::create_dir_all(folder)
                .with_context(|| format!("create {}", folder.display()))?;
        }
        // It contains whole conversations.
        let file = private::open(OpenOptions::new().create(true).append(true), path);
        let file = file.with_context(|| format!("open cassette {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file: Mutex::new(file) })
    }

    /// Writes the abilities, unless the cassette already has content.
    pub(super) fn begin(&self, ability: &Ability) -> Result<()> {
        let mut line = serde_json::to_vec(&AboutV1 { version: VERSION, ability: *ability })?;
        line.push(b'\n');
        let mut file = self
            .file
            .lock()
            .map_err(|_| anyhow::anyhow!("another thread failed while using the cassette"))?;
        let is_empty = file.metadata().is_ok_and(|facts| facts.len() == 0);
        if !is_empty {
            return Ok(());
        }
        file.write_all(&line).with_context(|| format!("write cassette {}", self.path.display()))
    }

    pub(super) fn add(
        &self,
        wire: Wire,
        request: &[u8],
        response: &Response,
        error: Option<&ModelError>,
        key: Option<&Secret>,
    ) -> Result<()> {
        let clean = |text: &str| key.map_or_else(|| text.to_owned(), |key| key.out_of(text));
        let request = clean(&String::from_utf8_lossy(request));
        let kept = response.headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str()));
        let exchange = ExchangeV1 {
            version: VERSION,
            wire,
            sha256: digest(request.as_bytes()),
            request: serde_json::from_str(&request)?,
            response: (response.status != 0).then(|| ResponseV1 {
                status: response.status,
                headers: kept.map(|(name, value)| (name.clone(), clean(value))).collect(),
                body: clean(&String::from_utf8_lossy(&response.body)),
            }),
            // Other errors follow from the response again.
            error: error
                .filter(|error| is_transport_error(error.kind))
                .map(|error| ModelError { message: clean(&error.message), ..error.clone() }),
        };
        let mut line = serde_json::to_vec(&exchange)?;
        line.push(b'\n');
        let mut file = self
            .file
            .lock()
            .map_err(|_| anyhow::anyhow!("another thread failed while using the cassette"))?;
        file.write_all(&line).with_context(|| format!("write cassette {}", self.path.display()))
    }
}

fn is_transport_error(kind: ModelErrorKind) -> bool {
    matches!(kind, ModelErrorKind::Network | ModelErrorKind::Timeout | ModelErrorKind::TooLarge)
}

/// A cassette being replayed.
pub(super) struct Tape {
    path: PathBuf,
    lines: BufReader<File>,
    played: usize,
    ability: Option<Ability>,
}

impl Tape {
    pub(super) fn open(path: &Path) -> Result<Self> {
        // A pipe would block, and a device may be endless.
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.with_context(|| format!("open cassette {}", path.display()))?;
        if !file.metadata().is_ok_and(|facts| facts.is_file()) {
            return Err(Failure::usage(format!("the cassette {} is not a file", path.display()))
                .next("correct model.replay; redgreen config shows where it is set")
                .into());
        }
        let mut tape =
            Self { path: path.to_owned(), lines: BufReader::new(file), played: 0, ability: None };
        let first = tape.line()?;
        match serde_json::from_slice::<AboutV1>(&first) {
            Ok(about) => {
                tape.ability = Some(about.ability);
                tape.played = 1;
            }
            Err(_) => {
                tape.lines.rewind().with_context(|| format!("read cassette {}", path.display()))?;
            }
        }
        Ok(tape)
    }

    /// The recorded abilities of the model.
    pub(super) fn ability(&self) -> Option<Ability> {
        self.ability
    }

    fn line(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let read = (&mut self.lines).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        read.with_context(|| format!("read cassette {}", self.path.display()))?;
        Ok(line)
    }

    /// The recorded response to the next request, which must be this one.
    pub(super) fn next(&mut self, wire: Wire, request: &[u8]) -> Result<Vec<Piece>> {
        let line = self.line()?;
        self.played += 1;
        let place = format!("{}:{}", self.path.display(), self.played);
        if line.is_empty() {
            return Err(Failure::usage("the cassette has no more exchanges")
                .evidence(format!(
                    "{place}: it has {} exchanges, but there is another request",
                    self.played - 1
                ))
                .next("record it again")
                .into());
        }
        let exchange: ExchangeV1 =
            serde_json::from_slice(&line).map_err(|error| unusable(&place, &error.to_string()))?;
        if exchange.version != VERSION {
            return Err(
                unusable(&place, &format!("version {}, not {VERSION}", exchange.version)).into()
            );
        }
        let different = if exchange.wire != wire {
            Some("the wire format".to_owned())
        } else if exchange.sha256 == digest(request) {
            None
        } else {
            difference(&exchange.request, &serde_json::from_slice(request)?, Author::Us)
        };
        if let Some(at) = different {
            return Err(Failure::usage("the cassette was recorded for another request")
                .evidence(format!("{place}: the first difference is in {at}"))
                .next("record it again")
                .into());
        }
        let mut pieces = Vec::new();
        if let Some(ResponseV1 { status, headers, body }) = exchange.response {
            pieces.push(Piece::Head { status, headers });
            pieces.push(Piece::Bytes(body.into_bytes()));
        }
        pieces.push(exchange.error.map_or(Piece::End, Piece::Failed));
        Ok(pieces)
    }
}

fn unusable(place: &str, why: &str) -> Failure {
    Failure::usage("the cassette cannot be used")
        .evidence(format!("{place}: {why}"))
        .next("record it again")
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The path to the first difference of two requests, such as `messages/2/content`. Durations in the
/// output of programs are ignored.
fn difference(one: &Value, other: &Value, said_by: Author) -> Option<String> {
    let below = |key: &str, one: &Value, other: &Value, said_by: Author| {
        let rest = difference(one, other, said_by)?;
        Some(if rest.is_empty() { key.to_owned() } else { format!("{key}/{rest}") })
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let said_by = if is_result(one) { Author::Program } else { said_by };
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                below(
                    key,
                    one.get(key).unwrap_or(&Value::Null),
                    other.get(key).unwrap_or(&Value::Null),
                    said_by,
                )
            })
        }
        (Value::Array(one), Value::Array(other)) => {
            (0..one.len().max(other.len())).find_map(|at| {
                let (one, other) =
                    (one.get(at).unwrap_or(&Value::Null), other.get(at).unwrap_or(&Value::Null));
                below(&at.to_string(), one, other, said_by)
            })
        }
        (Value::String(one), Value::String(other)) if said_by == Author::Program => {
            (without_durations(one) != without_durations(other)).then(String::new)
        }
        _ => (one != other).then(String::new),
    }
}

/// Who wrote a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Author {
    Us,
    Program,
}

/// Whether this is a tool result in one of the wire formats.
fn is_result(object: &serde_json::Map<String, Value>) -> bool {
    let says = |key: &str, word: &str| object.get(key).and_then(Value::as_str) == Some(word);
    says("type", "tool_result")
        || says("type", "function_call_output")
        || says("role", "tool")
        || object.contains_key("functionResponse")
}

/// A text without durations such as `0.38s` or `1.2 s`.
fn without_durations(text: &str) -> String {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let (number, after) =
            from.split_at(from.find(|letter| !is_number(letter)).unwrap_or(from.len()));
        let unit = after.strip_prefix(' ').unwrap_or(after).strip_prefix('s');
        let is_duration = number.contains('.')
            && unit.is_some_and(|next| !next.starts_with(char::is_alphanumeric));
        kept.push_str(before);
        kept.push_str(if is_duration { "?" } else { number });
        rest = after;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_path_of_the_first_difference() {
        for (one, other, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#, None),
            (r#"{"a":1}"#, r#"{"a":2}"#, Some("a")),
            (r#"{"m":[{"c":"x"},{"c":"y"}]}"#, r#"{"m":[{"c":"x"},{"c":"z"}]}"#, Some("m/1/c")),
            (r#"{"m":[1]}"#, r#"{"m":[1,2]}"#, Some("m/1")),
            (r#"{"m":[1]}"#, r#"{"m":[1],"n":0}"#, Some("n")),
            (r#"{"m":"passed in 0.38s"}"#, r#"{"m":"passed in 12.1s"}"#, Some("m")),
        ] {
            let [one, other] = [one, other].map(|text| serde_json::from_str(text).unwrap());
            assert_eq!(difference(&one, &other, Author::Us).as_deref(), expected);
        }
    }

    #[test]
    fn ignores_durations() {
        for (result, way) in [
            (r#"{"type":"tool_result","content":"WORDS"}"#, "content"),
            (r#"{"type":"function_call_output","output":"WORDS"}"#, "output"),
            (r#"{"role":"tool","content":"WORDS"}"#, "content"),
            (
                r#"{"functionResponse":{"response":{"output":"WORDS"}}}"#,
                "functionResponse/response/output",
            ),
        ] {
            for (one, other, same) in [
                ("1 passed in 0.38s, 2", "1 passed in 12.1s, 2", true),
                ("took 1.5 s", "took 2.5 s", true),
                ("1.5 sheep", "2.5 sheep", false),
                ("3 s", "4 s", false),
                ("at /a/b", "at /c/b", false),
            ] {
                let [one, other] = [one, other]
                    .map(|words| serde_json::from_str(&result.replace("WORDS", words)).unwrap());
                let expected = (!same).then_some(way);
                assert_eq!(difference(&one, &other, Author::Us).as_deref(), expected, "{result}");
            }
        }
    }
}
