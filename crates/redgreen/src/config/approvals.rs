//! Settings of a project that its user has to approve: commands, and everything that weakens
//! protection.

use std::path::{Component, Path, PathBuf};

use super::{Fence, File, NetworkAccess, agents};

impl File {
    /// The commands that these settings run, and the hosts they send data to, by key.
    pub fn commands(&self) -> Vec<(&'static str, String)> {
        let path = |path: &PathBuf| path.display().to_string();
        let (test, agent) = (&self.test, &self.agent);
        let mut asked = Vec::new();
        let mut ask = |key: &'static str, values: Vec<String>| {
            asked.extend(values.into_iter().map(|value| (key, value)));
        };
        ask("test.command", test.command.iter().cloned().collect());
        // A variable can name a program to load, and a service may trust every client.
        ask("test.env", test.env.iter().map(|(name, value)| format!("{name}={value}")).collect());
        ask("test.env-pass", test.env_pass.clone());
        ask("test.services", test.services.clone());
        // Without a sandbox, tests and agents have all of the user's rights.
        ask(
            "test.fence",
            (test.fence == Fence::None).then(|| "none".to_owned()).into_iter().collect(),
        );
        ask("worktree.setup", self.worktree.setup.clone());
        ask("lint.commands", self.lint.commands.clone().unwrap_or_default());
        let notify = &self.notify.command;
        ask("notify.command", (!notify.is_empty()).then(|| notify.join(" ")).into_iter().collect());
        ask("agent.script", agent.script.iter().map(path).collect());
        // The server gets the key.
        ask("model.base-url", self.model.base_url.iter().cloned().collect());
        // The path could append to any file, or replay any file as answers of a model.
        let elsewhere = |path: &&PathBuf| !is_inside(path);
        ask("model.record", self.model.record.iter().filter(elsewhere).map(path).collect());
        ask("model.replay", self.model.replay.iter().filter(elsewhere).map(path).collect());
        ask("agent.allow-hosts", agent.allow_hosts.clone());
        let rows = agent.custom.values();
        let own = rows.flat_map(|row| row.hosts.iter().chain(row.hosts_with.values().flatten()));
        ask("agent.custom.hosts", own.cloned().collect());
        ask(
            "agent.network",
            (agent.network == NetworkAccess::Open).then(|| "open".to_owned()).into_iter().collect(),
        );
        // Everything that agents can read goes to their makers.
        ask("agent.allow-read", agent.allow_read.iter().map(path).collect());
        ask(
            "agent.fence",
            (agent.fence == Fence::None).then(|| "none".to_owned()).into_iter().collect(),
        );
        for (key, value) in agent.custom.values().flat_map(agents::Row::requests) {
            ask(key, vec![value]);
        }
        // Files that are not in git; a link of the project may lead anywhere.
        ask("worktree.copy", self.worktree.copy.iter().map(path).collect());
        ask("worktree.link", self.worktree.link.iter().map(path).collect());
        // redgreen writes to and deletes from this folder.
        ask("worktree.root", self.worktree.root.iter().map(path).collect());
        asked
    }
}

/// Whether a path stays inside the folder it is relative to, apart from links.
pub fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
