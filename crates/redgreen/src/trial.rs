//! A trial: a candidate is run in the clean room, the mind rules on what was seen, and where it would accept, the suite
//! itself is tried with the mind's controls. The one way to a verdict: for the run, for `redgreen judge`, for everybody.

mod change;
mod environment;
mod examples;
mod memory;
mod packages;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::change::{Change, Class, Kind};
use redgreen_core::control::behaviour::{self, Ask, Said};
use redgreen_core::control::reworked::{Reworked, comparisons, old_tests, reworked};
use redgreen_core::control::{self, Answer, Control, Material, Question, Tree};
use redgreen_core::framework::command::Command;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::judge::{self, Evidence};
use redgreen_core::phase::Phase;
use redgreen_core::report::{Outcome, Report};
use redgreen_core::syntax::{INERT_LOG, Language, Package};
use redgreen_core::verdict::{Code, Decision, Reason, Verdict};

use crate::config;
use crate::failure::Failure;
use crate::git::Git;
use crate::process::{Limits, Program, Stop};
use crate::room::{Options, Request, Room, Surroundings, Trust, build_folder};
use crate::runner::{self, Place, Settings, Suite};
use crate::sandbox::{Network, Sandbox};

pub(crate) use change::change;
pub use environment::{Seen, Surrounding};
pub use examples::Withheld;
pub use memory::{Memory, Remembered};

/// How often a test that broke is tried again before it is blamed.
const FLAKE_TRIES: usize = 5;
/// Faults put into the changed lines, unless the project wants another number.
const MUTANTS: usize = 6;
/// For the faults put into the changed lines: at most this long, or a share of what the suite took.
const MUTANTS_WALL: Duration = Duration::from_millis(800);
/// What a fault may take beyond twice the usual time.
const MUTANT_GRACE: Duration = Duration::from_millis(500);
/// For comparing reworked tests with the old ones.
const COMPARISON_WALL: Duration = Duration::from_secs(30);
const BEHAVIOUR_WALL: Duration = Duration::from_secs(10);
const COPY_WALL: Duration = Duration::from_secs(300);

/// Where a trial is held.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub git: &'a Git,
    /// Where packages are installed: the user's checkout, or the run's worktree.
    pub checkout: &'a Path,
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
    pub surroundings: Seen,
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
    let mut court = Court::open(ground, charge.base, charge.head, charge.timeout)?;
    let tried = court.try_candidate(charge);
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
    let mut court = Court::open(ground, tree, tree, timeout)?;
    let report = court.run(&Selection::All, &[]);
    let surroundings = court.surroundings.clone();
    court.close()?;
    Ok(Remembered { version: 1, report: report?, targets: Vec::new(), surroundings })
}

struct Court<'a> {
    ground: Ground<'a>,
    sandbox: Sandbox,
    room: Room,
    suite: Suite,
    timeout: Duration,
    /// Build output of accepted trees, and of this candidate.
    builds: Option<(PathBuf, PathBuf)>,
    surroundings: Seen,
    running: Duration,
    _lock: fs::File,
}

impl<'a> Court<'a> {
    fn open(ground: Ground<'a>, base: &str, head: &str, timeout: Duration) -> Result<Self> {
        let sandbox = match ground.file.test.fence {
            config::Fence::Auto => Sandbox::here()?.clone(),
            config::Fence::None => Sandbox::open()?,
        };
        let (place, lock) = free_room(&ground.workshop.join("rooms"))?;
        let found = environment::look(ground, head)?;
        let surroundings = found.seen;
        let around = Surroundings { ..found.surroundings };
        let builds = around.tools.get("cargo").map(|_| {
            let root = ground.workshop.join("builds");
            let folder = |trust| build_folder(&root, &place, trust, &around.tools);
            (folder(Trust::Accepted), folder(Trust::Candidate(head)))
        });
        let options = Options { base: Some(base.to_owned()), ..Options::default() };
        let around = Surroundings { build: builds.as_ref().map(|(accepted, _)| accepted.clone()), ..around };
        let mut room = Room::materialise(ground.git, head, &place, &options, around)?;
        let suite = match ground.suite(room.folder()) {
            Ok(suite) => suite,
            // The candidate may have taken the manifest away; what the tests are is known from before.
            Err(error) => {
                room.change_to(ground.git, base, &Options::default())?;
                let suite = ground.suite(room.folder()).map_err(|_| error)?;
                room.change_to(ground.git, head, &options)?;
                suite
            }
        };
        Ok(Self { ground, sandbox, room, suite, timeout, builds, surroundings, running: Duration::ZERO, _lock: lock })
    }

