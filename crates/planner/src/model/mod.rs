//! Models: one form of request and reply for all providers, scripts, and clients that sample for us.

mod error;
mod recorder;
mod replay;
mod reply;
mod request;

#[cfg(feature = "providers")]
pub mod providers;

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;

pub use error::{ModelError, ModelErrorKind};
pub(crate) use error::{excerpt, prefix_within};
pub use recorder::{RecordingModel, ScriptSink};
pub use replay::{ModelScriptError, ScriptedModel};
pub use reply::{DeclineReason, DeclineReason as Declined, FinishReason, Reply, Usage};
pub use request::{
    AnswerSchema, DEFAULT_TEMPERATURE, Delivery, Message, ModelCall, ModelRequest, ToolDefinition,
};

/// A language model that answers requests.
pub trait Model: Send + Sync + 'static {
    /// Returns the name as users write it, `provider:name`.
    fn name(&self) -> &str;

    /// Sends a request. With [`Delivery::Live`] the reply arrives in chunks before it arrives as a whole. Dropping the stream cancels
    /// the request.
    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>>;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>> {
        (**self).ask(request)
    }
}

/// A part of a streamed reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyChunk {
    /// The next part of the text.
    Text(String),
    /// The complete reply. Nothing follows it.
    Done(Reply),
}

/// Sends `request` to `model` and waits for the complete reply.
///
/// # Errors
///
/// The model's own errors, and [`ModelErrorKind::Interrupted`] if the reply ends early.
pub async fn answer(model: &dyn Model, request: ModelRequest) -> Result<Reply, ModelError> {
    let mut chunks = model.ask(request);
    while let Some(chunk) = chunks.next().await {
        if let ReplyChunk::Done(reply) = chunk? {
            return Ok(reply);
        }
    }
    Err(ModelError::interrupted(model.name()))
}
