//! Asking a model: a request goes out, the answer is heard piece by piece and put together. Waiting ends with the
//! answer, with a fault, at the deadline, or when the user wants to stop, whichever is first.

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
use redgreen_core::model::fault::{broken_off, status_fault};
use redgreen_core::model::provider::{self, NoProvider, Provider, Wish, provider_of};
use redgreen_core::model::retry::Patience;
use redgreen_core::model::sse::{EVENT_BYTES_MAX, Parser};
use redgreen_core::model::wire::{Decoder, encode};
use redgreen_core::model::{Delta, Fault, FaultKind, Reply, Request};
use serde_json::Value;

use crate::config::{Models, Secret};
use crate::failure::Failure;
use crate::process::{Interrupted, Stop};
use cassette::{Recorder, Tape};
use http::Line;

/// Of the body of an error.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// What an exchange may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub connect: Duration,
    /// Without a byte, from the request to the end of the answer.
    pub idle: Duration,
    /// On the wire. The answer itself is smaller: every piece comes in an envelope.
    pub reply_bytes_max: usize,
    pub patience: Patience,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            // A server may hold a large tool call back until it is whole, and a small machine reads a prompt for minutes.
            idle: Duration::from_secs(600),
            reply_bytes_max: 64 << 20,
            patience: Patience::default(),
        }
    }
}

/// The way to one model. Clones share its connections and its cassette.
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

