//! A call that waits for a decision, `planwright.open-call/1`.

use std::sync::Arc;

use planwright_core::Value;
use serde::Serialize;

/// The schema's name and version.
pub const OPEN_CALL_SCHEMA: &str = "planwright.open-call/1";

/// A call that waits for a decision.
#[derive(Clone, Debug, Serialize)]
pub struct OpenCallV1 {
    /// [`OPEN_CALL_SCHEMA`].
    pub schema: &'static str,
    /// The run's id.
    pub run: String,
    /// The step, item or round that wants to call.
    pub address: String,
    /// The tool's server.
    pub server: Arc<str>,
    /// The tool's name at its server.
    pub tool: Arc<str>,
    /// All arguments; secrets stand as `[redacted]`.
    pub args: Value,
    /// The reason why a person is asked, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The differences from the call of the previous decision, one clause each.
    pub changes: Vec<String>,
    /// The digest of the call, which `planwright approve --digest` takes.
    pub digest: String,
}
