//! The headers of a stored run: `planwright.run/1` with its plans and tools, and `planwright.process/1` of each process that drives it.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::flow::{
    Confidentiality, Integrity, PlannerLabel, RecalledLabels, ValueLabels,
};
use planwright_core::schema::Schema;
use planwright_core::{Object, PlanConsent, ServerName, Tool, Value};
use planwright_engine::RunId;
use planwright_engine::options::RunOptions;
use planwright_engine::run::Choice;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::OptionsV1;
use crate::DurationsV1;

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
    /// The address of the workflow engine that drives it, such as `restate=http://localhost:8080`; absent if processes of Planwright do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driven_by: Option<String>,
    /// The calls that it undoes, if it reverts another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverts: Option<RevertsV1>,
}

/// The calls of another run that a run undoes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RevertsV1 {
    /// The other run.
    pub run: RunId,
    /// The calls, in the order of the steps that undo them.
    pub calls: Vec<RevertedCallV1>,
}

/// A call of another run, and the step that undoes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RevertedCallV1 {
    /// The step that undoes the call.
    pub step: String,
    /// The step, item or round of the other run that made the call.
    pub at: String,
    /// The number of the journal entry of the other run, from 0, that says that the call was sent.
    pub entry: usize,
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
    /// True if all parameters take references although the dialect requires tools to mark them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub share: bool,
    /// True if the text is only the beginning of a plan that was never completed.
    #[serde(default, rename = "unfinished", skip_serializing_if = "is_false")]
    pub is_unfinished: bool,
    /// The results of earlier runs that it refers to, by run and step.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub recalled: Object,
    /// The labels of those results, for the flow policy. Results without labels count as untrusted and private.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalled_labels: Vec<RecalledLabelsV1>,
    /// The maximum number of steps that it may have.
    pub max_steps: usize,
    /// The plans that it runs by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub library: Vec<LibraryPlanV1>,
}

/// The labels of the output of a step of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RecalledLabelsV1 {
    /// The run.
    pub run: Arc<str>,
    /// The step.
    pub step: Arc<str>,
    /// True if a part of the output may come from an untrusted source.
    pub untrusted: bool,
    /// True if a part of the output is private.
    pub private: bool,
}

impl RecalledLabelsV1 {
    /// Returns the stored form of labels.
    pub fn encode(labels: &RecalledLabels) -> Vec<Self> {
        let steps = labels
            .iter()
            .flat_map(|(run, steps)| steps.iter().map(move |(step, labels)| (run, step, labels)));
        steps
            .map(|(run, step, labels)| Self {
                run: Arc::clone(run),
                step: Arc::clone(step),
                untrusted: labels.integrity == Integrity::Untrusted,
                private: labels.confidentiality == Confidentiality::Private,
            })
            .collect()
    }

    /// Returns the labels of their stored form.
    pub fn decode(stored: &[Self]) -> RecalledLabels {
        let mut labels = RecalledLabels::new();
        for entry in stored {
            let steps = labels.entry(Arc::clone(&entry.run)).or_default();
            let of_step = ValueLabels::new(entry.untrusted, entry.private);
            steps.insert(Arc::clone(&entry.step), of_step);
        }
        labels
    }
}

/// A plan that another runs by name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryPlanV1 {
    /// The name of the plan.
    pub name: String,
    /// The text of the plan.
    pub text: String,
}

/// The sources of tools: absolute paths, as they were named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSourcesV1 {
    /// The folder in which the run began, in which an `mcp.json` is searched if none was named.
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
    /// Creates a run of `plan`.
    pub fn new(plan: PlanTextV1, vars: Object, tools: ToolSourcesV1) -> Self {
        Self {
            schema: RUN_SCHEMA.to_owned(),
            plan,
            vars,
            tools,
            client: None,
            driven_by: None,
            reverts: None,
        }
    }

    /// Returns the stored form, as a value.
    pub fn to_value(&self) -> Value {
        stored_value(self)
    }

    /// Reads a stored document.
    ///
    /// # Errors
    ///
    /// If another version wrote it, or it is invalid.
    pub fn from_value(value: &Value) -> Result<Self, FormatError> {
        read(value, RUN_SCHEMA)
    }
}

