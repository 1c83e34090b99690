//! Every view, for each outcome, and with hostile names.

use std::sync::LazyLock;

use serde_json::Value;

use super::*;
use crate::format::junit::parse;
use crate::phase::JudgedPhase;
use crate::proof::mutants::{Hunk, Mutant, MutantResult};
use crate::proof::{BaseResult, Evidence, Exception, Policy, TestEvidence, conclude};
use crate::verdict::{Code, VOCABULARY};

/// Hostile names for a test, a file or a message.
const HOSTILE: &[&str] = &[
    "two\nlines\r\n\r\n# heading",
    "a | b || c \\| d",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "::error file=a.py::gone\n::set-output name=a::b",
    "##[error]x ##vso[task.complete] %0A::error::x",
    "]]> <![CDATA[ & &amp; \"quoted\" 'too'",
    "\u{1b}[31mred\u{1b}[0m \u{1b}[2J\u{0}\u{7}\u{8}",
    "evil\u{202e}drow \u{2066}isolated\u{2069} zero\u{200b}width",
    "@octocat #1 GH-2 https://example.org www.example.org a@example.org [a](https://example.org) :tada:",
    "`tick` ``two`` **bold** _it_ ~~~\n```",
    "src/größe/漢字 file.py",
    "</code></td></tr></table></details>\n\n# out",
];

fn seen(id: &str, file: &str, without: BaseResult) -> TestEvidence {
    TestEvidence {
        id: id.to_owned(),
        file: Some(file.to_owned()),
        line: Some(3),
        is_new: true,
        without,
        passes: true,
        is_skipped: false,
    }
}

fn fails(message: &str) -> BaseResult {
    BaseResult::Fails { code: Code::RedAssertion, message: message.to_owned() }
}

fn hunk(file: &str) -> Hunk {
    serde_json::from_value(serde_json::json!({"file": file, "first": 2, "last": 4})).unwrap()
}

fn mutant(hunk: Option<usize>, killed: MutantResult, asked: &[&str]) -> Mutant {
    Mutant {
        is_reverted: false,
        is_partial: false,
        hunk,
        what: "a mutant".to_owned(),
        asked: asked.iter().map(|id| (*id).to_owned()).collect(),
        killed,
    }
}

fn proven() -> Proof {
    let judged = StepVerdict {
        phase: JudgedPhase::Red,
        what: "the tests on the code of the base".to_owned(),
        decision: Decision::Accepted,
        reasons: Vec::new(),
        notes: vec!["all 2 mutants were killed".to_owned()],
        experiments: Vec::new(),
    };
    let pair = Pair { test: "c".repeat(40), code: "d".repeat(40), steps: vec![judged.clone()] };
    conclude(Evidence {
        base: "a".repeat(40),
        head: "b".repeat(40),
        steps: vec![judged],
        tests: vec![seen("test_adds", "tests/test_calc.py", fails("assert 0 == 3"))],
        hunks: vec![hunk("calc.py"), hunk("other.py")],
        mutants: vec![
            mutant(Some(0), MutantResult::By(vec!["test_adds".to_owned()]), &[]),
            mutant(Some(1), MutantResult::ByNone, &[]),
        ],
        commits: vec![pair],
        exempted: vec![Exception {
            what: "conftest.py changed".to_owned(),
            reason: "vendored".to_owned(),
        }],
        removed: vec!["test_gone".to_owned()],
        ran: "pytest -q".to_owned(),
        fence: "bubblewrap".to_owned(),
        tests_ms: 1500,
        own_ms: 200,
        ..Evidence::default()
    })
}

fn refuted() -> Proof {
    let idle = TestEvidence {
        is_skipped: true,
        passes: false,
        ..seen("test_later", "tests/test_calc.py", BaseResult::Passes)
    };
    conclude(Evidence {
        base: "a".repeat(40),
        head: "b".repeat(40),
        tests: vec![idle, seen("test_adds", "tests/test_calc.py", BaseResult::Passes)],
        hunks: vec![hunk("calc.py")],
        mutants: vec![
            mutant(Some(0), MutantResult::ByNone, &[]),
            mutant(None, MutantResult::ByNone, &["test_adds"]),
        ],
        policy: Policy { every_place: true, ..Policy::default() },
        ..Evidence::default()
    })
}

