//! The planner's `TODO_LIST.md`: ticks the box of a finished task on the run's branch, with a link
//! to a summary next to the list.

use std::path::Path;

use anyhow::Result;
use redgreen_core::brief::Door;
use redgreen_core::event::Outcome;
use redgreen_core::names::Oid;
use redgreen_core::phase::Phase;
use redgreen_core::summary;
use redgreen_core::todo_list;

use super::Engine;
use super::results::seen_at;

impl Engine<'_> {
    /// The tree of a task's last commit with its box ticked. Other commits, and lists without the
    /// task, stay unchanged.
    pub(super) fn with_todo_ticked(&self, tree: &Oid) -> Result<Oid> {
        let (brief, git) = (&self.state.run.brief, &self.project.git);
        if brief.door != Door::Task || brief.id.is_empty() || self.state.phase() != Phase::Refactor
        {
            return Ok(tree.clone());
        }
        let files = git.tree_files(tree)?;
        for path in files.iter().filter_map(|file| file.path.to_str()).filter(|path| is_list(path))
        {
            let list = git
                .read_file(tree, path)?
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .unwrap_or_default();
            let link = format!(".summaries/{}-summary.md", file_name(&brief.id));
            let Some(ticked) = todo_list::ticked(&list, &brief.id, &link) else { continue };
            let seen = seen_at(self.project, &self.folder, &self.state, tree)?;
            let text = summary::markdown(&self.state, Some(&Outcome::Waiting), &seen);
            let beside = Path::new(path).parent().unwrap_or(Path::new("")).join(link);
            return git.with_files(tree, &[(Path::new(path), &ticked), (&beside, &text)]);
        }
        Ok(tree.clone())
    }
}

fn is_list(path: &str) -> bool {
    path.rsplit('/').next() == Some(todo_list::FILE)
}

/// An id as a file name that cannot leave its folder.
fn file_name(id: &str) -> String {
    let fits =
        |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_' || letter == '.';
    let name: String = id.chars().map(|letter| if fits(letter) { letter } else { '-' }).collect();
    name.trim_start_matches('.').to_owned()
}
