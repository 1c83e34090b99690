//! `redgreen mcp`: the session of a checkout as tools, resources and prompts of the Model Context
//! Protocol. No tool takes a phase: only an accepted verdict advances the session.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use redgreen_core::phase::Phase;
use redgreen_core::session::Stage;
use redgreen_serve::{Cancellation, Row, Service, ToolAnswer, ToolRow};
use serde::Serialize;
use serde_json::{Value, json};

use super::session::{self, Ask, Status, VERDICT};
use super::{open, trust, with_packages};
use crate::config::Environment;
use crate::engine::Project;
use crate::failure::Failure;
use crate::ops::session::store::Store;
use crate::process::Stop;

/// How often to check whether the caller cancelled.
const LOOK: Duration = Duration::from_millis(100);
const BRIEF: &str = "redgreen://session/brief";
const TEST_LIST: &str = "redgreen://session/test-list";
const REPORT: &str = "redgreen://session/report";

const RESOURCES: &[Row] = &[
    Row { name: BRIEF, description: "What to build" },
    Row {
        name: TEST_LIST,
        description: "test-list.md of the checkout: the tests to write, with boxes",
    },
    Row { name: REPORT, description: "The complete last verdict, as JSON" },
];
const PROMPTS: &[Row] = &[
    Row { name: "red", description: "Write one failing test" },
    Row { name: "green", description: "Make the failing test pass" },
    Row { name: "refactor", description: "Improve the code without changing what it does" },
];
const WAY_OUT: &str = "If a test contradicts the brief or cannot pass, do not work around it: \
                       call dispute_test, and a human decides.";

/// The session of one checkout, for a server.
#[derive(Debug)]
pub struct Server {
    pub folder: PathBuf,
    pub environment: Environment,
    pub stop: Stop,
}

impl Server {
    fn project(&self, stop: &Stop) -> Result<Project> {
        open(&self.folder, self.environment.clone(), stop)
    }

    fn status(&self) -> Result<Status> {
        session::status(&self.project(&self.stop)?)
    }

    /// Judges, and stops the tests when the caller cancels.
    fn check(&self, explain: bool, cancelled: &Cancellation) -> Result<ToolAnswer> {
        let stop = self.stop.part();
        let project = self.project(&stop)?;
        trust::check(&project.git.root, &project.environment)?;
        let project = with_packages(project)?;
        let checked = thread::scope(|scope| {
            let (done, watched) = std::sync::mpsc::channel::<()>();
            let stop = &stop;
            scope.spawn(move || {
                while watched.recv_timeout(LOOK) == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
                {
                    if cancelled.is() {
                        stop.request();
                        return;
                    }
                }
            });
            let checked = session::check(&project, Ask { commit: None, explain });
            drop(done);
            checked
        })?;
        let verdict = checked.judgement.as_ref().map_or_else(
            || match &checked.session.dispute {
                Some(dispute) => {
                    format!("a test is disputed, so nothing was judged: {}", dispute.why)
                }
                None => "nothing changed since the last accepted verdict".to_owned(),
            },
            |judged| {
                let decision = json!(judged.verdict).as_str().unwrap_or_default().to_owned();
                let reasons: Vec<String> = judged
                    .reasons
                    .iter()
                    .map(|told| {
                        format!(
                            "{} ({}): {}",
                            told.reason.sentence,
                            told.reason.code.as_str(),
                            told.next
                        )
                    })
                    .collect();
                format!("{} {decision}\n{}", judged.phase, reasons.join("\n"))
            },
        );
        let text = format!("{verdict}\nNext: {}\n{WAY_OUT}", checked.session.next);
        said(text, &checked)
    }

    fn perform(
        &self,
        tool: &str,
        arguments: &Value,
        cancelled: &Cancellation,
    ) -> Result<ToolAnswer> {
        let word = |name: &str| arguments.get(name).and_then(Value::as_str);
        match tool {
            "status" => {
                let status = self.status()?;
                said(told(&status), &status)
            }
            "check" => self.check(
                arguments.get("explain").and_then(Value::as_bool).unwrap_or(false),
                cancelled,
            ),
            "explain" => {
                let text = self.report()?;
                Ok(ToolAnswer { value: serde_json::from_str(&text).ok(), text, failed: false })
            }
            "dispute_test" => {
                let status = session::dispute(
                    &self.project(&self.stop)?,
                    word("why").unwrap_or_default(),
                    word("test"),
                )?;
                said("The dispute is recorded. A human decides; stop here.".to_owned(), &status)
            }
            "plan" => {
                let list = self.test_list()?;
                Ok(ToolAnswer { text: list, value: None, failed: false })
            }
            _ => Err(Failure::usage(format!("there is no tool {tool:?}")).into()),
        }
    }