fn inconclusive() -> Proof {
    let reason = Reason::new(Code::VerifyRange, "the clone is shallow: git fetch --unshallow");
    conclude(Evidence { inconclusive: Some(reason), ..Evidence::default() })
}

fn empty() -> Proof {
    conclude(Evidence::default())
}

/// A proof with one hostile text in every test, place, message and reason.
fn hostile(name: &str) -> Proof {
    let message = format!("{name}{}", "x".repeat(100_000));
    let mut proof = conclude(Evidence {
        base: name.to_owned(),
        head: name.to_owned(),
        tests: vec![seen(name, name, fails(&message)), seen("test_a", name, BaseResult::Passes)],
        hunks: vec![hunk(name)],
        mutants: vec![
            mutant(Some(0), MutantResult::ByNone, &[]),
            mutant(None, MutantResult::ByNone, &["test_a"]),
        ],
        removed: vec![name.to_owned()],
        exempted: vec![Exception { what: message.clone(), reason: name.to_owned() }],
        not_verified: vec![message.clone()],
        ran: name.to_owned(),
        fence: name.to_owned(),
        policy: Policy { every_place: true, ..Policy::default() },
        ..Evidence::default()
    });
    proof.code[0].tests = vec![name.to_owned()];
    proof
        .reasons
        .push(Reason::new(Code::GreenRegression, message).test(name).place(Some(name), Some(0)));
    proof
}

fn many() -> Proof {
    static MANY: LazyLock<Proof> = LazyLock::new(make_many);
    MANY.clone()
}

fn make_many() -> Proof {
    let number = 5000;
    let id = |at: usize| format!("tests/test_many.py::test_{at}");
    let asked: Vec<String> = (0..number).map(id).collect();
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    conclude(Evidence {
        tests: (0..number)
            .map(|at| seen(&id(at), "tests/test_many.py", BaseResult::Passes))
            .collect(),
        hunks: (0..200).map(|at| hunk(&format!("src/file_{at}.py"))).collect(),
        mutants: (0..200)
            .map(|at| mutant(Some(at), MutantResult::ByNone, &[]))
            .chain([mutant(None, MutantResult::ByNone, &asked)])
            .collect(),
        not_verified: (0..number).map(|at| format!("file_{at}: generated")).collect(),
        ..Evidence::default()
    })
}

fn all() -> Vec<Proof> {
    let mut all = vec![proven(), refuted(), inconclusive(), empty(), many()];
    all.extend(HOSTILE.iter().map(|name| hostile(name)));
    all
}

/// The output contains nothing that controls a terminal, or hides or reorders words.
#[track_caller]
fn is_harmless(shown: &str) {
    assert_eq!(crate::text::visible(shown), shown);
}

#[test]
fn a_terminal_shows_the_outcome_first_and_what_was_left_out_last() {
    let shown = text(&proven());
    let expected = "\
proven: 1 test and 2 places in the code changed: the tests fail without the change, pass with it, \
and nothing else broke
  range     aaaaaaaaaa..bbbbbbbbbb
  tests     1 proven
            proven:
              test_adds (tests/test_calc.py:3): without the change: assert 0 == 3
  code      1 no test, 1 tested; 1 of 2 mutants killed
            no test:
              other.py:2-4: 0 of 1 mutant killed
            tested:
              calc.py:2-4: 1 of 1 mutant killed, by test_adds
  removed   test_gone
  judged    the tests on the code of the base: RED accepted
  commits   cccccccccc and dddddddddd: RED accepted
  exempted  conftest.py changed (vendored)
  note      all 2 mutants were killed
  ran       pytest -q
  fence     bubblewrap
  time      1.5 s of tests, 0.2 s of redgreen
not verified
  other.py:2-4: no test kills a mutant
";
    assert_eq!(shown, expected);
    let shown = text(&refuted());
    assert!(
        shown.starts_with(
            "refuted: 2 tests and 1 place in the code changed: the tests do not prove"
        ),
        "{shown}"
    );
    let why =
        "verify.skipped: test_later: is skipped, so it checks nothing (tests/test_calc.py:3)\n";
    assert!(shown.contains(why), "{shown}");
    assert!(shown.contains("next: remove the skip, or exempt the test in the policy\n"), "{shown}");
    let shown = text(&inconclusive());
    assert!(shown.contains("why  verify.range: the clone is shallow"), "{shown}");
    assert!(
        shown.ends_with(
            "not verified\n  the rest of the range: the clone is shallow: git fetch --unshallow\n"
        ),
        "{shown}"
    );
    assert_eq!(
        text(&empty()),
        "proven: no test and no code changed: nothing broke\nnot verified\n  nothing\n"
    );
}

