//! One attempt at an answer.

use std::sync::Arc;

use futures::StreamExt;
use futures::channel::mpsc::UnboundedSender;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent};
use genai::{Client, Error, ModelIden};
use serde_json::Value;

use super::super::{Delivery, ModelError, Piece};
use super::answer::Answer;
use super::failure::{Failure, Whose};
use super::omitted::{Frames, Omitted, with_broken_arguments};

/// How many bytes a provider may send for one byte of its answer: each token comes in an envelope of its own.
const FRAME_COST: usize = 128;

/// What hears the pieces of an answer while it comes.
#[derive(Debug)]
pub(super) struct Listener {
    pieces: UnboundedSender<Result<Piece, ModelError>>,
    /// Whether anything of an answer was handed out. It cannot be taken back, so nothing is tried again after that.
    pub(super) has_heard: bool,
}

/// What is asked in one attempt.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    pub(super) client: &'a Client,
    pub(super) model: &'a ModelIden,
    pub(super) chat: ChatRequest,
    pub(super) options: ChatOptions,
    pub(super) whose: Whose<'a>,
    /// The most bytes of an answer.
    pub(super) max_bytes: usize,
}

impl Listener {
    pub(super) fn new(pieces: UnboundedSender<Result<Piece, ModelError>>) -> Self {
        Self {
            pieces,
            has_heard: false,
        }
    }

    /// Who does not listen any more has dropped all of this.
    pub(super) fn hear(&mut self, piece: Result<Piece, ModelError>) {
        self.has_heard = true;
        let _ = self.pieces.unbounded_send(piece);
    }
}

impl Attempt<'_> {
    pub(super) async fn make(
        self,
        delivery: Delivery,
        listener: &mut Listener,
    ) -> Result<Answer, Failure> {
        let whose = self.whose;
        let max_bytes = self.max_bytes;
        let answer = match delivery {
            Delivery::Whole => self.whole().await?,
            Delivery::Live => self.live(listener).await?,
        };
        if answer.is_empty() {
            return Err(Failure::malformed(whose, "it holds no answer"));
        }
        if answer.is_interrupted {
            return Err(Failure::broke_off(whose));
        }
        if answer.reply.text.len() > max_bytes {
            return Err(Failure::too_long(whose, max_bytes, &answer.reply.text));
        }
        Ok(answer)
    }

    async fn whole(self) -> Result<Answer, Failure> {
        let whose = self.whose;
        let asked = self
            .client
            .exec_chat(self.model, self.chat, Some(&self.options));
        let response = match asked.await {
            Ok(response) => response,
            Err(error) => return unread(&error).ok_or_else(|| Failure::of(error, whose)),
        };
        // Some say with a status of success that they failed.
        if let Some(body) = &response.captured_raw_body
            && body.get("error").is_some_and(|error| !error.is_null())
        {
            return Err(Failure::reported(body, whose));
        }
        Ok(Answer::whole(response))
    }

    async fn live(self, listener: &mut Listener) -> Result<Answer, Failure> {
        let whose = self.whose;
        let frames = Arc::new(Frames::default());
        let sink = Arc::clone(&frames);
        let options = self.options.with_raw_frame_sink_arc(sink);
        let asked = self
            .client
            .exec_chat_stream(self.model, self.chat, Some(&options));
        let mut events = asked
            .await
            .map_err(|error| Failure::of(error, whose))?
            .stream;
        let mut said = String::new();
        let mut thought = 0;
        while let Some(event) = events.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    let blocked = frames.take().blocked().map(Answer::of);
                    return blocked.ok_or_else(|| Failure::of(error, whose));
                }
            };
            if let ChatStreamEvent::ReasoningChunk(chunk) = &event {
                thought += chunk.content.len();
            }
            let is_too_long = said.len() + thought > self.max_bytes
                || frames.bytes() > self.max_bytes.saturating_mul(FRAME_COST);
            if is_too_long {
                return Err(Failure::too_long(whose, self.max_bytes, &said));
            }
            match event {
                ChatStreamEvent::Chunk(chunk) if !chunk.content.is_empty() => {
                    said += &chunk.content;
                    listener.hear(Ok(Piece::Text(chunk.content)));
                }
                ChatStreamEvent::End(end) => {
                    let answer = Answer::live(end, frames.take());
                    return if is_whole(&answer, self.model.adapter_kind) {
                        Ok(answer)
                    } else {
                        Err(Failure::broke_off(whose))
                    };
                }
                _ => {}
            }
        }
        Err(Failure::broke_off(whose))
    }
}

/// The answer in what `genai` could not read.
fn unread(error: &Error) -> Option<Answer> {
    let Error::ChatResponseGeneration { response_body, .. } = error else {
        return None;
    };
    let body: &Value = response_body;
    let mut omitted = Omitted::default();
    omitted.read(body);
    let reply = omitted.blocked().or_else(|| with_broken_arguments(body));
    reply.map(Answer::of)
}

/// For some protocols `genai` reports an end wherever the stream ends. Then what comes with a true one is missing.
fn is_whole(answer: &Answer, kind: AdapterKind) -> bool {
    match kind {
        AdapterKind::Gemini | AdapterKind::GeminiIx => answer.has_end,
        AdapterKind::Ollama | AdapterKind::OllamaCloud => answer.has_end || answer.has_usage,
        _ => true,
    }
}
