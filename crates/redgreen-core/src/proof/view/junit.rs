//! JUnit XML: the range, each of its tests and each of its changed places as a test case.

use super::finding::{holds_untested, is_held};
use super::{HunkProof, Outcome, Proof, killed, name, place_of_hunk, sentence, time, told, word};
use crate::format::junit::escaped;
use crate::proof::{Class, PlaceStatus, TestProof};

/// Cases of one suite.
const CASES_MAX: usize = 10_000;

/// The result of a case in JUnit.
enum End {
    Passed,
    Skipped(String),
    Failure { kind: &'static str, message: String },
    Error { kind: &'static str, message: String },
}

struct Case {
    class: String,
    name: String,
    place: Option<(String, Option<u32>)>,
    end: End,
    output: String,
}

/// One document with three suites: the range, its tests, its code.
pub fn junit(proof: &Proof) -> String {
    let suites = [
        ("range", vec![whole(proof)]),
        ("tests", proof.tests.iter().take(CASES_MAX).map(|test| of_test(proof, test)).collect()),
        ("code", proof.code.iter().take(CASES_MAX).map(|hunk| of_hunk(proof, hunk)).collect()),
    ];
    let properties = properties(proof);
    let totals = totals(&suites.iter().flat_map(|(_, cases)| cases).collect::<Vec<_>>());
    let suites: String = suites
        .iter()
        .filter(|(_, cases)| !cases.is_empty())
        .map(|(name, cases)| {
            let inside: String = cases.iter().map(case).collect();
            let totals = self::totals(&cases.iter().collect::<Vec<_>>());
            format!("<testsuite name=\"redgreen verify: {name}\" {totals}>\n{properties}{inside}</testsuite>\n")
        })
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"redgreen verify\" {totals}>\n{suites}</testsuites>\n"
    )
}

fn properties(proof: &Proof) -> String {
    let rows = [
        ("base", name(&proof.evidence.base)),
        ("head", name(&proof.evidence.head)),
        ("outcome", word(proof.outcome).to_owned()),
        ("ran", sentence(&proof.evidence.ran)),
        ("fence", sentence(&proof.evidence.fence)),
        ("time", time(proof).unwrap_or_default()),
    ];
    let rows = rows.iter().filter(|(_, value)| !value.is_empty());
    let rows: String = rows
        .map(|(name, value)| format!("<property name=\"{name}\" value=\"{}\"/>\n", escaped(value)))
        .collect();
    format!("<properties>\n{rows}</properties>\n")
}

fn whole(proof: &Proof) -> Case {
    let reasons = proof.reasons.iter().map(|reason| {
        let place = super::place_of(reason.file.as_deref(), reason.line);
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        format!(
            "{}: {}{place}\n  next: {}\n",
            reason.code.as_str(),
            told(reason),
            reason.code.next_step()
        )
    });
    let reasons: String = reasons.collect();
    let unverified =
        proof.not_verified.iter().take(CASES_MAX).map(|line| format!("  {}\n", sentence(line)));
    let unverified: String = unverified.collect();
    let unverified = if unverified.is_empty() {
        format!("  {}\n", super::nothing_left_out())
    } else {
        unverified
    };
    let more =
        proof.tests.len().saturating_sub(CASES_MAX) + proof.code.len().saturating_sub(CASES_MAX);
    let more = if more > 0 {
        format!("{more} more tests and places are not listed as cases\n")
    } else {
        String::new()
    };
    let message = format!("{}\n{reasons}", proof.sentence());
    let end = match proof.outcome {
        Outcome::Proven => End::Passed,
        Outcome::Refuted => End::Failure { kind: word(proof.outcome), message },
        Outcome::Inconclusive => End::Error { kind: word(proof.outcome), message },
    };
    Case {
        class: "redgreen verify".to_owned(),
        name: "the tests prove the change".to_owned(),
        place: None,
        end,
        output: format!("{}\n{more}not verified\n{unverified}", proof.sentence()),
    }
}

fn of_test(proof: &Proof, test: &TestProof) -> Case {
    let why = sentence(&test.why);
    let end = match test.class {
        class if is_held(proof, test) => {
            End::Failure { kind: class.as_str(), message: why.clone() }
        }
        // A test that the policy accepts without proof is not a success.
        Class::Skipped | Class::NotTried | Class::DoesNotDiscriminate | Class::Fails => {
            End::Skipped(why.clone())
        }
        Class::Proven | Class::ProvenByMutant | Class::Characterises => End::Passed,
    };
    Case {
        class: name(test.file.as_deref().unwrap_or("tests")),
        name: name(&test.id),
        place: test.file.as_deref().map(|file| (name(file), test.line)),
        end,
        output: format!("{}: {why}", test.class.as_str()),
    }
}

fn of_hunk(proof: &Proof, hunk: &HunkProof) -> Case {
    let mut output = hunk.standing.as_str().to_owned();
    if let Some(killed) = killed(hunk) {
        output.push_str(&format!(": {killed}"));
    }
    if !hunk.tests.is_empty() {
        let tests: Vec<String> = hunk.tests.iter().map(|test| name(test)).collect();
        output.push_str(&format!(", by {}", tests.join(", ")));
    }
    let end = match hunk.standing {
        PlaceStatus::Tested => End::Passed,
        PlaceStatus::NoTest if holds_untested(proof) => End::Failure {
            kind: hunk.standing.as_str(),
            message: "no test kills a mutant here".to_owned(),
        },
        PlaceStatus::NoTest => {
            End::Skipped("no test kills a mutant here; the policy does not require it".to_owned())
        }
        PlaceStatus::NotTried => End::Skipped("no mutant could be tried here".to_owned()),
        PlaceStatus::Exempt => End::Skipped("exempt by the policy".to_owned()),
    };
    Case {
        class: name(&hunk.file),
        name: place_of_hunk(hunk),
        place: Some((name(&hunk.file), Some(hunk.first))),
        end,
        output,
    }
}

fn totals(cases: &[&Case]) -> String {
    let number = |wanted: fn(&End) -> bool| cases.iter().filter(|case| wanted(&case.end)).count();
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        number(|_| true),
        number(|end| matches!(end, End::Failure { .. })),
        number(|end| matches!(end, End::Error { .. })),
        number(|end| matches!(end, End::Skipped(_))),
    )
}

fn case(case: &Case) -> String {
    let mut open = format!(
        "<testcase classname=\"{}\" name=\"{}\"",
        escaped(&case.class),
        escaped(&case.name)
    );
    if let Some((file, line)) = &case.place {
        open.push_str(&format!(" file=\"{}\"", escaped(file)));
        if let Some(line) = line {
            open.push_str(&format!(" line=\"{line}\""));
        }
    }
    let complaint = |element: &str, kind: &str, message: &str| {
        let first = message.lines().next().unwrap_or_default();
        format!(
            "<{element} type=\"{kind}\" message=\"{}\">{}</{element}>\n",
            escaped(first),
            escaped(message)
        )
    };
    let inside = match &case.end {
        End::Passed => String::new(),
        End::Skipped(message) => format!("<skipped message=\"{}\"/>\n", escaped(message)),
        End::Failure { kind, message } => complaint("failure", kind, message),
        End::Error { kind, message } => complaint("error", kind, message),
    };
    format!("{open}>\n{inside}<system-out>{}</system-out>\n</testcase>\n", escaped(&case.output))
}
