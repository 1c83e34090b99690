//! Agents that are separate programs, such as installed coding agents. A row of a table describes
//! how to drive one. It is started here in a sandbox, its output is read until it stops, and all
//! its processes are killed.
//!
//! The agent's exit code and claims are ignored; only the tests count.

mod agent_sandbox;
pub mod presence;
mod service;

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::acp::{Client, ClientServices, Plan};
use redgreen_core::agent::{AgentActivity, Assignment, Cost, Failure as Ended, Strategy, Turn};
use redgreen_core::agent_output::{self, AgentOutput};
use redgreen_core::orders;
use redgreen_core::report::Exit;
use redgreen_core::steer;

use super::network::NetworkPath;
use super::visible::Places;
use super::{TurnInput, TurnOutput};
use crate::config::agents::{Command, PromptBy, Protocol, Row};
use crate::private;
use crate::process::{Answer, Attention, Limits, Output, ProcessEvent, Program, Stop};
use crate::sandbox::{Fence, Sandbox, Strength};
pub use agent_sandbox::AgentSandbox;
use agent_sandbox::User;
use service::{Bench, Service};

/// The limit of its stored output. Lines are read as they arrive.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// How often to look for messages of the user.
const LOOK: Duration = Duration::from_millis(200);
/// The prompt, in the turn's folder.
const ORDERS: &str = "orders.md";
/// The id of its conversation, in the turn's folder, written as soon as it is known.
const SESSION: &str = "session";

#[derive(Clone, Debug)]
pub struct External {
    name: String,
    row: Row,
    /// The program to start; `None` for a shell command.
    program: Option<PathBuf>,
    model: Option<String>,
    agent_sandbox: AgentSandbox,
    /// The reported version, asked once and shared by clones.
    version: Arc<OnceLock<String>>,
}

/// Reads the program's output in one of two protocols.
enum Connection {
    Prints(Box<AgentOutput>),
    /// The same, and it reads messages during the turn.
    Converses(Box<AgentOutput>),
    /// ACP, with the service that handles requests of the agent.
    Speaks(Box<Client>, Box<Service>),
}

