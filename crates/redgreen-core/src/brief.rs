//! What to build, from any input: a sentence, a specification, a design with context files, or a
//! task of another tool's planner.

pub mod blocks;
mod criterion;
pub mod design;
mod files;
pub mod instructions;
pub mod node;
mod point;
pub mod red_artifact;
pub mod spec;
pub mod task;
mod wording;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::agent;
use crate::names::SessionId;
use crate::phase::Role;

pub use criterion::Criterion;
pub use files::files_to_read;
pub use instructions::Instructions;
pub use node::Problem;
pub use point::ModificationPoint;

/// What the user wants. Every field except the request is empty if the input does not provide it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Brief {
    /// The feature request as the user wrote it, or the title in a file.
    pub request: String,
    #[serde(skip_serializing_if = "Door::is_request")]
    pub door: Door,
    /// `spec_id`, the number of the issue, or the id of the task.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The id that the requester of the specification uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Component>,
    /// All of them are written before any code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub test_cases: Vec<Case>,
    /// The number of tests to write, if the file specifies one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_count: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<Criterion>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub implementation_order: Vec<OrderStep>,
    /// The task's instructions for each phase.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseOrders>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub implementation_scope: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub focus_paths: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pre_analysis: Vec<String>,
    /// Files that the task says will change, in any phase.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modification_points: Vec<ModificationPoint>,
    /// The plan's context for all of its tasks: the stack, conventions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_context: Vec<String>,
    /// Files to read first; their contents are in `context`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Instructions for tests and code from the project's settings.
    #[serde(skip_serializing_if = "Instructions::is_empty")]
    pub instructions: Instructions,
    /// The design document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub design: Option<Document>,
    /// Project files to show to every agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Document>,
    /// Commands that have to succeed before GREEN is accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub convergence: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_coverage: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Whether RED writes tests that the implementer does not see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withhold: Option<bool>,
    /// Whether our own agent works or an external one, and in which session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
}

/// The kind of input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Door {
    #[default]
    Request,
    Spec,
    Design,
    Task,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Component {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "Interface::is_empty")]
    pub interface: Interface,
    /// The components that have to exist first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    pub methods: Vec<Method>,
}

impl Interface {
    fn is_empty(&self) -> bool {
        self.methods.is_empty()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Method {
    pub signature: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// A test that a file requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Case {
    pub id: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub given: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub when: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub then: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderStep {
    pub step: String,
    pub description: String,
}

/// A task's instructions for one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseOrders {
    pub phase: crate::phase::Phase,
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modification_points: Vec<ModificationPoint>,
    /// The order of operations in the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logic_flow: Vec<String>,
}

impl PhaseOrders {
    pub fn of(phase: crate::phase::Phase) -> Self {
        Self {
            phase,
            description: String::new(),
            actions: Vec::new(),
            modification_points: Vec::new(),
            logic_flow: Vec::new(),
        }
    }
}

/// A text file of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Relative to the project root.
    pub path: String,
    pub text: String,
    /// Identifies the text if only the path was kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Execution {
    pub method: ExecutionMethod,
    /// The name of the session, to resume it later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub strategy: Strategy,
    /// The sessions to continue; several to merge them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resume_from: Vec<String>,
    /// The agents' own conversation ids for those sessions, if redgreen ran them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub known: BTreeMap<String, BTreeMap<Role, SessionId>>,
}

impl Execution {
    /// The conversation that an external agent continues; our own agents always start a new one.
    /// One of our sessions has one conversation per role. An unknown id is the agent's own.
    pub fn session(&self, role: Role) -> agent::Strategy {
        let conversation = |id: &String| match self.known.get(id) {
            Some(roles) => roles.get(&role).cloned(),
            // An id that looks like a command line option is ignored.
            None => SessionId::parse(id).ok(),
        };
        let sessions: Vec<SessionId> = self.resume_from.iter().filter_map(conversation).collect();
        let first = sessions.first().cloned();
        match (self.method, self.strategy, first) {
            (ExecutionMethod::Cli, Strategy::Resume, Some(session)) => {
                agent::Strategy::Resume { session }
            }
            (ExecutionMethod::Cli, Strategy::Fork, Some(session)) => {
                agent::Strategy::Fork { session }
            }
            (ExecutionMethod::Cli, Strategy::MergeFork, Some(session)) => {
                let rest = sessions.into_iter().skip(1);
                agent::Strategy::MergeFork {
                    sessions: std::iter::once(session).chain(rest).collect(),
                }
            }
            (ExecutionMethod::Cli, Strategy::New, _)
            | (ExecutionMethod::Cli, _, None)
            | (ExecutionMethod::Agent, ..) => agent::Strategy::New,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionMethod {
    #[default]
    Agent,
    Cli,
}

/// How a session of an external agent starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    #[default]
    New,
    Resume,
    Fork,
    MergeFork,
}

/// A required line coverage, such as `>=85%`. Stored in hundredths of a percent: exact and
/// comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Target(u32);

impl Target {
    const HUNDREDTHS: u32 = 100;
    const MAX: u32 = 100 * Self::HUNDREDTHS;

    /// Reads `>=85%`, `85%`, `85` and `85.5 %`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text
            .trim()
            .trim_start_matches(">=")
            .trim_start_matches('≥')
            .trim()
            .trim_end_matches('%')
            .trim_end();
        let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
        let all_digits =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !all_digits(whole) || !all_digits(rest) || rest.len() > 2 {
            return None;
        }
        let rest: u32 = format!("{rest:0<2}").parse().ok()?;
        let value = whole.parse::<u32>().ok()?.checked_mul(Self::HUNDREDTHS)?.checked_add(rest)?;
        (value <= Self::MAX).then_some(Self(value))
    }

    /// Whether the covered lines reach the target.
    pub fn is_met(self, hit: usize, found: usize) -> bool {
        let wide = |count: usize| u128::try_from(count).unwrap_or(u128::MAX);
        wide(hit).saturating_mul(u128::from(Self::MAX))
            >= wide(found).saturating_mul(u128::from(self.0))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / Self::HUNDREDTHS, self.0 % Self::HUNDREDTHS);
        match rest {
            0 => write!(out, ">={whole}%"),
            rest if rest % 10 == 0 => write!(out, ">={whole}.{}%", rest / 10),
            rest => write!(out, ">={whole}.{rest:02}%"),
        }
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

impl TryFrom<String> for Target {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("expected a share such as >=85%")
    }
}

impl Door {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_request(&self) -> bool {
        *self == Door::Request
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Door::Request => "request",
            Door::Spec => "spec",
            Door::Design => "design",
            Door::Task => "task",
        }
    }
}

/// The type of commits that add behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Feature,
    Fix,
}

