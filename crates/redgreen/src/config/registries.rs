//! Package registries: the public ones, and those configured for the user's tools.
//!
//! The project's own files do not count, because an agent can write to them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use redgreen_core::egress::{Entry, Target, targets_in};

/// The registries of one ecosystem.
pub struct Ecosystem {
    pub name: &'static str,
    pub hosts: &'static [&'static str],
    /// Variables with other registries. `NAME*` is a prefix.
    variables: &'static [&'static str],
    /// The user's files with other registries, relative to the home or the root.
    files: &'static [&'static str],
}

/// The maximum size of a settings file.
const FILE_BYTES_MAX: u64 = 1 << 20;

pub const ECOSYSTEMS: &[Ecosystem] = &[
    Ecosystem {
        name: "npm",
        hosts: &["registry.npmjs.org", "registry.yarnpkg.com", "npm.jsr.io", "jsr.io", "deno.land"],
        variables: &[
            "npm_config_registry",
            "NPM_CONFIG_REGISTRY",
            "YARN_REGISTRY",
            "YARN_NPM_REGISTRY_SERVER",
        ],
        files: &[".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", "/etc/npmrc"],
    },
    Ecosystem {
        name: "PyPI",
        hosts: &["pypi.org", "files.pythonhosted.org"],
        variables: &[
            "PIP_INDEX_URL",
            "PIP_EXTRA_INDEX_URL",
            "UV_INDEX*",
            "UV_DEFAULT_INDEX",
            "UV_EXTRA_INDEX_URL",
        ],
        files: &[".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml", "/etc/pip.conf"],
    },
    Ecosystem {
        name: "crates.io",
        hosts: &["index.crates.io", "static.crates.io", "crates.io"],
        variables: &["CARGO_REGISTRIES_*"],
        files: &[".cargo/config.toml", ".cargo/config"],
    },
    Ecosystem {
        name: "Go",
        hosts: &["proxy.golang.org", "sum.golang.org"],
        variables: &["GOPROXY"],
        files: &[".config/go/env"],
    },
    Ecosystem {
        name: "Maven and Gradle",
        hosts: &[
            "repo.maven.apache.org",
            "repo1.maven.org",
            "plugins.gradle.org",
            "services.gradle.org",
        ],
        variables: &[],
        files: &[".m2/settings.xml"],
    },
    Ecosystem {
        name: "RubyGems",
        hosts: &["rubygems.org", "index.rubygems.org"],
        variables: &["BUNDLE_MIRROR*"],
        files: &[".gemrc", ".bundle/config"],
    },
    Ecosystem {
        name: "Packagist",
        hosts: &["repo.packagist.org", "packagist.org"],
        variables: &[],
        files: &[".composer/config.json", ".config/composer/config.json"],
    },
    Ecosystem {
        name: "Hex",
        hosts: &["hex.pm", "repo.hex.pm", "builds.hex.pm"],
        variables: &["HEX_MIRROR"],
        files: &[],
    },
    Ecosystem {
        name: "NuGet",
        hosts: &["api.nuget.org"],
        variables: &[],
        files: &[".nuget/NuGet/NuGet.Config"],
    },
];

/// All allowed registries.
pub fn entries(home: Option<&Path>) -> Vec<Entry> {
    let usual = ECOSYSTEMS
        .iter()
        .flat_map(|ecosystem| ecosystem.hosts)
        .filter_map(|host| Entry::parse(host));
    let mut entries: Vec<Entry> = usual.collect();
    for ecosystem in ECOSYSTEMS {
        let is_known = |name: &str| {
            let same = |known: &str| {
                known.strip_suffix('*').map_or(name == known, |start| name.starts_with(start))
            };
            ecosystem.variables.iter().any(|known| same(known))
        };
        let values = super::variables(is_known)
            .into_iter()
            .filter_map(|(_, value)| value.into_string().ok());
        entries.extend(values.flat_map(|value| targets_in(&value)).map(Entry::Exact));
        entries.extend(ecosystem.files.iter().flat_map(|file| own(home, file)).map(Entry::Exact));
    }
    entries
}

fn own(home: Option<&Path>, file: &str) -> Vec<Target> {
    let path = if file.starts_with('/') {
        Some(PathBuf::from(file))
    } else {
        home.map(|home| home.join(file))
    };
    path.map(|path| targets_of(&path)).unwrap_or_default()
}

/// The hosts of all URLs in a file of the user; none if it cannot be read.
pub fn targets_of(path: &Path) -> Vec<Target> {
    let mut text = String::new();
    let read =
        fs::File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
    let is_comment = |line: &&str| line.trim_start().starts_with(['#', ';']);
    let lines: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
    if read.is_ok() { targets_in(&lines.join("\n")) } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_valid_and_include_those_of_the_user() {
        for ecosystem in ECOSYSTEMS {
            for host in ecosystem.hosts {
                assert_eq!(
                    Entry::parse(host),
                    Some(Entry::Name((*host).to_owned())),
                    "{}",
                    ecosystem.name
                );
            }
        }
        let home = tempfile::tempdir().unwrap();
        let settings =
            "; registry=https://old.example.com/\n@x:registry=http://npm.example.com:4873/\n";
        fs::write(home.path().join(".npmrc"), settings).unwrap();
        let found: Vec<String> = entries(Some(home.path())).iter().map(Entry::to_string).collect();
        assert!(found.contains(&"npm.example.com:4873".to_owned()), "{found:?}");
        assert!(
            found.contains(&"pypi.org".to_owned())
                && !found.iter().any(|host| host.contains("old")),
            "{found:?}"
        );
    }
}
