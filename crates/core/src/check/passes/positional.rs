//! The positional argument pass: assigns parameter names to arguments without names, required parameters first, in
//! schema order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::meant::default_advice;
use crate::check::reporter::{DiagnosticBatch, Reporter, name_list};
use crate::diagnostic::MAX_TEXT_BYTES;
use crate::place::start_of;
use crate::plan::reference::shortened;
use crate::plan::{
    Action, Alternative, Field, Form, Name, Node, NodeKind, PlanTarget, Reference, SlotKind, Source,
};
use crate::schema::{Compatibility, Type};
use crate::{
    Catalog, Code, Diagnostic, Diagnostics, Lookup, Place, Plan, PointerSegment, Schema, Step,
    Tool, Value,
};

/// Assigns names to the positional arguments of `plan` and its inline sub-plans, as far as `catalog` knows the tools.
/// Returns the diagnostics that [`check`](crate::check()) would report.
pub fn name_arguments(plan: &mut Plan, catalog: &Catalog) -> Diagnostics {
    name_all(plan, catalog).finish()
}

fn name_all(plan: &mut Plan, catalog: &Catalog) -> DiagnosticBatch {
    let sources = plan.sources.clone();
    let mut reporter = Reporter::new(&sources, None);
    name_plan(plan, catalog, &mut reporter);
    let mut found = reporter.finish();
    for step in &mut plan.steps {
        if let Action::Plan(call) = &mut step.action
            && let PlanTarget::Inline(inner) = &mut call.target
        {
            found.add_all(name_all(inner, catalog));
        }
    }
    found
}

/// Assigns names in one plan, without its sub-plans.
pub(in crate::check) fn name_plan(plan: &mut Plan, catalog: &Catalog, reporter: &mut Reporter<'_>) {
    for step in &mut plan.steps {
        if !step.positional.is_empty() {
            name_step(step, catalog, reporter);
        }
    }
}

fn name_step(step: &mut Step, catalog: &Catalog, reporter: &mut Reporter<'_>) {
    let Action::Tool(name) = &step.action else {
        report_nameless(step, reporter);
        return;
    };
    // Unknown and ambiguous tools are reported by the name pass.
    let Lookup::Found(tool) = catalog.find(&name.text) else {
        return;
    };
    let parameters = parameters(&tool);
    // Without named parameters there is nothing to assign.
    if parameters.is_empty() {
        report_unknown(step, name, &tool, reporter);
        return;
    }
    let Some(mut fields) = named_arguments(&step.args, reporter) else {
        return;
    };
    let named: HashSet<Arc<str>> = fields.iter().map(|field| Arc::clone(&field.key)).collect();
    let known = name_list("parameters", parameters.iter().map(|name| &**name));
    let mut names = parameters.iter();
    for (position, node) in std::mem::take(&mut step.positional).into_iter().enumerate() {
        match names.next() {
            // A value given by name and by position is ambiguous, as in Python.
            Some(name) if named.contains(name) => report_twice(name, &tool, node.place, reporter),
            Some(name) => fields.push(Field {
                key: Arc::clone(name),
                value: node,
            }),
            None => report_surplus(
                position,
                (parameters.len(), known.as_deref()),
                &tool,
                node.place,
                reporter,
            ),
        }
    }
    // Arguments are stored in the order of the parameters, so that a call by position has the digest of the same call
    // by name.
    let positions: HashMap<&str, usize> = parameters
        .iter()
        .enumerate()
        .rev()
        .map(|(position, name)| (&**name, position))
        .collect();
    let position = |field: &Field| positions.get(&*field.key).copied();
    fields.sort_by_cached_key(|field| position(field).unwrap_or(parameters.len()));
    // Even constant arguments stay an object node, so that each keeps its place.
    step.args.kind = NodeKind::Object(fields);
}

