//! A patch as HTML: unified or side by side, coloured, with comments between lines and evidence
//! next to hunks.

use std::collections::BTreeMap;

use anyhow::Result;
use redgreen_core::page::escaped;
use redgreen_core::review::comment;
use redgreen_core::review::patch::{Hunk, Kind, Line, Side};
use redgreen_core::syntax::{Colour, Span};

use super::pages::{self, Layout};
use crate::ops::ui::{Diff, FileDiff, HunkCycles, PlacedComment};
use crate::view;

/// All files. `writes` is set if comments can change.
pub(super) fn diff(diff: &Diff, run: &str, layout: Layout, writes: bool) -> Result<String> {
    let mut html = format!(
        "<div class=\"diff {}\" data-to=\"{}\" data-from=\"{}\">\n",
        layout.name(),
        escaped(&diff.to),
        escaped(&diff.from)
    );
    let mut evidence = BTreeMap::new();
    for (cycle, one) in &diff.evidence {
        evidence.insert(*cycle, pages::evidence(one, layout)?);
    }
    let boxes = Boxes { run, writes };
    if diff.is_gone {
        html.push_str("<p class=\"meta\">The commits are no longer in this repository.</p>\n");
    } else if diff.files.is_empty() {
        html.push_str("<p class=\"meta\">No changes.</p>\n");
    }
    if diff.files.len() > 1 {
        html.push_str(&contents(&diff.files));
    }
    for (number, one) in diff.files.iter().enumerate() {
        file(&mut html, number, one, layout, &evidence, &boxes)?;
    }
    if diff.is_cut {
        html.push_str(
            "<p class=\"note\">The diff is too large: its middle is omitted. Select a single \
             cycle.</p>\n",
        );
    }
    if !diff.elsewhere.is_empty() {
        html.push_str("<h3>Comments on lines that are not shown</h3>\n");
        for placed in &diff.elsewhere {
            html.push_str(&boxes.comment(placed, true)?);
        }
    }
    html.push_str("</div>\n");
    Ok(html)
}

struct Boxes<'a> {
    run: &'a str,
    writes: bool,
}

impl Boxes<'_> {
    fn comment(&self, placed: &PlacedComment, with_place: bool) -> Result<String> {
        pages::comment(placed, self.run, self.writes, with_place)
    }

    /// The comments on a line, below it.
    fn after(&self, html: &mut String, file: &FileDiff, line: &Line) -> Result<()> {
        for placed in &file.comments {
            let number = match placed.comment.side {
                comment::Side::New => line.new,
                comment::Side::Old => line.old,
            };
            if number == Some(placed.line) {
                html.push_str(&self.comment(placed, false)?);
            }
        }
        Ok(())
    }
}

/// The list of the files, with links.
fn contents(files: &[FileDiff]) -> String {
    let line = |(number, file): (usize, &FileDiff)| {
        let (added, removed) = file.patch.size();
        let path = escaped(&file.patch.path);
        format!(
            "<li><a href=\"#file-{number}\"><code>{path}</code></a> \
             <span class=\"plus\">+{added}</span> <span class=\"minus\">−{removed}</span></li>\n"
        )
    };
    let lines: String = files.iter().enumerate().map(line).collect();
    format!("<nav aria-label=\"Files\"><ul class=\"files\">\n{lines}</ul></nav>\n")
}

fn file(
    html: &mut String,
    number: usize,
    file: &FileDiff,
    layout: Layout,
    evidence: &BTreeMap<u32, String>,
    boxes: &Boxes<'_>,
) -> Result<()> {
    let (added, removed) = file.patch.size();
    let what = match file.patch.kind {
        Kind::Changed => "",
        Kind::Added => " new",
        Kind::Deleted => " deleted",
        Kind::Binary => " binary",
    };
    let path = escaped(&file.patch.path);
    html.push_str(&format!(
        "<section class=\"file\" data-path=\"{path}\" aria-labelledby=\"file-{number}\"><h3 id=\"file-{number}\"><code>{path}</code> \
         <span class=\"plus\">+{added}</span> <span class=\"minus\">−{removed}</span>{what}</h3>\n"
    ));
    let mut shown: Option<&HunkCycles> = None;
    for (hunk, cycles) in file.patch.hunks.iter().zip(&file.cycles) {
        html.push_str("<div class=\"hunk\"><div class=\"lines\">");
        if !hunk.head.is_empty() {
            html.push_str(&format!("<div class=\"at-place\">{}</div>", escaped(&hunk.head)));
        }
        match layout {
            Layout::Unified => unified(html, file, hunk, boxes)?,
            Layout::Split => split(html, file, hunk, boxes)?,
        }
        html.push_str("</div>");
        let texts: String = cycles
            .last
            .iter()
            .filter_map(|cycle| evidence.get(cycle))
            .map(String::as_str)
            .collect();
        if !texts.is_empty() {
            let earlier = match cycles.earlier {
                0 => String::new(),
                number => {
                    format!("<p class=\"note\">and {}</p>", view::count(number, "earlier cycle"))
                }
            };
            // Repeated evidence is folded.
            let open = if shown == Some(cycles) { "" } else { " open" };
            html.push_str(&format!(
                "<div class=\"evidence\"><details{open}><summary>Evidence</summary>{texts}{earlier}</details></div>"
            ));
            shown = Some(cycles);
        }
        html.push_str("</div>\n");
    }
    html.push_str("</section>\n");
    Ok(())
}

