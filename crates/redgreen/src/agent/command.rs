//! Commands of the user on the work of an agent: linters, and the criteria of a task. They run code
//! that the agent wrote, such as build scripts, plugins and tests. So they are sandboxed like its own
//! programs, with the variables and the services of the tests.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::egress::{AllowList, Entry, Target};
use redgreen_core::report::redact;

use super::visible::{Places, Visible};
use crate::config::{self, Environment, File, Models, TestInputs};
use crate::egress::{Listen, Proxy, Rules};
use crate::git::Git;
use crate::process::{Limits, Output, Program, Stop};
use crate::sandbox::{Fence, Network, Outlet, Sandbox};

const PROCESSES_MAX: u32 = 1024;
const FILE_BYTES_MAX: u64 = 4 << 30;
const SERVICE_HOST: &str = "127.0.0.1";
/// In the private folder of a worktree.
const SCRATCH: &str = "command-tmp";
const LOG: &str = "services.jsonl";

/// What commands get.
#[derive(Clone, Copy, Debug)]
pub struct CommandContext<'a> {
    pub file: &'a File,
    pub environment: &'a Environment,
    pub git: &'a Git,
    pub worktree: &'a Path,
    /// Our own state, which they do not see.
    pub records: &'a Path,
    /// The private folder of the worktree.
    pub aside: &'a Path,
    /// Packages of the user's checkout that the worktree links to.
    pub packages: &'a [PathBuf],
    pub env: &'a [(String, String)],
    /// The folder for build output.
    pub build: &'a Path,
}

/// The sandbox of commands.
#[derive(Debug)]
pub struct Commands<'a> {
    context: CommandContext<'a>,
    visible: Visible,
    sandbox: Sandbox,
    provided: TestInputs,
}

impl<'a> Commands<'a> {
    pub fn new(context: CommandContext<'a>) -> Result<Self> {
        let CommandContext { file, environment, git, build, .. } = context;
        let sandbox = match file.test.fence {
            config::Fence::Auto => Sandbox::here()?.clone(),
            config::Fence::None => Sandbox::open()?,
        };
        fs::create_dir_all(build).with_context(|| format!("create {}", build.display()))?;
        let visible = Visible::new(environment, Some(git), &file.agent.allow_read);
        Ok(Self { context, visible, sandbox, provided: file.test.provided()? })
    }

    /// Runs a command line in the worktree.
    pub fn run(&self, line: &str, limits: Limits, stop: &Stop) -> Result<Output> {
        let CommandContext { worktree, records, aside, packages, build, .. } = self.context;
        let places = Places { worktree, records, aside, packages };
        let scratch = aside.join(SCRATCH);
        fs::create_dir_all(&scratch).with_context(|| format!("create {}", scratch.display()))?;
        let services = self.services()?;
        let home = self.visible.home(&places)?;
        let fence = Fence {
            writable: vec![worktree.to_owned(), home, scratch.clone(), build.to_owned()],
            network: Network::Loopback,
            outlet: services.as_ref().map(|(_, outlet)| outlet.clone()),
            processes_max: Some(PROCESSES_MAX),
            file_bytes_max: Some(FILE_BYTES_MAX),
            ..self.visible.fence(&self.sandbox, &places)?
        };
        // With private mounts `/tmp` is private.
        let scratch = if self.sandbox.binds() { PathBuf::from("/tmp") } else { scratch };
        let mut known = self.visible.environment(&places, scratch)?;
        known.extend(self.provided.variables.iter().cloned());
        known.extend(self.context.env.iter().map(|(name, value)| (name.into(), value.into())));
        let own: [(&str, OsString); 3] = [
            ("CI", "1".into()),
            ("NO_COLOR", "1".into()),
            ("CARGO_TARGET_DIR", build.as_os_str().to_owned()),
        ];
        known.extend(own.map(|(name, value)| (name.into(), value)));
        let program = Program::shell(line).cwd(worktree).env_clear();
        let program =
            known.into_iter().fold(program, |program, (name, value)| program.env(name, value));
        let _set_aside = self.visible.set_aside(&self.sandbox, &places)?;
        Ok(self.sandbox.run(&program, &fence, limits, stop)?.output)
    }

    /// A text without the values that only the tests may know.
    pub fn redacted(&self, text: &str) -> String {
        redact::redacted(text, &self.provided.secrets)
    }

    /// The proxy to the services of the tests, while it is held. Without a loopback of its own, a
    /// command reaches them as tests do.
    fn services(&self) -> Result<Option<(Proxy, Outlet)>> {
        let ports = self.provided.services.iter();
        let targets: Vec<Target> =
            ports.filter_map(|port| Target::new(SERVICE_HOST, *port)).collect();
        if targets.is_empty() || !self.sandbox.binds() {
            return Ok(None);
        }
        let allowed = AllowList::new(targets.iter().cloned().map(Entry::Exact));
        let rules = Rules { allowed, upstream: Models::default() };
        let proxy = Proxy::start(Listen::Socket, rules, &self.context.aside.join(LOG))?;
        let outlet = Outlet { proxy: proxy.address().clone(), tunnels: targets };
        Ok(Some((proxy, outlet)))
    }
}
