//! A run as one HTML page: no script, no network, all foreign text escaped.

use redgreen_core::attempts::Selection;
use redgreen_core::page::{self, escaped};
use redgreen_core::phase::Phase;
use redgreen_core::policy::{RunCost, dollars};
use redgreen_core::steps::Work;
use redgreen_core::verdict::{Code, Decision};

use crate::ops::report::{Step, Timeline};
use crate::view;

/// The maximum number of lines of an agent's text.
const SAID_LINES_MAX: usize = 60;

pub(super) fn page(timeline: &Timeline) -> String {
    let title = view::brief(&timeline.request);
    let body = format!(
        "<header>\n<h1>{}</h1>\n<p class=\"meta\">{}</p>\n{}</header>\n\
         <nav class=\"band\" aria-label=\"Every verdict, in order\">{}</nav>\n\
         <h2>Timeline</h2>\n{}<ol class=\"steps\">\n{}</ol>\n\
         <h2>Summary</h2>\n<section class=\"card summary\">\n{}</section>\n",
        escaped(&title),
        meta(timeline),
        tiles(timeline),
        band(&timeline.steps),
        baseline(timeline),
        steps(&timeline.steps),
        summary(&timeline.summary),
    );
    page::page(&title, &body)
}

fn meta(timeline: &Timeline) -> String {
    let words = [
        format!("run {}", timeline.id),
        format!("on {}", timeline.branch),
        format!("for {}", timeline.target),
        format!("by {}", timeline.agent),
        view::date(timeline.started / 1000),
    ];
    escaped(&words.join(" · "))
}

fn tiles(timeline: &Timeline) -> String {
    let accepted =
        timeline.steps.iter().filter(|step| step.verdict.decision == Decision::Accepted).count();
    let refused = timeline.steps.len() - accepted;
    let cycles = timeline.cycles;
    let money =
        if timeline.microdollars > 0 { dollars(timeline.microdollars) } else { "—".to_owned() };
    let unknown = match timeline.unknown_turns.saturating_add(timeline.unpriced_turns) {
        0 => "cost".to_owned(),
        turns => {
            format!("cost, {} unknown", view::count(turns.try_into().unwrap_or(usize::MAX), "turn"))
        }
    };
    let tokens = if timeline.tokens > 0 { grouped(timeline.tokens) } else { "—".to_owned() };
    let rows = [
        (timeline.standing.to_owned(), "standing"),
        (cycles.to_string(), if cycles == 1 { "cycle" } else { "cycles" }),
        (format!("{accepted} / {refused}"), "accepted / not"),
        (seconds(timeline.work_ms), "at work"),
        (tokens, "tokens"),
        (money, unknown.as_str()),
    ];
    let tiles: String = rows
        .iter()
        .map(|(value, name)| {
            format!("<div class=\"tile\"><b>{}</b><span>{name}</span></div>\n", escaped(value))
        })
        .collect();
    format!("<div class=\"tiles\">\n{tiles}</div>\n")
}

fn baseline(timeline: &Timeline) -> String {
    let Some(line) = &timeline.baseline else { return String::new() };
    format!("<p class=\"ran\">Before any change: <code>{}</code></p>\n", escaped(line))
}

/// One box for each verdict, as wide as its share of the time, with a symbol for people who do not
/// see colours.
fn band(steps: &[Step]) -> String {
    let took = |step: &Step| step.took_ms + step.turns.iter().map(|turn| turn.took_ms).sum::<u64>();
    let one = |(at, step): (usize, &Step)| {
        let word = decision(step.verdict.decision);
        format!(
            "<a class=\"{word}\" style=\"flex-grow:{}\" href=\"#step-{at}\" \
             title=\"cycle {}, {}: {word}, {}\"><b>{}</b><i>{}</i></a>",
            took(step).max(1),
            step.cycle,
            step.phase,
            seconds(took(step)),
            step.phase,
            sign(step.verdict.decision),
        )
    };
    steps.iter().enumerate().map(one).collect()
}

