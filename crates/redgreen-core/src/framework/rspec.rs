//! RSpec, read from its JSON. After an `exit` in an example, or a signal, the JSON looks complete;
//! only an example without a status shows it.

use serde::Deserialize;

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{CannotRun, Invocation, Missing, ReportAt, Selection};
use super::{Execution, Framework, Process, file_name, identity, ruby};
use crate::format::bounded_head;
use crate::report::{Exit, Flag, LoadError, Outcome, Report, Stage, Status, Test};

pub const FRAMEWORK: Framework = Framework {
    name: "rspec",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: ".rspec, or spec/*_spec.rb",
    detect,
    reads: |path| path == ruby::GEMFILE,
    reach: Reach::Package,
    tools: &["bundle", "rspec"],
    is_id: |id| id.contains(".rb[") && id.ends_with(']'),
    read: identity::whole,
    is_test_file,
    is_runner_config: |path| {
        matches!(file_name(path), ".rspec" | ".rspec-local" | ".rspec-options")
            || ruby::is_runner_config(path)
    },
    litter: &["spec/examples.txt", ".rspec_status"],
};

const JSON: &str = "report.json";
/// Exceptions of a failed expectation.
const ASSERTIONS: &[&str] = &[
    "RSpec::Expectations::ExpectationNotMetError",
    "RSpec::Expectations::MultipleExpectationsNotMetError",
    "RSpec::Core::Pending::PendingExampleFixedError",
    "RSpec::Mocks::MockExpectationError",
];
/// The start of the message about a file that could not be loaded.
const LOADING: &str = "An error occurred while loading ";

fn detect(folder: &Folder) -> Evidence {
    let specs =
        folder.files.iter().any(|path| path.starts_with("spec/") && path.ends_with("_spec.rb"));
    if specs || folder.has(".rspec") || folder.has("spec/spec_helper.rb") {
        Evidence::Sure
    } else if folder.says(ruby::GEMFILE, "rspec") {
        Evidence::Likely
    } else {
        Evidence::None
    }
}

fn is_test_file(path: &str) -> bool {
    let in_spec = path.split('/').rev().skip(1).any(|folder| folder == "spec");
    path.ends_with("_spec.rb") || (in_spec && path.ends_with(".rb"))
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let Some(rspec) = ruby::program(facts, "rspec", "rspec") else {
        return Err(CannotRun::Missing(Missing {
            what: "rspec is not installed".to_owned(),
            evidence: "the project has specs, and no rspec was found on PATH".to_owned(),
            next: "gem install rspec, or name it in a Gemfile and: bundle install".to_owned(),
        }));
    };
    // Stopping at the first failure would leave the other tests without a result.
    let call = rspec.args([
        "--no-color",
        "--no-fail-fast",
        "--format",
        "progress",
        "--format",
        "json",
        "--out",
    ]);
    let call = call.args([facts.scratch(JSON)]);
    let call = match selection {
        Selection::All | Selection::Coverage => call,
        Selection::Files(paths) => call.args(paths.clone()),
        Selection::One(id) => call.args([id.as_str()]),
        Selection::List => call.args(["--dry-run"]),
    };
    let mut invocation = Invocation::new("rspec", call);
    invocation.reports.push(ReportAt::Scratch(JSON.to_owned()));
    if *selection == Selection::Coverage {
        ruby::add_coverage(&mut invocation, facts);
    }
    ruby::add_probe(&mut invocation);
    Ok(invocation)
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    messages: Vec<String>,
    examples: Vec<Example>,
    summary: Summary,
}

#[derive(Deserialize)]
struct Example {
    id: String,
    status: String,
    file_path: String,
    line_number: u32,
    run_time: Option<f64>,
    pending_message: Option<String>,
    exception: Option<Exception>,
}

#[derive(Deserialize)]
struct Exception {
    class: String,
    message: Option<String>,
}

#[derive(Deserialize)]
struct Summary {
    example_count: usize,
    failure_count: usize,
    errors_outside_of_examples_count: usize,
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, &[]);
    let document = captured.file(JSON).map(serde_json::from_slice::<Document>);
    match document {
        Some(Ok(document)) => add(&mut report, &document, captured),
        Some(Err(_)) => {}
        None if matches!(captured.exit, Exit::Code(code) if code != 0) => {
            report.decided = Some(Outcome::UsageError);
            report.errors_outside.push(bounded_head(&String::from_utf8_lossy(&captured.stderr)));
        }
        None => {}
    }
    report.conclude();
    report
}

