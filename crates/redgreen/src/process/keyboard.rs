//! What a person types at a terminal. Ctrl-C ends the wait; a plain read would go on waiting for Enter.

use std::io::{self, BufRead};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Interrupted, Stop};

/// How often we look whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);

/// What came of waiting for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// Without the blanks around it.
    Line(String),
    /// Nobody will type any more.
    End,
    TimeUp,
}

/// Waits for a line, at most until `deadline`.
pub fn typed(stop: &Stop, deadline: Option<Instant>) -> Result<Typed> {
    let stdin = io::stdin();
    loop {
        if stop.requested() {
            return Err(Interrupted.into());
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(Typed::TimeUp);
        }
        let wait = Timespec::try_from(LOOK).ok();
        let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
        // A signal in between is as good as nothing.
        if poll(&mut asked, wait.as_ref()).is_ok_and(|count| count > 0) {
            let mut line = String::new();
            let count = stdin.lock().read_line(&mut line).context("read the keyboard")?;
            return Ok(if count == 0 { Typed::End } else { Typed::Line(line.trim().to_owned()) });
        }
    }
}
