//! One HTTP exchange. A separate thread reads, because a blocking read can handle neither Ctrl-C
//! nor a deadline. Leaving early closes the connection, which also ends the thread.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::model::provider::Provider;
use redgreen_core::model::{ModelError, ModelErrorKind, Reply};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::{Limits, Piece};
use crate::config::Models;
use crate::failure::Failure;
use crate::process::{Interrupted, Stop};

/// The interval of checking for a stop request.
const POLL: Duration = Duration::from_millis(50);
/// The read-ahead buffer: this many pieces of this many bytes.
const PIECES_MAX: usize = 8;
const PIECE_BYTES: usize = 16 << 10;
/// How much longer than the deadline the reader lives if nobody closed its connection.
const GRACE: Duration = Duration::from_secs(5);
/// The limit of a document about a server.
const DOCUMENT_BYTES_MAX: u64 = 4 << 20;
const HEADER_BYTES_MAX: usize = 64 << 10;
const CERTIFICATES_BYTES_MAX: u64 = 8 << 20;

/// A request as it is sent.
pub(super) struct Post {
    pub(super) url: String,
    pub(super) body: Vec<u8>,
}

/// The network settings, and connections to reuse.
pub(super) struct Line {
    proxy: Option<ureq::Proxy>,
    tls: TlsConfig,
    limits: Limits,
    spare: Mutex<Vec<ureq::Agent>>,
}

impl Line {
    pub(super) fn new(base: &str, models: &Models, limits: Limits) -> Result<Self> {
        let proxy =
            models.proxy(base).map(|proxy| ureq::Proxy::new(proxy.reveal())).transpose().map_err(
                |_| {
                    // The URL may contain a password, so do not show it.
                    Failure::usage("the URL of the proxy is invalid").next("correct HTTPS_PROXY")
                },
            )?;
        let tls = match models.certificates.as_deref().filter(|_| base.starts_with("https://")) {
            Some(path) => {
                TlsConfig::builder().root_certs(RootCerts::from(certificates(path)?)).build()
            }
            None => TlsConfig::default(),
        };
        Ok(Self { proxy, tls, limits, spare: Mutex::default() })
    }

