//! Editable installs (`pip install -e .`): an environment that points to the checkout of a package.
//! A room has its own tree, and Python should import from there.

use std::fs;
use std::path::{Path, PathBuf};

/// The library folders of an environment.
const LIBRARIES: &[&str] = &["lib", "local/lib"];
const PACKAGES: &[&str] = &["site-packages", "dist-packages"];
/// The maximum size of a path file or a finder.
const BYTES_MAX: u64 = 256 << 10;
const FINDER: &str = "_finder.py";

/// The folders of the checkouts, relative to their roots, that an environment imports from.
pub fn editable(environments: &[PathBuf], checkouts: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in environments.iter().flat_map(|environment| files(environment)) {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_finder = name.starts_with("__editable__") && name.ends_with(FINDER);
        let short =
            fs::metadata(&file).is_ok_and(|facts| facts.is_file() && facts.len() <= BYTES_MAX);
        if !short || !(is_finder || name.ends_with(".pth")) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        let inside = |named: &str| {
            let path = checkouts.iter().find_map(|root| Path::new(named).strip_prefix(root).ok());
            path.map(Path::to_owned)
        };
        let named: Vec<&str> = if is_finder {
            text.split('\'').collect()
        } else {
            text.lines().map(str::trim).collect()
        };
        // A finder has a table of packages with their paths. The import folder is the parent.
        let above =
            |path: PathBuf| if is_finder { path.parent().map(Path::to_owned) } else { Some(path) };
        found.extend(named.into_iter().filter_map(inside).filter_map(above));
    }
    found.sort();
    found.dedup();
    found
}

/// The files in the package folders of an environment.
fn files(environment: &Path) -> Vec<PathBuf> {
    let entries = |folder: PathBuf| {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
    };
    let versions = LIBRARIES.iter().flat_map(|below| entries(environment.join(below)));
    let pythons = versions.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"))
    });
    pythons
        .flat_map(|python| PACKAGES.iter().map(move |name| python.join(name)))
        .flat_map(entries)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_editable_installs() {
        let folder = tempfile::tempdir().unwrap();
        let packages = folder.path().join("lib/python3.11/site-packages");
        fs::create_dir_all(&packages).unwrap();
        for (name, text) in [
            ("__editable__.kit-0.1.0.pth", "/p/kit/src\n"),
            (
                "__editable___kit_0_1_0_finder.py",
                "MAPPING: dict[str, str] = {'kit': '/p/kit/lib/kit'}\n",
            ),
            ("other.pth", "/elsewhere/src\nimport os; os.x = '/p/kit/evil'\n"),
            ("notes.txt", "/p/kit/notes\n"),
        ] {
            fs::write(packages.join(name), text).unwrap();
        }
        let found = editable(&[folder.path().to_owned()], &["/p/kit".into()]);
        assert_eq!(found, [Path::new("lib"), Path::new("src")]);
    }
}
