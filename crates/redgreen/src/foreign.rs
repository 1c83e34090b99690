//! Reads and writes files in folders that other programs write to: the temporary folder of tests,
//! the worktree and the home of an agent. Such a program can leave a link to a file of the user, a
//! pipe without a writer or an endless file where redgreen, which runs outside the sandbox, reads
//! or writes next. It can also replace a folder by a link after a check. So a path is opened folder
//! by folder, relative to the previous one, and links are not followed.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fcntl_setfl, fstat, mkdirat, open as open_folder, openat,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::config::is_inside;
use crate::git::remove_folder;
use crate::platform;

/// Texts that redgreen reads from a repository are shorter, even a list of all shallow commits.
pub const TEXT_BYTES_MAX: u64 = 16 << 20;
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

/// The content of a regular file. `None` if there is no such file, or if it is larger than
/// `bytes_max`.
pub fn read(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
}

/// Opens a regular file, also through a link. Does not block on a pipe. For the files of a
/// repository: one that was copied as a folder can have anything in their place.
pub fn open_file(path: &Path) -> Result<File> {
    let file = open_at_once(path, OFlags::empty())?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(Error::new(ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// The content of a regular file, also through a link. An error if it is larger than `bytes_max`.
pub fn read_file(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= bytes_max {
        Ok(bytes)
    } else {
        Err(Error::new(ErrorKind::FileTooLarge, "the file is too large"))
    }
}

/// Like `read_file`, for a short text such as a ref or a list of ignore rules.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read_file(path, TEXT_BYTES_MAX)?)
        .map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

/// Opens a file named on a command line or in a setting. It may be a link or a pipe. A pipe without
/// a writer counts as empty instead of blocking.
pub fn open_named(path: &Path) -> Result<File> {
    let file = open_at_once(path, OFlags::empty())?;
    // From now on, wait for data that a writer has not written yet.
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

/// The text of a file named on a command line. An error if it is larger than `bytes_max`.
pub fn read_named(path: &Path, bytes_max: u64) -> Result<String> {
    let mut text = String::new();
    open_named(path)?.take(bytes_max.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 <= bytes_max {
        Ok(text)
    } else {
        let words = format!("it is larger than {} MiB", bytes_max >> 20);
        Err(Error::new(ErrorKind::FileTooLarge, words))
    }
}

/// Writes a new file below `folder` and replaces anything with this name.
pub fn write(folder: &Path, inside: impl AsRef<Path>, bytes: &[u8]) -> Result<PathBuf> {
    create(folder, inside.as_ref(), NEW_FILE)?.write_all(bytes)?;
    Ok(folder.join(inside))
}

/// Writes a file named on a command line. The author of the project may have put a link or a pipe
/// there, or in place of a parent folder. Such a path is refused, and its target stays untouched.
pub fn write_named(project: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    put(project, path, bytes, Parents::Existing)
}

/// The same, and creates missing parent folders.
pub fn write_named_with_folders(project: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    put(project, path, bytes, Parents::Created)
}

/// The parent folders of a file to write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parents {
    Existing,
    Created,
}

fn put(project: &Path, path: &Path, bytes: &[u8], parents: Parents) -> Result<()> {
    let project = project.canonicalize()?;
    let path = &normal(path);
    // The first parent folder that is inside the project. How it is reached is up to the user.
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    let real = |part: &Path| part.canonicalize().ok().filter(|real| real.starts_with(&project));
    let Some((first, real)) = above.iter().rev().find_map(|part| Some((*part, real(part)?))) else {
        if parents == Parents::Created {
            fs::create_dir_all(parent(path))?;
        }
        return fs::write(path, bytes);
    };
    let inside = real
        .strip_prefix(&project)
        .unwrap_or(Path::new(""))
        .join(path.strip_prefix(first).unwrap_or(path));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK;
    let refused = |part: &Path| {
        let what =
            format!("{} is a link or a pipe in the project; nothing was written", part.display());
        Error::new(ErrorKind::InvalidInput, what)
    };
    let step = match parents {
        Parents::Existing => enter,
        Parents::Created => enter_or_add,
    };
    let opened = folder_below(&project, parent(&inside), step).and_then(|folder| {
        Ok(File::from(openat(
            &folder,
            name(&inside)?,
            flags | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            NEW_FILE,
        )?))
    });
    let mut file = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => {
            // Only for the message; nothing depends on this check.
            let odd = |part: &&Path| {
                part.symlink_metadata().is_ok_and(|facts| !facts.is_dir() && !facts.is_file())
            };
            refused(path.ancestors().filter(odd).last().unwrap_or(path))
        }
        _ => error,
    })?;
    if !file.metadata()?.is_file() {
        return Err(refused(path));
    }
    file.set_len(0)?;
    file.write_all(bytes)
}

/// Opens a regular file below `folder` for reading. Does not follow links or block on a pipe.
pub fn open_below(folder: &Path, inside: &Path) -> Result<File> {
    let above = folder_below(folder, parent(inside), enter)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(&above, name(inside)?, flags, Mode::empty())?))
}

