//! The full description of a tool for a model, found by any name that a model gives.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::{Catalog, Lookup, Tool, Value};
use planwright_dialects::document::nearest;

use super::shape;
use super::shape::{ShapeLimits, multi_line, one_line, shape as shape_of};
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
        let _ = writeln!(text, "gives: {}", shape_of(output, output, OUTPUT_LIMITS));
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
    // MCP gives the other two hints a meaning only if a tool is not read-only.
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

/// The result of looking up a name. Its text form is addressed to a model.
#[derive(Clone, Debug)]
pub enum LookupResult {
    /// A tool.
    Tool(Arc<Tool>),
    /// An ambiguous name.
    Several {
        /// The reason, as one clause.
        reason: String,
        /// Names that are unambiguous.
        names: Vec<String>,
    },
    /// An unknown name.
    Unknown {
        /// The name as given.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
}

/// Looks up each name in order; a duplicate name has one result.
pub fn look_up_tools<'n>(
    catalog: &Catalog,
    names: impl IntoIterator<Item = &'n str>,
) -> Vec<LookupResult> {
    let mut seen: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
            found.push(find(catalog, name));
        }
    }
    found
}

impl LookupResult {
    /// Returns the tool if there is one.
    pub fn tool(&self) -> Option<&Arc<Tool>> {
        match self {
            Self::Tool(tool) => Some(tool),
            Self::Several { .. } | Self::Unknown { .. } => None,
        }
    }
}

impl fmt::Display for LookupResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(tool) => f.write_str(&details(tool)),
            Self::Several { reason, names } => {
                let names = names.join("`, `");
                writeln!(f, "{reason}: ask for `{names}`")
            }
            Self::Unknown {
                name,
                nearest: Some(near),
            } => {
                writeln!(f, "there is no tool `{name}`: did you mean `{near}`?")
            }
            Self::Unknown {
                name,
                nearest: None,
            } => {
                writeln!(f, "there is no tool `{name}`")
            }
        }
    }
}

fn find(catalog: &Catalog, name: &str) -> LookupResult {
    match catalog.find(name) {
        Lookup::Found(tool) => LookupResult::Tool(tool),
        Lookup::Ambiguous(tools) => LookupResult::Several {
            reason: catalog.ambiguity(name, &tools),
            names: tools
                .iter()
                .map(|tool| catalog.unambiguous_name(tool))
                .collect(),
        },
        Lookup::Unknown => LookupResult::Unknown {
            name: name.to_owned(),
            nearest: nearest_name(catalog, name),
        },
    }
}

/// Returns the tool that was probably meant: one of the same bare name on another server, else the one with the most similar
/// name. `None` if the name belongs to a server without known tools.
fn nearest_name(catalog: &Catalog, name: &str) -> Option<String> {
    let owner = catalog.servers().owner(name);
    if owner.is_some_and(|owner| catalog.tools().all(|tool| tool.server != *owner)) {
        return None;
    }
    let known = || {
        let tools = catalog.tools();
        tools.filter(|tool| catalog.servers().allows_bare_name(&tool.name, &tool.server))
    };
    // Models write `server__tool`, because their APIs allow no dot in names.
    let after = |sign: &str| name.split_once(sign).map(|(_, bare)| bare);
    for bare in [after("."), after("__")].into_iter().flatten() {
        if let Some(tool) = known().find(|tool| *tool.name == *bare) {
            return Some(catalog.unambiguous_name(tool));
        }
    }
    let whole: Vec<String> = known().map(|tool| catalog.unambiguous_name(tool)).collect();
    if let Some(near) = nearest(name, whole.iter().map(String::as_str)) {
        return Some(near.to_owned());
    }
    let near = nearest(name, known().map(|tool| &*tool.name))?;
    let tool = known().find(|tool| *tool.name == *near)?;
    Some(catalog.unambiguous_name(tool))
}
