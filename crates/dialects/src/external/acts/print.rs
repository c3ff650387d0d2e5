//! Writes a plan as the Acts do: its calls, the messages around them, and the preserved metadata.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexSet;
use planwright_core::plan::{
    Action, Input, InputKind, Method, Mode, Output, PlanTarget, SlotKind, Step, Targets,
};
use planwright_core::{Diagnostics, Object, Place, Plan, Value};

use super::context::{StepIds, slot_kind_of, word_for};
use super::expression::{ActsExpression, Operator};
use super::parse::REFERENCE_FORM;
use super::parse::{ANONYMOUS, PRESERVED_FIELDS};
use super::reference::method_word;
use super::reference::{ActsWriter, OutputSlots, slot_operand, slot_writes};
use crate::document::quote;
use crate::printing::{
    Feature, LossReport, ObjectBuilder, report_order, report_unsupported, write_node,
};

const SUPPORTED: &[Feature] = &[
    Feature::Metadata,
    Feature::Inputs,
    Feature::Variables,
    Feature::Contents,
    Feature::SlotSchemas,
    Feature::Instances,
    Feature::ComputedOutput,
    Feature::ListedOrder,
    Feature::DataflowOrder,
    Feature::KeepGoing,
    Feature::OpenSharing,
    Feature::ShowMode,
    Feature::Note,
    Feature::After,
    Feature::Writes,
    Feature::Instance,
    Feature::PlanAction,
    Feature::ValueAction,
];

/// Writes `plan`. A reference to a step becomes a reference to the state that the step writes; only data orders steps.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("acts", plan);
    losses.report_foreign_references(plan, REFERENCE_FORM);
    report_unsupported(plan, SUPPORTED, &mut losses);
    let output_slots = OutputSlots::of(plan, &mut losses);
    let writer = ActsWriter {
        output_slots: &output_slots,
    };
    let mut ids = StepIds::default();
    let instances: HashSet<&Arc<str>> = plan.instances.iter().collect();
    let calls: Vec<Value> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(position, step)| {
            report_order(plan, position, &mut losses);
            report_unknown_instance(step.instance.as_ref(), step.place, &instances, &mut losses);
            let name = ids.name_for(step.id.text()).unwrap_or_else(|| {
                let what = format!("the id {} of a step", quote(step.id.as_str()));
                losses.error(step.place, &what);
                Arc::clone(step.id.text())
            });
            ids.next(&name);
            let output_slot = output_slots.targets_of(position);
            write_call(step, name, output_slot, &writer, &mut losses)
        })
        .collect();
    let mut root = write(plan, calls, &mut losses);
    if let Output::Value(node) = &plan.output {
        let output = write_node(node, &writer, &mut losses);
        if output.is_null() {
            losses.error(node.place, "an output of `null`");
        }
        root.field("output", output);
    }
    losses.finish(&root.build())
}

fn write_call(
    step: &Step,
    name: Arc<str>,
    output_slot: Option<&Targets>,
    writer: &ActsWriter<'_>,
    losses: &mut LossReport<'_>,
) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("_tool", Arc::clone(&name));
    object.optional("_reasoningForCall", step.note.clone());
    if let Action::Tool(tool) = &step.action
        && tool.text != name
    {
        object.field("_activity", Arc::clone(&tool.text));
    }
    for (key, value) in parameters(step, writer, losses) {
        object.field(&key, value);
    }
    write_action(step, &mut object, writer, losses);
    write_targets(step, output_slot, &mut object, losses);
    object.optional("_instance", step.instance.clone());
    object.build()
}

/// The parameters, with their names as the dialect writes them.
fn parameters(step: &Step, writer: &ActsWriter<'_>, losses: &mut LossReport<'_>) -> Object {
    let args = write_node(&step.args, writer, losses);
    let Value::Object(fields) = &args else {
        losses.error(step.args.place, "arguments that are not an object");
        return Object::default();
    };
    let written = fields.iter().map(|(key, value)| {
        let key = if key.starts_with('_') {
            format!("_{key}").into()
        } else {
            Arc::clone(key)
        };
        (key, value.clone())
    });
    written.collect()
}

fn write_action(
    step: &Step,
    object: &mut ObjectBuilder,
    writer: &ActsWriter<'_>,
    losses: &mut LossReport<'_>,
) {
    match &step.action {
        Action::Tool(_) => {}
        Action::Value(node) => {
            let output = write_node(node, writer, losses);
            if output.is_null() {
                // The reader takes `null` for an absent field.
                losses.error(step.place, "a step whose value is `null`");
            }
            object.field("_output", output);
        }
        Action::Plan(call) => {
            match &call.target {
                PlanTarget::Named(name) if &*name.text == ANONYMOUS => {
                    let what = format!("a plan called `{ANONYMOUS}`");
                    losses.error(name.place, &what);
                }
                PlanTarget::Named(name) => {
                    object.field("_delegate", Arc::clone(&name.text));
                }
                PlanTarget::Inline(_) => {
                    losses.error(step.place, "an inline plan");
                }
            }
            if !call.scopes.is_empty() {
                let words = call.scopes.iter().map(|kind| {
                    if word_for(*kind).is_none() {
                        let what = format!("the access of a plan to the `{kind}` of its caller");
                        losses.error(step.place, &what);
                    }
                    Value::from(word_for(*kind).unwrap_or_default())
                });
                object.field("_scopes", Value::list(words));
            }
        }
    }
}

