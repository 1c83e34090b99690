//! What a project asks of a range. It is read from the base, so that nobody loosens what they are judged by.

use serde::{Deserialize, Serialize};

use super::Class;
use crate::syntax::glob;

/// `[verify]` of `redgreen.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Policy {
    /// What new and changed tests have to be.
    pub require: Vec<Class>,
    /// Paths that need no test; `*` stands for anything.
    pub untested: Vec<String>,
    /// Whether every changed place has to be tested; otherwise those that are not are told.
    pub every_place: bool,
    /// Of all faults, the share that tests have to notice, in percent.
    pub min_kill: u8,
    /// Faults that are tried, at most.
    pub faults: usize,
    pub exempt: Vec<Exemption>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Exemption {
    #[serde(default)]
    pub paths: Vec<String>,
    #[serde(default)]
    pub tests: Vec<String>,
    pub reason: String,
}

/// Faults that are tried, unless the project wants another number.
const FAULTS: usize = 24;
const PERCENT_MAX: u8 = 100;

impl Default for Policy {
    fn default() -> Self {
        Self {
            require: vec![Class::Proven, Class::ProvenByMutant, Class::Characterises],
            untested: Vec::new(),
            every_place: false,
            min_kill: 0,
            faults: FAULTS,
            exempt: Vec::new(),
        }
    }
}

impl Policy {
    /// What is wrong with it, for whoever wrote it.
    pub fn fault(&self) -> Option<String> {
        let silent = self.exempt.iter().any(|one| one.reason.trim().is_empty());
        let aimless = self.exempt.iter().any(|one| one.paths.is_empty() && one.tests.is_empty());
        match (self.min_kill > PERCENT_MAX, silent, aimless) {
            (true, ..) => Some(format!("verify.min-kill is {}; it is a share in percent", self.min_kill)),
            (_, true, _) => Some("an entry of verify.exempt has no reason".to_owned()),
            (_, _, true) => Some("an entry of verify.exempt names neither paths nor tests".to_owned()),
            (false, false, false) => None,
        }
    }

    pub fn allows(&self, class: Class) -> bool {
        // What could not be tried is told, and held against nobody.
        class == Class::NotTried || self.require.contains(&class)
    }

    pub fn is_untested(&self, path: &str) -> bool {
        self.untested.iter().any(|pattern| glob::matches(pattern, path))
    }

    /// The exemption that covers a file or a test.
    pub fn exemption(&self, path: Option<&str>, test: Option<&str>) -> Option<&Exemption> {
        let is_one = |patterns: &[String], name: Option<&str>| {
            name.is_some_and(|name| patterns.iter().any(|pattern| glob::matches(pattern, name)))
        };
        self.exempt.iter().find(|one| is_one(&one.paths, path) || is_one(&one.tests, test))
    }
}
