//! Real CTest, with GoogleTest and Catch2 if they are installed. Compilers take seconds, so one
//! project covers many situations.

use std::path::Path;
use std::time::Duration;

use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::LoadErrorKind;

use super::{Project, check, is_installed, shown};
use crate::skip::skipped;

/// A library and its test program, or `None` and a message if something is not installed.
fn project(library: &str, header: &str, tests: &str) -> Option<Project> {
    if !["cmake", "ctest", "c++"].iter().all(|program| is_installed(program)) {
        return None;
    }
    if !Path::new("/usr/include").join(header).exists() {
        skipped(&format!("{library} is not installed"));
        return None;
    }
    let cmake = format!(
        "cmake_minimum_required(VERSION 3.14)\nproject(demo CXX)\nenable_testing()\n\
         add_executable(calc_test tests/calc_test.cpp src/calc.cpp)\ntarget_include_directories(calc_test PRIVATE src)\n\
         {library}"
    );
    let calc = "int add(int a, int b) {\n  return a + b;\n}\nint never() {\n  return 7;\n}\n";
    Some(Project::new(&[
        ("CMakeLists.txt", &cmake),
        ("src/calc.h", "int add(int a, int b);\nint never();\n"),
        ("src/calc.cpp", calc),
        ("tests/calc_test.cpp", tests),
    ]))
}

const GTEST: &str =
    "find_package(GTest REQUIRED)\ntarget_link_libraries(calc_test GTest::gtest_main)\n";
const DISCOVERED: &str = "include(GoogleTest)\ngtest_discover_tests(calc_test)\n";

fn gtest(added: &str, tests: &str) -> Option<Project> {
    project(&format!("{GTEST}{added}"), "gtest/gtest.h", &format!("{USES}{tests}"))
}

const USES: &str =
    "#include <gtest/gtest.h>\n#include <cstdlib>\n#include <unistd.h>\n#include \"calc.h\"\n";
const ADDS: &str = "TEST(Calc, Adds) { EXPECT_EQ(3, add(1, 2)); }\n";

#[test]
fn what_fails_is_reported_apart() {
    let tests = format!(
        "{ADDS}TEST(Calc, Wrong) {{\n  EXPECT_EQ(4, add(1, 2));\n}}\n\
         TEST(Calc, Throws) {{ throw 1; }}\nTEST(Calc, Leaves) {{ _exit(0); }}\nTEST(Calc, Aborts) {{ abort(); }}\n\
         TEST(Calc, Later) {{ GTEST_SKIP(); }}\nTEST(Calc, DISABLED_Never) {{ }}\n\
         TEST(Calc, Noise) {{ puts(\"[       OK ] Calc.Noise (0 ms)\\n100% tests passed\"); FAIL() << \"no\"; }}\n\
         class P : public testing::TestWithParam<int> {{}};\nTEST_P(P, Small) {{ EXPECT_LT(GetParam(), 3); }}\n\
         INSTANTIATE_TEST_SUITE_P(Nums, P, testing::Values(1, 5));\n"
    );
    let Some(project) = gtest(DISCOVERED, &tests) else { return };
    let report = check(
        &project,
        &[
            "Crashed",
            "Crashed Calc.Aborts",
            "Crashed Calc.Leaves",
            "Errored Calc.Throws",
            "Failed Calc.Noise",
            "Failed Calc.Wrong",
            "Failed Nums/P.Small/5",
            "Passed Calc.Adds",
            "Passed Nums/P.Small/1",
            "Skipped Calc.Later",
            "Skipped Calc.Never",
        ],
    );
    let wrong = report.test("Calc.Wrong").unwrap();
    assert_eq!((wrong.file.as_deref(), wrong.line), (Some("tests/calc_test.cpp"), Some(7)));
    assert!(
        wrong.message.as_deref().is_some_and(|words| words.contains("Which is: 3")),
        "{wrong:?}"
    );
    assert_eq!(project.one("Calc.Adds"), "Passed\nPassed Calc.Adds");
    assert_eq!(project.one("Nums/P.Small/1"), "Passed\nPassed Nums/P.Small/1");
    assert_eq!(project.one("Calc.Nothing"), "NoTests");
    assert_eq!(project.list().len(), 10);
}

