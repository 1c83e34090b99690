//! The only access to stdout and stderr. All printed text counts as untrusted and is made harmless
//! at the last moment, so that other code does not have to think about it. Only colours are ours:
//! `paint` marks them with a word that only this process knows, and that no file, test or agent can
//! write.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use anstyle::AnsiColor;
use redgreen_core::text;

use super::status_line;
use crate::config;

/// The width of a terminal that does not report one.
const COLUMNS_USUAL: usize = 80;
/// A terminal echoes Ctrl-C as `^C` after the live line, which leaves room for it.
const ECHO_COLUMNS: usize = 3;

/// The meaning of a colour. `anstream` removes colours where they do not belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Good,
    Bad,
    Doubt,
    Hint,
    Quiet,
    Strong,
}

impl Style {
    const ALL: [Self; 7] =
        [Self::Plain, Self::Good, Self::Bad, Self::Doubt, Self::Hint, Self::Quiet, Self::Strong];

    fn ansi(self) -> anstyle::Style {
        match self {
            Self::Plain => anstyle::Style::new(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Doubt => AnsiColor::Yellow.on_default(),
            Self::Hint => AnsiColor::Cyan.on_default(),
            Self::Quiet => anstyle::Style::new().dimmed(),
            Self::Strong => anstyle::Style::new().bold(),
        }
    }

    /// The character after the mark; a noncharacter, like the mark.
    fn letter(self) -> char {
        match self {
            Self::Plain => '\u{fde0}',
            Self::Good => '\u{fde1}',
            Self::Bad => '\u{fde2}',
            Self::Doubt => '\u{fde3}',
            Self::Hint => '\u{fde4}',
            Self::Quiet => '\u{fde5}',
            Self::Strong => '\u{fde6}',
        }
    }
}

/// The text in a colour.
pub(crate) fn paint(style: Style, text: &str) -> String {
    let (mark, begin, end) = (mark(), style.letter(), Style::Plain.letter());
    if style == Style::Plain { text.to_owned() } else { format!("{mark}{begin}{text}{mark}{end}") }
}

/// The text without its colours.
pub(crate) fn plain(text: &str) -> String {
    pieces(text).map(|(text, _)| text).collect()
}

/// The visible width of a text, if nothing in it has to be escaped.
pub(super) fn width(text: &str) -> usize {
    pieces(text).map(|(text, _)| text.chars().count()).sum()
}

/// The first characters of a line. Colours do not count, and an open colour ends.
pub(super) fn cut(line: &str, chars_max: usize) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut left = chars_max;
    let mut is_cut = false;
    for (text, style) in pieces(line) {
        let end = text.char_indices().nth(left).map_or(text.len(), |(end, _)| end);
        kept.push_str(text.get(..end).unwrap_or(text));
        if end < text.len() && !is_cut {
            is_cut = true;
            kept.push('…');
        }
        left -= text.chars().count().min(left);
        if let Some(style) = style {
            kept.push_str(mark());
            kept.push(style.letter());
        }
    }
    kept
}

/// The state of the last line of the terminal. Printing locks it.
static LAST_LINE: Mutex<LastLine> =
    Mutex::new(LastLine { live: 0, words: String::new(), open: false });

struct LastLine {
    /// The width of the live line. 0 if there is none.
    live: usize,
    words: String,
    /// The last output did not end its line, for example a question.
    open: bool,
}

impl LastLine {
    fn hold() -> MutexGuard<'static, Self> {
        LAST_LINE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Spaces instead of an escape sequence: they work with every terminal and without colours.
    fn erase(&mut self) {
        if self.live > 0 {
            write_all(&mut io::stderr(), &format!("\r{}\r", " ".repeat(self.live + ECHO_COLUMNS)));
            self.live = 0;
        }
    }

    fn print(&mut self, out: &mut impl Write, text: &str) {
        if text.is_empty() {
            return;
        }
        self.erase();
        write_all(out, text);
        // A colour may end after the end of the line.
        self.open = !anstream::adapter::strip_str(text).to_string().ends_with('\n');
    }
}

/// Shows a line until the next one, or until something else is printed. It must fit the terminal.
pub(super) fn live(line: &str) {
    let mut last = LastLine::hold();
    if last.open || last.live > 0 && last.words == line {
        return;
    }
    let width = status_line::width(&text::visible(line));
    if width < last.live {
        last.erase();
    }
    write_all(&mut io::stderr(), "\r");
    write_all(&mut anstream::stderr(), &without_commands(&shown(&paint(Style::Quiet, line))));
    last.live = width;
    line.clone_into(&mut last.words);
}

/// A step starts, so a question was answered, and the terminal ended the line.
pub(super) fn live_begin() {
    LastLine::hold().open = false;
}

/// Removes the live line.
pub(super) fn live_end() {
    LastLine::hold().erase();
}

/// The same for a program that exits immediately: another thread may never finish printing.
pub(super) fn live_end_at_once() {
    match LAST_LINE.try_lock() {
        Ok(mut last) => last.erase(),
        Err(TryLockError::Poisoned(last)) => last.into_inner().erase(),
        Err(TryLockError::WouldBlock) => {}
    }
}