/// Returns the names of the tool's parameters: required ones first, each kind in schema order.
fn parameters(tool: &Tool) -> Vec<Arc<str>> {
    let required = required(&tool.input);
    let mut names = properties(tool.input.structure());
    names.sort_by_key(|name| !required.contains(name));
    names
}

/// The names of the required parameters, in schema order.
pub(super) fn required(schema: &Schema) -> Vec<Arc<str>> {
    let listed = schema.as_value().get("required");
    let listed = listed.and_then(Value::as_list).unwrap_or_default();
    let required: HashSet<&str> = listed.iter().filter_map(Value::as_text).collect();
    let mut names = properties(schema.structure());
    names.retain(|name| required.contains(&**name));
    names
}

fn report_nameless(step: &Step, reporter: &mut Reporter<'_>) {
    let message = format!("the step `{}` calls no tool that could name it", step.id);
    report(first_place(step), message, Some("give it a name"), reporter);
}

fn report_unknown(step: &Step, name: &Name, tool: &Tool, reporter: &mut Reporter<'_>) {
    let message = format!(
        "the tool `{}` names no parameters that it could be meant for",
        tool.name
    );
    let help = format!("write `{}(name=value)`, or declare them", name.text);
    let help = if tool.input.is_any() {
        help
    } else {
        "the tool takes no arguments".to_owned()
    };
    report(first_place(step), message, Some(&help), reporter);
}

fn report_twice(name: &str, tool: &Tool, place: Place, reporter: &mut Reporter<'_>) {
    let message = format!(
        "its parameter `{name}` of the tool `{}` is given by name as well",
        tool.name
    );
    report(place, message, Some("give it once"), reporter);
}

fn report_surplus(
    position: usize,
    (count, known): (usize, Option<&str>),
    tool: &Tool,
    place: Place,
    reporter: &mut Reporter<'_>,
) {
    let message = format!(
        "it is number {} of those for the tool `{}`, which has {count} parameters",
        position + 1,
        tool.name,
    )
    .replace(" 1 parameters", " 1 parameter");
    report(place, message, known, reporter);
}

fn first_place(step: &Step) -> Place {
    step.positional
        .first()
        .map_or(step.place, |node| node.place)
}

fn report(place: Place, message: String, help: Option<&str>, reporter: &mut Reporter<'_>) {
    let message = format!("an argument has no name: {message}");
    let mut diagnostic = reporter.error(Code::UnnamedArgument, place, message);
    diagnostic.help = help.map(str::to_owned);
    reporter.push(diagnostic);
}

/// Maximum number of fitting fields that a message names.
const MAX_FITTING: usize = 6;

/// The tool or plan that receives arguments.
pub(super) struct ArgumentReceiver<'a> {
    pub(super) schema: &'a Schema,
    /// The name in messages: ``the tool `x` `` or ``the plan of `y` ``.
    pub(super) name: String,
    /// The checked argument; `None` for all of them.
    pub(super) argument: Option<Arc<str>>,
}

impl ArgumentReceiver<'_> {
    /// Returns the type of the part at `path`.
    pub(super) fn shape(&self, path: &[PointerSegment]) -> Type {
        let whole = self.schema.structure().clone();
        path.iter().fold(whole, |shape, segment| match segment {
            PointerSegment::Root => shape,
            PointerSegment::Key(key) => shape.property(key).unwrap_or(Type::Any),
            PointerSegment::Index(index) => shape.item(*index),
        })
    }

    /// Formats the argument at `path` for messages.
    pub(super) fn named(&self, path: &[PointerSegment]) -> String {
        let argument = self.argument.as_deref().unwrap_or_default();
        let mut name = start_of(argument, MAX_TEXT_BYTES).to_owned();
        for segment in path {
            // Messages are truncated at this length, and a long key may occur in very many of them.
            if name.len() > MAX_TEXT_BYTES {
                break;
            }
            match segment {
                PointerSegment::Root => {}
                PointerSegment::Key(key) => {
                    if !name.is_empty() {
                        name.push('.');
                    }
                    name.push_str(start_of(key, MAX_TEXT_BYTES));
                }
                PointerSegment::Index(index) => name.extend(["[", &index.to_string(), "]"]),
            }
        }
        if name.is_empty() {
            "object".to_owned()
        } else {
            format!("`{name}`")
        }
    }
}