    fn try_candidate(&mut self, charge: &Charge<'_>) -> Result<Tried> {
        let git = self.ground.git;
        let frameworks: Vec<_> = self.suite.frameworks().collect();
        let change = change(git, charge.phase, charge.base, charge.head, &frameworks)?;
        let mut reasons = change::configuration(git, charge.phase, charge.base, charge.head, &change)?;
        reasons.extend(environment::planted(git, &self.room.facts, charge.head, &change)?);
        if let Some(before) = &charge.surroundings {
            reasons.extend(environment::changed(before, &self.surroundings, &change));
        }
        let (before, targets) = match (&charge.before, &charge.targets) {
            (Some(report), Some(targets)) => (report.clone(), targets.clone()),
            (Some(report), None) => (report.clone(), owed(charge.phase, report)),
            (None, _) => self.recall(charge)?,
        };
        if charge.phase == Phase::Refactor && change.paths.is_empty() {
            let verdict =
                judge::judge(charge.phase, Evidence { change: &change, before: &before, after: &before, targets: &[] });
            return Ok(self.tried(verdict, change, before));
        }
        let reading = Reading::of(self.ground.git, charge)?;
        let reworked = match charge.phase {
            Phase::Refactor => reworked(&reading.material(&change, &before, &targets)),
            Phase::Red | Phase::Green | Phase::Plan | Phase::Complete => Reworked::default(),
        };
        let known = reworked.without(&before);
        let extra = change::extra_tests(charge.phase, &change);
        let options = change::frozen(charge.phase, charge.base, &change);
        self.take_build(charge)?;
        self.enter(Tree::Head, charge, &options)?;
        let mut after = self.run(&Selection::All, &[])?;
        let rule = |after: &Report| {
            judge::judge(charge.phase, Evidence { change: &change, before: &known, after, targets: &targets })
        };
        let mut verdict = rule(&after);
        if verdict.decision == Decision::Refused && self.excuse(&before, &mut after, &targets)? {
            verdict = rule(&after);
        }
        if !reasons.is_empty() {
            verdict = and_refused(verdict, reasons);
        }
        if verdict.decision == Decision::Accepted && !extra.is_empty() {
            self.enter(Tree::Head, charge, &Options::default())?;
            let more = self.run(&Selection::Files(extra), &[])?;
            after = judge::with_extra(after, more);
            verdict = rule(&after);
            self.enter(Tree::Head, charge, &options)?;
        }
        if verdict.decision == Decision::Accepted {
            let targets = judge::asked_for(charge.phase, &before, &after, &verdict, charge.targets.as_deref());
            let material = reading.material(&change, &after, &targets);
            let scene = Scene { charge, material: &material, options: &options };
            self.try_examples(scene, &mut verdict)?;
            match charge.phase {
                _ if verdict.decision != Decision::Accepted => {}
                Phase::Refactor => self.compare(scene, &reworked, &mut verdict)?,
                Phase::Red | Phase::Green | Phase::Plan | Phase::Complete => self.control(scene, &mut verdict)?,
            }
        }
        let report = match verdict.decision {
            Decision::Accepted => judge::carry(&known, &after),
            Decision::Refused | Decision::Undecided => after,
        };
        Ok(self.tried(verdict, change, report))
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

    fn tried(&self, verdict: Verdict, change: Change, report: Report) -> Tried {
        let fence = self.room.fence(&self.sandbox, Network::Loopback);
        let fence = self.sandbox.held(&fence).to_string();
        Tried {
            verdict,
            change,
            report,
            surroundings: self.surroundings.clone(),
            fence,
            tests: Duration::ZERO,
            own: Duration::ZERO,
        }
    }

    /// Asks the mind's questions one after the other; the first wrong answer decides.
    fn control(&mut self, scene: Scene<'_>, verdict: &mut Verdict) -> Result<()> {
        let Scene { charge, material, .. } = scene;
        let suspicions = control::suspicions(material);
        let mut mutants = (0, 0);
        let mut unnoticed = Vec::new();
        let budget = MUTANTS_WALL.max(Duration::from_millis(material.after.wall_ms / 4));
        let mut spent = Duration::ZERO;
        let most = self.ground.file.test.mutants.unwrap_or(MUTANTS);
        for control in control::controls(material) {
            let is_mutant = control.question == Question::Mutant;
            if is_mutant && (spent >= budget || mutants.1 >= most) {
                break;
            }
            // A fault may well make a loop endless; that is noticed, too.
            let usual = Duration::from_millis(material.after.wall_ms);
            self.timeout = if is_mutant { usual * 2 + MUTANT_GRACE } else { charge.timeout };
            let started = Instant::now();
            let mut answer = self.ask(scene, &control)?;
            if let (Answer::Wrong(_), Some(other)) = (&answer, &control.otherwise) {
                answer = answer.and(self.ask(scene, other)?);
            }
            if is_mutant {
                spent += started.elapsed();
                mutants.1 += 1;
            }
            match answer {
                Answer::Right if is_mutant => mutants.0 += 1,
                Answer::Right => {}
                Answer::Wrong(reasons) => {
                    *verdict = and_refused(verdict.clone(), reasons);
                    return Ok(());
                }
                Answer::Ask(reasons) => {
                    *verdict = Verdict { notes: verdict.notes.clone(), ..Verdict::undecided_all(reasons) };
                    return Ok(());
                }
                Answer::Unnoticed(what) => unnoticed.push(what),
                Answer::Unknown(what) => verdict.notes.push(format!("could not be tried: {what}")),
            }
        }
        if mutants.1 > 0 {
            verdict
                .notes
                .push(format!("{} of {} faults put into the changed lines were noticed", mutants.0, mutants.1));
            verdict.notes.extend(unnoticed.into_iter().map(|what| format!("not noticed: {what}")));
        }
        if !suspicions.is_empty() {
            *verdict = Verdict { notes: verdict.notes.clone(), ..Verdict::undecided_all(suspicions) };
        }
        Ok(())
    }

    /// REFACTOR: the tests notice what they noticed before, and the code answers as it did.
    fn compare(&mut self, scene: Scene<'_>, reworked: &Reworked, verdict: &mut Verdict) -> Result<()> {
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
        let suspicions = control::hidden_from_coverage(scene.material);
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
            } else if !before.answers.is_empty() {
                verdict.notes.push(format!("{} calls answer as before", before.answers.len()));
            }
        }
        Ok(())
    }

    /// Puts faults into the code: whatever the old tests notice, the new ones have to notice.
    fn prove(&mut self, scene: Scene<'_>, reworked: &Reworked, verdict: &mut Verdict) -> Result<Vec<Reason>> {
        let comparisons = comparisons(scene.material, reworked);
        if comparisons.is_empty() {
            return Ok(vec![Reason::new(Code::RefactorTestsVanished, "tests are gone, and so is what they tested")]);
        }
        let old = self.perform(scene, &old_tests(scene.material, reworked))?.0;
        if old.outcome != Outcome::Passed {
            let sentence = "tests were changed together with what they test; nothing shows that both mean the same";
            return Ok(vec![Reason::new(Code::RefactorTestsVanished, sentence)]);
        }
        let usual = Duration::from_millis(scene.material.after.wall_ms);
        self.timeout = usual * 2 + MUTANT_GRACE;
        let budget = COMPARISON_WALL.max(usual * 2);
        let started = Instant::now();
        let mut tried = 0;
        for comparison in &comparisons {
            if started.elapsed() > budget {
                break;
            }
            let new = self.perform(scene, &comparison.new)?.0;
            tried += 1;
            if new.outcome == Outcome::Passed {
                let old = self.perform(scene, &comparison.old)?.0;
                if let Some(reason) = comparison.weigh(&old, &new) {
                    return Ok(vec![reason]);
                }
            }
        }
        verdict.notes.push(format!("the reworked tests notice what the old ones did, in {tried} faults"));
        Ok(Vec::new())
    }

    /// Has a child process call functions of a tree; only data goes in and out.
    fn behaviour(&mut self, scene: Scene<'_>, tree: Tree, ask: &Ask) -> Result<Said> {
        self.enter(tree, scene.charge, scene.options)?;
        let scratch = self.room.scratch();
        let (driver, question) = (scratch.join("behaviour.py"), serde_json::to_string(ask)?);
        fs::write(&driver, behaviour::DRIVER).context("write the driver")?;
        let Some(python) = self.python() else { return Ok(Said::default()) };
        let program = self.room.program(python).arg(&driver).stdin(question).env("PYTHONDONTWRITEBYTECODE", "1");
        // The order of a set is nobody's behaviour.
        let program = program.env("PYTHONHASHSEED", "0");
        let limits = Limits { wall: BEHAVIOUR_WALL, output_bytes_max: 8 << 20 };
        let request = Request { network: Network::Loopback, extra: &[], limits, stop: self.ground.stop };
        let started = Instant::now();
        let output = self.room.run(&self.sandbox, &program, &request)?.output;
        self.running += started.elapsed();
        Ok(serde_json::from_slice(&output.stdout).unwrap_or_default())
    }

    /// The interpreter that the tests use.
    fn python(&self) -> Option<PathBuf> {
        let inside = [".venv/bin/python", "venv/bin/python"].map(|path| self.room.folder().join(path));
        let inside = inside.into_iter().find(|path| self.room.really(path).exists());
        let active = self.ground.environment.virtual_env.as_ref().map(|folder| folder.join("bin/python"));
        inside.or(active.filter(|path| path.exists())).or_else(|| self.room.tool("python3"))
    }

    fn ask(&mut self, scene: Scene<'_>, control: &Control) -> Result<Answer> {
        let (report, calls) = self.perform(scene, control)?;
        Ok(control.weigh(scene.material, &report, &calls))
    }

    /// Lays a control's files over its tree and runs its tests; what the stand-ins wrote down comes along.
    fn perform(&mut self, scene: Scene<'_>, control: &Control) -> Result<(Report, String)> {
        self.enter(control.tree, scene.charge, scene.options)?;
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

    /// Tests that passed before and fail now are run again: whatever passes once is a flake, and nobody's doing.
    fn excuse(&mut self, before: &Report, after: &mut Report, targets: &[String]) -> Result<bool> {
        let mut blamed = judge::newly_failing(before, after, targets);
        let mut excused = false;
        for _ in 0..FLAKE_TRIES {
            if blamed.is_empty() {
                break;
            }
            let files: Option<Vec<String>> = blamed.iter().map(|test| test.file.clone()).collect();
            let selection = files.filter(|files| files.iter().all(|file| !file.ends_with(".rs")));
            let again = self.run(&selection.map_or(Selection::All, Selection::Files), &[])?;
            excused |= judge::excuse(after, &again, &mut blamed);
        }
        Ok(excused)
    }

    /// Makes the room that of the tree.
    fn enter(&mut self, tree: Tree, charge: &Charge<'_>, options: &Options) -> Result<()> {
        let (name, options) = match tree {
            Tree::Base => (charge.base, Options::default()),
            Tree::Head => (charge.head, Options { base: Some(charge.base.to_owned()), ..options.clone() }),
        };
        if let Some((accepted, candidate)) = &self.builds {
            self.room.build_in(if tree == Tree::Base { accepted } else { candidate });
        }
        self.room.change_to(self.ground.git, name, &options)
    }

    /// The candidate builds upon what accepted trees have built, and writes to none of it.
    fn take_build(&self, charge: &Charge<'_>) -> Result<()> {
        let Some((accepted, candidate)) = &self.builds else { return Ok(()) };
        crate::git::remove_folder(candidate).with_context(|| format!("clear {}", candidate.display()))?;
        if !accepted.is_dir() || charge.before.is_some() && !accepted.join("debug").is_dir() {
            return fs::create_dir_all(candidate).with_context(|| format!("create {}", candidate.display()));
        }
        let limits = Limits { wall: COPY_WALL, output_bytes_max: 4 << 10 };
        let copy = Program::new("cp").args(["-a", "--reflink=auto"]).args([accepted, candidate]);
        copy.output(limits, self.ground.stop).context("copy build output")?;
        Ok(())
    }

    fn run(&mut self, selection: &Selection, variables: &[(std::ffi::OsString, std::ffi::OsString)]) -> Result<Report> {
        let settings = Settings {
            timeout: self.timeout,
            cargo_target_dir: self.room.build().map(Path::to_owned),
            virtual_env: self.ground.environment.virtual_env.clone(),
            path: self.ground.environment.path.clone(),
            variables: variables.to_vec(),
        };
        let started = Instant::now();
        let report = self.suite.run(Place::Room(&self.room, &self.sandbox), selection, &settings, self.ground.stop);
        self.running += started.elapsed();
        report
    }

    fn close(self) -> Result<()> {
        if let Some((_, candidate)) = &self.builds {
            crate::git::remove_folder(candidate).with_context(|| format!("clear {}", candidate.display()))?;
        }
        self.room.remove()
    }
}

