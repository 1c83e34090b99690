//! A TDD task as JSON: what a planner of another tool hands over.

use serde_json::Value;

use crate::experiment::examples::{self, Example};

/// What a judge takes from a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// All that is said of the feature: goal, scope, test cases, steps and paths.
    pub words: String,
    pub examples: Vec<Example>,
}

impl Task {
    /// All problems are reported together.
    pub fn parse(text: &str) -> Result<Self, Vec<String>> {
        let value: Value = serde_json::from_str(text).map_err(|error| vec![error.to_string()])?;
        let mut problems = Vec::new();
        let description =
            value.get("description").and_then(Value::as_str).map(str::trim).unwrap_or_default();
        if description.is_empty() {
            problems.push("`description` must say what to build".to_owned());
        }
        let examples = match value.get("examples").map(examples::read) {
            None => Vec::new(),
            Some(Ok(examples)) => examples,
            Some(Err(found)) => {
                problems.extend(found);
                Vec::new()
            }
        };
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut words = vec![description];
        for cycle in list(value.pointer("/meta/tdd_cycles")) {
            words.extend(cycle.get("implementation_scope").and_then(Value::as_str));
            words.extend(list(cycle.get("test_cases")).iter().filter_map(Value::as_str));
        }
        for step in list(value.get("implementation")) {
            words.extend(step.as_str().or_else(|| step.get("description").and_then(Value::as_str)));
        }
        words.extend(list(value.get("focus_paths")).iter().filter_map(Value::as_str));
        Ok(Self { words: words.join("\n"), examples })
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_its_words_and_its_examples() {
        let task = Task::parse(
            r#"{
              "meta": { "tdd_workflow": true, "tdd_cycles": [{ "test_cases": ["9 is IX"], "implementation_scope": "numerals" }] },
              "description": "Roman numerals",
              "focus_paths": ["roman.py"],
              "implementation": ["look around", { "tdd_phase": "red", "description": "Write 1 test" }],
              "examples": [{ "call": "roman:to_roman", "args": [4], "gives": "IV" }]
            }"#,
        )
        .unwrap();
        assert_eq!(
            task.words,
            "Roman numerals\nnumerals\n9 is IX\nlook around\nWrite 1 test\nroman.py"
        );
        assert_eq!(task.examples.len(), 1);
        assert_eq!(Task::parse(r#"{"description": "Add"}"#).unwrap().words, "Add");
    }

    #[test]
    fn every_fault_of_a_task_is_told_at_once() {
        let problems = Task::parse(r#"{"examples": [{"gives": 1}]}"#).unwrap_err();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(Task::parse("[").is_err());
    }
}
