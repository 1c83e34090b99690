//! Settings: errors with their places, and what wins over what.

use super::*;

#[test]
fn reports_the_place_and_reason_of_an_error() {
    for (text, words) in [
        (
            "max-retrys = 3",
            "redgreen.toml:1:1: unknown key `max-retrys`; did you mean `max-retries`?",
        ),
        (
            "\nmax-retries = \"three\"",
            "redgreen.toml:2:15: max-retries is string \"three\"; it must be a whole number",
        ),
        (
            "max-retries = -1",
            "redgreen.toml:1:15: max-retries is integer -1; it must be a whole number, 0 or more",
        ),
        (
            "[worktree]\nsetup = \"npm ci\"",
            "redgreen.toml:2:9: worktree.setup is string \"npm ci\"; it must be a list",
        ),
        ("timeout.red = [1]", "redgreen.toml:1:15: timeout.red is a list; it must be a number"),
        (
            "[agent]\nfence = 3",
            "redgreen.toml:2:9: agent.fence is not a string; it must be a string",
        ),
        ("[agent]\nfence = \"of\"", "redgreen.toml:2:9: agent.fence is \"of\"; it must be one of "),
        ("max-retries = ", "redgreen.toml:1:15: "),
        ("[timeout]\nblue = 3", "redgreen.toml:2:1: unknown key `blue`, expected one of"),
    ] {
        let error = File::parse(text).unwrap_err();
        let failure = error.downcast_ref::<Failure>().unwrap();
        assert!(
            failure.evidence.iter().any(|line| line.starts_with(words)),
            "{text}: {:?}",
            failure.evidence
        );
    }
}

#[test]
fn the_environment_overrides_limits_of_the_file() {
    let file =
        File::parse("max-retries = 5\nbackoff = 0.25\n[timeout]\nred = 10\n[budget]\nusd = 1.5")
            .unwrap();
    let policy = file.policy(&Environment::default()).unwrap();
    assert_eq!((policy.retries_max, policy.iterations_max), (5, 6));
    assert_eq!(
        (policy.backoff_ms, policy.red_timeout_ms, policy.green_timeout_ms),
        (250, 10_000, 120_000)
    );
    assert_eq!(policy.budget.microdollars, Some(1_500_000));
    let loud = Environment { max_retries: Some(1), ..Environment::default() };
    assert_eq!(file.policy(&loud).unwrap().retries_max, 1);
    assert!(File::parse("backoff = -1.0").unwrap().policy(&Environment::default()).is_err());
    assert!(File::parse("max-iterations = 0").unwrap().policy(&Environment::default()).is_err());
}
