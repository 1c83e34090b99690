//! Repositories with more than one test framework: redgreen runs all and judges one report.

use super::Story;

/// One cycle: a file with a test, and the code that makes it pass.
struct Cycle {
    test: (&'static str, &'static str),
    code: (&'static str, &'static str),
}

impl Cycle {
    fn script(&self) -> String {
        let ((test_file, test), (code_file, code)) = (self.test, self.code);
        let next = format!(
            "description = \"{test_file}\", test-file = \"{test_file}\", impl-file = \"{code_file}\""
        );
        format!(
            "[[plan]]\nnext = {{ {next} }}\n[[red]]\ndo = [{{ write = \"{test_file}\", text = '''\n{test}''' }}]\n\
             [[green]]\ndo = [{{ append = \"{code_file}\", text = '''\n{code}''' }}]\n[[refactor]]\n"
        )
    }
}

/// Asserts that redgreen accepts every phase of these cycles at the first try.
#[track_caller]
fn runs(story: &Story, cycles: &[Cycle]) {
    let list: String = cycles.iter().map(|cycle| format!("- [ ] {}\\n", cycle.test.0)).collect();
    let list = format!("[[plan]]\ndo = [{{ write = \"test-list.md\", text = \"{list}\" }}]\n");
    let script: String = cycles.iter().map(Cycle::script).collect();
    story.script(
        "kata.toml",
        &format!("{}[[plan]]\ndone = true\n", script.replacen("[[plan]]\n", &list, 1)),
    );
    let said = story.redgreen("run --script @kata.toml \"both\"").exits(3);
    assert!(!said.stderr.contains("refused"), "{}", said.stderr);
    assert_eq!(said.stderr.matches("GREEN     accepted").count(), cycles.len(), "{}", said.stderr);
}

#[test]
fn python_and_rust_are_judged_together() {
    let story = Story::pytest();
    let manifest = "[package]\nname = \"fast\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    story
        .file("fast/Cargo.toml", manifest)
        .file("fast/src/lib.rs", "")
        .file(".gitignore", "target/\n__pycache__/\n");
    story.file("calc.py", "").file("tests/test_old.py", "def test_old():\n    pass\n");
    story.commit("two languages");
    let python = Cycle {
        test: (
            "tests/test_add.py",
            "import calc\n\ndef test_adds():\n    assert calc.add(1, 2) == 3\n",
        ),
        code: ("calc.py", "def add(a, b):\n    return a + b\n"),
    };
    let rust = Cycle {
        test: (
            "fast/tests/double.rs",
            "#[test]\nfn doubles() {\n    assert_eq!(fast::double(4), 8);\n}\n",
        ),
        code: ("fast/src/lib.rs", "pub fn double(number: u32) -> u32 {\n    2 * number\n}\n"),
    };
    runs(&story, &[python, rust]);
}

#[test]
fn a_runner_that_loads_nothing_hides_only_its_own_tests() {
    if !crate::runner::is_installed("rspec") {
        return;
    }
    let story = Story::pytest();
    story
        .file("lib/old.rb", "class Old; end\n")
        .file("tests/test_old.py", "def test_old():\n    pass\n");
    story.file(
        "spec/old_spec.rb",
        "require 'old'\nRSpec.describe(Old) { it('is') { expect(Old.new).to be } }\n",
    );
    story.file("lib/calc.rb", "").commit("two languages");
    let spec =
        "require 'calc'\nRSpec.describe(Calc) { it('adds') { expect(Calc.add(1, 2)).to eq(3) } }\n";
    let ruby = Cycle {
        test: ("spec/calc_spec.rb", spec),
        code: ("lib/calc.rb", "module Calc\n  def self.add(a, b) = a + b\nend\n"),
    };
    runs(&story, &[ruby]);
}
