//! Shared by RSpec and minitest: bundler, the exceptions that mean a missing symbol, and coverage
//! with Ruby's own library.

use super::facts::Facts;
use super::file_name;
use super::invoke::{Call, CoverageAt, Invocation, Missing, Probe, ReporterFile};
use crate::coverage::Format;
use crate::report::LoadErrorKind;

pub(super) const GEMFILE: &str = "Gemfile";

const COVERAGE: ReporterFile = ReporterFile {
    path: "redgreen_coverage.rb",
    text: include_str!("../../reporters/redgreen_coverage.rb"),
};
const COVERAGE_FILE: &str = "coverage.lcov";

const SYNTAX: &[&str] = &["SyntaxError"];
const MISSING_SYMBOL: &[&str] = &["LoadError", "NameError", "NoMethodError"];

/// A program of the project: run by bundler if the Gemfile names its gem, else from PATH.
pub(super) fn program(facts: &Facts, name: &str, gem: &str) -> Option<Call> {
    let bundle = facts.tool("bundle").filter(|_| facts.folder.says(GEMFILE, gem));
    match bundle {
        Some(bundle) => Some(Call::new([bundle, "exec", name])),
        None => facts.tool(name).map(|path| Call::new([path])),
    }
}

/// Lets bundler check that the gems are installed if the run wrote no report.
pub(super) fn add_probe(invocation: &mut Invocation) {
    if invocation.call.words.get(1).is_some_and(|word| word == "exec") {
        let bundle = invocation.call.words.iter().take(1).cloned();
        invocation.probes.push(Probe {
            call: Call::new(bundle).args(["check"]),
            missing: Missing {
                what: "the gems of the Gemfile are not installed".to_owned(),
                evidence: String::new(),
                next: "bundle install".to_owned(),
            },
        });
    }
}

pub(super) fn add_coverage(invocation: &mut Invocation, facts: &Facts) {
    let call = std::mem::take(&mut invocation.call);
    let load = format!("-r{}", facts.scratch(COVERAGE.path));
    invocation.call =
        call.env("RUBYOPT", load).env("REDGREEN_COVERAGE", facts.scratch(COVERAGE_FILE));
    invocation.inject.push(COVERAGE);
    invocation.coverage = Some(CoverageAt::new(COVERAGE_FILE, Format::Lcov));
}

pub(super) fn load_kind(class: &str) -> LoadErrorKind {
    if SYNTAX.contains(&class) {
        LoadErrorKind::Syntax
    } else if MISSING_SYMBOL.contains(&class) {
        LoadErrorKind::MissingSymbol
    } else {
        LoadErrorKind::Other
    }
}

/// Parses a place: `file.rb:12:in ...` or `file.rb:12: ...`.
pub(super) fn place(text: &str) -> Option<(&str, u32)> {
    let end = text.find(".rb:")? + ".rb".len();
    let digits = text.get(end + 1..)?.split(':').next()?;
    Some((text.get(..end)?, digits.parse().ok()?))
}

pub(super) fn is_runner_config(path: &str) -> bool {
    let name = file_name(path);
    let known = ["Gemfile", "Gemfile.lock", "Rakefile", ".ruby-version", ".simplecov"];
    known.contains(&name) || name.ends_with(".gemspec") || path.starts_with(".bundle/")
}
