//! Writes any plan in lines without loss, from the native JSON of it.

use std::fmt::Write as _;

use planwright_core::text::{is_visible, visible_json};
use planwright_core::{Diagnostics, EXTRACTION, Object, Plan, Value};

use super::line::{is_bare_argument, is_bare_id, is_bare_tool};
use crate::native::print::write_plan;
use crate::native::reference::is_reference;
use crate::printing::LossReport;

/// Writes `plan`. The only possible losses are those of the native printer.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("lines", plan);
    let written = write_plan(plan, &mut losses);
    losses.finish_text(&written, from_json)
}

/// A plan in native JSON, in lines.
///
/// ```
/// use planwright_core::Value;
/// use planwright_dialects::native::lines::from_json;
///
/// let plan = Value::from_json(r#"{"steps": [{"id": "a", "tool": "f", "args": {"x": "${b.c}"}}]}"#).unwrap();
/// assert_eq!(from_json(&plan), "a = f(x=${b.c})\n");
/// ```
pub fn from_json(plan: &Value) -> String {
    let mut text = String::new();
    let Some(fields) = plan.as_object() else {
        return text;
    };
    let steps = fields.get("steps").and_then(Value::as_list);
    let steps = steps.unwrap_or_default();
    // These two fields have separate lines.
    let is_apart = |key: &str| matches!(key, "steps" | "output");
    let own = fields.iter().filter(|(key, _)| !is_apart(key));
    let own: Object = own
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let output = fields.get("output");
    if !own.is_empty() || (steps.is_empty() && output.is_none()) {
        text.push_str("plan ");
        write_object(&own, &[], ReferenceStyle::Quoted, &mut text);
        text.push('\n');
    }
    for step in steps.iter().filter_map(Value::as_object) {
        write_step(step, &mut text);
        text.push('\n');
    }
    if let Some(output) = output {
        text.push_str("return ");
        write_value(output, ReferenceStyle::Bare, &mut text);
        text.push('\n');
    }
    text
}

fn write_step(step: &Object, text: &mut String) {
    let id = step.get("id").and_then(Value::as_text);
    write_name(id.unwrap_or_default(), is_bare_id, text);
    text.push_str(" = ");
    if let Some(Value::Object(arguments)) = step.get("extract") {
        text.push_str(EXTRACTION);
        write_named(&[], arguments, text);
        write_rest(step, &["id", "extract"], text);
        return;
    }
    let written: &[&str] = match (step.get("tool"), step.get("value")) {
        (Some(Value::Text(tool)), _) if has_arguments(step) => {
            write_name(tool, is_bare_tool, text);
            write_arguments(step, text);
            &["id", "tool", "args", "positional"]
        }
        (None, Some(Value::Text(value))) if is_bare_reference(value) => {
            text.push_str(value);
            &["id", "value"]
        }
        _ => {
            write_object(step, &["id"], ReferenceStyle::Bare, text);
            return;
        }
    };
    write_rest(step, written, text);
}

/// Writes the fields of a step that are not in `written`.
fn write_rest(step: &Object, written: &[&str], text: &mut String) {
    if step.keys().any(|key| !written.contains(&&**key)) {
        text.push(' ');
        write_object(step, written, ReferenceStyle::Bare, text);
    }
}

/// Returns true if the arguments of a step have the right types.
fn has_arguments(step: &Object) -> bool {
    let is = |key, kind: fn(&Value) -> bool| step.get(key).is_none_or(kind);
    is("args", |args| args.as_object().is_some())
        && is("positional", |positional| positional.as_list().is_some())
}

fn write_arguments(step: &Object, text: &mut String) {
    let unnamed = step.get("positional").and_then(Value::as_list);
    let nothing = Object::default();
    let named = step.get("args").and_then(Value::as_object);
    write_named(unnamed.unwrap_or_default(), named.unwrap_or(&nothing), text);
}

fn write_named(unnamed: &[Value], named: &Object, text: &mut String) {
    let mut between = "";
    text.push('(');
    for value in unnamed {
        text.push_str(between);
        write_value(value, ReferenceStyle::Bare, text);
        between = ", ";
    }
    for (name, value) in named {
        text.push_str(between);
        write_name(name, is_bare_argument, text);
        text.push('=');
        write_value(value, ReferenceStyle::Bare, text);
        between = ", ";
    }
    text.push(')');
}

/// The style of a text that is exactly one reference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReferenceStyle {
    /// Without quotes.
    Bare,
    /// With quotes: for values in which texts are never references, such as the defaults of inputs.
    Quoted,
}

fn write_value(value: &Value, references: ReferenceStyle, text: &mut String) {
    match value {
        Value::Text(written)
            if references == ReferenceStyle::Bare && is_bare_reference(written) =>
        {
            text.push_str(written);
        }
        Value::List(items) => {
            text.push('[');
            let mut between = "";
            for item in items.iter() {
                text.push_str(between);
                write_value(item, references, text);
                between = ", ";
            }
            text.push(']');
        }
        Value::Object(fields) => write_object(fields, &[], references, text),
        Value::Text(written) => text.push_str(&quoted(written)),
        other => text.push_str(&other.to_json()),
    }
}

/// Writes an object without the fields in `without`.
fn write_object(fields: &Object, without: &[&str], references: ReferenceStyle, text: &mut String) {
    text.push('{');
    let mut between = "";
    for (key, value) in fields.iter().filter(|(key, _)| !without.contains(&&***key)) {
        let _ = write!(text, "{between}{}: ", quoted(key));
        write_value(value, references, text);
        between = ", ";
    }
    text.push('}');
}

fn write_name(name: &str, is_bare: fn(&str) -> bool, text: &mut String) {
    if is_bare(name) {
        text.push_str(name);
    } else {
        text.push_str(&quoted(name));
    }
}

/// Returns `text` as JSON without characters that cannot be seen, or that change how a line looks: a person reads it without a parser.
fn quoted(text: &str) -> String {
    visible_json(&Value::text(text).to_json()).into_owned()
}

/// Returns true if `text` is exactly one reference, and can be written without quotes on one line.
fn is_bare_reference(text: &str) -> bool {
    is_visible(text) && is_reference(text)
}
