//! Replaces a piece of a file, or explains why it was not found.

use redgreen_core::tool::Edit;

/// The number of lines compared with the requested one.
const LINES_MAX: usize = 5000;
const LINE_CHARS_MAX: usize = 200;
/// The number of lines shown before and after the nearest one.
const AROUND: usize = 2;
/// The minimum similarity of a suggested line.
const ALIKE_MIN: f64 = 0.5;

/// The text after the edit, or why it failed.
pub(super) fn edited(text: &str, edit: &Edit) -> Result<String, String> {
    let Edit { old_string: old, new_string: new, file_path, .. } = edit;
    if old.is_empty() {
        return Err("old_string is empty; Write replaces a whole file".to_owned());
    }
    if old == new {
        return Err("old_string and new_string are the same".to_owned());
    }
    match (text.matches(old.as_str()).count(), edit.replace_all.unwrap_or(false)) {
        (1, _) => Ok(text.replacen(old.as_str(), new, 1)),
        (0, _) => Err(missing(text, old, file_path)),
        (_, true) => Ok(text.replace(old.as_str(), new)),
        (count, false) => Err(format!(
            "old_string occurs {count} times; include more of the surrounding text, or set replace_all to true"
        )),
    }
}

fn missing(text: &str, old: &str, path: &str) -> String {
    let bare = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let hint =
        if bare(text).contains(&bare(old)) { ": whitespace or line endings differ" } else { "" };
    let mut words = format!("old_string is not in {path}{hint}");
    if let Some(near) = nearest(text, old) {
        words.push_str("; the nearest lines are\n");
        words.push_str(&near);
    }
    words
}

/// The lines around the one most similar to the first requested line.
fn nearest(text: &str, old: &str) -> Option<String> {
    let clip = |line: &str| line.trim().chars().take(LINE_CHARS_MAX).collect::<String>();
    let wanted = clip(old.lines().find(|line| !line.trim().is_empty())?);
    let lines: Vec<&str> = text.lines().take(LINES_MAX).collect();
    // Reverse, because `max_by` returns the last of equal elements and we want the first.
    let alike = lines
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| (strsim::normalized_levenshtein(&clip(line), &wanted), index));
    let (_, index) = alike
        .filter(|(alike, _)| *alike >= ALIKE_MIN)
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    let first = index.saturating_sub(AROUND);
    let last = (index + AROUND + 1).min(lines.len());
    Some(lines.get(first..last)?.join("\n"))
}
