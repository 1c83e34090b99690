//! A turn as a conversation: ask, run the tools, send the results, until the model is done or a
//! limit is reached. Messages are only appended. A conversation that is too long is replaced by a
//! new one with a summary.

use std::time::Instant;

use anyhow::Result;
use redgreen_core::agent::{AgentActivity, Assignment, Failure, Turn};
use redgreen_core::model::ability::PromptStyle;
use redgreen_core::model::{
    Block, Delta, Message, ModelError, ModelErrorKind, Reply, Request, Stop,
};
use redgreen_core::policy::{RunCost, dollars};
use redgreen_core::prompt::{self, EarlierConversation, Evidence, secret};
use redgreen_core::question;
use redgreen_core::steer;
use redgreen_core::tool::{Call, Kind};

use super::Settings;
use super::ledger::Ledger;
use super::tools::Workbench;
use super::transcript::Transcript;
use crate::agent::{TurnInput, TurnOutput};
use crate::guard;
use crate::process::Interrupted;

/// The maximum number of consecutive truncated answers.
const CUT_OFF_MAX: u32 = 3;
/// The maximum number of conversations per turn.
const CONVERSATIONS_MAX: u32 = 5;
/// The number of files shown in the first message.
const SHOWN_FILES_MAX: usize = 4;

/// Sends a request to a model. A model error is a result, too.
pub(super) type Ask<'a> =
    &'a mut dyn FnMut(&Request, &mut dyn FnMut(&Delta)) -> Result<Result<Reply, ModelError>>;

/// A turn in progress.
pub(super) struct Conversation<'a, 'o> {
    pub(super) model: &'a str,
    pub(super) settings: &'a Settings,
    pub(super) orders: &'a mut TurnInput<'o>,
    pub(super) bench: Workbench<'a>,
    pub(super) ask: Ask<'a>,
    pub(super) ledger: Ledger,
    pub(super) transcript: Transcript,
    pub(super) started: Instant,
    reminded: bool,
    cut_off: u32,
    conversations: u32,
    /// The user's messages during this turn.
    told: Vec<String>,
}

/// What to do after an answer.
enum AfterAnswer {
    /// The turn is over.
    End(Turn),
    /// Messages were added; ask again.
    Ask,
    /// The conversation is too long.
    Restart,
}