fn unified(html: &mut String, file: &FileDiff, hunk: &Hunk, boxes: &Boxes<'_>) -> Result<()> {
    for line in &hunk.lines {
        let number =
            |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
        html.push_str(&format!(
            "<div class=\"l{}\" data-l=\"{}\"><i>{}</i><i>{}</i><b>{}</b><code>{}</code></div>\n",
            class(line.side),
            name(line),
            number(line.old),
            number(line.new),
            sign(line.side),
            coloured(file, line)
        ));
        boxes.after(html, file, line)?;
    }
    Ok(())
}

fn split(html: &mut String, file: &FileDiff, hunk: &Hunk, boxes: &Boxes<'_>) -> Result<()> {
    for (old, new) in hunk.pairs() {
        let is_same = old.is_some_and(|line| line.side == Side::Both);
        html.push_str("<div class=\"pair\">");
        for (line, is_old) in [(old, true), (new, false)] {
            let Some(line) = line else {
                html.push_str("<div class=\"l e\"><i></i><b></b><code></code></div>");
                continue;
            };
            let number = if is_old { line.old } else { line.new };
            // The left copy of an unchanged line has no comments; the right one has.
            let at = if is_same && is_old {
                String::new()
            } else {
                format!(" data-l=\"{}\"", name(line))
            };
            html.push_str(&format!(
                "<div class=\"l{}{}\"{at}><i>{}</i><b>{}</b><code>{}</code></div>",
                class(line.side),
                if is_same { " same" } else { "" },
                number.unwrap_or(0),
                sign(line.side),
                coloured(file, line)
            ));
        }
        html.push_str("</div>\n");
        if let Some(line) = old.filter(|_| !is_same) {
            boxes.after(html, file, line)?;
        }
        if let Some(line) = new {
            boxes.after(html, file, line)?;
        }
    }
    Ok(())
}

/// `n12`: line 12 of the new side. A line on both sides belongs to the new side.
fn name(line: &Line) -> String {
    match (line.new, line.old) {
        (Some(new), _) => format!("n{new}"),
        (None, old) => format!("o{}", old.unwrap_or(0)),
    }
}

fn class(side: Side) -> &'static str {
    match side {
        Side::Both => "",
        Side::Added => " a",
        Side::Removed => " d",
    }
}

fn sign(side: Side) -> &'static str {
    match side {
        Side::Both => " ",
        Side::Added => "+",
        Side::Removed => "−",
    }
}

/// The text of a line with its colours, if its source is known and the same.
fn coloured(file: &FileDiff, line: &Line) -> String {
    let (colours, number) =
        if line.new.is_some() { (&file.new, line.new) } else { (&file.old, line.old) };
    let at = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
    let spans: &[Span] = at.and_then(|at| colours.get(at)).map_or(&[], Vec::as_slice);
    let mut html = String::with_capacity(line.text.len() + spans.len() * 32);
    let mut past = 0;
    for span in spans {
        let (Some(before), Some(inside)) =
            (line.text.get(past..span.place.start), line.text.get(span.place.clone()))
        else {
            continue;
        };
        html.push_str(&escaped(before));
        html.push_str(&format!(
            "<span class=\"{}\">{}</span>",
            letter(span.colour),
            escaped(inside)
        ));
        past = span.place.end;
    }
    html.push_str(&escaped(line.text.get(past..).unwrap_or_default()));
    html
}

fn letter(colour: Colour) -> &'static str {
    match colour {
        Colour::Comment => "hc",
        Colour::Text => "hs",
        Colour::Number => "hn",
        Colour::Constant => "hb",
        Colour::Keyword => "hk",
        Colour::Function => "hf",
        Colour::Type => "ht",
    }
}