#[test]
fn what_does_not_compile_is_reported_apart_from_what_hangs() {
    let Some(project) = gtest(DISCOVERED, "TEST(Calc, X) { subtract(2, 1); }\n") else { return };
    check(&project, &["DidNotCompile", "MissingSymbol - tests/calc_test.cpp:5"]);
    project.write("tests/calc_test.cpp", "int main() {\n  int = 1;\n}\n");
    let broken = project.run();
    assert!(
        broken.load_errors.iter().all(|error| error.kind == LoadErrorKind::Syntax),
        "{broken:#?}"
    );
    assert!(
        shown(&broken).starts_with("DidNotCompile\nSyntax - tests/calc_test.cpp:2"),
        "{broken:#?}"
    );
    project.write(
        "tests/calc_test.cpp",
        "#include \"calc.h\"\nint subtract(int);\nint main() { return subtract(1); }\n",
    );
    check(&project, &["DidNotCompile", "MissingSymbol - tests/calc_test.cpp:3"]);
    project.write("tests/calc_test.cpp", USES);
    check(&project, &["NoTests"]);
    project.write(
        "tests/calc_test.cpp",
        &format!("{USES}TEST(Calc, Hangs) {{ for (;;) pause(); }}\n"),
    );
    // Build first, so that the time limit covers only the test.
    assert_eq!(project.list(), ["Calc.Hangs"]);
    assert_eq!(shown(&project.run_within(Duration::from_secs(6))), "TimedOut\nTimedOut Calc.Hangs");
}

#[test]
fn a_program_that_is_one_test_tells_of_those_within() {
    let tests = format!("{ADDS}TEST(Calc, Wrong) {{ EXPECT_EQ(4, add(1, 2)); }}\n");
    let Some(project) =
        gtest("add_test(NAME all COMMAND calc_test)\nadd_test(NAME no COMMAND false)\n", &tests)
    else {
        return;
    };
    check(&project, &["Failed", "Failed all > Calc.Wrong", "Failed no", "Passed all > Calc.Adds"]);
    assert_eq!(project.one("all > Calc.Adds"), "Passed\nPassed all > Calc.Adds");
    assert_eq!(project.one("all > Calc.Nothing"), "NoTests");
    if is_installed("gcovr") {
        assert_eq!(project.coverage("src/calc.cpp"), Some((vec![1, 2], vec![4, 5])));
    }
}

#[test]
fn a_file_stands_for_the_tests_built_from_it() {
    let more = "add_executable(other_test tests/other_test.cpp)\nadd_test(NAME other COMMAND other_test)\n\
        add_test(NAME calc COMMAND calc_test)\n";
    let Some(project) = project(more, "stdio.h", "int main() { return 1; }\n") else { return };
    project.write("tests/other_test.cpp", "int main() { return 0; }\n");
    project.write("tests/data.h", "");
    let files = |paths: &[&str]| {
        shown(
            &project
                .select(&Selection::Files(paths.iter().map(|path| (*path).to_owned()).collect())),
        )
    };
    assert_eq!(files(&["tests/other_test.cpp"]), "Passed\nPassed other");
    assert_eq!(files(&["tests/calc_test.cpp"]), "Failed\nFailed calc");
    let both = "Failed\nFailed calc\nPassed other";
    assert_eq!(files(&["tests/other_test.cpp", "tests/calc_test.cpp"]), both);
    // redgreen cannot know which tests use a header.
    assert_eq!(files(&["tests/data.h"]), both);
}

/// Compiling single-header Catch2 takes half a minute, and longer on a busy machine.
#[test]
fn catch2_is_understood_by_its_last_words() {
    let library = "set(CMAKE_CXX_FLAGS_DEBUG -O0)\nfind_package(Catch2 2 REQUIRED)\ntarget_link_libraries(calc_test Catch2::Catch2)\n\
        include(Catch)\ncatch_discover_tests(calc_test)\n";
    let tests = "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n#include <unistd.h>\n#include \"calc.h\"\n\
        TEST_CASE(\"adds two (numbers)\") { REQUIRE(add(1, 2) == 3); }\n\
        TEST_CASE(\"wrong\") {\n  CHECK(add(1, 2) == 4);\n}\n\
        TEST_CASE(\"throws\") { throw 1; }\nTEST_CASE(\"leaves\") { _exit(0); }\nTEST_CASE(\"aborts\") { abort(); }\n\
        TEST_CASE(\"noise\") { puts(\"All tests passed (1 assertion in 1 test case)\"); FAIL(\"no\"); }\n";
    let Some(project) = project(library, "catch2/catch.hpp", tests) else { return };
    let report = check(
        &project,
        &[
            "Crashed",
            "Crashed aborts",
            "Crashed leaves",
            "Errored throws",
            "Failed noise",
            "Failed wrong",
            "Passed adds two (numbers)",
        ],
    );
    let wrong = report.test("wrong").unwrap();
    assert_eq!((wrong.file.as_deref(), wrong.line), (Some("tests/calc_test.cpp"), Some(7)));
    assert_eq!(
        wrong.message.as_deref(),
        Some("CHECK( add(1, 2) == 4 )\nwith expansion:\n  3 == 4")
    );
    assert_eq!(project.one("adds two (numbers)"), "Passed\nPassed adds two (numbers)");
}
