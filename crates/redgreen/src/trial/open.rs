//! The room of a trial and its environment: switches trees, runs tests, keeps build output
//! separate.

use std::ffi::OsString;
use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::coverage::Coverage;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::{Report, redact};

use super::builds::Builds;
use super::environment::{self, EnvironmentRecord};
use super::{Candidate, TrialContext};
use crate::config::{self, TestInputs};
use crate::failure::Failure;
use crate::process::{Program, Stop};
use crate::room::{Options, Room, RoomEnvironment};
use crate::runner::{Place, Settings, Suite};
use crate::sandbox::Sandbox;

/// Frameworks without a build step, for which a second room is cheap.
const NOTHING_TO_BUILD: &[&str] = &[
    "pytest", "unittest", "vitest", "jest", "mocha", "node", "phpunit", "rspec", "minitest", "bats",
];

/// Variables that stay as set by the room: with others, different tools would be compared.
const SET_BY_THE_ROOM: &[&str] =
    &["PATH", "TMPDIR", "CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME", "VIRTUAL_ENV"];

pub(super) struct Trial<'a> {
    pub(super) ground: TrialContext<'a>,
    pub(super) sandbox: Sandbox,
    pub(super) room: Room,
    pub(super) suite: Suite,
    pub(super) timeout: Duration,
    pub(super) builds: Option<Builds>,
    pub(super) surroundings: EnvironmentRecord,
    pub(super) running: Duration,
    /// The environment of the room, for another room of the same trial.
    pub(super) around: RoomEnvironment,
    /// Variables and services from the project's settings.
    provided: TestInputs,
    _lock: fs::File,
}

/// The inputs for another room of the same trial.
#[derive(Clone)]
pub(super) struct Annex<'a> {
    ground: TrialContext<'a>,
    sandbox: Sandbox,
    suite: Suite,
    pub(super) around: RoomEnvironment,
}

impl Annex<'_> {
    /// A separate room. Its build output is removed with it.
    pub(super) fn open<'s>(
        &'s self,
        candidate: &Candidate<'_>,
        stop: &'s Stop,
    ) -> Result<Trial<'s>> {
        let (place, lock) = free_room(&self.ground.workshop.join("rooms"))?;
        let options = Options { base: Some(candidate.base.to_owned()), ..Options::default() };
        Ok(Trial {
            ground: TrialContext { stop, ..self.ground },
            sandbox: self.sandbox.clone(),
            room: Room::materialise(
                self.ground.git,
                candidate.head,
                &place,
                &options,
                self.around.clone(),
            )?,
            suite: self.suite.clone(),
            timeout: candidate.timeout,
            builds: None,
            surroundings: EnvironmentRecord::default(),
            running: Duration::ZERO,
            around: RoomEnvironment::default(),
            provided: self.ground.file.test.provided()?,
            _lock: lock,
        })
    }
}

impl<'a> Trial<'a> {
    /// `known` is an earlier scan of the environment.
    pub(super) fn open(
        ground: TrialContext<'a>,
        base: &str,
        head: &str,
        known: Option<&EnvironmentRecord>,
        timeout: Duration,
    ) -> Result<Self> {
        ground.git.forget_files();
        let (place, lock) = free_room(&ground.workshop.join("rooms"))?;
        let (sandbox, found) = thread::scope(|scope| {
            let sandbox = scope.spawn(|| match ground.file.test.fence {
                config::Fence::Auto => Sandbox::here().cloned(),
                config::Fence::None => Sandbox::open(),
            });
            let found = environment::look(ground, head, known);
            (sandbox.join().unwrap_or_else(|panic| resume_unwind(panic)), found)
        });
        let (sandbox, found) = (sandbox?, found?);
        let surroundings = found.seen;
        let around = found.surroundings;
        let mut builds = Builds::open(&ground.workshop.join("builds"), &place, &around.tools)?;
        let options = Options { base: Some(base.to_owned()), ..Options::default() };
        let built = RoomEnvironment {
            build: builds.as_ref().map(|builds| builds.place().to_owned()),
            ..around.clone()
        };
        let mut room = Room::materialise(ground.git, head, &place, &options, built)?;
        let suite = match ground.suite(room.folder()) {
            Ok(suite) => suite,
            // The candidate may have removed the manifest, so detect the suite in the base.
            Err(error) => {
                room.change_to(ground.git, base, &Options::default())?;
                let suite = ground.suite(room.folder()).map_err(|_| error)?;
                room.change_to(ground.git, head, &options)?;
                suite
            }
        };
        if let Some(builds) = builds.as_mut().filter(|_| is_interpreted(&suite)) {
            builds.clear()?;
        }
        let running = Duration::ZERO;
        let provided = ground.file.test.provided()?;
        Ok(Self {
            ground,
            sandbox,
            room,
            suite,
            timeout,
            builds,
            surroundings,
            running,
            around,
            provided,
            _lock: lock,
        })
    }

