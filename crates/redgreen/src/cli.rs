//! The command line. Each command is one file: its arguments, and the text of its answer.

mod about;
mod agents;
mod bench;
mod brief;
mod clean;
mod config;
mod context;
mod decide;
mod demo;
mod doctor;
mod fleet;
mod history;
mod hook;
mod init;
mod judge;
mod live_status;
mod mcp;
mod pause;
mod plan;
mod prompt;
mod queue;
mod reject;
mod repair_notes;
mod report;
mod resume;
mod rollback;
mod run;
mod salvage;
mod say;
mod schema;
mod session;
mod status;
mod submit;
mod test;
mod trust;
mod ui;
mod undo;
mod verify;
mod watch;
mod why;
mod work;

use std::io::{self, IsTerminal};
use std::panic;
use std::path::PathBuf;
use std::thread;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, Subcommand};
use live_status::LiveStatus;
use redgreen_core::live::LiveV1;
use redgreen_core::text::shell_word;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::config::Environment;
use crate::engine::{Progress, Project, now};
use crate::failure::{Code, Failure};
use crate::journal::Body;
use crate::ops::{self, RunEnd};
use crate::process::{Input, Interrupted, Stop, end_with_parent, typed};
use crate::sandbox;
use crate::view::{self, Printer};

/// Options of every command are listed separately.
const EVERYWHERE: &str = "Global options";

#[derive(Parser, Debug)]
#[command(
    name = "redgreen",
    version,
    about = "Drives AI coding agents through TDD and checks every step by running your tests",
    after_help = "Examples:\n  \
                  redgreen demo                                          see how it works, in a temporary folder\n  \
                  redgreen doctor                                        check that a run can start here\n  \
                  redgreen test                                          run your tests\n  \
                  redgreen run \"add roman numerals\"                      develop a feature on a new branch\n  \
                  redgreen why                                           explain the state of the run\n  \
                  redgreen approve                                       merge the run\n  \
                  redgreen undo                                          undo the merge\n\n\
                  Exit codes: 0 success, 1 refused, gave up or aborted, 2 usage, 3 waiting for you, \
                  4 environment (git, test runner, agent), 5 budget spent, 70 bug in redgreen, 130 interrupted"
)]
struct Cli {
    /// Run in this folder
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    directory: Option<PathBuf>,
    /// Print JSON: one versioned object per line
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = EVERYWHERE)]
    color: Color,
    /// Print only the result
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    quiet: bool,
    /// Run the commands in this project's settings without asking (environment: REDGREEN_TRUST=1)
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    trust: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand, Debug)]
enum Verb {
    Run(run::Args),
    Resume(resume::Args),
    Status(status::Args),
    Why(why::Args),
    Watch(watch::Args),
    Ui(ui::Args),
    Say(say::Args),
    Pause(pause::Args),
    Plan(plan::Args),
    Reject(reject::Args),
    History(history::Args),
    Approve(decide::ApproveArgs),
    Undo(undo::Args),
    Abort(decide::AbortArgs),
    Rollback(rollback::Args),
    Salvage(salvage::Args),
    Clean(clean::Args),
    RepairNotes(repair_notes::Args),
    Judge(judge::Args),
    Session(session::Args),
    Hook(hook::Args),
    Mcp(mcp::Args),
    Verify(verify::Args),
    Report(report::Args),
    Brief(brief::Args),
    Context(context::Args),
    Schema(schema::Args),
    Config(config::Args),
    Trust(trust::Args),
    Init(init::Args),
    Test(test::Args),
    Doctor(doctor::Args),
    Agents(agents::Args),
    Demo(demo::Args),
    Submit(submit::Args),
    Queue(queue::Args),
    Cancel(queue::CancelArgs),
    Work(work::Args),
    Fleet(fleet::Args),
    Bench(bench::Args),
    Completions(about::CompletionsArgs),
    Man(about::ManArgs),
}

/// The number of lines of a long reason in the closing text. `redgreen why` shows more.
const OUTCOME_LINES_MAX: usize = 6;

