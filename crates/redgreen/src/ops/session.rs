//! `redgreen session`: TDD in the user's own checkout, edited by anyone. The judge is the same as
//! in `redgreen judge`. The user's index, stash and branches are only read, unless a commit is
//! requested.

pub mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use redgreen_core::change::{self, Change, ChangedPath, Class};
use redgreen_core::framework::{self, FRAMEWORKS};
use redgreen_core::names::{Oid, RunId, SalvageName};
use redgreen_core::note::{Plain, PlainTest};
use redgreen_core::phase::{JudgedPhase, Phase};
use redgreen_core::session::ledger;
use redgreen_core::session::rules::{self, FileChange, NextPhase};
use redgreen_core::session::{
    CandidateParts, CheckoutStatus, Dispute, Session, Stage, Step, TestChange, VerdictSummary,
    claim, cut, otherwise,
};
use redgreen_core::syntax::SOURCE_BYTES_MAX;
use redgreen_core::text::shell_word;
use redgreen_core::verdict::{Code as Why, Decision, Reason};
use redgreen_core::{handoff, test_list};
use serde::{Deserialize, Serialize};

use super::judge::{self, Judgement};
use crate::engine::{Project, now};
use crate::failure::{Code, Failure};
use crate::foreign;
use crate::git::{Git, PathChange, Snapshot};
use crate::journal;
use crate::process::Interrupted;
use crate::{runner, trial};
use store::{SessionLock, Store, StoredSession};

/// The complete last verdict, next to the record.
pub const VERDICT: &str = "verdict.json";
/// Files that are searched for a disputed test.
const SEARCHED_MAX: usize = 500;

/// The state of a session: the published JSON, version 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub version: u32,
    pub id: RunId,
    pub brief: String,
    pub cycle: u32,
    /// The most likely next phase.
    pub phase: Phase,
    pub stage: Stage,
    pub standing: String,
    /// Files that differ from the last accepted tree.
    pub changed: Vec<String>,
    /// Git repositories inside the checkout. Tests run without their files.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub nested: Vec<String>,
    /// Problems that are visible without running tests.
    pub objections: Vec<Reason>,
    pub accepted: Oid,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<VerdictSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Dispute>,
    pub next: String,
}

/// The result of a check: the verdict as in `redgreen judge`, and the state of the session.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// The version of the verdict, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Absent if nothing changed since the last accepted verdict, or if a human must decide first.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// The commit, if one was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    pub session: Status,
}

impl CheckResult {
    pub fn code(&self) -> Code {
        match (&self.session.dispute, &self.judgement) {
            (Some(_), _) => Code::Human,
            (None, Some(judgement)) => judgement.code(),
            (None, None) => Code::Done,
        }
    }
}

/// The arguments of a check.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask<'a> {
    /// Commit an accepted step, with this subject or a default one.
    pub commit: Option<&'a str>,
    pub explain: bool,
}

/// The result of an undo.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoResult {
    pub version: u32,
    pub phase: JudgedPhase,
    /// The command that restores the files, if they differ.
    pub files: Option<String>,
    pub session: Status,
}

/// The result of a session.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionEnd {
    pub version: u32,
    pub id: Option<RunId>,
    pub standing: String,
    pub steps: Vec<Step>,
    pub changed: Vec<String>,
    /// The salvage of the last accepted tree, if the checkout has another one.
    pub salvage: Option<String>,
}

/// A human's decision about a dispute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Keep the test.
    Keep,
    /// The test is wrong: the session goes back to before its RED, and the test may change.
    Drop,
}

