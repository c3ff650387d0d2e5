//! A process that drives a stored run, `planwright.process/1`.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::{Object, Value};
use planwright_engine::run::Choice;
use serde::{Deserialize, Serialize};

use super::{FormatError, OptionsV1, PlanTextV1, ToolV1};
use crate::DurationsV1;

/// The schema's name and version.
pub const PROCESS_SCHEMA: &str = "planwright.process/1";

/// The state of a process when it began to drive a run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessV1 {
    /// [`PROCESS_SCHEMA`].
    pub schema: String,
    /// The version of the program.
    pub version: String,
    /// The process id on its machine.
    pub pid: u32,
    /// The time of its start, in milliseconds since 1970.
    pub began_unix_ms: u64,
    /// The time for which no process drove the run before, in milliseconds; absent in headers of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// The options.
    pub options: OptionsV1,
    /// The expected durations of calls.
    pub durations: DurationsV1,
    /// The tools that the plan calls, as they were then.
    pub tools: Vec<ToolV1>,
    /// The number of steps of the plan, by which the store counts as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// The choices of a person about steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<ChoiceV1>,
    /// The steps that are others in the plan that took the place of the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forgotten: Vec<String>,
    /// True if no consent counts that stands in the journal before this process: the run was imported.
    #[serde(default, skip_serializing_if = "super::run::is_false")]
    pub revokes_consent: bool,
    /// The label of the planner, if the plan was checked for where data goes: `clean` or `exposed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowModeV1>,
    /// The digest of the plan, if a person approved it as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_plan: Option<String>,
    /// The number of steps that were known at the start, if the plan was still being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beginning: Option<usize>,
    /// The plan that took the place of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanTextV1>,
    /// The reason for another plan, if a model wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionV1>,
    /// The inputs that take the place of earlier ones; secrets are `[redacted]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vars: Option<Object>,
}

/// The way in which a plan was checked for where data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowModeV1 {
    /// The author of the plan had read nothing untrusted.
    Clean,
    /// The author of the plan had read untrusted text.
    Exposed,
}

/// A person's choice about a step of a run that is resumed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChoiceV1 {
    /// The step's address.
    pub step: String,
    /// `retry`, `skip` or `set`.
    pub choice: String,
    /// The value that is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl ProcessV1 {
    /// Returns the time for which no process drove the run before, if it is known.
    pub fn idle(&self) -> Option<Duration> {
        self.idle_ms.map(Duration::from_millis)
    }

    /// The stored form, as a value.
    pub fn to_value(&self) -> Value {
        super::write(self)
    }

    /// Reads a stored document.
    ///
    /// # Errors
    ///
    /// Where another version wrote it, or it makes no sense.
    pub fn from_value(value: &Value) -> Result<Self, FormatError> {
        super::read(value, PROCESS_SCHEMA)
    }
}

impl ChoiceV1 {
    /// A choice about the step at `step`.
    pub fn new(step: &str, choice: &Choice) -> Self {
        let (word, value) = match choice {
            Choice::Retry => ("retry", None),
            Choice::Skip => ("skip", None),
            Choice::Set(value) => ("set", Some(value.clone())),
        };
        Self {
            step: step.to_owned(),
            choice: word.to_owned(),
            value,
        }
    }

    /// The choice, with the address of its step.
    ///
    /// # Errors
    ///
    /// A choice that is unknown to this version.
    pub fn choice(&self) -> Result<(Arc<str>, Choice), FormatError> {
        let choice = match self.choice.as_str() {
            "retry" => Choice::Retry,
            "skip" => Choice::Skip,
            "set" => Choice::Set(self.value.clone().unwrap_or_default()),
            other => {
                return Err(FormatError {
                    message: format!("`{other}` is no choice that is known here"),
                });
            }
        };
        Ok((Arc::from(self.step.as_str()), choice))
    }
}

/// The reason for another plan of a run, and its author.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RevisionV1 {
    /// `replanned`: the model wrote the further steps; `repaired`: it corrected the arguments of one step.
    pub kind: String,
    /// The step that had failed.
    pub step: String,
    /// The failure before it.
    pub error: String,
    /// The name of the model.
    pub model: String,
}
