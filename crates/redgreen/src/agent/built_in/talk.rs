//! One turn as a conversation: ask, run the tools, tell what came of them, until the model is done or a limit is
//! reached. The conversation only grows at its end; one that is too long is begun anew with the facts it came to.

use std::time::Instant;

use anyhow::Result;
use redgreen_core::agent::{Failure, Said, Turn};
use redgreen_core::model::ability::Asking;
use redgreen_core::model::{Block, Delta, Fault, FaultKind, Message, Reply, Request, Stop};
use redgreen_core::policy::{Spent, dollars};
use redgreen_core::prompt::{self, Earlier, Evidence, secret};
use redgreen_core::question;
use redgreen_core::tool::{Call, Kind};

use super::Settings;
use super::ledger::Ledger;
use super::minutes::Minutes;
use super::tools::Workbench;
use crate::agent::{Orders, Taken};
use crate::guard;
use crate::process::Interrupted;

/// Answers in a row that were cut off; then the model cannot be helped.
const CUT_OFF_MAX: u32 = 3;
/// Conversations one turn may begin because the one before was too long.
const CONVERSATIONS_MAX: u32 = 5;
/// Files that are shown at once are read no further.
const SHOWN_FILES_MAX: usize = 4;

/// Puts a request to a model; a fault is an answer too.
pub(super) type Ask<'a> = &'a mut dyn FnMut(&Request, &mut dyn FnMut(&Delta)) -> Result<Result<Reply, Fault>>;

/// A turn under way.
pub(super) struct Talk<'a, 'o> {
    pub(super) model: &'a str,
    pub(super) settings: &'a Settings,
    pub(super) orders: &'a mut Orders<'o>,
    pub(super) bench: Workbench<'a>,
    pub(super) ask: Ask<'a>,
    pub(super) ledger: Ledger,
    pub(super) minutes: Minutes,
    pub(super) started: Instant,
    reminded: bool,
    cut_off: u32,
    conversations: u32,
}

/// What follows an answer.
enum Next {
    /// The turn is over.
    End(Turn),
    /// The messages grew; ask again.
    Ask,
    /// The conversation is too long.
    Anew,
}

impl<'a, 'o> Talk<'a, 'o> {
    pub(super) fn new(
        model: &'a str,
        settings: &'a Settings,
        orders: &'a mut Orders<'o>,
        bench: Workbench<'a>,
        ask: Ask<'a>,
    ) -> Self {
        Self {
            model,
            settings,
            orders,
            bench,
            ask,
            ledger: Ledger::new(settings.prices.clone()),
            minutes: Minutes::default(),
            started: Instant::now(),
            reminded: false,
            cut_off: 0,
            conversations: 1,
        }
    }

    /// Holds the conversation to its end.
    pub(super) fn hold(mut self) -> Result<Taken> {
        let turn = match self.question_ground()? {
            Some((framework, files)) => self.questions(framework, &files)?,
            None => self.turns()?,
        };
        match &turn {
            Turn::Done { .. } => {}
            Turn::Failed { failure, message } => self.minutes.note(&format!("{}: {message}", failure.as_str())),
        }
        let cost = self.ledger.cost();
        self.minutes.note(&self.ledger.words());
        let refused = std::mem::take(&mut self.bench.refused);
        refused.iter().for_each(|remark| self.minutes.note(remark));
        let notices = self.settings.network.news(&refused);
        Ok(Taken { turn, cost, transcript: self.minutes.text(), session: None, notices })
    }

    /// The framework and the files of the project, where this turn is put as small questions.
    fn question_ground(&self) -> Result<Option<(&'static str, Vec<String>)>> {
        match self.settings.asking {
            Asking::Tools | Asking::Files => Ok(None),
            Asking::Questions => {
                let (framework, files) = self.bench.ground()?;
                let assignment = self.orders.assignment;
                Ok(framework.filter(|name| question::is_for(assignment, name, &files)).map(|name| (name, files)))
            }
        }
    }

