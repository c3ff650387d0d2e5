//! Why a run went on with another plan.

use serde::{Deserialize, Serialize};

/// Why a run went on with another plan than before, by whose words.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RevisionV1 {
    /// `replanned`: the model wrote what came next; `repaired`: it corrected the arguments of one step.
    pub kind: String,
    /// The step that had failed.
    pub step: String,
    /// Why it had failed.
    pub error: String,
    /// Who wrote it.
    pub model: String,
}
