//! The few calls of the operating system that differ between platforms and that the standard
//! library does not have, one module per platform with the same functions. Fences are in `sandbox`,
//! in the same way.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
pub use linux::{FOLDER, open_beneath, path_of, way_to};
#[cfg(target_os = "macos")]
pub use macos::{FOLDER, open_beneath, path_of, way_to};

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("redgreen runs on Linux and macOS; on Windows, use WSL");

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use rustix::fs::{Mode, OFlags};

    use super::*;

    #[test]
    fn files_are_opened_below_a_folder_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().canonicalize().unwrap();
        let root = whole.join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "inside").unwrap();
        fs::write(whole.join("outside"), "secret").unwrap();
        symlink("a/b", root.join("link")).unwrap();
        symlink("../outside", root.join("out")).unwrap();
        symlink(&whole, root.join("up")).unwrap();
        let open = |path: &str| open_beneath(&root, Path::new(path), OFlags::RDONLY, Mode::empty());
        for path in ["a/b/file", "link/file", "a/../a/b/file"] {
            let mut text = String::new();
            File::from(open(path).unwrap()).read_to_string(&mut text).unwrap();
            assert_eq!(text, "inside", "{path}");
        }
        for path in ["out", "up/outside", "../outside", "missing"] {
            assert!(open(path).is_err(), "{path}");
        }
        let folder = rustix::fs::open(root.join("a/b"), FOLDER, Mode::empty()).unwrap();
        assert_eq!(fs::read_to_string(way_to(&folder).unwrap().join("file")).unwrap(), "inside");
        let flags = OFlags::WRONLY | OFlags::CREATE;
        let new =
            open_beneath(&root, Path::new("link/new"), flags, Mode::from_raw_mode(0o600)).unwrap();
        assert_eq!(path_of(&new).unwrap(), root.join("a/b/new"));
        File::from(new).write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(root.join("a/b/new")).unwrap(), "new");
    }
}
