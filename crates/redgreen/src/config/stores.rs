//! Where tools keep the packages they fetched for all projects of the user. A clean room has a home of its own, and no
//! network to fetch them again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A store, and where it is found from a home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    pub at: PathBuf,
    /// Where it really is.
    pub from: PathBuf,
    pub way: Way,
}

/// How who works in another home comes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By a link at its place.
    Linked,
    /// By a variable: the tool wants to write to the place at home.
    Named(&'static str),
    /// By links to the folders two levels down: the tool locks files beside each of them.
    Laid,
}

/// The place at home, variables that lead elsewhere with what follows below, and the way to it. None of these folders
/// holds credentials.
type Row = (&'static str, &'static [(&'static str, &'static str)], Way);
const STORES: &[Row] = &[
    ("go/pkg/mod", &[("GOMODCACHE", ""), ("GOPATH", "pkg/mod")], Way::Linked),
    (".m2/repository", &[], Way::Linked),
    (".gradle/caches", &[("GRADLE_USER_HOME", "caches")], Way::Named("GRADLE_RO_DEP_CACHE")),
    (".gradle/wrapper/dists", &[("GRADLE_USER_HOME", "wrapper/dists")], Way::Laid),
    (".mix", &[("MIX_HOME", "")], Way::Linked),
];

/// Where tools that manage languages keep them, from a home, and a variable that leads elsewhere. Folders with
/// credentials are named by the parts beside them.
const TOOLCHAINS: &[(&str, Option<&str>)] = &[
    (".pyenv", Some("PYENV_ROOT")),
    (".nvm", Some("NVM_DIR")),
    (".rbenv", Some("RBENV_ROOT")),
    (".rvm", None),
    (".nodenv", Some("NODENV_ROOT")),
    (".goenv", Some("GOENV_ROOT")),
    (".jenv", Some("JENV_ROOT")),
    (".phpenv", Some("PHPENV_ROOT")),
    (".asdf", Some("ASDF_DATA_DIR")),
    (".sdkman", Some("SDKMAN_DIR")),
    (".volta", Some("VOLTA_HOME")),
    (".fnm", Some("FNM_DIR")),
    (".local/share/fnm", None),
    (".local/share/mise/installs", None),
    (".local/share/uv/python", Some("UV_PYTHON_INSTALL_DIR")),
    (".local/share/uv/tools", Some("UV_TOOL_DIR")),
    (".local/share/pipx", None),
    (".local/pipx", None),
    (".local/lib", None),
    (".bun/bin", None),
    (".deno/bin", None),
    (".dotnet", Some("DOTNET_ROOT")),
    (".ghcup", None),
    (".opam", Some("OPAMROOT")),
    (".elan", None),
    (".kiex", None),
    (".juliaup", None),
    ("miniconda3", Some("CONDA_PREFIX")),
    ("anaconda3", None),
    ("miniforge3", None),
    (".hex/packages", None),
    (".cabal/packages", None),
    (".nuget/packages", Some("NUGET_PACKAGES")),
    (".gem/ruby", Some("GEM_HOME")),
    (".local/share/gem", None),
    (".bundle/cache", None),
    (".composer/cache", None),
    (".cache/composer", None),
    (".ivy2/cache", None),
    (".cache/coursier", None),
    (".sbt/boot", None),
    (".jdks", None),
    ("go/pkg/mod", None),
    ("", Some("JAVA_HOME")),
    ("", Some("GOROOT")),
];

/// The folders of toolchains there are, by what the environment says.
pub(super) fn toolchains(home: Option<&Path>, text: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let found = |(at, variable): &(&str, Option<&str>)| {
        let named = variable.and_then(&text).map(PathBuf::from).filter(|path| path.is_absolute());
        let at_home = || Some(home?.join(at)).filter(|_| !at.is_empty());
        named.or_else(at_home).filter(|folder| folder.is_dir())
    };
    TOOLCHAINS.iter().filter_map(found).collect()
}

/// The stores there are, by what the environment says.
pub(super) fn stores(home: Option<&Path>, text: impl Fn(&str) -> Option<OsString>) -> Vec<Store> {
    let found = |(at, leads, way): &Row| {
        let named = leads.iter().find_map(|(name, below)| {
            // A search path begins with the place that is written to.
            let first = std::env::split_paths(&text(name)?).next()?;
            Some(if below.is_empty() { first } else { first.join(below) })
        });
        let from = named.or_else(|| Some(home?.join(at)))?;
        let from = from.canonicalize().ok().filter(|from| from.is_dir())?;
        Some(Store { at: at.into(), from, way: *way })
    };
    STORES.iter().filter_map(found).collect()
}

/// A path with `..` in it leads through folders that the clean room does not have.
pub(super) fn without_detours(path: PathBuf) -> PathBuf {
    let is_detour = path.components().any(|part| part == std::path::Component::ParentDir);
    if is_detour { path.canonicalize().unwrap_or(path) } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_where_the_environment_says_or_at_home() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for folder in ["elsewhere/pkg/mod", ".m2/repository"] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
        }
        let path = format!("{}:/x", home.join("elsewhere").display());
        let known = stores(Some(&home), |name| (name == "GOPATH").then(|| path.clone().into()));
        let places: Vec<_> = known.iter().map(|one| one.from.strip_prefix(&home).unwrap()).collect();
        assert_eq!(places, [Path::new("elsewhere/pkg/mod"), Path::new(".m2/repository")]);
        assert_eq!(known.first().unwrap().at, Path::new("go/pkg/mod"));
    }
}
