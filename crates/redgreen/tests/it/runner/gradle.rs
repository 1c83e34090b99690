//! Real Gradle with JUnit 4, if they are installed as Debian packages; otherwise the test is
//! skipped by name.

use std::path::Path;

use super::{Project, check, is_installed};
use crate::skip::skipped;

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

/// A single run, because each takes Gradle half a minute.
#[test]
fn what_fails_is_reported_apart_and_placed() {
    if !is_installed("gradle") {
        return;
    }
    if !JARS.iter().all(|jar| Path::new(jar).exists()) {
        skipped("gradle with junit4 as Debian packages is not installed");
        return;
    }
    let [junit, hamcrest] = JARS;
    let build = format!(
        "apply plugin: 'java'\ndependencies {{ testCompile files('{junit}', '{hamcrest}') }}\n"
    );
    let project =
        Project::new(&[("build.gradle", &build), ("src/test/java/demo/CalcTest.java", TESTS)]);
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
    assert_eq!(
        (wrong.file.as_deref(), wrong.line),
        (Some("src/test/java/demo/CalcTest.java"), Some(6))
    );
    let mut listed = project.list();
    listed.sort();
    let mut ran: Vec<&str> = report.tests.iter().map(|test| test.id.as_str()).collect();
    ran.sort_unstable();
    assert_eq!(listed, ran);
}

/// JaCoCo from Debian packages. Gradle's plugin usually downloads it from a Maven repository.
const JACOCO: [&str; 8] = [
    "org.jacoco.agent-0.8.6",
    "org.jacoco.ant",
    "org.jacoco.core",
    "org.jacoco.report",
    "asm",
    "asm-tree",
    "asm-commons",
    "asm-analysis",
];

#[test]
fn lines_that_a_running_jacoco_saw() {
    if !is_installed("gradle") {
        return;
    }
    let jars = JACOCO.map(|name| format!("/usr/share/java/{name}.jar"));
    if !JARS
        .iter()
        .copied()
        .chain(jars.iter().map(String::as_str))
        .all(|jar| Path::new(jar).exists())
    {
        skipped("gradle with junit4 and libjacoco-java as Debian packages is not installed");
        return;
    }
    let [junit, hamcrest] = JARS;
    let build = format!(
        "apply plugin: 'java'\napply plugin: 'jacoco'\nsourceCompatibility = '1.8'\ntargetCompatibility = '1.8'\n\
         dependencies {{\n  testCompile files('{junit}', '{hamcrest}')\n  jacocoAgent files('{}')\n\
         jacocoAnt files('{}')\n}}\n",
        jars[0],
        jars.join("', '"),
    );
    let sign = "package demo;\npublic class Sign {\n  public static int of(int x) {\n    if (x < 0) {\n      return -1;\n\
                }\n    return 1;\n  }\n}\n";
    let test = "package demo;\npublic class SignTest {\n  @org.junit.Test public void one() {\n\
                org.junit.Assert.assertEquals(1, Sign.of(3));\n  }\n}\n";
    let project = Project::new(&[
        ("build.gradle", &build),
        ("src/main/java/demo/Sign.java", sign),
        ("src/test/java/demo/SignTest.java", test),
    ]);
    assert_eq!(project.coverage("src/main/java/demo/Sign.java"), Some((vec![4, 7], vec![2, 5])));
}
