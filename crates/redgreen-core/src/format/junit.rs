//! JUnit's XML, in the dialects of the runners. The document is read in one pass with bounded
//! messages. The dialect, which is data, defines the meaning of its elements.

use super::xml::{self, Element, Piece};
use super::{MESSAGE_BYTES_MAX, bounded_head, bounded_tail};
use crate::report::{LoadError, LoadErrorKind, Report, Stage, Status, Test};

mod cases;
mod dialects;
mod write;

pub use cases::Cases;
use dialects::UnnamedCase;
pub use dialects::{
    ANY, BATS, BUN, CATCH2, CTEST, DENO, Dialect, GRADLE, JEST_JUNIT, JUNIT_CONSOLE, NEXTEST,
    PHPUNIT, PYTEST, SUREFIRE, XMLRUNNER,
};
pub(crate) use write::text as escaped;
pub use write::write;

/// A document.
#[derive(Clone, Debug, Default)]
pub struct Document {
    pub cases: Cases,
    /// The document has JUnit's root element, and every element is closed.
    pub complete: bool,
}

/// One `testcase`.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub name: Option<String>,
    pub classname: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub seconds: Option<f64>,
    /// The `status` attribute, if a runner writes one.
    pub status: Option<String>,
    // Boxed, because most cases pass and there can be millions.
    pub failure: Option<Box<Detail>>,
    pub error: Option<Box<Detail>>,
    pub skipped: Option<Box<Detail>>,
    /// The test failed and then passed.
    pub flaky: bool,
    pub warning: bool,
    pub system_out: Option<Box<Excerpt>>,
}

/// The contents of a `failure`, `error` or `skipped` element.
#[derive(Clone, Debug, Default)]
pub struct Detail {
    pub class: String,
    pub message: Option<String>,
    pub text: Excerpt,
}

/// The beginning and the end of a text of any size.
#[derive(Clone, Debug, Default)]
pub struct Excerpt {
    pub head: String,
    pub tail: String,
}

/// The element that the following text belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Failure,
    Error,
    Skipped,
    SystemOut,
}

/// Reads a document, which may be truncated.
pub fn parse(bytes: &[u8]) -> Document {
    let mut document = Document::default();
    let mut case: Option<Case> = None;
    let mut place = None;
    let mut rooted = false;
    let closed = xml::read(bytes, |piece| match piece {
        Piece::Open(element) if element.is("testsuites") || element.is("testsuite") => {
            rooted = true;
        }
        Piece::Open(element) if element.is("testcase") => case = Some(opened(&element)),
        Piece::Open(element) => {
            if let Some(case) = case.as_mut() {
                place = case.note(&element).or(place);
            }
        }
        Piece::Text(text) => {
            if let (Some(case), Some(place)) = (case.as_mut(), place) {
                case.say(place, &text);
            }
        }
        Piece::Close("testcase") => {
            if let Some(case) = case.take() {
                document.cases.push(case);
            }
            place = None;
        }
        Piece::Close(name) => {
            if PLACES.iter().any(|(known, _)| *known == name) {
                place = None;
            }
        }
    });
    document.complete = closed && rooted;
    document
}

/// Adds documents to a report, which the framework then concludes. The run counts as finished only
/// if there is at least one document and all are complete.
pub fn add(
    report: &mut Report,
    dialect: &Dialect,
    documents: &[Document],
    relative: impl Fn(&str) -> String,
) {
    report.finished = !documents.is_empty() && documents.iter().all(|document| document.complete);
    for case in documents.iter().flat_map(|document| document.cases.iter()) {
        let Some(name) = case.name.as_deref().filter(|name| !name.is_empty()) else {
            nameless(report, dialect, &case);
            continue;
        };
        let unloaded = |error: &&Detail| {
            dialect.load_failure.is_some() && error.message.as_deref() == dialect.load_failure
        };
        if let Some(error) = case.error.as_deref().filter(unloaded) {
            report.load_errors.push(load_error(name, bounded_tail(&error.text.tail)));
            continue;
        }
        if case.warning {
            continue;
        }
        let detail = case.failure.as_deref().or(case.error.as_deref());
        let message = detail.map(Detail::words);
        let of_class = name == case.classname || dialect.class_level_names.contains(&name);
        if dialect.class_level_is_outside && of_class && detail.is_some() {
            report.errors_outside.push(message.clone().unwrap_or_default());
        }
        report.tests.push(Test {
            id: if case.classname.is_empty() {
                name.to_owned()
            } else {
                format!("{}::{name}", case.classname)
            },
            status: dialect.status(&case),
            file: case.file.as_deref().map(&relative),
            line: case.line.map(|line| line.saturating_add(dialect.line_offset)),
            message: message.filter(|message| !message.is_empty()),
            exception: detail.map(|detail| detail.class.clone()).filter(|class| !class.is_empty()),
            duration_ms: case.seconds.map(|seconds| seconds * 1000.0),
            outside: false,
        });
    }
}

