//! Tests for RSpec: captured runs and invocation.

use super::*;
use crate::framework::samples::{self, Check};
use crate::report::LoadErrorKind;

#[test]
fn parses_captured_runs() {
    Check::new("rspec", parse).reads(JSON).run();
}

#[test]
fn load_errors_have_a_place_and_a_reason() {
    for (situation, kind, class, place) in [
        (
            "missing_constant",
            LoadErrorKind::MissingSymbol,
            "NameError",
            ("spec/calc_spec.rb", Some(1)),
        ),
        (
            "missing_module",
            LoadErrorKind::MissingSymbol,
            "LoadError",
            ("spec/calc_spec.rb", Some(1)),
        ),
        ("syntax_error", LoadErrorKind::Syntax, "SyntaxError", ("spec/calc_spec.rb", Some(4))),
        (
            "filter_none_file",
            LoadErrorKind::MissingSymbol,
            "LoadError",
            ("spec/nosuch_spec.rb", None),
        ),
    ] {
        let report = parse(&samples::one("rspec", situation).captured());
        let error = report.load_errors.first().unwrap();
        let seen = (
            error.kind,
            error.code.as_deref().unwrap(),
            (error.file.as_deref().unwrap(), error.line),
        );
        assert_eq!(seen, (kind, class, place), "{situation}");
    }
}

#[test]
fn flags_contradictions() {
    for (situation, flag) in [
        ("focus_only", Flag::Focused),
        ("at_exit_exit0", Flag::ExitCodeContradicts),
        ("dot_rspec_local", Flag::ExitCodeContradicts),
    ] {
        assert_eq!(
            parse(&samples::one("rspec", situation).captured()).flags,
            [flag],
            "{situation}"
        );
    }
}

#[test]
fn lists_examples() {
    let ids = list(&samples::one("rspec", "list_dry_run").captured());
    assert_eq!(ids, ["./spec/calc_spec.rb[1:1]", "./spec/calc_spec.rb[1:2]"]);
}

#[track_caller]
fn invokes(gemfile: &str, selection: &Selection, expected: &str) -> Invocation {
    let tools = ["bundle", "rspec"].map(|name| (name.to_owned(), name.to_owned())).to_vec();
    let texts = vec![(ruby::GEMFILE.to_owned(), gemfile.to_owned())];
    let folder = Folder { texts, ..Folder::default() };
    let facts = Facts {
        folder,
        root: "/p".to_owned(),
        scratch: "/s".to_owned(),
        tools,
        ..Facts::default()
    };
    let invocation = invoke(&facts, selection).unwrap();
    let words = invocation.call.words.join(" ");
    let ours = " --no-color --no-fail-fast --format progress --format json --out /s/report.json";
    assert_eq!(words.replace(ours, ""), expected);
    invocation
}

#[test]
fn uses_bundler_if_the_project_does() {
    invokes("", &Selection::All, "rspec");
    let bundled = invokes("gem 'rspec'", &Selection::All, "bundle exec rspec");
    assert_eq!(bundled.probes[0].call.words, ["bundle", "check"]);
    invokes("", &Selection::One("./spec/a_spec.rb[1:2]".to_owned()), "rspec ./spec/a_spec.rb[1:2]");
    invokes("", &Selection::Files(vec!["spec/a_spec.rb".to_owned()]), "rspec spec/a_spec.rb");
    invokes("", &Selection::List, "rspec --dry-run");
    let measured = invokes("", &Selection::Coverage, "rspec");
    assert!(
        measured.call.env.contains(&("RUBYOPT".to_owned(), "-r/s/redgreen_coverage.rb".to_owned()))
    );
    assert!(matches!(invoke(&Facts::default(), &Selection::All), Err(CannotRun::Missing(_))));
}