struct Inner {
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

/// A piece of an exchange.
#[derive(Debug)]
enum Piece {
    Head { status: u16, headers: Vec<(String, String)> },
    Bytes(Vec<u8>),
    End,
    Failed(Fault),
}

/// Where a model is served and with which key; the first thing that is missing is the error.
pub fn provider(model: &str, wish: &Wish, models: &Models) -> Result<Provider> {
    provider_of(model, wish, |variable| models.base(variable)).map_err(|error| {
        let failure = Failure::usage(error.to_string());
        let failure = match error {
            NoProvider::LoginInBase { .. } => failure.next("leave name and password out of the address of the server"),
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
    /// A client for the network.
    pub fn new(provider: Provider, models: &Models, limits: Limits) -> Result<Self> {
        let key = models.key(provider.keys).cloned();
        if key.is_none() && provider.needs_key {
            let variable = provider.keys.first().copied().unwrap_or(provider::OTHER_KEY);
            return Err(Failure::usage(format!("{} needs a key, and {variable} is not set", provider.name))
                .next(format!("export {variable}=…"))
                .into());
        }
        let line = Line::new(&provider.base, models, limits)?;
        Ok(Self(Arc::new(Inner { provider, key, limits, source: Source::Network(line), recorder: None })))
    }

    /// The same client; every exchange is added to the file, without the key.
    pub fn recording(self, path: &Path) -> Result<Self> {
        let recorder = Recorder::open(path)?;
        // A client that has been cloned already keeps its own line.
        let inner = Arc::try_unwrap(self.0).map_err(|_| anyhow::anyhow!("a client in use cannot begin to record"))?;
        Ok(Self(Arc::new(Inner { recorder: Some(recorder), ..inner })))
    }

    /// A client that answers from the file, in order, and knows no network.
    pub fn replaying(provider: Provider, path: &Path, limits: Limits) -> Result<Self> {
        let source = Source::Cassette(Mutex::new(Tape::open(path)?));
        Ok(Self(Arc::new(Inner { provider, key: None, limits, source, recorder: None })))
    }

    pub fn provider(&self) -> &Provider {
        &self.0.provider
    }

    /// Whether it answers from a file, and asks nobody.
    pub fn is_replaying(&self) -> bool {
        matches!(self.0.source, Source::Cassette(_))
    }

    /// What the cassette says of the model that it was recorded with.
    fn recorded_ability(&self) -> Result<Option<Ability>> {
        match &self.0.source {
            Source::Network(_) => Ok(None),
            Source::Cassette(tape) => {
                let tape = tape.lock().map_err(|_| anyhow::anyhow!("a cassette was left in the middle"))?;
                Ok(tape.ability())
            }
        }
    }

    /// Notes in the cassette how the model is asked, so that a replay asks in the same way.
    fn record_ability(&self, ability: &Ability) -> Result<()> {
        self.0.recorder.as_ref().map_or(Ok(()), |recorder| recorder.begin(ability))
    }

    /// A document of the server; `None` where it has none.
    fn look_up(&self, url: &str, body: Option<&Value>, time: Duration) -> Option<String> {
        let inner = &self.0;
        let Source::Network(line) = &inner.source else { return None };
        let key = inner.key.as_ref().map(|key| inner.provider.dialect.wire.key_header(key.reveal()));
        line.document(url, body, key, time)
    }

    /// Whether the list of prices holds here: a server of one's own may call its models as it likes.
    pub fn has_listed_prices(&self) -> bool {
        let Provider { keys, needs_key, .. } = &self.0.provider;
        *needs_key && *keys != [provider::OTHER_KEY]
    }

    /// Asks, again if need be, until there is an answer or asking is no use. The model is the provider's, whatever
    /// `request` calls it. `live` hears what comes, as it comes.
    ///
    /// An error means that we could not find out, or that the user wants to stop ([`Interrupted`]).
    pub fn ask(
        &self,
        request: &Request,
        deadline: Instant,
        stop: &Stop,
        live: &mut dyn FnMut(&Delta),
    ) -> Result<Result<Reply, Fault>> {
        self.ask_recording(request, deadline, stop, live, self.0.recorder.as_ref())
    }

    /// Asks without a trace in the cassette.
    fn ask_unrecorded(&self, request: &Request, deadline: Instant, stop: &Stop) -> Result<Result<Reply, Fault>> {
        self.ask_recording(request, deadline, stop, &mut |_| {}, None)
    }

    fn ask_recording(
        &self,
        request: &Request,
        deadline: Instant,
        stop: &Stop,
        live: &mut dyn FnMut(&Delta),
        recorder: Option<&Recorder>,
    ) -> Result<Result<Reply, Fault>> {
        let inner = &self.0;
        let mut body = encode(request, &inner.provider.dialect);
        if let Some(model) = body.get_mut("model") {
            *model = Value::String(inner.provider.model.clone());
        }
        let body = serde_json::to_vec(&body)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let fault = match inner.once(&body, deadline, stop, live, recorder)? {
                Ok(reply) => return Ok(Ok(reply)),
                Err(fault) => inner.without_key(fault),
            };
            let Some(pause_ms) = inner.limits.patience.pause_ms(tries, &fault, dice()) else { return Ok(Err(fault)) };
            let pause = match inner.source {
                Source::Network(_) => Duration::from_millis(pause_ms),
                // What was waited for then has come.
                Source::Cassette(_) => Duration::ZERO,
            };
            if Instant::now() + pause >= deadline {
                return Ok(Err(fault));
            }
            live(&Delta::Again { fault, pause_ms });
            stop.sleep(pause)?;
        }
    }
}

impl Inner {
    /// One try.
    fn once(
        &self,
        body: &[u8],
        deadline: Instant,
        stop: &Stop,
        live: &mut dyn FnMut(&Delta),
        recorder: Option<&Recorder>,
    ) -> Result<Result<Reply, Fault>> {
        if stop.requested() {
            return Err(Interrupted.into());
        }
        let mut hearing = Hearing::new(self);
        let answer = match &self.source {
            Source::Network(line) => {
                let key = self.key.as_ref().map(|key| self.provider.dialect.wire.key_header(key.reveal()));
                line.exchange(&self.provider, key, body, deadline, stop, &mut |piece| hearing.take(piece, live))?
            }
            Source::Cassette(tape) => {
                let mut tape = tape.lock().map_err(|_| anyhow::anyhow!("a cassette was left in the middle"))?;
                let pieces = tape.next(self.provider.dialect.wire, body)?;
                pieces.into_iter().find_map(|piece| hearing.take(piece, live))
            }
        };
        let answer = answer.unwrap_or_else(|| Err(Fault::new(FaultKind::Network, "the connection ended")));
        if let Some(recorder) = recorder {
            let heard = hearing.heard;
            recorder.add(self.provider.dialect.wire, body, &heard, answer.as_ref().err(), self.key.as_ref())?;
        }
        Ok(answer)
    }

    fn without_key(&self, fault: Fault) -> Fault {
        match &self.key {
            Some(key) => Fault { message: key.out_of(&fault.message), ..fault },
            None => fault,
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Client").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// What the other side has said so far.
#[derive(Debug, Default)]
struct Heard {
    /// 0 before there is one.
    status: u16,
    headers: Vec<(String, String)>,
    /// Only kept where it is needed: for a cassette, or of an error.
    body: Vec<u8>,
}

impl Heard {
    /// What the body is said to be.
    fn kind(&self) -> &str {
        let kind = self.headers.iter().find(|(name, _)| name == "content-type");
        kind.map_or("", |(_, value)| value.as_str())
    }
}

/// An answer being heard.
struct Hearing<'a> {
    model: &'a str,
    bytes: usize,
    bytes_max: usize,
    keeps: bool,
    heard: Heard,
    parser: Parser,
    /// Taken when the answer is put together.
    decoder: Option<Decoder>,
}

impl<'a> Hearing<'a> {
    fn new(inner: &'a Inner) -> Self {
        let wire = inner.provider.dialect.wire;
        Self {
            model: &inner.provider.model,
            bytes: 0,
            bytes_max: inner.limits.reply_bytes_max,
            keeps: inner.recorder.is_some(),
            heard: Heard::default(),
            parser: Parser::default(),
            decoder: Some(Decoder::new(wire)),
        }
    }

    /// The answer, once it is whole or cannot become so.
    fn take(&mut self, piece: Piece, live: &mut dyn FnMut(&Delta)) -> Option<Result<Reply, Fault>> {
        match piece {
            Piece::Head { status, headers } => {
                self.heard = Heard { status, headers, body: Vec::new() };
                None
            }
            Piece::Bytes(bytes) => self.bytes(&bytes, live).map(Err).or_else(|| self.end_if_done()),
            Piece::End => Some(self.end(live)),
            // An error that was cut short is still the error it is.
            Piece::Failed(fault) => Some(Err(self.refusal().unwrap_or(fault))),
        }
    }

    fn bytes(&mut self, bytes: &[u8], live: &mut dyn FnMut(&Delta)) -> Option<Fault> {
        self.bytes += bytes.len();
        if self.bytes > self.bytes_max {
            let message = format!("the answer has more than {} bytes", self.bytes_max);
            return Some(Fault::new(FaultKind::TooLarge, message));
        }
        let is_plain = !self.is_stream();
        if is_plain && self.bytes > EVENT_BYTES_MAX {
            return Some(Fault::new(FaultKind::TooLarge, format!("the answer has more than {EVENT_BYTES_MAX} bytes")));
        }
        if self.keeps || is_plain {
            self.heard.body.extend_from_slice(bytes);
        }
        if !self.is_good() {
            return if self.heard.body.len() > ERROR_BYTES_MAX { self.refusal() } else { None };
        }
        if is_plain {
            return None;
        }
        match self.parser.push(bytes) {
            Ok(events) => events.iter().find_map(|event| self.event(&event.name, &event.data, live)),
            Err(fault) => Some(fault),
        }
    }

    fn event(&mut self, name: &str, data: &str, live: &mut dyn FnMut(&Delta)) -> Option<Fault> {
        match self.decoder.as_mut()?.event(name, data) {
            Ok(deltas) => {
                deltas.iter().for_each(live);
                None
            }
            Err(fault) => Some(fault),
        }
    }

    fn end_if_done(&mut self) -> Option<Result<Reply, Fault>> {
        let is_done = self.decoder.as_ref().is_some_and(Decoder::is_done);
        is_done.then(|| self.decoder.take()).flatten().map(Decoder::finish)
    }

    fn end(&mut self, live: &mut dyn FnMut(&Delta)) -> Result<Reply, Fault> {
        if let Some(fault) = self.refusal() {
            return Err(fault);
        }
        let kind = self.heard.kind();
        let last = if self.is_stream() {
            std::mem::take(&mut self.parser).finish().map(|event| (event.name, event.data))
        } else if kind.starts_with("application/json") {
            // Asked for a stream, some servers send the whole at once.
            Some((String::new(), String::from_utf8_lossy(&self.heard.body).into_owned()))
        } else {
            let message = format!("the server answers with {kind}, not with a model's words: is the address right?");
            return Err(Fault::new(FaultKind::BadRequest, message));
        };
        if let Some(fault) = last.and_then(|(name, data)| self.event(&name, &data, live)) {
            return Err(fault);
        }
        let decoder = self.decoder.take();
        decoder.map_or_else(|| Err(broken_off()), Decoder::finish)
    }

    fn is_good(&self) -> bool {
        self.heard.status == 200
    }

    fn is_stream(&self) -> bool {
        // Not every server says what it streams.
        let is_other = ["application/json", "text/html"].iter().any(|kind| self.heard.kind().starts_with(kind));
        self.is_good() && !is_other
    }

    /// What a status other than 200 means.
    fn refusal(&self) -> Option<Fault> {
        let Heard { status, headers, body } = &self.heard;
        let is_refused = *status != 0 && !self.is_good();
        is_refused.then(|| status_fault(*status, headers, &String::from_utf8_lossy(body), self.model))
    }
}

/// Chance enough for a pause.
fn dice() -> u8 {
    RandomState::new().build_hasher().finish().to_le_bytes().first().copied().unwrap_or(0)
}
