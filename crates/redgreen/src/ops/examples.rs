//! Files that say more of the brief: withheld examples, and tasks.

use std::io::Read;
use std::path::Path;

use anyhow::Result;
use redgreen_core::experiment::examples::{self, Example};
use redgreen_core::task::Task;

use crate::failure::Failure;
use crate::foreign;

/// They are written by hand or by a planner; what is larger is some other file.
const FILE_BYTES_MAX: u64 = 4 << 20;

pub fn read(path: &Path) -> Result<Vec<Example>> {
    let text = text(path, "examples")?;
    examples::parse(&path.display().to_string(), &text).map_err(|faults| faulty(path, "examples", faults))
}

pub fn task(path: &Path) -> Result<Task> {
    Task::parse(&text(path, "task")?).map_err(|faults| faulty(path, "task", faults))
}

fn text(path: &Path, what: &str) -> Result<String> {
    let cannot = |why: String| {
        Failure::usage(format!("cannot read the {what} {}", path.display()))
            .evidence(why)
            .next(format!("name a file that is there: --{what} FILE"))
    };
    let mut text = String::new();
    let read = foreign::open_named(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(cannot(error.to_string()).into()),
        Ok(_) if text.len() as u64 > FILE_BYTES_MAX => {
            Err(cannot(format!("it is larger than {} MiB", FILE_BYTES_MAX >> 20)).into())
        }
        Ok(_) => Ok(text),
    }
}

fn faulty(path: &Path, what: &str, faults: Vec<String>) -> anyhow::Error {
    let failure = Failure::usage(format!("the {what} {} cannot be used", path.display()));
    let failure = faults.into_iter().fold(failure, Failure::evidence);
    failure.next(format!("correct {}", path.display())).into()
}