impl<'a, 'o> Conversation<'a, 'o> {
    pub(super) fn new(
        model: &'a str,
        settings: &'a Settings,
        orders: &'a mut TurnInput<'o>,
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
            transcript: Transcript::default(),
            started: Instant::now(),
            reminded: false,
            cut_off: 0,
            conversations: 1,
            told: Vec::new(),
        }
    }

    /// Runs the conversation to its end.
    pub(super) fn hold(mut self) -> Result<TurnOutput> {
        let turn = match self.question_context()? {
            Some((framework, files)) => self.questions(framework, &files)?,
            None => self.turns()?,
        };
        match &turn {
            Turn::Done { .. } => {}
            Turn::Failed { failure, message } => {
                self.transcript.note(&format!("{}: {message}", failure.as_str()));
            }
        }
        let cost = self.ledger.cost();
        self.transcript.note(&self.ledger.words());
        let refused = std::mem::take(&mut self.bench.refused);
        refused.iter().for_each(|remark| self.transcript.note(remark));
        let notices = self.settings.network.news(&refused);
        Ok(TurnOutput { turn, cost, transcript: self.transcript.text(), session: None, notices })
    }

    /// The framework and the files of the project, if this turn uses small questions.
    fn question_context(&self) -> Result<Option<(&'static str, Vec<String>)>> {
        match self.settings.asking {
            PromptStyle::Tools | PromptStyle::Files => Ok(None),
            PromptStyle::Questions => {
                let (framework, files) = self.bench.ground()?;
                let assignment = self.orders.assignment;
                Ok(framework
                    .filter(|name| question::is_for(assignment, name, &files))
                    .map(|name| (name, files)))
            }
        }
    }

    fn turns(&mut self) -> Result<Turn> {
        let mut request = self.opening(None)?;
        for _ in 0..self.settings.requests_max {
            if let Some(turn) = self.limit_reached(&request) {
                return Ok(turn);
            }
            if self.is_too_long(&request) {
                match self.restart()? {
                    Some(opening) => request = opening,
                    None => return Ok(too_long()),
                }
                // Do not send a first message that is already too long.
                if self.is_too_long(&request) {
                    return Ok(does_not_fit(counted(&request), self.settings.window));
                }
            }
            let next = match self.put(&request)? {
                Ok(reply) => self.hear(&mut request, reply)?,
                Err(error) if error.kind == ModelErrorKind::TooLong => AfterAnswer::Restart,
                Err(error) => AfterAnswer::End(failed(&error, self.model)),
            };
            match next {
                AfterAnswer::End(turn) => return Ok(turn),
                AfterAnswer::Ask => {}
                AfterAnswer::Restart => match self.restart()? {
                    Some(opening) => request = opening,
                    None => return Ok(too_long()),
                },
            }
        }
        // The judge checks the worktree in its current state.
        self.transcript.note(&format!("stopped after {} requests", self.settings.requests_max));
        Ok(Turn::Done { answer: String::new() })
    }

    /// The first message of a conversation.
    fn opening(&mut self, earlier: Option<EarlierConversation>) -> Result<Request> {
        let mut assignment = self.orders.assignment.clone();
        assignment.messages.extend(self.told.iter().cloned());
        let assignment: &Assignment = &assignment;
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
            PromptStyle::Tools => true,
            // Turns without questions ask for whole files.
            PromptStyle::Files | PromptStyle::Questions => false,
        };
        self.transcript.heard(&text);
        Ok(Request {
            model: self.model.to_owned(),
            system: prompt::system(assignment, tools),
            tools: if tools { prompt::tools(assignment.role) } else { Vec::new() },
            messages: vec![Message::User(vec![Block::Text { text }])],
            max_tokens: self.settings.max_tokens,
            ..Request::default()
        })
    }

    /// A new conversation with a summary of the previous one; `None` after too many.
    fn restart(&mut self) -> Result<Option<Request>> {
        self.conversations += 1;
        if self.conversations > CONVERSATIONS_MAX {
            return Ok(None);
        }
        self.transcript.note("the conversation is too long; starting a new one with a summary");
        let changes = (self.orders.changes)()?;
        let earlier = EarlierConversation { changes, tests: self.bench.tests.clone() };
        self.opening(Some(earlier)).map(Some)
    }

    /// Whether the request exceeds the window. The estimate is high, so count exactly if it does.
    fn is_too_long(&self, request: &Request) -> bool {
        prompt::tokens(request) > self.settings.window && counted(request) > self.settings.window
    }

    /// Checks every limit before the request that would exceed it.
    pub(super) fn limit_reached(&self, request: &Request) -> Option<Turn> {
        let spent_time = self.started.elapsed();
        let allowance = &self.orders.allowance;
        let spent = RunCost {
            work_ms: u64::try_from(spent_time.as_millis()).unwrap_or(u64::MAX),
            ..self.ledger.spent()
        };
        if let Some(what) = allowance.exceeded_by(&spent) {
            let message = format!("over budget: {what}");
            return Some(Turn::Failed { failure: Failure::Budget, message });
        }
        let needed = prompt::tokens(request);
        if let Some(left) = allowance
            .tokens
            .map(|limit| limit.saturating_sub(spent.tokens))
            .filter(|left| *left < needed)
        {
            let message =
                format!("the next request needs about {needed} tokens, but {left} are left");
            return Some(Turn::Failed { failure: Failure::Budget, message });
        }
        if let Some(turn) = allowance
            .microdollars
            .and_then(|limit| self.too_expensive(limit, spent.microdollars, needed))
        {
            return Some(turn);
        }
        (spent_time >= self.orders.time_limit).then(|| {
            let message = format!("not done after {:.1} s", self.orders.time_limit.as_secs_f64());
            Turn::Failed { failure: Failure::Timeout, message }
        })
    }

    /// Checks the minimum cost of the next request. Without a known price, a budget cannot be
    /// enforced.
    fn too_expensive(&self, limit: u64, spent: u64, tokens: u64) -> Option<Turn> {
        let Some(price) = self.ledger.next(self.model, tokens) else {
            let message = format!(
                "the price of the model {:?} is unknown, so a budget in dollars cannot be enforced; limit its tokens \
                 instead (--budget-tokens), or set [model.prices.{:?}] in redgreen.toml",
                self.model, self.model
            );
            return Some(Turn::Failed { failure: Failure::Unusable, message });
        };
        let left = limit.saturating_sub(spent);
        (price > left).then(|| {
            let message = format!(
                "the next request costs about {}, but {} is left",
                dollars(price),
                dollars(left)
            );
            Turn::Failed { failure: Failure::Budget, message }
        })
    }

    pub(super) fn put(&mut self, request: &Request) -> Result<Result<Reply, ModelError>> {
        if self.orders.stop.requested() {
            return Err(Interrupted.into());
        }
        self.ledger.send(prompt::tokens(request));
        let (live, transcript) = (&mut *self.orders.live, &mut self.transcript);
        let reply = (self.ask)(request, &mut |delta| match delta {
            Delta::Text(text) => live(&AgentActivity::Text(text.clone())),
            Delta::Again { error, pause_ms } => {
                let what = format!("{} ms: {}", pause_ms, error.message);
                transcript.note(&format!("retried after {what}"));
                live(&AgentActivity::Tool { name: "Wait".to_owned(), what });
            }
            Delta::Thinking(_) | Delta::ToolUse(_) | Delta::Usage(_) => {}
        })?;
        match &reply {
            Ok(reply) => self.ledger.count(self.model, reply.usage),
            Err(_) => self.ledger.count_unanswered(),
        }
        let cost = self.ledger.cost();
        (self.orders.live)(&AgentActivity::Cost(cost));
        Ok(reply)
    }

    fn hear(&mut self, request: &mut Request, reply: Reply) -> Result<AfterAnswer> {
        let Reply { mut blocks, stop, .. } = reply;
        let said = text_of(&blocks);
        self.transcript.said(&said);
        let calls = blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        match stop {
            Stop::Refusal { why } => {
                let why = if why.is_empty() { said } else { why };
                let message = format!("the model {} refuses: {}", self.model, why.trim());
                return Ok(AfterAnswer::End(Turn::Failed { failure: Failure::Unusable, message }));
            }
            Stop::ContextFull => return Ok(AfterAnswer::Restart),
            Stop::Pause => {
                request.messages.push(Message::Assistant(blocks));
                return Ok(AfterAnswer::Ask);
            }
            Stop::MaxTokens => {
                self.cut_off += 1;
                if self.cut_off > CUT_OFF_MAX {
                    let message = format!("its answer was cut off {} times in a row", self.cut_off);
                    return Ok(AfterAnswer::End(Turn::Failed { failure: Failure::Crash, message }));
                }
                self.transcript.note("the answer was cut off");
                let results = cut_short(&mut blocks);
                request.messages.extend([Message::Assistant(blocks), Message::User(results)]);
                return Ok(AfterAnswer::Ask);
            }
            Stop::End | Stop::ToolUse | Stop::Other { .. } => self.cut_off = 0,
        }
        if !calls {
            return Ok(self.stopped(request, blocks, said));
        }
        let (mut results, done) = self.perform_all(&blocks)?;
        let told = self.user_says();
        if let (Some(summary), None) = (done, &told) {
            return Ok(AfterAnswer::End(Turn::Done {
                answer: if said.trim().is_empty() { summary } else { said },
            }));
        }
        results.extend(told.map(|text| Block::Text { text }));
        request.messages.extend([Message::Assistant(blocks), Message::User(results)]);
        Ok(AfterAnswer::Ask)
    }

    /// The user's new messages, for the model.
    fn user_says(&mut self) -> Option<String> {
        let messages = (self.orders.messages)();
        let text = steer::told_now(&messages).map(|text| secret::cut(&text))?;
        self.told.extend(messages);
        self.transcript.heard(&text);
        Some(text)
    }

    /// Handles an answer without tool calls: the model is done, unless the user said something
    /// meanwhile, or it gets one reminder to edit files.
    fn stopped(
        &mut self,
        request: &mut Request,
        mut blocks: Vec<Block>,
        said: String,
    ) -> AfterAnswer {
        if Kind::of(self.orders.assignment.role).contains(&Kind::Write) && !self.bench.edited {
            for file in prompt::meant(self.orders.assignment, &said, |path| self.bench.look(path)) {
                let wrote = self.bench.write(&file.path, &file.content);
                self.transcript.tool("Write", &file.path, &wrote);
            }
        }
        let more = self.user_says().or_else(|| self.reminder(&said));
        match more {
            Some(text) => {
                // A message must not be empty.
                if blocks.is_empty() {
                    blocks.push(Block::Text { text: "…".to_owned() });
                }
                let told = Message::User(vec![Block::Text { text }]);
                request.messages.extend([Message::Assistant(blocks), told]);
                AfterAnswer::Ask
            }
            None => AfterAnswer::End(Turn::Done { answer: said }),
        }
    }

    /// A reminder to edit files, at most once in a turn.
    fn reminder(&mut self, said: &str) -> Option<String> {
        let (assignment, edited) = (self.orders.assignment, self.bench.edited);
        let reminder = prompt::reminder(assignment, said, edited).filter(|_| !self.reminded)?;
        self.reminded = true;
        self.transcript.heard(&reminder);
        Some(reminder)
    }

    /// Runs all tool calls of an answer; the results go into one message. The second value is the
    /// argument of `Complete`.
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
            (self.orders.live)(&AgentActivity::Tool { name: name.clone(), what: what.clone() });
            let answer = match &call {
                Ok(call) => self.bench.perform(call)?,
                Err(why) => Err(why.clone()),
            };
            // Remove credentials, which neither the model nor the transcript needs.
            let answer = answer.map(|text| secret::cut(&text)).map_err(|text| secret::cut(&text));
            self.transcript.tool(name, &what, &answer);
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

