//! A trial: a candidate is run in the clean room, the mind rules on what was seen, and where it would accept, the suite
//! itself is tried with the mind's controls. The one way to a verdict: for the run, for `redgreen judge`, for everybody.

mod builds;
mod change;
mod controls;
mod court;
mod docket;
mod environment;
mod examples;
mod helpers;
mod made;
mod memory;
mod only_there;
mod outside;
mod packages;
mod reading;
mod withheld;

use std::path::Path;
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use anyhow::Result;
use redgreen_core::change::{Change, ChangedPath, Class, Kind};
use redgreen_core::control::reworked::{Reworked, reworked};
use redgreen_core::control::{self, Control, Material, Tree};
use redgreen_core::coverage::Coverage;
use redgreen_core::framework::command::Command;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::judge::{self, Evidence};
use redgreen_core::phase::Phase;
use redgreen_core::report::{Outcome, Report};
use redgreen_core::syntax::Language;
use redgreen_core::verdict::{Code, Decision, Reason, Verdict};

use crate::config;
use crate::failure::Failure;
use crate::git::Git;
use crate::process::Stop;
use crate::room::Options;
use crate::runner::{self, Suite};
use crate::sandbox::Network;

use court::Court;
use docket::Docket;
use helpers::Helpers;
use reading::{Reading, Scene};

/// A candidate may take so many times as long as the tree before it, whatever the limit: a slow suite is nobody's fault.
const SLOWER_MAX: u32 = 3;

pub(crate) use change::change;
pub use environment::{FOLDERS, Seen, Surrounding, package_folders};
pub use examples::Withheld;
pub use made::note as note_made;
pub use memory::{Memory, Remembered};
pub use only_there::{explain, only_there};
pub use withheld::Unseen;

/// Where a trial is held.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub git: &'a Git,
    /// Where packages are installed: the user's checkout, or the run's worktree.
    pub checkout: &'a Path,
    /// Of the checkout, if it is the run's worktree: where it is noted what set-up commands made.
    pub private: Option<&'a Path>,
    /// Ours: rooms and build output.
    pub workshop: &'a Path,
    pub environment: &'a config::Environment,
    /// The project's settings.
    pub file: &'a config::File,
    /// Runs the tests where nothing else is found.
    pub command: Option<&'a str>,
    pub stop: &'a Stop,
}

impl Ground<'_> {
    /// What the tests of a tree need: as the project's settings say, as its files show, or by the command.
    fn suite(&self, folder: &Path) -> Result<Suite> {
        let found = runner::suite(folder, &self.file.test);
        match (found, self.command) {
            (Err(_), Some(line)) => {
                let command = Command::new(line, None, None).map_err(Failure::usage)?;
                Suite::of(folder, command)
            }
            (found, _) => found,
        }
    }
}

/// What is tried.
#[derive(Clone, Debug)]
pub struct Charge<'a> {
    pub phase: Phase,
    /// Trees.
    pub base: &'a str,
    pub head: &'a str,
    /// The tree before the base: what failed there already is not RED's doing. Asked only where nobody remembers.
    pub earlier: Option<&'a str>,
    /// What is known of the base; found out where it is not.
    pub before: Option<Report>,
    /// The tests RED made fail; `None` when nobody remembers.
    pub targets: Option<Vec<String>>,
    /// The surroundings when the base was accepted.
    pub surroundings: Option<Seen>,
    pub brief: &'a str,
    pub withheld: Withheld<'a>,
    pub timeout: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Tried {
    pub verdict: Verdict,
    pub change: Change,
    /// What the next phase is compared with.
    pub report: Report,
    /// What the candidate's own run showed, as it is.
    pub shown: Report,
    pub surroundings: Seen,
    /// What became of the withheld tests.
    pub unseen: Unseen,
    /// How the tests were fenced in.
    pub fence: String,
    /// What the tests took, in all their runs.
    pub tests: Duration,
    /// Our own time beside that.
    pub own: Duration,
}

/// Holds the trial.
pub fn hold(ground: Ground<'_>, charge: &Charge<'_>) -> Result<Tried> {
    let started = Instant::now();
    let mut court = Court::open(ground, charge.base, charge.head, charge.surroundings.as_ref(), charge.timeout)?;
    let tried = thread::scope(|scope| court.try_candidate(scope, charge));
    let running = court.running;
    let closed = court.close();
    let mut tried = tried?;
    closed?;
    tried.tests = running;
    tried.own = started.elapsed().saturating_sub(running);
    Ok(tried)
}

/// Runs all tests of a tree in the clean room: what is seen before anyone worked.
pub fn measure(ground: Ground<'_>, tree: &str, timeout: Duration) -> Result<Remembered> {
    let mut court = Court::open(ground, tree, tree, None, timeout)?;
    let report = court.run(&Selection::All, &[]);
    let surroundings = court.surroundings.clone();
    court.close()?;
    Ok(Remembered { version: 1, report: report?, targets: Vec::new(), surroundings })
}