pub fn start(project: &Project, brief: &str) -> Result<Status> {
    let store = Store::of(&project.git, &project.environment)?;
    let held = store.hold()?;
    match store.record()? {
        StoredSession::Nothing => {}
        // Killed before it kept the first tree: the session did not start.
        StoredSession::Session(session)
            if session.steps.is_empty() && project.git.resolve(store::REF)?.is_none() => {}
        StoredSession::Session(session) => {
            return Err(Failure::usage(format!(
                "session {} is already open in this checkout",
                session.id
            ))
            .evidence(session.brief.lines().next().unwrap_or_default())
            .next("redgreen session status")
            .into());
        }
        StoredSession::RecordGone => return Err(store::record_gone().into()),
    }
    let git = &project.git;
    let head = git.mark("HEAD")?;
    let frameworks: Vec<String> = runner::suite(&git.root, &project.file.test)?
        .frameworks()
        .map(|framework| framework.name.to_owned())
        .collect();
    let tree = store.tree(git, &head.tree)?;
    let at = now();
    let mut session = Session::begin(journal::new_id(at)?, brief, tree, frameworks);
    store.write(&held, &mut session)?;
    store.keep(git, &session.accepted, &ledger::started(&session), at)?;
    status_of(project, &store, &session)
}

pub fn status(project: &Project) -> Result<Status> {
    let store = Store::of(&project.git, &project.environment)?;
    status_of(project, &store, &store.session(&project.git)?)
}

/// Whether the session can be read and trusted, whatever its files are.
pub fn is_readable(project: &Project) -> bool {
    let session =
        Store::of(&project.git, &project.environment).and_then(|store| store.session(&project.git));
    session.is_ok()
}

/// The session of the checkout, locked for changes. Writes nothing if there is none.
fn opened(project: &Project) -> Result<(Store, SessionLock, Session)> {
    let store = Store::of(&project.git, &project.environment)?;
    store.record()?.session()?;
    let held = store.hold()?;
    let session = store.session(&project.git)?;
    Ok((store, held, session))
}

fn status_of(project: &Project, store: &Store, session: &Session) -> Result<Status> {
    let Snapshot { tree, nested } = store.snapshot(&project.git, &session.accepted)?;
    let changed = project
        .git
        .diff(&session.accepted, &tree)?
        .into_iter()
        .map(|changed| changed.path)
        .collect();
    let objections = objections(&project.git, session, &tree)?;
    Ok(Status {
        version: 1,
        id: session.id.clone(),
        brief: session.brief.clone(),
        cycle: session.cycle,
        phase: session.phase(),
        stage: session.stage.clone(),
        standing: standing_words(session.standing(&tree)).to_owned(),
        changed,
        nested: nested.iter().map(|path| path.display().to_string()).collect(),
        objections,
        accepted: session.accepted.clone(),
        last: session.last.clone(),
        dispute: session.dispute.clone(),
        next: session.next_step(),
    })
}

fn standing_words(standing: CheckoutStatus) -> &'static str {
    match standing {
        CheckoutStatus::Proven => "proven",
        CheckoutStatus::Owed => "owed",
        CheckoutStatus::Unproven => "unproven",
        CheckoutStatus::Disputed => "disputed",
    }
}

/// Reasons against the changed files that follow without running tests.
pub fn objections(git: &Git, session: &Session, tree: &Oid) -> Result<Vec<Reason>> {
    let changed = git.diff(&session.accepted, tree)?;
    let frameworks = rules::frameworks(&session.frameworks);
    let looked_at: Vec<&str> = changed.iter().map(|changed| changed.path.as_str()).collect();
    let texts = both_texts(git, &session.accepted, tree, &looked_at)?;
    let affected: BTreeSet<&str> =
        looked_at.iter().filter_map(|path| rules::affected_folder(path)).collect();
    let affected: Vec<&str> = affected.into_iter().collect();
    let there = git.has_folders(&session.accepted, &affected)?;
    let folders: BTreeMap<&str, bool> = affected.into_iter().zip(there).collect();
    let mut all = Vec::new();
    for (changed, (old, new)) in changed.iter().zip(&texts) {
        let is_there = changed.new_mode != 0;
        let new = match new {
            Some(text) => NextPhase::Text(text),
            None if is_there => NextPhase::Unknown,
            None => NextPhase::Gone,
        };
        let old = match old {
            Some(text) => Some(text.as_str()),
            None => (changed.old_mode != 0).then_some(""),
        };
        all.extend(rules::objections(
            &session.stage,
            FileChange { path: &changed.path, old, new },
            &frameworks,
            rules::affected_folder(&changed.path)
                .is_some_and(|folder| folders.get(folder) == Some(&true)),
        ));
    }
    Ok(all)
}

