//! Signatures of tools, and the full description of a tool, found by any name that a model gives.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::{Catalog, Lookup, SeenAnswers, Tool, Value};
use planwright_dialects::document::nearest;

use super::shape::{self, ShapeLimits, first_sentence, multi_line, one_line, shape};

/// The limits of the shape of a parameter.
const PARAMETER_LIMITS: ShapeLimits = ShapeLimits {
    depth: 3,
    bytes: 160,
};

/// The limits of the shape of the output.
const OUTPUT_LIMITS: ShapeLimits = ShapeLimits {
    depth: 3,
    bytes: 300,
};

/// Maximum length of the summary, in bytes.
const MAX_SENTENCE_LENGTH: usize = 160;

/// Maximum number of parameters that are shown; required ones are always shown.
const MAX_PARAMETERS: usize = 24;

/// Writes `github.search_issues(query: string, limit?: integer = 30) -> {items: [{number: integer}]}  -- Find issues
/// [read-only]`.
///
/// A tool has the same one-line signature whatever other tools exist.
pub fn signature(tool: &Tool) -> String {
    let mut text = types(tool);
    // The description says more than the title, which only replaces an empty one.
    let description = tool
        .description
        .as_deref()
        .filter(|text| !text.trim().is_empty());
    let summary = description
        .or(tool.title.as_deref())
        .map(|text| first_sentence(text, MAX_SENTENCE_LENGTH));
    if let Some(summary) = summary.filter(|text| !text.is_empty()) {
        let _ = write!(text, "  -- {summary}");
    }
    text + &marked(tool)
}

/// Writes a signature without the summary: `github.search_issues(query: string) -> {items: [object]} [read-only]`.
pub(super) fn typed_signature(tool: &Tool) -> String {
    types(tool) + &marked(tool)
}

/// Writes a signature without types: `github.search_issues(query, limit?) [read-only]`.
pub(super) fn short_signature(tool: &Tool) -> String {
    let parameters = parameters(tool, |name, _, is_required| {
        let mark = if is_required { "" } else { "?" };
        format!("{}{mark}", shape::field_name(name))
    });
    format!("{}({parameters}){}", tool.qualified_name(), marked(tool))
}

fn types(tool: &Tool) -> String {
    let root = tool.input.as_value();
    let parameters = parameters(tool, |name, property, is_required| {
        parameter(name, property, is_required, root, PARAMETER_LIMITS)
    });
    let mut text = format!("{}({parameters})", tool.qualified_name());
    if !tool.output.is_any() {
        let output = tool.output.as_value();
        let _ = write!(text, " -> {}", shape(output, output, OUTPUT_LIMITS));
    } else if let Some(seen) = seen(tool) {
        let output = &seen.schema();
        let shape = shape(output, output, OUTPUT_LIMITS);
        // Counts are left out, because a prompt that changes with each call is never in the cache of a provider.
        let _ = write!(text, " -> {shape} (seen, not declared)");
    }
    text
}

/// Returns the answers that a tool without an output schema gave so far, if there are any.
fn seen(tool: &Tool) -> Option<&SeenAnswers> {
    let seen = tool.seen.as_deref()?;
    (tool.output.is_any() && seen.calls > 0).then_some(seen)
}

/// Maximum number of fields whose presence is described.
const MAX_SEEN_FIELDS: usize = 24;

/// Maximum length of a masked sample, in bytes.
const MAX_SAMPLE_LENGTH: usize = 2000;

/// Describes the recorded answers of a tool without an output schema: their structure, the number of answers with each field, and one
/// answer with masked values. `None` if there are none.
pub fn seen_answers(tool: &Tool) -> Option<String> {
    let seen = seen(tool)?;
    let calls = match seen.calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let output = &seen.schema();
    let mut text = format!(
        "gave in {calls} (not declared): {}\n",
        shape(output, output, DETAILED_OUTPUT_LIMITS)
    );
    for (name, count) in seen.fields().take(MAX_SEEN_FIELDS) {
        let name = shape::field_name(name);
        let _ = writeln!(text, "- `.{name}` was there in {count} of {calls}");
    }
    let sample = seen.sample.to_json();
    // A newline in an answer of a server must not begin a line of the prompt.
    let sample = one_line(&sample);
    let sample = shape::shortened(&sample, MAX_SAMPLE_LENGTH);
    let _ = writeln!(text, "for example, with masked values: {sample}");
    Some(text)
}

