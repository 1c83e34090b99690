//! `redgreen mcp`.

use anyhow::Result;

use super::CommandContext;
use crate::failure::{Code, Failure};
use crate::ops::mcp::Server;

/// Serve the session of this checkout over the Model Context Protocol, on stdin and stdout
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  redgreen mcp\n  claude mcp add redgreen -- redgreen mcp\n  \
                        codex mcp add redgreen -- redgreen mcp\n\n\
                        Tools: status, check, explain, dispute_test, plan. None of them takes a phase.")]
pub(super) struct Args {}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let Self {} = self;
        let server = Server {
            folder: desk.folder.clone(),
            environment: desk.environment.clone(),
            stop: desk.stop.clone(),
        };
        match redgreen_serve::serve(server) {
            Ok(()) => Ok(Code::Done),
            Err(why) => Err(Failure::environment(format!("no MCP client connected: {why}"))
                .next("start it from an MCP client: claude mcp add redgreen -- redgreen mcp")
                .into()),
        }
    }
}