type Texts = (Option<String>, Option<String>);

/// Files in two trees, if they are text of limited size.
fn both_texts(git: &Git, old: &str, new: &str, paths: &[&str]) -> Result<Vec<Texts>> {
    let asked: Vec<(&str, &str)> =
        paths.iter().flat_map(|path| [(old, *path), (new, *path)]).collect();
    let mut texts = git
        .read_texts(&asked)?
        .into_iter()
        .map(|text| text.filter(|text| text.len() <= SOURCE_BYTES_MAX));
    Ok(paths.iter().map(|_| (texts.next().flatten(), texts.next().flatten())).collect())
}

/// What the candidate changes, from the view of RED.
fn touched(project: &Project, old: &Oid, new: &Oid) -> Result<CandidateParts> {
    let git = &project.git;
    let suite = runner::suite(&git.root, &project.file.test)?;
    let frameworks: Vec<_> = suite.frameworks().collect();
    let Change { paths } = trial::change(git, Phase::Red, old, new, &frameworks)?;
    let is_read = |changed: &&ChangedPath| matches!(changed.class, Class::Test | Class::Mixed);
    let read: Vec<&str> =
        paths.iter().filter(is_read).map(|changed| changed.path.as_str()).collect();
    let mut texts = both_texts(git, old, new, &read)?.into_iter();
    let mut all = CandidateParts::default();
    for changed in &paths {
        let (before, after) =
            if is_read(&changed) { texts.next().unwrap_or_default() } else { (None, None) };
        all = all.and(rules::touched(changed, before.as_deref(), after.as_deref()));
    }
    Ok(all)
}

/// Judges the current files of the checkout.
pub fn check(project: &Project, ask: Ask<'_>) -> Result<CheckResult> {
    let (store, held, mut session) = opened(project)?;
    let git = &project.git;
    let tree = store.tree(git, &session.accepted)?;
    if session.dispute.is_some() {
        return Ok(CheckResult {
            version: Some(1),
            judgement: None,
            commit: None,
            session: status_of(project, &store, &session)?,
        });
    }
    let mut judgement = None;
    if tree != session.accepted {
        let judged = judge_tree(project, &session, &tree, ask.explain)?;
        let codes: Vec<String> =
            judged.reasons.iter().map(|told| told.reason.code.as_str().to_owned()).collect();
        let at = now();
        if judged.verdict == Decision::Accepted {
            store.keep(git, &tree, &ledger::accepted(judged.phase), at)?;
        }
        let ruled = VerdictSummary { phase: judged.phase, decision: judged.verdict, codes, tree };
        session.apply(ruled, &judged.asked_for(), at);
        store.write(&held, &mut session)?;
        store.put(VERDICT, &serde_json::to_vec(&judged)?)?;
        judgement = Some(judged);
    }
    let is_accepted = judgement.as_ref().is_none_or(|judged| judged.verdict == Decision::Accepted);
    let commit = match ask.commit {
        Some(subject) if is_accepted => commit(project, &store, &held, &mut session, subject)?,
        Some(_) | None => None,
    };
    let version = judgement.is_none().then_some(1);
    Ok(CheckResult { version, judgement, commit, session: status_of(project, &store, &session)? })
}

/// The verdict on a tree, with the phase that fits.
fn judge_tree(
    project: &Project,
    session: &Session,
    tree: &Oid,
    explain: bool,
) -> Result<Judgement> {
    let touched = touched(project, &session.accepted, tree)?;
    let earlier = session.steps.last().map(|step| step.before.clone());
    let try_as = |phase: JudgedPhase| {
        let step = judge::Step {
            phase,
            base: &session.accepted,
            head: tree,
            earlier: earlier.as_ref(),
            brief: session.brief.trim(),
            examples: &[],
            test_command: None,
            timeout: None,
            new_packages: false,
            explain,
        };
        judge::try_step(project, &step)
    };
    let first = try_as(claim(&session.stage, touched))?;
    if first.verdict != Decision::Refused {
        return Ok(first);
    }
    let codes: Vec<Why> = first.reasons.iter().map(|told| told.reason.code).collect();
    let Some(other) = otherwise(first.phase, touched, &codes) else { return Ok(first) };
    let second = try_as(other)?;
    // The author of a new test wants to know about that test, unless everything is accepted.
    let is_about_new_tests = touched.tests == TestChange::New && first.phase == JudgedPhase::Red;
    Ok(if second.verdict != Decision::Accepted && is_about_new_tests { first } else { second })
}

