//! What models are asked, and what they answer: one form for all providers, scripts, and clients that sample for us.

mod declined;
mod error;
mod message;
mod recorder;
mod replay;
mod request;
mod usage;

/// Models of providers, over HTTP.
#[cfg(feature = "providers")]
pub mod providers;

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;

pub use declined::Declined;
pub(crate) use error::words_within;
pub use error::{ModelError, ModelErrorKind};
pub use message::{Finish, Message, ModelCall, Reply};
pub use recorder::{Recorder, ScriptSink};
pub use replay::{Replay, ReplayError};
pub use request::{AnswerSchema, Delivery, ModelRequest, TEMPERATURE, ToolOffer};
pub use usage::Usage;

/// Somebody who answers in words.
pub trait Model: Send + Sync + 'static {
    /// `provider:name`, as people write it.
    fn name(&self) -> &str;

    /// Asks it. The answer comes piece by piece where that was wished for, and the whole of it last. Dropping the stream
    /// gives the question up.
    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<Piece, ModelError>>;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<Piece, ModelError>> {
        (**self).ask(request)
    }
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// The next words.
    Text(String),
    /// The whole answer. Nothing comes after it.
    Done(Reply),
}

/// Asks `model`, and waits for the whole answer.
///
/// # Errors
///
/// What the model fails with, and [`ModelErrorKind::Interrupted`] if its answer breaks off.
pub async fn answer(model: &dyn Model, request: ModelRequest) -> Result<Reply, ModelError> {
    let mut pieces = model.ask(request);
    while let Some(piece) = pieces.next().await {
        if let Piece::Done(reply) = piece? {
            return Ok(reply);
        }
    }
    Err(ModelError::broken_off(model.name()))
}
