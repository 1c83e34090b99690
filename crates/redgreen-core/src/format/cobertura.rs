//! Cobertura's XML: `class filename=…` with `line number=… hits=…`. The file name is relative to
//! the folder in `source`.

use super::xml::{self, Piece};
use crate::coverage::Coverage;

pub fn parse(bytes: &[u8]) -> Coverage {
    let mut coverage = Coverage::default();
    let mut file = None;
    // Methods repeat the lines of their class, with the same counts.
    let mut in_method = false;
    let mut sources: Vec<String> = Vec::new();
    let mut in_source = false;
    let complete = xml::read(bytes, |piece| match piece {
        Piece::Open(element) if element.is("source") => {
            in_source = true;
            sources.push(String::new());
        }
        Piece::Text(text) if in_source => {
            if let Some(source) = sources.last_mut() {
                source.push_str(&text);
            }
        }
        Piece::Close("source") => in_source = false,
        Piece::Open(element) if element.is("class") => {
            file = element.attribute("filename").map(|name| placed(&sources, name));
        }
        Piece::Open(element) if element.is("method") => in_method = true,
        Piece::Open(element) if element.is("line") && !in_method => {
            let number = element.attribute("number").and_then(|number| number.parse().ok());
            let hits = element.attribute("hits").and_then(|hits| hits.parse().ok());
            if let (Some(file), Some(number), Some(hits)) = (&file, number, hits) {
                coverage.add(file, number, hits);
            }
        }
        Piece::Close("method") => in_method = false,
        Piece::Open(_) | Piece::Close(_) | Piece::Text(_) => {}
    });
    // A truncated report would claim that the missing part has no lines.
    if complete { coverage } else { Coverage::default() }
}

/// With several source folders the right one is unknown. A relative source folder is the project's
/// own.
fn placed(sources: &[String], name: String) -> String {
    match sources {
        [source] if source.starts_with('/') && !name.starts_with('/') => format!("{source}/{name}"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_relative_to_a_single_source() {
        let file = |sources: &str, name: &str| {
            let lines = format!("<class filename='{name}'><line number='1' hits='1'/></class>");
            let coverage = parse(
                format!("<coverage><sources>{sources}</sources>{lines}</coverage>").as_bytes(),
            );
            coverage.files.into_keys().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(file("<source>/p/src</source>", "a.php"), "/p/src/a.php");
        assert_eq!(file("<source>/p/src</source>", "/p/src/a.php"), "/p/src/a.php");
        assert_eq!(file("<source>.</source>", "a.php"), "a.php");
        assert_eq!(file("<source>/p</source><source>/q</source>", "a.php"), "a.php");
    }

    #[test]
    fn counts_lines_of_classes_but_not_of_methods() {
        let text = "<coverage><packages><package><classes><class filename='a.js'>\
            <methods><method><lines><line number='1' hits='7'/></lines></method></methods>\
            <lines><line number='1' hits='7'/><line number='2' hits='0'/></lines></class></classes></package></packages></coverage>";
        let coverage = parse(text.as_bytes());
        assert_eq!((coverage.found(), coverage.hit()), (2, 1));
        assert_eq!(parse(&text.as_bytes()[..text.len() - 3]).found(), 0);
    }
}
