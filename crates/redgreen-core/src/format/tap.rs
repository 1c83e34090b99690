//! The Test Anything Protocol: a plan, one line per test, subtests indented by four spaces.

use super::{bounded_head, bounded_tail, lines};
use crate::report::{Report, Status, Test};

/// Deeper nesting is treated as output.
const DEPTH_MAX: usize = 32;
const INDENT: usize = 4;

/// A stream of TAP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tap {
    /// The number of tests in the outermost plan; `None` without a plan.
    pub planned: Option<usize>,
    pub points: Vec<Point>,
    pub bail_out: Option<String>,
}

/// One test line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub ok: bool,
    pub number: Option<usize>,
    pub description: String,
    pub directive: Directive,
    /// The YAML block or the comments after the test line.
    pub diagnostic: String,
    /// 0 for a test of the outermost plan.
    pub depth: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    None,
    Skip(String),
    Todo(String),
}

impl Tap {
    /// Whether all planned tests ran and no test bailed out.
    pub fn is_complete(&self) -> bool {
        let outermost = self.points.iter().filter(|point| point.depth == 0).count();
        self.planned == Some(outermost) && self.bail_out.is_none()
    }
}

/// Adds streams to a report, which the framework then concludes. A test includes the results of its
/// subtests, so only the outermost tests count. The run is finished only if there is at least one
/// stream and all plans are complete.
pub fn add(report: &mut Report, streams: &[Tap]) {
    report.finished = !streams.is_empty() && streams.iter().all(Tap::is_complete);
    for point in streams.iter().flat_map(|tap| &tap.points).filter(|point| point.depth == 0) {
        let number = point.number.unwrap_or(report.tests.len() + 1);
        let id = if point.description.is_empty() {
            format!("test {number}")
        } else {
            point.description.clone()
        };
        let (status, why) = match &point.directive {
            Directive::Skip(why) => (Status::Skipped, why),
            Directive::Todo(why) => (Status::Todo, why),
            Directive::None if point.ok => (Status::Passed, &point.diagnostic),
            Directive::None => (Status::Failed, &point.diagnostic),
        };
        let message = Some(why.clone()).filter(|why| !why.is_empty() && status != Status::Passed);
        report.tests.push(Test { message, ..Test::new(id, status) });
    }
    report.errors_outside.extend(streams.iter().filter_map(|tap| tap.bail_out.clone()));
}

pub fn parse(bytes: &[u8]) -> Tap {
    let mut tap = Tap::default();
    let mut in_yaml = false;
    for line in lines(bytes) {
        let line = String::from_utf8_lossy(line);
        let text = line.trim_start_matches(' ');
        let depth = (line.len() - text.len()) / INDENT;
        if in_yaml {
            in_yaml = text != "...";
            if in_yaml {
                explain(&mut tap, text);
            }
        } else if text == "---" {
            in_yaml = !tap.points.is_empty();
        } else if let Some(reason) = text.strip_prefix("Bail out!") {
            tap.bail_out = Some(bounded_head(reason));
        } else if let Some(words) = text.strip_prefix('#') {
            explain(&mut tap, words.trim());
        } else if let Some(count) = plan(text).filter(|_| depth == 0) {
            tap.planned = Some(count);
        } else if let Some(point) = point(text, depth) {
            tap.points.push(point);
        }
    }
    tap
}

fn plan(text: &str) -> Option<usize> {
    let count = text.strip_prefix("1..")?;
    count.split([' ', '#']).next()?.parse().ok()
}

fn point(text: &str, depth: usize) -> Option<Point> {
    let (ok, rest) = match text.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok")?),
    };
    if depth > DEPTH_MAX || !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let rest = rest.trim_start();
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at(digits);
    let (words, directive) = directive(rest.trim_start().trim_start_matches('-').trim_start());
    Some(Point {
        ok,
        number: number.parse().ok(),
        description: bounded_head(&words),
        directive,
        diagnostic: String::new(),
        depth,
    })
}

/// Splits at an unescaped ` # ` into description and directive.
fn directive(text: &str) -> (String, Directive) {
    let plain = |text: &str| text.replace("\\#", "#").replace("\\\\", "\\");
    for (at, _) in text.match_indices('#') {
        let Some((before, after)) = text.split_at_checked(at) else { continue };
        let words = after.trim_start_matches('#').trim_start();
        let word: String = words.chars().take_while(char::is_ascii_alphabetic).collect();
        let why = || bounded_head(words.get(word.len()..).unwrap_or_default());
        let directive = match word.to_ascii_lowercase().as_str() {
            "skip" | "skipped" => Directive::Skip(why()),
            "todo" => Directive::Todo(why()),
            _ => continue,
        };
        return (plain(before.trim_end()), directive);
    }
    (plain(text), Directive::None)
}

fn explain(tap: &mut Tap, words: &str) {
    if let Some(point) =
        tap.points.last_mut().filter(|point| point.diagnostic.len() < super::MESSAGE_BYTES_MAX)
    {
        if !point.diagnostic.is_empty() {
            point.diagnostic.push('\n');
        }
        point.diagnostic.push_str(&bounded_tail(words));
        point.diagnostic.truncate(point.diagnostic.floor_char_boundary(super::MESSAGE_BYTES_MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, complete: bool, expected: &[&str]) {
        let tap = parse(text.as_bytes());
        let shown = |point: &Point| {
            let word = if point.ok { "ok" } else { "not ok" };
            format!(
                "{} {word} {} {:?} {}",
                point.depth, point.description, point.directive, point.diagnostic
            )
        };
        let shown: Vec<String> = tap.points.iter().map(shown).collect();
        assert_eq!(
            (shown.iter().map(String::as_str).collect::<Vec<_>>(), tap.is_complete()),
            (expected.to_vec(), complete)
        );
    }

    #[test]
    fn points_plans_directives_and_diagnostics() {
        reads(
            "TAP version 13\n1..2\nok 1 - adds\nnot ok 2 wrong\n# at line 3\n",
            true,
            &["0 ok adds None ", "0 not ok wrong None at line 3"],
        );
        reads("1..1\nok 1 a # SKIP later\n", true, &["0 ok a Skip(\"later\") "]);
        reads("1..1\nnot ok 1 a \\# b # TODO\n", true, &["0 not ok a # b Todo(\"\") "]);
        reads("1..1\nnot ok 1 a\n  ---\n  error: x\n  ...\n", true, &["0 not ok a None error: x"]);
        reads("    ok 1 - sub\nok 1 - top\n1..1\n", true, &["1 ok sub None ", "0 ok top None "]);
        reads("1..2\nok 1\n", false, &["0 ok  None "]);
        reads("ok 1\n", false, &["0 ok  None "]);
        reads("1..1\nok 1\nBail out! no disk\n", false, &["0 ok  None "]);
        reads("1..0\n", true, &[]);
        reads("1..1\nokay\n", false, &[]);
    }
}