/// The width of the terminal of `talk`, or `None` without one.
pub(super) fn talk_columns() -> Option<usize> {
    columns(&io::stderr())
}

/// The same for `answer`.
pub(super) fn answer_columns() -> Option<usize> {
    columns(&io::stdout())
}

fn columns(out: &(impl IsTerminal + AsFd)) -> Option<usize> {
    if !out.is_terminal() || config::terminal_is_dumb() {
        return None;
    }
    let told = rustix::termios::tcgetwinsize(out).map_or(0, |size| usize::from(size.ws_col));
    Some(if told == 0 { COLUMNS_USUAL } else { told })
}

/// An answer for people.
pub(super) fn answer(text: &str) {
    LastLine::hold().print(&mut anstream::stdout(), &without_commands(&shown(text)));
}

/// All other text for people.
pub(super) fn talk(text: &str) {
    LastLine::hold().print(&mut anstream::stderr(), &without_commands(&shown(text)));
}

/// Our own files for other programs: no colours, and nothing in them is a command.
pub(super) fn raw(text: &str) {
    LastLine::hold().print(&mut io::stdout(), &text::visible(text));
}

/// One line of JSON.
pub(super) fn json(line: &str) {
    LastLine::hold().print(&mut io::stdout(), &format!("{}\n", text::json(line)));
}

/// Text of clap with its colours. Its words were made harmless before clap read them.
pub(super) fn clap(error: &clap::Error) {
    let text = error.render().ansi().to_string();
    if error.use_stderr() {
        LastLine::hold().print(&mut anstream::stderr(), &without_commands(&text));
    } else {
        LastLine::hold().print(&mut anstream::stdout(), &text);
    }
}

fn write_all(out: &mut impl Write, text: &str) {
    // The pipe is closed, so nobody can read a report.
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).ok();
}

/// The text for the terminal: our colours, and everything else made harmless.
pub(super) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut now = Style::Plain;
    for (text, style) in pieces(text) {
        shown.push_str(&text::visible(text));
        // Our styles start and end without a style.
        if let Some(style) = style {
            shown.push_str(&now.ansi().render_reset().to_string());
            shown.push_str(&style.ansi().render().to_string());
            now = style;
        }
    }
    shown.push_str(&now.ansi().render_reset().to_string());
    shown
}

fn without_commands(text: &str) -> String {
    static READS: OnceLock<bool> = OnceLock::new();
    if *READS.get_or_init(config::ci_reads_output) {
        text::without_commands(text).into_owned()
    } else {
        text.to_owned()
    }
}

/// The text between marks, each piece with the style that starts after it.
fn pieces(text: &str) -> impl Iterator<Item = (&str, Option<Style>)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        // A mark without a style is not ours, and is handled like other text.
        let found = text.match_indices(mark()).find_map(|(at, mark)| {
            let after = text.get(at + mark.len()..)?;
            let letter = after.chars().next()?;
            let style = Style::ALL.into_iter().find(|style| style.letter() == letter)?;
            Some((text.get(..at)?, style, after.get(letter.len_utf8()..)?))
        });
        match found {
            Some((piece, style, after)) => {
                rest = Some(after);
                Some((piece, Some(style)))
            }
            None => {
                rest = None;
                Some((text, None))
            }
        }
    })
}

/// Sixteen noncharacters that nobody else can know. The standard hasher gets its keys from the
/// system's randomness.
fn mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| {
        let secret = RandomState::new().hash_one(0);
        let digit = |place: u32| {
            char::from_u32(0xfdd0 + u32::try_from(secret >> (4 * place) & 0xf).unwrap_or(0))
        };
        (0..16).filter_map(digit).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_colours_survive_and_those_of_others_do_not() {
        let foreign = "\u{1b}[32maccepted\u{1b}[0m\r";
        let painted =
            format!("{} {foreign} {}", paint(Style::Bad, "refused"), paint(Style::Quiet, foreign));
        assert_eq!(
            shown(&painted),
            "\u{1b}[31mrefused\u{1b}[0m ␛[32maccepted␛[0m␍ \u{1b}[2m␛[32maccepted␛[0m␍\u{1b}[0m"
        );
        assert_eq!(paint(Style::Plain, "a"), "a");
    }

    #[test]
    fn a_mark_cannot_be_forged() {
        let letters: String = ('\u{fdd0}'..='\u{fdef}').collect();
        assert!(!shown(&letters).contains('\u{1b}'));
        // Half a mark, or a mark without a style, is text.
        let painted = paint(Style::Good, "a");
        for end in painted.char_indices().map(|(end, _)| end).take(17) {
            assert!(!shown(&painted[..end]).contains('\u{1b}'));
        }
        assert!(!shown(&format!("{}a", mark())).contains('\u{1b}'));
    }

    #[test]
    fn colours_have_no_width_and_end_where_a_line_is_cut() {
        let painted = paint(Style::Good, "merged");
        assert_eq!(width(&painted), 6);
        assert_eq!(shown(&cut(&painted, 3)), "\u{1b}[32mmer…\u{1b}[0m");
        assert_eq!(shown(&cut(&format!("{painted} now"), 6)), "\u{1b}[32mmerged\u{1b}[0m…");
        assert_eq!(cut(&painted, 6), painted);
    }
}