#[test]
fn a_terminal_counts_what_is_too_much() {
    let shown = text(&many());
    assert!(shown.contains("           and 4980 more tests\n"), "{}", shown.get(..4000).unwrap());
    assert!(shown.contains("and 180 more places\n"));
    let (above, below) = shown.split_once("not verified\n").unwrap();
    assert!(above.lines().count() < 100);
    assert_eq!(below.lines().count(), many().not_verified.len());
}

#[test]
fn foreign_text_is_harmless_in_every_view() {
    for proof in all() {
        for shown in [
            text(&proof),
            markdown(&proof),
            sarif(&proof),
            junit(&proof),
            code_quality(&proof),
            html(&proof),
        ] {
            is_harmless(&shown);
        }
        let lines = annotations(&proof);
        for line in &lines {
            is_harmless(line);
            assert!(!line.contains('\n'), "{line}");
            assert!(
                ["::error ", "::warning ", "::notice "].iter().any(|kind| line.starts_with(kind)),
                "{line}"
            );
            assert!(line.len() < 8000);
        }
        assert!(lines.len() <= 10);
        // No line looks like a command to a CI system, even if a name starts the line.
        let is_command = |line: &&str| {
            line.trim_start().starts_with("::") || line.contains("##[") || line.contains("##vso[")
        };
        assert_eq!(text(&proof).lines().find(is_command), None);
    }
}

#[test]
fn messages_are_cut() {
    for name in HOSTILE {
        let proof = hostile(name);
        for shown in [text(&proof), junit(&proof), html(&proof)] {
            assert!(shown.len() < 120_000, "{}", shown.len());
        }
    }
}

/// Markdown does not interpret the contents of an HTML block, but an empty line would end the
/// block.
#[test]
fn markdown_holds_foreign_text_in_code_within_html() {
    for proof in all() {
        let shown = markdown(&proof);
        assert!(shown.len() < markdown::MARKDOWN_BYTES_MAX, "{}", shown.len());
        for block in shown.split("\n\n") {
            if !block.starts_with('<') {
                let ours = |line: &str| {
                    line.starts_with('#') || !line.contains(['<', '`', '@', '|', '[', '\\'])
                };
                assert!(block.lines().all(ours), "{block}");
                continue;
            }
            let outside: String = block
                .split("<code>")
                .enumerate()
                .map(
                    |(at, part)| if at == 0 { part } else { part.split_once("</code>").unwrap().1 },
                )
                .collect();
            for sign in ["@", "http", "www.", "script", "#", "::", "`"] {
                assert!(!outside.contains(sign), "{sign} in {outside}");
            }
            for tag in ["table", "details", "ul", "code", "tr", "td"] {
                let number = |tag: &str| block.matches(tag).count();
                assert_eq!(
                    number(&format!("<{tag}>")),
                    number(&format!("</{tag}>")),
                    "{tag} in {block}"
                );
            }
        }
        assert!(shown.contains("\n### Not verified\n"));
    }
    let shown = markdown(&many());
    assert!(shown.contains("<details><summary>all 5000</summary>"), "{shown}");
    assert!(
        markdown(&proven()).starts_with("## ✅ redgreen verify: proven\n\n1 test and 2 places")
    );
    assert!(markdown(&refuted()).starts_with("## ❌ redgreen verify: refuted\n"));
    assert!(
        markdown(&inconclusive())
            .starts_with("## ❔ redgreen verify: inconclusive\n\nCannot tell whether")
    );
    assert!(markdown(&empty()).ends_with("### Not verified\n\nNothing.\n"));
}