/// Copies a regular file to a new one below `folder`, with its permissions. Returns false if there
/// is no such file.
pub fn copy(from: &Path, folder: &Path, inside: impl AsRef<Path>) -> Result<bool> {
    let Some(mut source) = open(from)? else { return Ok(false) };
    let mode = Mode::from_raw_mode(fstat(&source)?.st_mode);
    let mut target = create(folder, inside.as_ref(), mode)?;
    std::io::copy(&mut source, &mut target)?;
    Ok(true)
}

/// Creates a file below `folder` and replaces anything with this name. Links in place of parent
/// folders are removed.
fn create(folder: &Path, inside: &Path, mode: Mode) -> Result<File> {
    if !is_inside(inside) || inside.file_name().is_none() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            format!("{} leads outside the folder", inside.display()),
        ));
    }
    let above = folder_below(folder, parent(inside), enter_or_make)?;
    let name = name(inside)?;
    match statat(&above, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(facts) if FileType::from_raw_mode(facts.st_mode) == FileType::Directory => {
            remove_folder(&platform::way_to(&above)?.join(name))?;
        }
        Ok(_) => unlinkat(&above, name, AtFlags::empty())?,
        Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(&above, name, flags, mode)?))
}

/// Descends from `folder` to another one, step by step.
fn folder_below(
    folder: &Path,
    inside: &Path,
    step: fn(&OwnedFd, &OsStr) -> Result<OwnedFd>,
) -> Result<OwnedFd> {
    let mut at = open_folder(folder, platform::FOLDER, Mode::empty())?;
    for part in inside.components() {
        match part {
            Component::Normal(name) => at = step(&at, name)?,
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Error::new(
                    ErrorKind::InvalidInput,
                    format!("{} leads outside the folder", inside.display()),
                ));
            }
        }
    }
    Ok(at)
}

/// Opens a subfolder that is not a link.
fn enter(above: &OwnedFd, name: &OsStr) -> Result<OwnedFd> {
    let flags = platform::FOLDER | OFlags::NOFOLLOW;
    Ok(openat(above, name, flags, Mode::empty())?)
}

/// Like `enter`, but creates a missing folder.
fn enter_or_add(above: &OwnedFd, name: &OsStr) -> Result<OwnedFd> {
    match enter(above, name) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => {
            mkdirat(above, name, NEW_FOLDER)?;
            enter(above, name)
        }
        result => result,
    }
}

/// Like `enter`, but creates the folder if necessary and replaces anything else with this name.
fn enter_or_make(above: &OwnedFd, name: &OsStr) -> Result<OwnedFd> {
    match enter(above, name) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => {}
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NOTDIR) => {
            unlinkat(above, name, AtFlags::empty())?;
        }
        result => return result,
    }
    mkdirat(above, name, NEW_FOLDER)?;
    enter(above, name)
}

