//! minitest has no structured report, so our `reporters/redgreen_minitest.rb` runs it and writes a
//! stream. Change both together.

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{
    Call, CannotRun, Invocation, Missing, Probe, ReportAt, ReporterFile, Selection,
};
use super::{Execution, Framework, Process, file_name, identity, ruby};
use crate::format::bounded_head;
use crate::format::stream::{Line, Stream};
use crate::report::{Exit, LoadError, LoadErrorKind, Outcome, Report, Stage, Status};

pub const FRAMEWORK: Framework = Framework {
    name: "minitest",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "test/*_test.rb or test/test_*.rb, in a project that names minitest",
    detect,
    reads: |path| path == ruby::GEMFILE || is_test_file(path),
    reach: Reach::Package,
    tools: &["bundle", "ruby"],
    is_id: |id| id.contains("#test_") && !id.contains(".rb["),
    read: identity::whole,
    is_test_file,
    is_runner_config: ruby::is_runner_config,
    litter: &[],
};

const REPORTER: ReporterFile = ReporterFile {
    path: "redgreen_minitest.rb",
    text: include_str!("../../reporters/redgreen_minitest.rb"),
};
const STREAM: &str = "stream.jsonl";
/// Our reporter's exit code for a file that does not exist.
const DECIDES: &[(i32, Outcome)] = &[(2, Outcome::UsageError)];
/// The event with the ids that will run, after selection by name.
const CHOSEN: &str = "chosen";
/// Words that identify a project that uses minitest.
const NAMES: &[&str] = &["minitest", "Minitest", "rails/test_help"];

fn detect(folder: &Folder) -> Evidence {
    let has_tests = folder.files.iter().any(|path| is_own_test(path));
    let named = folder.texts.iter().any(|(_, text)| NAMES.iter().any(|name| text.contains(name)));
    if has_tests && named { Evidence::Sure } else { Evidence::None }
}

fn is_own_test(path: &str) -> bool {
    let stem = file_name(path).strip_suffix(".rb");
    let named = stem.is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"));
    named && path.split('/').rev().skip(1).any(|folder| folder == "test")
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("_test.rb")
        || (path.ends_with(".rb") && path.split('/').rev().skip(1).any(|folder| folder == "test"))
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let gem = if facts.folder.says(ruby::GEMFILE, "rails") { "rails" } else { "minitest" };
    let Some(ruby) = ruby::program(facts, "ruby", gem) else {
        return Err(CannotRun::Missing(Missing {
            what: "ruby is not installed".to_owned(),
            evidence: "the project has minitest files, and no ruby was found on PATH".to_owned(),
            next: "install Ruby: https://www.ruby-lang.org/en/downloads".to_owned(),
        }));
    };
    let call = ruby.clone().args(["-Ilib", "-Itest", &facts.scratch(REPORTER.path)]);
    let call = match selection {
        Selection::All | Selection::Coverage => call,
        Selection::Files(paths) => call.args(paths.clone()),
        Selection::One(id) => call.args(["--one", id]),
        Selection::List => call.args(["--list"]),
    };
    let mut invocation =
        Invocation::new("minitest", call.env("REDGREEN_REPORT", facts.scratch(STREAM)));
    invocation.inject.push(REPORTER);
    invocation.reports.push(ReportAt::Scratch(STREAM.to_owned()));
    if *selection == Selection::Coverage {
        ruby::add_coverage(&mut invocation, facts);
    }
    ruby::add_probe(&mut invocation);
    invocation.probes.push(no_minitest(ruby));
    Ok(invocation)
}

fn no_minitest(ruby: Call) -> Probe {
    Probe {
        call: ruby.args(["-e", "require 'minitest'"]),
        missing: Missing {
            what: "ruby cannot load minitest".to_owned(),
            evidence: String::new(),
            next: "gem install minitest, or name it in a Gemfile and: bundle install".to_owned(),
        },
    }
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, DECIDES);
    let bytes = captured.file(".jsonl");
    let stream = Stream::read(bytes.unwrap_or_default());
    report.finished = stream.finished;
    let failed = matches!(captured.exit, Exit::Code(code) if code != 0);
    if bytes.is_none() && failed {
        report.decided = Some(Outcome::UsageError);
    }
    if bytes.is_some_and(<[u8]>::is_empty) && failed {
        // Ruby loads all files before the run reports its first event.
        report.load_errors.push(load_error_on_stderr(captured));
    }
    report.load_errors.extend(stream.load_errors.iter().map(|line| load_error(line, captured)));
    for mut test in stream.tests(captured.exit, status) {
        test.file = test.file.as_deref().map(|file| captured.relative(file));
        report.tests.push(test);
    }
    if stream.others.iter().any(|line| line.event == CHOSEN) {
        report.planned = stream.planned.map(|keys| keys.into_iter().map(|(_, id)| id).collect());
    }
    report.conclude();
    report
}

fn status(line: &Line) -> Status {
    match line.outcome.as_deref() {
        Some("passed") => Status::Passed,
        Some("failed") => Status::Failed,
        Some("skipped") => Status::Skipped,
        Some(_) | None => Status::Errored,
    }
}

fn load_error(line: &Line, captured: &Capture) -> LoadError {
    let class = line.exception.first().unwrap_or_default();
    LoadError {
        stage: Stage::Collect,
        file: line.file.as_deref().map(|file| captured.relative(file)),
        line: line.line,
        kind: ruby::load_kind(class),
        code: Some(class.to_owned()),
        message: bounded_head(line.message.as_deref().unwrap_or_default()),
    }
}

fn load_error_on_stderr(captured: &Capture) -> LoadError {
    let message = bounded_head(&String::from_utf8_lossy(&captured.stderr));
    let (stage, kind) = (Stage::Collect, LoadErrorKind::Other);
    LoadError { stage, file: None, line: None, kind, code: None, message }
}

fn list(captured: &Capture) -> Vec<String> {
    let stream = Stream::read(captured.file(".jsonl").unwrap_or_default());
    stream.planned.unwrap_or_default().into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests;