impl Brief {
    /// A plain feature request.
    pub fn of(request: impl Into<String>) -> Self {
        Self { request: request.into(), ..Self::default() }
    }

    /// Whether the brief has more than the request.
    pub fn is_more(&self) -> bool {
        self.door != Door::Request || !self.context.is_empty() || !self.instructions.is_empty()
    }

    /// The brief for a note: with the paths of files, but without their contents.
    #[must_use]
    pub fn without_texts(&self) -> Self {
        let path = |document: &Document| Document { text: String::new(), ..document.clone() };
        Self {
            design: self.design.as_ref().map(path),
            context: self.context.iter().map(path).collect(),
            ..self.clone()
        }
    }

    /// The test case for all tests of the file if they are written at once; `None` if a planner
    /// selects them one by one.
    pub fn batch(&self) -> Option<TestCase> {
        match self.door {
            Door::Request | Door::Design => None,
            Door::Spec | Door::Task => {
                let code = self.components.iter().find_map(|component| component.file_path.clone());
                let focus = || self.focus_paths.first().cloned();
                Some(TestCase {
                    description: self.request.lines().next().unwrap_or_default().to_owned(),
                    test_file: String::new(),
                    impl_file: code.or_else(focus).unwrap_or_default(),
                })
            }
        }
    }

    /// The name of each requested test.
    pub fn case_names(&self) -> Vec<String> {
        self.test_cases.iter().map(Case::name).collect()
    }

    /// The files that this phase or an earlier one has to change.
    pub fn points(&self, phase: crate::phase::Phase) -> impl Iterator<Item = &ModificationPoint> {
        let at_all =
            self.modification_points.iter().filter(move |_| phase == crate::phase::Phase::Green);
        let own = self.phases.iter().filter(move |orders| orders.phase == phase);
        at_all.chain(own.flat_map(|orders| &orders.modification_points))
    }

    /// All text about the feature, used to recognise its names.
    pub fn words(&self) -> String {
        let mut words = vec![self.request.as_str()];
        for component in &self.components {
            words.extend([component.name.as_str(), component.description.as_str()]);
            words.extend(component.file_path.as_deref());
            words.extend(
                component
                    .interface
                    .methods
                    .iter()
                    .flat_map(|method| [method.signature.as_str(), &method.description]),
            );
        }
        for case in &self.test_cases {
            words.extend([case.description.as_str(), &case.given, &case.when, &case.then]);
        }
        words.extend(self.acceptance_criteria.iter().map(Criterion::text));
        words.extend(self.implementation_order.iter().map(|step| step.description.as_str()));
        for orders in &self.phases {
            words.push(&orders.description);
            words.extend(orders.actions.iter().chain(&orders.logic_flow).map(String::as_str));
            words.extend(orders.modification_points.iter().map(|point| point.words.as_str()));
        }
        words.extend(self.modification_points.iter().map(|point| point.words.as_str()));
        words.extend(self.implementation_scope.iter().chain(&self.focus_paths).map(String::as_str));
        words.extend(self.design.as_ref().map(|design| design.text.as_str()));
        words.retain(|word| !word.is_empty());
        words.join("\n")
    }

    /// A request that starts with a word such as "fix" is a fix; all others are features.
    pub fn kind(&self) -> Kind {
        const MENDING: [&str; 5] = ["fix", "fixes", "bug", "bugfix", "repair"];
        let first: String = self
            .request
            .trim_start()
            .chars()
            .take_while(|letter| letter.is_alphanumeric())
            .collect();
        if MENDING.contains(&first.to_lowercase().as_str()) { Kind::Fix } else { Kind::Feature }
    }

