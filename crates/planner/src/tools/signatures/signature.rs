//! The signature of a tool.

use std::fmt::Write as _;

use planwright_core::{Tool, Value};

use super::shape::{self, ShapeLimits, shape};
use super::prose::first_sentence;

/// How far the shape of one parameter may go.
const PARAMETER_LIMITS: ShapeLimits = ShapeLimits {
    depth: 3,
    bytes: 160,
};

/// How far the shape of what a tool gives may go.
const OUTPUT_LIMITS: ShapeLimits = ShapeLimits {
    depth: 3,
    bytes: 300,
};

/// How long what a tool does may be, in bytes.
const MAX_SENTENCE_LENGTH: usize = 160;

/// How many parameters are shown; those that must be there always are.
const MAX_PARAMETERS: usize = 24;

/// `github.search_issues(query: string, limit?: integer = 30) -> {items: [{number: integer}]}  -- Find issues [read-only]`.
///
/// The same tool always has the same signature, on one line, whatever other tools there are.
pub fn signature(tool: &Tool) -> String {
    let mut text = format!("{}({})", tool.qualified_name(), parameters(tool));
    if !tool.output.is_any() {
        let output = tool.output.as_value();
        let _ = write!(text, " -> {}", shape(output, output, OUTPUT_LIMITS));
    }
    let said = tool
        .description
        .as_deref()
        .filter(|said| !said.trim().is_empty());
    let said = said
        .or(tool.title.as_deref())
        .map(|said| first_sentence(said, MAX_SENTENCE_LENGTH));
    if let Some(said) = said.filter(|said| !said.is_empty()) {
        let _ = write!(text, "  -- {said}");
    }
    for mark in marks(tool) {
        let _ = write!(text, " [{mark}]");
    }
    text
}

/// `days?: integer = 3`, where the property `name` of `root` says so.
pub(super) fn parameter(
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
        // Leaving it out says as much as writing it.
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

/// What a person or a model should know before a call.
pub(super) fn marks(tool: &Tool) -> impl Iterator<Item = &'static str> {
    let asks = tool.needs_approval().then_some("asks first");
    let reads = tool.annotations.read_only.then_some("read-only");
    reads.into_iter().chain(asks)
}

fn parameters(tool: &Tool) -> String {
    let root = tool.input.as_value();
    let (fields, required) = shape::fields(root, root);
    let fields = fields.into_iter().flatten();
    let (must, may): (Vec<_>, Vec<_>) = fields.partition(|(name, _)| required.contains(&&***name));
    let room = MAX_PARAMETERS.saturating_sub(must.len());
    let hidden = may.len().saturating_sub(room);
    let must = must.into_iter().map(|field| (field, true));
    let may = may.into_iter().take(room).map(|field| (field, false));
    let mut texts: Vec<String> = must
        .chain(may)
        .map(|((name, property), is_required)| {
            parameter(name, property, is_required, root, PARAMETER_LIMITS)
        })
        .collect();
    if hidden > 0 {
        texts.push(format!("… {hidden} more"));
    }
    texts.join(", ")
}
