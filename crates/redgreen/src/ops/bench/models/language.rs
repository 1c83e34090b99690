//! What differs between the languages of `bench models`: the project at the start, and how the
//! checks of a task are run on the result.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::super::katas::node_packages;
use super::super::{has_pytest, python};
use super::katas::Kata;
use crate::config::Environment;
use crate::failure::Failure;
use crate::process::{Program, Stop};

/// A language of the tasks, with the test framework in brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// pytest; all tasks
    #[default]
    Python,
    /// vitest; six of the tasks
    #[value(name = "typescript")]
    TypeScript,
    /// cargo; six of the tasks
    Rust,
}

const NODE_MODULES: &str = "node_modules";

impl Language {
    /// The project at the start.
    pub(super) fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Language::Python => &[("pytest.ini", "[pytest]\n")],
            Language::TypeScript => &[
                (
                    "package.json",
                    "{\n  \"name\": \"kata\",\n  \"type\": \"module\",\n  \"scripts\": { \"test\": \"vitest run\" },\n  \
                     \"devDependencies\": { \"vitest\": \"*\" }\n}\n",
                ),
                (
                    "tsconfig.json",
                    "{\n  \"compilerOptions\": { \"strict\": true, \"module\": \"esnext\", \"target\": \"es2022\" }\n}\n",
                ),
                (".gitignore", "node_modules\n"),
            ],
            Language::Rust => &[
                (
                    "Cargo.toml",
                    "[package]\nname = \"kata\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
                ),
                ("src/lib.rs", ""),
                (".gitignore", "/target\n/Cargo.lock\n"),
            ],
        }
    }

    /// An error if the tests cannot run on this machine.
    pub(super) fn require(self, environment: &Environment, stop: &Stop) -> Result<(), Failure> {
        let missing = |tool: &str, next: &str| {
            let message = format!("the tasks of this bench need {tool}, which is not installed");
            Err(Failure::environment(message).next(next))
        };
        match self {
            Language::Python if !has_pytest(environment, stop) => {
                missing("pytest", "python3 -m pip install pytest")
            }
            Language::TypeScript if node_packages().is_none() => {
                missing("vitest in a node_modules folder above this one", "npm install vitest")
            }
            Language::Rust if !environment.has_program("cargo") => {
                missing("cargo", "install Rust from https://rustup.rs")
            }
            Language::Python | Language::TypeScript | Language::Rust => Ok(()),
        }
    }

    /// Makes the installed packages available in a folder.
    pub(super) fn link_packages(self, folder: &Path) -> Result<()> {
        match self {
            Language::Python | Language::Rust => Ok(()),
            Language::TypeScript => match node_packages() {
                Some(packages) => symlink(packages, folder.join(NODE_MODULES))
                    .context("link to the installed packages"),
                None => Ok(()),
            },
        }
    }

    /// The program that succeeds if the result in this folder passes all checks of the task,
    /// wherever in the folder the function is.
    pub(super) fn checks(
        self,
        kata: &Kata,
        folder: &Path,
        environment: &Environment,
    ) -> Result<Program> {
        let write = |path: &str, text: String| {
            let path = folder.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)
                    .with_context(|| format!("create {}", parent.display()))?;
            }
            fs::write(&path, text).with_context(|| format!("write {}", path.display()))
        };
        let program = match self {
            Language::Python => python(environment).args(["-c", &python_checks(kata)]),
            Language::TypeScript => {
                write("checks.test.ts", typescript_checks(kata, &typescript_files(folder)?))?;
                let vitest = folder.join(NODE_MODULES).join("vitest/vitest.mjs");
                Program::new("node").arg(vitest).args(["run", "checks.test.ts"])
            }
            Language::Rust => {
                write("tests/checks.rs", rust_checks(kata))?;
                Program::new("cargo").args(["test", "--offline", "--test", "checks"])
            }
        };
        Ok(program.cwd(folder))
    }
}

fn python_checks(kata: &Kata) -> String {
    let name = kata.function;
    let mut text = format!(
        "import importlib, pathlib\nfor path in sorted(pathlib.Path('.').glob('*.py')):\n    if not \
         path.name.startswith('test_'):\n        module = importlib.import_module(path.stem)\n        {name} = \
         getattr(module, '{name}', None) or globals().get('{name}')\n"
    );
    for (arguments, result) in kata.checks {
        writeln!(text, "assert {name}({arguments}) == {result}").ok();
    }
    text
}

fn typescript_checks(kata: &Kata, files: &[String]) -> String {
    let name = kata.function;
    let mut text = "import { expect, test } from \"vitest\";\n".to_owned();
    for (number, file) in files.iter().enumerate() {
        writeln!(text, "import * as file{number} from \"./{file}\";").ok();
    }
    let modules: Vec<String> = (0..files.len()).map(|number| format!("file{number}")).collect();
    writeln!(text, "const {name} = Object.assign({{}}, {}).{name};", modules.join(", ")).ok();
    text.push_str("test(\"checks\", () => {\n");
    for (arguments, result) in kata.checks {
        let result = lower_case_truth(result);
        writeln!(text, "  expect({name}({arguments})).toBe({result});").ok();
    }
    text + "});\n"
}

/// The code files at the top of a folder, where redgreen puts them in a project without folders.
fn typescript_files(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".ts") && !name.contains(".test.")).collect();
    names.sort();
    Ok(names)
}

fn rust_checks(kata: &Kata) -> String {
    let name = kata.function;
    let mut text = format!("use kata::{name};\n\n#[test]\nfn checks() {{\n");
    for (arguments, result) in kata.checks {
        // Strings fit `&str` and `String`.
        let arguments = match arguments.strip_suffix('"') {
            Some(_) => format!("{arguments}.into()"),
            None => (*arguments).to_owned(),
        };
        let result = lower_case_truth(result);
        writeln!(text, "    assert_eq!({name}({arguments}), {result});").ok();
    }
    text + "}\n"
}

fn lower_case_truth(result: &str) -> &str {
    match result {
        "True" => "true",
        "False" => "false",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::katas::KATAS;
    use super::*;

    #[test]
    fn checks_are_literals_of_each_language() {
        let of = |name: &str| KATAS.iter().find(|kata| kata.name == name).unwrap();
        let leap = typescript_checks(of("is_leap"), &["a.ts".to_owned(), "b.ts".to_owned()]);
        assert!(leap.contains("Object.assign({}, file0, file1).is_leap"), "{leap}");
        assert!(leap.contains("expect(is_leap(1900)).toBe(false);"), "{leap}");
        let palindrome = rust_checks(of("is_palindrome"));
        assert!(palindrome.contains("assert_eq!(is_palindrome(\"ab\".into()), false);"));
        assert!(python_checks(of("median")).ends_with("assert median([7]) == 7\n"));
    }

    #[test]
    fn six_tasks_are_there_in_every_language() {
        for language in [Language::TypeScript, Language::Rust] {
            let count = KATAS.iter().filter(|kata| kata.languages.contains(&language)).count();
            assert_eq!(count, 6, "{language:?}");
        }
        assert!(KATAS.iter().all(|kata| kata.languages.contains(&Language::Python)));
    }
}
