//! Models: one type of request and reply for providers, scripts, and MCP clients with sampling.

mod language_model;
#[cfg(feature = "providers")]
pub mod providers;
mod script;

pub use language_model::{
    AnswerSchema, DEFAULT_TEMPERATURE, DeclineReason, Delivery, FinishReason, Message, Model,
    ModelCall, ModelError, ModelErrorKind, ModelRequest, Reply, ReplyChunk, ToolDefinition, Usage,
    answer,
};
pub(crate) use language_model::{excerpt, prefix_within};
pub use script::{ModelScriptError, RecordingModel, ScriptSink, ScriptedModel};
