//! Models: one form of request and reply for all providers, scripts, and clients that sample for us.

mod language_model;
#[cfg(feature = "providers")]
pub mod providers;
mod recorder;
mod replay;
mod reply;

pub use language_model::{
    AnswerSchema, DEFAULT_TEMPERATURE, Delivery, Message, Model, ModelCall, ModelError,
    ModelErrorKind, ModelRequest, ReplyChunk, ToolDefinition, answer,
};
pub(crate) use language_model::{excerpt, prefix_within};
pub use recorder::{RecordingModel, ScriptSink};
pub use replay::{ModelScriptError, ScriptedModel};
pub use reply::{DeclineReason, DeclineReason as Declined, FinishReason, Reply, Usage};
