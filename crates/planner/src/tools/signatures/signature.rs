//! The signature of a tool.

use std::fmt::Write as _;

use planwright_core::{Tool, Value};

use super::prose::first_sentence;
use super::shape::{self, ShapeLimits, shape};

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

/// The length of the summary, in bytes.
const MAX_SENTENCE_LENGTH: usize = 160;

/// The number of parameters that are shown; required ones are always shown.
const MAX_PARAMETERS: usize = 24;

/// Writes `github.search_issues(query: string, limit?: integer = 30) -> {items: [{number: integer}]}  -- Find issues
/// [read-only]`.
///
/// A tool has the same one-line signature whatever other tools exist.
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

/// Writes `days?: integer = 3` for the property `name`, with references resolved in `root`.
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
