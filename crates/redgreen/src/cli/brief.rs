//! `redgreen brief`.

use std::path::PathBuf;

use anyhow::Result;
use redgreen_core::brief::{Brief, Component, Door};
use redgreen_core::text::shell_word;
use serde::Serialize;

use super::CommandContext;
use crate::failure::Code;
use crate::ops::brief::{self, LoadedBrief};
use crate::view;

/// Show how redgreen reads a specification or task, without running anything
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen brief spec.yaml\n  redgreen brief IMPL-1.json --json"
)]
pub(super) struct Args {
    /// A specification (YAML or JSON) or a task (JSON)
    file: PathBuf,
}

#[derive(Serialize)]
struct Answer<'a> {
    version: u32,
    brief: &'a Brief,
    unused: &'a [String],
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let understood = brief::read(
            &self.file,
            &desk.folder,
            &desk.project().map_or_else(|_| desk.folder.clone(), |project| project.git.root),
        )?;
        let option = if understood.brief.door == Door::Task { "--task" } else { "--spec" };
        let next = format!("redgreen run {option} {}", shell_word(&self.file.to_string_lossy()));
        let answer = Answer { version: 1, brief: &understood.brief, unused: &understood.unused };
        desk.printer.answer(&words(&understood, &next), &answer);
        Ok(Code::Done)
    }
}

fn words(understood: &LoadedBrief, next: &str) -> String {
    let LoadedBrief { brief, unused, examples, .. } = understood;
    let name = if brief.id.is_empty() { brief.door.as_str() } else { &brief.id };
    let lines = |items: Vec<String>| items.join("\n");
    let components = |component: &Component| {
        let place =
            component.file_path.as_deref().map(|path| format!("  {path}")).unwrap_or_default();
        let methods =
            component.interface.methods.iter().map(|method| format!("\n  {}", method.signature));
        format!("{} ({}){place}{}", component.name, component.kind, methods.collect::<String>())
    };
    let phases = brief
        .phases
        .iter()
        .map(|orders| format!("{}: {}", orders.phase, orders.description))
        .collect();
    let steps = brief
        .implementation_order
        .iter()
        .map(|step| format!("{}. {}", step.step, step.description))
        .collect();
    let execution = brief.execution.as_ref().map(|execution| {
        let from = if execution.resume_from.is_empty() {
            String::new()
        } else {
            format!(" from {}", execution.resume_from.join(", "))
        };
        format!("{:?}, session {:?}{from}", execution.method, execution.strategy).to_lowercase()
    });
    let own = brief.phases.iter().flat_map(|orders| &orders.modification_points);
    let points =
        brief.modification_points.iter().chain(own).map(|point| point.words.clone()).collect();
    let count = brief.test_count.map(|count| count.to_string());
    let iterations = brief.max_iterations.map(|count| count.to_string());
    let coverage = brief.expected_coverage.map(String::from);
    let withheld = examples.as_ref().map(|examples| view::count(examples.len(), "example"));
    let rows = [
        ("kind", brief.door.as_str().to_owned()),
        ("components", lines(brief.components.iter().map(components).collect())),
        ("tests", lines(brief.case_names())),
        ("test count", count.unwrap_or_default()),
        ("criteria", lines(brief.acceptance_criteria.iter().map(ToString::to_string).collect())),
        ("order", lines(steps)),
        ("phases", lines(phases)),
        ("scope", lines(brief.implementation_scope.clone())),
        ("paths", lines(brief.focus_paths.clone())),
        ("changes", lines(points)),
        ("shared", lines(brief.shared_context.clone())),
        ("reads", lines(brief.files.clone())),
        ("look first", lines(brief.pre_analysis.clone())),
        ("has to run", lines(brief.convergence.clone())),
        ("coverage", coverage.unwrap_or_default()),
        ("iterations", iterations.unwrap_or_default()),
        ("execution", execution.unwrap_or_default()),
        ("withheld", withheld.unwrap_or_default()),
        ("not used", unused.join(", ")),
    ];
    let rows = rows.each_ref().map(|(name, value)| (*name, value.as_str()));
    format!("{}{}", view::title(name, &brief.request), view::block(&rows, next))
}