fn marked(tool: &Tool) -> String {
    let mut text = String::new();
    for mark in marks(tool) {
        let _ = write!(text, " [{mark}]");
    }
    text
}

/// Writes `days?: integer = 3` for the property `name`, with references resolved in `root`.
fn parameter(
    name: &str,
    property: &Value,
    is_required: bool,
    root: &Value,
    limits: ShapeLimits,
) -> String {
    let mark = if is_required { "" } else { "?" };
    let mut kind = shape(property, root, limits);
    let mut default = String::new();
    match property
        .get("default")
        .or_else(|| shape::resolved(property, root).get("default"))
    {
        // A null default equals leaving the parameter out.
        Some(Value::Null) if !is_required => {
            if let Some(rest) = kind.strip_suffix("|null") {
                kind.truncate(rest.len());
            }
        }
        Some(value) => {
            default = shape::literal(value)
                .map(|value| format!(" = {value}"))
                .unwrap_or_default();
        }
        None => {}
    }
    format!("{}{mark}: {kind}{default}", shape::field_name(name))
}

/// Returns marks that matter before a call.
fn marks(tool: &Tool) -> impl Iterator<Item = &'static str> {
    let asks = tool.needs_approval().then_some("asks first");
    let reads = tool.annotations.read_only.then_some("read-only");
    reads.into_iter().chain(asks)
}

/// Writes the parameters, each by `write` with its name, its schema, and whether it is required.
fn parameters(tool: &Tool, write: impl Fn(&str, &Value, bool) -> String) -> String {
    let root = tool.input.as_value();
    let (fields, required) = shape::fields(root, root);
    let fields = fields.into_iter().flatten();
    // Required parameters come first and are never hidden.
    let (required_fields, optional_fields): (Vec<_>, Vec<_>) =
        fields.partition(|(name, _)| required.contains(&&***name));
    let space = MAX_PARAMETERS.saturating_sub(required_fields.len());
    // The number tells a model to ask for the description.
    let hidden = optional_fields.len().saturating_sub(space);
    let required_fields = required_fields.into_iter().map(|field| (field, true));
    let optional_fields = optional_fields
        .into_iter()
        .take(space)
        .map(|field| (field, false));
    let mut texts: Vec<String> = required_fields
        .chain(optional_fields)
        .map(|((name, property), is_required)| write(name, property, is_required))
        .collect();
    if hidden > 0 {
        texts.push(format!("… {hidden} more"));
    }
    texts.join(", ")
}

/// Estimates the number of tokens in `text`; close enough for English, JSON, and code.
pub fn estimate_tokens(text: &str) -> usize {
    // An exact count needs the tokenizer of the model, which providers do not publish for all.
    text.len().div_ceil(4)
}

/// The limits of the shape of a parameter.
const DETAILED_PARAMETER_LIMITS: ShapeLimits = ShapeLimits {
    depth: 6,
    bytes: 2000,
};

/// The limits of the shape of the output.
const DETAILED_OUTPUT_LIMITS: ShapeLimits = ShapeLimits {
    depth: 8,
    bytes: 4000,
};

/// Maximum depth of nested parameters that are described.
const MAX_DEPTH: usize = 4;

/// Maximum number of parameters that are described, including nested ones.
const MAX_DETAILED_PARAMETERS: usize = 200;

/// Describes `tool` in full: its description, its parameters, its output, and its effects.
pub fn details(tool: &Tool) -> String {
    let mut text = tool.qualified_name().to_string();
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
    let lines = detailed_parameters(root);
    text += if lines.is_empty() {
        "takes nothing that is described\n"
    } else {
        "takes:\n"
    };
    text += &lines;
    if !tool.output.is_any() {
        let output = tool.output.as_value();
        let _ = writeln!(
            text,
            "gives: {}",
            shape(output, output, DETAILED_OUTPUT_LIMITS)
        );
    }
    text += &seen_answers(tool).unwrap_or_default();
    let _ = writeln!(text, "effects: {}", effects(tool).join(", "));
    text
}

