//! Reads and writes the pipes of a program on the thread that waits for it. A git command takes two
//! milliseconds, and starting threads would be a large part of that.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;

use super::{Answer, Attention, Listener, ProcessEvent, Watcher};

const READ_BYTES: usize = 64 << 10;
/// After this many small reads in a row, wait a moment and read more at once. Waking up for each of
/// ten thousand lines would cost more than the tests.
const SMALL_READS_MAX: u32 = 32;
const SMALL_READS_PAUSE: Duration = Duration::from_millis(1);
/// Longer lines are truncated to this length.
const LINE_BYTES_MAX: usize = 4 << 20;

/// The three pipes of a program. `None` is closed.
pub(super) struct Pipes<'a, 'l> {
    input: Option<File>,
    unwritten: Cow<'a, [u8]>,
    /// The number of bytes written so far.
    written: usize,
    /// Whether stdin stays open after everything is written.
    stays_open: bool,
    outputs: [Stream; 2],
    buffer: Vec<u8>,
    /// Consecutive reads that did not fill the buffer.
    small_reads: u32,
    listener: Option<Listener<'l>>,
    watcher: Option<Watcher<'l>>,
    line: Line,
    /// When the listener was done with the program.
    done: Option<Instant>,
}

/// An incomplete line.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    too_long: bool,
}

struct Stream {
    pipe: Option<File>,
    kept: HeadAndTail,
}

/// The head and tail of a stream, so that gigabytes of output do not use memory.
#[derive(Default)]
struct HeadAndTail {
    /// The maximum length of each.
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    cut: bool,
}

impl<'a, 'l> Pipes<'a, 'l> {
    pub(super) fn of(
        child: &mut Child,
        input: &'a [u8],
        bytes_max: usize,
        attention: Attention<'l>,
    ) -> Result<Self> {
        let (listener, watcher, stays_open) = match attention {
            Attention::None => (None, None, false),
            Attention::Watching(watcher) => (None, Some(watcher), false),
            Attention::Listening(listener) => (Some(listener), None, false),
            Attention::Speaking(listener) => (Some(listener), None, true),
        };
        let stream = |pipe: Option<OwnedFd>| -> Result<Stream> {
            let kept = HeadAndTail { half: bytes_max / 2, ..HeadAndTail::default() };
            Ok(Stream { pipe: pipe.map(ready).transpose()?, kept })
        };
        let outputs = [
            stream(child.stdout.take().map(OwnedFd::from))?,
            stream(child.stderr.take().map(OwnedFd::from))?,
        ];
        let pipe = child.stdin.take().map(OwnedFd::from).map(ready).transpose()?;
        Ok(Self {
            input: pipe,
            unwritten: Cow::Borrowed(input),
            written: 0,
            stays_open,
            outputs,
            buffer: vec![0; READ_BYTES],
            small_reads: 0,
            listener,
            watcher,
            line: Line::default(),
            done: None,
        })
    }

    pub(super) fn have_listener(&self) -> bool {
        self.listener.is_some()
    }

    pub(super) fn stay_open(&self) -> bool {
        self.stays_open && self.done.is_none()
    }

    /// When the listener was done with the program; `None` before that.
    pub(super) fn done_since(&self) -> Option<Instant> {
        self.done
    }

    /// Passes an event to the listener and handles the answer.
    pub(super) fn tell(&mut self, heard: ProcessEvent<'_>) {
        let Some(listener) = &mut self.listener else { return };
        match listener(heard) {
            Answer::Nothing => {}
            Answer::Say(words) => {
                let unwritten = self.unwritten.to_mut();
                unwritten.drain(..self.written);
                self.written = 0;
                unwritten.extend(words);
            }
            Answer::Done => {
                self.input = None;
                self.done.get_or_insert_with(Instant::now);
            }
        }
    }

    /// Whether the program, and every process that inherited its pipes, closed them.
    pub(super) fn are_closed(&self) -> bool {
        self.outputs.iter().all(|stream| stream.pipe.is_none())
    }

