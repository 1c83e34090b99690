//! `redgreen hook`: the answer to a coding agent before it edits, after it ran something, and when
//! it stops. Without a session it says nothing, and starts no program to find out.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use redgreen_core::hook::{
    Action, Answer, Edit, EditResult, Event, HookEvent, shell_objection, together,
};
use redgreen_core::session::rules::{self, FileChange, NextPhase};
use redgreen_core::session::{Session, Stage};
use redgreen_core::syntax::SOURCE_BYTES_MAX;
use redgreen_core::verdict::{Code as Why, Decision, Reason};

use super::session::store::{Store, StoredSession, record_gone};
use super::session::{self, Ask, CheckResult};
use super::{open, trust, with_packages};
use crate::config::Environment;
use crate::failure::{Code, Failure};
use crate::git::Git;
use crate::process::Stop;

/// The maximum number of reasons at once.
const TOLD_MAX: usize = 4;

/// The answer to an event of a host. An error means that redgreen could not decide.
pub fn answer(
    event: &Event,
    folder: &Path,
    environment: &Environment,
    stop: &Stop,
) -> Result<Answer> {
    let cwd = event.cwd.as_deref().map_or_else(|| folder.to_owned(), |cwd| folder.join(cwd));
    let mut answers = Vec::new();
    for root in roots(event, folder, &cwd, environment) {
        let Some((git, own_dir)) = Git::locate_at(&root) else { continue };
        let store = Store::at(&own_dir, environment)?;
        answers.push(match store.read(&git)? {
            StoredSession::Nothing => Answer::Allow(None),
            StoredSession::RecordGone if event.moment == HookEvent::Stop => {
                Answer::Allow(Some(format!("unproven: {}", record_gone())))
            }
            StoredSession::RecordGone => return Err(record_gone().into()),
            StoredSession::Session(session) => {
                let place = Place { git: &git, environment, cwd: &cwd };
                answer_in(&place, event, &store, &session, stop)?
            }
        });
    }
    Ok(together(&answers).with_way_out())
}

/// The checkouts that an event may be about. The working folder alone does not decide, because an
/// agent chooses it: hosts name their project, and edits name their files. A repository inside
/// another one does not hide it.
fn roots(event: &Event, folder: &Path, cwd: &Path, environment: &Environment) -> BTreeSet<PathBuf> {
    let mut places = vec![folder.to_owned(), cwd.to_owned()];
    places.extend(environment.host_projects.iter().cloned());
    places.extend(event.folders.iter().map(|open| folder.join(open)));
    if let Action::Edit(edits) = &event.action {
        places.extend(edits.iter().map(|edit| cwd.join(&edit.path)));
    }
    // A file that does not exist yet is in the checkout of its folder.
    let existing = |place: PathBuf| {
        let place = real(&place);
        place.ancestors().find(|above| above.exists()).map(Path::to_owned)
    };
    let places: BTreeSet<PathBuf> = places.into_iter().filter_map(existing).collect();
    places.iter().flat_map(|place| Git::roots_around(place)).collect()
}

fn answer_in(
    place: &Place<'_>,
    event: &Event,
    store: &Store,
    session: &Session,
    stop: &Stop,
) -> Result<Answer> {
    match (event.moment, &event.action) {
        (HookEvent::Before, Action::Edit(edits)) => before_edit(place, session, edits),
        (HookEvent::Before, Action::Shell(command)) => Ok(match shell_objection(command) {
            Some(why) => Answer::Deny(format!("redgreen: {why}")),
            None => Answer::Allow(None),
        }),
        (HookEvent::After, Action::Shell(_) | Action::Edit(_)) => after(place.git, store, session),
        (HookEvent::Stop, _) => at_stop(&place.git.root, place.environment, stop),
        (HookEvent::Begin, _) => Ok(Answer::Context(introduction(session))),
        (HookEvent::Before | HookEvent::After, Action::None) | (HookEvent::Other, _) => {
            Ok(Answer::Allow(None))
        }
    }
}

/// What an agent should know about the session.
fn introduction(session: &Session) -> String {
    format!(
        "redgreen referees test-driven development in this checkout (session {}, cycle {}). Brief: {}\nNow: {}.\nEach step \
         is judged by running the tests; `redgreen session check` requests the verdict; your own claims do not count. Tests that were accepted as RED are frozen until they pass.",
        session.id,
        session.cycle,
        session.brief.trim(),
        session.next_step(),
    )
}

