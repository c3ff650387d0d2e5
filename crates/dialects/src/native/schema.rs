//! The JSON Schema of native plans: one description of every field, from which the published file is made.

// Nobody makes values of these types: they are there for what can be said about them.
#![expect(
    dead_code,
    reason = "the types describe a shape, the reader makes plans of it"
)]

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};

use super::words::{self, Words};

/// The JSON Schema (draft 2020-12) of native plans.
pub fn schema() -> serde_json::Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<PlanShape>();
    schema.insert("title".into(), "Planwright plan".into());
    schema.to_value()
}

/// Steps that call tools, and what is handed from one to the other.
#[derive(JsonSchema)]
#[schemars(rename = "plan", deny_unknown_fields)]
struct PlanShape {
    /// A short name.
    name: Option<String>,
    /// A line for people.
    title: Option<String>,
    /// More lines for people.
    description: Option<String>,
    /// What the plan may be given, by name: a JSON Schema for each, with `default`; without one the input is required.
    #[schemars(schema_with = "schemas")]
    inputs: (),
    /// Variables and their values.
    #[schemars(schema_with = "objects")]
    vars: (),
    /// What the slots hold before the first step: `{"state": {…}, "data": {…}}`, or a list of such objects with `instance`.
    #[schemars(schema_with = "slots")]
    slots: (),
    /// JSON Schemas of what the slots are meant to hold, by kind, or a list of such objects.
    #[schemars(schema_with = "slot_schemas")]
    slot_schemas: (),
    /// Runs the plan once for each of these, each with slots of its own.
    instances: Option<Vec<String>>,
    /// The steps. A step starts as soon as the steps that it refers to have ended.
    #[schemars(required)]
    steps: Vec<StepShape>,
    /// The ids of the steps whose outputs are given back, or any other value with references; all outputs where it is left out.
    #[schemars(schema_with = "anything")]
    output: (),
    /// Whether the order of the steps means something.
    #[schemars(schema_with = "orderings")]
    ordering: (),
    /// What a failure means for independent steps.
    #[schemars(schema_with = "on_failures")]
    on_failure: (),
    /// Which parameters may receive references: all, or those that the tool marks with `x-sharable`.
    #[schemars(schema_with = "sharings")]
    sharing: (),
    /// Whether the plan is to be run, or only checked and shown.
    #[schemars(schema_with = "modes")]
    mode: (),
    /// Anything to be kept beside the plan.
    #[schemars(schema_with = "anything")]
    metadata: (),
}

/// One step: exactly one of `tool`, `plan` and `value`.
#[derive(JsonSchema)]
#[schemars(rename = "step", deny_unknown_fields, transform = one_action)]
struct StepShape {
    /// The step's id, unique in the plan.
    #[schemars(required, schema_with = "text_or_number")]
    id: (),
    /// A line for people.
    title: Option<String>,
    /// The tool to call: `tool`, or `server.tool`.
    tool: Option<String>,
    /// The plan to run: the name of a stored one, or a plan. `args` are its inputs.
    #[schemars(schema_with = "plan")]
    plan: (),
    /// The step's output itself, made of references without any call.
    #[schemars(schema_with = "anything")]
    value: (),
    /// The arguments, with references at any depth: `"${step.field[0]}"` keeps the value's type, in longer text it is inserted.
    #[schemars(schema_with = "objects")]
    args: (),
    /// Ids of steps that must end first, though no data comes from them.
    after: Option<Vec<String>>,
    /// A condition, such as `"${a.total > 3}"`; where it gives false the step is skipped.
    #[schemars(schema_with = "condition")]
    when: (),
    /// Runs the step once for each item, which `${item}` and `${index}` refer to; the output is the list of outputs.
    #[schemars(schema_with = "for_each")]
    for_each: (),
    /// How many items of `for_each` may be under way at the same time.
    #[schemars(range(min = 1))]
    max_parallel: Option<u32>,
    /// Repeats the step until a condition holds; `${last}` is the output of the round before, `${index}` the number of the round from 0.
    repeat: Option<RepeatShape>,
    /// The slot that the output goes to, such as `"vars.name"` or `"state.user"`.
    #[schemars(schema_with = "writes")]
    writes: (),
    /// What a failure means: the run fails, goes on, or an output stands in.
    #[schemars(schema_with = "on_error")]
    on_error: (),
    /// How often the call is tried in all, or `{"attempts", "delay"}`.
    #[schemars(schema_with = "retry")]
    retry: (),
    /// The time that the whole step may take.
    #[schemars(schema_with = "duration")]
    timeout: (),
    /// Asks a person first.
    approval: Option<bool>,
    /// A second call with the same arguments does no harm.
    idempotent: Option<bool>,
    /// Nothing else runs at the same time.
    alone: Option<bool>,
    /// The instance that the step runs for.
    instance: Option<String>,
    /// The kinds of slots that the plan in `plan` may read.
    #[schemars(schema_with = "kinds")]
    scopes: (),
    /// Why the step is there.
    note: Option<String>,
}

