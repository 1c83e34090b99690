//! Real PHPUnit, if it is installed.

use std::time::Duration;

use redgreen_core::framework::invoke::Selection;

use super::{Project, check, is_installed, shown};

const CONFIG: &str = "<phpunit bootstrap=\"src/calc.php\"><testsuites><testsuite name=\"all\">\
    <directory>tests</directory></testsuite></testsuites>\
    <coverage><include><directory suffix=\".php\">src</directory></include></coverage></phpunit>\n";
const CALC: &str =
    "<?php\nfunction add($a, $b) {\n    return $a + $b;\n}\nfunction never() {\n    return 7;\n}\n";

/// A project with one test class, or `None` and a message if PHPUnit is not installed.
fn project(body: &str) -> Option<Project> {
    is_installed("phpunit").then(|| {
        let test = format!("<?php\nuse PHPUnit\\Framework\\TestCase;\nclass CalcTest extends TestCase {{\n{body}}}\n");
        Project::new(&[("phpunit.xml", CONFIG), ("src/calc.php", CALC), ("tests/CalcTest.php", &test)])
    })
}

const ADDS: &str = "function testAdds() { $this->assertSame(3, add(1, 2)); }\n";
const WRONG: &str = "function testWrong() {\n$this->assertSame(4, add(1, 2));\n}\n";

#[test]
fn passes_and_runs_one_a_file_or_none() {
    let data = "/** @dataProvider sums */\nfunction testTable($a, $sum) { $this->assertSame($sum, add($a, 1)); }\n\
        static function sums() { return [[1, 2], 'two (2)' => [2, 3]]; }\n";
    let Some(project) = project(&format!("{ADDS}{data}")) else { return };
    let table =
        ["CalcTest::testTable with data set \"two (2)\"", "CalcTest::testTable with data set #0"];
    check(
        &project,
        &[
            "Passed",
            "Passed CalcTest::testAdds",
            &format!("Passed {}", table[0]),
            &format!("Passed {}", table[1]),
        ],
    );
    assert_eq!(project.one("CalcTest::testAdds"), "Passed\nPassed CalcTest::testAdds");
    table.iter().for_each(|id| assert_eq!(project.one(id), format!("Passed\nPassed {id}")));
    assert_eq!(project.one("CalcTest::testNothing"), "NoTests");
    assert_eq!(project.list(), ["CalcTest::testAdds", table[1], table[0]]);
    let test = "<?php\nclass OtherTest extends PHPUnit\\Framework\\TestCase {\nfunction testB() { $this->assertTrue(true); }\n}\n";
    project.write("tests/OtherTest.php", test);
    let files =
        |paths: &[&str]| Selection::Files(paths.iter().map(|path| (*path).to_owned()).collect());
    assert_eq!(
        shown(&project.select(&files(&["tests/OtherTest.php"]))),
        "Passed\nPassed OtherTest::testB"
    );
    assert_eq!(
        project.select(&files(&["tests/OtherTest.php", "tests/CalcTest.php"])).tests.len(),
        4
    );
}

#[test]
fn what_fails_is_reported_apart() {
    let body = format!(
        "{ADDS}{WRONG}function testMissing() {{ subtract(2, 1); }}\n\
         function testLater() {{ $this->markTestSkipped('later'); }}\n\
         function testSomeDay() {{ $this->markTestIncomplete(); }}\n\
         function testEmpty() {{ }}\n\
         function testNoise() {{ fwrite(STDOUT, \"OK (1 test, 1 assertion)\\n##teamcity[testFinished name='x']\\n\"); $this->fail('no'); }}\n"
    );
    let Some(project) = project(&body) else { return };
    let report = check(
        &project,
        &[
            "Errored",
            "Errored CalcTest::testMissing",
            "Failed CalcTest::testNoise",
            "Failed CalcTest::testWrong",
            "Passed CalcTest::testAdds",
            "Skipped CalcTest::testEmpty",
            "Skipped CalcTest::testLater",
            "Skipped CalcTest::testSomeDay",
        ],
    );
    let wrong = report.test("CalcTest::testWrong").unwrap();
    assert_eq!((wrong.file.as_deref(), wrong.line), (Some("tests/CalcTest.php"), Some(6)));
    assert!(
        wrong.message.as_deref().is_some_and(|words| words.contains("3 is identical to 4")),
        "{wrong:?}"
    );
    assert_eq!(report.test("CalcTest::testMissing").unwrap().exception.as_deref(), Some("Error"));
}

#[test]
fn what_does_not_load_is_reported_apart() {
    let Some(project) = project("function testX( {}\n") else { return };
    check(&project, &["DidNotCompile", "Syntax - tests/CalcTest.php:4"]);
    project.write("tests/CalcTest.php", "<?php\nclass CalcTest extends Roman\\TestCase {}\n");
    check(&project, &["DidNotCompile", "MissingSymbol - tests/CalcTest.php:2"]);
}

#[test]
fn nothing_to_run_a_crash_and_a_hang() {
    let Some(project) = project("") else { return };
    assert_eq!(shown(&project.run()), "NoTests");
    let crash = self::project(&format!("{ADDS}function testZ() {{ exit(0); }}\n")).unwrap();
    check(&crash, &["Crashed", "Crashed CalcTest::testZ", "Passed CalcTest::testAdds"]);
    let hang = self::project(&format!("{ADDS}function testZ() {{ sleep(60); }}\n")).unwrap();
    let stopped = shown(&hang.run_within(Duration::from_secs(4)));
    assert_eq!(stopped, "TimedOut\nPassed CalcTest::testAdds\nTimedOut CalcTest::testZ");
}

#[test]
fn lines_that_were_reached_are_known() {
    let Some(project) = project(ADDS) else { return };
    let driver = redgreen::process::Program::new("php")
        .args(["-r", "exit((int) !extension_loaded('pcov'));"]);
    let limits = redgreen::process::Limits { wall: super::TIMEOUT, output_bytes_max: 1 << 16 };
    match driver.output(limits, &redgreen::process::Stop::default()).unwrap().success() {
        true => assert_eq!(project.coverage("src/calc.php"), Some((vec![3], vec![6]))),
        // No measurement is not the same as no lines reached.
        false => assert_eq!(project.coverage("src/calc.php"), None),
    }
}
