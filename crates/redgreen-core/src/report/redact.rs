//! Removes values that only the tests may know from a report. An agent writes tests and sees their
//! results, so a test that prints its environment would reveal them.

use super::Report;

/// Replaces a value.
const CUT: &str = "[redacted]";

impl Report {
    /// Removes the values from all texts, including ids: a test can be named after one.
    pub fn redact(&mut self, secrets: &[String]) {
        // The longest first: a value can be part of another.
        let mut secrets: Vec<&str> =
            secrets.iter().map(String::as_str).filter(|secret| !secret.is_empty()).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        if secrets.is_empty() {
            return;
        }
        for test in &mut self.tests {
            let texts =
                [&mut test.file, &mut test.message, &mut test.exception].into_iter().flatten();
            texts.chain([&mut test.id]).for_each(|text| cut(text, &secrets));
        }
        for error in &mut self.load_errors {
            let texts = [&mut error.file, &mut error.code].into_iter().flatten();
            texts.chain([&mut error.message]).for_each(|text| cut(text, &secrets));
        }
        let planned = self.planned.iter_mut().flatten();
        let rest = self
            .errors_outside
            .iter_mut()
            .chain(planned)
            .chain([&mut self.output_tail, &mut self.command]);
        rest.for_each(|text| cut(text, &secrets));
    }
}

/// A text without the values.
pub fn redacted(text: &str, secrets: &[String]) -> String {
    let mut secrets: Vec<&str> =
        secrets.iter().map(String::as_str).filter(|secret| !secret.is_empty()).collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let mut text = text.to_owned();
    cut(&mut text, &secrets);
    text
}

fn cut(text: &mut String, secrets: &[&str]) {
    for secret in secrets {
        if text.contains(secret) {
            *text = text.replace(secret, CUT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Status, Test};
    use super::*;

    #[test]
    fn no_part_of_a_report_contains_the_value() {
        let mut test = Test::new("test_a[pw-123]".to_owned(), Status::Failed);
        test.message = Some("assert 'pw-123' == 'pw-123-long'".to_owned());
        let mut report = Report {
            tests: vec![test],
            planned: Some(vec!["test_a[pw-123]".to_owned()]),
            output_tail: "pw-123-long".to_owned(),
            errors_outside: vec!["pw-123".to_owned()],
            ..Report::default()
        };
        report.redact(&["pw-123".to_owned(), "pw-123-long".to_owned(), String::new()]);
        let told = serde_json::to_string(&report).unwrap();
        assert!(!told.contains("pw-123") && report.output_tail == CUT, "{told}");
        assert_eq!(report.tests[0].message.as_deref(), Some("assert '[redacted]' == '[redacted]'"));
    }
}
