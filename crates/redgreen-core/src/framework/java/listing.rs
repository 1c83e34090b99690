//! Lists JUnit tests from their sources, because neither Maven nor older versions of Gradle can
//! list them without running them.
//!
//! Lists nothing if the sources alone are not conclusive: tests in another language, in JUnit 3's
//! style, or in a nested class that only some runners enter, or a build file that selects tests.

use std::collections::BTreeMap;

use super::{EXTENSIONS, file_name, is_test_file};
use crate::framework::captured::Capture;
use crate::framework::invoke::{Call, Invocation, ReportAt};
use crate::syntax::{ItemKind, Language, items};

/// How many superclasses to follow.
const ANCESTORS_MAX: usize = 16;
const SOURCES: &[&str] = &[
    "**/src/test/**/*.java",
    "**/src/test/**/*.kt",
    "**/src/test/**/*.groovy",
    "**/src/test/**/*.scala",
];

/// Describes which of the tests a build tool runs.
pub(in crate::framework) struct SelectionRules {
    /// The build files, including those of modules.
    pub(in crate::framework) builds: &'static [&'static str],
    /// A build file with one of these words selects the tests itself.
    pub(in crate::framework) words: &'static [&'static str],
    /// Otherwise the name of the class decides.
    pub(in crate::framework) is_run: fn(&str) -> bool,
}

/// Only reads the sources and starts no program.
pub(in crate::framework) fn invocation(chosen: &SelectionRules) -> Invocation {
    let mut invocation = Invocation::new("the sources of the tests", Call::default());
    invocation
        .reports
        .extend(SOURCES.iter().chain(chosen.builds).map(|pattern| ReportAt::Source(pattern)));
    invocation
}

/// The ids of all tests that would run.
pub(in crate::framework) fn list(captured: &Capture, chosen: &SelectionRules) -> Vec<String> {
    let mut classes: BTreeMap<String, Class> = BTreeMap::new();
    let is_build =
        |path: &str| chosen.builds.iter().any(|pattern| pattern.ends_with(file_name(path)));
    for (_, bytes) in captured.reports.iter().filter(|(path, _)| is_build(path)) {
        let text = String::from_utf8_lossy(bytes);
        if chosen.words.iter().any(|words| text.contains(words)) {
            return Vec::new();
        }
    }
    for (path, bytes) in captured.reports.iter().filter(|(path, _)| is_test_file(path)) {
        let Some(language) = EXTENSIONS.iter().find(|extension| path.ends_with(**extension)) else {
            continue;
        };
        if *language != ".java" || !read(path, &String::from_utf8_lossy(bytes), &mut classes) {
            return Vec::new();
        }
    }
    let mut ids = Vec::new();
    for class in
        classes.values().filter(|class| !class.is_abstract && (chosen.is_run)(&class.outermost))
    {
        for method in class.with_inherited(&classes) {
            ids.push(format!("{}::{method}", class.id));
        }
    }
    ids
}

#[derive(Default)]
struct Class {
    /// For example `demo.CalcTest$Inner`.
    id: String,
    outermost: String,
    parent: Option<String>,
    is_abstract: bool,
    tests: Vec<String>,
}

impl Class {
    /// Its own tests and those of its superclasses in the project.
    fn with_inherited<'a>(&'a self, classes: &'a BTreeMap<String, Class>) -> Vec<&'a str> {
        let mut tests: Vec<&str> = Vec::new();
        let mut class = Some(self);
        for _ in 0..ANCESTORS_MAX {
            let Some(here) = class else { break };
            for test in &here.tests {
                if !tests.contains(&test.as_str()) {
                    tests.push(test);
                }
            }
            let named = |name: &String| classes.values().find(|class| class.simple_name() == name);
            class = here.parent.as_ref().and_then(named);
        }
        tests
    }

    fn simple_name(&self) -> &str {
        self.id.rsplit(['.', '$']).next().unwrap_or_default()
    }
}

