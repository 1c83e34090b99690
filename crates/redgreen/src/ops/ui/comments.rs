//! Comments on the lines of a run: a file in its folder, written atomically.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;

use anyhow::{Context, Result};
use redgreen_core::names::{Oid, ProjectFile};
use redgreen_core::review::comment::{
    self, Comment, CommentStatus, Comments, FILE_BYTES_MAX, Side,
};
use redgreen_core::steer::MessageError;

use super::{Reviews, locked};
use crate::engine::now;
use crate::failure::Failure;
use crate::foreign;
use crate::journal::RunFolder;

/// A comment as typed.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The id of an existing draft, or 0 for a new one.
    pub id: u64,
    pub file: String,
    pub side: Side,
    pub line: u32,
    pub code: String,
    /// The displayed commit or tree.
    pub tree: String,
    pub body: String,
}

/// A comment, and its place in the displayed code.
#[derive(Clone, Debug)]
pub struct PlacedComment {
    pub comment: Comment,
    pub line: u32,
    /// It was sent, and the code around it changed since.
    pub is_addressed: bool,
}

impl Reviews {
    pub fn comments(&self, folder: &RunFolder) -> Result<Comments> {
        folder.check()?;
        let path = folder.comments();
        if !path.exists() {
            return Ok(Comments::default());
        }
        let bytes = foreign::read(&path, FILE_BYTES_MAX)
            .with_context(|| format!("read {}", path.display()))?;
        let comments =
            bytes.ok_or(MessageError::Unreadable).and_then(|bytes| Comments::parse(&bytes));
        comments.map_err(|_| {
            Failure::environment(format!("cannot read the comments on run {}", folder.id))
                .evidence(path.display().to_string())
                .next("move that file away")
                .into()
        })
    }

    /// Stores a draft and returns its id. `None` if it no longer exists.
    pub fn keep_draft(&self, folder: &RunFolder, draft: Draft) -> Result<Option<u64>> {
        let unusable = |why: String| Failure::usage("cannot save this comment").evidence(why);
        let comment = Comment {
            id: draft.id,
            file: ProjectFile::parse(&draft.file).map_err(|error| unusable(error.to_string()))?,
            side: draft.side,
            line: draft.line,
            code: draft.code,
            tree: Oid::parse(&draft.tree).map_err(|error| unusable(error.to_string()))?,
            body: draft.body,
            at: now(),
            standing: CommentStatus::Draft,
        };
        self.change(folder, |comments| {
            comments.put(comment).map_err(|why| unusable(why.to_string()).into())
        })
    }

    /// Marks a sent comment as settled or open.
    pub fn settle(&self, folder: &RunFolder, id: u64, standing: CommentStatus) -> Result<()> {
        self.change(folder, |comments| match comments.settle(id, standing) {
            true => Ok(()),
            false => {
                Err(Failure::usage(format!("run {} has no sent comment {id}", folder.id)).into())
            }
        })
    }

    /// Marks the drafts as sent.
    pub(super) fn sent(&self, folder: &RunFolder) -> Result<()> {
        self.change(folder, |comments| {
            comments.send();
            Ok(())
        })
    }

    fn change<T>(
        &self,
        folder: &RunFolder,
        change: impl FnOnce(&mut Comments) -> Result<T>,
    ) -> Result<T> {
        let _one = locked(&self.writing);
        let mut comments = self.comments(folder)?;
        let changed = change(&mut comments)?;
        let path = folder.comments();
        let act = || format!("write {}", path.display());
        let mut file = tempfile::NamedTempFile::new_in(&folder.path).with_context(act)?;
        file.write_all(comments.render().as_bytes()).with_context(act)?;
        file.persist(&path).with_context(act)?;
        Ok(changed)
    }

    /// The comments with their places: new lines in the code of `to`, old ones in that of `from`.
    pub(super) fn placed(
        &self,
        folder: &RunFolder,
        from: &str,
        to: &str,
        head: &str,
    ) -> Result<Vec<PlacedComment>> {
        let comments = self.comments(folder)?.0;
        let shown = |comment: &Comment| if comment.side == Side::New { to } else { from };
        let wanted: BTreeSet<(&str, &str)> = comments
            .iter()
            .flat_map(|comment| {
                [comment.tree.as_str(), shown(comment), head]
                    .map(|tree| (tree, comment.file.as_str()))
            })
            .collect();
        let wanted: Vec<(&str, &str)> = wanted.into_iter().collect();
        let texts: HashMap<(String, String), String> = wanted
            .iter()
            .zip(self.project.git.read_texts(&wanted)?)
            .filter_map(|((tree, path), text)| {
                Some((((*tree).to_owned(), (*path).to_owned()), text?))
            })
            .collect();
        let placed = comments.iter().map(|comment| {
            let name = |tree: &str| (tree.to_owned(), comment.file.to_string());
            let text = |tree: &str| texts.get(&name(tree)).map_or("", String::as_str);
            let then = text(comment.tree.as_str());
            let line = comment::anchor(then, text(shown(comment)), comment.line).line;
            let is_addressed = comment.standing == CommentStatus::Sent
                && comment.side == Side::New
                && comment::anchor(then, text(head), comment.line).changed;
            PlacedComment { comment: comment.clone(), line, is_addressed }
        });
        Ok(placed.collect())
    }
}
