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
    let marked =
        fences(answer).into_iter().filter_map(|fence| Some(Block { path: fence.path?, content: fence.content }));
    marked.take(BLOCKS_MAX).collect()
}

/// The one fence of an answer that names no file; of several nobody can tell which is meant.
pub fn only_fence(answer: &str) -> Option<String> {
    let mut fences = fences(answer).into_iter();
    fences.next().filter(|fence| fence.path.is_none() && fences.next().is_none()).map(|fence| fence.content)
}

struct Fence {
    path: Option<String>,
    content: String,
}

/// The fences of an answer that have content and an end.
fn fences(answer: &str) -> Vec<Fence> {
    let mut found = Vec::new();
    let mut path = None;
    let mut lines = answer.lines();
    while let Some(line) = lines.next() {
        if let Some(named) = marker(line) {
            path = Some(named);
        } else if let Some(end) = fence(line) {
            let mut content = String::new();
            let closed = lines.by_ref().any(|line| {
                let ends = line.trim_end() == end;
                if !ends {
                    content.push_str(line);
                    content.push('\n');
                }
                ends
            });
            let path = path.take();
            if closed && !content.trim().is_empty() {
                found.push(Fence { path, content });
            }
        } else if !line.trim().is_empty() {
            path = None;
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
