//! Reads a line from the terminal. Ctrl-C ends the wait; a plain read would wait for Enter.

use std::io::{self, BufRead};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Interrupted, Stop};

/// The interval of checking for a stop request.
const LOOK: Duration = Duration::from_millis(100);

/// The result of waiting for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Without surrounding whitespace.
    Line(String),
    /// Standard input is closed.
    End,
    TimeUp,
}

/// Waits for a line until `deadline`.
pub fn typed(stop: &Stop, deadline: Option<Instant>) -> Result<Input> {
    let stdin = io::stdin();
    loop {
        if stop.requested() {
            return Err(Interrupted.into());
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(Input::TimeUp);
        }
        let wait = Timespec::try_from(LOOK).ok();
        let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
        // A signal is treated like no input.
        if poll(&mut asked, wait.as_ref()).is_ok_and(|count| count > 0) {
            let mut line = String::new();
            let count = stdin.lock().read_line(&mut line).context("read the keyboard")?;
            return Ok(if count == 0 { Input::End } else { Input::Line(line.trim().to_owned()) });
        }
    }
}
