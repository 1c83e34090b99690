//! Inside a private network: forwards loopback ports of the program to our proxy, which listens on
//! a Unix socket.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use redgreen_core::egress::Target;

use crate::egress::stream::{Stream, relay};
use crate::egress::{Address, tunnel_answer};
use crate::sandbox::{OUTLET_PORT as PORT, Outlet};

/// The maximum number of concurrent connections.
const CONNECTIONS_MAX: usize = 128;
/// The pause after a failed `accept`: the process may have run out of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);
/// The poll interval while the proxy connects.
const POLL: Duration = Duration::from_millis(200);

/// Listens before the program starts, until this process ends.
pub(super) fn start(outlet: Option<&Outlet>) -> Result<()> {
    let Some(Outlet { proxy: Address::Socket(socket), tunnels }) = outlet else { return Ok(()) };
    let busy = Arc::new(AtomicUsize::new(0));
    listen(PORT, None, socket, &busy)?;
    let mut ports = vec![PORT];
    for target in tunnels {
        ensure!(target.port != PORT, "{target}: this port is reserved for the proxy");
        // `localhost` and `127.0.0.1` are the same target.
        if !ports.contains(&target.port) {
            ports.push(target.port);
            listen(target.port, Some(target), socket, &busy)?;
        }
    }
    Ok(())
}

fn listen(
    port: u16,
    target: Option<&Target>,
    socket: &Path,
    busy: &Arc<AtomicUsize>,
) -> Result<()> {
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .with_context(|| format!("listen on port {port}"))?;
    // The kernel may not support IPv6.
    let second = TcpListener::bind((IpAddr::from(Ipv6Addr::LOCALHOST), port)).ok();
    for listener in std::iter::once(first).chain(second) {
        let (target, socket, busy) = (target.cloned(), socket.to_owned(), Arc::clone(busy));
        let accepting = move || accept(&listener, target.as_ref(), &socket, &busy);
        thread::Builder::new()
            .name("forward".to_owned())
            .spawn(accepting)
            .context("start a thread")?;
    }
    Ok(())
}

fn accept(listener: &TcpListener, target: Option<&Target>, socket: &Path, busy: &Arc<AtomicUsize>) {
    loop {
        let Ok((client, _)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        // Dropping the connection closes it. The client can retry.
        if busy.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
            continue;
        }
        busy.fetch_add(1, Ordering::Relaxed);
        let (target, socket, own) = (target.cloned(), socket.to_owned(), Arc::clone(busy));
        let run = move || {
            // On an error the program sees a closed connection.
            forward(Stream::Tcp(client), target.as_ref(), &socket).ok();
            own.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new().name("forward".to_owned()).spawn(run).is_err() {
            busy.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn forward(client: Stream, target: Option<&Target>, socket: &Path) -> Result<()> {
    let mut server = Stream::Unix(UnixStream::connect(socket).context("reach the proxy")?);
    if let Some(target) = target {
        server.set_timeouts(POLL)?;
        write!(server, "CONNECT {target} HTTP/1.1\r\n\r\n")?;
        let line = tunnel_answer(&mut server)?;
        if line.split(' ').nth(1) != Some("200") {
            bail!("{line}");
        }
    }
    relay(client, server, &Arc::new(AtomicBool::new(false)))?;
    Ok(())
}
