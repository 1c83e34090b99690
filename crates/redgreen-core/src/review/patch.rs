//! Parses a git patch into files, hunks and numbered lines.

/// One changed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePatch {
    pub path: String,
    pub kind: Kind,
    pub hunks: Vec<Hunk>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Changed,
    Added,
    Deleted,
    /// Not text.
    Binary,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Git's description of the place: the enclosing function.
    pub head: String,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub side: Side,
    /// Its number before and after the change, starting at 1.
    pub old: Option<u32>,
    pub new: Option<u32>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Both,
    Added,
    Removed,
}

impl FilePatch {
    /// Lines added and removed.
    pub fn size(&self) -> (usize, usize) {
        let count = |side: Side| self.lines().filter(|line| line.side == side).count();
        (count(Side::Added), count(Side::Removed))
    }

    fn lines(&self) -> impl Iterator<Item = &Line> {
        self.hunks.iter().flat_map(|hunk| &hunk.lines)
    }
}

/// Two lines side by side, old and new. One may be missing.
pub type Pair<'a> = (Option<&'a Line>, Option<&'a Line>);

impl Hunk {
    /// For the two-column view: removed lines are next to the added lines that follow.
    pub fn pairs(&self) -> Vec<Pair<'_>> {
        let mut pairs = Vec::new();
        let (mut removed, mut added): (Vec<&Line>, Vec<&Line>) = (Vec::new(), Vec::new());
        for line in &self.lines {
            match line.side {
                Side::Removed if added.is_empty() => removed.push(line),
                Side::Removed => {
                    flush(&mut pairs, &mut removed, &mut added);
                    removed.push(line);
                }
                Side::Added => added.push(line),
                Side::Both => {
                    flush(&mut pairs, &mut removed, &mut added);
                    pairs.push((Some(line), Some(line)));
                }
            }
        }
        flush(&mut pairs, &mut removed, &mut added);
        pairs
    }
}

fn flush<'a>(pairs: &mut Vec<Pair<'a>>, removed: &mut Vec<&'a Line>, added: &mut Vec<&'a Line>) {
    let rows = removed.len().max(added.len());
    pairs.extend((0..rows).map(|at| (removed.get(at).copied(), added.get(at).copied())));
    removed.clear();
    added.clear();
}

/// The files of a patch. Other lines, such as the omitted middle of a long patch, are ignored.
pub fn parse(text: &str) -> Vec<FilePatch> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut place = Place::Head;
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let path =
                names.rsplit_once(" b/").map_or(names, |(_, path)| path).trim_end_matches('"');
            files.push(FilePatch { path: path.to_owned(), ..FilePatch::default() });
            place = Place::Head;
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        if let Some((old, new, head)) = line.strip_prefix("@@ ").and_then(numbers) {
            file.hunks.push(Hunk { head: head.to_owned(), lines: Vec::new() });
            place = Place::Body { old, new };
            continue;
        }
        match &mut place {
            Place::Head => about(file, line),
            Place::Body { old, new } => {
                let Some(hunk) = file.hunks.last_mut() else { continue };
                let Some((side, text)) = side_of(line) else { continue };
                let (had, has) = (side != Side::Added, side != Side::Removed);
                hunk.lines.push(Line {
                    side,
                    old: had.then_some(*old),
                    new: has.then_some(*new),
                    text: text.to_owned(),
                });
                *old = old.saturating_add(u32::from(had));
                *new = new.saturating_add(u32::from(has));
            }
        }
    }
    files
}

enum Place {
    Head,
    /// The numbers of the next line.
    Body {
        old: u32,
        new: u32,
    },
}

/// A line between the names and the first hunk.
fn about(file: &mut FilePatch, line: &str) {
    if line.starts_with("new file mode") {
        file.kind = Kind::Added;
    } else if line.starts_with("deleted file mode") {
        file.kind = Kind::Deleted;
    } else if line.starts_with("Binary files ") {
        file.kind = Kind::Binary;
    } else if let Some(path) = line.strip_prefix("+++ b/").or_else(|| line.strip_prefix("--- a/")) {
        // Git ends a name that contains spaces with a tab.
        path.trim_end_matches('\t').clone_into(&mut file.path);
    }
}

