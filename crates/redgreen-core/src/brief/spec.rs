//! A specification: components, test cases, acceptance criteria and the implementation order. YAML
//! or JSON.

use std::collections::{HashMap, HashSet};

use super::node::{Need, Node, Problem, Reader, Syntax, Value};
use super::{
    Brief, Case, Component, Criterion, Door, Interface, Method, OrderStep, Target, files_to_read,
};

const ITEMS_MAX: usize = 1_000;
pub(super) const ITERATIONS_MAX: u32 = 1_000;

const KEYS: &[&str] = &[
    "spec_id",
    "request_id",
    "title",
    "description",
    "components",
    "test_cases",
    "acceptance_criteria",
    "implementation_order",
    "expected_coverage",
    "max_iterations",
    "withhold",
    "examples",
];

/// The contents of a file, and its unknown keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecResult {
    pub brief: Brief,
    pub unused: Vec<String>,
}

/// Parses a specification and reports all problems at once.
pub fn parse(syntax: Syntax, text: &str) -> Result<SpecResult, Vec<Problem>> {
    let root = Node::parse(syntax, text).map_err(|problem| vec![problem])?;
    read(&root)
}

pub(super) fn read(root: &Node) -> Result<SpecResult, Vec<Problem>> {
    let mut reader = Reader::default();
    if !reader.is_object(root) {
        return reader.finish(None);
    }
    reader.keys(root, KEYS);
    let id = reader.text(root, "spec_id", Need::Required);
    let request_id = reader.text(root, "request_id", Need::Optional);
    let title = reader.text(root, "title", Need::Optional);
    let description = reader.text(root, "description", Need::Optional);
    let components = components(&mut reader, root);
    let test_cases = cases(&mut reader, root, &components);
    let acceptance_criteria = criteria(&mut reader, root);
    let implementation_order = order(&mut reader, root);
    let expected_coverage = coverage(&mut reader, root);
    let max_iterations = reader.count(root, "max_iterations", Need::Optional, (1, ITERATIONS_MAX));
    let withhold = reader.flag(root, "withhold", Need::Optional);
    let unused = std::mem::take(&mut reader.unused);
    let id = id.unwrap_or_default();
    let headline = title.unwrap_or_else(|| id.clone());
    let request = match description {
        Some(description) => format!("{headline}\n\n{description}"),
        None => headline,
    };
    let brief = Brief {
        files: files_to_read(&request),
        request,
        door: Door::Spec,
        id,
        request_id,
        components,
        test_cases,
        acceptance_criteria,
        implementation_order,
        expected_coverage,
        max_iterations,
        withhold,
        ..Brief::default()
    };
    reader.finish(Some(SpecResult { brief, unused }))
}

pub(super) fn components(reader: &mut Reader, root: &Node) -> Vec<Component> {
    let nodes = reader.list(root, "components", Need::Required, ITEMS_MAX);
    let components: Vec<Component> =
        nodes.iter().filter_map(|node| component(reader, node)).collect();
    let named: Vec<(&Node, String)> =
        nodes.iter().filter_map(|node| Some((node, text_of(node.get("name")?)?))).collect();
    reader.unique("component's name", named.iter().map(|(node, name)| (*node, name.as_str())));
    let known: HashSet<&str> = named.iter().map(|(_, name)| name.as_str()).collect();
    for node in nodes {
        for item in reader.list(node, "depends_on", Need::Optional, ITEMS_MAX) {
            if let Some(name) = text_of(item).filter(|name| !known.contains(name.as_str())) {
                reader.problem(item, format!("expected the name of a component, found {name:?}"));
            }
        }
    }
    if let Some((name, at)) = cycle(&components)
        && let Some((node, _)) = named.iter().find(|(_, known)| *known == at)
    {
        reader.problem(
            node,
            format!(
                "expected components that can be built one after another, found a cycle: {name}"
            ),
        );
    }
    components
}

fn component(reader: &mut Reader, node: &Node) -> Option<Component> {
    if !reader.is_object(node) {
        return None;
    }
    let known = ["name", "type", "file_path", "description", "interface", "depends_on"];
    reader.keys(node, &known);
    let name = reader.text(node, "name", Need::Required);
    let kind = reader.text(node, "type", Need::Optional);
    let file_path = node.get("file_path").and_then(|node| reader.path(node));
    let description = reader.text(node, "description", Need::Optional);
    let methods = match reader.object(node, "interface", Need::Optional) {
        None => Vec::new(),
        Some(interface) => {
            reader.keys(interface, &["methods"]);
            let methods = reader.list(interface, "methods", Need::Optional, ITEMS_MAX);
            methods.iter().filter_map(|node| method(reader, node)).collect()
        }
    };
    let depends_on = reader.texts(node, "depends_on", Need::Optional, ITEMS_MAX);
    Some(Component {
        name: name?,
        kind: kind.unwrap_or_else(|| "unknown".to_owned()),
        file_path,
        description: description.unwrap_or_default(),
        interface: Interface { methods },
        depends_on,
    })
}

