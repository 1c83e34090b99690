//! Tests for valid and invalid names of each kind.

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
fn accepts_ids_of_git_and_redgreen() {
    check(
        Oid::parse,
        &[OID],
        &["", "HEAD", "main", "--index-output=x", &OID[..39], &OID.to_uppercase(), "b0"],
    );
    check(
        RunId::parse,
        &["20261115-224849-k3x9"],
        &[
            "",
            "..",
            "../20261115-224849-k3x9",
            "20261115-224849-k3/9",
            "20261115-224849-....",
            "r1",
            "-",
            "a\0b",
        ],
    );
    check(
        SalvageName::parse,
        &["20261115-224849-k3x9/1-gave-up"],
        &[
            "",
            "x/1-y",
            "20261115-224849-k3x9/x-y",
            "20261115-224849-k3x9/1-../z",
            "20261115-224849-k3x9/1-",
            "-/1-a",
        ],
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
    check(
        RunBranch::parse,
        &["redgreen/a", "redgreen/a/b"],
        &["main", "redgreen", "redgreen/", "redgreen/../main"],
    );
    assert!(Branch::parse(&"x".repeat(BRANCH_BYTES_MAX + 1)).is_err());
}

#[test]
fn rejects_options_and_paths_outside() {
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
    check(
        JobId::parse,
        &["k3x9m2p7qrst"],
        &["", "k3x9", "k3x9m2p7qrs!", "K3X9M2P7QRST", "../../../etc", "k3x9m2p7qrs0"],
    );
    check(
        Tag::parse,
        &["gpu", "ram-64", "a_b"],
        &["", "-x", "GPU", "a b", "a.b", "a*", &"x".repeat(33)],
    );
    check(
        AgentName::parse,
        &["claude", "codex:gpt-5", "ollama/qwen3"],
        &["", "-x", "--help", "a b", "a;b", "../x"],
    );
    check(
        Repository::parse,
        &[
            "https://example.com/a/b.git",
            "https://example.com:8443/a",
            "ssh://git@example.com:22/a.git",
            "git@example.com:a/b.git",
            "file:///srv/git/a.git",
            "/srv/git/prójekt.git",
        ],
        &[
            "",
            "ext::sh -c id",
            "ext::sh",
            "fd::1",
            "--upload-pack=id",
            "-x",
            "http://example.com/a",
            "https://token@example.com/a",
            "https://user:pass@example.com/a",
            "https://example.com/a?token=1",
            "https://example.com",
            "https://-oProxyCommand=id/a",
            "ssh://-oProxyCommand=id/a",
            "ssh://git:pass@example.com/a",
            "git@-oProxyCommand=id:a",
            "git@example.com:-x",
            "a:b",
            "relative/path",
            "/a/../etc",
            "file://host/a",
            "/a b",
            "/a\nb",
            "/a$(id)",
            "C:\\a",
        ],
    );
    check(Label::parse, &["", "claude 1.2 (beta)", "größe"], &["a\nb", "a\u{1b}b", "a\u{202e}b"]);
    assert_eq!(Label::of("a\nb\u{1b}[2J"), "a b [2J");
}

#[test]
fn serde_accepts_only_valid_names() {
    let read: RunId = serde_json::from_str("\"20261115-224849-k3x9\"").unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), "\"20261115-224849-k3x9\"");
    let error = serde_json::from_str::<RunId>("\"../\\u001b[2J\"").unwrap_err().to_string();
    assert!(error.contains("\"../\\u{1b}[2J\" is not the id of a run"), "{error}");
    assert!(serde_json::from_str::<Oid>("7").is_err());
}