/// Returns true if the value may arrive as text although its schema says otherwise: a server may send a whole list or
/// object as JSON text.
pub(super) fn may_be_text(reference: &Reference, found: &Type) -> bool {
    let composite = found.members().iter().any(|member| {
        matches!(
            member,
            Type::List(_) | Type::Object(_) | Type::Literal(Value::List(_) | Value::Object(_))
        )
    });
    let Form::First(alternatives) = &reference.form else {
        return composite;
    };
    composite
        && alternatives.iter().any(|alternative| match alternative {
            Alternative::Read(read) => match &read.source {
                // A path was followed into the value, so it was parsed already.
                Source::Step(_) => read.path.is_empty(),
                Source::Slot(kind) => *kind != SlotKind::Inputs,
                Source::Result(_)
                | Source::Item
                | Source::Index
                | Source::Last
                | Source::ExternalValue(..) => false,
            },
            Alternative::Literal(_) | Alternative::Expression(_) => false,
        })
}

/// Adds the expected type as a hint, if known.
pub(super) fn with_shape(diagnostic: Diagnostic, shape: Option<Type>) -> Diagnostic {
    match shape {
        Some(shape) if !shape.is_any() => diagnostic.help(format!("it takes {shape}")),
        _ => diagnostic,
    }
}

/// The hint for the reference `written` to a scalar where text is wanted, or a list of fitting items: the function that makes text, or the loop.
pub(super) fn text_advice(wanted: &Type, written: &str, found: &Type) -> Option<String> {
    let text = shortened(written);
    let fits = |items: &Type| match items {
        // Fields can be joined more often than whole outputs.
        Type::Any => text.contains("[*].") && wanted.takes_text(),
        items => wanted.accepts(items) == Compatibility::Yes,
    };
    if let Type::List(list) = found
        && fits(&list.items)
    {
        if wanted.takes_text()
            && let Some(list) = text
                .strip_prefix("${")
                .and_then(|text| text.strip_suffix('}'))
            && !list.contains(' ')
        {
            return Some(format!(
                "write `${{{list}.join(', ')}}` for one text of all items, or `\"for_each\": \"{text}\"` and `${{item}}` here for a call with each"
            ));
        }
        return Some(format!(
            "to run the step for each item, write `\"for_each\": \"{text}\"` and `${{item}}` here"
        ));
    }
    if let Type::List(list) = wanted
        && list.items.accepts(found) == Compatibility::Yes
        && !text.contains(['"', '`', '…'])
    {
        return Some(format!("write `[\"{text}\"]` for a list with this item"));
    }
    // A default is meant: `||` and `&&` are of no use as text.
    if *found == Type::Boolean
        && let Some(advice) = default_advice(&text)
    {
        return Some(advice);
    }
    let is_scalar = |kind: &Type| {
        let is_literal = |value: &Value| matches!(value, Value::Number(_) | Value::Bool(_));
        matches!(kind, Type::Number | Type::Integer | Type::Boolean)
            || matches!(kind, Type::Literal(value) if is_literal(value))
            || matches!(kind, Type::List(_))
    };
    let inside = written.strip_prefix("${")?.strip_suffix('}')?;
    if let Type::List(list) = wanted
        && list.items.takes_text()
        && let Some(field) = found.only_text_field()
        && !inside.contains([' ', '('])
    {
        return Some(format!(
            "`${{{inside}.{field}.split('\\n')}}` has the lines of its text"
        ));
    }
    if let Type::List(list) = found
        && let Some(field) = list.items.only_text_field().filter(|_| wanted.takes_text())
        && !inside.contains([' ', '('])
    {
        return Some(format!(
            "write `${{{inside}[*].{field}.join('\\n')}}` for one text of all"
        ));
    }
    if let Some(advice) = number_advice(wanted, inside.trim(), found) {
        return Some(advice);
    }
    // A part of a text is as likely as one of a list.
    if let Some((list, part)) = inside.trim().rsplit_once(".slice(")
        && matches!(found, Type::List(_))
        && wanted.takes_text()
    {
        return Some(match part.rsplit_once(").map(") {
            // The items of a text have no parts.
            Some(_) => format!(
                "write `${{{}.join(', ')}}` for all of its items",
                inside.trim()
            ),
            None => format!("write `${{{list}.substring({part}}}` for a part of a text"),
        });
    }
    let joins_conditions = inside.contains("||") || inside.contains("&&");
    (wanted.takes_text() && found.members().iter().all(is_scalar) && !joins_conditions)
        .then(|| format!("write `${{string({})}}`", inside.trim()))
}