fn method(reader: &mut Reader, node: &Node) -> Option<Method> {
    if let Value::Text(signature) = &node.value {
        return Some(Method { signature: signature.trim().to_owned(), description: String::new() });
    }
    if !reader.is_object(node) {
        return None;
    }
    reader.keys(node, &["signature", "description"]);
    let signature = reader.text(node, "signature", Need::Required);
    let description = reader.text(node, "description", Need::Optional).unwrap_or_default();
    Some(Method { signature: signature?, description })
}

pub(super) fn cases(reader: &mut Reader, root: &Node, components: &[Component]) -> Vec<Case> {
    let nodes = reader.list(root, "test_cases", Need::Required, ITEMS_MAX);
    let named: Vec<(&Node, String)> =
        nodes.iter().filter_map(|node| Some((node, text_of(node.get("id")?)?))).collect();
    reader.unique("test case's id", named.iter().map(|(node, id)| (*node, id.as_str())));
    nodes.iter().filter_map(|node| case(reader, node, components)).collect()
}

fn case(reader: &mut Reader, node: &Node, components: &[Component]) -> Option<Case> {
    if !reader.is_object(node) {
        return None;
    }
    reader.keys(node, &["id", "description", "component", "type", "given", "when", "then"]);
    let id = reader.text(node, "id", Need::Required);
    let description = reader.text(node, "description", Need::Required);
    let component = reader.text(node, "component", Need::Optional);
    if let (Some(name), Some(place)) = (&component, node.get("component"))
        && !components.is_empty()
        && !components.iter().any(|component| component.name == *name)
    {
        let known: Vec<&str> = components.iter().map(|component| component.name.as_str()).collect();
        reader.problem(
            place,
            format!("expected the name of a component ({}), found {name:?}", known.join(", ")),
        );
    }
    let kind = reader.text(node, "type", Need::Optional).unwrap_or_else(|| "unit".to_owned());
    let mut words = |key| reader.text(node, key, Need::Optional).unwrap_or_default();
    let (given, when, then) = (words("given"), words("when"), words("then"));
    Some(Case { id: id?, description: description?, component, kind, given, when, then })
}

/// Plain text, or `criterion: …` with other fields.
pub(super) fn criteria(reader: &mut Reader, root: &Node) -> Vec<Criterion> {
    let nodes = reader.list(root, "acceptance_criteria", Need::Optional, ITEMS_MAX);
    nodes
        .iter()
        .filter_map(|node| match &node.value {
            Value::Object(entries) => {
                let text = reader.text(node, "criterion", Need::Required)?;
                let mut fields: serde_json::Map<String, serde_json::Value> =
                    entries.iter().map(|(key, node)| (key.clone(), node.json())).collect();
                fields.insert("criterion".to_owned(), text.into());
                Some(Criterion::Fields(fields))
            }
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                reader.words(node, Need::Required).map(Criterion::Text)
            }
        })
        .collect()
}

fn order(reader: &mut Reader, root: &Node) -> Vec<OrderStep> {
    let nodes = reader.list(root, "implementation_order", Need::Optional, ITEMS_MAX);
    let named: Vec<(&Node, String)> =
        nodes.iter().filter_map(|node| Some((node, text_of(node.get("step")?)?))).collect();
    reader.unique("step", named.iter().map(|(node, step)| (*node, step.as_str())));
    let step = |(at, node): (usize, &Node)| match &node.value {
        Value::Object(_) => {
            reader.keys(node, &["step", "description", "component"]);
            let step =
                reader.text(node, "step", Need::Optional).unwrap_or_else(|| (at + 1).to_string());
            Some(OrderStep { step, description: reader.text(node, "description", Need::Required)? })
        }
        Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
            let description = reader.words(node, Need::Required)?;
            Some(OrderStep { step: (at + 1).to_string(), description })
        }
    };
    nodes.iter().enumerate().filter_map(step).collect()
}

/// A coverage target, from `expected_coverage`.
pub(super) fn coverage(reader: &mut Reader, object: &Node) -> Option<Target> {
    let node = object.get("expected_coverage")?;
    let text = reader.words(node, Need::Required)?;
    let target = Target::parse(&text);
    if target.is_none() {
        reader.problem(
            node,
            format!("expected a share from 0 to 100 % such as \">=85%\", found {text:?}"),
        );
    }
    target
}

fn text_of(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.clone()),
        Value::Text(_) | Value::Null | Value::Flag(_) | Value::List(_) | Value::Object(_) => None,
    }
}

