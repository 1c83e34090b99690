//! The suite itself is tried: the mind's controls are performed in the room, and the first wrong answer decides.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::control::behaviour::{self, Ask, Said};
use redgreen_core::control::recital;
use redgreen_core::control::reworked::{Reworked, comparisons, is_silent, old_tests};
use redgreen_core::control::{self, Answer, Control, Material, Question, Tree};
use redgreen_core::report::{Outcome, Report};
use redgreen_core::syntax::INERT_LOG;
use redgreen_core::verdict::{Code, Faults, Reason, Verdict};

use super::court::Court;
use super::docket::{FAULT_GRACE, Performed};
use super::helpers::Helpers;
use super::reading::Scene;
use super::{Charge, and_refused};
use crate::process::{Interrupted, Limits};
use crate::room::{Options, Request};
use crate::sandbox::Network;

/// Faults put into the changed lines, unless the project wants another number.
const MUTANTS: usize = 6;
/// For comparing reworked tests with the old ones.
const COMPARISON_WALL: Duration = Duration::from_secs(90);
/// As many faults are compared however long that takes: a busy machine may be slow, and never sees less than it must.
const COMPARISONS_MIN: usize = 15;
pub(super) const BEHAVIOUR_WALL: Duration = Duration::from_secs(10);

/// What became of the faults put into the changed lines.
#[derive(Default)]
struct Noticed {
    faults: Faults,
    unnoticed: Vec<String>,
}

impl Noticed {
    fn tell(self, verdict: &mut Verdict) {
        if self.faults.tried > 0 {
            verdict.faults = Some(self.faults);
            verdict.notes.push(self.faults.to_string());
            verdict.notes.extend(self.unnoticed.into_iter().map(|what| format!("not noticed: {what}")));
        }
    }
}

/// Whether a test was run at all.
fn ran(report: &Report) -> bool {
    report.tests.iter().any(|test| !test.status.is_idle())
}

