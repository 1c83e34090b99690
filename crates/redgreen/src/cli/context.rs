//! `redgreen context`.

use std::path::PathBuf;

use anyhow::Result;

use super::CommandContext;
use super::run::AgentArgs;
use crate::failure::Code;
use crate::ops::context::{self, Context};
use crate::view;

/// Show which files would be sent to an agent, their size, and the recipient
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen context src/auth docs/lld.md\n  redgreen context src --json\n\n\
                        Exit codes: 0 a run can start with these paths, 1 it cannot"
)]
pub(super) struct Args {
    /// Files and folders of the project
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    agents: AgentArgs,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let project = desk.project()?;
        let context = context::context(&project, &self.agents.into(), &desk.folder, &self.paths)?;
        desk.printer.answer(&words(&context), &context);
        Ok(if context.is_fine() { Code::Done } else { Code::No })
    }
}

fn words(context: &Context) -> String {
    let mut text = String::new();
    for file in &context.files {
        let hint = match file.hints.first() {
            Some(line) => format!("  (line {line} looks random: is it a secret?)"),
            None => String::new(),
        };
        text.push_str(&format!(
            "{:>9} bytes {:>8} tokens  {}{hint}\n",
            file.bytes,
            file.tokens,
            view::name(&file.path)
        ));
    }
    for refused in &context.refused {
        let word = view::paint(view::BAD, "not sent");
        text.push_str(&format!(
            "{:23}{word}  {}: {}\n",
            "",
            view::name(&refused.path),
            view::name(&refused.why)
        ));
    }
    text.push_str(&format!(
        "{:>9} bytes {:>8} tokens  in total; the limit is {} tokens\n",
        context.bytes, context.tokens, context.tokens_max
    ));
    let next = match &context.first {
        _ if !context.is_fine() => "redgreen context <paths>, without the paths that are not sent",
        Some(first) => first,
        None => "redgreen run --context <paths> \"<what to build>\"",
    };
    text.push_str(&view::block(&[("to", &context.to), ("policy", view::POLICY)], next));
    text
}