/// The answers to truncated tool calls. They may look complete, but are not run.
fn cut_short(blocks: &mut Vec<Block>) -> Vec<Block> {
    const WORDS: &str = "Your answer was cut off at its limit, so this was not done. Send less at a time: write a file in \
                         parts, or edit pieces of it.";
    let mut results = Vec::new();
    for block in &mut *blocks {
        if let Block::ToolUse { id, name, input, .. } = block {
            // An incomplete object cannot be sent back.
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
        results
            .push(Block::Text { text: "You were cut off. Continue with fewer words.".to_owned() });
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

/// The meaning of a model error after all retries.
pub(super) fn failed(error: &ModelError, model: &str) -> Turn {
    let (failure, message) = match error.kind {
        ModelErrorKind::RateLimit | ModelErrorKind::Overloaded => {
            (Failure::RateLimit { retry_after_ms: error.retry_after_ms }, error.message.clone())
        }
        ModelErrorKind::Timeout => (Failure::Timeout, error.message.clone()),
        ModelErrorKind::Server | ModelErrorKind::Network | ModelErrorKind::TooLarge => {
            (Failure::Crash, error.message.clone())
        }
        ModelErrorKind::UnknownModel => (
            Failure::Unusable,
            format!("the server has no model {model:?} for this key: {}", error.message),
        ),
        ModelErrorKind::Auth => {
            (Failure::Unusable, format!("the server does not accept the key: {}", error.message))
        }
        ModelErrorKind::Billing => {
            (Failure::Unusable, format!("the account cannot be charged: {}", error.message))
        }
        ModelErrorKind::BadRequest | ModelErrorKind::TooLong => {
            (Failure::Unusable, error.message.clone())
        }
    };
    Turn::Failed { failure, message }
}

/// The tokens of a request as its service may count them.
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
        "the request and its context take about {tokens} tokens, and model.window is {window}: \
         nothing was sent; remove files (redgreen context shows their sizes), or set model.window \
         if the model accepts more"
    );
    Turn::Failed { failure: Failure::Unusable, message }
}

fn too_long() -> Turn {
    let message = "the conversation does not fit into the model's context window".to_owned();
    Turn::Failed { failure: Failure::Unusable, message }
}

#[cfg(test)]
mod tests;