/// Again and again, each round after the one before.
#[derive(JsonSchema)]
#[schemars(rename = "repeat", deny_unknown_fields)]
struct RepeatShape {
    /// Ends the repetition where it gives true. The step's own id refers to the round just ended.
    #[schemars(required, schema_with = "condition")]
    until: (),
    /// The most rounds; 10 where it is left out.
    #[schemars(range(min = 1))]
    max: Option<u32>,
}

/// Which slots a step writes.
#[derive(JsonSchema)]
#[schemars(rename = "writes", deny_unknown_fields)]
struct WritesShape {
    /// The slot, or several that all get the output.
    #[schemars(schema_with = "text_or_texts")]
    to: (),
    /// Slots of which one gets the output: the first after a success, the last after a failure.
    #[schemars(length(min = 2))]
    one_of: Option<Vec<String>>,
    /// How the output meets what is in the slot.
    #[schemars(schema_with = "methods")]
    method: (),
}

/// How often a call is tried.
#[derive(JsonSchema)]
#[schemars(rename = "retry", deny_unknown_fields)]
struct RetryShape {
    /// Attempts in all.
    #[schemars(required, range(min = 1))]
    attempts: u32,
    /// The pause before the second attempt; it doubles from there.
    #[schemars(schema_with = "duration")]
    delay: (),
}

fn one_action(schema: &mut Schema) {
    schema.insert(
        "oneOf".into(),
        serde_json::json!([{"required": ["tool"]}, {"required": ["plan"]}, {"required": ["value"]}]),
    );
}

fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({})
}

fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

fn schemas(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": {"type": ["object", "boolean"]}})
}

fn slots(_: &mut SchemaGenerator) -> Schema {
    let group = by_kind(&serde_json::json!({"type": "object"}), true);
    json_schema!({"anyOf": [by_kind(&serde_json::json!({"type": "object"}), false), {"type": "array", "items": group}]})
}

fn slot_schemas(_: &mut SchemaGenerator) -> Schema {
    let group = by_kind(&serde_json::json!({"type": ["object", "boolean"]}), false);
    json_schema!({"anyOf": [group, {"type": "array", "items": group}]})
}

fn by_kind(value: &serde_json::Value, with_instance: bool) -> serde_json::Value {
    let mut properties: serde_json::Map<String, serde_json::Value> = words::all(words::KINDS)
        .map(|kind| (kind.to_owned(), value.clone()))
        .collect();
    if with_instance {
        properties.insert("instance".into(), serde_json::json!({"type": "string"}));
    }
    serde_json::json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn choice<T>(words: Words<T>) -> Schema {
    let all: Vec<&str> = words::all(words).collect();
    json_schema!({"type": "string", "enum": all, "default": all.first()})
}

fn orderings(_: &mut SchemaGenerator) -> Schema {
    choice(words::ORDERINGS)
}

fn on_failures(_: &mut SchemaGenerator) -> Schema {
    choice(words::ON_FAILURES)
}

fn sharings(_: &mut SchemaGenerator) -> Schema {
    choice(words::SHARINGS)
}

fn modes(_: &mut SchemaGenerator) -> Schema {
    choice(words::MODES)
}

fn methods(_: &mut SchemaGenerator) -> Schema {
    choice(words::METHODS)
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    let all: Vec<&str> = words::all(words::KINDS).collect();
    json_schema!({"type": "array", "items": {"type": "string", "enum": all}})
}

fn text_or_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "integer"]})
}

fn text_or_texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
}

fn plan(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"type": "string"}, {"$ref": "#"}]})
}

fn condition(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "boolean"], "pattern": "^\\$\\{"})
}

fn for_each(_: &mut SchemaGenerator) -> Schema {
    let list =
        serde_json::json!({"anyOf": [{"type": "string", "pattern": "^\\$\\{"}, {"type": "array"}]});
    json_schema!({"anyOf": [
        {"type": "string", "pattern": "^\\$\\{"},
        {"type": "array"},
        {"type": "object", "properties": {"items": list, "max_parallel": {"type": "integer", "minimum": 1}},
         "required": ["items"], "additionalProperties": false}
    ]})
}

fn writes(generator: &mut SchemaGenerator) -> Schema {
    let object = generator.subschema_for::<WritesShape>();
    json_schema!({"anyOf": [{"type": "string"}, object]})
}

fn on_error(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": "string", "enum": ["fail", "continue"]},
        {"type": "object", "properties": {"output": {}}, "required": ["output"], "additionalProperties": false}
    ]})
}

fn retry(generator: &mut SchemaGenerator) -> Schema {
    let object = generator.subschema_for::<RetryShape>();
    json_schema!({"anyOf": [{"type": "integer", "minimum": 1}, object]})
}

fn duration(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": "string", "pattern": "^\\s*[0-9.]+\\s*(ns|us|ms|s|m|h)\\s*$"},
        {"type": "number", "minimum": 0}
    ]})
}
