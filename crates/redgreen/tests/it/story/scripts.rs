//! Turns for scripts: one test, `adds`, in `test_add.py`, and its code in `calc.py`.

/// The planner chooses the only test.
pub(super) const PLAN: &str = r#"
[[plan]]
do = [{ write = "test-list.md", text = "- [ ] adds\n" }]
next = { description = "adds", test-file = "test_add.py", impl-file = "calc.py" }
"#;

/// The planner reports that nothing is left to do.
pub(super) const DONE: &str = "\n[[plan]]\ndone = true\n";

/// A test that fails because there is no code yet.
pub(super) const RED: &str = r#"
[[red]]
do = [{ write = "test_add.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_adds(self):\n        assert add(1, 2) == 3\n" }]
"#;

/// The pytest version of that test.
pub(super) const RED_PYTEST: &str = r#"
[[red]]
do = [{ write = "test_add.py", text = "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n" }]
"#;

/// Code that makes the test pass.
pub(super) const GREEN: &str = r#"
[[green]]
do = [{ write = "calc.py", text = "def add(a, b):\n    return a + b\n" }]
"#;

/// Code that does not make it pass.
pub(super) const WRONG: &str = r#"
[[green]]
do = [{ write = "calc.py", text = "def add(a, b):\n    return a - b\n" }]
"#;

/// A role's turn with these actions, in script syntax.
pub(super) fn turn(role: &str, actions: &str) -> String {
    format!("\n[[{role}]]\ndo = [{actions}]\n")
}

/// A role's turn that fails.
pub(super) fn failing(role: &str, kind: &str) -> String {
    format!("\n[[{role}]]\nfail = {{ kind = \"{kind}\", message = \"said the agent\" }}\n")
}
