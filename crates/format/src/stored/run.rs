//! The stored header of a run.

use planwright_core::{Object, Value};
use serde::{Deserialize, Serialize};

use super::FormatError;

/// The schema's name and version.
pub const RUN_SCHEMA: &str = "planwright.run/1";

/// The data with which a run began.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunV1 {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// The plan.
    pub plan: PlanTextV1,
    /// The inputs; secrets are `[redacted]`.
    pub vars: Object,
    /// The sources of its tools.
    pub tools: ToolSourcesV1,
    /// The client that it belongs to, if a gateway with several clients began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// A plan as it was written.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlanTextV1 {
    /// The name of the text in diagnostics: usually its file.
    pub source: String,
    /// The text.
    pub text: String,
    /// The dialect that it was read in.
    pub dialect: String,
    /// True if independent steps run together though the dialect lists them in order.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reorder: bool,
    /// True if all parameters take references though the dialect wants tools to mark them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub share: bool,
    /// True if it is no more than the beginning of a plan that never came to its end.
    #[serde(default, rename = "unfinished", skip_serializing_if = "is_false")]
    pub is_unfinished: bool,
    /// The results of earlier runs that it refers to, by run and step.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub recalled: Object,
    /// The most steps that it may have.
    pub max_steps: usize,
    /// The plans that it runs by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub library: Vec<LibraryPlanV1>,
}

/// A plan that another runs by name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryPlanV1 {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The sources of tools: absolute paths, as they were named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSourcesV1 {
    /// The folder in which the run began: where an `mcp.json` is looked for that was not named.
    pub folder: String,
    /// The `mcp.json` that was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<String>,
    /// The script of simulated tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulate: Option<String>,
    /// The folder of the built-in file tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

impl RunV1 {
    /// A run of `plan`.
    pub fn new(plan: PlanTextV1, vars: Object, tools: ToolSourcesV1) -> Self {
        Self {
            schema: RUN_SCHEMA.to_owned(),
            plan,
            vars,
            tools,
            client: None,
        }
    }

    /// The stored form, as a value.
    pub fn to_value(&self) -> Value {
        super::write(self)
    }

    /// Reads what is kept.
    ///
    /// # Errors
    ///
    /// Where another version wrote it, or it makes no sense.
    pub fn from_value(value: &Value) -> Result<Self, FormatError> {
        super::read(value, RUN_SCHEMA)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(super) fn is_false(flag: &bool) -> bool {
    !*flag
}
