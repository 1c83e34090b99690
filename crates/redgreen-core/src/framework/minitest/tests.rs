//! Rows over captured streams of minitest, and how it is started.

use super::*;
use crate::framework::samples::Check;

/// A flag that minitest does not know and a file that does not load both end it with 1 before its first word; our own
/// reporter passes no such flag, and tells the second in a `load-error`.
const ALONE: &[(&str, Outcome)] = &[("bad_usage", Outcome::DidNotCompile)];

#[test]
fn captured_runs_are_read_as_a_person_would() {
    Check::new("minitest-stream", parse).alone(ALONE).run();
}

#[test]
fn what_was_chosen_must_have_a_result() {
    let stream = br#"{"event":"start"}
{"event":"chosen","ids":["A#test_a","A#test_b"]}
{"event":"test-start","id":"A#test_a"}
{"event":"result","id":"A#test_a","outcome":"passed"}
{"event":"finish"}
"#;
    let reports = vec![(STREAM.to_owned(), stream.to_vec())];
    let report = parse(&Captured { exit: Exit::Code(0), reports, ..Captured::default() });
    assert_eq!(report.outcome, Outcome::Crashed);
}

#[track_caller]
fn invokes(gemfile: &str, selection: &Selection, expected: &str) -> Invocation {
    let tools = ["bundle", "ruby"].map(|name| (name.to_owned(), name.to_owned())).to_vec();
    let folder = Folder { texts: vec![(ruby::GEMFILE.to_owned(), gemfile.to_owned())], ..Folder::default() };
    let facts = Facts { folder, root: "/p".to_owned(), scratch: "/s".to_owned(), tools, ..Facts::default() };
    let invocation = invoke(&facts, selection).unwrap();
    let words = invocation.call.words.join(" ");
    assert_eq!(words.replace(" -Ilib -Itest /s/redgreen_minitest.rb", ""), expected);
    invocation
}

#[test]
fn it_is_started_as_the_project_wants_it() {
    invokes("", &Selection::All, "ruby");
    invokes("gem 'rails'", &Selection::All, "bundle exec ruby");
    invokes("", &Selection::One("ATest#test_b".to_owned()), "ruby --one ATest#test_b");
    invokes("", &Selection::Files(vec!["test/a_test.rb".to_owned()]), "ruby test/a_test.rb");
    invokes("", &Selection::List, "ruby --list");
    let measured = invokes("", &Selection::Coverage, "ruby");
    assert!(measured.call.env.contains(&("RUBYOPT".to_owned(), "-r/s/redgreen_coverage.rb".to_owned())));
}
