//! Tests for `go test`: captured runs and invocation.

use super::*;
use crate::framework::captured::StepEnd;
use crate::framework::samples::{self, Check};

/// An unknown flag fails the package; only the message has the reason.
const ALONE: &[(&str, Outcome)] = &[("bad_usage", Outcome::Errored)];

#[test]
fn parses_captured_runs_of_1_19() {
    // Before Go 1.20, output without a line end hides a result.
    const SWALLOWED: &[(&str, Outcome)] =
        &[("bad_usage", Outcome::Errored), ("stdout_noise_no_newline", Outcome::Crashed)];
    Check::new("go-test", parse).alone(SWALLOWED).run();
}

#[test]
fn parses_captured_runs_of_1_27() {
    Check::new("go-test127", parse).alone(ALONE).run();
}

#[test]
fn compiler_lines_separate_missing_symbols_from_syntax_errors() {
    for (runner, situation, expected) in [
        ("go-test", "missing_function", LoadErrorKind::MissingSymbol),
        ("go-test", "missing_module", LoadErrorKind::MissingSymbol),
        ("go-test", "syntax_error", LoadErrorKind::Syntax),
        ("go-test", "unused_import", LoadErrorKind::Other),
        ("go-test127", "missing_function", LoadErrorKind::MissingSymbol),
        ("go-test127", "syntax_error", LoadErrorKind::Syntax),
        ("go-test127", "duplicate_func", LoadErrorKind::Other),
    ] {
        let report = parse(&samples::one(runner, situation).captured());
        let error = report.load_errors.first().unwrap();
        assert_eq!(error.kind, expected, "{runner} {situation}: {error:?}");
        assert!(
            error
                .file
                .as_deref()
                .is_some_and(|file| file.ends_with(".go") && !file.starts_with('.')),
            "{error:?}"
        );
    }
}

#[test]
fn demands_on_other_code_are_missing_symbols_in_any_wording() {
    for (words, expected) in [
        ("unknown field 'Strict' in struct literal of type Config", LoadErrorKind::MissingSymbol),
        ("unknown field Strict in struct literal of type Config", LoadErrorKind::MissingSymbol),
        (
            "cannot use 1 (untyped int constant) as string value in argument to Pad",
            LoadErrorKind::MissingSymbol,
        ),
        ("too many arguments in call to Pad", LoadErrorKind::MissingSymbol),
        ("x declared but not used", LoadErrorKind::Other),
        ("declared and not used: x", LoadErrorKind::Other),
        ("TestAdd redeclared in this block", LoadErrorKind::Other),
        ("expected 'package', found func", LoadErrorKind::Syntax),
        ("syntax error: unexpected newline", LoadErrorKind::Syntax),
    ] {
        assert_eq!(kind_of(words), expected, "{words}");
    }
}

#[test]
fn too_many_errors_is_not_an_error() {
    let mut captured = samples::one("go-test", "missing_function").captured();
    captured.stderr.extend(b"./calc_test.go:40:2: too many errors\n");
    let report = parse(&captured);
    assert!(
        report.load_errors.iter().all(|error| error.kind == LoadErrorKind::MissingSymbol),
        "{report:?}"
    );
}

#[test]
fn failures_are_placed_in_their_package_folder() {
    let mut captured = samples::one("go-test127", "one_fail").captured();
    let stdout = b"example.com/demo /project/sub\n".to_vec();
    captured.steps.push(StepEnd {
        name: MODULES.to_owned(),
        exit: Exit::Code(0),
        stdout,
        stderr: Vec::new(),
    });
    let report = parse(&captured);
    let wrong = report.test("example.com/demo.TestWrong").unwrap();
    assert!(
        wrong.file.as_deref().is_some_and(|file| file.starts_with("sub/calc_test.go")),
        "{wrong:?}"
    );
}

