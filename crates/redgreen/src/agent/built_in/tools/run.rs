//! Runs programs for a model: sandboxed, with their own home and variables, limited in time and
//! output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::{Exit, Report};
use redgreen_core::tool::{Bash, RunTests, digest};

use super::{Answer, Workbench, bounded};
use crate::config::{self, TestInputs};
use crate::failure::Failure;
use crate::process::{Interrupted, Limits, Program};
use crate::runner::{self, SandboxedFolder, Settings};
use crate::sandbox::{Fence, Network, Sandbox};

/// The limit of a command's output. The middle is dropped.
const OUTPUT_BYTES_MAX: usize = 12 << 10;
const TESTS_BYTES_MAX: usize = 8 << 10;
const PROCESSES_MAX: u32 = 1024;
const FILE_BYTES_MAX: u64 = 4 << 30;
impl Workbench<'_> {
    pub(super) fn bash(&mut self, bash: &Bash) -> Result<Answer> {
        // One stream in the order of writing.
        let line = format!("exec 2>&1\n{}", bash.command);
        let shell = if self.settings.environment.has_program("bash") { "bash" } else { "sh" };
        let sandbox = self.sandbox()?;
        let program = Program::new(shell).args(["-c", &line]).cwd(self.place.root()).env_clear();
        let known = self.known(&sandbox)?;
        let program =
            known.into_iter().fold(program, |program, (name, value)| program.env(name, value));
        let way = self.settings.network.for_commands(&sandbox, self.desk)?;
        let program = way
            .variables()
            .into_iter()
            .fold(program, |program, (name, value)| program.env(name, value));
        let wall = self.settings.bash_time.min(self.time_left());
        let limits = Limits { wall, output_bytes_max: 2 * OUTPUT_BYTES_MAX };
        self.edited = true;
        let fence = way.through(self.fence(&sandbox)?);
        let set_aside = self.settings.visible.set_aside(&sandbox, &self.places)?;
        let output = sandbox.run(&program, &fence, limits, self.stop)?.output;
        drop(set_aside);
        let mut said =
            bounded(&self.place.plain(output.stdout_text().trim_end()), OUTPUT_BYTES_MAX);
        for refused in way.remarks() {
            said.push_str(&format!("\n[{refused}]"));
            if !self.refused.contains(&refused) {
                self.refused.push(refused);
            }
        }
        Ok(match output.exit {
            Exit::Code(0) if said.is_empty() => Ok("(no output)".to_owned()),
            Exit::Code(0) => Ok(said),
            Exit::Code(code) => Err(format!("{said}\n[exit {code}]")),
            Exit::TimedOut => Err(format!("{said}\n[stopped after {} s]", wall.as_secs())),
            Exit::Signal(_) | Exit::NotStarted => Err(format!("{said}\n[{}]", output.exit)),
        })
    }

    pub(super) fn run_tests(&mut self, wanted: &RunTests) -> Result<Answer> {
        let mut files = Vec::new();
        for file in wanted.test_files.iter().flatten() {
            match self.place.find(file) {
                Ok(path) => files.push(self.place.shown(&path)),
                Err(why) => return Ok(Err(why)),
            }
        }
        let selection = if files.is_empty() { Selection::All } else { Selection::Files(files) };
        let mut report = match self.report(&selection) {
            Ok(report) => report,
            // The model can fix what it broke, such as a manifest.
            Err(error) if !error.is::<Interrupted>() => {
                let words = error
                    .downcast_ref::<Failure>()
                    .map_or_else(|| format!("{error:#}"), |known| known.what.clone());
                return Ok(Err(self.place.plain(&words)));
            }
            Err(error) => return Err(error),
        };
        if let Some(name) = &wanted.test_name {
            report.tests.retain(|test| test.id.contains(name.as_str()));
            if report.tests.is_empty() && report.load_errors.is_empty() {
                return Ok(Err(format!("no test is called {name:?}")));
            }
        }
        let told = bounded(&self.place.plain(&digest::report(&report)), TESTS_BYTES_MAX);
        self.tests = Some(told.clone());
        Ok(Ok(told))
    }

    fn report(&self, selection: &Selection) -> Result<Report> {
        let environment = &self.settings.environment;
        let suite = runner::suite(self.place.root(), &self.settings.test)?;
        let TestInputs { variables, secrets, services, .. } = self.settings.test.for_agents()?;
        let own = self.env.iter().map(|(name, value)| (name.into(), value.into()));
        let settings = Settings {
            timeout: self.test_time.min(self.time_left()),
            cargo_target_dir: self.build_folder(),
            virtual_env: environment.virtual_env.clone(),
            path: environment.path.clone(),
            variables: variables.into_iter().chain(own).collect(),
            secrets,
            services,
        };
        let sandbox = self.sandbox()?;
        let (fence, env) = (self.fence(&sandbox)?, self.known(&sandbox)?);
        let fenced = SandboxedFolder {
            folder: self.place.root(),
            sandbox: &sandbox,
            fence: &fence,
            env: &env,
        };
        let _set_aside = self.settings.visible.set_aside(&sandbox, &self.places)?;
        suite.run(runner::Place::Fenced(&fenced), selection, &settings, self.stop)
    }

    fn sandbox(&self) -> Result<Sandbox> {
        match self.settings.test.fence {
            config::Fence::Auto => Sandbox::here().cloned(),
            config::Fence::None => Sandbox::open(),
        }
    }

    /// What programs see, and where they may write.
    fn fence(&self, sandbox: &Sandbox) -> Result<Fence> {
        let own = [
            self.place.root().to_owned(),
            self.settings.visible.home(&self.places)?,
            self.scratch()?,
        ];
        Ok(Fence {
            writable: own.into_iter().chain(self.build_folder()).collect(),
            network: Network::Loopback,
            processes_max: Some(PROCESSES_MAX),
            file_bytes_max: Some(FILE_BYTES_MAX),
            ..self.settings.visible.fence(sandbox, &self.places)?
        })
    }

    /// The complete environment of programs.
    fn known(&self, sandbox: &Sandbox) -> Result<Vec<(OsString, OsString)>> {
        // With private mounts `/tmp` is private, and its path is short enough for sockets.
        let scratch = if sandbox.binds() { PathBuf::from("/tmp") } else { self.scratch()? };
        let mut known = self.settings.visible.environment(&self.places, scratch)?;
        known.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        Ok(known)
    }

    /// A temporary folder where `/tmp` is shared.
    fn scratch(&self) -> Result<PathBuf> {
        let folder = self.places.aside.join("agent-tmp");
        std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(folder)
    }

    /// The agents' build folder, created because a sandbox needs existing paths.
    fn build_folder(&self) -> Option<PathBuf> {
        let folder = self
            .env
            .iter()
            .find(|(name, _)| name == "CARGO_TARGET_DIR")
            .map(|(_, value)| PathBuf::from(value))?;
        std::fs::create_dir_all(&folder).ok()?;
        Some(folder)
    }

    fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}
