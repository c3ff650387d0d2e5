//! The reason for another plan of a run.

use serde::{Deserialize, Serialize};

/// The reason for another plan of a run, and its author.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RevisionV1 {
    /// `replanned`: the model wrote what came next; `repaired`: it corrected the arguments of one step.
    pub kind: String,
    /// The step that had failed.
    pub step: String,
    /// The failure before it.
    pub error: String,
    /// The name of the model.
    pub model: String,
}
