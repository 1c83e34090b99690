//! `redgreen hook`: called by hosts. It answers in their protocols, and fails closed.

use std::io::{self, Read};
use std::panic;

use anyhow::{Context, Result};
use redgreen_core::hook::{self, Event, Host, MESSAGE_BYTES_MAX, Output};

use super::CommandContext;
use crate::failure::{Code, Failure};
use crate::ops;
use crate::view::Printer;

/// Answer a hook of a coding agent or of git; installed by `redgreen init --with`
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen hook claude < message.json\n  redgreen hook copilot preToolUse\n  \
                        redgreen hook git pre-commit\n\n\
                        Prints nothing if no session is open. The exit codes follow the host's protocol."
)]
pub(super) struct Args {
    /// The agent, or a hook of git
    host: Asker,
    /// The event, if the message does not contain it
    moment: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Asker {
    Claude,
    Codex,
    Gemini,
    Copilot,
    Cursor,
    Opencode,
    Git,
}

impl Asker {
    fn host(self) -> Option<Host> {
        match self {
            Asker::Claude => Some(Host::Claude),
            Asker::Codex => Some(Host::Codex),
            Asker::Gemini => Some(Host::Gemini),
            Asker::Copilot => Some(Host::Copilot),
            Asker::Cursor => Some(Host::Cursor),
            Asker::Opencode => Some(Host::Opencode),
            Asker::Git => None,
        }
    }
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let Some(host) = self.host.host() else { return self.git(desk) };
        let read = message().map_err(|error| format!("{error:#}"));
        let read = read.and_then(|message| hook::read(&message, self.moment.as_deref()));
        let output = match &read {
            Ok(event) => answered(host, event, desk),
            Err(why) => hook::broken(host, None, why),
        };
        Ok(say(&output))
    }

    /// Git hooks get no message.
    fn git(&self, desk: &CommandContext) -> Result<Code> {
        match self.moment.as_deref() {
            Some("pre-commit") => match ops::hook::pre_commit(&desk.folder, &desk.environment)? {
                None => Ok(Code::Done),
                Some(failure) => Err(failure.into()),
            },
            _ => Err(Failure::usage(
                "redgreen only supports git's pre-commit hook; before a push, use `redgreen \
                 verify`",
            )
            .next("redgreen init --with git")
            .into()),
        }
    }
}

/// Any error denies the action if possible, including a bug in redgreen.
fn answered(host: Host, event: &Event, desk: &CommandContext) -> Output {
    let asked = panic::AssertUnwindSafe(|| {
        ops::hook::answer(event, &desk.folder, &desk.environment, &desk.stop)
    });
    match panic::catch_unwind(asked) {
        Ok(Ok(answer)) => hook::render(host, event, &answer),
        Ok(Err(error)) => hook::broken(host, Some(event), &words(&error)),
        Err(_) => hook::broken(host, Some(event), "this is a bug in redgreen"),
    }
}

fn words(error: &anyhow::Error) -> String {
    match error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
        Some(failure) => {
            let mut lines = vec![failure.what.clone()];
            lines.extend(failure.evidence.iter().cloned());
            lines.extend(failure.next.iter().map(|next| format!("next: {next}")));
            lines.join("\n")
        }
        None => format!("{error:#}"),
    }
}

/// The message on stdin, read up to one byte beyond the limit.
fn message() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MESSAGE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    io::stdin().lock().take(most).read_to_end(&mut bytes).context("read the message")?;
    Ok(bytes)
}

fn say(output: &Output) -> Code {
    let printer = Printer { json: true, quiet: false };
    if let Some(value) = &output.stdout {
        printer.json_line(value);
    }
    if !output.stderr.is_empty() {
        Printer { json: false, quiet: false }.talk(&format!("{}\n", output.stderr));
    }
    // The exit code that hosts read as a denial is our code for wrong usage.
    if output.code == hook::BLOCKED { Code::Usage } else { Code::Done }
}