/// Commits what was accepted since the last commit, with its handoff note.
fn commit(
    project: &Project,
    store: &Store,
    held: &SessionLock,
    session: &mut Session,
    subject: &str,
) -> Result<Option<Oid>> {
    let git = &project.git;
    let paths: Vec<String> = git
        .diff(&session.committed, &session.accepted)?
        .into_iter()
        .map(|changed| changed.path)
        .collect();
    if paths.is_empty() {
        return Ok(None);
    }
    let phase = session.steps.last().map_or(JudgedPhase::Refactor, |step| step.phase);
    let prefix = match phase {
        JudgedPhase::Red => "test",
        JudgedPhase::Green => "feat",
        JudgedPhase::Refactor => "refactor",
    };
    let words =
        if subject.is_empty() { default_subject(session, phase) } else { subject.to_owned() };
    let message = format!("{prefix}: {words}");
    // Killed after the commit, or committed by hand: nothing is left to commit, but the note may be
    // missing.
    let owed = git.diff(&git.mark("HEAD")?.tree, &session.accepted)?;
    let committed = if owed.iter().any(|changed| paths.contains(&changed.path)) {
        store.perform(|| git.commit_paths(&paths, &message, &project.stop))?
    } else {
        Ok(())
    };
    if let Err(words) = committed {
        return Err(Failure::environment("git could not commit; the accepted verdict stays valid")
            .evidence(words)
            .next("git status, then run: redgreen session check --commit")
            .into());
    }
    let id = git.mark("HEAD")?.commit;
    let note = note(session, phase)?;
    store.perform(|| git.notes().write(&id, &note))?;
    session.committed = session.accepted.clone();
    store.write(held, session)?;
    Ok(Some(id))
}

fn default_subject(session: &Session, phase: JudgedPhase) -> String {
    let brief = session.brief.lines().next().unwrap_or_default().trim();
    let first = match &session.stage {
        Stage::Green { targets } => targets.first().cloned(),
        Stage::Open => None,
    };
    match (phase, brief, first) {
        (_, "", Some(target)) => target,
        (JudgedPhase::Refactor, "", None) => "no change of behaviour".to_owned(),
        (_, "", None) => format!("cycle {}", session.cycle),
        (_, brief, _) => brief.to_owned(),
    }
}

/// A plain note, because a session has no run.
fn note(session: &Session, phase: JudgedPhase) -> Result<String> {
    let targets = match &session.stage {
        Stage::Green { targets } => targets.clone(),
        Stage::Open => Vec::new(),
    };
    let named = targets.first().map(|id| PlainTest {
        description: id.clone(),
        test_file: None,
        impl_file: None,
    });
    let failing = phase == JudgedPhase::Red;
    let plain = Plain {
        phase: phase.into(),
        next_phase: Some(if failing { Phase::Green } else { Phase::Red }),
        cycle_number: session.steps.last().map_or(session.cycle, |step| step.cycle),
        current_test: named,
        completed_tests: Vec::new(),
        pending_tests: targets,
        test_result: Some(if failing {
            handoff::TestResult::Fail
        } else {
            handoff::TestResult::Pass
        }),
        error: None,
        error_details: None,
        retry_count: 0,
    };
    Ok(serde_json::to_string_pretty(&plain)? + "\n")
}

/// Whether a stop is blocked again after a refusal. If not, the agent may stop, and its work is
/// unproven.
pub fn block_stop(project: &Project) -> Result<bool> {
    let (store, held, mut session) = opened(project)?;
    let Some(tree) = session.last.as_ref().map(|ruled| ruled.tree.clone()) else {
        return Ok(false);
    };
    let blocks = session.blocks_stop(&tree);
    store.write(&held, &mut session)?;
    Ok(blocks)
}