/// The context of a command.
struct CommandContext {
    printer: Printer,
    stop: Stop,
    environment: Environment,
    folder: PathBuf,
}

/// Runs the command and returns the exit code of the program.
pub fn main() -> i32 {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|verb| verb == sandbox::SUBCOMMAND) {
        return sandbox::helper_main(words);
    }
    panic::set_hook(Box::new(|panicked| Printer { json: false, quiet: false }.panicked(panicked)));
    let said = panic::catch_unwind(|| {
        let cli = match Cli::try_parse() {
            Ok(cli) => cli,
            Err(error) => return usage(&error),
        };
        match cli.color {
            Color::Auto => {}
            Color::Always => anstream::ColorChoice::Always.write_global(),
            Color::Never => anstream::ColorChoice::Never.write_global(),
        }
        let printer = Printer { json: cli.json, quiet: cli.quiet };
        match perform(cli, printer) {
            Ok(code) => code,
            Err(error) => explain(&error, printer),
        }
    });
    // The panic message is already on stderr (`Printer::panicked`). People need to know that it is
    // a bug.
    said.unwrap_or_else(|_| {
        let failure =
            Failure::new(Code::Bug, "this is a bug in redgreen; your repository was not changed")
                .next("redgreen status; please report the output above");
        Printer { json: false, quiet: false }.failure(&failure);
        Code::Bug
    }) as i32
}

fn perform(cli: Cli, printer: Printer) -> Result<Code> {
    let stop = Stop::default();
    listen(&stop)?;
    let mut environment = Environment::read()?;
    environment.trust |= cli.trust;
    if environment.of_worker {
        // A killed worker cannot stop what it started, and another one continues the job.
        end_with_parent();
    }
    let folder = match cli.directory.or_else(|| environment.project_root.clone()) {
        Some(folder) => folder,
        None => std::env::current_dir().context("find the current folder")?,
    };
    let desk = CommandContext { printer, stop, environment, folder };
    match cli.verb {
        Verb::Run(args) => args.perform(&desk),
        Verb::Resume(args) => args.perform(&desk),
        Verb::Status(args) => args.perform(&desk),
        Verb::Why(args) => args.perform(&desk),
        Verb::Watch(args) => args.perform(&desk),
        Verb::Ui(args) => args.perform(&desk),
        Verb::Say(args) => args.perform(&desk),
        Verb::Pause(args) => args.perform(&desk),
        Verb::Plan(args) => args.perform(&desk),
        Verb::Reject(args) => args.perform(&desk),
        Verb::History(args) => args.perform(&desk),
        Verb::Approve(args) => args.perform(&desk),
        Verb::Undo(args) => args.perform(&desk),
        Verb::Abort(args) => args.perform(&desk),
        Verb::Rollback(args) => args.perform(&desk),
        Verb::Salvage(args) => args.perform(&desk),
        Verb::Clean(args) => args.perform(&desk),
        Verb::RepairNotes(args) => args.perform(&desk),
        Verb::Judge(args) => args.perform(&desk),
        Verb::Session(args) => args.perform(&desk),
        Verb::Hook(args) => args.perform(&desk),
        Verb::Mcp(args) => args.perform(&desk),
        Verb::Verify(args) => args.perform(&desk),
        Verb::Report(args) => args.perform(&desk),
        Verb::Brief(args) => args.perform(&desk),
        Verb::Context(args) => args.perform(&desk),
        Verb::Schema(args) => args.perform(&desk),
        Verb::Config(args) => args.perform(&desk),
        Verb::Trust(args) => args.perform(&desk),
        Verb::Init(args) => args.perform(&desk),
        Verb::Test(args) => args.perform(&desk),
        Verb::Doctor(args) => args.perform(&desk),
        Verb::Agents(args) => args.perform(&desk),
        Verb::Demo(args) => args.perform(&desk),
        Verb::Submit(args) => args.perform(&desk),
        Verb::Queue(args) => args.perform(&desk),
        Verb::Cancel(args) => args.perform(&desk),
        Verb::Work(args) => args.perform(&desk),
        Verb::Fleet(args) => args.perform(&desk),
        Verb::Bench(args) => args.perform(&desk),
        Verb::Completions(args) => Ok(args.perform(&desk, Cli::command())),
        Verb::Man(args) => args.perform(&desk, Cli::command()),
    }
}

