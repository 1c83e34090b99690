//! The agent's turn: its worktree, the snapshot of its work, the rollback, and the commit of an
//! accepted phase.

use std::cell::RefCell;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::agent::{Assignment, Failure as AgentFailure, Turn};
use redgreen_core::artifact::TestFile;
use redgreen_core::event::{Event, Mark};
use redgreen_core::names::{Label, Oid, RunFile, RunId, SalvageName, SessionId};
use redgreen_core::phase::{Phase, Role};
use redgreen_core::report::Report;
use redgreen_core::state::Situation;
use redgreen_core::text::shell_word;
use redgreen_core::{test_list, text};

use super::steering::Inbox;
use super::{Engine, Progress, Project, batching, elapsed_ms, now};
use crate::agent::{Agent, TurnInput, TurnOutput, visible};
use crate::failure::Failure;
use crate::foreign;
use crate::git::{RefEdit, Snapshot, Swap, Worktree, remove_folder};
use crate::journal::{LiveWriter, RunFolder};
use crate::private;
use crate::process::kill_marked;
use crate::room::editable;
use crate::runner::python;
use crate::trial;

/// How much output of a setup command is kept for the error message.
const TRANSCRIPT_BYTES_MAX: usize = 4 << 20;
/// The size limit of the diff of a turn, for the agent itself.
const CHANGES_BYTES_MAX: usize = 64 << 10;
/// Next to the private index of a worktree that is checked out and set up.
const READY: &str = "ready";
/// Identifies the run to agents and to redgreen.
const RUN_MARK: &str = "REDGREEN_RUN";

