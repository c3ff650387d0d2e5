//! The stored data of a run beside its journal, with which another process can resume it: `planwright.run/1` of the run,
//! `planwright.process/1` of each process that drives it.

mod options;
mod process;
mod run;

pub use options::{BoundV1, GuardsV1, LimitV1, NamedBoundV1, OptionsV1, RateV1};
pub use process::{ChoiceV1, FlowModeV1, PROCESS_SCHEMA, ProcessV1, RevisionV1};
pub use run::{
    LibraryPlanV1, PlanTextV1, RUN_SCHEMA, RecalledLabelsV1, RunV1, ToolSourcesV1, ToolV1,
};

use planwright_core::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The reason why stored data cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FormatError {
    message: String,
}

/// A twin as a value, as a store takes it.
fn write(twin: &impl Serialize) -> Value {
    // Serialized types have no values that JSON cannot express.
    serde_json::to_string(twin)
        .ok()
        .and_then(|text| Value::from_json(&text).ok())
        .unwrap_or_default()
}

/// Reads a document that declares itself as `schema`.
fn read<T: DeserializeOwned>(value: &Value, schema: &str) -> Result<T, FormatError> {
    let found = value.get("schema").and_then(Value::as_text);
    if found != Some(schema) {
        let found = found.map_or_else(|| "nothing known".to_owned(), |found| format!("`{found}`"));
        return Err(FormatError {
            message: format!("it is kept as {found}, and only `{schema}` is known here"),
        });
    }
    serde_json::from_str(&value.to_json()).map_err(|error| FormatError {
        message: format!("what is kept as `{schema}` makes no sense: {error}"),
    })
}
