//! Files that extend the brief: withheld examples, and tasks.

use std::path::Path;

use anyhow::Result;
use redgreen_core::experiment::examples::{self, Example};
use redgreen_core::task::Task;

use crate::failure::Failure;
use crate::foreign;

/// People or planners write them, so a larger file is something else.
const FILE_BYTES_MAX: u64 = 4 << 20;

pub fn read(path: &Path) -> Result<Vec<Example>> {
    let text = text(path, "examples")?;
    examples::parse(&path.display().to_string(), &text)
        .map_err(|problems| faulty(path, "examples", problems))
}

pub fn task(path: &Path) -> Result<Task> {
    Task::parse(&text(path, "task")?).map_err(|problems| faulty(path, "task", problems))
}

fn text(path: &Path, what: &str) -> Result<String> {
    let cannot = |why: String| {
        Failure::usage(format!("cannot read the {what} {}", path.display()))
            .evidence(why)
            .next(format!("use an existing file: --{what} FILE"))
    };
    foreign::read_named(path, FILE_BYTES_MAX).map_err(|error| cannot(error.to_string()).into())
}

fn faulty(path: &Path, what: &str, problems: Vec<String>) -> anyhow::Error {
    let failure = Failure::usage(format!("cannot use the {what} {}", path.display()));
    let failure = problems.into_iter().fold(failure, Failure::evidence);
    failure.next(format!("fix {}", path.display())).into()
}
