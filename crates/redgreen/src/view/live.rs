//! An agent at work, as it happens: what it says, piece by piece on a terminal and line by line elsewhere, and what it
//! does.

use redgreen_core::agent::{Cost, Said};
use redgreen_core::phase::Role;
use serde::Serialize;

use super::words::cost_so_far;
use super::{QUIET, clip, paint};

const MARGIN: &str = "              ";
/// Of the words about one use of a tool.
const TOOL_CHARS_MAX: usize = 100;
/// A line that does not end is shown in pieces.
const LINE_BYTES_MAX: usize = 2000;

/// The same for a program: a line of `--json` beside the journal's, which has no number, since it is kept nowhere.
#[derive(Debug, Serialize)]
pub struct LiveV1<'a> {
    v: u32,
    /// Milliseconds since 1970.
    at: i64,
    role: Role,
    #[serde(flatten)]
    said: SaidV1<'a>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "live", rename_all = "kebab-case")]
enum SaidV1<'a> {
    Text { text: &'a str },
    Tool { name: &'a str, what: &'a str },
    Cost { cost: &'a Cost },
}

impl<'a> LiveV1<'a> {
    pub fn new(at: i64, role: Role, said: &'a Said) -> Self {
        let said = match said {
            Said::Text(text) => SaidV1::Text { text },
            Said::Tool { name, what } => SaidV1::Tool { name, what },
            Said::Cost(cost) => SaidV1::Cost { cost },
        };
        Self { v: 1, at, role, said }
    }
}

/// What was shown of a turn so far.
#[derive(Debug)]
pub struct Live {
    /// Text is shown as it comes; otherwise by lines.
    streams: bool,
    /// The line that is not at its end: shown already, or kept until it is.
    line: String,
    cost: Option<Cost>,
}

impl Live {
    pub fn new(streams: bool) -> Self {
        Self { streams, line: String::new(), cost: None }
    }

    /// What to show for it.
    pub fn said(&mut self, said: &Said) -> String {
        match said {
            Said::Text(text) => {
                let shown: String = text.chars().map(|letter| self.letter(letter)).collect();
                if shown.is_empty() { shown } else { paint(QUIET, &shown) }
            }
            Said::Tool { name, what } => {
                let words: String = what.split_whitespace().collect::<Vec<_>>().join(" ");
                let words: String = super::name(&words).chars().take(TOOL_CHARS_MAX).collect();
                let cost = self.cost.as_ref().map(cost_so_far).filter(|words| !words.is_empty());
                let cost = cost.map(|words| paint(QUIET, &format!("  ({words})"))).unwrap_or_default();
                format!("{}{MARGIN}{} {words}{cost}\n", self.end(), paint(QUIET, &format!("· {}", super::name(name))))
            }
            Said::Cost(cost) => {
                self.cost = Some(*cost);
                String::new()
            }
        }
    }

    /// Ends the line that is open.
    pub fn end(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        match (line.trim().is_empty(), self.streams) {
            (true, false) => String::new(),
            (true, true) if line.is_empty() => String::new(),
            (_, true) => "\n".to_owned(),
            (false, false) => format!("{MARGIN}{}\n", clip(&line, 1)),
        }
    }

    fn letter(&mut self, letter: char) -> String {
        if letter == '\n' || self.line.len() >= LINE_BYTES_MAX {
            return self.end();
        }
        let margin = if self.line.is_empty() && self.streams { MARGIN } else { "" };
        self.line.push(letter);
        if self.streams { format!("{margin}{letter}") } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen;
    use super::*;

    fn shown(streams: bool, all: &[Said]) -> String {
        let mut live = Live::new(streams);
        let text: String = all.iter().map(|said| live.said(said)).collect();
        let shown = screen::shown(&(text + &live.end()));
        anstream::adapter::strip_str(&shown).to_string()
    }

    #[test]
    fn words_stream_on_a_terminal_and_come_by_lines_elsewhere() {
        let text = |words: &str| Said::Text(words.to_owned());
        let tool = Said::Tool { name: "Read".to_owned(), what: "a.py\nb".to_owned() };
        let cost = Said::Cost(Cost { tokens: Some(12), microdollars: Some(20_000), ..Cost::default() });
        let all = [text("I lo"), text("ok.\n\nThen"), tool, cost, text("\u{1b}[31mred"), text("\n")];
        let expected = format!("{MARGIN}I look.\n{MARGIN}Then\n{MARGIN}· Read a.py b\n{MARGIN}␛[31mred\n");
        assert_eq!(shown(true, &all), expected);
        assert_eq!(shown(false, &all), expected);
    }

    #[test]
    fn what_it_cost_so_far_stands_beside_what_it_does() {
        let cost = Said::Cost(Cost { tokens: Some(12), microdollars: Some(20_000), ..Cost::default() });
        let tool = Said::Tool { name: "RunTests".to_owned(), what: String::new() };
        assert_eq!(shown(true, &[cost, tool]), format!("{MARGIN}· RunTests   (12 tokens, $0.02)\n"));
    }
}
