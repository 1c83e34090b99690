//! Decides which files may be sent to an agent: resolves paths, reads files and applies the rules
//! of the core to each. Used for `--context` and `--lld`, for files that an agent reads, and for
//! the content of prompts.

use std::collections::HashSet;
use std::io::{ErrorKind, Read};
use std::num::NonZero;
use std::path::{Component, Path, PathBuf};
use std::thread;

use redgreen_core::brief::Document;
use redgreen_core::guard::{
    FILE_BYTES_MAX, FILES_MAX, Refusal, TOKENS_MAX, secret, secret_name, tokens, with_margin,
};
use sha2::{Digest, Sha256};

use crate::foreign;

#[derive(Clone, Debug, Default)]
pub struct ContextFiles {
    pub sent: Vec<ContextFile>,
    /// The path as typed or found, and why it is not sent.
    pub refused: Vec<(String, Refusal)>,
}

/// A file that may be sent.
#[derive(Clone, Debug)]
pub struct ContextFile {
    pub document: Document,
    pub bytes: usize,
    /// Includes a margin for the service with the highest count.
    pub tokens: u64,
    /// Lines that look random, for a person to check.
    pub hints: Vec<usize>,
}

impl ContextFiles {
    pub fn tokens(&self) -> u64 {
        self.sent.iter().map(|sent| sent.tokens).fold(0, u64::saturating_add)
    }

    pub fn is_too_much(&self) -> bool {
        self.tokens() > TOKENS_MAX
    }

    pub fn documents(&self) -> Vec<Document> {
        self.sent.iter().map(|sent| sent.document.clone()).collect()
    }
}

/// Collects all files at these paths that may be sent, each once. Folders are searched without
/// git-ignored files. `root` is the resolved project root; relative paths start at `here`.
pub fn gather(root: &Path, here: &Path, paths: &[PathBuf]) -> ContextFiles {
    let mut gathered = ContextFiles::default();
    let mut files = Vec::new();
    for typed in paths {
        let found = place(root, &here.join(typed), typed)
            .and_then(|found| if found.is_dir() { walk(root, &found) } else { Ok(vec![found]) });
        match found {
            Ok(found) => files.extend(found),
            Err(refusal) => gathered.refused.push((typed.display().to_string(), refusal)),
        }
    }
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
    if files.len() > FILES_MAX {
        gathered.refused.push((format!("{} files", files.len()), Refusal::TooManyFiles));
        return gathered;
    }
    for (path, looked) in look_at(root, &files) {
        match looked {
            Ok(sent) => gathered.sent.push(sent),
            Err(refusal) => gathered.refused.push((path, refusal)),
        }
    }
    gathered
}

/// Checks all files on all cores. Keeps the order.
fn look_at(root: &Path, files: &[PathBuf]) -> Vec<(String, Result<ContextFile, Refusal>)> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let share = files.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let work: Vec<_> = files
            .chunks(share)
            .map(|files| {
                let look =
                    move |file: &PathBuf| (name(root, file), load(root, file).map(ContextFile::of));
                scope.spawn(move || files.iter().map(look).collect::<Vec<_>>())
            })
            .collect();
        work.into_iter()
            .flat_map(|worker| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

/// Reads one file of the project if it may be sent. Used for files that an agent reads.
pub fn read(root: &Path, path: &Path) -> Result<Document, Refusal> {
    let found = place(root, &root.join(path), path)?;
    load(root, &found)
}

/// The number of tokens as the agent's service may count them. Services use different encodings, so
/// a margin is added.
pub fn tokens(text: &str) -> u64 {
    with_margin(u64::try_from(tokens::count(text)).unwrap_or(u64::MAX))
}

impl ContextFile {
    fn of(document: Document) -> Self {
        Self {
            bytes: document.text.len(),
            tokens: tokens(&document.text),
            hints: secret::hints(&document.text),
            document,
        }
    }
}

/// Resolves a path. It must be inside the project and contain no links.
fn place(root: &Path, path: &Path, typed: &Path) -> Result<PathBuf, Refusal> {
    let has_dots = typed.components().any(|part| part == Component::ParentDir);
    let real = match path.canonicalize() {
        Ok(real) => real,
        // Do not reveal whether a file outside exists.
        Err(_) if has_dots => return Err(Refusal::Outside),
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
            return Err(Refusal::NotFound);
        }
        // A dangling link, or a loop of links.
        Err(_) if path.is_symlink() => return Err(Refusal::Link),
        Err(error) => return Err(Refusal::Unreadable(words(&error))),
    };
    let Ok(inside) = real.strip_prefix(root) else {
        return Err(Refusal::Outside);
    };
    if has_dots {
        return Err(Refusal::ParentFolder);
    }
    // The root itself may be reached through a link. Below it, links are refused.
    let plain =
        path.strip_prefix(root).is_ok_and(|typed| typed.components().eq(inside.components()));
    let linked = path
        .ancestors()
        .take_while(|above| above.canonicalize().is_ok_and(|real| real != *root))
        .any(Path::is_symlink);
    if linked && !plain || path.is_symlink() {
        return Err(Refusal::Link);
    }
    Ok(real)
}

