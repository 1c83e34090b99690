//! Which commit wrote a line.

use std::collections::HashMap;

use anyhow::Result;
use redgreen_core::names::Oid;

use super::Git;

impl Git {
    /// For each line of a file at `new`, the commit since `old` that wrote it; `None` for a line
    /// that was there before.
    pub fn line_authors(&self, old: &str, new: &str, path: &str) -> Result<Vec<Option<Oid>>> {
        let range = format!("{old}..{new}");
        // A conversion is a command that the repository names.
        let act = format!("find who wrote the lines of {path}");
        let answer = self
            .call([
                "-c",
                "blame.ignoreRevsFile=",
                "blame",
                "--porcelain",
                "--no-progress",
                "--no-textconv",
                &range,
                "--",
                path,
            ])
            .interruptible(&self.stop)
            .run(&act)?;
        Ok(authors(&String::from_utf8_lossy(&answer)))
    }
}

/// Reads git's porcelain: a line of numbers for each line, facts of a commit when it comes first,
/// the text after a tab.
fn authors(answer: &str) -> Vec<Option<Oid>> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_old: HashMap<String, bool> = HashMap::new();
    let mut current = String::new();
    let mut is_head = true;
    for line in answer.split('\n') {
        if line.starts_with('\t') {
            is_head = true;
            lines.push(current.clone());
        } else if is_head {
            line.split(' ').next().unwrap_or_default().clone_into(&mut current);
            is_head = false;
        } else if line == "boundary" {
            is_old.insert(current.clone(), true);
        }
    }
    let author = |id: String| Oid::parse(&id).ok().filter(|_| !is_old.contains_key(&id));
    lines.into_iter().map(author).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_before_has_no_author() {
        let (old, new) = ("0".repeat(39) + "1", "0".repeat(39) + "2");
        let answer = format!(
            "{old} 1 1 1\nauthor A\nboundary\nfilename a\n\tx\n{new} 2 2 2\nauthor boundary\nfilename a\n\t{old} 1 1\n\
             {new} 3 3\n\tboundary\n{old} 2 4 1\n\ty\n"
        );
        let seen = authors(&answer).into_iter().map(|author| author.map(|id| id.to_string()));
        assert_eq!(seen.collect::<Vec<_>>(), [None, Some(new.clone()), Some(new), None]);
    }
}
