//! The evidence of `redgreen verify`: each test on its own, mutants that time out, and parts from
//! several machines.

use std::fs;

use super::{OLD, OLD_TEST, classes, project, proven, refuted, verify};
use crate::runner::is_installed;
use crate::skip::skipped;
use crate::story::Story;

/// A test without a real assertion next to a good one. Without the change the function is missing,
/// so the test fails, but no mutant of the function makes it fail.
#[test]
fn a_test_that_only_needs_what_is_new_is_refuted_beside_a_good_one() {
    let story = project();
    let good = "\n\ndef test_triples():\n    import old\n\n    assert old.triple(4) == 12\n";
    let weaker = "\n\ndef test_weaker():\n    import old\n\n    old.triple(4)\n    assert True\n";
    let code = format!("{OLD}\n\ndef triple(n):\n    return 3 * n\n");
    story.file("old.py", &code).file("tests/test_old.py", &format!("{OLD_TEST}{good}{weaker}"));
    story.commit("triples");
    let json = refuted(&story, "main..topic", "verify.does_not_discriminate");
    let all = ["test_triples proven-by-mutant", "test_weaker does-not-discriminate"];
    assert_eq!(classes(&json), all, "{json:#}");
    // The test file does not load without the function.
    let test = "from old import triple\n\n\ndef test_triples():\n    assert triple(4) == 12\n\n\n\
                def test_weaker():\n    triple(4)\n    assert True\n";
    story.file("tests/test_old.py", OLD_TEST).file("tests/test_triple.py", test).commit("imports");
    let json = refuted(&story, "main..topic", "verify.does_not_discriminate");
    assert_eq!(classes(&json), all, "{json:#}");
    story.file("tests/test_old.py", &format!("{OLD_TEST}{good}"));
    fs::remove_file(story.root.join("tests/test_triple.py")).unwrap();
    story.commit("without the weaker one");
    proven(&story, "main..topic");
}