    /// For parallel experiments; `None` if two rooms would conflict or build everything twice.
    pub(super) fn annex(&self) -> Option<Annex<'a>> {
        let apart = self.sandbox.binds() && self.is_interpreted();
        apart.then(|| Annex {
            ground: self.ground,
            sandbox: self.sandbox.clone(),
            suite: self.suite.clone(),
            around: self.around.clone(),
        })
    }

    /// Whether the tests need no build output.
    pub(super) fn is_interpreted(&self) -> bool {
        is_interpreted(&self.suite)
    }

    pub(super) fn run(
        &mut self,
        selection: &Selection,
        variables: &[(OsString, OsString)],
    ) -> Result<Report> {
        let settings = self.settings(variables);
        let started = Instant::now();
        let report = self.suite.run(
            Place::Room(&self.room, &self.sandbox),
            selection,
            &settings,
            self.ground.stop,
        );
        self.running += started.elapsed();
        report.map_err(|error| self.in_checkout(error))
    }

    /// Replaces the room by the checkout in messages: the room is gone when the user reads them.
    fn in_checkout(&self, error: anyhow::Error) -> anyhow::Error {
        match error.downcast::<Failure>() {
            Ok(failure) => failure.moved(self.room.folder(), self.ground.checkout).into(),
            Err(error) => error,
        }
    }

    /// Runs all tests in the room without a sandbox, and with the user's whole environment.
    pub(super) fn run_unsandboxed(&mut self) -> Result<Report> {
        let mut settings =
            self.settings(&config::variables(|name| !SET_BY_THE_ROOM.contains(&name)));
        // The output is only compared, never shown.
        settings.secrets.clear();
        let open = Sandbox::open()?;
        self.suite.run(Place::Room(&self.room, &open), &Selection::All, &settings, self.ground.stop)
    }

    /// Gives a program the variables of the tests: code may need them to load.
    pub(super) fn given(&self, program: Program) -> Program {
        self.provided
            .variables
            .iter()
            .fold(program, |program, (name, value)| program.env(name, value))
    }

    /// Removes values that only tests may know.
    pub(super) fn redacted(&self, text: &str) -> String {
        redact::redacted(text, &self.provided.secrets)
    }

    /// The variables of tests in the room.
    pub(super) fn variables(&self) -> Vec<OsString> {
        let given = self.provided.variables.iter().map(|(name, _)| name.clone());
        self.room.environment().into_iter().map(|(name, _)| name).chain(given).collect()
    }

    pub(super) fn cover(&mut self) -> Result<Option<Coverage>> {
        let settings = self.settings(&[]);
        let (_, coverage) = self.suite.coverage(
            Place::Room(&self.room, &self.sandbox),
            &settings,
            self.ground.stop,
        )?;
        Ok(coverage)
    }

    fn settings(&self, variables: &[(OsString, OsString)]) -> Settings {
        let given = self.provided.variables.iter().chain(variables);
        Settings {
            timeout: self.timeout,
            cargo_target_dir: self.room.build().map(Path::to_owned),
            virtual_env: self.ground.environment.virtual_env.clone(),
            path: self.ground.environment.path.clone(),
            variables: given.cloned().collect(),
            secrets: self.provided.secrets.clone(),
            services: self.provided.services.clone(),
        }
    }

    pub(super) fn close(self) -> Result<()> {
        if let Some(builds) = self.builds {
            builds.close()?;
        }
        self.room.remove()
    }
}

fn is_interpreted(suite: &Suite) -> bool {
    is_interpreted_by(suite.frameworks().map(|row| row.name))
}

pub(super) fn is_interpreted_by<'n>(mut frameworks: impl Iterator<Item = &'n str>) -> bool {
    frameworks.all(|name| NOTHING_TO_BUILD.contains(&name))
}

/// A folder for a room, locked. The same one again if possible, because build output depends on its
/// path.
fn free_room(root: &Path) -> Result<(PathBuf, fs::File)> {
    // Every run of the repository may have a room, plus its helpers.
    const ROOMS_MAX: usize = 1024;
    fs::create_dir_all(root).with_context(|| format!("create {}", root.display()))?;
    for number in 0..ROOMS_MAX {
        let path = root.join(format!("{number}.lock"));
        let lock = fs::File::create(&path).with_context(|| format!("create {}", path.display()))?;
        if lock.try_lock().is_ok() {
            return Ok((root.join(number.to_string()), lock));
        }
    }
    anyhow::bail!("{ROOMS_MAX} rooms are in use in {}", root.display())
}
