//! Writes a report as JUnit XML, for programs that read nothing else.

use quick_xml::escape::escape;

use crate::report::{Report, Status, Test};
use crate::text::visible;

/// One document with one suite. Every id is a test case, and every load error is a case with an
/// error.
pub fn write(report: &Report) -> String {
    let mut cases = String::new();
    for test in &report.tests {
        cases.push_str(&case(test, &report.runner));
    }
    for error in &report.load_errors {
        let file = error.file.as_deref().unwrap_or("build");
        let kind = error.code.as_deref().unwrap_or("LoadError");
        cases.push_str(&broken(file, &report.runner, kind, &error.message));
    }
    for message in &report.errors_outside {
        cases.push_str(&broken("outside of all tests", &report.runner, "Error", message));
    }
    let number =
        |wanted: fn(Status) -> bool| report.tests.iter().filter(|test| wanted(test.status)).count();
    let beside = report.load_errors.len() + report.errors_outside.len();
    let totals = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        report.tests.len() + beside,
        number(|status| end(status) == End::Failure),
        number(|status| end(status) == End::Error) + beside,
        number(|status| end(status) == End::Skipped),
        std::time::Duration::from_millis(report.wall_ms).as_secs_f64(),
    );
    let name = text(&report.runner);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"redgreen\" {totals}>\n\
         <testsuite name=\"{name}\" {totals}>\n{cases}</testsuite>\n</testsuites>\n"
    )
}

/// The results that JUnit can express.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Passed,
    Skipped,
    Failure,
    Error,
}

fn end(status: Status) -> End {
    match status {
        Status::Passed | Status::Flaky | Status::Xpassed => End::Passed,
        Status::Xfailed | Status::Todo | Status::Skipped | Status::NotRun => End::Skipped,
        Status::Failed => End::Failure,
        Status::Errored | Status::TimedOut | Status::Crashed => End::Error,
    }
}

fn case(test: &Test, runner: &str) -> String {
    let mut place = String::new();
    if let Some(file) = &test.file {
        place.push_str(&format!(" file=\"{}\"", text(file)));
    }
    if let Some(line) = test.line {
        place.push_str(&format!(" line=\"{line}\""));
    }
    let class = text(test.file.as_deref().unwrap_or(runner));
    let seconds = test.duration_ms.unwrap_or_default() / 1000.0;
    let open = format!(
        "<testcase classname=\"{class}\" name=\"{}\"{place} time=\"{seconds:.3}\"",
        text(&test.id)
    );
    let message = test.message.as_deref().unwrap_or_default();
    let inside = match end(test.status) {
        End::Passed => return format!("{open}/>\n"),
        End::Skipped => format!("<skipped message=\"{}\"/>", text(message)),
        End::Failure => {
            complaint("failure", test.exception.as_deref().unwrap_or("Failure"), message)
        }
        End::Error => complaint("error", test.exception.as_deref().unwrap_or("Error"), message),
    };
    format!("{open}>{inside}</testcase>\n")
}

fn broken(name: &str, runner: &str, kind: &str, message: &str) -> String {
    let (class, name) = (text(runner), text(name));
    format!(
        "<testcase classname=\"{class}\" name=\"{name}\">{}</testcase>\n",
        complaint("error", kind, message)
    )
}

fn complaint(element: &str, kind: &str, message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    format!(
        "<{element} type=\"{}\" message=\"{}\">{}</{element}>",
        text(kind),
        text(first),
        text(message)
    )
}

/// XML cannot express most control characters, not even escaped, so they are made visible.
pub(crate) fn text(text: &str) -> String {
    escape(visible(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::junit;
    use crate::report::{LoadError, LoadErrorKind, Stage};

    #[test]
    fn reads_back_what_it_writes() {
        let hostile = "a < b & \"c\" ]]> \u{1b}[31mred\u{0}\nsecond line";
        let mut failed = Test::new("t.py::bad[<&>]", Status::Failed);
        (failed.file, failed.line) = (Some("t.py".to_owned()), Some(7));
        failed.message = Some(hostile.to_owned());
        let error = LoadError {
            stage: Stage::Collect,
            file: Some("u.py".to_owned()),
            line: None,
            kind: LoadErrorKind::Syntax,
            code: Some("SyntaxError".to_owned()),
            message: hostile.to_owned(),
        };
        let report = Report {
            runner: "pytest".to_owned(),
            wall_ms: 1500,
            tests: vec![
                Test::new("t.py::good", Status::Passed),
                failed,
                Test::new("t.py::later", Status::Todo),
            ],
            load_errors: vec![error],
            ..Report::default()
        };
        let xml = write(&report);
        assert!(
            xml.contains("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"1.500\""),
            "{xml}"
        );
        let read = junit::parse(xml.as_bytes());
        assert!(read.complete, "{xml}");
        assert!(xml.contains("␛[31mred␀\nsecond line"), "{xml}");
        let names: Vec<String> =
            read.cases.iter().map(|case| case.name.clone().unwrap_or_default()).collect();
        assert_eq!(names, ["t.py::good", "t.py::bad[<&>]", "t.py::later", "u.py"]);
    }
}
