//! Runs that write all tests at once: writes files from an answer, counts tests, measures coverage,
//! and stores artifacts for other tools.

use std::fs;
use std::path::{Component, Path};
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::agent::{Assignment, Failure as AgentFailure, Turn};
use redgreen_core::artifact::{self, Red, TestFile};
use redgreen_core::batch::{self, TestSource};
use redgreen_core::brief::Target;
use redgreen_core::brief::blocks::{Block, blocks};
use redgreen_core::change::{Change, ChangedPath, Class, Kind};
use redgreen_core::coverage::Coverage;
use redgreen_core::phase::{Phase, Role};
use redgreen_core::report::Report;
use redgreen_core::state::{CoverageStep, Situation};
use redgreen_core::syntax::{Language, items};
use redgreen_core::verdict::{Code, Decision, Reason, Verdict};

use super::Engine;
use super::turn::write;
use crate::failure::Failure;
use crate::foreign;
use crate::trial::{self, TrialResult};

/// The maximum number of uncovered lines to list.
const LINES_MAX: usize = 12;

impl Engine<'_> {
    /// The state of GREEN while only more tests are missing.
    pub(super) fn covering(&self) -> Option<&CoverageStep> {
        match &self.state.situation {
            Situation::Working { attempt, .. } => attempt.covering.as_ref(),
            _ => None,
        }
    }

    /// Checks requirements of the brief beyond the rules of the phase. Returns the coverage, if it
    /// is required.
    pub(super) fn weigh(
        &self,
        phase: Phase,
        tree: &str,
        before: &Report,
        tried: &mut TrialResult,
        timeout: Duration,
    ) -> Result<Option<String>> {
        let brief = &self.state.run.brief;
        if self.covering().is_some() {
            only_tests(tried);
        }
        if tried.verdict.decision != Decision::Accepted {
            return Ok(None);
        }
        if phase == Phase::Red && brief.batch().is_some() && !self.state.progress.more {
            let in_source = self.tests_in_source(tree, &tried.change)?;
            let tests = self.source_tests(tree, &tried.change)?;
            let written = TestSource { before, after: &tried.shown, in_source, tests: &tests };
            let mut weighed = batch::weigh(brief, &self.state.run.policy, written);
            weighed.reasons.extend(batch::untouched(brief, phase, &self.changed_paths(tree)?));
            tried.verdict.notes.extend(weighed.warnings);
            if !weighed.reasons.is_empty() {
                let notes = std::mem::take(&mut tried.verdict.notes);
                // The tests are correct so far, so they stay.
                let standing = Some(redgreen_core::verdict::TestProgress { kept: 0, reached: 0 });
                tried.verdict = Verdict { notes, standing, ..Verdict::refused(weighed.reasons) };
            }
        }
        if phase == Phase::Green {
            let untouched = batch::untouched(brief, phase, &self.changed_paths(tree)?);
            if !untouched.is_empty() {
                // The code is correct so far, so it stays.
                let standing = tried.verdict.standing;
                tried.verdict = Verdict { standing, ..Verdict::refused(untouched) };
                return Ok(None);
            }
        }
        match brief.expected_coverage.filter(|_| phase == Phase::Green) {
            Some(target) => self.cover(tree, target, &mut tried.verdict, timeout),
            None => Ok(None),
        }
    }

    /// Measures with the project's own tool. Without one, only the tests count, and the verdict
    /// says so.
    fn cover(
        &self,
        tree: &str,
        target: Target,
        verdict: &mut Verdict,
        timeout: Duration,
    ) -> Result<Option<String>> {
        let worktree = self.worktree();
        let (coverage, why) = match trial::cover(self.ground(&worktree), tree, timeout) {
            Ok(coverage) => (coverage, "no coverage tool found".to_owned()),
            Err(error) => match error.downcast::<Failure>() {
                Ok(failure) => (None, failure.what),
                Err(error) => return Err(error),
            },
        };
        let Some(coverage) = coverage else {
            verdict.notes.push(format!(
                "coverage {target} is required but unknown ({why}); only the tests decide"
            ));
            return Ok(None);
        };
        let code = self.new_code(tree)?;
        let ours = coverage.of_files(&code);
        let (measured, whose) =
            if ours.found() > 0 { (&ours, "the new code") } else { (&coverage, "all code") };
        let (hit, found) = (measured.hit(), measured.found());
        let percent = percent(hit, found);
        if !target.is_met(hit, found) {
            let sentence = format!(
                "tests cover {percent} of {whose} ({hit} of {found} lines); required: {target}{}",
                unreached(measured)
            );
            let standing = verdict.standing;
            *verdict = Verdict {
                standing,
                ..Verdict::refused(vec![Reason::new(Code::GreenCoverage, sentence)])
            };
        }
        Ok(Some(percent))
    }

    /// Code that the run wrote or changed.
    fn new_code(&self, tree: &str) -> Result<Vec<String>> {
        let base = &self.state.run.base.tree;
        let frameworks: Vec<_> = crate::runner::Suite::every_framework().collect();
        let change = trial::change(&self.project.git, Phase::Green, base, tree, &frameworks)?;
        let is_code = |changed: &&ChangedPath| {
            changed.kind != Kind::Deleted
                && matches!(changed.class, Class::Implementation | Class::Mixed | Class::Stub)
        };
        Ok(change.paths.iter().filter(is_code).map(|changed| changed.path.clone()).collect())
    }

    /// How many tests the changed test files have gained. `None` if one of them cannot be parsed.
    fn tests_in_source(&self, tree: &str, change: &Change) -> Result<Option<usize>> {
        let mut count = 0usize;
        for changed in change.paths.iter().filter(|changed| is_test(changed)) {
            let language = Language::of_path(&changed.path);
            if language == Language::Other {
                return Ok(None);
            }
            let tests = |tree: &str| -> Result<usize> {
                let bytes = self.project.git.read_file(tree, &changed.path)?.unwrap_or_default();
                let source = String::from_utf8_lossy(&bytes);
                Ok(items(language, &changed.path, &source)
                    .iter()
                    .filter(|item| item.is_test)
                    .count())
            };
            count += tests(tree)?.saturating_sub(tests(&self.state.progress.head.tree)?);
        }
        Ok(Some(count))
    }

    /// All paths that the run changed so far.
    fn changed_paths(&self, tree: &str) -> Result<Vec<String>> {
        let changed = self.project.git.diff(&self.state.run.base.tree, tree)?;
        Ok(changed.into_iter().map(|changed| changed.path).collect())
    }

    /// The tests in the changed test files, according to their source.
    fn source_tests(&self, tree: &str, change: &Change) -> Result<Vec<batch::SourceTest>> {
        let files = self.test_files(tree, change)?;
        Ok(files.iter().flat_map(|file| batch::tests_in(&file.path, &file.content)).collect())
    }

    /// The test files that RED wrote, if the brief names none. Agents can work without this.
    pub(super) fn tests_at_once(&self) -> Vec<String> {
        let cycle = format!("cycle-{}", self.state.progress.cycle);
        let bytes =
            fs::read(self.folder.artifacts().join(cycle).join("red.json")).unwrap_or_default();
        let red: Option<Red> = serde_json::from_slice(&bytes).ok();
        let files =
            red.filter(|_| self.state.run.brief.batch().is_some()).map(|red| red.test_files);
        files.unwrap_or_default().into_iter().map(|file| file.path).collect()
    }

    /// Stores the artifact of a phase as YAML and JSON, and replaces that of an earlier attempt.
    /// Returns how many tests RED wrote, and where.
    pub(super) fn keep_artifact(
        &self,
        phase: Phase,
        tree: &str,
        before: &Report,
        tried: &TrialResult,
        covered: Option<String>,
    ) -> Result<(Option<u64>, Option<String>)> {
        let run = &self.state.run;
        let folder = self.folder.artifacts().join(format!("cycle-{}", self.state.progress.cycle));
        let accepted = tried.verdict.decision == Decision::Accepted;
        let (mut count, mut test_file) = (None, None);
        let (yaml, json) = match phase {
            Phase::Red => {
                let files = self.test_files(tree, &tried.change)?;
                let mut warnings = tried.verdict.notes.clone();
                if !accepted {
                    warnings
                        .extend(tried.verdict.reasons.iter().map(|reason| reason.sentence.clone()));
                }
                let in_source = self.tests_in_source(tree, &tried.change)?;
                let tests = self.source_tests(tree, &tried.change)?;
                let written = TestSource { before, after: &tried.shown, in_source, tests: &tests };
                let red = artifact::red(&run.brief, &run.id, files, written, &warnings);
                count = Some(red.test_count);
                test_file = red.test_files.first().map(|file| file.path.clone());
                artifact::render(&red)
            }
            Phase::Green => {
                let mut green = artifact::green(&run.brief, &run.id, &tried.shown);
                green.iterations = self.iteration();
                green.implementation_files = self.new_code(tree)?;
                green.coverage = covered;
                green.warnings = tried.verdict.warnings();
                if !accepted {
                    green.error =
                        Some(artifact::green_error(green.iterations, run.policy.iterations_max));
                    green.reasons = tried
                        .verdict
                        .reasons
                        .iter()
                        .map(|reason| reason.sentence.clone())
                        .collect();
                }
                green.all_tests_pass &= accepted || tried.verdict.lacks_coverage();
                let red = fs::read(folder.join("red.json")).ok();
                let red: Option<Red> = red.and_then(|bytes| serde_json::from_slice(&bytes).ok());
                green.test_files = red
                    .map(|red| red.test_files.into_iter().map(|file| file.path).collect())
                    .unwrap_or_default();
                green.test_files.extend(tried.unseen.paths.iter().map(ToString::to_string));
                artifact::render(&green)
            }
            Phase::Plan | Phase::Refactor | Phase::Complete => return Ok((None, None)),
        };
        let name = format!("{}{}", phase.as_str().to_lowercase(), self.suffix());
        write(&folder, &format!("{name}.yaml"), yaml.as_bytes())?;
        write(&folder, &format!("{name}.json"), json.as_bytes())?;
        Ok((count, test_file))
    }

    fn iteration(&self) -> u32 {
        match &self.state.situation {
            Situation::Working { attempt, .. } => attempt.iteration + 1,
            _ => 0,
        }
    }

    fn test_files(&self, tree: &str, change: &Change) -> Result<Vec<TestFile>> {
        let mut files = Vec::new();
        for changed in change.paths.iter().filter(|changed| is_test(changed)) {
            let bytes = self.project.git.read_file(tree, &changed.path)?.unwrap_or_default();
            let content = String::from_utf8_lossy(&bytes).into_owned();
            files.push(TestFile { path: changed.path.clone(), content });
        }
        Ok(files)
    }
}

