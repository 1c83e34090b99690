//! Control tests at the end of a test file: one must fail, and one must pass. If the first passes
//! or the second fails, something manipulated the runner or its assertions.

use crate::syntax::Language;

/// Must fail.
pub(super) const NAME: &str = "test_redgreen_canary";
/// Must also fail, if the file expects errors: it throws nothing.
pub(super) const CALM: &str = "test_redgreen_calm";
/// Must pass.
pub(super) const SOUND: &str = "test_redgreen_sound";

/// The text to add to the source. `None` if the style of the tests is unknown.
pub(super) fn of(language: Language, path: &str, source: &str) -> Option<String> {
    match language {
        Language::Python => {
            let name = path.rsplit('/').next().unwrap_or(path);
            let mut both = format!(
                "\n\ndef {NAME}():\n    assert 1 == 2\n\n\ndef {SOUND}():\n    assert 1 == 1\n"
            );
            if source.contains("pytest.raises(") && source.contains("import pytest") {
                both.push_str(&format!(
                    "\n\ndef {CALM}():\n    with pytest.raises(ArithmeticError):\n        pass\n"
                ));
            }
            (name != "conftest.py").then_some(both)
        }
        Language::Rust => Some(format!(
            "\n#[cfg(test)]\nmod redgreen_canary {{\n    #[test]\n    fn {NAME}() {{\n        \
             assert_eq!(1 + 1, 3);\n    }}\n    #[test]\n    fn {SOUND}() {{\n        \
             assert_eq!(1 + 1, 2);\n    }}\n}}\n"
        )),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let has = |word: &str| stands(source, word);
            let test = if has("test(") { "test" } else { "it" };
            // Use the assertions of the file, because one of them may be manipulated.
            let own = ["equal", "strictEqual", "deepEqual", "deepStrictEqual"];
            let plain = own.iter().find(|name| has(&format!("assert.{name}(")));
            // Node passes assertions to each test: `test("adds", (t) => { t.assert.equal(add(1, 2),
            // 3) })`.
            let given = own.iter().find(|name| source.contains(&format!(".assert.{name}(")));
            let (given_to, fails, passes) = match (plain, given) {
                _ if source.contains("({ expect") => {
                    ("{ expect }", "expect(1).toBe(2);".into(), "expect(1).toBe(1);".into())
                }
                _ if has("expect(") => {
                    ("", "expect(1).toBe(2);".to_owned(), "expect(1).toBe(1);".to_owned())
                }
                (Some(name), _) => {
                    ("", format!("assert.{name}(1, 2);"), format!("assert.{name}(1, 1);"))
                }
                (None, Some(name)) => {
                    ("t", format!("t.assert.{name}(1, 2);"), format!("t.assert.{name}(1, 1);"))
                }
                (None, None) => ("", "throw new Error(\"canary\");".to_owned(), String::new()),
            };
            let calm = match () {
                () if source.contains(".toThrow(") => "expect(() => {}).toThrow();",
                () if has("assert.throws(") => "assert.throws(() => {});",
                () => "",
            };
            has(&format!("{test}(")).then(|| {
                let body = |name: &str, does: &str| {
                    format!("{test}(\"{name}\", ({given_to}) => {{ {does} }});\n")
                };
                let mut text = format!("\n{}{}", body(NAME, &fails), body(SOUND, &passes));
                if !calm.is_empty() {
                    text.push_str(&body(CALM, calm));
                }
                text
            })
        }
        Language::Go | Language::Java | Language::Other => None,
    }
}

/// Whether the source contains the call on its own: not as a method, and not as the end of a longer
/// name.
fn stands(source: &str, call: &str) -> bool {
    source.match_indices(call).any(|(at, _)| {
        let before = source.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|letter| letter.is_alphanumeric() || "_$.".contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_uses_only_what_its_file_has() {
        for (source, has) in [
            (
                "test('a', (t) => { t.assert.equal(f(), 1); });\n",
                "(t) => { t.assert.equal(1, 2); }",
            ),
            ("test('a', () => { assert.equal(f(), 1); });\n", "() => { assert.equal(1, 2); }"),
            (
                "test('a', ({ expect }) => { expect(f()).toBe(1); });\n",
                "({ expect }) => { expect(1).toBe(2); }",
            ),
            (
                "it('a', () => { expect(f()).toBe(1); });\n",
                "it(\"test_redgreen_canary\", () => { expect(1).toBe(2); }",
            ),
            ("it('a', async () => { await t.expect(f()); });\n", "throw new Error"),
        ] {
            let canary = of(Language::JavaScript, "a.test.js", source).unwrap();
            assert!(canary.contains(has), "{source}\n{canary}");
        }
    }
}