/// Adds the classes of a file. Returns false if the file has tests that cannot be listed reliably.
fn read(path: &str, source: &str, classes: &mut BTreeMap<String, Class>) -> bool {
    let package =
        source.lines().find_map(|line| line.trim().strip_prefix("package ")?.split(';').next());
    let package = package.map(|name| format!("{}.", name.trim())).unwrap_or_default();
    let id = |name: &str| format!("{package}{}", name.replace('.', "$"));
    let items = items(Language::Java, path, source);
    if items.is_empty() && source.contains("@Test") {
        return false;
    }
    let mut unsure: Vec<String> = Vec::new();
    for item in &items {
        if item.kind == ItemKind::Class {
            let text = source.get(item.span.clone()).unwrap_or_default();
            let Some((before, header)) =
                text.split_once(&format!("class {}", file_name(&item.name.replace('.', "/"))))
            else {
                continue;
            };
            let header = header.split('{').next().unwrap_or_default();
            let parent = header
                .split_once("extends ")
                .and_then(|(_, name)| name.split([' ', '<', '\n', ',']).next());
            let parent = parent.map(|name| name.rsplit('.').next().unwrap_or(name).to_owned());
            if parent.as_deref() == Some("TestCase")
                || (item.name.contains('.') && !before.contains("@Nested"))
            {
                unsure.push(item.name.clone());
            }
            let outermost = item.name.split('.').next().unwrap_or_default().to_owned();
            let is_abstract = before.split_whitespace().any(|word| word == "abstract");
            classes.insert(
                id(&item.name),
                Class { id: id(&item.name), outermost, parent, is_abstract, tests: vec![] },
            );
        } else if let Some((class, method)) = item.name.rsplit_once('.') {
            let is_old_style =
                method.starts_with("test") && unsure.iter().any(|unsure| unsure == class);
            if (item.is_test || is_old_style) && unsure.iter().any(|unsure| unsure == class) {
                return false;
            }
            if let Some(class) = classes.get_mut(&id(class)).filter(|_| item.is_test) {
                class.tests.push(method.to_owned());
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let reports = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect();
        let captured = Capture { reports, ..Capture::default() };
        let chosen = SelectionRules {
            builds: &["**/pom.xml"],
            words: &["<exclude"],
            is_run: |class| class.ends_with("Test"),
        };
        assert_eq!(list(&captured, &chosen), expected);
    }

    #[test]
    fn listed_ids_match_reported_ids() {
        let path = "core/src/test/java/demo/CalcTest.java";
        let calc = "package demo;\nimport org.junit.jupiter.api.*;\n@Tag(\"{a}\")\nclass CalcTest extends Base<Calc> {\n\
            @Test void adds() { }\n  void helps() { }\n@ParameterizedTest @ValueSource(ints = {1, 2}) void table(int a) { }\n\
            @Nested class Inner { @Test void deep() { } }\n}\n";
        let base = "package demo;\npublic abstract class Base<T> {\n  @Test void shared() { }\n}\n";
        let other = "package demo;\nclass Checks { @Test void unseen() { } }\n";
        check(
            &[
                (path, calc),
                ("src/test/java/demo/Base.java", base),
                ("src/test/java/demo/Checks.java", other),
            ],
            &[
                "demo.CalcTest::adds",
                "demo.CalcTest::table",
                "demo.CalcTest::shared",
                "demo.CalcTest$Inner::deep",
            ],
        );
    }

    #[test]
    fn lists_nothing_if_the_sources_are_not_conclusive() {
        let path = "src/test/java/ATest.java";
        let simple = "class ATest { @Test void a() { } }";
        check(&[(path, simple)], &["ATest::a"]);
        check(&[(path, simple), ("src/test/kotlin/BTest.kt", "class BTest")], &[]);
        check(&[(path, simple), ("a/pom.xml", "<project/>")], &["ATest::a"]);
        check(&[(path, simple), ("a/pom.xml", "<exclude>**/A*</exclude>")], &[]);
        check(&[(path, "class ATest extends TestCase { public void testA() { } }")], &[]);
        check(&[(path, "class ATest { static class B { @Test void a() { } } }")], &[]);
        check(
            &[(
                path,
                "class ATest { static class Fake { int a() { return 1; } } @Test void a() { } }",
            )],
            &["ATest::a"],
        );
        check(&[(path, "@Test \u{0}{{{"), ("src/test/java/x.java", "")], &[]);
    }
}
