//! What test runners leave behind, read by every framework: as its output, as its reports, however
//! it ended.

use redgreen_core::coverage::{Coverage, Format};
use redgreen_core::experiment::calls::{self, Speaker};
use redgreen_core::format::{go_json, gtest_json, junit, tap};
use redgreen_core::framework::captured::Capture;
use redgreen_core::framework::cargo::{build, libtest};
use redgreen_core::framework::{Execution, FRAMEWORKS};
use redgreen_core::report::Exit;

pub(crate) fn input(input: &[u8]) {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let log = String::from_utf8_lossy(bytes);
    for speaker in [Speaker::Python, Speaker::Script] {
        calls::read(speaker, &log).is_empty();
    }
    match choice - choice.min(b'0') {
        0 => drop(junit::parse(bytes)),
        1 => drop(tap::parse(bytes)),
        2 => drop(go_json::parse(bytes)),
        3 => drop(gtest_json::parse(bytes, str::to_owned)),
        4 => drop(Coverage::read(Format::Lcov, bytes)),
        5 => drop(Coverage::read(Format::Cobertura, bytes)),
        6 => drop(Coverage::read(Format::GoCover, bytes)),
        7 => drop(Coverage::read(Format::Jacoco, bytes)),
        _ => {
            let row = &FRAMEWORKS[usize::from(choice - b'8') % FRAMEWORKS.len()];
            let Execution::Process(process) = &row.how else { return cargo(bytes) };
            let exit = if choice & 1 == 0 { Exit::Code(0) } else { Exit::Code(1) };
            let names = ["stream.jsonl", "report.xml", "report.json", "TEST-a.xml"];
            let captured = Capture {
                exit,
                stdout: bytes.to_vec(),
                stderr: bytes.to_vec(),
                reports: names.iter().map(|name| ((*name).to_owned(), bytes.to_vec())).collect(),
                root: "/project".to_owned(),
                ..Capture::default()
            };
            drop((process.parse)(&captured));
            (process.list)(&captured);
        }
    }
}

fn cargo(bytes: &[u8]) {
    let seen = libtest::LibtestOutput { exit: Exit::Code(0), stdout: bytes, cut: false };
    libtest::parse("a", seen, bytes);
    libtest::parse_doc("a", seen);
    libtest::parse_list("a", bytes);
    libtest::parse_doc_list("a", bytes);
    build::parse(bytes, &String::from_utf8_lossy(bytes), Exit::Code(1));
    build::parse_packages(bytes);
}
