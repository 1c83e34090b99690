//! `<files_to_read>`: files that a request says to read first.

const OPEN: &str = "<files_to_read>";
const CLOSE: &str = "</files_to_read>";

/// The paths in all blocks, one per line, without duplicates. An unclosed block ends with the text.
pub fn files_to_read(text: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for block in text.split(OPEN).skip(1) {
        let block = block.split(CLOSE).next().unwrap_or_default();
        for line in block.lines() {
            let path = line.trim().trim_start_matches(['-', '*']).trim();
            // The text after the path is an explanation.
            let path =
                path.split(" - ").next().unwrap_or_default().split(" (").next().unwrap_or_default();
            let path = path.trim().trim_matches('`').trim_start_matches('@');
            if !path.is_empty() && !files.iter().any(|known| known == path) {
                files.push(path.to_owned());
            }
        }
    }
    files
}

#[test]
fn finds_paths_in_any_list_style() {
    for (text, files) in [
        ("no block", &[][..]),
        (
            "<files_to_read>\n- src/a.py\n* `b.py` (the rest)\n@docs/c.md\n\n</files_to_read> then",
            &["src/a.py", "b.py", "docs/c.md"],
        ),
        (
            "<files_to_read>a b.py - for the names</files_to_read><files_to_read>a b.py\nc</files_to_read>",
            &["a b.py", "c"],
        ),
        ("<files_to_read>\nopen.py", &["open.py"]),
    ] {
        assert_eq!(files_to_read(text), files, "{text}");
    }
}