/// Every step, with a heading for each cycle.
fn steps(steps: &[Step]) -> String {
    let cycles = steps.iter().map(|step| step.cycle).max().unwrap_or(0);
    let mut text = String::new();
    let mut cycle = 0;
    for (at, step) in steps.iter().enumerate() {
        if step.cycle != cycle && cycles > 1 {
            cycle = step.cycle;
            let of_cycle = || steps.iter().filter(|other| other.cycle == cycle);
            let named = of_cycle().find_map(|other| other.test.as_deref());
            let named = named.map(|name| format!(" · {}", escaped(name))).unwrap_or_default();
            // A PLAN without open items starts no cycle.
            let ends = of_cycle().all(|other| other.phase == Phase::Plan) && of_cycle().any(is_end);
            let title = if ends {
                "After the last cycle".to_owned()
            } else {
                format!("Cycle {cycle}{named}")
            };
            text.push_str(&format!("<li class=\"cycle\"><h3>{title}</h3></li>\n"));
        }
        text.push_str(&self::step(at, step));
    }
    text
}

fn is_end(step: &Step) -> bool {
    step.verdict.first().is_some_and(|reason| reason.code == Code::PlanFinished)
}

fn step(at: usize, step: &Step) -> String {
    let word = decision(step.verdict.decision);
    let mut text = format!(
        "<li id=\"step-{at}\" class=\"{word}\"><article class=\"card\">\n<div class=\"head\">\
         <span class=\"phase {phase}\">{phase}</span><span class=\"pill {word}\">{sign} {word}</span>\
         <span class=\"test\">{}</span><span class=\"time\">{}</span></div>\n",
        escaped(step.test.as_deref().unwrap_or_default()),
        seconds(step.took_ms),
        sign = sign(step.verdict.decision),
        phase = step.phase,
    );
    for message in &step.messages {
        text.push_str(&format!("<p class=\"ran\">The user said: {}</p>\n", escaped(message)));
    }
    text.push_str(&step.attempts.as_ref().map(attempts).unwrap_or_default());
    text.push_str("<ul class=\"reasons\">\n");
    for reason in &step.verdict.reasons {
        let place = match (&reason.file, reason.line) {
            (Some(file), Some(line)) => format!(" <code>{}:{line}</code>", escaped(file)),
            (Some(file), None) => format!(" <code>{}</code>", escaped(file)),
            (None, _) => String::new(),
        };
        text.push_str(&format!(
            "<li>{}{place} <code>{}</code>{}</li>\n",
            escaped(&reason.sentence),
            reason.code.as_str(),
            next(step.verdict.decision, reason.code),
        ));
    }
    text.push_str("</ul>\n");
    for note in step.verdict.notes.iter().chain(&step.findings) {
        text.push_str(&format!("<p class=\"note\">{}</p>\n", escaped(note)));
    }
    if !step.verdict.experiments.is_empty() {
        text.push_str(&format!(
            "<details><summary>experiments</summary><pre>{}</pre></details>\n",
            escaped(&view::experiments(&step.verdict.experiments))
        ));
    }
    if let Some(ran) = &step.ran {
        text.push_str(&format!("<p class=\"ran\">ran <code>{}</code></p>\n", escaped(ran)));
    }
    for turn in &step.turns {
        text.push_str(&self::turn(turn));
    }
    if let Some(diff) = &step.diff {
        let what = match (&step.commit, &step.salvage) {
            (Some(commit), _) => format!("commit {}", commit.get(..10).unwrap_or(commit)),
            (None, Some(salvage)) => format!("{word}, kept as {salvage}"),
            (None, None) => format!("{word}, not committed"),
        };
        let what = escaped(&what);
        let cut = if step.diff_cut { ", its beginning and its end" } else { "" };
        let open = if diff.lines().count() <= 60 { " open" } else { "" };
        text.push_str(&format!(
            "<details{open}><summary>{what}{}{cut}</summary><pre>{}</pre></details>\n",
            size(diff),
            self::diff(diff)
        ));
    }
    text.push_str("</article></li>\n");
    text
}

/// All attempts at the phase, and why one of them was chosen.
fn attempts(selection: &Selection) -> String {
    let lines: String =
        selection.lines().iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
    format!(
        "<p class=\"note\">{}</p>\n<ul class=\"attempts\">\n{lines}</ul>\n",
        escaped(&selection.why)
    )
}

