//! `redgreen ui`: the runs of this repository in the browser.

mod code;
mod pages;
mod step;

use std::fmt;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};
use redgreen_core::page::{self, escaped};
use redgreen_core::review::comment::{CommentStatus, Side};
use redgreen_serve::web::guard::{Allows, Guard, Refusal, TOKEN_CHARS};
use redgreen_serve::web::{self, Place, Reply, Request, Site};
use serde::Serialize;

use super::CommandContext;
use crate::failure::{Code, Failure};
use crate::journal::LivePlace;
use crate::ops::ui::{Action, Draft, Reviews, View};
use crate::view;
use pages::{Chrome, Layout};

const CSS: &str = include_str!("../../templates/ui.css");
const JS: &str = include_str!("../../templates/ui.js");
const ICON: &str = include_str!("../../templates/icon.svg");
const TEXT: &str = "text/plain; charset=utf-8";

/// Review runs in the browser: live timeline, diffs with their evidence, comments on lines
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  redgreen ui\n  redgreen ui --port 7070\n  redgreen ui --read-only\n\n\
                        Open the printed address in a browser. Press Ctrl-C to stop."
)]
pub(super) struct Args {
    /// The port on 127.0.0.1 [default: a free one]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Show everything and change nothing
    #[arg(long)]
    read_only: bool,
    /// Print one page as HTML and exit, such as `/` or `/runs/k3x9?view=cycle-1`
    #[arg(long, value_name = "PATH", conflicts_with_all = ["port", "read_only"])]
    page: Option<String>,
}

/// The address of the pages.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Address {
    version: u32,
    url: String,
    read_only: bool,
}

impl Args {
    pub(super) fn perform(self, desk: &CommandContext) -> Result<Code> {
        let reviews =
            Reviews::new(desk.folder.clone(), desk.environment.clone(), desk.stop.clone())?;
        if let Some(path) = &self.page {
            let pages = Pages { reviews: reviews.into(), read_only: true };
            desk.printer.raw(&pages.get(&Request::to(path))?.body);
            return Ok(Code::Done);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).map_err(|error| {
            Failure::environment(format!("cannot use port {} of 127.0.0.1", self.port))
                .evidence(error.to_string())
                .next("redgreen ui --port <another>")
        })?;
        let port = listener.local_addr().context("find the port")?.port();
        let token = token()?;
        let url = format!("http://127.0.0.1:{port}/?token={token}");
        let end = view::next_line("open it in your browser; press Ctrl-C to stop");
        desk.printer.answer(
            &format!("{url}\n{end}"),
            &Address { version: 1, url, read_only: self.read_only },
        );
        let allows = if self.read_only { Allows::Reading } else { Allows::Everything };
        let pages = Pages { reviews: reviews.into(), read_only: self.read_only };
        let reviews = pages.reviews.clone();
        let served = web::serve(listener, Guard { port, token, allows }, pages);
        reviews.end();
        served.map_err(|why| Failure::environment(format!("the server stopped: {why}")))?;
        Ok(Code::Done)
    }
}