    fn report(&self) -> Result<String> {
        let project = self.project(&self.stop)?;
        let store = Store::of(&project.git, &project.environment)?;
        store.session(&project.git)?;
        let bytes = store
            .get(VERDICT)
            .ok_or_else(|| Failure::usage("nothing was judged yet in this session"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn test_list(&self) -> Result<String> {
        let list = session::test_list(&self.project(&self.stop)?.git.root)?;
        Ok(list.unwrap_or_else(|| {
            "There is no test-list.md: write one with a `- [ ]` line for each test.".to_owned()
        }))
    }
}

/// Claude Code shows the model the value instead of the text, so both contain the alternative.
fn said(text: String, value: &impl Serialize) -> Result<ToolAnswer> {
    let mut value = serde_json::to_value(value)?;
    if let Some(members) = value.as_object_mut() {
        members.insert("dispute".to_owned(), WAY_OUT.into());
    }
    Ok(ToolAnswer { text, value: Some(value), failed: false })
}

fn told(status: &Status) -> String {
    let changed =
        if status.changed.is_empty() { "nothing".to_owned() } else { status.changed.join(", ") };
    let wrong: String =
        status.objections.iter().map(|reason| format!("Wrong: {}\n", reason.sentence)).collect();
    let nested: String = status
        .nested
        .iter()
        .map(|path| format!("Not judged: {path}, a separate git repository\n"))
        .collect();
    format!(
        "Session {}, cycle {}, {}.\nBrief: {}\nChanged: {changed}\n{nested}{wrong}Next: {}",
        status.id, status.cycle, status.standing, status.brief, status.next
    )
}

impl Service for Server {
    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn instructions(&self) -> String {
        format!(
            "redgreen referees test-driven development in this checkout. Call status first. Write one failing test, call \
             check; make it pass without changing tests, call check; improve the code, call check. Only the tests decide; what you claim does not count. {WAY_OUT}"
        )
    }

    fn tools(&self) -> Vec<ToolRow> {
        let nothing = json!({ "type": "object", "additionalProperties": false });
        let explain = json!({ "type": "object", "additionalProperties": false, "properties": {
            "explain": { "type": "boolean", "description": "List every experiment and how to \
             reproduce it" } } });
        let dispute = json!({ "type": "object", "additionalProperties": false, "required": ["why"], "properties": {
            "why": { "type": "string", "description": "What is wrong with the test" },
            "test": { "type": "string", "description": "The test, as the runner names it" } } });
        let row = |name, description, input: &Value, reads| ToolRow {
            name,
            description,
            input: input.clone(),
            reads,
        };
        vec![
            row("status", "The state of the session and the next step", &nothing, true),
            row(
                "check",
                "Judge the current files by running the tests; an accepted verdict advances the \
                 session",
                &explain,
                false,
            ),
            row("explain", "The last verdict with every experiment that led to it", &nothing, true),
            row(
                "dispute_test",
                "Report that a test is wrong or impossible to pass; a human decides",
                &dispute,
                false,
            ),
            row("plan", "The test list with its boxes", &nothing, true),
        ]
    }

    fn resources(&self) -> &'static [Row] {
        RESOURCES
    }

    fn prompts(&self) -> &'static [Row] {
        PROMPTS
    }

    fn call(&self, tool: &str, arguments: Value, cancelled: &Cancellation) -> ToolAnswer {
        self.perform(tool, &arguments, cancelled).unwrap_or_else(|error| ToolAnswer {
            text: words(&error),
            value: None,
            failed: true,
        })
    }

    fn resource(&self, address: &str) -> Result<String, String> {
        let text = match address {
            BRIEF => self.status().map(|status| status.brief),
            TEST_LIST => self.test_list(),
            REPORT => self.report(),
            _ => return Err(format!("there is no resource {address:?}")),
        };
        text.map_err(|error| words(&error))
    }

    fn prompt(&self, name: &str) -> Result<String, String> {
        let phase = PROMPTS
            .iter()
            .find(|row| row.name == name)
            .ok_or_else(|| format!("there is no prompt {name:?}"))?;
        let status = self.status().map_err(|error| words(&error))?;
        let targets = match &status.stage {
            Stage::Green { targets } => {
                format!("these tests pass with the simplest honest code: {}", targets.join(", "))
            }
            Stage::Open => "the failing test pass with the simplest honest code".to_owned(),
        };
        let task = match phase.name {
            "red" => "Write one failing test for the next part of the brief. Change tests only; a stub that lets it \
                      compile is fine. It must fail because the feature is missing."
                .to_owned(),
            "green" => format!("Make {targets}. Do not change tests or the test runner's configuration."),
            _ => "Improve names and structure of the code and the tests. Do not change \
                  behaviour.".to_owned(),
        };
        let now = if status.phase == Phase::Green { "GREEN" } else { "RED or REFACTOR" };
        Ok(format!(
            "Brief: {}\nThe session is in {now}.\n{task}\nThen call check. {WAY_OUT}",
            status.brief
        ))
    }
}

fn words(error: &anyhow::Error) -> String {
    match error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
        Some(failure) => {
            let next =
                failure.next.as_ref().map_or_else(String::new, |next| format!("\nnext: {next}"));
            format!("{}\n{}{next}", failure.what, failure.evidence.join("\n"))
        }
        None => format!("{error:#}"),
    }
}
