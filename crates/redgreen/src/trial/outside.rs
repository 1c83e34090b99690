//! GREEN, where neither tests nor a runner are: code that answers otherwise there looks at who is asking.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::control::Tree;
use redgreen_core::control::examples::{self, Example};
use redgreen_core::control::outside;
use redgreen_core::phase::Phase;
use redgreen_core::report::Outcome;
use redgreen_core::verdict::{Code, Reason, Verdict};

use super::court::Court;
use super::examples::BUILD_WALL;
use super::reading::Scene;

impl Court<'_> {
    /// GREEN: what the tests were told is asked where no runner is. Another answer there, and the test's own to a test
    /// that does nothing else, is a matter for a human.
    pub(super) fn try_outside(&mut self, scene: Scene<'_>, verdict: &mut Verdict) -> Result<()> {
        if scene.charge.phase != Phase::Green {
            return Ok(());
        }
        for program in outside::programs(scene.material) {
            if let Some(reason) = self.try_program(scene, &program)? {
                *verdict = to_be_looked_at(verdict, reason);
                return Ok(());
            }
        }
        let asked = outside::asked(scene.material);
        let all: Vec<Example> = asked.iter().map(|one| one.example.clone()).collect();
        if all.is_empty() {
            return Ok(());
        }
        let said = self.say_apart(scene, &all)?;
        let differs = examples::contradicted(&all, &said);
        let Some(first) = differs.first().and_then(|index| asked.get(*index)) else { return Ok(()) };
        // Calls before it may have left something behind.
        let alone = [first.example.clone()];
        let said = self.say_apart(scene, &alone)?;
        if examples::contradicted(&alone, &said).is_empty() {
            return Ok(());
        }
        let (report, _) = self.perform(scene.charge, scene.options, &first.bare)?;
        if report.outcome == Outcome::Passed && !report.tests.is_empty() {
            let call = first.example.shown();
            let sentence = format!(
                "{call} gives another value where no test runner is, and the expected one to a test: the code looks at \
                 who is asking, or decides itself what its answers are equal to"
            );
            let place = first.example.call.rsplit_once(':').map(|(file, _)| file.to_owned());
            let reason = Reason::new(Code::GreenSuspicious, sentence).place(place.as_deref(), None);
            *verdict = to_be_looked_at(verdict, reason);
        }
        Ok(())
    }

    /// A body that holds in a test and not in a program, alone as well, asks who runs it.
    fn try_program(&mut self, scene: Scene<'_>, program: &outside::Program) -> Result<Option<Reason>> {
        let differs = self.run_program(scene, program)?;
        let Some(first) = differs.first() else { return Ok(None) };
        let alone = program.with_only(*first);
        if self.run_program(scene, &alone)?.is_empty() {
            return Ok(None);
        }
        let sentence = format!(
            "{} holds in a test, and not where the same lines are a program: the code looks at who is asking",
            alone.test(0)
        );
        Ok(Some(Reason::new(Code::GreenSuspicious, sentence).place(Some(&program.file), None)))
    }

    /// The bodies that hold in a test only. Nothing is known where the program cannot be built.
    fn run_program(&mut self, scene: Scene<'_>, program: &outside::Program) -> Result<Vec<usize>> {
        let name = outside::Program::NAME;
        let Some(built) = self.room.build().map(|folder| folder.join("debug/examples").join(name)) else {
            return Ok(Vec::new());
        };
        // What an older verdict built would be run in its place.
        match fs::remove_file(&built) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).context("remove an old program"),
            Ok(()) | Err(_) => {}
        }
        self.timeout = Duration::from_millis(scene.material.after.wall_ms) * 2 + BUILD_WALL;
        let (report, _) = self.perform(scene.charge, scene.options, &program.control())?;
        if !built.is_file() {
            return Ok(Vec::new());
        }
        self.enter_apart(scene)?;
        let place = self.room.scratch().join("program");
        fs::copy(&built, &place).context("copy a program")?;
        // Where cargo starts tests.
        let home = self.room.folder().join(&program.folder);
        let output = self.start(&self.room.program(place).cwd(&home))?;
        Ok(program.contradicted(&report, &output.stdout_text()))
    }

    /// What the drivers answer where there are neither tests nor a runner.
    fn say_apart(&mut self, scene: Scene<'_>, examples: &[Example]) -> Result<String> {
        let mut said = String::new();
        for driver in examples::INTERPRETED {
            let Some(question) = examples::question_apart(examples, driver.driver, &outside::RUNNERS) else { continue };
            self.enter_apart(scene)?;
            said.push_str(&self.interpret(driver, question)?.unwrap_or_default());
        }
        Ok(said)
    }

    /// Makes the room that of the candidate, without its tests.
    fn enter_apart(&mut self, scene: Scene<'_>) -> Result<()> {
        let mut options = scene.options.clone();
        options.removed.extend(outside::unseen(scene.material).into_iter().map(PathBuf::from));
        self.enter(Tree::Head, scene.charge, &options)
    }
}

/// Not decided, for that reason.
fn to_be_looked_at(verdict: &Verdict, reason: Reason) -> Verdict {
    let (notes, faults) = (verdict.notes.clone(), verdict.faults);
    Verdict { notes, faults, ..Verdict::undecided_all(vec![reason]) }
}
