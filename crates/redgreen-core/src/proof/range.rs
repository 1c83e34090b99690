//! The commits of a range, from the command line or from a CI system.

use serde_json::Value;

use crate::names::Oid;

/// The requested range. The names are not resolved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeSpec {
    /// Commits in `head` that are not in `base`.
    Range { base: String, head: String },
    /// A merge commit of a forge: its first parent is the base, its second one the head.
    MergeOf(String),
    /// A branch, compared with its target branch.
    Branch(String),
    /// A push to a branch that was at `before`. After a forced push, `before` is not one of its
    /// commits, or unknown, and the branch is compared with its target branch.
    Pushed { before: String, after: String },
}

/// `A..B`, `A...B`, or one name: the commits in it that are not in its target branch.
pub fn typed(text: &str) -> Result<RangeSpec, String> {
    let (base, head) = match text.split_once("..") {
        Some((base, head)) => (base, head.strip_prefix('.').unwrap_or(head)),
        None if text.is_empty() || text.starts_with('-') => {
            return Err(format!("{text:?} is not a range; expected for example main..HEAD"));
        }
        None => return Ok(RangeSpec::Branch(text.to_owned())),
    };
    if head.contains("..") || base.starts_with('-') || head.starts_with('-') {
        return Err(format!("{text:?} is not a range; expected for example main..HEAD"));
    }
    let or_here = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
    Ok(RangeSpec::Range { base: or_here(base), head: or_here(head) })
}

/// The range that a CI system reports. `event` is GitHub's event file.
pub fn of_ci(variable: &dyn Fn(&str) -> Option<String>, event: Option<&str>) -> Option<RangeSpec> {
    let range = |base: Option<String>, head: Option<String>| {
        let (base, head) = (Oid::parse(&base?).ok()?, Oid::parse(&head?).ok()?);
        Some(RangeSpec::Range { base: base.to_string(), head: head.to_string() })
    };
    let pushed = |before: Option<String>, after: Option<String>| {
        let (before, after) = (Oid::parse(&before?).ok()?, Oid::parse(&after?).ok()?);
        // A new branch has no commit before it.
        let is_nothing = before.as_str().chars().all(|letter| letter == '0');
        Some(if is_nothing {
            RangeSpec::Branch(after.to_string())
        } else {
            RangeSpec::Pushed { before: before.to_string(), after: after.to_string() }
        })
    };
    if variable("GITHUB_ACTIONS").as_deref() == Some("true") {
        let event: Value = serde_json::from_str(event?).ok()?;
        let text = |path: &str| event.pointer(path).and_then(Value::as_str).map(str::to_owned);
        return match variable("GITHUB_EVENT_NAME")?.as_str() {
            "pull_request" | "pull_request_target" => {
                range(text("/pull_request/base/sha"), text("/pull_request/head/sha"))
            }
            "merge_group" => range(text("/merge_group/base_sha"), text("/merge_group/head_sha")),
            "push" => pushed(text("/before"), text("/after")),
            _ => None,
        };
    }
    if variable("GITLAB_CI").as_deref() == Some("true") {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let commit = given("CI_COMMIT_SHA");
        return match given("CI_MERGE_REQUEST_DIFF_BASE_SHA") {
            // A pipeline for merged results runs on a merge with the target branch, whose commits
            // are not part of the merge request.
            Some(base) => range(Some(base), given("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA").or(commit)),
            None => pushed(given("CI_COMMIT_BEFORE_SHA"), commit),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_typed_as_git_takes_it() {
        let range = |base: &str, head: &str| {
            Ok(RangeSpec::Range { base: base.to_owned(), head: head.to_owned() })
        };
        assert_eq!(typed("main..topic"), range("main", "topic"));
        assert_eq!(typed("main...topic"), range("main", "topic"));
        assert_eq!(typed("main.."), range("main", "HEAD"));
        assert_eq!(typed("topic"), Ok(RangeSpec::Branch("topic".to_owned())));
        for text in ["", "a..b..c", "--all", "--output=x..HEAD", "main..--all"] {
            assert!(typed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_ci_says_is_taken_where_it_names_commits() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let github = |name: &'static str| {
            move |variable: &str| match variable {
                "GITHUB_ACTIONS" => Some("true".to_owned()),
                "GITHUB_EVENT_NAME" => Some(name.to_owned()),
                _ => None,
            }
        };
        let whole = Some(RangeSpec::Range { base: a.clone(), head: b.clone() });
        let pull =
            format!(r#"{{"pull_request":{{"base":{{"sha":"{a}"}},"head":{{"sha":"{b}"}}}}}}"#);
        assert_eq!(of_ci(&github("pull_request"), Some(&pull)), whole);
        let group = format!(r#"{{"merge_group":{{"base_sha":"{a}","head_sha":"{b}"}}}}"#);
        assert_eq!(of_ci(&github("merge_group"), Some(&group)), whole);
        let new = format!(r#"{{"before":"{}","after":"{b}"}}"#, "0".repeat(40));
        assert_eq!(of_ci(&github("push"), Some(&new)), Some(RangeSpec::Branch(b.clone())));
        let forced = format!(r#"{{"before":"{a}","after":"{b}"}}"#);
        let pushed = Some(RangeSpec::Pushed { before: a.clone(), after: b });
        assert_eq!(of_ci(&github("push"), Some(&forced)), pushed);
        let hostile = pull.replace(&a, "--upload-pack=x");
        for (name, event) in [
            ("pull_request", hostile.as_str()),
            ("pull_request", "{}"),
            ("push", "no json"),
            ("schedule", "{}"),
        ] {
            assert_eq!(of_ci(&github(name), Some(event)), None, "{name} {event}");
        }
        let gitlab = |variables: &'static [(&str, &str)]| {
            move |name: &str| {
                let given = variables.iter().find(|(given, _)| *given == name)?.1;
                Some(if given.len() == 1 { given.repeat(40) } else { given.to_owned() })
            }
        };
        const BASE: (&str, &str) = ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "a");
        const GITLAB: (&str, &str) = ("GITLAB_CI", "true");
        for variables in [
            &[GITLAB, BASE, ("CI_COMMIT_SHA", "b")][..],
            &[GITLAB, BASE, ("CI_COMMIT_SHA", "b"), ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "")],
            // The commit is a merge that GitLab made.
            &[GITLAB, BASE, ("CI_COMMIT_SHA", "c"), ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "b")],
        ] {
            assert_eq!(of_ci(&gitlab(variables), None), whole, "{variables:?}");
        }
        let push = gitlab(&[GITLAB, ("CI_COMMIT_BEFORE_SHA", "a"), ("CI_COMMIT_SHA", "b")]);
        assert_eq!(of_ci(&push, None), pushed);
        let new = gitlab(&[GITLAB, ("CI_COMMIT_BEFORE_SHA", "0"), ("CI_COMMIT_SHA", "b")]);
        assert_eq!(of_ci(&new, None), Some(RangeSpec::Branch("b".repeat(40))));
        assert_eq!(of_ci(&|_| None, None), None);
    }
}