#[test]
fn annotations_are_on_their_lines_with_the_worst_first() {
    assert_eq!(
        annotations(&refuted()),
        [
            "::error file=tests/test_calc.py,line=3,title=redgreen%3A verify.skipped::test_later: \
             is skipped, so it checks nothing%0Anext: remove the skip, or exempt the test in the policy",
            "::error file=tests/test_calc.py,line=3,title=redgreen%3A verify.does_not_discriminate::test_adds: passes without \
             the change, and kills no mutant%0Anext: improve the assertions of the test, or exempt it in the policy",
            "::error file=calc.py,line=2,endLine=4,title=redgreen%3A verify.no_test::no test kills a mutant in calc.py:2-4%0A\
             next: write a test that fails without the change",
        ]
    );
    assert_eq!(
        annotations(&proven()),
        [
            "::notice file=other.py,line=2,endLine=4,title=redgreen%3A verify.no_test::no test kills a mutant in other.py:2-4"
        ]
    );
    let unknown = "::warning title=redgreen%3A verify.range::the clone is shallow: git fetch --unshallow%0Anext: use commits \
                   that exist in this clone, with their history";
    assert_eq!(annotations(&inconclusive()), [unknown]);
    assert_eq!(annotations(&empty()), [""; 0]);
    let lines = annotations(&many());
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[9], "::error title=redgreen verify::5191 more are listed in the job summary");
    let odd = annotations(&hostile("a,b:c%0A.py"));
    assert!(odd[0].starts_with("::error file=a%2Cb%3Ac%250A.py,line=3,"), "{odd:?}");
}

fn read(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn sarif_has_a_rule_and_a_place_for_every_result() {
    for proof in all() {
        let log = read(&sarif(&proof));
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), VOCABULARY.len());
        let mut marks = Vec::new();
        for result in run["results"].as_array().unwrap() {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
            let place = &result["locations"][0]["physicalLocation"];
            let uri = place["artifactLocation"]["uri"].as_str().unwrap();
            assert!(
                uri.bytes().all(|byte| byte.is_ascii_graphic() && !b":\\<>\"".contains(&byte)),
                "{uri}"
            );
            assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
            marks.push(result["partialFingerprints"]["redgreen/v1"].as_str().unwrap().to_owned());
        }
        assert!(marks.len() <= 5000);
        let number = marks.len();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), number, "a fingerprint twice");
    }
    let log = read(&sarif(&refuted()));
    let levels: Vec<&str> = log["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["level"].as_str().unwrap())
        .collect();
    assert_eq!(levels, ["error"; 3]);
    assert_eq!(read(&sarif(&proven()))["runs"][0]["results"][0]["level"], "note");
    let told = read(&sarif(&many()))["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]
        ["message"]
        .clone();
    assert_eq!(told["text"], "200 more findings are omitted");
    // No change can serve as a location, and GitHub refuses a result without one.
    let run = &read(&sarif(&inconclusive()))["runs"][0];
    assert_eq!(run["results"], serde_json::json!([]));
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let told =
        run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].as_str().unwrap();
    assert_eq!(told, "whole range: the clone is shallow: git fetch --unshallow");
}

