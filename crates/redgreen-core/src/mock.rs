//! The built-in script of `AGENTOS_MOCK_LLM=1`: turns of a scripted agent that take any brief from
//! RED to GREEN, in Python with pytest, without a key or a network. What it writes is a
//! placeholder; what judges it is real.

use std::fmt::Write as _;

use crate::brief::{Brief, Case};
use crate::phase::Phase;

const TEST_FILE: &str = "tests/test_mock_feature.py";
const CODE_FILE: &str = "mock_feature.py";

/// A script for the scripted agent.
pub fn script(brief: &Brief) -> String {
    let behaviour =
        crate::brief::headline(&brief.request).lines().next().unwrap_or_default().to_owned();
    let cases = match (brief.batch().is_some(), brief.test_cases.is_empty()) {
        (true, false) => brief.test_cases.clone(),
        _ => {
            vec![Case { id: "MOCK1".to_owned(), description: behaviour.clone(), ..Case::default() }]
        }
    };
    let mut tests = String::from("import mock_feature\n");
    for case in &cases {
        let (id, name) = (text(&case.id), identifier(&case.id));
        let words = case.name().replace('"', "'").replace('\\', "/");
        write!(tests, "\n\ndef test_{name}():\n    \"\"\"{words}\"\"\"\n    assert mock_feature.answer({id}) == \"done: \" + {id}\n").ok();
    }
    let code = "def answer(case):\n    \"\"\"Says that a case is done.\"\"\"\n    return \"done: \" + case\n";
    let mut script = String::from("version = 1\nagent = \"mock\"\n");
    let next = format!(
        "next = {{ description = {}, test-file = {TEST_FILE:?}, impl-file = {CODE_FILE:?} }}",
        text(&behaviour)
    );
    let list = action("write", "test-list.md", &format!("- [ ] {behaviour}\n"));
    write!(script, "\n[[plan]]\ndo = [{list}]\n{next}\n\n[[plan]]\ndone = true\n").ok();
    let touched = |phase: Phase| {
        let files = brief.points(phase).filter_map(|point| point.file.as_deref());
        files
            .filter(|file| file.ends_with(".py"))
            .map(|file| action("append", file, "# AGENTOS_MOCK_LLM was here\n"))
    };
    let red: Vec<String> =
        std::iter::once(action("write", TEST_FILE, &tests)).chain(touched(Phase::Red)).collect();
    let green: Vec<String> =
        std::iter::once(action("write", CODE_FILE, code)).chain(touched(Phase::Green)).collect();
    write!(
        script,
        "\n[[red]]\ndo = [{}]\n\n[[green]]\ndo = [{}]\n",
        red.join(", "),
        green.join(", ")
    )
    .ok();
    script
}

fn action(verb: &str, path: &str, content: &str) -> String {
    format!("{{ {verb} = {}, text = {} }}", text(path), text(content))
}

/// A string of TOML, and of Python: both know JSON's escapes.
fn text(words: &str) -> String {
    serde_json::to_string(words).unwrap_or_default()
}

fn identifier(id: &str) -> String {
    id.chars()
        .map(
            |letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' },
        )
        .collect()
}
