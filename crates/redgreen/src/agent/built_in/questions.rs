//! A turn of a small model: asks the questions chosen by the core, repairs each answer or asks
//! differently, and writes the files. They are judged as after any other turn.

use anyhow::Result;
use redgreen_core::agent::{AgentActivity, Turn};
use redgreen_core::model::{Block, Message, ModelErrorKind, Request, Stop};
use redgreen_core::question::{self, Move, Question, Scene, TurnResult};

use super::conversation::{Conversation, failed, text_of};

impl Conversation<'_, '_> {
    /// Asks until the turn is decided or the limit is reached. `framework` is that of the project's
    /// tests.
    pub(super) fn questions(&mut self, framework: &str, files: &[String]) -> Result<Turn> {
        let place = self.bench.place.clone();
        let look = move |path: &str| place.text(path).ok();
        let scene = Scene {
            assignment: self.orders.assignment,
            framework,
            files,
            look: &look,
            window: self.settings.window,
            schemas: self.settings.schemas.is_some(),
        };
        let mut asked = 0;
        let mut follow_up: Option<Box<Question>> = None;
        while asked < question::ASKS_MAX {
            let next = match follow_up.take() {
                Some(question) => Move::Ask(question),
                None => question::next(&scene, asked),
            };
            let question = match next {
                Move::Decided(decided) => return Ok(self.decided(decided)),
                Move::Ask(question) => question,
            };
            let request = self.request(&question);
            if let Some(turn) = self.limit_reached(&request) {
                return Ok(turn);
            }
            self.transcript.heard(&question.text);
            asked += 1;
            let reply = match self.put(&request)? {
                Ok(reply) => reply,
                Err(error) if error.kind == ModelErrorKind::TooLong => {
                    self.transcript.note(&format!("the question is too long: {}", error.message));
                    continue;
                }
                Err(error) => return Ok(failed(&error, self.model)),
            };
            let answer = text_of(&reply.blocks);
            self.transcript.said(&answer);
            if reply.stop == Stop::MaxTokens {
                self.transcript.note("the answer was cut off; asking differently");
                continue;
            }
            let settled = question::settle(&scene, &question, &answer);
            match settled {
                Ok(Move::Decided(decided)) => return Ok(self.decided(decided)),
                Ok(Move::Ask(question)) => follow_up = Some(question),
                Err(why) => {
                    self.transcript.note(&format!("unusable answer, asking differently: {why}"));
                }
            }
        }
        self.transcript.note(&format!("stopped after {asked} questions"));
        Ok(Turn::Done { answer: String::new() })
    }

    fn decided(&mut self, decided: TurnResult) -> Turn {
        decided.remarks.iter().for_each(|remark| self.transcript.note(remark));
        for file in &decided.files {
            (self.orders.live)(&AgentActivity::Tool {
                name: "Write".to_owned(),
                what: file.path.clone(),
            });
            let wrote = self.bench.write(&file.path, &file.content);
            self.transcript.tool("Write", &file.path, &wrote);
        }
        Turn::Done { answer: decided.answer }
    }

    fn request(&self, question: &Question) -> Request {
        Request {
            model: self.model.to_owned(),
            system: question.system.clone(),
            messages: vec![Message::User(vec![Block::Text { text: question.text.clone() }])],
            max_tokens: question.max_tokens.min(self.settings.max_tokens),
            schema: question.schema.clone(),
            schema_field: self.settings.schemas.unwrap_or_default(),
            temperature: Some(question.temperature),
            ..Request::default()
        }
    }
}
