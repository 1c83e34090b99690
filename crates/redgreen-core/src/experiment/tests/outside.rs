//! What is asked where no runner is, and when such a question would tell nothing.

use super::*;
use crate::experiment::outside::asked;

const SCRIPT: (&str, &str) = ("src/shop.js", "export const price = (n) => `${n} EUR`\n");
const SCRIPT_TEST: (&str, &str) = (
    "src/shop.test.js",
    "import { test, expect } from 'vitest'\nimport { price } from './shop.js'\n\ntest('price', () => {\n  \
     expect(price(5)).toBe('5 EUR')\n})\n",
);

#[track_caller]
fn check(files: &[(&str, &str)], target: &str, expected: &[&str]) {
    let scene = Scene { before: &[], now: files, targets: &[target], ..Scene::default() };
    let calls = scene.ask(JudgedPhase::Green, |material| {
        asked(material).iter().map(|one| one.example.call.clone()).collect::<Vec<_>>()
    });
    assert_eq!(calls, expected, "{files:?}");
}

#[test]
fn answers_that_tests_write_out_are_asked_unless_something_is_set_up_for_them() {
    let script = |more: (&str, &str), expected: &[&str]| {
        check(&[SCRIPT, SCRIPT_TEST, more], "src/shop.test.js > price", expected);
    };
    script(("package.json", "{\"type\": \"module\", \"scripts\": {\"test\": \"vitest run\"}}"), &["src/shop.js:price"]);
    script(("vitest.config.js", "export default { test: { environment: 'jsdom' } }\n"), &[]);
    script(("vitest.config.js", "export default { test: { setupFiles: './x.js' } }\n"), &[]);
    script(("vitest.config.js", "export default { test: { globals: true } }\n"), &["src/shop.js:price"]);
    let usual = "import { defineConfig } from 'vitest/config'\n\nexport default defineConfig({ test: { environment: 'node' } })\n";
    script(("vitest.config.ts", usual), &["src/shop.js:price"]);
    script(("vitest.config.ts", "export default defineConfig({ define: { LEVEL: 3 } })\n"), &[]);
    script(("package.json", "{\"scripts\": {\"test\": \"node --import ./up.js --test\"}}"), &[]);
}

#[test]
fn answers_in_a_table_are_asked_one_by_one() {
    let told = |path: &str, test: &str, code: (&str, &str), target: &str| {
        let scene = Scene { before: &[], now: &[code, (path, test)], targets: &[target], ..Scene::default() };
        scene.ask(JudgedPhase::Green, |material| {
            let asked = asked(material).into_iter();
            asked
                .map(|one| {
                    let text = one.bare.edits.into_iter().map(|(_, text)| text).collect::<String>();
                    (
                        one.example.shown(),
                        text.lines().rfind(|line| line.contains("price(")).unwrap_or("").trim().to_owned(),
                    )
                })
                .collect::<Vec<_>>()
        })
    };
    let both = |statements: [&str; 2]| {
        vec![("price(5)".to_owned(), statements[0].to_owned()), ("price(7)".to_owned(), statements[1].to_owned())]
    };
    let script = |test: &str, target: &str| {
        let text = format!("import {{ test, expect }} from 'vitest'\nimport {{ price }} from './shop.js'\n\n{test}\n");
        told("src/shop.test.js", &text, SCRIPT, target)
    };
    let expected = both(["expect(price(5)).toBe('5 EUR');", "expect(price(7)).toBe('7 EUR');"]);
    let each = "test.each([[5, '5 EUR'], [7, '7 EUR']])('price %i', (n, told) => {\n  expect(price(n)).toBe(told)\n})";
    assert_eq!(script(each, "src/shop.test.js > price 5"), expected);
    let looped = "test('price', () => {\n  for (const [n, told] of [[5, '5 EUR'], [7, '7 EUR']]) {\n    \
                  expect(price(n)).toBe(told)\n  }\n})";
    assert_eq!(script(looped, "src/shop.test.js > price"), expected);
}

#[test]
fn what_a_brief_asks_for_is_no_reason_to_doubt_and_a_runner_is_no_such_thing() {
    let doubted = |path: &str, code: &str, brief: &str| {
        let scene = Scene { now: &[(path, code)], brief, ..Scene::default() };
        scene.ask(JudgedPhase::Green, |material| !suspicions(material).is_empty())
    };
    let level = "export const level = () => (process.env.NODE_ENV === 'production' ? 'warn' : 'debug')\n";
    assert!(!doubted("level.js", level, "level() is warn when NODE_ENV is production"));
    assert!(doubted("level.js", level, "level() is warn or debug"));
    for (path, code, brief) in [
        ("a.py", "import sys\n\nTESTED = 'pytest' in sys.modules\n", "Add f, and test it with pytest."),
        ("a.js", "export const tested = Boolean(import.meta.vitest)\n", "Add f; its tests run in vitest."),
        ("a.js", "export const tested = 'JEST_WORKER_ID' in process.env\n", "Add f, tested with jest."),
    ] {
        assert!(doubted(path, code, brief), "{code}");
    }
}
