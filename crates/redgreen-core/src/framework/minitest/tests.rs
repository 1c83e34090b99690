//! Tests for minitest: captured streams and invocation.

use super::*;
use crate::framework::samples::Check;

/// An unknown flag and a file that does not load both exit with 1 before the first event. Our
/// reporter never passes an unknown flag, and reports the second case as `load-error`.
const ALONE: &[(&str, Outcome)] = &[("bad_usage", Outcome::DidNotCompile)];

#[test]
fn parses_captured_runs() {
    Check::new("minitest-stream", parse).alone(ALONE).run();
}

#[test]
fn selected_tests_must_have_a_result() {
    let stream = br#"{"event":"start"}
{"event":"chosen","ids":["A#test_a","A#test_b"]}
{"event":"test-start","id":"A#test_a"}
{"event":"result","id":"A#test_a","outcome":"passed"}
{"event":"finish"}
"#;
    let reports = vec![(STREAM.to_owned(), stream.to_vec())];
    let report = parse(&Capture { exit: Exit::Code(0), reports, ..Capture::default() });
    assert_eq!(report.outcome, Outcome::Crashed);
}

#[track_caller]
fn invokes(gemfile: &str, selection: &Selection, expected: &str) -> Invocation {
    let tools = ["bundle", "ruby"].map(|name| (name.to_owned(), name.to_owned())).to_vec();
    let folder =
        Folder { texts: vec![(ruby::GEMFILE.to_owned(), gemfile.to_owned())], ..Folder::default() };
    let facts = Facts {
        folder,
        root: "/p".to_owned(),
        scratch: "/s".to_owned(),
        tools,
        ..Facts::default()
    };
    let invocation = invoke(&facts, selection).unwrap();
    let words = invocation.call.words.join(" ");
    assert_eq!(words.replace(" -Ilib -Itest /s/redgreen_minitest.rb", ""), expected);
    invocation
}

#[test]
fn uses_bundler_if_the_project_does() {
    invokes("", &Selection::All, "ruby");
    invokes("gem 'rails'", &Selection::All, "bundle exec ruby");
    invokes("", &Selection::One("ATest#test_b".to_owned()), "ruby --one ATest#test_b");
    invokes("", &Selection::Files(vec!["test/a_test.rb".to_owned()]), "ruby test/a_test.rb");
    invokes("", &Selection::List, "ruby --list");
    let measured = invokes("", &Selection::Coverage, "ruby");
    assert!(
        measured.call.env.contains(&("RUBYOPT".to_owned(), "-r/s/redgreen_coverage.rb".to_owned()))
    );
}
