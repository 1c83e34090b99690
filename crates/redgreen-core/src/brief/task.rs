//! A TDD task of another tool's planner, as JSON: all its test cases are written first, then the
//! code, then it is refactored.

use super::node::{Need, Node, Problem, Reader, Syntax, Value};
use super::spec::{ITERATIONS_MAX, SpecResult, coverage};
use super::{
    Brief, Case, Criterion, Door, Execution, ExecutionMethod, ModificationPoint, PhaseOrders,
    Strategy, files_to_read,
};
use crate::phase::Phase;

const ITEMS_MAX: usize = 1_000;
/// Programs whose command line is a test command. All other criteria are prose for the agents.
const RUNNERS: &[&str] = &[
    "bash", "bats", "bun", "bundle", "cargo", "composer", "coverage", "ctest", "deno", "dotnet",
    "go", "gradle", "jest", "just", "make", "mix", "mocha", "mvn", "node", "npm", "npx", "nox",
    "php", "phpunit", "pnpm", "poetry", "pytest", "python", "python3", "rake", "rspec", "ruby",
    "sh", "tox", "uv", "vitest", "yarn",
];

/// Parses a task and reports all structural problems at once, by name. `project` is the folder that
/// absolute paths of the task may start with.
pub fn parse(text: &str, project: &str) -> Result<SpecResult, Vec<Problem>> {
    let root = Node::parse(Syntax::Json, text).map_err(|problem| vec![problem])?;
    read(&root, project)
}

pub(super) fn read(root: &Node, project: &str) -> Result<SpecResult, Vec<Problem>> {
    let mut reader = Reader::in_project(project);
    if !reader.is_object(root) {
        return reader.finish(None);
    }
    let known = [
        "meta",
        "cli_execution",
        "description",
        "focus_paths",
        "convergence",
        "pre_analysis",
        "implementation",
        "modification_points",
        "logic_flow",
        "shared_context",
        "exploration_results",
        "context_package_path",
        "examples",
        "id",
        "title",
    ];
    reader.keys(root, &known);
    let id = reader.text(root, "id", Need::Optional);
    let title = reader.text(root, "title", Need::Optional);
    let description = reader.text(root, "description", Need::Required);
    let mut brief = Brief { door: Door::Task, ..Brief::default() };
    meta(&mut reader, root, &mut brief);
    execution(&mut reader, root, &mut brief);
    let paths = reader.list(root, "focus_paths", Need::Optional, ITEMS_MAX);
    brief.focus_paths = paths.iter().filter_map(|node| reader.path(node)).collect();
    convergence(&mut reader, root, &mut brief);
    let steps = reader.list(root, "pre_analysis", Need::Optional, ITEMS_MAX);
    brief.pre_analysis = steps.iter().filter_map(|node| prose(&mut reader, node)).collect();
    brief.phases = phases(&mut reader, root, &mut brief.pre_analysis);
    context(&mut reader, root, &mut brief);
    if brief.max_iterations.is_none() {
        brief.max_iterations = green_iterations(&mut reader, root);
    }
    let description = description.unwrap_or_default();
    brief.request = match title {
        Some(title) if !description.starts_with(&title) => format!("{title}\n\n{description}"),
        _ => description,
    };
    brief.files.extend(files_to_read(&brief.request));
    brief.id = id.or_else(|| brief.execution.as_ref()?.id.clone()).unwrap_or_default();
    let unused = std::mem::take(&mut reader.unused);
    reader.finish(Some(SpecResult { brief, unused }))
}

