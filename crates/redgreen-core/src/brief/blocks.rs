//! Files in an answer: an agent that has no tools marks each with its path, and a fence holds the content.
//!
//! ````text
//! ### FILE: tests/test_calc.py
//! ```python
//! …
//! ```
//! ````

/// More files than this in one answer are a mistake.
const BLOCKS_MAX: usize = 200;

/// A file as an answer has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub path: String,
    pub content: String,
}

/// Every marked file of an answer, in order. A marker without a fence, or a fence that does not end, is no file.
pub fn blocks(answer: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = answer.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(path) = marker(line) else { continue };
        while lines.next_if(|line| line.trim().is_empty()).is_some() {}
        let Some(fence) = lines.peek().and_then(|line| fence(line)) else { continue };
        lines.next();
        let mut content = String::new();
        let mut closed = false;
        for line in lines.by_ref() {
            if line.trim_end() == fence {
                closed = true;
                break;
            }
            content.push_str(line);
            content.push('\n');
        }
        if closed && !content.trim().is_empty() && found.len() < BLOCKS_MAX {
            found.push(Block { path, content });
        }
    }
    found
}

fn marker(line: &str) -> Option<String> {
    let rest = line.trim_start().trim_start_matches('#');
    let hashes = line.trim_start().len() - rest.len();
    let path = rest.trim_start().strip_prefix("FILE:")?.trim().trim_matches('`').trim();
    (hashes > 0 && !path.is_empty()).then(|| path.to_owned())
}

/// What has to close the fence that this line opens.
fn fence(line: &str) -> Option<String> {
    const SHORTEST: usize = 3;
    let line = line.trim_end();
    let ticks = line.len() - line.trim_start_matches('`').len();
    let word = line.get(ticks..)?;
    (ticks >= SHORTEST && !word.contains('`')).then(|| "`".repeat(ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marked_file_of_an_answer_is_found() {
        let file = |path: &str, content: &str| Block { path: path.to_owned(), content: content.to_owned() };
        for (answer, expected) in [
            ("### FILE: tests/a.py\n```python\nx = 1\n```\n", vec![file("tests/a.py", "x = 1\n")]),
            (
                "Here:\n### FILE: a.py\n\n```\n1\n```\ntalk\n## FILE: `b.py`\n````md\n```\ninner\n```\n````\n",
                vec![file("a.py", "1\n"), file("b.py", "```\ninner\n```\n")],
            ),
            ("```python\nx = 1\n```\n", vec![]),
            ("FILE: a.py\n```\nx\n```\n", vec![]),
            ("### FILE: a.py\nno fence\n", vec![]),
            ("### FILE: a.py\n```\nnever ends\n", vec![]),
            ("### FILE: a.py\n```\n```\n", vec![]),
            ("### FILE: \n```\nx\n```\n", vec![]),
        ] {
            assert_eq!(blocks(answer), expected, "{answer}");
        }
    }
}
