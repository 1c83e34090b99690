//! The wording of a brief for an agent.

use std::fmt::Write as _;

use super::{Brief, Case, Component, Door, ModificationPoint};
use crate::phase::Role;

impl Brief {
    /// The parts of the file, besides the request, that concern the role.
    pub fn told(&self, role: Role) -> String {
        let mut text = String::new();
        match self.door {
            Door::Spec if !self.id.is_empty() => writeln!(text, "Specification {}", self.id).ok(),
            Door::Task if !self.id.is_empty() => writeln!(text, "Task {}", self.id).ok(),
            Door::Request | Door::Spec | Door::Design | Door::Task => None,
        };
        for component in &self.components {
            tell_component(&mut text, component);
        }
        if !self.test_cases.is_empty() {
            match role {
                Role::Test => text.push_str(match self.door {
                    Door::Spec => {
                        "Write all of these tests now, and no code. Put the id of the case into each test's name, docstring \
                         or comment; more tests of edge cases are welcome:\n"
                    }
                    Door::Request | Door::Design | Door::Task => "Write all of these tests now, each once, and no code:\n",
                }),
                Role::TestList | Role::Implementing | Role::Diagnosis | Role::Refactor => {
                    text.push_str("Requested tests:\n");
                }
            }
            for case in &self.test_cases {
                tell_case(&mut text, case);
            }
        }
        let criteria: Vec<String> =
            self.acceptance_criteria.iter().map(ToString::to_string).collect();
        list(&mut text, "Acceptance criteria", &criteria);
        let steps: Vec<String> = self
            .implementation_order
            .iter()
            .map(|step| format!("{}: {}", step.step, step.description))
            .collect();
        list(&mut text, "Order", &steps);
        list(&mut text, "Scope", &self.implementation_scope);
        list(&mut text, "Paths", &self.focus_paths);
        list(&mut text, "Files to change", &points(&self.modification_points));
        list(&mut text, "For all tasks of the plan", &self.shared_context);
        list(&mut text, "Look at first", &self.pre_analysis);
        for orders in
            self.phases.iter().filter(|orders| crate::state::role_of(orders.phase) == role)
        {
            writeln!(text, "This phase: {}", orders.description).ok();
            list(&mut text, "Do", &orders.actions);
            list(&mut text, "In this order", &orders.logic_flow);
            list(&mut text, "Files to change in this phase", &points(&orders.modification_points));
        }
        list(&mut text, "Commands that must succeed", &self.convergence);
        if let Some(target) = self.expected_coverage {
            writeln!(text, "Required line coverage: {target}").ok();
        }
        match role {
            Role::Test => list(&mut text, "Project settings", &self.instructions.tests),
            Role::Implementing | Role::Refactor => {
                list(&mut text, "Project settings", &self.instructions.code);
            }
            Role::TestList | Role::Diagnosis => {}
        }
        text
    }
}

fn tell_component(text: &mut String, component: &Component) {
    let Component { name, kind, file_path, description, interface, .. } = component;
    let place = file_path.as_deref().map(|path| format!(" in {path}")).unwrap_or_default();
    writeln!(text, "Component {name} ({kind}){place}: {description}").ok();
    for method in &interface.methods {
        writeln!(text, "  {}  {}", method.signature, method.description).ok();
    }
}

fn tell_case(text: &mut String, case: &Case) {
    let of = case
        .component
        .as_deref()
        .map(|name| format!(" [{name}, {}]", case.kind))
        .unwrap_or_default();
    writeln!(text, "- {}{of}", case.name()).ok();
    for (word, said) in [("given", &case.given), ("when", &case.when), ("then", &case.then)] {
        if !said.is_empty() {
            writeln!(text, "  {word} {said}").ok();
        }
    }
}

fn points(points: &[ModificationPoint]) -> Vec<String> {
    points.iter().map(|point| point.words.clone()).collect()
}

fn list(text: &mut String, title: &str, items: &[String]) {
    if !items.is_empty() {
        writeln!(text, "{title}:\n- {}", items.join("\n- ")).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brief::{PhaseOrders, Target};
    use crate::phase::Phase;

    #[test]
    fn each_role_gets_the_parts_that_concern_it() {
        let brief = Brief {
            test_cases: vec![Case {
                id: "TC1".to_owned(),
                description: "adds".to_owned(),
                then: "5".to_owned(),
                ..Case::default()
            }],
            phases: vec![PhaseOrders {
                description: "implement".to_owned(),
                ..PhaseOrders::of(Phase::Green)
            }],
            expected_coverage: Target::parse("85%"),
            ..Brief::default()
        };
        let coder = brief.told(Role::Implementing);
        assert_eq!(
            coder,
            "Requested tests:\n- TC1: adds\n  then 5\nThis phase: implement\nRequired line coverage: >=85%\n"
        );
        assert!(brief.told(Role::Test).starts_with("Write all of these tests now"));
    }
}