/// A parameter, or a field of one.
struct ParameterField<'a> {
    /// The path of the enclosing parameter with its separator; empty if there is none.
    path: &'a str,
    name: &'a str,
    schema: &'a Value,
    is_required: bool,
    /// The description with the constraints.
    description: Option<String>,
}

/// Visits all parameters with their fields, in order.
fn visit_parameters(
    (schema, root): (&Value, &Value),
    path: &str,
    depth: usize,
    left: &mut usize,
    visit: &mut dyn FnMut(ParameterField<'_>),
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
        visit(ParameterField {
            path,
            name,
            schema: property,
            is_required: required.contains(&&**name),
            description: described_with_items(property, root),
        });
        let inner = shape::resolved(property, root);
        let path = format!("{path}{}", shape::field_name(name));
        visit_parameters((inner, root), &format!("{path}."), deeper, left, visit);
        // Lists of objects are common, and their fields are described like others.
        if let Some(items) = inner.get("items") {
            visit_parameters((items, root), &format!("{path}[]."), deeper, left, visit);
        }
    }
}

/// Writes one line per parameter, prefixed with its path if it is nested.
fn detailed_parameters(root: &Value) -> String {
    let mut text = String::new();
    let mut left = MAX_DETAILED_PARAMETERS;
    visit_parameters((root, root), "", MAX_DEPTH, &mut left, &mut |field| {
        // The line of the enclosing parameter already has the shape of a nested one.
        let is_inner = !field.path.is_empty();
        if is_inner && field.description.is_none() {
            return;
        }
        let line = if is_inner {
            let mark = if field.is_required { "" } else { "?" };
            format!("{}{mark}", shape::field_name(field.name))
        } else {
            let limits = DETAILED_PARAMETER_LIMITS;
            parameter(field.name, field.schema, field.is_required, root, limits)
        };
        let _ = write!(text, "- {}{line}", field.path);
        if let Some(description) = field.description {
            let _ = write!(text, "  -- {description}");
        }
        text.push('\n');
    });
    text
}

/// Maximum length of a description in the notes, in bytes.
const MAX_NOTE_LENGTH: usize = 2000;

/// Writes the server's information about `tool` beyond its [`signature`]: the rest of its description, and a line for each
/// parameter with a description or constraints. `None` if there is nothing.
pub fn notes(tool: &Tool) -> Option<String> {
    let description = tool.description.as_deref().unwrap_or_default();
    let whole = one_line(description);
    let summary = first_sentence(description, MAX_SENTENCE_LENGTH);
    // A summary that was cut ends in the middle of a sentence, so the whole is written.
    let rest = whole.strip_prefix(&summary).unwrap_or(&whole);
    let rest = rest.trim_start_matches(['.', '。']).trim();
    let mut lines = Vec::new();
    if !rest.is_empty() {
        lines.push(format!("  {}", shape::shortened(rest, MAX_NOTE_LENGTH)));
    }
    let root = tool.input.as_value();
    let mut left = MAX_DETAILED_PARAMETERS;
    visit_parameters((root, root), "", MAX_DEPTH, &mut left, &mut |field| {
        if let Some(description) = &field.description {
            let (path, name) = (field.path, shape::field_name(field.name));
            let description = shape::shortened(description, MAX_NOTE_LENGTH);
            lines.push(format!("  - {path}{name}: {description}"));
        }
    });
    (!lines.is_empty()).then(|| lines.join("\n"))
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

/// Returns the description and the constraints of a property and of its items, if it is a list.
fn described_with_items(property: &Value, root: &Value) -> Option<String> {
    let items = shape::resolved(property, root).get("items");
    let items = items.and_then(|items| described(items, root));
    let items = items.map(|items| format!("each item: {items}"));
    let parts: Vec<String> = described(property, root).into_iter().chain(items).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
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

/// Returns the probably intended tool: one with the same bare name on another server, else the one with the most similar name.
/// `None` if the name belongs to a server without known tools.
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