    fn turns(&mut self) -> Result<Turn> {
        let mut request = self.opening(None)?;
        for _ in 0..self.settings.requests_max {
            if let Some(turn) = self.out_of_bounds(&request) {
                return Ok(turn);
            }
            if self.is_too_long(&request) {
                match self.anew()? {
                    Some(opening) => request = opening,
                    None => return Ok(too_long()),
                }
                // A conversation that is too long before anybody answered is not sent at all.
                if self.is_too_long(&request) {
                    return Ok(does_not_fit(counted(&request), self.settings.window));
                }
            }
            let next = match self.put(&request)? {
                Ok(reply) => self.hear(&mut request, reply)?,
                Err(fault) if fault.kind == FaultKind::TooLong => Next::Anew,
                Err(fault) => Next::End(failed(&fault, self.model)),
            };
            match next {
                Next::End(turn) => return Ok(turn),
                Next::Ask => {}
                Next::Anew => match self.anew()? {
                    Some(opening) => request = opening,
                    None => return Ok(too_long()),
                },
            }
        }
        // What is in the worktree is judged, whatever the model still had in mind.
        self.minutes.note(&format!("stopped after {} requests", self.settings.requests_max));
        Ok(Turn::Done { answer: String::new() })
    }

    /// The first message of a conversation.
    fn opening(&mut self, earlier: Option<Earlier>) -> Result<Request> {
        let assignment = self.orders.assignment;
        let shown = prompt::shown(assignment, self.orders.tests);
        let show = |path: &String| {
            let text = self.bench.look(path);
            (path.clone(), text)
        };
        let evidence = Evidence {
            report: self.orders.report,
            files: shown.iter().take(SHOWN_FILES_MAX).map(show).collect(),
            notes: self.bench.notes(),
            earlier,
        };
        let text = prompt::first(assignment, &evidence);
        let tools = match self.settings.asking {
            Asking::Tools => true,
            // What cannot be put as questions is asked for as whole files.
            Asking::Files | Asking::Questions => false,
        };
        self.minutes.heard(&text);
        Ok(Request {
            model: self.model.to_owned(),
            system: prompt::system(assignment, tools),
            tools: if tools { prompt::tools(assignment.role) } else { Vec::new() },
            messages: vec![Message::User(vec![Block::Text { text }])],
            max_tokens: self.settings.max_tokens,
            ..Request::default()
        })
    }

    /// A conversation that takes up the facts of the one before; `None` when there were too many.
    fn anew(&mut self) -> Result<Option<Request>> {
        self.conversations += 1;
        if self.conversations > CONVERSATIONS_MAX {
            return Ok(None);
        }
        self.minutes.note("the conversation is too long; a new one takes up what was done");
        let changes = (self.orders.changes)()?;
        let earlier = Earlier { changes, tests: self.bench.tests.clone() };
        self.opening(Some(earlier)).map(Some)
    }

    /// Whether the request is larger than the window. The guess is on the high side, so what seems too long is counted.
    fn is_too_long(&self, request: &Request) -> bool {
        prompt::tokens(request) > self.settings.window && counted(request) > self.settings.window
    }

    /// Every limit, before the request that would cross it.
    pub(super) fn out_of_bounds(&self, request: &Request) -> Option<Turn> {
        let spent_time = self.started.elapsed();
        let allowance = &self.orders.allowance;
        let spent = Spent { work_ms: u64::try_from(spent_time.as_millis()).unwrap_or(u64::MAX), ..self.ledger.spent() };
        if let Some(what) = allowance.exceeded_by(&spent) {
            let message = format!("what was left of the budget: {what}");
            return Some(Turn::Failed { failure: Failure::Budget, message });
        }
        let needed = prompt::tokens(request);
        if let Some(left) =
            allowance.tokens.map(|limit| limit.saturating_sub(spent.tokens)).filter(|left| *left < needed)
        {
            let message = format!("the next request takes about {needed} tokens, and {left} are left");
            return Some(Turn::Failed { failure: Failure::Budget, message });
        }
        if let Some(turn) = allowance.microdollars.and_then(|limit| self.too_dear(limit, spent.microdollars, needed)) {
            return Some(turn);
        }
        (spent_time >= self.orders.time_limit).then(|| {
            let message = format!("not done after {:.1} s", self.orders.time_limit.as_secs_f64());
            Turn::Failed { failure: Failure::Timeout, message }
        })
    }

    /// What the next request costs at least is known before it is made; a limit that cannot be kept to is no limit.
    fn too_dear(&self, limit: u64, spent: u64, tokens: u64) -> Option<Turn> {
        let Some(price) = self.ledger.next(self.model, tokens) else {
            let message = format!(
                "the price of the model {:?} is not known, so that a budget in dollars cannot be kept; limit its tokens \
                 instead (--budget-tokens), or set [model.prices.{:?}] in redgreen.toml",
                self.model, self.model
            );
            return Some(Turn::Failed { failure: Failure::Unusable, message });
        };
        let left = limit.saturating_sub(spent);
        (price > left).then(|| {
            let message = format!("the next request costs about {}, and {} is left", dollars(price), dollars(left));
            Turn::Failed { failure: Failure::Budget, message }
        })
    }

