//! A test that has to fail, put at the end of a test file: where it passes, the runner or its assertions were bent.

use crate::syntax::Language;

pub(super) const NAME: &str = "test_redgreen_canary";

/// What is added to the source; `None` where the file's way of writing tests is not known.
pub(super) fn of(language: Language, path: &str, source: &str) -> Option<String> {
    match language {
        Language::Python => {
            let name = path.rsplit('/').next().unwrap_or(path);
            (name != "conftest.py").then(|| format!("\n\ndef {NAME}():\n    assert 1 == 2\n"))
        }
        Language::Rust => Some(format!(
            "\n#[cfg(test)]\nmod redgreen_canary {{\n    #[test]\n    fn {NAME}() {{\n        \
             assert_eq!(1 + 1, 3);\n    }}\n}}\n"
        )),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let has = |word: &str| source.contains(word);
            let test = if has("test(") { "test" } else { "it" };
            let claim = if has("expect(") { "expect(1).toBe(2)" } else { "throw new Error(\"canary\")" };
            has(&format!("{test}(")).then(|| format!("\n{test}(\"{NAME}\", () => {{ {claim}; }});\n"))
        }
        Language::Go | Language::Java | Language::Other => None,
    }
}
