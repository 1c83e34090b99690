//! Live output of an agent: its text, line by line, and its actions.

use redgreen_core::agent::{AgentActivity, Cost};
use redgreen_core::phase::Role;

use super::words::cost_so_far;
use super::wrap::wrap;
use super::{QUIET, clip, paint, status_line};

const MARGIN: &str = "              ";
/// For the description of one tool call.
const TOOL_CHARS_MAX: usize = 100;
/// The indentation of further lines about a tool call.
const BELOW_TOOL: &str = "                ";
/// The minimum line width, even on a narrow terminal.
const COLUMNS_MIN: usize = 20;
/// A line that does not end is shown in pieces.
const LINE_BYTES_MAX: usize = 2000;

/// The prefix of a line that is not wrapped.
const LAID_OUT: &str = "  ";

/// The output of a turn so far.
#[derive(Debug)]
pub struct Live {
    /// The width of the terminal, or `None` without one.
    columns: Option<usize>,
    /// The unfinished line.
    line: String,
    cost: Option<Cost>,
    answer: Answer,
}

/// Whether a planner's text is inside its JSON answer, which is for redgreen.
#[derive(Debug, Default)]
struct Answer {
    depth: usize,
    in_string: bool,
    after_backslash: bool,
}

impl Live {
    pub fn new(columns: Option<usize>) -> Self {
        Self { columns, line: String::new(), cost: None, answer: Answer::default() }
    }

    /// The text to show.
    pub fn said(&mut self, role: Role, said: &AgentActivity) -> String {
        match said {
            AgentActivity::Text(text) => {
                // The verdict shows the result of a planner's answer.
                let is_shown =
                    |letter: &char| role != Role::TestList || !self.answer.holds(*letter);
                let letters: Vec<char> = text.chars().filter(is_shown).collect();
                let shown: String = letters.into_iter().map(|letter| self.letter(letter)).collect();
                if shown.is_empty() { shown } else { paint(QUIET, &shown) }
            }
            AgentActivity::Tool { name, what } => {
                let words: String = what.split_whitespace().collect::<Vec<_>>().join(" ");
                let words: String = super::name(&words).chars().take(TOOL_CHARS_MAX).collect();
                let cost = self.cost.as_ref().map(cost_so_far).filter(|words| !words.is_empty());
                let cost =
                    cost.map(|words| paint(QUIET, &format!("  ({words})"))).unwrap_or_default();
                let tool =
                    format!("{} {words}{cost}", paint(QUIET, &format!("· {}", super::name(name))));
                format!(
                    "{}{MARGIN}{}\n",
                    self.end_line(),
                    wrap(&tool, MARGIN.len(), BELOW_TOOL, self.columns)
                )
            }
            AgentActivity::Cost(cost) => {
                self.cost = Some(*cost);
                String::new()
            }
        }
    }

    /// Ends the turn and the unfinished line.
    pub fn end(&mut self) -> String {
        self.answer = Answer::default();
        self.cost = None;
        self.end_line()
    }

    /// The unfinished line, to show now: a question to a person, whose answer ends the line.
    pub fn question(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        if line.trim().is_empty() { String::new() } else { format!("{MARGIN}{line}") }
    }

    /// Text that is not shown yet, because its line is unfinished.
    pub fn open(&self) -> &str {
        &self.line
    }

    /// The cost of the turn so far, if known.
    pub fn cost(&self) -> Option<Cost> {
        self.cost
    }

    fn end_line(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        // The rest of a code fence around a planner's answer.
        if line.trim().is_empty() || line.trim_start().starts_with("```") {
            return String::new();
        }
        format!("{MARGIN}{}\n", clip(&line, 1))
    }

    fn letter(&mut self, letter: char) -> String {
        if letter == '\n' || self.line.len() >= LINE_BYTES_MAX {
            return self.end_line();
        }
        self.line.push(letter);
        let room =
            self.columns.map(|columns| columns.saturating_sub(MARGIN.len()).max(COLUMNS_MIN));
        // Indented lines are code, or contain a path to copy, which may have spaces.
        let is_laid_out = self.line.starts_with(LAID_OUT);
        if is_laid_out || room.is_none_or(|room| status_line::width(&self.line) <= room) {
            return String::new();
        }
        // The last word may continue, so it starts the next line.
        let at = self.line.trim_end().rfind(' ').map_or(self.line.len(), |blank| blank + 1);
        let rest = self.line.split_off(at);
        let shown = self.end_line();
        self.line = rest;
        shown
    }
}