fn before_edit(place: &Place<'_>, session: &Session, edits: &[Edit]) -> Result<Answer> {
    let git = place.git;
    let frameworks = rules::frameworks(&session.frameworks);
    let mut reasons = Vec::new();
    for edit in edits {
        let (full, target) = place.of(&edit.path);
        let path = match target {
            Target::Inside(path) => path,
            Target::Of(owner) => {
                return Ok(Answer::Deny(format!(
                    "redgreen: {} belongs to {owner} and is not part of the work",
                    edit.path
                )));
            }
            Target::Home(path) if rules::is_hook_file(&path) => path,
            // The host decides about other files outside the repository.
            Target::Home(_) | Target::Outside => continue,
        };
        let affected = rules::affected_folder(&path);
        if !rules::needs_old_text(&session.stage, &path, &frameworks) && affected.is_none() {
            continue;
        }
        // An edit applies to the current file. Its result is compared with the accepted one.
        let now = crate::foreign::read(&full, SOURCE_BYTES_MAX as u64)?;
        let now = now.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let becomes = edit.apply(now.as_deref());
        let new = match &becomes {
            EditResult::Text(text) => NextPhase::Text(text),
            EditResult::Gone => NextPhase::Gone,
            EditResult::Unknown => NextPhase::Unknown,
        };
        // Git often ignores hook files of hosts, and a human may have changed them in the session.
        // So the current file counts.
        let old = if rules::is_hook_file(&path) {
            now.clone()
        } else {
            let accepted = git.read_file(&session.accepted, &path)?;
            accepted.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        // Only a new file affects others.
        let affected: Vec<&str> = affected.filter(|_| old.is_none()).into_iter().collect();
        let has_files = git.has_folders(&session.accepted, &affected)?.contains(&true);
        reasons.extend(rules::objections(
            &session.stage,
            FileChange { path: &path, old: old.as_deref(), new },
            &frameworks,
            has_files,
        ));
    }
    Ok(match told(&reasons) {
        Some(words) => Answer::Deny(format!("redgreen ({}): {words}", session.phase())),
        None => Answer::Allow(None),
    })
}

/// Changes that were not made with the edit tools.
fn after(git: &Git, store: &Store, session: &Session) -> Result<Answer> {
    let tree = store.tree(git, &session.accepted)?;
    let reasons = session::objections(git, session, &tree)?;
    let Some(words) = told(&reasons) else { return Ok(Answer::Allow(None)) };
    let mut changed = git.diff(&session.accepted, &tree)?;
    changed.retain(|file| reasons.iter().any(|why| why.file.as_deref() == Some(&file.path)));
    let back = session::restore_command(git, &session.accepted, &changed).unwrap_or_default();
    Ok(Answer::Tell(format!("redgreen ({}): {words}\nRestore it: {back}", session.phase())))
}

/// The agent wants to stop: the tests decide.
fn at_stop(root: &Path, environment: &Environment, stop: &Stop) -> Result<Answer> {
    let project = open(root, environment.clone(), stop)?;
    trust::check(&project.git.root, &project.environment)?;
    let project = with_packages(project)?;
    let checked = session::check(&project, Ask::default())?;
    let CheckResult { judgement, session: status, .. } = checked;
    let next = &status.next;
    if let Some(dispute) = &status.dispute {
        let words = format!(
            "a test is disputed: {}. A human decides: redgreen session status",
            dispute.why
        );
        return Ok(Answer::Allow(Some(words)));
    }
    let Some(judgement) = judgement else {
        return Ok(match status.stage {
            Stage::Green { .. } => {
                Answer::Allow(Some(format!("redgreen: not done yet. Next: {next}")))
            }
            Stage::Open => Answer::Allow(None),
        });
    };
    let phase = judgement.phase;
    let reasons: Vec<Reason> = judgement.reasons.iter().map(|told| told.reason.clone()).collect();
    let words = told(&reasons).unwrap_or_default();
    match judgement.verdict {
        Decision::Accepted => {
            Ok(Answer::Allow(Some(format!("redgreen: {phase} accepted. Next: {next}"))))
        }
        Decision::Undecided => Ok(Answer::Allow(Some(format!(
            "redgreen: unproven. {phase} undecided, a human must review it: {words}"
        )))),
        Decision::Refused if session::block_stop(&project)? => {
            Ok(Answer::Continue(format!("redgreen: {phase} refused: {words}")))
        }
        Decision::Refused => Ok(Answer::Allow(Some(format!(
            "redgreen: unproven. {phase} was refused repeatedly, so the agent may stop: {words}"
        )))),
    }
}

/// Reasons with their next steps, for an agent.
fn told(reasons: &[Reason]) -> Option<String> {
    if reasons.is_empty() {
        return None;
    }
    let line = |reason: &Reason| {
        format!("{} ({}): {}", reason.sentence, reason.code.as_str(), next_step(reason.code))
    };
    let mut lines: Vec<String> = reasons.iter().take(TOLD_MAX).map(line).collect();
    if reasons.len() > TOLD_MAX {
        lines.push(format!("and {} more", reasons.len() - TOLD_MAX));
    }
    Some(lines.join("\n"))
}

/// What an agent can do about a reason.
fn next_step(code: Why) -> &'static str {
    match code {
        // Honest work can need other settings, and the judge accepts those that change no result.
        Why::GreenConfigChanged | Why::RefactorConfigChanged => {
            "leave these settings as they are; if the work needs another one, ask the human to \
             change it"
        }
        code => code.next_step(),
    }
}

