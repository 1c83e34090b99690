//! One connection through the proxy: read the request, check the allow-list, connect, forward
//! bytes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use redgreen_core::egress::{
    Admission, HEAD_BYTES_MAX, Request, RequestError, Target, is_public, parse,
};

use super::Rules;
use super::log::{Log, Outcome};
use super::stream::{ByteCounts, Stream, relay};
use crate::config::Secret;

/// The time limit for a request, and for the answer of the user's proxy.
const HEAD_TIME: Duration = Duration::from_secs(20);
/// The poll interval while waiting for a request.
const HEAD_POLL: Duration = Duration::from_millis(200);
const CONNECT_TIME: Duration = Duration::from_secs(15);
/// The number of addresses tried per name.
const ADDRESSES_MAX: usize = 8;
const BUFFER_BYTES: usize = 4 << 10;

const NOT_ALLOWED: &str = "it is not on the allow-list";
const NOT_PUBLIC: &str = "it resolves to a private address, so allow it with its port";

#[derive(Clone)]
pub(super) struct ProxyState {
    pub(super) rules: Arc<Rules>,
    pub(super) log: Arc<Log>,
    pub(super) stopped: Arc<AtomicBool>,
    pub(super) busy: Arc<AtomicUsize>,
}

/// Why a target cannot be reached.
enum ConnectError {
    Refused(&'static str),
    Failed(String),
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Serves a connection on its own thread.
pub(super) fn serve(client: Stream, shared: &ProxyState) {
    let own = shared.clone();
    own.busy.fetch_add(1, Ordering::Relaxed);
    let run = move || {
        // Ignore errors: the client is gone.
        handle(client, &own).ok();
        own.busy.fetch_sub(1, Ordering::Relaxed);
    };
    if thread::Builder::new().name("proxy".to_owned()).spawn(run).is_err() {
        shared.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

fn handle(mut client: Stream, shared: &ProxyState) -> io::Result<()> {
    client.set_timeouts(HEAD_POLL)?;
    let (request, rest) = match read_request(&mut client, shared)? {
        Ok(request) => request,
        Err(RequestError(why)) => {
            return answer(&mut client, "400 Bad Request", &format!("redgreen's proxy: {why}"));
        }
    };
    let (Request::Tunnel { target } | Request::Plain { target, .. }) = &request;
    let mut server = match connect(target, &shared.rules) {
        Ok(server) => server,
        Err(ConnectError::Refused(why)) => {
            shared.log.add(target, &Outcome::Refused(why));
            let words =
                format!("redgreen refused the connection to {target}: {why}. {}", setting(target));
            return answer(&mut client, "403 Forbidden", &words);
        }
        Err(ConnectError::Failed(why)) => {
            let words = format!("redgreen could not connect to {target}: {why}");
            shared.log.add(target, &Outcome::Failed(why));
            return answer(&mut client, "502 Bad Gateway", &words);
        }
    };
    let begun = match &request {
        Request::Tunnel { .. } => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n"),
        Request::Plain { head, .. } => server.write_all(head),
    };
    let passed = begun
        .and_then(|()| server.write_all(&rest))
        .and_then(|()| relay(client, server, &shared.stopped));
    let already = match &request {
        Request::Tunnel { .. } => rest.len(),
        Request::Plain { head, .. } => head.len() + rest.len(),
    };
    let passed = passed.map(|passed| ByteCounts {
        sent: passed.sent + u64::try_from(already).unwrap_or(0),
        ..passed
    });
    let outcome = passed.map_or_else(|error| Outcome::Failed(error.to_string()), Outcome::Passed);
    shared.log.add(target, &outcome);
    Ok(())
}

/// The hint how to allow a host.
pub(crate) fn setting(target: &Target) -> String {
    format!("To allow it, add \"{target}\" to agent.allow-hosts.")
}

/// The request, and the bytes after its head.
fn read_request(
    client: &mut Stream,
    shared: &ProxyState,
) -> io::Result<Result<(Request, Vec<u8>), RequestError>> {
    let deadline = Instant::now() + HEAD_TIME;
    let mut bytes = Vec::new();
    loop {
        match parse(&bytes) {
            Ok(Some((request, length))) => return Ok(Ok((request, bytes.split_off(length)))),
            Ok(None) => {}
            Err(malformed) => return Ok(Err(malformed)),
        }
        if Instant::now() > deadline || shared.stopped.load(Ordering::Relaxed) {
            return Err(ErrorKind::TimedOut.into());
        }
        read_some(client, &mut bytes)?;
    }
}

/// Appends available bytes; none if nothing arrives for a moment.
fn read_some(from: &mut Stream, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; BUFFER_BYTES];
    match from.read(&mut buffer) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(count) => {
            bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
            Ok(())
        }
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn answer(client: &mut Stream, status: &str, words: &str) -> io::Result<()> {
    let length = words.len() + 1;
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n");
    client.write_all(format!("{head}Connection: close\r\n\r\n{words}\n").as_bytes())
}

fn connect(target: &Target, rules: &Rules) -> Result<Stream, ConnectError> {
    let is_configured = match rules.allowed.admits(target) {
        Admission::Refused => return Err(ConnectError::Refused(NOT_ALLOWED)),
        Admission::Configured => true,
        Admission::Named => false,
    };
    if let Ok(address) = target.host.parse::<IpAddr>()
        && !is_configured
        && !is_public(address)
    {
        return Err(ConnectError::Refused(NOT_PUBLIC));
    }
    if let Some(upstream) = rules.upstream.proxy(&format!("https://{target}")) {
        return through(upstream, target);
    }
    let addresses = (target.host.as_str(), target.port).to_socket_addrs()?;
    let addresses: Vec<SocketAddr> = addresses.take(ADDRESSES_MAX).collect();
    // One private address is enough to refuse: a name with both kinds is a rebinding attack.
    if !is_configured && !addresses.iter().all(|address| is_public(address.ip())) {
        return Err(ConnectError::Refused(NOT_PUBLIC));
    }
    Ok(Stream::Tcp(first(&addresses)?))
}

fn first(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in addresses {
        match TcpStream::connect_timeout(address, CONNECT_TIME) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A tunnel through the user's own proxy, which resolves the name. Ours has checked it.
fn through(upstream: &Secret, target: &Target) -> Result<Stream, ConnectError> {
    let proxy = upstream.reveal();
    let (scheme, rest) = proxy.split_once("://").unwrap_or(("http", proxy));
    if scheme != "http" {
        return Err(ConnectError::Failed(format!(
            "your own proxy is {scheme}://…, and only http:// is supported here"
        )));
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let (login, host) =
        authority.rsplit_once('@').map_or((None, authority), |(login, host)| (Some(login), host));
    let Some(place) = Target::parse(host, Some(80)) else {
        return Err(ConnectError::Failed("your own proxy has no usable address".to_owned()));
    };
    let addresses: Vec<SocketAddr> =
        (place.host.as_str(), place.port).to_socket_addrs()?.take(ADDRESSES_MAX).collect();
    let mut server = Stream::Tcp(first(&addresses)?);
    server.set_timeouts(HEAD_POLL)?;
    let login =
        login.map(|login| format!("Proxy-Authorization: Basic {}\r\n", base64(&decoded(login))));
    let head =
        format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{}\r\n", login.unwrap_or_default());
    server.write_all(head.as_bytes())?;
    let line = tunnel_answer(&mut server)?;
    match line.split(' ').nth(1) {
        Some("200") => Ok(server),
        _ => Err(ConnectError::Failed(format!("your own proxy answered {line:?}"))),
    }
}

/// The first line of a proxy's answer to CONNECT. Read byte by byte, because the following bytes
/// belong to the tunnel.
pub(crate) fn tunnel_answer(server: &mut Stream) -> io::Result<String> {
    let deadline = Instant::now() + HEAD_TIME;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX || Instant::now() > deadline {
            return Err(ErrorKind::TimedOut.into());
        }
        match server.read(&mut byte) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => head.extend(byte),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned())
}

/// Decodes a login in a URL: `%40` is `@`.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = (first == b'%').then(|| after.get(..2)).flatten();
        let hex = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(hex.unwrap_or(first));
        rest = if hex.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    bytes
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| u32::from(chunk.get(at).copied().unwrap_or(0)));
        let number = a << 16 | b << 8 | c;
        for (at, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = LETTERS
                .get(usize::try_from(number >> shift & 63).unwrap_or(0))
                .copied()
                .unwrap_or(b'A');
            text.push(if at > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_the_login_of_the_users_proxy() {
        for (login, expected) in [
            ("user:pass", "dXNlcjpwYXNz"),
            ("u:p%40ss", "dTpwQHNz"),
            ("a:", "YTo="),
            ("a", "YQ=="),
            ("%zz", "JXp6"),
        ] {
            assert_eq!(base64(&decoded(login)), expected, "{login}");
        }
    }
}