/// Writes the files in the test agent's answer to the worktree. Returns how the turn ended if that
/// fails.
pub(super) fn unmarked(
    assignment: &Assignment,
    turn: &Turn,
    worktree: &Path,
) -> Result<Option<Turn>> {
    let Turn::Done { answer } = turn else { return Ok(None) };
    if assignment.role != Role::Test {
        return Ok(None);
    }
    for Block { path, content } in blocks(answer) {
        if !is_inside(worktree, &path) {
            let message = format!(
                "its answer contains a file {path:?}, which is not a path inside the project"
            );
            return Ok(Some(Turn::Failed { failure: AgentFailure::Crash, message }));
        }
        foreign::write(worktree, &path, content.as_bytes())
            .with_context(|| format!("write {path}"))?;
    }
    Ok(None)
}

/// Whether a path in an answer is inside the worktree, not in `.git`, and not behind a link.
fn is_inside(worktree: &Path, path: &str) -> bool {
    let relative = Path::new(path);
    let plain = relative.components().all(|part| match part {
        Component::Normal(name) => name != ".git",
        Component::CurDir => true,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
    });
    let place = worktree.join(relative);
    let mut above = place.ancestors().take_while(|above| *above != worktree);
    plain && !path.ends_with('/') && !place.is_dir() && !above.any(Path::is_symlink)
}

