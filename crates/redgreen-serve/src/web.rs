//! A web server for one person on this machine. `guard` decides which requests are allowed; a
//! `Site` answers them.

pub mod guard;

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use futures_core::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use guard::{Guard, Refusal, RequestHead};

/// Larger than any of our forms.
const FORM_BYTES_MAX: usize = 64 << 10;
/// A browser opens six connections, and a few windows may show the same run.
const CONNECTIONS_MAX: usize = 64;
/// The maximum number of concurrent answers. Each may read a large patch.
const ANSWERS_MAX: usize = 4;
const FOLLOWERS_MAX: usize = 32;
/// How often a live page is checked for changes.
const LOOK: Duration = Duration::from_millis(250);
/// How long pending answers may take when the server stops.
const FAREWELL: Duration = Duration::from_secs(2);
/// The path of the change events of a page.
const FOLLOW: &str = "/follow";

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Headers of every response. The referrer policy makes browsers send the origin of a form.
const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// An allowed request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The request performs an action.
    pub acts: bool,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub form: Vec<(String, String)>,
}

impl Request {
    /// The path of a page, possibly with a query.
    pub fn to(address: &str) -> Self {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        Self { path: path.to_owned(), query: pairs(query.as_bytes()), ..Self::default() }
    }

    pub fn query(&self, name: &str) -> Option<&str> {
        value(&self.query, name)
    }

    pub fn form(&self, name: &str) -> Option<&str> {
        value(&self.form, name)
    }
}

fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The response.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    /// The media type.
    pub kind: &'static str,
    pub body: String,
    /// The target of a redirect.
    pub location: Option<String>,
}

impl Reply {
    pub fn page(body: String) -> Self {
        Self { status: 200, kind: "text/html; charset=utf-8", body, location: None }
    }

    pub fn file(kind: &'static str, body: &str) -> Self {
        Self { status: 200, kind, body: body.to_owned(), location: None }
    }

    /// After an action.
    pub fn see(location: String) -> Self {
        Self {
            status: 303,
            kind: "text/plain; charset=utf-8",
            body: String::new(),
            location: Some(location),
        }
    }

    #[must_use]
    pub fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }
}

/// The position up to which a client has read the live text of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Changes with every new text; 0 means no text.
    pub text: u64,
    pub read: u64,
}

/// The site to serve. All functions may block.
pub trait Site: Send + Sync + 'static {
    fn answer(&self, request: &Request) -> Reply;
    /// Explains to a person why a request was refused.
    fn refused(&self, why: Refusal) -> Reply;
    /// Changes whenever the page at `path` changes.
    fn stamp(&self, path: &str) -> String;
    /// The live text of the page at `path` after this position, and the new position.
    fn live(&self, path: &str, from: Place) -> (String, Place);
    fn is_over(&self) -> bool;
}

/// Serves until the site ends.
pub fn serve(listener: TcpListener, guard: Guard, site: impl Site) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(ANSWERS_MAX + 1)
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        let listener =
            tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
        let site = Arc::new(site);
        let server = Server {
            site: Arc::clone(&site),
            guard,
            followers: Arc::new(Semaphore::new(FOLLOWERS_MAX)),
        };
        let router = Router::new().fallback(answer).with_state(Arc::new(server));
        let limited =
            LimitedListener { listener, places: Arc::new(Semaphore::new(CONNECTIONS_MAX)) };
        let serving = axum::serve(limited, router).with_graceful_shutdown(end(Arc::clone(&site)));
        tokio::select! {
            served = serving => served.map_err(|error| error.to_string()),
            () = async { end(site).await; tokio::time::sleep(FAREWELL).await } => Ok(()),
        }
    })
}

struct Server<S> {
    site: Arc<S>,
    guard: Guard,
    followers: Arc<Semaphore>,
}

async fn end(site: Arc<impl Site>) {
    while !site.is_over() {
        tokio::time::sleep(LOOK).await;
    }
}

