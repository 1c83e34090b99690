//! Feeds broken runs to every framework. Each row reads damaged captures of every runner, including
//! its own, and projects with damaged manifests. Deterministic. New rows are covered automatically.

use std::iter::repeat_n;

use super::captured::{Capture, StepEnd};
use super::cargo::{build, libtest};
use super::command::{Command, Format};
use super::facts::{Facts, Folder, MANIFESTS};
use super::invoke::Selection;
use super::{Execution, FRAMEWORKS, cargo, detect, samples};
use crate::format::fuzz::{Random, damaged};
use crate::format::{MESSAGE_BYTES_MAX, junit};
use crate::report::{Exit, Outcome, Report};

/// Larger captures cover no additional cases.
const CAPTURE_BYTES_MAX: usize = 16 << 10;
const EXITS: &[Exit] =
    &[Exit::Code(0), Exit::Code(1), Exit::Signal(9), Exit::TimedOut, Exit::NotStarted];
const SELECTIONS: &[fn(&str) -> Selection] = &[
    |_| Selection::All,
    |_| Selection::List,
    |_| Selection::Coverage,
    |id| Selection::One(id.to_owned()),
    |id| Selection::Files(vec![id.to_owned()]),
];

fn captures() -> Vec<Capture> {
    let size = |captured: &Capture| {
        let reports: usize = captured.reports.iter().map(|(_, bytes)| bytes.len()).sum();
        captured.stdout.len() + captured.stderr.len() + reports
    };
    let all = samples::every().into_iter().map(|sample| sample.captured());
    all.filter(|captured| size(captured) <= CAPTURE_BYTES_MAX).collect()
}

/// A copy of a run with random damage.
fn damage(whole: &Capture, random: &mut Random) -> Capture {
    let mut captured = whole.clone();
    if random.below(4) == 0 {
        captured.exit = EXITS[random.below(EXITS.len())];
    }
    captured.cut = random.below(16) == 0;
    match random.below(8) {
        0 => captured.stdout = damaged(&whole.stdout, random),
        1 => captured.stderr = damaged(&whole.stderr, random),
        2 => captured.reports.clear(),
        3 => {
            let (exit, stdout) = (captured.exit, damaged(&whole.stdout, random));
            captured.steps.push(StepEnd {
                name: "build".to_owned(),
                exit,
                stdout,
                stderr: whole.stderr.clone(),
            });
        }
        // Output of one run under the file name that another parser looks for.
        4 => captured.reports.push(("stream.jsonl".to_owned(), damaged(&whole.stdout, random))),
        _ => {
            let at = random.below(captured.reports.len());
            if let Some((_, bytes)) = captured.reports.get_mut(at) {
                *bytes = damaged(bytes, random);
            } else {
                captured.stdout = damaged(&whole.stdout, random);
            }
        }
    }
    captured
}

/// Checks the invariants of every report, whatever its source.
#[track_caller]
fn is_sound(report: &Report, from: &str) {
    let messages = report.tests.iter().filter_map(|test| test.message.as_deref());
    let texts = messages.chain(report.load_errors.iter().map(|error| error.message.as_str()));
    let longest = texts
        .chain(report.errors_outside.iter().map(String::as_str))
        .map(str::len)
        .max()
        .unwrap_or_default();
    assert!(longest <= 2 * MESSAGE_BYTES_MAX, "{from}: kept {longest} bytes of one text");
    if report.outcome == Outcome::Passed {
        let failing = report.tests.iter().any(|test| test.status.is_failure());
        assert!(report.finished && report.exit == Exit::Code(0) && !failing, "{from}: {report:?}");
    }
    assert!(
        junit::parse(junit::write(report).as_bytes()).complete,
        "{from}: the report cannot be read back from XML"
    );
    let text = serde_json::to_string(report).unwrap();
    let again: Report =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{from}: {error}: {text}"));
    assert_eq!(again.outcome, report.outcome, "{from}");
}

#[test]
fn parsers_survive_damaged_runs() {
    let captures = captures();
    for row in FRAMEWORKS {
        let Execution::Process(process) = &row.how else { continue };
        let mut random = Random::new(row.name.len() as u64 + 0x5eed);
        for whole in &captures {
            let captured = damage(whole, &mut random);
            is_sound(&(process.parse)(&captured), row.name);
            (process.list)(&captured);
        }
    }
}

