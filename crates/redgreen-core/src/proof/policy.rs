//! What a project requires of a range. It is read from the base, so that no range can loosen its
//! own policy.

use serde::{Deserialize, Serialize};

use super::Class;
use crate::syntax::glob;

/// The `[verify]` table of `redgreen.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Policy {
    /// The accepted classes of new and changed tests.
    pub require: Vec<Class>,
    /// Paths that need no test. `*` matches anything.
    pub untested: Vec<String>,
    /// Whether every changed place needs a test. Otherwise places without one are only listed.
    pub every_place: bool,
    /// The percentage of mutants that tests must kill.
    pub min_kill: u8,
    /// The maximum number of mutants.
    pub mutants: usize,
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

/// The default maximum number of mutants.
const MUTANTS: usize = 24;
const PERCENT_MAX: u8 = 100;

impl Default for Policy {
    fn default() -> Self {
        Self {
            require: vec![Class::Proven, Class::ProvenByMutant, Class::Characterises],
            untested: Vec::new(),
            every_place: false,
            min_kill: 0,
            mutants: MUTANTS,
            exempt: Vec::new(),
        }
    }
}

impl Policy {
    /// A problem in the policy, for its author.
    pub fn problem(&self) -> Option<String> {
        let silent = self.exempt.iter().any(|one| one.reason.trim().is_empty());
        let aimless = self.exempt.iter().any(|one| one.paths.is_empty() && one.tests.is_empty());
        match (self.min_kill > PERCENT_MAX, silent, aimless) {
            (true, ..) => Some(format!(
                "verify.min-kill is {}; expected a percentage from 0 to 100",
                self.min_kill
            )),
            (_, true, _) => Some("an entry in verify.exempt has no reason".to_owned()),
            (_, _, true) => {
                Some("an entry in verify.exempt names no paths and no tests".to_owned())
            }
            (false, false, false) => None,
        }
    }

    pub fn allows(&self, class: Class) -> bool {
        // A test that could not be tried is listed, but does not count against the range.
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