/// The pre-commit hook: files to be committed must not contain anything that the judge refuses without
/// running tests.
pub fn pre_commit(folder: &Path, environment: &Environment) -> Result<Option<Failure>> {
    let Some((git, own_dir)) = Git::locate(folder) else { return Ok(None) };
    let session = match Store::at(&own_dir, environment)?.read(&git)? {
        StoredSession::Nothing => return Ok(None),
        StoredSession::RecordGone => return Err(record_gone().into()),
        StoredSession::Session(session) => *session,
    };
    let index = git.committed_tree(environment.index_file.as_deref())?;
    // Accepted files that are not committed yet are not deletions: only committed changes count.
    let staged = git.diff(&git.mark("HEAD")?.tree, &index)?;
    let is_staged = |reason: &Reason| {
        staged.iter().any(|changed| reason.file.as_deref() == Some(&changed.path))
    };
    let mut reasons = session::objections(&git, &session, &index)?;
    reasons.retain(is_staged);
    if reasons.is_empty() {
        return Ok(None);
    }
    let failure = Failure::new(
        Code::No,
        format!("{}: the changes to be committed would be refused", session.phase()),
    );
    let lines = told(&reasons).unwrap_or_default();
    let failure = lines.lines().fold(failure, Failure::evidence);
    Ok(Some(failure.next("git restore --staged <file>, or: redgreen session dispute \"<why>\"")))
}

/// Where the agent of a session works.
#[derive(Clone, Copy)]
struct Place<'a> {
    git: &'a Git,
    environment: &'a Environment,
    /// Relative paths of the host are below it.
    cwd: &'a Path,
}

/// Where a path of a host leads.
enum Target {
    /// Relative to the root, with `/`.
    Inside(String),
    /// In a folder of git or of redgreen.
    Of(&'static str),
    /// Elsewhere in the user's home folder, relative to it.
    Home(String),
    Outside,
}

impl Place<'_> {
    /// A path of the host with its links resolved, and where it leads.
    fn of(&self, named: &str) -> (PathBuf, Target) {
        let Self { git, environment, cwd } = self;
        let path = real(&cwd.join(named));
        let below = |folder: &Path| {
            let rest = path.strip_prefix(real(folder)).ok()?;
            Some(rest.to_string_lossy().into_owned())
        };
        let own = [&environment.state, &environment.settings];
        let target = if own.into_iter().flatten().any(|folder| below(folder).is_some()) {
            Target::Of("redgreen")
        } else if [&git.common_dir, &git.root.join(".git")]
            .into_iter()
            .any(|at| below(at).is_some())
        {
            // The folder of a worktree is elsewhere, and its `.git` is a file.
            Target::Of("git")
        } else if let Some(inside) = below(&git.root) {
            Target::Inside(inside)
        } else {
            environment.home.as_deref().and_then(below).map_or(Target::Outside, Target::Home)
        };
        (path, target)
    }
}

/// A path with the links in its folders resolved. It need not exist.
fn real(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    // A missing path has an existing parent folder.
    let there = plain.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        // Joined with nothing, a file would become a folder.
        Some((above, real)) if above == plain => real,
        Some((above, real)) => real.join(plain.strip_prefix(above).unwrap_or(&plain)),
        None => plain,
    }
}
