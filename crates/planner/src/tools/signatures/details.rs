//! The full description of a tool for a model.

use std::fmt::Write as _;

use planwright_core::{Tool, Value};

use super::prose::{multi_line, one_line};
use super::shape::{self, ShapeLimits, shape};
use super::signature::{marks, parameter};

/// The limits of the shape of a parameter.
const PARAMETER_LIMITS: ShapeLimits = ShapeLimits {
    depth: 6,
    bytes: 2000,
};

/// The limits of the shape of the output.
const OUTPUT_LIMITS: ShapeLimits = ShapeLimits {
    depth: 8,
    bytes: 4000,
};

/// The depth of nested parameters that are described.
const MAX_DEPTH: usize = 4;

/// The number of parameters that are described, including nested ones.
const MAX_PARAMETERS: usize = 200;

/// Describes `tool` in full: its description, its parameters, its output, and its effects.
pub fn details(tool: &Tool) -> String {
    let mut text = tool.qualified_name();
    if let Some(title) = tool
        .title
        .as_deref()
        .map(one_line)
        .filter(|title| !title.is_empty())
    {
        let _ = write!(text, ": {title}");
    }
    text.push('\n');
    if let Some(description) = tool
        .description
        .as_deref()
        .map(multi_line)
        .filter(|text| !text.is_empty())
    {
        text += &description;
        text.push('\n');
    }
    let root = tool.input.as_value();
    let mut lines = String::new();
    let mut left = MAX_PARAMETERS;
    parameters(root, root, "", MAX_DEPTH, &mut left, &mut lines);
    text += if lines.is_empty() {
        "takes nothing that is described\n"
    } else {
        "takes:\n"
    };
    text += &lines;
    if !tool.output.is_any() {
        let output = tool.output.as_value();
        let _ = writeln!(text, "gives: {}", shape(output, output, OUTPUT_LIMITS));
    }
    let _ = writeln!(text, "effects: {}", effects(tool).join(", "));
    text
}

/// Writes one line per parameter, prefixed with its path if it is nested.
fn parameters(
    schema: &Value,
    root: &Value,
    path: &str,
    depth: usize,
    left: &mut usize,
    text: &mut String,
) {
    let Some(deeper) = depth.checked_sub(1) else {
        return;
    };
    let (fields, required) = shape::fields(schema, root);
    for (name, property) in fields.into_iter().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let is_required = required.contains(&&**name);
        let description = described(property, root);
        // The line of the enclosing parameter already has the shape of a nested one.
        let is_inner = !path.is_empty();
        if !(is_inner && description.is_none()) {
            let line = if is_inner {
                format!(
                    "{}{}",
                    shape::field_name(name),
                    if is_required { "" } else { "?" }
                )
            } else {
                parameter(name, property, is_required, root, PARAMETER_LIMITS)
            };
            let _ = write!(text, "- {path}{line}");
            if let Some(description) = description {
                let _ = write!(text, "  -- {description}");
            }
            text.push('\n');
        }
        let inner = shape::resolved(property, root);
        let path = format!("{path}{}", shape::field_name(name));
        parameters(inner, root, &format!("{path}."), deeper, left, text);
        if let Some(items) = inner.get("items") {
            parameters(items, root, &format!("{path}[]."), deeper, left, text);
        }
    }
}

/// Returns the description of a parameter with its constraints.
fn described(property: &Value, root: &Value) -> Option<String> {
    let target = shape::resolved(property, root);
    // Keywords beside a reference override those of its target.
    let get = |word: &str| property.get(word).or_else(|| target.get(word));
    let description = get("description")
        .and_then(Value::as_text)
        .map(|description| one_line(description).into_owned());
    let bounds = [
        "format",
        "pattern",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "exclusiveMaximum",
        "multipleOf",
    ];
    let sizes = ["minLength", "maxLength", "minItems", "maxItems"];
    let words = bounds.iter().chain(&sizes);
    let constraints =
        words.filter_map(|word| Some(format!("{word} {}", shape::literal(get(word)?)?)));
    let constraints: Vec<String> = constraints.collect();
    let bounds = (!constraints.is_empty()).then(|| format!("({})", constraints.join(", ")));
    let parts: Vec<String> = description
        .into_iter()
        .filter(|description| !description.is_empty())
        .chain(bounds)
        .collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn effects(tool: &Tool) -> Vec<&'static str> {
    let stated = tool.annotations;
    let mut effects: Vec<&str> = marks(tool).collect();
    if !stated.read_only {
        effects.push(if stated.destructive {
            "may destroy something"
        } else {
            "changes or adds something, and destroys nothing"
        });
        if stated.idempotent {
            effects.push("may be called again with the same arguments");
        }
    }
    if stated.open_world {
        effects.push("reaches beyond its own data");
    }
    effects
}