#[test]
fn paths_are_relative_references_and_those_outside_are_none() {
    for (file, uri) in [
        ("src/a b.py", "src/a%20b.py"),
        ("./a.py", "a.py"),
        ("größe/漢.py", "gr%C3%B6%C3%9Fe/%E6%BC%A2.py"),
        ("a:b%20.py", "a%3Ab%2520.py"),
        ("a\nb.py", "a%0Ab.py"),
        ("a\\b.py", "a%5Cb.py"),
        // The path is outside the repository, so the first change is shown instead.
        ("/etc/passwd", "calc.py"),
        ("../up.py", "calc.py"),
        ("C:\\a.py", "calc.py"),
    ] {
        let mut proof = refuted();
        proof.reasons =
            vec![Reason::new(Code::GreenRegression, "broke").place(Some(file), Some(1))];
        let log = read(&sarif(&proof));
        let results = log["runs"][0]["results"].as_array().unwrap();
        let result = results.iter().find(|one| one["ruleId"] == "green.regression").unwrap();
        assert_eq!(
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], uri,
            "{file}"
        );
    }
}

#[test]
fn a_finding_keeps_its_fingerprint_when_lines_move() {
    let mark = |proof: &Proof| read(&code_quality(proof))[0]["fingerprint"].clone();
    let mut moved = refuted();
    moved.reasons[0].line = Some(99);
    assert_eq!(mark(&refuted()), mark(&moved));
    moved.reasons[0].test = Some("another".to_owned());
    assert_ne!(mark(&refuted()), mark(&moved));
}

#[test]
fn gitlab_gets_what_it_needs_of_each_finding() {
    for proof in all() {
        for entry in read(&code_quality(&proof)).as_array().unwrap() {
            for key in ["description", "check_name", "fingerprint", "severity"] {
                assert!(
                    entry[key].as_str().is_some_and(|value| !value.is_empty()),
                    "{key} of {entry}"
                );
            }
            assert!(entry["location"]["lines"]["begin"].as_u64().unwrap() > 0);
            assert!(entry["location"]["path"].as_str().is_some());
        }
    }
    let first = &read(&code_quality(&refuted()))[0];
    assert_eq!(
        (first["severity"].as_str(), first["check_name"].as_str()),
        (Some("major"), Some("verify.skipped"))
    );
    assert_eq!(code_quality(&empty()), "[]\n");
}

#[test]
fn junit_has_a_case_for_the_range_each_test_and_each_place() {
    for proof in all() {
        let xml = junit(&proof);
        let read = parse(xml.as_bytes());
        assert!(read.complete, "{xml}");
        assert_eq!(read.cases.len(), 1 + proof.tests.len() + proof.code.len());
    }
    let xml = junit(&refuted());
    assert!(
        xml.contains("<testsuites name=\"redgreen verify\" tests=\"4\" failures=\"4\" errors=\"0\" skipped=\"0\">"),
        "{xml}"
    );
    assert!(xml.contains("<property name=\"base\" value=\"aaaaaaaa"), "{xml}");
    assert!(
        xml.contains("<failure type=\"skipped\" message=\"is skipped, so it checks nothing\">"),
        "{xml}"
    );
    let xml = junit(&proven());
    assert!(xml.contains("tests=\"4\" failures=\"0\" errors=\"0\" skipped=\"1\""), "{xml}");
    let xml = junit(&inconclusive());
    assert!(xml.contains("tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\""), "{xml}");
    // A skipped test does not count as a failure if it is exempt.
    let exempt = crate::proof::policy::Exemption {
        paths: Vec::new(),
        tests: vec!["*later*".to_owned()],
        reason: "runs at night".to_owned(),
    };
    let policy = Policy { exempt: vec![exempt], ..refuted().evidence.policy };
    let xml = junit(&conclude(Evidence { policy, ..refuted().evidence }));
    assert!(xml.contains("failures=\"3\" errors=\"0\" skipped=\"1\""), "{xml}");
    assert!(xml.contains("<skipped message=\"is skipped, so it checks nothing\"/>"), "{xml}");
}

#[test]
fn the_page_has_no_script_and_no_way_out() {
    for proof in all() {
        let page = html(&proof);
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        for sign in ["<script", "<img", "href=", "src=\"", "url("] {
            assert!(!page.contains(sign), "{sign} in the page");
        }
        for tag in ["table", "details", "section", "tr", "td", "ul"] {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(page.contains("<h2>Not verified</h2>"));
    }
    assert!(html(&proven()).contains("✓ proven</span> aaaaaaaaaa..bbbbbbbbbb</h1>"));
}
