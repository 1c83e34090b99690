//! An acceptance criterion in its original form: plain text, or `criterion: …` with additional
//! fields such as a priority. Artifacts pass it on unchanged.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Criterion {
    Text(String),
    Fields(Map<String, Value>),
}

impl Criterion {
    /// The condition itself.
    pub fn text(&self) -> &str {
        match self {
            Criterion::Text(text) => text,
            Criterion::Fields(fields) => {
                fields.get("criterion").and_then(Value::as_str).unwrap_or_default()
            }
        }
    }
}

impl fmt::Display for Criterion {
    /// The text and the other fields: `people can sign in (priority: high)`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.text())?;
        let Criterion::Fields(fields) = self else { return Ok(()) };
        let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let rest: Vec<String> = fields
            .iter()
            .filter(|(key, _)| *key != "criterion")
            .map(|(key, value)| format!("{key}: {}", word(value)))
            .collect();
        if rest.is_empty() { Ok(()) } else { write!(out, " ({})", rest.join(", ")) }
    }
}

impl From<&str> for Criterion {
    fn from(text: &str) -> Self {
        Criterion::Text(text.to_owned())
    }
}

#[test]
fn a_criterion_keeps_its_fields() {
    let read = |text: &str| serde_json::from_str::<Criterion>(text).unwrap();
    for (text, told) in [
        ("\"people can sign in\"", "people can sign in"),
        ("{\"criterion\":\"people can sign in\"}", "people can sign in"),
        (
            "{\"criterion\":\"it is fast\",\"priority\":\"must\",\"weight\":2}",
            "it is fast (priority: must, weight: 2)",
        ),
    ] {
        assert_eq!(read(text).to_string(), told);
        assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
    }
}