async fn answer<S: Site>(State(server): State<Arc<Server<S>>>, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    let acts = parts.method == Method::POST;
    if !acts && parts.method != Method::GET {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let query = pairs(parts.uri.query().unwrap_or_default().as_bytes());
    let path = parts.uri.path().to_owned();
    let word = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let asked = RequestHead {
        acts,
        host: word("host"),
        origin: word("origin"),
        site: word("sec-fetch-site"),
        mode: word("sec-fetch-mode"),
        cookies: word("cookie").unwrap_or_default(),
        token: value(&query, guard::TOKEN),
    };
    match server.guard.admit(&asked) {
        Ok(guard::Admission::Known) => {}
        Ok(guard::Admission::WithToken(cookie)) => {
            let mut response = respond(Reply::see(path));
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            return response;
        }
        Err(why) => return respond(server.site.refused(why)),
    }
    if let Some(page) = path.strip_prefix(FOLLOW).filter(|_| !acts) {
        return follow(&server, page.to_owned());
    }
    let Ok(bytes) = to_bytes(body, FORM_BYTES_MAX).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let request = Request { acts, path, query, form: pairs(&bytes) };
    let site = Arc::clone(&server.site);
    match tokio::task::spawn_blocking(move || site.answer(&request)).await {
        Ok(reply) => respond(reply),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn pairs(bytes: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(bytes).into_owned().collect()
}

fn respond(reply: Reply) -> Response {
    let mut headers = HeaderMap::new();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.kind));
    if let Some(location) =
        reply.location.and_then(|location| HeaderValue::from_str(&location).ok())
    {
        headers.insert(header::LOCATION, location);
    }
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, headers, Body::from(reply.body)).into_response()
}

/// Sends each change of a page until the client disconnects.
fn follow<S: Site>(server: &Server<S>, page: String) -> Response {
    let Ok(place) = Arc::clone(&server.followers).try_acquire_owned() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let (tell, changes) = mpsc::channel(1);
    let site = Arc::clone(&server.site);
    tokio::spawn(async move {
        let _place = place;
        let mut known = None;
        let mut place = None;
        while !tell.is_closed() && !site.is_over() {
            let (asked, page) = (Arc::clone(&site), page.clone());
            let from = place.unwrap_or_default();
            let look = move || (asked.stamp(&page), asked.live(&page, from));
            let Ok((stamp, (text, until))) = tokio::task::spawn_blocking(look).await else {
                return;
            };
            if place != Some(until) {
                let is_new = place.is_none_or(|place| place.text != until.text);
                place = Some(until);
                if tell.send(words(is_new, &text)).await.is_err() {
                    return;
                }
            }
            if known.as_ref() != Some(&stamp) {
                let event = Event::default().event("stamp").data(stamp.replace(['\n', '\r'], " "));
                known = Some(stamp);
                if tell.send(event).await.is_err() {
                    return;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    });
    let stream = Sse::new(Changes(changes)).keep_alive(KeepAlive::default());
    let mut response = stream.into_response();
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// A piece of live text: the start of a new text, or more of the current one.
fn words(is_new: bool, text: &str) -> Event {
    let kind = if is_new { "text" } else { "more" };
    Event::default().event(kind).data(serde_json::Value::from(text).to_string())
}

struct Changes(mpsc::Receiver<Event>);

impl Stream for Changes {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// A limited number of connections; more wait until one ends.
struct LimitedListener {
    listener: tokio::net::TcpListener,
    places: Arc<Semaphore>,
}

/// A connection and its permit.
struct HeldConnection {
    stream: TcpStream,
    _place: Option<OwnedSemaphorePermit>,
}

impl Listener for LimitedListener {
    type Io = HeldConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (HeldConnection, SocketAddr) {
        // The semaphore is never closed, so a permit always becomes available.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (HeldConnection { stream, _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for HeldConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for HeldConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
