//! Writes any plan in the native dialect without loss.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{
    Action, Approval, Concurrency, Idempotency, InitialValues, Input, InputKind, Keyword, Method,
    Name, Node, NodeKind, OnError, Output, PlanTarget, Repeat, Retry, RetryFieldKind, SlotPath,
    SlotSchema, Step, Targets, Undo, Writes,
};
use planwright_core::{Diagnostics, EXTRACTION, EXTRACTION_PARAMETERS, Place, Plan, Value};

use super::keywords::word_for;
use super::reference::NativeWriter;
use super::{keywords, reference};
use crate::document::{quote, template};
use crate::foreign_references::ReferenceNames;
use crate::printing::{LossReport, ObjectBuilder, write_node};

/// Writes `plan`. The only possible losses are references, slots, times and nesting beyond what any reader accepts.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("native", plan);
    let written = write_plan(plan, &mut losses);
    losses.finish(&written)
}

/// `plan` in native JSON.
pub(super) fn write_plan(plan: &Plan, losses: &mut LossReport<'_>) -> Value {
    let mut object = ObjectBuilder::default();
    object
        .optional("name", plan.name.clone())
        .optional("title", plan.title.clone())
        .optional("description", plan.description.clone())
        .optional("mode", word_for(plan.mode))
        .optional("ordering", word_for(plan.ordering))
        .optional("on_failure", word_for(plan.on_failure))
        .optional("sharing", word_for(plan.sharing));
    write_inputs(&plan.inputs, &mut object);
    object
        .optional("slots", write_contents(&plan.contents))
        .optional("slot_schemas", write_schemas(&plan.slot_schemas));
    if !plan.instances.is_empty() {
        let instances = plan.instances.iter().cloned().map(Value::Text);
        object.field("instances", Value::list(instances));
    }
    let names = ReferenceNames::of(plan);
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| names.escape_step(write_step(step, losses)))
        .collect();
    object.field("steps", steps);
    match &plan.output {
        Output::All => {}
        Output::Steps(ids) => {
            let ids = ids
                .iter()
                .map(|id| template::escape(&id.text, false).into());
            object.field("output", Value::list(ids));
        }
        Output::Value(node) => {
            object.field("output", names.escape(write_output(node, losses)));
        }
    }
    if !plan.metadata.is_null() {
        object.field("metadata", plan.metadata.clone());
    }
    object.build()
}

/// Writes inputs: trailing variables that have only a value go to `vars`, all others to `inputs`. The order of inputs
/// is preserved this way.
fn write_inputs(inputs: &[Input], object: &mut ObjectBuilder) {
    let is_plain = |input: &Input| {
        input.kind == InputKind::Variable && input.default.is_some() && input.schema.is_null()
    };
    let plain = inputs.iter().rev().take_while(|input| is_plain(input));
    let (declared, variables) = inputs.split_at(inputs.len() - plain.count());
    if !declared.is_empty() {
        let declared = declared
            .iter()
            .map(|input| (Arc::clone(&input.name), write_input(input)));
        object.field("inputs", Value::object(declared));
    }
    if !variables.is_empty() {
        let variables = variables.iter().map(|input| {
            let value = input.default.clone().unwrap_or_default();
            (Arc::clone(&input.name), value)
        });
        object.field("vars", Value::object(variables));
    }
}

fn write_input(input: &Input) -> Value {
    let mut schema = match &input.schema {
        Value::Object(schema) => schema.as_ref().clone(),
        Value::Bool(false) if input.default.is_none() && input.kind == InputKind::Input => {
            return false.into();
        }
        // `false` cannot hold a default or `x-variable`, an object with the same meaning can.
        Value::Bool(false) => [("not".into(), Value::empty_object())]
            .into_iter()
            .collect(),
        _ => planwright_core::Object::default(),
    };
    if input.kind == InputKind::Variable {
        schema.insert("x-variable".into(), true.into());
    }
    if let Some(default) = &input.default {
        schema.insert("default".into(), default.clone());
    }
    schema.into()
}

fn write_contents(contents: &[InitialValues]) -> Option<Value> {
    let mut groups: Vec<(Option<&Arc<str>>, ObjectBuilder)> = Vec::new();
    let mut last_group: &[InitialValues] = &[];
    for (position, content) in contents.iter().enumerate() {
        // A group is an object with one field per kind, so an initial value of the same kind begins another group.
        let joins = !last_group.is_empty()
            && last_group
                .iter()
                .all(|other| other.instance == content.instance && other.kind != content.kind);
        if !joins {
            let mut group = ObjectBuilder::default();
            group.optional("instance", content.instance.clone());
            groups.push((content.instance.as_ref(), group));
            // An empty slice at this position; each value that joins the group extends it.
            last_group = &contents[position..position];
        }
        let start = position - last_group.len();
        last_group = &contents[start..=position];
        if let Some((_, group)) = groups.last_mut() {
            group.field(content.kind.as_str(), content.value.clone());
        }
    }
    let can_stand_alone = matches!(groups.as_slice(), [(None, _)]);
    single_or_list(
        groups.into_iter().map(|(_, group)| group.build()).collect(),
        can_stand_alone,
    )
}

