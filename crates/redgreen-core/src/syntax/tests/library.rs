//! What a test uses besides the language's library.

use super::*;

fn of<T>(path: &str, source: &str, ask: impl Fn(&Item) -> T) -> T {
    let items = items(Language::of_path(path), path, source);
    ask(items.iter().find(|item| item.is_test).unwrap())
}

#[test]
fn a_test_of_the_library_alone_is_told() {
    for (body, expected) in [
        ("let text = std::fs::read_to_string(\"x\").unwrap();\n    assert_eq!(text, \"a\");", true),
        ("File::open(\"x\").expect(\"no\");", true),
        ("assert!(Path::new(\"src/wrap.rs\").exists());", true),
        ("assert_eq!(read(\"x\"), \"a\");", true),
        (
            "for line in std::fs::read_to_string(\"x\").unwrap().lines() {\n        assert!(!line.is_empty());\n    }",
            true,
        ),
        ("assert_eq!(wrap(\"x\"), \"a\");", false),
        ("assert_eq!(kit::wrap(\"x\"), \"a\");", false),
        ("let text = std::fs::read_to_string(\"x\").unwrap();\n    assert_eq!(text, LIMIT);", false),
        (
            "let text = std::fs::read_to_string(\"x\").unwrap();\n    assert_eq!(text.parse::<Doc>().unwrap().len(), 1);",
            false,
        ),
        ("let out = std::process::Command::new(\"kit\").output().unwrap();\n    assert!(out.status.success());", false),
        ("assert_eq!(shows(\"x\"), \"a\");", false),
    ] {
        let source = format!(
            "use kit::*;\nuse std::fs::File;\nuse std::path::Path;\nfn read(name: &str) -> String {{\n    std::fs::read_to_string(name).unwrap()\n}}\nfn shows(name: &str) -> String {{\n    render(name)\n}}\n#[test]\nfn a() {{\n    {body}\n}}\n"
        );
        let only = of("tests/a.rs", &source, |item| uses_only_library(Language::Rust, "tests/a.rs", &source, item));
        assert_eq!(only, expected, "{body}");
    }
    for (body, expected) in [
        ("if got := strings.ToUpper(\"a\"); got != \"B\" {\n\t\tt.Fatal(got)\n\t}", true),
        ("data, err := os.ReadFile(\"x\")\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\t_ = data", true),
        ("if own(1) != 2 {\n\t\tt.Fatal()\n\t}", true),
        ("if Title(\"a\") != \"A\" {\n\t\tt.Fatal()\n\t}", false),
        ("if slug.Title(\"a\") != \"A\" {\n\t\tt.Fatal()\n\t}", false),
        ("data, _ := os.ReadFile(\"x\")\n\tif Parse(data) != nil {\n\t\tt.Fatal()\n\t}", false),
    ] {
        let source = format!(
            "package a\n\nimport (\n\t\"os\"\n\t\"strings\"\n\t\"testing\"\n\n\t\"example.com/kit/slug\"\n)\n\nfunc TestA(t *testing.T) {{\n\t{body}\n}}\n\nfunc own(n int) int {{ return n }}\n"
        );
        let only = of("a_test.go", &source, |item| uses_only_library(Language::Go, "a_test.go", &source, item));
        assert_eq!(only, expected, "{body}");
    }
}

#[test]
fn a_golden_file_is_compared_and_an_input_is_given() {
    for (body, line, expected) in [
        ("let want = std::fs::read_to_string(\"x\").unwrap();\n    assert_eq!(render(1), want);", 7, true),
        ("let want = golden(\"x\");\n    assert_eq!(render(1), want);", 4, true),
        ("let text = std::fs::read_to_string(\"x\").unwrap();\n    assert_eq!(render(&text), \"a\");", 7, false),
        ("let text = golden(\"x\");\n    assert_eq!(render(&text), \"a\");", 4, false),
        ("let text = std::fs::read_to_string(\"x\").unwrap();\n    assert_eq!(text, \"a\");", 7, false),
    ] {
        let source = format!(
            "use kit::render;\nfn golden(name: &str) -> String {{\n    let path = name;\n    std::fs::read_to_string(path).unwrap()\n}}\n#[test]\nfn a() {{\n    {body}\n}}\n"
        );
        let names = ["render".to_owned()];
        let ask = |item: &Item| compares_what_it_reads(Language::Rust, "tests/a.rs", &source, item, Some(line), &names);
        assert_eq!(of("tests/a.rs", &source, ask), expected, "{body}");
    }
    for (body, expected) in [
        ("want = GOLDEN.read_text()\n    assert render(1) == want", true),
        ("with open('x') as file:\n        want = file.read()\n    assert render(1) == want", true),
        ("text = GOLDEN.read_text()\n    assert render(text) == 'a'", false),
    ] {
        let source = format!("from kit import render\n\ndef test_a():\n    {body}\n");
        let names = ["render".to_owned()];
        let ask =
            |item: &Item| compares_what_it_reads(Language::Python, "tests/test_a.py", &source, item, Some(4), &names);
        assert_eq!(of("tests/test_a.py", &source, ask), expected, "{body}");
    }
}