impl Court<'_> {
    /// The mind's questions, with as many faults as the project wants.
    pub(super) fn questions(&self, material: &Material<'_>) -> Vec<Control> {
        let most = self.ground.file.test.mutants.unwrap_or(MUTANTS);
        let mut faults = 0;
        let mut controls = control::controls(material);
        controls.retain(|control| {
            faults += usize::from(control.question == Question::Mutant);
            control.question != Question::Mutant || faults <= most
        });
        controls
    }

    /// Performs what is listed, together with the helpers, and weighs it in its order: the first wrong answer decides.
    pub(super) fn control(&mut self, scene: Scene<'_>, mut helpers: Helpers<'_>, verdict: &mut Verdict) -> Result<()> {
        let mut seen = Noticed::default();
        loop {
            while let Some(done) = helpers.docket.next_done() {
                let (control, came) = done?;
                if let Some(decided) = self.weigh(scene, &control, &came, &mut seen, verdict)? {
                    *verdict = decided;
                    return Ok(());
                }
            }
            if let Some(case) = helpers.docket.take() {
                self.timeout = case.timeout;
                let came = self.perform(scene.charge, scene.options, &case.control);
                helpers.docket.file(&case, came);
            } else if helpers.are_at_work() {
                let waited = Instant::now();
                helpers.wait();
                self.running += waited.elapsed();
            } else if helpers.docket.is_answered() {
                break;
            } else {
                return Err(Interrupted.into());
            }
        }
        seen.tell(verdict);
        let suspicions = control::suspicions(scene.material);
        if !suspicions.is_empty() {
            let faults = verdict.faults;
            *verdict = Verdict { notes: verdict.notes.clone(), faults, ..Verdict::undecided_all(suspicions) };
            return Ok(());
        }
        drop(helpers);
        self.try_outside(scene, verdict)
    }

    /// What an answer decides, if it does.
    fn weigh(
        &mut self,
        scene: Scene<'_>,
        control: &Control,
        (report, calls): &Performed,
        seen: &mut Noticed,
        verdict: &mut Verdict,
    ) -> Result<Option<Verdict>> {
        let mut answer = control.weigh(scene.material, report, calls);
        if let (Answer::Wrong(_), Some(other)) = (&answer, &control.otherwise) {
            self.timeout = scene.charge.timeout;
            let (report, calls) = self.perform(scene.charge, scene.options, other)?;
            answer = answer.and(other.weigh(scene.material, &report, &calls));
        }
        if control.question == Question::Mutant {
            seen.faults.tried += 1;
        }
        match answer {
            Answer::Right if control.question == Question::Mutant => seen.faults.noticed += 1,
            Answer::Right => {}
            Answer::Wrong(reasons) => return Ok(Some(and_refused(verdict.clone(), reasons))),
            Answer::Ask(reasons) => {
                let notes = verdict.notes.clone();
                return Ok(Some(Verdict { notes, ..Verdict::undecided_all(reasons) }));
            }
            Answer::Unnoticed(what) => seen.unnoticed.push(what),
            Answer::Unknown(what) => verdict.notes.push(format!("could not be tried: {what}")),
        }
        Ok(None)
    }

    /// REFACTOR: the tests notice what they noticed before, and the code answers as it did.
    pub(super) fn compare(&mut self, scene: Scene<'_>, reworked: &Reworked, verdict: &mut Verdict) -> Result<()> {
        if reworked.is_proof_needed() {
            let reasons = self.prove(scene, reworked, verdict)?;
            if !reasons.is_empty() {
                *verdict = and_refused(verdict.clone(), reasons);
                return Ok(());
            }
            let doubts = reworked.doubts();
            if !doubts.is_empty() {
                *verdict = Verdict { notes: verdict.notes.clone(), ..Verdict::undecided_all(doubts) };
                return Ok(());
            }
        }
        let mut suspicions = control::hidden_from_coverage(scene.material);
        suspicions.extend(control::new_features(scene.material));
        if !suspicions.is_empty() {
            *verdict = and_refused(verdict.clone(), suspicions);
            return Ok(());
        }
        if let Some(ask) = behaviour::ask(scene.material) {
            let before = self.behaviour(scene, Tree::Base, &ask)?;
            let now = self.behaviour(scene, Tree::Head, &ask)?;
            let different = behaviour::differences(&before, &now);
            if !different.is_empty() {
                *verdict = and_refused(verdict.clone(), different);
                return Ok(());
            } else if !before.answers.is_empty() {
                verdict.notes.push(format!("{} calls answer as before", before.answers.len()));
            }
        }
        let different = self.recite(scene, verdict)?;
        if !different.is_empty() {
            *verdict = and_refused(verdict.clone(), different);
            return Ok(());
        }
        let removals = reworked.removals();
        if !removals.is_empty() {
            *verdict = Verdict { notes: verdict.notes.clone(), ..Verdict::undecided_all(removals) };
        }
        Ok(())
    }

    /// Where code is built or translated before it is called, a test of ours calls it, on both trees.
    fn recite(&mut self, scene: Scene<'_>, verdict: &mut Verdict) -> Result<Vec<Reason>> {
        let usual = Duration::from_millis(scene.material.after.wall_ms);
        self.timeout = usual * 2 + BEHAVIOUR_WALL;
        for now in recital::recitals(scene.material) {
            let before = Control { tree: Tree::Base, ..now.clone() };
            let before = recital::said(&self.perform(scene.charge, scene.options, &before)?.1);
            let now = recital::said(&self.perform(scene.charge, scene.options, &now)?.1);
            let different = behaviour::differences(&before, &now);
            if !different.is_empty() {
                return Ok(different);
            } else if !before.answers.is_empty() {
                verdict.notes.push(format!("{} calls answer as before", before.answers.len()));
            }
        }
        Ok(Vec::new())
    }

    /// Puts faults into the code: whatever the old tests notice, the new ones have to notice.
    pub(super) fn prove(
        &mut self,
        scene: Scene<'_>,
        reworked: &Reworked,
        verdict: &mut Verdict,
    ) -> Result<Vec<Reason>> {
        let comparisons = comparisons(scene.material, reworked);
        if comparisons.is_empty() {
            return Ok(vec![Reason::new(Code::RefactorTestsVanished, "tests are gone, and so is what they tested")]);
        }
        let old = self.perform(scene.charge, scene.options, &old_tests(scene.material, reworked))?.0;
        let known = scene.material.after;
        if old.outcome != Outcome::Passed && !(ran(&old) && is_silent(&old, known)) {
            let sentence = "tests were changed together with what they test; nothing shows that both mean the same";
            return Ok(vec![Reason::new(Code::RefactorTestsVanished, sentence)]);
        }
        let usual = Duration::from_millis(scene.material.after.wall_ms);
        self.timeout = usual * 2 + FAULT_GRACE;
        let budget = COMPARISON_WALL.max(usual * 2);
        let started = Instant::now();
        let mut tried = 0;
        for comparison in &comparisons {
            if tried >= COMPARISONS_MIN && started.elapsed() > budget {
                break;
            }
            let new = self.perform(scene.charge, scene.options, &comparison.new)?.0;
            tried += 1;
            if is_silent(&new, known) {
                let old = self.perform(scene.charge, scene.options, &comparison.old)?.0;
                if let Some(reason) = comparison.weigh(&old, &new, known) {
                    return Ok(vec![reason]);
                }
            }
        }
        verdict.notes.push(format!("the reworked tests notice what the old ones did, in {tried} faults"));
        Ok(Vec::new())
    }

    /// Has a child process call functions of a tree; only data goes in and out.
    pub(super) fn behaviour(&mut self, scene: Scene<'_>, tree: Tree, ask: &Ask) -> Result<Said> {
        self.enter(tree, scene.charge, scene.options)?;
        let scratch = self.room.scratch();
        let (driver, question) = (scratch.join("behaviour.py"), serde_json::to_string(ask)?);
        fs::write(&driver, behaviour::DRIVER).context("write the driver")?;
        let Some(python) = self.python() else { return Ok(Said::default()) };
        let program = self.room.program(python).arg(&driver).stdin(question).env("PYTHONDONTWRITEBYTECODE", "1");
        // The order of a set is nobody's behaviour.
        let program = program.env("PYTHONHASHSEED", "0");
        let limits = Limits { wall: BEHAVIOUR_WALL, output_bytes_max: 8 << 20 };
        let request = Request { network: Network::Loopback, outlet: None, extra: &[], limits, stop: self.ground.stop };
        let started = Instant::now();
        let output = self.room.run(&self.sandbox, &self.given(program), &request)?.output;
        self.running += started.elapsed();
        Ok(serde_json::from_str(&self.redacted(&output.stdout_text())).unwrap_or_default())
    }

    /// The interpreter that the tests use.
    pub(super) fn python(&self) -> Option<PathBuf> {
        let inside = [".venv/bin/python", "venv/bin/python"].map(|path| self.room.folder().join(path));
        let inside = inside.into_iter().find(|path| self.room.really(path).exists());
        let active = self.ground.environment.virtual_env.as_ref().map(|folder| folder.join("bin/python"));
        inside.or(active.filter(|path| path.exists())).or_else(|| self.room.tool("python3"))
    }

    /// Lays a control's files over its tree and runs its tests; what the stand-ins wrote down comes along.
    pub(super) fn perform(&mut self, charge: &Charge<'_>, options: &Options, control: &Control) -> Result<Performed> {
        self.enter(control.tree, charge, options)?;
        for (path, text) in &control.edits {
            let place = self.room.folder().join(path);
            let act = || format!("lay {path} into the room");
            fs::create_dir_all(place.parent().unwrap_or(self.room.folder())).with_context(act)?;
            fs::write(&place, text).with_context(act)?;
        }
        let log = self.room.scratch().join("calls");
        fs::write(&log, "").context("make a list of calls")?;
        let mut variables = vec![(INERT_LOG.into(), log.clone().into())];
        variables.extend(control.variables.iter().map(|(name, value)| ((*name).into(), value.into())));
        let report = self.run(&control.selection, &variables)?;
        let calls = fs::read(&log).context("read the list of calls")?;
        Ok((report, String::from_utf8_lossy(&calls).into_owned()))
    }
}
