//! Comments on the lines of a run: their storage, the messages to agents, and their place after the
//! code changed. They are in a file in the run's folder, which anyone with write access could have
//! created, so it is validated here.

use serde::{Deserialize, Serialize};
use similar::{DiffTag, TextDiff};

use crate::names::{Oid, ProjectFile};
use crate::steer::{self, MESSAGE_BYTES_MAX, MessageError};

/// The maximum size of the file.
pub const FILE_BYTES_MAX: u64 = 4 << 20;
/// The maximum number of comments.
pub const COMMENTS_MAX: usize = 500;
/// Small enough that several fit into one message.
pub const BODY_BYTES_MAX: usize = 2 << 10;
/// The stored length of the commented line.
const CODE_CHARS_MAX: usize = 200;
/// A change within this distance counts as an answer to the comment.
const NEAR_LINES: usize = 3;
const VERSION: u32 = 1;
const HEAD: &str = "I reviewed the code and ask for these changes:";

/// A comment on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    pub id: u64,
    pub file: ProjectFile,
    pub side: Side,
    /// Starts at 1, in the file of `tree`.
    pub line: u32,
    /// The text of the line.
    pub code: String,
    /// The commit or tree with the line.
    pub tree: Oid,
    pub body: String,
    /// Milliseconds since 1970.
    pub at: i64,
    pub standing: CommentStatus,
}

/// Whether the line is in the new or in the old code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    New,
    Old,
}

/// The state of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommentStatus {
    /// Not sent yet.
    Draft,
    /// Sent to the agents.
    Sent,
    /// The user settled it.
    Resolved,
}

/// All comments on a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comments(pub Vec<Comment>);

#[derive(Serialize, Deserialize)]
struct CommentsV1 {
    version: u32,
    comments: Vec<Comment>,
}

/// The maximum length of a comment in a message, with the text before it.
const ITEM_BYTES_MAX: usize = MESSAGE_BYTES_MAX - HEAD.len() - 2;

/// The place of a line in a later version of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The same line, or the nearest remaining one.
    pub line: u32,
    /// The line or its neighbours changed.
    pub changed: bool,
}

impl Comments {
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        match serde_json::from_slice::<CommentsV1>(bytes) {
            Ok(read) if read.version == VERSION && read.comments.len() <= COMMENTS_MAX => {
                let mut comments = read.comments;
                for comment in &mut comments {
                    comment.body = body(&comment.body)?;
                    comment.code = line_of(&comment.code);
                }
                Ok(Self(comments))
            }
            Ok(_) | Err(_) => Err(MessageError::Unreadable),
        }
    }

    pub fn render(&self) -> String {
        serde_json::to_string(&CommentsV1 { version: VERSION, comments: self.0.clone() })
            .unwrap_or_default()
    }

    /// Adds a comment, or changes one that is not sent yet. An empty draft is removed.
    pub fn put(&mut self, comment: Comment) -> Result<Option<u64>, MessageError> {
        let known = self
            .0
            .iter()
            .position(|known| known.id == comment.id && known.standing == CommentStatus::Draft);
        if comment.body.trim().is_empty() {
            if let Some(at) = known {
                self.0.remove(at);
            }
            return Ok(None);
        }
        let comment =
            Comment { body: body(&comment.body)?, code: line_of(&comment.code), ..comment };
        if let Some(known) = known.and_then(|at| self.0.get_mut(at)) {
            known.body = comment.body;
            return Ok(Some(known.id));
        }
        if self.0.len() >= COMMENTS_MAX {
            return Err(MessageError::TooManyItems(self.0.len()));
        }
        let id = self.0.iter().map(|known| known.id).max().unwrap_or(0).saturating_add(1);
        self.0.push(Comment { id, standing: CommentStatus::Draft, ..comment });
        Ok(Some(id))
    }

    /// Settles a comment that was sent, or opens it again.
    pub fn settle(&mut self, id: u64, standing: CommentStatus) -> bool {
        let is_it =
            |comment: &&mut Comment| comment.id == id && comment.standing != CommentStatus::Draft;
        self.0.iter_mut().find(is_it).map(|comment| comment.standing = standing).is_some()
    }

    pub fn drafts(&self) -> impl Iterator<Item = &Comment> {
        self.0.iter().filter(|comment| comment.standing == CommentStatus::Draft)
    }

    /// Marks all drafts as sent.
    pub fn send(&mut self) {
        for comment in self.0.iter_mut().filter(|comment| comment.standing == CommentStatus::Draft)
        {
            comment.standing = CommentStatus::Sent;
        }
    }

    /// The drafts as messages to the agents: one, or more if they do not fit.
    pub fn messages(&self, words: &str) -> Vec<String> {
        let items = self.drafts().map(Comment::item);
        let own = Some(words.trim())
            .filter(|words| !words.is_empty())
            .map(|words| format!("- {words}\n"));
        let mut messages: Vec<String> = Vec::new();
        for item in own.into_iter().chain(items) {
            match messages.last_mut().filter(|last| last.len() + item.len() <= MESSAGE_BYTES_MAX) {
                Some(last) => last.push_str(&item),
                None => messages.push(format!("{HEAD}\n{item}")),
            }
        }
        messages
    }
}

impl Comment {
    fn item(&self) -> String {
        let was = match self.side {
            Side::New => "",
            Side::Old => " (a removed line)",
        };
        let body = self.body.replace('\n', "\n  ");
        let mut item =
            format!("- {}:{}{was} `{}`: {body}", self.file.as_str(), self.line, self.code.trim());
        // A long path, or a body with many lines.
        if item.len() > ITEM_BYTES_MAX {
            item.truncate(item.floor_char_boundary(ITEM_BYTES_MAX));
        }
        item + "\n"
    }
}

