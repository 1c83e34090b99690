//! What each kind of name holds, and what it does not.

use super::*;

const OID: &str = "0123456789abcdef0123456789abcdef01234567";

fn check<T>(parse: fn(&str) -> Result<T, Invalid>, valid: &[&str], invalid: &[&str]) {
    for text in valid {
        assert!(parse(text).is_ok(), "{text:?}");
    }
    for text in invalid {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn ids_are_what_git_and_redgreen_make() {
    check(Oid::parse, &[OID], &["", "HEAD", "main", "--index-output=x", &OID[..39], &OID.to_uppercase(), "b0"]);
    check(
        RunId::parse,
        &["20261115-224849-k3x9"],
        &["", "..", "../20261115-224849-k3x9", "20261115-224849-k3/9", "20261115-224849-....", "r1", "-", "a\0b"],
    );
    check(
        SalvageName::parse,
        &["20261115-224849-k3x9/1-gave-up"],
        &["", "x/1-y", "20261115-224849-k3x9/x-y", "20261115-224849-k3x9/1-../z", "20261115-224849-k3x9/1-", "-/1-a"],
    );
}

#[test]
fn branches_follow_the_rules_of_git() {
    check(
        Branch::parse,
        &["main", "feature/größe", "a-b.c", "redgreen/x-k3x9"],
        &[
            "",
            "-x",
            "--delete",
            "a..b",
            "a b",
            "a\tb",
            "a\u{1b}[2Jb",
            "a\0b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a.",
            "@",
            "HEAD",
            "a@{1}",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "[a",
            "a\\b",
            "a\u{9b}b",
            "a\u{202e}b",
        ],
    );
    check(RunBranch::parse, &["redgreen/a", "redgreen/a/b"], &["main", "redgreen", "redgreen/", "redgreen/../main"]);
    assert!(Branch::parse(&"x".repeat(BRANCH_BYTES_MAX + 1)).is_err());
}

#[test]
fn words_of_command_lines_are_no_options_and_files_stay_inside() {
    check(
        SessionId::parse,
        &["0193-ab", "ses_1", "a/b:c"],
        &["", "-p", "--dangerously-skip-permissions", "a b", "a\nb", "$(x)", "../x", "é"],
    );
    check(
        RunFile::parse,
        &["reports/1.json", "artifacts/cycle-1/red-phase-failure.md"],
        &["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a\0b", "a b", ".git"],
    );
    check(
        ProjectFile::parse,
        &["test_roman.py", "src/a b/größe.test.ts", "tests/.hidden"],
        &[
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "./a",
            "a/",
            "a\0b",
            "a\\b",
            "C:x",
            ".git/config",
            "x/.GIT/y",
            "-x",
        ],
    );
    check(Label::parse, &["", "claude 1.2 (beta)", "größe"], &["a\nb", "a\u{1b}b", "a\u{202e}b"]);
    assert_eq!(Label::of("a\nb\u{1b}[2J"), "a b [2J");
}

#[test]
fn serde_accepts_and_gives_back_valid_names_only() {
    let read: RunId = serde_json::from_str("\"20261115-224849-k3x9\"").unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), "\"20261115-224849-k3x9\"");
    let error = serde_json::from_str::<RunId>("\"../\\u001b[2J\"").unwrap_err().to_string();
    assert!(error.contains("\"../\\u{1b}[2J\" is not the id of a run"), "{error}");
    assert!(serde_json::from_str::<Oid>("7").is_err());
}
