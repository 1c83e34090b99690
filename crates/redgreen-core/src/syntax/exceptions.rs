//! Question 12: which exceptions do Python tests expect? Also makes each test expect a different
//! one.

use super::assertion::{Claim, assertions};
use super::call::call;
use super::item::{Item, found, within};
use super::language::Language;
use super::overlay::apply;
use super::tree::{Node, Tree};

const OTHER: &str = "_redgreen_other";
/// An exception that is unrelated to the expected one, or one that nothing raises.
const HELPER: &str = "


def _redgreen_other(awaited, others):
    related = lambda one: issubclass(one, awaited) or issubclass(awaited, one)
    return next((one for one in others if not related(one)), type(\"Unraised\", (Exception,), {}))
";

/// The source in which each test expects an exception of another test, and the changed tests.
/// `None` if all expect the same.
pub fn exchanged(path: &str, source: &str, tests: &[&Item]) -> Option<(String, Vec<String>)> {
    let tree = Tree::parse(Language::Python, source).filter(|tree| !tree.is_broken())?;
    let (found, assertions) = (found(&tree, path), assertions(&tree));
    let (mut awaited, mut names): (Vec<Node<'_>>, Vec<String>) = (Vec::new(), Vec::new());
    for item in tests {
        let Some(test) =
            found.iter().find(|one| one.item.span == item.span && one.item.name == item.name)
        else {
            continue;
        };
        let inside = within(&assertions, test.body, |assertion| assertion.node);
        let thrown = inside
            .iter()
            .filter(|one| matches!(one.claim, Claim::Throws))
            .filter_map(|one| call(one.node));
        let raised = thrown
            .filter(|call| call.callee.contains("aises"))
            .filter_map(|call| call.part(0)?.single());
        let before = awaited.len();
        awaited.extend(raised.filter(|node| node.is(&["identifier", "attribute"])));
        names.extend((awaited.len() > before).then(|| item.name.clone()));
    }
    let mut kinds: Vec<&str> = awaited.iter().map(|node| node.text()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() < 2 || names.len() < 2 {
        return None;
    }
    let all = kinds.join(", ");
    let edits = awaited
        .iter()
        .map(|node| (node.span(), format!("{OTHER}({}, ({all}))", node.text())))
        .collect();
    Some((format!("{}{HELPER}", apply(source, edits)?), names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_waits_for_what_others_wait_for() {
        for (source, told) in [
            (
                "def test_a():\n    with pytest.raises(ValueError):\n        f()\ndef test_b():\n    with pytest.raises(KeyError, match='x'):\n        f()\n",
                "test_a test_b: raises(_redgreen_other(ValueError, (KeyError, ValueError))) raises(_redgreen_other(KeyError, (KeyError, ValueError)), match='x')",
            ),
            (
                "def test_a():\n    with pytest.raises(ValueError):\n        f()\ndef test_b():\n    with pytest.raises(ValueError):\n        f()\n",
                "",
            ),
            ("def test_a():\n    assert f() == 1\n", ""),
        ] {
            let items = super::super::items(Language::Python, "tests/test_a.py", source);
            let tests: Vec<&Item> = items.iter().filter(|item| item.is_test).collect();
            let seen = exchanged("tests/test_a.py", source, &tests).map(|(text, names)| {
                let calls = text.lines().filter(|line| line.contains("pytest"));
                let calls: Vec<&str> = calls
                    .map(|line| line.trim_start_matches("    with pytest.").trim_end_matches(':'))
                    .collect();
                format!("{}: {}", names.join(" "), calls.join(" "))
            });
            assert_eq!(seen.unwrap_or_default(), told, "{source}");
        }
    }
}
