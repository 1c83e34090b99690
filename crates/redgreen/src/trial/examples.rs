//! The withheld examples, tried in the clean room by a child process that gets and gives data only.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::control::Tree;
use redgreen_core::control::examples::{self, Driver, Example, Interpreted, Weighed};
use redgreen_core::control::inquiry::inquiry;
use redgreen_core::control::outside;
use redgreen_core::phase::Phase;
use redgreen_core::report::Outcome;
use redgreen_core::verdict::{Code, Reason, Verdict};

use super::and_refused;
use super::controls::BEHAVIOUR_WALL;
use super::court::Court;
use super::reading::Scene;
use crate::process::{Limits, Output, Program};
use crate::room::Request;
use crate::sandbox::Network;

const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// Beyond what the tests take twice, where code is built before it is called.
const BUILD_WALL: Duration = Duration::from_secs(60);

/// What the brief knows and whoever wrote the candidate does not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Withheld<'a> {
    pub examples: &'a [Example],
    /// Nothing is left to develop: every example has to be met.
    pub due: bool,
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

    /// What a driver answers in the room as it is; nothing where its interpreter is not here.
    fn interpret(&mut self, driver: Interpreted, question: String) -> Result<Option<String>> {
        let interpreter = match driver.driver {
            Driver::Python => self.python(),
            Driver::Node | Driver::Script | Driver::Rust | Driver::Go => self.room.tool(driver.interpreter),
        };
        let Some(interpreter) = interpreter else { return Ok(None) };
        let file = self.room.scratch().join(driver.file);
        fs::write(&file, driver.source).context("write the driver")?;
        let program = self.room.program(interpreter).arg(&file).stdin(question).env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(Some(format!("{}\n", self.start(&program)?.stdout_text())))
    }

    fn start(&mut self, program: &Program) -> Result<Output> {
        let limits = Limits { wall: BEHAVIOUR_WALL, output_bytes_max: OUTPUT_BYTES_MAX };
        let request = Request { network: Network::Loopback, extra: &[], limits, stop: self.ground.stop };
        let started = Instant::now();
        let output = self.room.run(&self.sandbox, program, &request)?.output;
        self.running += started.elapsed();
        Ok(output)
    }
}

/// Not decided, for that reason.
fn to_be_looked_at(verdict: &Verdict, reason: Reason) -> Verdict {
    let (notes, faults) = (verdict.notes.clone(), verdict.faults);
    Verdict { notes, faults, ..Verdict::undecided_all(vec![reason]) }
}
