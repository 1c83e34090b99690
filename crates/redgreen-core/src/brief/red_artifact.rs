//! A RED artifact as the start of a run: tests that another RED wrote, and parts of its
//! specification. YAML or JSON.

use super::node::{Need, Node, Problem, Reader, Syntax, Value};
use super::spec::{cases, components, criteria};
use super::{Brief, Door};
use crate::artifact::TestFile;

const ITEMS_MAX: usize = 1_000;

const KEYS: &[&str] = &[
    "spec_id",
    "request_id",
    "title",
    "test_files",
    "test_count",
    "test_cases",
    "test_results",
    "failing_tests",
    "unexpected_passes",
    "warnings",
    "components",
    "acceptance_criteria",
];

/// The contents of an artifact, and its unknown keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedArtifact {
    pub brief: Brief,
    pub files: Vec<TestFile>,
    pub unused: Vec<String>,
}

/// Parses an artifact and reports all problems at once. A file with only a path has no content; it
/// has to exist already.
pub fn parse(syntax: Syntax, text: &str) -> Result<RedArtifact, Vec<Problem>> {
    let root = &Node::parse(syntax, text).map_err(|problem| vec![problem])?;
    let mut reader = Reader::default();
    if !reader.is_object(root) {
        return reader.finish(None);
    }
    reader.keys(root, KEYS);
    let id = reader.text(root, "spec_id", Need::Required).unwrap_or_default();
    let title = reader.text(root, "title", Need::Optional);
    let request_id = reader.text(root, "request_id", Need::Optional);
    let nodes = reader.list(root, "test_files", Need::Required, ITEMS_MAX);
    let files: Vec<TestFile> = nodes.iter().filter_map(|node| file(&mut reader, node)).collect();
    let failing = reader.texts(root, "failing_tests", Need::Required, ITEMS_MAX);
    let components =
        if root.get("components").is_some_and(|node| node.value != Value::List(Vec::new())) {
            components(&mut reader, root)
        } else {
            Vec::new()
        };
    let test_cases =
        if root.get("test_cases").is_some_and(|node| node.value != Value::List(Vec::new())) {
            cases(&mut reader, root, &components)
        } else {
            Vec::new()
        };
    let acceptance_criteria = criteria(&mut reader, root);
    let unused = std::mem::take(&mut reader.unused)
        .into_iter()
        .filter(|path| !path.starts_with("$.test_cases"))
        .collect();
    let request =
        title.unwrap_or_else(|| format!("Make the {} failing tests of {id} pass", failing.len()));
    let brief = Brief {
        request,
        door: Door::Spec,
        id,
        request_id,
        components,
        test_cases,
        acceptance_criteria,
        ..Brief::default()
    };
    reader.finish(Some(RedArtifact { brief, files, unused }))
}

/// `path` and `content`, or only the path.
fn file(reader: &mut Reader, node: &Node) -> Option<TestFile> {
    match &node.value {
        Value::Object(_) => {
            let path =
                reader.field(node, "path", Need::Required).and_then(|place| reader.path(place))?;
            let content = match node.get("content").map(|content| &content.value) {
                Some(Value::Text(text)) => text.clone(),
                Some(_) | None => String::new(),
            };
            Some(TestFile { path, content })
        }
        Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
            Some(TestFile { path: reader.path(node)?, content: String::new() })
        }
    }
}

#[test]
fn an_artifact_starts_a_run() {
    let text = "spec_id: SPEC-1\nrequest_id: REQ-1\ntest_files:\n  - path: tests/test_a.py\n    content: |\n      def test_a():\n          assert False\n  \
                - tests/test_b.py\nfailing_tests: ['tests/test_a.py::test_a']\ncomponents: []\nacceptance_criteria: [it works]\nextra: 1\n";
    let given = parse(Syntax::Yaml, text).unwrap();
    assert_eq!(
        (given.brief.id.as_str(), given.brief.request_id.as_deref()),
        ("SPEC-1", Some("REQ-1"))
    );
    assert_eq!(given.brief.request, "Make the 1 failing tests of SPEC-1 pass");
    assert_eq!(given.files[0].content, "def test_a():\n    assert False\n");
    assert_eq!(
        (given.files[1].path.as_str(), given.files[1].content.as_str()),
        ("tests/test_b.py", "")
    );
    assert_eq!(given.unused, ["$.extra"]);
    for (text, expected) in [
        ("spec_id: S\n", "$.test_files: is missing"),
        (
            "spec_id: S\ntest_files: [../a.py]\nfailing_tests: [a]\n",
            "expected a path inside the project",
        ),
        (
            "spec_id: S\ntest_files: [a.py]\nfailing_tests: []\n",
            "$.failing_tests: expected a list with at least one item",
        ),
    ] {
        let told = parse(Syntax::Yaml, text)
            .unwrap_err()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n");
        assert!(told.contains(expected), "{text}: {told}");
    }
}