fn write_schemas(schemas: &[SlotSchema]) -> Option<Value> {
    let mut groups: Vec<planwright_core::Object> = Vec::new();
    for schema in schemas {
        let kind: Arc<str> = schema.kind.as_str().into();
        match groups.last_mut() {
            Some(group) if !group.contains_key(&kind) => {
                group.insert(kind, schema.schema.clone());
            }
            _ => groups.push([(kind, schema.schema.clone())].into_iter().collect()),
        }
    }
    single_or_list(groups.into_iter().map(Value::from).collect(), true)
}

/// `None` for no groups, the only group by itself if `can_stand_alone`, else a list of all groups.
fn single_or_list(mut groups: Vec<Value>, can_stand_alone: bool) -> Option<Value> {
    match groups.len() {
        0 => None,
        1 if can_stand_alone => groups.pop(),
        _ => Some(groups.into()),
    }
}

/// Writes the output; a value that looks like a list of ids, or like a wrapped value, is wrapped.
fn write_output(node: &Node, losses: &mut LossReport<'_>) -> Value {
    let written = write_node(node, &NativeWriter::default(), losses);
    let is_taken_for_ids = written.as_list().is_some_and(|items| {
        items.iter().all(|item| {
            item.as_text()
                .is_some_and(|text| reference::plain(text).is_some())
        })
    });
    let is_taken_for_wrapper = written
        .as_object()
        .is_some_and(|fields| fields.len() == 1 && fields.contains_key("value"));
    // `null` would be read as an absent output.
    if is_taken_for_ids || is_taken_for_wrapper || written.is_null() {
        return Value::object([("value", written)]);
    }
    written
}

fn write_step(step: &Step, losses: &mut LossReport<'_>) -> Value {
    let item_name = step
        .for_each
        .as_ref()
        .and_then(|for_each| for_each.item_name.as_deref());
    let writer = NativeWriter { item_name };
    let mut object = ObjectBuilder::default();
    object
        .field("id", Arc::clone(step.id.text()))
        .optional("title", step.title.clone())
        .optional("note", step.note.clone())
        .optional("instance", step.instance.clone());
    if !step.after.is_empty() {
        object.field("after", texts(&step.after));
    }
    if let Some(when) = &step.when {
        object.field("when", write_node(when, &writer, losses));
    }
    if let Some(for_each) = &step.for_each {
        object.field("for_each", write_items(&for_each.over, writer, losses));
        object.optional(
            "max_parallel",
            for_each.max_parallel.map(|max| u64::from(max.get())),
        );
        object
            .optional("as", for_each.item_name.clone())
            .optional("with_item", for_each.with_item.then_some(true));
    }
    let args = write_node(&step.args, &writer, losses);
    let extracts = is_extraction(step, &args);
    match &step.action {
        Action::Tool(_) if extracts => {
            object.field("extract", args.clone());
        }
        Action::Tool(name) => {
            object.field("tool", Arc::clone(&name.text));
        }
        Action::Plan(call) => {
            let target = match &call.target {
                PlanTarget::Named(name) => Arc::clone(&name.text).into(),
                PlanTarget::Inline(plan) => write_plan(plan, losses),
            };
            object.field("plan", target);
            if !call.scopes.is_empty() {
                let scopes = call.scopes.iter().map(|kind| kind.as_str().into());
                object.field("scopes", Value::list(scopes));
            }
        }
        Action::Value(node) => {
            object.field("value", write_node(node, &writer, losses));
        }
    }
    if !extracts && args.as_object().is_some_and(|fields| !fields.is_empty()) {
        object.field("args", args);
    }
    if !step.positional.is_empty() {
        let positional = step.positional.iter();
        let positional = positional.map(|node| write_node(node, &writer, losses));
        object.field("positional", Value::list(positional));
    }
    object
        .optional(
            "repeat",
            step.repeat
                .as_ref()
                .map(|it| write_repeat(it, writer, losses)),
        )
        .optional(
            "writes",
            written(step).map(|writes| write_writes(writes, losses)),
        )
        .optional("on_error", write_on_error(&step.on_error, writer, losses))
        .optional(
            "retry",
            step.retry.map(|it| write_retry(it, step.place, losses)),
        )
        .optional(
            "timeout",
            step.timeout.map(|it| write_time(it, step.place, losses)),
        );
    let flags = [
        ("approval", step.approval == Approval::Ask),
        ("idempotent", step.idempotency == Idempotency::Idempotent),
        ("alone", step.concurrency == Concurrency::Alone),
    ];
    for (name, is_set) in flags {
        object.optional(name, is_set.then_some(true));
    }
    object.optional("undo", step.undo.as_ref().map(|it| write_undo(it, losses)));
    object.build()
}

