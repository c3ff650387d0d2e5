//! The JSON Schema of native plans: a single description of every field, from which the published file is generated.

// These types have no values; they only carry descriptions.
#![expect(
    dead_code,
    reason = "the types describe the form of plans, which the reader builds itself"
)]

use std::borrow::Cow;

use planwright_core::plan::{
    Keyword, Method, Mode, OnFailure, Ordering, RETRY_FIELDS, RetryFieldKind, Sharing, SlotKind,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Map, Value, json};

use super::keywords;

/// The JSON Schema (draft 2020-12) of native plans.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<PlanSchema>();
    schema.insert("title".into(), "Planwright plan".into());
    schema.to_value()
}

/// Steps that call tools, and the data that they pass to each other.
#[derive(JsonSchema)]
#[schemars(rename = "plan", deny_unknown_fields, transform = plan_needs)]
struct PlanSchema {
    /// A short name.
    #[schemars(schema_with = "text")]
    name: (),
    /// A line for people.
    #[schemars(schema_with = "text")]
    title: (),
    /// More lines for people.
    #[schemars(schema_with = "text")]
    description: (),
    /// Inputs by name: a JSON Schema for each, with `default`; an input without one is required.
    #[schemars(schema_with = "schemas")]
    inputs: (),
    /// Variables and their values.
    #[schemars(schema_with = "objects")]
    vars: (),
    /// Initial values of the slots: `{"state": {…}, "data": {…}}`, or a list of such objects with `instance`.
    #[schemars(schema_with = "slots")]
    slots: (),
    /// JSON Schemas of the slots by kind, or a list of such objects.
    #[schemars(schema_with = "slot_schemas")]
    slot_schemas: (),
    /// Instances: the plan runs once for each of them, each with its own slots.
    #[schemars(schema_with = "texts")]
    instances: (),
    /// The steps. A step starts as soon as the steps that it refers to have ended.
    steps: Vec<StepSchema>,
    /// The ids of the steps whose outputs the plan returns, or any other value with references; all outputs if absent.
    #[schemars(schema_with = "anything")]
    output: (),
    /// The meaning of the order of steps: none, or the order in which they run.
    #[schemars(schema_with = "choice::<Ordering>")]
    ordering: (),
    /// The effect of a failure: independent steps continue, no further step starts, or another run undoes what the run did.
    #[schemars(schema_with = "choice::<OnFailure>")]
    on_failure: (),
    /// The parameters that may receive references: all, or those that the tool marks with `x-sharable`.
    #[schemars(schema_with = "choice::<Sharing>")]
    sharing: (),
    /// The use of the plan: it is run, or only checked and shown.
    #[schemars(schema_with = "choice::<Mode>")]
    mode: (),
    /// Any further data, which is stored with the plan.
    #[schemars(schema_with = "anything")]
    metadata: (),
}

