//! Files and folders that only the user can read: records of runs, transcripts, exchanges with
//! models.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;

/// Creates a folder and its missing parents.
pub fn create_dir_all(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(folder)
}

/// Removes the permissions of other users from an existing folder.
pub fn close(folder: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, Permissions::from_mode(FOLDER))
}

/// Opens a file with these options. New files are readable only by the user. A pipe without a
/// reader, which a copied repository can have in place of a file, is an error instead of a wait.
pub fn open(options: &mut OpenOptions, file: &Path) -> io::Result<File> {
    let at_once = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = options.mode(FILE).custom_flags(at_once).open(file)?;
    // An existing file may have been readable by others.
    if opened.metadata()?.permissions().mode() & 0o077 != 0 {
        opened.set_permissions(Permissions::from_mode(FILE))?;
    }
    Ok(opened)
}

pub fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    open(OpenOptions::new().create(true).write(true).truncate(true), file)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_private_even_if_they_existed_before() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, file) = (folder.path().join("a/b"), folder.path().join("a/b/file"));
        create_dir_all(&inner).unwrap();
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        write(&file, b"new").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&folder.path().join("a")), mode(&inner), mode(&file)),
            (FOLDER, FOLDER, FILE)
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    }
}