/// While tests are added for coverage, accepted code must not change.
fn only_tests(tried: &mut TrialResult) {
    let code =
        tried.change.paths.iter().filter(|changed| {
            !matches!(changed.class, Class::Test | Class::MoreTests | Class::Mixed)
        });
    let reasons: Vec<Reason> = code
        .map(|changed| {
            let sentence = format!("only tests may be added here, but {} changed", changed.path);
            Reason::new(Code::RedTouchesImplementation, sentence).place(Some(&changed.path), None)
        })
        .collect();
    if !reasons.is_empty() {
        tried.verdict = Verdict::refused(reasons);
    } else if tried.verdict.decision == Decision::Accepted {
        let passed = tried.shown.counts().passed;
        let reason =
            Reason::new(Code::GreenPasses, format!("{passed} tests passed, none is missing"));
        tried.verdict = Verdict {
            notes: std::mem::take(&mut tried.verdict.notes),
            ..Verdict::accepted(reason)
        };
    }
}

fn is_test(changed: &ChangedPath) -> bool {
    changed.kind != Kind::Deleted
        && matches!(changed.class, Class::Test | Class::MoreTests | Class::Mixed)
}

/// Rounds down: 84.99 % is not 85 %.
fn percent(hit: usize, found: usize) -> String {
    let tenths = hit.saturating_mul(1000).checked_div(found).unwrap_or(1000);
    if tenths.is_multiple_of(10) {
        format!("{}%", tenths / 10)
    } else {
        format!("{}.{}%", tenths / 10, tenths % 10)
    }
}

/// The first lines that no test covers.
fn unreached(coverage: &Coverage) -> String {
    let places = coverage.files.iter().flat_map(|(path, file)| {
        file.lines
            .iter()
            .filter(|(_, hits)| **hits == 0)
            .map(move |(line, _)| format!("{path}:{line}"))
    });
    let named: Vec<String> = places.take(LINES_MAX).collect();
    if named.is_empty() { String::new() } else { format!("; not covered: {}", named.join(", ")) }
}