/// Writes the slots of the step, including `output_slot`, through which other steps read its output.
fn write_targets(
    step: &Step,
    output_slot: Option<&Targets>,
    object: &mut ObjectBuilder,
    losses: &mut LossReport<'_>,
) {
    let writes = slot_writes(step);
    let method = writes.map_or(Method::Set, |writes| writes.method);
    let Some(targets) = output_slot.or_else(|| writes.map(|writes| &writes.targets)) else {
        return;
    };
    losses.report_single_choice(targets, step.place);
    let operator = match targets {
        Targets::All(_) => Operator::All,
        Targets::OneOf(_) => Operator::First,
    };
    let paths = targets.paths().iter();
    let operands = paths
        .filter_map(|path| slot_operand(path, losses))
        .collect();
    let expression = ActsExpression { operator, operands };
    object.field("_outputPath", expression.to_string());
    if method != Method::Set {
        object.field("_outputMethod", method_word(method));
    }
}

/// Writes the messages of `plan` and its `calls`.
fn write(plan: &Plan, calls: Vec<Value>, losses: &mut LossReport<'_>) -> ObjectBuilder {
    let preserved = PreservedMetadata::of(plan, losses);
    let mut messages: Vec<Value> = preserved.messages.clone();
    let defaults = write_inputs(plan, &mut messages, losses);
    for schema in &plan.slot_schemas {
        if let Some(word) = word(schema.kind, schema.place, losses) {
            messages.push(Value::object([
                ("type", Value::from(word)),
                ("schema", as_object(&schema.schema)),
            ]));
        }
    }
    let instances: HashSet<&Arc<str>> = plan.instances.iter().collect();
    let mut created = created_instances(plan);
    // Instances are in the order of their first messages.
    if !plan.instances.starts_with(&created) {
        messages.extend(plan.instances.iter().map(instance_message));
        created.clone_from(&plan.instances);
    }
    for content in &plan.contents {
        report_unknown_instance(content.instance.as_ref(), content.place, &instances, losses);
        if let Some(word) = word(content.kind, content.place, losses) {
            messages.push(slot_message(
                word,
                content.instance.as_ref(),
                &content.value,
            ));
        }
    }
    // Defaults come last: they apply whatever the initial values of the inputs are.
    messages.extend(defaults);
    let created: HashSet<&Arc<str>> = created.iter().collect();
    for instance in &plan.instances {
        if !created.contains(instance) {
            messages.push(instance_message(instance));
        }
    }
    let mut root = ObjectBuilder::default();
    for (name, value) in &preserved.fields {
        root.field(name, value.clone());
    }
    let last = preserved
        .messages
        .iter()
        .rev()
        .find(|message| is_plan(message));
    // Without an earlier plan message, the calls themselves are written as a `lazy` one.
    let as_message = plan.mode == Mode::Show && last.is_none();
    if as_message {
        let message = [
            ("type", Value::from("plan")),
            ("plan", calls.clone().into()),
            ("mode", "lazy".into()),
        ];
        messages.push(Value::object(message));
    }
    if !messages.is_empty() {
        root.field("context", messages);
    }
    if !as_message {
        root.field("calls", calls);
    }
    if let Some(last) = last {
        let lazy = last.get("mode").and_then(Value::as_text) == Some("lazy");
        match plan.mode {
            Mode::Show if !lazy => root.field("mode", "lazy"),
            Mode::Run if lazy => root.field("mode", "eager"),
            Mode::Show | Mode::Run => &mut root,
        };
    }
    root
}

/// The instances that the initial values of the plan create, in this order.
fn created_instances(plan: &Plan) -> Vec<Arc<str>> {
    let contents = plan.contents.iter();
    let named: IndexSet<&Arc<str>> = contents
        .filter(|content| content.kind != SlotKind::Data)
        .filter_map(|content| content.instance.as_ref())
        .collect();
    named.into_iter().cloned().collect()
}

/// A boolean schema as an object with the same meaning.
fn as_object(schema: &Value) -> Value {
    match schema {
        Value::Bool(true) => Value::empty_object(),
        Value::Bool(false) => Value::object([("not", Value::empty_object())]),
        other => other.clone(),
    }
}

