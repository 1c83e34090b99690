//! Real Gradle with JUnit 4, where they are installed as Debian packages; elsewhere the test is left out by name.

use std::path::Path;

use super::{Project, check, is_fast, is_installed};

const JARS: [&str; 2] = ["/usr/share/java/junit4.jar", "/usr/share/java/hamcrest-core.jar"];

const TESTS: &str = "package demo;
import static org.junit.Assert.*;
import org.junit.*;
public class CalcTest {
  @Test public void adds() { assertEquals(3, 1 + 2); }
  @Test public void wrong() { assertEquals(4, 1 + 2); }
  @Test public void throwsIt() { throw new IllegalStateException(); }
  @Ignore @Test public void later() { }
}
";

/// One run: each takes Gradle half a minute.
#[test]
fn what_fails_is_told_apart_and_placed() {
    if is_fast() || !is_installed("gradle") {
        return;
    }
    if !JARS.iter().all(|jar| Path::new(jar).exists()) {
        is_installed("gradle with junit4 as Debian packages");
        return;
    }
    let [junit, hamcrest] = JARS;
    let build = format!("apply plugin: 'java'\ndependencies {{ testCompile files('{junit}', '{hamcrest}') }}\n");
    let project = Project::new(&[("build.gradle", &build), ("src/test/java/demo/CalcTest.java", TESTS)]);
    let report = check(
        &project,
        &[
            "Errored",
            "Errored demo.CalcTest::throwsIt",
            "Failed demo.CalcTest::wrong",
            "Passed demo.CalcTest::adds",
            "Skipped demo.CalcTest::later",
        ],
    );
    let wrong = report.test("demo.CalcTest::wrong").unwrap();
    assert_eq!((wrong.file.as_deref(), wrong.line), (Some("src/test/java/demo/CalcTest.java"), Some(6)));
    let mut listed = project.list();
    listed.sort();
    let mut ran: Vec<&str> = report.tests.iter().map(|test| test.id.as_str()).collect();
    ran.sort_unstable();
    assert_eq!(listed, ran);
}