impl External {
    pub fn new(
        name: &str,
        row: Row,
        program: Option<PathBuf>,
        model: Option<String>,
        agent_sandbox: AgentSandbox,
    ) -> Self {
        Self { name: name.to_owned(), row, program, model, agent_sandbox, version: Arc::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The servers set in the user's variables, each with the variable: `ANTHROPIC_BASE_URL: host`.
    pub(super) fn servers(&self) -> Vec<String> {
        self.agent_sandbox.servers(&self.row)
    }

    /// Whether it reports the cost in dollars after every turn. Over ACP, some agents do and others
    /// do not.
    pub(super) fn tells_price(&self) -> bool {
        match self.row.speaks {
            Protocol::Prints(dialect) => dialect.tells_price(),
            Protocol::Acp => false,
        }
    }

    pub(super) fn version(&self) -> Option<String> {
        self.version.get().cloned()
    }

    /// Asks the program for its version, in parallel with the turn.
    fn asking_version(&self, stop: &Stop) -> Option<JoinHandle<()>> {
        let program = self
            .program
            .clone()
            .filter(|_| self.version.get().is_none() && self.row.speaks != Protocol::Acp)?;
        let (version, stop) = (Arc::clone(&self.version), stop.clone());
        let ask = move || {
            // The version is optional.
            if let Ok(Some(told)) = presence::version(program, &stop) {
                version.set(told).ok();
            }
        };
        thread::Builder::new().name("version".to_owned()).spawn(ask).ok()
    }

    pub(super) fn reaches_refs(&self) -> Result<bool> {
        self.agent_sandbox.sandbox().map(|sandbox| !sandbox.binds())
    }

    pub(super) fn take_turn(&self, orders: &mut TurnInput<'_>) -> Result<TurnOutput> {
        let (taken, tokens) = self.attempt(orders)?;
        let failed = matches!(taken.turn, Turn::Failed { .. }) && tokens == 0;
        if !failed || self.parent(&orders.assignment.strategy).is_none() {
            return Ok(taken);
        }
        // The conversation is gone, or on another machine. The orders are complete without it.
        let anew = Assignment { strategy: Strategy::New, ..orders.assignment.clone() };
        let mut orders = TurnInput {
            assignment: &anew,
            worktree: orders.worktree,
            env: orders.env,
            time_limit: orders.time_limit,
            allowance: orders.allowance.clone(),
            desk: orders.desk,
            report: orders.report,
            tests: orders.tests,
            changes: orders.changes,
            repository: orders.repository,
            private: orders.private,
            aside: orders.aside,
            packages: orders.packages,
            stop: orders.stop,
            live: &mut *orders.live,
            messages: &mut *orders.messages,
        };
        let (begun, _) = self.attempt(&mut orders)?;
        let head = format!(
            "{}\nthe conversation could not be continued; this is a new one:\n\n",
            taken.transcript
        );
        let notices = taken.notices.into_iter().chain(begun.notices).collect();
        Ok(TurnOutput { transcript: head + &begun.transcript, notices, ..begun })
    }

    /// A turn, and the number of tokens reported by the program.
    fn attempt(&self, orders: &mut TurnInput<'_>) -> Result<(TurnOutput, u64)> {
        let words = orders::handoff(orders.assignment);
        let told = orders.desk.join(ORDERS);
        private::write(&told, words.as_bytes())
            .with_context(|| format!("write {}", told.display()))?;
        let sandbox = self.agent_sandbox.sandbox()?;
        let way = self.way_out(&sandbox, orders)?;
        let fence =
            way.through(self.agent_sandbox.fence(&sandbox, User::Program(&self.row), orders)?);
        let held = sandbox.held(&fence);
        let chosen = self.chosen_session(&orders.assignment.strategy)?;
        if let Some(session) = &chosen {
            keep_session(orders.desk, session)?;
        }
        let program = self.program(orders, &sandbox, &fence, chosen.as_deref(), &words, &told)?;
        let program = way
            .variables()
            .into_iter()
            .fold(program, |program, (name, value)| program.env(name, value));
        let litter = self.litter(orders.worktree);

        let mut protocol = self.protocol(orders, &sandbox, &way, &words)?;
        let program = match &mut protocol {
            Connection::Speaks(client, _) => program.stdin(client.begin()),
            Connection::Prints(_) | Connection::Converses(_) => program,
        };
        let asking = orders.stop.part();
        let version = self.asking_version(&asking);
        let set_aside = self.agent_sandbox.visible.set_aside(&sandbox, &Places::of(orders))?;
        let output = attend(&sandbox, &program, &fence, &mut protocol, orders);
        drop(set_aside);
        self.clear(orders.worktree, &litter);
        if output.is_err() {
            asking.request();
        }
        if let Some(version) = version {
            version.join().ok();
        }
        if let Connection::Speaks(client, _) = &protocol
            && let Some(told) = presence::greeting(client)
        {
            self.version.set(told).ok();
        }
        let (exit, stderr, overdrawn) = match output {
            Ok((output, overdrawn)) => (output.exit, output.stderr_text(), overdrawn),
            Err(error) if is_missing(&error) => return Ok((self.not_there(&error), 0)),
            Err(error) => return Err(error),
        };
        let head = format!("{}\n{held}\n{}\n\n", program.line(), way.words());
        let tokens = protocol.agent_output().cost().tokens.unwrap_or(0);
        let mut taken = protocol.taken(exit, &stderr, &head, chosen, &orders.assignment.strategy);
        if overdrawn {
            let message = format!("killed: {tokens} tokens exceed the budget of the run");
            taken.turn = Turn::Failed { failure: Ended::Budget, message };
        }
        let remarks = way.remarks();
        remarks.iter().for_each(|remark| taken.transcript.push_str(&format!("\n{remark}\n")));
        taken.notices = self.agent_sandbox.network.news(&remarks);
        Ok((taken, tokens))
    }

    /// The network access of the program.
    fn way_out(&self, sandbox: &Sandbox, orders: &TurnInput<'_>) -> Result<NetworkPath> {
        let home = self.agent_sandbox.home.as_deref();
        self.agent_sandbox.network.for_agent(&self.row, home, sandbox, orders.desk)
    }

    /// The id of a new conversation, if the program lets us choose it.
    fn chosen_session(&self, strategy: &Strategy) -> Result<Option<String>> {
        let chooses = self.row.new.iter().any(|word| word == "{session}");
        if chooses && self.parent(strategy).is_none() {
            agent_sandbox::uuid().map(Some)
        } else {
            Ok(None)
        }
    }

    /// The conversation to continue and its arguments; `None` if the program does not support it.
    fn parent<'a>(&'a self, strategy: &'a Strategy) -> Option<(&'a str, &'a [String])> {
        let (session, copy) = strategy.parent()?;
        let words = if copy { &self.row.fork } else { &self.row.resume };
        (!words.is_empty()).then_some((session, words))
    }

    fn program(
        &self,
        orders: &TurnInput<'_>,
        sandbox: &Sandbox,
        fence: &Fence,
        chosen: Option<&str>,
        words: &str,
        told: &Path,
    ) -> Result<Program> {
        let (session, ending) = match self.parent(&orders.assignment.strategy) {
            Some((session, ending)) => (session, ending),
            None => (chosen.unwrap_or_default(), self.row.new.as_slice()),
        };
        let is_fenced = keeps_files(sandbox, fence);
        let own = if is_fenced { &self.row.fenced } else { &self.row.unfenced };
        let model = self.model.as_ref().map_or(&[][..], |_| &self.row.model);
        let files = orders.assignment.current.as_ref().map_or_else(
            || vec![redgreen_core::test_list::FILE.to_owned()],
            |case| {
                [&case.test_file, &case.impl_file]
                    .into_iter()
                    .filter(|file| is_plain(file))
                    .cloned()
                    .collect()
            },
        );
        let mut args: Vec<OsString> = Vec::new();
        for word in own.iter().chain(model).chain(ending) {
            match word.as_str() {
                "{session}" => args.push(session.into()),
                "{model}" => args.push(self.model.clone().unwrap_or_default().into()),
                "{files}" => args.extend(files.iter().map(OsString::from)),
                _ => args.push(word.into()),
            }
        }
        let by = match self.row.speaks {
            // ACP sends the prompt in the conversation.
            Protocol::Acp => None,
            Protocol::Prints(_) => Some(self.row.prompt),
        };
        match by {
            Some(PromptBy::File) => args.push(told.into()),
            Some(PromptBy::Argument) => args.push(words.into()),
            Some(PromptBy::Stdin | PromptBy::StreamJson) | None => {}
        }
        let program = match &self.row.command {
            Command::Line(line) => Program::new("sh").args(["-c", &format!("{line} \"$@\""), "sh"]),
            Command::Words(words) => {
                let name = self.program.clone().map(OsString::from);
                let name = name.or_else(|| words.first().map(OsString::from)).unwrap_or_default();
                Program::new(name).args(words.iter().skip(1))
            }
        };
        let program = self.agent_sandbox.prepare(
            program.args(args),
            User::Program(&self.row),
            orders,
            sandbox,
            is_fenced,
        )?;
        Ok(match by {
            Some(PromptBy::Stdin) => program.stdin(words),
            Some(PromptBy::StreamJson) => program.stdin(agent_output::message(words)),
            Some(PromptBy::File | PromptBy::Argument) | None => program,
        })
    }

    /// The reader of the program's output.
    fn protocol(
        &self,
        orders: &TurnInput<'_>,
        sandbox: &Sandbox,
        way: &NetworkPath,
        words: &str,
    ) -> Result<Connection> {
        if let Protocol::Prints(dialect) = self.row.speaks {
            let output = Box::new(AgentOutput::new(dialect));
            return Ok(match self.row.prompt {
                PromptBy::StreamJson => Connection::Converses(output),
                PromptBy::Stdin | PromptBy::File | PromptBy::Argument => Connection::Prints(output),
            });
        }
        let fence = way.through(self.agent_sandbox.fence(sandbox, User::Terminal, orders)?);
        let is_fenced = keeps_files(sandbox, &fence);
        let mut env = self.agent_sandbox.environment(User::Terminal, orders, sandbox, is_fenced)?;
        env.extend(way.variables().into_iter().map(|(name, value)| (name.into(), value.into())));
        let bench = Bench {
            env,
            sandbox: sandbox.clone(),
            fence,
            deadline: Instant::now() + orders.time_limit,
            stop: orders.stop.clone(),
        };
        let client = Client::new(Plan {
            folder: orders.worktree.display().to_string(),
            prompt: Some(words.to_owned()),
            strategy: orders.assignment.strategy.clone(),
            mode: self.row.mode.clone(),
            offers: if self.row.services {
                ClientServices::FilesAndTerminals
            } else {
                ClientServices::Nothing
            },
        });
        Ok(Connection::Speaks(Box::new(client), Box::new(Service::new(orders.worktree, bench)?)))
    }

    /// Files in the worktree that match the program's litter.
    fn litter(&self, worktree: &Path) -> Vec<PathBuf> {
        let entries =
            fs::read_dir(worktree).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_litter = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            self.row.litter.iter().any(|start| name.starts_with(start))
        };
        entries.filter(is_litter).collect()
    }

