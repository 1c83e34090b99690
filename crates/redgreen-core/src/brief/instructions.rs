//! Instructions for tests and code from the project's settings, worded for the agents. The judge
//! does not enforce them.

use serde::{Deserialize, Serialize};

/// Sentences for tests and for code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Instructions {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<String>,
    /// The folder for test files, and the number of tests per component. Deviations cause a
    /// warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_component: Option<(u32, u32)>,
}

/// Settings for tests; `None` if not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Tests {
    /// The test framework to use.
    pub framework: Option<String>,
    /// The folder for test files.
    pub directory: Option<String>,
    pub edge_cases: Option<bool>,
    pub error_cases: Option<bool>,
    /// Tests per component, such as `5-10`.
    pub per_component: Option<String>,
    /// Whether some of the new tests may pass immediately if all are written at once.
    pub allow_passes: Option<bool>,
}

/// Settings for code; `None` if not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Code {
    pub style: Option<Style>,
    pub docstrings: Option<bool>,
    pub type_hints: Option<bool>,
    /// Run the tests after each file.
    pub test_each_file: Option<bool>,
    /// Run one failing test before all of them.
    pub test_one_first: Option<bool>,
    /// Keep code that passes some of the tests for the next attempt.
    pub keep_partial: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// The least code that passes.
    Minimal,
    /// With the argument checks and error messages that a reviewer would expect.
    Standard,
    /// The complete interfaces of the brief, tested or not.
    Comprehensive,
}

impl Instructions {
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.code.is_empty()
    }

    /// The sentences for these settings. `markers` are registered with the project's test runner.
    pub fn of(tests: &Tests, code: &Code, markers: &[String]) -> Self {
        Self {
            tests: for_tests(tests, markers),
            code: for_code(code),
            directory: tests.directory.clone(),
            per_component: tests.per_component.as_deref().and_then(range),
        }
    }

    /// Warnings for tests that deviate from the settings; `components` is the number of components.
    pub fn warnings<'f>(
        &self,
        files: impl Iterator<Item = &'f str>,
        tests: usize,
        components: usize,
    ) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(directory) = &self.directory {
            let below = format!("{}/", directory.trim_end_matches('/'));
            let mut elsewhere: Vec<&str> = files.filter(|file| !file.starts_with(&below)).collect();
            elsewhere.dedup();
            if !elsewhere.is_empty() {
                warnings.push(format!(
                    "the settings require tests below {directory}, but these are elsewhere: {}",
                    elsewhere.join(", ")
                ));
            }
        }
        let wide = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        if let Some((least, most)) = self.per_component.filter(|_| components > 0)
            && !(wide(least).saturating_mul(components)..=wide(most).saturating_mul(components))
                .contains(&tests)
        {
            warnings.push(format!(
                "the settings require {least} to {most} tests for each of {components} components, but {tests} were written"
            ));
        }
        warnings
    }
}

/// Parses `5-10`, or `5` for an exact number.
fn range(words: &str) -> Option<(u32, u32)> {
    let (least, most) = words.split_once('-').unwrap_or((words, words));
    Some((least.trim().parse().ok()?, most.trim().parse().ok()?))
}

fn for_tests(tests: &Tests, markers: &[String]) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(framework) = &tests.framework {
        told.push(format!("Write them for {framework}."));
    }
    if let Some(directory) = &tests.directory {
        told.push(format!("Put test files below `{directory}`."));
    }
    match (tests.edge_cases, tests.error_cases) {
        (Some(true), Some(true)) => {
            told.push("In addition to the requested tests, test edge cases and errors.".to_owned());
        }
        (Some(true), _) => {
            told.push("In addition to the requested tests, test edge cases.".to_owned());
        }
        (_, Some(true)) => told.push("In addition to the requested tests, test errors.".to_owned()),
        (Some(false) | None, Some(false) | None) => {}
    }
    for (wanted, what) in [(tests.edge_cases, "edge cases"), (tests.error_cases, "errors")] {
        if wanted == Some(false) {
            told.push(format!("Add no tests of {what} beyond the requested ones."));
        }
    }
    if let Some(count) = &tests.per_component {
        told.push(format!("Write {count} tests for each component."));
    }
    let purposes =
        [("red", "every new test"), ("unit", "unit tests"), ("integration", "integration tests")];
    let marked = purposes.iter().filter(|(name, _)| markers.iter().any(|marker| marker == name));
    let marked: Vec<String> =
        marked.map(|(name, what)| format!("{what} with `@pytest.mark.{name}`")).collect();
    if !marked.is_empty() {
        told.push(format!("Mark {}.", marked.join(", ")));
    }
    told
}