/// The files below a folder, sorted.
fn walk(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let mut files = Vec::new();
    let walker = ignore::WalkBuilder::new(folder)
        .hidden(false)
        .follow_links(false)
        .sort_by_file_path(Ord::cmp)
        .build();
    for entry in walker {
        let entry = entry.map_err(|error| Refusal::Unreadable(error.to_string()))?;
        let path = entry.path();
        if path.strip_prefix(root).is_ok_and(|inside| inside.starts_with(".git")) {
            continue;
        }
        // Links in a folder are skipped: their target is either in the project itself, or outside.
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            files.push(path.to_owned());
        }
        if files.len() > FILES_MAX {
            return Err(Refusal::TooManyFiles);
        }
    }
    Ok(files)
}

fn load(root: &Path, path: &Path) -> Result<Document, Refusal> {
    let inside = name(root, path);
    if inside.split('/').any(|part| part == ".git") {
        return Err(Refusal::Git);
    }
    if let Some(pattern) = secret_name(&inside) {
        return Err(Refusal::SecretName(pattern));
    }
    let unreadable = |error: std::io::Error| Refusal::Unreadable(words(&error));
    // The file may have been replaced by a link since the check.
    let file =
        foreign::open_below(root, path.strip_prefix(root).unwrap_or(path)).map_err(unreadable)?;
    let facts = file.metadata().map_err(unreadable)?;
    if !facts.is_file() {
        return Err(Refusal::Unreadable("it is not a file".to_owned()));
    }
    if facts.len() > FILE_BYTES_MAX {
        return Err(Refusal::TooLarge(facts.len()));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    checked(&inside, bytes)
}

/// The content of a file as it may be sent, wherever it comes from.
pub fn checked(path: &str, bytes: Vec<u8>) -> Result<Document, Refusal> {
    if let Some(pattern) = secret_name(path) {
        return Err(Refusal::SecretName(pattern));
    }
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size > FILE_BYTES_MAX {
        return Err(Refusal::TooLarge(size));
    }
    let digest = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let text = String::from_utf8(bytes).map_err(|_| Refusal::NotText)?;
    if text.contains('\0') {
        return Err(Refusal::NotText);
    }
    match secret::find(&text).into_iter().next() {
        Some(found) => Err(Refusal::Secret(found)),
        None => Ok(Document { path: path.to_owned(), text, digest }),
    }
}

fn name(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn words(error: &std::io::Error) -> String {
    let words = error.to_string();
    words.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn sends_only_files_inside_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::write(root.join("src/a.py"), "a = 1\n").unwrap();
        fs::write(root.join("src/deep/b.py"), "b = 2\n").unwrap();
        fs::write(root.join("../beside.py"), "c = 3\n").unwrap();
        fs::write(root.join("large.txt"), "x".repeat(100_001)).unwrap();
        fs::write(root.join("just.txt"), "x".repeat(100_000)).unwrap();
        fs::write(root.join("binary"), b"a\0b").unwrap();
        fs::write(root.join("latin"), b"\xe9").unwrap();
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, root.join(at)).unwrap();
        link("../beside.py", "out.py");
        link("src", "inward");
        link("loop-b", "loop-a");
        link("loop-a", "loop-b");
        link("src/a.py", "same.py");
        for (path, refusal) in [
            ("src/a.py", None),
            ("just.txt", None),
            ("src/../src/a.py", Some(Refusal::ParentFolder)),
            ("../none.py", Some(Refusal::Outside)),
            ("../beside.py", Some(Refusal::Outside)),
            ("/etc/hostname", Some(Refusal::Outside)),
            ("out.py", Some(Refusal::Outside)),
            ("same.py", Some(Refusal::Link)),
            ("inward/a.py", Some(Refusal::Link)),
            ("loop-a", Some(Refusal::Link)),
            ("none.py", Some(Refusal::NotFound)),
            ("large.txt", Some(Refusal::TooLarge(100_001))),
            ("binary", Some(Refusal::NotText)),
            ("latin", Some(Refusal::NotText)),
        ] {
            let gathered = gather(&root, &root, &[path.into()]);
            assert_eq!(
                gathered.refused.first().map(|(_, refusal)| refusal.clone()),
                refusal,
                "{path}"
            );
            assert_eq!(read(&root, Path::new(path)).err(), refusal, "{path}");
        }
        let gathered = gather(&root, &root, &["src".into(), "src/a.py".into()]);
        let names: Vec<&str> =
            gathered.sent.iter().map(|sent| sent.document.path.as_str()).collect();
        assert_eq!(names, ["src/a.py", "src/deep/b.py"]);
        assert!(gathered.tokens() >= 6);
    }
}
