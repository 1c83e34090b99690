//! The events of `go test -json` (test2json), from Go 1.19 to 1.27.
//!
//! Go's own messages and the output of tests share one stream. Lines that are not events are kept
//! separately, because before Go 1.24 such a line reports a package that does not build.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{MESSAGE_BYTES_MAX, lines};

/// Maximum number of kept lines that are not events.
const PLAIN_LINES_MAX: usize = 1_000;

/// The contents of a stream.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub packages: BTreeMap<String, Package>,
    /// In the order of their first event.
    pub tests: Vec<GoTest>,
    /// Compiler output by import path (Go 1.24 and later).
    pub build_output: BTreeMap<String, String>,
    pub plain: Vec<String>,
    pub events: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Package {
    /// The package's final event; `None` while it runs.
    pub end: Option<End>,
    /// The import path that did not build.
    pub failed_build: Option<String>,
    /// Output outside of any test.
    pub output: String,
}

#[derive(Clone, Debug, Default)]
pub struct GoTest {
    pub package: String,
    pub name: String,
    pub started: bool,
    /// All reported results. More than one means that something else wrote a result.
    pub ends: Vec<End>,
    pub seconds: Option<f64>,
    /// The text of the failure, if Go marks it (1.27 and later).
    pub error: String,
    /// All output except Go's own framing lines.
    pub output: String,
    pub panic: Option<Panic>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Pass,
    Fail,
    Skip,
}

/// The process ended during this test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panic {
    Panic,
    /// Go's own time limit.
    TimedOut,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    package: Option<String>,
    import_path: Option<String>,
    test: Option<String>,
    elapsed: Option<f64>,
    output: Option<String>,
    output_type: Option<String>,
    failed_build: Option<String>,
}

pub fn parse(bytes: &[u8]) -> Stream {
    let mut stream = Stream::default();
    let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in lines(bytes).filter(|line| !line.is_empty()) {
        match serde_json::from_slice::<Event>(line) {
            Ok(event) => stream.take(event, &mut known),
            Err(_) if stream.plain.len() < PLAIN_LINES_MAX => {
                let mut text = String::from_utf8_lossy(line).into_owned();
                text.truncate(text.floor_char_boundary(MESSAGE_BYTES_MAX));
                stream.plain.push(text);
            }
            Err(_) => {}
        }
    }
    stream
}

impl Stream {
    fn take(&mut self, event: Event, known: &mut BTreeMap<(String, String), usize>) {
        self.events += 1;
        if let Some(path) = event.import_path {
            if event.action == "build-output" {
                keep(
                    self.build_output.entry(path).or_default(),
                    event.output.as_deref().unwrap_or_default(),
                );
            }
            return;
        }
        let Some(name) = event.package else { return };
        let end = match event.action.as_str() {
            "pass" => Some(End::Pass),
            "fail" => Some(End::Fail),
            "skip" => Some(End::Skip),
            _ => None,
        };
        let package = self.packages.entry(name.clone()).or_default();
        let Some(test) = event.test else {
            package.end = end.or(package.end);
            package.failed_build = event.failed_build.or(package.failed_build.take());
            keep(&mut package.output, event.output.as_deref().unwrap_or_default());
            return;
        };
        let index = *known.entry((name.clone(), test.clone())).or_insert_with(|| {
            self.tests.push(GoTest { package: name, name: test, ..GoTest::default() });
            self.tests.len() - 1
        });
        let Some(test) = self.tests.get_mut(index) else { return };
        test.started |= event.action == "run";
        test.ends.extend(end);
        test.seconds = event.elapsed.or(test.seconds);
        if let Some(output) = event.output {
            test.print(&output, event.output_type.as_deref());
        }
    }
}

impl GoTest {
    fn print(&mut self, output: &str, kind: Option<&str>) {
        if output.starts_with("panic: ") {
            let timed_out = output.contains("test timed out after");
            self.panic = Some(if timed_out { Panic::TimedOut } else { Panic::Panic });
        }
        match kind {
            Some("error") => keep(&mut self.error, output),
            Some("frame") => return,
            Some(_) | None => {}
        }
        let text = output.trim_start();
        if !text.starts_with("=== ") && !text.starts_with("--- ") {
            keep(&mut self.output, output);
        }
    }

    /// The test that contains this subtest.
    pub fn parent(&self) -> Option<&str> {
        self.name.rsplit_once('/').map(|(parent, _)| parent)
    }
}

fn keep(kept: &mut String, text: &str) {
    let room = MESSAGE_BYTES_MAX.saturating_sub(kept.len());
    kept.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_events_by_test_and_package() {
        let stream = parse(
            br#"{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: no\n"}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":0.5}
FAIL	q [build failed]
{"Action":"fail","Package":"p","Elapsed":1}
{"Action":"build-output","ImportPath":"r","Output":"x.go:1:1: undefined: y\n"}
{"Act"#,
        );
        let test = &stream.tests[0];
        assert_eq!(
            (test.ends.as_slice(), test.output.as_str()),
            (&[End::Fail][..], "    a_test.go:3: no\n")
        );
        assert_eq!(stream.packages["p"].end, Some(End::Fail));
        assert_eq!((stream.plain.len(), stream.events), (2, 7));
        assert_eq!(stream.build_output["r"], "x.go:1:1: undefined: y\n");
    }
}