#[test]
fn a_panic_fails_its_test_at_the_line_of_the_test() {
    let stdout = br#"{"Action":"run","Package":"demo","Test":"TestA"}
{"Action":"output","Package":"demo","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"output","Package":"demo","Test":"TestA","Output":"panic: not yet [recovered]\n"}
{"Action":"output","Package":"demo","Test":"TestA","Output":"\t/project/calc.go:4 +0x1b\n"}
{"Action":"output","Package":"demo","Test":"TestA","Output":"\t/project/calc_test.go:10 +0x27\n"}
{"Action":"fail","Package":"demo","Test":"TestA","Elapsed":0}
{"Action":"fail","Package":"demo","Elapsed":0.006}
"#;
    let step = StepEnd {
        name: MODULES.to_owned(),
        exit: Exit::Code(0),
        stdout: b"demo /project\n".to_vec(),
        stderr: Vec::new(),
    };
    let captured = Capture {
        exit: Exit::Code(1),
        stdout: stdout.to_vec(),
        root: "/project".to_owned(),
        steps: vec![step],
        ..Capture::default()
    };
    let report = parse(&captured);
    let test = report.test("demo.TestA").unwrap();
    assert_eq!((test.status, test.exception.as_deref()), (Status::Crashed, Some(PANIC)));
    assert_eq!((test.file.as_deref(), test.line), (Some("calc_test.go"), Some(10)));
    let exits = String::from_utf8_lossy(&captured.stdout).replace("not yet", EXITED);
    let exited = parse(&Capture { stdout: exits.into_bytes(), ..captured });
    assert_eq!(exited.test("demo.TestA").unwrap().exception, None);
    assert!(
        share_a_process("demo.TestA", "demo.TestB/one")
            && !share_a_process("demo.TestA", "demo/sub.TestB")
    );
}

#[test]
fn tests_are_placed_where_they_are_defined() {
    let mut captured = samples::one("go-test127", "one_fail").captured();
    let stdout = b"example.com/demo /project\n".to_vec();
    captured.steps.push(StepEnd {
        name: MODULES.to_owned(),
        exit: Exit::Code(0),
        stdout,
        stderr: Vec::new(),
    });
    let source =
        b"package demo\n\nfunc TestAdds(t *testing.T) {}\n\nfunc TestWrong(t *testing.T) {}\n"
            .to_vec();
    captured.reports.push(("more_test.go".to_owned(), source));
    let report = parse(&captured);
    let place = |name: &str| {
        let test = report.test(&format!("example.com/demo.{name}")).unwrap();
        (test.file.as_deref(), test.line)
    };
    assert_eq!(place("TestAdds"), (Some("more_test.go"), None));
    // A failure in a helper of another file is placed at the start of the test.
    assert_eq!(place("TestWrong"), (Some("more_test.go"), Some(5)));
    assert_eq!(package_of("example.com/demo.TestT/one"), Some("example.com/demo"));
    assert_eq!(read_id("example.com/demo.TestT/one").item, ["TestT"]);
    assert!(!(FRAMEWORK.is_id)("tests/test_a.py::test_a"));
}

#[test]
fn lists_tests_with_their_package() {
    let ids = list(&samples::one("go-test127", "list_json").captured());
    assert!(ids.iter().any(|id| id == "example.com/demo.TestAdds"), "{ids:?}");
}

#[test]
fn cover_profile_paths_become_module_paths() {
    for (text, expected) in [
        ("module example.com/demo\n\ngo 1.19\n", Some("example.com/demo")),
        ("// ours\nmodule \"a.b/c\" // here\n", Some("a.b/c")),
        ("go 1.19\n", None),
        ("module ", None),
    ] {
        assert_eq!(module(text), expected, "{text}");
    }
}

#[track_caller]
fn invokes(selection: &Selection, expected: &str) {
    let facts = Facts {
        scratch: "/s".to_owned(),
        tools: vec![("go".to_owned(), "go".to_owned())],
        ..Facts::default()
    };
    let words = invoke(&facts, selection).unwrap().call.words.join(" ");
    assert_eq!(words, format!("go test -json -count=1 -vet=off {expected}"));
}

#[test]
fn runs_packages_and_selects_tests_by_pattern() {
    let one = |id: &str| Selection::One(id.to_owned());
    invokes(&Selection::All, "./...");
    invokes(&one("example.com/demo.TestAdds"), "-run ^TestAdds$ example.com/demo");
    invokes(&one("a.b/c.TestT/one_two/1+1"), r"-run ^TestT$/^one_two$/^1\+1$ a.b/c");
    invokes(
        &Selection::Files(vec![
            "a_test.go".to_owned(),
            "x/b_test.go".to_owned(),
            "x/c_test.go".to_owned(),
        ]),
        ". ./x",
    );
    let chosen = |text: &str| {
        let chosen = vec![("x/b_test.go".to_owned(), format!("package x\n\n{text}"))];
        let tools = vec![("go".to_owned(), "go".to_owned())];
        let selection = Selection::Files(vec!["x/b_test.go".to_owned()]);
        let words =
            invoke(&Facts { tools, chosen, ..Facts::default() }, &selection).unwrap().call.words;
        words.get(5..).unwrap_or_default().join(" ")
    };
    let two = "func TestA(t *testing.T) {\n}\n\nfunc help() {}\n\nfunc ExampleB() {\n}\n";
    assert_eq!(chosen(two), "-run ^(TestA|ExampleB)$ ./x");
    // A helper can be used by any test, and a suite can be started by any test.
    assert_eq!(chosen("func help() {}\n"), "./x");
    assert_eq!(chosen(&format!("{two}func (s *Suite) TestC() {{\n}}\n")), "./x");
    invokes(&Selection::List, "-list .* ./...");
    invokes(&Selection::Coverage, "-coverprofile=/s/cover.out -covermode=atomic ./...");
}
