//! The stacks that the demo can use, one row each. Each needs only its interpreter or compiler: no
//! package, no network.

/// A kata in one language.
#[derive(Debug)]
pub struct Stack {
    /// The value of `--lang`.
    pub name: &'static str,
    /// The programs that must be on the PATH, any one of them.
    pub programs: &'static [&'static str],
    /// What to do if none of them is there.
    pub install: &'static str,
    /// The project that the demo starts from.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// The turns of the agent.
    pub(super) script: &'static str,
}

/// There is no server that needs a pause between attempts.
const SETTINGS: (&str, &str) = ("redgreen.toml", "backoff = 0.0\n");

/// The default is the first one that is installed: the quickest to start comes first.
pub const STACKS: &[Stack] = &[
    Stack {
        name: "python",
        programs: &["python3", "python"],
        install: "install Python 3: https://www.python.org/downloads",
        files: &[
            (".gitignore", include_str!("../../../demo/python/ignore")),
            ("roman.py", include_str!("../../../demo/python/roman.py")),
            ("test_numerals.py", include_str!("../../../demo/python/test_numerals.py")),
            SETTINGS,
        ],
        script: include_str!("../../../demo/python/kata.toml"),
    },
    Stack {
        name: "node",
        programs: &["node"],
        install: "install Node.js 20 or newer: https://nodejs.org",
        files: &[
            (".gitignore", include_str!("../../../demo/node/ignore")),
            ("package.json", include_str!("../../../demo/node/package.json")),
            ("roman.js", include_str!("../../../demo/node/roman.js")),
            ("numerals.test.js", include_str!("../../../demo/node/numerals.test.js")),
            SETTINGS,
        ],
        script: include_str!("../../../demo/node/kata.toml"),
    },
    Stack {
        name: "rust",
        programs: &["cargo"],
        install: "install Rust: https://rustup.rs",
        files: &[
            // Cargo leaves a folder with a Cargo.toml out of a published crate, so it has another
            // name here.
            ("Cargo.toml", include_str!("../../../demo/rust/manifest.toml")),
            (".gitignore", include_str!("../../../demo/rust/ignore")),
            ("src/lib.rs", include_str!("../../../demo/rust/src/lib.rs")),
            ("tests/numerals.rs", include_str!("../../../demo/rust/tests/numerals.rs")),
            SETTINGS,
        ],
        script: include_str!("../../../demo/rust/kata.toml"),
    },
];

/// Why there is no stack to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The language that was asked for is not installed: its place in [`STACKS`].
    This(usize),
    /// No language of the table is installed.
    All,
}

/// The stack with this name, or the first one that is installed.
pub fn choose(
    wanted: Option<&str>,
    has_program: impl Fn(&str) -> bool,
) -> Result<&'static Stack, Missing> {
    let is_installed = |stack: &Stack| stack.programs.iter().any(|program| has_program(program));
    let candidates =
        STACKS.iter().enumerate().filter(|(_, stack)| wanted.is_none_or(|name| stack.name == name));
    let mut missing = Missing::All;
    for (place, stack) in candidates {
        if is_installed(stack) {
            return Ok(stack);
        }
        if wanted.is_some() {
            missing = Missing::This(place);
        }
    }
    Err(missing)
}

#[cfg(test)]
mod tests {
    use super::{Missing, choose};

    #[test]
    fn the_first_installed_language_is_the_default() {
        let row = |wanted: Option<&str>, installed: &[&str]| -> Result<&str, Missing> {
            choose(wanted, |program| installed.contains(&program)).map(|stack| stack.name)
        };
        assert_eq!(row(None, &["cargo", "python3"]), Ok("python"));
        assert_eq!(row(None, &["python"]), Ok("python"));
        assert_eq!(row(None, &["cargo", "node"]), Ok("node"));
        assert_eq!(row(None, &["cargo"]), Ok("rust"));
        assert_eq!(row(None, &["git"]), Err(Missing::All));
        assert_eq!(row(Some("rust"), &["cargo", "python3"]), Ok("rust"));
        assert_eq!(row(Some("node"), &["cargo", "python3"]), Err(Missing::This(1)));
    }
}