/// The reason why stored data cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FormatError {
    message: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The properties of a tool that the check and the run of a plan depend on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolV1 {
    /// The server.
    pub server: ServerName,
    /// The tool's name at the server.
    pub name: String,
    /// The description; missing in data of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema of its arguments.
    pub input_schema: Value,
    /// The schema of its output.
    pub output_schema: Value,
    /// True if it only reads.
    pub read_only: bool,
    /// True if it may destroy something.
    pub destructive: bool,
    /// True if a second call has no further effect.
    pub idempotent: bool,
    /// True if it reaches beyond a closed domain.
    pub open_world: bool,
    /// True if these annotations are trusted.
    pub trusted: bool,
    /// True if a person must agree before each call.
    pub approval: bool,
    /// The identity of its server; missing in data of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The digest of its definition; missing in data of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
}

impl From<&Tool> for ToolV1 {
    fn from(tool: &Tool) -> Self {
        Self {
            server: tool.server.clone(),
            name: tool.name.to_string(),
            description: tool.description.as_deref().map(str::to_owned),
            input_schema: tool.input.as_value().clone(),
            output_schema: tool.output.as_value().clone(),
            read_only: tool.annotations.read_only,
            destructive: tool.annotations.destructive,
            idempotent: tool.annotations.idempotent,
            open_world: tool.annotations.open_world,
            trusted: tool.annotations.trusted,
            approval: tool.approval,
            origin: Some(tool.origin.to_string()),
            definition: Some(tool.definition_digest()),
        }
    }
}

impl From<&ToolV1> for Tool {
    fn from(stored: &ToolV1) -> Self {
        let mut tool = Self::new(stored.server.clone(), Arc::from(&*stored.name));
        tool.input = Schema::from_value(stored.input_schema.clone());
        tool.output = Schema::from_value(stored.output_schema.clone());
        tool.annotations.read_only = stored.read_only;
        tool.annotations.destructive = stored.destructive;
        tool.annotations.idempotent = stored.idempotent;
        tool.annotations.open_world = stored.open_world;
        tool.annotations.trusted = stored.trusted;
        tool.approval = stored.approval;
        tool.origin = Arc::from(stored.origin.as_deref().unwrap_or_default());
        tool
    }
}

impl ToolV1 {
    /// Returns the changes since it was stored, in a few words; `None` if there are none.
    pub fn changes(&self, now: &Tool) -> Option<String> {
        let now = Self::from(now);
        let mut changes = Vec::new();
        if self.input_schema != now.input_schema {
            changes.push("the schema of its arguments");
        }
        if self.output_schema != now.output_schema {
            changes.push("the schema of its output");
        }
        let says = |tool: &Self| {
            (
                tool.read_only,
                tool.destructive,
                tool.idempotent,
                tool.open_world,
                tool.trusted,
                tool.approval,
            )
        };
        if says(self) != says(&now) {
            changes.push("its effects");
        }
        if self.origin.is_some() && self.origin != now.origin {
            changes.push("the program or address of its server");
        } else if changes.is_empty()
            && self.definition.is_some()
            && self.definition != now.definition
        {
            changes.push("its description");
        }
        (!changes.is_empty()).then(|| changes.join(" and "))
    }
}

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
    /// The number of steps of the plan, which the store uses in its counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// The choices of a person about steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<ChoiceV1>,
    /// The steps that the new plan changes, so that their earlier results do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forgotten: Vec<String>,
    /// The results that stay although the plan changes what they were computed from.
    #[serde(rename = "kept", default, skip_serializing_if = "Vec::is_empty")]
    pub retained: Vec<RetainedStepV1>,
    /// True if consent in the journal before this process does not count, because the run was imported.
    #[serde(default, skip_serializing_if = "is_false")]
    pub revokes_consent: bool,
    /// The label of the planner, if the plan was checked by a flow policy: `clean` or `exposed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowModeV1>,
    /// The digest of the approval, if a person approved the plan as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_plan: Option<PlanConsent>,
    /// The digest that an approval of the plan as a whole is bound to; absent in headers of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_consent: Option<PlanConsent>,
    /// The number of steps that were known at the start, if the plan was still being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beginning: Option<usize>,
    /// The plan that replaced the previous one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanTextV1>,
    /// The reason for another plan, if a model wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionV1>,
    /// The inputs that replace earlier ones; secrets are `[redacted]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vars: Option<Object>,
}

/// The planner's label in the check of a plan under a flow policy.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowModeV1 {
    /// The author of the plan had read nothing untrusted.
    Clean,
    /// The author of the plan had read untrusted text.
    Exposed,
}

impl From<PlannerLabel> for FlowModeV1 {
    fn from(planner: PlannerLabel) -> Self {
        match planner {
            PlannerLabel::Clean => Self::Clean,
            PlannerLabel::Exposed => Self::Exposed,
        }
    }
}