/// A dependency cycle: its text, and one of its components.
fn cycle(components: &[Component]) -> Option<(String, String)> {
    let next: HashMap<&str, &[String]> = components
        .iter()
        .map(|component| (component.name.as_str(), component.depends_on.as_slice()))
        .collect();
    let mut done: HashSet<&str> = HashSet::new();
    for start in components {
        // The path from the start, and the number of branches tried at each component.
        let mut way: Vec<(&str, usize)> = vec![(start.name.as_str(), 0)];
        while let Some((name, tried)) = way.last().copied() {
            let onward = next.get(name).and_then(|names| names.get(tried));
            let Some(onward) = onward.filter(|_| !done.contains(name)) else {
                done.insert(name);
                way.pop();
                continue;
            };
            if let Some(last) = way.last_mut() {
                last.1 += 1;
            }
            if let Some(at) = way.iter().position(|(known, _)| *known == onward) {
                let mut names: Vec<&str> = way.iter().skip(at).map(|(name, _)| *name).collect();
                names.push(onward);
                return Some((names.join(" → "), onward.clone()));
            }
            way.push((onward, 0));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const OAUTH: &str = "\
spec_id: SPEC-20260102-0001
title: OAuth provider
components:
  - name: OAuthProvider
    type: class
    file_path: src/auth/oauth_provider.py
    description: Signs people in
    interface:
      methods:
        - signature: 'authenticate(code: str) -> dict'
          description: Gives a token for a code
test_cases:
  - id: TC001
    description: a valid code gives a token
    component: OAuthProvider
    type: unit
    given: valid credentials
    when: authenticate() is called
    then: an access token comes back
  - { id: TC002, description: a wrong code is refused, component: OAuthProvider }
acceptance_criteria:
  - { criterion: people can sign in, priority: must }
  - tokens are refreshed
implementation_order:
  - step: 1
    description: the provider
request_id: REQ-7
";

    #[test]
    fn reads_a_complete_specification() {
        let brief = parse(Syntax::Yaml, OAUTH).unwrap().brief;
        assert_eq!(
            (brief.id.as_str(), brief.request.as_str()),
            ("SPEC-20260102-0001", "OAuth provider")
        );
        assert_eq!(
            brief.components[0].interface.methods[0].signature,
            "authenticate(code: str) -> dict"
        );
        assert_eq!(
            brief.case_names(),
            ["TC001: a valid code gives a token", "TC002: a wrong code is refused"]
        );
        let criteria: Vec<String> =
            brief.acceptance_criteria.iter().map(ToString::to_string).collect();
        assert_eq!(criteria, ["people can sign in (priority: must)", "tokens are refreshed"]);
        assert_eq!(brief.request_id.as_deref(), Some("REQ-7"));
        assert_eq!(brief.implementation_order[0].step, "1");
        assert_eq!(brief.batch().unwrap().impl_file, "src/auth/oauth_provider.py");
        assert_eq!(brief.withhold, None);
        let off = parse(Syntax::Yaml, &format!("{OAUTH}withhold: false\n")).unwrap().brief;
        assert_eq!(off.withhold, Some(false));
    }

    #[test]
    fn problems_name_the_place_and_the_expected_value() {
        for (text, expected) in [
            ("", "the file is empty"),
            ("- a", "1:1: $: expected an object, found a list"),
            ("spec_id: S", "1:1: $.components: is missing\n1:1: $.test_cases: is missing"),
            ("spec_id: [a", "not valid YAML"),
            (
                &OAUTH.replace("TC002", "TC001"),
                "20:5: $.test_cases[1]: expected each test case's id once, found \"TC001\" again",
            ),
            (
                &OAUTH.replace("component: OAuthProvider }", "component: Nobody }"),
                "20:67: $.test_cases[1].component: expected the name of a component (OAuthProvider), found \"Nobody\"",
            ),
            (
                &OAUTH.replace("src/auth", "../auth"),
                "6:16: $.components[0].file_path: expected a path inside the project, found \"../auth/oauth_provider.py\"",
            ),
            (
                &OAUTH.replace("title: OAuth provider", "titel: OAuth"),
                "2:8: $.titel: unknown key \"titel\"; did you mean \"title\"?",
            ),
            (
                &OAUTH.replace(
                    "    type: class",
                    "    type: [class]\n    depends_on: [OAuthProvider]",
                ),
                "4:5: $.components[0]: expected components that can be built one after another, found a cycle: \
                 OAuthProvider → OAuthProvider\n5:11: $.components[0].type: expected text, found a list",
            ),
            (
                &format!("{OAUTH}expected_coverage: lots\n"),
                "$.expected_coverage: expected a share from 0 to 100 %",
            ),
            (&format!("{OAUTH}withhold: often\n"), "$.withhold: expected true or false"),
            (&format!("{OAUTH}title: again\n"), "not valid YAML: duplicate"),
        ] {
            let problems = parse(Syntax::Yaml, text).unwrap_err();
            let told = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            assert!(told.contains(expected), "{text}\n---\n{told}");
        }
    }
}
