//! The header of a stored run, `planwright.run/1`, with its plans and tools.

use std::sync::Arc;

use planwright_core::flow::{Confidentiality, Integrity, RecalledLabels, ValueLabels};
use planwright_core::schema::Schema;
use planwright_core::{Object, Tool, Value};
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
    /// The most steps that it may have.
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
    /// True if a stranger may have chosen a part of the output.
    pub untrusted: bool,
    /// True if a part of the output must not leave unseen.
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

    /// Reads a stored document.
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

/// A tool, as far as plans are checked and run by it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToolV1 {
    /// The server.
    pub server: String,
    /// The tool's name at the server.
    pub name: String,
    /// The schema of its arguments.
    pub input_schema: Value,
    /// The schema of its output.
    pub output_schema: Value,
    /// True if it only reads.
    pub read_only: bool,
    /// True if it destroys.
    pub destructive: bool,
    /// True if a second call does no further harm.
    pub idempotent: bool,
    /// True if it reaches out into the world.
    pub open_world: bool,
    /// True if all this may be believed.
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
            server: tool.server.to_string(),
            name: tool.name.to_string(),
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
        let mut tool = Self::new(Arc::from(&*stored.server), Arc::from(&*stored.name));
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
            changes.push("what it says of its effects");
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
