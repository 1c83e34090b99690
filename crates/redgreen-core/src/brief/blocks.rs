//! Files in an answer: an agent without tools marks each file with its path, and a fence has the
//! content.
//!
//! ````text
//! ### FILE: tests/test_calc.py
//! ```python
//! …
//! ```
//! ````

/// Maximum number of files in one answer; the rest is ignored.
const BLOCKS_MAX: usize = 200;

/// A file in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub path: String,
    pub content: String,
}

/// All marked files of an answer, in order. A marker without a fence and an unclosed fence are
/// ignored.
pub fn blocks(answer: &str) -> Vec<Block> {
    let marked = fences(answer)
        .into_iter()
        .filter_map(|fence| Some(Block { path: fence.path?, content: fence.content }));
    marked.take(BLOCKS_MAX).collect()
}

/// The only fence of an answer, if it names no file. With several fences the right one is unknown.
pub fn only_fence(answer: &str) -> Option<String> {
    let mut fences = fences(answer).into_iter();
    fences
        .next()
        .filter(|fence| fence.path.is_none() && fences.next().is_none())
        .map(|fence| fence.content)
}

struct Fence {
    path: Option<String>,
    content: String,
}

/// The closed, non-empty fences of an answer.
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

/// The line that closes the fence that this line opens.
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
    fn finds_all_marked_files() {
        let file = |path: &str, content: &str| Block {
            path: path.to_owned(),
            content: content.to_owned(),
        };
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
