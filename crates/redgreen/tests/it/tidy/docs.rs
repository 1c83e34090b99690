//! Rules about the documentation: its links work, and its tables match the code.

use std::collections::BTreeMap;

use super::code::only;
use super::{File, check, clean, file, holds, lines_are, root};

const EXIT_CODES: &str = "docs/book/exit-codes.md";
const FAILURE: &str = "crates/redgreen/src/failure.rs";

fn links_lead_somewhere(file: &File, exists: impl Fn(&str) -> bool) -> Vec<String> {
    if !file.path.ends_with(".md") || file.is_recorded() {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let mut fenced = false;
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for target in links(line) {
            match place(&file.path, &target) {
                Some(path) if exists(&path) => {}
                Some(path) => faults
                    .push(file.fault(number, &format!("link to {path}, which does not exist"))),
                None => faults
                    .push(file.fault(number, &format!("link to {target}, outside the repository"))),
            }
        }
    }
    faults
}

/// The relative links of a line, without their anchors: `[a](b.md#c)` and `[a]: b.md`.
fn links(line: &str) -> Vec<String> {
    // Text between backticks is not a link; even pieces are outside.
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
    let inline = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let definition = prose.strip_prefix('[').and_then(|rest| Some(rest.split_once("]: ")?.1));
    inline
        .chain(definition)
        .filter_map(|target| target.split_whitespace().next())
        .map(|target| target.trim_matches(['<', '>']))
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .map(|target| target.split('#').next().unwrap_or(target).to_owned())
        .filter(|target| !target.is_empty())
        .collect()
}

/// The path from the root that a link in `from` leads to, or `None` if it leaves the repository.
fn place(from: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Every documented code exists in the program, and every code of the program is documented.
fn codes_agree(page: &File, source: &File) -> Vec<String> {
    let documented = documented_codes(page);
    let real = real_codes(source);
    let wrong = documented
        .iter()
        .filter(|(code, (_, name))| real.get(code).map(|(_, name)| name) != Some(name));
    let missing = real.iter().filter(|(code, _)| !documented.contains_key(code));
    wrong
        .map(|(code, (line, name))| {
            page.fault(*line, &format!("{code} {name}: correct it after `enum Code` in {FAILURE}"))
        })
        .chain(missing.map(|(code, (line, name))| {
            source.fault(*line, &format!("{code} {name}: add it to {EXIT_CODES}"))
        }))
        .collect()
}

type Codes = BTreeMap<u8, (usize, String)>;

/// Rows such as `| 0 | done | … |`.
fn documented_codes(page: &File) -> Codes {
    let row = |(number, line): (usize, &str)| {
        let mut cells =
            line.strip_prefix('|')?.split('|').map(|cell| cell.trim().trim_matches('`').to_owned());
        Some((cells.next()?.parse().ok()?, (number, cells.next()?)))
    };
    page.lines().filter_map(row).collect()
}

/// Variants such as `Done = 0,` of `enum Code`.
fn real_codes(source: &File) -> Codes {
    let code = only(&source.text);
    let body = (1..).zip(code.lines()).skip_while(|(_, line)| !line.starts_with("pub enum Code"));
    let variant = |(number, line): (usize, &str)| {
        let (name, code) = line.trim().trim_end_matches(',').split_once(" = ")?;
        Some((code.parse().ok()?, (number, name.to_lowercase())))
    };
    body.take_while(|(_, line)| !line.starts_with('}')).filter_map(variant).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let root = root();
    holds(|file| links_lead_somewhere(file, |path| root.join(path).exists()));
    let rule =
        |file: &File| links_lead_somewhere(file, |path| ["docs/a.md", "README.md"].contains(&path));
    check(rule, "docs/b.md", "[a](a.md) and [b](../README.md#c)\n", &[]);
    check(rule, "docs/b.md", "\n[a](gone.md)\n", &[2]);
    check(rule, "docs/b.md", "[a]: gone.md\n", &[1]);
    check(rule, "docs/b.md", "[a](a.md) [b](README.md \"title\")\n", &[1]);
    check(rule, "docs/b.md", "[a](../../out.md) [b](/README.md)\n", &[1, 1]);
    check(rule, "docs/b.md", "[a](https://example.org/a) [b](#c)\n", &[]);
    check(rule, "docs/b.md", "`[a](gone.md)`\n```\n[a](gone.md)\n```\n", &[]);
}

#[test]
fn the_exit_codes_page_says_what_the_program_does() {
    let real = file(FAILURE);
    assert!(!real_codes(&real).is_empty(), "{FAILURE}: no `pub enum Code` with numbers found");
    clean(&codes_agree(&file(EXIT_CODES), &real));
    let source =
        File::new(FAILURE, "pub enum Code {\n    Done = 0,\n    /// A no.\n    No = 1,\n}\n");
    let page = |text: &str| codes_agree(&File::new(EXIT_CODES, text), &source);
    let header = "| code | name |\n|---|---|\n";
    lines_are(&page(&format!("{header}| 0 | done |\n| `1` | no |\n")), EXIT_CODES, &[]);
    lines_are(&page(&format!("{header}| 0 | done |\n| 1 | maybe |\n")), EXIT_CODES, &[4]);
    lines_are(
        &page(&format!("{header}| 0 | done |\n| 1 | no |\n| 2 | usage |\n")),
        EXIT_CODES,
        &[5],
    );
    lines_are(&page(&format!("{header}| 0 | done |\n")), FAILURE, &[4]);
}
