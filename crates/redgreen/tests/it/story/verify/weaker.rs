//! Old tests of a range that check less, next to tests that the range makes obsolete.

use serde_json::Value;

use super::{classes, codes, proven, verify};
use crate::story::Story;

const SHOP: &str = "def total(prices):\n    out = 0\n    for price in prices:\n        out += price\n    \
                    return out\n\n\n\
                    def discount(price, percent):\n    return price - price * percent // 100\n";
const TESTS: &str = "from shop import discount, total\n\n\n\
                     def test_total():\n    assert total([1, 2]) == 3\n\n\n\
                     def test_discount():\n    assert discount(200, 10) == 180\n\n\n\
                     def test_empty():\n    assert total([]) == 0\n";

/// The total of no prices becomes `None`, so `test_empty` is obsolete. `edit` changes the other
/// tests of the file.
fn shop(edit: impl Fn(&str) -> String) -> Story {
    let story = Story::pytest();
    story.file("shop.py", SHOP).file("tests/test_shop.py", TESTS).file("conftest.py", "");
    story.commit("base");
    story.git("checkout -q -b topic");
    let code = SHOP.replace("    out = 0", "    if not prices:\n        return None\n    out = 0");
    let tests = TESTS.replace("total([]) == 0", "total([]) is None");
    story.file("shop.py", &code).file("tests/test_shop.py", &edit(&tests)).commit("no total");
    story
}

#[track_caller]
fn refuted(story: &Story) -> Value {
    let (_, json) = verify(story, "main..topic");
    assert_eq!(json["outcome"], "refuted", "{json:#}");
    json
}

#[test]
fn a_weaker_test_is_refuted_beside_an_obsolete_one() {
    let weaker = |tests: &str| tests.replace("total([1, 2]) == 3", "total([1, 2]) is not None");
    let json = refuted(&shop(weaker));
    assert!(codes(&json).iter().any(|code| code.starts_with("refactor.tests_")), "{json:#}");
}

#[test]
fn a_removed_test_is_refuted_beside_an_obsolete_one() {
    let without = |tests: &str| {
        tests.replace("def test_discount():\n    assert discount(200, 10) == 180\n\n\n", "")
    };
    refuted(&shop(without));
}

#[test]
fn renamed_and_combined_tests_are_proven_beside_an_obsolete_one() {
    let json = proven(&shop(str::to_owned), "main..topic");
    assert_eq!(classes(&json), ["test_empty proven"]);
    let renamed = |tests: &str| {
        tests.replace("test_total():\n", "test_total_of_two():\n    assert total([7]) == 7\n")
    };
    proven(&shop(renamed), "main..topic");
    let combined = |tests: &str| {
        tests
            .replace("== 3\n", "== 3\n    assert total([]) is None\n")
            .replace("\n\n\ndef test_empty():\n    assert total([]) is None\n", "\n")
    };
    proven(&shop(combined), "main..topic");
}
