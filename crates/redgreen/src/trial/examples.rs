//! The withheld examples, tried in the clean room by whoever can make the calls; only data goes in and out.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::control::Tree;
use redgreen_core::control::examples::{self, Driver, Example, Interpreted, Weighed};
use redgreen_core::control::inquiry::inquiry;
use redgreen_core::phase::Phase;
use redgreen_core::verdict::{Code, Reason, Verdict};
use redgreen_core::withheld::TestFile;

use super::and_refused;
use super::controls::BEHAVIOUR_WALL;
use super::court::Court;
use super::reading::Scene;
use crate::process::{Limits, Output, Program};
use crate::room::Request;
use crate::sandbox::Network;

const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// Beyond what the tests take twice, where code is built before it is called.
pub(super) const BUILD_WALL: Duration = Duration::from_secs(60);

/// What the brief knows and whoever wrote the candidate does not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Withheld<'a> {
    pub examples: &'a [Example],
    /// Nothing is left to develop: every example has to be met.
    pub due: bool,
    /// Tests that RED wrote and kept out of the repository.
    pub tests: &'a [TestFile],
}

impl Court<'_> {
    /// GREEN has to meet the examples, REFACTOR has to keep those that were met. What was expected is in the notes, for
    /// the human; the reasons, which agents are told, name the function only.
    pub(super) fn try_examples(&mut self, scene: Scene<'_>, verdict: &mut Verdict) -> Result<()> {
        let withheld = scene.charge.withheld;
        let code = match scene.charge.phase {
            Phase::Green => Code::GreenExamplesDiffer,
            Phase::Refactor => Code::RefactorBehaviour,
            Phase::Red | Phase::Plan | Phase::Complete => return Ok(()),
        };
        if withheld.examples.is_empty() {
            let hint = (code == Code::GreenExamplesDiffer).then(|| examples::hard_coded(scene.material)).flatten();
            verdict.notes.extend(hint);
            return Ok(());
        }
        let mut weighed = self.hear(scene, Tree::Head)?;
        verdict.notes.extend(weighed.notes());
        if weighed.wrong.is_empty() && weighed.absent.is_empty() {
            return Ok(());
        }
        let is_green = scene.charge.phase == Phase::Green;
        if !is_green {
            weighed = weighed.lost_since(&self.hear(scene, Tree::Base)?);
        } else if !withheld.due {
            verdict.notes.push("tests of the list are still open; the examples are not owed yet".to_owned());
            return Ok(());
        }
        let reasons =
            |code: Code, sentences: Vec<String>| sentences.into_iter().map(|one| Reason::new(code, one)).collect();
        let standing = verdict.standing;
        if !weighed.wrong.is_empty() {
            // The tests are met, and what meets them may be built upon.
            *verdict = Verdict { standing, ..and_refused(verdict.clone(), reasons(code, weighed.sentences())) };
        } else if !weighed.absent.is_empty() {
            // Whoever wrote the code cannot know where the examples look for it.
            let notes = verdict.notes.clone();
            *verdict = Verdict {
                standing,
                notes,
                ..Verdict::undecided_all(reasons(Code::GreenExamplesUnasked, weighed.doubts()))
            };
        }
        Ok(())
    }

    fn hear(&mut self, scene: Scene<'_>, tree: Tree) -> Result<Weighed> {
        let examples = scene.charge.withheld.examples;
        let (said, drivers) = self.say(scene, tree, examples)?;
        Ok(examples::weigh(examples, &drivers, &said))
    }

    /// What the drivers answer, and which could be asked.
    fn say(&mut self, scene: Scene<'_>, tree: Tree, examples: &[Example]) -> Result<(String, Vec<Driver>)> {
        let (mut said, mut drivers) = (String::new(), Vec::new());
        for driver in examples::INTERPRETED {
            let Some(question) = examples::question(examples, driver.driver) else { continue };
            self.enter(tree, scene.charge, scene.options)?;
            if let Some(answers) = self.interpret(driver, question)? {
                said.push_str(&answers);
                drivers.push(driver.driver);
            }
        }
        for driver in examples::BUILT {
            let Some(inquiry) = inquiry(scene.material, tree, examples, driver) else { continue };
            let log = match &inquiry.control {
                Some(control) => {
                    self.timeout = Duration::from_millis(scene.material.after.wall_ms) * 2 + BUILD_WALL;
                    self.perform(scene.charge, scene.options, control)?.1
                }
                None => String::new(),
            };
            said.push_str(&inquiry.said(&log));
            drivers.push(driver);
        }
        Ok((said, drivers))
    }

    /// What a driver answers in the room as it is; nothing where its interpreter is not here.
    pub(super) fn interpret(&mut self, driver: Interpreted, question: String) -> Result<Option<String>> {
        let is_python = driver.driver == Driver::Python;
        let interpreter = if is_python { self.python() } else { self.room.tool("node") };
        let Some(interpreter) = interpreter else { return Ok(None) };
        let file = self.room.scratch().join(driver.file);
        fs::write(&file, driver.source).context("write the driver")?;
        let program = self.room.program(interpreter).arg(&file).stdin(question).env("PYTHONDONTWRITEBYTECODE", "1");
        let said = self.start(&self.given(program))?.stdout_text();
        Ok(Some(format!("{}\n", self.redacted(&said))))
    }

    pub(super) fn start(&mut self, program: &Program) -> Result<Output> {
        let limits = Limits { wall: BEHAVIOUR_WALL, output_bytes_max: OUTPUT_BYTES_MAX };
        let request = Request { network: Network::Loopback, outlet: None, extra: &[], limits, stop: self.ground.stop };
        let started = Instant::now();
        let output = self.room.run(&self.sandbox, program, &request)?.output;
        self.running += started.elapsed();
        Ok(output)
    }
}