/// Undoes the last accepted step. The files stay unchanged.
pub fn undo(project: &Project) -> Result<UndoResult> {
    let (store, held, mut session) = opened(project)?;
    let Some(step) = session.undo() else {
        return Err(Failure::usage("no step has been accepted yet")
            .next("redgreen session status")
            .into());
    };
    store.write(&held, &mut session)?;
    back_at(project, &store, &session, &step)
}

/// The state of a session after going back, and how to restore the files.
fn back_at(project: &Project, store: &Store, session: &Session, step: &Step) -> Result<UndoResult> {
    let status = status_of(project, store, session)?;
    let tree = store.tree(&project.git, &session.accepted)?;
    let changed = project.git.diff(&session.accepted, &tree)?;
    let files = restore_command(&project.git, &session.accepted, &changed);
    Ok(UndoResult { version: 1, phase: step.phase, files, session: status })
}

/// The command that makes changed files as in the accepted tree. It means the same in every folder.
pub fn restore_command(git: &Git, accepted: &Oid, changed: &[PathChange]) -> Option<String> {
    let (old, new): (Vec<&PathChange>, Vec<&PathChange>) =
        changed.iter().partition(|changed| changed.old_mode != 0);
    let words = |files: &[&PathChange], folder: &Path| -> String {
        let word = |file: &&PathChange| {
            format!(" {}", shell_word(&folder.join(&file.path).to_string_lossy()))
        };
        files.iter().map(word).collect()
    };
    let root = git.root.to_string_lossy();
    let restore = format!(
        "git -C {} --literal-pathspecs restore --source={accepted} --{}",
        shell_word(&root),
        words(&old, Path::new(""))
    );
    let remove = format!("rm{}", words(&new, &git.root));
    let parts = [(restore, old.is_empty()), (remove, new.is_empty())];
    let parts: Vec<String> =
        parts.into_iter().filter(|(_, is_empty)| !is_empty).map(|(part, _)| part).collect();
    (!parts.is_empty()).then(|| parts.join(" && "))
}

/// Reports that a test is wrong or impossible to pass: nothing is judged until a human decides.
pub fn dispute(project: &Project, why: &str, test: Option<&str>) -> Result<Status> {
    let (store, held, mut session) = opened(project)?;
    if why.trim().is_empty() {
        return Err(Failure::usage("a dispute must say what is wrong with the test")
            .next("redgreen session dispute \"<why>\" --test <id>")
            .into());
    }
    session.dispute = Some(Dispute { why: cut(why), test: test.map(cut), at: now() });
    store.write(&held, &mut session)?;
    status_of(project, &store, &session)
}

pub fn resolve(project: &Project, resolution: Resolution) -> Result<UndoResult> {
    let (store, held, mut session) = opened(project)?;
    if session.dispute.is_none() {
        return Err(Failure::usage("no test is disputed").next("redgreen session status").into());
    }
    let step = match resolution {
        Resolution::Keep => {
            session.dispute = None;
            session.steps.last().cloned()
        }
        Resolution::Drop => session.drop_red(),
    };
    let Some(step) = step else {
        return Err(Failure::usage(
            "no RED was accepted in this session, so there is no test to drop",
        )
        .next("change the test, then run: redgreen session resolve keep")
        .into());
    };
    store.write(&held, &mut session)?;
    back_at(project, &store, &session, &step)
}

