//! The speed of reading reports, and that stored data does not grow with test output.

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use redgreen_core::format::junit;

use super::{Measure, median_ms};
use crate::process::{self, Measured};

/// The output of a verbose test.
const PRINTED_BYTES: usize = 1 << 20;

/// JUnit XML: this many silent cases, and about this many bytes of verbose cases.
pub(super) fn measures(cases: usize, bytes: usize, turns: usize) -> Vec<Measure> {
    let printed = format!(
        "<system-out>{}</system-out>",
        "a line of output &amp; more\n".repeat(PRINTED_BYTES / 28)
    );
    let name = if cases == 1_000_000 { "a million".to_owned() } else { cases.to_string() };
    let silent = measure(&format!("JUnit XML, {name} silent cases"), &document(cases, ""), turns);
    let chatty = document(bytes.div_ceil(PRINTED_BYTES), &printed);
    vec![silent, measure("JUnit XML, cases of 1 MiB", &chatty, turns)]
}

fn document(cases: usize, inside: &str) -> String {
    let mut text = "<testsuites><testsuite name=\"bench\">\n".to_owned();
    for number in 1..=cases {
        // Writing to a String cannot fail.
        writeln!(
            text,
            "<testcase classname=\"a\" name=\"t{number}\" time=\"0.001\">{inside}</testcase>"
        )
        .ok();
    }
    text.push_str("</testsuite></testsuites>\n");
    text
}

fn measure(name: &str, document: &str, turns: usize) -> Measure {
    // The first time measures memory, because later ones reuse what it released.
    let peak = process::peak_memory_during(|| drop(black_box(junit::parse(document.as_bytes()))));
    let memory_bytes = peak.map(|peak| peak.more);
    let before = process::cpu_time(Measured::Own);
    let samples: Vec<Duration> = (0..turns)
        .map(|_| {
            let started = Instant::now();
            let read = junit::parse(document.as_bytes());
            let took = started.elapsed();
            drop(black_box(read));
            took
        })
        .collect();
    let worked = process::cpu_time(Measured::Own)
        .zip(before)
        .map(|(after, before)| after.saturating_sub(before));
    let turns = u32::try_from(turns).unwrap_or(u32::MAX).max(1);
    // Includes releasing the memory, unlike the median.
    let cpu_ms = worked.map(|worked| worked.as_secs_f64() * 1_000.0 / f64::from(turns));
    let median = median_ms(samples);
    #[expect(clippy::cast_precision_loss, reason = "a size of a few megabytes")]
    let rate = document.len() as f64 / 1e3 / median;
    Measure { megabytes_per_second: Some(rate), memory_bytes, cpu_ms, ..Measure::new(name, median) }
}