    /// Removes files that the program left, but none that existed before.
    fn clear(&self, worktree: &Path, before: &[PathBuf]) {
        for path in self.litter(worktree).into_iter().filter(|path| !before.contains(path)) {
            // A file that cannot be removed stays and is judged like everything else.
            if path.is_dir() && !path.is_symlink() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            }
            .ok();
        }
    }

    fn not_there(&self, error: &anyhow::Error) -> TurnOutput {
        let message = format!("{error:#}\nnext: {}", self.row.install);
        let transcript = format!("{message}\n");
        let turn = Turn::Failed { failure: Ended::Unusable, message };
        TurnOutput {
            turn,
            cost: Cost { tokens: Some(0), microdollars: Some(0), ..Cost::default() },
            transcript,
            session: None,
            notices: Vec::new(),
        }
    }
}

impl Connection {
    fn hear(&mut self, line: &str, whole: bool) -> (Vec<AgentActivity>, Answer) {
        match self {
            Self::Prints(agent_output) | Self::Converses(agent_output) => {
                let said = agent_output.line(line);
                // Some programs do not end for a long time if they cannot reach their servers.
                (said, if agent_output.is_over() { Answer::Done } else { Answer::Nothing })
            }
            Self::Speaks(client, service) => {
                let next = if whole { client.heard(line) } else { client.heard_in_part(line) };
                let served = next.asked.map(|asked| service.serve(asked)).unwrap_or_default();
                let answer = if next.over { Answer::Done } else { say(next.send + &served) };
                (next.said, answer)
            }
        }
    }