/// Ends the session. The files stay unchanged. An accepted tree that differs from them is salvaged.
pub fn end(project: &Project) -> Result<SessionEnd> {
    let git = &project.git;
    let store = Store::of(git, &project.environment)?;
    // A session that cannot be read or trusted ends too, because that is what its error suggests.
    let found = store.read(git).unwrap_or(StoredSession::RecordGone);
    if matches!(found, StoredSession::Nothing) {
        return Err(Failure::usage("no session is open in this checkout")
            .next("redgreen session start")
            .into());
    }
    let _held = store.hold()?;
    let mut ended = SessionEnd {
        version: 1,
        id: None,
        standing: "unproven".to_owned(),
        steps: Vec::new(),
        changed: Vec::new(),
        salvage: None,
    };
    match found {
        StoredSession::Nothing => {}
        StoredSession::RecordGone => {
            ended.salvage = salvage_kept(git, &store)?.map(|name| name.to_string());
        }
        StoredSession::Session(session) => {
            // Files that cannot be read as a tree must not keep a session open.
            let tree = match store.tree(git, &session.accepted) {
                Err(error) if error.is::<Interrupted>() => return Err(error),
                tree => tree.ok(),
            };
            if let Some(tree) = &tree {
                ended.standing = standing_words(session.standing(tree)).to_owned();
                let changed = git.diff(&session.accepted, tree)?;
                ended.changed = changed.into_iter().map(|changed| changed.path).collect();
            }
            let head = git.mark("HEAD")?;
            if tree.as_ref() != Some(&session.accepted) && head.tree != session.accepted {
                let salvage = || {
                    git.salvage(&session.id, "session-accepted", &session.accepted, &head.commit)
                };
                let name = store.perform(salvage)?;
                ended.salvage = Some(name.to_string());
            }
            (ended.id, ended.steps) = (Some(session.id), session.steps);
        }
    }
    store.remove(git)?;
    Ok(ended)
}

/// Only the ref knows what was accepted, so its commits are salvaged before it is deleted.
fn salvage_kept(git: &Git, store: &Store) -> Result<Option<SalvageName>> {
    let Some(tip) = git.resolve(&format!("{}^{{commit}}", store::REF))? else { return Ok(None) };
    let accepted = git.tree_of(&tip)?;
    let is_kept = git.refs_containing(&tip)?.iter().any(|name| name != store::REF);
    if is_kept || [git.mark("HEAD")?.tree, store.tree(git, &accepted)?].contains(&accepted) {
        return Ok(None);
    }
    let id = journal::new_id(now())?;
    store.perform(|| git.salvage(&id, "session-accepted", &accepted, &tip)).map(Some)
}

/// Both texts of a dispute: the brief and the test.
pub fn disputed_texts(project: &Project, status: &Status) -> Result<Vec<(String, String)>> {
    let mut texts = vec![("brief".to_owned(), status.brief.clone())];
    let Some(dispute) = &status.dispute else { return Ok(texts) };
    let Some(test) = &dispute.test else { return Ok(texts) };
    texts.extend(file_of_test(&project.git, &status.accepted, test)?);
    Ok(texts)
}

/// The file of a test with its text. If the id does not name the file, as those of unittest, cargo
/// and Go, it is a file with tests that contains the name of the test.
fn file_of_test(git: &Git, tree: &Oid, test: &str) -> Result<Option<(String, String)>> {
    let read = |path: &str| -> Result<Option<String>> {
        let bytes = git.read_file(tree, path)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    let identity = framework::identity(test);
    if let Some(path) = identity.file() {
        return Ok(read(&path)?.map(|text| (path, text)));
    }
    let frameworks: Vec<_> = FRAMEWORKS.iter().collect();
    let has_tests =
        |path: &&str| matches!(change::classify(path, &frameworks), Class::Test | Class::Mixed);
    let files = git.tree_files(tree)?;
    let paths = files.iter().filter_map(|file| file.path.to_str()).filter(has_tests);
    for path in paths.filter(|path| identity.is_in(path) != Some(false)).take(SEARCHED_MAX) {
        if let Some(text) = read(path)?.filter(|text| text.contains(identity.name())) {
            return Ok(Some((path.to_owned(), text)));
        }
    }
    Ok(None)
}

/// The test list of the checkout, if there is one. A link is not followed, because the answer goes
/// to an agent.
pub fn test_list(root: &Path) -> Result<Option<String>> {
    let bytes = foreign::read(&root.join(test_list::FILE), foreign::TEXT_BYTES_MAX)
        .with_context(|| format!("read {}", test_list::FILE))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