    /// A short form of the request for a branch name.
    pub fn slug(&self) -> String {
        const SLUG_CHARS_MAX: usize = 32;
        let mut slug = String::new();
        for letter in headline(&self.request).chars().flat_map(char::to_lowercase) {
            if letter.is_ascii_alphanumeric() {
                slug.push(letter);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
            if slug.len() >= SLUG_CHARS_MAX {
                break;
            }
        }
        let slug = slug.trim_end_matches('-');
        if slug.is_empty() { "feature".to_owned() } else { slug.to_owned() }
    }
}

/// The title of a request: its first paragraph, as in a commit message.
pub fn headline(request: &str) -> &str {
    request.trim().split("\n\n").next().unwrap_or_default()
}

impl Case {
    /// The name in lists and reports.
    pub fn name(&self) -> String {
        if self.id.is_empty() {
            self.description.clone()
        } else {
            format!("{}: {}", self.id, self.description)
        }
    }
}

/// One test of the list, as the planner describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestCase {
    pub description: String,
    pub test_file: String,
    pub impl_file: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(request: &str) -> Brief {
        Brief::of(request)
    }

    #[test]
    fn an_external_agent_continues_the_right_conversation() {
        let of = |role, session: &str| BTreeMap::from([(role, SessionId::parse(session).unwrap())]);
        let known = BTreeMap::from([
            ("S1-IMPL-1".to_owned(), of(Role::Test, "a")),
            ("S1-IMPL-2".to_owned(), of(Role::Refactor, "r")),
        ]);
        let check = |method, strategy, from: &[&str], expected| {
            let resume_from = from.iter().map(|id| (*id).to_owned()).collect();
            assert_eq!(
                Execution {
                    method,
                    strategy,
                    resume_from,
                    known: known.clone(),
                    ..Execution::default()
                }
                .session(Role::Test),
                expected,
                "{strategy:?} {from:?}"
            );
        };
        let named = |id: &str| SessionId::parse(id).unwrap();
        let (one, cli) = (|| named("a"), ExecutionMethod::Cli);
        check(cli, Strategy::New, &["a"], agent::Strategy::New);
        check(cli, Strategy::Resume, &["a"], agent::Strategy::Resume { session: one() });
        check(cli, Strategy::Fork, &["a"], agent::Strategy::Fork { session: one() });
        check(
            cli,
            Strategy::MergeFork,
            &["a", "b"],
            agent::Strategy::MergeFork { sessions: vec![one(), named("b")] },
        );
        check(cli, Strategy::Resume, &["S1-IMPL-1"], agent::Strategy::Resume { session: one() });
        check(cli, Strategy::Resume, &["S1-IMPL-2"], agent::Strategy::New);
        check(
            cli,
            Strategy::MergeFork,
            &["S1-IMPL-2", "S1-IMPL-1", "b"],
            agent::Strategy::MergeFork { sessions: vec![one(), named("b")] },
        );
        check(cli, Strategy::Resume, &[], agent::Strategy::New);
        check(cli, Strategy::Resume, &["--dangerous"], agent::Strategy::New);
        check(ExecutionMethod::Agent, Strategy::Resume, &["a"], agent::Strategy::New);
    }

    #[test]
    fn slugs_are_valid_in_branch_names() {
        for (request, slug) in [
            ("Add roman numerals", "add-roman-numerals"),
            ("  --Übergrößen  & más!", "bergr-en-m-s"),
            ("日本語", "feature"),
            ("a/b..c~d^e:f?g*h[i\\j", "a-b-c-d-e-f-g-h-i-j"),
            ("one two three four five six seven eight nine", "one-two-three-four-five-six-seve"),
        ] {
            assert_eq!(brief(request).slug(), slug, "{request}");
        }
    }

    #[test]
    fn parses_coverage_targets() {
        for (text, shown) in [
            (">=85%", Some(">=85%")),
            ("85", Some(">=85%")),
            (" >= 85.5 % ", Some(">=85.5%")),
            ("≥100%", Some(">=100%")),
            ("0.25%", Some(">=0.25%")),
            ("101%", None),
            ("-1%", None),
            ("85.123", None),
            ("most", None),
            ("", None),
        ] {
            assert_eq!(Target::parse(text).map(String::from).as_deref(), shown, "{text}");
        }
        let target = Target::parse("85%").unwrap();
        assert!(target.is_met(85, 100) && target.is_met(0, 0) && !target.is_met(84, 100));
    }

    #[test]
    fn a_request_that_starts_with_fix_is_a_fix() {
        for (request, kind) in [
            ("Fix the leap year", Kind::Fix),
            ("fix: leap year", Kind::Fix),
            ("prefix sums", Kind::Feature),
            ("fixture loading", Kind::Feature),
            ("", Kind::Feature),
        ] {
            assert_eq!(brief(request).kind(), kind, "{request}");
        }
    }
}