/// The place of line `line` of `old` in `new`.
pub fn anchor(old: &str, new: &str, line: u32) -> Anchor {
    let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let diff = TextDiff::from_lines(old, new);
    let (mut found, mut changed) = (at, false);
    for change in diff.ops() {
        let (before, after) = (change.old_range(), change.new_range());
        let is_near = before.start <= at.saturating_add(NEAR_LINES)
            && before.end.saturating_add(NEAR_LINES) > at;
        if change.tag() == DiffTag::Equal {
            if before.contains(&at) {
                found = after.start + (at - before.start);
            }
        } else {
            changed |= is_near;
            if before.contains(&at) {
                found = after.start + (at - before.start).min(after.len().saturating_sub(1));
            }
        }
    }
    let last = new.lines().count().saturating_sub(1);
    Anchor { line: u32::try_from(found.min(last)).unwrap_or(u32::MAX).saturating_add(1), changed }
}

fn body(text: &str) -> Result<String, MessageError> {
    let words = steer::words(text)?;
    match words.len() {
        0..=BODY_BYTES_MAX => Ok(words),
        bytes => Err(MessageError::TooLong { bytes, most: BODY_BYTES_MAX }),
    }
}

fn line_of(text: &str) -> String {
    crate::text::on_one_line(text).chars().take(CODE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(line: u32, body: &str) -> Comment {
        Comment {
            id: 0,
            file: ProjectFile::parse("calc.py").unwrap(),
            side: Side::New,
            line,
            code: "    return a".to_owned(),
            tree: Oid::parse("0123456789abcdef0123456789abcdef01234567").unwrap(),
            body: body.to_owned(),
            at: 1,
            standing: CommentStatus::Draft,
        }
    }

    fn written(bodies: &[&str]) -> Comments {
        let mut comments = Comments::default();
        for (line, body) in (1..).zip(bodies) {
            comments.put(comment(line, body)).unwrap();
        }
        comments
    }

    #[test]
    fn a_line_is_found_again_and_a_change_near_it_is_noticed() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
        for (new, line, expected, changed) in [
            (old, 5, 5, false),
            ("x\ny\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", 9, 11, false),
            ("x\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", 2, 3, true),
            ("a\nb\nc\nd\nE\nf\ng\nh\ni\nj\n", 5, 5, true),
            ("a\nb\nc\nd\nE\nf\ng\nh\ni\nj\n", 7, 7, true),
            ("a\nb\nc\nd\nE\nf\ng\nh\ni\nj\n", 10, 10, false),
            ("a\nb\nc\nd\nf\ng\nh\ni\nj\n", 5, 5, true),
            ("", 5, 1, true),
        ] {
            assert_eq!(
                anchor(old, new, line),
                Anchor { line: expected, changed },
                "{new:?} {line}"
            );
        }
        assert_eq!(anchor("", "", u32::MAX), Anchor { line: 1, changed: false });
    }

    #[test]
    fn drafts_are_one_message_unless_they_are_too_long_for_one() {
        assert!(written(&[]).messages(" ").is_empty());
        let one = written(&["use max\nplease", "and here"]).messages("thanks");
        assert_eq!(
            one,
            [
                "I reviewed the code and ask for these changes:\n- thanks\n- calc.py:1 `return a`: use max\n  please\n\
              - calc.py:2 `return a`: and here\n"
            ]
        );
        let long = "x".repeat(BODY_BYTES_MAX);
        let several = written(&[&long, &long, &long]).messages("");
        assert_eq!(several.len(), 3);
        assert!(several.iter().all(|message| steer::words(message).is_ok()));
    }

    #[test]
    fn a_draft_is_changed_and_taken_away_and_what_was_sent_is_not() {
        let mut comments = written(&["first"]);
        let changed = Comment { id: 1, ..comment(9, "better") };
        assert_eq!(comments.put(changed), Ok(Some(1)));
        assert_eq!((comments.0[0].body.as_str(), comments.0[0].line), ("better", 1));
        comments.send();
        assert_eq!(comments.put(Comment { id: 1, ..comment(1, "other") }), Ok(Some(2)));
        assert_eq!(comments.put(Comment { id: 2, ..comment(1, " ") }), Ok(None));
        assert_eq!(comments.put(Comment { id: 1, ..comment(1, " ") }), Ok(None));
        assert_eq!(comments.0.len(), 1);
        assert!(
            comments.settle(1, CommentStatus::Resolved)
                && !comments.settle(2, CommentStatus::Resolved)
        );
        assert!(comments.put(comment(1, &"x".repeat(BODY_BYTES_MAX + 1))).is_err());
    }

    #[test]
    fn a_file_reads_back_and_a_strange_one_is_refused() {
        let comments = written(&["bell \u{7}"]);
        let text = comments.render();
        assert_eq!(Comments::parse(text.as_bytes()), Ok(comments));
        for (from, to) in [
            ("\"version\":1", "\"version\":2"),
            ("calc.py", "../x"),
            ("0123456789", "--output"),
            ("{", ""),
        ] {
            assert_eq!(
                Comments::parse(text.replace(from, to).as_bytes()),
                Err(MessageError::Unreadable),
                "{to}"
            );
        }
        let raw = text.replace("bell ␇", "\\u001b[2J");
        assert_eq!(Comments::parse(raw.as_bytes()).unwrap().0[0].body, "␛[2J");
    }
}
