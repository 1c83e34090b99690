//! What to build, whichever front door it came through.

use serde::{Deserialize, Serialize};

/// The user's wish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Brief {
    /// The feature request, as the user wrote it.
    pub request: String,
}

/// How commits that add behaviour are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Feature,
    Fix,
}

impl Brief {
    /// A request that opens with a word for mending is a fix; everything else is a feature.
    pub fn kind(&self) -> Kind {
        const MENDING: [&str; 5] = ["fix", "fixes", "bug", "bugfix", "repair"];
        let first: String = self
            .request
            .trim_start()
            .chars()
            .take_while(|letter| letter.is_alphanumeric())
            .collect();
        if MENDING.contains(&first.to_lowercase().as_str()) {
            Kind::Fix
        } else {
            Kind::Feature
        }
    }

    /// A few words of the request, fit for a branch name.
    pub fn slug(&self) -> String {
        const SLUG_CHARS_MAX: usize = 32;
        let mut slug = String::new();
        for letter in self.request.chars().flat_map(char::to_lowercase) {
            if letter.is_ascii_alphanumeric() {
                slug.push(letter);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
            if slug.len() >= SLUG_CHARS_MAX {
                break;
            }
        }
        let slug = slug.trim_end_matches('-');
        if slug.is_empty() {
            "feature".to_owned()
        } else {
            slug.to_owned()
        }
    }
}

/// One test of the list, as the planner names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestCase {
    pub description: String,
    pub test_file: String,
    pub impl_file: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(request: &str) -> Brief {
        Brief {
            request: request.to_owned(),
        }
    }

    #[test]
    fn a_slug_is_fit_for_a_branch_name() {
        for (request, slug) in [
            ("Add roman numerals", "add-roman-numerals"),
            ("  --Übergrößen  & más!", "bergr-en-m-s"),
            ("日本語", "feature"),
            ("a/b..c~d^e:f?g*h[i\\j", "a-b-c-d-e-f-g-h-i-j"),
            (
                "one two three four five six seven eight nine",
                "one-two-three-four-five-six-seve",
            ),
        ] {
            assert_eq!(brief(request).slug(), slug, "{request}");
        }
    }

    #[test]
    fn a_request_to_mend_is_a_fix() {
        for (request, kind) in [
            ("Fix the leap year", Kind::Fix),
            ("fix: leap year", Kind::Fix),
            ("prefix sums", Kind::Feature),
            ("fixture loading", Kind::Feature),
            ("", Kind::Feature),
        ] {
            assert_eq!(brief(request).kind(), kind, "{request}");
        }
    }
}