/// The verdict on a merge with another branch: to every test that passed before, it is what a refactoring is. What the
/// other side added, changed or repaired is not this step's doing.
pub fn as_a_merge(target: &str, charge: &Charge<'_>, tried: &Tried) -> Verdict {
    let merged = ChangedPath { path: target.to_owned(), kind: Kind::Modified, class: Class::Implementation };
    let (change, before) = (Change { paths: vec![merged] }, charge.before.clone().unwrap_or_default());
    let evidence = Evidence { change: &change, before: &before, after: &tried.shown, targets: &[] };
    let verdict = judge::judge(Phase::Refactor, evidence);
    let repairs = verdict.reasons.iter().all(|reason| reason.code == Code::RefactorTurnsGreen);
    match verdict.decision {
        Decision::Refused if repairs => Verdict::accepted(Reason::plain(Code::RefactorKept)),
        Decision::Refused | Decision::Accepted | Decision::Undecided => verdict,
    }
}

/// The same of a tree whose tests were run in the clean room already, from another checkout of it.
pub fn remember(ground: Ground<'_>, tree: &str, report: Report) -> Result<Remembered> {
    let surroundings = environment::look(ground, tree, None)?.seen;
    Ok(Remembered { version: 1, report, targets: Vec::new(), surroundings })
}

/// Which lines the tests of a tree reach, in the clean room; `None` when no tool measures it.
pub fn cover(ground: Ground<'_>, tree: &str, timeout: Duration) -> Result<Option<Coverage>> {
    let mut court = Court::open(ground, tree, tree, None, timeout)?;
    let coverage = court.cover();
    court.close()?;
    coverage
}

