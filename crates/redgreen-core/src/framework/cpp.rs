//! Shared by the C and C++ frameworks: test locations, compiler and linker diagnostics, and Catch2
//! output.

use super::captured::Capture;
use super::file_name;
use crate::format::{bounded_head, junit};
use crate::report::{LoadError, LoadErrorKind, Stage, Status, Test};

const EXTENSIONS: &[&str] = &["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "inl", "ipp"];
const TEST_FOLDERS: &[&str] = &["test", "tests", "unittest", "unittests"];

/// Messages of gcc, clang and the linker about a symbol that is missing or has another signature.
const MISSING_SYMBOL: &[&str] = &[
    "was not declared",
    "has not been declared",
    "undeclared identifier",
    "No such file or directory",
    "file not found",
    "undefined reference to",
    "undefined symbol",
    "is not a member of",
    "has no member named",
    "no member named",
    "does not name a type",
    "unknown type name",
    "no type named",
    "no matching function",
    "no matching member function",
    "no matching constructor",
    "implicit declaration",
    "incomplete type",
    "too many arguments",
    "too few arguments",
];
const SYNTAX: &[&str] =
    &["expected ", "unterminated", "stray ", "missing terminating", "extraneous ", "unexpected "];

pub(super) fn is_test_file(path: &str) -> bool {
    let (stem, extension) = file_name(path).rsplit_once('.').unwrap_or((path, ""));
    let named = ["_test", "_tests", "Test", "Tests", ".test", "_unittest"]
        .iter()
        .any(|end| stem.ends_with(end))
        || stem.starts_with("test_");
    EXTENSIONS.contains(&extension) && (named || is_in_tests(path))
}

fn is_in_tests(path: &str) -> bool {
    path.split('/').rev().skip(1).any(|folder| TEST_FOLDERS.contains(&folder))
}

/// Compiler and linker errors without duplicates.
pub(super) fn diagnostics(captured: &Capture, text: &str) -> Vec<LoadError> {
    let mut errors: Vec<LoadError> = Vec::new();
    for error in text.lines().filter_map(|line| diagnostic(captured, line)) {
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    errors
}

/// Parses `/p/calc_test.cpp:8:32: error: ‘subtract’ was not declared` and `/p/calc_test.cpp:9:
/// undefined reference to …`; a linker can put its name before the latter.
fn diagnostic(captured: &Capture, line: &str) -> Option<LoadError> {
    let marked = [": error: ", ": fatal error: "].iter().find_map(|mark| line.split_once(mark));
    let (place, words) = match marked {
        Some(found) => found,
        None => line.split_at(line.find(": undefined reference to ")?),
    };
    let words = words.trim_start_matches(": ");
    let place = place.rsplit(": ").next()?;
    let mut parts = place.split(':');
    let (file, number) = (parts.next()?, parts.next().and_then(|number| number.parse().ok()));
    // Without debug information the linker names a place in the object file, and its final error
    // names no place at all.
    let in_source =
        file.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension));
    if !in_source && marked.is_some() {
        return None;
    }
    Some(LoadError {
        stage: Stage::Build,
        file: in_source.then(|| captured.relative(file)),
        line: number.filter(|_| in_source),
        kind: kind_of(words),
        code: None,
        message: bounded_head(words),
    })
}

fn kind_of(words: &str) -> LoadErrorKind {
    LoadErrorKind::of(words, MISSING_SYMBOL, SYNTAX)
}

/// The final lines of a Catch2 run. Without one of them a test ended the process early.
const FINAL_LINES: &[&str] =
    &["All tests passed (", "test cases: ", "No tests ran", "No test cases matched"];
const FAILED: &str = ": FAILED:";

