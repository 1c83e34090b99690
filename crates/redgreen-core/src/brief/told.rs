//! What a brief says beside the request, in the words an agent is given: every agent the same.

use std::fmt::Write as _;

use super::Brief;

impl Brief {
    /// Everything but the request, the design and the context files; empty where there is no more to say.
    pub fn told(&self) -> String {
        let mut text = String::new();
        for component in &self.components {
            let place = component.file_path.as_deref().map(|path| format!(" in {path}")).unwrap_or_default();
            writeln!(text, "- {} ({}){place}: {}", component.name, component.kind, component.description).ok();
            for method in &component.interface.methods {
                writeln!(text, "  - `{}` {}", method.signature, method.description).ok();
            }
        }
        let cases = self.test_cases.iter().map(|case| {
            let parts = [("given", &case.given), ("when", &case.when), ("then", &case.then)];
            let parts = parts.iter().filter(|(_, words)| !words.is_empty());
            let parts: String = parts.map(|(name, words)| format!("; {name} {words}")).collect();
            format!("{}{parts}", case.name())
        });
        list(&mut text, "Tests, all of them", cases);
        if let Some(count) = self.test_count {
            writeln!(text, "Write exactly {count} tests.").ok();
        }
        list(&mut text, "Accepted when", self.acceptance_criteria.iter().cloned());
        let steps = self.implementation_order.iter().map(|step| format!("{} {}", step.step, step.description));
        list(&mut text, "In this order", steps);
        for orders in &self.phases {
            let actions = orders.actions.iter().cloned();
            list(&mut text, &format!("{}: {}", orders.phase, orders.description), actions);
        }
        list(&mut text, "Scope", self.implementation_scope.iter().chain(&self.focus_paths).cloned());
        list(&mut text, "Known before", self.pre_analysis.iter().cloned());
        text
    }
}

fn list(text: &mut String, name: &str, rows: impl Iterator<Item = String>) {
    let rows: String = rows.map(|row| format!("- {row}\n")).collect();
    let alone = rows.is_empty() && !name.contains(": ");
    if !alone {
        writeln!(text, "{name}{}\n{rows}", if rows.is_empty() { "" } else { ":" }).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Case, Component, Interface, Method};
    use super::*;

    #[test]
    fn an_agent_hears_everything_a_file_asks_for() {
        let method = Method { signature: "add(a, b)".to_owned(), description: "the sum".to_owned() };
        let brief = Brief {
            components: vec![Component {
                name: "Calculator".to_owned(),
                kind: "module".to_owned(),
                file_path: Some("calc.py".to_owned()),
                description: "adds".to_owned(),
                interface: Interface { methods: vec![method] },
                depends_on: Vec::new(),
            }],
            test_cases: vec![Case {
                id: "TC-1".to_owned(),
                description: "adds two numbers".to_owned(),
                given: "1 and 2".to_owned(),
                then: "3".to_owned(),
                ..Case::default()
            }],
            acceptance_criteria: vec!["sums are exact".to_owned()],
            ..Brief::default()
        };
        let told = brief.told();
        for words in ["Calculator (module) in calc.py: adds", "`add(a, b)` the sum", "given 1 and 2; then 3", "exact"] {
            assert!(told.contains(words), "{words} in {told}");
        }
        assert_eq!(Brief::of("an adder").told(), "");
    }
}
