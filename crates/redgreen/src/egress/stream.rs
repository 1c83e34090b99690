//! Forwards bytes between the two ends of a connection until one of them ends.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A connection without any bytes for this long is closed. Models may think for a long time.
const IDLE_MAX: Duration = Duration::from_secs(20 * 60);
/// The interval of checking an idle connection.
const POLL: Duration = Duration::from_millis(200);
/// The time limit for writing to the other side.
const WRITE_TIME_MAX: Duration = Duration::from_secs(60);
const BUFFER_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The number of bytes in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteCounts {
    pub sent: u64,
    pub received: u64,
}

impl Stream {
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// Makes reads block for at most this long.
    pub fn set_timeouts(&self, read: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(read))?;
                stream.set_write_timeout(Some(WRITE_TIME_MAX))
            }
            Self::Unix(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(read))?;
                stream.set_write_timeout(Some(WRITE_TIME_MAX))
            }
        }
    }

    fn shutdown(&self, how: Shutdown) {
        // It may be closed already.
        match self {
            Self::Tcp(stream) => stream.shutdown(how).ok(),
            Self::Unix(stream) => stream.shutdown(how).ok(),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The shared state of both directions.
struct Line {
    begun: Instant,
    /// Milliseconds since the beginning.
    last_byte: AtomicU64,
    broken: AtomicBool,
    stopped: Arc<AtomicBool>,
}

/// Forwards bytes in both directions until both ends are done, one is gone, the connection is idle,
/// or the proxy stops.
pub fn relay(client: Stream, server: Stream, stopped: &Arc<AtomicBool>) -> io::Result<ByteCounts> {
    client.set_timeouts(POLL)?;
    server.set_timeouts(POLL)?;
    let (from_server, to_client) = (server.try_clone()?, client.try_clone()?);
    let line = Arc::new(Line {
        begun: Instant::now(),
        last_byte: AtomicU64::new(0),
        broken: AtomicBool::new(false),
        stopped: Arc::clone(stopped),
    });
    let other = Arc::clone(&line);
    let down = thread::Builder::new()
        .name("proxy".to_owned())
        .spawn(move || pass(from_server, to_client, &other))?;
    let sent = pass(client, server, &line);
    Ok(ByteCounts { sent, received: down.join().unwrap_or_default() })
}

fn pass(mut from: Stream, mut to: Stream, line: &Line) -> u64 {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut passed = 0;
    loop {
        match from.read(&mut buffer) {
            // This end is done; the other may still answer.
            Ok(0) => {
                to.shutdown(Shutdown::Write);
                return passed;
            }
            Ok(count) => {
                if to.write_all(buffer.get(..count).unwrap_or_default()).is_err() {
                    break;
                }
                passed += u64::try_from(count).unwrap_or(0);
                line.touch();
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if line.is_over() {
                    break;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    line.broken.store(true, Ordering::Relaxed);
    from.shutdown(Shutdown::Both);
    to.shutdown(Shutdown::Both);
    passed
}

impl Line {
    fn touch(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_byte.store(now, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        let quiet = self
            .begun
            .elapsed()
            .saturating_sub(Duration::from_millis(self.last_byte.load(Ordering::Relaxed)));
        self.broken.load(Ordering::Relaxed)
            || self.stopped.load(Ordering::Relaxed)
            || quiet > IDLE_MAX
    }
}