/// Adds details from Catch2's output to a test:
///
/// ```text
/// /p/calc_test.cpp:8: FAILED:
///   CHECK( add(1, 2) == 4 )
/// with expansion:
///   3 == 4
/// ```
pub(super) fn explain_catch2(
    test: &mut Test,
    output: Option<&junit::Excerpt>,
    relative: impl Fn(&str) -> String,
) {
    let (head, tail) =
        output.map_or(("", ""), |output| (output.head.as_str(), output.tail.as_str()));
    let ended = tail.lines().any(|line| FINAL_LINES.iter().any(|words| line.starts_with(words)));
    if test.status == Status::Passed && !ended {
        test.status = Status::Crashed;
        test.message = Some("the process ended before Catch2 finished".to_owned());
    }
    let Some((before, words)) = head.split_once(FAILED) else { return };
    let place = before.lines().last().and_then(|place| place.rsplit_once(':'));
    if let Some((file, line)) = place.and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        (test.file, test.line) = (Some(relative(file)), Some(line));
    }
    let end = ["\n\n", "\n===", "\n---", "\n..."].iter().filter_map(|mark| words.find(mark)).min();
    let words = bounded_head(words.get(..end.unwrap_or(words.len())).unwrap_or(words));
    if test.status == Status::Failed && words.contains("due to a fatal error condition") {
        test.status = Status::Crashed;
    } else if test.status == Status::Failed && words.contains("due to unexpected exception") {
        test.status = Status::Errored;
    }
    test.message = Some(words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_have_a_place_and_a_kind() {
        use LoadErrorKind::{MissingSymbol, Other, Syntax};
        for (line, expected) in [
            (
                "/p/t.cpp:8:32: error: ‘subtract’ was not declared in this scope",
                Some((MissingSymbol, "t.cpp:8")),
            ),
            (
                "/p/t.cpp:5:10: fatal error: nosuch.h: No such file or directory",
                Some((MissingSymbol, "t.cpp:5")),
            ),
            (
                "/p/t.cpp:9: undefined reference to `subtract(int, int)'",
                Some((MissingSymbol, "t.cpp:9")),
            ),
            (
                "/usr/bin/ld: /p/t.cpp:9: undefined reference to `f()'",
                Some((MissingSymbol, "t.cpp:9")),
            ),
            ("t.cpp:(.text+0x5): undefined reference to `f()'", Some((MissingSymbol, "t.cpp:0"))),
            ("/p/t.cpp:8:26: error: expected ‘}’ at end of input", Some((Syntax, "t.cpp:8"))),
            (
                "/p/t.cpp:8:6: error: redefinition of ‘class Calc_Adds_Test’",
                Some((Other, "t.cpp:8")),
            ),
            ("collect2: error: ld returned 1 exit status", None),
            ("gmake: *** [Makefile:101: all] Error 2", None),
        ] {
            let captured = Capture { root: "/p".to_owned(), ..Capture::default() };
            let seen = diagnostic(&captured, line).map(|error| {
                let (file, number) =
                    (error.file.unwrap_or_default(), error.line.unwrap_or_default());
                (error.kind, format!("{file}:{number}"))
            });
            let seen = seen.as_ref().map(|(kind, place)| (*kind, place.as_str()));
            assert_eq!(seen, expected, "{line}");
        }
    }

    #[test]
    fn catch2_output_gives_the_place_and_the_status() {
        let check = |status, output: &str| {
            let kept = junit::Excerpt { head: output.to_owned(), tail: output.to_owned() };
            let mut test = Test::new("t", status);
            explain_catch2(&mut test, Some(&kept), |path| path.to_owned());
            (test.status, test.line, test.message.unwrap_or_default())
        };
        let words =
            |why: &str| format!("{why}\n  CHECK( 1 == 2 )\n\n====\ntest cases: 1 | 1 failed\n");
        let failed = check(Status::Failed, &words("t\n....\n\na.cpp:8: FAILED:"));
        assert_eq!(failed, (Status::Failed, Some(8), "CHECK( 1 == 2 )".to_owned()));
        let thrown = check(
            Status::Failed,
            &words("a.cpp:8: FAILED:\ndue to unexpected exception with message:"),
        );
        assert_eq!((thrown.0, thrown.1), (Status::Errored, Some(8)));
        let signal =
            check(Status::Failed, &words("a.cpp:8: FAILED:\ndue to a fatal error condition:"));
        assert_eq!(signal.0, Status::Crashed);
        assert_eq!(
            check(Status::Passed, "All tests passed (1 assertion in 1 test case)\n\n").0,
            Status::Passed
        );
        assert_eq!(check(Status::Passed, "").0, Status::Crashed);
    }
}