/// The advice to convert the input `inside`, which is text, to the number that `wanted` takes.
fn number_advice(wanted: &Type, inside: &str, found: &Type) -> Option<String> {
    let is_input = inside.starts_with("inputs.") || inside.starts_with("vars.");
    let is_number = match found {
        Type::Text => is_input,
        Type::Literal(Value::Text(text)) => text.trim().parse::<f64>().is_ok(),
        _ => false,
    };
    let takes = |kind: Type| wanted.accepts(&kind) == Compatibility::Yes;
    let convert = match (takes(Type::Number), takes(Type::Integer)) {
        (true, _) => "double",
        (false, true) => "int",
        (false, false) => return None,
    };
    is_number.then(|| format!("write `${{{convert}({inside})}}` for the number in the text"))
}

/// Names the fields of the given value that would fit in place of the whole.
pub(super) fn fitting_fields(wanted: &Type, found: &Type) -> Option<String> {
    match fitting_names(wanted, found).as_slice() {
        [] => None,
        [one] => Some(format!("its field `{one}` fits")),
        fields => Some(format!("its fields `{}` fit", fields.join("`, `"))),
    }
}

/// The fields of `found` that fit, as far as a message names them.
pub(super) fn fitting_names(wanted: &Type, found: &Type) -> Vec<Arc<str>> {
    properties(found)
        .into_iter()
        .filter(|name| {
            let shape = found.property(name);
            shape.is_some_and(|shape| {
                // A field of unknown type would be a guess.
                !shape.is_any() && wanted.accepts(&shape) == Compatibility::Yes
            })
        })
        .take(MAX_FITTING)
        .collect()
}

/// Returns the fields that a type describes by name.
pub(super) fn properties(shape: &Type) -> Vec<Arc<str>> {
    shape
        .members()
        .iter()
        .filter_map(|member| match member {
            Type::Object(object) => Some(object.properties.keys().cloned()),
            Type::Any
            | Type::Never
            | Type::Null
            | Type::Boolean
            | Type::Integer
            | Type::Number
            | Type::Text
            | Type::Literal(_)
            | Type::List(_)
            | Type::Union(_) => None,
        })
        .flatten()
        .collect()
}

/// Returns the named arguments, or `None` if they are not known.
pub(super) fn named_arguments(args: &Node, reporter: &Reporter<'_>) -> Option<Vec<Field>> {
    match &args.kind {
        NodeKind::Object(fields) => Some(fields.clone()),
        NodeKind::Literal(Value::Null) => Some(Vec::new()),
        NodeKind::Literal(Value::Object(fields)) => Some(
            fields
                .iter()
                .map(|(key, value)| {
                    let inside = [PointerSegment::Key(Arc::clone(key))];
                    let place = reporter.descend(args.place, &inside);
                    Field {
                        key: Arc::clone(key),
                        value: Node::literal(value.clone(), place),
                    }
                })
                .collect(),
        ),
        NodeKind::Literal(_) | NodeKind::Reference(_) | NodeKind::Text(_) | NodeKind::List(_) => {
            None
        }
    }
}
