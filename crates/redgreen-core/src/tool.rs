//! The tools of the built-in agent: their names, the roles that get them, and their parameters. The
//! `redgreen` crate executes them. Names and parameters are those that models know best.

pub mod digest;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::model::Tool;
use crate::phase::Role;

/// A tool by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Edit,
    Bash,
    Glob,
    Grep,
    RunTests,
    Complete,
}

/// A parsed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Read(ReadArgs),
    Write(Write),
    Edit(Edit),
    Bash(Bash),
    Glob(Glob),
    Grep(Grep),
    RunTests(RunTests),
    Complete(Complete),
}

/// Rarely needed parameters are omitted from the schema, which is sent with every request. The
/// tool's answer names them when they would help.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct ReadArgs {
    #[serde(alias = "path")]
    pub file_path: String,
    /// The first line to show, starting at 1.
    #[schemars(skip)]
    pub offset: Option<usize>,
    #[schemars(skip)]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Write {
    #[serde(alias = "path")]
    pub file_path: String,
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Edit {
    #[serde(alias = "path")]
    pub file_path: String,
    #[serde(alias = "old_str")]
    pub old_string: String,
    #[serde(alias = "new_str")]
    pub new_string: String,
    #[schemars(skip)]
    pub replace_all: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Bash {
    pub command: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Glob {
    pub pattern: String,
    #[schemars(skip)]
    pub path: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Grep {
    pub pattern: String,
    #[schemars(skip)]
    pub path: Option<String>,
    pub glob: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct RunTests {
    pub test_files: Option<Vec<String>>,
    pub test_name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Complete {
    #[serde(default)]
    pub implementation_files: Vec<String>,
    pub summary: Option<String>,
}

impl Kind {
    pub const ALL: [Kind; 8] = [
        Kind::Read,
        Kind::Write,
        Kind::Edit,
        Kind::Bash,
        Kind::Glob,
        Kind::Grep,
        Kind::RunTests,
        Kind::Complete,
    ];

    /// The least privileges for a role: diagnosis cannot write, and planning cannot run commands.
    pub fn of(role: Role) -> &'static [Kind] {
        match role {
            Role::TestList => &[Kind::Read, Kind::Write, Kind::Edit, Kind::Glob, Kind::Grep],
            Role::Test | Role::Implementing | Role::Refactor => &Self::ALL,
            Role::Diagnosis => &[Kind::Read, Kind::Glob, Kind::Grep],
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Read => "Read",
            Kind::Write => "Write",
            Kind::Edit => "Edit",
            Kind::Bash => "Bash",
            Kind::Glob => "Glob",
            Kind::Grep => "Grep",
            Kind::RunTests => "RunTests",
            Kind::Complete => "Complete",
        }
    }

    /// Short, because it is sent with every request.
    fn description(self) -> &'static str {
        match self {
            Kind::Read => "Show a file",
            Kind::Write => "Write a whole file",
            Kind::Edit => "Replace text that occurs once",
            Kind::Bash => "Run a command, offline",
            Kind::Glob => "List files",
            Kind::Grep => "Search by regex",
            Kind::RunTests => "Run all tests, or some",
            Kind::Complete => "You are done",
        }
    }

    /// The tool's description for a model.
    pub fn tool(self) -> Tool {
        let schema = match self {
            Kind::Read => schemars::schema_for!(ReadArgs),
            Kind::Write => schemars::schema_for!(Write),
            Kind::Edit => schemars::schema_for!(Edit),
            Kind::Bash => schemars::schema_for!(Bash),
            Kind::Glob => schemars::schema_for!(Glob),
            Kind::Grep => schemars::schema_for!(Grep),
            Kind::RunTests => schemars::schema_for!(RunTests),
            Kind::Complete => schemars::schema_for!(Complete),
        };
        let (name, description) = (self.as_str().to_owned(), self.description().to_owned());
        Tool { name, description, input: slim(schema.as_value()) }
    }
}

impl Call {
    /// The call, or an error that a model can act on.
    pub fn parse(allowed: &[Kind], name: &str, input: &Value) -> Result<Self, String> {
        let Some(kind) = allowed.iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name))
        else {
            let names = allowed.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
            return Err(format!("there is no tool {name:?} here; there are: {names}"));
        };
        match kind {
            Kind::Read => read(*kind, input).map(Call::Read),
            Kind::Write => read(*kind, input).map(Call::Write),
            Kind::Edit => read(*kind, input).map(Call::Edit),
            Kind::Bash => read(*kind, input).map(Call::Bash),
            Kind::Glob => read(*kind, input).map(Call::Glob),
            Kind::Grep => read(*kind, input).map(Call::Grep),
            Kind::RunTests => read(*kind, input).map(Call::RunTests),
            Kind::Complete => read(*kind, input).map(Call::Complete),
        }
    }

    /// The object of the call in a few words, for the user.
    pub fn about(&self) -> String {
        match self {
            Call::Read(ReadArgs { file_path, .. })
            | Call::Write(Write { file_path, .. })
            | Call::Edit(Edit { file_path, .. }) => file_path.clone(),
            Call::Bash(Bash { command }) => command.clone(),
            Call::Glob(Glob { pattern, .. }) | Call::Grep(Grep { pattern, .. }) => pattern.clone(),
            Call::RunTests(RunTests { test_files, test_name }) => {
                let files = test_files.iter().flatten();
                files.chain(test_name).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            Call::Complete(Complete { summary, .. }) => summary.clone().unwrap_or_default(),
        }
    }
}

fn read<T: DeserializeOwned>(kind: Kind, input: &Value) -> Result<T, String> {
    // Some servers send null for a call without parameters.
    let input = if input.is_null() { json!({}) } else { input.clone() };
    serde_json::from_value(input).map_err(|error| {
        let needed = kind.tool().input;
        let names = needed
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        format!("{}: {error}; it needs {}", kind.as_str(), names.collect::<Vec<_>>().join(", "))
    })
}

/// Reduces a schema to what a model cannot guess: names, plain types, required parameters. It is
/// sent with every request.
fn slim(schema: &Value) -> Value {
    let mut slimmed = Map::new();
    slimmed.insert("type".to_owned(), json!("object"));
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let properties: Map<String, Value> =
        properties.map(|(name, value)| (name.clone(), plain(value))).collect();
    slimmed.insert("properties".to_owned(), Value::Object(properties));
    if let Some(required) = schema.get("required") {
        slimmed.insert("required".to_owned(), required.clone());
    }
    Value::Object(slimmed)
}

fn plain(property: &Value) -> Value {
    // An optional parameter is `["string", "null"]`; omitting it from `required` means the same.
    let kind = match property.get("type") {
        Some(Value::Array(kinds)) => kinds.first().cloned(),
        kind => kind.cloned(),
    };
    match (kind, property.get("items")) {
        (Some(kind), Some(items)) => json!({ "type": kind, "items": plain(items) }),
        (Some(kind), None) => json!({ "type": kind }),
        (None, _) => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_have_names_types_and_required_parameters() {
        let edit = Kind::Edit.tool().input;
        let expected = json!({
            "type": "object",
            "properties": {
                "file_path": { "type": "string" },
                "old_string": { "type": "string" },
                "new_string": { "type": "string" },
            },
            "required": ["file_path", "old_string", "new_string"],
        });
        assert_eq!(edit, expected);
        let files = json!({ "type": "array", "items": { "type": "string" } });
        assert_eq!(Kind::RunTests.tool().input["properties"]["test_files"], files);
        let whole: usize =
            Kind::ALL.iter().map(|kind| serde_json::to_string(&kind.tool()).unwrap().len()).sum();
        assert!(whole < 1400, "every request contains {whole} bytes of tools");
    }

    #[test]
    fn parses_calls_and_explains_errors() {
        let check = |role: Role, name: &str, input: Value, expected: &str| {
            let told = match Call::parse(Kind::of(role), name, &input) {
                Ok(call) => call.about(),
                Err(why) => why,
            };
            assert!(told.contains(expected), "{name} {input}: {told}");
        };
        check(Role::Test, "Read", json!({ "file_path": "a.py" }), "a.py");
        check(Role::Test, "read", json!({ "path": "a.py" }), "a.py");
        check(Role::Test, "RunTests", Value::Null, "");
        check(
            Role::Test,
            "RunTests",
            json!({ "test_files": ["a", "b"], "test_name": "c" }),
            "a b c",
        );
        check(
            Role::Test,
            "Edit",
            json!({ "file_path": "a" }),
            "missing field `old_string`; it needs file_path, old_",
        );
        check(Role::Test, "Read", json!("a.py"), "it needs file_path");
        check(
            Role::Diagnosis,
            "Write",
            json!({ "file_path": "a", "content": "" }),
            "there are: Read, Glob, Grep",
        );
        check(Role::TestList, "Bash", json!({ "command": "ls" }), "there is no tool \"Bash\" here");
    }
}