/// Reports an instance that the plan does not have, because a message for it would create it.
fn report_unknown_instance(
    instance: Option<&Arc<str>>,
    place: Place,
    instances: &HashSet<&Arc<str>>,
    losses: &mut LossReport<'_>,
) {
    if let Some(instance) = instance.filter(|instance| !instances.contains(instance)) {
        let what = format!(
            "data of {}, which is not an instance of the plan",
            quote(instance)
        );
        losses.error_with_help(place, &what, "name it among the plan's instances");
    }
}

fn is_plan(message: &Value) -> bool {
    message.get("type").and_then(Value::as_text) == Some("plan")
}

/// Returns true if the reader preserves `message` as metadata without interpretation. Metadata may come from another dialect.
fn is_preserved_message(message: &Value) -> bool {
    let Some(fields) = message.as_object() else {
        return false;
    };
    let has = |name: &str| fields.contains_key(name);
    match fields.get("type") {
        None => has("role") || (has("call") && has("error")),
        Some(Value::Text(word)) if **word == *"plan" => match fields.get("mode") {
            None | Some(Value::Null) => true,
            Some(mode) => matches!(mode.as_text(), Some("eager" | "lazy")),
        },
        Some(word) => word.as_text().is_some_and(|it| slot_kind_of(it).is_none()),
    }
}

/// The metadata that this dialect preserved when it read the plan.
#[derive(Default)]
struct PreservedMetadata {
    fields: Object,
    messages: Vec<Value>,
}

impl PreservedMetadata {
    fn of(plan: &Plan, losses: &mut LossReport<'_>) -> Self {
        let mut preserved = Self::default();
        let Some(fields) = plan.metadata.as_object() else {
            if !plan.metadata.is_null() {
                losses.warning(plan.place, "the plan's metadata");
            }
            return preserved;
        };
        for (name, value) in fields {
            match value.as_list() {
                Some(messages)
                    if &**name == "context" && messages.iter().all(is_preserved_message) =>
                {
                    preserved.messages = messages.to_vec();
                }
                _ if PRESERVED_FIELDS.contains(&&**name) && !value.is_null() => {
                    preserved.fields.insert(Arc::clone(name), value.clone());
                }
                _ => {
                    let what = format!("the field {} of the plan's metadata", quote(name));
                    losses.warning(plan.place, &what);
                }
            }
        }
        preserved
    }
}

/// Writes declared inputs as `input` messages: one with the schema, and one with the defaults, which is returned.
fn write_inputs(
    plan: &Plan,
    messages: &mut Vec<Value>,
    losses: &mut LossReport<'_>,
) -> Option<Value> {
    let mut defaults = Object::default();
    let mut properties = Object::default();
    for input in &plan.inputs {
        report_input(input, losses);
        if !input.schema.is_null() {
            properties.insert(Arc::clone(&input.name), input.schema.clone());
        }
        if let Some(default) = &input.default {
            defaults.insert(Arc::clone(&input.name), default.clone());
        }
    }
    if !properties.is_empty() {
        let schema = Value::object([
            ("type", Value::from("object")),
            ("properties", properties.into()),
        ]);
        messages.push(Value::object([
            ("type", Value::from("input")),
            ("schema", schema),
        ]));
    }
    (!defaults.is_empty()).then(|| slot_message("input", None, &defaults.into()))
}

fn report_input(input: &Input, losses: &mut LossReport<'_>) {
    let name = quote(&input.name);
    if input.default.is_none() {
        losses.warning(input.place, &format!("that the input {name} is required"));
    }
    if input.kind == InputKind::Variable {
        losses.warning(input.place, &format!("that the input {name} is a variable"));
    }
    if !matches!(input.schema, Value::Null | Value::Bool(true)) {
        let what = format!("the schema of the input {name}");
        losses.warning(input.place, &what);
    }
}

fn word(kind: SlotKind, place: Place, losses: &mut LossReport<'_>) -> Option<&'static str> {
    let word = word_for(kind);
    if word.is_none() {
        losses.error(place, "initial values of variables");
    }
    word
}

/// A message that creates an instance without any values.
fn instance_message(instance: &Arc<str>) -> Value {
    Value::object([
        ("type", Value::from("state")),
        ("_instance", Value::Text(Arc::clone(instance))),
    ])
}

/// A message of the type `word`. The fields of `value` stand beside `type` unless the reader would misread one of them there.
fn slot_message(word: &'static str, instance: Option<&Arc<str>>, value: &Value) -> Value {
    let mut message = ObjectBuilder::default();
    message.field("type", word);
    message.optional("_instance", instance.cloned());
    match value.as_object() {
        Some(fields)
            if word != "data"
                && !fields.is_empty()
                && fields.keys().all(|key| is_plain(key, word)) =>
        {
            for (key, value) in fields {
                message.field(key, value.clone());
            }
        }
        _ => {
            message.field(word, value.clone());
        }
    }
    message.build()
}

fn is_plain(key: &str, word: &str) -> bool {
    !key.starts_with('_') && !matches!(key, "type" | "schema") && key != word
}