fn turn(turn: &Work) -> String {
    let cost = match (turn.tokens, turn.microdollars) {
        (None, None) => "cost unknown".to_owned(),
        (None | Some(0), Some(0)) => "no cost".to_owned(),
        (Some(tokens), None) => format!("{tokens} tokens, price unknown"),
        (tokens, Some(microdollars)) => {
            view::cost(&RunCost { tokens: tokens.unwrap_or(0), microdollars, ..RunCost::default() })
        }
    };
    let failed = if turn.failed { " failed" } else { "" };
    let head = format!("{} agent{failed} · {} · {cost}", turn.role, seconds(turn.took_ms));
    if turn.said.trim().is_empty() {
        return format!("<p class=\"note\">{}</p>\n", escaped(&head));
    }
    format!(
        "<details><summary>{}</summary><pre>{}</pre></details>\n",
        escaped(&head),
        escaped(&view::clip(&turn.said, SAID_LINES_MAX))
    )
}

/// What to do about a reason, if anything.
fn next(decision: Decision, code: Code) -> String {
    match decision {
        Decision::Accepted => String::new(),
        Decision::Refused | Decision::Undecided => {
            format!("<br><span class=\"next\">→ {}</span>", escaped(code.next_step()))
        }
    }
}

/// ` · 2 files +20 −1`.
fn size(diff: &str) -> String {
    let files = diff.lines().filter(|line| line.starts_with("diff --git ")).count();
    let count = |mark: &str, head: &str| {
        diff.lines().filter(|line| line.starts_with(mark) && !line.starts_with(head)).count()
    };
    format!(
        " · {} <span class=\"plus\">+{}</span> <span class=\"minus\">−{}</span>",
        view::count(files, "file"),
        count("+", "+++ "),
        count("-", "--- ")
    )
}

/// A patch with file names as headings, without technical lines of git.
fn diff(text: &str) -> String {
    let mut shown = String::new();
    let mut head = false;
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            head = true;
            let path = names.rsplit_once(" b/").map_or(names, |(_, path)| path);
            shown.push_str(&format!("<span class=\"f\">{}\n</span>", escaped(path)));
            continue;
        }
        for (start, word) in [("new file mode", "new\n"), ("deleted file mode", "deleted\n")] {
            if head && line.starts_with(start) {
                shown.push_str(&format!("<span class=\"h\">{word}</span>"));
            }
        }
        head &= !line.starts_with("@@");
        let class = match line.chars().next() {
            _ if head && line.starts_with("Binary") => "h",
            _ if head => continue,
            Some('+') => "a",
            Some('-') => "d",
            Some(' ') => "c",
            _ => "h",
        };
        shown.push_str(&format!("<span class=\"{class}\">{}\n</span>", escaped(line)));
    }
    shown
}

/// `24 800`: groups of digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

pub(in crate::cli) fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Accepted => "accepted",
        Decision::Refused => "refused",
        Decision::Undecided => "undecided",
    }
}

pub(in crate::cli) fn sign(decision: Decision) -> &'static str {
    match decision {
        Decision::Accepted => "✓",
        Decision::Refused => "✕",
        Decision::Undecided => "?",
    }
}

/// Renders the markdown of the summary: headings, items, backticks and bold text.
fn summary(markdown: &str) -> String {
    let mut text = String::new();
    for line in markdown.lines().filter(|line| !line.trim().is_empty()) {
        let heads = [("### ", "h4"), ("## ", "h3"), ("# ", "h3"), ("- ", "p class=\"item\"")];
        let (words, tag) = heads
            .iter()
            .find_map(|(mark, tag)| Some((line.strip_prefix(mark)?, *tag)))
            .unwrap_or((line, "p"));
        let end = tag.split(' ').next().unwrap_or(tag);
        let marked = paired(&paired(&escaped(words), "`", "code"), "**", "b");
        text.push_str(&format!("<{tag}>{marked}</{end}>\n"));
    }
    text
}

/// Turns text between two marks into an element. A mark without a partner stays unchanged.
fn paired(text: &str, mark: &str, tag: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, (inside, after))) =
        rest.split_once(mark).and_then(|(before, after)| Some((before, after.split_once(mark)?)))
    {
        shown.push_str(&format!("{before}<{tag}>{inside}</{tag}>"));
        rest = after;
    }
    shown + rest
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}
