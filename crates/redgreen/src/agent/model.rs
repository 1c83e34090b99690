//! Asks a model: sends a request and assembles the streamed answer. Waiting ends with the answer,
//! an error, the deadline or the user's request to stop.

mod ability;
mod cassette;
mod http;
pub mod local;

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::model::ability::Ability;
use redgreen_core::model::error::{broken_off, status_error};
use redgreen_core::model::provider::{self, NoProvider, Provider, ProviderSettings, provider_of};
use redgreen_core::model::retry::RetryLimits;
use redgreen_core::model::sse::{EVENT_BYTES_MAX, Parser};
use redgreen_core::model::wire::{self, Decoder, encode};
use redgreen_core::model::{Delta, ModelError, ModelErrorKind, Reply, Request};
use serde_json::Value;

use crate::config::{Models, Secret};
use crate::failure::Failure;
use crate::process::{Interrupted, Stop};
use cassette::{Recorder, Tape};
use http::{Line, Post};

/// The limit of an error's body.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// The limits of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub connect: Duration,
    /// Without a byte, from the request to the end of the answer.
    pub idle: Duration,
    /// The limit on the wire. The answer itself is smaller, because each piece has an envelope.
    pub reply_bytes_max: usize,
    pub patience: RetryLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            // A server may buffer a large tool call, and a small machine may process a prompt for
            // minutes.
            idle: Duration::from_secs(600),
            reply_bytes_max: 64 << 20,
            patience: RetryLimits::default(),
        }
    }
}

/// The client of one model. Clones share its connections and cassette.
#[derive(Clone, Debug)]
pub struct Client(Arc<ClientState>);

struct ClientState {
    provider: Provider,
    key: Option<Secret>,
    limits: Limits,
    source: Source,
    recorder: Option<Recorder>,
}

enum Source {
    Network(Line),
    Cassette(Mutex<Tape>),
}

/// A part of a response.
#[derive(Debug)]
enum Piece {
    Head { status: u16, headers: Vec<(String, String)> },
    Bytes(Vec<u8>),
    End,
    Failed(ModelError),
}

/// The server and key of a model. The first missing part is an error.
pub fn provider(model: &str, wish: &ProviderSettings, models: &Models) -> Result<Provider> {
    provider_of(model, wish, |variable| models.base(variable)).map_err(|error| {
        let failure = Failure::usage(error.to_string());
        let failure = match error {
            NoProvider::LoginInBase { .. } => {
                failure.next("remove the name and password from the URL of the server")
            }
            NoProvider::Unplaced { .. }
            | NoProvider::Unknown { .. }
            | NoProvider::NoModel
            | NoProvider::BadBase { .. } => failure
                .evidence(format!("providers: {}", provider::names()))
                .next("redgreen run --model <provider>/<model> …, such as ollama/qwen3-coder"),
        };
        failure.into()
    })
}

impl Client {
    /// A client that uses the network.
    pub fn new(provider: Provider, models: &Models, limits: Limits) -> Result<Self> {
        let key = models.key(provider.keys).cloned();
        if key.is_none() && provider.needs_key {
            let variable = provider.keys.first().copied().unwrap_or(provider::OTHER_KEY);
            return Err(Failure::usage(format!(
                "{} needs a key, and {variable} is not set",
                provider.name
            ))
            .next(format!("export {variable}=…"))
            .into());
        }
        let line = Line::new(&provider.base, models, limits)?;
        Ok(Self(Arc::new(ClientState {
            provider,
            key,
            limits,
            source: Source::Network(line),
            recorder: None,
        })))
    }

    /// Adds every exchange to the file, without the key.
    pub fn recording(self, path: &Path) -> Result<Self> {
        let recorder = Recorder::open(path)?;
        // A cloned client keeps its own connection.
        let inner = Arc::try_unwrap(self.0)
            .map_err(|_| anyhow::anyhow!("a client in use cannot begin to record"))?;
        Ok(Self(Arc::new(ClientState { recorder: Some(recorder), ..inner })))
    }

    /// A client that replays the file in order, without a network.
    pub fn replaying(provider: Provider, path: &Path, limits: Limits) -> Result<Self> {
        let source = Source::Cassette(Mutex::new(Tape::open(path)?));
        Ok(Self(Arc::new(ClientState { provider, key: None, limits, source, recorder: None })))
    }

    pub fn provider(&self) -> &Provider {
        &self.0.provider
    }

    /// Whether it replays a file.
    pub fn is_replaying(&self) -> bool {
        matches!(self.0.source, Source::Cassette(_))
    }

    /// The abilities stored in the cassette.
    fn recorded_ability(&self) -> Result<Option<Ability>> {
        match &self.0.source {
            Source::Network(_) => Ok(None),
            Source::Cassette(tape) => {
                let tape = tape.lock().map_err(|_| {
                    anyhow::anyhow!("another thread failed while using the cassette")
                })?;
                Ok(tape.ability())
            }
        }
    }