    pub(super) fn put(&mut self, request: &Request) -> Result<Result<Reply, Fault>> {
        if self.orders.stop.requested() {
            return Err(Interrupted.into());
        }
        self.ledger.send(prompt::tokens(request));
        let (live, minutes) = (&mut *self.orders.live, &mut self.minutes);
        let reply = (self.ask)(request, &mut |delta| match delta {
            Delta::Text(text) => live(&Said::Text(text.clone())),
            Delta::Again { fault, pause_ms } => {
                let what = format!("{} ms: {}", pause_ms, fault.message);
                minutes.note(&format!("asked again after {what}"));
                live(&Said::Tool { name: "Wait".to_owned(), what });
            }
            Delta::Thinking(_) | Delta::ToolUse(_) | Delta::Usage(_) => {}
        })?;
        match &reply {
            Ok(reply) => self.ledger.count(self.model, reply.usage),
            Err(_) => self.ledger.count_unanswered(),
        }
        let cost = self.ledger.cost();
        (self.orders.live)(&Said::Cost(cost));
        Ok(reply)
    }

    fn hear(&mut self, request: &mut Request, reply: Reply) -> Result<Next> {
        let Reply { mut blocks, stop, .. } = reply;
        let said = text_of(&blocks);
        self.minutes.said(&said);
        let calls = blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        match stop {
            Stop::Refusal { why } => {
                let why = if why.is_empty() { said } else { why };
                let message = format!("the model {} refuses: {}", self.model, why.trim());
                return Ok(Next::End(Turn::Failed { failure: Failure::Unusable, message }));
            }
            Stop::ContextFull => return Ok(Next::Anew),
            Stop::Pause => {
                request.messages.push(Message::Assistant(blocks));
                return Ok(Next::Ask);
            }
            Stop::MaxTokens => {
                self.cut_off += 1;
                if self.cut_off > CUT_OFF_MAX {
                    let message = format!("its answer was cut off {} times in a row", self.cut_off);
                    return Ok(Next::End(Turn::Failed { failure: Failure::Crash, message }));
                }
                self.minutes.note("the answer was cut off");
                let results = cut_short(&mut blocks);
                request.messages.extend([Message::Assistant(blocks), Message::User(results)]);
                return Ok(Next::Ask);
            }
            Stop::End | Stop::ToolUse | Stop::Other { .. } => self.cut_off = 0,
        }
        if !calls {
            return Ok(self.stopped(request, blocks, said));
        }
        let (results, done) = self.perform_all(&blocks)?;
        if let Some(summary) = done {
            return Ok(Next::End(Turn::Done { answer: if said.trim().is_empty() { summary } else { said } }));
        }
        request.messages.extend([Message::Assistant(blocks), Message::User(results)]);
        Ok(Next::Ask)
    }

    /// A model that calls no tool is done, or is reminded once of what it is there for.
    fn stopped(&mut self, request: &mut Request, mut blocks: Vec<Block>, said: String) -> Next {
        if Kind::of(self.orders.assignment.role).contains(&Kind::Write) && !self.bench.edited {
            for file in prompt::meant(self.orders.assignment, &said, |path| self.bench.look(path)) {
                let wrote = self.bench.write(&file.path, &file.content);
                self.minutes.tool("Write", &file.path, &wrote);
            }
        }
        match prompt::reminder(self.orders.assignment, &said, self.bench.edited).filter(|_| !self.reminded) {
            Some(reminder) => {
                self.reminded = true;
                self.minutes.heard(&reminder);
                // A message may not be empty.
                if blocks.is_empty() {
                    blocks.push(Block::Text { text: "…".to_owned() });
                }
                let told = Message::User(vec![Block::Text { text: reminder }]);
                request.messages.extend([Message::Assistant(blocks), told]);
                Next::Ask
            }
            None => Next::End(Turn::Done { answer: said }),
        }
    }