impl Engine<'_> {
    /// Makes sure that the worktree is at the accepted commit and contains exactly `tree`. Other
    /// contents are salvaged.
    pub(super) fn prepare(&mut self, tree: &Oid) -> Result<Event> {
        let head = self.state.progress.head.clone();
        self.end_orphans();
        self.make_branch(&head)?;
        match self.notice_commits()? {
            Some(event) => Ok(event),
            None => self.set_out(&head, tree),
        }
    }

    /// Creates the worktree, or uses the existing one.
    pub(super) fn set_out(&self, head: &Mark, tree: &Oid) -> Result<Event> {
        let worktree = self.worktree();
        let mut notices;
        let mut salvage = None;
        if self.is_ready(&worktree)? {
            (salvage, notices) = self.go_on_in(&worktree, head, tree)?;
        } else {
            self.remove_worktree(&worktree)?;
            let worktree = self.choose_packages(&worktree, &head.tree)?;
            notices = self.project.git.worktree_add(&worktree, &head.commit)?;
            self.project.git.restore(&worktree, head, tree)?;
            self.set_up(&worktree)?;
            let settings = &self.project.file.worktree;
            if !settings.setup.is_empty() {
                let brought: Vec<_> = settings.copy.iter().chain(&settings.link).cloned().collect();
                notices.extend(trial::note_made(&self.project.git, &worktree, &brought)?);
            }
            notices.extend(self.left_behind(&worktree));
            write(&worktree.private, READY, b"")?;
        }
        Ok(Event::Prepared { worktree: worktree.path.display().to_string(), salvage, notices })
    }

    pub(super) fn ask(&mut self, assignment: &Assignment, time: Duration) -> Result<Event> {
        match self.notice_commits()? {
            Some(event) => Ok(event),
            None => self.take_turn(assignment, time),
        }
    }

    /// The agent's turn, in the worktree of the run or of one of several attempts.
    pub(super) fn take_turn(&mut self, assignment: &Assignment, time: Duration) -> Result<Event> {
        let worktree = self.worktree();
        let Some(team) = &self.team else {
            return Err(Failure::usage("this run has no agent to continue with")
                .next("redgreen resume --agent <name>")
                .into());
        };
        let agent = team.on_turn(assignment);
        let human = matches!(agent, Agent::Human(_));
        let withhold = assignment.withhold && !team.is_one_person();
        let assignment = &Assignment { withhold, ..assignment.clone() };
        let mut handed_over = None;
        // A plan that a person started stays unchanged until their turn is over.
        if assignment.phase == Phase::Plan
            && !(human && self.is_turn_of_human(&worktree, assignment))
        {
            self.lay_out_list(&worktree)?;
        }
        if human {
            self.mark_human(&worktree, assignment)?;
        } else {
            handed_over = self.take_over_from_human(&worktree, assignment)?;
        }
        self.lay_out_withheld(&worktree, assignment, human)?;
        // Commits that a person adds to the branch during their own turn are judged, not reverted.
        let refs = if !human && agent.reaches_refs()? { Some(self.remember_refs()?) } else { None };
        let started = Instant::now();
        let desk = self.folder.desks().join(self.turn_name(assignment.role));
        private::create_dir_all(&desk).with_context(|| format!("create {}", desk.display()))?;
        let head = self.state.progress.head.tree.clone();
        let (git, report, tests) = (&self.project.git, self.last_report(), self.tests_at_once());
        let changes = || {
            Ok(git.diff_text(&head, &git.snapshot(&worktree, &head)?.tree, CHANGES_BYTES_MAX)?.text)
        };
        let packages = self.packages(&worktree);
        let role = assignment.role;
        let observe = RefCell::new(&mut self.observe);
        // People see their own words, and several attempts report to the engine of the run.
        let is_shown = !human && self.journal.is_some();
        let mut live = is_shown.then(|| LiveWriter::begin(&self.folder));
        let mut inbox = Inbox::new(&self.folder, self.journal.as_mut(), &mut self.state);
        let allowance = inbox.state.run.policy.budget.left_after(&inbox.state.spent);
        let mut orders = TurnInput {
            assignment,
            worktree: &worktree.path,
            env: &agent_environment(self.project, &self.folder.id, &worktree.path)?,
            time_limit: time,
            allowance,
            desk: &desk,
            report: report.as_ref(),
            tests: &tests,
            changes: &changes,
            repository: &git.common_dir,
            private: self.project.store.root(),
            aside: &worktree.private,
            packages: &packages,
            stop: &self.project.stop,
            live: &mut |said| {
                if let Some(live) = &mut live {
                    live.said(now(), role, said);
                }
                observe.borrow_mut()(Progress::Live(role, said));
            },
            messages: &mut || {
                inbox.messages(|line, state| {
                    observe.borrow_mut()(Progress::Line(line, state));
                })
            },
        };
        let taken = match given_tests(&self.folder, assignment)? {
            Some(files) => put_in_place(&files, &worktree.path)?,
            None => agent.take_turn(&mut orders)?,
        };
        inbox.end()?;
        drop(live);
        let took_ms = elapsed_ms(started);
        let who = agent.version().map(|version| Label::of(&format!("{} {version}", agent.name())));
        let mut notices = refs.map(|refs| self.settle_refs(&refs)).transpose()?.unwrap_or_default();
        notices.extend(taken.notices.iter().cloned());
        notices.extend(handed_over);
        self.keep_transcript(assignment, &taken.transcript)?;
        let taken = match batching::unmarked(assignment, &taken.turn, &worktree.path)? {
            Some(turn) => TurnOutput { turn, ..taken },
            None => taken,
        };
        let (snapshot, list) = self.snapshot_with_list(&worktree, assignment.role, human)?;
        let name = self.turn_name(assignment.role);
        let (withheld, unused) =
            self.take_withheld(&worktree, assignment, &snapshot.tree, &name)?;
        notices.extend(unused);
        if !human {
            self.clear_withheld(&worktree)?;
        }
        let turn = match snapshot.nested.first() {
            Some(nested) => {
                // No tree can contain it, so no later step would know that it must be removed. A
                // person removes it.
                if !human {
                    self.project.git.restore(
                        &worktree,
                        &self.state.progress.head,
                        &snapshot.tree,
                    )?;
                }
                Turn::Failed {
                    failure: AgentFailure::Crash,
                    message: format!(
                        "it left changes in {}, a separate git repository",
                        nested.display()
                    ),
                }
            }
            None => taken.turn,
        };
        let (role, tree, cost) = (assignment.role, snapshot.tree, taken.cost);
        // An agent may give its conversation any name. A name that looks like an option is not
        // resumed.
        let session = taken.session.and_then(|session| SessionId::parse(&session).ok());
        Ok(Event::Turned {
            role,
            turn,
            tree,
            cost,
            took_ms,
            session,
            agent: who,
            human,
            notices,
            list,
            withheld,
        })
    }

    /// The agent's files with the engine's list, and the corrections to the list.
    fn snapshot_with_list(
        &self,
        worktree: &Worktree,
        role: Role,
        human: bool,
    ) -> Result<(Snapshot, Vec<String>)> {
        let (git, head) = (&self.project.git, &self.state.progress.head.tree);
        if role == Role::TestList {
            let list = self.own_list(worktree)?;
            return Ok((git.snapshot(worktree, head)?, list));
        }
        let mut snapshot = git.snapshot(worktree, head)?;
        if !self.changes_list(&snapshot.tree)? {
            return Ok((snapshot, Vec::new()));
        }
        // A person's file stays unchanged, and planning starts with it.
        if human {
            snapshot.tree = git.with_file_of(&snapshot.tree, head, test_list::FILE)?;
            let sentence = format!("kept your changes to {} for the next PLAN", test_list::FILE);
            return Ok((snapshot, vec![sentence]));
        }
        self.put_back_list(worktree)?;
        let sentence = format!("restored {}: only PLAN may change the list", test_list::FILE);
        Ok((git.snapshot(worktree, head)?, vec![sentence]))
    }

    pub(super) fn restore(&mut self, tree: &Oid, why: &str) -> Result<Event> {
        let worktree = self.worktree();
        let head = self.state.progress.head.clone();
        let salvage = self.salvage_unless(&worktree, why, &[tree, &head.tree])?;
        self.project.git.restore(&worktree, &head, tree)?;
        Ok(Event::Restored { tree: tree.clone(), salvage })
    }

    pub(super) fn write_artifact(&mut self, file: &str, text: &str) -> Result<Event> {
        let folder = self.folder.artifacts();
        let text = format!("{text}{}", self.tried_change()?);
        write(&folder, file, text.as_bytes())?;
        Ok(Event::Recorded { file: RunFile::parse(&format!("artifacts/{file}"))? })
    }

    /// The changes of the refused GREEN turn, for its log.
    fn tried_change(&self) -> Result<String> {
        let (Situation::Working { phase: Phase::Green, attempt, .. }
        | Situation::Reverting { phase: Phase::Green, attempt, .. }) = &self.state.situation
        else {
            return Ok(String::new());
        };
        let Some((from, left)) = attempt.last_refused() else { return Ok(String::new()) };
        let diff = self.project.git.diff_text(from, left, CHANGES_BYTES_MAX)?;
        let diff = text::visible(&diff.text).trim_end().to_owned();
        let diff = if diff.is_empty() {
            "Nothing was changed.".to_owned()
        } else {
            format!("```diff\n{diff}\n```")
        };
        Ok(format!("\n## What was tried\n\n{diff}\n"))
    }

    /// One commit for the phase, whatever the agent committed. Its id follows from the journal, so
    /// repeating this creates the same commit.
    pub(super) fn commit(&mut self, tree: &Oid, message: &str, at: i64) -> Result<Event> {
        let git = &self.project.git;
        let head = &self.state.progress.head;
        let tree = &self.with_todo_ticked(tree)?;
        let commit = git.commit_tree(tree, &[&head.commit], message, at)?;
        let branch = self.branch_ref();
        let swap =
            git.edit_refs(&[RefEdit::Update { name: &branch, new: &commit, old: &head.commit }])?;
        if swap == Swap::Moved && git.read_ref(&branch)?.as_ref() != Some(&commit) {
            if let Some(event) = self.notice_commits()? {
                return Ok(event);
            }
            return Err(Failure::environment(format!(
                "the branch {} does not exist any more",
                self.state.run.branch
            ))
            .evidence(format!("redgreen left it at {}", head.commit))
            .next(format!("git branch {} {}", shell_word(&self.state.run.branch), head.commit))
            .into());
        }
        let mark = Mark { commit, tree: tree.clone() };
        self.settle_worktree(&mark)?;
        Ok(Event::Committed { mark })
    }

    /// Salvages the contents of the worktree, unless it is one of the known trees.
    pub(super) fn salvage_unless(
        &self,
        worktree: &Worktree,
        why: &str,
        known: &[&Oid],
    ) -> Result<Option<SalvageName>> {
        let git = &self.project.git;
        let head = &self.state.progress.head;
        let held = git.snapshot(worktree, &head.tree)?.tree;
        if known.contains(&&held) {
            return Ok(None);
        }
        git.salvage(&self.folder.id, why, &held, &head.commit).map(Some)
    }

    fn make_branch(&self, head: &Mark) -> Result<()> {
        let branch = self.branch_ref();
        // It exists on every later visit. The commit step knows its target.
        match self.project.git.edit_refs(&[RefEdit::Create { name: &branch, new: &head.commit }])? {
            Swap::Done | Swap::Moved => Ok(()),
        }
    }

    /// Whether the worktree was set up completely. Otherwise nobody worked in it, and it is created
    /// again.
    pub(super) fn is_ready(&self, worktree: &Worktree) -> Result<bool> {
        let folder = &worktree.path;
        if !worktree.private.join(READY).exists() || !folder.is_dir() {
            return Ok(false);
        }
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        Ok(self
            .project
            .git
            .worktree_list()?
            .iter()
            .any(|listed| listed.path == real || listed.path == *folder))
    }

    /// From here on nothing in the folder counts, even if its removal is interrupted.
    pub(super) fn discount_worktree(&self, worktree: &Worktree) -> Result<()> {
        let marker = worktree.private.join(READY);
        match fs::remove_file(&marker) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("remove {}", marker.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(super) fn remove_worktree(&self, worktree: &Worktree) -> Result<()> {
        self.discount_worktree(worktree)?;
        // The agents' view of the repository is as large as its recent history. It is created again
        // if needed.
        remove_folder(&worktree.private.join(visible::GIT_VIEW)).ok();
        self.unmark_human(worktree)?;
        self.project.git.worktree_remove(&worktree.path)
    }

    /// If redgreen was killed, its agent continues in a worktree that it no longer owns.
    pub(super) fn end_orphans(&self) {
        kill_marked(RUN_MARK, &self.folder.id);
    }

    /// The test report of the last accepted phase. It helps the agent, but is not required.
    fn last_report(&self) -> Option<Report> {
        let kept = self.state.progress.accepted.as_ref()?;
        serde_json::from_slice(&fs::read(self.folder.path.join(&kept.file)).ok()?).ok()
    }

    /// Turns are numbered across the whole run.
    pub(super) fn turn_name(&self, role: Role) -> String {
        let number: u32 = self.state.turns.values().sum::<u32>() + 1;
        format!("{number:03}-{role}{}", self.suffix())
    }

    fn keep_transcript(&self, assignment: &Assignment, transcript: &str) -> Result<()> {
        let name = format!("{}.md", self.turn_name(assignment.role));
        let mut end = transcript.len().min(TRANSCRIPT_BYTES_MAX);
        while !transcript.is_char_boundary(end) {
            end -= 1;
        }
        write(
            &self.folder.transcripts(),
            &name,
            text::visible(transcript.get(..end).unwrap_or_default()).as_bytes(),
        )
    }
}

/// The tests that the run was started with: the first turn of the test agent.
fn given_tests(folder: &RunFolder, assignment: &Assignment) -> Result<Option<Vec<TestFile>>> {
    if assignment.role != Role::Test || assignment.turn > 0 {
        return Ok(None);
    }
    let path = folder.given_tests();
    match fs::read(&path) {
        Ok(bytes) => {
            let files = serde_json::from_slice(&bytes)
                .with_context(|| format!("read {}", path.display()))?;
            Ok(Some(files))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
    }
}

fn put_in_place(files: &[TestFile], worktree: &Path) -> Result<TurnOutput> {
    for TestFile { path, content } in files {
        foreign::write(worktree, path, content.as_bytes())
            .with_context(|| format!("write {path}"))?;
    }
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    Ok(TurnOutput {
        turn: Turn::Done { answer: String::new() },
        cost: redgreen_core::agent::Cost {
            tokens: Some(0),
            microdollars: Some(0),
            ..Default::default()
        },
        transcript: format!(
            "The tests of the RED artifact were put in place: {}\n",
            names.join(", ")
        ),
        session: None,
        notices: Vec::new(),
    })
}

/// The environment of an agent's commands. They build in their own folder, which is never used for
/// a verdict.
pub(super) fn agent_environment(
    project: &Project,
    run: &RunId,
    worktree: &Path,
) -> Result<Vec<(String, String)>> {
    let target = project.workshop.join("cargo-target-agents");
    let mut told = vec![
        ("CARGO_TARGET_DIR".to_owned(), target.display().to_string()),
        (RUN_MARK.to_owned(), run.to_string()),
    ];
    let (root, python) = (&project.git.root, &project.environment.virtual_env);
    told.extend(
        python.iter().map(|folder| ("VIRTUAL_ENV".to_owned(), folder.display().to_string())),
    );
    // Editable packages point to the user's checkout, but the agent must see its own work.
    let environments: Vec<PathBuf> =
        python.iter().cloned().chain([root.join(".venv"), root.join("venv")]).collect();
    let own: Vec<PathBuf> =
        editable(&environments, from_ref(root)).iter().map(|below| worktree.join(below)).collect();
    if !own.is_empty() {
        let path = std::env::join_paths(own).context("tell where Python imports from")?;
        told.push((python::PATH.to_owned(), path.to_string_lossy().into_owned()));
    }
    Ok(told)
}

/// The last lines of an output, as evidence.
pub(super) fn last_lines(output: &str) -> String {
    const LINES_MAX: usize = 12;
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.iter().skip(lines.len().saturating_sub(LINES_MAX)).copied().collect::<Vec<_>>().join("\n")
}

pub(super) fn write(folder: &Path, file: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(file);
    let parent = path.parent().unwrap_or(folder);
    private::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
    private::write(&path, bytes).with_context(|| format!("write {}", path.display()))
}
