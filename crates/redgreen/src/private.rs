//! Files and folders that are nobody's but the user's: records of runs, transcripts, exchanges with models.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;

/// Makes a folder and those above it that are missing.
pub fn create_dir_all(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(folder)
}

/// Takes a folder that is there from everybody else.
pub fn close(folder: &Path) -> io::Result<()> {
    std::fs::set_permissions(folder, Permissions::from_mode(FOLDER))
}

/// Opens a file as these options say, made for the user alone.
pub fn open(options: &mut OpenOptions, file: &Path) -> io::Result<File> {
    let opened = options.mode(FILE).open(file)?;
    // One that was there before may have been everybody's.
    if opened.metadata()?.permissions().mode() & 0o077 != 0 {
        opened.set_permissions(Permissions::from_mode(FILE))?;
    }
    Ok(opened)
}

/// Writes a whole file.
pub fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    open(OpenOptions::new().create(true).write(true).truncate(true), file)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_the_users_alone_also_where_it_was_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, file) = (folder.path().join("a/b"), folder.path().join("a/b/file"));
        create_dir_all(&inner).unwrap();
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        write(&file, b"new").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder.path().join("a")), mode(&inner), mode(&file)), (FOLDER, FOLDER, FILE));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    }
}