    /// Whether the agent would read a message of the user now.
    fn listens(&self) -> bool {
        match self {
            Self::Prints(_) => false,
            Self::Converses(agent_output) => !agent_output.is_over(),
            Self::Speaks(client, _) => client.can_be_steered(),
        }
    }

    /// What to send without new input: output of our services, and messages of the user.
    fn due(&mut self, messages: &mut dyn FnMut() -> Vec<String>) -> Answer {
        let new = if self.listens() { messages() } else { Vec::new() };
        let text = steer::told_now(&new);
        match self {
            Self::Prints(_) => Answer::Nothing,
            Self::Converses(agent_output) => say(text
                .map(|text| {
                    agent_output.told(&text);
                    agent_output::message(&text)
                })
                .unwrap_or_default()),
            Self::Speaks(client, service) => {
                let told = text.map(|text| client.steer(&text)).unwrap_or_default();
                say(service.due() + &told)
            }
        }
    }

    fn stop(&mut self) -> Answer {
        match self {
            Self::Prints(_) | Self::Converses(_) => Answer::Nothing,
            Self::Speaks(client, service) => {
                service.end();
                say(service.due() + &client.cancel())
            }
        }
    }

    fn agent_output(&self) -> &AgentOutput {
        match self {
            Self::Prints(agent_output) | Self::Converses(agent_output) => agent_output,
            Self::Speaks(client, _) => client.agent_output(),
        }
    }

