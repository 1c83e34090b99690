//! Parses a script into its turns, or into all problems in it.

use std::collections::BTreeMap;

use redgreen_core::agent::{Cost, Failure as Ended};
use redgreen_core::phase::Role;
use serde_json::json;
use toml::de::DeTable;

use super::fields::{Problem, Reader, Value};
use super::{Action, End, Entry, SECTIONS, Script, verbs};

const VERSION: u64 = 1;
const TOP_KEYS: [&str; 7] = ["version", "agent", "plan", "red", "green", "diagnosis", "refactor"];
const TURN_KEYS: [&str; 9] =
    ["note", "candidate", "do", "answer", "next", "done", "tokens", "dollars", "fail"];
/// How a turn can end; at most one of these.
const ENDS: [&str; 4] = ["answer", "next", "done", "fail"];
const NEXT_KEYS: [&str; 3] = ["description", "test-file", "impl-file"];
const FAIL_KEYS: [&str; 3] = ["kind", "message", "retry-after"];
const DEFAULT_FAILURE: &str = "the script makes the agent fail here";

pub(super) fn script(name: &str, text: &str) -> Result<Script, Vec<Problem>> {
    // Remove a byte order mark and CRLF line ends, so that written files do not depend on the
    // editor.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut read = Reader::new(&text);
    let (document, errors) = DeTable::parse_recoverable(&text);
    let script = if errors.is_empty() {
        Some(top(&mut read, name, document.get_ref()))
    } else {
        // The recovered part of a broken file would cause misleading problems.
        for error in errors {
            read.problem(error.span().map_or(0, |span| span.start), error.message().trim());
        }
        None
    };
    let problems = read.into_problems();
    script.filter(|_| problems.is_empty()).ok_or(problems)
}

fn top(read: &mut Reader<'_>, name: &str, table: &DeTable<'_>) -> Script {
    read.only(table, &TOP_KEYS);
    read.get(table, "version", "1, the only version", |value| {
        value.as_integer().filter(|number| number.as_str() == VERSION.to_string())
    });
    let agent = read.words(table, "agent");
    let mut turns = BTreeMap::new();
    for (section, role) in SECTIONS {
        let expected = format!("a list of turns, each under [[{section}]]");
        let list = read.list(table, section, &expected);
        turns.insert(role, list.iter().filter_map(|turn| entry(read, role, turn)).collect());
    }
    if SECTIONS.iter().all(|(section, _)| !table.contains_key(*section)) {
        read.problem(
            0,
            "no turns; expected [[plan]], [[red]], [[green]], [[diagnosis]] or [[refactor]]",
        );
    }
    Script { name: name.to_owned(), text: String::new(), agent, turns }
}

fn entry(read: &mut Reader<'_>, role: Role, value: &Value<'_>) -> Option<Entry> {
    let table = read.table(value, "a turn is a table")?;
    read.only(table, &TURN_KEYS);
    let note = read.string(table, "note");
    let candidate = read.count(table, "candidate");
    let list = read.list(table, "do", "a list of actions");
    let actions: Vec<_> = list.iter().filter_map(|action| verbs::action(read, action)).collect();
    let cost = Cost {
        tokens: read.count(table, "tokens"),
        microdollars: read.microdollars(table, "dollars"),
        ..Cost::default()
    };
    check_ends(read, role, value, table, &actions);
    Some(Entry { note, candidate, actions, end: end(read, table), cost })
}

/// Checks the end of a turn.
fn check_ends(
    read: &mut Reader<'_>,
    role: Role,
    value: &Value<'_>,
    table: &DeTable<'_>,
    actions: &[Action],
) {
    let at = value.span().start;
    let found: Vec<_> = ENDS.into_iter().filter(|key| table.contains_key(*key)).collect();
    if found.len() > 1 {
        let found: Vec<_> = found.iter().map(|key| format!("\"{key}\"")).collect();
        read.problem(at, format!("a turn ends in one way, not {}", found.join(" and ")));
    }
    if role != Role::TestList {
        for (key, _) in
            table.iter().filter(|(key, _)| ["next", "done"].contains(&key.get_ref().as_ref()))
        {
            let message = format!("\"{}\" belongs in [[plan]]", key.get_ref());
            read.problem(key.span().start, message);
        }
    } else if found.is_empty() && !actions.contains(&Action::Hang) {
        read.problem(at, "a turn of plan needs \"next\", \"done\", \"answer\" or \"fail\"");
    }
}

fn end(read: &mut Reader<'_>, table: &DeTable<'_>) -> End {
    let answer = read.string(table, "answer");
    let next = next(read, table);
    let done = read.mark(table, "done").map(|()| json!({ "currentTest": null }).to_string());
    match fail(read, table) {
        Some(fail) => fail,
        None => End::Answer(answer.or(next).or(done).unwrap_or_default()),
    }
}

/// The short form of the planner's answer.
fn next(read: &mut Reader<'_>, table: &DeTable<'_>) -> Option<String> {
    let value = table.get("next")?;
    let next = read
        .table(value, "\"next\" must be a table like { description = \"…\", test-file = \"…\", impl-file = \"…\" }")?;
    read.only(next, &NEXT_KEYS);
    needs(read, value, "next", &NEXT_KEYS);
    let [description, test_file, impl_file] = NEXT_KEYS.map(|key| read.words(next, key));
    let answer = json!({
        "currentTest": { "description": description?, "testFile": test_file?, "implFile": impl_file? }
    });
    Some(answer.to_string())
}

fn fail(read: &mut Reader<'_>, table: &DeTable<'_>) -> Option<End> {
    let value = table.get("fail")?;
    let fail = read.table(value, "\"fail\" must be a table like { kind = \"crash\" }")?;
    read.only(fail, &FAIL_KEYS);
    needs(read, value, "fail", &["kind"]);
    let message = read.words(fail, "message").unwrap_or_else(|| DEFAULT_FAILURE.to_owned());
    let retry_after = read.seconds(fail, "retry-after");
    let retry_after_ms = retry_after.and_then(|time| u64::try_from(time.as_millis()).ok());
    let expected = "\"rate-limit\", \"timeout\", \"crash\", \"unusable\" or \"budget\"";
    let failure = read.get(fail, "kind", expected, |value| match value.as_str()? {
        "rate-limit" => Some(Ended::RateLimit { retry_after_ms }),
        "timeout" => Some(Ended::Timeout),
        "crash" => Some(Ended::Crash),
        "unusable" => Some(Ended::Unusable),
        "budget" => Some(Ended::Budget),
        _ => None,
    })?;
    if let (Some((key, _)), false) =
        (fail.get_key_value("retry-after"), matches!(failure, Ended::RateLimit { .. }))
    {
        read.problem(key.span().start, "\"retry-after\" goes with kind = \"rate-limit\" only");
    }
    Some(End::Fail { failure, message })
}

fn needs(read: &mut Reader<'_>, value: &Value<'_>, what: &str, keys: &[&str]) {
    let Some(table) = value.get_ref().as_table() else {
        return;
    };
    for key in keys.iter().filter(|key| !table.contains_key(**key)) {
        read.problem(value.span().start, format!("\"{what}\" needs \"{key}\""));
    }
}