impl<'a> Court<'a> {
    fn try_candidate<'scope, 'env>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        charge: &'env Charge<'env>,
    ) -> Result<Tried>
    where
        'a: 'env,
    {
        let git = self.ground.git;
        let frameworks: Vec<_> = self.suite.frameworks().collect();
        let change = change(git, charge.phase, charge.base, charge.head, &frameworks)?;
        let mut reasons = change::configuration(git, charge.phase, charge.base, charge.head, &change)?;
        reasons.extend(environment::planted(git, &self.room.facts, charge.head, &change)?);
        if let Some(before) = &charge.surroundings {
            reasons.extend(environment::changed(before, &self.surroundings, &self.around.tools, &change));
        }
        let (before, targets) = match (&charge.before, &charge.targets) {
            (Some(report), Some(targets)) => (report.clone(), targets.clone()),
            (Some(report), None) => (report.clone(), owed(charge.phase, report)),
            (None, _) => self.recall(charge)?,
        };
        if charge.phase == Phase::Refactor && change.paths.is_empty() {
            let verdict =
                judge::judge(charge.phase, Evidence { change: &change, before: &before, after: &before, targets: &[] });
            return Ok(self.tried(verdict, change, before.clone(), before));
        }
        let reading = Reading::of(self.ground.git, charge)?;
        let reworked = match charge.phase {
            Phase::Refactor => reworked(&reading.material(&change, &before, &targets)),
            Phase::Red | Phase::Green | Phase::Plan | Phase::Complete => Reworked::default(),
        };
        let known = reworked.without(&before);
        let extra = change::extra_tests(charge.phase, &change);
        let options = change::frozen(charge.phase, charge.base, &change);
        self.begin_candidate(charge)?;
        self.enter(Tree::Head, charge, &options)?;
        let guess = match reasons.is_empty() {
            true => self.guess(&reading.material(&change, &before, &targets)),
            false => Vec::new(),
        };
        let usual = if before.outcome == Outcome::TimedOut { Duration::ZERO } else { wall(&before) };
        let timeout = charge.timeout.max(usual * SLOWER_MAX);
        self.timeout = timeout;
        let docket = |controls, whole| Docket::new(controls, whole, timeout, self.ground.stop.part());
        let ahead = Helpers::start(scope, self.annex(), docket(guess, wall(&before)), charge, &options);
        let mut after = self.run(&Selection::All, &[])?;
        ahead.docket.suite_is_over(wall(&after));
        let mut known = known;
        if charge.phase == Phase::Green {
            known.tests.extend(control::asleep(&reading.material(&change, &after, &targets), &before, &after));
        }
        let rule = |known: &Report, after: &Report| {
            judge::judge(charge.phase, Evidence { change: &change, before: known, after, targets: &targets })
        };
        let mut verdict = rule(&known, &after);
        if verdict.decision == Decision::Refused && self.excuse(&before, &mut after, &targets)? {
            verdict = rule(&known, &after);
        }
        if verdict.has(Code::RefactorTurnsGreen) {
            if self.excuse_base(charge, &mut known, &after)? {
                verdict = rule(&known, &after);
            }
            self.enter(Tree::Head, charge, &options)?;
        }
        if !reasons.is_empty() {
            verdict = and_refused(verdict, reasons);
        }
        if verdict.decision == Decision::Accepted && !extra.is_empty() {
            self.enter(Tree::Head, charge, &Options::default())?;
            let more = self.run(&Selection::Files(extra), &[])?;
            after = judge::with_extra(after, more);
            verdict = rule(&known, &after);
            self.enter(Tree::Head, charge, &options)?;
        }
        let passes = verdict.decision == Decision::Accepted;
        if passes {
            let targets = judge::asked_for(charge.phase, &before, &after, &verdict, charge.targets.as_deref());
            let material = reading.material(&change, &after, &targets);
            let scene = Scene { charge, material: &material, options: &options };
            self.try_examples(scene, &mut verdict)?;
            let wrong = match charge.phase {
                Phase::Red => control::wrong_reasons(&material),
                Phase::Green | Phase::Refactor | Phase::Plan | Phase::Complete => Vec::new(),
            };
            if !wrong.is_empty() {
                verdict = and_refused(verdict, wrong);
            } else if charge.phase == Phase::Red {
                let doubts = control::doubts(&material);
                if !doubts.is_empty() {
                    verdict = Verdict { notes: verdict.notes.clone(), ..Verdict::undecided_all(doubts) };
                }
            }
            match charge.phase {
                _ if verdict.decision != Decision::Accepted => {}
                Phase::Refactor => self.compare(scene, &reworked, &mut verdict)?,
                Phase::Red | Phase::Green | Phase::Plan | Phase::Complete => {
                    let questions = self.questions(&material);
                    let helpers = match ahead.docket.lists(&questions) {
                        true => ahead,
                        false => {
                            drop(ahead);
                            let docket = docket(questions, wall(&after));
                            docket.suite_is_over(wall(&after));
                            Helpers::start(scope, self.annex(), docket, charge, &options)
                        }
                    };
                    self.control(scene, helpers, &mut verdict)?;
                }
            }
        }
        // Where the controls left a doubt about GREEN, what it did not see may settle it.
        let is_worth_it = match verdict.decision {
            Decision::Accepted => true,
            Decision::Undecided => passes && charge.phase == Phase::Green,
            Decision::Refused => false,
        };
        let mut unseen = Unseen::default();
        if is_worth_it {
            self.timeout = timeout;
            unseen = self.try_withheld(charge, &options, &after, &mut verdict)?;
        }
        let report = match verdict.decision {
            Decision::Accepted => judge::carry(&known, &after),
            Decision::Refused | Decision::Undecided => after.clone(),
        };
        Ok(Tried { unseen, ..self.tried(verdict, change, report, after) })
    }

    /// The questions that GREEN will be asked, as far as what RED left tells them already.
    fn guess(&self, material: &Material<'_>) -> Vec<Control> {
        let known = |id: &String| material.after.test(id).is_some();
        let all = !material.targets.is_empty() && material.targets.iter().all(known);
        if material.phase == Phase::Green && all { self.questions(material) } else { Vec::new() }
    }

    /// What RED left when nobody remembers it: the base, and the tree before it for what RED is not to blame for.
    fn recall(&mut self, charge: &Charge<'_>) -> Result<(Report, Vec<String>)> {
        self.enter(Tree::Base, charge, &Options::default())?;
        let base = self.run(&Selection::All, &[])?;
        let mut targets = owed(charge.phase, &base);
        let Some(earlier) = charge.earlier.filter(|_| charge.phase == Phase::Green && base.outcome != Outcome::Passed)
        else {
            return Ok((base, targets));
        };
        self.room.change_to(self.ground.git, earlier, &Options::default())?;
        let older = self.run(&Selection::All, &[])?;
        let known = change::failing(&older);
        targets.retain(|id| !known.contains(id));
        Ok((judge::carry(&older, &base), targets))
    }

    fn tried(&self, verdict: Verdict, change: Change, report: Report, shown: Report) -> Tried {
        let fence = self.room.fence(&self.sandbox, Network::Loopback);
        let fence = self.sandbox.held(&fence).to_string();
        Tried {
            verdict,
            change,
            report,
            shown,
            surroundings: self.surroundings.clone(),
            unseen: Unseen::default(),
            fence,
            tests: Duration::ZERO,
            own: Duration::ZERO,
        }
    }
}

fn wall(report: &Report) -> Duration {
    Duration::from_millis(report.wall_ms)
}

/// What has to pass at GREEN, going by what fails.
fn owed(phase: Phase, base: &Report) -> Vec<String> {
    match phase {
        Phase::Green => change::failing(base),
        Phase::Red | Phase::Refactor | Phase::Plan | Phase::Complete => Vec::new(),
    }
}

fn and_refused(verdict: Verdict, reasons: Vec<Reason>) -> Verdict {
    let earlier = match verdict.decision {
        Decision::Refused => verdict.reasons,
        Decision::Accepted | Decision::Undecided => Vec::new(),
    };
    Verdict { notes: verdict.notes, ..Verdict::refused(reasons.into_iter().chain(earlier).collect()) }
}
/// Test code of a language whose test files could bend the run of the others.
fn is_script(path: &str) -> bool {
    let language = Language::of_path(path);
    language == Language::Python || language.is_script()
}

fn is_added_test(changed: &ChangedPath) -> bool {
    changed.kind == Kind::Added && changed.class == Class::Test && is_script(&changed.path)
}
