//! JaCoCo's XML: `package name=…` with `sourcefile name=…` with `line nr=… ci=…`, where `ci` counts
//! the covered instructions. It names no source folder, so the default folder of Maven and Gradle
//! for the language is used.

use super::xml::{self, Piece};
use crate::coverage::Coverage;

const SOURCES: &[(&str, &str)] = &[(".kt", "kotlin"), (".groovy", "groovy"), (".scala", "scala")];

pub fn parse(bytes: &[u8]) -> Coverage {
    let mut coverage = Coverage::default();
    let (mut package, mut file) = (String::new(), None);
    let complete = xml::read(bytes, |piece| match piece {
        Piece::Open(element) if element.is("package") => {
            package = element.attribute("name").unwrap_or_default();
        }
        Piece::Open(element) if element.is("sourcefile") => {
            file = element.attribute("name").map(|name| placed(&package, &name));
        }
        Piece::Close("sourcefile") => file = None,
        Piece::Open(element) if element.is("line") => {
            let number = element.attribute("nr").and_then(|number| number.parse().ok());
            let ran = element.attribute("ci").and_then(|count| count.parse::<u64>().ok());
            if let (Some(file), Some(number), Some(ran)) = (&file, number, ran) {
                // JaCoCo does not count executions.
                coverage.add(file, number, ran.min(1));
            }
        }
        Piece::Open(_) | Piece::Close(_) | Piece::Text(_) => {}
    });
    // A truncated report would claim that the missing part has no lines.
    if complete { coverage } else { Coverage::default() }
}

fn placed(package: &str, name: &str) -> String {
    let language = SOURCES
        .iter()
        .find(|(extension, _)| name.ends_with(extension))
        .map_or("java", |(_, folder)| folder);
    let package = if package.is_empty() { String::new() } else { format!("{package}/") };
    format!("src/main/{language}/{package}{name}")
}

#[cfg(test)]
pub(super) const SAMPLE: &str = "<?xml version='1.0'?><!DOCTYPE report PUBLIC '-//JACOCO//DTD Report 1.1//EN' 'report.dtd'>\
    <report name='demo'><sessioninfo id='h' start='1' dump='2'/><package name='demo'>\
    <class name='demo/Calc' sourcefilename='Calc.java'><method name='add' desc='(II)I' line='3'>\
    <counter type='LINE' missed='0' covered='1'/></method></class>\
    <sourcefile name='Calc.java'><line nr='3' mi='0' ci='4' mb='0' cb='0'/><line nr='6' mi='2' ci='0' mb='0' cb='0'/>\
    <counter type='LINE' missed='1' covered='1'/></sourcefile>\
    <sourcefile name='Other.kt'><line nr='1' mi='1' ci='1' mb='0' cb='0'/></sourcefile></package></report>";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lines_of_source_files() {
        let coverage = parse(SAMPLE.as_bytes());
        let calc = &coverage.files["src/main/java/demo/Calc.java"];
        assert_eq!((calc.found(), calc.hit(), calc.lines[&3], calc.lines[&6]), (2, 1, 1, 0));
        assert!(coverage.files.contains_key("src/main/kotlin/demo/Other.kt"));
        assert_eq!(parse(&SAMPLE.as_bytes()[..SAMPLE.len() - 3]).found(), 0);
    }
}
