//! What an agent says and does during its turn, one line of JSON each: in `--json` output, and for
//! other processes that watch the run. These lines have no number, because no journal keeps them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::agent::{AgentActivity, Cost};
use crate::phase::Role;

const VERSION: u32 = 1;

/// A line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LiveV1<'a> {
    v: u32,
    /// Milliseconds since 1970.
    pub at: i64,
    pub role: Role,
    #[serde(flatten)]
    said: ActivityV1<'a>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "live", rename_all = "kebab-case")]
enum ActivityV1<'a> {
    Text { text: Cow<'a, str> },
    Tool { name: Cow<'a, str>, what: Cow<'a, str> },
    Cost { cost: Cost },
}

impl<'a> LiveV1<'a> {
    pub fn new(at: i64, role: Role, said: &'a AgentActivity) -> Self {
        let said = match said {
            AgentActivity::Text(text) => ActivityV1::Text { text: text.into() },
            AgentActivity::Tool { name, what } => {
                ActivityV1::Tool { name: name.into(), what: what.into() }
            }
            AgentActivity::Cost(cost) => ActivityV1::Cost { cost: *cost },
        };
        Self { v: VERSION, at, role, said }
    }

    /// A line; `None` if redgreen did not write it.
    pub fn parse(line: &[u8]) -> Option<LiveV1<'static>> {
        let line: LiveV1<'static> = serde_json::from_slice(line).ok()?;
        (line.v == VERSION).then_some(line)
    }

    pub fn said(self) -> AgentActivity {
        match self.said {
            ActivityV1::Text { text } => AgentActivity::Text(text.into_owned()),
            ActivityV1::Tool { name, what } => {
                AgentActivity::Tool { name: name.into_owned(), what: what.into_owned() }
            }
            ActivityV1::Cost { cost } => AgentActivity::Cost(cost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip_and_garbage_is_rejected() {
        for said in [
            AgentActivity::Text("a\nb \u{1b}[31m".to_owned()),
            AgentActivity::Tool { name: "Write".to_owned(), what: "calc.py".to_owned() },
            AgentActivity::Cost(Cost { tokens: Some(7), ..Cost::default() }),
        ] {
            let line = serde_json::to_string(&LiveV1::new(7, Role::Test, &said)).unwrap();
            assert!(
                !line.contains('\n') && line.starts_with(r#"{"v":1,"at":7,"role":"test","live""#)
            );
            let read = LiveV1::parse(line.as_bytes()).unwrap();
            assert_eq!((read.at, read.role, read.said()), (7, Role::Test, said));
            assert!(LiveV1::parse(line.replace("\"v\":1", "\"v\":2").as_bytes()).is_none());
        }
        for line in ["", "{}", "7", r#"{"v":1,"at":7,"role":"test","live":"text"}"#] {
            assert!(LiveV1::parse(line.as_bytes()).is_none(), "{line}");
        }
    }
}