/// Writes an undo. Its references name the call to undo, and no item of a loop.
fn write_undo(undo: &Undo, losses: &mut LossReport<'_>) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("tool", Arc::clone(&undo.tool.text));
    let args = write_node(&undo.args, &NativeWriter::default(), losses);
    if args.as_object().is_some_and(|fields| !fields.is_empty()) {
        object.field("arguments", args);
    }
    object.build()
}

/// Returns true if the step can be written with `extract`: it calls the extraction tool with the arguments that it takes.
fn is_extraction(step: &Step, args: &Value) -> bool {
    let is_tool = step.tool().is_some_and(|name| &*name.text == EXTRACTION);
    let has = |name: &str, is: fn(&Value) -> bool| args.get(name).is_some_and(is);
    let is_known = |name: &Arc<str>| EXTRACTION_PARAMETERS.contains(&&**name);
    is_tool
        && step.positional.is_empty()
        && args
            .as_object()
            .is_some_and(|fields| fields.keys().all(is_known))
        && has("from", |_| true)
        && has("schema", |schema| schema.as_object().is_some())
        && args.get("ask").is_none_or(|ask| ask.as_text().is_some())
}

fn texts(names: &[Name]) -> Value {
    Value::list(names.iter().map(|name| Arc::clone(&name.text).into()))
}

/// Writes the list of a `for_each`; an object is wrapped, because it would be read as `{"items": …}`.
fn write_items(node: &Node, writer: NativeWriter<'_>, losses: &mut LossReport<'_>) -> Value {
    let written = write_node(node, &writer, losses);
    match node.kind {
        NodeKind::Object(_) | NodeKind::Literal(Value::Object(_)) => {
            Value::object([("items", written)])
        }
        NodeKind::Literal(_) | NodeKind::Reference(_) | NodeKind::Text(_) | NodeKind::List(_) => {
            written
        }
    }
}

fn write_repeat(repeat: &Repeat, writer: NativeWriter<'_>, losses: &mut LossReport<'_>) -> Value {
    let until = write_node(&repeat.until, &writer, losses);
    let max = Value::from(u64::from(repeat.max.get()));
    Value::object([("until", until), ("max", max)])
}

/// The writes of the step, if it writes any slot.
fn written(step: &Step) -> Option<&Writes> {
    let is_some =
        |writes: &&Writes| !matches!(&writes.targets, Targets::All(paths) if paths.is_empty());
    step.writes.as_ref().filter(is_some)
}

fn write_writes(writes: &Writes, losses: &mut LossReport<'_>) -> Value {
    losses.report_single_choice(&writes.targets, writes.place);
    let mut write_slot = |path: &SlotPath| {
        let text = reference::write_slot(path);
        if text.is_none() {
            let what = format!(
                "the slot {}, whose name is too long",
                quote(&path.to_string())
            );
            losses.error_with_help(writes.place, &what, "give it a shorter name");
        }
        Value::from(text.unwrap_or_default())
    };
    // A single slot with the default method has a short form.
    if let (Targets::All(paths), Method::Set) = (&writes.targets, writes.method)
        && let [path] = paths.as_slice()
    {
        return write_slot(path);
    }
    let mut object = ObjectBuilder::default();
    let (field, paths) = match &writes.targets {
        Targets::All(paths) => ("to", paths),
        Targets::OneOf(paths) => ("one_of", paths),
    };
    let paths = match (&writes.targets, paths.as_slice()) {
        (Targets::All(_), [path]) => write_slot(path),
        (_, paths) => Value::list(paths.iter().map(&mut write_slot)),
    };
    object
        .field(field, paths)
        .optional("method", word_for(writes.method));
    object.build()
}

fn write_on_error(
    on_error: &OnError,
    writer: NativeWriter<'_>,
    losses: &mut LossReport<'_>,
) -> Option<Value> {
    match on_error {
        OnError::Fail => None,
        OnError::Continue => Some("continue".into()),
        OnError::Output(node) => {
            let output = write_node(node, &writer, losses);
            Some(Value::object([("output", output)]))
        }
    }
}

fn write_retry(retry: Retry, place: Place, losses: &mut LossReport<'_>) -> Value {
    let fields: Vec<(&str, Value)> = retry
        .stated()
        .map(|(field, policy)| {
            let value = match &field.kind {
                RetryFieldKind::Count(access) => Value::from(u64::from((access.get)(policy).get())),
                RetryFieldKind::Time(access) => write_time((access.get)(policy), place, losses),
            };
            (field.name, value)
        })
        .collect();
    match fields.as_slice() {
        // A step that states the attempts alone has their number.
        [(_, attempts)] => attempts.clone(),
        _ => Value::object(fields),
    }
}

fn write_time(time: Duration, place: Place, losses: &mut LossReport<'_>) -> Value {
    let text = keywords::write(time);
    if text.is_none() {
        losses.duration_too_long(place, time);
    }
    Value::from(text.unwrap_or_default())
}
