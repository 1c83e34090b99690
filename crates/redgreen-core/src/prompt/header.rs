//! The first lines of a new test file, by convention: an import of the code under test, with a name
//! to fill in.

use crate::syntax::Language;

/// `None` if the paths are not conclusive.
pub(crate) fn of(test_file: &str, impl_file: &str) -> Option<String> {
    let stem = |path: &str| {
        let name = path.rsplit('/').next()?;
        name.split('.').next().filter(|stem| !stem.is_empty()).map(str::to_owned)
    };
    match Language::of_path(test_file) {
        Language::Python => {
            let module = impl_file.strip_suffix(".py")?;
            let module = module.strip_prefix("src/").unwrap_or(module).replace('/', ".");
            Some(format!("from {} import …", module.strip_suffix(".__init__").unwrap_or(&module)))
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            let path = relative(test_file, impl_file);
            let path = path.strip_suffix(".ts").or(path.strip_suffix(".tsx")).unwrap_or(&path);
            let common = test_file.ends_with(".cjs");
            Some(if common {
                format!("const {{ … }} = require(\"{path}\");")
            } else {
                format!("import {{ … }} from \"{path}\";")
            })
        }
        Language::Go => {
            let folder = impl_file.rsplit('/').nth(1)?;
            Some(format!("package {folder}\n\nimport \"testing\""))
        }
        Language::Java => {
            let package =
                impl_file.split_once("src/main/java/")?.1.rsplit_once('/')?.0.replace('/', ".");
            Some(format!("package {package};\n\nclass {} {{", stem(test_file)?))
        }
        Language::Rust => {
            Some("use <crate>::…;".to_owned()).filter(|_| test_file.starts_with("tests/"))
        }
        Language::Other => None,
    }
}

/// The relative path from one file to another, as in an import.
fn relative(from: &str, to: &str) -> String {
    let mut here: Vec<&str> = from.split('/').collect();
    here.pop();
    let there: Vec<&str> = to.split('/').collect();
    let common = here.iter().zip(&there).take_while(|(one, other)| one == other).count();
    let up = if here.len() == common { "./".to_owned() } else { "../".repeat(here.len() - common) };
    format!("{up}{}", there.get(common..).unwrap_or_default().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_file_starts_with_the_import_of_its_code() {
        for (test, code, expected) in [
            ("tests/test_calc.py", "calc.py", Some("from calc import …")),
            ("test_calc.py", "src/bank/account.py", Some("from bank.account import …")),
            ("tests/test_bank.py", "bank/__init__.py", Some("from bank import …")),
            ("test/calc.test.js", "src/calc.js", Some("import { … } from \"../src/calc.js\";")),
            ("src/calc.test.ts", "src/calc.ts", Some("import { … } from \"./calc\";")),
            ("test/a.cjs", "a.cjs", Some("const { … } = require(\"../a.cjs\");")),
            ("calc/calc_test.go", "calc/calc.go", Some("package calc\n\nimport \"testing\"")),
            ("calc_test.go", "calc.go", None),
            (
                "src/test/java/org/bank/AccountTest.java",
                "src/main/java/org/bank/Account.java",
                Some("package org.bank;\n\nclass AccountTest {"),
            ),
            ("tests/calc.rs", "src/lib.rs", Some("use <crate>::…;")),
            ("src/lib.rs", "src/lib.rs", None),
            ("tests/calc.bats", "calc.sh", None),
            ("", "", None),
        ] {
            assert_eq!(of(test, code).as_deref(), expected, "{test} for {code}");
        }
    }
}