    /// Waits until a pipe is ready, then reads or writes.
    pub(super) fn serve(&mut self, wait: Duration) {
        if self.small_reads > SMALL_READS_MAX {
            thread::sleep(SMALL_READS_PAUSE.min(wait));
        }
        let [input, stdout, stderr] = self.ready(wait);
        if input {
            self.feed();
        }
        for (index, ready) in [stdout, stderr].into_iter().enumerate() {
            let Some(stream) = self.outputs.get_mut(index).filter(|_| ready) else { continue };
            let count = stream.read(&mut self.buffer);
            self.small_reads =
                if count == READ_BYTES { 0 } else { self.small_reads.saturating_add(1) };
            if index == 0 && self.listener.is_some() {
                self.hear(count);
            }
            if let Some(watcher) = self.watcher.as_mut().filter(|_| index == 0) {
                watcher(self.buffer.get(..count).unwrap_or_default());
            }
        }
    }

    /// Passes on the lines in the bytes just read from stdout.
    fn hear(&mut self, count: usize) {
        let read = self.buffer.get(..count).unwrap_or_default().to_vec();
        for part in read.split_inclusive(|byte| *byte == b'\n') {
            let (text, whole) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            self.line.push(text);
            if whole {
                self.end_line();
            }
        }
        // The last line may have no line break.
        if count == 0 && self.outputs.first().is_some_and(|stream| stream.pipe.is_none()) {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.bytes.is_empty() {
            self.tell(ProcessEvent::Line { text: &line.bytes, whole: !line.too_long });
        }
    }

    /// Stdout and stderr, each with whether it was truncated.
    pub(super) fn into_kept(self) -> [(Vec<u8>, bool); 2] {
        self.outputs.map(|stream| stream.kept.whole())
    }

    fn ready(&self, wait: Duration) -> [bool; 3] {
        let [stdout, stderr] = &self.outputs;
        let pipes = [
            (self.input.as_ref().filter(|_| self.written < self.unwritten.len()), PollFlags::OUT),
            (stdout.pipe.as_ref(), PollFlags::IN),
            (stderr.pipe.as_ref(), PollFlags::IN),
        ];
        let mut polled: Vec<PollFd<'_>> = pipes
            .iter()
            .filter_map(|(pipe, events)| Some(PollFd::new((*pipe)?, *events)))
            .collect();
        let wait = Timespec::try_from(wait).ok();
        if poll(&mut polled, wait.as_ref()).is_err() {
            // Interrupted by a signal; the caller polls again.
            return [false; 3];
        }
        let mut answers = polled.iter().map(|polled| !polled.revents().is_empty());
        pipes.map(|(pipe, _)| pipe.is_some() && answers.next().unwrap_or(false))
    }

    fn feed(&mut self) {
        let Some(pipe) = &mut self.input else { return };
        match pipe.write(self.unwritten.get(self.written..).unwrap_or_default()) {
            Ok(count) => self.written += count,
            Err(error) if is_transient(&error) => {}
            // A program that does not read its input closes the pipe, which is not an error.
            Err(_) => self.input = None,
        }
        if !self.stays_open && self.written >= self.unwritten.len() {
            self.input = None;
        }
    }
}

impl Line {
    fn push(&mut self, text: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.bytes.len());
        self.too_long |= text.len() > room;
        self.bytes.extend_from_slice(text.get(..room.min(text.len())).unwrap_or_default());
    }
}

impl Stream {
    /// The number of bytes read.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        let Some(pipe) = &mut self.pipe else { return 0 };
        match pipe.read(buffer) {
            Err(error) if is_transient(&error) => 0,
            Ok(0) | Err(_) => {
                self.pipe = None;
                0
            }
            Ok(count) => {
                self.kept.push(buffer.get(..count).unwrap_or_default());
                count
            }
        }
    }
}

impl HeadAndTail {
    fn push(&mut self, bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        // Make room first, so that the buffer never grows beyond its limit.
        let excess = (self.tail.len() + tail.len()).saturating_sub(self.half);
        self.cut |= excess > 0;
        let old = excess.min(self.tail.len());
        self.tail.drain(..old);
        self.tail.extend(tail.get(excess - old..).unwrap_or_default());
    }

    fn whole(mut self) -> (Vec<u8>, bool) {
        if self.cut {
            self.head.extend_from_slice(b"\n[... output cut here ...]\n");
        }
        let (front, back) = self.tail.as_slices();
        self.head.extend_from_slice(front);
        self.head.extend_from_slice(back);
        (self.head, self.cut)
    }
}

/// Makes our end of a pipe non-blocking. The program's end is not affected.
fn ready(pipe: OwnedFd) -> Result<File> {
    ioctl_fionbio(&pipe, true).context("prepare a pipe")?;
    Ok(File::from(pipe))
}

fn is_transient(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted)
}