    /// Stores the abilities in the cassette, so that a replay asks in the same way.
    fn record_ability(&self, ability: &Ability) -> Result<()> {
        self.0.recorder.as_ref().map_or(Ok(()), |recorder| recorder.begin(ability))
    }

    /// Fetches a document from the server; `None` if it does not exist.
    fn look_up(&self, url: &str, body: Option<&Value>, time: Duration) -> Option<String> {
        let inner = &self.0;
        let Source::Network(line) = &inner.source else { return None };
        let key =
            inner.key.as_ref().map(|key| inner.provider.dialect.wire.key_header(key.reveal()));
        line.document(url, body, key, time)
    }

    /// Whether the list of prices applies: a custom server may use any model names.
    pub fn has_listed_prices(&self) -> bool {
        let Provider { keys, needs_key, .. } = &self.0.provider;
        *needs_key && *keys != [provider::OTHER_KEY]
    }

    /// Asks with retries until there is an answer or a final error. Uses the provider's model,
    /// whatever `request` says. `live` gets the answer as it arrives.
    ///
    /// An error means that the result is unknown, or that the user asked to stop ([`Interrupted`]).
    pub fn ask(
        &self,
        request: &Request,
        deadline: Instant,
        stop: &Stop,
        live: &mut dyn FnMut(&Delta),
    ) -> Result<Result<Reply, ModelError>> {
        self.ask_recording(request, deadline, stop, live, self.0.recorder.as_ref())
    }

    /// Asks without recording.
    fn ask_unrecorded(
        &self,
        request: &Request,
        deadline: Instant,
        stop: &Stop,
    ) -> Result<Result<Reply, ModelError>> {
        self.ask_recording(request, deadline, stop, &mut |_| {}, None)
    }

    fn ask_recording(
        &self,
        request: &Request,
        deadline: Instant,
        stop: &Stop,
        live: &mut dyn FnMut(&Delta),
        recorder: Option<&Recorder>,
    ) -> Result<Result<Reply, ModelError>> {
        let inner = &self.0;
        let mut body = encode(request, &inner.provider.dialect);
        if let Some(model) = body.get_mut("model") {
            *model = Value::String(inner.provider.model.clone());
        }
        let Provider { base, model, dialect, .. } = &inner.provider;
        let url = wire::url(request, dialect.wire, base, model);
        let post = Post { url, body: serde_json::to_vec(&body)? };
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match inner.once(&post, deadline, stop, live, recorder)? {
                Ok(reply) => return Ok(Ok(reply)),
                Err(error) => inner.without_key(error),
            };
            let Some(pause_ms) = inner.limits.patience.pause_ms(tries, &error, random_byte())
            else {
                return Ok(Err(error));
            };
            let pause = match inner.source {
                Source::Network(_) => Duration::from_millis(pause_ms),
                // A replay does not have to wait.
                Source::Cassette(_) => Duration::ZERO,
            };
            if Instant::now() + pause >= deadline {
                return Ok(Err(error));
            }
            live(&Delta::Again { error, pause_ms });
            stop.sleep(pause)?;
        }
    }
}

impl ClientState {
    /// One attempt.
    fn once(
        &self,
        post: &Post,
        deadline: Instant,
        stop: &Stop,
        live: &mut dyn FnMut(&Delta),
        recorder: Option<&Recorder>,
    ) -> Result<Result<Reply, ModelError>> {
        if stop.requested() {
            return Err(Interrupted.into());
        }
        let mut reader = ResponseReader::new(self);
        let answer = match &self.source {
            Source::Network(line) => {
                let key = self
                    .key
                    .as_ref()
                    .map(|key| self.provider.dialect.wire.key_header(key.reveal()));
                line.exchange(&self.provider, key, post, deadline, stop, &mut |piece| {
                    reader.take(piece, live)
                })?
            }
            Source::Cassette(tape) => {
                let mut tape = tape.lock().map_err(|_| {
                    anyhow::anyhow!("another thread failed while using the cassette")
                })?;
                let pieces = tape.next(self.provider.dialect.wire, &post.body)?;
                pieces.into_iter().find_map(|piece| reader.take(piece, live))
            }
        };
        let answer = answer.unwrap_or_else(|| {
            Err(ModelError::new(ModelErrorKind::Network, "the connection ended"))
        });
        if let Some(recorder) = recorder {
            let response = reader.response;
            recorder.add(
                self.provider.dialect.wire,
                &post.body,
                &response,
                answer.as_ref().err(),
                self.key.as_ref(),
            )?;
        }
        Ok(answer)
    }

    fn without_key(&self, error: ModelError) -> ModelError {
        match &self.key {
            Some(key) => ModelError { message: key.out_of(&error.message), ..error },
            None => error,
        }
    }
}

impl fmt::Debug for ClientState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// The response so far.
#[derive(Debug, Default)]
struct Response {
    /// 0 before the response begins.
    status: u16,
    headers: Vec<(String, String)>,
    /// Only kept for a cassette or an error.
    body: Vec<u8>,
}

