//! The extraction tool: a model reads a text, and its answer is data that fits a schema.

use std::sync::Arc;

use super::{Annotations, Hints, Tool};
use crate::plan::{Node, NodeKind, Step};
use crate::{Schema, Value};

/// The name by which plans call the [extraction tool](Tool::extraction).
pub const EXTRACTION: &str = "planwright.extract";

/// The parameters of the extraction tool.
pub const EXTRACTION_PARAMETERS: [&str; 3] = ["from", "schema", "ask"];

const SERVER: &str = "planwright";
const NAME: &str = "extract";

const INPUT: &str = r#"{
    "type": "object",
    "properties": {
        "from": {"description": "The text or other value to read."},
        "schema": {"type": "object", "description": "The JSON Schema of the output."},
        "ask": {"type": "string", "description": "The data to look for."}
    },
    "required": ["from", "schema"],
    "additionalProperties": false
}"#;

impl Tool {
    /// Creates the extraction tool, which belongs to no server. The output schema of a call is its argument `schema`.
    pub fn extraction() -> Self {
        let hints = Hints {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(false),
        };
        Self {
            title: Some("Extract data".into()),
            description: Some(
                "Reads `from` with a model that has no tools, and returns data that fits `schema`."
                    .into(),
            ),
            input: Schema::from_value(Value::from_json(INPUT).unwrap_or_default()),
            annotations: Annotations {
                trusted: true,
                ..hints.annotations(true)
            },
            hints,
            ..Self::new(SERVER, NAME)
        }
    }

    /// Returns true if this is the extraction tool, or a tool of this process in its place, such as a simulated one.
    pub fn is_extraction(&self) -> bool {
        is_extraction_name(&self.server, &self.name) && self.origin.is_empty()
    }

    /// Returns the tool as the catalog has it: a checked step has a copy of the extraction tool with its own output
    /// schema.
    pub fn listed(self: &Arc<Self>) -> Arc<Self> {
        if !self.is_extraction() || self.output.is_any() {
            return Arc::clone(self);
        }
        Arc::new(Self {
            output: Schema::any(),
            ..Self::clone(self)
        })
    }

    /// Returns the tool that `step` calls: for the extraction tool, a copy whose output schema is that of the step.
    pub(crate) fn of_step(self: Arc<Self>, step: &Step) -> Arc<Self> {
        if !self.is_extraction() {
            return self;
        }
        let schema = extraction_schema(step);
        match schema.as_ref().and_then(Node::as_literal) {
            Some(schema @ Value::Object(_)) => Arc::new(Self {
                output: Schema::from_value(schema.clone()),
                ..Self::clone(&self)
            }),
            _ => self,
        }
    }
}

pub(super) fn is_extraction_name(server: &str, name: &str) -> bool {
    server == SERVER && name == NAME
}

/// Returns the argument `schema` of a step that calls the extraction tool.
pub(crate) fn extraction_schema(step: &Step) -> Option<Node> {
    match &step.args.kind {
        NodeKind::Object(fields) => {
            let mut fields = fields.iter().rev();
            let field = fields.find(|field| &*field.key == "schema")?;
            Some(field.value.clone())
        }
        NodeKind::Literal(value) => {
            Some(Node::literal(value.get("schema")?.clone(), step.args.place))
        }
        _ => None,
    }
}