/// 256 bits that nobody can guess.
fn token() -> Result<String> {
    let mut bytes = [0; TOKEN_CHARS / 2];
    let mut source = std::fs::File::open("/dev/urandom").context("open /dev/urandom")?;
    source.read_exact(&mut bytes).context("read /dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// How templates insert values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Harmless;

impl askama::filters::Escaper for Harmless {
    fn write_escaped_str<W: fmt::Write>(&self, mut to: W, text: &str) -> fmt::Result {
        to.write_str(&escaped(text))
    }
}

struct Pages {
    reviews: std::sync::Arc<Reviews>,
    read_only: bool,
}

impl Pages {
    fn chrome(&self) -> Chrome {
        Chrome { name: self.reviews.name(), read_only: self.read_only }
    }

    fn get(&self, request: &Request) -> Result<Reply> {
        let parts: Vec<&str> = request.path.split('/').skip(1).collect();
        match parts.as_slice() {
            [""] => {
                let (rows, unreadable) = self.reviews.runs()?;
                Ok(Reply::page(pages::runs(self.chrome(), &rows, unreadable)?))
            }
            ["assets", "style.css"] => {
                Ok(Reply::file("text/css; charset=utf-8", &format!("{}{CSS}", page::STYLE)))
            }
            ["assets", "ui.js"] => Ok(Reply::file("text/javascript; charset=utf-8", JS)),
            ["assets", "icon.svg"] => Ok(Reply::file("image/svg+xml", ICON)),
            ["runs", id] => self.run(id, request).map(Reply::page),
            ["runs", id, "turns", turn] => self.transcript(id, turn, None).map(Reply::page),
            ["runs", id, "turns", turn, "attempts", attempt] => {
                self.transcript(id, turn, Some(attempt)).map(Reply::page)
            }
            _ => Err(Failure::usage(format!("there is no page {}", request.path)).into()),
        }
    }

    fn transcript(&self, id: &str, turn: &str, attempt: Option<&str>) -> Result<String> {
        let folder = self.reviews.find(id)?;
        let what = attempt.map_or_else(
            || format!("turn {turn}"),
            |attempt| format!("turn {turn}, attempt {attempt}"),
        );
        let missing = || Failure::usage(format!("run {id} has no transcript of {what}"));
        let turn: u32 = turn.parse().map_err(|_| missing())?;
        let attempt = attempt.map(str::parse::<u32>).transpose().map_err(|_| missing())?;
        let words = self.reviews.transcript(&folder, turn, attempt)?.ok_or_else(missing)?;
        pages::transcript(self.chrome(), id, &what, &words)
    }

    fn run(&self, id: &str, request: &Request) -> Result<String> {
        let folder = self.reviews.find(id)?;
        let is_live = request.query("part") == Some("live");
        let layout = Layout::parse(request.query("layout"));
        let drafts = self.reviews.comments(&folder)?.drafts().count();
        self.reviews.look(&folder, |steps| {
            let view = View::parse(request.query("view"), steps);
            let diff = if is_live { None } else { Some(self.reviews.diff(&folder, steps, view)?) };
            let now = self.reviews.now(&folder, steps);
            pages::run(
                self.chrome(),
                steps,
                &now,
                &pages::PageContent { view, layout, drafts, diff },
            )
        })?
    }

    fn post(&self, request: &Request) -> Result<Reply> {
        let parts: Vec<&str> = request.path.split('/').skip(1).collect();
        let ["runs", id, verb] = parts.as_slice() else {
            return Err(Failure::usage(format!("there is no action {}", request.path)).into());
        };
        let folder = self.reviews.find(id)?;
        let words = request.form("words").unwrap_or_default().replace("\r\n", "\n");
        let action = match *verb {
            "comments" => {
                let id = self.reviews.keep_draft(&folder, draft(request))?;
                return Ok(Reply::file(TEXT, &id.map_or_else(String::new, |id| id.to_string())));
            }
            "settle" => {
                let standing = if request.form("to") == Some("open") {
                    CommentStatus::Sent
                } else {
                    CommentStatus::Resolved
                };
                let id = request.form("id").and_then(|id| id.parse().ok()).unwrap_or(0);
                self.reviews.settle(&folder, id, standing)?;
                return Ok(Reply::see(format!("/runs/{}", folder.id)));
            }
            "approve" => Action::Approve,
            "abort" => Action::Abort,
            "resume" => Action::Resume,
            "pause" => Action::Pause,
            "say" => Action::Say(words),
            "reject" => Action::Reject(words),
            "request-changes" => Action::RequestChanges(words),
            "request-refactoring" => Action::RequestRefactoring(words),
            "choose" => {
                let number = request.form("attempt").and_then(|number| number.parse().ok());
                Action::Choose(number.ok_or_else(|| Failure::usage("no attempt is named"))?)
            }
            _ => return Err(Failure::usage(format!("there is no action {verb}")).into()),
        };
        self.reviews.act(&folder, &action);
        Ok(Reply::see(format!("/runs/{}", folder.id)))
    }

    fn error(&self, status: u16, title: &str, words: &str) -> Reply {
        let page = pages::error(self.chrome(), title, words);
        Reply::page(page.unwrap_or_else(|_| escaped(words))).status(status)
    }
}

fn draft(request: &Request) -> Draft {
    let word = |name: &str| request.form(name).unwrap_or_default().to_owned();
    Draft {
        id: word("id").parse().unwrap_or(0),
        file: word("file"),
        side: if word("side") == "old" { Side::Old } else { Side::New },
        line: word("line").parse().unwrap_or(1),
        code: word("code"),
        tree: word("tree"),
        body: word("body").replace("\r\n", "\n"),
    }
}

impl Site for Pages {
    fn answer(&self, request: &Request) -> Reply {
        let answered = if request.acts { self.post(request) } else { self.get(request) };
        answered.unwrap_or_else(|error| {
            match error.chain().find_map(|cause| cause.downcast_ref::<Failure>()) {
                // Our script shows it next to the typed text.
                Some(failure) if request.path.ends_with("/comments") => {
                    let words =
                        [&[failure.what.clone()][..], &failure.evidence].concat().join(": ");
                    Reply::file(TEXT, &words).status(422)
                }
                Some(failure) => {
                    let next = failure.next.iter().map(|next| format!("next: {next}"));
                    let words: Vec<String> = failure.evidence.iter().cloned().chain(next).collect();
                    self.error(404, &failure.what, &words.join("\n"))
                }
                None => self.error(500, "Cannot create this page", &format!("{error:#}")),
            }
        })
    }

    fn refused(&self, why: Refusal) -> Reply {
        let words = match why {
            Refusal::OtherHost => "The request is for another host.",
            Refusal::OtherOrigin => "The request comes from another page.",
            Refusal::NoToken => "Open the address that `redgreen ui` printed: it contains a token.",
            Refusal::WrongToken => {
                "The token belongs to another server. Open the address that `redgreen ui` printed \
                 last."
            }
            Refusal::ReadOnly => "This server was started with --read-only.",
        };
        // Strangers get no project name and no style.
        let body = format!(
            "<!doctype html><html lang=\"en\"><title>redgreen</title><h1>Not allowed</h1><p>{}</p></html>",
            escaped(words)
        );
        Reply::page(body).status(403)
    }

    fn stamp(&self, path: &str) -> String {
        self.reviews.stamp(path.strip_prefix("/runs/"))
    }

    fn live(&self, path: &str, from: Place) -> (String, Place) {
        let place = LivePlace { turn: from.text, read: from.read };
        let run = path.strip_prefix("/runs/");
        let (text, until) = run.map_or_else(Default::default, |run| self.reviews.live(run, place));
        (text, Place { text: until.turn, read: until.read })
    }

    fn is_over(&self) -> bool {
        self.reviews.is_over()
    }
}