impl Answer {
    /// Whether a character is part of the answer. Characters arrive one by one.
    fn holds(&mut self, letter: char) -> bool {
        if self.depth == 0 && letter != '{' {
            return false;
        }
        match letter {
            _ if self.after_backslash => self.after_backslash = false,
            '\\' => self.after_backslash = self.in_string,
            '"' => self.in_string = !self.in_string,
            '{' if !self.in_string => self.depth += 1,
            '}' if !self.in_string => self.depth -= 1,
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen;
    use super::*;

    fn shown(columns: Option<usize>, role: Role, all: &[AgentActivity]) -> String {
        let mut live = Live::new(columns);
        let text: String = all.iter().map(|said| live.said(role, said)).collect();
        let shown = screen::shown(&(text + &live.end()));
        anstream::adapter::strip_str(&shown).to_string()
    }

    fn text(words: &str) -> AgentActivity {
        AgentActivity::Text(words.to_owned())
    }

    #[test]
    fn an_indented_line_stays_whole() {
        let mut live = Live::new(Some(30));
        let said = AgentActivity::Text("  in   /a/folder with blanks/that is long\n".to_owned());
        assert!(live.said(Role::Test, &said).contains("/a/folder with blanks/that is long"));
    }

    #[test]
    fn words_come_by_lines() {
        let tool = AgentActivity::Tool { name: "Read".to_owned(), what: "a.py\nb".to_owned() };
        let cost = AgentActivity::Cost(Cost {
            tokens: Some(12),
            microdollars: Some(20_000),
            ..Cost::default()
        });
        let all =
            [text("I lo"), text("ok.\n\nThen"), tool, cost, text("\u{1b}[31mred"), text("\n")];
        let expected =
            format!("{MARGIN}I look.\n{MARGIN}Then\n{MARGIN}· Read a.py b\n{MARGIN}␛[31mred\n");
        assert_eq!(shown(Some(80), Role::Test, &all), expected);
        assert_eq!(shown(None, Role::Test, &all), expected);
    }

    #[test]
    fn a_terminals_lines_end_between_words() {
        let all = [text("one two three fo"), text("ur five six\n")];
        let narrow = format!("{MARGIN}one two three four\n{MARGIN}five six\n");
        assert_eq!(shown(Some(MARGIN.len() + 20), Role::Test, &all), narrow);
        assert_eq!(shown(None, Role::Test, &all), format!("{MARGIN}one two three four five six\n"));
        let path = "/a/path/that/is/longer/than/any/line";
        assert_eq!(shown(Some(30), Role::Test, &[text(path)]).matches('\n').count(), 2);
    }

    #[test]
    fn a_question_is_shown_before_its_line_ends() {
        let mut live = Live::new(Some(80));
        assert_eq!(live.said(Role::TestList, &text("test file: ")), "");
        assert_eq!(live.question(), format!("{MARGIN}test file: "));
        assert_eq!(live.question() + &live.end(), "");
    }

    #[test]
    fn a_planners_answer_is_not_shown_and_its_words_are() {
        let answer = r#"{"currentTest": {"description": "a \"}\" b", "testFile": "t.py"}}"#;
        let rows = [
            (format!("I add two.\n{answer}"), "I add two.\n"),
            (format!("I add two.\n```json\n{answer}\n```\nDone."), "I add two.\nDone.\n"),
            (format!("Next: {answer}\n"), "Next:\n"),
            (answer.replace(' ', "\n"), ""),
        ];
        for (said, expected) in rows {
            let pieces: Vec<AgentActivity> =
                said.chars().map(|letter| text(&letter.to_string())).collect();
            let expected: String =
                expected.lines().map(|line| format!("{MARGIN}{line}\n")).collect();
            assert_eq!(shown(None, Role::TestList, &pieces), expected, "{said}");
        }
        assert!(
            shown(None, Role::Test, &[text(answer)]).contains("currentTest"),
            "only a planner's"
        );
    }

    #[test]
    fn what_it_cost_so_far_stands_beside_what_it_does() {
        let cost = AgentActivity::Cost(Cost {
            tokens: Some(12),
            microdollars: Some(20_000),
            ..Cost::default()
        });
        let tool = AgentActivity::Tool { name: "RunTests".to_owned(), what: String::new() };
        let expected = format!("{MARGIN}· RunTests   (12 tokens, $0.02)\n");
        assert_eq!(shown(Some(80), Role::Test, &[cost, tool]), expected);
    }
}