fn side_of(line: &str) -> Option<(Side, &str)> {
    let mut letters = line.chars();
    let side = match letters.next() {
        Some('+') => Side::Added,
        Some('-') => Side::Removed,
        // Editors and mailers drop the space of an empty line.
        Some(' ') | None => Side::Both,
        // `\ No newline at end of file`.
        Some(_) => return None,
    };
    Some((side, letters.as_str()))
}

/// Reads `-1,2 +3,4 @@ head`.
fn numbers(line: &str) -> Option<(u32, u32, &str)> {
    let (ranges, head) = line.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    let first = |range: &str, sign: char| range.strip_prefix(sign)?.split(',').next()?.parse().ok();
    Some((first(old, '-')?, first(new, '+')?, head.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/calc.py b/calc.py
index 1..2 100644
--- a/calc.py
+++ b/calc.py
@@ -1,4 +1,5 @@ class Calc:
 def add(a, b):
-    return 0
-    # old
+    return a + b
 
+x = 1
@@ -10 +12 @@
-last
+end
\\ No newline at end of file
diff --git a/new one.py b/new one.py
new file mode 100644
--- /dev/null
+++ b/new one.py\t
@@ -0,0 +1 @@
+--- a/not a head
diff --git a/picture.png b/picture.png
new file mode 100644
Binary files /dev/null and b/picture.png differ
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-bye
";

    fn shown(file: &FilePatch) -> Vec<String> {
        let number =
            |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
        file.lines()
            .map(|line| format!("{}:{} {}", number(line.old), number(line.new), line.text))
            .collect()
    }

    #[test]
    fn a_patch_is_read_into_numbered_lines() {
        let files = parse(PATCH);
        let paths: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.kind)).collect();
        let expected = [
            ("calc.py", Kind::Changed),
            ("new one.py", Kind::Added),
            ("picture.png", Kind::Binary),
            ("gone.py", Kind::Deleted),
        ];
        assert_eq!(paths, expected);
        assert_eq!(
            shown(&files[0]),
            [
                "1:1 def add(a, b):",
                "2:-     return 0",
                "3:-     # old",
                "-:2     return a + b",
                "4:3 ",
                "-:4 x = 1",
                "10:- last",
                "-:12 end"
            ]
        );
        assert_eq!(files[0].hunks[0].head, "class Calc:");
        assert_eq!(shown(&files[1]), ["-:1 --- a/not a head"]);
        assert_eq!((files[0].size(), files[3].size()), ((3, 3), (0, 1)));
    }

    #[test]
    fn changed_lines_stand_beside_each_other() {
        let hunk = &parse(PATCH)[0].hunks[0];
        let text = |line: Option<&Line>| line.map_or("", |line| line.text.trim()).to_owned();
        let pairs: Vec<_> =
            hunk.pairs().into_iter().map(|(old, new)| (text(old), text(new))).collect();
        let expected = [
            ("def add(a, b):", "def add(a, b):"),
            ("return 0", "return a + b"),
            ("# old", ""),
            ("", ""),
            ("", "x = 1"),
        ];
        assert_eq!(pairs, expected.map(|(old, new)| (old.to_owned(), new.to_owned())));
    }

    #[test]
    fn rubbish_is_no_patch() {
        for text in
            ["", "+a\n-b\n", "@@ -1 +1 @@\n+a", "diff --git", "diff --git a b\n@@ -x +y @@\n+a\n"]
        {
            assert!(parse(text).iter().all(|file| file.hunks.is_empty()), "{text}");
        }
        let huge = format!("diff --git a/a b/a\n@@ -{0} +{0} @@\n a\n a\n", u32::MAX);
        assert_eq!(parse(&huge)[0].hunks[0].lines[1].old, Some(u32::MAX));
    }
}