/// A step: exactly one of `tool`, `plan`, `value` and `extract`.
#[derive(JsonSchema)]
#[schemars(rename = "step", deny_unknown_fields, transform = step_needs)]
struct StepSchema {
    /// The step's id, unique in the plan.
    #[schemars(schema_with = "text_or_number")]
    id: (),
    /// A line for people.
    #[schemars(schema_with = "text")]
    title: (),
    /// The tool to call: `tool`, or `server.tool`.
    #[schemars(schema_with = "text")]
    tool: (),
    /// The plan to run: the name of a stored one, or a plan. `args` are its inputs.
    #[schemars(schema_with = "plan")]
    plan: (),
    /// The step's output itself, made of references without a call.
    #[schemars(schema_with = "anything")]
    value: (),
    /// Data that a model without tools extracts from a text; the model that writes plans never sees the text.
    #[schemars(schema_with = "extract")]
    extract: (),
    /// The arguments, with references at any depth: `"${step.field[0]}"` preserves the value's type, in longer text the value is inserted.
    #[schemars(schema_with = "objects")]
    args: (),
    /// Arguments without names, for the tool's parameters in their order, the required ones first.
    #[schemars(schema_with = "list")]
    positional: (),
    /// Ids of steps that must end first, though no data comes from them.
    #[schemars(schema_with = "texts")]
    after: (),
    /// A condition, such as `"${a.total > 3}"`; the step is skipped if it is false.
    #[schemars(schema_with = "condition")]
    when: (),
    /// Runs the step once for each item, which `${item}` and `${index}` refer to; the output is the list of outputs.
    #[schemars(schema_with = "for_each")]
    for_each: (),
    /// The name of the item of `for_each` in references of the step, such as `order` for `${order.id}`; one word.
    #[schemars(schema_with = "text", rename = "as")]
    item_name: (),
    /// The output of `for_each` has each item beside its output: `[{"item", "output"}]`.
    #[schemars(schema_with = "flag")]
    with_item: (),
    /// The maximum number of items of `for_each` in flight at the same time.
    #[schemars(schema_with = "bound")]
    max_parallel: (),
    /// Repeats the step until a condition holds; `${last}` is the output of the previous round, `${index}` the number of the round from 0.
    #[schemars(schema_with = "repeat")]
    repeat: (),
    /// The slot that the output goes to, such as `"vars.name"` or `"state.user"`.
    #[schemars(schema_with = "writes")]
    writes: (),
    /// The effect of a failure: the run fails, continues, or uses a replacement output.
    #[schemars(schema_with = "on_error")]
    on_error: (),
    /// The maximum number of attempts, or `{"attempts", "delay"}`.
    #[schemars(schema_with = "retry")]
    retry: (),
    /// The time that the whole step may take.
    #[schemars(schema_with = "duration")]
    timeout: (),
    /// Asks a person first.
    #[schemars(schema_with = "flag")]
    approval: (),
    /// A second call with the same arguments does no harm.
    #[schemars(schema_with = "flag")]
    idempotent: (),
    /// The step runs exclusively: no other step at the same time.
    #[schemars(schema_with = "flag")]
    alone: (),
    /// The instance that the step runs for.
    #[schemars(schema_with = "text")]
    instance: (),
    /// The kinds of slots that the plan in `plan` may read.
    #[schemars(schema_with = "kinds")]
    scopes: (),
    /// The call that undoes that of the step, for `planwright revert`.
    #[schemars(schema_with = "undo")]
    undo: (),
    /// The reason for the step.
    #[schemars(schema_with = "text")]
    note: (),
}

/// A call that undoes another one.
#[derive(JsonSchema)]
#[schemars(rename = "undo", deny_unknown_fields, transform = undo_needs)]
struct UndoSchema {
    /// The tool to call: `tool`, or `server.tool`.
    #[schemars(schema_with = "text")]
    tool: (),
    /// The arguments. `${output.field}` reads the output of the call to undo, `${arguments.name}` an argument of it.
    #[schemars(schema_with = "objects")]
    arguments: (),
}

/// The extraction of data from a text. The output fits the schema.
#[derive(JsonSchema)]
#[schemars(rename = "extract", deny_unknown_fields, transform = extract_needs)]
struct ExtractSchema {
    /// The text or other value to read, such as `"${page.result}"`.
    #[schemars(schema_with = "anything")]
    from: (),
    /// JSON Schema of the output, without references.
    #[schemars(schema_with = "objects")]
    schema: (),
    /// The data to look for.
    #[schemars(schema_with = "text")]
    ask: (),
}

/// Repetition in rounds, one after the other.
#[derive(JsonSchema)]
#[schemars(rename = "repeat", deny_unknown_fields, transform = repeat_needs)]
struct RepeatSchema {
    /// Ends the repetition if it is true. The step's own id refers to the round that just ended.
    #[schemars(schema_with = "condition")]
    until: (),
    /// The maximum number of rounds; 10 if absent.
    #[schemars(schema_with = "bound")]
    max: (),
}

/// The slots that a step writes.
#[derive(JsonSchema)]
#[schemars(rename = "writes", deny_unknown_fields, transform = writes_needs)]
struct WritesSchema {
    /// The slot, or several that all receive the output.
    #[schemars(schema_with = "text_or_texts")]
    to: (),
    /// Slots for different outcomes: the first receives the output of a success, the last that of a failure.
    #[schemars(schema_with = "two_texts")]
    one_of: (),
    /// The way in which the output is combined with the value in the slot.
    #[schemars(schema_with = "choice::<Method>")]
    method: (),
}

/// The retries of a call. Its fields are those of [`RETRY_FIELDS`].
struct RetrySchema;

impl JsonSchema for RetrySchema {
    fn schema_name() -> Cow<'static, str> {
        "retry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let properties: Map<String, Value> = RETRY_FIELDS
            .iter()
            .map(|field| {
                let mut schema = match field.kind {
                    RetryFieldKind::Count(_) => bound(generator),
                    RetryFieldKind::Time(_) => duration(generator),
                };
                schema.insert(
                    "description".into(),
                    format!("{}.", field.description).into(),
                );
                (field.name.to_owned(), schema.to_value())
            })
            .collect();
        let required: Vec<&str> = RETRY_FIELDS
            .iter()
            .take(1)
            .map(|field| field.name)
            .collect();
        json_schema!({
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
            "required": required,
            "description": "The retries of a call.",
        })
    }
}