/// A result that no plan of the run computes any more: it stays although the new plan changes its sources, or it was set.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RetainedStepV1 {
    /// The step.
    #[cfg_attr(test, schemars(with = "String"))]
    pub step: Arc<str>,
    /// True if a part of the result, or the decision to retain it, may come from an untrusted source.
    pub untrusted: bool,
    /// True if a part of the result is private.
    pub private: bool,
    /// The label of the planner that asked to retain or set the result, if its plan was checked by a flow policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<FlowModeV1>,
    /// True if the request has set the result, so that no plan computed it.
    #[serde(rename = "set", default, skip_serializing_if = "is_false")]
    pub is_set: bool,
}

impl RetainedStepV1 {
    /// Creates the result of the step `step` with its labels, which a planner with the label `asked_by` asked to keep.
    pub fn new(step: Arc<str>, labels: ValueLabels, asked_by: FlowModeV1) -> Self {
        Self {
            step,
            untrusted: labels.integrity == Integrity::Untrusted,
            private: labels.confidentiality == Confidentiality::Private,
            asked_by: Some(asked_by),
            is_set: false,
        }
    }

    /// Creates a result of the step `step` without known labels: it counts as untrusted and private.
    pub fn unknown(step: Arc<str>) -> Self {
        Self {
            step,
            untrusted: true,
            private: true,
            asked_by: None,
            is_set: false,
        }
    }

    /// Sets that the request has set the result.
    #[must_use]
    pub fn set(mut self) -> Self {
        self.is_set = true;
        self
    }

    /// Returns the step, the author of the request to keep or set its result, and its labels, in a few words.
    pub fn shown(&self) -> String {
        let verb = if self.is_set { "was set" } else { "stays" };
        let asked = match self.asked_by {
            Some(FlowModeV1::Clean) => " on request",
            Some(FlowModeV1::Exposed) => " on request of a planner that had read untrusted text",
            None => " on request without known labels",
        };
        let labels = match (self.untrusted, self.private) {
            (true, true) => ": untrusted and private",
            (true, false) => ": untrusted",
            (false, true) => ": private",
            (false, false) => "",
        };
        format!("the result of `{}` {verb}{asked}{labels}", self.step)
    }

    /// Returns the labels of the result.
    pub fn labels(&self) -> ValueLabels {
        ValueLabels::new(self.untrusted, self.private)
    }
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

    /// Returns the options of the process. The time of a run of an earlier version, which has none, is that of its
    /// beginning.
    pub fn run_options(&self) -> RunOptions {
        let mut options = RunOptions::from(&self.options);
        let began = || Duration::from_millis(self.began_unix_ms);
        options.evaluation.now.get_or_insert_with(began);
        options
    }

    /// Returns the stored form, as a value.
    pub fn to_value(&self) -> Value {
        stored_value(self)
    }

    /// Reads a stored document.
    ///
    /// # Errors
    ///
    /// If another version wrote it, or it is invalid.
    pub fn from_value(value: &Value) -> Result<Self, FormatError> {
        read(value, PROCESS_SCHEMA)
    }
}

impl ChoiceV1 {
    /// Creates a choice about the step at `step`.
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

    /// Returns the choice, with the address of its step.
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
                    message: format!("unknown choice `{other}`"),
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

/// Returns the stored form `twin` as a value.
fn stored_value(twin: &impl Serialize) -> Value {
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
            message: format!("its format is {found}, but only `{schema}` is supported"),
        });
    }
    serde_json::from_str(&value.to_json()).map_err(|error| FormatError {
        message: format!("the stored `{schema}` is invalid: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_of_no_plan_is_shown_with_its_author_and_labels() {
        let step = || Arc::from("v");
        let untrusted = ValueLabels::new(true, false);
        let by_planner = |planner| RetainedStepV1::new(step(), untrusted, planner);
        let of_planner = " on request of a planner that had read untrusted text: untrusted";
        let unknown = " on request without known labels: untrusted and private";
        for (result, how) in [
            (
                by_planner(FlowModeV1::Clean),
                "stays on request: untrusted".to_owned(),
            ),
            (
                by_planner(FlowModeV1::Exposed),
                format!("stays{of_planner}"),
            ),
            (
                by_planner(FlowModeV1::Exposed).set(),
                format!("was set{of_planner}"),
            ),
            (RetainedStepV1::unknown(step()), format!("stays{unknown}")),
            (
                RetainedStepV1::unknown(step()).set(),
                format!("was set{unknown}"),
            ),
        ] {
            assert_eq!(result.shown(), format!("the result of `v` {how}"));
        }
    }
}
