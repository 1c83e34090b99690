//! Projects for measuring verdicts: an old suite that takes some time, a RED and a GREEN, in each
//! language.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::thread;

use super::python;
use crate::config::Environment;
use crate::process::Program;

/// The number of tests in the old suite. Each takes its share of the time.
const TESTS: u32 = 10;

/// A project, and what it needs.
pub(super) struct Kata {
    pub(super) name: &'static str,
    /// The files of the start. The old suite is added.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// The path of the old suite, and its text for a duration in milliseconds.
    pub(super) old: (&'static str, fn(u32) -> String),
    pub(super) test: (&'static str, &'static str),
    pub(super) code: (&'static str, &'static str),
    /// One plain run. `None` if the runner is not installed.
    pub(super) bare: fn(&Environment, &Path) -> Option<Program>,
    /// A folder of packages to link.
    pub(super) packages: fn() -> Option<PathBuf>,
}

pub(super) const KATAS: &[Kata] = &[
    Kata {
        name: "pytest",
        files: &[
            ("pytest.ini", "[pytest]\n"),
            ("roman.py", "def to_roman(n):\n    raise NotImplementedError\n"),
            ("conftest.py", ""),
        ],
        old: ("tests/test_old.py", |milliseconds| {
            let test = |number| {
                format!("def test_{number}():\n    time.sleep({})\n", seconds(milliseconds / TESTS))
            };
            numbered("import time\n\n\n", test)
        }),
        test: (
            "tests/test_roman.py",
            "from roman import to_roman\n\n\ndef test_four():\n    assert to_roman(4) == \"IV\"\n",
        ),
        code: (
            "roman.py",
            "def to_roman(n):\n    out = \"\"\n    for value, sign in [(5, \"V\"), (4, \"IV\"), (1, \"I\")]:\n        \
             out, n = out + sign * (n // value), n % value\n    return out\n",
        ),
        bare: |environment, _| Some(python(environment).args(["-m", "pytest", "-q"])),
        packages: || None,
    },
    Kata {
        name: "vitest",
        files: &[
            (
                "package.json",
                "{\"name\": \"kata\", \"type\": \"module\", \"devDependencies\": {\"vitest\": \"*\"}, \
                 \"scripts\": {\"test\": \"vitest run\"}}\n",
            ),
            (".gitignore", "node_modules\n"),
            (
                "roman.js",
                "export function toRoman(n) {\n  throw new Error(\"not implemented\");\n}\n",
            ),
        ],
        old: ("tests/old.test.js", |milliseconds| {
            let test = |number| {
                let share = milliseconds / TESTS;
                format!(
                    "test(\"number {number}\", () => new Promise((done) => setTimeout(done, {share})), 60000);\n"
                )
            };
            numbered("import { test } from \"vitest\";\n\n", test)
        }),
        test: (
            "tests/roman.test.js",
            "import { expect, test } from \"vitest\";\nimport { toRoman } from \"../roman.js\";\n\n\
             test(\"four\", () => {\n  expect(toRoman(4)).toBe(\"IV\");\n});\n",
        ),
        code: (
            "roman.js",
            "export function toRoman(n) {\n  let out = \"\";\n  \
             for (const [value, sign] of [[5, \"V\"], [4, \"IV\"], [1, \"I\"]]) {\n    \
             while (n >= value) {\n      out += sign;\n      n -= value;\n    }\n  }\n  return out;\n}\n",
        ),
        bare: |_, root| {
            let vitest = root.join("node_modules/vitest/vitest.mjs");
            vitest.is_file().then(|| Program::new("node").arg(vitest).arg("run"))
        },
        packages: node_packages,
    },
    Kata {
        name: "go",
        files: &[
            ("go.mod", "module kata\n\ngo 1.18\n"),
            ("roman.go", "package kata\n\nfunc ToRoman(n int) string {\n\treturn \"\"\n}\n"),
        ],
        old: ("old_test.go", |milliseconds| {
            let test = |number| {
                let share = milliseconds / TESTS;
                format!(
                    "func Test{number}(t *testing.T) {{\n\ttime.Sleep({share} * time.Millisecond)\n}}\n"
                )
            };
            numbered("package kata\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\n", test)
        }),
        test: (
            "roman_test.go",
            "package kata\n\nimport \"testing\"\n\nfunc TestFour(t *testing.T) {\n\t\
             if got := ToRoman(4); got != \"IV\" {\n\t\tt.Errorf(\"got %q, want IV\", got)\n\t}\n}\n",
        ),
        code: (
            "roman.go",
            "package kata\n\nfunc ToRoman(n int) string {\n\tout := \"\"\n\tsigns := []string{\"V\", \"IV\", \"I\"}\n\t\
             for at, value := range []int{5, 4, 1} {\n\t\tfor n >= value {\n\t\t\tout += signs[at]\n\t\t\t\
             n -= value\n\t\t}\n\t}\n\treturn out\n}\n",
        ),
        bare: |environment, _| {
            environment
                .has_program("go")
                .then(|| Program::new("go").args(["test", "-count=1", "./..."]))
        },
        packages: || None,
    },
    Kata {
        name: "cargo",
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"kata\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
            ),
            (".gitignore", "/target\n/Cargo.lock\n"),
            ("src/lib.rs", "pub fn to_roman(_n: u32) -> String {\n    String::new()\n}\n"),
        ],
        old: ("tests/old.rs", |milliseconds| {
            // They run in parallel.
            let cores = thread::available_parallelism()
                .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
            let share = milliseconds / TESTS.div_ceil(cores);
            numbered("", |number| {
                let sleep =
                    format!("std::thread::sleep(std::time::Duration::from_millis({share}));");
                format!("#[test]\nfn number_{number}() {{\n    {sleep}\n}}\n")
            })
        }),
        test: (
            "tests/roman.rs",
            "#[test]\nfn four() {\n    assert_eq!(kata::to_roman(4), \"IV\");\n}\n",
        ),
        code: (
            "src/lib.rs",
            "pub fn to_roman(mut n: u32) -> String {\n    let mut out = String::new();\n    \
             for (value, sign) in [(5, \"V\"), (4, \"IV\"), (1, \"I\")] {\n        while n >= value {\n            \
             out.push_str(sign);\n            n -= value;\n        }\n    }\n    out\n}\n",
        ),
        bare: |_, root| {
            let bare = Program::new("cargo").args(["test", "--workspace", "--no-fail-fast"]);
            Some(bare.env("CARGO_TARGET_DIR", root.with_extension("bare")))
        },
        packages: || None,
    },
];

/// The packages of a folder above, or those of this repository's tests.
pub(super) fn node_packages() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let places = here
        .ancestors()
        .flat_map(|folder| [folder.join("node_modules"), folder.join(".tools/node/node_modules")]);
    places.into_iter().find(|place| place.join("vitest").is_dir())
}

fn numbered(head: &str, test: impl Fn(u32) -> String) -> String {
    (0..TESTS).fold(head.to_owned(), |mut text, number| {
        writeln!(text, "{}", test(number)).ok();
        text
    })
}

fn seconds(milliseconds: u32) -> String {
    format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000)
}
