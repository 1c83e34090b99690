//! The withheld tests, laid over the candidate in the clean room and run: files go in, a report comes out, the mind says
//! what it means.

use std::fs;

use anyhow::{Context, Result};
use redgreen_core::control::Tree;
use redgreen_core::framework::command;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::names::ProjectFile;
use redgreen_core::phase::Phase;
use redgreen_core::report::{Report, Test};
use redgreen_core::verdict::{Decision, Verdict};
use redgreen_core::withheld::{self, Answer, TestFile};

use super::court::Court;
use super::{Charge, and_refused};
use crate::room::Options;

/// What became of the withheld tests.
#[derive(Clone, Debug, Default)]
pub struct Unseen {
    /// RED: those that fail as they should. GREEN: those that pass.
    pub paths: Vec<ProjectFile>,
    /// GREEN: the tests in them.
    pub passed: Vec<Test>,
}

impl Court<'_> {
    /// `after` is what the candidate's own tests showed. Withheld tests never have RED refused.
    pub(super) fn try_withheld(
        &mut self,
        charge: &Charge<'_>,
        options: &Options,
        after: &Report,
        verdict: &mut Verdict,
    ) -> Result<Unseen> {
        match charge.phase {
            _ if charge.withheld.tests.is_empty() => Ok(Unseen::default()),
            Phase::Red => self.withheld_at_red(charge, options, after, verdict),
            Phase::Green | Phase::Refactor => self.withheld_at_green(charge, options, after, verdict),
            Phase::Plan | Phase::Complete => Ok(Unseen::default()),
        }
    }

    fn withheld_at_red(
        &mut self,
        charge: &Charge<'_>,
        options: &Options,
        after: &Report,
        verdict: &mut Verdict,
    ) -> Result<Unseen> {
        let mut unseen = Unseen::default();
        for file in charge.withheld.tests {
            match withheld::at_red(after, &self.run_with(charge, options, &[file])?) {
                Ok(()) => unseen.paths.push(file.path.clone()),
                Err(why) => verdict.notes.push(withheld::unused(file, &why)),
            }
        }
        Ok(unseen)
    }

    fn withheld_at_green(
        &mut self,
        charge: &Charge<'_>,
        options: &Options,
        after: &Report,
        verdict: &mut Verdict,
    ) -> Result<Unseen> {
        let git = self.ground.git;
        let (base, head) = (git.tree_files(charge.base)?, git.tree_files(charge.head)?);
        let [base, head] =
            [&base, &head].map(|tree| tree.iter().filter_map(|file| file.path.to_str()).collect::<Vec<_>>());
        let (all, reasons, dropped) = withheld::free(charge.withheld.tests, &base, &head);
        verdict.notes.extend(dropped);
        if !reasons.is_empty() {
            let standing = verdict.standing;
            *verdict = Verdict { standing, ..and_refused(verdict.clone(), reasons) };
        }
        if verdict.decision == Decision::Refused || all.is_empty() {
            return Ok(Unseen::default());
        }
        let mut tried = vec![(all.clone(), self.ask_withheld(charge, options, after, &all)?)];
        // One file that does not load may hide the others: they are added one after the other.
        if let [(_, Answer::Unusable(_))] = tried.as_slice()
            && all.len() > 1
        {
            tried.clear();
            let mut loaded: Vec<&TestFile> = Vec::new();
            for file in all {
                let with: Vec<&TestFile> = loaded.iter().copied().chain([file]).collect();
                let answer = self.ask_withheld(charge, options, after, &with)?;
                match &answer {
                    Answer::Passed(_) => loaded.push(file),
                    Answer::Fails { .. } | Answer::Unusable(_) => {}
                }
                tried.push((with, answer));
            }
        }
        let mut unseen = Unseen::default();
        for (files, answer) in tried {
            match answer {
                Answer::Passed(passed) => {
                    unseen = Unseen { paths: files.iter().map(|file| file.path.clone()).collect(), passed };
                }
                Answer::Fails { told, failing, of } => {
                    *verdict = withheld::overfits(verdict.clone(), *told, failing, of);
                    return Ok(Unseen::default());
                }
                Answer::Unusable(why) => verdict.notes.extend(files.last().map(|file| withheld::unused(file, &why))),
            }
        }
        Ok(unseen)
    }

    /// A test that fails is tried once more before anybody is blamed.
    fn ask_withheld(
        &mut self,
        charge: &Charge<'_>,
        options: &Options,
        after: &Report,
        files: &[&TestFile],
    ) -> Result<Answer> {
        let answer = withheld::at_green(after, &self.run_with(charge, options, files)?, files);
        match answer {
            Answer::Fails { .. } => Ok(withheld::at_green(after, &self.run_with(charge, options, files)?, files)),
            Answer::Passed(_) | Answer::Unusable(_) => Ok(answer),
        }
    }

    /// Lays test files over the candidate and runs them, and no others where the runner can be told so.
    fn run_with(&mut self, charge: &Charge<'_>, options: &Options, files: &[&TestFile]) -> Result<Report> {
        self.enter(Tree::Head, charge, options)?;
        for file in files {
            let place = self.room.folder().join(&file.path);
            let act = || format!("lay {} into the room", file.path);
            fs::create_dir_all(place.parent().unwrap_or(self.room.folder())).with_context(act)?;
            fs::write(&place, &file.text).with_context(act)?;
        }
        let selection = match self.suite.frameworks().any(|row| row.name == command::FRAMEWORK.name) {
            true => Selection::All,
            false => Selection::Files(files.iter().map(|file| file.path.to_string()).collect()),
        };
        self.run(&selection, &[])
    }
}