    fn taken(
        self,
        exit: Exit,
        stderr: &str,
        head: &str,
        chosen: Option<String>,
        strategy: &Strategy,
    ) -> TurnOutput {
        let turn = match &self {
            Self::Prints(agent_output) | Self::Converses(agent_output) => {
                agent_output.end(exit, stderr)
            }
            Self::Speaks(client, _) => client.end(exit, stderr),
        };
        let agent_output = self.agent_output();
        let mut transcript = format!("{head}{}", agent_output.transcript());
        if let Turn::Failed { message, .. } = &turn {
            transcript.push_str(&format!("\n{message}\n"));
        }
        // A continued conversation may report the sum of all its turns.
        let cost = if *strategy == Strategy::New { agent_output.cost() } else { Cost::default() };
        TurnOutput {
            turn,
            cost,
            transcript,
            session: agent_output.session.clone().or(chosen),
            notices: Vec::new(),
        }
    }
}

/// Runs the program, shows its actions, and stores the id of its conversation as soon as it is
/// known. The second value is whether it was killed because of its cost.
fn attend(
    sandbox: &Sandbox,
    program: &Program,
    fence: &Fence,
    protocol: &mut Connection,
    orders: &mut TurnInput<'_>,
) -> Result<(Output, bool)> {
    let limits = Limits { wall: orders.time_limit, output_bytes_max: OUTPUT_BYTES_MAX };
    let (desk, stop, live, messages) =
        (orders.desk, orders.stop, &mut orders.live, &mut orders.messages);
    let tokens_max = orders.allowance.tokens;
    let speaks = matches!(protocol, Connection::Speaks(..) | Connection::Converses(_));
    let mut kept: Option<String> = None;
    let mut unkept = None;
    let mut overdrawn = false;
    let mut looked = Instant::now();
    let mut listener = |heard: ProcessEvent<'_>| match heard {
        ProcessEvent::Silence => {
            let is_time = looked.elapsed() >= LOOK;
            if is_time {
                looked = Instant::now();
            }
            protocol.due(&mut || if is_time { messages() } else { Vec::new() })
        }
        ProcessEvent::Unwanted => protocol.stop(),
        ProcessEvent::Line { text, whole } => {
            let (said, answer) = protocol.hear(&String::from_utf8_lossy(text), whole);
            for said in &said {
                live(said);
            }
            let session = &protocol.agent_output().session;
            if kept != *session {
                unkept = session.as_ref().and_then(|session| keep_session(desk, session).err());
                kept.clone_from(session);
            }
            let spent = protocol.agent_output().cost().tokens.unwrap_or(0);
            overdrawn |= answer != Answer::Done && tokens_max.is_some_and(|max| spent > max);
            if overdrawn { Answer::Done } else { answer }
        }
    };
    let attention = if speaks {
        Attention::Speaking(&mut listener)
    } else {
        Attention::Listening(&mut listener)
    };
    let fenced = sandbox.attended(program, fence, limits, stop, attention)?;
    match unkept {
        Some(error) => Err(error),
        None => Ok((fenced.output, overdrawn)),
    }
}

/// Whether nothing outside can be written. A program's own sandbox would then only interfere:
/// inside Landlock, that of codex allows no writes at all.
fn keeps_files(sandbox: &Sandbox, fence: &Fence) -> bool {
    !matches!(sandbox.held(fence).files, Strength::Not(_))
}

fn say(words: String) -> Answer {
    if words.is_empty() { Answer::Nothing } else { Answer::Say(words.into_bytes()) }
}

/// Whether a file name from a plan or a note, which can contain anything, is safe as an argument of
/// a command.
fn is_plain(file: &str) -> bool {
    let inside = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    inside && !file.is_empty() && !file.starts_with('-') && !file.chars().any(char::is_control)
}

fn keep_session(desk: &Path, session: &str) -> Result<()> {
    let path = desk.join(SESSION);
    private::write(&path, format!("{session}\n").as_bytes())
        .with_context(|| format!("write {}", path.display()))
}

/// Whether the program itself does not exist.
fn is_missing(error: &anyhow::Error) -> bool {
    let missing = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::NotFound;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(missing))
}