/// The text of a file in one of the trees.
type Reader<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// What the mind's questions are made from, read from the two trees.
struct Reading<'a> {
    charge: &'a Charge<'a>,
    paths: Vec<String>,
    packages: Vec<Package>,
    before: Reader<'a>,
    now: Reader<'a>,
}

/// A control's surroundings.
#[derive(Clone, Copy)]
struct Scene<'a> {
    charge: &'a Charge<'a>,
    material: &'a Material<'a>,
    options: &'a Options,
}

impl<'a> Reading<'a> {
    fn of(git: &'a Git, charge: &'a Charge<'a>) -> Result<Self> {
        let files = git.tree_files(charge.head)?;
        let paths: Vec<String> = files.iter().filter_map(|file| file.path.to_str().map(str::to_owned)).collect();
        let packages = packages::of(git, charge.head, &paths)?;
        let texts = Rc::new(Texts { git, read: RefCell::default() });
        let reader = |tree: &'a str| -> Reader<'a> {
            let texts = Rc::clone(&texts);
            Box::new(move |path| texts.read(tree, path))
        };
        Ok(Self { charge, paths, packages, before: reader(charge.base), now: reader(charge.head) })
    }

    fn material<'m>(&'m self, change: &'m Change, after: &'m Report, targets: &'m [String]) -> Material<'m> {
        Material {
            phase: self.charge.phase,
            change,
            after,
            targets,
            paths: &self.paths,
            packages: &self.packages,
            brief: self.charge.brief,
            before: &*self.before,
            now: &*self.now,
        }
    }
}

/// Files as the two trees have them, each read once.
struct Texts<'a> {
    git: &'a Git,
    read: RefCell<HashMap<(String, String), Option<String>>>,
}

impl Texts<'_> {
    fn read(&self, tree: &str, path: &str) -> Option<String> {
        let key = (tree.to_owned(), path.to_owned());
        if let Some(known) = self.read.borrow().get(&key) {
            return known.clone();
        }
        let bytes = self.git.read_file(tree, path).ok().flatten();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        self.read.borrow_mut().insert(key, text.clone());
        text
    }
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

/// A folder for a room that nobody else is in. The same one again, if possible: build output is tied to its place.
fn free_room(root: &Path) -> Result<(PathBuf, fs::File)> {
    const ROOMS_MAX: usize = 64;
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

/// Test code of a language whose test files could bend the run of the others.
fn is_script(path: &str) -> bool {
    let language = Language::of_path(path);
    language == Language::Python || language.is_script()
}

fn is_added_test(changed: &redgreen_core::change::ChangedPath) -> bool {
    changed.kind == Kind::Added && changed.class == Class::Test && is_script(&changed.path)
}