fn plan_needs(schema: &mut Schema) {
    schema.insert("required".into(), json!(["steps"]));
}

fn step_needs(schema: &mut Schema) {
    schema.insert("required".into(), json!(["id"]));
    one_of(schema, &["tool", "plan", "value", "extract"]);
}

fn undo_needs(schema: &mut Schema) {
    schema.insert("required".into(), json!(["tool"]));
}

fn extract_needs(schema: &mut Schema) {
    schema.insert("required".into(), json!(["from", "schema"]));
}

fn repeat_needs(schema: &mut Schema) {
    schema.insert("required".into(), json!(["until"]));
}

fn writes_needs(schema: &mut Schema) {
    schema.remove("required");
    one_of(schema, &["to", "one_of"]);
}

/// Requires exactly one of `fields`.
fn one_of(schema: &mut Schema, fields: &[&str]) {
    let each: Vec<Value> = fields
        .iter()
        .map(|field| json!({"required": [field]}))
        .collect();
    schema.insert("oneOf".into(), each.into());
}

fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({})
}

fn text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string"})
}

fn texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "string"}})
}

fn list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array"})
}

fn two_texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"type": "string"}, "minItems": 2})
}

fn flag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "boolean"})
}

fn bound(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 1, "maximum": u32::MAX})
}

fn extract(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<ExtractSchema>()
}

fn undo(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<UndoSchema>()
}

fn repeat(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<RepeatSchema>()
}

fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

fn schemas(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": {"type": ["object", "boolean"]}})
}

fn slots(_: &mut SchemaGenerator) -> Schema {
    let group = by_kind(&json!({"type": "object"}), true);
    json_schema!({"anyOf": [by_kind(&json!({"type": "object"}), false), {"type": "array", "items": group}]})
}

fn slot_schemas(_: &mut SchemaGenerator) -> Schema {
    let group = by_kind(&json!({"type": ["object", "boolean"]}), false);
    json_schema!({"anyOf": [group, {"type": "array", "items": group}]})
}

fn by_kind(value: &Value, with_instance: bool) -> Value {
    let mut properties: Map<String, Value> = keywords::all::<SlotKind>()
        .map(|kind| (kind.to_owned(), value.clone()))
        .collect();
    if with_instance {
        properties.insert("instance".into(), json!({"type": "string"}));
    }
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn choice<T: Keyword>(_: &mut SchemaGenerator) -> Schema {
    let all: Vec<&str> = keywords::all::<T>().collect();
    json_schema!({"type": "string", "enum": all, "default": all.first()})
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    let all: Vec<&str> = keywords::all::<SlotKind>().collect();
    json_schema!({"type": "array", "items": {"type": "string", "enum": all}})
}

fn text_or_number(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "integer"]})
}

fn text_or_texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]})
}

fn plan(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"type": "string"}, {"$ref": "#"}]})
}

fn condition(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "boolean"], "pattern": "^\\$\\{"})
}

fn for_each(_: &mut SchemaGenerator) -> Schema {
    let list = json!({"anyOf": [{"type": "string", "pattern": "^\\$\\{"}, {"type": "array"}]});
    json_schema!({"anyOf": [
        {"type": "string", "pattern": "^\\$\\{"},
        {"type": "array"},
        {"type": "object", "properties": {"items": list, "max_parallel": {"type": "integer", "minimum": 1}},
         "required": ["items"], "additionalProperties": false}
    ]})
}

fn writes(generator: &mut SchemaGenerator) -> Schema {
    let object = generator.subschema_for::<WritesSchema>();
    json_schema!({"anyOf": [{"type": "string"}, object]})
}

fn on_error(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": "string", "enum": ["fail", "continue"]},
        {"type": "object", "properties": {"output": {}}, "required": ["output"], "additionalProperties": false}
    ]})
}

fn retry(generator: &mut SchemaGenerator) -> Schema {
    let object = generator.subschema_for::<RetrySchema>();
    json_schema!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": u32::MAX}, object]})
}

fn duration(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [
        {"type": "string", "pattern": "^\\s*[0-9.]+\\s*(ns|us|ms|s|m|h)\\s*$"},
        {"type": "number", "minimum": 0}
    ]})
}