fn meta(reader: &mut Reader, root: &Node, brief: &mut Brief) {
    let Some(meta) = reader.object(root, "meta", Need::Required) else { return };
    if reader.flag(meta, "tdd_workflow", Need::Required) == Some(false)
        && let Some(node) = meta.get("tdd_workflow")
    {
        reader.problem(node, "expected true: redgreen supports only test-driven tasks");
    }
    let known = [
        "tdd_workflow",
        "max_iterations",
        "withhold",
        "tdd_cycles",
        "execution_config",
        "shared_context",
        "context_package_path",
    ];
    reader.keys(meta, &known);
    brief.max_iterations =
        reader.count(meta, "max_iterations", Need::Optional, (1, ITERATIONS_MAX));
    brief.withhold = reader.flag(meta, "withhold", Need::Optional);
    let mut counted = 0u32;
    for cycle in reader.list(meta, "tdd_cycles", Need::Optional, ITEMS_MAX) {
        if !reader.is_object(cycle) {
            continue;
        }
        reader.keys(
            cycle,
            &[
                "cycle",
                "feature",
                "test_count",
                "test_cases",
                "implementation_scope",
                "expected_coverage",
            ],
        );
        let most = u32::try_from(ITEMS_MAX).unwrap_or(u32::MAX);
        let count = reader.count(cycle, "test_count", Need::Required, (1, most));
        let cases = reader.texts(cycle, "test_cases", Need::Required, ITEMS_MAX);
        if let (Some(count), Some(node)) = (count, cycle.get("test_count"))
            && !cases.is_empty()
            && usize::try_from(count).ok() != Some(cases.len())
        {
            reader.problem(
                node,
                format!("expected the number of test_cases, {}, found {count}", cases.len()),
            );
        }
        counted = counted.saturating_add(count.unwrap_or(0));
        let start = brief.test_cases.len();
        brief.test_cases.extend(cases.into_iter().enumerate().map(|(at, description)| Case {
            id: format!("TC{:03}", start + at + 1),
            description,
            kind: "unit".to_owned(),
            ..Case::default()
        }));
        brief.implementation_scope.extend(reader.text(
            cycle,
            "implementation_scope",
            Need::Optional,
        ));
        brief.expected_coverage = brief.expected_coverage.max(coverage(reader, cycle));
    }
    let mut seen: Vec<&str> = Vec::new();
    for case in &brief.test_cases {
        if seen.contains(&case.description.as_str())
            && let Some(node) = meta.get("tdd_cycles")
        {
            reader.problem(
                node,
                format!("expected each test case once, found {:?} again", case.description),
            );
        }
        seen.push(&case.description);
    }
    brief.test_count = (counted > 0).then_some(counted);
    if let Some(config) = reader.object(meta, "execution_config", Need::Optional) {
        reader.keys(config, &["method"]);
        let methods = [("agent", ExecutionMethod::Agent), ("cli", ExecutionMethod::Cli)];
        if let Some(method) = reader.one_of(config, "method", Need::Optional, &methods) {
            brief.execution.get_or_insert_default().method = method;
        }
    }
}

fn execution(reader: &mut Reader, root: &Node, brief: &mut Brief) {
    let Some(node) = reader.object(root, "cli_execution", Need::Optional) else { return };
    reader.keys(node, &["id", "strategy", "resume_from", "merge_from"]);
    let id = reader.text(node, "id", Need::Optional);
    let strategies = [
        ("new", Strategy::New),
        ("resume", Strategy::Resume),
        ("fork", Strategy::Fork),
        ("merge_fork", Strategy::MergeFork),
    ];
    let strategy = reader.one_of(node, "strategy", Need::Optional, &strategies).unwrap_or_default();
    let mut resume_from = Vec::new();
    if let Some(from) = node.get("resume_from") {
        match (&from.value, strategy) {
            (Value::List(items), Strategy::MergeFork) => {
                resume_from
                    .extend(items.iter().filter_map(|item| reader.words(item, Need::Required)));
            }
            (_, Strategy::MergeFork) => {
                reader
                    .problem(from, "expected a list of ids: merge_fork continues several sessions");
            }
            (Value::List(_), _) => {
                reader.problem(from, "expected one id; a list is for merge_fork");
            }
            (_, Strategy::New) => {
                reader
                    .problem(from, "expected no value: the strategy \"new\" starts a new session");
            }
            (_, Strategy::Resume | Strategy::Fork) => {
                resume_from.extend(reader.words(from, Need::Required));
            }
        }
    } else if strategy != Strategy::New {
        reader.problem(node, "expected resume_from: this strategy continues a session");
    }
    if strategy == Strategy::MergeFork && resume_from.len() == 1 {
        reader.problem(
            node,
            "expected at least two ids in resume_from: merge_fork continues several sessions",
        );
    }
    let method = brief.execution.as_ref().map(|execution| execution.method).unwrap_or_default();
    brief.execution = Some(Execution { method, id, strategy, resume_from, ..Execution::default() });
}

