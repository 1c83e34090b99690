//! Detects agents: on the PATH, by their version, and by their login as far as possible without a
//! network.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use redgreen_core::acp::{Client, ClientServices, Plan};
use redgreen_core::agent::Strategy;
use redgreen_core::egress::{AllowList, Entry};
use serde::Serialize;

use crate::agent::network::NetworkRules;
use crate::config::agents::{Protocol, Row};
use crate::config::{self, Environment};
use crate::failure::Failure;
use crate::process::{Answer, Attention, Interrupted, Limits, ProcessEvent, Program, Stop};

/// Where programs are asked for their version. In a project, they would load its plugins and start
/// the servers in its settings, outside of any sandbox.
const NOWHERE: &str = "/";
/// The time limit for the version. A first start may unpack the program.
const HANDSHAKE: Limits = Limits { wall: Duration::from_secs(30), output_bytes_max: 64 << 10 };
/// The order of preference if no agent is named.
pub const PREFERRED: [&str; 7] =
    ["claude", "codex", "gemini", "opencode", "copilot", "qwen", "aider"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Presence {
    pub name: String,
    pub title: String,
    /// `acp` or `cli`.
    pub speaks: &'static str,
    pub program: Option<PathBuf>,
    pub version: Option<String>,
    /// Why it did not answer.
    pub trouble: Option<String>,
    /// Evidence of a login: a variable or a file.
    pub login: Option<String>,
    /// The hosts of its model.
    pub hosts: Vec<String>,
    /// Its files and folders in the user's home.
    pub own: Vec<String>,
    /// What to do before it can be used.
    pub next: Option<String>,
}

impl Presence {
    /// Whether it can be started; only a login may be missing.
    pub fn is_here(&self) -> bool {
        self.program.is_some() || self.next.is_none()
    }
}

/// The first agent that is installed and logged in.
pub fn first(environment: &Environment) -> Result<Option<&'static str>> {
    let table = config::agents::table()?;
    let usable = |name: &&&str| {
        table.get(**name).is_some_and(|row| {
            row.program().is_some_and(|program| environment.has_program(program))
                && login(row, environment).is_some()
        })
    };
    Ok(PREFERRED.iter().find(usable).copied())
}

/// Installed agents without a login, and how to log in.
pub fn logged_out(environment: &Environment) -> Result<Vec<(&'static str, String)>> {
    let table = config::agents::table()?;
    let found = PREFERRED.iter().filter_map(|name| {
        let row = table.get(*name)?;
        let is_here = row.program().is_some_and(|program| environment.has_program(program));
        (is_here && login(row, environment).is_none()).then(|| (*name, row.login.clone()))
    });
    Ok(found.collect())
}

/// Examines one agent, and asks for its version if it is installed.
pub fn look(name: &str, row: &Row, environment: &Environment, stop: &Stop) -> Result<Presence> {
    let program = row.program().and_then(|program| environment.find_program(program));
    let mut presence = Presence {
        name: name.to_owned(),
        title: if row.title.is_empty() { name.to_owned() } else { row.title.clone() },
        speaks: match row.speaks {
            Protocol::Acp => "acp",
            Protocol::Prints(_) => "cli",
        },
        login: login(row, environment),
        hosts: hosts(row, environment),
        own: own(row, environment),
        program,
        version: None,
        trouble: None,
        next: None,
    };
    if let Some(program) = presence.program.clone() {
        // An agent of the project's settings, which the user trusts, may be a file of the project.
        let is_known = config::agents::table()?.contains_key(name);
        let place = Path::new(if is_known { NOWHERE } else { "." });
        match handshake(program, row, place, stop) {
            Ok(version) => presence.version = version,
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => presence.trouble = Some(format!("{error:#}")),
        }
        if presence.login.is_none() && !row.login.is_empty() {
            presence.next = Some(row.login.clone());
        }
    } else if row.program().is_some() {
        presence.next = Some(row.install.clone());
    }
    Ok(presence)
}

