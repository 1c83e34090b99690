//! `redgreen watch`: follows a run of another process from its journal, until it stops.

use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::state::State;

use super::{RunEnd, notes, pick};
use crate::engine::{Observer, Progress, Project};
use crate::failure::{Code, Failure};
use crate::journal::{self, LiveReader, RunFolder, Tail};

/// How often to read the journal.
const LOOK: Duration = Duration::from_millis(200);
/// A new run has no journal for a moment.
const BEGINS_WITHIN: Duration = Duration::from_secs(5);

pub fn watch(project: &Project, named: Option<&str>, observe: Observer<'_>) -> Result<RunEnd> {
    notes::check(project)?;
    let folder = match (named, project.store.latest()) {
        (None, Some(latest)) if project.store.open()?.is_empty() => latest,
        (named, _) => pick(project, named)?,
    };
    let mut tail = Tail::new(&folder)?;
    let mut live = LiveReader::default();
    let started = Instant::now();
    let mut is_first = true;
    loop {
        // Checked before the journal is read, so that the last lines of a process are read after it
        // ended.
        let at_work = journal::is_busy(&folder);
        // Before the journal as well: what a turn said comes before its end.
        let mut said = live.more(&folder).into_iter().peekable();
        let lines = tail.more()?;
        let cycle = tail.state().map(|state| state.progress.cycle);
        // Earlier cycles are not shown.
        let is_shown =
            |cycle_then: u32| !is_first || cycle.is_some_and(|cycle| cycle_then == cycle);
        for (line, state) in lines.iter().filter(|(_, state)| is_shown(state.progress.cycle)) {
            while let Some((_, role, said)) = said.next_if(|(at, _, _)| *at < line.at) {
                observe(Progress::Live(role, &said));
            }
            observe(Progress::Line(line, state));
        }
        for (_, role, said) in said {
            observe(Progress::Live(role, &said));
        }
        is_first = is_first && lines.is_empty();
        match tail.state() {
            // A process that resumes it may be about to say so.
            Some(state @ State { left: Some(outcome), .. }) if !at_work => {
                return Ok(RunEnd { outcome: outcome.clone(), state: state.clone(), folder });
            }
            Some(State { left: None, .. }) if !at_work && lines.is_empty() => {
                return Err(stopped_midway(&folder).into());
            }
            None if started.elapsed() > BEGINS_WITHIN => {
                return Err(Failure::usage(format!("run {} never started", folder.id))
                    .next(format!("redgreen abort {}", folder.id))
                    .into());
            }
            Some(_) | None => project.stop.sleep(LOOK)?,
        }
    }
}

fn stopped_midway(folder: &RunFolder) -> Failure {
    Failure::new(Code::Interrupted, format!("run {} stopped early and is not active", folder.id))
        .evidence("nothing is lost")
        .next(format!("redgreen resume {}", folder.id))
}
