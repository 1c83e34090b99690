//! Turns for scripts: one test, `adds`, in `test_add.py`, and its code in `calc.py`.

/// The planner names the one test.
pub(super) const PLAN: &str = r#"
[[plan]]
do = [{ write = "test-list.md", text = "- [ ] adds\n" }]
next = { description = "adds", test-file = "test_add.py", impl-file = "calc.py" }
"#;

/// The planner says that nothing is left.
pub(super) const DONE: &str = "\n[[plan]]\ndone = true\n";

/// A test that fails because there is no code yet.
pub(super) const RED: &str = r#"
[[red]]
do = [{ write = "test_add.py", text = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    def test_adds(self):\n        assert add(1, 2) == 3\n" }]
"#;

/// The same for pytest.
pub(super) const RED_PYTEST: &str = r#"
[[red]]
do = [{ write = "test_add.py", text = "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n" }]
"#;

/// Code that makes it pass.
pub(super) const GREEN: &str = r#"
[[green]]
do = [{ write = "calc.py", text = "def add(a, b):\n    return a + b\n" }]
"#;

/// Code that does not.
pub(super) const WRONG: &str = r#"
[[green]]
do = [{ write = "calc.py", text = "def add(a, b):\n    return a - b\n" }]
"#;

/// A role's turn that does these actions, written as in a script.
pub(super) fn turn(role: &str, actions: &str) -> String {
    format!("\n[[{role}]]\ndo = [{actions}]\n")
}

/// A role's turn that fails.
pub(super) fn failing(role: &str, kind: &str) -> String {
    format!("\n[[{role}]]\nfail = {{ kind = \"{kind}\", message = \"said the agent\" }}\n")
}
