//! The only way out of an agent's sandbox: a proxy of our own, on threads, that lets connections through by the names
//! of an allow-list and writes down every one of them.
//!
//! Names are resolved here, once, and the address that was checked is the one that is connected to.

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
pub(crate) use connection::{setting, tunnel_answer};
use log::{Log, Refusal};
use stream::Stream;

/// Connections at a time; each has two threads.
const CONNECTIONS_MAX: usize = 128;
/// How often the listener looks whether it is to end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// How long connections may take to notice that it is over.
const END_GRACE: Duration = Duration::from_secs(2);
/// A longer path cannot be the name of a socket.
const SOCKET_PATH_BYTES_MAX: usize = 100;
const SOCKET: &str = "proxy";

/// Who may be reached, and how.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub allowed: AllowList,
    /// The user's own proxy, if one leads out of here.
    pub upstream: Models,
}

/// Where the proxy is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// At a socket in the file system, which can be shown to somebody without a network.
    Socket,
    /// At a port of this machine.
    Port,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Socket(PathBuf),
    Port(u16),
}

/// A proxy at work. It ends when it is dropped.
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
    /// Starts listening; every connection is written to the file `log`.
    pub fn start(listen: Listen, rules: Rules, log: &Path) -> Result<Self> {
        let log = Arc::new(Log::open(log)?);
        let (listener, address, folder) = match listen {
            Listen::Socket => {
                let folder = socket_folder().context("create a folder for the proxy's socket")?;
                let path = folder.path().join(SOCKET);
                let listener = UnixListener::bind(&path).with_context(|| format!("listen on {}", path.display()))?;
                listener.set_nonblocking(true).context("prepare the proxy's socket")?;
                (Listener::Socket(listener), Address::Socket(path), Some(folder))
            }
            Listen::Port => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listen on 127.0.0.1")?;
                listener.set_nonblocking(true).context("prepare the proxy's port")?;
                let port = listener.local_addr().context("find the proxy's port")?.port();
                (Listener::Port(listener), Address::Port(port), None)
            }
        };
        let (stopped, busy) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let shared = connection::Shared {
            rules: Arc::new(rules),
            log: Arc::clone(&log),
            stopped: Arc::clone(&stopped),
            busy: Arc::clone(&busy),
        };
        let accepting = move || accept(&listener, &shared);
        let thread = thread::Builder::new().name("proxy".to_owned()).spawn(accepting).context("start the proxy")?;
        Ok(Self { address, log, stopped, busy, listener: Some(thread), _folder: folder })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What was refused since this was asked last.
    pub fn refusals(&self) -> Vec<Refusal> {
        self.log.refusals()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(listener) = self.listener.take() {
            // One that panicked does not listen any more.
            listener.join().ok();
        }
        let mut waited = Duration::ZERO;
        while self.busy.load(Ordering::Relaxed) > 0 && waited < END_GRACE {
            thread::sleep(ACCEPT_PAUSE);
            waited += ACCEPT_PAUSE;
        }
    }
}

/// Nobody else can enter it, and its path is short enough.
fn socket_folder() -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("redgreen-").tempdir()?;
    if folder.path().join(SOCKET).as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return Ok(folder);
    }
    tempfile::Builder::new().prefix("redgreen-").tempdir_in("/tmp")
}

fn accept(listener: &Listener, shared: &connection::Shared) {
    while !shared.stopped.load(Ordering::Relaxed) {
        let accepted = match listener {
            Listener::Socket(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Listener::Port(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
        };
        match accepted {
            Ok(client) if shared.busy.load(Ordering::Relaxed) < CONNECTIONS_MAX => connection::serve(client, shared),
            // Dropped, it is closed: whoever asked may ask again.
            Ok(_) => {}
            Err(_) => thread::sleep(ACCEPT_PAUSE),
        }
    }
}