/// Command lines are executed; all other criteria are for the agents to read.
fn convergence(reader: &mut Reader, root: &Node, brief: &mut Brief) {
    let Some(node) = reader.object(root, "convergence", Need::Required) else { return };
    reader.keys(node, &["criteria"]);
    for criterion in reader.texts(node, "criteria", Need::Required, ITEMS_MAX) {
        match command(&criterion) {
            Some(line) => brief.convergence.push(line),
            None => brief.acceptance_criteria.push(Criterion::Text(criterion)),
        }
    }
    if let Some(criteria) = node.get("criteria")
        && brief.convergence.is_empty()
        && matches!(&criteria.value, Value::List(items) if !items.is_empty())
    {
        reader.problem(
            criteria,
            "expected a test command among the criteria, such as \"pytest tests\", found none",
        );
    }
}

/// The command line in a criterion: all of it, the part between backticks, or the part after a
/// colon.
pub fn command(criterion: &str) -> Option<String> {
    let quoted = criterion.split('`').skip(1).step_by(2);
    let after_colon = criterion.split_once(": ").map(|(_, rest)| rest);
    let parts = std::iter::once(criterion).chain(quoted).chain(after_colon);
    parts.map(str::trim).find(|line| is_command(line)).map(str::to_owned)
}

fn is_command(line: &str) -> bool {
    let mut words =
        line.split_whitespace().skip_while(|word| word.contains('=') && !word.starts_with('-'));
    let Some(program) = words.next() else { return false };
    let prose = line.contains('`')
        || line.ends_with(['.', ':'])
        || line.contains(" passes")
        || line.contains(": ");
    let named = program.starts_with("./")
        || RUNNERS.contains(&program.rsplit('/').next().unwrap_or(program));
    named && !prose
}

/// The three phases of the task, and its other steps.
fn phases(reader: &mut Reader, root: &Node, prose_too: &mut Vec<String>) -> Vec<PhaseOrders> {
    let nodes = reader.list(root, "implementation", Need::Required, ITEMS_MAX);
    let words = [("red", Phase::Red), ("green", Phase::Green), ("refactor", Phase::Refactor)];
    let mut found: Vec<PhaseOrders> = Vec::new();
    for node in nodes {
        match &node.value {
            Value::Text(text) => prose_too.push(text.trim().to_owned()),
            // A step without a phase is additional information, like a step that is only text.
            Value::Object(_) if node.get("tdd_phase").is_none() => {
                prose_too.extend(prose(reader, node));
            }
            Value::Object(_) => {
                let phase = reader.one_of(node, "tdd_phase", Need::Required, &words);
                let orders = orders(reader, node, phase);
                let Some(phase) = phase else { continue };
                let PhaseOrders { description, actions, .. } = &orders;
                if phase == Phase::Green && description.is_empty() && actions.is_empty() {
                    reader.problem(
                        node,
                        "expected actions or a description of the green phase, found neither",
                    );
                }
                if found.iter().any(|orders| orders.phase == phase) {
                    reader.problem(
                        node,
                        format!(
                            "expected each phase once, found {} again",
                            phase.as_str().to_lowercase()
                        ),
                    );
                } else if found.last().is_some_and(|last| last.phase > phase) {
                    reader.problem(node, "expected the order red, green, refactor");
                }
                found.push(orders);
            }
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::List(_) => {
                reader.problem(node, "expected text or an object with tdd_phase");
            }
        }
    }
    if let Some(node) = root.get("implementation").filter(|_| !nodes.is_empty()) {
        let missing: Vec<&str> = words
            .iter()
            .filter(|(_, phase)| !found.iter().any(|orders| orders.phase == *phase))
            .map(|(word, _)| *word)
            .collect();
        if !missing.is_empty() || found.len() > words.len() {
            let lacks = if missing.is_empty() {
                String::new()
            } else {
                format!("; there is no {}", missing.join(", no "))
            };
            let message = format!(
                "expected exactly 3 objects with tdd_phase red, green and refactor, found {}{lacks}",
                found.len()
            );
            reader.problem(node, message);
        }
    }
    found
}

/// The task's instructions for one phase.
fn orders(reader: &mut Reader, node: &Node, phase: Option<Phase>) -> PhaseOrders {
    let known = [
        "step",
        "title",
        "description",
        "tdd_phase",
        "actions",
        "test_fix_cycle",
        "modification_points",
        "logic_flow",
    ];
    reader.keys(node, &known);
    if let Some(cycle) = node.get("test_fix_cycle") {
        reader.keys(cycle, &["max_iterations"]);
    }
    PhaseOrders {
        description: reader.text(node, "description", Need::Optional).unwrap_or_default(),
        actions: reader.texts(node, "actions", Need::Optional, ITEMS_MAX),
        modification_points: points(reader, node),
        logic_flow: node.get("logic_flow").map(Node::told).unwrap_or_default(),
        ..PhaseOrders::of(phase.unwrap_or(Phase::Green))
    }
}

