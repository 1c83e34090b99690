//! The only way out of an agent's sandbox: our own proxy, with threads, which allows connections by
//! host name and logs every one of them.
//!
//! Names are resolved once, here, and the checked address is the one that is connected to.

mod connection;
pub mod log;
pub mod stream;

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::egress::AllowList;

use crate::config::Models;
pub(crate) use connection::setting;
#[cfg(target_os = "linux")]
pub(crate) use connection::tunnel_answer;
use log::{Log, Refusal};
use stream::Stream;

/// The maximum number of concurrent connections. Each has two threads.
const CONNECTIONS_MAX: usize = 128;
/// The interval of checking whether to stop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// How long connections may take to end.
const END_GRACE: Duration = Duration::from_secs(2);
/// The maximum length of a socket path.
const SOCKET_PATH_BYTES_MAX: usize = 100;
const SOCKET: &str = "proxy";

/// The allowed hosts and the way to them.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub allowed: AllowList,
    /// The user's own proxy, if there is one.
    pub upstream: Models,
}

/// Where the proxy listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// On a Unix socket, which can be mounted into a sandbox without a network.
    Socket,
    /// On a local port.
    Port,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Socket(PathBuf),
    Port(u16),
}

/// A running proxy. It ends when dropped.
#[derive(Debug)]
pub struct Proxy {
    address: Address,
    log: Arc<Log>,
    stopped: Arc<AtomicBool>,
    busy: Arc<AtomicUsize>,
    listener: Option<JoinHandle<()>>,
    _folder: Option<tempfile::TempDir>,
}

enum Listener {
    Socket(UnixListener),
    Port(TcpListener),
}

impl Proxy {
    /// Starts listening. Every connection is written to the file `log`.
    pub fn start(listen: Listen, rules: Rules, log: &Path) -> Result<Self> {
        let log = Arc::new(Log::open(log)?);
        let (listener, address, folder) = match listen {
            Listen::Socket => {
                let folder = socket_folder().context("create a folder for the proxy's socket")?;
                let path = folder.path().join(SOCKET);
                let listener = UnixListener::bind(&path)
                    .with_context(|| format!("listen on {}", path.display()))?;
                listener.set_nonblocking(true).context("prepare the proxy's socket")?;
                (Listener::Socket(listener), Address::Socket(path), Some(folder))
            }
            Listen::Port => {
                let listener =
                    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listen on 127.0.0.1")?;
                listener.set_nonblocking(true).context("prepare the proxy's port")?;
                let port = listener.local_addr().context("find the proxy's port")?.port();
                (Listener::Port(listener), Address::Port(port), None)
            }
        };
        let (stopped, busy) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let shared = connection::ProxyState {
            rules: Arc::new(rules),
            log: Arc::clone(&log),
            stopped: Arc::clone(&stopped),
            busy: Arc::clone(&busy),
        };
        let accepting = move || accept(&listener, &shared);
        let thread = thread::Builder::new()
            .name("proxy".to_owned())
            .spawn(accepting)
            .context("start the proxy")?;
        Ok(Self { address, log, stopped, busy, listener: Some(thread), _folder: folder })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The refusals since the last call.
    pub fn refusals(&self) -> Vec<Refusal> {
        self.log.refusals()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(listener) = self.listener.take() {
            // A thread that panicked no longer listens.
            listener.join().ok();
        }
        let mut waited = Duration::ZERO;
        while self.busy.load(Ordering::Relaxed) > 0 && waited < END_GRACE {
            thread::sleep(ACCEPT_PAUSE);
            waited += ACCEPT_PAUSE;
        }
    }
}

/// A private folder with a path that is short enough.
fn socket_folder() -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("redgreen-").tempdir()?;
    if folder.path().join(SOCKET).as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return Ok(folder);
    }
    tempfile::Builder::new().prefix("redgreen-").tempdir_in("/tmp")
}

fn accept(listener: &Listener, shared: &connection::ProxyState) {
    while !shared.stopped.load(Ordering::Relaxed) {
        let accepted = match listener {
            Listener::Socket(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Listener::Port(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
        };
        match accepted {
            Ok(client) if shared.busy.load(Ordering::Relaxed) < CONNECTIONS_MAX => {
                connection::serve(client, shared);
            }
            // Dropping the connection closes it. The client can retry.
            Ok(_) => {}
            Err(_) => thread::sleep(ACCEPT_PAUSE),
        }
    }
}
