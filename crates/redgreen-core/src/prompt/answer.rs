//! Files in the text of an answer, for models that call no tools: a line `### FILE: path`, then the content in a code
//! block.

/// A whole file of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub path: String,
    pub content: String,
}

const FENCE: &str = "```";

/// The files of an answer, in order. One whose block does not end was cut off, and is left out.
pub fn files(answer: &str) -> Vec<File> {
    let mut found = Vec::new();
    let mut lines = answer.lines();
    while let Some(line) = lines.next() {
        let Some(path) = marked(line) else { continue };
        let Some(opening) = lines.find(|line| !line.trim().is_empty()) else { break };
        if !opening.trim_start().starts_with(FENCE) {
            continue;
        }
        let mut content = String::new();
        let ended = lines.by_ref().any(|line| {
            let ends = line.trim_end() == FENCE;
            if !ends {
                content.push_str(line);
                content.push('\n');
            }
            ends
        });
        if ended {
            found.push(File { path: path.to_owned(), content });
        }
    }
    found
}

/// The path a line names.
fn marked(line: &str) -> Option<&str> {
    let path = line.trim().strip_prefix("###")?.trim_start().strip_prefix("FILE:")?.trim().trim_matches('`');
    Some(path).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_marked_by_their_path() {
        let check = |answer: &str, expected: &[(&str, &str)]| {
            let found = files(answer);
            let found: Vec<_> = found.iter().map(|file| (file.path.as_str(), file.content.as_str())).collect();
            assert_eq!(found, expected, "{answer}");
        };
        check("Sure!\n### FILE: a.py\n```python\nx = 1\n```\nDone.", &[("a.py", "x = 1\n")]);
        check("###FILE: `a/b.py`\n\n```\n\ny\n```\n### FILE: c\n```\n```\n", &[("a/b.py", "\ny\n"), ("c", "")]);
        check("### FILE: a.py\n```python\nx = 1\n", &[]);
        check("### FILE: a.py\nno block\n### FILE:\n```\nx\n```", &[]);
        check("```python\nx = 1\n```", &[]);
        check("", &[]);
    }
}