impl CommandContext {
    fn project(&self) -> Result<Project> {
        ops::open(&self.folder, self.environment.clone(), &self.stop)
    }

    /// The same for a command that cleans up in the worktree folder.
    fn clearing_project(&self) -> Result<Project> {
        let project = self.project()?;
        ops::trust::check_worktree_root(&project.git.root, &project.environment)?;
        Ok(project)
    }

    /// The same for a command that runs the project's commands: asks the user to trust them.
    fn trusted_project(&self) -> Result<Project> {
        let project = self.project()?;
        let (root, environment) = (&project.git.root, &project.environment);
        let trust = ops::trust::look(root, environment)?;
        let here = !self.printer.json && io::stdin().is_terminal() && io::stderr().is_terminal();
        if !trust.trusted && here {
            self.printer.talk(&format!(
                "this project's settings request these commands and permissions:\n{}",
                trust::words(&trust)
            ));
            if self.agrees("allow them permanently?")? {
                ops::trust::agree(root, environment)?;
            }
        }
        ops::trust::check(root, environment)?;
        ops::with_packages(project)
    }

    /// Asks until the answer is clear. Enter and the end of input mean no.
    fn agrees(&self, question: &str) -> Result<bool> {
        const QUESTIONS_MAX: u32 = 10;
        for _ in 0..QUESTIONS_MAX {
            self.printer.talk(&format!("{question} [yes/no] "));
            match typed(&self.stop, None)? {
                Input::Line(line) if line == "yes" => return Ok(true),
                Input::Line(line) if !line.is_empty() && line != "no" => {
                    self.printer.talk(&format!("expected `yes` or `no`, not {line:?}\n"));
                }
                Input::Line(_) | Input::End | Input::TimeUp => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Shows the progress of a run: lines for people on stderr, or the journal and the agent's
    /// output on stdout.
    fn watch(&self) -> impl FnMut(Progress<'_>) {
        let printer = self.printer;
        let mut live = view::Live::new(printer.live_columns());
        let pulse = LiveStatus::new(printer, &self.stop);
        move |sight: Progress<'_>| match sight {
            Progress::Line(line, _) if printer.json => printer.json_line(line),
            Progress::Line(line, state) => {
                pulse.end();
                printer.talk(&(live.end() + &view::moment(line, state)));
                if let Body::Intent { intent } = &line.body {
                    pulse.begin(intent, state);
                }
            }
            Progress::Live(role, said) if printer.json => {
                printer.json_line(&LiveV1::new(now(), role, said));
            }
            Progress::Live(role, said) => {
                printer.talk(&live.said(role, said));
                if !pulse.said(live.open(), live.cost()) && io::stderr().is_terminal() {
                    printer.talk(&live.question());
                }
            }
            Progress::Remark(words) => printer.talk(&view::notice_line(words)),
            Progress::Doing(words) => pulse.doing(words),
        }
    }

    /// Shows an activity until it is dropped.
    fn pulse(&self, doing: &str) -> LiveStatus {
        LiveStatus::of(self.printer, &self.stop, doing)
    }

    /// The closing text about a run that stopped.
    fn stopped(&self, stopped: &RunEnd) {
        self.stopped_with(stopped, &view::outcome(&stopped.outcome));
    }

    /// The same with another text than that of the outcome.
    fn stopped_with(&self, stopped: &RunEnd, words: &str) {
        self.stopped_with_rows(stopped, words, &[]);
    }

    /// The same with more rows.
    fn stopped_with_rows(&self, stopped: &RunEnd, words: &str, more: &[(&'static str, String)]) {
        let next = ops::status::next_command(&stopped.state, false);
        let rows = [
            ("branch", branch_line(stopped)),
            ("spent", spent_line(stopped)),
            ("journal", view::name(&stopped.folder.path.display().to_string()).into_owned()),
        ];
        let rows: Vec<_> =
            rows.iter().chain(more).map(|(name, value)| (*name, value.as_str())).collect();
        let head = format!("run {}  ", stopped.folder.id);
        let outcome =
            view::sentence(&view::clip(words, OUTCOME_LINES_MAX), head.chars().count(), "  ");
        let text = format!("{head}{outcome}\n{}", view::block(&rows, &next));
        let runs = vec![ops::status::overview(&stopped.folder, &stopped.state)];
        let answer = ops::status::Status { version: 1, runs, unreadable: Vec::new() };
        self.printer.answer(&text, &answer);
    }
}

/// The cost of the run. Empty if the agent reports no cost and there is no budget.
fn spent_line(stopped: &RunEnd) -> String {
    let (spent, budget) = (&stopped.state.spent, &stopped.state.run.policy.budget);
    let counts = spent.tokens > 0
        || spent.microdollars > 0
        || budget.tokens.or(budget.microdollars).is_some();
    if counts { view::cost(spent) } else { String::new() }
}

fn branch_line(stopped: &RunEnd) -> String {
    use redgreen_core::event::Outcome;
    let run = &stopped.state.run;
    match stopped.outcome {
        Outcome::Merged | Outcome::Aborted => String::new(),
        _ => {
            let branch = view::name(&run.branch);
            let range = format!("{}...{}", run.target, run.branch);
            format!("{branch}    (git diff {})", shell_word(&range))
        }
    }
}

/// Ctrl-C once stops cleanly; twice stops at once.
fn listen(stop: &Stop) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("listen to Ctrl-C")?;
    let stop = stop.clone();
    thread::spawn(move || {
        for _ in signals.forever() {
            if stop.requested() {
                stop.kill_all();
                Printer::leave_terminal();
                #[expect(
                    clippy::exit,
                    clippy::disallowed_methods,
                    reason = "the user wants it to end now, not in main"
                )]
                std::process::exit(Code::Interrupted as i32);
            }
            stop.request();
        }
    });
    Ok(())
}

fn usage(error: &clap::Error) -> Code {
    if !error.use_stderr() {
        Printer::usage(error);
        return Code::Done;
    }
    let error = &harmless(error);
    // Nothing was parsed, but a program that asked for JSON must be able to read the answer.
    let json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    if json {
        let text = error.render().to_string();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let what = lines.next().unwrap_or_default().trim_start_matches("error: ");
        let failure = Failure::usage(what).next("redgreen --help");
        let failure =
            lines.filter(|line| !line.starts_with("For more")).fold(failure, Failure::evidence);
        Printer { json, quiet: false }.failure(&failure);
    } else {
        Printer::usage(error);
    }
    Code::Usage
}

/// The same error with harmless words, because clap repeats the command line.
fn harmless(error: &clap::Error) -> clap::Error {
    let words = std::env::args_os().map(|word| view::name(&word.to_string_lossy()).into_owned());
    match Cli::try_parse_from(words) {
        Err(harmless) => harmless,
        // The escaped words never form a valid command line. If they did, the error would not
        // repeat them.
        Ok(_) => Cli::command()
            .error(error.kind(), "the command line contains characters that cannot be shown"),
    }
}

fn explain(error: &anyhow::Error, printer: Printer) -> Code {
    if error.chain().any(|cause| cause.is::<Interrupted>()) {
        printer.failure(&Failure::new(Code::Interrupted, "interrupted").next("redgreen status"));
        return Code::Interrupted;
    }
    match error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
        Some(failure) => {
            printer.failure(failure);
            failure.code
        }
        None => {
            let failure = Failure::environment(format!("{error:#}")).next("redgreen status");
            printer.failure(&failure);
            failure.code
        }
    }
}
