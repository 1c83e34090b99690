//! Finds the lines that explain why a program failed. They are often before the trace at the end of
//! the output, or in its middle.

/// Starts of a line that names a problem, without blanks and pytest's `E`.
const STARTS: &[&str] = &[
    "error",
    "fatal",
    "failed",
    "failure",
    "unknown option",
    "unknown argument",
    "usage:",
    "npm err",
    "npm error",
    "panic",
    "traceback (most recent call last)",
    "exception",
    "cannot",
    "could not",
    "no such",
    "command not found",
    "undefined reference",
    "assertion",
];
/// Parts of a line that names a problem.
const WORDS: &[&str] = &[
    "error: ",
    "error:",
    "exception: ",
    "not found",
    "no module named",
    "cannot find",
    "unknown option",
    "panicked at",
    "permission denied",
    "no such file",
    "is not recognized",
    "unrecognized arguments",
    "undefined reference",
    "connection refused",
    "command not found",
];
/// Starts of lines in a trace, and of lines that only say that an earlier step failed.
const TRACE: &[&str] = &[
    "at ",
    "make: ***",
    "make[",
    "traceback (most recent",
    "npm error a complete log",
    "node.js v",
];
const LINE_CHARS_MAX: usize = 300;

/// At most `lines_max` lines, in the original order; the end of the text if no line stands out.
pub fn decisive(text: &str, lines_max: usize) -> Vec<String> {
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let mut found: Vec<&str> = Vec::new();
    for line in &lines {
        if names_a_trouble(line) && !found.iter().any(|known| known.trim() == line.trim()) {
            found.push(line);
        }
    }
    if found.is_empty() {
        let plain = lines.iter().copied().filter(|line| !is_of_a_trace(line));
        let plain: Vec<&str> = plain.collect();
        found = plain.into_iter().rev().take(lines_max).rev().collect();
    }
    // The first lines name the cause, the last its effect.
    if found.len() > lines_max {
        let rest = found.split_off(found.len() - lines_max / 2);
        found.truncate(lines_max - lines_max / 2);
        found.extend(rest);
    }
    found.into_iter().map(|line| line.trim().chars().take(LINE_CHARS_MAX).collect()).collect()
}

fn names_a_trouble(line: &str) -> bool {
    if is_of_a_trace(line) {
        return false;
    }
    let plain =
        line.trim_start().strip_prefix("E ").unwrap_or(line).trim_start().to_ascii_lowercase();
    let class = plain.split([':', ' ']).next().unwrap_or_default();
    let is_class = class.ends_with("error") || class.ends_with("exception");
    is_class
        || STARTS.iter().any(|start| plain.starts_with(start))
        || WORDS.iter().any(|word| plain.contains(word))
}

fn is_of_a_trace(line: &str) -> bool {
    let plain = line.trim_start().to_ascii_lowercase();
    TRACE.iter().any(|start| plain.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_line_with_the_cause() {
        for (text, expected) in [
            (
                "file:///p/cac.js:404\n    throw new CACError(`x`)\n    ^\nCACError: Unknown option `--foo`\n    at Object.a (/p:1:2)\n    at b (/p:3:4)\n\nNode.js v20.1.0\n",
                "CACError: Unknown option `--foo`",
            ),
            (
                "ImportError while loading conftest '/p/conftest.py'.\nconftest.py:1: in <module>\n    import nowhere\nE   ModuleNotFoundError: No module named 'nowhere'\n",
                "ImportError while loading conftest '/p/conftest.py'.\nE   ModuleNotFoundError: No module named 'nowhere'",
            ),
            (
                "cc -c a.c\na.c:3: error: expected ';'\nmake: *** [Makefile:2: check] Error 1\n",
                "a.c:3: error: expected ';'",
            ),
            ("one\ntwo\nthree\n", "two\nthree"),
            ("", ""),
        ] {
            assert_eq!(decisive(text, 2).join("\n"), expected);
        }
        let many: String = (0..9).map(|number| format!("error: {number}\n")).collect();
        assert_eq!(decisive(&many, 4), ["error: 0", "error: 1", "error: 7", "error: 8"]);
    }
}
