//! PHPUnit's `--list-tests-xml`: classes with their methods, in the syntax of version 9 and of
//! later versions.

use super::bounded_head;
use super::xml::{self, Piece};

/// The ids, as in PHPUnit's JUnit report.
pub fn parse(bytes: &[u8]) -> Vec<String> {
    let mut class = String::new();
    let mut ids = Vec::new();
    xml::read(bytes, |piece| {
        let Piece::Open(element) = piece else { return };
        let name = element.attribute("name").map(|name| bounded_head(&name)).unwrap_or_default();
        if element.is("testCaseClass") || element.is("testClass") {
            class = name;
        } else if element.is("testCaseMethod") || element.is("testMethod") {
            let data = element.attribute("dataSet").filter(|data| !data.is_empty());
            let data = data
                .map(|data| format!(" with data set {}", bounded_head(&data)))
                .unwrap_or_default();
            ids.push(format!("{class}::{name}{data}"));
        }
    });
    ids
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lists_tests_with_class_and_data_set() {
        for (text, expected) in [
            (
                r#"<tests><testCaseClass name="A\CalcTest"><testCaseMethod name="testAdds" groups="default"/>
                <testCaseMethod name="testTable" dataSet="&quot;ok row&quot;"/></testCaseClass></tests>"#,
                &["A\\CalcTest::testAdds", "A\\CalcTest::testTable with data set \"ok row\""][..],
            ),
            (
                r#"<testSuite><tests><testClass name="CalcTest" file="/p/CalcTest.php">
                <testMethod id="CalcTest::testTable#0" name="testTable" dataSet="&#35;0"/></testClass></tests></testSuite>"#,
                &["CalcTest::testTable with data set #0"],
            ),
            ("<tests/>", &[]),
            ("", &[]),
        ] {
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
    }
}
