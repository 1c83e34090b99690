//! lcov's `SF` and `DA` records. The others (functions, branches, totals) vary too much between
//! tools, and totals follow from the lines.

use super::lines;
use crate::coverage::Coverage;

pub fn parse(bytes: &[u8]) -> Coverage {
    let mut coverage = Coverage::default();
    let mut file = String::new();
    for line in lines(bytes) {
        let line = String::from_utf8_lossy(line);
        if let Some(path) = line.strip_prefix("SF:") {
            path.trim().clone_into(&mut file);
        } else if line == "end_of_record" {
            file.clear();
        } else if let Some((number, hits)) =
            line.strip_prefix("DA:").and_then(record).filter(|_| !file.is_empty())
        {
            coverage.add(&file, number, hits);
        }
    }
    coverage
}

/// Parses `line,hits`, optionally followed by a checksum.
fn record(text: &str) -> Option<(u32, u64)> {
    let mut parts = text.split(',');
    let line = parts.next()?.trim().parse().ok()?;
    let hits: i64 = parts.next()?.trim().parse().ok()?;
    // gcov writes a negative count when a counter overflowed.
    Some((line, hits.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_up_lines_and_ignores_other_records() {
        let text = "TN:\nSF:src/a.py\nFN:1,3,add\nDA:1,1\nDA:2,0,hash\nLH:1\nLF:2\nend_of_record\nDA:9,9\nSF:src/a.py\nDA:2,4\nDA:x,1\n";
        let coverage = parse(text.as_bytes());
        assert_eq!((coverage.found(), coverage.hit(), coverage.percent()), (2, 2, Some(100.0)));
        assert_eq!(coverage.files["src/a.py"].lines[&2], 4);
        assert_eq!(parse(b"").percent(), None);
    }
}
