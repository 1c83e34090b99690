//! The cost of the guards: counting tokens and finding credentials in context files, compared with
//! reading the files.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use super::{Measure, median_ms};
use crate::guard;

/// Each is a little below the limit.
const FILE_BYTES: usize = 90_000;
/// Realistic code, so that neither part is too easy.
const LINES: &str = "    def total(self, prices: list[int], discount: float = 0.0) -> int:\n        \"\"\"The amount to pay.\"\"\"\n        \
                     return round(sum(prices) * (1 - discount))\n\nVERSION = \"1.24.0-rc.3\"  # 2026-01-02 0x7f3a\n";

pub(super) fn measure(folder: &Path, bytes: usize, turns: usize) -> Result<Measure> {
    let root = folder.join("context");
    fs::create_dir_all(&root).with_context(|| format!("create {}", root.display()))?;
    let root = root.canonicalize().with_context(|| format!("find {}", root.display()))?;
    let text = LINES.repeat(FILE_BYTES / LINES.len());
    let count = bytes.div_ceil(text.len());
    let mut paths = Vec::new();
    for number in 0..count {
        let path = root.join(format!("{number}.py"));
        fs::write(&path, &text).with_context(|| format!("write {}", path.display()))?;
        paths.push(PathBuf::from(format!("{number}.py")));
    }
    let (mut guarded, mut read) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        let started = Instant::now();
        black_box(guard::gather(&root, &root, &paths));
        guarded.push(started.elapsed());
        let started = Instant::now();
        for path in &paths {
            black_box(fs::read(root.join(path)).context("read a context file")?);
        }
        read.push(started.elapsed());
    }
    let median = median_ms(guarded);
    #[expect(clippy::cast_precision_loss, reason = "a size of a few megabytes")]
    let rate = (count * text.len()) as f64 / 1e3 / median;
    let measure = Measure {
        megabytes_per_second: Some(rate),
        ..Measure::new("guards on 10 MB of context", median)
    };
    Ok(measure.against("reading the files", median_ms(read)))
}
