//! Real Maven, if it and its plugins are installed as Debian packages; otherwise the test is
//! skipped by name.

use std::path::Path;

use super::{Project, is_installed, shown};
use crate::skip::skipped;

/// Debian's repository contains everything Maven needs, and works without a network.
const SETTINGS: &str = "/etc/maven/settings-debian.xml";
const JUNIT: &str = "/usr/share/maven-repo/org/junit/jupiter/junit-jupiter";
const SUREFIRE: &str = "/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin";

const POM: &str = "<project><modelVersion>4.0.0</modelVersion>
<groupId>com.example</groupId><artifactId>demo</artifactId><version>1.0</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId>
<version>5.9.2</version><scope>test</scope></dependency></dependencies></project>
";

const TESTS: &str = "package demo;
import static org.junit.jupiter.api.Assertions.*;
import org.junit.jupiter.api.Test;
class CalcTest {
  @Test void adds() { assertEquals(3, 1 + 2); }
  @Test void wrong() { assertEquals(4, 1 + 2); }
}
";

/// A single run, because each takes Maven half a minute.
#[test]
fn a_failure_is_reported_and_placed() {
    if !is_installed("mvn") {
        return;
    }
    if ![SETTINGS, JUNIT, SUREFIRE].iter().all(|path| Path::new(path).exists()) {
        skipped("maven with junit-jupiter and surefire as Debian packages is not installed");
        return;
    }
    let project = Project::new(&[
        ("pom.xml", POM),
        (".mvn/maven.config", &format!("-o\n-s\n{SETTINGS}\n")),
        ("src/test/java/demo/CalcTest.java", TESTS),
    ]);
    let report = project.run();
    assert_eq!(
        shown(&report),
        "Failed\nFailed demo.CalcTest::wrong\nPassed demo.CalcTest::adds",
        "{report:#?}"
    );
    let wrong = report.test("demo.CalcTest::wrong").unwrap();
    assert_eq!(
        (wrong.file.as_deref(), wrong.line),
        (Some("src/test/java/demo/CalcTest.java"), Some(6))
    );
    assert_eq!(project.list(), ["demo.CalcTest::adds", "demo.CalcTest::wrong"]);
}
