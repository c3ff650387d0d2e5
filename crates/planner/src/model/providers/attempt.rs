//! One attempt at an answer.

use futures::StreamExt;
use futures::channel::mpsc::UnboundedSender;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent};
use genai::{Client, ModelIden};

use super::super::{Delivery, ModelError, Piece};
use super::answer::Answer;
use super::failure::{Failure, Whose};

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
        let answer = match delivery {
            Delivery::Whole => self.whole().await?,
            Delivery::Live => self.live(listener).await?,
        };
        if answer.is_empty() {
            return Err(Failure::malformed(whose, "it holds no answer"));
        }
        Ok(answer)
    }

    async fn whole(self) -> Result<Answer, Failure> {
        let whose = self.whose;
        let asked = self
            .client
            .exec_chat(self.model, self.chat, Some(&self.options));
        let response = asked.await.map_err(|error| Failure::of(error, whose))?;
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
        let asked = self
            .client
            .exec_chat_stream(self.model, self.chat, Some(&self.options));
        let mut events = asked
            .await
            .map_err(|error| Failure::of(error, whose))?
            .stream;
        while let Some(event) = events.next().await {
            match event.map_err(|error| Failure::of(error, whose))? {
                ChatStreamEvent::Chunk(chunk) if !chunk.content.is_empty() => {
                    listener.hear(Ok(Piece::Text(chunk.content)));
                }
                ChatStreamEvent::End(end) => {
                    let answer = Answer::live(end);
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

/// For some protocols `genai` reports an end wherever the stream ends. Then what comes with a true one is missing.
fn is_whole(answer: &Answer, kind: AdapterKind) -> bool {
    match kind {
        AdapterKind::Gemini | AdapterKind::GeminiIx => answer.has_end,
        AdapterKind::Ollama | AdapterKind::OllamaCloud => answer.has_end || answer.has_usage,
        _ => true,
    }
}
