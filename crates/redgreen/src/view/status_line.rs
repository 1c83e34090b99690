//! The current activity: the live line of a terminal during a slow step, and the plain line that a
//! log gets from time to time.

use std::time::Duration;

use redgreen_core::format::stream::Tally;
use redgreen_core::phase::Phase;
use unicode_width::UnicodeWidthChar;

/// Free columns at the right edge: `^C` is echoed there, and a full line would wrap.
const EDGE: usize = 4;
const BAR_COLUMNS: usize = 16;
/// The agent's last words are omitted if there is less room than this.
const SAID_COLUMNS_MIN: usize = 16;

/// The current step.
#[derive(Clone, Debug)]
pub struct StatusLine {
    /// The cycle and phase. `None` outside of a run.
    pub at: Option<(u32, Phase)>,
    pub doing: String,
    pub elapsed: Duration,
    pub tests: Option<Tally>,
    /// The cost of the run so far. Empty if unknown.
    pub cost: String,
    /// The agent's current words.
    pub said: String,
}

impl StatusLine {
    /// One line for a terminal with this many columns.
    pub fn live(&self, columns: usize) -> String {
        let room = columns.saturating_sub(EDGE);
        let tests = self.tests.map(|tally| match tally.total.filter(|total| *total > 0) {
            Some(total) => format!("{} {}", bar(tally.done, total), tests(tally)),
            None => tests(tally),
        });
        let line = self.words(tests);
        let said: String = self.said.split_whitespace().collect::<Vec<_>>().join(" ");
        let left = room.saturating_sub(width(&line) + 3);
        if said.is_empty() || left < SAID_COLUMNS_MIN {
            return fitting(&line, room);
        }
        format!("{line} · {}", ending(&super::name(&said), left))
    }

    /// A line for a log.
    pub fn plain(&self) -> String {
        format!("{}\n", self.words(self.tests.map(tests)))
    }

    fn words(&self, tests: Option<String>) -> String {
        let Self { at, doing, elapsed, cost, .. } = self;
        let at = at.map(|(cycle, phase)| format!("{cycle:>3} {phase:<8}  ")).unwrap_or_default();
        let head = format!("{at}{} {}", super::name(doing), clock(*elapsed));
        let cost = Some(cost.clone()).filter(|cost| !cost.is_empty());
        [Some(head), tests, cost].into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

/// The width of a text in columns.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(letter: char) -> usize {
    letter.width().unwrap_or(0)
}

/// `0:09`, `12:34`, `1:02:03`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

fn tests(tally: Tally) -> String {
    let Tally { done, failed, total } = tally;
    let count = match total {
        Some(total) => format!("{done}/{total} tests"),
        None => super::count(done, "test"),
    };
    if failed > 0 { format!("{count}, {failed} failed") } else { count }
}

fn bar(done: usize, total: usize) -> String {
    // Tests can write to the counted file, so there may be more than announced.
    let full = done.min(total).saturating_mul(BAR_COLUMNS) / total.max(1);
    format!("[{}{}]", "=".repeat(full), " ".repeat(BAR_COLUMNS - full))
}

/// The beginning of a line, as far as it fits.
fn fitting(line: &str, room: usize) -> String {
    if width(line) <= room {
        return line.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let fits = |letter: &char| {
        let fits = columns(*letter) <= left;
        left = left.saturating_sub(columns(*letter));
        fits
    };
    let kept: String = line.chars().take_while(fits).collect();
    kept + "…"
}

/// The end of a line, as far as it fits.
fn ending(line: &str, room: usize) -> String {
    let mut left = width(line);
    if left <= room {
        return line.to_owned();
    }
    let skipped = |letter: &char| {
        let skip = left >= room;
        left -= columns(*letter);
        skip
    };
    format!("…{}", line.chars().skip_while(skipped).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> StatusLine {
        StatusLine {
            at: Some((1, Phase::Green)),
            doing: "running the tests".to_owned(),
            elapsed: Duration::from_secs(69),
            tests: None,
            cost: String::new(),
            said: String::new(),
        }
    }

    fn tally(done: usize, failed: usize, total: Option<usize>) -> Option<Tally> {
        Some(Tally { done, failed, total })
    }

    #[test]
    fn says_what_is_known_and_no_more() {
        let rows = [
            (now(), "  1 GREEN     running the tests 1:09"),
            (
                StatusLine { tests: tally(0, 0, None), ..now() },
                "  1 GREEN     running the tests 1:09 · 0 tests",
            ),
            (
                StatusLine { tests: tally(3, 1, None), ..now() },
                "  1 GREEN     running the tests 1:09 · 3 tests, 1 failed",
            ),
            (
                StatusLine { tests: tally(2, 0, Some(4)), ..now() },
                "  1 GREEN     running the tests 1:09 · [========        ] 2/4 tests",
            ),
            (
                StatusLine { tests: tally(9, 0, Some(4)), ..now() },
                "  1 GREEN     running the tests 1:09 · [================] 9/4 tests",
            ),
            (
                StatusLine {
                    doing: "claude works".to_owned(),
                    cost: "12 tokens, $0.02".to_owned(),
                    ..now()
                },
                "  1 GREEN     claude works 1:09 · 12 tokens, $0.02",
            ),
            (StatusLine { at: None, ..now() }, "running the tests 1:09"),
            (
                StatusLine { elapsed: Duration::from_secs(3723), ..now() },
                "  1 GREEN     running the tests 1:02:03",
            ),
        ];
        for (now, expected) in rows {
            assert_eq!(now.live(100), expected);
        }
        let known = StatusLine { tests: tally(2, 0, Some(4)), ..now() };
        assert_eq!(known.plain(), "  1 GREEN     running the tests 1:09 · 2/4 tests\n");
    }

    #[test]
    fn fits_its_line_whatever_is_said() {
        let said = "I look at\n\u{1b}[31m the 漢字漢字漢字漢字 of this";
        for columns in 0..120 {
            let line = StatusLine { said: said.to_owned(), cost: "12 tokens".to_owned(), ..now() }
                .live(columns);
            assert!(width(&line) <= columns.saturating_sub(EDGE).max(1), "{columns}: {line}");
            assert!(!line.contains(['\n', '\u{1b}']), "{line}");
        }
        let line = StatusLine { said: said.to_owned(), ..now() }.live(60);
        assert_eq!(line, "  1 GREEN     running the tests 1:09 · …漢字漢字 of this");
    }
}
