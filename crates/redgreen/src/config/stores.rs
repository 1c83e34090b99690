//! The package caches of the user's tools. A clean room has its own home and no network to download
//! packages again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A package cache and its path relative to a home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    pub at: PathBuf,
    /// Its real path.
    pub from: PathBuf,
    pub way: Access,
}

/// How tools in another home find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// By a link at the same path.
    Linked,
    /// By a variable, because the tool writes to the path in the home.
    Named(&'static str),
    /// By links to the folders two levels down, because the tool locks files next to them.
    Laid,
}

/// The path in the home, variables that change it with the path below them, and how to provide it.
/// None of these folders contains credentials.
type Row = (&'static str, &'static [(&'static str, &'static str)], Access);
const STORES: &[Row] = &[
    ("go/pkg/mod", &[("GOMODCACHE", ""), ("GOPATH", "pkg/mod")], Access::Linked),
    (".m2/repository", &[], Access::Linked),
    (".gradle/caches", &[("GRADLE_USER_HOME", "caches")], Access::Named("GRADLE_RO_DEP_CACHE")),
    (".gradle/wrapper/dists", &[("GRADLE_USER_HOME", "wrapper/dists")], Access::Laid),
    (".mix", &[("MIX_HOME", "")], Access::Linked),
];

/// The folders of version managers, relative to a home, and a variable that changes each. If a
/// folder contains credentials, only its other parts are listed.
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

/// The existing folders of toolchains, according to the environment.
pub(super) fn toolchains(
    home: Option<&Path>,
    text: impl Fn(&str) -> Option<OsString>,
) -> Vec<PathBuf> {
    let found = |(at, variable): &(&str, Option<&str>)| {
        let named = variable.and_then(&text).map(PathBuf::from).filter(|path| path.is_absolute());
        let at_home = || Some(home?.join(at)).filter(|_| !at.is_empty());
        named.or_else(at_home).filter(|folder| folder.is_dir())
    };
    TOOLCHAINS.iter().filter_map(found).collect()
}

/// The existing package caches, according to the environment.
pub(super) fn stores(home: Option<&Path>, text: impl Fn(&str) -> Option<OsString>) -> Vec<Store> {
    let found = |(at, leads, way): &Row| {
        let named = leads.iter().find_map(|(name, below)| {
            // The first entry of a search path is the one written to.
            let first = std::env::split_paths(&text(name)?).next()?;
            Some(if below.is_empty() { first } else { first.join(below) })
        });
        let from = named.or_else(|| Some(home?.join(at)))?;
        let from = from.canonicalize().ok().filter(|from| from.is_dir())?;
        Some(Store { at: at.into(), from, way: *way })
    };
    STORES.iter().filter_map(found).collect()
}

/// Resolves a path with `..`, which would lead through folders that the clean room does not have.
pub(super) fn without_detours(path: PathBuf) -> PathBuf {
    let is_detour = path.components().any(|part| part == std::path::Component::ParentDir);
    if is_detour { path.canonicalize().unwrap_or(path) } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_stores_by_the_environment_or_in_the_home() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for folder in ["elsewhere/pkg/mod", ".m2/repository"] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
        }
        let path = format!("{}:/x", home.join("elsewhere").display());
        let known = stores(Some(&home), |name| (name == "GOPATH").then(|| path.clone().into()));
        let places: Vec<_> =
            known.iter().map(|one| one.from.strip_prefix(&home).unwrap()).collect();
        assert_eq!(places, [Path::new("elsewhere/pkg/mod"), Path::new(".m2/repository")]);
        assert_eq!(known.first().unwrap().at, Path::new("go/pkg/mod"));
    }
}