/// Files that will change: text, or an object that names the file.
fn points(reader: &mut Reader, object: &Node) -> Vec<ModificationPoint> {
    let nodes = reader.list(object, "modification_points", Need::Optional, ITEMS_MAX);
    let point = |node: &Node| match &node.value {
        Value::Object(_) => {
            let place = node.get("file").or_else(|| node.get("path"));
            let file = place.and_then(|place| reader.path(place));
            Some(ModificationPoint { file, words: node.told().join("; ") })
        }
        Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
            let text = reader.words(node, Need::Required)?;
            Some(ModificationPoint::of_text(&text))
        }
    };
    nodes.iter().filter_map(point).collect()
}

/// The plan's context: the stack, conventions, exploration results, a context package.
fn context(reader: &mut Reader, root: &Node, brief: &mut Brief) {
    brief.modification_points = points(reader, root);
    let meta = root.get("meta");
    let shared = [meta.and_then(|meta| meta.get("shared_context")), root.get("shared_context")];
    brief.shared_context = shared.into_iter().flatten().flat_map(Node::told).collect();
    let flow = root.get("logic_flow").map(Node::told).unwrap_or_default();
    brief.pre_analysis.extend(flow.into_iter().map(|step| format!("logic flow: {step}")));
    brief.pre_analysis.extend(root.get("exploration_results").map(exploration).unwrap_or_default());
    let package =
        [meta.and_then(|meta| meta.get("context_package_path")), root.get("context_package_path")];
    let package = package.into_iter().flatten().find_map(|node| reader.path(node));
    brief.files.extend(package);
}

/// The results of an exploration, as lines for the agents.
pub fn exploration(results: &Node) -> Vec<String> {
    results.told().into_iter().map(|line| format!("exploration: {line}")).collect()
}

/// `test_fix_cycle.max_iterations` of the green step, if `meta` does not set it.
fn green_iterations(reader: &mut Reader, root: &Node) -> Option<u32> {
    let Value::List(nodes) = &root.get("implementation")?.value else { return None };
    let cycles = nodes.iter().filter_map(|node| node.get("test_fix_cycle")).next()?;
    reader.count(cycles, "max_iterations", Need::Optional, (1, ITERATIONS_MAX))
}

