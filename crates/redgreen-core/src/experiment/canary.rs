//! A test that has to fail and one that has to pass, put at the end of a test file: where the first passes or the second
//! fails, the runner or its assertions were bent.

use crate::syntax::Language;

/// Has to fail.
pub(super) const NAME: &str = "test_redgreen_canary";
/// Has to fail as well, where the file waits for errors: nothing is thrown in it.
pub(super) const CALM: &str = "test_redgreen_calm";
/// Has to pass.
pub(super) const SOUND: &str = "test_redgreen_sound";

/// What is added to the source; `None` where the file's way of writing tests is not known.
pub(super) fn of(language: Language, path: &str, source: &str) -> Option<String> {
    match language {
        Language::Python => {
            let name = path.rsplit('/').next().unwrap_or(path);
            let mut both = format!("\n\ndef {NAME}():\n    assert 1 == 2\n\n\ndef {SOUND}():\n    assert 1 == 1\n");
            if source.contains("pytest.raises(") && source.contains("import pytest") {
                both.push_str(&format!("\n\ndef {CALM}():\n    with pytest.raises(ArithmeticError):\n        pass\n"));
            }
            (name != "conftest.py").then_some(both)
        }
        Language::Rust => Some(format!(
            "\n#[cfg(test)]\nmod redgreen_canary {{\n    #[test]\n    fn {NAME}() {{\n        \
             assert_eq!(1 + 1, 3);\n    }}\n    #[test]\n    fn {SOUND}() {{\n        \
             assert_eq!(1 + 1, 2);\n    }}\n}}\n"
        )),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let has = |word: &str| source.contains(word);
            let test = if has("test(") { "test" } else { "it" };
            // In the file's own words: what was bent may be one of them.
            let own = ["equal", "strictEqual", "deepEqual", "deepStrictEqual"];
            let own = own.iter().find(|name| has(&format!("assert.{name}(")));
            let (fails, passes) = match own {
                _ if has("expect(") => ("expect(1).toBe(2);".to_owned(), "expect(1).toBe(1);".to_owned()),
                Some(name) => (format!("assert.{name}(1, 2);"), format!("assert.{name}(1, 1);")),
                None => ("throw new Error(\"canary\");".to_owned(), String::new()),
            };
            let calm = match () {
                () if has(".toThrow(") => "expect(() => {}).toThrow();",
                () if has("assert.throws(") => "assert.throws(() => {});",
                () => "",
            };
            has(&format!("{test}(")).then(|| {
                let mut text =
                    format!("\n{test}(\"{NAME}\", () => {{ {fails} }});\n{test}(\"{SOUND}\", () => {{ {passes} }});\n");
                if !calm.is_empty() {
                    text.push_str(&format!("{test}(\"{CALM}\", () => {{ {calm} }});\n"));
                }
                text
            })
        }
        Language::Go | Language::Java | Language::Other => None,
    }
}
