//! `redgreen bench`.

use std::fmt::Write;

use anyhow::Result;

use super::Desk;
use crate::failure::Code;
use crate::ops::bench::{self, Bench, Length};

/// Measure what redgreen itself costs on this machine, beside git and the tests
#[derive(clap::Args, Debug)]
#[command(after_help = "Works in a scratch folder of its own. Needs git and cargo; no key, no network.\n\n\
                        Examples:\n  redgreen bench\n  redgreen bench --quick --json")]
pub(super) struct Args {
    /// Fewer turns and smaller repositories
    #[arg(long)]
    quick: bool,
}

impl Args {
    pub(super) fn perform(self, desk: &Desk) -> Result<Code> {
        let length = if self.quick { Length::Quick } else { Length::Full };
        let mut tell = |what: &str| desk.printer.talk(&format!("measuring {what}\n"));
        let bench = bench::bench(length, &desk.environment, &desk.stop, &mut tell)?;
        desk.printer.answer(&table(&bench), &bench);
        Ok(Code::Done)
    }
}

fn table(bench: &Bench) -> String {
    let mut text = format!("{:<26} {:>12}   against\n", "", "median");
    for measure in &bench.measures {
        let mut against = measure
            .against
            .iter()
            .map(|against| format!("{:>6.2} x {} ({:.1} ms)", against.ratio, against.name, against.median_ms))
            .chain(measure.megabytes_per_second.map(|rate| format!("{rate:>6.0} MB/s")))
            .chain(
                measure
                    .requests
                    .zip(measure.bytes_sent)
                    .map(|(requests, bytes)| format!("{requests:>6} requests, {bytes} bytes sent")),
            )
            .chain(measure.memory_bytes.map(|bytes| format!("{:>6.1} MiB more than before", mebibytes(bytes))));
        let first = against.next().unwrap_or_default();
        // Writing to a String cannot fail.
        writeln!(text, "{:<26} {:>9.1} ms  {first}", measure.name, measure.median_ms).ok();
        for more in against {
            writeln!(text, "{:<26} {:>9}     {more}", "", "").ok();
        }
    }
    if let Some(bytes) = bench.peak_memory_bytes {
        writeln!(text, "{:<26} {:>9.1} MiB", "peak memory of a run", mebibytes(bytes)).ok();
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "shown with one digit after the point")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