/// The text of a step in any form.
fn prose(reader: &mut Reader, node: &Node) -> Option<String> {
    const WORDS: [&str; 5] = ["step", "title", "description", "action", "command"];
    match &node.value {
        Value::Text(text) => Some(text.trim().to_owned()),
        Value::Object(_) => {
            reader.keys(
                node,
                &[
                    &WORDS[..],
                    &["actions", "commands", "logic_flow", "modification_points", "output_to"],
                ]
                .concat(),
            );
            let mut said: Vec<String> =
                WORDS.iter().filter_map(|name| reader.text(node, name, Need::Optional)).collect();
            for name in ["actions", "commands", "logic_flow", "modification_points"] {
                let told = node.get(name).map(Node::told).unwrap_or_default();
                said.extend(
                    (!told.is_empty())
                        .then(|| format!("{}: {}", name.replace('_', " "), told.join("; "))),
                );
            }
            (!said.is_empty()).then(|| said.join(": "))
        }
        Value::Null | Value::Flag(_) | Value::Number(_) | Value::List(_) => None,
    }
    .filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const TASK: &str = r#"{
  "meta": {
    "tdd_workflow": true,
    "max_iterations": 3,
    "tdd_cycles": [
      { "test_count": 2, "test_cases": ["adds", "subtracts"], "implementation_scope": "calc.py", "expected_coverage": ">=85%" }
    ],
    "execution_config": { "method": "cli" }
  },
  "cli_execution": { "id": "S-IMPL-1", "strategy": "resume", "resume_from": "S-IMPL-0" },
  "description": "A calculator",
  "focus_paths": ["calc.py", "./tests"],
  "convergence": { "criteria": ["python -m pytest -q", "All functions are documented"] },
  "pre_analysis": [{ "step": "look", "action": "read the code" }],
  "implementation": [
    "look around",
    { "step": "1", "description": "Write 2 tests", "tdd_phase": "red", "actions": ["write tests"], "test_fix_cycle": null },
    { "step": "2", "description": "Implement", "tdd_phase": "green", "test_fix_cycle": { "max_iterations": 3 } },
    { "step": "3", "description": "Refactor", "tdd_phase": "refactor" }
  ]
}"#;

    #[test]
    fn reads_a_complete_task() {
        let read = parse(TASK, "/srv/shop").unwrap();
        let brief = read.brief;
        assert_eq!(read.unused, Vec::<String>::new());
        assert_eq!((brief.id.as_str(), brief.request.as_str()), ("S-IMPL-1", "A calculator"));
        assert_eq!(brief.case_names(), ["TC001: adds", "TC002: subtracts"]);
        assert_eq!((brief.test_count, brief.max_iterations), (Some(2), Some(3)));
        let off = TASK.replacen(
            "\"max_iterations\": 3,",
            "\"max_iterations\": 3, \"withhold\": false,",
            1,
        );
        assert_eq!((brief.withhold, parse(&off, "").unwrap().brief.withhold), (None, Some(false)));
        assert_eq!(brief.expected_coverage.map(String::from).as_deref(), Some(">=85%"));
        assert_eq!(brief.convergence, ["python -m pytest -q"]);
        assert_eq!(brief.acceptance_criteria, [Criterion::from("All functions are documented")]);
        assert_eq!(brief.pre_analysis, ["look: read the code", "look around"]);
        let execution = brief.execution.unwrap();
        assert_eq!(
            (execution.method, execution.strategy),
            (ExecutionMethod::Cli, Strategy::Resume)
        );
        assert_eq!(execution.resume_from, ["S-IMPL-0"]);
        assert_eq!(brief.phases.len(), 3);
    }

    #[test]
    fn reports_all_structural_problems_at_once() {
        for (old, new, expected) in [
            (
                "\"tdd_workflow\": true",
                "\"tdd_workflow\": false",
                "$.meta.tdd_workflow: expected true",
            ),
            ("\"tdd_workflow\": true,", "", "$.meta.tdd_workflow: is missing"),
            (
                "\"test_count\": 2",
                "\"test_count\": 5",
                "$.meta.tdd_cycles[0].test_count: expected the number of test_cases, 2, found 5",
            ),
            (">=85%", "lots", "$.meta.tdd_cycles[0].expected_coverage: expected a share"),
            (
                "\"max_iterations\": 3,",
                "\"max_iterations\": 0,",
                "$.meta.max_iterations: expected a whole number from 1",
            ),
            (
                "\"method\": \"cli\"",
                "\"method\": \"robot\"",
                "expected one of agent, cli, found \"robot\"",
            ),
            ("\"S-IMPL-0\"", "[\"a\", \"b\"]", "expected one id; a list is for merge_fork"),
            ("\"strategy\": \"resume\"", "\"strategy\": \"merge_fork\"", "expected a list of ids"),
            ("\"strategy\": \"resume\"", "\"strategy\": \"new\"", "starts a new session"),
            (", \"resume_from\": \"S-IMPL-0\"", "", "expected resume_from"),
            ("python -m pytest -q", "it works", "$.convergence.criteria: expected a test command"),
            (
                "\"./tests\"",
                "\"/srv/shop\"",
                "$.focus_paths[1]: expected a path inside the project",
            ),
            (
                "\"tdd_phase\": \"refactor\"",
                "\"tdd_phase\": \"blue\"",
                "expected one of red, green, refactor, found \"blue\"",
            ),
            (
                "\"tdd_phase\": \"refactor\"",
                "\"tdd_phase\": \"green\"",
                "expected each phase once, found green again",
            ),
            (
                ", \"tdd_phase\": \"refactor\"",
                "",
                "$.implementation: expected exactly 3 objects with tdd_phase red, green and refactor, found 2; there is no refactor",
            ),
            (
                "\"description\": \"Implement\", ",
                "",
                "expected actions or a description of the green phase",
            ),
            ("\"./tests\"", "\"/etc\"", "$.focus_paths[1]: expected a path inside the project"),
            (
                "\"description\": \"A calculator\",",
                "\"description\": \" \",",
                "$.description: expected some words",
            ),
            ("\"subtracts\"", "\"adds\"", "expected each test case once, found \"adds\" again"),
            ("\"A calculator\"", "\"A calculator\" oops", "not valid JSON"),
            (
                "\"description\": \"A calculator\",",
                "\"description\": \"A\", \"description\": \"B\",",
                "duplicate",
            ),
        ] {
            let text = TASK.replacen(old, new, 1);
            assert_ne!(text, TASK, "{old}");
            let problems = parse(&text, "").unwrap_err();
            let told = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            assert!(told.contains(expected), "{old} → {new}\n---\n{told}");
        }
        let many =
            parse(r#"{"meta": {}, "implementation": [], "convergence": {"criteria": []}}"#, "")
                .unwrap_err();
        assert_eq!(many.len(), 4, "{many:?}");
    }

    #[test]
    fn reads_a_plan_and_lists_unused_keys() {
        let more = r#""pre_analysis": [{ "step": "look", "action": "read", "commands": ["rg add src", "Read(calc.py)"], "speed": 9 }],
  "modification_points": [{ "file": "calc.py", "target": "add", "change": "create" }],
  "logic_flow": ["parse", "add"],
  "shared_context": { "conventions": "names in English" },
  "exploration_results": { "critical_files": ["calc.py"], "integration_points": "cli.py" },
  "context_package_path": ".workflow/context-package.json",
  "status": "pending","#;
        let text = TASK
            .replacen("\"pre_analysis\": [{ \"step\": \"look\", \"action\": \"read the code\" }],", more, 1)
            .replacen("\"tdd_workflow\": true,", "\"tdd_workflow\": true, \"type\": \"feature\", \"shared_context\": { \"tech_stack\": [\"python\", \"pytest\"] },", 1)
            .replacen("\"method\": \"cli\"", "\"method\": \"cli\", \"cli_tool\": \"codex\"", 1)
            .replacen("\"look around\",", "{ \"step\": \"0\", \"description\": \"look around\", \"mood\": 1 },", 1)
            .replacen("\"description\": \"Implement\",", "\"description\": \"Implement\", \"modification_points\": [\"calc.py: add\"], \"logic_flow\": [\"first\"], \"depth\": 2,", 1)
            .replacen("\"./tests\"", "\"/srv/shop/tests\"", 1)
            .replacen("A calculator", "A calculator\\n<files_to_read>\\n- docs/a.md\\n</files_to_read>", 1);
        let SpecResult { brief, unused } = parse(&text, "/srv/shop").unwrap();
        let unused: Vec<&str> = unused.iter().map(|path| path.trim_start_matches("$.")).collect();
        assert_eq!(
            unused,
            [
                "status",
                "meta.type",
                "meta.execution_config.cli_tool",
                "pre_analysis[0].speed",
                "implementation[0].mood",
                "implementation[2].depth"
            ]
        );
        assert_eq!(brief.focus_paths, ["calc.py", "tests"]);
        assert_eq!(brief.files, [".workflow/context-package.json", "docs/a.md"]);
        assert_eq!(
            brief.shared_context,
            ["tech_stack: python, pytest", "conventions: names in English"]
        );
        assert_eq!(
            brief.pre_analysis,
            [
                "look: read: commands: rg add src; Read(calc.py)",
                "0: look around",
                "logic flow: parse",
                "logic flow: add",
                "exploration: critical_files: calc.py",
                "exploration: integration_points: cli.py"
            ]
        );
        let points: Vec<_> =
            brief.points(Phase::Green).map(|point| point.file.as_deref()).collect();
        assert_eq!(points, [Some("calc.py"), Some("calc.py")]);
        assert_eq!(brief.phases[1].logic_flow, ["first"]);
    }

    #[test]
    fn cycles_are_optional() {
        let (before, rest) = TASK.split_once("    \"tdd_cycles\": [").unwrap();
        let (_, after) = rest.split_once("    ],\n").unwrap();
        let brief = parse(&format!("{before}{after}"), "").unwrap().brief;
        assert_eq!((brief.test_count, brief.test_cases.len()), (None, 0));
    }

    #[test]
    fn separates_commands_from_prose() {
        for (criterion, line) in [
            ("pytest tests/ -q", Some("pytest tests/ -q")),
            ("CI=1 npm test", Some("CI=1 npm test")),
            ("./gradlew test", Some("./gradlew test")),
            ("Coverage is met: run `cargo test --all`", Some("cargo test --all")),
            ("All tests pass: pytest tests/", Some("pytest tests/")),
            ("Note: make it nice.", None),
            ("All tests pass", None),
            ("npm test passes", None),
            ("make it nice.", None),
            ("", None),
        ] {
            assert_eq!(command(criterion).as_deref(), line, "{criterion}");
        }
    }
}