    /// Sends a request and passes each piece of the response to `hear`, until it returns a result.
    pub(super) fn exchange(
        &self,
        provider: &Provider,
        key: Option<(&'static str, String)>,
        post: &Post,
        deadline: Instant,
        stop: &Stop,
        hear: &mut dyn FnMut(Piece) -> Option<Result<Reply, ModelError>>,
    ) -> Result<Option<Result<Reply, ModelError>>> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Some(Err(timed_out("the time limit is reached"))));
        }
        let agent = self
            .spare
            .lock()
            .ok()
            .and_then(|mut spare| spare.pop())
            .unwrap_or_else(|| self.agent());
        let wire = provider.dialect.wire;
        let mut request = agent
            .post(&post.url)
            .config()
            .timeout_global(Some(left + GRACE))
            .build()
            .header("content-type", "application/json")
            .header("accept", "text/event-stream");
        for (name, value) in wire.headers() {
            request = request.header(*name, *value);
        }
        if let Some((name, value)) = key {
            request = request.header(name, value);
        }
        let (sender, receiver) = sync_channel(PIECES_MAX);
        let (body, base) = (post.body.clone(), provider.base.clone());
        let reader = thread::Builder::new().name("model".to_owned());
        reader
            .spawn(move || read(request, &body, &base, &sender))
            .context("start a thread to read an answer")?;
        let answer = self.wait(&receiver, deadline, stop, hear);
        // A connection can only be reused after a complete response.
        let is_heard = matches!(answer, Ok(Some(Ok(_))))
            && matches!(
                receiver.recv_timeout(POLL),
                Err(RecvTimeoutError::Disconnected) | Ok(Piece::End)
            );
        match self.spare.lock() {
            Ok(mut spare) if is_heard => spare.push(agent),
            _ => agent.shutdown(),
        }
        answer
    }

    /// A whole document, by GET or, with a body, by POST; `None` unless the server has it.
    pub(super) fn document(
        &self,
        url: &str,
        body: Option<&serde_json::Value>,
        key: Option<(&'static str, String)>,
        time: Duration,
    ) -> Option<String> {
        let agent = self.agent();
        let answer = match body {
            Some(body) => {
                let mut request = agent.post(url).config().timeout_global(Some(time)).build();
                request = request.header("content-type", "application/json");
                if let Some((name, value)) = key {
                    request = request.header(name, value);
                }
                request.send(body.to_string())
            }
            None => {
                let mut request = agent.get(url).config().timeout_global(Some(time)).build();
                if let Some((name, value)) = key {
                    request = request.header(name, value);
                }
                request.call()
            }
        };
        let answer = answer.ok().filter(|answer| answer.status().is_success())?;
        let mut text = String::new();
        answer.into_body().into_reader().take(DOCUMENT_BYTES_MAX).read_to_string(&mut text).ok()?;
        Some(text)
    }

    fn wait(
        &self,
        pieces: &Receiver<Piece>,
        deadline: Instant,
        stop: &Stop,
        hear: &mut dyn FnMut(Piece) -> Option<Result<Reply, ModelError>>,
    ) -> Result<Option<Result<Reply, ModelError>>> {
        let mut heard = Instant::now();
        loop {
            if stop.requested() {
                return Err(Interrupted.into());
            }
            let now = Instant::now();
            if now >= deadline {
                return Ok(Some(Err(timed_out("the time limit is reached"))));
            }
            let idle = self.limits.idle.saturating_sub(now.duration_since(heard));
            if idle.is_zero() {
                let seconds = self.limits.idle.as_secs_f64();
                return Ok(Some(Err(timed_out(&format!("no data for {seconds} s")))));
            }
            match pieces.recv_timeout(POLL.min(idle).min(deadline - now)) {
                Ok(piece) => {
                    heard = Instant::now();
                    if let Some(answer) = hear(piece) {
                        return Ok(Some(answer));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    fn agent(&self) -> ureq::Agent {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // Model servers do not move, and a redirect would send the key elsewhere.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(self.proxy.clone())
            .tls_config(self.tls.clone())
            .user_agent(concat!("redgreen/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(self.limits.connect))
            .timeout_connect(Some(self.limits.connect))
            .timeout_per_read(Some(self.limits.idle + GRACE))
            .timeout_per_write(Some(self.limits.idle + GRACE))
            .max_response_header_size(HEADER_BYTES_MAX)
            .max_idle_connections(1)
            .input_buffer_size(PIECE_BYTES)
            .output_buffer_size(PIECE_BYTES)
            .build();
        config.into()
    }
}

/// The reader thread. Ends with the response, or when the receiver is gone.
fn read(
    request: ureq::RequestBuilder<ureq::typestate::WithBody>,
    body: &[u8],
    base: &str,
    out: &SyncSender<Piece>,
) {
    let failed = |error: &ureq::Error| {
        let kind = match error {
            ureq::Error::Timeout(_) => ModelErrorKind::Timeout,
            ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::InvalidProxyUrl => {
                ModelErrorKind::BadRequest
            }
            // An untrusted certificate is a permanent error.
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) => ModelErrorKind::BadRequest,
            ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
                ModelErrorKind::BadRequest
            }
            _ => ModelErrorKind::Network,
        };
        Piece::Failed(ModelError::new(kind, format!("{base}: {error}")))
    };
    let response = match request.send(body) {
        Ok(response) => response,
        Err(error) => {
            out.send(failed(&error)).ok();
            return;
        }
    };
    let status = response.status().as_u16();
    let headers = response.headers().iter().map(|(name, value)| {
        (name.as_str().to_ascii_lowercase(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let mut alive = out.send(Piece::Head { status, headers: headers.collect() }).is_ok();
    let mut reader = response.into_body().into_with_config().limit(u64::MAX).reader();
    let mut buffer = vec![0; PIECE_BYTES];
    while alive {
        alive = match reader.read(&mut buffer) {
            Ok(0) => {
                out.send(Piece::End).ok();
                false
            }
            Ok(length) => {
                out.send(Piece::Bytes(buffer.get(..length).unwrap_or_default().to_vec())).is_ok()
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => true,
            Err(error) => {
                out.send(failed(&ureq::Error::from(error))).ok();
                false
            }
        };
    }
}

/// Reads the certificates of a PEM file.
fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>> {
    let unusable = |why: &str| {
        Failure::usage(format!("SSL_CERT_FILE cannot be used: {}", path.display()))
            .evidence(why.to_owned())
    };
    let file = File::open(path).map_err(|error| unusable(&error.to_string()))?;
    let mut text = Vec::new();
    file.take(CERTIFICATES_BYTES_MAX)
        .read_to_end(&mut text)
        .map_err(|error| unusable(&error.to_string()))?;
    let found: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() { Err(unusable("it contains no certificate").into()) } else { Ok(found) }
}

fn timed_out(words: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Timeout, words)
}
