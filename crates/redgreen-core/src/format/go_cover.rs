//! Go's cover profile: `mode: atomic`, then `package/file.go:line.column,line.column statements
//! count`.

use super::lines;
use crate::coverage::Coverage;

/// Maximum lines of a block of statements. A hostile range would exhaust memory.
const BLOCK_LINES_MAX: u32 = 20_000;
/// Maximum lines of all blocks in a profile.
const PROFILE_LINES_MAX: u64 = 5_000_000;

pub fn parse(bytes: &[u8]) -> Coverage {
    let mut coverage = Coverage::default();
    let mut budget = PROFILE_LINES_MAX;
    for line in lines(bytes) {
        let line = String::from_utf8_lossy(line);
        let Some(block) = block(&line) else { continue };
        let length = block.last.saturating_sub(block.first).min(BLOCK_LINES_MAX);
        let Some(left) = budget.checked_sub(u64::from(length) + 1) else { break };
        budget = left;
        for number in block.first..=block.first.saturating_add(length) {
            coverage.add(block.file, number, block.count);
        }
    }
    coverage
}

struct Block<'a> {
    file: &'a str,
    first: u32,
    last: u32,
    count: u64,
}

fn block(line: &str) -> Option<Block<'_>> {
    let (place, counts) = line.split_once(' ')?;
    let (file, range) = place.rsplit_once(':')?;
    let (start, end) = range.split_once(',')?;
    let line_of = |position: &str| position.split('.').next()?.parse().ok();
    let count = counts.split(' ').nth(1)?.parse().ok()?;
    Some(Block { file, first: line_of(start)?, last: line_of(end)?, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_covers_its_lines() {
        let coverage = parse(
            b"mode: atomic\na.com/d/calc.go:3.24,5.2 1 2\na.com/d/calc.go:7.1,7.9 1 0\nnoise\n",
        );
        let lines: Vec<_> = coverage.files["a.com/d/calc.go"]
            .lines
            .iter()
            .map(|(line, hits)| (*line, *hits))
            .collect();
        assert_eq!(lines, [(3, 2), (4, 2), (5, 2), (7, 0)]);
    }

    #[test]
    fn a_hostile_range_stays_small() {
        let line = "a.go:1.1,4294967295.1 1 1\n".repeat(10);
        assert!(parse(line.as_bytes()).found() <= BLOCK_LINES_MAX as usize + 1);
    }
}
