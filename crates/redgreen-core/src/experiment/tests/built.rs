//! Calls made by a program that is built with the code.

use super::*;
use crate::experiment::calls::built;

#[test]
fn code_that_is_built_is_called_by_a_program_with_values_near_those_of_the_tests() {
    let manifest = ("Cargo.toml", "[package]\nname = \"roman\"\n");
    let library = ("src/lib.rs", "mod kit;\n#[cfg(test)]\nmod tests {}\n");
    let (folder, rust) = (("src/kit.rs", "mod roman;\n"), "src/kit/roman.rs");
    let test = ("tests/roman.rs", "#[test]\nfn a() {\n    assert_eq!(add(\"a, b\", 3), 3);\n}\n");
    let (old, new) = (
        "pub fn add(a: &str, n: u8) -> u8 { n }\n",
        "pub fn add(a: &str, n: u8) -> u8 { n + 0 }\n",
    );
    let before = [manifest, library, folder, test, (rust, old)];
    let now = [manifest, library, folder, test, (rust, new)];
    let scene = Scene { before: &before, now: &now, ..Scene::default() };
    let (asks, laid) = scene.ask(JudgedPhase::Refactor, |material| {
        let asks = built::near(material);
        let made = built::programs(material, Tree::Base, asks.clone(), Question::Calls, "calls");
        assert!(made.missing.is_empty(), "{:?}", made.missing);
        (
            asks,
            made.programs
                .into_iter()
                .flat_map(|program| program.experiment.edits)
                .collect::<Vec<_>>(),
        )
    });
    let args = |ask: &built::Ask| serde_json::to_string(&ask.args).unwrap();
    assert_eq!(args(&asks[0]), r#"["a, b",3]"#);
    let all: Vec<String> = asks.iter().map(args).collect();
    assert!(
        all.contains(&r#"["a, b",4]"#.to_owned()) && all.contains(&r#"["",3]"#.to_owned()),
        "{all:?}"
    );
    let text = |path: &str| {
        laid.iter().find(|(known, _)| known == path).map(|(_, text)| text.as_str()).unwrap()
    };
    assert!(text(rust).contains("ask!(0, super::add(\"a, b\", 3u8));"), "{}", text(rust));
    assert!(text("src/kit.rs").starts_with("pub(crate) mod roman;"), "{}", text("src/kit.rs"));
    let main = text("src/program.rs");
    assert!(main.starts_with("pub(crate) mod kit;\n#[cfg(test)]\n"), "{main}");
    assert!(main.contains("crate::kit::roman::redgreen_calls::make();"), "{main}");
    assert!(text("Cargo.toml").contains("[[bin]]"));
}

#[test]
fn calls_of_go_stand_in_the_package_that_they_call() {
    let code =
        |body: &str| format!("package roman\n\nfunc Add(a, b int) int {{ return {body} }}\n");
    let (old, new) = (code("a + b"), code("b + a"));
    let (manifest, path) = (("go.mod", "module example.com/kit\n"), "roman/roman.go");
    let test = (
        "roman/roman_test.go",
        "package roman\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t}\n}\n",
    );
    let (before, now) = ([manifest, test, (path, &old)], [manifest, test, (path, &new)]);
    let scene = Scene { before: &before, now: &now, ..Scene::default() };
    let laid = scene.ask(JudgedPhase::Refactor, |material| {
        let made =
            built::programs(material, Tree::Head, built::near(material), Question::Calls, "calls");
        made.programs.into_iter().flat_map(|program| program.experiment.edits).collect::<Vec<_>>()
    });
    let text = |path: &str| {
        laid.iter().find(|(known, _)| known == path).map(|(_, text)| text.as_str()).unwrap()
    };
    assert!(text("roman/redgreen_calls.go").contains("redgreenAsk(0, Add, \"[1,2]\")"));
    assert!(text("roman/program/main.go").contains("import tested \"example.com/kit/roman\""));
}

#[test]
fn lists_of_tests_are_arguments_as_well() {
    let code = |body: &str| format!("package kit\n\nfunc Sum(all []int) int {{ return {body} }}\n");
    let (old, new) = (code("0"), code("1"));
    let test = (
        "kit_test.go",
        "package kit\n\nfunc TestSum(t *testing.T) {\n\tif Sum([]int{1, 2}) != 3 {\n\t}\n}\n",
    );
    let manifest = ("go.mod", "module example.com/kit\n");
    let (before, now) = ([manifest, test, ("kit.go", &old)], [manifest, test, ("kit.go", &new)]);
    let scene = Scene { before: &before, now: &now, ..Scene::default() };
    let asks = scene.ask(JudgedPhase::Refactor, built::near);
    let all: Vec<String> =
        asks.iter().map(|ask| serde_json::to_string(&ask.args).unwrap()).collect();
    for args in ["[[1,2]]", "[[]]", "[[2,1]]", "[[1,2,1,2]]", "[[0,2]]"] {
        assert!(all.contains(&args.to_owned()), "{args} is not in {all:?}");
    }
}

#[test]
fn a_call_counts_where_it_answers_the_same_each_time() {
    let asks = [built::Ask {
        index: 0,
        path: "a.rs".to_owned(),
        function: "f".to_owned(),
        args: vec![4.into()],
    }];
    let gives = |text: &str| format!("{{\"index\": 0, \"kind\": \"u8\", \"shown\": \"{text}\"}}");
    let fails = |names: &str| format!("{{\"index\": 0, \"raises\": {names}, \"shown\": \"\"}}");
    let error = |words: &str| fails(&format!("[\"error\", \"errorString\", \"{words}\"]"));
    for (before, now, told) in [
        (vec![gives("1"), gives("1")], vec![gives("1"), gives("1")], None),
        (
            vec![gives("1"), gives("1")],
            vec![gives("2"), gives("2")],
            Some("f(4) of a.rs gave 1 before and gives 2 now"),
        ),
        (vec![gives("1"), gives("3")], vec![gives("2"), gives("2")], None),
        (vec![gives("1")], vec!["{\"index\": 0, \"missing\": \"no function f\"}".to_owned()], None),
        (vec![error("one")], vec![error("two")], None),
        (
            vec![gives("1")],
            vec![fails("[\"panic\"]")],
            Some("f(4) of a.rs gave 1 before and raises  now"),
        ),
    ] {
        let program = built::Program { experiment: suite::on(Tree::Head), asked: vec![0] };
        let said = |lines: &[String]| program.said(Some(&lines.join("\n")));
        let (reasons, _) = built::differences(&asks, &said(&before), &said(&now));
        assert_eq!(
            reasons.first().map(|reason| reason.sentence.as_str()),
            told,
            "{before:?} {now:?}"
        );
    }
}