fn add(report: &mut Report, document: &Document, captured: &Capture) {
    report.finished = true;
    report.tests = document.examples.iter().map(|example| test(example, captured)).collect();
    let failed = document.examples.iter().filter(|example| example.status == "failed").count();
    let summary = &document.summary;
    if (summary.example_count, summary.failure_count) != (document.examples.len(), failed) {
        report.flag(Flag::SourcesDisagree);
    }
    if document.messages.iter().any(|words| is_focus(words)) {
        report.flag(Flag::Focused);
    }
    if summary.errors_outside_of_examples_count == 0 {
        return;
    }
    let loading = document.messages.iter().filter(|words| words.contains(LOADING));
    let told: Vec<(LoadError, bool)> = loading.map(|words| load_error(words, captured)).collect();
    if told.is_empty() && document.examples.is_empty() {
        // RSpec failed before it opened the JSON file, so an option is wrong, not a spec.
        report.decided = Some(Outcome::UsageError);
    }
    if told.iter().any(|(_, is_absent)| *is_absent) {
        report.decided = Some(Outcome::UsageError);
    }
    if told.is_empty() {
        report.errors_outside.push(bounded_head(&document.messages.join("\n")));
    }
    report.load_errors.extend(told.into_iter().map(|(error, _)| error));
}

/// Matches `Run options: include {:focus=>true}`, also in the syntax of Ruby 3.4.
fn is_focus(words: &str) -> bool {
    words.starts_with("Run options: include")
        && (words.contains(":focus=>true") || words.contains("focus: true"))
}

fn test(example: &Example, captured: &Capture) -> Test {
    let exception = example.exception.as_ref();
    let is_assertion =
        exception.is_some_and(|exception| ASSERTIONS.contains(&exception.class.as_str()));
    let status = match example.status.as_str() {
        "passed" => Status::Passed,
        "pending" => Status::Skipped,
        "failed" if is_assertion => Status::Failed,
        "failed" => Status::Errored,
        _ if captured.exit == Exit::TimedOut => Status::TimedOut,
        _ => Status::Crashed,
    };
    let words = exception
        .and_then(|exception| exception.message.as_ref())
        .or(example.pending_message.as_ref());
    Test {
        id: example.id.clone(),
        status,
        file: Some(captured.relative(&example.file_path)),
        line: Some(example.line_number),
        message: words.map(|words| bounded_head(words)).filter(|words| !words.is_empty()),
        exception: exception.map(|exception| exception.class.clone()),
        duration_ms: example.run_time.map(|seconds| seconds * 1000.0),
        outside: false,
    }
}

/// Parses the message about a file that could not be loaded, and whether the file itself is
/// missing. The message is the only source: the class is on a line of its own, its message is
/// indented, and the places follow.
fn load_error(words: &str, captured: &Capture) -> (LoadError, bool) {
    let after = words.split_once(LOADING).map_or("", |(_, after)| after);
    let first = after.lines().next().unwrap_or_default();
    let file = first.split(" - Did you mean?").next().unwrap_or(first).trim_end_matches('.');
    let file = captured.relative(file);
    let is_class = |line: &&str| {
        line.starts_with(|letter: char| letter.is_ascii_uppercase())
            && line.ends_with(':')
            && line
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == ':' || letter == '_')
    };
    let class = after.lines().find(is_class).map(|line| line.trim_end_matches(':').to_owned());
    let mut told = after.lines().skip_while(|line| !is_class(line)).skip(1).map(str::trim);
    let message = told.next().unwrap_or_default();
    let inside = |line: &str| {
        let (path, number) = ruby::place(line.trim_start_matches("# "))?;
        (captured.relative(path) == file).then_some(number)
    };
    let line = inside(message).or_else(|| after.lines().skip(1).find_map(inside));
    let is_absent = message
        .strip_prefix("cannot load such file -- ")
        .is_some_and(|path| captured.relative(path) == file);
    let kind = ruby::load_kind(class.as_deref().unwrap_or_default());
    let error = LoadError {
        stage: Stage::Collect,
        file: Some(file),
        line,
        kind,
        code: class,
        message: bounded_head(after),
    };
    (error, is_absent)
}

fn list(captured: &Capture) -> Vec<String> {
    let document =
        captured.file(JSON).and_then(|bytes| serde_json::from_slice::<Document>(bytes).ok());
    document
        .map(|document| document.examples.into_iter().map(|example| example.id).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
