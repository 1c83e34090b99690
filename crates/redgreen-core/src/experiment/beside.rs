//! A test of ours beside one of the project's, in the manner of that one: found by the runner as it is, and with the same
//! words for what a test is and how a module is brought in.

use crate::syntax::Language;

/// A test file of the project.
pub(super) struct Beside<'a> {
    pub(super) path: &'a str,
    pub(super) source: &'a str,
}

impl Beside<'_> {
    /// The path of a test file with that name.
    pub(super) fn named(&self, name: &str) -> String {
        let (folder, file) = self.path.rsplit_once('/').unwrap_or(("", self.path));
        let place = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        if Language::of_path(self.path) == Language::Python {
            return format!("{place}test_{name}.py");
        }
        // A file is found by what its name ends with.
        let stem = file.split(['.', '-', '_']).next().unwrap_or_default();
        format!("{place}{name}{}", file.get(stem.len()..).unwrap_or_default())
    }

    /// The word for a test of JavaScript.
    pub(super) fn word(&self) -> &'static str {
        if self.source.contains("test(") || self.source.contains("test.") { "test" } else { "it" }
    }

    /// The runner that the file imports; others leave their words lying about.
    pub(super) fn runner(&self) -> Option<&'static str> {
        ["vitest", "node:test", "@jest/globals"].into_iter().find(|runner| self.source.contains(runner))
    }

    /// `{ a, b }` or `* as all` from a module, in a file that requires it or imports it.
    pub(super) fn bring(&self, names: &str, module: &str, required: bool) -> String {
        match required {
            true => format!("const {} = require(\"{module}\");\n", names.trim_start_matches("* as ")),
            false => format!("import {names} from \"{module}\";\n"),
        }
    }

    /// Brings in what a test needs that writes down values.
    pub(super) fn opening(&self, required: bool) -> String {
        let mut text = String::from("// @ts-nocheck\n");
        text.push_str(&self.bring("{ appendFileSync }", "node:fs", required));
        text.push_str(&self.bring("{ inspect }", "node:util", required));
        let word = format!("{{ {} }}", self.word());
        text.push_str(&self.runner().map(|runner| self.bring(&word, runner, required)).unwrap_or_default());
        text
    }
}