fn nameless(report: &mut Report, dialect: &Dialect, case: &Case) {
    let detail = case.failure.as_deref().or(case.error.as_deref());
    match dialect.nameless {
        UnnamedCase::Interrupted => report.tests.push(Test::new("?", Status::Crashed)),
        UnnamedCase::LoadError => {
            report
                .load_errors
                .push(load_error(&case.classname, detail.map(Detail::words).unwrap_or_default()));
        }
    }
}

/// The document only says that loading failed. Frameworks that know more fill in the details.
fn load_error(file: &str, message: String) -> LoadError {
    let (stage, kind) = (Stage::Collect, LoadErrorKind::Other);
    LoadError { stage, file: Some(file.to_owned()), line: None, kind, code: None, message }
}

const PLACES: &[(&str, Place)] = &[
    ("failure", Place::Failure),
    ("error", Place::Error),
    ("skipped", Place::Skipped),
    ("system-out", Place::SystemOut),
];

fn opened(element: &Element<'_>) -> Case {
    let mut case = Case::default();
    element.attributes(|name, value| match name {
        "name" => case.name = Some(bounded_head(&value)),
        "classname" => case.classname = bounded_head(&value),
        "file" => case.file = Some(bounded_head(&value)),
        "line" => case.line = value.parse().ok(),
        // Some runners write thousands with a comma.
        "time" => case.seconds = value.parse().or_else(|_| value.replace(',', "").parse()).ok(),
        "status" => case.status = Some(bounded_head(&value)),
        _ => {}
    });
    case
}

impl Case {
    /// Records an element within the case and returns where its text belongs.
    fn note(&mut self, element: &Element<'_>) -> Option<Place> {
        self.flaky |= element.is("flakyFailure") || element.is("flakyError");
        self.warning |= element.is("warning");
        let &(_, place) = PLACES.iter().find(|(name, _)| element.is(name))?;
        let detail = || {
            Box::new(Detail {
                class: element
                    .attribute("type")
                    .map(|class| bounded_head(&class))
                    .unwrap_or_default(),
                message: element.attribute("message").map(|message| bounded_head(&message)),
                text: Excerpt::default(),
            })
        };
        match place {
            // The first of two failures of one test is the cause.
            Place::Failure => drop(self.failure.get_or_insert_with(detail)),
            Place::Error => drop(self.error.get_or_insert_with(detail)),
            Place::Skipped => drop(self.skipped.get_or_insert_with(detail)),
            Place::SystemOut => drop(self.system_out.get_or_insert_default()),
        }
        Some(place)
    }

    fn say(&mut self, place: Place, text: &str) {
        let kept = match place {
            Place::Failure => self.failure.as_mut().map(|detail| &mut detail.text),
            Place::Error => self.error.as_mut().map(|detail| &mut detail.text),
            Place::Skipped => self.skipped.as_mut().map(|detail| &mut detail.text),
            Place::SystemOut => self.system_out.as_deref_mut(),
        };
        if let Some(kept) = kept {
            kept.push(text);
        }
    }
}

impl Detail {
    /// The message if there is one, else the text.
    pub fn words(&self) -> String {
        match self.message.as_deref().filter(|message| !message.is_empty()) {
            Some(message) => message.to_owned(),
            None => bounded_head(&self.text.head),
        }
    }
}

impl Excerpt {
    fn push(&mut self, text: &str) {
        let room = MESSAGE_BYTES_MAX.saturating_sub(self.head.len());
        let cut = text.floor_char_boundary(room);
        self.head.push_str(text.get(..cut).unwrap_or_default());
        let start = text.floor_char_boundary(text.len().saturating_sub(MESSAGE_BYTES_MAX));
        self.tail.push_str(text.get(start..).unwrap_or_default());
        // Cut at twice the limit, so that many small pieces do not each cause a copy.
        if self.tail.len() > 2 * MESSAGE_BYTES_MAX {
            let start = self.tail.floor_char_boundary(self.tail.len() - MESSAGE_BYTES_MAX);
            self.tail.drain(..start);
        }
    }
}

#[cfg(test)]
mod tests;