fn parent(inside: &Path) -> &Path {
    inside.parent().unwrap_or(Path::new(""))
}

fn name(inside: &Path) -> Result<&OsStr> {
    let nameless =
        || Error::new(ErrorKind::InvalidInput, format!("{} is not a file name", inside.display()));
    inside.file_name().ok_or_else(nameless)
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => normal.push(part),
        }
    }
    normal
}

/// The full path of `inside` after removing what is there, with real folders as parents.
pub fn make_way(folder: &Path, inside: &Path) -> Result<PathBuf> {
    if !is_inside(inside) || inside.file_name().is_none() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            format!("{} leads outside the folder", inside.display()),
        ));
    }
    let mut above = folder.to_owned();
    for part in inside.parent().into_iter().flat_map(Path::components) {
        above.push(part);
        match fs::symlink_metadata(&above) {
            Ok(facts) if facts.is_dir() => continue,
            Ok(_) => fs::remove_file(&above)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::create_dir(&above)?;
    }
    let place = folder.join(inside);
    match fs::symlink_metadata(&place) {
        Ok(facts) if facts.is_dir() => remove_folder(&place)?,
        Ok(_) => fs::remove_file(&place)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(place)
}

/// Resolves the links of the existing part of `full`, and refuses a path outside the worktree.
pub fn stays(worktree: &Path, full: &Path) -> std::result::Result<PathBuf, String> {
    let real = |path: &Path| {
        path.canonicalize().map_err(|error| format!("the path leads nowhere: {error}"))
    };
    // `symlink_metadata` and not `exists`, which ignores a link to a file that does not exist yet.
    let existing = full.ancestors().find(|part| part.symlink_metadata().is_ok());
    let real_one = real(existing.unwrap_or(worktree))?;
    if real_one.starts_with(real(worktree)?) {
        Ok(real_one)
    } else {
        Err("the path leaves the worktree through a link".to_owned())
    }
}

/// Opens a regular file for reading. Does not follow links or block on a pipe.
fn open(path: &Path) -> Result<Option<File>> {
    // A path that cannot be opened this way, such as a link or a socket, is not a regular file.
    let Ok(file) = open_at_once(path, OFlags::NOFOLLOW) else { return Ok(None) };
    Ok(file.metadata()?.is_file().then_some(file))
}

fn open_at_once(path: &Path, flags: OFlags) -> Result<File> {
    let flags = i32::try_from((flags | OFlags::NONBLOCK).bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::CWD;

    use super::*;
    use crate::platform::make_pipe as pipe;

    const BYTES_MAX: u64 = 8;

    #[test]
    fn reads_only_small_regular_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("plain"), "12345678").unwrap();
        fs::write(at("large"), "123456789").unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink(at("plain"), at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        pipe(&at("pipe"));
        assert_eq!(read(&at("plain"), BYTES_MAX).unwrap().as_deref(), Some(&b"12345678"[..]));
        for name in ["large", "folder", "link", "endless", "pipe", "missing"] {
            assert_eq!(read(&at(name), BYTES_MAX).unwrap(), None, "{name}");
        }
    }

    #[test]
    fn reads_regular_files_through_links_and_blocks_on_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("plain"), "12345678").unwrap();
        fs::write(at("large"), "123456789").unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink(at("plain"), at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        pipe(&at("pipe"));
        symlink(at("pipe"), at("link to a pipe")).unwrap();
        for name in ["plain", "link"] {
            assert_eq!(read_file(&at(name), BYTES_MAX).unwrap(), b"12345678", "{name}");
            assert_eq!(read_text(&at(name)).unwrap(), "12345678", "{name}");
        }
        for name in ["large", "folder", "endless", "pipe", "link to a pipe", "missing"] {
            assert!(read_file(&at(name), BYTES_MAX).is_err(), "{name}");
        }
        let kind = read_file(&at("missing"), BYTES_MAX).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::NotFound);
    }

    #[test]
    fn a_named_pipe_is_read_to_its_end_or_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        pipe(&path);
        let mut text = String::new();
        open_named(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "");
        let mut reader = open_named(&path).unwrap();
        let writer = std::thread::spawn(move || {
            let mut writer = OpenOptions::new().write(true).open(path).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(50));
            writer.write_all(b"late").unwrap();
        });
        while reader.read_to_string(&mut text).unwrap() == 0 {}
        writer.join().unwrap();
        assert_eq!(text, "late");
    }

    /// Another program keeps replacing a folder by a link to one of the user, even between a check
    /// and the next step.
    #[test]
    fn does_not_follow_a_folder_replaced_by_a_link() {
        use std::sync::atomic::{AtomicBool, Ordering};

        const TRIES: u32 = 4_000;
        let folder = tempfile::tempdir().unwrap();
        let (root, user) = (folder.path().join("root"), folder.path().join("user"));
        fs::create_dir_all(root.join("out")).unwrap();
        fs::create_dir(&user).unwrap();
        fs::write(user.join("file"), "mine").unwrap();
        fs::write(root.join("out/file"), "theirs").unwrap();
        symlink(&user, root.join("link")).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                while !over.load(Ordering::Relaxed) {
                    rustix::fs::renameat_with(CWD, root.join("out"), CWD, root.join("link"), flags)
                        .unwrap();
                }
            });
            let (mut read, mut written) = (0, 0);
            for _ in 0..TRIES {
                let mut text = String::new();
                if let Ok(mut file) = open_below(&root, Path::new("out/file")) {
                    file.read_to_string(&mut text).unwrap();
                }
                read += u32::from(text == "mine");
                write_named(&root, &root.join("out/file"), b"ours").ok();
                written += u32::from(fs::read_to_string(user.join("file")).unwrap() != "mine");
            }
            over.store(true, Ordering::Relaxed);
            assert_eq!((read, written), (0, 0));
        });
    }

    #[test]
    fn does_not_write_through_planted_links_and_pipes() {
        let folder = tempfile::tempdir().unwrap();
        let (root, user) = (folder.path().join("root"), folder.path().join("user"));
        let reset = || {
            remove_folder(&root).unwrap();
            fs::create_dir_all(root.join("a")).unwrap();
            fs::create_dir_all(user.join("b")).unwrap();
            fs::write(user.join("b/file"), "mine").unwrap();
        };
        type Trap<'a> = &'a dyn Fn();
        let traps: [Trap<'_>; 6] = [
            &|| {},
            &|| symlink(user.join("b"), root.join("a/b")).unwrap(),
            &|| fs::write(root.join("a/b"), "").unwrap(),
            &|| {
                fs::create_dir(root.join("a/b")).unwrap();
                symlink(user.join("b/file"), root.join("a/b/file")).unwrap();
            },
            &|| {
                fs::create_dir(root.join("a/b")).unwrap();
                pipe(&root.join("a/b/file"));
            },
            &|| {
                fs::create_dir_all(root.join("a/b/file")).unwrap();
                symlink(&user, root.join("a/b/file/user")).unwrap();
            },
        ];
        for trap in traps {
            reset();
            trap();
            let place = write(&root, "a/b/file", b"ours").unwrap();
            assert_eq!(fs::read_to_string(place).unwrap(), "ours");
            reset();
            trap();
            assert!(
                copy(Path::new("/bin/sh").canonicalize().unwrap().as_path(), &root, "a/b/file")
                    .unwrap()
            );
            assert_eq!(fs::read_to_string(user.join("b/file")).unwrap(), "mine");
        }
        for inside in ["../x", "/x", "a/../../x", "", "a/.."] {
            assert_eq!(
                write(&root, inside, b"").unwrap_err().kind(),
                ErrorKind::InvalidInput,
                "{inside}"
            );
        }
    }
}