    /// Runs every call of an answer; all results go back in one message. The second value is what `Complete` said.
    fn perform_all(&mut self, blocks: &[Block]) -> Result<(Vec<Block>, Option<String>)> {
        let allowed = Kind::of(self.orders.assignment.role);
        let mut results = Vec::new();
        let mut done = None;
        for block in blocks {
            let Block::ToolUse { id, name, input, .. } = block else { continue };
            if self.orders.stop.requested() {
                return Err(Interrupted.into());
            }
            let call = Call::parse(allowed, name, input);
            let what = call.as_ref().map(Call::about).unwrap_or_default();
            (self.orders.live)(&Said::Tool { name: name.clone(), what: what.clone() });
            let answer = match &call {
                Ok(call) => self.bench.perform(call)?,
                Err(why) => Err(why.clone()),
            };
            // Neither the model nor the transcript needs a credential.
            let answer = answer.map(|text| secret::cut(&text)).map_err(|text| secret::cut(&text));
            self.minutes.tool(name, &what, &answer);
            if let Ok(Call::Complete(complete)) = &call {
                done = Some(complete.summary.clone().unwrap_or_default());
            }
            let (is_error, text) = match answer {
                Ok(text) => (false, text),
                Err(text) => (true, text),
            };
            results.push(Block::ToolResult { id: id.clone(), name: name.clone(), text, is_error });
        }
        Ok((results, done))
    }
}

/// What to answer calls that were cut off: they may look whole, and are not run.
fn cut_short(blocks: &mut Vec<Block>) -> Vec<Block> {
    const WORDS: &str = "Your answer was cut off at its limit, so this was not done. Send less at a time: write a file in \
                         parts, or edit pieces of it.";
    let mut results = Vec::new();
    for block in &mut *blocks {
        if let Block::ToolUse { id, name, input, .. } = block {
            // Half an object cannot be sent back.
            if !input.is_object() {
                *input = serde_json::json!({});
            }
            let (id, name) = (id.clone(), name.clone());
            results.push(Block::ToolResult { id, name, text: WORDS.to_owned(), is_error: true });
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::Text { text: "…".to_owned() });
    }
    if results.is_empty() {
        results.push(Block::Text { text: "You were cut off; go on, in fewer words.".to_owned() });
    }
    results
}

pub(super) fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Opaque { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What a fault that outlasted the client's own patience means for the run.
pub(super) fn failed(fault: &Fault, model: &str) -> Turn {
    let (failure, message) = match fault.kind {
        FaultKind::RateLimit | FaultKind::Overloaded => {
            (Failure::RateLimit { retry_after_ms: fault.retry_after_ms }, fault.message.clone())
        }
        FaultKind::Timeout => (Failure::Timeout, fault.message.clone()),
        FaultKind::Server | FaultKind::Network | FaultKind::TooLarge => (Failure::Crash, fault.message.clone()),
        FaultKind::UnknownModel => {
            (Failure::Unusable, format!("the server has no model {model:?} for this key: {}", fault.message))
        }
        FaultKind::Auth => (Failure::Unusable, format!("the server does not accept the key: {}", fault.message)),
        FaultKind::Billing => (Failure::Unusable, format!("the account is not charged: {}", fault.message)),
        FaultKind::BadRequest | FaultKind::TooLong => (Failure::Unusable, fault.message.clone()),
    };
    Turn::Failed { failure, message }
}

/// Tokens of a request as its service may count them.
fn counted(request: &Request) -> u64 {
    let json = |value: serde_json::Result<String>| guard::tokens(&value.unwrap_or_default());
    let texts = request.messages.iter().flat_map(|message| match message {
        Message::User(blocks) | Message::Assistant(blocks) => blocks,
    });
    let texts = texts.map(|block| match block {
        Block::Text { text } | Block::ToolResult { text, .. } => guard::tokens(text),
        Block::ToolUse { .. } | Block::Opaque { .. } => json(serde_json::to_string(block)),
    });
    texts
        .fold(guard::tokens(&request.system), u64::saturating_add)
        .saturating_add(json(serde_json::to_string(&request.tools)))
}

fn does_not_fit(tokens: u64, window: u64) -> Turn {
    let message = format!(
        "the request and its context take about {tokens} tokens, and model.window is {window}: nothing was sent; leave files \
         away (redgreen context shows their sizes), or set model.window for a model that takes more"
    );
    Turn::Failed { failure: Failure::Unusable, message }
}

fn too_long() -> Turn {
    let message = "the conversation does not fit into the model, however it is begun".to_owned();
    Turn::Failed { failure: Failure::Unusable, message }
}

#[cfg(test)]
mod tests;
