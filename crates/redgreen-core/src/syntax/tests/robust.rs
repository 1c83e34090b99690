//! Every query returns an answer, whatever the text.

use super::*;

const SAMPLES: &[(&str, &str)] = &[
    (
        "tests/test_a.py",
        "import a.b as c\nfrom .d import *\n@pytest.mark.parametrize('n, r', [(1, 'é')])\ndef test_a(n, r):\n    \"\"\"\n    >>> f(1)\n    2\n    \"\"\"\n    assert c.f(n) == r, f'{n}'\n    with pytest.raises(E):\n        f(0)\n",
    ),
    (
        "src/a.rs",
        "//! ```\n//! f();\n//! ```\nuse a::{b, c::*};\npub fn f(n: u8) -> Option<u8> { if n > 1 { None } else { Some(n + 1) } }\n#[cfg(test)]\nmod tests {\n    proptest! { #[test] fn p(n in 0..9) { prop_assert_eq!(n, 'é'); } }\n    #[test]\n    fn t() { assert_eq!(f(1), Some(2)); }\n}\n",
    ),
    (
        "a.test.tsx",
        "import x, { y as z } from './é';\ndescribe('a', () => {\n  test.each([[1, `b${x}`]])('%i', async (n, r) => { await expect(<A b={n} />).resolves.toBe(r); });\n});\nexport const f = (n: number): string => n > 1 ? 'a' : \"b\";\n",
    ),
    (
        "a_test.go",
        "package a\nimport \"x/y\"\nfunc TestA(t *testing.T) {\n\tfor _, tt := range []struct{ n int }{{1}} {\n\t\tif y.F(tt.n) != 1 { t.Fatal('é') }\n\t}\n}\n",
    ),
    (
        "src/test/java/ATest.java",
        "package a;\nimport b.C;\nclass ATest {\n  @ParameterizedTest @CsvSource({\"1, é\"}) void a(int n) { if (n > 1) fail(); assertEquals(\"x\", C.of(n)); }\n}\n",
    ),
];

/// Runs every query. It must return without a panic.
fn ask(path: &str, source: &str, other: &str) {
    let language = Language::of_path(path);
    for item in items(language, path, source) {
        assert!(source.get(item.span.clone()).is_some(), "{path}");
        let way = PerturbRules { pick: Pick::Last, letters: Letters::Own };
        impossible(language, path, source, &[&item], Extent::Everything, way);
    }
    test_block_frozen(language, path, other, source);
    overlay_tests(language, path, other, source);
    overlay_tests(language, "code", source, other);
    for import in imports(language, source) {
        resolve(language, path, &import, Project { paths: &[path.to_owned()], packages: &[] });
    }
    inert_stub(language, path, &["a".to_owned()], Some(source));
    for mutant in mutants(language, path, source, &[0..=u32::MAX], 3) {
        assert!(mutant.apply(source).is_some(), "{path}");
    }
    is_stub(language, other, source);

    shared_values(language, other, other, source);
}

#[test]
fn half_a_file_is_read_as_far_as_it_goes() {
    const STEP: usize = 11;
    for (path, source) in SAMPLES {
        for (end, _) in source.char_indices().step_by(STEP) {
            ask(path, &source[..end], source);
            ask(path, &source[end..], source);
        }
    }
}

#[test]
fn text_that_is_no_program_is_answered() {
    let deep = "(".repeat(3_000);
    let blocks = "{ [ if x: ".repeat(500);
    let long = "x = 1\n".repeat(500);
    let odd = "\u{0}\u{fffd}def 𝒳(\r\n\t'''é";
    for (path, _) in SAMPLES.iter().chain(&[("a.txt", ""), ("a.js", "")]) {
        for source in [deep.as_str(), &blocks, &long, odd, "", "{", "@", "#[test", "'", "\"\\"] {
            ask(path, source, "");
        }
    }
}

#[test]
fn a_file_beyond_the_bounds_is_known_by_file_only() {
    let long = "def test_a(): pass\n".repeat(SOURCE_BYTES_MAX / 19 + 1);
    assert!(items(Language::Python, "tests/test_a.py", &long).is_empty());
    let deep = format!("def test_a():\n    assert {}1{}\n", "(".repeat(5_000), ")".repeat(5_000));
    assert!(items(Language::Python, "tests/test_a.py", &deep).is_empty());
}
