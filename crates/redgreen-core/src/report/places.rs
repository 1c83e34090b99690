//! Removes this machine's folders from texts. Project paths become relative to the project root, so
//! that the same failure reads the same on every machine.

use super::Report;

/// Folders and their replacements.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The longest first: a folder can be inside another.
    known: Vec<(String, &'static str)>,
}

impl Places {
    /// All paths of the project root.
    pub fn of<'a>(roots: impl IntoIterator<Item = &'a str>) -> Self {
        roots.into_iter().fold(Self::default(), |places, root| places.and(root, ROOT))
    }

    /// Another folder, with a stable name.
    pub fn and(mut self, folder: &str, name: &'static str) -> Self {
        let folder = folder.trim_end_matches('/');
        // Never replace the root of the file system.
        if folder.len() > 1 && !self.known.iter().any(|(known, _)| known == folder) {
            self.known.push((folder.to_owned(), name));
            self.known.sort_by_key(|(folder, _)| std::cmp::Reverse(folder.len()));
        }
        self
    }

    /// The text without these folders.
    pub fn out_of(&self, text: &str) -> String {
        self.known.iter().fold(text.to_owned(), |text, (folder, name)| {
            if text.contains(folder.as_str()) { replaced(&text, folder, name) } else { text }
        })
    }

    fn clean(&self, text: &mut String) {
        if self.known.iter().any(|(folder, _)| text.contains(folder.as_str())) {
            *text = self.out_of(text);
        }
    }
}

impl Report {
    /// Removes the folders from all texts. Test ids stay, because the runner needs them.
    pub fn without(&mut self, places: &Places) {
        let of_tests =
            self.tests.iter_mut().flat_map(|test| [&mut test.file, &mut test.message]).flatten();
        let of_errors = self
            .load_errors
            .iter_mut()
            .flat_map(|error| error.file.iter_mut().chain([&mut error.message]));
        let rest = self.errors_outside.iter_mut().chain([&mut self.output_tail, &mut self.command]);
        of_tests.chain(of_errors).chain(rest).for_each(|text| places.clean(text));
    }
}

/// The project root is replaced by nothing, so its paths become relative.
const ROOT: &str = "";
const FILE_URL: &str = "file://";

fn replaced(text: &str, folder: &str, name: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(folder) {
        rest = after;
        told.push_str(before);
        // An option (`-I`) or more of the path can precede it.
        let prefix = told.rsplit(|letter| !is_of_path(letter)).next().unwrap_or_default();
        let begins = !prefix.contains('/') || told.ends_with(FILE_URL);
        let ends = !after.starts_with(|next: char| is_of_path(next) && next != '/');
        if !(begins && ends) {
            told.push_str(folder);
            continue;
        }
        told.truncate(told.strip_suffix(FILE_URL).map_or(told.len(), str::len));
        match after.strip_prefix('/') {
            Some(below) if name == ROOT && !below.is_empty() && !below.starts_with('/') => {
                rest = below;
            }
            _ if name == ROOT => told.push('.'),
            _ => told.push_str(name),
        }
    }
    told.push_str(rest);
    told
}

/// Whether a path can continue with this character.
fn is_of_path(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '/' | '_' | '-' | '.' | '~' | '+')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{LoadError, LoadErrorKind, Stage, Status, Test};

    #[test]
    fn paths_are_relative_to_the_root() {
        let places = Places::of(["/w/0/tree", "/w/0/tree"])
            .and("/w/0/tmp", "$TMPDIR")
            .and("/w/0/tree/b/", "$B");
        for (text, told) in [
            ("no path", "no path"),
            ("'/w/0/tree/tests/test_a.py'.", "'tests/test_a.py'."),
            ("(/w/0/tree/a.py:3) at /w/0/tree/c.py", "(a.py:3) at c.py"),
            ("file:///w/0/tree/a.mjs:1:2", "a.mjs:1:2"),
            ("rootdir: /w/0/tree", "rootdir: ."),
            ("rootdir: /w/0/tree, done", "rootdir: ., done"),
            ("/w/0/tree/", "./"),
            ("/w/0/tree//a", ".//a"),
            ("/w/0/trees/a.py", "/w/0/trees/a.py"),
            ("/old/w/0/tree/a.py", "/old/w/0/tree/a.py"),
            ("/w/0/tree/b/out.rs and /w/0/tree/bb", "$B/out.rs and bb"),
            ("\"/w/0/tmp/y\" /w/0/tmp", "\"$TMPDIR/y\" $TMPDIR"),
            ("-I/w/0/tree/include -Lä/w/0/tree", "-Iinclude -Lä."),
        ] {
            assert_eq!(places.out_of(text), told);
        }
        assert_eq!(Places::of(["/", ""]).out_of("/a/b"), "/a/b");
    }

    #[test]
    fn cleans_all_texts_of_a_report() {
        let text = || "/w/tree/a.py".to_owned();
        let mut report =
            Report { output_tail: text(), errors_outside: vec![text()], ..Report::default() };
        report.tests = vec![Test {
            file: Some(text()),
            message: Some(text()),
            ..Test::new(text(), Status::Failed)
        }];
        report.load_errors = vec![LoadError {
            stage: Stage::Collect,
            file: Some(text()),
            line: None,
            kind: LoadErrorKind::Other,
            code: None,
            message: text(),
        }];
        report.without(&Places::of(["/w/tree"]));
        let told = serde_json::to_string(&report).unwrap();
        assert_eq!(
            (told.matches("/w/tree").count(), told.matches("a.py").count()),
            (1, 7),
            "{told}"
        );
    }
}