#[test]
fn a_test_that_only_needs_what_is_new_is_refuted_in_other_languages() {
    /// The code and its tests: path, old text, and the text that the range adds.
    type Project = [(&'static str, &'static str, &'static str); 2];
    const NODE: Project = [
        (
            "calc.js",
            "export const double = (n) => 2 * n;\n",
            "export function triple(n) {\n  return 3 * n;\n}\n",
        ),
        (
            "calc.test.js",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport * as calc from './calc.js';\n\
             test('doubles', () => assert.equal(calc.double(2), 4));\n",
            "test('triples', () => assert.equal(calc.triple(4), 12));\n\
             test('weaker', () => {\n  calc.triple(4);\n  assert.ok(true);\n});\n",
        ),
    ];
    const GO: Project = [
        (
            "calc.go",
            "package calc\n\nfunc Double(n int) int { return 2 * n }\n",
            "\nfunc Triple(n int) int {\n\treturn 3 * n\n}\n",
        ),
        (
            "calc_test.go",
            "package calc\n\nimport \"testing\"\n\nfunc TestDoubles(t *testing.T) {\n\tif Double(2) != 4 {\n\t\t\
             t.Fatal(\"not 4\")\n\t}\n}\n",
            "\nfunc TestTriples(t *testing.T) {\n\tif Triple(4) != 12 {\n\t\tt.Fatal(\"not 12\")\n\t}\n}\n\n\
             func TestWeaker(t *testing.T) {\n\t_ = Triple(4)\n}\n",
        ),
    ];
    const RUST: Project = [
        (
            "src/lib.rs",
            "pub fn double(n: i32) -> i32 {\n    2 * n\n}\n",
            "\npub fn triple(n: i32) -> i32 {\n    3 * n\n}\n",
        ),
        (
            "tests/calc.rs",
            "#[test]\nfn doubles() {\n    assert_eq!(calc::double(2), 4);\n}\n",
            "\n#[test]\nfn triples() {\n    assert_eq!(calc::triple(4), 12);\n}\n\n\
             #[test]\nfn weaker() {\n    let _ = calc::triple(4);\n    assert!(true);\n}\n",
        ),
    ];
    for (tool, manifest, text, project) in [
        (
            "node",
            "package.json",
            "{\"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n",
            NODE,
        ),
        ("go", "go.mod", "module calc\n\ngo 1.21\n", GO),
        (
            "cargo",
            "Cargo.toml",
            "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            RUST,
        ),
    ] {
        if !is_installed(tool) {
            skipped(&format!("{tool} is not installed"));
            continue;
        }
        let story = Story::bare_folder();
        story.git("init -q -b main");
        story.git("config user.name Ada");
        story.git("config user.email ada@example.com");
        story.file(manifest, text);
        for (path, old, _) in project {
            story.file(path, old);
        }
        story.commit("base");
        story.git("checkout -q -b topic");
        for (path, old, more) in project {
            story.file(path, &format!("{old}{more}"));
        }
        story.commit("triples");
        let json = refuted(&story, "main..topic", "verify.does_not_discriminate");
        let weaker = classes(&json).into_iter().filter(|class| class.ends_with("not-discriminate"));
        assert_eq!(weaker.count(), 1, "{tool}: {json:#}");
    }
}

/// Reverting the change proves the other test. This one also passes without the change, and fails
/// for a mutant of it.
#[test]
fn a_test_of_what_is_kept_gets_mutants_in_a_place_of_other_tests() {
    let story = project();
    let code = "def double(n):\n    if n < 0:\n        return 0\n    return 2 * n\n";
    let more = "\n\ndef test_debts():\n    assert double(-3) == 0\n\n\n\
                def test_zero():\n    assert not double(0) != 0\n    assert double(1) != 0\n";
    story.file("old.py", code).file("tests/test_old.py", &format!("{OLD_TEST}{more}"));
    story.commit("no debts");
    let json = proven(&story, "main..topic");
    assert_eq!(classes(&json), ["test_debts proven", "test_zero characterises"], "{json:#}");
    let mutants = json["evidence"]["mutants"].as_array().unwrap();
    let real = mutants.iter().filter(|mutant| mutant["what"].to_string().contains("became"));
    assert!(real.count() > 0, "{json:#}");
}

/// Only reverting shows that no test covers the second place, because its language has no mutants.
/// Only the first machine has the judge's steps.
#[test]
fn parts_of_a_proof_are_never_looser_than_the_whole() {
    let story = project();
    story.git("checkout -q main");
    story.file("redgreen.toml", "backoff = 0.0\n\n[verify]\nevery-place = true\n");
    story.file("zero.sql", "select 0;\n").commit("strict");
    story.git("checkout -q -B topic main");
    story.file("old.py", "def double(n):\n    return None if n is None else 2 * n\n");
    let more = "== 4\n    assert double(None) is None";
    story.file("tests/test_old.py", &OLD_TEST.replace("== 4", more));
    story.file("zero.sql", "select 1;\n").commit("doubles nothing");
    let whole = refuted(&story, "main..topic", "verify.no_test");
    for part in ["1/2", "2/2"] {
        let said = story.redgreen(&format!("verify main..topic --shard {part} --json"));
        story.script(&format!("part-{}.json", &part[..1]), said.stdout.lines().last().unwrap());
    }
    let merged = story.redgreen("verify --merge @part-1.json @part-2.json --json").exits(1).json();
    assert_eq!(merged["code"], whole["code"], "{merged:#}");
    assert_eq!(merged["reasons"], whole["reasons"], "{merged:#}");
}

/// The machine is busy during the first run of a mutant that no test detects. Without a sandbox, so
/// that the second run can know of the first.
#[test]
fn a_mutant_that_runs_out_of_time_once_is_not_killed() {
    let story = project();
    story.git("checkout -q main");
    let mark = story.place("busy");
    let busy = format!(
        "import os\nimport time\n\nif os.path.exists(\"age.py\"):\n    \
         with open(\"age.py\") as file:\n        is_mutant = \"n <= 18\" in file.read()\n    \
         mark = {mark:?}\n    \
         if is_mutant and not os.path.exists(mark):\n        \
         open(mark, \"w\").close()\n        time.sleep(600)\n"
    );
    let settings = "backoff = 0.0\n\n[test]\nfence = \"none\"\n\n[verify]\nmutants = 1\n";
    story.file("redgreen.toml", settings);
    story.file("conftest.py", &busy).commit("a busy machine");
    story.git("checkout -q -B topic main");
    let test = "from age import is_child\n\n\ndef test_ages():\n    assert is_child(3)\n    assert not is_child(40)\n";
    story.file("age.py", "def is_child(n):\n    return n < 18\n");
    story.file("tests/test_age.py", test).commit("ages");
    let (_, json) = verify(&story, "main..topic");
    let mutants = json["evidence"]["mutants"].as_array().unwrap();
    let killed: Vec<String> = mutants
        .iter()
        .filter(|mutant| mutant["hunk"] == 0)
        .map(|mutant| format!("{}: {}", mutant["what"], mutant["killed"]))
        .collect();
    assert_eq!(killed, ["\"age.py:2: `<` became `<=`\": \"by-none\""], "{json:#}");
    assert_eq!(json["code"][0]["standing"], "no-test", "{json:#}");
    assert!(mark.exists(), "the first run was busy");
}