/// An agent without a login would only fail after a branch and a worktree were created.
pub fn check_login(name: &str, row: &Row, environment: &Environment) -> Result<()> {
    // Other systems store credentials outside of files.
    let is_told = cfg!(target_os = "linux") && !row.login.is_empty() && !row.login_files.is_empty();
    if !is_told || login(row, environment).is_some() {
        return Ok(());
    }
    Err(Failure::environment(format!("not logged in to the agent {name:?}"))
        .evidence(format!("looked for the variables {}", row.login_env.join(", ")))
        .evidence(format!(
            "looked for the files {} in your home folder",
            row.login_files.join(", ")
        ))
        .next(&row.login)
        .into())
}

fn login(row: &Row, environment: &Environment) -> Option<String> {
    let known = |wanted: &String| {
        let found = config::variables(|name| name == wanted);
        found.iter().any(|(_, value)| !value.is_empty())
    };
    let variable = row.login_env.iter().find(|name| known(name)).cloned();
    let file = || {
        let home = environment.home.as_deref();
        let places =
            row.login_files.iter().filter_map(|file| config::agents::own_place(home, row, file));
        places.into_iter().find(|file| file.is_file()).map(|file| shown(home, &file))
    };
    variable.or_else(file)
}

fn hosts(row: &Row, environment: &Environment) -> Vec<String> {
    let hosts = AllowList::new(NetworkRules::model_hosts(row, environment.home.as_deref()));
    hosts.entries().iter().map(Entry::to_string).collect()
}

fn own(row: &Row, environment: &Environment) -> Vec<String> {
    let home = environment.home.as_deref();
    let places = row.folders.iter().chain(&row.files);
    let places = places.filter_map(|place| config::agents::own_place(home, row, place));
    let of_home = |own: &config::agents::Home| {
        own.link
            .iter()
            .chain(&own.copy)
            .map(|file| format!("~/{}/{file}", own.from))
            .collect::<Vec<_>>()
    };
    places.map(|place| shown(home, &place)).chain(row.home.iter().flat_map(of_home)).collect()
}

/// A path as people write it.
fn shown(home: Option<&Path>, path: &Path) -> String {
    let below = home.and_then(|home| path.strip_prefix(home).ok());
    below.map_or_else(|| path.display().to_string(), |below| format!("~/{}", below.display()))
}

/// The version as reported by the program.
fn handshake(program: PathBuf, row: &Row, place: &Path, stop: &Stop) -> Result<Option<String>> {
    match (row.speaks, &row.command) {
        (Protocol::Acp, config::agents::Command::Words(words)) => {
            initialize(Program::new(program).args(words.iter().skip(1)).cwd(place), stop)
        }
        (Protocol::Acp | Protocol::Prints(_), _) => version(program, stop),
    }
}

/// The output of `--version`.
pub(super) fn version(program: PathBuf, stop: &Stop) -> Result<Option<String>> {
    let program = Program::new(program).arg("--version").cwd(NOWHERE);
    let output = program.output(HANDSHAKE, stop)?;
    let said = output.stdout_text();
    anyhow::ensure!(output.success(), "--version ended with {}", output.exit);
    Ok(said.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned))
}

/// The name and version in the answer to `initialize`.
pub(super) fn greeting(client: &Client) -> Option<String> {
    let greeting = client.greeting();
    let parts = [
        greeting.name,
        greeting.version,
        greeting.protocol.map(|version| format!("ACP {version}")),
    ];
    let words = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then_some(words)
}

fn initialize(program: Program, stop: &Stop) -> Result<Option<String>> {
    let (folder, prompt, strategy, mode) = (NOWHERE.to_owned(), None, Strategy::New, None);
    let mut client =
        Client::new(Plan { folder, prompt, strategy, mode, offers: ClientServices::Nothing });
    let program = program.stdin(client.begin());
    let mut greeted = false;
    let mut listener = |heard: ProcessEvent<'_>| match heard {
        ProcessEvent::Line { text, .. } => {
            let next = client.heard(&String::from_utf8_lossy(text));
            greeted |= next.over;
            if next.over { Answer::Done } else { Answer::Nothing }
        }
        ProcessEvent::Silence | ProcessEvent::Unwanted => Answer::Nothing,
    };
    let output = program.attended(HANDSHAKE, stop, Attention::Speaking(&mut listener))?;
    anyhow::ensure!(greeted, "it does not answer `initialize` ({})", output.exit);
    Ok(greeting(&client))
}
