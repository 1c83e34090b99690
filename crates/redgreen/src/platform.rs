//! The few calls of the operating system that differ between platforms and that the standard
//! library does not have, one module per platform with the same functions. Fences are in `sandbox`,
//! in the same way.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
// Tested on Linux as well.
#[cfg(any(target_os = "macos", test))]
pub mod polling;

#[cfg(target_os = "linux")]
pub use linux::{FOLDER, Watcher, open_beneath, path_of, way_to};
#[cfg(target_os = "macos")]
pub use macos::{FOLDER, open_beneath, path_of, way_to};
#[cfg(target_os = "macos")]
pub use polling::Watcher;

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("redgreen runs on Linux and macOS; on Windows, use WSL");

/// A pipe without a writer, for tests. Rustix has no call for it on macOS.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a program that ends at once, in tests only")]
pub fn make_pipe(path: &std::path::Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::time::Duration;

    use rustix::fs::{Mode, OFlags};

    use super::*;

    /// Both kinds of watchers.
    macro_rules! sees_what_is_moved_there {
        ($name:ident, $watcher:ty) => {
            #[test]
            fn $name() {
                const WAIT: Duration = Duration::from_millis(20);
                let folder = tempfile::tempdir().unwrap();
                let (from, to) = (folder.path().join("from"), folder.path().join("to"));
                fs::create_dir_all(&from).unwrap();
                fs::create_dir_all(&to).unwrap();
                let put = |name: &str, text: &str| {
                    fs::write(from.join(name), text).unwrap();
                    fs::rename(from.join(name), to.join(name)).unwrap();
                };
                put("known", "1");
                let mut watcher = <$watcher>::new(&to).unwrap();
                assert!(watcher.changed(WAIT).unwrap().is_empty());
                put("new", "1");
                assert_eq!(watcher.changed(WAIT).unwrap(), ["new"]);
                put("known", "2");
                assert_eq!(watcher.changed(WAIT).unwrap(), ["known"]);
                fs::remove_file(to.join("known")).unwrap();
                assert!(watcher.changed(WAIT).unwrap().is_empty());
            }
        };
    }
    sees_what_is_moved_there!(the_watcher_of_the_system_sees_what_is_moved_there, Watcher);
    sees_what_is_moved_there!(polling_sees_what_is_moved_there, polling::Watcher);

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
