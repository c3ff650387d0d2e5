//! Models: one form of request and reply for all providers, scripts, and clients that sample for us.

mod language_model;
#[cfg(feature = "providers")]
pub mod providers;
mod script;

pub use language_model::{
    AnswerSchema, DEFAULT_TEMPERATURE, DeclineReason, DeclineReason as Declined, Delivery,
    FinishReason, Message, Model, ModelCall, ModelError, ModelErrorKind, ModelRequest, Reply,
    ReplyChunk, ToolDefinition, Usage, answer,
};
pub(crate) use language_model::{excerpt, prefix_within};
pub use script::{ModelScriptError, RecordingModel, ScriptSink, ScriptedModel};