impl Response {
    /// The content type.
    fn kind(&self) -> &str {
        let kind = self.headers.iter().find(|(name, _)| name == "content-type");
        kind.map_or("", |(_, value)| value.as_str())
    }
}

/// Assembles an answer.
struct ResponseReader<'a> {
    model: &'a str,
    bytes: usize,
    bytes_max: usize,
    keeps: bool,
    response: Response,
    parser: Parser,
    /// Taken when the answer is complete.
    decoder: Option<Decoder>,
}

impl<'a> ResponseReader<'a> {
    fn new(inner: &'a ClientState) -> Self {
        let wire = inner.provider.dialect.wire;
        Self {
            model: &inner.provider.model,
            bytes: 0,
            bytes_max: inner.limits.reply_bytes_max,
            keeps: inner.recorder.is_some(),
            response: Response::default(),
            parser: Parser::default(),
            decoder: Some(Decoder::new(wire)),
        }
    }

    /// The answer, once it is complete or has failed.
    fn take(
        &mut self,
        piece: Piece,
        live: &mut dyn FnMut(&Delta),
    ) -> Option<Result<Reply, ModelError>> {
        match piece {
            Piece::Head { status, headers } => {
                self.response = Response { status, headers, body: Vec::new() };
                None
            }
            Piece::Bytes(bytes) => self.bytes(&bytes, live).map(Err).or_else(|| self.end_if_done()),
            Piece::End => Some(self.end(live)),
            // Prefer the server's error even if it is incomplete.
            Piece::Failed(error) => Some(Err(self.refusal().unwrap_or(error))),
        }
    }

    fn bytes(&mut self, bytes: &[u8], live: &mut dyn FnMut(&Delta)) -> Option<ModelError> {
        self.bytes += bytes.len();
        if self.bytes > self.bytes_max {
            let message = format!("the answer has more than {} bytes", self.bytes_max);
            return Some(ModelError::new(ModelErrorKind::TooLarge, message));
        }
        let is_plain = !self.is_stream();
        if is_plain && self.bytes > EVENT_BYTES_MAX {
            return Some(ModelError::new(
                ModelErrorKind::TooLarge,
                format!("the answer has more than {EVENT_BYTES_MAX} bytes"),
            ));
        }
        if self.keeps || is_plain {
            self.response.body.extend_from_slice(bytes);
        }
        if !self.is_good() {
            return if self.response.body.len() > ERROR_BYTES_MAX { self.refusal() } else { None };
        }
        if is_plain {
            return None;
        }
        match self.parser.push(bytes) {
            Ok(events) => {
                events.iter().find_map(|event| self.event(&event.name, &event.data, live))
            }
            Err(error) => Some(error),
        }
    }

    fn event(
        &mut self,
        name: &str,
        data: &str,
        live: &mut dyn FnMut(&Delta),
    ) -> Option<ModelError> {
        match self.decoder.as_mut()?.event(name, data) {
            Ok(deltas) => {
                deltas.iter().for_each(live);
                None
            }
            Err(error) => Some(error),
        }
    }

    fn end_if_done(&mut self) -> Option<Result<Reply, ModelError>> {
        let is_done = self.decoder.as_ref().is_some_and(Decoder::is_done);
        is_done.then(|| self.decoder.take()).flatten().map(Decoder::finish)
    }

    fn end(&mut self, live: &mut dyn FnMut(&Delta)) -> Result<Reply, ModelError> {
        if let Some(error) = self.refusal() {
            return Err(error);
        }
        let kind = self.response.kind();
        let last = if self.is_stream() {
            std::mem::take(&mut self.parser).finish().map(|event| (event.name, event.data))
        } else if kind.starts_with("application/json") {
            // Some servers do not stream and send the whole answer.
            Some((String::new(), String::from_utf8_lossy(&self.response.body).into_owned()))
        } else {
            let message = format!(
                "the server answers with {kind}, not with a model's answer: is the URL right?"
            );
            return Err(ModelError::new(ModelErrorKind::BadRequest, message));
        };
        if let Some(error) = last.and_then(|(name, data)| self.event(&name, &data, live)) {
            return Err(error);
        }
        let decoder = self.decoder.take();
        decoder.map_or_else(|| Err(broken_off()), Decoder::finish)
    }

    fn is_good(&self) -> bool {
        self.response.status == 200
    }

    fn is_stream(&self) -> bool {
        // Some servers do not set the content type of a stream.
        let is_other = ["application/json", "text/html"]
            .iter()
            .any(|kind| self.response.kind().starts_with(kind));
        self.is_good() && !is_other
    }

    /// The error of a status other than 200.
    fn refusal(&self) -> Option<ModelError> {
        let Response { status, headers, body } = &self.response;
        let is_refused = *status != 0 && !self.is_good();
        is_refused
            .then(|| status_error(*status, headers, &String::from_utf8_lossy(body), self.model))
    }
}

/// Random enough for a pause.
fn random_byte() -> u8 {
    RandomState::new().build_hasher().finish().to_le_bytes().first().copied().unwrap_or(0)
}
