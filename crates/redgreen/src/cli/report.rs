//! `redgreen report`.

pub(super) mod html;

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::CommandContext;
use crate::failure::Code;
use crate::foreign;
use crate::ops::report;
use crate::view;

/// Show the result of a run as a summary, JSON or an HTML page
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen report\n  redgreen report k3x9 --html report.html\n  \
                  redgreen report --html - > report.html\n  redgreen report --json"
)]
pub(super) struct Args {
    /// The run [default: the only open one, or the last one]
    run: Option<String>,
    /// Write a self-contained HTML page; `-` prints it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the summary as Markdown (the default)
    #[arg(long, conflicts_with = "html")]
    markdown: bool,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let project = desk.project()?;
        let timeline = report::report(&project, self.run.as_deref())?;
        if let Some(path) = self.html {
            // A program that asks for JSON gets the run as data. The page is for people.
            if path.as_os_str() == "-" {
                desk.printer.raw_or(&html::page(&timeline), &timeline);
                return Ok(Code::Done);
            }
            let path = desk.folder.join(path);
            let page = html::page(&timeline);
            foreign::write_named(&project.git.root, &path, page.as_bytes())
                .with_context(|| format!("write {}", path.display()))?;
            let text = format!(
                "wrote {}\n{}",
                view::name(&path.display().to_string()),
                view::next_line("open it in a browser")
            );
            desk.printer.answer(&text, &timeline);
            return Ok(Code::Done);
        }
        desk.printer.answer(&timeline.summary, &timeline);
        Ok(Code::Done)
    }
}