#[test]
fn command_parsers_survive_damaged_reports() {
    for format in [Format::Junit, Format::Tap, Format::GoJson, Format::JestJson, Format::MochaJson]
    {
        let command = Command::new("make test", Some("*"), Some(format)).unwrap();
        let mut random = Random::new(0xc0de);
        captures()
            .iter()
            .for_each(|whole| is_sound(&command.parse(&damage(whole, &mut random)), "command"));
    }
}

#[test]
fn cargo_parsers_survive_damaged_output() {
    let mut random = Random::new(0xca60);
    for whole in captures().iter().flat_map(|whole| repeat_n(whole, 2)) {
        let exit = EXITS[random.below(EXITS.len())];
        let (bytes, log) =
            (damaged(&whole.stdout, &mut random), damaged(&whole.stdout, &mut random));
        let seen = || libtest::LibtestOutput { exit, stdout: &bytes, cut: whole.stderr.is_empty() };
        build::parse_packages(&bytes);
        let binaries =
            vec![libtest::parse("demo", seen(), &log), libtest::parse_doc("demo/doc", seen())];
        let built = build::parse(&bytes, &String::from_utf8_lossy(&whole.stderr), exit);
        is_sound(&cargo::report(built, binaries), "cargo");
    }
}

/// Contents of manifests and configurations that some row reads.
const TEXTS: &[&str] = &[
    r#"{"name":"x","scripts":{"test":"vitest run"},"devDependencies":{"vitest":"^3","jest":"29","mocha":"*"},"type":"module"}"#,
    "[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n[project]\nname = \"x\"\ndependencies = [\"pytest\"]\n",
    "<project><modelVersion>4.0.0</modelVersion><dependencies><dependency><artifactId>junit-jupiter</artifactId>\
     </dependency></dependencies><build><plugins/></build></project>",
    "plugins { id 'java' }\ntest { useJUnitPlatform() }\ndependencies { testImplementation 'junit:junit:4.13' }\n",
    "import unittest\nclass Calc(unittest.TestCase):\n    def test_a(self): pass\n",
    "module example.com/x\n\ngo 1.22\n",
    "cmake_minimum_required(VERSION 3.10)\nenable_testing()\nfind_package(GTest)\nadd_test(NAME a COMMAND a)\n",
    "<?xml version=\"1.0\"?><phpunit bootstrap=\"vendor/autoload.php\"><testsuites/></phpunit>",
    "gem 'rspec'\ngem 'minitest'\n",
];

#[test]
fn detection_survives_damaged_projects() {
    let mut random = Random::new(0xf01d);
    let extra = [
        "tests/test_a.py",
        "a.test.js",
        "spec/a_spec.rb",
        "test/a.bats",
        "tests/ATest.php",
        "test/a_test.exs",
    ];
    let files: Vec<String> = MANIFESTS.iter().chain(&extra).map(|&name| name.to_owned()).collect();
    for text in TEXTS.iter().flat_map(|text| repeat_n(text, 40)) {
        let text = String::from_utf8_lossy(&damaged(text.as_bytes(), &mut random)).into_owned();
        let texts = files.iter().map(|name| (name.clone(), text.clone())).collect();
        let folder = Folder { path: String::new(), files: files.clone(), texts };
        detect(std::slice::from_ref(&folder));
        for row in FRAMEWORKS {
            let Execution::Process(process) = &row.how else { continue };
            (row.detect)(&folder);
            let tools =
                row.tools.iter().map(|name| ((*name).to_owned(), format!("/bin/{name}"))).collect();
            let (root, scratch) = ("/project".to_owned(), "/scratch".to_owned());
            let facts = Facts { folder: folder.clone(), root, scratch, tools, ..Facts::default() };
            for selection in SELECTIONS {
                // Test names come from reports, which can contain anything.
                (process.invoke)(&facts, &selection(&text)).ok();
            }
            (row.is_id)(&text);
            (row.read)(&text);
            (row.is_test_file)(&text);
            (row.is_runner_config)(&text);
        }
    }
}
