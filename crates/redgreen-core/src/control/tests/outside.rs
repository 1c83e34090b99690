//! What is asked where no runner is, and when such a question would tell nothing.

use super::*;
use crate::control::outside::asked;

const CODE: (&str, &str) = ("shop.py", "def price(n):\n    return f'{n} EUR'\n");
const TEST: (&str, &str) = (
    "tests/test_shop.py",
    "from shop import price\n\n\ndef test_price():\n    assert price(5) == '5 EUR'\n    assert price(7) == '7 EUR'\n",
);
const SCRIPT: (&str, &str) = ("src/shop.js", "export const price = (n) => `${n} EUR`\n");
const SCRIPT_TEST: (&str, &str) = (
    "src/shop.test.js",
    "import { test, expect } from 'vitest'\nimport { price } from './shop.js'\n\ntest('price', () => {\n  \
     expect(price(5)).toBe('5 EUR')\n})\n",
);

#[track_caller]
fn check(files: &[(&str, &str)], target: &str, expected: &[&str]) {
    let scene = Scene { before: &[], now: files, targets: &[target], ..Scene::default() };
    let calls = scene
        .ask(Phase::Green, |material| asked(material).iter().map(|one| one.example.call.clone()).collect::<Vec<_>>());
    assert_eq!(calls, expected, "{files:?}");
}

#[test]
fn answers_that_tests_write_out_are_asked_unless_something_is_set_up_for_them() {
    let python = |more: (&str, &str), expected: &[&str]| {
        check(&[CODE, TEST, more], "tests/test_shop.py::test_price", expected);
    };
    let both = ["shop.py:price", "shop.py:price"];
    python(("README.md", ""), &both);
    let fixture = |words: &str| format!("import pytest\n\n\n@pytest.fixture{words}\ndef shop():\n    return 1\n");
    python(("tests/conftest.py", &fixture("")), &both);
    python(("tests/conftest.py", &fixture("(autouse=True)")), &[]);
    python(("conftest.py", "import os\n\nos.environ['SHOP'] = 'x'\n"), &[]);
    python(("other/conftest.py", &fixture("(autouse=True)")), &both);
    python(("pytest.ini", "[pytest]\nenv =\n    SHOP=x\n"), &[]);

    let script = |more: (&str, &str), expected: &[&str]| {
        check(&[SCRIPT, SCRIPT_TEST, more], "src/shop.test.js > price", expected);
    };
    script(("package.json", "{\"type\": \"module\", \"scripts\": {\"test\": \"vitest run\"}}"), &["src/shop.js:price"]);
    script(("vitest.config.js", "export default { test: { environment: 'jsdom' } }\n"), &[]);
    script(("vitest.config.js", "export default { test: { setupFiles: './x.js' } }\n"), &[]);
    script(("vitest.config.js", "export default { test: { globals: true } }\n"), &["src/shop.js:price"]);
    script(("package.json", "{\"scripts\": {\"test\": \"node --import ./up.js --test\"}}"), &[]);
}