fn for_code(code: &Code) -> Vec<String> {
    let style = code.style.map(|style| match style {
        Style::Minimal => "Write the minimal code that passes, and nothing that no test needs.",
        Style::Standard => {
            "Write code that a reviewer would accept: check arguments, and report errors clearly."
        }
        Style::Comprehensive => "Implement every interface of the brief completely.",
    });
    let flags = [
        (
            code.docstrings,
            "Give every public function and class a docstring.",
            "Write no docstrings.",
        ),
        (code.type_hints, "Give every signature type hints.", "Write no type hints."),
        (code.test_each_file, "Run the tests after each file you write.", ""),
        (code.test_one_first, "Run the one test you work on first, then all of them.", ""),
    ];
    let told = flags.iter().filter_map(|(wanted, yes, no)| match wanted {
        Some(true) => Some(*yes),
        Some(false) => Some(*no).filter(|words| !words.is_empty()),
        None => None,
    });
    style.into_iter().chain(told).map(str::to_owned).collect()
}

/// The markers that a pytest configuration registers: `markers` in an INI file, or the list in a
/// TOML file.
pub fn markers(configuration: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = configuration.lines().skip_while(|line| {
        let key = line.split('=').next().unwrap_or_default().trim();
        key != "markers" || !line.contains('=')
    });
    let first = lines
        .next()
        .and_then(|line| line.split_once('='))
        .map(|(_, rest)| rest)
        .unwrap_or_default();
    let more = lines.take_while(|line| {
        line.trim().is_empty() || line.starts_with([' ', '\t']) || line.starts_with(']')
    });
    for line in std::iter::once(first).chain(more) {
        for entry in
            line.trim().trim_start_matches('[').trim_end_matches([']', ',']).split("\", \"")
        {
            let entry = entry.trim().trim_matches(['"', '\'', ',']);
            let name: String = entry
                .chars()
                .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                .collect();
            if !name.is_empty() {
                found.push(name);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_sentences() {
        let tests = Tests {
            framework: Some("pytest".to_owned()),
            directory: Some("tests".to_owned()),
            edge_cases: Some(true),
            error_cases: Some(false),
            per_component: Some("5-10".to_owned()),
            allow_passes: None,
        };
        let code = Code {
            style: Some(Style::Minimal),
            docstrings: Some(true),
            type_hints: Some(false),
            ..Code::default()
        };
        let told = Instructions::of(&tests, &code, &["red".to_owned(), "slow".to_owned()]);
        assert_eq!(
            told.tests,
            [
                "Write them for pytest.",
                "Put test files below `tests`.",
                "In addition to the requested tests, test edge cases.",
                "Add no tests of errors beyond the requested ones.",
                "Write 5-10 tests for each component.",
                "Mark every new test with `@pytest.mark.red`.",
            ]
        );
        assert_eq!(told.code.len(), 3, "{:?}", told.code);
        assert!(Instructions::of(&Tests::default(), &Code::default(), &[]).is_empty());
        let warned = |files: &[&str], count: usize| {
            told.warnings(files.iter().copied(), count, 2).join("; ")
        };
        assert_eq!(warned(&["tests/test_a.py"], 12), "");
        assert_eq!(
            warned(&["test_a.py", "test_a.py"], 12),
            "the settings require tests below tests, but these are elsewhere: test_a.py"
        );
        assert_eq!(
            warned(&[], 3),
            "the settings require 5 to 10 tests for each of 2 components, but 3 were written"
        );
    }

    #[test]
    fn reads_markers_from_every_format() {
        for (text, names) in [
            (
                "[pytest]\nmarkers =\n    red: from RED\n    unit: fast\naddopts = -q\n",
                &["red", "unit"][..],
            ),
            (
                "[tool.pytest.ini_options]\nmarkers = [\n    \"red: from RED\",\n    \"unit\",\n]\n[other]\nx = 1\n",
                &["red", "unit"],
            ),
            ("markers = [\"red: a\", \"integration\"]\n", &["red", "integration"]),
            ("[pytest]\naddopts = -q\n", &[]),
        ] {
            assert_eq!(markers(text), names, "{text}");
        }
    }
}
