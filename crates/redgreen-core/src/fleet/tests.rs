//! Submissions from outside: which are refused, and with which message.

use super::*;

fn job(change: serde_json::Value) -> Result<Job, String> {
    let mut value = serde_json::json!({
        "version": 1,
        "repository": "https://example.com/a/b.git",
        "base": "main",
        "wish": { "kind": "request", "text": "add roman numerals" },
    });
    if let (Some(fields), serde_json::Value::Object(more)) = (value.as_object_mut(), change) {
        fields.extend(more);
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[test]
fn hostile_submissions_are_refused_by_name() {
    let key = format!("AKIA{}", "ABCDEFGHIJKLMNOP");
    let wish = |text: &str| serde_json::json!({ "wish": { "kind": "request", "text": text } });
    let cases = [
        (
            serde_json::json!({ "repository": "ext::sh -c id" }),
            "is not the address of a repository",
        ),
        (
            serde_json::json!({ "repository": "--upload-pack=id" }),
            "is not the address of a repository",
        ),
        (
            serde_json::json!({ "repository": "https://token@example.com/a" }),
            "is not the address of a repository",
        ),
        (
            serde_json::json!({ "repository": "https://a:b@example.com/a" }),
            "is not the address of a repository",
        ),
        (serde_json::json!({ "base": "--force" }), "is not the name of a branch"),
        (serde_json::json!({ "base": "a..b" }), "is not the name of a branch"),
        (serde_json::json!({ "base": "redgreen/x" }), "base: redgreen/x is a branch of a run"),
        (serde_json::json!({ "agent": "--help" }), "is not the name of an agent"),
        (serde_json::json!({ "agent": "../evil" }), "is not the name of an agent"),
        (serde_json::json!({ "labels": ["a b"] }), "is not a label"),
        (
            serde_json::json!({ "labels": ["a", "b", "c", "d", "e"] }),
            "labels: 5 given; the limit is 4",
        ),
        (serde_json::json!({ "after": ["../x"] }), "is not the id of a job"),
        (serde_json::json!({ "version": 2 }), "version: 2 is not a version"),
        (serde_json::json!({ "surprise": 1 }), "unknown field"),
        (
            serde_json::json!({ "wish": { "kind": "design", "issue": "1", "file": "../etc/passwd" } }),
            "is not the path of a file in the project",
        ),
        (
            serde_json::json!({ "wish": { "kind": "design", "issue": "1", "file": "deploy/server.pem" } }),
            "lld: its name is that of a secret",
        ),
        (wish(" "), "brief: it is empty"),
        (wish(&format!("use {key}")), "brief: line 1 looks like a credential"),
        (wish(&"x".repeat(TEXT_BYTES_MAX + 1)), "brief: it has 262145 bytes"),
    ];
    for (change, words) in cases {
        let said = match job(change.clone()) {
            Ok(job) => {
                job.refusals().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
            }
            Err(error) => error,
        };
        assert!(said.contains(words), "{change}: {said:?} does not say {words:?}");
    }
    assert_eq!(job(serde_json::json!({})).unwrap().refusals(), Vec::new());
}

#[test]
fn the_same_submission_has_the_same_fingerprint() {
    let one = job(serde_json::json!({})).unwrap();
    let other = job(serde_json::json!({ "again": "2" })).unwrap();
    assert_eq!(one.fingerprint(), job(serde_json::json!({})).unwrap().fingerprint());
    assert_ne!(one.fingerprint(), other.fingerprint());
    let read: Job = serde_json::from_str(&one.fingerprint()).unwrap();
    assert_eq!(read, one);
}

#[test]
fn a_job_has_a_branch_and_a_line_for_lists() {
    let id = JobId::of_digest(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255, 7]);
    assert_eq!(id, "abcdefghijk9");
    for (text, headline, branch) in [
        ("add roman numerals", "add roman numerals", "redgreen/add-roman-numerals-abcdef"),
        ("größe\u{1b}[2J", "größe [2J", "redgreen/gr-e-2j-abcdef"),
        ("…", "…", "redgreen/job-abcdef"),
    ] {
        let job = job(serde_json::json!({ "wish": { "kind": "request", "text": text } })).unwrap();
        assert_eq!((job.headline().as_str(), job.branch(&id).as_str()), (headline, branch));
        assert!(RunBranch::parse(&job.branch(&id)).is_ok());
    }
}

#[test]
fn a_worker_takes_from_the_lanes_that_its_labels_fit_merges_first() {
    let lane = |labels: &[&str], priority: &str| {
        job(serde_json::json!({ "labels": labels, "priority": priority })).unwrap().lane()
    };
    let all = vec![
        lane(&[], "normal"),
        lane(&["linux", "gpu"], "high"),
        lane(&["gpu"], "low"),
        "merge-x".to_owned(),
        lane(&[], "high"),
    ];
    assert_eq!(all.first().map(String::as_str), Some("run1-any"));
    let tag = |name: &str| Tag::parse(name).unwrap();
    assert_eq!(lanes_for(&[], &all), ["merge-x", "run0-any", "run1-any"]);
    assert_eq!(lanes_for(&[tag("gpu")], &all), ["merge-x", "run0-any", "run1-any", "run2-gpu"]);
    let both = [tag("gpu"), tag("linux")];
    assert_eq!(
        lanes_for(&both, &all),
        ["merge-x", "run0-any", "run0-gpu+linux", "run1-any", "run2-gpu"]
    );
}
